// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The ib bridge's connection manager: it maps iw_cm's ids to the kAL's endpoints.
 *
 * iw_cm has rules. A violation of any of them is a kernel BUG:
 *
 * - For each iw_connect() that returned 0 there is exactly one CONNECT_REPLY. For each
 *   iw_accept() that returned 0 there is exactly one ESTABLISHED. Endpoints guarantee the
 *   same.
 * - CLOSE is the last event. It comes once, and only for an established id. Endpoints
 *   guarantee the same.
 * - iw_cm may refuse an event if memory is short. For a connection's own events, only the copy
 *   of the private data can fail; see kal_ib_conn_reply().
 * - The id must not be used after its last event. A connection holds a reference to the id
 *   from the first possible event to the last.
 *
 * An endpoint cannot be destroyed from an event, so a workqueue destroys a connection's
 * endpoint after its last event.
 *
 * Connection requests. iw_cm drops the requests of a destroyed listener. It does not report
 * which requests it dropped. Each request therefore waits in the device's table under a token,
 * which iw_cm gets as the provider data. The listener's handler is replaced by a handler that
 * marks the request as delivered. When a listener is destroyed, so are its undelivered requests.
 * The look-up of a token that iw_cm passes later then fails.
 */
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <rdma/iw_cm.h>
#include <rdma/rdma_cm.h>
#include <krdma/noio.h>

#include "../cm/cm.h"
#include "../core/core.h"
#include "bridge.h"

static struct workqueue_struct *kal_ib_cm_wq;

struct kal_ib_listener {
	struct kal_ib_cm_entry entry;
	struct kal_ib_device *dev;
	struct iw_cm_id *cm_id;		/* with a reference */
	iw_cm_handler cm_handler;	/* rdma_cm's handler, for the children */
	struct kal_ep *ep;
};

/**
 * struct kal_ib_conn - a connection, from its request or iw_connect() to its last event
 * @entry: entry in the table, from delivery or iw_connect() to the last event
 * @dev: device
 * @ep: endpoint, owned by the connection
 * @cm_id: id with a reference while events may come, then NULL; the endpoint's lock protects
 *	it once events may come
 * @done: destroys the connection
 * @listener: listener of an undelivered request
 * @cm_handler: rdma_cm's handler for a request
 * @token: token of a request
 * @delivered: iw_cm has created an id for the request; lock of @dev->requests
 */
struct kal_ib_conn {
	struct kal_ib_cm_entry entry;
	struct kal_ib_device *dev;
	struct kal_ep *ep;
	struct iw_cm_id *cm_id;
	struct work_struct done;
	struct kal_ib_listener *listener;
	iw_cm_handler cm_handler;
	u32 token;
	bool delivered;
};

/* Connections *************************************************************** */

static void kal_ib_conn_free(struct kal_ib_conn *conn)
{
	kal_ib_cm_hide(&conn->entry);
	kal_ep_destroy(conn->ep);
	kfree(conn);
}

static void kal_ib_conn_done(struct work_struct *work)
{
	guard(krdma_noio)();
	kal_ib_conn_free(container_of(work, struct kal_ib_conn, done));
}

static struct kal_ib_conn *kal_ib_conn_alloc(struct kal_ib_device *dev, gfp_t gfp)
{
	struct kal_ib_conn *conn = kzalloc(sizeof(*conn), gfp);

	if (conn) {
		conn->dev = dev;
		INIT_WORK(&conn->done, kal_ib_conn_done);
	}
	return conn;
}

static void kal_ib_conn_set_id(struct kal_ib_conn *conn, struct iw_cm_id *cm_id)
{
	cm_id->add_ref(cm_id);
	conn->cm_id = cm_id;
	kal_ib_cm_show(&conn->entry, cm_id, conn->ep);
}

static void kal_ib_conn_clear_id(struct kal_ib_conn *conn)
{
	struct iw_cm_id *cm_id = conn->cm_id;

	kal_ib_cm_hide(&conn->entry);
	conn->cm_id = NULL;
	cm_id->rem_ref(cm_id);
}

/* Called after the last event. */
static void kal_ib_conn_end(struct kal_ib_conn *conn)
{
	kal_ib_conn_clear_id(conn);
	queue_work(kal_ib_cm_wq, &conn->done);
}

/*
 * Convert an endpoint's event to iw_cm's. The length field of iw_cm has 8 bits, so longer
 * private data is truncated.
 */
static void kal_ib_cm_event(struct iw_cm_event *event, enum iw_cm_event_type type,
			    const struct kal_ep_event *from)
{
	memset(event, 0, sizeof(*event));
	event->event = type;
	event->status = from->status;
	if (from->local)
		event->local_addr = *from->local;
	if (from->remote)
		event->remote_addr = *from->remote;
	event->private_data = (void *)from->private_data;
	event->private_data_len = min_t(u16, from->private_data_len, U8_MAX);
	/* iw_cm expects the peer's view: rdma_cm uses its IRD as the local initiator depth */
	event->ird = min_t(u16, from->ord, U8_MAX);
	event->ord = min_t(u16, from->ird, U8_MAX);
}

/*
 * A reply must be reported. If there is no memory for the peer's private data, the connection
 * is reported as failed, without private data.
 */
static void kal_ib_conn_reply(struct kal_ib_conn *conn,
			      const struct kal_ep_event *from)
{
	struct iw_cm_id *cm_id = conn->cm_id;
	struct iw_cm_event event;
	int ret;

	kal_ib_cm_event(&event, IW_CM_EVENT_CONNECT_REPLY, from);
	if (from->status) {
		event.local_addr = cm_id->local_addr;
		event.remote_addr = cm_id->remote_addr;
	}
	ret = cm_id->event_handler(cm_id, &event);
	if (ret) {
		event.status = event.status ?: ret;
		event.private_data = NULL;
		event.private_data_len = 0;
		WARN_ON_ONCE(cm_id->event_handler(cm_id, &event));
	}
	if (event.status)
		kal_ib_conn_end(conn);
}

static void kal_ib_conn_established(struct kal_ib_conn *conn,
				    const struct kal_ep_event *from)
{
	struct iw_cm_event event;

	kal_ib_cm_event(&event, IW_CM_EVENT_ESTABLISHED, from);
	event.private_data = NULL;
	event.private_data_len = 0;
	WARN_ON_ONCE(conn->cm_id->event_handler(conn->cm_id, &event));
}

static void kal_ib_conn_closed(struct kal_ib_conn *conn,
			       const struct kal_ep_event *from)
{
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_CLOSE,
		.status = from->status,
	};

	WARN_ON_ONCE(conn->cm_id->event_handler(conn->cm_id, &event));
	kal_ib_conn_end(conn);
}

static int kal_ib_conn_event(struct kal_ep *ep, void *context,
			     const struct kal_ep_event *event)
{
	struct kal_ib_conn *conn = context;

	/* the reply was reported as a failure, or iw_accept() has failed */
	if (!conn->cm_id)
		return 0;
	switch (event->type) {
	case KAL_EP_CONN_REPLY:
		kal_ib_conn_reply(conn, event);
		break;
	case KAL_EP_ESTABLISHED:
		kal_ib_conn_established(conn, event);
		break;
	case KAL_EP_CLOSED:
		kal_ib_conn_closed(conn, event);
		break;
	case KAL_EP_CONN_REQUEST:
		return -EINVAL;
	}
	return 0;
}

/* Start and answer ********************************************************** */

/* Look up a QP by its number. Return: the QP with a reference, or NULL. */
static struct kal_ib_qp *kal_ib_qp_find(struct kal_ib_device *dev, u32 qpn)
{
	struct ri_obj *obj = kal_obj_get(dev->rnic, RI_OBJ_QP, qpn);
	struct kal_ib_qp *qp = NULL;
	const struct ri_qp *rqp;

	if (!obj)
		return NULL;
	rqp = container_of(obj, struct ri_qp, obj);
	/* the QPs of other consumer sides are in the same table */
	if (kal_ib_owns_qp(rqp) && kal_ib_qp_get(rqp->consumer))
		qp = rqp->consumer;
	kal_obj_put(obj);
	return qp;
}

static int kal_ib_conn_param(const struct kal_ib_device *dev,
			     const struct iw_cm_id *cm_id,
			     const struct iw_cm_conn_param *from,
			     struct kal_conn_param *param)
{
	const struct ib_device_attr *limits = &dev->rnic->attr.limits;

	if (from->ord > limits->max_qp_init_rd_atom ||
	    from->ird > limits->max_qp_rd_atom)
		return -EINVAL;
	*param = (struct kal_conn_param) {
		.private_data = from->private_data,
		.private_data_len = from->private_data_len,
		.ird = from->ird,
		.ord = from->ord,
		.tos = cm_id->tos,
		.tos_set = cm_id->tos_set,
	};
	return 0;
}

static int kal_ib_conn_connect(struct kal_ib_device *dev,
			       struct iw_cm_id *cm_id, struct ri_qp *qp,
			       const struct kal_conn_param *param)
{
	struct kal_ib_conn *conn = kal_ib_conn_alloc(dev, GFP_KERNEL_ACCOUNT);
	int ret;

	if (!conn)
		return -ENOMEM;
	conn->ep = kal_ep_create(dev->rnic, kal_ib_conn_event, conn);
	if (IS_ERR(conn->ep)) {
		ret = PTR_ERR(conn->ep);
		kfree(conn);
		return ret;
	}
	kal_ib_conn_set_id(conn, cm_id);
	ret = kal_ep_connect(conn->ep, qp,
			     (struct sockaddr *)&cm_id->local_addr,
			     (struct sockaddr *)&cm_id->remote_addr, param);
	if (ret) {
		kal_ib_conn_clear_id(conn);
		kal_ib_conn_free(conn);
	}
	return ret;
}

static int kal_ib_connect(struct iw_cm_id *cm_id, struct iw_cm_conn_param *from)
{
	struct kal_ib_device *dev = to_kal_ib_device(cm_id->device);
	struct kal_conn_param param;
	struct kal_ib_qp *qp;
	int ret;

	ret = kal_ib_conn_param(dev, cm_id, from, &param);
	if (ret)
		return ret;
	qp = kal_ib_qp_find(dev, from->qpn);
	if (!qp)
		return -EINVAL;
	ret = kal_ib_conn_connect(dev, cm_id, qp->qp, &param);
	kal_ib_qp_put(qp);
	return ret;
}

/*
 * Take the request that iw_cm answers out of the table. Return: the request, which the caller
 * owns now, or NULL.
 */
static struct kal_ib_conn *kal_ib_request_take(struct iw_cm_id *cm_id)
{
	struct kal_ib_device *dev = to_kal_ib_device(cm_id->device);

	return xa_erase(&dev->requests, (uintptr_t)cm_id->provider_data);
}

static int kal_ib_conn_accept(struct kal_ib_conn *conn, struct iw_cm_id *cm_id,
			      const struct iw_cm_conn_param *from)
{
	struct kal_conn_param param;
	struct kal_ib_qp *qp;
	int ret;

	ret = kal_ib_conn_param(conn->dev, cm_id, from, &param);
	if (ret)
		return ret;
	qp = kal_ib_qp_find(conn->dev, from->qpn);
	if (!qp)
		return -EINVAL;
	kal_ib_conn_set_id(conn, cm_id);
	ret = kal_ep_accept(conn->ep, qp->qp, &param);
	if (ret)
		kal_ib_conn_clear_id(conn);
	kal_ib_qp_put(qp);
	return ret;
}

static int kal_ib_accept(struct iw_cm_id *cm_id, struct iw_cm_conn_param *from)
{
	struct kal_ib_conn *conn = kal_ib_request_take(cm_id);
	int ret;

	if (!conn)
		return -EINVAL;
	ret = kal_ib_conn_accept(conn, cm_id, from);
	if (ret)
		kal_ib_conn_free(conn);
	return ret;
}

static int kal_ib_reject(struct iw_cm_id *cm_id, const void *private_data,
			 u8 len)
{
	struct kal_ib_conn *conn = kal_ib_request_take(cm_id);
	int ret;

	if (!conn)
		return -EINVAL;
	ret = kal_ep_reject(conn->ep, private_data, len);
	kal_ib_conn_free(conn);
	return ret;
}

/* Listeners ***************************************************************** */

/*
 * This handler replaces rdma_cm's for the first event of a new id. The event shows that iw_cm
 * has created the id, so the id will answer the request.
 */
static int kal_ib_request_delivered(struct iw_cm_id *cm_id,
				    struct iw_cm_event *event)
{
	struct kal_ib_device *dev = to_kal_ib_device(cm_id->device);
	iw_cm_handler handler = NULL;
	struct kal_ib_conn *conn;

	xa_lock(&dev->requests);
	conn = xa_load(&dev->requests, (uintptr_t)cm_id->provider_data);
	if (conn) {
		conn->delivered = true;
		handler = conn->cm_handler;
		/* iw_cm rejects the request before it frees the id */
		kal_ib_cm_show(&conn->entry, cm_id, conn->ep);
	}
	xa_unlock(&dev->requests);
	if (!handler)
		return -ECONNABORTED;
	cm_id->cm_handler = handler;
	return handler(cm_id, event);
}

/*
 * Allocate an incoming connection, charged to the memory cgroup of its endpoint instead of
 * this thread's.
 */
static struct kal_ib_conn *kal_ib_conn_alloc_child(struct kal_ib_device *dev,
						   const struct kal_ep *listener)
{
	struct mem_cgroup *memcg = kal_ep_memcg(listener);
	struct mem_cgroup *before = set_active_memcg(memcg);
	struct kal_ib_conn *conn;

	conn = kal_ib_conn_alloc(dev, memcg ? KAL_GFP_REQUEST : GFP_KERNEL);
	set_active_memcg(before);
	return conn;
}

static int kal_ib_listener_event(struct kal_ep *ep, void *context,
				 const struct kal_ep_event *from)
{
	struct kal_ib_listener *listener = context;
	struct kal_ib_device *dev = listener->dev;
	struct iw_cm_event event;
	struct kal_ib_conn *conn;
	int ret;

	if (from->type != KAL_EP_CONN_REQUEST)
		return -EINVAL;
	conn = kal_ib_conn_alloc_child(dev, ep);
	if (!conn)
		return -ENOMEM;
	conn->ep = from->child;
	conn->listener = listener;
	conn->cm_handler = listener->cm_handler;
	ret = xa_alloc_cyclic(&dev->requests, &conn->token, conn, xa_limit_32b,
			      &dev->next_request, GFP_KERNEL);
	if (ret < 0)
		goto err_free;
	kal_ep_set_handler(conn->ep, kal_ib_conn_event, conn);
	kal_ib_cm_event(&event, IW_CM_EVENT_CONNECT_REQUEST, from);
	event.status = 0;
	event.provider_data = (void *)(uintptr_t)conn->token;
	/* fails if the backlog is full; the kAL then ends the child */
	ret = listener->cm_id->event_handler(listener->cm_id, &event);
	if (!ret)
		return 0;
	xa_erase(&dev->requests, conn->token);
err_free:
	kfree(conn);
	return ret;
}

/*
 * rdma_cm leaves the port of a wildcard's listeners unset (docs/kernel-bugs.md). It then gives
 * their connections to the first of all RNICs that may have the address, even if the
 * connection arrived on another RNIC. The first RNIC could not accept it. If the port is set,
 * rdma_cm uses the listener's own RNIC. rdma_cm is the only user of iw_cm, and its id is the
 * context.
 *
 * There is no other way:
 *
 * - cma_iw_acquire_dev() looks only at the listener's device and port, and at the network
 *   device of the local address. No field of struct iw_cm_event or struct iw_cm_id influences
 *   either.
 * - iw_accept() names a QP by its number on the RNIC that rdma_cm chose. No argument of the
 *   call names that RNIC, so a connection cannot be handed over to it.
 *
 * No other code uses the id at this point, between its creation in cma_listen_on_dev() and its
 * first use. The field is public.
 */
static void kal_ib_listen_port(const struct iw_cm_id *cm_id)
{
	struct rdma_cm_id *id = cm_id->context;

	if (rdma_iw_cm_id(id) == cm_id && !id->port_num)
		id->port_num = KAL_IB_PORT;
}

/*
 * Get the namespace of the listener. The caller's namespace may be different: rdma_cm asks a
 * new device for all existing listeners, including those of other namespaces. The caller may
 * then be an administrator.
 */
static struct net *kal_ib_listen_net(const struct iw_cm_id *cm_id)
{
	struct rdma_cm_id *id = cm_id->context;

	return rdma_iw_cm_id(id) == cm_id ? id->route.addr.dev_addr.net : NULL;
}

static int kal_ib_create_listen(struct iw_cm_id *cm_id, int backlog)
{
	struct kal_ib_device *dev = to_kal_ib_device(cm_id->device);
	struct kal_listen_param param = {
		.backlog = backlog,
		.v6only = cm_id->afonly,
		.tos_set = cm_id->tos_set,
		.tos = cm_id->tos,
		.net = kal_ib_listen_net(cm_id),
	};
	struct kal_ib_listener *listener;
	int ret;

	listener = kzalloc(sizeof(*listener), GFP_KERNEL_ACCOUNT);
	if (!listener)
		return -ENOMEM;
	listener->dev = dev;
	listener->cm_id = cm_id;
	listener->cm_handler = cm_id->cm_handler;
	listener->ep = kal_ep_create(dev->rnic, kal_ib_listener_event, listener);
	if (IS_ERR(listener->ep)) {
		ret = PTR_ERR(listener->ep);
		goto err_free;
	}
	cm_id->add_ref(cm_id);
	cm_id->provider_data = listener;
	cm_id->cm_handler = kal_ib_request_delivered;
	kal_ib_listen_port(cm_id);
	/* if the listener existed before the RNIC, this is the process that created the RNIC */
	param.memcg = current->mm ? get_mem_cgroup_from_mm(current->mm) : NULL;
	ret = kal_ep_listen(listener->ep, (struct sockaddr *)&cm_id->local_addr,
			    &param, NULL);
	mem_cgroup_put(param.memcg);
	if (!ret) {
		kal_ib_cm_show(&listener->entry, cm_id, listener->ep);
		return 0;
	}

	cm_id->cm_handler = listener->cm_handler;
	cm_id->provider_data = NULL;
	cm_id->rem_ref(cm_id);
	kal_ep_destroy(listener->ep);
err_free:
	kfree(listener);
	return ret;
}

/* End the requests of @listener that iw_cm drops, or all requests (NULL). */
static void kal_ib_requests_end(struct kal_ib_device *dev,
				const struct kal_ib_listener *listener)
{
	struct kal_ib_conn *conn;
	unsigned long token;
	bool take;

	xa_for_each(&dev->requests, token, conn) {
		xa_lock(&dev->requests);
		conn = xa_load(&dev->requests, token);
		take = conn && (!listener || (conn->listener == listener &&
					      !conn->delivered));
		if (take)
			__xa_erase(&dev->requests, token);
		xa_unlock(&dev->requests);
		if (take)
			kal_ib_conn_free(conn);
	}
}

static int kal_ib_destroy_listen(struct iw_cm_id *cm_id)
{
	struct kal_ib_listener *listener = cm_id->provider_data;

	if (!listener)
		return 0;
	cm_id->provider_data = NULL;
	kal_ib_cm_hide(&listener->entry);
	/* no new request comes after this */
	kal_ep_destroy(listener->ep);
	kal_ib_requests_end(listener->dev, listener);
	cm_id->rem_ref(cm_id);
	kfree(listener);
	return 0;
}

/* Queue pairs, for iw_cm **************************************************** */

/*
 * iw_cm looks up a QP and takes a reference in two calls. Nothing keeps the QP between them.
 * The first call therefore takes the reference for the second.
 */
static struct ib_qp *kal_ib_iw_get_qp(struct ib_device *base, int qpn)
{
	struct kal_ib_qp *qp = kal_ib_qp_find(to_kal_ib_device(base), qpn);

	return qp ? &qp->base : NULL;
}

static void kal_ib_iw_add_ref(struct ib_qp *base)
{
}

static void kal_ib_iw_rem_ref(struct ib_qp *base)
{
	kal_ib_qp_put(to_kal_ib_qp(base));
}

const struct ib_device_ops kal_ib_cm_ops = {
	.iw_accept = kal_ib_accept,
	.iw_add_ref = kal_ib_iw_add_ref,
	.iw_connect = kal_ib_connect,
	.iw_create_listen = kal_ib_create_listen,
	.iw_destroy_listen = kal_ib_destroy_listen,
	.iw_get_qp = kal_ib_iw_get_qp,
	.iw_reject = kal_ib_reject,
	.iw_rem_ref = kal_ib_iw_rem_ref,
};

/*
 * Called before ib_core removes the device from rdma_cm. rdma_cm would otherwise wait for ids
 * that wait for their peers.
 */
void kal_ib_cm_abort(struct kal_ib_device *dev)
{
	kal_rnic_abort_attempts(dev->rnic, kal_ib_conn_event);
}

/* The device is unregistered, so iw_cm has no id of it: end the remaining requests. */
void kal_ib_cm_remove(struct kal_ib_device *dev)
{
	kal_ib_requests_end(dev, NULL);
	flush_workqueue(kal_ib_cm_wq);
}

int kal_ib_cm_init(void)
{
	kal_ib_cm_wq = alloc_workqueue("krdma_ib_cm", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return kal_ib_cm_wq ? 0 : -ENOMEM;
}

void kal_ib_cm_exit(void)
{
	destroy_workqueue(kal_ib_cm_wq);
}
