/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A batch of completions on their way to upcalls. The work item of an event dispatcher fills it
 * with the lock held, and hands the events over without the lock: it takes each by counting @next,
 * with an atomic operation. A thread that has the lock and depends on the order of events takes all
 * that is left, by one exchange of @next; then the work item finds no event, and takes the lock.
 * events/evd_upcall.c has the rules. fast.h has the measurement.
 */
#ifndef KDAT_BATCH_H
#define KDAT_BATCH_H

#include <linux/atomic.h>
#include <rdma/ib_verbs.h>

#include "entry.h"

#define KDAT_EVD_POLL	16	/* completions that are taken from a CQ at once */

/**
 * struct kdat_batch - some completions
 * @entries: their events
 * @wc: completions as the RNIC reports them, for a moment
 * @next: index of the oldest event that is not taken, @num or more: none
 * @num: number of events
 */
struct kdat_batch {
	struct kdat_evd_entry entries[KDAT_EVD_POLL];
	struct ib_wc wc[KDAT_EVD_POLL];
	u32 next;
	u32 num;
};

/* With the lock: @num events are in @entries, and may be taken. */
static inline void kdat_batch_open(struct kdat_batch *batch, u32 num)
{
	batch->num = num;
	WRITE_ONCE(batch->next, 0);
}

/* With the lock. Return: index of the oldest event that is left; batch->num or more: none is */
static inline u32 kdat_batch_next(const struct kdat_batch *batch)
{
	return READ_ONCE(batch->next);
}

/* The same; and nobody else takes what is left. */
static inline u32 kdat_batch_close(struct kdat_batch *batch)
{
	return xchg(&batch->next, KDAT_EVD_POLL);
}

/* Without the lock: take the event with the index *@i, and count that up. Return: false: closed */
static __always_inline bool kdat_batch_take(struct kdat_batch *batch, u32 *i)
{
	if (!try_cmpxchg(&batch->next, i, *i + 1))
		return false;
	++*i;
	return true;
}

#endif /* KDAT_BATCH_H */
