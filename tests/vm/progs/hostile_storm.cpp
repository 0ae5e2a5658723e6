/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Cases with many connections at a time that are never established. The listener and other
 * connections must not suffer.
 */
#include <thread>

#include "hostile.hpp"

namespace hostile {
namespace {

constexpr Milliseconds soon = 5s;

/* A well-behaved peer must be served at once. */
void alive_soon(Session &s)
{
	const auto start = std::chrono::steady_clock::now();

	s.check_alive();
	require(std::chrono::steady_clock::now() - start < soon, "a good peer had to wait");
}

/*
 * siw read the header of a Request in blocking mode. One peer that sent part of a header
 * stopped all connection management. Here many peers do so, in two pieces, so that there are
 * two notifications for less than a header.
 */
void half_open(Session &s)
{
	constexpr std::size_t count = 100;
	const Octets request = wire::MpaFrame{}.build();
	std::vector<Connection> connections;

	for (std::size_t i = 0; i < count; i++) {
		connections.push_back(s.connect());
		connections.back().send(View{request}.first(7));
	}
	for (Connection &connection : connections)
		connection.send(View{request}.subspan(7, 3));
	alive_soon(s);
	for (Connection &connection : connections)
		connection.expect_end(s.settings().start_limit + wire::patience);
	alive_soon(s);
}

/* A slow but steady peer must be cut off by the time limit for the whole Request. */
void slow_request(Session &s)
{
	const Octets request = request_with({}).build();
	const auto pause = s.settings().start_limit / 10;
	const auto start = std::chrono::steady_clock::now();
	Connection connection = s.connect();

	for (std::size_t i = 0; i < request.size() && !connection.readable(pause); i++) {
		try {
			connection.send(View{request}.subspan(i, 1));
		} catch (const wire::Ended &) {
			break;
		}
	}
	connection.expect_end();
	require(std::chrono::steady_clock::now() - start <= s.settings().start_limit * 2 + soon,
		"no limit for a whole Request");
}

/* More connections than the listener keeps: some are reset, and afterwards all works. */
void too_many(Session &s)
{
	constexpr std::size_t count = 400;
	std::vector<Connection> connections;

	for (std::size_t i = 0; i < count; i++) {
		try {
			connections.push_back(s.connect());
		} catch (const wire::Ended &) {}
	}
	for (Connection &connection : connections)
		connection.expect_end(s.settings().start_limit + wire::patience);
	alive_soon(s);
}

/* siw's listener died if a connection ended before it was accepted. */
void storm(Session &s, int count, const Octets &first, bool reset)
{
	for (int i = 0; i < count; i++) {
		Connection connection = s.connect();

		try {
			connection.send(first);
		} catch (const wire::Ended &) {}
		if (reset)
			connection.reset();
		else
			connection.close();
	}
	alive_soon(s);
}

/* Whole Requests fill the program's backlog. It may refuse connections until it has caught up. */
void request_storm(Session &s)
{
	try {
		storm(s, 200, wire::MpaFrame{}.build(), true);
	} catch (const Rejected &) {
		std::this_thread::sleep_for(soon);
		alive_soon(s);
	}
}

/* Right connections that end at any time. */
void short_lives(Session &s)
{
	constexpr int count = 40;

	for (int i = 0; i < count; i++) {
		Connection connection = s.establish(s.order());

		if (i % 2)
			connection.reset();
	}
	alive_soon(s);
}

} /* namespace */

std::vector<Case> storm_cases()
{
	return {
		{"C4-many-half-open", "14, siw C4", half_open},
		{"C4-slow-request", "14, RFC 5044 7.1.2 (10)", slow_request},
		{"C4-more-than-allowed", "15, siw C4", too_many},
		{"C5-connect-close", "22, siw C5", [](Session &s) { storm(s, 300, {}, false); }},
		{"C5-connect-reset", "22, siw C5", [](Session &s) { storm(s, 300, {}, true); }},
		{"C5-half-request-close", "22, siw C5",
		 [](Session &s) { storm(s, 300, Octets(10, 'M'), false); }},
		{"C5-request-reset", "22, siw C5", request_storm},
		{"short-connections", "23, RFC 5044 8 (1)", short_lives},
	};
}

} /* namespace hostile */
