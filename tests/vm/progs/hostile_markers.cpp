/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Cases about markers in both directions, with a victim that asks for markers (mpa_markers).
 * Also cases about a victim that asks for no CRC (mpa_crc), and about the checks that it then
 * leaves out.
 */
#include "hostile.hpp"

namespace hostile {
namespace {

namespace mpa = wire::mpa;
using wire::fpdu;
using wire::Segment;

constexpr std::size_t period = 512;

/** class MarkedStream - a stream with markers from this side, and from the victim if asked for */
class MarkedStream {
public:
	MarkedStream(Connection connection, const Order &order, bool both = false)
		: connection_{std::move(connection)}
	{
		wire::MpaFrame request = request_with(order);

		if (both)
			request.flags |= mpa::M;
		connection_.send(request.build());
		const wire::MpaFrame reply = connection_.receive_mpa(mpa::reply_key);
		require(reply.flags == (mpa::M | mpa::C), "the Reply does not ask for markers");
	}
	/* Send a frame with its markers. @change may change it before the CRC is computed. */
	template <typename Change> Octets send(View frame, Change change)
	{
		Octets octets = wire::marked(frame, position_);

		change(octets);
		octets = wire::sealed(std::move(octets));
		position_ += octets.size();
		connection_.send(octets);
		return octets;
	}
	Octets send(View frame)
	{
		return send(frame, [](Octets &) {});
	}
	[[nodiscard]] std::size_t position() const
	{
		return position_;
	}
	[[nodiscard]] Connection &connection()
	{
		return connection_;
	}

private:
	Connection connection_;
	std::size_t position_ = 0;
};

/* A Write whose ULPDU has that length, to the beginning of the region. */
Segment write_of(const Session &s, std::size_t ulpdu, std::uint8_t with = 0)
{
	const Target &target = s[victim::write];

	return wire::write(target.stag, target.to, Octets(ulpdu - 14, with));
}

void ends_well(Session &s, MarkedStream &stream, const Order &order, const After &after)
{
	stream.send(fpdu(wire::read_request(1, {})));
	expect_octets(stream.connection(), fpdu(wire::read_response(0, 0, {})),
		      "zero-length Read Response");
	stream.connection().close();
	s.check_end(order, after);
}

/* The frames of RFC 5044 figures 5 and 6. A Write in between fills the gap. */
void rfc_frames(Session &s)
{
	constexpr std::size_t second_at = 0x1ec;
	const Octets zeros(24);
	const Order order = s.order();
	MarkedStream stream{s.connect(), order};

	const Octets first = stream.send(fpdu(wire::send(1, zeros)));
	require(wire::hex(View{first}.last(4)) == "52239983", "the CRC of figure 5");
	stream.send(fpdu(write_of(s, second_at - stream.position() - 6)));
	require(stream.position() == second_at, "where figure 6 begins");
	const Octets second = stream.send(fpdu(wire::send(2, zeros)));
	require(wire::hex(View{second}.last(4)) == "84925898", "the CRC of figure 6");
	ends_well(s, stream, order, {.receives_ok = 2, .changed = "write:0-419"});
}

/* ULPDUs of 450, 1000, 22 and 452 bytes; markers at 0, 512, 1024 and 1536. */
void four_in_a_row(Session &s)
{
	const Order order = s.order();
	MarkedStream stream{s.connect(), order, true};
	const Target &from = s[victim::read];
	std::size_t position = 0;
	std::uint32_t msn = 0;
	Octets answer;

	for (const std::size_t ulpdu : {450U, 1000U, 22U, 452U})
		stream.send(fpdu(write_of(s, ulpdu)));
	require(stream.position() == 1968, "octets with markers");
	/* the same from the victim, as answers to Reads */
	for (const std::uint32_t ulpdu : {450U, 1000U, 22U, 452U}) {
		const std::uint32_t size = ulpdu - 14;
		const Octets wanted = wire::marked(
			fpdu(wire::read_response(0x55, 0x2000, from.content(0, size))), position);

		stream.send(fpdu(wire::read_request(++msn, {.sink_stag = 0x55,
							    .sink_to = 0x2000,
							    .size = size,
							    .source_stag = from.stag,
							    .source_to = from.to})));
		const Octets got = stream.connection().receive(wanted.size());
		require(got == wanted, "marked Read Response: " + wire::hex(got));
		answer = wire::join({answer, got});
		position += got.size();
	}
	require(position == 1968 && wire::hex(View{answer}.subspan(0, 4)) == "00000000" &&
			wire::hex(View{answer}.subspan(period, 4)) == "00000034" &&
			wire::hex(View{answer}.subspan(2 * period, 4)) == "00000234" &&
			wire::hex(View{answer}.subspan(3 * period, 4)) == "00000020",
		"markers of the four: " + wire::hex(answer));
	stream.connection().close();
	s.check_end(order, {.changed = "write:0-985"});
}

/* A peer that did not ask for markers must get none. */
void none_where_none_were_asked(Session &s)
{
	const Order order = s.order();
	MarkedStream stream{s.connect(), order};
	const Octets answer = fpdu(wire::read_response(0, 0, {}));

	for (std::uint32_t msn = 1; msn <= 60; msn++) {
		stream.send(fpdu(wire::read_request(msn, {})));
		expect_octets(stream.connection(), answer, "Read Response without markers");
	}
	stream.connection().close();
	s.check_end(order, {});
}

/* Change the marker in the middle of the second FPDU. */
template <typename Change> void odd_marker(Session &s, std::uint16_t code, Change change)
{
	const Order order = s.order();
	MarkedStream stream{s.connect(), order};

	stream.send(fpdu(write_of(s, 450)));
	const std::size_t marker = period - stream.position();
	stream.send(fpdu(write_of(s, 1000, 1)),
		    [&](Octets &octets) { change(octets.data() + marker); });
	if (!code) {
		ends_well(s, stream, order, {.changed = "write:0-985"});
		return;
	}
	expect_terminate(stream.connection(), wire::terminate(code));
	stream.connection().close();
	/* no byte of the second FPDU was placed */
	s.check_end(order, {.changed = "write:0-435", .code = code});
}

/* A wrong pointer and a wrong CRC: the CRC is checked first. */
void wrong_twice(Session &s)
{
	const Order order = s.order();
	MarkedStream stream{s.connect(), order};
	Octets octets = wire::marked(fpdu(write_of(s, 450)), 0);

	octets[3] = 8;
	stream.connection().send(wire::spoiled(wire::sealed(octets)));
	expect_terminate(stream.connection(), wire::terminate(0x2002));
	stream.connection().close();
	s.check_end(order, {.code = 0x2002});
}

/*
 * The first FPDU ends where a marker is due. The marker belongs to the second FPDU, or stands
 * before the CRC of the first.
 */
void at_the_edge(Session &s, std::size_t ulpdu, std::size_t length, std::string_view changed)
{
	const Order order = s.order();
	MarkedStream stream{s.connect(), order};

	const Octets first = stream.send(fpdu(write_of(s, ulpdu)));
	require(first.size() == length, "octets of the first: " + std::to_string(first.size()));
	const Octets second = stream.send(fpdu(wire::send(1, "abcd")));
	require(second.size() == (length == period ? 32U : 28U), "octets of the second");
	const Line done = s.log().next("completion", order.id);
	require(done.text("data") == "61626364", "the Send: " + done.all());
	ends_well(s, stream, order, {.receives_ok = 1, .changed = changed});
}

/* TCP's sequence number wraps between the FPDUs. */
void sequence_wraps(Session &s)
{
	const Order order = s.order(32);
	MarkedStream stream{Connection::to_at(s.settings().address, s.settings().port, 0U - 4096),
			    order};

	for (std::uint32_t msn = 1; stream.position() < 16384; msn++) {
		stream.send(fpdu(write_of(s, 777, static_cast<std::uint8_t>(msn))));
		stream.send(fpdu(wire::send(msn, "abcd")));
		const Line done = s.log().next("completion", order.id);
		require(done.text("status") == "success" && done.text("data") == "61626364",
			"a Send: " + done.all());
	}
	stream.send(fpdu(wire::read_request(1, {})));
	expect_octets(stream.connection(), fpdu(wire::read_response(0, 0, {})),
		      "zero-length Read Response");
	stream.connection().close();
	const Line end = s.log().next("end", order.id);
	require(end.number("receives_ok") > 16 && end.number("lost") == 0,
		"the victim's end: " + end.all());
}

/* Without CRC ************************************************************** */

/* @flags: flags of the Request; the Reply says whether CRCs are used */
void crc_or_not(Session &s, std::uint8_t flags)
{
	const Order order = s.order();
	Connection connection = s.connect();
	wire::MpaFrame request = request_with(order);

	request.flags = flags;
	connection.send(request.build());
	const wire::MpaFrame reply = connection.receive_mpa(mpa::reply_key);
	require(reply.flags == flags, "the Reply's flags");
	connection.send(wire::spoiled(fpdu(wire::send(1, "abcd"))));
	if (flags) {
		/* a peer that asks for CRCs gets them (RFC 5044 7.1.1) */
		expect_terminate(connection, wire::terminate(0x2002));
		connection.close();
		s.check_end(order, {.code = 0x2002});
		return;
	}
	connection.send(wire::spoiled(fpdu(
		wire::write(s[victim::write].stag, s[victim::write].to, wire::octets("abcd")))));
	connection.send(wire::spoiled(fpdu(wire::read_request(1, {}))));
	/* the CRC field exists, with any value */
	const Octets wanted = fpdu(wire::read_response(0, 0, {}));
	const Octets got = connection.receive(wanted.size());
	require(wire::ulpdu_of(got) == wire::ulpdu_of(wanted), "Read Response: " + wire::hex(got));
	connection.close();
	s.check_end(order, {.receives_ok = 1, .changed = "write:0-3"});
}

} /* namespace */

std::vector<Case> marker_cases()
{
	return {
		{"marked-rfc-frames", "8 67, RFC 5044 4.4", rfc_frames},
		{"marked-four-in-a-row", "6 8 68, RFC 5044 4.3", four_in_a_row},
		{"unmarked-answers", "7, RFC 5044 7.1.1", none_where_none_were_asked},
		{"marker-reserved-bits", "69, RFC 5044 4.2",
		 [](Session &s) { odd_marker(s, 0, [](std::uint8_t *m) { m[0] = m[1] = 0xff; }); }},
		{"marker-low-bits", "70, RFC 5044 4.2",
		 [](Session &s) { odd_marker(s, 0, [](std::uint8_t *m) { m[3] |= 1; }); }},
		{"marker-wrong-by-4", "71, RFC 5044 8 (3)",
		 [](Session &s) { odd_marker(s, 0x2003, [](std::uint8_t *m) { m[3] += 4; }); }},
		{"marker-and-crc", "71, RFC 5044 8", wrong_twice},
		{"marker-behind", "72, RFC 5044 4.3",
		 [](Session &s) { at_the_edge(s, 502, 512, "write:0-487"); }},
		{"marker-before-crc", "73, RFC 5044 4.4",
		 [](Session &s) { at_the_edge(s, 505, 520, "write:0-490"); }},
		{"marked-sequence-wraps", "74, RFC 5044 4.3", sequence_wraps},
	};
}

std::vector<Case> nocrc_cases()
{
	return {
		{"request-no-crc", "4 61, RFC 5044 7.1.1", [](Session &s) { crc_or_not(s, 0); }},
		{"request-crc-all-the-same", "5, RFC 5044 4.4",
		 [](Session &s) { crc_or_not(s, mpa::C); }},
	};
}

} /* namespace hostile */
