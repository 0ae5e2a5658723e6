/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Inside of the offload switch. See ops/README.md for the whole.
 *
 * Locks, outermost first:
 *
 *	ops_sock.rx_mutex	one reader at a time; held while bytes are copied to a user, not
 *				while somebody waits for bytes, unless he is one of rx_lenders
 *	ops_sock.tx_mutex	one sender of the header of a road to another host
 *	lock_sock() of the socket	TCP's own state, the sender's change from TCP to the road
 *	ops_dir.mutex		one writer of a ring at a time; likewise. TCP's lock may be held,
 *				and is never taken inside.
 *	ops_pair.lock		refusal against change; softirqs off
 *	bucket locks of pair.c, view.c	the tables; softirqs off
 *	ops_sock.lock		the road's state; softirqs off
 */
#ifndef OPS_H
#define OPS_H

#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>
#include <net/transp_v6.h>

#include <krdma/offload.h>
#include <krdma/compat_net.h>

#include "ring.h"
#include "rules.h"

/* Names (names.h is pure, see there) ***************************************** */

/**
 * struct ops_name - what names a TCP connection, the same at both ends
 * @active: initial sequence number of the end that connected
 * @passive: of the end that listened
 */
struct ops_name {
	u32 active;
	u32 passive;
};

/* The same-host pair (pair.c, local.c) ************************************** */

/**
 * struct ops_dir - one direction of a pair
 * @mutex: of the writer; protects the writer's part of @ring, @fin and the way back to TCP
 * @ring: bytes
 * @limit: bytes that may be unread
 * @x: number of the first byte that does not go by TCP; written before @changes
 * @changes: how often the sender has changed roads; odd: it sends by the ring from @x on
 * @seen: the same of the receiver, who follows
 * @fin: the sender's stream has ended behind all bytes of the ring
 * @closed: the receiver reads no more
 * @shut: it has shut down both directions: TCP answers bytes that come now with a reset
 * @used: jiffies of the last byte
 */
struct ops_dir {
	struct mutex mutex;
	struct ops_ring ring;
	u32 limit;
	u32 x;
	u32 changes;
	bool fin;
	unsigned long used;

	u32 seen ____cacheline_aligned_in_smp;
	bool closed;
	bool shut;
};

/**
 * struct ops_pair - both ends of a connection inside of this host
 * @refs: the two ends, and who gives pages back
 * @lock: a change of roads against a refusal
 * @refused: neither end may change any more
 * @listed: in local.c's list of pairs with pages
 * @node: there
 * @rcu: frees it
 * @dir: dir[i] is what end i sends; the end that came first is 0
 */
struct ops_pair {
	refcount_t refs;
	spinlock_t lock;
	bool refused;
	bool listed;
	struct list_head node;
	struct rcu_head rcu;
	struct ops_dir dir[2];
};

/* Marked sockets ************************************************************ */

struct ops_road;

enum ops_road_state {
	OPS_ROAD_NONE,		/* not asked for yet */
	OPS_ROAD_OPENING,
	OPS_ROAD_UP,
	OPS_ROAD_BROKEN,	/* after UP: what has come is still read */
	OPS_ROAD_FAILED,	/* or closed */
};

/**
 * struct ops_sock - the context of a marked socket, one end of a connection
 * @refs: TCP's socket (icsk_ulp_data), calls that run, the road
 * @rcu: frees it
 * @sk: TCP's sock. Valid in calls on the socket and as long as @dead is not set; a road's
 *	connection has a reference (@sk_held)
 * @base: sk_prot of the socket without the mark
 * @ops: of the program's socket without the mark, while ours are there; NULL: not replaced
 * @choice: what the rule says
 * @asked: the program asked by TCP_ULP: the rules decide when it connects or listens
 * @explicit: the program made a socket of ours, see explicit.c
 * @ruled: a rule took the socket
 * @must: road that the program's socket must use, by number; 0: none
 * @listens: the roads were notified that it listens
 * @dead: the mark is off, or the socket has ended
 * @gone: its connection has ended: calls that run must not go on with the next one
 * @why: enum ops_counter: why TCP
 * @sk_held: @sk has a reference of ours
 * @charged: a connection is charged to @net
 * @net: namespace
 *
 * @active: it connected
 * @name: of the connection, once it is established
 * @entered: in pair.c's table, by @node
 * @all: in view.c's table of all
 *
 * @pair: set once, NULL without a peer on this host
 * @side: index of what it sends, in the pair
 * @peer: TCP's sock of the other end, with a reference
 *
 * @lock: protects the road's state
 * @road: road beside TCP; with a reference, NULL: none
 * @road_state: see there
 * @priv: the road's
 * @open: asks the roads
 * @receive: reads where the peer's bytes go on; the road's data_ready starts it
 * @breaks: ends the connection, or closes the road
 * @breaks_late: it found TCP's lock taken; protected by the lock's spinlock
 * @road_error: why it broke
 * @road_opened: the road has the connection, its close() must be called
 * @road_abort: @breaks ends the TCP connection, too
 * @road_flush: it was closed before open() had returned, and its bytes are still to be sent
 *
 * @senders: calls inside tcp_sendmsg_locked(); TCP's lock
 * @tx_road: it sends by the road. TCP's lock sets it, the writer's mutex clears it.
 * @stay: urgent data was sent: TCP from now on
 * @retry: jiffies before which the change is not tried again
 * @tx_mutex: one sender of the header
 * @tx_header: bytes of the header that are still to be sent
 * @tx_x: what the header says
 *
 * @rx_mutex: one reader at a time
 * @rx_lenders: calls that have it, or are about to, and may wait for bytes with it
 * @rx_late: @receive found it taken
 * @rx_missed: a call that does not wait found such a one
 * @rx_shut: the program has shut it down
 * @rx_cut: the road broke before the end of the peer's stream had come, which is no end
 * @rx_road: it reads from the road
 * @rx_x: where the peer's part by TCP ends, once @rx_header is complete (not for a pair)
 * @rx_header: bytes that have come
 * @rx_buffer: those bytes
 * @rx_end: the peer has ended its stream on the road (not for a pair)
 *
 * @sent: bytes by the road
 * @received: likewise
 */
struct ops_sock {
	refcount_t refs;
	struct rcu_head rcu;
	struct sock *sk;
	struct proto *base;
	const struct proto_ops *ops;
	struct ops_choice choice;
	bool asked;
	bool explicit;
	bool ruled;
	u16 must;
	bool listens;
	bool dead;
	bool gone;
	u8 why;
	bool sk_held;
	bool charged;
	struct net *net;

	bool active;
	bool entered;
	struct ops_name name;
	struct hlist_node node;
	struct hlist_node all;

	struct ops_pair *pair;
	u8 side;
	struct sock *peer;

	spinlock_t lock;
	struct ops_road *road;
	enum ops_road_state road_state;
	void *priv;
	struct work_struct open;
	struct delayed_work receive;
	struct work_struct breaks;
	bool breaks_late;
	int road_error;
	bool road_opened;
	bool road_abort;
	bool road_flush;

	int senders;
	bool tx_road;
	bool stay;
	unsigned long retry;
	struct mutex tx_mutex;
	u8 tx_header;
	u32 tx_x;

	struct mutex rx_mutex;
	atomic_t rx_lenders;
	bool rx_late;
	bool rx_missed;
	bool rx_shut;
	bool rx_cut;
	bool rx_road;
	u32 rx_x;
	u8 rx_header;
	__be32 rx_buffer[2];
	bool rx_end;

	u64 sent;
	u64 received;
};

#define OPS_HEADER_MAGIC	0x4b52444d	/* "KRDM" */
#define OPS_HEADER		8

struct offload_conn {
	struct ops_sock os;
};

static inline struct offload_conn *ops_conn(struct ops_sock *os)
{
	return container_of(os, struct offload_conn, os);
}

/**
 * ops_pair_of() - the pair of a socket
 * @os: context
 *
 * Return: pair, or NULL: none yet. Context: any.
 */
static inline struct ops_pair *ops_pair_of(const struct ops_sock *os)
{
	/* pairs with pair_set(): the peer and the side are there, too */
	return smp_load_acquire(&os->pair);
}

/* what it sends, what it receives; with a pair */
static inline struct ops_dir *ops_tx(const struct ops_sock *os)
{
	return &os->pair->dir[os->side];
}

static inline struct ops_dir *ops_rx(const struct ops_sock *os)
{
	return &os->pair->dir[!os->side];
}

static inline bool ops_is_local(const struct ops_sock *os)
{
	return ops_pair_of(os);
}

/* Does the receiver want no more bytes? They go by TCP, whose answer the program expects. */
static inline bool ops_dir_ends(const struct ops_dir *dir)
{
	return READ_ONCE(dir->closed) || READ_ONCE(dir->shut);
}

/* How often the sender of a direction has changed; what it wrote before that is seen, too. */
static inline u32 ops_changes(const struct ops_dir *dir)
{
	/* pairs with ops_dir_change() */
	return smp_load_acquire(&dir->changes);
}

/* The sender changes roads; one at a time. */
static inline void ops_dir_change(struct ops_dir *dir)
{
	/* pairs with ops_changes(): x and the bytes of the ring come before */
	smp_store_release(&dir->changes, dir->changes + 1);
}

/* How far the receiver has followed; what it reads from there on it reads from the other road. */
static inline u32 ops_seen(const struct ops_dir *dir)
{
	/* pairs with ops_dir_follow() */
	return smp_load_acquire(&dir->seen);
}

/* The receiver follows; one at a time. */
static inline void ops_dir_follow(struct ops_dir *dir)
{
	/* pairs with ops_seen() */
	smp_store_release(&dir->seen, dir->seen + 1);
}

/* what a socket has that nobody has taken (mark.c) */
extern void (*ops_sk_data_ready)(struct sock *sk);
extern void (*ops_sk_write_space)(struct sock *sk);
extern void (*ops_sk_state_change)(struct sock *sk);

/*
 * Wake those who wait at a socket. It may have ended: then nobody waits. Any context.
 *
 * Never by the socket's own callbacks: it may have lost its mark, and kTLS, for one, reads TCP's
 * queue in its own, for which TCP's lock must be held. TCP's defaults need no lock.
 */
static inline void ops_wake_readers(struct sock *sk)
{
	rcu_read_lock();
	ops_sk_data_ready(sk);
	rcu_read_unlock();
}

/*
 * TCP's default wakes nobody while much of what TCP has sent is not acknowledged. Who waits for
 * room of a road does not care, and poll() asks TCP for a wake-up of its own then.
 */
static inline void ops_wake_writers(struct sock *sk)
{
	struct socket_wq *wq;

	rcu_read_lock();
	ops_sk_write_space(sk);
	wq = rcu_dereference(sk->sk_wq);
	if (!sk_stream_is_writeable(sk) && skwq_has_sleeper(wq))
		wake_up_interruptible_poll(&wq->wait, EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND);
	rcu_read_unlock();
}

static inline void ops_wake_all(struct sock *sk)
{
	rcu_read_lock();
	ops_sk_state_change(sk);
	rcu_read_unlock();
}

/* Is there an answer of TCP's for a sender? */
static inline bool ops_tcp_ended(const struct sock *sk)
{
	return READ_ONCE(sk->sk_err) || READ_ONCE(sk->sk_shutdown) & SEND_SHUTDOWN ||
	       inet_sk_state_load(sk) == TCP_CLOSE;
}

/* TCP's own, for a socket of this family */
static inline struct proto *ops_tcp_prot(const struct sock *sk)
{
	return sk->sk_family == AF_INET6 ? &tcpv6_prot : &tcp_prot;
}

/* TCP's functions have one copy for both families. */
static inline int ops_tcp_recvmsg(struct sock *sk, struct msghdr *msg, size_t len, int flags
				  COMPAT_ADDR_LEN_PARAM)
{
	return tcp_prot.recvmsg(sk, msg, len, flags COMPAT_ADDR_LEN(addr_len));
}

/* Marks (mark.c) ************************************************************ */

extern struct tcp_ulp_ops ops_ulp;		/* ulp.c */

struct ops_sock *ops_sock_alloc(struct sock *sk, gfp_t gfp);
void ops_sock_put(struct ops_sock *os);

static inline void ops_sock_get(struct ops_sock *os)
{
	refcount_inc(&os->refs);
}

/* With RCU: the context of a socket, or NULL. */
static inline struct ops_sock *ops_sock_of(const struct sock *sk)
{
	struct ops_sock *os = rcu_dereference(inet_csk(sk)->icsk_ulp_data);

	/*
	 * A call that found our functions may begin when the mark is off and another protocol has
	 * its own context there. That one comes when ours has gone from icsk_ulp_ops.
	 */
	smp_rmb();
	return READ_ONCE(inet_csk(sk)->icsk_ulp_ops) == &ops_ulp ? os : NULL;
}

/**
 * ops_sock_enter() - begin a call on a socket
 * @sk: socket
 *
 * Return: its context with a reference, or NULL: the mark is off.
 */
static inline struct ops_sock *ops_sock_enter(const struct sock *sk)
{
	struct ops_sock *os;

	rcu_read_lock();
	os = ops_sock_of(sk);
	if (os && !refcount_inc_not_zero(&os->refs))
		os = NULL;
	rcu_read_unlock();
	return os;
}

/* With TCP's lock: put the mark on, by a rule or because the program asked. */
int ops_mark(struct sock *sk, const struct ops_choice *choice);
/* The same for a socket that was made by explicit.c. */
int ops_mark_explicit(struct sock *sk, u16 must);
/* With TCP's lock: take it off, whatever runs. */
void ops_unmark(struct sock *sk, struct ops_sock *os, enum ops_counter why);
/* The same, if no byte has changed roads. Return: 0 or -EBUSY. */
int ops_decline(struct sock *sk, struct ops_sock *os, enum ops_counter why);
/* Can a mark be put on this socket? */
bool ops_may_mark(const struct sock *sk);
int ops_mark_init(void);
void ops_mark_stop(void);
void ops_mark_exit(void);
extern bool ops_down;		/* parameter shutdown: no marks */

/* The upper layer protocol (ulp.c) ****************************************** */

static inline bool ops_is_marked(const struct sock *sk)
{
	return inet_csk(sk)->icsk_ulp_ops == &ops_ulp;
}

/* TCP's operations of sockets of AF_INET, AF_INET6; NULL: no such family */
const struct proto_ops *ops_socket_base(int family);
/* our copy of a base, or NULL */
struct proto *ops_prot_of(const struct proto *base);
/*
 * For a call that began as ours and finds no context: TCP's, or those of a protocol that has come
 * to the socket since.
 */
static inline const struct proto *ops_plain_prot(const struct sock *sk)
{
	const struct proto *prot = READ_ONCE(sk->sk_prot);

	return prot == ops_prot_of(ops_tcp_prot(sk)) ? ops_tcp_prot(sk) : prot;
}

/* With TCP's lock: our operations for the program's socket. */
void ops_take_socket(struct ops_sock *os, struct sock *sk);
void ops_give_socket(struct ops_sock *os, struct sock *sk);
int ops_ulp_init(void);
void ops_ulp_exit(void);

/* Pairs (pair.c) ************************************************************ */

/* A marked socket is established; softirq or TCP's lock. */
void ops_pair_enter(struct ops_sock *os);
/* Nobody finds it any more. */
void ops_pair_withdraw(struct ops_sock *os);
/* It ends: out of the table. The other end learns of it. */
void ops_pair_leave(struct ops_sock *os);
void ops_pair_put(struct ops_pair *pair);
/* the ends of a connection, IPv4 addresses mapped */
void ops_addresses(const struct sock *sk, struct in6_addr *local, struct in6_addr *remote);
int ops_pair_init(void);
void ops_pair_exit(void);

/* Change of roads (change.c) ************************************************ */

/* Does the program want time stamps, which only TCP has? */
bool ops_wants_stamps(const struct sock *sk);
int ops_sendmsg(struct sock *sk, struct msghdr *msg, size_t size);
int ops_recvmsg(struct sock *sk, struct msghdr *msg, size_t len, int flags COMPAT_ADDR_LEN_PARAM);
bool ops_is_readable(struct sock *sk);
bool ops_receives_beside(const struct ops_sock *os);
/* Is the next byte one of the road's, whether there is one or not? TCP's mark is no mark then. */
bool ops_at_road(const struct ops_sock *os);
bool ops_end_waits(const struct ops_sock *os);
bool ops_stream_memory_free(const struct sock *sk, int wake);
/* SO_RCVLOWAT is another one: who waits learns of it. With TCP's lock. */
void ops_low_water(struct ops_sock *os);
/* Has TCP not brought all bytes before X? @os may be a same-host one. A hint. */
bool ops_before_road(const struct ops_sock *os);
/* bytes that a call to recvmsg() has at once; a hint where no lock is held */
u32 ops_inq(const struct ops_sock *os);
/* TCP_INQ: as those, or 1 where the end is to be read */
u32 ops_inq_hint(const struct ops_sock *os);
/* Receives what is there, without waiting. Return: bytes, 0: the end; -EAGAIN; -errno */
int ops_recv_now(struct ops_sock *os, struct msghdr *msg, size_t len);
/* Is the answer the end of the stream, where there are no bytes? */
bool ops_recv_at_end(const struct ops_sock *os);
/* SIOCINQ: as those, but no further than urgent data, as TCP's */
u32 ops_inq_ioctl(const struct ops_sock *os);
/* Has TCP's queue bytes that nobody has read? A close() is a reset then. */
bool ops_tcp_unread(const struct ops_sock *os);
/* bytes that the peer's kernel has not taken yet */
u32 ops_unsent(const struct ops_sock *os);
/* Reads the header of the peer's part by the road; with rx_mutex. True: rx_x is known. */
bool ops_header_read(struct ops_sock *os);

/* The same-host road (local.c) ********************************************** */

extern const struct offload_road ops_local_road;
/* Sends. Return: 0: all; 1: go on by TCP; else -errno. @sent: how many bytes. */
int ops_local_send(struct ops_sock *os, struct msghdr *msg, size_t len, size_t *sent);
int ops_local_recv(struct ops_sock *os, struct msghdr *msg, size_t len, int flags, u32 offset);
u32 ops_local_unsent(const struct ops_sock *os);
/* With TCP's lock: is there room for the first byte? Allocates. */
bool ops_local_prepare(struct ops_sock *os);
/* As tcp_stream_memory_free(), TCP_NOTSENT_LOWAT included */
bool ops_local_writable(const struct ops_sock *os, int wake);
/* The sender's stream ends, behind all bytes. */
void ops_local_fin(struct ops_sock *os);
/* This end reads no more. Return: there were unread bytes: TCP must end with a reset. */
bool ops_local_close(struct ops_sock *os);
/* It has shut down both directions. */
void ops_local_shut(struct ops_sock *os);
/* Back to TCP, from the next byte on. */
void ops_local_back(struct ops_sock *os);
void ops_local_pair_free(struct ops_pair *pair);
int ops_local_init(void);
void ops_local_exit(void);

/* Other roads (road.c) ****************************************************** */

/* Ask the roads for a connection that has no pair. */
void ops_road_begin(struct ops_sock *os);
int ops_road_send(struct ops_sock *os, struct msghdr *msg, size_t len);
/* It begins to listen, or does not any more. */
void ops_road_listens(struct ops_sock *os, bool on);
/* The end of this end. */
void ops_road_close(struct ops_sock *os, bool abort);
/* Its end of the stream, if the program has shut that down. */
void ops_road_shutdown(struct ops_sock *os);
/* Has any road but the same-host one registered? */
bool ops_roads_any(void);
/* Waits until the road that a socket must use is there. Return: 0 or why not. */
int ops_road_wait(struct ops_sock *os, int flags);
void ops_road_reset(struct ops_sock *os);
void ops_road_free(struct ops_sock *os);
int ops_road_recv(struct ops_sock *os, struct msghdr *msg, size_t len, int flags);
/* @flags has MSG_PEEK; @skip: bytes that are passed over */
int ops_road_peek(struct ops_sock *os, struct msghdr *msg, size_t len, int flags, u32 skip);
bool ops_road_reader_try(struct ops_sock *os);
/* A reader has given up rx_mutex. */
void ops_road_reader_left(struct ops_sock *os);
/* Wakes readers who know X, and once more when TCP has all before it if they want several bytes. */
void ops_road_receive(struct ops_sock *os);
/* TCP's lock is given back, and breaks_late is set. With the lock's spinlock. */
void ops_road_lock_left(struct ops_sock *os);
/* Does its sendmsg() notify of MSG_ZEROCOPY by itself? */
bool ops_road_notifies(const struct ops_sock *os);
u32 ops_road_readable(const struct ops_sock *os);
/* Do no more come until some are read, perhaps? */
bool ops_road_full(const struct ops_sock *os);
/* Are there bytes of the program that it has not read? */
bool ops_road_unread(const struct ops_sock *os);
bool ops_road_writable(const struct ops_sock *os);
u32 ops_road_unsent(const struct ops_sock *os);
/* OFFLOAD_URGENT_* of a road to another host */
u32 ops_road_urgent(const struct ops_sock *os);
/* The road's bytes in front of the urgent one. U32_MAX: there is none, or it has been passed. */
u32 ops_road_ahead(const struct ops_sock *os);
/* Does this end know of a road that has urgent data of its own? */
bool ops_road_urgent_there(const struct ops_sock *os);
/* -ENOPROTOOPT: not one of the road's */
int ops_road_setsockopt(struct ops_sock *os, int level, int name, sockptr_t value,
			unsigned int len);
int ops_road_getsockopt(struct ops_sock *os, int level, int name, char __user *value,
			int __user *len);
/* Is it open, for this end's bytes? */
bool ops_road_is_up(const struct ops_sock *os);
/* No road registers any more. Context: any. */
void ops_roads_refuse(bool refuse);
/* The same, and those that are there are asked to leave. */
void ops_roads_down(bool down);
void ops_road_prepare(struct ops_sock *os);
const char *ops_road_name(const struct ops_sock *os);
int ops_road_init(void);
void ops_road_exit(void);

/* Explicit sockets (explicit.c) ********************************************* */

int ops_explicit_init(void);
void ops_explicit_exit(void);
/* Address families 19 and 27, where the parameter allows them. Return: 0 or -EAFNOSUPPORT. */
int ops_explicit_address(struct sockaddr *address, int len);
/* May a socket that asked use a road though no rule takes it? @choice: what the rules say */
bool ops_explicit_allows(const struct ops_sock *os, const struct ops_choice *choice);
/*
 * With TCP's lock: may a socket that must use a road connect (@to) or listen? Return: 0 or -EACCES;
 * 0 also for all others.
 */
int ops_explicit_check(const struct sock *sk, enum ops_direction direction,
		       const struct sockaddr *to);
extern int ops_family;
extern int ops_alias;

/* All marked sockets (view.c) *********************************************** */

void ops_view_add(struct ops_sock *os);
void ops_view_del(struct ops_sock *os);
void ops_socks_shutdown(void);
void ops_view_init(void);

#endif
