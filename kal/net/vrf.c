// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * VRFs in the network stack interface: the VRF of a network device or of a local address. The
 * number of a VRF is the ifindex of its device. 0 is the default VRF, which contains all
 * devices that are in no other VRF.
 */
#include <linux/inetdevice.h>
#include <net/addrconf.h>
#include <net/l3mdev.h>

#include "internal.h"

/* Get the VRF of a network device. Any context. */
int kal_netdev_vrf(const struct net_device *ndev)
{
	guard(rcu)();
	return l3mdev_master_ifindex_rcu(ndev);
}
EXPORT_SYMBOL_GPL(kal_netdev_vrf);

static bool net_vrf_owns4(struct net_device *ndev, __be32 addr)
{
	const struct in_ifaddr *ifa;
	struct in_device *in_dev;

	guard(rcu)();
	in_dev = __in_dev_get_rcu(ndev);
	if (!in_dev)
		return false;
	in_dev_for_each_ifa_rcu(ifa, in_dev)
		if (ifa->ifa_local == addr)
			return true;
	/* the device also owns addresses that are not in its list, such as 127.0.0.2 */
	return __ip_dev_find(dev_net(ndev), addr, false) == ndev;
}

/*
 * Several interfaces may have the same link-local address. For example, a VLAN device has the
 * MAC address of its lower device.
 */
static bool net_vrf_owns6(struct net_device *ndev, const struct sockaddr_in6 *in6)
{
	if (ipv6_addr_type(&in6->sin6_addr) & IPV6_ADDR_LINKLOCAL && in6->sin6_scope_id &&
	    in6->sin6_scope_id != ndev->ifindex)
		return false;
	return ipv6_chk_addr(dev_net(ndev), &in6->sin6_addr, ndev, 1);
}

/* Does the network device have the address? An IPv4-mapped address counts as IPv4. Any context. */
bool kal_netdev_owns(struct net_device *ndev, const struct sockaddr_storage *addr)
{
	const struct in6_addr *in6 = &kal_in6(addr)->sin6_addr;

	if (addr->ss_family == AF_INET)
		return net_vrf_owns4(ndev, kal_in4(addr)->sin_addr.s_addr);
	if (ipv6_addr_v4mapped(in6))
		return net_vrf_owns4(ndev, in6->s6_addr32[3]);
	return net_vrf_owns6(ndev, kal_in6(addr));
}
EXPORT_SYMBOL_GPL(kal_netdev_owns);

/**
 * kal_net_owner_rcu() - find the network device that has a local address
 * @net: namespace
 * @addr: address
 * @vrf: VRF of the device; two VRFs may have the same addresses
 *
 * Return: the device or NULL. Context: any; RCU is held and keeps the device.
 */
struct net_device *kal_net_owner_rcu(struct net *net, const struct sockaddr_storage *addr, int vrf)
{
	struct net_device *ndev;

	if (addr->ss_family == AF_INET) {
		ndev = __ip_dev_find(net, kal_in4(addr)->sin_addr.s_addr, false);
		if (!ndev || l3mdev_master_ifindex_rcu(ndev) == vrf)
			return ndev;
	}
	for_each_netdev_rcu(net, ndev)
		if (l3mdev_master_ifindex_rcu(ndev) == vrf && kal_netdev_owns(ndev, addr))
			return ndev;
	return NULL;
}

/**
 * kal_net_addr_vrf() - find the VRF of a local address
 * @net: namespace
 * @addr: address
 *
 * Return: the VRF. If several VRFs have the address, the default VRF, else the first one
 * found. 0 also if the address is not local. Context: any.
 */
int kal_net_addr_vrf(struct net *net, const struct sockaddr_storage *addr)
{
	struct net_device *ndev;

	guard(rcu)();
	if (kal_net_owner_rcu(net, addr, 0))
		return 0;
	for_each_netdev_rcu(net, ndev)
		if (l3mdev_master_ifindex_rcu(ndev) && kal_netdev_owns(ndev, addr))
			return l3mdev_master_ifindex_rcu(ndev);
	return 0;
}
