#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: zero copy of krdma_sdp on adopted devices, rxe and siw, by Reads and by Writes, in both directions: data compared, counted by mechanism; signals, time limits, kills of either end; nothing stays pinned
# covers: sdp kvp_hw
# kernel: stock
# limit: 600
# shellcheck source=tests/vm/guest/siw.sh
. "${VM_LIB%/*}/siw.sh"
# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"
# shellcheck source=tests/vm/guest/sdp_zcopy.sh
. "$VM_REPO/tests/vm/guest/sdp_zcopy.sh"

# fewer where each takes longer
rounds=$((8 / VM_SLOW + 4))

all_of_it() {
	one_way 4000000
	both_ways 4000000
	begin vectors
	ends_well
	begin crossing 100000
	ends_well
}

interrupted() {
	begin interrupted 1.5
	ends_well
	sent_is_received client server
}

killed() {
	begin endless
	wait_for 60 grep -q connected client.log || fail "$(cat client.log)"
	sleep 1
	kill_hard client
	kill_hard server
	all_sdp_gone
	wait_for 10 not_pinned || fail "$(pages_pinned) pages are pinned, $pinned_before were before"
}

written() {
	asked $rounds 1000000
	asked_copies $rounds 300000
	begin both_ways $((4000000 / VM_SLOW))
	ends_well
	sent_is_received client server
	sent_is_received server client
}

# by_writes DEVICE: receives offer their memory
by_writes() {
	parameter krdma_sdp zcopy_write 1
	part "$1: Writes" written
	part "$1: Writes, signals and time limits" cancelled "$(either 3 8)"
	part "$1: Writes, the receiver is killed" killed_asked server
	part "$1: Writes, the sender is killed" killed_asked client
	parameter krdma_sdp zcopy_write 0
}

dmesg -n 7
hw_up
ops_load addresses=1
sdp_load zcopy_thresh_soft=65536 zcopy_thresh_adopted=65536
pinned_before=$(pages_pinned)

server_host=A client_host=A server_address=$ADDR_R
part "rxe" all_of_it
part "rxe: a signal" interrupted
part "rxe: a kill" killed
by_writes rxe
server_host=A client_host=B server_address=$ADDR_A
part "siw and krdma_soft" all_of_it
by_writes "krdma_soft to siw"
server_host=B client_host=A server_address=$ADDR_B
by_writes "siw to krdma_soft"

sdp_ends
hw_down
parts_verdict
