// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The checks that KUnit runs, too. */
#include "../kunit/sdp_ot_checks.c"
#include "../kunit/sdp_ot_checks_conn.c"
#include "../kunit/sdp_ot_checks_data.c"
