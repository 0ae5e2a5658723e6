// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The transport side of the Sockets Direct Protocol, compiled into the test module, which has no
 * sockets.
 */
#define __DISABLE_EXPORTS

#include "../../sdp/ot/devices.c"
#include "../../sdp/ot/kdapl.c"
#include "../../sdp/ot/kdapl_device.c"
#include "../../sdp/ot/kdapl_pool.c"
#include "../../sdp/ot/kdapl_cq.c"
#include "../../sdp/ot/kdapl_ep.c"
#include "../../sdp/ot/kdapl_post.c"
#include "../../sdp/ot/kdapl_listen.c"
