// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The hand-off: the user's struct socket gets the sock of the protocol that made the connection,
 * and operations that are the protocol's own but for three: release, accept and setsockopt.
 *
 * Other threads may be inside a call on the socket, at any point. What they may see:
 *
 *	sock->sk	sock->ops	a thread calls
 *	ours		ours		the switch, which finds OPS_HANDED_OFF or is before it
 *	the new one	ours		the switch; ops_enter() does the missing step, the thread
 *					continues with the new operations
 *	the new one	the new ones	the protocol
 *
 * A thread may also have read sock->sk alone before (sock_poll(), sock_fasync(), security hooks)
 * and use it for a while. So the old sock lives until the user's socket is released: then no call
 * is running any more. The inode's i_private, which sockfs leaves to the protocol, keeps it.
 *
 * Accounts. The module reference of the user's socket stays the switch's, because both operations
 * have it as their owner. A socket that was handed off has a reference on the protocol and pins
 * the protocol's module. Whoever has a sock and handed operations has both references.
 *
 * TLS, espintcp and IPV6_ADDRFORM replace sock->ops of a live socket. They do it inside of
 * setsockopt(), so ours looks after it and puts a copy of the new operations in their place, to
 * keep the accounts.
 */
#include <linux/slab.h>

#include "ops.h"

/* copies of operations that are in no struct ops_proto; they stay until the module is removed */
static LIST_HEAD(handoff_others);
static DEFINE_MUTEX(handoff_mutex);	/* protects handoff_others */

/* in i_private of a socket from accept(): its operations, not an ops_sock */
#define OPS_HANDOFF_ACCEPTED	1UL

static struct ops_handed *handoff_of(const struct proto_ops *ops)
{
	return container_of(ops, struct ops_handed, ops);
}

/* Accounts ***************************************************************** */

static void handoff_pin(struct ops_proto *proto)
{
	/* a module that is being unloaded waits for the reference on the protocol instead */
	if (proto->sw && !try_module_get(proto->sw->owner))
		atomic_inc(&proto->unpinned);
}

static void handoff_unpin(struct ops_proto *proto)
{
	struct module *owner = proto->sw ? proto->sw->owner : NULL;
	bool unpinned = atomic_add_unless(&proto->unpinned, -1, 0);

	ops_proto_put(proto);
	if (!unpinned)
		module_put(owner);
}

/* Operations *************************************************************** */

static int handoff_setsockopt(struct socket *sock, int level, int name, sockptr_t value,
			      unsigned int len);
static int handoff_accept(struct socket *sock, struct socket *newsock,
			  struct proto_accept_arg *arg);

static void handoff_fill(struct ops_handed *handed, struct ops_proto *proto,
			 const struct proto_ops *base)
{
	handed->base = base;
	handed->proto = proto;
	handed->ops = *base;
	handed->ops.owner = THIS_MODULE;
	handed->ops.release = ops_handoff_release;
	handed->ops.accept = handoff_accept;
	handed->ops.setsockopt = handoff_setsockopt;
}

void ops_handoff_prepare(struct ops_proto *proto, int family, const struct proto_ops *base)
{
	handoff_fill(&proto->handed[family == AF_INET6], proto, base);
}

/*
 * A copy of @base for sockets of @proto. The module that has @base may go and come again with
 * another content at the same place, so contents are compared.
 */
static const struct proto_ops *handoff_other(struct ops_proto *proto, const struct proto_ops *base)
{
	struct ops_handed *handed, *fresh;

	/* without it, the accounts of the socket are lost */
	fresh = kzalloc(sizeof(*fresh), GFP_KERNEL | __GFP_NOFAIL);
	handoff_fill(fresh, proto, base);
	guard(mutex)(&handoff_mutex);
	list_for_each_entry(handed, &handoff_others, node)
		if (handed->base == base && handed->proto == proto &&
		    !memcmp(&handed->ops, &fresh->ops, sizeof(fresh->ops))) {
			kfree(fresh);
			return &handed->ops;
		}
	list_add_tail(&fresh->node, &handoff_others);
	return &fresh->ops;
}

void ops_handoff_exit(void)
{
	struct ops_handed *handed, *next;

	list_for_each_entry_safe(handed, next, &handoff_others, node)
		kfree(handed);
}

static int handoff_setsockopt(struct socket *sock, int level, int name, sockptr_t value,
			      unsigned int len)
{
	struct ops_handed *handed = handoff_of(READ_ONCE(sock->ops));
	const struct proto_ops *ops;
	int err;

	/* a thread that saw SOCK_CUSTOM_SOCKOPT before the hand-off */
	if (level == SOL_SOCKET && !test_bit(SOCK_CUSTOM_SOCKOPT, &sock->flags))
		return sock_setsockopt(sock, level, name, value, len);
	if (!handed->base->setsockopt)
		return -EOPNOTSUPP;
	err = handed->base->setsockopt(sock, level, name, value, len);
	ops = READ_ONCE(sock->ops);
	if (unlikely(ops->release != ops_handoff_release))
		cmpxchg(&sock->ops, ops, handoff_other(handed->proto, ops));
	return err;
}

/* A socket that was handed off, closed its connection and listens. */
static int handoff_accept(struct socket *sock, struct socket *newsock,
			  struct proto_accept_arg *arg)
{
	struct ops_handed *handed = handoff_of(READ_ONCE(sock->ops));
	int err = handed->base->accept(sock, newsock, arg);

	if (!err)
		ops_handoff_new(handed->proto, newsock, newsock->sk->sk_family);
	return err;
}

/* The ops_sock that the socket was, or NULL */
static struct ops_sock *handoff_old(struct socket *sock)
{
	unsigned long old = (unsigned long)READ_ONCE(SOCK_INODE(sock)->i_private);

	return old & OPS_HANDOFF_ACCEPTED ? NULL : (struct ops_sock *)old;
}

/* A work item may be about to leave the hand-off, and still use the user's socket. */
static void handoff_settle(struct socket *sock)
{
	struct ops_sock *osk = handoff_old(sock);

	if (osk) {
		mutex_lock(&osk->mutex);
		mutex_unlock(&osk->mutex);
	}
	ops_handoff_finish(sock);
}

static void handoff_end_old(struct socket *sock)
{
	struct ops_sock *osk = handoff_old(sock);

	SOCK_INODE(sock)->i_private = NULL;
	if (osk)
		ops_sock_end(osk);
}

/**
 * ops_handoff_release() - release() of sockets that were handed off
 * @sock: user's socket; without a sock when accept() has failed
 *
 * Return: what the protocol's returns.
 */
int ops_handoff_release(struct socket *sock)
{
	struct ops_handed *handed;
	bool mine = sock->sk;
	int err;

	handoff_settle(sock);
	handed = handoff_of(sock->ops);
	err = handed->base->release(sock);
	if (mine) {
		handoff_end_old(sock);
		handoff_unpin(handed->proto);
	}
	return err;
}

/**
 * ops_handoff_finish() - end a hand-off that another thread has begun
 * @sock: user's socket, whose sock is not ours
 *
 * Also for sockets of kernel_accept(), which sets the listener's operations after accept().
 * Context: any.
 */
void ops_handoff_finish(struct socket *sock)
{
	const struct proto_ops *handed;
	unsigned long old;

	if (READ_ONCE(sock->ops) != &ops_socket_ops)
		return;
	smp_rmb();	/* i_private was written before sock->sk */
	old = (unsigned long)READ_ONCE(SOCK_INODE(sock)->i_private);
	if (!old)
		return;
	handed = old & OPS_HANDOFF_ACCEPTED ? (void *)(old & ~OPS_HANDOFF_ACCEPTED) :
					      ((struct ops_sock *)old)->handed;
	cmpxchg(&sock->ops, &ops_socket_ops, handed);
}

/* The hand-off ************************************************************* */

/* What the new sock cannot know, because it happened to the old one. */
static void handoff_inherit(struct sock *sk, struct sock *old)
{
	u64 cookie = atomic64_read(&old->sk_cookie);

	lock_sock(sk);
	/*
	 * sock_fasync() may hold the old sock and set the flag there later. The flag alone costs
	 * nothing: fasync_list decides.
	 */
	sock_set_flag(sk, SOCK_FASYNC);
	release_sock(sk);
	if (cookie)
		atomic64_cmpxchg(&sk->sk_cookie, 0, cookie);
}

/* sock_graft() in an order that other threads can live with */
static void handoff_graft(struct socket *sock, struct sock *sk, const struct proto_ops *handed)
{
	write_lock_bh(&sk->sk_callback_lock);
	rcu_assign_pointer(sk->sk_wq, &sock->wq);
	sk_set_socket(sk, sock);
	sk->sk_uid = SOCK_INODE(sock)->i_uid;
	security_sock_graft(sk, sock);
	/* i_private first: a late thread takes the operations from there */
	smp_store_release(&sock->sk, sk);
	/* sock->sk first: a thread that sees the operations sees their sock */
	smp_store_release(&sock->ops, handed);
	write_unlock_bh(&sk->sk_callback_lock);
}

/* Nobody at the user's socket has heard of what happened to the leg before. */
static void handoff_wake(struct sock *sk)
{
	sk->sk_state_change(sk);
	if (inet_sk_state_load(sk) == TCP_ESTABLISHED)
		sk_wake_async(sk, SOCK_WAKE_IO, POLL_OUT);
}

void ops_handoff(struct ops_sock *osk, struct socket *sock, struct ops_leg *leg)
{
	const struct proto_ops *handed = &leg->proto->handed[osk->family == AF_INET6].ops;
	struct ops_proto *proto = leg->proto;
	struct sock *old = &osk->inet.sk;
	struct socket *from = leg->sock;
	struct sock *sk = from->sk;
	u32 i;

	lockdep_assert_held(&osk->mutex);
	/* first: legs that go while a connect is under way would be missed by it */
	osk->state = OPS_HANDED_OFF;
	ops_leg_unwatch(leg);
	leg->sock = NULL;
	ops_connect_end(osk);
	ops_listen_end(osk);

	refcount_inc(&proto->refs);
	handoff_pin(proto);
	handoff_inherit(sk, old);
	osk->handed = handed;
	sock_hold(old);
	/* the reference of sock->sk is moved to i_private */
	WRITE_ONCE(SOCK_INODE(sock)->i_private, osk);
	sock->state = from->state;
	if (test_bit(SOCK_SUPPORT_ZC, &from->flags))
		set_bit(SOCK_SUPPORT_ZC, &sock->flags);
	from->sk = NULL;
	handoff_graft(sock, sk, handed);
	/* from here on SOL_SOCKET is the kernel's, unless the protocol has its own */
	if (!test_bit(SOCK_CUSTOM_SOCKOPT, &from->flags))
		clear_bit(SOCK_CUSTOM_SOCKOPT, &sock->flags);
	handoff_wake(sk);

	sock_release(from);
	if (proto->sw) {
		leg->proto = NULL;
		ops_proto_put(proto);
	}
	for (i = 0; i < osk->num; i++)
		ops_leg_drop(&osk->legs[i]);
	ops_options_free(osk);
	sock_put(old);
}

void ops_handoff_new(struct ops_proto *proto, struct socket *newsock, int family)
{
	const struct proto_ops *handed = &proto->handed[family == AF_INET6].ops;

	refcount_inc(&proto->refs);
	handoff_pin(proto);
	SOCK_INODE(newsock)->i_private = (void *)((unsigned long)handed | OPS_HANDOFF_ACCEPTED);
	WRITE_ONCE(newsock->ops, handed);
}
