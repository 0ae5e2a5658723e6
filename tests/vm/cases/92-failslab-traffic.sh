#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: failing allocations during transfers: they go on or end with an error
# covers: kvp_soft/tx kvp_soft/rx kvp_soft/stream
# limit: 300
# kernel: debug
# shellcheck source=tests/vm/guest/failslab.sh
. "${VM_LIB%/*}/failslab.sh"

hosts_up
note_resources
for op in $(few read write send); do
	for every in 100 10; do
		traffic "ib_${op}_bw" -D 20 -s 65536
		faults_on "$every"
		sleep 3
		faults_off "ib_${op}_bw, each ${every}th"
		survive 60 client
		kill -INT "${pid_of[server]}" 2> /dev/null || true
		wait_for 20 ended server || rid_of server
		check_no_leak
	done
done
ended_how
pattern_pair 65536
check_no_leak
