// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Pseudo-random bytes for the decoders. Whatever a peer sends, the decoders must not read
 * beyond the bytes, and their results must be consistent. The memory has the exact size, so
 * that KASAN and AddressSanitizer find a wrong access.
 */
#include <linux/array_size.h>
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/types.h>

#include "../../kvp_soft/wire/ddp.h"
#include "ktest.h"
#include "vectors.h"

#define ROUNDS	20000

static void fill(u8 *p, u32 n, u32 *rnd)
{
	while (n--)
		*p++ = next_random(rnd) >> 24;
}

/* Every refusal must be a Terminate that the peer can read */
static void check_refusal(struct ktest *test, const struct soft_term *term)
{
	u8 p[SOFT_TERM_ULPDU_MAX];
	struct soft_term again, scratch;
	struct soft_seg seg;
	const u32 n = soft_put_terminate(p, term);

	KTEST_TRUE(test, n <= sizeof(p));
	KTEST_EQ(test, soft_seg_decode(p, n, &seg, &scratch), 0);
	KTEST_EQ(test, seg.opcode, SOFT_RDMAP_TERMINATE);
	KTEST_EQ(test, soft_term_decode(p + 20, seg.payload_len, &again), 0);
	KTEST_TRUE(test, again.layer == term->layer && again.etype == term->etype &&
		   again.code == term->code);
	KTEST_TRUE(test, again.has_ddp == term->has_ddp && again.has_len == term->has_len &&
		   again.has_rdmap == term->has_rdmap);
	KTEST_EQ(test, again.seg_len, term->seg_len);
	KTEST_EQ(test, again.hdr_len, term->hdr_len);
	KTEST_MEMEQ(test, again.hdr, term->hdr, term->hdr_len);
	KTEST_TRUE(test, strcmp(soft_term_name(term), "unknown error") != 0);
}

static void check_accepted(struct ktest *test, const struct soft_seg *seg, const u8 *p)
{
	struct soft_untagged_state st = { seg->msn, seg->mo };
	struct soft_term term;
	int why;

	KTEST_EQ(test, seg->hdr_len + seg->payload_len, seg->ulpdu_len);
	KTEST_TRUE(test, seg->dv == 1 && seg->rv == 1);
	KTEST_TRUE(test, soft_op(seg->opcode));
	for (why = SOFT_ACCESS_STAG; why < SOFT_ACCESS_NR; why++) {
		soft_term_access(seg, p, why, &term);
		check_refusal(test, &term);
	}
	if (seg->tagged)
		return;
	KTEST_EQ(test, soft_untagged_check(&st, seg, true, ~0ULL, &term), 0);
	st.msn++;
	KTEST_EQ(test, soft_untagged_check(&st, seg, true, ~0ULL, &term), -EPROTO);
	check_refusal(test, &term);
}

static void random_segments(struct ktest *test)
{
	u8 *p[SOFT_HDR_MAX + 1];
	u32 rnd = 0x6b726d61, seen[2] = {}, i, n;

	for (n = 0; n < ARRAY_SIZE(p); n++)
		p[n] = ktest_alloc(test, n);
	for (i = 0; i < ROUNDS; i++) {
		struct soft_term term;
		struct soft_seg seg;
		u32 need;
		int ret;

		n = next_random(&rnd) % ARRAY_SIZE(p);
		fill(p[n], n, &rnd);
		/* make a plausible header, which random bytes almost never have */
		if (n > 2 && i % 4)
			p[n][0] = i % 8 ? 0 : p[n][0] & 1;
		if (n > 3 && i % 2) {
			p[n][2] = (p[n][2] & ~3) | 1;
			p[n][3] = (p[n][3] & (i % 4 == 1 ? 0x07 : 0x0b)) | 0x40;
		}
		if (n > 12 && i % 3)
			memset(p[n] + 8, 0, 3);
		if (n > 12)
			p[n][11] &= 3;

		need = soft_seg_need(p[n], n);
		KTEST_TRUE(test, need >= 2 && need <= SOFT_HDR_MAX);
		ret = soft_seg_decode(p[n], n, &seg, &term);
		KTEST_EQ(test, ret == -EAGAIN, n < need);
		if (ret == -EAGAIN)
			continue;
		seen[!ret]++;
		if (ret)
			check_refusal(test, &term);
		else
			check_accepted(test, &seg, p[n]);
	}
	/* both results did occur */
	KTEST_TRUE(test, seen[0] > ROUNDS / 20);
	KTEST_TRUE(test, seen[1] > ROUNDS / 20);
}

static void random_terminates(struct ktest *test)
{
	u8 *p[SOFT_TERM_MAX + 8];
	u32 rnd = 0x7465726d, i, n;

	for (n = 0; n < ARRAY_SIZE(p); n++)
		p[n] = ktest_alloc(test, n);
	for (i = 0; i < ROUNDS; i++) {
		u8 out[SOFT_TERM_ULPDU_MAX];
		struct soft_term term;
		bool reversed;
		int ret;

		n = next_random(&rnd) % ARRAY_SIZE(p);
		fill(p[n], n, &rnd);
		ret = soft_term_decode(p[n], n, &term);
		KTEST_EQ(test, ret, n < SOFT_TERM_CTRL ? -EPROTO : 0);
		KTEST_TRUE(test, soft_term_name(&term));
		if (ret)
			continue;
		KTEST_TRUE(test, term.hdr_len <= n && term.hdr_len <= SOFT_TERM_HDR_MAX);
		/* as siw has it, see terminates_of_other_stacks() */
		reversed = !(p[n][2] & 0xe0) && p[n][2] & 0x07;
		KTEST_EQ(test, reversed ? term.etype << 4 | term.layer :
					  term.layer << 4 | term.etype, p[n][0]);
		KTEST_EQ(test, term.code, p[n][1]);
		KTEST_TRUE(test, !term.has_rdmap || term.has_ddp);
		KTEST_TRUE(test, soft_put_terminate(out, &term) <= sizeof(out));
	}
}

static struct ktest_case cases[] = {
	KTEST_CASE(random_segments),
	KTEST_CASE(random_terminates),
	{}
};

KTEST_SUITE(soft_codec_random, cases);
