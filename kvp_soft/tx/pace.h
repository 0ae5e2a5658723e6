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

/** enum soft_gather_phase - phase of a tick */
enum soft_gather_phase {
	SOFT_GATHER_RESTS, /* no tick in progress */
	SOFT_GATHER_LOOKS, /* check all queues */
	SOFT_GATHER_ENDS,  /* end gathering for QPs that have waited too long */
};

/**
 * struct soft_gather - the QPs of a user context whose posters gather work requests
 * @lock: protects all other members except @timer, and the marked members of soft_pace
 * @pacing: list of these QPs, by soft_pace.node
 * @n: number of entries in @pacing
 * @inside: threads that are in a doorbell call; counted only while QPs gather
 * @calls: doorbells of the context, approximately
 * @calls_seen: @calls at the last tick
 * @idle: ticks since the transmitter last asked a poster to gather
 * @workers: ticks in a row in which work requests waited and a worker had the CPU
 * @busy_ticks: ticks in which work requests waited and the poster continued to post
 * @phase: phase of the current tick; with many QPs a tick takes several expirations of @timer
 * @next: next entry of @pacing to handle in the current phase; @pacing itself when there is none
 * @several: there was more than one QP at the begin of the tick
 * @moved: the poster was in the kernel or has posted since the last tick
 * @waits: work requests wait
 * @timer: runs while @pacing is not empty
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
	u32 busy_ticks;
	enum soft_gather_phase phase;
	struct list_head *next;
	bool several;
	bool moved;
	bool waits;
	struct hrtimer timer;
};

/** enum soft_pace_end - why gathering has ended */
enum soft_pace_end {
	SOFT_PACE_GATHERS, /* it has not ended */
	SOFT_PACE_LATE, /* the poster has not come back */
	SOFT_PACE_SLOW, /* the poster continues to post to this QP, but slowly */
	SOFT_PACE_BUSY, /* the poster is busy, with several QPs or not with this one */
};

/**
 * struct soft_pace - knowledge about the poster of a QP; under tx.mutex
 * @with: of the user context; NULL for a kernel consumer, whose posts start the transmitter
 * @call_end: end of the last doorbell call, ns
 * @call_ns: duration of that call
 * @hasty: hasty doorbells in a row, see soft_pace_called()
 * @hasty_least: after gathering in vain: @hasty must exceed this before gathering begins again,
 *	unless the poster calls very soon
 * @vain: number of times that gathering was in vain
 * @on: ask the poster to gather
 * @most: most work requests to gather; 0 means as many as the queue allows
 * @full: doorbells that came with @most work requests, since the last change of @most
 * @away: the poster has not come back in time, so it has to ring when it does
 * @node: entry in soft_gather.pacing, under soft_gather.lock
 * @seen: number of waiting work requests at the last tick, under the same lock
 * @moved: @seen differs from the tick before, under the same lock
 * @began: soft_gather.busy_ticks when no work request was waiting, under the same lock
 * @end: why gathering has ended; set under the same lock
 * @inside: the poster is counted in soft_gather.inside
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

/** soft_pace_busy() - stop the timer's checks of a QP: its transmitter reads the queue now */
static inline void soft_pace_busy(struct soft_pace *pace)
{
	if (!list_empty(&pace->node))
		__soft_pace_busy(pace);
}

#endif /* SOFT_PACE_H */
