/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* User-space stand-in for the kernel header: ARRAY_SIZE. For tests/unit only. */
#ifndef COMPAT_LINUX_ARRAY_SIZE_H
#define COMPAT_LINUX_ARRAY_SIZE_H

#define ARRAY_SIZE(arr)	(sizeof(arr) / sizeof((arr)[0]))

#endif
