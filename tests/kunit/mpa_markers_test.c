// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * MPA markers (RFC 5044 4.2, 4.3): positions, pointers, and that inserted markers can be
 * removed again.
 */
#include <linux/array_size.h>
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#include "../../kvp_soft/wire/mpa_framing.h"
#include "../../kvp_soft/wire/mpa_markers.h"
#include "ktest.h"
#include "vectors.h"

#define ROOM	4096

static u8 fpdu[ROOM];
static u8 plain[ROOM];

/* an FPDU of that ULPDU length, the CRC field still zero */
static u32 fill(u32 ulpdu_len)
{
	u32 i, len = soft_fpdu_len(ulpdu_len);

	for (i = 0; i < len; i++)
		fpdu[i] = 0x80 | i % 127;
	put_unaligned_be16(ulpdu_len, fpdu);
	memcpy(plain, fpdu, sizeof(plain));
	return len;
}

static void check_marker(struct ktest *test, u32 at, u16 pointer)
{
	KTEST_EQ_MSG(test, get_unaligned_be16(fpdu + at), 0, "reserved at %u", at);
	KTEST_EQ_MSG(test, get_unaligned_be16(fpdu + at + 2), pointer, "FPDUPTR at %u", at);
}

/* four FPDUs in a row, with positions and pointers that were computed by hand */
static void four_in_a_row(struct ktest *test)
{
	u32 len;

	len = fill(450);
	KTEST_EQ(test, soft_marked_len(0, len), 460);
	KTEST_EQ(test, soft_markers_insert(fpdu, 0, len), 460);
	check_marker(test, 0, 0);
	KTEST_EQ(test, get_unaligned_be16(fpdu + 4), 450);

	len = fill(1000);
	KTEST_EQ(test, soft_markers_insert(fpdu, 460, len), 1016);
	check_marker(test, 512 - 460, 0x34);
	check_marker(test, 1024 - 460, 0x234);

	len = fill(22);
	KTEST_EQ(test, soft_markers_insert(fpdu, 1476, len), 28);
	KTEST_MEMEQ(test, fpdu, plain, 28);

	len = fill(452);
	KTEST_EQ(test, soft_markers_insert(fpdu, 1504, len), 464);
	check_marker(test, 32, 0x20);
}

/* the FPDUs of RFC 5044 figures 5 and 6, with the printed CRCs */
static void rfc_figures(struct ktest *test)
{
	static const struct {
		u64 pos;
		u8 msn;
		const char *crc;
	} figures[] = { { 0, 1, "\x52\x23\x99\x83" }, { 0x1ec, 2, "\x84\x92\x58\x98" } };
	u8 crc[SOFT_MPA_CRC];
	u32 i, n;

	for (i = 0; i < ARRAY_SIZE(figures); i++) {
		memset(fpdu, 0, sizeof(fpdu));
		put_unaligned_be16(42, fpdu);
		fpdu[2] = 0x41;
		fpdu[3] = 0x43;
		fpdu[15] = figures[i].msn;
		n = soft_markers_insert(fpdu, figures[i].pos, soft_fpdu_len(42));
		KTEST_EQ(test, n, 52);
		soft_crc_end(soft_crc_add(soft_crc_begin(), fpdu, n - SOFT_MPA_CRC), crc);
		KTEST_MEMEQ(test, crc, figures[i].crc, SOFT_MPA_CRC);
	}
}

/* a marker at the end of an FPDU belongs to the next one, a marker before the CRC does not */
static void at_the_edges(struct ktest *test)
{
	u32 len = fill(502);	/* 508 bytes */

	KTEST_EQ(test, soft_markers_insert(fpdu, 4, len), 508);
	KTEST_MEMEQ(test, fpdu, plain, 508);
	KTEST_EQ(test, soft_markers_insert(fpdu, 512, len), 512);
	check_marker(test, 0, 0);
	KTEST_MEMEQ(test, fpdu + 4, plain, 508);

	len = fill(506);	/* 512 bytes, the CRC from 508 on */
	KTEST_EQ(test, soft_markers_insert(fpdu, 4, len), 516);
	check_marker(test, 508, 508);
	KTEST_MEMEQ(test, fpdu + 512, plain + 508, SOFT_MPA_CRC);
}

/* every length at every place, also where the position wraps 32 bits */
static void in_and_out_again(struct ktest *test)
{
	static const u64 bases[] = { 0, 1024, 0xfffffe00, 0xffffffff00000000ULL };
	u32 b, off, ulpdu, len, n;

	for (b = 0; b < ARRAY_SIZE(bases); b++) {
		for (off = 0; off < 512; off += 4) {
			for (ulpdu = 1; ulpdu < 2100; ulpdu += 61) {
				len = fill(ulpdu);
				n = soft_markers_insert(fpdu, bases[b] + off, len);
				KTEST_EQ_MSG(test, n, soft_marked_len(bases[b] + off, len),
					     "length at %u", off);
				KTEST_EQ_MSG(test, soft_markers_remove(fpdu, bases[b] + off, n),
					     (int)len, "removal at %u of %u", off, ulpdu);
				KTEST_TRUE_MSG(test, !memcmp(fpdu, plain, len),
					       "octets at %u of %u", off, ulpdu);
			}
		}
	}
}

static void wrong_pointers(struct ktest *test)
{
	u32 n = soft_markers_insert(fpdu, 460, fill(1000));

	/* reserved bits and the low two bits of the pointer are ignored */
	put_unaligned_be16(0xffff, fpdu + 52);
	put_unaligned_be16(0x34 | 3, fpdu + 54);
	memcpy(plain, fpdu, sizeof(plain));
	KTEST_EQ(test, soft_markers_remove(fpdu, 460, n), 1008);

	memcpy(fpdu, plain, sizeof(fpdu));
	put_unaligned_be16(0x34 + 4, fpdu + 54);
	KTEST_EQ(test, soft_markers_remove(fpdu, 460, n), -EPROTO);
	memcpy(fpdu, plain, sizeof(fpdu));
	put_unaligned_be16(0, fpdu + 564 + 2);
	KTEST_EQ(test, soft_markers_remove(fpdu, 460, n), -EPROTO);
}

/* RFC 5044 4.5: at every position, an FPDU with markers fits into the segment */
static void mulpdu_fits(struct ktest *test)
{
	u32 emss, off, len;

	KTEST_EQ(test, soft_marked_mulpdu(1460), 1460 - (6 + 12));
	KTEST_EQ(test, soft_marked_mulpdu(8960), 8960 - (6 + 72));
	for (emss = 256; emss < 9100; emss += 7) {
		len = soft_fpdu_len(soft_marked_mulpdu(emss));
		for (off = 0; off < 512; off += 4)
			KTEST_TRUE_MSG(test, soft_marked_len(off, len) <= emss,
				       "EMSS %u at %u", emss, off);
	}
}

static struct ktest_case cases[] = {
	KTEST_CASE(four_in_a_row),
	KTEST_CASE(rfc_figures),
	KTEST_CASE(at_the_edges),
	KTEST_CASE(in_and_out_again),
	KTEST_CASE(wrong_pointers),
	KTEST_CASE(mulpdu_fits),
	{}
};

KTEST_SUITE(soft_mpa_markers, cases);
