// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The kAL's pure parts, compiled once more into the test module. */
#include "../../kal/cm/mpa.c"
#include "../../kal/cm/peers.c"
