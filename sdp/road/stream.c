// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The life of a socket: bind, connect, shutdown, close, poll. States and errors that a program sees
 * are TCP's.
 *
 * connect() makes the link in the calling process, so that memory is charged to it and its errors
 * are known at once; only the peer is waited for. When the peer's backlog is full, a work item
 * tries again until the time is over.
 */
#include <linux/bpf-cgroup.h>
#include <linux/memcontrol.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/tcp.h>
#include <net/inet_common.h>
#include <net/ipv6.h>
#include <net/tcp_states.h>

#include "road.h"

/* milliseconds to the next attempt when an accept queue is full: they double up to the last one */
#define SDP_RETRY_FIRST	50
#define SDP_RETRY_MOST	800

static struct lock_class_key sdp_sock_lock_keys[2];
static struct lock_class_key sdp_sock_callback_key;

static atomic_t sdp_socks = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(sdp_socks_wait);

/* Wake-ups ********************************************************************************* */

/*
 * Without a lock. A user in the kernel has callbacks of its own: close() waits for those that run,
 * by RCU.
 */
static void sdp_sock_wake(struct sdp_sock *ssk, u32 wake, struct sdp_link *ending,
			  struct sdp_sock *listener)
{
	struct sock *sk = sdp_sock(ssk);

	rcu_read_lock();
	if (listener)
		sdp_sock(listener)->sk_data_ready(sdp_sock(listener));
	if (wake & SDP_WAKE_ERROR)
		sk_error_report(sk);
	if (wake & SDP_WAKE_READ)
		sk->sk_data_ready(sk);
	if (wake & SDP_WAKE_WRITE)
		sk->sk_write_space(sk);
	if (wake & SDP_WAKE_STATE)
		sk->sk_state_change(sk);
	rcu_read_unlock();
	if (listener)
		sock_put(sdp_sock(listener));
	if (wake & SDP_WAKE_IN)
		sk_wake_async(sk, SOCK_WAKE_WAITD,
			      READ_ONCE(sk->sk_shutdown) == SHUTDOWN_MASK ? POLL_HUP : POLL_IN);
	if (wake & SDP_WAKE_OUT)
		sk_wake_async(sk, SOCK_WAKE_IO, POLL_OUT);
	if (wake & SDP_WAKE_RETRY) {
		u32 delay = min(SDP_RETRY_FIRST << min(ssk->tries++, 8U), SDP_RETRY_MOST);

		sock_hold(sk);
		if (!queue_delayed_work(sdp_queue, &ssk->retry, msecs_to_jiffies(delay)))
			sock_put(sk);
	}
	/* last: its references are those that the caller may count on */
	if (ending)
		queue_work(sdp_queue, &ending->end);
}

/* the state that a program sees follows that of the machine */
static void sdp_sock_follow(struct sdp_sock *ssk)
{
	const struct sdp_conn *c = &ssk->link->conn;
	struct sock *sk = sdp_sock(ssk);
	int state = sk->sk_state;

	if (state == TCP_CLOSE || state == TCP_SYN_SENT || state == TCP_SYN_RECV)
		return;
	if (c->state == SDP_OPEN || c->state == SDP_QUIET)
		state = c->source.fin ? TCP_FIN_WAIT1 : TCP_ESTABLISHED;
	else if (c->state == SDP_FIN_WAIT)
		state = TCP_FIN_WAIT2;
	else if (c->state == SDP_CLOSE_WAIT)
		state = c->source.fin ? TCP_LAST_ACK : TCP_CLOSE_WAIT;
	else if (c->state == SDP_LAST_ACK)
		state = TCP_LAST_ACK;
	else if (c->state >= SDP_CLOSING)
		state = TCP_CLOSE;
	if (state != sk->sk_state)
		sdp_set_state(sk, state);
}

/* @how is part of what is shut now. With sdp_lock() */
static void sdp_sock_shut_link(struct sdp_sock *ssk, int how)
{
	struct sdp_conn *c = &ssk->link->conn;

	if (how & SEND_SHUTDOWN) {
		sdp_send_flush(ssk);
		sdp_state_event(c, SDP_EV_FIN);
	}
	if (sdp_sock(ssk)->sk_shutdown == SHUTDOWN_MASK)
		sdp_state_deaf(c);
}

static void sdp_unlock_any(struct sdp_sock *ssk, bool sleep)
	__releases(&ssk->inet.sk.sk_lock.slock)
{
	struct sdp_sock *listener = NULL;
	struct sdp_link *ending = NULL;
	struct sdp_link *push = NULL;
	u32 wake;

	if (ssk->link) {
		/* one that ends only now may have posted its last message, and has its endpoint */
		const bool ending = ssk->link->ending;

		if (unlikely(ssk->wake & SDP_WAKE_SHUT))
			sdp_sock_shut_link(ssk, sdp_sock(ssk)->sk_shutdown);
		sdp_conn_settle(ssk->link);
		sdp_sock_follow(ssk);
		if (!ending && sdp_conn_push_begin(ssk->link, sleep))
			push = ssk->link;
	}
	wake = ssk->wake;
	ssk->wake = 0;
	if (wake & SDP_WAKE_END)
		ending = ssk->link;
	if (wake & SDP_WAKE_ACCEPT && ssk->listener) {
		listener = ssk->listener;
		sock_hold(sdp_sock(listener));
	}
	/* it looks at the program's socket, which close() takes away under the lock */
	if (wake & SDP_WAKE_URGENT)
		sk_send_sigurg(sdp_sock(ssk));
	spin_unlock_bh(&sdp_sock(ssk)->sk_lock.slock);
	if (wake)
		sdp_sock_wake(ssk, wake, ending, listener);
	if (push)
		sdp_conn_push(push);
}

/**
 * sdp_unlock() - give the spinlock back, and do what was noted meanwhile
 * @ssk: socket; the caller has a reference on its sock
 *
 * Context: after sdp_lock().
 */
void sdp_unlock(struct sdp_sock *ssk)
	__releases(&ssk->inet.sk.sk_lock.slock)
{
	sdp_unlock_any(ssk, false);
}

/**
 * sdp_unlock_push() - the same; this thread may do the work of the RNIC
 * @ssk: socket
 *
 * For calls of programs that move data. Context: after sdp_lock(); may sleep.
 */
void sdp_unlock_push(struct sdp_sock *ssk)
	__releases(&ssk->inet.sk.sk_lock.slock)
{
	sdp_unlock_any(ssk, true);
}

/* Notices of the machine ******************************************************************* */

static void sdp_sock_keepalive(struct sdp_sock *ssk)
{
	struct sock *sk = sdp_sock(ssk);

	if (sock_flag(sk, SOCK_KEEPOPEN) && !ssk->closing)
		sk_reset_timer(sk, &sk->sk_timer,
			       jiffies + sdp_opt(ssk, IPPROTO_TCP, TCP_KEEPIDLE) * HZ);
}

/* The end, as the program has to learn it; with sdp_lock() */
static void sdp_sock_fail(struct sdp_sock *ssk, int error)
{
	struct sock *sk = sdp_sock(ssk);

	if (sk->sk_state == TCP_SYN_RECV)
		sdp_listen_failed(ssk);
	if (error && !ssk->closing)
		WRITE_ONCE(sk->sk_err, error);
	WRITE_ONCE(sk->sk_shutdown, SHUTDOWN_MASK);
	sdp_set_state(sk, TCP_CLOSE);
	sk_stop_timer(sk, &sk->sk_timer);
	ssk->wake |= SDP_WAKE_STATE | SDP_WAKE_IN;
	if (error)
		ssk->wake |= SDP_WAKE_ERROR;
}

/* connect() has failed: the socket may try again. With sdp_lock() */
static void sdp_sock_connect_failed(struct sdp_sock *ssk, int error)
{
	struct sock *sk = sdp_sock(ssk);

	WRITE_ONCE(sk->sk_err, error);
	WRITE_ONCE(sk->sk_shutdown, SHUTDOWN_MASK);
	sdp_set_state(sk, TCP_CLOSE);
	sk_stop_timer(sk, &sk->sk_timer);
	ssk->wake |= SDP_WAKE_STATE | SDP_WAKE_ERROR;
}

static void sdp_sock_refused(struct sdp_link *link)
{
	struct sdp_sock *ssk = link->ssk;

	if (sdp_sock(ssk)->sk_state != TCP_SYN_SENT) {
		sdp_sock_fail(ssk, ECONNRESET);
		return;
	}
	if (link->backlog && time_before(jiffies, ssk->deadline)) {
		ssk->wake |= SDP_WAKE_RETRY;
		return;
	}
	sdp_count(SDP_COUNT_REFUSED);
	sdp_sock_connect_failed(ssk, link->backlog ? ETIMEDOUT : -link->error ?: ECONNREFUSED);
}

static void sdp_sock_connected(struct sdp_sock *ssk)
{
	struct sock *sk = sdp_sock(ssk);

	sdp_count(SDP_COUNT_CONNECTED);
	sdp_set_state(sk, TCP_ESTABLISHED);
	sk_stop_timer(sk, &sk->sk_timer);
	sdp_sock_keepalive(ssk);
	sdp_listen_connected(ssk);
	ssk->wake |= SDP_WAKE_STATE | SDP_WAKE_OUT;
}

static void sdp_sock_reset(struct sdp_link *link)
{
	int error = ECONNRESET;

	/* the peer's end may be as new as this */
	if (link->conn.sink.fin)
		error = EPIPE;
	else if (link->error == -ETIMEDOUT)
		error = ETIMEDOUT;
	sdp_count(SDP_COUNT_RESETS);
	sdp_sock_fail(link->ssk, error);
}

/**
 * sdp_sock_notify() - the state machine reports something
 * @link: link of a socket
 * @what: enum sdp_notice
 *
 * Context: with sdp_lock(), inside of the machine.
 */
void sdp_sock_notify(struct sdp_link *link, enum sdp_notice what)
{
	struct sdp_sock *ssk = link->ssk;
	struct sock *sk = sdp_sock(ssk);

	switch (what) {
	case SDP_NOTICE_CONNECTED:
		sdp_sock_connected(ssk);
		break;
	case SDP_NOTICE_REFUSED:
		sdp_sock_refused(link);
		break;
	case SDP_NOTICE_TIMED_OUT:
		sdp_count(SDP_COUNT_TIMEOUTS);
		sdp_sock_fail(ssk, ETIMEDOUT);
		break;
	case SDP_NOTICE_RESET:
		sdp_sock_reset(link);
		break;
	case SDP_NOTICE_CLOSED:
		sdp_sock_fail(ssk, 0);
		break;
	case SDP_NOTICE_PEER_FIN:
		sock_set_flag(sk, SOCK_DONE);
		WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | RCV_SHUTDOWN);
		ssk->wake |= SDP_WAKE_STATE | SDP_WAKE_IN;
		break;
	case SDP_NOTICE_SRC_AVAIL:
		ssk->wake |= SDP_WAKE_READ;
		break;
	case SDP_NOTICE_URGENT:
		link->oob = SDP_OOB_PENDING;
		ssk->wake |= SDP_WAKE_URGENT;
		break;
	default:
		break;
	}
}

/* Timers *********************************************************************************** */

/* with sdp_lock(): is the peer still there? */
static void sdp_sock_keepalive_due(struct sdp_sock *ssk)
{
	const unsigned long idle = sdp_opt(ssk, IPPROTO_TCP, TCP_KEEPIDLE) * HZ;
	const unsigned long interval = sdp_opt(ssk, IPPROTO_TCP, TCP_KEEPINTVL) * HZ;
	const int count = sdp_opt(ssk, IPPROTO_TCP, TCP_KEEPCNT);
	struct sdp_link *link = ssk->link;
	struct sock *sk = sdp_sock(ssk);
	unsigned long next = idle;

	if (!sock_flag(sk, SOCK_KEEPOPEN))
		return;
	if (link->probe_out && time_after_eq(jiffies, link->last_in + idle + interval * count)) {
		link->error = -ETIMEDOUT;
		sdp_state_event(&link->conn, SDP_EV_DOWN);
		return;
	}
	if (time_before(jiffies, link->last_in + idle)) {
		next = link->last_in + idle - jiffies;
	} else {
		next = interval;
		if (!link->probe_out)
			sdp_conn_probe(link);
	}
	sk_reset_timer(sk, &sk->sk_timer, jiffies + max(next, 1UL));
}

/* softirq: the time for connecting, for closing, or for a probe is over */
static void sdp_sock_timer(struct timer_list *timer)
{
	struct sock *sk = from_timer(sk, timer, sk_timer);
	struct sdp_sock *ssk = sdp_sk(sk);

	sdp_lock(ssk);
	if (ssk->link && ssk->link->conn.state != SDP_DEAD) {
		if (ssk->closing || sk->sk_state == TCP_SYN_SENT)
			sdp_state_event(&ssk->link->conn, SDP_EV_TIMEOUT);
		else
			sdp_sock_keepalive_due(ssk);
	} else if (sk->sk_state == TCP_SYN_SENT) {
		/* between two attempts */
		sdp_sock_fail(ssk, ETIMEDOUT);
	}
	sdp_unlock(ssk);
	sock_put(sk);
}

/* SO_KEEPALIVE; the sock is locked */
static void sdp_sock_set_keepalive(struct sock *sk, int on)
{
	struct sdp_sock *ssk = sdp_sk(sk);

	sdp_lock(ssk);
	if (on && ssk->link && !ssk->closing && sk->sk_state != TCP_SYN_SENT &&
	    ssk->link->conn.state != SDP_DEAD)
		sk_reset_timer(sk, &sk->sk_timer,
			       jiffies + sdp_opt(ssk, IPPROTO_TCP, TCP_KEEPIDLE) * HZ);
	sdp_unlock(ssk);
}

/* Begin and end of a sock ****************************************************************** */

/* RCU: the last reference has gone */
static void sdp_sock_destruct(struct sock *sk)
{
	struct sdp_sock *ssk = sdp_sk(sk);

	sdp_diag_remove(ssk);
	if (ssk->listener)
		sock_put(sdp_sock(ssk->listener));
	mem_cgroup_put(ssk->memcg);
	sock_prot_inuse_add(sock_net(sk), sk->sk_prot, -1);
	WARN_ON(ssk->link);
	WARN_ON(!hlist_unhashed(&ssk->bound));
	WARN_ON(!list_empty(&ssk->node));
	inet_sock_destruct(sk);
	if (atomic_dec_and_test(&sdp_socks))
		wake_up(&sdp_socks_wait);
}

void sdp_sock_wait_all(void)
{
	wait_event(sdp_socks_wait, !atomic_read(&sdp_socks));
	rcu_barrier();
}

static void sdp_sock_retry(struct work_struct *work);

static void sdp_sock_setup(struct sock *sk)
{
	struct sdp_sock *ssk = sdp_sk(sk);

	sock_lock_init_class_and_name(sk, "slock-AF_INET_SDP", &sdp_sock_lock_keys[0],
				      "sk_lock-AF_INET_SDP", &sdp_sock_lock_keys[1]);
	lockdep_set_class_and_name(&sk->sk_callback_lock, &sdp_sock_callback_key,
				   "clock-AF_INET_SDP");
	atomic_inc(&sdp_socks);
	sk->sk_destruct = sdp_sock_destruct;
	if (sk->sk_socket)
		set_bit(SOCK_CUSTOM_SOCKOPT, &sk->sk_socket->flags);
	sk->sk_rcvbuf = READ_ONCE(sdp_rcvbuf);
	sk->sk_sndbuf = READ_ONCE(sdp_sndbuf);
	sock_set_flag(sk, SOCK_RCU_FREE);
	mutex_init(&ssk->link_mutex);
	mutex_init(&ssk->tx_mutex);
	mutex_init(&ssk->rx_mutex);
	atomic_set(&ssk->readers, 0);
	spin_lock_init(&ssk->accept_lock);
	INIT_HLIST_NODE(&ssk->bound);
	INIT_LIST_HEAD(&ssk->pending);
	INIT_LIST_HEAD(&ssk->queue);
	INIT_LIST_HEAD(&ssk->node);
	INIT_DELAYED_WORK(&ssk->retry, sdp_sock_retry);
	timer_setup(&sk->sk_timer, sdp_sock_timer, 0);
	timer_setup(&ssk->held_timer, sdp_send_timer, 0);
	sdp_opt_init(ssk);
	sdp_diag_add(ssk);
	sock_prot_inuse_add(sock_net(sk), sk->sk_prot, 1);
}

/*
 * A socket of the kernel belongs to no process, whichever one makes it: the root pays. References
 * to the root are not counted.
 */
static void sdp_sock_charge(struct sdp_sock *ssk)
{
	struct mem_cgroup *memcg = current->mm ? get_mem_cgroup_from_mm(current->mm) : NULL;
	struct mem_cgroup *payer = memcg;

	while (payer && sdp_sock(ssk)->sk_kern_sock && parent_mem_cgroup(payer))
		payer = parent_mem_cgroup(payer);
	if (payer != memcg)
		mem_cgroup_put(memcg);
	ssk->memcg = payer;
}

/* AF_INET and AF_INET6 with IPPROTO_SDP */
static int sdp_sock_init(struct sock *sk)
{
	sdp_sock_setup(sk);
	sdp_sk(sk)->registered = true;
	sdp_sock_charge(sdp_sk(sk));
	return 0;
}

/**
 * sdp_sock_new() - make a sock
 * @net: namespace
 * @family: AF_INET or AF_INET6
 * @sock: a program's socket, or NULL: of a connection that waits for accept()
 * @kern: for the kernel itself
 *
 * Return: the socket with one reference, or NULL. Context: may sleep.
 */
struct sdp_sock *sdp_sock_new(struct net *net, int family, struct socket *sock, bool kern)
{
	struct sdp_sock *ssk;
	struct sock *sk;

	sk = sk_alloc(net, family, GFP_KERNEL, &sdp_prot, kern);
	if (!sk)
		return NULL;
	sock_init_data(sock, sk);
	sk->sk_type = SOCK_STREAM;
	sk->sk_protocol = IPPROTO_SDP;
	sock_reset_flag(sk, SOCK_ZAPPED);
	ssk = sdp_sk(sk);
	inet_sk(sk)->uc_ttl = -1;
#if IS_ENABLED(CONFIG_IPV6)
	if (family == AF_INET6)
		inet_sk(sk)->pinet6 = &ssk->inet6;
#endif
	sdp_sock_setup(sk);
	if (sock)
		sdp_sock_charge(ssk);
	return ssk;
}

/**
 * sdp_sock_end_child() - what close() does besides the connection, for a sock without a program
 * @ssk: socket
 *
 * Context: may sleep.
 */
void sdp_sock_end_child(struct sdp_sock *ssk)
{
	struct sock *sk = sdp_sock(ssk);

	sk_stop_timer(sk, &sk->sk_timer);
	sk_stop_timer(sk, &ssk->held_timer);
	sdp_port_leave(ssk);
	sdp_set_state(sk, TCP_CLOSE);
	sock_set_flag(sk, SOCK_DEAD);
}

/* Return: its link, if that has ended; the caller puts it */
static struct sdp_link *sdp_sock_take_link(struct sdp_sock *ssk)
{
	struct sdp_link *link = ssk->link;

	if (link && link->ended)
		ssk->link = NULL;
	else
		link = NULL;
	return link;
}

/* Does close() reset the connection? With sdp_lock() */
static bool sdp_sock_close_resets(struct sdp_sock *ssk)
{
	struct sock *sk = sdp_sock(ssk);

	if (sock_flag(sk, SOCK_LINGER) && !sk->sk_lingertime)
		return true;
	/* as TCP: nobody waits for the peer's end */
	return sk->sk_state == TCP_FIN_WAIT2 && sdp_opt(ssk, IPPROTO_TCP, TCP_LINGER2) < 0;
}

/* The machine learns that no program is left. With sdp_lock() */
static void sdp_sock_close_link(struct sdp_sock *ssk, bool abort)
{
	struct sock *sk = sdp_sock(ssk);
	struct sdp_conn *c = &ssk->link->conn;

	if (c->state == SDP_DEAD)
		return;
	sdp_send_flush(ssk);
	if (abort)
		sdp_state_event(c, SDP_EV_ABORT);
	else
		sdp_state_close(c);
	sk_reset_timer(sk, &sk->sk_timer, jiffies + READ_ONCE(sdp_close_timeout_s) * HZ);
}

/* SO_LINGER: until all bytes and the end are with the peer */
static bool sdp_sock_lingers(struct sdp_sock *ssk)
{
	const struct sdp_link *link;
	bool lingers;

	sdp_lock(ssk);
	link = ssk->link;
	lingers = link && link->conn.state != SDP_DEAD &&
		  (link->conn.source.end != link->acked || !link->conn.source.fin_sent ||
		   link->sends_out);
	sdp_unlock(ssk);
	return lingers;
}

static void sdp_sock_linger(struct sdp_sock *ssk)
{
	struct sock *sk = sdp_sock(ssk);
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	long timeo = sk->sk_lingertime;

	if (!sock_flag(sk, SOCK_LINGER) || current->flags & PF_EXITING)
		return;
	add_wait_queue(sk_sleep(sk), &wait);
	while (timeo && !signal_pending(current) && sdp_sock_lingers(ssk))
		timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, timeo);
	remove_wait_queue(sk_sleep(sk), &wait);
}

static int sdp_sock_release(struct socket *sock)
{
	struct sock *sk = sock->sk;
	struct sdp_link *ended;
	struct sdp_sock *ssk;

	if (!sk)
		return 0;
	ssk = sdp_sk(sk);
	if (ssk->registered && !sk->sk_kern_sock)
		BPF_CGROUP_RUN_PROG_INET_SOCK_RELEASE(sk);
	lock_sock(sk);
	sdp_lock(ssk);
	ssk->closing = true;
	WRITE_ONCE(sk->sk_shutdown, SHUTDOWN_MASK);
	if (ssk->link)
		sdp_sock_close_link(ssk, sdp_sock_close_resets(ssk));
	sdp_unlock(ssk);
	sdp_listen_stop(ssk);
	sdp_sock_linger(ssk);
	release_sock(sk);
	if (cancel_delayed_work_sync(&ssk->retry))
		sock_put(sk);

	sdp_lock(ssk);
	ssk->released = true;
	if (!ssk->link || ssk->link->ended) {
		sdp_set_state(sk, TCP_CLOSE);
		sk_stop_timer(sk, &sk->sk_timer);
	}
	sk_stop_timer(sk, &ssk->held_timer);
	ended = sdp_sock_take_link(ssk);
	sock_orphan(sk);
	sock->sk = NULL;
	sdp_unlock(ssk);
	/* what its callbacks use may go when this returns */
	if (sk->sk_kern_sock)
		synchronize_rcu();
	sdp_port_leave(ssk);
	if (ended)
		sdp_conn_put(ended);
	sock_put(sk);
	return 0;
}

/* bind(), names **************************************************************************** */

static int sdp_sock_bind(struct socket *sock, struct sockaddr *address, int len)
{
	struct sock *sk = sock->sk;
	struct sdp_sock *ssk = sdp_sk(sk);
	struct sdp_end end;
	int rc;

	rc = sdp_end_from_user(sk, address, len, &end);
	/* TCP's order of errors depends on the family */
	if (!rc && sk->sk_family == AF_INET)
		rc = sdp_port_check(ssk, &end);
	if (rc)
		return rc;
	lock_sock(sk);
	if (sk->sk_state != TCP_CLOSE || sdp_port_bound(ssk))
		rc = -EINVAL;
	else if (sk->sk_family != AF_INET)
		rc = sdp_port_check(ssk, &end);
	if (!rc) {
		ssk->bound_by_user = false;
		sdp_port_leave(ssk);
		if (!end.port && sdp_opt(ssk, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT))
			sdp_port_bind_address(ssk, &end);
		else
			rc = sdp_port_bind(ssk, end);
	}
	if (!rc) {
		ssk->bound_by_user = true;
		ssk->given = ssk->local;
		sdp_opt_bound(ssk);
	}
	release_sock(sk);
	return rc;
}

static int sdp_sock_getname(struct socket *sock, struct sockaddr *address, int peer)
{
	struct sock *sk = sock->sk;
	struct sdp_sock *ssk = sdp_sk(sk);
	int state = sdp_get_state(sk);
	struct sdp_end end = ssk->local;

	if (peer) {
		/* accept() asks with 2, also for a connection that has ended */
		if (!ssk->remote.port ||
		    (peer == 1 && (1 << state) & (TCPF_CLOSE | TCPF_SYN_SENT | TCPF_LISTEN)))
			return -ENOTCONN;
		end = ssk->remote;
	} else if (!end.port && sk->sk_family == AF_INET) {
		ipv6_addr_set_v4mapped(htonl(INADDR_ANY), &end.ip);
	}
	return sdp_end_to_user(sk, &end, address);
}

/* connect() ******************************************************************************** */

/* Release a link that is dead, or dies now; there is no reader or writer. With link_mutex */
static void sdp_sock_let_go(struct sdp_sock *ssk)
{
	struct sdp_link *link;

	sdp_lock(ssk);
	link = ssk->link;
	if (link && link->conn.state != SDP_DEAD) {
		sdp_state_event(&link->conn, SDP_EV_ABORT);
		/* it may wait for the peer; the program does not */
		sdp_state_event(&link->conn, SDP_EV_DOWN);
	}
	sdp_unlock(ssk);
	sdp_lock(ssk);
	ssk->link = NULL;
	sdp_unlock(ssk);
	if (link)
		sdp_conn_put(link);
}

/**
 * sdp_sock_drop_link() - let go of a link that is dead, or dies now
 * @ssk: socket
 *
 * A reader or writer may still be at what the link has. Context: may sleep.
 */
void sdp_sock_drop_link(struct sdp_sock *ssk)
{
	mutex_lock(&ssk->rx_mutex);
	mutex_lock(&ssk->tx_mutex);
	mutex_lock(&ssk->link_mutex);
	sdp_sock_let_go(ssk);
	mutex_unlock(&ssk->link_mutex);
	mutex_unlock(&ssk->tx_mutex);
	mutex_unlock(&ssk->rx_mutex);
}

/**
 * sdp_sock_route_if() - device that a connection by the switch has to use
 * @route: route that the switch has found
 *
 * Return: its index; 0: the host's route is asked, because the destination is on this host.
 * Context: any.
 */
int sdp_sock_route_if(const struct offload_route *route)
{
	if (route->bound_if)
		return route->bound_if;
	return route->ifindex == LOOPBACK_IFINDEX ? 0 : route->ifindex;
}

/*
 * One attempt; the remote end is known, and link_mutex is held. @bind: may take a port. Return: 0
 * or a negative errno.
 */
static int sdp_sock_attempt(struct sdp_sock *ssk, bool bind)
{
	struct sockaddr_storage remote, local = {}, hop = {};
	struct sock *sk = sdp_sock(ssk);
	struct sdp_ot_device *device;
	struct sdp_end own, peer;
	struct sdp_link *link;
	int rc;

	sdp_end_to_storage(&ssk->remote, &remote);
	if (!sdp_end_is_any(&ssk->local.ip))
		sdp_end_to_storage(&ssk->local, &local);
	else
		local.ss_family = AF_UNSPEC;
	device = sdp_ot_route(sock_net(sk), &remote, &local, ssk->via_if ?: sk->sk_bound_dev_if,
			      &hop);
	if (IS_ERR(device))
		return PTR_ERR(device) == -ENODEV ? -ENETUNREACH : PTR_ERR(device);
	if (ssk->via.ss_family)
		hop = ssk->via;
	sdp_end_from_storage(&local, &own);
	if (bind && !ssk->local.port) {
		own.port = 0;
		rc = sdp_port_bind(ssk, own);
		if (rc) {
			device->ot->ops->device_put(device);
			return rc == -EADDRINUSE ? -EADDRNOTAVAIL : rc;
		}
	} else {
		sdp_port_narrow(ssk, &own);
	}
	ssk->inet.inet_dport = ssk->remote.port;
	link = sdp_conn_create(ssk, device);
	if (IS_ERR(link))
		return PTR_ERR(link);
	sdp_lock(ssk);
	sdp_end_from_storage(&hop, &link->hop);
	sdp_unlock(ssk);
	/* the transport's ports are its own: the Hello has those of the socket */
	own = ssk->local;
	own.port = 0;
	sdp_end_to_storage(&own, &local);
	peer = ssk->remote;
	peer.port = htons(sdp_ot_rendezvous_port);
	sdp_end_to_storage(&peer, &remote);
	return sdp_conn_connect(link, &local, &remote, &hop,
				READ_ONCE(sdp_connect_timeout_s) * MSEC_PER_SEC);
}

/* A work item of the socket: the peer's backlog was full. */
static void sdp_sock_retry(struct work_struct *work)
{
	struct sdp_sock *ssk = container_of(to_delayed_work(work), struct sdp_sock, retry);
	struct sock *sk = sdp_sock(ssk);
	int rc = 0;

	mutex_lock(&ssk->link_mutex);
	if (sdp_get_state(sk) == TCP_SYN_SENT && !READ_ONCE(ssk->closing)) {
		/* a connection that never was has neither readers nor writers */
		sdp_sock_let_go(ssk);
		rc = sdp_sock_attempt(ssk, false);
	}
	mutex_unlock(&ssk->link_mutex);
	if (rc) {
		sdp_lock(ssk);
		if (sk->sk_state == TCP_SYN_SENT && !ssk->link)
			sdp_sock_fail(ssk, -rc);
		sdp_unlock(ssk);
	}
	sock_put(sk);
}

/* states whose end by connect() is a reset */
#define SDP_RESETS	(TCPF_ESTABLISHED | TCPF_CLOSE_WAIT | TCPF_FIN_WAIT1 | TCPF_FIN_WAIT2 | \
			 TCPF_SYN_SENT | TCPF_SYN_RECV)

/* connect() with AF_UNSPEC: the socket is as after bind(), or as new */
static int sdp_sock_disconnect(struct socket *sock)
{
	struct sock *sk = sock->sk;
	struct sdp_sock *ssk = sdp_sk(sk);
	int error = 0;

	lock_sock(sk);
	/* readers and writers go home */
	sdp_lock(ssk);
	if (ssk->link && ssk->link->conn.state != SDP_DEAD)
		sdp_state_event(&ssk->link->conn, SDP_EV_ABORT);
	WRITE_ONCE(sk->sk_shutdown, SHUTDOWN_MASK);
	if ((1 << sk->sk_state) & SDP_RESETS)
		error = ECONNRESET;
	if (sk->sk_state != TCP_LISTEN)
		sdp_set_state(sk, TCP_CLOSE);
	sk_stop_timer(sk, &sk->sk_timer);
	sk_stop_timer(sk, &ssk->held_timer);
	ssk->wake |= SDP_WAKE_STATE;
	sdp_unlock(ssk);
	sdp_listen_stop(ssk);
	sdp_sock_drop_link(ssk);
	sdp_port_restore(ssk);
	sdp_lock(ssk);
	memset(&ssk->remote, 0, sizeof(ssk->remote));
	sdp_set_state(sk, TCP_CLOSE);
	sock_reset_flag(sk, SOCK_DONE);
	/* the program hears of its own reset, as on TCP */
	if (error)
		WRITE_ONCE(sk->sk_err, error);
	WRITE_ONCE(sk->sk_shutdown, 0);
	sock->state = SS_UNCONNECTED;
	ssk->wake |= SDP_WAKE_STATE;
	sdp_unlock(ssk);
	release_sock(sk);
	return 0;
}

/* The sock is locked, and closed. */
static int sdp_sock_connect_start(struct sdp_sock *ssk, const struct sdp_end *end)
{
	struct sock *sk = sdp_sock(ssk);
	const unsigned long limit = READ_ONCE(sdp_connect_timeout_s) * HZ;
	int rc;

	if (sock_flag(sk, SOCK_DONE))
		return -EISCONN;
	/* of an attempt that failed */
	sdp_sock_drop_link(ssk);
	mutex_lock(&ssk->link_mutex);
	sdp_port_restore(ssk);
	ssk->remote = *end;
	if (ipv6_addr_any(&end->ip))
		ssk->remote.ip = in6addr_loopback;
	else if (sdp_end_is_any(&end->ip))
		ssk->remote.ip.s6_addr32[3] = htonl(INADDR_LOOPBACK);
	if (!end->port) {
		/* as TCP: no such listener, and a connect that does not wait learns it later */
		sdp_lock(ssk);
		sdp_sock_connect_failed(ssk, ECONNREFUSED);
		sdp_unlock(ssk);
		ssk->used = true;
		mutex_unlock(&ssk->link_mutex);
		return 0;
	}
	ssk->deadline = jiffies + limit;
	ssk->tries = 0;
	sdp_count(SDP_COUNT_CONNECTS);
	sdp_lock(ssk);
	WRITE_ONCE(sk->sk_err, 0);
	sdp_set_state(sk, TCP_SYN_SENT);
	sk_reset_timer(sk, &sk->sk_timer, ssk->deadline);
	sdp_unlock(ssk);
	rc = sdp_sock_attempt(ssk, true);
	ssk->used = true;
	mutex_unlock(&ssk->link_mutex);
	if (!rc)
		return 0;
	sdp_lock(ssk);
	sdp_set_state(sk, TCP_CLOSE);
	sk_stop_timer(sk, &sk->sk_timer);
	sdp_unlock(ssk);
	return rc;
}

/* The sock is locked; it is not meanwhile. Return: time that is left, 0 or less: none. */
static long sdp_sock_connect_wait(struct sock *sk, long timeo)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);

	add_wait_queue(sk_sleep(sk), &wait);
	while (sdp_get_state(sk) == TCP_SYN_SENT && timeo && !signal_pending(current)) {
		release_sock(sk);
		timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, timeo);
		lock_sock(sk);
	}
	remove_wait_queue(sk_sleep(sk), &wait);
	return timeo;
}

/* The sock is locked; connect() is under way or over. */
static int sdp_sock_connect_finish(struct socket *sock, int flags, int under_way)
{
	struct sock *sk = sock->sk;
	long timeo = sock_sndtimeo(sk, flags & O_NONBLOCK);

	/* the answer may be here already; a call that does not wait has TCP's result */
	if (!timeo && (under_way == -EINPROGRESS || sdp_get_state(sk) == TCP_SYN_SENT))
		return under_way;
	if (sdp_get_state(sk) == TCP_SYN_SENT) {
		timeo = sdp_sock_connect_wait(sk, timeo);
		if (sdp_get_state(sk) == TCP_SYN_SENT)
			return signal_pending(current) ? sock_intr_errno(timeo) : -EINPROGRESS;
	}
	if (sk->sk_state == TCP_CLOSE) {
		sock->state = SS_UNCONNECTED;
		WRITE_ONCE(sk->sk_shutdown, 0);
		return sock_error(sk) ?: -ECONNABORTED;
	}
	sock->state = SS_CONNECTED;
	return 0;
}

/* The sock is locked. */
static int sdp_sock_connect_locked(struct socket *sock, const struct sockaddr *address, int len,
				   int flags, const struct offload_route *route)
{
	struct sock *sk = sock->sk;
	struct sdp_sock *ssk = sdp_sk(sk);
	struct sdp_end end;
	int rc;

	switch (sock->state) {
	case SS_UNCONNECTED:
		if (sk->sk_state != TCP_CLOSE)
			return -EISCONN;
		rc = sdp_end_from_user(sk, address, len, &end);
		if (rc)
			return rc;
		mutex_lock(&ssk->link_mutex);
		ssk->via_if = route ? sdp_sock_route_if(route) : 0;
		ssk->via.ss_family = AF_UNSPEC;
		if (route)
			ssk->via = *route->first_hop;
		mutex_unlock(&ssk->link_mutex);
		rc = sdp_sock_connect_start(ssk, &end);
		if (rc)
			return rc;
		sock->state = SS_CONNECTING;
		return sdp_sock_connect_finish(sock, flags, -EINPROGRESS);
	case SS_CONNECTING:
		return sdp_sock_connect_finish(sock, flags, -EALREADY);
	case SS_CONNECTED:
		return -EISCONN;
	default:
		return -EINVAL;
	}
}

/**
 * sdp_sock_connect_via() - connect() by a route that is known
 * @sock: socket
 * @address: the peer's
 * @len: its length
 * @flags: O_NONBLOCK
 * @route: the switch's route, or NULL: the host is asked for one
 *
 * Return: 0 or a negative errno as TCP's. Context: may sleep.
 */
int sdp_sock_connect_via(struct socket *sock, struct sockaddr *address, int len, int flags,
			 const struct offload_route *route)
{
	int rc;

	if (len < sizeof(address->sa_family))
		return -EINVAL;
	if (address->sa_family == AF_UNSPEC)
		return sdp_sock_disconnect(sock);
	lock_sock(sock->sk);
	rc = sdp_sock_connect_locked(sock, address, len, flags, route);
	release_sock(sock->sk);
	return rc;
}

/**
 * sdp_sock_connect() - connect() of a program
 * @sock: socket
 * @address: the peer's
 * @len: its length
 * @flags: O_NONBLOCK
 *
 * Return: 0 or a negative errno as TCP's. Context: may sleep.
 */
int sdp_sock_connect(struct socket *sock, struct sockaddr *address, int len, int flags)
{
	return sdp_sock_connect_via(sock, address, len, flags, NULL);
}

/* shutdown(), poll() *********************************************************************** */

static int sdp_sock_shutdown(struct socket *sock, int how)
{
	struct sock *sk = sock->sk;
	struct sdp_sock *ssk = sdp_sk(sk);
	bool stop = false;
	int rc = 0;

	how++;		/* SHUT_RD, SHUT_WR, SHUT_RDWR are RCV_SHUTDOWN, SEND_SHUTDOWN, both */
	if (how & ~SHUTDOWN_MASK || !how)
		return -EINVAL;
	lock_sock(sk);
	sdp_lock(ssk);
	switch (sk->sk_state) {
	case TCP_CLOSE:
		/* as TCP: a connect that has failed is not made again */
		if (sock->state == SS_CONNECTING)
			sock->state = SS_DISCONNECTING;
		/* a later connection has it, too */
		WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | how);
		rc = -ENOTCONN;
		break;
	case TCP_LISTEN:
		/* as TCP: it keeps its port, and may listen or connect again */
		stop = how & RCV_SHUTDOWN;
		if (stop) {
			WRITE_ONCE(sk->sk_shutdown, 0);
			sdp_set_state(sk, TCP_CLOSE);
		}
		break;
	case TCP_SYN_SENT:
		if (ssk->link)
			sdp_state_event(&ssk->link->conn, SDP_EV_ABORT);
		WRITE_ONCE(sk->sk_err, ECONNRESET);
		WRITE_ONCE(sk->sk_shutdown, 0);
		sdp_set_state(sk, TCP_CLOSE);
		sk_stop_timer(sk, &sk->sk_timer);
		sock->state = SS_UNCONNECTED;
		break;
	default:
		WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | how);
		if (ssk->link)
			sdp_sock_shut_link(ssk, how);
	}
	ssk->wake |= SDP_WAKE_STATE;
	sdp_unlock(ssk);
	if (stop)
		sdp_listen_stop(ssk);
	release_sock(sk);
	return rc;
}

/* with sdp_lock(); @wait: the program's calls may wait */
static __poll_t sdp_poll_connection(struct sdp_sock *ssk, bool wait)
{
	const struct sock *sk = sdp_sock(ssk);
	__poll_t mask = 0;

	if (sdp_recv_ready(ssk, wait))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (ssk->link && ssk->link->oob == SDP_OOB_THERE)
		mask |= EPOLLPRI;
	if (sk->sk_shutdown & SEND_SHUTDOWN || sdp_send_room(ssk))
		mask |= EPOLLOUT | EPOLLWRNORM;
	else
		ssk->nospace = true;
	return mask;
}

static __poll_t sdp_sock_poll(struct file *file, struct socket *sock,
			      struct poll_table_struct *wait)
{
	struct sock *sk = sock->sk;
	struct sdp_sock *ssk = sdp_sk(sk);
	__poll_t mask = 0;
	int state;

	sock_poll_wait(file, sock, wait);
	state = sdp_get_state(sk);
	if (state == TCP_LISTEN)
		return list_empty_careful(&ssk->queue) ? 0 : EPOLLIN | EPOLLRDNORM;
	sdp_lock(ssk);
	state = sk->sk_state;
	if (sk->sk_shutdown == SHUTDOWN_MASK || state == TCP_CLOSE)
		mask |= EPOLLHUP;
	if (sk->sk_shutdown & RCV_SHUTDOWN)
		mask |= EPOLLIN | EPOLLRDNORM | EPOLLRDHUP;
	if (state != TCP_SYN_SENT)
		mask |= sdp_poll_connection(ssk, !file || !(file->f_flags & O_NONBLOCK));
	if (READ_ONCE(sk->sk_err) || !skb_queue_empty_lockless(&sk->sk_error_queue))
		mask |= EPOLLERR;
	sdp_unlock(ssk);
	if (!(mask & EPOLLOUT))
		sk_set_bit(SOCKWQ_ASYNC_NOSPACE, sk);
	return mask;
}

/* Operations ******************************************************************************* */

static int sdp_prot_hash(struct sock *sk)
{
	return 0;
}

static void sdp_prot_unhash(struct sock *sk)
{
}

/* No owner: sockets of the switch that are not connected let go of a protocol that unloads. */
struct proto sdp_prot = {
	.name			= "SDP",
	.init			= sdp_sock_init,
	.hash			= sdp_prot_hash,
	.unhash			= sdp_prot_unhash,
	.keepalive		= sdp_sock_set_keepalive,
	.obj_size		= sizeof(struct sdp_sock),
	.ipv6_pinfo_offset	= offsetof(struct sdp_sock, inet6),
};

#define SDP_OPS(family_)					\
	.family			= family_,			\
	.owner			= THIS_MODULE,			\
	.release		= sdp_sock_release,		\
	.bind			= sdp_sock_bind,		\
	.connect		= sdp_sock_connect,		\
	.socketpair		= sock_no_socketpair,		\
	.accept			= sdp_sock_accept,		\
	.getname		= sdp_sock_getname,		\
	.poll			= sdp_sock_poll,		\
	.ioctl			= sdp_sock_ioctl,		\
	.gettstamp		= sock_gettstamp,		\
	.listen			= sdp_sock_listen,		\
	.shutdown		= sdp_sock_shutdown,		\
	.setsockopt		= sdp_sock_setsockopt,		\
	.getsockopt		= sdp_sock_getsockopt,		\
	.sendmsg		= sdp_sock_sendmsg,		\
	.splice_eof		= sdp_sock_splice_eof,		\
	.recvmsg		= sdp_sock_recvmsg,		\
	.mmap			= sock_no_mmap

const struct proto_ops sdp_ops = { SDP_OPS(PF_INET) };
const struct proto_ops sdp_ops6 = { SDP_OPS(PF_INET6) };
