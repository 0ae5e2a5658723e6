#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: failing allocations below sockets of SDP that listen, connect and transfer, with copies and without
# covers: sdp kal/kdapl
# limit: 500
# kernel: debug
# shellcheck source=tests/vm/guest/failslab.sh
. "${VM_LIB%/*}/failslab.sh"
# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"
# shellcheck source=tests/vm/guest/sdp.sh
. "$VM_REPO/tests/vm/guest/sdp.sh"

fault_modules+=(krdma_kdapl krdma_sdp)
stress=$VM_REPO/tests/vm/guest/sdp_stress.py

# rounds HOST ADDRESS: a round may fail; data may not be wrong, and no round may hang
rounds() {
	start short "$1" python3 "$stress" short "$2" 6
	survive 240 short
	! grep -q 'WRONG DATA' short.log || fail "wrong data"
	say "$(tail -1 short.log)"
}

hosts_up
ops_load addresses=1
sdp_load zcopy_thresh_soft=65536 connect_timeout_s=5 close_timeout_s=5
note_resources
for every in $(few 40 150 40 11 3); do
	faults_on "$every"
	rounds B "$ADDR_B"
	rounds A "$ADDR_A"
	faults_off "each ${every}th"
	ended_how
	all_sdp_gone
	check_no_leak
done
say "and without"
for host in A B; do
	expect "$host" on $host python3 "$stress" short "$(addr_of $host)" 4
	has "all rounds are whole" '^whole 4 of 4$' expect
done
all_sdp_gone
check_no_leak
sdp_ends
hosts_down
