/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Checks of the times of completions. They are compared with their clocks, which are read
 * before and after.
 */
#include <cerrno>
#include <ctime>
#include <thread>

#include "queues.hpp"

namespace queues {
namespace {

using rdma::must;
using rdma::require;
using rdma::require_eq;
using namespace std::chrono_literals;

constexpr std::uint64_t both_times =
	IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;

std::uint64_t clock_ns(clockid_t clock)
{
	timespec now{};

	must(clock_gettime(clock, &now), "clock_gettime");
	return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
	       static_cast<std::uint64_t>(now.tv_nsec);
}

struct Times {
	std::uint64_t monotonic;
	std::uint64_t real;

	static Times now()
	{
		return {clock_ns(CLOCK_MONOTONIC), clock_ns(CLOCK_REALTIME)};
	}
};

void require_between(const Times &from, const Times &time, const Times &to, const char *what)
{
	require(from.monotonic <= time.monotonic && time.monotonic <= to.monotonic, what);
	require(from.real <= time.real && time.real <= to.real, what);
}

/* the next completion; waits for it */
Times next_time(const rdma::Queue &queue, std::uint64_t wr_id)
{
	ibv_cq_ex *cq = queue.cq_ex();
	ibv_poll_cq_attr attr{};
	int err = ENOENT;

	rdma::wait_until([&] { return (err = ibv_start_poll(cq, &attr)) != ENOENT; },
			 "no completion");
	must(err, "ibv_start_poll");
	const Times time{ibv_wc_read_completion_ts(cq), ibv_wc_read_completion_wallclock_ns(cq)};
	const bool as_wanted = cq->status == IBV_WC_SUCCESS && cq->wr_id == wr_id;
	ibv_end_poll(cq);
	require(as_wanted, "another completion than that");
	return time;
}

void device_clock(World &world)
{
	ibv_device_attr_ex device{};
	ibv_values_ex values{};

	must(ibv_query_device_ex(world.context(), nullptr, &device), "ibv_query_device_ex");
	require_eq(device.completion_timestamp_mask, ~std::uint64_t{0}, "mask of times");
	require_eq(device.hca_core_clock, std::uint64_t{1'000'000}, "clock in kHz");

	values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
	const std::uint64_t before = clock_ns(CLOCK_MONOTONIC);
	must(ibv_query_rt_values_ex(world.context(), &values), "ibv_query_rt_values_ex");
	const std::uint64_t after = clock_ns(CLOCK_MONOTONIC);
	require_eq(values.comp_mask, std::uint32_t{IBV_VALUES_MASK_RAW_CLOCK}, "values known");
	const auto now = static_cast<std::uint64_t>(values.raw_clock.tv_nsec);
	require(before <= now && now <= after, "the device's clock is another one");
}

} /* namespace */

void completion_times(World &world)
{
	constexpr std::uint64_t rounds = 300;

	device_clock(world);
	Link link{world, {.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | both_times}};
	Times last_recv{};
	Times last_send{};

	for (std::uint64_t i = 0; i < rounds; i++) {
		const Times begin = Times::now();

		must(link.server->post_recv(link.target(), i), "post_recv");
		must(link.client->post_send(link.source(), 0), "Send to the queue");
		const Times received = next_time(link.server->recvs, i);
		require_between(begin, received, Times::now(), "time of a receive");
		require_between(last_recv, received, received, "a receive before the last one");
		last_recv = received;

		const Times posted = Times::now();
		must(link.client->post_recv(link.source()), "post_recv");
		must(link.server->post_send(link.target(), IBV_SEND_SIGNALED, i), "Send");
		const Times sent = next_time(link.server->sends, i);
		require_between(posted, sent, Times::now(), "time of a Send");
		require_between(last_send, sent, sent, "a Send before the last one");
		last_send = sent;
		rdma::require_status(link.client->recvs.wait(), IBV_WC_SUCCESS, "receive");
	}
}

/* The time is that of the completion, however long it waits. It moves with it to another ring. */
void completion_times_of_a_new_ring(World &world)
{
	constexpr std::uint64_t waiting = 6;
	Link link{world, {.cqe = 8, .wc_flags = both_times}};
	const Times begin = Times::now();

	for (std::uint64_t i = 0; i < waiting; i++)
		must(link.server->post_recv(link.target(), i), "post_recv");
	for (std::uint64_t i = 0; i < waiting; i++)
		must(link.client->post_send(link.source(), 0), "post_send");
	link.fence();
	const Times end = Times::now();
	std::this_thread::sleep_for(20ms);
	must(ibv_resize_cq(link.server->recvs.cq(), 100), "ibv_resize_cq");
	for (std::uint64_t i = 0; i < waiting; i++)
		require_between(begin, next_time(link.server->recvs, i), end,
				"time of what waited");
	/* also across the end of the larger ring */
	for (std::uint64_t i = 0; i < 300; i++) {
		const Times before = Times::now();

		must(link.server->post_recv(link.target(), i), "post_recv");
		must(link.client->post_send(link.source(), 0), "post_send");
		const Times time = next_time(link.server->recvs, i);
		require_between(before, time, Times::now(), "time in the new ring");
	}
}

void completion_times_only_when_asked_for(World &world)
{
	const rdma::Queue none{world.context(), 4, 0, IBV_WC_STANDARD_FLAGS};
	const rdma::Queue raw{world.context(), 4, 0, IBV_WC_EX_WITH_COMPLETION_TIMESTAMP};
	const rdma::Queue wall{world.context(), 4, 0,
			       IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK};
	ibv_cq_init_attr_ex attr{};

	require(!none.cq_ex()->read_completion_ts && !none.cq_ex()->read_completion_wallclock_ns,
		"times that nobody asked for");
	require(raw.cq_ex()->read_completion_ts && !raw.cq_ex()->read_completion_wallclock_ns,
		"not just the raw time");
	require(!wall.cq_ex()->read_completion_ts && wall.cq_ex()->read_completion_wallclock_ns,
		"not just the time of day");
	attr.cqe = 4;
	attr.wc_flags = both_times | IBV_WC_EX_WITH_TM_INFO;
	errno = 0;
	const rdma::Cq other{ibv_cq_ex_to_cq(ibv_create_cq_ex(world.context(), &attr))};
	require(!other, "a CQ that tells tag matching");
	require_eq(errno, EOPNOTSUPP, "errno for what there is not");
}

} /* namespace queues */
