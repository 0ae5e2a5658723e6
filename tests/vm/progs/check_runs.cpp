/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Checks of short messages that are posted as one list. The RNIC builds, places and completes
 * several of them at a time. A message in the middle of such a run that differs from the
 * others must be handled as if it were alone.
 */
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "checks.hpp"

namespace checks {
namespace {

using rdma::Memory;
using rdma::must;
using rdma::require;
using rdma::require_eq;
using rdma::require_status;

constexpr std::uint32_t count = 100; /* more messages than are handled together */
constexpr std::uint32_t odd = 37;    /* the message that differs from the others */
constexpr std::size_t size = 61;     /* with a pad */

rdma::SideOptions deep()
{
	rdma::SideOptions options;

	options.cap.max_send_wr = 128;
	options.cap.max_recv_wr = 128;
	options.cap.max_inline_data = size;
	options.cqe = 300;
	return options;
}

std::byte octet(std::uint32_t message, std::size_t at)
{
	return static_cast<std::byte>(std::size_t{31} * message + at * 7 + 1);
}

/** class Run - a connection, and a list of contiguous messages at each end */
class Run {
public:
	explicit Run(World &world, const rdma::SideOptions &server_options = deep())
		: pair{world, deep(), server_options}, from{pair.client().pd(), count * size,
							    IBV_ACCESS_LOCAL_WRITE},
		  to{pair.server().pd(), count * size, rdma::all_access}
	{
		for (std::uint32_t i = 0; i < count; i++) {
			for (std::size_t at = 0; at < size; at++)
				from.span()[i * size + at] = octet(i, at);
			sges[i] = from.sge(i * size, size);
			ibv_send_wr &wr = list[i];
			wr = {};
			wr.wr_id = i;
			wr.next = i + 1 < count ? &list[i + 1] : nullptr;
			wr.sg_list = &sges[i];
			wr.num_sge = 1;
			wr.opcode = IBV_WR_SEND;
			wr.send_flags = IBV_SEND_SIGNALED;
		}
	}

	/* make Writes of the messages, to the buffers of the Sends' receives */
	void write()
	{
		for (std::uint32_t i = 0; i < count; i++) {
			list[i].opcode = IBV_WR_RDMA_WRITE;
			list[i].wr.rdma = {to.address(i * size), to.key()};
		}
	}

	void post()
	{
		ibv_send_wr *bad = nullptr;

		must(ibv_post_send(pair.client().qp(), list.data(), &bad), "ibv_post_send");
	}

	[[nodiscard]] ibv_sge place(std::uint32_t i) const
	{
		return to.sge(i * size, size);
	}

	void receive(std::uint32_t first = 0, std::uint32_t end = count)
	{
		for (std::uint32_t i = first; i < end; i++) {
			const std::array sge{place(i)};

			must(pair.server().post_recv(sge, i), "post_recv");
		}
	}

	/* completions of Sends [first, end), in order */
	void sent(std::uint32_t first, std::uint32_t end)
	{
		for (std::uint32_t i = first; i < end; i++) {
			const ibv_wc wc = pair.client().sends.wait();

			require_status(wc, IBV_WC_SUCCESS, "request of a run");
			require_eq(wc.wr_id, std::uint64_t{i}, "order of requests");
		}
	}

	/* and of receives */
	void received(std::uint32_t first, std::uint32_t end)
	{
		for (std::uint32_t i = first; i < end; i++) {
			const ibv_wc wc = pair.server().recvs.wait();

			require_status(wc, IBV_WC_SUCCESS, "receive of a run");
			require_eq(wc.wr_id, std::uint64_t{i}, "order of receives");
			require_eq(std::size_t{wc.byte_len}, size, "byte_len");
			require_eq(int{wc.opcode}, int{IBV_WC_RECV}, "opcode");
			require_eq(wc.qp_num, pair.server().qp()->qp_num, "qp_num");
		}
	}

	[[nodiscard]] bool arrived(std::uint32_t i) const
	{
		const std::byte *at = &to_bytes()[i * size];

		for (std::size_t n = 0; n < size; n++)
			if (at[n] != octet(i, n))
				return false;
		return true;
	}

	[[nodiscard]] bool untouched(std::uint32_t i) const
	{
		const std::byte *at = &to_bytes()[i * size];

		return std::all_of(at, at + size, [](std::byte b) { return b == std::byte{0}; });
	}

	void require_arrived(std::uint32_t first, std::uint32_t end) const
	{
		for (std::uint32_t i = first; i < end; i++)
			require(arrived(i), "data of a run");
	}

	void require_untouched(std::uint32_t first, std::uint32_t end) const
	{
		for (std::uint32_t i = first; i < end; i++)
			require(untouched(i), "memory behind the end of a run");
	}

	Pair pair;
	Memory from;
	Memory to;
	std::array<ibv_sge, count> sges;
	std::array<ibv_send_wr, count> list;

private:
	[[nodiscard]] const std::byte *to_bytes() const
	{
		return const_cast<Memory &>(to).data();
	}
};

void sends(World &world)
{
	Run run{world};

	run.receive();
	run.post();
	run.sent(0, count);
	run.received(0, count);
	run.require_arrived(0, count);
}

void writes(World &world)
{
	Run run{world};

	run.write();
	run.post();
	run.sent(0, count);
	/* a Write completes when TCP has it: the Send behind it shows that it has arrived */
	must(run.pair.server().post_recv({}), "post_recv");
	must(run.pair.client().post_send({}), "post_send");
	require_status(run.pair.server().recvs.wait(), IBV_WC_SUCCESS, "receive");
	run.require_arrived(0, count);
}

/* some signaled, some not; inline or not; up to a solicited one at the end */
void kinds_mixed(World &world)
{
	Run run{world};

	for (std::uint32_t i = 0; i < count; i++) {
		run.list[i].send_flags = i % 7 == 6 || i == count - 1 ? IBV_SEND_SIGNALED : 0;
		if (i / 20 % 2)
			run.list[i].send_flags |= IBV_SEND_INLINE;
	}
	run.list[count - 1].send_flags |= IBV_SEND_SOLICITED;
	run.receive();
	run.pair.server().recvs.arm(true);
	run.post();
	require(run.pair.server().recvs.event(rdma::patience), "event of the solicited Send");
	for (std::uint32_t i = 6; i < count - 1; i += 7)
		require_eq(run.pair.client().sends.wait().wr_id, std::uint64_t{i}, "signaled");
	require_eq(run.pair.client().sends.wait().wr_id, std::uint64_t{count - 1}, "the last");
	run.received(0, count);
	run.require_arrived(0, count);
}

/* inline data is that of the post, even if the memory changes afterwards */
void inline_sends(World &world)
{
	Run run{world};

	run.receive();
	for (ibv_send_wr &wr : run.list)
		wr.send_flags |= IBV_SEND_INLINE;
	run.post();
	std::ranges::fill(run.from.span(), std::byte{0});
	run.sent(0, count);
	run.received(0, count);
	run.require_arrived(0, count);
}

/* receives of several elements, empty, longer, and of another region */
void receives_of_all_shapes(World &world)
{
	Run run{world};
	Memory other{run.pair.server().pd(), count * size, IBV_ACCESS_LOCAL_WRITE};
	Memory longer{run.pair.server().pd(), 1000, IBV_ACCESS_LOCAL_WRITE};

	for (std::uint32_t i = 0; i < count; i++) {
		const std::array whole{run.place(i)};
		const std::array parts{run.to.sge(i * size, 20), run.to.sge(i * size, 0),
				       run.to.sge(i * size + 20, size - 20)};
		const std::array elsewhere{other.sge(i * size, size)};
		const std::array more{longer.sge()};

		if (i % 11 == 3)
			must(run.pair.server().post_recv(parts, i), "post_recv");
		else if (i % 11 == 6)
			must(run.pair.server().post_recv(elsewhere, i), "post_recv");
		else if (i % 11 == 9)
			must(run.pair.server().post_recv(more, i), "post_recv");
		else
			must(run.pair.server().post_recv(whole, i), "post_recv");
	}
	run.post();
	run.sent(0, count);
	run.received(0, count);
	for (std::uint32_t i = 0; i < count; i++) {
		if (i % 11 == 6)
			require(std::memcmp(&other.span()[i * size], &run.from.span()[i * size],
					    size) == 0,
				"data in another region");
		else if (i % 11 != 9)
			require(run.arrived(i), "data of a run");
	}
	const std::uint32_t last = (count - 10) / 11 * 11 + 9;
	require(std::memcmp(longer.data(), &run.from.span()[last * size], size) == 0,
		"data in a longer receive");
	require(longer.span()[size] == std::byte{0}, "no more than was sent");
}

/* the receiver stops when there are no receives, and continues when there are more */
void receives_that_come_late(World &world)
{
	Run run{world};

	run.receive(0, odd);
	run.post();
	run.received(0, odd);
	run.receive(odd, odd + 1);
	run.received(odd, odd + 1);
	run.receive(odd + 1, count);
	run.received(odd + 1, count);
	run.sent(0, count);
	run.require_arrived(0, count);
}

/* one message is too long for its receive: those before it are complete, none behind it is */
void fails_at(Run &run, ibv_wc_status status)
{
	run.post();
	run.received(0, odd);
	require_status(run.pair.server().recvs.wait(), status, "receive that cannot be filled");
	for (std::uint32_t i = odd + 1; i < count; i++)
		require_status(run.pair.server().recvs.wait(), IBV_WC_WR_FLUSH_ERR,
			       "receive behind it");
	run.require_arrived(0, odd);
	run.require_untouched(odd, count);
	run.pair.server().wait_for_state(IBV_QPS_ERR);
}

void receive_too_short(World &world)
{
	Run run{world};
	const std::array little{run.to.sge(odd * size, size - 1)};

	run.receive(0, odd);
	must(run.pair.server().post_recv(little, odd), "post_recv");
	run.receive(odd + 1);
	fails_at(run, IBV_WC_LOC_LEN_ERR);
}

void receive_out_of_bounds(World &world)
{
	Run run{world};
	ibv_sge outside = run.place(count - 1);

	outside.addr++;
	run.receive(0, odd);
	must(run.pair.server().post_recv({&outside, 1}, odd), "post_recv");
	run.receive(odd + 1);
	fails_at(run, IBV_WC_LOC_PROT_ERR);
}

void receive_of_no_region(World &world)
{
	Run run{world};
	ibv_sge wrong = run.place(odd);

	wrong.lkey ^= 1;
	run.receive(0, odd);
	must(run.pair.server().post_recv({&wrong, 1}, odd), "post_recv");
	run.receive(odd + 1);
	fails_at(run, IBV_WC_LOC_PROT_ERR);
}

void receive_into_what_is_read_only(World &world)
{
	Run run{world};
	Memory fixed{run.pair.server().pd(), size, 0};
	const std::array sge{fixed.sge()};

	run.receive(0, odd);
	must(run.pair.server().post_recv(sge, odd), "post_recv");
	run.receive(odd + 1);
	fails_at(run, IBV_WC_LOC_PROT_ERR);
	require(fixed.is_all(std::byte{0}), "memory that is read only");
}

/* one request has no right to its memory: those before it arrive, none behind it does */
void request_fails(Run &run)
{
	run.post();
	run.sent(0, odd);
	require_status(run.pair.client().sends.wait(), IBV_WC_LOC_PROT_ERR,
		       "request out of bounds");
	for (std::uint32_t i = odd + 1; i < count; i++)
		require_status(run.pair.client().sends.wait(), IBV_WC_WR_FLUSH_ERR,
			       "request behind it");
	run.pair.server().wait_for_state(IBV_QPS_ERR);
	run.require_arrived(0, odd);
	run.require_untouched(odd, count);
}

void send_out_of_bounds(World &world)
{
	Run run{world};

	run.sges[odd].addr = run.from.address(count * size - size + 1);
	run.receive();
	request_fails(run);
	run.received(0, odd);
}

void send_of_no_region(World &world)
{
	Run run{world};

	run.sges[odd].lkey ^= 1;
	run.receive();
	request_fails(run);
	run.received(0, odd);
}

void write_out_of_local_bounds(World &world)
{
	Run run{world};

	run.write();
	run.sges[odd].addr = run.from.address() - 1;
	request_fails(run);
}

/* requests that the peer refuses; the Writes have mostly completed, because TCP has taken them */
void write_refused(World &world, void (*spoil)(Run &run, ibv_send_wr &wr))
{
	Run run{world};

	run.write();
	spoil(run, run.list[odd]);
	run.post();
	run.pair.server().wait_for_state(IBV_QPS_ERR);
	run.pair.client().wait_for_state(IBV_QPS_ERR);
	run.require_arrived(0, odd);
	run.require_untouched(odd, count);
	const auto event = rdma::async_event(world.context(), rdma::patience);
	require(event && event->event_type == IBV_EVENT_QP_ACCESS_ERR, "event of the refusal");
	while (rdma::async_event(world.context(), std::chrono::milliseconds{300}))
		;
}

void write_out_of_bounds(World &world)
{
	write_refused(world, [](Run &run, ibv_send_wr &wr) {
		wr.wr.rdma.remote_addr = run.to.address(count * size - size + 1);
	});
}

void write_in_front_of_the_region(World &world)
{
	write_refused(world, [](Run &run, ibv_send_wr &wr) {
		wr.wr.rdma.remote_addr = run.to.address() - 1;
	});
}

void write_that_wraps(World &world)
{
	write_refused(world, [](Run &, ibv_send_wr &wr) {
		wr.wr.rdma.remote_addr = ~std::uint64_t{0} - 1;
	});
}

void write_to_no_region(World &world)
{
	write_refused(world, [](Run &, ibv_send_wr &wr) { wr.wr.rdma.rkey ^= 1; });
}

/* more completions than the queue has room for: as many as fit, and then an error */
void completion_queue_too_small(World &world)
{
	rdma::SideOptions options = deep();

	options.cqe = 20;
	Run run{world, options};
	run.receive();
	run.post();
	/* the event of the queue pair may come first */
	auto event = rdma::async_event(world.context(), rdma::patience);
	while (event && event->event_type != IBV_EVENT_CQ_ERR)
		event = rdma::async_event(world.context(), rdma::patience);
	require(event.has_value(), "event of the overflow");
	run.pair.server().wait_for_state(IBV_QPS_ERR);
	std::uint32_t found = 0;
	for (auto wc = run.pair.server().recvs.poll(); wc; wc = run.pair.server().recvs.poll()) {
		require_status(*wc, IBV_WC_SUCCESS, "completion that fitted");
		require_eq(wc->wr_id, std::uint64_t{found}, "order");
		found++;
	}
	/* rounded up to a power of two */
	require(found >= 20 && found <= 64, "as many completions as the queue holds");
	run.require_arrived(0, found);
	while (rdma::async_event(world.context(), std::chrono::milliseconds{300}))
		;
}

/* a shared queue raises one event when few receives are left, in the middle of a run */
void limit_of_a_shared_queue(World &world)
{
	ibv_srq_init_attr attr{};
	attr.attr.max_wr = 128;
	attr.attr.max_sge = 1;
	const rdma::Pd pd{must(ibv_alloc_pd(world.context()), "ibv_alloc_pd")};
	const rdma::Srq srq{must(ibv_create_srq(pd.get(), &attr), "ibv_create_srq")};
	rdma::SideOptions options = deep();
	options.srq = srq.get();
	options.pd = pd.get();
	Run run{world, options};

	for (std::uint32_t i = 0; i < count; i++) {
		ibv_sge sge = run.place(i);
		ibv_recv_wr wr{};
		ibv_recv_wr *bad = nullptr;

		wr.wr_id = i;
		wr.sg_list = &sge;
		wr.num_sge = 1;
		must(ibv_post_srq_recv(srq.get(), &wr, &bad), "ibv_post_srq_recv");
	}
	ibv_srq_attr limit{};
	limit.srq_limit = count - odd;
	must(ibv_modify_srq(srq.get(), &limit, IBV_SRQ_LIMIT), "ibv_modify_srq");
	run.post();
	const auto event = rdma::async_event(world.context(), rdma::patience);
	require(event && event->event_type == IBV_EVENT_SRQ_LIMIT_REACHED, "event of the limit");
	run.sent(0, count);
	run.received(0, count);
	run.require_arrived(0, count);
	require(!rdma::async_event(world.context(), std::chrono::milliseconds{300}),
		"no second event");
}

} /* namespace */

const std::vector<Check> run_checks{
	{"run_of_sends", sends},
	{"run_of_writes", writes},
	{"run_of_mixed_kinds", kinds_mixed},
	{"run_of_inline_sends", inline_sends},
	{"run_to_receives_of_all_shapes", receives_of_all_shapes},
	{"run_to_receives_that_come_late", receives_that_come_late},
	{"run_to_a_receive_too_short", receive_too_short},
	{"run_to_a_receive_out_of_bounds", receive_out_of_bounds},
	{"run_to_a_receive_of_no_region", receive_of_no_region},
	{"run_to_a_receive_read_only", receive_into_what_is_read_only},
	{"run_with_a_send_out_of_bounds", send_out_of_bounds},
	{"run_with_a_send_of_no_region", send_of_no_region},
	{"run_with_a_write_from_out_of_bounds", write_out_of_local_bounds},
	{"run_with_a_write_out_of_bounds", write_out_of_bounds},
	{"run_with_a_write_in_front", write_in_front_of_the_region},
	{"run_with_a_write_that_wraps", write_that_wraps},
	{"run_with_a_write_to_no_region", write_to_no_region},
	{"run_into_a_full_completion_queue", completion_queue_too_small},
	{"run_to_the_limit_of_a_shared_queue", limit_of_a_shared_queue},
};

} /* namespace checks */
