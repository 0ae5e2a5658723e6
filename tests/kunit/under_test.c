// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The soft RNIC's codecs, compiled once more into the test module, so that
 * krdma_soft exports nothing for the sake of tests.
 */
#include "../../kvp_soft/wire/mpa_framing.c"
#include "../../kvp_soft/wire/mpa_markers.c"
#include "../../kvp_soft/wire/rdmap.c"
#include "../../kvp_soft/wire/ddp.c"
