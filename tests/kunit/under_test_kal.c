// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The pure parts of the kAL and of kDAPL, compiled again into the test module. */
#include "../../kal/cm/mpa.c"
#include "../../kal/cm/peers.c"
#include "../../kdapl/base/error.c"
#include "../../kdapl/base/ep_state.c"
#include "../../kdapl/memory/lmr_state.c"
#include "../../kdapl/events/evd_ring.c"
