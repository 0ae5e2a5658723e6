#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: client and server in the same namespace, over one RNIC
# covers: kvp_soft/direct kvp_soft/stream kal/cm
# limit: 180
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

hosts_up
export server_host=A
for op in write_bw read_bw send_bw write_lat read_lat send_lat; do
	perf_pair ib_$op -n 200
done
serve server A 7471 rping -s -a "$ADDR_A" -p 7471 -C 20 -V
run_on A 60 rping -c -a "$ADDR_A" -p 7471 -C 20 -V
finish server 20
