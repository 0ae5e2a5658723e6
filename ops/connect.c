// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * connect(): the offload protocols in order of priority, then TCP.
 *
 * The first attempt begins in the caller's thread. Its leg's events, and the end of the budget,
 * start a work item, which hands off or begins the next attempt. So a caller with O_NONBLOCK is
 * never held up, and a caller that waits does so at the user's socket and may be interrupted: the
 * attempt continues, and another connect() waits for it.
 *
 * TCP is last, and from there all is TCP's own: in the caller's thread the socket is handed off
 * first, and the caller continues in TCP's connect(). In the work item TCP's leg begins to connect,
 * and is handed off as it connects. Only sockets of one explicit protocol come to OPS_FAILED.
 *
 * A leg that was seen established wins, even if it is reset by then: the peer's program may know
 * of it, so there is no second connection.
 */
#include <linux/bpf-cgroup.h>
#include <linux/sched/signal.h>
#include <linux/tcp.h>
#include <net/ip.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/ipv6_stubs.h>
#include <net/route.h>

#include "ops.h"

struct workqueue_struct *ops_wq;

/* what an attempt, or all of them, come to; else an errno */
enum {
	OPS_CONNECT_DONE = 0,	/* handed off to an offload protocol */
	OPS_CONNECT_TCP = 1,	/* all others failed */
};

/* Work items *************************************************************** */

/**
 * ops_connect_kick() - let the work item look at the attempt
 * @osk: ops_sock, which cannot go away now
 *
 * Context: any.
 */
void ops_connect_kick(struct ops_sock *osk)
{
	sock_hold(&osk->inet.sk);
	if (!queue_delayed_work(ops_wq, &osk->next, 0))
		__sock_put(&osk->inet.sk);
}

static void ops_connect_begin_budget(struct ops_sock *osk)
{
	unsigned long budget = msecs_to_jiffies(READ_ONCE(ops_connect_budget_ms));

	osk->deadline = jiffies + budget;
	sock_hold(&osk->inet.sk);
	if (mod_delayed_work(ops_wq, &osk->budget, budget))
		__sock_put(&osk->inet.sk);
}

/* An event of the leg that connects. Interrupts are off; the leg's wait queue is locked. */
static int ops_connect_event(wait_queue_entry_t *event, unsigned int mode, int flags, void *key)
{
	struct ops_leg *leg = container_of(event, struct ops_leg, event);
	int state = inet_sk_state_load(leg->sock->sk);

	if ((1 << state) & (TCPF_SYN_SENT | TCPF_SYN_RECV))
		return 0;
	if (state != TCP_CLOSE)
		WRITE_ONCE(leg->established, true);
	ops_connect_kick(leg->osk);
	return 0;
}

/**
 * ops_connect_end() - no attempt is under way any more
 * @osk: ops_sock; with the mutex
 *
 * Context: the work items may call it themselves.
 */
void ops_connect_end(struct ops_sock *osk)
{
	int attempt = osk->attempt;

	lockdep_assert_held(&osk->mutex);
	osk->attempt = -1;
	if (attempt >= 0 && osk->legs[attempt].sock)
		ops_leg_unwatch(&osk->legs[attempt]);
	if (cancel_delayed_work(&osk->budget))
		__sock_put(&osk->inet.sk);
	if (cancel_delayed_work(&osk->next))
		__sock_put(&osk->inet.sk);
}

/* Route ******************************************************************** */

/* an offload_route with its addresses */
struct ops_connect_route {
	struct offload_route route;
	struct sockaddr_storage source;
	struct sockaddr_storage destination;
	struct sockaddr_storage first_hop;
};

static bool ops_connect_is_v4(const struct sockaddr_storage *address, __be32 *v4)
{
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)address;

	if (address->ss_family == AF_INET) {
		*v4 = ((const struct sockaddr_in *)address)->sin_addr.s_addr;
		return true;
	}
	*v4 = sin6->sin6_addr.s6_addr32[3];
	return address->ss_family == AF_INET6 && ipv6_addr_v4mapped(&sin6->sin6_addr);
}

/* @v4 in the family of @like, with its port */
static void ops_connect_set_v4(struct sockaddr_storage *address,
			       const struct sockaddr_storage *like, __be32 v4)
{
	if (address != like)
		*address = *like;
	if (like->ss_family == AF_INET)
		((struct sockaddr_in *)address)->sin_addr.s_addr = v4;
	else
		ipv6_addr_set_v4mapped(v4, &((struct sockaddr_in6 *)address)->sin6_addr);
}

static int ops_connect_route4(struct ops_connect_route *to, const struct sock *sk, __be32 daddr)
{
	struct flowi4 fl4 = {
		.daddr = daddr,
		.flowi4_oif = to->route.bound_if,
		.flowi4_mark = to->route.mark,
		.flowi4_proto = IPPROTO_TCP,
		.flowi4_tos = ip_sock_rt_tos(sk),
		.flowi4_scope = ip_sock_rt_scope(sk),
		.flowi4_uid = sk->sk_uid,
	};
	struct rtable *rt;

	if (inet_test_bit(TRANSPARENT, sk))
		fl4.flowi4_flags = FLOWI_FLAG_ANYSRC;
	if (!ops_connect_is_v4(&to->source, &fl4.saddr))
		fl4.saddr = 0;
	rt = ip_route_output_key(to->route.net, &fl4);
	if (IS_ERR(rt))
		return PTR_ERR(rt);
	if (rt->rt_flags & (RTCF_MULTICAST | RTCF_BROADCAST)) {
		ip_rt_put(rt);
		return -ENETUNREACH;
	}
	/* the address 0 is this host */
	ops_connect_set_v4(&to->destination, &to->destination, fl4.daddr);
	to->first_hop = to->destination;
	if (rt->rt_gw_family == AF_INET)
		ops_connect_set_v4(&to->first_hop, &to->destination, rt->rt_gw4);
	else if (rt->rt_gw_family)
		to->first_hop.ss_family = AF_UNSPEC;
	to->route.ifindex = rt->dst.dev->ifindex;
	ip_rt_put(rt);
	return 0;
}

static int ops_connect_route6(struct ops_connect_route *to, const struct sock *sk)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&to->destination;
	struct sockaddr_in6 *hop = (struct sockaddr_in6 *)&to->first_hop;
	struct flowi6 fl6 = {
		.flowi6_oif = to->route.bound_if,
		.flowi6_mark = to->route.mark,
		.flowi6_proto = IPPROTO_TCP,
		.flowi6_uid = sk->sk_uid,
	};
	struct dst_entry *dst;

	if (ipv6_addr_any(&sin6->sin6_addr))
		sin6->sin6_addr = in6addr_loopback;
	if (ipv6_addr_is_multicast(&sin6->sin6_addr))
		return -ENETUNREACH;
	fl6.daddr = sin6->sin6_addr;
	if (__ipv6_addr_needs_scope_id(__ipv6_addr_type(&fl6.daddr)) && sin6->sin6_scope_id)
		fl6.flowi6_oif = sin6->sin6_scope_id;
	if (to->source.ss_family == AF_INET6)
		fl6.saddr = ((struct sockaddr_in6 *)&to->source)->sin6_addr;
	dst = ipv6_stub->ipv6_dst_lookup_flow(to->route.net, NULL, &fl6, NULL);
	if (IS_ERR(dst))
		return PTR_ERR(dst);
	to->first_hop = to->destination;
	hop->sin6_addr = *rt6_nexthop((struct rt6_info *)dst, &fl6.daddr);
	to->route.ifindex = dst->dev->ifindex;
	dst_release(dst);
	return 0;
}

/* Where the connection would go. Return: 0, or the errno of the host's route table. */
static int ops_connect_find_route(struct ops_sock *osk, struct ops_connect_route *to)
{
	struct ops_leg *first = ops_leg_first(osk);
	struct sock *sk = ops_leg_sk(osk);
	__be32 v4;

	*to = (struct ops_connect_route) {
		.route = {
			.net = sock_net(sk),
			.bound_if = READ_ONCE(sk->sk_bound_dev_if),
			.mark = READ_ONCE(sk->sk_mark),
			.source = &to->source,
			.destination = &to->destination,
			.first_hop = &to->first_hop,
		},
		.destination = osk->target,
	};
	if (!first || first->sock->ops->getname(first->sock, (struct sockaddr *)&to->source, 0) < 0)
		to->source.ss_family = AF_UNSPEC;
	if (ops_connect_is_v4(&osk->target, &v4))
		return ops_connect_route4(to, sk, v4);
	return ops_connect_route6(to, sk);
}

/* An attempt *************************************************************** */

/* May the leg be asked? 0; or the errno, and why not. */
static int ops_connect_may(struct ops_sock *osk, struct ops_leg *leg, struct ops_connect_route *to,
			   enum ops_reason *reason)
{
	const struct offload_protosw *sw = leg->proto->sw;
	int err;

	*reason = OPS_REASON_RULE;
	if (!ops_policy(&osk->inet.sk, &osk->target, false, leg->proto))
		return -EACCES;
	*reason = OPS_REASON_PEER;
	/* who asks for one protocol has no other */
	if (osk->wants != OPS_WANTS_PROTOCOL &&
	    ops_peer_is_bad(sock_net(&osk->inet.sk), leg->proto, &osk->target))
		return -EHOSTUNREACH;
	*reason = OPS_REASON_NO_ROUTE;
	err = ops_connect_find_route(osk, to);
	if (err && !(sw->caps & OFFLOAD_SELF_ROUTING))
		return err;
	*reason = OPS_REASON_NOT_OFFERED;
	return sw->offers ? sw->offers(&to->route) : 0;
}

static int ops_connect_attempt(struct ops_leg *leg, const struct ops_connect_route *to)
{
	const struct offload_protosw *sw = leg->proto->sw;
	struct sockaddr_storage address = leg->osk->target;
	struct sockaddr *peer = (struct sockaddr *)&address;
	int len = leg->osk->peer_len;

	leg->established = false;
	ops_leg_watch(leg, ops_connect_event);
	if (sw->caps & OFFLOAD_FIRST_HOP)
		return sw->connect_via(leg->sock, peer, len, O_NONBLOCK, &to->route);
	return leg->sock->ops->connect(leg->sock, peer, len, O_NONBLOCK);
}

/* What is with the leg that connects? -EINPROGRESS, 0 or what its connect failed with. */
static int ops_connect_verdict(struct ops_leg *leg)
{
	struct sock *sk;
	int state;

	if (!leg->sock)
		return -ENETDOWN;
	if (READ_ONCE(leg->established))
		return 0;
	sk = leg->sock->sk;
	state = inet_sk_state_load(sk);
	if ((1 << state) & (TCPF_SYN_SENT | TCPF_SYN_RECV))
		return -EINPROGRESS;
	if (state != TCP_CLOSE)
		return 0;
	return sock_error(sk) ?: -ECONNABORTED;
}

/* Says the error something of the peer? */
static bool ops_connect_blames_peer(int err)
{
	switch (err) {
	case -ECONNREFUSED:
	case -ECONNRESET:
	case -ECONNABORTED:
	case -ETIMEDOUT:
	case -EHOSTUNREACH:
	case -ENETUNREACH:
	case -EPROTO:
	case -EPROTONOSUPPORT:
	case -EOPNOTSUPP:
		return true;
	default:
		return false;
	}
}

static enum ops_reason ops_connect_reason(int err)
{
	switch (err) {
	case -ECONNREFUSED:
		return OPS_REASON_REFUSED;
	case -ETIMEDOUT:
		return OPS_REASON_TIMEOUT;
	default:
		return OPS_REASON_ERROR;
	}
}

/* Ask a leg to be what it was before connect(); one that cannot is dropped. */
static void ops_connect_reset(struct ops_leg *leg)
{
	struct sockaddr nowhere = { .sa_family = AF_UNSPEC };

	if (leg->sock && leg->sock->ops->connect(leg->sock, &nowhere, sizeof(nowhere), O_NONBLOCK))
		ops_leg_drop(leg);
}

/* The attempt failed. Return: true: go on with the next leg. */
static bool ops_connect_lost(struct ops_sock *osk, struct ops_leg *leg, int err)
{
	struct net *net = sock_net(&osk->inet.sk);
	bool native = ops_native(osk);

	ops_connect_end(osk);
	osk->attempt = leg - osk->legs;
	ops_count(net, ops_connect_reason(err));
	if (ops_decide(OPS_CALL_CONNECT, osk->wants, true, native, err, false) == OPS_FAIL) {
		ops_connect_reset(leg);
		return false;
	}
	if (ops_connect_blames_peer(err))
		ops_peer_bad(net, leg->proto, &osk->target);
	/* the next connect() may be to another peer, so the leg stays if it can */
	ops_connect_reset(leg);
	return true;
}

/* ops_handoff() wakes waiters for a connection; an error, or one that has ended, is news, too. */
static void ops_connect_hand_off(struct ops_sock *osk, struct socket *sock, struct ops_leg *leg)
{
	struct sock *sk = leg->sock->sk;
	int state;

	ops_connect_end(osk);
	/* after the hand-off the user may close the socket at any time */
	sock_hold(sk);
	osk->offloaded = leg->proto->sw;
	ops_handoff(osk, sock, leg);
	state = inet_sk_state_load(sk);
	if (READ_ONCE(sk->sk_err))
		sk_error_report(sk);
	else if (!((1 << state) & (TCPF_SYN_SENT | TCPF_SYN_RECV | TCPF_ESTABLISHED)))
		sk_wake_async(sk, SOCK_WAKE_IO, POLL_OUT);
	sock_put(sk);
}

static void ops_connect_won(struct ops_sock *osk, struct socket *sock, struct ops_leg *leg)
{
	ops_count(sock_net(&osk->inet.sk), OPS_REASON_OFFLOADED);
	if (leg->sock->state == SS_UNCONNECTED)
		leg->sock->state = SS_CONNECTED;
	ops_connect_hand_off(osk, sock, leg);
}

/*
 * Go on after the leg osk->attempt, -1: begin. Return: OPS_CONNECT_*; -EINPROGRESS: an attempt is
 * under way; another errno: nothing is left.
 */
static int ops_connect_next(struct ops_sock *osk, struct socket *sock)
{
	struct net *net = sock_net(&osk->inet.sk);
	int err, failed = -ENETUNREACH;
	struct ops_connect_route to;
	enum ops_reason reason;
	struct ops_leg *leg;
	bool asked = false;
	u32 i;

	for (i = osk->attempt + 1; i < osk->num; i++) {
		leg = &osk->legs[i];
		if (!leg->sock || !leg->proto->sw)
			continue;
		asked = true;
		err = ops_connect_may(osk, leg, &to, &reason);
		if (err) {
			ops_count(net, reason);
			failed = err;
			continue;
		}
		osk->attempt = i;
		err = ops_connect_attempt(leg, &to);
		/* the event may have been before the answer */
		if (err == -EINPROGRESS)
			err = ops_connect_verdict(leg);
		if (err == -EINPROGRESS) {
			if (osk->wants != OPS_WANTS_PROTOCOL)
				ops_connect_begin_budget(osk);
			return err;
		}
		if (!err) {
			ops_connect_won(osk, sock, leg);
			return OPS_CONNECT_DONE;
		}
		failed = err;
		if (!ops_connect_lost(osk, leg, err))
			return err;
	}
	if (!asked && osk->attempt < 0)
		ops_count(net, OPS_REASON_NO_PROTOCOL);
	osk->attempt = -1;
	return ops_native(osk) ? OPS_CONNECT_TCP : failed;
}

/* In the work item: TCP begins, and what it says is the verdict. */
static void ops_connect_native(struct ops_sock *osk, struct socket *sock)
{
	struct ops_leg *leg = ops_native(osk);
	struct sockaddr_storage address = osk->peer;
	struct sock *sk = leg->sock->sk;
	int err;

	err = leg->sock->ops->connect(leg->sock, (struct sockaddr *)&address, osk->peer_len,
				      O_NONBLOCK);
	if (err && err != -EINPROGRESS) {
		/* connect() has returned long ago: as if TCP had failed later */
		lock_sock(sk);
		WRITE_ONCE(sk->sk_err, -err);
		WRITE_ONCE(sk->sk_shutdown, SHUTDOWN_MASK);
		leg->sock->state = SS_CONNECTING;
		release_sock(sk);
	}
	ops_connect_hand_off(osk, sock, leg);
}

static void ops_connect_failed(struct ops_sock *osk, struct socket *sock, int err)
{
	struct sock *sk = &osk->inet.sk;

	ops_connect_end(osk);
	WRITE_ONCE(sk->sk_err, -err);
	osk->state = OPS_FAILED;
	sk->sk_state_change(sk);
	sk_error_report(sk);
}

/* The attempt's verdict is there, or the budget is over. With the mutex, in a work item. */
static void ops_connect_go_on(struct ops_sock *osk, bool over)
{
	struct socket *sock = osk->inet.sk.sk_socket;
	struct ops_leg *leg = &osk->legs[osk->attempt];
	int err = ops_connect_verdict(leg);

	if (err == -EINPROGRESS) {
		if (!over)
			return;
		err = -ETIMEDOUT;
	}
	if (!err) {
		ops_connect_won(osk, sock, leg);
		return;
	}
	if (ops_connect_lost(osk, leg, err))
		err = ops_connect_next(osk, sock);
	if (err == OPS_CONNECT_TCP)
		ops_connect_native(osk, sock);
	else if (err < 0 && err != -EINPROGRESS)
		ops_connect_failed(osk, sock, err);
}

/* One user may hold the mutex for long, so the worker, which serves all, comes back later. */
static void ops_connect_work(struct ops_sock *osk, struct delayed_work *work, bool over)
{
	if (!mutex_trylock(&osk->mutex)) {
		/* its reference on the sock is used further, unless another thread was faster */
		if (!queue_delayed_work(ops_wq, work, 1))
			sock_put(&osk->inet.sk);
		return;
	}
	if (osk->state == OPS_CONNECTING && osk->attempt >= 0)
		ops_connect_go_on(osk, over && time_after_eq(jiffies, osk->deadline));
	mutex_unlock(&osk->mutex);
	sock_put(&osk->inet.sk);
}

static void ops_connect_next_work(struct work_struct *work)
{
	struct ops_sock *osk = container_of(to_delayed_work(work), struct ops_sock, next);

	ops_connect_work(osk, &osk->next, false);
}

static void ops_connect_budget_work(struct work_struct *work)
{
	struct ops_sock *osk = container_of(to_delayed_work(work), struct ops_sock, budget);

	ops_connect_work(osk, &osk->budget, true);
}

/* The caller *************************************************************** */

/* What TCP finds wrong with an address, before anything is done with it. */
static int ops_connect_check(const struct ops_sock *osk, const struct sockaddr *address, int len)
{
	if (len < (osk->family == AF_INET6 ? SIN6_LEN_RFC2133 : sizeof(struct sockaddr_in)))
		return -EINVAL;
	return address->sa_family == osk->family ? 0 : -EAFNOSUPPORT;
}

/*
 * The programs of the cgroup may forbid the connection, or send it somewhere else. TCP, whose
 * turn may come, asks them itself, so the user's address stays.
 */
static int ops_connect_ask_cgroup(struct ops_sock *osk)
{
	struct sockaddr *address __maybe_unused = (struct sockaddr *)&osk->target;
	struct sock *sk = ops_leg_sk(osk);
	int len __maybe_unused = osk->peer_len;
	int err;

	lock_sock(sk);
	if (osk->family == AF_INET6)
		err = BPF_CGROUP_RUN_PROG_INET6_CONNECT(sk, address, &len);
	else
		err = BPF_CGROUP_RUN_PROG_INET4_CONNECT(sk, address, &len);
	release_sock(sk);
	return err;
}

/* Data in the SYN, or a connection that is repaired: what only TCP has. */
static bool ops_connect_wants_native(struct ops_sock *osk)
{
	struct ops_leg *leg = ops_native(osk);

	if (!leg || !(tcp_sk(leg->sock->sk)->fastopen_connect || tcp_sk(leg->sock->sk)->repair))
		return false;
	ops_count(sock_net(&osk->inet.sk), OPS_REASON_FAST_OPEN);
	return true;
}

static bool ops_connect_has_offload(const struct ops_sock *osk)
{
	u32 i;

	for (i = 0; i < osk->num; i++)
		if (osk->legs[i].sock && osk->legs[i].proto->sw)
			return true;
	return false;
}

/* Begin. Return: as ops_connect_next(). */
static int ops_connect_begin(struct ops_sock *osk, struct socket *sock,
			     const struct sockaddr *address, int len)
{
	int err = ops_connect_check(osk, address, len);

	if (err)
		return err;
	osk->peer_len = min_t(int, len, sizeof(osk->peer));
	memcpy(&osk->peer, address, osk->peer_len);
	osk->target = osk->peer;
	osk->attempt = -1;
	WRITE_ONCE(osk->inet.sk.sk_err, 0);
	if (!ops_leg_first(osk))
		return -ENETDOWN;
	if (ops_connect_wants_native(osk))
		return OPS_CONNECT_TCP;
	if (ops_connect_has_offload(osk)) {
		err = ops_connect_ask_cgroup(osk);
		if (err)
			return err;
	}
	err = ops_connect_next(osk, sock);
	if (err == -EINPROGRESS) {
		osk->before = osk->state;
		osk->state = OPS_CONNECTING;
		sock->state = SS_CONNECTING;
	} else if (err == OPS_CONNECT_DONE) {
		/* the caller gets to know at once */
		cmpxchg(&sock->state, SS_CONNECTING, SS_CONNECTED);
	}
	return err;
}

/* After a connect that failed, TCP is unconnected as soon as the caller knows. */
static int ops_connect_learn(struct ops_sock *osk, struct socket *sock)
{
	int err = sock_error(&osk->inet.sk);

	osk->state = osk->before;
	sock->state = SS_UNCONNECTED;
	osk->inet.sk.sk_disconnects++;
	return err ?: -ECONNABORTED;
}

/**
 * ops_connect_give_up() - connect() with AF_UNSPEC, and shutdown() of a socket that connects
 * @osk: ops_sock; with the mutex
 * @sock: user's socket
 *
 * As on TCP, SO_ERROR has a reset when an attempt was under way.
 */
void ops_connect_give_up(struct ops_sock *osk, struct socket *sock)
{
	struct sock *sk = &osk->inet.sk;
	u32 i;

	sk->sk_disconnects++;
	WRITE_ONCE(sk->sk_err, osk->state == OPS_CONNECTING ? ECONNRESET : 0);
	ops_connect_end(osk);
	ops_listen_end(osk);
	for (i = 0; i < osk->num; i++)
		ops_connect_reset(&osk->legs[i]);
	if (osk->state != OPS_NEW && osk->state != OPS_BOUND)
		osk->state = osk->before;
	sock->state = SS_UNCONNECTED;
	sk->sk_state_change(sk);
	sk_error_report(sk);
}

/* Wait as long as the socket connects. Return: 0, or the errno of a signal. */
static int ops_connect_sleep(struct ops_sock *osk, struct socket *sock, long *timeo,
			     bool (*connects)(struct ops_sock *osk, struct socket *sock))
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	int err = 0;

	add_wait_queue(&sock->wq.wait, &wait);
	while (connects(osk, sock) && *timeo) {
		*timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, *timeo);
		if (signal_pending(current)) {
			err = sock_intr_errno(*timeo);
			break;
		}
	}
	remove_wait_queue(&sock->wq.wait, &wait);
	return err;
}

static bool ops_connect_is_under_way(struct ops_sock *osk, struct socket *sock)
{
	return READ_ONCE(osk->state) == OPS_CONNECTING;
}

static bool ops_connect_is_tcp_under_way(struct ops_sock *osk, struct socket *sock)
{
	return (1 << inet_sk_state_load(READ_ONCE(sock->sk))) & (TCPF_SYN_SENT | TCPF_SYN_RECV);
}

/**
 * ops_connect_wait() - wait for the last verdict of the switch; TCP may still connect then
 * @osk: ops_sock, without the mutex
 * @sock: user's socket
 * @timeo: time to wait, and what is left
 *
 * Return: 0, also when the time is over; or the errno of a signal.
 */
int ops_connect_wait(struct ops_sock *osk, struct socket *sock, long *timeo)
{
	return ops_connect_sleep(osk, sock, timeo, ops_connect_is_under_way);
}

/* What connect() makes of TCP's sock when the wait is over; another thread may have been faster. */
static int ops_connect_tcp_verdict(struct socket *sock, struct sockaddr *address, int len,
				   int flags, int disconnects)
{
	struct sock *sk = sock->sk;

	switch (READ_ONCE(sock->state)) {
	case SS_CONNECTING:
		return READ_ONCE(sock->ops)->connect(sock, address, len, flags | O_NONBLOCK);
	case SS_CONNECTED:
		return 0;
	default:
		/* not that a new connect() begins here */
		if (disconnects != READ_ONCE(sk->sk_disconnects))
			return -EPIPE;
		return sock_error(sk) ?: -ECONNABORTED;
	}
}

/* The work item handed off while this thread waited. */
static int ops_connect_late(struct ops_sock *osk, struct socket *sock, struct sockaddr *address,
			    int len, int flags, long timeo, int pending)
{
	int err, disconnects;

	if (osk->offloaded) {
		cmpxchg(&sock->state, SS_CONNECTING, SS_CONNECTED);
		return 0;
	}
	disconnects = READ_ONCE(sock->sk->sk_disconnects);
	err = ops_connect_sleep(osk, sock, &timeo, ops_connect_is_tcp_under_way);
	if (err)
		return err;
	if (ops_connect_is_tcp_under_way(osk, sock))
		return pending;
	return ops_connect_tcp_verdict(sock, address, len, flags, disconnects);
}

/* An attempt is under way. @pending: what the caller gets if it still is. */
static int ops_connect_await(struct ops_sock *osk, struct socket *sock, struct sockaddr *address,
			     int len, int flags, int pending)
{
	int err, disconnects = osk->inet.sk.sk_disconnects;
	long timeo;

	timeo = sock_sndtimeo(ops_leg_sk(osk), flags & O_NONBLOCK);
	if (!timeo)
		return pending;
	mutex_unlock(&osk->mutex);
	err = ops_connect_wait(osk, sock, &timeo);
	mutex_lock(&osk->mutex);
	switch (osk->state) {
	case OPS_CONNECTING:
		return err ?: pending;
	case OPS_HANDED_OFF:
		mutex_unlock(&osk->mutex);
		if (osk->offloaded || !err)
			err = ops_connect_late(osk, sock, address, len, flags, timeo, pending);
		mutex_lock(&osk->mutex);
		return err;
	case OPS_FAILED:
		return ops_connect_learn(osk, sock);
	default:
		return disconnects != osk->inet.sk.sk_disconnects ? -EPIPE : -ECONNABORTED;
	}
}

/* With the mutex. Return: an errno; 0; OPS_CONNECT_TCP: the caller continues in sock->ops. */
static int ops_connect_locked(struct ops_sock *osk, struct socket *sock, struct sockaddr *address,
			      int len, int flags)
{
	int err;

	if (osk->state == OPS_HANDED_OFF)
		return OPS_CONNECT_TCP;
	if (len < sizeof(address->sa_family))
		return -EINVAL;
	if (address->sa_family == AF_UNSPEC) {
		ops_connect_give_up(osk, sock);
		return 0;
	}
	switch (osk->state) {
	case OPS_NEW:
	case OPS_BOUND:
		err = ops_connect_begin(osk, sock, address, len);
		break;
	case OPS_CONNECTING:
		return ops_connect_await(osk, sock, address, len, flags, -EALREADY);
	case OPS_FAILED:
		return ops_connect_learn(osk, sock);
	case OPS_LISTENING:
		return -EISCONN;
	default:
		return -EINVAL;
	}
	if (err == OPS_CONNECT_TCP)
		ops_handoff(osk, sock, ops_native(osk));
	else if (err == -EINPROGRESS)
		err = ops_connect_await(osk, sock, address, len, flags, err);
	return err;
}

/**
 * ops_connect() - connect by the best protocol that reaches the peer
 * @sock: user's socket
 * @address: peer; AF_UNSPEC: give up
 * @len: of @address
 * @flags: O_NONBLOCK
 *
 * Return: 0 or an errno, as TCP. Context: may sleep.
 */
int ops_connect(struct socket *sock, struct sockaddr *address, int len, int flags)
{
	struct ops_sock *osk = ops_enter(sock);
	int err = OPS_CONNECT_TCP;

	if (osk) {
		mutex_lock(&osk->mutex);
		err = ops_connect_locked(osk, sock, address, len, flags);
		mutex_unlock(&osk->mutex);
		ops_leave(osk);
	}
	if (err == OPS_CONNECT_TCP)
		return READ_ONCE(sock->ops)->connect(sock, address, len, flags);
	return err;
}

/* Init ********************************************************************* */

/**
 * ops_calls_sock_init() - the calls' part of a new ops_sock
 * @osk: zeroed
 */
void ops_calls_sock_init(struct ops_sock *osk)
{
	spin_lock_init(&osk->queue_lock);
	INIT_LIST_HEAD(&osk->listener);
	INIT_DELAYED_WORK(&osk->budget, ops_connect_budget_work);
	INIT_DELAYED_WORK(&osk->next, ops_connect_next_work);
	INIT_WORK(&osk->ready, ops_listen_ready_work);
	osk->attempt = -1;
}

/**
 * ops_calls_init() - make the work queue
 *
 * Return: 0 or -ENOMEM.
 */
int ops_calls_init(void)
{
	ops_wq = alloc_workqueue("krdma_ops", WQ_UNBOUND, 0);
	return ops_wq ? 0 : -ENOMEM;
}

/**
 * ops_calls_exit() - wait for the last work items, and destroy the work queue
 */
void ops_calls_exit(void)
{
	ops_listeners_exit();
	destroy_workqueue(ops_wq);
}
