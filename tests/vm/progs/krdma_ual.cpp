/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * krdma_ual fast|slow NETNS ADDRESS NETNS ADDRESS [CHECK]: checks of libkrdma's verbs between
 * two hosts, with the user library of the provider or by commands alone. The output has one
 * line for each check. The last line is the verdict.
 *
 * krdma_ual removal NETNS ADDRESS: prints "waiting" when threads wait in every function of the
 * library that can wait. Then the RNIC must be removed, and all threads must get an event.
 */
#include <cstdio>
#include <cstring>
#include <future>
#include <string_view>

#include <unistd.h>

#include "ual.hpp"

namespace ual {

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
	for (const auto *checks : {&data_checks, &queue_checks, &memory_checks, &comfort_checks}) {
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
