// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * MPA start-up: Request and Reply frames (RFC 5044 7.1, RFC 6581), and the results of both
 * sides. The bytes come from the field layouts of the RFCs.
 */
#include <linux/array_size.h>
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/unaligned.h>

#include "../../kal/cm/mpa.h"
#include "ktest.h"
#include "vectors.h"

#define REQ_KEY	"4d 50 41 20 49 44 20 52 65 71 20 46 72 61 6d 65 "
#define REP_KEY	"4d 50 41 20 49 44 20 52 65 70 20 46 72 61 6d 65 "

#define WRITE_READ	(KAL_MPA_RTR_WRITE | KAL_MPA_RTR_READ)

/* Well-formed frames: bytes and meaning, in both directions. */
static const struct {
	const char *id;
	const char *hex;
	enum kal_mpa_kind kind;
	struct kal_mpa_frame frame;
	const char *pd;
} frames[] = {
	{ "A1", REQ_KEY "40 01 00 00", KAL_MPA_REQUEST, { .crc = true, .revision = 1 } },
	{ "A2", REQ_KEY "c0 01 00 00", KAL_MPA_REQUEST,
	  { .markers = true, .crc = true, .revision = 1 } },
	{ "A3", REQ_KEY "00 01 00 02 68 69", KAL_MPA_REQUEST,
	  { .revision = 1, .pd_len = 2 }, "hi" },
	{ "A4", REP_KEY "40 01 00 00", KAL_MPA_REPLY, { .crc = true, .revision = 1 } },
	{ "A5", REP_KEY "60 01 00 00", KAL_MPA_REPLY,
	  { .crc = true, .reject = true, .revision = 1 } },
	{ "A6", REP_KEY "c0 01 00 00", KAL_MPA_REPLY,
	  { .markers = true, .crc = true, .revision = 1 } },
	{ "A7", REQ_KEY "50 02 00 04 80 10 c0 10", KAL_MPA_REQUEST,
	  { .crc = true, .enhanced = true, .revision = 2, .p2p = true,
	    .rtr = WRITE_READ, .ird = 16, .ord = 16 } },
	{ "A8", REP_KEY "50 02 00 04 80 10 80 10", KAL_MPA_REPLY,
	  { .crc = true, .enhanced = true, .revision = 2, .p2p = true,
	    .rtr = KAL_MPA_RTR_WRITE, .ird = 16, .ord = 16 } },
	{ "A9", REQ_KEY "50 02 00 04 00 08 00 04", KAL_MPA_REQUEST,
	  { .crc = true, .enhanced = true, .revision = 2, .ird = 8, .ord = 4 } },
	{ "A10", REP_KEY "50 02 00 04 00 04 00 08", KAL_MPA_REPLY,
	  { .crc = true, .enhanced = true, .revision = 2, .ird = 4, .ord = 8 } },
	{ "A11", REQ_KEY "50 02 00 04 bf ff bf ff", KAL_MPA_REQUEST,
	  { .crc = true, .enhanced = true, .revision = 2, .p2p = true,
	    .rtr = KAL_MPA_RTR_WRITE, .ird = 0x3fff, .ord = 0x3fff } },
	{ "A12", REP_KEY "50 02 00 04 bf ff bf ff", KAL_MPA_REPLY,
	  { .crc = true, .enhanced = true, .revision = 2, .p2p = true,
	    .rtr = KAL_MPA_RTR_WRITE, .ird = 0x3fff, .ord = 0x3fff } },
	{ "A13", REQ_KEY "50 02 00 04 80 01 40 00", KAL_MPA_REQUEST,
	  { .crc = true, .enhanced = true, .revision = 2, .p2p = true,
	    .rtr = KAL_MPA_RTR_READ, .ird = 1 } },
	{ "A14", REQ_KEY "50 02 00 04 c0 01 00 01", KAL_MPA_REQUEST,
	  { .crc = true, .enhanced = true, .revision = 2, .p2p = true,
	    .rtr = KAL_MPA_RTR_SEND, .ird = 1, .ord = 1 } },
	{ "PD behind enhanced data", REQ_KEY "50 02 00 06 00 01 00 02 68 69", KAL_MPA_REQUEST,
	  { .crc = true, .enhanced = true, .revision = 2, .pd_len = 2, .ird = 1, .ord = 2 },
	  "hi" },
	{ "revision 2, not enhanced", REQ_KEY "40 02 00 02 68 69", KAL_MPA_REQUEST,
	  { .crc = true, .revision = 2, .pd_len = 2 }, "hi" },
};

/* Headers that end the stream, and unusual headers that are right. */
static const struct {
	const char *id;
	const char *hex;
	enum kal_mpa_kind kind;
	int err;
} headers[] = {
	{ "A15: enhanced data cut short", REQ_KEY "50 02 00 02", KAL_MPA_REQUEST, -EPROTO },
	{ "no enhanced data in a Reply", REP_KEY "50 02 00 00", KAL_MPA_REPLY, -EPROTO },
	{ "3 octets of enhanced data", REP_KEY "50 02 00 03", KAL_MPA_REPLY, -EPROTO },
	{ "A16: 513 octets of private data", REQ_KEY "40 01 02 01", KAL_MPA_REQUEST, -EPROTO },
	{ "65535 octets of private data", REQ_KEY "40 01 ff ff", KAL_MPA_REQUEST, -EPROTO },
	{ "512 octets of private data", REQ_KEY "40 01 02 00", KAL_MPA_REQUEST, 0 },
	{ "A17: wrong key", "4d 50 41 20 49 44 20 52 65 71 20 46 72 61 6d 64 40 01 00 00",
	  KAL_MPA_REQUEST, -EPROTO },
	{ "both initiators", REQ_KEY "40 01 00 00", KAL_MPA_REPLY, -EPROTO },
	{ "both responders", REP_KEY "40 01 00 00", KAL_MPA_REQUEST, -EPROTO },
	{ "A18: reserved bits and R", REQ_KEY "6f 01 00 00", KAL_MPA_REQUEST, 0 },
	{ "S in revision 1 is reserved", REQ_KEY "50 01 00 00", KAL_MPA_REQUEST, 0 },
	{ "A19: revision 0", REQ_KEY "c0 00 00 00", KAL_MPA_REQUEST, -EPROTONOSUPPORT },
	{ "A20: revision 3", REQ_KEY "40 03 00 00", KAL_MPA_REQUEST, -EPROTONOSUPPORT },
	{ "revision 129", REP_KEY "40 81 00 00", KAL_MPA_REPLY, -EPROTONOSUPPORT },
};

static void check_frame(struct ktest *test, const char *id, const struct kal_mpa_frame *is,
			const struct kal_mpa_frame *want)
{
	KTEST_EQ_MSG(test, is->markers, want->markers, "%s", id);
	KTEST_EQ_MSG(test, is->crc, want->crc, "%s", id);
	KTEST_EQ_MSG(test, is->reject, want->reject, "%s", id);
	KTEST_EQ_MSG(test, is->enhanced, want->enhanced, "%s", id);
	KTEST_EQ_MSG(test, is->revision, want->revision, "%s", id);
	KTEST_EQ_MSG(test, is->pd_len, want->pd_len, "%s", id);
	KTEST_EQ_MSG(test, is->p2p, want->p2p, "%s", id);
	KTEST_EQ_MSG(test, is->rtr, want->rtr, "%s", id);
	KTEST_EQ_MSG(test, is->ird, want->ird, "%s", id);
	KTEST_EQ_MSG(test, is->ord, want->ord, "%s", id);
}

static void decodes_frames(struct ktest *test)
{
	struct kal_mpa_frame frame;
	u8 buf[KAL_MPA_FRAME_MAX];
	u32 i, len;

	for (i = 0; i < ARRAY_SIZE(frames); i++) {
		len = hex_octets(frames[i].hex, buf, sizeof(buf));
		KTEST_EQ_MSG(test, kal_mpa_parse_header(buf, frames[i].kind, &frame), 0,
			     "%s", frames[i].id);
		KTEST_EQ_MSG(test, KAL_MPA_HDR_LEN + kal_mpa_enhanced_len(&frame) + frame.pd_len,
			     len, "%s", frames[i].id);
		if (frame.enhanced)
			kal_mpa_parse_enhanced(buf + KAL_MPA_HDR_LEN, &frame);
		check_frame(test, frames[i].id, &frame, &frames[i].frame);
	}
}

static void encodes_frames(struct ktest *test)
{
	u8 buf[KAL_MPA_FRAME_MAX], want[KAL_MPA_FRAME_MAX];
	u32 i, len;

	for (i = 0; i < ARRAY_SIZE(frames); i++) {
		len = hex_octets(frames[i].hex, want, sizeof(want));
		KTEST_EQ_MSG(test,
			     kal_mpa_build(buf, frames[i].kind, &frames[i].frame, frames[i].pd),
			     (int)len, "%s", frames[i].id);
		KTEST_MEMEQ_MSG(test, buf, want, len, "%s", frames[i].id);
	}
}

static void checks_headers(struct ktest *test)
{
	struct kal_mpa_frame frame;
	u8 buf[KAL_MPA_HDR_LEN];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(headers); i++) {
		KTEST_EQ(test, hex_octets(headers[i].hex, buf, sizeof(buf)), sizeof(buf));
		KTEST_EQ_MSG(test, kal_mpa_parse_header(buf, headers[i].kind, &frame),
			     headers[i].err, "%s", headers[i].id);
	}
	/* the last two right frames: no field that revision 1 does not have was used */
	hex_octets(REQ_KEY "7f 01 00 00", buf, sizeof(buf));
	KTEST_EQ(test, kal_mpa_parse_header(buf, KAL_MPA_REQUEST, &frame), 0);
	KTEST_FALSE(test, frame.reject);
	KTEST_FALSE(test, frame.enhanced);
	KTEST_EQ(test, frame.pd_len, 0);
}

/* Every accepted header announces a frame that fits into the buffer. */
static void survives_any_header(struct ktest *test)
{
	struct kal_mpa_frame frame;
	u8 *buf = ktest_alloc(test, KAL_MPA_HDR_LEN);
	u32 rnd = 0x6581, accepted = 0, i;

	for (i = 0; i < 20000; i++) {
		const enum kal_mpa_kind kind = i & 1 ? KAL_MPA_REPLY : KAL_MPA_REQUEST;
		const u32 r = next_random(&rnd);

		hex_octets(kind == KAL_MPA_REPLY ? REP_KEY : REQ_KEY, buf, KAL_MPA_HDR_LEN);
		buf[16] = r;
		buf[17] = (r >> 8) % 4;
		buf[18] = (r >> 16) % 4;
		buf[19] = r >> 24;
		if (kal_mpa_parse_header(buf, kind, &frame))
			continue;
		accepted++;
		KTEST_TRUE(test, KAL_MPA_HDR_LEN + kal_mpa_enhanced_len(&frame) + frame.pd_len <=
				 KAL_MPA_FRAME_MAX);
		KTEST_TRUE(test, frame.revision == 1 || frame.revision == 2);
	}
	KTEST_TRUE(test, accepted > 1000 && accepted < 19000);
}

static void bounds_private_data(struct ktest *test)
{
	struct kal_mpa_frame frame = { .revision = 1, .pd_len = 512 };
	u8 *buf = ktest_alloc(test, KAL_MPA_FRAME_MAX);
	u8 *pd = ktest_alloc(test, 512);

	memset(pd, 0x5a, 512);
	KTEST_EQ(test, kal_mpa_build(buf, KAL_MPA_REQUEST, &frame, pd), 532);
	KTEST_MEMEQ(test, buf + 20, pd, 512);
	frame.pd_len = 513;
	KTEST_EQ(test, kal_mpa_build(buf, KAL_MPA_REQUEST, &frame, pd), -EMSGSIZE);

	frame.revision = 2;
	frame.enhanced = true;
	frame.pd_len = 508;
	KTEST_EQ(test, kal_mpa_build(buf, KAL_MPA_REQUEST, &frame, pd), 532);
	frame.pd_len = 509;
	KTEST_EQ(test, kal_mpa_build(buf, KAL_MPA_REQUEST, &frame, pd), -EMSGSIZE);
}

static void ignores_rtr_of_client_server(struct ktest *test)
{
	/* A=0 with B, C and D set */
	static const u8 data[] = { 0x40, 0x03, 0xc0, 0x05 };
	struct kal_mpa_frame frame = { .enhanced = true };

	kal_mpa_parse_enhanced(data, &frame);
	KTEST_FALSE(test, frame.p2p);
	KTEST_EQ(test, frame.rtr, 0);
	KTEST_EQ(test, frame.ird, 3);
	KTEST_EQ(test, frame.ord, 5);
}

/* This side in the tables below: an RNIC with IRD and ORD 64. */
static struct kal_mpa_local side(u16 ird, u16 ord, u8 rtr)
{
	return (struct kal_mpa_local){
		.crc = true, .revision = 2, .rtr = rtr,
		.ird = ird, .ord = ord, .max_ird = 64, .max_ord = 64,
	};
}

static struct kal_mpa_frame enhanced(u16 ird, u16 ord, u8 rtr)
{
	return (struct kal_mpa_frame){
		.crc = true, .enhanced = true, .revision = 2, .p2p = rtr, .rtr = rtr,
		.ird = ird, .ord = ord,
	};
}

static void requests(struct ktest *test)
{
	struct kal_mpa_local local = side(16, 16, WRITE_READ);
	struct kal_mpa_frame req;
	u8 buf[KAL_MPA_FRAME_MAX], want[KAL_MPA_FRAME_MAX];

	kal_mpa_request(&local, &req);
	KTEST_EQ(test, kal_mpa_build(buf, KAL_MPA_REQUEST, &req, NULL), 24);
	hex_octets(REQ_KEY "50 02 00 04 80 10 c0 10", want, sizeof(want));
	KTEST_MEMEQ(test, buf, want, 24);

	/* ORD 0: no Read as ready-to-receive frame */
	local = side(4, 0, WRITE_READ);
	kal_mpa_request(&local, &req);
	KTEST_EQ(test, req.rtr, KAL_MPA_RTR_WRITE);
	local = side(4, 0, KAL_MPA_RTR_READ);
	kal_mpa_request(&local, &req);
	KTEST_FALSE(test, req.p2p);

	/* never more than the RNIC's limit */
	local = side(200, 300, WRITE_READ);
	kal_mpa_request(&local, &req);
	KTEST_EQ(test, req.ird, 64);
	KTEST_EQ(test, req.ord, 64);
	local.max_ird = 0xffff;
	local.ird = 0xffff;
	kal_mpa_request(&local, &req);
	KTEST_EQ(test, req.ird, 0x3ffe);

	local = side(16, 16, WRITE_READ);
	local.revision = 1;
	local.crc = false;
	kal_mpa_request(&local, &req);
	KTEST_EQ(test, kal_mpa_build(buf, KAL_MPA_REQUEST, &req, NULL), 20);
	hex_octets(REQ_KEY "00 01 00 00", want, sizeof(want));
	KTEST_MEMEQ(test, buf, want, 20);
}

#define ULP KAL_MPA_READS_ULP

/* The responder: own IRD and ORD, those of the Request, those of the Reply, the result. */
static const struct {
	const char *id;
	u16 own_ird, own_ord;
	u16 req_ird, req_ord;
	u16 rep_ird, rep_ord;
	u16 ird, ord;
} respond_reads[] = {
	{ "A9 to A10", 4, 8, 8, 4, 4, 8, 4, 8 },
	{ "own ORD falls to the initiator's IRD", 4, 16, 8, 4, 4, 8, 4, 8 },
	{ "own IRD stays below the initiator's ORD", 2, 2, 8, 16, 2, 2, 2, 2 },
	{ "initiator has no reads", 4, 4, 0, 0, 4, 0, 4, 0 },
	{ "both left to the consumer", 5, 6, ULP, ULP, ULP, ULP, 5, 6 },
	{ "initiator's ORD left to the consumer", 5, 6, 3, ULP, ULP, 3, 5, 3 },
	{ "initiator's IRD left to the consumer", 5, 6, ULP, 3, 5, ULP, 5, 6 },
	{ "more than the RNIC has", 100, 100, 90, 90, 64, 64, 64, 64 },
};

static void responds_with_reads(struct ktest *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(respond_reads); i++) {
		const struct kal_mpa_local local =
			side(respond_reads[i].own_ird, respond_reads[i].own_ord, WRITE_READ);
		const struct kal_mpa_frame req =
			enhanced(respond_reads[i].req_ird, respond_reads[i].req_ord, 0);
		const char *id = respond_reads[i].id;
		struct ri_mpa_params mpa;
		struct kal_mpa_frame rep;

		kal_mpa_respond(&local, &req, &rep, &mpa);
		KTEST_EQ_MSG(test, rep.ird, respond_reads[i].rep_ird, "%s", id);
		KTEST_EQ_MSG(test, rep.ord, respond_reads[i].rep_ord, "%s", id);
		KTEST_EQ_MSG(test, mpa.ird, respond_reads[i].ird, "%s", id);
		KTEST_EQ_MSG(test, mpa.ord, respond_reads[i].ord, "%s", id);
		KTEST_TRUE_MSG(test, rep.enhanced && rep.revision == 2 && !rep.reject, "%s", id);
		KTEST_FALSE_MSG(test, rep.p2p || rep.rtr || rep.markers, "%s", id);
		KTEST_EQ_MSG(test, mpa.rtr, RI_RTR_NONE, "%s", id);
		KTEST_FALSE_MSG(test, mpa.initiator, "%s", id);
	}
}

/* The responder: RTR types of both sides, own IRD; the Reply. */
static const struct {
	const char *id;
	u8 own, asked;
	u16 own_ird;
	u8 answer;
	u16 rep_ird;
	enum ri_rtr rtr;
} respond_rtrs[] = {
	{ "both types in common", WRITE_READ, WRITE_READ, 4, WRITE_READ, 4, RI_RTR_WRITE },
	{ "only a Read", WRITE_READ, KAL_MPA_RTR_READ, 4, KAL_MPA_RTR_READ, 4, RI_RTR_READ },
	{ "A13: IRD raised for the Read", WRITE_READ, KAL_MPA_RTR_READ, 0,
	  KAL_MPA_RTR_READ, 1, RI_RTR_READ },
	{ "no IRD, no Read", WRITE_READ, WRITE_READ, 0, KAL_MPA_RTR_WRITE, 0, RI_RTR_WRITE },
	{ "A14: none in common, at least one set", WRITE_READ, KAL_MPA_RTR_SEND, 4,
	  WRITE_READ, 4, RI_RTR_WRITE },
	{ "a Send, if allowed", KAL_MPA_RTR_ALL, KAL_MPA_RTR_SEND, 4,
	  KAL_MPA_RTR_SEND, 4, RI_RTR_SEND },
	{ "none of our own", 0, WRITE_READ, 4, KAL_MPA_RTR_WRITE, 4, RI_RTR_WRITE },
	{ "peer-to-peer without any type", WRITE_READ, 0, 4, WRITE_READ, 4, RI_RTR_WRITE },
};

static void responds_with_rtr(struct ktest *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(respond_rtrs); i++) {
		const struct kal_mpa_local local =
			side(respond_rtrs[i].own_ird, 4, respond_rtrs[i].own);
		struct kal_mpa_frame req = enhanced(4, 0, respond_rtrs[i].asked);
		const char *id = respond_rtrs[i].id;
		struct ri_mpa_params mpa;
		struct kal_mpa_frame rep;

		req.p2p = true;
		kal_mpa_respond(&local, &req, &rep, &mpa);
		KTEST_TRUE_MSG(test, rep.p2p, "%s", id);
		KTEST_EQ_MSG(test, rep.rtr, respond_rtrs[i].answer, "%s", id);
		KTEST_EQ_MSG(test, rep.ird, respond_rtrs[i].rep_ird, "%s", id);
		KTEST_EQ_MSG(test, mpa.ird, respond_rtrs[i].rep_ird, "%s", id);
		KTEST_EQ_MSG(test, mpa.rtr, respond_rtrs[i].rtr, "%s", id);
	}
}

/* CRC: on when either side asks (RFC 5044 7.1.1). */
static void agrees_on_crc(struct ktest *test)
{
	u32 i;

	for (i = 0; i < 4; i++) {
		struct kal_mpa_local local = side(1, 1, 0);
		struct kal_mpa_frame req = { .revision = 1, .crc = i & 1 };
		struct kal_mpa_frame rep;
		struct ri_mpa_params mpa;
		enum kal_mpa_term term;

		local.crc = i & 2;
		kal_mpa_respond(&local, &req, &rep, &mpa);
		KTEST_EQ(test, mpa.crc, i != 0);
		KTEST_EQ(test, rep.crc, i != 0);

		/* the same from the other side, with any Reply */
		rep.crc = i & 2;
		KTEST_EQ(test, kal_mpa_conclude(&local, &req, &rep, &mpa, &term), 0);
		KTEST_EQ(test, mpa.crc, i != 0);
	}
}

static void serves_plain_peers(struct ktest *test)
{
	const struct kal_mpa_local local = side(3, 5, WRITE_READ);
	u8 revision;

	for (revision = 1; revision <= 2; revision++) {
		const struct kal_mpa_frame req = { .revision = revision };
		struct ri_mpa_params mpa;
		struct kal_mpa_frame rep;

		kal_mpa_respond(&local, &req, &rep, &mpa);
		KTEST_EQ(test, rep.revision, revision);
		KTEST_FALSE(test, rep.enhanced || rep.p2p || rep.rtr || rep.ird || rep.ord);
		KTEST_EQ(test, mpa.revision, revision);
		KTEST_EQ(test, mpa.ird, 3);
		KTEST_EQ(test, mpa.ord, 5);
		KTEST_EQ(test, mpa.rtr, RI_RTR_NONE);
	}
}

static void rejects(struct ktest *test)
{
	const struct kal_mpa_local local = side(16, 16, WRITE_READ);
	const struct kal_mpa_frame plain = { .crc = true, .revision = 1 };
	const struct kal_mpa_frame asked = enhanced(16, 16, WRITE_READ);
	u8 buf[KAL_MPA_FRAME_MAX], want[KAL_MPA_FRAME_MAX];
	struct kal_mpa_frame rep;

	kal_mpa_reject(&local, &plain, &rep);
	KTEST_EQ(test, kal_mpa_build(buf, KAL_MPA_REPLY, &rep, NULL), 20);
	hex_octets(REP_KEY "60 01 00 00", want, sizeof(want));
	KTEST_MEMEQ(test, buf, want, 20);

	kal_mpa_reject(&local, &asked, &rep);
	KTEST_EQ(test, kal_mpa_build(buf, KAL_MPA_REPLY, &rep, NULL), 24);
	hex_octets(REP_KEY "70 02 00 04 80 10 c0 10", want, sizeof(want));
	KTEST_MEMEQ(test, buf, want, 24);
}

/* The initiator, with a limit of 64: own side, Reply, result. */
static const struct {
	const char *id;
	u16 own_ird, own_ord;
	u8 own_rtr;
	u16 rep_ird, rep_ord;
	u8 rep_rtr;
	int err;
	enum kal_mpa_term term;
	u16 ird, ord;
	enum ri_rtr rtr;
} conclusions[] = {
	{ "A7 and A8", 16, 16, WRITE_READ, 16, 16, KAL_MPA_RTR_WRITE,
	  0, KAL_MPA_TERM_NONE, 16, 16, RI_RTR_WRITE },
	{ "A9 and A10", 8, 4, 0, 4, 8, 0, 0, KAL_MPA_TERM_NONE, 8, 4, RI_RTR_NONE },
	{ "ORD falls to the responder's IRD", 8, 16, 0, 4, 8, 0,
	  0, KAL_MPA_TERM_NONE, 8, 4, RI_RTR_NONE },
	{ "IRD rises to the responder's ORD", 8, 16, 0, 16, 64, 0,
	  0, KAL_MPA_TERM_NONE, 64, 16, RI_RTR_NONE },
	{ "more IRD than the RNIC has", 8, 16, 0, 16, 65, 0,
	  -ENOBUFS, KAL_MPA_TERM_IRD, 0, 0, RI_RTR_NONE },
	{ "A12: left to the consumer", 8, 16, KAL_MPA_RTR_WRITE, ULP, ULP, KAL_MPA_RTR_WRITE,
	  0, KAL_MPA_TERM_NONE, 8, 16, RI_RTR_WRITE },
	{ "Write before Read", 8, 8, WRITE_READ, 8, 8, WRITE_READ,
	  0, KAL_MPA_TERM_NONE, 8, 8, RI_RTR_WRITE },
	{ "Read, if it is all there is", 8, 8, WRITE_READ, 8, 8, KAL_MPA_RTR_READ,
	  0, KAL_MPA_TERM_NONE, 8, 8, RI_RTR_READ },
	{ "Read without responder's IRD", 8, 8, WRITE_READ, 0, 8, KAL_MPA_RTR_READ,
	  -EPROTO, KAL_MPA_TERM_RTR, 0, 0, RI_RTR_NONE },
	{ "none in common", 8, 8, WRITE_READ, 8, 8, KAL_MPA_RTR_SEND,
	  -EPROTO, KAL_MPA_TERM_RTR, 0, 0, RI_RTR_NONE },
	{ "a type that was not asked for is no reason", 8, 8, KAL_MPA_RTR_WRITE,
	  8, 8, KAL_MPA_RTR_ALL, 0, KAL_MPA_TERM_NONE, 8, 8, RI_RTR_WRITE },
	{ "responder turns client-server", 8, 8, WRITE_READ, 8, 8, 0,
	  -EPROTO, KAL_MPA_TERM_LOCAL, 0, 0, RI_RTR_NONE },
	{ "responder turns peer-to-peer", 8, 8, 0, 8, 8, KAL_MPA_RTR_WRITE,
	  -EPROTO, KAL_MPA_TERM_LOCAL, 0, 0, RI_RTR_NONE },
};

static void concludes(struct ktest *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(conclusions); i++) {
		const struct kal_mpa_local local = side(conclusions[i].own_ird,
							conclusions[i].own_ord,
							conclusions[i].own_rtr);
		const struct kal_mpa_frame rep = enhanced(conclusions[i].rep_ird,
							  conclusions[i].rep_ord,
							  conclusions[i].rep_rtr);
		const char *id = conclusions[i].id;
		struct ri_mpa_params mpa;
		struct kal_mpa_frame req;
		enum kal_mpa_term term;

		kal_mpa_request(&local, &req);
		KTEST_EQ_MSG(test, kal_mpa_conclude(&local, &req, &rep, &mpa, &term),
			     conclusions[i].err, "%s", id);
		KTEST_EQ_MSG(test, term, conclusions[i].term, "%s", id);
		if (conclusions[i].err)
			continue;
		KTEST_EQ_MSG(test, mpa.ird, conclusions[i].ird, "%s", id);
		KTEST_EQ_MSG(test, mpa.ord, conclusions[i].ord, "%s", id);
		KTEST_EQ_MSG(test, mpa.rtr, conclusions[i].rtr, "%s", id);
		KTEST_TRUE_MSG(test, mpa.initiator && mpa.revision == 2, "%s", id);
		KTEST_FALSE_MSG(test, mpa.tx_markers || mpa.rx_markers, "%s", id);
	}
}

/* each direction is independent: a side that asks for markers receives them */
static void markers_for_who_asks(struct ktest *test)
{
	struct kal_mpa_local initiator = side(8, 8, WRITE_READ);
	struct kal_mpa_local responder = side(8, 8, WRITE_READ);
	struct ri_mpa_params active, passive;
	struct kal_mpa_frame req, rep;
	enum kal_mpa_term term;
	int both;

	initiator.marks = true;
	responder.marks = true;
	for (both = 0; both < 4; both++) {
		initiator.markers = both & 1;
		responder.markers = both & 2;
		kal_mpa_request(&initiator, &req);
		kal_mpa_respond(&responder, &req, &rep, &passive);
		KTEST_EQ(test, kal_mpa_conclude(&initiator, &req, &rep, &active, &term), 0);
		KTEST_EQ_MSG(test, req.markers, both & 1, "%d", both);
		KTEST_EQ_MSG(test, rep.markers, both >> 1, "%d", both);
		KTEST_EQ_MSG(test, active.rx_markers, both & 1, "%d", both);
		KTEST_EQ_MSG(test, active.tx_markers, both >> 1, "%d", both);
		KTEST_EQ_MSG(test, passive.tx_markers, both & 1, "%d", both);
		KTEST_EQ_MSG(test, passive.rx_markers, both >> 1, "%d", both);
	}
}

static void refuses_replies(struct ktest *test)
{
	const struct kal_mpa_local local = side(8, 8, WRITE_READ);
	struct kal_mpa_frame req, rep;
	struct ri_mpa_params mpa;
	enum kal_mpa_term term;

	kal_mpa_request(&local, &req);
	rep = enhanced(8, 8, WRITE_READ);
	rep.reject = true;
	KTEST_EQ(test, kal_mpa_conclude(&local, &req, &rep, &mpa, &term), -ECONNREFUSED);
	KTEST_EQ(test, term, KAL_MPA_TERM_NONE);

	rep = enhanced(8, 8, WRITE_READ);
	rep.markers = true;
	KTEST_EQ(test, kal_mpa_conclude(&local, &req, &rep, &mpa, &term), -EOPNOTSUPP);
	KTEST_EQ(test, term, KAL_MPA_TERM_NONE);

	/* a peer with RFC 5044 only has taken the enhanced data for private data */
	rep = (struct kal_mpa_frame){ .revision = 1 };
	KTEST_EQ(test, kal_mpa_conclude(&local, &req, &rep, &mpa, &term), -EPROTONOSUPPORT);
	KTEST_EQ(test, term, KAL_MPA_TERM_NONE);

	/* RFC 6581 10: an enhanced Request has an enhanced Reply */
	rep = (struct kal_mpa_frame){ .revision = 2 };
	KTEST_EQ(test, kal_mpa_conclude(&local, &req, &rep, &mpa, &term), -EPROTO);
	KTEST_EQ(test, term, KAL_MPA_TERM_LOCAL);
}

/* Both halves against each other: each side's ORD must be at most the other's IRD. */
static void agrees_with_itself(struct ktest *test)
{
	u32 rnd = 0x5044, refused = 0, i;

	for (i = 0; i < 5000; i++) {
		const u32 r = next_random(&rnd), q = next_random(&rnd);
		const struct kal_mpa_local a = side(r % 70, (r >> 8) % 70, (r >> 16) & 14);
		const struct kal_mpa_local b = side(q % 70, (q >> 8) % 70, (q >> 16) & 14);
		struct ri_mpa_params initiator, responder;
		struct kal_mpa_frame req, rep;
		enum kal_mpa_term term;
		int err;

		kal_mpa_request(&a, &req);
		kal_mpa_respond(&b, &req, &rep, &responder);
		err = kal_mpa_conclude(&a, &req, &rep, &initiator, &term);
		if (err) {
			KTEST_EQ(test, term, KAL_MPA_TERM_RTR);
			refused++;
			continue;
		}
		KTEST_TRUE(test, initiator.ord <= responder.ird);
		KTEST_TRUE(test, responder.ord <= initiator.ird);
		KTEST_EQ(test, initiator.crc, responder.crc);
		KTEST_EQ(test, initiator.rtr != RI_RTR_NONE, responder.rtr != RI_RTR_NONE);
		KTEST_TRUE(test, initiator.rtr != RI_RTR_READ || initiator.ord);
	}
	KTEST_TRUE(test, refused > 0 && refused < 2500);
}

static void terminates(struct ktest *test)
{
	static const u8 marker[KAL_MPA_MARKER_LEN];
	static const struct {
		const char *id;
		enum kal_mpa_term code;
		u32 marked_crc;	/* of the marker and what follows */
	} terms[] = {
		{ "T5", KAL_MPA_TERM_LOCAL, 0x82e7ab91 },
		{ "T6", KAL_MPA_TERM_IRD, 0x68c96be2 },
		{ "T7", KAL_MPA_TERM_RTR, 0xcd88f99c },
	};
	const size_t len = KAL_MPA_TERM_LEN, crc_at = len - KAL_MPA_CRC_LEN;
	u8 stream[KAL_MPA_TERM_MAX], want[VECTOR_MAX];
	const u8 *marked = stream + sizeof(marker);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(terms); i++) {
		KTEST_EQ_MSG(test, kal_mpa_terminate(terms[i].code, false, stream), len,
			     "%s", terms[i].id);
		KTEST_EQ_MSG(test, vector_get(test, terms[i].id, want), len, "%s", terms[i].id);
		KTEST_MEMEQ_MSG(test, stream, want, len, "%s", terms[i].id);

		KTEST_EQ_MSG(test, kal_mpa_terminate(terms[i].code, true, stream),
			     sizeof(stream), "%s", terms[i].id);
		KTEST_MEMEQ_MSG(test, stream, marker, sizeof(marker), "%s", terms[i].id);
		KTEST_MEMEQ_MSG(test, marked, want, crc_at, "%s", terms[i].id);
		KTEST_EQ_MSG(test, get_unaligned_le32(marked + crc_at), terms[i].marked_crc,
			     "%s", terms[i].id);
	}
}

static struct ktest_case cases[] = {
	KTEST_CASE(decodes_frames),
	KTEST_CASE(encodes_frames),
	KTEST_CASE(checks_headers),
	KTEST_CASE(survives_any_header),
	KTEST_CASE(bounds_private_data),
	KTEST_CASE(ignores_rtr_of_client_server),
	KTEST_CASE(requests),
	KTEST_CASE(responds_with_reads),
	KTEST_CASE(responds_with_rtr),
	KTEST_CASE(agrees_on_crc),
	KTEST_CASE(serves_plain_peers),
	KTEST_CASE(rejects),
	KTEST_CASE(concludes),
	KTEST_CASE(markers_for_who_asks),
	KTEST_CASE(refuses_replies),
	KTEST_CASE(agrees_with_itself),
	KTEST_CASE(terminates),
	{}
};

KTEST_SUITE(mpa_startup, cases);
