/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Cases about the segments that the victim sends, the events and completions that the victim's
 * program gets, and both at the end of a stream.
 */
#include <thread>

#include "hostile.hpp"

namespace hostile {
namespace {

namespace mpa = wire::mpa;
namespace enhanced = wire::enhanced;
using wire::fpdu;
using wire::Segment;

constexpr std::uint8_t md = wire::term::M | wire::term::D;
constexpr std::size_t tagged_header = 14;
constexpr std::size_t untagged_header = 18;

/* RFC 5044 4.5, without markers */
std::size_t mulpdu_of(const Connection &connection)
{
	const std::size_t emss = connection.segment_size();

	return emss - (6 + emss % 4);
}

/* Start-up ***************************************************************** */

/*
 * The peer offers only a Send as ready-to-receive frame, which the victim does not offer, and
 * ends the connection.
 */
void gives_up_for_want_of_rtr(Session &s)
{
	const Order order = s.order();
	const auto data = order.encode();
	Connection connection = s.connect();
	wire::MpaFrame request{.flags = mpa::C | mpa::S,
			       .revision = 2,
			       .data = wire::enhanced_data(enhanced::A | enhanced::B | 1, 1)};

	request.data = wire::join({request.data, data});
	connection.send(request.build());
	(void)connection.receive_mpa(mpa::reply_key);
	connection.send(fpdu(wire::terminate(0x2007)));
	connection.shut_write();
	connection.expect_end();
	connection.close();
	s.check_counters({{"terminates_received", 1}});
	s.check_end(order, {.async = "catastrophic"});
}

/* 508 bytes of private data behind the enhanced data, the maximum. */
void longest_private_data(Session &s)
{
	const Order order = s.order();
	const auto data = order.encode();
	Connection connection = s.connect();
	wire::MpaFrame request{.flags = mpa::C | mpa::S,
			       .revision = 2,
			       .data = wire::enhanced_data(enhanced::A | 1, enhanced::C | 1)};

	request.data = wire::join({request.data, data});
	request.data.resize(512, 'x');
	connection.send(request.build());
	const wire::MpaFrame reply = connection.receive_mpa(mpa::reply_key);
	require(!(reply.flags & mpa::R), "the Reply rejects");
	connection.send(fpdu(wire::write(1, 0, {})));
	connection.send(fpdu(wire::send(1, "abcd")));
	expect_alive(connection);
	connection.close();
	/* the victim found the order in the private data */
	s.check_end(order, {.receives_ok = 1});
}

/* What it sends ************************************************************ */

/* 1 MiB in Read Responses: each FPDU fits into a TCP segment and is as large as possible. */
void fpdus_fit_segments(Session &s)
{
	constexpr unsigned int reads = 4;
	const Target &from = s[victim::read];
	const Order order = s.order();
	Connection connection = s.establish(order);
	const std::size_t emss = connection.segment_size();
	const std::size_t mulpdu = mulpdu_of(connection);

	require(emss <= 1460 && emss > 1400, "TCP's segment size " + std::to_string(emss));
	for (std::uint32_t msn = 1; msn <= reads; msn++) {
		std::size_t got = 0;

		connection.send(fpdu(wire::read_request(msn, {.sink_stag = 1,
							      .size = victim::region_size,
							      .source_stag = from.stag,
							      .source_to = from.to})));
		while (got < victim::region_size) {
			const Octets ulpdu = connection.receive_fpdu();
			const Segment g = wire::parse_segment(ulpdu);
			const std::size_t left = victim::region_size - got;

			require(ulpdu.size() <= mulpdu, "an FPDU larger than the segment size: " +
								std::to_string(ulpdu.size()));
			require(ulpdu.size() == std::min(mulpdu, left + tagged_header),
				"an FPDU smaller than it could be: " +
					std::to_string(ulpdu.size()));
			got += g.payload.size();
			require(g.last == (got == victim::region_size), "L");
		}
	}
	connection.close();
	s.check_end(order, {});
}

/* A Send and a Write of several segments: MO and TO advance, and L is in the last segment. */
void segments_of_messages(Session &s)
{
	const Order order = s.order(8, victim::wish_large);
	Connection connection = s.establish(order);
	const std::size_t mulpdu = mulpdu_of(connection);
	const Octets data = s[victim::local].content(0, victim::large_size);

	connection.send(fpdu(wire::send(1, "")));
	for (const bool tagged : {false, true}) {
		const std::size_t most = mulpdu - (tagged ? tagged_header : untagged_header);
		std::size_t done = 0;

		while (done < data.size()) {
			const std::size_t size = std::min(most, data.size() - done);
			Segment wanted =
				tagged ? wire::write(victim::read_stag, victim::large_to + done,
						     View{data}.subspan(done, size))
				       : wire::send(1, View{data}.subspan(done, size));

			wanted.mo = tagged ? 0 : done;
			wanted.last = done + size == data.size();
			expect_octets(connection, fpdu(wanted), tagged ? "Write" : "Send");
			done += size;
		}
	}
	expect_alive(connection);
	connection.close();
	s.check_end(order, {.receives_ok = 1});
}

/* What its program gets *************************************************** */

/* The next receive must complete, with that many events so far. */
void completed(Session &s, const Order &order, std::uint64_t events, const char *what)
{
	const Line done = s.log().next("completion", order.id);

	require(done.text("queue") == "receive" && done.text("status") == "success" &&
			done.number("events") == events,
		std::string{what} + ", " + std::to_string(events) + " events: " + done.all());
}

/*
 * A queue that is armed for solicited completions. A Send raises no event. A Send with
 * Solicited Event raises one, also if it invalidates. Each completion has the number of events
 * before it, so the completion of the next Send shows the event.
 */
void solicited_events(Session &s)
{
	const Target &spare = s[victim::spare];
	const Order order = s.order(8, victim::wish_solicited);
	Connection connection = s.establish(order);
	const auto settle = [] { std::this_thread::sleep_for(500ms); };
	std::uint32_t msn = 0;
	const auto deliver = [&](std::uint8_t opcode, std::uint32_t stag = 0) {
		Segment g = wire::send(++msn, "abcd");

		g.opcode = opcode;
		g.rsvd_ulp = stag;
		connection.send(fpdu(g));
		settle();
	};

	deliver(wire::op_send);
	completed(s, order, 0, "a Send");
	deliver(wire::op_send);
	completed(s, order, 0, "a second Send");
	deliver(wire::op_send_se);
	(void)s.log().next("completion", order.id);
	deliver(wire::op_send);
	completed(s, order, 1, "a Send behind a solicited one");
	/* the region's owner has not asked for remote invalidation */
	connection.send(fpdu(wire::write(spare.stag, spare.to, wire::octets("abcd"))));
	Segment late = wire::send(++msn, "abcd");
	late.opcode = wire::op_send_se_inv;
	late.rsvd_ulp = spare.stag;
	connection.send(fpdu(late));
	expect_terminate(connection, wire::terminate(0x0109, md, late.build()));
	connection.close();
	s.check_end(order, {.receives_ok = 4,
			    .receive_error = "invalid request",
			    .changed = "spare:0-3",
			    .code = 0x0109});
}

/* When a Send completes, the Write before it must be in memory, to its last byte. */
void write_before_send(Session &s)
{
	constexpr std::uint32_t rounds = 40;
	const Target &target = s[victim::write];
	const Order order = s.order(rounds);
	Connection connection = s.establish(order);

	for (std::uint32_t msn = 1; msn <= rounds; msn++) {
		const Octets data(victim::shown_end, static_cast<std::uint8_t>(msn));
		constexpr std::size_t half = victim::shown_end / 2;
		Segment first = wire::write(target.stag, target.to, View{data}.first(half));

		first.last = false;
		connection.send(wire::join(
			{fpdu(first),
			 fpdu(wire::write(target.stag, target.to + half, View{data}.last(half))),
			 fpdu(wire::send(msn, "abcd"))}));
		const Line done = s.log().next("completion", order.id);
		require(done.text("shown") == wire::hex(View{data}.last(victim::shown_size)),
			"the Send before the Write: " + done.all());
	}
	expect_alive(connection);
	connection.close();
	const Line end = s.log().next("end", order.id);
	require(end.number("receives_ok") == rounds && end.number("lost") == 0,
		"the victim's end: " + end.all());
}

/* The end ****************************************************************** */

/* Requests that are posted after the victim's Terminate are flushed and not sent. */
void posted_too_late(Session &s)
{
	const Order order = s.order(8, victim::wish_late);
	Connection connection = s.establish(order);
	Segment bad = wire::send(1, "abcd");

	bad.qn = 4;
	connection.send(fpdu(bad));
	/* then the end, without another byte */
	expect_terminate(connection, wire::terminate(0x1201, md, bad.build()));
	connection.close();
	const Line end = s.log().next("end", order.id);
	require(end.number("sends_ok") == 0 && end.number("sends_flushed") == 1 &&
			end.text("send_error").empty() && end.number("lost") == 0,
		"the victim's end: " + end.all());
}

/* Receive whole FPDUs of the victim's Writes until another FPDU comes. */
Octets after_the_flood(Connection &connection)
{
	Octets got;

	do {
		got = connection.receive_fpdu();
	} while (wire::parse_segment(got).opcode == wire::op_write);
	return got;
}

/* A Terminate in the middle of 1 MiB of Writes must follow a whole FPDU. */
void terminate_amid_writes(Session &s)
{
	const Order order = s.order(8, victim::wish_flood);
	Connection connection = s.establish(order, 4096);
	Segment bad = wire::send(2, "abcd");

	bad.qn = 4;
	connection.send(fpdu(wire::send(1, "")));
	require(connection.readable(wire::patience), "no Write");
	std::this_thread::sleep_for(300ms);
	connection.send(fpdu(bad));
	const Octets got = after_the_flood(connection);
	require(got == wire::terminate(0x1201, md, bad.build()).build(),
		"Terminate: " + wire::hex(got));
	connection.expect_end();
	connection.close();
	const Line end = s.log().next("end", order.id);
	require(end.number("lost") == 0 && end.number("receives_ok") == 1,
		"the victim's end: " + end.all());
}

/*
 * FIN from this side while the victim has Writes to send: whole FPDUs, then its FIN, and no
 * Terminate.
 */
void fin_amid_writes(Session &s)
{
	const Order order = s.order(8, victim::wish_flood);
	Connection connection = s.establish(order, 4096);

	connection.send(fpdu(wire::send(1, "")));
	require(connection.readable(wire::patience), "no Write");
	connection.shut_write();
	std::this_thread::sleep_for(300ms);
	std::size_t octets = 0;
	while (connection.readable(wire::patience)) {
		try {
			const Segment g = wire::parse_segment(connection.receive_fpdu());

			require(g.opcode == wire::op_write, "not a Write: " + wire::hex(g.build()));
			octets += g.payload.size();
		} catch (const wire::Ended &) {
			break;
		}
	}
	const Line end = s.log().next("end", order.id);
	require(end.number("lost") == 0 && end.number("receives_ok") == 1 &&
			octets >= end.number("sends_ok") * victim::region_size,
		std::to_string(octets) + " octets came; the victim's end: " + end.all());
}

} /* namespace */

std::vector<Case> delivery_cases()
{
	return {
		{"rev2-no-rtr-in-common", "43, RFC 6581 9.2", gives_up_for_want_of_rtr},
		{"rev2-private-data-508", "55, RFC 6581 9", longest_private_data},
		{"fpdus-fit-segments", "75, RFC 5044 4.5", fpdus_fit_segments},
		{"segments-of-messages", "99 100, RFC 5041 5.2", segments_of_messages},
		{"solicited-events", "105 106 109, RFC 5040 5.3", solicited_events},
		{"write-before-send", "124, RFC 5040 5.5", write_before_send},
		{"posted-too-late", "140, RFC 5040 5.4", posted_too_late},
		{"terminate-amid-writes", "141, RFC 5040 5.4", terminate_amid_writes},
		{"fin-amid-writes", "144, RFC 5041 6.2.1", fin_amid_writes},
	};
}

} /* namespace hostile */
