/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The offload protocol switch, as an offload protocol sees it (seed 003 5.1, 7.1.2).
 *
 * A stream socket of AF_INET_OFFLOAD, or of AF_INET with IPPROTO_OFFLOAD, holds one socket of the
 * native stack (TCP) and one of each offload protocol. When a connection is there, the switch
 * grafts the sock of the protocol that made it into the user's socket, and is out of the way.
 *
 * An offload protocol brings sockets as an address family does: create() fills a struct socket
 * with a sock and with its struct proto_ops. The switch calls those operations.
 */
#ifndef KRDMA_OFFLOAD_H
#define KRDMA_OFFLOAD_H

#include <linux/net.h>
#include <linux/types.h>

#ifndef AF_INET_OFFLOAD
#define AF_INET_OFFLOAD		19	/* default; parameter "family" of krdma_ops */
#endif
#define AF_INET_SDP		27	/* what programs of the OFED age use */
#define IPPROTO_SDP		257
#define IPPROTO_OFFLOAD		258	/* AF_INET's name of the wildcard */

struct sockaddr_storage;

/* struct offload_protosw.caps */
#define OFFLOAD_SELF_ROUTING	BIT(0)	/* needs no route of the host: it is asked itself */
#define OFFLOAD_RDMA		BIT(1)	/* moves data by RDMA: preferred for rules that say so */
#define OFFLOAD_KERNEL_CLIENTS	BIT(2)	/* serves sockets of the kernel, too */
#define OFFLOAD_FIRST_HOP	BIT(3)	/* wants connect_via() with the first hop of the route */
#define OFFLOAD_CAPS		(BIT(4) - 1)

/**
 * struct offload_route - where a connection would go, by the host's routes
 * @net: network namespace
 * @bound_if: index of the device that the socket is bound to, or 0
 * @mark: of the socket
 * @source: source address; the family is AF_UNSPEC when no address is chosen
 * @destination: peer
 * @first_hop: gateway, or the peer itself on the local link
 * @ifindex: device that the packets leave by
 *
 * All addresses have the family of @destination; the ports are the socket's.
 */
struct offload_route {
	struct net *net;
	int bound_if;
	u32 mark;
	struct sockaddr_storage *source;
	struct sockaddr_storage *destination;
	struct sockaddr_storage *first_hop;
	int ifindex;
};

/**
 * struct offload_protosw - an offload protocol
 * @owner: module
 * @name: unique, letters, digits, "-" and "_"; at most OFFLOAD_NAME_MAX bytes
 * @protocol: number that programs give to socket() for this protocol alone; unique, not 0, not
 *	that of TCP or of the wildcard
 * @caps: OFFLOAD_*
 * @priority: the higher one is asked first; ties are in the order of registration
 * @ops: operations of its sockets, IPv4; all that struct proto_ops needs for a stream socket,
 *	and set as sock->ops by @create
 * @ops6: the same for AF_INET6, or NULL: no IPv6
 * @create: give @sock a sock of @family (AF_INET, AF_INET6) and the operations; sock->type is
 *	SOCK_STREAM, sock->state SS_UNCONNECTED. @kern as in struct net_proto_family. May sleep.
 *	On an error, sock->sk is NULL.
 * @offers: does the protocol reach @route? 0, or an errno: the reason is counted. May sleep, must
 *	not wait for the net. NULL: it reaches all addresses.
 * @connect_via: as ops->connect, with the route; needed with OFFLOAD_FIRST_HOP
 * @shutdown: the switch is being unloaded: unregister as soon as all sockets are gone, and take no
 *	new ones; may be NULL
 *
 * Operations are called with what a struct proto_ops may expect, and besides:
 *
 *  - bind() is given the port that TCP got. -EADDRINUSE leaves the protocol out for this socket.
 *  - connect() with O_NONBLOCK must not wait: it returns -EINPROGRESS, sk_state is TCP_SYN_SENT.
 *    When it is over, sk_state is TCP_ESTABLISHED or TCP_CLOSE with sk_err set, and
 *    sk_state_change() has been called.
 *  - connect() with AF_UNSPEC gives up what is under way: the socket can connect again.
 *  - A listener calls sk_data_ready() for each connection that can be accepted. accept() with
 *    O_NONBLOCK must not wait.
 *  - The sock's prot must not be NULL; sk_wq is that of sock->wq (sock_init_data()).
 *    sk_data_ready() and sk_state_change() wake it: the switch waits there.
 *  - sock_graft() moves the sock to another struct socket, when it is established or in accept().
 */
struct offload_protosw {
	struct module *owner;
	const char *name;
	int protocol;
	u32 caps;
	int priority;
	const struct proto_ops *ops;
	const struct proto_ops *ops6;
	int (*create)(struct net *net, struct socket *sock, int family, bool kern);
	int (*offers)(const struct offload_route *route);
	int (*connect_via)(struct socket *sock, struct sockaddr *address, int len, int flags,
			   const struct offload_route *route);
	void (*shutdown)(void);
};

#define OFFLOAD_NAME_MAX	16	/* with the zero */
#define OFFLOAD_PROTOCOLS_MAX	8

/**
 * offload_register_protosw() - join the switch
 * @proto: protocol; stays valid until offload_unregister_protosw() returns
 *
 * Sockets that are made from now on may use the protocol.
 * Return: 0; -EEXIST: name or protocol number is in use; -ENOSPC: OFFLOAD_PROTOCOLS_MAX;
 * -EINVAL: an entry is missing, or unknown caps. Context: may sleep.
 */
int offload_register_protosw(const struct offload_protosw *proto);

/**
 * offload_unregister_protosw() - leave the switch
 * @proto: protocol
 *
 * No socket begins to use the protocol any more, unestablished sockets let go of it: a wildcard
 * one continues with the others, one of the protocol alone gets ENETDOWN. Established sockets pin
 * the module (@owner), so this is only called when there are none. Returns when no operation of
 * the protocol runs. Context: may sleep.
 */
void offload_unregister_protosw(const struct offload_protosw *proto);

/* what offload_notification() reports */
enum offload_event {
	OFFLOAD_ADDRESS_UP,
	OFFLOAD_ADDRESS_DOWN,
	OFFLOAD_LINK_UP,
	OFFLOAD_LINK_DOWN,
	OFFLOAD_ROUTE_CHANGED,
};

/**
 * offload_notification() - a protocol reports a change of what it reaches
 * @proto: protocol
 * @net: network namespace
 * @event: change
 * @address: that comes or goes; NULL: all that the event may concern
 *
 * @address is this host's, and any peer may be reached by it: the switch forgets all that it had
 * learnt of peers of the protocol (the negative cache), and tries listeners of the
 * wildcard again that the protocol had refused. Context: any but hard interrupt.
 */
void offload_notification(const struct offload_protosw *proto, struct net *net,
			  enum offload_event event, const struct sockaddr_storage *address);

#endif
