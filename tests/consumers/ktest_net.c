// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A kernel consumer of the network stack interface, krdma/netstack.h. It uses the network
 * namespace of the process that loads it. The module's initialisation runs all checks and
 * returns -EIO if one fails.
 */
#include <linux/completion.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/rtnetlink.h>
#include <net/neighbour.h>
#include <net/sock.h>
#include <krdma/compat_net.h>
#include <krdma/krdma-abi.h>
#include <krdma/netstack.h>
#include <krdma/rnicpi.h>

#include "ktest.h"

static char *peer = "";
module_param(peer, charp, 0444);
MODULE_PARM_DESC(peer, "IPv4 address of a host on the RNIC's network");

static char *netdev = "";
module_param(netdev, charp, 0444);
MODULE_PARM_DESC(netdev, "network device that has an RNIC");

unsigned int kt_failures;

static struct net *net;
static struct net_device *ndev;
static struct sockaddr_storage dst;

static __be32 ipv4(const struct sockaddr_storage *addr)
{
	return ((const struct sockaddr_in *)addr)->sin_addr.s_addr;
}

static struct sockaddr_storage at(__be32 addr)
{
	struct sockaddr_storage to = {};

	to.ss_family = AF_INET;
	((struct sockaddr_in *)&to)->sin_addr.s_addr = addr;
	return to;
}

/* Ways ********************************************************************* */

static void check_routes(struct sockaddr_storage *src)
{
	struct sockaddr_storage elsewhere = at(htonl(0xf0000001));
	struct kal_local locals[4];
	struct kal_route route;
	int count;

	if (!KT_EXPECT(!kal_net_route(net, &dst, NULL, 0, &route)))
		return;
	KT_EXPECT(route.ifindex == ndev->ifindex && route.mtu == ndev->mtu);
	KT_EXPECT(ipv4(&route.next_hop) == ipv4(&dst) && !route.gateway && !route.local);
	*src = route.src;
	KT_EXPECT(kal_net_route(net, &elsewhere, NULL, 0, &route) < 0);
	KT_EXPECT(kal_net_route(net, &dst, &dst, 0, &route) == -EADDRNOTAVAIL);
	KT_EXPECT(!kal_net_route(net, src, NULL, 0, &route) && route.local &&
		  route.owner_ifindex == ndev->ifindex);

	count = kal_net_locals(net, &dst, locals, ARRAY_SIZE(locals));
	KT_EXPECT(count >= 1 && ipv4(&locals[0].addr) == ipv4(src) &&
		  locals[0].ifindex == ndev->ifindex);
	KT_EXPECT(kal_net_locals(net, &dst, NULL, 0) >= count);
}

static void check_rnic(void)
{
	struct ri_rnic *rnic = kal_rnic_of_netdev(ndev);

	if (KT_EXPECT(rnic)) {
		KT_EXPECT(rnic->netdev == ndev);
		ri_rnic_put(rnic);
	}
	KT_EXPECT(!kal_rnic_of_netdev(net->loopback_dev));
}

/* Neighbours *************************************************************** */

static DECLARE_COMPLETION(answered);
static struct kal_neigh answer;

static void neigh_changed(struct kal_neigh_watch *watch, const struct kal_neigh *neigh, int status)
{
	answer = *neigh;
	complete(&answered);
}

static void check_neighbour(void)
{
	struct kal_neigh_watch watch = {
		.net = net,
		.addr = dst,
		.ifindex = ndev->ifindex,
		.once = true,
		.handler = neigh_changed,
	};
	struct kal_neigh neigh;
	int ret = kal_neigh_watch(&watch, true, &neigh);

	KT_EXPECT(ret >= 0);
	if (ret == 1) {
		KT_EXPECT(wait_for_completion_timeout(&answered, 20 * HZ));
		kal_neigh_unwatch(&watch);
		neigh = answer;
	}
	KT_EXPECT(neigh.state & NUD_VALID && neigh.lladdr_len == ndev->addr_len);
	KT_EXPECT(!kal_neigh_query(net, &dst, ndev->ifindex, &answer) &&
		  !memcmp(answer.lladdr, neigh.lladdr, neigh.lladdr_len));
	watch.ifindex = INT_MAX;
	KT_EXPECT(kal_neigh_watch(&watch, true, &neigh) == -ENODEV);
}

/* Ports ******************************************************************** */

static int try_bind(const struct sockaddr_storage *addr)
{
	struct socket *sock;
	int ret = sock_create_kern(net, AF_INET, SOCK_STREAM, IPPROTO_TCP, &sock);

	if (ret)
		return ret;
	ret = kernel_bind(sock, (struct sockaddr_unsized *)addr, sizeof(struct sockaddr_in));
	sock_release(sock);
	return ret;
}

/* the owner's socket may bind to the reserved port and listen; no other socket may */
static void check_owner(struct kal_port *port, const struct sockaddr_storage *addr)
{
	struct socket *sock;

	if (!KT_EXPECT(!sock_create_kern(net, AF_INET, SOCK_STREAM, IPPROTO_TCP, &sock)))
		return;
	sock_set_reuseaddr(sock->sk);
	KT_EXPECT(kal_port_bind(NULL, sock, addr) == -EADDRINUSE);
	KT_EXPECT(!kal_port_bind(port, sock, addr));
	KT_EXPECT(kal_port_listen(NULL, sock, 1) == -EADDRINUSE);
	KT_EXPECT(!kal_port_listen(port, sock, 1));
	KT_EXPECT(!sock->sk->sk_reuseport && sock->sk->sk_reuse == SK_CAN_REUSE);
	sock_release(sock);
}

static void check_ports(const struct sockaddr_storage *src)
{
	struct sockaddr_storage addr = *src, everywhere = at(0);
	struct kal_port *port = kal_port_alloc(net, &addr);

	if (!KT_EXPECT(!IS_ERR(port)))
		return;
	KT_EXPECT(((struct sockaddr_in *)&addr)->sin_port);
	KT_EXPECT(kal_port_covers(port, &addr));
	KT_EXPECT(PTR_ERR(kal_port_alloc(net, &addr)) == -EADDRINUSE);
	KT_EXPECT(try_bind(&addr) == -EADDRINUSE);
	check_owner(port, &addr);
	KT_EXPECT(try_bind(&addr) == -EADDRINUSE);
	kal_port_free(port);
	KT_EXPECT(!try_bind(&addr));

	/* the addresses of all RNICs */
	port = kal_port_alloc(net, &everywhere);
	if (!KT_EXPECT(!IS_ERR(port)))
		return;
	((struct sockaddr_in *)&addr)->sin_port = ((struct sockaddr_in *)&everywhere)->sin_port;
	KT_EXPECT(kal_port_covers(port, &addr) && try_bind(&addr) == -EADDRINUSE);
	kal_port_free(port);
	KT_EXPECT(PTR_ERR(kal_port_alloc(net, &dst)) == -EADDRNOTAVAIL);
}

/* Events ******************************************************************* */

static u32 told_mtu;
static bool told_rnic;

static void net_changed(struct kal_net_sub *sub, const struct kal_net_event *event)
{
	if (event->type != KRDMA_NET_LINK || event->ndev != ndev)
		return;
	told_mtu = event->mtu;
	told_rnic = event->rnic && event->rnic->netdev == ndev;
}

static int set_mtu(u32 mtu)
{
	int ret;

	rtnl_lock();
	ret = dev_set_mtu(ndev, mtu);
	rtnl_unlock();
	return ret;
}

static void check_events(void)
{
	struct kal_net_sub sub = { .mask = KRDMA_NET_LINK, .handler = net_changed };
	const u32 mtu = ndev->mtu;

	if (!KT_EXPECT(!kal_net_subscribe(net, &sub)))
		return;
	KT_EXPECT(!set_mtu(mtu - 100) && told_mtu == mtu - 100 && told_rnic);
	KT_EXPECT(!set_mtu(mtu) && told_mtu == mtu);
	kal_net_unsubscribe(&sub);
	told_mtu = 0;
	KT_EXPECT(!set_mtu(mtu - 100) && !set_mtu(mtu) && !told_mtu);
	sub.mask = ~0U;
	KT_EXPECT(kal_net_subscribe(net, &sub) == -EINVAL);
}

/* Module ******************************************************************* */

static int __init kt_net_init(void)
{
	struct sockaddr_storage src = {};

	net = current->nsproxy->net_ns;
	dst = at(in_aton(peer));
	ndev = dev_get_by_name(net, netdev);
	if (!ndev)
		return -ENODEV;
	check_routes(&src);
	check_rnic();
	check_neighbour();
	check_ports(&src);
	check_events();
	kt_check_register(ndev);
	dev_put(ndev);
	pr_info("ktest: %u failures\n", kt_failures);
	return kt_failures ? -EIO : 0;
}

static void __exit kt_net_exit(void)
{
}

module_init(kt_net_init);
module_exit(kt_net_exit);

MODULE_DESCRIPTION("krdma test consumer of the network stack interface");
MODULE_LICENSE("Dual MIT/GPL");
