/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Shared receive queues. */
#include "provider.hpp"

namespace krdma {

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

	srq->queue.max_sge = attr->attr.max_sge;
	srq->queue.lock.set_single_threaded(ours<Pd>(pd).single_threaded());
	err = attach_ring(srq->queue, pd->context->cmd_fd, granted.ring_offset,
			  {granted.ring_size, granted.depth, granted.stride},
			  RecvQueue::stride(srq->queue.max_sge));
	if (err) {
		ibv_cmd_destroy_srq(&srq->base);
		dispose(srq);
		errno = err;
		return nullptr;
	}
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
	const auto step = [&](krdma_soft_resize_step which, krdma_soft_srq_resp *granted) {
		return resize_step(&srq.base, attr, attr_mask, which, granted);
	};

	return resize_srq_ring(
		srq.queue, srq.base.context->cmd_fd,
		[&](krdma_soft_srq_resp &granted) {
			return step(KRDMA_SOFT_RESIZE_PREPARE, &granted);
		},
		[&] { return step(KRDMA_SOFT_RESIZE_SWITCH, nullptr); });
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
		srq.queue, wr, bad_wr,
		[&](const ibv_recv_wr &next) { return push_recv(srq.queue, next); },
		[&](Tell) {
			ibv_recv_wr *none;

			return ibv_cmd_post_srq_recv(base, nullptr, &none);
		});
}

} /* namespace krdma */
