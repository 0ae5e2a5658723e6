// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The kAL's pure parts, compiled once more into the test module. */
#include "../../kal/mpa.c"
#include "../../kal/peers.c"
