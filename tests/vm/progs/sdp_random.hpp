// SPDX-License-Identifier: GPL-2.0 OR MIT
// Sockets of TCP and of SDP side by side, for sdp_random: a world is one of the two. A slot holds
// a socket of each world, and what the test itself knows about both.
#ifndef SDP_RANDOM_HPP
#define SDP_RANDOM_HPP

#include <array>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <sys/types.h>
#include <vector>

#include "ops_sock.hpp"

namespace side {

using Bytes = std::vector<unsigned char>;

constexpr int slots = 8;
// unread bytes of a direction: less than the smallest buffers of either world hold
constexpr long most_unread = 60000;

struct Setup {
	int family, protocol; // what SDP's sockets are made with
	ops::Address base;
	int steps;
	int slow; // factor for time limits
	bool verbose;
};

// A flag of calls, and how often it is set.
struct Flag {
	int bit;
	const char *name;
	int percent;
};

// What a call has answered. What it has besides its value is text.
struct Outcome {
	long value = 0;
	int error = 0;
	std::string more;

	bool operator==(const Outcome &) const = default;
	std::string text() const;
};

struct Difference : std::runtime_error {
	using std::runtime_error::runtime_error;
};

struct Connection {
	std::array<long, 2> unread{}; // sent by an end, and not read by the other one
	bool urgent = false;          // an urgent byte was sent
	bool ending = false;          // an end has shut something down, or is closed
};

struct Socket {
	bool listening = false;
	bool fresh = true;                   // neither listened nor connected yet
	bool rcvbuf = false, sndbuf = false; // the program has chosen it, so that it is the same
	int waiting = 0;                     // connections for accept(), at most
	std::shared_ptr<Connection> connection;
	int end = 0;
	bool accepted = false;
};

struct World {
	const char *name;
	int family, protocol;
	std::array<ops::Fd, slots> fd;
};

class Round {
public:
	Round(const Setup &setup, unsigned seed);
	void run();
	const std::vector<std::string> &trace() const
	{
		return trace_;
	}

private:
	int any(int n)
	{
		return static_cast<int>(random_() % n);
	}
	bool chance(int percent)
	{
		return any(100) < percent;
	}
	// a slot for which the condition holds, or -1
	int pick(const std::function<bool(int)> &fits);
	bool used(int slot) const
	{
		return sockets_[slot] != nullptr;
	}
	int pick_used();
	// in most cases, one that was connected
	int pick_connected(int percent);
	int pick_flags(const std::vector<Flag> &known);
	int pick_empty();

	using Call = std::function<Outcome(World &, int fd)>;
	Outcome both(int slot, const std::string &what, const Call &call);
	void settle();
	std::string observe(const World &world) const;
	bool unsent(const World &world) const;
	void note(const std::string &line);

	void begin();
	void step();
	void make(int slot);
	void bind_one();
	bool bind_to(int slot, int kind, int other);
	void listen_one(int slot);
	bool connect_one(int slot);
	bool accept_one(int slot);
	void close_one(int slot);
	void dup_one();
	void shut_one();
	bool urgent_is_next(const Socket &socket) const;
	void send_one();
	void receive_one();
	void transfer();
	void set_option();
	void get_option();
	void ask();
	void poll_one();
	void names();
	void file_flags();

	const Setup &setup_;
	std::minstd_rand random_;
	std::array<World, 2> worlds_;
	std::array<std::shared_ptr<Socket>, slots> sockets_;
	std::vector<std::string> trace_;
};

} // namespace side

#endif
