#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: siw as peer, both roles, with 1 % loss and reordering: compared data, rping, all perftest operations; CRC on and off, MPA revisions
# covers: tests/interop kvp_soft/rx kvp_soft/tx
# limit: 600
# shellcheck source=tests/vm/guest/siw.sh
. "${VM_LIB%/*}/siw.sh"

operations() {
	local op

	pattern_pair "$1"
	ping_pair 65535 5
	for op in write read send; do
		perf_pair ib_${op}_bw -s 65536 -n 50
		perf_pair ib_${op}_lat -s 64 -n 50
	done
}

siw_hosts_up
note_resources
for host in A B; do
	on $host tc qdisc add dev veth$host root netem delay 1ms 0.5ms loss 1% reorder 5% 50%
done
# as in 80
policy siw.peer_to_peer=1
perf_limit=120
both_roles operations 1048576
policy krdma.mpa_crc=0
both_roles operations 65535
policy krdma.mpa_revision=1 siw.mpa_version=1 siw.peer_to_peer=0
both_roles pattern_pair 65535
policy_default
check_no_leak
