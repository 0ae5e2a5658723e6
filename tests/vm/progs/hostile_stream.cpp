/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Cases on an established stream that need more than FPDUs and one answer: data in pieces and
 * with pauses, Reads in both directions, Terminates to the victim, and ends of the stream at
 * any point.
 */
#include <algorithm>
#include <thread>

#include "hostile.hpp"

namespace hostile {
namespace {

using wire::fpdu;
using wire::ReadRequest;
using wire::Segment;

constexpr std::uint8_t md = wire::term::M | wire::term::D;
const Octets abcd = wire::octets("abcd");

ReadRequest read_of(const Session &s, std::uint32_t size, std::uint64_t offset = 0,
		    std::uint64_t sink_to = 0x2000)
{
	const Target &from = s[victim::read];

	return {.sink_stag = 0x55,
		.sink_to = sink_to,
		.size = size,
		.source_stag = from.stag,
		.source_to = from.to + offset};
}

/* Pieces ******************************************************************* */

/* An FPDU in two TCP segments, cut at every place (case 65). */
void split_everywhere(Session &s)
{
	constexpr std::uint32_t frame = 28;
	const Order order = s.order(frame);
	Connection connection = s.establish(order);

	for (std::uint32_t cut = 1; cut < frame; cut++) {
		const Octets octets = fpdu(wire::send(cut, "abcd"));

		require(octets.size() == frame, "frame size");
		connection.send(View{octets}.first(cut));
		std::this_thread::sleep_for(3ms);
		connection.send(View{octets}.subspan(cut));
		const Line done = s.log().next("completion", order.id);
		require(done.number("bytes") == 4 && done.text("data") == wire::hex(abcd),
			"cut after " + std::to_string(cut) + ": " + done.all());
	}
	connection.close();
	s.check_end(order, {.receives_ok = frame - 1});
}

/* siw took a pad and CRC in pieces for a CRC error. */
void pad_and_crc_in_pieces(Session &s)
{
	const Order order = s.order();
	Connection connection = s.establish(order);

	for (std::uint32_t msn = 1; msn <= 3; msn++) {
		const Octets octets = fpdu(wire::send(msn, std::string(msn, 'x')));
		const std::size_t body = 20 + msn;

		connection.send(View{octets}.first(body));
		std::this_thread::sleep_for(20ms);
		connection.dribble(View{octets}.subspan(body));
	}
	expect_alive(connection);
	connection.close();
	s.check_end(order, {.receives_ok = 3});
}

void everything_dribbled(Session &s)
{
	const Target &target = s[victim::write];
	const Order order = s.order();
	Connection connection = s.establish(order);

	connection.dribble(fpdu(wire::write(target.stag, target.to + 5, wire::octets("dribble"))));
	connection.dribble(fpdu(wire::send(1, "dribbled, too")));
	connection.dribble(fpdu(wire::read_request(1, read_of(s, 7, 3))));
	expect_octets(connection,
		      fpdu(wire::read_response(0x55, 0x2000, s[victim::read].content(3, 7))),
		      "Read Response");
	connection.close();
	s.check_end(order, {.receives_ok = 1, .changed = "write:5-11"});
}

/* Reads of the victim's memory ********************************************* */

/* Receive the Read Response of @request, in segments. Return: the data. */
Octets read_data(Connection &connection, const ReadRequest &request)
{
	Octets data;

	for (bool last = false; !last;) {
		const Segment g = wire::parse_segment(connection.receive_fpdu());

		require(g.tagged && g.opcode == wire::op_read_response,
			"no Read Response: " + wire::hex(g.build()));
		require(g.dv == 1 && g.rv == 1 && !g.ddp_reserved && !g.rdmap_reserved,
			"versions or reserved bits");
		require(g.stag == request.sink_stag && g.to == request.sink_to + data.size(),
			"where the response goes");
		data = wire::join({data, g.payload});
		last = g.last;
		require(data.size() <= request.size, "longer than asked");
	}
	require(data.size() == request.size, "shorter than asked");
	return data;
}

void reads(Session &s)
{
	const Order order = s.order();
	Connection connection = s.establish(order);
	std::uint32_t msn = 0;

	for (const std::uint32_t size : {64U, 4096U, 1U, 100000U, 0U}) {
		/* only the requester knows the sink, so the victim returns any value */
		const ReadRequest request = read_of(s, size, 11, 0xfffffffffff00000);

		connection.send(fpdu(wire::read_request(++msn, request)));
		const Octets data = read_data(connection, request);
		require(data == s[victim::read].content(11, size),
			"data of a read of " + std::to_string(size));
	}
	connection.close();
	s.check_end(order, {});
}

void reads_at_once(Session &s)
{
	const std::uint32_t count = s.settings().depth;
	const Order order = s.order();
	Connection connection = s.establish(order);
	std::vector<ReadRequest> requests;
	Octets all;

	for (std::uint32_t i = 0; i < count; i++) {
		requests.push_back(read_of(s, 1000 * (i + 1), i));
		all = wire::join({all, fpdu(wire::read_request(i + 1, requests.back()))});
	}
	connection.send(all);
	for (std::uint32_t i = 0; i < count; i++)
		require(read_data(connection, requests[i]) ==
				s[victim::read].content(i, requests[i].size),
			"data of read " + std::to_string(i));
	connection.close();
	s.check_end(order, {});
}

void write_then_read(Session &s)
{
	const Target &both = s[victim::both];
	const Order order = s.order();
	Connection connection = s.establish(order);
	const ReadRequest request{
		.sink_stag = 1, .size = 4, .source_stag = both.stag, .source_to = both.to};

	connection.send(wire::join({fpdu(wire::write(both.stag, both.to, abcd)),
				    fpdu(wire::read_request(1, request))}));
	require(read_data(connection, request) == abcd, "the Read does not see the Write");
	connection.close();
	s.check_end(order, {.changed = "both:0-3"});
}

/*
 * More Read Requests than IRD while the responses are blocked: the window of this side is
 * small, and no data is read. Responses to the allowed requests may come, in part, and then the
 * Terminate at an FPDU boundary.
 */
void reads_beyond_ird(Session &s)
{
	const std::uint32_t count = s.settings().depth + 1;
	const Order order = s.order();
	Connection connection = s.establish(order, 4096);
	Octets last;

	for (std::uint32_t msn = 1; msn <= count; msn++) {
		last = fpdu(wire::read_request(msn, read_of(s, victim::region_size)));
		connection.send(last);
	}
	std::this_thread::sleep_for(500ms);
	Octets got = connection.receive_fpdu();
	while (wire::parse_segment(got).opcode == wire::op_read_response)
		got = connection.receive_fpdu();
	require(got == wire::terminate(0x1202, md, wire::ulpdu_of(last)).build(),
		"Terminate: " + wire::hex(got));
	connection.expect_end();
	connection.close();
	s.check_end(order, {});
}

/* The victim reads from us ************************************************* */

struct VictimReads {
	Connection connection;
	ReadRequest request;
};

/* Wait until the victim has requested read_size bytes. */
VictimReads asked(Session &s, const Order &order)
{
	Connection connection = s.establish(order);

	connection.send(fpdu(wire::send(1, "")));
	const Segment g = wire::parse_segment(connection.receive_fpdu());
	const ReadRequest request = wire::parse_read_request(g);
	const Target &sink = s[victim::local];

	require(g.msn == 1, "MSN of the first Read Request");
	require(request.sink_to == sink.to && request.size == victim::read_size &&
			request.source_stag == victim::read_stag &&
			request.source_to == victim::read_to,
		"Read Request: " + wire::hex(g.build()));
	return {std::move(connection), request};
}

void good_response(Session &s)
{
	const Order order = s.order(8, victim::wish_read);
	auto [connection, request] = asked(s, order);
	const Octets data(victim::read_size, 0xa5);
	Segment first =
		wire::read_response(request.sink_stag, request.sink_to, View{data}.first(100));

	first.last = false;
	connection.send(fpdu(first));
	connection.send(fpdu(wire::read_response(request.sink_stag, request.sink_to + 100,
						 View{data}.subspan(100))));
	require(s.log().next("completion", order.id).text("queue") == "receive", "the Send first");
	const Line done = s.log().next("completion", order.id);
	require(done.text("queue") == "send" && done.text("status") == "success",
		"the Read: " + done.all());
	expect_alive(connection);
	connection.close();
	s.check_end(order, {.receives_ok = 1});
}

/* A changed response must be refused, and the Read must complete with an error. */
template <typename Change>
void bad_response(Session &s, std::uint16_t code, std::size_t size, Change change)
{
	const Order order = s.order(8, victim::wish_read);
	auto [connection, request] = asked(s, order);
	Segment g = wire::read_response(request.sink_stag, request.sink_to, Octets(size, 0xa5));

	change(g);
	connection.send(fpdu(g));
	expect_terminate(connection, wire::terminate(code, md, g.build()));
	connection.close();
	s.check_end(order, {.receives_ok = 1, .send_error = "response", .code = code});
}

/* Three more Reads, all answered. Never more than ORD at a time. */
void reads_within_ord(Session &s)
{
	const Order order = s.order(8, victim::wish_read | victim::wish_reads);
	const auto data = order.encode();
	Connection connection = s.connect();
	wire::MpaFrame request{
		.flags = wire::mpa::C | wire::mpa::S,
		.revision = 2,
		.data = wire::enhanced_data(wire::enhanced::A | 1, wire::enhanced::C | 1)};

	request.data = wire::join({request.data, data});
	connection.send(request.build());
	(void)connection.receive_mpa(wire::mpa::reply_key);
	connection.send(fpdu(wire::send(1, "")));
	for (std::uint32_t msn = 1; msn <= 4; msn++) {
		const Segment g = wire::parse_segment(connection.receive_fpdu());
		const ReadRequest ask = wire::parse_read_request(g);

		require(g.msn == msn, "MSN of a Read Request");
		connection.expect_silence(200ms);
		connection.send(fpdu(
			wire::read_response(ask.sink_stag, ask.sink_to, Octets(ask.size, 0xa5))));
	}
	expect_alive(connection);
	connection.close();
	s.check_end(order, {.receives_ok = 1});
}

/* Terminates to the victim ************************************************* */

void terminated(Session &s, const Octets &frame, std::string_view error)
{
	const Order order = s.order(8, victim::wish_read);
	auto [connection, request] = asked(s, order);

	connection.send(frame);
	connection.expect_end();
	connection.close();
	s.check_end(order, {.receives_ok = 1, .send_error = error});
}

std::function<void(Session &)> terminate_with(std::uint16_t code, std::string_view error)
{
	return [=](Session &s) { terminated(s, fpdu(wire::terminate(code)), error); };
}

/* Only the control word, with all three header bits. The victim must not read beyond it. */
void terminate_without_headers(Session &s)
{
	Segment g = wire::terminate(0x1100);

	g.payload[2] = md | wire::term::R;
	terminated(s, fpdu(g), "error");
	g.payload.resize(12);
	terminated(s, fpdu(g), "error");
}

/* The End ****************************************************************** */

void graceful(Session &s)
{
	const Order order = s.order();
	Connection connection = s.establish(order);

	connection.send(fpdu(wire::send(1, "abcd")));
	connection.shut_write();
	require(connection.expect_end() == wire::End::fin, "RST in answer to FIN");
	s.check_end(order, {.receives_ok = 1});
}

/* The peer has sent FIN after its requests. They must be answered. */
void fin_behind_requests(Session &s)
{
	const Order order = s.order();
	Connection connection = s.establish(order);

	connection.send(
		wire::join({fpdu(wire::read_request(1, {})), fpdu(wire::read_request(2, {}))}));
	connection.shut_write();
	for (int i = 0; i < 2; i++)
		expect_octets(connection, fpdu(wire::read_response(0, 0, {})), "Read Response");
	require(connection.expect_end() == wire::End::fin, "RST in answer to FIN");
	s.check_end(order, {.result = "DISCONNECTED"});
}

void end_within(Session &s, const Octets &octets, bool reset, const After &after)
{
	const Order order = s.order();
	Connection connection = s.establish(order);

	connection.send(octets);
	if (reset) {
		std::this_thread::sleep_for(50ms);
		connection.reset();
	} else {
		connection.shut_write();
		try {
			connection.expect_end();
		} catch (const wire::Ended &) {}
	}
	s.check_end(order, after);
}

Octets half_an_fpdu()
{
	Octets octets = fpdu(wire::send(1, "abcd"));

	octets.resize(octets.size() / 2);
	return octets;
}

Octets half_a_message()
{
	Segment g = wire::send(1, "abcd");

	g.last = false;
	return fpdu(g);
}

/* 60000 bytes are announced and few are sent. These must not reach memory. */
Octets half_a_write(const Session &s)
{
	const Target &target = s[victim::write];
	Octets octets = fpdu(wire::write(target.stag, target.to, Octets(60000)));

	octets.resize(30000);
	return octets;
}

/* A whole message behind half of another one does not complete that one. */
void fin_between_messages(Session &s)
{
	const Target &target = s[victim::write];
	Segment half = wire::write(target.stag, target.to, {});

	half.last = false;
	end_within(s, wire::join({fpdu(half), fpdu(wire::send(1, "abcd"))}), false,
		   {.receives_ok = 1, .result = "reset by peer"});
}

void ends(Session &s, bool reset)
{
	end_within(s, half_an_fpdu(), reset, {});
	end_within(s, {0x00}, reset, {});
	end_within(s, half_a_message(), reset, {.changed = "local:4096-4099"});
	end_within(s, half_a_write(s), reset, {});
}

/* After the victim's Terminate, this side neither reads nor ends the stream. */
void peer_stays(Session &s)
{
	const Order order = s.order();
	Connection connection = s.establish(order);

	connection.send(wire::spoiled(fpdu(wire::send(1, "abcd"))));
	s.check_end(order, {});
	s.check_alive();
}

/* The victim's responses are blocked when it must send a Terminate. */
void peer_stays_blocked(Session &s)
{
	const Order order = s.order();
	Connection connection = s.establish(order, 4096);

	for (std::uint32_t msn = 1; msn <= s.settings().depth; msn++)
		connection.send(fpdu(wire::read_request(msn, read_of(s, victim::region_size))));
	connection.send(wire::spoiled(fpdu(wire::send(1, "abcd"))));
	s.check_end(order, {});
	s.check_alive();
}

} /* namespace */

std::vector<Case> stream_cases()
{
	return {
		{"fpdu-split-everywhere", "65, RFC 5044 5", split_everywhere},
		{"pad-and-crc-in-pieces", "65, RFC 5044 5", pad_and_crc_in_pieces},
		{"fpdus-in-single-octets", "65, RFC 5044 5", everything_dribbled},
		{"reads", "111 112 113, RFC 5040 5.2.2", reads},
		{"reads-at-once", "122, RFC 5040 5.2.2", reads_at_once},
		{"read-sees-write", "123, RFC 5040 5.5", write_then_read},
		{"reads-beyond-ird", "121, RFC 5041 7.1", reads_beyond_ird},
		{"victim-reads", "127, RFC 5040 5.2.2", good_response},
		{"victim-reads-within-ord", "130, RFC 5040 6.1", reads_within_ord},
		{"response-other-stag", "127, RFC 5040 5.2.2",
		 [](Session &s) {
			 bad_response(s, 0x1100, victim::read_size,
				      [&s](Segment &g) { g.stag = s[victim::both].stag; });
		 }},
		{"response-other-to", "127, RFC 5040 5.2.2",
		 [](Session &s) {
			 bad_response(s, 0x1101, victim::read_size, [](Segment &g) { g.to += 1; });
		 }},
		{"response-too-long", "128, RFC 5040 5.2.2",
		 [](Session &s) {
			 bad_response(s, 0x1101, victim::read_size + 1, [](Segment &) {});
		 }},
		{"response-too-short", "129, RFC 5040 5.2.2",
		 [](Session &s) {
			 bad_response(s, 0x1101, victim::read_size - 1, [](Segment &) {});
		 }},
		{"terminate-protection", "132, RFC 5040 5.4",
		 terminate_with(0x0100, "access error")},
		{"terminate-ddp-tagged", "132, RFC 5040 5.4",
		 terminate_with(0x1100, "access error")},
		{"terminate-local-catastrophic", "133, RFC 5040 5.4",
		 terminate_with(0x0000, "operation error")},
		{"terminate-crc", "133, RFC 5040 5.4", terminate_with(0x2002, "error")},
		{"terminate-crc-of-other-rnics", "134, RFC 5040 5.4",
		 terminate_with(0x2302, "error")},
		{"terminate-unknown", "133, RFC 5040 5.4", terminate_with(0xffff, "error")},
		{"terminate-of-siw", "135, RFC 5040 4.8",
		 [](Session &s) {
			 Segment g = wire::terminate(0x1100);

			 g.payload[2] = 0x03;
			 terminated(s, fpdu(g), "error");
		 }},
		{"terminate-without-headers", "136, RFC 5040 4.8", terminate_without_headers},
		{"fin", "142, RFC 5041 6.2.1", graceful},
		{"fin-behind-requests", "142, RFC 5040 5.2.1", fin_behind_requests},
		{"fin-between-messages", "143, RFC 5041 6.2.1", fin_between_messages},
		{"fin-in-the-middle", "143, RFC 5044 8 (1)", [](Session &s) { ends(s, false); }},
		{"reset-in-the-middle", "143, RFC 5044 8 (1)", [](Session &s) { ends(s, true); }},
		{"peer-stays-after-terminate", "145, RFC 5040 6.2.1", peer_stays},
		{"peer-stays-with-closed-window", "145, RFC 5040 6.2.1", peer_stays_blocked},
	};
}

} /* namespace hostile */
