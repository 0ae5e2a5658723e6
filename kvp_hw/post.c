// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Work requests. The device takes those of a kernel consumer as they are, except fast
 * registrations, which name a region of the RNIC-PI, and what siw does not survive. Those of a user
 * without library are checked: the device has the operation, and each element is of a region of the
 * user.
 */
#include "hw.h"

/* Users without library ****************************************************** */

/*
 * Leave out elements of no bytes: they name no memory, whatever their STag. siw does not look up
 * their memory, and crashes when it sends one of several elements. Return: the number that is left.
 */
static int hw_post_drop_empty(struct ib_sge *sge, int num)
{
	int i, kept = 0;

	for (i = 0; i < num; i++)
		if (sge[i].length)
			sge[kept++] = sge[i];
	return kept;
}

/*
 * Immediate data is an extension of iWARP (RFC 7306) that no attribute of a device announces. Of
 * iWARP's drivers only erdma posts all of it: siw and qedr have none, cxgb4 has no Send with it,
 * and irdma's iWARP no Send or nothing.
 */
bool hw_post_has_immediate(const struct ib_device *ibdev)
{
	return !rdma_protocol_iwarp(ibdev, 1) || ibdev->ops.driver_id == RDMA_DRIVER_ERDMA;
}

/* Does the device have the operation? siw's queue does not work after one that it refuses. */
static int hw_post_check_opcode(const struct ib_device *ibdev, const struct ib_send_wr *wr)
{
	switch (wr->opcode) {
	case IB_WR_LOCAL_INV:
	case IB_WR_SEND_WITH_INV:
		if (!(ibdev->attrs.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS))
			return -EOPNOTSUPP;
		return 0;
	case IB_WR_SEND:
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_READ:
		return 0;
	case IB_WR_SEND_WITH_IMM:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		return hw_post_has_immediate(ibdev) ? 0 : -EOPNOTSUPP;
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		return ibdev->attrs.atomic_cap != IB_ATOMIC_NONE ? 0 : -EOPNOTSUPP;
	default:
		return -EOPNOTSUPP;
	}
}

/* iWARP's Read has one sink, which may be empty. */
static int hw_post_check_read(const struct ib_device *ibdev, const struct ib_send_wr *wr)
{
	const int max = max(ibdev->attrs.max_sge_rd, 1);

	if (rdma_protocol_iwarp(ibdev, 1) && (wr->num_sge < 1 || wr->num_sge > max))
		return -EINVAL;
	return 0;
}

/* Inline data is a copy of the kAL's, in one element. */
static int hw_post_check_inline(const struct hw_qp *qp, struct ib_send_wr *wr)
{
	switch (wr->opcode) {
	case IB_WR_SEND:
	case IB_WR_SEND_WITH_IMM:
	case IB_WR_SEND_WITH_INV:
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		break;
	default:
		return -EINVAL;
	}
	wr->num_sge = hw_post_drop_empty(wr->sg_list, wr->num_sge);
	if (wr->num_sge && wr->sg_list[0].length > qp->max_inline)
		return -EINVAL;
	if (!wr->num_sge)
		wr->send_flags &= ~IB_SEND_INLINE;
	return 0;
}

/* Does the answer of the peer go to the elements? */
static bool hw_post_writes_locally(enum ib_wr_opcode opcode)
{
	switch (opcode) {
	case IB_WR_RDMA_READ:
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		return true;
	default:
		return false;
	}
}

/* A Read or atomic operation without a depth waits for ever on rdma_rxe, and on siw. */
static int hw_post_check_depth(const struct hw_qp *qp, const struct ib_send_wr *wr)
{
	if (!hw_post_writes_locally(wr->opcode))
		return 0;
	return READ_ONCE(qp->made) && !qp->ord ? -EINVAL : 0;
}

/* May the user without library post this? The operations are in the kAL's list. */
static int hw_post_check_users(const struct hw_qp *qp, struct ib_send_wr *wr)
{
	struct hw_rnic *hw = hw_rnic(qp->ri.obj.rnic);
	int ret = hw_post_check_opcode(hw->ibdev, wr) ?: hw_post_check_depth(qp, wr);

	if (ret)
		return ret;
	if (wr->send_flags & IB_SEND_INLINE)
		return hw_post_check_inline(qp, wr);
	if (wr->opcode == IB_WR_LOCAL_INV)
		return hw_users_check_stag(qp->ri.pd, wr->ex.invalidate_rkey);
	if (wr->opcode == IB_WR_RDMA_READ)
		ret = hw_post_check_read(hw->ibdev, wr);
	else
		wr->num_sge = hw_post_drop_empty(wr->sg_list, wr->num_sge);
	if (ret)
		return ret;
	return hw_users_check_sges(qp->ri.pd, wr->sg_list, wr->num_sge,
				   hw_post_writes_locally(wr->opcode));
}

/* siw ************************************************************************ */

static u64 hw_post_bytes(const struct ib_send_wr *wr)
{
	u64 bytes = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++)
		bytes += wr->sg_list[i].length;
	return bytes;
}

/*
 * siw sets flags in the entry of its queue before it looks at the work request, and leaves them
 * when it refuses it (siw_post_send()). The queue then counts as full, and when it is flushed, the
 * refused request completes. So siw is shown no work request that it would refuse.
 */
static int hw_post_check_siw(const struct hw_qp *qp, struct ib_send_wr *wr)
{
	switch (wr->opcode) {
	case IB_WR_RDMA_READ:
	case IB_WR_RDMA_READ_WITH_INV:
		/* the connection decides whether there is a read depth */
		if (!READ_ONCE(qp->made))
			return -ENOTCONN;
		if (wr->num_sge != 1 || !qp->ord)
			return -EINVAL;
		/*
		 * siw cannot hold a Read back, and stops for ever. The responses to Reads come in
		 * order, so one Read need not wait for another.
		 */
		wr->send_flags &= ~IB_SEND_FENCE;
		return 0;
	case IB_WR_SEND:
	case IB_WR_SEND_WITH_INV:
	case IB_WR_RDMA_WRITE:
		if (wr->send_flags & IB_SEND_INLINE && hw_post_bytes(wr) > qp->max_inline)
			return -EINVAL;
		return 0;
	case IB_WR_REG_MR:
	case IB_WR_LOCAL_INV:
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

/* Sends ********************************************************************** */

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
 * Post from @first up to @end, which is a fast registration or the end of the list. The list is the
 * consumer's, so it is posted one by one rather than cut.
 */
static int hw_post_run(struct hw_qp *qp, const struct ib_send_wr *first,
		       const struct ib_send_wr *end, const struct ib_send_wr **bad_wr)
{
	const bool siw = hw_is_siw(qp->ib->device);
	const struct ib_send_wr *bad;
	union hw_send_wr one;
	int ret = 0;

	for (; first != end && !ret; first = first->next) {
		hw_post_copy(&one, first);
		*bad_wr = first;
		if (siw)
			ret = hw_post_check_siw(qp, &one.wr);
		if (!ret)
			ret = ib_post_send(qp->ib, &one.wr, &bad);
	}
	return ret;
}

/* The kAL posts a user's work requests one by one. */
static int hw_post_users(struct hw_qp *qp, const struct ib_send_wr *wr)
{
	const struct ib_send_wr *bad;
	union hw_send_wr one;
	int ret;

	hw_post_copy(&one, wr);
	ret = hw_post_check_users(qp, &one.wr);
	if (!ret && hw_is_siw(qp->ib->device))
		ret = hw_post_check_siw(qp, &one.wr);
	if (ret)
		return ret;
	ret = ib_post_send(qp->ib, &one.wr, &bad);
	/* drivers refuse what is posted before the connection, with different errnos */
	return ret && !READ_ONCE(qp->made) ? -ENOTCONN : ret;
}

int hw_post_send(struct ri_qp *ri, const struct ib_send_wr *wr, const struct ib_send_wr **bad_wr)
{
	struct hw_qp *qp = hw_qp(ri);
	const struct ib_send_wr *reg;
	int ret;

	*bad_wr = wr;
	if (ri->pd->slow)
		return hw_post_users(qp, wr);
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
	if (!wr)
		return 0;
	return hw_is_siw(qp->ib->device) ? hw_post_run(qp, wr, NULL, bad_wr) :
				    ib_post_send(qp->ib, wr, bad_wr);
}

/* Receives ******************************************************************* */

/* A user's receive, which the kAL posts alone, becomes @to. */
static int hw_post_check_recv(struct ri_pd *pd, const struct ib_recv_wr *wr,
			      struct ib_recv_wr *to)
{
	*to = *wr;
	to->num_sge = hw_post_drop_empty(to->sg_list, to->num_sge);
	return hw_users_check_sges(pd, to->sg_list, to->num_sge, true);
}

int hw_post_recv(struct ri_qp *ri, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad_wr)
{
	const struct ib_recv_wr *bad;
	struct ib_recv_wr one;
	int ret;

	if (!ri->pd->slow)
		return ib_post_recv(hw_qp(ri)->ib, wr, bad_wr);
	*bad_wr = wr;
	ret = hw_post_check_recv(ri->pd, wr, &one);
	return ret ?: ib_post_recv(hw_qp(ri)->ib, &one, &bad);
}

int hw_post_srq_recv(struct ri_srq *ri, const struct ib_recv_wr *wr,
		     const struct ib_recv_wr **bad_wr)
{
	const struct ib_recv_wr *bad;
	struct ib_recv_wr one;
	int ret;

	/* a doorbell, for which there is no library */
	if (!wr)
		return -EINVAL;
	if (!ri->pd->slow)
		return ib_post_srq_recv(hw_srq(ri)->ib, wr, bad_wr);
	*bad_wr = wr;
	ret = hw_post_check_recv(ri->pd, wr, &one);
	return ret ?: ib_post_srq_recv(hw_srq(ri)->ib, &one, &bad);
}
