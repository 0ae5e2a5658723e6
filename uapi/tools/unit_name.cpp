/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Names of systemd's units: see unit_name.hpp. */
#include "unit_name.hpp"

#include <fmt/format.h>

namespace krdma::tools {

std::string unit_escape(std::string_view device)
{
	std::string text;

	for (const char c : device) {
		const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
				   (c >= 'A' && c <= 'Z') || c == ':' || c == '_' ||
				   (c == '.' && !text.empty());

		if (plain)
			text += c;
		else
			text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
	}
	return text;
}

} /* namespace krdma::tools */
