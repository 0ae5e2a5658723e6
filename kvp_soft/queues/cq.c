// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Completion queues of the soft RNIC.
 *
 * The kernel produces under the queue's lock. A user consumes without the kernel, from the
 * mapped ring. A kernel consumer consumes with soft_cq_poll(). A consumer that has armed the
 * queue gets one event for a batch of entries (cq_event.c).
 */
#include <linux/cleanup.h>
#include <linux/log2.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/time_namespace.h>
#include <linux/timekeeping.h>

#include "cq.h"

static_assert(sizeof(struct krdma_soft_resize_cq_req) == 8);

/* entries that are moved with one hold of the lock: interrupts are off meanwhile */
#define SOFT_CQ_BATCH	256

/* The consumer's index; the index of a user may have any value. */
static u32 soft_cq_cons(const struct soft_cq *cq)
{
	return cq->ri.uctx ? READ_ONCE(cq->mem.head->cons) : cq->cons;
}

/* A process in a time namespace has its own monotonic clock. */
static s64 soft_cq_clock_offset(void)
{
	struct timespec64 offset = {};

	timens_add_monotonic(&offset);
	return timespec64_to_ns(&offset);
}

/* With the lock held, so timestamps are in the order of the completions. */
static void soft_cq_stamp(const struct soft_cq *cq, u32 slot)
{
	ktime_t now = ktime_get();

	cq->mem.stamps[slot] = (struct krdma_soft_cq_stamp){
		.monotonic = now + cq->clock_offset,
		.real = ktime_mono_to_real(now),
	};
}

/* With the lock held: number of free entries. */
static u32 soft_cq_room(const struct soft_cq *cq)
{
	u32 used = cq->prod - soft_cq_cons(cq);

	return used < cq->mem.depth ? cq->mem.depth - used : 0;
}

/**
 * soft_cq_add() - add completions
 * @cq: queue
 * @cqes: completions
 * @n: number of completions, at least 1
 * @wc_qp: ib_wc.qp for a kernel consumer
 * @tell: consumers to notify; with SOFT_CQ_TELL_LATER the caller calls soft_cq_notify() at the
 *	end of its batch
 *
 * When the queue is full, the rest of @cqes is lost, nothing is added any more, and
 * IB_EVENT_CQ_ERR is reported once.
 * Context: any with SOFT_CQ_TELL_LATER; otherwise any but hard interrupt, without locks of ours.
 * Return: false when a completion was lost; its QP cannot go on then.
 */
bool soft_cq_add(struct soft_cq *cq, const struct krdma_soft_cqe *cqes, u32 n,
		 struct ib_qp *wc_qp, enum soft_cq_tell tell)
{
	struct soft_cq_mem *mem = &cq->mem;
	bool lost = true;
	bool overflow = false;
	bool raise;
	unsigned long flags;
	u32 room, slot, i;

	spin_lock_irqsave(&cq->lock, flags);
	if (cq->overflowed)
		goto out;
	room = soft_cq_room(cq);
	lost = n > room;
	if (lost) {
		cq->overflowed = true;
		overflow = true;
		n = room;
	}
	for (i = 0; i < n; i++) {
		slot = (cq->prod + i) & (mem->depth - 1);
		mem->entries[slot] = cqes[i];
		if (mem->wc_qps)
			mem->wc_qps[slot] = wc_qp;
		if (mem->stamps)
			soft_cq_stamp(cq, slot);
	}
	cq->prod += n;
	/* write the entries before the index: pairs with the consumer's acquire */
	smp_store_release(&mem->head->prod, cq->prod);
out:
	raise = tell != SOFT_CQ_TELL_LATER &&
		soft_cq_event_wanted(cq, tell == SOFT_CQ_TELL_SOLICITED);
	spin_unlock_irqrestore(&cq->lock, flags);
	if (raise)
		soft_cq_raise(cq);
	if (overflow)
		soft_cq_broken(cq);
	return !lost;
}

/**
 * soft_cq_waiting() - are there completions that the consumer has not polled?
 * @cq: queue
 * Context: any.
 */
bool soft_cq_waiting(struct soft_cq *cq)
{
	unsigned long flags;
	bool ret;

	/* the lock prevents a change of the ring */
	spin_lock_irqsave(&cq->lock, flags);
	ret = cq->prod != soft_cq_cons(cq);
	spin_unlock_irqrestore(&cq->lock, flags);
	return ret;
}

/* The ring's memory ********************************************************* */

static void soft_cq_mem_free(struct soft_cq_mem *mem)
{
	kvfree(mem->wc_qps);
	if (mem->shm)
		/* after the last entry: pairs with the acquire of a user, which then polls again */
		smp_store_release(&mem->head->flags, KRDMA_SOFT_RING_DEAD);
	ri_shmem_free(mem->shm);
	*mem = (struct soft_cq_mem){};
}

static int soft_cq_mem_alloc(struct soft_cq_mem *mem, const struct ri_cq *ri,
			     u32 depth)
{
	struct ri_ucontext *uctx = ri->uctx;
	size_t entries, stamps = 0;

	*mem = (struct soft_cq_mem){ .depth = roundup_pow_of_two(depth) };
	entries = KRDMA_SOFT_RING_ENTRIES +
		  array_size(mem->depth, sizeof(*mem->entries));
	if (ri->timestamps)
		stamps = array_size(mem->depth, sizeof(*mem->stamps));
	mem->shm = ri_shmem_alloc(uctx, size_add(entries, stamps));
	if (IS_ERR(mem->shm)) {
		int ret = PTR_ERR(mem->shm);

		mem->shm = NULL;
		return ret;
	}
	mem->head = mem->shm->addr;
	mem->entries = mem->shm->addr + KRDMA_SOFT_RING_ENTRIES;
	if (stamps)
		mem->stamps = mem->shm->addr + entries;
	if (uctx)
		return 0;
	mem->wc_qps = kvcalloc(mem->depth, sizeof(*mem->wc_qps), GFP_KERNEL_ACCOUNT);
	if (!mem->wc_qps) {
		soft_cq_mem_free(mem);
		return -ENOMEM;
	}
	return 0;
}

/* Give the user library the data to map the ring. */
static int soft_cq_respond(struct soft_cq *cq, const struct soft_cq_mem *mem,
			   struct ri_udata *udata)
{
	struct krdma_soft_cq_resp resp = {
		.ring_offset = mem->shm->offset,
		.ring_size = mem->shm->size,
		.depth = mem->depth,
		.cq_id = cq->ri.obj.id,
	};

	if (mem->stamps)
		resp.stamp_offset = (void *)mem->stamps - mem->shm->addr;
	/* a library without timestamp support has a shorter structure */
	if (udata->out_len < offsetof(struct krdma_soft_cq_resp, stamp_offset))
		return -EINVAL;
	ri_udata_answer(udata, &resp, sizeof(resp));
	return 0;
}

/* ri_ops.cq_create */
int soft_cq_create(struct ri_cq *ri, struct ri_udata *udata)
{
	struct soft_cq *cq = to_soft_cq(ri);
	int ret;

	spin_lock_init(&cq->lock);
	mutex_init(&cq->walk_lock);
	mutex_init(&cq->resize_lock);
	soft_cq_event_init(cq);
	if (ri->timestamps)
		cq->clock_offset = soft_cq_clock_offset();
	ret = soft_cq_mem_alloc(&cq->mem, ri, ri->depth);
	if (ret)
		return ret;
	ri->depth = cq->mem.depth;
	if (!ri->uctx)
		return 0;
	ret = soft_cq_respond(cq, &cq->mem, udata);
	if (ret)
		soft_cq_mem_free(&cq->mem);
	return ret;
}

/* ri_ops.cq_destroy: the QPs of the CQ were destroyed */
void soft_cq_destroy(struct ri_cq *ri)
{
	struct soft_cq *cq = to_soft_cq(ri);

	soft_cq_event_exit(cq);
	soft_cq_mem_free(&cq->mem);
	soft_cq_mem_free(&cq->next);
	mutex_destroy(&cq->resize_lock);
	mutex_destroy(&cq->walk_lock);
}

/* A new size **************************************************************** */

/* @cons: the consumer's index, read once, since a user may change it at any time */
static bool soft_cq_fits(const struct soft_cq *cq, u32 cons, u32 depth)
{
	u32 waiting = cq->prod - cons;

	/* a user's index may be invalid */
	return waiting <= cq->mem.depth && waiting <= depth;
}

static int soft_cq_prepare(struct soft_cq *cq, u32 depth)
{
	unsigned long flags;
	bool fits;

	spin_lock_irqsave(&cq->lock, flags);
	fits = soft_cq_fits(cq, soft_cq_cons(cq), roundup_pow_of_two(depth));
	spin_unlock_irqrestore(&cq->lock, flags);
	if (!fits)
		return -EINVAL;
	soft_cq_mem_free(&cq->next);
	return soft_cq_mem_alloc(&cq->next, &cq->ri, depth);
}

static void soft_cq_copy_entry(const struct soft_cq_mem *from, struct soft_cq_mem *to,
			       u32 i)
{
	const u32 src = i & (from->depth - 1);
	const u32 dst = i & (to->depth - 1);

	to->entries[dst] = from->entries[src];
	if (to->wc_qps)
		to->wc_qps[dst] = from->wc_qps[src];
	if (to->stamps)
		to->stamps[dst] = from->stamps[src];
}

/*
 * With the lock held: copy some waiting entries to the ring @to. It already has the entries
 * from @begin up to @end. When it has all entries, it becomes the ring in use, with the indices
 * and the arm word.
 * Return: 0 when @to is in use; -EAGAIN when there are more entries; -EINVAL when they do not
 * fit.
 */
static int soft_cq_move_some(struct soft_cq *cq, struct soft_cq_mem *to, u32 *begin,
			     u32 *end)
{
	struct soft_cq_mem *from = &cq->mem;
	/* read once: a user may change it at any time */
	const u32 cons = soft_cq_cons(cq);
	u32 n;

	if (!soft_cq_fits(cq, cons, to->depth))
		return -EINVAL;
	/* a kernel consumer may poll meanwhile, and a user's index may have any value */
	if (cons - *begin > *end - *begin) {
		*begin = cons;
		*end = cons;
	}
	for (n = 0; n < SOFT_CQ_BATCH && *end != cq->prod; n++)
		soft_cq_copy_entry(from, to, (*end)++);
	if (*end != cq->prod)
		return -EAGAIN;
	to->head->cons = cons;
	to->head->prod = cq->prod;
	to->head->arm = xchg(&from->head->arm, KRDMA_SOFT_CQ_ARM_NONE);
	swap(*from, *to);
	cq->ri.depth = from->depth;
	return 0;
}

/* Completions may be added meanwhile, but fewer at a time than this function moves. */
static int soft_cq_move(struct soft_cq *cq)
{
	/* a limit, since a user's index that jumps would keep the loop running forever */
	u32 steps = 4 * (cq->mem.depth / SOFT_CQ_BATCH + 1);
	u32 begin = 0, end = 0;
	unsigned long flags;
	int ret;

	guard(mutex)(&cq->walk_lock);
	do {
		cond_resched();
		spin_lock_irqsave(&cq->lock, flags);
		ret = soft_cq_move_some(cq, &cq->next, &begin, &end);
		spin_unlock_irqrestore(&cq->lock, flags);
	} while (ret == -EAGAIN && --steps);
	return ret;
}

static int soft_cq_switch(struct soft_cq *cq)
{
	int ret;

	if (!cq->next.shm)
		return -EINVAL;
	ret = soft_cq_move(cq);
	/* the old ring, or on failure the new one */
	soft_cq_mem_free(&cq->next);
	return ret;
}

/**
 * soft_cq_resize() - ri_ops.cq_resize
 * @ri: queue
 * @depth: entries wanted
 * @udata: step to do, struct krdma_soft_resize_cq_req; for a kernel consumer both steps are
 *	done at once
 *
 * On failure the queue is unchanged.
 * Context: may sleep.
 * Return: 0; -EINVAL when more completions wait than fit; -ENOMEM; -EAGAIN when the consumer's
 * index keeps jumping.
 */
int soft_cq_resize(struct ri_cq *ri, u32 depth, struct ri_udata *udata)
{
	struct soft_cq *cq = to_soft_cq(ri);
	struct krdma_soft_resize_cq_req req;
	int ret;

	guard(mutex)(&cq->resize_lock);
	if (!ri->uctx) {
		ret = soft_cq_prepare(cq, depth);
		return ret ?: soft_cq_switch(cq);
	}
	if (udata->in_len < sizeof(req))
		return -EINVAL;
	memcpy(&req, udata->in, sizeof(req));
	switch (req.step) {
	case KRDMA_SOFT_RESIZE_PREPARE:
		ret = soft_cq_prepare(cq, depth);
		return ret ?: soft_cq_respond(cq, &cq->next, udata);
	case KRDMA_SOFT_RESIZE_SWITCH:
		return soft_cq_switch(cq);
	default:
		return -EINVAL;
	}
}

/* Kernel consumers ********************************************************** */

static void soft_cq_cqe_to_wc(const struct krdma_soft_cqe *cqe, struct ib_qp *qp,
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

/* ri_ops.cq_poll: for kernel consumers only; a user polls its ring */
int soft_cq_poll(struct ri_cq *ri, int num_entries, struct ib_wc *wc)
{
	struct soft_cq *cq = to_soft_cq(ri);
	struct soft_cq_mem *mem = &cq->mem;
	unsigned long flags;
	int n = 0;
	u32 slot;

	if (ri->uctx)
		return -EINVAL;
	spin_lock_irqsave(&cq->lock, flags);
	while (n < num_entries && cq->cons != cq->prod) {
		slot = cq->cons++ & (mem->depth - 1);
		soft_cq_cqe_to_wc(&mem->entries[slot], mem->wc_qps[slot], &wc[n++]);
		if (unlikely(cq->cons == cq->hole))
			cq->cons = cq->hole_end;
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	return n;
}

/*
 * With the lock held: purge some entries, from the newest to the oldest, so that the remaining
 * entries keep their order. The dropped entries form a hole between the checked and the
 * unchecked entries. The consumer may reach the hole at any time.
 * Return: false when all entries have been checked.
 */
static bool soft_cq_purge_some(struct soft_cq *cq, u32 qp_num)
{
	struct soft_cq_mem *mem = &cq->mem;
	const u32 mask = mem->depth - 1;
	u32 left = cq->hole - cq->cons;
	u32 n;

	/* the consumer has taken all entries before the hole, and so has passed it */
	if (left > cq->prod - cq->cons)
		left = 0;
	for (n = min(left, SOFT_CQ_BATCH); n; n--, left--) {
		cq->hole--;
		if (mem->entries[cq->hole & mask].qp_num == qp_num)
			continue;
		cq->hole_end--;
		mem->entries[cq->hole_end & mask] = mem->entries[cq->hole & mask];
		mem->wc_qps[cq->hole_end & mask] = mem->wc_qps[cq->hole & mask];
	}
	if (left)
		return true;
	if (cq->cons == cq->hole)
		cq->cons = cq->hole_end;
	cq->hole = cq->hole_end;
	return false;
}

/**
 * soft_cq_purge() - drop the completions of a QP that is reset or destroyed
 * @cq: queue; nothing is done for a user's queue, since the library purges its ring itself
 * @qp_num: the QP, which adds no more completions
 *
 * Other QPs may add completions and the consumer may poll meanwhile. Context: may sleep.
 */
void soft_cq_purge(struct soft_cq *cq, u32 qp_num)
{
	unsigned long flags;

	if (cq->ri.uctx)
		return;
	guard(mutex)(&cq->walk_lock);
	spin_lock_irqsave(&cq->lock, flags);
	cq->hole = cq->prod;
	cq->hole_end = cq->prod;
	while (soft_cq_purge_some(cq, qp_num)) {
		spin_unlock_irqrestore(&cq->lock, flags);
		cond_resched();
		spin_lock_irqsave(&cq->lock, flags);
	}
	spin_unlock_irqrestore(&cq->lock, flags);
}
