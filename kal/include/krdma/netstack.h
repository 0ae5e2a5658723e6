/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Network stack interface: services of the host's TCP/IP stack for providers and consumers of the
 * kernel access layer, for IPv4 and IPv6 and for each network namespace.
 *
 * The host's stack owns routes, addresses, neighbours and ports, and krdma keeps no copy of them.
 * Addresses are struct sockaddr_in or sockaddr_in6 in a sockaddr_storage. The port of a
 * destination matters only to policy rules that look at it. A link-local IPv6 address has its
 * interface in sin6_scope_id. -EAFNOSUPPORT means another family, an IPv4-mapped address, or a
 * host without IPv6.
 *
 * A caller that passes a struct net holds a reference to it during the call, and as long as it
 * holds an object that it got for this namespace.
 */
#ifndef KRDMA_NETSTACK_H
#define KRDMA_NETSTACK_H

#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/socket.h>
#include <linux/types.h>

struct net;
struct net_device;
struct ri_rnic;

/* Routes ******************************************************************* */

/**
 * struct kal_route - the route to a destination
 * @src: local address
 * @next_hop: a router or the destination. A router of an IPv4 destination may have
 *	      an IPv6 address.
 * @ifindex: outgoing interface, the loopback interface for a local destination
 * @owner_ifindex: interface that has the address of a local destination, else @ifindex
 * @mtu: path MTU
 * @gateway: @next_hop is a router
 * @local: the destination is an address of this host
 */
struct kal_route {
	struct sockaddr_storage src;
	struct sockaddr_storage next_hop;
	int ifindex;
	int owner_ifindex;
	u32 mtu;
	bool gateway;
	bool local;
};

/**
 * kal_net_route() - find the next hop that "ip route get" would choose for TCP
 * @net: namespace
 * @dst: destination
 * @src: address to send from, NULL or family 0 for any
 * @oif: outgoing interface, or the device of a VRF; 0 for any
 * @route: result
 *
 * The VRF is that of @oif, else that of @src, else the default one.
 * Rules that look at users see the calling task's.
 * Return: 0; -ENETUNREACH, -EHOSTUNREACH, -EACCES (prohibited), -EINVAL
 * (black hole, or a link-local destination without interface) as routing says;
 * -EADDRNOTAVAIL when @src is no address of this host; -ENODEV for an @oif that
 * is not there. Context: process or softirq, does not sleep.
 */
int kal_net_route(struct net *net, const struct sockaddr_storage *dst,
		  const struct sockaddr_storage *src, int oif,
		  struct kal_route *route);

/* The VRF of a network device, for @oif of kal_net_route(); 0: the default one. Context: any. */
int kal_netdev_vrf(const struct net_device *ndev);

/**
 * struct kal_local - a local address that reaches a destination
 * @addr: address, port 0
 * @ifindex: outgoing interface of packets from this address; for a local destination the
 *	     interface that has its address
 */
struct kal_local {
	struct sockaddr_storage addr;
	int ifindex;
};

/**
 * kal_net_locals() - list the local addresses that reach a destination
 * @net: namespace
 * @dst: destination
 * @entries: results, best first
 * @room: size of @entries
 *
 * First the address that routing chooses. Then the others of the outgoing
 * interface whose scope fits, those next to the next hop first. Then, for each
 * other interface with a route to @dst, the same. Then all of this for each VRF with a
 * route to @dst, behind the default one. Addresses that are tentative or deprecated are
 * left out.
 *
 * Return: the number of addresses, which may exceed @room but not 1024 (further addresses are
 * left out); or an errno of kal_net_route().
 * Context: process or softirq, does not sleep.
 */
int kal_net_locals(struct net *net, const struct sockaddr_storage *dst,
		   struct kal_local *entries, unsigned int room);

/* Neighbours *************************************************************** */

/**
 * struct kal_neigh - state of a next hop's link address
 * @state: NUD_*; 0: nothing is known
 * @lladdr_len: bytes of @lladdr; 0: not resolved
 * @lladdr: link address
 */
struct kal_neigh {
	u16 state;
	u8 lladdr_len;
	u8 lladdr[MAX_ADDR_LEN];
};

struct kal_neigh_watch;

/**
 * typedef kal_neigh_handler - handle a change of a watched neighbour
 * @watch: the watch
 * @neigh: present state
 * @status: 0, or -EHOSTUNREACH: the neighbour did not answer
 *
 * Context: any but hard interrupt, with locks held: must not sleep and must not
 * call kal_net_*() or kal_neigh_*().
 */
typedef void (*kal_neigh_handler)(struct kal_neigh_watch *watch,
				  const struct kal_neigh *neigh, int status);

/**
 * struct kal_neigh_watch - a watch on a neighbour
 * @net: namespace
 * @addr: address of the next hop
 * @ifindex: its interface
 * @once: report the answer only, and no later change
 * @handler: called at changes
 *
 * The caller fills these in; the rest belongs to kal/net/neigh.c.
 */
struct kal_neigh_watch {
	struct net *net;
	struct sockaddr_storage addr;
	int ifindex;
	bool once;
	kal_neigh_handler handler;
	struct hlist_node node;
	bool done;
};

/**
 * kal_neigh_query() - read the present state of a next hop's link address
 * @net: namespace
 * @addr: address of the next hop
 * @ifindex: interface
 * @neigh: result
 *
 * Return: 0, whether the link address is known or not; -ENODEV; -EINVAL: not a unicast address.
 * Context: any but hard interrupt.
 */
int kal_neigh_query(struct net *net, const struct sockaddr_storage *addr,
		    int ifindex, struct kal_neigh *neigh);

/**
 * kal_neigh_watch() - watch a neighbour
 * @watch: filled in by the caller
 * @ask: resolve the link address if it is not known
 * @neigh: present state
 *
 * With @once the handler is called at most once, when the neighbour is resolved or has failed.
 * Without, it is called at each change of the state or the link address. A neighbour that is
 * dropped from the table has state 0.
 *
 * Return: 1: the watch is active, to be ended by kal_neigh_unwatch(); 0: with @once, @neigh is the
 * answer already (maybe NUD_FAILED), and there is nothing to end; an errno of kal_neigh_query();
 * -ENETDOWN; -ENOBUFS: the neighbour table is full; -EAGAIN: the table is being emptied.
 * Context: process.
 */
int kal_neigh_watch(struct kal_neigh_watch *watch, bool ask,
		    struct kal_neigh *neigh);

/* End a watch. On return the handler does not run any more. Context: any but hard interrupt. */
void kal_neigh_unwatch(struct kal_neigh_watch *watch);

/* Ports ******************************************************************** */

struct kal_port;

/**
 * kal_port_alloc() - reserve a TCP port in the host's port space
 * @net: namespace
 * @addr: address and port. Port 0: any, the result is written there. Address
 *	  zero: all addresses of that family on the RNICs of @net that there are
 *	  now; one that comes later is not reserved. An address is reserved in the VRF
 *	  that it is in now.
 *
 * The reservation is a bound socket of the host that does nothing else. So neither bind() nor
 * connect() gives the port to another socket, with SO_REUSEADDR or without. The reservation fails
 * if any socket has the port, even an old connection in TIME_WAIT. On other addresses the port
 * stays free.
 *
 * The reservation conflicts with sockets of its owner, too: see kal_port_bind().
 *
 * Return: the reservation or an ERR_PTR: -EADDRINUSE; -EADDRNOTAVAIL (not an
 * address of this host, or no RNIC has one); -EACCES (a privileged port, and
 * the calling task lacks CAP_NET_BIND_SERVICE in the namespace); -ENOSPC (address zero, and
 * there are more than 1024 addresses); -ENOMEM.
 * Context: may sleep.
 */
struct kal_port *kal_port_alloc(struct net *net, struct sockaddr_storage *addr);

/* End a reservation. The port is free on return. May sleep. */
void kal_port_free(struct kal_port *port);

/* Are address (or address zero) and port reserved by @port? */
bool kal_port_covers(const struct kal_port *port,
		     const struct sockaddr_storage *addr);

/**
 * kal_port_bind() - bind a socket of a reservation's owner
 * @port: the reservation, which covers @addr; NULL: none, like kernel_bind()
 * @sock: TCP socket of the same namespace, with SO_REUSEADDR; bound to the VRF of @addr
 * @addr: address and port
 *
 * The reservation does not conflict with this socket, but every other socket does. The
 * reservation conflicts with all other sockets all the time. The socket stays bound when the
 * reservation ends.
 *
 * Return: 0 or the errno of bind(). Context: may sleep.
 */
int kal_port_bind(struct kal_port *port, struct socket *sock,
		  const struct sockaddr_storage *addr);

/* Let a bound socket listen past the reservation, like kernel_listen(). */
int kal_port_listen(struct kal_port *port, struct socket *sock, int backlog);

/* Events ******************************************************************* */

/* kal_net_sub.mask and kal_net_event.type use KRDMA_NET_* of krdma-abi.h. */

/**
 * struct kal_net_event - a change in a namespace
 * @type: one KRDMA_NET_*
 * @gone: removed; else new or changed
 * @ifindex: LINK, ADDRESS, RNIC: the interface; ROUTE: that of the first next hop, 0: none
 * @ndev: LINK, ADDRESS, RNIC: the network device
 * @rnic: the RNIC on it, or NULL; valid during the call
 * @mtu: LINK
 * @up: LINK
 * @prefix_len: ADDRESS, ROUTE
 * @addr: ADDRESS: the address; ROUTE: the destination. A change of policy rules or of next
 *	  hops is reported as a change of the default route, with prefix length 0.
 */
struct kal_net_event {
	u32 type;
	bool gone;
	int ifindex;
	const struct net_device *ndev;
	struct ri_rnic *rnic;
	u32 mtu;
	bool up;
	u8 prefix_len;
	struct sockaddr_storage addr;
};

/**
 * struct kal_net_sub - a subscription
 * @mask: wanted events, KRDMA_NET_*. LINK is reported for network devices of RNICs
 *	  only. A new IPv6 address is reported at once, when it may still be tentative.
 *	  It can be used when the route to it is reported.
 * @handler: called in the order of the host's notifications, in any context but
 *	     hard interrupt and with locks held: must not sleep and must not call
 *	     kal_net_*()
 * @net: filled in
 * @node: kal/net/events.c's
 */
struct kal_net_sub {
	u32 mask;
	void (*handler)(struct kal_net_sub *sub,
			const struct kal_net_event *event);
	struct net *net;
	struct list_head node;
};

/**
 * kal_net_subscribe() - subscribe to changes in a namespace
 * @net: namespace
 * @sub: with @mask and @handler filled in
 *
 * Return: 0; -EINVAL: unknown bit in @mask; -EBUSY: routes change too fast to begin.
 * Context: may sleep; no RTNL held.
 */
int kal_net_subscribe(struct net *net, struct kal_net_sub *sub);
/* End a subscription. On return the handler does not run any more. May sleep; no RTNL held. */
void kal_net_unsubscribe(struct kal_net_sub *sub);

/* RNICs ******************************************************************** */

/**
 * kal_rnic_of_netdev() - find the RNIC of a network device
 * @ndev: network device
 *
 * An RNIC also serves the VLANs on its network device. An RNIC on a VLAN also serves the device
 * below the VLAN. Both hold only for devices without an RNIC of their own.
 *
 * Return: the RNIC with a reference for ri_rnic_put(), which keeps the memory but does not keep
 * the RNIC from being removed; or NULL. Context: any but hard interrupt.
 * Administrators see it as the link "rnic" below /sys/class/net/DEV.
 */
struct ri_rnic *kal_rnic_of_netdev(const struct net_device *ndev);

/* MIB ********************************************************************** */

/**
 * kal_mib_read() - read the TCP/IP objects of RFC 1213, 4022, 4113 and 4293
 * @net: namespace
 * @values: results, kal_mib_count of them
 *
 * The values are those of the host plus those of the RNICs of @net that make connections
 * themselves (ri_ops.query_mib), including RNICs that were removed.
 * Context: may sleep.
 */
void kal_mib_read(struct net *net, u64 *values);

extern const unsigned int kal_mib_count;
/* name of an object in its RFC; "...ipv4" and "...ipv6" are rows of a table */
const char *kal_mib_name(unsigned int object);

/**
 * struct kal_mib_message - a row of RFC 4293's icmpMsgStatsTable
 * @version: IP version, 4 or 6
 * @type: message type
 * @in: received messages, icmpMsgStatsInPkts
 * @out: sent messages, icmpMsgStatsOutPkts
 */
struct kal_mib_message {
	u8 version;
	u8 type;
	u64 in;
	u64 out;
};

/* maximum number of rows */
#define KAL_MIB_MESSAGES	512

/**
 * kal_mib_message() - read the next row of icmpMsgStatsTable
 * @net: namespace
 * @next: position, 0 for the first call
 * @message: result
 *
 * There is a row for each type that was counted.
 *
 * Return: false: there are no more rows. Context: any.
 */
bool kal_mib_message(struct net *net, unsigned int *next, struct kal_mib_message *message);

/* Addresses **************************************************************** */

/* Is it the wildcard? Context: any, as for all of these. */
bool kal_addr_any(const struct sockaddr_storage *addr);
bool kal_addr_same(const struct sockaddr_storage *a, const struct sockaddr_storage *b);
__be16 kal_addr_port(const struct sockaddr_storage *addr);
void kal_addr_set_port(struct sockaddr_storage *addr, __be16 port);
/* Does the network device have the address? An IPv4-mapped address counts as IPv4. */
bool kal_netdev_owns(struct net_device *ndev, const struct sockaddr_storage *addr);

#endif /* KRDMA_NETSTACK_H */
