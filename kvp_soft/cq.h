/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Completion queues: what the transmitter and the receiver put in, and how a
 * kernel consumer takes it out.
 */
#ifndef SOFT_CQ_H
#define SOFT_CQ_H

#include <linux/spinlock.h>
#include <krdma/rnicpi.h>
#include <krdma/soft-abi.h>

/**
 * struct soft_cq - completion queue
 * @lock: protects the next three fields and the order of entries
 * @prod: next entry to fill
 * @overflowed: an entry was lost; nothing is added any more
 * @cons: next entry that a kernel consumer takes; a user's stands in the ring
 * @shm: the memory of the ring
 * @head: indices and the arm word
 * @entries: the entries
 * @depth: entries, power of two
 * @wc_qps: ib_wc.qp of each entry, for a kernel consumer; else NULL
 */
struct soft_cq {
	struct ri_cq ri;
	spinlock_t lock;
	u32 prod;
	bool overflowed;
	u32 cons;
	struct ri_shmem *shm;
	struct krdma_soft_cq_ring *head;
	struct krdma_soft_cqe *entries;
	u32 depth;
	struct ib_qp **wc_qps;
};

static inline struct soft_cq *to_soft_cq(struct ri_cq *ri)
{
	return container_of(ri, struct soft_cq, ri);
}

void soft_cq_add(struct soft_cq *cq, const struct krdma_soft_cqe *cqe,
		 struct ib_qp *wc_qp);
void soft_cq_notify(struct soft_cq *cq, bool solicited);

int soft_cq_create(struct ri_cq *ri, struct ib_udata *udata);
void soft_cq_destroy(struct ri_cq *ri);
int soft_cq_poll(struct ri_cq *ri, int num_entries, struct ib_wc *wc);
int soft_cq_req_notify(struct ri_cq *ri, enum ib_cq_notify_flags flags);

#endif /* SOFT_CQ_H */
