// SPDX-License-Identifier: GPL-2.0 OR MIT
/* DDP: segment headers, their checks and their encoders (RFC 5041). */
#include <linux/array_size.h>
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/unaligned.h>

#include "../../kvp_soft/wire/ddp.h"
#include "ktest.h"
#include "vectors.h"

/* First two bytes of a Terminate */
static u16 term_octets(const struct soft_term *term)
{
	return term->layer << 12 | term->etype << 8 | term->code;
}

/* Decode like the receive path: ask for the number of bytes, get them, ask again */
static int decode(struct ktest *test, const u8 *fpdu, u32 n, struct soft_seg *seg,
		  struct soft_term *term)
{
	u32 have = 3;
	u8 *exact;

	while (soft_seg_need(fpdu, have) > have)
		have = soft_seg_need(fpdu, have);
	KTEST_TRUE(test, have <= n);
	KTEST_TRUE(test, have <= SOFT_HDR_MAX);
	exact = ktest_alloc(test, have);
	memcpy(exact, fpdu, have);
	return soft_seg_decode(exact, have, seg, term);
}

static void decode_vector(struct ktest *test, const char *id, struct soft_seg *seg)
{
	u8 fpdu[VECTOR_MAX];
	struct soft_term term;
	const u32 n = vector_get(test, id, fpdu);

	KTEST_EQ_MSG(test, decode(test, fpdu, n, seg, &term), 0, "%s", id);
}

static void vectors_accepted_or_refused(struct ktest *test)
{
	const struct vector *v;
	struct soft_term term;
	struct soft_seg seg;
	u8 fpdu[VECTOR_MAX];
	u32 i, n;

	for (i = 0; (v = vector_at(i)); i++) {
		n = hex_octets(v->hex, fpdu, sizeof(fpdu));
		if (v->term == VECTOR_ACCEPT) {
			KTEST_EQ_MSG(test, decode(test, fpdu, n, &seg, &term), 0, "%s", v->id);
			KTEST_EQ_MSG(test, seg.hdr_len + seg.payload_len, seg.ulpdu_len,
				     "%s", v->id);
			KTEST_TRUE_MSG(test, soft_op(seg.opcode), "%s", v->id);
			continue;
		}
		KTEST_EQ_MSG(test, decode(test, fpdu, n, &seg, &term), -EPROTO, "%s", v->id);
		KTEST_EQ_MSG(test, term_octets(&term), v->term, "%s", v->id);
	}
}

/* DDP and RDMAP errors report the DDP header and the length, MPA errors do not */
static void refusal_carries_header(struct ktest *test)
{
	const struct vector *v;
	struct soft_term term;
	struct soft_seg seg;
	u8 fpdu[VECTOR_MAX];
	u32 i, n;

	for (i = 0; (v = vector_at(i)); i++) {
		const bool mpa = v->term >> 12 == SOFT_TERM_MPA;

		n = hex_octets(v->hex, fpdu, sizeof(fpdu));
		if (v->term == VECTOR_ACCEPT)
			continue;
		decode(test, fpdu, n, &seg, &term);
		KTEST_EQ_MSG(test, term.has_ddp, !mpa, "%s", v->id);
		KTEST_EQ_MSG(test, term.has_len, !mpa, "%s", v->id);
		KTEST_FALSE_MSG(test, term.has_rdmap, "%s", v->id);
		if (mpa) {
			KTEST_EQ_MSG(test, term.hdr_len, 0, "%s", v->id);
			continue;
		}
		KTEST_EQ_MSG(test, term.hdr_len, fpdu[2] & 0x80 ? 14 : 18, "%s", v->id);
		KTEST_EQ_MSG(test, term.seg_len, fpdu[0] << 8 | fpdu[1], "%s", v->id);
		KTEST_MEMEQ_MSG(test, term.hdr, fpdu + 2, term.hdr_len, "%s", v->id);
	}
}

static void fields_of_a_write(struct ktest *test)
{
	struct soft_seg seg;

	decode_vector(test, "D8", &seg);
	KTEST_EQ(test, seg.ulpdu_len, 18);
	KTEST_EQ(test, seg.hdr_len, SOFT_TAGGED_HDR);
	KTEST_EQ(test, seg.payload_len, 4);
	KTEST_TRUE(test, seg.tagged);
	KTEST_TRUE(test, seg.last);
	KTEST_EQ(test, seg.dv, 1);
	KTEST_EQ(test, seg.rv, 1);
	KTEST_EQ(test, seg.opcode, SOFT_RDMAP_WRITE);
	KTEST_EQ(test, seg.stag, 0x11223344);
	KTEST_EQ(test, seg.to, 0x1000);

	decode_vector(test, "D10", &seg);
	KTEST_EQ(test, seg.to, 0xfffffffffffffffeULL);
	KTEST_TRUE(test, soft_to_wraps(seg.to, seg.payload_len));
}

static void fields_of_a_send(struct ktest *test)
{
	struct soft_seg seg;

	decode_vector(test, "D1", &seg);
	KTEST_FALSE(test, seg.tagged);
	KTEST_FALSE(test, seg.last);
	KTEST_EQ(test, seg.opcode, SOFT_RDMAP_SEND);
	KTEST_EQ(test, seg.hdr_len, SOFT_UNTAGGED_HDR);
	KTEST_EQ(test, seg.payload_len, 4);
	KTEST_EQ(test, seg.qn, SOFT_QN_SEND);
	KTEST_EQ(test, seg.msn, 1);
	KTEST_EQ(test, seg.mo, 0);

	decode_vector(test, "D2", &seg);
	KTEST_TRUE(test, seg.last);
	KTEST_EQ(test, seg.mo, 4);

	decode_vector(test, "R6", &seg);
	KTEST_EQ(test, seg.opcode, SOFT_RDMAP_SEND_INV);
	KTEST_EQ(test, seg.inv_stag, 0xdeadbeef);
	decode_vector(test, "R8", &seg);
	KTEST_EQ(test, seg.opcode, SOFT_RDMAP_SEND_SE_INV);
	KTEST_EQ(test, seg.inv_stag, 0xdeadbeef);
}

static void fields_of_a_read_request(struct ktest *test)
{
	struct soft_seg seg;

	decode_vector(test, "R1", &seg);
	KTEST_EQ(test, seg.hdr_len, 46);
	KTEST_EQ(test, seg.payload_len, 0);
	KTEST_EQ(test, seg.qn, SOFT_QN_READ_REQ);
	KTEST_EQ(test, seg.msn, 1);
	KTEST_EQ(test, seg.rr.sink_stag, 0x55);
	KTEST_EQ(test, seg.rr.sink_to, 0x2000);
	KTEST_EQ(test, seg.rr.length, 64);
	KTEST_EQ(test, seg.rr.src_stag, 0xdeadbeef);
	KTEST_EQ(test, seg.rr.src_to, 0x3000);
}

static void fields_of_atomic_messages(struct ktest *test)
{
	struct soft_seg seg;

	decode_vector(test, "X3", &seg);
	KTEST_EQ(test, seg.hdr_len, 70);
	KTEST_EQ(test, seg.payload_len, 0);
	KTEST_EQ(test, seg.qn, SOFT_QN_READ_REQ);
	KTEST_EQ(test, seg.msn, 1);
	KTEST_EQ(test, seg.atomic.op, SOFT_ATOMIC_FETCH_ADD);
	KTEST_EQ(test, seg.atomic.id, 7);
	KTEST_EQ(test, seg.atomic.stag, 0x1234);
	KTEST_EQ(test, seg.atomic.to, 0x4000);
	KTEST_EQ(test, seg.atomic.data, 1);
	KTEST_EQ(test, seg.atomic.mask, 0);

	decode_vector(test, "X5", &seg);
	KTEST_EQ(test, seg.msn, 2);
	KTEST_EQ(test, seg.atomic.op, SOFT_ATOMIC_CMP_SWAP);
	KTEST_EQ(test, seg.atomic.id, 8);
	KTEST_EQ(test, seg.atomic.data, 0x63);
	KTEST_EQ(test, seg.atomic.mask, ~0ULL);
	KTEST_EQ(test, seg.atomic.compare, 0x29);
	KTEST_EQ(test, seg.atomic.compare_mask, ~0ULL);

	decode_vector(test, "X6", &seg);
	KTEST_EQ(test, seg.hdr_len, 30);
	KTEST_EQ(test, seg.payload_len, 0);
	KTEST_EQ(test, seg.qn, SOFT_QN_ATOMIC_RESP);
	KTEST_EQ(test, seg.resp.id, 7);
	KTEST_EQ(test, seg.resp.value, 41);
}

static void fields_of_immediate_data(struct ktest *test)
{
	struct soft_seg seg;

	decode_vector(test, "X1", &seg);
	KTEST_EQ(test, seg.opcode, SOFT_RDMAP_IMM);
	KTEST_EQ(test, seg.hdr_len, 26);
	KTEST_EQ(test, seg.payload_len, 0);
	KTEST_EQ(test, seg.qn, SOFT_QN_SEND);
	KTEST_EQ(test, seg.imm, 0x0102030405060708ULL);
	decode_vector(test, "X2", &seg);
	KTEST_EQ(test, seg.opcode, SOFT_RDMAP_IMM_SE);
	KTEST_EQ(test, seg.imm, 0x0102030405060708ULL);
}

/* RFC 7306 5.2.1: the 28 bits beside the operation are ignored */
static void atomic_operation_codes(struct ktest *test)
{
	u8 fpdu[VECTOR_MAX];
	struct soft_term term;
	struct soft_seg seg;
	u32 op, n;

	n = vector_get(test, "X5", fpdu);
	memset(fpdu + 20, 0xff, 3);
	for (op = 0; op < 16; op++) {
		const bool known = op == 0 || op == 2;

		fpdu[23] = 0xf0 | op;
		KTEST_EQ_MSG(test, decode(test, fpdu, n, &seg, &term), known ? 0 : -EPROTO,
			     "operation %u", op);
		if (known)
			KTEST_EQ_MSG(test, seg.atomic.op, op, "operation %u", op);
		else
			KTEST_EQ_MSG(test, term_octets(&term), 0x0206, "operation %u", op);
	}
}

/* A Terminate is decoded as a segment here; its body is payload */
static void terminate_is_payload(struct ktest *test)
{
	struct soft_seg seg;

	decode_vector(test, "T2", &seg);
	KTEST_EQ(test, seg.opcode, SOFT_RDMAP_TERMINATE);
	KTEST_EQ(test, seg.hdr_len, SOFT_UNTAGGED_HDR);
	KTEST_EQ(test, seg.payload_len, SOFT_TERM_MAX);
}

static void reserved_fields_ignored(struct ktest *test)
{
	u8 fpdu[VECTOR_MAX];
	struct soft_term term;
	struct soft_seg seg;
	u32 n;

	decode_vector(test, "D7", &seg);
	KTEST_EQ(test, seg.dv, 1);
	KTEST_EQ(test, seg.opcode, SOFT_RDMAP_SEND);
	decode_vector(test, "R9", &seg);
	KTEST_EQ(test, seg.rv, 1);
	KTEST_EQ(test, seg.opcode, SOFT_RDMAP_SEND);

	n = vector_get(test, "F2", fpdu);
	memset(fpdu + 4, 0xff, 4);	/* RsvdULP of a plain Send */
	KTEST_EQ(test, decode(test, fpdu, n, &seg, &term), 0);
}

static void zero_length_segments(struct ktest *test)
{
	static const char * const ids[] = { "F1", "D11", "D12", "R2", "R3" };
	struct soft_seg seg;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		decode_vector(test, ids[i], &seg);
		KTEST_EQ_MSG(test, seg.payload_len, 0, "%s", ids[i]);
	}
	KTEST_FALSE(test, soft_to_wraps(~0ULL, 0));
}

static void to_wrap(struct ktest *test)
{
	KTEST_FALSE(test, soft_to_wraps(0, 1));
	KTEST_FALSE(test, soft_to_wraps(~0ULL, 1));	/* the last byte of the tagged offsets */
	KTEST_TRUE(test, soft_to_wraps(~0ULL, 2));
	KTEST_FALSE(test, soft_to_wraps(0xfffffffffffffff0ULL, 16));
	KTEST_TRUE(test, soft_to_wraps(0xfffffffffffffff0ULL, 17));
	KTEST_FALSE(test, soft_to_wraps(0, ~0ULL));
}

/* The header bytes of a right FPDU */
static u32 header_octets(const u8 *fpdu)
{
	switch (fpdu[3]) {
	case 0x41:
		return 48;
	case 0x48:
	case 0x49:
		return 28;
	case 0x4a:
		return 72;
	case 0x4b:
		return 32;
	}
	return fpdu[2] & 0x80 ? 16 : 20;
}

/* Every prefix of every vector: no early answer, no read beyond the bytes */
static void partial_headers(struct ktest *test)
{
	const struct vector *v;
	u8 fpdu[VECTOR_MAX];
	u32 i, n, have;

	for (i = 0; (v = vector_at(i)); i++) {
		u32 need = 0, before = 0;

		n = hex_octets(v->hex, fpdu, sizeof(fpdu));
		for (have = 0; have <= n; have++) {
			struct soft_term term = { .code = 0x5a };
			struct soft_seg seg = { .stag = 0xa5a5a5a5 };
			u8 *exact = ktest_alloc(test, have);
			int ret;

			memcpy(exact, fpdu, have);
			need = soft_seg_need(exact, have);
			KTEST_TRUE_MSG(test, need >= before, "%s at %u", v->id, have);
			KTEST_TRUE_MSG(test, need <= SOFT_HDR_MAX, "%s at %u", v->id, have);
			before = need;
			ret = soft_seg_decode(exact, have, &seg, &term);
			if (have >= need) {
				KTEST_NE_MSG(test, ret, -EAGAIN, "%s at %u", v->id, have);
				continue;
			}
			KTEST_EQ_MSG(test, ret, -EAGAIN, "%s at %u", v->id, have);
			KTEST_EQ_MSG(test, seg.stag, 0xa5a5a5a5, "%s at %u", v->id, have);
			KTEST_EQ_MSG(test, term.code, 0x5a, "%s at %u", v->id, have);
		}
		KTEST_TRUE_MSG(test, need <= 2 + (fpdu[0] << 8 | fpdu[1]), "%s", v->id);
		if (v->term == VECTOR_ACCEPT)
			KTEST_EQ_MSG(test, need, header_octets(fpdu), "%s", v->id);
	}
}

/* The rules of the RFCs, written a second time and without the table */
static u16 expected(u8 ddp, u8 rdmap, u32 qn, u32 body)
{
	static const struct { u8 qn, fewest, most; } fixed[] = {
		[1] = { 1, 28, 28 }, [7] = { 2, 4, 52 }, [8] = { 0, 8, 8 },
		[9] = { 0, 8, 8 }, [10] = { 1, 52, 52 }, [11] = { 3, 12, 12 },
	};
	const bool tagged = ddp & 0x80;
	const u8 op = rdmap & 0x0f;

	if ((ddp & 3) != 1)
		return tagged ? 0x1104 : 0x1206;
	if (rdmap >> 6 != 1)
		return 0x0205;
	if (op > 11 || tagged != (op == 0 || op == 2))
		return 0x0206;
	if (!tagged && qn != fixed[op].qn)
		return 0x1201;
	if (!fixed[op].most)
		return VECTOR_ACCEPT;
	if ((op == 8 || op == 9) && body != 8)
		return 0x0207;
	if (body < fixed[op].fewest)
		return 0x2003;
	if (body > fixed[op].most)
		return 0x1205;
	if (!(ddp & 0x40))
		return 0x1000;
	return VECTOR_ACCEPT;
}

static void every_control_octet(struct ktest *test)
{
	static const u32 qns[] = { 0, 1, 2, 3, 4, 0x100, 0xffffffff };
	static const u32 bodies[] = {
		0, 3, 4, 7, 8, 9, 11, 12, 13, 27, 28, 29, 51, 52, 53, 1000
	};
	u32 ctrl, q, b;

	for (ctrl = 0; ctrl < 0x10000; ctrl++) {
		const u8 ddp = ctrl >> 8, rdmap = ctrl;

		for (q = 0; q < ARRAY_SIZE(qns); q++) {
			for (b = 0; b < 4; b++) {
				const u32 len = bodies[(ctrl / 5 + q + 4 * b) % ARRAY_SIZE(bodies)];
				struct soft_term term;
				struct soft_seg seg;
				u8 p[SOFT_HDR_MAX] = {};
				u16 want = expected(ddp, rdmap, qns[q], len);
				int ret;

				put_unaligned_be16((ddp & 0x80 ? 14 : 18) + len, p);
				p[2] = ddp;
				p[3] = rdmap;
				if (!(ddp & 0x80))
					put_unaligned_be32(qns[q], p + 8);
				ret = soft_seg_decode(p, sizeof(p), &seg, &term);
				KTEST_EQ_MSG(test, ret, want == VECTOR_ACCEPT ? 0 : -EPROTO,
					     "%04x qn %u body %u", ctrl, qns[q], len);
				if (ret)
					KTEST_EQ_MSG(test, term_octets(&term), want,
						     "%04x qn %u body %u", ctrl, qns[q], len);
			}
		}
	}
}

static void encoders_give_the_vectors(struct ktest *test)
{
	static const struct soft_read_req rr = {
		.sink_stag = 0x55, .sink_to = 0x2000, .length = 64,
		.src_stag = 0xdeadbeef, .src_to = 0x3000,
	};
	u8 want[VECTOR_MAX], p[SOFT_HDR_MAX];

	vector_get(test, "F1", want);
	KTEST_EQ(test, soft_put_untagged(p, SOFT_RDMAP_SEND, true, 0, 0, 1, 0, 0), 20);
	KTEST_MEMEQ(test, p, want, 20);
	vector_get(test, "D1", want);
	KTEST_EQ(test, soft_put_untagged(p, SOFT_RDMAP_SEND, false, 0, 0, 1, 0, 4), 20);
	KTEST_MEMEQ(test, p, want, 20);
	vector_get(test, "D3", want);
	KTEST_EQ(test, soft_put_untagged(p, SOFT_RDMAP_SEND, true, 0, 0, 1, 8, 4), 20);
	KTEST_MEMEQ(test, p, want, 20);
	vector_get(test, "R8", want);
	KTEST_EQ(test, soft_put_untagged(p, SOFT_RDMAP_SEND_SE_INV, true, 0xdeadbeef, 0, 1, 0, 4),
		 20);
	KTEST_MEMEQ(test, p, want, 20);
	vector_get(test, "D8", want);
	KTEST_EQ(test, soft_put_tagged(p, SOFT_RDMAP_WRITE, true, 0x11223344, 0x1000, 4), 16);
	KTEST_MEMEQ(test, p, want, 16);
	vector_get(test, "R3", want);
	KTEST_EQ(test, soft_put_tagged(p, SOFT_RDMAP_READ_RESP, true, 0, 0, 0), 16);
	KTEST_MEMEQ(test, p, want, 16);
	vector_get(test, "R1", want);
	KTEST_EQ(test, soft_put_read_req(p, 1, &rr), 48);
	KTEST_MEMEQ(test, p, want, 48);
}

static void encoders_give_the_vectors_of_rfc7306(struct ktest *test)
{
	static const struct soft_atomic_req add = {
		.op = SOFT_ATOMIC_FETCH_ADD, .id = 7, .stag = 0x1234, .to = 0x4000, .data = 1,
		.compare = 99,	/* has no meaning and is not sent */
	};
	static const struct soft_atomic_req swap = {
		.op = SOFT_ATOMIC_CMP_SWAP, .id = 8, .stag = 0x1234, .to = 0x4000, .data = 0x63,
		.mask = ~0ULL, .compare = 0x29, .compare_mask = ~0ULL,
	};
	static const struct soft_atomic_resp resp = { .id = 7, .value = 41 };
	u8 want[VECTOR_MAX], p[SOFT_HDR_MAX];

	vector_get(test, "X1", want);
	KTEST_EQ(test, soft_put_imm(p, 1, false, 0x0102030405060708ULL), 28);
	KTEST_MEMEQ(test, p, want, 28);
	vector_get(test, "X2", want);
	KTEST_EQ(test, soft_put_imm(p, 1, true, 0x0102030405060708ULL), 28);
	KTEST_MEMEQ(test, p, want, 28);
	vector_get(test, "X3", want);
	KTEST_EQ(test, soft_put_atomic_req(p, 1, &add), 72);
	KTEST_MEMEQ(test, p, want, 72);
	vector_get(test, "X5", want);
	KTEST_EQ(test, soft_put_atomic_req(p, 2, &swap), 72);
	KTEST_MEMEQ(test, p, want, 72);
	vector_get(test, "X6", want);
	KTEST_EQ(test, soft_put_atomic_resp(p, 1, &resp), 32);
	KTEST_MEMEQ(test, p, want, 32);
}

static void round_trips(struct ktest *test)
{
	static const u8 tagged_ops[] = { SOFT_RDMAP_WRITE, SOFT_RDMAP_READ_RESP };
	struct soft_term term;
	struct soft_seg seg;
	u8 p[SOFT_HDR_MAX];
	u32 rnd = 1, i, n;

	for (i = 0; i < 2000; i++) {
		const u32 stag = next_random(&rnd), mo = next_random(&rnd);
		const u64 to = (u64)next_random(&rnd) << 32 | next_random(&rnd);
		const u32 len = next_random(&rnd) % 65000;
		const bool last = next_random(&rnd) & 1;
		struct soft_read_req rr = {
			.sink_stag = stag, .sink_to = to, .length = mo,
			.src_stag = ~stag, .src_to = ~to,
		};
		u8 op = tagged_ops[i % 2];

		n = soft_put_tagged(p, op, last, stag, to, len);
		KTEST_EQ(test, soft_seg_decode(p, n, &seg, &term), 0);
		KTEST_TRUE(test, seg.tagged && seg.last == last && seg.opcode == op);
		KTEST_TRUE(test, seg.stag == stag && seg.to == to && seg.payload_len == len);

		op = SOFT_RDMAP_SEND + i % 4;
		n = soft_put_untagged(p, op, last, stag, SOFT_QN_SEND, ~mo, mo, len);
		KTEST_EQ(test, soft_seg_decode(p, n, &seg, &term), 0);
		KTEST_TRUE(test, !seg.tagged && seg.last == last && seg.opcode == op);
		KTEST_TRUE(test, seg.inv_stag == stag && seg.qn == SOFT_QN_SEND);
		KTEST_TRUE(test, seg.msn == ~mo && seg.mo == mo && seg.payload_len == len);

		n = soft_put_read_req(p, mo, &rr);
		KTEST_EQ(test, soft_seg_decode(p, n, &seg, &term), 0);
		KTEST_TRUE(test, seg.msn == mo && seg.mo == 0 && seg.last);
		KTEST_TRUE(test, seg.rr.sink_stag == stag && seg.rr.sink_to == to);
		KTEST_TRUE(test, seg.rr.src_stag == ~stag && seg.rr.src_to == ~to);
		KTEST_EQ(test, seg.rr.length, mo);
	}
}

/* Cases 76 to 85 of docs/conformance.md: state, segment, buffer; result */
static void untagged_checks(struct ktest *test)
{
	static const struct {
		const char *id;
		u32 msn, mo;
		bool buffer;
		u64 room;
		u16 term;
	} cases[] = {
		{ "F2", 1, 0, true, 64, VECTOR_ACCEPT },
		{ "F2", 1, 0, true, 4, VECTOR_ACCEPT },
		{ "F2", 1, 0, true, 3, 0x1205 },
		{ "F2", 2, 0, true, 64, 0x1203 },	/* the same MSN twice */
		{ "F2", 0, 0, true, 64, 0x1203 },
		{ "D4", 1, 0, true, 64, 0x1203 },	/* MSN 2 comes first */
		{ "D4", 1, 0, false, 64, 0x1203 },
		{ "F2", 1, 0, false, 0, 0x1202 },
		{ "F1", 1, 0, false, 0, 0x1202 },
		{ "F1", 1, 0, true, 0, VECTOR_ACCEPT },
		{ "D2", 1, 4, true, 8, VECTOR_ACCEPT },
		{ "D2", 1, 4, true, 7, 0x1205 },
		{ "D3", 1, 4, true, 64, 0x1204 },	/* gap */
		{ "D1", 1, 4, true, 64, 0x1204 },	/* begins again */
		{ "F1", 1, 4, true, 64, 0x1204 },
		{ "R1", 1, 0, true, 0, VECTOR_ACCEPT },
		{ "R1", 1, 0, false, 0, 0x1202 },	/* IRD exhausted */
		{ "R1", 2, 0, true, 0, 0x1203 },
		{ "T2", 1, 0, true, SOFT_TERM_MAX, VECTOR_ACCEPT },
		{ "T2", 2, 0, true, SOFT_TERM_MAX, 0x1203 },
		{ "X1", 1, 0, true, 0, VECTOR_ACCEPT },
		{ "X1", 1, 0, false, 0, 0x1202 },	/* no receive */
		{ "X1", 2, 0, true, 0, 0x1203 },
		{ "X1", 1, 4, true, 64, 0x1204 },	/* inside a Send */
		{ "X3", 1, 0, true, 0, VECTOR_ACCEPT },
		{ "X3", 1, 0, false, 0, 0x1202 },	/* IRD exhausted */
		{ "X5", 1, 0, true, 0, 0x1203 },
		{ "X6", 1, 0, true, 0, VECTOR_ACCEPT },
		{ "X6", 1, 0, false, 0, 0x1202 },	/* not asked for */
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct soft_untagged_state st = { cases[i].msn, cases[i].mo };
		u8 fpdu[VECTOR_MAX];
		struct soft_term term;
		struct soft_seg seg;
		int ret;

		vector_get(test, cases[i].id, fpdu);
		decode_vector(test, cases[i].id, &seg);
		ret = soft_untagged_check(&st, &seg, cases[i].buffer, cases[i].room, &term);
		if (cases[i].term == VECTOR_ACCEPT) {
			KTEST_EQ_MSG(test, ret, 0, "case %zu, %s", i, cases[i].id);
			continue;
		}
		KTEST_EQ_MSG(test, ret, -EPROTO, "case %zu, %s", i, cases[i].id);
		KTEST_EQ_MSG(test, term_octets(&term), cases[i].term, "case %zu, %s", i,
			     cases[i].id);
		KTEST_TRUE_MSG(test, term.has_ddp && term.has_len && !term.has_rdmap,
			       "case %zu, %s", i, cases[i].id);
		KTEST_EQ(test, term.seg_len, fpdu[0] << 8 | fpdu[1]);
		KTEST_EQ(test, term.hdr_len, SOFT_UNTAGGED_HDR);
		KTEST_MEMEQ_MSG(test, term.hdr, fpdu + 2, SOFT_UNTAGGED_HDR, "case %zu, %s", i,
				cases[i].id);
	}
}

/* The Terminate has the header as it came, including reserved bits and the reserved ULP field */
static void refused_header_is_a_copy(struct ktest *test)
{
	const struct soft_untagged_state st = { 9, 0 };
	struct soft_term term;
	struct soft_seg seg;
	u8 fpdu[VECTOR_MAX];
	u32 n;

	n = vector_get(test, "D7", fpdu);
	fpdu[3] |= 0x30;
	memset(fpdu + 4, 0xee, 4);
	KTEST_EQ(test, decode(test, fpdu, n, &seg, &term), 0);
	KTEST_EQ(test, soft_untagged_check(&st, &seg, true, 64, &term), -EPROTO);
	KTEST_MEMEQ(test, term.hdr, fpdu + 2, SOFT_UNTAGGED_HDR);
}

/* No 32-bit offset may pass the end of a buffer by wrapping */
static void message_length_does_not_wrap(struct ktest *test)
{
	const struct soft_untagged_state st = { 1, 0xfffffffe };
	struct soft_term term;
	struct soft_seg seg;
	u8 p[SOFT_HDR_MAX];
	const u32 n = soft_put_untagged(p, SOFT_RDMAP_SEND, true, 0, 0, 1, 0xfffffffe, 4);

	KTEST_EQ(test, soft_seg_decode(p, n, &seg, &term), 0);
	KTEST_EQ(test, soft_untagged_check(&st, &seg, true, 64, &term), -EPROTO);
	KTEST_EQ(test, term_octets(&term), 0x1205);
}

static void sequence_advances(struct ktest *test)
{
	struct soft_untagged_state st = { 0xffffffff, 0 };
	struct soft_term term;
	struct soft_seg seg;
	u8 p[SOFT_HDR_MAX];
	u32 n;

	n = soft_put_untagged(p, SOFT_RDMAP_SEND, false, 0, 0, 0xffffffff, 0, 100);
	KTEST_EQ(test, soft_seg_decode(p, n, &seg, &term), 0);
	KTEST_EQ(test, soft_untagged_check(&st, &seg, true, 164, &term), 0);
	soft_untagged_advance(&st, &seg);
	KTEST_EQ(test, st.msn, 0xffffffff);
	KTEST_EQ(test, st.mo, 100);

	n = soft_put_untagged(p, SOFT_RDMAP_SEND, true, 0, 0, 0xffffffff, 100, 64);
	KTEST_EQ(test, soft_seg_decode(p, n, &seg, &term), 0);
	KTEST_EQ(test, soft_untagged_check(&st, &seg, true, 164, &term), 0);
	soft_untagged_advance(&st, &seg);
	KTEST_EQ(test, st.msn, 0);	/* modulo 2^32 */
	KTEST_EQ(test, st.mo, 0);

	n = soft_put_untagged(p, SOFT_RDMAP_SEND_SE, true, 0, 0, 0, 0, 1);
	KTEST_EQ(test, soft_seg_decode(p, n, &seg, &term), 0);
	KTEST_EQ(test, soft_untagged_check(&st, &seg, true, 1, &term), 0);

	/* but no message is longer than MO can express, whatever the buffer */
	st = (struct soft_untagged_state){ 1, 0xffffffc0 };
	n = soft_put_untagged(p, SOFT_RDMAP_SEND, false, 0, 0, 1, 0xffffffc0, 0x3f);
	KTEST_EQ(test, soft_seg_decode(p, n, &seg, &term), 0);
	KTEST_EQ(test, soft_untagged_check(&st, &seg, true, 1ULL << 33, &term), 0);
	n = soft_put_untagged(p, SOFT_RDMAP_SEND, false, 0, 0, 1, 0xffffffc0, 0x40);
	KTEST_EQ(test, soft_seg_decode(p, n, &seg, &term), 0);
	KTEST_EQ(test, soft_untagged_check(&st, &seg, true, 1ULL << 33, &term), -EPROTO);
}

/* Headers of segments in a row: each follows the one before; no other segment does */
static void segments_in_a_row(struct ktest *test)
{
	enum { COUNT = 5, LEN = 100, STRIDE = 128 };
	u8 row[COUNT * STRIDE] = {}, copy[SOFT_HDR_MAX];
	struct soft_term term;
	struct soft_seg seg, next;
	u32 tagged, hdr, i;

	for (tagged = 0; tagged < 2; tagged++) {
		hdr = tagged ? soft_put_tagged(row, SOFT_RDMAP_WRITE, false, 77,
					       0xffffff00ULL, LEN) :
			       soft_put_untagged(row, SOFT_RDMAP_SEND_SE, false, 0, 0, 3, 400,
						 LEN);
		soft_put_more(row, hdr, LEN, STRIDE, COUNT);
		KTEST_EQ(test, soft_seg_decode(row, STRIDE, &seg, &term), 0);
		for (i = 1; i < COUNT; i++) {
			KTEST_EQ(test, soft_seg_decode(row + i * STRIDE, STRIDE, &next, &term), 0);
			KTEST_EQ(test, next.payload_len, LEN);
			KTEST_EQ(test, next.to, tagged ? 0xffffff00ULL + i * LEN : 0);
			KTEST_EQ(test, next.mo, tagged ? 0 : 400 + i * LEN);
			KTEST_TRUE(test, soft_seg_follows(&seg, row, row + i * STRIDE));
			KTEST_TRUE(test, !soft_seg_follows(&seg, row, row));
			seg.payload_len += LEN;
		}
		seg.payload_len = LEN;
		for (i = 0; i < 8 * hdr; i++) {
			memcpy(copy, row + STRIDE, hdr);
			copy[i / 8] ^= 1 << i % 8;
			KTEST_TRUE_MSG(test, !soft_seg_follows(&seg, row, copy), "bit %u", i);
		}
	}
}

/* Headers of whole messages: a Write is like any Write to any place, a Send is the next one */
static void messages_in_a_row(struct ktest *test)
{
	u8 first[SOFT_HDR_MAX], next[SOFT_HDR_MAX], copy[SOFT_HDR_MAX];
	struct soft_term term;
	struct soft_seg seg;
	u32 hdr, i;
	u64 to = 0;

	hdr = soft_put_tagged(first, SOFT_RDMAP_WRITE, true, 77, 0x100000000ULL, 8);
	soft_put_tagged(next, SOFT_RDMAP_WRITE, true, 77, 0xfedcba9876543210ULL, 8);
	KTEST_TRUE(test, soft_seg_same(first, next, &to));
	KTEST_EQ(test, to, 0xfedcba9876543210ULL);
	soft_put_tagged_again(copy, first, 77, to);
	KTEST_EQ(test, memcmp(copy, next, hdr), 0);
	for (i = 0; i < 8 * (hdr - sizeof(to)); i++) {
		memcpy(copy, next, hdr);
		copy[i / 8] ^= 1 << i % 8;
		KTEST_TRUE_MSG(test, !soft_seg_same(first, copy, &to), "bit %u", i);
	}

	/* and the state advances to it */
	KTEST_EQ(test, soft_seg_decode(first, sizeof(first), &seg, &term), 0);
	KTEST_TRUE(test, soft_seg_again(first, next, &seg));
	KTEST_EQ(test, seg.to, 0xfedcba9876543210ULL);
	KTEST_EQ(test, memcmp(first, next, hdr), 0);

	hdr = soft_put_untagged(first, SOFT_RDMAP_SEND_SE, true, 5, 0, 0xffffffff, 0, 8);
	soft_put_untagged(next, SOFT_RDMAP_SEND_SE, true, 5, 0, 0, 0, 8);
	KTEST_EQ(test, soft_seg_decode(first, sizeof(first), &seg, &term), 0);
	KTEST_TRUE(test, !soft_seg_again(first, first, &seg));
	for (i = 0; i < 8 * hdr; i++) {
		memcpy(copy, next, hdr);
		copy[i / 8] ^= 1 << i % 8;
		KTEST_TRUE_MSG(test, !soft_seg_again(first, copy, &seg), "bit %u", i);
	}
	KTEST_TRUE(test, soft_sends_follow(&seg, first, next, 0));
	for (i = 0; i < 8 * hdr; i++) {
		memcpy(copy, next, hdr);
		copy[i / 8] ^= 1 << i % 8;
		KTEST_TRUE_MSG(test, !soft_sends_follow(&seg, first, copy, 0), "bit %u", i);
	}
	soft_put_untagged_again(copy, first, 0);
	KTEST_EQ(test, memcmp(copy, next, hdr), 0);
	KTEST_TRUE(test, soft_seg_again(first, next, &seg));
	KTEST_EQ(test, seg.msn, 0);
	KTEST_EQ(test, memcmp(first, next, hdr), 0);
}

/* Read Requests in a row: each asks for its own data */
static void requests_in_a_row(struct ktest *test)
{
	const struct soft_read_req a = { 1, 2, 3, 4, 5 }, b = { 6, 7, 8, 9, 10 };
	u8 first[SOFT_HDR_MAX], next[SOFT_HDR_MAX];
	struct soft_term term;
	struct soft_seg seg;
	u32 n;

	soft_put_read_req(first, 9, &a);
	n = soft_put_read_req(next, 10, &b);
	KTEST_EQ(test, soft_seg_decode(first, n, &seg, &term), 0);
	KTEST_TRUE(test, soft_seg_again(first, next, &seg));
	KTEST_EQ(test, memcmp(first, next, n), 0);
	KTEST_EQ(test, seg.msn, 10);
	KTEST_EQ(test, seg.rr.sink_stag, b.sink_stag);
	KTEST_EQ(test, seg.rr.sink_to, b.sink_to);
	KTEST_EQ(test, seg.rr.length, b.length);
	KTEST_EQ(test, seg.rr.src_stag, b.src_stag);
	KTEST_EQ(test, seg.rr.src_to, b.src_to);
}

static struct ktest_case cases[] = {
	KTEST_CASE(vectors_accepted_or_refused),
	KTEST_CASE(refusal_carries_header),
	KTEST_CASE(fields_of_a_write),
	KTEST_CASE(fields_of_a_send),
	KTEST_CASE(fields_of_a_read_request),
	KTEST_CASE(fields_of_atomic_messages),
	KTEST_CASE(fields_of_immediate_data),
	KTEST_CASE(atomic_operation_codes),
	KTEST_CASE(terminate_is_payload),
	KTEST_CASE(reserved_fields_ignored),
	KTEST_CASE(zero_length_segments),
	KTEST_CASE(to_wrap),
	KTEST_CASE(partial_headers),
	KTEST_CASE(every_control_octet),
	KTEST_CASE(encoders_give_the_vectors),
	KTEST_CASE(encoders_give_the_vectors_of_rfc7306),
	KTEST_CASE(round_trips),
	KTEST_CASE(untagged_checks),
	KTEST_CASE(refused_header_is_a_copy),
	KTEST_CASE(message_length_does_not_wrap),
	KTEST_CASE(sequence_advances),
	KTEST_CASE(segments_in_a_row),
	KTEST_CASE(messages_in_a_row),
	KTEST_CASE(requests_in_a_row),
	{}
};

KTEST_SUITE(soft_ddp, cases);
