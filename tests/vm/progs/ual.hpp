/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The common part of krdma_ual and krdma_conform, programs that use only libkrdma's public
 * headers. One process works in two hosts at the same time, because a session belongs to the
 * network namespace in which it was opened.
 */
#ifndef KRDMA_TEST_UAL_HPP
#define KRDMA_TEST_UAL_HPP

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <krdma/krdma.hpp>

namespace ual {

using namespace krdma;
using namespace std::chrono_literals;

/* time limit of one step; the machine may be emulated */
inline constexpr std::chrono::milliseconds patience = 30s;
/* time to wait for an event that must not come */
inline constexpr std::chrono::milliseconds moment = 50ms;

inline constexpr std::uint32_t everything = access::local_write | access::remote_write |
					    access::remote_read | access::remote_atomic |
					    access::window_bind;

/** struct Where - a place in a test */
struct Where {
	const char *file;
	int line;

	static constexpr Where current(const char *file = __builtin_FILE(),
				       int line = __builtin_LINE())
	{
		return {file, line};
	}
};

struct Failure : std::runtime_error {
	using std::runtime_error::runtime_error;
};

[[noreturn]] void fail(const std::string &what, Where where = Where::current());

inline void require(bool ok, const char *what, Where where = Where::current())
{
	if (!ok)
		fail(what, where);
}

template <typename A> std::string as_text(const A &value)
{
	if constexpr (std::is_enum_v<A>)
		return std::to_string(static_cast<std::underlying_type_t<A>>(value));
	else
		return std::to_string(value);
}

template <typename A, typename B>
void same(const A &got, const B &wanted, const char *what, Where where = Where::current())
{
	if (!(got == wanted))
		fail(std::string{what} + ": got " + as_text(got) + ", wanted " + as_text(wanted),
		     where);
}

/* The action must throw that errno. */
void refused(int wanted, const char *what, const std::function<void()> &action,
	     Where where = Where::current());

/* Enter a network namespace; nullptr: the one in which the program was started. */
void enter(const char *netns);

/** struct Host - the RNIC of a network namespace */
struct Host {
	/* enters @netns */
	Host(const char *netns, const char *ip, ContextOptions options = {});

	Session session;
	Address address;
	Context context;
};

/** struct World - both hosts; @a connects, @b listens */
struct World {
	Host a;
	Host b;
};

/** struct Memory - bytes and their region */
struct Memory {
	Memory(const ProtectionDomain &pd, std::size_t size, std::uint32_t access = everything,
	       std::byte fill = std::byte{0});

	[[nodiscard]] Remote remote(std::size_t offset = 0) const
	{
		return {region.address() + offset, region.stag()};
	}
	[[nodiscard]] bool is_all(std::byte value, std::size_t from, std::size_t length) const
	{
		return std::all_of(octets.begin() + static_cast<std::ptrdiff_t>(from),
				   octets.begin() + static_cast<std::ptrdiff_t>(from + length),
				   [value](std::byte octet) { return octet == value; });
	}

	std::vector<std::byte> octets;
	MemoryRegion region;
};

struct SideOptions {
	QueuePairOptions qp{};
	std::uint32_t depth{64};             /* depth of the completion queues */
	const ProtectionDomain *pd{nullptr}; /* nullptr: a new one */
	std::uint32_t event_handler{0};      /* of the receives */
	bool times{false};                   /* of those */
};

/** class Side - a queue pair with the objects that it needs */
class Side {
public:
	Side(const Host &host, const SideOptions &options);

	/* the next completion of the queue, in time */
	[[nodiscard]] static Completion next(const CompletionQueue &cq,
					     Where where = Where::current());
	/*
	 * The next completion must belong to a send request, or to a receive, and have that
	 * status.
	 */
	Completion sent(Status status = Status::success, Where where = Where::current()) const;
	Completion received(Status status = Status::success, Where where = Where::current()) const;
	void wait_for_state(QueueState state, Where where = Where::current()) const;

	ProtectionDomain pd;
	CompletionQueue sends;
	CompletionQueue receives;
	QueuePair qp;
};

/** class Pair - two sides that are connected over the wire; @a has sent first */
class Pair {
public:
	explicit Pair(const World &world, const SideOptions &options = {})
		: Pair{world, options, options}
	{}
	Pair(const World &world, const SideOptions &of_a, const SideOptions &of_b);

	Side a;
	Side b;

	/* The peer's access to @b is refused; the connection ends with it. */
	void refuses_read(Remote from, Where where = Where::current()) const;
	void refuses_write(Remote to, Where where = Where::current()) const;

private:
	std::unique_ptr<Connection> at_a_;
	std::unique_ptr<Connection> at_b_;
};

/* @a writes to and reads from @b; the data is compared */
void reaches(const Pair &pair, Remote there, std::size_t length, std::byte value,
	     Where where = Where::current());

struct Check {
	const char *name;
	void (*run)(World &world);
};

extern const std::vector<Check> data_checks;
extern const std::vector<Check> queue_checks;
extern const std::vector<Check> memory_checks;
extern const std::vector<Check> comfort_checks;

} /* namespace ual */

#endif /* KRDMA_TEST_UAL_HPP */
