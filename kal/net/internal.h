/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Functions that the files of the network stack interface provide to each other; see net.h. */
#ifndef KAL_NET_INTERNAL_H
#define KAL_NET_INTERNAL_H

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>

#include <krdma/rnicpi.h>

#include "net.h"

/* limit of a list of addresses, because each address is compared with all before it */
#define KAL_NET_ADDRS_MAX	1024

/**
 * struct kal_net_share - usage of one kind of object
 * @lock: protects @count and @users
 * @count: number of objects of all users
 * @users: number of objects of each user, by uid
 */
struct kal_net_share {
	struct mutex lock;	/* protects count and users */
	unsigned int count;
	struct xarray users;
};

/**
 * struct kal_net - data of the network stack interface for a namespace
 * @net: namespace
 * @sub_lock: protects @subs, and is held while a handler runs; taken with softirqs off and
 *	inside all locks of the host
 * @subs: subscriptions
 * @shares: objects of the users of /dev/krdma; share.c
 * @mib_gone: counters of RNICs that were removed; net_rnic_calls_sem of rnic.c
 * @route_lock: protects @route_users
 * @route_users: number of subscriptions that want routes
 * @fib_nb: notifier of routes, registered while @route_users is not 0
 * @nexthop_nb: notifier of shared next hop objects, registered like @fib_nb
 * @nexthop_work: reports a change of a next hop object
 * @route_live: the host has reported the routes that existed at registration
 */
struct kal_net {
	struct net *net;
	spinlock_t sub_lock;	/* protects subs */
	struct list_head subs;
	struct kal_net_share shares[KAL_SHARES];
	u64 mib_gone[RI_MIB_OBJECTS];
	struct mutex route_lock;	/* protects route_users */
	unsigned int route_users;
	struct notifier_block fib_nb;
	struct notifier_block nexthop_nb;
	struct work_struct nexthop_work;
	bool route_live;
};

struct kal_net *kal_net(struct net *net);

static inline struct sockaddr_in *kal_in4(const struct sockaddr_storage *addr)
{
	return (struct sockaddr_in *)addr;
}

static inline struct sockaddr_in6 *kal_in6(const struct sockaddr_storage *addr)
{
	return (struct sockaddr_in6 *)addr;
}

/* addr.c: pure functions */
void kal_set_addr4(struct sockaddr_storage *addr, __be32 ip);
void kal_set_addr6(struct sockaddr_storage *addr, const struct in6_addr *ip,
		   int ifindex);
int kal_addr_check(const struct sockaddr_storage *addr);

/* vrf.c */
struct net_device *kal_net_owner_rcu(struct net *net, const struct sockaddr_storage *addr,
				     int vrf);
int kal_net_addr_vrf(struct net *net, const struct sockaddr_storage *addr);

/* events.c */
void kal_net_deliver(struct kal_net *kn, const struct kal_net_event *event);
int kal_net_events_init(void);
void kal_net_events_exit(void);

/* share.c */
void kal_net_shares_init(struct kal_net *kn);
void kal_net_shares_exit(struct kal_net *kn);

/* neigh.c */
int kal_net_neigh_init(void);
void kal_net_neigh_exit(void);

/* rnic.c */
int kal_net_rnic_init(void);
void kal_net_rnic_exit(void);
struct ri_rnic *kal_net_rnic_find(const struct net_device *ndev);
bool kal_net_has_rnic(const struct net *net, const struct net_device *ndev);
void kal_net_rnics_forget(struct kal_net *kn);
void kal_net_rnics_mib(struct kal_net *kn, u64 *sum);

/* mib.c */
void kal_mib_add(u64 *sum, const u64 *counted, bool gauges);

#endif /* KAL_NET_INTERNAL_H */
