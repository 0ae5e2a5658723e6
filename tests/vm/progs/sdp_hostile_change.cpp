/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The change from TCP to the road: the first octets of a direction on the road, right and wrong,
 * and TCP's end beside it. The road is open, and the victim's own direction is TCP's where nothing
 * else is said.
 */
#include <poll.h>

#include <thread>

#include "sdp_peer.hpp"

namespace hostile {
namespace {

using ual::require;
using ual::same;

/** struct Open - a connection whose road is open, and nothing has changed to it */
struct Open {
	Open(const World &world, bool passive) : ends{world.connected(passive)}, peer{world}
	{
		if (passive)
			peer.opens(ends.tcp);
		else
			peer.answers(ends.tcp);
	}
	void says(const Octets &octets)
	{
		peer.say(Mid::data, {}, octets);
	}

	Ends ends;
	Peer peer;
};

void both(World &world, void (*run)(Open &open))
{
	for (const bool passive : {true, false}) {
		{
			Open open{world, passive};

			run(open);
		}
		world.nothing_left();
	}
}

/* Nothing can be read, and nothing has ended. */
void has_nothing(const Victim &victim)
{
	std::uint8_t octet = 0;

	std::this_thread::sleep_for(200ms);
	same(recv(victim.fd(), &octet, 1, MSG_DONTWAIT), ssize_t{-1}, "octets to read");
	same(errno, EAGAIN, "nothing to read");
}

void wrong_magic(World &world)
{
	both(world, [](Open &o) {
		o.says(Octets{'K', 'R', 'D', 'N'} + word(o.ends.tcp.x()) + stream(100));
		o.ends.victim.ends(EPROTO);
		o.peer.closed();
	});
}

/* TCP has brought octets behind that place: nobody who sends knows it */
void behind(World &world)
{
	both(world, [](Open &o) {
		o.ends.tcp.send(stream(100));
		o.ends.victim.receives(stream(100));
		o.says(header(o.ends.tcp.x() - 50) + stream(100));
		o.ends.victim.ends(EPROTO);
		o.peer.closed();
	});
	both(world, [](Open &o) {
		o.ends.tcp.send(stream(100));
		o.ends.victim.receives(stream(100));
		o.says(header(o.ends.tcp.x() + 0x80000000) + stream(100));
		o.ends.victim.ends(EPROTO);
	});
}

/* ... unread ones, too */
void behind_unread(World &world)
{
	both(world, [](Open &o) {
		pollfd p{.fd = o.ends.victim.fd(), .events = POLLIN, .revents = 0};

		o.ends.tcp.send(stream(100));
		same(poll(&p, 1, 20000), 1, "octets arrive");
		o.says(header(o.ends.tcp.x() - 50) + stream(100));
		o.ends.victim.ends(EPROTO);
	});
}

/* TCP's last octets may come after those of the road. */
void ahead(World &world)
{
	both(world, [](Open &o) {
		o.says(header(o.ends.tcp.x() + 50) + stream(100, 50));
		has_nothing(o.ends.victim);
		o.ends.tcp.send(stream(50));
		o.ends.victim.receives(stream(150));
		o.peer.abort();
		o.ends.victim.ends(ECONNRESET);
	});
}

/* A place that TCP never reaches: TCP's octets arrive, those of the road never. */
void beyond_window(World &world)
{
	both(world, [](Open &o) {
		o.says(header(o.ends.tcp.x() + 0x7fffffff) + stream(100));
		has_nothing(o.ends.victim);
		o.ends.tcp.send(stream(2000));
		o.ends.victim.receives(stream(2000));
		has_nothing(o.ends.victim);
		o.peer.abort();
		o.ends.victim.ends(ECONNRESET);
	});
}

/* what TCP brings behind the place is no part of the stream */
void tcp_goes_on_behind(World &world)
{
	both(world, [](Open &o) {
		o.says(header(o.ends.tcp.x()) + stream(100));
		o.ends.victim.receives(stream(100));
		o.ends.tcp.send(Octets(1000, 0xee));
		has_nothing(o.ends.victim);
		o.says(stream(100, 100));
		o.ends.victim.receives(stream(100, 100));
		o.ends.victim.close();
		o.peer.closed();
	});
}

void in_pieces(World &world)
{
	both(world, [](Open &o) {
		const Octets octets = header(o.ends.tcp.x()) + stream(3);

		for (const std::uint8_t octet : octets) {
			o.peer.settle(0ms);
			for (int tries = 0; o.peer.credits() <= 2; tries++) {
				require(tries < 200, "credits");
				o.peer.settle(50ms);
			}
			o.says({octet});
		}
		o.ends.victim.receives(stream(3));
		o.peer.abort();
		o.ends.victim.ends(ECONNRESET);
	});
}

/* half a header: the end of the road, and TCP's */
void half_header(World &world)
{
	both(world, [](Open &o) {
		o.says({'K', 'R', 'D', 'M'});
		o.peer.say(Mid::disconn);
		o.ends.tcp.finish();
		same(o.ends.victim.reads_until(0), std::size_t{0}, "octets");
		o.ends.victim.close();
		(void)o.peer.hear(Mid::disconn);
		o.peer.end();
	});
	both(world, [](Open &o) {
		o.says({'K', 'R', 'D', 'M'});
		has_nothing(o.ends.victim);
		o.peer.abort();
		o.ends.victim.ends(ECONNRESET);
	});
}

/* the peer's direction alone has changed when the road breaks */
void aborted_behind_header(World &world)
{
	both(world, [](Open &o) {
		o.says(header(o.ends.tcp.x()));
		has_nothing(o.ends.victim);
		o.peer.abort();
		o.ends.victim.ends(ECONNRESET);
	});
}

/* TCP's reset is the connection's. */
void tcp_resets(World &world)
{
	both(world, [](Open &o) {
		o.says(header(o.ends.tcp.x()) + stream(100));
		o.ends.victim.receives(stream(100));
		o.ends.tcp.reset();
		o.ends.victim.ends(ECONNRESET);
		o.peer.closed();
	});
}

/* TCP's FIN may overtake octets of the road. */
void fin_overtakes(World &world)
{
	both(world, [](Open &o) {
		o.says(header(o.ends.tcp.x()) + stream(100));
		o.ends.victim.receives(stream(100));
		o.ends.tcp.finish();
		has_nothing(o.ends.victim);
		o.says(stream(500));
		o.ends.victim.receives(stream(500));
		o.peer.say(Mid::disconn);
		same(o.ends.victim.reads_until(0), std::size_t{0}, "octets at the end");
		o.ends.victim.close();
		(void)o.peer.hear(Mid::disconn);
		o.peer.end();
	});
}

/* ... and the end of the road may never come: the break of the road ends the waiting */
void fin_alone(World &world)
{
	both(world, [](Open &o) {
		o.says(header(o.ends.tcp.x()) + stream(100));
		o.ends.victim.receives(stream(100));
		o.ends.tcp.finish();
		has_nothing(o.ends.victim);
		o.peer.abort();
		same(o.ends.victim.reads_until(ECONNRESET), std::size_t{0}, "octets");
	});
}

} /* namespace */

const std::vector<Check> change_checks{
	{"a wrong magic number", wrong_magic},
	{"a change behind what TCP brought", behind},
	{"a change behind unread octets", behind_unread},
	{"a change ahead of TCP", ahead},
	{"a change beyond the window", beyond_window},
	{"TCP goes on behind the change", tcp_goes_on_behind},
	{"the change in pieces", in_pieces},
	{"half a change", half_header},
	{"aborted behind the change", aborted_behind_header},
	{"TCP's reset beside the road", tcp_resets},
	{"TCP's FIN overtakes the road", fin_overtakes},
	{"TCP's FIN without an end of the road", fin_alone},
};

} /* namespace hostile */
