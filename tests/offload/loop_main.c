// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The module: its parameters, the protocol as the switch sees it, and the life of a sock.
 *
 * No sock pins the module by its struct proto, because sockets of the switch that are not connected
 * let go of a protocol that unloads. So unloading waits for the last sock.
 */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/wait.h>
#include <net/inet_common.h>
#include <net/ipv6.h>
#include <net/sock.h>

#include <krdma/offload.h>

#include "loop.h"

static int loop_number = 259;
module_param_named(protocol, loop_number, int, 0444);
MODULE_PARM_DESC(protocol, "Protocol number");

static char *loop_name = "loop";
module_param_named(name, loop_name, charp, 0444);
MODULE_PARM_DESC(name, "Name");

static unsigned int loop_caps = OFFLOAD_SELF_ROUTING;
module_param_named(caps, loop_caps, uint, 0444);
MODULE_PARM_DESC(caps, "OFFLOAD_*");

static int loop_priority = 10;
module_param_named(priority, loop_priority, int, 0444);
MODULE_PARM_DESC(priority, "Priority");

static bool loop_ipv6 = true;
module_param_named(ipv6, loop_ipv6, bool, 0444);
MODULE_PARM_DESC(ipv6, "IPv6, too");

unsigned int loop_connect_delay_ms;
module_param_named(connect_delay_ms, loop_connect_delay_ms, uint, 0644);
MODULE_PARM_DESC(connect_delay_ms, "How long a connect takes");

static ushort loop_refuse[8];
static unsigned int loop_refuse_num;
module_param_array_named(refuse, loop_refuse, ushort, &loop_refuse_num, 0644);
MODULE_PARM_DESC(refuse, "Ports that connect() finds closed");

static char loop_hop[64];
module_param_string(first_hop, loop_hop, sizeof(loop_hop), 0444);
MODULE_PARM_DESC(first_hop, "First hop of the last connect_via()");

DEFINE_SPINLOCK(loop_lock);
struct workqueue_struct *loop_queue;

static atomic_t loop_socks = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(loop_socks_wait);

static struct proto loop_prot = {
	.name		= "LOOP",
	.obj_size	= sizeof(struct loop_sock),
};

bool loop_refuses(__be16 port)
{
	int i;

	for (i = 0; i < READ_ONCE(loop_refuse_num); i++)
		if (loop_refuse[i] == ntohs(port))
			return true;
	return false;
}

static void loop_destruct(struct sock *sk)
{
	skb_queue_purge(&sk->sk_receive_queue);
	skb_queue_purge(&sk->sk_error_queue);
	WARN_ON(sk->sk_socket);
	WARN_ON(refcount_read(&sk->sk_wmem_alloc));
	WARN_ON(loop_sk(sk)->peer);
	WARN_ON(!list_empty(&loop_sk(sk)->queue));
	if (atomic_dec_and_test(&loop_socks))
		wake_up(&loop_socks_wait);
}

struct loop_sock *loop_new(struct net *net, int family, struct socket *sock, bool kern)
{
	struct loop_sock *lsk;
	struct sock *sk;

	sk = sk_alloc(net, family, GFP_KERNEL, &loop_prot, kern);
	if (!sk)
		return NULL;
	atomic_inc(&loop_socks);
	sock_init_data(sock, sk);
	sk->sk_type = SOCK_STREAM;
	sk->sk_protocol = loop_number;
	sk->sk_destruct = loop_destruct;
	/* so that unloading can wait for the last of it by rcu_barrier() */
	sock_set_flag(sk, SOCK_RCU_FREE);
	sock_reset_flag(sk, SOCK_ZAPPED);
	lsk = loop_sk(sk);
	INIT_HLIST_NODE(&lsk->bound);
	INIT_LIST_HEAD(&lsk->queue);
	INIT_LIST_HEAD(&lsk->link);
	INIT_DELAYED_WORK(&lsk->connect, loop_connect_work);
	loop_option_init(lsk);
	sock_prot_inuse_add(net, &loop_prot, 1);
	return lsk;
}

#define LOOP_OPS(family_)				\
	.family		= family_,			\
	.owner		= THIS_MODULE,			\
	.release	= loop_release,			\
	.bind		= loop_bind,			\
	.connect	= loop_connect,			\
	.socketpair	= sock_no_socketpair,		\
	.accept		= loop_accept,			\
	.getname	= loop_getname,			\
	.poll		= loop_poll,			\
	.ioctl		= loop_ioctl,			\
	.gettstamp	= sock_gettstamp,		\
	.listen		= loop_listen,			\
	.shutdown	= loop_shutdown,		\
	.setsockopt	= loop_setsockopt,		\
	.getsockopt	= loop_getsockopt,		\
	.sendmsg	= loop_sendmsg,			\
	.recvmsg	= loop_recvmsg,			\
	.mmap		= sock_no_mmap

static const struct proto_ops loop_ops = { LOOP_OPS(PF_INET) };
static const struct proto_ops loop_ops6 = { LOOP_OPS(PF_INET6) };

static int loop_create(struct net *net, struct socket *sock, int family, bool kern)
{
	if (!loop_new(net, family, sock, kern))
		return -ENOMEM;
	sock->ops = family == AF_INET6 ? &loop_ops6 : &loop_ops;
	sock->state = SS_UNCONNECTED;
	return 0;
}

static int loop_offers(const struct offload_route *route)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)route->destination;
	const struct sockaddr_in *in = (const struct sockaddr_in *)route->destination;
	struct in6_addr ip;

	if (in->sin_family == AF_INET6)
		ip = in6->sin6_addr;
	else
		ipv6_addr_set_v4mapped(in->sin_addr.s_addr, &ip);
	return loop_port_is_local(route->net, &ip) ? 0 : -EHOSTUNREACH;
}

static int loop_connect_via(struct socket *sock, struct sockaddr *address, int len, int flags,
			    const struct offload_route *route)
{
	snprintf(loop_hop, sizeof(loop_hop), "%pISc %d", route->first_hop, route->ifindex);
	return loop_connect(sock, address, len, flags);
}

static struct offload_protosw loop_protosw = {
	.owner		= THIS_MODULE,
	.ops		= &loop_ops,
	.create		= loop_create,
	.offers		= loop_offers,
	.connect_via	= loop_connect_via,
};

static int __init loop_init(void)
{
	int rc;

	loop_queue = alloc_workqueue("offload_loop", 0, 0);
	if (!loop_queue)
		return -ENOMEM;
	rc = proto_register(&loop_prot, 1);
	if (rc)
		goto no_proto;
	loop_protosw.name = loop_name;
	loop_protosw.protocol = loop_number;
	loop_protosw.caps = loop_caps;
	loop_protosw.priority = loop_priority;
	loop_protosw.ops6 = loop_ipv6 ? &loop_ops6 : NULL;
	rc = offload_register_protosw(&loop_protosw);
	if (rc)
		goto no_protosw;
	return 0;

no_protosw:
	proto_unregister(&loop_prot);
no_proto:
	destroy_workqueue(loop_queue);
	return rc;
}

static void __exit loop_exit(void)
{
	offload_unregister_protosw(&loop_protosw);
	wait_event(loop_socks_wait, !atomic_read(&loop_socks));
	rcu_barrier();
	destroy_workqueue(loop_queue);
	proto_unregister(&loop_prot);
}

module_init(loop_init);
module_exit(loop_exit);
MODULE_DESCRIPTION("Offload protocol between sockets of one host, for tests");
MODULE_LICENSE("Dual MIT/GPL");
