/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A peer that speaks iWARP over plain TCP, rightly and wrongly, and compares every byte of
 * the answers. It attacks a krdma_victim that listens, or one that connects (--listen). The
 * victim prints into a file, which this program reads.
 */
#include <iostream>
#include <map>

#include <fnmatch.h>

#include <CLI/CLI.hpp>

#include "hostile.hpp"

namespace {

using namespace hostile;

struct Options {
	Settings settings;
	std::string listen;
	std::vector<std::string> groups{"startup", "segments", "stream",
					"rfc7306", "storm",    "random"};
	std::string only = "*";
	bool list = false;
	unsigned int start_ms = 5000;
	unsigned int reply_ms = 10000;
};

using Groups = std::map<std::string, std::vector<Case>>;

Groups all_groups()
{
	return {{"startup", startup_cases()},   {"segments", segment_cases()},
		{"stream", stream_cases()},     {"rfc7306", rfc7306_cases()},
		{"storm", storm_cases()},       {"random", random_cases()},
		{"pairs", pair_cases()},        {"terminates", terminate_cases()},
		{"delivery", delivery_cases()}, {"markers", marker_cases()},
		{"nocrc", nocrc_cases()}};
}

/** class Tally - runs cases and counts */
class Tally {
public:
	explicit Tally(std::string only) : only_{std::move(only)}
	{}
	/* @run: the case; a Failure means that it failed */
	template <typename Run>
	void run(const std::string &name, const std::string &source, Run run)
	{
		if (fnmatch(only_.c_str(), name.c_str(), 0))
			return;
		try {
			run();
			passed_++;
			std::cout << "PASS " << name << " (" << source << ")" << std::endl;
		} catch (const Failure &failure) {
			failed_++;
			std::cout << "FAIL " << name << " (" << source << "): " << failure.what()
				  << std::endl;
		}
	}
	[[nodiscard]] int finish() const
	{
		std::cout << passed_ << " passed, " << failed_ << " failed" << std::endl;
		return failed_ || !passed_;
	}

private:
	std::string only_;
	unsigned int passed_ = 0;
	unsigned int failed_ = 0;
};

void list_cases()
{
	for (const auto &[group, cases] : all_groups())
		for (const Case &one : cases)
			std::cout << group << ' ' << one.name << " (" << one.source << ")\n";
	for (const InitiatorCase &one : initiator_cases())
		std::cout << "initiator " << one.name << " (" << one.source << ")\n";
}

int attack(const Options &options)
{
	const Groups groups = all_groups();
	Session session{options.settings};
	Tally tally{options.only};

	for (const std::string &group : options.groups) {
		if (!groups.contains(group))
			throw Failure{"no group " + group};
		for (const Case &one : groups.at(group))
			tally.run(one.name, one.source, [&] { one.run(session); });
	}
	return tally.finish();
}

int wait_for_victim(const Options &options)
{
	wire::Listener listener{options.listen, options.settings.port};
	Session session{options.settings};
	Tally tally{options.only};

	for (const InitiatorCase &one : initiator_cases())
		tally.run(one.name, one.source, [&] { one.run(session, listener); });
	return tally.finish();
}

} /* namespace */

int main(int argc, char **argv)
try {
	Options options;
	CLI::App app{"A hostile iWARP peer; compares every octet of the answers"};
	Settings &settings = options.settings;

	app.add_option("-t,--to", settings.address, "address of a krdma_victim that listens");
	app.add_option("-l,--listen", options.listen,
		       "address to listen on for a krdma_victim that connects");
	app.add_option("-p,--port", settings.port, "port")->capture_default_str();
	app.add_option("-v,--victim", settings.log, "file that the victim prints to");
	app.add_option("-n,--counters", settings.counters,
		       "folder of the counters of the victim's RNIC");
	app.add_option("-g,--group", options.groups, "groups of cases")->capture_default_str();
	app.add_option("-o,--only", options.only, "cases whose name matches")
		->capture_default_str();
	app.add_option("--seed", settings.seed, "of the first random round")->capture_default_str();
	app.add_option("--rounds", settings.rounds, "random rounds of each kind")
		->capture_default_str();
	app.add_option("--seconds", settings.seconds, "limit for the random rounds of each kind")
		->capture_default_str();
	app.add_option("--start-ms", options.start_ms, "the victim's mpa_request_timeout_ms")
		->capture_default_str();
	app.add_option("--reply-ms", options.reply_ms, "the victim's mpa_reply_timeout_ms")
		->capture_default_str();
	app.add_flag("--list", options.list, "name the cases and leave");
	CLI11_PARSE(app, argc, argv);

	if (options.list) {
		list_cases();
		return 0;
	}
	settings.start_limit = Milliseconds{options.start_ms};
	settings.reply_limit = Milliseconds{options.reply_ms};
	if (settings.log.empty() || settings.address.empty() == options.listen.empty())
		throw Failure{"--victim and one of --to and --listen are needed"};
	return options.listen.empty() ? attack(options) : wait_for_victim(options);
} catch (const std::exception &failure) {
	std::cerr << "krdma_hostile: " << failure.what() << '\n';
	return 1;
}
