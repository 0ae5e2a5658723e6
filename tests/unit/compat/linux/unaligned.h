/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* User-space stand-in for the kernel header: unaligned access. For tests/unit only. */
#ifndef COMPAT_LINUX_UNALIGNED_H
#define COMPAT_LINUX_UNALIGNED_H

#include <endian.h>
#include <linux/types.h>
#include <string.h>

#define COMPAT_UNALIGNED(bits, order)						\
	static inline u##bits get_unaligned_##order##bits(const void *p)	\
	{									\
		u##bits v;							\
										\
		memcpy(&v, p, sizeof(v));					\
		return order##bits##toh(v);					\
	}									\
										\
	static inline void put_unaligned_##order##bits(u##bits v, void *p)	\
	{									\
		v = hto##order##bits(v);					\
		memcpy(p, &v, sizeof(v));					\
	}

COMPAT_UNALIGNED(16, be)
COMPAT_UNALIGNED(32, be)
COMPAT_UNALIGNED(64, be)
COMPAT_UNALIGNED(16, le)
COMPAT_UNALIGNED(32, le)
COMPAT_UNALIGNED(64, le)

#endif
