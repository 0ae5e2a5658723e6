// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The life of a connection. connect() makes the other end, too, and puts it into the accept queue
 * of a listener; if the queue is full, it tries again until it gives up, as TCP does.
 */
#include <linux/net.h>
#include <linux/sched/signal.h>
#include <net/inet_common.h>
#include <net/ipv6.h>
#include <net/tcp_states.h>

#include "loop.h"

#define LOOP_RETRY		msecs_to_jiffies(10)	/* when an accept queue is full */
#define LOOP_GIVE_UP		(5 * HZ)

/* Calls *************************************************************************************** */

int loop_bind(struct socket *sock, struct sockaddr *address, int len)
{
	struct loop_sock *lsk = loop_sk(sock->sk);
	struct loop_end end;
	int rc;

	rc = loop_port_from_user(sock->sk, address, len, &end);
	if (rc)
		return rc;
	lock_sock(sock->sk);
	if (sock->sk->sk_state != TCP_CLOSE || lsk->local.port || lsk->peer)
		rc = -EINVAL;
	else
		rc = loop_port_bind(lsk, end);
	lsk->bound_by_user |= !rc;
	release_sock(sock->sk);
	return rc;
}

static struct loop_end loop_any(const struct sock *sk)
{
	struct loop_end any = { };

	if (sk->sk_family == AF_INET)
		ipv6_addr_set_v4mapped(htonl(INADDR_ANY), &any.ip);
	return any;
}

int loop_listen(struct socket *sock, int backlog)
{
	struct sock *sk = sock->sk;
	struct loop_sock *lsk = loop_sk(sk);
	int rc = 0;

	lock_sock(sk);
	if (sk->sk_state != TCP_CLOSE && sk->sk_state != TCP_LISTEN)
		rc = -EINVAL;
	else if (lsk->peer)
		rc = -EINVAL;
	else if (!lsk->local.port)
		rc = loop_port_bind(lsk, loop_any(sk));
	if (!rc) {
		spin_lock(&loop_lock);
		WRITE_ONCE(sk->sk_max_ack_backlog, backlog);
		if (sk->sk_state == TCP_CLOSE && !loop_port_listen(lsk))
			rc = -EADDRINUSE;
		else
			loop_state_set(sk, TCP_LISTEN);
		spin_unlock(&loop_lock);
	}
	release_sock(sk);
	return rc;
}

int loop_getname(struct socket *sock, struct sockaddr *address, int peer)
{
	struct sock *sk = sock->sk;
	struct loop_sock *lsk = loop_sk(sk);
	int state = loop_state(sk);
	struct loop_end end = lsk->local;

	if (peer) {
		if (!lsk->remote.port || (1 << state) & (TCPF_CLOSE | TCPF_SYN_SENT | TCPF_LISTEN))
			return -ENOTCONN;
		end = lsk->remote;
	} else if (!end.port) {
		end = loop_any(sk);
	}
	return loop_port_to_user(sk, &end, address);
}

/* accept() ************************************************************************************ */

static struct loop_sock *loop_accept_next(struct loop_sock *listener)
{
	struct loop_sock *child;

	spin_lock(&loop_lock);
	child = list_first_entry_or_null(&listener->queue, struct loop_sock, link);
	if (child) {
		list_del_init(&child->link);
		sk_acceptq_removed(loop_sock(listener));
	}
	spin_unlock(&loop_lock);
	return child;
}

/* The sock is locked. One waiter is woken for one connection. */
static struct loop_sock *loop_accept_wait(struct sock *sk, long timeo, int *rc)
{
	struct loop_sock *child;
	DEFINE_WAIT(wait);

	for (;;) {
		prepare_to_wait_exclusive(sk_sleep(sk), &wait, TASK_INTERRUPTIBLE);
		*rc = -EINVAL;
		child = NULL;
		if (sk->sk_state != TCP_LISTEN)
			break;
		*rc = 0;
		child = loop_accept_next(loop_sk(sk));
		if (child)
			break;
		*rc = -EAGAIN;
		if (!timeo)
			break;
		*rc = sock_intr_errno(timeo);
		if (signal_pending(current))
			break;
		release_sock(sk);
		timeo = schedule_timeout(timeo);
		lock_sock(sk);
	}
	finish_wait(sk_sleep(sk), &wait);
	return child;
}

int loop_accept(struct socket *sock, struct socket *newsock, struct proto_accept_arg *arg)
{
	struct sock *sk = sock->sk;
	struct loop_sock *child;
	int rc;

	lock_sock(sk);
	child = loop_accept_wait(sk, sock_rcvtimeo(sk, arg->flags & O_NONBLOCK), &rc);
	release_sock(sk);
	if (!child)
		return rc;
	sock_graft(loop_sock(child), newsock);
	newsock->state = SS_CONNECTED;
	return 0;
}

/* The end ************************************************************************************* */

/* with loop_lock: one end has said that it sends no more */
static void loop_fin(struct sock *sk, struct sock *peer)
{
	WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | SEND_SHUTDOWN);
	if (sk->sk_state == TCP_ESTABLISHED)
		loop_state_set(sk, TCP_FIN_WAIT2);
	else if (sk->sk_state == TCP_CLOSE_WAIT)
		loop_state_set(sk, TCP_CLOSE);
	sock_set_flag(peer, SOCK_DONE);
	WRITE_ONCE(peer->sk_shutdown, peer->sk_shutdown | RCV_SHUTDOWN);
	if (peer->sk_state == TCP_ESTABLISHED)
		loop_state_set(peer, TCP_CLOSE_WAIT);
	else if (peer->sk_state == TCP_FIN_WAIT2)
		loop_state_set(peer, TCP_CLOSE);
}

/* with loop_lock: one end gets the end of the other. Return: it did not know yet. */
static bool loop_rst(struct sock *peer, int error)
{
	if (peer->sk_state == TCP_CLOSE)
		return false;
	WRITE_ONCE(peer->sk_err, peer->sk_state == TCP_CLOSE_WAIT ? EPIPE : error);
	sock_set_flag(peer, SOCK_DONE);
	WRITE_ONCE(peer->sk_shutdown, SHUTDOWN_MASK);
	loop_state_set(peer, TCP_CLOSE);
	return true;
}

/* Take what waits in the accept queue of a listener that is none any more. */
static void loop_refuse_queue(struct loop_sock *listener)
{
	struct loop_sock *child;

	while ((child = loop_accept_next(listener)))
		loop_reset(child, ECONNRESET);
}

int loop_shutdown(struct socket *sock, int how)
{
	struct sock *sk = sock->sk, *peer = NULL;
	int rc = 0;

	how++;		/* SHUT_RD, SHUT_WR, SHUT_RDWR are RCV_SHUTDOWN, SEND_SHUTDOWN, both */
	if (how & ~SHUTDOWN_MASK || !how)
		return -EINVAL;
	lock_sock(sk);
	spin_lock(&loop_lock);
	switch (sk->sk_state) {
	case TCP_CLOSE:
		rc = -ENOTCONN;
		break;
	case TCP_LISTEN:
		/* as TCP: it keeps its port, and may listen or connect again */
		if (how & RCV_SHUTDOWN)
			loop_state_set(sk, TCP_CLOSE);
		break;
	case TCP_SYN_SENT:
		loop_state_set(sk, TCP_CLOSE);
		sock->state = SS_UNCONNECTED;
		break;
	default:
		WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | how);
		if (how & SEND_SHUTDOWN && loop_sk(sk)->peer) {
			peer = loop_sock(loop_sk(sk)->peer);
			sock_hold(peer);
			loop_fin(sk, peer);
		}
	}
	spin_unlock(&loop_lock);
	if (sk->sk_state != TCP_LISTEN)
		loop_refuse_queue(loop_sk(sk));
	sk->sk_state_change(sk);
	release_sock(sk);
	if (peer) {
		peer->sk_state_change(peer);
		sk_wake_async(peer, SOCK_WAKE_WAITD, POLL_IN);
		sock_put(peer);
	}
	return rc;
}

/* with loop_lock: the sock leaves its connection. Return: the peer, with the reference on it. */
static struct sock *loop_unlink(struct loop_sock *lsk, int error, bool *told)
{
	struct sock *sk = loop_sock(lsk), *peer = NULL;

	if (lsk->peer) {
		peer = loop_sock(lsk->peer);
		*told = true;
		if (error) {
			*told = loop_rst(peer, error);
			/* this sock may connect again: the peer has nothing to do with it then */
			if (loop_sk(peer)->peer) {
				loop_sk(peer)->peer = NULL;
				__sock_put(sk);
			}
		} else {
			loop_fin(sk, peer);
		}
		lsk->peer = NULL;
	}
	loop_state_set(sk, TCP_CLOSE);
	return peer;
}

static void loop_end(struct loop_sock *lsk, int error, bool keep_port)
{
	struct sock *sk = loop_sock(lsk), *peer;
	bool told = false;

	spin_lock(&loop_lock);
	if (!keep_port) {
		loop_port_leave(lsk);
		memset(&lsk->local, 0, sizeof(lsk->local));
	}
	peer = loop_unlink(lsk, error, &told);
	spin_unlock(&loop_lock);
	loop_refuse_queue(lsk);
	if (peer) {
		if (told) {
			if (error)
				sk_error_report(peer);
			peer->sk_state_change(peer);
			sk_wake_async(peer, SOCK_WAKE_WAITD, error ? POLL_HUP : POLL_IN);
		}
		sock_put(peer);
	}
	/* it has room for ever */
	sk->sk_write_space(sk);
}

/* loop_reset() - end a sock that has no socket, and release it; the peer gets @error */
void loop_reset(struct loop_sock *lsk, int error)
{
	loop_data_drop(lsk, true);
	loop_end(lsk, error, false);
	sock_prot_inuse_add(sock_net(loop_sock(lsk)), loop_sock(lsk)->sk_prot, -1);
	sock_put(loop_sock(lsk));
}

/* connect() with AF_UNSPEC: the socket is as after bind(), or as new */
static int loop_disconnect(struct socket *sock)
{
	struct sock *sk = sock->sk;
	struct loop_sock *lsk = loop_sk(sk);

	lock_sock(sk);
	loop_data_drop(lsk, true);
	loop_end(lsk, ECONNRESET, lsk->bound_by_user);
	memset(&lsk->remote, 0, sizeof(lsk->remote));
	loop_data_drop(lsk, false);
	sock_reset_flag(sk, SOCK_DONE);
	WRITE_ONCE(sk->sk_err, 0);
	WRITE_ONCE(sk->sk_shutdown, 0);
	sock->state = SS_UNCONNECTED;
	sk->sk_state_change(sk);
	release_sock(sk);
	return 0;
}

int loop_release(struct socket *sock)
{
	struct sock *sk = sock->sk;
	struct loop_sock *lsk = loop_sk(sk);
	int error = 0;

	if (!sk)
		return 0;
	lock_sock(sk);
	WRITE_ONCE(sk->sk_shutdown, SHUTDOWN_MASK);
	if (loop_data_drop(lsk, true) || (sock_flag(sk, SOCK_LINGER) && !sk->sk_lingertime))
		error = ECONNRESET;
	loop_end(lsk, error, false);
	release_sock(sk);
	if (cancel_delayed_work_sync(&lsk->connect))
		sock_put(sk);
	sock_orphan(sk);
	sock->sk = NULL;
	sock_prot_inuse_add(sock_net(sk), sk->sk_prot, -1);
	sock_put(sk);
	return 0;
}

/* connect() *********************************************************************************** */

/* what TCP's child has from its listener */
static void loop_inherit(struct sock *child, const struct sock *listener)
{
	child->sk_sndbuf = listener->sk_sndbuf;
	child->sk_rcvbuf = listener->sk_rcvbuf;
	child->sk_rcvlowat = listener->sk_rcvlowat;
	child->sk_rcvtimeo = listener->sk_rcvtimeo;
	child->sk_sndtimeo = listener->sk_sndtimeo;
	child->sk_userlocks = listener->sk_userlocks;
	child->sk_lingertime = listener->sk_lingertime;
	child->sk_priority = listener->sk_priority;
	child->sk_mark = listener->sk_mark;
	child->sk_bound_dev_if = listener->sk_bound_dev_if;
	child->sk_reuse = listener->sk_reuse;
	child->sk_reuseport = listener->sk_reuseport;
	sock_valbool_flag(child, SOCK_KEEPOPEN, sock_flag(listener, SOCK_KEEPOPEN));
	sock_valbool_flag(child, SOCK_LINGER, sock_flag(listener, SOCK_LINGER));
	memcpy(loop_sk(child)->options, loop_sk(listener)->options,
	       sizeof(loop_sk(child)->options));
}

/* with loop_lock */
static int loop_link(struct loop_sock *lsk, struct loop_sock *child, struct loop_sock *listener)
{
	struct sock *accepting = loop_sock(listener);

	if (accepting->sk_state != TCP_LISTEN)
		return -ECONNREFUSED;
	if (sk_acceptq_is_full(accepting))
		return -EAGAIN;
	child->local = lsk->remote;
	child->remote = lsk->local;
	child->inet.inet_num = ntohs(child->local.port);
	child->inet.inet_sport = child->local.port;
	child->inet.inet_dport = child->remote.port;
	lsk->inet.inet_dport = lsk->remote.port;
	sock_hold(loop_sock(child));
	lsk->peer = child;
	sock_hold(loop_sock(lsk));
	child->peer = lsk;
	loop_state_set(loop_sock(child), TCP_ESTABLISHED);
	loop_state_set(loop_sock(lsk), TCP_ESTABLISHED);
	list_add_tail(&child->link, &listener->queue);
	sk_acceptq_added(accepting);
	return 0;
}

/* One attempt; the sock is locked. Return: 0; -EAGAIN: the accept queue is full; or an errno. */
static int loop_attempt(struct loop_sock *lsk)
{
	struct sock *sk = loop_sock(lsk), *accepting;
	struct loop_sock *listener, *child;
	int rc;

	if (loop_refuses(lsk->remote.port))
		return -ECONNREFUSED;
	spin_lock(&loop_lock);
	listener = loop_port_listener(lsk);
	if (listener)
		sock_hold(loop_sock(listener));
	spin_unlock(&loop_lock);
	if (!listener)
		return -ECONNREFUSED;
	accepting = loop_sock(listener);
	child = loop_new(sock_net(sk), accepting->sk_family, NULL, false);
	if (!child) {
		sock_put(accepting);
		return -ENOMEM;
	}
	loop_inherit(loop_sock(child), accepting);
	spin_lock(&loop_lock);
	rc = loop_link(lsk, child, listener);
	spin_unlock(&loop_lock);
	if (!rc)
		accepting->sk_data_ready(accepting);
	else
		loop_reset(child, 0);
	sock_put(accepting);
	return rc;
}

static void loop_connect_later(struct loop_sock *lsk, unsigned long delay)
{
	sock_hold(loop_sock(lsk));
	if (!queue_delayed_work(loop_queue, &lsk->connect, delay))
		sock_put(loop_sock(lsk));
}

/* The sock is locked, and connects. */
static void loop_connect_go_on(struct loop_sock *lsk)
{
	struct sock *sk = loop_sock(lsk);
	int rc;

	rc = loop_attempt(lsk);
	if (rc == -EAGAIN && time_before(jiffies, lsk->deadline)) {
		loop_connect_later(lsk, LOOP_RETRY);
		return;
	}
	if (rc) {
		WRITE_ONCE(sk->sk_err, rc == -EAGAIN ? ETIMEDOUT : -rc);
		loop_state_set(sk, TCP_CLOSE);
	}
	sk->sk_state_change(sk);
	if (rc)
		sk_error_report(sk);
	sk_wake_async(sk, SOCK_WAKE_IO, POLL_OUT);
}

void loop_connect_work(struct work_struct *work)
{
	struct loop_sock *lsk = container_of(work, struct loop_sock, connect.work);

	lock_sock(loop_sock(lsk));
	if (loop_sock(lsk)->sk_state == TCP_SYN_SENT)
		loop_connect_go_on(lsk);
	release_sock(loop_sock(lsk));
	sock_put(loop_sock(lsk));
}

/* The sock is locked, and closed. */
static int loop_connect_start(struct loop_sock *lsk, const struct loop_end *end)
{
	struct sock *sk = loop_sock(lsk);
	struct loop_end local = *end;
	int rc;

	if (lsk->peer || sock_flag(sk, SOCK_DONE))
		return -EISCONN;
	if (!loop_port_is_local(sock_net(sk), &end->ip))
		return -ENETUNREACH;
	lsk->remote = *end;
	if (ipv6_addr_any(&end->ip))
		lsk->remote.ip = in6addr_loopback;
	else if (ipv6_addr_v4mapped(&end->ip) && !end->ip.s6_addr32[3])
		lsk->remote.ip.s6_addr32[3] = htonl(INADDR_LOOPBACK);
	local.ip = lsk->remote.ip;
	local.port = 0;
	if (!lsk->local.port) {
		rc = loop_port_bind(lsk, local);
		if (rc)
			return rc == -EADDRINUSE ? -EADDRNOTAVAIL : rc;
	} else {
		/* bound to all addresses: from now on to the one that is used */
		spin_lock(&loop_lock);
		if (ipv6_addr_any(&lsk->local.ip) || !lsk->local.ip.s6_addr32[3])
			lsk->local.ip = local.ip;
		spin_unlock(&loop_lock);
	}
	lsk->deadline = jiffies + LOOP_GIVE_UP;
	loop_state_set(sk, TCP_SYN_SENT);
	if (loop_connect_delay_ms)
		loop_connect_later(lsk, msecs_to_jiffies(loop_connect_delay_ms));
	else
		loop_connect_go_on(lsk);
	return 0;
}

/* The sock is locked; it is not meanwhile. Return: time that is left, 0 or less: none. */
static long loop_connect_wait(struct sock *sk, long timeo)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);

	add_wait_queue(sk_sleep(sk), &wait);
	while (sk->sk_state == TCP_SYN_SENT && timeo && !signal_pending(current)) {
		release_sock(sk);
		timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, timeo);
		lock_sock(sk);
	}
	remove_wait_queue(sk_sleep(sk), &wait);
	return timeo;
}

int loop_connect(struct socket *sock, struct sockaddr *address, int len, int flags)
{
	struct sock *sk = sock->sk;
	struct loop_end end;
	long timeo;
	int rc;

	if (len >= sizeof(address->sa_family) && address->sa_family == AF_UNSPEC)
		return loop_disconnect(sock);
	rc = loop_port_from_user(sk, address, len, &end);
	if (rc)
		return rc;
	lock_sock(sk);
	switch (sock->state) {
	case SS_UNCONNECTED:
		rc = -EISCONN;
		if (sk->sk_state != TCP_CLOSE)
			goto out;
		rc = loop_connect_start(loop_sk(sk), &end);
		if (rc)
			goto out;
		sock->state = SS_CONNECTING;
		rc = -EINPROGRESS;
		break;
	case SS_CONNECTING:
		rc = -EALREADY;
		break;
	default:
		rc = -EISCONN;
		goto out;
	}
	timeo = sock_sndtimeo(sk, flags & O_NONBLOCK);
	if (sk->sk_state == TCP_SYN_SENT) {
		if (!timeo)
			goto out;
		timeo = loop_connect_wait(sk, timeo);
		if (sk->sk_state == TCP_SYN_SENT) {
			rc = signal_pending(current) ? sock_intr_errno(timeo) : -EINPROGRESS;
			goto out;
		}
	}
	if (sk->sk_state == TCP_CLOSE && !loop_sk(sk)->peer) {
		sock->state = SS_UNCONNECTED;
		rc = sock_error(sk) ?: -ECONNABORTED;
		goto out;
	}
	sock->state = SS_CONNECTED;
	rc = 0;
out:
	release_sock(sk);
	return rc;
}
