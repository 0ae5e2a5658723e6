/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The subcommands list, show, stat, resource and mib. */
#include <limits>
#include <memory>

#include <fmt/format.h>

#include "command.hpp"
#include "hw_devices.hpp"
#include "prometheus.hpp"
#include "usage.hpp"

namespace krdma::tools {
namespace {

/* the RNICs with that name, or all */
std::vector<Device> chosen_devices(const Session &session, const std::string &name)
{
	if (!name.empty())
		return {session.find(name)};
	return session.devices();
}

/* leave out an RNIC that has gone since it was listed, unless the user named it */
template <typename Each>
void for_each_device(const Session &session, const std::string &name, Each each)
{
	for (const Device &device : chosen_devices(session, name)) {
		try {
			each(device);
		} catch (const std::system_error &error) {
			if (!name.empty() || error.code().value() != ENODEV)
				throw;
		}
	}
}

void print_object(const Json &json)
{
	print(json.dump(4, ' ', false, Json::error_handler_t::replace) + '\n');
}

std::string value_text(const Json &value)
{
	if (value.is_string())
		return value.get<std::string>().empty() ? "-" : value.get<std::string>();
	if (value.is_boolean())
		return value.get<bool>() ? "yes" : "no";
	if (value.is_array()) {
		std::string text;

		for (const Json &one : value)
			text += (text.empty() ? "" : " ") + value_text(one);
		return text.empty() ? "-" : text;
	}
	if (value.is_number_unsigned() &&
	    value.get<std::uint64_t>() == std::numeric_limits<std::uint64_t>::max())
		return "no limit";
	return value.dump();
}

/* print lines of "  key   value"; nested objects are indented */
std::string lines(const Json &object, int depth)
{
	std::size_t width = 0;
	std::string text;

	for (const auto &[key, value] : object.items())
		width = std::max(width, key.size());
	for (const auto &[key, value] : object.items()) {
		if (value.is_object())
			text += fmt::format("{:{}}{}\n{}", "", depth, key, lines(value, depth + 4));
		else
			text += fmt::format("{:{}}{:<{}}  {}\n", "", depth, key, width,
					    value_text(value));
	}
	return text;
}

void list(const Environment &environment)
{
	const Session session;
	Json all = Json::array();
	Table table{{"RNIC", "NETDEV", "STATE", "MTU", "TRANSPORT", "PROVIDER", "USER LIBRARY"}};

	for_each_device(session, "", [&](const Device &device) {
		const Attributes attributes = device.attributes();
		const Json json = to_json(attributes);
		Json entry;

		for (const char *key : {"index", "name", "netdev", "ifindex", "up", "mtu",
					"transport", "provider", "user_library"})
			entry[key] = json[key];
		all.push_back(entry);
		table.add({attributes.name, attributes.netdev, attributes.up ? "up" : "down",
			   attributes.raw.mtu ? std::to_string(attributes.raw.mtu) : "-",
			   std::string{attributes.transport()}, attributes.provider,
			   attributes.user_library.empty() ? "-" : attributes.user_library});
	});
	if (environment.json)
		print_object({{"rnics", all}});
	else
		print(table.text(environment.style));
}

void show(const Environment &environment, const std::string &name)
{
	const Session session;
	Json all = Json::array();

	for_each_device(session, name, [&](const Device &device) {
		Json json = to_json(device.attributes());
		std::uint32_t number = 0;

		if (const auto adopted = find_hw_device(device.name());
		    adopted && adopted->adopted) {
			json["driver"] = adopted->driver;
			json["driver_status"] = adopted->status_text();
		}

		for (const krdma_rnic_port &port : device.ports())
			json["ports"][std::to_string(++number)] = to_json(port);
		if (environment.json) {
			all.push_back(std::move(json));
			return;
		}
		json.erase("name");
		print(environment.style.strong(device.name()) + '\n' + lines(json, 4));
	});
	if (environment.json)
		print_object({{"rnics", all}});
}

void stat_prometheus(const std::string &name, bool nonzero)
{
	const Session session;
	std::vector<RnicSample> samples;

	for_each_device(session, name, [&](const Device &device) {
		RnicSample sample{device.attributes(), device.counters()};

		if (nonzero)
			std::erase_if(sample.counters,
				      [](const Counter &c) { return c.value == 0; });
		samples.push_back(std::move(sample));
	});
	print(prometheus(samples));
}

void stat(const Environment &environment, const std::string &name, bool nonzero)
{
	const Session session;
	Json all = Json::object();

	for_each_device(session, name, [&](const Device &device) {
		std::vector<Counter> counters = device.counters();

		if (nonzero)
			std::erase_if(counters, [](const Counter &c) { return c.value == 0; });
		if (environment.json)
			all[device.name()] = to_json(counters);
		else
			print(environment.style.strong(device.name()) + '\n' +
			      lines(to_json(counters), 4));
	});
	if (environment.json)
		print_object({{"counters", all}});
}

void mib(const Environment &environment, bool nonzero)
{
	std::vector<Counter> counters = Session{}.mib();

	if (nonzero)
		std::erase_if(counters, [](const Counter &c) { return c.value == 0; });
	Json json = to_json(counters);
	/* the only signed value (RFC 4022): -1 means no limit */
	if (const auto most = json.find("tcpMaxConn"); most != json.end())
		*most = most->get<std::int64_t>();
	if (environment.json)
		print_object({{"mib", json}});
	else
		print(lines(json, 0));
}

Json usage_json(const krdma_usage &usage)
{
	return {{"objects", usage.objects},
		{"max_objects", usage.max_objects},
		{"events", usage.events},
		{"max_events", usage.max_events},
		{"lost_events", std::uint64_t{usage.lost_events}},
		{"pinned_pages", std::uint64_t{usage.pinned_pages}}};
}

Json use_json(const Use &use)
{
	Json json = Json::object();

	use.process.add_to(json);
	json["rnic"] = use.rnic;
	for (std::size_t i = 0; i < use.objects.size(); i++)
		json[Use::names[i]] = use.objects[i];
	return json;
}

Json endpoint_json(const Endpoint &endpoint)
{
	Json json = {{"rnic", endpoint.rnic}, {"state", endpoint.state}};

	json["local"] = endpoint.local.empty() ? Json() : Json(endpoint.local.to_string());
	if (!endpoint.listener) {
		json["remote"] =
			endpoint.remote.empty() ? Json() : Json(endpoint.remote.to_string());
		json["qp"] = endpoint.qp ? Json(endpoint.qp) : Json();
	}
	endpoint.process.add_to(json);
	return json;
}

std::vector<std::string> use_cells(const Use &use)
{
	const Process &process = use.process;
	std::vector<std::string> cells{process.pid ? std::to_string(*process.pid) : "-",
				       process.command.empty() ? "-" : process.command,
				       process.user(), use.rnic};

	for (const std::uint64_t count : use.objects)
		cells.push_back(std::to_string(count));
	return cells;
}

std::vector<std::string> endpoint_cells(const Endpoint &endpoint)
{
	const auto text = [](const Address &address) {
		return address.empty() ? "-" : address.to_string();
	};

	return {endpoint.rnic,
		endpoint.state,
		text(endpoint.local),
		text(endpoint.remote),
		endpoint.qp ? std::to_string(endpoint.qp) : "-",
		endpoint.process.user(),
		endpoint.process.text()};
}

/* The users of the RNICs, as far as the caller may see: as JSON in @json. Return: the text. */
std::string resource_users(const Environment &environment, Json &json)
{
	Table processes{{"PID", "COMMAND", "USER", "RNIC", "CONTEXTS", "PD", "CQ", "SRQ", "QP",
			 "MR", "MW"}};
	Table connections{{"RNIC", "STATE", "LOCAL", "PEER", "QP", "USER", "PROCESS"}};

	for (const char *key : {"processes", "listeners", "connections"})
		json[key] = Json::array();
	for (const Use &use : uses()) {
		json["processes"].push_back(use_json(use));
		processes.add(use_cells(use));
	}
	for (const Endpoint &endpoint : endpoints()) {
		json[endpoint.listener ? "listeners" : "connections"].push_back(
			endpoint_json(endpoint));
		connections.add(endpoint_cells(endpoint));
	}
	return processes.text(environment.style) + connections.text(environment.style);
}

void resource(const Environment &environment)
{
	const Session session;
	Json rnics = Json::object();
	Table table{{"RNIC", "CONTEXTS", "PD", "CQ", "SRQ", "QP", "MR", "MW"}};

	for_each_device(session, "", [&](const Device &device) {
		const Json json = to_json(device.attributes());
		std::vector<std::string> cells{device.name()};

		rnics[device.name()] = {{"objects", json["objects"]}, {"limits", json["limits"]}};
		for (const auto &[key, value] : json["objects"].items())
			cells.push_back(value.dump());
		table.add(std::move(cells));
	});
	const Json own = usage_json(session.usage());
	Json all = {{"rnics", rnics}};
	const std::string users = resource_users(environment, all);

	all["own"] = own;
	if (environment.json)
		print_object(all);
	else
		print(table.text(environment.style) + users +
		      environment.style.strong("own limits") + '\n' + lines(own, 4));
}

} /* namespace */

void add_device_commands(CLI::App &app, Environment &environment)
{
	CLI::App *command =
		add_command(app, environment, "list", "", "the RNICs of this network namespace");
	command->callback(
		[&environment] { environment.chosen = [&environment] { list(environment); }; });

	const auto name = std::make_shared<std::string>();
	const auto nonzero = std::make_shared<bool>(false);
	command = add_command(app, environment, "show", "[RNIC]",
			      "all that there is to know of an RNIC, or of each");
	command->add_option("RNIC", *name, "its name or that of its network device");
	command->callback([&environment, name] {
		environment.chosen = [&environment, name] { show(environment, *name); };
	});

	command =
		add_command(app, environment, "stat", "[RNIC]", "counters of an RNIC, or of each");
	command->add_option("RNIC", *name, "its name or that of its network device");
	command->add_flag("-n,--nonzero", *nonzero, "only those that have counted");
	const auto for_prometheus = std::make_shared<bool>(false);
	command->add_flag("-p,--prometheus", *for_prometheus, "the text format of Prometheus");
	command->callback([&environment, name, nonzero, for_prometheus] {
		if (*for_prometheus && environment.json)
			throw CLI::ValidationError("--prometheus", "JSON is another format");
		environment.chosen = [&environment, name, nonzero, for_prometheus] {
			if (*for_prometheus)
				stat_prometheus(*name, *nonzero);
			else
				stat(environment, *name, *nonzero);
		};
	});

	add_adopt_command(app, environment);
	add_link_command(app, environment);

	command = add_command(app, environment, "mib", "",
			      "TCP/IP counters, the host's and offloaded ones as one");
	command->add_flag("-n,--nonzero", *nonzero, "only those that have counted");
	command->callback([&environment, nonzero] {
		environment.chosen = [&environment, nonzero] { mib(environment, *nonzero); };
	});

	command = add_command(app, environment, "resource", "",
			      "objects in use on each RNIC, by whom, and own limits");
	command->callback(
		[&environment] { environment.chosen = [&environment] { resource(environment); }; });
}

} /* namespace krdma::tools */
