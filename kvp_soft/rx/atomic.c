// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Received atomic messages (RFC 7306 section 5): requests of the peer are queued until the
 * transmitter executes them (../tx/atomic.c), responses are placed.
 */
#include "internal.h"

/* Responder ***************************************************************** */

/** soft_rx_atomic_req() - handle an Atomic Request: check it and queue it */
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
	why = soft_mem_get_atomic(&qp->mem, &in.atomic, &mem);
	if (why)
		return soft_rx_refused(qp, s, why);
	soft_mem_put(mem);
	soft_rx_in_add(qp, &in);
	return 0;
}

/* Requester ***************************************************************** */

/* The response must match the oldest local request, which must be an atomic operation. */
static int soft_rx_atomic_resp_check(struct soft_qp *qp, struct soft_rx_seg *s)
{
	const struct soft_read_out *out = &qp->out[qp->out_head];
	bool asked = READ_ONCE(qp->out_count) && out->is_atomic;

	if (soft_untagged_check(&qp->rx->untagged[SOFT_QN_ATOMIC_RESP], &s->seg,
				asked, U32_MAX, &s->term))
		return -EPROTO;
	if (s->seg.resp.id == out->id)
		return 0;
	/* RFC 7306 5.2.2 requires an error, but names no code */
	soft_term_with_hdr(&s->term, &s->seg, s->raw, SOFT_TERM_RDMAP,
			   SOFT_RDMAP_OPERATION, SOFT_OPER_STREAM);
	return -EPROTO;
}

/** soft_rx_atomic_resp() - handle an Atomic Response: place the value, complete the request */
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
	soft_untagged_advance(&qp->rx->untagged[SOFT_QN_ATOMIC_RESP], &s->seg);
	why = soft_mem_get(&qp->mem, out->stag, out->to, out->len,
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
