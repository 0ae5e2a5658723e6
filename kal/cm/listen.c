// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Listeners. There is one TCP listener for each network namespace, VRF, address and port. The
 * listening endpoints of all RNICs share it. A connection belongs to the endpoint whose RNIC's
 * netdev owns the destination address. Called by endpoint.c.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/nsproxy.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <net/netns/generic.h>
#include <krdma/noio.h>

#include "../core/core.h"
#include "../net/net.h"
#include "endpoint.h"

#define ACCEPT_BUDGET	64
#define ACCEPT_RETRY	(HZ / 10)

/**
 * struct kal_listener - a TCP listener
 * @node: entry in listen_net.listeners
 * @sock: socket; its user data is the listener
 * @addr: address and port
 * @vrf: VRF that the socket is bound to, 0: none
 * @v6only: an IPv6 wildcard does not accept IPv4
 * @uid: user that created the listener
 * @backlog: largest backlog that a consumer asked for; listen_net.mutex
 * @data_ready: the socket's own callback
 * @work: accepts connections
 * @lock: protects @eps
 * @eps: listening endpoints, of different RNICs
 */
struct kal_listener {
	struct list_head node;
	struct socket *sock;
	struct sockaddr_storage addr;
	int vrf;
	bool v6only;
	kuid_t uid;
	int backlog;
	void (*data_ready)(struct sock *sk);
	struct delayed_work work;
	spinlock_t lock;	/* protects eps */
	struct list_head eps;
};

/**
 * struct listen_net - listeners of a network namespace
 * @mutex: held by threads that begin or cease to listen in the namespace. A user thread that
 *	holds it may delay other users of the namespace, but not of other namespaces.
 * @listeners: list of struct kal_listener
 */
struct listen_net {
	struct mutex mutex;	/* protects listeners */
	struct list_head listeners;
};

static unsigned int listen_net_id;

static struct listen_net *listen_net(const struct net *net)
{
	return net_generic(net, listen_net_id);
}

static int __net_init listen_net_init(struct net *net)
{
	struct listen_net *ln = listen_net(net);

	mutex_init(&ln->mutex);
	INIT_LIST_HEAD(&ln->listeners);
	return 0;
}

static struct pernet_operations listen_net_ops = {
	.init = listen_net_init,
	.id = &listen_net_id,
	.size = sizeof(struct listen_net),
};

/* Context: may sleep. Return: 0 or an errno. */
int kal_listen_init(void)
{
	return register_pernet_subsys(&listen_net_ops);
}

/* Called when no RNIC is left. Context: may sleep. */
void kal_listen_exit(void)
{
	unregister_pernet_subsys(&listen_net_ops);
}

/* Addresses **************************************************************** */

/*
 * Get the network namespace of the RNIC's netdev. Return: the namespace with a reference, or
 * NULL if it is being removed.
 */
struct net *kal_rnic_net_get(const struct ri_rnic *rnic)
{
	guard(rcu)();
	return maybe_get_net(dev_net(rnic->netdev));
}

#define ANY_VRF		(-1)

static bool listen_netdev_has(struct net_device *ndev, const struct sockaddr_storage *addr, int vrf)
{
	return (vrf == ANY_VRF || kal_netdev_vrf(ndev) == vrf) && kal_netdev_owns(ndev, addr);
}

/*
 * Find a device with @addr among those that form a VLAN pair with @ndev: the VLAN devices on
 * @ndev, and the device that the VLAN @ndev is on. rdma_cm accepts any RNIC on such a pair for
 * the address. RCU is held.
 */
static struct net_device *listen_vlan_owner(struct net_device *ndev,
					    const struct sockaddr_storage *addr,
					    int vrf)
{
	struct net_device *dev;

	for_each_netdev_rcu(dev_net(ndev), dev)
		if (kal_net_vlan_pair(ndev, dev) && listen_netdev_has(dev, addr, vrf))
			return dev;
	return NULL;
}

static bool listen_vlan_has(struct net_device *ndev, const struct sockaddr_storage *addr, int vrf)
{
	guard(rcu)();
	return listen_vlan_owner(ndev, addr, vrf);
}

static bool listen_rnic_has(const struct ri_rnic *rnic, const struct sockaddr_storage *addr)
{
	return listen_netdev_has(rnic->netdev, addr, ANY_VRF);
}

static bool listen_rnic_owns(const struct ri_rnic *rnic, const struct sockaddr_storage *addr)
{
	return listen_rnic_has(rnic, addr) || listen_vlan_has(rnic->netdev, addr, ANY_VRF);
}

/* Does the RNIC have the local address @addr in @net? Any context. */
bool kal_rnic_has(struct ri_rnic *rnic, const struct net *net, const struct sockaddr_storage *addr)
{
	if (rnic->ops->has_address)
		return rnic->ops->has_address(rnic, net, addr);
	return listen_rnic_has(rnic, addr);
}

/* The same, and addresses of a device that forms a VLAN pair with the RNIC's netdev. */
bool kal_rnic_owns(struct ri_rnic *rnic, const struct net *net, const struct sockaddr_storage *addr)
{
	return kal_rnic_has(rnic, net, addr) || (rnic->netdev && listen_rnic_owns(rnic, addr));
}
EXPORT_SYMBOL_GPL(kal_rnic_owns);

static bool listen_same_addr(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	const struct sockaddr_in6 *a6 = (const struct sockaddr_in6 *)a;
	const struct sockaddr_in6 *b6 = (const struct sockaddr_in6 *)b;
	const struct sockaddr_in *a4 = (const struct sockaddr_in *)a;
	const struct sockaddr_in *b4 = (const struct sockaddr_in *)b;

	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return a4->sin_port == b4->sin_port && a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return a6->sin6_port == b6->sin6_port && a6->sin6_scope_id == b6->sin6_scope_id &&
	       ipv6_addr_equal(&a6->sin6_addr, &b6->sin6_addr);
}

/**
 * kal_rnic_vrf() - the VRF of an RNIC's connections
 * @rnic: RNIC
 * @local: local address of the connections; unspecified or wildcard: any of the RNIC's netdev
 *
 * Return: ifindex of the VRF, 0: the default VRF. Context: any.
 */
int kal_rnic_vrf(const struct ri_rnic *rnic, const struct sockaddr_storage *local)
{
	const struct net_device *owner = NULL;

	guard(rcu)();
	if (local->ss_family && !kal_addr_any(local) && !listen_rnic_has(rnic, local))
		owner = listen_vlan_owner(rnic->netdev, local, ANY_VRF);
	return kal_netdev_vrf(owner ?: rnic->netdev);
}

/*
 * Choose the VRF that a listener's socket is bound to. With tcp_l3mdev_accept, a wildcard
 * listener belongs to all VRFs, and TCP allows no second one.
 */
static int listen_vrf(const struct ri_rnic *rnic, const struct net *net,
		      const struct sockaddr_storage *local)
{
#if IS_ENABLED(CONFIG_NET_L3_MASTER_DEV)
	if (kal_addr_any(local) && READ_ONCE(net->ipv4.sysctl_tcp_l3mdev_accept))
		return 0;
#endif
	return kal_rnic_vrf(rnic, local);
}

/*
 * Get the VRF of an accepted connection. A connection of a link-local address is bound to the
 * device, not to the VRF.
 */
static int listen_sock_vrf(const struct sock *sk)
{
	return l3mdev_master_ifindex_by_index(sock_net(sk), READ_ONCE(sk->sk_bound_dev_if));
}

static __be16 *listen_addr_port(struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET)
		return &((struct sockaddr_in *)addr)->sin_port;
	return &((struct sockaddr_in6 *)addr)->sin6_port;
}

/* Accept ******************************************************************* */

static struct kal_ep *listen_first_owner(struct kal_listener *l,
					 const struct sockaddr_storage *local,
					 int vrf,
					 bool (*owns)(struct net_device *ndev,
						      const struct sockaddr_storage *addr, int vrf))
{
	struct kal_ep *ep;

	lockdep_assert_held(&l->lock);
	list_for_each_entry(ep, &l->eps, listen_node)
		if (owns(ep->rnic->netdev, local, vrf))
			return ep;
	return NULL;
}

/*
 * Find the endpoint of a connection. An RNIC on the netdev that has the address takes
 * precedence over an RNIC of a VLAN pair. rdma_cm gives the connection to the RNIC of the
 * listener that is chosen here, if that RNIC may have the address.
 */
static struct kal_ep *listen_find_owner(struct kal_listener *l,
					const struct sockaddr_storage *local,
					int vrf)
{
	struct kal_ep *ep, *owner;

	spin_lock(&l->lock);
	owner = listen_first_owner(l, local, vrf, listen_netdev_has) ?:
		listen_first_owner(l, local, vrf, listen_vlan_has);
	ep = list_first_entry_or_null(&l->eps, struct kal_ep, listen_node);
	if (owner)
		kal_ep_get(owner);
	else if (ep)
		kal_count(ep->rnic, KAL_CNT_LISTEN_NO_OWNER);
	spin_unlock(&l->lock);
	return owner;
}

static void listen_dispatch(struct kal_listener *l, struct socket *sock)
{
	struct sockaddr_storage local = {};
	struct kal_ep *ep = NULL;

	if (kernel_getsockname(sock, (struct sockaddr *)&local) > 0)
		ep = listen_find_owner(l, &local, listen_sock_vrf(sock->sk));
	if (!ep) {
		sock_no_linger(sock->sk);
		sock_release(sock);
		return;
	}
	kal_ep_incoming(ep, sock, l->data_ready);
	kal_ep_put(ep);
}

static void listen_accept_work(struct work_struct *work)
{
	struct kal_listener *l = container_of(to_delayed_work(work), struct kal_listener, work);
	unsigned int budget;

	guard(krdma_noio)();
	for (budget = ACCEPT_BUDGET; budget; budget--) {
		struct socket *sock;
		int err;

		err = kernel_accept(l->sock, &sock, O_NONBLOCK);
		if (err == -EAGAIN || err == -EINVAL)
			return;
		if (err == -ECONNABORTED)
			continue;
		if (err) {
			/*
			 * Memory is short, and TCP does not notify again of the connections
			 * that wait.
			 */
			queue_delayed_work(kal_conn_wq, &l->work, ACCEPT_RETRY);
			return;
		}
		listen_dispatch(l, sock);
	}
	mod_delayed_work(kal_conn_wq, &l->work, 0);
}

/* Also called for children, which inherit the callback but not the user data. */
static void listen_data_ready(struct sock *sk)
{
	struct kal_listener *l;

	read_lock_bh(&sk->sk_callback_lock);
	l = __locked_read_sk_user_data_with_flags(sk, SK_USER_DATA_NOCOPY);
	/*
	 * A child may have got an owner since TCP read the callback; its user data is not a
	 * listener.
	 */
	if (l && sk->sk_data_ready == listen_data_ready)
		mod_delayed_work(kal_conn_wq, &l->work, 0);
	read_unlock_bh(&sk->sk_callback_lock);
}

/* Listeners **************************************************************** */

static void listen_set_v6only(struct sock *sk, bool on)
{
	lock_sock(sk);
	sk->sk_ipv6only = on;
	release_sock(sk);
}

static void listener_destroy(struct kal_listener *l)
{
	struct sock *sk = l->sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	rcu_assign_sk_user_data(sk, NULL);
	sk->sk_data_ready = l->data_ready;
	write_unlock_bh(&sk->sk_callback_lock);
	cancel_delayed_work_sync(&l->work);
	sock_release(l->sock);
	kfree(l);
}

/* Bind to the address. The port 0 is replaced by the port that TCP chose. */
static int listener_bind(struct kal_listener *l, struct kal_port *port)
{
	struct sockaddr_storage name = {};
	int err;

	err = kal_port_bind(port, l->sock, &l->addr);
	if (err || *listen_addr_port(&l->addr))
		return err;
	err = kernel_getsockname(l->sock, (struct sockaddr *)&name);
	if (err < 0)
		return err;
	*listen_addr_port(&l->addr) = *listen_addr_port(&name);
	return 0;
}

static int listener_open(struct kal_listener *l, struct net *net, struct kal_port *port)
{
	struct sock *sk;
	int err;

	err = kal_sock_create(net, l->addr.ss_family, l->vrf, &l->sock);
	if (err)
		return err;
	sk = l->sock->sk;
	sock_set_reuseaddr(sk);
	if (l->addr.ss_family == AF_INET6)
		listen_set_v6only(sk, l->v6only);
	err = listener_bind(l, port);
	if (err) {
		sock_release(l->sock);
		return err;
	}

	write_lock_bh(&sk->sk_callback_lock);
	l->data_ready = sk->sk_data_ready;
	sk->sk_data_ready = listen_data_ready;
	/* NOCOPY: a child that ends before it is accepted must not be taken for the listener */
	__rcu_assign_sk_user_data_with_flags(sk, l, SK_USER_DATA_NOCOPY);
	write_unlock_bh(&sk->sk_callback_lock);
	return 0;
}

static struct kal_listener *listener_create(struct net *net, int vrf,
					    const struct kal_ep_listen_arg *arg)
{
	struct kal_listener *l = kzalloc(sizeof(*l), GFP_KERNEL_ACCOUNT);
	int err;

	if (!l)
		return ERR_PTR(-ENOMEM);
	l->addr = *arg->local;
	l->vrf = vrf;
	l->v6only = arg->param->v6only;
	l->uid = current_euid();
	INIT_DELAYED_WORK(&l->work, listen_accept_work);
	spin_lock_init(&l->lock);
	INIT_LIST_HEAD(&l->eps);
	err = listener_open(l, net, arg->param->port);
	if (err) {
		kfree(l);
		return ERR_PTR(err);
	}
	return l;
}

static struct kal_listener *listener_find(struct net *net, int vrf,
					  const struct kal_ep_listen_arg *arg)
{
	struct kal_listener *l;

	list_for_each_entry(l, &listen_net(net)->listeners, node)
		if (l->vrf == vrf && l->v6only == arg->param->v6only &&
		    listen_same_addr(&l->addr, arg->local))
			return l;
	return NULL;
}

static bool listener_has_rnic(struct kal_listener *l, const struct ri_rnic *rnic)
{
	struct kal_ep *ep;
	bool found = false;

	spin_lock(&l->lock);
	list_for_each_entry(ep, &l->eps, listen_node)
		found |= ep->rnic == rnic;
	spin_unlock(&l->lock);
	return found;
}

/*
 * Only the user that created a listener, or a user with CAP_NET_BIND_SERVICE, may join it with
 * another RNIC.
 */
static bool listener_may_join(const struct kal_listener *l, const struct net *net)
{
	return uid_eq(l->uid, current_euid()) ||
	       ns_capable(net->user_ns, CAP_NET_BIND_SERVICE);
}

/* Add @ep to the listener of its address. Create the listener if there is none. */
static int listener_join(struct kal_ep *ep, struct net *net, const struct kal_ep_listen_arg *arg)
{
	const int vrf = listen_vrf(ep->rnic, net, arg->local);
	struct kal_listener *l;
	int backlog, err;

	guard(mutex)(&listen_net(net)->mutex);
	l = listener_find(net, vrf, arg);
	if (l && (listener_has_rnic(l, ep->rnic) || !listener_may_join(l, net)))
		return -EADDRINUSE;
	if (!l) {
		l = listener_create(net, vrf, arg);
		if (IS_ERR(l))
			return PTR_ERR(l);
		list_add(&l->node, &listen_net(net)->listeners);
	}

	/* the SYN-ACK is sent before the endpoint of the connection is known */
	if (arg->param->tos_set)
		kal_sock_set_tos(l->sock, arg->param->tos);
	ep->tos_set = arg->param->tos_set;
	ep->tos = arg->param->tos;
	spin_lock(&l->lock);
	list_add_tail(&ep->listen_node, &l->eps);
	spin_unlock(&l->lock);
	ep->listener = l;

	backlog = arg->param->backlog > 0 ? arg->param->backlog : SOMAXCONN;
	if (backlog <= l->backlog)
		return 0;
	/*
	 * The consumer's backlog limits requests, and the consumer enforces it. TCP's queue
	 * only has to last until the worker runs. If TCP drops a connection attempt, the peer
	 * repeats it a second later. Several simultaneous connections must therefore fit,
	 * whatever the consumer's backlog is.
	 */
	err = kal_port_listen(arg->param->port, l->sock,
			      max(backlog, min_t(int, READ_ONCE(kal_max_pending), SOMAXCONN)));
	if (!err) {
		WRITE_ONCE(l->backlog, backlog);
		/* listen() resets the setting; the children inherit it */
		kal_sock_delay_acks(l->sock->sk);
		return 0;
	}
	spin_lock(&l->lock);
	list_del_init(&ep->listen_node);
	spin_unlock(&l->lock);
	ep->listener = NULL;
	if (!l->backlog) {
		list_del(&l->node);
		listener_destroy(l);
	}
	return err;
}

/**
 * kal_listen_start() - begin to listen; IN_LISTEN
 * @ep: endpoint; its argument is a struct kal_ep_listen_arg
 *
 * A wildcard means the addresses of the caller's network namespace. ib_core's shared mode asks
 * every RNIC to listen on a wildcard, including RNICs of other namespaces. These endpoints
 * stay without a TCP listener.
 *
 * The listener is in the current VRF of the RNIC's netdev. Its socket is bound to that VRF and
 * stays there when the netdev leaves the VRF.
 *
 * Context: endpoint's lock held, may sleep.
 */
int kal_listen_start(struct kal_ep *ep)
{
	const struct kal_ep_listen_arg *arg = ep->arg;
	struct net *net;
	int err;

	net = kal_rnic_net_get(ep->rnic);
	if (!net)
		return -ENODEV;
	if (!kal_addr_any(arg->local))
		err = listen_rnic_owns(ep->rnic, arg->local) ? 0 : -EADDRNOTAVAIL;
	else
		err = net_eq(net, arg->param->net ?: current->nsproxy->net_ns) ? 0 : KAL_EP_STAY;
	if (!err)
		err = listener_join(ep, net, arg);
	put_net(net);
	return err == KAL_EP_STAY ? 0 : err;
}

/*
 * Get the address that @ep listens on; its lock is held. Return: 0, or -EINVAL for an
 * endpoint without a TCP listener.
 */
int kal_listen_address(struct kal_ep *ep, struct sockaddr_storage *addr)
{
	if (!ep->listener)
		return -EINVAL;
	*addr = ep->listener->addr;
	return 0;
}

/**
 * kal_listen_stop() - stop the delivery of connections to the endpoint; IN_ABORT
 * @ep: listener
 *
 * The function waits for the accept work, which waits for no endpoint's lock. Context:
 * endpoint's lock held, may sleep.
 */
int kal_listen_stop(struct kal_ep *ep)
{
	struct kal_listener *l = ep->listener;
	struct listen_net *ln;
	struct net *net;
	bool last;

	if (!l)
		return 0;
	/* otherwise the socket may hold the last reference to the namespace */
	net = get_net(sock_net(l->sock->sk));
	ln = listen_net(net);
	mutex_lock(&ln->mutex);
	spin_lock(&l->lock);
	list_del_init(&ep->listen_node);
	last = list_empty(&l->eps);
	spin_unlock(&l->lock);
	ep->listener = NULL;
	if (last) {
		list_del(&l->node);
		listener_destroy(l);
	} else {
		/* the work may be passing a connection to the endpoint */
		cancel_delayed_work_sync(&l->work);
		mod_delayed_work(kal_conn_wq, &l->work, 0);
	}
	mutex_unlock(&ln->mutex);
	put_net(net);
	return 0;
}

/**
 * kal_listen_query() - query the backlog and the pending connections of a listener
 * @ep: listener
 * @info: result
 *
 * Context: endpoint's lock held, which keeps the socket.
 */
void kal_listen_query(struct kal_ep *ep, struct kal_ep_info *info)
{
	const struct kal_listener *l = ep->listener;

	if (!l) {
		info->state = "detached";
		return;
	}
	info->backlog = READ_ONCE(l->backlog);
	info->waiting = READ_ONCE(l->sock->sk->sk_ack_backlog);
}
