// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The InfiniBand extension: atomic operations and immediate data (RFC 7306 with iWARP). */
#include "transfers.h"

#define KDAT_EXT_FLAGS	(DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG |	\
			 DAT_COMPLETION_BARRIER_FENCE_FLAG |					\
			 DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG)

/* Errors count the arguments of dat_extension_op(): the handle, the operation, and so on. */

/* Does the RNIC have atomic operations, or immediate data? */
static DAT_RETURN kdat_ext_check(struct kdat_ia *ia, bool atomic)
{
	const struct ri_rnic_attr *attr;
	bool able;

	if (!kdat_enter_atomic(ia))
		return KDAT_GONE;
	attr = &ia->kr->rnic->attr;
	able = atomic ? attr->limits.atomic_cap != IB_ATOMIC_NONE :
			attr->caps & RI_CAP_IMMEDIATE;
	kdat_leave_atomic(ia);
	return able ? DAT_SUCCESS : KDAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
}

static DAT_RETURN kdat_ext_atomic(struct kdat_ep *ep, DAT_IB_OP op, va_list args)
{
	const bool swap = op == DAT_IB_CMP_AND_SWAP_OP;
	struct ib_atomic_wr wr = {
		.wr.opcode = swap ? IB_WR_ATOMIC_CMP_AND_SWP : IB_WR_ATOMIC_FETCH_AND_ADD,
	};
	struct kdat_transfer transfer = {
		.op = (DAT_DTOS)(swap ? DAT_IB_DTO_CMP_SWAP : DAT_IB_DTO_FETCH_ADD),
		.ext_op = (swap ? DAT_IB_DTO_CMP_SWAP : DAT_IB_DTO_FETCH_ADD) + 1,
		.num = 1,
		.max = sizeof(u64),
	};
	const DAT_RMR_TRIPLET *remote;
	DAT_RETURN ret;

	wr.compare_add = va_arg(args, DAT_UINT64);
	if (swap)
		wr.swap = va_arg(args, DAT_UINT64);
	transfer.iov = va_arg(args, const DAT_LMR_TRIPLET *);
	transfer.cookie = va_arg(args, DAT_DTO_COOKIE);
	remote = va_arg(args, const DAT_RMR_TRIPLET *);
	transfer.flags = va_arg(args, DAT_COMPLETION_FLAGS);

	ret = kdat_ext_check(ep->obj.ia, true);
	if (ret != DAT_SUCCESS)
		return ret;
	if (!transfer.iov)
		return swap ? KDAT_BAD_ARG(5) : KDAT_BAD_ARG(4);
	if (!remote)
		return swap ? KDAT_BAD_ARG(7) : KDAT_BAD_ARG(6);
	if (transfer.flags & ~KDAT_EXT_FLAGS)
		return swap ? KDAT_BAD_ARG(8) : KDAT_BAD_ARG(7);
	if (transfer.iov->segment_length != sizeof(u64) || remote->segment_length < sizeof(u64))
		return KDAT_ERROR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	wr.remote_addr = remote->virtual_address;
	wr.rkey = remote->rmr_context;
	return kdat_dto_transfer(ep, &wr.wr, &transfer);
}

static DAT_RETURN kdat_ext_write_immed(struct kdat_ep *ep, va_list args)
{
	struct ib_rdma_wr wr = { .wr.opcode = IB_WR_RDMA_WRITE_WITH_IMM };
	struct kdat_transfer transfer = {
		.op = (DAT_DTOS)DAT_IB_DTO_RDMA_WRITE_IMMED,
		.ext_op = DAT_IB_DTO_RDMA_WRITE_IMMED + 1,
	};
	const DAT_RMR_TRIPLET *remote;
	DAT_RETURN ret;

	transfer.num = va_arg(args, DAT_COUNT);
	transfer.iov = va_arg(args, const DAT_LMR_TRIPLET *);
	transfer.cookie = va_arg(args, DAT_DTO_COOKIE);
	remote = va_arg(args, const DAT_RMR_TRIPLET *);
	wr.wr.ex.imm_data = cpu_to_be32(va_arg(args, DAT_UINT32));
	transfer.flags = va_arg(args, DAT_COMPLETION_FLAGS);

	ret = kdat_ext_check(ep->obj.ia, false);
	if (ret != DAT_SUCCESS)
		return ret;
	if (transfer.num < 0 || transfer.num > ep->attr.max_rdma_write_iov)
		return KDAT_BAD_ARG(3);
	if (transfer.num && !transfer.iov)
		return KDAT_BAD_ARG(4);
	if (!remote)
		return KDAT_BAD_ARG(6);
	/* the immediate data completes a receive, so the peer can be woken */
	if (transfer.flags & ~(KDAT_EXT_FLAGS | DAT_COMPLETION_SOLICITED_WAIT_FLAG))
		return KDAT_BAD_ARG(8);
	transfer.max = min(ep->attr.max_rdma_size, remote->segment_length);
	wr.remote_addr = remote->virtual_address;
	wr.rkey = remote->rmr_context;
	return kdat_dto_transfer(ep, &wr.wr, &transfer);
}

DAT_RETURN kdat_ext_ib_op(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args)
{
	struct kdat_ep *ep = kdat_ep_of(handle);

	switch (op) {
	case DAT_IB_FETCH_AND_ADD_OP:
	case DAT_IB_CMP_AND_SWAP_OP:
		return ep ? kdat_ext_atomic(ep, (DAT_IB_OP)op, args) : KDAT_BAD_HANDLE(EP);
	case DAT_IB_RDMA_WRITE_IMMED_OP:
		return ep ? kdat_ext_write_immed(ep, args) : KDAT_BAD_HANDLE(EP);
	default:
		return KDAT_ERROR(DAT_NOT_IMPLEMENTED, DAT_NO_SUBTYPE);
	}
}
