#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: client and server in the same namespace, over one RNIC
# limit: 180
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

hosts_up
for op in write_bw read_bw send_bw write_lat read_lat send_lat; do
	perf_port=$((perf_port + 1))
	serve perf A $perf_port ib_$op -R -F -p $perf_port -n 200
	run_on A 60 ib_$op -R -F -p $perf_port -n 200 "$ADDR_A"
	finish perf 20
	perf_result client.log
done
serve server A 7471 rping -s -a "$ADDR_A" -p 7471 -C 20 -V
run_on A 60 rping -c -a "$ADDR_A" -p 7471 -C 20 -V
finish server 20
