/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* User-space stand-in for the kernel header. For tests/unit only. */
#ifndef COMPAT_LINUX_STDARG_H
#define COMPAT_LINUX_STDARG_H

#include <stdarg.h>

#endif
