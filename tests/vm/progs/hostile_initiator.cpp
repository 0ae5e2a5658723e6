/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Cases about the MPA start-up with the victim as initiator. The victim connects to this
 * program and gets right and wrong Replies.
 */
#include <thread>

#include "hostile.hpp"

namespace hostile {
namespace {

namespace mpa = wire::mpa;
namespace enhanced = wire::enhanced;
using wire::fpdu;
using wire::Listener;
using wire::MpaFrame;
using wire::Segment;

/** struct Incoming - the victim's connection and its Request */
struct Incoming {
	Connection connection;
	MpaFrame request;
	Order order;
};

/* Accept the next connection that still exists. The victim may have ended an attempt already. */
Incoming receive(Listener &listener)
{
	for (;;) {
		Connection connection = listener.accept();
		MpaFrame request;

		try {
			request = connection.receive_mpa(mpa::request_key);
		} catch (const wire::Ended &) {
			continue;
		}
		if (connection.readable(20ms))
			continue;
		const std::size_t skip = request.flags & mpa::S ? 4 : 0;
		require(request.data.size() >= skip, "a Request without its enhanced data");
		const Order order = Order::decode(View{request.data}.subspan(skip));
		require(order.id != 0, "the private data was not carried");
		return {std::move(connection), std::move(request), order};
	}
}

MpaFrame reply(std::uint8_t flags, std::uint8_t revision, const Octets &data)
{
	return {.key = mpa::reply_key, .flags = flags, .revision = revision, .data = data};
}

/* An enhanced Reply followed by this side's order. */
MpaFrame enhanced_reply(std::uint16_t first, std::uint16_t second, const Order &order = {})
{
	const auto data = order.encode();

	return reply(mpa::C | mpa::S, 2, wire::join({wire::enhanced_data(first, second), data}));
}

const MpaFrame good_reply = enhanced_reply(enhanced::A | 4, enhanced::C | 4);

/* The victim's program must have got the failure of the connection. */
void check_failed(Session &s, const Order &order, std::string_view result = "RDMA_CM_EVENT_")
{
	const Line end = s.log().next("end", order.id);

	require(end.text("result").find(result) != std::string::npos &&
			end.text("result").find("DISCONNECTED") == std::string::npos &&
			end.number("lost") == 0 && end.text("changed").empty(),
		"the victim's result: " + end.all());
}

/* This Reply must fail the connection: the stream ends without a byte. */
std::function<void(Session &, Listener &)> refused(const MpaFrame &frame)
{
	return [frame](Session &s, Listener &listener) {
		Incoming in = receive(listener);

		in.connection.send(frame.build());
		in.connection.expect_end();
		in.connection.close();
		check_failed(s, in.order);
	};
}

/* The same, with a Terminate that has the reason (RFC 6581 9). */
std::function<void(Session &, Listener &)> terminated(const MpaFrame &frame, std::uint16_t code)
{
	return [frame, code](Session &s, Listener &listener) {
		Incoming in = receive(listener);

		in.connection.send(frame.build());
		if (frame.flags & mpa::M)
			expect_octets(in.connection, wire::marked(fpdu(wire::terminate(code)), 0),
				      "Terminate with markers");
		else
			expect_terminate(in.connection, wire::terminate(code));
		in.connection.close();
		check_failed(s, in.order);
	};
}

/* The zero-length Write, the negotiated ready-to-receive frame, must come first. */
void expect_write_rtr(Connection &connection)
{
	const Segment g = wire::parse_segment(connection.receive_fpdu());

	require(g.tagged && g.last && g.opcode == wire::op_write && g.payload.empty(),
		"no ready-to-receive Write: " + wire::hex(g.build()));
}

void expect_greeting(Connection &connection)
{
	const std::string_view text{victim::greeting, sizeof(victim::greeting)};

	expect_octets(connection, fpdu(wire::send(1, text)), "the Send");
}

/* The Reply asks for markers: all FPDUs of the victim must have them. */
void marked_stream(Session &s, Listener &listener)
{
	Incoming in = receive(listener);
	const Octets ready = wire::marked(fpdu(wire::write(1, 0, {})), 0);
	const Octets answer = wire::marked(fpdu(wire::read_response(0, 0, {})), ready.size());

	MpaFrame frame = enhanced_reply(enhanced::A | 4, enhanced::C | 4, in.order);
	frame.flags |= mpa::M;
	in.connection.send(frame.build());
	expect_octets(in.connection, ready, "ready-to-receive Write with markers");
	in.connection.send(fpdu(wire::read_request(1, {})));
	expect_octets(in.connection, answer, "Read Response with markers");
	in.connection.close();
	s.check_end(in.order, {});
}

/* A connection that works; @pieces: the Reply is sent byte by byte. */
void accepted(Session &s, Listener &listener, bool pieces)
{
	Incoming in = receive(listener);
	const auto order = in.order.encode();
	const MpaFrame wanted{
		.flags = mpa::C | mpa::S,
		.revision = 2,
		.data = wire::join(
			{wire::enhanced_data(enhanced::A | 4, enhanced::C | enhanced::D | 4),
			 order})};

	require(in.request.build() == wanted.build(), "Request: " + wire::hex(in.request.build()));
	in.order.wishes = victim::wish_send;
	const Octets answer = enhanced_reply(enhanced::A | 4, enhanced::C | 4, in.order).build();
	if (pieces)
		in.connection.dribble(answer);
	else
		in.connection.send(answer);
	expect_write_rtr(in.connection);
	expect_greeting(in.connection);
	in.connection.send(fpdu(wire::send(1, "abcd")));
	expect_alive(in.connection);
	in.connection.close();
	s.check_end(in.order, {.receives_ok = 1});
}

/* A Read is the ready-to-receive frame, so the program's first Read has MSN 2. */
void read_rtr(Session &s, Listener &listener)
{
	Incoming in = receive(listener);

	in.order.wishes = victim::wish_read;
	in.connection.send(enhanced_reply(enhanced::A | 4, enhanced::D | 4, in.order).build());
	const Octets first = in.connection.receive_fpdu();
	const Segment g = wire::parse_segment(first);
	const wire::ReadRequest rtr = wire::parse_read_request(g);
	require(g.msn == 1 && rtr.size == 0, "no ready-to-receive Read: " + wire::hex(first));
	in.connection.send(fpdu(wire::read_response(rtr.sink_stag, rtr.sink_to, {})));
	const Segment next = wire::parse_segment(in.connection.receive_fpdu());
	const wire::ReadRequest request = wire::parse_read_request(next);
	require(next.msn == 2 && request.size == victim::read_size, "the program's Read");
	in.connection.send(fpdu(wire::read_response(request.sink_stag, request.sink_to,
						    Octets(request.size, 0xa5))));
	expect_alive(in.connection);
	in.connection.close();
	s.check_end(in.order, {.changed = "local:0-255"});
}

/* This side's IRD is 1: only one Read may be outstanding. */
void small_ird(Session &s, Listener &listener)
{
	Incoming in = receive(listener);

	in.order.wishes = victim::wish_reads;
	in.connection.send(enhanced_reply(enhanced::A | 1, enhanced::C | 1, in.order).build());
	expect_write_rtr(in.connection);
	for (std::uint32_t msn = 1; msn <= 3; msn++) {
		const Segment g = wire::parse_segment(in.connection.receive_fpdu());
		const wire::ReadRequest request = wire::parse_read_request(g);

		require(g.msn == msn, "MSN of a Read Request");
		in.connection.expect_silence(200ms);
		in.connection.send(fpdu(wire::read_response(request.sink_stag, request.sink_to,
							    Octets(request.size, 0xa5))));
	}
	expect_alive(in.connection);
	in.connection.close();
	s.check_end(in.order, {.changed = "local:0-255"});
}

/* The victim must connect again with revision 1. This attempt works. */
void falls_back(Session &s, Listener &listener, const std::function<void(Connection &)> &answer)
{
	Incoming first = receive(listener);

	require(first.request.revision == 2, "the first Request's revision");
	answer(first.connection);
	Incoming in = receive(listener);
	require(in.request.revision == 1 && !(in.request.flags & mpa::S) &&
			in.order.id == first.order.id,
		"the second Request: " + wire::hex(in.request.build()));
	in.order.wishes = victim::wish_send;
	const auto order = in.order.encode();
	in.connection.send(reply(mpa::C, 1, {order.begin(), order.end()}).build());
	expect_greeting(in.connection);
	expect_alive(in.connection);
	in.connection.close();
	s.check_end(in.order, {});
}

void rejected(Session &s, Listener &listener)
{
	Incoming in = receive(listener);

	in.connection.send(reply(mpa::C | mpa::R | mpa::S, 2,
				 wire::join({wire::enhanced_data(enhanced::A | 4, enhanced::C | 4),
					     wire::octets("no, thank you")}))
				   .build());
	require(in.connection.expect_end() == wire::End::fin, "RST behind a rejection");
	in.connection.close();
	check_failed(s, in.order, "REJECTED");
}

void never_answered(Session &s, Listener &listener)
{
	Incoming in = receive(listener);

	in.connection.expect_end(s.settings().reply_limit + wire::patience);
	in.connection.close();
	check_failed(s, in.order);
}

void half_a_reply(Session &s, Listener &listener)
{
	for (const std::size_t size : {1U, 19U, 20U, 22U, 24U}) {
		Incoming in = receive(listener);
		const Octets answer = good_reply.build();

		in.connection.send(View{answer}.first(size));
		std::this_thread::sleep_for(20ms);
		in.connection.shut_write();
		in.connection.expect_end();
		in.connection.close();
		check_failed(s, in.order);
	}
}

/* FPDUs directly behind the Reply: right ones are accepted, wrong ones are refused. */
void reply_and_more(Session &s, Listener &listener)
{
	Incoming in = receive(listener);

	in.connection.send(
		wire::join({enhanced_reply(enhanced::A | 4, enhanced::C | 4, in.order).build(),
			    fpdu(wire::send(1, "abcd"))}));
	expect_write_rtr(in.connection);
	expect_alive(in.connection);
	in.connection.close();
	s.check_end(in.order, {.receives_ok = 1});

	Incoming next = receive(listener);
	next.connection.send(
		wire::join({enhanced_reply(enhanced::A | 4, enhanced::C | 4, next.order).build(),
			    wire::spoiled(fpdu(wire::send(1, "abcd")))}));
	Octets got = next.connection.receive_fpdu();
	if (wire::parse_segment(got).opcode == wire::op_write)
		got = next.connection.receive_fpdu();
	require(got == wire::terminate(0x2002).build(), "Terminate: " + wire::hex(got));
	next.connection.expect_end();
	next.connection.close();
	s.check_end(next.order, {});
}

} /* namespace */

std::vector<InitiatorCase> initiator_cases()
{
	using namespace wire::enhanced;
	const auto with_key = [](std::string_view key) {
		MpaFrame frame = good_reply;

		frame.key = key;
		return frame;
	};
	const auto with_length = [](std::uint16_t length, Octets data) {
		MpaFrame frame = good_reply;

		frame.length = length;
		frame.data = std::move(data);
		return frame;
	};
	const auto with_revision = [](std::uint8_t revision) {
		MpaFrame frame = good_reply;

		frame.revision = revision;
		return frame;
	};

	const auto with_markers = [](MpaFrame frame) {
		frame.flags |= mpa::M;
		return frame;
	};

	return {
		{"connect", "24 25 48, RFC 6581 9",
		 [](Session &s, Listener &l) { accepted(s, l, false); }},
		{"reply-in-single-octets", "32, RFC 5044 7.1",
		 [](Session &s, Listener &l) { accepted(s, l, true); }},
		{"reply-read-rtr", "49, RFC 6581 9.2", read_rtr},
		{"reply-small-ird", "52, RFC 6581 9.1", small_ird},
		{"C3-reply-enhanced-pd-0", "44, RFC 6581 6", refused(with_length(0, {}))},
		{"C3-reply-enhanced-pd-2", "44, RFC 6581 6", refused(with_length(2, Octets(2)))},
		{"reply-reject", "26, RFC 5044 7.1.2 (3)", rejected},
		{"reply-with-request-key", "27, RFC 5044 7.1.2 (8)",
		 refused(with_key(mpa::request_key))},
		{"reply-bad-key", "27, RFC 5044 7.1.1", refused(with_key("MPA ID Rep frame"))},
		{"reply-markers", "28, RFC 5044 7.1.2 (7)", marked_stream},
		{"reply-pd-513", "30, RFC 5044 7.1.1", refused(with_length(513, Octets(513)))},
		{"reply-pd-65535", "30, RFC 5044 7.1.1", refused(with_length(0xffff, Octets(64)))},
		{"reply-rev-0", "17, RFC 5044 C.1", refused(with_revision(0))},
		{"reply-rev-3", "18, RFC 5044 7.1.1", refused(with_revision(3))},
		{"reply-never", "31, RFC 5044 7.1.2 (10)", never_answered},
		{"reply-cut-short", "31, RFC 5044 8 (1)", half_a_reply},
		{"reply-and-more", "32, RFC 5044 7.1.2 (4)", reply_and_more},
		{"fallback-after-fin", "47, RFC 6581 10",
		 [](Session &s, Listener &l) {
			 falls_back(s, l, [](Connection &c) { c.shut_write(); });
		 }},
		{"fallback-after-reset", "47, RFC 6581 10",
		 [](Session &s, Listener &l) {
			 falls_back(s, l, [](Connection &c) { c.reset(); });
		 }},
		{"fallback-after-rev-1", "47, RFC 6581 10",
		 [](Session &s, Listener &l) {
			 falls_back(s, l,
				    [](Connection &c) { c.send(reply(mpa::C, 1, {}).build()); });
		 }},
		{"reply-send-rtr-only", "50, RFC 6581 9.2",
		 terminated(enhanced_reply(A | B | 4, 4), 0x2007)},
		{"reply-no-rtr", "50, RFC 6581 9.2", terminated(enhanced_reply(A | 4, 4), 0x2007)},
		{"reply-large-ord", "51, RFC 6581 9.1",
		 terminated(enhanced_reply(A | 4, wire::enhanced::C | 0x2000), 0x2006)},
		{"reply-large-ord-markers", "51, RFC 6581 9.1, RFC 5044 4.3",
		 terminated(with_markers(enhanced_reply(A | 4, wire::enhanced::C | 0x2000)),
			    0x2006)},
		{"reply-client-server", "53, RFC 6581 9.3",
		 terminated(enhanced_reply(4, 4), 0x2005)},
		{"reply-not-enhanced", "54, RFC 6581 10", terminated(reply(mpa::C, 2, {}), 0x2005)},
	};
}

} /* namespace hostile */
