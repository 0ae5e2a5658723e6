/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * sdp_hostile: a scripted peer attacks TCP sockets whose bytes go by SDP, as the one that connects
 * and as the one that listens:
 *
 *	sdp_hostile [-s SEED] [-r ROUNDS] [-o CHECK] OWN-ADDRESS VICTIM-ADDRESS
 *
 * The peer is in the namespace hostA, the victim in hostB, whose rules name SDP for the ports 9400
 * and 9401. Each violation must have the end, the errno and the counter of docs/sdp-wire.md, and
 * nothing may be left. As long as no direction has changed to the road, TCP goes on.
 */
#include <cstdio>
#include <cstdlib>
#include <functional>

#include <unistd.h>

#include "sdp_peer.hpp"

namespace hostile {
namespace {

constexpr unsigned int check_limit = 240; /* seconds */

struct Settings {
	std::uint32_t seed = 1;
	unsigned int rounds = 300;
	std::string only = {};
};

/** class Runner - runs checks and counts */
class Runner {
public:
	Runner(World &world, Settings settings) : world_{world}, settings_{std::move(settings)}
	{}

	void run(const std::string &name, const std::function<void()> &check)
	{
		if (!settings_.only.empty() && name.find(settings_.only) == std::string::npos)
			return;
		std::printf("%s: ", name.c_str());
		/* what hangs ends the program */
		alarm(check_limit);
		try {
			check();
			world_.nothing_left();
			std::puts("ok");
			passed_++;
		} catch (const std::exception &error) {
			std::printf("FAILED: %s\n", error.what());
			failed_++;
		}
		alarm(0);
	}
	[[nodiscard]] int verdict() const
	{
		std::printf("%d ok, %d failed\n", passed_, failed_);
		return failed_ != 0 || passed_ == 0;
	}

private:
	World &world_;
	Settings settings_;
	int passed_ = 0, failed_ = 0;
};

void violate(World &world, const Violation &violation, bool passive)
{
	const Counters counters;
	Attack attack{world, passive};

	violation.act(attack);
	attack.victim.ends(violation.error);
	attack.peer.closed();
	counters.expect(violation.fault);
	ual::same(counters.by("resets"), std::uint64_t{1}, "resets");
}

void allow(World &world, const Legal &odd, bool passive)
{
	const Counters counters;
	Attack attack{world, passive};

	odd.act(attack);
	attack.works();
	counters.expect("");
}

int run_all(const char *own, const char *victim, const Settings &settings)
{
	World world{own, victim};
	Runner runner{world, settings};

	std::setvbuf(stdout, nullptr, _IOLBF, 0);
	for (const Check &check : begin_checks)
		runner.run(check.name, [&] { check.run(world); });
	for (const Check &check : change_checks)
		runner.run(check.name, [&] { check.run(world); });
	for (const bool passive : {true, false}) {
		const std::string role = passive ? " (victim accepts)" : " (victim connects)";

		for (const Violation &violation : violations)
			runner.run(violation.name + role,
				   [&] { violate(world, violation, passive); });
		for (const Legal &odd : legal)
			runner.run(odd.name + role, [&] { allow(world, odd, passive); });
	}
	for (const Check &check : memory_checks)
		runner.run(check.name, [&] { check.run(world); });
	for (const Check &check : end_checks)
		runner.run(check.name, [&] { check.run(world); });
	runner.run("by chance", [&] { random_rounds(world, settings.seed, settings.rounds); });
	runner.run("afterwards", [&] {
		Attack attack{world, true};

		attack.works();
	});
	return runner.verdict();
}

int usage(const char *program)
{
	std::fprintf(stderr, "%s [-s SEED] [-r ROUNDS] [-o CHECK] OWN-ADDRESS VICTIM-ADDRESS\n",
		     program);
	return 2;
}

} /* namespace */
} /* namespace hostile */

int main(int argc, char **argv)
{
	hostile::Settings settings;
	int option = 0;

	while ((option = getopt(argc, argv, "s:r:o:")) != -1) {
		switch (option) {
		case 's':
			settings.seed =
				static_cast<std::uint32_t>(std::strtoul(optarg, nullptr, 0));
			break;
		case 'r':
			settings.rounds =
				static_cast<unsigned int>(std::strtoul(optarg, nullptr, 0));
			break;
		case 'o':
			settings.only = optarg;
			break;
		default:
			return hostile::usage(argv[0]);
		}
	}
	if (argc - optind != 2)
		return hostile::usage(argv[0]);
	try {
		return hostile::run_all(argv[optind], argv[optind + 1], settings);
	} catch (const std::exception &error) {
		std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
		return 2;
	}
}
