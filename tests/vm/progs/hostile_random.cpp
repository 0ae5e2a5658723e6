/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Random mutations of right frames, which can be repeated with their seed. The victim must
 * answer in whole and right FPDUs, end the stream in time, and lose no work request. Memory
 * must stay as it was where the peer has no right to write.
 */
#include <algorithm>
#include <random>

#include "hostile.hpp"

namespace hostile {
namespace {

using wire::fpdu;
using wire::Segment;

/** class Chance - random choices */
class Chance {
public:
	explicit Chance(std::uint32_t seed) : engine_{seed}
	{}
	/* 0 to @limit - 1; the same on all systems, unlike the distributions of the standard */
	std::size_t below(std::size_t limit)
	{
		return engine_() % limit;
	}
	bool one_in(std::size_t n)
	{
		return below(n) == 0;
	}
	std::uint8_t octet()
	{
		return static_cast<std::uint8_t>(engine_());
	}
	template <typename T> const T &of(const std::vector<T> &choices)
	{
		return choices[below(choices.size())];
	}

private:
	std::mt19937 engine_;
};

struct Stream {
	std::uint32_t send_msn = 1;
	std::uint32_t read_msn = 1;
};

/* A segment that is right at this place of the stream. */
Segment right_segment(const Session &s, Chance &chance, Stream &stream)
{
	const Target &both = s[victim::both];
	const std::size_t offset = chance.below(victim::region_size - 2048);
	const Octets some(chance.below(1500), chance.octet());

	switch (chance.below(8)) {
	case 0:
		return wire::write(0, 0, {});
	case 1:
	case 2:
		return wire::read_request(stream.read_msn++,
					  {.sink_stag = 1,
					   .size = static_cast<std::uint32_t>(chance.below(2000)),
					   .source_stag = both.stag,
					   .source_to = both.to + offset});
	case 3:
	case 4:
		return wire::write(both.stag, both.to + offset, some);
	case 5:
		return wire::terminate(static_cast<std::uint16_t>(chance.octet() << 8));
	default:
		return wire::send(stream.send_msn++,
				  View{some}.first(std::min<std::size_t>(some.size(), 64)));
	}
}

/* Write values at the edges of integer arithmetic over some field. */
void put_edge(Octets &octets, Chance &chance)
{
	static const std::vector<Octets> edges{
		Octets(4, 0x00),          Octets(4, 0xff),          {0x7f, 0xff, 0xff, 0xff},
		{0x80, 0x00, 0x00, 0x00}, Octets(8, 0xff),          {0x00, 0x00, 0x00, 0x01},
		{0xff, 0xff, 0xff, 0xfe}, {0x00, 0x00, 0x10, 0x00},
	};
	const Octets &edge = chance.of(edges);

	if (octets.size() <= edge.size())
		return;
	std::ranges::copy(edge, octets.begin() + static_cast<long>(chance.below(octets.size() -
										edge.size())));
}

/* Flip bits near the front, where the headers are. */
void flip(Octets &octets, Chance &chance)
{
	for (std::size_t n = 1 + chance.below(3); n && !octets.empty(); n--) {
		const std::size_t reach =
			chance.one_in(4) ? octets.size() : std::min<std::size_t>(octets.size(), 46);

		octets[chance.below(reach)] ^= static_cast<std::uint8_t>(1U << chance.below(8));
	}
}

Octets mutated(const Segment &right, Chance &chance)
{
	Octets ulpdu = right.build();
	Octets frame;

	switch (chance.below(8)) {
	case 0: /* shorter */
		ulpdu.resize(chance.below(ulpdu.size()));
		return fpdu(ulpdu);
	case 1: /* longer */
		ulpdu.resize(ulpdu.size() + chance.below(100), chance.octet());
		return fpdu(ulpdu);
	case 2:
		put_edge(ulpdu, chance);
		return fpdu(ulpdu);
	case 3: /* wrong CRC, perhaps wrong length */
		frame = fpdu(ulpdu);
		flip(frame, chance);
		return frame;
	case 4: /* not even framed */
		frame = Octets(chance.below(200));
		std::ranges::generate(frame, [&chance] { return chance.octet(); });
		return frame;
	case 5:
		return fpdu(ulpdu, chance.octet());
	default:
		flip(ulpdu, chance);
		return fpdu(ulpdu);
	}
}

/* Send in random pieces. The victim may end the stream before the last one. */
void send_somehow(Connection &connection, const Octets &octets, Chance &chance)
{
	try {
		if (chance.one_in(4))
			connection.dribble(octets, 1 + octets.size() / (1 + chance.below(20)));
		else
			connection.send(octets);
	} catch (const wire::Ended &) {}
}

/* Receive until the end: Read Responses, then at most one Terminate. */
void check_answers(Connection &connection)
{
	bool terminated = false;

	try {
		for (;;) {
			const Segment g = wire::parse_segment(connection.receive_fpdu());

			require(!terminated, "octets behind a Terminate");
			require(g.opcode == wire::op_read_response ||
					g.opcode == wire::op_terminate,
				"unasked: " + wire::hex(g.build()));
			terminated = g.opcode == wire::op_terminate;
		}
	} catch (const wire::Ended &) {}
}

/*
 * A peer on the same host sends pages and then changes them: ULPDU_Length has different values
 * at different times. The victim must read it once.
 */
void length_that_changes(Session &s)
{
	for (int round = 0; round < 40; round++) {
		const Order order = s.order(16);
		Connection connection = s.establish(order);
		const Octets frame = fpdu(wire::terminate(0x1000));

		connection.send_changing(frame, 0, frame[0] ^ 0x04, 20ms);
		connection.shut_write();
		check_answers(connection);
		connection.close();
		s.check_end(order, {.changed = "*"});
	}
	s.check_alive();
}

void random_stream(Session &s, Chance &chance)
{
	const Order order = s.order(16);
	Connection connection = s.establish(order);
	Stream stream;
	Octets all;

	for (std::size_t n = 1 + chance.below(8); n; n--) {
		const Segment right = right_segment(s, chance, stream);

		all = wire::join({all, chance.one_in(2) ? mutated(right, chance) : fpdu(right)});
	}
	send_somehow(connection, all, chance);
	if (chance.one_in(8)) {
		connection.reset();
	} else {
		connection.shut_write();
		check_answers(connection);
		connection.close();
	}
	s.check_end(order, {.changed = "*"});
}

/* Send a mutated Request. It has its own order, so that no wait is for its lines. */
void random_request(Session &s, Chance &chance)
{
	const bool enhanced = chance.one_in(2);
	wire::MpaFrame request{.data = Octets(chance.below(20), chance.octet())};
	Octets octets;

	if (enhanced) {
		request.flags |= wire::mpa::S;
		request.revision = 2;
	}
	octets = request.build();
	if (chance.one_in(2))
		flip(octets, chance);
	else if (chance.one_in(2))
		put_edge(octets, chance);
	else
		octets.resize(chance.below(octets.size() + 8), chance.octet());

	Connection connection = s.connect();
	send_somehow(connection, octets, chance);
	connection.shut_write();
	try {
		(void)connection.receive_mpa(wire::mpa::reply_key);
		connection.expect_end();
	} catch (const wire::Ended &) {}
}

/* Repeat until the count or the time is reached. A failure has the number of its round. */
void rounds(Session &s, void (*round)(Session &, Chance &))
{
	const auto end =
		std::chrono::steady_clock::now() + std::chrono::seconds{s.settings().seconds};
	unsigned int i = 0;

	for (; i < s.settings().rounds && std::chrono::steady_clock::now() < end; i++) {
		const std::uint32_t seed = s.settings().seed + i;
		Chance chance{seed};

		try {
			round(s, chance);
		} catch (const Failure &failure) {
			throw Failure{"seed " + std::to_string(seed) + ": " + failure.what()};
		}
	}
	require(i > 0, "no time for a round");
	s.check_alive();
}

} /* namespace */

std::vector<Case> random_cases()
{
	return {
		{"random-requests", "RFC 5044 7.1", [](Session &s) { rounds(s, random_request); }},
		{"random-fpdus", "RFC 5040, 5041, 5044",
		 [](Session &s) { rounds(s, random_stream); }},
		{"length-that-changes", "RFC 5044 4.1", length_that_changes},
	};
}

} /* namespace hostile */
