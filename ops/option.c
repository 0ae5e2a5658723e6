// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Socket options before the hand-off.
 *
 * The leg that speaks for all (TCP's, or the only one) decides: its answer is the caller's. What it
 * takes, the other legs are given as well, whether they like it or not, and it is remembered for
 * legs that come later. So only the privileges of the caller of setsockopt() count.
 *
 * The kernel reads options of SOL_SOCKET from our own sock without asking us, so that has them,
 * too.
 *
 * What is not remembered, and only the first leg is given: filters and other values that point to
 * somewhere or name a file, and those that are longer than OPS_OPTION_LEN.
 */
#include <linux/filter.h>
#include <linux/slab.h>
#include <linux/tcp.h>

#include "ops.h"

#define OPS_OPTION_LEN	256	/* bytes of a value */
#define OPS_OPTIONS_MAX	64	/* of a socket */

/**
 * struct ops_option - what setsockopt() set
 * @node: in ops_sock.options
 * @level: level
 * @name: option; one entry for each (level, name)
 * @len: bytes of @value
 * @value: value
 */
struct ops_option {
	struct list_head node;
	int level;
	int name;
	unsigned int len;
	u8 value[] __counted_by(len);
};

/* Is the value all there is? */
static bool option_is_plain(int level, int name, unsigned int len)
{
	if (len > OPS_OPTION_LEN)
		return false;
	if (level != SOL_SOCKET)
		return true;
	switch (name) {
	case SO_ATTACH_FILTER:
	case SO_ATTACH_BPF:
	case SO_DETACH_FILTER:
	case SO_LOCK_FILTER:
	case SO_ATTACH_REUSEPORT_CBPF:
	case SO_ATTACH_REUSEPORT_EBPF:
	case SO_DETACH_REUSEPORT_BPF:
		return false;
	default:
		return true;
	}
}

/* as the kernel does it for a program's socket, whose LSM has agreed */
static int option_set(struct socket *sock, int level, int name, sockptr_t value, unsigned int len)
{
	const struct proto_ops *ops = sock->ops;

	if (level == SOL_SOCKET && !test_bit(SOCK_CUSTOM_SOCKOPT, &sock->flags))
		return sock_setsockopt(sock, level, name, value, len);
	return ops->setsockopt ? ops->setsockopt(sock, level, name, value, len) : -EOPNOTSUPP;
}

static struct ops_option *option_find(struct ops_sock *osk, int level, int name)
{
	struct ops_option *option;

	list_for_each_entry(option, &osk->options, node)
		if (option->level == level && option->name == name)
			return option;
	return NULL;
}

static void option_forget(struct ops_sock *osk, struct ops_option *option)
{
	list_del(&option->node);
	osk->options_num--;
	kfree(option);
}

/* The latest is the last: the order may matter. Without memory or room it is not remembered. */
static void option_remember(struct ops_sock *osk, int level, int name, const void *value,
			    unsigned int len)
{
	struct ops_option *option = option_find(osk, level, name);

	if (option)
		option_forget(osk, option);
	if (osk->options_num == OPS_OPTIONS_MAX)
		return;
	option = kmalloc(struct_size(option, value, len), GFP_KERNEL_ACCOUNT);
	if (!option)
		return;
	option->level = level;
	option->name = name;
	option->len = len;
	memcpy(option->value, value, len);
	list_add_tail(&option->node, &osk->options);
	osk->options_num++;
}

/**
 * ops_options_free() - forget all options
 * @osk: ops_sock; with the mutex
 */
void ops_options_free(struct ops_sock *osk)
{
	struct ops_option *option, *next;

	list_for_each_entry_safe(option, next, &osk->options, node)
		option_forget(osk, option);
}

/**
 * ops_options_replay() - give a new leg what was set before
 * @osk: ops_sock; with the mutex
 * @to: socket of the leg
 *
 * Return: 0. What the leg does not take, it does without. Context: may sleep.
 */
int ops_options_replay(struct ops_sock *osk, struct socket *to)
{
	struct ops_option *option;

	list_for_each_entry(option, &osk->options, node)
		option_set(to, option->level, option->name, KERNEL_SOCKPTR(option->value),
			   option->len);
	return 0;
}

/**
 * ops_options_mirror() - our own sock reports what its first leg has
 * @osk: ops_sock; with the mutex
 *
 * What TCP chooses by rules of its own, or the kernel allows TCP alone; the rest is set as it is
 * on the leg. Context: may sleep.
 */
void ops_options_mirror(struct ops_sock *osk)
{
	struct ops_leg *first = ops_leg_first(osk);
	struct sock *sk = &osk->inet.sk;
	const struct sock *from;

	if (!first)
		return;
	from = first->sock->sk;
	WRITE_ONCE(sk->sk_rcvbuf, READ_ONCE(from->sk_rcvbuf));
	WRITE_ONCE(sk->sk_sndbuf, READ_ONCE(from->sk_sndbuf));
	WRITE_ONCE(sk->sk_rcvlowat, READ_ONCE(from->sk_rcvlowat));
	/* IP_TOS changes it */
	WRITE_ONCE(sk->sk_priority, READ_ONCE(from->sk_priority));
	lock_sock(sk);
	sock_valbool_flag(sk, SOCK_ZEROCOPY, sock_flag(from, SOCK_ZEROCOPY));
	release_sock(sk);
}

static bool option_is_mirrored(int level, int name)
{
	/* programs that choose among listeners: those are the legs */
	return level == SOL_SOCKET && name != SO_ATTACH_REUSEPORT_CBPF &&
	       name != SO_ATTACH_REUSEPORT_EBPF && name != SO_DETACH_REUSEPORT_BPF;
}

/* @plain: the value, if that is all there is, else NULL. With the mutex. */
static int option_set_all(struct ops_sock *osk, struct socket *sock, int level, int name,
			  sockptr_t value, const void *plain, unsigned int len)
{
	struct ops_leg *first = ops_leg_first(osk);
	u32 i;
	int err;

	if (!first)
		return level == SOL_SOCKET ? sock_setsockopt(sock, level, name, value, len) :
					     -ENETDOWN;
	err = option_set(first->sock, level, name, value, len);
	if (err)
		return err;
	for (i = 0; plain && i < osk->num; i++)
		if (osk->legs[i].sock && &osk->legs[i] != first)
			option_set(osk->legs[i].sock, level, name, value, len);
	if (option_is_mirrored(level, name))
		sock_setsockopt(sock, level, name, value, len);
	ops_options_mirror(osk);
	if (plain)
		option_remember(osk, level, name, plain, len);
	return 0;
}

/* Return: -EBADFD: the socket is another protocol's now. */
static int option_set_mine(struct ops_sock *osk, struct socket *sock, int level, int name,
			   sockptr_t value, const void *plain, unsigned int len)
{
	guard(mutex)(&osk->mutex);
	if (osk->state == OPS_HANDED_OFF)
		return -EBADFD;
	return option_set_all(osk, sock, level, name, value, plain, len);
}

/**
 * ops_setsockopt() - setsockopt() of all levels
 * @sock: user's socket
 * @level: level
 * @name: option
 * @value: value
 * @len: its length
 *
 * Return: 0, or the errno of TCP, or of the only protocol. Context: may sleep.
 */
int ops_setsockopt(struct socket *sock, int level, int name, sockptr_t value, unsigned int len)
{
	struct ops_sock *osk = ops_enter(sock);
	u8 buffer[OPS_OPTION_LEN];
	void *plain = NULL;
	sockptr_t given = value;
	int err = -EBADFD;

	if (osk) {
		/* once, so that all legs get the same */
		if (option_is_plain(level, name, len)) {
			plain = buffer;
			if (copy_from_sockptr(buffer, value, len)) {
				ops_leave(osk);
				return -EFAULT;
			}
			given = KERNEL_SOCKPTR(buffer);
		}
		err = option_set_mine(osk, sock, level, name, given, plain, len);
		ops_leave(osk);
	}
	if (err != -EBADFD)
		return err;
	return READ_ONCE(sock->ops)->setsockopt(sock, level, name, value, len);
}

/* Reading ****************************************************************** */

/*
 * TCP's sock with a reference: it is asked without the mutex, which must not be held while a
 * program's page is read in. NULL: there is none.
 */
static struct sock *option_native(struct ops_sock *osk)
{
	struct ops_leg *native;

	guard(mutex)(&osk->mutex);
	native = osk->state == OPS_HANDED_OFF ? NULL : ops_native(osk);
	if (!native)
		return NULL;
	sock_hold(native->sock->sk);
	return native->sock->sk;
}

/* Return: -EBADFD: the socket is another protocol's now. */
static int option_get_only(struct ops_sock *osk, int level, int name, char __user *value,
			   int __user *len)
{
	struct ops_leg *leg;
	const struct proto_ops *ops;

	guard(mutex)(&osk->mutex);
	if (osk->state == OPS_HANDED_OFF)
		return -EBADFD;
	leg = ops_leg_first(osk);
	if (!leg)
		return -ENETDOWN;
	ops = leg->sock->ops;
	return ops->getsockopt ? ops->getsockopt(leg->sock, level, name, value, len) : -EOPNOTSUPP;
}

/**
 * ops_getsockopt() - getsockopt() of all levels but SOL_SOCKET
 * @sock: user's socket
 * @level: level
 * @name: option
 * @value: value
 * @len: its length
 *
 * Return: 0 or an errno. Context: may sleep.
 */
int ops_getsockopt(struct socket *sock, int level, int name, char __user *value, int __user *len)
{
	struct ops_sock *osk = ops_enter(sock);
	int err = -EBADFD;
	struct sock *sk;

	if (osk) {
		sk = option_native(osk);
		if (sk) {
			err = READ_ONCE(sk->sk_prot)->getsockopt(sk, level, name, value, len);
			sock_put(sk);
			ops_leave(osk);
			return err;
		}
		err = option_get_only(osk, level, name, value, len);
		ops_leave(osk);
	}
	if (err != -EBADFD)
		return err;
	return READ_ONCE(sock->ops)->getsockopt(sock, level, name, value, len);
}
