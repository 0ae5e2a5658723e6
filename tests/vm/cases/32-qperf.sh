#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: qperf rc tests over rdma_cm, the ones with zero-depth queues too
# limit: 300
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

hosts_up
serve server B 19765 qperf
# rc_bw and rc_bi_bw send as fast as they can to a peer that is to post receives as
# fast: without InfiniBand's RNR that is a race, which only long messages win
for test in rc_lat rc_rdma_read_lat rc_rdma_read_bw rc_rdma_write_poll_lat; do
	run_on A 60 qperf --use_cm 1 -t 2 "$ADDR_B" $test
	cat client.log
	has "$test gives a figure" '= +[0-9.]*[1-9]' client.log
done
run_on A 60 qperf --use_cm 1 -t 2 -m 1M "$ADDR_B" rc_bw rc_rdma_read_bw
cat client.log
say "immediate data, which there is not, is refused and harms nobody"
for test in rc_rdma_write_lat rc_rdma_write_bw; do
	refuse "write with immediate" on A timeout "$(patient 60)" qperf --use_cm 1 -t 2 "$ADDR_B" $test
done
run_on A 60 qperf --use_cm 1 -t 2 "$ADDR_B" rc_lat
kill_hard server
