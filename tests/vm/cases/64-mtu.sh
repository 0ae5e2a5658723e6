#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: MTU 576, 1500, 9000 and changes in the middle of a connection
# limit: 300
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

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

say "changes under traffic"
hosts_up 9000
traffic ib_send_bw -D 12 -s 65536
for mtu in 1500 600 9000 1400; do
	sleep 2
	on A ip link set vethA mtu $mtu
	on B ip link set vethB mtu $mtu
done
finish client 60
finish server 60
