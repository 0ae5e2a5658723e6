// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Local work requests: the transmitter executes them in queue order, and sends nothing on the
 * wire. At that time all earlier work requests are in FPDUs, and no later one has been
 * fetched.
 */
#include "internal.h"

/**
 * soft_local_wr() - execute a local work request
 * @qp: queue pair
 * @wqe: checked copy of the work request, soft_op_is_local()
 *
 * Context: the transmitter, process context.
 * Return: completion status: IB_WC_SUCCESS; IB_WC_MW_BIND_ERR ("memory management operation
 * error") for any error.
 */
enum ib_wc_status soft_local_wr(struct soft_qp *qp,
				const struct krdma_soft_sqe *wqe)
{
	enum soft_access why;

	switch (wqe->opcode) {
	case KRDMA_SOFT_OP_LOCAL_INV:
		why = soft_mem_local_inv(&qp->mem, wqe->invalidate, true);
		break;
	case KRDMA_SOFT_OP_REG_MR:
		why = soft_mem_fast_reg(&qp->mem, wqe);
		break;
	case KRDMA_SOFT_OP_BIND_MW:
		why = soft_mw_bind(&qp->mem, wqe);
		break;
	default:
		return IB_WC_LOC_QP_OP_ERR;
	}
	if (!why)
		return IB_WC_SUCCESS;
	soft_count(qp->rnic, SOFT_CNT_LOCAL_ERR);
	return IB_WC_MW_BIND_ERR;
}
