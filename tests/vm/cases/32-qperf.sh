#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: qperf rc tests over rdma_cm, including those with zero-depth queues
# covers: kal/ib kvp_soft/queues uapi/uvp_soft
# limit: 300
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

# run OPTION... TEST: its server may be later with listening than its client with
# connecting, which TCP refuses
run() {
	local tries=5 rc
	while :; do
		rc=0 tries=$((tries - 1))
		say "A: qperf --use_cm 1 -t 2 $*"
		on A timeout -k 5 60 qperf --use_cm 1 -t 2 "$ADDR_B" "$@" > client.log 2>&1 || rc=$?
		[ $rc = 0 ] && break
		if [ $tries = 0 ] || ! grep -q 'Event rejected' client.log; then
			cat client.log
			show_logs
			fail "'qperf $*' ended with $rc"
		fi
	done
	cat client.log
	has "$* gives a figure" '= +[0-9.]*[1-9]' client.log
}

hosts_up
serve server B 19765 qperf
# rc_bw and rc_bi_bw send as fast as they can to a peer that is to post receives as
# fast: without InfiniBand's RNR that is a race, which only long messages win
for test in rc_lat rc_rdma_read_lat rc_rdma_read_bw rc_rdma_write_poll_lat rc_rdma_write_lat \
	rc_fetch_add_mr rc_compare_swap_mr; do
	run $test
done
for test in rc_bw rc_rdma_read_bw rc_rdma_write_bw; do
	run -m 1M $test
done
run rc_lat
kill_hard server
