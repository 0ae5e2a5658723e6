/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Cases that send FPDUs on a new stream and expect one exact answer: a Terminate, of which
 * every byte is compared, or no Terminate, because the FPDUs are right.
 */
#include "hostile.hpp"

namespace hostile {
namespace {

using wire::fpdu;
using wire::ReadRequest;
using wire::Segment;
using wire::send;
using wire::spoiled;
using wire::write;
using Fpdus = std::vector<Octets>;

constexpr std::uint8_t none = 0;
constexpr std::uint8_t md = wire::term::M | wire::term::D;
constexpr std::uint8_t mdr = md | wire::term::R;
constexpr std::uint16_t fine = 0xffff; /* no Terminate */

/**
 * struct SegmentCase - a row of the table
 * @fpdus: the FPDUs, which are sent in one piece
 * @code: layer, error type and error code of the Terminate, or fine
 * @bits: header bits of the Terminate
 * @after: what the victim must report
 * @receives: number of receives that the victim posts
 * @offender: index of the FPDU that the Terminate is about; -1: the last one
 */
struct SegmentCase {
	const char *name;
	const char *source;
	Fpdus (*fpdus)(const Session &);
	std::uint32_t code;
	std::uint32_t bits = none;
	After after = {};
	int receives = 8;
	int offender = -1;
};

const Octets abcd = wire::octets("abcd");

Octets zeros(std::size_t count)
{
	return Octets(count);
}

ReadRequest read_of(const Session &s, victim::Region region, std::uint32_t size,
		    std::uint64_t offset = 0)
{
	return {.sink_stag = 0x55,
		.sink_to = 0x2000,
		.size = size,
		.source_stag = s[region].stag,
		.source_to = s[region].to + offset};
}

Fpdus one(const Segment &segment)
{
	return {fpdu(segment)};
}

Fpdus one_read(const ReadRequest &request)
{
	return one(wire::read_request(1, request));
}

Fpdus one_write(const Session &s, victim::Region region, std::uint64_t offset = 0)
{
	return one(write(s[region].stag, s[region].to + offset, abcd));
}

/* the end of a region, with every byte changed */
Fpdus last_octets(const Session &s)
{
	constexpr std::size_t count = 4;
	Octets other = s[victim::both].content(victim::region_size - count, count);

	for (std::uint8_t &octet : other)
		octet = ~octet;
	return one(write(s[victim::both].stag, s[victim::both].end() - count, other));
}

/* a Send of "abcd", changed by @change */
template <typename Change> Fpdus odd_send(Change change)
{
	Segment segment = send(1, "abcd");

	change(segment);
	return one(segment);
}

template <typename Change> Fpdus odd_write(const Session &s, Change change)
{
	Segment segment = write(s[victim::write].stag, s[victim::write].to, abcd);

	change(segment);
	return one(segment);
}

Fpdus opcode(std::uint8_t op)
{
	return odd_send([op](Segment &g) { g.opcode = op; });
}

Segment part(std::uint32_t mo, const Octets &payload, bool last)
{
	Segment segment = send(1, payload);

	segment.mo = mo;
	segment.last = last;
	return segment;
}

Fpdus padded_sends()
{
	return {fpdu(send(1, "a")), fpdu(send(2, "ab")), fpdu(send(3, "abc"))};
}

Fpdus write_parts(const Session &s, std::uint32_t second_stag, bool send_between)
{
	const Target &t = s[victim::write];
	Segment first = write(t.stag, t.to, abcd);
	Fpdus fpdus;

	first.last = false;
	fpdus.push_back(fpdu(first));
	if (send_between)
		fpdus.push_back(fpdu(send(1, "abcd")));
	fpdus.push_back(fpdu(write(second_stag, t.to + abcd.size(), abcd)));
	return fpdus;
}

Fpdus many_sends(std::uint32_t count)
{
	Octets all;

	for (std::uint32_t msn = 1; msn <= count; msn++)
		all = wire::join({all, fpdu(send(msn, "abcd"))});
	return {all};
}

/* Contiguous Writes of 4 bytes each, with every byte changed. */
Fpdus writes_in_a_row(const Session &s, std::size_t count)
{
	const Target &t = s[victim::write];
	Fpdus fpdus;

	for (std::size_t at = 0; at < 4 * count; at += 4) {
		Octets other = t.content(at, 4);

		for (std::uint8_t &octet : other)
			octet = ~octet;
		fpdus.push_back(fpdu(write(t.stag, t.to + at, other)));
	}
	return fpdus;
}

/* Sends of "abcd" with these MSNs. */
Fpdus sends_in_a_row(std::initializer_list<std::uint32_t> msns)
{
	Fpdus fpdus;

	for (const std::uint32_t msn : msns)
		fpdus.push_back(fpdu(send(msn, "abcd")));
	return fpdus;
}

const char *const too_long = "length error";
const char *const bad_invalidate = "invalid request";
#define S [[maybe_unused]] const Session &s

/* The numbers are those of docs/conformance.md. */
const SegmentCase table[] = {
	/* FPDUs */
	{"send", "56, RFC 5044 4.1", [](S) { return one(send(1, "abcd")); }, fine, none, {1}},
	{"pads", "57, RFC 5044 4.1", [](S) { return padded_sends(); }, fine, none, {3}},
	{"pad-not-zero",
	 "58, RFC 5044 4.1",
	 [](S) { return Fpdus{fpdu(send(1, "a").build(), 0xff)}; },
	 fine,
	 none,
	 {1}},
	{"crc-send", "59, RFC 5044 8", [](S) { return Fpdus{spoiled(fpdu(send(1, "abcd")))}; },
	 0x2002},
	{"crc-write-nothing-placed", "59, RFC 5044 4.4",
	 [](S) { return Fpdus{spoiled(one_write(s, victim::write)[0])}; }, 0x2002},
	{"crc-long-write-nothing-placed", "59, RFC 5044 4.4",
	 [](S) {
		 return Fpdus{spoiled(
			 fpdu(write(s[victim::write].stag, s[victim::write].to, zeros(60000))))};
	 },
	 0x2002},
	{"crc-read-request", "59, RFC 5044 8",
	 [](S) { return Fpdus{spoiled(one_read(read_of(s, victim::read, 64))[0])}; }, 0x2002},
	{"crc-then-good", "60, RFC 5044 8",
	 [](S) {
		 return Fpdus{spoiled(fpdu(send(1, "abcd"))), fpdu(send(1, "abcd"))};
	 },
	 0x2002},
	{"ulpdu-length-0", "62, RFC 5044 8", [](S) { return Fpdus{fpdu(Octets{})}; }, 0x2003},
	{"ulpdu-length-1", "62, RFC 5044 8", [](S) { return Fpdus{fpdu(Octets{0xc1})}; }, 0x2003},
	{"ulpdu-length-13", "63, RFC 5041 4.2",
	 [](S) {
		 Octets short_write = write(s[victim::write].stag, s[victim::write].to, {}).build();
		 short_write.pop_back();
		 return Fpdus{fpdu(short_write)};
	 },
	 0x2003},
	{"ulpdu-length-17", "63, RFC 5041 4.3",
	 [](S) {
		 Octets short_send = send(1, "").build();
		 short_send.pop_back();
		 return Fpdus{fpdu(short_send)};
	 },
	 0x2003},
	{"ulpdu-length-65535",
	 "64, RFC 5044 4.1",
	 [](S) {
		 return one(write(s[victim::write].stag, s[victim::write].to, zeros(65535 - 14)));
	 },
	 fine,
	 none,
	 {.changed = "write:0-65520"}},
	{"21-sends-at-once",
	 "66, RFC 5044 5.1",
	 [](S) { return many_sends(21); },
	 fine,
	 none,
	 {21},
	 32},

	/* DDP */
	{"two-segments",
	 "76, RFC 5041 5.4",
	 [](S) {
		 return Fpdus{fpdu(part(0, abcd, false)), fpdu(part(4, abcd, true))};
	 },
	 fine,
	 none,
	 {1}},
	{"mo-gap",
	 "77, RFC 5041 7.1",
	 [](S) {
		 return Fpdus{fpdu(part(0, abcd, false)), fpdu(part(8, abcd, true))};
	 },
	 0x1204,
	 md,
	 {.changed = "local:4096-4099"}},
	{"mo-first", "77, RFC 5041 7.1", [](S) { return one(part(4, abcd, true)); }, 0x1204, md},
	{"mo-near-wrap", "77, RFC 5041 7.1", [](S) { return one(part(0xfffffffe, abcd, true)); },
	 0x1204, md},
	{"msn-2-first", "78, RFC 5041 4.3", [](S) { return one(send(2, "abcd")); }, 0x1203, md},
	{"msn-0-first", "78, RFC 5041 4.3", [](S) { return one(send(0, "abcd")); }, 0x1203, md},
	{"msn-twice",
	 "79, RFC 5041 4.3",
	 [](S) {
		 return Fpdus{fpdu(send(1, "abcd")), fpdu(send(1, "abcd"))};
	 },
	 0x1203,
	 md,
	 {1}},
	{"qn-4", "81, RFC 5041 7.1", [](S) { return odd_send([](Segment &g) { g.qn = 4; }); },
	 0x1201, md},
	{"qn-max", "81, RFC 5041 7.1",
	 [](S) { return odd_send([](Segment &g) { g.qn = 0xffffffff; }); }, 0x1201, md},
	{"send-on-qn-1", "82, RFC 5041 7.1",
	 [](S) { return odd_send([](Segment &g) { g.qn = 1; }); }, 0x1201, md},
	{"no-receive",
	 "83, RFC 5041 7.1",
	 [](S) { return one(send(1, "abcd")); },
	 0x1202,
	 md,
	 {},
	 0},
	{"no-receive-zero-length",
	 "84, RFC 5040 5.3",
	 [](S) { return one(send(1, "")); },
	 0x1202,
	 md,
	 {},
	 0},
	{"second-send-no-receive",
	 "83, RFC 5041 7.1",
	 [](S) {
		 return Fpdus{fpdu(send(1, "abcd")), fpdu(send(2, "abcd"))};
	 },
	 0x1202,
	 md,
	 {1},
	 1},
	{"send-64", "85, RFC 5041 7.1", [](S) { return one(send(1, zeros(64))); }, fine, none, {1}},
	{"send-65",
	 "85, RFC 5041 7.1",
	 [](S) { return one(send(1, zeros(65))); },
	 0x1205,
	 md,
	 {0, too_long}},
	{"send-32+33",
	 "85, RFC 5041 7.1",
	 [](S) {
		 return Fpdus{fpdu(part(0, zeros(32), false)), fpdu(part(32, zeros(33), true))};
	 },
	 0x1205,
	 md,
	 {0, too_long}},
	{"untagged-dv-0", "86, RFC 5041 7.2",
	 [](S) { return odd_send([](Segment &g) { g.dv = 0; }); }, 0x1206, md},
	{"untagged-dv-3", "86, RFC 5041 7.2",
	 [](S) { return odd_send([](Segment &g) { g.dv = 3; }); }, 0x1206, md},
	{"tagged-dv-0", "87, RFC 5041 7.2",
	 [](S) { return odd_write(s, [](Segment &g) { g.dv = 0; }); }, 0x1104, md},
	{"tagged-dv-2", "87, RFC 5041 7.2",
	 [](S) { return odd_write(s, [](Segment &g) { g.dv = 2; }); }, 0x1104, md},
	{"ddp-reserved-bits",
	 "88, RFC 5041 4.1",
	 [](S) { return odd_send([](Segment &g) { g.ddp_reserved = 0x3c; }); },
	 fine,
	 none,
	 {1}},
	{"write",
	 "89, RFC 5041 5.2",
	 [](S) { return one_write(s, victim::write); },
	 fine,
	 none,
	 {.changed = "write:0-3"}},
	{"write-last-octets",
	 "89, RFC 5041 7.1",
	 [](S) { return last_octets(s); },
	 fine,
	 none,
	 {.changed = "both:262140-262143"}},
	{"C21-write-unknown-stag",
	 "90, RFC 5041 7.1",
	 [](S) { return one(write(0xdead0000, s[victim::write].to, abcd)); },
	 0x1100,
	 md,
	 {.async = "access"}},
	{"write-stag-0", "90, RFC 5041 7.1",
	 [](S) { return one(write(0, s[victim::write].to, abcd)); }, 0x1100, md},
	{"write-stag-key", "90, RFC 5041 7.1",
	 [](S) { return one(write(s[victim::write].stag ^ 1, s[victim::write].to, abcd)); }, 0x1100,
	 md},
	{"write-stag-gone", "90, RFC 5041 7.1", [](S) { return one_write(s, victim::gone); },
	 0x1100, md},
	{"write-past-end", "91, RFC 5041 7.1",
	 [](S) { return one_write(s, victim::write, victim::region_size - 2); }, 0x1101, md},
	{"write-behind-end", "91, RFC 5041 7.1",
	 [](S) { return one_write(s, victim::write, victim::region_size); }, 0x1101, md},
	{"write-before-start", "92, RFC 5041 7.1",
	 [](S) { return one_write(s, victim::write, -1); }, 0x1101, md},
	{"write-to-wraps", "93, RFC 5041 7.1",
	 [](S) { return one(write(s[victim::write].stag, 0xfffffffffffffffe, abcd)); }, 0x1103, md},
	{"write-other-pd", "94, RFC 5041 7.1", [](S) { return one_write(s, victim::foreign); },
	 0x1102, md},
	{"write-local-only", "95, RFC 5041 7.1", [](S) { return one_write(s, victim::local); },
	 0x1100, md},
	{"write-read-only", "95, RFC 5041 7.1", [](S) { return one_write(s, victim::read); },
	 0x1100, md},
	{"write-nothing-anywhere", "96, RFC 5041 5.2",
	 [](S) {
		 return Fpdus{fpdu(write(0, 0, {})), fpdu(write(s[victim::foreign].stag, 0, {})),
			      fpdu(write(0xdead0000, 0xffffffffffffffff, {}))};
	 },
	 fine},
	{"write-second-stag",
	 "97, RFC 5041 7.1",
	 [](S) { return write_parts(s, 0xdead0000, false); },
	 0x1100,
	 md,
	 {.changed = "write:0-3"}},
	{"write-send-write",
	 "98, RFC 5041 5.3",
	 [](S) { return write_parts(s, s[victim::write].stag, true); },
	 fine,
	 none,
	 {.receives_ok = 1, .changed = "write:0-7"}},

	/* RDMAP */
	{"rv-0", "101, RFC 5040 7.2", [](S) { return odd_send([](Segment &g) { g.rv = 0; }); },
	 0x0205, md},
	{"rv-2", "101, RFC 5040 7.2", [](S) { return odd_send([](Segment &g) { g.rv = 2; }); },
	 0x0205, md},
	{"tagged-rv-3", "101, RFC 5040 7.2",
	 [](S) { return odd_write(s, [](Segment &g) { g.rv = 3; }); }, 0x0205, md},
	{"opcode-12", "102, RFC 5040 7.2", [](S) { return opcode(12); }, 0x0206, md},
	{"opcode-13", "102, RFC 5040 7.2", [](S) { return opcode(13); }, 0x0206, md},
	{"opcode-14", "102, RFC 5040 7.2", [](S) { return opcode(14); }, 0x0206, md},
	{"opcode-15", "102, RFC 5040 7.2", [](S) { return opcode(15); }, 0x0206, md},
	{"rdmap-reserved-bits",
	 "103, RFC 5040 4.1",
	 [](S) { return odd_send([](Segment &g) { g.rdmap_reserved = 0x30; }); },
	 fine,
	 none,
	 {1}},
	{"send-reserved-stag",
	 "104, RFC 5040 4.1",
	 [](S) { return odd_send([](Segment &g) { g.rsvd_ulp = 0xffffffff; }); },
	 fine,
	 none,
	 {1}},
	{"invalidate-unknown",
	 "108, RFC 5040 5.3",
	 [](S) {
		 return odd_send([](Segment &g) {
			 g.opcode = wire::op_send_inv;
			 g.rsvd_ulp = 0xdead0000;
		 });
	 },
	 0x0209,
	 md,
	 {0, bad_invalidate}},
	{"invalidate-local",
	 "109, RFC 5040 5.3",
	 [](S) {
		 return odd_send([&s](Segment &g) {
			 g.opcode = wire::op_send_se_inv;
			 g.rsvd_ulp = s[victim::local].stag;
		 });
	 },
	 0x0109,
	 md,
	 {0, bad_invalidate}},
	{"invalidate-region",
	 "109, RFC 5040 5.3",
	 [](S) {
		 return odd_send([&s](Segment &g) {
			 g.opcode = wire::op_send_inv;
			 g.rsvd_ulp = s[victim::spare].stag;
		 });
	 },
	 0x0109,
	 md,
	 {0, bad_invalidate}},
	{"write-untagged", "125, RFC 5040 figure 4", [](S) { return opcode(wire::op_write); },
	 0x0206, md},
	{"read-response-untagged", "125, RFC 5040 figure 4",
	 [](S) { return opcode(wire::op_read_response); }, 0x0206, md},
	{"send-tagged", "125, RFC 5040 figure 4",
	 [](S) { return odd_write(s, [](Segment &g) { g.opcode = wire::op_send; }); }, 0x0206, md},
	{"read-request-tagged", "125, RFC 5040 figure 4",
	 [](S) {
		 Segment g = write(0x55, 0, read_of(s, victim::read, 64).build());

		 g.opcode = wire::op_read_request;
		 return one(g);
	 },
	 0x0206, md},
	{"read-response-unasked", "126, RFC 5040 5.2.2",
	 [](S) { return one(wire::read_response(s[victim::both].stag, s[victim::both].to, abcd)); },
	 0x1100, md},
	{"read-response-unasked-empty", "126, RFC 5040 5.2.2",
	 [](S) { return one(wire::read_response(0, 0, {})); }, 0x1100, md},

	/* Read Requests */
	{"C1-read-write-only", "116, RFC 5040 7.2",
	 [](S) { return one_read(read_of(s, victim::write, 64)); }, 0x0102, mdr},
	{"C1-read-local-only", "116, RFC 5040 7.2",
	 [](S) { return one_read(read_of(s, victim::local, 64)); }, 0x0102, mdr},
	{"read-unknown-stag", "114, RFC 5040 7.2",
	 [](S) {
		 return one_read({.sink_stag = 0x55,
				  .sink_to = 0x2000,
				  .size = 64,
				  .source_stag = 0xdeadbeef,
				  .source_to = 0x3000});
	 },
	 0x0100, mdr},
	{"read-stag-gone", "114, RFC 5040 7.2",
	 [](S) { return one_read(read_of(s, victim::gone, 64)); }, 0x0100, mdr},
	{"read-past-end", "115, RFC 5040 7.2",
	 [](S) { return one_read(read_of(s, victim::read, 64, victim::region_size - 63)); }, 0x0101,
	 mdr},
	{"read-before-start", "115, RFC 5040 7.2",
	 [](S) { return one_read(read_of(s, victim::read, 64, -1)); }, 0x0101, mdr},
	{"read-4-GiB", "115, RFC 5040 7.2",
	 [](S) { return one_read(read_of(s, victim::read, 0xffffffff)); }, 0x0101, mdr},
	{"read-other-pd", "117, RFC 5040 7.2",
	 [](S) { return one_read(read_of(s, victim::foreign, 64)); }, 0x0103, mdr},
	{"read-to-wraps", "118, RFC 5040 7.2",
	 [](S) {
		 ReadRequest request = read_of(s, victim::read, 64);

		 request.source_to = 0xfffffffffffffff0;
		 return one_read(request);
	 },
	 0x0104, mdr},
	{"read-msn-2-first", "119, RFC 5041 7.1",
	 [](S) { return one(wire::read_request(2, read_of(s, victim::read, 64))); }, 0x1203, md},
	{"read-mo-4", "120, RFC 5041 7.1",
	 [](S) {
		 Segment g = wire::read_request(1, read_of(s, victim::read, 64));

		 g.mo = 4;
		 return one(g);
	 },
	 0x1204, md},
	{"read-4-octets-too-long", "131, RFC 5040 4.4",
	 [](S) {
		 Segment g = wire::read_request(1, read_of(s, victim::read, 64));

		 g.payload.resize(g.payload.size() + 4);
		 return one(g);
	 },
	 0x1205, md},
	{"read-cut-short", "131, RFC 5040 4.4",
	 [](S) {
		 Segment g = wire::read_request(1, read_of(s, victim::read, 64));

		 g.payload.pop_back();
		 return one(g);
	 },
	 0x2003},
	{"read-not-last", "131, RFC 5040 4.4",
	 [](S) {
		 Segment g = wire::read_request(1, read_of(s, victim::read, 64));

		 g.last = false;
		 return one(g);
	 },
	 0x1000, md},

	/* malformed Terminates, RFC 5040 5.4 */
	{"terminate-msn-2", "137, RFC 5041 7.1",
	 [](S) {
		 Segment g = wire::terminate(0x2002);

		 g.msn = 2;
		 return one(g);
	 },
	 0x1203, md},
	{"terminate-mo-4", "137, RFC 5041 7.1",
	 [](S) {
		 Segment g = wire::terminate(0x2002);

		 g.mo = 4;
		 return one(g);
	 },
	 0x1204, md},
	{"terminate-qn-0", "137, RFC 5041 7.1",
	 [](S) {
		 Segment g = wire::terminate(0x2002);

		 g.qn = 0;
		 return one(g);
	 },
	 0x1201, md},
	{"terminate-not-last", "137, RFC 5040 5.4",
	 [](S) {
		 Segment g = wire::terminate(0x2002);

		 g.last = false;
		 return one(g);
	 },
	 0x1000, md},
	{"terminate-too-short", "137, RFC 5040 4.8",
	 [](S) {
		 Segment g = wire::terminate(0x2002);

		 g.payload.pop_back();
		 return one(g);
	 },
	 0x2003},

	/* short messages in a row, which the victim handles together */
	{"writes-in-a-row",
	 "89, RFC 5041 5.2",
	 [](S) { return writes_in_a_row(s, 100); },
	 fine,
	 none,
	 {.changed = "write:0-399"}},
	{"writes-in-a-row-one-behind-end",
	 "91, RFC 5041 7.1",
	 [](S) {
		 Fpdus fpdus = writes_in_a_row(s, 20);

		 fpdus[10] = one_write(s, victim::write, victim::region_size)[0];
		 return fpdus;
	 },
	 0x1101,
	 md,
	 {.changed = "write:0-39"},
	 8,
	 10},
	{"writes-in-a-row-one-wraps",
	 "93, RFC 5041 7.1",
	 [](S) {
		 Fpdus fpdus = writes_in_a_row(s, 20);

		 fpdus[10] = fpdu(write(s[victim::write].stag, 0xfffffffffffffffe, abcd));
		 return fpdus;
	 },
	 0x1103,
	 md,
	 {.changed = "write:0-39"},
	 8,
	 10},
	{"writes-in-a-row-one-crc",
	 "60, RFC 5044 8",
	 [](S) {
		 Fpdus fpdus = writes_in_a_row(s, 20);

		 fpdus[10] = spoiled(fpdus[10]);
		 return fpdus;
	 },
	 0x2002,
	 none,
	 {.changed = "write:0-39"}},
	{"sends-in-a-row-no-receive",
	 "83, RFC 5041 7.1",
	 [](S) {
		 return sends_in_a_row({1, 2, 3, 4, 5});
	 },
	 0x1202,
	 md,
	 {3},
	 3,
	 3},
	{"sends-in-a-row-msn-gap",
	 "78, RFC 5041 4.3",
	 [](S) {
		 return sends_in_a_row({1, 2, 3, 5, 6});
	 },
	 0x1203,
	 md,
	 {3},
	 8,
	 3},
	{"sends-in-a-row-one-crc",
	 "60, RFC 5044 8",
	 [](S) {
		 Fpdus fpdus = sends_in_a_row({1, 2, 3, 4, 5});

		 fpdus[3] = spoiled(fpdus[3]);
		 return fpdus;
	 },
	 0x2002,
	 none,
	 {3}},

	/* more than one */
	{"first-of-two-errors",
	 "138, RFC 5040 7.1",
	 [](S) {
		 return Fpdus{odd_send([](Segment &g) { g.qn = 4; })[0],
			      odd_send([](Segment &g) { g.rv = 2; })[0]};
	 },
	 0x1201,
	 md,
	 {},
	 8,
	 0},
	{"nothing-behind-an-error",
	 "139, RFC 5041 7.1",
	 [](S) {
		 return Fpdus{odd_send([](Segment &g) { g.qn = 4; })[0], fpdu(send(1, "abcd")),
			      one_write(s, victim::write)[0]};
	 },
	 0x1201,
	 md,
	 {},
	 8,
	 0},
};
#undef S

void run(const SegmentCase &row, Session &session)
{
	const Order order = session.order(row.receives);
	const Fpdus fpdus = row.fpdus(session);
	Connection connection = session.establish(order);
	Octets all;

	for (const Octets &one : fpdus)
		all = wire::join({all, one});
	connection.send(all);
	if (row.code == fine) {
		expect_alive(connection);
	} else {
		const Octets &offender = row.offender < 0 ? fpdus.back() : fpdus[row.offender];

		expect_terminate(connection,
				 wire::terminate(row.code, row.bits, wire::ulpdu_of(offender)));
	}
	connection.close();
	After after = row.after;

	if (row.code != fine) {
		after.code = row.code;
	}
	session.check_end(order, after);
}

} /* namespace */

std::vector<Case> segment_cases()
{
	std::vector<Case> cases;

	for (const SegmentCase &row : table)
		cases.push_back({row.name, row.source, [&row](Session &s) { run(row, s); }});
	return cases;
}

} /* namespace hostile */
