// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The soft RNIC's codecs, compiled again into the test module. So krdma_soft exports nothing
 * only for tests.
 */
#include "../../kvp_soft/wire/mpa_framing.c"
#include "../../kvp_soft/wire/mpa_markers.c"
#include "../../kvp_soft/wire/rdmap.c"
#include "../../kvp_soft/wire/ddp.c"
