/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The subcommand offload: rules, roads, sockets, limits and counters of krdma_ops. systemd repeats
 * rules at each boot (krdma-offload.service).
 */
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <krdma/offload-netlink.h>

#include "command.hpp"
#include "genetlink.hpp"
#include "offload_rule.hpp"
#include "persistence.hpp"

namespace krdma::tools {
namespace {

constexpr const char *rules_file = "/etc/krdma/offload.rules";
constexpr const char *lock_file = "/run/krdma-offload.lock";

/* bits of OFFLOAD_*, see krdma/offload.h */
constexpr std::array capabilities{"?", "rdma", "kernel-clients", "zerocopy"};
/* by enum krdma_offload_state */
constexpr std::array socket_states{"marked",  "opening",   "tcp", "up",
				   "sending", "receiving", "both"};
/* by TCP_ESTABLISHED and so on */
constexpr std::array tcp_states{
	"?",      "established", "syn-sent", "syn-recv", "fin-wait-1", "fin-wait-2",  "time-wait",
	"closed", "close-wait",  "last-ack", "listen",   "closing",    "new-syn-recv"};

Genetlink family()
{
	return {KRDMA_OFFLOAD_GENL_NAME, KRDMA_OFFLOAD_GENL_VERSION,
		"krdma_ops is not loaded (modprobe krdma_ops; krdma_sdp brings it along)"};
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

/* A road's own attributes: their meaning is the road's, so they have numbers. */
Json info_of(const nlattr *attr)
{
	Json json = Json::object();
	const auto *each = static_cast<const nlattr *>(mnl_attr_get_payload(attr));
	int left = mnl_attr_get_payload_len(attr);

	while (mnl_attr_ok(each, left)) {
		const std::string key = std::to_string(mnl_attr_get_type(each));
		const std::uint16_t size = mnl_attr_get_payload_len(each);

		if (size == sizeof(std::uint64_t))
			json[key] = mnl_attr_get_u64(each);
		else if (size == sizeof(std::uint32_t))
			json[key] = mnl_attr_get_u32(each);
		left -= MNL_ALIGN(each->nla_len);
		each = mnl_attr_next(each);
	}
	return json;
}

enum class Type { u8, u16, u32, s32, u64, text };

struct Member {
	std::uint16_t attribute;
	const char *name;
	Type type;
};

/* attributes whose value is what JSON shows */
constexpr std::array members{
	Member{KRDMA_OFFLOAD_ATTR_NAME, "name", Type::text},
	Member{KRDMA_OFFLOAD_ATTR_NUMBER, "number", Type::u32},
	Member{KRDMA_OFFLOAD_ATTR_PRIORITY, "priority", Type::s32},
	Member{KRDMA_OFFLOAD_ATTR_SOCKETS, "sockets", Type::u32},
	Member{KRDMA_OFFLOAD_ATTR_ID, "id", Type::u32},
	Member{KRDMA_OFFLOAD_ATTR_PREFIX_LEN, "prefix_len", Type::u8},
	Member{KRDMA_OFFLOAD_ATTR_PORT_MIN, "port_min", Type::u16},
	Member{KRDMA_OFFLOAD_ATTR_PORT_MAX, "port_max", Type::u16},
	Member{KRDMA_OFFLOAD_ATTR_CGROUP, "cgroup", Type::u64},
	Member{KRDMA_OFFLOAD_ATTR_CGROUP_PATH, "cgroup_path", Type::text},
	Member{KRDMA_OFFLOAD_ATTR_UID, "uid", Type::u32},
	Member{KRDMA_OFFLOAD_ATTR_HITS, "hits", Type::u64},
	Member{KRDMA_OFFLOAD_ATTR_VALUE, "value", Type::u64},
	Member{KRDMA_OFFLOAD_ATTR_PORT, "port", Type::u16},
	Member{KRDMA_OFFLOAD_ATTR_PEER_PORT, "peer_port", Type::u16},
	Member{KRDMA_OFFLOAD_ATTR_INODE, "inode", Type::u64},
	Member{KRDMA_OFFLOAD_ATTR_SENT, "sent", Type::u64},
	Member{KRDMA_OFFLOAD_ATTR_RECEIVED, "received", Type::u64},
	Member{KRDMA_OFFLOAD_ATTR_TCP_SENT, "tcp_sent", Type::u64},
	Member{KRDMA_OFFLOAD_ATTR_TCP_RECEIVED, "tcp_received", Type::u64},
	Member{KRDMA_OFFLOAD_ATTR_WHY, "why", Type::text},
	Member{KRDMA_OFFLOAD_ATTR_LIMIT, "limit", Type::u8},
	Member{KRDMA_OFFLOAD_ATTR_USED, "used", Type::u64},
	Member{KRDMA_OFFLOAD_ATTR_HOST, "host", Type::u64},
};

Json value_of(const nlattr *attr, Type type)
{
	switch (type) {
	case Type::u8:
		return mnl_attr_get_u8(attr);
	case Type::u16:
		return mnl_attr_get_u16(attr);
	case Type::u32:
		return mnl_attr_get_u32(attr);
	case Type::s32:
		return static_cast<std::int32_t>(mnl_attr_get_u32(attr));
	case Type::u64:
		return mnl_attr_get_u64(attr);
	case Type::text:
		break;
	}
	return mnl_attr_get_str(attr);
}

/* An attribute of a message becomes a member of the object. */
void take_attribute(Json &json, const nlattr *attr)
{
	const std::uint16_t type = mnl_attr_get_type(attr);
	const auto *const member =
		std::find_if(members.begin(), members.end(),
			     [type](const Member &each) { return each.attribute == type; });

	if (member != members.end()) {
		json[member->name] = value_of(attr, member->type);
		return;
	}
	switch (type) {
	case KRDMA_OFFLOAD_ATTR_CAPS:
		json["capabilities"] = capabilities_of(mnl_attr_get_u32(attr));
		break;
	case KRDMA_OFFLOAD_ATTR_DIRECTION:
		json["direction"] = name_of(offload_directions, mnl_attr_get_u8(attr));
		break;
	case KRDMA_OFFLOAD_ATTR_ACTION:
		json["use"] = name_of(offload_actions, mnl_attr_get_u8(attr));
		break;
	case KRDMA_OFFLOAD_ATTR_ADDRESS4:
		json["address"] = address_text(attr, AF_INET);
		break;
	case KRDMA_OFFLOAD_ATTR_ADDRESS6:
		json["address"] = address_text(attr, AF_INET6);
		break;
	case KRDMA_OFFLOAD_ATTR_PEER4:
		json["peer"] = address_text(attr, AF_INET);
		break;
	case KRDMA_OFFLOAD_ATTR_PEER6:
		json["peer"] = address_text(attr, AF_INET6);
		break;
	case KRDMA_OFFLOAD_ATTR_TCP_STATE:
		json["tcp_state"] = name_of(tcp_states, mnl_attr_get_u8(attr));
		break;
	case KRDMA_OFFLOAD_ATTR_STATE:
		json["state"] = name_of(socket_states, mnl_attr_get_u8(attr));
		break;
	case KRDMA_OFFLOAD_ATTR_INFO:
		json["info"] = info_of(attr);
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

Json ask_all(Genetlink &netlink, std::uint8_t command, const char *what)
{
	Json all;

	netlink.dump(
		command, what, [&](const nlmsghdr *message) { all.push_back(object_of(message)); },
		[&] { all = Json::array(); });
	return all;
}

/* The name of a road or of a rule's road is a member of its own. */
void rename_member(Json &json, const char *from, const char *to)
{
	if (!json.contains(from))
		return;
	json[to] = json[from];
	json.erase(from);
}

Json ask_rules(Genetlink &netlink)
{
	Json all = ask_all(netlink, KRDMA_OFFLOAD_CMD_RULE_GET, "list of rules");

	for (Json &rule : all)
		rename_member(rule, "name", "use");
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

void roads(const Environment &environment)
{
	Genetlink netlink = family();
	const Json all = ask_all(netlink, KRDMA_OFFLOAD_CMD_ROAD_GET, "list of roads");
	Table table{{"ROAD", "PRIORITY", "NUMBER", "SOCKETS", "CAPABILITIES"}};

	for (const Json &road : all)
		table.add({cell(road, "name"), cell(road, "priority"), cell(road, "number"),
			   cell(road, "sockets"), join(road.value("capabilities", Json::array()))});
	show(environment, "roads", all, table);
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

void list(const Environment &environment)
{
	Genetlink netlink = family();
	const Json all = ask_rules(netlink);
	Table table{{"ID", "DIRECTION", "ADDRESS", "PORT", "CGROUP", "UID", "USE", "HITS"}};

	for (const Json &rule : all) {
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

/* "[::1]:80" */
std::string end_text(const Json &socket, const char *address, const char *port)
{
	const std::string text = cell(socket, address);

	return (text.find(':') == std::string::npos ? text : "[" + text + "]") + ":" +
	       cell(socket, port);
}

void sockets(const Environment &environment)
{
	Genetlink netlink = family();
	Json all = ask_all(netlink, KRDMA_OFFLOAD_CMD_SOCKET_GET, "list of sockets");
	Table table{{"LOCAL", "PEER", "TCP", "STATE", "ROAD", "RULE", "UID", "SENT", "RECEIVED",
		     "BY-TCP", "WHY"}};

	for (Json &socket : all) {
		rename_member(socket, "name", "road");
		rename_member(socket, "id", "rule");
		table.add({end_text(socket, "address", "port"),
			   end_text(socket, "peer", "peer_port"), cell(socket, "tcp_state"),
			   cell(socket, "state"), cell(socket, "road"), cell(socket, "rule"),
			   cell(socket, "uid"), cell(socket, "sent"), cell(socket, "received"),
			   cell(socket, "tcp_sent") + "/" + cell(socket, "tcp_received"),
			   cell(socket, "why")});
	}
	show(environment, "sockets", all, table);
}

void stats(const Environment &environment, bool nonzero)
{
	Genetlink netlink = family();
	Json counters = Json::object();
	Table table{{"COUNTER", "VALUE"}};

	for (const Json &counter : ask_all(netlink, KRDMA_OFFLOAD_CMD_COUNTER_GET, "counters")) {
		if (nonzero && counter.value("value", 0) == 0)
			continue;
		counters[cell(counter, "name")] = counter.at("value");
		table.add({cell(counter, "name"), cell(counter, "value")});
	}
	show(environment, "counters", counters, table);
}

/* Rules ******************************************************************** */

std::uint32_t add_rule(Genetlink &netlink, const OffloadRule &rule)
{
	nlmsghdr *message = netlink.begin(KRDMA_OFFLOAD_CMD_RULE_ADD);
	std::uint32_t id = 0;

	offload_put(message, rule);
	netlink.exchange(message, offload_rule_text(rule),
			 [&](const nlmsghdr *reply) { id = object_of(reply).value("id", id); });
	return id;
}

void delete_rule(Genetlink &netlink, std::uint32_t id)
{
	nlmsghdr *message = netlink.begin(KRDMA_OFFLOAD_CMD_RULE_DEL);

	mnl_attr_put_u32(message, KRDMA_OFFLOAD_ATTR_ID, id);
	netlink.exchange(message, fmt::format("rule {}", id));
}

/* the number of the rule with this meaning, or none */
std::optional<std::uint32_t> find_rule(Genetlink &netlink, const OffloadRule &wanted)
{
	for (const Json &rule : ask_rules(netlink)) {
		if (offload_rule_text(offload_rule_of(rule)) == offload_rule_text(wanted))
			return rule.value("id", std::uint32_t{});
	}
	return std::nullopt;
}

/** struct Added - a rule that is in the kernel */
struct Added {
	std::uint32_t id{};
	bool fresh{};
};

/* @lenient: it may be there already, with the same meaning */
Added add_or_find(Genetlink &netlink, const OffloadRule &rule, bool lenient)
try {
	return {.id = add_rule(netlink, rule), .fresh = true};
} catch (const std::system_error &error) {
	if (!lenient || error.code().value() != EEXIST)
		throw;
	const auto id = find_rule(netlink, rule);
	if (!id)
		throw;
	return {.id = *id, .fresh = false};
}

void take_back(Genetlink &netlink, const std::vector<Added> &added)
{
	for (const Added &each : added) {
		if (each.fresh)
			delete_rule(netlink, each.id);
	}
}

/* All directions of a rule, or none. */
std::vector<Added> add_all(Genetlink &netlink, const OffloadRule &rule, bool lenient)
{
	std::vector<Added> added;

	try {
		for (const OffloadRule &each : offload_rules_of(rule))
			added.push_back(add_or_find(netlink, each, lenient));
	} catch (const std::system_error &) {
		take_back(netlink, added);
		throw;
	}
	return added;
}

OffloadRule resolved(OffloadRule rule)
{
	rule.match = offload_resolved(rule.match);
	return rule;
}

/* A typo in a path matches nothing, without an error. */
void mention_absence(const OffloadMatch &match)
{
	if (!match.cgroup_path.empty() && !offload_cgroup_exists(match.cgroup_path))
		fmt::print(stderr,
			   "krdma: there is no cgroup {} now; the rule is for one that comes\n",
			   match.cgroup_path);
}

/* Rules that stay ********************************************************** */

Persistence persistence()
{
	return {"krdma-offload.service", rules_file};
}

/* The unit's rules are for systemd's network namespace. */
void check_namespace()
{
	struct stat ours {};
	struct stat systemds {};

	if (stat("/proc/self/ns/net", &ours) == 0 && stat("/proc/1/ns/net", &systemds) == 0 &&
	    ours.st_ino != systemds.st_ino)
		throw std::runtime_error{
			"--persist is for the host's network namespace, and this is another one"};
}

/*
 * Two commands that change the file, one after the other. Only root can open the lock: who can read
 * a file can lock it, and keep it.
 */
Descriptor lock_rules()
{
	Descriptor lock{open(lock_file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};

	if (lock.get() < 0 || flock(lock.get(), LOCK_EX))
		fail(errno, lock_file);
	return lock;
}

OffloadRules rules_that_stay()
{
	return OffloadRules{persistence().settings().value_or("")};
}

void keep(const OffloadRule &rule)
{
	OffloadRules rules = rules_that_stay();

	if (rule.match.cgroup_path.find_first_of(" \t\n\v\f\r#") != std::string::npos)
		throw std::runtime_error{rule.match.cgroup_path +
					 ": a rule that stays takes no such path"};
	if (rule.match.cgroup)
		throw std::runtime_error{
			"a cgroup has another number after a boot: --persist wants its path"};
	rules.add(rule);
	persistence().enable(rules.text(), systemd_runs() ? "start" : "");
}

/* what has no rule any more has no unit either */
void forget(const OffloadRules &rules)
{
	if (!persistence().settings())
		return;
	if (rules.empty())
		persistence().disable();
	else
		persistence().enable(rules.text(), "");
}

std::string read_file(const std::string &path)
{
	errno = 0;
	std::ifstream file{path};

	if (!file)
		fail(errno ? errno : EIO, path);
	return {std::istreambuf_iterator<char>{file}, {}};
}

/* Do something with each rule of a file; a rule that fails does not keep the next from it. */
void for_file(const std::string &path, const std::function<void(const OffloadRule &)> &each)
{
	bool failed = false;

	OffloadRules{read_file(path)}.for_each(each, [&](int line, const std::string &why) {
		fmt::print(stderr, "krdma: {}:{}: {}\n", path, line, why);
		failed = true;
	});
	if (failed)
		throw std::runtime_error{path + ": not all rules"};
}

/* A unit that was removed, or is not installed yet, does not keep the other rules from a boot. */
void load(const std::string &path)
{
	Genetlink netlink = family();

	for_file(path, [&](const OffloadRule &rule) {
		try {
			(void)add_or_find(netlink, resolved(rule), true);
		} catch (const Failure &absent) {
			fmt::print(stderr, "krdma: {}: left out: {}\n", path, absent.what());
		}
	});
}

void unload(const std::string &path)
{
	Genetlink netlink = family();

	for_file(path, [&](const OffloadRule &rule) {
		if (const auto id = find_rule(netlink, resolved(rule)))
			delete_rule(netlink, *id);
	});
}

/* Commands for rules ******************************************************* */

void print_ids(const Environment &environment, const std::vector<Added> &added)
{
	for (const Added &each : added) {
		if (environment.json)
			print_line(Json{{"id", each.id}});
		else
			print(std::to_string(each.id) + '\n');
	}
}

void add(const Environment &environment, const OffloadRule &rule, bool persist)
{
	if (persist)
		check_namespace();
	/* a tree that is being made: the rule is the next boot's */
	if (persist && !systemd_runs()) {
		const Descriptor lock = lock_rules();

		keep(rule);
		return;
	}
	Genetlink netlink = family();
	const OffloadRule now = resolved(rule);

	if (rule.match.service.empty())
		mention_absence(now.match);
	const std::vector<Added> added = add_all(netlink, now, persist);

	if (persist) {
		try {
			const Descriptor lock = lock_rules();

			keep(rule);
		} catch (const std::runtime_error &) {
			take_back(netlink, added);
			throw;
		}
	}
	print_ids(environment, added);
}

void del(const std::vector<std::uint32_t> &ids, bool persist)
{
	if (persist)
		check_namespace();
	Genetlink netlink = family();
	const Json there = persist ? ask_rules(netlink) : Json::array();

	for (const std::uint32_t id : ids)
		delete_rule(netlink, id);
	if (!persist)
		return;
	const Descriptor lock = lock_rules();
	OffloadRules rules = rules_that_stay();

	for (const Json &rule : there) {
		if (std::find(ids.begin(), ids.end(), rule.value("id", 0U)) != ids.end())
			rules.remove(offload_rule_of(rule));
	}
	forget(rules);
}

void flush(bool persist)
{
	/* the unit that is stopped would look for the rules in vain, and krdma_ops may be gone */
	if (persist) {
		check_namespace();
		const Descriptor lock = lock_rules();

		forget(OffloadRules{""});
	}
	Genetlink netlink = family();

	netlink.exchange(netlink.begin(KRDMA_OFFLOAD_CMD_RULE_FLUSH), "rules");
}

/* Commands for sockets and limits ****************************************** */

void reset(const Environment &environment, const std::optional<OffloadMatch> &match, bool end)
{
	Genetlink netlink = family();
	std::uint64_t changed = 0;

	for (const OffloadRule &rule :
	     offload_rules_of(OffloadRule{.match = match.value_or(OffloadMatch{}), .road = {}})) {
		nlmsghdr *message = netlink.begin(KRDMA_OFFLOAD_CMD_RESET);

		if (match)
			offload_put(message, rule.match);
		if (end)
			mnl_attr_put(message, KRDMA_OFFLOAD_ATTR_FORCE, 0, nullptr);
		netlink.exchange(message, "sockets", [&](const nlmsghdr *reply) {
			changed += object_of(reply).value("value", std::uint64_t{});
		});
	}
	if (environment.json)
		print_line(Json{{"reset", changed}});
	else
		print(std::to_string(changed) + '\n');
}

void limits(const Environment &environment)
{
	Genetlink netlink = family();
	Json all = ask_all(netlink, KRDMA_OFFLOAD_CMD_LIMIT_GET, "limits");
	Table table{{"LIMIT", "VALUE", "USED", "HOST"}};

	for (Json &limit : all) {
		limit.erase("limit");
		table.add({cell(limit, "name"), cell(limit, "value"), cell(limit, "used"),
			   cell(limit, "host")});
	}
	show(environment, "limits", all, table);
}

/* @value: none: the host's */
void set_limit(const std::string &name, std::optional<std::uint64_t> value)
{
	Genetlink netlink = family();

	for (const Json &limit : ask_all(netlink, KRDMA_OFFLOAD_CMD_LIMIT_GET, "limits")) {
		if (cell(limit, "name") != name)
			continue;
		nlmsghdr *message = netlink.begin(KRDMA_OFFLOAD_CMD_LIMIT_SET);

		mnl_attr_put_u8(message, KRDMA_OFFLOAD_ATTR_LIMIT,
				limit.value("limit", std::uint8_t{}));
		if (value)
			mnl_attr_put_u64(message, KRDMA_OFFLOAD_ATTR_VALUE, *value);
		netlink.exchange(message, name);
		return;
	}
	throw std::runtime_error{name + ": no such limit (krdma offload limits lists them)"};
}

/* Command line ************************************************************* */

template <typename Number> std::optional<Number> number_of(const std::string &text)
{
	Number number{};
	const char *const last = text.data() + text.size();
	const auto [end, error] = std::from_chars(text.data(), last, number);

	return error == std::errc{} && end == last ? std::optional{number} : std::nullopt;
}

using Run = void (*)(const Environment &);

void add_show(CLI::App &offload, Environment &environment, const char *name, const char *what,
	      Run run)
{
	add_command(offload, environment, name, "", what)->callback([&environment, run] {
		environment.chosen = [&environment, run] { run(environment); };
	});
}

void add_show_commands(CLI::App &offload, Environment &environment)
{
	const auto nonzero = std::make_shared<bool>(false);

	add_show(offload, environment, "list",
		 "list the rules in the order in which they are looked at", list);
	add_show(offload, environment, "roads", "list the roads beside TCP", roads);
	add_show(offload, environment, "sockets",
		 "list the sockets that rules took, their roads, and why some stay on TCP",
		 sockets);
	CLI::App *command = add_command(offload, environment, "stats", "",
					"what became of the sockets that rules took");
	command->add_flag("-n,--nonzero", *nonzero, "only the counters that are not 0");
	command->callback([&environment, nonzero] {
		environment.chosen = [&environment, nonzero] { stats(environment, *nonzero); };
	});
}

/** struct MatchOptions - which sockets, in words and options */
struct MatchOptions {
	Words words;
	std::string service, cgroup, user;
	bool flag{};

	/* options as the words that mean the same */
	[[nodiscard]] Words all() const
	{
		Words every = words;

		for (const auto &[word, value] :
		     {std::pair{"service", &service}, std::pair{"cgroup", &cgroup},
		      std::pair{"user", &user}}) {
			if (!value->empty())
				every.insert(every.end(), {word, *value});
		}
		return every;
	}
};

void add_match_options(CLI::App &command, const std::shared_ptr<MatchOptions> &options)
{
	command.add_option("RULE", options->words, "which sockets, and what they may use");
	command.add_option("--service", options->service, "of a systemd unit, started or not");
	command.add_option("--cgroup", options->cgroup,
			   "of a cgroup and all below it: path or number in the v2 hierarchy");
	command.add_option("--user", options->user, "of a user: name or number");
}

constexpr const char *match_words = "[connect|listen [ADDR[/LEN]]] [port N[-M]] "
				    "[--service UNIT|--cgroup CGROUP] [--user USER]";

void add_add_command(CLI::App &offload, Environment &environment)
{
	const auto options = std::make_shared<MatchOptions>();
	CLI::App *command = add_command(offload, environment, "add",
					std::string{match_words} + " [use ROAD|any|tcp]",
					"add a rule and print its number");

	add_match_options(*command, options);
	command->add_flag("-p,--persist", options->flag, "now and at each boot");
	command->callback([&environment, options] {
		const Words words = options->all();

		if (words.empty())
			throw CLI::RequiredError("RULE");
		environment.chosen = [&environment, options, rule = offload_rule_of(words)] {
			add(environment, rule, options->flag);
		};
	});
}

std::vector<std::uint32_t> ids_of(const Words &words)
{
	std::vector<std::uint32_t> ids;

	for (const std::string &word : words) {
		const auto id = number_of<std::uint32_t>(word);

		if (!id)
			throw CLI::ValidationError(word, "no number of a rule");
		ids.push_back(*id);
	}
	return ids;
}

void add_rule_commands(CLI::App &offload, Environment &environment)
{
	const auto words = std::make_shared<Words>();
	const auto persist = std::make_shared<bool>(false);
	CLI::App *command =
		add_command(offload, environment, "del", "ID...", "delete rules by number");

	command->add_option("ID", *words, "numbers of rules")->required();
	command->add_flag("-p,--persist", *persist, "now and for each boot");
	command->callback([&environment, words, persist] {
		environment.chosen = [ids = ids_of(*words), persist] { del(ids, *persist); };
	});
	command = add_command(offload, environment, "flush", "", "delete all rules");
	command->add_flag("-p,--persist", *persist, "now and for each boot");
	command->callback(
		[&environment, persist] { environment.chosen = [persist] { flush(*persist); }; });

	const auto path = std::make_shared<std::string>(rules_file);

	command = add_command(offload, environment, "load", "[FILE]", "add the rules of a file");
	command->add_option("FILE", *path, "the file");
	command->callback([&environment, path] { environment.chosen = [path] { load(*path); }; });
	command =
		add_command(offload, environment, "unload", "[FILE]", "delete the rules of a file");
	command->add_option("FILE", *path, "the file");
	command->callback([&environment, path] { environment.chosen = [path] { unload(*path); }; });
}

void add_reset_command(CLI::App &offload, Environment &environment)
{
	const auto options = std::make_shared<MatchOptions>();
	CLI::App *command = add_command(offload, environment, "reset", match_words,
					"send marked sockets back to TCP, and print how many");

	add_match_options(*command, options);
	command->add_flag("--end", options->flag, "end those whose bytes have left TCP");
	command->callback([&environment, options] {
		const Words words = options->all();
		std::optional<OffloadMatch> match;

		if (!words.empty())
			match = offload_rule_of(words, true).match;
		environment.chosen = [&environment, options, match] {
			reset(environment,
			      match ? std::optional{offload_resolved(*match)} : std::nullopt,
			      options->flag);
		};
	});
}

void add_limits_command(CLI::App &offload, Environment &environment)
{
	const auto words = std::make_shared<Words>();
	CLI::App *command = add_command(offload, environment, "limits", "[LIMIT VALUE|default]",
					"list the limits of the namespace, or set one");

	command->add_option("LIMIT", *words, "its name and its new value")->expected(0, 2);
	command->callback([&environment, words] {
		if (words->empty()) {
			environment.chosen = [&environment] { limits(environment); };
			return;
		}
		if (words->size() != 2)
			throw CLI::RequiredError("VALUE");
		const auto value = number_of<std::uint64_t>(words->back());

		if (!value && words->back() != "default")
			throw CLI::ValidationError(words->back(), "no number");
		environment.chosen = [words, value] { set_limit(words->front(), value); };
	});
}

} /* namespace */

void add_offload_commands(CLI::App &app, Environment &environment)
{
	CLI::App *offload =
		add_command(app, environment, "offload", "COMMAND",
			    "TCP sockets beside TCP: rules, roads, sockets, limits, counters");

	offload->require_subcommand(1);
	add_show_commands(*offload, environment);
	add_add_command(*offload, environment);
	add_rule_commands(*offload, environment);
	add_reset_command(*offload, environment);
	add_limits_command(*offload, environment);
}

} /* namespace krdma::tools */
