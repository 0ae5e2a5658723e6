/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Copying payload.
 */
#ifndef SOFT_COPY_H
#define SOFT_COPY_H

#include <linux/string.h>

#include "params.h"

/**
 * soft_copy() - memcpy() for payload
 * @dst: kernel memory
 * @src: kernel memory, apart from @dst
 * @n: octets
 *
 * The kernel's memcpy() has string instructions only for processors on which
 * they are fast for short copies, too. Ours are long ones mostly, as those to and
 * from user space, which use them whatever the processor. Context: any.
 */
static __always_inline void soft_copy(void *dst, const void *src, size_t n)
{
#if defined(CONFIG_X86_64) && !defined(__SANITIZE_ADDRESS__)
	if (n >= READ_ONCE(soft_copy_string_min)) {
		size_t words = n / sizeof(u64);

		asm volatile("rep movsq"
			     : "+D"(dst), "+S"(src), "+c"(words)
			     :
			     : "memory");
		n %= sizeof(u64);
	}
#endif
	memcpy(dst, src, n);
}

#endif /* SOFT_COPY_H */
