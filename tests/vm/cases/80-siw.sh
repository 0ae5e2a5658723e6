#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: the kernel's siw as peer, both roles: compared data of all sizes, rping, all perftest operations
# covers: tests/interop kal/cm kvp_soft/wire kvp_soft/tx kvp_soft/rx
# limit: 600
# shellcheck source=tests/vm/guest/siw.sh
. "${VM_LIB%/*}/siw.sh"

operations() {
	local op

	pattern_pair 1048576
	ping_pair 65535 5
	for op in write read send; do
		perf_pair ib_${op}_bw -s 65536 -n 50
		perf_pair ib_${op}_lat -s 64 -n 50
	done
}

siw_hosts_up
note_resources
# ib_write_lat's server speaks first, which a responder may do only where the
# initiator sends a ready-to-receive frame (RFC 5044 7.1.2, RFC 6581 5)
policy siw.peer_to_peer=1
perf_limit=90
both_roles operations
check_no_leak
