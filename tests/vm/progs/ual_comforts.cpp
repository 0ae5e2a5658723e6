/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Checks of what libkrdma adds to the kernel's ABI: errors that name their cause, inline data of
 * any memory, regions that are only read, memory for the peer in a message, completions by
 * callback, a connect's own time.
 */
#include <cerrno>
#include <cstring>
#include <string_view>

#include "ual.hpp"

namespace ual {
namespace {

/* The action must throw an Error with that errno and cause; returns it. */
Error refusal_of(int err, krdma_cause cause, const char *what, const std::function<void()> &action,
		 Where where = Where::current())
{
	try {
		action();
	} catch (const Error &error) {
		same(error.code().value(), err, what, where);
		same(error.cause(), cause, error.what(), where);
		return error;
	}
	fail(std::string{what} + ": not refused", where);
}

void has_words(const Error &error, std::string_view words, Where where = Where::current())
{
	if (std::string_view{error.what()}.find(words) == std::string_view::npos)
		fail(std::string{error.what()} + ": lacks '" + std::string{words} + '\'', where);
}

void errors_name_their_cause(World &world)
{
	const Host &host = world.a;
	const krdma_rnic_query limits = host.context.device().attributes().raw;
	const ProtectionDomain pd{host.context};
	const CompletionQueue cq{host.context};
	std::vector<std::byte> memory(4096);

	const Error cqe = refusal_of(EINVAL, KRDMA_CAUSE_MAX_CQE, "depth", [&] {
		const CompletionQueue too_deep{host.context, {.depth = limits.max_cqe + 1}};
	});
	same(cqe.value(), limits.max_cqe, "the limit");
	same(cqe.unit(), KRDMA_UNIT_COUNT, "its unit");
	has_words(cqe, "completion queue: Invalid argument (the RNIC allows ");
	(void)refusal_of(EINVAL, KRDMA_CAUSE_MAX_INLINE, "inline data", [&] {
		const QueuePair qp{pd, cq, cq, {.max_inline = limits.max_inline + 1}};
	});
	(void)refusal_of(EINVAL, KRDMA_CAUSE_LOCAL_WRITE, "rights", [&] {
		const MemoryRegion region{pd, memory, access::remote_write};
	});
	has_words(refusal_of(ENODEV, KRDMA_CAUSE_NO_RNIC, "a name",
			     [&] { (void)host.session.find("nobody"); }),
		  host.context.device().name());
	has_words(refusal_of(ENODEV, KRDMA_CAUSE_NO_RNIC_THERE, "an address",
			     [&] { (void)host.session.find_local(Address::parse("127.0.0.1")); }),
		  "there is no RNIC on lo");
	const Side side{host, {}};
	(void)refusal_of(EADDRNOTAVAIL, KRDMA_CAUSE_ROUTE_ELSEWHERE, "a route", [&] {
		(void)Connection::connect(side.qp, Address::parse("127.0.0.1:9"));
	});
	side.qp.change_state(QueueState::error);
	has_words(refusal_of(EINVAL, KRDMA_CAUSE_QP_STATE, "a failed queue pair",
			     [&] {
				     (void)Connection::connect(side.qp,
							       world.b.address.with_port(9));
			     }),
		  "the state of the queue pair is error");
	/* what succeeds leaves nothing behind for the next refusal */
	(void)refusal_of(EINVAL, KRDMA_CAUSE_NONE, "an unknown flag", [&] {
		krdma_cq cmd{};

		cmd.size = sizeof(cmd);
		cmd.context = host.context.handle();
		cmd.depth = 8;
		cmd.flags = 1U << 31;
		if (const int err = host.session.ri_syscall(KRDMA_IOC_CQ, &cmd))
			throw Error{err, "unknown flag"};
	});
}

void full_queue_names_its_size(World &world)
{
	const Side side{world.a, {.qp = {.max_send_wr = 4}}};
	const Memory memory{side.pd, 64};
	const Error full = refusal_of(ENOMEM, KRDMA_CAUSE_QUEUE_FULL, "a full queue", [&] {
		for (int i = 0; i < 100000; i++)
			side.qp.send(1, memory.region.slice());
	});

	same(full.value(), std::uint64_t{side.qp.granted().max_send_wr}, "its size");
}

void memory_for_the_peer(World &world)
{
	static constexpr std::string_view text = "memory that is only read";
	const Pair pair{world, {.qp = {.max_inline = 64}}};
	const Memory target{pair.b.pd, 4096};
	const auto region = MemoryRegion::read_only(pair.a.pd, std::as_bytes(std::span{text}),
						    access::remote_read);

	/* as a message to the peer would carry it */
	const Remote there = Remote::unpack(target.region.remote(100).pack());
	same(there.address, target.region.address() + 100, "address");
	same(there.stag, target.region.stag(), "STag");
	pair.a.qp.write(1, region.slice(), there);
	(void)pair.a.sent();
	pair.a.qp.write_inline(2, std::as_bytes(std::span{text}), there + 100);
	(void)pair.a.sent();
	/* the read comes after both Writes */
	const Memory check{pair.a.pd, 256};
	pair.a.qp.read(3, check.region.slice(), target.region.remote(100));
	(void)pair.a.sent();
	require(std::memcmp(check.octets.data(), text.data(), text.size()) == 0, "written");
	require(std::memcmp(&check.octets[100], text.data(), text.size()) == 0, "written inline");

	pair.b.qp.receive(4, target.region.slice(1000, 64));
	pair.a.qp.send_inline(5, std::as_bytes(std::span{text}));
	(void)pair.a.sent();
	same(pair.b.received().length(), text.size(), "length of the message");
	require(std::memcmp(&target.octets[1000], text.data(), text.size()) == 0, "sent inline");
	refused(EINVAL, "a region that is only read, and written", [&] {
		(void)MemoryRegion::read_only(pair.a.pd, check.octets, access::local_write);
	});
	pair.refuses_write(Remote{target.region.address() + 4096, target.region.stag()});
}

void completions_by_callback(World &world)
{
	const Pair pair{world};
	const Memory from{pair.a.pd, 64}, to{pair.b.pd, 64};
	constexpr std::uint64_t messages = 40;
	std::vector<std::uint64_t> ids;

	for (std::uint64_t i = 0; i < messages; i++)
		pair.b.qp.receive(i, to.region.slice());
	/* the first is there before the callback, the others come afterwards */
	pair.a.qp.send(0, from.region.slice());
	(void)pair.a.sent();
	pair.a.qp.read(0, from.region.slice(), to.region.remote());
	(void)pair.a.sent();
	pair.b.receives.on_completion([&](std::span<const Completion> some) {
		for (const Completion &one : some) {
			same(one.status(), Status::success, "status");
			ids.push_back(one.id());
		}
	});
	same(ids.size(), 1U, "taken at once");
	for (std::uint64_t i = 1; i < messages; i++) {
		pair.a.qp.send(i, from.region.slice());
		(void)pair.a.sent();
	}
	const auto end = std::chrono::steady_clock::now() + patience;
	while (ids.size() < messages && std::chrono::steady_clock::now() < end)
		(void)world.b.session.dispatch(100ms);
	same(ids.size(), messages, "taken");
	require(std::ranges::is_sorted(ids), "in order");
	pair.b.receives.on_completion({});
	pair.b.qp.receive(messages, to.region.slice());
	pair.a.qp.send(1, from.region.slice());
	same(pair.b.received().id(), messages, "without callback again");
}

void an_own_time(World &world)
{
	const Side side{world.a, {}};
	const Listener listener{world.b.context, world.b.address};
	const auto begin = std::chrono::steady_clock::now();
	Connection connection =
		Connection::connect(side.qp, listener.address(), {.timeout = 1500ms});

	refused(ETIMEDOUT, "nobody answers", [&] { connection.established(); });
	require(std::chrono::steady_clock::now() - begin < 9s, "krdma.ko's time");
	require(listener.wait(patience).has_value(), "the request");
}

} /* namespace */

const std::vector<Check> comfort_checks = {
	{"errors_name_their_cause", errors_name_their_cause},
	{"full_queue_names_its_size", full_queue_names_its_size},
	{"memory_for_the_peer", memory_for_the_peer},
	{"completions_by_callback", completions_by_callback},
	{"an_own_time", an_own_time},
};

} /* namespace ual */
