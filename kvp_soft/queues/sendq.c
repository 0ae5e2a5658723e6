// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Send queues: from the ring to a completion.
 *
 * The transmitter fetches a work request (soft_sq_fetch() checks it), cuts it into FPDUs and
 * records the stream position of its end (soft_sq_encoded()). The work request completes when
 * TCP has taken its last byte and, for an RDMA Read or an atomic operation, the response is
 * complete.
 *
 * Completions are in posting order (RFC 5040 5.5). So soft_sq_complete() takes finished work
 * requests from the oldest on, and stops at the first unfinished one.
 */
#include <linux/slab.h>

#include "../base/trace.h"
#include "qp.h"

/**
 * soft_sq_init() - make a send queue
 * @sq: to fill in
 * @uctx: user context, NULL for a kernel consumer
 * @cap: requested capabilities; set to the granted ones
 * @room: bytes of a receive ring behind the send ring
 * Context: may sleep.
 * Return: 0; -ENOMEM; an errno of soft_ring_init().
 */
int soft_sq_init(struct soft_sq *sq, struct ri_ucontext *uctx,
		 struct ib_qp_cap *cap, size_t room)
{
	u32 body = max_t(u32, cap->max_inline_data,
			 cap->max_send_sge * sizeof(struct krdma_soft_sge));
	u32 stride = roundup_pow_of_two(sizeof(struct krdma_soft_sqe) + body);
	int ret;

	spin_lock_init(&sq->post_lock);
	spin_lock_init(&sq->lock);
	ret = soft_ring_init(&sq->ring, uctx, cap->max_send_wr, stride, room);
	if (ret)
		return ret;
	sq->wqe = kzalloc(SOFT_SQE_SIZE, GFP_KERNEL_ACCOUNT);
	sq->recs = kvcalloc(max(sq->ring.depth, 1U), sizeof(*sq->recs), GFP_KERNEL_ACCOUNT);
	if (!sq->wqe || !sq->recs) {
		soft_sq_free(sq);
		return -ENOMEM;
	}
	body = min_t(u32, stride - sizeof(struct krdma_soft_sqe),
		     KRDMA_SOFT_MAX_INLINE);
	cap->max_send_wr = sq->ring.depth;
	cap->max_inline_data = body;
	cap->max_send_sge = min_t(u32, body / sizeof(struct krdma_soft_sge),
				  KRDMA_SOFT_MAX_SGE);
	soft_ring_want_doorbell(&sq->ring);
	return 0;
}

void soft_sq_free(struct soft_sq *sq)
{
	soft_ring_free(&sq->ring);
	kvfree(sq->recs);
	sq->recs = NULL;
	kfree(sq->wqe);
	sq->wqe = NULL;
}

/* work requests that are completed with one hold of the lock, for which softirqs wait */
#define SOFT_SQ_BATCH	64

/* The index of the next work request to fetch. Records from it on belong to the transmitter. */
static u32 soft_sq_fetched(const struct soft_sq *sq)
{
	/* pairs with soft_sq_fetch() and soft_tx_more(), which take no lock */
	return smp_load_acquire(&sq->ring.fetched);
}

static bool soft_sq_op_ok(const struct soft_qp *qp, u8 op)
{
	if (op < KRDMA_SOFT_OP_USER_END)
		return true;
	return ri_pd_is_kernels(qp->ri.pd) && op >= KRDMA_SOFT_OP_KERNEL &&
	       op < KRDMA_SOFT_OP_KERNEL_END;
}

/*
 * Check the copy of a work request. @body is the room of a slot for elements or inline data.
 * Whatever user space has written must be refused here or be harmless.
 */
static int soft_sq_check_entry(const struct soft_qp *qp,
			       const struct krdma_soft_sqe *wqe, u32 body)
{
	if (!soft_sq_op_ok(qp, wqe->opcode))
		return -EINVAL;
	if (soft_op_is_local(wqe->opcode))
		return wqe->num_sge || wqe->flags & KRDMA_SOFT_WQE_INLINE ?
			       -EINVAL :
			       0;
	if (wqe->flags & KRDMA_SOFT_WQE_INLINE) {
		if (soft_op_is_answered(wqe->opcode))
			return -EINVAL;
		return wqe->length <= min(body, qp->max_inline) ? 0 : -EINVAL;
	}
	if (wqe->opcode == KRDMA_SOFT_OP_READ_INV && wqe->num_sge != 1)
		return -EINVAL;
	if (wqe->num_sge > KRDMA_SOFT_MAX_SGE ||
	    wqe->num_sge * sizeof(struct krdma_soft_sge) > body)
		return -EINVAL;
	return 0;
}

/* Bytes of the message, or -EMSGSIZE (RFC 5041 5.2: less than 2^32). */
static s64 soft_sq_entry_length(const struct krdma_soft_sqe *wqe)
{
	u64 sum = 0;
	u32 i;

	if (wqe->flags & KRDMA_SOFT_WQE_INLINE)
		return wqe->length;
	for (i = 0; i < wqe->num_sge; i++)
		sum += wqe->sge[i].length;
	return sum <= U32_MAX ? (s64)sum : -EMSGSIZE;
}

/*
 * Copy the next work request out of the ring once, and check the copy.
 * Return: 0; -EINVAL; -EMSGSIZE for a message that is too long.
 */
static int soft_sq_copy(struct soft_qp *qp, struct soft_sq_rec *rec)
{
	struct soft_sq *sq = &qp->sq;
	const struct krdma_soft_sqe *src;
	struct krdma_soft_sqe *wqe = sq->wqe;
	u32 body = sq->ring.stride - sizeof(*wqe);
	s64 len;

	src = soft_ring_entry(&sq->ring, sq->ring.fetched);
	memcpy(wqe, src, sizeof(*wqe));
	/* the copy is checked: the compiler must not read the ring again */
	barrier_data(wqe);
	rec->wr_id = wqe->wr_id;
	rec->op = wqe->opcode;
	rec->flags = wqe->flags;
	if (soft_sq_check_entry(qp, wqe, body))
		return -EINVAL;
	if (wqe->flags & KRDMA_SOFT_WQE_INLINE)
		memcpy(wqe->sge, src->sge, wqe->length);
	else if (wqe->num_sge == 1)
		wqe->sge[0] = src->sge[0];
	else
		memcpy(wqe->sge, src->sge, wqe->num_sge * sizeof(wqe->sge[0]));
	barrier_data(wqe); /* the same for the elements' lengths */
	len = soft_sq_entry_length(wqe);
	if (len < 0)
		return len;
	if (soft_op_is_atomic(wqe->opcode) &&
	    (wqe->num_sge != 1 || len != sizeof(u64)))
		return -EINVAL;
	wqe->length = len;
	rec->byte_len = len;
	rec->read_pending = soft_op_is_answered(wqe->opcode);
	if (wqe->opcode == KRDMA_SOFT_OP_READ_INV)
		rec->invalidate = wqe->sge[0].lkey;
	return 0;
}

/**
 * soft_sq_fetch() - take the next work request
 * @qp: queue pair
 * @slot: set to the index of the work request
 *
 * The checked copy is in sq->wqe; its length field is the length of the message.
 * Context: the transmitter.
 * Return: 0; -ENOENT when none is posted; -EBADMSG when the entry is invalid and will complete
 * in error; -EINVAL when the ring is invalid. After the last two the QP has to fail.
 */
int soft_sq_fetch(struct soft_qp *qp, u32 *slot)
{
	struct soft_sq *sq = &qp->sq;
	struct soft_sq_rec *rec;
	int n, err;

	n = soft_ring_pending(&sq->ring);
	if (!n)
		return -ENOENT;
	/* a poster that respects the ring's cons index cannot get further ahead */
	if (n < 0 || sq->ring.fetched - READ_ONCE(sq->cons) >= sq->ring.depth) {
		soft_count(qp->rnic, SOFT_CNT_BAD_WQE);
		return -EINVAL;
	}
	*slot = sq->ring.fetched;
	rec = soft_sq_rec(sq, *slot);
	*rec = (struct soft_sq_rec){ .end_seq = U64_MAX };
	err = soft_sq_copy(qp, rec);
	if (err) {
		rec->status = err == -EMSGSIZE ? IB_WC_LOC_LEN_ERR :
						 IB_WC_LOC_QP_OP_ERR;
		soft_count(qp->rnic, SOFT_CNT_BAD_WQE);
	}
	trace_soft_wr(qp, sq->wqe, rec->status);
	/* write the record before the index: pairs with soft_sq_fetched() */
	smp_store_release(&sq->ring.fetched, *slot + 1);
	return err ? -EBADMSG : 0;
}

/** soft_sq_begun() - mark @slot as begun: from now on the peer may refuse it */
void soft_sq_begun(struct soft_qp *qp, u32 slot)
{
	/* after the members that identify the message: pairs with soft_sq_rec_begun() */
	smp_store_release(&soft_sq_rec(&qp->sq, slot)->begun, true);
}

/**
 * soft_sq_begun_msg() - mark a Send or a Write as begun: from now on the peer may refuse it
 * @qp: queue pair
 * @slot: the work request
 * @raddr: remote address of a Write
 * @key: identifies the message to the peer: the STag of a Write, the message sequence number
 *	of a Send
 * @imm_msn: message sequence number of the immediate data
 */
void soft_sq_begun_msg(struct soft_qp *qp, u32 slot, u64 raddr, u32 key,
		       u32 imm_msn)
{
	struct soft_sq_rec *rec = soft_sq_rec(&qp->sq, slot);

	rec->raddr = raddr;
	rec->key = key;
	rec->imm_msn = imm_msn;
	soft_sq_begun(qp, slot);
}

/** soft_sq_fail() - @slot will complete with @status when the queue is flushed */
void soft_sq_fail(struct soft_qp *qp, u32 slot, enum ib_wc_status status)
{
	soft_sq_rec(&qp->sq, slot)->status = status;
}

/** soft_sq_read_inv() - invalidate the STag that the RDMA Read in @slot names, if any */
enum soft_access soft_sq_read_inv(struct soft_qp *qp, u32 slot, bool may_sleep)
{
	u32 stag = soft_sq_rec(&qp->sq, slot)->invalidate;

	return stag ? soft_mem_local_inv(&qp->mem, stag, may_sleep) : SOFT_ACCESS_OK;
}

/** soft_sq_read_done() - the response of the Read or atomic operation in @slot is complete */
void soft_sq_read_done(struct soft_qp *qp, u32 slot)
{
	WRITE_ONCE(soft_sq_rec(&qp->sq, slot)->read_pending, false);
}

static bool soft_sq_rec_begun(const struct soft_sq_rec *rec)
{
	/* pairs with soft_sq_begun(), which takes no lock */
	return smp_load_acquire(&rec->begun);
}

/* Does this Write contain the tagged segment in @about? */
static bool soft_sq_rec_has_to(const struct soft_sq_rec *rec,
			       const struct soft_term_about *about)
{
	return rec->key == about->stag &&
	       about->to - rec->raddr < max(rec->byte_len, 1U);
}

/* Does the peer's header identify a message of this work request? */
static bool soft_sq_rec_is(const struct soft_sq_rec *rec,
			   const struct soft_term_about *about)
{
	if (!soft_sq_rec_begun(rec))
		return false;
	switch (rec->op) {
	case KRDMA_SOFT_OP_WRITE_IMM:
		if (!about->tagged)
			return rec->imm_msn == about->msn;
		fallthrough;
	case KRDMA_SOFT_OP_WRITE:
		return about->tagged && soft_sq_rec_has_to(rec, about);
	case KRDMA_SOFT_OP_SEND_IMM:
		if (!about->tagged && rec->imm_msn == about->msn)
			return true;
		fallthrough;
	case KRDMA_SOFT_OP_SEND:
	case KRDMA_SOFT_OP_SEND_INV:
		return !about->tagged && rec->key == about->msn;
	default:
		return false;
	}
}

static bool soft_sq_rec_blamed(const struct soft_sq_rec *rec,
			       const struct soft_term_about *about)
{
	return about ? soft_sq_rec_is(rec, about) : soft_sq_rec_begun(rec);
}

/*
 * With the lock held: check some work requests, from @slot or the oldest on.
 * Return: true when there are more and none has been blamed yet.
 */
static bool soft_sq_blame_some(struct soft_sq *sq, u32 *slot,
			       const struct soft_term_about *about,
			       enum ib_wc_status status, bool *found)
{
	const u32 fetched = soft_sq_fetched(sq);
	u32 n;

	if (fetched - *slot > fetched - sq->cons)
		*slot = sq->cons;
	for (n = 0; n < SOFT_SQ_BATCH && *slot != fetched; n++, (*slot)++) {
		if (!soft_sq_rec_blamed(soft_sq_rec(sq, *slot), about))
			continue;
		soft_sq_rec(sq, *slot)->status = status;
		*found = true;
		return false;
	}
	return *slot != fetched;
}

/**
 * soft_sq_blame() - blame the oldest incomplete work request that the peer may have seen
 * @qp: queue pair
 * @about: header of a message on the Send queue, or of an RDMA Write: blame the work request of
 *	that message; NULL for any message
 * @status: completion status of the work request when the queue is flushed
 * Return: false when there is no such work request.
 */
bool soft_sq_blame(struct soft_qp *qp, const struct soft_term_about *about,
		   enum ib_wc_status status)
{
	struct soft_sq *sq = &qp->sq;
	u32 slot = READ_ONCE(sq->cons);
	bool found = false;
	bool more;

	do {
		spin_lock_bh(&sq->lock);
		more = soft_sq_blame_some(sq, &slot, about, status, &found);
		spin_unlock_bh(&sq->lock);
	} while (more);
	return found;
}

static u8 soft_sq_wc_opcode(u8 op, u8 flags)
{
	bool masked = flags & KRDMA_SOFT_WQE_MASKED;

	switch (op) {
	case KRDMA_SOFT_OP_FETCH_ADD:
		return masked ? IB_WC_MASKED_FETCH_ADD : IB_WC_FETCH_ADD;
	case KRDMA_SOFT_OP_CMP_SWAP:
		return masked ? IB_WC_MASKED_COMP_SWAP : IB_WC_COMP_SWAP;
	case KRDMA_SOFT_OP_WRITE:
	case KRDMA_SOFT_OP_WRITE_IMM:
		return IB_WC_RDMA_WRITE;
	case KRDMA_SOFT_OP_READ:
	case KRDMA_SOFT_OP_READ_INV:
		return IB_WC_RDMA_READ;
	case KRDMA_SOFT_OP_LOCAL_INV:
		return IB_WC_LOCAL_INV;
	case KRDMA_SOFT_OP_BIND_MW:
		return IB_WC_BIND_MW;
	case KRDMA_SOFT_OP_REG_MR:
		return IB_WC_REG_MR;
	default:
		return IB_WC_SEND;
	}
}

/* Fill in the completion of a work request; count and trace it. */
static void soft_sq_cqe(struct soft_qp *qp, const struct soft_sq_rec *rec,
			enum ib_wc_status status, struct krdma_soft_cqe *cqe)
{
	*cqe = (struct krdma_soft_cqe){
		.wr_id = rec->wr_id,
		.byte_len = rec->byte_len,
		.qp_num = qp->ri.obj.id,
		.status = status,
		.opcode = soft_sq_wc_opcode(rec->op, rec->flags),
	};

	if (status) {
		cqe->vendor_err = qp->term.layer << 12 | qp->term.etype << 8 |
				  qp->term.code;
		soft_count(qp->rnic, SOFT_CNT_FLUSHED);
	}
	trace_soft_completion(qp, cqe);
}

static void soft_sq_add_cqes(struct soft_qp *qp,
			     const struct krdma_soft_cqe *cqes, u32 n)
{
	if (!soft_cq_add(soft_send_cq(qp), cqes, n, qp->ri.wc_qp,
			 SOFT_CQ_TELL_LATER))
		soft_qp_todo(qp, SOFT_TODO_CQ_LOST);
}

static void soft_sq_add_cqe(struct soft_qp *qp, const struct soft_sq_rec *rec,
			    enum ib_wc_status status)
{
	struct krdma_soft_cqe cqe;

	soft_sq_cqe(qp, rec, status, &cqe);
	soft_sq_add_cqes(qp, &cqe, 1);
}

/*
 * Remove the oldest work request. Its slot is free before the consumer can see the completion,
 * so the function returns a copy.
 */
static struct soft_sq_rec soft_sq_pop(struct soft_sq *sq)
{
	struct soft_sq_rec rec = *soft_sq_rec(sq, sq->cons);

	WRITE_ONCE(sq->cons, sq->cons + 1);
	soft_ring_release(&sq->ring, sq->cons);
	return rec;
}

/*
 * With the lock held: check whether all begun work requests are complete. A work request that
 * was fetched but not begun does not count: it is not begun while the queue is held.
 * Return: true when the queue has just drained and the consumer asked for the event.
 */
static bool soft_sq_check_drained(struct soft_qp *qp)
{
	struct soft_sq *sq = &qp->sq;
	u32 begun = sq->ring.fetched - (soft_sq_wr_waits(sq) ? 1 : 0);

	if (!sq->held || sq->drained || sq->cons != begun)
		return false;
	sq->drained = true;
	return sq->drain_event;
}

/**
 * soft_sq_hold() - hold the send queue: begin no new work request
 * @qp: queue pair with a stream
 * @event: report IB_EVENT_SQ_DRAINED when all begun work requests are complete
 * Context: under the transmitter's mutex.
 */
void soft_sq_hold(struct soft_qp *qp, bool event)
{
	struct soft_sq *sq = &qp->sq;
	bool report;

	spin_lock_bh(&sq->lock);
	sq->held = true;
	sq->drained = false;
	sq->drain_event = event;
	report = soft_sq_check_drained(qp);
	spin_unlock_bh(&sq->lock);
	if (report)
		soft_qp_event(qp, IB_EVENT_SQ_DRAINED);
}

/**
 * soft_sq_resume() - undo soft_sq_hold()
 * @qp: queue pair
 *
 * Context: under the transmitter's mutex.
 * Return: true when the queue was held; the caller starts the transmitter.
 */
bool soft_sq_resume(struct soft_qp *qp)
{
	struct soft_sq *sq = &qp->sq;
	bool ret;

	spin_lock_bh(&sq->lock);
	ret = sq->held;
	sq->held = false;
	spin_unlock_bh(&sq->lock);
	return ret;
}

/*
 * Remove finished work requests from the queue, from the oldest on: at most SOFT_SQ_BATCH work
 * requests with at most SOFT_CQ_RUN completions, which are written to @cqes.
 * Return: number of completions.
 */
static u32 soft_sq_finished(struct soft_qp *qp, u64 sent,
			    struct krdma_soft_cqe *cqes)
{
	struct soft_sq *sq = &qp->sq;
	const u32 fetched = soft_sq_fetched(sq);
	const struct soft_sq_rec *oldest;
	u32 cons = sq->cons;
	const u32 end = cons + min(fetched - cons, SOFT_SQ_BATCH);
	u32 n = 0;

	for (; cons != end && n < SOFT_CQ_RUN; cons++) {
		oldest = soft_sq_rec(sq, cons);
		if (oldest->status || READ_ONCE(oldest->read_pending) ||
		    READ_ONCE(oldest->end_seq) > sent)
			break;
		if (qp->sig_all || oldest->flags & KRDMA_SOFT_WQE_SIGNALED)
			soft_sq_cqe(qp, oldest, IB_WC_SUCCESS, &cqes[n++]);
	}
	/* free the slots first: a consumer that sees the completions may post at once */
	if (cons != sq->cons) {
		WRITE_ONCE(sq->cons, cons);
		soft_ring_release(&sq->ring, cons);
	}
	return n;
}

/*
 * Complete some finished work requests. @added is set when there were completions, @drained
 * when the consumer is to get the event that the send queue has drained.
 * Return: true when there may be more.
 */
static bool soft_sq_complete_some(struct soft_qp *qp, bool *added, bool *drained)
{
	struct krdma_soft_cqe cqes[SOFT_CQ_RUN];
	struct soft_sq *sq = &qp->sq;
	u32 first, over, n;
	u64 sent;

	spin_lock_bh(&sq->lock);
	/*
	 * Read seq_sent under the lock: the transmitter and the receiver both come here after
	 * their progress, and the later of the two must see the progress of both.
	 */
	sent = READ_ONCE(sq->seq_sent);
	first = sq->cons;
	do {
		n = soft_sq_finished(qp, sent, cqes);
		if (n) {
			soft_sq_add_cqes(qp, cqes, n);
			*added = true;
		}
		over = sq->cons - first;
	} while (n == SOFT_CQ_RUN && over < SOFT_SQ_BATCH);
	*drained |= soft_sq_check_drained(qp);
	spin_unlock_bh(&sq->lock);
	return over >= SOFT_SQ_BATCH;
}

static void soft_sq_completed(struct soft_qp *qp, bool added, bool drained)
{
	if (added)
		soft_cq_notify(soft_send_cq(qp), false);
	if (drained)
		soft_qp_event(qp, IB_EVENT_SQ_DRAINED);
}

/**
 * soft_sq_complete() - complete a bounded number of finished work requests, in order
 * @qp: queue pair
 *
 * Bounded, since the two ends of the stream choose how many work requests a single response
 * finishes.
 * Context: process context or softirq.
 * Return: true when there may be more; the transmitter completes them.
 */
bool soft_sq_complete(struct soft_qp *qp)
{
	bool added = false, drained = false;
	bool more;

	more = soft_sq_complete_some(qp, &added, &drained);
	soft_sq_completed(qp, added, drained);
	return more;
}

/**
 * soft_sq_complete_all() - complete all finished work requests, in order
 * @qp: queue pair
 * Context: may sleep.
 */
void soft_sq_complete_all(struct soft_qp *qp)
{
	bool added = false, drained = false;

	while (soft_sq_complete_some(qp, &added, &drained))
		cond_resched();
	soft_sq_completed(qp, added, drained);
}

/*
 * With the lock held: complete in error at most @most work requests that were fetched.
 * Return: number of completed work requests.
 */
static u32 soft_sq_flush_fetched(struct soft_qp *qp, u32 most)
{
	struct soft_sq *sq = &qp->sq;
	struct soft_sq_rec rec;
	u32 n;

	for (n = 0; n < most && sq->cons != sq->ring.fetched; n++) {
		rec = soft_sq_pop(sq);
		soft_sq_add_cqe(qp, &rec, rec.status ?: IB_WC_WR_FLUSH_ERR);
	}
	return n;
}

/* The same for work requests that are still in the ring. */
static u32 soft_sq_flush_posted(struct soft_qp *qp, u32 most)
{
	struct soft_sq *sq = &qp->sq;
	const int pending = soft_ring_pending(&sq->ring);
	const struct krdma_soft_sqe *sqe;
	struct soft_sq_rec rec = {};
	u32 n;

	most = min_t(u32, most, max(pending, 0));
	for (n = 0; n < most; n++) {
		sqe = soft_ring_entry(&sq->ring, sq->ring.fetched);
		rec.wr_id = READ_ONCE(sqe->wr_id);
		rec.op = READ_ONCE(sqe->opcode);
		sq->ring.fetched++;
		soft_sq_pop(sq);
		soft_sq_add_cqe(qp, &rec, IB_WC_WR_FLUSH_ERR);
	}
	return n;
}

/**
 * soft_sq_flush() - complete posted work requests in error
 * @qp: queue pair
 * @most: most work requests to flush
 *
 * Asks for a doorbell, so that work requests posted later are flushed, too.
 * Context: the transmitter, without a stream; may sleep.
 * Return: true when there may be more.
 */
bool soft_sq_flush(struct soft_qp *qp, u32 most)
{
	struct soft_sq *sq = &qp->sq;
	u32 left = most;
	u32 want, n;

	soft_ring_want_doorbell(&sq->ring);
	do {
		cond_resched();
		want = min(left, SOFT_SQ_BATCH);
		spin_lock_bh(&sq->lock);
		n = soft_sq_flush_fetched(qp, want);
		n += soft_sq_flush_posted(qp, want - n);
		spin_unlock_bh(&sq->lock);
		left -= n;
	} while (n == want && left);
	if (left != most)
		soft_cq_notify(soft_send_cq(qp), true);
	return !left;
}
