/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Memory of the victim's program that the peer is told of: what its address says, and a peer that
 * invalidates it with the message that ends its use.
 *
 * Such a message may reach the victim or not: its RNIC may refuse the invalidation, and then ends
 * the connection. Either way the host goes on, and nothing is left.
 */
#include <thread>

#include <linux/errqueue.h>
#include <poll.h>

#include "sdp_peer.hpp"

namespace hostile {
namespace {

using ual::require;
using ual::same;

constexpr std::size_t transfer = 200000;
/* so that the memory begins inside a page */
constexpr std::size_t odd = 77;
constexpr int sol_sdp = 1025, zcopy_write = 81;

/* No address of the victim's host: the offset in a page, at most. */
void discloses_nothing(const Message &offer)
{
	require(offer.va < 4096, "an address that does not tell where the memory is");
}

/* Both roles of the victim; the connections need not end in the same way. */
void both(World &world, void (*run)(Attack &attack))
{
	for (const bool passive : {true, false}) {
		{
			Attack attack{world, passive};

			run(attack);
			attack.peer.abort();
		}
		world.nothing_left();
	}
}

/* What a call of the victim has returned: all, or the end of its connection. */
void all_or_end(ssize_t n, int error)
{
	if (n >= 0)
		same(n, static_cast<ssize_t>(transfer), "octets");
	else
		require(error == ECONNRESET || error == EPIPE, "the error of the call");
}

/* The peer says that it has read what it has invalidated. */
void claims_to_have_read(Peer &peer)
{
	const Message offer = peer.hear(Mid::src_avail);

	discloses_nothing(offer);
	const auto rest = offer.value - static_cast<std::uint32_t>(offer.payload.size());

	peer.say_invalidating(offer.rkey, Mid::read_compl, word(rest));
}

void source_invalidated(World &world)
{
	both(world, [](Attack &a) {
		const Octets memory(odd + transfer);
		ssize_t n = 0;
		int error = 0;
		std::thread writer{[&] {
			n = send(a.victim.fd(), memory.data() + odd, transfer, MSG_NOSIGNAL);
			error = errno;
		}};

		claims_to_have_read(a.peer);
		writer.join();
		all_or_end(n, error);
	});
}

/* the completion of a send with MSG_ZEROCOPY, which no thread waits for */
void notified_source_invalidated(World &world)
{
	both(world, [](Attack &a) {
		const Octets memory(odd + transfer);

		require(ops::set_option(a.victim.fd(), SOL_SOCKET, SO_ZEROCOPY, 1), "SO_ZEROCOPY");
		same(send(a.victim.fd(), memory.data() + odd, transfer,
			  MSG_ZEROCOPY | MSG_NOSIGNAL),
		     static_cast<ssize_t>(transfer), "octets sent with MSG_ZEROCOPY");
		claims_to_have_read(a.peer);
		/* the notification, or the end */
		pollfd p{.fd = a.victim.fd(), .events = 0, .revents = 0};
		same(poll(&p, 1, 20000), 1, "the memory comes back");
	});
}

void sink_invalidated(World &world)
{
	both(world, [](Attack &a) {
		Octets memory(odd + transfer);
		ssize_t n = 0;
		int error = 0;

		require(ops::set_option(a.victim.fd(), sol_sdp, zcopy_write, 1), "SDP_ZCOPY_WRITE");
		a.peer.say(Mid::mode_change, mode(false, 2));
		a.peer.settle(50ms);
		std::thread reader{[&] {
			n = recv(a.victim.fd(), memory.data() + odd, transfer, MSG_WAITALL);
			error = errno;
		}};
		const Message offer = a.peer.hear(Mid::sink_avail);
		discloses_nothing(offer);
		a.peer.say_invalidating(offer.rkey, Mid::write_compl, word(offer.value));
		reader.join();
		all_or_end(n, error);
	});
}

/* no key of the victim: its RNIC ends the connection */
void guessed_key_invalidated(World &world)
{
	both(world, [](Attack &a) {
		a.peer.say_invalidating(0x12345678, Mid::data, {});
		a.peer.closed();
		a.victim.ends(ECONNRESET);
	});
}

} /* namespace */

const std::vector<Check> memory_checks{
	{"RdmaRdCompl that invalidates the source", source_invalidated},
	{"RdmaRdCompl that invalidates a source of MSG_ZEROCOPY", notified_source_invalidated},
	{"RdmaWrCompl that invalidates the sink", sink_invalidated},
	{"a wrong key invalidated", guessed_key_invalidated},
};

} /* namespace hostile */
