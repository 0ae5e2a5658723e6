/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * CRC32c for the wire, an upcall of the RNIC-PI that pure protocol code can
 * use too.
 */
#ifndef KRDMA_CRC32C_H
#define KRDMA_CRC32C_H

#include <linux/types.h>

/**
 * ri_crc32c() - go on with a CRC32c, by the fastest way this machine has
 * @crc: so far; neither the first inversion nor the last is done here
 * @data: octets
 * @len: their number
 * Return: the CRC over @data as well. Context: any.
 */
u32 ri_crc32c(u32 crc, const void *data, size_t len);

#endif /* KRDMA_CRC32C_H */
