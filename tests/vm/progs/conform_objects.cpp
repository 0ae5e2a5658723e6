/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What a provider owes: attributes, protection domains, queues and their limits. */
#include "conform.hpp"

#include <unistd.h>

namespace conform {
namespace {

/* IBV_DEVICE_* of krdma_rnic_query.device_cap_flags */
constexpr std::uint64_t cap_windows = 1U << 17;
constexpr std::uint64_t cap_windows_2 = 1U << 23 | 1U << 24;

void device(World &world)
{
	const Device found = world.a.session.find_local(world.a.address);
	const std::vector<Device> all = world.a.session.devices();
	const Attributes attr = found.attributes();
	const krdma_rnic_query &raw = attr.raw;

	require(std::any_of(all.begin(), all.end(),
			    [&](const Device &one) { return one.index() == found.index(); }),
		"the RNIC is not listed");
	same(world.a.session.find(attr.name).index(), found.index(), "index by name");
	require(attr.up, "the link is not up");
	require(raw.transport <= 2 && !attr.transport().empty(), "transport");
	require(raw.max_qp && raw.max_qp_wr && raw.max_send_sge && raw.max_recv_sge && raw.max_cq &&
			raw.max_cqe && raw.max_mr && raw.max_pd && raw.max_mr_size && raw.num_ceh,
		"a limit is 0");
	require(raw.max_ird && raw.max_ord, "no RDMA Reads");
	require(!(raw.caps & KRDMA_CAP_SRQ) || (raw.max_srq && raw.max_srq_wr && raw.max_srq_sge),
		"shared receive queues that are announced, and a limit of 0");
	require(!raw.max_mw == !(raw.device_cap_flags & (cap_windows | cap_windows_2)),
		"windows: capability and limit differ");
	same(found.counters().size(), std::size_t{raw.num_counters}, "number of counters");
	require(!attr.user_library.empty() || !world.a.context.fast(), "fast without a library");
	require(!setup.options.slow || !world.a.context.fast(), "fast, although slow was wanted");
}

void domains(World &world)
{
	const std::uint32_t before = world.a.session.usage().objects;
	{
		const ProtectionDomain one{world.a.context};
		const ProtectionDomain other{world.a.context};

		require(one.id() != other.id() && one.handle() != other.handle(), "ids");
		same(world.a.session.usage().objects, before + 2, "objects");
	}
	same(world.a.session.usage().objects, before, "objects afterwards");
}

/* Completion queues ******************************************************** */

void queue_depths(World &world)
{
	const krdma_rnic_query limits = attributes(world.a);

	for (std::uint32_t depth : {1U, 17U, 256U}) {
		const CompletionQueue cq{world.a.context, {.depth = depth}};

		require(cq.depth() >= depth, "a smaller depth than wanted");
	}
	refused(EINVAL, "depth 0", [&] {
		const CompletionQueue cq{world.a.context, {.depth = 0}};
	});
	refused(EINVAL, "a depth above the limit", [&] {
		const CompletionQueue cq{world.a.context, {.depth = limits.max_cqe + 1}};
	});
	refused(EINVAL, "an event handler above the limit", [&] {
		const CompletionQueue cq{world.a.context, {.event_handler = limits.num_ceh}};
	});
	const CompletionQueue last{world.a.context, {.event_handler = limits.num_ceh - 1}};
}

/* sends whose completions wait in @a's queue */
void leave_completions(const Pair &pair, unsigned int count)
{
	const Memory from{pair.a.pd, 8};
	const Memory to{pair.b.pd, 8};

	for (unsigned int i = 0; i < count; i++) {
		pair.b.qp.receive(i, to.region.slice());
		pair.a.qp.send(i, from.region.slice());
	}
	for (unsigned int i = 0; i < count; i++)
		(void)pair.b.received();
	pair.a.qp.read(count, from.region.slice(), to.remote());
	usleep(20000);
}

void queue_resize(World &world)
{
	const Pair pair{world, {.depth = 16}, {}};

	leave_completions(pair, 6);
	optional("resize", [&] { pair.a.sends.resize(100); });
	require(pair.a.sends.depth() >= 100, "the new depth is smaller than wanted");
	for (std::uint64_t id = 0; id <= 6; id++)
		same(pair.a.sent().id(), id, "order across a new size");
	refused(EINVAL, "depth 0", [&] { pair.a.sends.resize(0); });
	refused(EINVAL, "a depth above the limit",
		[&] { pair.a.sends.resize(attributes(world.a).max_cqe + 1); });
	leave_completions(pair, 40);
	for (std::uint64_t id = 0; id <= 40; id++)
		same(pair.a.sent().id(), id, "order in the larger queue");
}

void queue_moderation(World &world)
{
	const Pair pair{world};
	const Memory from{pair.a.pd, 8};
	const Memory to{pair.b.pd, 8};

	optional("moderation", [&] { pair.b.receives.moderate(4, 60000); });
	(void)pair.b.receives.arm();
	for (std::uint64_t i = 0; i < 4; i++) {
		pair.b.qp.receive(i, to.region.slice());
		pair.a.qp.send(i, from.region.slice());
	}
	require(pair.b.receives.events().wait(patience).has_value(), "no event after four");
	for (std::uint64_t i = 0; i < 4; i++)
		(void)pair.b.received();
}

void queue_times(World &world)
{
	const krdma_rnic_query attr = attributes(world.a);

	announced(attr.timestamp_mask && world.a.context.fast(), "times", [&] {
		const CompletionQueue cq{world.a.context, {.times = true}};
	});
	require(attr.clock_khz, "a clock without a rate");
}

/* Queue pairs ************************************************************** */

/* as many requests and slices as were granted, at the same time */
void queue_pair_grants(World &world)
{
	const krdma_rnic_query at_a = attributes(world.a);
	const krdma_rnic_query at_b = attributes(world.b);
	const std::uint32_t sges = std::min({at_a.max_send_sge, at_b.max_recv_sge, 3U});
	const QueuePairOptions wanted{
		.max_send_wr = 37, .max_recv_wr = 41, .max_send_sge = sges, .max_recv_sge = sges};
	const Pair pair{world, {.qp = wanted, .depth = 128}};
	const QueuePairOptions &got = pair.a.qp.granted();
	const Memory from{pair.a.pd, 64};
	const Memory to{pair.b.pd, 64};
	const std::vector<Slice> out(sges, from.region.slice(0, 8));
	const std::vector<Slice> in(sges, to.region.slice(0, 8));

	require(got.max_send_wr >= 37 && got.max_recv_wr >= 41 && got.max_send_sge >= sges &&
			got.max_recv_sge >= sges,
		"less than wanted");
	for (std::uint64_t i = 0; i < 41; i++)
		pair.b.qp.receive(i, in);
	for (std::uint64_t i = 0; i < 37; i++)
		pair.a.qp.send(i, out);
	for (std::uint64_t i = 0; i < 37; i++) {
		same(pair.a.sent().id(), i, "order of Sends");
		same(pair.b.received().length(), 8 * sges, "bytes received");
	}
}

void queue_pair_limits(World &world)
{
	const krdma_rnic_query limits = attributes(world.a);
	const ProtectionDomain pd{world.a.context};
	const CompletionQueue cq{world.a.context};
	const auto none = [&](const char *what, const QueuePairOptions &options) {
		refused(EINVAL, what, [&] { const QueuePair qp{pd, cq, cq, options}; });
	};

	none("send requests", {.max_send_wr = limits.max_qp_wr + 1});
	none("receives", {.max_recv_wr = limits.max_qp_wr + 1});
	none("slices of a send", {.max_send_sge = limits.max_send_sge + 1});
	none("slices of a receive", {.max_recv_sge = limits.max_recv_sge + 1});
	none("inline data", {.max_inline = limits.max_inline + 1});
	const QueuePair largest{pd,
				cq,
				cq,
				{.max_send_sge = limits.max_send_sge,
				 .max_recv_sge = limits.max_recv_sge,
				 .max_inline = limits.max_inline}};
	require(largest.granted().max_inline >= limits.max_inline, "inline data at the limit");
}

/* Nothing of a refused list is posted, and the queue pair continues. */
void queue_pair_too_many(World &world)
{
	const Pair pair{world};
	const Memory memory{pair.a.pd, 64};
	const Memory there{pair.b.pd, 64};
	const std::vector<Slice> out(pair.a.qp.granted().max_send_sge + 1,
				     memory.region.slice(0, 8));
	const std::vector<Slice> in(pair.a.qp.granted().max_recv_sge + 1,
				    memory.region.slice(0, 8));

	refused(EINVAL, "a Send of too many slices", [&] { pair.a.qp.send(1, out); });
	refused(EINVAL, "a Write of too many slices",
		[&] { pair.a.qp.write(1, out, there.remote()); });
	refused(EINVAL, "a receive of too many slices", [&] { pair.a.qp.receive(1, in); });
	reaches(pair, there.remote(), 64, std::byte{0x5a});
}

void queue_pair_full(World &world)
{
	const Pair pair{world, {.depth = 1024}};
	const Memory memory{pair.b.pd, 8};
	unsigned int posted = 0;

	try {
		for (; posted < 1000; posted++)
			pair.b.qp.receive(posted, memory.region.slice());
	} catch (const std::system_error &error) {
		same(error.code().value(), ENOMEM, "errno of a full queue");
	}
	require(posted >= 128 && posted < 1000, "receives until the queue was full");
}

/* Shared receive queues **************************************************** */

void shared_receives(World &world)
{
	const ProtectionDomain pd{world.b.context};
	const SharedReceiveQueue srq =
		announced(attributes(world.b).caps & KRDMA_CAP_SRQ, "a shared receive queue", [&] {
			return SharedReceiveQueue{pd, {.max_wr = 16, .limit = 3}};
		});
	const SideOptions shared{.qp = {.receives = &srq}, .pd = &pd};
	const Memory to{pd, 64};
	const Pair one{world, {}, shared};
	const Pair other{world, {}, shared};
	const Memory from_one{one.a.pd, 8};
	const Memory from_other{other.a.pd, 8};
	const auto send = [](const Pair &pair, const Memory &from) {
		pair.a.qp.send(1, from.region.slice());
		(void)pair.a.sent();
	};

	require(srq.query().max_wr >= 16, "size");
	refused(EINVAL, "a queue pair's own receive",
		[&] { one.b.qp.receive(1, to.region.slice()); });
	for (std::uint64_t id = 0; id < 4; id++)
		srq.post(id, to.region.slice(0, 8));
	send(one, from_one);
	same(one.b.received().id(), std::uint64_t{0}, "the first receive");
	require(!srq.events().wait(moment), "an event at the limit");
	send(other, from_other);
	same(other.b.received().id(), std::uint64_t{1}, "the second receive");
	const std::optional<Event> event = srq.events().wait(patience);
	require(event && event->async() == AsyncCode::srq_limit_reached,
		"no event below the limit");
}

void shared_receives_resize(World &world)
{
	const ProtectionDomain pd{world.b.context};
	const SharedReceiveQueue srq =
		announced(attributes(world.b).caps & KRDMA_CAP_SRQ, "a shared receive queue", [&] {
			return SharedReceiveQueue{pd, {.max_wr = 8}};
		});
	const Memory to{pd, 64};

	optional("resize", [&] { srq.resize(64); });
	require(srq.query().max_wr >= 64, "new size");
	for (std::uint64_t id = 0; id < 64; id++)
		srq.post(id, to.region.slice());
}

} /* namespace */

const std::vector<Check> object_checks = {
	{"device", device},
	{"domains", domains},
	{"cq-depths", queue_depths},
	{"cq-resize", queue_resize},
	{"cq-moderation", queue_moderation},
	{"cq-times", queue_times},
	{"qp-grants", queue_pair_grants},
	{"qp-limits", queue_pair_limits},
	{"qp-too-many-slices", queue_pair_too_many},
	{"qp-full", queue_pair_full},
	{"srq", shared_receives},
	{"srq-resize", shared_receives_resize},
};

} /* namespace conform */
