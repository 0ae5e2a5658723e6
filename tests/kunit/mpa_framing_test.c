// SPDX-License-Identifier: GPL-2.0 OR MIT
/* MPA framing: lengths, pad, largest ULPDU, CRC (RFC 5044, section 4). */
#include <linux/array_size.h>
#include <linux/string.h>
#include <linux/types.h>

#include "../../kvp_soft/wire/mpa_framing.h"
#include "ktest.h"
#include "vectors.h"

static u32 crc_of(const void *p, size_t n)
{
	return soft_crc_add(soft_crc_begin(), p, n);
}

static void pad_and_length(struct ktest *test)
{
	static const struct { u32 ulpdu, pad, fpdu; } cases[] = {
		{ 0, 2, 8 }, { 1, 1, 8 }, { 2, 0, 8 }, { 3, 3, 12 },
		{ 14, 0, 20 }, { 18, 0, 24 }, { 19, 3, 28 }, { 20, 2, 28 },
		{ 21, 1, 28 }, { 22, 0, 28 }, { 46, 0, 52 }, { 70, 0, 76 },
		{ 65534, 0, 65540 }, { 65535, 3, 65544 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		KTEST_EQ_MSG(test, soft_mpa_pad(cases[i].ulpdu), cases[i].pad,
			     "ULPDU %u", cases[i].ulpdu);
		KTEST_EQ_MSG(test, soft_fpdu_len(cases[i].ulpdu), cases[i].fpdu,
			     "ULPDU %u", cases[i].ulpdu);
	}
}

static void mulpdu_of_rfc(struct ktest *test)
{
	static const struct { u32 emss, mulpdu; } cases[] = {
		{ 0, 128 }, { 5, 128 }, { 128, 128 }, { 133, 128 }, { 137, 130 },
		{ 536, 530 }, { 1447, 1438 }, { 1448, 1442 }, { 1460, 1454 },
		{ 8948, 8942 }, { 65535, 65526 }, { 65540, 65534 }, { 65544, 65534 },
		{ 0xffffffff, 65534 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		KTEST_EQ_MSG(test, soft_mulpdu(cases[i].emss), cases[i].mulpdu,
			     "EMSS %u", cases[i].emss);
}

/* A full FPDU fits into the segment. With four more bytes it would not fit. */
static void mulpdu_fills_segment(struct ktest *test)
{
	u32 emss;

	for (emss = 137; emss <= 65543; emss++) {
		const u32 u = soft_mulpdu(emss);

		KTEST_TRUE_MSG(test, soft_fpdu_len(u) <= emss, "EMSS %u", emss);
		KTEST_TRUE_MSG(test, soft_fpdu_len(u + 4) > emss, "EMSS %u", emss);
		KTEST_TRUE_MSG(test, u <= SOFT_ULPDU_MAX, "EMSS %u", emss);
		KTEST_EQ_MSG(test, soft_mpa_pad(u), 0, "EMSS %u", emss);
	}
}

static void crc_known_strings(struct ktest *test)
{
	u8 block[32], wire[SOFT_MPA_CRC];
	u32 i;

	soft_crc_end(crc_of("123456789", 9), wire);
	KTEST_MEMEQ(test, wire, "\x83\x92\x06\xe3", 4);
	memset(block, 0, sizeof(block));
	soft_crc_end(crc_of(block, sizeof(block)), wire);
	KTEST_MEMEQ(test, wire, "\xaa\x36\x91\x8a", 4);
	memset(block, 0xff, sizeof(block));
	soft_crc_end(crc_of(block, sizeof(block)), wire);
	KTEST_MEMEQ(test, wire, "\x43\xab\xa8\x62", 4);
	for (i = 0; i < sizeof(block); i++)
		block[i] = i;
	soft_crc_end(crc_of(block, sizeof(block)), wire);
	KTEST_MEMEQ(test, wire, "\x4e\x79\xdd\x46", 4);
}

/* RFC 5044 figures 5 and 6: both carry a marker, which the CRC covers */
static void crc_rfc_frames(struct ktest *test)
{
	static const u8 head1[] = {
		0x00, 0x00, 0x00, 0x00, 0x00, 0x2a, 0x41, 0x43, 0, 0, 0, 0,
		0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0,
	};
	static const u8 head2[] = {
		0x00, 0x2a, 0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2,
		0, 0, 0, 0, 0x00, 0x00, 0x00, 0x14,
	};
	static const u8 payload[24];
	u8 wire[SOFT_MPA_CRC];
	u32 crc;

	crc = soft_crc_add(crc_of(head1, sizeof(head1)), payload, sizeof(payload));
	soft_crc_end(crc, wire);
	KTEST_MEMEQ(test, wire, "\x52\x23\x99\x83", 4);

	crc = soft_crc_add(crc_of(head2, sizeof(head2)), payload, sizeof(payload));
	soft_crc_end(crc, wire);
	KTEST_MEMEQ(test, wire, "\x84\x92\x58\x98", 4);

	/* figure 5 without its marker */
	crc = soft_crc_add(crc_of(head1 + 4, sizeof(head1) - 4), payload, sizeof(payload));
	soft_crc_end(crc, wire);
	KTEST_MEMEQ(test, wire, "\xb7\x24\x3e\xc3", 4);
}

static void crc_of_vectors(struct ktest *test)
{
	const struct vector *v;
	u8 fpdu[VECTOR_MAX];
	u32 i, n, split;

	for (i = 0; (v = vector_at(i)); i++) {
		n = hex_octets(v->hex, fpdu, sizeof(fpdu));
		KTEST_EQ_MSG(test, n, soft_fpdu_len(fpdu[0] << 8 | fpdu[1]), "%s", v->id);
		n -= SOFT_MPA_CRC;
		for (split = 0; split <= n; split++) {
			u32 crc = soft_crc_add(crc_of(fpdu, split), fpdu + split, n - split);

			KTEST_EQ_MSG(test, soft_crc_ok(crc, fpdu + n), strcmp(v->id, "F6") != 0,
				     "%s split at %u", v->id, split);
		}
	}
	KTEST_EQ(test, i, 50);
}

static void crc_sees_every_flipped_bit(struct ktest *test)
{
	u8 fpdu[VECTOR_MAX];
	const u32 n = vector_get(test, "R1", fpdu) - SOFT_MPA_CRC;
	u32 bit;

	for (bit = 0; bit < (n + SOFT_MPA_CRC) * 8; bit++) {
		fpdu[bit / 8] ^= 1 << bit % 8;
		KTEST_FALSE_MSG(test, soft_crc_ok(crc_of(fpdu, n), fpdu + n), "bit %u", bit);
		fpdu[bit / 8] ^= 1 << bit % 8;
	}
	KTEST_TRUE(test, soft_crc_ok(crc_of(fpdu, n), fpdu + n));
}

static struct ktest_case cases[] = {
	KTEST_CASE(pad_and_length),
	KTEST_CASE(mulpdu_of_rfc),
	KTEST_CASE(mulpdu_fills_segment),
	KTEST_CASE(crc_known_strings),
	KTEST_CASE(crc_rfc_frames),
	KTEST_CASE(crc_of_vectors),
	KTEST_CASE(crc_sees_every_flipped_bit),
	{}
};

KTEST_SUITE(soft_mpa_framing, cases);
