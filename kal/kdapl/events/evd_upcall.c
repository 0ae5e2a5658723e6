// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Event dispatchers: how events come to the consumer, by upcall or by dat_evd_dequeue().
 *
 * The queue of an EVD is its ring and, behind that, its CQ. A completion moves from the CQ to the
 * ring when a work item that calls up, or the consumer, looks for an event. In the ring, events
 * that call up are marked (UNSIGNALLED completions are not). An upcall takes the oldest event as
 * long as there is a marked one, so events keep their order.
 *
 * As long as the ring is empty, the work item of an EVD with a CQ polls a batch of completions and
 * hands them to the consumer without the ring. It is the only one that fills the batch. It takes
 * the lock once for a batch: the events it takes by counting kdat_evd.batch.next, with an atomic
 * operation. Any other holder of the lock moves the rest of the batch to the ring with
 * kdat_evd_spill() before it does something that depends on it: look for an event, put one, change
 * the upcalls. The work item finds no batch then, and takes the lock. Unless the CQ had no more
 * than the batch, the last event needs the lock, too, because the upcall's argument says whether
 * there are more.
 *
 * The work item of an EVD with a CQ is irq_poll's, which ib_core uses, too: it runs in softirq
 * context. Others are on a workqueue.
 *
 * A work item is busy from when it is queued until it finds, with the lock held, that there is
 * nothing to do. A function that adds an event or changes what is to be done calls kdat_evd_kick()
 * with the lock held: it makes a work item busy, unless as many are as the policy allows. So no
 * event is overlooked: either a busy work item will take the lock after the change, or a new one
 * does.
 *
 * kdat_evd.armed is false as long as the CQ may have completions that were not notified. A work
 * item leaves the CQ in that state only if the ring is full of unmarked events or if it may not
 * call up. kdat_evd_kick() queues a work item again as soon as there is room or the consumer wants
 * upcalls.
 */
#include <linux/cleanup.h>
#include <linux/irq_poll.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/smp.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>

#include <krdma/noio.h>

#include "evd.h"

#define KDAT_EVD_BATCH	64	/* upcalls in one run of a work item */
#define KDAT_EVD_ROUNDS	64	/* looks for an event in one dat_evd_dequeue() */

/* what a work item does next */
enum kdat_evd_step {
	KDAT_EVD_STOP,
	KDAT_EVD_AGAIN,		/* unlock, look again */
	KDAT_EVD_CALL,		/* with one event */
	KDAT_EVD_CALL_BATCH,
};

/**
 * struct kdat_evd_call - an upcall
 * @upcall: the consumer's function
 * @event: argument: the event, or NULL with DAT_UPCALL_NORIFY
 * @more: argument: there are more events
 * @copy: of the event, whose place is not its own any more
 * @next: of KDAT_EVD_CALL_BATCH: index of the first event
 * @end: the same: index behind the last one
 */
struct kdat_evd_call {
	DAT_UPCALL_OBJECT upcall;
	const DAT_EVENT *event;
	bool more;
	DAT_EVENT copy;
	u32 next;
	u32 end;
};

static struct workqueue_struct *kdat_evd_wq;

/** kdat_evd_calls() - is it a policy with upcalls? */
bool kdat_evd_calls(DAT_UPCALL_POLICY policy)
{
	return policy == DAT_UPCALL_SINGLE_INSTANCE || policy == DAT_UPCALL_NORIFY ||
	       policy == DAT_UPCALL_MANY;
}

/* Return: number of work items that may call up. The lock is held. */
static u32 kdat_evd_limit(const struct kdat_evd *evd)
{
	if (evd->stopping || !kdat_evd_calls(evd->policy))
		return 0;
	/* work of one CPU's softirq does not run at the same time */
	return evd->policy == DAT_UPCALL_MANY && !evd->bh ? KDAT_EVD_MANY : 1;
}

/* Was the consumer called with DAT_UPCALL_NORIFY, and has not looked yet? */
static bool kdat_evd_notified(const struct kdat_evd *evd)
{
	return evd->policy == DAT_UPCALL_NORIFY && evd->notified;
}

/*
 * Does an endpoint feed the CQ? Before that, it is not known whether all completions or solicited
 * ones alone call up, and a CQ that was armed for all stays so until it has notified of one.
 */
static bool kdat_evd_is_fed(const struct kdat_evd *evd)
{
	return READ_ONCE(evd->plain_streams) || READ_ONCE(evd->solicited_streams);
}

/* Is there an event to call up for, or may there be one in the CQ? The lock is held. */
static bool kdat_evd_wants(const struct kdat_evd *evd)
{
	if (kdat_evd_notified(evd))
		return false;
	return evd->ring.notify ||
	       (evd->cq && !evd->armed && kdat_evd_is_fed(evd) &&
		kdat_evd_ring_room(&evd->ring, true));
}

/** kdat_evd_kick() - queue a work item if there is something to do; the lock is held */
void kdat_evd_kick(struct kdat_evd *evd)
{
	struct kdat_upcall *uc = evd->upcalls;

	lockdep_assert_held(&evd->lock);
	if (evd->busy >= kdat_evd_limit(evd) || !kdat_evd_wants(evd))
		return;
	while (uc->busy)
		uc++;
	uc->busy = true;
	evd->busy++;
	if (evd->bh)
		irq_poll_sched(&evd->poll);
	else
		queue_work(kdat_evd_wq, &uc->work);
}

/* The CQ ******************************************************************** */

/* In a section of RCU, with the lock held. Return: the CQ, or NULL. */
static struct ri_cq *kdat_evd_cq(const struct kdat_evd *evd)
{
	return READ_ONCE(evd->obj.ia->kr->gone) ? NULL : evd->cq;
}

/** kdat_evd_spill() - move what is left of the batch to the ring; the lock is held */
void kdat_evd_spill(struct kdat_evd *evd)
{
	u32 i;

	lockdep_assert_held(&evd->lock);
	/* the ring had room for all of them when they were polled */
	for (i = kdat_batch_close(&evd->batch); i < evd->batch.num; i++)
		kdat_evd_ring_add(&evd->ring, &evd->batch.entries[i].event, true,
				  evd->batch.entries[i].notify);
}

/* Is something left of the batch? The lock is held. */
static bool kdat_evd_polled(const struct kdat_evd *evd)
{
	return kdat_batch_next(&evd->batch) < evd->batch.num;
}

/*
 * Poll up to @max completions, of which the ring has room for all; first those that were held as
 * early ones. @num takes the number of events that they became, in @entries, and @quiet that of
 * those that do not call up.
 * Return: the number of completions.
 */
static __always_inline int kdat_evd_poll(struct kdat_evd *evd, struct ri_cq *cq, u32 max,
					 struct kdat_evd_entry *entries, u32 *num, u32 *quiet)
{
	int n;

	*num = 0;
	*quiet = 0;
	if (unlikely(!max))
		return 0;
	if (unlikely(!list_empty(&evd->early))) {
		n = kdat_early_take(evd, max, evd->batch.wc);
	} else {
		n = kal_cq_poll(cq, max, evd->batch.wc);
		if (unlikely(n < 0)) {
			/* do not ask a broken CQ again and again */
			evd->armed = true;
			return 0;
		}
		evd->drained = n < max;
	}
	*num = kdat_dto_events(evd, evd->batch.wc, n, entries, quiet);
	return n;
}

/*
 * Move up to @max completions from the CQ to the ring, as far as it has room, or those of the
 * batch. Return: the number of completions. Not all of them become events.
 */
static int kdat_evd_fill(struct kdat_evd *evd, struct ri_cq *cq, u32 max)
{
	const u32 next = kdat_batch_next(&evd->batch);
	struct kdat_evd_entry *entries;
	u32 num, quiet;
	int n;

	if (next < evd->batch.num) {
		/* the work item may take them meanwhile, and then there may be more in the CQ */
		kdat_evd_spill(evd);
		return evd->batch.num - next;
	}
	max = min(max, KDAT_EVD_POLL);
	entries = kdat_evd_ring_space(&evd->ring, &max);
	n = kdat_evd_poll(evd, cq, max, entries, &num, &quiet);
	kdat_evd_ring_commit(&evd->ring, num);
	return n;
}

/*
 * The work item has handed over all of the batch. Poll its next one, or move completions into the
 * ring. Return: the number of completions.
 */
static int kdat_evd_refill(struct kdat_evd *evd, struct ri_cq *cq)
{
	u32 num, quiet;
	int n;

	if (unlikely(evd->ring.head != evd->ring.tail || evd->policy == DAT_UPCALL_NORIFY))
		return kdat_evd_fill(evd, cq, KDAT_EVD_POLL);
	n = kdat_evd_poll(evd, cq, min(KDAT_EVD_POLL, kdat_evd_ring_room(&evd->ring, true)),
			  evd->batch.entries, &num, &quiet);
	kdat_batch_open(&evd->batch, num);
	if (unlikely(quiet))
		kdat_evd_spill(evd);
	return n;
}

/* Ask the CQ to notify of the next completion. Return: true: completions are there already. */
static bool kdat_evd_arm(struct kdat_evd *evd, struct ri_cq *cq)
{
	const enum ib_cq_notify_flags what = evd->solicited ? IB_CQ_SOLICITED : IB_CQ_NEXT_COMP;

	evd->drained = false;
	evd->armed = list_empty(&evd->early) &&
		     kal_cq_req_notify(cq, what | IB_CQ_REPORT_MISSED_EVENTS) <= 0;
	return !evd->armed;
}

/** kdat_evd_on_completion() - kal_cq_attr.on_completion */
void kdat_evd_on_completion(struct ri_cq *cq)
{
	struct kdat_evd *evd = cq->consumer;

	scoped_guard(spinlock_irqsave, &evd->lock) {
		evd->armed = false;
		kdat_evd_kick(evd);
	}
}

/*
 * Take some completions from the CQ. @full: takes whether the ring has no room for those that are
 * left, or NULL. Return: there were some. In a section of RCU.
 */
static bool kdat_evd_collect_some(struct kdat_evd *evd, bool *full)
{
	bool some;

	scoped_guard(spinlock_irqsave, &evd->lock) {
		struct ri_cq *cq = kdat_evd_cq(evd);

		some = cq && kdat_evd_fill(evd, cq, KDAT_EVD_POLL);
		if (full)
			*full = cq && !kdat_evd_ring_room(&evd->ring, true) &&
				kdat_evd_arm(evd, cq);
		kdat_evd_kick(evd);
	}
	return some;
}

void kdat_evd_collect(struct kdat_evd *evd)
{
	/* one completion at least each time */
	u32 tries = READ_ONCE(evd->reserved) + 1;
	bool full, more = true;

	while (more && tries--) {
		cond_resched();
		scoped_guard(rcu)
			more = kdat_evd_collect_some(evd, &full);
		if (full)
			more = kdat_evd_lengthen(evd);
	}
}

bool kdat_evd_reap(struct kdat_evd *evd)
{
	return kdat_evd_collect_some(evd, NULL);
}

void kdat_evd_settle(struct kdat_evd *evd)
{
	scoped_guard(spinlock_irqsave, &evd->lock)
		kdat_evd_spill(evd);
}

void kdat_evd_solicited(struct kdat_evd *evd, bool solicited)
{
	scoped_guard(spinlock_irqsave, &evd->lock) {
		/* a CQ that is armed for all completions stays so until it has notified of one */
		if (evd->solicited && !solicited)
			evd->armed = false;
		evd->solicited = solicited;
		kdat_evd_kick(evd);
	}
}

/* Overflow ****************************************************************** */

static void kdat_evd_overflow_event(struct kdat_evd *evd, DAT_EVENT *event)
{
	*event = (DAT_EVENT){
		.event_number = DAT_ASYNC_ERROR_EVD_OVERFLOW,
		.event_data.asynch_error_event_data = {
			.dat_handle = evd,
			.reason = DAT_EVD_OVERFLOW_ERROR,
		},
	};
}

/**
 * kdat_evd_has_room() - the consumer has taken an event, or made the queue longer
 * @evd: EVD; with its lock
 *
 * The next event that is lost is reported again. An EVD for asynchronous events that was full gets
 * the report of its own overflow now.
 */
void kdat_evd_has_room(struct kdat_evd *evd)
{
	DAT_EVENT event;

	if (likely(!evd->overflow) || !kdat_evd_ring_room(&evd->ring, false))
		return;
	evd->overflow = false;
	if (!evd->overflow_due)
		return;
	evd->overflow_due = false;
	kdat_evd_overflow_event(evd, &event);
	event.evd_handle = evd;
	kdat_evd_ring_add(&evd->ring, &event, false, true);
	kdat_evd_kick(evd);
}

/* An event did not fit into @evd: report that, unless it was reported already. */
static void kdat_evd_overflowed(struct kdat_evd *evd)
{
	struct kdat_evd *async = evd->obj.ia->async_evd;
	DAT_EVENT event;
	bool report;

	scoped_guard(spinlock_irqsave, &evd->lock) {
		report = !evd->overflow;
		evd->overflow = true;
		evd->overflow_due |= evd == async;
		/* the consumer may have taken events since, and wait for the next one */
		kdat_evd_has_room(evd);
	}
	if (!report || evd == async)
		return;
	kdat_evd_overflow_event(evd, &event);
	if (kdat_evd_try_put(async, &event))
		return;
	/* the report is lost as well: the next loss tries again */
	scoped_guard(spinlock_irqsave, &evd->lock)
		evd->overflow = false;
	scoped_guard(spinlock_irqsave, &async->lock) {
		async->overflow = true;
		async->overflow_due = true;
		kdat_evd_has_room(async);
	}
}

/* Upcalls ******************************************************************* */

/* An upcall takes the last event that is known: are there more? */
static bool kdat_evd_more(struct kdat_evd *evd, struct ri_cq *cq)
{
	if (cq && !evd->drained && !kdat_evd_polled(evd) && !kdat_evd_ring_count(&evd->ring))
		kdat_evd_refill(evd, cq);
	return kdat_evd_polled(evd) || kdat_evd_ring_count(&evd->ring);
}

/*
 * Call up with what is left of the batch, which is something. Whether there are more events than
 * the last one is known with the lock only, unless the CQ had no more.
 */
static enum kdat_evd_step kdat_evd_hand_over(struct kdat_evd *evd, struct ri_cq *cq,
					     struct kdat_evd_call *call)
{
	const u32 next = kdat_batch_next(&evd->batch);

	call->more = !evd->drained;
	if (likely(next + call->more < evd->batch.num)) {
		call->next = next;
		call->end = evd->batch.num;
		return KDAT_EVD_CALL_BATCH;
	}
	/* more completions may take its place while the consumer reads it */
	call->copy = evd->batch.entries[next].event;
	call->event = &call->copy;
	WRITE_ONCE(evd->batch.next, next + 1);
	call->more = kdat_evd_more(evd, cq);
	return KDAT_EVD_CALL;
}

/* The ring has no event that calls up. Poll the CQ, and arm it when it is empty. */
static enum kdat_evd_step kdat_evd_look(struct kdat_evd *evd, struct ri_cq *cq,
					struct kdat_evd_call *call)
{
	if (kdat_evd_polled(evd))
		return kdat_evd_hand_over(evd, cq, call);
	if (!cq)
		return KDAT_EVD_STOP;
	/* a CQ that was empty a moment ago says so when it is armed */
	if (!evd->drained && kdat_evd_refill(evd, cq))
		return kdat_evd_polled(evd) ? kdat_evd_hand_over(evd, cq, call) : KDAT_EVD_AGAIN;
	if (evd->armed || !kdat_evd_is_fed(evd) || !kdat_evd_ring_room(&evd->ring, true))
		return KDAT_EVD_STOP;
	return kdat_evd_arm(evd, cq) ? KDAT_EVD_AGAIN : KDAT_EVD_STOP;
}

/* With the lock held: what does a busy work item do next? */
static enum kdat_evd_step kdat_evd_step(struct kdat_evd *evd, struct kdat_evd_call *call)
{
	struct ri_cq *cq = kdat_evd_cq(evd);

	/* it is one of evd->busy itself: when a new policy allows fewer, some of them end */
	if (evd->busy > kdat_evd_limit(evd) || kdat_evd_notified(evd))
		return KDAT_EVD_STOP;
	call->upcall = evd->upcall;
	if (likely(!evd->ring.notify))
		return kdat_evd_look(evd, cq, call);
	call->event = NULL;
	call->more = true;
	if (evd->policy == DAT_UPCALL_NORIFY) {
		evd->notified = true;
		return KDAT_EVD_CALL;
	}
	if (kdat_evd_ring_pop(&evd->ring, &call->copy) != 1)
		return KDAT_EVD_AGAIN;
	kdat_evd_has_room(evd);
	call->event = &call->copy;
	call->more = kdat_evd_more(evd, cq);
	/* DAT_UPCALL_MANY: another one takes the next event */
	kdat_evd_kick(evd);
	return KDAT_EVD_CALL;
}

/* With the lock held: a work item ends. */
static void kdat_evd_idle(struct kdat_evd *evd, struct kdat_upcall *uc)
{
	if (evd->bh) {
		WRITE_ONCE(uc->cpu, -1);
		/* before the next one may be queued, see kdat_evd_kick() */
		irq_poll_complete(&evd->poll);
	}
	uc->busy = false;
	WRITE_ONCE(evd->busy, evd->busy - 1);
	if (evd->stopping)
		wake_up_var(&evd->busy);
}

static enum kdat_evd_step kdat_evd_next(struct kdat_upcall *uc, struct kdat_evd_call *call)
{
	struct kdat_evd *evd = uc->evd;
	enum kdat_evd_step step;

	/* the lock makes this a section of RCU */
	scoped_guard(spinlock_irqsave, &evd->lock) {
		step = kdat_evd_step(evd, call);
		if (step == KDAT_EVD_STOP) {
			if (kdat_evd_polled(evd))
				kdat_evd_spill(evd);
			kdat_evd_idle(evd, uc);
		}
	}
	return step;
}

/*
 * Call up with the events of the batch; if the CQ may have more, not with the last one. The upcall
 * is that of the moment when the lock was held: a change of it moves the batch to the ring first.
 * Return: the most upcalls that there were.
 */
static int kdat_evd_call_batch(struct kdat_evd *evd, const struct kdat_evd_call *call)
{
	const DAT_UPCALL_FUNC func = call->upcall.upcall_func;
	void *const data = call->upcall.instance_data;
	const u32 end = call->end - call->more;
	u32 i = call->next;

	while (i < end && kdat_batch_take(&evd->batch, &i)) {
		const DAT_EVENT *event = &evd->batch.entries[i - 1].event;

		func(data, event, i < call->end ? DAT_TRUE : DAT_FALSE);
	}
	return end - call->next;
}

/* Call up, some times. Return: there is nothing more to do. */
static bool kdat_evd_run(struct kdat_upcall *uc)
{
	struct kdat_evd_call call __uninitialized;
	int budget = KDAT_EVD_BATCH;
	enum kdat_evd_step step;

	do {
		step = kdat_evd_next(uc, &call);
		if (likely(step == KDAT_EVD_CALL_BATCH))
			budget -= kdat_evd_call_batch(uc->evd, &call);
		else if (step == KDAT_EVD_CALL)
			call.upcall.upcall_func(call.upcall.instance_data, call.event,
						call.more ? DAT_TRUE : DAT_FALSE);
	} while (step != KDAT_EVD_STOP && --budget > 0);
	return step == KDAT_EVD_STOP;
}

static void kdat_evd_work(struct work_struct *work)
{
	guard(krdma_noio)();
	/* if there is more to do it is still busy; kdat_evd_go_on() says how it is cancelled */
	if (!kdat_evd_run(container_of(work, struct kdat_upcall, work)))
		queue_work(kdat_evd_wq, work);
}

/* irq_poll.poll, of an EVD with a CQ */
static int kdat_evd_poll_softirq(struct irq_poll *poll, int weight)
{
	struct kdat_evd *evd = container_of(poll, struct kdat_evd, poll);

	WRITE_ONCE(evd->upcalls[0].cpu, smp_processor_id());
	if (kdat_evd_run(&evd->upcalls[0]))
		return 0;
	WRITE_ONCE(evd->upcalls[0].cpu, -1);
	return weight;
}

/** kdat_evd_stop() - start no more upcalls, and wait for the running ones; may sleep */
void kdat_evd_stop(struct kdat_evd *evd)
{
	unsigned long flags;
	u32 i;

	might_sleep();
	spin_lock_irqsave(&evd->lock, flags);
	evd->stopping++;
	kdat_evd_spill(evd);
	spin_unlock_irqrestore(&evd->lock, flags);
	if (evd->bh) {
		wait_var_event(&evd->busy, !READ_ONCE(evd->busy));
		/* the softirq may still hold the lock, and does nothing else */
		spin_lock_irqsave(&evd->lock, flags);
		spin_unlock_irqrestore(&evd->lock, flags);
		return;
	}
	for (i = 0; i < KDAT_EVD_MANY; i++)
		cancel_work_sync(&evd->upcalls[i].work);
}

/** kdat_evd_go_on() - allow upcalls again after kdat_evd_stop() */
void kdat_evd_go_on(struct kdat_evd *evd)
{
	u32 i;

	scoped_guard(spinlock_irqsave, &evd->lock) {
		/* no work is queued or runs: some may have been cancelled while it was busy */
		for (i = 0; i < KDAT_EVD_MANY; i++)
			evd->upcalls[i].busy = false;
		evd->busy = 0;
		evd->stopping--;
		kdat_evd_spill(evd);
		kdat_evd_kick(evd);
	}
}

bool kdat_evd_in_upcall(const struct kdat_evd *evd)
{
	const struct work_struct *work = in_task() ? current_work() : NULL;
	u32 i;

	for (i = 0; i < KDAT_EVD_MANY; i++) {
		const struct kdat_upcall *uc = &evd->upcalls[i];

		/* a softirq is not preempted by another one of its CPU */
		if (in_task() ? work == &uc->work :
				READ_ONCE(uc->cpu) == raw_smp_processor_id())
			return true;
	}
	return false;
}

/*
 * With the lock held: let waiting events, also those in the CQ, not call up.
 * Return: false if there are more completions in the CQ: unlock and call again.
 */
static bool kdat_evd_suppress(struct kdat_evd *evd, bool last)
{
	struct ri_cq *cq = kdat_evd_cq(evd);

	if (cq && !last && kdat_evd_fill(evd, cq, KDAT_EVD_POLL))
		return false;
	if (cq && kdat_evd_arm(evd, cq)) {
		if (!last && kdat_evd_ring_room(&evd->ring, true))
			return false;
		/* what does not fit into the ring stays in the CQ: the next one calls up */
		evd->armed = true;
	}
	kdat_evd_ring_suppress(&evd->ring);
	return true;
}

/* Return: false: unlock and call again; see kdat_evd_suppress(). */
static bool kdat_evd_try_change(struct kdat_evd *evd, DAT_UPCALL_POLICY policy,
				const DAT_UPCALL_OBJECT *upcall, bool only_new, bool last)
{
	kdat_evd_spill(evd);
	if (!only_new) {
		kdat_evd_ring_enable(&evd->ring);
		evd->armed = false;
	} else if (kdat_evd_calls(policy) && !kdat_evd_suppress(evd, last)) {
		return false;
	}
	evd->policy = policy;
	if (upcall)
		evd->upcall = *upcall;
	evd->notified = false;
	kdat_evd_kick(evd);
	return true;
}

/**
 * kdat_evd_change() - change the upcalls
 * @evd: EVD
 * @policy: new policy
 * @upcall: new upcall, or NULL: the old one
 * @only_new: events that wait in the queue do not call up
 *
 * Context: any but hard interrupt.
 */
void kdat_evd_change(struct kdat_evd *evd, DAT_UPCALL_POLICY policy,
		     const DAT_UPCALL_OBJECT *upcall, bool only_new)
{
	/* enough for a full queue; completions may come as fast as they are polled */
	u32 tries = READ_ONCE(evd->ring.size) / KDAT_EVD_POLL + 2;
	bool changed = false;

	while (!changed) {
		guard(rcu)();
		scoped_guard(spinlock_irqsave, &evd->lock)
			changed = kdat_evd_try_change(evd, policy, upcall, only_new, --tries == 0);
	}
}

/* Events ******************************************************************** */

/** kdat_evd_try_put() - put an event; false: the queue is full; any context but hard interrupt */
bool kdat_evd_try_put(struct kdat_evd *evd, const DAT_EVENT *event)
{
	DAT_EVENT *queued;

	scoped_guard(spinlock_irqsave, &evd->lock) {
		/* they are older */
		kdat_evd_spill(evd);
		queued = kdat_evd_ring_add(&evd->ring, event, false, true);
		if (queued) {
			queued->evd_handle = evd;
			kdat_evd_kick(evd);
		}
	}
	return queued;
}

bool kdat_evd_put(struct kdat_evd *evd, const DAT_EVENT *event)
{
	if (kdat_evd_try_put(evd, event))
		return true;
	kdat_evd_overflowed(evd);
	return false;
}

/*
 * In a section of RCU, with the lock held: take the oldest event.
 * Return: 1; 0 when there is none; -EAGAIN: unlock and call again.
 */
static int kdat_evd_take_one(struct kdat_evd *evd, DAT_EVENT *event)
{
	struct ri_cq *cq = kdat_evd_cq(evd);
	int ret;

	kdat_evd_spill(evd);
	ret = kdat_evd_ring_pop(&evd->ring, event);
	if (ret > 0) {
		kdat_evd_has_room(evd);
		/* there is room for completions now */
		kdat_evd_kick(evd);
	}
	if (ret)
		return ret;
	/* unsolicited ones are to wait in the CQ: in the ring, they would call up */
	if (cq && kdat_evd_fill(evd, cq, evd->solicited ? 1 : KDAT_EVD_POLL))
		return -EAGAIN;
	if (kdat_evd_notified(evd)) {
		/* the next event calls up again */
		if (cq && !evd->armed && kdat_evd_arm(evd, cq))
			return -EAGAIN;
		evd->notified = false;
	}
	return 0;
}

/**
 * kdat_evd_take() - take the oldest event
 * @evd: EVD
 * @event: takes it
 *
 * Completions without an event may come as fast as they are taken. The caller may be in softirq, so
 * it is not kept: the queue is empty for now, and the next event calls up.
 *
 * Context: any but hard interrupt.
 * Return: DAT_SUCCESS or DAT_QUEUE_EMPTY.
 */
DAT_RETURN kdat_evd_take(struct kdat_evd *evd, DAT_EVENT *event)
{
	unsigned int rounds = KDAT_EVD_ROUNDS;
	int ret = -EAGAIN;

	while (ret == -EAGAIN) {
		guard(rcu)();
		scoped_guard(spinlock_irqsave, &evd->lock) {
			ret = kdat_evd_take_one(evd, event);
			if (ret == -EAGAIN && !--rounds) {
				evd->notified = false;
				kdat_evd_kick(evd);
				ret = 0;
			}
		}
	}
	return ret ? DAT_SUCCESS : KDAT_ERROR(DAT_QUEUE_EMPTY, DAT_NO_SUBTYPE);
}

/* Start and end ************************************************************* */

void kdat_evd_upcalls_init(struct kdat_evd *evd)
{
	u32 i;

	for (i = 0; i < KDAT_EVD_MANY; i++) {
		struct kdat_upcall *uc = &evd->upcalls[i];

		INIT_WORK(&uc->work, kdat_evd_work);
		uc->evd = evd;
		uc->cpu = -1;
	}
	INIT_LIST_HEAD(&evd->early);
	irq_poll_init(&evd->poll, KDAT_EVD_BATCH, kdat_evd_poll_softirq);
}

int kdat_evd_init(void)
{
	/* consumers wait in their upcalls: leave room for others; storage needs a rescuer */
	kdat_evd_wq = alloc_workqueue("krdma_kdapl", WQ_UNBOUND | WQ_MEM_RECLAIM, WQ_MAX_ACTIVE);
	return kdat_evd_wq ? 0 : -ENOMEM;
}

void kdat_evd_exit(void)
{
	destroy_workqueue(kdat_evd_wq);
}
