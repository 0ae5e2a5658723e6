// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Connections, by rdma_cm: for iWARP (TCP and MPA in the device), RoCE and InfiniBand.
 *
 * Each connection and each address that is listened on has a struct hw_id with one rdma_cm_id.
 * The end of a connection's rdma_cm_id may wait for the network. hw_conn_destroy() therefore only
 * cuts the struct hw_id off from its connection; a work item of the RNIC ends it.
 *
 * Locks, outermost first: an endpoint's lock of the kAL; the lock inside of an rdma_cm_id, which
 * rdma_cm holds while it calls hw_id_event(); hw_id.lock. The handler takes no endpoint's lock.
 */
#include <linux/cleanup.h>
#include <linux/inetdevice.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>

#include <krdma/netstack.h>
#include <krdma/noio.h>
#include <krdma/compat_verbs.h>

#include "hw.h"

/**
 * struct hw_id - an rdma_cm_id
 * @id: rdma_cm's
 * @hw: RNIC
 * @lock: protects @conn, @qp and the reports; the handler holds it
 * @conn: connection, NULL: reports have no receiver any more
 * @qp: queue pair from connect or accept on
 * @param: parameters of connect
 * @private_data: of connect
 * @answered: connect or accept was called, and its result was not reported
 * @timeout_ms: for the steps of connect
 * @reserve: of a user's connection or listener: charged pages of hw_reserve()
 * @node: entry in hw_conn.ids of a listener
 * @end: ends @id and frees this structure
 */
struct hw_id {
	struct rdma_cm_id *id;
	struct hw_rnic *hw;
	struct mutex lock;	/* protects conn, qp and the reports */
	struct hw_conn *conn;
	struct hw_qp *qp;
	struct rdma_conn_param param;
	u8 private_data[U8_MAX];
	bool answered;
	unsigned int timeout_ms;
	struct list_head reserve;
	struct list_head node;
	struct work_struct end;
};

/* Life of an id ************************************************************* */

/* End an id that was cut off. Waits for the handler, and possibly for the network. */
static void hw_id_end(struct hw_id *hid)
{
	rdma_destroy_id(hid->id);
	hw_reserve_release(&hid->reserve);
	mutex_destroy(&hid->lock);
	kfree(hid);
}

static void hw_id_end_work(struct work_struct *work)
{
	guard(krdma_noio)();
	hw_id_end(container_of(work, struct hw_id, end));
}

static struct hw_id *hw_id_alloc(struct hw_conn *conn)
{
	struct hw_id *hid = kzalloc(sizeof(*hid), GFP_KERNEL_ACCOUNT);

	if (!hid)
		return NULL;
	mutex_init(&hid->lock);
	INIT_LIST_HEAD(&hid->reserve);
	INIT_LIST_HEAD(&hid->node);
	INIT_WORK(&hid->end, hw_id_end_work);
	hid->hw = hw_rnic(conn->ri.rnic);
	hid->conn = conn;
	return hid;
}

/* Nothing is reported any more; the id ends later. May sleep. */
static void hw_id_cut(struct hw_id *hid)
{
	struct hw_qp *qp;

	scoped_guard(mutex, &hid->lock) {
		hid->conn = NULL;
		qp = hid->qp;
		hid->qp = NULL;
	}
	/* the consumer may have reset it for another connection */
	if (qp && hw_qp_drop_id(qp, hid->id))
		hw_qp_abandon(qp);
	queue_work(hid->hw->ends, &hid->end);
}

static int hw_id_event(struct rdma_cm_id *id, struct rdma_cm_event *event);

static struct hw_id *hw_id_create(struct hw_conn *conn, struct net *net)
{
	struct hw_id *hid = hw_id_alloc(conn);
	struct rdma_cm_id *id;

	if (!hid)
		return ERR_PTR(-ENOMEM);
	id = rdma_create_id(net, hw_id_event, hid, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id)) {
		kfree(hid);
		return ERR_CAST(id);
	}
	hid->id = id;
	return hid;
}

/* Did rdma_cm choose this device? Several devices may share a network device or an address. */
static bool hw_id_is_ours(struct hw_id *hid)
{
	if (hid->id->device == hid->hw->ibdev)
		return true;
	hw_count(hid->hw, HW_CNT_OTHER_DEVICE);
	return false;
}

/* Reports ******************************************************************* */

static void hw_conn_fill_info(struct hw_id *hid, const struct rdma_cm_event *event)
{
	const struct rdma_addr *addr = &hid->id->route.addr;
	struct ri_conn_info *info = &hid->conn->ri.info;
	const struct rdma_conn_param *from = &event->param.conn;

	info->local = addr->src_addr;
	info->remote = addr->dst_addr;
	info->ird = from->responder_resources;
	info->ord = from->initiator_depth;
	info->private_data_len = 0;
	if (!from->private_data)
		return;
	info->private_data_len = min_t(u16, from->private_data_len, RI_PRIVATE_DATA_MAX);
	memcpy(info->private_data, from->private_data, info->private_data_len);
}

/* The result of connect or accept, or the end of what was established or not answered. */
static void hw_conn_report(struct hw_id *hid, int status)
{
	if (!hid->answered) {
		ri_conn_closed(&hid->conn->ri, status);
		return;
	}
	hid->answered = false;
	ri_conn_established(&hid->conn->ri, status);
}

/*
 * In the events of iw_cm, some drivers give the device's own depths of inbound and outbound Reads
 * in the opposite places to the others: siw when the connection is made, irdma always.
 */
static bool hw_conn_swaps_depths(const struct ib_device *ibdev, bool made)
{
	switch (ibdev->ops.driver_id) {
	case RDMA_DRIVER_SIW:
		return made;
	case RDMA_DRIVER_IRDMA:
		return rdma_protocol_iwarp(ibdev, 1);
	default:
		return false;
	}
}

static void hw_conn_report_made(struct hw_id *hid, const struct rdma_cm_event *event)
{
	struct ri_conn_info *info = &hid->conn->ri.info;
	struct hw_qp *qp = hid->qp;

	hw_conn_fill_info(hid, event);
	if (hw_conn_swaps_depths(hid->id->device, true))
		swap(info->ird, info->ord);
	/* the passive side's answer was the last word about the depths */
	if (!event->param.conn.responder_resources && !event->param.conn.initiator_depth) {
		info->ird = qp->ird;
		info->ord = qp->ord;
	}
	/* the peer may offer more than was asked for */
	info->ord = min_t(u16, info->ord, qp->ord);
	qp->ird = info->ird;
	qp->ord = info->ord;
	WRITE_ONCE(qp->made, true);
	hw_conn_report(hid, 0);
}

/* The queue pair's states *************************************************** */

static int hw_conn_move_qp(struct hw_id *hid, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };
	struct hw_qp *qp = hid->qp;
	int mask = 0;
	int ret;

	ret = rdma_init_qp_attr(hid->id, &attr, &mask);
	if (ret)
		return ret;
	if (state == IB_QPS_INIT)
		attr.qp_access_flags = qp->access;
	else if (state == IB_QPS_RTR)
		attr.max_dest_rd_atomic = qp->ird;
	else if (state == IB_QPS_RTS)
		attr.max_rd_atomic = qp->ord;
	return ib_modify_qp(qp->ib, &attr, mask);
}

/* The device's driver moves the queue pairs of iWARP. */
static bool hw_conn_moves_qp(const struct hw_id *hid)
{
	return rdma_cap_ib_cm(hid->id->device, hid->id->port_num);
}

static int hw_conn_qp_to_rts(struct hw_id *hid)
{
	return hw_conn_move_qp(hid, IB_QPS_RTR) ?: hw_conn_move_qp(hid, IB_QPS_RTS);
}

/* Events of rdma_cm; the id's lock is held, and rdma_cm's own **************** */

static int hw_conn_step_route(struct hw_id *hid)
{
	if (!hw_id_is_ours(hid))
		return -EADDRNOTAVAIL;
	return rdma_resolve_route(hid->id, hid->timeout_ms);
}

/* A driver may wait for the network here, so the id's lock is not held meanwhile. */
static int hw_conn_step_connect(struct hw_id *hid)
{
	int ret = hw_conn_move_qp(hid, IB_QPS_INIT);

	if (ret)
		return ret;
	if (!hw_qp_give(hid->qp))
		return -EINVAL;
	mutex_unlock(&hid->lock);
	ret = rdma_connect_locked(hid->id, &hid->param);
	mutex_lock(&hid->lock);
	return ret;
}

/* InfiniBand and RoCE: the peer has accepted. */
static int hw_conn_step_response(struct hw_id *hid, const struct rdma_cm_event *event)
{
	int ret;

	/* the lesser of what this side asked for and the peer's answer */
	hid->qp->ird = min(hid->qp->ird, event->param.conn.responder_resources);
	hid->qp->ord = min(hid->qp->ord, event->param.conn.initiator_depth);
	ret = hw_conn_qp_to_rts(hid);
	if (ret) {
		rdma_reject(hid->id, NULL, 0, IB_CM_REJ_CONSUMER_DEFINED);
		return ret;
	}
	ret = rdma_accept(hid->id, NULL);
	if (!ret)
		hw_conn_report_made(hid, event);
	return ret;
}

/*
 * Is the refusal by the peer's consumer, not by its connection manager? Drivers of iWARP do not
 * agree on the status of an MPA Reject frame; only that frame has private data.
 */
static bool hw_conn_rejected_by_consumer(struct hw_id *hid, struct rdma_cm_event *event)
{
	u8 len;

	return rdma_consumer_reject_data(hid->id, event, &len) ||
	       (rdma_protocol_iwarp(hid->id->device, hid->id->port_num) &&
		event->param.conn.private_data_len);
}

static void hw_conn_step_rejected(struct hw_id *hid, struct rdma_cm_event *event)
{
	const bool refused = hw_conn_rejected_by_consumer(hid, event);

	if (refused)
		hw_conn_fill_info(hid, event);
	hid->conn->ri.info.rejected = refused;
	hw_conn_report(hid, event->status == -ECONNRESET && !refused ? -ECONNRESET :
								       -ECONNREFUSED);
}

static void hw_conn_step_disconnected(struct hw_id *hid)
{
	int status = 0;

	/* before the change below, which is no failure; a Terminate of the peer is not reported */
	if (hid->answered)
		status = -ECONNRESET;
	else if (hid->qp && READ_ONCE(hid->qp->failed))
		status = -ECONNABORTED;
	/* a driver of iWARP may leave it idle after a graceful end, or after a Terminate */
	if (hid->qp)
		hw_qp_fail(hid->qp);
	/* answers the peer, if the peer asked */
	rdma_disconnect(hid->id);
	hw_conn_report(hid, status);
}

static int hw_conn_errno(const struct rdma_cm_event *event, int otherwise)
{
	return event->status < 0 ? event->status : otherwise;
}

static void hw_conn_event(struct hw_id *hid, struct rdma_cm_event *event)
{
	int ret = 0;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		ret = hw_conn_step_route(hid);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		ret = hw_conn_step_connect(hid);
		break;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		ret = hw_conn_step_response(hid, event);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		hw_conn_report_made(hid, event);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		ret = hw_conn_errno(event, -EHOSTUNREACH);
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
		ret = hw_conn_errno(event, -ECONNRESET);
		break;
	case RDMA_CM_EVENT_UNREACHABLE:
		ret = hw_conn_errno(event, -ETIMEDOUT);
		break;
	case RDMA_CM_EVENT_REJECTED:
		hw_conn_step_rejected(hid, event);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		hw_conn_step_disconnected(hid);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		ret = -ENODEV;
		break;
	default:
		break;
	}
	/* it may have been cut off while its lock was free */
	if (!ret || !hid->conn)
		return;
	/* the passive side's is in RTS since the answer, and the peer may use it */
	if (hid->qp)
		hw_qp_abandon(hid->qp);
	hw_conn_report(hid, ret);
}

/*
 * A request: its id is new. Return: 0, or an errno: rdma_cm then refuses the request and ends the
 * id.
 */
static int hw_conn_request(struct hw_id *listener, struct rdma_cm_id *id,
			   const struct rdma_cm_event *event)
{
	struct ri_conn *ri = ri_conn_new_child(&listener->conn->ri);
	struct hw_id *hid;

	if (IS_ERR(ri))
		return PTR_ERR(ri);
	INIT_LIST_HEAD(&hw_conn(ri)->ids);
	hid = hw_id_alloc(hw_conn(ri));
	if (!hid) {
		ri_conn_drop_child(ri);
		return -ENOMEM;
	}
	hid->id = id;
	if (!hw_id_is_ours(hid)) {
		ri_conn_drop_child(ri);
		kfree(hid);
		return -ENODEV;
	}
	id->context = hid;
	hw_conn(ri)->hid = hid;
	hw_conn_fill_info(hid, event);
	if (hw_conn_swaps_depths(id->device, false))
		swap(ri->info.ird, ri->info.ord);
	ri_conn_request(&listener->conn->ri, ri);
	return 0;
}

static int hw_id_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct hw_id *hid = id->context;

	guard(krdma_noio)();
	guard(mutex)(&hid->lock);
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		return hid->conn ? hw_conn_request(hid, id, event) : -ECONNREFUSED;
	/* a listener has no other event than the end of its device, which this module knows */
	if (hid->conn && list_empty(&hid->node))
		hw_conn_event(hid, event);
	return 0;
}

/* Listeners ***************************************************************** */

/* Listen on one address. @addr takes the port. */
static int hw_listen_on(struct hw_conn *conn, const struct ri_listen_param *param,
			struct sockaddr_storage *addr)
{
	struct hw_id *hid = hw_id_create(conn, param->net);
	int ret;

	if (IS_ERR(hid))
		return PTR_ERR(hid);
	list_add_tail(&hid->node, &conn->ids);
	ret = param->users ? hw_reserve(&hid->reserve, hw_reserve_of_listener()) : 0;
	if (ret)
		return ret;
	if (param->tos_set)
		rdma_set_service_type(hid->id, param->tos);
	if (addr->ss_family == AF_INET6)
		rdma_set_afonly(hid->id, 1);
	ret = rdma_bind_addr(hid->id, (struct sockaddr *)addr);
	if (ret)
		return ret == -ENODEV ? -EADDRNOTAVAIL : ret;
	if (!hw_id_is_ours(hid))
		return -EADDRNOTAVAIL;
	kal_addr_set_port(addr, kal_addr_port(&hid->id->route.addr.src_addr));
	return rdma_listen(hid->id, param->backlog);
}

/* most addresses that a wildcard stands for */
#define HW_LISTEN_MAX	64

/* addresses of the RNIC in a namespace */
struct hw_addrs {
	unsigned int num;
	struct sockaddr_storage addr[HW_LISTEN_MAX];
};

static struct sockaddr_storage *hw_addrs_next(struct hw_addrs *addrs)
{
	return addrs->num < HW_LISTEN_MAX ? &addrs->addr[addrs->num++] : NULL;
}

static void hw_addrs_add_v4(struct hw_addrs *addrs, struct net_device *ndev)
{
	struct in_device *in_dev = __in_dev_get_rcu(ndev);
	const struct in_ifaddr *ifa;
	struct sockaddr_in *sin;

	if (!in_dev)
		return;
	in_dev_for_each_ifa_rcu(ifa, in_dev) {
		sin = (struct sockaddr_in *)hw_addrs_next(addrs);
		if (!sin)
			return;
		sin->sin_family = AF_INET;
		sin->sin_addr.s_addr = ifa->ifa_local;
	}
}

static void hw_addrs_add_v6(struct hw_addrs *addrs, struct net_device *ndev)
{
	struct inet6_dev *in6_dev = __in6_dev_get(ndev);
	const struct inet6_ifaddr *ifa;
	struct sockaddr_in6 *sin6;

	if (!in6_dev)
		return;
	list_for_each_entry_rcu(ifa, &in6_dev->addr_list, if_list) {
		if (ifa->flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED))
			continue;
		sin6 = (struct sockaddr_in6 *)hw_addrs_next(addrs);
		if (!sin6)
			return;
		sin6->sin6_family = AF_INET6;
		sin6->sin6_addr = ifa->addr;
		if (ipv6_addr_type(&ifa->addr) & IPV6_ADDR_LINKLOCAL)
			sin6->sin6_scope_id = ndev->ifindex;
	}
}

/* The addresses of the ports' network devices that @param asks for. */
static void hw_addrs_collect(struct hw_rnic *hw, const struct ri_listen_param *param,
			     struct hw_addrs *addrs)
{
	const bool v6 = param->local->ss_family == AF_INET6;
	struct net_device *ndev;
	u32 port;

	rdma_for_each_port(hw->ibdev, port) {
		ndev = ib_device_get_netdev(hw->ibdev, port);
		if (!ndev)
			continue;
		rcu_read_lock();
		if (net_eq(dev_net(ndev), param->net)) {
			if (!v6 || !param->v6only)
				hw_addrs_add_v4(addrs, ndev);
			if (v6)
				hw_addrs_add_v6(addrs, ndev);
		}
		rcu_read_unlock();
		dev_put(ndev);
	}
}

/*
 * A wildcard stands for the addresses that the RNIC has now. One rdma_cm_id for all of them would
 * listen on every RDMA device of the host.
 */
static int hw_listen_any(struct hw_conn *conn, const struct ri_listen_param *param)
{
	struct sockaddr_storage bound = *param->local;
	struct hw_addrs *addrs __free(kfree) = kzalloc(sizeof(*addrs), GFP_KERNEL_ACCOUNT);
	int ret = -EADDRNOTAVAIL;
	unsigned int i;

	if (!addrs)
		return -ENOMEM;
	hw_addrs_collect(hw_rnic(conn->ri.rnic), param, addrs);
	for (i = 0; i < addrs->num; i++) {
		/* the first may choose the port of all */
		kal_addr_set_port(&addrs->addr[i], kal_addr_port(&bound));
		ret = hw_listen_on(conn, param, &addrs->addr[i]);
		if (ret)
			break;
		kal_addr_set_port(&bound, kal_addr_port(&addrs->addr[i]));
	}
	conn->ri.info.local = bound;
	return ret;
}

static void hw_listen_end(struct hw_conn *conn)
{
	struct hw_id *hid, *next;

	list_for_each_entry_safe(hid, next, &conn->ids, node) {
		/* the handler looks whether it is in a list */
		scoped_guard(mutex, &hid->lock)
			hid->conn = NULL;
		list_del_init(&hid->node);
		/* at once: the port is free on return */
		hw_id_end(hid);
	}
}

int hw_conn_listen(struct ri_conn *ri, const struct ri_listen_param *param)
{
	struct hw_conn *conn = hw_conn(ri);
	int ret;

	INIT_LIST_HEAD(&conn->ids);
	if (kal_addr_any(param->local)) {
		ret = hw_listen_any(conn, param);
	} else {
		conn->ri.info.local = *param->local;
		ret = hw_listen_on(conn, param, &conn->ri.info.local);
	}
	if (ret)
		hw_listen_end(conn);
	return ret;
}

/* Connections *************************************************************** */

static int hw_conn_set_param(struct hw_id *hid, struct hw_qp *qp,
			     const struct ri_conn_param *from)
{
	int ret;

	if (hw_qp_spent(qp))
		return -EINVAL;
	memcpy(hid->private_data, from->private_data, from->private_data_len);
	hid->param = (struct rdma_conn_param) {
		.private_data = hid->private_data,
		.private_data_len = from->private_data_len,
		.responder_resources = min_t(u16, from->ird, U8_MAX),
		.initiator_depth = min_t(u16, from->ord, U8_MAX),
		.flow_control = 1,
		.retry_count = 7,
		.rnr_retry_count = 7,
		.srq = !!qp->ri.srq,
		.qp_num = qp->ib->qp_num,
	};
	if (qp->ri.pd->slow && list_empty(&hid->reserve)) {
		ret = hw_reserve(&hid->reserve,
				 hw_reserve_of_conn(hid->param.responder_resources +
						    hid->param.initiator_depth));
		if (ret)
			return ret;
	}
	hid->timeout_ms = from->timeout_ms;
	hid->qp = qp;
	WRITE_ONCE(qp->failed, false);
	WRITE_ONCE(qp->made, false);
	qp->ird = hid->param.responder_resources;
	qp->ord = hid->param.initiator_depth;
	hw_qp_set_id(qp, hid->id);
	return 0;
}

int hw_conn_connect(struct ri_conn *ri, struct ri_qp *qp, const struct ri_conn_param *param)
{
	struct sockaddr *local = param->local->ss_family ? (struct sockaddr *)param->local : NULL;
	struct hw_conn *conn = hw_conn(ri);
	struct hw_id *hid;
	int ret;

	INIT_LIST_HEAD(&conn->ids);
	hid = hw_id_create(conn, param->net);
	if (IS_ERR(hid))
		return PTR_ERR(hid);
	conn->hid = hid;
	ret = hw_conn_set_param(hid, hw_qp(qp), param);
	if (ret)
		return ret;
	hid->answered = true;
	if (param->tos_set)
		rdma_set_service_type(hid->id, param->tos);
	ret = rdma_resolve_addr(hid->id, local, (struct sockaddr *)param->remote,
				param->timeout_ms);
	return ret == -ENODEV ? -EADDRNOTAVAIL : ret;
}

static int hw_conn_accept_locked(struct hw_id *hid)
{
	int ret = 0;

	if (hw_conn_moves_qp(hid))
		ret = hw_conn_move_qp(hid, IB_QPS_INIT) ?: hw_conn_qp_to_rts(hid);
	if (!ret && !hw_qp_give(hid->qp))
		ret = -EINVAL;
	if (ret) {
		rdma_reject(hid->id, NULL, 0, IB_CM_REJ_CONSUMER_DEFINED);
		return ret;
	}
	/* refuses the request if it fails */
	return rdma_accept(hid->id, &hid->param);
}

/*
 * Not more Reads than the peer answers. Drivers of iWARP negotiate that themselves; a peer with
 * revision 1 of MPA names no numbers.
 */
static void hw_conn_bound_ord(struct hw_id *hid)
{
	if (!hw_conn_moves_qp(hid))
		return;
	hid->qp->ord = min_t(u16, hid->qp->ord, hid->conn->ri.info.ord);
	hid->param.initiator_depth = hid->qp->ord;
}

int hw_conn_accept(struct ri_conn *ri, struct ri_qp *qp, const struct ri_conn_param *param)
{
	struct hw_id *hid = hw_conn(ri)->hid;
	int ret;

	if (param->tos_set)
		rdma_set_service_type(hid->id, param->tos);
	rdma_lock_handler(hid->id);
	scoped_guard(mutex, &hid->lock) {
		ret = hw_conn_set_param(hid, hw_qp(qp), param);
		hid->answered = !ret;
		if (!ret)
			hw_conn_bound_ord(hid);
	}
	if (!ret)
		ret = hw_conn_accept_locked(hid);
	else
		rdma_reject(hid->id, NULL, 0, IB_CM_REJ_CONSUMER_DEFINED);
	rdma_unlock_handler(hid->id);
	return ret;
}

int hw_conn_reject(struct ri_conn *ri, const void *private_data, u16 len)
{
	struct hw_id *hid = hw_conn(ri)->hid;

	return rdma_reject(hid->id, private_data, len, IB_CM_REJ_CONSUMER_DEFINED);
}

/*
 * iWARP ends the stream behind what was posted. InfiniBand and RoCE have no such end: what has not
 * completed is flushed.
 */
void hw_conn_disconnect(struct ri_conn *ri, bool abrupt)
{
	struct hw_id *hid = hw_conn(ri)->hid;

	if (abrupt || hw_conn_moves_qp(hid))
		hw_qp_fail(hid->qp);
	rdma_disconnect(hid->id);
}

void hw_conn_destroy(struct ri_conn *ri)
{
	struct hw_conn *conn = hw_conn(ri);

	/* no call was made for it */
	if (!conn->ids.next)
		return;
	hw_listen_end(conn);
	if (conn->hid)
		hw_id_cut(conn->hid);
	conn->hid = NULL;
}
