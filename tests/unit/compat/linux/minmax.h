/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* User-space stand-in for the kernel header: min, max, swap. For tests/unit only. */
#ifndef COMPAT_LINUX_MINMAX_H
#define COMPAT_LINUX_MINMAX_H

#define COMPAT_PICK(a, op, b) ({		\
	__auto_type compat_a = (a);		\
	__auto_type compat_b = (b);		\
						\
	compat_a op compat_b ? compat_a : compat_b; })

#define min(a, b)		COMPAT_PICK(a, <, b)
#define max(a, b)		COMPAT_PICK(a, >, b)
#define min_t(type, a, b)	min((type)(a), (type)(b))
#define max_t(type, a, b)	max((type)(a), (type)(b))
#define swap(a, b) do {				\
	__auto_type compat_swap = (a);		\
	(a) = (b);				\
	(b) = compat_swap;			\
} while (0)
#define umin(a, b)		min((a) + 0ULL, (b) + 0ULL)
#define umax(a, b)		max((a) + 0ULL, (b) + 0ULL)
#define clamp(v, lo, hi)	min(max(v, lo), hi)
#define clamp_t(type, v, lo, hi) clamp((type)(v), (type)(lo), (type)(hi))

#endif
