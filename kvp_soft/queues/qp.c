// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The queue pair's state: failure, flushing, and requests to the code above the queues.
 */
#include "../base/params.h"
#include "../base/trace.h"
#include "qp.h"

/** soft_qp_event() - report an asynchronous event of the QP; any context */
void soft_qp_event(struct soft_qp *qp, enum ib_event_type event)
{
	soft_async_event(qp->rnic, RI_OBJ_QP, qp->ri.obj.id, event);
}

/** soft_qp_todo() - have ctl_work do @what; any context */
void soft_qp_todo(struct soft_qp *qp, int what)
{
	set_bit(what, &qp->todo);
	queue_work(soft_wq, &qp->ctl_work);
}

/**
 * soft_qp_fail() - the stream cannot go on
 * @qp: queue pair
 * @term: why; shown as vendor_err in completions
 * @send_term: the peer is to be told; false when it told us
 * @status: for the consumer of the endpoint
 *
 * The first failure counts, later ones are ignored (RFC 5040 7.1). The
 * transmitter sends the Terminate at the next FPDU boundary and the stream
 * ends after it. Context: any but hard interrupt.
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

/* so many work requests of each queue are flushed before others have their turn */
#define SOFT_FLUSH_RUN	512

/**
 * soft_qp_flush_some() - complete some of what is posted in error
 * @qp: queue pair without a stream
 * Context: under tx.mutex, may sleep. Return: there may be more.
 */
bool soft_qp_flush_some(struct soft_qp *qp)
{
	bool more = soft_sq_flush(qp, SOFT_FLUSH_RUN);

	return soft_rq_flush(qp, SOFT_FLUSH_RUN) || more;
}

/**
 * soft_qp_flush() - complete all that is posted in error
 * @qp: queue pair without a stream
 *
 * All that was posted before: one who posts meanwhile rings the doorbell, and who has indices
 * that jump has no more flushed than the queues hold, fetched and not.
 * Context: under tx.mutex, may sleep.
 */
void soft_qp_flush(struct soft_qp *qp)
{
	soft_sq_flush(qp, max(2 * qp->sq.ring.depth, 1U));
	soft_rq_flush(qp, max(qp->own_rq.ring.depth, 1U));
}

/**
 * soft_qp_purge() - drop the completions of a kernel consumer that wait
 * @qp: queue pair, which adds no more
 * Context: may sleep.
 */
void soft_qp_purge(struct soft_qp *qp)
{
	soft_cq_purge(soft_send_cq(qp), qp->ri.obj.id);
	if (soft_recv_cq(qp) != soft_send_cq(qp))
		soft_cq_purge(soft_recv_cq(qp), qp->ri.obj.id);
}

/**
 * soft_qp_forget() - forget what is posted and, of a kernel consumer, what has completed
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
	/* the program may have mended its index */
	qp->own_rq.broken = pending < 0;
	if (rq->depth)
		soft_ring_release(rq, rq->fetched);
	spin_unlock_bh(&qp->own_rq.lock);
	soft_ring_no_doorbell(rq);
	soft_qp_purge(qp);
}

/** soft_qp_wake_peer() - the receiver of @qp can take more; any context but hard interrupt */
void soft_qp_wake_peer(struct soft_qp *qp)
{
	spin_lock_bh(&qp->lock);
	/* whose stream does not end before it has set this to NULL */
	if (qp->peer)
		soft_qp_kick(qp->peer);
	spin_unlock_bh(&qp->lock);
}
