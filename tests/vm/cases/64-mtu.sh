#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: MTU 576, 1500, 9000 and changes during a connection: compared data, FPDUs of the new size
# covers: kvp_soft/tx kal/core/netdev kal/cm/llp
# limit: 420
# shellcheck source=tests/vm/guest/mtu.sh
. "${VM_LIB%/*}/mtu.sh"

for mtu in 576 1500 9000; do
	say "MTU $mtu"
	# IPv6 wants 1280
	if [ $mtu -lt 1280 ]; then
		net_up 1500
		on A ip link set vethA mtu $mtu
		on B ip link set vethB mtu $mtu
		rnic_add A
		rnic_add B
		wait_for 10 rnic_active krdma0
		wait_for 10 rnic_active krdma1
	else
		hosts_up $mtu
	fi
	for op in write read send; do
		perf_pair ib_${op}_bw -s 100000 -n 100
	done
	pattern_pair 1048576
	hosts_down
done

set_mtu() {
	on A ip link set vethA mtu "$1"
	on B ip link set vethB mtu "$1"
}

say "changes under traffic, with data compared beside it"
hosts_up 9000
traffic ib_send_bw -D $((300 * VM_SLOW)) -s 65536
serve pattern B 7300 "$VM_PROGS/krdma_pattern" -s -p 7300 -m 8388608 "$ADDR_B"
start checked A "$VM_PROGS/krdma_pattern" -p 7300 -m 8388608 "$ADDR_B"
for mtu in $(few 600 1400); do
	resized "$mtu" set_mtu "$mtu"
done
resized 9000 set_mtu 9000
# a path MTU below the link's: above it nothing would arrive
resized 1200 on A ip route add "$ADDR_B" dev vethA mtu 1200
resized 9000 on A ip route del "$ADDR_B"
# without the load what is left of the data is through sooner
kill_hard client server
finish checked 120
finish pattern 60
