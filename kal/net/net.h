/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What the files of the network stack interface (net_*.c, mib.c) offer each
 * other. Their users see krdma/netstack.h.
 */
#ifndef KAL_NET_H
#define KAL_NET_H

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/spinlock.h>
#include <linux/uidgid_types.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>

#include <krdma/netstack.h>
#include <krdma/rnicpi.h>

/*
 * Protects the subscriptions of all namespaces and the list of RNICs, and is held
 * while a handler runs. Taken with softirqs off, inside everything of the host.
 */
extern spinlock_t kal_net_lock;

/** enum kal_share - what each user of /dev/krdma has a share of */
enum kal_share {
	KAL_SHARE_NEIGH,	/* watches of neighbours */
	KAL_SHARE_SUB,		/* subscriptions */
	KAL_SHARES,
};

/**
 * struct kal_net_share - how many there are of one kind
 * @lock: protects the rest
 * @count: of all users
 * @users: of each, by uid
 */
struct kal_net_share {
	struct mutex lock;	/* protects the rest */
	unsigned int count;
	struct xarray users;
};

/**
 * struct kal_net_user - whose share
 * @uid: user
 * @admin: has CAP_NET_ADMIN, and is not held to it
 */
struct kal_net_user {
	kuid_t uid;
	bool admin;
};

/**
 * struct kal_net - what the network stack interface keeps for a namespace
 * @net: the namespace
 * @subs: subscriptions; kal_net_lock
 * @shares: what users of /dev/krdma have; net_share.c
 * @mib_gone: what RNICs had counted that are gone; kal_net_lock
 * @route_lock: protects @route_users
 * @route_users: subscriptions that want routes
 * @fib_nb: the notifier of routes, registered while there are such
 * @nexthop_nb: that of next hops, which routes only name; the same
 * @nexthop_work: tells of a change of those
 * @route_live: it has been told of the routes that there were
 */
struct kal_net {
	struct net *net;
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

/* net_addr.c: pure */
void kal_set_addr4(struct sockaddr_storage *addr, __be32 ip);
void kal_set_addr6(struct sockaddr_storage *addr, const struct in6_addr *ip,
		   int ifindex);
int kal_addr_check(const struct sockaddr_storage *addr);
bool kal_addr_any(const struct sockaddr_storage *addr);
bool kal_addr_same(const struct sockaddr_storage *a,
		   const struct sockaddr_storage *b);
__be16 kal_addr_port(const struct sockaddr_storage *addr);
void kal_addr_set_port(struct sockaddr_storage *addr, __be16 port);

/* netstack.c */
int kal_netstack_init(void);
void kal_netstack_exit(void);

/* net_events.c */
void kal_net_deliver(struct kal_net *kn, const struct kal_net_event *event);
int kal_net_events_init(void);
void kal_net_events_exit(void);

/* net_share.c */
struct kal_net_user kal_net_user(void);
int kal_net_share_get(struct net *net, enum kal_share which, const struct kal_net_user *user);
void kal_net_share_put(struct net *net, enum kal_share which, const struct kal_net_user *user);
void kal_net_shares_init(struct kal_net *kn);
void kal_net_shares_exit(struct kal_net *kn);

/* net_neigh.c */
int kal_net_neigh_init(void);
void kal_net_neigh_exit(void);

/* net_rnic.c */
int kal_net_rnic_init(void);
void kal_net_rnic_exit(void);
bool kal_net_vlan_pair(const struct net_device *a, const struct net_device *b);
struct ri_rnic *kal_net_rnic_find(const struct net_device *ndev);
bool kal_net_has_rnic(const struct net *net, const struct net_device *ndev);
void kal_net_rnics_forget(struct kal_net *kn);
void kal_net_rnics_mib(struct kal_net *kn, u64 *sum);

/* mib.c */
void kal_mib_add(u64 *sum, const u64 *counted, bool gauges);

#endif /* KAL_NET_H */
