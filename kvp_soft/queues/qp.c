// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The queue pair's state: failure, flushing, and requests to the code above the queues.
 */
#include "../base/params.h"
#include "../base/trace.h"
#include "qp.h"

/** soft_qp_event() - report an asynchronous event of the QP; context of soft_async_event() */
void soft_qp_event(struct soft_qp *qp, enum ib_event_type event)
{
	soft_async_event(qp->rnic, RI_OBJ_QP, qp->ri.obj.id, event);
}

/** soft_qp_todo() - set bit @what of qp.todo and queue ctl_work; any context */
void soft_qp_todo(struct soft_qp *qp, int what)
{
	set_bit(what, &qp->todo);
	queue_work(soft_wq, &qp->ctl_work);
}

/**
 * soft_qp_fail() - fail the stream of a queue pair
 * @qp: queue pair
 * @term: reason; shown as vendor_err in completions
 * @send_term: send a Terminate to the peer; false when the peer sent one
 * @status: errno for the consumer of the endpoint
 *
 * The first failure counts; later ones are ignored (RFC 5040 7.1). The transmitter sends the
 * Terminate at the next FPDU boundary, and then the stream ends.
 * Context: any but hard interrupt.
 */
void soft_qp_fail(struct soft_qp *qp, const struct soft_term *term,
		  bool send_term, int status)
{
	bool first;

	spin_lock_bh(&qp->lock);
	first = qp->state == SOFT_QP_RTS || qp->state == SOFT_QP_CLOSING;
	if (first) {
		qp->term = *term;
		WRITE_ONCE(qp->term_pending, send_term);
		WRITE_ONCE(qp->status, status);
		WRITE_ONCE(qp->state, SOFT_QP_TERMINATE);
	}
	spin_unlock_bh(&qp->lock);
	if (!first)
		return;
	trace_soft_fail(qp, term, send_term, status);
	trace_soft_qp_state(qp);
	mod_delayed_work(soft_wq, &qp->close_timer,
			 msecs_to_jiffies(READ_ONCE(soft_close_timeout_ms)));
	soft_qp_kick(qp);
}

/* work requests of each queue that are flushed before other threads get tx.mutex */
#define SOFT_FLUSH_RUN	512

/**
 * soft_qp_flush_some() - complete some posted work requests in error
 * @qp: queue pair without a stream
 * Context: under tx.mutex, may sleep.
 * Return: true when there may be more.
 */
bool soft_qp_flush_some(struct soft_qp *qp)
{
	bool more = soft_sq_flush(qp, SOFT_FLUSH_RUN);

	return soft_rq_flush(qp, SOFT_FLUSH_RUN) || more;
}

/**
 * soft_qp_flush() - complete all posted work requests in error
 * @qp: queue pair without a stream
 *
 * Flushes the work requests that were posted before the call. A poster that posts meanwhile
 * rings the doorbell. If a poster's index jumps, no more is flushed than the queues can hold,
 * fetched and unfetched.
 * Context: under tx.mutex, may sleep.
 */
void soft_qp_flush(struct soft_qp *qp)
{
	soft_sq_flush(qp, max(2 * qp->sq.ring.depth, 1U));
	soft_rq_flush(qp, max(qp->own_rq.ring.depth, 1U));
}

/**
 * soft_qp_purge() - drop the waiting completions of a kernel consumer's queue pair
 * @qp: queue pair, which adds no more completions
 * Context: may sleep.
 */
void soft_qp_purge(struct soft_qp *qp)
{
	soft_cq_purge(soft_send_cq(qp), qp->ri.obj.id);
	if (soft_recv_cq(qp) != soft_send_cq(qp))
		soft_cq_purge(soft_recv_cq(qp), qp->ri.obj.id);
}

/**
 * soft_qp_forget() - drop all posted work requests and a kernel consumer's completions
 * @qp: queue pair without a stream
 * Context: may sleep.
 */
void soft_qp_forget(struct soft_qp *qp)
{
	struct soft_ring *sq = &qp->sq.ring;
	struct soft_ring *rq = &qp->own_rq.ring;
	int pending;

	spin_lock_bh(&qp->sq.lock);
	sq->fetched += max(soft_ring_pending(sq), 0);
	WRITE_ONCE(qp->sq.cons, sq->fetched);
	if (sq->depth)
		soft_ring_release(sq, sq->fetched);
	spin_unlock_bh(&qp->sq.lock);
	spin_lock_bh(&qp->own_rq.lock);
	pending = soft_ring_pending(rq);
	rq->fetched += max(pending, 0);
	/* the program may have corrected its index */
	qp->own_rq.broken = pending < 0;
	if (rq->depth)
		soft_ring_release(rq, rq->fetched);
	spin_unlock_bh(&qp->own_rq.lock);
	soft_ring_no_doorbell(rq);
	soft_qp_purge(qp);
}

/** soft_qp_wake_peer() - start the peer's transmitter; any context but hard interrupt */
void soft_qp_wake_peer(struct soft_qp *qp)
{
	spin_lock_bh(&qp->lock);
	/* the peer's stream sets this to NULL before it ends */
	if (qp->peer)
		soft_qp_kick(qp->peer);
	spin_unlock_bh(&qp->lock);
}
