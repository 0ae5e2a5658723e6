// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Codes of waiting asynchronous events (kal/core/event_codes.h). */
#include "ktest.h"

#include "../../kal/core/event_codes.h"

static void in_order(struct ktest *test)
{
	struct kal_event_codes codes = {};

	KTEST_TRUE(test, kal_event_codes_add(&codes, 10, 100));
	KTEST_TRUE(test, kal_event_codes_add(&codes, 9, 101));
	KTEST_EQ(test, codes.num, 2);
	KTEST_EQ(test, codes.code[0], 10);
	KTEST_EQ(test, codes.time_ns[0], 100ULL);
	kal_event_codes_remove(&codes, 0);
	KTEST_EQ(test, codes.num, 1);
	KTEST_EQ(test, codes.code[0], 9);
	KTEST_EQ(test, codes.time_ns[0], 101ULL);
	kal_event_codes_remove(&codes, 0);
	KTEST_EQ(test, codes.num, 0);
}

static void again(struct ktest *test)
{
	static const u8 wanted[] = { 10, 18, 9 };
	struct kal_event_codes codes = {};

	kal_event_codes_add(&codes, 9, 1);
	kal_event_codes_add(&codes, 10, 2);
	kal_event_codes_add(&codes, 18, 3);
	kal_event_codes_add(&codes, 9, 4);
	KTEST_EQ(test, codes.num, 3);
	KTEST_MEMEQ(test, codes.code, wanted, sizeof(wanted));
	KTEST_EQ(test, codes.time_ns[2], 4ULL);
	/* the last one */
	kal_event_codes_add(&codes, 9, 5);
	KTEST_EQ(test, codes.num, 3);
	KTEST_MEMEQ(test, codes.code, wanted, sizeof(wanted));
	KTEST_EQ(test, codes.time_ns[2], 5ULL);
}

static void all_of_them(struct ktest *test)
{
	struct kal_event_codes codes = {};
	unsigned int i;

	for (i = 0; i < 3 * KAL_EVENT_CODES; i++)
		KTEST_TRUE(test, kal_event_codes_add(&codes, i % KAL_EVENT_CODES, i));
	KTEST_EQ(test, codes.num, KAL_EVENT_CODES);
	for (i = 0; i < KAL_EVENT_CODES; i++) {
		KTEST_EQ(test, codes.code[i], i);
		KTEST_EQ(test, codes.time_ns[i], 2ULL * KAL_EVENT_CODES + i);
	}
	KTEST_FALSE(test, kal_event_codes_add(&codes, KAL_EVENT_CODES, 0));
	KTEST_EQ(test, codes.num, KAL_EVENT_CODES);
}

static struct ktest_case cases[] = {
	KTEST_CASE(in_order),
	KTEST_CASE(again),
	KTEST_CASE(all_of_them),
	{}
};

KTEST_SUITE(kal_event_codes, cases);
