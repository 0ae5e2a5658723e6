/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The users of RNICs: see usage.hpp. */
#include "usage.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <pwd.h>

#include <krdma/krdma-netlink.h>

#include "genetlink.hpp"

namespace krdma::tools {
namespace {

/* A process may give itself a name that a terminal takes for a command. */
std::string printable(std::string text)
{
	std::replace_if(
		text.begin(), text.end(),
		[](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, '?');
	return text;
}

Address address_of(const nlattr *attr)
{
	krdma_addr raw{};

	if (mnl_attr_get_payload_len(attr) < sizeof(raw))
		return {};
	std::memcpy(&raw, mnl_attr_get_payload(attr), sizeof(raw));
	return Address{raw};
}

/* Take what both kinds of message have. Return: false if it is something else. */
bool take_common(const nlattr *attr, std::string &rnic, std::uint32_t &index, Process &process)
{
	switch (mnl_attr_get_type(attr)) {
	case KRDMA_GENL_ATTR_RNIC_INDEX:
		index = mnl_attr_get_u32(attr);
		return true;
	case KRDMA_GENL_ATTR_RNIC_NAME:
		rnic = mnl_attr_get_str(attr);
		return true;
	case KRDMA_GENL_ATTR_UID:
		process.uid = mnl_attr_get_u32(attr);
		return true;
	case KRDMA_GENL_ATTR_PID:
		process.pid = mnl_attr_get_u32(attr);
		return true;
	case KRDMA_GENL_ATTR_COMMAND:
		process.command = printable(mnl_attr_get_str(attr));
		return true;
	default:
		return false;
	}
}

Endpoint endpoint_of(const nlmsghdr *message)
{
	Endpoint endpoint;

	Genetlink::for_each_attribute(message, [&](const nlattr *attr) {
		if (take_common(attr, endpoint.rnic, endpoint.rnic_index, endpoint.process))
			return;
		switch (mnl_attr_get_type(attr)) {
		case KRDMA_GENL_ATTR_STATE:
			endpoint.state = mnl_attr_get_str(attr);
			break;
		case KRDMA_GENL_ATTR_LISTENER:
			endpoint.listener = true;
			break;
		case KRDMA_GENL_ATTR_LOCAL:
			endpoint.local = address_of(attr);
			break;
		case KRDMA_GENL_ATTR_REMOTE:
			endpoint.remote = address_of(attr);
			break;
		case KRDMA_GENL_ATTR_QP:
			endpoint.qp = mnl_attr_get_u32(attr);
			break;
		default:
			break;
		}
	});
	return endpoint;
}

Use use_of(const nlmsghdr *message)
{
	std::uint32_t index{};
	Use use;

	use.objects[0] = 1;
	Genetlink::for_each_attribute(message, [&](const nlattr *attr) {
		if (take_common(attr, use.rnic, index, use.process))
			return;
		const std::uint16_t type = mnl_attr_get_type(attr);

		if (type >= KRDMA_GENL_ATTR_PDS && type <= KRDMA_GENL_ATTR_MWS)
			use.objects[type - KRDMA_GENL_ATTR_PDS + 1U] = mnl_attr_get_u32(attr);
	});
	return use;
}

/* Ask for all objects of a kind. */
template <typename Object>
std::vector<Object> all_of(std::uint8_t command, const char *what,
			   Object (*object_of)(const nlmsghdr *))
{
	Genetlink netlink{KRDMA_GENL_NAME, KRDMA_GENL_VERSION,
			  "krdma is not loaded, or it is older than this command (modprobe "
			  "krdma_soft; krdma -V; modinfo krdma)"};
	std::vector<Object> all;

	netlink.dump(
		command, what, [&](const nlmsghdr *message) { all.push_back(object_of(message)); },
		[&] { all.clear(); });
	return all;
}

} /* namespace */

std::string Process::text() const
{
	if (command.empty())
		return "-";
	return pid ? fmt::format("{}({})", command, *pid) : command;
}

std::string Process::user() const
{
	const passwd *entry = getpwuid(uid);

	return entry ? entry->pw_name : std::to_string(uid);
}

void Process::add_to(Json &json) const
{
	json["pid"] = pid ? Json(*pid) : Json();
	json["command"] = command.empty() ? Json() : Json(command);
	json["uid"] = uid;
}

std::vector<Endpoint> endpoints()
{
	return all_of(KRDMA_GENL_CMD_ENDPOINT_GET, "connections", endpoint_of);
}

std::vector<Use> uses()
{
	std::vector<Use> sums;

	for (const Use &one : all_of(KRDMA_GENL_CMD_CONTEXT_GET, "contexts", use_of)) {
		const auto same = std::find_if(sums.begin(), sums.end(), [&one](const Use &sum) {
			return sum.rnic == one.rnic && sum.process.pid == one.process.pid &&
			       sum.process.command == one.process.command &&
			       sum.process.uid == one.process.uid;
		});

		if (same == sums.end()) {
			sums.push_back(one);
			continue;
		}
		for (std::size_t i = 0; i < one.objects.size(); i++)
			same->objects[i] += one.objects[i];
	}
	return sums;
}

} /* namespace krdma::tools */
