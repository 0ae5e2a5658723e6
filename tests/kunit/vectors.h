/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The table of FPDU test vectors, for the codec tests of this folder. */
#ifndef KUNIT_VECTORS_H
#define KUNIT_VECTORS_H

#include <linux/types.h>

#include "ktest.h"

#define VECTOR_MAX	80	/* bytes of the longest vector, rounded up */
#define VECTOR_ACCEPT	0xffff

/**
 * struct vector - one FPDU
 * @id: name
 * @term: what soft_seg_decode() must say: VECTOR_ACCEPT, or the first two
 *	bytes of the Terminate
 * @hex: the FPDU, CRC included
 */
struct vector {
	const char *id;
	u16 term;
	const char *hex;
};

u32 hex_octets(const char *hex, u8 *out, u32 room);
const struct vector *vector_at(u32 i);
u32 vector_get(struct ktest *test, const char *id, u8 out[VECTOR_MAX]);

/* deterministic pseudo-random numbers: xorshift32, state never 0 */
static inline u32 next_random(u32 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

#endif /* KUNIT_VECTORS_H */
