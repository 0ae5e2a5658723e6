// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Handlers of decoded segments: they place payload, deliver messages and queue requests of the
 * peer.
 */
#include "internal.h"

/* Tagged messages ********************************************************** */

/** soft_rx_refused() - set the Terminate for an access that soft_mem_get() has refused */
int soft_rx_refused(struct soft_qp *qp, struct soft_rx_seg *s,
		    enum soft_access why)
{
	soft_count(qp->rnic, SOFT_CNT_ACCESS_ERR);
	soft_term_access(&s->seg, s->raw, why, &s->term);
	return -EACCES;
}

/** soft_rx_bad_opcode() - set the Terminate for a message that is not allowed (RFC 5040 7.2) */
int soft_rx_bad_opcode(struct soft_rx_seg *s)
{
	soft_term_with_hdr(&s->term, &s->seg, s->raw, SOFT_TERM_RDMAP,
			   SOFT_RDMAP_OPERATION, SOFT_OPER_OPCODE);
	return -EPROTO;
}

/* Check and place tagged payload. */
static int soft_rx_place(struct soft_qp *qp, struct soft_rx_seg *s, int need)
{
	const struct soft_seg *seg = &s->seg;
	enum soft_access why;
	struct soft_mem *mem;
	int ret;

	/* RFC 5041 5.2: STag and TO of a zero-length segment are not checked */
	if (!seg->payload_len)
		return 0;
	why = soft_mem_get_cached(&qp->mem, &qp->rx->mem, seg->stag, seg->to,
				  seg->payload_len, need, &mem);
	if (why)
		return soft_rx_refused(qp, s, why);
	ret = soft_src_place(&s->src, soft_payload_off(seg), mem, seg->to,
			     seg->payload_len);
	soft_mem_put(mem);
	return ret;
}

static int soft_rx_write(struct soft_qp *qp, struct soft_rx_seg *s)
{
	struct soft_rx *rx = qp->rx;

	if (!rx->in_write)
		rx->write_len = 0;
	rx->write_len += s->seg.payload_len;
	rx->in_write = !s->seg.last;
	return soft_rx_place(qp, s, IB_ACCESS_REMOTE_WRITE);
}

/* The response must match the oldest local request: an RDMA Read with this sink. */
static enum soft_access soft_rx_read_resp_check(struct soft_qp *qp,
						const struct soft_seg *seg)
{
	const struct soft_read_out *out = &qp->out[qp->out_head];

	if (!READ_ONCE(qp->out_count) || out->is_atomic)
		return SOFT_ACCESS_STAG;
	if (!seg->payload_len && !out->len)
		return SOFT_ACCESS_OK;
	if (seg->stag != out->stag)
		return SOFT_ACCESS_STAG;
	if (seg->to != out->to + out->got ||
	    seg->payload_len > out->len - out->got)
		return SOFT_ACCESS_BOUNDS;
	if (seg->last && seg->payload_len != out->len - out->got)
		return SOFT_ACCESS_BOUNDS;
	return SOFT_ACCESS_OK;
}

/** soft_rx_out_done() - remove the oldest local request, which has been answered */
void soft_rx_out_done(struct soft_qp *qp)
{
	const struct soft_read_out *out = &qp->out[qp->out_head];
	u32 slot = out->last ? out->slot : SOFT_NO_SLOT;
	bool more = false;
	bool tx_waits;

	spin_lock_bh(&qp->lock);
	if (++qp->out_head == qp->mpa.ord)
		qp->out_head = 0;
	qp->out_count--;
	tx_waits = qp->tx_waits && qp->out_count <= qp->tx_waits_for;
	if (tx_waits)
		qp->tx_waits = false;
	spin_unlock_bh(&qp->lock);
	if (slot != SOFT_NO_SLOT) {
		soft_sq_read_done(qp, slot);
		more = soft_sq_complete(qp);
	}
	/* the next request, or a fenced work request, may go; or there is more to complete */
	if (tx_waits || more)
		soft_qp_kick(qp);
}

/* The segment has to wait in a way that only a work item can: it gets the segment again. */
static int soft_rx_again(struct soft_qp *qp)
{
	queue_work(soft_wq, &qp->rx->waiter.work);
	return -EAGAIN;
}

static int soft_rx_read_resp(struct soft_qp *qp, struct soft_rx_seg *s)
{
	struct soft_read_out *out = &qp->out[qp->out_head];
	enum ib_wc_status status = IB_WC_BAD_RESP_ERR;
	enum soft_access why = soft_rx_read_resp_check(qp, &s->seg);
	int ret;

	if (why) {
		ret = soft_rx_refused(qp, s, why);
	} else {
		status = IB_WC_LOC_PROT_ERR;
		ret = soft_rx_place(qp, s, IB_ACCESS_LOCAL_WRITE);
	}
	if (ret == -ESTALE)
		return ret;
	if (ret) {
		if (READ_ONCE(qp->out_count) && out->slot != SOFT_NO_SLOT)
			soft_sq_fail(qp, out->slot, status);
		return ret;
	}
	if (s->seg.last && out->last && out->slot != SOFT_NO_SLOT)
		why = soft_sq_read_inv(qp, out->slot, qp->rx->may_sleep);
	if (why == SOFT_ACCESS_BUSY)
		return soft_rx_again(qp);
	out->got += s->seg.payload_len;
	if (!s->seg.last)
		return 0;
	if (why) {
		/* the STag was invalidated by another since the last byte was placed */
		soft_sq_fail(qp, out->slot, IB_WC_LOC_PROT_ERR);
		return soft_rx_refused(qp, s, SOFT_ACCESS_STAG);
	}
	soft_rx_out_done(qp);
	return 0;
}

/* Untagged messages ******************************************************** */

/* Is an IRD entry free? The entry whose response leaves at this moment counts as free. */
static bool soft_rx_in_free(const struct soft_qp *qp)
{
	/* before in_count, pairs with soft_tx_in_done() */
	const bool leaving = smp_load_acquire(&qp->in_leaving);

	return READ_ONCE(qp->in_count) < qp->mpa.ird + leaving;
}

/** soft_rx_in_check() - check a request of the peer: next message, free IRD entry */
int soft_rx_in_check(struct soft_qp *qp, struct soft_rx_seg *s)
{
	struct soft_untagged_state *st = &qp->rx->untagged[SOFT_QN_READ_REQ];

	if (soft_untagged_check(st, &s->seg, soft_rx_in_free(qp), U32_MAX, &s->term))
		return -EPROTO;
	soft_untagged_advance(st, &s->seg);
	return 0;
}

/** soft_rx_in_add() - queue a request of the peer; an IRD entry must be free */
void soft_rx_in_add(struct soft_qp *qp, const struct soft_read_in *in)
{
	u32 i;

	spin_lock_bh(&qp->lock);
	i = qp->in_head + qp->in_count;
	if (i >= soft_in_size(qp))
		i -= soft_in_size(qp);
	qp->in[i] = *in;
	WRITE_ONCE(qp->in_count, qp->in_count + 1);
	spin_unlock_bh(&qp->lock);
	if (!qp->rx->pushing)
		soft_qp_kick(qp);
}

static int soft_rx_read_req(struct soft_qp *qp, struct soft_rx_seg *s)
{
	const struct soft_read_req *rr = &s->seg.rr;
	const struct soft_read_in in = { .msn = s->seg.msn, .req = *rr };
	enum soft_access why;
	struct soft_mem *mem;

	if (soft_rx_in_check(qp, s))
		return -EPROTO;
	if (rr->length) {
		why = soft_mem_get_cached(&qp->mem, &qp->rx->mem, rr->src_stag,
					  rr->src_to, rr->length,
					  IB_ACCESS_REMOTE_READ, &mem);
		if (why)
			return soft_rx_refused(qp, s, why);
		soft_mem_put(mem);
	}
	soft_rx_in_add(qp, &in);
	return 0;
}

/** soft_rx_local_error() - fail a receive with @status and the stream with it (RFC 5040 7.2) */
int soft_rx_local_error(struct soft_qp *qp, struct soft_rx_seg *s,
			enum ib_wc_status status)
{
	qp->rwqe_status = status;
	soft_term_with_hdr(&s->term, &s->seg, s->raw, SOFT_TERM_RDMAP,
			   SOFT_RDMAP_OPERATION, SOFT_OPER_STREAM);
	return -EIO;
}

/*
 * Place the payload of a Send segment in the receive buffer, from MO on. Without @src, only
 * check the access to each piece of the buffer.
 * Return: 0; -EACCES when an access is refused; an errno of soft_src_place().
 */
static int soft_rx_send_pieces(struct soft_qp *qp, const struct soft_seg *seg,
			       const struct soft_src *src)
{
	const struct soft_rwqe *wqe = &qp->rwqe;
	u32 off = soft_payload_off(seg);
	u32 left = seg->payload_len;
	u32 skip = seg->mo;
	const struct krdma_soft_sge *sge;
	struct soft_mem *mem;
	int ret = 0;
	u32 n;

	for (sge = wqe->sge; left && sge < wqe->sge + wqe->num_sge; sge++) {
		if (skip >= sge->length) {
			skip -= sge->length;
			continue;
		}
		n = min(left, sge->length - skip);
		if (soft_mem_get_cached(&qp->mem, &qp->rx->mem, sge->lkey,
					sge->addr + skip, n,
					IB_ACCESS_LOCAL_WRITE | SOFT_FOR_RECEIVE,
					&mem))
			return -EACCES;
		if (src)
			ret = soft_src_place(src, off, mem, sge->addr + skip, n);
		soft_mem_put(mem);
		if (ret)
			return ret;
		off += n;
		left -= n;
		skip = 0;
	}
	return 0;
}

/* The last segment of a Send has been placed: invalidate the STag, then complete the receive. */
static int soft_rx_send_deliver(struct soft_qp *qp, struct soft_rx_seg *s)
{
	const struct soft_op *op = soft_op(s->seg.opcode);
	struct soft_rx *rx = qp->rx;
	enum soft_access why;
	struct soft_recv_done done = {
		.opcode = IB_WC_RECV,
		.solicited = op->flags & SOFT_OP_SOLICITED,
		.len = s->seg.mo + s->seg.payload_len,
	};

	if (op->flags & SOFT_OP_INVALIDATE) {
		/* a completion has room for an STag or for immediate data, not for both */
		if (rx->imm_kept)
			return soft_rx_local_error(qp, s, IB_WC_REM_INV_REQ_ERR);
		why = soft_mem_invalidate(&qp->mem, s->seg.inv_stag, rx->may_sleep);
		if (why == SOFT_ACCESS_BUSY)
			return soft_rx_again(qp);
		if (why) {
			qp->rwqe_status = IB_WC_REM_INV_REQ_ERR;
			return soft_rx_refused(qp, s, why);
		}
		done.flags = KRDMA_SOFT_WC_INVALIDATED;
		done.invalidated = s->seg.inv_stag;
	} else if (rx->imm_kept) {
		done.flags = KRDMA_SOFT_WC_IMM;
		done.imm = rx->imm;
	}
	rx->imm_kept = false;
	rx->write_len = 0;
	soft_rq_complete(qp, &done);
	return 0;
}

/** soft_rx_receive() - take a receive if a message begins; check MSN, MO and length */
int soft_rx_receive(struct soft_qp *qp, struct soft_rx_seg *s)
{
	struct soft_untagged_state *st = &qp->rx->untagged[SOFT_QN_SEND];
	struct soft_rwqe *wqe = &qp->rwqe;
	int ret;

	if (!wqe->active && s->seg.msn == st->msn) {
		ret = soft_rx_claim(qp);
		if (ret == -EAGAIN)
			return ret;
		if (ret == -EINVAL)
			return soft_rx_local_error(qp, s, IB_WC_LOC_QP_OP_ERR);
		if (ret)
			soft_count(qp->rnic, SOFT_CNT_NO_BUFFER);
	}
	if (soft_untagged_check(st, &s->seg, wqe->active, wqe->length,
				&s->term)) {
		if (s->term.code == SOFT_UNTAG_TOO_LONG)
			qp->rwqe_status = IB_WC_LOC_LEN_ERR;
		return -EPROTO;
	}
	return 0;
}

static int soft_rx_send(struct soft_qp *qp, struct soft_rx_seg *s)
{
	int ret;

	ret = soft_rx_receive(qp, s) ?: soft_rx_send_pieces(qp, &s->seg, &s->src);
	if (ret == -EACCES)
		return soft_rx_local_error(qp, s, IB_WC_LOC_PROT_ERR);
	if (!ret && s->seg.last)
		ret = soft_rx_send_deliver(qp, s);
	/* a segment that will be handled again is still the next one */
	if (!ret)
		soft_untagged_advance(&qp->rx->untagged[SOFT_QN_SEND], &s->seg);
	return ret;
}

/* All of them *************************************************************** */

/** soft_rx_dispatch() - call the handler of a decoded segment; returns its result */
int soft_rx_dispatch(struct soft_qp *qp, struct soft_rx_seg *s)
{
	switch (s->seg.opcode) {
	case SOFT_RDMAP_WRITE:
		return soft_rx_write(qp, s);
	case SOFT_RDMAP_READ_REQ:
		return soft_rx_read_req(qp, s);
	case SOFT_RDMAP_READ_RESP:
		return soft_rx_read_resp(qp, s);
	case SOFT_RDMAP_ATOMIC_REQ:
		return soft_rx_atomic_req(qp, s);
	case SOFT_RDMAP_ATOMIC_RESP:
		return soft_rx_atomic_resp(qp, s);
	case SOFT_RDMAP_IMM:
	case SOFT_RDMAP_IMM_SE:
		return soft_rx_imm(qp, s);
	case SOFT_RDMAP_TERMINATE:
		return soft_rx_terminate(qp, s);
	default:
		/* the Send family: soft_seg_decode() refuses all other opcodes */
		return soft_rx_send(qp, s);
	}
}

/**
 * soft_rx_join_ok() - is it certain that no part of joined segments will be refused?
 * @qp: queue pair
 * @seg: header of the joined segments
 *
 * If not, the caller handles the segments one by one, so that the first bad one is reported.
 */
bool soft_rx_join_ok(struct soft_qp *qp, const struct soft_seg *seg)
{
	const struct soft_untagged_state *st = &qp->rx->untagged[SOFT_QN_SEND];
	const struct soft_rwqe *wqe = &qp->rwqe;
	int need = IB_ACCESS_REMOTE_WRITE;
	struct soft_mem *mem;

	if (!seg->tagged)
		return seg->msn == st->msn && seg->mo == st->mo &&
		       (u64)seg->mo + seg->payload_len <= wqe->length &&
		       !soft_rx_send_pieces(qp, seg, NULL);
	if (seg->opcode == SOFT_RDMAP_READ_RESP) {
		need = IB_ACCESS_LOCAL_WRITE;
		if (soft_rx_read_resp_check(qp, seg))
			return false;
	}
	if (soft_mem_get_cached(&qp->mem, &qp->rx->mem, seg->stag, seg->to,
				seg->payload_len, need, &mem))
		return false;
	soft_mem_put(mem);
	return true;
}
