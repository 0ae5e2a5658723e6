// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Completion events: arming, moderation, and the CPU on which an event is raised.
 *
 * Moderation delays an event until a number of completions have been added since the last
 * event, or until a time has passed since the first of them.
 *
 * Completion vector n is CPU n: events of its queues are raised on that CPU. A consumer that
 * does not care about the CPU uses vector 0. Events of vector 0 are raised on the CPU where
 * the work completed, without a detour over another CPU.
 */
#include <linux/cpumask.h>
#include <krdma/noio.h>
#include <krdma/compat.h>

#include "../base/params.h"
#include "../base/rnic.h"
#include "cq.h"

/* Disarm the queue. With the lock held. Return: false when the queue was not armed. */
static bool soft_cq_disarm(struct soft_cq *cq)
{
	if (xchg(&cq->mem.head->arm, KRDMA_SOFT_CQ_ARM_NONE) ==
	    KRDMA_SOFT_CQ_ARM_NONE)
		return false;
	cq->event_prod = cq->prod;
	return true;
}

/*
 * Softirqs are off during the handler. local_bh_enable() then runs a softirq that the handler
 * raised. And debug checks find a handler that sleeps, whatever the context of the caller: the
 * socket may be locked.
 */
static void soft_cq_event(struct soft_cq *cq)
{
	local_bh_disable();
	ri_completion_event(&cq->ri);
	local_bh_enable();
}

/** soft_cq_raise() - raise a completion event; not in hard interrupts, without our spinlocks */
void soft_cq_raise(struct soft_cq *cq)
{
	unsigned int cpu = cq->ri.ceh;

	if (cpu && cpu != raw_smp_processor_id() && cpu_online(cpu) &&
	    READ_ONCE(soft_comp_affinity))
		queue_work_on(cpu, soft_event_wq, &cq->event_work);
	else if (cq->ri.uctx)
		ri_completion_event(&cq->ri);
	else
		soft_cq_event(cq);
}

static void soft_cq_event_fn(struct work_struct *work)
{
	guard(krdma_noio)();
	soft_cq_event(container_of(work, struct soft_cq, event_work));
}

static void soft_cq_error_fn(struct work_struct *work)
{
	struct soft_cq *cq = container_of(work, struct soft_cq, error_work);

	guard(krdma_noio)();
	soft_async_event(to_soft_rnic(cq->ri.obj.rnic), RI_OBJ_CQ, cq->ri.obj.id,
			 IB_EVENT_CQ_ERR);
}

/** soft_cq_broken() - count and report a lost completion, once for a queue; any context */
void soft_cq_broken(struct soft_cq *cq)
{
	soft_count(to_soft_rnic(cq->ri.obj.rnic), SOFT_CNT_CQ_OVERFLOW);
	/* in a work item: the caller may hold locks that the consumer's handler takes */
	queue_work(soft_event_wq, &cq->error_work);
}

/* The moderation period is over. */
static void soft_cq_mod_expired(struct soft_cq *cq)
{
	unsigned long flags;
	bool raise;

	spin_lock_irqsave(&cq->lock, flags);
	raise = cq->prod != cq->event_prod && soft_cq_disarm(cq);
	spin_unlock_irqrestore(&cq->lock, flags);
	if (raise)
		soft_cq_raise(cq);
}

static enum hrtimer_restart soft_cq_mod_timer(struct hrtimer *timer)
{
	soft_cq_mod_expired(container_of(timer, struct soft_cq, mod_timer));
	return HRTIMER_NORESTART;
}

/* The queue is armed. True when the event is to be raised now. With the lock held. */
bool soft_cq_event_due(struct soft_cq *cq)
{
	if (!cq->mod_period || cq->prod - cq->event_prod >= cq->mod_count)
		return soft_cq_disarm(cq);
	if (!hrtimer_is_queued(&cq->mod_timer))
		hrtimer_start(&cq->mod_timer,
			      ns_to_ktime(cq->mod_period * (u64)NSEC_PER_USEC),
			      HRTIMER_MODE_REL_SOFT);
	return false;
}

/**
 * soft_cq_notify() - raise an event if the consumer has armed the queue
 * @cq: queue
 * @solicited: one of the added completions is solicited or an error
 * Context: any but hard interrupt.
 */
void soft_cq_notify(struct soft_cq *cq, bool solicited)
{
	unsigned long flags;
	bool raise;

	spin_lock_irqsave(&cq->lock, flags);
	raise = soft_cq_event_wanted(cq, solicited);
	spin_unlock_irqrestore(&cq->lock, flags);
	if (raise)
		soft_cq_raise(cq);
}

/**
 * soft_cq_moderate() - ri_ops.cq_modify: set up event moderation
 * @ri: queue
 * @count: number of completions that makes an event due; below 2, every completion does
 * @period: microseconds that fewer completions wait; 0 turns moderation off
 * Context: may sleep.
 */
int soft_cq_moderate(struct ri_cq *ri, u16 count, u16 period)
{
	struct soft_cq *cq = to_soft_cq(ri);
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	cq->mod_count = count;
	cq->mod_period = period;
	spin_unlock_irqrestore(&cq->lock, flags);
	/* an event that the old values delayed is due now */
	if (hrtimer_cancel(&cq->mod_timer))
		soft_cq_mod_expired(cq);
	return 0;
}

/* ri_ops.cq_req_notify: for kernel consumers only; a user arms the queue in the ring */
int soft_cq_req_notify(struct ri_cq *ri, enum ib_cq_notify_flags flags)
{
	struct soft_cq *cq = to_soft_cq(ri);
	struct krdma_soft_cq_ring *head;
	unsigned long irq;
	int missed = 0;

	if (ri->uctx)
		return -EINVAL;
	spin_lock_irqsave(&cq->lock, irq);
	head = cq->mem.head;
	if ((flags & IB_CQ_SOLICITED_MASK) == IB_CQ_NEXT_COMP)
		WRITE_ONCE(head->arm, KRDMA_SOFT_CQ_ARM_NEXT);
	else if (READ_ONCE(head->arm) != KRDMA_SOFT_CQ_ARM_NEXT)
		WRITE_ONCE(head->arm, KRDMA_SOFT_CQ_ARM_SOLICITED);
	smp_mb(); /* arm before reading the index: pairs with soft_cq_event_wanted() */
	if (flags & IB_CQ_REPORT_MISSED_EVENTS)
		missed = cq->prod != cq->cons;
	spin_unlock_irqrestore(&cq->lock, irq);
	return missed;
}

/** soft_cq_event_init() - initialize the events of a new queue */
void soft_cq_event_init(struct soft_cq *cq)
{
	hrtimer_setup(&cq->mod_timer, soft_cq_mod_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	INIT_WORK(&cq->event_work, soft_cq_event_fn);
	INIT_WORK(&cq->error_work, soft_cq_error_fn);
}

/**
 * soft_cq_event_flush() - report all completions that a QP has added, before return
 * @cq: queue
 *
 * A kernel consumer destroys its QPs and then stops its own work for the queue. No event may
 * come after that. Context: may sleep.
 */
void soft_cq_event_flush(struct soft_cq *cq)
{
	if (hrtimer_cancel(&cq->mod_timer))
		soft_cq_mod_expired(cq);
	flush_work(&cq->event_work);
	flush_work(&cq->error_work);
}

/** soft_cq_event_exit() - stop the events; the queue has no QP any more, so none starts anew */
void soft_cq_event_exit(struct soft_cq *cq)
{
	hrtimer_cancel(&cq->mod_timer);
	cancel_work_sync(&cq->event_work);
	cancel_work_sync(&cq->error_work);
}
