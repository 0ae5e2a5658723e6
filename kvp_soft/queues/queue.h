/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Work queues: the send queue's life from posting to completion, and receive
 * queues, of one QP or shared.
 */
#ifndef SOFT_QUEUE_H
#define SOFT_QUEUE_H

#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <krdma/rnicpi.h>
#include "ring.h"

struct soft_msg;
struct soft_parts;
struct soft_qp;
struct soft_term_about;

#define SOFT_SQE_SIZE	(sizeof(struct krdma_soft_sqe) + KRDMA_SOFT_MAX_INLINE)
#define SOFT_RQE_SIZE                                                          \
	(sizeof(struct krdma_soft_rqe) +                                       \
	 KRDMA_SOFT_MAX_SGE * sizeof(struct krdma_soft_sge))

static_assert(KRDMA_SOFT_MAX_INLINE >=
	      KRDMA_SOFT_MAX_SGE * sizeof(struct krdma_soft_sge));

/* Carried out by the transmitter in its turn; nothing goes on the wire. */
static inline bool soft_op_is_local(u8 op)
{
	return op == KRDMA_SOFT_OP_LOCAL_INV || op == KRDMA_SOFT_OP_BIND_MW ||
	       op == KRDMA_SOFT_OP_REG_MR;
}

static inline bool soft_op_is_read(u8 op)
{
	return op == KRDMA_SOFT_OP_READ || op == KRDMA_SOFT_OP_READ_INV;
}

static inline bool soft_op_is_atomic(u8 op)
{
	return op == KRDMA_SOFT_OP_FETCH_ADD || op == KRDMA_SOFT_OP_CMP_SWAP;
}

/* It waits for data of the peer. */
static inline bool soft_op_is_answered(u8 op)
{
	return soft_op_is_read(op) || soft_op_is_atomic(op);
}

/**
 * struct soft_sq_rec - what the kernel remembers of a send work request
 * @wr_id: the consumer's
 * @end_seq: stream octets up to its last; U64_MAX until that is known
 * @raddr: of a Write
 * @byte_len: octets of the message
 * @key: of a Write its rkey, of a Send its message sequence number
 * @imm_msn: message sequence number of its immediate data
 * @op: enum krdma_soft_op
 * @flags: KRDMA_SOFT_WQE_*
 * @status: enum ib_wc_status it will complete with
 * @read_pending: an RDMA Read or an atomic operation whose response is not complete
 * @begun: the peer may have something of it; @raddr, @key and @imm_msn are valid
 * @invalidate: STag that ends with the response, or 0
 */
struct soft_sq_rec {
	u64 wr_id;
	u64 end_seq;
	u64 raddr;
	u32 byte_len;
	union {
		u32 invalidate;
		u32 key;
	};
	u32 imm_msn;
	u8 op;
	u8 flags;
	u8 status;
	bool read_pending;
	bool begun;
};

/**
 * struct soft_sq - send queue
 * @ring: shared with the poster; ring.fetched belongs to the transmitter, others see it
 *	by acquire and release
 * @post_lock: orders kernel consumers that post
 * @lock: protects @cons and @recs; taken in softirq
 * @cons: oldest work request that has not completed
 * @recs: one for each slot of the ring
 * @wqe: copy of the work request that is being sent; the transmitter's; after a run the
 *	first one's body and the last one's flags
 * @held: nothing new is begun (the verbs' SQD); changes under tx.mutex and @lock
 * @drained: and what was begun is over
 * @drain_event: which the consumer wants to hear
 */
struct soft_sq {
	struct soft_ring ring;
	spinlock_t post_lock;
	spinlock_t lock;
	u32 cons;
	struct soft_sq_rec *recs;
	struct krdma_soft_sqe *wqe;
	bool held;
	bool drained;
	bool drain_event;
};

/**
 * struct soft_rq - receive queue of a QP, or a shared one
 * @ring: shared with the poster
 * @post_lock: orders kernel consumers that post
 * @lock: protects ring.fetched, @limit, @broken and @waiters; taken in softirq
 * @max_sge: elements of an entry
 * @limit: raise IB_EVENT_SRQ_LIMIT_REACHED when fewer entries wait; 0 is never
 * @broken: the ring made no sense and is not read any more
 * @waiters: QPs whose receiver waits for an entry (rxwait.c)
 */
struct soft_rq {
	struct soft_ring ring;
	spinlock_t post_lock;
	spinlock_t lock;
	u32 max_sge;
	u32 limit;
	bool broken;
	struct list_head waiters;
};

/**
 * struct soft_rwqe - a receive work request in use, checked copy
 * @active: there is one
 * @wr_id: the consumer's
 * @length: octets of all elements
 * @num_sge: elements
 * @sge: elements
 */
struct soft_rwqe {
	bool active;
	u64 wr_id;
	u64 length;
	u32 num_sge;
	struct krdma_soft_sge sge[KRDMA_SOFT_MAX_SGE];
};

/**
 * struct soft_recv_done - how a receive work request ended
 * @status: enum ib_wc_status
 * @opcode: enum ib_wc_opcode
 * @flags: KRDMA_SOFT_WC_*
 * @solicited: the sender asked for an event
 * @len: octets received
 * @invalidated: STag, with KRDMA_SOFT_WC_INVALIDATED
 * @imm: immediate data, with KRDMA_SOFT_WC_IMM
 */
struct soft_recv_done {
	enum ib_wc_status status;
	enum ib_wc_opcode opcode;
	u8 flags;
	bool solicited;
	u32 len;
	union {
		u32 invalidated;
		__be32 imm;
	};
};

/**
 * struct soft_srq - shared receive queue
 * @rq: the queue
 * @resize_lock: one resize at a time, and @next
 * @next: the ring to change to, made and not used yet
 */
struct soft_srq {
	struct ri_srq ri;
	struct soft_rq rq;
	struct mutex resize_lock;
	struct soft_ring next;
};

static inline struct soft_srq *to_soft_srq(struct ri_srq *ri)
{
	return container_of(ri, struct soft_srq, ri);
}

static inline struct soft_sq_rec *soft_sq_rec(struct soft_sq *sq, u32 index)
{
	return &sq->recs[index & (sq->ring.depth - 1)];
}

/** soft_sq_encoded() - all octets of @slot are built, the last is @end_seq - 1 */
static inline void soft_sq_encoded(struct soft_sq *sq, u32 slot, u64 end_seq)
{
	WRITE_ONCE(soft_sq_rec(sq, slot)->end_seq, end_seq);
}

/* sendq.c */
int soft_sq_init(struct soft_sq *sq, struct ri_ucontext *uctx,
		 struct ib_qp_cap *cap, size_t room);
void soft_sq_free(struct soft_sq *sq);
int soft_sq_fetch(struct soft_qp *qp, u32 *slot);
void soft_sq_begun(struct soft_qp *qp, u32 slot);
void soft_sq_begun_msg(struct soft_qp *qp, const struct soft_msg *msg);
void soft_sq_fail(struct soft_qp *qp, u32 slot, enum ib_wc_status status);
bool soft_sq_read_inv(struct soft_qp *qp, u32 slot);
void soft_sq_read_done(struct soft_qp *qp, u32 slot);
bool soft_sq_fail_oldest(struct soft_qp *qp, enum ib_wc_status status);
bool soft_sq_fail_named(struct soft_qp *qp, const struct soft_term_about *about,
			enum ib_wc_status status);
void soft_sq_complete(struct soft_qp *qp);
void soft_sq_flush(struct soft_qp *qp);
void soft_sq_hold(struct soft_qp *qp, bool event);
bool soft_sq_resume(struct soft_qp *qp);
int soft_post_send(struct ri_qp *ri, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad_wr);

/* localop.c */
enum ib_wc_status soft_local_wr(struct soft_qp *qp,
				const struct krdma_soft_sqe *wqe);

/* recvq.c */
size_t soft_rq_size(u32 depth, u32 max_sge);
int soft_rq_init(struct soft_rq *rq, struct ri_ucontext *uctx, u32 depth,
		 u32 max_sge, const struct soft_ring *first);
void soft_rq_free(struct soft_rq *rq);
int soft_rq_fetch(struct soft_qp *qp, struct soft_rwqe *wqe);
void soft_rq_complete(struct soft_qp *qp, const struct soft_recv_done *done);
u32 soft_rq_fill(struct soft_qp *qp, const struct soft_parts *from, u32 n,
		 bool solicited);
void soft_rq_flush(struct soft_qp *qp);
int soft_post_recv(struct ri_qp *ri, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad_wr);
int soft_rq_post(struct soft_rq *rq, const struct ib_recv_wr *wr,
		 const struct ib_recv_wr **bad_wr);

void __soft_rq_posted(struct soft_rq *rq);

/**
 * soft_rq_posted() - the doorbell of a receive queue: start those who wait
 * @rq: queue
 * Context: any but hard interrupt.
 */
static inline void soft_rq_posted(struct soft_rq *rq)
{
	if (!list_empty_careful(&rq->waiters))
		__soft_rq_posted(rq);
}

/* srq.c */
int soft_srq_create(struct ri_srq *ri, struct ri_srq_init_attr *attr,
		    struct ri_udata *udata);
int soft_srq_modify(struct ri_srq *ri, const struct ib_srq_attr *attr,
		    enum ib_srq_attr_mask mask, struct ri_udata *udata);
int soft_srq_query(struct ri_srq *ri, struct ib_srq_attr *attr);
void soft_srq_destroy(struct ri_srq *ri);
int soft_post_srq_recv(struct ri_srq *ri, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad_wr);

#endif /* SOFT_QUEUE_H */
