// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Completion queues. The consumer polls the device's queue. While a queue pair is destroyed, this
 * module polls too (hw_cq_hold()): it keeps the completions of other queue pairs. The consumer gets
 * these first.
 */
#include <linux/cleanup.h>
#include <linux/slab.h>
#include <krdma/compat_verbs.h>

#include "hw.h"

#define HW_POLL_BATCH	16	/* completions under the lock */

/**
 * struct hw_held - completions that the consumer has not polled
 * @node: entry in hw_cq.held
 * @first: next completion to hand out
 * @num: end of the completions in @wc
 * @wc: completions, in the form that the consumer gets
 * @ref: queue pair of each, with a reference
 */
struct hw_held {
	struct list_head node;
	unsigned int first;
	unsigned int num;
	struct ib_wc wc[HW_POLL_BATCH];
	struct hw_qp_ref *ref[HW_POLL_BATCH];
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
		.cqe = ri->depth + HW_CQ_MARKERS,
		.comp_vector = ri->ceh,
	};
	struct hw_cq *cq = hw_cq(ri);
	int ret = 0;

	spin_lock_init(&cq->lock);
	INIT_LIST_HEAD(&cq->held);
	INIT_LIST_HEAD(&cq->reserve);
	INIT_WORK(&cq->completion, hw_cq_completion_work);
	hw_events_init(&cq->events, ri->obj.rnic, &ri->obj);
	if (ri->slow)
		ret = hw_reserve(&cq->reserve, hw_reserve_of_cq(attr.cqe));
	if (ret)
		return ret;
	cq->ib = ib_create_cq(hw_rnic(ri->obj.rnic)->ibdev, hw_cq_completion, hw_cq_event, cq,
			      &attr);
	if (IS_ERR(cq->ib)) {
		hw_reserve_release(&cq->reserve);
		return PTR_ERR(cq->ib);
	}
	mutex_init(&cq->drain);
	ri->depth = cq->ib->cqe - HW_CQ_MARKERS;
	return 0;
}

int hw_cq_resize(struct ri_cq *ri, u32 depth, struct ri_udata *udata)
{
	struct hw_cq *cq = hw_cq(ri);
	LIST_HEAD(reserve);
	LIST_HEAD(unused);
	int ret = 0;

	if (ri->slow)
		ret = hw_reserve(&reserve, hw_reserve_of_cq(depth + HW_CQ_MARKERS));
	if (ret)
		return ret;
	scoped_guard(mutex, &cq->drain) {
		ret = ib_resize_cq(cq->ib, depth + HW_CQ_MARKERS);
		if (!ret) {
			ri->depth = cq->ib->cqe - HW_CQ_MARKERS;
			list_splice_init(&cq->reserve, &unused);
			list_splice_init(&reserve, &cq->reserve);
		}
	}
	hw_reserve_release(&reserve);
	hw_reserve_release(&unused);
	return ret;
}

/**
 * hw_cq_probe_resize() - does the device give a CQ of the kernel a new size?
 * @ibdev: device
 *
 * Some drivers have the operation, but for user libraries or for some models only.
 *
 * Context: may sleep.
 */
bool hw_cq_probe_resize(struct ib_device *ibdev)
{
	const struct ib_cq_init_attr attr = { .cqe = 8 };
	struct ib_cq *cq;
	int ret;

	cq = ib_create_cq(ibdev, NULL, NULL, NULL, &attr);
	if (IS_ERR(cq))
		return false;
	ret = ib_resize_cq(cq, 2 * attr.cqe);
	ib_destroy_cq(cq);
	return !ret;
}

int hw_cq_modify(struct ri_cq *ri, u16 count, u16 period)
{
	return rdma_set_cq_moderation(hw_cq(ri)->ib, count, period);
}

/* The completions of @held that are left belong to nobody. Context: any. */
static void hw_held_free(struct hw_held *held)
{
	for (; held->first < held->num; held->first++)
		hw_qp_ref_put(held->ref[held->first]);
	kfree(held);
}

void hw_cq_destroy(struct ri_cq *ri)
{
	struct hw_cq *cq = hw_cq(ri);
	struct hw_held *held, *next;

	ib_destroy_cq(cq->ib);
	cancel_work_sync(&cq->completion);
	hw_events_end(&cq->events);
	list_for_each_entry_safe(held, next, &cq->held, node) {
		hw_held_free(held);
		cond_resched();
	}
	mutex_destroy(&cq->drain);
	hw_reserve_release(&cq->reserve);
}

/* Polling ******************************************************************* */

/*
 * Name the consumer's queue pair in a completion. Return: ours, or NULL if the completion is of a
 * queue pair that was destroyed, or is being destroyed. The CQ's lock is held.
 */
static struct hw_qp_ref *hw_cq_translate(const struct hw_cq *cq, struct ib_wc *wc)
{
	struct hw_rnic *hw = hw_rnic(cq->ri.obj.rnic);
	struct hw_qp_ref *ref;

	guard(rcu)();
	ref = rhashtable_lookup(&hw->qps, &wc->qp, hw_qp_params);
	if (!ref || (ref->send_cq != cq && ref->recv_cq != cq) || !ref->qp)
		return NULL;
	/* while it is drained, markers have the address of the queue pair as wr_id */
	if (atomic_read(&ref->qp->drained)) {
		if (wc->wr_id == (uintptr_t)ref->qp)
			atomic_inc(&ref->qp->drained);
		return NULL;
	}
	wc->qp = ref->qp->ri.wc_qp;
	return ref;
}

/*
 * Poll the device once. @refs: takes references to their queue pairs, or NULL. Return: the number
 * of completions for the consumer in @wc, or an errno.
 */
static int hw_cq_take(struct hw_cq *cq, int num, struct ib_wc *wc, struct hw_qp_ref **refs,
		      bool *empty)
{
	struct hw_qp_ref *ref;
	int i, n, kept = 0;

	lockdep_assert_held(&cq->lock);
	n = ib_poll_cq(cq->ib, num, wc);
	*empty = n < num;
	for (i = 0; i < n; i++) {
		ref = hw_cq_translate(cq, &wc[i]);
		if (!ref)
			continue;
		if (kept != i)
			wc[kept] = wc[i];
		if (refs) {
			/* the lock keeps the reference of the table */
			kref_get(&ref->kref);
			refs[kept] = ref;
		}
		kept++;
	}
	return n < 0 ? n : kept;
}

/*
 * Hand out the first of what was held, up to @num completions. Those of queue pairs that have ended
 * meanwhile are dropped. Return: the number of completions.
 */
static int hw_held_take(struct hw_cq *cq, struct hw_held *held, int num, struct ib_wc *wc)
{
	struct hw_qp_ref *ref;
	int n = 0;

	lockdep_assert_held(&cq->lock);
	for (; held->first < held->num && n < num; held->first++, cq->num_held--) {
		ref = held->ref[held->first];
		if (ref->qp)
			wc[n++] = held->wc[held->first];
		hw_qp_ref_put(ref);
	}
	if (held->first == held->num) {
		list_del(&held->node);
		kfree(held);
	}
	return n;
}

/* At most a batch, with interrupts off. Return: the number of completions, or an errno. */
static int hw_cq_poll_batch(struct hw_cq *cq, int num, struct ib_wc *wc, bool *empty)
{
	struct hw_held *held;
	int ret = 0;

	num = min(num, HW_POLL_BATCH);
	scoped_guard(spinlock_irqsave, &cq->lock) {
		held = list_first_entry_or_null(&cq->held, struct hw_held, node);
		ret = held ? hw_held_take(cq, held, num, wc) :
			     hw_cq_take(cq, num, wc, NULL, empty);
	}
	return ret;
}

/*
 * Completions of queue pairs that have ended are passed over, but not more of them than the CQ has
 * entries; what is behind them is reported as missed when the CQ is armed.
 */
int hw_cq_poll(struct ri_cq *ri, int num_entries, struct ib_wc *wc)
{
	unsigned int fruitless = ri->depth / HW_POLL_BATCH + 1;
	struct hw_cq *cq = hw_cq(ri);
	bool empty = false;
	int n, done = 0;

	while (done < num_entries && !empty) {
		n = hw_cq_poll_batch(cq, num_entries - done, wc + done, &empty);
		if (n < 0)
			return done ?: n;
		if (!n && !--fruitless)
			break;
		done += n;
	}
	return done;
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

/* Room for more completions at the end of what is held: in its last batch, or in @more. */
static struct hw_held *hw_held_room(struct hw_cq *cq, struct hw_held *more)
{
	struct hw_held *last;

	if (!list_empty(&cq->held)) {
		last = list_last_entry(&cq->held, struct hw_held, node);
		if (last->num < HW_POLL_BATCH)
			return last;
	}
	return more;
}

/*
 * Take a batch from the device. @more: room, which is taken over or freed. Return: the number of
 * completions, an errno, or -ENOSPC: as many are held as the CQ has entries.
 */
static int hw_cq_hold_batch(struct hw_cq *cq, struct hw_held *more, bool *empty)
{
	struct hw_held *to;
	int n = -ENOSPC;
	u32 num;

	scoped_guard(spinlock_irqsave, &cq->lock) {
		/* a CQ may have been made shorter */
		if (cq->num_held >= cq->ri.depth)
			break;
		to = hw_held_room(cq, more);
		num = min(HW_POLL_BATCH - to->num, cq->ri.depth - cq->num_held);
		n = hw_cq_take(cq, num, to->wc + to->num, to->ref + to->num, empty);
		if (n <= 0)
			break;
		to->num += n;
		cq->num_held += n;
		if (to == more) {
			list_add_tail(&more->node, &cq->held);
			more = NULL;
		}
	}
	kfree(more);
	return n;
}

/**
 * hw_cq_hold() - take all completions from the device, and hold those of live queue pairs
 * @cq: CQ
 *
 * No more are held than the CQ has entries: a consumer that posts more than that, and does not
 * poll, is to lose completions in the device, as ever, and not to fill the kernel's memory.
 *
 * Return: false if there is no room to hold more. Context: may sleep.
 */
bool hw_cq_hold(struct hw_cq *cq)
{
	unsigned int left = cq->ri.depth / HW_POLL_BATCH + 1;
	struct hw_held *more;
	bool empty = false;
	int n;

	while (!empty && left--) {
		more = kzalloc(sizeof(*more), GFP_KERNEL_ACCOUNT);
		if (!more)
			return false;
		n = hw_cq_hold_batch(cq, more, &empty);
		if (n < 0)
			return n != -ENOSPC;
		cond_resched();
	}
	return true;
}
