// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The choice of the next message: a work request, a response to the peer, the RTR frame at the
 * start of a stream, or the Terminate at its end.
 */
#include <net/sock.h>
#include <net/tcp.h>

#include "../base/params.h"
#include "../base/trace.h"
#include "../wire/mpa_markers.h"
#include "internal.h"

static bool soft_tx_choose_room(const struct soft_tx *tx)
{
	return tx->nvec < SOFT_TX_VECS &&
	       tx->staged + tx->pushed / SOFT_DIRECT_COST <
		       READ_ONCE(soft_tx_batch_bytes);
}

/* Take the next work request. Return: that of soft_sq_fetch(); errors have failed the QP. */
static int soft_tx_fetch(struct soft_qp *qp)
{
	struct soft_term term;
	int ret;

	ret = soft_sq_fetch(qp, &qp->sq.wr_slot);
	if (!ret) {
		qp->sq.wr_fetched = true;
		qp->sq.read_sge = 0;
		qp->sq.read_off = 0;
	} else if (ret != -ENOENT) {
		soft_term_set(&term, SOFT_TERM_RDMAP, SOFT_RDMAP_LOCAL,
			      SOFT_CODE_LOCAL);
		soft_qp_fail(qp, &term, true, -EIO);
		/* no completion reports this error */
		if (ret == -EINVAL)
			soft_qp_event(qp, IB_EVENT_QP_FATAL);
	}
	return ret;
}

/*
 * Record a request for the peer. When ORD is used up, the transmitter waits until half of the
 * requests are answered. It does not start again with each response: that costs more than the
 * response, and the peer is busy with the other half.
 * Return: false when ORD is used up.
 */
bool soft_tx_out_add(struct soft_qp *qp, const struct soft_read_out *out)
{
	bool ret = false;
	u32 i;

	spin_lock_bh(&qp->lock);
	if (qp->out_count < qp->mpa.ord) {
		i = qp->out_head + qp->out_count;
		if (i >= qp->mpa.ord)
			i -= qp->mpa.ord;
		qp->out[i] = *out;
		qp->out_count++;
		ret = true;
		if (out->slot != SOFT_NO_SLOT)
			soft_sq_begun(qp, out->slot);
	}
	qp->tx_waits = !ret;
	qp->tx_waits_for = qp->mpa.ord / 2;
	spin_unlock_bh(&qp->lock);
	return ret;
}

/* Is a Read or an atomic operation unanswered? Then the last response starts the transmitter. */
static bool soft_tx_unanswered(struct soft_qp *qp)
{
	bool ret;

	spin_lock_bh(&qp->lock);
	ret = qp->out_count;
	qp->tx_waits = ret;
	qp->tx_waits_for = 0;
	spin_unlock_bh(&qp->lock);
	return ret;
}

/* Build a Read Request, a message of one FPDU. @last: it is the last of its work request. */
static enum soft_step soft_tx_read_req(struct soft_qp *qp, u32 slot, bool last,
				       const struct soft_read_req *req)
{
	const struct soft_read_out out = {
		.slot = slot,
		.last = last,
		.msn = qp->tx->msn[SOFT_QN_READ_REQ],
		.stag = req->sink_stag,
		.to = req->sink_to,
		.len = req->length,
	};
	u8 *p;

	p = soft_tx_reserve(qp, SOFT_HDR_MAX);
	if (!p)
		return SOFT_STEP_FULL;
	if (!soft_tx_out_add(qp, &out))
		return SOFT_STEP_BLOCKED;
	soft_tx_seal(qp, p,
		     soft_put_read_req(p, qp->tx->msn[SOFT_QN_READ_REQ]++, req));
	if (slot != SOFT_NO_SLOT && last)
		soft_sq_encoded(&qp->sq, slot, qp->tx->seq_built);
	return SOFT_STEP_BUILT;
}

/* Are all sinks of @wqe valid for the response? */
static bool soft_tx_sinks_ok(struct soft_qp *qp,
			     const struct krdma_soft_sqe *wqe)
{
	const struct krdma_soft_sge *sge;
	struct soft_mem *mem;

	for (sge = wqe->sge; sge < wqe->sge + wqe->num_sge; sge++) {
		if (!sge->length)
			continue;
		if (soft_mem_get_cached(&qp->mem, &qp->tx->mem, sge->lkey, sge->addr,
					sge->length, IB_ACCESS_LOCAL_WRITE, &mem))
			return false;
		soft_mem_put(mem);
	}
	return true;
}

/* The first non-empty element from @i on. */
static u32 soft_tx_next_sink(const struct krdma_soft_sqe *wqe, u32 i)
{
	while (i < wqe->num_sge && !wqe->sge[i].length)
		i++;
	return i;
}

/*
 * Start an RDMA Read: check the sinks, then build Read Requests. A Read Request has one sink
 * (RFC 5040 4.4), so there is one request for each non-empty element, or a single request of
 * length 0 when all are empty. The responses arrive in order (RFC 5040 5.5), so the response to
 * the last request completes the work request. Each request counts for ORD. A request that ORD
 * does not allow now is sent later, after responses have arrived.
 */
static enum soft_step soft_tx_start_read(struct soft_qp *qp,
					 const struct krdma_soft_sqe *wqe,
					 u32 slot)
{
	struct soft_read_req req = {
		.src_stag = wqe->rkey,
		.src_to = wqe->raddr + qp->sq.read_off,
	};
	enum soft_step step;
	u32 i, next;

	if (!qp->sq.read_sge && (!qp->mpa.ord || !soft_tx_sinks_ok(qp, wqe))) {
		soft_tx_wr_failed(qp, slot,
				  qp->mpa.ord ? IB_WC_LOC_PROT_ERR :
						IB_WC_LOC_QP_OP_ERR);
		return SOFT_STEP_BUILT;
	}
	i = soft_tx_next_sink(wqe, qp->sq.read_sge);
	next = i;
	if (i < wqe->num_sge) {
		req.sink_stag = wqe->sge[i].lkey;
		req.sink_to = wqe->sge[i].addr;
		req.length = wqe->sge[i].length;
		next = soft_tx_next_sink(wqe, i + 1);
	}
	step = soft_tx_read_req(qp, slot, next == wqe->num_sge, &req);
	if (step != SOFT_STEP_BUILT)
		return step;
	qp->sq.read_sge = next;
	qp->sq.read_off += req.length;
	if (next == wqe->num_sge)
		qp->sq.wr_fetched = false;
	return step;
}

/*
 * Execute a local work request; nothing is built. The work request completes when the earlier
 * ones have completed.
 */
static enum soft_step soft_tx_local(struct soft_qp *qp,
				    const struct krdma_soft_sqe *wqe, u32 slot)
{
	enum ib_wc_status status = soft_local_wr(qp, wqe);

	qp->sq.wr_fetched = false;
	if (status)
		soft_tx_wr_failed(qp, slot, status);
	else
		soft_sq_encoded(&qp->sq, slot, 0);
	return SOFT_STEP_BUILT;
}

/* Make the fetched work request the current message. */
static enum soft_step soft_tx_start_wr(struct soft_qp *qp)
{
	const struct krdma_soft_sqe *wqe = qp->sq.wqe;
	struct soft_tx *tx = qp->tx;
	struct soft_msg *msg = &tx->msg;
	bool solicited = wqe->flags & KRDMA_SOFT_WQE_SOLICITED;

	/* a Read that has begun must not wait for itself */
	if (wqe->flags & KRDMA_SOFT_WQE_FENCE && !qp->sq.read_sge &&
	    soft_tx_unanswered(qp))
		return SOFT_STEP_BLOCKED;
	if (soft_op_is_local(wqe->opcode))
		return soft_tx_local(qp, wqe, qp->sq.wr_slot);
	if (soft_op_is_read(wqe->opcode))
		return soft_tx_start_read(qp, wqe, qp->sq.wr_slot);
	if (soft_op_is_atomic(wqe->opcode))
		return soft_tx_start_atomic(qp, wqe, qp->sq.wr_slot);

	memset(msg, 0, offsetof(struct soft_msg, read));
	msg->kind = SOFT_MSG_WR;
	msg->slot = qp->sq.wr_slot;
	msg->len = wqe->length;
	msg->sge = wqe->sge;
	if (wqe->flags & KRDMA_SOFT_WQE_INLINE)
		msg->inline_data = (const u8 *)wqe->sge;
	switch (wqe->opcode) {
	case KRDMA_SOFT_OP_WRITE_IMM:
		soft_tx_imm_with_write(tx, msg, wqe);
		fallthrough;
	case KRDMA_SOFT_OP_WRITE:
		msg->opcode = SOFT_RDMAP_WRITE;
		msg->stag = wqe->rkey;
		msg->to = wqe->raddr;
		break;
	case KRDMA_SOFT_OP_SEND_INV:
		msg->opcode = solicited ? SOFT_RDMAP_SEND_SE_INV :
					  SOFT_RDMAP_SEND_INV;
		msg->inv_stag = wqe->invalidate;
		msg->msn = tx->msn[SOFT_QN_SEND]++;
		break;
	case KRDMA_SOFT_OP_SEND_IMM:
		soft_tx_imm_with_send(tx, msg, wqe);
		fallthrough;
	default:
		msg->opcode = solicited ? SOFT_RDMAP_SEND_SE : SOFT_RDMAP_SEND;
		msg->msn = tx->msn[SOFT_QN_SEND]++;
		break;
	}
	soft_sq_begun_msg(qp, msg->slot, msg->to,
			  msg->opcode == SOFT_RDMAP_WRITE ? msg->stag : msg->msn,
			  msg->imm_msn);
	qp->sq.wr_fetched = false;
	return SOFT_STEP_BUILT;
}

/* Answer the peer's oldest request; the response to an RDMA Read becomes the current message. */
static enum soft_step soft_tx_start_resp(struct soft_qp *qp)
{
	struct soft_msg *msg = &qp->tx->msg;
	struct soft_read_in in;
	bool ret;

	spin_lock_bh(&qp->lock);
	ret = qp->in_count;
	if (ret)
		in = qp->in[qp->in_head];
	spin_unlock_bh(&qp->lock);
	if (!ret)
		return SOFT_STEP_EMPTY;
	if (in.is_atomic)
		return soft_tx_atomic_resp(qp, &in);

	memset(msg, 0, sizeof(*msg));
	msg->kind = SOFT_MSG_READ_RESP;
	msg->opcode = SOFT_RDMAP_READ_RESP;
	msg->len = in.req.length;
	msg->stag = in.req.sink_stag;
	msg->to = in.req.sink_to;
	msg->read = in.req;
	msg->msn = in.msn;
	return SOFT_STEP_BUILT;
}

static enum soft_step soft_tx_next_wr(struct soft_qp *qp)
{
	int ret;

	if (!qp->sq.wr_fetched) {
		if (qp->sq.held)
			return SOFT_STEP_BLOCKED;
		if (!soft_ring_pending(&qp->sq.ring))
			return SOFT_STEP_EMPTY;
		ret = soft_tx_fetch(qp);
		if (ret)
			return ret == -ENOENT ? SOFT_STEP_EMPTY :
						SOFT_STEP_BUILT;
	}
	if (qp->sq.held && soft_sq_wr_waits(&qp->sq))
		return SOFT_STEP_BLOCKED;
	/* RFC 5044 7.1.2: the responder sends nothing before the initiator's first FPDU */
	if (!READ_ONCE(qp->peer_ready) &&
	    !soft_op_is_local(qp->sq.wqe->opcode))
		return READ_ONCE(qp->state) == SOFT_QP_CLOSING ?
			       SOFT_STEP_EMPTY :
			       SOFT_STEP_BLOCKED;
	return soft_tx_start_wr(qp);
}

/* Build the ready-to-receive frame, which ends the responder's wait (RFC 6581 5). */
static enum soft_step soft_tx_rtr(struct soft_qp *qp)
{
	static const struct soft_read_req nothing = { .src_stag = 1 };
	struct soft_tx *tx = qp->tx;
	enum soft_step step = SOFT_STEP_BUILT;
	u8 *p;

	if (tx->rtr == RI_RTR_READ) {
		step = soft_tx_read_req(qp, SOFT_NO_SLOT, true, &nothing);
		goto out;
	}
	p = soft_tx_reserve(qp, SOFT_UNTAGGED_HDR);
	if (!p)
		return SOFT_STEP_FULL;
	/* STag 1: some hardware refuses 0 even for a zero-length Write */
	if (tx->rtr == RI_RTR_WRITE)
		soft_tx_seal(qp, p,
			     soft_put_tagged(p, SOFT_RDMAP_WRITE, true, 1, 0,
					     0));
	else
		soft_tx_seal(qp, p,
			     soft_put_untagged(p, SOFT_RDMAP_SEND, true, 0,
					       SOFT_QN_SEND,
					       tx->msn[SOFT_QN_SEND]++, 0, 0));
out:
	if (step == SOFT_STEP_BUILT)
		tx->rtr = RI_RTR_NONE;
	return step;
}

/* Build the Terminate, the last message of the stream. */
static enum soft_step soft_tx_terminate(struct soft_qp *qp)
{
	u8 *p;

	p = soft_tx_reserve(qp, SOFT_TERM_ULPDU_MAX);
	if (!p)
		return SOFT_STEP_FULL;
	soft_tx_seal(qp, p, soft_put_terminate(p, &qp->term));
	soft_count(qp->rnic, SOFT_CNT_TERM_TX);
	trace_soft_terminate(qp, &qp->term, true);
	spin_lock_bh(&qp->lock);
	qp->term_pending = false;
	spin_unlock_bh(&qp->lock);
	return SOFT_STEP_BUILT;
}

/* One step: start the next message or build the next FPDU. */
static enum soft_step soft_tx_choose_step(struct soft_qp *qp, u32 mulpdu)
{
	struct soft_tx *tx = qp->tx;
	enum soft_step step, resp;

	if (!soft_tx_choose_room(tx))
		return SOFT_STEP_FULL;
	if (tx->seg && tx->seg->len)
		return tx->direct ? soft_tx_push(qp) : soft_tx_to_wire(qp);
	if (READ_ONCE(qp->state) == SOFT_QP_TERMINATE)
		return READ_ONCE(qp->term_pending) ? soft_tx_terminate(qp) :
						     SOFT_STEP_EMPTY;
	if (tx->rtr != RI_RTR_NONE)
		return soft_tx_rtr(qp);
	if (tx->msg.kind != SOFT_MSG_NONE)
		return soft_tx_go_on(qp, mulpdu);

	/* responses and work requests take turns, message by message */
	if (tx->resp_turn && soft_tx_has_requests(qp)) {
		resp = soft_tx_start_resp(qp);
		tx->resp_turn = resp == SOFT_STEP_EMPTY;
		if (resp != SOFT_STEP_EMPTY)
			return resp;
	}
	step = soft_tx_next_wr(qp);
	if (step == SOFT_STEP_BUILT) {
		tx->resp_turn = true;
		return tx->msg.kind == SOFT_MSG_NONE ? step :
						       soft_tx_go_on(qp, mulpdu);
	}
	if (!soft_tx_has_requests(qp))
		return step;
	resp = soft_tx_start_resp(qp);
	return resp == SOFT_STEP_EMPTY ? step : resp;
}

/*
 * The effective MSS, with the current path MTU. TCP updates its MSS only when it sends, which is
 * too late for FPDUs that are built before (RFC 5044 4.5).
 */
static u32 soft_tx_emss(struct sock *sk)
{
	int mss = READ_ONCE(tcp_sk(sk)->mss_cache);
	const struct dst_entry *dst;
	int over;

	guard(rcu)();
	dst = rcu_dereference(sk->sk_dst_cache);
	if (!dst)
		return mss;
	over = tcp_mss_to_mtu(sk, mss) - (int)dst_mtu(dst);
	return over > 0 ? max(mss - over, TCP_MIN_SND_MSS) : mss;
}

/*
 * Are there so many work requests to complete that the build must pause? The peer on this host
 * receives, and may answer, while the build continues. A consumer that posts again for each answer
 * would find the send queue full, although all its messages have arrived.
 */
static bool soft_tx_must_complete(const struct soft_qp *qp)
{
	const struct soft_sq *sq = &qp->sq;

	return qp->tx->pushed && sq->ring.fetched - READ_ONCE(sq->cons) >= sq->ring.depth / 4;
}

enum soft_step soft_tx_build(struct soft_qp *qp)
{
	u32 mss = soft_tx_emss(qp->llp->sock->sk);
	u32 mulpdu = qp->mpa.tx_markers ? soft_marked_mulpdu(mss) :
					  soft_mulpdu(mss);
	enum soft_step step;

	do {
		step = soft_tx_choose_step(qp, mulpdu);
		if (step == SOFT_STEP_BUILT && soft_tx_must_complete(qp))
			step = SOFT_STEP_FULL;
	} while (step == SOFT_STEP_BUILT);
	return step;
}
