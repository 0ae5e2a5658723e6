/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The common part of the conformance tests: how the result of a check is printed. Each check
 * is one line of the kernel's log:
 *
 *	TEST: RNIC: CHECK: ok
 *	TEST: RNIC: CHECK: missing			the RNIC says so, and keeps to it
 *	TEST: RNIC: CHECK: known fault: REASON		of the driver below the RNIC
 *	TEST: RNIC: CHECK: FAILED: FILE:LINE EXPRESSION
 *
 * and the last line counts them.
 */
#ifndef KCHECK_H
#define KCHECK_H

#include <linux/printk.h>
#include <linux/string.h>

/**
 * struct kcheck_known - a fault of a driver; a table of them ends with an empty one
 * @prefix: of the RNIC's name
 * @check: name of the check that meets the fault
 * @expectation: words of the first expectation that the fault touches, or NULL: any; the check
 *	fails if it is another one
 * @most: expectations that are not met then, at most; 0: any number, because the rest of the check
 *	depends on the first of them
 * @reason: what is wrong; the line is that of Linux 6.12.117
 */
struct kcheck_known {
	const char *prefix;
	const char *check;
	const char *expectation;
	unsigned int most;
	const char *reason;
};

/**
 * struct kcheck_run - the results of a run
 * @test: first word of the lines
 * @rnic: name of the RNIC
 * @known: faults of drivers
 * @ok: checks that held
 * @missing: checks of what the RNIC has not
 * @faults: checks that met a known fault
 * @failed: others
 */
struct kcheck_run {
	const char *test;
	const char *rnic;
	const struct kcheck_known *known;
	unsigned int ok;
	unsigned int missing;
	unsigned int faults;
	unsigned int failed;
};

/* Return: the reason if the check failed for a known fault alone, else NULL */
static inline const char *kcheck_known_reason(const struct kcheck_run *run, const char *check,
					      unsigned int failed, const char *where)
{
	const struct kcheck_known *known;

	for (known = run->known; known->prefix; known++)
		if (str_has_prefix(run->rnic, known->prefix) && !strcmp(check, known->check) &&
		    (!known->expectation || strstr(where, known->expectation)) &&
		    (!known->most || failed <= known->most))
			return known->reason;
	return NULL;
}

/**
 * kcheck_verdict() - print and count the result of a check
 * @run: run
 * @check: name of the check
 * @failed: expectations that did not hold
 * @where: the first of them
 * @missing: the RNIC has not got what the check is about
 */
static inline void kcheck_verdict(struct kcheck_run *run, const char *check, unsigned int failed,
				  const char *where, bool missing)
{
	const char *reason = failed ? kcheck_known_reason(run, check, failed, where) : NULL;

	if (reason) {
		run->faults++;
		pr_info("%s: %s: %s: known fault: %s (%s)\n", run->test, run->rnic, check, reason,
			where);
	} else if (failed) {
		run->failed++;
		pr_info("%s: %s: %s: FAILED: %s\n", run->test, run->rnic, check, where);
	} else if (missing) {
		run->missing++;
		pr_info("%s: %s: %s: missing\n", run->test, run->rnic, check);
	} else {
		run->ok++;
		pr_info("%s: %s: %s: ok\n", run->test, run->rnic, check);
	}
}

/** kcheck_end() - print the counts. Return: 0, or -EIO if a check failed */
static inline int kcheck_end(const struct kcheck_run *run)
{
	pr_info("%s: %s: %u ok, %u missing, %u known faults, %u failed\n", run->test, run->rnic,
		run->ok, run->missing, run->faults, run->failed);
	return run->failed ? -EIO : 0;
}

#endif
