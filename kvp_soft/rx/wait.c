// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Waiting for a receive work request.
 *
 * A Send without a posted receive is an error of the peer (RFC 5041 7.1). But the receiving
 * program may only be late by a scheduling delay, and ending its connection for that has no
 * use. So the receiver stops before such a Send for up to rx_wait_ms. The FPDU stays where
 * it is, later data stays with TCP, TCP's window closes, and the peer's transmitter waits as
 * for any slow reader. Posting rings the doorbell, and the receiver continues.
 *
 * Several receivers may wait for a shared queue. A doorbell starts as many of them as there are
 * entries, in the order in which they began to wait. Each receiver starts others when its own
 * wait ends, so none is forgotten.
 *
 * The receiver (rx.c) calls these functions; the poster wakes it.
 */
#include <net/sock.h>
#include <krdma/noio.h>

#include "../base/params.h"
#include "internal.h"

/* Ask for a doorbell. The caller has to fetch again: a receive may have been posted before. */
static void soft_rx_wait_enlist(struct soft_qp *qp)
{
	struct soft_rq *rq = qp->rq;

	spin_lock_bh(&rq->lock);
	if (list_empty(&qp->rx->waiter.node))
		list_add_tail(&qp->rx->waiter.node, &rq->waiters);
	soft_ring_want_doorbell(&rq->ring);
	spin_unlock_bh(&rq->lock);
}

static void soft_rx_wait_begin(struct soft_qp *qp, unsigned int timeout_ms)
{
	if (qp->rx->waiting)
		return;
	qp->rx->waiting = true;
	soft_count(qp->rnic, SOFT_CNT_RX_WAITS);
	mod_delayed_work(soft_wq, &qp->rx->wait_timer,
			 msecs_to_jiffies(timeout_ms));
}

void __soft_rx_wait_end(struct soft_qp *qp)
{
	qp->rx->waiting = false;
	qp->rx->wait_expired = false;
	soft_rq_wait_end(qp->rq, &qp->rx->waiter);
}

/**
 * soft_rx_claim() - take the receive work request for a message that begins
 * @qp: queue pair
 *
 * Context: the receiver.
 * Return: 0, and qp->rwqe is active; -EAGAIN when the receiver has to stop here and will be
 * started again; -ENOENT when none was posted in time; -EINVAL when the posted entry or the ring
 * is invalid.
 */
int soft_rx_claim(struct soft_qp *qp)
{
	unsigned int timeout_ms = READ_ONCE(soft_rx_wait_ms);
	struct soft_rx *rx = qp->rx;
	int ret;

	ret = soft_rq_fetch(qp, &qp->rwqe);
	if (ret == -ENOENT && timeout_ms && !rx->wait_expired &&
	    qp->rq->ring.depth) {
		soft_rx_wait_begin(qp, timeout_ms);
		soft_rx_wait_enlist(qp);
		ret = soft_rq_fetch(qp, &qp->rwqe);
		if (ret == -ENOENT)
			return -EAGAIN;
	}
	soft_rx_wait_end(qp);
	return ret;
}

/* rx_wait_ms have passed. The stream outlives the timer: soft_stream_detach() cancels it. */
static void soft_rx_wait_timer(struct work_struct *work)
{
	struct soft_qp *qp =
		container_of(work, struct soft_rx, wait_timer.work)->qp;
	struct sock *sk = qp->llp->sock->sk;

	guard(krdma_noio)();
	lock_sock(sk);
	/* if the timer is pending again, it belongs to a new wait */
	if (qp->rx->waiting && !delayed_work_pending(&qp->rx->wait_timer))
		qp->rx->wait_expired = true;
	release_sock(sk);
	soft_rx_resume(qp);
}

/** soft_rx_wait_init() - initialize the wait of a new QP's receiver */
void soft_rx_wait_init(struct soft_rx *rx)
{
	INIT_LIST_HEAD(&rx->waiter.node);
	INIT_DELAYED_WORK(&rx->wait_timer, soft_rx_wait_timer);
}
