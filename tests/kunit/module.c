// SPDX-License-Identifier: GPL-2.0 OR MIT
/* krdma_kunit: when it is loaded, KUnit runs the suites of this folder. */
#include <linux/module.h>

MODULE_DESCRIPTION("KUnit tests of the krdma protocol codecs");
MODULE_LICENSE("Dual MIT/GPL");
