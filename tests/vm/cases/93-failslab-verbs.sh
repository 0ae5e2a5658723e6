#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: failing allocations below each verb: registration, queues, connections, teardown
# covers: kal/core/verbs kal/core/verbs_qp kal/core/memory kal/ib kvp_soft/queues kvp_soft/memory
# limit: 400
# kernel: debug
# shellcheck source=tests/vm/guest/failslab.sh
. "${VM_LIB%/*}/failslab.sh"

hosts_up
note_resources
mapfile -t checks < <("$VM_PROGS/krdma_verbs" -l)
round=0
for every in $(few 20 100 5); do
	faults_on "$every"
	round=$((round + 1))
	for n in "${!checks[@]}"; do
		check=${checks[n]}
		# through TCP and past it by turns, each check both ways in the end
		same_host $(((n + round) % 2))
		start verbs A "$VM_PROGS/krdma_verbs" -t "$check" "$ADDR_A"
		survive 60 verbs
		echo "$check: $(tail -1 "$VM_TMP/verbs.log")"
	done
	faults_off "krdma_verbs, each ${every}th"
	ended_how
	check_no_leak
done
both_ways run_on A 300 "$VM_PROGS/krdma_verbs" "$ADDR_A"
