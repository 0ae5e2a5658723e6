#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: receives of krdma_sdp that let the peer write into their memory: data compared, counted by mechanism; signals, time limits and kills at any moment, memory that was given back stays as it is, RLIMIT_MEMLOCK, little data, crossing advertisements; an independent decoder judges it; nothing stays pinned
# covers: sdp tests/sdp
# limit: 600
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"
# shellcheck source=tests/vm/guest/sdp_zcopy.sh
. "$VM_REPO/tests/vm/guest/sdp_zcopy.sh"

judge=$VM_REPO/build/sdp/sdp_judge
# fewer where each takes longer
rounds=$((8 / VM_SLOW + 4))
small=$((300 / VM_SLOW))

crossing() {
	begin both_ways "$1"
	ends_well
	sent_is_received client server
	sent_is_received server client
}

little() {
	begin little $small
	ends_well
	same "octets written" 0 "$(by tx-written)"
	# after 1, 2, 4 ... receives at each end, of 64 one at last
	at_least "memory that was offered" 2 "$(by zcopy-sinks)"
	at_most "memory that was offered" $((14 + small / 32)) "$(by zcopy-sinks)"
}

off() {
	begin off
	ends_well
	same "memory that was offered" 0 "$(by zcopy-sinks)"
}

# one end without the right to pin
poor() {
	begin poor
	ends_well
	same "octets written" 0 "$(by tx-written)"
	at_least "failures" 1 "$(by zcopy-failures)"
}

module_off() {
	parameter krdma_sdp zcopy_write 0
	begin asked 5 200000
	ends_well
	parameter krdma_sdp zcopy_write 1
	same "memory that was offered" 0 "$(by zcopy-sinks)"
}

rnic_goes() {
	begin endless_asked
	wait_for 60 grep -q connected client.log || fail "$(cat client.log)"
	wait_for 60 flows_written 0 || fail "nothing is written"
	on A rdma link delete krdma0
	wait_for 30 grep -q ended server.log || fail "the server does not learn it"
	rid_of client server
	all_sdp_gone
	wait_for 10 not_pinned || fail "$(pages_pinned) pages are pinned, $pinned_before were before"
	rnic_add A
	wait_for 10 rnic_active krdma0
}

# what is said on the wire
captured() {
	same_host 0
	start dump A dumpcap -q -P -i vethA -f "tcp port 1017" -w "$VM_TMP/write.pcap"
	wait_for 30 grep -q 'File:' dump.log || { cat dump.log; fail "dumpcap does not capture"; }
	asked 6 200000
	asked_copies 4 200000
	cancelled $((3 * VM_SLOW))
	crossing 2000000
	sleep 1
	kill -INT "${pid_of[dump]}"
	wait "${pid_of[dump]}" || true
	same_host 1
	"$judge" write.pcap > write.txt || { tail -40 write.txt; cp write.pcap "$VM_OUT/"; fail "violations"; }
	say "$(wc -l < write.txt) lines; $(tail -1 write.txt)"
	for pattern in ModeChange SinkAvail RdmaWrCompl SinkAvailCancel SinkCancelAck; do
		has "the capture has $pattern" "$pattern" write.txt
	done
}

hosts_up
ops_load addresses=1
sdp_load zcopy_thresh_soft=65536 zcopy_write=1
note_resources
pinned_before=$(pages_pinned)

part "from pinned memory" asked $rounds 1000000
part "from copies" asked_copies $rounds 300000
part "signals and time limits" cancelled "$(either 4 12)"
part "both ways" crossing $((6000000 / VM_SLOW))
part "little data" little
part "the option" off
part "the parameter" module_off
part "RLIMIT_MEMLOCK is 0" poor
part "the receiver is killed" killed_asked server
part "the sender is killed" killed_asked client
part "an RNIC goes" rnic_goes
part "on the wire" captured

sdp_ends
hosts_down
parts_verdict
