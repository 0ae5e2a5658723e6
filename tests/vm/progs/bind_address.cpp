/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A library for LD_PRELOAD. Programs that listen on the wildcard address listen on the IPv4
 * address in BIND_ADDRESS instead. Tests need this where RNICs of several kinds see each
 * other's wildcard listeners.
 */
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>

namespace {

using Bind = int (*)(rdma_cm_id *, sockaddr *);

bool any_address(const sockaddr *address)
{
	if (address->sa_family == AF_INET) {
		sockaddr_in in{};

		std::memcpy(&in, address, sizeof(in));
		return in.sin_addr.s_addr == INADDR_ANY;
	}
	sockaddr_in6 in6{};

	if (address->sa_family != AF_INET6)
		return false;
	std::memcpy(&in6, address, sizeof(in6));
	return IN6_IS_ADDR_UNSPECIFIED(&in6.sin6_addr);
}

/* the port is at the same place in both kinds of address */
in_port_t port_of(const sockaddr *address)
{
	sockaddr_in in{};

	std::memcpy(&in, address, sizeof(in));
	return in.sin_port;
}

} /* namespace */

extern "C" int rdma_bind_addr(rdma_cm_id *id, sockaddr *address)
{
	const auto real = reinterpret_cast<Bind>(dlsym(RTLD_NEXT, "rdma_bind_addr"));
	const char *wanted = std::getenv("BIND_ADDRESS");
	sockaddr_in in{};

	if (!real) {
		errno = ENOSYS;
		return -1;
	}
	in.sin_family = AF_INET;
	if (!wanted || !any_address(address) || inet_pton(AF_INET, wanted, &in.sin_addr) != 1)
		return real(id, address);
	in.sin_port = port_of(address);
	return real(id, reinterpret_cast<sockaddr *>(&in));
}
