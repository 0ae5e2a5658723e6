#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: kill -9 of either side during traffic: the other side ends, and no object stays
# covers: kal/core/resource kal/cm kal/ib kvp_soft/qp
# limit: 300
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

hosts_up
note_resources
kill_in_traffic write read send

say "while a connection is being set up"
for _ in {1..10}; do
	serve server B 7471 rping -s -P -a "$ADDR_B" -p 7471
	start client A rping -c -a "$ADDR_B" -p 7471 -C 1000
	sleep "0.0$((RANDOM % 9))"
	kill_hard client server
done
check_no_leak
perf_pair ib_write_bw -n 200
