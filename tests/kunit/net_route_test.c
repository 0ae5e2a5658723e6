// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The order of local addresses in the network stack interface, with fake network devices, and
 * its address functions. Runs only in the kernel.
 */
#include "net_fakes.h"

#include "../../kal/net/addr.c"
#include "../../kal/net/vrf.c"
#include "../../kal/net/route.c"
#include "ktest.h"

/* "ip" in host order, or the last byte of an IPv6 address */
static struct sockaddr_storage v4(u32 ip)
{
	struct sockaddr_storage addr;

	kal_set_addr4(&addr, htonl(ip));
	return addr;
}

static struct in6_addr ip6(u16 prefix, u16 last)
{
	return (struct in6_addr) {
		.s6_addr16 = { htons(prefix), [7] = htons(last) },
	};
}

static struct sockaddr_storage v6(u16 prefix, u16 last, int ifindex)
{
	const struct in6_addr ip = ip6(prefix, last);
	struct sockaddr_storage addr;

	kal_set_addr6(&addr, &ip, ifindex);
	return addr;
}

/* Addresses **************************************************************** */

static const struct {
	u32 ip;
	int result;
	bool any;
} checks4[] = {
	{ 0x0a4d0001, 0, false },
	{ 0, 0, true },
	{ 0x7f000001, 0, false },
	{ 0xe0000001, -EINVAL, false },
	{ 0xefffffff, -EINVAL, false },
	{ 0xffffffff, -EINVAL, false },
	{ 0xf0000001, 0, false },
};

static void checks_addresses(struct ktest *test)
{
	struct sockaddr_storage addr = {};
	unsigned int i;

	KTEST_EQ(test, kal_addr_check(&addr), -EAFNOSUPPORT);
	addr.ss_family = AF_UNIX;
	KTEST_EQ(test, kal_addr_check(&addr), -EAFNOSUPPORT);
	for (i = 0; i < ARRAY_SIZE(checks4); i++) {
		addr = v4(checks4[i].ip);
		KTEST_EQ_MSG(test, kal_addr_check(&addr), checks4[i].result, "%x", checks4[i].ip);
		KTEST_EQ_MSG(test, kal_addr_any(&addr), checks4[i].any, "%x", checks4[i].ip);
	}
	addr = v6(0xfd77, 1, 3);
	KTEST_EQ(test, kal_addr_check(&addr), 0);
	KTEST_EQ(test, kal_in6(&addr)->sin6_scope_id, 0);
	addr = v6(0xff02, 1, 3);
	KTEST_EQ(test, kal_addr_check(&addr), -EINVAL);
	addr = v6(0, 0, 3);
	KTEST_TRUE(test, kal_addr_any(&addr));
	kal_in6(&addr)->sin6_addr.s6_addr16[5] = 0xffff;
	KTEST_EQ(test, kal_addr_check(&addr), -EAFNOSUPPORT);
}

static void compares_addresses(struct ktest *test)
{
	struct sockaddr_storage a = v4(0x0a000001), b = v4(0x0a000001);

	kal_addr_set_port(&b, htons(7));
	KTEST_EQ(test, kal_addr_port(&b), htons(7));
	KTEST_TRUE(test, kal_addr_same(&a, &b));
	b = v4(0x0a000002);
	KTEST_FALSE(test, kal_addr_same(&a, &b));
	b = v6(0xfd77, 1, 3);
	KTEST_FALSE(test, kal_addr_same(&a, &b));
	a = v6(0xfd77, 1, 4);
	KTEST_TRUE(test, kal_addr_same(&a, &b));
	/* the same address on two links counts as two addresses */
	a = v6(0xfe80, 1, 4);
	b = v6(0xfe80, 1, 3);
	KTEST_FALSE(test, kal_addr_same(&a, &b));
	b = v6(0xfe80, 1, 4);
	kal_addr_set_port(&b, htons(9));
	KTEST_EQ(test, kal_addr_port(&b), htons(9));
	KTEST_TRUE(test, kal_addr_same(&a, &b));
}

/* Order ******************************************************************** */

static struct kal_local entries[8];

static void counts_beyond_the_room(struct ktest *test)
{
	struct locals l = { .entries = entries, .room = 2 };
	const struct sockaddr_storage a = v4(1), b = v4(2), c = v4(3);

	net_route_add(&l, &a, 1);
	net_route_add(&l, &a, 1);
	KTEST_EQ(test, l.count, 1);
	net_route_add(&l, &a, 2);
	KTEST_EQ(test, l.count, 2);
	net_route_add(&l, &b, 1);
	net_route_add(&l, &c, 1);
	KTEST_EQ(test, l.count, 4);
	KTEST_EQ(test, entries[1].ifindex, 2);
	KTEST_TRUE(test, kal_addr_same(&entries[1].addr, &a));
}

/* the interface: 10.0.0.1/24 (chosen), 10.1.0.1/16, 10.0.0.2/24 and others */
static const struct {
	u32 ip;
	u8 len;
	u8 scope;
	u32 flags;
} on_link[] = {
	{ 0x0a000001, 24, RT_SCOPE_UNIVERSE, 0 },
	{ 0x0a010001, 16, RT_SCOPE_UNIVERSE, 0 },
	{ 0xa9fe0001, 16, RT_SCOPE_LINK, 0 },
	{ 0x0a000002, 24, RT_SCOPE_UNIVERSE, 0 },
	{ 0x0a000003, 24, RT_SCOPE_UNIVERSE, IFA_F_DEPRECATED },
	{ 0x7f000009, 8, RT_SCOPE_HOST, 0 },
};

static struct net_device *device_new(struct ktest *test, int ifindex)
{
	struct net_device *ndev = kunit_kzalloc(test, sizeof(*ndev), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, ndev);
	ndev->ifindex = ifindex;
	return ndev;
}

static struct net_device *device4(struct ktest *test)
{
	struct in_device *in_dev = kunit_kzalloc(test, sizeof(*in_dev), GFP_KERNEL);
	struct net_device *ndev = device_new(test, 7);
	struct in_ifaddr __rcu **at;
	struct in_ifaddr *ifa;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, in_dev);
	at = &in_dev->ifa_list;
	for (i = 0; i < ARRAY_SIZE(on_link); i++) {
		ifa = kunit_kzalloc(test, sizeof(*ifa), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, ifa);
		ifa->ifa_local = htonl(on_link[i].ip);
		ifa->ifa_address = ifa->ifa_local;
		ifa->ifa_prefixlen = on_link[i].len;
		ifa->ifa_mask = inet_make_mask(on_link[i].len);
		ifa->ifa_scope = on_link[i].scope;
		ifa->ifa_flags = on_link[i].flags;
		RCU_INIT_POINTER(*at, ifa);
		at = &ifa->ifa_next;
	}
	RCU_INIT_POINTER(ndev->ip_ptr, in_dev);
	return ndev;
}

static void both(struct locals *l, struct net_device *ndev, const struct kal_route *r)
{
	guard(rcu)();
	net_route_add_addrs4(l, ndev, r, true);
	net_route_add_addrs4(l, ndev, r, false);
}

static void expect4(struct ktest *test, const struct locals *l, const u32 *wanted,
		    unsigned int num)
{
	unsigned int i;

	KTEST_EQ(test, l->count, num);
	for (i = 0; i < min(num, l->count); i++)
		KTEST_EQ_MSG(test, ntohl(kal_in4(&l->entries[i].addr)->sin_addr.s_addr), wanted[i],
			     "entry %u", i);
}

/*
 * Addresses in the subnet of the next hop come first. The chosen address and unfit ones are
 * left out.
 */
static void orders_ipv4(struct ktest *test)
{
	static const u32 to_router[] = { 0x0a010001, 0x0a000002 };
	static const u32 to_neighbour[] = { 0x0a000002, 0x0a010001, 0xa9fe0001 };
	static const u32 to_host[] = { 0x0a010001, 0xa9fe0001, 0x0a000002, 0x7f000009 };
	struct locals l = { .entries = entries, .room = ARRAY_SIZE(entries) };
	struct net_device *ndev = device4(test);
	struct kal_route r = { .src = v4(0x0a000001) };

	/* behind a router of the second subnet: no link-local address */
	r.gateway = true;
	r.next_hop = v4(0x0a010063);
	both(&l, ndev, &r);
	expect4(test, &l, to_router, ARRAY_SIZE(to_router));
	/* a neighbour of the first */
	r.gateway = false;
	r.next_hop = v4(0x0a000063);
	l.count = 0;
	both(&l, ndev, &r);
	expect4(test, &l, to_neighbour, ARRAY_SIZE(to_neighbour));
	/* a destination on this host: any address, none is near */
	r.local = true;
	r.next_hop = v6(0xfe80, 1, 7);
	l.count = 0;
	both(&l, ndev, &r);
	expect4(test, &l, to_host, ARRAY_SIZE(to_host));
}

static const struct {
	u16 prefix, last;
	u32 flags;
} on_link6[] = {
	{ 0xfe80, 1, 0 },
	{ 0xfd76, 2, 0 },
	{ 0xfd77, 3, 0 },
	{ 0xfd77, 4, IFA_F_TENTATIVE },
	{ 0xfd77, 5, IFA_F_DEPRECATED },
	{ 0xfd77, 6, IFA_F_DADFAILED },
	{ 0xfd77, 7, 0 },
};

static struct net_device *device6(struct ktest *test)
{
	struct inet6_dev *idev = kunit_kzalloc(test, sizeof(*idev), GFP_KERNEL);
	struct net_device *ndev = device_new(test, 8);
	struct inet6_ifaddr *ifa;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, idev);
	INIT_LIST_HEAD(&idev->addr_list);
	for (i = 0; i < ARRAY_SIZE(on_link6); i++) {
		ifa = kunit_kzalloc(test, sizeof(*ifa), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, ifa);
		ifa->addr = ip6(on_link6[i].prefix, on_link6[i].last);
		ifa->prefix_len = 64;
		ifa->flags = on_link6[i].flags;
		list_add_tail(&ifa->if_list, &idev->addr_list);
	}
	RCU_INIT_POINTER(ndev->ip6_ptr, idev);
	return ndev;
}

static void expect6(struct ktest *test, struct net_device *ndev, const struct kal_route *r,
		    const struct sockaddr_storage *dst, const u16 *wanted, unsigned int num)
{
	struct locals l = { .entries = entries, .room = ARRAY_SIZE(entries) };
	unsigned int i;

	scoped_guard(rcu) {
		net_route_add_addrs6(&l, ndev, r, dst, true);
		net_route_add_addrs6(&l, ndev, r, dst, false);
	}
	KTEST_EQ(test, l.count, num);
	for (i = 0; i < min(num, l.count); i++) {
		KTEST_EQ_MSG(test, ntohs(kal_in6(&entries[i].addr)->sin6_addr.s6_addr16[7]),
			     wanted[i], "entry %u", i);
		KTEST_EQ(test, entries[i].ifindex, 8);
	}
}

static void orders_ipv6(struct ktest *test)
{
	static const u16 global[] = { 7, 2 }, link[] = { 1, 2, 7 };
	struct net_device *ndev = device6(test);
	struct kal_route r = { .src = v6(0xfd77, 3, 8), .next_hop = v6(0xfd77, 0x63, 8) };
	struct sockaddr_storage dst = r.next_hop;

	expect6(test, ndev, &r, &dst, global, ARRAY_SIZE(global));
	/* a destination on the link: addresses of a wider scope fit, too, but are not near */
	dst = v6(0xfe80, 0x63, 8);
	r.next_hop = dst;
	expect6(test, ndev, &r, &dst, link, ARRAY_SIZE(link));
}

static struct ktest_case cases[] = {
	KTEST_CASE(checks_addresses),
	KTEST_CASE(compares_addresses),
	KTEST_CASE(counts_beyond_the_room),
	KTEST_CASE(orders_ipv4),
	KTEST_CASE(orders_ipv6),
	{}
};

KTEST_SUITE(net_route, cases);
