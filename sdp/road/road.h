/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * krdma_sdp: what its files share above the state machine.
 *
 *	main.c		module, families, parameters, counters
 *	sock.c		the life of a socket: bind, listen, accept, connect, shutdown, release, poll
 *	sock_port.c	owners of ports, the listener of an address
 *	sock_listen.c	connection requests, accept queues
 *	sock_send.c	data of programs that goes out, with copies
 *	sock_recv.c	data that comes in
 *	sock_zcopy.c	large calls, without copies
 *	sock_sink.c	receives that the peer writes into
 *	sock_zerocopy.c	sends with MSG_ZEROCOPY
 *	zcopy.c		their memory
 *	sock_opt.c	options
 *	conn.c		glue: a connection's state machine, endpoint, pools and queues
 *	memory.c	buffers of a connection
 *	diag.c		/proc/net/sdp
 *
 * Addresses are IPv6 inside; those of IPv4 are mapped.
 *
 * Locks, outermost first:
 *
 *	lock_sock()		one call of bind, listen, connect, accept, shutdown or release
 *	rx_mutex, tx_mutex	one reader, one writer; held while memory of a program is copied
 *	link_mutex		sdp_sock.link comes and goes; no memory of a program is touched
 *	sdp_lock()		the spinlock of the sock: all of a link that changes, the state
 *				of the sock, sdp_sock.link; taken in softirq, too
 *	accept_lock		accept queues of a listener
 *	sdp_bucket.lock		ports (without the spinlock of a sock)
 *
 * A function of the state machine is called with sdp_lock(). What it asks for beyond the transport,
 * is noted and done by sdp_unlock().
 */
#ifndef SDP_SDP_H
#define SDP_SDP_H

#include <linux/in6.h>
#include <linux/ipv6.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>

#include <krdma/offload.h>

#include "../ot/ot.h"
#include "../ot/devices.h"
#include "../state/state.h"

struct kal_port;
struct mem_cgroup;
struct ubuf_info;
struct sdp_sock;
struct sdp_zchunk;
struct sdp_zcopy;

/* an address with its port */
struct sdp_end {
	struct in6_addr ip;
	__be16 port;
	u32 scope;
};

/* Connections: conn.c ********************************************************************** */

/**
 * struct sdp_rx - a receive buffer
 * @node: in sdp_link.rx, sdp_link.rx_free, or in none: posted
 * @buf: the transport's, or NULL
 * @from: first byte that was not read
 * @to: behind the last one
 * @kept: the message that arrives now stays in it
 */
struct sdp_rx {
	struct list_head node;
	struct sdp_ot_buf *buf;
	u32 from;
	u32 to;
	bool kept;
};

/**
 * struct sdp_piece - copied bytes of the stream that goes out
 * @node: in sdp_link.tx or tx_free
 * @buf: the transport's
 * @start: position of the first byte
 * @len: bytes
 * @filling: the writer copies into the rest
 */
struct sdp_piece {
	struct list_head node;
	struct sdp_ot_buf *buf;
	u64 start;
	u32 len;
	bool filling;
};

/**
 * struct sdp_post - an entry of the send queue
 * @node: in sdp_link.posts_free while it is unused
 * @hdr: buffer of the headers, or NULL
 * @end: Send: position behind its payload
 * @slots: slots of the state machine that it takes
 * @chunk: memory of a program that it is for, or NULL
 * @octets: Read: how many
 * @abort: Send of AbortConn
 * @probe: Read or Write of 0 bytes
 */
struct sdp_post {
	struct list_head node;
	struct sdp_ot_buf *hdr;
	u64 end;
	struct sdp_zchunk *chunk;
	u32 octets;
	u8 slots;
	bool abort;
	bool probe;
};

/** enum sdp_oob - what is known of the peer's out-of-band byte */
enum sdp_oob {
	SDP_OOB_NONE,
	SDP_OOB_PENDING,	/* it was announced */
	SDP_OOB_THERE,		/* byte and position are known */
	SDP_OOB_READ,		/* ... and the program has it; the mark stays */
};

/**
 * struct sdp_link_sizes - how large the parts of a link are
 * @rx_size: bytes of a receive buffer
 * @rx_num: how many, at most
 * @ring: how many of them are for payload
 * @tx_size: bytes of a piece
 * @tx_num: how many, at most
 * @sends: entries of the send queue
 * @hdr_size: bytes of the buffer of each
 * @segments: segments of a Send
 */
struct sdp_link_sizes {
	u32 rx_size;
	u32 rx_num;
	u32 ring;
	u32 tx_size;
	u32 tx_num;
	u32 sends;
	u32 hdr_size;
	u16 segments;
};

#define SDP_STOCK_GROUPS	9

/**
 * struct sdp_stock - buffers of a kind, which are made in groups
 * @pools: of the groups
 * @groups: how many
 * @made: buffers of all groups
 * @most: limit of @made
 * @step: buffers of a group
 * @size: bytes of a buffer
 */
struct sdp_stock {
	struct sdp_ot_pool *pools[SDP_STOCK_GROUPS];
	u32 groups;
	u32 made;
	u32 most;
	u32 step;
	u32 size;
};

/**
 * struct sdp_link - a connection and what it has of the transport
 * @conn: state machine; first, so that its ops find the link
 * @ssk: socket; there is a reference until the endpoint is gone
 * @refs: one of the socket, one until the endpoint is gone
 * @device: counted
 * @ops: its transport's
 * @send_cq: completions
 * @recv_cq: ...
 * @rx_stock: receive buffers
 * @tx_stock: pieces; a change needs tx_mutex, too
 * @hdr_pool: headers
 * @memory: work that makes receive buffers, and takes pieces away
 * @ep: endpoint
 * @end: work that takes the endpoint away
 * @starting: the transport's connect() or accept() uses the endpoint, so that it must not go
 * @ending: it is queued
 * @ended: it has run
 * @broken: a post has failed: negative errno
 * @error: why the transport ended the connection: negative errno
 * @backlog: the peer's backlog is full
 * @rx_all: receive buffers, room for all
 * @rx_free: unused ones of them
 * @rx_wanted: @memory has to make some
 * @rx: those with bytes for the program
 * @rx_now: the one whose message arrives
 * @queued: bytes in @rx
 * @rx_pos: position of the first byte in @rx
 * @oob: enum sdp_oob
 * @oob_byte: out-of-band byte
 * @oob_pos: its position
 * @tx_all: pieces, room for all
 * @tx_free: unused ones
 * @tx_used: when one of them was taken last, in jiffies
 * @tx_refused: no more could be made; until one is free again
 * @tx: pieces of the stream
 * @held: bytes in @tx that the machine has not got
 * @acked: position behind bytes that the peer has
 * @sent_to: position behind bytes whose Sends have completed
 * @posts: entries of the send queue
 * @posts_free: unused ones
 * @unpushed: requests were posted and the transport was not asked to begin with them
 * @pushing: calls that push without the spinlock: the endpoint stays
 * @sends_out: Sends that have not completed
 * @last_in: when the peer gave the last sign of life, in jiffies
 * @probe_out: a probe has not completed
 * @pool_octets: memory of the pools
 * @window: bytes for the program's unread data
 * @window_max: most that the pool allows
 * @reads_out: own Reads at a time
 * @hop: first hop of the route; the peer itself on the local link; nothing at the passive end
 * @zcopy_tx: zero copy of what goes out, from its first use on
 * @zcopy_rx: ... of what comes in
 * @zcopy_told: ... of sends with MSG_ZEROCOPY
 * @tx_read: bytes of conn.tx.read that were counted
 */
struct sdp_link {
	struct sdp_conn conn;
	struct sdp_sock *ssk;
	struct kref refs;
	struct sdp_ot_device *device;
	const struct sdp_ot_ops *ops;
	struct sdp_ot_cq *send_cq;
	struct sdp_ot_cq *recv_cq;
	struct sdp_stock rx_stock;
	struct sdp_stock tx_stock;
	struct sdp_ot_pool *hdr_pool;
	struct delayed_work memory;
	struct sdp_ot_ep *ep;
	struct work_struct end;
	bool starting;
	bool ending;
	bool ended;
	int broken;
	int error;
	bool backlog;
	struct sdp_rx *rx_all;
	struct list_head rx_free;
	bool rx_wanted;
	struct list_head rx;
	struct sdp_rx *rx_now;
	u32 queued;
	u64 rx_pos;
	u8 oob;
	u8 oob_byte;
	u64 oob_pos;
	struct sdp_piece *tx_all;
	struct list_head tx_free;
	unsigned long tx_used;
	bool tx_refused;
	struct list_head tx;
	u32 held;
	u64 acked;
	u64 sent_to;
	struct sdp_post *posts;
	struct list_head posts_free;
	bool unpushed;
	atomic_t pushing;
	u32 sends_out;
	unsigned long last_in;
	bool probe_out;
	u32 pool_octets;
	u32 window;
	u32 window_max;
	u16 reads_out;
	struct sdp_end hop;
	struct sdp_zcopy *zcopy_tx;
	struct sdp_zcopy *zcopy_rx;
	struct sdp_zcopy *zcopy_told;
	u64 tx_read;
};

struct sdp_link *sdp_conn_create(struct sdp_sock *ssk, struct sdp_ot_device *device);
int sdp_conn_connect(struct sdp_link *link, const struct sockaddr_storage *local,
		     const struct sockaddr_storage *remote,
		     const struct sockaddr_storage *next_hop, u32 timeout_ms);
void sdp_conn_started(struct sdp_link *link);
void sdp_conn_put(struct sdp_link *link);
void sdp_conn_settle(struct sdp_link *link);
bool sdp_conn_push_begin(struct sdp_link *link, bool sleep);
void sdp_conn_push(struct sdp_link *link);
void sdp_conn_rx_free(struct sdp_link *link, struct sdp_rx *rx);
int sdp_conn_probe(struct sdp_link *link);
struct sdp_post *sdp_conn_post_get(struct sdp_link *link, struct sdp_zchunk *chunk);
void sdp_conn_post_put(struct sdp_link *link, struct sdp_post *post);
void sdp_conn_break(struct sdp_link *link, int error);

/* memory.c */
void sdp_memory_init(struct sdp_link *link);
int sdp_memory_make(struct sdp_link *link, const struct sdp_link_sizes *s);
void sdp_memory_free(struct sdp_link *link);
void sdp_memory_stop(struct sdp_link *link);
void sdp_memory_want_rx(struct sdp_link *link);
bool sdp_memory_may_grow_tx(const struct sdp_link *link);
bool sdp_memory_grow_tx(struct sdp_sock *ssk);

/* Sockets ********************************************************************************** */

#define SDP_OPTIONS	32

/* what sdp_unlock() does when the spinlock is free again */
#define SDP_WAKE_STATE	BIT(0)
#define SDP_WAKE_READ	BIT(1)
#define SDP_WAKE_WRITE	BIT(2)
#define SDP_WAKE_ERROR	BIT(3)
#define SDP_WAKE_URGENT	BIT(4)
#define SDP_WAKE_ACCEPT	BIT(5)	/* of the listener */
#define SDP_WAKE_END	BIT(6)	/* the link ends */
#define SDP_WAKE_RETRY	BIT(7)	/* connect again */
#define SDP_WAKE_IN	BIT(8)	/* signals of O_ASYNC */
#define SDP_WAKE_OUT	BIT(9)
#define SDP_WAKE_SHUT	BIT(10)	/* a new connection whose listener was shut down before */

/** enum sdp_birth - where a passive socket is before accept() */
enum sdp_birth {
	SDP_NOT_WAITING,	/* of a program, or of nobody */
	SDP_PENDING,		/* the connection is not there yet */
	SDP_QUEUED,		/* accept() may have it */
};

/**
 * struct sdp_sock - a socket
 * @inet: the sock
 * @inet6: IPv6's part
 * @all: in the list of all sockets, see diag.c
 * @local: own address; its port is 0 before bind()
 * @remote: the peer's
 * @bound: in the table of ports
 * @port: reservation in TCP's port space, or NULL
 * @bound_by_user: @given is kept when a connection ends
 * @given: address that bind() has given
 * @port_named: bind() has named the port
 * @used: it was listening or connecting since it has @local
 * @of_ops: a leg of the switch: TCP's leg has the port
 * @registered: made by AF_INET's or AF_INET6's create
 * @memcg: what connections are charged to, or NULL
 * @via_if: device of the switch's route, 0: the host's route is asked
 * @via: first hop of that route, of family AF_UNSPEC without one
 * @link: connection, or NULL
 * @link_mutex: see the top
 * @tx_mutex: one writer
 * @rx_mutex: one reader
 * @readers: calls that may read
 * @reader: the task of the last one; not dereferenced
 * @wake: SDP_WAKE_*, for sdp_unlock()
 * @nospace: somebody waits for room in the send buffer
 * @closing: close() has begun
 * @released: no program has it any more: the end of its link takes that away
 * @drop: the end of the link drops the reference of the accept queue
 * @deadline: when connect() gives up, in jiffies
 * @tries: attempts that found the peer's backlog full
 * @retry: connects again
 * @held_timer: sends bytes that were held back
 * @accept_lock: protects the lists, counts and @birth of those in them
 * @listening: new connections may enter the lists
 * @on_devices: the namespace's devices listen for this socket, too; lock_sock()
 * @pending: passive sockets whose connection is not there yet
 * @queue: ... that wait for accept()
 * @node: in one of these
 * @birth: enum sdp_birth
 * @listener: whose list @node is in, with a reference, until accept()
 * @options: values of options, see sock_opt.c
 */
struct sdp_sock {
	struct inet_sock inet;
	struct ipv6_pinfo inet6;
	struct list_head all;
	struct sdp_end local;
	struct sdp_end remote;
	struct hlist_node bound;
	struct sdp_port *port;
	struct sdp_end given;
	bool bound_by_user;
	bool port_named;
	bool used;
	bool of_ops;
	bool registered;
	struct mem_cgroup *memcg;
	int via_if;
	struct sockaddr_storage via;
	struct sdp_link *link;
	struct mutex link_mutex;
	struct mutex tx_mutex;
	struct mutex rx_mutex;
	atomic_t readers;
	const struct task_struct *reader;
	u32 wake;
	bool nospace;
	bool closing;
	bool released;
	bool drop;
	unsigned long deadline;
	u32 tries;
	struct delayed_work retry;
	struct timer_list held_timer;
	spinlock_t accept_lock;
	bool listening;
	bool on_devices;
	struct list_head pending;
	struct list_head queue;
	struct list_head node;
	u8 birth;
	struct sdp_sock *listener;
	int options[SDP_OPTIONS];
};

static inline struct sdp_sock *sdp_sk(const struct sock *sk)
{
	return (struct sdp_sock *)sk;
}

static inline struct sock *sdp_sock(struct sdp_sock *ssk)
{
	return &ssk->inet.sk;
}

/* The state is seen no earlier than what was set before it: sk_shutdown, sk_err. */
static inline void sdp_set_state(struct sock *sk, int state)
{
	/* pairs with sdp_get_state() */
	smp_store_release(&sk->sk_state, state);
}

static inline int sdp_get_state(const struct sock *sk)
{
	/* pairs with sdp_set_state() */
	return smp_load_acquire(&sk->sk_state);
}

static inline void sdp_lock(struct sdp_sock *ssk)
	__acquires(&ssk->inet.sk.sk_lock.slock)
{
	spin_lock_bh(&sdp_sock(ssk)->sk_lock.slock);
}

void sdp_unlock(struct sdp_sock *ssk) __releases(&ssk->inet.sk.sk_lock.slock);
void sdp_unlock_push(struct sdp_sock *ssk) __releases(&ssk->inet.sk.sk_lock.slock);

/* sock.c */
extern struct proto sdp_prot;
extern const struct proto_ops sdp_ops;
extern const struct proto_ops sdp_ops6;
struct sdp_sock *sdp_sock_new(struct net *net, int family, struct socket *sock, bool kern);
int sdp_sock_connect(struct socket *sock, struct sockaddr *address, int len, int flags);
int sdp_sock_connect_via(struct socket *sock, struct sockaddr *address, int len, int flags,
			 const struct offload_route *route);
int sdp_sock_route_if(const struct offload_route *route);
void sdp_sock_notify(struct sdp_link *link, enum sdp_notice what);
void sdp_sock_wait_all(void);
void sdp_sock_drop_link(struct sdp_sock *ssk);
void sdp_sock_end_child(struct sdp_sock *ssk);

/* sock_port.c */
bool sdp_end_is_any(const struct in6_addr *ip);
int sdp_end_from_user(const struct sock *sk, const struct sockaddr *address, int len,
		      struct sdp_end *end);
int sdp_end_to_user(const struct sock *sk, const struct sdp_end *end, struct sockaddr *address);
void sdp_end_to_storage(const struct sdp_end *end, struct sockaddr_storage *address);
void sdp_end_from_storage(const struct sockaddr_storage *address, struct sdp_end *end);
int sdp_port_check(struct sdp_sock *ssk, const struct sdp_end *end);
bool sdp_port_bound(const struct sdp_sock *ssk);
int sdp_port_bind(struct sdp_sock *ssk, struct sdp_end end);
void sdp_port_bind_address(struct sdp_sock *ssk, const struct sdp_end *end);
void sdp_port_leave(struct sdp_sock *ssk);
void sdp_port_narrow(struct sdp_sock *ssk, const struct sdp_end *end);
void sdp_port_restore(struct sdp_sock *ssk);
int sdp_port_listen(struct sdp_sock *ssk);
struct sdp_sock *sdp_port_listener(struct net *net, const struct sdp_end *local, int ifindex);

/* sock_listen.c */
int sdp_sock_listen(struct socket *sock, int backlog);
int sdp_sock_accept(struct socket *sock, struct socket *newsock, struct proto_accept_arg *arg);
void sdp_listen_stop(struct sdp_sock *ssk);
void sdp_listen_connected(struct sdp_sock *child);
void sdp_listen_failed(struct sdp_sock *child);
extern const struct sdp_ot_user sdp_listen_user;

/* sock_send.c */
int sdp_sock_sendmsg(struct socket *sock, struct msghdr *msg, size_t len);
void sdp_sock_splice_eof(struct socket *sock);
bool sdp_send_allowed(const struct sdp_sock *ssk);
bool sdp_send_room(const struct sdp_sock *ssk);
bool sdp_send_below(const struct sdp_sock *ssk);
int sdp_send_some(struct sdp_sock *ssk, struct msghdr *msg);
void sdp_send_flush(struct sdp_sock *ssk);
void sdp_send_done(struct sdp_link *link);
u32 sdp_send_unsent(const struct sdp_link *link);
void sdp_send_timer(struct timer_list *timer);

/* sock_recv.c */
int sdp_sock_recvmsg(struct socket *sock, struct msghdr *msg, size_t len, int flags);
int sdp_sock_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg);
bool sdp_recv_ready(struct sdp_sock *ssk, bool wait);
void sdp_recv_deliver(struct sdp_link *link, const struct sdp_msg *msg, const u8 *data);

/* zcopy.c */
bool sdp_zcopy_segment(struct sdp_link *link, u64 from, u32 len, struct sdp_ot_segment *segment,
		       bool written);
void sdp_zcopy_sink_done(struct sdp_conn *c, void *cookie, u32 octets, enum sdp_sink_end how);
void sdp_zcopy_offer_done(struct sdp_conn *c, void *cookie, u32 octets);
void sdp_zcopy_read(struct sdp_conn *c, u32 rkey, u64 va, u32 len, void *cookie);
void sdp_zcopy_completed(struct sdp_link *link, const struct sdp_post *post,
			 const struct sdp_ot_completion *done);
void sdp_zcopy_sent(struct sdp_link *link);
void sdp_zcopy_ended(struct sdp_link *link);
void sdp_zcopy_release(struct sdp_link *link);
void sdp_zcopy_settle(struct sdp_link *link);
bool sdp_zcopy_sending(const struct sdp_link *link);
u32 sdp_zcopy_readable(const struct sdp_link *link);
void sdp_zcopy_refuse(struct sdp_link *link);

/* sock_zcopy.c */
bool sdp_zcopy_fits(const struct msghdr *msg);
bool sdp_zcopy_wanted(struct sdp_sock *ssk, struct msghdr *msg, long timeo);
size_t sdp_zcopy_send(struct sock *sk, struct msghdr *msg, size_t most, long *timeo, int *error);
u32 sdp_zcopy_receive(struct sock *sk, struct msghdr *msg, size_t room, int flags, long timeo,
		      bool need);

/* sock_sink.c */
int sdp_zcopy_sink(struct sock *sk, struct msghdr *msg, size_t room, int flags, long *timeo);

/* sock_zerocopy.c */
bool sdp_zerocopy_wanted(struct sdp_sock *ssk, const struct msghdr *msg);
bool sdp_zerocopy_full(const struct sdp_link *link);
int sdp_zerocopy_some(struct sdp_sock *ssk, struct msghdr *msg, size_t most,
		      struct ubuf_info **told);

/* sock_opt.c */
#define SOL_SDP			1025
#define SDP_ZCOPY_THRESH	80	/* bytes, 0: never, -1: as the module says */
#define SDP_ZCOPY_WRITE		81	/* 0 or 1, -1: as the module says */
void sdp_opt_init(struct sdp_sock *ssk);
int sdp_sock_setsockopt(struct socket *sock, int level, int name, sockptr_t value,
			unsigned int len);
int sdp_sock_getsockopt(struct socket *sock, int level, int name, char __user *value,
			int __user *len);
int sdp_opt(const struct sdp_sock *ssk, int level, int name);
u8 sdp_opt_tos(const struct sdp_sock *ssk);
void sdp_opt_bound(struct sdp_sock *ssk);

/* diag.c */
void sdp_diag_add(struct sdp_sock *ssk);
void sdp_diag_remove(struct sdp_sock *ssk);
void sdp_diag_setup(void);
int sdp_diag_init(void);
void sdp_diag_exit(void);

/* main.c: parameters, counters **************************************************************** */

enum sdp_counter {
	SDP_COUNT_CONNECTS,
	SDP_COUNT_CONNECTED,
	SDP_COUNT_ACCEPTED,
	SDP_COUNT_REFUSED,
	SDP_COUNT_NO_LISTENER,
	SDP_COUNT_BACKLOG,
	SDP_COUNT_BAD_HELLO,
	SDP_COUNT_NO_MEMORY,
	SDP_COUNT_FAULTS,
	SDP_COUNT_RESETS,
	SDP_COUNT_TIMEOUTS,
	SDP_COUNT_TX_COPIED,
	SDP_COUNT_TX_READ,
	SDP_COUNT_TX_WRITTEN,
	SDP_COUNT_RX_COPIED,
	SDP_COUNT_RX_READ,
	SDP_COUNT_RX_WRITTEN,
	SDP_COUNT_ZCOPY_OFFERS,
	SDP_COUNT_ZCOPY_REFUSALS,
	SDP_COUNT_ZCOPY_CUTS,
	SDP_COUNT_ZCOPY_SINKS,
	SDP_COUNT_ZCOPY_CANCELS,
	SDP_COUNT_ZCOPY_FAILURES,
	SDP_COUNT_FAULT,	/* the first of enum sdp_fault, from SDP_FAULT_SHORT on */
	SDP_COUNTERS = SDP_COUNT_FAULT + SDP_FAULTS - 1
};

void sdp_count_more(enum sdp_counter which, u32 n);

static inline void sdp_count(enum sdp_counter which)
{
	sdp_count_more(which, 1);
}

/* a peer has sent what docs/sdp-wire.md section 14 forbids */
static inline void sdp_count_fault(enum sdp_fault fault)
{
	sdp_count_more(SDP_COUNT_FAULT + fault - 1, 1);
}

u64 sdp_counted(enum sdp_counter which);
const char *sdp_counter_name(enum sdp_counter which);

extern unsigned int sdp_buffer_size;
extern unsigned int sdp_rcvbuf;
extern unsigned int sdp_sndbuf;
extern unsigned int sdp_send_queue;
extern unsigned int sdp_backlog_mb;
extern unsigned int sdp_zcopy_thresh;
extern unsigned int sdp_zcopy_thresh_soft;
extern unsigned int sdp_zcopy_thresh_adopted;
extern unsigned int sdp_zcopy_patience_ms;
extern unsigned int sdp_zcopy_write;
extern unsigned int sdp_connect_timeout_s;
extern unsigned int sdp_close_timeout_s;
extern struct workqueue_struct *sdp_queue;

#endif /* SDP_SDP_H */
