// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The pure part of krdma_hw, compiled again into the test module. */
#include "../../kvp_hw/access.c"
