/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The little of <linux/math.h> that the codecs use. */
#ifndef COMPAT_LINUX_MATH_H
#define COMPAT_LINUX_MATH_H

#define DIV_ROUND_UP(n, d) (((n) + (d) - 1) / (d))

#endif
