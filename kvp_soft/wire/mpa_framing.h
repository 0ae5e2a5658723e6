/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * MPA framing (RFC 5044, section 4) without markers (see mpa_markers.h): the length of an FPDU,
 * the largest DDP segment that fits into one, and the CRC32c. Pure functions; the transmitter
 * and the receiver of the software RNIC and their tests call them.
 *
 *   0        2                2+U      2+U+pad
 *   +--------+----------------+--------+---------+
 *   | U (16) | ULPDU, U bytes| 0..3   | CRC (4) |
 *   +--------+----------------+--------+---------+
 */
#ifndef SOFT_MPA_FRAMING_H
#define SOFT_MPA_FRAMING_H

#include <linux/minmax.h>
#include <linux/types.h>

#define SOFT_MPA_HDR		2	/* ULPDU_Length */
#define SOFT_MPA_CRC		4
#define SOFT_MPA_PAD_MAX	3
#define SOFT_ULPDU_MAX		0xffff
#define SOFT_MULPDU_MIN		128	/* RFC 5044 4.5: no sender uses less */

/**
 * soft_mpa_pad - number of pad bytes behind a ULPDU (RFC 5044 4.1)
 * @ulpdu_len: bytes of the ULPDU
 */
static inline u32 soft_mpa_pad(u32 ulpdu_len)
{
	return -(SOFT_MPA_HDR + ulpdu_len) & 3;
}

/**
 * soft_fpdu_len - bytes of a whole FPDU, from ULPDU_Length through the CRC
 * @ulpdu_len: bytes of the ULPDU
 */
static inline u32 soft_fpdu_len(u32 ulpdu_len)
{
	return SOFT_MPA_HDR + ulpdu_len + soft_mpa_pad(ulpdu_len) + SOFT_MPA_CRC;
}

/**
 * soft_mulpdu - largest ULPDU that keeps an FPDU within one TCP segment
 * @emss: effective maximum segment size of the connection, in bytes
 *
 * RFC 5044 4.5, without markers: EMSS - (6 + EMSS mod 4), but never below 128. The upper limit is
 * the largest ULPDU that fits the 16-bit length field and needs no pad.
 *
 * Return: bytes of a full ULPDU, header included.
 */
static inline u32 soft_mulpdu(u32 emss)
{
	const u32 overhead = SOFT_MPA_HDR + SOFT_MPA_CRC + emss % 4;

	if (emss < SOFT_MULPDU_MIN + overhead)
		return SOFT_MULPDU_MIN;
	return min_t(u32, emss - overhead, SOFT_ULPDU_MAX - 1);
}

u32 soft_crc_begin(void);
u32 soft_crc_add(u32 crc, const void *p, size_t n);
void soft_crc_end(u32 crc, u8 out[SOFT_MPA_CRC]);
bool soft_crc_ok(u32 crc, const u8 wire[SOFT_MPA_CRC]);

#endif /* SOFT_MPA_FRAMING_H */
