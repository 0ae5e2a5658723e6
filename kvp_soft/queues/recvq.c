// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Receive queues, of one QP or shared by several.
 *
 * The receiver fetches an entry when the first segment of a Send arrives. It copies and checks
 * the entry, so the slot is free again at once.
 */
#include "../base/trace.h"
#include "../memory/memory.h"
#include "qp.h"

/* receives that are flushed with one hold of the lock, for which softirqs wait */
#define SOFT_RQ_BATCH	64
/* receivers that are started by a doorbell, and by each receiver whose wait ends */
#define SOFT_RQ_WAKE		32
#define SOFT_RQ_WAKE_NEXT	2

/* not an event of the verbs */
#define SOFT_RQ_NO_EVENT	((enum ib_event_type)-1)

static u32 soft_rq_stride(u32 max_sge)
{
	return roundup_pow_of_two(sizeof(struct krdma_soft_rqe) +
				  max(max_sge, 1U) * sizeof(struct krdma_soft_sge));
}

/* Bytes that soft_rq_init() needs behind another ring. */
size_t soft_rq_size(u32 depth, u32 max_sge)
{
	return soft_ring_size(depth, soft_rq_stride(max_sge));
}

/**
 * soft_rq_init() - make a receive queue
 * @rq: to fill in
 * @uctx: user context, NULL for a kernel consumer
 * @depth: entries wanted, rounded up; 0 makes an empty queue
 * @max_sge: elements of an entry
 * @first: ring with room behind it for this queue's ring; if NULL or empty, the queue gets
 *	memory of its own
 *
 * Context: may sleep.
 * Return: 0 or an errno of soft_ring_init().
 */
int soft_rq_init(struct soft_rq *rq, struct ri_ucontext *uctx, u32 depth,
		 u32 max_sge, const struct soft_ring *first)
{
	const u32 stride = soft_rq_stride(max_sge);

	spin_lock_init(&rq->post_lock);
	spin_lock_init(&rq->lock);
	INIT_LIST_HEAD(&rq->waiters);
	rq->max_sge = max(max_sge, 1U);
	if (!depth || !first || !first->depth)
		return soft_ring_init(&rq->ring, uctx, depth, stride, 0);
	soft_ring_init_behind(&rq->ring, first, depth, stride);
	return 0;
}

void soft_rq_free(struct soft_rq *rq)
{
	soft_ring_free(&rq->ring);
}

/* Copy an entry once, and check the copy. */
static int soft_rq_copy_entry(const struct soft_rq *rq, struct soft_rwqe *wqe)
{
	const struct krdma_soft_rqe *src;
	u32 i;

	src = soft_ring_entry(&rq->ring, rq->ring.fetched);
	wqe->wr_id = READ_ONCE(src->wr_id);
	wqe->num_sge = READ_ONCE(src->num_sge);
	wqe->length = 0;
	if (wqe->num_sge > rq->max_sge) {
		wqe->num_sge = 0;
		return -EINVAL;
	}
	memcpy(wqe->sge, src->sge, wqe->num_sge * sizeof(src->sge[0]));
	/* the checked lengths are the used ones: the compiler must not read the ring again */
	barrier_data(wqe->sge);
	for (i = 0; i < wqe->num_sge; i++)
		wqe->length += wqe->sge[i].length;
	return 0;
}

static void soft_rq_srq_event(struct soft_qp *qp, enum ib_event_type event)
{
	soft_async_event(qp->rnic, RI_OBJ_SRQ, qp->ri.srq->obj.id, event);
}

/*
 * With the lock held: number of waiting entries. After an invalid index the ring is not read
 * any more, since its other contents may be wrong, too. @event is set at the first invalid
 * index.
 */
static int soft_rq_pending(struct soft_rq *rq, enum ib_event_type *event)
{
	int n = rq->broken ? -EINVAL : soft_ring_pending(&rq->ring);

	if (n < 0 && !rq->broken) {
		rq->broken = true;
		*event = IB_EVENT_SRQ_ERR;
	}
	return n;
}

/**
 * soft_rq_fetch() - take the next receive work request for a QP
 * @qp: queue pair; its queue may be shared
 * @wqe: filled in
 *
 * If the ring of a shared queue is invalid, IB_EVENT_SRQ_ERR is reported once, and each QP that
 * fetches from the queue fails.
 *
 * Context: the receiver.
 * Return: 0; -ENOENT when none is posted; -EINVAL when the ring or the entry is invalid.
 */
int soft_rq_fetch(struct soft_qp *qp, struct soft_rwqe *wqe)
{
	enum ib_event_type event = SOFT_RQ_NO_EVENT;
	struct soft_rq *rq = qp->rq;
	int n, ret;

	spin_lock_bh(&rq->lock);
	n = soft_rq_pending(rq, &event);
	ret = n < 0 ? n : -ENOENT;
	if (n > 0) {
		ret = soft_rq_copy_entry(rq, wqe);
		wqe->active = true;
		rq->ring.fetched++;
		soft_ring_release(&rq->ring, rq->ring.fetched);
	}
	if (n > 0 && rq->limit && n - 1 < rq->limit) {
		rq->limit = 0;
		event = IB_EVENT_SRQ_LIMIT_REACHED;
	}
	spin_unlock_bh(&rq->lock);
	if (event != SOFT_RQ_NO_EVENT && qp->ri.srq)
		soft_rq_srq_event(qp, event);
	if (ret == -EINVAL)
		soft_count(qp->rnic, SOFT_CNT_BAD_WQE);
	return ret;
}

/* result of a receive that is flushed */
static const struct soft_recv_done soft_rq_recv_flushed = {
	.status = IB_WC_WR_FLUSH_ERR,
	.opcode = IB_WC_RECV,
};

static void soft_rq_add_cqes(struct soft_qp *qp,
			     const struct krdma_soft_cqe *cqes, u32 n,
			     enum soft_cq_tell tell)
{
	if (!soft_cq_add(soft_recv_cq(qp), cqes, n, qp->ri.wc_qp, tell))
		soft_qp_todo(qp, SOFT_TODO_CQ_LOST);
}

static void soft_rq_add_cqe(struct soft_qp *qp, u64 wr_id,
			    const struct soft_recv_done *done,
			    enum soft_cq_tell tell)
{
	struct krdma_soft_cqe cqe = {
		.wr_id = wr_id,
		.byte_len = done->len,
		.qp_num = qp->ri.obj.id,
		.status = done->status,
		.opcode = (u8)done->opcode,
		.flags = done->flags,
	};

	if (done->flags & KRDMA_SOFT_WC_IMM)
		cqe.imm = done->imm;
	else if (done->flags & KRDMA_SOFT_WC_INVALIDATED)
		cqe.invalidated = done->invalidated;
	if (done->status) {
		cqe.vendor_err = qp->term.layer << 12 | qp->term.etype << 8 |
				 qp->term.code;
		soft_count(qp->rnic, SOFT_CNT_FLUSHED);
	}
	trace_soft_completion(qp, &cqe);
	soft_rq_add_cqes(qp, &cqe, 1, tell);
}

/**
 * soft_rq_complete() - complete the receive work request in use
 * @qp: queue pair
 * @done: how it ended
 * Context: the receiver, or with the receiver stopped.
 */
void soft_rq_complete(struct soft_qp *qp, const struct soft_recv_done *done)
{
	qp->rwqe.active = false;
	soft_rq_add_cqe(qp, qp->rwqe.wr_id, done,
			done->solicited || done->status ?
				SOFT_CQ_TELL_SOLICITED :
				SOFT_CQ_TELL);
}

/* With the lock held: entries that can be taken without checks for an error or the limit. */
static u32 soft_rq_ready(const struct soft_rq *rq)
{
	int n = rq->broken || rq->limit ? 0 : soft_ring_pending(&rq->ring);

	return max(n, 0);
}

/* Read the @nth waiting entry once. Does it have a single element? */
static bool soft_rq_entry_single(const struct soft_rq *rq, u32 nth, u64 *wr_id,
				 struct krdma_soft_sge *sge)
{
	const struct krdma_soft_rqe *src =
		soft_ring_entry(&rq->ring, rq->ring.fetched + nth);

	*wr_id = READ_ONCE(src->wr_id);
	sge->addr = READ_ONCE(src->sge[0].addr);
	sge->length = READ_ONCE(src->sge[0].length);
	sge->lkey = READ_ONCE(src->sge[0].lkey);
	return READ_ONCE(src->num_sge) == 1;
}

/**
 * soft_rq_fill() - place short Sends, each in the next receive, and complete the receives
 * @qp: queue pair; no receive is in use
 * @cache: the receiver's memory cache
 * @from: payloads of the Sends, not empty
 * @n: number of Sends
 * @solicited: the Sends ask for an event
 *
 * Stops at a receive that does not have one element in the region of the first receive. So the
 * receive queue and the CQ are locked once each.
 * Context: the receiver.
 * Return: number of Sends that were placed; the next one takes the normal path.
 */
u32 soft_rq_fill(struct soft_qp *qp, struct soft_mem_cache *cache,
		 const struct soft_parts *from, u32 n, bool solicited)
{
	const int need = IB_ACCESS_LOCAL_WRITE | SOFT_FOR_RECEIVE;
	struct krdma_soft_cqe cqes[SOFT_CQ_RUN];
	struct soft_rq *rq = qp->rq;
	struct soft_mem *mem = NULL;
	const u8 *p = from->first;
	struct krdma_soft_sge sge;
	u32 lkey = 0;
	u64 wr_id;
	u32 i;

	spin_lock_bh(&rq->lock);
	n = min3(n, soft_rq_ready(rq), SOFT_CQ_RUN);
	for (i = 0; i < n; i++) {
		if (!soft_rq_entry_single(rq, i, &wr_id, &sge) ||
		    sge.length < from->len)
			break;
		if (!mem) {
			if (soft_mem_get_cached(&qp->mem, cache, sge.lkey,
						sge.addr, from->len, need, &mem))
				break;
			lkey = sge.lkey;
		} else if (sge.lkey != lkey ||
			   soft_mem_in_bounds(mem, sge.addr, from->len)) {
			break;
		}
		soft_mem_write(mem, sge.addr, p, from->len);
		p += from->len + from->gap;
		cqes[i] = (struct krdma_soft_cqe){
			.wr_id = wr_id,
			.byte_len = from->len,
			.qp_num = qp->ri.obj.id,
			.opcode = IB_WC_RECV,
		};
		trace_soft_completion(qp, &cqes[i]);
	}
	if (mem)
		soft_mem_put(mem);
	rq->ring.fetched += i;
	if (i)
		soft_ring_release(&rq->ring, rq->ring.fetched);
	spin_unlock_bh(&rq->lock);
	if (i)
		soft_rq_add_cqes(qp, cqes, i,
				 solicited ? SOFT_CQ_TELL_SOLICITED :
					     SOFT_CQ_TELL);
	return i;
}

/* Flush the receive in use, if there is one. */
static void soft_rq_flush_current(struct soft_qp *qp)
{
	struct soft_recv_done under_way = soft_rq_recv_flushed;

	if (qp->rwqe_status)
		under_way.status = qp->rwqe_status;
	if (qp->rwqe.active)
		soft_rq_complete(qp, &under_way);
}

/* With the lock held: complete at most @most posted receives in error. */
static u32 soft_rq_flush_posted(struct soft_qp *qp, u32 most)
{
	struct soft_rq *rq = &qp->own_rq;
	const int pending = soft_ring_pending(&rq->ring);
	const struct krdma_soft_rqe *rqe;
	u64 wr_id;
	u32 n;

	most = min_t(u32, most, max(pending, 0));
	for (n = 0; n < most; n++) {
		rqe = soft_ring_entry(&rq->ring, rq->ring.fetched++);
		wr_id = READ_ONCE(rqe->wr_id);
		/* free the slot first: a consumer that sees the completion may post again */
		soft_ring_release(&rq->ring, rq->ring.fetched);
		soft_rq_add_cqe(qp, wr_id, &soft_rq_recv_flushed,
				SOFT_CQ_TELL_LATER);
	}
	return n;
}

/**
 * soft_rq_flush() - complete posted receives in error
 * @qp: queue pair
 * @most: most receives to flush
 *
 * With a shared queue, only the receive that this QP had taken is flushed. Asks for a doorbell,
 * so that receives posted later are flushed, too.
 * Context: with the receiver stopped; may sleep.
 * Return: true when there may be more.
 */
bool soft_rq_flush(struct soft_qp *qp, u32 most)
{
	struct soft_rq *rq = &qp->own_rq;
	u32 left = most;
	u32 want, n;

	soft_rq_flush_current(qp);
	if (!rq->ring.depth)
		return false;
	soft_ring_want_doorbell(&rq->ring);
	do {
		cond_resched();
		want = min(left, SOFT_RQ_BATCH);
		spin_lock_bh(&rq->lock);
		n = soft_rq_flush_posted(qp, want);
		spin_unlock_bh(&rq->lock);
		left -= n;
	} while (n == want && left);
	if (left != most)
		soft_cq_notify(soft_recv_cq(qp), true);
	return !left;
}

/**
 * soft_rq_post() - post a list of receives of a kernel consumer
 * @rq: queue
 * @wr: the list
 * @bad_wr: set to the first receive that was refused
 *
 * The slots are filled under the post lock.
 * Context: any but hard interrupt.
 * Return: 0; -ENOMEM when the queue is full; -EINVAL when a receive has too many elements.
 */
int soft_rq_post(struct soft_rq *rq, const struct ib_recv_wr *wr,
		 const struct ib_recv_wr **bad_wr)
{
	struct krdma_soft_rqe *rqe;
	unsigned long flags;
	int i, ret = 0;

	spin_lock_irqsave(&rq->post_lock, flags);
	for (; wr; wr = wr->next) {
		rqe = soft_ring_slot(&rq->ring);
		if (!rqe)
			ret = -ENOMEM;
		else if (wr->num_sge > rq->max_sge)
			ret = -EINVAL;
		if (ret) {
			*bad_wr = wr;
			break;
		}
		rqe->wr_id = wr->wr_id;
		rqe->num_sge = wr->num_sge;
		for (i = 0; i < wr->num_sge; i++) {
			rqe->sge[i].addr = wr->sg_list[i].addr;
			rqe->sge[i].length = wr->sg_list[i].length;
			rqe->sge[i].lkey = wr->sg_list[i].lkey;
		}
		rq->ring.posted++;
	}
	if (rq->ring.depth)
		soft_ring_publish(&rq->ring);
	spin_unlock_irqrestore(&rq->post_lock, flags);
	return ret;
}

/*
 * With the lock held: start as many waiting receivers as there are entries, at most @most. If
 * the ring is invalid, the number of entries does not matter: all receivers have to fail.
 */
static void soft_rq_wake(struct soft_rq *rq, u32 most)
{
	const int pending = rq->broken ? -EINVAL : soft_ring_pending(&rq->ring);
	struct soft_rq_waiter *waiter;

	if (pending >= 0)
		most = min_t(u32, most, pending);
	for (; most && !list_empty(&rq->waiters); most--) {
		waiter = list_first_entry(&rq->waiters, struct soft_rq_waiter, node);
		list_del_init(&waiter->node);
		queue_work(soft_wq, &waiter->work);
	}
	if (list_empty(&rq->waiters))
		soft_ring_no_doorbell(&rq->ring);
}

void __soft_rq_posted(struct soft_rq *rq)
{
	unsigned long flags;

	spin_lock_irqsave(&rq->lock, flags);
	soft_rq_wake(rq, SOFT_RQ_WAKE);
	spin_unlock_irqrestore(&rq->lock, flags);
}

/**
 * soft_rq_wait_end() - end the wait of a receiver that has fetched an entry or gives up
 * @rq: queue
 * @waiter: the receiver's waiter
 *
 * Starts other receivers if entries are left: the doorbell for them may have started only this
 * receiver.
 * Context: any but hard interrupt.
 */
void soft_rq_wait_end(struct soft_rq *rq, struct soft_rq_waiter *waiter)
{
	spin_lock_bh(&rq->lock);
	list_del_init(&waiter->node);
	soft_rq_wake(rq, SOFT_RQ_WAKE_NEXT);
	spin_unlock_bh(&rq->lock);
}
