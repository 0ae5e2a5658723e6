// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Read Zcopy for programs: a large blocking send offers the memory of the program to the peer, and
 * a large blocking receive reads what the peer offers into the memory of the program.
 *
 * A send returns when the peer has the bytes. If the peer's program does not read for a while, or
 * if a signal or the end of the time comes, what the peer does not have is taken back, and the
 * count is exact. After a while without readers the rest goes with copies, so that programs which
 * count on buffers do not stand still.
 *
 * What is not fit is copied: small calls, calls that must not wait, memory that cannot be pinned.
 * The receiver's answer is SendSm then, and the peer sends from the pinned memory.
 */
#include <linux/sched/signal.h>
#include <net/sock.h>
#include <net/tcp_states.h>

#include "pinned.h"

/* Sending ********************************************************************************** */

/**
 * sdp_zcopy_threshold() - bytes from which calls go without copies
 * @ssk: socket
 * @link: its link
 *
 * Return: bytes, 0: none. Context: any.
 */
u32 sdp_zcopy_threshold(struct sdp_sock *ssk, const struct sdp_link *link)
{
	const int own = READ_ONCE(ssk->zcopy_thresh);
	const u32 caps = link->device->caps;

	if (own >= 0)
		return own ? max_t(u32, own, PAGE_SIZE) : 0;
	if (!(caps & SDP_OT_CAP_SOFTWARE))
		return READ_ONCE(sdp_zcopy_thresh);
	return caps & SDP_OT_CAP_ADOPTED ? READ_ONCE(sdp_zcopy_thresh_adopted) :
					   READ_ONCE(sdp_zcopy_thresh_soft);
}

/**
 * sdp_zcopy_fits() - is the next memory of a message worth pinning?
 * @msg: message
 */
bool sdp_zcopy_fits(const struct msghdr *msg)
{
	return iov_iter_single_seg_count(&msg->msg_iter) >= SDP_ZCOPY_LEAST;
}

/**
 * sdp_zcopy_may_pin() - may the memory of a message be pinned?
 * @ssk: socket
 * @msg: message
 *
 * Only memory of a program can be, and it is charged to the process that calls: not for a socket of
 * the kernel, whoever's memory it moves.
 */
bool sdp_zcopy_may_pin(struct sdp_sock *ssk, const struct msghdr *msg)
{
	return user_backed_iter(&msg->msg_iter) && !ssk->sk->sk_kern_sock;
}

/**
 * sdp_zcopy_wanted() - may a send go without copies?
 * @ssk: socket
 * @msg: message
 * @timeo: time that it may wait
 *
 * Context: with tx_mutex.
 */
bool sdp_zcopy_wanted(struct sdp_sock *ssk, struct msghdr *msg, long timeo)
{
	const size_t left = msg_data_left(msg);
	struct sdp_link *link;
	bool wanted = false;
	u32 threshold;

	if (!timeo || left < PAGE_SIZE || msg->msg_flags & MSG_OOB ||
	    !sdp_zcopy_may_pin(ssk, msg))
		return false;
	sdp_lock(ssk);
	link = ssk->link;
	threshold = sdp_zcopy_threshold(ssk, link);
	if (threshold && left >= threshold) {
		wanted = !link->zcopy_tx || !link->zcopy_tx->skip;
		if (!wanted)
			link->zcopy_tx->skip--;
	}
	sdp_unlock(ssk);
	return wanted;
}

/* With tx_mutex. Return: the session, or NULL: it is not to be had */
static struct sdp_zcopy *sdp_zcopy_begin_send(struct sdp_sock *ssk)
{
	struct sdp_link *link = ssk->link;
	struct sdp_zcopy *zc = NULL;

	if (!sdp_pinned_half(link, &link->zcopy_tx, SDP_ZCOPY_CHUNKS)) {
		sdp_count(SDP_COUNT_ZCOPY_FAILURES);
		return NULL;
	}
	sdp_lock(ssk);
	if (sdp_send_allowed(ssk) && !link->zcopy_tx->busy &&
	    (link->conn.state == SDP_OPEN || link->conn.state == SDP_CLOSE_WAIT)) {
		zc = link->zcopy_tx;
		zc->busy = true;
		zc->sender = current;
		sdp_sock_get(ssk);
		sdp_send_flush(ssk);
	}
	sdp_unlock(ssk);
	return zc;
}

static void sdp_zcopy_end_send(struct sdp_zcopy *zc, bool refused)
{
	struct sdp_link *link = zc->link;
	struct sdp_sock *ssk = link->ssk;

	sdp_lock(ssk);
	zc->busy = false;
	zc->penalty = refused ? min(2 * zc->penalty + 1, SDP_ZCOPY_PENALTY) : 0;
	zc->skip = zc->penalty;
	if (!link->ended)
		sdp_send_done(link);
	sdp_unlock_push(ssk);
	sdp_sock_put(ssk);
}

/**
 * sdp_zcopy_offer() - put pinned memory at the end of the stream, and offer it to the peer
 * @ssk: socket
 * @chunk: pinned chunk
 *
 * Return: 0: the chunk is in use; -EPIPE: nothing can be sent; or another negative errno. Context:
 * with sdp_lock().
 */
int sdp_zcopy_offer(struct sdp_sock *ssk, struct sdp_chunk *chunk)
{
	struct sdp_link *link = chunk->zc->link;
	int rc;

	if (!sdp_send_allowed(ssk) || link->held)
		return -EPIPE;
	rc = sdp_chunk_name(chunk, SDP_OT_PEER_READS);
	if (rc)
		return rc;
	chunk->start = link->conn.source.end;
	rc = sdp_state_offer(&link->conn, chunk->len, chunk->key->key, chunk->key->address, chunk);
	if (rc)
		sdp_chunk_over(chunk, 0);
	else
		sdp_count(SDP_COUNT_ZCOPY_OFFERS);
	return 0;
}

/* Return: bytes that were offered, 0: no more */
static u32 sdp_zcopy_load(struct sdp_zcopy *zc, struct iov_iter *iter, size_t most)
{
	struct sdp_chunk *chunk = &zc->chunks[(zc->first + zc->used) % zc->chunks_nr];
	struct sdp_sock *ssk = zc->link->ssk;
	int len, rc;

	len = sdp_chunk_pin(chunk, iter, most);
	if (len < 0) {
		sdp_count(SDP_COUNT_ZCOPY_FAILURES);
		return 0;
	}
	sdp_lock(ssk);
	rc = sdp_zcopy_offer(ssk, chunk);
	sdp_unlock_push(ssk);
	if (!rc) {
		zc->used++;
		return len;
	}
	sdp_chunk_unpin(chunk, false);
	iov_iter_revert(iter, len);
	if (rc != -EPIPE)
		sdp_count(SDP_COUNT_ZCOPY_FAILURES);
	return 0;
}

/* what the peer does not have is the program's again */
static void sdp_zcopy_cut(struct sdp_zcopy *zc, u64 base)
{
	struct sdp_link *link = zc->link;

	sdp_lock(link->ssk);
	if (link->conn.state != SDP_DEAD) {
		sdp_count(SDP_COUNT_ZCOPY_CUTS);
		sdp_state_cut(&link->conn, base);
	}
	sdp_unlock(link->ssk);
}

/* bytes that the peer has read; any change is progress */
static u64 sdp_zcopy_progress(struct sdp_zcopy *zc)
{
	struct sdp_link *link = zc->link;
	u64 progress;

	sdp_lock(link->ssk);
	progress = link->conn.tx.read + link->conn.source.next + link->sent_to;
	sdp_unlock(link->ssk);
	return progress;
}

/*
 * Wait for the oldest chunk. Return: 1: it is over; 0: the peer does not read; or a negative errno:
 * the program has to do something else.
 */
static int sdp_zcopy_wait(struct sdp_zcopy *zc, long *timeo)
{
	struct sdp_chunk *chunk = &zc->chunks[zc->first];
	const long patience = msecs_to_jiffies(READ_ONCE(sdp_zcopy_patience_ms));
	u64 before = sdp_zcopy_progress(zc), now;

	for (;;) {
		const long some = min(*timeo, patience);
		long left;

		left = wait_event_interruptible_timeout(zc->wait, sdp_chunk_is_over(chunk), some);
		if (left < 0)
			return sock_intr_errno(*timeo);
		if (*timeo != MAX_SCHEDULE_TIMEOUT)
			*timeo -= some - left;
		if (left)
			return 1;
		if (!*timeo)
			return -EAGAIN;
		now = sdp_zcopy_progress(zc);
		if (now == before)
			return 0;
		before = now;
	}
}

/* The oldest chunk is free. Return: bytes of it that the peer has */
static u32 sdp_zcopy_reap(struct sdp_zcopy *zc, bool *whole, bool *refused)
{
	struct sdp_chunk *chunk = &zc->chunks[zc->first];

	*whole = chunk->done == chunk->len;
	*refused |= chunk->done && !chunk->written &&
		    chunk->sent_to == chunk->start + chunk->done;
	sdp_chunk_unpin(chunk, false);
	zc->first = (zc->first + 1) % zc->chunks_nr;
	zc->used--;
	return chunk->done;
}

/**
 * struct sdp_zcopy_run - a send without copies
 * @offered: bytes that were offered
 * @done: bytes that the peer has
 * @base: position of the first of them
 * @stop: nothing more is offered
 * @cut: ... and what the peer does not have is taken back
 * @refused: the peer did not read
 * @error: of the wait
 */
struct sdp_zcopy_run {
	size_t offered;
	size_t done;
	u64 base;
	bool stop;
	bool cut;
	bool refused;
	int error;
};

static void sdp_zcopy_next(struct sdp_zcopy *zc, struct sdp_zcopy_run *run, long *timeo)
{
	bool whole;
	int rc;

	if (!run->cut) {
		rc = sdp_zcopy_wait(zc, timeo);
		if (rc <= 0) {
			run->error = rc;
			run->refused |= !rc;
			run->stop = true;
			run->cut = true;
			sdp_zcopy_cut(zc, run->base);
		}
	}
	sdp_chunk_await(&zc->chunks[zc->first]);
	run->done += sdp_zcopy_reap(zc, &whole, &run->refused);
	run->stop |= !whole;
}

/**
 * sdp_zcopy_send() - send memory of a program without copies
 * @ssk: socket
 * @msg: message that is wanted and fits
 * @most: bytes
 * @timeo: time that is left
 * @error: 0: the rest goes with copies; or a negative errno
 *
 * Return: bytes that the peer has. Context: with tx_mutex, which it gives away meanwhile; sleeps.
 */
size_t sdp_zcopy_send(struct sdp_sock *ssk, struct msghdr *msg, size_t most, long *timeo,
		      int *error)
{
	struct sdp_zcopy_run run = {};
	struct sdp_zcopy *zc;
	u32 len;

	*error = 0;
	zc = sdp_zcopy_begin_send(ssk);
	if (!zc)
		return 0;
	mutex_unlock(&ssk->tx_mutex);
	sdp_lock(ssk);
	run.base = zc->link->conn.source.end;
	sdp_unlock(ssk);
	for (;;) {
		while (!run.stop && zc->used < zc->chunks_nr && sdp_zcopy_fits(msg) &&
		       run.offered < most) {
			len = sdp_zcopy_load(zc, &msg->msg_iter, most - run.offered);
			run.offered += len;
			run.stop = !len;
		}
		if (!zc->used)
			break;
		sdp_zcopy_next(zc, &run, timeo);
	}
	iov_iter_revert(&msg->msg_iter, run.offered - run.done);
	mutex_lock(&ssk->tx_mutex);
	sdp_zcopy_end_send(zc, run.refused);
	*error = run.error;
	return run.done;
}

/* Receiving ******************************************************************************** */

static bool sdp_zcopy_may_read(struct sdp_sock *ssk, const struct msghdr *msg, size_t room,
			       int flags, long timeo, u32 readable)
{
	const size_t fits = min(room, iov_iter_single_seg_count(&msg->msg_iter));

	return timeo && !(flags & (MSG_PEEK | MSG_TRUNC)) && sdp_zcopy_may_pin(ssk, msg) &&
	       fits >= min(readable, SDP_ZCOPY_LEAST);
}

/* With rx_mutex. Return: the session, or NULL: wait for Data, or for others */
static struct sdp_zcopy *sdp_zcopy_begin_receive(struct sdp_sock *ssk, bool fit, bool need)
{
	struct sdp_zcopy *zc = NULL;
	struct sdp_link *link = ssk->link;

	if (fit && !sdp_pinned_half(link, &link->zcopy_rx, SDP_ZCOPY_RECEIVED)) {
		sdp_count(SDP_COUNT_ZCOPY_FAILURES);
		fit = false;
	}
	sdp_lock(ssk);
	if (sdp_zcopy_readable(link)) {
		if (fit) {
			zc = link->zcopy_rx;
			zc->busy = true;
			sdp_sock_get(ssk);
		} else if (need) {
			sdp_zcopy_refuse(link);
		}
	}
	sdp_unlock(ssk);
	return zc;
}

static void sdp_zcopy_end_receive(struct sdp_zcopy *zc, bool failed)
{
	struct sdp_link *link = zc->link;
	struct sdp_sock *ssk = link->ssk;

	sdp_lock(ssk);
	zc->busy = false;
	if (failed && sdp_zcopy_readable(link)) {
		sdp_count(SDP_COUNT_ZCOPY_FAILURES);
		sdp_state_refuse(&link->conn);
	}
	/* other readers */
	ssk->wake |= SDP_WAKE_READ;
	sdp_unlock_push(ssk);
	sdp_sock_put(ssk);
}

/* with sdp_lock(): is the memory used now? */
static bool sdp_zcopy_start_read(struct sdp_chunk *chunk)
{
	struct sdp_link *link = chunk->zc->link;

	if (link->conn.state == SDP_DEAD || link->broken || sdp_chunk_name(chunk, 0))
		return false;
	if (!sdp_state_read(&link->conn, chunk->len, chunk))
		sdp_chunk_over(chunk, 0);
	return true;
}

/* Return: bytes, 0: it is not possible */
static u32 sdp_zcopy_read_into(struct sdp_zcopy *zc, struct iov_iter *iter, size_t most)
{
	struct sdp_chunk *chunk = &zc->chunks[0];
	struct sdp_sock *ssk = zc->link->ssk;
	bool used;
	int len;

	len = sdp_chunk_pin(chunk, iter, min_t(size_t, most, zc->link->device->max_rdma));
	if (len < 0)
		return 0;
	chunk->done = 0;
	sdp_lock(ssk);
	used = sdp_zcopy_start_read(chunk);
	sdp_unlock_push(ssk);
	if (used)
		sdp_chunk_await(chunk);
	/* also if the connection ended before all was there */
	sdp_chunk_unpin(chunk, true);
	iov_iter_revert(iter, len - chunk->done);
	return chunk->done;
}

/**
 * sdp_zcopy_receive() - read what the peer advertises into memory of a program
 * @ssk: socket; nothing that has arrived is unread
 * @msg: memory
 * @room: bytes
 * @flags: of recvmsg()
 * @timeo: time that may be waited
 * @need: the program needs bytes; else it has some, and a refusal would be early
 *
 * Return: bytes, 0: wait for Data. Context: with rx_mutex, which it gives away meanwhile; sleeps.
 */
u32 sdp_zcopy_receive(struct sdp_sock *ssk, struct msghdr *msg, size_t room, int flags, long timeo,
		      bool need)
{
	struct sdp_zcopy *zc;
	u32 readable, n;

	sdp_lock(ssk);
	readable = sdp_zcopy_readable(ssk->link);
	sdp_unlock(ssk);
	if (!readable)
		return 0;
	zc = sdp_zcopy_begin_receive(ssk,
				     sdp_zcopy_may_read(ssk, msg, room, flags, timeo, readable),
				     need);
	if (!zc)
		return 0;
	mutex_unlock(&ssk->rx_mutex);
	n = sdp_zcopy_read_into(zc, &msg->msg_iter, min_t(size_t, room, readable));
	mutex_lock(&ssk->rx_mutex);
	sdp_zcopy_end_receive(zc, !n);
	return n;
}
