// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The queue of an event dispatcher; see evd_ring.h. */
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "evd_ring.h"

static struct kdat_evd_entry *kdat_evd_ring_at(const struct kdat_evd_ring *ring, u32 index)
{
	return &ring->entries[index & ring->mask];
}

/* Is index @a before @b? */
static bool kdat_evd_ring_before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

/**
 * kdat_evd_ring_init() - an empty ring
 * @ring: ring
 * @entries: memory
 * @capacity: number of @entries, a power of two
 * @size: queue length: limit of the events of each way
 */
void kdat_evd_ring_init(struct kdat_evd_ring *ring, struct kdat_evd_entry *entries, u32 capacity,
			u32 size)
{
	memset(ring, 0, sizeof(*ring));
	ring->entries = entries;
	ring->mask = capacity - 1;
	ring->size = size;
}

/* Turn the entry at the tail into an event; its event and notify are set. */
static void kdat_evd_ring_push(struct kdat_evd_ring *ring, bool polled)
{
	struct kdat_evd_entry *entry = kdat_evd_ring_at(ring, ring->tail++);

	entry->polled = polled;
	entry->dead = false;
	if (polled)
		ring->polled++;
	else
		ring->put++;
	ring->marked += entry->notify;
	ring->notify += entry->notify;
}

/**
 * kdat_evd_ring_add() - add an event
 * @ring: ring
 * @event: event, copied
 * @polled: it is a completion from the CQ
 * @notify: it calls up
 *
 * Return: the event in the ring, or NULL: there is no room.
 */
DAT_EVENT *kdat_evd_ring_add(struct kdat_evd_ring *ring, const DAT_EVENT *event, bool polled,
			     bool notify)
{
	struct kdat_evd_entry *entry;

	if (!kdat_evd_ring_room(ring, polled))
		return NULL;
	entry = kdat_evd_ring_at(ring, ring->tail);
	entry->event = *event;
	entry->notify = notify;
	kdat_evd_ring_push(ring, polled);
	return &entry->event;
}

/**
 * kdat_evd_ring_space() - get entries for the next completions
 * @ring: ring
 * @num: most entries that are wanted; gets the number of contiguous ones
 *
 * The caller sets event and notify of some, and makes them events with kdat_evd_ring_commit().
 *
 * Return: the first one.
 */
struct kdat_evd_entry *kdat_evd_ring_space(const struct kdat_evd_ring *ring, u32 *num)
{
	const u32 row = ring->mask + 1 - (ring->tail & ring->mask);

	*num = min(min(*num, row), kdat_evd_ring_room(ring, true));
	return kdat_evd_ring_at(ring, ring->tail);
}

/* The first @num entries of kdat_evd_ring_space() are events now. */
void kdat_evd_ring_commit(struct kdat_evd_ring *ring, u32 num)
{
	for (; num; num--)
		kdat_evd_ring_push(ring, true);
}

/* Uncount the event at @index, which is being taken: it is not marked any more. */
static void kdat_evd_ring_unmark(struct kdat_evd_ring *ring, u32 index)
{
	if (!kdat_evd_ring_at(ring, index)->notify)
		return;
	ring->marked--;
	if (!kdat_evd_ring_before(index, ring->suppressed))
		ring->notify--;
}

static void kdat_evd_ring_drop_head(struct kdat_evd_ring *ring)
{
	const struct kdat_evd_entry *entry = kdat_evd_ring_at(ring, ring->head);

	if (entry->dead)
		ring->dead--;
	else
		kdat_evd_ring_unmark(ring, ring->head);
	if (entry->polled)
		ring->polled--;
	else
		ring->put--;
	ring->head++;
	/* indices are compared by their distance: do not let it grow */
	if (kdat_evd_ring_before(ring->suppressed, ring->head))
		ring->suppressed = ring->head;
}

/* Drop some dead events at the head. Return: false: there are more. */
static bool kdat_evd_ring_trim(struct kdat_evd_ring *ring)
{
	u32 n;

	for (n = 0; n < KDAT_EVD_RING_STEP; n++) {
		if (ring->head == ring->tail || !kdat_evd_ring_at(ring, ring->head)->dead)
			return true;
		kdat_evd_ring_drop_head(ring);
	}
	return ring->head == ring->tail || !kdat_evd_ring_at(ring, ring->head)->dead;
}

/**
 * kdat_evd_ring_pop() - take the oldest event
 * @ring: ring
 * @event: takes it
 *
 * Return: 1; 0 when the ring is empty; -EAGAIN when it has many dead events: unlock and call again.
 */
int kdat_evd_ring_pop(struct kdat_evd_ring *ring, DAT_EVENT *event)
{
	if (!kdat_evd_ring_trim(ring))
		return -EAGAIN;
	if (ring->head == ring->tail)
		return 0;
	*event = kdat_evd_ring_at(ring, ring->head)->event;
	kdat_evd_ring_drop_head(ring);
	return 1;
}

/* Events that are in the ring do not call up any more. */
void kdat_evd_ring_suppress(struct kdat_evd_ring *ring)
{
	ring->suppressed = ring->tail;
	ring->notify = 0;
}

/* All marked events in the ring call up. */
void kdat_evd_ring_enable(struct kdat_evd_ring *ring)
{
	ring->suppressed = ring->head;
	ring->notify = ring->marked;
}

static bool kdat_evd_ring_is_of(const struct kdat_evd_entry *entry, DAT_EP_HANDLE ep)
{
	const u32 number = entry->event.event_number;

	return entry->polled && !entry->dead &&
	       (number == DAT_DTO_COMPLETION_EVENT || number == DAT_IB_DTO_EVENT) &&
	       entry->event.event_data.dto_completion_event_data.ep_handle == ep;
}

/**
 * kdat_evd_ring_purge() - drop completions of an endpoint
 * @ring: ring
 * @pos: where to continue; the head's index before the first call
 * @ep: endpoint; no more of its completions are added
 *
 * Return: true when all have been dropped; false: unlock and call again.
 */
bool kdat_evd_ring_purge(struct kdat_evd_ring *ring, u32 *pos, DAT_EP_HANDLE ep)
{
	u32 n;

	if (kdat_evd_ring_before(*pos, ring->head))
		*pos = ring->head;
	for (n = 0; n < KDAT_EVD_RING_STEP && *pos != ring->tail; n++, (*pos)++) {
		struct kdat_evd_entry *entry = kdat_evd_ring_at(ring, *pos);

		if (!kdat_evd_ring_is_of(entry, ep))
			continue;
		kdat_evd_ring_unmark(ring, *pos);
		entry->dead = true;
		ring->dead++;
	}
	return kdat_evd_ring_trim(ring) && *pos == ring->tail;
}

/* Return: whether the events in @ring fit into a queue of @size. */
bool kdat_evd_ring_fits(const struct kdat_evd_ring *ring, u32 size)
{
	return ring->put <= size && ring->polled <= size;
}

/**
 * kdat_evd_ring_copy() - copy some events to a ring that is to take the place of this one
 * @ring: ring; events may be added and taken between two calls, but none is purged
 * @to: new ring
 * @pos: where to continue; the head's index before the first call
 *
 * Return: true when @to has all events: kdat_evd_ring_switch() before unlocking, if they fit.
 */
bool kdat_evd_ring_copy(const struct kdat_evd_ring *ring, struct kdat_evd_ring *to, u32 *pos)
{
	u32 n;

	if (kdat_evd_ring_before(*pos, ring->head))
		*pos = ring->head;
	for (n = 0; n < KDAT_EVD_RING_STEP && *pos != ring->tail; n++, (*pos)++)
		*kdat_evd_ring_at(to, *pos) = *kdat_evd_ring_at(ring, *pos);
	return *pos == ring->tail;
}

/* Use the memory and the size of @to, which has all events. @to takes the old memory. */
void kdat_evd_ring_switch(struct kdat_evd_ring *ring, struct kdat_evd_ring *to)
{
	swap(ring->entries, to->entries);
	swap(ring->mask, to->mask);
	swap(ring->size, to->size);
}
