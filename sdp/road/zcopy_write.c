// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Write Zcopy for programs: a large receive that has to wait lets the peer write into the memory of
 * the program. What the peer sends otherwise comes as usual, and ends the wait, too.
 *
 * The memory is with the peer during the wait only. A signal, the end of the time or shutdown()
 * take it back: the peer's machine answers the cancel without its program, and the key is dropped
 * before the receive returns. So no byte comes into memory that the program has back, and the
 * count is exact.
 *
 * A peer writes in pipelined mode only. The first receive that could have used it asks for that
 * mode, and waits without it.
 */
#include <linux/sched/signal.h>
#include <net/sock.h>

#include "pinned.h"
/* may the peer be asked to write? With sdp_lock() */
static bool sdp_zcopy_may_write(struct sdp_sock *ssk)
{
	const int own = READ_ONCE(ssk->zcopy_write);

	return own >= 0 ? own : READ_ONCE(sdp_zcopy_write);
}

/* with sdp_lock(): is there nothing that comes before what the peer would write? */
static bool sdp_zcopy_may_sink(struct sdp_sock *ssk, struct sdp_link *link)
{
	return !link->queued && !sdp_state_readable(&link->conn) &&
	       (link->conn.state == SDP_OPEN || link->conn.state == SDP_FIN_WAIT) &&
	       !ssk->error && !(ssk->shutdown & RCV_SHUTDOWN);
}

/*
 * With rx_mutex: may the peer write into that memory? Without pipelined mode it is asked for that
 * mode, for the next time.
 */
static bool sdp_zcopy_sink_wanted(struct sdp_sock *ssk, const struct msghdr *msg, size_t room,
				  int flags, long timeo)
{
	const size_t fits = min(room, iov_iter_single_seg_count(&msg->msg_iter));
	struct sdp_link *link;
	bool wanted = false;
	u32 threshold;

	if (!timeo || fits < SDP_ZCOPY_LEAST || flags & (MSG_PEEK | MSG_TRUNC) ||
	    !sdp_zcopy_may_pin(ssk, msg))
		return false;
	sdp_lock(ssk);
	link = ssk->link;
	threshold = sdp_zcopy_may_write(ssk) ? sdp_zcopy_threshold(ssk, link) : 0;
	if (threshold && fits >= threshold && fits >= link->conn.credit.size &&
	    sdp_zcopy_may_sink(ssk, link)) {
		wanted = link->conn.sink.mode == SDP_MODE_PIPELINED;
		if (!wanted && !link->conn.sink.want_pipelined)
			sdp_state_want_pipelined(&link->conn, true);
		if (wanted && link->zcopy_rx && link->zcopy_rx->skip) {
			link->zcopy_rx->skip--;
			wanted = false;
		}
	}
	sdp_unlock(ssk);
	return wanted;
}

/* With rx_mutex. Return: the session, or NULL: it is not to be had */
static struct sdp_zcopy *sdp_zcopy_begin_sink(struct sdp_sock *ssk)
{
	struct sdp_zcopy *zc = NULL;
	struct sdp_link *link = ssk->link;

	if (!sdp_pinned_half(link, &link->zcopy_rx, SDP_ZCOPY_RECEIVED)) {
		sdp_count(SDP_COUNT_ZCOPY_FAILURES);
		return NULL;
	}
	sdp_lock(ssk);
	if (!link->zcopy_rx->busy) {
		zc = link->zcopy_rx;
		zc->busy = true;
		sdp_sock_get(ssk);
	}
	sdp_unlock(ssk);
	return zc;
}

/* Small messages took the place of the buffer: the next receives wait for messages at once */
static void sdp_zcopy_end_sink(struct sdp_zcopy *zc, bool used, bool missed)
{
	struct sdp_link *link = zc->link;
	struct sdp_sock *ssk = link->ssk;

	sdp_lock(ssk);
	zc->busy = false;
	if (used)
		zc->penalty = 0;
	else if (missed)
		zc->penalty = min(2 * zc->penalty + 1, SDP_ZCOPY_PENALTY);
	zc->skip = zc->penalty;
	/* other readers */
	ssk->wake |= SDP_WAKE_READ;
	sdp_unlock(ssk);
	sdp_sock_put(ssk);
}

/* with sdp_lock(). Return: 0: the peer may write; or a negative errno, and the memory has no key */
static int sdp_zcopy_start_sink(struct sdp_sock *ssk, struct sdp_chunk *chunk)
{
	struct sdp_link *link = chunk->zc->link;
	int rc;

	if (link->broken || !sdp_zcopy_may_sink(ssk, link))
		return -EAGAIN;
	rc = sdp_chunk_name(chunk, SDP_OT_PEER_WRITES);
	if (rc) {
		sdp_count(SDP_COUNT_ZCOPY_FAILURES);
		return rc;
	}
	rc = sdp_state_sink(&link->conn, chunk->len, chunk->key->key, chunk->key->address, false,
			    chunk);
	if (rc)
		sdp_chunk_over(chunk, 0);
	else
		sdp_count(SDP_COUNT_ZCOPY_SINKS);
	return 0;
}

static bool sdp_zcopy_sink_waits(struct sdp_sock *ssk, const struct sdp_chunk *chunk)
{
	bool waits;

	sdp_lock(ssk);
	waits = !chunk->over && !ssk->error && !(ssk->shutdown & RCV_SHUTDOWN) &&
		chunk->zc->link->conn.state != SDP_DEAD;
	sdp_unlock(ssk);
	return waits;
}

/*
 * Until the peer has written, or has sent a message instead, or until the program has to do
 * something else. Return: whether the peer has sent a message.
 */
static bool sdp_zcopy_await_sink(struct sdp_sock *ssk, struct sdp_chunk *chunk, long *timeo)
{
	struct sdp_link *link = chunk->zc->link;
	struct sock *sk = ssk->sk;
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	bool missed;

	add_wait_queue(sk_sleep(sk), &wait);
	sk_set_bit(SOCKWQ_ASYNC_WAITDATA, sk);
	while (*timeo && !signal_pending(current) && sdp_zcopy_sink_waits(ssk, chunk))
		*timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, *timeo);
	sk_clear_bit(SOCKWQ_ASYNC_WAITDATA, sk);
	remove_wait_queue(sk_sleep(sk), &wait);
	sdp_lock(ssk);
	missed = chunk->over && !chunk->done && link->queued;
	if (!chunk->over && link->conn.state != SDP_DEAD) {
		sdp_count(SDP_COUNT_ZCOPY_CANCELS);
		sdp_state_sink_cancel(&link->conn);
	}
	sdp_unlock(ssk);
	sdp_chunk_await(chunk);
	return missed;
}

/* Return: bytes that were written; @missed: messages came instead, or it is not possible */
static u32 sdp_zcopy_sink_into(struct sdp_zcopy *zc, struct iov_iter *iter, size_t most,
			       long *timeo, bool *missed)
{
	struct sdp_chunk *chunk = &zc->chunks[0];
	struct sdp_sock *ssk = zc->link->ssk;
	int len, rc;

	*missed = true;
	len = sdp_chunk_pin(chunk, iter, min_t(size_t, most, zc->link->device->max_rdma));
	if (len < 0) {
		sdp_count(SDP_COUNT_ZCOPY_FAILURES);
		return 0;
	}
	chunk->done = 0;
	sdp_lock(ssk);
	rc = sdp_zcopy_start_sink(ssk, chunk);
	sdp_unlock_push(ssk);
	/* the reader has looked before it had the memory */
	*missed = rc && rc != -EAGAIN;
	if (!rc)
		*missed = sdp_zcopy_await_sink(ssk, chunk, timeo);
	/* also if the connection ended before all was there */
	sdp_chunk_unpin(chunk, true);
	iov_iter_revert(iter, len - chunk->done);
	return chunk->done;
}

/**
 * sdp_zcopy_sink() - wait with memory that the peer may write to
 * @ssk: socket; nothing is there to be read
 * @msg: memory
 * @room: bytes
 * @flags: of recvmsg()
 * @timeo: time that may be waited; what is left of it
 *
 * When this returns, the peer cannot reach the memory any more.
 *
 * Return: bytes that the peer has written, 0: look what else has come; -EAGAIN: wait without it.
 * Context: with rx_mutex, which it gives away meanwhile; sleeps.
 */
int sdp_zcopy_sink(struct sdp_sock *ssk, struct msghdr *msg, size_t room, int flags, long *timeo)
{
	struct sdp_zcopy *zc;
	bool missed;
	u32 done;

	if (!sdp_zcopy_sink_wanted(ssk, msg, room, flags, *timeo))
		return -EAGAIN;
	zc = sdp_zcopy_begin_sink(ssk);
	if (!zc)
		return -EAGAIN;
	mutex_unlock(&ssk->rx_mutex);
	done = sdp_zcopy_sink_into(zc, &msg->msg_iter, room, timeo, &missed);
	mutex_lock(&ssk->rx_mutex);
	sdp_zcopy_end_sink(zc, done, missed);
	return done;
}
