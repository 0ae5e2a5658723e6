// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Queue pairs: the verbs to create, modify, query and destroy them, and posting to them.
 */
#include <linux/slab.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "base/params.h"
#include "device.h"
#include "parts.h"
#include "qp.h"
#include "stream.h"

/* remote rights of a new QP: all, so only the rights of the regions matter */
#define SOFT_QP_ACCESS                                                         \
	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |                      \
	 IB_ACCESS_REMOTE_ATOMIC)

/* The offset of a ring in the mapping, and the size from there to the end. */
static void soft_qp_ring_respond(const struct soft_ring *ring, const struct ri_shmem *shm,
				 u64 *offset, u64 *size)
{
	const size_t begin = (void *)ring->head - shm->addr;

	*offset = shm->offset + begin;
	*size = shm->size - begin;
}

/* Give the user library the data to map the rings. */
static int soft_qp_respond(struct soft_qp *qp, struct ri_udata *udata)
{
	const struct soft_ring *sq = &qp->sq.ring;
	const struct soft_ring *rq = &qp->own_rq.ring;
	struct krdma_soft_qp_resp resp = {
		.sq_depth = sq->depth,
		.sq_stride = sq->stride,
		.rq_depth = rq->depth,
		.rq_stride = rq->stride,
		.max_inline = qp->max_inline,
		.qp_num = qp->ri.obj.id,
	};

	if (sq->depth)
		soft_qp_ring_respond(sq, sq->shm, &resp.sq_offset, &resp.sq_size);
	if (rq->depth)
		soft_qp_ring_respond(rq, rq->shm ?: sq->shm, &resp.rq_offset, &resp.rq_size);
	if (udata->out_len < sizeof(resp))
		return -EINVAL;
	ri_udata_answer(udata, &resp, sizeof(resp));
	return 0;
}

static atomic64_t soft_qp_serial;

/* ri_ops.qp_create */
int soft_qp_create(struct ri_qp *ri, struct ri_qp_init_attr *attr,
		   struct ri_udata *udata)
{
	struct ri_ucontext *uctx = ri->pd->uctx;
	struct soft_qp *qp = to_soft_qp(ri);
	struct soft_qp_parts *parts = soft_qp_parts(qp);
	int ret;

	qp->rnic = to_soft_rnic(ri->obj.rnic);
	qp->mem = (struct soft_mem_user){
		.rnic = qp->rnic,
		.table = qp->rnic->mems,
		.pd = ri->pd,
		.recv_pd = ri->srq ? ri->srq->pd : ri->pd,
		.serial = atomic64_inc_return(&soft_qp_serial),
		.access = SOFT_QP_ACCESS,
	};
	qp->sig_all = attr->sq_sig_type == IB_SIGNAL_ALL_WR;
	spin_lock_init(&qp->lock);
	soft_tx_init(&parts->tx, qp, uctx ? &to_soft_ucontext(uctx)->gather : NULL,
		     &soft_direct_ops);
	soft_rx_init(&parts->rx, qp);
	soft_direct_init_qp(&parts->direct, qp);
	INIT_WORK(&qp->ctl_work, soft_ctl_work);
	INIT_DELAYED_WORK(&qp->close_timer, soft_close_timer);

	if (ri->srq) {
		attr->cap.max_recv_wr = 0;
		attr->cap.max_recv_sge = 0;
	}
	/* both rings are in one piece, so user space maps only once */
	ret = soft_sq_init(&qp->sq, uctx, &attr->cap,
			   soft_rq_size(attr->cap.max_recv_wr, attr->cap.max_recv_sge));
	if (ret)
		return ret;
	qp->max_inline = attr->cap.max_inline_data;
	ret = soft_rq_init(&qp->own_rq, uctx, attr->cap.max_recv_wr,
			   attr->cap.max_recv_sge, &qp->sq.ring);
	if (ret)
		goto err_sq;
	attr->cap.max_recv_wr = qp->own_rq.ring.depth;
	qp->rq = ri->srq ? &to_soft_srq(ri->srq)->rq : &qp->own_rq;
	if (uctx) {
		ret = soft_qp_respond(qp, udata);
		if (ret)
			goto err_rq;
	}
	return 0;
err_rq:
	soft_rq_free(&qp->own_rq);
err_sq:
	soft_sq_free(&qp->sq);
	return ret;
}

/*
 * The state in terms of the verbs. SQE does not exist: on an iWARP stream, a failed work request
 * ends the stream (RFC 5040 7.1).
 */
static enum ib_qp_state soft_qp_ib_state(const struct soft_qp *qp)
{
	switch (READ_ONCE(qp->state)) {
	case SOFT_QP_IDLE:
		return IB_QPS_INIT;
	case SOFT_QP_RTS:
		return READ_ONCE(qp->sq.held) ? IB_QPS_SQD : IB_QPS_RTS;
	case SOFT_QP_CLOSING:
		return IB_QPS_SQD;
	default:
		return IB_QPS_ERR;
	}
}

static bool soft_qp_draining(struct soft_qp *qp)
{
	if (READ_ONCE(qp->state) == SOFT_QP_CLOSING)
		return true;
	return READ_ONCE(qp->sq.held) && !READ_ONCE(qp->sq.drained);
}

/* The verbs have five MTU values: return the largest that fits, or the smallest. */
static enum ib_mtu soft_qp_path_mtu(int mtu)
{
	enum ib_mtu ret = IB_MTU_4096;

	while (ret > IB_MTU_256 && ib_mtu_enum_to_int(ret) > mtu)
		ret--;
	return ret;
}

/* ri_ops.qp_query: attributes that iWARP does not have stay 0 */
int soft_qp_query(struct ri_qp *ri, struct ib_qp_attr *attr, int mask,
		  struct ri_qp_init_attr *init_attr)
{
	struct soft_qp *qp = to_soft_qp(ri);

	attr->qp_state = soft_qp_ib_state(qp);
	attr->cur_qp_state = attr->qp_state;
	attr->sq_draining = soft_qp_draining(qp);
	attr->en_sqd_async_notify = qp->sq.held && qp->sq.drain_event;
	attr->path_mtu = soft_qp_path_mtu(READ_ONCE(ri->obj.rnic->netdev->mtu));
	attr->port_num = 1;
	attr->qp_access_flags = qp->mem.access;
	attr->max_rd_atomic = min(qp->mpa.ord, U8_MAX);
	attr->max_dest_rd_atomic = min(qp->mpa.ird, U8_MAX);
	attr->cap.max_send_wr = qp->sq.ring.depth;
	attr->cap.max_recv_wr = qp->own_rq.ring.depth;
	attr->cap.max_inline_data = qp->max_inline;
	attr->cap.max_send_sge =
		min_t(u32, KRDMA_SOFT_MAX_SGE,
		      (qp->sq.ring.stride - sizeof(struct krdma_soft_sqe)) /
			      sizeof(struct krdma_soft_sge));
	attr->cap.max_recv_sge = ri->srq ? 0 : qp->own_rq.max_sge;

	init_attr->send_cq = ri->send_cq;
	init_attr->recv_cq = ri->recv_cq;
	init_attr->srq = ri->srq;
	init_attr->cap = attr->cap;
	init_attr->sq_sig_type = qp->sig_all ? IB_SIGNAL_ALL_WR :
					       IB_SIGNAL_REQ_WR;
	init_attr->qp_type = IB_QPT_RC;
	return 0;
}

/* Go back to idle: RESET from any state without a stream, INIT only from idle. */
static int soft_qp_to_idle(struct soft_qp *qp, bool reset)
{
	int ret = 0;

	mutex_lock(&qp->tx->mutex);
	if (qp->llp || (!reset && qp->state != SOFT_QP_IDLE)) {
		ret = -EINVAL;
	} else {
		if (reset) {
			soft_qp_forget(qp);
			WRITE_ONCE(qp->mem.access, SOFT_QP_ACCESS);
		}
		WRITE_ONCE(qp->state, SOFT_QP_IDLE);
	}
	mutex_unlock(&qp->tx->mutex);
	return ret;
}

/* Go to the error state: work requests posted now or later are flushed. */
static int soft_qp_to_error(struct soft_qp *qp, bool nowait)
{
	int news;

	news = soft_stream_fail(qp, nowait);
	/* with a stream, soft_stream_detach() has reported this event */
	if (news > 0 && qp->ri.srq)
		soft_qp_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
	return min(news, 0);
}

/* SQD as in InfiniBand: the stream stays, the send queue begins nothing new. */
static int soft_qp_drain(struct soft_qp *qp, bool event)
{
	int ret = -EINVAL;

	mutex_lock(&qp->tx->mutex);
	if (qp->llp && READ_ONCE(qp->state) == SOFT_QP_RTS) {
		soft_sq_hold(qp, event);
		ret = 0;
	}
	mutex_unlock(&qp->tx->mutex);
	return ret;
}

/* Go from SQD back to RTS. */
static int soft_qp_undrain(struct soft_qp *qp)
{
	bool held;

	mutex_lock(&qp->tx->mutex);
	held = READ_ONCE(qp->state) == SOFT_QP_RTS && soft_sq_resume(qp);
	mutex_unlock(&qp->tx->mutex);
	if (!held)
		return -EINVAL;
	soft_qp_kick(qp);
	return 0;
}

/* ri_ops.qp_modify */
int soft_qp_modify(struct ri_qp *ri, const struct ib_qp_attr *attr, int mask,
		   struct ri_llp *llp)
{
	struct soft_qp *qp = to_soft_qp(ri);
	const bool nowait = mask & RI_QP_NOWAIT;

	if (mask & IB_QP_ACCESS_FLAGS)
		WRITE_ONCE(qp->mem.access, attr->qp_access_flags);
	if (!(mask & IB_QP_STATE))
		return 0;
	switch (attr->qp_state) {
	case IB_QPS_RESET:
		return soft_qp_to_idle(qp, true);
	case IB_QPS_INIT:
		return soft_qp_to_idle(qp, false);
	case IB_QPS_RTS:
		return llp ? soft_stream_attach(qp, llp, nowait) : soft_qp_undrain(qp);
	case IB_QPS_SQD:
		if (mask & IB_QP_EN_SQD_ASYNC_NOTIFY)
			return soft_qp_drain(qp, attr->en_sqd_async_notify);
		soft_stream_close(qp);
		return 0;
	case IB_QPS_ERR:
		return soft_qp_to_error(qp, nowait);
	default:
		return -EINVAL;
	}
}

/* ri_ops.qp_destroy */
void soft_qp_destroy(struct ri_qp *ri)
{
	struct soft_qp *qp = to_soft_qp(ri);

	soft_stream_end(qp, false, -ECONNABORTED);
	/* without a stream, only the works below can queue each other */
	cancel_delayed_work_sync(&qp->close_timer);
	soft_pace_exit(&qp->tx->pace);
	/* flush, not cancel: the poller counts for tx_pollers until it has run */
	flush_work(&qp->tx->poll_work);
	cancel_work_sync(&qp->tx_work);
	cancel_work_sync(&qp->rx->waiter.work);
	/* a flush into an overflowing CQ queues ctl_work; without a stream it queues nothing */
	cancel_work_sync(&qp->ctl_work);
	soft_qp_purge(qp);
	soft_cq_event_flush(soft_send_cq(qp));
	soft_cq_event_flush(soft_recv_cq(qp));
	kvfree(qp->in);
	kvfree(qp->out);
	soft_tx_reset(qp->tx);
	soft_rx_reset(qp->rx);
	soft_rq_free(&qp->own_rq);
	soft_sq_free(&qp->sq);
}

/* ri_ops.doorbell: a user has posted, and the ring asked for a doorbell */
int soft_qp_doorbell(struct ri_qp *ri)
{
	struct soft_qp *qp = to_soft_qp(ri);

	soft_count(qp->rnic, SOFT_CNT_DOORBELLS);
	soft_rq_posted(&qp->own_rq);
	soft_tx_run_inline(qp, true);
	return 0;
}

/* ri_ops.qp_info */
void soft_qp_info(struct ri_qp *ri, struct ri_qp_info *info)
{
	struct soft_qp *qp = to_soft_qp(ri);
	const struct tcp_sock *tp;

	memset(info, 0, sizeof(*info));
	mutex_lock(&qp->tx->mutex);
	info->tx = qp->sent;
	info->rx = qp->received;
	info->retransmissions = qp->retransmissions;
	if (qp->llp) {
		tp = tcp_sk(qp->llp->sock->sk);
		info->retransmissions += READ_ONCE(tp->total_retrans);
		info->connected = true;
		info->mpa = qp->mpa;
		info->local = qp->llp->local;
		info->remote = qp->llp->remote;
		info->mss = READ_ONCE(tp->mss_cache);
		info->cwnd = READ_ONCE(tp->snd_cwnd);
		info->srtt_us = READ_ONCE(tp->srtt_us) >> 3;
		info->unacked = READ_ONCE(tp->packets_out);
		info->reads_in = READ_ONCE(qp->in_count);
		info->reads_out = READ_ONCE(qp->out_count);
	}
	mutex_unlock(&qp->tx->mutex);
}

/* Posting ******************************************************************* */

/* Does the ring ask its poster for a doorbell? */
static bool soft_qp_ring_rings(const struct soft_ring *ring)
{
	smp_mb(); /* write entries before reading the flag: see soft_ring_want_doorbell() */
	return ring->depth && READ_ONCE(ring->head->flags);
}

/*
 * Send what kernel consumers have posted, at once if the caller may sleep: as for a program, that
 * needs no worker.
 */
static void soft_qp_posted(struct soft_qp *qp, bool sleep)
{
	if (!soft_qp_ring_rings(&qp->sq.ring))
		return;
	if (sleep && READ_ONCE(soft_kernel_inline))
		soft_tx_run_inline(qp, false);
	else
		soft_qp_kick(qp);
}

/*
 * ri_ops.post_send: for kernel consumers, any context but hard interrupt. Sleeps only if the
 * consumer has declared that posting may sleep.
 */
int soft_post_send(struct ri_qp *ri, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad_wr)
{
	struct soft_qp *qp = to_soft_qp(ri);
	int ret;

	if (ri->pd->uctx) {
		*bad_wr = wr;
		return -EINVAL;
	}
	ret = soft_sq_post(qp, wr, bad_wr);
	if (!ri->pushed)
		soft_qp_posted(qp, ri->post_may_sleep);
	return ret;
}

/* ri_ops.push */
void soft_qp_push(struct ri_qp *ri, bool sleep)
{
	if (sleep)
		might_sleep();
	soft_qp_posted(to_soft_qp(ri), sleep);
}

/* ri_ops.post_recv: for kernel consumers, any context but hard interrupt */
int soft_post_recv(struct ri_qp *ri, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad_wr)
{
	struct soft_qp *qp = to_soft_qp(ri);
	int ret;

	if (ri->pd->uctx || ri->srq) {
		*bad_wr = wr;
		return -EINVAL;
	}
	ret = soft_rq_post(&qp->own_rq, wr, bad_wr);
	if (soft_qp_ring_rings(&qp->own_rq.ring)) {
		soft_rq_posted(&qp->own_rq);
		soft_qp_kick(qp);
	}
	return ret;
}
