// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Connections of endpoints: connect, disconnect, and the events of the kAL's endpoints.
 *
 * Rules:
 *
 * - Each attempt has a kAL endpoint of its own, ep->conn, whose context is the EP. The EP outlives
 *   it: kdat_cm_end() destroys it, and no event comes after that. The handler drops the events of
 *   an endpoint that is not ep->conn any more.
 * - The kAL calls the handler with the lock of its endpoint held, and the handler takes ep->mutex.
 *   So ep->mutex is never held in a call of the kAL that takes that lock, and the events of a
 *   connection keep their order.
 * - A call that reports the end of an attempt may let the consumer free the EP at once. A call that
 *   uses the EP after such a point counts in ep->calls, and kdat_cm_end() waits for it.
 * - Exactly one event reports the result of an attempt. The thread that ends it notes the reason in
 *   the EP (disconnecting, timed_out) and ends the kAL's endpoint, whose handler reports. If the
 *   attempt succeeds at the same moment, ESTABLISHED is not reported, but the end is, with that
 *   reason.
 * - Receives that complete before the result of an attempt is reported are held until then, see
 *   evd_early.c.
 * - An attempt can be ended only after the kAL has bound its endpoint to the QP. So the thread that
 *   started it looks at ep->disconnecting afterwards, and starts the clock then.
 * - The RNIC is removed: kdat_cm_end() runs while no other call does, and lets the end be reported.
 */
#include <linux/cleanup.h>
#include <linux/export.h>
#include <linux/ip.h>
#include <linux/wait_bit.h>
#include <net/ipv6.h>

#include <krdma/netstack.h>
#include <krdma/noio.h>

#include "connections.h"

struct workqueue_struct *kdat_cm_wq;

int kdat_cm_wq_init(void)
{
	kdat_cm_wq = alloc_workqueue("krdma_kdapl_cm", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return kdat_cm_wq ? 0 : -ENOMEM;
}

void kdat_cm_wq_exit(void)
{
	destroy_workqueue(kdat_cm_wq);
}

void kdat_cm_get(struct kdat_ep *ep)
{
	atomic_inc(&ep->calls);
}

/* The EP may be freed after the decrement; the wake-up uses its address only. */
void kdat_cm_put(struct kdat_ep *ep)
{
	if (atomic_dec_and_test(&ep->calls))
		wake_up_var(&ep->calls);
}

/* Addresses ***************************************************************** */

static DAT_RETURN kdat_cm_address4(const struct sockaddr_in *in, bool any)
{
	if (ipv4_is_zeronet(in->sin_addr.s_addr) && !(any && !in->sin_addr.s_addr))
		return KDAT_ERROR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED);
	if (ipv4_is_multicast(in->sin_addr.s_addr) || ipv4_is_lbcast(in->sin_addr.s_addr))
		return KDAT_ERROR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED);
	/* class E, reserved */
	if ((ntohl(in->sin_addr.s_addr) & 0xf0000000) == 0xf0000000)
		return KDAT_ERROR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED);
	return DAT_SUCCESS;
}

DAT_RETURN kdat_cm_address(const struct sockaddr *from, bool any, struct sockaddr_storage *to)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)to;
	struct sockaddr_in *in = (struct sockaddr_in *)to;

	memset(to, 0, sizeof(*to));
	if (from->sa_family == AF_INET) {
		memcpy(in, from, sizeof(*in));
		return kdat_cm_address4(in, any);
	}
	if (from->sa_family != AF_INET6)
		return KDAT_ERROR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED);
	memcpy(in6, from, sizeof(*in6));
	if (ipv6_addr_v4mapped(&in6->sin6_addr)) {
		const __be32 ip = in6->sin6_addr.s6_addr32[3];
		const __be16 port = in6->sin6_port;

		memset(to, 0, sizeof(*to));
		in->sin_family = AF_INET;
		in->sin_port = port;
		in->sin_addr.s_addr = ip;
		return kdat_cm_address4(in, any);
	}
	if (!any && ipv6_addr_any(&in6->sin6_addr))
		return KDAT_ERROR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED);
	if (ipv6_addr_is_multicast(&in6->sin6_addr))
		return KDAT_ERROR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED);
	if (!ipv6_mod_enabled())
		return KDAT_ERROR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNREACHABLE);
	return DAT_SUCCESS;
}

/*
 * The source address of the host's route or the consumer's, which must be the RNIC's. An RNIC
 * without a network device finds the route itself.
 */
static int kdat_cm_source(const struct kdat_ep *ep, const struct sockaddr_storage *remote,
			  struct sockaddr_storage *local)
{
	struct kdat_ia *ia = ep->obj.ia;
	struct ri_rnic *rnic = ia->kr->rnic;
	struct kal_route route;
	int err;

	*local = ep->source;
	if (!rnic->netdev)
		return 0;
	err = kal_net_route(ia->net, remote, &ep->source, kal_netdev_vrf(rnic->netdev), &route);
	if (err == -EINVAL)
		err = -EHOSTUNREACH;
	if (err)
		return err;
	*local = route.src;
	return kal_rnic_owns(rnic, ia->net, local) ? 0 : -EADDRNOTAVAIL;
}

/* Events ******************************************************************** */

/* Put the connection event; ep->mutex held. */
static void kdat_cm_report(struct kdat_ep *ep, DAT_EVENT_NUMBER number)
{
	const DAT_EVENT event = {
		.event_number = number,
		.event_data.connect_event_data = {
			.ep_handle = ep,
			.private_data_size = ep->private_data_len,
			.private_data = ep->private_data_len ? ep->private_data : NULL,
		},
	};

	kdat_evd_put(ep->connect_evd, &event);
	/* receives come after that */
	kdat_early_end(ep);
}

/* The consumer's reason for the end, else @number. ep->mutex held. */
static DAT_EVENT_NUMBER kdat_cm_reason(const struct kdat_ep *ep, DAT_EVENT_NUMBER number)
{
	if (ep->timed_out)
		return DAT_CONNECTION_EVENT_TIMED_OUT;
	return ep->disconnecting ? DAT_CONNECTION_EVENT_DISCONNECTED : number;
}

/*
 * The connection or the attempt has ended; ep->mutex held. The provider takes the QP of a
 * connection to the error state. @flush: there was none, or it still has to end: kdat_cm_work()
 * takes the QP there, which cannot be done here, with the lock of a kAL endpoint.
 */
static void kdat_cm_ended(struct kdat_ep *ep, DAT_EVENT_NUMBER number, bool flush)
{
	if (number != DAT_CONNECTION_EVENT_PEER_REJECTED)
		ep->private_data_len = 0;
	WRITE_ONCE(ep->establishing, KDAT_ESTABLISHING_NONE);
	kdat_ep_set_state(ep, DAT_EP_STATE_DISCONNECTED);
	if (flush)
		mod_delayed_work(kdat_cm_wq, &ep->timeout, 0);
	else
		cancel_delayed_work(&ep->timeout);
	kdat_cm_report(ep, number);
}

static void kdat_cm_keep(struct kdat_ep *ep, const struct kal_ep_event *from)
{
	const u16 len = min_t(u16, from->private_data_len, sizeof(ep->private_data));

	ep->private_data_len = from->private_data ? len : 0;
	if (ep->private_data_len)
		memcpy(ep->private_data, from->private_data, len);
}

static DAT_EVENT_NUMBER kdat_cm_failure(const struct kal_ep_event *from)
{
	if (from->type == KAL_EP_ESTABLISHED)
		return DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR;
	return kdat_error_conn_event(from->status, from->private_data);
}

static void kdat_cm_failed(struct kdat_ep *ep, struct kal_ep *conn,
			   const struct kal_ep_event *from)
{
	mutex_lock(&ep->mutex);
	if (ep->conn == conn) {
		kdat_cm_keep(ep, from);
		kdat_cm_ended(ep, kdat_cm_reason(ep, kdat_cm_failure(from)), true);
	}
	mutex_unlock(&ep->mutex);
}

/* Is @conn the EP's, and its end not asked for? ep->mutex held. */
static bool kdat_cm_wanted(const struct kdat_ep *ep, const struct kal_ep *conn)
{
	return ep->conn == conn && !ep->disconnecting && !ep->timed_out;
}

/* The result of an attempt whose connection has ended before it was reported. ep->mutex held. */
static DAT_EVENT_NUMBER kdat_cm_unreported(const struct kdat_ep *ep)
{
	return ep->establishing == KDAT_ESTABLISHING_ACTIVE ?
		       DAT_CONNECTION_EVENT_NON_PEER_REJECTED :
		       DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR;
}

/* Report the connection, or that it failed; ep->mutex held. */
static void kdat_cm_tell_ready(struct kdat_ep *ep, DAT_RETURN error)
{
	const DAT_EVENT_NUMBER failure = kdat_cm_unreported(ep);

	WRITE_ONCE(ep->establishing, KDAT_ESTABLISHING_NONE);
	if (error == DAT_SUCCESS) {
		cancel_delayed_work(&ep->timeout);
		kdat_cm_report(ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	} else {
		/* the QP's way to the error state ends the connection */
		ep->quiet = true;
		kdat_cm_ended(ep, failure, true);
	}
}

void kdat_cm_ready(struct kdat_ep *ep, DAT_RETURN error)
{
	guard(mutex)(&ep->mutex);
	if (!ep->establishing)
		return;
	if (ep->conn && kdat_cm_wanted(ep, ep->conn))
		kdat_cm_tell_ready(ep, error);
	else
		/* its end comes and is reported */
		WRITE_ONCE(ep->establishing, KDAT_ESTABLISHING_NONE);
}

static void kdat_cm_established(struct kdat_ep *ep, struct kal_ep *conn,
				const struct kal_ep_event *from)
{
	const bool active = from->type == KAL_EP_CONN_REPLY;

	guard(mutex)(&ep->mutex);
	if (!kdat_cm_wanted(ep, conn))
		return;
	scoped_guard(spinlock_irqsave, &ep->query_lock) {
		if (from->local)
			ep->local = *from->local;
		if (from->remote)
			ep->remote = *from->remote;
		/* the peer's answer may allow fewer than the consumer wanted */
		ep->reads.in = from->ird;
		ep->reads.out = from->ord;
	}
	if (active)
		kdat_cm_keep(ep, from);
	/* an LMR that is created from now on is posted by kdat_lmr_pending() */
	kdat_ep_set_state(ep, DAT_EP_STATE_CONNECTED);
	WRITE_ONCE(ep->establishing, active ? KDAT_ESTABLISHING_ACTIVE : KDAT_ESTABLISHING_PASSIVE);
	if (kdat_lmr_connected(ep))
		kdat_cm_tell_ready(ep, DAT_SUCCESS);
}

static void kdat_cm_closed(struct kdat_ep *ep, struct kal_ep *conn, int status)
{
	DAT_EVENT_NUMBER number = status ? DAT_CONNECTION_EVENT_BROKEN :
					   DAT_CONNECTION_EVENT_DISCONNECTED;

	mutex_lock(&ep->mutex);
	if (ep->establishing)
		number = kdat_cm_unreported(ep);
	if (ep->conn == conn && !ep->quiet)
		kdat_cm_ended(ep, kdat_cm_reason(ep, number), false);
	mutex_unlock(&ep->mutex);
}

static int kdat_cm_event(struct kal_ep *conn, void *context, const struct kal_ep_event *from)
{
	struct kdat_ep *ep = context;

	switch (from->type) {
	case KAL_EP_CONN_REPLY:
	case KAL_EP_ESTABLISHED:
		if (from->status)
			kdat_cm_failed(ep, conn, from);
		else
			kdat_cm_established(ep, conn, from);
		return 0;
	case KAL_EP_CLOSED:
		kdat_cm_closed(ep, conn, from->status);
		return 0;
	case KAL_EP_CONN_REQUEST:
		break;
	}
	return -EINVAL;
}

/*
 * A graceful end waits for the posted requests. The kAL's own connections do so themselves. Devices
 * that make connections flush the requests, whatever the transport. So this function waits for
 * them, not longer than the administrator allows. It takes completions from the CQ that the
 * consumer does not look for.
 */
static void kdat_cm_drain(struct kdat_ep *ep, struct ri_qp *qp)
{
	bool late, idle;

	kdat_evd_collect(ep->request_evd);
	mutex_lock(&ep->mutex);
	late = time_after_eq(jiffies, ep->patience);
	idle = kdat_slots_idle(&ep->requests);
	if (!late && !idle && ep->state == DAT_EP_STATE_DISCONNECT_PENDING)
		queue_delayed_work(kdat_cm_wq, &ep->timeout, 1);
	mutex_unlock(&ep->mutex);
	if (idle || late)
		kal_qp_disconnect(qp, !idle);
}

/* A device makes the connections of @ep, which the RNIC holds. */
static bool kdat_cm_offloads(const struct kdat_ep *ep)
{
	return ep->obj.ia->kr->rnic->attr.caps & RI_CAP_LLP_OFFLOAD;
}

/*
 * End an attempt when its time has passed, or a connection when its requests are complete. After a
 * failure, take the QP to the error state, which ends the rest of the connection and flushes the
 * posted requests. kdat_cm_end() waits for this, so the QP stays.
 */
static void kdat_cm_work(struct work_struct *work)
{
	struct kdat_ep *ep = container_of(to_delayed_work(work), struct kdat_ep, timeout);
	const struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	bool late, flush, drain;
	struct ri_qp *qp;

	guard(krdma_noio)();
	mutex_lock(&ep->mutex);
	qp = ep->qp;
	late = ep->conn && ep->state == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING &&
	       !ep->disconnecting;
	if (late)
		ep->timed_out = true;
	flush = ep->state == DAT_EP_STATE_DISCONNECTED;
	drain = ep->conn && ep->state == DAT_EP_STATE_DISCONNECT_PENDING;
	mutex_unlock(&ep->mutex);
	if (late && qp)
		kal_qp_disconnect(qp, true);
	else if (drain && qp)
		kdat_cm_drain(ep, qp);
	else if (flush && qp)
		kal_qp_modify(qp, &attr, IB_QP_STATE);
}

/* Start ********************************************************************* */

void kdat_cm_init(struct kdat_ep *ep)
{
	INIT_DELAYED_WORK(&ep->timeout, kdat_cm_work);
	INIT_LIST_HEAD(&ep->early_node);
	atomic_set(&ep->calls, 0);
}

/* What does the endpoint lack for a connection? ep->mutex held. */
static DAT_RETURN kdat_cm_lacks(const struct kdat_ep *ep)
{
	if (!ep->pz)
		return KDAT_BAD_STATE(EP_PZ);
	if (!ep->request_evd)
		return KDAT_BAD_STATE(EP_EVD_REQUEST);
	if (!ep->recv_evd)
		return KDAT_BAD_STATE(EP_EVD_RECV);
	if (!ep->connect_evd)
		return KDAT_BAD_STATE(EP_EVD_CONNECT);
	return ep->qp ? DAT_SUCCESS : KDAT_GONE;
}

/*
 * May the endpoint connect or accept now? @tentative: it accepts the request that it waits for. The
 * answer for an unconfigured endpoint names what it lacks. ep->mutex held.
 */
static DAT_RETURN kdat_cm_may_start(const struct kdat_ep *ep, bool tentative)
{
	const DAT_EP_STATE state = ep->state;
	bool fine;

	if (tentative)
		fine = state == DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING ||
		       state == DAT_EP_STATE_UNCONFIGURED_TENTATIVE;
	else
		fine = state == DAT_EP_STATE_UNCONNECTED ||
		       state == DAT_EP_STATE_UNCONFIGURED_UNCONNECTED;
	return fine ? kdat_cm_lacks(ep) : kdat_ep_state_error(state);
}

/* The endpoint takes @conn, with a reference for the caller. ep->mutex held. */
static void kdat_cm_take(struct kdat_ep *ep, struct kal_ep *conn, DAT_EP_STATE state)
{
	kdat_cm_get(ep);
	kal_ep_get(conn);
	ep->conn = conn;
	ep->disconnecting = false;
	ep->timed_out = false;
	ep->quiet = false;
	ep->private_data_len = 0;
	scoped_guard(spinlock_irqsave, &ep->query_lock) {
		ep->reads.in = -1;
		ep->reads.out = -1;
	}
	kdat_early_begin(ep);
	kdat_ep_set_state(ep, state);
}

static u16 kdat_cm_depth(DAT_COUNT depth)
{
	return clamp(depth, 0, U8_MAX);
}

/*
 * DAT_QOS as the IP type of service: low delay, throughput, both; economy is the lower effort of
 * RFC 8622, because "low cost" is an ECN bit today.
 */
static u8 kdat_cm_tos(DAT_QOS qos)
{
	switch (qos) {
	case DAT_QOS_HIGH_THROUGHPUT:
		return IPTOS_THROUGHPUT;
	case DAT_QOS_LOW_LATENCY:
		return IPTOS_LOWDELAY;
	case DAT_QOS_PREMIUM:
		return IPTOS_LOWDELAY | IPTOS_THROUGHPUT;
	case DAT_QOS_ECONOMY:
		return 1 << 2;
	default:
		return 0;
	}
}

/*
 * The kAL did not start the attempt. If the consumer has asked for its end meanwhile, the event
 * that this consumer waits for comes. Return: what to answer, @error without that, and with a
 * socket, which stays the consumer's.
 */
static DAT_RETURN kdat_cm_not_started(struct kdat_ep *ep, struct kal_ep *conn, bool socket,
				      DAT_RETURN error)
{
	bool mine;

	mutex_lock(&ep->mutex);
	mine = ep->conn == conn;
	if (mine) {
		ep->conn = NULL;
		if (ep->disconnecting) {
			kdat_cm_ended(ep, DAT_CONNECTION_EVENT_DISCONNECTED, true);
			if (!socket)
				error = DAT_SUCCESS;
		} else {
			kdat_early_end(ep);
			kdat_ep_set_state(ep, DAT_EP_STATE_UNCONNECTED);
		}
	}
	mutex_unlock(&ep->mutex);
	if (mine)
		kal_ep_destroy(conn);
	return error;
}

/*
 * The attempt is in progress or has ended. Start the clock, or end it if the consumer asked
 * meanwhile.
 */
static void kdat_cm_started(struct kdat_ep *ep, struct kal_ep *conn, struct ri_qp *qp,
			    DAT_TIMEOUT timeout)
{
	bool end;

	mutex_lock(&ep->mutex);
	end = ep->conn == conn && ep->disconnecting &&
	      (ep->state == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING ||
	       ep->state == DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	if (ep->conn == conn && !end && timeout != DAT_TIMEOUT_INFINITE &&
	    ep->state == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING)
		queue_delayed_work(kdat_cm_wq, &ep->timeout, usecs_to_jiffies(timeout));
	mutex_unlock(&ep->mutex);
	if (end)
		kal_qp_disconnect(qp, true);
}

static DAT_RETURN kdat_cm_start_error(int err)
{
	switch (err) {
	/* a route that prohibits, a broadcast address of a subnet */
	case -EACCES:
	case -EPERM:
	case -ENETDOWN:
		return KDAT_ERROR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNREACHABLE);
	/* no free local port */
	case -EADDRINUSE:
		return KDAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
	default:
		return kdat_error_of_errno(err);
	}
}

/* The consumer's wishes for the packets of its connections; ep->mutex held. */
static void kdat_cm_traffic(const struct kdat_ep *ep, struct kal_conn_param *param)
{
	if (!ep->traffic.set)
		return;
	if (ep->traffic.tos) {
		param->tos_set = true;
		param->tos = ep->traffic.tos;
	}
	param->priority_set = true;
	param->priority = ep->traffic.priority;
	param->mark = ep->traffic.mark;
}

static DAT_RETURN kdat_cm_begin(struct kdat_ep *ep, const struct kdat_cm_open *open)
{
	struct kdat_ia *ia = ep->obj.ia;
	struct kal_conn_param param = {
		.private_data = open->private_data,
		.private_data_len = open->private_data_len,
		.tos_set = open->qos != DAT_QOS_BEST_EFFORT,
		.tos = kdat_cm_tos(open->qos),
		.net = ia->net,
	};
	struct sockaddr_storage local;
	struct kal_ep *conn;
	struct ri_qp *qp;
	DAT_RETURN error;
	int err;

	conn = kal_ep_create(ia->kr->rnic, kdat_cm_event, ep);
	if (IS_ERR(conn))
		return kdat_error_of_errno(PTR_ERR(conn));
	mutex_lock(&ep->mutex);
	error = kdat_cm_may_start(ep, false);
	if (error == DAT_SUCCESS) {
		qp = ep->qp;
		param.ird = kdat_cm_depth(ep->attr.max_rdma_read_in);
		param.ord = kdat_cm_depth(ep->attr.max_rdma_read_out);
		kdat_cm_traffic(ep, &param);
		scoped_guard(spinlock_irqsave, &ep->query_lock)
			ep->remote = open->remote;
		kdat_cm_take(ep, conn, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	}
	mutex_unlock(&ep->mutex);
	if (error != DAT_SUCCESS) {
		kal_ep_destroy(conn);
		return error;
	}

	if (open->sock) {
		err = kal_ep_connect_socket(conn, qp, open->sock, &param);
	} else {
		err = kdat_cm_source(ep, &open->remote, &local);
		if (!err)
			err = kal_ep_connect(conn, qp, local.ss_family ?
					     (struct sockaddr *)&local : NULL,
					     (const struct sockaddr *)&open->remote, &param);
	}
	if (err)
		error = kdat_cm_not_started(ep, conn, open->sock, open->sock ?
					    kdat_ssp_error(err) : kdat_cm_start_error(err));
	else
		kdat_cm_started(ep, conn, qp, open->timeout);
	kal_ep_put(conn);
	kdat_cm_put(ep);
	return error;
}

/* The kAL's answer when the request still waits */
static DAT_RETURN kdat_cm_accept_error(int err, u16 len)
{
	/* the peer's way to connect leaves room for less than the IA's limit */
	if (err == -EINVAL && len)
		return KDAT_BAD_ARG(3);
	return kdat_error_of_errno(err);
}

/*
 * A request that has ended while it waited: this is the result of an accept that has begun, as
 * with an RNIC that makes connections itself.
 */
static void kdat_cm_accept_failed(struct kdat_ep *ep, struct kal_ep *conn)
{
	mutex_lock(&ep->mutex);
	if (ep->conn == conn)
		kdat_cm_ended(ep,
			      kdat_cm_reason(ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR),
			      true);
	mutex_unlock(&ep->mutex);
}

DAT_RETURN kdat_cm_accept(struct kdat_ep *ep, struct kal_ep *conn, bool tentative,
			  const void *private_data, u16 private_data_len)
{
	struct kal_conn_param param = {
		.private_data = private_data,
		.private_data_len = private_data_len,
		.net = ep->obj.ia->net,
	};
	DAT_EP_STATE before;
	struct ri_qp *qp;
	DAT_RETURN error;
	int err;

	mutex_lock(&ep->mutex);
	error = kdat_cm_may_start(ep, tentative);
	if (error == DAT_SUCCESS) {
		qp = ep->qp;
		before = ep->state;
		param.ird = kdat_cm_depth(ep->attr.max_rdma_read_in);
		param.ord = kdat_cm_depth(ep->attr.max_rdma_read_out);
		kdat_cm_traffic(ep, &param);
		kdat_cm_take(ep, conn, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	}
	mutex_unlock(&ep->mutex);
	if (error != DAT_SUCCESS)
		return error;

	kal_ep_set_handler(conn, kdat_cm_event, ep);
	err = kal_ep_accept(conn, qp, &param);
	if (err && kal_ep_undecided(conn)) {
		mutex_lock(&ep->mutex);
		/* otherwise the end of the EP has ended the request */
		if (ep->conn == conn) {
			ep->conn = NULL;
			kdat_early_end(ep);
			kdat_ep_set_state(ep, before);
			error = kdat_cm_accept_error(err, private_data_len);
		}
		mutex_unlock(&ep->mutex);
	} else if (err) {
		kdat_cm_accept_failed(ep, conn);
	} else {
		kdat_cm_started(ep, conn, qp, DAT_TIMEOUT_INFINITE);
	}
	kal_ep_put(conn);
	kdat_cm_put(ep);
	return error;
}

/* End *********************************************************************** */

void kdat_cm_end(struct kdat_ep *ep)
{
	const bool tell = ep->obj.ia->kr->gone;
	struct kal_ep *conn;
	bool flush;

	mutex_lock(&ep->mutex);
	conn = ep->conn;
	if (!tell)
		ep->conn = NULL;
	mutex_unlock(&ep->mutex);
	if (conn)
		kal_ep_destroy(conn);
	wait_var_event(&ep->calls, !atomic_read(&ep->calls));
	mutex_lock(&ep->mutex);
	ep->conn = NULL;
	kdat_early_end(ep);
	flush = ep->state == DAT_EP_STATE_DISCONNECTED;
	mutex_unlock(&ep->mutex);
	/* completions of what was posted come before a reset of the QP */
	if (flush)
		flush_delayed_work(&ep->timeout);
	cancel_delayed_work_sync(&ep->timeout);
}

/* The consumer's calls ****************************************************** */

DAT_RETURN kdat_cm_check_data(struct kdat_ia *ia, DAT_COUNT size, const void *private_data,
			      DAT_RETURN bad_size, DAT_RETURN bad_data)
{
	if (size < 0 || size > kdat_ia_max_private_data(ia->kr->rnic))
		return bad_size;
	return size && !private_data ? bad_data : DAT_SUCCESS;
}

DAT_RETURN kdat_cm_connect(struct kdat_ep *ep, struct kdat_cm_open *open, DAT_COUNT size,
			   const void *private_data, DAT_RETURN bad_size, DAT_RETURN bad_data)
{
	struct kdat_ia *ia = ep->obj.ia;
	DAT_RETURN error;

	if (!kdat_enter(ia))
		return KDAT_GONE;
	error = kdat_cm_check_data(ia, size, private_data, bad_size, bad_data);
	if (error == DAT_SUCCESS) {
		open->private_data = private_data;
		open->private_data_len = size;
		error = kdat_cm_begin(ep, open);
	}
	kdat_leave(ia);
	return error;
}

bool kdat_cm_qos_valid(DAT_QOS qos)
{
	return qos == DAT_QOS_BEST_EFFORT || qos == DAT_QOS_HIGH_THROUGHPUT ||
	       qos == DAT_QOS_LOW_LATENCY || qos == DAT_QOS_ECONOMY || qos == DAT_QOS_PREMIUM;
}

static DAT_RETURN kdat_cm_ep_connect(DAT_EP_HANDLE ep_handle, DAT_IA_ADDRESS_PTR remote,
				     DAT_CONN_QUAL conn_qual, DAT_TIMEOUT timeout,
				     DAT_COUNT private_data_size, const void *private_data,
				     DAT_QOS qos, DAT_CONNECT_FLAGS flags)
{
	struct kdat_ep *ep = kdat_ep_of(ep_handle);
	struct kdat_cm_open open = {
		.timeout = timeout,
		.qos = qos,
	};
	DAT_RETURN error;

	might_sleep();
	if (!ep)
		return KDAT_BAD_HANDLE(EP);
	if (!remote)
		return KDAT_BAD_ARG(2);
	if (!conn_qual || conn_qual > U16_MAX)
		return KDAT_BAD_ARG(3);
	if (!kdat_cm_qos_valid(qos))
		return KDAT_BAD_ARG(7);
	if (flags & ~(DAT_CONNECT_MULTIPATH_REQUESTED_FLAG | DAT_CONNECT_MULTIPATH_REQUIRED_FLAG))
		return KDAT_BAD_ARG(8);
	if (flags & DAT_CONNECT_MULTIPATH_REQUIRED_FLAG)
		return KDAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	error = kdat_cm_address(remote, false, &open.remote);
	if (error != DAT_SUCCESS)
		return error;
	kal_addr_set_port(&open.remote, htons(conn_qual));
	return kdat_cm_connect(ep, &open, private_data_size, private_data, KDAT_BAD_ARG(5),
			       KDAT_BAD_ARG(6));
}

DAT_RETURN dat_ep_set_source(DAT_EP_HANDLE ep_handle, const struct sockaddr_storage *address)
{
	struct kdat_ep *ep = kdat_ep_of(ep_handle);
	struct sockaddr_storage source = {};
	DAT_RETURN error = DAT_SUCCESS;

	might_sleep();
	if (!ep)
		return KDAT_BAD_HANDLE(EP);
	if (address && address->ss_family != AF_UNSPEC)
		error = kdat_cm_address((const struct sockaddr *)address, true, &source);
	if (error != DAT_SUCCESS)
		return error;
	if (kal_addr_any(&source))
		memset(&source, 0, sizeof(source));
	else
		kal_addr_set_port(&source, 0);
	guard(mutex)(&ep->mutex);
	if (ep->state != DAT_EP_STATE_UNCONNECTED)
		return kdat_ep_state_error(ep->state);
	ep->source = source;
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_GPL(dat_ep_set_source);

DAT_RETURN dat_ep_set_traffic(DAT_EP_HANDLE ep_handle, u8 tos, u32 priority, u32 mark)
{
	struct kdat_ep *ep = kdat_ep_of(ep_handle);

	might_sleep();
	if (!ep)
		return KDAT_BAD_HANDLE(EP);
	guard(mutex)(&ep->mutex);
	if (ep->state != DAT_EP_STATE_UNCONNECTED)
		return kdat_ep_state_error(ep->state);
	ep->traffic.set = true;
	ep->traffic.tos = tos;
	ep->traffic.priority = priority;
	ep->traffic.mark = mark;
	return DAT_SUCCESS;
}
EXPORT_SYMBOL_GPL(dat_ep_set_traffic);

static DAT_RETURN kdat_cm_ep_common_connect(DAT_EP_HANDLE ep_handle, DAT_IA_ADDRESS_PTR remote,
					    DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
					    const void *private_data)
{
	struct kdat_ep *ep = kdat_ep_of(ep_handle);
	struct kdat_cm_open open = {
		.timeout = timeout,
		.qos = DAT_QOS_BEST_EFFORT,
	};
	DAT_RETURN error;

	might_sleep();
	if (!ep)
		return KDAT_BAD_HANDLE(EP);
	if (!remote)
		return KDAT_BAD_ARG(2);
	error = kdat_cm_address(remote, false, &open.remote);
	if (error != DAT_SUCCESS)
		return error;
	if (!kal_addr_port(&open.remote))
		return KDAT_ERROR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED);
	return kdat_cm_connect(ep, &open, private_data_size, private_data, KDAT_BAD_ARG(4),
			       KDAT_BAD_ARG(5));
}

static DAT_RETURN kdat_cm_ep_dup_connect(DAT_EP_HANDLE ep_handle, DAT_EP_HANDLE dup_handle,
					 DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
					 const void *private_data, DAT_QOS qos)
{
	struct kdat_ep *ep = kdat_ep_of(ep_handle);
	struct kdat_ep *dup = kdat_ep_of(dup_handle);
	struct kdat_cm_open open = {
		.timeout = timeout,
		.qos = qos,
	};
	DAT_RETURN error = DAT_SUCCESS;

	might_sleep();
	if (!ep || !dup || dup->obj.ia != ep->obj.ia)
		return KDAT_BAD_HANDLE(EP);
	if (!kdat_cm_qos_valid(qos))
		return KDAT_BAD_ARG(6);
	mutex_lock(&dup->mutex);
	if (dup->state == DAT_EP_STATE_CONNECTED)
		open.remote = dup->remote;
	else
		error = kdat_ep_state_error(dup->state);
	mutex_unlock(&dup->mutex);
	if (error != DAT_SUCCESS)
		return error;
	return kdat_cm_connect(ep, &open, private_data_size, private_data, KDAT_BAD_ARG(4),
			       KDAT_BAD_ARG(5));
}

static DAT_RETURN kdat_cm_ep_disconnect(DAT_EP_HANDLE ep_handle, DAT_CLOSE_FLAGS flags)
{
	struct kdat_ep *ep = kdat_ep_of(ep_handle);
	bool abrupt = flags == DAT_CLOSE_ABRUPT_FLAG, wait = false;
	struct ri_qp *qp = NULL;
	struct kdat_ia *ia;
	DAT_RETURN error;

	might_sleep();
	if (!ep)
		return KDAT_BAD_HANDLE(EP);
	if (flags != DAT_CLOSE_ABRUPT_FLAG && flags != DAT_CLOSE_GRACEFUL_FLAG)
		return KDAT_BAD_ARG(2);
	ia = ep->obj.ia;
	if (!kdat_enter(ia))
		return READ_ONCE(ep->state) == DAT_EP_STATE_DISCONNECTED ? DAT_SUCCESS : KDAT_GONE;
	mutex_lock(&ep->mutex);
	error = ep->state == DAT_EP_STATE_DISCONNECTED ? DAT_SUCCESS :
		kdat_ep_state_allows(ep->state, KDAT_EP_DISCONNECT);
	if (error == DAT_SUCCESS && ep->state != DAT_EP_STATE_DISCONNECTED && ep->qp) {
		qp = ep->qp;
		kdat_cm_get(ep);
		ep->disconnecting = true;
		if (ep->state == DAT_EP_STATE_CONNECTED) {
			ep->patience = jiffies +
				msecs_to_jiffies(kal_conn_disconnect_timeout());
			kdat_ep_set_state(ep, DAT_EP_STATE_DISCONNECT_PENDING);
		} else if (ep->state != DAT_EP_STATE_DISCONNECT_PENDING) {
			abrupt = true;	/* an attempt */
		}
		wait = !abrupt && kdat_cm_offloads(ep) && !kdat_slots_idle(&ep->requests);
		if (wait)
			mod_delayed_work(kdat_cm_wq, &ep->timeout, 0);
	}
	mutex_unlock(&ep->mutex);
	if (qp) {
		if (!wait)
			kal_qp_disconnect(qp, abrupt);
		kdat_cm_put(ep);
	}
	kdat_leave(ia);
	return error;
}

void kdat_cm_table(DAT_PROVIDER *provider)
{
	provider->ep_connect_func = kdat_cm_ep_connect;
	provider->ep_common_connect_func = kdat_cm_ep_common_connect;
	provider->ep_dup_connect_func = kdat_cm_ep_dup_connect;
	provider->ep_disconnect_func = kdat_cm_ep_disconnect;
}
