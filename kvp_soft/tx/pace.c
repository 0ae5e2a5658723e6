// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Fewer doorbells: gathering of work requests.
 *
 * A poster that posts fast is asked to gather (KRDMA_SOFT_RING_SOON). It then rings the
 * doorbell when it is about to wait, or when the number of work requests reaches a limit.
 *
 * A timer finds a poster that does neither. All queue pairs of a user context share one timer:
 * a poster that is busy with one queue pair will come back to the others.
 */
#include <krdma/compat.h>

#include "../base/params.h"
#include "internal.h"

/* idle ticks in a row before the poster has to ring a doorbell again */
#define SOFT_GATHER_IDLE	32
/* ticks for which work requests may wait while the poster continues to post */
#define SOFT_GATHER_GOES	2
/* the same if the poster uses several QPs, or has posted SOFT_GATHER_FAST work requests */
#define SOFT_GATHER_GOES_MORE	6
#define SOFT_GATHER_FAST	16
/* the tick is one base length longer for each group of this many QPs */
#define SOFT_GATHER_MANY	32
/* QPs that are checked, or whose gathering is ended, in one expiration of the timer */
#define SOFT_GATHER_STEP	64
/* after this many doorbells with the most work requests allowed, the limit is doubled */
#define SOFT_GATHER_GROW	16
/* hasty doorbells to wait after useless gathering; doubled each time, up to this often */
#define SOFT_PACE_MORE		64
#define SOFT_PACE_VAIN_MAX	10
/* bytes of a short message, of which more may be gathered */
#define SOFT_PACE_SHORT		1024

/*
 * Start the timer. Between ticks its time is the base length of a tick, and more with many QPs.
 * In the middle of a tick it is the base length, before the next SOFT_GATHER_STEP QPs.
 */
static void soft_tx_gather_start(struct soft_gather *gather)
{
	u64 ns = READ_ONCE(soft_tx_gather_us) * (u64)NSEC_PER_USEC / 2;

	if (gather->phase == SOFT_GATHER_RESTS)
		ns *= 1 + min(gather->n, SOFT_GATHER_STEP) / SOFT_GATHER_MANY;
	hrtimer_start(&gather->timer, ns_to_ktime(ns), HRTIMER_MODE_REL_SOFT);
}

static void soft_tx_gather_leave(struct soft_pace *pace)
{
	if (list_empty(&pace->node))
		return;
	if (pace->with->next == &pace->node)
		pace->with->next = pace->node.next;
	list_del_init(&pace->node);
	pace->with->n--;
}

static struct soft_qp *soft_tx_paced_qp(struct soft_pace *pace)
{
	return container_of(pace, struct soft_tx, pace)->qp;
}

/*
 * End gathering for a QP and start its transmitter. @posting: the poster is still posting;
 * @several: it uses several QPs.
 */
static void soft_tx_gather_end(struct soft_pace *pace, bool posting, bool several)
{
	enum soft_pace_end end = SOFT_PACE_LATE;

	if (posting)
		end = pace->moved && !several ? SOFT_PACE_SLOW : SOFT_PACE_BUSY;
	soft_tx_gather_leave(pace);
	WRITE_ONCE(pace->end, end);
	soft_qp_kick(soft_tx_paced_qp(pace));
}

/* Have work requests waited for too long, although the poster continues to post? */
static bool soft_tx_gather_stale(const struct soft_pace *pace, bool several)
{
	u32 most = several || pace->seen >= SOFT_GATHER_FAST ?
			   SOFT_GATHER_GOES_MORE :
			   SOFT_GATHER_GOES;

	return pace->seen && pace->with->busy_ticks - pace->began > most;
}

static bool soft_gather_all_handled(const struct soft_gather *gather)
{
	return gather->next == &gather->pacing;
}

/* The next QP to handle in this phase; soft_gather_all_handled() is false. */
static struct soft_pace *soft_gather_next(struct soft_gather *gather)
{
	struct soft_pace *pace = list_entry(gather->next, struct soft_pace, node);

	gather->next = gather->next->next;
	return pace;
}

static void soft_gather_begin(struct soft_gather *gather, enum soft_gather_phase phase)
{
	gather->phase = phase;
	gather->next = gather->pacing.next;
}

static void soft_gather_look_at(struct soft_gather *gather, struct soft_pace *pace)
{
	const int pending = soft_ring_pending(&soft_tx_paced_qp(pace)->sq.ring);

	if (pending)
		gather->waits = true;
	else
		pace->began = gather->busy_ticks;
	pace->moved = pending != pace->seen;
	gather->moved |= pace->moved;
	pace->seen = pending;
}

/* Check some queues. Return: true when all have been checked. */
static bool soft_tx_gather_look(struct soft_gather *gather)
{
	u32 n;

	for (n = 0; n < SOFT_GATHER_STEP && !soft_gather_all_handled(gather); n++)
		soft_gather_look_at(gather, soft_gather_next(gather));
	return soft_gather_all_handled(gather);
}

/*
 * May a worker be running on the poster's CPU? On a busy CPU that is always so; the count limits
 * how often it is an excuse.
 */
static bool soft_tx_gather_worker(struct soft_gather *gather)
{
	if (current->flags & PF_WQ_WORKER &&
	    ++gather->workers < SOFT_GATHER_IDLE)
		return true;
	gather->workers = 0;
	return false;
}

static bool soft_gather_is_idle(const struct soft_gather *gather)
{
	return gather->idle > SOFT_GATHER_IDLE;
}

/*
 * All queues have been checked. Gathering continues if no work request waits, or if a worker runs:
 * then the poster may only be waiting for the CPU. A tick in which work requests wait and the
 * poster has moved counts in busy_ticks.
 * Return: true when gathering may have to end for some QPs.
 */
static bool soft_gather_looked(struct soft_gather *gather)
{
	const bool waits = gather->waits && !soft_tx_gather_worker(gather);

	if (waits && gather->moved)
		gather->busy_ticks++;
	return waits || soft_gather_is_idle(gather);
}

/* End gathering for some QPs that need it. Return: true when all QPs have been handled. */
static bool soft_gather_end_some(struct soft_gather *gather)
{
	struct soft_pace *pace;
	u32 n;

	/* with many queues, the poster may have come since they were checked */
	gather->moved |= gather->inside || READ_ONCE(gather->calls) != gather->calls_seen;
	for (n = 0; n < SOFT_GATHER_STEP && !soft_gather_all_handled(gather); n++) {
		pace = soft_gather_next(gather);
		if (soft_gather_is_idle(gather) || (pace->seen && !gather->moved) ||
		    soft_tx_gather_stale(pace, gather->several))
			soft_tx_gather_end(pace, gather->moved, gather->several);
	}
	return soft_gather_all_handled(gather);
}

static void soft_gather_begin_tick(struct soft_gather *gather)
{
	const u32 calls = READ_ONCE(gather->calls);

	/* the number at the begin: n shrinks with each QP whose gathering ends */
	gather->several = gather->n > 1;
	gather->idle++;
	gather->moved = gather->inside || calls != gather->calls_seen;
	gather->calls_seen = calls;
	gather->waits = false;
	soft_gather_begin(gather, SOFT_GATHER_LOOKS);
}

/* Do a bounded part of a tick; with few QPs, the whole tick. */
static void soft_gather_step(struct soft_gather *gather)
{
	if (gather->phase == SOFT_GATHER_RESTS)
		soft_gather_begin_tick(gather);
	if (gather->phase == SOFT_GATHER_LOOKS) {
		if (!soft_tx_gather_look(gather))
			return;
		if (soft_gather_looked(gather))
			soft_gather_begin(gather, SOFT_GATHER_ENDS);
		else
			gather->phase = SOFT_GATHER_RESTS;
	}
	if (gather->phase == SOFT_GATHER_ENDS && soft_gather_end_some(gather))
		gather->phase = SOFT_GATHER_RESTS;
}

static enum hrtimer_restart soft_tx_gather_tick(struct hrtimer *timer)
{
	struct soft_gather *gather =
		container_of(timer, struct soft_gather, timer);

	spin_lock(&gather->lock);
	soft_gather_step(gather);
	if (gather->n)
		soft_tx_gather_start(gather);
	spin_unlock(&gather->lock);
	return HRTIMER_NORESTART;
}

/** soft_gather_init() - initialize gathering for a new user context */
void soft_gather_init(struct soft_gather *gather)
{
	spin_lock_init(&gather->lock);
	INIT_LIST_HEAD(&gather->pacing);
	gather->next = &gather->pacing;
	hrtimer_setup(&gather->timer, soft_tx_gather_tick, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
}

/** soft_gather_exit() - stop the timer; the QPs of the context were destroyed */
void soft_gather_exit(struct soft_gather *gather)
{
	hrtimer_cancel(&gather->timer);
}

/** soft_pace_init() - initialize pacing for a new QP; @with is NULL for a kernel consumer */
void soft_pace_init(struct soft_pace *pace, struct soft_gather *with)
{
	pace->with = with;
	INIT_LIST_HEAD(&pace->node);
}

/**
 * soft_pace_exit() - remove a QP from the timer's list
 * @pace: pacing of the QP, which has no stream and so is not added again
 *
 * On return no other CPU has the QP in the timer function, not even one that has already taken
 * the QP off the list to start its transmitter.
 */
void soft_pace_exit(struct soft_pace *pace)
{
	if (pace->with)
		__soft_pace_busy(pace);
}

void __soft_pace_busy(struct soft_pace *pace)
{
	spin_lock_bh(&pace->with->lock);
	soft_tx_gather_leave(pace);
	spin_unlock_bh(&pace->with->lock);
}

/** soft_pace_reset() - forget all about the poster; under tx.mutex or before use */
void soft_pace_reset(struct soft_pace *pace)
{
	soft_pace_busy(pace);
	pace->call_ns = 0;
	pace->hasty = 0;
	pace->hasty_least = 0;
	pace->vain = 0;
	pace->on = false;
	pace->most = 0;
	pace->full = 0;
	pace->away = false;
	WRITE_ONCE(pace->end, SOFT_PACE_GATHERS);
}

/* Are earlier work requests not complete, or their completions not polled? */
static bool soft_tx_pace_ahead(struct soft_qp *qp)
{
	/* a poster that waits for a work request asks for a completion */
	return !(qp->sig_all || qp->sq.wqe->flags & KRDMA_SOFT_WQE_SIGNALED) ||
	       READ_ONCE(qp->sq.cons) != qp->sq.ring.fetched ||
	       soft_cq_waiting(soft_send_cq(qp));
}

/**
 * soft_pace_called() - learn from a doorbell
 * @qp: queue pair of the doorbell
 * @begin: time at which the poster called, ns
 *
 * A poster is hasty if it calls again in one of these cases:
 *  - within half of the time that its last call took,
 *  - within a tenth of the time for which gathered work requests may wait,
 *  - before its earlier work requests have completed.
 * A hasty poster has much to send and does not wait for each work request. The calls slow it
 * down, so it is asked to gather, until gathering is of no use any more.
 *
 * Context: under tx.mutex; soft_pace_returns() follows.
 * Return: true when the poster comes with gathered work requests.
 */
bool soft_pace_called(struct soft_qp *qp, u64 begin)
{
	const u64 gather_ns = READ_ONCE(soft_tx_gather_us) * (u64)NSEC_PER_USEC;
	struct soft_pace *pace = &qp->tx->pace;
	struct soft_gather *gather = pace->with;
	const bool gathered = pace->on && !pace->away;
	u32 least;
	bool soon;

	if (!gather)
		return false;
	WRITE_ONCE(gather->calls, gather->calls + 1);
	if (pace->on || READ_ONCE(gather->n)) {
		spin_lock_bh(&gather->lock);
		soft_tx_gather_leave(pace);
		gather->inside++;
		/* no ticks while the poster is in the kernel */
		if (!gather->n)
			hrtimer_try_to_cancel(&gather->timer);
		WRITE_ONCE(pace->end, SOFT_PACE_GATHERS);
		pace->inside = true;
		spin_unlock_bh(&gather->lock);
	}
	pace->away = false;
	soon = pace->call_ns &&
	       begin - pace->call_end < max(pace->call_ns / 2, gather_ns / 10);
	if (soon || (pace->call_ns && soft_tx_pace_ahead(qp)))
		pace->hasty++;
	else
		pace->hasty = 0;
	/* a poster that is hasty with one QP is hasty with its others */
	least = READ_ONCE(gather->n) ? 1 : READ_ONCE(soft_tx_hasty_posts);
	if (pace->hasty >= least && (soon || pace->hasty > pace->hasty_least) &&
	    gather_ns)
		pace->on = true;
	return gathered;
}

/* The poster came with @n work requests, @gathered or not: is gathering of use? */
static void soft_tx_pace_learn(struct soft_pace *pace, u32 n, bool gathered)
{
	if (n < 2) {
		pace->on = pace->hasty;
	} else if (gathered) {
		pace->hasty_least = 0;
		pace->vain = 0;
	}
	if (pace->most && n >= pace->most && ++pace->full >= SOFT_GATHER_GROW) {
		pace->most *= 2;
		pace->full = 0;
	}
}

/**
 * soft_pace_returns() - learn from the end of a doorbell call
 * @qp: queue pair
 * @begin: as in soft_pace_called()
 * @n: number of work requests that were fetched in the call
 * @gathered: the result of soft_pace_called()
 */
void soft_pace_returns(struct soft_qp *qp, u64 begin, u32 n, bool gathered)
{
	struct soft_pace *pace = &qp->tx->pace;

	if (pace->inside) {
		spin_lock_bh(&pace->with->lock);
		pace->with->inside--;
		pace->inside = false;
		spin_unlock_bh(&pace->with->lock);
	}
	if (pace->on)
		soft_tx_pace_learn(pace, n, gathered);
	pace->call_end = ktime_get_ns();
	pace->call_ns = pace->call_end - begin;
}

/*
 * The number of work requests that may be gathered: half of the queue, so that the poster can
 * go on posting while these are sent. For short messages, which are sent fast, nearly the whole
 * queue.
 *
 * So the poster rings before its queue is full. If many work requests are still in progress, the
 * queue may be full before that; then the poster rings at the next poll that finds no completion.
 */
static u32 soft_tx_pace_most(const struct soft_qp *qp)
{
	const u32 depth = qp->sq.ring.depth;
	const u32 left = qp->sq.wqe->length <= SOFT_PACE_SHORT ? max(depth / 8, 1U) :
								 depth / 2;

	return min_not_zero(qp->tx->pace.most, max(depth - left, 1U));
}

/** soft_pace_rest() - the transmitter is idle: set how the poster announces new work requests */
void soft_pace_rest(struct soft_qp *qp)
{
	struct soft_pace *pace = &qp->tx->pace;
	struct soft_gather *gather = pace->with;

	if (soft_poll_begin(qp))
		return;
	if (!pace->on || pace->away || !READ_ONCE(soft_tx_gather_us)) {
		soft_ring_want_doorbell(&qp->sq.ring);
		return;
	}
	scoped_guard(spinlock_bh, &gather->lock) {
		pace->seen = 0;
		pace->began = gather->busy_ticks;
		gather->idle = 0;
		if (list_empty(&pace->node)) {
			/* in front of the QPs that are still to be handled in the current tick */
			list_add(&pace->node, &gather->pacing);
			if (!gather->n++) {
				gather->phase = SOFT_GATHER_RESTS;
				soft_tx_gather_start(gather);
			}
		}
	}
	soft_ring_want_soon(&qp->sq.ring, soft_tx_pace_most(qp));
}

/**
 * soft_pace_late() - learn from a poster that has not come back in time
 * @qp: queue pair
 *
 * A poster that continues to post is slow, so it has to ring with fewer work requests. Otherwise
 * the work requests waited in vain: the poster may look at something other than its CQ. So the
 * next attempt to gather comes later.
 * Context: the transmitter's work.
 */
void soft_pace_late(struct soft_qp *qp)
{
	struct soft_pace *pace = &qp->tx->pace;
	const enum soft_pace_end end = xchg(&pace->end, SOFT_PACE_GATHERS);
	int pending;
	u32 most;

	/* a busy poster will come back */
	if (end == SOFT_PACE_GATHERS || end == SOFT_PACE_BUSY)
		return;
	pace->away = true;
	pending = soft_ring_pending(&qp->sq.ring);
	if (!pending)
		return;
	if (end == SOFT_PACE_SLOW) {
		most = soft_tx_pace_most(qp);
		pace->most = max3(pending / 2, (int)most / 2, 2);
		pace->full = 0;
		return;
	}
	pace->on = false;
	pace->hasty_least = pace->hasty + (SOFT_PACE_MORE << pace->vain);
	if (pace->vain < SOFT_PACE_VAIN_MAX)
		pace->vain++;
}
