/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Loading of user libraries: see uvp.hpp. */
#include "uvp.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>

#ifndef KRDMA_UVP_DIR
#error "the folder of user libraries"
#endif

namespace krdma::detail {
namespace {

std::string folder()
{
	/* a program with more rights than its caller ignores the variable */
	const char *other = secure_getenv("KRDMA_UVP_DIR");

	return other && *other ? other : KRDMA_UVP_DIR;
}

/* A library that can make an object must also be able to destroy it. */
bool paired(const krdma_uvp_ops &ops)
{
	return (!ops.srq_create || (ops.srq_destroy && ops.srq_post)) &&
	       (!ops.pd_create || ops.pd_destroy) &&
	       (!ops.mr_create || (ops.mr_destroy && ops.mr_reregister)) &&
	       (!ops.mw_create || ops.mw_destroy);
}

/* The library must have all functions of the data path, and both functions of each object. */
bool complete(const krdma_uvp_ops &ops)
{
	return ops.context_open && ops.context_close && ops.cq_create && ops.cq_destroy &&
	       ops.cq_poll && ops.cq_notify && ops.qp_create && ops.qp_destroy && ops.post_send &&
	       ops.post_recv && paired(ops);
}

} /* namespace */

UserLibrary load_user_library(const std::string &name, std::uint32_t abi)
{
	UserLibrary library;
	const auto refuse = [&](std::string why) {
		library.why = std::move(why);
		return library;
	};

	if (name.empty())
		return refuse("the provider has no user library");
	if (name.find('/') != std::string::npos || name.front() == '.')
		return refuse(name + ": not a file's name");

	const std::string path = folder() + '/' + name;
	void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!handle)
		return refuse(dlerror());
	auto *const open =
		reinterpret_cast<decltype(&krdma_uvp_open)>(dlsym(handle, KRDMA_UVP_SYMBOL));
	const krdma_uvp_ops *ops = open ? open(KRDMA_UVP_VERSION) : nullptr;
	dlclose(handle);
	if (!open)
		return refuse(path + ": no " KRDMA_UVP_SYMBOL);
	if (!ops || ops->version != KRDMA_UVP_VERSION)
		return refuse(path + ": for another version of libkrdma");
	if (ops->abi != abi)
		return refuse(path + ": version " + std::to_string(ops->abi) +
			      ", the kernel module's is " + std::to_string(abi));
	std::memcpy(&library.complete, ops,
		    std::min<std::size_t>(ops->size, sizeof(library.complete)));
	if (!complete(library.complete))
		return refuse(path + ": lacks functions");
	library.ops = ops;
	return library;
}

} /* namespace krdma::detail */
