#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: MSG_ZEROCOPY over krdma_sdp: sends that do not wait, one notification for each, and not early, copies that say so, peers that refuse, do not read, reset or are killed, close with pending offers, RLIMIT_MEMLOCK; nothing stays pinned
# covers: sdp
# limit: 300
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"
# shellcheck source=tests/vm/guest/sdp_zcopy.sh
. "$VM_REPO/tests/vm/guest/sdp_zcopy.sh"

zcopy=$VM_REPO/tests/vm/guest/sdp_zerocopy.py

# figure NAME: of the client's last line
figure() { sed -n "s/^sends.* $1 \([0-9]*\).*/\1/p; s/^$1 \([0-9]*\) notified.*/\1/p" client.log; }

# pair MODE ARGUMENT...: what was sent is received, and each send was notified
pair() {
	rm -f no-room
	begin "$@"
	ends_well
	sent_is_received client server
	same "notifications" "$(figure sends)" "$(figure notified)"
}

large() { # SIZE
	pair stream "$1" 300000 700000 100000
	same "sends that were copied" 0 "$(figure copied)"
	at_least "octets without copies" $(($1 * 6 / 10)) "$(by tx-read)"
	at_least "offers" "$(figure sends)" "$(by zcopy-offers)"
	same "failures" 0 "$(by zcopy-failures)"
}

small() {
	pair stream 200000 1000 5000
	same "sends that were copied" "$(figure sends)" "$(figure copied)"
	same "offers" 0 "$(by zcopy-offers)"
}

wants_data() {
	pair small_reads 3000000
	at_least "refusals" 1 "$(by zcopy-refusals)"
	same "sends that were copied" 0 "$(figure copied)"
}

mixed() {
	pair mixed 3000000
	at_least "sends that were copied" 1 "$(figure copied)"
	at_least "octets without copies" 100000 "$(by tx-read)"
}

unread() {
	pair unread
	at_least "offers" 2 "$(by zcopy-offers)"
}

gone() { # HOW
	rm -f no-room
	begin gone "$1"
	if [ "$1" = killed ]; then
		wait_for 60 test -e no-room || fail "$(cat client.log)"
		kill_hard server
	fi
	finish client 60
	[ "$1" = killed ] || finish server 60
	has "the client learns it" '^ended' client.log
	same "notifications" "$(figure sends)" "$(figure notified)"
	all_sdp_gone
	wait_for 10 not_pinned || fail "$(pages_pinned) pages are pinned, $pinned_before were before"
}

closed() {
	begin closed
	ends_well
	sent_is_received client server
	at_least "offers" 2 "$(by zcopy-offers)"
}

killed() {
	begin killed
	wait_for 60 grep -q pending client.log || fail "$(cat client.log)"
	not_pinned && fail "nothing is pinned"
	kill_hard client
	kill_hard server
	all_sdp_gone
	wait_for 10 not_pinned || fail "$(pages_pinned) pages are pinned, $pinned_before were before"
}

rnic_goes() {
	begin killed
	wait_for 60 grep -q pending client.log || fail "$(cat client.log)"
	on A rdma link delete krdma0
	wait_for 10 not_pinned || fail "$(pages_pinned) pages are pinned, $pinned_before were before"
	kill_hard client
	kill_hard server
	all_sdp_gone
	rnic_add A
	wait_for 10 rnic_active krdma0
}

refused() {
	begin refused
	ends_well
	sent_is_received client server
	same "offers" 0 "$(by zcopy-offers)"
}

over_wire() {
	same_host 0
	large 2000000
	same_host 1
}

hosts_up
ops_load addresses=1
# blocking sends are copied: what is not, is by MSG_ZEROCOPY
sdp_load zcopy_thresh=0 zcopy_thresh_soft=0
note_resources
pinned_before=$(pages_pinned)

part "large sends" large 6000000
part "small sends are copied" small
part "a reader that wants Data" wants_data
part "sends of all kinds" mixed
part "no room" unread
part "the peer closes" gone close
part "the peer resets" gone reset
part "the peer is killed" gone killed
part "close with pending offers" closed
part "the sender is killed with pending offers" killed
part "an RNIC goes under pending offers" rnic_goes
part "the option, RLIMIT_MEMLOCK is 0" refused
part "over the wire" over_wire

sdp_ends
hosts_down
parts_verdict
