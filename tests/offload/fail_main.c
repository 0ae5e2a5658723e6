// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The protocol. Its sockets can be made, bound and listen; nothing ever connects to them. The
 * parameter "at" names the call that fails, "error" how, and both may change at any time.
 *
 *	none		offers() says no, so that no socket connects
 *	create, bind, listen, offers, connect	these calls return the error
 *	async		connect() begins, and fails after delay_ms
 *	never		connect() begins, and nothing more comes
 *	accept		accept() returns the error; see "ring"
 *
 * A number that is written to "ring" makes each listener say so often that a connection is there,
 * which is not true.
 */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <net/tcp_states.h>

#include "fail.h"

enum fail_place {
	FAIL_NONE,
	FAIL_CREATE,
	FAIL_BIND,
	FAIL_LISTEN,
	FAIL_OFFERS,
	FAIL_CONNECT,
	FAIL_ASYNC,
	FAIL_NEVER,
	FAIL_ACCEPT,
};

static const char * const fail_places[] = {
	[FAIL_NONE]	= "none",
	[FAIL_CREATE]	= "create",
	[FAIL_BIND]	= "bind",
	[FAIL_LISTEN]	= "listen",
	[FAIL_OFFERS]	= "offers",
	[FAIL_CONNECT]	= "connect",
	[FAIL_ASYNC]	= "async",
	[FAIL_NEVER]	= "never",
	[FAIL_ACCEPT]	= "accept",
};

static enum fail_place fail_at;

static int fail_at_set(const char *value, const struct kernel_param *param)
{
	int place = sysfs_match_string(fail_places, value);

	if (place < 0)
		return place;
	WRITE_ONCE(fail_at, place);
	return 0;
}

static int fail_at_get(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%s\n", fail_places[READ_ONCE(fail_at)]);
}

static const struct kernel_param_ops fail_at_ops = { .set = fail_at_set, .get = fail_at_get };
module_param_cb(at, &fail_at_ops, NULL, 0644);
MODULE_PARM_DESC(at, "Call that fails");

static int fail_error = EIO;
module_param_named(error, fail_error, int, 0644);
MODULE_PARM_DESC(error, "Errno of the failure");

static unsigned int fail_delay_ms = 100;
module_param_named(delay_ms, fail_delay_ms, uint, 0644);
MODULE_PARM_DESC(delay_ms, "When an asynchronous connect fails");

static int fail_number = 260;
module_param_named(protocol, fail_number, int, 0444);
MODULE_PARM_DESC(protocol, "Protocol number");

static int fail_priority = 20;
module_param_named(priority, fail_priority, int, 0444);
MODULE_PARM_DESC(priority, "Priority");

static bool fail_check;
module_param_named(wrong, fail_check, bool, 0444);
MODULE_PARM_DESC(wrong, "Only try wrong registrations");

static atomic_t fail_calls[ARRAY_SIZE(fail_places)];

static int fail_calls_get(char *buffer, const struct kernel_param *param)
{
	int i, len = 0;

	for (i = 0; i < ARRAY_SIZE(fail_places); i++)
		len += sysfs_emit_at(buffer, len, "%s %d\n", fail_places[i],
				     atomic_read(&fail_calls[i]));
	return len;
}

static const struct kernel_param_ops fail_calls_ops = { .get = fail_calls_get };
module_param_cb(failed, &fail_calls_ops, NULL, 0444);
MODULE_PARM_DESC(failed, "How often each call has failed");

/**
 * struct fail_sock - a socket
 * @inet: the sock
 * @listener: in the list of listeners
 * @work: ends an asynchronous connect; has a reference on the sock while it is queued
 * @end: what the work ends it with
 * @local: address
 */
struct fail_sock {
	struct inet_sock inet;
	struct list_head listener;
	struct delayed_work work;
	int end;
	struct sockaddr_storage local;
};

static struct proto fail_prot = {
	.name		= "FAIL",
	.obj_size	= sizeof(struct fail_sock),
};

static struct workqueue_struct *fail_queue;
static atomic_t fail_socks = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(fail_socks_wait);
static LIST_HEAD(fail_listeners);
static DEFINE_MUTEX(fail_listeners_lock);

static struct fail_sock *fail_sk(const struct sock *sk)
{
	return (struct fail_sock *)sk;
}

/* Return: 0, or the errno with which the call is to fail. */
static int fail_here(enum fail_place place)
{
	if (READ_ONCE(fail_at) != place)
		return 0;
	atomic_inc(&fail_calls[place]);
	return -READ_ONCE(fail_error);
}

static int fail_ring(const char *value, const struct kernel_param *param)
{
	struct fail_sock *fsk;
	unsigned int times;
	int rc;

	rc = kstrtouint(value, 0, &times);
	if (rc)
		return rc;
	mutex_lock(&fail_listeners_lock);
	list_for_each_entry(fsk, &fail_listeners, listener)
		for (unsigned int i = 0; i < min(times, 1000u); i++)
			fsk->inet.sk.sk_data_ready(&fsk->inet.sk);
	mutex_unlock(&fail_listeners_lock);
	return 0;
}

static const struct kernel_param_ops fail_ring_ops = { .set = fail_ring };
module_param_cb(ring, &fail_ring_ops, NULL, 0200);
MODULE_PARM_DESC(ring, "Listeners say so often that there is a connection");

static void fail_work(struct work_struct *work)
{
	struct fail_sock *fsk = container_of(work, struct fail_sock, work.work);
	struct sock *sk = &fsk->inet.sk;

	lock_sock(sk);
	if (sk->sk_state == TCP_SYN_SENT) {
		WRITE_ONCE(sk->sk_err, fsk->end);
		sk->sk_state = TCP_CLOSE;
		sk->sk_state_change(sk);
		sk_error_report(sk);
	}
	release_sock(sk);
	sock_put(sk);
}

static void fail_destruct(struct sock *sk)
{
	skb_queue_purge(&sk->sk_error_queue);
	if (atomic_dec_and_test(&fail_socks))
		wake_up(&fail_socks_wait);
}

static int fail_release(struct socket *sock)
{
	struct sock *sk = sock->sk;
	struct fail_sock *fsk = fail_sk(sk);

	if (!sk)
		return 0;
	mutex_lock(&fail_listeners_lock);
	list_del_init(&fsk->listener);
	mutex_unlock(&fail_listeners_lock);
	lock_sock(sk);
	sk->sk_state = TCP_CLOSE;
	release_sock(sk);
	if (cancel_delayed_work_sync(&fsk->work))
		sock_put(sk);
	sock_orphan(sk);
	sock->sk = NULL;
	sock_prot_inuse_add(sock_net(sk), &fail_prot, -1);
	sock_put(sk);
	return 0;
}

static int fail_bind(struct socket *sock, struct sockaddr *address, int len)
{
	int rc = fail_here(FAIL_BIND);

	if (!rc)
		memcpy(&fail_sk(sock->sk)->local, address,
		       min_t(size_t, len, sizeof(fail_sk(sock->sk)->local)));
	return rc;
}

static int fail_listen(struct socket *sock, int backlog)
{
	struct fail_sock *fsk = fail_sk(sock->sk);
	int rc = fail_here(FAIL_LISTEN);

	if (rc)
		return rc;
	mutex_lock(&fail_listeners_lock);
	sock->sk->sk_state = TCP_LISTEN;
	if (list_empty(&fsk->listener))
		list_add(&fsk->listener, &fail_listeners);
	mutex_unlock(&fail_listeners_lock);
	return 0;
}

static int fail_accept(struct socket *sock, struct socket *newsock, struct proto_accept_arg *arg)
{
	long timeo = sock_rcvtimeo(sock->sk, arg->flags & O_NONBLOCK);
	int rc = fail_here(FAIL_ACCEPT);

	if (rc || !timeo)
		return rc ?: -EAGAIN;
	/* nothing will ever come */
	timeo = schedule_timeout_interruptible(timeo);
	return signal_pending(current) ? sock_intr_errno(timeo) : -EAGAIN;
}

/* until the attempt is over. The sock is locked, but not meanwhile. */
static int fail_connect_wait(struct sock *sk, long timeo)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);

	add_wait_queue(sk_sleep(sk), &wait);
	while (sk->sk_state == TCP_SYN_SENT && timeo && !signal_pending(current)) {
		release_sock(sk);
		timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, timeo);
		lock_sock(sk);
	}
	remove_wait_queue(sk_sleep(sk), &wait);
	if (sk->sk_state != TCP_SYN_SENT)
		return sock_error(sk) ?: -ECONNABORTED;
	return timeo && signal_pending(current) ? sock_intr_errno(timeo) : -EINPROGRESS;
}

static int fail_connect(struct socket *sock, struct sockaddr *address, int len, int flags)
{
	struct sock *sk = sock->sk;
	struct fail_sock *fsk = fail_sk(sk);
	int rc;

	/* give up what is under way; the work then finds nothing to do */
	if (address->sa_family == AF_UNSPEC) {
		lock_sock(sk);
		sk->sk_state = TCP_CLOSE;
		sk->sk_err = 0;
		sk->sk_state_change(sk);
		release_sock(sk);
		return 0;
	}
	rc = fail_here(FAIL_CONNECT);
	if (rc)
		return rc;
	lock_sock(sk);
	rc = -EALREADY;
	if (sk->sk_state != TCP_CLOSE)
		goto out;
	rc = -EHOSTUNREACH;
	fsk->end = -fail_here(FAIL_ASYNC);
	if (!fsk->end && !fail_here(FAIL_NEVER))
		goto out;
	sk->sk_state = TCP_SYN_SENT;
	if (fsk->end) {
		sock_hold(sk);
		if (!queue_delayed_work(fail_queue, &fsk->work, msecs_to_jiffies(fail_delay_ms)))
			sock_put(sk);
	}
	rc = fail_connect_wait(sk, sock_sndtimeo(sk, flags & O_NONBLOCK));
out:
	release_sock(sk);
	return rc;
}

static int fail_getname(struct socket *sock, struct sockaddr *address, int peer)
{
	const struct sockaddr_storage *local = &fail_sk(sock->sk)->local;
	int len = sock->sk->sk_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
						    sizeof(struct sockaddr_in);

	if (peer)
		return -ENOTCONN;
	memcpy(address, local, len);
	address->sa_family = sock->sk->sk_family;
	return len;
}

static __poll_t fail_poll(struct file *file, struct socket *sock, struct poll_table_struct *wait)
{
	sock_poll_wait(file, sock, wait);
	if (sock->sk->sk_state == TCP_CLOSE)
		return EPOLLOUT | EPOLLHUP | (sock->sk->sk_err ? EPOLLERR : 0);
	return 0;
}

static int fail_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg)
{
	return -ENOIOCTLCMD;
}

static int fail_shutdown(struct socket *sock, int how)
{
	return -ENOTCONN;
}

static int fail_setsockopt(struct socket *sock, int level, int name, sockptr_t value,
			   unsigned int len)
{
	return 0;
}

static int fail_getsockopt(struct socket *sock, int level, int name, char __user *value,
			   int __user *len)
{
	return -ENOPROTOOPT;
}

static int fail_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)
{
	return -EPIPE;
}

static int fail_recvmsg(struct socket *sock, struct msghdr *msg, size_t len, int flags)
{
	return -ENOTCONN;
}

#define FAIL_OPS(family_)				\
	.family		= family_,			\
	.owner		= THIS_MODULE,			\
	.release	= fail_release,			\
	.bind		= fail_bind,			\
	.connect	= fail_connect,			\
	.socketpair	= sock_no_socketpair,		\
	.accept		= fail_accept,			\
	.getname	= fail_getname,			\
	.poll		= fail_poll,			\
	.ioctl		= fail_ioctl,			\
	.gettstamp	= sock_gettstamp,		\
	.listen		= fail_listen,			\
	.shutdown	= fail_shutdown,		\
	.setsockopt	= fail_setsockopt,		\
	.getsockopt	= fail_getsockopt,		\
	.sendmsg	= fail_sendmsg,			\
	.recvmsg	= fail_recvmsg,			\
	.mmap		= sock_no_mmap

static const struct proto_ops fail_ops = { FAIL_OPS(PF_INET) };
static const struct proto_ops fail_ops6 = { FAIL_OPS(PF_INET6) };

static int fail_create(struct net *net, struct socket *sock, int family, bool kern)
{
	struct sock *sk;
	int rc = fail_here(FAIL_CREATE);

	if (rc)
		return rc;
	sk = sk_alloc(net, family, GFP_KERNEL, &fail_prot, kern);
	if (!sk)
		return -ENOMEM;
	atomic_inc(&fail_socks);
	sock_init_data(sock, sk);
	sk->sk_protocol = fail_number;
	sk->sk_destruct = fail_destruct;
	/* so that unloading can wait for the last of it by rcu_barrier() */
	sock_set_flag(sk, SOCK_RCU_FREE);
	INIT_LIST_HEAD(&fail_sk(sk)->listener);
	INIT_DELAYED_WORK(&fail_sk(sk)->work, fail_work);
	sock_prot_inuse_add(net, &fail_prot, 1);
	sock->ops = family == AF_INET6 ? &fail_ops6 : &fail_ops;
	sock->state = SS_UNCONNECTED;
	return 0;
}

static int fail_offers(const struct offload_route *route)
{
	switch (READ_ONCE(fail_at)) {
	case FAIL_OFFERS:
		return fail_here(FAIL_OFFERS);
	case FAIL_CONNECT:
	case FAIL_ASYNC:
	case FAIL_NEVER:
		return 0;
	default:
		return -EHOSTUNREACH;
	}
}

static struct offload_protosw fail_protosw = {
	.owner		= THIS_MODULE,
	.name		= "fail",
	.caps		= OFFLOAD_SELF_ROUTING,
	.ops		= &fail_ops,
	.ops6		= &fail_ops6,
	.create		= fail_create,
	.offers		= fail_offers,
};

static int __init fail_init(void)
{
	int rc;

	fail_queue = alloc_workqueue("offload_fail", 0, 0);
	if (!fail_queue)
		return -ENOMEM;
	rc = proto_register(&fail_prot, 1);
	if (rc)
		goto no_proto;
	fail_protosw.protocol = fail_number;
	fail_protosw.priority = fail_priority;
	rc = fail_check ? fail_wrong(&fail_protosw) : offload_register_protosw(&fail_protosw);
	if (rc)
		goto no_protosw;
	return 0;

no_protosw:
	proto_unregister(&fail_prot);
no_proto:
	destroy_workqueue(fail_queue);
	return rc;
}

static void __exit fail_exit(void)
{
	if (!fail_check)
		offload_unregister_protosw(&fail_protosw);
	wait_event(fail_socks_wait, !atomic_read(&fail_socks));
	rcu_barrier();
	destroy_workqueue(fail_queue);
	proto_unregister(&fail_prot);
}

module_init(fail_init);
module_exit(fail_exit);
MODULE_DESCRIPTION("Offload protocol that fails on command, for tests");
MODULE_LICENSE("Dual MIT/GPL");
