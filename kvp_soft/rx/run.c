// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Runs of short messages, as from lists of work requests. A message that differs from the
 * previous one only in its target is decoded by a comparison. A message that might be refused
 * is left to the normal path (rx.c).
 */
#include "../base/trace.h"
#include "internal.h"

/* Handle Writes to one region, with one lookup of the region. */
static u32 soft_rx_more_writes(struct soft_qp *qp, const struct soft_rx_seg *s,
			       u32 len, u32 more)
{
	const struct soft_seg *seg = &s->seg;
	const u32 n = seg->payload_len;
	struct soft_src next = { .lin = s->src.lin + len };
	struct soft_mem *mem;
	u32 count = 0;
	u64 to;

	if (soft_mem_get_cached(&qp->mem, &qp->rx->mem, seg->stag, seg->to, n,
				IB_ACCESS_REMOTE_WRITE, &mem))
		return 0;
	for (; more >= len && soft_seg_same(s->raw, next.lin, &to); more -= len) {
		if (soft_mem_in_bounds(mem, to, n) ||
		    (qp->mpa.crc && !soft_src_crc_ok(&next, len)))
			break;
		soft_mem_write(mem, to, next.lin + soft_payload_off(seg), n);
		next.lin += len;
		count++;
	}
	soft_mem_put(mem);
	qp->received.fpdus += count;
	qp->received.messages += count;
	return count;
}

/* Count the Sends at @from that are like @s, from @msn on, up to SOFT_CQ_RUN. */
static u32 soft_rx_sends_alike(const struct soft_qp *qp,
			       const struct soft_rx_seg *s,
			       const struct soft_src *from, u32 len, u32 msn)
{
	struct soft_src next = { .lin = from->lin };
	const u32 most = min(from->more / len, SOFT_CQ_RUN);
	u32 n = 0;

	while (n < most && soft_sends_follow(&s->seg, s->raw, next.lin, msn + n) &&
	       (!qp->mpa.crc || soft_src_crc_ok(&next, len))) {
		next.lin += len;
		n++;
	}
	return n;
}

/* Handle Sends; each batch locks the receive queue and the CQ once. */
static u32 soft_rx_more_sends(struct soft_qp *qp, const struct soft_rx_seg *s,
			      u32 len)
{
	struct soft_untagged_state *st = &qp->rx->untagged[SOFT_QN_SEND];
	const struct soft_seg *seg = &s->seg;
	const bool solicited = soft_op(seg->opcode)->flags & SOFT_OP_SOLICITED;
	struct soft_src next = { .lin = s->src.lin + len, .more = s->src.more };
	u32 count = 0;
	u32 alike, n;

	do {
		const struct soft_parts parts = {
			.first = (u8 *)next.lin + soft_payload_off(seg),
			.len = seg->payload_len,
			.gap = len - seg->payload_len,
		};

		alike = soft_rx_sends_alike(qp, s, &next, len, st->msn);
		n = alike ? soft_rq_fill(qp, &qp->rx->mem, &parts, alike, solicited) : 0;
		st->msn += n;
		next.lin += n * len;
		next.more -= n * len;
		count += n;
	} while (n == SOFT_CQ_RUN && !qp->rx->stopped);
	qp->received.fpdus += count;
	qp->received.messages += count;
	return count;
}

/* Handle other messages, each with its handler. */
static u32 soft_rx_more_of(struct soft_qp *qp, struct soft_rx_seg *s, u32 len,
			   u32 more)
{
	u32 count = 0;

	for (; more >= len && !qp->rx->stopped; more -= len) {
		s->src.lin += len;
		if (!soft_seg_again(s->raw, s->src.lin, &s->seg) ||
		    (qp->mpa.crc && !soft_src_crc_ok(&s->src, len)))
			break;
		if (soft_rx_handled(qp, s, soft_rx_dispatch(qp, s)))
			break;
		count++;
	}
	return count;
}

/* Can soft_seg_again() decode the message behind this one? */
static bool soft_rx_may_come_again(const struct soft_seg *seg)
{
	if (seg->tagged)
		return seg->opcode == SOFT_RDMAP_READ_RESP;
	/* Immediate Data has a header of its own */
	return (seg->qn == SOFT_QN_SEND && !seg->mo &&
		seg->hdr_len == SOFT_UNTAGGED_HDR) ||
	       seg->opcode == SOFT_RDMAP_READ_REQ;
}

/* Can soft_rx_more_sends() handle the next message? Such a Send only fills a receive. */
static bool soft_rx_only_fills(const struct soft_qp *qp, const struct soft_seg *seg)
{
	return (seg->opcode == SOFT_RDMAP_SEND ||
		seg->opcode == SOFT_RDMAP_SEND_SE) &&
	       seg->payload_len && !seg->mo && !qp->rx->imm_kept;
}

/**
 * soft_rx_more() - handle further messages like the one just handled
 * @qp: queue pair
 * @s: segment of the message just handled; at least @len bytes follow it
 * @len: bytes of its FPDU, and of each further one
 *
 * Context: the receiver.
 * Return: number of further messages that were handled. If rx.stopped is set, the stream has
 * failed with the last of them; if rx.held is set, the next one has to be handled again later.
 */
u32 soft_rx_more(struct soft_qp *qp, struct soft_rx_seg *s, u32 len)
{
	const struct soft_seg *seg = &s->seg;
	const u32 more = min(s->src.more, SOFT_RUN_MAX * len);
	u32 count = 0;

	if (!seg->last || qp->rx->stopped || trace_soft_recv_enabled())
		return 0;
	if (seg->opcode == SOFT_RDMAP_WRITE)
		return seg->payload_len && seg->payload_len == qp->rx->write_len ?
			       soft_rx_more_writes(qp, s, len, more) :
			       0;
	if (soft_rx_only_fills(qp, seg))
		count = soft_rx_more_sends(qp, s, len);
	if (!count && soft_rx_may_come_again(seg))
		count = soft_rx_more_of(qp, s, len, more);
	return count;
}
