/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Cases with Terminates of every layer, type and code, and with malformed ones. The victim has
 * an outstanding RDMA Read or not. The cases check the events and completions of the victim's
 * program.
 */
#include <cstdio>
#include <thread>

#include "hostile.hpp"

namespace hostile {
namespace {

using wire::fpdu;
using wire::Segment;

constexpr std::uint8_t md = wire::term::M | wire::term::D;
constexpr std::uint8_t mdr = md | wire::term::R;
constexpr const char *access = "remote access error";
constexpr const char *request = "remote invalid request error";
constexpr const char *operation = "remote operation error";
constexpr const char *fatal = "local work queue catastrophic error";

/* The status with which the work request must complete that the Terminate names. */
struct Told {
	std::uint16_t code;
	const char *status;
};

const Told table[] = {
	/* RDMAP, RFC 5040 7.2 and RFC 7306 8.2 */
	{0x0000, operation},
	{0x0001, operation},
	{0x0100, access},
	{0x0101, access},
	{0x0102, access},
	{0x0103, access},
	{0x0104, access},
	{0x0109, access},
	{0x01ff, access},
	{0x0205, request},
	{0x0206, request},
	{0x0207, operation},
	{0x0208, operation},
	{0x0209, access},
	{0x02ff, operation},
	/* DDP, RFC 5041 7.2 */
	{0x1000, operation},
	{0x1100, access},
	{0x1101, access},
	{0x1102, access},
	{0x1103, access},
	{0x1104, request},
	{0x1201, request},
	{0x1202, request},
	{0x1203, request},
	{0x1204, request},
	{0x1205, request},
	{0x1206, request},
	/* MPA, RFC 5044 8 and RFC 6581 9.3, also with the error type of other RNICs */
	{0x2001, operation},
	{0x2002, operation},
	{0x2003, operation},
	{0x2004, operation},
	{0x2005, operation},
	{0x2006, operation},
	{0x2007, operation},
	{0x2302, operation},
	{0x2303, operation},
	{0x2306, operation},
	{0x2307, operation},
	/* codes of no RFC */
	{0x0300, operation},
	{0x0f00, operation},
	{0x0242, operation},
	{0x0142, access},
	{0x1042, operation},
	{0x1142, access},
	{0x1242, request},
	{0x1300, operation},
	{0x20ff, operation},
	{0x2100, operation},
	{0x3000, operation},
	{0xf000, operation},
	{0xffff, operation},
};

/* Wait for the victim's RDMA Read. Return: its Read Request. */
Segment wait_for_read(Connection &connection)
{
	connection.send(fpdu(wire::send(1, "")));
	Segment g = wire::parse_segment(connection.receive_fpdu());

	(void)wire::parse_read_request(g);
	return g;
}

/*
 * The Terminate must end the stream without another byte. The completion must have that status
 * and code. Without a work request the program must get an event.
 */
template <typename Make>
void terminated(Session &s, bool with_read, std::uint16_t code, std::string_view status, Make make)
{
	const Order order = s.order(8, with_read ? victim::wish_read : 0);
	Connection connection = s.establish(order);
	Segment asked;

	if (with_read)
		asked = wait_for_read(connection);
	connection.send(fpdu(make(asked)));
	connection.expect_end();
	connection.close();
	s.check_counters({{"terminates_received", 1}});
	const Line end = s.log().next("end", order.id);
	require(end.number("lost") == 0 && end.text("changed").empty() &&
			end.number("receives_ok") == (with_read ? 1U : 0U) &&
			end.text("receive_error").empty(),
		"the victim's end: " + end.all());
	if (with_read)
		require(end.text("send_error") == status && end.number("send_code") == code &&
				end.text("async").empty(),
			"the Read's end: " + end.all());
	else
		require(end.text("async") == fatal, "the victim's event: " + end.all());
}

std::string name_of(std::uint16_t code)
{
	std::array<char, 8> text{};

	std::snprintf(text.data(), text.size(), "%04x: ", code);
	return text.data();
}

void every_code(Session &s, bool with_read)
{
	std::string wrong;

	for (const Told &row : table) {
		try {
			terminated(s, with_read, row.code, row.status,
				   [&](const Segment &) { return wire::terminate(row.code); });
		} catch (const Failure &failure) {
			wrong += "\n  " + name_of(row.code) + failure.what();
		}
	}
	require(wrong.empty(), wrong);
}

/* A Terminate with the headers of the refused segment (RFC 5040 figure 10). */
void with_headers(Session &s)
{
	terminated(s, true, 0x0101, access, [](const Segment &asked) {
		return wire::terminate(0x0101, mdr, asked.build());
	});
	terminated(s, true, 0x1203, request,
		   [](const Segment &asked) { return wire::terminate(0x1203, md, asked.build()); });
	terminated(s, false, 0x1100, access, [](const Segment &) {
		return wire::terminate(0x1100, md, wire::write(1, 2, wire::octets("abcd")).build());
	});
}

/*
 * Messages of a victim that waits for the answer to its Read, so that none of its requests is
 * complete: the Read Request, Immediate Data and its Send, a Write and its Immediate Data, a
 * Send and a Write of several segments.
 */
constexpr std::uint16_t wishes_all = victim::wish_read | victim::wish_imm | victim::wish_large;
enum : int { the_read, the_send_imm, the_write_imm, the_send, the_write, requests, nobody = -1 };

std::vector<Segment> receive_all(Connection &connection)
{
	std::vector<Segment> all;

	connection.send(fpdu(wire::send(1, "")));
	do
		all.push_back(wire::parse_segment(connection.receive_fpdu()));
	while (!all.back().tagged || !all.back().last || all.back().to < victim::large_to ||
	       all.back().to > victim::large_to + victim::large_size);
	return all;
}

/* The work request to which a segment of receive_all() belongs. */
int sender_of(const Segment &g)
{
	if (g.tagged)
		return g.to == victim::read_to ? the_write_imm : the_write;
	if (g.qn == 1)
		return the_read;
	return g.msn < 3 ? the_send_imm : g.msn == 3 ? the_write_imm : the_send;
}

/*
 * Send a Terminate about a segment that @choose makes of these messages. It must end the work
 * request that @choose names, or none, and flush the others.
 */
template <typename Choose> void blames(Session &s, Choose choose, std::uint8_t bits = md)
{
	const Order order = s.order(8, wishes_all);
	Connection connection = s.establish(order);
	int blamed = nobody;
	const Segment about = choose(receive_all(connection), blamed);
	const std::string what = "about " + wire::hex(about.build()).substr(0, 36) + ": ";

	connection.send(fpdu(wire::terminate(0x1100, bits, about.build())));
	connection.expect_end();
	connection.close();
	if (blamed != nobody) {
		Line line = s.log().next("completion", order.id);

		if (line.text("queue") == "receive")
			line = s.log().next("completion", order.id);
		require(line.number("wr") == victim::send_id + static_cast<unsigned>(blamed) &&
				line.text("status") == access,
			what + line.all());
	}
	const Line end = s.log().next("end", order.id);
	require(end.number("lost") == 0 && end.number("sends_ok") == 0 &&
			end.number("sends_flushed") ==
				static_cast<unsigned>(requests - (blamed != nobody)) &&
			end.text("async") == (blamed == nobody ? fatal : ""),
		what + end.all());
}

/* Segments of each work request. */
void names_request(Session &s)
{
	std::size_t count = 1;

	for (std::size_t i = 0; i < count; i++)
		blames(s, [&](const std::vector<Segment> &all, int &blamed) {
			count = all.size();
			blamed = sender_of(all.at(i));
			return all[i];
		});
	require(count >= 9, std::to_string(count) + " segments");
	/*
	 * siw's Read Requests have their length where the MSN belongs: the sink identifies the
	 * Read
	 */
	blames(
		s,
		[](const std::vector<Segment> &all, int &blamed) {
			Segment g = all.front();

			g.msn = victim::read_size;
			blamed = the_read;
			return g;
		},
		mdr);
}

/* Segments of no work request, made from the last segment or the first. */
void names_nobody(Session &s)
{
	const auto change = [&](std::size_t which, auto apply) {
		blames(s, [&](const std::vector<Segment> &all, int &) {
			Segment g = which ? all.back() : all.front();

			apply(g);
			return g;
		});
	};

	/*
	 * instead of the Write: one byte behind it and before it, another STag, a Read
	 * Response
	 */
	change(1, [](Segment &g) { g.to = victim::large_to + victim::large_size; });
	change(1, [](Segment &g) { g.to = victim::large_to - 1; });
	change(1, [](Segment &g) { g.stag++; });
	change(1, [](Segment &g) { g.opcode = wire::op_read_response; });
	/*
	 * instead of the Read Request: another MSN of its queue, and a Send that was never sent
	 */
	change(0, [](Segment &g) { g.msn = 2; });
	blames(
		s,
		[](const std::vector<Segment> &all, int &) {
			Segment g = all.front();

			g.msn = victim::read_size;
			g.payload[0] ^= 1; /* the sink's STag */
			return g;
		},
		mdr);
	change(0, [](Segment &g) { g = wire::send(5, ""); });
	change(0, [](Segment &g) { g = wire::atomic_response(1, 7, 0); });
}

/*
 * The victim may send nothing before this side's first FPDU. So there is nothing to refuse of
 * the Send that it has posted.
 */
void before_any_request(Session &s)
{
	const Order order = s.order(8, victim::wish_send);
	Connection connection = s.establish(order);

	(void)s.log().next("established", order.id);
	std::this_thread::sleep_for(200ms);
	connection.send(fpdu(wire::terminate(0x1100)));
	connection.expect_end();
	connection.close();
	const Line end = s.log().next("end", order.id);
	require(end.number("lost") == 0 && end.number("sends_flushed") == 1 &&
			end.text("send_error").empty() && end.text("async") == fatal,
		end.all());
}

/* Header bits without the headers: the code counts, and the rest is ignored. */
void wrong_header_bits(Session &s)
{
	for (unsigned int bits = 0; bits < 256; bits += 0x10) {
		for (const std::size_t more : {0U, 1U, 2U, 15U, 16U, 20U, 47U, 48U}) {
			terminated(s, true, 0x1100, access, [&](const Segment &) {
				Segment g = wire::terminate(0x1100);

				g.payload[2] = static_cast<std::uint8_t>(bits | 0x0f);
				g.payload[3] = 0xff;
				g.payload.resize(g.payload.size() + more, 0xee);
				return g;
			});
			if (bits & 0x10) /* a reserved bit: one size is enough */
				break;
		}
	}
}

/* A malformed Terminate is refused like any other wrong message. */
void refused(Session &s, std::uint16_t code, std::size_t size)
{
	const Order order = s.order(8, victim::wish_read);
	Connection connection = s.establish(order);
	Segment g = wire::terminate(0x1100);

	(void)wait_for_read(connection);
	g.payload.resize(size);
	connection.send(fpdu(g));
	expect_terminate(connection, wire::terminate(code, code >> 12 == 2 ? 0 : md, g.build()));
	connection.close();
	s.check_end(order, {.receives_ok = 1, .code = code});
}

void wrong_sizes(Session &s)
{
	for (const std::size_t size : {0U, 1U, 2U, 3U})
		refused(s, 0x2003, size);
	for (const std::size_t size : {53U, 1000U})
		refused(s, 0x1205, size);
}

} /* namespace */

std::vector<Case> terminate_cases()
{
	return {
		{"terminate-every-code", "132 133 134, RFC 5040 7.2, RFC 5041 7.2, RFC 5044 8",
		 [](Session &s) { every_code(s, true); }},
		{"terminate-every-code-idle", "133, RFC 5040 5.4",
		 [](Session &s) { every_code(s, false); }},
		{"terminate-with-headers", "132, RFC 5040 4.8", with_headers},
		{"terminate-names-request", "132, RFC 5040 4.8", names_request},
		{"terminate-names-nobody", "132, RFC 5040 4.8", names_nobody},
		{"terminate-before-any-request", "132, RFC 5044 7.1.2", before_any_request},
		{"terminate-header-bits", "136, RFC 5040 4.8", wrong_header_bits},
		{"terminate-sizes", "137, RFC 5040 4.8", wrong_sizes},
	};
}

} /* namespace hostile */
