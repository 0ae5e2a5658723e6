/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The subcommand offload: protocols, rules and counters of krdma_ops, redirection by cgroup. */
#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <system_error>
#include <unordered_map>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <pwd.h>

#include <krdma/offload-netlink.h>

#include "command.hpp"
#include "genetlink.hpp"
#include "redirect.hpp"

namespace krdma::tools {
namespace {

using Words = std::vector<std::string>;

constexpr std::array directions{"connect", "listen", "socket"};
/* by enum krdma_offload_action; the last one has the name of a protocol instead */
constexpr std::array actions{"any", "tcp", "rdma"};
/* bits of OFFLOAD_*, see krdma/offload.h */
constexpr std::array capabilities{"self-routing", "rdma", "kernel-clients", "first-hop"};

[[noreturn]] void misunderstood(const std::string &word, const std::string &why)
{
	throw CLI::ValidationError(word, why);
}

Genetlink family()
{
	return {KRDMA_OFFLOAD_GENL_NAME, KRDMA_OFFLOAD_GENL_VERSION,
		"krdma_ops is not loaded (modprobe krdma_ops; krdma_sdp brings it along)"};
}

template <std::size_t n>
std::string name_of(const std::array<const char *, n> &names, std::size_t index)
{
	return index < n ? names[index] : std::to_string(index);
}

/* Rules as text ************************************************************ */

template <typename Number> std::optional<Number> number_of(std::string_view text)
{
	Number number{};
	const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);

	if (error != std::errc{} || end != text.data() + text.size())
		return std::nullopt;
	return number;
}

/* a rule as the user says it, to be put into a message */
struct Rule {
	std::uint8_t direction{};
	std::uint8_t action{};
	std::string protocol;
	int family{AF_UNSPEC};
	std::array<std::uint8_t, 16> address{};
	std::optional<std::uint8_t> prefix_len;
	std::optional<std::uint16_t> port_min, port_max;
	std::string cgroup;
	std::optional<std::uint32_t> uid;
};

void take_prefix(Rule &rule, const std::string &text)
{
	const std::size_t slash = text.find('/');
	const std::string address = text.substr(0, slash);

	rule.family = address.find(':') == std::string::npos ? AF_INET : AF_INET6;
	if (inet_pton(rule.family, address.c_str(), rule.address.data()) != 1)
		misunderstood(text, "no address or prefix");
	if (slash == std::string::npos)
		return;
	rule.prefix_len = number_of<std::uint8_t>(text.substr(slash + 1));
	if (!rule.prefix_len)
		misunderstood(text, "no address or prefix");
}

void take_ports(Rule &rule, const std::string &text)
{
	const std::size_t dash = text.find('-');

	rule.port_min = number_of<std::uint16_t>(text.substr(0, dash));
	rule.port_max = dash == std::string::npos ? rule.port_min
						  : number_of<std::uint16_t>(text.substr(dash + 1));
	if (!rule.port_min || !rule.port_max)
		misunderstood(text, "no port or range of ports");
}

void take_uid(Rule &rule, const std::string &text)
{
	rule.uid = number_of<std::uint32_t>(text);
	if (rule.uid)
		return;
	const passwd *user = getpwnam(text.c_str());
	if (!user)
		misunderstood(text, "no such user");
	rule.uid = user->pw_uid;
}

void take_action(Rule &rule, const std::string &text)
{
	const auto *const known = std::find(actions.begin(), actions.end(), text);

	rule.action = static_cast<std::uint8_t>(known - actions.begin());
	if (known != actions.end())
		return;
	if (text.size() >= KRDMA_OFFLOAD_NAME_LEN)
		misunderstood(text, "too long for the name of a protocol");
	rule.protocol = text;
}

/* "connect 10.0.0.0/8 port 80-90 cgroup web uid nobody use sdp" */
Rule rule_of(const Words &words)
{
	using Taker = void (*)(Rule &, const std::string &);
	const std::unordered_map<std::string, Taker> takers{
		{"port", take_ports},
		{"cgroup", [](Rule &rule, const std::string &text) { rule.cgroup = text; }},
		{"uid", take_uid},
		{"use", take_action},
	};
	const auto *const direction =
		std::find(directions.begin(), directions.end(), words.front());
	std::vector<std::string> seen;
	std::size_t at = 1;
	Rule rule;

	if (direction == directions.end())
		misunderstood(words.front(), "connect, listen or socket is wanted");
	rule.direction = static_cast<std::uint8_t>(direction - directions.begin());
	if (at < words.size() && !takers.contains(words[at]))
		take_prefix(rule, words[at++]);
	for (; at < words.size(); at += 2) {
		const auto taker = takers.find(words[at]);

		if (taker == takers.end())
			misunderstood(words[at], "port, cgroup, uid or use is wanted");
		if (at + 1 == words.size())
			misunderstood(words[at], "its value is missing");
		if (std::find(seen.begin(), seen.end(), words[at]) != seen.end())
			misunderstood(words[at], "is given twice");
		seen.push_back(words[at]);
		taker->second(rule, words[at + 1]);
	}
	if (std::find(seen.begin(), seen.end(), "use") == seen.end())
		throw CLI::RequiredError("use PROTOCOL|rdma|any|tcp");
	return rule;
}

void put(nlmsghdr *message, const Rule &rule)
{
	mnl_attr_put_u8(message, KRDMA_OFFLOAD_ATTR_DIRECTION, rule.direction);
	mnl_attr_put_u8(message, KRDMA_OFFLOAD_ATTR_ACTION, rule.action);
	if (!rule.protocol.empty())
		mnl_attr_put_strz(message, KRDMA_OFFLOAD_ATTR_NAME, rule.protocol.c_str());
	if (rule.family == AF_INET)
		mnl_attr_put(message, KRDMA_OFFLOAD_ATTR_ADDRESS4, 4, rule.address.data());
	if (rule.family == AF_INET6)
		mnl_attr_put(message, KRDMA_OFFLOAD_ATTR_ADDRESS6, 16, rule.address.data());
	if (rule.prefix_len)
		mnl_attr_put_u8(message, KRDMA_OFFLOAD_ATTR_PREFIX_LEN, *rule.prefix_len);
	if (rule.port_min)
		mnl_attr_put_u16(message, KRDMA_OFFLOAD_ATTR_PORT_MIN, *rule.port_min);
	if (rule.port_max)
		mnl_attr_put_u16(message, KRDMA_OFFLOAD_ATTR_PORT_MAX, *rule.port_max);
	if (!rule.cgroup.empty())
		mnl_attr_put_u64(message, KRDMA_OFFLOAD_ATTR_CGROUP, cgroup_id(rule.cgroup));
	if (rule.uid)
		mnl_attr_put_u32(message, KRDMA_OFFLOAD_ATTR_UID, *rule.uid);
}

/* Messages of the kernel as JSON ******************************************* */

std::string address_text(const nlattr *attr, int family)
{
	std::array<char, INET6_ADDRSTRLEN> text{};

	if (mnl_attr_get_payload_len(attr) < (family == AF_INET ? 4 : 16))
		return "?";
	inet_ntop(family, mnl_attr_get_payload(attr), text.data(), text.size());
	return text.data();
}

Json capabilities_of(std::uint32_t bits)
{
	Json all = Json::array();

	for (std::size_t i = 0; i < 32; i++) {
		if (bits & 1U << i)
			all.push_back(name_of(capabilities, i));
	}
	return all;
}

/* An attribute of a message becomes a member of the object. */
void take_attribute(Json &json, const nlattr *attr)
{
	switch (mnl_attr_get_type(attr)) {
	case KRDMA_OFFLOAD_ATTR_NAME:
		json["name"] = mnl_attr_get_str(attr);
		break;
	case KRDMA_OFFLOAD_ATTR_NUMBER:
		json["number"] = mnl_attr_get_u32(attr);
		break;
	case KRDMA_OFFLOAD_ATTR_CAPS:
		json["capabilities"] = capabilities_of(mnl_attr_get_u32(attr));
		break;
	case KRDMA_OFFLOAD_ATTR_PRIORITY:
		json["priority"] = static_cast<std::int32_t>(mnl_attr_get_u32(attr));
		break;
	case KRDMA_OFFLOAD_ATTR_SOCKETS:
		json["sockets"] = mnl_attr_get_u32(attr);
		break;
	case KRDMA_OFFLOAD_ATTR_IPV6:
		json["ipv6"] = true;
		break;
	case KRDMA_OFFLOAD_ATTR_ID:
		json["id"] = mnl_attr_get_u32(attr);
		break;
	case KRDMA_OFFLOAD_ATTR_DIRECTION:
		json["direction"] = name_of(directions, mnl_attr_get_u8(attr));
		break;
	case KRDMA_OFFLOAD_ATTR_ACTION:
		json["use"] = name_of(actions, mnl_attr_get_u8(attr));
		break;
	case KRDMA_OFFLOAD_ATTR_ADDRESS4:
		json["address"] = address_text(attr, AF_INET);
		break;
	case KRDMA_OFFLOAD_ATTR_ADDRESS6:
		json["address"] = address_text(attr, AF_INET6);
		break;
	case KRDMA_OFFLOAD_ATTR_PREFIX_LEN:
		json["prefix_len"] = mnl_attr_get_u8(attr);
		break;
	case KRDMA_OFFLOAD_ATTR_PORT_MIN:
		json["port_min"] = mnl_attr_get_u16(attr);
		break;
	case KRDMA_OFFLOAD_ATTR_PORT_MAX:
		json["port_max"] = mnl_attr_get_u16(attr);
		break;
	case KRDMA_OFFLOAD_ATTR_CGROUP:
		json["cgroup"] = mnl_attr_get_u64(attr);
		break;
	case KRDMA_OFFLOAD_ATTR_CGROUP_PATH:
		json["cgroup_path"] = mnl_attr_get_str(attr);
		break;
	case KRDMA_OFFLOAD_ATTR_UID:
		json["uid"] = mnl_attr_get_u32(attr);
		break;
	case KRDMA_OFFLOAD_ATTR_HITS:
		json["hits"] = mnl_attr_get_u64(attr);
		break;
	case KRDMA_OFFLOAD_ATTR_VALUE:
		json["value"] = mnl_attr_get_u64(attr);
		break;
	default:
		break;
	}
}

Json object_of(const nlmsghdr *message)
{
	Json json = Json::object();

	Genetlink::for_each_attribute(message,
				      [&](const nlattr *attr) { take_attribute(json, attr); });
	return json;
}

Json ask_all(std::uint8_t command, const char *what)
{
	Json all;

	family().dump(
		command, what, [&](const nlmsghdr *message) { all.push_back(object_of(message)); },
		[&] { all = Json::array(); });
	return all;
}

/* Output ******************************************************************* */

std::string cell(const Json &json, const char *key)
{
	const auto found = json.find(key);

	if (found == json.end())
		return "-";
	return found->is_string() ? found->get<std::string>() : found->dump();
}

std::string join(const Json &words)
{
	std::string text;

	for (const Json &word : words)
		text += (text.empty() ? "" : ",") + word.get<std::string>();
	return text.empty() ? "-" : text;
}

/* one object, or a table that is made of its one list */
void show(const Environment &environment, const char *key, const Json &all, const Table &table)
{
	if (environment.json)
		print(Json{{key, all}}.dump(4, ' ', false, Json::error_handler_t::replace) + '\n');
	else
		print(table.text(environment.style));
}

void list(const Environment &environment)
{
	Json all = ask_all(KRDMA_OFFLOAD_CMD_PROTOCOL_GET, "list of protocols");
	Table table{{"PROTOCOL", "NUMBER", "PRIORITY", "SOCKETS", "IPV6", "CAPABILITIES"}};

	for (Json &protocol : all) {
		protocol.emplace("ipv6", false);
		table.add({cell(protocol, "name"), cell(protocol, "number"),
			   cell(protocol, "priority"), cell(protocol, "sockets"),
			   protocol["ipv6"].get<bool>() ? "yes" : "no",
			   join(protocol.value("capabilities", Json::array()))});
	}
	show(environment, "protocols", all, table);
}

std::string ports_text(const Json &rule)
{
	const std::string first = cell(rule, "port_min");
	const std::string last = cell(rule, "port_max");

	return first == last ? first : first + "-" + last;
}

std::string cgroup_text(const Json &rule)
{
	if (!rule.contains("cgroup") || rule.contains("cgroup_path"))
		return cell(rule, "cgroup_path");
	return cell(rule, "cgroup") + " (gone)";
}

void rules(const Environment &environment)
{
	Json all = ask_all(KRDMA_OFFLOAD_CMD_RULE_GET, "list of rules");
	Table table{{"ID", "DIRECTION", "ADDRESS", "PORT", "CGROUP", "UID", "USE", "HITS"}};

	for (Json &rule : all) {
		/* the action of a rule for one protocol is that protocol's name */
		if (rule.contains("name")) {
			rule["use"] = rule["name"];
			rule.erase("name");
		}
		const std::string address =
			rule.contains("address")
				? cell(rule, "address") + "/" + cell(rule, "prefix_len")
				: "-";
		table.add({cell(rule, "id"), cell(rule, "direction"), address, ports_text(rule),
			   cgroup_text(rule), cell(rule, "uid"), cell(rule, "use"),
			   cell(rule, "hits")});
	}
	show(environment, "rules", all, table);
}

void stats(const Environment &environment, bool nonzero)
{
	Json counters = Json::object();
	Table table{{"COUNTER", "VALUE"}};

	for (const Json &counter : ask_all(KRDMA_OFFLOAD_CMD_COUNTER_GET, "counters")) {
		if (nonzero && counter.value("value", 0) == 0)
			continue;
		counters[cell(counter, "name")] = counter.at("value");
		table.add({cell(counter, "name"), cell(counter, "value")});
	}
	show(environment, "counters", counters, table);
}

void add(const Environment &environment, const Rule &rule)
{
	Genetlink netlink = family();
	nlmsghdr *message = netlink.begin(KRDMA_OFFLOAD_CMD_RULE_ADD);
	Json answer;

	put(message, rule);
	netlink.exchange(message, "rule",
			 [&](const nlmsghdr *reply) { answer = object_of(reply); });
	if (environment.json)
		print_line(answer);
	else
		print(cell(answer, "id") + '\n');
}

void del(const Words &ids)
{
	Genetlink netlink = family();

	for (const std::string &id : ids) {
		nlmsghdr *message = netlink.begin(KRDMA_OFFLOAD_CMD_RULE_DEL);

		mnl_attr_put_u32(message, KRDMA_OFFLOAD_ATTR_ID, *number_of<std::uint32_t>(id));
		netlink.exchange(message, "rule " + id);
	}
}

void flush()
{
	Genetlink netlink = family();

	netlink.exchange(netlink.begin(KRDMA_OFFLOAD_CMD_RULE_FLUSH), "rules");
}

void attached(const Environment &environment)
{
	Json all = Json::array();
	Table table{{"CGROUP", "ID", "REDIRECTED"}};

	for (const RedirectedCgroup &cgroup : redirect_list()) {
		Json json{{"cgroup", cgroup.id}, {"redirected", cgroup.redirected}};

		if (!cgroup.path.empty())
			json["cgroup_path"] = cgroup.path;
		all.push_back(json);
		table.add({cgroup.path.empty() ? "-" : cgroup.path, std::to_string(cgroup.id),
			   cgroup.redirected ? "yes" : "no"});
	}
	show(environment, "cgroups", all, table);
}

/* Command line ************************************************************* */

void add_show_commands(CLI::App &offload, Environment &environment)
{
	const auto nonzero = std::make_shared<bool>(false);

	add_command(offload, environment, "list", "", "list the offload protocols")
		->callback([&environment] {
			environment.chosen = [&environment] { list(environment); };
		});
	add_command(offload, environment, "rules", "",
		    "list the rules in the order in which they are looked at")
		->callback([&environment] {
			environment.chosen = [&environment] { rules(environment); };
		});
	CLI::App *command = add_command(offload, environment, "stats", "",
					"why connections went by TCP, or not");
	command->add_flag("-n,--nonzero", *nonzero, "only the counters that are not 0");
	command->callback([&environment, nonzero] {
		environment.chosen = [&environment, nonzero] { stats(environment, *nonzero); };
	});
}

void add_rule_commands(CLI::App &offload, Environment &environment)
{
	const auto words = std::make_shared<Words>();
	const auto all = std::make_shared<bool>(false);
	CLI::App *command = add_command(
		offload, environment, "add",
		"connect|listen|socket [ADDR[/LEN]] [port N[-M]] [cgroup CGROUP] [uid USER] "
		"use PROTOCOL|rdma|any|tcp",
		"add a rule and print its number");

	command->add_option("RULE", *words, "what sockets it is for, and what they may use")
		->required();
	command->callback([&environment, words] {
		environment.chosen = [&environment, rule = rule_of(*words)] {
			add(environment, rule);
		};
	});

	command = add_command(offload, environment, "del", "ID...", "delete rules by number");
	CLI::Option *ids = command->add_option("ID", *words, "numbers of rules");
	command->add_flag("-a,--all", *all, "all rules")->excludes(ids);
	command->callback([&environment, words, all] {
		if (words->empty() && !*all)
			throw CLI::RequiredError("ID");
		for (const std::string &id : *words) {
			if (!number_of<std::uint32_t>(id))
				misunderstood(id, "no number of a rule");
		}
		environment.chosen = [words, all] {
			if (*all)
				flush();
			else
				del(*words);
		};
	});
}

void add_redirect_commands(CLI::App &offload, Environment &environment)
{
	const auto cgroup = std::make_shared<std::string>();
	const auto flag = std::make_shared<bool>(false);
	CLI::App *command =
		add_command(offload, environment, "attach", "[CGROUP]",
			    "redirect TCP sockets of a cgroup's programs, or list such cgroups");

	command->add_option("CGROUP", *cgroup, "path or number in the v2 hierarchy");
	command->add_flag("-x,--exclude", *flag,
			  "leave this cgroup out, where one above it is redirected");
	command->callback([&environment, cgroup, flag] {
		if (cgroup->empty() && *flag)
			throw CLI::RequiredError("CGROUP");
		environment.chosen = [&environment, cgroup, flag] {
			if (cgroup->empty()) {
				attached(environment);
				return;
			}
			/* without the module, socket() would fail in the cgroup */
			family();
			redirect_attach(cgroup_id(*cgroup), !*flag);
		};
	});

	command = add_command(offload, environment, "detach", "CGROUP",
			      "sockets of the cgroup's programs are TCP's again");
	CLI::Option *name =
		command->add_option("CGROUP", *cgroup, "path or number in the v2 hierarchy");
	command->add_flag("-a,--all", *flag, "all cgroups")->excludes(name);
	command->callback([&environment, cgroup, flag] {
		if (cgroup->empty() && !*flag)
			throw CLI::RequiredError("CGROUP");
		environment.chosen = [cgroup, flag] {
			if (*flag)
				redirect_detach_all();
			else
				redirect_detach(cgroup_id(*cgroup));
		};
	});
}

} /* namespace */

void add_offload_commands(CLI::App &app, Environment &environment)
{
	CLI::App *offload =
		add_command(app, environment, "offload", "COMMAND",
			    "offload protocols of sockets: list, rules, counters, redirection");

	offload->require_subcommand(1);
	add_show_commands(*offload, environment);
	add_rule_commands(*offload, environment);
	add_redirect_commands(*offload, environment);
}

} /* namespace krdma::tools */
