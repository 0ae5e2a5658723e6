/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Checks of many queue pairs with one shared receive queue. The messages have random sizes and
 * are compared. Buffers are posted again only when the limit event asks for them. The size of
 * the queue is changed under load.
 */
#include <algorithm>
#include <atomic>
#include <cstring>
#include <future>
#include <random>
#include <thread>
#include <vector>

#include "queues.hpp"

namespace queues {
namespace {

using rdma::must;
using rdma::require;
using rdma::require_eq;

constexpr std::size_t links = 8;
constexpr std::uint32_t messages = 300; /* number of messages of each link */
constexpr std::uint32_t window = 8;     /* outstanding messages of each link */
constexpr std::size_t largest = 16384;
constexpr std::uint32_t buffers = 256;
/* more than can be outstanding, so that the queue never becomes empty */
constexpr std::uint32_t limit = 100;
static_assert(limit > links * window);

/** class Messages - the contents of each message, known to both ends */
class Messages {
public:
	Messages() : pool_(4 * largest)
	{
		std::mt19937 random{0x6b72646d};

		for (std::byte &octet : pool_)
			octet = static_cast<std::byte>(random());
	}

	[[nodiscard]] std::vector<std::byte> &pool()
	{
		return pool_;
	}
	[[nodiscard]] static std::size_t size(std::size_t link, std::uint32_t n)
	{
		return mix(link, n) % (largest + 1);
	}
	[[nodiscard]] static std::size_t offset(std::size_t link, std::uint32_t n)
	{
		return mix(link, n) / (largest + 1) % (3 * largest);
	}
	[[nodiscard]] bool same(std::size_t link, std::uint32_t n, const std::byte *octets) const
	{
		return std::memcmp(octets, &pool_[offset(link, n)], size(link, n)) == 0;
	}

private:
	static std::size_t mix(std::size_t link, std::uint32_t n)
	{
		std::uint64_t x = (link + 1) * 0x9e3779b97f4a7c15U + n * 0xbf58476d1ce4e5b9U;

		x ^= x >> 31;
		x *= 0x94d049bb133111ebU;
		return x ^ x >> 29;
	}

	std::vector<std::byte> pool_;
};

/** class Shared - the queue with its buffers; the receiver's thread */
class Shared {
public:
	Shared(World &world, ibv_pd *pd)
		: world_{world}, memory_{pd, buffers * largest, IBV_ACCESS_LOCAL_WRITE}
	{
		ibv_srq_init_attr init{.srq_context = nullptr, .attr = {buffers, 1, 0}};

		srq_.reset(must(ibv_create_srq(pd, &init), "ibv_create_srq"));
		for (std::uint32_t i = 0; i < buffers; i++)
			post(i);
		arm(buffers);
	}

	[[nodiscard]] ibv_srq *srq() const
	{
		return srq_.get();
	}
	[[nodiscard]] const std::byte *buffer(std::uint64_t id)
	{
		return memory_.data() + id * largest;
	}
	[[nodiscard]] unsigned int limit_events() const
	{
		return limit_events_;
	}
	void used(std::uint64_t id)
	{
		free_.push_back(id);
	}

	/* when the event comes: post buffers, arm the event again, change the size */
	void serve_events()
	{
		while (auto event =
			       rdma::async_event(world_.context(), std::chrono::milliseconds{0})) {
			require(event->event_type == IBV_EVENT_SRQ_LIMIT_REACHED, "another event");
			for (std::uint64_t id : free_)
				post(id);
			free_.clear();
			arm(limit_events_++ % 2 ? buffers : 2 * buffers);
		}
	}

private:
	/* one more event, in a queue of that size */
	void arm(std::uint32_t size)
	{
		ibv_srq_attr attr{.max_wr = size, .max_sge = 0, .srq_limit = limit};

		must(ibv_modify_srq(srq(), &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT),
		     "ibv_modify_srq");
	}

	void post(std::uint64_t id)
	{
		ibv_sge sge = memory_.sge(id * largest, largest);
		ibv_recv_wr wr{};
		ibv_recv_wr *bad = nullptr;

		wr.wr_id = id;
		wr.sg_list = &sge;
		wr.num_sge = 1;
		must(ibv_post_srq_recv(srq(), &wr, &bad), "ibv_post_srq_recv");
	}

	World &world_;
	rdma::Memory memory_;
	rdma::Srq srq_;
	std::vector<std::uint64_t> free_;
	unsigned int limit_events_{};
};

/* the Sends of one end: to all links in turn, each within its window */
void send_all(std::vector<std::unique_ptr<Link>> &all, Messages &known,
	      std::array<std::atomic<std::uint32_t>, links> &received,
	      const std::atomic<bool> &stop)
{
	std::vector<rdma::Mr> regions;

	regions.reserve(all.size());
	for (auto &link : all)
		regions.emplace_back(must(ibv_reg_mr(link->client->pd(), known.pool().data(),
						     known.pool().size(), IBV_ACCESS_LOCAL_WRITE),
					  "ibv_reg_mr"));
	std::array<std::uint32_t, links> sent{};
	while (std::ranges::any_of(sent, [](auto n) { return n < messages; }) && !stop) {
		for (std::size_t i = 0; i < links; i++) {
			if (sent[i] == messages || sent[i] - received[i].load() >= window)
				continue;
			const std::array sge{
				ibv_sge{reinterpret_cast<std::uintptr_t>(
						&known.pool()[Messages::offset(i, sent[i])]),
					static_cast<std::uint32_t>(Messages::size(i, sent[i])),
					regions[i]->lkey}};

			must(all[i]->client->post_send(sge, IBV_SEND_SIGNALED, sent[i]),
			     "post_send");
			const ibv_wc wc = all[i]->client->sends.wait();
			rdma::require_status(wc, IBV_WC_SUCCESS, "Send");
			require_eq(wc.wr_id, std::uint64_t{sent[i]++}, "order of Sends");
		}
		std::this_thread::yield();
	}
}

} /* namespace */

void srq_of_many(World &world)
{
	const rdma::Pd pd{must(ibv_alloc_pd(world.context()), "ibv_alloc_pd")};
	Messages known;
	Shared shared{world, pd.get()};
	std::vector<std::unique_ptr<Link>> all;
	std::array<std::atomic<std::uint32_t>, links> received{};
	std::atomic<bool> stop{false};

	for (std::size_t i = 0; i < links; i++)
		all.push_back(std::make_unique<Link>(
			world, LinkOptions{.cqe = 64, .pd = pd.get(), .srq = shared.srq()}));
	auto sender = std::async(std::launch::async, [&] { send_all(all, known, received, stop); });
	try {
		const auto end = std::chrono::steady_clock::now() + 2 * rdma::patience;

		for (std::uint32_t total = 0; total < links * messages;) {
			for (std::size_t i = 0; i < links; i++) {
				const auto wc = all[i]->server->recvs.poll();

				if (!wc)
					continue;
				rdma::require_status(*wc, IBV_WC_SUCCESS, "receive");
				require_eq(wc->qp_num, all[i]->server->qp()->qp_num, "QP");
				require_eq(std::size_t{wc->byte_len},
					   Messages::size(i, received[i]), "length");
				require(known.same(i, received[i], shared.buffer(wc->wr_id)),
					"data");
				shared.used(wc->wr_id);
				received[i]++;
				total++;
			}
			shared.serve_events();
			require(std::chrono::steady_clock::now() < end, "it takes too long");
		}
	} catch (...) {
		stop = true;
		throw;
	}
	sender.get();
	require(shared.limit_events() > 3, "hardly a limit event");
	for (auto &link : all)
		rdma_disconnect(link->client->id());
	for (std::size_t i = 0; i < links; i++) {
		/* a late limit event is no error */
		auto event = rdma::async_event(world.context(), rdma::patience);
		while (event && event->event_type == IBV_EVENT_SRQ_LIMIT_REACHED)
			event = rdma::async_event(world.context(), rdma::patience);
		require(event && event->event_type == IBV_EVENT_QP_LAST_WQE_REACHED,
			"IBV_EVENT_QP_LAST_WQE_REACHED of each QP");
	}
}

} /* namespace queues */
