// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The QP and its TCP stream: taking the stream over from the kAL, the socket callbacks, and
 * giving the stream back.
 *
 * Every stream ends in soft_stream_detach(), whatever the reason: the receiver is stopped, all
 * posted work requests are flushed, and the kAL gets the stream back. The kAL lets TCP deliver
 * the data that TCP has accepted, and closes the stream.
 *
 * The reasons differ in the step before: a graceful close lets TCP take all posted work first,
 * an error lets TCP take the Terminate first. Both are limited to soft_close_timeout_ms.
 */
#include <linux/slab.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <krdma/noio.h>

#include "base/params.h"
#include "base/trace.h"
#include "parts.h"
#include "stream.h"

/* Socket callbacks ********************************************************* */

static void soft_stream_sk_data_ready(struct sock *sk);

/*
 * With sk_callback_lock held. NULL when the socket was given back between the call of a
 * callback and the lock: sk_user_data belongs to another owner then.
 */
static struct soft_qp *soft_stream_sk_qp(struct sock *sk)
{
	if (sk->sk_data_ready != soft_stream_sk_data_ready)
		return NULL;
	return __locked_read_sk_user_data_with_flags(sk, SK_USER_DATA_NOCOPY);
}

static void soft_stream_sk_data_ready(struct sock *sk)
{
	struct soft_qp *qp;

	read_lock_bh(&sk->sk_callback_lock);
	qp = soft_stream_sk_qp(sk);
	if (qp)
		soft_rx_ready(qp, sk);
	read_unlock_bh(&sk->sk_callback_lock);
}

static void soft_stream_sk_write_space(struct sock *sk)
{
	struct soft_qp *qp;

	read_lock_bh(&sk->sk_callback_lock);
	qp = soft_stream_sk_qp(sk);
	if (qp && sk_stream_is_writeable(sk)) {
		clear_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
		soft_qp_kick(qp);
	}
	read_unlock_bh(&sk->sk_callback_lock);
}

static void soft_stream_sk_state_change(struct sock *sk)
{
	struct soft_qp *qp;

	read_lock_bh(&sk->sk_callback_lock);
	qp = soft_stream_sk_qp(sk);
	if (qp && soft_sk_closed(sk))
		soft_qp_todo(qp, SOFT_TODO_PEER_CLOSED);
	read_unlock_bh(&sk->sk_callback_lock);
}

static void soft_stream_sk_take(struct soft_qp *qp, struct sock *sk)
{
	struct soft_qp_parts *parts = soft_qp_parts(qp);

	write_lock_bh(&sk->sk_callback_lock);
	parts->saved.data_ready = sk->sk_data_ready;
	parts->saved.state_change = sk->sk_state_change;
	parts->saved.write_space = sk->sk_write_space;
	parts->saved.user_data = sk->sk_user_data;
	__rcu_assign_sk_user_data_with_flags(sk, qp, SK_USER_DATA_NOCOPY);
	sk->sk_data_ready = soft_stream_sk_data_ready;
	sk->sk_state_change = soft_stream_sk_state_change;
	sk->sk_write_space = soft_stream_sk_write_space;
	write_unlock_bh(&sk->sk_callback_lock);
}

/* With the socket lock: data that arrives later finds our callbacks in place. */
static bool soft_stream_sk_has_data(struct sock *sk)
{
	bool ret;

	lock_sock(sk);
	ret = tcp_inq(sk);
	release_sock(sk);
	return ret;
}

/* On return none of our callbacks is running, and none will be called. */
static void soft_stream_sk_give_back(struct soft_qp *qp, struct sock *sk)
{
	struct soft_qp_parts *parts = soft_qp_parts(qp);

	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = parts->saved.user_data;
	sk->sk_data_ready = parts->saved.data_ready;
	sk->sk_state_change = parts->saved.state_change;
	sk->sk_write_space = parts->saved.write_space;
	write_unlock_bh(&sk->sk_callback_lock);
}

/* Beginning and end ******************************************************** */

static void soft_stream_reads_free(struct soft_qp *qp)
{
	kvfree(qp->in);
	kvfree(qp->out);
	qp->in = NULL;
	qp->out = NULL;
	qp->in_head = 0;
	qp->in_count = 0;
	qp->in_leaving = false;
	qp->out_head = 0;
	qp->out_count = 0;
	qp->tx_waits = false;
}

/* charged to the QP's owner, since the caller may be a worker */
static void *soft_reads_ring(struct soft_qp *qp, u32 depth, size_t size)
{
	void *ring = ri_qp_alloc(&qp->ri, depth * size, true);

	if (ring)
		memset(ring, 0, depth * size);
	return ring;
}

static int soft_stream_reads_alloc(struct soft_qp *qp)
{
	soft_stream_reads_free(qp);
	if (qp->mpa.ird)
		qp->in = soft_reads_ring(qp, soft_in_size(qp), sizeof(*qp->in));
	if (qp->mpa.ord)
		qp->out = soft_reads_ring(qp, qp->mpa.ord, sizeof(*qp->out));
	if ((qp->mpa.ird && !qp->in) || (qp->mpa.ord && !qp->out)) {
		soft_stream_reads_free(qp);
		return -ENOMEM;
	}
	return 0;
}

/* Take tx.mutex; with @nowait fail if another thread holds it. */
static bool soft_stream_lock(struct soft_qp *qp, bool nowait)
{
	if (nowait)
		return mutex_trylock(&qp->tx->mutex);
	mutex_lock(&qp->tx->mutex);
	return true;
}

/**
 * soft_stream_attach() - take a stream over; the QP changes to RTS
 * @qp: idle queue pair
 * @llp: the stream, from the kAL; on failure it stays the kAL's
 * @nowait: do not wait for a user thread
 * Context: may sleep.
 * Return: 0; -EINVAL when the QP is not idle; -ENOMEM; -EAGAIN when @nowait is set and another
 * thread holds tx.mutex.
 */
int soft_stream_attach(struct soft_qp *qp, struct ri_llp *llp, bool nowait)
{
	struct sock *sk = llp->sock->sk;
	int ret = -EINVAL;

	if (!soft_stream_lock(qp, nowait))
		return -EAGAIN;
	if (qp->llp || READ_ONCE(qp->state) != SOFT_QP_IDLE)
		goto out;
	qp->mpa = llp->mpa;
	ret = soft_stream_reads_alloc(qp);
	if (ret)
		goto out;
	soft_tx_reset(qp->tx);
	soft_rx_reset(qp->rx);
	qp->rx->stopped = false;
	if (llp->mpa.initiator)
		qp->tx->rtr = llp->mpa.rtr;
	spin_lock_bh(&qp->lock);
	qp->peer_done = false;
	qp->peer_ready = llp->mpa.initiator;
	qp->term_pending = false;
	memset(&qp->term, 0, sizeof(qp->term));
	qp->status = 0;
	qp->state = SOFT_QP_RTS;
	spin_unlock_bh(&qp->lock);
	qp->todo = 0;
	qp->llp = llp;
	soft_stream_sk_take(qp, sk);
	trace_soft_qp_state(qp);
	/*
	 * Handle data and a FIN that arrived before our callbacks were set. Still under the
	 * mutex: after its release the stream may end, and the receiver's work with it.
	 */
	if (soft_sk_closed(sk))
		soft_qp_todo(qp, SOFT_TODO_PEER_CLOSED);
	if (soft_stream_sk_has_data(sk))
		queue_work(soft_wq, &qp->rx->waiter.work);
	/* from here on a peer on this host may hold the socket lock */
	if (soft_direct_join(qp) && nowait)
		soft_qp_kick(qp);
	else
		soft_tx_begin(qp);
	ret = 0;
out:
	mutex_unlock(&qp->tx->mutex);
	return ret;
}

/* With tx.mutex held. Return: the stream, which the caller has to give back; or NULL. */
static struct ri_llp *soft_stream_detach(struct soft_qp *qp)
{
	struct ri_llp *llp = qp->llp;
	struct sock *sk;

	lockdep_assert_held(&qp->tx->mutex);
	if (!llp)
		return NULL;
	sk = llp->sock->sk;
	soft_direct_leave(qp);
	soft_stream_sk_give_back(qp, sk);
	lock_sock(sk);
	qp->rx->stopped = true;
	soft_rx_wait_end(qp);
	release_sock(sk);
	/* none of the three takes tx.mutex or queues new work from now on */
	cancel_work_sync(&qp->rx->waiter.work);
	cancel_delayed_work_sync(&qp->rx->wait_timer);
	cancel_delayed_work_sync(&qp->close_timer);
	qp->retransmissions += tcp_sk(sk)->total_retrans;
	qp->llp = NULL;
	soft_sq_resume(qp);

	spin_lock_bh(&qp->lock);
	qp->state = SOFT_QP_ERROR;
	spin_unlock_bh(&qp->lock);
	trace_soft_qp_state(qp);
	/* completions that the receiver has left to the transmitter */
	soft_sq_complete_all(qp);
	soft_qp_flush(qp);
	soft_tx_reset(qp->tx);
	soft_rx_reset(qp->rx);
	if (qp->ri.srq)
		soft_qp_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
	return llp;
}

/* Did TCP give up because the peer did not answer any more? */
static bool soft_stream_status_lost(int status)
{
	return status == -ETIMEDOUT || status == -EHOSTUNREACH ||
	       status == -ENETUNREACH;
}

static void soft_stream_return(struct soft_qp *qp, struct ri_llp *llp,
			       bool abort, int status)
{
	if (!llp)
		return;
	if (soft_stream_status_lost(status) && !abort)
		soft_count(qp->rnic, SOFT_CNT_LLP_LOST);
	else if (status)
		soft_count(qp->rnic, SOFT_CNT_LLP_RESET);
	if (abort)
		ri_llp_abort(llp, status);
	else
		ri_llp_close(llp, status);
}

/**
 * soft_stream_end() - end the stream now, if there is one
 * @qp: queue pair; changes to the error state, and all posted work requests are flushed
 * @abort: reset the connection; otherwise TCP delivers the data that it has accepted
 * @status: errno for the consumer of the endpoint
 * Context: may sleep.
 */
void soft_stream_end(struct soft_qp *qp, bool abort, int status)
{
	struct ri_llp *llp;

	mutex_lock(&qp->tx->mutex);
	llp = soft_stream_detach(qp);
	mutex_unlock(&qp->tx->mutex);
	soft_stream_return(qp, llp, abort, status);
}

/**
 * soft_stream_fail() - end the stream, if there is one, and go to the error state
 * @qp: queue pair; changes to the error state with or without a stream, and no stream can be
 *	attached in between
 * @nowait: do not wait for a user thread
 * Context: may sleep.
 * Return: 1 when @qp had no stream and was not in the error state, otherwise 0; -EAGAIN when
 * @nowait is set and the call would wait.
 */
int soft_stream_fail(struct soft_qp *qp, bool nowait)
{
	struct ri_llp *llp;
	int news;

	if (!soft_stream_lock(qp, nowait))
		return -EAGAIN;
	if (nowait && qp->llp && soft_direct_busy(qp)) {
		mutex_unlock(&qp->tx->mutex);
		return -EAGAIN;
	}
	llp = soft_stream_detach(qp);
	news = qp->state != SOFT_QP_ERROR;
	WRITE_ONCE(qp->state, SOFT_QP_ERROR);
	/* also work requests that were posted in the error state */
	soft_qp_flush(qp);
	mutex_unlock(&qp->tx->mutex);
	soft_stream_return(qp, llp, false, -ECONNABORTED);
	return news;
}

/**
 * soft_stream_close() - end the stream when all posted work has been sent
 * @qp: queue pair
 * Context: may sleep; does not wait for the network.
 */
void soft_stream_close(struct soft_qp *qp)
{
	bool closing = false;

	spin_lock_bh(&qp->lock);
	if (qp->state == SOFT_QP_RTS) {
		qp->state = SOFT_QP_CLOSING;
		closing = true;
	}
	spin_unlock_bh(&qp->lock);
	if (!closing)
		return;
	trace_soft_qp_state(qp);
	mutex_lock(&qp->tx->mutex);
	soft_sq_resume(qp);
	/* the stream may have ended meanwhile; the timer must not run without a stream */
	if (qp->llp)
		mod_delayed_work(soft_wq, &qp->close_timer,
				 msecs_to_jiffies(READ_ONCE(soft_close_timeout_ms)));
	mutex_unlock(&qp->tx->mutex);
	soft_tx_run_inline(qp, false);
	/* usually nothing is left to send; then the stream ends here, without delay */
	flush_work(&qp->tx_work);
	flush_work(&qp->ctl_work);
}

/*
 * The peer has closed its half of the stream, and this side has begun a message. Finish the
 * message within soft_close_timeout_ms, and begin nothing else. With tx.mutex held.
 */
static void soft_stream_last_words(struct soft_qp *qp)
{
	if (qp->peer_done)
		return;
	qp->peer_done = true;
	soft_sq_hold(qp, false);
	spin_lock_bh(&qp->lock);
	qp->state = SOFT_QP_CLOSING;
	spin_unlock_bh(&qp->lock);
	trace_soft_qp_state(qp);
	mod_delayed_work(soft_wq, &qp->close_timer,
			 msecs_to_jiffies(READ_ONCE(soft_close_timeout_ms)));
	soft_qp_kick(qp);
}

/*
 * The peer has closed the stream, or the stream broke. Data that arrived before is still
 * handled. With tx.mutex held.
 * Return: true when the stream can end now.
 */
static bool soft_stream_peer_closed(struct soft_qp *qp, int *status)
{
	struct sock *sk = qp->llp->sock->sk;
	int err;

	soft_rx_drain(qp);
	err = -READ_ONCE(sk->sk_err);
	/* then a send of the transmitter got the error, in *status */
	if (!err)
		err = *status;
	if (READ_ONCE(sk->sk_err) || READ_ONCE(sk->sk_state) == TCP_CLOSE) {
		*status = soft_stream_status_lost(err) ? err : -ECONNRESET;
	} else if (READ_ONCE(qp->state) == SOFT_QP_TERMINATE) {
		/* the drain found an error: the Terminate may still be sent */
		return false;
	} else if (qp->rx->held) {
		/* a Send waits for its receive; soft_rx_resume() comes back here */
		return false;
	} else if (soft_rx_in_message(qp)) {
		*status = -ECONNRESET;
	} else if (soft_tx_owes(qp)) {
		soft_stream_last_words(qp);
		return false;
	}
	return true;
}

/*
 * A completion was lost, so the consumer cannot learn the result of its work request. The QP
 * fails, as the verbs require for a CQ overflow.
 */
static void soft_stream_cq_lost(struct soft_qp *qp)
{
	enum soft_qp_state state = READ_ONCE(qp->state);
	struct soft_term term;

	if (state != SOFT_QP_RTS && state != SOFT_QP_CLOSING)
		return;
	soft_term_set(&term, SOFT_TERM_RDMAP, SOFT_RDMAP_LOCAL, SOFT_CODE_LOCAL);
	soft_qp_fail(qp, &term, true, -EOVERFLOW);
	soft_qp_event(qp, IB_EVENT_QP_FATAL);
}

/* Do all that the receiver, the socket callbacks and the timers have noted in qp.todo. */
void soft_ctl_work(struct work_struct *work)
{
	struct soft_qp *qp = container_of(work, struct soft_qp, ctl_work);
	const unsigned long end = BIT(SOFT_TODO_PEER_CLOSED) |
				  BIT(SOFT_TODO_FINISH) |
				  BIT(SOFT_TODO_TIMEOUT);
	struct ri_llp *llp = NULL;
	unsigned long todo;
	bool abort = false;
	int status;

	guard(krdma_noio)();
	mutex_lock(&qp->tx->mutex);
	/* read under the mutex: attaching a new stream clears old bits */
	todo = xchg(&qp->todo, 0);
	if (!qp->llp)
		goto out;
	if (todo & BIT(SOFT_TODO_CQ_LOST))
		soft_stream_cq_lost(qp);
	if (!(todo & end))
		goto out;
	status = READ_ONCE(qp->status);
	if (todo & BIT(SOFT_TODO_TIMEOUT)) {
		abort = true;
		if (!status)
			status = -ETIMEDOUT;
		llp = soft_stream_detach(qp);
	} else if (todo & BIT(SOFT_TODO_FINISH) ||
		   soft_stream_peer_closed(qp, &status)) {
		llp = soft_stream_detach(qp);
	}
out:
	mutex_unlock(&qp->tx->mutex);
	soft_stream_return(qp, llp, abort, status);
}

void soft_close_timer(struct work_struct *work)
{
	struct soft_qp *qp =
		container_of(work, struct soft_qp, close_timer.work);

	soft_qp_todo(qp, SOFT_TODO_TIMEOUT);
}
