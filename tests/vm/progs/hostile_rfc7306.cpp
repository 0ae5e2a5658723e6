/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Cases about immediate data and atomic operations (RFC 7306): right and wrong messages to the
 * victim, every byte of the victim's own messages, and right and wrong answers to these. Some
 * answers are those of a peer that does not know RFC 7306.
 */
#include <bit>
#include <cstring>
#include <thread>

#include "hostile.hpp"

namespace hostile {
namespace {

using wire::AtomicRequest;
using wire::fpdu;
using wire::Segment;
using Segments = std::vector<Segment>;

constexpr std::uint8_t md = wire::term::M | wire::term::D;
constexpr std::uint64_t all_ones = ~std::uint64_t{0};
/* immediate data and the mark that a Send follows, docs/wire.md */
constexpr std::uint64_t marked = 0x01020304'6b72646d;
const Octets abcd = wire::octets("abcd");

std::uint64_t word_of(const Session &s, std::size_t offset)
{
	const Octets octets = s[victim::atomic].content(offset, sizeof(std::uint64_t));
	std::uint64_t word = 0;

	std::memcpy(&word, octets.data(), sizeof(word));
	return word;
}

AtomicRequest add_to(const Session &s, victim::Region region, std::uint64_t offset = 0)
{
	return {.stag = s[region].stag, .to = s[region].to + offset, .data = 1};
}

Octets all_of(const Segments &segments)
{
	Octets all;

	for (const Segment &segment : segments)
		all = wire::join({all, fpdu(segment)});
	return all;
}

/* The last of the segments must be refused with that Terminate. */
void refused(Session &s, const Segments &segments, std::uint16_t code, const After &after = {},
	     std::uint8_t receives = 8)
{
	const Order order = s.order(receives);
	Connection connection = s.establish(order);

	connection.send(all_of(segments));
	Octets got = connection.receive_fpdu();
	/* earlier requests may have been answered */
	while (wire::parse_segment(got).opcode == wire::op_atomic_response)
		got = connection.receive_fpdu();
	require(got == wire::terminate(code, code >> 12 == 2 ? 0 : md, segments.back().build())
				.build(),
		"Terminate: " + wire::hex(got));
	connection.expect_end();
	connection.close();
	After all = after;

	all.code = code;
	all.queue = segments.back().qn;
	s.check_end(order, all);
}

template <typename Change> Segment odd(Segment segment, Change change)
{
	change(segment);
	return segment;
}

/* Immediate data to the victim ********************************************** */

void received(Session &s, const Order &order, std::uint32_t imm, std::size_t bytes)
{
	const Line done = s.log().next("completion", order.id);

	require(done.text("status") == "success" && done.number("imm") == imm &&
			done.number("bytes") == bytes,
		"immediate data: " + done.all());
}

void immediate(Session &s, std::uint8_t opcode)
{
	const Order order = s.order(3);
	Connection connection = s.establish(order);
	Segment first = wire::imm(1, 0x0102030405060708);

	first.opcode = opcode;
	connection.send(fpdu(first));
	received(s, order, 0x01020304, 0);
	connection.send(
		wire::join({fpdu(wire::write(s[victim::write].stag, s[victim::write].to, abcd)),
			    fpdu(wire::imm(2, 0xffffffff'00000000))}));
	received(s, order, 0xffffffff, 4);
	/* byte_len of the Write belonged to the message before */
	connection.send(fpdu(wire::imm(3, 0)));
	received(s, order, 0, 0);
	expect_alive(connection);
	connection.close();
	s.check_end(order, {.receives_ok = 3, .changed = "write:0-3"});
}

void immediate_of_a_send(Session &s)
{
	const Order order = s.order(2);
	Connection connection = s.establish(order);

	connection.send(all_of({wire::imm(1, marked), wire::send(2, "abcd"), wire::send(3, "ab")}));
	received(s, order, 0x01020304, 4);
	const Line next = s.log().next("completion", order.id);
	require(next.number("bytes") == 2 && next.all().find("imm") == std::string::npos,
		"the Send behind it: " + next.all());
	expect_alive(connection);
	connection.close();
	s.check_end(order, {.receives_ok = 2});
}

void end_before_the_promised_send(Session &s)
{
	const Order order = s.order(2);
	Connection connection = s.establish(order);

	connection.send(fpdu(wire::imm(1, marked)));
	expect_alive(connection);
	connection.shut_write();
	connection.expect_end();
	connection.close();
	s.check_end(order, {});
	s.check_alive();
}

void more_than_receives(Session &s)
{
	Segments segments;

	for (std::uint32_t msn = 1; msn <= 5; msn++)
		segments.push_back(wire::imm(msn, 0));
	refused(s, segments, 0x1202, {.receives_ok = 4}, 4);
}

std::function<void(Session &)> refused_imm(std::uint16_t code, void (*change)(Segment &))
{
	return [=](Session &s) { refused(s, {odd(wire::imm(1, 0), change)}, code); };
}

void inside_a_send(Session &s)
{
	Segment first = wire::send(1, "abcd");
	Segment second = wire::imm(1, 0);

	first.last = false;
	second.mo = 4;
	refused(s, {first, second}, 0x0206, {.changed = "local:4096-4099"});
}

void invalidate_and_immediate(Session &s)
{
	Segment send = wire::send(2, "abcd");

	send.opcode = wire::op_send_inv;
	send.rsvd_ulp = s[victim::spare].stag;
	refused(s, {wire::imm(1, marked), send}, 0x0207, {.receive_error = "invalid request"});
}

/* Atomic operations on the victim's memory ********************************** */

void does(Session &s, const AtomicRequest &change, std::string_view changed)
{
	AtomicRequest request = change;
	const Order order = s.order();
	Connection connection = s.establish(order);

	request.stag = s[victim::atomic].stag;
	request.to = s[victim::atomic].to;
	connection.send(fpdu(wire::atomic_request(1, request)));
	expect_octets(connection, fpdu(wire::atomic_response(1, request.id, word_of(s, 0))),
		      "Atomic Response");
	expect_alive(connection, 2);
	connection.close();
	s.check_end(order, {.changed = changed});
}

/* Responses come in the order of the requests, each kind on its queue. */
void in_line_with_reads(Session &s)
{
	const Target &both = s[victim::read];
	const wire::ReadRequest read{
		.sink_stag = 1, .size = 8, .source_stag = both.stag, .source_to = both.to};
	const Order order = s.order();
	Connection connection = s.establish(order);
	const Octets data = both.content(0, 8);
	AtomicRequest add = add_to(s, victim::atomic);
	const std::uint64_t old = word_of(s, 0);

	connection.send(all_of({wire::read_request(1, read), wire::atomic_request(2, add),
				wire::read_request(3, read)}));
	expect_octets(connection, fpdu(wire::read_response(1, 0, data)), "first");
	expect_octets(connection, fpdu(wire::atomic_response(1, add.id, old)), "second");
	expect_octets(connection, fpdu(wire::read_response(1, 0, data)), "third");
	add.id = 0xffffffff;
	connection.send(all_of({wire::atomic_request(4, add)}));
	expect_octets(connection, fpdu(wire::atomic_response(2, add.id, old + 1)), "fourth");
	connection.close();
	s.check_end(order, {.changed = "atomic:0-0"});
}

/* Atomic Requests count toward IRD, as Reads do; see reads_beyond_ird(). */
void beyond_ird(Session &s)
{
	const Target &from = s[victim::read];
	const wire::ReadRequest read{.sink_stag = 1,
				     .size = victim::region_size,
				     .source_stag = from.stag,
				     .source_to = from.to};
	const std::uint32_t count = s.settings().depth;
	const Order order = s.order();
	Connection connection = s.establish(order, 4096);
	const Segment last = wire::atomic_request(count + 1, add_to(s, victim::atomic));

	for (std::uint32_t msn = 1; msn <= count; msn++)
		connection.send(fpdu(wire::read_request(msn, read)));
	connection.send(fpdu(last));
	std::this_thread::sleep_for(500ms);
	Octets got = connection.receive_fpdu();
	while (wire::parse_segment(got).opcode == wire::op_read_response)
		got = connection.receive_fpdu();
	require(got == wire::terminate(0x1202, md, last.build()).build(),
		"Terminate: " + wire::hex(got));
	connection.expect_end();
	connection.close();
	s.check_end(order, {});
}

std::function<void(Session &)> refused_place(std::uint16_t code, victim::Region region,
					     std::uint64_t offset = 0)
{
	return [=](Session &s) {
		/* an address that is not aligned has its own code, but counts as an access */
		refused(s, {wire::atomic_request(1, add_to(s, region, offset))}, code,
			{.access = true});
	};
}

std::function<void(Session &)> refused_to(std::uint16_t code, std::uint64_t to)
{
	return [=](Session &s) {
		AtomicRequest request = add_to(s, victim::atomic);

		request.to = to;
		refused(s, {wire::atomic_request(1, request)}, code);
	};
}

std::function<void(Session &)> refused_request(std::uint16_t code, void (*change)(Segment &))
{
	return [=](Session &s) {
		const Segment right = wire::atomic_request(1, add_to(s, victim::atomic));

		refused(s, {odd(right, change)}, code);
	};
}

void every_unaligned_place(Session &s)
{
	for (std::uint64_t offset = 1; offset < 8; offset++)
		refused_place(0x0207, victim::atomic, offset)(s);
}

void every_unknown_operation(Session &s)
{
	for (std::uint32_t op = 0; op < 16; op++) {
		AtomicRequest request = add_to(s, victim::atomic);

		request.op = op;
		if (op != 0 && op != 2)
			refused(s, {wire::atomic_request(1, request)}, 0x0206);
	}
}

/* What the victim sends ***************************************************** */

/* The victim's FetchAdd, with every byte compared. */
Connection asked(Session &s, const Order &order)
{
	Connection connection = s.establish(order);
	const AtomicRequest wanted{
		.id = 1, .stag = victim::read_stag, .to = victim::read_to, .data = victim::summand};

	connection.send(fpdu(wire::send(1, "")));
	expect_octets(connection, fpdu(wire::atomic_request(1, wanted)), "Atomic Request");
	return connection;
}

void good_response(Session &s)
{
	const Order order = s.order(8, victim::wish_atomic);
	Connection connection = asked(s, order);

	connection.send(fpdu(wire::atomic_response(1, 1, 0x1122334455667788)));
	require(s.log().next("completion", order.id).text("queue") == "receive", "the Send first");
	const Line done = s.log().next("completion", order.id);
	require(done.text("queue") == "send" && done.text("status") == "success",
		"the operation: " + done.all());
	expect_alive(connection);
	connection.close();
	s.check_end(order, {.receives_ok = 1});
}

std::function<void(Session &)> bad_response(std::uint16_t code, std::string_view error,
					    void (*change)(Segment &))
{
	return [=](Session &s) {
		const Order order = s.order(8, victim::wish_atomic);
		Connection connection = asked(s, order);
		const Segment g = odd(wire::atomic_response(1, 1, 0), change);

		connection.send(fpdu(g));
		expect_terminate(connection,
				 wire::terminate(code, code >> 12 == 2 ? 0 : md, g.build()));
		connection.close();
		s.check_end(order,
			    {.receives_ok = 1, .send_error = error, .code = code, .queue = g.qn});
	};
}

void unasked_response(Session &s)
{
	refused(s, {wire::atomic_response(1, 1, 0)}, 0x1202);
}

/* The wrong kind of answer must not be taken for the expected one. */
void read_response_to_an_atomic(Session &s)
{
	const Order order = s.order(8, victim::wish_atomic);
	Connection connection = asked(s, order);
	const Segment g =
		wire::read_response(s[victim::local].stag, s[victim::local].to, Octets(8));

	connection.send(fpdu(g));
	expect_terminate(connection, wire::terminate(0x1100, md, g.build()));
	connection.close();
	s.check_end(order, {.receives_ok = 1, .send_error = "response"});
}

void atomic_response_to_a_read(Session &s)
{
	const Order order = s.order(8, victim::wish_read);
	Connection connection = s.establish(order);
	const Segment g = wire::atomic_response(1, 1, 0);

	connection.send(fpdu(wire::send(1, "")));
	(void)wire::parse_read_request(wire::parse_segment(connection.receive_fpdu()));
	connection.send(fpdu(g));
	expect_terminate(connection, wire::terminate(0x1202, md, g.build()));
	connection.close();
	s.check_end(order, {.receives_ok = 1, .send_error = "response"});
}

/* A peer without RFC 7306 answers with "unexpected opcode", or only ends the stream. */
void knows_no_atomics(Session &s)
{
	{
		const Order order = s.order(8, victim::wish_atomic);
		Connection connection = asked(s, order);
		const AtomicRequest request{.id = 1,
					    .stag = victim::read_stag,
					    .to = victim::read_to,
					    .data = victim::summand};

		connection.send(fpdu(
			wire::terminate(0x0206, md, wire::atomic_request(1, request).build())));
		connection.expect_end();
		connection.close();
		s.check_end(order, {.receives_ok = 1, .send_error = "invalid request"});
	}
	const Order order = s.order(8, victim::wish_atomic);
	Connection connection = asked(s, order);

	connection.shut_write();
	connection.expect_end();
	connection.close();
	s.check_end(order, {.receives_ok = 1});
	s.check_alive();
}

/* The verbs' immediate data on the wire, with every byte compared. */
Connection sent_immediate(Session &s, const Order &order)
{
	const std::string_view text{victim::greeting, sizeof(victim::greeting)};
	Connection connection = s.establish(order);
	Segment last = wire::imm(3, std::uint64_t{victim::write_imm} << 32);

	last.opcode = wire::op_imm_se;
	connection.send(fpdu(wire::send(1, "")));
	expect_octets(connection, fpdu(wire::imm(1, marked)), "Immediate Data of a Send");
	expect_octets(connection, fpdu(wire::send(2, text)), "its Send");
	expect_octets(connection,
		      fpdu(wire::write(victim::read_stag, victim::read_to, wire::octets(text))),
		      "Write");
	expect_octets(connection, fpdu(last), "its Immediate Data");
	return connection;
}

void immediate_octets(Session &s)
{
	const Order order = s.order(8, victim::wish_imm);
	Connection connection = sent_immediate(s, order);

	expect_alive(connection);
	connection.close();
	s.check_end(order, {.receives_ok = 1});
}

void knows_no_immediate(Session &s)
{
	const Order order = s.order(8, victim::wish_imm);
	Connection connection = sent_immediate(s, order);

	for (const char *queue : {"receive", "send", "send"})
		require(s.log().next("completion", order.id).text("queue") == queue, queue);
	connection.send(fpdu(wire::terminate(0x0206, md, wire::imm(1, marked).build())));
	connection.expect_end();
	connection.close();
	/* All requests have completed, so the program gets an event. */
	s.check_end(order, {.receives_ok = 1, .async = "catastrophic"});
	s.check_alive();
}

} /* namespace */

std::vector<Case> rfc7306_cases()
{
	return {
		{"imm", "146 149, RFC 7306 6", [](Session &s) { immediate(s, wire::op_imm); }},
		{"imm-solicited", "148, RFC 7306 6",
		 [](Session &s) { immediate(s, wire::op_imm_se); }},
		{"imm-no-receive", "147, RFC 7306 6.3", more_than_receives},
		{"imm-0-octets", "150, RFC 7306 6.3",
		 refused_imm(0x0207, [](Segment &g) { g.payload.clear(); })},
		{"imm-7-octets", "150, RFC 7306 6.3",
		 refused_imm(0x0207, [](Segment &g) { g.payload.pop_back(); })},
		{"imm-9-octets", "150, RFC 7306 6.3",
		 refused_imm(0x0207, [](Segment &g) { g.payload.push_back(0); })},
		{"imm-qn-1", "RFC 5041 7.1", refused_imm(0x1201, [](Segment &g) { g.qn = 1; })},
		{"imm-msn-2", "RFC 5041 7.1", refused_imm(0x1203, [](Segment &g) { g.msn = 2; })},
		{"imm-mo-4", "RFC 5041 7.1", refused_imm(0x1204, [](Segment &g) { g.mo = 4; })},
		{"imm-not-last", "RFC 5041 4.3",
		 refused_imm(0x1000, [](Segment &g) { g.last = false; })},
		{"imm-tagged", "RFC 7306 6.3",
		 refused_imm(0x0206, [](Segment &g) { g.tagged = true; })},
		{"imm-rv-2", "RFC 7306 8.2", refused_imm(0x0205, [](Segment &g) { g.rv = 2; })},
		{"imm-inside-a-send", "RFC 5041 5.3", inside_a_send},
		{"imm-of-a-send", "docs/wire.md", immediate_of_a_send},
		{"imm-of-a-send-twice", "docs/wire.md",
		 [](Session &s) {
			 refused(s, {wire::imm(1, marked), wire::imm(2, marked)}, 0x0206);
		 }},
		{"imm-and-invalidate", "docs/wire.md", invalidate_and_immediate},
		{"imm-of-a-send-and-end", "docs/wire.md", end_before_the_promised_send},

		{"fetch-add", "152, RFC 7306 5.1.1",
		 [](Session &s) { does(s, {.data = 1}, "atomic:0-0"); }},
		{"fetch-add-nothing", "RFC 7306 1.1", [](Session &s) { does(s, {}, ""); }},
		{"fetch-add-fields", "155, RFC 7306 5.1.1",
		 [](Session &s) {
			 /* one field of 8 bits: the sum of 128 and 128 is 0 there */
			 does(s, {.data = 0x80, .mask = 0x80}, "atomic:0-0");
		 }},
		{"fetch-add-reserved-bits", "RFC 7306 5.2.1",
		 [](Session &s) {
			 does(s, {.op = 0xfffffff0, .data = 1, .compare = 9, .compare_mask = 0},
			      "atomic:0-0");
		 }},
		{"cmp-swap", "153, RFC 7306 5.1.2",
		 [](Session &s) {
			 does(s,
			      {.op = 2,
			       .data = ~word_of(s, 0),
			       .mask = all_ones,
			       .compare = word_of(s, 0)},
			      "atomic:0-7");
		 }},
		{"cmp-swap-differs", "154, RFC 7306 5.1.2",
		 [](Session &s) {
			 does(s,
			      {.op = 2,
			       .data = ~word_of(s, 0),
			       .mask = all_ones,
			       .compare = word_of(s, 0) ^ std::uint64_t{1} << 63},
			      "");
		 }},
		{"cmp-swap-masks", "156, RFC 7306 5.1.2",
		 [](Session &s) {
			 does(s,
			      {.op = 2,
			       .data = ~word_of(s, 0),
			       .mask = 0xff00,
			       .compare = word_of(s, 0) ^ 0xff00,
			       .compare_mask = 0xff},
			      std::endian::native == std::endian::little ? "atomic:1-1"
									 : "atomic:6-6");
		 }},
		{"atomics-in-line-with-reads", "160, RFC 7306 7", in_line_with_reads},
		{"atomics-beyond-ird", "161, RFC 7306 5.2", beyond_ird},
		{"atomic-unaligned", "157, RFC 7306 8.2", every_unaligned_place},
		{"atomic-operation", "158, RFC 7306 5.2.1", every_unknown_operation},
		{"atomic-no-right", "159, RFC 5040 7.2", refused_place(0x0102, victim::both)},
		{"atomic-local-only", "159, RFC 5040 7.2", refused_place(0x0102, victim::local)},
		{"atomic-other-pd", "159, RFC 5040 7.2", refused_place(0x0103, victim::foreign)},
		{"atomic-stag-gone", "159, RFC 5040 7.2", refused_place(0x0100, victim::gone)},
		{"atomic-past-end", "159, RFC 5040 7.2",
		 refused_place(0x0101, victim::atomic, victim::region_size - 4)},
		{"atomic-behind-end", "159, RFC 5040 7.2",
		 refused_place(0x0101, victim::atomic, victim::region_size)},
		{"atomic-before-start", "159, RFC 5040 7.2",
		 refused_place(0x0101, victim::atomic, -std::uint64_t{8})},
		{"atomic-to-wraps", "159, RFC 5040 7.2", refused_to(0x0104, all_ones - 3)},
		{"atomic-last-octets-there-are", "159, RFC 5040 7.2",
		 refused_to(0x0101, all_ones - 7)},
		{"write-atomic-only", "RFC 5041 7.1",
		 [](Session &s) {
			 const Target &t = s[victim::atomic];

			 refused(s, {wire::write(t.stag, t.to, abcd)}, 0x1100);
		 }},
		{"atomic-msn-2", "RFC 5041 7.1",
		 refused_request(0x1203, [](Segment &g) { g.msn = 2; })},
		{"atomic-mo-8", "RFC 5041 7.1",
		 refused_request(0x1204, [](Segment &g) { g.mo = 8; })},
		{"atomic-qn-0", "RFC 7306 5.2.1",
		 refused_request(0x1201, [](Segment &g) { g.qn = 0; })},
		{"atomic-qn-3", "RFC 7306 5.2.1",
		 refused_request(0x1201, [](Segment &g) { g.qn = 3; })},
		{"atomic-tagged", "RFC 7306 5.2.1",
		 refused_request(0x0206, [](Segment &g) { g.tagged = true; })},
		{"atomic-not-last", "RFC 5041 4.3",
		 refused_request(0x1000, [](Segment &g) { g.last = false; })},
		{"atomic-too-long", "RFC 7306 5.2.1",
		 refused_request(0x1205, [](Segment &g) { g.payload.push_back(0); })},
		{"atomic-cut-short", "RFC 7306 5.2.1",
		 refused_request(0x2003, [](Segment &g) { g.payload.pop_back(); })},
		{"atomic-rv-0", "RFC 7306 8.2",
		 refused_request(0x0205, [](Segment &g) { g.rv = 0; })},

		{"asks-atomic", "163, RFC 7306 5.2.1", good_response},
		{"atomic-response-id", "162, RFC 7306 5.2.2",
		 bad_response(0x0207, "response", [](Segment &g) { g.payload[3] = 9; })},
		{"atomic-response-msn-2", "162, RFC 5041 7.1",
		 bad_response(0x1203, "response", [](Segment &g) { g.msn = 2; })},
		{"atomic-response-mo-4", "162, RFC 5041 7.1",
		 bad_response(0x1204, "response", [](Segment &g) { g.mo = 4; })},
		{"atomic-response-qn-1", "162, RFC 7306 5.2.2",
		 bad_response(0x1201, "", [](Segment &g) { g.qn = 1; })},
		{"atomic-response-too-long", "162, RFC 7306 5.2.2",
		 bad_response(0x1205, "", [](Segment &g) { g.payload.push_back(0); })},
		{"atomic-response-cut-short", "162, RFC 7306 5.2.2",
		 bad_response(0x2003, "", [](Segment &g) { g.payload.pop_back(); })},
		{"atomic-response-not-last", "162, RFC 5041 4.3",
		 bad_response(0x1000, "", [](Segment &g) { g.last = false; })},
		{"atomic-response-unasked", "162, RFC 7306 5.2.2", unasked_response},
		{"read-response-to-an-atomic", "162, RFC 5040 5.2.2", read_response_to_an_atomic},
		{"atomic-response-to-a-read", "162, RFC 7306 5.2.2", atomic_response_to_a_read},
		{"peer-knows-no-atomics", "RFC 7306 1.1", knows_no_atomics},
		{"sends-immediate", "RFC 7306 6, docs/wire.md", immediate_octets},
		{"peer-knows-no-immediate", "RFC 7306 1.1", knows_no_immediate},
	};
}

} /* namespace hostile */
