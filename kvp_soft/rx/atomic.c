// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Atomic operations, both sides (RFC 7306 section 5).
 *
 * Requests stand in one line with RDMA Reads: the same queue and message sequence
 * numbers, the same places of IRD and ORD, answered in the order of arrival. So the
 * responder carries an operation out when its answer is built and not before: a
 * Read that came first has then been answered, one that came later has not.
 * Responses have a queue of their own.
 *
 * The operation is a compare and exchange in the target's page, so it is atomic
 * with those of all QPs of all RNICs of the host, and with the processors.
 */
#include "../device.h"
#include "../memory/memory.h"
#include "rx.h"
#include "../tx/tx.h"

#define SOFT_ATOMIC_LEN	sizeof(u64)

/* Is the target of @rq there, with the right to it, and aligned? */
static enum soft_access soft_atomic_get(struct soft_qp *qp,
					const struct soft_atomic_req *rq,
					struct soft_mem **mem)
{
	enum soft_access why;

	why = soft_mem_get(qp, rq->stag, rq->to, SOFT_ATOMIC_LEN,
			   IB_ACCESS_REMOTE_ATOMIC, mem);
	if (!why && !soft_mem_aligned(*mem, rq->to)) {
		soft_mem_put(*mem);
		why = SOFT_ACCESS_ALIGN;
	}
	return why;
}

/* Responder ***************************************************************** */

/** soft_rx_atomic_req() - an Atomic Request: check it and put it in the line */
int soft_rx_atomic_req(struct soft_qp *qp, struct soft_rx_seg *s)
{
	struct soft_read_in in = {
		.is_atomic = true,
		.msn = s->seg.msn,
		.atomic = s->seg.atomic,
	};
	enum soft_access why;
	struct soft_mem *mem;

	if (soft_rx_in_check(qp, s))
		return -EPROTO;
	why = soft_atomic_get(qp, &in.atomic, &mem);
	if (why)
		return soft_rx_refused(qp, s, why);
	soft_mem_put(mem);
	soft_rx_in_add(qp, &in);
	return 0;
}

/**
 * soft_tx_atomic_resp() - carry the peer's oldest request out and answer it
 * @qp: queue pair
 * @in: the request
 *
 * Nothing is touched before there is room for the answer. Context: the transmitter.
 */
enum soft_step soft_tx_atomic_resp(struct soft_qp *qp,
				   const struct soft_read_in *in)
{
	struct soft_atomic_resp resp = { .id = in->atomic.id };
	u8 raw[SOFT_HDR_MAX];
	enum soft_access why;
	struct soft_mem *mem;
	u8 *p;

	p = soft_tx_reserve(qp, SOFT_HDR_MAX);
	if (!p)
		return SOFT_STEP_FULL;
	why = soft_atomic_get(qp, &in->atomic, &mem);
	if (why) {
		/* the target went away after the request was checked */
		soft_tx_refused(qp, raw,
				soft_put_atomic_req(raw, in->msn, &in->atomic),
				0, why);
		return SOFT_STEP_BUILT;
	}
	resp.value = soft_mem_atomic(mem, &in->atomic);
	soft_mem_put(mem);
	soft_tx_seal(qp, p,
		     soft_put_atomic_resp(p, qp->tx.atomic_resp_msn++, &resp));
	soft_tx_in_done(qp);
	return SOFT_STEP_BUILT;
}

/* Requester ***************************************************************** */

/**
 * soft_tx_start_atomic() - check where the result goes, then ask
 * @qp: queue pair
 * @wqe: checked copy: one element of 8 octets
 * @slot: of the send queue
 * Context: the transmitter.
 */
enum soft_step soft_tx_start_atomic(struct soft_qp *qp,
				    const struct krdma_soft_sqe *wqe, u32 slot)
{
	struct soft_tx *tx = &qp->tx;
	struct soft_atomic_req rq = {
		.op = wqe->opcode == KRDMA_SOFT_OP_CMP_SWAP ?
			      SOFT_ATOMIC_CMP_SWAP :
			      SOFT_ATOMIC_FETCH_ADD,
		.id = tx->msn[SOFT_QN_READ_REQ],
		.stag = wqe->rkey,
		.to = wqe->raddr,
		.data = wqe->atomic.swap_add,
		.mask = wqe->atomic.swap_add_mask,
		.compare = wqe->atomic.compare,
		.compare_mask = wqe->atomic.compare_mask,
	};
	const struct soft_read_out out = {
		.slot = slot,
		.last = true,
		.is_atomic = true,
		.msn = tx->msn[SOFT_QN_READ_REQ],
		.id = rq.id,
		.stag = wqe->sge[0].lkey,
		.to = wqe->sge[0].addr,
		.len = SOFT_ATOMIC_LEN,
	};
	struct soft_mem *mem;
	u8 *p;

	if (!qp->mpa.ord) {
		soft_tx_wr_failed(qp, slot, IB_WC_LOC_QP_OP_ERR);
		return SOFT_STEP_BUILT;
	}
	if (soft_mem_get(qp, out.stag, out.to, out.len, IB_ACCESS_LOCAL_WRITE,
			 &mem)) {
		soft_tx_wr_failed(qp, slot, IB_WC_LOC_PROT_ERR);
		return SOFT_STEP_BUILT;
	}
	soft_mem_put(mem);
	p = soft_tx_reserve(qp, SOFT_HDR_MAX);
	if (!p)
		return SOFT_STEP_FULL;
	if (!soft_tx_out_add(qp, &out))
		return SOFT_STEP_BLOCKED;
	soft_tx_seal(qp, p,
		     soft_put_atomic_req(p, tx->msn[SOFT_QN_READ_REQ]++, &rq));
	soft_sq_encoded(&qp->sq, slot, tx->seq_built);
	tx->wr_fetched = false;
	return SOFT_STEP_BUILT;
}

/* The answer must be to our oldest request, and that an atomic operation. */
static int soft_rx_atomic_resp_check(struct soft_qp *qp, struct soft_rx_seg *s)
{
	const struct soft_read_out *out = &qp->out[qp->out_head];
	bool asked = READ_ONCE(qp->out_count) && out->is_atomic;

	if (soft_untagged_check(&qp->rx.untagged[SOFT_QN_ATOMIC_RESP], &s->seg,
				asked, U32_MAX, &s->term))
		return -EPROTO;
	if (s->seg.resp.id == out->id)
		return 0;
	/* RFC 7306 5.2.2 wants an error and names no code */
	soft_term_with_hdr(&s->term, &s->seg, s->raw, SOFT_TERM_RDMAP,
			   SOFT_RDMAP_OPERATION, SOFT_OPER_STREAM);
	return -EPROTO;
}

/** soft_rx_atomic_resp() - an Atomic Response: place the value, complete */
int soft_rx_atomic_resp(struct soft_qp *qp, struct soft_rx_seg *s)
{
	const struct soft_read_out *out = &qp->out[qp->out_head];
	enum soft_access why;
	struct soft_mem *mem;
	int ret;

	ret = soft_rx_atomic_resp_check(qp, s);
	if (ret) {
		if (READ_ONCE(qp->out_count) && out->slot != SOFT_NO_SLOT)
			soft_sq_fail(qp, out->slot, IB_WC_BAD_RESP_ERR);
		return ret;
	}
	soft_untagged_advance(&qp->rx.untagged[SOFT_QN_ATOMIC_RESP], &s->seg);
	why = soft_mem_get(qp, out->stag, out->to, out->len,
			   IB_ACCESS_LOCAL_WRITE, &mem);
	if (why) {
		soft_sq_fail(qp, out->slot, IB_WC_LOC_PROT_ERR);
		return soft_rx_refused(qp, s, why);
	}
	soft_mem_write(mem, out->to, &s->seg.resp.value, out->len);
	soft_mem_put(mem);
	soft_rx_out_done(qp);
	return 0;
}
