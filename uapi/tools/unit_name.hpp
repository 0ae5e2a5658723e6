/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Names of systemd's units, and of their cgroups. */
#ifndef KRDMA_UNIT_NAME_HPP
#define KRDMA_UNIT_NAME_HPP

#include <string>
#include <string_view>

namespace krdma::tools {

/* the name of a network device as the instance of a unit, as systemd-escape(1) writes it */
[[nodiscard]] std::string unit_escape(std::string_view device);

/*
 * The path of a unit's cgroup below the root, which it gets when it is started: "/system.slice/
 * web.service". @slice: the slice that it is in; "a-b.slice" is in "a.slice".
 */
[[nodiscard]] std::string unit_cgroup(std::string_view unit, std::string_view slice);

/* The same, as systemd says it, running or not. Throws if systemd does not know the unit. */
[[nodiscard]] std::string find_unit_cgroup(const std::string &unit);

} /* namespace krdma::tools */

#endif /* KRDMA_UNIT_NAME_HPP */
