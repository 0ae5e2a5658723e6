// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Registered transports, compiled into the test module. */
#define __DISABLE_EXPORTS

#include "../../sdp/ot/devices.c"
