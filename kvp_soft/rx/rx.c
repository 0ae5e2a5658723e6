// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The receiver.
 *
 * FPDUs are taken from TCP's receive queue one by one, whole: the CRC of an
 * FPDU is checked before an octet of it is believed or placed. An FPDU that
 * lies in one socket buffer is checked and placed from there, so its payload is
 * copied once; one that is spread over several is put together in a bounce
 * buffer first. As the transmitter cuts FPDUs to TCP's segments, that is the
 * exception. In the middle of a long message FPDUs are handled as one, as many as
 * lie side by side.
 *
 * Little data is handled in softirq, where it arrives, because that is the
 * shortest way to a completion; much data goes to a work item, so that
 * copying runs beside the network stack and not inside it.
 *
 * All of it runs under the socket's lock.
 */
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "../device.h"
#include "../memory/memory.h"
#include "../wire/mpa_markers.h"
#include "../params.h"
#include "../qp.h"
#include "rx.h"
#include "../trace.h"

/** soft_rx_reset() - before a stream and after it */
void soft_rx_reset(struct soft_rx *rx)
{
	int i;

	kvfree(rx->bounce);
	rx->bounce = NULL;
	rx->bounce_len = 0;
	rx->bounce_size = 0;
	rx->bounce_want = 0;
	rx->bounce_ready = 0;
	rx->marked_pos = 0;
	rx->held = false;
	rx->write_len = 0;
	rx->in_write = false;
	rx->imm_kept = false;
	rx->wqe.active = false;
	rx->wqe_status = IB_WC_SUCCESS;
	rx->seq_read = 0;
	rx->push_waits = false;
	for (i = 0; i < ARRAY_SIZE(rx->untagged); i++)
		rx->untagged[i] = (struct soft_untagged_state){ .msn = 1 };
}

/**
 * soft_rx_in_message() - is a message incomplete (the stream must not end here)
 * @qp: queue pair; its receiver rests
 */
bool soft_rx_in_message(const struct soft_qp *qp)
{
	const struct soft_rx *rx = &qp->rx;

	return rx->bounce_len || rx->in_write || rx->wqe.active ||
	       rx->imm_kept ||
	       (READ_ONCE(qp->out_count) && qp->out[qp->out_head].got);
}

/* Tagged messages ********************************************************** */

/** soft_rx_refused() - an access that soft_mem_get() did not allow */
int soft_rx_refused(struct soft_qp *qp, struct soft_rx_seg *s,
		    enum soft_access why)
{
	soft_count(qp->rnic, SOFT_CNT_ACCESS_ERR);
	soft_term_access(&s->seg, s->raw, why, &s->term);
	return -EACCES;
}

/** soft_rx_bad_opcode() - no such message here (RFC 5040 7.2) */
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

	/* RFC 5041 5.2: STag and TO of nothing are not checked */
	if (!seg->payload_len)
		return 0;
	why = soft_mem_get_cached(qp, &qp->rx.mem, seg->stag, seg->to,
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
	struct soft_rx *rx = &qp->rx;

	if (!rx->in_write)
		rx->write_len = 0;
	rx->write_len += s->seg.payload_len;
	rx->in_write = !s->seg.last;
	return soft_rx_place(qp, s, IB_ACCESS_REMOTE_WRITE);
}

/* The response must be to our oldest read and go where that asked. */
static enum soft_access soft_rx_resp_check(struct soft_qp *qp,
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

/** soft_rx_out_done() - our oldest request is answered */
void soft_rx_out_done(struct soft_qp *qp)
{
	const struct soft_read_out *out = &qp->out[qp->out_head];
	u32 slot = out->last ? out->slot : SOFT_NO_SLOT;
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
		soft_sq_complete(qp);
	}
	/* the next one, or what was fenced behind this one, may go */
	if (tx_waits)
		soft_tx_kick(qp);
}

static int soft_rx_read_resp(struct soft_qp *qp, struct soft_rx_seg *s)
{
	struct soft_read_out *out = &qp->out[qp->out_head];
	enum ib_wc_status status = IB_WC_BAD_RESP_ERR;
	enum soft_access why = soft_rx_resp_check(qp, &s->seg);
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
	out->got += s->seg.payload_len;
	if (!s->seg.last)
		return 0;
	if (out->last && out->slot != SOFT_NO_SLOT &&
	    !soft_sq_read_inv(qp, out->slot)) {
		/* somebody else has, since the last octet was placed */
		soft_sq_fail(qp, out->slot, IB_WC_LOC_PROT_ERR);
		return soft_rx_refused(qp, s, SOFT_ACCESS_STAG);
	}
	soft_rx_out_done(qp);
	return 0;
}

/* Untagged messages ******************************************************** */

/** soft_rx_in_check() - a request of the peer: is it the next, and has IRD a place */
int soft_rx_in_check(struct soft_qp *qp, struct soft_rx_seg *s)
{
	struct soft_untagged_state *st = &qp->rx.untagged[SOFT_QN_READ_REQ];

	if (soft_untagged_check(st, &s->seg,
				READ_ONCE(qp->in_count) < qp->mpa.ird, U32_MAX,
				&s->term))
		return -EPROTO;
	soft_untagged_advance(st, &s->seg);
	return 0;
}

/** soft_rx_in_add() - a request of the peer to answer; IRD has a place for it */
void soft_rx_in_add(struct soft_qp *qp, const struct soft_read_in *in)
{
	u32 i;

	spin_lock_bh(&qp->lock);
	i = qp->in_head + qp->in_count;
	if (i >= qp->mpa.ird)
		i -= qp->mpa.ird;
	qp->in[i] = *in;
	qp->in_count++;
	spin_unlock_bh(&qp->lock);
	if (!qp->rx.pushing)
		soft_tx_kick(qp);
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
		why = soft_mem_get_cached(qp, &qp->rx.mem, rr->src_stag,
					  rr->src_to, rr->length,
					  IB_ACCESS_REMOTE_READ, &mem);
		if (why)
			return soft_rx_refused(qp, s, why);
		soft_mem_put(mem);
	}
	soft_rx_in_add(qp, &in);
	return 0;
}

/** soft_rx_local_error() - a failure that no message can mend (RFC 5040 7.2) */
int soft_rx_local_error(struct soft_qp *qp, struct soft_rx_seg *s,
			enum ib_wc_status status)
{
	qp->rx.wqe_status = status;
	soft_term_with_hdr(&s->term, &s->seg, s->raw, SOFT_TERM_RDMAP,
			   SOFT_RDMAP_OPERATION, SOFT_OPER_STREAM);
	return -EIO;
}

/*
 * Place the payload of a Send segment in the receive buffer, from MO on; without @src
 * only ask for each piece of it. Return: -EACCES when that is not allowed, or
 * soft_src_place()'s.
 */
static int soft_rx_pieces(struct soft_qp *qp, const struct soft_seg *seg,
			  const struct soft_src *src)
{
	const struct soft_rwqe *wqe = &qp->rx.wqe;
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
		if (soft_mem_get_cached(qp, &qp->rx.mem, sge->lkey,
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

static int soft_rx_scatter(struct soft_qp *qp, struct soft_rx_seg *s)
{
	int ret = soft_rx_pieces(qp, &s->seg, &s->src);

	return ret == -EACCES ? soft_rx_local_error(qp, s, IB_WC_LOC_PROT_ERR) :
				ret;
}

/* The last segment of a Send is placed: invalidate, then complete. */
static int soft_rx_deliver(struct soft_qp *qp, struct soft_rx_seg *s)
{
	const struct soft_op *op = soft_op(s->seg.opcode);
	struct soft_rx *rx = &qp->rx;
	enum soft_access why;
	struct soft_recv_done done = {
		.opcode = IB_WC_RECV,
		.solicited = op->flags & SOFT_OP_SOLICITED,
		.len = s->seg.mo + s->seg.payload_len,
	};

	if (op->flags & SOFT_OP_INVALIDATE) {
		/* a completion has room for one of the two */
		if (rx->imm_kept)
			return soft_rx_local_error(qp, s, IB_WC_REM_INV_REQ_ERR);
		why = soft_mem_invalidate(qp, s->seg.inv_stag);
		if (why) {
			qp->rx.wqe_status = IB_WC_REM_INV_REQ_ERR;
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

/** soft_rx_receive() - take a receive for what the segment begins; check its place */
int soft_rx_receive(struct soft_qp *qp, struct soft_rx_seg *s)
{
	struct soft_untagged_state *st = &qp->rx.untagged[SOFT_QN_SEND];
	struct soft_rwqe *wqe = &qp->rx.wqe;
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
			qp->rx.wqe_status = IB_WC_LOC_LEN_ERR;
		return -EPROTO;
	}
	return 0;
}

static int soft_rx_send(struct soft_qp *qp, struct soft_rx_seg *s)
{
	int ret;

	ret = soft_rx_receive(qp, s) ?: soft_rx_scatter(qp, s);
	if (ret)
		return ret;
	soft_untagged_advance(&qp->rx.untagged[SOFT_QN_SEND], &s->seg);
	return s->seg.last ? soft_rx_deliver(qp, s) : 0;
}

/* Which of our work requests, in the verbs' words, did the peer refuse? */
static enum ib_wc_status soft_term_status(const struct soft_term *term)
{
	if (term->layer == SOFT_TERM_RDMAP &&
	    term->etype == SOFT_RDMAP_PROTECTION)
		return IB_WC_REM_ACCESS_ERR;
	if (term->layer == SOFT_TERM_DDP && term->etype == SOFT_DDP_TAGGED)
		return term->code == SOFT_TAG_VERSION ? IB_WC_REM_INV_REQ_ERR :
							IB_WC_REM_ACCESS_ERR;
	if (term->layer == SOFT_TERM_DDP && term->etype == SOFT_DDP_UNTAGGED)
		return IB_WC_REM_INV_REQ_ERR;
	if (term->layer != SOFT_TERM_RDMAP || term->etype != SOFT_RDMAP_OPERATION)
		return IB_WC_REM_OP_ERR;
	switch (term->code) {
	case SOFT_CODE_NOT_INVALIDATED:
		return IB_WC_REM_ACCESS_ERR;
	case SOFT_OPER_VERSION:
	case SOFT_OPER_OPCODE:
		/* the peer knows no such message: RFC 7306 is optional */
		return IB_WC_REM_INV_REQ_ERR;
	}
	return IB_WC_REM_OP_ERR;
}

/* RFC 7306 8.2 has one code for an atomic operation's address, and others' lack of all */
static bool soft_term_is_misaligned(const struct soft_term *term,
				    const struct soft_term_about *about)
{
	return !about->tagged && about->opcode == SOFT_RDMAP_ATOMIC_REQ &&
	       term->layer == SOFT_TERM_RDMAP &&
	       term->etype == SOFT_RDMAP_OPERATION &&
	       term->code == SOFT_OPER_STREAM;
}

/* Is the sink of this Read the one in the header? It moves on as the Read is answered. */
static bool soft_rx_out_has_sink(const struct soft_read_out *out,
				 const struct soft_term_about *about)
{
	return !out->is_atomic && out->stag == about->stag &&
	       about->to - out->to <= out->len;
}

/*
 * The Read or atomic operation whose request that is, if it is not answered. siw has the
 * length of a Read where its MSN belongs: then the oldest with that sink.
 */
static bool soft_rx_fail_request(struct soft_qp *qp,
				 const struct soft_term_about *about,
				 enum ib_wc_status status)
{
	u32 slot = SOFT_NO_SLOT;
	u32 i;

	spin_lock_bh(&qp->lock);
	for (i = 0; i < qp->out_count; i++) {
		const struct soft_read_out *out =
			&qp->out[(qp->out_head + i) % qp->mpa.ord];

		if (about->by_sink && !soft_rx_out_has_sink(out, about))
			continue;
		if (out->msn == about->msn) {
			slot = out->slot;
			break;
		}
		if (about->by_sink && slot == SOFT_NO_SLOT)
			slot = out->slot;
	}
	spin_unlock_bh(&qp->lock);
	if (slot == SOFT_NO_SLOT)
		return false;
	soft_sq_fail(qp, slot, status);
	return true;
}

/*
 * Blame the work request that the Terminate names. That has often completed: a Send or
 * Write has when TCP took it, and then nobody else is to blame. Where the Terminate names
 * nothing it is the oldest. Return: somebody is to blame.
 */
static bool soft_rx_blame(struct soft_qp *qp, const struct soft_term *term)
{
	enum ib_wc_status status = soft_term_status(term);
	struct soft_term_about about;

	if (!soft_term_about(term, &about))
		return soft_sq_fail_oldest(qp, status);
	if (soft_term_is_misaligned(term, &about))
		status = IB_WC_REM_INV_REQ_ERR;
	if (about.tagged)
		return about.opcode == SOFT_RDMAP_WRITE &&
		       soft_sq_fail_named(qp, &about, status);
	if (about.qn == SOFT_QN_READ_REQ)
		return soft_rx_fail_request(qp, &about, status);
	return about.qn == SOFT_QN_SEND &&
	       soft_sq_fail_named(qp, &about, status);
}

static int soft_rx_terminate(struct soft_qp *qp, struct soft_rx_seg *s)
{
	u8 body[SOFT_TERM_MAX];
	u32 n = min_t(u32, s->seg.payload_len, sizeof(body));

	if (soft_untagged_check(&qp->rx.untagged[SOFT_QN_TERMINATE], &s->seg,
				true, U32_MAX, &s->term))
		return -EPROTO;
	soft_src_copy(&s->src, soft_payload_off(&s->seg), body, n);
	if (soft_term_decode(body, n, &s->term))
		return -EPROTO;
	soft_count(qp->rnic, SOFT_CNT_TERM_RX);
	trace_soft_terminate(qp, &s->term, false);
	soft_qp_fail(qp, &s->term, false, -ECONNRESET);
	if (!soft_rx_blame(qp, &s->term))
		soft_qp_event(qp, IB_EVENT_QP_FATAL);
	qp->rx.stopped = true;
	return 0;
}

/* FPDUs ******************************************************************** */

/** soft_rx_dispatch() - to the handler of a decoded segment; returns its answer */
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
		/* soft_seg_decode() lets nothing else than the Send family by */
		return soft_rx_send(qp, s);
	}
}

/* The stream cannot go on: tell the peer, the consumer, and stop listening. */
static void soft_rx_fail(struct soft_qp *qp, const struct soft_term *term)
{
	bool access = (term->layer == SOFT_TERM_RDMAP &&
		       term->etype == SOFT_RDMAP_PROTECTION) ||
		      (term->layer == SOFT_TERM_DDP &&
		       term->etype == SOFT_DDP_TAGGED);

	soft_count(qp->rnic, SOFT_CNT_PROTO_ERR);
	qp->rx.stopped = true;
	soft_qp_fail(qp, term, true, -EPROTO);
	soft_qp_event(qp, access ? IB_EVENT_QP_ACCESS_ERR : IB_EVENT_QP_REQ_ERR);
}

static void soft_rx_mpa_error(struct soft_qp *qp, u8 code)
{
	struct soft_term term;

	soft_term_set(&term, SOFT_TERM_MPA, SOFT_MPA_ERROR, code);
	soft_rx_fail(qp, &term);
}

/* Check the CRC of a whole FPDU, its markers included. */
static __always_inline bool
soft_rx_crc_ok(struct soft_qp *qp, const struct soft_src *src, u32 len)
{
	if (!qp->mpa.crc || soft_src_crc_ok(src, len))
		return true;
	soft_count(qp->rnic, SOFT_CNT_CRC_ERR);
	soft_rx_mpa_error(qp, SOFT_MPA_CRC_ERROR);
	return false;
}

/* The initiator has spoken: the responder may send (RFC 5044 7.1.2). */
static void soft_rx_peer_ready(struct soft_qp *qp)
{
	WRITE_ONCE(qp->peer_ready, true);
	soft_tx_kick(qp);
}

/* Could several segments, as one, be refused? What can be is told of each by itself. */
static bool soft_rx_join_ok(struct soft_qp *qp, const struct soft_seg *seg)
{
	const struct soft_untagged_state *st = &qp->rx.untagged[SOFT_QN_SEND];
	const struct soft_rwqe *wqe = &qp->rx.wqe;
	int need = IB_ACCESS_REMOTE_WRITE;
	struct soft_mem *mem;

	if (!seg->tagged)
		return seg->msn == st->msn && seg->mo == st->mo &&
		       (u64)seg->mo + seg->payload_len <= wqe->length &&
		       !soft_rx_pieces(qp, seg, NULL);
	if (seg->opcode == SOFT_RDMAP_READ_RESP) {
		need = IB_ACCESS_LOCAL_WRITE;
		if (soft_rx_resp_check(qp, seg))
			return false;
	}
	if (soft_mem_get_cached(qp, &qp->rx.mem, seg->stag, seg->to,
				seg->payload_len, need, &mem))
		return false;
	soft_mem_put(mem);
	return true;
}

/* How many segments behind @s, in the middle of a message, go with it as one. */
static u32 soft_rx_join(struct soft_qp *qp, struct soft_rx_seg *s)
{
	u32 n;

	if (s->seg.last || !s->seg.payload_len || !s->src.more ||
	    qp->rx.apart || trace_soft_recv_enabled())
		return 0;
	/* the first of a message takes its receive */
	if (!s->seg.tagged && !qp->rx.wqe.active)
		return 0;
	n = soft_src_join(&s->src, &s->seg, s->raw, qp->mpa.crc);
	if (!n || soft_rx_join_ok(qp, &s->seg))
		return n;
	soft_src_part(&s->src, &s->seg);
	/* one of them will be: not to be tried with each before it */
	qp->rx.apart = true;
	return 0;
}

/**
 * soft_rx_handled() - a segment's handler has answered
 * @qp: queue pair
 * @s: the segment
 * @ret: 0, or its errno
 * Return: 0, also when the stream has failed with it; -EAGAIN when it is to be given again
 * later, and nothing behind it before (rx.held); -ESTALE as soft_src_place().
 */
int soft_rx_handled(struct soft_qp *qp, struct soft_rx_seg *s, int ret)
{
	qp->rx.held = ret == -EAGAIN;
	if (qp->rx.held || ret == -ESTALE)
		return ret;
	if (ret)
		soft_rx_fail(qp, &s->term);
	else if (!READ_ONCE(qp->peer_ready))
		soft_rx_peer_ready(qp);
	soft_traffic_fpdu(&qp->received, s->raw + SOFT_MPA_HDR);
	return 0;
}

/* What its sender on this host still has goes with the segment, however long. */
static void soft_rx_add_direct(struct soft_rx_seg *s)
{
	const u32 n = s->src.direct->payload;

	s->seg.payload_len += n;
	/* what a Terminate says of it */
	s->seg.ulpdu_len = min(s->seg.ulpdu_len + n, U16_MAX);
}

/*
 * A segment of which @have octets stand in @s->raw, and those that go with it. Return:
 * how many, or soft_rx_handled()'s errno.
 */
static int soft_rx_segment(struct soft_qp *qp, struct soft_rx_seg *s, u32 have)
{
	u32 joined = 0;
	int ret;

	ret = soft_seg_decode(s->raw, have, &s->seg, &s->term);
	if (!ret) {
		if (s->src.direct)
			soft_rx_add_direct(s);
		trace_soft_recv(qp, &s->seg);
		joined = soft_rx_join(qp, s);
		ret = soft_rx_dispatch(qp, s);
	}
	ret = soft_rx_handled(qp, s, ret);
	if (ret)
		return ret;
	qp->received.fpdus += joined;
	return 1 + joined;
}

/*
 * A whole FPDU of @len octets, checked, and its ULPDU_Length as it was read to find
 * that: the pages of a sender on this host may be anybody's, and change. Return: FPDUs of
 * that length that were used, it and those that go with it; 0 when it is to be given again
 * later.
 */
static u32 soft_rx_fpdu(struct soft_qp *qp, const struct soft_src *src, u32 len,
			u16 ulpdu_len)
{
	u32 have = min_t(u32, len - SOFT_MPA_CRC, SOFT_HDR_MAX);
	struct soft_rx_seg s;
	int n;

	s.src = *src;
	if (src->lin && have == SOFT_HDR_MAX) {
		/* of known length: no call; and not to be read again */
		memcpy(s.raw, src->lin, SOFT_HDR_MAX);
		barrier_data(s.raw);
	} else {
		soft_src_copy(src, 0, s.raw, have);
	}
	put_unaligned_be16(ulpdu_len, s.raw);
	n = soft_rx_segment(qp, &s, have);
	if (n < 0)
		return 0;
	if (n == 1 && s.src.more >= len)
		n += soft_rx_more(qp, &s, len);
	return n;
}

/**
 * soft_rx_direct() - a segment from a queue pair of this host
 * @qp: who receives
 * @seg: the segment
 *
 * Context: process context, with the socket of @qp locked.
 * Return: 0, also when it was refused, which the peer hears by a Terminate; -EAGAIN
 * when there is no receive for it yet, and -ENOTCONN when the stream has failed: it and
 * what is behind it are to come by TCP; -ESTALE when its payload cannot be read.
 */
int soft_rx_direct(struct soft_qp *qp, const struct soft_direct_seg *seg)
{
	u32 have = min_t(u32, seg->len, SOFT_HDR_MAX);
	struct soft_rx_seg s;
	int ret;

	if (qp->rx.stopped)
		return -ENOTCONN;
	if (qp->rx.held)
		return -EAGAIN;
	s.src = (struct soft_src){
		.lin = seg->raw,
		.direct = seg->payload ? seg : NULL,
	};
	memcpy(s.raw, seg->raw, have);
	qp->rx.pushing = true;
	ret = soft_rx_segment(qp, &s, have);
	qp->rx.pushing = false;
	if (ret < 0)
		return ret;
	qp->received.octets += seg->len + seg->payload;
	return 0;
}

/**
 * soft_rx_direct_fpdus() - built FPDUs from a queue pair of this host
 * @qp: who receives
 * @p: the first; its memory is the transmitter's
 * @len: octets of all
 * @fpdus: counted up by those that were used
 *
 * Context: process context, with the socket of @qp locked.
 * Return: octets used; the rest is to come by TCP.
 */
u32 soft_rx_direct_fpdus(struct soft_qp *qp, const u8 *p, u32 len, u32 *fpdus)
{
	struct soft_src src = {};
	u32 used = 0;
	u16 ulpdu_len;
	u32 one, n;

	while (used < len && !qp->rx.stopped && !qp->rx.held) {
		src.lin = p + used;
		ulpdu_len = get_unaligned_be16(src.lin);
		one = soft_fpdu_len(ulpdu_len);
		src.more = len - used - one;
		n = soft_rx_fpdu(qp, &src, one, ulpdu_len);
		*fpdus += n;
		used += n * one;
	}
	qp->rx.seq_read += used;
	qp->received.octets += used;
	return used;
}

/* The stream ******************************************************************/

/*
 * Make room for @size octets; what was collected stays. Where softirq gets no
 * memory the work item does, which may wait for it.
 */
static int soft_rx_bounce_room(struct soft_qp *qp, u32 size, bool may_sleep)
{
	struct soft_rx *rx = &qp->rx;
	u8 *buf;

	if (size <= rx->bounce_size)
		return 0;
	rx->bounce_want = size;
	size = roundup_pow_of_two(size);
	buf = ri_qp_alloc(&qp->ri, size, may_sleep);
	if (!buf)
		return -ENOMEM;
	memcpy(buf, rx->bounce, rx->bounce_len);
	kvfree(rx->bounce);
	rx->bounce = buf;
	rx->bounce_size = size;
	return 0;
}

/* Octets up to the one behind ULPDU_Length. */
static u32 soft_rx_bounce_head(const struct soft_qp *qp)
{
	if (qp->mpa.rx_markers && soft_marker_leads(qp->rx.marked_pos))
		return SOFT_MPA_MARKER + SOFT_MPA_HDR;
	return SOFT_MPA_HDR;
}

/* Octets of the FPDU that is being collected, as far as they are known. */
static u32 soft_rx_bounce_want(const struct soft_qp *qp)
{
	const struct soft_rx *rx = &qp->rx;
	u32 head = soft_rx_bounce_head(qp);
	u32 len;

	if (rx->bounce_len < head)
		return head;
	len = soft_fpdu_len(get_unaligned_be16(rx->bounce + head - SOFT_MPA_HDR));
	return qp->mpa.rx_markers ? soft_marked_len(rx->marked_pos, len) : len;
}

static bool soft_rx_bounce_full(const struct soft_qp *qp)
{
	return qp->rx.bounce_len >= soft_rx_bounce_head(qp) &&
	       qp->rx.bounce_len == soft_rx_bounce_want(qp);
}

/* The FPDU that was collected is whole: check it, and take its markers out. */
static bool soft_rx_bounce_check(struct soft_qp *qp)
{
	struct soft_rx *rx = &qp->rx;
	struct soft_src src = { .lin = rx->bounce };
	int len = rx->bounce_len;

	if (!soft_rx_crc_ok(qp, &src, len))
		return false;
	if (qp->mpa.rx_markers) {
		len = soft_markers_remove(rx->bounce, rx->marked_pos, len);
		if (len < 0) {
			soft_rx_mpa_error(qp, SOFT_MPA_LENGTH);
			return false;
		}
		rx->marked_pos += rx->bounce_len;
	}
	rx->bounce_ready = len;
	return true;
}

/* What is in the bounce buffer is ready, once or again after a wait. */
static void soft_rx_bounced(struct soft_qp *qp)
{
	struct soft_rx *rx = &qp->rx;
	struct soft_src src = { .lin = rx->bounce };

	if (!soft_rx_fpdu(qp, &src, rx->bounce_ready,
			  get_unaligned_be16(rx->bounce)))
		return;
	soft_count(qp->rnic, SOFT_CNT_RX_FPDU);
	rx->bounce_ready = 0;
	rx->bounce_len = 0;
}

/* Collect octets of an FPDU that is spread over socket buffers. */
static int soft_rx_collect(struct soft_qp *qp, struct sk_buff *skb, u32 off,
			   u32 avail)
{
	struct soft_rx *rx = &qp->rx;
	u32 want = soft_rx_bounce_want(qp);
	u32 n = min(avail, want - rx->bounce_len);

	if (soft_rx_bounce_room(qp, want, false))
		return -ENOMEM;
	if (skb_copy_bits(skb, off, rx->bounce + rx->bounce_len, n))
		return -EFAULT;
	rx->bounce_len += n;
	if (soft_rx_bounce_full(qp)) {
		soft_count(qp->rnic, SOFT_CNT_RX_BOUNCED);
		if (soft_rx_bounce_check(qp))
			soft_rx_bounced(qp);
	}
	return n;
}

/*
 * The next FPDU, if all of it is in the buffer; else what there is of it.
 * Return: octets used; 0 when the FPDU has to wait.
 */
static int soft_rx_next(struct soft_qp *qp, struct sk_buff *skb,
			struct soft_window *w, u32 off, u32 avail)
{
	struct soft_src src = { .skb = skb, .off = off };
	u8 head[SOFT_MPA_HDR];
	const u8 *p;
	u16 ulpdu_len;
	u32 len, n;

	if (qp->rx.bounce_len || avail < SOFT_MPA_HDR || qp->mpa.rx_markers)
		return soft_rx_collect(qp, skb, off, avail);
	p = soft_window_at(w, off, sizeof(head));
	if (p)
		memcpy(head, p, sizeof(head));
	else if (skb_copy_bits(skb, off, head, sizeof(head)))
		return -EFAULT;
	ulpdu_len = get_unaligned_be16(head);
	/* not to be read again */
	OPTIMIZER_HIDE_VAR(ulpdu_len);
	len = soft_fpdu_len(ulpdu_len);
	if (len > avail)
		return soft_rx_collect(qp, skb, off, avail);
	src.lin = soft_window_at(w, off, len);
	if (src.lin) {
		src.skb = NULL;
		src.more = min(w->end - off, avail) - len;
	}
	if (!soft_rx_crc_ok(qp, &src, len))
		return len;
	n = soft_rx_fpdu(qp, &src, len, ulpdu_len);
	soft_count_add(qp->rnic, SOFT_CNT_RX_FPDU, n);
	return n * len;
}

/* tcp_read_sock() actor: returns how many octets were used. */
static int soft_rx_actor(read_descriptor_t *desc, struct sk_buff *skb,
			 unsigned int off, size_t len)
{
	struct soft_qp *qp = desc->arg.data;
	struct soft_window w;
	size_t used = 0;
	int n;

	soft_window_open(&w, skb);
	qp->rx.apart = false;
	while (used < len && !qp->rx.stopped && !qp->rx.held) {
		n = soft_rx_next(qp, skb, &w, off + used, len - used);
		if (n < 0) {
			/* out of memory: leave the rest with TCP, try again */
			desc->error = n;
			break;
		}
		used += n;
	}
	if (qp->rx.stopped)
		used = len;
	soft_count_add(qp->rnic, SOFT_CNT_RX_BYTES, used);
	qp->rx.seq_read += used;
	qp->received.octets += used;
	return used;
}

/**
 * soft_rx_caught_up() - has everything from TCP been handled
 * @qp: queue pair
 * @seq: stream octets that the peer gave TCP
 *
 * Return: 0; -EAGAIN when not, and the peer's transmitter is started at the end of
 * the next read; -EBUSY when that may take long. Context: with the socket locked.
 */
int soft_rx_caught_up(struct soft_qp *qp, u64 seq)
{
	struct soft_rx *rx = &qp->rx;

	if (rx->stopped || rx->held)
		return -EBUSY;
	if (!rx->bounce_len && rx->seq_read == seq)
		return 0;
	rx->push_waits = true;
	return -EAGAIN;
}

/* Take what TCP has. The socket is locked. */
static void soft_rx_read(struct soft_qp *qp, struct sock *sk)
{
	read_descriptor_t desc = { .arg.data = qp, .count = 1 };

	qp->rx.held = false;
	/* one that was held in one piece comes before what is still with TCP */
	if (qp->rx.bounce_ready && !qp->rx.stopped)
		soft_rx_bounced(qp);
	if (!qp->rx.held)
		tcp_read_sock(sk, &desc, soft_rx_actor);
	if (desc.error)
		queue_work(soft_wq, &qp->rx.work);
	if (qp->rx.push_waits) {
		qp->rx.push_waits = false;
		soft_direct_wake(qp);
	}
}

/**
 * soft_rx_ready() - data has arrived
 * @qp: queue pair
 * @sk: its socket, locked
 * Context: the socket's data_ready callback.
 */
void soft_rx_ready(struct soft_qp *qp, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 waiting = READ_ONCE(tp->rcv_nxt) - READ_ONCE(tp->copied_seq);

	if (qp->rx.stopped || qp->rx.held || work_pending(&qp->rx.work))
		return;
	if (waiting <= READ_ONCE(soft_rx_inline_bytes))
		soft_rx_read(qp, sk);
	else
		queue_work(soft_wq, &qp->rx.work);
}

/** soft_rx_drain() - take what TCP has, from process context with a stream */
void soft_rx_drain(struct soft_qp *qp)
{
	struct sock *sk = qp->llp->sock->sk;
	int ret;

	lock_sock(sk);
	/* without the memory the octets stay with TCP and the work item returns */
	do {
		ret = soft_rx_bounce_room(qp, qp->rx.bounce_want, true);
		soft_rx_read(qp, sk);
	} while (!ret && qp->rx.bounce_want > qp->rx.bounce_size);
	release_sock(sk);
}

/** soft_rx_resume() - go on after a wait, and with an end that had to wait too */
void soft_rx_resume(struct soft_qp *qp)
{
	soft_rx_drain(qp);
	if (!READ_ONCE(qp->rx.held) && soft_sk_closed(qp->llp->sock->sk))
		soft_qp_todo(qp, SOFT_TODO_PEER_CLOSED);
}

/* The stream outlives the work item: soft_stream_end() waits for it. */
void soft_rx_work(struct work_struct *work)
{
	struct soft_qp *qp = container_of(work, struct soft_qp, rx.work);

	soft_rx_resume(qp);
}
