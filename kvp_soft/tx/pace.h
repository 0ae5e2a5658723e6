/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Doorbell pacing: a poster rings for each post, or gathers work requests.
 */
#ifndef SOFT_PACE_H
#define SOFT_PACE_H

#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct soft_qp;

/** enum soft_gather_phase - what a tick does next */
enum soft_gather_phase {
	SOFT_GATHER_RESTS,
	SOFT_GATHER_LOOKS, /* at all queues */
	SOFT_GATHER_ENDS,  /* gathering for those that have waited too long */
};

/**
 * struct soft_gather - the QPs of a user's context whose doorbells can wait
 * @lock: protects the rest but @timer, and what soft_pace says
 * @pacing: those, by soft_pace.node
 * @n: number
 * @inside: threads that are here with a doorbell, while there are any
 * @calls: doorbells of the context, about
 * @calls_seen: at the last tick
 * @idle: ticks in a row without anything else
 * @workers: ticks in which somebody waited and a worker had the CPU
 * @goes: ticks in which somebody waited and the poster went on
 * @phase: of the tick under way; of many QPs it takes several expirations of @timer
 * @turn: counts phases; QPs that have had theirs stand at the end of @pacing
 * @several: there was more than one QP at its begin
 * @moved: the poster was here since the last tick
 * @waits: work requests do
 * @timer: ticks while there are any
 */
struct soft_gather {
	spinlock_t lock;
	struct list_head pacing;
	u32 n;
	u32 inside;
	u32 calls;
	u32 calls_seen;
	u32 idle;
	u32 workers;
	u32 goes;
	enum soft_gather_phase phase;
	u32 turn;
	bool several;
	bool moved;
	bool waits;
	struct hrtimer timer;
};

/** enum soft_pace_end - why a poster may not gather any longer */
enum soft_pace_end {
	SOFT_PACE_GATHERS,
	SOFT_PACE_LATE, /* it has not come back */
	SOFT_PACE_SLOW, /* it goes on posting, and takes long */
	SOFT_PACE_BUSY, /* the same, with other QPs, too */
};

/**
 * struct soft_pace - what is known of the poster of a QP; under tx.mutex
 * @with: of its context; NULL for a kernel consumer, whose posts start the transmitter
 * @call_end: when the last doorbell's call ended, ns
 * @call_ns: how long it took
 * @hasty: doorbells in a row of a poster that did not wait
 * @hasty_least: so many are not enough: gathering was in vain
 * @vain: so often
 * @on: ask for few doorbells
 * @most: after so many work requests at the latest; 0: as the queue allows
 * @full: doorbells that came with so many, since it was made less or more
 * @away: the poster has not come back in time, so it rings when it does
 * @node: in @with, under its lock
 * @turn: soft_gather.turn when it was looked at last, the same lock
 * @seen: so many work requests were waiting at the last tick, the same lock
 * @moved: and it was another number at the one before, the same lock
 * @began: soft_gather.goes when none was, the same lock
 * @end: they had waited for long enough, the same lock
 * @inside: counted in soft_gather.inside
 */
struct soft_pace {
	struct soft_gather *with;
	u64 call_end;
	u64 call_ns;
	u32 hasty;
	u32 hasty_least;
	u32 vain;
	bool on;
	u32 most;
	u32 full;
	bool away;
	struct list_head node;
	u32 turn;
	int seen;
	bool moved;
	u32 began;
	enum soft_pace_end end;
	bool inside;
};

void soft_gather_init(struct soft_gather *gather);
void soft_gather_exit(struct soft_gather *gather);
void soft_pace_init(struct soft_pace *pace, struct soft_gather *with);
void soft_pace_exit(struct soft_pace *pace);
void soft_pace_reset(struct soft_pace *pace);
bool soft_pace_called(struct soft_qp *qp, u64 begin);
void soft_pace_returns(struct soft_qp *qp, u64 begin, u32 n, bool gathered);
void soft_pace_rest(struct soft_qp *qp);
void soft_pace_late(struct soft_qp *qp);
void __soft_pace_busy(struct soft_pace *pace);

/** soft_pace_busy() - the transmitter looks at the queue by itself now */
static inline void soft_pace_busy(struct soft_pace *pace)
{
	if (!list_empty(&pace->node))
		__soft_pace_busy(pace);
}

#endif /* SOFT_PACE_H */
