/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Receive queues, of one QP or shared.
 */
#ifndef SOFT_RECVQ_H
#define SOFT_RECVQ_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <krdma/rnicpi.h>
#include "ring.h"

struct soft_mem_cache;
struct soft_parts;
struct soft_qp;

#define SOFT_RQE_SIZE                                                          \
	(sizeof(struct krdma_soft_rqe) +                                       \
	 KRDMA_SOFT_MAX_SGE * sizeof(struct krdma_soft_sge))

/**
 * struct soft_rq - receive queue of a QP, or a shared one
 * @ring: shared with the poster
 * @post_lock: orders kernel consumers that post
 * @lock: protects ring.fetched, @limit, @broken and @waiters; taken in softirq
 * @max_sge: most elements of an entry
 * @limit: raise IB_EVENT_SRQ_LIMIT_REACHED when fewer entries wait; 0 means never
 * @broken: the ring was invalid and is not read any more
 * @waiters: receivers that wait for an entry, struct soft_rq_waiter
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
 * struct soft_rq_waiter - a receiver that waits for an entry
 * @node: entry in soft_rq.waiters, under that queue's lock; empty when not waiting
 * @work: continues the receiver
 */
struct soft_rq_waiter {
	struct list_head node;
	struct work_struct work;
};

/**
 * struct soft_rwqe - checked copy of the receive work request in use
 * @active: a receive work request is in use
 * @wr_id: identifier of the consumer
 * @length: bytes of all elements
 * @num_sge: number of elements
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
 * @len: bytes received
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
 * @resize_lock: serializes resizes, and protects @next
 * @next: the new ring of a resize, not in use yet
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

/* recvq.c */
size_t soft_rq_size(u32 depth, u32 max_sge);
int soft_rq_init(struct soft_rq *rq, struct ri_ucontext *uctx, u32 depth,
		 u32 max_sge, const struct soft_ring *first);
void soft_rq_free(struct soft_rq *rq);
int soft_rq_fetch(struct soft_qp *qp, struct soft_rwqe *wqe);
void soft_rq_complete(struct soft_qp *qp, const struct soft_recv_done *done);
u32 soft_rq_fill(struct soft_qp *qp, struct soft_mem_cache *cache,
		 const struct soft_parts *from, u32 n, bool solicited);
bool soft_rq_flush(struct soft_qp *qp, u32 most);
int soft_rq_post(struct soft_rq *rq, const struct ib_recv_wr *wr,
		 const struct ib_recv_wr **bad_wr);

void __soft_rq_posted(struct soft_rq *rq);
void soft_rq_wait_end(struct soft_rq *rq, struct soft_rq_waiter *waiter);

/**
 * soft_rq_posted() - doorbell of a receive queue: start waiting receivers
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

#endif /* SOFT_RECVQ_H */
