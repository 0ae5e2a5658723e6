// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Data of programs that goes out, with copies. A writer copies into pieces: elements of the
 * transport's pool, each filled before the next one is begun, so that a message never needs more
 * than two. A piece is free again when the Sends of all of its bytes have completed.
 *
 * Bytes may be held back before the state machine gets them: a part of a message waits while
 * MSG_MORE or TCP_CORK says that more will come (200 ms at most, as TCP does), and, without
 * TCP_NODELAY, while Sends of earlier bytes have not completed. Sends without payload do not
 * count: a credit update is acknowledged late, as it has no answer.
 *
 * A writer holds tx_mutex while it copies, and not while it waits.
 */
#include <linux/net.h>
#include <linux/sched/signal.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <krdma/compat.h>

#include "road.h"

#define SDP_SEND_CORKED		msecs_to_jiffies(200)

/* Room ************************************************************************************* */

/**
 * sdp_send_unacked() - bytes that take room: not acknowledged, or not sent
 * @link: link
 *
 * Context: with sdp_lock().
 */
u64 sdp_send_unacked(const struct sdp_link *link)
{
	return link->conn.source.end + link->held - link->acked;
}

/* payload was sent, and its Sends have not completed */
static bool sdp_send_on_way(const struct sdp_link *link)
{
	return link->conn.source.next > link->acked;
}

/* a piece that the next byte can go into */
static struct sdp_piece *sdp_send_tail(const struct sdp_link *link)
{
	struct sdp_piece *tail;

	if (list_empty(&link->tx))
		return NULL;
	tail = list_last_entry(&link->tx, struct sdp_piece, node);
	/* bytes that were sent without copies may have come in between */
	return tail->len < tail->buf->size &&
	       tail->start + tail->len == link->conn.source.end + link->held ? tail : NULL;
}

static bool sdp_send_has_piece(const struct sdp_link *link)
{
	return !list_empty(&link->tx_free) || sdp_buffers_may_grow_tx(link) || sdp_send_tail(link);
}

/**
 * sdp_send_room() - is it worth while to write?
 * @ssk: socket
 *
 * As TCP: a third of the send buffer is free. Context: with sdp_lock().
 */
bool sdp_send_room(const struct sdp_sock *ssk)
{
	const struct sdp_link *link = ssk->link;

	return !sdp_zcopy_sending(link) && !sdp_notify_full(link) &&
	       sdp_send_unacked(link) * 3 <= (u64)ssk->sndbuf * 2 &&
	       sdp_send_has_piece(link);
}

/** sdp_send_below() - is the send buffer not full? With sdp_lock(), connected */
bool sdp_send_below(const struct sdp_sock *ssk)
{
	return sdp_send_unacked(ssk->link) < ssk->sndbuf;
}

/* The piece that the next byte belongs to. NULL: none is there; @room: the buffer is not full */
static struct sdp_piece *sdp_send_piece(struct sdp_sock *ssk, struct sdp_link *link, u32 *room)
{
	const u32 sndbuf = ssk->sndbuf;
	const u64 waiting = sdp_send_unacked(link);
	struct sdp_piece *piece;

	*room = 0;
	if (waiting >= sndbuf || sdp_zcopy_sending(link))
		return NULL;
	*room = sndbuf - waiting;
	piece = sdp_send_tail(link);
	if (!piece) {
		piece = list_first_entry_or_null(&link->tx_free, struct sdp_piece, node);
		if (!piece)
			return NULL;
		link->tx_used = jiffies;
		piece->start = link->conn.source.end + link->held;
		piece->len = 0;
		list_move_tail(&piece->node, &link->tx);
	}
	*room = min(*room, piece->buf->size - piece->len);
	return piece;
}

/* Handing over ***************************************************************************** */

/* payload of a full message */
static u32 sdp_send_full(const struct sdp_link *link)
{
	return min(link->conn.credit.peer_size, link->conn.credit.send_max) - SDP_BSDH_LEN;
}

static void sdp_send_hand_over(struct sdp_link *link, u32 octets)
{
	link->held -= octets;
	if (sdp_state_queue(&link->conn, octets))
		link->held += octets;
}

/* In a program's call. @more: the program has said that more will come */
static void sdp_send_push(struct sdp_sock *ssk, struct sdp_link *link, bool more)
{
	const u8 nonagle = tcp_sk(ssk->sk)->nonagle;
	u32 full, part;

	if (!link->held)
		return;
	if (link->conn.state < SDP_QUIET) {
		/* the peer's size is not known: nothing can be sent yet, either */
		sdp_send_hand_over(link, link->held);
		return;
	}
	full = sdp_send_full(link);
	more |= nonagle & TCP_NAGLE_CORK;
	part = link->held % full;
	if (!more && (nonagle & TCP_NAGLE_OFF || !sdp_send_on_way(link) ||
		      link->held >= full))
		part = 0;
	if (link->held > part)
		sdp_send_hand_over(link, link->held - part);
	if (part && more && ssk->phase != SDP_ROAD_OVER && !timer_pending(&ssk->cork_timer))
		sdp_sock_timer_set(ssk, &ssk->cork_timer, SDP_SEND_CORKED);
}

/**
 * sdp_send_flush() - send what is held back
 * @ssk: socket
 *
 * Context: with sdp_lock().
 */
void sdp_send_flush(struct sdp_sock *ssk)
{
	struct sdp_link *link = ssk->link;

	if (link->held)
		sdp_send_hand_over(link, link->held);
}

/* softirq: what is held back has waited long enough */
void sdp_send_timer(struct timer_list *timer)
{
	struct sdp_sock *ssk = timer_container_of(ssk, timer, cork_timer);

	sdp_lock(ssk);
	sdp_send_flush(ssk);
	sdp_unlock(ssk);
	sdp_sock_put(ssk);
}

/**
 * sdp_send_done() - Sends have completed
 * @link: link; sdp_link.acked and sdp_link.sent_to have grown
 *
 * Context: with sdp_lock().
 */
void sdp_send_done(struct sdp_link *link)
{
	struct sdp_sock *ssk = link->ssk;
	struct sdp_piece *piece, *next;

	list_for_each_entry_safe(piece, next, &link->tx, node) {
		if (piece->filling || piece->start + piece->len > link->sent_to)
			break;
		/* the last one is the warmest, and those of later groups are not used for little */
		list_move(&piece->node, &link->tx_free);
		link->tx_refused = false;
	}
	if (link->held && !sdp_send_on_way(link) && !timer_pending(&ssk->cork_timer))
		sdp_send_flush(ssk);
	if (ssk->nospace && sdp_send_room(ssk)) {
		ssk->nospace = false;
		ssk->wake |= SDP_WAKE_WRITE;
	}
}

/* sendmsg() ******************************************************************************** */

/** sdp_send_allowed() - may bytes be sent at all? With sdp_lock() */
bool sdp_send_allowed(const struct sdp_sock *ssk)
{
	return !(ssk->shutdown & SEND_SHUTDOWN) && ssk->link->conn.state != SDP_DEAD;
}

static bool sdp_send_blocked(struct sdp_sock *ssk)
{
	bool blocked;

	sdp_lock(ssk);
	ssk->nospace = true;
	blocked = sdp_send_allowed(ssk) && !sdp_send_room(ssk);
	sdp_unlock(ssk);
	return blocked;
}

/* Without tx_mutex. Return: 0: look again; or a negative errno. */
static int sdp_send_wait(struct sdp_sock *ssk, struct sock *sk, long *timeo)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	int rc = 0;

	add_wait_queue(sk_sleep(sk), &wait);
	while (sdp_send_blocked(ssk)) {
		rc = *timeo ? sock_intr_errno(*timeo) : -EAGAIN;
		if (!*timeo || signal_pending(current))
			break;
		rc = 0;
		*timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, *timeo);
	}
	remove_wait_queue(sk_sleep(sk), &wait);
	return rc;
}

/* with sdp_lock(): bytes were copied into the piece */
static void sdp_send_filled(struct sdp_sock *ssk, struct sdp_piece *piece, u32 octets, bool urgent)
{
	struct sdp_link *link = ssk->link;

	if (urgent)
		sdp_send_flush(ssk);
	piece->len += octets;
	if (urgent) {
		if (sdp_state_urgent(&link->conn))
			piece->len -= octets;
	} else {
		link->held += octets;
		/* the rest waits for the end of the call */
		sdp_send_push(ssk, link, true);
	}
}

/*
 * With tx_mutex: take a piece to be filled, which may have to be made. Return: the piece, NULL if
 * there is no room, or an ERR_PTR.
 */
static struct sdp_piece *sdp_send_take(struct sdp_sock *ssk, u32 *room)
{
	struct sdp_piece *piece;
	bool grow;

	do {
		sdp_lock(ssk);
		if (!sdp_send_allowed(ssk)) {
			sdp_unlock(ssk);
			return ERR_PTR(-EPIPE);
		}
		piece = sdp_send_piece(ssk, ssk->link, room);
		if (piece)
			piece->filling = true;
		grow = !piece && *room && sdp_buffers_may_grow_tx(ssk->link);
		sdp_unlock(ssk);
	} while (grow && sdp_buffers_grow_tx(ssk));
	return piece;
}

/**
 * sdp_send_some() - copy bytes of a program
 * @ssk: socket
 * @msg: message with bytes
 *
 * Return: bytes copied, 0: there is no room; or a negative errno. Context: with tx_mutex; may
 * sleep.
 */
int sdp_send_some(struct sdp_sock *ssk, struct msghdr *msg)
{
	const size_t left = msg_data_left(msg);
	const bool urgent = msg->msg_flags & MSG_OOB && left == 1;
	struct sdp_piece *piece;
	u32 room, n, copied;

	piece = sdp_send_take(ssk, &room);
	if (IS_ERR_OR_NULL(piece))
		return PTR_ERR_OR_ZERO(piece);
	n = min_t(size_t, left, room);
	if (msg->msg_flags & MSG_OOB && n == left && n > 1)
		n--;
	copied = copy_from_iter(piece->buf->data + piece->len, n, &msg->msg_iter);
	sdp_lock(ssk);
	piece->filling = false;
	if (copied)
		sdp_send_filled(ssk, piece, copied, urgent);
	sdp_unlock_push(ssk);
	return copied ?: -EFAULT;
}

/* With tx_mutex, but for waits. Return: bytes, or a negative errno. */
static int sdp_send_stream(struct sdp_sock *ssk, struct sock *sk, struct msghdr *msg, long *timeo)
{
	const bool notified = sdp_notify_wanted(ssk, msg);
	bool zcopy = !notified && sdp_zcopy_wanted(ssk, msg, *timeo);
	struct ubuf_info *uarg = NULL;
	int sent = 0, rc = 0;

	while (msg_data_left(msg) && sent < INT_MAX - SZ_1M) {
		if (zcopy && sdp_zcopy_fits(msg)) {
			sent += sdp_zcopy_send(ssk, msg, INT_MAX - SZ_1M - sent, timeo, &rc);
			zcopy = !sdp_zcopy_fits(msg);
			if (rc)
				break;
			continue;
		}
		rc = notified ? sdp_notify_some(ssk, msg, INT_MAX - SZ_1M - sent, &uarg) :
				sdp_send_some(ssk, msg);
		if (rc < 0)
			break;
		sent += rc;
		if (rc)
			continue;
		sdp_lock(ssk);
		sdp_send_flush(ssk);
		sdp_unlock_push(ssk);
		mutex_unlock(&ssk->tx_mutex);
		rc = sdp_send_wait(ssk, sk, timeo);
		mutex_lock(&ssk->tx_mutex);
		if (rc)
			break;
	}
	net_zcopy_put(uarg);
	return sent ?: rc;
}

/**
 * sdp_send() - send bytes of a program
 * @ssk: socket
 * @sk: TCP's sock
 * @msg: bytes and flags
 * @len: bytes
 *
 * Return: bytes that were taken, or a negative errno as TCP's. Context: may sleep.
 */
int sdp_send(struct sdp_sock *ssk, struct sock *sk, struct msghdr *msg, size_t len)
{
	long timeo = sock_sndtimeo(sk, msg->msg_flags & MSG_DONTWAIT);
	int rc;

	sdp_sock_sizes(ssk, sk);
	mutex_lock(&ssk->tx_mutex);
	if (len) {
		rc = sdp_send_stream(ssk, sk, msg, &timeo);
	} else {
		sdp_lock(ssk);
		rc = sdp_send_allowed(ssk) ? 0 : -EPIPE;
		sdp_unlock(ssk);
	}
	sdp_lock(ssk);
	if (!(msg->msg_flags & MSG_MORE))
		sdp_sock_timer_stop(ssk, &ssk->cork_timer);
	sdp_send_push(ssk, ssk->link, msg->msg_flags & MSG_MORE);
	sdp_unlock_push(ssk);
	mutex_unlock(&ssk->tx_mutex);
	return rc;
}
