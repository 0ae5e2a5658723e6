// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The checks that KUnit runs, too. */
#include "../kunit/sdp_ot_checks.c"
