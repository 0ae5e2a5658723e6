/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* User-space stand-in for the kernel header: single bits and masks. For tests/unit only. */
#ifndef COMPAT_LINUX_BITS_H
#define COMPAT_LINUX_BITS_H

#define BIT(nr)		(1UL << (nr))
#define BIT_ULL(nr)	(1ULL << (nr))
#define GENMASK(h, l)	((~0UL << (l)) & (~0UL >> (8 * sizeof(long) - 1 - (h))))

#endif
