// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Roads: those that have registered, and a connection's way onto one of them.
 *
 * The connecting end asks, in a work item after ESTABLISHED, the roads that its rule allows, by
 * priority: is this one faster than TCP to the peer? The first one that is opens itself in the
 * background, and names the connection to the peer's kernel (offload_conn_name()). The listening
 * end's road finds the connection by this name (offload_conn_find()). TCP carries the bytes
 * meanwhile, and goes on if nothing comes of it.
 *
 * The road's first eight bytes say where TCP's part ends: a magic number and X.
 */
#include <crypto/algapi.h>
#include <linux/ctype.h>
#include <linux/inetdevice.h>
#include <linux/module.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/inet6_hashtables.h>
#include <net/inet_hashtables.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <krdma/compat_net.h>

#include "names.h"
#include "ops.h"
#include "pernet.h"

/**
 * struct ops_road - a road that has registered
 * @road: what it says of itself
 * @node: in the list, by priority; RCU
 * @refs: connections and calls that use it; its end waits for them
 * @conns: connections
 * @released: the last reference is gone
 */
struct ops_road {
	const struct offload_road *road;
	struct list_head node;
	refcount_t refs;
	atomic_t conns;
	struct completion released;
};

static unsigned int road_wait_ms = 10000;
module_param_named(connect_timeout_ms, road_wait_ms, uint, 0644);
MODULE_PARM_DESC(connect_timeout_ms,
		 "Milliseconds that the first send of a socket which must use a road waits for it");

static LIST_HEAD(roads);		/* RCU */
static unsigned int roads_num;		/* of them */
static bool roads_down;
static DEFINE_MUTEX(roads_mutex);	/* of those who change the above */
static DEFINE_SPINLOCK(roads_listens_lock);	/* of what roads know of listeners */
static struct workqueue_struct *road_wq;

static void road_put(struct ops_road *road)
{
	if (refcount_dec_and_test(&road->refs))
		complete(&road->released);
}

/* Registration ************************************************************** */

static bool road_name_valid(const char *name)
{
	size_t i;

	for (i = 0; i < OFFLOAD_NAME_MAX && name[i]; i++)
		if (!isascii(name[i]) ||
		    (!isalnum(name[i]) && name[i] != '-' && name[i] != '_'))
			return false;
	return i > 0 && i < OFFLOAD_NAME_MAX;
}

static bool road_valid(const struct offload_road *road)
{
	if (!road->name || !road_name_valid(road->name) || (road->caps & ~OFFLOAD_CAPS))
		return false;
	if (road->protocol < 0 || road->protocol == IPPROTO_TCP ||
	    road->protocol == IPPROTO_OFFLOAD || road->protocol > U16_MAX)
		return false;
	if (road == &ops_local_road)
		return true;
	return road->offers && road->open && road->sendmsg && road->recvmsg && road->readable &&
	       road->writable && road->unsent && road->shutdown && road->close;
}

/* With the mutex. */
static int road_admit(const struct offload_road *road)
{
	struct ops_road *other;

	if (READ_ONCE(roads_down))
		return -ESHUTDOWN;
	list_for_each_entry(other, &roads, node)
		if (!strcmp(other->road->name, road->name) ||
		    (road->protocol && other->road->protocol == road->protocol))
			return -EEXIST;
	return roads_num < OFFLOAD_ROADS_MAX ? 0 : -ENOSPC;
}

/* The listeners that there are. With the mutex and roads_listens_lock. */
static void road_learns_listeners(const struct offload_road *road)
{
	unsigned int left;
	struct net *net;

	if (!road->listens)
		return;
	guard(rcu)();
	for_each_net_rcu(net)
		for (left = ops_net(net)->listeners; left; left--)
			road->listens(net, true);
}

/* By priority, ties in the order of registration. With the mutex. */
static void road_insert(struct ops_road *new)
{
	struct list_head *before = &roads;
	struct ops_road *other;

	list_for_each_entry(other, &roads, node)
		if (other->road->priority < new->road->priority) {
			before = &other->node;
			break;
		}
	spin_lock_bh(&roads_listens_lock);
	list_add_tail_rcu(&new->node, before);
	road_learns_listeners(new->road);
	spin_unlock_bh(&roads_listens_lock);
	WRITE_ONCE(roads_num, roads_num + 1);
}

int offload_register_road(const struct offload_road *road)
{
	struct ops_road *new;
	int err;

	if (!road_valid(road))
		return -EINVAL;
	new = kzalloc(sizeof(*new), GFP_KERNEL);
	if (!new)
		return -ENOMEM;
	new->road = road;
	refcount_set(&new->refs, 1);
	init_completion(&new->released);
	mutex_lock(&roads_mutex);
	err = road_admit(road);
	if (!err)
		road_insert(new);
	mutex_unlock(&roads_mutex);
	if (err)
		kfree(new);
	return err;
}
EXPORT_SYMBOL_GPL(offload_register_road);

static struct ops_road *road_remove(const struct offload_road *road)
{
	struct ops_road *found;

	guard(mutex)(&roads_mutex);
	list_for_each_entry(found, &roads, node)
		if (found->road == road) {
			list_del_rcu(&found->node);
			WRITE_ONCE(roads_num, roads_num - 1);
			return found;
		}
	return NULL;
}

void offload_unregister_road(const struct offload_road *road)
{
	struct ops_road *found = road_remove(road);

	if (WARN_ON_ONCE(!found))
		return;
	synchronize_rcu();
	road_put(found);
	wait_for_completion(&found->released);
	ops_peers_forget(NULL, road->name, NULL);
	kfree_rcu_mightsleep(found);
}
EXPORT_SYMBOL_GPL(offload_unregister_road);

void offload_notification(const struct offload_road *road, struct net *net,
			  enum offload_event event, const struct sockaddr_storage *address)
{
	ops_peers_forget(net, road->name, NULL);
}
EXPORT_SYMBOL_GPL(offload_notification);

void ops_road_listens(struct ops_sock *os, bool on)
{
	struct ops_road *road;

	if (os->listens == on)
		return;
	os->listens = on;
	guard(rcu)();
	spin_lock_bh(&roads_listens_lock);
	ops_net(os->net)->listeners += on ? 1 : -1;
	list_for_each_entry_rcu(road, &roads, node)
		if (road->road->listens)
			road->road->listens(os->net, on);
	spin_unlock_bh(&roads_listens_lock);
}

bool ops_roads_any(void)
{
	return READ_ONCE(roads_num) > 1;
}

/* The number @index in the list, with a reference; NULL: there are not so many. */
static struct ops_road *road_get_nth(unsigned long index)
{
	struct ops_road *road;

	guard(rcu)();
	list_for_each_entry_rcu(road, &roads, node)
		if (!index-- && refcount_inc_not_zero(&road->refs))
			return road;
	return NULL;
}

static struct ops_road *road_get(const struct offload_road *sought)
{
	struct ops_road *road;

	guard(rcu)();
	list_for_each_entry_rcu(road, &roads, node)
		if (road->road == sought && refcount_inc_not_zero(&road->refs))
			return road;
	return NULL;
}

int ops_roads_walk(unsigned long *from, int (*show)(const struct ops_road_view *view, void *arg),
		   void *arg)
{
	struct ops_road *road;
	int ret = 0;

	for (; !ret && (road = road_get_nth(*from)); ret ? 0 : ++*from) {
		struct ops_road_view view = {
			.protocol = road->road->protocol,
			.caps = road->road->caps,
			.priority = road->road->priority,
			.conns = atomic_read(&road->conns),
		};

		strscpy(view.name, road->road->name, sizeof(view.name));
		ret = show(&view, arg);
		road_put(road);
	}
	return ret;
}

/* A connection ************************************************************** */

struct sock *offload_conn_sk(struct offload_conn *conn)
{
	return conn->os.sk;
}
EXPORT_SYMBOL_GPL(offload_conn_sk);

void *offload_conn_priv(struct offload_conn *conn)
{
	return READ_ONCE(conn->os.priv);
}
EXPORT_SYMBOL_GPL(offload_conn_priv);

bool offload_conn_set_priv(struct offload_conn *conn, void *priv)
{
	struct ops_sock *os = &conn->os;
	bool taken;

	spin_lock_bh(&os->lock);
	/* an active end's close() waits for open() */
	taken = !priv || os->active || os->road_opened;
	if (taken)
		WRITE_ONCE(os->priv, priv);
	spin_unlock_bh(&os->lock);
	return taken;
}
EXPORT_SYMBOL_GPL(offload_conn_set_priv);

void offload_conn_get(struct offload_conn *conn)
{
	ops_sock_get(&conn->os);
}
EXPORT_SYMBOL_GPL(offload_conn_get);

void offload_conn_put(struct offload_conn *conn)
{
	ops_sock_put(&conn->os);
}
EXPORT_SYMBOL_GPL(offload_conn_put);

static void road_address(struct sockaddr_storage *to, const struct in6_addr *address, __be16 port)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)to;
	struct sockaddr_in *in = (struct sockaddr_in *)to;

	memset(to, 0, sizeof(*to));
	if (ipv6_addr_v4mapped(address)) {
		in->sin_family = AF_INET;
		in->sin_addr.s_addr = address->s6_addr32[3];
		in->sin_port = port;
	} else {
		in6->sin6_family = AF_INET6;
		in6->sin6_addr = *address;
		in6->sin6_port = port;
	}
}

void offload_conn_addresses(struct offload_conn *conn, struct sockaddr_storage *local,
			    struct sockaddr_storage *remote)
{
	const struct inet_sock *inet = inet_sk(conn->os.sk);
	struct in6_addr own, peer;

	ops_addresses(conn->os.sk, &own, &peer);
	if (local)
		road_address(local, &own, inet->inet_sport);
	if (remote)
		road_address(remote, &peer, inet->inet_dport);
}
EXPORT_SYMBOL_GPL(offload_conn_addresses);

static void road_hop4(struct sockaddr_storage *hop, const struct rtable *rt, __be32 destination)
{
	struct in6_addr address;

	if (rt->rt_gw_family == AF_INET6) {
		address = rt->rt_gw6;
	} else {
		ipv6_addr_set_v4mapped(rt->rt_gw_family == AF_INET ? rt->rt_gw4 : destination,
				       &address);
	}
	road_address(hop, &address, 0);
}

int offload_conn_route(struct offload_conn *conn, struct offload_route *route)
{
	struct sock *sk = conn->os.sk;
	struct dst_entry *dst = sk_dst_get(sk);

	offload_conn_addresses(conn, route->source, route->destination);
	route->net = sock_net(sk);
	route->bound_if = READ_ONCE(sk->sk_bound_dev_if);
	route->mark = READ_ONCE(sk->sk_mark);
	if (!dst)
		return -ENETUNREACH;
	route->ifindex = dst->dev->ifindex;
	if (route->destination->ss_family == AF_INET) {
		const struct rtable *rt = dst_rtable(dst);

		road_hop4(route->first_hop, rt,
			  ((struct sockaddr_in *)route->destination)->sin_addr.s_addr);
	} else {
		struct rt6_info *rt = dst_rt6_info(dst);
		struct in6_addr *to = &((struct sockaddr_in6 *)route->destination)->sin6_addr;

		road_address(route->first_hop, rt6_nexthop(rt, to), 0);
	}
	dst_release(dst);
	return 0;
}
EXPORT_SYMBOL_GPL(offload_conn_route);

static bool road_allowed(const struct ops_sock *os, const struct offload_road *road)
{
	if (road == &ops_local_road)
		return false;
	if (os->must && road->protocol != os->must)
		return false;
	return os->choice.action != KRDMA_OFFLOAD_ACTION_NAMED ||
	       !strcmp(os->choice.road, road->name);
}

static bool road_named(const struct ops_sock *os)
{
	return os->must || os->choice.action == KRDMA_OFFLOAD_ACTION_NAMED;
}

/* The road has the connection from here on, with a reference of each. */
static bool road_assign(struct ops_sock *os, struct ops_road *road, bool opened)
{
	bool assigned = false;

	/* it is being unloaded, and waits for its connections */
	if (!try_module_get(road->road->owner))
		return false;
	if (!ops_charge(os->net, KRDMA_OFFLOAD_LIMIT_CONNECTIONS, 1)) {
		os->why = OPS_COUNT_LIMIT;
		module_put(road->road->owner);
		return false;
	}
	spin_lock_bh(&os->lock);
	if (!os->road && os->road_state == OPS_ROAD_NONE && !READ_ONCE(os->dead)) {
		os->road = road;
		os->road_state = OPS_ROAD_OPENING;
		os->road_opened = opened;
		/* close() may come at once, and gives it back */
		ops_sock_get(os);
		atomic_inc(&road->conns);
		assigned = true;
	}
	spin_unlock_bh(&os->lock);
	if (!assigned) {
		ops_uncharge(os->net, KRDMA_OFFLOAD_LIMIT_CONNECTIONS, 1);
		module_put(road->road->owner);
	}
	return assigned;
}

static void road_why(struct ops_sock *os, enum ops_counter why)
{
	os->why = why;
	ops_count(os->net, why);
}

static enum ops_counter road_reason(int error)
{
	switch (error) {
	case -ENOENT:
		return OPS_COUNT_NO_MATCH;
	case -ECONNREFUSED:
	case -EACCES:
		return OPS_COUNT_REFUSED;
	case -ETIMEDOUT:
		return OPS_COUNT_TIMEOUT;
	case -ENOBUFS:
		return OPS_COUNT_LIMIT;
	case -ENOMEM:
		return OPS_COUNT_MEMORY;
	default:
		return OPS_COUNT_ERROR;
	}
}

/* Nothing came of it. */
static void road_give_up(struct ops_sock *os, int error)
{
	spin_lock_bh(&os->lock);
	if (os->road_state < OPS_ROAD_UP) {
		os->road_state = OPS_ROAD_FAILED;
		os->road_error = error;
	}
	spin_unlock_bh(&os->lock);
	/* who waits because he must use the road */
	ops_wake_all(os->sk);
}

/* What this host lacks is not the peer's fault. */
static void road_bad_peer(struct ops_sock *os, const struct offload_road *road, int error)
{
	struct sockaddr_storage remote;

	if (error == -ENOMEM || error == -ENOBUFS)
		return;
	offload_conn_addresses(ops_conn(os), NULL, &remote);
	ops_peer_bad(os->net, road->name, &remote);
}

/* Is the peer in this namespace? The same-host road serves it. */
static bool road_leads_home(const struct ops_sock *os)
{
	struct dst_entry *dst = sk_dst_get(os->sk);
	bool home = dst && dst->dev->flags & IFF_LOOPBACK;

	dst_release(dst);
	return home;
}

/* Does this road want the connection? */
static bool road_wants(struct ops_sock *os, const struct offload_road *road,
		       const struct offload_route *route)
{
	int ret;

	if (!road_allowed(os, road))
		return false;
	if (!os->must && ops_peer_is_bad(os->net, road->name, route->destination)) {
		road_why(os, OPS_COUNT_PEER);
		return false;
	}
	ret = road->offers(route);
	if (ret < 0)
		road_why(os, OPS_COUNT_NOT_OFFERED);
	else if (!ret && !road_named(os))
		road_why(os, OPS_COUNT_SLOWER);
	return ret > 0 || (!ret && road_named(os));
}

/* open() is over: the socket may have gone in the meantime. */
static void road_opened(struct ops_sock *os, struct ops_road *road, int err)
{
	bool close = false;

	spin_lock_bh(&os->lock);
	if (err)
		os->road_opened = false;
	else if (os->road_state == OPS_ROAD_FAILED)
		close = true;
	else
		os->road_opened = true;
	spin_unlock_bh(&os->lock);
	if (close)
		road->road->close(ops_conn(os), !os->road_flush);
	if (close || err)
		ops_sock_put(os);	/* the road's */
}

/* Return: 0; -EAGAIN: another one may; -errno */
static int road_try(struct ops_sock *os, struct ops_road *road, const struct offload_route *route)
{
	int err;

	if (!road_wants(os, road->road, route))
		return -EAGAIN;
	refcount_inc(&road->refs);
	if (!road_assign(os, road, false)) {
		road_put(road);
		return -EBUSY;
	}
	err = road->road->open(ops_conn(os));
	road_opened(os, road, err);
	if (err) {
		road_why(os, road_reason(err));
		road_bad_peer(os, road->road, err);
	}
	return err == -EAGAIN ? -ENETUNREACH : err;
}

static void road_open_work(struct work_struct *work)
{
	struct ops_sock *os = container_of(work, struct ops_sock, open);
	struct sockaddr_storage source, destination, first_hop;
	struct offload_route route = {
		.source = &source, .destination = &destination, .first_hop = &first_hop,
	};
	struct ops_road *road;
	unsigned long i;
	int err;

	if (READ_ONCE(os->dead) || ops_is_local(os))
		goto out;
	if (!os->must && ops_wants_stamps(os->sk)) {
		road_why(os, OPS_COUNT_STAMPS);
		err = -EACCES;
		goto give_up;
	}
	err = offload_conn_route(ops_conn(os), &route);
	if (!err && !road_named(os) && road_leads_home(os))
		err = -ENETUNREACH;
	if (err) {
		road_why(os, OPS_COUNT_NO_ROUTE);
		goto give_up;
	}
	err = -EAGAIN;
	for (i = 0; err == -EAGAIN && (road = road_get_nth(i)); i++) {
		err = road_try(os, road, &route);
		road_put(road);
	}
	if (!err)
		goto out;
	if (os->why == OPS_COUNTERS)
		road_why(os, OPS_COUNT_NO_ROAD);
	if (err == -EAGAIN)
		err = -ENETUNREACH;
give_up:
	road_give_up(os, err);
out:
	ops_sock_put(os);
}

void ops_road_begin(struct ops_sock *os)
{
	if (!ops_roads_any() && !os->must)
		return;
	if (!os->sk_held) {
		sock_hold(os->sk);
		os->sk_held = true;
	}
	INIT_WORK(&os->open, road_open_work);
	ops_sock_get(os);
	queue_work(road_wq, &os->open);
}

/* The other end ************************************************************* */

/*
 * Sockets that are bound to a device (SO_BINDTODEVICE, addresses of a link) are found only if it is
 * named: the one that has the address.
 */
static int road_device4(struct net *net, __be32 address)
{
	const struct net_device *dev;

	guard(rcu)();
	dev = __ip_dev_find(net, address, false);
	return dev ? dev->ifindex : 0;
}

#if IS_ENABLED(CONFIG_IPV6)
static int road_device6(struct net *net, const struct sockaddr_in6 *local)
{
	const struct net_device *dev;

	if (local->sin6_scope_id)
		return local->sin6_scope_id;
	guard(rcu)();
	dev = ipv6_dev_find(net, &local->sin6_addr, NULL);
	return dev ? dev->ifindex : 0;
}
#endif

static struct sock *road_lookup(struct net *net, const struct sockaddr_storage *local,
				const struct sockaddr_storage *remote)
{
	const struct sockaddr_in *local4 = (const struct sockaddr_in *)local;
	const struct sockaddr_in *remote4 = (const struct sockaddr_in *)remote;
#if IS_ENABLED(CONFIG_IPV6)
	const struct sockaddr_in6 *local6 = (const struct sockaddr_in6 *)local;
	const struct sockaddr_in6 *remote6 = (const struct sockaddr_in6 *)remote;
#endif

	if (local->ss_family != remote->ss_family)
		return NULL;
	if (local->ss_family == AF_INET)
		return __inet_lookup_established(net, remote4->sin_addr.s_addr,
						 remote4->sin_port, local4->sin_addr.s_addr,
						 ntohs(local4->sin_port),
						 road_device4(net, local4->sin_addr.s_addr), 0);
#if IS_ENABLED(CONFIG_IPV6)
	if (local->ss_family == AF_INET6)
		return __inet6_lookup_established(net, &remote6->sin6_addr,
						  remote6->sin6_port, &local6->sin6_addr,
						  ntohs(local6->sin6_port),
						  road_device6(net, local6), 0);
#endif
	return NULL;
}

/* With a reference on @os that becomes the caller's. Return: 0 or why not. */
static int road_accept(struct ops_sock *os, const u8 *name, const struct offload_road *sought)
{
	u8 own[OFFLOAD_NAME_HASH];
	struct ops_road *road;

	if (os->active || !os->name.active || ops_is_local(os))
		return -ENOENT;
	offload_conn_name(ops_conn(os), false, own);
	if (crypto_memneq(own, name, sizeof(own)))
		return -ENOENT;
	if (!road_allowed(os, sought))
		return -EACCES;
	/* its program has closed it, or its listener has */
	if (sock_flag(os->sk, SOCK_DEAD))
		return -ENOENT;
	if (!os->must && ops_wants_stamps(os->sk)) {
		road_why(os, OPS_COUNT_STAMPS);
		return -EACCES;
	}
	/* its buffers would be charged to nobody, but without the road no byte comes */
	if (!os->must && !READ_ONCE(os->sk->sk_socket))
		return -EAGAIN;
	road = road_get(sought);
	if (!road)
		return -ENOENT;
	if (!road_assign(os, road, true)) {
		road_put(road);
		return -EBUSY;
	}
	return 0;
}

struct offload_conn *offload_conn_find(struct net *net, const struct sockaddr_storage *local,
				       const struct sockaddr_storage *remote,
				       const u8 name[OFFLOAD_NAME_HASH],
				       const struct offload_road *road)
{
	struct ops_sock *os = NULL;
	struct sock *sk;
	int err = -ENOENT;

	sk = road_lookup(net, local, remote);
	if (!sk)
		return ERR_PTR(-ENOENT);
	if (sk_fullsock(sk) && sk->sk_prot->recvmsg == ops_recvmsg)
		os = ops_sock_enter(sk);
	if (os) {
		err = road_accept(os, name, road);
		if (!err && !os->sk_held) {
			os->sk_held = true;
			sock_hold(sk);
		}
		if (err)
			ops_sock_put(os);
	}
	sock_gen_put(sk);
	return err ? ERR_PTR(err) : ops_conn(os);
}
EXPORT_SYMBOL_GPL(offload_conn_find);

/* Up, and down ************************************************************** */

void offload_road_up(struct offload_conn *conn, void *priv)
{
	struct ops_sock *os = &conn->os;
	bool up = false;

	spin_lock_bh(&os->lock);
	if (os->road_state == OPS_ROAD_OPENING) {
		WRITE_ONCE(os->priv, priv);
		/* who sees it up sees its state */
		smp_store_release(&os->road_state, OPS_ROAD_UP);
		up = true;
	}
	spin_unlock_bh(&os->lock);
	if (!up)
		return;
	ops_count(os->net, OPS_COUNT_UP);
	/* a shutdown() before connect() ends nothing, as with TCP */
	if (!((1 << inet_sk_state_load(os->sk)) & (TCPF_ESTABLISHED | TCPF_CLOSE_WAIT)))
		ops_road_shutdown(os);
	/* another program is to see no edge that TCP would not show */
	if (os->must) {
		ops_wake_all(os->sk);
		ops_wake_writers(os->sk);
	}
	/* bytes that came while this end could not read them */
	offload_data_ready(conn);
}
EXPORT_SYMBOL_GPL(offload_road_up);

/*
 * Is TCP's lock a program's now, who may hold it in a page that does not come? The worker serves
 * all sockets, and does not wait for it: it is started again when the lock is given back.
 */
static bool road_breaks_later(struct ops_sock *os)
{
	struct sock *sk = os->sk;
	bool later;

	spin_lock_bh(&sk->sk_lock.slock);
	later = sock_owned_by_user_nocheck(sk) && !READ_ONCE(os->dead);
	os->breaks_late = later;
	spin_unlock_bh(&sk->sk_lock.slock);
	return later;
}

void ops_road_lock_left(struct ops_sock *os)
{
	os->breaks_late = false;
	ops_sock_get(os);
	if (!queue_work(road_wq, &os->breaks))
		ops_sock_put(os);
}

/* As with TCP, bytes and marks that came before an error stay behind it. False: there are none. */
static bool road_keep_unread(struct ops_sock *os)
{
	bool kept = false;

	if (!os->road || !os->road->road->abort || (!ops_road_unread(os) && !ops_road_urgent(os)))
		return false;
	spin_lock_bh(&os->lock);
	if (os->road_state == OPS_ROAD_UP && os->road_opened) {
		WRITE_ONCE(os->road_state, OPS_ROAD_BROKEN);
		kept = true;
	}
	spin_unlock_bh(&os->lock);
	if (kept)
		os->road->road->abort(ops_conn(os));
	return kept;
}

static void road_breaks_work(struct work_struct *work)
{
	struct ops_sock *os = container_of(work, struct ops_sock, breaks);

	if (os->road_abort) {
		if (road_breaks_later(os))
			goto out;
		ops_count(os->net, OPS_COUNT_BROKEN);
		if (!READ_ONCE(os->dead))
			tcp_abort(os->sk, -os->road_error);
	}
	if (!road_keep_unread(os))
		ops_road_close(os, true);
	/* who has TCP's FIN and waits for the road's end */
	ops_wake_all(os->sk);
out:
	ops_sock_put(os);
}

void offload_road_failed(struct offload_conn *conn, int error)
{
	struct ops_sock *os = &conn->os;
	/* the peer has changed, though nobody has read where */
	const bool came = ops_road_readable(os);
	enum ops_road_state before;

	spin_lock_bh(&os->lock);
	before = os->road_state;
	if (before > OPS_ROAD_UP || os->road_error) {
		spin_unlock_bh(&os->lock);
		return;
	}
	os->road_error = error;
	os->road_abort = READ_ONCE(os->tx_road) || READ_ONCE(os->rx_header) || came ||
			 /* bytes have come after shutdown of both directions */
			 (READ_ONCE(os->rx_shut) && error == -ECONNRESET);
	/* TCP may have ended before, and has no error then */
	if (before == OPS_ROAD_UP && !READ_ONCE(os->rx_end) &&
	    (READ_ONCE(os->rx_header) || came || sock_flag(os->sk, SOCK_DONE)))
		WRITE_ONCE(os->rx_cut, true);
	if (!os->road_opened)
		/* open() is still at work: road_opened() closes it */
		os->road_state = OPS_ROAD_FAILED;
	spin_unlock_bh(&os->lock);
	if (before == OPS_ROAD_OPENING) {
		road_why(os, road_reason(error));
		/* a peer whose program has ended the connection cannot know it */
		if (os->active && inet_sk_state_load(os->sk) == TCP_ESTABLISHED)
			road_bad_peer(os, os->road->road, error);
	}
	ops_sock_get(os);
	queue_work(road_wq, &os->breaks);
}
EXPORT_SYMBOL_GPL(offload_road_failed);

/**
 * ops_road_reset() - TCP's connection has ended with an error
 * @os: context
 *
 * Context: any; TCP's lock.
 */
void ops_road_reset(struct ops_sock *os)
{
	bool ends = false;

	spin_lock_bh(&os->lock);
	if ((os->road_state == OPS_ROAD_OPENING || os->road_state == OPS_ROAD_UP) &&
	    !os->road_error) {
		os->road_error = -ECONNRESET;
		if (os->road_state == OPS_ROAD_UP && !READ_ONCE(os->rx_end) &&
		    sock_flag(os->sk, SOCK_DONE))
			WRITE_ONCE(os->rx_cut, true);
		ends = true;
	}
	spin_unlock_bh(&os->lock);
	if (!ends)
		return;
	ops_sock_get(os);
	if (!queue_work(road_wq, &os->breaks))
		ops_sock_put(os);
}

void ops_road_close(struct ops_sock *os, bool abort)
{
	bool close = false;

	spin_lock_bh(&os->lock);
	if (os->road_opened) {
		os->road_opened = false;
		close = true;
	} else if (os->road_state == OPS_ROAD_UP && !abort) {
		os->road_flush = true;
	}
	os->road_state = OPS_ROAD_FAILED;
	spin_unlock_bh(&os->lock);
	if (close)
		os->road->road->close(ops_conn(os), abort);
	if (os->must)
		ops_wake_all(os->sk);
	if (close)
		ops_sock_put(os);	/* the road's */
}

/* The context is freed. */
void ops_road_free(struct ops_sock *os)
{
	if (!os->road)
		return;
	atomic_dec(&os->road->conns);
	ops_uncharge(os->net, KRDMA_OFFLOAD_LIMIT_CONNECTIONS, 1);
	module_put(os->road->road->owner);
	road_put(os->road);
}

bool ops_road_is_up(const struct ops_sock *os)
{
	/* pairs with offload_road_up() */
	return smp_load_acquire(&os->road_state) == OPS_ROAD_UP;
}

/* May recvmsg() be called? It has nothing more where the connection has ended. */
static bool road_is_read(const struct ops_sock *os)
{
	/* pairs with offload_road_up() */
	const enum ops_road_state state = smp_load_acquire(&os->road_state);

	return state == OPS_ROAD_UP || state == OPS_ROAD_BROKEN;
}

int ops_road_wait(struct ops_sock *os, int flags)
{
	long timeo = sock_sndtimeo(os->sk, flags & MSG_DONTWAIT);
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	int err = 0;

	timeo = min_t(long, timeo, msecs_to_jiffies(READ_ONCE(road_wait_ms)));
	add_wait_queue(sk_sleep(os->sk), &wait);
	/* pairs with wq_has_sleeper() of who wakes */
	smp_mb();
	while (!ops_road_is_up(os)) {
		err = -EPIPE;
		/* it is not connected, or not any more: TCP's answer comes at once, too */
		if (ops_tcp_ended(os->sk) || READ_ONCE(os->dead))
			break;
		err = READ_ONCE(os->road_error) ?: -ENETUNREACH;
		if (READ_ONCE(os->road_state) > OPS_ROAD_UP)
			break;
		err = flags & MSG_DONTWAIT ? -EAGAIN : -ETIMEDOUT;
		if (!timeo)
			break;
		err = sock_intr_errno(timeo);
		if (signal_pending(current))
			break;
		err = 0;
		timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, timeo);
	}
	remove_wait_queue(sk_sleep(os->sk), &wait);
	return ops_road_is_up(os) ? 0 : err ?: -ENETUNREACH;
}

/* Bytes ********************************************************************* */

/* What is left of the header goes first. */
static int road_send_header(struct ops_sock *os, int flags)
{
	__be32 header[2] = { cpu_to_be32(OPS_HEADER_MAGIC), cpu_to_be32(os->tx_x) };
	int ret = 0;

	if (mutex_lock_interruptible(&os->tx_mutex))
		return -ERESTARTSYS;
	while (os->tx_header && ret >= 0) {
		struct kvec kvec = {
			.iov_base = (u8 *)header + OPS_HEADER - os->tx_header,
			.iov_len = os->tx_header,
		};
		struct msghdr msg = { .msg_flags = (flags & MSG_DONTWAIT) | MSG_NOSIGNAL };

		iov_iter_kvec(&msg.msg_iter, ITER_SOURCE, &kvec, 1, kvec.iov_len);
		ret = os->road->road->sendmsg(ops_conn(os), &msg, kvec.iov_len);
		if (ret > 0)
			WRITE_ONCE(os->tx_header, os->tx_header - ret);
	}
	mutex_unlock(&os->tx_mutex);
	return min(ret, 0);
}

int ops_road_send(struct ops_sock *os, struct msghdr *msg, size_t len)
{
	bool first = false;
	int ret;

	if (!ops_road_is_up(os))
		return -EPIPE;
	if (unlikely(READ_ONCE(os->tx_header))) {
		ret = road_send_header(os, msg->msg_flags);
		if (ret)
			return ret;
		first = true;
	}
	ret = os->road->road->sendmsg(ops_conn(os), msg, len);
	/* the peer has answered the header by a reset: TCP's news come after the first bytes */
	if (unlikely(first && ret == -EPIPE && len <= INT_MAX &&
		     (inet_sk_state_load(os->sk) == TCP_CLOSE ||
		      !(READ_ONCE(os->sk->sk_shutdown) & SEND_SHUTDOWN)))) {
		iov_iter_advance(&msg->msg_iter, len);
		return len;
	}
	if (ret > 0)
		os->sent += ret;
	return ret;
}

/*
 * Has the peer said where its part by TCP ends? TCP has brought no byte behind that place; its FIN
 * is a number, too.
 */
static bool road_header_right(const struct ops_sock *os)
{
	return be32_to_cpu(os->rx_buffer[0]) == OPS_HEADER_MAGIC &&
	       (s32)(os->rx_x - READ_ONCE(tcp_sk(os->sk)->rcv_nxt)) >= -1;
}

bool ops_header_read(struct ops_sock *os)
{
	if (os->rx_header == OPS_HEADER)
		return true;
	if (!road_is_read(os))
		return false;
	while (os->rx_header < OPS_HEADER) {
		struct kvec kvec = {
			.iov_base = (u8 *)os->rx_buffer + os->rx_header,
			.iov_len = OPS_HEADER - os->rx_header,
		};
		struct msghdr msg = {};
		int ret;

		iov_iter_kvec(&msg.msg_iter, ITER_DEST, &kvec, 1, kvec.iov_len);
		ret = os->road->road->recvmsg(ops_conn(os), &msg, kvec.iov_len, MSG_DONTWAIT);
		if (ret <= 0)
			return false;
		if (os->rx_header + ret == OPS_HEADER) {
			os->rx_x = be32_to_cpu(os->rx_buffer[1]);
			if (!road_header_right(os)) {
				/* it has changed to the road, so that TCP alone does not go on */
				WRITE_ONCE(os->rx_header, OPS_HEADER - 1);
				offload_road_failed(ops_conn(os), -EPROTO);
				return false;
			}
		}
		/* who sees it complete sees X */
		smp_store_release(&os->rx_header, os->rx_header + ret);
	}
	return true;
}

int ops_road_recv(struct ops_sock *os, struct msghdr *msg, size_t len, int flags)
{
	int ret;

	if (!road_is_read(os))
		return -EAGAIN;
	ret = os->road->road->recvmsg(ops_conn(os), msg, len, flags);
	if (ret > 0 && !(flags & MSG_PEEK)) {
		os->received += ret;
		sk_peek_offset_bwd(os->sk, ret);
	}
	return ret;
}

/*
 * A road peeks from its first unread byte on. Behind others (SO_PEEK_OFF) the bytes are taken out
 * of a copy.
 */
static int road_peek_behind(struct ops_sock *os, struct msghdr *msg, size_t len, int flags,
			    u32 skip)
{
	const size_t size = min_t(size_t, len + skip, ops_road_readable(os));
	struct msghdr peeked = {};
	struct kvec kvec;
	int ret;

	if (size <= skip)
		return -EAGAIN;
	kvec.iov_len = size;
	kvec.iov_base = kvmalloc(size, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!kvec.iov_base)
		return -ENOMEM;
	iov_iter_kvec(&peeked.msg_iter, ITER_DEST, &kvec, 1, size);
	ret = ops_road_recv(os, &peeked, size, (flags | MSG_DONTWAIT) & ~MSG_TRUNC);
	if (ret >= 0)
		ret = ret > skip ? ret - (int)skip : -EAGAIN;
	if (ret > 0 && !(flags & MSG_TRUNC))
		ret = copy_to_iter(kvec.iov_base + skip, ret, &msg->msg_iter) ?: -EFAULT;
	kvfree(kvec.iov_base);
	return ret;
}

int ops_road_peek(struct ops_sock *os, struct msghdr *msg, size_t len, int flags, u32 skip)
{
	return skip ? road_peek_behind(os, msg, len, flags, skip) :
		      ops_road_recv(os, msg, len, flags);
}

bool ops_road_notifies(const struct ops_sock *os)
{
	return !ops_is_local(os) && os->road->road->caps & OFFLOAD_ZEROCOPY;
}

u32 ops_road_readable(const struct ops_sock *os)
{
	return road_is_read(os) ? os->road->road->readable(ops_conn((struct ops_sock *)os)) : 0;
}

bool ops_road_full(const struct ops_sock *os)
{
	return road_is_read(os) && os->road->road->full &&
	       os->road->road->full(ops_conn((struct ops_sock *)os));
}

bool ops_road_unread(const struct ops_sock *os)
{
	return ops_road_readable(os) > OPS_HEADER - READ_ONCE(os->rx_header);
}

bool ops_road_writable(const struct ops_sock *os)
{
	return !ops_road_is_up(os) || os->road->road->writable(ops_conn((struct ops_sock *)os));
}

u32 ops_road_unsent(const struct ops_sock *os)
{
	return ops_road_is_up(os) ? os->road->road->unsent(ops_conn((struct ops_sock *)os)) : 0;
}

bool ops_road_urgent_there(const struct ops_sock *os)
{
	return !ops_is_local(os) && ops_receives_beside(os) && road_is_read(os) &&
	       os->road->road->urgent;
}

static u32 road_urgent(const struct ops_sock *os, u32 *ahead)
{
	*ahead = U32_MAX;
	if (!ops_road_urgent_there(os))
		return 0;
	return os->road->road->urgent(ops_conn((struct ops_sock *)os), ahead);
}

u32 ops_road_urgent(const struct ops_sock *os)
{
	u32 ahead, urgent = road_urgent(os, &ahead);

	/* behind bytes of TCP */
	return urgent && !ops_at_road(os) ? urgent & ~OFFLOAD_URGENT_MARK : urgent;
}

u32 ops_road_ahead(const struct ops_sock *os)
{
	u32 ahead;

	road_urgent(os, &ahead);
	return ahead;
}

void ops_road_shutdown(struct ops_sock *os)
{
	const int sent = READ_ONCE(os->sk->sk_shutdown) & SEND_SHUTDOWN;

	/* also without a byte by the road: the peer waits for both ends, see change.c */
	if (sent && ops_road_is_up(os))
		os->road->road->shutdown(ops_conn(os),
					 READ_ONCE(os->rx_shut) ? SHUTDOWN_MASK : sent);
}

int ops_road_setsockopt(struct ops_sock *os, int level, int name, sockptr_t value,
			unsigned int len)
{
	if (!ops_road_is_up(os) || !os->road->road->setsockopt)
		return -ENOPROTOOPT;
	return os->road->road->setsockopt(ops_conn(os), level, name, value, len);
}

int ops_road_getsockopt(struct ops_sock *os, int level, int name, char __user *value,
			int __user *len)
{
	if (!ops_road_is_up(os) || !os->road->road->getsockopt)
		return -ENOPROTOOPT;
	return os->road->road->getsockopt(ops_conn(os), level, name, value, len);
}

/* Wake-ups ****************************************************************** */

/* how often it is asked whether TCP's last bytes before X are there */
#define ROAD_AGAIN	msecs_to_jiffies(20)

static void road_receive(struct ops_sock *os, unsigned long delay)
{
	ops_sock_get(os);
	if (!queue_delayed_work(road_wq, &os->receive, delay))
		ops_sock_put(os);
}

void ops_road_receive(struct ops_sock *os)
{
	road_receive(os, 0);
}

/* Return: true: it is taken, and for no longer than it takes to copy. */
static bool road_reader_waits(struct ops_sock *os, bool *got)
{
	*got = mutex_trylock(&os->rx_mutex);
	/* pairs with change_reader_enters() */
	smp_rmb();
	return !*got && !atomic_read(&os->rx_lenders);
}

/**
 * ops_road_reader_try() - take rx_mutex for a call that does not wait for bytes
 * @os: context with a road that is not the host's
 *
 * It waits for one that copies, and for the worker, as TCP's call waits for TCP's lock: poll() has
 * said that there are bytes. One that waits with the mutex wakes it when it is free: its program
 * would wait for an event that it was already shown.
 *
 * Return: false: taken. Context: process.
 */
bool ops_road_reader_try(struct ops_sock *os)
{
	bool got;

	if (likely(mutex_trylock(&os->rx_mutex)))
		return true;
	/* woken by ops_road_reader_left(); a signal is answered as if the mutex was lent */
	wait_var_event_interruptible(&os->rx_mutex, !road_reader_waits(os, &got));
	if (got)
		return true;
	WRITE_ONCE(os->rx_missed, true);
	/* pairs with ops_road_reader_left() */
	smp_mb();
	return mutex_trylock(&os->rx_mutex);
}

void ops_road_reader_left(struct ops_sock *os)
{
	/* pairs with road_reader_enter() and ops_road_reader_try() */
	smp_mb();
	wake_up_var(&os->rx_mutex);
	if (unlikely(READ_ONCE(os->rx_late)) && xchg(&os->rx_late, false))
		road_receive(os, 0);
	if (unlikely(READ_ONCE(os->rx_missed)) && xchg(&os->rx_missed, false))
		ops_wake_readers(os->sk);
}

/*
 * The worker serves all sockets: it waits for no reader, who may sit in a page of the program's
 * that does not come. That one starts it again.
 */
static bool road_reader_enter(struct ops_sock *os)
{
	if (mutex_trylock(&os->rx_mutex))
		return true;
	WRITE_ONCE(os->rx_late, true);
	/* pairs with ops_road_reader_left() */
	smp_mb();
	return mutex_trylock(&os->rx_mutex);
}

/*
 * TCP does not wake a reader who wants more than one byte for the last ones before X. Those of the
 * road, which came before them, are enough, perhaps: he is woken when all are there.
 */
static bool road_receive_waits(const struct ops_sock *os)
{
	const struct sock *sk = os->sk;

	return READ_ONCE(sk->sk_rcvlowat) > 1 && !READ_ONCE(os->dead) &&
	       inet_sk_state_load(sk) != TCP_CLOSE && ops_before_road(os);
}

static void road_receive_work(struct work_struct *work)
{
	struct ops_sock *os = container_of(to_delayed_work(work), struct ops_sock, receive);
	bool known = true;

	/* a same-host connection has no header */
	if (!ops_is_local(os)) {
		if (!road_reader_enter(os))
			goto out;
		known = ops_header_read(os);
		mutex_unlock(&os->rx_mutex);
		ops_road_reader_left(os);
	}
	/* a peer that has sent nothing by the road ends it without a header */
	if (known || READ_ONCE(os->rx_end))
		ops_wake_readers(os->sk);
	if (known && road_receive_waits(os))
		road_receive(os, ROAD_AGAIN);
out:
	ops_sock_put(os);
}

void offload_data_ready(struct offload_conn *conn)
{
	struct ops_sock *os = &conn->os;

	/* poll() cannot read where the bytes go on; pairs with ops_header_read() */
	if (smp_load_acquire(&os->rx_header) < OPS_HEADER) {
		road_receive(os, 0);
		return;
	}
	ops_wake_readers(os->sk);
}
EXPORT_SYMBOL_GPL(offload_data_ready);

void offload_write_space(struct offload_conn *conn)
{
	ops_wake_writers(conn->os.sk);
}
EXPORT_SYMBOL_GPL(offload_write_space);

void offload_end_of_stream(struct offload_conn *conn)
{
	WRITE_ONCE(conn->os.rx_end, true);
	offload_data_ready(conn);
}
EXPORT_SYMBOL_GPL(offload_end_of_stream);

void ops_road_prepare(struct ops_sock *os)
{
	INIT_DELAYED_WORK(&os->receive, road_receive_work);
	INIT_WORK(&os->breaks, road_breaks_work);
}

int ops_sock_info(struct ops_sock *os, struct sk_buff *skb)
{
	if (!ops_road_is_up(os) || !os->road->road->info)
		return 0;
	return os->road->road->info(ops_conn(os), skb);
}

/**
 * ops_road_name() - the road that a socket has
 * @os: context
 *
 * Return: name, valid as long as @os is; "": none.
 */
const char *ops_road_name(const struct ops_sock *os)
{
	if (ops_is_local(os))
		return ops_local_road.name;
	return ops_road_is_up(os) ? os->road->road->name : "";
}

/* Start and end ************************************************************* */

/* One of those that are registered, other than the ones asked before; pins its module. */
static const struct offload_road *road_next_to_leave(unsigned int *index)
{
	struct ops_road *road;
	unsigned int i = 0;

	guard(mutex)(&roads_mutex);
	list_for_each_entry(road, &roads, node)
		if (i++ == *index) {
			++*index;
			if (road->road->shutdown_road && try_module_get(road->road->owner))
				return road->road;
		}
	*index = UINT_MAX;
	return NULL;
}

void ops_roads_refuse(bool refuse)
{
	WRITE_ONCE(roads_down, refuse);
}

void ops_roads_down(bool down)
{
	const struct offload_road *road;
	unsigned int index = 0;

	ops_roads_refuse(down);
	while (down && index != UINT_MAX) {
		road = road_next_to_leave(&index);
		if (!road)
			continue;
		road->shutdown_road();
		module_put(road->owner);
	}
}

int ops_road_init(void)
{
	road_wq = alloc_workqueue("krdma_ops", WQ_UNBOUND, 0);
	if (!road_wq)
		return -ENOMEM;
	return offload_register_road(&ops_local_road);
}

void ops_road_exit(void)
{
	struct ops_road *road = road_remove(&ops_local_road);

	destroy_workqueue(road_wq);
	synchronize_rcu();
	kfree(road);
}
