/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* User-space stand-in for the kernel header: barrier_data, READ_ONCE. For tests/unit only. */
#ifndef COMPAT_LINUX_COMPILER_H
#define COMPAT_LINUX_COMPILER_H

#define barrier_data(ptr)	__asm__ __volatile__("" : : "r"(ptr) : "memory")
#define READ_ONCE(x)		(*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, val)	(*(volatile __typeof__(x) *)&(x) = (val))

#endif /* COMPAT_LINUX_COMPILER_H */
