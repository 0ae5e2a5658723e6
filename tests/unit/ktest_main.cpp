// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Runs the cases of tests/kunit under GoogleTest: every KTEST_SUITE linked into
 * the program becomes a test suite, every case a test. The user-space half of
 * tests/kunit/ktest.h.
 */
#include "ktest.h"

#include <gtest/gtest.h>

#include <cstdarg>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

/* One running case, which the C side knows as an opaque struct ktest. */
struct ktest : public ::testing::Test {
	explicit ktest(const ktest_case &c) : case_(c)
	{}

	void TestBody() override
	{
		case_.run(this);
	}

	const ktest_case &case_;
	std::string note;
	std::vector<std::unique_ptr<std::byte[]>> memory;
};

namespace {

/* Filled before main() by the constructors that KTEST_SUITE makes. */
constinit ktest_suite *suites = nullptr;

std::string format(const char *fmt, va_list args)
{
	va_list again;

	va_copy(again, args);
	const int len = std::vsnprintf(nullptr, 0, fmt, again);
	va_end(again);
	if (len < 0)
		return fmt;
	std::string text(static_cast<size_t>(len), '\0');
	std::vsnprintf(text.data(), text.size() + 1, fmt, args);
	return text;
}

std::string hex(const void *p, size_t len)
{
	const auto *octets = static_cast<const unsigned char *>(p);
	std::string text;

	for (size_t i = 0; i < len; i++) {
		char two[4];

		std::snprintf(two, sizeof(two), "%02x ", octets[i]);
		text += two;
	}
	return text;
}

void report(ktest *test, const char *file, int line, const std::string &what)
{
	std::string note = std::exchange(test->note, {});

	if (!note.empty())
		note += ": ";
	ADD_FAILURE_AT(file, line) << note << what;
}

ktest *make_test(const ktest_case &c)
{
	return std::make_unique<ktest>(c).release();
}

void register_suite(const ktest_suite &suite)
{
	for (const ktest_case *c = suite.cases; c->run; c++) {
#ifndef __clang_analyzer__ /* which takes what GoogleTest keeps for leaked */
		::testing::RegisterTest(suite.name, c->name, nullptr, nullptr, suite.file, 0,
					[c] { return make_test(*c); });
#endif
	}
}

} // namespace

void ktest_add_suite(ktest_suite *suite)
{
	suite->next = suites;
	suites = suite;
}

void *ktest_alloc(ktest *test, size_t n)
{
	return test->memory.emplace_back(std::make_unique_for_overwrite<std::byte[]>(n)).get();
}

void ktest_fail(ktest *test, const char *file, int line, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	report(test, file, line, format(fmt, args));
	va_end(args);
}

void ktest_fail_mem(ktest *test, const char *file, int line, const char *what, const void *left,
		    const void *right, size_t len)
{
	report(test, file, line,
	       std::string("expected equal octets: ") + what + "\n  " + hex(left, len) + "\n  " +
		       hex(right, len));
}

void ktest_note(ktest *test, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	test->note = format(fmt, args);
	va_end(args);
}

int main(int argc, char **argv)
{
	::testing::InitGoogleTest(&argc, argv);
	for (const ktest_suite *suite = suites; suite; suite = suite->next)
		register_suite(*suite);
	return RUN_ALL_TESTS();
}
