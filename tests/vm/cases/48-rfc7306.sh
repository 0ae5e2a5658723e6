#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: immediate data and atomic operations, checked one by one, with compared data
# covers: kvp_soft/wire kvp_soft/rx kvp_soft/tx uapi/uvp_soft
# limit: 420
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

hosts_up
# both ends are on host A: messages of several segments, as on a wire
on A ip link set lo mtu 1500
note_resources
both_ways run_on A 400 "$VM_PROGS/krdma_rfc7306" "$ADDR_A"
