// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Pollers: a kernel thread polls a send queue, so posting needs no system call.
 *
 * Pollers are for machines with idle processors. Up to tx_pollers queue pairs have one at a
 * time; the first queue pairs to become idle get one. A poller ends when nothing was posted
 * for tx_poll_us. After that, posting needs a doorbell again.
 */
#include <linux/timekeeping.h>

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
 * soft_poll_begin() - the transmitter has nothing left to do: does a poller look?
 * @qp: queue pair
 *
 * One is sent for if there is none and there may be. Until it runs the poster rings.
 *
 * Return: one looks, and the ring need not ask for a doorbell. Context: the transmitter.
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

/* The poller is there. It looks at the ring after that, so what was posted is found. */
static void soft_tx_poll_starts(struct soft_qp *qp)
{
	guard(mutex)(&qp->tx->mutex);
	qp->tx->looking = true;
	soft_ring_no_doorbell(&qp->sq.ring);
}

/* It leaves: from now on a doorbell says what is posted. */
static void soft_tx_poll_ends(struct soft_qp *qp)
{
	guard(mutex)(&qp->tx->mutex);
	qp->tx->polled = false;
	qp->tx->looking = false;
	atomic_dec(&soft_tx_poll_count);
	soft_ring_want_doorbell(&qp->sq.ring);
	/* posted before that was visible */
	if (soft_ring_pending(&qp->sq.ring))
		soft_qp_kick(qp);
}

/* Found something at @found; both parameters may change meanwhile. */
static bool soft_tx_poll_stays(const struct soft_qp *qp, u64 found)
{
	return READ_ONCE(qp->state) == SOFT_QP_RTS &&
	       ktime_get_ns() - found < READ_ONCE(soft_tx_poll_us) * (u64)NSEC_PER_USEC &&
	       atomic_read(&soft_tx_poll_count) <= READ_ONCE(soft_tx_pollers);
}

/*
 * Send what was posted, unless somebody else has. Return: false when nothing can be sent
 * now; what goes on then has the transmitter's worker, and ends in soft_poll_begin().
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

/** soft_poll_work() - a poller; it ends before its queue pair, whose stream ends before that */
void soft_poll_work(struct work_struct *work)
{
	struct soft_qp *qp = container_of(work, struct soft_tx, poll_work)->qp;
	u64 found = ktime_get_ns();

	soft_tx_poll_starts(qp);
	while (soft_tx_poll_stays(qp, found)) {
		/* without the mutex the index may look like nonsense, too */
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
