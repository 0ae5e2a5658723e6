#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: marked sockets by io_uring, and sends without copies (MSG_ZEROCOPY, IORING_OP_SEND_ZC): on TCP, over the road of the host, over one of the tests
# covers: ops tests/offload tests/vm/progs/ops_uring.cpp
# limit: 200
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"

uring() { timeout "$(patient 120)" "$VM_PROGS/ops_uring" "$@"; }

ip link set lo up
checks "TCP" uring 2 0 $TCP
ops_load
mark_some
checks "no rule takes it" by_tcp uring 2 0 $TCP $UNMARKED
checks "rules" by_road uring 2 0 $TCP $MARKED
checks "the family" by_road uring $OFFLOAD 0 $TCP
checks "the switch's number" by_road uring 2 $WILDCARD $TCP
all_gone
unmark
plain_load
mark_some plain
checks "a road of the tests" by_road uring 2 0 $TCP $MARKED
parameter offload_plain delay_ms 5
checks "one that opens late" uring 2 0 $TCP $MARKED
all_gone
unload offload_plain krdma_ops
attempts_verdict
