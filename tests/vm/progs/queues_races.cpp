/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Checks of two threads, or a thread and the RNIC, that use one queue at the same time:
 * several changes of the size, and a place that is free as soon as its flushed completion can
 * be seen.
 */
#include <array>
#include <cerrno>
#include <future>

#include "queues.hpp"

namespace queues {
namespace {

using rdma::must;
using rdma::require;
using rdma::require_eq;
using rdma::require_status;

constexpr int resizes = 400;

/* call @resize(i) from two threads at the same time */
template <typename Resize> void from_two_threads(Resize resize)
{
	const auto all = [&](int first) {
		for (int i = 0; i < resizes; i++)
			resize(first + i);
	};
	auto other = std::async(std::launch::async, all, 1);

	all(0);
	other.get();
}

} /* namespace */

void cq_resizes_at_once(World &world)
{
	constexpr std::array sizes{64, 1000, 100};
	Link link{world};
	ibv_cq *cq = link.server->recvs.cq();

	from_two_threads([&](int i) {
		must(ibv_resize_cq(cq, sizes[static_cast<std::size_t>(i) % sizes.size()]),
		     "ibv_resize_cq");
	});
	/* polling and arming use the kernel's ring */
	link.server->recvs.arm(false);
	must(link.server->post_recv(link.target(), 7), "post_recv");
	must(link.client->post_send(link.source(), 0), "post_send");
	require(link.server->recvs.event(rdma::patience), "no event");
	const ibv_wc wc = link.server->recvs.wait();
	require_status(wc, IBV_WC_SUCCESS, "message");
	require_eq(wc.wr_id, 7UL, "completion");
}

void srq_resizes_at_once(World &world)
{
	constexpr std::array<std::uint32_t, 3> sizes{8, 128, 30};
	const rdma::Pd pd{must(ibv_alloc_pd(world.context()), "ibv_alloc_pd")};
	ibv_srq_init_attr init{.srq_context = nullptr, .attr = {8, 1, 0}};
	const rdma::Srq srq{must(ibv_create_srq(pd.get(), &init), "ibv_create_srq")};
	Link link{world, {.pd = pd.get(), .srq = srq.get()}};
	rdma::Memory memory{pd.get(), message_size, IBV_ACCESS_LOCAL_WRITE};
	ibv_sge sge = memory.sge();
	ibv_recv_wr wr{.wr_id = 7, .next = nullptr, .sg_list = &sge, .num_sge = 1};
	ibv_recv_wr *bad = nullptr;

	from_two_threads([&](int i) {
		ibv_srq_attr attr{};

		attr.max_wr = sizes[static_cast<std::size_t>(i) % sizes.size()];
		must(ibv_modify_srq(srq.get(), &attr, IBV_SRQ_MAX_WR), "ibv_modify_srq");
	});
	must(ibv_post_srq_recv(srq.get(), &wr, &bad), "ibv_post_srq_recv");
	must(link.client->post_send(link.source(), 0), "post_send");
	const ibv_wc wc = link.server->recvs.wait();
	require_status(wc, IBV_WC_SUCCESS, "message");
	require_eq(wc.wr_id, 7UL, "completion");
}

/* a full queue is flushed: for each visible completion there is room for one more request */
void flushed_places_are_free(World &world)
{
	constexpr std::uint64_t rounds = 200;
	constexpr std::uint64_t depth = 64;
	const rdma::Pd pd{must(ibv_alloc_pd(world.context()), "ibv_alloc_pd")};
	const rdma::Cq cq{
		must(ibv_create_cq(world.context(), 2 * depth, nullptr, nullptr, 0), "CQ")};
	ibv_qp_init_attr init{};
	ibv_qp_attr attr{};

	init.send_cq = init.recv_cq = cq.get();
	init.qp_type = IBV_QPT_RC;
	init.cap = {1, depth, 1, 1, 0};
	const rdma::Qp qp{must(ibv_create_qp(pd.get(), &init), "ibv_create_qp")};
	const auto to_state = [&](ibv_qp_state state) {
		attr.qp_state = state;
		must(ibv_modify_qp(qp.get(), &attr, IBV_QP_STATE), "ibv_modify_qp");
	};
	const auto post = [&](std::uint64_t id) {
		ibv_recv_wr wr{};
		ibv_recv_wr *bad = nullptr;

		wr.wr_id = id;
		must(ibv_post_recv(qp.get(), &wr, &bad), "ibv_post_recv");
	};
	for (std::uint64_t round = 0; round < rounds; round++) {
		attr.qp_access_flags = 0;
		attr.qp_state = IBV_QPS_INIT;
		must(ibv_modify_qp(qp.get(), &attr, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS), "to INIT");
		for (std::uint64_t id = 0; id < depth; id++)
			post(id);

		auto flush = std::async(std::launch::async, [&] { to_state(IBV_QPS_ERR); });
		for (std::uint64_t id = 0; id < 2 * depth;) {
			ibv_wc wc{};

			if (ibv_poll_cq(cq.get(), 1, &wc) != 1)
				continue;
			require_status(wc, IBV_WC_WR_FLUSH_ERR, "flushed receive");
			require_eq(wc.wr_id, id++, "order of flushed receives");
			if (id <= depth)
				post(depth + id - 1);
		}
		flush.get();
		to_state(IBV_QPS_RESET);
	}
}

} /* namespace queues */
