// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * MPA framing: the CRC of an FPDU (RFC 5044, section 4). Pure functions; the transmitter and
 * the receiver of the software RNIC call them.
 */
#include <linux/unaligned.h>

#include <krdma/crc32c.h>

#include "mpa_framing.h"

/**
 * soft_crc_begin - begin the CRC of an FPDU
 *
 * Return: the state for soft_crc_add().
 */
u32 soft_crc_begin(void)
{
	return ~0U;
}

/**
 * soft_crc_add - add bytes of the FPDU to the CRC
 * @crc: state so far
 * @p: bytes; all calls together cover ULPDU_Length through the last pad byte
 * @n: number of bytes at @p
 *
 * Return: the new state.
 */
u32 soft_crc_add(u32 crc, const void *p, size_t n)
{
	return ri_crc32c(crc, p, n);
}

/**
 * soft_crc_end - write the four CRC bytes of the FPDU
 * @crc: state after the last pad byte
 * @out: filled in wire order: least significant byte first, unlike all other fields (RFC 5044
 *	figures 5 and 6)
 */
void soft_crc_end(u32 crc, u8 out[SOFT_MPA_CRC])
{
	put_unaligned_le32(~crc, out);
}

/**
 * soft_crc_ok - does the received CRC match?
 * @crc: state after the last pad byte
 * @wire: the four bytes received
 */
bool soft_crc_ok(u32 crc, const u8 wire[SOFT_MPA_CRC])
{
	return get_unaligned_le32(wire) == ~crc;
}
