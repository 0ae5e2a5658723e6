// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Registered transports, compiled into the test module; nothing is exported. */
#include <linux/export.h>

#undef EXPORT_SYMBOL_GPL
#define EXPORT_SYMBOL_GPL(symbol)	extern typeof(symbol) symbol

#include "../../sdp/ot.c"
