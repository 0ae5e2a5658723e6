// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The pure parts of the kAL and of kDAPL, compiled again into the test module. */
#include "../../kal/cm/mpa.c"
#include "../../kal/cm/peers.c"
#include "../../kal/kdapl/base/error.c"
#include "../../kal/kdapl/base/ep_state.c"
#include "../../kal/kdapl/memory/lmr_state.c"
#include "../../kal/kdapl/events/evd_ring.c"
