// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The kAL's pure parts, compiled again into the test module. */
#include "../../kal/cm/mpa.c"
#include "../../kal/cm/peers.c"
#include "../../kal/kdapl/error.c"
#include "../../kal/kdapl/ep_state.c"
#include "../../kal/kdapl/evd_ring.c"
