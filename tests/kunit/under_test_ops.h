/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What the tests of the ring set and read. */
#ifndef UNDER_TEST_OPS_H
#define UNDER_TEST_OPS_H

#include <linux/types.h>

extern s64 ops_test_charged;	/* bytes of pages that the rings have */
extern s64 ops_test_limit;	/* how many they may have */

#endif
