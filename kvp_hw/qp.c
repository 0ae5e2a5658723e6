// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Queue pairs and shared receive queues. A queue pair is taken to INIT when it is created, so that
 * receives can be posted before the connection. conn.c takes it to RTS.
 */
#include <linux/cleanup.h>
#include <linux/delay.h>
#include <linux/slab.h>
#include <rdma/rdma_cm.h>

#include "hw.h"

const struct rhashtable_params hw_qp_params = {
	.key_len = sizeof(struct ib_qp *),
	.key_offset = offsetof(struct hw_qp_ref, ib),
	.head_offset = offsetof(struct hw_qp_ref, node),
	.automatic_shrinking = true,
};

/* Shared receive queues ***************************************************** */

static void hw_srq_event(struct ib_event *event, void *context)
{
	struct hw_srq *srq = context;

	hw_events_raise(&srq->events, event->event);
}

int hw_srq_create(struct ri_srq *ri, struct ri_srq_init_attr *attr, struct ri_udata *udata)
{
	struct hw_srq *srq = hw_srq(ri);
	struct ib_srq_init_attr init = {
		.event_handler = hw_srq_event,
		.srq_context = srq,
		.attr = attr->attr,
		.srq_type = IB_SRQT_BASIC,
	};
	int ret = 0;

	/* not all drivers take a limit here */
	init.attr.srq_limit = 0;
	INIT_LIST_HEAD(&srq->reserve);
	hw_events_init(&srq->events, ri->obj.rnic, &ri->obj);
	if (ri->pd->slow)
		ret = hw_reserve(&srq->reserve, hw_reserve_of_srq(&attr->attr));
	if (ret)
		return ret;
	srq->ib = ib_create_srq(hw_pd(ri->pd)->ib, &init);
	if (IS_ERR(srq->ib)) {
		hw_reserve_release(&srq->reserve);
		return PTR_ERR(srq->ib);
	}
	attr->attr.max_wr = init.attr.max_wr;
	attr->attr.max_sge = init.attr.max_sge;
	init.attr.srq_limit = attr->attr.srq_limit;
	if (init.attr.srq_limit)
		ret = ib_modify_srq(srq->ib, &init.attr, IB_SRQ_LIMIT);
	if (ret)
		hw_srq_destroy(ri);
	return ret;
}

int hw_srq_modify(struct ri_srq *ri, const struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		  struct ri_udata *udata)
{
	struct ib_srq_attr copy = *attr;

	/* drivers resize only rings that a user library shares */
	if (mask & IB_SRQ_MAX_WR)
		return -EOPNOTSUPP;
	return ib_modify_srq(hw_srq(ri)->ib, &copy, mask);
}

int hw_srq_query(struct ri_srq *ri, struct ib_srq_attr *attr)
{
	return ib_query_srq(hw_srq(ri)->ib, attr);
}

void hw_srq_destroy(struct ri_srq *ri)
{
	struct hw_srq *srq = hw_srq(ri);

	ib_destroy_srq(srq->ib);
	hw_events_end(&srq->events);
	hw_reserve_release(&srq->reserve);
}

/* Completions *************************************************************** */

static void hw_qp_ref_release(struct kref *kref)
{
	struct hw_qp_ref *ref = container_of(kref, struct hw_qp_ref, kref);

	kfree_rcu(ref, rcu);
}

/* Context: any. */
void hw_qp_ref_put(struct hw_qp_ref *ref)
{
	kref_put(&ref->kref, hw_qp_ref_release);
}

static struct hw_qp_ref *hw_qp_ref_alloc(struct hw_qp *qp)
{
	struct hw_qp_ref *ref = kzalloc(sizeof(*ref), GFP_KERNEL_ACCOUNT);

	if (!ref)
		return NULL;
	kref_init(&ref->kref);
	ref->ib = qp->ib;
	ref->qp = qp;
	ref->send_cq = hw_cq(qp->ri.send_cq);
	ref->recv_cq = hw_cq(qp->ri.recv_cq);
	return ref;
}

static int hw_qp_publish(struct hw_rnic *hw, struct hw_qp *qp)
{
	struct hw_qp_ref *ref = hw_qp_ref_alloc(qp);
	int ret;

	if (!ref)
		return -ENOMEM;
	qp->ref = ref;
	ret = rhashtable_insert_fast(&hw->qps, &ref->node, hw_qp_params);
	if (ret)
		kfree(ref);
	return ret;
}

/* No poll gets a completion of @ref's queue pair after this, also none that is held. */
static void hw_qp_disown(struct hw_qp *qp, struct hw_qp_ref *ref)
{
	struct hw_cq *send_cq = hw_cq(qp->ri.send_cq);
	struct hw_cq *recv_cq = hw_cq(qp->ri.recv_cq);

	/* a poll that found the entry before holds the lock of its CQ */
	scoped_guard(spinlock_irqsave, &send_cq->lock)
		WRITE_ONCE(ref->qp, NULL);
	scoped_guard(spinlock_irqsave, &recv_cq->lock)
		WRITE_ONCE(ref->qp, NULL);
	hw_qp_ref_put(ref);
}

static void hw_qp_forget(struct hw_qp *qp)
{
	struct hw_rnic *hw = hw_rnic(qp->ri.obj.rnic);

	rhashtable_remove_fast(&hw->qps, &qp->ref->node, hw_qp_params);
	hw_qp_disown(qp, qp->ref);
}

/*
 * Forget the completions of a queue pair that continues. Return: 0 or -ENOMEM, and nothing has
 * changed.
 */
static int hw_qp_renew(struct hw_qp *qp)
{
	struct hw_rnic *hw = hw_rnic(qp->ri.obj.rnic);
	struct hw_qp_ref *ref = hw_qp_ref_alloc(qp);
	struct hw_qp_ref *old = qp->ref;
	int ret;

	if (!ref)
		return -ENOMEM;
	ret = rhashtable_replace_fast(&hw->qps, &old->node, &ref->node, hw_qp_params);
	if (ret) {
		kfree(ref);
		return ret;
	}
	qp->ref = ref;
	hw_qp_disown(qp, old);
	return 0;
}

/* Creation ****************************************************************** */

static void hw_qp_event(struct ib_event *event, void *context)
{
	struct hw_qp *qp = context;

	switch (event->event) {
	case IB_EVENT_COMM_EST:
		/* the peer sends: the end of its handshake is lost or late */
		scoped_guard(spinlock_irqsave, &qp->id_lock)
			if (qp->id)
				rdma_notify(qp->id, event->event);
		break;
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		WRITE_ONCE(qp->failed, true);
		break;
	default:
		break;
	}
	hw_events_raise(&qp->events, event->event);
}

/**
 * hw_qp_set_id() - name the rdma_cm id of the queue pair's connection
 * @qp: queue pair
 * @id: id, until hw_qp_drop_id()
 *
 * Context: any.
 */
void hw_qp_set_id(struct hw_qp *qp, struct rdma_cm_id *id)
{
	scoped_guard(spinlock_irqsave, &qp->id_lock)
		qp->id = id;
}

/**
 * hw_qp_drop_id() - an id ends
 * @qp: queue pair
 * @id: id
 *
 * Return: whether the queue pair was still that of @id's connection. Context: any.
 */
bool hw_qp_drop_id(struct hw_qp *qp, const struct rdma_cm_id *id)
{
	bool is = false;

	scoped_guard(spinlock_irqsave, &qp->id_lock) {
		is = qp->id == id;
		if (is)
			qp->id = NULL;
	}
	return is;
}

/*
 * The states of siw's queue pairs have no way back. Nor does siw take a queue pair for a second
 * connection, also if the first one was refused: the end of the first would drop the reference
 * that the queue pair has to the second, and lose its own (docs/kernel-bugs.md).
 */
static bool hw_qp_lives_once(const struct hw_qp *qp)
{
	return hw_is_siw(qp->ib->device);
}

/**
 * hw_qp_spent() - is a queue pair of no use for another connection?
 * @qp: queue pair
 *
 * Context: any.
 */
bool hw_qp_spent(const struct hw_qp *qp)
{
	return hw_qp_lives_once(qp) && READ_ONCE(qp->given);
}

/**
 * hw_qp_give() - the driver is about to get a queue pair for a connection
 * @qp: queue pair
 *
 * Return: false if it must not. Context: any.
 */
bool hw_qp_give(struct hw_qp *qp)
{
	return !xchg(&qp->given, true) || !hw_qp_lives_once(qp);
}

/* One entry more for the marker of hw_qp_drain(): the RNIC's limit is below the device's. */
static u32 hw_qp_with_marker(u32 wr)
{
	return wr ? wr + 1 : 0;
}

static void hw_qp_init_attr(struct hw_qp *qp, const struct ri_qp_init_attr *attr,
			    struct ib_qp_init_attr *init)
{
	*init = (struct ib_qp_init_attr) {
		.event_handler = hw_qp_event,
		.qp_context = qp,
		.send_cq = hw_cq(attr->send_cq)->ib,
		.recv_cq = hw_cq(attr->recv_cq)->ib,
		.srq = attr->srq ? hw_srq(attr->srq)->ib : NULL,
		.cap = attr->cap,
		.sq_sig_type = attr->sq_sig_type,
		.qp_type = IB_QPT_RC,
	};
	init->cap.max_send_wr = hw_qp_with_marker(max(attr->cap.max_send_wr, 1U));
	if (attr->srq) {
		init->cap.max_recv_wr = 0;
		init->cap.max_recv_sge = 0;
	} else {
		init->cap.max_recv_wr = hw_qp_with_marker(attr->cap.max_recv_wr);
	}
}

static int hw_qp_to_init(struct ib_qp *ib, int access)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = access,
	};

	return ib_modify_qp(ib, &attr,
			    IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS);
}

static int hw_qp_default_access(const struct ib_device *ibdev)
{
	return IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |
	       (ibdev->attrs.atomic_cap != IB_ATOMIC_NONE ? IB_ACCESS_REMOTE_ATOMIC : 0);
}

int hw_qp_create(struct ri_qp *ri, struct ri_qp_init_attr *attr, struct ri_udata *udata)
{
	struct hw_rnic *hw = hw_rnic(ri->obj.rnic);
	struct hw_qp *qp = hw_qp(ri);
	struct ib_qp_init_attr init;
	int ret;

	spin_lock_init(&qp->id_lock);
	mutex_init(&qp->resetting);
	INIT_LIST_HEAD(&qp->reserve);
	hw_events_init(&qp->events, ri->obj.rnic, &ri->obj);
	qp->access = hw_qp_default_access(hw->ibdev);
	qp->sig_type = attr->sq_sig_type;
	hw_qp_init_attr(qp, attr, &init);
	ret = ri->pd->slow ? hw_reserve(&qp->reserve, hw_reserve_of_qp(&init.cap)) : 0;
	if (ret)
		return ret;
	qp->ib = ib_create_qp(hw_pd(ri->pd)->ib, &init);
	if (IS_ERR(qp->ib)) {
		ret = PTR_ERR(qp->ib);
		goto err_reserve;
	}
	ret = hw_qp_to_init(qp->ib, qp->access);
	if (!ret)
		ret = hw_qp_publish(hw, qp);
	if (ret)
		goto err_qp;
	attr->cap.max_inline_data = max(attr->cap.max_inline_data, init.cap.max_inline_data);
	qp->max_inline = attr->cap.max_inline_data;
	return 0;

err_qp:
	ib_destroy_qp(qp->ib);
	hw_events_end(&qp->events);
err_reserve:
	hw_reserve_release(&qp->reserve);
	return ret;
}

/* Does the device grant so much inline data? Some grant less, without an error. */
static bool hw_qp_grants_inline(struct ib_pd *pd, struct ib_cq *cq, u32 size)
{
	struct ib_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {
			.max_send_wr = 1,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = size,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};
	struct ib_qp *qp = ib_create_qp(pd, &init);

	if (IS_ERR(qp))
		return false;
	ib_destroy_qp(qp);
	return init.cap.max_inline_data >= size;
}

#define HW_INLINE_MAX	SZ_4K	/* of a work request of /dev/krdma */

/**
 * hw_qp_probe_inline() - find the most inline data that a device grants
 * @ibdev: device
 *
 * No attribute of a device says it. Drivers log refused queue pairs, so few are tried.
 *
 * Return: bytes, 0 also if no queue pair can be made. Context: may sleep.
 */
u32 hw_qp_probe_inline(struct ib_device *ibdev)
{
	const struct ib_cq_init_attr cq_attr = { .cqe = 4 };
	u32 granted = 0, size;
	struct ib_pd *pd;
	struct ib_cq *cq;

	pd = ib_alloc_pd(ibdev, 0);
	if (IS_ERR(pd))
		return 0;
	cq = ib_create_cq(ibdev, NULL, NULL, NULL, &cq_attr);
	if (IS_ERR(cq))
		goto out;
	for (size = 32; size <= HW_INLINE_MAX && hw_qp_grants_inline(pd, cq, size); size *= 2)
		granted = size;
	if (!granted)
		goto out_cq;
	for (size = granted + 16; size <= HW_INLINE_MAX; size += 16) {
		if (!hw_qp_grants_inline(pd, cq, size))
			break;
		granted = size;
	}
out_cq:
	ib_destroy_cq(cq);
out:
	ib_dealloc_pd(pd);
	return granted;
}

/* Queries and states ******************************************************** */

int hw_qp_query(struct ri_qp *ri, struct ib_qp_attr *attr, int mask,
		struct ri_qp_init_attr *init_attr)
{
	struct ib_qp_init_attr init = {};
	struct hw_qp *qp = hw_qp(ri);
	int ret;

	ret = ib_query_qp(qp->ib, attr, mask, &init);
	if (ret)
		return ret;
	attr->qp_access_flags = qp->access;
	attr->max_dest_rd_atomic = qp->ird;
	attr->max_rd_atomic = qp->ord;
	init_attr->cap = init.cap;
	init_attr->sq_sig_type = qp->sig_type;
	init_attr->qp_type = IB_QPT_RC;
	return 0;
}

/* The present state; drivers that do not answer have an unusable queue pair. */
static enum ib_qp_state hw_qp_state(struct hw_qp *qp)
{
	struct ib_qp_init_attr init = {};
	struct ib_qp_attr attr = {};

	return ib_query_qp(qp->ib, &attr, IB_QP_STATE, &init) ? IB_QPS_ERR : attr.qp_state;
}

/* Take the queue pair to the error state, in which it flushes. May sleep. */
int hw_qp_fail(struct hw_qp *qp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	return ib_modify_qp(qp->ib, &attr, IB_QP_STATE);
}

/* A connection that ended unreported leaves no queue pair that a peer may use. May sleep. */
void hw_qp_abandon(struct hw_qp *qp)
{
	switch (hw_qp_state(qp)) {
	case IB_QPS_RTR:
	case IB_QPS_RTS:
	case IB_QPS_SQD:
		hw_qp_fail(qp);
		break;
	default:
		break;
	}
}

static int hw_qp_set_access(struct hw_qp *qp, int access)
{
	struct ib_qp_attr attr = { .qp_access_flags = access };
	const enum ib_qp_state state = hw_qp_state(qp);
	int ret = 0;

	if (state == IB_QPS_INIT)
		ret = hw_qp_to_init(qp->ib, access);
	else if (state == IB_QPS_RTR || state == IB_QPS_RTS)
		ret = ib_modify_qp(qp->ib, &attr, IB_QP_ACCESS_FLAGS);
	if (!ret)
		qp->access = access;
	return ret;
}

static void hw_qp_drain(struct hw_qp *qp);
static bool hw_qp_take_all(struct hw_qp *qp);

/*
 * The reset discards what has not been polled. Drivers differ in whether they do that, so the queue
 * pair flushes first. Some drivers return success and leave it in the error state for ever.
 */
static int hw_qp_reset(struct hw_qp *qp)
{
	const bool used = hw_qp_spent(qp) || hw_qp_state(qp) != IB_QPS_INIT;
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };
	int ret;

	if (used) {
		if (hw_qp_lives_once(qp))
			return -EOPNOTSUPP;
		hw_qp_drain(qp);
	}
	WRITE_ONCE(qp->made, false);
	ret = ib_modify_qp(qp->ib, &attr, IB_QP_STATE);
	if (used) {
		/* nothing comes after the reset; what came before is dropped as of this life */
		hw_qp_take_all(qp);
		ret = ret ?: hw_qp_renew(qp);
		atomic_set(&qp->drained, 0);
	}
	ret = ret ?: hw_qp_to_init(qp->ib, qp->access);
	return ret ?: hw_qp_state(qp) == IB_QPS_INIT ? 0 : -EOPNOTSUPP;
}

/* InfiniBand's SQD: the send queue rests. iWARP's drivers end the stream in that state. */
static int hw_qp_rest(struct hw_qp *qp, const struct ib_qp_attr *from, int mask)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_SQD,
		.en_sqd_async_notify = from->en_sqd_async_notify,
	};

	if (!(mask & IB_QP_EN_SQD_ASYNC_NOTIFY) || rdma_protocol_iwarp(qp->ib->device, 1))
		return -EINVAL;
	return ib_modify_qp(qp->ib, &attr, IB_QP_STATE | IB_QP_EN_SQD_ASYNC_NOTIFY);
}

static int hw_qp_go_on(struct hw_qp *qp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RTS };

	return hw_qp_state(qp) == IB_QPS_SQD ? ib_modify_qp(qp->ib, &attr, IB_QP_STATE) : -EINVAL;
}

int hw_qp_modify(struct ri_qp *ri, const struct ib_qp_attr *attr, int mask, struct ri_llp *llp)
{
	struct hw_qp *qp = hw_qp(ri);
	int ret = 0;

	if (llp)
		return -EINVAL;
	if (mask & IB_QP_ACCESS_FLAGS)
		ret = hw_qp_set_access(qp, attr->qp_access_flags);
	if (ret || !(mask & IB_QP_STATE))
		return ret;
	switch (attr->qp_state) {
	case IB_QPS_RESET:
		/* a caller must not wait for another one's */
		if (!mutex_trylock(&qp->resetting))
			return -EBUSY;
		ret = hw_qp_reset(qp);
		mutex_unlock(&qp->resetting);
		return ret;
	case IB_QPS_INIT:
		return hw_qp_state(qp) == IB_QPS_INIT ? 0 : -EINVAL;
	case IB_QPS_RTS:
		return hw_qp_go_on(qp);
	case IB_QPS_SQD:
		return hw_qp_rest(qp, attr, mask);
	case IB_QPS_ERR:
		return hw_qp_fail(qp);
	default:
		return -EINVAL;
	}
}

/* Draining and destruction ************************************************** */

/*
 * Post a marker to each queue. In the error state the queue returns it behind all that was posted.
 * Return: the number of markers.
 */
static int hw_qp_post_markers(struct hw_qp *qp)
{
	struct ib_rdma_wr send = {
		.wr = {
			.wr_id = (uintptr_t)qp,
			.opcode = IB_WR_RDMA_WRITE,
			.send_flags = IB_SEND_SIGNALED,
		},
	};
	struct ib_recv_wr recv = { .wr_id = (uintptr_t)qp };
	const struct ib_send_wr *bad_send;
	const struct ib_recv_wr *bad_recv;
	int markers = 0;

	if (!ib_post_send(qp->ib, &send.wr, &bad_send))
		markers++;
	if (!qp->ri.srq && !ib_post_recv(qp->ib, &recv, &bad_recv))
		markers++;
	return markers;
}

static bool hw_qp_take_all(struct hw_qp *qp)
{
	return hw_cq_hold(hw_cq(qp->ri.send_cq)) &&
	       (qp->ri.recv_cq == qp->ri.send_cq || hw_cq_hold(hw_cq(qp->ri.recv_cq)));
}

/* time for a queue pair to flush, once another one of the RNIC has not flushed */
#define HW_DRAIN_STALLED_US	5000
/* ... which holds for so many times drain_timeout_ms */
#define HW_DRAIN_STALLED	10

/*
 * Many queue pairs of a device that does not flush, or whose user lets a CQ overflow so that it
 * loses the markers, share one time-out: else 1000 of them would hold up the end of a process, or
 * the removal of the RNIC, for 1000 time-outs.
 */
static ktime_t hw_qp_drain_end(const struct hw_rnic *hw, bool users)
{
	u64 us = READ_ONCE(hw_drain_timeout_ms) * (u64)USEC_PER_MSEC;

	if (time_before(jiffies, READ_ONCE(hw->stalled_until[users])))
		us = min(us, HW_DRAIN_STALLED_US);
	return ktime_add_us(ktime_get(), us);
}

static void hw_qp_drain_stalled(struct hw_rnic *hw, bool users)
{
	const u64 ms = READ_ONCE(hw_drain_timeout_ms) * (u64)HW_DRAIN_STALLED;

	WRITE_ONCE(hw->stalled_until[users], jiffies + msecs_to_jiffies(min(ms, INT_MAX)));
	hw_count(hw, HW_CNT_DRAIN_TIMEOUT);
}

static void hw_qp_drain_locked(struct hw_qp *qp)
{
	struct hw_rnic *hw = hw_rnic(qp->ri.obj.rnic);
	const bool users = qp->ri.pd->slow;
	const ktime_t end = hw_qp_drain_end(hw, users);
	int markers;

	if (!hw_qp_take_all(qp))
		return;
	markers = hw_qp_post_markers(qp);
	while (hw_qp_take_all(qp) && atomic_read(&qp->drained) <= markers) {
		if (ktime_after(ktime_get(), end)) {
			hw_qp_drain_stalled(hw, users);
			return;
		}
		usleep_range(50, 200);
	}
}

/*
 * Wait until the queue pair's last completion is in its CQs, and take them all out: a driver may
 * leave them there, with the address of a destroyed queue pair. The CQs have room for the markers
 * of one queue pair. No poll gets a completion of this one any more.
 */
static void hw_qp_drain(struct hw_qp *qp)
{
	struct hw_cq *first = hw_cq(qp->ri.send_cq);
	struct hw_cq *second = hw_cq(qp->ri.recv_cq);

	atomic_set(&qp->drained, 1);
	if (hw_qp_fail(qp))
		return;
	if (first > second)
		swap(first, second);
	mutex_lock(&first->drain);
	if (second != first)
		mutex_lock_nested(&second->drain, SINGLE_DEPTH_NESTING);
	hw_qp_drain_locked(qp);
	if (second != first)
		mutex_unlock(&second->drain);
	mutex_unlock(&first->drain);
}

void hw_qp_destroy(struct ri_qp *ri)
{
	struct hw_qp *qp = hw_qp(ri);

	hw_qp_drain(qp);
	hw_qp_forget(qp);
	ib_destroy_qp(qp->ib);
	hw_events_end(&qp->events);
	hw_reserve_release(&qp->reserve);
}
