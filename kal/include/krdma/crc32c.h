/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * CRC32c for the wire: an upcall of the RNIC-PI, which pure protocol code can use, too.
 */
#ifndef KRDMA_CRC32C_H
#define KRDMA_CRC32C_H

#include <linux/types.h>

/**
 * ri_crc32c() - continue a CRC32c in the fastest way that this machine has
 * @crc: value so far; this function does neither the first nor the last inversion
 * @data: bytes to add
 * @len: their number
 * Return: the CRC that includes @data. Context: any.
 */
u32 ri_crc32c(u32 crc, const void *data, size_t len);

#endif /* KRDMA_CRC32C_H */
