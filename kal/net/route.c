// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Routes and local addresses of the network stack interface: the results of the host's
 * routing, as the types of krdma/netstack.h. No function here sleeps.
 */
#include <linux/export.h>
#include <linux/inetdevice.h>
#include <net/addrconf.h>
#include <net/ip6_route.h>
#include <net/ip_fib.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <net/route.h>
#include <krdma/compat_net.h>

#include "internal.h"

/* One route **************************************************************** */

static void net_route_flow4(struct flowi4 *fl4, const struct sockaddr_storage *dst,
			    int oif)
{
	memset(fl4, 0, sizeof(*fl4));
	fl4->daddr = kal_in4(dst)->sin_addr.s_addr;
	fl4->fl4_dport = kal_in4(dst)->sin_port;
	fl4->flowi4_oif = oif;
	fl4->flowi4_iif = LOOPBACK_IFINDEX;
	fl4->flowi4_proto = IPPROTO_TCP;
	fl4->flowi4_uid = current_uid();
}

static void net_route_set_next_hop4(struct kal_route *r, const struct rtable *rt,
				    __be32 dst)
{
	r->gateway = rt->rt_uses_gateway;
	if (rt->rt_gw_family == AF_INET6)
		kal_set_addr6(&r->next_hop, &rt->rt_gw6, r->ifindex);
	else if (rt->rt_gw_family == AF_INET)
		kal_set_addr4(&r->next_hop, rt->rt_gw4);
	else
		kal_set_addr4(&r->next_hop, dst);
}

/* RCU is held. */
static int net_route4(struct net *net, const struct sockaddr_storage *dst,
		      const struct sockaddr_storage *src, int oif,
		      struct kal_route *r)
{
	struct net_device *owner = NULL;
	struct flowi4 fl4;
	struct rtable *rt;

	net_route_flow4(&fl4, dst, oif);
	if (src) {
		fl4.saddr = kal_in4(src)->sin_addr.s_addr;
		if (!__ip_dev_find(net, fl4.saddr, false))
			return -EADDRNOTAVAIL;
		if (!oif)
			fl4.flowi4_oif = kal_net_addr_vrf(net, src);
	}
	rt = __ip_route_output_key(net, &fl4);
	if (IS_ERR(rt))
		return PTR_ERR(rt);
	if (rt->rt_flags & (RTCF_BROADCAST | RTCF_MULTICAST)) {
		ip_rt_put(rt);
		return -ENETUNREACH;
	}
	r->local = rt->rt_type == RTN_LOCAL;
	r->ifindex = rt->dst.dev->ifindex;
	if (r->local)
		owner = kal_net_owner_rcu(net, dst, l3mdev_master_ifindex_rcu(rt->dst.dev));
	r->owner_ifindex = owner ? owner->ifindex : r->ifindex;
	r->mtu = dst_mtu(&rt->dst);
	net_route_set_next_hop4(r, rt, fl4.daddr);
	kal_set_addr4(&r->src, fl4.saddr);
	ip_rt_put(rt);
	return 0;
}

static bool net_route_owned6(struct net *net, const struct sockaddr_storage *src)
{
	return ipv6_chk_addr(net, &kal_in6(src)->sin6_addr, NULL, 0) ||
	       kal_net_addr_vrf(net, src);
}

/* RCU is held. */
static int net_route6(struct net *net, const struct sockaddr_storage *dst,
		      const struct sockaddr_storage *src, int oif,
		      struct kal_route *r)
{
	const struct sockaddr_in6 *to = kal_in6(dst);
	struct flowi6 fl6 = {
		.daddr = to->sin6_addr,
		.fl6_dport = to->sin6_port,
		.flowi6_oif = oif,
		.flowi6_iif = LOOPBACK_IFINDEX,
		.flowi6_proto = IPPROTO_TCP,
		.flowi6_uid = current_uid(),
	};
	struct net_device *owner = NULL;
	struct dst_entry *entry;
	struct rt6_info *rt;

	if (!oif && ipv6_addr_type(&to->sin6_addr) & IPV6_ADDR_LINKLOCAL)
		return -EINVAL;
	if (src) {
		fl6.saddr = kal_in6(src)->sin6_addr;
		if (!net_route_owned6(net, src))
			return -EADDRNOTAVAIL;
		if (!oif)
			fl6.flowi6_oif = kal_net_addr_vrf(net, src);
	}
	entry = ip6_dst_lookup_flow(net, NULL, &fl6, NULL);
	if (IS_ERR(entry))
		return PTR_ERR(entry);
	rt = dst_rt6_info(entry);
	r->local = rt->rt6i_flags & RTF_LOCAL;
	r->ifindex = entry->dev->ifindex;
	if (r->local && (entry->dev->flags & IFF_LOOPBACK || netif_is_l3_master(entry->dev)))
		owner = kal_net_owner_rcu(net, dst, l3mdev_master_ifindex_rcu(entry->dev));
	r->owner_ifindex = owner ? owner->ifindex : r->ifindex;
	r->mtu = dst_mtu(entry);
	r->gateway = rt->rt6i_flags & RTF_GATEWAY;
	kal_set_addr6(&r->next_hop, rt6_nexthop(rt, &to->sin6_addr), r->ifindex);
	kal_set_addr6(&r->src, &fl6.saddr, r->owner_ifindex);
	dst_release(entry);
	return 0;
}

/* RCU is held, and @dst has been checked. */
static int net_route_lookup(struct net *net, const struct sockaddr_storage *dst,
			    const struct sockaddr_storage *src, int oif,
			    struct kal_route *r)
{
	memset(r, 0, sizeof(*r));
	if (dst->ss_family == AF_INET)
		return net_route4(net, dst, src, oif, r);
	return net_route6(net, dst, src, oif, r);
}

/* Check a destination. A scope id sets the outgoing interface in @oif. */
static int net_route_check_dst(struct net *net, const struct sockaddr_storage *dst, int *oif)
{
	const struct sockaddr_in6 *in6 = kal_in6(dst);
	int err;

	err = kal_addr_check(dst);
	if (err)
		return err;
	if (kal_addr_any(dst))
		return -EINVAL;
	if (dst->ss_family == AF_INET || !in6->sin6_scope_id ||
	    !(ipv6_addr_type(&in6->sin6_addr) & IPV6_ADDR_LINKLOCAL))
		return 0;
	if (*oif && *oif != in6->sin6_scope_id &&
	    *oif != l3mdev_master_ifindex_by_index(net, in6->sin6_scope_id))
		return -EINVAL;
	*oif = in6->sin6_scope_id;
	return 0;
}

int kal_net_route(struct net *net, const struct sockaddr_storage *dst,
		  const struct sockaddr_storage *src, int oif,
		  struct kal_route *r)
{
	int err;

	err = net_route_check_dst(net, dst, &oif);
	if (err)
		return err;
	if (src && (!src->ss_family || kal_addr_any(src)))
		src = NULL;
	if (src && src->ss_family != dst->ss_family)
		return -EINVAL;
	guard(rcu)();
	if (oif && !dev_get_by_index_rcu(net, oif))
		return -ENODEV;
	return net_route_lookup(net, dst, src, oif, r);
}
EXPORT_SYMBOL_GPL(kal_net_route);

/* Local addresses ********************************************************** */

struct locals {
	struct kal_local *entries;
	unsigned int room;
	unsigned int count;
};

static void net_route_add(struct locals *l, const struct sockaddr_storage *addr,
			  int ifindex)
{
	unsigned int i;

	if (l->count >= KAL_NET_ADDRS_MAX)
		return;
	for (i = 0; i < min(l->count, l->room); i++)
		if (l->entries[i].ifindex == ifindex &&
		    kal_addr_same(&l->entries[i].addr, addr))
			return;
	if (l->count < l->room) {
		l->entries[l->count].addr = *addr;
		l->entries[l->count].ifindex = ifindex;
	}
	l->count++;
}

/* Add the addresses in the next hop's subnet (@near), or the other addresses. RCU is held. */
static void net_route_add_addrs4(struct locals *l, struct net_device *ndev,
				 const struct kal_route *r, bool near)
{
	u8 scope = r->local ? RT_SCOPE_HOST :
		   r->gateway ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK;
	const struct sockaddr_storage *hop = &r->next_hop;
	struct in_device *in_dev = __in_dev_get_rcu(ndev);
	const struct in_ifaddr *ifa;
	struct sockaddr_storage addr;
	bool match;

	if (!in_dev)
		return;
	in_dev_for_each_ifa_rcu(ifa, in_dev) {
		if (ifa->ifa_scope > scope || ifa->ifa_flags & IFA_F_DEPRECATED)
			continue;
		match = hop->ss_family == AF_INET &&
			inet_ifa_match(kal_in4(hop)->sin_addr.s_addr, ifa);
		if (match != near)
			continue;
		kal_set_addr4(&addr, ifa->ifa_local);
		if (!kal_addr_same(&addr, &r->src))
			net_route_add(l, &addr, ndev->ifindex);
	}
}

static void net_route_add_addrs6(struct locals *l, struct net_device *ndev,
				 const struct kal_route *r,
				 const struct sockaddr_storage *dst, bool near)
{
	const u32 unfit = IFA_F_TENTATIVE | IFA_F_DEPRECATED | IFA_F_DADFAILED;
	const struct in6_addr *hop = &kal_in6(&r->next_hop)->sin6_addr;
	int scope = ipv6_addr_src_scope(&kal_in6(dst)->sin6_addr);
	struct inet6_dev *idev = __in6_dev_get(ndev);
	const struct inet6_ifaddr *ifa;
	struct sockaddr_storage addr;

	if (!idev)
		return;
	list_for_each_entry_rcu(ifa, &idev->addr_list, if_list) {
		if (ifa->flags & unfit || ipv6_addr_src_scope(&ifa->addr) < scope)
			continue;
		if (ipv6_prefix_equal(hop, &ifa->addr, ifa->prefix_len) != near)
			continue;
		kal_set_addr6(&addr, &ifa->addr, ndev->ifindex);
		if (!kal_addr_same(&addr, &r->src))
			net_route_add(l, &addr, ndev->ifindex);
	}
}

/* Add the addresses of a route's interface. The route's own source address comes first. */
static void net_route_add_all(struct locals *l, struct net *net,
			      const struct kal_route *r,
			      const struct sockaddr_storage *dst)
{
	struct net_device *ndev = dev_get_by_index_rcu(net, r->owner_ifindex);
	int near;

	net_route_add(l, &r->src, r->owner_ifindex);
	for (near = 1; ndev && near >= 0; near--) {
		if (dst->ss_family == AF_INET)
			net_route_add_addrs4(l, ndev, r, near);
		else
			net_route_add_addrs6(l, ndev, r, dst, near);
	}
}

/*
 * Is there a route through this interface? kal_net_route() cannot tell for IPv4: if an
 * interface is given, the host assumes that any destination is a neighbour on it.
 */
static bool net_route_has4(struct net *net, const struct sockaddr_storage *dst,
			   const struct net_device *ndev)
{
	struct fib_result res = {};
	struct flowi4 fl4;

	net_route_flow4(&fl4, dst, ndev->ifindex);
	return !fib_lookup(net, &fl4, &res, 0) && res.type == RTN_UNICAST &&
	       res.nhc && res.nhc->nhc_dev == ndev;
}

static bool net_route_usable(const struct net_device *ndev)
{
	return ndev->flags & IFF_UP && !(ndev->flags & IFF_LOOPBACK);
}

/*
 * Add the local addresses for @dst in a VRF. Return: 0, or an errno if @dst cannot be reached
 * in it. RCU is held.
 */
static int net_route_add_vrf(struct locals *l, struct net *net, const struct sockaddr_storage *dst,
			     int vrf)
{
	struct kal_route best, other;
	struct net_device *ndev;
	int err;

	err = net_route_lookup(net, dst, NULL, vrf, &best);
	if (err)
		return err;
	net_route_add_all(l, net, &best, dst);
	for_each_netdev_rcu(net, ndev) {
		if (ndev->ifindex == best.owner_ifindex || !net_route_usable(ndev) ||
		    l3mdev_master_ifindex_rcu(ndev) != vrf)
			continue;
		if (dst->ss_family == AF_INET && !net_route_has4(net, dst, ndev))
			continue;
		if (net_route_lookup(net, dst, NULL, ndev->ifindex, &other) || other.local ||
		    other.ifindex != ndev->ifindex)
			continue;
		net_route_add_all(l, net, &other, dst);
	}
	return 0;
}

int kal_net_locals(struct net *net, const struct sockaddr_storage *dst,
		   struct kal_local *entries, unsigned int room)
{
	struct locals l = { .entries = entries, .room = room };
	struct net_device *ndev;
	struct kal_route best;
	int oif = 0;
	int err;

	err = net_route_check_dst(net, dst, &oif);
	if (err)
		return err;
	guard(rcu)();
	if (oif) {
		err = net_route_lookup(net, dst, NULL, oif, &best);
		if (err)
			return err;
		net_route_add_all(&l, net, &best, dst);
		return l.count;
	}
	err = net_route_add_vrf(&l, net, dst, 0);
	for_each_netdev_rcu(net, ndev)
		if (netif_is_l3_master(ndev) && ndev->flags & IFF_UP)
			net_route_add_vrf(&l, net, dst, ndev->ifindex);
	return l.count ?: err;
}
EXPORT_SYMBOL_GPL(kal_net_locals);
