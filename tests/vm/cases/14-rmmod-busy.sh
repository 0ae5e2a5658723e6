#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: rmmod of the provider with the device open and under load
# covers: kal/main kal/core kal/ib kvp_soft/main
# limit: 240
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

say "a process holds the device open and blocks in ibv_get_async_event"
hosts_up
start holder A ibv_asyncwatch -d krdma0
wait_for 10 grep -q "async event" holder.log || { cat holder.log; fail "ibv_asyncwatch does not run"; }
expect "unload krdma_soft" timeout "$(patient 60)" rmmod krdma_soft
expect "unload krdma with the file still open" timeout "$(patient 60)" rmmod krdma
rid_of holder
hosts_down
expect "load again" insmod_all

say "under load, three times"
for op in ib_write_bw ib_read_bw ib_send_bw; do
	hosts_up
	traffic $op -D 120 -q 2
	expect "unload krdma_soft under $op" timeout "$(patient 60)" rmmod krdma_soft
	expect "unload krdma" timeout "$(patient 60)" rmmod krdma
	rid_of client server
	hosts_down
	expect "load again" insmod_all
done
hosts_up
perf_pair ib_write_bw -s 65536 -n 100
