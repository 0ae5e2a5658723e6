// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Shared receive queues: the verbs. Fetch and completion are the same as for any receive queue
 * (recvq.c).
 */
#include <linux/cleanup.h>
#include <linux/log2.h>
#include <linux/uaccess.h>

#include "recvq.h"

static_assert(sizeof(struct krdma_soft_modify_srq_req) == 16);

/* entries that are moved with one hold of the locks: interrupts are off meanwhile */
#define SOFT_SRQ_BATCH	64

/* Give the user library the data to map a ring. */
static void soft_srq_resp(const struct soft_srq *srq,
			  const struct soft_ring *ring,
			  struct krdma_soft_srq_resp *resp)
{
	*resp = (struct krdma_soft_srq_resp){
		.ring_offset = ring->shm->offset,
		.ring_size = ring->shm->size,
		.depth = ring->depth,
		.stride = ring->stride,
		.srq_id = srq->ri.obj.id,
	};
}

/* ri_ops.srq_create */
int soft_srq_create(struct ri_srq *ri, struct ri_srq_init_attr *attr,
		    struct ri_udata *udata)
{
	struct soft_srq *srq = to_soft_srq(ri);
	struct krdma_soft_srq_resp resp;
	int ret;

	ret = soft_rq_init(&srq->rq, ri->pd->uctx, attr->attr.max_wr,
			   attr->attr.max_sge, NULL);
	if (ret)
		return ret;
	mutex_init(&srq->resize_lock);
	srq->rq.limit = attr->attr.srq_limit;
	attr->attr.max_wr = srq->rq.ring.depth;
	attr->attr.max_sge = srq->rq.max_sge;
	if (!ri->pd->uctx)
		return 0;

	soft_srq_resp(srq, &srq->rq.ring, &resp);
	if (udata->out_len < sizeof(resp)) {
		soft_rq_free(&srq->rq);
		return -EINVAL;
	}
	ri_udata_answer(udata, &resp, sizeof(resp));
	return 0;
}

/* ri_ops.srq_destroy: the QPs of the SRQ were destroyed */
void soft_srq_destroy(struct ri_srq *ri)
{
	struct soft_srq *srq = to_soft_srq(ri);

	soft_rq_free(&srq->rq);
	soft_ring_free(&srq->next);
	mutex_destroy(&srq->resize_lock);
}

/*
 * ri_ops.post_srq_recv: for kernel consumers, any context but hard interrupt. An empty list is
 * the doorbell of a user, which has written to the ring.
 */
int soft_post_srq_recv(struct ri_srq *ri, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad_wr)
{
	struct soft_rq *rq = &to_soft_srq(ri)->rq;
	int ret = 0;

	if (ri->pd->uctx && wr) {
		*bad_wr = wr;
		return -EINVAL;
	}
	if (wr)
		ret = soft_rq_post(rq, wr, bad_wr);
	smp_mb(); /* write entries before reading waiters: pairs with soft_ring_want_doorbell() */
	soft_rq_posted(rq);
	return ret;
}

/* A new size **************************************************************** */

static int soft_srq_prepare(struct soft_srq *srq, u32 depth)
{
	struct soft_rq *rq = &srq->rq;
	int n;

	spin_lock_bh(&rq->lock);
	n = soft_ring_pending(&rq->ring);
	spin_unlock_bh(&rq->lock);
	if (n < 0 || n > roundup_pow_of_two(depth))
		return -EINVAL;
	soft_ring_free(&srq->next);
	return soft_ring_init(&srq->next, srq->ri.pd->uctx, depth,
			      rq->ring.stride, 0);
}

/*
 * With both locks held: copy some posted entries to the ring @to. It already has the entries up
 * to @end. When it has all entries, it becomes the ring in use, with the indices.
 * Return: 0 when @to is in use; -EAGAIN when there are more entries; -EINVAL when they do not
 * fit.
 */
static int soft_srq_move_some(struct soft_rq *rq, struct soft_ring *to, u32 *end)
{
	const u32 fetched = rq->ring.fetched;
	const int n = soft_ring_pending(&rq->ring);
	u32 copied;

	if (n < 0 || n > to->depth)
		return -EINVAL;
	/* receivers fetch meanwhile, and a user's index may even go back */
	if ((s32)(*end - fetched) < 0)
		*end = fetched;
	else if (*end - fetched > n)
		*end = fetched + n;
	for (copied = 0; copied < SOFT_SRQ_BATCH && *end != fetched + n; copied++) {
		memcpy(soft_ring_entry(to, *end), soft_ring_entry(&rq->ring, *end),
		       to->stride);
		(*end)++;
	}
	if (*end != fetched + n)
		return -EAGAIN;
	to->fetched = fetched;
	to->posted = *end;
	soft_ring_publish(to);
	soft_ring_release(to, to->fetched);
	/* a receiver may wait for the doorbell */
	WRITE_ONCE(to->head->flags, READ_ONCE(rq->ring.head->flags));
	swap(rq->ring, *to);
	return 0;
}

static int soft_srq_move(struct soft_rq *rq, struct soft_ring *to)
{
	/* a limit, since a user's index that jumps would keep the loop running forever */
	u32 steps = 4 * (rq->ring.depth / SOFT_SRQ_BATCH + 1);
	u32 end = READ_ONCE(rq->ring.fetched);
	unsigned long flags;
	int ret;

	do {
		cond_resched();
		spin_lock_irqsave(&rq->post_lock, flags);
		spin_lock(&rq->lock);
		ret = soft_srq_move_some(rq, to, &end);
		spin_unlock(&rq->lock);
		spin_unlock_irqrestore(&rq->post_lock, flags);
	} while (ret == -EAGAIN && --steps);
	return ret;
}

static int soft_srq_switch(struct soft_srq *srq)
{
	struct soft_rq *rq = &srq->rq;
	int ret;

	if (!srq->next.shm)
		return -EINVAL;
	ret = soft_srq_move(rq, &srq->next);
	soft_rq_posted(rq);
	/* the old ring, or on failure the new one */
	soft_ring_free(&srq->next);
	return ret;
}

/* The first step of a user's resize; the answer is stored at the library's @address. */
static int soft_srq_prepare_user(struct soft_srq *srq, u32 depth, u64 address,
				 struct ri_udata *udata)
{
	struct krdma_soft_srq_resp resp;
	int ret;

	ret = soft_srq_prepare(srq, depth);
	if (ret)
		return ret;
	soft_srq_resp(srq, &srq->next, &resp);
	udata->answer_to = u64_to_user_ptr(address);
	udata->out_len = sizeof(udata->out);
	ri_udata_answer(udata, &resp, sizeof(resp));
	return 0;
}

/* @done: set to false when only the first step of a user's resize was done */
static int soft_srq_resize(struct soft_srq *srq, u32 depth,
			   struct ri_udata *udata, bool *done)
{
	struct krdma_soft_modify_srq_req req;
	int ret;

	*done = true;
	if (!srq->ri.pd->uctx) {
		ret = soft_srq_prepare(srq, depth);
		return ret ?: soft_srq_switch(srq);
	}
	if (udata->in_len < sizeof(req))
		return -EINVAL;
	memcpy(&req, udata->in, sizeof(req));
	switch (req.step) {
	case KRDMA_SOFT_RESIZE_PREPARE:
		*done = false;
		return soft_srq_prepare_user(srq, depth, req.resp, udata);
	case KRDMA_SOFT_RESIZE_SWITCH:
		return soft_srq_switch(srq);
	default:
		return -EINVAL;
	}
}

/**
 * soft_srq_modify() - ri_ops.srq_modify: change the size or the limit
 * @ri: queue
 * @attr: new values
 * @mask: attributes to change
 * @udata: for a new size, struct krdma_soft_modify_srq_req; its first step checks everything
 *	and changes nothing
 *
 * On failure nothing has changed.
 * Context: may sleep.
 * Return: 0; -EINVAL when more entries are posted than fit, or when the limit is larger than
 * the queue; -ENOMEM; -EAGAIN when the poster's index keeps jumping.
 */
int soft_srq_modify(struct ri_srq *ri, const struct ib_srq_attr *attr,
		    enum ib_srq_attr_mask mask, struct ri_udata *udata)
{
	struct soft_srq *srq = to_soft_srq(ri);
	struct soft_rq *rq = &srq->rq;
	bool done = true;
	u32 depth;
	int ret;

	guard(mutex)(&srq->resize_lock);
	depth = rq->ring.depth;
	if (mask & IB_SRQ_MAX_WR)
		depth = roundup_pow_of_two(attr->max_wr);
	if ((mask & IB_SRQ_LIMIT ? attr->srq_limit : READ_ONCE(rq->limit)) > depth)
		return -EINVAL;
	if (mask & IB_SRQ_MAX_WR) {
		ret = soft_srq_resize(srq, attr->max_wr, udata, &done);
		if (ret || !done)
			return ret;
	}
	if (mask & IB_SRQ_LIMIT) {
		spin_lock_bh(&rq->lock);
		rq->limit = attr->srq_limit;
		spin_unlock_bh(&rq->lock);
	}
	return 0;
}

/* ri_ops.srq_query */
int soft_srq_query(struct ri_srq *ri, struct ib_srq_attr *attr)
{
	struct soft_srq *srq = to_soft_srq(ri);

	guard(mutex)(&srq->resize_lock);
	attr->max_wr = srq->rq.ring.depth;
	attr->max_sge = srq->rq.max_sge;
	attr->srq_limit = READ_ONCE(srq->rq.limit);
	return 0;
}
