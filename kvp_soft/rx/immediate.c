// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Received Immediate Data (RFC 7306 section 6). ../tx/immediate.c describes how its 64 bits
 * carry the 32 bits of the verbs.
 */
#include "internal.h"

/* Keep immediate data that belongs to the next Send. */
static void soft_rx_imm_keep(struct soft_qp *qp, struct soft_rx_seg *s)
{
	soft_untagged_advance(&qp->rx->untagged[SOFT_QN_SEND], &s->seg);
	qp->rx->imm_kept = true;
	qp->rx->imm = cpu_to_be32(upper_32_bits(s->seg.imm));
}

/** soft_rx_imm() - handle an Immediate Data message */
int soft_rx_imm(struct soft_qp *qp, struct soft_rx_seg *s)
{
	struct soft_rx *rx = qp->rx;
	struct soft_untagged_state *st = &rx->untagged[SOFT_QN_SEND];
	struct soft_recv_done done = {
		.opcode = IB_WC_RECV_RDMA_WITH_IMM,
		.flags = KRDMA_SOFT_WC_IMM,
		.solicited = soft_op(s->seg.opcode)->flags & SOFT_OP_SOLICITED,
	};
	int ret;

	if (soft_untagged_check(st, &s->seg, true, U32_MAX, &s->term))
		return -EPROTO;
	/* not allowed within a Send, or between marked immediate data and its Send */
	if (qp->rwqe.active || rx->imm_kept)
		return soft_rx_bad_opcode(s);
	if (lower_32_bits(s->seg.imm) == SOFT_IMM_OF_SEND) {
		soft_rx_imm_keep(qp, s);
		return 0;
	}
	ret = soft_rx_receive(qp, s);
	if (ret)
		return ret;
	soft_untagged_advance(st, &s->seg);
	done.len = rx->write_len;
	done.imm = cpu_to_be32(upper_32_bits(s->seg.imm));
	rx->write_len = 0;
	soft_rq_complete(qp, &done);
	return 0;
}
