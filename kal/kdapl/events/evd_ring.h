/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The queue of an event dispatcher: a ring of events, oldest first. Pure functions; evd.c and
 * evd_upcall.c call them with kdat_evd.lock held, and the unit tests without.
 *
 * Events come in two ways: they are put, or they are completions that were polled from the CQ. Each
 * way has room for the queue length: completions that were polled early take no room from
 * connection events. Events that call up are marked.
 */
#ifndef KDAT_EVD_RING_H
#define KDAT_EVD_RING_H

#include <linux/minmax.h>
#include <linux/types.h>

#include <krdma/kdat.h>

#include "../fast/entry.h"

/* entries that a function looks at in one call: interrupts are off meanwhile */
#define KDAT_EVD_RING_STEP	64

/**
 * struct kdat_evd_ring - ring of events
 * @entries: memory, a power of two; NULL with a @size of 0: nothing fits
 * @mask: number of entries - 1
 * @size: limit of @put, and of @polled
 * @head: index of the oldest event; runs freely
 * @tail: index of the next event; runs freely
 * @suppressed: events before this index do not call up, marked or not
 * @put: events that were put
 * @polled: events that were polled, dead ones included
 * @dead: dead ones
 * @marked: marked events
 * @notify: marked events from @suppressed on: those that call up
 */
struct kdat_evd_ring {
	struct kdat_evd_entry *entries;
	u32 mask;
	u32 size;
	u32 head;
	u32 tail;
	u32 suppressed;
	u32 put;
	u32 polled;
	u32 dead;
	u32 marked;
	u32 notify;
};

/* Return: number of events that the consumer can take. */
static inline u32 kdat_evd_ring_count(const struct kdat_evd_ring *ring)
{
	return ring->put + ring->polled - ring->dead;
}

/* Return: number of events that can be added. @polled: the way that they come. */
static inline u32 kdat_evd_ring_room(const struct kdat_evd_ring *ring, bool polled)
{
	const u32 used = polled ? ring->polled : ring->put;

	if (!ring->size)
		return 0;
	return min(ring->size - used, ring->mask + 1 - (ring->tail - ring->head));
}

void kdat_evd_ring_init(struct kdat_evd_ring *ring, struct kdat_evd_entry *entries, u32 capacity,
			u32 size);
DAT_EVENT *kdat_evd_ring_add(struct kdat_evd_ring *ring, const DAT_EVENT *event, bool polled,
			     bool notify);
struct kdat_evd_entry *kdat_evd_ring_space(const struct kdat_evd_ring *ring, u32 *num);
void kdat_evd_ring_commit(struct kdat_evd_ring *ring, u32 num);
int kdat_evd_ring_pop(struct kdat_evd_ring *ring, DAT_EVENT *event);
void kdat_evd_ring_suppress(struct kdat_evd_ring *ring);
void kdat_evd_ring_enable(struct kdat_evd_ring *ring);
bool kdat_evd_ring_purge(struct kdat_evd_ring *ring, u32 *pos, DAT_EP_HANDLE ep);
bool kdat_evd_ring_fits(const struct kdat_evd_ring *ring, u32 size);
bool kdat_evd_ring_copy(const struct kdat_evd_ring *ring, struct kdat_evd_ring *to, u32 *pos);
void kdat_evd_ring_switch(struct kdat_evd_ring *ring, struct kdat_evd_ring *to);

#endif /* KDAT_EVD_RING_H */
