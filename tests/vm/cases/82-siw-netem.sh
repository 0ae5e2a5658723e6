#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: siw as peer, both roles, with 1 % loss and reordering, CRC on and off: data compared, perftest
# limit: 600
# shellcheck source=tests/vm/guest/siw.sh
. "${VM_LIB%/*}/siw.sh"

siw_hosts_up
note_resources
for host in A B; do
	on $host tc qdisc add dev veth$host root netem delay 1ms 0.5ms loss 1% reorder 5% 50%
done
perf_limit=120
both_roles pattern_pair 1048576
for op in write read send; do
	both_roles perf_pair ib_${op}_bw -s 65536 -n 50
done
policy krdma.mpa_crc=0
both_roles pattern_pair 65535
check_no_leak
