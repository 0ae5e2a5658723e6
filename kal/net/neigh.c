// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Link addresses of next hops, a part of the network stack interface. The functions look up
 * and watch entries of the host's neighbour tables.
 *
 * No reference to a neighbour is held after a call. A watch identifies its neighbour by
 * address and interface. The host's notifier reports changes of the neighbour. The notifier
 * runs in any context and under the lock of the neighbour table.
 */
#include <linux/export.h>
#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/random.h>
#include <net/arp.h>
#include <net/ndisc.h>
#include <net/neighbour.h>
#include <net/netns/hash.h>
#include <net/netevent.h>

#include "internal.h"

/* the look-up may find a dead entry, so it is repeated */
#define ASK_TRIES	3

static DEFINE_HASHTABLE(net_neigh_watches, 8);
static u32 net_neigh_watch_seed;
/*
 * Protects the watches; held while a handler runs; taken inside the locks of the neighbour
 * tables.
 */
static DEFINE_SPINLOCK(net_neigh_watch_lock);

static u32 net_neigh_watch_hash(const struct net *net, const struct sockaddr_storage *addr,
				int ifindex)
{
	const u32 seed = net_neigh_watch_seed ^ net_hash_mix(net);

	if (addr->ss_family == AF_INET)
		return jhash_2words((__force u32)kal_in4(addr)->sin_addr.s_addr,
				    ifindex, seed);
	return jhash(&kal_in6(addr)->sin6_addr, sizeof(struct in6_addr), ifindex ^ seed);
}

static struct neigh_table *net_neigh_table(const struct sockaddr_storage *addr)
{
	return addr->ss_family == AF_INET ? &arp_tbl : &nd_tbl;
}

/*
 * The key of a neighbour's entry. A link without addresses has one entry for all neighbours
 * (arp.c).
 */
static const void *net_neigh_entry_key(const struct sockaddr_storage *addr,
				       const struct net_device *ndev)
{
	static const __be32 any;

	if (addr->ss_family == AF_INET6)
		return &kal_in6(addr)->sin6_addr;
	if (ndev->flags & (IFF_LOOPBACK | IFF_POINTOPOINT))
		return &any;
	return &kal_in4(addr)->sin_addr;
}

static void net_neigh_read(struct neighbour *n, struct kal_neigh *neigh)
{
	memset(neigh, 0, sizeof(*neigh));
	if (READ_ONCE(n->dead))
		return;
	neigh->state = READ_ONCE(n->nud_state);
	if (!(neigh->state & NUD_VALID))
		return;
	neigh->lladdr_len = n->dev->addr_len;
	neigh_ha_snapshot(neigh->lladdr, n, n->dev);
}

/* Notifications ************************************************************ */

static void net_neigh_watch_notify(struct kal_neigh_watch *watch, const struct kal_neigh *neigh)
{
	bool answer = neigh->state & (NUD_VALID | NUD_FAILED) || !neigh->state;
	bool failed = neigh->state & NUD_FAILED || (watch->once && !neigh->state);

	if (watch->done || (watch->once && !answer))
		return;
	watch->done = watch->once;
	watch->handler(watch, neigh, failed ? -EHOSTUNREACH : 0);
}

static bool net_neigh_is_of(const struct kal_neigh_watch *watch, const struct neighbour *n)
{
	return watch->ifindex == n->dev->ifindex && net_eq(watch->net, dev_net(n->dev)) &&
	       watch->addr.ss_family == n->tbl->family &&
	       !memcmp(net_neigh_entry_key(&watch->addr, n->dev), n->primary_key, n->tbl->key_len);
}

static void net_neigh_changed(struct neighbour *n)
{
	struct kal_neigh_watch *watch;
	struct sockaddr_storage addr;
	struct kal_neigh neigh;

	if (n->tbl->family == AF_INET)
		kal_set_addr4(&addr, *(const __be32 *)n->primary_key);
	else if (n->tbl->family == AF_INET6)
		kal_set_addr6(&addr, (const struct in6_addr *)n->primary_key,
			      n->dev->ifindex);
	else
		return;
	spin_lock_bh(&net_neigh_watch_lock);
	hash_for_each_possible(net_neigh_watches, watch, node,
			       net_neigh_watch_hash(dev_net(n->dev), &addr, n->dev->ifindex)) {
		if (!net_neigh_is_of(watch, n))
			continue;
		net_neigh_read(n, &neigh);
		net_neigh_watch_notify(watch, &neigh);
	}
	spin_unlock_bh(&net_neigh_watch_lock);
}

static int net_neigh_notify(struct notifier_block *nb, unsigned long what, void *arg)
{
	if (what == NETEVENT_NEIGH_UPDATE)
		net_neigh_changed(arg);
	return NOTIFY_DONE;
}

static struct notifier_block net_neigh_nb = { .notifier_call = net_neigh_notify };

/* Queries ****************************************************************** */

static int net_neigh_check(const struct sockaddr_storage *addr)
{
	int err = kal_addr_check(addr);

	return err ?: kal_addr_any(addr) ? -EINVAL : 0;
}

int kal_neigh_query(struct net *net, const struct sockaddr_storage *addr,
		    int ifindex, struct kal_neigh *neigh)
{
	struct net_device *ndev;
	struct neighbour *n;
	int err;

	memset(neigh, 0, sizeof(*neigh));
	err = net_neigh_check(addr);
	if (err)
		return err;
	guard(rcu)();
	ndev = dev_get_by_index_rcu(net, ifindex);
	if (!ndev)
		return -ENODEV;
	n = neigh_lookup(net_neigh_table(addr), net_neigh_entry_key(addr, ndev), ndev);
	if (!n)
		return 0;
	net_neigh_read(n, neigh);
	neigh_release(n);
	return 0;
}
EXPORT_SYMBOL_GPL(kal_neigh_query);

/* Start the host's resolution, unless the host knows the link address. */
static int net_neigh_ask(struct net *net, const struct sockaddr_storage *addr, int ifindex,
			 struct kal_neigh *neigh)
{
	struct net_device *ndev;
	struct neighbour *n;
	int tries;

	guard(rcu)();
	ndev = dev_get_by_index_rcu(net, ifindex);
	if (!ndev)
		return -ENODEV;
	if (!netif_running(ndev))
		return -ENETDOWN;
	for (tries = 0; tries < ASK_TRIES; tries++) {
		n = neigh_lookup(net_neigh_table(addr), net_neigh_entry_key(addr, ndev), ndev);
		if (!n)
			n = __neigh_create(net_neigh_table(addr), net_neigh_entry_key(addr, ndev),
					   ndev, true);
		if (IS_ERR(n))
			return PTR_ERR(n);
		neigh_event_send(n, NULL);
		net_neigh_read(n, neigh);
		neigh_release(n);
		if (neigh->state)
			break;
	}
	return neigh->state ? 0 : -EAGAIN;
}

static void net_neigh_watch_add(struct kal_neigh_watch *watch)
{
	const bool any = watch->addr.ss_family == AF_INET;
	struct sockaddr_storage addr = watch->addr;
	struct net_device *ndev;

	/* use the same key as the neighbour's entry */
	guard(rcu)();
	ndev = dev_get_by_index_rcu(watch->net, watch->ifindex);
	if (any && ndev && ndev->flags & (IFF_LOOPBACK | IFF_POINTOPOINT))
		kal_set_addr4(&addr, 0);
	spin_lock_bh(&net_neigh_watch_lock);
	hash_add(net_neigh_watches, &watch->node,
		 net_neigh_watch_hash(watch->net, &addr, watch->ifindex));
	spin_unlock_bh(&net_neigh_watch_lock);
}

int kal_neigh_watch(struct kal_neigh_watch *watch, bool resolve,
		    struct kal_neigh *neigh)
{
	int err;

	watch->done = false;
	INIT_HLIST_NODE(&watch->node);
	err = kal_neigh_query(watch->net, &watch->addr, watch->ifindex, neigh);
	if (err)
		return err;
	/* add the watch before the resolution starts, so that no answer is missed */
	net_neigh_watch_add(watch);
	if (resolve)
		err = net_neigh_ask(watch->net, &watch->addr, watch->ifindex, neigh);
	if (!err && !(watch->once && neigh->state & (NUD_VALID | NUD_FAILED)))
		return 1;
	kal_neigh_unwatch(watch);
	return err;
}
EXPORT_SYMBOL_GPL(kal_neigh_watch);

void kal_neigh_unwatch(struct kal_neigh_watch *watch)
{
	spin_lock_bh(&net_neigh_watch_lock);
	hash_del(&watch->node);
	spin_unlock_bh(&net_neigh_watch_lock);
}
EXPORT_SYMBOL_GPL(kal_neigh_unwatch);

int kal_net_neigh_init(void)
{
	net_neigh_watch_seed = get_random_u32();
	return register_netevent_notifier(&net_neigh_nb);
}

void kal_net_neigh_exit(void)
{
	unregister_netevent_notifier(&net_neigh_nb);
}
