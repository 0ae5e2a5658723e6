/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Checks of queues of the largest size. The kernel flushes, moves and wakes in steps there.
 * Completions come and receives are taken between the steps. Each must be there once and in
 * order.
 */
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "queues.hpp"

namespace queues {
namespace {

using rdma::must;
using rdma::require;
using rdma::require_eq;
using rdma::require_status;

/* Completions come in any number at a time. Those of one queue must come once and in order. */
class Flushes {
public:
	explicit Flushes(ibv_cq *cq) : cq_{cq}
	{}

	/* Take @n completions with errors; @next(completion) is the expected wr_id. */
	template <typename Next> void take(std::uint64_t n, Next next)
	{
		const auto end = std::chrono::steady_clock::now() + rdma::patience;
		std::array<ibv_wc, 256> wcs{};

		while (n > 0) {
			const int got = ibv_poll_cq(
				cq_, static_cast<int>(std::min<std::uint64_t>(n, wcs.size())),
				wcs.data());

			require(got >= 0, "ibv_poll_cq");
			require(got > 0 || std::chrono::steady_clock::now() < end,
				"completions do not come");
			for (int i = 0; i < got; i++) {
				require_status(wcs[i], IBV_WC_WR_FLUSH_ERR, "flushed");
				require_eq(wcs[i].wr_id, next(wcs[i]), "order of completions");
			}
			n -= static_cast<std::uint64_t>(got);
		}
	}

	void expect_no_more()
	{
		ibv_wc wc{};

		require_eq(ibv_poll_cq(cq_, 1, &wc), 0, "completions too many");
	}

private:
	ibv_cq *cq_;
};

/* receives without elements, as one list */
std::vector<ibv_recv_wr> receives(std::uint64_t first, std::uint32_t n)
{
	std::vector<ibv_recv_wr> list(n);

	for (std::uint32_t i = 0; i < n; i++) {
		list[i].wr_id = first + i;
		list[i].next = i + 1 < n ? &list[i + 1] : nullptr;
	}
	return list;
}

/* A queue pair in the error state may still flush older requests. Its queue is full until then. */
void post_receives(ibv_qp *qp, std::uint64_t first, std::uint32_t n)
{
	const auto end = std::chrono::steady_clock::now() + rdma::patience;
	auto list = receives(first, n);
	ibv_recv_wr *rest = list.data();
	int error = 0;

	while ((error = ibv_post_recv(qp, rest, &rest)) == ENOMEM &&
	       std::chrono::steady_clock::now() < end)
		std::this_thread::yield();
	must(error, "ibv_post_recv");
}

void post_sends(ibv_qp *qp, std::uint64_t first, std::uint32_t n)
{
	std::vector<ibv_send_wr> list(n);
	ibv_send_wr *bad = nullptr;

	for (std::uint32_t i = 0; i < n; i++) {
		list[i].wr_id = first + i;
		list[i].opcode = IBV_WR_SEND;
		list[i].next = i + 1 < n ? &list[i + 1] : nullptr;
	}
	must(ibv_post_send(qp, list.data(), &bad), "ibv_post_send");
}

/* a queue pair of the largest size, without connection, that completes into one CQ */
struct Deep {
	Deep(World &world, int cqe)
		: depth{static_cast<std::uint32_t>(world.device().max_qp_wr)},
		  pd{must(ibv_alloc_pd(world.context()), "ibv_alloc_pd")},
		  cq{must(ibv_create_cq(world.context(), cqe, nullptr, nullptr, 0), "CQ")}
	{
		ibv_qp_init_attr init{};

		init.send_cq = init.recv_cq = cq.get();
		init.qp_type = IBV_QPT_RC;
		init.cap = {depth, depth, 1, 1, 0};
		qp.reset(must(ibv_create_qp(pd.get(), &init), "ibv_create_qp"));
	}

	void fail() const
	{
		ibv_qp_attr attr{};

		attr.qp_state = IBV_QPS_ERR;
		must(ibv_modify_qp(qp.get(), &attr, IBV_QP_STATE), "to ERR");
	}

	std::uint32_t depth;
	rdma::Pd pd;
	rdma::Cq cq;
	rdma::Qp qp;
};

} /* namespace */

/* both queues full when the queue pair fails, and filled again in the error state */
void large_queues_flush(World &world)
{
	const Deep deep{world, 2 * world.device().max_qp_wr};
	Flushes flushes{deep.cq.get()};
	std::uint64_t sent = 0;
	std::uint64_t received = 0;
	const auto next = [&](const ibv_wc &wc) {
		return wc.opcode & IBV_WC_RECV ? received++ : sent++;
	};

	for (std::uint64_t round = 0; round < 3; round++) {
		post_sends(deep.qp.get(), round * deep.depth, deep.depth);
		post_receives(deep.qp.get(), round * deep.depth, deep.depth);
		if (!round)
			deep.fail();
		flushes.take(2 * std::uint64_t{deep.depth}, next);
		require_eq(sent, (round + 1) * deep.depth, "flushed Sends");
		require_eq(received, sent, "flushed receives");
	}
	flushes.expect_no_more();
}

/* a full CQ that moves to a new ring while completions come */
void large_cq_moves(World &world)
{
	constexpr std::uint32_t rounds = 4;
	const int largest = world.device().max_cqe;
	const Deep deep{world, largest};
	Flushes flushes{deep.cq.get()};
	std::uint64_t received = 0;
	const auto next = [&](const ibv_wc &) { return received++; };

	deep.fail();
	for (std::uint32_t round = 0; round < rounds; round++) {
		post_receives(deep.qp.get(), std::uint64_t{round} * deep.depth, deep.depth);
		must(ibv_resize_cq(deep.cq.get(), round % 2 ? largest : largest / 2),
		     "ibv_resize_cq");
		flushes.take(deep.depth / 4, next);
	}
	flushes.take(std::uint64_t{rounds} * deep.depth - received, next);
	flushes.expect_no_more();
}

/* a full SRQ moves to a new ring: no receive is lost, none comes twice */
void large_srq_moves(World &world)
{
	constexpr std::uint32_t used = 12; /* number at a time, fewer than the Sends that fit */
	const auto largest = static_cast<std::uint32_t>(world.device().max_srq_wr);
	const rdma::Pd pd{must(ibv_alloc_pd(world.context()), "ibv_alloc_pd")};
	ibv_srq_init_attr init{
		.srq_context = nullptr,
		.attr = {largest, static_cast<std::uint32_t>(world.device().max_srq_sge), 0}};
	const rdma::Srq srq{must(ibv_create_srq(pd.get(), &init), "ibv_create_srq")};
	Link link{world, {.pd = pd.get(), .srq = srq.get()}};
	ibv_recv_wr *bad = nullptr;
	std::uint64_t received = 0;
	const auto post = [&](std::uint64_t first, std::uint32_t n) {
		auto list = receives(first, n);

		must(ibv_post_srq_recv(srq.get(), list.data(), &bad), "ibv_post_srq_recv");
	};

	post(0, largest);
	for (std::uint32_t round = 0; round < 8; round++) {
		ibv_srq_attr attr{.max_wr = largest, .max_sge = 0, .srq_limit = 0};

		for (std::uint32_t i = 0; i < used; i++)
			must(link.client->post_send({}, IBV_SEND_SIGNALED, i), "post_send");
		must(ibv_modify_srq(srq.get(), &attr, IBV_SRQ_MAX_WR), "ibv_modify_srq");
		for (std::uint32_t i = 0; i < used; i++) {
			const ibv_wc wc = link.server->recvs.wait();

			require_status(wc, IBV_WC_SUCCESS, "message");
			require_eq(wc.wr_id, received++, "order of receives");
			require_status(link.client->sends.wait(), IBV_WC_SUCCESS, "Send");
		}
		post(largest + std::uint64_t{round} * used, used);
	}
}

/*
 * receivers wait for one SRQ; receives that are posted at once, or one by one, reach all of
 * them
 */
void many_wait_for_an_srq(World &world)
{
	constexpr std::uint32_t links = 80;
	const rdma::Pd pd{must(ibv_alloc_pd(world.context()), "ibv_alloc_pd")};
	ibv_srq_init_attr init{.srq_context = nullptr, .attr = {links, 1, 0}};
	const rdma::Srq srq{must(ibv_create_srq(pd.get(), &init), "ibv_create_srq")};
	std::vector<std::unique_ptr<Link>> all;

	for (std::uint32_t i = 0; i < links; i++)
		all.push_back(std::make_unique<Link>(
			world, LinkOptions{.pd = pd.get(), .srq = srq.get()}));
	for (const std::uint32_t at_once : {links, 1U, links / 2}) {
		std::vector<bool> used(links);
		ibv_recv_wr *bad = nullptr;

		for (auto &link : all)
			must(link->client->post_send({}), "post_send");
		for (std::uint32_t i = 0; i < links; i += at_once) {
			auto list = receives(i, at_once);

			must(ibv_post_srq_recv(srq.get(), list.data(), &bad), "ibv_post_srq_recv");
		}
		for (auto &link : all) {
			const ibv_wc wc = link->server->recvs.wait();

			require_status(wc, IBV_WC_SUCCESS, "message");
			require(wc.wr_id < links && !used[wc.wr_id], "a receive used twice");
			used[wc.wr_id] = true;
			require_status(link->client->sends.wait(), IBV_WC_SUCCESS, "Send");
		}
	}
}

} /* namespace queues */
