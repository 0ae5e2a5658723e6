#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: 1 % loss, duplication and reordering: data stays right
# covers: kvp_soft/tx kvp_soft/rx kvp_soft/stream
# limit: 300
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

hosts_up
for host in A B; do
	on $host tc qdisc add dev veth$host root netem delay 1ms 0.5ms loss 1% duplicate 0.5% reorder 5% 50%
done
serve server B 7471 rping -s -a "$ADDR_B" -p 7471 -C 50 -S 10000 -V
run_on A 120 rping -c -a "$ADDR_B" -p 7471 -C 50 -S 10000 -V
finish server 30
pattern_pair 1048576
perf_limit=120
for op in write read send; do
	perf_pair ib_${op}_bw -s 65536 -n 200
done
