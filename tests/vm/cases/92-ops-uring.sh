#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: sockets of krdma_ops by io_uring, and sends without copies (MSG_ZEROCOPY, IORING_OP_SEND_ZC): on TCP, through the switch, over a loopback protocol
# covers: ops tests/offload tests/vm/progs/ops_uring.cpp
# limit: 200
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"

# checks WHAT FAMILY PROTOCOL WINNER
checks() {
	say "$1"
	shift
	expect "ops_uring $*" timeout "$(patient 120)" "$VM_PROGS/ops_uring" "$@"
}

ip link set lo up
checks "TCP" 2 0 $TCP
ops_load bad_peer_s=0
checks "through the switch" $OFFLOAD 0 $TCP
checks "the wildcard's number" 2 $WILDCARD $TCP
loop_load
rises some offloaded checks "over the loopback protocol" $OFFLOAD 0 $LOOP
checks "the protocol alone" $OFFLOAD $LOOP $LOOP
all_gone
unload offload_loop krdma_ops
