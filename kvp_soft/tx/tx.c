// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The transmitter.
 *
 * The transmitter chooses the next message (choose.c), builds FPDUs from it (build.c) and
 * gives them to TCP.
 *
 * It runs in the system call that rings the doorbell, in a kernel consumer's post call, in a
 * poller (poll.c) or in a work item; always for a bounded amount of data at a time. It runs
 * until one of these is true:
 *  - Nothing is left to send.
 *  - TCP is full. The socket's write_space callback starts the transmitter again.
 *  - It waits for the peer. The receiver starts the transmitter again.
 */
#include <linux/slab.h>
#include <linux/socket.h>
#include <net/rps.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <krdma/noio.h>

#include "../base/params.h"
#include "../base/trace.h"
#include "internal.h"

static void soft_tx_work(struct work_struct *work);

/**
 * soft_tx_init() - initialize the transmitter of a new QP
 * @tx: to fill in
 * @qp: its queue pair
 * @gather: gathering of the user context, NULL for a kernel consumer
 * @ops: functions for a peer on this host
 */
void soft_tx_init(struct soft_tx *tx, struct soft_qp *qp,
		  struct soft_gather *gather, const struct soft_tx_ops *ops)
{
	qp->tx = tx;
	tx->qp = qp;
	tx->ops = ops;
	mutex_init(&tx->mutex);
	INIT_WORK(&qp->tx_work, soft_tx_work);
	INIT_WORK(&tx->poll_work, soft_poll_work);
	soft_pace_init(&tx->pace, gather);
	soft_tx_reset(tx);
}

/** soft_tx_reset() - drop all built FPDUs and the current message; under tx.mutex or before use */
void soft_tx_reset(struct soft_tx *tx)
{
	struct soft_sq *sq = &tx->qp->sq;
	u32 i;

	for (i = 0; i < tx->nvec; i++)
		put_page(tx->vec[i].bv_page);
	tx->nvec = 0;
	tx->staged = 0;
	tx->staged_fpdus = 0;
	tx->seq_built = 0;
	WRITE_ONCE(sq->seq_sent, 0);
	tx->msn[SOFT_QN_SEND] = 1;
	tx->msn[SOFT_QN_READ_REQ] = 1;
	tx->atomic_resp_msn = 1;
	tx->msg.kind = SOFT_MSG_NONE;
	/* if the peer's ready-to-receive frame is a Read, it is answered first */
	tx->resp_turn = true;
	tx->rtr = RI_RTR_NONE;
	sq->wr_fetched = false;
	soft_pace_reset(&tx->pace);
	tx->direct = false;
	kfree(tx->seg);
	tx->seg = NULL;
}

/* Release @n bytes that TCP, or the peer on this host, has taken. */
static void soft_tx_taken(struct soft_tx *tx, u32 n)
{
	u32 gone = 0;

	tx->staged -= n;
	WRITE_ONCE(tx->qp->sq.seq_sent, tx->qp->sq.seq_sent + n);
	while (gone < tx->nvec && n >= tx->vec[gone].bv_len) {
		n -= tx->vec[gone].bv_len;
		put_page(tx->vec[gone++].bv_page);
	}
	if (n) {
		tx->vec[gone].bv_offset += n;
		tx->vec[gone].bv_len -= n;
	}
	tx->nvec -= gone;
	memmove(tx->vec, tx->vec + gone, tx->nvec * sizeof(tx->vec[0]));
}

/*
 * Give the built FPDUs to TCP. With @more, TCP waits for the next send before it sends a segment
 * that is not full; the caller guarantees another send.
 * Return: 0; -EAGAIN when TCP is full; another errno when the stream has ended.
 */
static int soft_tx_send(struct soft_qp *qp, bool more)
{
	struct sock *sk = qp->llp->sock->sk;
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_SPLICE_PAGES |
			     (more ? MSG_MORE : 0),
	};
	struct soft_tx *tx = qp->tx;
	u32 staged = tx->staged;
	int n;

	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, tx->vec, tx->nvec, staged);
	sock_rps_record_flow(sk);
	/* not sock_sendmsg(): its security hooks and autobind are for sockets of programs */
	lock_sock(sk);
	n = tcp_sendmsg_locked(sk, &msg, staged);
	release_sock(sk);
	trace_soft_send(qp, staged, n);
	if (n < 0)
		return n;
	soft_count(qp->rnic, SOFT_CNT_TX_SENDS);
	soft_count_add(qp->rnic, SOFT_CNT_TX_BYTES, n);
	soft_count_add(qp->rnic, SOFT_CNT_TX_FPDU, tx->staged_fpdus);
	tx->staged_fpdus = 0;
	qp->sent.bytes += n;
	soft_tx_taken(tx, n);
	return n == staged ? 0 : -EAGAIN;
}

/*
 * Give the built FPDUs to the peer on this host. FPDUs that the peer does not take now go
 * through TCP, and so does all later data.
 * Return: as soft_tx_send().
 */
static int soft_tx_give(struct soft_qp *qp)
{
	struct soft_tx *tx = qp->tx;
	u32 fpdus = 0;
	u32 n = tx->ops->give(qp, &fpdus);

	soft_count_add(qp->rnic, SOFT_CNT_DIRECT_SEGMENTS, fpdus);
	soft_count_add(qp->rnic, SOFT_CNT_DIRECT_BYTES, n);
	qp->sent.bytes += n;
	tx->staged_fpdus -= fpdus;
	soft_tx_taken(tx, n);
	if (!tx->staged)
		return 0;
	tx->direct = false;
	return soft_tx_send(qp, false);
}

/**
 * soft_tx_owes() - does this side owe the peer the rest of a message, or a response?
 * @qp: queue pair, its tx.mutex held
 */
bool soft_tx_owes(const struct soft_qp *qp)
{
	const struct soft_tx *tx = qp->tx;

	return soft_tx_has_requests(qp) || tx->msg.kind != SOFT_MSG_NONE ||
	       tx->staged || (tx->seg && tx->seg->len);
}

/* The build has stopped with @step. True when the stream is ready to end. */
static bool soft_tx_finished(struct soft_qp *qp, enum soft_step step)
{
	bool ret = false;

	spin_lock_bh(&qp->lock);
	if (qp->state == SOFT_QP_TERMINATE) {
		ret = !qp->term_pending;
	} else if (qp->peer_done) {
		ret = !qp->in_count && qp->tx->msg.kind == SOFT_MSG_NONE;
	} else if (qp->state == SOFT_QP_CLOSING) {
		ret = step == SOFT_STEP_EMPTY && !qp->in_count &&
		      !qp->out_count;
		qp->tx_waits = qp->out_count;
		qp->tx_waits_for = 0;
	}
	spin_unlock_bh(&qp->lock);
	return ret;
}

/* rounds for work requests posted meanwhile, before other threads get tx.mutex */
#define SOFT_TX_ROUNDS		64

/*
 * Run until there is nothing to do or @budget bytes have been sent.
 * Return: true when there is more to do.
 */
static bool soft_tx_run_stream(struct soft_qp *qp, u64 budget)
{
	struct soft_sq *sq = &qp->sq;
	u64 end = qp->sq.seq_sent + budget;
	u32 rounds = 0;
	u64 pushed = 0;
	enum soft_step step;
	bool more;
	u32 built;
	int ret;

	/* only between messages: within a message, TCP may hold back bytes (MSG_MORE) */
	if (!qp->tx->direct && !qp->tx->staged &&
	    qp->tx->msg.kind == SOFT_MSG_NONE &&
	    READ_ONCE(qp->peer) && !qp->tx->ops->change(qp)) {
		/* complete now what the receiver has left to the transmitter */
		soft_sq_complete_all(qp);
		return false;
	}
	soft_pace_busy(&qp->tx->pace);
	soft_ring_no_doorbell(&sq->ring);
	for (;;) {
		qp->tx->pushed = 0;
		step = soft_tx_build(qp);
		built = qp->tx->staged;
		/* in the middle of a message there is always more */
		more = qp->tx->msg.kind != SOFT_MSG_NONE;
		ret = 0;
		if (built)
			ret = qp->tx->direct ? soft_tx_give(qp) :
					      soft_tx_send(qp, more);
		built += qp->tx->pushed;
		pushed += qp->tx->pushed / SOFT_DIRECT_COST;
		soft_sq_complete_all(qp);
		if (ret == -EAGAIN) {
			soft_count(qp->rnic, SOFT_CNT_TX_STALLS);
			return false;
		}
		if (ret) {
			cmpxchg(&qp->status, 0, ret);
			soft_qp_todo(qp, SOFT_TODO_PEER_CLOSED);
			return false;
		}
		if (step == SOFT_STEP_FULL) {
			/* out of budget, or of memory */
			if (qp->sq.seq_sent + pushed >= end || !built)
				return true;
			cond_resched();
			continue;
		}
		if (soft_tx_finished(qp, step)) {
			soft_qp_todo(qp, SOFT_TODO_FINISH);
			return false;
		}
		if (step == SOFT_STEP_BLOCKED)
			return false;
		soft_pace_rest(qp);
		if (!soft_ring_pending(&sq->ring))
			return false;
		soft_pace_busy(&qp->tx->pace);
		soft_ring_no_doorbell(&sq->ring);
		/* threads that wait for the mutex must not wait until the poster stops */
		if (qp->sq.seq_sent + pushed >= end || ++rounds == SOFT_TX_ROUNDS)
			return true;
		cond_resched();
	}
}

/**
 * soft_tx_run() - run the transmitter; without a stream, flush posted work requests
 * @qp: queue pair
 * @budget: bytes after which other threads get tx.mutex
 * Context: under tx.mutex, may sleep.
 * Return: true when there is more to do; the caller calls soft_qp_kick().
 */
bool soft_tx_run(struct soft_qp *qp, u64 budget)
{
	bool more;

	lockdep_assert_held(&qp->tx->mutex);
	if (!qp->llp)
		return READ_ONCE(qp->state) == SOFT_QP_ERROR &&
		       soft_qp_flush_some(qp);
	soft_tx_pages_swap(qp->tx);
	more = soft_tx_run_stream(qp, budget);
	soft_tx_pages_swap(qp->tx);
	soft_tx_pages_drop(&qp->tx->frag);
	return more;
}

/**
 * soft_tx_begin() - run the transmitter at the beginning of a stream
 * @qp: queue pair
 * Context: may sleep; tx.mutex held.
 */
void soft_tx_begin(struct soft_qp *qp)
{
	if (soft_tx_run(qp, READ_ONCE(soft_tx_inline_bytes)))
		soft_qp_kick(qp);
}

/* Run for a poster that called at @begin, and update the pacing. */
static bool soft_tx_run_posted(struct soft_qp *qp, u64 begin)
{
	const u32 fetched = qp->sq.ring.fetched;
	bool gathered = soft_pace_called(qp, begin);
	bool more;

	more = soft_tx_run(qp, READ_ONCE(soft_tx_inline_bytes));
	soft_pace_returns(qp, begin, qp->sq.ring.fetched - fetched, gathered);
	return more;
}

/**
 * soft_tx_run_inline() - run the transmitter now for a bounded time, unless it is running
 * @qp: queue pair
 * @posted: a user has rung the doorbell
 * Context: process context.
 */
void soft_tx_run_inline(struct soft_qp *qp, bool posted)
{
	const u64 begin = posted ? ktime_get_ns() : 0;
	bool more;

	if (mutex_trylock(&qp->tx->mutex)) {
		more = posted ? soft_tx_run_posted(qp, begin) :
				soft_tx_run(qp, READ_ONCE(soft_tx_inline_bytes));
		/*
		 * Before the unlock: a kernel consumer may destroy the queue pair once its work
		 * requests are complete.
		 */
		if (more)
			soft_qp_kick(qp);
		mutex_unlock(&qp->tx->mutex);
		return;
	}
	/* the holder of the mutex may have read the ring before the new entries */
	soft_qp_kick(qp);
}

static void soft_tx_work(struct work_struct *work)
{
	struct soft_qp *qp = container_of(work, struct soft_qp, tx_work);
	bool more;

	guard(krdma_noio)();
	mutex_lock(&qp->tx->mutex);
	soft_pace_late(qp);
	more = soft_tx_run(qp, READ_ONCE(soft_tx_inline_bytes));
	mutex_unlock(&qp->tx->mutex);
	if (more)
		soft_qp_kick(qp);
}
