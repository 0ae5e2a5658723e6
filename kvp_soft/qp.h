/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The queue pair of the soft RNIC: its queues, its stream and its state.
 *
 * Who runs where:
 *  - the transmitter (tx.c) in process context, under tx.mutex: in the system
 *    call that rings the doorbell, in a kernel consumer's post where that may
 *    sleep, in tx.work or tx.poll_work;
 *  - the receiver (rx.c) under the socket's lock: in softirq for little data,
 *    in rx.work for much;
 *  - state changes (qp.c) in process context; those that begin in the receiver
 *    or in a socket callback are only noted in @todo and done by ctl_work.
 *
 * Lock order: tx.mutex, socket lock, @lock, queue locks, CQ lock.
 */
#ifndef SOFT_QP_H
#define SOFT_QP_H

#include <linux/bvec.h>
#include <linux/mm_types_task.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <krdma/rnicpi.h>
#include <net/sock.h>
#include <net/tcp_states.h>

#include "queues/cq.h"
#include "wire/ddp.h"
#include "direct.h"
#include "memory/memory.h"
#include "tx/pace.h"
#include "queues/queue.h"

/** enum soft_qp_state - of the verbs (draft-hilland-rddp-verbs 6.2) */
enum soft_qp_state {
	SOFT_QP_IDLE,
	SOFT_QP_RTS,
	SOFT_QP_CLOSING,	/* posted work leaves, then the stream ends */
	SOFT_QP_TERMINATE,	/* a Terminate leaves, then the stream ends */
	SOFT_QP_ERROR,
};

/* bits of soft_qp.todo, worked off by ctl_work */
enum {
	SOFT_TODO_PEER_CLOSED,	/* FIN, RST or time-out of the stream */
	SOFT_TODO_FINISH,	/* the transmitter has sent the last octet */
	SOFT_TODO_TIMEOUT,	/* and did not within soft_close_timeout_ms */
	SOFT_TODO_CQ_LOST,	/* a completion did not fit in its CQ */
};

/** enum soft_msg_kind - what the transmitter is sending */
enum soft_msg_kind {
	SOFT_MSG_NONE,
	SOFT_MSG_WR,		/* a work request of the send queue */
	SOFT_MSG_READ_RESP,	/* answer to the peer's RDMA Read */
};

/** enum soft_imm_due - when an Immediate Data message belongs to another */
enum soft_imm_due {
	SOFT_IMM_NEVER,
	SOFT_IMM_NOW,		/* it is next */
	SOFT_IMM_AFTER,		/* the other's last segment */
	SOFT_IMM_GIVEN,		/* it was the last, and the other is over when it has gone */
};

/**
 * struct soft_msg - the message that is being cut into FPDUs
 * @kind: what it is
 * @opcode: RDMAP opcode
 * @slot: of the send queue, for SOFT_MSG_WR
 * @len: octets of payload
 * @off: octets that are in FPDUs already
 * @inv_stag: RsvdULP[8:39] of an untagged message
 * @stag: of a tagged message
 * @to: tagged offset of its first octet
 * @msn: and of the request that SOFT_MSG_READ_RESP answers
 * @inline_data: payload, or NULL for @sge
 * @sge: payload
 * @sge_off: octets of the first element of @sge that are sent
 * @imm_due: Immediate Data that belongs to it
 * @imm_solicited: asks for a solicited event
 * @imm_msn: message sequence number of that
 * @imm: its octets
 * @read: of SOFT_MSG_READ_RESP, the request
 */
struct soft_msg {
	enum soft_msg_kind kind;
	u8 opcode;
	u32 slot;
	u32 len;
	u32 off;
	u32 msn;
	u32 inv_stag;
	u32 stag;
	u64 to;
	const u8 *inline_data;
	const struct krdma_soft_sge *sge;
	u32 sge_off;
	enum soft_imm_due imm_due;
	bool imm_solicited;
	u32 imm_msn;
	u64 imm;
	struct soft_read_req read;
};

/* the transmitter gathers this many pieces for one send */
#define SOFT_TX_VECS	32
/* so many short messages are handled with one access to memory: softirqs are off meanwhile */
#define SOFT_RUN_MAX	64

/**
 * struct soft_tx - transmitter; all of it under @mutex but @work and @poll_work
 * @frag: pages that FPDUs are being built in, while it runs
 * @vec: octets built and not taken by TCP; each holds a page reference
 * @nvec: entries of @vec in use
 * @staged: octets in @vec
 * @staged_fpdus: FPDUs built since the last send
 * @seq_built: stream octets built so far
 * @seq_sent: stream octets that TCP took, or the peer on this host in its place
 * @msn: next Send or Immediate Data, next Read or Atomic Request (by queue number)
 * @atomic_resp_msn: next Atomic Response
 * @msg: message under way
 * @resp_turn: an answer comes next if there is one, a work request otherwise
 * @rtr: frame that the MPA initiator owes before any other
 * @wr_fetched: sq.wqe holds a work request that is not being sent yet
 * @wr_slot: its slot
 * @read_sge: if it is an RDMA Read, next element to ask data for
 * @read_off: octets asked for before that
 * @mem: where payload was taken from last
 * @pace: how its poster announces what is posted
 * @poll_work: looks at the send queue in place of that
 * @polled: it counts for tx_pollers
 * @looking: and runs: nobody need ring
 * @direct: what is built goes to the peer's receiver, no longer to TCP
 * @seg: there: what is to go next
 * @pushed: octets that went there in this turn
 */
struct soft_tx {
	struct mutex mutex;
	struct work_struct work;
	struct page_frag frag;
	struct bio_vec vec[SOFT_TX_VECS];
	u32 nvec;
	u32 staged;
	u32 staged_fpdus;
	u64 seq_built;
	u64 seq_sent;
	u32 msn[2];
	u32 atomic_resp_msn;
	struct soft_msg msg;
	bool resp_turn;
	enum ri_rtr rtr;
	bool wr_fetched;
	u32 wr_slot;
	u32 read_sge;
	u32 read_off;
	struct soft_mem_cache mem;
	struct soft_pace pace;
	struct work_struct poll_work;
	bool polled;
	bool looking;
	bool direct;
	struct soft_direct_seg *seg;
	u32 pushed;
};

/**
 * struct soft_rx - receiver; under the socket's lock but @work, @wait_timer, @waiter
 * @bounce: an FPDU whose octets did not come in one piece
 * @bounce_len: octets in @bounce
 * @bounce_size: octets allocated
 * @bounce_want: octets that an FPDU has needed
 * @bounce_ready: octets of the FPDU in @bounce, checked and without its markers
 * @marked_pos: stream position of the next FPDU, kept when the peer sends markers
 * @stopped: what still arrives is dropped
 * @apart: segments of the socket buffer at hand are handled one by one
 * @held: an FPDU could not be handled yet; nothing behind it is looked at
 * @waiting: because no receive work request is posted
 * @wait_expired: for too long
 * @waiter: in soft_rq.waiters, that queue's lock
 * @wait_timer: ends the wait
 * @untagged: what the next segment of each queue must say
 * @write_len: octets of the RDMA Write that arrived last, or is arriving, since
 *	the last message that consumed a receive
 * @in_write: it is incomplete
 * @imm_kept: the Send that is next has immediate data
 * @imm: that
 * @wqe: receive work request under way
 * @wqe_status: how it ends when the stream fails
 * @mem: where payload was placed last
 * @seq_read: stream octets taken from TCP, or from the peer on this host in its place
 * @push_waits: a peer on this host waits until all from TCP is taken
 * @pushing: it is in the receiver, and looks at what the segment asked for
 */
struct soft_rx {
	struct work_struct work;
	u8 *bounce;
	u32 bounce_len;
	u32 bounce_size;
	u32 bounce_want;
	u32 bounce_ready;
	u64 marked_pos;
	bool stopped;
	bool apart;
	bool held;
	bool waiting;
	bool wait_expired;
	struct list_head waiter;
	struct delayed_work wait_timer;
	struct soft_untagged_state untagged[SOFT_QNS];
	u32 write_len;
	bool in_write;
	bool imm_kept;
	__be32 imm;
	struct soft_rwqe wqe;
	enum ib_wc_status wqe_status;
	struct soft_mem_cache mem;
	u64 seq_read;
	bool push_waits;
	bool pushing;
};

/**
 * struct soft_read_in - an RDMA Read or an atomic operation of the peer
 * @is_atomic: which of them
 * @msn: the request's
 * @req: RDMA Read
 * @atomic: atomic operation
 */
struct soft_read_in {
	bool is_atomic;
	u32 msn;
	union {
		struct soft_read_req req;
		struct soft_atomic_req atomic;
	};
};

/**
 * struct soft_read_out - an RDMA Read or an atomic operation of ours that waits for
 * its response
 * @slot: send queue slot, SOFT_NO_SLOT for the RTR frame
 * @last: the work request is over with it
 * @is_atomic: which of them
 * @msn: of the request
 * @id: of an atomic operation
 * @stag: where the answer goes
 * @to: tagged offset there
 * @len: octets
 * @got: of them, placed
 */
struct soft_read_out {
	u32 slot;
	bool last;
	bool is_atomic;
	u32 msn;
	u32 id;
	u32 stag;
	u64 to;
	u32 len;
	u32 got;
};

#define SOFT_NO_SLOT	U32_MAX

/**
 * struct soft_qp - queue pair
 * @rnic: the RNIC
 * @serial: no other QP has or had it; memory windows of type 2 are bound by it
 * @access: remote rights that the consumer gave the QP
 * @sig_all: every send work request completes visibly
 * @max_inline: octets
 * @sq: send queue
 * @own_rq: receive queue, empty when there is a shared one
 * @rq: the receive queue in use
 * @llp: the stream; changes under tx.mutex and the socket's lock together
 * @direct: whether its other end is here, too
 * @mpa: how the stream was agreed
 * @saved: the socket's own callbacks
 * @lock: protects the fields up to @term
 * @state: see above
 * @peer_done: the peer has ended its half: what was begun is finished, no more is begun;
 *	under tx.mutex
 * @peer_ready: an FPDU of the peer has arrived, or this side is the initiator
 * @in: ring of RDMA Reads and atomic operations to answer, ird entries
 * @in_head: oldest
 * @in_count: number
 * @out: ring of RDMA Reads and atomic operations that wait, ord entries
 * @out_head: oldest
 * @out_count: number
 * @tx_waits: the transmitter waits for answers to them
 * @tx_waits_for: until no more than so many are to come
 * @term_pending: @term is to be sent
 * @term: why the stream ends; the first reason counts
 * @status: what the consumer of the endpoint is told
 * @sent: counts, all streams; under tx.mutex
 * @received: counts, all streams; the receiver's
 * @retransmissions: of streams that are over
 * @todo: SOFT_TODO_*, atomic bits
 * @ctl_work: does them
 * @close_timer: ends a close that takes too long
 */
struct soft_qp {
	struct ri_qp ri;
	struct soft_rnic *rnic;
	u64 serial;
	int access;
	bool sig_all;
	u32 max_inline;
	struct soft_sq sq;
	struct soft_rq own_rq;
	struct soft_rq *rq;

	struct soft_tx tx;
	struct soft_rx rx;
	struct ri_llp *llp;
	struct soft_direct direct;
	struct ri_mpa_params mpa;
	struct {
		void (*data_ready)(struct sock *sk);
		void (*state_change)(struct sock *sk);
		void (*write_space)(struct sock *sk);
		void *user_data;
	} saved;

	spinlock_t lock;
	enum soft_qp_state state;
	bool peer_done;
	bool peer_ready;
	struct soft_read_in *in;
	u32 in_head;
	u32 in_count;
	struct soft_read_out *out;
	u32 out_head;
	u32 out_count;
	bool tx_waits;
	u32 tx_waits_for;
	bool term_pending;
	struct soft_term term;
	int status;

	struct ri_traffic sent;
	struct ri_traffic received;
	u64 retransmissions;

	unsigned long todo;
	struct work_struct ctl_work;
	struct delayed_work close_timer;
};

static inline struct soft_qp *to_soft_qp(struct ri_qp *ri)
{
	return container_of(ri, struct soft_qp, ri);
}

/* A work request is fetched of which nothing was sent. */
static inline bool soft_tx_wr_waits(const struct soft_tx *tx)
{
	return tx->wr_fetched && !tx->read_sge && !tx->read_off;
}

static inline struct soft_cq *soft_send_cq(struct soft_qp *qp)
{
	return to_soft_cq(qp->ri.send_cq);
}

static inline struct soft_cq *soft_recv_cq(struct soft_qp *qp)
{
	return to_soft_cq(qp->ri.recv_cq);
}

/* qp.c */
int soft_qp_create(struct ri_qp *ri, struct ri_qp_init_attr *attr,
		   struct ri_udata *udata);
int soft_qp_query(struct ri_qp *ri, struct ib_qp_attr *attr, int mask,
		  struct ri_qp_init_attr *init_attr);
int soft_qp_modify(struct ri_qp *ri, const struct ib_qp_attr *attr, int mask,
		   struct ri_llp *llp);
void soft_qp_destroy(struct ri_qp *ri);
int soft_qp_doorbell(struct ri_qp *ri);
void soft_qp_info(struct ri_qp *ri, struct ri_qp_info *info);
void soft_qp_event(struct soft_qp *qp, enum ib_event_type event);
void soft_qp_fail(struct soft_qp *qp, const struct soft_term *term,
		  bool send_term, int status);
void soft_qp_todo(struct soft_qp *qp, int what);
void soft_qp_flush(struct soft_qp *qp);

/* the peer's FIN or RST has arrived, or our own end was closed */
static inline bool soft_sk_closed(const struct sock *sk)
{
	return READ_ONCE(sk->sk_state) != TCP_ESTABLISHED;
}

/* an FPDU; its DDP header says whether the message ends */
static inline void soft_traffic_fpdu(struct ri_traffic *traffic, const u8 *ddp)
{
	traffic->fpdus++;
	if (ddp[0] & SOFT_DDP_LAST)
		traffic->messages++;
}

/* stream.c */
int soft_stream_attach(struct soft_qp *qp, struct ri_llp *llp);
void soft_stream_close(struct soft_qp *qp);
void soft_stream_end(struct soft_qp *qp, bool abort, int status);
bool soft_stream_fail(struct soft_qp *qp);
void soft_ctl_work(struct work_struct *work);
void soft_close_timer(struct work_struct *work);

/* tx.c */
void soft_tx_init(struct soft_tx *tx, struct soft_gather *gather);
void soft_tx_reset(struct soft_tx *tx);
bool soft_tx_owes(const struct soft_qp *qp);
void soft_tx_kick(struct soft_qp *qp);
void soft_tx_begin(struct soft_qp *qp);
void soft_tx_run_inline(struct soft_qp *qp, bool posted);
void soft_tx_work(struct work_struct *work);

/* poll.c */
bool soft_poll_begin(struct soft_qp *qp);
void soft_poll_work(struct work_struct *work);

/* rx.c */
void soft_rx_reset(struct soft_rx *rx);
void soft_rx_ready(struct soft_qp *qp, struct sock *sk);
void soft_rx_drain(struct soft_qp *qp);
void soft_rx_resume(struct soft_qp *qp);
void soft_rx_work(struct work_struct *work);

/* rxwait.c */
void soft_rx_wait_init(struct soft_rx *rx);
int soft_rx_claim(struct soft_qp *qp);
void __soft_rx_wait_end(struct soft_qp *qp);
void soft_rx_wait_timer(struct work_struct *work);

/**
 * soft_rx_wait_end() - the QP waits no longer, if it did
 * @qp: queue pair
 * Context: the receiver, or with the receiver stopped.
 */
static inline void soft_rx_wait_end(struct soft_qp *qp)
{
	if (qp->rx.waiting)
		__soft_rx_wait_end(qp);
}

#endif /* SOFT_QP_H */
