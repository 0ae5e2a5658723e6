// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The queue of kDAPL's event dispatchers: order, room, which events call up, purge and resize. */
#include <linux/array_size.h>
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/types.h>

#include "../../kal/kdapl/events/evd_ring.h"
#include "ktest.h"

#define PUT	false
#define POLLED	true
#define QUIET	false
#define NOTIFY	true

static char eps[2];

static void begin(struct ktest *test, struct kdat_evd_ring *ring, u32 capacity, u32 size)
{
	kdat_evd_ring_init(ring, ktest_alloc(test, capacity * sizeof(*ring->entries)), capacity,
			   size);
}

/* A DTO completion of endpoint 0 or 1, or an event that was put; @id says which one. */
static bool add(struct kdat_evd_ring *ring, bool polled, bool notify, unsigned int ep, u32 id)
{
	DAT_EVENT event;

	memset(&event, 0, sizeof(event));
	event.event_number = polled ? DAT_DTO_COMPLETION_EVENT : DAT_CONNECTION_EVENT_ESTABLISHED;
	if (polled)
		event.event_data.dto_completion_event_data.ep_handle = &eps[ep];
	event.event_extension_data[0] = id;
	return kdat_evd_ring_add(ring, &event, polled, notify);
}

/* Return: the id of the oldest event, 0: none; large: call again */
static u32 take(struct kdat_evd_ring *ring)
{
	DAT_EVENT event;
	int ret = kdat_evd_ring_pop(ring, &event);

	return ret > 0 ? event.event_extension_data[0] : ret;
}

static void keeps_order(struct ktest *test)
{
	struct kdat_evd_ring ring;
	u32 i, next = 1, last = 1;

	begin(test, &ring, 8, 4);
	/* the indices wrap */
	ring.head = -20;
	ring.tail = -20;
	ring.suppressed = -20;
	for (i = 0; i < 50; i++) {
		KTEST_TRUE(test, add(&ring, i % 3, NOTIFY, 0, next++));
		KTEST_TRUE(test, add(&ring, PUT, QUIET, 0, next++));
		KTEST_EQ(test, kdat_evd_ring_count(&ring), 2);
		KTEST_EQ(test, ring.notify, 1);
		KTEST_EQ(test, take(&ring), last++);
		KTEST_EQ(test, take(&ring), last++);
		KTEST_EQ(test, take(&ring), 0);
		KTEST_EQ(test, ring.notify, 0);
		KTEST_EQ(test, ring.marked, 0);
	}
}

static void each_way_has_room(struct ktest *test)
{
	struct kdat_evd_ring ring;
	u32 i;

	begin(test, &ring, 8, 3);
	for (i = 1; i <= 3; i++)
		KTEST_TRUE(test, add(&ring, POLLED, NOTIFY, 0, i));
	KTEST_FALSE(test, add(&ring, POLLED, NOTIFY, 0, 99));
	KTEST_EQ(test, kdat_evd_ring_room(&ring, PUT), 3);
	for (i = 4; i <= 6; i++)
		KTEST_TRUE(test, add(&ring, PUT, NOTIFY, 0, i));
	KTEST_FALSE(test, add(&ring, PUT, NOTIFY, 0, 99));
	KTEST_EQ(test, kdat_evd_ring_room(&ring, PUT), 0);
	KTEST_EQ(test, kdat_evd_ring_room(&ring, POLLED), 0);
	for (i = 1; i <= 6; i++)
		KTEST_EQ(test, take(&ring), i);
	KTEST_EQ(test, take(&ring), 0);
}

static void memory_limits_both_ways(struct ktest *test)
{
	struct kdat_evd_ring ring;

	begin(test, &ring, 2, 2);
	KTEST_TRUE(test, add(&ring, POLLED, NOTIFY, 0, 1));
	KTEST_TRUE(test, add(&ring, PUT, NOTIFY, 0, 2));
	KTEST_EQ(test, kdat_evd_ring_room(&ring, PUT), 0);
	KTEST_FALSE(test, add(&ring, POLLED, NOTIFY, 0, 3));
	KTEST_EQ(test, take(&ring), 1);
	KTEST_EQ(test, take(&ring), 2);
}

static void without_memory_takes_nothing(struct ktest *test)
{
	struct kdat_evd_ring ring = {};

	KTEST_EQ(test, kdat_evd_ring_room(&ring, PUT), 0);
	KTEST_FALSE(test, add(&ring, PUT, NOTIFY, 0, 1));
	KTEST_EQ(test, take(&ring), 0);
}

static void hushed_events_do_not_call_up(struct ktest *test)
{
	struct kdat_evd_ring ring;

	begin(test, &ring, 16, 8);
	add(&ring, PUT, NOTIFY, 0, 1);
	add(&ring, POLLED, QUIET, 0, 2);
	add(&ring, POLLED, NOTIFY, 0, 3);
	KTEST_EQ(test, ring.notify, 2);
	kdat_evd_ring_suppress(&ring);
	KTEST_EQ(test, ring.notify, 0);
	add(&ring, PUT, NOTIFY, 0, 4);
	KTEST_EQ(test, ring.notify, 1);
	/* older ones are not counted when they go */
	KTEST_EQ(test, take(&ring), 1);
	KTEST_EQ(test, ring.notify, 1);
	KTEST_EQ(test, ring.marked, 2);
	/* those that are left call up after all */
	kdat_evd_ring_enable(&ring);
	KTEST_EQ(test, ring.notify, 2);
	KTEST_EQ(test, take(&ring), 2);
	KTEST_EQ(test, take(&ring), 3);
	KTEST_EQ(test, take(&ring), 4);
	KTEST_EQ(test, ring.notify, 0);
	KTEST_EQ(test, ring.marked, 0);
}

static void hush_ends_with_its_events(struct ktest *test)
{
	struct kdat_evd_ring ring;
	u32 i;

	begin(test, &ring, 4, 4);
	kdat_evd_ring_suppress(&ring);
	/* more events than half of the index's range lie behind */
	for (i = 0; i < 3; i++) {
		add(&ring, PUT, NOTIFY, 0, 1);
		take(&ring);
		ring.head += 0x60000000;
		ring.tail = ring.head;
		add(&ring, PUT, NOTIFY, 0, 2);
		take(&ring);
		KTEST_EQ(test, ring.suppressed, ring.head);
	}
	add(&ring, PUT, NOTIFY, 0, 3);
	KTEST_EQ(test, ring.notify, 1);
}

static void purges_one_endpoint(struct ktest *test)
{
	struct kdat_evd_ring ring;
	u32 pos = 0;

	begin(test, &ring, 16, 8);
	add(&ring, POLLED, NOTIFY, 0, 1);
	add(&ring, PUT, NOTIFY, 0, 2);
	add(&ring, POLLED, NOTIFY, 0, 3);
	add(&ring, POLLED, QUIET, 1, 4);
	kdat_evd_ring_suppress(&ring);
	add(&ring, POLLED, NOTIFY, 0, 5);
	add(&ring, POLLED, NOTIFY, 1, 6);
	KTEST_TRUE(test, kdat_evd_ring_purge(&ring, &pos, &eps[0]));
	KTEST_EQ(test, kdat_evd_ring_count(&ring), 3);
	KTEST_EQ(test, ring.notify, 1);
	KTEST_EQ(test, ring.marked, 2);
	/* the dead at the head are gone, those behind the event that was put wait for it */
	KTEST_EQ(test, ring.dead, 2);
	KTEST_EQ(test, take(&ring), 2);
	KTEST_EQ(test, take(&ring), 4);
	KTEST_EQ(test, take(&ring), 6);
	KTEST_EQ(test, take(&ring), 0);
	KTEST_EQ(test, ring.dead, 0);
	KTEST_EQ(test, ring.polled, 0);
	KTEST_EQ(test, ring.put, 0);
	KTEST_EQ(test, ring.notify, 0);
}

static void purges_in_steps(struct ktest *test)
{
	const u32 n = 3 * KDAT_EVD_RING_STEP + 5;
	struct kdat_evd_ring ring;
	u32 i, pos = 0, steps = 0, again = 0, id;

	begin(test, &ring, 512, 256);
	add(&ring, PUT, NOTIFY, 0, 1);
	for (i = 0; i < n; i++)
		add(&ring, POLLED, NOTIFY, 0, 2);
	add(&ring, POLLED, NOTIFY, 1, 3);
	while (!kdat_evd_ring_purge(&ring, &pos, &eps[0]))
		steps++;
	KTEST_EQ(test, steps, 3);
	KTEST_EQ(test, ring.dead, n);
	KTEST_EQ(test, kdat_evd_ring_count(&ring), 2);
	KTEST_EQ(test, ring.notify, 2);
	KTEST_EQ(test, take(&ring), 1);
	while ((id = take(&ring)) == (u32)-EAGAIN)
		again++;
	KTEST_EQ(test, again, 3);
	KTEST_EQ(test, id, 3);
	KTEST_EQ(test, take(&ring), 0);
	KTEST_EQ(test, ring.dead, 0);
}

static void resizes_in_use(struct ktest *test)
{
	struct kdat_evd_ring ring, to;
	u32 i, pos, next = 1, last = 1, steps = 0;

	begin(test, &ring, 512, 512);
	begin(test, &to, 256, 200);
	ring.head = -100;
	ring.tail = -100;
	ring.suppressed = -100;
	for (i = 0; i < 190; i++)
		add(&ring, PUT, NOTIFY, 0, next++);
	KTEST_TRUE(test, kdat_evd_ring_fits(&ring, 190));
	KTEST_FALSE(test, kdat_evd_ring_fits(&ring, 189));
	pos = ring.head;
	while (!kdat_evd_ring_copy(&ring, &to, &pos)) {
		/* meanwhile, events come and go */
		KTEST_EQ(test, take(&ring), last++);
		add(&ring, PUT, NOTIFY, 0, next++);
		steps++;
	}
	KTEST_TRUE(test, steps >= 2);
	KTEST_TRUE(test, kdat_evd_ring_fits(&ring, to.size));
	kdat_evd_ring_switch(&ring, &to);
	KTEST_EQ(test, ring.size, 200);
	KTEST_EQ(test, kdat_evd_ring_room(&ring, PUT), 10);
	KTEST_EQ(test, ring.notify, 190);
	while (last < next)
		KTEST_EQ(test, take(&ring), last++);
	KTEST_EQ(test, take(&ring), 0);
	KTEST_EQ(test, ring.notify, 0);
}

static void resize_skips_what_was_taken(struct ktest *test)
{
	struct kdat_evd_ring ring, to;
	u32 i, pos, last = 1;

	begin(test, &ring, 256, 256);
	begin(test, &to, 64, 64);
	for (i = 1; i <= 200; i++)
		add(&ring, PUT, NOTIFY, 0, i);
	pos = ring.head;
	KTEST_FALSE(test, kdat_evd_ring_copy(&ring, &to, &pos));
	/* the consumer overtakes the copy */
	while (last <= 150)
		KTEST_EQ(test, take(&ring), last++);
	KTEST_TRUE(test, kdat_evd_ring_copy(&ring, &to, &pos));
	kdat_evd_ring_switch(&ring, &to);
	while (last <= 200)
		KTEST_EQ(test, take(&ring), last++);
	KTEST_EQ(test, take(&ring), 0);
}

/* Completions are written where they stay, in rows that end with the memory. */
static void takes_completions_in_place(struct ktest *test)
{
	struct kdat_evd_ring ring;
	struct kdat_evd_entry *row;
	u32 num, i, last = 1;

	begin(test, &ring, 8, 6);
	for (i = 0; i < 5; i++)
		add(&ring, PUT, NOTIFY, 0, 90);
	while (take(&ring))
		;
	num = 16;
	row = kdat_evd_ring_space(&ring, &num);
	KTEST_EQ(test, num, 3);
	for (i = 0; i < num; i++) {
		row[i].event.event_extension_data[0] = i + 1;
		row[i].notify = i != 1;
	}
	kdat_evd_ring_commit(&ring, 3);
	KTEST_EQ(test, ring.notify, 2);
	num = 2;
	row = kdat_evd_ring_space(&ring, &num);
	KTEST_EQ(test, num, 2);
	row[0].event.event_extension_data[0] = 4;
	row[0].notify = true;
	kdat_evd_ring_commit(&ring, 1);
	KTEST_EQ(test, kdat_evd_ring_count(&ring), 4);
	KTEST_EQ(test, ring.notify, 3);
	num = 16;
	kdat_evd_ring_space(&ring, &num);
	KTEST_EQ(test, num, 2);
	while (last <= 4)
		KTEST_EQ(test, take(&ring), last++);
	KTEST_EQ(test, take(&ring), 0);
	KTEST_EQ(test, ring.polled, 0);
}

static struct ktest_case cases[] = {
	KTEST_CASE(keeps_order),
	KTEST_CASE(each_way_has_room),
	KTEST_CASE(memory_limits_both_ways),
	KTEST_CASE(without_memory_takes_nothing),
	KTEST_CASE(hushed_events_do_not_call_up),
	KTEST_CASE(hush_ends_with_its_events),
	KTEST_CASE(purges_one_endpoint),
	KTEST_CASE(purges_in_steps),
	KTEST_CASE(resizes_in_use),
	KTEST_CASE(resize_skips_what_was_taken),
	KTEST_CASE(takes_completions_in_place),
	{}
};

KTEST_SUITE(krdma_kdat_evd, cases);
