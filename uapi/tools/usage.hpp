/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The users of RNICs, by krdma.ko's netlink family; for the subcommands resource and top. */
#ifndef KRDMA_USAGE_HPP
#define KRDMA_USAGE_HPP

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <krdma/address.hpp>

#include "output.hpp"

namespace krdma::tools {

/** struct Process - the process that made an object */
struct Process {
	std::optional<std::uint32_t> pid; /* of one that lives, in this PID namespace */
	std::string command;              /* empty: the kernel, or not in this PID namespace */
	std::uint32_t uid{};

	/* "name(1234)", "name" or "-" */
	[[nodiscard]] std::string text() const;
	/* the name of the user, or the number */
	[[nodiscard]] std::string user() const;
	/* adds pid, command and uid */
	void add_to(Json &json) const;
};

/** struct Endpoint - a connection or a listener */
struct Endpoint {
	std::uint32_t rnic_index{};
	std::string rnic;
	std::string state;
	bool listener{};
	Address local;
	Address remote;
	std::uint32_t qp{};
	Process process;
};

/** struct Use - what a process has on an RNIC through /dev/krdma */
struct Use {
	static constexpr std::array names{"contexts", "pd", "cq", "srq", "qp", "mr", "mw"};

	std::string rnic;
	Process process;
	std::array<std::uint64_t, names.size()> objects{};
};

/* What the caller may see. Throws if krdma.ko has no such family. */
[[nodiscard]] std::vector<Endpoint> endpoints();
[[nodiscard]] std::vector<Use> uses();

} /* namespace krdma::tools */

#endif /* KRDMA_USAGE_HPP */
