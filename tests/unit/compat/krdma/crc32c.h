/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* User-space stand-in for the header of the kAL: CRC32c, a bit at a time. For tests/unit only. */
#ifndef COMPAT_KRDMA_CRC32C_H
#define COMPAT_KRDMA_CRC32C_H

#include <stddef.h>

#include <linux/types.h>

static inline u32 ri_crc32c(u32 crc, const void *address, size_t length)
{
	const u8 *p = address;
	int bit;

	while (length--) {
		crc ^= *p++;
		for (bit = 0; bit < 8; bit++)
			crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return crc;
}

#endif
