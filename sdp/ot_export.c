// SPDX-License-Identifier: GPL-2.0 OR MIT
/* What transports in other modules call; apart from ot.c, which is part of test modules, too. */
#include <linux/export.h>

#include "ot.h"

EXPORT_SYMBOL_GPL(sdp_ot_register);
EXPORT_SYMBOL_GPL(sdp_ot_unregister);
