#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: failing allocations below a consumer of kDAPL that makes objects, connects and transfers
# covers: kal/kdapl
# limit: 400
# kernel: debug
# shellcheck source=tests/vm/guest/failslab.sh
. "${VM_LIB%/*}/failslab.sh"

fault_modules+=(krdma_kdapl)
module=$VM_MODULES/tests/consumers/krdma_kdat.ko
arguments=(rnic=krdma1 remote="$ADDR_B")

# what is made, and what ends by itself while memory is short
checks=("messages of all sizes" "write and read" "fast registration" "SRQ of two EPs" "abrupt close" "RSP"
	"reset and reconnect")

# consume SECONDS CHECK: a check may fail here; a load that failed is as good as one that was taken back
consume() {
	start consumer B insmod "$module" "${arguments[@]}" patience=1 only="\"$2\""
	survive "$1" consumer
	rmmod krdma_kdat 2> /dev/null || true
}

hosts_up
kdapl_load
note_resources
for every in $(few 30 90 7); do
	faults_on "$every"
	for check in "${checks[@]}"; do
		consume 100 "$check"
	done
	faults_off "each ${every}th"
	ended_how
	check_no_leak
done
say "and without"
for check in "${checks[@]}"; do
	expect "$check" on B insmod "$module" "${arguments[@]}" only="\"$check\""
	rmmod krdma_kdat
done
check_no_leak
