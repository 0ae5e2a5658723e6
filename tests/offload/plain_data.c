// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Data. A sender copies into buffers and queues them at the other end; a queue that has reached the
 * parameter "buffer" takes no more.
 */
#include <linux/net.h>
#include <linux/sched/signal.h>
#include <net/sock.h>

#include "plain.h"

#define PLAIN_CHUNK	SZ_32K	/* most bytes of a buffer */

/* how much of a buffer was read */
static u32 *plain_data_read(struct sk_buff *skb)
{
	return (u32 *)skb->cb;
}

/* An end with a reference on its pair, or NULL: close() may come during a call, or before it. */
static struct plain_end *plain_enter(struct offload_conn *conn)
{
	struct plain_end *end;

	rcu_read_lock();
	end = offload_conn_priv(conn);
	if (end && !kref_get_unless_zero(&end->pair->ref))
		end = NULL;
	rcu_read_unlock();
	return end;
}

/* The other end's connection with a reference; NULL: it was closed. With the pair's lock. */
static struct offload_conn *plain_conn_get(struct plain_end *end)
{
	if (end->conn)
		offload_conn_get(end->conn);
	return end->conn;
}

/* sendmsg() ********************************************************************************** */

static struct sk_buff *plain_build(struct msghdr *msg, u32 size, int *rc)
{
	struct sk_buff *skb;

	skb = alloc_skb_with_frags(0, size, PAGE_ALLOC_COSTLY_ORDER, rc, GFP_KERNEL);
	if (!skb)
		return NULL;
	skb->data_len = size;
	skb->len = size;
	*rc = skb_copy_datagram_from_iter(skb, 0, &msg->msg_iter, size);
	if (*rc) {
		kfree_skb(skb);
		return NULL;
	}
	*plain_data_read(skb) = 0;
	return skb;
}

/*
 * Return: 1: queued, and @peer is the connection to be woken; 0: no room; -EPIPE: it was closed;
 * -ECONNRESET: @peer is to be reset.
 */
static int plain_queue(struct plain_end *to, struct sk_buff *skb, struct offload_conn **peer)
{
	struct plain_pair *pair = to->pair;
	int rc = 0;

	spin_lock_bh(&pair->lock);
	*peer = plain_conn_get(to);
	if (!*peer) {
		rc = -EPIPE;
	} else if (to->shut) {
		rc = -ECONNRESET;
	} else if (to->unread < READ_ONCE(plain_buffer)) {
		__skb_queue_tail(&to->queue, skb);
		WRITE_ONCE(to->unread, to->unread + skb->len);
		rc = 1;
	}
	spin_unlock_bh(&pair->lock);
	if (rc == 0)
		offload_conn_put(*peer);
	return rc;
}

/* A send to an end that was closed does not wait. */
static bool plain_room(const struct plain_end *to)
{
	return !READ_ONCE(to->conn) || READ_ONCE(to->unread) < READ_ONCE(plain_buffer);
}

/* Return: 0 when there may be room, or an errno. */
static int plain_wait(struct offload_conn *conn, struct plain_end *to, long *timeo)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	struct sock *sk = offload_conn_sk(conn);
	int rc = 0;

	if (!*timeo)
		return -EAGAIN;
	add_wait_queue(sk_sleep(sk), &wait);
	while (!plain_room(to)) {
		if (READ_ONCE(sk->sk_err))
			rc = sock_error(sk);
		else if (READ_ONCE(sk->sk_shutdown) & SEND_SHUTDOWN)
			rc = -EPIPE;
		else if (signal_pending(current))
			rc = sock_intr_errno(*timeo);
		else if (!*timeo)
			rc = -EAGAIN;
		if (rc)
			break;
		sk_set_bit(SOCKWQ_ASYNC_NOSPACE, sk);
		set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
		*timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, *timeo);
	}
	remove_wait_queue(sk_sleep(sk), &wait);
	return rc;
}

/* Return: bytes, or an errno. */
static int plain_send_chunk(struct offload_conn *conn, struct plain_end *to, struct msghdr *msg,
			    u32 size, long *timeo)
{
	struct offload_conn *peer;
	struct sk_buff *skb;
	int rc;

	rc = plain_room(to) ? 0 : plain_wait(conn, to, timeo);
	if (rc)
		return rc;
	skb = plain_build(msg, size, &rc);
	if (!skb)
		return rc;
	for (;;) {
		rc = plain_queue(to, skb, &peer);
		if (rc)
			break;
		rc = plain_wait(conn, to, timeo);
		if (rc)
			break;
	}
	if (rc == 1) {
		offload_data_ready(peer);
		offload_conn_put(peer);
		return size;
	}
	kfree_skb(skb);
	if (rc == -ECONNRESET) {
		offload_road_failed(peer, rc);
		offload_conn_put(peer);
		return size;
	}
	if (rc == -EPIPE && !(offload_conn_sk(conn)->sk_shutdown & SEND_SHUTDOWN)) {
		/* as TCP answers the first data to a closed socket: the next call fails */
		offload_road_failed(conn, -EPIPE);
		return size;
	}
	iov_iter_revert(&msg->msg_iter, size);
	return rc;
}

int plain_sendmsg(struct offload_conn *conn, struct msghdr *msg, size_t len)
{
	struct sock *sk = offload_conn_sk(conn);
	long timeo = sock_sndtimeo(sk, msg->msg_flags & MSG_DONTWAIT);
	unsigned int limit = READ_ONCE(plain_break_after);
	struct plain_end *end;
	size_t sent = 0;
	int rc = 0;

	if (msg->msg_flags & MSG_OOB)
		return -EOPNOTSUPP;
	if (limit && len > limit) {
		offload_road_failed(conn, -EIO);
		return -EIO;
	}
	end = plain_enter(conn);
	if (!end)
		return -EPIPE;
	while (sent < len) {
		rc = plain_send_chunk(conn, plain_other(end), msg,
				      min_t(size_t, len - sent, PLAIN_CHUNK), &timeo);
		if (rc < 0)
			break;
		sent += rc;
	}
	plain_put(end->pair);
	return sent ?: rc;
}

bool plain_writable(struct offload_conn *conn)
{
	struct plain_end *end = plain_enter(conn);
	bool room;

	if (!end)
		return true;
	room = plain_room(plain_other(end));
	plain_put(end->pair);
	return room;
}

u32 plain_unsent(struct offload_conn *conn)
{
	return 0;
}

/* recvmsg() ********************************************************************************** */

/* The buffer with byte @skip of what was not read, and the place in it; NULL: not there yet. */
static struct sk_buff *plain_at(struct plain_end *end, size_t skip, u32 *offset)
{
	struct sk_buff *skb, *found = NULL;

	spin_lock_bh(&end->pair->lock);
	skb_queue_walk(&end->queue, skb) {
		*offset = *plain_data_read(skb);
		if (skip < skb->len - *offset) {
			*offset += skip;
			found = skb;
			break;
		}
		skip -= skb->len - *offset;
	}
	spin_unlock_bh(&end->pair->lock);
	return found;
}

/* A sender that waits is woken when less than that is unread. */
static u32 plain_half(void)
{
	return READ_ONCE(plain_buffer) / 2 + 1;
}

static void plain_consume(struct plain_end *end, struct sk_buff *skb, u32 bytes)
{
	const u32 half = plain_half();
	struct offload_conn *peer = NULL;
	bool empty;

	spin_lock_bh(&end->pair->lock);
	*plain_data_read(skb) += bytes;
	if (end->unread >= half && end->unread - bytes < half)
		peer = plain_conn_get(plain_other(end));
	WRITE_ONCE(end->unread, end->unread - bytes);
	empty = *plain_data_read(skb) == skb->len;
	if (empty)
		__skb_unlink(skb, &end->queue);
	spin_unlock_bh(&end->pair->lock);
	if (empty)
		consume_skb(skb);
	if (peer) {
		offload_write_space(peer);
		offload_conn_put(peer);
	}
}

/* krdma_ops waits, and has one call at a time: a buffer stays until this one has consumed it. */
int plain_recvmsg(struct offload_conn *conn, struct msghdr *msg, size_t len, int flags)
{
	struct plain_end *end = plain_enter(conn);
	size_t done = 0;
	int rc = 0;

	if (!end)
		return -EAGAIN;
	while (done < len) {
		/* before the queue: all data comes before the end */
		bool ended = READ_ONCE(end->ended);
		struct sk_buff *skb;
		u32 offset, bytes;

		/* pairs with the lock of the sender, which queues before it ends */
		smp_rmb();
		skb = plain_at(end, flags & MSG_PEEK ? done : 0, &offset);
		if (!skb) {
			rc = ended ? 0 : -EAGAIN;
			break;
		}
		bytes = min_t(size_t, skb->len - offset, len - done);
		if (!(flags & MSG_TRUNC)) {
			rc = skb_copy_datagram_msg(skb, offset, msg, bytes);
			if (rc)
				break;
		}
		if (!(flags & MSG_PEEK))
			plain_consume(end, skb, bytes);
		done += bytes;
	}
	plain_put(end->pair);
	return done ?: rc;
}

u32 plain_readable(struct offload_conn *conn)
{
	struct plain_end *end = plain_enter(conn);
	u32 unread;

	if (!end)
		return 0;
	unread = READ_ONCE(end->unread);
	plain_put(end->pair);
	return unread;
}

bool plain_full(struct offload_conn *conn)
{
	struct plain_end *end = plain_enter(conn);
	bool full;

	if (!end)
		return false;
	full = READ_ONCE(end->unread) >= plain_half();
	plain_put(end->pair);
	return full;
}

/* The end *********************************************************************************** */

static void plain_end_stream(struct plain_end *end)
{
	struct plain_end *to = plain_other(end);
	struct offload_conn *peer;

	spin_lock_bh(&end->pair->lock);
	peer = to->ended ? NULL : plain_conn_get(to);
	/* pairs with plain_recvmsg() */
	WRITE_ONCE(to->ended, true);
	spin_unlock_bh(&end->pair->lock);
	if (peer) {
		offload_end_of_stream(peer);
		offload_conn_put(peer);
	}
}

void plain_shutdown(struct offload_conn *conn, int how)
{
	struct plain_end *end = plain_enter(conn);

	if (!end)
		return;
	if (how & SEND_SHUTDOWN)
		plain_end_stream(end);
	if (how & RCV_SHUTDOWN) {
		spin_lock_bh(&end->pair->lock);
		end->shut = true;
		spin_unlock_bh(&end->pair->lock);
	}
	plain_put(end->pair);
}

/* It takes no more. @dropped: what it has, or NULL: it can still be read. */
static void plain_leave(struct plain_end *end, struct sk_buff_head *dropped)
{
	struct offload_conn *peer;

	spin_lock_bh(&end->pair->lock);
	WRITE_ONCE(end->conn, NULL);
	if (dropped) {
		WRITE_ONCE(end->unread, 0);
		skb_queue_splice_init(&end->queue, dropped);
	}
	peer = plain_conn_get(plain_other(end));
	spin_unlock_bh(&end->pair->lock);
	/* a sender that waits for room learns that there will be none */
	if (peer) {
		offload_write_space(peer);
		offload_conn_put(peer);
	}
}

void plain_abort(struct offload_conn *conn)
{
	struct plain_end *end = plain_enter(conn);

	if (!end)
		return;
	plain_leave(end, NULL);
	plain_put(end->pair);
}

/* The peer learns of a reset by TCP. */
void plain_close(struct offload_conn *conn, bool abort)
{
	struct plain_end *end = offload_conn_priv(conn);
	struct sk_buff_head dropped;

	/* closed before the road knew it */
	if (!end)
		return;
	(void)!offload_conn_set_priv(conn, NULL);
	if (!abort)
		plain_end_stream(end);
	__skb_queue_head_init(&dropped);
	plain_leave(end, &dropped);
	__skb_queue_purge(&dropped);
	plain_unpark(end->pair);
	plain_put(end->pair);
}
