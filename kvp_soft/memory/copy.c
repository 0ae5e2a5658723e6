// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Copying payload with vector registers.
 *
 * A processor reports whether its string instructions are fast (ERMS, FSRM). Fast string
 * instructions move as much as vectors do and need no saved registers. Without them, 32-byte
 * vectors take a fraction of the time; this includes emulators.
 *
 * The kernel lends its vector registers between two calls, which save and restore the
 * program's registers. It does not lend them to a context that interrupted another user of
 * them. One pair of calls serves a run of pieces; short runs do without vectors.
 */
#include "copy.h"

#if SOFT_COPY_X86
#include <asm/cpufeature.h>
#include <asm/fpu/api.h>

static bool soft_copy_has_vectors __ro_after_init;
static bool soft_copy_slow_strings __ro_after_init;

/** soft_copy_init() - detect the processor's features at module start */
void soft_copy_init(void)
{
	soft_copy_has_vectors = boot_cpu_has(X86_FEATURE_AVX) &&
				cpu_has_xfeatures(XFEATURE_MASK_SSE | XFEATURE_MASK_YMM, NULL);
	soft_copy_slow_strings = !boot_cpu_has(X86_FEATURE_ERMS) && !boot_cpu_has(X86_FEATURE_FSRM);
}

static bool soft_copy_wants_vectors(void)
{
	switch (READ_ONCE(soft_copy_vectors)) {
	case SOFT_COPY_VECTORS_OFF:
		return false;
	case SOFT_COPY_VECTORS_AUTO:
		return soft_copy_slow_strings;
	}
	return true;
}

/** soft_copy_vectors_begin() - take the vector registers; false when they are not available */
bool soft_copy_vectors_begin(void)
{
	if (!soft_copy_has_vectors || !soft_copy_wants_vectors() || !irq_fpu_usable())
		return false;
	kernel_fpu_begin();
	return true;
}

/** soft_copy_vectors_end() - release the vector registers */
void soft_copy_vectors_end(void)
{
	asm volatile("vzeroupper");
	kernel_fpu_end();
}

#define LOAD(reg, off)		"	vmovdqu	" #off "(%[src],%[at]), %%ymm" #reg "\n"
#define STORE(reg, off)		"	vmovdqu	%%ymm" #reg ", " #off "(%[dst],%[at])\n"

/* Copy the blocks that end at @dst and @src. @at is negative: the bytes of these blocks. */
static __always_inline void soft_copy_up_to(void *dst, const void *src, long at)
{
	/* clang-format off */
	asm volatile("1:\n"
		     LOAD(0, 0) LOAD(1, 32) LOAD(2, 64) LOAD(3, 96)
		     LOAD(4, 128) LOAD(5, 160) LOAD(6, 192) LOAD(7, 224)
		     LOAD(8, 256) LOAD(9, 288) LOAD(10, 320) LOAD(11, 352)
		     LOAD(12, 384) LOAD(13, 416) LOAD(14, 448) LOAD(15, 480)
		     STORE(0, 0) STORE(1, 32) STORE(2, 64) STORE(3, 96)
		     STORE(4, 128) STORE(5, 160) STORE(6, 192) STORE(7, 224)
		     STORE(8, 256) STORE(9, 288) STORE(10, 320) STORE(11, 352)
		     STORE(12, 384) STORE(13, 416) STORE(14, 448) STORE(15, 480)
		     "	add	%[block], %[at]\n"
		     "	jnz	1b\n"
		     : [at] "+r"(at)
		     : [dst] "r"(dst), [src] "r"(src), [block] "i"(SOFT_COPY_BLOCK)
		     : "memory", "cc");
	/* clang-format on */
}

/**
 * soft_copy_blocks() - copy a piece in blocks
 * @dst: destination
 * @src: source
 * @n: bytes, at least one block
 *
 * If @n is not a multiple of the block size, the last block overlaps the one before it.
 * Context: between soft_copy_vectors_begin() and _end().
 */
void soft_copy_blocks(void *dst, const void *src, size_t n)
{
	const size_t whole = round_down(n, SOFT_COPY_BLOCK);

	instrument_read(src, n);
	instrument_write(dst, n);
	soft_copy_up_to(dst + whole, src + whole, -(long)whole);
	if (n != whole)
		soft_copy_up_to(dst + n, src + n, -SOFT_COPY_BLOCK);
}

#else

/** soft_copy_init() - nothing to detect on this processor */
void soft_copy_init(void)
{}

#endif /* SOFT_COPY_X86 */
