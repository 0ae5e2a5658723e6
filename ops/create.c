// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The life of an ops_sock and its legs.
 *
 * socket() comes here in two ways: by AF_INET_OFFLOAD's create, or by that of AF_INET and AF_INET6,
 * which make a sock of ops_prot for IPPROTO_OFFLOAD and call its init(). Either way LSM and the
 * cgroup's programs see the legs, too: each is made by __sock_create() for the user. For the leg of
 * an offload protocol that is AF_INET_OFFLOAD again; a mark of the task distinguishes it from a
 * program's.
 *
 * All ops_socks are in a table, so that a protocol that leaves finds those that have a leg of it.
 */
#include <linux/bpf-cgroup.h>
#include <linux/hash.h>
#include <linux/slab.h>
#include <net/inet_common.h>
#include <net/ipv6.h>
#include <net/protocol.h>

#include "ops.h"

/* all ops_socks; an entry is no reference */
#define CREATE_ALL_BITS	6

static struct create_all {
	spinlock_t lock;	/* protects socks; softirq */
	struct list_head socks;
} create_all[1 << CREATE_ALL_BITS];

/**
 * struct create_mark - a task that makes a leg
 * @node: in create_marks
 * @task: current
 * @proto: protocol of the leg
 * @family: AF_INET or AF_INET6
 */
struct create_mark {
	struct list_head node;
	struct task_struct *task;
	struct ops_proto *proto;
	int family;
};

static LIST_HEAD(create_marks);
static DEFINE_SPINLOCK(create_marks_lock);	/* protects create_marks */

static struct lock_class_key create_lock_keys[2];
static struct lock_class_key create_callback_key;

/* Calls ******************************************************************** */

struct ops_sock *ops_enter(struct socket *sock)
{
	struct sock *sk;

	rcu_read_lock();
	/* what ops_handoff_finish() reads was written before it */
	sk = smp_load_acquire(&sock->sk);
	if (sk && sk->sk_prot == &ops_prot && refcount_inc_not_zero(&sk->sk_refcnt)) {
		rcu_read_unlock();
		return ops_sk(sk);
	}
	rcu_read_unlock();
	ops_handoff_finish(sock);
	return NULL;
}

void ops_leave(struct ops_sock *osk)
{
	sock_put(&osk->inet.sk);
}

/* Legs ********************************************************************* */

static struct create_mark *create_marked(void)
{
	struct create_mark *mark, *found = NULL;

	spin_lock(&create_marks_lock);
	list_for_each_entry(mark, &create_marks, node)
		if (mark->task == current)
			found = mark;
	spin_unlock(&create_marks_lock);
	return found;
}

/**
 * ops_creating() - does the current task make a leg?
 *
 * Redirection asks, because a leg of TCP must stay one of TCP. Context: process.
 */
bool ops_creating(void)
{
	return !list_empty(&create_marks) && create_marked();
}

/* As the user, of TCP or of an offload protocol */
static int create_leg_sock(struct ops_sock *osk, struct ops_proto *proto, struct socket **sock)
{
	struct net *net = sock_net(&osk->inet.sk);
	struct create_mark mark = {
		.task = current,
		.proto = proto,
		.family = osk->family,
	};
	int err;

	spin_lock(&create_marks_lock);
	list_add(&mark.node, &create_marks);
	spin_unlock(&create_marks_lock);
	if (proto->sw)
		err = __sock_create(net, ops_family, SOCK_STREAM, proto->sw->protocol, sock,
				    osk->kern);
	else
		err = __sock_create(net, osk->family, SOCK_STREAM, IPPROTO_TCP, sock, osk->kern);
	spin_lock(&create_marks_lock);
	list_del(&mark.node);
	spin_unlock(&create_marks_lock);
	return err;
}

/* create() of AF_INET_OFFLOAD for a leg */
static int create_fill_leg(struct net *net, struct socket *sock, const struct create_mark *mark,
			   int kern)
{
	struct ops_proto *proto = mark->proto;
	int err;

	sock->state = SS_UNCONNECTED;
	err = proto->sw->create(net, sock, mark->family, kern);
	if (!err && WARN_ON_ONCE(!sock->sk))
		err = -EINVAL;
	if (err)
		return err;
	sock->ops = &proto->leg_ops[mark->family == AF_INET6];
	return 0;
}

/* @proto: with a reference, which becomes the leg's. Return: 0 or an errno. */
static int create_leg(struct ops_sock *osk, struct ops_leg *leg, struct ops_proto *proto)
{
	struct socket *sock;
	/* a protocol that leaves may have been here before */
	int err = READ_ONCE(proto->gone) ? -ENETDOWN : create_leg_sock(osk, proto, &sock);

	if (err) {
		if (proto->sw)
			ops_proto_put(proto);
		return err;
	}
	*leg = (struct ops_leg) {
		.proto = proto,
		.sock = sock,
		.osk = osk,
	};
	return 0;
}

/**
 * ops_leg_drop() - let go of a leg
 * @leg: leg; one that has no socket stays as it is
 *
 * Context: with the mutex; may sleep.
 */
void ops_leg_drop(struct ops_leg *leg)
{
	struct socket *sock = leg->sock;

	if (!sock)
		return;
	ops_leg_unwatch(leg);
	leg->sock = NULL;
	sock_release(sock);
	if (leg->proto->sw) {
		struct ops_proto *proto = leg->proto;

		leg->proto = NULL;
		ops_proto_put(proto);
	}
}

static bool create_has(const struct ops_sock *osk, const struct ops_proto *proto)
{
	u32 i;

	for (i = 0; i < osk->num; i++)
		if (osk->legs[i].sock && osk->legs[i].proto == proto)
			return true;
	return false;
}

/* Legs do not move while their numbers are in use. */
static bool create_may_move(const struct ops_sock *osk)
{
	return osk->state == OPS_NEW || osk->state == OPS_BOUND || osk->state == OPS_FAILED;
}

/* Room for a leg of @proto: by priority, or, where legs do not move, where there is some */
static struct ops_leg *create_room(struct ops_sock *osk, const struct ops_proto *proto)
{
	u32 i, kept = 0;

	if (!create_may_move(osk)) {
		for (i = 0; i < osk->num; i++)
			if (!osk->legs[i].sock && i)
				return &osk->legs[i];
		return osk->num < ARRAY_SIZE(osk->legs) ? &osk->legs[osk->num++] : NULL;
	}
	for (i = 0; i < osk->num; i++)
		if (osk->legs[i].sock)
			osk->legs[kept++] = osk->legs[i];
	osk->num = kept;
	if (osk->num == ARRAY_SIZE(osk->legs))
		return NULL;
	for (i = osk->num; i; i--) {
		const struct ops_proto *before = osk->legs[i - 1].proto;

		if (!before->sw || before->sw->priority >= proto->sw->priority)
			break;
		osk->legs[i] = osk->legs[i - 1];
	}
	osk->num++;
	memset(&osk->legs[i], 0, sizeof(osk->legs[i]));
	return &osk->legs[i];
}

/* The address that TCP's leg has already. Return: 0 or an errno. */
static int create_bind_late(struct ops_sock *osk, struct ops_leg *leg)
{
	struct sockaddr_storage address;
	struct socket *native;
	int len;

	if (osk->state != OPS_BOUND || !ops_native(osk))
		return 0;
	native = ops_native(osk)->sock;
	len = native->ops->getname(native, (struct sockaddr *)&address, 0);
	if (len < 0)
		return len;
	return leg->sock->ops->bind(leg->sock, (struct sockaddr *)&address, len);
}

/* A leg of @proto for a wildcard; without it the others go on. Takes the reference. */
static void create_add(struct ops_sock *osk, struct ops_proto *proto)
{
	struct net *net = sock_net(&osk->inet.sk);
	struct ops_leg *leg, made;

	if (create_leg(osk, &made, proto)) {
		ops_count(net, OPS_REASON_CREATE);
		return;
	}
	leg = create_room(osk, proto);
	if (WARN_ON_ONCE(!leg)) {
		ops_leg_drop(&made);
		return;
	}
	*leg = made;
	ops_options_replay(osk, leg->sock);
	if (create_bind_late(osk, leg)) {
		ops_count(net, OPS_REASON_BIND);
		ops_leg_drop(leg);
	}
}

/**
 * ops_legs_refill() - legs of protocols that a wildcard socket does not have
 * @osk: ops_sock; with the mutex
 *
 * They came since, or were dropped. A socket without a protocol to ask is left as it is.
 * Context: may sleep.
 */
void ops_legs_refill(struct ops_sock *osk)
{
	struct ops_proto *protos[OFFLOAD_PROTOCOLS_MAX];
	u32 i, num;

	lockdep_assert_held(&osk->mutex);
	if (osk->wants != OPS_WANTS_WILDCARD || !ops_native(osk))
		return;
	num = ops_protos_get(osk->family, osk->kern, protos);
	for (i = 0; i < num; i++)
		if (create_has(osk, protos[i]))
			ops_proto_put(protos[i]);
		else
			create_add(osk, protos[i]);
}

/* Sockets ****************************************************************** */

static struct create_all *create_all_of(const struct ops_sock *osk)
{
	return &create_all[hash_ptr(osk, CREATE_ALL_BITS)];
}

/* RCU: the last reference has gone. */
static void create_destruct(struct sock *sk)
{
	struct ops_sock *osk = ops_sk(sk);
	struct create_all *all = create_all_of(osk);

	spin_lock_bh(&all->lock);
	list_del(&osk->all);
	spin_unlock_bh(&all->lock);
#if IS_ENABLED(CONFIG_IPV6)
	if (osk->family == AF_INET6)
		inet6_cleanup_sock(sk);
#endif
	inet_sock_destruct(sk);
}

static void create_locks(struct sock *sk)
{
	/* legs have the classes of AF_INET, and are locked within */
	sock_lock_init_class_and_name(sk, "slock-AF_INET_OFFLOAD", &create_lock_keys[0],
				      "sk_lock-AF_INET_OFFLOAD", &create_lock_keys[1]);
	lockdep_set_class_and_name(&sk->sk_callback_lock, &create_callback_key,
				   "clock-AF_INET_OFFLOAD");
}

/* All legs that socket() is to have. Return: 0 or an errno. With the mutex. */
static int create_legs(struct ops_sock *osk, struct ops_proto *proto)
{
	bool native = !proto;
	int err;

	if (proto)
		refcount_inc(&proto->refs);
	err = create_leg(osk, &osk->legs[0], proto ?: &ops_tcp);
	if (ops_decide(OPS_CALL_CREATE, osk->wants, true, native, err, native) == OPS_FAIL)
		return err;
	osk->num = 1;
	ops_legs_refill(osk);
	ops_options_mirror(osk);
	return 0;
}

/* @sk: new, of ops_prot; @proto: for OPS_WANTS_PROTOCOL. On an error, the caller releases @sk. */
static int create_init(struct sock *sk, enum ops_wants wants, struct ops_proto *proto)
{
	struct ops_sock *osk = ops_sk(sk);
	struct create_all *all = create_all_of(osk);
	int err;

	create_locks(sk);
	mutex_init(&osk->mutex);
	osk->state = OPS_NEW;
	osk->wants = wants;
	osk->family = sk->sk_family;
	osk->kern = sk->sk_kern_sock;
	osk->attempt = -1;
	INIT_LIST_HEAD(&osk->options);
	ops_calls_sock_init(osk);
	sk->sk_destruct = create_destruct;
	sock_set_flag(sk, SOCK_RCU_FREE);
	/* SOL_SOCKET is for the legs, too */
	set_bit(SOCK_CUSTOM_SOCKOPT, &sk->sk_socket->flags);
	sock_prot_inuse_add(sock_net(sk), sk->sk_prot, 1);

	/* before it looks for protocols, so that one that leaves finds it */
	spin_lock_bh(&all->lock);
	list_add(&osk->all, &all->socks);
	spin_unlock_bh(&all->lock);
	mutex_lock(&osk->mutex);
	err = create_legs(osk, proto);
	mutex_unlock(&osk->mutex);
	return err;
}

/* AF_INET and AF_INET6 with IPPROTO_OFFLOAD */
static int create_prot_init(struct sock *sk)
{
	return create_init(sk, OPS_WANTS_WILDCARD, NULL);
}

/* sk_common_release() calls it */
static void create_prot_destroy(struct sock *sk)
{
	struct ops_sock *osk = ops_sk(sk);
	u32 i;

	mutex_lock(&osk->mutex);
	osk->state = OPS_CLOSED;
	ops_connect_end(osk);
	ops_listen_end(osk);
	for (i = 0; i < osk->num; i++)
		ops_leg_drop(&osk->legs[i]);
	ops_options_free(osk);
	mutex_unlock(&osk->mutex);
	sock_prot_inuse_add(sock_net(sk), sk->sk_prot, -1);
	WRITE_ONCE(sk->sk_state, TCP_CLOSE);
}

static int create_prot_hash(struct sock *sk)
{
	return 0;
}

static void create_prot_unhash(struct sock *sk)
{
}

struct proto ops_prot = {
	.name = "OFFLOAD",
	.owner = THIS_MODULE,
	.init = create_prot_init,
	.destroy = create_prot_destroy,
	.hash = create_prot_hash,
	.unhash = create_prot_unhash,
	.obj_size = sizeof(struct ops_sock),
	.ipv6_pinfo_offset = offsetof(struct ops_sock, inet6),
};

/**
 * ops_sock_end() - the user has closed the socket
 * @osk: ops_sock, handed off or not; its legs and the reference of the socket go
 *
 * Context: may sleep.
 */
void ops_sock_end(struct ops_sock *osk)
{
	struct sock *sk = &osk->inet.sk;

	/* AF_INET's create has run its counterpart for this sock, ours for the leg alone */
	if (!osk->by_family && !osk->kern)
		BPF_CGROUP_RUN_PROG_INET_SOCK_RELEASE(sk);
	sk_common_release(sk);
}

static int create_release(struct socket *sock)
{
	struct ops_sock *osk;
	bool gone;

	/* accept() has failed */
	if (!sock->sk)
		return 0;
	osk = ops_enter(sock);
	if (!osk)
		return READ_ONCE(sock->ops)->release(sock);
	mutex_lock(&osk->mutex);
	gone = osk->state == OPS_HANDED_OFF;
	/* no work item begins a hand-off from here on */
	if (!gone)
		osk->state = OPS_CLOSED;
	mutex_unlock(&osk->mutex);
	if (gone) {
		ops_leave(osk);
		return READ_ONCE(sock->ops)->release(sock);
	}
	ops_sock_end(osk);
	ops_listen_settle(osk);
	ops_leave(osk);
	sock->sk = NULL;
	return 0;
}

/* Before connect(): protocols that came since, and the address as the legs know it. */
static int create_connect(struct socket *sock, struct sockaddr *address, int len, int flags)
{
	struct ops_sock *osk = ops_enter(sock);
	struct sockaddr_storage to;

	if (osk) {
		mutex_lock(&osk->mutex);
		if (osk->state == OPS_NEW || osk->state == OPS_BOUND)
			ops_legs_refill(osk);
		mutex_unlock(&osk->mutex);
		if (osk->by_family) {
			len = ops_address(osk, address, len, &to);
			address = (struct sockaddr *)&to;
		}
		ops_leave(osk);
	}
	return len < 0 ? len : ops_connect(sock, address, len, flags);
}

#ifdef CONFIG_COMPAT
static int create_compat_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg)
{
	return inet_stream_ops.compat_ioctl(sock, cmd, arg);
}
#endif

const struct proto_ops ops_socket_ops = {
	.family = PF_INET,
	.owner = THIS_MODULE,
	.release = create_release,
	.bind = ops_bind,
	.connect = create_connect,
	.socketpair = sock_no_socketpair,
	.accept = ops_accept,
	.getname = ops_getname,
	.poll = ops_poll,
	.ioctl = ops_ioctl,
	.gettstamp = sock_gettstamp,
	.listen = ops_listen,
	.shutdown = ops_shutdown,
	.setsockopt = ops_setsockopt,
	.getsockopt = ops_getsockopt,
	.sendmsg = ops_sendmsg,
	.recvmsg = ops_recvmsg,
	.mmap = sock_no_mmap,
	.set_peek_off = sk_set_peek_off,
#ifdef CONFIG_COMPAT
	.compat_ioctl = create_compat_ioctl,
#endif
};

/* AF_INET_OFFLOAD ********************************************************** */

static int create_switch(struct net *net, struct socket *sock, enum ops_wants wants,
			 struct ops_proto *proto, int kern)
{
	struct sock *sk = sk_alloc(net, PF_INET, GFP_KERNEL, &ops_prot, kern);
	int err;

	if (!sk)
		return -ENOMEM;
	sock->state = SS_UNCONNECTED;
	sock->ops = &ops_socket_ops;
	sock_init_data(sock, sk);
	sk->sk_protocol = proto ? proto->sw->protocol : IPPROTO_OFFLOAD;
	inet_sk(sk)->uc_ttl = -1;
	ops_sk(sk)->by_family = true;
	err = create_init(sk, wants, proto);
	if (err) {
		sk_common_release(sk);
		sock->sk = NULL;
	}
	return err;
}

/* The user's socket is @native from now on; the caller takes the reference on its module. */
static void create_become(struct socket *sock, struct socket *native)
{
	struct sock *sk = native->sk;

	sock->state = native->state;
	sock->type = native->type;
	sock->flags = native->flags;
	sock->ops = native->ops;
	native->sk = NULL;
	sock_graft(sk, sock);
	/* the sock still pins what the caller pins next */
	sock_release(native);
}

/* What AF_INET makes of it; @protocol may have been loaded and registered in between. */
static int create_native(struct net *net, struct socket *sock, int protocol, int kern)
{
	struct ops_proto *proto = NULL;
	struct socket *native = NULL;
	int err = __sock_create(net, PF_INET, sock->type, protocol, &native, kern);

	if (sock->type == SOCK_STREAM)
		proto = ops_proto_get(protocol);
	if (proto) {
		if (!err)
			sock_release(native);
		err = create_switch(net, sock, OPS_WANTS_PROTOCOL, proto, kern);
		ops_proto_put(proto);
		return err;
	}
	if (!err)
		create_become(sock, native);
	return err;
}

/**
 * ops_family_create() - socket() of AF_INET_OFFLOAD
 * @net: network namespace
 * @sock: socket; its type is set
 * @protocol: protocol
 * @kern: for the kernel itself
 *
 * Return: 0 or an errno. Context: may sleep.
 */
int ops_family_create(struct net *net, struct socket *sock, int protocol, int kern)
{
	struct create_mark *mark = create_marked();
	struct ops_proto *proto;
	int err;

	if (mark && mark->proto->sw)
		return create_fill_leg(net, sock, mark, kern);
	if (sock->type != SOCK_STREAM)
		return create_native(net, sock, protocol, kern);
	if (protocol == 0 || protocol == IPPROTO_TCP || protocol == IPPROTO_OFFLOAD)
		return create_switch(net, sock, OPS_WANTS_WILDCARD, NULL, kern);
	proto = ops_proto_get(protocol);
	if (!proto)
		return create_native(net, sock, protocol, kern);
	err = create_switch(net, sock, OPS_WANTS_PROTOCOL, proto, kern);
	ops_proto_put(proto);
	return err;
}

/* A protocol leaves ******************************************************** */

static void create_let_go(struct ops_sock *osk, struct ops_proto *proto)
{
	struct sock *sk = &osk->inet.sk;
	u32 i;

	guard(mutex)(&osk->mutex);
	for (i = 0; i < osk->num; i++)
		if (osk->legs[i].sock && osk->legs[i].proto == proto) {
			ops_leg_drop(&osk->legs[i]);
			/* who waits, looks what is left */
			if (osk->state != OPS_CLOSED)
				sk->sk_state_change(sk);
		}
}

/* The one after @osk, NULL: the first, with a reference; @osk gives its own back. */
static struct ops_sock *create_following(struct create_all *all, struct ops_sock *osk)
{
	struct ops_sock *next = NULL, *i = osk;

	spin_lock_bh(&all->lock);
	if (!i)
		i = list_entry(&all->socks, struct ops_sock, all);
	list_for_each_entry_continue(i, &all->socks, all)
		if (refcount_inc_not_zero(&i->inet.sk.sk_refcnt)) {
			next = i;
			break;
		}
	spin_unlock_bh(&all->lock);
	if (osk)
		sock_put(&osk->inet.sk);
	return next;
}

void ops_socks_let_go(struct ops_proto *proto)
{
	struct create_all *all;
	struct ops_sock *osk;

	for (all = create_all; all < create_all + ARRAY_SIZE(create_all); all++)
		for (osk = create_following(all, NULL); osk; osk = create_following(all, osk)) {
			create_let_go(osk, proto);
			cond_resched();
		}
}

/* Start and end ************************************************************ */

static struct inet_protosw create_protosw = {
	.type = SOCK_STREAM,
	.protocol = IPPROTO_OFFLOAD,
	.prot = &ops_prot,
	.ops = &ops_socket_ops,
};

#if IS_ENABLED(CONFIG_IPV6)
static struct inet_protosw create_protosw6 = {
	.type = SOCK_STREAM,
	.protocol = IPPROTO_OFFLOAD,
	.prot = &ops_prot,
	.ops = &ops_socket_ops,
};
#endif

int ops_create_init(void)
{
	struct create_all *all;
	int err;

	for (all = create_all; all < create_all + ARRAY_SIZE(create_all); all++) {
		spin_lock_init(&all->lock);
		INIT_LIST_HEAD(&all->socks);
	}
	err = proto_register(&ops_prot, 1);
	if (err)
		return err;
#if IS_ENABLED(CONFIG_IPV6)
	err = inet6_register_protosw(&create_protosw6);
	if (err) {
		proto_unregister(&ops_prot);
		return err;
	}
#endif
	inet_register_protosw(&create_protosw);
	return 0;
}

void ops_create_exit(void)
{
	inet_unregister_protosw(&create_protosw);
#if IS_ENABLED(CONFIG_IPV6)
	inet6_unregister_protosw(&create_protosw6);
#endif
	proto_unregister(&ops_prot);
}
