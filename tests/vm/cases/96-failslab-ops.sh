#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: failing allocations below krdma_ops and a road of the tests: sockets are marked, listen, connect and change their road
# covers: ops tests/offload
# limit: 400
# kernel: debug
# shellcheck source=tests/vm/guest/failslab.sh
. "${VM_LIB%/*}/failslab.sh"
# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"

fault_modules=(krdma_ops offload_plain)
checks=(names refusals flags poll shutdown reset options ports nonblocking waiters threads backlog reconnect abandoned)

# consume FAMILY ADDRESS: a check may fail here, and one that waits for an end that was not made is
# ended by its own alarm
consume() {
	"$VM_PROGS/ops_check" "$1" 0 $TCP "$2" "${checks[@]}" > "$VM_TMP/consumer.log" 2>&1 &
	pid_of[consumer]=$!
	survive 200 consumer
}

# TCP's packets are lost, too, and its timers send the last ones again after minutes
ends_orphans() {
	wait_for 15 no_marks && return
	krdma offload sockets > orphans
	awk 'NR > 1 && $3 != "last-ack" && $3 != "fin-wait-1"' orphans | grep . && fail "these sockets do not end"
	krdma offload reset --end
}

ip link set lo up
ops_load
plain_load
mark_some
mark plain 127.0.0.3
for every in $(few 7 23 3); do
	faults_on "$every"
	consume 2 $MARKED
	consume 2 127.0.0.3
	consume $OFFLOAD $UNMARKED
	faults_off "each ${every}th"
	ended_how
	ends_orphans
	all_gone
done
say "and without"
by_road expect "ops_check" timeout "$(patient 100)" "$VM_PROGS/ops_check" 2 0 $TCP $MARKED "${checks[@]}"
all_gone
unload offload_plain krdma_ops
