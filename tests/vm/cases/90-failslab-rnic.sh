#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: failing allocations while RNICs come and go: an RNIC is complete or absent
# covers: kal/core kal/ib/device kvp_soft/main
# limit: 180
# kernel: debug
# shellcheck source=tests/vm/guest/failslab.sh
. "${VM_LIB%/*}/failslab.sh"

net_up
added=0 refused=0
# an RNIC takes about 300
for every in $(few "1000 10" 300 100); do
	faults_on "$every"
	for _ in {1..8}; do
		if rnic_add A 2> /dev/null; then
			added=$((added + 1))
			rdma link show krdma0/1 > /dev/null
			ibv_devinfo -d krdma0 > devinfo 2>&1 || true
			on A rdma link delete krdma0 || fail "an RNIC cannot be deleted without memory"
		else
			refused=$((refused + 1))
		fi
		same "devices" "" "$(rdma_devices)"
	done
	faults_off "add and delete, each ${every}th"
done
say "$added added, $refused refused"
[ $added -gt 0 ] && [ $refused -gt 0 ] || fail "not both ways were taken"

say "the netdev goes while there is no memory"
for _ in {1..3}; do
	rnic_add A
	faults_on 5
	on A ip link delete vethA
	no_devices() { [ -z "$(rdma_devices)" ]; }
	expect "the RNIC goes with it" wait_for 15 no_devices
	set_fault probability 0
	hosts_down
	net_up
done
rnic_add A
rnic_add B
wait_for 10 rnic_active krdma0
wait_for 10 rnic_active krdma1
perf_pair ib_send_bw -n 50
