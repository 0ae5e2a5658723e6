// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * An FPDU, or a segment of a queue pair on this host, is decoded and passed to its handler
 * (deliver.c). The result of the handler decides how the stream continues.
 */
#include <linux/unaligned.h>

#include "../base/trace.h"
#include "internal.h"

/* Fail the stream: stop the receiver, send the Terminate @term, report an event. */
static void soft_rx_fail(struct soft_qp *qp, const struct soft_term *term)
{
	bool access = (term->layer == SOFT_TERM_RDMAP &&
		       term->etype == SOFT_RDMAP_PROTECTION) ||
		      (term->layer == SOFT_TERM_DDP &&
		       term->etype == SOFT_DDP_TAGGED);

	soft_count(qp->rnic, SOFT_CNT_PROTO_ERR);
	qp->rx->stopped = true;
	soft_qp_fail(qp, term, true, -EPROTO);
	soft_qp_event(qp, access ? IB_EVENT_QP_ACCESS_ERR : IB_EVENT_QP_REQ_ERR);
}

/** soft_rx_mpa_error() - fail the stream because of an invalid FPDU */
void soft_rx_mpa_error(struct soft_qp *qp, u8 code)
{
	struct soft_term term;

	soft_term_set(&term, SOFT_TERM_MPA, SOFT_MPA_ERROR, code);
	soft_rx_fail(qp, &term);
}

/* Join the segments behind @s, in the middle of a message. Return: number of joined segments. */
static u32 soft_rx_join(struct soft_qp *qp, struct soft_rx_seg *s)
{
	u32 n;

	if (s->seg.last || !s->seg.payload_len || !s->src.more ||
	    qp->rx->apart || trace_soft_recv_enabled())
		return 0;
	/* the first segment of a message takes the receive, so it is handled alone */
	if (!s->seg.tagged && !qp->rwqe.active)
		return 0;
	n = soft_src_join(&s->src, &s->seg, s->raw, qp->mpa.crc);
	if (!n || soft_rx_join_ok(qp, &s->seg))
		return n;
	soft_src_part(&s->src, &s->seg);
	/* one of the segments will be refused: do not try again with each one before it */
	qp->rx->apart = true;
	return 0;
}

/**
 * soft_rx_handled() - act on the result of a segment's handler
 * @qp: queue pair
 * @s: the segment
 * @ret: result of the handler
 *
 * Return: 0, also when the stream has failed with the segment; -EAGAIN when the segment has to
 * be handled again later, before any later one (rx.held); -ESTALE as soft_src_place().
 */
int soft_rx_handled(struct soft_qp *qp, struct soft_rx_seg *s, int ret)
{
	qp->rx->held = ret == -EAGAIN;
	if (qp->rx->held || ret == -ESTALE)
		return ret;
	if (ret) {
		soft_rx_fail(qp, &s->term);
	} else if (!READ_ONCE(qp->peer_ready)) {
		/* the initiator's first FPDU is here: the responder may send (RFC 5044 7.1.2) */
		WRITE_ONCE(qp->peer_ready, true);
		soft_qp_kick(qp);
	}
	soft_traffic_fpdu(&qp->received, s->raw + SOFT_MPA_HDR);
	return 0;
}

/* Add the payload in the memory of the sender on this host to the segment, whatever its length. */
static void soft_rx_add_direct(struct soft_rx_seg *s)
{
	const u32 n = s->src.direct->payload;

	s->seg.payload_len += n;
	/* a Terminate reports this length */
	s->seg.ulpdu_len = min(s->seg.ulpdu_len + n, U16_MAX);
}

/*
 * Handle a segment, of which @s->raw has @have bytes, and the segments joined to it.
 * Return: number of segments, or an errno of soft_rx_handled().
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

/**
 * soft_rx_fpdu() - handle a whole FPDU, and further ones joined to it or like it
 * @qp: queue pair
 * @src: location of the FPDU, whose CRC has been checked
 * @len: bytes of the FPDU
 * @ulpdu_len: ULPDU_Length from which @len was computed; it is not read again, since the pages
 *	of a sender on this host may change
 *
 * Return: number of FPDUs used, each of @len bytes; 0 when the FPDU has to be handled again
 * later.
 */
u32 soft_rx_fpdu(struct soft_qp *qp, const struct soft_src *src, u32 len,
		 u16 ulpdu_len)
{
	u32 have = min_t(u32, len - SOFT_MPA_CRC, SOFT_HDR_MAX);
	struct soft_rx_seg s;
	int n;

	s.src = *src;
	if (src->lin && have == SOFT_HDR_MAX) {
		/* constant length, so no function call; the bytes must not be read again */
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
 * soft_rx_direct() - handle a segment from a queue pair of this host
 * @qp: queue pair that receives
 * @seg: the segment
 *
 * Context: process context, with the socket of @qp locked.
 * Return:
 * * 0, also when the segment was refused; the peer gets a Terminate
 * * -EAGAIN when no receive is posted; this and later segments have to come through TCP
 * * -ENOTCONN when the stream has failed; this and later segments have to come through TCP
 * * -ESTALE when the payload cannot be read
 */
int soft_rx_direct(struct soft_qp *qp, const struct soft_direct_seg *seg)
{
	u32 have = min_t(u32, seg->len, SOFT_HDR_MAX);
	struct soft_rx_seg s;
	int ret;

	if (qp->rx->stopped)
		return -ENOTCONN;
	if (qp->rx->held)
		return -EAGAIN;
	s.src = (struct soft_src){
		.lin = seg->raw,
		.direct = seg->payload ? seg : NULL,
	};
	memcpy(s.raw, seg->raw, have);
	qp->rx->pushing = true;
	qp->rx->may_sleep = true;
	ret = soft_rx_segment(qp, &s, have);
	qp->rx->may_sleep = false;
	qp->rx->pushing = false;
	if (ret < 0)
		return ret;
	qp->received.bytes += seg->len + seg->payload;
	return 0;
}

/**
 * soft_rx_direct_fpdus() - handle built FPDUs from a queue pair of this host
 * @qp: queue pair that receives
 * @p: the first FPDU, in memory of the peer's transmitter
 * @len: bytes of all FPDUs
 * @fpdus: incremented by the number of FPDUs used
 *
 * Context: process context, with the socket of @qp locked.
 * Return: bytes used; the rest has to come through TCP.
 */
u32 soft_rx_direct_fpdus(struct soft_qp *qp, const u8 *p, u32 len, u32 *fpdus)
{
	struct soft_src src = {};
	u32 used = 0;
	u16 ulpdu_len;
	u32 one, n;

	qp->rx->may_sleep = true;
	while (used < len && !qp->rx->stopped && !qp->rx->held) {
		src.lin = p + used;
		ulpdu_len = get_unaligned_be16(src.lin);
		one = soft_fpdu_len(ulpdu_len);
		src.more = len - used - one;
		n = soft_rx_fpdu(qp, &src, one, ulpdu_len);
		*fpdus += n;
		used += n * one;
	}
	qp->rx->may_sleep = false;
	qp->rx->seq_read += used;
	qp->received.bytes += used;
	return used;
}
