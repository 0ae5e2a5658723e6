// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Atomic operations (RFC 7306 section 5): sending requests, and answering the peer's.
 *
 * Atomic Requests share with RDMA Read Requests the queue, the message sequence numbers and
 * the IRD and ORD entries. The responder answers both in the order of arrival. So it executes
 * an operation only when it builds the response: earlier Reads have been answered by then,
 * later Reads have not. Atomic Responses have a queue of their own.
 *
 * An operation is a compare and exchange in the target's page. So it is atomic with the
 * operations of all QPs of all RNICs of the host, and with the processors.
 */
#include "internal.h"

/* Responder ***************************************************************** */

/**
 * soft_tx_atomic_resp() - execute the peer's oldest request and build the response
 * @qp: queue pair
 * @in: the request
 *
 * Memory is changed only when there is room for the response.
 * Context: the transmitter.
 * Return: SOFT_STEP_FULL without room, otherwise SOFT_STEP_BUILT.
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
	why = soft_mem_get_atomic(&qp->mem, &in->atomic, &mem);
	if (why) {
		/* the target was invalidated after the request was checked */
		soft_tx_refused(qp, raw,
				soft_put_atomic_req(raw, in->msn, &in->atomic),
				0, why);
		return SOFT_STEP_BUILT;
	}
	resp.value = soft_mem_atomic(mem, &in->atomic);
	soft_mem_put(mem);
	soft_tx_seal(qp, p,
		     soft_put_atomic_resp(p, qp->tx->atomic_resp_msn++, &resp));
	soft_tx_in_done(qp);
	return SOFT_STEP_BUILT;
}

/* Requester ***************************************************************** */

/**
 * soft_tx_start_atomic() - check the memory for the result, then build the request
 * @qp: queue pair
 * @wqe: checked copy of the work request: one element of 8 bytes
 * @slot: slot of the send queue
 * Context: the transmitter.
 * Return: SOFT_STEP_FULL without room; SOFT_STEP_BLOCKED when ORD is used up; otherwise
 * SOFT_STEP_BUILT.
 */
enum soft_step soft_tx_start_atomic(struct soft_qp *qp,
				    const struct krdma_soft_sqe *wqe, u32 slot)
{
	struct soft_tx *tx = qp->tx;
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
	if (soft_mem_get(&qp->mem, out.stag, out.to, out.len, IB_ACCESS_LOCAL_WRITE,
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
	qp->sq.wr_fetched = false;
	return SOFT_STEP_BUILT;
}
