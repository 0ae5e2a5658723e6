/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The subcommands monitor and top. */
#include <algorithm>
#include <map>
#include <memory>

#include <fmt/format.h>

#include <krdma/address.hpp>

#include "command.hpp"
#include "usage.hpp"

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
	unsigned int qps{10};
};

/* the state of a queue pair at one time */
struct QpSample {
	Address local;
	Address remote;
	std::map<std::string, std::uint64_t> values;
};

/* the counters of an RNIC at one time */
struct Sample {
	std::string name;
	Clock::time_point time;
	std::map<std::string, std::uint64_t> values;
	std::map<std::uint32_t, QpSample> qps; /* key: QP number */
};

using Samples = std::map<std::uint32_t, Sample>; /* key: index of the RNIC */

/* the processes of queue pairs; key: index of the RNIC and number of the queue pair */
using Owners = std::map<std::pair<std::uint32_t, std::uint32_t>, Process>;

Owners owners()
{
	Owners all;

	for (const Endpoint &endpoint : endpoints()) {
		if (endpoint.qp)
			all.emplace(std::pair{endpoint.rnic_index, endpoint.qp}, endpoint.process);
	}
	return all;
}

/* Only the administrator may list queue pairs. Others get an empty list, and a message. */
std::vector<krdma_qp_entry> queue_pairs(const Device &device, bool &refused)
try {
	return device.queue_pairs();
} catch (const std::system_error &error) {
	if (error.code().value() != EPERM)
		throw;
	refused = true;
	return {};
}

std::map<std::uint32_t, QpSample> sample_qps(const Device &device, bool &refused)
{
	std::map<std::uint32_t, QpSample> samples;

	for (const krdma_qp_entry &entry : queue_pairs(device, refused))
		samples.emplace(entry.number,
				QpSample{Address{entry.local},
					 Address{entry.remote},
					 {{"tx_bytes", entry.tx_octets},
					  {"tx_messages", entry.tx_messages},
					  {"rx_bytes", entry.rx_octets},
					  {"rx_messages", entry.rx_messages},
					  {"retransmissions", entry.retransmissions}}});
	return samples;
}

Samples sample(const Session &session, bool &refused)
{
	Samples samples;

	for (const Device &device : session.devices()) {
		Sample one{device.name(), Clock::now(), {}, {}};

		try {
			for (const Counter &counter : device.counters())
				one.values[counter.name] = counter.value;
			one.qps = sample_qps(device, refused);
		} catch (const std::system_error &error) {
			if (error.code().value() != ENODEV)
				throw;
			continue;
		}
		samples.emplace(device.index(), std::move(one));
	}
	return samples;
}

using Values = std::map<std::string, std::uint64_t>;

/* the rates for each second since the values @before */
Json rates(const Values &before, const Values &now, double seconds)
{
	Json json = Json::object();

	for (const auto &[name, value] : now) {
		const auto old = before.find(name);

		/* a gauge that fell has no rate */
		if (old != before.end() && value >= old->second && seconds > 0)
			json[name] = static_cast<double>(value - old->second) / seconds;
	}
	return json;
}

/* the counters with the highest rates */
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

/* the rates of queue pairs that are in both samples, sorted by bytes */
Json qp_rates(std::uint32_t index, const Sample &before, const Sample &now, const Owners &owners,
	      double seconds)
{
	std::vector<Json> all;
	Json json = Json::array();
	const auto bytes = [](const Json &qp) {
		return rate_of(qp["rates"], "tx_bytes") + rate_of(qp["rates"], "rx_bytes");
	};

	for (const auto &[number, qp] : now.qps) {
		const auto old = before.qps.find(number);

		if (old == before.qps.end())
			continue;
		Json one{{"qp", number}, {"rates", rates(old->second.values, qp.values, seconds)}};

		if (!qp.local.empty()) {
			one["local"] = qp.local.to_string();
			one["remote"] = qp.remote.to_string();
		}
		if (const auto owner = owners.find({index, number}); owner != owners.end())
			owner->second.add_to(one);
		all.push_back(std::move(one));
	}
	std::stable_sort(all.begin(), all.end(),
			 [&bytes](const Json &a, const Json &b) { return bytes(a) > bytes(b); });
	for (Json &one : all)
		json.push_back(std::move(one));
	return json;
}

std::string process_text(const Json &qp)
{
	Process process;

	if (qp.contains("command") && qp["command"].is_string())
		process.command = qp["command"].get<std::string>();
	if (qp.contains("pid") && qp["pid"].is_number())
		process.pid = qp["pid"].get<std::uint32_t>();
	return process.text();
}

/* add lines for up to @most connected queue pairs of an RNIC */
void add_qps(Table &table, const std::string &rnic, const Json &qps, unsigned int most)
{
	for (const Json &qp : qps) {
		if (!qp.contains("remote") || !most--)
			return;
		const Json &all = qp["rates"];

		table.add(
			{fmt::format("{}", qp["qp"].get<std::uint32_t>()), rnic,
			 scaled(rate_of(all, "tx_bytes")) + 'B',
			 scaled(rate_of(all, "rx_bytes")) + 'B',
			 scaled(rate_of(all, "tx_messages")), scaled(rate_of(all, "rx_messages")),
			 process_text(qp),
			 qp["local"].get<std::string>() + " - " + qp["remote"].get<std::string>()});
	}
}

void top(const Environment &environment, const TopOptions &options)
{
	Interrupt interrupt;
	const Session session;
	const std::uint64_t count = options.once ? 1 : options.count;
	bool refused = false;
	Samples before = sample(session, refused);

	for (std::uint64_t i = 0; !count || i < count; i++) {
		if (interrupt.wait(-1, milliseconds(options.interval)))
			return;
		Samples now = sample(session, refused);
		Table table{{"RNIC", "SENT/s", "RECEIVED/s", "SAME HOST/s", "BUSIEST COUNTERS/s"}};
		Table qp_table{{"QP", "RNIC", "SENT/s", "RECEIVED/s", "MESSAGES/s", "MESSAGES IN/s",
				"PROCESS", "CONNECTION"}};
		const Owners owner_of =
			refused || (!options.qps && !environment.json) ? Owners{} : owners();

		for (const auto &[index, one] : now) {
			const auto old = before.find(index);

			if (old == before.end())
				continue;
			const double seconds = Seconds{one.time - old->second.time}.count();
			const Json all = rates(old->second.values, one.values, seconds);
			const Json qps = qp_rates(index, old->second, one, owner_of, seconds);

			if (environment.json)
				print_line({{"rnic", one.name},
					    {"index", index},
					    {"interval_s", seconds},
					    {"rates", all},
					    {"qps", qps}});
			add_qps(qp_table, one.name, qps, options.qps);
			table.add({one.name, scaled(rate_of(all, "tx_bytes")) + 'B',
				   scaled(rate_of(all, "rx_bytes")) + 'B',
				   scaled(rate_of(all, "same_host_bytes")) + 'B', busiest(all, 4)});
		}
		if (!environment.json) {
			/* on a terminal, clear the screen first */
			const bool redraw = environment.style.colours() && count != 1;

			print((redraw ? "\033[H\033[J" : "") + table.text(environment.style) +
			      (!options.qps ? ""
			       : refused    ? "queue pairs: only for root (CAP_NET_ADMIN)\n"
					    : qp_table.text(environment.style)));
		}
		before = std::move(now);
	}
}

} /* namespace */

void add_live_commands(CLI::App &app, Environment &environment)
{
	const auto wanted = std::make_shared<MonitorOptions>();
	CLI::App *command =
		add_command(app, environment, "monitor", "[link] [address] [route] [rnic]",
			    "events as they come: [link] [address] [route] [rnic], none: all");
	command->add_option("WHAT", wanted->what, "link, address, route, rnic");
	command->add_option("-c,--count", wanted->count, "end after so many events; 0: never");
	command->add_option("-t,--timeout", wanted->timeout, "end after so many seconds; 0: never")
		->check(CLI::NonNegativeNumber);
	command->callback([&environment, wanted] {
		environment.chosen = [&environment, wanted, mask = mask_of(wanted->what)] {
			monitor(environment, mask, *wanted);
		};
	});

	const auto options = std::make_shared<TopOptions>();
	command =
		add_command(app, environment, "top", "", "rates of each RNIC and its queue pairs");
	command->add_option("-i,--interval", options->interval, "seconds between two looks (1)")
		->check(CLI::Range(0.05, 3600.0));
	command->add_option("-n,--count", options->count, "end after so many looks; 0: never");
	command->add_flag("-1,--once", options->once, "one look");
	command->add_option("-q,--qps", options->qps,
			    "lines for the busiest queue pairs of each RNIC (10)");
	command->callback([&environment, options] {
		environment.chosen = [&environment, options] { top(environment, *options); };
	});
}

} /* namespace krdma::tools */
