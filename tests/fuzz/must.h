/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* An invariant of a fuzz target: the fuzzer reports the input that breaks it. */
#ifndef FUZZ_MUST_H
#define FUZZ_MUST_H

/* of libc, for targets that are compiled with the headers of the kernel alone, too */
int dprintf(int fd, const char *format, ...);
void abort(void) __attribute__((noreturn));

#define must(condition) do {						\
	if (!(condition)) {						\
		dprintf(2, "does not hold: %s (line %d)\n",		\
			#condition, __LINE__);				\
		abort();						\
	}								\
} while (0)

#endif
