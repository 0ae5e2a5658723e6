// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Immediate Data (RFC 7306 section 6): 64 bits on the wire carry the 32 bits of the verbs.
 *
 * RDMA Write with immediate: the Write, then an Immediate Data message. The first four bytes
 * are the verbs' immediate data, the last four are 0. The message consumes a receive, which
 * completes after the Write is placed. The length in the completion is the length of the last
 * Write before the message.
 *
 * Send with immediate: RFC 7306 has no such message, and a Send and an Immediate Data message
 * would consume two receives. So the Immediate Data message is sent first and has
 * SOFT_IMM_OF_SEND in its last four bytes: the data belongs to the Send that follows. A
 * receiver that knows this mark keeps the data in a buffer of its own until the Send
 * completes, with one completion for both. For any other receiver the two are a legal pair of
 * messages with two completions, in order.
 */
#include "internal.h"

static u64 soft_tx_imm_data(const struct krdma_soft_sqe *wqe, u32 last)
{
	return (u64)be32_to_cpu(wqe->imm) << 32 | last;
}

/** soft_tx_imm_with_send() - prepare the immediate data of Send @msg, which is sent first */
void soft_tx_imm_with_send(struct soft_tx *tx, struct soft_msg *msg,
			   const struct krdma_soft_sqe *wqe)
{
	msg->imm_due = SOFT_IMM_NOW;
	msg->imm = soft_tx_imm_data(wqe, SOFT_IMM_OF_SEND);
	msg->imm_msn = tx->msn[SOFT_QN_SEND]++;
}

/** soft_tx_imm_with_write() - prepare the immediate data of Write @msg, which follows it */
void soft_tx_imm_with_write(struct soft_tx *tx, struct soft_msg *msg,
			    const struct krdma_soft_sqe *wqe)
{
	msg->imm_due = SOFT_IMM_AFTER;
	msg->imm = soft_tx_imm_data(wqe, 0);
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
