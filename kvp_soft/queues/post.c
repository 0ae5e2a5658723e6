// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Posting of send work requests by kernel consumers: they are written into the ring.
 */
#include "qp.h"

static void soft_sqe_fill_atomic(struct krdma_soft_sqe *sqe,
				 const struct ib_send_wr *wr)
{
	const struct ib_atomic_wr *atomic = atomic_wr(wr);

	sqe->raddr = atomic->remote_addr;
	sqe->rkey = atomic->rkey;
	switch (wr->opcode) {
	case IB_WR_MASKED_ATOMIC_FETCH_AND_ADD:
		sqe->flags |= KRDMA_SOFT_WQE_MASKED;
		sqe->atomic.swap_add_mask = atomic->compare_add_mask;
		fallthrough;
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		sqe->opcode = KRDMA_SOFT_OP_FETCH_ADD;
		sqe->atomic.swap_add = atomic->compare_add;
		return;
	case IB_WR_MASKED_ATOMIC_CMP_AND_SWP:
		sqe->flags |= KRDMA_SOFT_WQE_MASKED;
		sqe->atomic.compare_mask = atomic->compare_add_mask;
		sqe->atomic.swap_add_mask = atomic->swap_mask;
		break;
	default:
		sqe->atomic.compare_mask = U64_MAX;
		sqe->atomic.swap_add_mask = U64_MAX;
		break;
	}
	sqe->opcode = KRDMA_SOFT_OP_CMP_SWAP;
	sqe->atomic.compare = atomic->compare_add;
	sqe->atomic.swap_add = atomic->swap;
}

static void soft_sqe_fill_remote(struct krdma_soft_sqe *sqe,
				 const struct ib_send_wr *wr)
{
	sqe->raddr = rdma_wr(wr)->remote_addr;
	sqe->rkey = rdma_wr(wr)->rkey;
}

static int soft_sqe_fill_reg(struct krdma_soft_sqe *sqe,
			     const struct ib_reg_wr *reg)
{
	if ((reg->key ^ reg->mr->rkey) >> 8)
		return -EINVAL;
	sqe->rkey = reg->key;
	sqe->raddr = reg->mr->iova;
	sqe->mem_length = reg->mr->length;
	sqe->mem_access = reg->access;
	return 0;
}

static void soft_sqe_fill_bind(struct krdma_soft_sqe *sqe,
			       const struct ri_bind_wr *bind)
{
	sqe->rkey = bind->stag;
	sqe->raddr = bind->addr;
	sqe->mem_length = bind->length;
	sqe->mem_access = bind->access;
	sqe->mem_stag = bind->region;
}

/* Fill in the operation and its remote target. */
static int soft_sqe_fill_op(const struct soft_qp *qp, struct krdma_soft_sqe *sqe,
			    const struct ib_send_wr *wr)
{
	switch (wr->opcode) {
	case IB_WR_SEND:
		sqe->opcode = KRDMA_SOFT_OP_SEND;
		return 0;
	case IB_WR_SEND_WITH_INV:
		sqe->opcode = KRDMA_SOFT_OP_SEND_INV;
		sqe->invalidate = wr->ex.invalidate_rkey;
		return 0;
	case IB_WR_SEND_WITH_IMM:
		sqe->opcode = KRDMA_SOFT_OP_SEND_IMM;
		sqe->imm = wr->ex.imm_data;
		return 0;
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
	case IB_WR_MASKED_ATOMIC_CMP_AND_SWP:
	case IB_WR_MASKED_ATOMIC_FETCH_AND_ADD:
		if (wr->num_sge != 1 || wr->sg_list->length != SOFT_ATOMIC_LEN)
			return -EINVAL;
		soft_sqe_fill_atomic(sqe, wr);
		return 0;
	case IB_WR_RDMA_WRITE:
		sqe->opcode = KRDMA_SOFT_OP_WRITE;
		soft_sqe_fill_remote(sqe, wr);
		return 0;
	case IB_WR_RDMA_WRITE_WITH_IMM:
		sqe->opcode = KRDMA_SOFT_OP_WRITE_IMM;
		sqe->imm = wr->ex.imm_data;
		soft_sqe_fill_remote(sqe, wr);
		return 0;
	case IB_WR_RDMA_READ:
		sqe->opcode = KRDMA_SOFT_OP_READ;
		soft_sqe_fill_remote(sqe, wr);
		return 0;
	case IB_WR_RDMA_READ_WITH_INV:
		/* the sink's STag is invalidated: rdma_rw leaves an old key in invalidate_rkey */
		sqe->opcode = KRDMA_SOFT_OP_READ_INV;
		soft_sqe_fill_remote(sqe, wr);
		return 0;
	case IB_WR_LOCAL_INV:
		sqe->opcode = KRDMA_SOFT_OP_LOCAL_INV;
		sqe->invalidate = wr->ex.invalidate_rkey;
		return 0;
	case IB_WR_REG_MR:
		sqe->opcode = KRDMA_SOFT_OP_REG_MR;
		return soft_sqe_fill_reg(sqe, reg_wr(wr));
	case IB_WR_BIND_MW:
		/* a struct ri_bind_wr, which consumers of the kernel's verbs do not have */
		if (qp->ri.plain_wrs)
			return -EOPNOTSUPP;
		sqe->opcode = KRDMA_SOFT_OP_BIND_MW;
		soft_sqe_fill_bind(sqe, ri_bind_wr(wr));
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

static u8 soft_sqe_flags(int send_flags)
{
	u8 flags = 0;

	if (send_flags & IB_SEND_SIGNALED)
		flags |= KRDMA_SOFT_WQE_SIGNALED;
	if (send_flags & IB_SEND_SOLICITED)
		flags |= KRDMA_SOFT_WQE_SOLICITED;
	if (send_flags & IB_SEND_FENCE)
		flags |= KRDMA_SOFT_WQE_FENCE;
	return flags;
}

/* Fill in the location of the payload. */
static int soft_sqe_fill_sges(const struct soft_qp *qp, struct krdma_soft_sqe *sqe,
			      const struct ib_send_wr *wr)
{
	int i;

	if (struct_size(sqe, sge, wr->num_sge) > qp->sq.ring.stride)
		return -EINVAL;
	sqe->num_sge = wr->num_sge;
	for (i = 0; i < wr->num_sge; i++) {
		sqe->sge[i].addr = wr->sg_list[i].addr;
		sqe->sge[i].length = wr->sg_list[i].length;
		sqe->sge[i].lkey = wr->sg_list[i].lkey;
	}
	return 0;
}

/* Copy the payload itself. */
static int soft_sqe_fill_inline(const struct soft_qp *qp, struct krdma_soft_sqe *sqe,
				const struct ib_send_wr *wr)
{
	u32 off = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		if (wr->sg_list[i].length > qp->max_inline - off)
			return -EINVAL;
		memcpy((u8 *)sqe->sge + off,
		       (void *)(uintptr_t)wr->sg_list[i].addr,
		       wr->sg_list[i].length);
		off += wr->sg_list[i].length;
	}
	sqe->flags |= KRDMA_SOFT_WQE_INLINE;
	sqe->length = off;
	return 0;
}

/* Translate a work request into the slot of the ring. */
static int soft_sqe_fill(const struct soft_qp *qp, struct krdma_soft_sqe *sqe,
			 const struct ib_send_wr *wr)
{
	int ret;

	memset(sqe, 0, sizeof(*sqe));
	ret = soft_sqe_fill_op(qp, sqe, wr);
	if (ret)
		return ret;
	sqe->wr_id = wr->wr_id;
	sqe->flags |= soft_sqe_flags(wr->send_flags);
	if (soft_op_is_local(sqe->opcode))
		return 0;
	if (wr->num_sge > KRDMA_SOFT_MAX_SGE)
		return -EINVAL;
	if (!(wr->send_flags & IB_SEND_INLINE))
		return soft_sqe_fill_sges(qp, sqe, wr);
	return soft_op_is_answered(sqe->opcode) ? -EINVAL :
						  soft_sqe_fill_inline(qp, sqe, wr);
}

/**
 * soft_sq_post() - write a list of work requests of a kernel consumer into the ring
 * @qp: queue pair
 * @wr: the list
 * @bad_wr: set to the first work request that was refused
 *
 * The work requests before @bad_wr are posted. The caller rings the doorbell if the ring asks
 * for it.
 * Context: any but hard interrupt.
 * Return: 0; -ENOMEM when the queue is full; -EINVAL; -EOPNOTSUPP.
 */
int soft_sq_post(struct soft_qp *qp, const struct ib_send_wr *wr,
		 const struct ib_send_wr **bad_wr)
{
	struct soft_sq *sq = &qp->sq;
	struct krdma_soft_sqe *sqe;
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&sq->post_lock, flags);
	for (; wr; wr = wr->next) {
		sqe = soft_ring_slot(&sq->ring);
		ret = sqe ? soft_sqe_fill(qp, sqe, wr) : -ENOMEM;
		if (ret) {
			*bad_wr = wr;
			break;
		}
		sq->ring.posted++;
	}
	if (sq->ring.depth)
		soft_ring_publish(&sq->ring);
	spin_unlock_irqrestore(&sq->post_lock, flags);
	return ret;
}
