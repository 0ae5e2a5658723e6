// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Data. A sender allocates buffers on its own account, and queues them at its peer; readers of one
 * socket take turns by the sock's lock.
 */
#include <asm/ioctls.h>
#include <linux/net.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/skbuff.h>
#include <linux/sockios.h>
#include <net/tcp_states.h>

#include "loop.h"

#define LOOP_CHUNK	SZ_32K	/* most bytes of a buffer */
#define LOOP_LINEAR	1024	/* up to here a buffer has no pages */

/* how much of a buffer was read */
static u32 *loop_data_read(struct sk_buff *skb)
{
	return (u32 *)skb->cb;
}

bool loop_data_drop(struct loop_sock *lsk, bool deaf)
{
	struct sk_buff_head *queue = &loop_sock(lsk)->sk_receive_queue;
	struct sk_buff_head dropped;
	bool unread;

	__skb_queue_head_init(&dropped);
	spin_lock_bh(&queue->lock);
	lsk->deaf = deaf;
	unread = lsk->unread;
	WRITE_ONCE(lsk->unread, 0);
	skb_queue_splice_init(queue, &dropped);
	spin_unlock_bh(&queue->lock);
	/* the sender is woken without the lock */
	__skb_queue_purge(&dropped);
	return unread;
}

/* sendmsg() *********************************************************************************** */

/* Return: false: the peer is gone. */
static bool loop_data_queue(struct loop_sock *peer, struct sk_buff *skb)
{
	struct sk_buff_head *queue = &loop_sock(peer)->sk_receive_queue;
	bool deaf;

	spin_lock_bh(&queue->lock);
	deaf = peer->deaf;
	if (!deaf) {
		__skb_queue_tail(queue, skb);
		WRITE_ONCE(peer->unread, peer->unread + skb->len);
	}
	spin_unlock_bh(&queue->lock);
	return !deaf;
}

static struct sk_buff *loop_data_build(struct sock *sk, struct msghdr *msg, size_t size, int *rc)
{
	size_t paged = size > LOOP_LINEAR ? size : 0;
	struct sk_buff *skb;

	skb = sock_alloc_send_pskb(sk, size - paged, paged, msg->msg_flags & MSG_DONTWAIT, rc,
				   PAGE_ALLOC_COSTLY_ORDER);
	if (!skb)
		return NULL;
	skb_put(skb, size - paged);
	skb->data_len = paged;
	skb->len = size;
	*rc = skb_copy_datagram_from_iter(skb, 0, &msg->msg_iter, size);
	if (*rc) {
		kfree_skb(skb);
		return NULL;
	}
	*loop_data_read(skb) = 0;
	return skb;
}

/* As TCP answers the first data that reaches a closed socket: it is lost, the next call fails. */
static void loop_data_lost(struct sock *sk)
{
	spin_lock(&loop_lock);
	WRITE_ONCE(sk->sk_err, EPIPE);
	WRITE_ONCE(sk->sk_shutdown, SHUTDOWN_MASK);
	loop_state_set(sk, TCP_CLOSE);
	spin_unlock(&loop_lock);
	sk_error_report(sk);
	sk->sk_state_change(sk);
}

static int loop_data_wait_connect(struct sock *sk, bool nonblocking)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	long timeo = sock_sndtimeo(sk, nonblocking);
	int rc = 0;

	add_wait_queue(sk_sleep(sk), &wait);
	while (loop_state(sk) == TCP_SYN_SENT) {
		rc = timeo ? sock_intr_errno(timeo) : -EAGAIN;
		if (!timeo || signal_pending(current))
			break;
		timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, timeo);
		rc = 0;
	}
	remove_wait_queue(sk_sleep(sk), &wait);
	return rc;
}

/* with a reference, or NULL: no data can be sent */
static struct sock *loop_data_peer(struct sock *sk)
{
	struct sock *peer = NULL;

	spin_lock(&loop_lock);
	if (loop_sk(sk)->peer && !(sk->sk_shutdown & SEND_SHUTDOWN)) {
		peer = loop_sock(loop_sk(sk)->peer);
		sock_hold(peer);
	}
	spin_unlock(&loop_lock);
	return peer;
}

int loop_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)
{
	struct sock *sk = sock->sk, *peer;
	struct sk_buff *skb;
	size_t sent = 0, size;
	int rc;

	if (msg->msg_flags & MSG_OOB)
		return -EOPNOTSUPP;
	rc = loop_data_wait_connect(sk, msg->msg_flags & MSG_DONTWAIT);
	if (rc)
		return rc;
	peer = loop_data_peer(sk);
	if (!peer)
		return sk_stream_error(sk, msg->msg_flags, sock_error(sk) ?: -EPIPE);
	while (sent < len) {
		size = min3(len - sent, (size_t)LOOP_CHUNK, (size_t)READ_ONCE(sk->sk_sndbuf) / 2);
		skb = loop_data_build(sk, msg, size, &rc);
		if (!skb)
			break;
		if (loop_data_queue(loop_sk(peer), skb)) {
			peer->sk_data_ready(peer);
		} else {
			kfree_skb(skb);
			loop_data_lost(sk);
		}
		sent += size;
	}
	sock_put(peer);
	if (sent || !rc)
		return sent;
	return sk_stream_error(sk, msg->msg_flags, rc);
}

/* recvmsg() *********************************************************************************** */

/* The buffer with byte @skip of what was not read, and the place in it; NULL: not there yet. */
static struct sk_buff *loop_data_at(struct sock *sk, size_t skip, u32 *offset)
{
	struct sk_buff_head *queue = &sk->sk_receive_queue;
	struct sk_buff *skb, *found = NULL;

	spin_lock_bh(&queue->lock);
	skb_queue_walk(queue, skb) {
		*offset = *loop_data_read(skb);
		if (skip < skb->len - *offset) {
			*offset += skip;
			found = skb;
			break;
		}
		skip -= skb->len - *offset;
	}
	spin_unlock_bh(&queue->lock);
	return found;
}

static void loop_data_consume(struct sock *sk, struct sk_buff *skb, u32 bytes)
{
	struct sk_buff_head *queue = &sk->sk_receive_queue;
	struct loop_sock *lsk = loop_sk(sk);
	bool empty;

	spin_lock_bh(&queue->lock);
	*loop_data_read(skb) += bytes;
	WRITE_ONCE(lsk->unread, lsk->unread - bytes);
	empty = *loop_data_read(skb) == skb->len;
	if (empty)
		__skb_unlink(skb, queue);
	spin_unlock_bh(&queue->lock);
	if (empty)
		consume_skb(skb);
}

/* Nothing is there. Return: 1: it may be now; 0: the end; or an errno. */
static int loop_data_wait(struct sock *sk, long *timeo, int shutdown, int state)
{
	if (sk->sk_err)
		return sock_error(sk);
	if (shutdown & RCV_SHUTDOWN)
		return 0;
	if (state == TCP_CLOSE)
		return sock_flag(sk, SOCK_DONE) ? 0 : -ENOTCONN;
	if (!*timeo)
		return -EAGAIN;
	if (signal_pending(current))
		return sock_intr_errno(*timeo);
	sk_wait_data(sk, timeo, skb_peek_tail(&sk->sk_receive_queue));
	return 1;
}

/* The sock is locked. */
static int loop_data_receive(struct sock *sk, struct msghdr *msg, size_t len, int flags)
{
	long timeo = sock_rcvtimeo(sk, flags & MSG_DONTWAIT);
	int target = sock_rcvlowat(sk, flags & MSG_WAITALL, len);
	size_t done = 0;
	int rc = 0;

	while (done < len) {
		/* before the queue: all data comes before the end */
		int shutdown = READ_ONCE(sk->sk_shutdown);
		int state = loop_state(sk);
		struct sk_buff *skb;
		u32 offset, bytes;

		skb = loop_data_at(sk, flags & MSG_PEEK ? done : 0, &offset);
		if (!skb) {
			if (done >= target)
				break;
			rc = loop_data_wait(sk, &timeo, shutdown, state);
			if (rc <= 0)
				break;
			continue;
		}
		bytes = min_t(size_t, skb->len - offset, len - done);
		if (!(flags & MSG_TRUNC)) {
			rc = skb_copy_datagram_msg(skb, offset, msg, bytes);
			if (rc)
				break;
		}
		if (!(flags & MSG_PEEK))
			loop_data_consume(sk, skb, bytes);
		done += bytes;
	}
	return done ?: rc;
}

int loop_recvmsg(struct socket *sock, struct msghdr *msg, size_t len, int flags)
{
	struct sock *sk = sock->sk;
	int rc;

	if (flags & MSG_OOB)
		return -EINVAL;
	if (flags & MSG_ERRQUEUE)
		return -EAGAIN;
	msg->msg_namelen = 0;
	lock_sock(sk);
	rc = sk->sk_state == TCP_LISTEN ? -ENOTCONN : loop_data_receive(sk, msg, len, flags);
	release_sock(sk);
	return rc;
}

/* poll() ************************************************************************************** */

static __poll_t loop_poll_writable(struct socket *sock)
{
	struct sock *sk = sock->sk;

	if (sk->sk_shutdown & SEND_SHUTDOWN || sock_writeable(sk))
		return EPOLLOUT | EPOLLWRNORM;
	sk_set_bit(SOCKWQ_ASYNC_NOSPACE, sk);
	set_bit(SOCK_NOSPACE, &sock->flags);
	/* room may have come before the bits were there */
	smp_mb__after_atomic();
	return sock_writeable(sk) ? EPOLLOUT | EPOLLWRNORM : 0;
}

__poll_t loop_poll(struct file *file, struct socket *sock, struct poll_table_struct *wait)
{
	struct sock *sk = sock->sk;
	struct loop_sock *lsk = loop_sk(sk);
	__poll_t mask = 0;
	int state, shutdown;

	sock_poll_wait(file, sock, wait);
	state = loop_state(sk);
	if (state == TCP_LISTEN)
		return list_empty_careful(&lsk->queue) ? 0 : EPOLLIN | EPOLLRDNORM;
	shutdown = READ_ONCE(sk->sk_shutdown);
	if (shutdown == SHUTDOWN_MASK || state == TCP_CLOSE)
		mask |= EPOLLHUP;
	if (shutdown & RCV_SHUTDOWN)
		mask |= EPOLLIN | EPOLLRDNORM | EPOLLRDHUP;
	if (state != TCP_SYN_SENT) {
		if (READ_ONCE(lsk->unread) >= sock_rcvlowat(sk, 0, INT_MAX))
			mask |= EPOLLIN | EPOLLRDNORM;
		mask |= loop_poll_writable(sock);
	}
	if (READ_ONCE(sk->sk_err) || !skb_queue_empty_lockless(&sk->sk_error_queue))
		mask |= EPOLLERR;
	return mask;
}

int loop_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg)
{
	struct sock *sk = sock->sk;
	int answer;

	switch (cmd) {
	case SIOCINQ:
		if (sk->sk_state == TCP_LISTEN)
			return -EINVAL;
		answer = READ_ONCE(loop_sk(sk)->unread);
		break;
	case SIOCOUTQ:
	case SIOCOUTQNSD:
		if (sk->sk_state == TCP_LISTEN)
			return -EINVAL;
		answer = sk_wmem_alloc_get(sk);
		break;
	case SIOCATMARK:
		answer = 0;
		break;
	default:
		return -ENOIOCTLCMD;
	}
	return put_user(answer, (int __user *)arg);
}
