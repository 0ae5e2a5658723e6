// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Event dispatchers over a CQ that never runs dry: dat_evd_dequeue() and a change of the upcalls
 * look at a bounded number of completions, and no event is overlooked. Upcalls get the events in
 * their order, whatever else takes some. Receives that were held as early ones come before what is
 * in the CQ. Each overflow is reported. Runs only in the kernel.
 */
#include "../../kal/kdapl/events/evd_upcall.c"
#include "../../kal/kdapl/events/evd_early.c"
#include "ktest.h"

#define RING	32

/**
 * struct bed - an EVD with a CQ of the test
 * @evd: EVD
 * @ia: its IA
 * @kr: its RNIC
 * @rnic: the same
 * @cq: CQ
 * @entries: queue of @evd
 * @supply: completions that are in the CQ or will be
 * @taken: completions that were polled
 * @polls: calls
 * @event: number, from 1, of the completion that becomes an event; the others are suppressed. 0 in
 *	a bed with @each: all become events
 * @each: called with each event, in the order in which they come
 * @last: number of the last event that came
 * @disorder: one came out of its turn
 * @direct: events that came without the lock: they were in the batch still
 * @called: an upcall has brought the event; with @each, all that the CQ has
 */
struct bed {
	struct kdat_evd evd;
	struct kdat_ia ia;
	struct kdat_rnic kr;
	struct ri_rnic rnic;
	struct ri_cq cq;
	struct kdat_evd_entry entries[RING];
	u64 supply;
	u64 taken;
	u64 polls;
	u64 event;
	void (*each)(struct bed *bed);
	u64 last;
	bool disorder;
	u64 direct;
	struct completion called;
};

/* what evd_upcall.c calls */

unsigned int kdat_dto_events(struct kdat_evd *evd, const struct ib_wc *wc, unsigned int num,
			     struct kdat_evd_entry *entries, u32 *quiet)
{
	struct bed *bed = container_of(evd, struct bed, evd);
	unsigned int events = 0;

	for (; num; num--, wc++) {
		DAT_EVENT *event = &entries[events].event;
		/* held ones have an endpoint, and their number in the cookie */
		const struct kdat_dto *dto = (const struct kdat_dto *)(uintptr_t)wc->wr_id;
		const u64 number = wc->qp ? dto->cookie.as_64 : wc->wr_id;

		if (wc->wr_id != bed->event && !bed->each)
			continue;
		memset(event, 0, sizeof(*event));
		event->event_number = DAT_DTO_COMPLETION_EVENT;
		event->event_extension_data[0] = number;
		entries[events++].notify = true;
	}
	return events;
}

bool kdat_evd_lengthen(struct kdat_evd *evd)
{
	return false;
}

static int bed_poll(struct ri_cq *cq, int max, struct ib_wc *wc)
{
	struct bed *bed = container_of(cq, struct bed, cq);
	int n = 0;

	bed->polls++;
	for (; n < max && bed->taken < bed->supply; n++)
		wc[n] = (struct ib_wc){ .wr_id = ++bed->taken };
	return n;
}

static int bed_notify(struct ri_cq *cq, enum ib_cq_notify_flags flags)
{
	const struct bed *bed = container_of(cq, struct bed, cq);

	return bed->taken < bed->supply;
}

static const struct ri_ops bed_ops = {
	.cq_poll = bed_poll,
	.cq_req_notify = bed_notify,
};

/* An event came. */
static void bed_came(struct bed *bed, const DAT_EVENT *event)
{
	bed->disorder |= event->event_extension_data[0] != ++bed->last;
}

static void bed_upcall(DAT_PVOID instance, const DAT_EVENT *event, DAT_BOOLEAN more)
{
	struct bed *bed = instance;
	DAT_EVENT taken;

	if (bed->each) {
		bed_came(bed, event);
		bed->direct += (void *)event >= (void *)&bed->evd.batch &&
			       (void *)event < (void *)(&bed->evd.batch + 1);
		bed->each(bed);
		if (bed->last < bed->supply)
			return;
	} else if (!event && kdat_evd_take(&bed->evd, &taken) != DAT_SUCCESS) {
		return;
	}
	complete(&bed->called);
}

static struct bed *bed_open(struct ktest *test, DAT_UPCALL_POLICY policy, u64 supply, u64 event)
{
	struct bed *bed = ktest_alloc(test, sizeof(*bed));
	struct kdat_evd *evd = &bed->evd;

	memset(bed, 0, sizeof(*bed));
	bed->supply = supply;
	bed->event = event;
	init_completion(&bed->called);
	bed->rnic.ops = &bed_ops;
	bed->kr.rnic = &bed->rnic;
	bed->ia.kr = &bed->kr;
	bed->cq.obj.rnic = &bed->rnic;
	bed->cq.consumer = evd;
	evd->obj.ia = &bed->ia;
	evd->bh = true;
	evd->cq = &bed->cq;
	evd->plain_streams = 1;
	evd->policy = policy;
	evd->upcall = (DAT_UPCALL_OBJECT){ .instance_data = bed, .upcall_func = bed_upcall };
	/* the CQ reports by kdat_evd_on_completion(), which is not called here */
	evd->armed = true;
	spin_lock_init(&evd->lock);
	kdat_evd_ring_init(&evd->ring, bed->entries, RING, RING);
	kdat_evd_upcalls_init(evd);
	return bed;
}

static void bed_close(struct bed *bed)
{
	kdat_evd_stop(&bed->evd);
}

static void dequeue_is_bounded(struct ktest *test)
{
	struct bed *bed = bed_open(test, DAT_UPCALL_DISABLE, U64_MAX, 0);
	DAT_EVENT event;
	u64 i;

	for (i = 1; i <= 3; i++) {
		KTEST_EQ(test, DAT_GET_TYPE(kdat_evd_take(&bed->evd, &event)), DAT_QUEUE_EMPTY);
		KTEST_EQ(test, bed->polls, i * KDAT_EVD_ROUNDS);
		KTEST_EQ(test, bed->taken, i * KDAT_EVD_ROUNDS * KDAT_EVD_POLL);
	}
	bed_close(bed);
}

/* an event that is in reach of one call, behind as many suppressed ones as can be */
static void dequeue_reaches_an_event(struct ktest *test)
{
	const u64 last = (KDAT_EVD_ROUNDS - 1) * KDAT_EVD_POLL;
	struct bed *bed = bed_open(test, DAT_UPCALL_DISABLE, U64_MAX, last);
	DAT_EVENT event;

	KTEST_EQ(test, kdat_evd_take(&bed->evd, &event), DAT_SUCCESS);
	KTEST_EQ(test, event.event_extension_data[0], last);
	bed_close(bed);
}

/* one that is not in reach is there in the next call */
static void dequeue_goes_on(struct ktest *test)
{
	const u64 first = KDAT_EVD_ROUNDS * KDAT_EVD_POLL + 1;
	struct bed *bed = bed_open(test, DAT_UPCALL_DISABLE, U64_MAX, first);
	DAT_EVENT event;

	KTEST_EQ(test, DAT_GET_TYPE(kdat_evd_take(&bed->evd, &event)), DAT_QUEUE_EMPTY);
	KTEST_EQ(test, kdat_evd_take(&bed->evd, &event), DAT_SUCCESS);
	KTEST_EQ(test, event.event_extension_data[0], first);
	bed_close(bed);
}

/* A consumer that was told, and is sent away before the queue is empty, is told again. */
static void dequeue_leaves_no_event_behind(struct ktest *test)
{
	const u64 far = 3 * KDAT_EVD_ROUNDS * KDAT_EVD_POLL;
	struct bed *bed = bed_open(test, DAT_UPCALL_NORIFY, far, far);
	DAT_EVENT event;

	bed->evd.notified = true;
	bed->evd.armed = false;
	KTEST_EQ(test, DAT_GET_TYPE(kdat_evd_take(&bed->evd, &event)), DAT_QUEUE_EMPTY);
	KTEST_TRUE(test, wait_for_completion_timeout(&bed->called, 10 * HZ));
	KTEST_EQ(test, bed->taken, far);
	bed_close(bed);
}

/* A change to upcalls for new events alone looks at all that wait, which may grow meanwhile. */
static void change_is_bounded(struct ktest *test)
{
	struct bed *bed = bed_open(test, DAT_UPCALL_DISABLE, U64_MAX, 0);

	kdat_evd_change(&bed->evd, DAT_UPCALL_NORIFY, NULL, true);
	KTEST_EQ(test, bed->evd.policy, DAT_UPCALL_NORIFY);
	KTEST_TRUE(test, bed->polls <= RING / KDAT_EVD_POLL + 2);
	bed_close(bed);
}

/* Upcalls for 100 completions, which call @each. Return: when all have come. */
static void bed_call_up(struct ktest *test, void (*each)(struct bed *bed))
{
	struct bed *bed = bed_open(test, DAT_UPCALL_SINGLE_INSTANCE, 100, 0);

	bed->each = each;
	kdat_evd_on_completion(&bed->cq);
	KTEST_TRUE(test, wait_for_completion_timeout(&bed->called, 10 * HZ));
	KTEST_EQ(test, bed->last, 100);
	KTEST_FALSE(test, bed->disorder);
	bed_close(bed);
}

static void each_nothing(struct bed *bed)
{
}

static void upcalls_keep_order(struct ktest *test)
{
	bed_call_up(test, each_nothing);
}

/* However many completions there are, all but one of each batch come without the lock. */
static void batches_go_on(struct ktest *test)
{
	struct bed *bed = bed_open(test, DAT_UPCALL_SINGLE_INSTANCE, 10 * KDAT_EVD_POLL, 0);

	bed->each = each_nothing;
	kdat_evd_on_completion(&bed->cq);
	KTEST_TRUE(test, wait_for_completion_timeout(&bed->called, 10 * HZ));
	KTEST_EQ(test, bed->direct, 10 * (KDAT_EVD_POLL - 1));
	KTEST_FALSE(test, bed->disorder);
	bed_close(bed);
}

/* an upcall takes the next event, too, each time at another place of a batch */
static void each_take(struct bed *bed)
{
	DAT_EVENT event;

	if (bed->last % 5 == 0 && kdat_evd_take(&bed->evd, &event) == DAT_SUCCESS)
		bed_came(bed, &event);
}

static void upcalls_and_dequeue_keep_order(struct ktest *test)
{
	bed_call_up(test, each_take);
}

/* an event that is put comes after those that were polled before */
static void each_put(struct bed *bed)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };

	if (bed->last != 3)
		return;
	event.event_extension_data[0] = KDAT_EVD_POLL + 1;
	kdat_evd_put(&bed->evd, &event);
	/* the completions that follow have the numbers after that */
	bed->taken++;
}

static void upcalls_and_put_keep_order(struct ktest *test)
{
	bed_call_up(test, each_put);
}

static void each_disable(struct bed *bed)
{
	if (bed->last == 3) {
		kdat_evd_change(&bed->evd, DAT_UPCALL_DISABLE, NULL, true);
		complete(&bed->called);
	}
}

/* No upcall begins after that, and what was polled is in the queue. */
static void change_stops_a_batch(struct ktest *test)
{
	struct bed *bed = bed_open(test, DAT_UPCALL_SINGLE_INSTANCE, 100, 0);
	DAT_EVENT event;

	bed->each = each_disable;
	kdat_evd_on_completion(&bed->cq);
	KTEST_TRUE(test, wait_for_completion_timeout(&bed->called, 10 * HZ));
	kdat_evd_stop(&bed->evd);
	KTEST_EQ(test, bed->last, 3);
	while (bed->last < 100 && kdat_evd_take(&bed->evd, &event) == DAT_SUCCESS)
		bed_came(bed, &event);
	KTEST_EQ(test, bed->last, 100);
	KTEST_FALSE(test, bed->disorder);
}

/* An endpoint with receives that complete early; bed->taken of them */
static struct kdat_ep *bed_hold(struct ktest *test, struct bed *bed)
{
	struct kdat_ep *ep = ktest_alloc(test, sizeof(*ep));
	const struct ib_wc wc = {};
	struct kdat_dto *dto;
	unsigned long flags;
	u64 i;

	memset(ep, 0, sizeof(*ep));
	INIT_LIST_HEAD(&ep->early_node);
	ep->recv_evd = &bed->evd;
	KTEST_EQ(test, kdat_slots_init(&ep->recvs, ep, NULL, 2 * RING, 0), 0);
	kdat_early_begin(ep);
	for (i = 1; i <= bed->taken; i++) {
		dto = kdat_slot_get(&ep->recvs);
		dto->cookie.as_64 = i;
		spin_lock_irqsave(&bed->evd.lock, flags);
		KTEST_TRUE(test, kdat_early_hold(ep, dto, &wc));
		spin_unlock_irqrestore(&bed->evd.lock, flags);
	}
	KTEST_TRUE(test, list_empty(&bed->evd.early));
	return ep;
}

/* more of them than the queue has room for, and than one poll takes; then those in the CQ */
static void held_receives_come_first(struct ktest *test)
{
	struct bed *bed = bed_open(test, DAT_UPCALL_SINGLE_INSTANCE, 100, 0);
	struct kdat_ep *ep;

	bed->each = each_nothing;
	bed->taken = RING + 5;
	ep = bed_hold(test, bed);
	kdat_early_end(ep);
	KTEST_TRUE(test, wait_for_completion_timeout(&bed->called, 10 * HZ));
	KTEST_EQ(test, bed->last, 100);
	KTEST_FALSE(test, bed->disorder);
	KTEST_TRUE(test, list_empty(&bed->evd.early) && !ep->early && !ep->early_first);
	bed_close(bed);
	kdat_slots_free(&ep->recvs);
}

/* the endpoint ends before and after its connection is reported */
static void held_receives_are_dropped(struct ktest *test)
{
	struct bed *bed = bed_open(test, DAT_UPCALL_DISABLE, 3, 0);
	struct kdat_ep *ep;
	DAT_EVENT event;
	int reported;

	bed->each = each_nothing;
	bed->taken = 3;
	for (reported = 0; reported < 2; reported++) {
		ep = bed_hold(test, bed);
		if (reported)
			kdat_early_end(ep);
		kdat_early_drop(ep);
		KTEST_EQ(test, DAT_GET_TYPE(kdat_evd_take(&bed->evd, &event)), DAT_QUEUE_EMPTY);
		kdat_slots_free(&ep->recvs);
	}
	bed_close(bed);
}

/* Put events until one is lost. */
static void bed_overflow(struct ktest *test, struct bed *bed)
{
	const DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	unsigned int i;

	for (i = 0; kdat_evd_put(&bed->evd, &event); i++)
		KTEST_TRUE(test, i < RING);
}

static void bed_take(struct ktest *test, struct bed *bed, DAT_EVENT_NUMBER number,
		     const struct bed *of)
{
	DAT_EVENT event;

	KTEST_EQ(test, kdat_evd_take(&bed->evd, &event), DAT_SUCCESS);
	KTEST_EQ(test, event.event_number, number);
	if (of)
		KTEST_TRUE(test, event.event_data.asynch_error_event_data.dat_handle == &of->evd);
}

static struct bed *bed_open_queue(struct ktest *test)
{
	struct bed *bed = bed_open(test, DAT_UPCALL_DISABLE, 0, 0);

	bed->evd.cq = NULL;
	return bed;
}

/* Each overflow is reported once, until there is room; and also if the report finds none. */
static void each_overflow_is_reported(struct ktest *test)
{
	struct bed *async = bed_open_queue(test), *bed = bed_open_queue(test);
	DAT_EVENT event;
	unsigned int i;

	bed->ia.async_evd = &async->evd;
	async->ia.async_evd = &async->evd;
	for (i = 0; i < 3; i++) {
		bed_overflow(test, bed);
		bed_overflow(test, bed);
		bed_take(test, async, DAT_ASYNC_ERROR_EVD_OVERFLOW, bed);
		KTEST_EQ(test, DAT_GET_TYPE(kdat_evd_take(&async->evd, &event)), DAT_QUEUE_EMPTY);
		bed_take(test, bed, DAT_SOFTWARE_EVENT, NULL);
	}
	bed_overflow(test, async);
	/* no room for the report */
	bed_overflow(test, bed);
	for (i = 0; i < RING; i++)
		bed_take(test, async, DAT_SOFTWARE_EVENT, NULL);
	bed_take(test, async, DAT_ASYNC_ERROR_EVD_OVERFLOW, async);
	KTEST_EQ(test, DAT_GET_TYPE(kdat_evd_take(&async->evd, &event)), DAT_QUEUE_EMPTY);
	/* the next loss is reported */
	bed_overflow(test, bed);
	bed_take(test, async, DAT_ASYNC_ERROR_EVD_OVERFLOW, bed);
	bed_close(bed);
	bed_close(async);
}

/*
 * A queue for asynchronous events loses an event, and the consumer empties it before that is noted.
 * It hears of the loss at once: it may not call again before the next event calls up.
 */
static void overflow_that_is_noted_late(struct ktest *test)
{
	struct bed *async = bed_open_queue(test);
	DAT_EVENT event;
	unsigned int i;

	async->ia.async_evd = &async->evd;
	for (i = 0; i < 2; i++) {
		kdat_evd_overflowed(&async->evd);
		bed_take(test, async, DAT_ASYNC_ERROR_EVD_OVERFLOW, async);
		KTEST_EQ(test, DAT_GET_TYPE(kdat_evd_take(&async->evd, &event)), DAT_QUEUE_EMPTY);
	}
	bed_close(async);
}

static struct ktest_case kdat_upcall_cases[] = {
	KTEST_CASE(dequeue_is_bounded),
	KTEST_CASE(dequeue_reaches_an_event),
	KTEST_CASE(dequeue_goes_on),
	KTEST_CASE(dequeue_leaves_no_event_behind),
	KTEST_CASE(change_is_bounded),
	KTEST_CASE(upcalls_keep_order),
	KTEST_CASE(batches_go_on),
	KTEST_CASE(upcalls_and_dequeue_keep_order),
	KTEST_CASE(upcalls_and_put_keep_order),
	KTEST_CASE(change_stops_a_batch),
	KTEST_CASE(held_receives_come_first),
	KTEST_CASE(held_receives_are_dropped),
	KTEST_CASE(each_overflow_is_reported),
	KTEST_CASE(overflow_that_is_noted_late),
	{}
};

KTEST_SUITE(kdat_upcall, kdat_upcall_cases);
