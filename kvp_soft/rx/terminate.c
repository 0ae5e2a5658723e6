// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The peer's Terminate: find the work request that caused it.
 */
#include "../base/trace.h"
#include "internal.h"

/* The completion status of the work request that the peer has refused. */
static enum ib_wc_status soft_rx_term_status(const struct soft_term *term)
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
		/* the peer does not know the message: RFC 7306 is optional */
		return IB_WC_REM_INV_REQ_ERR;
	}
	return IB_WC_REM_OP_ERR;
}

/* Does the Terminate report a bad address of an atomic operation, by the code of RFC 7306 8.2? */
static bool soft_rx_term_is_misaligned(const struct soft_term *term,
				       const struct soft_term_about *about)
{
	return !about->tagged && about->opcode == SOFT_RDMAP_ATOMIC_REQ &&
	       term->layer == SOFT_TERM_RDMAP &&
	       term->etype == SOFT_RDMAP_OPERATION &&
	       term->code == SOFT_OPER_STREAM;
}

/* Is the sink in the header within this Read? Its offset advances while the Read is answered. */
static bool soft_rx_term_out_has_sink(const struct soft_read_out *out,
				      const struct soft_term_about *about)
{
	return !out->is_atomic && out->stag == about->stag &&
	       about->to - out->to <= out->len;
}

/*
 * Fail the unanswered Read or atomic operation whose request the Terminate reports. siw sends
 * the length of a Read in place of its MSN: then fail the oldest Read with that sink.
 * Return: false when there is none.
 */
static bool soft_rx_term_fail_request(struct soft_qp *qp,
				      const struct soft_term_about *about,
				      enum ib_wc_status status)
{
	u32 slot = SOFT_NO_SLOT;
	u32 i;

	spin_lock_bh(&qp->lock);
	for (i = 0; i < qp->out_count; i++) {
		const struct soft_read_out *out =
			&qp->out[(qp->out_head + i) % qp->mpa.ord];

		if (about->by_sink && !soft_rx_term_out_has_sink(out, about))
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
 * Blame the work request that the Terminate reports. It has often completed already: a Send or
 * Write completes when TCP takes it. Then no other work request is blamed. If the Terminate
 * reports no header, blame the oldest work request that has begun.
 * Return: true when a work request was blamed.
 */
static bool soft_rx_term_blame(struct soft_qp *qp, const struct soft_term *term)
{
	enum ib_wc_status status = soft_rx_term_status(term);
	struct soft_term_about about;

	if (!soft_term_about(term, &about))
		return soft_sq_blame(qp, NULL, status);
	if (soft_rx_term_is_misaligned(term, &about))
		status = IB_WC_REM_INV_REQ_ERR;
	if (about.tagged)
		return about.opcode == SOFT_RDMAP_WRITE &&
		       soft_sq_blame(qp, &about, status);
	if (about.qn == SOFT_QN_READ_REQ)
		return soft_rx_term_fail_request(qp, &about, status);
	return about.qn == SOFT_QN_SEND &&
	       soft_sq_blame(qp, &about, status);
}

/** soft_rx_terminate() - handle a Terminate of the peer */
int soft_rx_terminate(struct soft_qp *qp, struct soft_rx_seg *s)
{
	u8 body[SOFT_TERM_MAX];
	u32 n = min_t(u32, s->seg.payload_len, sizeof(body));

	if (soft_untagged_check(&qp->rx->untagged[SOFT_QN_TERMINATE], &s->seg,
				true, U32_MAX, &s->term))
		return -EPROTO;
	soft_src_copy(&s->src, soft_payload_off(&s->seg), body, n);
	if (soft_term_decode(body, n, &s->term))
		return -EPROTO;
	soft_count(qp->rnic, SOFT_CNT_TERM_RX);
	trace_soft_terminate(qp, &s->term, false);
	soft_qp_fail(qp, &s->term, false, -ECONNRESET);
	if (!soft_rx_term_blame(qp, &s->term))
		soft_qp_event(qp, IB_EVENT_QP_FATAL);
	qp->rx->stopped = true;
	return 0;
}
