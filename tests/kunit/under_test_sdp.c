// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The pure files of the Sockets Direct Protocol, compiled into the test module, as in
 * under_test.c.
 */
#include "../../sdp/wire.c"
#include "../../sdp/state_table.c"
#include "../../sdp/state.c"
#include "../../sdp/state_credit.c"
#include "../../sdp/state_source.c"
#include "../../sdp/state_sink.c"
