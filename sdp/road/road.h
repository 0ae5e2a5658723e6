/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * SDP as a road of krdma_ops: the bytes of a TCP connection, from a position of each direction on,
 * go by an SDP connection beside it. Below are the state machine (../state/) and the transports
 * (../ot/).
 *
 *	road.c		the road's entry points, see krdma/offload.h
 *	open.c		active end: which device, the attempts
 *	rendezvous.c	passive end: requests of peers, which name a TCP connection
 *	sock.c		the hidden socket: begin, wake-ups, what the machine reports, end
 *	link.c		glue: the socket's state machine, endpoint, pools and queues
 *	buffers.c	its buffers
 *	send.c		bytes that go out, with copies
 *	receive.c	bytes that come in
 *	zcopy_read.c	large calls without copies: memory that the peer reads, or is read from
 *	zcopy_write.c	receives that the peer writes into
 *	zcopy_notify.c	sends with MSG_ZEROCOPY
 *	pinned.c	the memory of these three, and its keys
 *	options.c	options of level SOL_SDP
 *
 * A hidden socket (struct sdp_sock) has no port, no descriptor and no struct sock of its own:
 * programs have TCP's. It begins with one attempt to open the road, and lives on when the TCP
 * connection has closed it, until the peer has all bytes.
 *
 * Locks, outermost first:
 *
 *	rx_mutex, tx_mutex	one reader, one writer; held while memory of a program is copied
 *	sdp_lock()		the spinlock of the socket: all of it and of its link that changes;
 *				taken in softirq, too
 *
 * A function of the state machine is called with sdp_lock(). What it asks for beyond the transport,
 * is noted and done by sdp_unlock(). krdma_ops is called without a lock.
 */
#ifndef SDP_ROAD_H
#define SDP_ROAD_H

#include <linux/in6.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include <net/sock.h>

#include <krdma/offload.h>
#include <krdma/sdp.h>

#include "../ot/devices.h"
#include "../ot/ot.h"
#include "../state/state.h"

struct mem_cgroup;
struct ubuf_info;
struct sdp_sock;
struct sdp_chunk;
struct sdp_zcopy;

/* Connections: link.c ********************************************************************** */

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
 * @octets: bytes of a Read
 * @abort: Send of AbortConn
 */
struct sdp_post {
	struct list_head node;
	struct sdp_ot_buf *hdr;
	u64 end;
	struct sdp_chunk *chunk;
	u32 octets;
	u8 slots;
	bool abort;
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
 * @ssk: socket; the endpoint has a reference on it
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
 * @refusal: enum sdp_refusal of the peer
 * @rx_all: receive buffers, room for all
 * @rx_free: unused ones of them
 * @rx_wanted: @memory has to make some
 * @rx_refused: ... and could not
 * @rx: those with bytes for the program
 * @rx_now: the one whose message arrives
 * @queued: bytes in @rx
 * @full: the peer can send no more; readers were woken for that
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
 * @window: bytes for the program's unread data
 * @window_max: most that the pool allows
 * @up: SDP_OT_UP has come; a peer's first messages may come before it
 * @reads_out: own Reads at a time that were negotiated; known when @up
 * @zcopy_tx: zero copy of what goes out, from its first use on
 * @zcopy_rx: ... of what comes in
 * @zcopy_notify: ... of sends with MSG_ZEROCOPY
 * @tx_read: bytes of conn.tx.read that were counted
 */
struct sdp_link {
	struct sdp_conn conn;
	struct sdp_sock *ssk;
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
	u8 refusal;
	struct sdp_rx *rx_all;
	struct list_head rx_free;
	bool rx_wanted;
	bool rx_refused;
	struct list_head rx;
	struct sdp_rx *rx_now;
	u32 queued;
	bool full;
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
	u32 window;
	u32 window_max;
	bool up;
	u16 reads_out;
	struct sdp_zcopy *zcopy_tx;
	struct sdp_zcopy *zcopy_rx;
	struct sdp_zcopy *zcopy_notify;
	u64 tx_read;
};

struct sdp_link *sdp_link_create(struct sdp_sock *ssk, struct offload_conn *conn,
				 struct sdp_ot_device *device);
int sdp_link_connect(struct sdp_link *link, struct offload_conn *conn,
		     const struct sockaddr_storage *local, const struct sockaddr_storage *remote,
		     const struct sockaddr_storage *next_hop, u32 timeout_ms);
int sdp_link_accept(struct sdp_link *link, struct sdp_ot_conn_request *request,
		    const struct sdp_msg *hello);
void sdp_link_free(struct sdp_link *link);
void sdp_link_settle(struct sdp_link *link);
bool sdp_link_push_begin(struct sdp_link *link, bool sleep);
void sdp_link_push(struct sdp_link *link);
void sdp_link_rx_free(struct sdp_link *link, struct sdp_rx *rx);
struct sdp_post *sdp_link_post_get(struct sdp_link *link, struct sdp_chunk *chunk);
void sdp_link_post_put(struct sdp_link *link, struct sdp_post *post);
void sdp_link_break(struct sdp_link *link, int error);

/* buffers.c */
int sdp_buffers_allow(const struct sdp_sock *ssk, const struct sdp_link_sizes *s);
void sdp_buffers_init(struct sdp_link *link);
int sdp_buffers_make(struct sdp_link *link, const struct sdp_link_sizes *s);
void sdp_buffers_free(struct sdp_link *link);
void sdp_buffers_stop(struct sdp_link *link);
void sdp_buffers_want_rx(struct sdp_link *link);
bool sdp_buffers_may_grow_tx(const struct sdp_link *link);
bool sdp_buffers_grow_tx(struct sdp_sock *ssk);

/* Hidden sockets *************************************************************************** */

/* what sdp_unlock() does when the spinlock is free again */
#define SDP_WAKE_READ	BIT(0)
#define SDP_WAKE_WRITE	BIT(1)
#define SDP_WAKE_URGENT	BIT(2)
#define SDP_WAKE_UP	BIT(3)	/* the road is open */
#define SDP_WAKE_EOS	BIT(4)	/* the peer's end of stream */
#define SDP_WAKE_FAILED	BIT(5)
#define SDP_WAKE_END	BIT(6)	/* the link ends */
#define SDP_WAKE_RETRY	BIT(7)	/* the peer has said: later */
/* ... and what of that waits until krdma_ops knows that the road is open */
#define SDP_WAKE_LATER	(SDP_WAKE_READ | SDP_WAKE_WRITE | SDP_WAKE_URGENT | SDP_WAKE_EOS | \
			 SDP_WAKE_FAILED)

/** enum sdp_phase - what krdma_ops knows of a road */
enum sdp_phase {
	SDP_OPENING,	/* nothing */
	SDP_RISING,	/* offload_road_up() is due or runs */
	SDP_ROAD_UP,
	SDP_ROAD_OVER,	/* the attempt has failed, or close() was called: no call follows */
};

/**
 * struct sdp_sock - a hidden socket
 * @lock: see sdp_lock()
 * @refs: the attempt, krdma_ops from offload_road_up() to close(), the endpoint, works and timers
 * @list: in the list of all
 * @conn: TCP connection, counted until SDP_ROAD_OVER
 * @sk: TCP's sock, for calls of programs, which keep it
 * @local: own address and port of the TCP connection
 * @remote: the peer's
 * @memcg: pays for buffers, or NULL
 * @account: of krdma_ops, for buffers; counted
 * @link: SDP connection
 * @tx_mutex: one writer
 * @rx_mutex: one reader
 * @readers: calls that may read
 * @reader: the task of the last one; not dereferenced
 * @sndbuf: send buffer, bytes
 * @rcvbuf: receive buffer
 * @wake: SDP_WAKE_*, for sdp_unlock()
 * @phase: enum sdp_phase
 * @shutdown: RCV_SHUTDOWN, SEND_SHUTDOWN
 * @error: why the road has failed; positive errno
 * @nospace: somebody waits for room in the send buffer
 * @nonblock: the last receive could not wait
 * @end_timer: an attempt, or the end after close(), takes too long
 * @cork_timer: sends bytes that were held back
 * @retry: tries again
 * @deadline: when that ends, in jiffies
 * @tries: attempts before this one
 * @gone: frees the socket
 * @rcu: ... after a grace period
 * @zcopy_thresh: SDP_ZCOPY_THRESH
 * @zcopy_write: SDP_ZCOPY_WRITE
 */
struct sdp_sock {
	spinlock_t lock;
	struct kref refs;
	struct list_head list;
	struct offload_conn *conn;
	struct sock *sk;
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
	struct mem_cgroup *memcg;
	struct offload_account *account;
	struct sdp_link *link;
	struct mutex tx_mutex;
	struct mutex rx_mutex;
	atomic_t readers;
	const struct task_struct *reader;
	u32 sndbuf;
	u32 rcvbuf;
	u32 wake;
	u8 phase;
	u8 shutdown;
	int error;
	bool nospace;
	bool nonblock;
	struct timer_list end_timer;
	struct timer_list cork_timer;
	struct delayed_work retry;
	unsigned long deadline;
	u32 tries;
	struct work_struct gone;
	struct rcu_head rcu;
	int zcopy_thresh;
	int zcopy_write;
};

static inline void sdp_lock(struct sdp_sock *ssk) __acquires(&ssk->lock)
{
	spin_lock_bh(&ssk->lock);
}

void sdp_unlock(struct sdp_sock *ssk) __releases(&ssk->lock);
void sdp_unlock_push(struct sdp_sock *ssk) __releases(&ssk->lock);

/* sock.c */
struct sdp_sock *sdp_sock_new(struct offload_conn *conn);
struct sdp_sock *sdp_sock_of(struct offload_conn *conn);
void sdp_sock_get(struct sdp_sock *ssk);
void sdp_sock_put(struct sdp_sock *ssk);
void sdp_sock_sizes(struct sdp_sock *ssk, const struct sock *sk);
void sdp_sock_timer_set(struct sdp_sock *ssk, struct timer_list *timer, unsigned long delay);
void sdp_sock_timer_stop(struct sdp_sock *ssk, struct timer_list *timer);
void sdp_sock_notify(struct sdp_link *link, enum sdp_notice what);
void sdp_sock_settle(struct sdp_link *link);
void sdp_sock_give_up(struct sdp_sock *ssk, int error);
void sdp_sock_shutdown(struct sdp_sock *ssk, int how);
void sdp_sock_close(struct sdp_sock *ssk, bool abort);
void sdp_sock_abort(struct sdp_sock *ssk);
void sdp_sock_abort_all(void);
void sdp_sock_wait_all(void);
u32 sdp_sock_count(void);

/* open.c */
int sdp_open(struct offload_conn *conn);
int sdp_open_offers(const struct offload_route *route);
void sdp_open_retry(struct work_struct *work);

/* rendezvous.c */
extern const struct sdp_ot_user sdp_rendezvous_user;
void sdp_rendezvous_listens(struct net *net, bool on);
int sdp_rendezvous_init(void);
void sdp_rendezvous_exit(void);

/* road.c */
extern const struct offload_road sdp_road;

/* send.c */
int sdp_send(struct sdp_sock *ssk, struct sock *sk, struct msghdr *msg, size_t len);
bool sdp_send_allowed(const struct sdp_sock *ssk);
bool sdp_send_room(const struct sdp_sock *ssk);
bool sdp_send_below(const struct sdp_sock *ssk);
int sdp_send_some(struct sdp_sock *ssk, struct msghdr *msg);
void sdp_send_flush(struct sdp_sock *ssk);
void sdp_send_done(struct sdp_link *link);
u64 sdp_send_unacked(const struct sdp_link *link);
void sdp_send_timer(struct timer_list *timer);

/* receive.c */
int sdp_receive(struct sdp_sock *ssk, struct sock *sk, struct msghdr *msg, size_t len, int flags);
u32 sdp_receive_readable(struct sdp_sock *ssk);
bool sdp_receive_full(struct sdp_sock *ssk);
void sdp_receive_settle(struct sdp_link *link);
u32 sdp_receive_urgent(struct sdp_sock *ssk, u32 *ahead);
void sdp_receive_deliver(struct sdp_link *link, const struct sdp_msg *msg, const u8 *data);

/* pinned.c */
bool sdp_pinned_segment(struct sdp_link *link, u64 from, u32 len, struct sdp_ot_segment *segment,
			bool written);
void sdp_pinned_sink_done(struct sdp_conn *c, void *cookie, u32 octets, enum sdp_sink_end how);
void sdp_pinned_offer_done(struct sdp_conn *c, void *cookie, u32 octets);
void sdp_pinned_read(struct sdp_conn *c, u32 rkey, u64 va, u32 len, void *cookie);
void sdp_pinned_completed(struct sdp_link *link, const struct sdp_post *post,
			  const struct sdp_ot_completion *done);
void sdp_pinned_sent(struct sdp_link *link);
void sdp_pinned_ended(struct sdp_link *link);
void sdp_pinned_release(struct sdp_link *link);
void sdp_zcopy_settle(struct sdp_link *link);
bool sdp_zcopy_sending(const struct sdp_link *link);
u32 sdp_zcopy_readable(const struct sdp_link *link);
void sdp_zcopy_refuse(struct sdp_link *link);

/* zcopy_read.c */
bool sdp_zcopy_fits(const struct msghdr *msg);
bool sdp_zcopy_wanted(struct sdp_sock *ssk, struct msghdr *msg, long timeo);
size_t sdp_zcopy_send(struct sdp_sock *ssk, struct msghdr *msg, size_t most, long *timeo,
		      int *error);
u32 sdp_zcopy_receive(struct sdp_sock *ssk, struct msghdr *msg, size_t room, int flags, long timeo,
		      bool need);

/* zcopy_write.c */
int sdp_zcopy_sink(struct sdp_sock *ssk, struct msghdr *msg, size_t room, int flags, long *timeo);

/* zcopy_notify.c */
bool sdp_notify_wanted(struct sdp_sock *ssk, const struct msghdr *msg);
bool sdp_notify_full(const struct sdp_link *link);
int sdp_notify_some(struct sdp_sock *ssk, struct msghdr *msg, size_t most,
		    struct ubuf_info **uarg);

/* options.c */
int sdp_setsockopt(struct sdp_sock *ssk, int level, int name, sockptr_t value, unsigned int len);
int sdp_getsockopt(struct sdp_sock *ssk, int level, int name, char __user *value, int __user *len);

/* main.c: parameters, counters *************************************************************** */

enum sdp_counter {
	SDP_COUNT_OPENS,
	SDP_COUNT_OPENED,
	SDP_COUNT_ACCEPTED,
	SDP_COUNT_REFUSED,
	SDP_COUNT_UNKNOWN,
	SDP_COUNT_LATER,
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

extern unsigned int sdp_buffer_size;
extern unsigned int sdp_rcvbuf;
extern unsigned int sdp_sndbuf;
extern unsigned int sdp_send_queue;
extern unsigned int sdp_zcopy_thresh;
extern unsigned int sdp_zcopy_thresh_soft;
extern unsigned int sdp_zcopy_thresh_adopted;
extern unsigned int sdp_zcopy_patience_ms;
extern unsigned int sdp_zcopy_write;
extern unsigned int sdp_connect_timeout_s;
extern unsigned int sdp_close_timeout_s;
extern struct workqueue_struct *sdp_queue;

#endif /* SDP_ROAD_H */
