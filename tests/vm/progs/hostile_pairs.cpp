/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Every message that a peer can send, with each fault, alone and with every other fault. The
 * Terminate must be about the fault that is checked first. The counter, the asynchronous event
 * and the completion must belong to this fault.
 *
 * The order of the checks: MPA before DDP (RFC 5044 8), the control bytes before the rest,
 * because they say how to read it, and the rest in the order of RFC 5041 7.1 and RFC 5040 7.2.
 */
#include "hostile.hpp"

namespace hostile {
namespace {

using wire::AtomicRequest;
using wire::fpdu;
using wire::ReadRequest;
using wire::Segment;

enum Kind : std::uint8_t {
	kind_write = 1,
	kind_send = 2,
	kind_read = 4,
	kind_atomic = 8,
	kind_imm = 16,
	kind_read_response = 32,
	kind_atomic_response = 64,
};

constexpr unsigned int tagged_kinds = kind_write | kind_read_response;
constexpr unsigned int untagged_kinds =
	kind_send | kind_read | kind_atomic | kind_imm | kind_atomic_response;
constexpr unsigned int all_kinds = tagged_kinds | untagged_kinds;
constexpr unsigned int requests = kind_read | kind_atomic;
constexpr unsigned int fixed_kinds = untagged_kinds & ~unsigned{kind_send};
constexpr unsigned int placed_kinds = kind_write | requests;

/* The part that a fault changes. Two faults of the same part cannot be combined. */
enum class Field : std::uint8_t {
	crc,
	length,
	dv,
	rv,
	opcode,
	qn,
	last,
	op,
	msn,
	buffer,
	mo,
	stag,
	place,
	id
};

enum class Place : std::uint8_t { inside, wraps, beyond, before, unaligned };

/** struct Message - a message that is right until faults are put into it */
struct Message {
	Kind kind;
	Segment g;
	victim::Region region;
	Place place = Place::inside;
	std::uint32_t stag_flip = 0;
	int longer = 0; /* bytes of payload */
	bool headless = false;
	bool spoiled = false;
	bool bad_op = false;
	std::uint8_t receives = 8;
};

/**
 * struct Fault - a fault of a message
 * @name: name in the verdict
 * @kinds: the kinds of messages that can have it
 * @field: the part that it changes
 * @code: code of the Terminate
 * @put: puts the fault into a message
 * @error: status of the receive or send to which the message belongs
 */
struct Fault {
	const char *name;
	unsigned int kinds;
	Field field;
	std::uint16_t code;
	void (*put)(Message &m);
	std::string_view error = {};
};

victim::Region without_right(Kind kind)
{
	switch (kind) {
	case kind_write:
		return victim::read;
	case kind_read:
		return victim::write;
	default:
		return victim::both;
	}
}

constexpr unsigned int direct = kind_read | kind_atomic;

/* in the order in which the victim checks them */
const Fault faults[] = {
	{"CRC", all_kinds, Field::crc, 0x2002, [](Message &m) { m.spoiled = true; }},
	{"header cut short", all_kinds, Field::length, 0x2003,
	 [](Message &m) { m.headless = true; }},
	{"DDP version", tagged_kinds, Field::dv, 0x1104, [](Message &m) { m.g.dv = 0; }},
	{"DDP version", untagged_kinds, Field::dv, 0x1206, [](Message &m) { m.g.dv = 2; }},
	{"RDMAP version", all_kinds, Field::rv, 0x0205, [](Message &m) { m.g.rv = 2; }},
	{"opcode", all_kinds, Field::opcode, 0x0206, [](Message &m) { m.g.opcode = 12; }},
	{"QN", untagged_kinds, Field::qn, 0x1201, [](Message &m) { m.g.qn += 4; }},
	{"too short", kind_imm, Field::length, 0x0207, [](Message &m) { m.longer = -1; }},
	{"too long", kind_imm, Field::length, 0x0207, [](Message &m) { m.longer = 4; }},
	{"too short", fixed_kinds & ~unsigned{kind_imm}, Field::length, 0x2003,
	 [](Message &m) { m.longer = -1; }},
	{"too long", fixed_kinds & ~unsigned{kind_imm}, Field::length, 0x1205,
	 [](Message &m) { m.longer = 4; }},
	{"not the last segment", fixed_kinds, Field::last, 0x1000,
	 [](Message &m) { m.g.last = false; }},
	{"operation", kind_atomic, Field::op, 0x0206, [](Message &m) { m.bad_op = true; }},
	{"MSN", fixed_kinds & ~unsigned{kind_atomic_response}, Field::msn, 0x1203,
	 [](Message &m) { m.g.msn++; }},
	{"MSN", kind_atomic_response, Field::msn, 0x1203, [](Message &m) { m.g.msn++; },
	 "response"},
	{"MSN", kind_send, Field::msn, 0x1203, [](Message &m) { m.g.msn++; }},
	{"no receive", kind_send, Field::buffer, 0x1202, [](Message &m) { m.receives = 0; }},
	{"MO", kind_atomic_response, Field::mo, 0x1204, [](Message &m) { m.g.mo = 4; }, "response"},
	{"MO", untagged_kinds & ~unsigned{kind_atomic_response}, Field::mo, 0x1204,
	 [](Message &m) { m.g.mo = 4; }},
	{"no receive", kind_imm, Field::buffer, 0x1202, [](Message &m) { m.receives = 0; }},
	{"too long for the receive", kind_send, Field::length, 0x1205,
	 [](Message &m) { m.longer = 61; }, "length error"},
	{"invalidates nothing", kind_send, Field::opcode, 0x0209,
	 [](Message &m) {
		 m.g.opcode = wire::op_send_inv;
		 m.stag_flip = 1;
	 },
	 "invalid request"},
	{"invalidates another PD's", kind_send, Field::opcode, 0x0109,
	 [](Message &m) {
		 m.g.opcode = wire::op_send_se_inv;
		 m.region = victim::foreign;
	 },
	 "invalid request"},
	{"request identifier", kind_atomic_response, Field::id, 0x0207,
	 [](Message &m) { m.g.payload[3] ^= 1; }, "response"},

	{"unknown STag", kind_write, Field::stag, 0x1100, [](Message &m) { m.stag_flip = 1; }},
	{"unknown STag", direct, Field::stag, 0x0100, [](Message &m) { m.stag_flip = 1; }},
	{"another PD's STag", kind_write, Field::stag, 0x1102,
	 [](Message &m) { m.region = victim::foreign; }},
	{"another PD's STag", direct, Field::stag, 0x0103,
	 [](Message &m) { m.region = victim::foreign; }},
	{"STag without the right", kind_write, Field::stag, 0x1100,
	 [](Message &m) { m.region = without_right(m.kind); }},
	{"STag without the right", direct, Field::stag, 0x0102,
	 [](Message &m) { m.region = without_right(m.kind); }},
	{"TO wraps", kind_write, Field::place, 0x1103, [](Message &m) { m.place = Place::wraps; }},
	{"TO wraps", direct, Field::place, 0x0104, [](Message &m) { m.place = Place::wraps; }},
	{"beyond the region", kind_write, Field::place, 0x1101,
	 [](Message &m) { m.place = Place::beyond; }},
	{"beyond the region", direct, Field::place, 0x0101,
	 [](Message &m) { m.place = Place::beyond; }},
	{"before the region", kind_write, Field::place, 0x1101,
	 [](Message &m) { m.place = Place::before; }},
	{"before the region", direct, Field::place, 0x0101,
	 [](Message &m) { m.place = Place::before; }},
	{"not aligned", kind_atomic, Field::place, 0x0207,
	 [](Message &m) { m.place = Place::unaligned; }},

	{"another sink", kind_read_response, Field::stag, 0x1100, [](Message &m) { m.g.stag ^= 1; },
	 "response"},
	{"another offset", kind_read_response, Field::place, 0x1101, [](Message &m) { m.g.to++; },
	 "response"},
	{"longer than asked", kind_read_response, Field::length, 0x1101,
	 [](Message &m) { m.longer = 1; }, "response"},
	{"shorter than asked", kind_read_response, Field::length, 0x1101,
	 [](Message &m) { m.longer = -1; }, "response"},
};

std::uint64_t to_of(const Session &s, const Message &m)
{
	const Target &target = s[m.region];

	switch (m.place) {
	case Place::wraps:
		return ~std::uint64_t{3} + 2;
	case Place::beyond:
		return target.end() - (m.kind == kind_write ? 2 : 4);
	case Place::before:
		return target.to - 8;
	case Place::unaligned:
		return target.to + 4;
	default:
		return target.to;
	}
}

/* The bytes of the message, with its faults. */
Octets ulpdu_of(const Session &s, const Message &m)
{
	const std::uint32_t stag = s[m.region].stag ^ m.stag_flip;
	Segment g = m.g;

	switch (m.kind) {
	case kind_write:
		g.stag = stag;
		g.to = to_of(s, m);
		break;
	case kind_send:
		g.rsvd_ulp = stag;
		break;
	case kind_read:
		g.payload = ReadRequest{.sink_stag = 0x55,
					.sink_to = 0x2000,
					.size = 64,
					.source_stag = stag,
					.source_to = to_of(s, m)}
				    .build();
		break;
	case kind_atomic:
		g.payload = AtomicRequest{.op = m.bad_op ? 1U : 0U,
					  .stag = stag,
					  .to = to_of(s, m),
					  .data = 1}
				    .build();
		break;
	default:
		break;
	}
	g.payload.resize(g.payload.size() + m.longer);
	Octets octets = g.build();
	if (m.headless)
		octets.resize(g.tagged ? 13 : 17);
	return octets;
}

/* A right message of that kind. A response answers the victim's request. */
Message right(Kind kind, const ReadRequest &asked)
{
	switch (kind) {
	case kind_write:
		return {kind, wire::write(0, 0, wire::octets("abcd")), victim::write};
	case kind_send:
		return {kind, wire::send(1, "abcd"), victim::both};
	case kind_read:
		return {kind, wire::read_request(1, {}), victim::read};
	case kind_atomic:
		return {kind, wire::atomic_request(1, {}), victim::atomic};
	case kind_imm:
		return {kind, wire::imm(1, 0), victim::both};
	case kind_read_response:
		return {kind,
			wire::read_response(asked.sink_stag, asked.sink_to,
					    Octets(victim::read_size)),
			victim::local};
	default:
		return {kind, wire::atomic_response(1, 1, 0), victim::local};
	}
}

std::uint16_t wish_for(Kind kind)
{
	if (kind == kind_read_response)
		return victim::wish_read;
	return kind == kind_atomic_response ? victim::wish_atomic : 0;
}

/* Send a message with those faults. The first fault is the one that counts. */
void refused(Session &s, Kind kind, std::initializer_list<const Fault *> some)
{
	const Fault &first = **some.begin();
	const bool response = wish_for(kind);
	std::uint8_t receives = 8;

	for (const Fault *fault : some)
		if (fault->field == Field::buffer)
			receives = 0;
	const Order order = s.order(receives, wish_for(kind));
	Connection connection = s.establish(order);
	ReadRequest asked;
	if (response) {
		connection.send(fpdu(wire::send(1, "")));
		const Segment g = wire::parse_segment(connection.receive_fpdu());

		if (kind == kind_read_response)
			asked = wire::parse_read_request(g);
	}
	Message m = right(kind, asked);
	for (const Fault *fault : some)
		fault->put(m);
	const Octets ulpdu = ulpdu_of(s, m);
	connection.send(m.spoiled ? wire::spoiled(fpdu(ulpdu)) : fpdu(ulpdu));
	std::uint8_t bits = first.code >> 12 == 2 ? 0 : wire::term::M | wire::term::D;
	if (kind == kind_read && first.code >> 8 == 1)
		bits |= wire::term::R;
	expect_terminate(connection, wire::terminate(first.code, bits, ulpdu));
	connection.close();
	After after{.receives_ok = response ? 1U : 0U, .code = first.code};
	(response ? after.send_error : after.receive_error) = first.error;
	/* an address that is not aligned has its own code, but counts as an access */
	if (first.field == Field::place)
		after.access = true;
	s.check_end(order, after);
}

/* Try each fault alone and with each later one. All failures are reported. */
void every(Session &s, Kind kind)
{
	std::string wrong;
	const auto attempt = [&](std::initializer_list<const Fault *> some) {
		try {
			refused(s, kind, some);
		} catch (const Failure &failure) {
			wrong += "\n  ";
			for (const Fault *fault : some)
				wrong += std::string{fault->name} + ", ";
			wrong += failure.what();
		}
	};

	for (const Fault &first : faults) {
		if (!(first.kinds & kind))
			continue;
		attempt({&first});
		for (const Fault *second = &first + 1; second != std::end(faults); second++)
			if (second->kinds & kind && second->field != first.field)
				attempt({&first, second});
	}
	require(wrong.empty(), wrong);
}

} /* namespace */

std::vector<Case> pair_cases()
{
	const auto with = [](Kind kind) { return [kind](Session &s) { every(s, kind); }; };

	return {
		{"bad-write", "RFC 5041 7.1", with(kind_write)},
		{"bad-send", "RFC 5041 7.1, RFC 5040 7.2", with(kind_send)},
		{"bad-read-request", "RFC 5040 7.2", with(kind_read)},
		{"bad-read-response", "RFC 5040 5.2.2", with(kind_read_response)},
		{"bad-atomic-request", "RFC 7306 8.2", with(kind_atomic)},
		{"bad-atomic-response", "RFC 7306 5.2.2", with(kind_atomic_response)},
		{"bad-immediate", "RFC 7306 6.3", with(kind_imm)},
	};
}

} /* namespace hostile */
