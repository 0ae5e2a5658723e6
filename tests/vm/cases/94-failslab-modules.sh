#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: failing allocations while the modules are loaded and unloaded
# covers: kal/main kal/kdapl/main kvp_soft/main kal/core/registry
# limit: 120
# kernel: debug
# shellcheck source=tests/vm/guest/failslab.sh
. "${VM_LIB%/*}/failslab.sh"

# here the whole of insmod may fail, in the kernel's own code, too
set_fault require-start 0
set_fault require-end 0xffffffffffffffff
starve() { bash -c 'echo 1 > /proc/self/make-it-fail; exec "$@"' starve "$@"; }

expect "unload" rmmod_all
for every in $(few 100 300 50); do
	faults_begin "$every" Y
	loaded=0
	for _ in {1..15}; do
		starve insmod "$VM_MODULES/krdma.ko" 2> /dev/null || continue
		starve insmod "$VM_MODULES/krdma_soft.ko" 2> /dev/null &&
			starve insmod "$VM_MODULES/krdma_kdapl.ko" 2> /dev/null && loaded=$((loaded + 1))
		loaded krdma_kdapl && expect "unload" rmmod krdma_kdapl
		loaded krdma_soft && expect "unload" rmmod krdma_soft
		expect "unload" rmmod krdma
	done
	faults_off "$loaded of 15 times all modules loaded, each ${every}th"
done
expect "load" insmod_all
hosts_up
perf_pair ib_send_bw -n 50
