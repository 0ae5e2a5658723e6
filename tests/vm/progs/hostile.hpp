/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The hostile peer's cases, and their common part: connections to the victim, the victim's
 * output, and checks of exact answers. Each hostile_*.cpp has one table of cases.
 * krdma_hostile.cpp runs them. A case that returns has passed. A Failure says what was wrong.
 */
#ifndef KRDMA_TEST_HOSTILE_HPP
#define KRDMA_TEST_HOSTILE_HPP

#include <cstdint>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "victim.hpp"
#include "wire.hpp"

namespace hostile {

using namespace std::chrono_literals;
using victim::Order;
using wire::Connection;
using wire::Failure;
using wire::Milliseconds;
using wire::Octets;
using wire::View;

/* a Reply with R=1 came instead of a connection */
struct Rejected : Failure {
	using Failure::Failure;
};

/** struct Settings - from the command line */
struct Settings {
	std::string address; /* of the victim, or to listen on */
	std::uint16_t port = 7471;
	std::string log;      /* file with the victim's output */
	std::string counters; /* folder of its RNIC's counters; "": they are not checked */
	std::uint32_t seed = 1;
	unsigned int rounds = 300;
	unsigned int seconds = 60;      /* for the random rounds */
	Milliseconds start_limit = 5s;  /* mpa_request_timeout_ms of the victim */
	Milliseconds reply_limit = 10s; /* mpa_reply_timeout_ms */
	std::uint32_t depth = 4;        /* inbound reads of the victim */
};

/** class Line - one line of the victim's output */
class Line {
public:
	explicit Line(std::string text) : text_{std::move(text)}
	{}
	[[nodiscard]] std::uint64_t number(const std::string &key) const;
	[[nodiscard]] std::string text(const std::string &key) const;
	[[nodiscard]] bool is(const std::string &event) const
	{
		return text_.starts_with(R"({"event":")" + event + '"');
	}
	[[nodiscard]] const std::string &all() const
	{
		return text_;
	}

private:
	std::string text_;
};

/** class Log - the victim's output as it grows */
class Log {
public:
	explicit Log(const std::string &path);
	/* the next line of that kind, and with that id if one is given */
	[[nodiscard]] Line next(const std::string &event, std::optional<std::uint32_t> id = {},
				Milliseconds limit = wire::patience);
	/* forget what was printed so far */
	void skip();

private:
	[[nodiscard]] std::optional<Line> read_line();

	std::ifstream file_;
	std::string partial_;
};

/** struct Target - a region of the victim */
struct Target {
	victim::Region region;
	std::uint32_t stag;
	std::uint64_t to;

	[[nodiscard]] std::uint64_t end() const
	{
		return to + victim::region_size;
	}
	/* its contents from @offset on */
	[[nodiscard]] Octets content(std::size_t offset, std::size_t count) const;
};

/**
 * struct After - what the victim must report of a connection
 * @receives_ok: number of receives with success
 * @receive_error: part of the status of the receive that failed; "": none failed
 * @send_error: the same for sends
 * @changed: changed regions, as the victim prints them, without the receive buffers if there
 *	     was a message to receive; "*": random input, with any number of receives and any
 *	     change that the peer has the right to make
 * @async: part of the names of the asynchronous events; "": the event that belongs to @code
 * @result: part of the text about the end of the stream; "": any
 * @code: code of the Terminate that the victim sent; 0: it sent none
 * @queue: QN of the refused segment, if the event depends on it
 * @access: the refusal counts as an access error; absent: according to @code
 */
struct After {
	unsigned int receives_ok = 0;
	std::string_view receive_error = {};
	std::string_view send_error = {};
	std::string_view changed = {};
	std::string_view async = {};
	std::string_view result = {};
	std::uint16_t code = 0;
	std::uint32_t queue = 0;
	std::optional<bool> access = {};
};

/** class Counters - the error counters of the victim's RNIC */
class Counters {
public:
	using Values = std::map<std::string, std::uint64_t>;

	/* @folder: hw_counters of sysfs */
	explicit Counters(std::string folder) : folder_{std::move(folder)}
	{}
	/* Count differences from now on. */
	void begin();
	/* Exactly these counters have increased since then. They may need a moment. */
	void expect(const Values &moved) const;

private:
	[[nodiscard]] Values read() const;

	std::string folder_;
	Values before_;
};

/** class Session - the hostile peer's access to the victim */
class Session {
public:
	explicit Session(const Settings &settings);

	[[nodiscard]] const Settings &settings() const
	{
		return settings_;
	}
	[[nodiscard]] Log &log()
	{
		return log_;
	}
	[[nodiscard]] const Target &operator[](victim::Region region) const
	{
		return targets_.at(region);
	}

	/* TCP only */
	[[nodiscard]] Connection connect(int receive_buffer = 0) const
	{
		return Connection::to(settings_.address, settings_.port, receive_buffer);
	}
	/* Create the next order. Its id identifies the victim's lines of this connection. */
	[[nodiscard]] Order order(std::uint8_t receives = 8, std::uint16_t wishes = 0);
	/* connected, with CRC and without markers; revision 1 */
	[[nodiscard]] Connection establish(const Order &order, int receive_buffer = 0);
	/* Check the victim's last line of that connection. */
	void check_end(const Order &order, const After &after);
	/* Check that a well-behaved connection works. */
	void check_alive();
	/* Check the error counters since the last order(). */
	void check_counters(const Counters::Values &moved) const
	{
		counters_.expect(moved);
	}

private:
	Settings settings_;
	Log log_;
	Counters counters_;
	std::vector<Target> targets_;
	std::uint32_t last_id_ = 0;
};

[[nodiscard]] wire::MpaFrame request_with(const Order &order);

/* Throws if @ok is false. */
void require(bool ok, const std::string &what);
/* Exactly these bytes must come next. */
void expect_octets(Connection &connection, View wanted, std::string_view what);
/* This Terminate must come next, and then the end without another byte. */
void expect_terminate(Connection &connection, const wire::Segment &wanted);
/*
 * A zero-length Read must be answered. Then all messages before it were handled, and the stream
 * still works.
 */
void expect_alive(Connection &connection, std::uint32_t read_msn = 1);

/** struct Case - an entry of a table */
struct Case {
	std::string name;
	std::string source; /* numbers of docs/conformance.md, RFC and section */
	std::function<void(Session &)> run;
};

[[nodiscard]] std::vector<Case> startup_cases();
[[nodiscard]] std::vector<Case> segment_cases();
[[nodiscard]] std::vector<Case> stream_cases();
[[nodiscard]] std::vector<Case> rfc7306_cases();
[[nodiscard]] std::vector<Case> storm_cases();
[[nodiscard]] std::vector<Case> random_cases();
[[nodiscard]] std::vector<Case> pair_cases();
[[nodiscard]] std::vector<Case> terminate_cases();
[[nodiscard]] std::vector<Case> delivery_cases();
[[nodiscard]] std::vector<Case> marker_cases();
[[nodiscard]] std::vector<Case> nocrc_cases();

/** struct InitiatorCase - a case in which the victim connects */
struct InitiatorCase {
	std::string name;
	std::string source;
	std::function<void(Session &, wire::Listener &)> run;
};
[[nodiscard]] std::vector<InitiatorCase> initiator_cases();

} /* namespace hostile */

#endif /* KRDMA_TEST_HOSTILE_HPP */
