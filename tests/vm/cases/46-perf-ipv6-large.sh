#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: perftest over IPv6, 16 MiB messages, many queue pairs
# limit: 240
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

hosts_up
perf_limit=120
for op in write read send; do
	perf_pair ib_${op}_bw -s 16777216 -n 5 -t 4
	perf_pair ib_${op}_bw -s 8192 -q 32 -n 200
	serve perf B 18600 ib_${op}_bw -R -F -p 18600 --ipv6-addr -n 100
	run_on A 60 ib_${op}_bw -R -F -p 18600 --ipv6-addr -n 100 "$ADDR6_B"
	finish perf 20
	perf_result client.log
done
