/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* monitor and top */
#include <algorithm>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "command.hpp"

namespace krdma::tools {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

std::chrono::milliseconds milliseconds(double seconds)
{
	return std::chrono::ceil<std::chrono::milliseconds>(Seconds{seconds});
}

struct MonitorOptions {
	std::vector<std::string> what;
	std::uint64_t count{0};
	double timeout{0};
};

std::uint32_t mask_of(const std::vector<std::string> &words)
{
	static const std::map<std::string, std::uint32_t> bits = {
		{"link", KRDMA_NET_LINK},
		{"address", KRDMA_NET_ADDRESS},
		{"route", KRDMA_NET_ROUTE},
		{"rnic", KRDMA_NET_RNIC},
	};
	std::uint32_t mask = 0;

	for (const std::string &word : words) {
		const auto found = bits.find(word);

		if (found == bits.end())
			throw CLI::ValidationError(word, "not link, address, route or rnic");
		mask |= found->second;
	}
	return mask ? mask : KRDMA_NET_LINK | KRDMA_NET_ADDRESS | KRDMA_NET_ROUTE | KRDMA_NET_RNIC;
}

void monitor(const Environment &environment, std::uint32_t mask, const MonitorOptions &options)
{
	Interrupt interrupt;
	const Session session;
	const Clock::time_point end = Clock::now() + milliseconds(options.timeout);
	std::uint64_t count = 0;

	session.subscribe(mask);
	session.events().on_event([&](const Event &event) {
		if (options.count && count >= options.count)
			return;
		count++;
		if (environment.json)
			print_line(to_json(event));
		else
			print(event_line(event) + '\n');
	});
	while (!options.count || count < options.count) {
		std::chrono::milliseconds left = forever;

		if (options.timeout > 0) {
			left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
			if (left.count() <= 0)
				return;
		}
		if (interrupt.wait(session.descriptor(), left))
			return;
		session.dispatch();
	}
}

struct TopOptions {
	double interval{1};
	std::uint64_t count{0};
	bool once{};
};

/* an RNIC's counters at a time */
struct Sample {
	std::string name;
	Clock::time_point time;
	std::map<std::string, std::uint64_t> values;
};

using Samples = std::map<std::uint32_t, Sample>; /* by index of the RNIC */

Samples sample(const Session &session)
{
	Samples samples;

	for (const Device &device : session.devices()) {
		Sample one{device.name(), Clock::now(), {}};

		try {
			for (const Counter &counter : device.counters())
				one.values[counter.name] = counter.value;
		} catch (const std::system_error &error) {
			if (error.code().value() != ENODEV)
				throw;
			continue;
		}
		samples.emplace(device.index(), std::move(one));
	}
	return samples;
}

/* counts a second of one RNIC since the sample before */
Json rates(const Sample &before, const Sample &now)
{
	const double seconds = Seconds{now.time - before.time}.count();
	Json json = Json::object();

	for (const auto &[name, value] : now.values) {
		const auto old = before.values.find(name);

		/* a gauge that fell is none for a rate */
		if (old != before.values.end() && value >= old->second && seconds > 0)
			json[name] = static_cast<double>(value - old->second) / seconds;
	}
	return json;
}

/* most moving first */
std::string busiest(const Json &all, std::size_t most)
{
	std::vector<std::pair<std::string, double>> moving;
	std::string text;

	for (const auto &[name, rate] : all.items()) {
		if (rate.get<double>() > 0 && !name.ends_with("_bytes"))
			moving.emplace_back(name, rate.get<double>());
	}
	std::stable_sort(moving.begin(), moving.end(),
			 [](const auto &a, const auto &b) { return a.second > b.second; });
	for (std::size_t i = 0; i < moving.size() && i < most; i++)
		text += fmt::format("{}{} {}", i ? "  " : "", moving[i].first,
				    scaled(moving[i].second));
	return text.empty() ? "-" : text;
}

double rate_of(const Json &all, const char *name)
{
	return all.contains(name) ? all[name].get<double>() : 0;
}

void top(const Environment &environment, const TopOptions &options)
{
	Interrupt interrupt;
	const Session session;
	const std::uint64_t count = options.once ? 1 : options.count;
	Samples before = sample(session);

	for (std::uint64_t i = 0; !count || i < count; i++) {
		if (interrupt.wait(-1, milliseconds(options.interval)))
			return;
		Samples now = sample(session);
		Table table{{"RNIC", "SENT/s", "RECEIVED/s", "SAME HOST/s", "BUSIEST COUNTERS/s"}};

		for (const auto &[index, one] : now) {
			const auto old = before.find(index);

			if (old == before.end())
				continue;
			const Json all = rates(old->second, one);
			if (environment.json)
				print_line({{"rnic", one.name},
					    {"index", index},
					    {"interval_s",
					     Seconds{one.time - old->second.time}.count()},
					    {"rates", all}});
			table.add({one.name, scaled(rate_of(all, "tx_bytes")) + 'B',
				   scaled(rate_of(all, "rx_bytes")) + 'B',
				   scaled(rate_of(all, "same_host_bytes")) + 'B', busiest(all, 4)});
		}
		if (!environment.json) {
			/* a terminal is drawn anew */
			const bool redraw = environment.style.colours() && count != 1;

			print((redraw ? "\033[H\033[J" : "") + table.text(environment.style));
		}
		before = std::move(now);
	}
}

} /* namespace */

void add_live_commands(CLI::App &app, Environment &environment)
{
	const auto wanted = std::make_shared<MonitorOptions>();
	CLI::App *command = app.add_subcommand(
		"monitor", "events as they come: [link] [address] [route] [rnic], none: all");
	command->add_option("WHAT", wanted->what, "link, address, route, rnic");
	command->add_option("-c,--count", wanted->count, "end after so many events");
	command->add_option("-t,--timeout", wanted->timeout, "end after so many seconds")
		->check(CLI::NonNegativeNumber);
	command->callback([&environment, wanted] {
		environment.chosen = [&environment, wanted, mask = mask_of(wanted->what)] {
			monitor(environment, mask, *wanted);
		};
	});

	const auto options = std::make_shared<TopOptions>();
	command = app.add_subcommand("top", "rates of each RNIC");
	command->add_option("-i,--interval", options->interval, "seconds between two looks (1)")
		->check(CLI::Range(0.05, 3600.0));
	command->add_option("-n,--count", options->count, "end after so many looks");
	command->add_flag("-1,--once", options->once, "one look");
	command->callback([&environment, options] {
		environment.chosen = [&environment, options] { top(environment, *options); };
	});
}

} /* namespace krdma::tools */
