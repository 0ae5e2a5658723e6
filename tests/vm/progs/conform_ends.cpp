/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What a provider owes: queue pairs in error, and the end of a process in the middle of traffic. */
#include <csignal>
#include <cstring>

#include <sys/wait.h>
#include <unistd.h>

#include "conform.hpp"

namespace conform {
namespace {

void flushed(World &world)
{
	const Pair pair{world};
	const Memory memory{pair.a.pd, 64};
	const Memory there{pair.b.pd, 64};

	for (std::uint64_t id = 0; id < 5; id++)
		pair.a.qp.receive(id, memory.region.slice());
	pair.b.qp.receive(9, there.region.slice());
	pair.a.qp.change_state(QueueState::error);
	for (std::uint64_t id = 0; id < 5; id++)
		same(pair.a.received(Status::flushed).id(), id, "order of what is flushed");
	pair.a.qp.send(6, memory.region.slice());
	same(pair.a.sent(Status::flushed).id(), std::uint64_t{6}, "a Send that is posted later");
	pair.a.qp.receive(7, memory.region.slice());
	same(pair.a.received(Status::flushed).id(), std::uint64_t{7},
	     "a receive that is posted later");
	same(pair.b.received(Status::flushed).id(), std::uint64_t{9}, "the peer's receive");
	pair.b.wait_for_state(QueueState::error);
}

/* Requests behind one that failed are flushed, in order, and not carried out. */
void flushed_behind(World &world)
{
	const Pair pair{world};
	const Memory here{pair.a.pd, 64, access::local_write, std::byte{0x5a}};
	const Memory there{pair.b.pd, 64, everything, std::byte{0x11}};

	pair.a.qp.read(1, here.region.slice(), {there.region.address(), 0xdeadbe00});
	for (std::uint64_t id = 2; id < 6; id++) {
		try {
			pair.a.qp.read(id, here.region.slice(), there.remote());
		} catch (const std::system_error &error) {
			fail(std::string{"a Read behind another: "} + error.what());
		}
	}
	const Completion first = Side::next(pair.a.sends);
	require(!first.ok(), "a Read that the peer must refuse");
	same(first.id(), std::uint64_t{1}, "id of what failed");
	for (std::uint64_t id = 2; id < 6; id++)
		same(pair.a.sent(Status::flushed).id(), id, "order of what is flushed");
	require(here.is_all(std::byte{0x5a}, 0, 64), "a Read behind one that failed");
}

void receive_too_short(World &world)
{
	const Pair pair{world};
	const Memory from{pair.a.pd, 64, everything, std::byte{0x5a}};
	const Memory to{pair.b.pd, 64, everything, std::byte{0x11}};

	pair.b.qp.receive(1, to.region.slice(0, 32));
	pair.a.qp.send(2, from.region.slice());
	require(!Side::next(pair.b.receives).ok(), "a receive that is too short");
	require(to.is_all(std::byte{0x11}, 32, 32), "bytes behind it");
	pair.a.wait_for_state(QueueState::error);
	pair.b.wait_for_state(QueueState::error);
}

/* Objects are destroyed in whatever order, with requests in their queues. */
void destroyed_in_use(World &world)
{
	for (int round = 0; round < 10; round++) {
		const Pair pair{world};
		const Memory from{pair.a.pd, 1U << 20};
		const Memory to{pair.b.pd, 1U << 20};

		for (std::uint64_t id = 0; id < 8; id++) {
			pair.b.qp.receive(id, to.region.slice(0, 64));
			pair.a.qp.write(id, from.region.slice(), to.remote());
		}
	}
}

/* A completion queue with completions of a queue pair that is gone continues. */
void shared_completions(World &world)
{
	const Pair pair{world};
	const Memory memory{pair.a.pd, 64};
	{
		const QueuePair other{pair.a.pd, pair.a.sends, pair.a.receives};

		for (std::uint64_t id = 0; id < 8; id++)
			other.receive(id, memory.region.slice());
		other.change_state(QueueState::error);
		usleep(10000);
	}
	const Memory there{pair.b.pd, 64};
	reaches(pair, there.remote(), 64, std::byte{0x5a});
}

/* kill -9 ****************************************************************** */

/* objects of an RNIC, of all kinds and users */
std::uint32_t objects(const Host &host)
{
	const krdma_rnic_query attr = attributes(host);
	std::uint32_t sum = 0;

	for (std::uint32_t count : attr.objects)
		sum += count;
	return sum;
}

/* The child connects, and writes until it is killed. */
void write_for_ever(const Address &peer, Remote to)
{
	const Host host = open_host(setup.a);
	const Side side{host, {}};
	const Memory from{side.pd, 1U << 20, access::local_write, std::byte{0x5a}};

	/* in case it is not killed */
	alarm(60);
	for (std::uint64_t id = 0; id < 64; id++)
		side.qp.receive(id, from.region.slice());
	Connection connection = Connection::connect(side.qp, peer);
	connection.established(patience);
	for (std::uint64_t id = 0;; id++) {
		side.qp.write(id, from.region.slice(), to);
		if (id >= 4)
			(void)side.sent();
	}
}

void kill_one(World &world, useconds_t later)
{
	const Side b{world.b, {}};
	const Memory to{b.pd, 1U << 20, everything};
	const Listener listener{world.b.context, world.b.address};
	int status = 0;
	const pid_t child = fork();

	if (child < 0)
		fail("fork");
	if (!child) {
		try {
			write_for_ever(listener.address(), to.remote());
		} catch (const std::system_error &error) {
			_exit(error.code().value());
		} catch (...) {
			_exit(255);
		}
	}
	std::optional<ConnectionRequest> request = listener.wait(patience);
	require(request.has_value(), "no request");
	b.qp.receive(1, to.region.slice());
	Connection connection = request->accept(b.qp);
	connection.established(patience);
	const auto end = std::chrono::steady_clock::now() + patience;
	while (static_cast<const volatile std::byte &>(to.octets[0]) == std::byte{0}) {
		if (waitpid(child, &status, WNOHANG) == child)
			fail("the child ended with errno " + std::to_string(WEXITSTATUS(status)));
		if (std::chrono::steady_clock::now() > end)
			fail("no traffic");
		usleep(100);
	}
	usleep(later);
	kill(child, SIGKILL);
	if (waitpid(child, &status, 0) != child)
		fail("waitpid");
	require(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "the child ended by itself");
	require(connection.closed(patience), "the end at the peer");
	same(b.received(Status::flushed).id(), std::uint64_t{1}, "id of a flushed receive");
}

void killed(World &world)
{
	const std::uint32_t at_a = objects(world.a);
	const std::uint32_t at_b = objects(world.b);
	const auto left = [&] { return objects(world.a) != at_a || objects(world.b) != at_b; };

	for (useconds_t later : {0U, 100U, 1000U, 3000U, 10000U})
		kill_one(world, later);
	const auto end = std::chrono::steady_clock::now() + patience;
	while (left() && std::chrono::steady_clock::now() < end)
		usleep(1000);
	same(objects(world.a), at_a, "objects of the RNIC of the child");
	same(objects(world.b), at_b, "objects of the peer's RNIC");
}

} /* namespace */

const std::vector<Check> end_checks = {
	{"flush", flushed},
	{"flush-behind-error", flushed_behind},
	{"receive-too-short", receive_too_short},
	{"destroyed-in-use", destroyed_in_use},
	{"shared-completions", shared_completions},
	{"killed", killed},
};

} /* namespace conform */
