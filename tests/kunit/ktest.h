/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * One test source for two environments: KUnit in the kernel, GoogleTest in user space. Every
 * file of this folder includes it.
 *
 *	static void adds_up(struct ktest *test)
 *	{
 *		KTEST_EQ(test, 1 + 1, 2);
 *	}
 *
 *	static struct ktest_case cases[] = {
 *		KTEST_CASE(adds_up),
 *		{}
 *	};
 *	KTEST_SUITE(arithmetic, cases);
 *
 * A failed check is reported, and the case continues. The _MSG forms add a text in the form of
 * printf(), for tables. KTEST_EQ and KTEST_NE take only integers.
 */
#ifndef KTEST_H
#define KTEST_H

#ifdef __KERNEL__

#include <kunit/test.h>

#define ktest			kunit
#define ktest_case		kunit_case
#define KTEST_CASE(fn)		KUNIT_CASE(fn)

#define KTEST_SUITE(suite_name, suite_cases)		\
	static struct kunit_suite suite_name##_suite = {	\
		.name = #suite_name,				\
		.test_cases = suite_cases,			\
	};							\
	kunit_test_suite(suite_name##_suite)

#define KTEST_EQ_MSG		KUNIT_EXPECT_EQ_MSG
#define KTEST_NE_MSG		KUNIT_EXPECT_NE_MSG
#define KTEST_TRUE_MSG		KUNIT_EXPECT_TRUE_MSG
#define KTEST_FALSE_MSG		KUNIT_EXPECT_FALSE_MSG
#define KTEST_MEMEQ_MSG		KUNIT_EXPECT_MEMEQ_MSG
#define KTEST_STREQ_MSG		KUNIT_EXPECT_STREQ_MSG

#define KTEST_EQ		KUNIT_EXPECT_EQ
#define KTEST_NE		KUNIT_EXPECT_NE
#define KTEST_TRUE		KUNIT_EXPECT_TRUE
#define KTEST_FALSE		KUNIT_EXPECT_FALSE
#define KTEST_MEMEQ		KUNIT_EXPECT_MEMEQ
#define KTEST_STREQ		KUNIT_EXPECT_STREQ

/**
 * ktest_alloc - memory of exactly @n bytes, freed after the case
 * @test: the running case
 * @n: bytes; KASAN and AddressSanitizer catch an access beyond
 *
 * Ends the case if there is no memory.
 */
static inline void *ktest_alloc(struct ktest *test, size_t n)
{
	void *p = kunit_kmalloc(test, n, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	return p;
}

#else /* user space: tests/unit/ktest_main.cpp is the other half */

#include <stddef.h>
#include <string.h>

#ifndef __printf
#define __printf(a, b)	__attribute__((__format__(__printf__, a, b)))
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct ktest;

struct ktest_case {
	void (*run)(struct ktest *test);
	const char *name;
};

struct ktest_suite {
	const char *name;
	const char *file;
	const struct ktest_case *cases;
	struct ktest_suite *next;
};

void ktest_add_suite(struct ktest_suite *suite);
void *ktest_alloc(struct ktest *test, size_t n);
__printf(4, 5)
void ktest_fail(struct ktest *test, const char *file, int line, const char *fmt, ...);
void ktest_fail_mem(struct ktest *test, const char *file, int line, const char *what,
		    const void *left, const void *right, size_t len);
/* text that is shown with the next failure of this case */
__printf(2, 3)
void ktest_note(struct ktest *test, const char *fmt, ...);

#ifdef __cplusplus
}
#endif

#define KTEST_CASE(fn)		{ .run = fn, .name = #fn }

#define KTEST_SUITE(suite_name, suite_cases)				\
	__attribute__((constructor))					\
	static void suite_name##_register(void)				\
	{								\
		static struct ktest_suite suite = {			\
			.name = #suite_name,				\
			.file = __FILE__,				\
			.cases = suite_cases,				\
		};							\
									\
		ktest_add_suite(&suite);				\
	}								\
	struct ktest

#define KTEST_NO_NOTE	((void)0)

#define KTEST_COMPARE(test, a, op, b, note) do {			\
	__auto_type ktest_a = (a);					\
	__auto_type ktest_b = (b);					\
									\
	if (!(ktest_a op ktest_b)) {					\
		note;							\
		ktest_fail(test, __FILE__, __LINE__,			\
			   "expected %s " #op " %s, got 0x%llx and 0x%llx", \
			   #a, #b, (unsigned long long)ktest_a,		\
			   (unsigned long long)ktest_b);		\
	}								\
} while (0)

#define KTEST_HOLDS(test, what, cond, note) do {			\
	if (!(cond)) {							\
		note;							\
		ktest_fail(test, __FILE__, __LINE__, "expected %s", what); \
	}								\
} while (0)

#define KTEST_SAME(test, what, a, b, len, note) do {			\
	if (memcmp(a, b, len)) {					\
		note;							\
		ktest_fail_mem(test, __FILE__, __LINE__, what, a, b, len); \
	}								\
} while (0)

#define KTEST_SAME_STR(test, what, a, b, note) do {			\
	const char *ktest_a = (a);					\
	const char *ktest_b = (b);					\
									\
	if (strcmp(ktest_a, ktest_b)) {					\
		note;							\
		ktest_fail(test, __FILE__, __LINE__,			\
			   "expected equal: %s, got \"%s\" and \"%s\"",	\
			   what, ktest_a, ktest_b);			\
	}								\
} while (0)

#define KTEST_EQ(test, a, b)		KTEST_COMPARE(test, a, ==, b, KTEST_NO_NOTE)
#define KTEST_NE(test, a, b)		KTEST_COMPARE(test, a, !=, b, KTEST_NO_NOTE)
#define KTEST_TRUE(test, x)		KTEST_HOLDS(test, #x, x, KTEST_NO_NOTE)
#define KTEST_FALSE(test, x)		KTEST_HOLDS(test, "not " #x, !(x), KTEST_NO_NOTE)
#define KTEST_MEMEQ(test, a, b, len)	KTEST_SAME(test, #a ", " #b, a, b, len, KTEST_NO_NOTE)
#define KTEST_STREQ(test, a, b)		KTEST_SAME_STR(test, #a ", " #b, a, b, KTEST_NO_NOTE)

#define KTEST_EQ_MSG(test, a, b, ...)	\
	KTEST_COMPARE(test, a, ==, b, ktest_note(test, __VA_ARGS__))
#define KTEST_NE_MSG(test, a, b, ...)	\
	KTEST_COMPARE(test, a, !=, b, ktest_note(test, __VA_ARGS__))
#define KTEST_TRUE_MSG(test, x, ...)	\
	KTEST_HOLDS(test, #x, x, ktest_note(test, __VA_ARGS__))
#define KTEST_FALSE_MSG(test, x, ...)	\
	KTEST_HOLDS(test, "not " #x, !(x), ktest_note(test, __VA_ARGS__))
#define KTEST_MEMEQ_MSG(test, a, b, len, ...)	\
	KTEST_SAME(test, #a ", " #b, a, b, len, ktest_note(test, __VA_ARGS__))
#define KTEST_STREQ_MSG(test, a, b, ...)	\
	KTEST_SAME_STR(test, #a ", " #b, a, b, ktest_note(test, __VA_ARGS__))

#endif /* __KERNEL__ */

#endif /* KTEST_H */
