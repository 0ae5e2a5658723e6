#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: ib_atomic_bw and ib_atomic_lat: both operations, both directions, several queue pairs
# covers: kvp_soft/rx kvp_soft/memory kvp_soft/queues uapi/uvp_soft
# limit: 420
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

hosts_up
note_resources
perf_limit=90
for type in FETCH_AND_ADD CMP_AND_SWAP; do
	perf_pair ib_atomic_bw -A $type -n 1000
	perf_pair ib_atomic_bw -A $type -n 200 -q 4
	perf_pair ib_atomic_bw -A $type -n 200 -b
	perf_pair ib_atomic_bw -A $type -n 200 -o 1
	perf_pair ib_atomic_lat -A $type -n 500
done
perf_pair ib_atomic_bw -n 200 -e
perf_pair ib_atomic_lat -n 200 -e
perf_pair ib_atomic_bw -D 3
check_no_leak
