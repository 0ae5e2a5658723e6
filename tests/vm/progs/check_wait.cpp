/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Checks of Sends that find no posted receive. They wait for rx_wait_ms, in order, and are
 * then refused.
 */
#include <algorithm>
#include <array>
#include <thread>

#include "checks.hpp"

namespace checks {
namespace {

using namespace std::chrono_literals;
using rdma::Memory;
using rdma::must;
using rdma::require;
using rdma::require_eq;
using rdma::require_status;

/* less than rx_wait_ms, more than a message needs to arrive */
constexpr auto late = 300ms;
constexpr std::size_t message = 100'000;
constexpr int messages = 3;

/* the client's messages; all bytes of the nth are n + 1 */
class Source {
public:
	explicit Source(rdma::Side &side)
		: side_{side}, memory_{side.pd(), messages * message, IBV_ACCESS_LOCAL_WRITE}
	{
		for (int i = 0; i < messages; i++)
			std::ranges::fill(memory_.span().subspan(i * message, message),
					  static_cast<std::byte>(i + 1));
	}

	void send(int i)
	{
		const std::array sges{memory_.sge(i * message, message)};

		must(side_.post_send(sges, IBV_SEND_SIGNALED, i), "post_send");
	}

	void all_sent()
	{
		for (int i = 0; i < messages; i++)
			require_status(side_.sends.wait(), IBV_WC_SUCCESS, "Send");
	}

private:
	rdma::Side &side_;
	Memory memory_;
};

void require_message(Memory &memory, const ibv_wc &wc, int i)
{
	require_status(wc, IBV_WC_SUCCESS, "receive");
	require_eq(std::size_t{wc.byte_len}, message, "byte_len");
	require(memory.is_all(static_cast<std::byte>(i + 1)), "data and order");
}

void late_receives(World &world)
{
	Pair pair{world};
	Source source{pair.client()};
	Memory target{pair.server().pd(), message, IBV_ACCESS_LOCAL_WRITE};
	const std::array to{target.sge()};

	for (int i = 0; i < messages; i++)
		source.send(i);
	for (int i = 0; i < messages; i++) {
		std::this_thread::sleep_for(late);
		require(!pair.server().recvs.poll(), "nothing is received into nothing");
		must(pair.server().post_recv(to), "post_recv");
		require_message(target, pair.server().recvs.wait(), i);
	}
	source.all_sent();
	require_eq(int{pair.server().state()}, int{IBV_QPS_RTS}, "state");
}

/* the peer's end of the connection comes after the waiting messages */
void late_receive_after_close(World &world)
{
	Pair pair{world};
	Source source{pair.client()};
	Memory target{pair.server().pd(), message, IBV_ACCESS_LOCAL_WRITE};
	const std::array to{target.sge()};

	source.send(0);
	require_status(pair.client().sends.wait(), IBV_WC_SUCCESS, "Send");
	rdma_disconnect(pair.client().id());
	std::this_thread::sleep_for(late);
	must(pair.server().post_recv(to), "post_recv");
	require_message(target, pair.server().recvs.wait(), 0);
	pair.server().wait_for_disconnect();
}

void no_receive_at_all(World &world)
{
	Pair pair{world};
	Source source{pair.client()};

	source.send(0);
	pair.server().wait_for_state(IBV_QPS_ERR);
	pair.client().wait_for_state(IBV_QPS_ERR);
	/* it may have completed before it was refused */
	const ibv_wc wc = pair.client().sends.wait();
	require(wc.status == IBV_WC_SUCCESS || wc.status == IBV_WC_REM_INV_REQ_ERR,
		"status of a refused Send");
	still_works(world);
}

void destroyed_while_waiting(World &world)
{
	Pair pair{world};
	Source source{pair.client()};

	source.send(0);
	std::this_thread::sleep_for(late);
}

rdma::Srq make_srq(ibv_pd *pd)
{
	ibv_srq_init_attr attr{};

	attr.attr.max_wr = 8;
	attr.attr.max_sge = 1;
	return rdma::Srq{must(ibv_create_srq(pd, &attr), "ibv_create_srq")};
}

void post_to(ibv_srq *srq, const ibv_sge &sge)
{
	ibv_sge to = sge;
	ibv_recv_wr wr{};
	ibv_recv_wr *bad = nullptr;

	wr.sg_list = &to;
	wr.num_sge = 1;
	must(ibv_post_srq_recv(srq, &wr, &bad), "ibv_post_srq_recv");
}

/* two QPs wait for one shared queue: each posted entry is taken by one of them */
void late_shared_receives(World &world)
{
	const rdma::Pd pd{must(ibv_alloc_pd(world.context()), "ibv_alloc_pd")};
	const rdma::Srq srq = make_srq(pd.get());
	rdma::SideOptions options;
	options.pd = pd.get();
	options.srq = srq.get();
	Pair one{world, {}, options};
	Pair two{world, {}, options};
	Source first{one.client()};
	Source second{two.client()};
	Memory target{pd.get(), message, IBV_ACCESS_LOCAL_WRITE};
	int received = 0;

	for (int i = 0; i < messages; i++) {
		first.send(i);
		second.send(i);
	}
	for (int i = 0; i < 2 * messages; i++) {
		std::this_thread::sleep_for(late / 4);
		post_to(srq.get(), target.sge());
		rdma::wait_until(
			[&] {
				for (Pair *pair : {&one, &two})
					while (auto wc = pair->server().recvs.poll()) {
						require_status(*wc, IBV_WC_SUCCESS, "receive");
						received++;
					}
				return received > i;
			},
			"an entry of the shared queue is used");
	}
	first.all_sent();
	second.all_sent();
	require_eq(received, 2 * messages, "messages received");
}

} /* namespace */

const std::vector<Check> wait_checks{
	{"late receives", late_receives},
	{"late receive after the peer's close", late_receive_after_close},
	{"no receive at all", no_receive_at_all},
	{"destroyed while a Send waits", destroyed_while_waiting},
	{"late receives in a shared queue", late_shared_receives},
};

} /* namespace checks */
