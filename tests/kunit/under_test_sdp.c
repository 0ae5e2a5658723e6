// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The pure files of the Sockets Direct Protocol, compiled into the test module, as in
 * under_test.c.
 */
#include "../../sdp/state/wire.c"
#include "../../sdp/state/table.c"
#include "../../sdp/state/state.c"
#include "../../sdp/state/credit.c"
#include "../../sdp/state/source.c"
#include "../../sdp/state/sink.c"
