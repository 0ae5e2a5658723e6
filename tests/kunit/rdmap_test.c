// SPDX-License-Identifier: GPL-2.0 OR MIT
/* RDMAP: operation table, Terminate messages and their codes (RFC 5040). */
#include <linux/array_size.h>
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/types.h>

#include "../../kvp_soft/wire/ddp.h"
#include "ktest.h"
#include "vectors.h"

/* Add pad and CRC behind a ULPDU, as the send path does */
static u32 finish_fpdu(u8 *p, u32 n)
{
	const u32 pad = soft_mpa_pad(n - SOFT_MPA_HDR);

	memset(p + n, 0, pad);
	soft_crc_end(soft_crc_add(soft_crc_begin(), p, n + pad), p + n + pad);
	return n + pad + SOFT_MPA_CRC;
}

/* Decode the header of a vector, whatever the result */
static void seg_of(struct ktest *test, const char *id, u8 fpdu[VECTOR_MAX],
		   struct soft_seg *seg, struct soft_term *term)
{
	vector_get(test, id, fpdu);
	KTEST_NE_MSG(test, soft_seg_decode(fpdu, SOFT_HDR_MAX, seg, term), -EAGAIN, "%s", id);
}

static void expect_frame(struct ktest *test, const char *id, const struct soft_term *term)
{
	u8 want[VECTOR_MAX], p[SOFT_TERM_ULPDU_MAX + SOFT_MPA_PAD_MAX + SOFT_MPA_CRC];
	const u32 n = vector_get(test, id, want);

	KTEST_EQ_MSG(test, finish_fpdu(p, soft_put_terminate(p, term)), n, "%s", id);
	KTEST_MEMEQ_MSG(test, p, want, n, "%s", id);
}

static void terminate_frames_with_headers(struct ktest *test)
{
	u8 fpdu[VECTOR_MAX];
	struct soft_term term;
	struct soft_seg seg;

	seg_of(test, "D8", fpdu, &seg, &term);
	soft_term_access(&seg, fpdu, SOFT_ACCESS_STAG, &term);
	expect_frame(test, "T1", &term);

	seg_of(test, "R1", fpdu, &seg, &term);
	soft_term_access(&seg, fpdu, SOFT_ACCESS_STAG, &term);
	expect_frame(test, "T2", &term);

	seg_of(test, "D5", fpdu, &seg, &term);
	expect_frame(test, "T8", &term);

	seg_of(test, "R6", fpdu, &seg, &term);
	soft_term_access(&seg, fpdu, SOFT_ACCESS_STAG, &term);
	expect_frame(test, "T9", &term);

	seg_of(test, "X4", fpdu, &seg, &term);
	soft_term_access(&seg, fpdu, SOFT_ACCESS_ALIGN, &term);
	expect_frame(test, "T10", &term);
}

static void terminate_frames_without_headers(struct ktest *test)
{
	static const struct { const char *id; u8 layer, etype, code; } cases[] = {
		{ "T3", SOFT_TERM_RDMAP, SOFT_RDMAP_LOCAL, SOFT_CODE_LOCAL },
		{ "T4", SOFT_TERM_MPA, SOFT_MPA_ERROR, SOFT_MPA_CRC_ERROR },
		{ "T5", SOFT_TERM_MPA, SOFT_MPA_ERROR, SOFT_MPA_LOCAL },
		{ "T6", SOFT_TERM_MPA, SOFT_MPA_ERROR, SOFT_MPA_IRD },
		{ "T7", SOFT_TERM_MPA, SOFT_MPA_ERROR, SOFT_MPA_RTR },
	};
	struct soft_term term;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		soft_term_set(&term, cases[i].layer, cases[i].etype, cases[i].code);
		expect_frame(test, cases[i].id, &term);
	}
}

/*
 * The control word that a bit-field in host order gets wrong: layer in the high
 * nibble, M, D and R in the high bits of the third byte.
 */
static void control_word_octets(struct ktest *test)
{
	struct soft_term term = {
		.layer = SOFT_TERM_DDP, .etype = SOFT_DDP_TAGGED, .code = SOFT_TAG_STAG,
		.has_len = true, .has_ddp = true, .hdr_len = SOFT_TAGGED_HDR,
	};
	u8 p[SOFT_TERM_ULPDU_MAX];

	soft_put_terminate(p, &term);
	KTEST_MEMEQ(test, p + 20, "\x11\x00\xc0\x00", 4);
	term.has_rdmap = true;
	soft_put_terminate(p, &term);
	KTEST_MEMEQ(test, p + 20, "\x11\x00\xe0\x00", 4);
	soft_term_set(&term, SOFT_TERM_MPA, SOFT_MPA_ERROR, SOFT_MPA_CRC_ERROR);
	soft_put_terminate(p, &term);
	KTEST_MEMEQ(test, p + 20, "\x20\x02\x00\x00", 4);
	soft_term_set(&term, SOFT_TERM_DDP, SOFT_DDP_UNTAGGED, SOFT_UNTAG_TOO_LONG);
	soft_put_terminate(p, &term);
	KTEST_MEMEQ(test, p + 20, "\x12\x05\x00\x00", 4);
}

static void terminate_round_trips(struct ktest *test)
{
	static const char * const ids[] = {
		"T1", "T2", "T3", "T4", "T5", "T6", "T7", "T8", "T9", "T10"
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		u8 fpdu[VECTOR_MAX];
		struct soft_term term;
		struct soft_seg seg;

		seg_of(test, ids[i], fpdu, &seg, &term);
		KTEST_EQ_MSG(test, soft_term_decode(fpdu + 20, seg.payload_len, &term), 0,
			     "%s", ids[i]);
		expect_frame(test, ids[i], &term);
	}
}

static void terminate_fields(struct ktest *test)
{
	u8 fpdu[VECTOR_MAX];
	struct soft_term term;
	struct soft_seg seg;
	struct soft_read_req rr;

	seg_of(test, "T2", fpdu, &seg, &term);
	KTEST_EQ(test, soft_term_decode(fpdu + 20, seg.payload_len, &term), 0);
	KTEST_EQ(test, term.layer, SOFT_TERM_RDMAP);
	KTEST_EQ(test, term.etype, SOFT_RDMAP_PROTECTION);
	KTEST_EQ(test, term.code, SOFT_PROT_STAG);
	KTEST_TRUE(test, term.has_len && term.has_ddp && term.has_rdmap);
	KTEST_EQ(test, term.seg_len, 46);
	KTEST_EQ(test, term.hdr_len, 46);
	soft_read_req_get(term.hdr + SOFT_UNTAGGED_HDR, &rr);
	KTEST_EQ(test, rr.src_stag, 0xdeadbeef);
	KTEST_EQ(test, rr.length, 64);
}

/* Case 136 and more: each length up to the longest Terminate, each set of flags */
static void cut_off_terminate(struct ktest *test)
{
	u8 fpdu[VECTOR_MAX];
	struct soft_term term;
	u32 len, flags;

	vector_get(test, "T2", fpdu);
	for (len = 0; len <= SOFT_TERM_MAX; len++) {
		for (flags = 0; flags < 0x200; flags += 0x20) {
			u8 *exact = ktest_alloc(test, len);
			u32 ddp = flags & 0x100 ? 14 : 18;
			u32 left = len < 6 ? 0 : len - 6;

			fpdu[22] = flags & 0xe0;
			fpdu[26] = flags & 0x100 ? 0xc1 : 0x41;
			memcpy(exact, fpdu + 20, len);
			KTEST_EQ_MSG(test, soft_term_decode(exact, len, &term),
				     len < 4 ? -EPROTO : 0, "len %u flags %x", len, flags);
			KTEST_EQ_MSG(test, term.has_len, len >= 6 && flags & 0x80,
				     "len %u flags %x", len, flags);
			KTEST_EQ_MSG(test, term.has_ddp, left >= ddp && flags & 0x40,
				     "len %u flags %x", len, flags);
			KTEST_EQ_MSG(test, term.has_rdmap,
				     left >= ddp + 28 && (flags & 0x60) == 0x60,
				     "len %u flags %x", len, flags);
			KTEST_TRUE_MSG(test, term.hdr_len <= left, "len %u flags %x", len, flags);
			KTEST_MEMEQ_MSG(test, term.hdr, fpdu + 26, term.hdr_len,
					"len %u flags %x", len, flags);
		}
	}
}

/* Terminates of peers that differ from the RFC, and their meaning */
static void terminates_of_other_stacks(struct ktest *test)
{
	/* siw on a little-endian host: Write out of bounds, Read of a bad STag, opcode */
	static const u8 reversed_ddp[] = {
		0x11, 0x01, 0x03, 0x00, 0x00, 0x12, 0xc1, 0x40,
		0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x10, 0x00,
	};
	static const u8 reversed_prot[] = { 0x10, 0x00, 0x07, 0x00, 0x00, 0x12, 0x41, 0x41 };
	static const u8 reversed_opcode[] = { 0x20, 0x06, 0x00, 0x00 };
	static const u8 mpa_type_3[] = { 0x23, 0x02, 0x00, 0x00 };
	static const u8 length_only[] = { 0x12, 0x01, 0x80, 0x00, 0x00, 0x0c };
	struct soft_term term, ours;

	KTEST_EQ(test, soft_term_decode(reversed_ddp, sizeof(reversed_ddp), &term), 0);
	KTEST_STREQ(test, soft_term_name(&term), "DDP tagged: base or bounds violation");
	KTEST_TRUE(test, term.has_len && term.has_ddp && !term.has_rdmap);
	KTEST_EQ(test, term.seg_len, 0x12);
	KTEST_MEMEQ(test, term.hdr, reversed_ddp + 6, SOFT_TAGGED_HDR);
	KTEST_EQ(test, soft_term_decode(reversed_prot, sizeof(reversed_prot), &term), 0);
	KTEST_STREQ(test, soft_term_name(&term), "RDMAP: invalid STag");
	KTEST_TRUE(test, term.has_len && !term.has_ddp);
	/* this one cannot be distinguished from a Terminate of RFC 6581 */
	KTEST_EQ(test, soft_term_decode(reversed_opcode, sizeof(reversed_opcode), &term), 0);
	KTEST_STREQ(test, soft_term_name(&term), "MPA: insufficient IRD");

	KTEST_EQ(test, soft_term_decode(mpa_type_3, sizeof(mpa_type_3), &term), 0);
	soft_term_set(&ours, SOFT_TERM_MPA, SOFT_MPA_ERROR, SOFT_MPA_CRC_ERROR);
	KTEST_STREQ(test, soft_term_name(&term), soft_term_name(&ours));

	KTEST_EQ(test, soft_term_decode(length_only, sizeof(length_only), &term), 0);
	KTEST_TRUE(test, term.has_len);
	KTEST_FALSE(test, term.has_ddp);
	KTEST_EQ(test, term.seg_len, 12);
}

/* The message that a Terminate with the header of a vector names */
static void terminate_names_message(struct ktest *test)
{
	static const struct { const char *id; struct soft_term_about about; } cases[] = {
		{ "D8", { .tagged = true, .stag = 0x11223344, .to = 0x1000 } },
		{ "R3", { SOFT_RDMAP_READ_RESP, true } },
		{ "R1", { SOFT_RDMAP_READ_REQ, .qn = SOFT_QN_READ_REQ, .msn = 1,
			  .stag = 0x55, .to = 0x2000 } },
		{ "X5", { SOFT_RDMAP_ATOMIC_REQ, .qn = SOFT_QN_READ_REQ, .msn = 2 } },
		{ "R6", { SOFT_RDMAP_SEND_INV, .msn = 1 } },
		{ "R8", { SOFT_RDMAP_SEND_SE_INV, .msn = 1 } },
	};
	/* DV=0, RV=2, a Send on QN 4, an unknown opcode */
	static const char * const strange[] = { "D6", "D9", "R4", "D5", "R5" };
	struct soft_term_about about;
	u8 fpdu[VECTOR_MAX];
	struct soft_term term;
	struct soft_seg seg;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct soft_term_about *want = &cases[i].about;

		seg_of(test, cases[i].id, fpdu, &seg, &term);
		soft_term_with_hdr(&term, &seg, fpdu, SOFT_TERM_RDMAP, SOFT_RDMAP_PROTECTION, 0);
		KTEST_TRUE_MSG(test, soft_term_about(&term, &about), "%s", cases[i].id);
		KTEST_EQ_MSG(test, about.opcode, want->opcode, "%s", cases[i].id);
		KTEST_EQ_MSG(test, about.tagged, want->tagged, "%s", cases[i].id);
		KTEST_EQ_MSG(test, about.by_sink, want->by_sink, "%s", cases[i].id);
		KTEST_EQ_MSG(test, about.qn, want->qn, "%s", cases[i].id);
		KTEST_EQ_MSG(test, about.msn, want->msn, "%s", cases[i].id);
		KTEST_EQ_MSG(test, about.stag, want->stag, "%s", cases[i].id);
		KTEST_EQ_MSG(test, about.to, want->to, "%s", cases[i].id);
		term.has_ddp = false;
		KTEST_FALSE_MSG(test, soft_term_about(&term, &about), "%s", cases[i].id);
	}
	/* as siw sends it: the length where the MSN belongs */
	seg_of(test, "R1", fpdu, &seg, &term);
	soft_term_with_hdr(&term, &seg, fpdu, SOFT_TERM_RDMAP, SOFT_RDMAP_PROTECTION, 0);
	term.hdr[13] = 0x40;
	KTEST_TRUE(test, soft_term_about(&term, &about));
	KTEST_TRUE(test, about.by_sink && about.stag == 0x55 && about.to == 0x2000);
	for (i = 0; i < ARRAY_SIZE(strange); i++) {
		seg_of(test, strange[i], fpdu, &seg, &term);
		soft_term_with_hdr(&term, &seg, fpdu, SOFT_TERM_DDP, SOFT_DDP_TAGGED, 0);
		term.has_ddp = true;
		KTEST_FALSE_MSG(test, soft_term_about(&term, &about), "%s", strange[i]);
	}
	soft_term_set(&term, SOFT_TERM_MPA, SOFT_MPA_ERROR, SOFT_MPA_CRC_ERROR);
	KTEST_FALSE(test, soft_term_about(&term, &about));
}

/* Refused access to the memory that the vector names; the two bytes and the M, D, R bits */
static void access_failures(struct ktest *test)
{
	static const struct {
		const char *id;
		enum soft_access why;
		u16 term;
		u8 flags;
	} cases[] = {
		{ "D8", SOFT_ACCESS_STAG, 0x1100, 0xc0 },
		{ "D8", SOFT_ACCESS_BOUNDS, 0x1101, 0xc0 },
		{ "D8", SOFT_ACCESS_RIGHTS, 0x1100, 0xc0 },
		{ "D8", SOFT_ACCESS_PD, 0x1102, 0xc0 },
		{ "D8", SOFT_ACCESS_WRAP, 0x1103, 0xc0 },
		{ "R3", SOFT_ACCESS_STAG, 0x1100, 0xc0 },
		{ "R3", SOFT_ACCESS_BOUNDS, 0x1101, 0xc0 },
		{ "R1", SOFT_ACCESS_STAG, 0x0100, 0xe0 },
		{ "R1", SOFT_ACCESS_BOUNDS, 0x0101, 0xe0 },
		{ "R1", SOFT_ACCESS_RIGHTS, 0x0102, 0xe0 },
		{ "R1", SOFT_ACCESS_PD, 0x0103, 0xe0 },
		{ "R1", SOFT_ACCESS_WRAP, 0x0104, 0xe0 },
		{ "R6", SOFT_ACCESS_STAG, 0x0209, 0xc0 },
		{ "R6", SOFT_ACCESS_RIGHTS, 0x0109, 0xc0 },
		{ "R6", SOFT_ACCESS_PD, 0x0109, 0xc0 },
		{ "R8", SOFT_ACCESS_STAG, 0x0209, 0xc0 },
		{ "F2", SOFT_ACCESS_STAG, 0x1000, 0xc0 },
		{ "R7", SOFT_ACCESS_BOUNDS, 0x1000, 0xc0 },
		{ "X3", SOFT_ACCESS_STAG, 0x0100, 0xc0 },
		{ "X3", SOFT_ACCESS_BOUNDS, 0x0101, 0xc0 },
		{ "X5", SOFT_ACCESS_RIGHTS, 0x0102, 0xc0 },
		{ "X5", SOFT_ACCESS_PD, 0x0103, 0xc0 },
		{ "X5", SOFT_ACCESS_WRAP, 0x0104, 0xc0 },
		{ "X4", SOFT_ACCESS_ALIGN, 0x0207, 0xc0 },
		{ "X6", SOFT_ACCESS_STAG, 0x1000, 0xc0 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		u8 fpdu[VECTOR_MAX], p[SOFT_TERM_ULPDU_MAX];
		struct soft_term term;
		struct soft_seg seg;

		seg_of(test, cases[i].id, fpdu, &seg, &term);
		soft_term_access(&seg, fpdu, cases[i].why, &term);
		soft_put_terminate(p, &term);
		KTEST_EQ_MSG(test, p[20] << 8 | p[21], cases[i].term, "case %zu, %s", i,
			     cases[i].id);
		KTEST_EQ_MSG(test, p[22], cases[i].flags, "case %zu, %s", i, cases[i].id);
		KTEST_MEMEQ_MSG(test, p + 24, fpdu, 2, "case %zu, %s", i, cases[i].id);
		KTEST_MEMEQ_MSG(test, p + 26, fpdu + 2, term.hdr_len, "case %zu, %s", i,
				cases[i].id);
	}
}

/* RFC 5040 figure 10: which errors report headers */
static void headers_by_error_class(struct ktest *test)
{
	static const struct { u8 layer, etype; bool ddp, rdmap; } cases[] = {
		{ SOFT_TERM_RDMAP, SOFT_RDMAP_LOCAL, false, false },
		{ SOFT_TERM_RDMAP, SOFT_RDMAP_PROTECTION, true, true },
		{ SOFT_TERM_RDMAP, SOFT_RDMAP_OPERATION, true, false },
		{ SOFT_TERM_DDP, SOFT_DDP_LOCAL, true, false },
		{ SOFT_TERM_DDP, SOFT_DDP_UNTAGGED, true, false },
		{ SOFT_TERM_MPA, SOFT_MPA_ERROR, false, false },
	};
	u8 fpdu[VECTOR_MAX];
	struct soft_term term;
	struct soft_seg seg;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		seg_of(test, "R1", fpdu, &seg, &term);
		soft_term_with_hdr(&term, &seg, fpdu, cases[i].layer, cases[i].etype, 0);
		KTEST_EQ_MSG(test, term.has_ddp, cases[i].ddp, "case %zu", i);
		KTEST_EQ_MSG(test, term.has_len, cases[i].ddp, "case %zu", i);
		KTEST_EQ_MSG(test, term.has_rdmap, cases[i].rdmap, "case %zu", i);

		/* only a Read Request has an RDMAP header to report */
		seg_of(test, "R6", fpdu, &seg, &term);
		soft_term_with_hdr(&term, &seg, fpdu, cases[i].layer, cases[i].etype, 0);
		KTEST_EQ_MSG(test, term.has_ddp, cases[i].ddp, "case %zu", i);
		KTEST_FALSE_MSG(test, term.has_rdmap, "case %zu", i);
	}
}

static void read_request_progress(struct ktest *test)
{
	u8 fpdu[VECTOR_MAX];
	struct soft_read_req rr;
	struct soft_term term;
	struct soft_seg seg;

	seg_of(test, "R1", fpdu, &seg, &term);
	soft_term_access(&seg, fpdu, SOFT_ACCESS_STAG, &term);
	soft_term_read_progress(&term, 24);
	soft_read_req_get(term.hdr + SOFT_UNTAGGED_HDR, &rr);
	KTEST_EQ(test, rr.sink_stag, 0x55);
	KTEST_EQ(test, rr.sink_to, 0x2018);
	KTEST_EQ(test, rr.length, 40);
	KTEST_EQ(test, rr.src_stag, 0xdeadbeef);
	KTEST_EQ(test, rr.src_to, 0x3018);
	KTEST_MEMEQ(test, term.hdr, fpdu + 2, SOFT_UNTAGGED_HDR);

	seg_of(test, "R6", fpdu, &seg, &term);
	soft_term_access(&seg, fpdu, SOFT_ACCESS_STAG, &term);
	soft_term_read_progress(&term, 24);
	KTEST_MEMEQ(test, term.hdr, fpdu + 2, SOFT_UNTAGGED_HDR);
}

static const u16 known_codes[] = {
	0x0100, 0x0101, 0x0102, 0x0103, 0x0104, 0x0109, 0x01ff,
	0x0205, 0x0206, 0x0207, 0x0208, 0x0209, 0x02ff, 0x1000,
	0x1100, 0x1101, 0x1102, 0x1103, 0x1104,
	0x1201, 0x1202, 0x1203, 0x1204, 0x1205, 0x1206,
	0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007,
};

static const char *name_of(u16 octets)
{
	struct soft_term term;

	soft_term_set(&term, octets >> 12, octets >> 8 & 0x0f, octets);
	return soft_term_name(&term);
}

static void every_code_has_its_name(struct ktest *test)
{
	const char *unknown = name_of(0xffff);
	u32 octets, named = 0;
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(known_codes); i++) {
		KTEST_TRUE_MSG(test, strcmp(name_of(known_codes[i]), unknown) != 0, "%04x",
			       known_codes[i]);
		for (j = 0; j < i; j++)
			KTEST_TRUE_MSG(test, strcmp(name_of(known_codes[i]),
						    name_of(known_codes[j])) != 0,
				       "%04x and %04x", known_codes[i], known_codes[j]);
	}
	/* besides them: seven MPA codes with type 3, and 00 with any code */
	for (octets = 0; octets < 0x10000; octets++)
		named += strcmp(name_of(octets), unknown) != 0;
	KTEST_EQ(test, named, ARRAY_SIZE(known_codes) + 7 + 256);
}

/* RFC 7306 5.1: the result in memory */
static void atomic_results(struct ktest *test)
{
	static const struct {
		struct soft_atomic_req rq;
		u64 old, want;
	} cases[] = {
		{ { .op = 0, .data = 1 }, 41, 42 },
		{ { .op = 0, .data = 1 }, ~0ULL, 0 },
		{ { .op = 0, .data = ~0ULL }, 0, ~0ULL },
		{ { .op = 0, .data = 0 }, 0x1234, 0x1234 },
		/* only the highest bit in the mask: also one field of 64 bits */
		{ { .op = 0, .data = 1, .mask = 1ULL << 63 }, ~0ULL, 0 },
		/* two fields of 32 bits: no carry between them */
		{ { .op = 0, .data = 1, .mask = 0x8000000080000000ULL }, 0xffffffffULL, 0 },
		{ { .op = 0, .data = 0x0000000180000000ULL, .mask = 0x8000000080000000ULL },
		  0xffffffff80000000ULL, 0 },
		/* fields of one bit each: exclusive or */
		{ { .op = 0, .data = 0xf0f0ULL, .mask = ~0ULL }, 0xff00ULL, 0x0ff0ULL },
		{ { .op = 2, .data = 0x63, .mask = ~0ULL, .compare = 0x29,
		    .compare_mask = ~0ULL }, 0x29, 0x63 },
		{ { .op = 2, .data = 0x63, .mask = ~0ULL, .compare = 0x29,
		    .compare_mask = ~0ULL }, 0x2a, 0x2a },
		/* compare the low byte, replace the one above */
		{ { .op = 2, .data = 0xffffULL, .mask = 0xff00, .compare = 0x1129,
		    .compare_mask = 0xff }, 0x770029ULL, 0x77ff29ULL },
		/* compare nothing: a swap */
		{ { .op = 2, .data = 5, .mask = ~0ULL, .compare = 1 }, 2, 5 },
		{ { .op = 2, .data = 5, .mask = 0, .compare = 1 }, 2, 2 },
	};
	u32 rnd = 7306, i, bit;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		KTEST_EQ_MSG(test, soft_atomic_result(&cases[i].rq, cases[i].old), cases[i].want,
			     "case %u", i);

	/* compared with the RFC's own description, bit by bit */
	for (i = 0; i < 2000; i++) {
		const u64 old = (u64)next_random(&rnd) << 32 | next_random(&rnd);
		struct soft_atomic_req rq = {
			.op = SOFT_ATOMIC_FETCH_ADD,
			.data = (u64)next_random(&rnd) << 32 | next_random(&rnd),
			.mask = (u64)next_random(&rnd) << 32 | next_random(&rnd),
		};
		u64 want = 0, carry = 0;

		for (bit = 0; bit < 64; bit++) {
			const u64 sum = carry + (old >> bit & 1) + (rq.data >> bit & 1);

			want |= (sum & 1) << bit;
			carry = rq.mask >> bit & 1 ? 0 : sum >> 1;
		}
		KTEST_EQ(test, soft_atomic_result(&rq, old), want);
	}
}

/* RFC 5040 figure 4 and RFC 7306 figure 3, a second time */
static void operation_table(struct ktest *test)
{
	static const struct {
		u8 op;
		bool tagged, payload, solicited, invalidate;
		u8 qn;
	} want[] = {
		{ 0, true, true, false, false, 0 },
		{ 1, false, false, false, false, 1 },
		{ 2, true, true, false, false, 0 },
		{ 3, false, true, false, false, 0 },
		{ 4, false, true, false, true, 0 },
		{ 5, false, true, true, false, 0 },
		{ 6, false, true, true, true, 0 },
		{ 7, false, false, false, false, 2 },
		{ 8, false, false, false, false, 0 },
		{ 9, false, false, true, false, 0 },
		{ 10, false, false, false, false, 1 },
		{ 11, false, false, false, false, 3 },
	};
	size_t i;
	u32 op;

	for (i = 0; i < ARRAY_SIZE(want); i++) {
		const struct soft_op *o = soft_op(want[i].op);

		KTEST_TRUE_MSG(test, o, "opcode %zu", i);
		if (!o)
			continue;
		KTEST_EQ_MSG(test, !!(o->flags & SOFT_OP_TAGGED), want[i].tagged, "opcode %zu", i);
		KTEST_EQ_MSG(test, !!(o->flags & SOFT_OP_PAYLOAD), want[i].payload,
			     "opcode %zu", i);
		KTEST_EQ_MSG(test, !!(o->flags & SOFT_OP_SOLICITED), want[i].solicited,
			     "opcode %zu", i);
		KTEST_EQ_MSG(test, !!(o->flags & SOFT_OP_INVALIDATE), want[i].invalidate,
			     "opcode %zu", i);
		KTEST_EQ_MSG(test, o->qn, want[i].qn, "opcode %zu", i);
		KTEST_STREQ(test, o->name, soft_rdmap_name(want[i].op));
	}
	for (op = ARRAY_SIZE(want); op < 256; op++)
		KTEST_FALSE_MSG(test, soft_op(op), "opcode %u", op);
	KTEST_STREQ(test, soft_rdmap_name(12), "unassigned opcode");
	KTEST_STREQ(test, soft_rdmap_name(200), "unassigned opcode");
}

static struct ktest_case cases[] = {
	KTEST_CASE(terminate_frames_with_headers),
	KTEST_CASE(terminate_frames_without_headers),
	KTEST_CASE(control_word_octets),
	KTEST_CASE(terminate_round_trips),
	KTEST_CASE(terminate_fields),
	KTEST_CASE(cut_off_terminate),
	KTEST_CASE(terminates_of_other_stacks),
	KTEST_CASE(terminate_names_message),
	KTEST_CASE(access_failures),
	KTEST_CASE(headers_by_error_class),
	KTEST_CASE(read_request_progress),
	KTEST_CASE(every_code_has_its_name),
	KTEST_CASE(atomic_results),
	KTEST_CASE(operation_table),
	{}
};

KTEST_SUITE(soft_rdmap, cases);
