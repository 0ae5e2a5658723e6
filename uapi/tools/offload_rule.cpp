/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Rules as words and attributes: see offload_rule.hpp. */
#include "offload_rule.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <unordered_map>

#include <CLI/CLI.hpp>
#include <arpa/inet.h>
#include <fmt/format.h>
#include <mntent.h>
#include <pwd.h>

#include <krdma/offload-netlink.h>

#include "unit_name.hpp"

namespace krdma::tools {
namespace {

[[noreturn]] void misunderstood(const std::string &word, const std::string &why)
{
	throw CLI::ValidationError(word, why);
}

template <typename Number> std::optional<Number> number_of(std::string_view text)
{
	Number number{};
	const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);

	if (error != std::errc{} || end != text.data() + text.size())
		return std::nullopt;
	return number;
}

void take_prefix(OffloadRule &rule, const std::string &text)
{
	const std::size_t slash = text.find('/');
	const std::string address = text.substr(0, slash);
	OffloadMatch &match = rule.match;

	match.family = address.find(':') == std::string::npos ? AF_INET : AF_INET6;
	if (inet_pton(match.family, address.c_str(), match.address.data()) != 1)
		misunderstood(text, "no address or prefix");
	if (slash == std::string::npos)
		return;
	match.prefix_len = number_of<std::uint8_t>(text.substr(slash + 1));
	if (!match.prefix_len)
		misunderstood(text, "no address or prefix");
}

void take_ports(OffloadRule &rule, const std::string &text)
{
	const std::size_t dash = text.find('-');
	OffloadMatch &match = rule.match;

	match.port_min = number_of<std::uint16_t>(text.substr(0, dash));
	match.port_max = dash == std::string::npos
				 ? match.port_min
				 : number_of<std::uint16_t>(text.substr(dash + 1));
	if (!match.port_min || !match.port_max || *match.port_min == 0 ||
	    *match.port_min > *match.port_max)
		misunderstood(text, "no port or range of ports");
}

/* where the v2 hierarchy is mounted: the longest such place that is a part of @path, or any */
std::string cgroup_mount(const std::string *path)
{
	const std::unique_ptr<std::FILE, int (*)(std::FILE *)> mounts{
		setmntent("/proc/self/mounts", "r"), endmntent};
	std::string root;

	if (!mounts)
		return root;
	for (const mntent *entry = nullptr; (entry = getmntent(mounts.get()));) {
		const std::string place = entry->mnt_dir;

		if (std::string_view{entry->mnt_type} == "cgroup2" && place.size() > root.size() &&
		    (!path || (*path + "/").starts_with(place + "/")))
			root = place;
	}
	return root;
}

/* "web//a/" becomes "/web/a", as the kernel shows it */
std::string tidy_path(const std::string &path)
{
	std::string tidy;

	for (std::size_t at = 0; at < path.size();) {
		const std::size_t end = std::min(path.find('/', at), path.size());
		const std::string name = path.substr(at, end - at);

		if (name == "." || name == "..")
			misunderstood(path, "no path of a cgroup");
		if (!name.empty())
			tidy += "/" + name;
		at = end + 1;
	}
	return tidy.empty() ? "/" : tidy;
}

void take_cgroup(OffloadRule &rule, const std::string &text)
{
	rule.match.cgroup = number_of<std::uint64_t>(text);
	if (!rule.match.cgroup)
		rule.match.cgroup_path = tidy_path(text.substr(cgroup_mount(&text).size()));
	if (rule.match.cgroup_path.size() >= KRDMA_OFFLOAD_PATH_LEN)
		misunderstood(text, "too long for the path of a cgroup");
}

/* letters, digits and @others */
bool consists_of(const std::string &text, std::string_view others)
{
	return std::all_of(text.begin(), text.end(), [others](char c) {
		return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		       others.find(c) != std::string_view::npos;
	});
}

void take_service(OffloadRule &rule, const std::string &text)
{
	/* systemctl takes patterns, too, and a "#" ends a line of the file of rules */
	if (text.empty() || !consists_of(text, ":-_.\\@") || text.starts_with('-'))
		misunderstood(text, "no name of a systemd unit");
	rule.match.service = text.find('.') == std::string::npos ? text + ".service" : text;
}

void take_user(OffloadRule &rule, const std::string &text)
{
	rule.match.uid = number_of<std::uint32_t>(text);
	if (rule.match.uid)
		return;
	const passwd *user = getpwnam(text.c_str());
	if (!user)
		misunderstood(text, "no such user");
	rule.match.uid = user->pw_uid;
}

void take_action(OffloadRule &rule, const std::string &text)
{
	const auto *const known = std::find(offload_actions.begin(), offload_actions.end(), text);

	rule.action = static_cast<std::uint8_t>(known - offload_actions.begin());
	if (known != offload_actions.end())
		return;
	if (text.empty() || text.size() >= KRDMA_OFFLOAD_NAME_LEN || !consists_of(text, "-_"))
		misunderstood(text, "no name of a road");
	rule.road = text;
}

using Taker = void (*)(OffloadRule &, const std::string &);

/* what a word says; the second one is the same thing by another name, and counts as given, too */
struct Keyword {
	Taker take;
	std::string_view thing;
};

const std::unordered_map<std::string, Keyword> &keywords()
{
	static const std::unordered_map<std::string, Keyword> all{
		{"port", {take_ports, "port"}},        {"cgroup", {take_cgroup, "cgroup"}},
		{"service", {take_service, "cgroup"}}, {"uid", {take_user, "user"}},
		{"user", {take_user, "user"}},         {"use", {take_action, "use"}},
	};

	return all;
}

} /* namespace */

OffloadRule offload_rule_of(const Words &words, bool match_only)
{
	std::vector<std::string_view> seen;
	std::size_t at = 0;
	OffloadRule rule;

	if (!words.empty()) {
		const auto *const direction = std::find(offload_directions.begin(),
							offload_directions.end(), words.front());

		if (direction != offload_directions.end()) {
			rule.match.direction =
				static_cast<std::uint8_t>(direction - offload_directions.begin());
			at++;
		}
	}
	if (at < words.size() && !keywords().contains(words[at])) {
		take_prefix(rule, words[at++]);
		if (!rule.match.direction)
			misunderstood(words.front(),
				      "connect or listen is wanted before an address");
	}
	for (; at < words.size(); at += 2) {
		const auto keyword = keywords().find(words[at]);

		if (keyword == keywords().end() || (match_only && words[at] == "use"))
			misunderstood(words[at], match_only
							 ? "port, cgroup, service or user is wanted"
							 : "port, cgroup, service, user or use is "
							   "wanted");
		if (at + 1 == words.size())
			misunderstood(words[at], "its value is missing");
		if (std::find(seen.begin(), seen.end(), keyword->second.thing) != seen.end())
			misunderstood(words[at], "is given twice");
		seen.push_back(keyword->second.thing);
		keyword->second.take(rule, words[at + 1]);
	}
	return rule;
}

std::string offload_rule_text(const OffloadRule &rule)
{
	const OffloadMatch &match = rule.match;
	std::string text;
	const auto say = [&](const std::string &words) {
		text += (text.empty() ? "" : " ") + words;
	};

	if (match.direction)
		say(name_of(offload_directions, *match.direction));
	if (match.family != AF_UNSPEC) {
		std::array<char, INET6_ADDRSTRLEN> address{};

		inet_ntop(match.family, match.address.data(), address.data(), address.size());
		say(fmt::format("{}/{}", address.data(),
				match.prefix_len.value_or(match.family == AF_INET ? 32 : 128)));
	}
	if (match.port_min)
		say(match.port_min == match.port_max
			    ? fmt::format("port {}", *match.port_min)
			    : fmt::format("port {}-{}", *match.port_min, *match.port_max));
	if (match.cgroup)
		say(fmt::format("cgroup {}", *match.cgroup));
	if (!match.cgroup_path.empty())
		say("cgroup " + match.cgroup_path);
	if (!match.service.empty())
		say("service " + match.service);
	if (match.uid)
		say(fmt::format("user {}", *match.uid));
	say("use " + (rule.road.empty() ? name_of(offload_actions, rule.action) : rule.road));
	return text;
}

OffloadRule offload_rule_of(const Json &json)
{
	OffloadRule rule;
	OffloadMatch &match = rule.match;
	const std::string direction = json.value("direction", "");
	const auto *const at =
		std::find(offload_directions.begin(), offload_directions.end(), direction);

	if (at != offload_directions.end())
		match.direction = static_cast<std::uint8_t>(at - offload_directions.begin());
	if (json.contains("address"))
		take_prefix(rule, fmt::format("{}/{}", json.value("address", ""),
					      json.value("prefix_len", 0)));
	if (json.contains("port_min")) {
		match.port_min = json.value("port_min", std::uint16_t{});
		match.port_max = json.value("port_max", std::uint16_t{});
	}
	/* the kernel shows the number of a cgroup only if the rule was made by number */
	if (json.contains("cgroup") && json.value("cgroup_path", "") != "/")
		match.cgroup = json.value("cgroup", std::uint64_t{});
	else
		match.cgroup_path = json.value("cgroup_path", "");
	if (json.contains("uid"))
		match.uid = json.value("uid", std::uint32_t{});
	take_action(rule, json.value("use", "any"));
	return rule;
}

OffloadMatch offload_resolved(OffloadMatch match)
{
	if (!match.service.empty())
		match.cgroup_path = find_unit_cgroup(match.service);
	match.service.clear();
	return match;
}

bool offload_cgroup_exists(const std::string &path)
{
	const std::string root = cgroup_mount(nullptr);

	return root.empty() || std::filesystem::exists(root + path);
}

std::vector<OffloadRule> offload_rules_of(const OffloadRule &rule)
{
	if (rule.match.direction)
		return {rule};
	std::vector<OffloadRule> both(offload_directions.size(), rule);

	for (std::size_t i = 0; i < both.size(); i++)
		both[i].match.direction = static_cast<std::uint8_t>(i);
	return both;
}

void offload_put(nlmsghdr *message, const OffloadMatch &match)
{
	mnl_attr_put_u8(message, KRDMA_OFFLOAD_ATTR_DIRECTION, match.direction.value_or(0));
	if (match.family == AF_INET)
		mnl_attr_put(message, KRDMA_OFFLOAD_ATTR_ADDRESS4, 4, match.address.data());
	if (match.family == AF_INET6)
		mnl_attr_put(message, KRDMA_OFFLOAD_ATTR_ADDRESS6, 16, match.address.data());
	if (match.prefix_len)
		mnl_attr_put_u8(message, KRDMA_OFFLOAD_ATTR_PREFIX_LEN, *match.prefix_len);
	if (match.port_min)
		mnl_attr_put_u16(message, KRDMA_OFFLOAD_ATTR_PORT_MIN, *match.port_min);
	if (match.port_max)
		mnl_attr_put_u16(message, KRDMA_OFFLOAD_ATTR_PORT_MAX, *match.port_max);
	if (match.cgroup)
		mnl_attr_put_u64(message, KRDMA_OFFLOAD_ATTR_CGROUP, *match.cgroup);
	if (!match.cgroup_path.empty())
		mnl_attr_put_strz(message, KRDMA_OFFLOAD_ATTR_CGROUP_PATH,
				  match.cgroup_path.c_str());
	if (match.uid)
		mnl_attr_put_u32(message, KRDMA_OFFLOAD_ATTR_UID, *match.uid);
}

void offload_put(nlmsghdr *message, const OffloadRule &rule)
{
	offload_put(message, rule.match);
	mnl_attr_put_u8(message, KRDMA_OFFLOAD_ATTR_ACTION, rule.action);
	if (!rule.road.empty())
		mnl_attr_put_strz(message, KRDMA_OFFLOAD_ATTR_NAME, rule.road.c_str());
}

/* Files ******************************************************************** */

namespace {

Words words_of(const std::string &line)
{
	std::istringstream text{line.substr(0, line.find('#'))};
	Words words;

	for (std::string word; text >> word;)
		words.push_back(word);
	return words;
}

/* none: no rule is on this line, or none that can be understood now */
std::vector<OffloadRule> rules_on(const std::string &line)
try {
	const Words words = words_of(line);

	return words.empty() ? std::vector<OffloadRule>{}
			     : offload_rules_of(offload_rule_of(words));
} catch (const CLI::ParseError &) {
	return {};
}

/* Do both mean the same to the kernel? */
bool same(OffloadRule line, const OffloadRule &rule)
try {
	line.match = offload_resolved(line.match);
	return offload_rule_text(line) == offload_rule_text(rule);
} catch (const std::runtime_error &) {
	return false;
}

} /* namespace */

OffloadRules::OffloadRules(const std::string &text)
{
	std::istringstream lines{text};

	for (std::string line; std::getline(lines, line);)
		lines_.push_back(line);
}

void OffloadRules::for_each(
	const std::function<void(const OffloadRule &)> &take,
	const std::function<void(int line, const std::string &why)> &refuse) const
{
	int number = 0;

	for (const std::string &line : lines_) {
		const Words words = words_of(line);

		number++;
		try {
			if (words.empty())
				continue;
			for (const OffloadRule &rule : offload_rules_of(offload_rule_of(words)))
				take(rule);
		} catch (const CLI::ParseError &error) {
			refuse(number, error.what());
		} catch (const std::runtime_error &error) {
			refuse(number, error.what());
		}
	}
}

void OffloadRules::add(const OffloadRule &rule)
{
	for (const OffloadRule &one : offload_rules_of(rule)) {
		const std::string text = offload_rule_text(one);
		const bool known = std::any_of(lines_.begin(), lines_.end(), [&](const auto &line) {
			const std::vector<OffloadRule> there = rules_on(line);

			return std::any_of(there.begin(), there.end(), [&](const auto &each) {
				return offload_rule_text(each) == text;
			});
		});

		if (!known)
			lines_.push_back(text);
	}
}

void OffloadRules::remove(const OffloadRule &rule)
{
	std::vector<std::string> rest;

	for (const std::string &line : lines_) {
		const std::vector<OffloadRule> there = rules_on(line);

		if (std::none_of(there.begin(), there.end(),
				 [&](const auto &each) { return same(each, rule); })) {
			rest.push_back(line);
			continue;
		}
		for (const OffloadRule &each : there) {
			if (!same(each, rule))
				rest.push_back(offload_rule_text(each));
		}
	}
	lines_ = std::move(rest);
}

bool OffloadRules::empty() const
{
	return std::all_of(lines_.begin(), lines_.end(),
			   [](const std::string &line) { return words_of(line).empty(); });
}

std::string OffloadRules::text() const
{
	std::string text;

	for (const std::string &line : lines_)
		text += line + '\n';
	return text;
}

} /* namespace krdma::tools */
