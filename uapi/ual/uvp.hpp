/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * User libraries of providers. The kernel gives the name of the file. A library is loaded
 * once.
 */
#ifndef KRDMA_UVP_HPP
#define KRDMA_UVP_HPP

#include <cstdint>
#include <string>

#include <krdma/uvp.h>

namespace krdma::detail {

struct UserLibrary {
	const krdma_uvp_ops *ops{}; /* nullptr: there is no library; why has the reason */
	krdma_uvp_ops complete{};   /* the functions that the library has; the others are NULL */
	std::string why;
};

/* Load a library. It stays loaded, because a thread may run in it at any time. */
[[nodiscard]] UserLibrary load_user_library(const std::string &name, std::uint32_t abi);

} /* namespace krdma::detail */

#endif /* KRDMA_UVP_HPP */
