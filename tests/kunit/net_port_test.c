// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Port reservations of the network stack interface, with fake sockets and a fake port space.
 * Runs only in the kernel.
 */
#include "net_fakes.h"

#include "../../kal/net/port.c"
#include "ktest.h"

/* The port space *********************************************************** */

/* owner of each port and address; sock NULL with a port: another owner */
static struct {
	struct socket *sock;
	__be32 ip;
	u16 port;
} space[16];

static u16 next_port;
/* no port is free on this address */
static __be32 full;
static unsigned int sockets;

static bool taken(__be32 ip, u16 port)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(space); i++)
		if (space[i].port == port && space[i].ip == ip)
			return true;
	return ip == full;
}

static void take(struct socket *sock, __be32 ip, u16 port)
{
	unsigned int i = 0;

	while (i < ARRAY_SIZE(space) - 1 && space[i].port)
		i++;
	space[i].sock = sock;
	space[i].ip = ip;
	space[i].port = port;
}

static int space_bind(struct socket *sock, struct sockaddr *addr, int len)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)addr;
	u16 port = ntohs(in->sin_port) ?: next_port++;

	if (taken(in->sin_addr.s_addr, port))
		return -EADDRINUSE;
	take(sock, in->sin_addr.s_addr, port);
	return 0;
}

static int space_getname(struct socket *sock, struct sockaddr *addr, int peer)
{
	struct sockaddr_in *in = (struct sockaddr_in *)addr;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(space); i++) {
		if (space[i].sock != sock)
			continue;
		*in = (struct sockaddr_in) {
			.sin_family = AF_INET,
			.sin_addr.s_addr = space[i].ip,
			.sin_port = htons(space[i].port),
		};
		return sizeof(*in);
	}
	return -EINVAL;
}

static int space_release(struct socket *sock)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(space); i++)
		if (space[i].sock == sock)
			memset(&space[i], 0, sizeof(space[i]));
	sockets--;
	return 0;
}

static const struct proto_ops space_ops = {
	.family = AF_INET,
	.bind = space_bind,
	.getname = space_getname,
	.release = space_release,
};

int kal_net_sock_create(struct net *net, int family, int vrf, struct socket **sock)
{
	int err;

	err = sock_create_lite(family, SOCK_STREAM, IPPROTO_TCP, sock);
	if (err)
		return err;
	(*sock)->ops = &space_ops;
	sockets++;
	return 0;
}

/* Tests ******************************************************************** */

#define ADDRESSES	3

/* a reservation of ADDRESSES addresses that is not held yet, in a free port space */
static struct kal_port *start(struct ktest *test)
{
	struct sockaddr_storage addr;
	struct kal_port *port;
	unsigned int i;

	memset(space, 0, sizeof(space));
	next_port = 40000;
	full = 0;
	sockets = 0;
	kal_set_addr4(&addr, 0);
	port = net_port_new(&addr, ADDRESSES);
	KUNIT_ASSERT_NOT_NULL(test, port);
	for (i = 0; i < ADDRESSES; i++)
		kal_set_addr4(&port->holds[i].addr, htonl(0x0a000001 + i));
	return port;
}

static void expect_all(struct ktest *test, struct kal_port *port, u16 number)
{
	unsigned int i;

	KTEST_EQ(test, ntohs(kal_addr_port(&port->addr)), number);
	KTEST_EQ(test, sockets, ADDRESSES);
	for (i = 0; i < ADDRESSES; i++) {
		KTEST_EQ(test, ntohs(kal_addr_port(&port->holds[i].addr)), number);
		KTEST_TRUE(test, taken(htonl(0x0a000001 + i), number));
	}
	kal_port_free(port);
	KTEST_EQ(test, sockets, 0);
}

/* no port is held, whatever happened in between */
static void expect_none(struct ktest *test, struct kal_port *port, int err)
{
	KTEST_EQ(test, err, -EADDRINUSE);
	KTEST_EQ(test, sockets, 0);
	kal_port_free(port);
}

static void holds_all(struct ktest *test)
{
	struct kal_port *port = start(test);

	KTEST_EQ(test, net_port_hold_any(&init_net, port, htons(7600)), 0);
	expect_all(test, port, 7600);
}

static void holds_all_or_none(struct ktest *test)
{
	struct kal_port *port = start(test);

	take(NULL, htonl(0x0a000003), 7600);
	expect_none(test, port, net_port_hold_any(&init_net, port, htons(7600)));
	KTEST_FALSE(test, taken(htonl(0x0a000001), 7600));
}

static void agrees_on_any(struct ktest *test)
{
	struct kal_port *port = start(test);

	/* three times, the port of the first address is not free on the others */
	take(NULL, htonl(0x0a000002), 40000);
	take(NULL, htonl(0x0a000003), 40001);
	take(NULL, htonl(0x0a000001), 40002);
	KTEST_EQ(test, net_port_hold_any(&init_net, port, 0), 0);
	expect_all(test, port, 40003);
}

static void gives_up(struct ktest *test)
{
	struct kal_port *port = start(test);

	full = htonl(0x0a000002);
	expect_none(test, port, net_port_hold_any(&init_net, port, 0));
	KTEST_EQ(test, next_port, 40000 + ANY_TRIES);
}

static const struct {
	u32 ip;
	u16 port;
	bool covered;
} uses[] = {
	{ 0, 7600, true },
	{ 0x0a000001, 7600, true },
	{ 0x0a000003, 7600, true },
	{ 0x0a000004, 7600, false },
	{ 0x0a000001, 7601, false },
	{ 0, 0, false },
};

static void covers_its_addresses(struct ktest *test)
{
	struct kal_port *port = start(test);
	struct sockaddr_storage addr;
	struct in6_addr zero = {};
	unsigned int i;

	KTEST_EQ(test, net_port_hold_any(&init_net, port, htons(7600)), 0);
	for (i = 0; i < ARRAY_SIZE(uses); i++) {
		kal_set_addr4(&addr, htonl(uses[i].ip));
		kal_addr_set_port(&addr, htons(uses[i].port));
		KTEST_EQ_MSG(test, kal_port_covers(port, &addr), uses[i].covered, "%x:%u",
			     uses[i].ip, uses[i].port);
	}
	kal_set_addr6(&addr, &zero, 0);
	kal_addr_set_port(&addr, htons(7600));
	KTEST_FALSE(test, kal_port_covers(port, &addr));
	kal_port_free(port);
}

static struct ktest_case cases[] = {
	KTEST_CASE(holds_all),
	KTEST_CASE(holds_all_or_none),
	KTEST_CASE(agrees_on_any),
	KTEST_CASE(gives_up),
	KTEST_CASE(covers_its_addresses),
	{}
};

KTEST_SUITE(net_port, cases);
