// SPDX-License-Identifier: GPL-2.0 OR MIT
/* What a user of an adopted device may name in an element: keys, bounds, the right to write. */
#include <linux/array_size.h>
#include <linux/types.h>

#include "../../kvp_hw/access.h"
#include "ktest.h"

static const struct hw_kernel_keys keys = { .device = 0x100, .domain = 0x201, .global = 0x302 };
static const struct hw_region region = {
	.stag = 0x4711, .begin = 0x10000, .length = 0x1000, .writable = true,
};

static void key(struct ktest *test)
{
	static const u32 wrong[] = { 0, 0x100, 0x201, 0x302, 0x4710, 0x47110000, ~0U };
	struct hw_region named = region;
	unsigned int i;

	KTEST_EQ(test, hw_access_check(&keys, &region, 0x4711, 0x10000, 0x1000, true),
		 HW_ACCESS_OK);
	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		KTEST_EQ(test, hw_access_check(&keys, &region, wrong[i], 0x10000, 1, false),
			 HW_ACCESS_KEY);
	KTEST_EQ(test, hw_access_check(&keys, NULL, 0x4711, 0x10000, 1, false), HW_ACCESS_KEY);
	/* a table that has a key of the kernel's helps nobody */
	for (i = 0; i < 4; i++) {
		named.stag = wrong[i];
		KTEST_EQ(test, hw_access_check(&keys, &named, wrong[i], 0x10000, 0, false),
			 HW_ACCESS_KEY);
		KTEST_TRUE(test, hw_access_is_kernels(&keys, wrong[i]));
	}
	KTEST_FALSE(test, hw_access_is_kernels(&keys, 0x4711));
}

static void bounds(struct ktest *test)
{
	static const struct {
		u64 addr;
		u32 length;
		enum hw_access wanted;
	} cases[] = {
		{ 0x10000, 1, HW_ACCESS_OK },
		{ 0x10fff, 1, HW_ACCESS_OK },
		{ 0x10001, 0xfff, HW_ACCESS_OK },
		{ 0xffff, 1, HW_ACCESS_BOUNDS },
		{ 0xffff, 2, HW_ACCESS_BOUNDS },
		{ 0x11000, 1, HW_ACCESS_BOUNDS },
		{ 0x10001, 0x1000, HW_ACCESS_BOUNDS },
		{ 0x10000, 0x1001, HW_ACCESS_BOUNDS },
		{ 0x10000, ~0U, HW_ACCESS_BOUNDS },
		{ 0, ~0U, HW_ACCESS_BOUNDS },
		{ ~0ULL, 1, HW_ACCESS_BOUNDS },
		{ ~0ULL, ~0U, HW_ACCESS_BOUNDS },
		/* an empty element names no memory */
		{ ~0ULL, 0, HW_ACCESS_OK },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		KTEST_EQ_MSG(test, hw_access_check(&keys, &region, 0x4711, cases[i].addr,
						   cases[i].length, true),
			     cases[i].wanted, "0x%llx, 0x%x", (unsigned long long)cases[i].addr,
			     cases[i].length);
}

/* The last byte of all addresses belongs to a region that ends there. */
static void top(struct ktest *test)
{
	const struct hw_region last = { .stag = 0x4711, .begin = ~0xfULL, .length = 0x10 };

	KTEST_EQ(test, hw_access_check(&keys, &last, 0x4711, ~0ULL, 1, false), HW_ACCESS_OK);
	KTEST_EQ(test, hw_access_check(&keys, &last, 0x4711, ~0ULL, 2, false), HW_ACCESS_BOUNDS);
	KTEST_EQ(test, hw_access_check(&keys, &last, 0x4711, 0, 1, false), HW_ACCESS_BOUNDS);
}

static void right_to_write(struct ktest *test)
{
	struct hw_region only_read = region;

	only_read.writable = false;
	KTEST_EQ(test, hw_access_check(&keys, &only_read, 0x4711, 0x10000, 8, false),
		 HW_ACCESS_OK);
	KTEST_EQ(test, hw_access_check(&keys, &only_read, 0x4711, 0x10000, 8, true),
		 HW_ACCESS_BOUNDS);
}

static struct ktest_case hw_access_cases[] = {
	KTEST_CASE(key),
	KTEST_CASE(bounds),
	KTEST_CASE(top),
	KTEST_CASE(right_to_write),
	{}
};

KTEST_SUITE(krdma_hw_access, hw_access_cases);
