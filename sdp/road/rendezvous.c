// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Listeners. A connection request makes a passive socket, which waits among the pending ones of its
 * listener until the connection is there, then in the accept queue. Both count for the backlog, and
 * their memory is the listener's until accept().
 *
 * The upcall of a request may sleep, so all of this happens in it. A request that fits no listener
 * is refused with the reason.
 */
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/security.h>
#include <net/sock.h>
#include <net/tcp_states.h>

#include "road.h"

/* connections that may wait, however large their buffers are */
#define SDP_LISTEN_LEAST	8

/* Accept queues **************************************************************************** */

/* Each connection that waits has its buffers: peers must not make a listener pay for too many. */
static bool sdp_listen_is_heavy(const struct sock *sk)
{
	const u64 each = (u64)READ_ONCE(sk->sk_rcvbuf) + READ_ONCE(sk->sk_sndbuf);

	return sk->sk_ack_backlog >= SDP_LISTEN_LEAST &&
	       sk->sk_ack_backlog * each > (u64)READ_ONCE(sdp_backlog_mb) * SZ_1M;
}

/* A new child enters. Return: 0; -ECONNREFUSED: it listens no more; -EAGAIN: the backlog is full */
static int sdp_listen_enter(struct sdp_sock *listener, struct sdp_sock *child)
{
	struct sock *sk = sdp_sock(listener);
	int rc = 0;

	spin_lock_bh(&listener->accept_lock);
	if (!listener->listening) {
		rc = -ECONNREFUSED;
	} else if (sk_acceptq_is_full(sk) || sdp_listen_is_heavy(sk)) {
		rc = -EAGAIN;
	} else if (child) {
		sock_hold(sdp_sock(child));
		sock_hold(sk);
		child->listener = listener;
		child->birth = SDP_PENDING;
		list_add_tail(&child->node, &listener->pending);
		sk_acceptq_added(sk);
	}
	spin_unlock_bh(&listener->accept_lock);
	return rc;
}

/**
 * sdp_listen_connected() - the connection of a passive socket is there
 * @child: passive socket
 *
 * Context: with sdp_lock() of the child.
 */
void sdp_listen_connected(struct sdp_sock *child)
{
	struct sdp_sock *listener = child->listener;

	if (!listener)
		return;
	spin_lock_bh(&listener->accept_lock);
	if (child->birth == SDP_PENDING) {
		child->birth = SDP_QUEUED;
		list_move_tail(&child->node, &listener->queue);
		child->wake |= SDP_WAKE_ACCEPT;
		if (sdp_sock(child)->sk_shutdown & SEND_SHUTDOWN)
			child->wake |= SDP_WAKE_SHUT;
	}
	spin_unlock_bh(&listener->accept_lock);
}

/**
 * sdp_listen_failed() - the connection of a passive socket will never be there
 * @child: passive socket; the end of its link drops the queue's reference
 *
 * Context: with sdp_lock() of the child.
 */
void sdp_listen_failed(struct sdp_sock *child)
{
	struct sdp_sock *listener = child->listener;

	if (!listener)
		return;
	spin_lock_bh(&listener->accept_lock);
	if (child->birth == SDP_PENDING) {
		child->birth = SDP_NOT_WAITING;
		list_del_init(&child->node);
		sk_acceptq_removed(sdp_sock(listener));
		child->closing = true;
		child->released = true;
		child->drop = true;
	}
	spin_unlock_bh(&listener->accept_lock);
}

/* Return: the oldest connection, with the queue's reference, or NULL. */
static struct sdp_sock *sdp_listen_next(struct sdp_sock *listener)
{
	struct sdp_sock *child;

	spin_lock_bh(&listener->accept_lock);
	child = list_first_entry_or_null(&listener->queue, struct sdp_sock, node);
	if (child) {
		list_del_init(&child->node);
		child->birth = SDP_NOT_WAITING;
		sk_acceptq_removed(sdp_sock(listener));
	}
	spin_unlock_bh(&listener->accept_lock);
	return child;
}

/* A passive socket that no program will ever have; the queue's reference goes. */
static void sdp_listen_discard(struct sdp_sock *child)
{
	struct sdp_link *ended = NULL;

	sdp_lock(child);
	child->closing = true;
	child->released = true;
	if (child->link) {
		sdp_state_event(&child->link->conn, SDP_EV_ABORT);
		/* ... of a link that has ended before: its end has left the link to the socket */
		if (child->link->ended)
			ended = child->link;
	}
	if (ended)
		child->link = NULL;
	sdp_set_state(sdp_sock(child), TCP_CLOSE);
	sdp_unlock(child);
	if (ended) {
		sdp_sock_end_child(child);
		sdp_conn_put(ended);
	}
	sock_put(sdp_sock(child));
}

/**
 * sdp_listen_stop() - no new connections, and those that wait are aborted
 * @ssk: socket; its sock is locked
 *
 * Context: may sleep.
 */
void sdp_listen_stop(struct sdp_sock *ssk)
{
	struct sdp_sock *child;
	LIST_HEAD(gone);

	spin_lock_bh(&ssk->accept_lock);
	ssk->listening = false;
	list_splice_init(&ssk->pending, &gone);
	list_splice_tail_init(&ssk->queue, &gone);
	list_for_each_entry(child, &gone, node) {
		child->birth = SDP_NOT_WAITING;
		sk_acceptq_removed(sdp_sock(ssk));
	}
	spin_unlock_bh(&ssk->accept_lock);
	/* nobody else looks at the nodes any more */
	while (!list_empty(&gone)) {
		child = list_first_entry(&gone, struct sdp_sock, node);
		list_del_init(&child->node);
		sdp_listen_discard(child);
		cond_resched();
	}
	if (ssk->on_devices) {
		ssk->on_devices = false;
		sdp_ot_listen_put(sock_net(sdp_sock(ssk)));
	}
}

/* Requests ********************************************************************************* */

static void sdp_listen_refuse(struct sdp_ot_device *device, struct sdp_ot_conn_request *request,
			      enum sdp_refusal reason)
{
	static const u8 counters[] = {
		[SDP_REFUSED_NO_LISTENER] = SDP_COUNT_NO_LISTENER,
		[SDP_REFUSED_BACKLOG] = SDP_COUNT_BACKLOG,
		[SDP_REFUSED_VERSION] = SDP_COUNT_BAD_HELLO,
		[SDP_REFUSED_MALFORMED] = SDP_COUNT_BAD_HELLO,
		[SDP_REFUSED_RESOURCES] = SDP_COUNT_NO_MEMORY,
	};
	u8 octets[SDP_REFUSAL_LEN];

	sdp_wire_put_refusal(reason, octets);
	sdp_count(counters[reason]);
	device->ot->ops->reject(request, octets, sizeof(octets));
}

static void sdp_listen_hello_ip(const u8 ip[16], u8 ipv, struct in6_addr *to)
{
	__be32 v4;

	memcpy(to, ip, sizeof(*to));
	if (ipv == 4) {
		memcpy(&v4, ip + 12, sizeof(v4));
		ipv6_addr_set_v4mapped(v4, to);
	}
}

/*
 * The ends of the connection. A full Hello has addresses of its own; they have to be those of the
 * transport's connection. Return: whether they are.
 */
static bool sdp_listen_ends(const struct sdp_hello *hello, const struct sockaddr_storage *local,
			    const struct sockaddr_storage *remote, struct sdp_end *own,
			    struct sdp_end *peer)
{
	struct in6_addr ip;

	sdp_end_from_storage(local, own);
	sdp_end_from_storage(remote, peer);
	own->port = htons(hello->dst_port);
	peer->port = htons(hello->local_port);
	if (hello->ipv != (ipv6_addr_v4mapped(&own->ip) ? 4 : 6))
		return false;
	if (hello->compact)
		return true;
	sdp_listen_hello_ip(hello->dst, hello->ipv, &ip);
	if (!ipv6_addr_equal(&ip, &own->ip))
		return false;
	sdp_listen_hello_ip(hello->src, hello->ipv, &ip);
	return ipv6_addr_equal(&ip, &peer->ip);
}

/* what TCP's child has from its listener */
static void sdp_listen_inherit(struct sdp_sock *child, struct sdp_sock *listener)
{
	struct sock *to = sdp_sock(child), *from = sdp_sock(listener);

	to->sk_sndbuf = from->sk_sndbuf;
	to->sk_rcvbuf = from->sk_rcvbuf;
	to->sk_rcvlowat = from->sk_rcvlowat;
	to->sk_rcvtimeo = from->sk_rcvtimeo;
	to->sk_sndtimeo = from->sk_sndtimeo;
	to->sk_userlocks = from->sk_userlocks;
	to->sk_lingertime = from->sk_lingertime;
	to->sk_priority = from->sk_priority;
	to->sk_mark = from->sk_mark;
	to->sk_bound_dev_if = from->sk_bound_dev_if;
	to->sk_reuse = from->sk_reuse;
	to->sk_reuseport = from->sk_reuseport;
	to->sk_uid = from->sk_uid;
	to->sk_shutdown = READ_ONCE(from->sk_shutdown);
	sock_valbool_flag(to, SOCK_BROADCAST, sock_flag(from, SOCK_BROADCAST));
	sock_valbool_flag(to, SOCK_KEEPOPEN, sock_flag(from, SOCK_KEEPOPEN));
	sock_valbool_flag(to, SOCK_LOCALROUTE, sock_flag(from, SOCK_LOCALROUTE));
	sock_valbool_flag(to, SOCK_LINGER, sock_flag(from, SOCK_LINGER));
	sock_valbool_flag(to, SOCK_URGINLINE, sock_flag(from, SOCK_URGINLINE));
	sock_valbool_flag(to, SOCK_ZEROCOPY, sock_flag(from, SOCK_ZEROCOPY));
	memcpy(child->options, listener->options, sizeof(child->options));
	security_sk_clone(from, to);
	/* the address that bind() has named, without the port */
	if (listener->bound_by_user && !sdp_end_is_any(&listener->given.ip)) {
		child->given = listener->given;
		child->given.port = 0;
		child->bound_by_user = true;
	}
	child->registered = listener->registered;
	child->of_ops = listener->of_ops;
	if (mem_cgroup_tryget(listener->memcg))
		child->memcg = listener->memcg;
}

static struct sdp_sock *sdp_listen_child(struct sdp_sock *listener, const struct sdp_end *own,
					 const struct sdp_end *peer)
{
	struct mem_cgroup *before = set_active_memcg(listener->memcg);
	struct sock *sk = sdp_sock(listener);
	struct sdp_sock *child;

	child = sdp_sock_new(sock_net(sk), sk->sk_family, NULL, sk->sk_kern_sock);
	set_active_memcg(before);
	if (!child)
		return NULL;
	sdp_listen_inherit(child, listener);
	child->local = *own;
	child->remote = *peer;
	child->used = true;
	child->inet.inet_num = ntohs(own->port);
	child->inet.inet_sport = own->port;
	child->inet.inet_dport = peer->port;
	sdp_set_state(sdp_sock(child), TCP_SYN_RECV);
	return child;
}

/* The child is pending; with its link_mutex. Return: 0 or a negative errno. */
static int sdp_listen_answer(struct sdp_sock *child, struct sdp_ot_device *device,
			     struct sdp_ot_conn_request *request, const struct sdp_msg *hello)
{
	const struct sdp_ot_ops *ops = device->ot->ops;
	u8 octets[SDP_HDR_MAX];
	struct sdp_link *link;
	struct sdp_msg ack;
	u32 n = 0;
	int rc;

	ops->device_get(device);
	link = sdp_conn_create(child, device);
	if (IS_ERR(link))
		return PTR_ERR(link);
	sdp_lock(child);
	/* the listener may have gone meanwhile */
	rc = child->released ? -ECONNABORTED : sdp_state_hello(&link->conn, hello);
	if (!rc)
		rc = sdp_state_accept(&link->conn, &ack);
	if (!rc)
		n = sdp_wire_encode(&ack, octets);
	sdp_unlock(child);
	if (!rc)
		rc = ops->accept(request, link->ep, octets, n);
	if (rc) {
		sdp_lock(child);
		sdp_listen_failed(child);
		sdp_state_event(&link->conn, SDP_EV_ABORT);
		sdp_unlock(child);
	}
	sdp_conn_started(link);
	return rc;
}

static enum sdp_refusal sdp_listen_take(struct sdp_sock *listener, struct sdp_ot_device *device,
					struct sdp_ot_conn_request *request,
					const struct sdp_msg *hello, const struct sdp_end *own,
					const struct sdp_end *peer)
{
	struct sdp_sock *child;
	bool drop;
	int rc;

	/* before memory is spent */
	rc = sdp_listen_enter(listener, NULL);
	if (rc)
		return rc == -EAGAIN ? SDP_REFUSED_BACKLOG : SDP_REFUSED_NO_LISTENER;
	child = sdp_listen_child(listener, own, peer);
	if (!child)
		return SDP_REFUSED_RESOURCES;
	rc = sdp_listen_enter(listener, child);
	if (rc) {
		sdp_sock_end_child(child);
		sock_put(sdp_sock(child));
		return rc == -EAGAIN ? SDP_REFUSED_BACKLOG : SDP_REFUSED_NO_LISTENER;
	}
	mutex_lock(&child->link_mutex);
	rc = sdp_listen_answer(child, device, request, hello);
	/* without a link the queue's reference is not dropped */
	sdp_lock(child);
	if (rc && !child->link)
		sdp_listen_failed(child);
	drop = !child->link && child->drop;
	if (drop)
		child->drop = false;
	sdp_unlock(child);
	mutex_unlock(&child->link_mutex);
	if (drop) {
		sdp_sock_end_child(child);
		sock_put(sdp_sock(child));
	}
	sock_put(sdp_sock(child));
	return rc ? SDP_REFUSED_RESOURCES : 0;
}

/* Each RNIC has one listener of the transport; its requests come here. */
static void sdp_listen_request(struct sdp_ot_device *device, struct sdp_ot_conn_request *request,
			       const u8 *data, u32 length, const struct sockaddr_storage *local,
			       const struct sockaddr_storage *remote)
{
	enum sdp_refusal reason = SDP_REFUSED_NO_LISTENER;
	struct sdp_sock *listener;
	struct sdp_end own, peer;
	enum sdp_fault fault;
	struct sdp_msg hello;

	fault = sdp_wire_decode(data, length, SDP_IN_REQUEST, &hello);
	if (fault) {
		sdp_count_fault(fault);
		sdp_listen_refuse(device, request, sdp_wire_fault_refusal(fault));
		return;
	}
	if (!sdp_listen_ends(&hello.hello, local, remote, &own, &peer)) {
		sdp_listen_refuse(device, request, SDP_REFUSED_MALFORMED);
		return;
	}
	listener = sdp_port_listener(device->net, &own, device->ifindex);
	if (listener) {
		reason = sdp_listen_take(listener, device, request, &hello, &own, &peer);
		sock_put(sdp_sock(listener));
	}
	if (reason)
		sdp_listen_refuse(device, request, reason);
}

const struct sdp_ot_user sdp_listen_user = {
	.request = sdp_listen_request,
	.on_demand = true,
};

/* Calls ************************************************************************************ */

/* The devices of the namespace listen as long as a socket there does. The sock is locked */
static int sdp_listen_begin(struct sdp_sock *ssk)
{
	struct net *net = sock_net(sdp_sock(ssk));
	int rc;

	if (!ssk->on_devices) {
		rc = sdp_ot_listen_get(net);
		if (rc)
			return rc;
		ssk->on_devices = true;
	}
	return sdp_port_listen(ssk);
}

int sdp_sock_listen(struct socket *sock, int backlog)
{
	struct sock *sk = sock->sk;
	struct sdp_sock *ssk = sdp_sk(sk);
	struct sdp_end any = {};
	int rc = 0;

	if (sk->sk_family == AF_INET)
		ipv6_addr_set_v4mapped(htonl(INADDR_ANY), &any.ip);
	lock_sock(sk);
	if ((sk->sk_state != TCP_CLOSE && sk->sk_state != TCP_LISTEN) ||
	    sock->state != SS_UNCONNECTED)
		rc = -EINVAL;
	if (!rc && sk->sk_state == TCP_CLOSE) {
		/* of a connect() that failed */
		sdp_sock_drop_link(ssk);
		if (ssk->used && !ssk->of_ops)
			sdp_port_restore(ssk);
	}
	if (!rc && !ssk->local.port)
		rc = sdp_port_bind(ssk, ssk->bound_by_user ? ssk->given : any);
	if (!rc) {
		WRITE_ONCE(sk->sk_max_ack_backlog, backlog);
		spin_lock_bh(&ssk->accept_lock);
		ssk->listening = true;
		spin_unlock_bh(&ssk->accept_lock);
		if (sk->sk_state == TCP_CLOSE)
			rc = sdp_listen_begin(ssk);
	}
	release_sock(sk);
	return rc;
}

/* The sock is locked. One waiter is woken for one connection. */
static struct sdp_sock *sdp_listen_wait(struct sock *sk, long timeo, int *rc)
{
	struct sdp_sock *child;
	DEFINE_WAIT(wait);

	for (;;) {
		prepare_to_wait_exclusive(sk_sleep(sk), &wait, TASK_INTERRUPTIBLE);
		*rc = -EINVAL;
		child = NULL;
		if (sk->sk_state != TCP_LISTEN)
			break;
		*rc = 0;
		child = sdp_listen_next(sdp_sk(sk));
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

int sdp_sock_accept(struct socket *sock, struct socket *newsock, struct proto_accept_arg *arg)
{
	struct sdp_sock *child, *listener;
	struct sock *sk = sock->sk;
	int rc;

	lock_sock(sk);
	child = sdp_listen_wait(sk, sock_rcvtimeo(sk, arg->flags & O_NONBLOCK), &rc);
	release_sock(sk);
	if (!child)
		return rc;
	sdp_lock(child);
	listener = child->listener;
	child->listener = NULL;
	sdp_unlock(child);
	if (listener)
		sock_put(sdp_sock(listener));
	sock_graft(sdp_sock(child), newsock);
	newsock->state = SS_CONNECTED;
	set_bit(SOCK_CUSTOM_SOCKOPT, &newsock->flags);
	sdp_count(SDP_COUNT_ACCEPTED);
	return 0;
}
