/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Names of systemd's units. */
#ifndef KRDMA_UNIT_NAME_HPP
#define KRDMA_UNIT_NAME_HPP

#include <string>
#include <string_view>

namespace krdma::tools {

/* the name of a network device as the instance of a unit, as systemd-escape(1) writes it */
[[nodiscard]] std::string unit_escape(std::string_view device);

} /* namespace krdma::tools */

#endif /* KRDMA_UNIT_NAME_HPP */
