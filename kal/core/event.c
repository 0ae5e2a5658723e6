// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Event management: passes events from a provider to the consumer concerned. Completion events
 * and events of an object are delivered in the provider's context. Events of the RNIC itself
 * go to all consumer sides from an ordered workqueue, because these consumers may sleep.
 */
#include <linux/cleanup.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>
#include <krdma/noio.h>

#include "internal.h"
#include "trace.h"

static struct workqueue_struct *kal_event_wq;

/**
 * struct kal_rnic_events - undelivered events of an RNIC for its consumer sides
 * @work: delivers the events; has a reference to @rnic while it is queued
 * @rnic: RNIC
 * @lock: protects @codes; any context
 * @codes: codes of the events
 *
 * It exists as long as the RNIC. An event therefore needs no memory, and none is lost. If an
 * event occurs again before its delivery, it is delivered once, after the events that occurred
 * in between.
 */
struct kal_rnic_events {
	struct work_struct work;
	struct ri_rnic *rnic;
	spinlock_t lock;	/* protects codes */
	struct kal_event_codes codes;
};

/* Remove the next event. Return: its code, or -1 if there is none. */
static int kal_rnic_event_next(struct kal_rnic_events *events)
{
	int event = -1;

	scoped_guard(spinlock_irqsave, &events->lock) {
		if (events->codes.num) {
			event = events->codes.code[0];
			kal_event_codes_remove(&events->codes, 0);
		}
	}
	return event;
}

static void kal_rnic_event_fn(struct work_struct *work)
{
	struct kal_rnic_events *events = container_of(work, struct kal_rnic_events, work);
	struct ri_rnic *rnic = events->rnic;
	int event;

	guard(krdma_noio)();
	while ((event = kal_rnic_event_next(events)) >= 0)
		if (kal_rnic_live(rnic))
			kal_clients_event(rnic, event);
	ri_rnic_put(rnic);
}

int kal_rnic_events_init(struct ri_rnic *rnic)
{
	struct kal_rnic_events *events = kzalloc(sizeof(*events), GFP_KERNEL);

	if (!events)
		return -ENOMEM;
	INIT_WORK(&events->work, kal_rnic_event_fn);
	spin_lock_init(&events->lock);
	events->rnic = rnic;
	rnic->events = events;
	return 0;
}

void kal_rnic_events_exit(struct ri_rnic *rnic)
{
	kfree(rnic->events);
}

/**
 * kal_rnic_event() - deliver an event of the RNIC itself to all consumer sides
 * @rnic: RNIC
 * @event: event
 *
 * The event is never lost. Context: any but hard interrupt.
 */
void kal_rnic_event(struct ri_rnic *rnic, enum ib_event_type event)
{
	struct kal_rnic_events *events = rnic->events;

	scoped_guard(spinlock_irqsave, &events->lock)
		kal_event_codes_add(&events->codes, event, ktime_get_ns());
	kal_rnic_get(rnic);
	if (!queue_work(kal_event_wq, &events->work))
		ri_rnic_put(rnic);
}

/* Wait for the delivery of queued events. May sleep. */
void kal_event_flush(void)
{
	flush_workqueue(kal_event_wq);
}

void ri_completion_event(struct ri_cq *cq)
{
	trace_completion_event(cq);
	if (cq->on_completion)
		cq->on_completion(cq);
}
EXPORT_SYMBOL_GPL(ri_completion_event);

static void kal_obj_event(struct ri_obj *obj, enum ib_event_type event)
{
	struct ri_srq *srq;
	struct ri_cq *cq;
	struct ri_qp *qp;

	switch (obj->type) {
	case RI_OBJ_CQ:
		cq = container_of(obj, struct ri_cq, obj);
		if (cq->on_event)
			cq->on_event(cq, event);
		break;
	case RI_OBJ_SRQ:
		srq = container_of(obj, struct ri_srq, obj);
		if (srq->on_event)
			srq->on_event(srq, event);
		break;
	case RI_OBJ_QP:
		qp = container_of(obj, struct ri_qp, obj);
		if (qp->on_event)
			qp->on_event(qp, event);
		break;
	default:
		break;
	}
}

void ri_async_event(struct ri_rnic *rnic, const struct ri_async_event *event)
{
	struct ri_obj *obj;

	trace_async_event(rnic, event);
	if (event->type >= RI_OBJ_TYPES) {
		kal_rnic_event(rnic, event->event);
		return;
	}
	obj = kal_obj_get(rnic, event->type, event->id);
	if (!obj)
		return;
	kal_obj_event(obj, event->event);
	kal_obj_put(obj);
}
EXPORT_SYMBOL_GPL(ri_async_event);

int kal_event_init(void)
{
	kal_event_wq = alloc_ordered_workqueue("krdma_event", WQ_MEM_RECLAIM);
	return kal_event_wq ? 0 : -ENOMEM;
}

void kal_event_exit(void)
{
	destroy_workqueue(kal_event_wq);
}
