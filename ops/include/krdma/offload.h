/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The offload switch, as a road sees it.
 *
 * The program's socket is TCP's own from socket() to close(). A road carries the bytes of a
 * connection beside TCP: krdma_ops marks TCP sockets, and when a road has been opened between both
 * ends of a connection, each sender changes to it at a byte of its stream. TCP's connection stays
 * for its state, its FIN, its RST and its keepalive. See ops/README.md.
 *
 * A road never sees a struct socket. It has an offload_conn, which is one end of a TCP connection,
 * and the TCP sock of that end for waiting, time-outs and wake-ups.
 */
#ifndef KRDMA_OFFLOAD_H
#define KRDMA_OFFLOAD_H

#include <linux/bits.h>
#include <linux/net.h>
#include <linux/sockptr.h>
#include <linux/types.h>

#ifndef AF_INET_OFFLOAD
#define AF_INET_OFFLOAD		19	/* default; parameter "family" of krdma_ops */
#endif
#define AF_INET_SDP		27	/* what programs of the OFED age use */
#define IPPROTO_SDP		257
#define IPPROTO_OFFLOAD		258	/* any road */

#define OFFLOAD_NAME_MAX	16	/* of a road, with the zero */
#define OFFLOAD_ROADS_MAX	8
#define OFFLOAD_NAME_BYTES	24	/* room for a connection's name on the wire: */
#define OFFLOAD_NAME_HASH	8	/* its hash; the rest is zero */

/* what a road knows of urgent data */
#define OFFLOAD_URGENT_BYTE	BIT(0)	/* a byte that MSG_OOB has not read: EPOLLPRI */
#define OFFLOAD_URGENT_MARK	BIT(1)	/* it is, or was, the next byte of the stream: SIOCATMARK */

struct module;
struct net;
struct sk_buff;
struct sock;
struct sockaddr_storage;

/* struct offload_road.caps */
#define OFFLOAD_RDMA		BIT(1)	/* moves data by RDMA */
#define OFFLOAD_KERNEL_CLIENTS	BIT(2)	/* serves sockets of the kernel, too */
#define OFFLOAD_ZEROCOPY	BIT(3)	/* sendmsg() notifies of MSG_ZEROCOPY; else it copies */
#define OFFLOAD_CAPS		(OFFLOAD_RDMA | OFFLOAD_KERNEL_CLIENTS | OFFLOAD_ZEROCOPY)

/**
 * struct offload_conn - one end of a TCP connection that is marked
 *
 * krdma_ops owns it, and frees it when the last reference is gone. A road has a reference from
 * before &offload_road.open (active end) or offload_conn_find() (passive end) until its close() has
 * returned; those of its own work items come on top.
 */
struct offload_conn;

/* What roads use in a network namespace; it may outlive the namespace. */
struct offload_account;

/**
 * struct offload_route - where a connection goes, by the host's routes
 * @net: network namespace
 * @bound_if: index of the device that the socket is bound to, or 0
 * @mark: of the socket
 * @source: address and port of this end
 * @destination: address and port of the peer
 * @first_hop: gateway, or the peer itself on the local link; no port
 * @ifindex: device that the packets leave by
 *
 * Addresses of an IPv4 connection are AF_INET, also where the socket is one of AF_INET6.
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
 * struct offload_road - a road
 * @owner: module; pinned while a connection uses the road
 * @name: unique; letters, digits, "-" and "_"; less than OFFLOAD_NAME_MAX bytes
 * @protocol: number that programs give to socket() for sockets that must use this road; 0: none
 * @caps: OFFLOAD_*
 * @priority: the higher one is asked first
 *
 * @offers: would this road be faster than TCP to the peer? 1: yes; 0: it reaches the peer, but is
 *	slower, and is used only if a rule or the program names it; -errno: it does not reach the
 *	peer. Context: work item, may sleep.
 * @open: active end, after ESTABLISHED: begin to open a road to the other end of the same TCP
 *	connection. Nobody waits for it. Ends in offload_road_up() or offload_road_failed(), at once
 *	or later, unless it returns an error itself (then neither is called). Context: work item,
 *	may sleep.
 *
 * @sendmsg: send; both ends, after offload_road_up(). Blocks on sk_sleep() of the TCP sock with its
 *	sk_sndtimeo unless MSG_DONTWAIT is set. Bytes taken, or -EAGAIN, -EPIPE (SIGPIPE is
 *	krdma_ops' task) and so on as TCP. No lock of the socket is held, calls may run side by
 *	side.
 * @recvmsg: receive. With MSG_DONTWAIT it never blocks: krdma_ops waits itself. Without, it may
 *	wait as TCP's, on sk_sleep() with sk_rcvtimeo, if that is of use: with the memory of the
 *	program lent to the peer. MSG_PEEK and MSG_TRUNC as TCP. 0: the peer's stream has ended;
 *	-EAGAIN: nothing there now. One call at a time.
 * @readable: bytes that recvmsg() has at once. Context: any.
 * @full: may the peer be unable to send more until some of @readable is read? A program learns of
 *	these bytes then, also if it wants more at once (SO_RCVLOWAT). offload_data_ready() follows
 *	when it becomes so. Context: any. Optional, for a road that holds any number of bytes.
 * @writable: would sendmsg() take a byte without blocking? offload_write_space() follows when it
 *	becomes so again. Context: any.
 * @unsent: bytes taken that the peer has not received, for SIOCOUTQ. Context: any.
 * @urgent: OFFLOAD_URGENT_*, or 0. @ahead: bytes in front of the urgent one; left alone if that is
 *	not unread. Context: any but hard interrupt. Optional: sendmsg() refuses MSG_OOB
 *	(-EOPNOTSUPP) then.
 * @shutdown: SEND_SHUTDOWN: end of the stream behind all bytes. SHUTDOWN_MASK: the program does not
 *	receive, either: bytes that come now reset the connection (offload_road_failed() with
 *	-ECONNRESET at this end), as TCP answers them; those that are there stay. May be called
 *	again. Called with the TCP sock's lock held; waits for nothing.
 * @close: the socket is being released, or the road is given up. @abort: as with a reset: bytes
 *	on their way need not arrive. The last call. May be called with the TCP sock's lock held, or
 *	in softirq: hands its work to a work item.
 * @abort: the connection has ended with an error while it had unread bytes: end it as close() with
 *	@abort does, but keep those bytes for recvmsg() until close(). Context as close(). Optional:
 *	close() is called then, and they are lost.
 * @setsockopt: options of the road's own level; -ENOPROTOOPT: not one of them. Optional.
 * @getsockopt: the same for reading. Optional.
 * @listens: a marked socket of the namespace begins to listen, or does not any more: the road is to
 *	be ready for peers. Those that listen when the road registers are reported then.
 *	Context: atomic, any but hard interrupt. Optional.
 * @info: put nested attributes for inet_diag and "krdma offload sockets". Context: RCU, does not
 *	sleep. Optional.
 * @shutdown_road: krdma_ops is being shut down (its parameter "shutdown"): reset all connections of
 *	the road. Programs whose bytes have changed get ECONNRESET, the others go on by TCP. The
 *	road stays registered, and its module is pinned during the call; it finds no connection and
 *	is asked for none until krdma_ops begins again. Context: may sleep. Optional.
 *
 * The first eight bytes of each direction are krdma_ops' own (where TCP's part ends), sent and
 * received by sendmsg() and recvmsg() as any others.
 */
struct offload_road {
	struct module *owner;
	const char *name;
	int protocol;
	u32 caps;
	int priority;

	int (*offers)(const struct offload_route *route);
	int (*open)(struct offload_conn *conn);

	int (*sendmsg)(struct offload_conn *conn, struct msghdr *msg, size_t len);
	int (*recvmsg)(struct offload_conn *conn, struct msghdr *msg, size_t len, int flags);
	u32 (*readable)(struct offload_conn *conn);
	bool (*full)(struct offload_conn *conn);
	bool (*writable)(struct offload_conn *conn);
	u32 (*unsent)(struct offload_conn *conn);
	u32 (*urgent)(struct offload_conn *conn, u32 *ahead);
	void (*shutdown)(struct offload_conn *conn, int how);
	void (*close)(struct offload_conn *conn, bool abort);
	void (*abort)(struct offload_conn *conn);
	int (*setsockopt)(struct offload_conn *conn, int level, int name, sockptr_t value,
			  unsigned int len);
	int (*getsockopt)(struct offload_conn *conn, int level, int name, char __user *value,
			  int __user *len);
	void (*listens)(struct net *net, bool on);
	int (*info)(struct offload_conn *conn, struct sk_buff *skb);
	void (*shutdown_road)(void);
};

/**
 * offload_register_road() - join the switch
 * @road: stays valid until offload_unregister_road() has returned
 *
 * Return: 0; -EEXIST: name or protocol number is in use; -ENOSPC: OFFLOAD_ROADS_MAX; -EINVAL: an
 * entry is missing; -ESHUTDOWN: krdma_ops leaves. Context: may sleep.
 */
int offload_register_road(const struct offload_road *road);

/**
 * offload_unregister_road() - leave the switch
 * @road: road
 *
 * No connection begins to use the road any more; those that have it pin the module (@owner), so
 * this is called when there are none. Returns when no call of the road runs. Context: may sleep.
 */
void offload_unregister_road(const struct offload_road *road);

/* Connections, for roads *************************************************** */

/* TCP's sock of this end; valid as long as the connection is. Context: any. */
struct sock *offload_conn_sk(struct offload_conn *conn);
/* What the road gave to offload_road_up(), or set before; NULL at first. Context: any. */
void *offload_conn_priv(struct offload_conn *conn);

/**
 * offload_conn_set_priv() - for a road that needs its state before it is up
 * @conn: connection
 * @priv: of the road; NULL: its close() is about to let go of it
 *
 * Return: false: a passive end that was closed meanwhile. Its close() has been called and did not
 * see @priv, which stays the caller's. Context: any but hard interrupt.
 */
bool __must_check offload_conn_set_priv(struct offload_conn *conn, void *priv);
/* References. Context: any. */
void offload_conn_get(struct offload_conn *conn);
void offload_conn_put(struct offload_conn *conn);

/**
 * offload_conn_addresses() - the addresses of a TCP connection
 * @conn: connection
 * @local: address and port of this end, or NULL
 * @remote: address and port of the peer, or NULL
 *
 * AF_INET for IPv4, also if the socket is one of AF_INET6. Context: any.
 */
void offload_conn_addresses(struct offload_conn *conn, struct sockaddr_storage *local,
			    struct sockaddr_storage *remote);

/**
 * offload_conn_route() - the way of a connection by the host's routes
 * @conn: connection
 * @route: filled; its three addresses must point to room of the caller's
 *
 * Return: 0 or -ENETUNREACH. Context: may sleep.
 */
int offload_conn_route(struct offload_conn *conn, struct offload_route *route);

/**
 * offload_conn_account() - who pays for the memory of a connection's road
 * @conn: connection
 *
 * The account is that of the network namespace. A road charges its buffers to it before it
 * allocates them, and, in the kernel's way (set_active_memcg(), __GFP_ACCOUNT), to the memory
 * cgroup of offload_conn_sk() besides.
 *
 * Return: the account with a reference, for offload_account_put(). Context: any.
 */
struct offload_account *offload_conn_account(struct offload_conn *conn);
/* Context: any. */
void offload_account_put(struct offload_account *account);

/**
 * offload_charge() - take memory for a road's buffers
 * @account: of offload_conn_account()
 * @bytes: how many
 * @more: the connection has some already, and goes on without these
 *
 * Return: true: offload_uncharge() gives it back. false: it is more than the namespace or the host
 * may have, or, with @more, more than three quarters of that: the road is not opened (-ENOBUFS), or
 * does not grow. Context: any.
 */
bool __must_check offload_charge(struct offload_account *account, u64 bytes, bool more);
/* @bytes: all, or a part. Context: any. */
void offload_uncharge(struct offload_account *account, u64 bytes);

/**
 * offload_conn_name() - what only the ends of this TCP connection know
 * @conn: connection
 * @answer: the passive end's answer; false: the active end's question
 * @name: filled
 *
 * A hash over addresses and ports, whose key is both initial sequence numbers. Both ends compute
 * the same. Compare with crypto_memneq(). Context: any.
 */
void offload_conn_name(struct offload_conn *conn, bool answer, u8 name[OFFLOAD_NAME_HASH]);

/**
 * offload_conn_find() - the passive end of a connection that a peer names
 * @net: network namespace
 * @local: address and port of this end
 * @remote: address and port of the peer
 * @name: question of the peer
 * @road: road that was opened
 *
 * Finds established sockets that are marked, may use the road, have none yet, and bear the name.
 * The connection is then the road's: it calls offload_road_up() or offload_road_failed().
 *
 * Return: the connection with a reference of the caller's, who drops it (offload_conn_put()) when
 * he is done; the road has another one until its close() has returned. ERR_PTR(-ENOENT): no such
 * one; ERR_PTR(-EACCES): its rule does not allow the road; ERR_PTR(-EAGAIN): no program has
 * accepted it yet; ERR_PTR(-EBUSY): it has a road. Context: any but hard interrupt.
 */
struct offload_conn *offload_conn_find(struct net *net, const struct sockaddr_storage *local,
				       const struct sockaddr_storage *remote,
				       const u8 name[OFFLOAD_NAME_HASH],
				       const struct offload_road *road);

/**
 * offload_road_up() - the road is open at this end
 * @conn: connection
 * @priv: of the road
 *
 * Senders change to it from now on, and the peer's bytes are read from it. Context: any but hard
 * interrupt.
 */
void offload_road_up(struct offload_conn *conn, void *priv);

/**
 * offload_road_failed() - the road could not be opened, or has broken
 * @conn: connection
 * @error: why, negative
 *
 * Before offload_road_up(), or after it if neither direction has changed: TCP goes on, the failure
 * is counted, and the peer is left alone for a while, unless this host lacked memory (-ENOMEM) or
 * was at a limit (-ENOBUFS). Else the connection ends with this error as
 * with a reset. close() of the road is called in each case where open() had returned 0 or the
 * connection came from offload_conn_find(). Context: any but hard interrupt.
 */
void offload_road_failed(struct offload_conn *conn, int error);

/* There are bytes to read, or room to write: wakes who waits at the TCP sock. Any context. */
void offload_data_ready(struct offload_conn *conn);
void offload_write_space(struct offload_conn *conn);
/* The peer has ended its stream on the road; recvmsg() says 0 behind its last byte. Any context. */
void offload_end_of_stream(struct offload_conn *conn);

/* what offload_notification() reports */
enum offload_event {
	OFFLOAD_ADDRESS_UP,
	OFFLOAD_ADDRESS_DOWN,
	OFFLOAD_LINK_UP,
	OFFLOAD_LINK_DOWN,
	OFFLOAD_ROUTE_CHANGED,
};

/**
 * offload_notification() - a road reports a change of what it reaches
 * @road: road
 * @net: network namespace
 * @event: change
 * @address: that comes or goes; NULL: all that the event may concern
 *
 * The switch forgets all that it had learnt of peers of the road. Context: any but hard interrupt.
 */
void offload_notification(const struct offload_road *road, struct net *net,
			  enum offload_event event, const struct sockaddr_storage *address);

#endif
