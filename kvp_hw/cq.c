// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Completion queues. The consumer polls the device's queue. While a queue pair is destroyed, this
 * module polls too (hw_cq_hold()): it keeps the completions of other queue pairs for the consumer,
 * who gets them first.
 */
#include <linux/cleanup.h>
#include <linux/slab.h>

#include "hw.h"

#define HW_POLL_BATCH	16	/* completions under the lock */

/**
 * struct hw_held - completions that the consumer has not polled
 * @node: entry in hw_cq.held
 * @first: next completion to hand out
 * @num: end of the completions in @wc
 * @wc: completions, in the form that the consumer gets
 * @qp: queue pair of each, which is compared only; NULL: that one has ended
 */
struct hw_held {
	struct list_head node;
	unsigned int first;
	unsigned int num;
	struct ib_wc wc[HW_POLL_BATCH];
	const struct hw_qp *qp[HW_POLL_BATCH];
};

/* Events ******************************************************************** */

static void hw_cq_completion_work(struct work_struct *work)
{
	ri_completion_event(&container_of(work, struct hw_cq, completion)->ri);
}

/* Called by the driver, also in hard interrupts. */
static void hw_cq_completion(struct ib_cq *ib, void *context)
{
	struct hw_cq *cq = context;

	queue_work(system_bh_wq, &cq->completion);
}

static void hw_cq_event(struct ib_event *event, void *context)
{
	struct hw_cq *cq = context;

	hw_events_raise(&cq->events, event->event);
}

/* Life ********************************************************************** */

int hw_cq_create(struct ri_cq *ri, struct ri_udata *udata)
{
	const struct ib_cq_init_attr attr = {
		.cqe = ri->depth,
		.comp_vector = ri->ceh,
	};
	struct hw_cq *cq = hw_cq(ri);

	spin_lock_init(&cq->lock);
	INIT_LIST_HEAD(&cq->held);
	INIT_WORK(&cq->completion, hw_cq_completion_work);
	hw_events_init(&cq->events, ri->obj.rnic, &ri->obj);
	cq->ib = ib_create_cq(hw_rnic(ri->obj.rnic)->ibdev, hw_cq_completion, hw_cq_event, cq,
			      &attr);
	if (IS_ERR(cq->ib))
		return PTR_ERR(cq->ib);
	ri->depth = cq->ib->cqe;
	return 0;
}

int hw_cq_resize(struct ri_cq *ri, u32 depth, struct ri_udata *udata)
{
	struct hw_cq *cq = hw_cq(ri);
	int ret;

	if (depth > INT_MAX)
		return -EINVAL;
	ret = ib_resize_cq(cq->ib, depth);
	if (!ret)
		ri->depth = cq->ib->cqe;
	return ret;
}

int hw_cq_modify(struct ri_cq *ri, u16 count, u16 period)
{
	return rdma_set_cq_moderation(hw_cq(ri)->ib, count, period);
}

void hw_cq_destroy(struct ri_cq *ri)
{
	struct hw_cq *cq = hw_cq(ri);
	struct hw_held *held, *next;

	ib_destroy_cq(cq->ib);
	cancel_work_sync(&cq->completion);
	hw_events_end(&cq->events);
	list_for_each_entry_safe(held, next, &cq->held, node)
		kfree(held);
}

/* Polling ******************************************************************* */

/*
 * Name the consumer's queue pair in a completion. Return: ours, or NULL if the completion is of a
 * queue pair that is gone, or is being destroyed. The CQ's lock is held.
 */
static const struct hw_qp *hw_cq_translate(struct hw_rnic *hw, struct ib_wc *wc)
{
	struct hw_qp_ref *ref;

	guard(rcu)();
	ref = rhashtable_lookup(&hw->qps, &wc->qp, hw_qp_params);
	if (!ref || !ref->qp)
		return NULL;
	/* while it ends, markers have the address of the queue pair as wr_id */
	if (atomic_read(&ref->qp->drained)) {
		if (wc->wr_id == (uintptr_t)ref->qp)
			atomic_inc(&ref->qp->drained);
		return NULL;
	}
	wc->qp = ref->qp->ri.wc_qp;
	return ref->qp;
}

/*
 * Poll the device once. @qps: takes their queue pairs, or NULL. Return: the number of completions
 * for the consumer in @wc, or an errno.
 */
static int hw_cq_take(struct hw_cq *cq, int num, struct ib_wc *wc, const struct hw_qp **qps,
		      bool *empty)
{
	struct hw_rnic *hw = hw_rnic(cq->ri.obj.rnic);
	const struct hw_qp *qp;
	int i, n, kept = 0;

	lockdep_assert_held(&cq->lock);
	n = ib_poll_cq(cq->ib, num, wc);
	*empty = n < num;
	for (i = 0; i < n; i++) {
		qp = hw_cq_translate(hw, &wc[i]);
		if (!qp)
			continue;
		if (kept != i)
			wc[kept] = wc[i];
		if (qps)
			qps[kept] = qp;
		kept++;
	}
	return n < 0 ? n : kept;
}

/* Hand out what was held. Return: the number of completions. */
static int hw_cq_take_held(struct hw_cq *cq, int num, struct ib_wc *wc)
{
	struct hw_held *held, *next;
	int n = 0;

	list_for_each_entry_safe(held, next, &cq->held, node) {
		for (; held->first < held->num && n < num; held->first++)
			if (held->qp[held->first])
				wc[n++] = held->wc[held->first];
		if (held->first < held->num)
			break;
		list_del(&held->node);
		kfree(held);
	}
	return n;
}

/**
 * hw_cq_forget() - drop what is held of a queue pair that ends
 * @cq: CQ
 * @qp: queue pair; no poll takes a completion of it any more
 */
void hw_cq_forget(struct hw_cq *cq, const struct hw_qp *qp)
{
	struct hw_held *held;
	unsigned int i;

	scoped_guard(spinlock_irqsave, &cq->lock) {
		list_for_each_entry(held, &cq->held, node)
			for (i = held->first; i < held->num; i++)
				if (held->qp[i] == qp)
					held->qp[i] = NULL;
	}
}

int hw_cq_poll(struct ri_cq *ri, int num_entries, struct ib_wc *wc)
{
	struct hw_cq *cq = hw_cq(ri);
	bool empty = false;
	int n = 0, done = 0;

	while (done < num_entries && !empty) {
		const int num = min(num_entries - done, HW_POLL_BATCH);

		scoped_guard(spinlock_irqsave, &cq->lock) {
			n = hw_cq_take_held(cq, num, wc + done);
			if (!n)
				n = hw_cq_take(cq, num, wc + done, NULL, &empty);
		}
		if (n < 0)
			break;
		done += n;
	}
	return done ?: min(n, 0);
}

int hw_cq_req_notify(struct ri_cq *ri, enum ib_cq_notify_flags flags)
{
	struct hw_cq *cq = hw_cq(ri);
	int ret;

	/* what is being held is in the device or in the list */
	scoped_guard(spinlock_irqsave, &cq->lock) {
		ret = ib_req_notify_cq(cq->ib, flags);
		if (!ret && flags & IB_CQ_REPORT_MISSED_EVENTS && !list_empty(&cq->held))
			ret = 1;
	}
	return ret;
}

/**
 * hw_cq_hold() - take all completions from the device, and hold those of live queue pairs
 * @cq: CQ
 *
 * Return: false if there is no memory to hold more. Context: may sleep.
 */
bool hw_cq_hold(struct hw_cq *cq)
{
	unsigned int left = cq->ri.depth / HW_POLL_BATCH + 1;
	bool empty = false;
	int n;

	while (!empty && left--) {
		struct hw_held *held = kzalloc(sizeof(*held), GFP_KERNEL_ACCOUNT);

		if (!held)
			return false;
		scoped_guard(spinlock_irqsave, &cq->lock) {
			n = hw_cq_take(cq, HW_POLL_BATCH, held->wc, held->qp, &empty);
			if (n > 0) {
				held->num = n;
				list_add_tail(&held->node, &cq->held);
				held = NULL;
			}
		}
		kfree(held);
		if (n < 0)
			break;
		cond_resched();
	}
	return true;
}
