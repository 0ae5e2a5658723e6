// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A thread that looks at a send queue, so that posting takes no system call.
 *
 * For machines with processors to spare: tx_pollers queue pairs at a time, those that rest
 * first, have one, on the workqueue of the transmitters. It gives up when nothing was posted
 * for tx_poll_us, and what is posted then rings again.
 */
#include <linux/timekeeping.h>

#include "device.h"
#include "params.h"
#include "qp.h"
#include "tx.h"

/* queue pairs that have a poller */
static atomic_t soft_pollers;

static bool soft_poll_get(void)
{
	if (atomic_inc_return(&soft_pollers) <= READ_ONCE(soft_tx_pollers))
		return true;
	atomic_dec(&soft_pollers);
	return false;
}

/**
 * soft_poll_begin() - the transmitter has nothing left to do: does a poller look?
 * @qp: queue pair
 *
 * Return: yes, and the ring need not ask for a doorbell. Context: the transmitter.
 */
bool soft_poll_begin(struct soft_qp *qp)
{
	struct soft_tx *tx = &qp->tx;

	lockdep_assert_held(&tx->mutex);
	if (tx->polled)
		return true;
	if (!READ_ONCE(soft_tx_pollers) || !qp->sq.ring.depth ||
	    READ_ONCE(qp->state) != SOFT_QP_RTS || !soft_poll_get())
		return false;
	tx->polled = true;
	queue_work(soft_wq, &tx->poll_work);
	return true;
}

static u64 soft_poll_until(void)
{
	return ktime_get_ns() + READ_ONCE(soft_tx_poll_us) * (u64)NSEC_PER_USEC;
}

/* Send what was posted. Return: something was; what has to wait is started when it need not. */
static bool soft_poll_send(struct soft_qp *qp)
{
	struct soft_ring *ring = &qp->sq.ring;
	u32 fetched;

	guard(mutex)(&qp->tx.mutex);
	fetched = ring->fetched;
	if (soft_tx_run(qp, READ_ONCE(soft_tx_inline_bytes)))
		soft_tx_kick(qp);
	soft_count_add(qp->rnic, SOFT_CNT_TX_POLLED, ring->fetched - fetched);
	return ring->fetched != fetched;
}

/* The poller leaves: from now on a doorbell says what is posted. */
static void soft_poll_end(struct soft_qp *qp)
{
	guard(mutex)(&qp->tx.mutex);
	qp->tx.polled = false;
	atomic_dec(&soft_pollers);
	soft_ring_want_doorbell(&qp->sq.ring);
	/* posted before that was visible */
	if (soft_ring_pending(&qp->sq.ring))
		soft_tx_kick(qp);
}

/** soft_poll_work() - a poller; it ends before its queue pair, whose stream ends before that */
void soft_poll_work(struct work_struct *work)
{
	struct soft_qp *qp = container_of(work, struct soft_qp, tx.poll_work);
	u64 until = soft_poll_until();

	while (READ_ONCE(qp->state) == SOFT_QP_RTS && ktime_get_ns() < until &&
	       READ_ONCE(soft_tx_pollers)) {
		if (soft_ring_pending(&qp->sq.ring)) {
			if (!soft_poll_send(qp))
				break;
			until = soft_poll_until();
		}
		cpu_relax();
		cond_resched();
	}
	soft_poll_end(qp);
}
