// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Completion queues of the transport on kDAPL: how posts that have ended are reported to SDP.
 *
 * Upcalls of kDAPL, endpoints that end, keys with new LMRs and SDP's own ops bring posts, in any
 * context. Posts wait in cq->done. Of the contexts that bring some, one reports to SDP (cq->busy),
 * and the others leave: so handlers come one at a time. When there is much to report, a work item
 * continues. The work item also reports what SDP's ops bring: SDP holds the lock that its handlers
 * take.
 *
 * There is room for all: the posts themselves are in the list.
 */
#include <linux/cleanup.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "kdapl.h"

#define SDP_KDAPL_BATCH		16	/* completions of a call of a handler */
#define SDP_KDAPL_BUDGET	16	/* such calls in one go */

/* Take up to @n posts out of cq->done. */
static u32 sdp_kdapl_cq_take(struct sdp_kdapl_cq *cq, struct sdp_kdapl_post **posts, u32 n)
{
	u32 i;

	lockdep_assert_held(&cq->lock);
	for (i = 0; i < n && !list_empty(&cq->done); i++) {
		posts[i] = list_first_entry(&cq->done, struct sdp_kdapl_post, list);
		list_del(&posts[i]->list);
	}
	return i;
}

/* Direct: call the handler once. Return: false: there was nothing to report. */
static bool sdp_kdapl_cq_handle(struct sdp_kdapl_cq *cq)
{
	/* mostly few of them are used: do not clear all each time */
	struct sdp_ot_completion completions[SDP_KDAPL_BATCH] __uninitialized;
	struct sdp_kdapl_queue *queues[SDP_KDAPL_BATCH] __uninitialized;
	struct sdp_kdapl_post *posts[SDP_KDAPL_BATCH] __uninitialized;
	unsigned long flags;
	u32 n, i;

	spin_lock_irqsave(&cq->lock, flags);
	n = sdp_kdapl_cq_take(cq, posts, SDP_KDAPL_BATCH);
	if (!n)
		cq->busy = false;
	spin_unlock_irqrestore(&cq->lock, flags);
	if (!n)
		return false;
	/* the handler may post as many again */
	for (i = 0; i < n; i++) {
		completions[i] = posts[i]->completion;
		queues[i] = posts[i]->queue;
		sdp_kdapl_post_free(posts[i]);
	}
	cq->ot.attr.handler(cq->ot.attr.context, completions, n);
	for (i = 0; i < n; i++)
		sdp_kdapl_queue_told(queues[i]);
	return true;
}

/* Polling: call notify() if SDP has asked for it. Return: false: not so. */
static bool sdp_kdapl_cq_notify(struct sdp_kdapl_cq *cq)
{
	unsigned long flags;
	bool notify;

	spin_lock_irqsave(&cq->lock, flags);
	notify = cq->armed && !list_empty(&cq->done);
	if (notify)
		cq->armed = false;
	else
		cq->busy = false;
	spin_unlock_irqrestore(&cq->lock, flags);
	if (notify)
		cq->ot.attr.notify(cq->ot.attr.context);
	return notify;
}

/* The caller has set cq->busy. */
static void sdp_kdapl_cq_run(struct sdp_kdapl_cq *cq)
{
	const bool direct = cq->ot.attr.kind == SDP_OT_CQ_DIRECT;
	unsigned int budget = SDP_KDAPL_BUDGET;
	bool more = true;

	while (more && budget--)
		more = direct ? sdp_kdapl_cq_handle(cq) : sdp_kdapl_cq_notify(cq);
	if (more)
		queue_work(sdp_kdapl_wq, &cq->work);
	else
		wake_up_var(&cq->busy);
}

static void sdp_kdapl_cq_work(struct work_struct *work)
{
	sdp_kdapl_cq_run(container_of(work, struct sdp_kdapl_cq, work));
}

/* Begin to report, unless another context does. Return: the caller has to. */
static bool sdp_kdapl_cq_begin(struct sdp_kdapl_cq *cq)
{
	const bool begin = !cq->busy && !list_empty(&cq->done);

	lockdep_assert_held(&cq->lock);
	if (begin)
		cq->busy = true;
	return begin;
}

/**
 * sdp_kdapl_cq_add() - posts have ended
 * @cq: completion queue
 * @posts: list of struct sdp_kdapl_post, which is empty afterwards
 * @reporter: whether the caller may call SDP up
 *
 * Context: atomic; the caller's endpoint lives until its posts are reported.
 */
void sdp_kdapl_cq_add(struct sdp_kdapl_cq *cq, struct list_head *posts,
		      enum sdp_kdapl_reporter reporter)
{
	unsigned long flags;
	bool begin;

	spin_lock_irqsave(&cq->lock, flags);
	list_splice_tail_init(posts, &cq->done);
	begin = sdp_kdapl_cq_begin(cq);
	spin_unlock_irqrestore(&cq->lock, flags);
	if (!begin)
		return;
	if (reporter == SDP_KDAPL_REPORT_HERE)
		sdp_kdapl_cq_run(cq);
	else
		queue_work(sdp_kdapl_wq, &cq->work);
}

/* kDAPL's upcall, in a softirq: one event, and perhaps there are more */
static void sdp_kdapl_cq_upcall(void *data, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	sdp_kdapl_post_event(event);
}

u32 sdp_kdapl_cq_poll(struct sdp_ot_cq *ot, struct sdp_ot_completion *completions, u32 n)
{
	struct sdp_kdapl_post *posts[SDP_KDAPL_BATCH];
	struct sdp_kdapl_cq *cq = sdp_kdapl_cq(ot);
	unsigned long flags;
	u32 done = 0, some, i;

	if (ot->attr.kind != SDP_OT_CQ_POLLING)
		return 0;
	do {
		spin_lock_irqsave(&cq->lock, flags);
		some = sdp_kdapl_cq_take(cq, posts, min(n - done, SDP_KDAPL_BATCH));
		spin_unlock_irqrestore(&cq->lock, flags);
		for (i = 0; i < some; i++) {
			completions[done++] = posts[i]->completion;
			sdp_kdapl_post_told(posts[i]);
		}
	} while (some && done < n);
	return done;
}

/* kDAPL does not say which messages are solicited: all count as such. */
int sdp_kdapl_cq_arm(struct sdp_ot_cq *ot, bool solicited)
{
	struct sdp_kdapl_cq *cq = sdp_kdapl_cq(ot);
	unsigned long flags;
	bool some;

	spin_lock_irqsave(&cq->lock, flags);
	some = !list_empty(&cq->done);
	cq->armed = !some;
	spin_unlock_irqrestore(&cq->lock, flags);
	return some;
}

/* @cpu of the attributes is not looked at: kDAPL's upcalls run where the RNIC completes. */
struct sdp_ot_cq *sdp_kdapl_cq_create(struct sdp_ot_device *ot, const struct sdp_ot_cq_attr *attr)
{
	struct sdp_kdapl_device *device = sdp_kdapl_device(ot);
	DAT_UPCALL_OBJECT upcall = { .upcall_func = sdp_kdapl_cq_upcall };
	struct sdp_kdapl_cq *cq;
	int ret = -ENODEV;

	might_sleep();
	if (!attr->depth || attr->depth > INT_MAX ||
	    (attr->kind == SDP_OT_CQ_DIRECT ? !attr->handler : !attr->notify) ||
	    (attr->kind != SDP_OT_CQ_DIRECT && attr->kind != SDP_OT_CQ_POLLING))
		return ERR_PTR(-EINVAL);
	cq = kzalloc(sizeof(*cq), GFP_KERNEL_ACCOUNT);
	if (!cq)
		return ERR_PTR(-ENOMEM);
	cq->ot.device = ot;
	cq->ot.attr = *attr;
	cq->device = device;
	spin_lock_init(&cq->lock);
	INIT_LIST_HEAD(&cq->done);
	INIT_WORK(&cq->work, sdp_kdapl_cq_work);
	upcall.instance_data = cq;
	scoped_guard(rwsem_read, &device->sem)
		if (!device->gone)
			ret = sdp_kdapl_errno(dat_evd_kcreate(device->ia, attr->depth,
							      DAT_UPCALL_SINGLE_INSTANCE, &upcall,
							      DAT_EVD_DTO_FLAG, &cq->evd));
	if (ret) {
		kfree(cq);
		return ERR_PTR(ret);
	}
	sdp_kdapl_device_get(ot);
	return &cq->ot;
}

void sdp_kdapl_cq_destroy(struct sdp_ot_cq *ot)
{
	struct sdp_kdapl_cq *cq = sdp_kdapl_cq(ot);
	struct sdp_kdapl_post *post, *next;
	unsigned long flags;
	LIST_HEAD(left);

	might_sleep();
	scoped_guard(rwsem_read, &cq->device->sem)
		if (!cq->device->gone)
			WARN_ON_ONCE(dat_evd_free(cq->evd) != DAT_SUCCESS);
	wait_var_event(&cq->busy, !READ_ONCE(cq->busy));
	/* the thread that has cleared it holds the lock at most */
	spin_lock_irqsave(&cq->lock, flags);
	list_splice_init(&cq->done, &left);
	spin_unlock_irqrestore(&cq->lock, flags);
	cancel_work_sync(&cq->work);
	/* polling: nobody has taken these */
	list_for_each_entry_safe(post, next, &left, list)
		sdp_kdapl_post_told(post);
	sdp_kdapl_device_put(ot->device);
	kfree(cq);
}
