/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Rules of krdma_ops: as words of the command line and of a file, and as netlink's attributes. */
#ifndef KRDMA_OFFLOAD_RULE_HPP
#define KRDMA_OFFLOAD_RULE_HPP

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <libmnl/libmnl.h>
#include <sys/socket.h>

#include "output.hpp"

namespace krdma::tools {

using Words = std::vector<std::string>;

/* by enum krdma_offload_direction */
inline constexpr std::array offload_directions{"connect", "listen"};
/* by enum krdma_offload_action; the last one has the name of a road instead */
inline constexpr std::array offload_actions{"any", "tcp"};

template <std::size_t n>
std::string name_of(const std::array<const char *, n> &names, std::size_t index)
{
	return index < n ? names[index] : std::to_string(index);
}

/** struct OffloadMatch - which sockets a rule is for */
struct OffloadMatch {
	std::optional<std::uint8_t> direction; /* none: both */
	int family{AF_UNSPEC};
	std::array<std::uint8_t, 16> address{};
	std::optional<std::uint8_t> prefix_len; /* none: all of the address */
	std::optional<std::uint16_t> port_min, port_max;
	std::optional<std::uint64_t> cgroup; /* by number */
	std::string cgroup_path;             /* below the root, "/" first */
	std::string service;                 /* unit, to be made a path */
	std::optional<std::uint32_t> uid;
};

/** struct OffloadRule - and what they may use */
struct OffloadRule {
	OffloadMatch match;
	std::uint8_t action{};
	std::string road;
};

/*
 * Read "connect 10.0.0.0/8 port 80-90 service web.service user nobody use sdp". All words may be
 * missing, not both an address and the direction. Throws CLI::ParseError, also if @match_only and
 * "use" is there.
 */
[[nodiscard]] OffloadRule offload_rule_of(const Words &words, bool match_only = false);
/* The same rule in words, which a line of a file has. */
[[nodiscard]] std::string offload_rule_text(const OffloadRule &rule);
/* A rule of the kernel's, as the command shows it in JSON. */
[[nodiscard]] OffloadRule offload_rule_of(const Json &json);
/* The service as the path of its cgroup. Throws if systemd does not know it. */
[[nodiscard]] OffloadMatch offload_resolved(OffloadMatch match);
/* Is there a cgroup of this path now? Also if that is unknown. */
[[nodiscard]] bool offload_cgroup_exists(const std::string &path);
/* A rule for each direction. */
[[nodiscard]] std::vector<OffloadRule> offload_rules_of(const OffloadRule &rule);
/* Put what a socket must have, or the rule, into a message. The service is a path by now. */
void offload_put(nlmsghdr *message, const OffloadMatch &match);
void offload_put(nlmsghdr *message, const OffloadRule &rule);

/** class OffloadRules - rules in a file: the words of one a line, "#" begins a comment */
class OffloadRules {
public:
	explicit OffloadRules(const std::string &text);

	/* Give each rule to @take, and each line that is none, with the reason, to @refuse. */
	void for_each(const std::function<void(const OffloadRule &)> &take,
		      const std::function<void(int line, const std::string &why)> &refuse) const;
	/* Add a line for each direction, unless it is there. */
	void add(const OffloadRule &rule);
	/* Take a rule of the kernel's out. What it leaves of a line for both directions stays. */
	void remove(const OffloadRule &rule);
	/* no rule; comments may be there */
	[[nodiscard]] bool empty() const;
	[[nodiscard]] std::string text() const;

private:
	std::vector<std::string> lines_;
};

} /* namespace krdma::tools */

#endif /* KRDMA_OFFLOAD_RULE_HPP */
