// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Address functions of the network stack interface. Pure functions. */
#include <linux/export.h>
#include <linux/string.h>
#include <net/ipv6.h>

#include "internal.h"

void kal_set_addr4(struct sockaddr_storage *addr, __be32 ip)
{
	memset(addr, 0, sizeof(*addr));
	addr->ss_family = AF_INET;
	kal_in4(addr)->sin_addr.s_addr = ip;
}

/*
 * @ifindex becomes the scope id if the address is link-local.
 */
void kal_set_addr6(struct sockaddr_storage *addr, const struct in6_addr *ip,
		   int ifindex)
{
	memset(addr, 0, sizeof(*addr));
	addr->ss_family = AF_INET6;
	kal_in6(addr)->sin6_addr = *ip;
	if (ipv6_addr_type(ip) & IPV6_ADDR_LINKLOCAL)
		kal_in6(addr)->sin6_scope_id = ifindex;
}

/**
 * kal_addr_check() - check whether an address can be the address of one host
 * @addr: address, or zero
 *
 * Return: 0, -EINVAL (a multicast or broadcast address), -EAFNOSUPPORT.
 */
int kal_addr_check(const struct sockaddr_storage *addr)
{
	const struct in6_addr *ip6 = &kal_in6(addr)->sin6_addr;
	__be32 ip4 = kal_in4(addr)->sin_addr.s_addr;

	switch (addr->ss_family) {
	case AF_INET:
		return ipv4_is_multicast(ip4) || ipv4_is_lbcast(ip4) ? -EINVAL :
								       0;
	case AF_INET6:
		if (!ipv6_mod_enabled() || ipv6_addr_v4mapped(ip6))
			return -EAFNOSUPPORT;
		return ipv6_addr_is_multicast(ip6) ? -EINVAL : 0;
	default:
		return -EAFNOSUPPORT;
	}
}

bool kal_addr_any(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET)
		return !kal_in4(addr)->sin_addr.s_addr;
	return ipv6_addr_any(&kal_in6(addr)->sin6_addr);
}
EXPORT_SYMBOL_GPL(kal_addr_any);

/* Compare two addresses without their ports. Link-local addresses must also be on the same link. */
bool kal_addr_same(const struct sockaddr_storage *a,
		   const struct sockaddr_storage *b)
{
	const struct sockaddr_in6 *a6 = kal_in6(a), *b6 = kal_in6(b);

	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return kal_in4(a)->sin_addr.s_addr ==
		       kal_in4(b)->sin_addr.s_addr;
	return ipv6_addr_equal(&a6->sin6_addr, &b6->sin6_addr) &&
	       (!(ipv6_addr_type(&a6->sin6_addr) & IPV6_ADDR_LINKLOCAL) ||
		a6->sin6_scope_id == b6->sin6_scope_id);
}
EXPORT_SYMBOL_GPL(kal_addr_same);

__be16 kal_addr_port(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET)
		return kal_in4(addr)->sin_port;
	return kal_in6(addr)->sin6_port;
}
EXPORT_SYMBOL_GPL(kal_addr_port);

void kal_addr_set_port(struct sockaddr_storage *addr, __be16 port)
{
	if (addr->ss_family == AF_INET)
		kal_in4(addr)->sin_port = port;
	else
		kal_in6(addr)->sin6_port = port;
}
EXPORT_SYMBOL_GPL(kal_addr_set_port);

/* Length of a socket address in bytes, 0 for a family that TCP does not run on. */
int kal_sockaddr_len(const struct sockaddr_storage *addr)
{
	switch (addr->ss_family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	default:
		return 0;
	}
}
