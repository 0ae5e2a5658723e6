// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Data that comes in. A message stays in the receive buffer that it arrived in until the program
 * has read it. A small one is copied behind the message before it, so that its buffer is free at
 * once and small messages do not fill the window with empty buffers.
 *
 * A reader holds rx_mutex while it copies, and not while it waits. The bytes that it copies stay
 * where they are: only a reader takes buffers from the queue, and what arrives is added behind.
 */
#include <asm/ioctls.h>
#include <linux/net.h>
#include <linux/sched/signal.h>
#include <linux/sockios.h>
#include <net/sock.h>
#include <net/tcp_states.h>

#include "road.h"

/* Arrival ********************************************************************************** */

/**
 * sdp_recv_deliver() - payload has arrived
 * @link: link
 * @msg: message
 * @data: its payload, in the buffer sdp_link.rx_now
 *
 * Context: with sdp_lock(); called by the state machine.
 */
void sdp_recv_deliver(struct sdp_link *link, const struct sdp_msg *msg, const u8 *data)
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
			sdp_memory_want_rx(link);
	}
	link->queued += len;
	sdp_count_more(SDP_COUNT_RX_COPIED, len);
	link->ssk->wake |= SDP_WAKE_READ;
}

/* The out-of-band byte ******************************************************************** */

/* is the mark in the queue, or right behind it? */
static bool sdp_recv_marked(const struct sdp_link *link)
{
	return link->oob >= SDP_OOB_THERE && link->oob_pos >= link->rx_pos;
}

/* the byte is no part of the stream that the program reads */
static bool sdp_recv_hidden(const struct sock *sk, const struct sdp_link *link)
{
	return sdp_recv_marked(link) && !sock_flag(sk, SOCK_URGINLINE) &&
	       link->oob_pos < link->rx_pos + link->queued;
}

static int sdp_recv_oob_state(struct sock *sk, u8 *byte, int flags)
{
	struct sdp_link *link = sdp_sk(sk)->link;

	if (sock_flag(sk, SOCK_URGINLINE) || !link || link->oob == SDP_OOB_NONE ||
	    link->oob == SDP_OOB_READ)
		return -EINVAL;
	if (sk->sk_state == TCP_CLOSE && !sock_flag(sk, SOCK_DONE))
		return -ENOTCONN;
	if (link->oob == SDP_OOB_THERE) {
		*byte = link->oob_byte;
		if (!(flags & MSG_PEEK))
			link->oob = SDP_OOB_READ;
		return 1;
	}
	if (sk->sk_state == TCP_CLOSE || sk->sk_shutdown & RCV_SHUTDOWN)
		return 0;
	return -EAGAIN;
}

/* recv() with MSG_OOB never waits, as TCP's does not */
static int sdp_recv_oob(struct sock *sk, struct msghdr *msg, size_t len, int flags)
{
	struct sdp_sock *ssk = sdp_sk(sk);
	u8 byte;
	int rc;

	mutex_lock(&ssk->rx_mutex);
	sdp_lock(ssk);
	rc = sdp_recv_oob_state(sk, &byte, flags);
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
 * struct sdp_recv_at - what a reader finds
 * @rx: buffer, or NULL: there is none with bytes
 * @data: bytes
 * @len: how many
 * @mark: the first of them is the out-of-band one
 * @hidden: ... and is not to be read
 * @queued: bytes in the queue
 * @advertised: bytes behind them that the peer has advertised
 * @shutdown: sk_shutdown, as it was then: all data comes before the end
 * @state: sk_state
 * @error: sk_err
 * @done: the peer has sent its end
 */
struct sdp_recv_at {
	struct sdp_rx *rx;
	const u8 *data;
	u32 len;
	bool mark;
	bool hidden;
	u32 queued;
	u32 advertised;
	int shutdown;
	int state;
	int error;
	bool done;
};

static void sdp_recv_limit(struct sock *sk, const struct sdp_link *link, u64 pos,
			   struct sdp_recv_at *at)
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
static void sdp_recv_find(struct sock *sk, u32 skip, struct sdp_recv_at *at)
{
	struct sdp_sock *ssk = sdp_sk(sk);
	const u32 skipped = skip;
	struct sdp_link *link;
	struct sdp_rx *rx;

	memset(at, 0, sizeof(*at));
	sdp_lock(ssk);
	link = ssk->link;
	at->shutdown = sk->sk_shutdown;
	at->state = sk->sk_state;
	at->error = sk->sk_err;
	at->done = sock_flag(sk, SOCK_DONE);
	if (link) {
		at->queued = link->queued;
		at->advertised = sdp_zcopy_readable(link);
		list_for_each_entry(rx, &link->rx, node) {
			if (skip < rx->to - rx->from) {
				at->rx = rx;
				at->data = rx->buf->data + rx->from + skip;
				at->len = rx->to - rx->from - skip;
				sdp_recv_limit(sk, link, link->rx_pos + skipped, at);
				break;
			}
			skip -= rx->to - rx->from;
		}
	}
	sdp_unlock(ssk);
}

/* With rx_mutex: bytes at the head of the queue were read. */
static void sdp_recv_consume(struct sock *sk, struct sdp_rx *rx, u32 octets)
{
	struct sdp_sock *ssk = sdp_sk(sk);
	struct sdp_link *link;

	sdp_lock(ssk);
	link = ssk->link;
	rx->from += octets;
	link->queued -= octets;
	link->rx_pos += octets;
	if (link->oob >= SDP_OOB_THERE && link->oob_pos < link->rx_pos)
		link->oob = SDP_OOB_NONE;
	if (rx->from == rx->to) {
		list_del(&rx->node);
		sdp_conn_rx_free(link, rx);
	}
	sdp_unlock_push(ssk);
}

/* Nothing is there, and nothing was read. Return: 1: wait; 0: the end; or an errno. */
static int sdp_recv_nothing(struct sock *sk, const struct sdp_recv_at *at, long timeo)
{
	if (at->done)
		return 0;
	if (at->error)
		return sock_error(sk);
	if (at->shutdown & RCV_SHUTDOWN)
		return 0;
	if (at->state == TCP_CLOSE)
		return -ENOTCONN;
	if (!timeo)
		return -EAGAIN;
	if (signal_pending(current))
		return sock_intr_errno(timeo);
	return 1;
}

/* ... and something was read, but not enough */
static bool sdp_recv_may_wait(const struct sdp_recv_at *at, long timeo)
{
	return !at->error && at->state != TCP_CLOSE &&
	       !(at->shutdown & RCV_SHUTDOWN) && timeo && !signal_pending(current);
}

static bool sdp_recv_changed(struct sdp_sock *ssk, const struct sdp_recv_at *at)
{
	struct sock *sk = sdp_sock(ssk);
	bool changed;

	sdp_lock(ssk);
	changed = sk->sk_err != at->error || sk->sk_shutdown != at->shutdown ||
		  sk->sk_state != at->state ||
		  (ssk->link ? ssk->link->queued : 0) != at->queued ||
		  (ssk->link ? sdp_zcopy_readable(ssk->link) : 0) != at->advertised;
	sdp_unlock(ssk);
	return changed;
}

/* Without rx_mutex: until something is different from what was found */
static void sdp_recv_wait(struct sock *sk, const struct sdp_recv_at *at, long *timeo)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);

	add_wait_queue(sk_sleep(sk), &wait);
	sk_set_bit(SOCKWQ_ASYNC_WAITDATA, sk);
	if (!sdp_recv_changed(sdp_sk(sk), at))
		*timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, *timeo);
	sk_clear_bit(SOCKWQ_ASYNC_WAITDATA, sk);
	remove_wait_queue(sk_sleep(sk), &wait);
}

/* Return: bytes, or a negative errno. */
static int sdp_recv_copy(struct sock *sk, struct msghdr *msg, const struct sdp_recv_at *at,
			 size_t room, int flags)
{
	size_t n = min_t(size_t, at->len, room);

	if (!(flags & MSG_TRUNC)) {
		n = copy_to_iter(at->data, n, &msg->msg_iter);
		if (!n)
			return -EFAULT;
	}
	if (!(flags & MSG_PEEK))
		sdp_recv_consume(sk, at->rx, n);
	return n;
}

/* with rx_mutex, but for waits */
static int sdp_recv_stream(struct sock *sk, struct msghdr *msg, size_t len, int flags)
{
	struct sdp_sock *ssk = sdp_sk(sk);
	long timeo = sock_rcvtimeo(sk, flags & MSG_DONTWAIT);
	const int target = sock_rcvlowat(sk, flags & MSG_WAITALL, len);
	size_t done = 0, hidden = 0;
	struct sdp_recv_at at;
	int rc = 0, written;

	do {
		sdp_recv_find(sk, flags & MSG_PEEK ? done + hidden : 0, &at);
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
				sdp_recv_consume(sk, at.rx, 1);
			continue;
		}
		if (at.rx) {
			rc = sdp_recv_copy(sk, msg, &at, len - done, flags);
			if (rc < 0)
				break;
			done += rc;
			if (fatal_signal_pending(current))
				break;
			continue;
		}
		if (at.advertised) {
			rc = sdp_zcopy_receive(sk, msg, len - done, flags, timeo, done < target);
			done += rc;
			if (rc && !fatal_signal_pending(current))
				continue;
		}
		if (done >= target)
			break;
		if (done && !sdp_recv_may_wait(&at, timeo))
			break;
		rc = done ? 1 : sdp_recv_nothing(sk, &at, timeo);
		if (rc <= 0)
			break;
		written = sdp_zcopy_sink(sk, msg, len - done, flags, &timeo);
		if (written >= 0) {
			done += written;
			continue;
		}
		mutex_unlock(&ssk->rx_mutex);
		sdp_recv_wait(sk, &at, &timeo);
		mutex_lock(&ssk->rx_mutex);
	} while (done < len);
	return done ?: min(rc, 0);
}

/**
 * sdp_sock_recvmsg() - recvmsg() of a program
 * @sock: socket
 * @msg: where to
 * @len: bytes
 * @flags: MSG_*
 *
 * Return: bytes, 0 at the end, or a negative errno as TCP's. Context: may sleep.
 */
int sdp_sock_recvmsg(struct socket *sock, struct msghdr *msg, size_t len, int flags)
{
	struct sock *sk = sock->sk;
	struct sdp_sock *ssk = sdp_sk(sk);
	int rc;

	/* notifications of MSG_ZEROCOPY */
	if (flags & MSG_ERRQUEUE)
		return sk->sk_family == AF_INET6 ?
		       sock_recv_errqueue(sk, msg, len, SOL_IPV6, IPV6_RECVERR) :
		       sock_recv_errqueue(sk, msg, len, SOL_IP, IP_RECVERR);
	msg->msg_namelen = 0;
	if (sdp_get_state(sk) == TCP_LISTEN)
		return -ENOTCONN;
	if (flags & MSG_OOB)
		return sdp_recv_oob(sk, msg, len, flags);
	/* what fits into the answer */
	len = min_t(size_t, len, INT_MAX);
	atomic_inc(&ssk->readers);
	WRITE_ONCE(ssk->reader, current);
	mutex_lock(&ssk->rx_mutex);
	rc = sdp_recv_stream(sk, msg, len, flags);
	mutex_unlock(&ssk->rx_mutex);
	atomic_dec(&ssk->readers);
	return rc;
}

/* Questions ******************************************************************************** */

/**
 * sdp_recv_ready() - is there what SO_RCVLOWAT asks for?
 * @ssk: socket
 * @wait: the reader may wait until bytes that the peer advertises have been read from it
 *
 * When the window holds no more, what is there is enough. For a reader that does not wait, the peer
 * is asked to send what it advertises. Context: with sdp_lock().
 */
bool sdp_recv_ready(struct sdp_sock *ssk, bool wait)
{
	const struct sock *sk = &ssk->inet.sk;
	struct sdp_link *link = ssk->link;
	u32 readable;

	if (!link)
		return false;
	readable = link->queued - sdp_recv_hidden(sk, link);
	if (wait)
		readable += sdp_zcopy_readable(link);
	if (readable &&
	    (readable >= sock_rcvlowat(sk, 0, INT_MAX) ||
	     link->conn.credit.held + 2 * link->conn.credit.size > link->conn.credit.window))
		return true;
	if (!wait)
		sdp_zcopy_refuse(link);
	return false;
}

static int sdp_recv_unread(const struct sock *sk, const struct sdp_link *link)
{
	if (!link)
		return 0;
	if (sdp_recv_hidden(sk, link))
		return link->oob_pos - link->rx_pos;
	return link->queued + sdp_zcopy_readable(link);
}

/**
 * sdp_sock_ioctl() - FIONREAD and its like
 * @sock: socket
 * @cmd: command
 * @arg: its argument
 *
 * Return: 0 or a negative errno. Context: may sleep.
 */
int sdp_sock_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg)
{
	struct sock *sk = sock->sk;
	struct sdp_sock *ssk = sdp_sk(sk);
	const struct sdp_link *link;
	int answer = 0;

	if (cmd != SIOCINQ && cmd != SIOCOUTQ && cmd != SIOCOUTQNSD && cmd != SIOCATMARK)
		return -ENOIOCTLCMD;
	if (cmd != SIOCATMARK && sdp_get_state(sk) == TCP_LISTEN)
		return -EINVAL;
	sdp_lock(ssk);
	link = ssk->link;
	if (cmd == SIOCINQ)
		answer = sdp_recv_unread(sk, link);
	else if (cmd == SIOCATMARK)
		answer = link && link->oob >= SDP_OOB_THERE && link->oob_pos == link->rx_pos;
	else if (link && cmd == SIOCOUTQ)
		answer = link->conn.source.end + link->held - link->acked;
	else if (link)
		answer = sdp_send_unsent(link);
	sdp_unlock(ssk);
	return put_user(answer, (int __user *)arg);
}
