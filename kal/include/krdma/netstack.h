/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Network stack interface: what providers and consumers of the kernel access
 * layer ask of the host's TCP/IP stack, for IPv4 and IPv6 and for each network
 * namespace.
 *
 * The host's stack decides: routes, addresses, neighbours and ports are its own,
 * nothing is kept twice. Addresses are struct sockaddr_in or sockaddr_in6 in a
 * sockaddr_storage; the port of a destination counts where a policy rule
 * looks at it. A link-local IPv6 address has its interface in sin6_scope_id.
 * -EAFNOSUPPORT: another family, an IPv4-mapped address, or a host without IPv6.
 *
 * A caller of anything that takes a struct net holds a reference to it, and until
 * it has given back what it got for it.
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
 * struct kal_route - how a destination is reached
 * @src: the address to send from
 * @next_hop: a router or the destination. A router of an IPv4 destination may have
 *	      an IPv6 address.
 * @ifindex: outgoing interface, the loopback interface for a local destination
 * @owner_ifindex: the interface that a local destination is an address of,
 *		   else @ifindex
 * @mtu: of the path
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
 * kal_net_route() - the next hop, as "ip route get" would choose it for TCP
 * @net: namespace
 * @dst: destination
 * @src: address to send from, NULL or family 0 for any
 * @oif: outgoing interface, 0 for any
 * @route: result
 *
 * Rules that look at users see the calling task's.
 * Return: 0; -ENETUNREACH, -EHOSTUNREACH, -EACCES (prohibited), -EINVAL
 * (black hole, or a link-local destination without interface) as routing says;
 * -EADDRNOTAVAIL when @src is no address of this host; -ENODEV for an @oif that
 * is not there. Context: process or softirq, does not sleep.
 */
int kal_net_route(struct net *net, const struct sockaddr_storage *dst,
		  const struct sockaddr_storage *src, int oif,
		  struct kal_route *route);

/**
 * struct kal_local - a local address that reaches a destination
 * @addr: address, port 0
 * @ifindex: interface that packets from it leave by; of a local destination the
 *	     one that it is an address of
 */
struct kal_local {
	struct sockaddr_storage addr;
	int ifindex;
};

/**
 * kal_net_locals() - local addresses through which a destination is reached
 * @net: namespace
 * @dst: destination
 * @entries: results, best first
 * @room: of @entries
 *
 * First the address that routing chooses. Then the others of the outgoing
 * interface whose scope fits, those next to the next hop first. Then, for each
 * other interface with a route to @dst, the same. Addresses that are
 * tentative or deprecated are left out.
 *
 * Return: the number of addresses that there are, which may be more than @room but
 * not than 1024: the others are left out; or an errno of kal_net_route().
 * Context: process or softirq, does not sleep.
 */
int kal_net_locals(struct net *net, const struct sockaddr_storage *dst,
		   struct kal_local *entries, unsigned int room);

/* Neighbours *************************************************************** */

/**
 * struct kal_neigh - what is known of the link address of a next hop
 * @state: NUD_*; 0: nothing
 * @lladdr_len: octets of @lladdr, 0: not resolved
 * @lladdr: link address
 */
struct kal_neigh {
	u16 state;
	u8 lladdr_len;
	u8 lladdr[MAX_ADDR_LEN];
};

struct kal_neigh_watch;

/**
 * typedef kal_neigh_handler - the neighbour of a watch has changed
 * @watch: which
 * @neigh: as it is now
 * @status: 0, or -EHOSTUNREACH: it did not answer
 *
 * Context: any but hard interrupt, with locks held: must not sleep and must not
 * call kal_net_*() or kal_neigh_*().
 */
typedef void (*kal_neigh_handler)(struct kal_neigh_watch *watch,
				  const struct kal_neigh *neigh, int status);

/**
 * struct kal_neigh_watch - interest in a neighbour
 * @net: namespace
 * @addr: of the next hop
 * @ifindex: its interface
 * @once: an answer is awaited, and no more than that
 * @handler: is told
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
 * kal_neigh_query() - the link address of a next hop, as far as it is known
 * @net: namespace
 * @addr: of the next hop
 * @ifindex: interface
 * @neigh: result
 *
 * Return: 0, known or not; -ENODEV; -EINVAL for an address that is no unicast
 * one. Context: any but hard interrupt.
 */
int kal_neigh_query(struct net *net, const struct sockaddr_storage *addr,
		    int ifindex, struct kal_neigh *neigh);

/**
 * kal_neigh_watch() - be told of a neighbour
 * @watch: filled in
 * @ask: resolve it if it is not known
 * @neigh: as it is now
 *
 * With @once the handler is called one time at most, when the neighbour has been
 * resolved or has failed; without, at each change of its state or
 * link address. A neighbour that the table drops has state 0.
 *
 * Return: 1: kal_neigh_unwatch() is due; 0: nothing will follow (@once, and
 * @neigh is the answer, NUD_FAILED maybe), nothing is due; an errno of
 * kal_neigh_query(), -ENETDOWN, -ENOBUFS (the neighbour table is full), -EAGAIN
 * (it is being emptied).
 * Context: process.
 */
int kal_neigh_watch(struct kal_neigh_watch *watch, bool ask,
		    struct kal_neigh *neigh);

/* The handler does not run any more on return. Context: any but hard interrupt. */
void kal_neigh_unwatch(struct kal_neigh_watch *watch);

/* Ports ******************************************************************** */

struct kal_port;

/**
 * kal_port_alloc() - reserve a TCP port in the host's port space
 * @net: namespace
 * @addr: address and port. Port 0: any, the result is written there. Address
 *	  zero: all addresses of that family on the RNICs of @net that there are
 *	  now; one that comes later is not reserved.
 *
 * The host's own bookkeeping holds it: a bound socket that does nothing. So
 * neither bind() nor connect() gives it to anybody else, SO_REUSEADDR or
 * not, and a port that any socket has, an old connection's in TIME_WAIT too, is
 * refused here. On other addresses the port stays free.
 *
 * The reservation is in the way of its owner as well: see kal_port_bind().
 *
 * Return: the reservation or an ERR_PTR: -EADDRINUSE; -EADDRNOTAVAIL (not an
 * address of this host, or no RNIC has any); -EACCES (a privileged port, and
 * the calling task lacks CAP_NET_BIND_SERVICE in the namespace); -ENOSPC (address zero, and
 * there are more than 1024 addresses); -ENOMEM.
 * Context: may sleep.
 */
struct kal_port *kal_port_alloc(struct net *net, struct sockaddr_storage *addr);

/* Give it back; the port is free on return. May sleep. */
void kal_port_free(struct kal_port *port);

/* Address (maybe zero) and port are those of @port, or one of its addresses. */
bool kal_port_covers(const struct kal_port *port,
		     const struct sockaddr_storage *addr);

/**
 * kal_port_bind() - bind a socket of a reservation's owner
 * @port: the reservation, which covers @addr; NULL: none, as kernel_bind() does
 * @sock: TCP socket of the same namespace, with SO_REUSEADDR
 * @addr: address and port
 *
 * The reservation is not in its way. Every other socket is, and in every other
 * socket's way the reservation is all the time. The socket stays bound when the
 * reservation goes.
 *
 * Return: 0 or the errno of bind(). Context: may sleep.
 */
int kal_port_bind(struct kal_port *port, struct socket *sock,
		  const struct sockaddr_storage *addr);

/* The same for a bound socket that begins to listen, as kernel_listen() does. */
int kal_port_listen(struct kal_port *port, struct socket *sock, int backlog);

/* Events ******************************************************************* */

/* struct kal_net_sub.mask, kal_net_event.type: the KRDMA_NET_* of krdma-abi.h */

/**
 * struct kal_net_event - something changed in a namespace
 * @type: one KRDMA_NET_*
 * @gone: removed, else new or changed
 * @ifindex: of LINK, ADDRESS, RNIC; ROUTE: of the first next hop, 0: none
 * @ndev: LINK, ADDRESS, RNIC: the network device
 * @rnic: the RNIC on it, or NULL; valid during the call
 * @mtu: LINK
 * @up: LINK
 * @prefix_len: ADDRESS, ROUTE
 * @addr: ADDRESS, or the destination of a ROUTE. A change of policy rules or of next
 *	  hops is a change of the route to everywhere, of prefix length 0.
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
 * @mask: which events, KRDMA_NET_*. LINK is of RNICs' network devices only. An
 *	  IPv6 address is reported when it is new, maybe tentative; it can be
 *	  used when the route to it comes.
 * @handler: is told, in the order of the host's notifications; any context but
 *	     hard interrupt, with locks held: must not sleep and must not call
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
 * kal_net_subscribe() - be told of changes in a namespace
 * @net: namespace
 * @sub: with @mask and @handler filled in
 *
 * Return: 0; -EINVAL for an unknown bit; -EBUSY when routes change too fast to
 * begin. Context: may sleep; no RTNL held.
 */
int kal_net_subscribe(struct net *net, struct kal_net_sub *sub);
/* The handler does not run any more on return. May sleep; no RTNL held. */
void kal_net_unsubscribe(struct kal_net_sub *sub);

/* RNICs ******************************************************************** */

/**
 * kal_rnic_of_netdev() - the RNIC on a network device
 * @ndev: network device
 *
 * An RNIC serves the VLANs on its network device, and one on a VLAN what that is on,
 * unless they have their own.
 *
 * Return: the RNIC with a reference, which keeps its memory and not the RNIC
 * from going, for ri_rnic_put(); NULL: none. Context: any but hard interrupt.
 * For the administrator it is the link "rnic" below /sys/class/net/DEV.
 */
struct ri_rnic *kal_rnic_of_netdev(const struct net_device *ndev);

/* MIB ********************************************************************** */

/**
 * kal_mib_read() - TCP/IP objects of RFC 1213, 4022, 4113 and 4293
 * @net: namespace
 * @values: filled in, of kal_mib_count objects
 *
 * Those of the host, and on top what the RNICs of @net count that run connections
 * of their own (ri_ops.query_mib), also those that have gone since.
 * Context: may sleep.
 */
void kal_mib_read(struct net *net, u64 *values);

extern const unsigned int kal_mib_count;
/* the object's name in its RFC; "...ipv4" and "...ipv6" are rows of a table */
const char *kal_mib_name(unsigned int object);

/**
 * struct kal_mib_message - a row of RFC 4293's icmpMsgStatsTable
 * @version: of IP, 4 or 6
 * @type: of the message
 * @in: received, icmpMsgStatsInPkts
 * @out: sent, icmpMsgStatsOutPkts
 */
struct kal_mib_message {
	u8 version;
	u8 type;
	u64 in;
	u64 out;
};

/* rows at most */
#define KAL_MIB_MESSAGES	512

/**
 * kal_mib_message() - the rows of that table, one for each type that was counted
 * @net: namespace
 * @next: 0 at first, says where to go on
 * @message: filled in
 *
 * Return: false: there is none left. Context: any.
 */
bool kal_mib_message(struct net *net, unsigned int *next, struct kal_mib_message *message);

#endif /* KRDMA_NETSTACK_H */
