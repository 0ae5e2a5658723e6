// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Data that comes in. A message stays in the receive buffer that it arrived in until the program
 * has read it. A small one is copied behind the message before it, so that its buffer is free at
 * once and small messages do not fill the window with empty buffers.
 *
 * A reader holds rx_mutex while it copies, and not while it waits. The bytes that it copies stay
 * where they are: only a reader takes buffers from the queue, and what arrives is added behind.
 */
#include <linux/net.h>
#include <linux/sched/signal.h>
#include <net/sock.h>

#include "road.h"

/* Arrival ********************************************************************************** */

/**
 * sdp_receive_deliver() - payload has arrived
 * @link: link
 * @msg: message
 * @data: its payload, in the buffer sdp_link.rx_now
 *
 * Context: with sdp_lock(); called by the state machine.
 */
void sdp_receive_deliver(struct sdp_link *link, const struct sdp_msg *msg, const u8 *data)
{
	struct sdp_rx *rx = link->rx_now, *tail;
	const u32 len = msg->payload_len;

	if (WARN_ON_ONCE(!rx))
		return;
	if (msg->flags & SDP_FLAG_OOB_PRES) {
		link->oob = SDP_OOB_THERE;
		link->oob_byte = data[len - 1];
		link->oob_pos = link->rx_pos + link->queued + len - 1;
	}
	tail = list_empty(&link->rx) ? NULL : list_last_entry(&link->rx, struct sdp_rx, node);
	if (tail && len <= rx->buf->size / 2 && tail->to + len <= tail->buf->size) {
		memcpy(tail->buf->data + tail->to, data, len);
		tail->to += len;
		sdp_state_release(&link->conn, link->conn.credit.size);
	} else {
		rx->from = data - rx->buf->data;
		rx->to = rx->from + len;
		rx->kept = true;
		list_add_tail(&rx->node, &link->rx);
		/* the window of one that sends much is to be what SO_RCVBUF says */
		if (len > rx->buf->size / 2 && list_empty(&link->rx_free))
			sdp_buffers_want_rx(link);
	}
	link->queued += len;
	sdp_count_more(SDP_COUNT_RX_COPIED, len);
	link->ssk->wake |= SDP_WAKE_READ;
}

/* The out-of-band byte ******************************************************************** */

/* is the mark in the queue, or right behind it? */
static bool sdp_receive_marked(const struct sdp_link *link)
{
	return link->oob >= SDP_OOB_THERE && link->oob_pos >= link->rx_pos;
}

/* the byte is no part of the stream that the program reads */
static bool sdp_receive_hidden(const struct sock *sk, const struct sdp_link *link)
{
	return sdp_receive_marked(link) && !sock_flag(sk, SOCK_URGINLINE) &&
	       link->oob_pos < link->rx_pos + link->queued;
}

/* With sdp_lock() */
static int sdp_receive_oob_state(struct sdp_sock *ssk, struct sock *sk, u8 *byte, int flags)
{
	struct sdp_link *link = ssk->link;

	if (sock_flag(sk, SOCK_URGINLINE) || link->oob == SDP_OOB_NONE ||
	    link->oob == SDP_OOB_READ)
		return -EINVAL;
	if (link->oob == SDP_OOB_THERE) {
		*byte = link->oob_byte;
		if (!(flags & MSG_PEEK))
			link->oob = SDP_OOB_READ;
		return 1;
	}
	return ssk->shutdown & RCV_SHUTDOWN ? 0 : -EAGAIN;
}

/**
 * sdp_receive_urgent() - what poll() and SIOCATMARK say of urgent data
 * @ssk: socket, not closed
 * @ahead: set to the bytes in front of the urgent one, if that has not been passed
 *
 * Return: OFFLOAD_URGENT_*. Context: any but hard interrupt.
 */
u32 sdp_receive_urgent(struct sdp_sock *ssk, u32 *ahead)
{
	struct sdp_link *link = ssk->link;
	u32 urgent = 0;

	sdp_lock(ssk);
	if (link->oob == SDP_OOB_THERE)
		urgent |= OFFLOAD_URGENT_BYTE;
	if (sdp_receive_marked(link)) {
		*ahead = link->oob_pos - link->rx_pos;
		if (!*ahead)
			urgent |= OFFLOAD_URGENT_MARK;
	}
	sdp_unlock(ssk);
	return urgent;
}

/* recv() with MSG_OOB never waits, as TCP's does not */
static int sdp_receive_oob(struct sdp_sock *ssk, struct sock *sk, struct msghdr *msg, size_t len,
			   int flags)
{
	u8 byte;
	int rc;

	mutex_lock(&ssk->rx_mutex);
	sdp_lock(ssk);
	rc = sdp_receive_oob_state(ssk, sk, &byte, flags);
	sdp_unlock(ssk);
	if (rc == 1) {
		msg->msg_flags |= MSG_OOB;
		if (!len) {
			msg->msg_flags |= MSG_TRUNC;
			rc = 0;
		} else if (!(flags & MSG_TRUNC) && memcpy_to_msg(msg, &byte, 1)) {
			rc = -EFAULT;
		}
	}
	mutex_unlock(&ssk->rx_mutex);
	return rc;
}

/* recvmsg() ******************************************************************************** */

/**
 * struct sdp_receive_at - what a reader finds
 * @rx: buffer, or NULL: there is none with bytes
 * @data: bytes
 * @len: how many
 * @mark: the first of them is the out-of-band one
 * @hidden: ... and is not to be read
 * @queued: bytes in the queue
 * @advertised: bytes behind them that the peer has advertised
 * @end: nothing will follow, as it was then: all data comes before the end
 * @failed: the road has failed
 * @fin: the peer has ended its stream
 */
struct sdp_receive_at {
	struct sdp_rx *rx;
	const u8 *data;
	u32 len;
	bool mark;
	bool hidden;
	u32 queued;
	u32 advertised;
	bool end;
	bool failed;
	bool fin;
};

static void sdp_receive_limit(struct sock *sk, const struct sdp_link *link, u64 pos,
			      struct sdp_receive_at *at)
{
	if (link->oob < SDP_OOB_THERE || link->oob_pos < pos || link->oob_pos - pos >= at->len)
		return;
	if (link->oob_pos > pos) {
		at->len = link->oob_pos - pos;
		return;
	}
	at->mark = true;
	at->hidden = !sock_flag(sk, SOCK_URGINLINE);
	if (at->hidden)
		at->len = 1;
}

/* With rx_mutex. The byte @skip behind the first one that was not read */
static void sdp_receive_find(struct sdp_sock *ssk, struct sock *sk, u32 skip,
			     struct sdp_receive_at *at)
{
	struct sdp_link *link = ssk->link;
	const u32 skipped = skip;
	struct sdp_rx *rx;

	memset(at, 0, sizeof(*at));
	sdp_lock(ssk);
	at->end = ssk->shutdown & RCV_SHUTDOWN;
	at->failed = ssk->error;
	at->fin = link->conn.sink.fin;
	at->queued = link->queued;
	at->advertised = sdp_zcopy_readable(link);
	list_for_each_entry(rx, &link->rx, node) {
		if (skip < rx->to - rx->from) {
			at->rx = rx;
			at->data = rx->buf->data + rx->from + skip;
			at->len = rx->to - rx->from - skip;
			sdp_receive_limit(sk, link, link->rx_pos + skipped, at);
			break;
		}
		skip -= rx->to - rx->from;
	}
	sdp_unlock(ssk);
}

/* With rx_mutex: bytes at the head of the queue were read. */
static void sdp_receive_consume(struct sdp_sock *ssk, struct sdp_rx *rx, u32 octets)
{
	struct sdp_link *link = ssk->link;

	sdp_lock(ssk);
	rx->from += octets;
	link->queued -= octets;
	link->rx_pos += octets;
	if (link->oob >= SDP_OOB_THERE && link->oob_pos < link->rx_pos)
		link->oob = SDP_OOB_NONE;
	if (rx->from == rx->to) {
		list_del(&rx->node);
		sdp_link_rx_free(link, rx);
	}
	sdp_unlock_push(ssk);
}

/*
 * Nothing is there, and nothing was read. Return: 1: wait; 0: the end; or an errno. krdma_ops
 * learns of a failure in another thread: until then there is nothing to be read.
 */
static int sdp_receive_nothing(struct sock *sk, const struct sdp_receive_at *at, long timeo)
{
	if (at->fin)
		return 0;
	if (at->failed)
		return -READ_ONCE(sk->sk_err) ?: -EAGAIN;
	if (at->end)
		return 0;
	if (!timeo)
		return -EAGAIN;
	if (signal_pending(current))
		return sock_intr_errno(timeo);
	return 1;
}

/* ... and something was read, but not enough */
static bool sdp_receive_may_wait(const struct sdp_receive_at *at, long timeo)
{
	return !at->failed && !at->end && timeo && !signal_pending(current);
}

static bool sdp_receive_changed(struct sdp_sock *ssk, const struct sdp_receive_at *at)
{
	struct sdp_link *link = ssk->link;
	bool changed;

	sdp_lock(ssk);
	changed = at->end != !!(ssk->shutdown & RCV_SHUTDOWN) || at->failed != !!ssk->error ||
		  link->queued != at->queued || sdp_zcopy_readable(link) != at->advertised;
	sdp_unlock(ssk);
	return changed;
}

/* Without rx_mutex: until something is different from what was found */
static void sdp_receive_wait(struct sdp_sock *ssk, struct sock *sk,
			     const struct sdp_receive_at *at, long *timeo)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);

	add_wait_queue(sk_sleep(sk), &wait);
	sk_set_bit(SOCKWQ_ASYNC_WAITDATA, sk);
	if (!sdp_receive_changed(ssk, at))
		*timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, *timeo);
	sk_clear_bit(SOCKWQ_ASYNC_WAITDATA, sk);
	remove_wait_queue(sk_sleep(sk), &wait);
}

/* Return: bytes, or a negative errno. */
static int sdp_receive_copy(struct sdp_sock *ssk, struct msghdr *msg,
			    const struct sdp_receive_at *at, size_t room, int flags)
{
	size_t n = min_t(size_t, at->len, room);

	if (!(flags & MSG_TRUNC)) {
		n = copy_to_iter(at->data, n, &msg->msg_iter);
		if (!n)
			return -EFAULT;
	}
	if (!(flags & MSG_PEEK))
		sdp_receive_consume(ssk, at->rx, n);
	return n;
}

/* with rx_mutex, but for waits */
static int sdp_receive_stream(struct sdp_sock *ssk, struct sock *sk, struct msghdr *msg, size_t len,
			      int flags)
{
	long timeo = sock_rcvtimeo(sk, flags & MSG_DONTWAIT);
	const int target = sock_rcvlowat(sk, flags & MSG_WAITALL, len);
	size_t done = 0, hidden = 0;
	struct sdp_receive_at at;
	int rc = 0, written;

	do {
		sdp_receive_find(ssk, sk, flags & MSG_PEEK ? done + hidden : 0, &at);
		if (at.mark && done)
			break;
		if (at.mark && signal_pending(current)) {
			rc = timeo ? sock_intr_errno(timeo) : -EAGAIN;
			break;
		}
		/* a receive of nothing waits once for bytes, as TCP's does */
		if (!len && (at.rx || at.advertised))
			break;
		if (at.hidden) {
			if (flags & MSG_PEEK)
				hidden++;
			else
				sdp_receive_consume(ssk, at.rx, 1);
			continue;
		}
		if (at.rx) {
			rc = sdp_receive_copy(ssk, msg, &at, len - done, flags);
			if (rc < 0)
				break;
			done += rc;
			if (fatal_signal_pending(current))
				break;
			continue;
		}
		if (at.advertised) {
			rc = sdp_zcopy_receive(ssk, msg, len - done, flags, timeo, done < target);
			done += rc;
			if (rc && !fatal_signal_pending(current))
				continue;
		}
		if (done >= target)
			break;
		if (done && !sdp_receive_may_wait(&at, timeo))
			break;
		rc = done ? 1 : sdp_receive_nothing(sk, &at, timeo);
		if (rc <= 0)
			break;
		written = sdp_zcopy_sink(ssk, msg, len - done, flags, &timeo);
		if (written >= 0) {
			done += written;
			continue;
		}
		mutex_unlock(&ssk->rx_mutex);
		sdp_receive_wait(ssk, sk, &at, &timeo);
		mutex_lock(&ssk->rx_mutex);
	} while (done < len);
	return done ?: min(rc, 0);
}

/**
 * sdp_receive() - receive bytes for a program
 * @ssk: socket
 * @sk: TCP's sock
 * @msg: where to
 * @len: bytes
 * @flags: MSG_*; with MSG_DONTWAIT memory of the program is never lent to the RNIC, as that waits
 *
 * Return: bytes, 0 at the end, or a negative errno as TCP's. Context: may sleep.
 */
int sdp_receive(struct sdp_sock *ssk, struct sock *sk, struct msghdr *msg, size_t len, int flags)
{
	int rc;

	if (flags & MSG_OOB)
		return sdp_receive_oob(ssk, sk, msg, len, flags);
	/* what fits into the answer */
	len = min_t(size_t, len, INT_MAX);
	sdp_sock_sizes(ssk, sk);
	/* what krdma_ops reads for itself says nothing of the program */
	if (user_backed_iter(&msg->msg_iter))
		WRITE_ONCE(ssk->nonblock, !sock_rcvtimeo(sk, flags & MSG_DONTWAIT));
	atomic_inc(&ssk->readers);
	WRITE_ONCE(ssk->reader, current);
	mutex_lock(&ssk->rx_mutex);
	rc = sdp_receive_stream(ssk, sk, msg, len, flags);
	mutex_unlock(&ssk->rx_mutex);
	atomic_dec(&ssk->readers);
	return rc;
}

/*
 * Can the peer send nothing until a reader reads? Buffers that are being made for it make it wait
 * for those alone. With sdp_lock().
 */
static bool sdp_receive_closed(const struct sdp_sock *ssk)
{
	const struct sdp_link *link = ssk->link;

	if (!ssk->nonblock && sdp_zcopy_readable(link))
		return true;
	return link->queued && (!link->rx_wanted || link->rx_refused) &&
	       sdp_state_closed(&link->conn);
}

/**
 * sdp_receive_full() - may the peer be waiting for a reader?
 * @ssk: socket, not closed
 *
 * Context: any but hard interrupt.
 */
bool sdp_receive_full(struct sdp_sock *ssk)
{
	bool full;

	sdp_lock(ssk);
	full = sdp_receive_closed(ssk);
	sdp_unlock(ssk);
	return full;
}

/**
 * sdp_receive_settle() - has that become so?
 * @link: link
 *
 * A message without payload may have taken the last credit. Context: with sdp_lock().
 */
void sdp_receive_settle(struct sdp_link *link)
{
	const bool full = sdp_receive_closed(link->ssk);

	if (full && !link->full)
		link->ssk->wake |= SDP_WAKE_READ;
	link->full = full;
}

/**
 * sdp_receive_readable() - bytes that a receive has at once
 * @ssk: socket, not closed
 *
 * Bytes that the peer advertises count for a reader that may wait until they have been read from
 * the peer; for another one the peer is asked to send them. Context: any but hard interrupt.
 */
u32 sdp_receive_readable(struct sdp_sock *ssk)
{
	struct sdp_link *link = ssk->link;
	u32 readable;

	sdp_lock(ssk);
	readable = link->queued;
	/* TCP's SO_RCVLOWAT counts the urgent byte where others are in front of it */
	if (ssk->phase != SDP_ROAD_OVER && sdp_receive_hidden(ssk->sk, link))
		readable -= link->oob_pos == link->rx_pos;
	else if (!ssk->nonblock)
		readable += sdp_zcopy_readable(link);
	sdp_unlock(ssk);
	return readable;
}
