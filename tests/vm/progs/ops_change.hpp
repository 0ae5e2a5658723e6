// SPDX-License-Identifier: GPL-2.0 OR MIT
// Compared transfers of ops_change: data whose each byte is known by its place, a connection, and
// the moment at which its road changes.
#ifndef OPS_CHANGE_HPP
#define OPS_CHANGE_HPP

#include <array>
#include <atomic>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "ops_sock.hpp"

namespace change {

using Bytes = std::vector<unsigned char>;
using Random = std::minstd_rand;

struct Failure : std::runtime_error {
	using std::runtime_error::runtime_error;
};

void need(bool ok, std::string_view what, int line = __builtin_LINE());
void same(long wanted, long got, std::string_view what, int line = __builtin_LINE());

struct Setup {
	ops::Address base;
	int family = 0, protocol = 0;
	int slow = 1;
	// parameters of the road of the tests: "release" is written, "parked" is read; or nothing
	std::string road;
	bool verbose = false;
};

// What one direction carries: byte N is table[N % size], and the size is prime.
class Pattern {
public:
	Pattern(unsigned seed, int direction);
	void fill(unsigned char *to, size_t size, size_t from) const;
	// throws with the place of the first wrong byte
	void compare(const unsigned char *got, size_t size, size_t from, const char *what) const;

private:
	static constexpr size_t period = 65521;
	Bytes table_;
};

// Lets parked roads open; does nothing without a road of the tests.
class Trigger {
public:
	explicit Trigger(const Setup &setup) : road_(setup.road), slow_(setup.slow)
	{}
	bool there() const
	{
		return !road_.empty();
	}
	// until a connection is parked, which it is a moment after accept()
	void wait() const;
	enum End { active = 1, passive = 2, both = 3 };
	void pull(End end = both) const;

private:
	std::string road_;
	int slow_;
};

struct Pair {
	ops::Fd client, server;
};

ops::Fd listener(const Setup &setup, int backlog = 16);
ops::Fd connected(const Setup &setup, int to);
Pair connect_pair(const Setup &setup);

void send_all(int fd, const unsigned char *data, size_t size, int flags = 0);
bool ready(int fd, short events, int milliseconds);

// for the report of a round that hangs: what each thread of it does, and how far it is
struct Watch {
	std::array<std::atomic<const char *>, 8> what{};
	std::array<std::atomic<size_t>, 8> place{};
};
extern Watch watch;

// ops_change_transfer.cpp: one round of random modes, sizes and options, both directions at once
void transfer(const Setup &setup, unsigned seed);
// the change at byte AT of both directions, or of one of them
void change_at(const Setup &setup, size_t at, unsigned seed);

// ops_change_scenes.cpp: what the scene saw, to be compared with TCP's; it throws if that is wrong
// in itself
struct Scene {
	const char *name;
	std::string (*play)(const Setup &setup, unsigned seed);
	// sends urgent data after the change: not on the road of the tests
	bool urgent = false;
};
extern const std::vector<Scene> scenes;

} // namespace change

#endif
