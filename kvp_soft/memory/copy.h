/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Copying payload with string instructions. Long runs use vector registers on processors
 * without fast string instructions.
 */
#ifndef SOFT_COPY_H
#define SOFT_COPY_H

#include <linux/instrumented.h>
#include <linux/string.h>

#include "../base/params.h"

/* octets of a turn of the vector copy; pieces of a run that are shorter go without */
#define SOFT_COPY_BLOCK 512

/* What the sanitizers of a program cannot see stays out of those, the kernel's can be told. */
#if defined(CONFIG_X86_64) && (!defined(__SANITIZE_ADDRESS__) || defined(CONFIG_KASAN))
#define SOFT_COPY_X86 1
#else
#define SOFT_COPY_X86 0
#endif

/* copy.c */
void soft_copy_init(void);
bool soft_copy_vectors_begin(void);
void soft_copy_vectors_end(void);
void soft_copy_blocks(void *dst, const void *src, size_t n);

/**
 * soft_copy_begin() - before the pieces of a run of payload are copied
 * @n: octets of all of them
 *
 * Context: any but hard interrupt; preemption is off until soft_copy_end().
 * Return: for soft_copy() and soft_copy_end().
 */
static __always_inline bool soft_copy_begin(size_t n)
{
	return SOFT_COPY_X86 && n >= READ_ONCE(soft_copy_vector_min) && soft_copy_vectors_begin();
}

/** soft_copy_end() - after them */
static __always_inline void soft_copy_end(bool vectors)
{
	if (vectors)
		soft_copy_vectors_end();
}

/**
 * soft_copy() - memcpy() for a piece of payload
 * @dst: kernel memory
 * @src: kernel memory, apart from @dst
 * @n: octets
 * @vectors: what soft_copy_begin() said
 *
 * The last octet is written last: programs wait for it. The kernel's memcpy() has string
 * instructions only for processors on which they are fast for short copies, too. Ours are
 * long ones mostly, as those to and from user space, which use them whatever the
 * processor. Context: that of soft_copy_begin().
 */
static __always_inline void soft_copy(void *dst, const void *src, size_t n, bool vectors)
{
#if SOFT_COPY_X86
	if (vectors && n >= SOFT_COPY_BLOCK) {
		soft_copy_blocks(dst, src, n);
		return;
	}
	if (n >= READ_ONCE(soft_copy_string_min)) {
		size_t words = n / sizeof(u64);

		n %= sizeof(u64);
		instrument_read(src, words * sizeof(u64));
		instrument_write(dst, words * sizeof(u64));
		asm volatile("rep movsq" : "+D"(dst), "+S"(src), "+c"(words) : : "memory");
		if (!n)
			return;
	}
#endif
	memcpy(dst, src, n);
}

#endif /* SOFT_COPY_H */
