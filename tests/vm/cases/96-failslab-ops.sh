#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: failing allocations below krdma_ops and a loopback protocol: sockets are made, listen, connect and are handed off
# covers: ops tests/offload
# limit: 400
# kernel: debug
# shellcheck source=tests/vm/guest/failslab.sh
. "${VM_LIB%/*}/failslab.sh"
# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"

fault_modules=(krdma_ops offload_loop)
checks=(names refusals flags poll shutdown reset options ports nonblocking waiters threads backlog reconnect abandoned)

# consume FAMILY PROTOCOL: a check may fail here, and one that waits for an end that was not made is
# ended by its own alarm
consume() {
	"$VM_PROGS/ops_check" "$1" "$2" $LOOP 127.0.0.1 "${checks[@]}" > "$VM_TMP/consumer.log" 2>&1 &
	pid_of[consumer]=$!
	survive 200 consumer
}

ip link set lo up
ops_load bad_peer_s=0
loop_load
for every in $(few 7 23 3); do
	faults_on "$every"
	consume $OFFLOAD 0
	consume $OFFLOAD $LOOP
	faults_off "each ${every}th"
	ended_how
	all_gone
done
say "and without"
expect "ops_check" timeout "$(patient 100)" "$VM_PROGS/ops_check" $OFFLOAD 0 $LOOP 127.0.0.1 "${checks[@]}"
all_gone
unload offload_loop krdma_ops
