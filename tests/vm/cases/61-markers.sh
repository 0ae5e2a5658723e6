#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: MPA markers in both directions: data of all sizes, perftest, odd MTUs, CRC off
# covers: kvp_soft/wire kvp_soft/tx kvp_soft/rx
# limit: 300
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

parameters=/sys/module/krdma/parameters
echo 1 > $parameters/mpa_markers
hosts_up
note_resources
for mtu in 1500 1281 9000; do
	say "MTU $mtu"
	on A ip link set vethA mtu $mtu
	on B ip link set vethB mtu $mtu
	pattern_pair 1048576
	for op in write read send; do
		perf_pair ib_${op}_bw -s 65536 -n 100 -q 2
	done
done
say "without CRC"
echo 0 > $parameters/mpa_crc
pattern_pair 1048576
check_no_leak
rdma statistic show | tr -d '\n' > counters
for wrong in rx_crc_errors rx_protocol_errors mpa_markers_refused; do
	! grep -qE "$wrong [1-9]" counters || fail "$wrong is not 0: $(cat counters)"
done
