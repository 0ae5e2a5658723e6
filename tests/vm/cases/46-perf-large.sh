#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: perftest with 16 MiB messages and with many queue pairs
# covers: kvp_soft/tx kvp_soft/rx kvp_soft/memory
# limit: 300
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

hosts_up
perf_limit=120
for op in write read send; do
	perf_pair ib_${op}_bw -s 16777216 -n 5 -t 4
	perf_pair ib_${op}_bw -s 8192 -q 32 -n 200
done
