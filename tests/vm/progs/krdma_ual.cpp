/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * krdma_ual fast|slow NETNS ADDRESS NETNS ADDRESS [CHECK]: checks of libkrdma's verbs between
 * two hosts, with the user library of the provider or by commands alone. The output has one
 * line for each check. The last line is the verdict.
 *
 * krdma_ual removal NETNS ADDRESS: prints "waiting" when threads wait in every function of the
 * library that can wait. Then the RNIC must be removed, and all threads must be told.
 */
#include <cstdio>
#include <cstring>
#include <future>
#include <string_view>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include "ual.hpp"

namespace ual {

void fail(const std::string &what, Where where)
{
	throw Failure{std::string{where.file} + ':' + std::to_string(where.line) + ": " + what};
}

void refused(int wanted, const char *what, const std::function<void()> &action, Where where)
{
	try {
		action();
	} catch (const std::system_error &error) {
		if (error.code() == std::error_code{wanted, std::generic_category()})
			return;
		fail(std::string{what} + ": " + error.what() + ", wanted " +
			     strerrorname_np(wanted),
		     where);
	}
	fail(std::string{what} + ": not refused", where);
}

namespace {

Session open_in(const char *netns)
{
	const int fd = open((std::string{"/run/netns/"} + netns).c_str(), O_RDONLY | O_CLOEXEC);
	const int err = fd < 0 || setns(fd, CLONE_NEWNET) ? errno : 0;

	close(fd);
	if (err)
		throw std::system_error{err, std::generic_category(), netns};
	return Session{};
}

} /* namespace */

Host::Host(const char *netns, const char *ip)
	: session{open_in(netns)}, address{Address::parse(ip)}, context{session.find_local(address)}
{}

Memory::Memory(const ProtectionDomain &pd, std::size_t size, std::uint32_t access, std::byte fill)
	: octets(size, fill), region{pd, octets, access}
{}

Side::Side(const Host &host, const SideOptions &options)
	: pd{options.pd ? *options.pd : ProtectionDomain{host.context}},
	  sends{host.context, {.depth = options.depth}}, receives{host.context,
								  {.depth = options.depth,
								   .event_handler =
									   options.event_handler,
								   .times = options.times}},
	  qp{pd, sends, receives, options.qp}
{}

Completion Side::next(const CompletionQueue &cq, Where where)
{
	const std::optional<Completion> done = cq.wait(patience);

	if (!done)
		fail("no completion", where);
	return *done;
}

namespace {

Completion expect(const CompletionQueue &cq, Status status, Where where)
{
	const Completion done = Side::next(cq, where);

	if (done.status() != status)
		fail("request " + std::to_string(done.id()) + ": " +
			     std::string{done.status_text()} + ", wanted " + as_text(status),
		     where);
	return done;
}

} /* namespace */

Completion Side::sent(Status status, Where where) const
{
	return expect(sends, status, where);
}

Completion Side::received(Status status, Where where) const
{
	return expect(receives, status, where);
}

void Side::wait_for_state(QueueState state, Where where) const
{
	const auto end = std::chrono::steady_clock::now() + patience;

	while (qp.query().state != static_cast<std::uint32_t>(state)) {
		if (std::chrono::steady_clock::now() > end)
			fail("state " + std::to_string(qp.query().state), where);
		usleep(1000);
	}
}

Pair::Pair(const World &world, const SideOptions &of_a, const SideOptions &of_b)
	: a{world.a, of_a}, b{world.b, of_b}
{
	const Listener listener{world.b.context, world.b.address};

	at_a_ = std::make_unique<Connection>(Connection::connect(a.qp, listener.address()));
	std::optional<ConnectionRequest> request = listener.wait(patience);
	if (!request)
		fail("no request");
	at_b_ = std::make_unique<Connection>(request->accept(b.qp));
	at_a_->established(patience);
	/* the accepting side may not send before the other side */
	a.qp.write(0, std::span<const Slice>{}, {0, 0});
	(void)a.sent();
	at_b_->established(patience);
}

void Pair::refuses_read(Remote from, Where where) const
{
	const Memory local{a.pd, 8, access::local_write, std::byte{0x11}};

	a.qp.read(7, local.region.slice(), from);
	(void)a.sent(Status::remote_access_error, where);
	a.wait_for_state(QueueState::error, where);
	b.wait_for_state(QueueState::error, where);
	require(local.is_all(std::byte{0x11}, 0, 8), "a refused Read brought data", where);
}

void Pair::refuses_write(Remote to, Where where) const
{
	const Memory local{a.pd, 8, 0, std::byte{0x11}};

	a.qp.write(7, local.region.slice(), to);
	a.wait_for_state(QueueState::error, where);
	b.wait_for_state(QueueState::error, where);
}

void reaches(const Pair &pair, Remote there, std::size_t length, std::byte value, Where where)
{
	const Memory from{pair.a.pd, length, 0, value};
	const Memory to{pair.a.pd, length, access::local_write};

	pair.a.qp.write(1, from.region.slice(), there, {.signaled = false});
	pair.a.qp.read(2, to.region.slice(), there);
	(void)pair.a.sent(Status::success, where);
	require(to.is_all(value, 0, length), "what was written and read back", where);
}

namespace {

constexpr unsigned int check_limit = 120; /* seconds */

bool run(const Check &check, World &world)
{
	std::printf("%-32s ", check.name);
	std::fflush(stdout);
	/* whatever hangs ends the program */
	alarm(check_limit);
	try {
		check.run(world);
		/* only the context is left in each file */
		same(world.a.session.usage().objects, 1U, "objects of host A afterwards");
		same(world.b.session.usage().objects, 1U, "objects of host B afterwards");
		std::puts("ok");
		return true;
	} catch (const std::exception &error) {
		std::printf("FAILED: %s\n", error.what());
	}
	return false;
}

int run_all(char **argv, const char *only)
{
	const bool slow = std::string_view{argv[1]} == "slow";
	World world{{argv[2], argv[3]}, {argv[4], argv[5]}};
	int passed = 0;
	int failed = 0;

	for (const Host *host : {&world.a, &world.b}) {
		if (host->context.fast() == slow)
			fail("the path is not " + std::string{argv[1]} + ": " +
			     host->context.why_slow());
	}
	for (const auto *checks : {&data_checks, &queue_checks, &memory_checks}) {
		for (const Check &check : *checks) {
			if (only && std::strcmp(only, check.name) != 0)
				continue;
			run(check, world) ? passed++ : failed++;
		}
	}
	std::printf("%d passed, %d failed\n", passed, failed);
	return failed || !passed;
}

/* a wait in a thread; only the end of the RNIC may end it */
std::future<void> ends(const char *what, std::function<void()> wait)
{
	return std::async(std::launch::async, [what, wait = std::move(wait)] {
		refused(ENODEV, what, wait);
		std::printf("%s ended\n", what);
	});
}

int run_removal(char **argv)
{
	const Host host{argv[2], argv[3]};
	const Side side{host, {}};
	const Side caller{host, {}};
	const Listener listener{host.context, host.address};
	const Listener deaf{host.context, host.address};
	Connection silent = Connection::connect(caller.qp, deaf.address());
	std::vector<std::future<void>> waits;

	alarm(check_limit);
	waits.push_back(ends("a wait for requests", [&] { (void)listener.wait(); }));
	waits.push_back(ends("a wait for completions", [&] { (void)side.receives.wait(); }));
	std::puts("waiting");
	std::fflush(stdout);
	for (std::future<void> &wait : waits)
		wait.get();
	/* a connection that is being set up ends with an error */
	try {
		silent.established(patience);
		fail("a connection of an RNIC that is gone");
	} catch (const std::system_error &error) {
		std::printf("the connection: %s\n", error.what());
	}
	refused(ENODEV, "a new queue", [&] { const CompletionQueue queue{host.context}; });
	std::puts("all were told");
	return 0;
}

} /* namespace */
} /* namespace ual */

int main(int argc, char **argv)
{
	const bool removal = argc == 4 && std::string_view{argv[1]} == "removal";

	if (!removal && (argc < 6 || argc > 7)) {
		std::fprintf(stderr,
			     "%s fast|slow NETNS ADDRESS NETNS ADDRESS [CHECK]\n"
			     "%s removal NETNS ADDRESS\n",
			     argv[0], argv[0]);
		return 2;
	}
	try {
		if (removal)
			return ual::run_removal(argv);
		return ual::run_all(argv, argc > 6 ? argv[6] : nullptr);
	} catch (const std::exception &error) {
		std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
		return 2;
	}
}
