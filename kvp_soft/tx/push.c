// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Segments to a peer on this host: they are not built as FPDUs, but handed to the peer's
 * receiver together with the location of their payload.
 */
#include <linux/unaligned.h>

#include "../base/trace.h"
#include "internal.h"

/*
 * Hand tx.seg to the peer. When the peer has taken the segment, its message advances. A segment
 * that the peer does not take now is sent by TCP, and so are all later ones.
 */
enum soft_step soft_tx_push(struct soft_qp *qp)
{
	struct soft_tx *tx = qp->tx;
	struct soft_direct_seg *seg = tx->seg;
	struct soft_msg *msg = &tx->msg;
	const u32 n = seg->len + seg->payload;
	const u32 body = seg->of_message ? n - soft_tx_header_len(msg) : 0;
	int ret;

	/* FPDUs that were built before go first */
	if (tx->staged)
		return SOFT_STEP_FULL;
	if (seg->of_message && msg->kind == SOFT_MSG_READ_RESP && msg->off + body == msg->len)
		WRITE_ONCE(qp->in_leaving, true);
	ret = tx->ops->push(qp);
	if (ret)
		WRITE_ONCE(qp->in_leaving, false);
	if (ret == -EAGAIN || ret == -ENOTCONN) {
		tx->direct = false;
		/* the segment is built again as an FPDU */
		if (seg->of_message)
			seg->len = 0;
		return SOFT_STEP_BUILT;
	}
	if (ret) {
		seg->len = 0;
		soft_tx_msg_refused(qp, msg, SOFT_ACCESS_STAG);
		return SOFT_STEP_BUILT;
	}
	trace_soft_fpdu(qp, seg->raw + SOFT_MPA_HDR, n);
	soft_traffic_fpdu(&qp->sent, seg->raw + SOFT_MPA_HDR);
	soft_count(qp->rnic, SOFT_CNT_DIRECT_SEGMENTS);
	soft_count_add(qp->rnic, SOFT_CNT_DIRECT_BYTES, n);
	qp->sent.bytes += n;
	tx->pushed += n;
	seg->len = 0;
	if (!seg->of_message)
		return SOFT_STEP_BUILT;
	msg->off += body;
	msg->sge_off += body;
	if (msg->off == msg->len)
		soft_tx_msg_done(qp, msg);
	return SOFT_STEP_BUILT;
}

/* Build an FPDU from tx.seg, a message that consists of headers only. */
enum soft_step soft_tx_to_wire(struct soft_qp *qp)
{
	struct soft_direct_seg *seg = qp->tx->seg;
	u32 n = seg->len;
	u8 *p;

	p = soft_tx_reserve(qp, n - SOFT_MPA_HDR);
	if (!p)
		return SOFT_STEP_FULL;
	memcpy(p, seg->raw, n);
	seg->len = 0;
	soft_tx_seal(qp, p, n);
	return SOFT_STEP_BUILT;
}

/* Make tx.seg the next segment of the current message, and push it. */
enum soft_step soft_tx_direct(struct soft_qp *qp)
{
	struct soft_direct_seg *seg = qp->tx->seg;
	struct soft_msg *msg = &qp->tx->msg;
	u32 n = min(msg->len - msg->off, SOFT_DIRECT_PAYLOAD);
	enum soft_access why;
	struct soft_mem *mem;

	if (qp->tx->staged)
		return SOFT_STEP_FULL;
	seg->of_message = true;
	seg->from = &qp->mem;
	seg->cache = &qp->tx->mem;
	seg->payload = 0;
	if (msg->inline_data) {
		seg->len = soft_tx_header(msg, seg->raw, n);
		memcpy(seg->raw + seg->len, msg->inline_data + msg->off, n);
		seg->len += n;
		return soft_tx_push(qp);
	}
	if (n) {
		n = soft_tx_locate(msg, &seg->at, n);
		/* check the sender's rights here: a refusal is an error of the sender */
		why = soft_mem_get_cached(&qp->mem, &qp->tx->mem, seg->at.stag,
					  seg->at.to, n, seg->at.need, &mem);
		if (why) {
			soft_tx_msg_refused(qp, msg, why);
			return SOFT_STEP_BUILT;
		}
		soft_mem_put(mem);
	}
	seg->payload = n;
	seg->len = soft_tx_header(msg, seg->raw, n);
	put_unaligned_be16(seg->len - SOFT_MPA_HDR, seg->raw);
	return soft_tx_push(qp);
}
