// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Copying payload with string instructions and with vector registers: every byte must be
 * copied, and no other byte may change. Runs only in the kernel, which owns these registers.
 */
#include <linux/random.h>
#include <linux/string.h>

/* values of the module's parameters, which the cases set */
unsigned int soft_copy_string_min = 256;
unsigned int soft_copy_vectors;
unsigned int soft_copy_vector_min;

#include "../../kvp_soft/memory/copy.c"
#include "ktest.h"

#define LONGEST		(5 * SOFT_COPY_BLOCK)
#define MARGIN		32
#define ROOM		(LONGEST + 2 * MARGIN)

/* Lengths that end before, at and behind a block and a vector, and all short lengths. */
static bool interesting(u32 n)
{
	const u32 in_vector = (n + 2) % 32;

	return n < 80 || in_vector < 5 || n == LONGEST;
}

static void copies(struct ktest *test)
{
	u8 *src = ktest_alloc(test, ROOM);
	u8 *dst = ktest_alloc(test, ROOM);
	u8 *want = ktest_alloc(test, ROOM);
	u32 n, from, to;
	bool vectors;

	get_random_bytes(src, ROOM);
	for (n = 0; n <= LONGEST; n++) {
		if (!interesting(n))
			continue;
		for (from = 0; from < MARGIN; from += 7) {
			to = MARGIN + (from * 5 + n) % MARGIN;
			memset(dst, n, ROOM);
			memset(want, n, ROOM);
			memcpy(want + to, src + from, n);
			vectors = soft_copy_begin(n);
			soft_copy(dst + to, src + from, n, vectors);
			soft_copy_end(vectors);
			KTEST_EQ_MSG(test, memcmp(dst, want, ROOM), 0,
				     "%u octets from %u to %u", n, from, to);
		}
	}
}

static void by_strings(struct ktest *test)
{
	soft_copy_vectors = SOFT_COPY_VECTORS_OFF;
	copies(test);
}

static void by_vectors(struct ktest *test)
{
	bool vectors;

	soft_copy_init();
	soft_copy_vectors = SOFT_COPY_VECTORS_ALWAYS;
	vectors = soft_copy_begin(1);
	soft_copy_end(vectors);
	if (!vectors)
		kunit_skip(test, "a processor without them");
	copies(test);
}

static void asks_for_vectors(struct ktest *test)
{
	bool vectors;

	soft_copy_init();
	soft_copy_vector_min = 4096;
	soft_copy_vectors = SOFT_COPY_VECTORS_ALWAYS;
	vectors = soft_copy_begin(4095);
	soft_copy_end(vectors);
	KTEST_FALSE(test, vectors);

	soft_copy_vectors = SOFT_COPY_VECTORS_OFF;
	vectors = soft_copy_begin(4096);
	soft_copy_end(vectors);
	KTEST_FALSE(test, vectors);

	/* Code that uses the registers does not get them again, as if it interrupted itself. */
	soft_copy_vectors = SOFT_COPY_VECTORS_ALWAYS;
	vectors = soft_copy_begin(4096);
	if (vectors) {
		bool again = soft_copy_begin(4096);

		soft_copy_end(vectors);
		KTEST_FALSE(test, again);
	}
	soft_copy_vector_min = 0;
}

static struct ktest_case cases[] = {
	KTEST_CASE(by_strings),
	KTEST_CASE(by_vectors),
	KTEST_CASE(asks_for_vectors),
	{}
};

KTEST_SUITE(soft_copy, cases);
