/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Send queues: a work request from posting to completion.
 */
#ifndef SOFT_SENDQ_H
#define SOFT_SENDQ_H

#include <linux/spinlock.h>
#include <krdma/rnicpi.h>
#include "ring.h"

struct soft_qp;
struct soft_term_about;

#define SOFT_SQE_SIZE	(sizeof(struct krdma_soft_sqe) + KRDMA_SOFT_MAX_INLINE)
/* short messages that are handled with one memory access: softirqs are off meanwhile */
#define SOFT_RUN_MAX	64

static_assert(KRDMA_SOFT_MAX_INLINE >=
	      KRDMA_SOFT_MAX_SGE * sizeof(struct krdma_soft_sge));

/* The transmitter executes the operation in queue order and sends nothing. */
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

/* The operation waits for data from the peer. */
static inline bool soft_op_is_answered(u8 op)
{
	return soft_op_is_read(op) || soft_op_is_atomic(op);
}

/**
 * struct soft_sq_rec - kernel record of a send work request
 * @wr_id: identifier of the consumer
 * @end_seq: stream position behind its last byte; U64_MAX until that is known
 * @raddr: remote address of a Write
 * @byte_len: bytes of the message
 * @key: rkey of a Write, message sequence number of a Send
 * @imm_msn: message sequence number of the immediate data
 * @op: enum krdma_soft_op
 * @flags: KRDMA_SOFT_WQE_*
 * @status: enum ib_wc_status of the completion
 * @read_pending: an RDMA Read or an atomic operation whose response is not complete
 * @begun: the peer may have received a part; @raddr, @key and @imm_msn are valid
 * @invalidate: STag to invalidate after the response, or 0
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
 * @ring: shared with the poster; the transmitter writes ring.fetched with release, others
 *	read it with acquire
 * @post_lock: orders kernel consumers that post
 * @lock: protects @cons and @recs; taken in softirq
 * @cons: oldest work request that has not completed
 * @recs: one record for each slot of the ring
 * @wqe: copy of the work request that is being sent, used by the transmitter only; after a run:
 *	the body of the first and the flags of the last work request
 * @wr_fetched: @wqe is a work request that is not being sent yet; the transmitter only uses
 *	this and the next three members
 * @wr_slot: slot of that work request
 * @read_sge: of an RDMA Read: next element to request data for
 * @read_off: bytes requested for the elements before that
 * @seq_sent: stream bytes that TCP, or the peer on this host, has taken
 * @held: nothing new is begun (SQD of the verbs); changes under both the transmitter's mutex
 *	and @lock
 * @drained: @held, and all begun work requests are complete
 * @drain_event: report IB_EVENT_SQ_DRAINED when @drained becomes true
 */
struct soft_sq {
	struct soft_ring ring;
	spinlock_t post_lock;
	spinlock_t lock;
	u32 cons;
	struct soft_sq_rec *recs;
	struct krdma_soft_sqe *wqe;
	bool wr_fetched;
	u32 wr_slot;
	u32 read_sge;
	u32 read_off;
	u64 seq_sent;
	bool held;
	bool drained;
	bool drain_event;
};

/* A work request has been fetched, and no part of it has been sent. */
static inline bool soft_sq_wr_waits(const struct soft_sq *sq)
{
	return sq->wr_fetched && !sq->read_sge && !sq->read_off;
}

static inline struct soft_sq_rec *soft_sq_rec(struct soft_sq *sq, u32 index)
{
	return &sq->recs[index & (sq->ring.depth - 1)];
}

/** soft_sq_encoded() - record that @slot is built; its last byte is @end_seq - 1 */
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
void soft_sq_begun_msg(struct soft_qp *qp, u32 slot, u64 raddr, u32 key,
		       u32 imm_msn);
void soft_sq_fail(struct soft_qp *qp, u32 slot, enum ib_wc_status status);
enum soft_access soft_sq_read_inv(struct soft_qp *qp, u32 slot, bool may_sleep);
void soft_sq_read_done(struct soft_qp *qp, u32 slot);
bool soft_sq_blame(struct soft_qp *qp, const struct soft_term_about *about,
		   enum ib_wc_status status);
bool soft_sq_complete(struct soft_qp *qp);
void soft_sq_complete_all(struct soft_qp *qp);
bool soft_sq_flush(struct soft_qp *qp, u32 most);
void soft_sq_hold(struct soft_qp *qp, bool event);
bool soft_sq_resume(struct soft_qp *qp);

/* post.c */
int soft_sq_post(struct soft_qp *qp, const struct ib_send_wr *wr,
		 const struct ib_send_wr **bad_wr);

#endif /* SOFT_SENDQ_H */
