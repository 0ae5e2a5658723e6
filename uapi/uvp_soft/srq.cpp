/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Shared receive queues, and how a receive request enters a ring: receive
 * queues (qp.cpp) use the same.
 */
#include <cstring>

#include "provider.hpp"

namespace krdma {

static_assert(sizeof(ibv_sge) == sizeof(krdma_soft_sge));
static_assert(offsetof(ibv_sge, addr) == offsetof(krdma_soft_sge, addr));
static_assert(offsetof(ibv_sge, length) == offsetof(krdma_soft_sge, length));
static_assert(offsetof(ibv_sge, lkey) == offsetof(krdma_soft_sge, lkey));

int push_recv(RecvRing &ring, const ibv_recv_wr &wr, std::uint32_t max_sge) noexcept
{
	if (wr.num_sge < 0 || static_cast<std::uint32_t>(wr.num_sge) > max_sge)
		return EINVAL;
	krdma_soft_rqe *rqe = ring.reserve();
	if (!rqe)
		return ENOMEM;

	rqe->wr_id = wr.wr_id;
	rqe->num_sge = static_cast<std::uint32_t>(wr.num_sge);
	if (wr.num_sge)
		std::memcpy(rqe->sge, wr.sg_list, rqe->num_sge * sizeof(*wr.sg_list));
	ring.commit();
	return 0;
}

ibv_srq *create_srq(ibv_pd *pd, ibv_srq_init_attr *attr)
{
	auto *srq = make<Srq>();
	if (!srq)
		return nullptr;

	ibv_create_srq_cmd cmd{};
	verbs_response<ib_uverbs_create_srq_resp, krdma_soft_srq_resp> response{};
	const krdma_soft_srq_resp &granted = response.driver;

	int err = ibv_cmd_create_srq(pd, &srq->base, attr, &cmd, sizeof(cmd), &response,
				     response.size);
	if (err) {
		dispose(srq);
		errno = err;
		return nullptr;
	}

	srq->max_sge = attr->attr.max_sge;
	srq->lock.set_single_threaded(ours<Pd>(pd).single_threaded());
	const RingShape shape{granted.ring_size, granted.depth, granted.stride};
	if (!shape.valid(sizeof(krdma_soft_rqe) + srq->max_sge * sizeof(krdma_soft_sge)))
		err = EPROTO;
	else
		err = srq->memory.map(pd->context->cmd_fd, granted.ring_offset, granted.ring_size);
	if (err) {
		ibv_cmd_destroy_srq(&srq->base);
		dispose(srq);
		errno = err;
		return nullptr;
	}
	srq->ring.attach(srq->memory.address(), shape);
	return &srq->base;
}

namespace {

int resize_step(ibv_srq *srq, ibv_srq_attr *attr, int attr_mask, krdma_soft_resize_step step,
		krdma_soft_srq_resp *granted)
{
	verbs_driver_request<ibv_modify_srq_cmd, krdma_soft_modify_srq_req> request{};

	request.driver.step = step;
	request.driver.resp = reinterpret_cast<std::uintptr_t>(granted);
	return ibv_cmd_modify_srq(srq, attr, attr_mask, &request.core, request.size);
}

int resize_srq(Srq &srq, ibv_srq_attr *attr, int attr_mask)
{
	krdma_soft_srq_resp granted{};
	Mapping memory;

	if (int err = resize_step(&srq.base, attr, IBV_SRQ_MAX_WR, KRDMA_SOFT_RESIZE_PREPARE,
				  &granted))
		return err;
	const RingShape shape{granted.ring_size, granted.depth, granted.stride};
	if (!shape.valid(sizeof(krdma_soft_rqe) + srq.max_sge * sizeof(krdma_soft_sge)))
		return EPROTO;
	if (int err = memory.map(srq.base.context->cmd_fd, granted.ring_offset, granted.ring_size))
		return err;

	/* nobody posts while the kernel moves what is posted */
	QueueGuard guard{srq.lock};
	if (int err = resize_step(&srq.base, attr, attr_mask, KRDMA_SOFT_RESIZE_SWITCH, nullptr))
		return err;
	srq.ring.attach(memory.address(), shape);
	srq.memory.swap(memory);
	return 0;
}

} /* namespace */

int modify_srq(ibv_srq *srq, ibv_srq_attr *attr, int attr_mask)
{
	ibv_modify_srq_cmd cmd{};

	if (attr_mask & IBV_SRQ_MAX_WR)
		return resize_srq(ours<Srq>(srq), attr, attr_mask);
	return ibv_cmd_modify_srq(srq, attr, attr_mask, &cmd, sizeof(cmd));
}

int query_srq(ibv_srq *srq, ibv_srq_attr *attr)
{
	ibv_query_srq_cmd cmd{};

	return ibv_cmd_query_srq(srq, attr, &cmd, sizeof(cmd));
}

int destroy_srq(ibv_srq *base)
{
	if (int err = ibv_cmd_destroy_srq(base))
		return err;
	dispose(&ours<Srq>(base));
	return 0;
}

int post_srq_recv(ibv_srq *base, ibv_recv_wr *wr, ibv_recv_wr **bad_wr)
{
	Srq &srq = ours<Srq>(base);

	return post_list(
		srq.lock, srq.ring, wr, bad_wr,
		[&](const ibv_recv_wr &next) { return push_recv(srq.ring, next, srq.max_sge); },
		[&](Tell) {
			ibv_recv_wr *none;

			return ibv_cmd_post_srq_recv(base, nullptr, &none);
		});
}

} /* namespace krdma */
