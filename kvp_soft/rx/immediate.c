// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Immediate Data (RFC 7306 section 6), and how the verbs' 32 bits travel in its 64.
 *
 * RDMA Write with immediate: the Write, then an Immediate Data message whose first
 * four octets are the verbs' immediate data and whose last four are 0. It consumes a
 * receive, which completes after the Write is placed. The length in the completion
 * is that of the Write that the receiver saw last before.
 *
 * Send with immediate: RFC 7306 has no such message, and a Send and an Immediate Data
 * message would consume two receives. So the Immediate Data goes first, with
 * SOFT_IMM_OF_SEND in its last four octets: "what follows is the Send that this
 * belongs to". A receiver that knows the mark keeps the data in a buffer of its own
 * until that Send completes, with one completion for both; to any other the two are
 * a legal pair of messages and two completions, in order.
 */
#include <linux/unaligned.h>

#include "../device.h"
#include "rx.h"
#include "../tx/tx.h"

#define SOFT_IMM_OF_SEND	0x6b72646dU	/* "krdm" */

/* Transmitter *************************************************************** */

static u64 soft_imm_octets(const struct krdma_soft_sqe *wqe, u32 last)
{
	return (u64)be32_to_cpu(wqe->imm) << 32 | last;
}

/** soft_tx_imm_with_send() - @msg is a Send; its immediate data goes first */
void soft_tx_imm_with_send(struct soft_tx *tx, struct soft_msg *msg,
			   const struct krdma_soft_sqe *wqe)
{
	msg->imm_due = SOFT_IMM_NOW;
	msg->imm = soft_imm_octets(wqe, SOFT_IMM_OF_SEND);
	msg->imm_msn = tx->msn[SOFT_QN_SEND]++;
}

/** soft_tx_imm_with_write() - @msg is a Write; its immediate data follows */
void soft_tx_imm_with_write(struct soft_tx *tx, struct soft_msg *msg,
			    const struct krdma_soft_sqe *wqe)
{
	msg->imm_due = SOFT_IMM_AFTER;
	msg->imm = soft_imm_octets(wqe, 0);
	msg->imm_solicited = wqe->flags & KRDMA_SOFT_WQE_SOLICITED;
	msg->imm_msn = tx->msn[SOFT_QN_SEND]++;
}

/** soft_tx_imm() - build the Immediate Data message of @msg */
enum soft_step soft_tx_imm(struct soft_qp *qp, struct soft_msg *msg)
{
	u8 *p;

	p = soft_tx_reserve(qp, SOFT_HDR_MAX);
	if (!p)
		return SOFT_STEP_FULL;
	soft_tx_seal(qp, p,
		     soft_put_imm(p, msg->imm_msn, msg->imm_solicited,
				  msg->imm));
	msg->imm_due = SOFT_IMM_NEVER;
	return SOFT_STEP_BUILT;
}

/* Receiver ****************************************************************** */

/* Keep what belongs to the Send that comes next. */
static void soft_rx_imm_keep(struct soft_qp *qp, struct soft_rx_seg *s)
{
	soft_untagged_advance(&qp->rx.untagged[SOFT_QN_SEND], &s->seg);
	qp->rx.imm_kept = true;
	qp->rx.imm = cpu_to_be32(upper_32_bits(s->seg.imm));
}

/** soft_rx_imm() - an Immediate Data message */
int soft_rx_imm(struct soft_qp *qp, struct soft_rx_seg *s)
{
	struct soft_rx *rx = &qp->rx;
	struct soft_untagged_state *st = &rx->untagged[SOFT_QN_SEND];
	struct soft_recv_done done = {
		.opcode = IB_WC_RECV_RDMA_WITH_IMM,
		.flags = KRDMA_SOFT_WC_IMM,
		.solicited = soft_op(s->seg.opcode)->flags & SOFT_OP_SOLICITED,
	};
	int ret;

	if (soft_untagged_check(st, &s->seg, true, U32_MAX, &s->term))
		return -EPROTO;
	/* not where the rest of a Send is due, or the Send that a mark promised */
	if (rx->wqe.active || rx->imm_kept)
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
