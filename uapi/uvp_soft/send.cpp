/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The two interfaces of the send queue, ibv_post_send() and ibv_wr_*(). Both build entries in
 * the same way.
 */
#include "provider.hpp"

namespace krdma {
namespace {

/* Requests of libibverbs go into the queue as requests of the ABI. Both use the same numbers. */
static_assert(IBV_SEND_FENCE == KRDMA_SEND_FENCE);
static_assert(IBV_SEND_SIGNALED == KRDMA_SEND_SIGNALED);
static_assert(IBV_SEND_SOLICITED == KRDMA_SEND_SOLICITED);
static_assert(IBV_SEND_INLINE == KRDMA_SEND_INLINE);
static_assert(int{IBV_WR_RDMA_WRITE} == int{IB_UVERBS_WR_RDMA_WRITE});
static_assert(int{IBV_WR_SEND_WITH_IMM} == int{IB_UVERBS_WR_SEND_WITH_IMM});
static_assert(int{IBV_WR_BIND_MW} == int{IB_UVERBS_WR_BIND_MW});
static_assert(int{IBV_WR_SEND_WITH_INV} == int{IB_UVERBS_WR_SEND_WITH_INV});

/* ibv_post_send() ********************************************************** */

/* The STag of a window that is bound. The consumer chooses the key, the low 8 bits. */
std::uint32_t bound_stag(const ibv_mw &mw, std::uint32_t rkey)
{
	return (mw.rkey & ~0xffU) | (rkey & 0xffU);
}

std::uint32_t stag_of(const ibv_mw_bind_info &info)
{
	return info.mr ? info.mr->lkey : 0;
}

int push_bind(Qp &qp, const ibv_send_wr &wr)
{
	const ibv_mw_bind_info &info = wr.bind_mw.bind_info;
	krdma_wr request{};

	request.wr_id = wr.wr_id;
	request.opcode = IB_UVERBS_WR_BIND_MW;
	request.flags = wr.send_flags;
	request.rkey = bound_stag(*wr.bind_mw.mw, wr.bind_mw.rkey);
	request.bind_lkey = stag_of(info);
	request.bind_addr = info.addr;
	request.bind_length = info.length;
	request.bind_access = info.mw_access_flags;
	return qp.sq.push(request);
}

[[gnu::noinline]] int push_other(Qp &qp, const ibv_send_wr &wr)
{
	krdma_wr request{};

	if (wr.num_sge < 0) [[unlikely]]
		return EINVAL;
	request.wr_id = wr.wr_id;
	request.sges = reinterpret_cast<std::uintptr_t>(wr.sg_list);
	request.num_sge = static_cast<std::uint32_t>(wr.num_sge);
	request.opcode = static_cast<std::uint32_t>(wr.opcode);
	request.flags = wr.send_flags;
	switch (wr.opcode) {
	case IBV_WR_BIND_MW:
		if (request.num_sge > qp.sq.max_sge || !wr.bind_mw.mw ||
		    wr.bind_mw.mw->type != IBV_MW_TYPE_2)
			return EINVAL;
		return push_bind(qp, wr);
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		request.remote_addr = wr.wr.atomic.remote_addr;
		request.rkey = wr.wr.atomic.rkey;
		request.compare_add = wr.wr.atomic.compare_add;
		request.swap = wr.wr.atomic.swap;
		break;
	default:
		/* the other operations use this part, or ignore it */
		request.remote_addr = wr.wr.rdma.remote_addr;
		request.rkey = wr.wr.rdma.rkey;
		break;
	}
	request.imm = wr.imm_data; /* or the STag to invalidate */
	return qp.sq.push(request);
}

/* Post a request of a list. */
inline int push_send(Qp &qp, const ibv_send_wr &wr)
{
	const std::uint8_t op = soft_op(static_cast<std::uint32_t>(wr.opcode));

	if (!SendQueue::is_plain(op, wr.send_flags) || wr.num_sge < 0) [[unlikely]]
		return push_other(qp, wr);
	return qp.sq.push_plain(op, wr.wr_id, wr.send_flags, wr.wr.rdma.rkey,
				wr.wr.rdma.remote_addr, soft_sges(wr.sg_list),
				static_cast<std::uint32_t>(wr.num_sge));
}

/* ibv_wr_*() *************************************************************** */

Qp &ours_ex(ibv_qp_ex *qp)
{
	return ours<Qp>(qp);
}

/* Begin an entry. wr_set_*() adds its data. An error is kept for wr_complete(). */
krdma_soft_sqe *begin(ibv_qp_ex *base, krdma_soft_op op)
{
	Qp &qp = ours_ex(base);

	qp.building = nullptr;
	if (qp.build_error) [[unlikely]]
		return nullptr;
	if (base->wr_flags & ~known_send_flags) [[unlikely]] {
		qp.build_error = EINVAL;
		return nullptr;
	}
	krdma_soft_sqe *sqe =
		qp.sq.reserve(base->wr_id, static_cast<std::uint8_t>(op), base->wr_flags);
	if (!sqe) [[unlikely]] {
		qp.build_error = ENOMEM;
		return nullptr;
	}
	qp.sq.ring.commit();
	qp.building = sqe;
	return sqe;
}

krdma_soft_sqe *begin_rdma(ibv_qp_ex *qp, krdma_soft_op op, std::uint32_t rkey,
			   std::uint64_t remote_addr)
{
	krdma_soft_sqe *sqe = begin(qp, op);

	if (sqe) {
		sqe->rkey = rkey;
		sqe->raddr = remote_addr;
	}
	return sqe;
}

void wr_send(ibv_qp_ex *qp)
{
	begin(qp, KRDMA_SOFT_OP_SEND);
}

void wr_send_inv(ibv_qp_ex *qp, std::uint32_t invalidate_rkey)
{
	if (krdma_soft_sqe *sqe = begin(qp, KRDMA_SOFT_OP_SEND_INV))
		sqe->invalidate = invalidate_rkey;
}

/* for type 2 windows; ibv_bind_mw() is for type 1 */
void wr_bind_mw(ibv_qp_ex *base, ibv_mw *mw, std::uint32_t rkey, const ibv_mw_bind_info *info)
{
	krdma_soft_sqe *sqe = begin(base, KRDMA_SOFT_OP_BIND_MW);
	Qp &qp = ours_ex(base);

	if (!sqe)
		return;
	/* it has no wr_set_*() */
	qp.building = nullptr;
	if (!mw || mw->type != IBV_MW_TYPE_2 || base->wr_flags & IBV_SEND_INLINE) [[unlikely]]
		qp.build_error = EINVAL;
	else
		put_bind(*sqe, bound_stag(*mw, rkey), stag_of(*info), info->addr, info->length,
			 info->mw_access_flags);
}

void wr_local_inv(ibv_qp_ex *qp, std::uint32_t invalidate_rkey)
{
	if (krdma_soft_sqe *sqe = begin(qp, KRDMA_SOFT_OP_LOCAL_INV))
		sqe->invalidate = invalidate_rkey;
}

void wr_send_imm(ibv_qp_ex *qp, __be32 imm_data)
{
	if (krdma_soft_sqe *sqe = begin(qp, KRDMA_SOFT_OP_SEND_IMM))
		sqe->imm = imm_data;
}

void wr_rdma_write_imm(ibv_qp_ex *qp, std::uint32_t rkey, std::uint64_t remote_addr,
		       __be32 imm_data)
{
	if (krdma_soft_sqe *sqe = begin_rdma(qp, KRDMA_SOFT_OP_WRITE_IMM, rkey, remote_addr))
		sqe->imm = imm_data;
}

void wr_atomic_fetch_add(ibv_qp_ex *qp, std::uint32_t rkey, std::uint64_t remote_addr,
			 std::uint64_t add)
{
	if (krdma_soft_sqe *sqe = begin_rdma(qp, KRDMA_SOFT_OP_FETCH_ADD, rkey, remote_addr))
		put_fetch_add(*sqe, add);
}

void wr_atomic_cmp_swp(ibv_qp_ex *qp, std::uint32_t rkey, std::uint64_t remote_addr,
		       std::uint64_t compare, std::uint64_t swap)
{
	if (krdma_soft_sqe *sqe = begin_rdma(qp, KRDMA_SOFT_OP_CMP_SWAP, rkey, remote_addr))
		put_cmp_swap(*sqe, compare, swap);
}

void wr_rdma_write(ibv_qp_ex *qp, std::uint32_t rkey, std::uint64_t remote_addr)
{
	begin_rdma(qp, KRDMA_SOFT_OP_WRITE, rkey, remote_addr);
}

void wr_rdma_read(ibv_qp_ex *qp, std::uint32_t rkey, std::uint64_t remote_addr)
{
	begin_rdma(qp, KRDMA_SOFT_OP_READ, rkey, remote_addr);
}

void wr_set_sge_list(ibv_qp_ex *base, std::size_t num_sge, const ibv_sge *sges)
{
	Qp &qp = ours_ex(base);

	if (!qp.building)
		return;
	if (num_sge > qp.sq.max_sge || !list_fits(qp.building->opcode, soft_sges(sges), num_sge))
		[[unlikely]]
		qp.build_error = EINVAL;
	else
		put_sges(*qp.building, soft_sges(sges), num_sge);
}

void wr_set_sge(ibv_qp_ex *qp, std::uint32_t lkey, std::uint64_t addr, std::uint32_t length)
{
	const ibv_sge sge{.addr = addr, .length = length, .lkey = lkey};

	wr_set_sge_list(qp, 1, &sge);
}

void wr_set_inline_data_list(ibv_qp_ex *base, std::size_t num_buf, const ibv_data_buf *bufs)
{
	Qp &qp = ours_ex(base);

	if (!qp.building)
		return;
	const std::uint64_t length = total_length(bufs, num_buf);
	if (length > qp.sq.max_inline || is_answered(qp.building->opcode)) [[unlikely]] {
		qp.build_error = EINVAL;
		return;
	}
	std::byte *to = payload(*qp.building);
	qp.building->flags |= KRDMA_SOFT_WQE_INLINE;
	qp.building->length = static_cast<std::uint32_t>(length);
	for (std::size_t i = 0; i < num_buf; i++)
		to = put_inline(to, bufs[i].addr, bufs[i].length);
}

void wr_set_inline_data(ibv_qp_ex *qp, void *addr, std::size_t length)
{
	const ibv_data_buf buf{.addr = addr, .length = length};

	wr_set_inline_data_list(qp, 1, &buf);
}

void wr_start(ibv_qp_ex *base)
{
	Qp &qp = ours_ex(base);

	qp.sq.lock.lock();
	qp.building = nullptr;
	qp.build_error = qp.sq.ring.dead() ? EIO : 0;
}

/* publishes all requests or none, unlike ibv_post_send() */
int wr_complete(ibv_qp_ex *base)
{
	Qp &qp = ours_ex(base);
	const int err = qp.build_error;
	Tell tell = Tell::nothing;

	if (err)
		qp.sq.ring.rewind();
	else if (qp.sq.ring.pending())
		tell = publish(qp.sq.ring);
	qp.sq.lock.unlock();
	return err ?: qp.notify(tell);
}

void wr_abort(ibv_qp_ex *base)
{
	Qp &qp = ours_ex(base);

	qp.sq.ring.rewind();
	qp.sq.lock.unlock();
}

} /* namespace */

/* Type 1: the library chooses the window's next key. */
int bind_mw(ibv_qp *base, ibv_mw *mw, ibv_mw_bind *bind)
{
	Qp &qp = ours<Qp>(base);
	ibv_send_wr wr{};
	Tell tell = Tell::nothing;

	wr.wr_id = bind->wr_id;
	wr.send_flags = bind->send_flags;
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info = bind->bind_info;
	if (wr.send_flags & ~known_send_flags)
		return EINVAL;
	{
		QueueGuard guard{qp.sq.lock};

		if (qp.sq.ring.dead())
			return EIO;
		if (int err = push_bind(qp, wr))
			return err;
		tell = publish(qp.sq.ring);
	}
	mw->rkey = wr.bind_mw.rkey;
	return qp.notify(tell);
}

int post_send(ibv_qp *base, ibv_send_wr *wr, ibv_send_wr **bad_wr)
{
	Qp &qp = ours<Qp>(base);

	return post_list(
		qp.sq, wr, bad_wr, [&](const ibv_send_wr &next) { return push_send(qp, next); },
		[&](Tell tell) { return qp.notify(tell); });
}

void set_send_ops(ibv_qp_ex &qp, std::uint64_t ops)
{
	qp.wr_start = wr_start;
	qp.wr_complete = wr_complete;
	qp.wr_abort = wr_abort;
	qp.wr_set_sge = wr_set_sge;
	qp.wr_set_sge_list = wr_set_sge_list;
	qp.wr_set_inline_data = wr_set_inline_data;
	qp.wr_set_inline_data_list = wr_set_inline_data_list;
	if (ops & IBV_QP_EX_WITH_SEND)
		qp.wr_send = wr_send;
	if (ops & IBV_QP_EX_WITH_SEND_WITH_INV)
		qp.wr_send_inv = wr_send_inv;
	if (ops & IBV_QP_EX_WITH_BIND_MW)
		qp.wr_bind_mw = wr_bind_mw;
	if (ops & IBV_QP_EX_WITH_LOCAL_INV)
		qp.wr_local_inv = wr_local_inv;
	if (ops & IBV_QP_EX_WITH_SEND_WITH_IMM)
		qp.wr_send_imm = wr_send_imm;
	if (ops & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)
		qp.wr_rdma_write_imm = wr_rdma_write_imm;
	if (ops & IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP)
		qp.wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	if (ops & IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
		qp.wr_atomic_fetch_add = wr_atomic_fetch_add;
	if (ops & IBV_QP_EX_WITH_RDMA_WRITE)
		qp.wr_rdma_write = wr_rdma_write;
	if (ops & IBV_QP_EX_WITH_RDMA_READ)
		qp.wr_rdma_read = wr_rdma_read;
}

} /* namespace krdma */
