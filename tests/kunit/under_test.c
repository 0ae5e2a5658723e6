// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The soft RNIC's codecs, compiled once more into the test module, so that
 * krdma_soft exports nothing for the sake of tests.
 */
#include "../../kvp_soft/mpa_framing.c"
#include "../../kvp_soft/mpa_markers.c"
#include "../../kvp_soft/rdmap.c"
#include "../../kvp_soft/ddp.c"
