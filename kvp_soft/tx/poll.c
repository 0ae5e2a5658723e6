// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Pollers: a kernel thread polls a send queue, so posting needs no system call.
 *
 * Pollers are for machines with idle processors. Up to tx_pollers queue pairs have one at a
 * time; the first queue pairs to become idle get one. A poller ends when nothing was posted
 * for tx_poll_us. After that, posting needs a doorbell again.
 */
#include <linux/ktime.h>
#include <linux/timekeeping.h>
#include <krdma/noio.h>

#include "../base/params.h"
#include "internal.h"

/* queue pairs that have a poller */
static atomic_t soft_tx_poll_count;

static bool soft_tx_poll_get(void)
{
	if (atomic_inc_return(&soft_tx_poll_count) <= READ_ONCE(soft_tx_pollers))
		return true;
	atomic_dec(&soft_tx_poll_count);
	return false;
}

/**
 * soft_poll_begin() - the transmitter is idle: start a poller if possible
 * @qp: queue pair
 *
 * Queues a poller if the queue pair has none and tx_pollers allows one more. Until the poller
 * runs, the poster has to ring.
 *
 * Context: the transmitter.
 * Return: true when a poller is running, so the ring need not ask for a doorbell.
 */
bool soft_poll_begin(struct soft_qp *qp)
{
	struct soft_tx *tx = qp->tx;

	lockdep_assert_held(&tx->mutex);
	if (!tx->polled && READ_ONCE(soft_tx_pollers) && qp->sq.ring.depth &&
	    READ_ONCE(qp->state) == SOFT_QP_RTS && soft_tx_poll_get()) {
		tx->polled = true;
		queue_work(soft_poll_wq, &tx->poll_work);
	}
	return tx->looking;
}

/* The poller begins. It reads the ring after this, so it finds earlier work requests. */
static void soft_tx_poll_starts(struct soft_qp *qp)
{
	guard(mutex)(&qp->tx->mutex);
	qp->tx->looking = true;
	soft_ring_no_doorbell(&qp->sq.ring);
}

/* The poller ends: from now on posting needs a doorbell. */
static void soft_tx_poll_ends(struct soft_qp *qp)
{
	guard(mutex)(&qp->tx->mutex);
	qp->tx->polled = false;
	qp->tx->looking = false;
	atomic_dec(&soft_tx_poll_count);
	soft_ring_want_doorbell(&qp->sq.ring);
	/* for work requests that were posted before the flag was visible */
	if (soft_ring_pending(&qp->sq.ring))
		soft_qp_kick(qp);
}

/* May the poller go on? It last found work at @found. The parameters may change at any time. */
static bool soft_tx_poll_stays(const struct soft_qp *qp, u64 found)
{
	return READ_ONCE(qp->state) == SOFT_QP_RTS &&
	       ktime_get_ns() - found < READ_ONCE(soft_tx_poll_us) * (u64)NSEC_PER_USEC &&
	       atomic_read(&soft_tx_poll_count) <= READ_ONCE(soft_tx_pollers);
}

/*
 * Send posted work requests, unless another thread has.
 * Return: false when nothing can be sent now. Then the poller ends; the transmitter's work
 * continues later, and calls soft_poll_begin() when it is done.
 */
static bool soft_tx_poll_send(struct soft_qp *qp)
{
	struct soft_ring *ring = &qp->sq.ring;
	u32 fetched;

	guard(mutex)(&qp->tx->mutex);
	if (!soft_ring_pending(ring))
		return true;
	fetched = ring->fetched;
	if (soft_tx_run(qp, READ_ONCE(soft_tx_inline_bytes)))
		soft_qp_kick(qp);
	soft_count_add(qp->rnic, SOFT_CNT_TX_POLLED, ring->fetched - fetched);
	return ring->fetched != fetched;
}

/** soft_poll_work() - a poller; ends when the stream does, and before the queue pair is freed */
void soft_poll_work(struct work_struct *work)
{
	struct soft_qp *qp = container_of(work, struct soft_tx, poll_work)->qp;
	u64 found = ktime_get_ns();

	guard(krdma_noio)();
	soft_tx_poll_starts(qp);
	while (soft_tx_poll_stays(qp, found)) {
		/* without the mutex, the result may also be -EINVAL for a valid index */
		if (soft_ring_pending(&qp->sq.ring)) {
			if (!soft_tx_poll_send(qp))
				break;
			found = ktime_get_ns();
		}
		cpu_relax();
		cond_resched();
	}
	soft_tx_poll_ends(qp);
}
