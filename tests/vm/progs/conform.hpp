/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Checks of RNIC-PI providers over libkrdma. Each check works with two hosts, which may be two
 * sessions of the same RNIC: @a connects, @b listens. A check throws Failure, or Missing for a
 * function that the RNIC says it does not have.
 */
#ifndef KRDMA_TEST_CONFORM_HPP
#define KRDMA_TEST_CONFORM_HPP

#include "ual.hpp"

namespace conform {

using namespace ual;

/** struct Missing - the RNIC does not have what the check is about, and says so */
struct Missing {};

/** struct Place - where a host is, to open it again in a child */
struct Place {
	const char *netns; /* nullptr: where the program was started */
	const char *ip;
};

/** struct Setup - arguments of the program */
struct Setup {
	Place a;
	Place b;
	ContextOptions options;
};

extern Setup setup;

/*
 * Open a host. The thread is in the listening host's namespace afterwards, because siw listens in
 * the namespace of the caller instead of the session (siw_cm.c, siw_create_listen()).
 */
[[nodiscard]] inline Host open_host(const Place &place)
{
	Host host{place.netns, place.ip, setup.options};

	enter(setup.b.netns);
	return host;
}

/*
 * Run the first use of a function. The RNIC has the function, or answers EOPNOTSUPP and does not
 * announce it.
 */
template <typename Action>
auto announced(bool capability, const char *what, Action action, Where where = Where::current())
{
	try {
		return action();
	} catch (const std::system_error &error) {
		if (error.code() != std::error_code{EOPNOTSUPP, std::generic_category()})
			fail(std::string{what} + ": " + error.what(), where);
		if (capability)
			fail(std::string{what} + ": announced, and EOPNOTSUPP", where);
	}
	throw Missing{};
}

/* The same for a function that no attribute announces. */
template <typename Action>
auto optional(const char *what, Action action, Where where = Where::current())
{
	return announced(false, what, action, where);
}

[[nodiscard]] inline krdma_rnic_query attributes(const Host &host)
{
	return host.context.device().attributes().raw;
}

/* values of krdma_rnic_query.transport */
inline constexpr std::uint32_t iwarp = 0;

[[nodiscard]] inline bool is_iwarp(const Host &host)
{
	return attributes(host).transport == iwarp;
}

/* @a's Read is refused by the peer. RNICs differ in the status that they give it. */
void read_refused(const Pair &pair, Remote from, Where where = Where::current());

/* bytes that differ for each position and seed */
void fill(std::span<std::byte> bytes, unsigned int seed);
[[nodiscard]] bool is_filled(std::span<const std::byte> bytes, unsigned int seed);

extern const std::vector<Check> object_checks;
extern const std::vector<Check> memory_checks;
extern const std::vector<Check> connect_checks;
extern const std::vector<Check> data_checks;
extern const std::vector<Check> guard_checks;
extern const std::vector<Check> end_checks;

} /* namespace conform */

#endif /* KRDMA_TEST_CONFORM_HPP */
