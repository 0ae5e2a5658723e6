// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Definitions of the tracepoints in base/trace.h.
 */
#include <linux/tcp.h>

#include "tx/tx.h"

#define CREATE_TRACE_POINTS
#include "base/trace.h"
