// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The current message is cut into FPDUs that fit into TCP segments.
 *
 * FPDUs are built back to back in page fragments, exactly as sent. Many FPDUs go to TCP in one
 * send, which takes the pages by reference. The consequences:
 *  - Payload is copied once, and its CRC is computed while the payload is in the cache.
 *  - A built FPDU cannot change any more, however often TCP retransmits it.
 *  - After a send that TCP took in part, the next send continues at a byte offset.
 */
#include "../base/params.h"
#include "../base/trace.h"
#include "../wire/mpa_markers.h"
#include "internal.h"

/* Bytes of the next FPDU, for a ULPDU of @ulpdu_len bytes. */
static u32 soft_tx_fpdu_len(const struct soft_qp *qp, u32 ulpdu_len)
{
	u32 len = soft_fpdu_len(ulpdu_len);

	return qp->mpa.tx_markers ? soft_marked_len(qp->tx->seq_built, len) : len;
}

static u8 *soft_tx_reserve_pages(struct soft_qp *qp, u32 ulpdu_len)
{
	struct page_frag *frag = &qp->tx->frag;
	u32 want = min_t(u32, soft_tx_fpdu_len(qp, ulpdu_len),
			 SKB_FRAG_PAGE_ORDER ? 32768 : PAGE_SIZE);

	if (!soft_tx_pages_refill(frag, want))
		return NULL;
	return page_address(frag->page) + frag->offset;
}

/**
 * soft_tx_reserve() - reserve contiguous room for the next FPDU
 * @qp: queue pair
 * @ulpdu_len: bytes of its ULPDU
 *
 * The room extends to the end of tx.frag. When memory is short, it may be less than requested,
 * but never less than a page. On the direct path the room is tx.seg.raw, for a message that
 * consists of headers only.
 * Return: the room; NULL when there is none.
 */
u8 *soft_tx_reserve(struct soft_qp *qp, u32 ulpdu_len)
{
	return qp->tx->direct ? qp->tx->seg->raw :
			       soft_tx_reserve_pages(qp, ulpdu_len);
}

/** soft_tx_commit() - append the next @n reserved bytes, @fpdus whole FPDUs, to tx.vec */
void soft_tx_commit(struct soft_tx *tx, u32 n, u32 fpdus)
{
	struct bio_vec *last = tx->nvec ? &tx->vec[tx->nvec - 1] : NULL;

	if (last && last->bv_page == tx->frag.page &&
	    last->bv_offset + last->bv_len == tx->frag.offset) {
		last->bv_len += n;
	} else {
		get_page(tx->frag.page);
		bvec_set_page(&tx->vec[tx->nvec++], tx->frag.page, n,
			      tx->frag.offset);
	}
	tx->frag.offset += n;
	tx->staged += n;
	tx->staged_fpdus += fpdus;
	tx->seq_built += n;
}

/* Complete an FPDU of @n bytes of ULPDU_Length and ULPDU. */
static void soft_tx_seal_fpdu(struct soft_qp *qp, u8 *p, u32 n)
{
	/* copied, since markers may be inserted before them */
	const u8 ddp[] = { p[SOFT_MPA_HDR], p[SOFT_MPA_HDR + 1] };

	n = soft_tx_tail(p, n);
	if (qp->mpa.tx_markers)
		n = soft_markers_insert(p, qp->tx->seq_built, n);
	if (qp->mpa.crc)
		soft_tx_crc(p, n);
	trace_soft_fpdu(qp, ddp, n);
	soft_traffic_fpdu(&qp->sent, ddp);
	soft_tx_commit(qp->tx, n, 1);
}

/** soft_tx_seal() - complete the reserved FPDU or segment; @p has @n bytes without the tail */
void soft_tx_seal(struct soft_qp *qp, u8 *p, u32 n)
{
	struct soft_direct_seg *seg = qp->tx->seg;

	if (!qp->tx->direct) {
		soft_tx_seal_fpdu(qp, p, n);
		return;
	}
	seg->len = n;
	seg->payload = 0;
	seg->of_message = false;
}

/* Copy @n bytes from the element list, continuing where the last call stopped. */
static enum soft_access soft_tx_build_gather(struct soft_qp *qp, struct soft_msg *msg,
					     u8 *dst, u32 n)
{
	const struct krdma_soft_sge *sge;
	enum soft_access why;
	struct soft_mem *mem;
	u32 part;

	while (n) {
		sge = msg->sge;
		part = min(n, sge->length - msg->sge_off);
		if (part) {
			why = soft_mem_get_cached(&qp->mem, &qp->tx->mem, sge->lkey,
						  sge->addr + msg->sge_off,
						  part, 0, &mem);
			if (why)
				return why;
			soft_mem_read(mem, sge->addr + msg->sge_off, dst, part);
			soft_mem_put(mem);
		}
		dst += part;
		n -= part;
		msg->sge_off += part;
		if (msg->sge_off == sge->length) {
			msg->sge++;
			msg->sge_off = 0;
		}
	}
	return SOFT_ACCESS_OK;
}

static enum soft_access soft_tx_build_payload(struct soft_qp *qp,
					      struct soft_msg *msg, u8 *dst, u32 n)
{
	enum soft_access why;
	struct soft_mem *mem;

	if (!n)
		return SOFT_ACCESS_OK;
	if (msg->inline_data) {
		memcpy(dst, msg->inline_data + msg->off, n);
		return SOFT_ACCESS_OK;
	}
	if (msg->kind == SOFT_MSG_WR)
		return soft_tx_build_gather(qp, msg, dst, n);

	why = soft_mem_get_cached(&qp->mem, &qp->tx->mem, msg->read.src_stag,
				  msg->read.src_to + msg->off, n,
				  IB_ACCESS_REMOTE_READ, &mem);
	if (why)
		return why;
	soft_mem_read(mem, msg->read.src_to + msg->off, dst, n);
	soft_mem_put(mem);
	return SOFT_ACCESS_OK;
}

/*
 * The source of the peer's request @raw was invalidated after the request was checked and @done
 * bytes were answered: fail the stream (RFC 5040 4.8).
 */
void soft_tx_refused(struct soft_qp *qp, const u8 *raw, u32 n, u32 done,
		     enum soft_access why)
{
	struct soft_term term = {};
	struct soft_seg seg;

	if (soft_seg_decode(raw, n, &seg, &term) == 0) {
		soft_term_access(&seg, raw, why, &term);
		soft_term_read_progress(&term, done);
	}
	soft_count(qp->rnic, SOFT_CNT_ACCESS_ERR);
	soft_qp_fail(qp, &term, true, -EPROTO);
	soft_qp_event(qp, IB_EVENT_QP_ACCESS_ERR);
}

/* A local work request cannot be executed: fail the QP. */
void soft_tx_wr_failed(struct soft_qp *qp, u32 slot, enum ib_wc_status status)
{
	struct soft_term term;

	soft_sq_fail(qp, slot, status);
	soft_term_set(&term, SOFT_TERM_RDMAP, SOFT_RDMAP_LOCAL,
		      SOFT_CODE_LOCAL);
	soft_qp_fail(qp, &term, true, -EIO);
}

/* Remove the peer's oldest request, which has been answered. */
void soft_tx_in_done(struct soft_qp *qp)
{
	spin_lock_bh(&qp->lock);
	if (++qp->in_head == soft_in_size(qp))
		qp->in_head = 0;
	WRITE_ONCE(qp->in_count, qp->in_count - 1);
	/* pairs with soft_rx_in_free(): the entry is not counted any more */
	smp_store_release(&qp->in_leaving, false);
	spin_unlock_bh(&qp->lock);
}

/* The payload of the current message cannot be read any more: fail the QP. */
void soft_tx_msg_refused(struct soft_qp *qp, struct soft_msg *msg,
			 enum soft_access why)
{
	u8 raw[SOFT_HDR_MAX];
	u32 n;

	if (msg->kind == SOFT_MSG_WR) {
		soft_tx_wr_failed(qp, msg->slot, IB_WC_LOC_PROT_ERR);
		return;
	}
	n = soft_put_read_req(raw, msg->msn, &msg->read);
	soft_tx_refused(qp, raw, n, msg->off, why);
}

/* The last segment of the message is built. Immediate data may still follow it. */
void soft_tx_msg_done(struct soft_qp *qp, struct soft_msg *msg)
{
	if (msg->imm_due == SOFT_IMM_AFTER) {
		msg->imm_due = SOFT_IMM_NOW;
		return;
	}
	if (msg->kind == SOFT_MSG_WR)
		soft_sq_encoded(&qp->sq, msg->slot, qp->tx->seq_built);
	else
		soft_tx_in_done(qp);
	msg->kind = SOFT_MSG_NONE;
}

/** soft_tx_header() - encode the header of the next segment, which has @n bytes of payload */
u32 soft_tx_header(const struct soft_msg *msg, u8 *p, u32 n)
{
	bool last = msg->off + n == msg->len;

	if (soft_op(msg->opcode)->flags & SOFT_OP_TAGGED)
		return soft_put_tagged(p, msg->opcode, last, msg->stag,
				       msg->to + msg->off, n);
	return soft_put_untagged(p, msg->opcode, last, msg->inv_stag,
				 SOFT_QN_SEND, msg->msn, msg->off, n);
}

/* Find the next bytes of the current message: one piece, at most @n bytes. */
u32 soft_tx_locate(struct soft_msg *msg, struct soft_place *at, u32 n)
{
	if (msg->kind == SOFT_MSG_READ_RESP) {
		at->stag = msg->read.src_stag;
		at->to = msg->read.src_to + msg->off;
		at->need = IB_ACCESS_REMOTE_READ;
		return n;
	}
	while (msg->sge_off == msg->sge->length) {
		msg->sge++;
		msg->sge_off = 0;
	}
	at->stag = msg->sge->lkey;
	at->to = msg->sge->addr + msg->sge_off;
	at->need = 0;
	return min(n, msg->sge->length - msg->sge_off);
}

/*
 * Build FPDUs of @n bytes of payload each at @p, as many as there is room for, but not the last
 * of the message. They come from one piece of memory, which is looked up and checked once.
 * Return: number of FPDUs. 0 also when the access is refused; then the caller's check of the
 * next FPDU reports the error.
 */
static u32 soft_tx_build_several(struct soft_qp *qp, u8 *p, u32 n)
{
	struct soft_tx *tx = qp->tx;
	struct soft_msg *msg = &tx->msg;
	const u32 hdr = soft_tx_header_len(msg);
	const u32 len = soft_fpdu_len(hdr - SOFT_MPA_HDR + n);
	struct soft_place at;
	struct soft_mem *mem;
	u32 count, i;

	if (msg->len - msg->off <= 2 * n || msg->inline_data ||
	    qp->mpa.tx_markers || trace_soft_fpdu_enabled())
		return 0;
	count = min((msg->len - msg->off - 1) / n,
		    (tx->frag.size - tx->frag.offset) / len);
	count = min(count, soft_tx_locate(msg, &at, count * n) / n);
	if (count < 2 || soft_mem_get_cached(&qp->mem, &tx->mem, at.stag, at.to,
					     count * n, at.need, &mem))
		return 0;
	soft_mem_read_parts(mem, at.to,
			    &(struct soft_parts){
				    .first = p + hdr,
				    .len = n,
				    .gap = len - n,
			    },
			    count * n);
	soft_mem_put(mem);
	soft_put_more(p, soft_tx_header(msg, p, n), n, len, count);
	for (i = 0; i < count; i++, p += len) {
		soft_tx_tail(p, hdr + n);
		if (qp->mpa.crc)
			soft_tx_crc(p, len);
	}
	qp->sent.fpdus += count;
	msg->off += count * n;
	msg->sge_off += count * n;
	soft_tx_commit(tx, count * len, count);
	return count;
}

/*
 * On the direct path: build the current message as an FPDU? The peer takes a run of such FPDUs
 * together. That costs a second short copy of each message, but saves a push for each.
 */
static bool soft_tx_build_in_run(const struct soft_qp *qp, const struct soft_msg *msg,
				 u32 n)
{
	const u32 most = qp->mpa.crc ? SOFT_DIRECT_RUN_CRC : SOFT_DIRECT_RUN;

	return n && n == msg->len && n <= most && msg->kind == SOFT_MSG_WR &&
	       msg->imm_due == SOFT_IMM_NEVER && !qp->mpa.tx_markers &&
	       soft_ring_pending(&qp->sq.ring) > 0;
}

/* Build the next FPDU of the current message, or several. */
static enum soft_step soft_tx_build_segment(struct soft_qp *qp, u32 mulpdu)
{
	struct soft_tx *tx = qp->tx;
	struct soft_msg *msg = &tx->msg;
	u32 hdr = soft_tx_header_len(msg) - SOFT_MPA_HDR;
	u32 n = min(msg->len - msg->off, mulpdu - hdr);
	enum soft_access why;
	bool is_short;
	u32 room;
	u8 *p;

	if (tx->direct && !soft_tx_build_in_run(qp, msg, n))
		return soft_tx_direct(qp);
	p = soft_tx_reserve_pages(qp, hdr + n);
	if (!p)
		return SOFT_STEP_FULL;
	if (soft_tx_build_several(qp, p, n))
		return SOFT_STEP_BUILT;
	room = tx->frag.size - tx->frag.offset;
	/* the room is at least a page; a shorter ULPDU needs at most one pad more around it */
	if (room < soft_tx_fpdu_len(qp, hdr + n))
		n = round_down(2 * room - soft_tx_fpdu_len(qp, room) -
				       SOFT_MPA_PAD_MAX - hdr, 4);

	hdr = soft_tx_header(msg, p, n);
	why = soft_tx_build_payload(qp, msg, p + hdr, n);
	if (why) {
		soft_tx_msg_refused(qp, msg, why);
		return SOFT_STEP_BUILT;
	}
	soft_tx_seal_fpdu(qp, p, hdr + n);
	msg->off += n;
	if (msg->off != msg->len)
		return SOFT_STEP_BUILT;
	is_short = n == msg->len && msg->kind == SOFT_MSG_WR;
	soft_tx_msg_done(qp, msg);
	if (is_short && msg->kind == SOFT_MSG_NONE &&
	    soft_ring_pending(&qp->sq.ring))
		soft_tx_more(qp);
	return SOFT_STEP_BUILT;
}

/* Continue the current message: build its next segment or its immediate data. */
enum soft_step soft_tx_go_on(struct soft_qp *qp, u32 mulpdu)
{
	struct soft_msg *msg = &qp->tx->msg;
	enum soft_step step;

	switch (msg->imm_due) {
	case SOFT_IMM_NOW:
		step = soft_tx_imm(qp, msg);
		/* the immediate data of a Send is sent before the Send */
		if (step == SOFT_STEP_BUILT && msg->opcode == SOFT_RDMAP_WRITE)
			msg->imm_due = SOFT_IMM_GIVEN;
		return step;
	case SOFT_IMM_GIVEN:
		/* the immediate data has been given to the peer, or is counted in seq_built */
		soft_tx_msg_done(qp, msg);
		return SOFT_STEP_BUILT;
	default:
		return soft_tx_build_segment(qp, mulpdu);
	}
}
