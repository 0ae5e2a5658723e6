/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Cases about the MPA start-up with the victim as responder: right and wrong Requests, whole
 * and in pieces. Each expects an exact Reply, or the end of the stream without a byte.
 */
#include <thread>

#include "hostile.hpp"

namespace hostile {
namespace {

namespace mpa = wire::mpa;
namespace enhanced = wire::enhanced;
using wire::End;
using wire::fpdu;
using wire::MpaFrame;

/* The victim must answer the Request with the end of the stream, without a byte. */
void refused(Session &s, const Octets &octets)
{
	Connection connection = s.connect();

	connection.send(octets);
	connection.expect_end();
}

void refused(Session &s, const MpaFrame &frame)
{
	refused(s, frame.build());
}

/* The Reply that a right Request must get. The private data is the victim's. */
struct ReplyWanted {
	std::uint8_t flags = mpa::C;
	std::uint8_t revision = 1;
	Octets data = {};
};

void expect_reply(Connection &connection, const ReplyWanted &wanted)
{
	const MpaFrame reply{.key = mpa::reply_key,
			     .flags = wanted.flags,
			     .revision = wanted.revision,
			     .data = wanted.data};

	expect_octets(connection, reply.build(), "Reply");
}

/* The Request must get that Reply. Then the stream must work. */
void accepted(Session &s, const MpaFrame &request, const ReplyWanted &wanted)
{
	Connection connection = s.connect();

	connection.send(request.build());
	expect_reply(connection, wanted);
	expect_alive(connection);
}

MpaFrame enhanced_request(std::uint16_t first, std::uint16_t second, const Octets &more = {})
{
	return {.flags = mpa::C | mpa::S,
		.revision = 2,
		.data = wire::join({wire::enhanced_data(first, second), more})};
}

/*
 * Check the Reply to an enhanced Request. The victim's depth is known. The Reply must have at
 * least one of the requested ready-to-receive frames that the victim offers.
 */
void enhanced_accepted(Session &s, const MpaFrame &request, std::uint16_t first,
		       std::uint16_t second)
{
	Connection connection = s.connect();

	connection.send(request.build());
	expect_reply(connection, {.flags = mpa::C | mpa::S,
				  .revision = 2,
				  .data = wire::enhanced_data(first, second)});
	connection.send(fpdu(wire::write(1, 0, {}))); /* ready to receive */
	expect_alive(connection);
}

/* A peer that asks for markers gets them. The check covers several marker intervals. */
void marked_answers(Session &s)
{
	Connection connection = s.connect();
	const Octets answer = fpdu(wire::read_response(0, 0, {}));
	std::size_t position = 0;

	connection.send(MpaFrame{.flags = mpa::M | mpa::C}.build());
	expect_reply(connection, {.flags = mpa::C});
	for (std::uint32_t msn = 1; position < 3000; msn++) {
		const Octets wanted = wire::marked(answer, position);

		connection.send(fpdu(wire::read_request(msn, {})));
		expect_octets(connection, wanted, "Read Response with markers");
		position += wanted.size();
	}
}

void dribbled(Session &s)
{
	const Order order = s.order();
	Connection connection = s.connect();

	connection.dribble(request_with(order).build());
	expect_reply(connection, {});
	connection.dribble(fpdu(wire::send(1, "abc")));
	expect_alive(connection);
	connection.close();
	s.check_end(order, {.receives_ok = 1});
}

/* The consumer rejects: R=1, and then the victim's side ends the stream. */
void rejected(Session &s)
{
	const Order order = s.order(0, victim::wish_reject);
	const auto data = order.encode();
	Connection connection = s.connect();

	connection.send(request_with(order).build());
	expect_reply(connection, {.flags = mpa::C | mpa::R, .data = {data.begin(), data.end()}});
	require(connection.expect_end() == End::fin, "RST behind a Reply that rejects");
	s.check_end(order, {});
}

/* Bytes behind the Request before the Reply: no FPDU may come that early. */
void early_data(Session &s)
{
	const Octets request = MpaFrame{.length = 4, .data = wire::octets("12345678")}.build();

	refused(s, request);
	refused(s, wire::join({MpaFrame{}.build(), fpdu(wire::send(1, "abcd"))}));
}

/* 512 bytes are allowed, but rdma_cm carries fewer. */
void longest_private_data(Session &s)
{
	Connection connection = s.connect();

	connection.send(MpaFrame{.data = Octets(512, 'x')}.build());
	try {
		const MpaFrame reply = connection.receive_mpa(mpa::reply_key);

		require(!(reply.flags & mpa::M), "markers");
	} catch (const wire::Ended &) {
		/* the limit of rdma_cm */
	}
}

void timed_out(Session &s, const Octets &begin)
{
	const auto start = std::chrono::steady_clock::now();
	Connection connection = s.connect();

	connection.send(begin);
	connection.expect_end(s.settings().start_limit + wire::patience);
	require(std::chrono::steady_clock::now() - start >= s.settings().start_limit / 2,
		"given up too early");
}

/* RFC 5044 7.1.2 (4): the responder sends nothing before the first FPDU. */
void silent_responder(Session &s)
{
	const Order order = s.order(8, victim::wish_send);
	Connection connection = s.establish(order);

	connection.expect_silence(1s);
	connection.send(fpdu(wire::send(1, "")));
	expect_octets(
		connection,
		fpdu(wire::send(1, std::string_view{victim::greeting, sizeof(victim::greeting)})),
		"the Send that waited");
	expect_alive(connection);
	connection.close();
	s.check_end(order, {.receives_ok = 1});
}

void first_fpdu_spoiled(Session &s)
{
	const Order order = s.order(8, victim::wish_send);
	Connection connection = s.establish(order);

	connection.send(wire::spoiled(fpdu(wire::send(1, "abcd"))));
	expect_terminate(connection, wire::terminate(0x2002));
	connection.close();
	s.check_end(order, {});
}

/* Whether the program sees the connection or not, other connections are not affected. */
void ends_before_reply(Session &s, bool reset)
{
	for (int i = 0; i < 10; i++) {
		Connection connection = s.connect();

		connection.send(request_with(s.order()).build());
		if (reset)
			connection.reset();
		else
			connection.close();
	}
	s.check_alive();
}

void reset_after_reply(Session &s)
{
	const Order order = s.order();
	Connection connection = s.establish(order);

	connection.reset();
	s.check_end(order, {});
}

/* A Read as ready-to-receive frame is answered before the queued Send is sent. */
void read_as_rtr(Session &s)
{
	const Order order = s.order(8, victim::wish_send);
	const auto data = order.encode();
	Connection connection = s.connect();

	connection.send(
		enhanced_request(enhanced::A | 1, enhanced::D | 1, {data.begin(), data.end()})
			.build());
	(void)connection.receive_mpa(mpa::reply_key);
	connection.expect_silence(300ms);
	expect_alive(connection);
	expect_octets(
		connection,
		fpdu(wire::send(1, std::string_view{victim::greeting, sizeof(victim::greeting)})),
		"the Send that waited");
	connection.close();
	s.check_end(order, {});
}

std::string key_with(std::string_view key, char last)
{
	std::string bad{key};

	bad.back() = last;
	return bad;
}

} /* namespace */

std::vector<Case> startup_cases()
{
	const auto refuse = [](const MpaFrame &frame) {
		return [frame](Session &s) { refused(s, frame); };
	};
	const auto accept = [](const MpaFrame &frame, const ReplyWanted &wanted = {}) {
		return [frame, wanted](Session &s) { accepted(s, frame, wanted); };
	};
	/* the victim's own IRD, and an ORD up to the peer's IRD */
	const auto accept_enhanced = [](std::uint16_t first, std::uint16_t second,
					std::uint16_t want_first, std::uint16_t want_second) {
		return [=](Session &s) {
			enhanced_accepted(s, enhanced_request(first, second), want_first,
					  want_second);
		};
	};
	using namespace wire::enhanced;
	static const std::string bad_key = key_with(mpa::request_key, 'd');

	return {
		{"request-v1", "1, RFC 5044 7.1.1", accept({})},
		{"C4-request-in-single-octets", "2, RFC 5044 7.1", dribbled},
		{"request-rejected", "3, RFC 5044 7.1.2", rejected},
		{"request-without-crc", "5, RFC 5044 4.4", accept({.flags = 0})},
		{"request-markers", "6, RFC 5044 7.1.2", marked_answers},
		{"request-bad-key", "9, RFC 5044 7.1.1", refuse({.key = bad_key})},
		{"reply-to-responder", "10, RFC 5044 7.1.2 (8)", refuse({.key = mpa::reply_key})},
		{"request-pd-513", "11, RFC 5044 7.1.1", refuse({.data = Octets(513)})},
		{"request-pd-65535", "11, RFC 5044 7.1.1", refuse({.length = 0xffff})},
		{"request-pd-512", "12, RFC 5044 7.1.1", longest_private_data},
		{"request-early-octets", "13, RFC 5044 7.1.2 (9)", early_data},
		{"request-pd-cut-short", "14, RFC 5044 7.1.2 (10)",
		 [](Session &s) {
			 timed_out(s, MpaFrame{.length = 8, .data = Octets(4)}.build());
		 }},
		{"request-never", "15, RFC 5044 7.1.2 (8)", [](Session &s) { timed_out(s, {}); }},
		{"request-reserved-bits", "16, RFC 5044 7.1.1", accept({.flags = 0x6f})},
		{"request-rev-0", "17, RFC 5044 C.1",
		 refuse({.flags = mpa::M | mpa::C, .revision = 0})},
		{"request-rev-3", "18, RFC 5044 7.1.1", refuse({.revision = 3})},
		{"request-rev-255", "18, RFC 5044 7.1.1", refuse({.revision = 255})},
		{"request-garbage", "9, RFC 5044 7.1.1",
		 [](Session &s) {
			 refused(s, wire::octets("GET / HTTP/1.1\r\nHost: you\r\n\r\n"));
		 }},
		{"responder-waits-for-first-fpdu", "19 20, RFC 5044 7.1.2 (4)", silent_responder},
		{"first-fpdu-crc-error", "21, RFC 5044 8", first_fpdu_spoiled},
		{"fin-before-reply", "22, RFC 5044 8 (1)",
		 [](Session &s) { ends_before_reply(s, false); }},
		{"reset-before-reply", "22, RFC 5044 8 (1)",
		 [](Session &s) { ends_before_reply(s, true); }},
		{"reset-after-reply", "23, RFC 5044 8 (1)", reset_after_reply},

		{"rev2-both-rtr", "33 34 35, RFC 6581 9",
		 accept_enhanced(A | 16, wire::enhanced::C | D | 16, A | 4,
				 wire::enhanced::C | D | 4)},
		{"rev2-write-rtr", "34, RFC 6581 9.2",
		 accept_enhanced(A | 2, wire::enhanced::C | 16, A | 4, wire::enhanced::C | 2)},
		{"rev2-read-rtr", "36, RFC 6581 9.2", read_as_rtr},
		{"rev2-client-server", "37, RFC 6581 9.2", accept_enhanced(8, 4, 4, 4)},
		{"rev2-flags-without-a", "38, RFC 6581 9.2",
		 accept_enhanced(B | 8, wire::enhanced::C | D | 4, 4, 4)},
		{"rev2-no-negotiation", "39, RFC 6581 9.1",
		 accept_enhanced(A | depth, wire::enhanced::C | depth, A | depth,
				 wire::enhanced::C | depth)},
		{"rev2-ord-not-negotiated", "40, RFC 6581 9.1",
		 accept_enhanced(A | 4, wire::enhanced::C | depth, A | depth,
				 wire::enhanced::C | 4)},
		{"rev2-read-rtr-ord-0", "41, RFC 6581 9.1",
		 accept_enhanced(A | 1, D, A | 4, D | 1)},
		{"rev2-send-rtr-only", "42, RFC 6581 9.2",
		 accept_enhanced(A | B | 1, 1, A | 4, wire::enhanced::C | D | 1)},
		{"rev2-enhanced-pd-0", "44, RFC 6581 6",
		 refuse({.flags = mpa::C | mpa::S, .revision = 2})},
		{"rev2-enhanced-pd-2", "44, RFC 6581 6",
		 refuse({.flags = mpa::C | mpa::S, .revision = 2, .data = Octets(2)})},
		{"rev2-enhanced-pd-3", "44, RFC 6581 6",
		 refuse({.flags = mpa::C | mpa::S, .revision = 2, .data = Octets(3)})},
		{"rev2-not-enhanced", "46, RFC 6581 10", accept({.revision = 2}, {.revision = 2})},
	};
}

} /* namespace hostile */
