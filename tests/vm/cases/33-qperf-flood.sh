#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: qperf's floods of Sends: the receiver waits for receives, and TCP slows the sender
# covers: kvp_soft/rx kvp_soft/queues
# limit: 240
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

# flood SIZE TEST: a side that has finished stops posting, and the other may be so far
# behind with its clock that its last Sends are refused: then it is tried again
flood() {
	local tries=4
	say "$2, $1 octets"
	until on A timeout -k 5 60 qperf --use_cm 1 -t 2 -m "$1" "$ADDR_B" "$2" > client.log 2>&1; do
		cat client.log
		tries=$((tries - 1))
		[ $tries -gt 0 ] || fail "no figure of $2 with $1 octets"
		sleep 4
	done
	cat client.log
	has "$2 gives a figure" '= +[0-9.]*[1-9]' client.log
}

hosts_up
serve server B 19765 qperf
for size in 64 4096 65536 1M; do
	flood $size rc_bw
	flood $size rc_bi_bw
done
waits() { rdma statistic show | grep -oE 'rx_waits [0-9]+' | awk '{ sum += $2 } END { print sum + 0 }'; }
[ "$(waits)" -gt 0 ] || fail "no receiver ever waited"
kill_hard server
