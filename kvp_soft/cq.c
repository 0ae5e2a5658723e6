// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Completion queues of the soft RNIC.
 *
 * The kernel produces under the queue's lock. A user consumes by itself, from
 * the ring that it maps; a kernel consumer through soft_cq_poll(). Entries are
 * added one by one and the consumer is woken once for a batch of them, when it
 * armed the queue.
 */
#include <linux/log2.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "cq.h"
#include "device.h"

/* The consumer's index; a user's may be anything. */
static u32 soft_cq_cons(const struct soft_cq *cq)
{
	return cq->ri.uctx ? READ_ONCE(cq->head->cons) : cq->cons;
}

static void soft_cq_overflow(struct soft_cq *cq)
{
	struct ri_async_event event = {
		.type = RI_OBJ_CQ,
		.id = cq->ri.obj.id,
		.event = IB_EVENT_CQ_ERR,
	};

	soft_count(to_soft_rnic(cq->ri.obj.rnic), SOFT_CNT_CQ_OVERFLOW);
	ri_async_event(cq->ri.obj.rnic, &event);
}

/**
 * soft_cq_add() - add a completion
 * @cq: queue; when it is full the completion is lost, the queue is dead and
 *	IB_EVENT_CQ_ERR says so, once
 * @cqe: what happened
 * @wc_qp: ib_wc.qp for a kernel consumer
 *
 * Call soft_cq_notify() after the last one of a batch. Context: any.
 */
void soft_cq_add(struct soft_cq *cq, const struct krdma_soft_cqe *cqe,
		 struct ib_qp *wc_qp)
{
	bool overflow = false;
	unsigned long flags;
	u32 slot;

	spin_lock_irqsave(&cq->lock, flags);
	if (cq->overflowed)
		goto out;
	if (cq->prod - soft_cq_cons(cq) >= cq->depth) {
		cq->overflowed = true;
		overflow = true;
		goto out;
	}
	slot = cq->prod & (cq->depth - 1);
	cq->entries[slot] = *cqe;
	if (cq->wc_qps)
		cq->wc_qps[slot] = wc_qp;
	/* the entry before the index: pairs with the consumer's acquire */
	smp_store_release(&cq->head->prod, ++cq->prod);
out:
	spin_unlock_irqrestore(&cq->lock, flags);
	if (overflow)
		soft_cq_overflow(cq);
}

/**
 * soft_cq_notify() - wake the consumer if it asked for it
 * @cq: queue
 * @solicited: one of the completions added is solicited or an error
 * Context: any but hard interrupt.
 */
void soft_cq_notify(struct soft_cq *cq, bool solicited)
{
	u32 arm;

	smp_mb(); /* entries before the arm word: pairs with req_notify */
	arm = READ_ONCE(cq->head->arm);
	if (arm == KRDMA_SOFT_CQ_ARM_NONE ||
	    (arm == KRDMA_SOFT_CQ_ARM_SOLICITED && !solicited))
		return;
	if (xchg(&cq->head->arm, KRDMA_SOFT_CQ_ARM_NONE))
		ri_completion_event(&cq->ri);
}

static void soft_cq_free(struct soft_cq *cq)
{
	kvfree(cq->wc_qps);
	if (cq->shm)
		WRITE_ONCE(cq->head->flags, KRDMA_SOFT_RING_DEAD);
	ri_shmem_free(cq->shm);
}

/* ri_ops.cq_create */
int soft_cq_create(struct ri_cq *ri, struct ib_udata *udata)
{
	struct soft_cq *cq = to_soft_cq(ri);
	struct krdma_soft_cq_resp resp = {};
	size_t size;
	int ret;

	spin_lock_init(&cq->lock);
	cq->depth = roundup_pow_of_two(ri->depth);
	size = array_size(cq->depth, sizeof(*cq->entries));
	cq->shm = ri_shmem_alloc(ri->uctx, KRDMA_SOFT_RING_ENTRIES + size);
	if (IS_ERR(cq->shm)) {
		ret = PTR_ERR(cq->shm);
		cq->shm = NULL;
		return ret;
	}
	cq->head = cq->shm->addr;
	cq->entries = cq->shm->addr + KRDMA_SOFT_RING_ENTRIES;
	ri->depth = cq->depth;

	if (!ri->uctx) {
		cq->wc_qps = kvcalloc(cq->depth, sizeof(*cq->wc_qps),
				      GFP_KERNEL);
		if (!cq->wc_qps) {
			ret = -ENOMEM;
			goto err;
		}
		return 0;
	}
	resp.ring_offset = cq->shm->offset;
	resp.ring_size = cq->shm->size;
	resp.depth = cq->depth;
	resp.cq_id = ri->obj.id;
	if (udata->outlen < sizeof(resp)) {
		ret = -EINVAL;
		goto err;
	}
	ret = ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (ret)
		goto err;
	return 0;
err:
	soft_cq_free(cq);
	return ret;
}

/* ri_ops.cq_destroy: its QPs are gone */
void soft_cq_destroy(struct ri_cq *ri)
{
	soft_cq_free(to_soft_cq(ri));
}

static void soft_cqe_to_wc(const struct krdma_soft_cqe *cqe, struct ib_qp *qp,
			   struct ib_wc *wc)
{
	memset(wc, 0, sizeof(*wc));
	wc->wr_id = cqe->wr_id;
	wc->status = cqe->status;
	wc->opcode = cqe->opcode;
	wc->vendor_err = cqe->vendor_err;
	wc->byte_len = cqe->byte_len;
	wc->qp = qp;
	wc->port_num = 1;
	if (cqe->flags & KRDMA_SOFT_WC_IMM) {
		wc->wc_flags |= IB_WC_WITH_IMM;
		wc->ex.imm_data = cqe->imm;
	} else if (cqe->flags & KRDMA_SOFT_WC_INVALIDATED) {
		wc->wc_flags |= IB_WC_WITH_INVALIDATE;
		wc->ex.invalidate_rkey = cqe->invalidated;
	}
}

/* ri_ops.cq_poll: for kernel consumers; a user polls its ring */
int soft_cq_poll(struct ri_cq *ri, int num_entries, struct ib_wc *wc)
{
	struct soft_cq *cq = to_soft_cq(ri);
	unsigned long flags;
	int n = 0;
	u32 slot;

	if (ri->uctx)
		return -EINVAL;
	spin_lock_irqsave(&cq->lock, flags);
	while (n < num_entries && cq->cons != cq->prod) {
		slot = cq->cons++ & (cq->depth - 1);
		soft_cqe_to_wc(&cq->entries[slot], cq->wc_qps[slot], &wc[n++]);
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	return n;
}

/* ri_ops.cq_req_notify: for kernel consumers; a user arms in the ring */
int soft_cq_req_notify(struct ri_cq *ri, enum ib_cq_notify_flags flags)
{
	struct soft_cq *cq = to_soft_cq(ri);
	unsigned long irq;
	int missed = 0;

	if (ri->uctx)
		return -EINVAL;
	spin_lock_irqsave(&cq->lock, irq);
	if ((flags & IB_CQ_SOLICITED_MASK) == IB_CQ_NEXT_COMP)
		WRITE_ONCE(cq->head->arm, KRDMA_SOFT_CQ_ARM_NEXT);
	else if (READ_ONCE(cq->head->arm) != KRDMA_SOFT_CQ_ARM_NEXT)
		WRITE_ONCE(cq->head->arm, KRDMA_SOFT_CQ_ARM_SOLICITED);
	smp_mb(); /* arm before the index: pairs with soft_cq_notify() */
	if (flags & IB_CQ_REPORT_MISSED_EVENTS)
		missed = cq->prod != cq->cons;
	spin_unlock_irqrestore(&cq->lock, irq);
	return missed;
}
