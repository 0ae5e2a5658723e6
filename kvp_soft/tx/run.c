// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Runs of short messages, as from lists of work requests. Writes and Sends that differ from
 * the previous one only in their data and their target are built directly from the ring, with
 * one lookup of the region. The first work request that differs, or that must be refused, is
 * left to the normal path (choose.c).
 */
#include "../base/params.h"
#include "../base/trace.h"
#include "internal.h"

/* Common properties of the work requests of a run. The signaled flag may differ. */
struct soft_tx_kind {
	u8 opcode;
	u8 flags;
	u32 lkey;
	u32 len;
};

/* Individual properties of a work request in a run, read once from the ring. */
struct soft_tx_own {
	u64 wr_id;
	u64 raddr;
	u64 addr;
	u32 rkey;
	u8 flags;
};

/* Fill in @kind. Can @wqe begin a run: a Write or Send, inline or of one element? */
static bool soft_tx_run_kind(const struct krdma_soft_sqe *wqe,
			     struct soft_tx_kind *kind)
{
	*kind = (struct soft_tx_kind){
		.opcode = wqe->opcode,
		.flags = wqe->flags & ~KRDMA_SOFT_WQE_SIGNALED,
		.lkey = wqe->sge[0].lkey,
		.len = wqe->length,
	};
	return wqe->length && !(wqe->flags & KRDMA_SOFT_WQE_FENCE) &&
	       (wqe->num_sge == 1 || wqe->flags & KRDMA_SOFT_WQE_INLINE) &&
	       (wqe->opcode == KRDMA_SOFT_OP_WRITE ||
		wqe->opcode == KRDMA_SOFT_OP_SEND);
}

/* Fill in @own. Is the entry of the ring of the same @kind? */
static __always_inline bool soft_tx_run_own(const struct krdma_soft_sqe *sqe,
					    const struct soft_tx_kind *kind,
					    struct soft_tx_own *own)
{
	own->flags = READ_ONCE(sqe->flags);
	if (READ_ONCE(sqe->opcode) != kind->opcode ||
	    (own->flags & ~KRDMA_SOFT_WQE_SIGNALED) != kind->flags)
		return false;
	own->wr_id = READ_ONCE(sqe->wr_id);
	own->rkey = READ_ONCE(sqe->rkey);
	own->raddr = READ_ONCE(sqe->raddr);
	if (kind->flags & KRDMA_SOFT_WQE_INLINE)
		return READ_ONCE(sqe->length) == kind->len;
	own->addr = READ_ONCE(sqe->sge[0].addr);
	return READ_ONCE(sqe->num_sge) == 1 &&
	       READ_ONCE(sqe->sge[0].length) == kind->len &&
	       READ_ONCE(sqe->sge[0].lkey) == kind->lkey;
}

/* Number of FPDUs of @len bytes that may be built from the entries in the ring. */
static u32 soft_tx_run_most(const struct soft_qp *qp, u32 len)
{
	const struct soft_tx *tx = qp->tx;
	const struct soft_sq *sq = &qp->sq;
	const u32 batch = READ_ONCE(soft_tx_batch_bytes);
	const u32 staged = tx->staged + tx->pushed / SOFT_DIRECT_COST;
	/* a poster that respects the ring's cons index posts no more than there are slots */
	const u32 slots = sq->ring.depth - (sq->ring.fetched - READ_ONCE(sq->cons));
	const int pending = soft_ring_pending(&sq->ring);

	if (pending <= 0 || sq->held || staged >= batch ||
	    READ_ONCE(qp->state) == SOFT_QP_TERMINATE)
		return 0;
	return min3(min_t(u32, pending, slots),
		    min(tx->frag.size - tx->frag.offset, batch - staged) / len,
		    SOFT_RUN_MAX);
}

/**
 * soft_tx_more() - build work requests of the same kind as the one just built
 * @qp: queue pair; the work request just built, sq.wqe, was a message of one FPDU, and tx.msg
 *	still describes it
 * Context: the transmitter, between messages.
 */
void soft_tx_more(struct soft_qp *qp)
{
	struct soft_tx *tx = qp->tx;
	struct soft_sq *sq = &qp->sq;
	const u32 hdr = soft_tx_header_len(&tx->msg);
	const u32 len = soft_fpdu_len(hdr - SOFT_MPA_HDR + sq->wqe->length);
	const u32 first = sq->ring.fetched;
	u8 *p = page_address(tx->frag.page) + tx->frag.offset;
	const struct krdma_soft_sqe *sqe;
	const u32 most = soft_tx_run_most(qp, len);
	struct soft_mem *mem = NULL;
	struct soft_tx_kind kind;
	struct soft_tx_own own;
	u8 like[SOFT_HDR_MAX];
	bool is_write;
	u32 n, key;

	if (!most || !soft_tx_run_kind(sq->wqe, &kind) || qp->mpa.tx_markers ||
	    trace_soft_fpdu_enabled() || trace_soft_wr_enabled())
		return;
	if (!(kind.flags & KRDMA_SOFT_WQE_INLINE) &&
	    soft_mem_get_cached(&qp->mem, &tx->mem, kind.lkey, sq->wqe->sge[0].addr,
				kind.len, 0, &mem))
		return;
	tx->msg.off = 0;
	soft_tx_header(&tx->msg, like, kind.len);
	is_write = kind.opcode == KRDMA_SOFT_OP_WRITE;
	for (n = 0; n < most && !soft_tx_has_requests(qp); n++, p += len) {
		sqe = soft_ring_entry(&sq->ring, first + n);
		if (!soft_tx_run_own(sqe, &kind, &own))
			break;
		if (mem && soft_mem_in_bounds(mem, own.addr, kind.len))
			break;
		if (is_write) {
			key = own.rkey;
			soft_put_tagged_again(p, like, key, own.raddr);
		} else {
			key = tx->msn[SOFT_QN_SEND]++;
			soft_put_untagged_again(p, like, key);
		}
		if (mem)
			soft_mem_read(mem, own.addr, p + hdr, kind.len);
		else
			memcpy(p + hdr, sqe->sge, kind.len);
		soft_tx_tail(p, hdr + kind.len);
		if (qp->mpa.crc)
			soft_tx_crc(p, len);
		*soft_sq_rec(sq, first + n) = (struct soft_sq_rec){
			.wr_id = own.wr_id,
			.end_seq = tx->seq_built + (n + 1) * len,
			.raddr = own.raddr,
			.byte_len = kind.len,
			.key = key,
			.op = kind.opcode,
			.flags = own.flags,
			.begun = true,
		};
		/* the flags of the last work request taken, for soft_pace_called() */
		sq->wqe->flags = own.flags;
	}
	if (mem)
		soft_mem_put(mem);
	if (!n)
		return;
	/* write the records before the index: pairs with soft_sq_fetched() */
	smp_store_release(&sq->ring.fetched, first + n);
	qp->sent.fpdus += n;
	qp->sent.messages += n;
	soft_tx_commit(tx, n * len, n);
}
