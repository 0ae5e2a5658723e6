// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Asynchronous events. A driver may report them in hard interrupts; the kAL takes them in softirq.
 * An event needs no memory, so none is lost. An event that comes twice before the report is
 * reported once.
 */
#include <krdma/compat.h>

#include "hw.h"

static void hw_events_work(struct work_struct *work)
{
	struct hw_events *events = container_of(work, struct hw_events, work);
	unsigned long pending = xchg(&events->pending, 0);
	struct ri_async_event event = {
		.type = events->obj ? events->obj->type : RI_OBJ_TYPES,
		.id = events->obj ? events->obj->id : 0,
	};
	unsigned int bit;

	for_each_set_bit(bit, &pending, BITS_PER_LONG) {
		event.event = bit;
		ri_async_event(events->rnic, &event);
	}
}

/* @obj: object, or NULL for the RNIC itself */
void hw_events_init(struct hw_events *events, struct ri_rnic *rnic, struct ri_obj *obj)
{
	INIT_WORK(&events->work, hw_events_work);
	events->pending = 0;
	events->rnic = rnic;
	events->obj = obj;
}

/* Context: any. */
void hw_events_raise(struct hw_events *events, enum ib_event_type event)
{
	if (WARN_ON_ONCE(event < 0 || event >= BITS_PER_LONG))
		return;
	set_bit(event, &events->pending);
	queue_work(system_bh_wq, &events->work);
}

/* The driver raises no event any more. No report is running on return. May sleep. */
void hw_events_end(struct hw_events *events)
{
	cancel_work_sync(&events->work);
}
