// SPDX-License-Identifier: GPL-2.0 OR MIT
// The same calls by chance on sockets of TCP and of SDP, side by side:
//
//	sdp_random [-s SEED] [-r ROUNDS] [-n STEPS] [-w FACTOR] [-v] FAMILY PROTOCOL ADDRESS
//
// A round is made from its seed; round N has SEED + N. Each call is made on both sockets, and must
// answer the same: value, errno, data, flags, events. Then the program waits until what it can see
// of all sockets is the same, too; so the order of events does not depend on time. What TCP's
// answer owes to time or to the size of buffers is not asked: no end has more than most_unread
// bytes unread.
//
// A round that finds a difference prints its calls and ends. It is made again then, up to two
// times: a host that has other work to do may let TCP's answer come late. What differs twice
// counts. The last line counts the rounds.
#include <csignal>
#include <cstdio>
#include <string_view>
#include <sys/resource.h>

#include "sdp_random.hpp"

namespace {

bool one_round(const side::Setup &setup, unsigned seed)
{
	side::Round round(setup, seed);
	std::string problem;

	try {
		round.run();
	} catch (const side::Difference &difference) {
		problem = difference.what();
	}
	if (problem.empty() && !setup.verbose)
		return true;
	for (const std::string &line : round.trace())
		std::printf("  %s\n", line.c_str());
	if (problem.empty())
		return true;
	std::printf("seed %u: %s\n", seed, problem.c_str());
	std::fflush(stdout);
	return false;
}

bool differs(const side::Setup &setup, unsigned seed)
{
	unsigned found = 0;

	for (unsigned tries = 1; tries <= 3 && found < 2 && (tries == 1 || found); tries++)
		found += !one_round(setup, seed);
	return found == 2;
}

int usage()
{
	std::fprintf(stderr, "usage: sdp_random [-s SEED] [-r ROUNDS] [-n STEPS] [-w FACTOR] [-v] "
			     "FAMILY PROTOCOL ADDRESS\n");
	return 2;
}

} // namespace

int main(int argc, char **argv)
{
	side::Setup setup{
		.family = 0, .protocol = 0, .base = {}, .steps = 60, .slow = 1, .verbose = false};
	unsigned seed = 1, rounds = 1, failed = 0;
	int letter;

	while ((letter = getopt(argc, argv, "s:r:n:w:v")) != -1) {
		switch (letter) {
		case 's':
			seed = std::strtoul(optarg, nullptr, 0);
			break;
		case 'r':
			rounds = std::strtoul(optarg, nullptr, 0);
			break;
		case 'n':
			setup.steps = std::atoi(optarg);
			break;
		case 'w':
			setup.slow = std::atoi(optarg);
			break;
		case 'v':
			setup.verbose = true;
			break;
		default:
			return usage();
		}
	}
	if (argc - optind != 3)
		return usage();
	setup.family = std::atoi(argv[optind]);
	setup.protocol = std::atoi(argv[optind + 1]);
	auto base = ops::parse(argv[optind + 2]);
	if (!base)
		return usage();
	setup.base = *base;
	// a call that never ends
	alarm(static_cast<unsigned>(setup.slow) * (60 + rounds * 30));
	for (unsigned i = 0; i < rounds; i++)
		failed += differs(setup, seed + i);
	std::printf("%u rounds, %u with a difference\n", rounds, failed);
	return failed ? 1 : 0;
}
