#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: failing allocations while connections are set up, carry data and end
# covers: kal/cm kal/ib/cm
# limit: 300
# kernel: debug
# shellcheck source=tests/vm/guest/failslab.sh
. "${VM_LIB%/*}/failslab.sh"

hosts_up
note_resources
for every in $(few 25 100 7); do
	faults_on "$every"
	for size in 64 65000; do
		for round in {1..3}; do
			port=$((7000 + every * 10 + round))
			start server B rping -s -a "$ADDR_B" -p $port -C 3 -V -S $size
			if wait_for 3 listening B $port; then
				start client A rping -c -a "$ADDR_B" -p $port -C 3 -V -S $size
				survive 40 client
			fi
			# a server without a client waits, as it must
			kill -INT "${pid_of[server]}" 2> /dev/null || true
			wait_for 5 ended server || rid_of server
		done
	done
	faults_off "rping, each ${every}th"
	ended_how
	check_no_leak
done
serve server B 7471 rping -s -a "$ADDR_B" -p 7471 -C 10 -V
run_on A 60 rping -c -a "$ADDR_B" -p 7471 -C 10 -V
finish server 20
check_no_leak
