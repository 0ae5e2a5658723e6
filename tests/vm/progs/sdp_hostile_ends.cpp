/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Ends in each state, right and abrupt; silence; memory that is not what was advertised. */
#include <thread>

#include "sdp_peer.hpp"

namespace hostile {
namespace {

using ual::require;
using ual::same;

/* both roles of the victim */
void both(World &world, void (*run)(Attack &attack))
{
	for (const bool passive : {true, false}) {
		{
			Attack attack{world, passive};

			run(attack);
		}
		world.nothing_left();
	}
}

/* A send that returned @n and errno was cut off. */
void is_cut_off(const Victim &victim, ssize_t n, int error)
{
	if (n >= 0)
		victim.ends(ECONNRESET);
	else
		require(error == ECONNRESET || error == EPIPE, "the error of send()");
}

void stop_sending(const Victim &victim)
{
	same(shutdown(victim.fd(), SHUT_WR), 0, "shutdown()");
}

/* Right ends ******************************************************************************* */

void peer_first(World &world)
{
	const Counters counters;

	both(world, [](Attack &a) {
		a.peer.say(Mid::data, {}, stream(3000));
		a.peer.say(Mid::disconn);
		same(a.victim.reads_until(0), std::size_t{3000}, "octets before the end");
		a.victim.send(stream(500));
		require(a.peer.hear_payload() == stream(500), "octets after the end");
		stop_sending(a.victim);
		(void)a.peer.hear(Mid::disconn);
		/* the end that sent its DisConn first and gets the other one ends the connection */
		a.peer.end();
		a.tcp.finish();
		a.victim.ends(0);
	});
	counters.expect("");
	same(counters.by("resets"), std::uint64_t{0}, "resets");
}

void victim_first(World &world)
{
	const Counters counters;

	both(world, [](Attack &a) {
		stop_sending(a.victim);
		(void)a.peer.hear(Mid::disconn);
		a.peer.say(Mid::data, {}, stream(700));
		a.peer.say(Mid::disconn);
		same(a.victim.reads_until(0), std::size_t{700}, "octets before the end");
		a.peer.closed();
		a.tcp.finish();
		a.victim.ends(0);
	});
	counters.expect("");
	same(counters.by("resets"), std::uint64_t{0}, "resets");
}

/* Abrupt ends ****************************************************************************** */

void abort_open(World &world)
{
	both(world, [](Attack &a) {
		a.peer.abort();
		a.victim.ends(ECONNRESET);
	});
}

/* the transport's connection ends in good order, and SDP's does not */
void end_open(World &world)
{
	both(world, [](Attack &a) {
		a.peer.end();
		a.victim.ends(ECONNRESET);
	});
}

/* what has arrived is still there */
void abort_unread(World &world)
{
	both(world, [](Attack &a) {
		a.peer.say(Mid::data, {}, stream(5000));
		a.victim.receives(stream(1000));
		a.peer.abort();
		require(a.victim.reads_until(ECONNRESET) <= 4000, "what was sent");
	});
}

void abort_after_own_end(World &world)
{
	both(world, [](Attack &a) {
		a.peer.say(Mid::disconn);
		same(a.victim.reads_until(0), std::size_t{0}, "octets");
		a.peer.abort();
		a.victim.ends(EPIPE);
	});
}

void abort_message(World &world)
{
	const Counters counters;

	both(world, [](Attack &a) {
		a.peer.say(Mid::disconn);
		a.peer.say(Mid::abort);
		a.victim.ends(EPIPE);
		a.peer.closed();
	});
	counters.expect("");
}

void abort_after_victims_end(World &world)
{
	both(world, [](Attack &a) {
		stop_sending(a.victim);
		(void)a.peer.hear(Mid::disconn);
		a.peer.abort();
		a.victim.ends(ECONNRESET);
	});
}

void abort_after_both_ends(World &world)
{
	both(world, [](Attack &a) {
		a.peer.say(Mid::disconn);
		same(a.victim.reads_until(0), std::size_t{0}, "octets");
		stop_sending(a.victim);
		(void)a.peer.hear(Mid::disconn);
		a.peer.abort();
		a.tcp.finish();
		a.victim.ends(0);
	});
}

void abort_while_sending(World &world)
{
	both(world, [](Attack &a) {
		const Octets much(1 << 20);
		ssize_t n = 0;
		int error = 0;
		std::thread writer{[&] {
			n = send(a.victim.fd(), much.data(), much.size(), MSG_NOSIGNAL);
			error = errno;
		}};

		a.peer.settle(50ms);
		a.peer.abort();
		writer.join();
		is_cut_off(a.victim, n, error);
	});
}

/* close() with unread data aborts; after the victim's DisConn, by a message */
void victim_aborts(World &world)
{
	both(world, [](Attack &a) {
		a.peer.say(Mid::data, {}, stream(100));
		a.victim.receives(stream(10));
		a.victim.close();
		a.peer.closed();
	});
	both(world, [](Attack &a) {
		stop_sending(a.victim);
		(void)a.peer.hear(Mid::disconn);
		a.peer.say(Mid::data, {}, stream(100));
		a.victim.receives(stream(10));
		a.victim.close();
		(void)a.peer.hear(Mid::abort);
		a.peer.closed();
	});
}

/* Silence ********************************************************************************** */

void silent_reader(World &world)
{
	const Counters counters;

	both(world, [](Attack &a) {
		const Octets much(1 << 16);
		ssize_t n = 0;
		std::size_t all = 0;

		/* no credits any more */
		Draft draft = a.peer.draft(Mid::data);
		draft.bufs = 0;
		a.peer.transmit(draft);
		std::this_thread::sleep_for(100ms);
		do {
			n = send(a.victim.fd(), much.data(), much.size(),
				 MSG_DONTWAIT | MSG_NOSIGNAL);
			all += n > 0 ? static_cast<std::size_t>(n) : 0;
			require(all < 4 << 20, "an end of the send buffer");
		} while (n > 0);
		same(errno, EAGAIN, "a full send buffer");
		a.victim.close();
		/* after close_timeout_s */
		a.peer.closed();
	});
	same(counters.by("timeouts"), std::uint64_t{2}, "timeouts");
	counters.expect("");
}

void end_unanswered(World &world)
{
	both(world, [](Attack &a) {
		a.victim.close();
		(void)a.peer.hear(Mid::disconn);
		a.peer.closed();
	});
}

/* the peer does not end the transport's connection */
void last_end_missing(World &world)
{
	both(world, [](Attack &a) {
		a.peer.say(Mid::disconn);
		same(a.victim.reads_until(0), std::size_t{0}, "octets");
		a.victim.close();
		(void)a.peer.hear(Mid::disconn);
		a.peer.closed();
	});
}

/* bytes behind close() */
void never_stops(World &world)
{
	both(world, [](Attack &a) {
		a.victim.close();
		(void)a.peer.hear(Mid::disconn);
		a.peer.say(Mid::data, {}, stream(100));
		(void)a.peer.hear(Mid::abort);
		a.peer.closed();
	});
}

void suspended(World &world)
{
	const Counters counters;

	both(world, [](Attack &a) {
		a.peer.say(Mid::suspend, big(0x123456789abcdef0, 8));
		(void)a.peer.hear(Mid::suspend_ack);
		a.victim.send(stream(100));
		a.peer.settle(200ms);
		/* what arrives is read, what was sent waits */
		a.peer.say(Mid::data, {}, stream(50));
		a.victim.receives(stream(50));
		a.peer.abort();
		a.victim.ends(ECONNRESET);
	});
	both(world, [](Attack &a) {
		a.peer.say(Mid::suspend, big(1, 8));
		(void)a.peer.hear(Mid::suspend_ack);
		a.victim.send(stream(100));
		a.victim.close();
		a.peer.closed();
	});
	counters.expect("");
}

/* Memory *********************************************************************************** */

/* The peer refuses the Read, and with it the connection. */
void reads_of(World &world, Octets (*offer)(const Peer &peer))
{
	static Octets (*advertised)(const Peer &);

	advertised = offer;
	both(world, [](Attack &a) {
		a.peer.say(Mid::src_avail, advertised(a.peer), stream(100));
		const std::size_t came = a.victim.reads_until(ECONNRESET);
		require(came >= 100 && came <= memory_size + 100, "octets that came");
		a.peer.closed();
	});
}

void size_lies(World &world)
{
	reads_of(world, [](const Peer &peer) { return peer.advertise(0xffffffff); });
	reads_of(world, [](const Peer &peer) { return peer.advertise(memory_size + 1000000); });
}

void key_lies(World &world)
{
	reads_of(world, [](const Peer &) { return word(100000) + word(0) + big(0, 8); });
	reads_of(world, [](const Peer &) {
		return word(100000) + word(0xffffffff) + big(0xffffffffffffff00, 8);
	});
}

/* More than the receives that are posted: the RNIC ends it, or SDP. */
void flood(World &world)
{
	both(world, [](Attack &a) {
		for (int i = 0; i < 200; i++)
			a.peer.say(Mid::data, {}, stream(20000));
		a.peer.closed();
		(void)a.victim.reads_until(ECONNRESET);
	});
}

/* longer than the victim's private buffers */
void long_message(World &world)
{
	both(world, [](Attack &a) {
		a.peer.say(Mid::data, {}, stream(60000));
		a.peer.closed();
		a.victim.ends(ECONNRESET);
	});
}

/* the peer's receives are smaller than it said */
void small_receives(World &world)
{
	for (int i = 0; i < 2; i++) {
		Peer peer{world};
		const Ends ends = world.connected(true);
		Draft draft = ends.tcp.hello();

		put(draft, 24, word(0xffffffff));
		draft.bufs = 0xffff;
		peer.connect(draft.octets());
		peer.established(ends.tcp);
		peer.say(Mid::data);
		change(peer, ends.tcp, ends.victim);
		const Octets much(100000);
		/* its RNIC ends the connection */
		const ssize_t n = send(ends.victim.fd(), much.data(), much.size(), MSG_NOSIGNAL);
		is_cut_off(ends.victim, n, errno);
	}
}

} /* namespace */

const std::vector<Check> end_checks{
	{"the peer ends first", peer_first},
	{"the victim ends first", victim_first},
	{"abrupt", abort_open},
	{"without DisConn", end_open},
	{"abrupt, with unread octets", abort_unread},
	{"abrupt after the own end", abort_after_own_end},
	{"AbortConn", abort_message},
	{"abrupt after the victim's end", abort_after_victims_end},
	{"abrupt after both ends", abort_after_both_ends},
	{"abrupt while the victim sends", abort_while_sending},
	{"the victim aborts", victim_aborts},
	{"a peer that gives no credits", silent_reader},
	{"DisConn unanswered", end_unanswered},
	{"the last end is missing", last_end_missing},
	{"octets after close()", never_stops},
	{"SuspComm", suspended},
	{"SrcAvail of a length that lies", size_lies},
	{"SrcAvail with a wrong STag", key_lies},
	{"a flood", flood},
	{"a message that is too long", long_message},
	{"receives that are too small", small_receives},
};

} /* namespace hostile */
