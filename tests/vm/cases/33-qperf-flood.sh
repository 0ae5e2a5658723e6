#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: qperf's floods of Sends: the receiver waits for receives, TCP slows the sender
# limit: 240
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

# a side that has finished stops posting, and the other may be behind with its clock
echo 20000 > /sys/module/krdma_soft/parameters/rx_wait_ms
hosts_up
serve server B 19765 qperf
for size in 64 4096 65536 1M; do
	run_on A 60 qperf --use_cm 1 -t 2 -m $size "$ADDR_B" rc_bw rc_bi_bw
	cat client.log
	has "rc_bw gives a figure" '= +[0-9.]*[1-9]' client.log
done
waits() { rdma statistic show | grep -oE 'rx_waits [0-9]+' | awk '{ sum += $2 } END { print sum + 0 }'; }
[ "$(waits)" -gt 0 ] || fail "no receiver ever waited"
kill_hard server
