/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The send queue's two interfaces, ibv_post_send() and ibv_wr_*(), on one way
 * to build an entry.
 */
#include <cstring>

#include "provider.hpp"

namespace krdma {
namespace {

constexpr std::uint8_t no_op = 0xff;
static_assert(KRDMA_SOFT_OP_USER_END < no_op);

constexpr std::uint8_t soft_op(ibv_wr_opcode opcode)
{
	switch (opcode) {
	case IBV_WR_SEND:
		return KRDMA_SOFT_OP_SEND;
	case IBV_WR_SEND_WITH_INV:
		return KRDMA_SOFT_OP_SEND_INV;
	case IBV_WR_RDMA_WRITE:
		return KRDMA_SOFT_OP_WRITE;
	case IBV_WR_RDMA_READ:
		return KRDMA_SOFT_OP_READ;
	case IBV_WR_LOCAL_INV:
		return KRDMA_SOFT_OP_LOCAL_INV;
	case IBV_WR_SEND_WITH_IMM:
		return KRDMA_SOFT_OP_SEND_IMM;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return KRDMA_SOFT_OP_WRITE_IMM;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return KRDMA_SOFT_OP_FETCH_ADD;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return KRDMA_SOFT_OP_CMP_SWAP;
	case IBV_WR_BIND_MW:
		return KRDMA_SOFT_OP_BIND_MW;
	default:
		return no_op;
	}
}

constexpr bool is_atomic(std::uint8_t op)
{
	return op == KRDMA_SOFT_OP_FETCH_ADD || op == KRDMA_SOFT_OP_CMP_SWAP;
}

/* its data comes from the peer, so it cannot be inline */
constexpr bool is_answered(std::uint8_t op)
{
	return op == KRDMA_SOFT_OP_READ || is_atomic(op);
}

constexpr unsigned int known_send_flags =
	IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE;

std::uint8_t soft_flags(unsigned int send_flags, bool signal_all)
{
	std::uint8_t flags = 0;

	if (send_flags & IBV_SEND_SIGNALED || signal_all)
		flags |= KRDMA_SOFT_WQE_SIGNALED;
	if (send_flags & IBV_SEND_SOLICITED)
		flags |= KRDMA_SOFT_WQE_SOLICITED;
	if (send_flags & IBV_SEND_FENCE)
		flags |= KRDMA_SOFT_WQE_FENCE;
	return flags;
}

/* octets of a list of ibv_sge or ibv_data_buf; 64 bits hold what 32 do not */
template <typename Buf> std::uint64_t total_length(const Buf *bufs, std::size_t n)
{
	std::uint64_t total = 0;

	for (std::size_t i = 0; i < n; i++)
		total += bufs[i].length;
	return total;
}

/* one piece of inline data; returns where the next one goes */
std::byte *put_inline(std::byte *to, const void *from, std::size_t length)
{
	if (length)
		std::memcpy(to, from, length);
	return to + length;
}

std::byte *payload(krdma_soft_sqe &sqe)
{
	return reinterpret_cast<std::byte *>(sqe.sge);
}

void put_sges(krdma_soft_sqe &sqe, const ibv_sge *sges, std::size_t n)
{
	sqe.num_sge = static_cast<std::uint16_t>(n);
	if (n)
		std::memcpy(sqe.sge, sges, n * sizeof(*sges));
}

/* the result of an atomic operation is 8 octets in one piece */
bool list_fits(std::uint8_t op, const ibv_sge *sges, std::size_t n)
{
	return !is_atomic(op) || (n == 1 && sges->length == sizeof(std::uint64_t));
}

void put_fetch_add(krdma_soft_sqe &sqe, std::uint64_t add)
{
	sqe.atomic = {.swap_add = add, .swap_add_mask = 0, .compare = 0, .compare_mask = 0};
}

void put_cmp_swap(krdma_soft_sqe &sqe, std::uint64_t compare, std::uint64_t swap)
{
	sqe.atomic = {.swap_add = swap,
		      .swap_add_mask = UINT64_MAX,
		      .compare = compare,
		      .compare_mask = UINT64_MAX};
}

/* an entry that has no data yet; it is one with commit() */
krdma_soft_sqe *reserve(Qp &qp, std::uint64_t wr_id, std::uint8_t op, unsigned int send_flags)
{
	krdma_soft_sqe *sqe = qp.sq.reserve();

	if (!sqe) [[unlikely]]
		return nullptr;
	sqe->wr_id = wr_id;
	sqe->opcode = op;
	sqe->flags = soft_flags(send_flags, qp.signal_all);
	sqe->num_sge = 0;
	return sqe;
}

/* ibv_post_send() ********************************************************** */

/* a work request without data, whatever its list says */
int push_local_inv(Qp &qp, const ibv_send_wr &wr)
{
	krdma_soft_sqe *sqe = reserve(qp, wr.wr_id, KRDMA_SOFT_OP_LOCAL_INV, wr.send_flags);

	if (!sqe) [[unlikely]]
		return ENOMEM;
	sqe->invalidate = wr.invalidate_rkey;
	qp.sq.commit();
	return 0;
}

/* what a request says besides its data */
void put_operands(krdma_soft_sqe &sqe, const ibv_send_wr &wr)
{
	switch (sqe.opcode) {
	case KRDMA_SOFT_OP_WRITE_IMM:
		sqe.imm = wr.imm_data;
		[[fallthrough]];
	case KRDMA_SOFT_OP_WRITE:
	case KRDMA_SOFT_OP_READ:
		sqe.raddr = wr.wr.rdma.remote_addr;
		sqe.rkey = wr.wr.rdma.rkey;
		return;
	case KRDMA_SOFT_OP_SEND_IMM:
		sqe.imm = wr.imm_data;
		return;
	case KRDMA_SOFT_OP_SEND_INV:
		sqe.invalidate = wr.invalidate_rkey;
		return;
	case KRDMA_SOFT_OP_FETCH_ADD:
		put_fetch_add(sqe, wr.wr.atomic.compare_add);
		break;
	case KRDMA_SOFT_OP_CMP_SWAP:
		put_cmp_swap(sqe, wr.wr.atomic.compare_add, wr.wr.atomic.swap);
		break;
	default:
		return;
	}
	sqe.raddr = wr.wr.atomic.remote_addr;
	sqe.rkey = wr.wr.atomic.rkey;
}

bool names_window(std::uint32_t rkey, const ibv_mw *mw)
{
	return mw && rkey >> 8 == mw->rkey >> 8;
}

void put_bind(krdma_soft_sqe &sqe, std::uint32_t rkey, const ibv_mw_bind_info &info)
{
	sqe.rkey = rkey;
	sqe.mem_stag = info.mr ? info.mr->lkey : 0;
	sqe.raddr = info.addr;
	sqe.mem_length = info.length;
	sqe.mem_access = info.mw_access_flags;
}

int push_bind(Qp &qp, const ibv_send_wr &wr)
{
	if (!names_window(wr.bind_mw.rkey, wr.bind_mw.mw) || wr.send_flags & IBV_SEND_INLINE)
		return EINVAL;

	krdma_soft_sqe *sqe = reserve(qp, wr.wr_id, KRDMA_SOFT_OP_BIND_MW, wr.send_flags);
	if (!sqe) [[unlikely]]
		return ENOMEM;
	put_bind(*sqe, wr.bind_mw.rkey, wr.bind_mw.bind_info);
	qp.sq.commit();
	return 0;
}

int push_send(Qp &qp, const ibv_send_wr &wr)
{
	const std::uint8_t op = soft_op(wr.opcode);
	const auto num_sge = static_cast<std::uint32_t>(wr.num_sge);

	if (op == no_op || wr.num_sge < 0 || num_sge > qp.max_send_sge ||
	    wr.send_flags & ~known_send_flags || !list_fits(op, wr.sg_list, num_sge)) [[unlikely]]
		return EINVAL;

	if (op == KRDMA_SOFT_OP_LOCAL_INV)
		return push_local_inv(qp, wr);
	if (op == KRDMA_SOFT_OP_BIND_MW)
		return wr.bind_mw.mw && wr.bind_mw.mw->type == IBV_MW_TYPE_2 ? push_bind(qp, wr)
									     : EINVAL;
	const bool is_inline = wr.send_flags & IBV_SEND_INLINE;
	std::uint64_t length = 0;
	if (is_inline) {
		length = total_length(wr.sg_list, num_sge);
		if (is_answered(op) || length > qp.max_inline)
			return EINVAL;
	}

	krdma_soft_sqe *sqe = reserve(qp, wr.wr_id, op, wr.send_flags);
	if (!sqe) [[unlikely]]
		return ENOMEM;

	put_operands(*sqe, wr);
	if (is_inline) {
		std::byte *to = payload(*sqe);

		sqe->flags |= KRDMA_SOFT_WQE_INLINE;
		sqe->length = static_cast<std::uint32_t>(length);
		for (std::uint32_t i = 0; i < num_sge; i++)
			to = put_inline(to, reinterpret_cast<const void *>(wr.sg_list[i].addr),
					wr.sg_list[i].length);
	} else {
		put_sges(*sqe, wr.sg_list, num_sge);
	}
	qp.sq.commit();
	return 0;
}

/* ibv_wr_*() *************************************************************** */

Qp &ours_ex(ibv_qp_ex *qp)
{
	return ours<Qp>(qp);
}

/* Begins an entry; its data comes with wr_set_*(). An error is kept for wr_complete(). */
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
		reserve(qp, base->wr_id, static_cast<std::uint8_t>(op), base->wr_flags);
	if (!sqe) [[unlikely]] {
		qp.build_error = ENOMEM;
		return nullptr;
	}
	qp.sq.commit();
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

/* a window of type 2: those of type 1 have ibv_bind_mw() */
void wr_bind_mw(ibv_qp_ex *base, ibv_mw *mw, std::uint32_t rkey, const ibv_mw_bind_info *info)
{
	krdma_soft_sqe *sqe = begin(base, KRDMA_SOFT_OP_BIND_MW);
	Qp &qp = ours_ex(base);

	if (!sqe)
		return;
	/* nothing is set behind it */
	qp.building = nullptr;
	if (!names_window(rkey, mw) || mw->type != IBV_MW_TYPE_2 ||
	    base->wr_flags & IBV_SEND_INLINE) [[unlikely]]
		qp.build_error = EINVAL;
	else
		put_bind(*sqe, rkey, *info);
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
	if (num_sge > qp.max_send_sge || !list_fits(qp.building->opcode, sges, num_sge))
		[[unlikely]]
		qp.build_error = EINVAL;
	else
		put_sges(*qp.building, sges, num_sge);
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
	if (length > qp.max_inline || is_answered(qp.building->opcode)) [[unlikely]] {
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

	qp.sq_lock.lock();
	qp.building = nullptr;
	qp.build_error = qp.sq.dead() ? EIO : 0;
}

/* all or nothing, unlike ibv_post_send() */
int wr_complete(ibv_qp_ex *base)
{
	Qp &qp = ours_ex(base);
	const int err = qp.build_error;
	Tell tell = Tell::nothing;

	if (err)
		qp.sq.rewind();
	else if (qp.sq.pending())
		tell = publish(qp.sq);
	qp.sq_lock.unlock();
	return err ?: qp.notify(tell);
}

void wr_abort(ibv_qp_ex *base)
{
	Qp &qp = ours_ex(base);

	qp.sq.rewind();
	qp.sq_lock.unlock();
}

} /* namespace */

/* Type 1: the window's next key is the library's to choose. */
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
		QueueGuard guard{qp.sq_lock};

		if (qp.sq.dead())
			return EIO;
		if (int err = push_bind(qp, wr))
			return err;
		tell = publish(qp.sq);
	}
	mw->rkey = wr.bind_mw.rkey;
	return qp.notify(tell);
}

int post_send(ibv_qp *base, ibv_send_wr *wr, ibv_send_wr **bad_wr)
{
	Qp &qp = ours<Qp>(base);

	return post_list(
		qp.sq_lock, qp.sq, wr, bad_wr,
		[&](const ibv_send_wr &next) { return push_send(qp, next); },
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
