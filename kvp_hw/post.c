// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Work requests. The device takes those of a kernel consumer as they are, except fast
 * registrations, which name a region of the RNIC-PI. Those of a user without library are checked:
 * each element must be of a region of the user.
 */
#include "hw.h"

static bool hw_post_sges_are_users(struct hw_rnic *hw, const struct ri_pd *pd,
				   const struct ib_sge *sge, int num)
{
	int i;

	for (i = 0; i < num; i++)
		if (!hw_mem_is_users(hw, pd, sge[i].lkey))
			return false;
	return true;
}

/* May the user without library post this? The operations are in the kAL's list. */
static int hw_post_check_users(const struct hw_qp *qp, const struct ib_send_wr *wr)
{
	struct hw_rnic *hw = hw_rnic(qp->ri.obj.rnic);

	switch (wr->opcode) {
	case IB_WR_LOCAL_INV:
		return hw_mem_is_users(hw, qp->ri.pd, wr->ex.invalidate_rkey) ? 0 : -EINVAL;
	case IB_WR_SEND:
	case IB_WR_SEND_WITH_IMM:
	case IB_WR_SEND_WITH_INV:
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		/* inline data is a copy of the kAL's */
		if (wr->send_flags & IB_SEND_INLINE)
			return 0;
		break;
	case IB_WR_RDMA_READ:
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		break;
	default:
		return -EOPNOTSUPP;
	}
	return hw_post_sges_are_users(hw, qp->ri.pd, wr->sg_list, wr->num_sge) ? 0 : -EINVAL;
}

static int hw_post_reg(struct hw_qp *qp, const struct ib_send_wr *wr)
{
	const struct ib_reg_wr *from = reg_wr(wr);
	struct hw_mr *mr = hw_mr_find(hw_rnic(qp->ri.obj.rnic), from->key);
	const struct ib_send_wr *bad_wr;
	struct ib_reg_wr reg = {
		.wr = *wr,
		.key = from->key,
		.access = from->access,
	};
	int ret;

	if (!mr || (from->key ^ from->mr->rkey) >> 8)
		return -EINVAL;
	ret = hw_mr_map_list(mr, from->mr->iova, from->mr->length);
	if (ret)
		return ret;
	ib_update_fast_reg_key(mr->ib, from->key & 0xff);
	reg.mr = mr->ib;
	reg.wr.next = NULL;
	return ib_post_send(qp->ib, &reg.wr, &bad_wr);
}

/* The first work request of the list that is not posted as it is, or NULL. */
static const struct ib_send_wr *hw_post_next_reg(const struct ib_send_wr *wr)
{
	while (wr && wr->opcode != IB_WR_REG_MR)
		wr = wr->next;
	return wr;
}

/* a work request that is posted alone, without the rest of its list */
union hw_send_wr {
	struct ib_send_wr wr;
	struct ib_rdma_wr rdma;
	struct ib_atomic_wr atomic;
};

static void hw_post_copy(union hw_send_wr *to, const struct ib_send_wr *from)
{
	switch (from->opcode) {
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
	case IB_WR_RDMA_READ:
	case IB_WR_RDMA_READ_WITH_INV:
		to->rdma = *rdma_wr(from);
		break;
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		to->atomic = *atomic_wr(from);
		break;
	default:
		to->wr = *from;
		break;
	}
	to->wr.next = NULL;
}

/*
 * Post from @first up to @end, which is a fast registration. The list is the consumer's, so it is
 * posted one by one rather than cut.
 */
static int hw_post_run(struct hw_qp *qp, const struct ib_send_wr *first,
		       const struct ib_send_wr *end, const struct ib_send_wr **bad_wr)
{
	const struct ib_send_wr *bad;
	union hw_send_wr one;
	int ret = 0;

	for (; first != end && !ret; first = first->next) {
		hw_post_copy(&one, first);
		*bad_wr = first;
		ret = ib_post_send(qp->ib, &one.wr, &bad);
	}
	return ret;
}

int hw_post_send(struct ri_qp *ri, const struct ib_send_wr *wr, const struct ib_send_wr **bad_wr)
{
	struct hw_qp *qp = hw_qp(ri);
	const struct ib_send_wr *reg;
	int ret;

	*bad_wr = wr;
	if (ri->pd->slow) {
		ret = hw_post_check_users(qp, wr);
		return ret ?: ib_post_send(qp->ib, wr, bad_wr);
	}
	while ((reg = hw_post_next_reg(wr))) {
		ret = hw_post_run(qp, wr, reg, bad_wr);
		if (ret)
			return ret;
		*bad_wr = reg;
		ret = hw_post_reg(qp, reg);
		if (ret)
			return ret;
		wr = reg->next;
	}
	return wr ? ib_post_send(qp->ib, wr, bad_wr) : 0;
}

static int hw_post_check_recv(const struct ri_pd *pd, const struct ib_recv_wr *wr)
{
	if (!pd->slow)
		return 0;
	return hw_post_sges_are_users(hw_rnic(pd->obj.rnic), pd, wr->sg_list, wr->num_sge) ?
		       0 : -EINVAL;
}

int hw_post_recv(struct ri_qp *ri, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad_wr)
{
	const int ret = hw_post_check_recv(ri->pd, wr);

	*bad_wr = wr;
	return ret ?: ib_post_recv(hw_qp(ri)->ib, wr, bad_wr);
}

int hw_post_srq_recv(struct ri_srq *ri, const struct ib_recv_wr *wr,
		     const struct ib_recv_wr **bad_wr)
{
	int ret;

	/* a doorbell, for which there is no library */
	if (!wr)
		return -EINVAL;
	ret = hw_post_check_recv(ri->pd, wr);
	*bad_wr = wr;
	return ret ?: ib_post_srq_recv(hw_srq(ri)->ib, wr, bad_wr);
}
