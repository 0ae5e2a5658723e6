/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* User-space stand-in for the kernel header: compile-time checks. For tests/unit only. */
#ifndef COMPAT_LINUX_BUILD_BUG_H
#define COMPAT_LINUX_BUILD_BUG_H

#include <assert.h>

#undef static_assert
#define static_assert(expr, ...)	_Static_assert(expr, "" #expr)
#define BUILD_BUG_ON(cond)		static_assert(!(cond))

#endif
