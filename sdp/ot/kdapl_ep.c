// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Endpoints of the transport on kDAPL and their connections.
 *
 * Events of a connection come in an upcall of kDAPL, which notes them. A work item of the endpoint
 * reports to SDP: so upcalls of an endpoint come one at a time, wait for no other endpoint, and can
 * be waited for. Another work item disconnects, because SDP may ask for that anywhere.
 *
 * An endpoint ends in two steps: sdp_kdapl_ep_kill() frees it at kDAPL, and what was posted and
 * has not ended is ended by sdp_kdapl_ep_flush(). Both happen once, at the removal of the device or
 * when SDP destroys the endpoint, whatever is first; device->sem decides.
 */
#include <linux/cleanup.h>
#include <linux/slab.h>
#include <linux/time64.h>
#include <linux/wait_bit.h>

#include "kdapl.h"

#define SDP_KDAPL_CONN_EVENTS	8	/* of a connection, at most */

/* Use of kDAPL's endpoint ***************************************************** */

/** sdp_kdapl_ep_leave() - the use of ep->dat is over; atomic */
void sdp_kdapl_ep_leave(struct sdp_kdapl_ep *ep)
{
	/* a waiter has set it before; the wake-up uses the address only */
	if (atomic_dec_and_test(&ep->posting))
		wake_up_var(&ep->posting);
}

/**
 * sdp_kdapl_ep_use() - use ep->dat, whatever its connection does
 * @ep: endpoint
 *
 * Return: true: sdp_kdapl_ep_leave() has to follow. Context: atomic.
 */
bool sdp_kdapl_ep_use(struct sdp_kdapl_ep *ep)
{
	atomic_inc(&ep->posting);
	/* pairs with sdp_kdapl_ep_kill(): it sees this use, or we see that it is closed */
	smp_mb__after_atomic();
	if (!READ_ONCE(ep->closed))
		return true;
	sdp_kdapl_ep_leave(ep);
	return false;
}

/**
 * sdp_kdapl_ep_enter() - use ep->dat for a post or an event
 * @ep: endpoint
 * @up: its connection has to be up; else it may be up yet
 *
 * Return: 0; -ENODEV or -ENOTCONN: it is not used. Context: atomic.
 */
int sdp_kdapl_ep_enter(struct sdp_kdapl_ep *ep, bool up)
{
	const u8 state = READ_ONCE(ep->state);

	if (!sdp_kdapl_ep_use(ep))
		return READ_ONCE(ep->device->gone) ? -ENODEV : -ENOTCONN;
	if (up ? state == SDP_KDAPL_UP : state != SDP_KDAPL_DOWN)
		return 0;
	sdp_kdapl_ep_leave(ep);
	return -ENOTCONN;
}

/* Events ******************************************************************** */

static void sdp_kdapl_ep_report(struct sdp_kdapl_ep *ep)
{
	lockdep_assert_held(&ep->lock);
	if (!ep->mute)
		queue_work(sdp_kdapl_wq, &ep->event_work);
}

/* Note the event that ends the connection or the attempt; the first one counts. */
static void sdp_kdapl_ep_note_end(struct sdp_kdapl_ep *ep, enum sdp_ot_conn_event end, int error)
{
	lockdep_assert_held(&ep->lock);
	if (ep->state == SDP_KDAPL_DOWN)
		return;
	WRITE_ONCE(ep->state, SDP_KDAPL_DOWN);
	ep->end_due = true;
	ep->end = end;
	ep->error = error;
	sdp_kdapl_ep_report(ep);
}

/* Call SDP up, for one event. Return: false: there is none. */
static bool sdp_kdapl_ep_event(struct sdp_kdapl_ep *ep)
{
	enum sdp_ot_conn_event event;
	bool data = false;
	int error = 0;

	scoped_guard(spinlock_irq, &ep->lock) {
		if (ep->up_due && !ep->up_reported) {
			ep->up_reported = true;
			event = SDP_OT_UP;
			data = true;
		} else if (ep->end_due && !ep->end_reported) {
			ep->end_reported = true;
			event = ep->end;
			error = ep->error;
			data = event == SDP_OT_REFUSED;
		} else {
			return false;
		}
	}
	/* private data came before the event was noted, and once */
	ep->ot.attr.event(ep->ot.attr.context, event, error, data ? ep->data : NULL,
			  data ? ep->data_len : 0);
	return true;
}

static void sdp_kdapl_ep_events(struct work_struct *work)
{
	struct sdp_kdapl_ep *ep = container_of(work, struct sdp_kdapl_ep, event_work);

	while (sdp_kdapl_ep_event(ep))
		;
}

static void sdp_kdapl_ep_keep(struct sdp_kdapl_ep *ep, const DAT_CONNECTION_EVENT_DATA *from)
{
	ep->data_len = clamp(from->private_data_size, 0, SDP_KDAPL_DATA);
	if (ep->data_len && from->private_data)
		memcpy(ep->data, from->private_data, ep->data_len);
	else
		ep->data_len = 0;
}

/* kDAPL's event as one of ours */
static void sdp_kdapl_ep_ended(struct sdp_kdapl_ep *ep, DAT_EVENT_NUMBER number,
			       const DAT_CONNECTION_EVENT_DATA *from)
{
	bool attempt;

	scoped_guard(spinlock_irq, &ep->lock) {
		if (ep->state == SDP_KDAPL_DOWN)
			return;
		attempt = ep->state == SDP_KDAPL_CONNECTING;
		switch (number) {
		case DAT_CONNECTION_EVENT_PEER_REJECTED:
			sdp_kdapl_ep_keep(ep, from);
			fallthrough;
		case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
			sdp_kdapl_ep_note_end(ep, SDP_OT_REFUSED, -ECONNREFUSED);
			break;
		case DAT_CONNECTION_EVENT_UNREACHABLE:
			sdp_kdapl_ep_note_end(ep, SDP_OT_UNREACHABLE, -EHOSTUNREACH);
			break;
		case DAT_CONNECTION_EVENT_TIMED_OUT:
			sdp_kdapl_ep_note_end(ep, attempt ? SDP_OT_UNREACHABLE : SDP_OT_DOWN,
					      -ETIMEDOUT);
			break;
		case DAT_CONNECTION_EVENT_DISCONNECTED:
			sdp_kdapl_ep_note_end(ep, SDP_OT_DOWN, ep->failed);
			break;
		default:
			sdp_kdapl_ep_note_end(ep, SDP_OT_DOWN, ep->failed ?: -ECONNRESET);
			break;
		}
	}
}

static void sdp_kdapl_ep_address(struct sockaddr_storage *to, DAT_IA_ADDRESS_PTR from,
				 DAT_PORT_QUAL port)
{
	if (!from)
		return;
	memcpy(to, from, from->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
						       sizeof(struct sockaddr_in));
	kal_addr_set_port(to, htons(port));
}

static void sdp_kdapl_ep_up(struct sdp_kdapl_ep *ep, const DAT_CONNECTION_EVENT_DATA *from)
{
	DAT_EP_PARAM param;

	if (dat_ep_query(from->ep_handle, DAT_EP_FIELD_ALL, &param) == DAT_SUCCESS) {
		sdp_kdapl_ep_address(&ep->ot.local, param.local_ia_address_ptr,
				     param.local_port_qual);
		sdp_kdapl_ep_address(&ep->ot.remote, param.remote_ia_address_ptr,
				     param.remote_port_qual);
		ep->ot.reads_out = clamp(param.ep_attr.max_rdma_read_out, 0,
					 ep->ot.attr.reads_out);
	}
	scoped_guard(spinlock_irq, &ep->lock) {
		if (ep->state == SDP_KDAPL_DOWN)
			return;
		sdp_kdapl_ep_keep(ep, from);
		WRITE_ONCE(ep->state, SDP_KDAPL_UP);
		ep->up_due = true;
		sdp_kdapl_ep_report(ep);
		/* kDAPL does not end an acceptance that is under way */
		if (ep->disconnecting && !ep->mute)
			queue_work(sdp_kdapl_wq, &ep->end_work);
	}
}

/**
 * sdp_kdapl_ep_received() - a receive has succeeded
 * @ep: endpoint
 *
 * kDAPL has connected the endpoint before. Its event comes in another context and reports the rest;
 * SDP may answer now. Context: atomic.
 */
void sdp_kdapl_ep_received(struct sdp_kdapl_ep *ep)
{
	if (likely(READ_ONCE(ep->state) != SDP_KDAPL_CONNECTING))
		return;
	scoped_guard(spinlock_irqsave, &ep->lock)
		if (ep->state == SDP_KDAPL_CONNECTING)
			WRITE_ONCE(ep->state, SDP_KDAPL_UP);
}

/* kDAPL's upcall, in process context */
static void sdp_kdapl_ep_upcall(void *data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	const DAT_CONNECTION_EVENT_DATA *from = &event->event_data.connect_event_data;
	struct sdp_kdapl_ep *ep = data;

	/*
	 * the event's data are those of kDAPL's endpoint; when that ends, it is reported otherwise
	 */
	if (sdp_kdapl_ep_enter(ep, false))
		return;
	if (event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		sdp_kdapl_ep_up(ep, from);
	else
		sdp_kdapl_ep_ended(ep, event->event_number, from);
	sdp_kdapl_ep_leave(ep);
}

/* Disconnect **************************************************************** */

static void sdp_kdapl_ep_disconnect(struct work_struct *work)
{
	struct sdp_kdapl_ep *ep = container_of(work, struct sdp_kdapl_ep, end_work);
	bool abrupt;

	scoped_guard(spinlock_irq, &ep->lock)
		abrupt = ep->abrupt;
	/* the device may go, and ep->dat with it */
	guard(rwsem_read)(&ep->device->sem);
	if (ep->dat)
		dat_ep_disconnect(ep->dat, abrupt ? DAT_CLOSE_ABRUPT_FLAG :
						    DAT_CLOSE_GRACEFUL_FLAG);
}

/* Begin the end. ep->lock held. */
static void sdp_kdapl_ep_end(struct sdp_kdapl_ep *ep, bool abrupt)
{
	lockdep_assert_held(&ep->lock);
	if (ep->state == SDP_KDAPL_DOWN || ep->mute || (ep->disconnecting && !abrupt))
		return;
	ep->disconnecting = true;
	ep->abrupt |= abrupt;
	if (ep->state == SDP_KDAPL_IDLE)
		sdp_kdapl_ep_note_end(ep, SDP_OT_DOWN, 0);
	else
		queue_work(sdp_kdapl_wq, &ep->end_work);
}

void sdp_kdapl_disconnect(struct sdp_ot_ep *ot, bool abrupt)
{
	struct sdp_kdapl_ep *ep = sdp_kdapl_ep(ot);

	scoped_guard(spinlock_irqsave, &ep->lock) {
		sdp_kdapl_ep_end(ep, abrupt);
	}
}

/** sdp_kdapl_ep_failed() - a post has failed by itself: the connection ends; atomic */
void sdp_kdapl_ep_failed(struct sdp_kdapl_ep *ep, int status)
{
	scoped_guard(spinlock_irqsave, &ep->lock) {
		if (!ep->failed)
			ep->failed = status;
		sdp_kdapl_ep_end(ep, true);
	}
}

/* Connect ******************************************************************* */

/* Take the endpoint for an attempt; it becomes idle again if @begun is false. */
void sdp_kdapl_ep_accepting(struct sdp_kdapl_ep *ep, bool begun)
{
	scoped_guard(spinlock_irq, &ep->lock) {
		if (begun && ep->state == SDP_KDAPL_IDLE)
			WRITE_ONCE(ep->state, SDP_KDAPL_CONNECTING);
		else if (!begun && ep->state == SDP_KDAPL_CONNECTING)
			WRITE_ONCE(ep->state, SDP_KDAPL_IDLE);
	}
}

static DAT_RETURN sdp_kdapl_ep_begin(struct sdp_kdapl_ep *ep, const struct sockaddr_storage *local,
				     const struct sockaddr_storage *remote, const u8 *data,
				     u32 length, u32 timeout_ms)
{
	DAT_TIMEOUT timeout = DAT_TIMEOUT_INFINITE;
	DAT_RETURN ret = DAT_SUCCESS;

	if (timeout_ms && timeout_ms < DAT_TIMEOUT_INFINITE / USEC_PER_MSEC)
		timeout = timeout_ms * USEC_PER_MSEC;
	if (local && local->ss_family)
		ret = dat_ep_set_source(ep->dat, local);
	if (ret != DAT_SUCCESS)
		return ret;
	return dat_ep_connect(ep->dat, (DAT_IA_ADDRESS_PTR)remote, ntohs(kal_addr_port(remote)),
			      timeout, length, data, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

/* kDAPL has begun the attempt. What was asked for before that it has not seen. */
static void sdp_kdapl_ep_begun(struct sdp_kdapl_ep *ep)
{
	scoped_guard(spinlock_irq, &ep->lock) {
		if (ep->disconnecting && !ep->mute && ep->state != SDP_KDAPL_DOWN)
			queue_work(sdp_kdapl_wq, &ep->end_work);
	}
}

/* @next_hop is not needed: the host's stack or the device looks it up. */
int sdp_kdapl_connect(struct sdp_ot_ep *ot, const struct sockaddr_storage *local,
		      const struct sockaddr_storage *remote,
		      const struct sockaddr_storage *next_hop, const u8 *data, u32 length,
		      u32 timeout_ms)
{
	struct sdp_kdapl_ep *ep = sdp_kdapl_ep(ot);
	DAT_RETURN ret;

	might_sleep();
	if (length > ot->device->request_len)
		return -EMSGSIZE;
	if (remote->ss_family != AF_INET && remote->ss_family != AF_INET6)
		return -EAFNOSUPPORT;
	guard(rwsem_read)(&ep->device->sem);
	if (!ep->dat)
		return -ENODEV;
	if (READ_ONCE(ep->state) != SDP_KDAPL_IDLE)
		return -EISCONN;
	sdp_kdapl_ep_accepting(ep, true);
	ret = sdp_kdapl_ep_begin(ep, local, remote, data, length, timeout_ms);
	if (ret == DAT_SUCCESS) {
		sdp_kdapl_ep_begun(ep);
		return 0;
	}
	sdp_kdapl_ep_accepting(ep, false);
	return DAT_GET_TYPE(ret) == DAT_INVALID_STATE ? -EISCONN : sdp_kdapl_errno(ret);
}

/* Begin and end ************************************************************* */

static void sdp_kdapl_queue_init(struct sdp_kdapl_ep *ep, struct sdp_kdapl_queue *queue,
				 struct sdp_ot_cq *cq, struct sdp_kdapl_post *posts, u32 n)
{
	u32 i;

	queue->ep = ep;
	queue->cq = sdp_kdapl_cq(cq);
	spin_lock_init(&queue->lock);
	INIT_LIST_HEAD(&queue->posted);
	INIT_LIST_HEAD(&queue->free);
	for (i = 0; i < n; i++) {
		posts[i].queue = queue;
		list_add_tail(&posts[i].list, &queue->free);
	}
}

/* Make what kDAPL has of an endpoint. device->sem is held for reading, it is not gone. */
static int sdp_kdapl_ep_open(struct sdp_kdapl_ep *ep)
{
	const DAT_UPCALL_OBJECT upcall = {
		.instance_data = ep,
		.upcall_func = sdp_kdapl_ep_upcall,
	};
	const struct sdp_ot_ep_attr *attr = &ep->ot.attr;
	const struct sdp_ot_device *device = ep->ot.device;
	const DAT_EP_ATTR dat_attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = device->max_message,
		.max_rdma_size = device->max_rdma,
		.qos = DAT_QOS_BEST_EFFORT,
		.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG,
		.request_completion_flags = DAT_COMPLETION_DEFAULT_FLAG,
		.max_recv_dtos = attr->recvs,
		.max_request_dtos = attr->sends,
		.max_recv_iov = 1,
		.max_request_iov = attr->segments,
		.max_rdma_read_in = attr->reads_in,
		.max_rdma_read_out = attr->reads_out,
		.max_rdma_read_iov = min(attr->segments, device->max_read_segments),
		.max_rdma_write_iov = attr->segments,
	};
	struct sdp_kdapl_device *kd = ep->device;
	DAT_RETURN ret;

	ret = dat_evd_kcreate(kd->ia, SDP_KDAPL_CONN_EVENTS, DAT_UPCALL_SINGLE_INSTANCE, &upcall,
			      DAT_EVD_CONNECTION_FLAG, &ep->conn_evd);
	if (ret != DAT_SUCCESS)
		return sdp_kdapl_errno(ret);
	ret = dat_ep_create(kd->ia, ep->domain->pz, ep->recv.cq->evd, ep->send.cq->evd,
			    ep->conn_evd, &dat_attr, &ep->dat);
	if (ret != DAT_SUCCESS) {
		dat_evd_free(ep->conn_evd);
		return sdp_kdapl_errno(ret);
	}
	WARN_ON_ONCE(dat_ep_set_traffic(ep->dat, attr->tos, attr->priority, attr->mark) !=
		     DAT_SUCCESS);
	if (attr->pushed)
		WARN_ON_ONCE(dat_ep_set_pushed(ep->dat, DAT_TRUE) != DAT_SUCCESS);
	return 0;
}

/* Give an endpoint what it needs of its device. device->sem is held for reading. */
static int sdp_kdapl_ep_make(struct sdp_kdapl_ep *ep)
{
	struct sdp_kdapl_device *device = ep->device;
	struct sdp_kdapl_domain *domain;
	int ret;

	if (device->gone)
		return -ENODEV;
	domain = sdp_kdapl_domain_get(device, ep->ot.attr.domain);
	if (IS_ERR(domain))
		return PTR_ERR(domain);
	ep->domain = domain;
	ret = sdp_kdapl_ep_open(ep);
	if (ret) {
		sdp_kdapl_domain_put(device, domain);
		return ret;
	}
	scoped_guard(spinlock_irq, &device->lock) {
		list_add_tail(&ep->list, &device->eps);
	}
	return 0;
}

static bool sdp_kdapl_ep_check(const struct sdp_ot_device *device,
			       const struct sdp_ot_ep_attr *attr)
{
	return attr->send_cq && attr->recv_cq && attr->send_cq->device == device &&
	       attr->recv_cq->device == device && attr->event && attr->sends && attr->recvs &&
	       attr->sends <= S16_MAX && attr->recvs <= S16_MAX && attr->segments &&
	       attr->segments <= device->max_segments && attr->reads_in <= device->reads_in &&
	       attr->reads_out <= device->reads_out;
}

struct sdp_ot_ep *sdp_kdapl_ep_create(struct sdp_ot_device *ot, const struct sdp_ot_ep_attr *attr)
{
	struct sdp_kdapl_device *device = sdp_kdapl_device(ot);
	struct sdp_kdapl_ep *ep;
	int ret;

	might_sleep();
	if (!sdp_kdapl_ep_check(ot, attr))
		return ERR_PTR(-EINVAL);
	ep = kvzalloc(struct_size(ep, posts, attr->sends + attr->recvs), GFP_KERNEL_ACCOUNT);
	if (!ep)
		return ERR_PTR(-ENOMEM);
	ep->ot.device = ot;
	ep->ot.attr = *attr;
	ep->ot.reads_out = attr->reads_out;
	refcount_set(&ep->refs, 1);
	ep->device = device;
	spin_lock_init(&ep->lock);
	INIT_WORK(&ep->event_work, sdp_kdapl_ep_events);
	INIT_WORK(&ep->end_work, sdp_kdapl_ep_disconnect);
	sdp_kdapl_queue_init(ep, &ep->send, attr->send_cq, ep->posts, attr->sends);
	sdp_kdapl_queue_init(ep, &ep->recv, attr->recv_cq, ep->posts + attr->sends, attr->recvs);
	scoped_guard(rwsem_read, &device->sem)
		ret = sdp_kdapl_ep_make(ep);
	if (ret) {
		kvfree(ep);
		return ERR_PTR(ret);
	}
	sdp_kdapl_device_get(ot);
	return &ep->ot;
}

/** sdp_kdapl_ep_put() - give an endpoint's memory back; atomic */
void sdp_kdapl_ep_put(struct sdp_kdapl_ep *ep)
{
	if (refcount_dec_and_test(&ep->refs))
		kvfree_rcu(ep, rcu);
}

/**
 * sdp_kdapl_ep_kill() - free the endpoint at kDAPL: its connection has ended afterwards
 * @ep: endpoint
 *
 * Context: may sleep; device->sem is held: for reading by the caller that destroys @ep, or for
 * writing.
 */
void sdp_kdapl_ep_kill(struct sdp_kdapl_ep *ep)
{
	if (!ep->dat)
		return;
	WRITE_ONCE(ep->closed, true);
	/* pairs with sdp_kdapl_ep_enter() */
	smp_mb();
	wait_var_event(&ep->posting, !atomic_read(&ep->posting));
	WARN_ON_ONCE(dat_ep_free(ep->dat) != DAT_SUCCESS);
	ep->dat = DAT_HANDLE_NULL;
}

/** sdp_kdapl_ep_flush() - end what was posted to an endpoint that is killed; may sleep */
void sdp_kdapl_ep_flush(struct sdp_kdapl_ep *ep)
{
	sdp_kdapl_queue_cancel(&ep->send);
	sdp_kdapl_queue_cancel(&ep->recv);
}

/** sdp_kdapl_ep_gone() - the device was removed, and the endpoint killed: report it; may sleep */
void sdp_kdapl_ep_gone(struct sdp_kdapl_ep *ep)
{
	sdp_kdapl_ep_flush(ep);
	scoped_guard(spinlock_irq, &ep->lock) {
		sdp_kdapl_ep_note_end(ep, SDP_OT_DOWN, -ENODEV);
	}
}

void sdp_kdapl_ep_destroy(struct sdp_ot_ep *ot)
{
	struct sdp_kdapl_ep *ep = sdp_kdapl_ep(ot);
	struct sdp_kdapl_device *device = ep->device;

	might_sleep();
	scoped_guard(spinlock_irq, &ep->lock)
		ep->mute = true;
	/* not with device->sem: the upcall may need it */
	cancel_work_sync(&ep->event_work);
	cancel_work_sync(&ep->end_work);
	scoped_guard(rwsem_read, &device->sem) {
		sdp_kdapl_ep_kill(ep);
		scoped_guard(spinlock_irq, &device->lock)
			list_del(&ep->list);
	}
	sdp_kdapl_ep_flush(ep);
	sdp_kdapl_queue_wait(&ep->send);
	sdp_kdapl_queue_wait(&ep->recv);
	scoped_guard(rwsem_read, &device->sem) {
		if (!device->gone)
			WARN_ON_ONCE(dat_evd_free(ep->conn_evd) != DAT_SUCCESS);
		sdp_kdapl_domain_put(device, ep->domain);
	}
	/* the queues' posts without a poller keep the memory, but not the device */
	sdp_kdapl_device_put(ot->device);
	sdp_kdapl_ep_put(ep);
}
