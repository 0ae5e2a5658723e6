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

/* bytes of a block of the vector copy; shorter pieces are copied without vectors */
#define SOFT_COPY_BLOCK 512

/*
 * Sanitizers do not see accesses in inline assembly. instrument_*() reports them to the kernel's; a
 * program built with a sanitizer does not use the assembly.
 */
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
 * soft_copy_begin() - begin to copy a run of pieces of payload
 * @n: bytes of all pieces
 *
 * Context: any but hard interrupt; when true is returned, preemption is off until
 * soft_copy_end().
 * Return: true when vector registers are used; pass it to soft_copy() and soft_copy_end().
 */
static __always_inline bool soft_copy_begin(size_t n)
{
	return SOFT_COPY_X86 && n >= READ_ONCE(soft_copy_vector_min) && soft_copy_vectors_begin();
}

/** soft_copy_end() - end a run; @vectors is the result of soft_copy_begin() */
static __always_inline void soft_copy_end(bool vectors)
{
	if (vectors)
		soft_copy_vectors_end();
}

/**
 * soft_copy() - memcpy() for a piece of payload
 * @dst: destination in kernel memory
 * @src: source in kernel memory, not overlapping @dst
 * @n: bytes
 * @vectors: result of soft_copy_begin()
 *
 * The last byte is written last, since programs wait for it.
 *
 * The kernel's memcpy() uses string instructions only on processors where they are fast for
 * short copies, too. Copies of payload are mostly long, like copies to and from user space,
 * which use string instructions on every processor.
 * Context: that of soft_copy_begin().
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
