#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# What the cases of SDP's zero copy share. Sourced after lib.sh and ops.sh.

# shellcheck source=tests/vm/guest/sdp.sh
. "${VM_LIB%/*}/sdp.sh"

# the case notes what is pinned before it begins
pinned_before=0
not_pinned() { [ "$(pages_pinned)" = "$pinned_before" ]; }

note_counters() { cp $sdp_counters stat.before; }
# by NAME: what a counter has risen by
by() { awk -v name="$1" '$1 == name { n = $2 - n } END { print n + 0 }' stat.before "$sdp_counters"; }

server_host=B client_host=A server_address=$ADDR_B
zcopy=$VM_REPO/tests/vm/guest/sdp_zcopy.py

# begin MODE ARGUMENT...: both ends
begin() {
	local mode=$1
	shift
	note_counters
	start server "$server_host" python3 "$zcopy" server "$mode" "$server_address" "$@"
	wait_for 60 grep -q listening server.log || fail "$(cat server.log)"
	start client "$client_host" python3 "$zcopy" client "$mode" "$server_address" "$@"
}

ends_well() {
	finish client 240
	finish server 60
	say "tx-copied $(by tx-copied) tx-read $(by tx-read) rx-read $(by rx-read) tx-written $(by tx-written) rx-written $(by rx-written) sinks $(by zcopy-sinks) cancels $(by zcopy-cancels) offers $(by zcopy-offers) refusals $(by zcopy-refusals) cuts $(by zcopy-cuts) failures $(by zcopy-failures)"
	all_sdp_gone
	wait_for 10 not_pinned || fail "$(pages_pinned) pages are pinned, $pinned_before were before"
	same "octets read at both ends" "$(by tx-read)" "$(by rx-read)"
	same "octets written at both ends" "$(by tx-written)" "$(by rx-written)"
}

# sent_is_received FROM TO
sent_is_received() {
	local sent
	sent=$(sed -n 's/^sent //p' "$1.log")
	[ -n "$sent" ] || fail "$1 says nothing"
	same "from the $1 to the $2" "$sent" "$(sed -n 's/^received //p' "$2.log")"
}

# at_least WHAT LEAST VALUE, at_most WHAT MOST VALUE
at_least() { [ "$3" -ge "$2" ] || fail "$1: $3, less than $2"; }
at_most() { [ "$3" -le "$2" ] || fail "$1: $3, more than $2"; }

# programs of the tests need long for what is not SDP's
patience() { parameter krdma_sdp zcopy_patience_ms "$1"; }

one_way() { # SIZE
	patience 20000
	begin one_way "$1"
	ends_well
	sent_is_received client server
	patience 200
	at_least "octets without copies" $(($1 * 7 / 10)) "$(by tx-read)"
	at_most "octets with copies" $(($1 * 3 / 10)) "$(by tx-copied)"
	same "failures" 0 "$(by zcopy-failures)"
}

both_ways() { # SIZE
	patience 20000
	begin both_ways "$1"
	ends_well
	sent_is_received client server
	sent_is_received server client
	patience 200
	at_least "octets without copies" "$1" "$(by tx-read)"
}

# the peer's Writes: zcopy_write is 1

# asked ROUNDS SIZE: the receiver waits first, so that the sender writes
asked() {
	patience 20000
	begin asked "$@"
	ends_well
	patience 200
	# the first ones have no pipelined mode yet
	at_least "octets written" $((($1 - 3) * $2)) "$(by tx-written)"
	same "failures" 0 "$(by zcopy-failures)"
}

# asked_copies ROUNDS SIZE: ... and the sender copies, so that it has messages before it has much to write
asked_copies() {
	begin asked "$@" 0
	ends_well
	same "octets read" 0 "$(by tx-read)"
}

# cancelled SECONDS: again where none of its receives was cancelled, or none was written to; both
# are chances, small ones where the processors have other work
cancelled() {
	local tries
	patience 20000
	for ((tries = 0; tries < 10; tries++)); do
		begin cancelled "$1"
		ends_well
		sent_is_received client server
		[ "$(by zcopy-cancels)" = 0 ] || [ "$(by tx-written)" = 0 ] || break
	done
	patience 200
	at_least "cancels" 1 "$(by zcopy-cancels)"
	at_least "octets written" 1 "$(by tx-written)"
}

# killed_asked NAME: while memory is with the peer, or is written to
killed_asked() {
	local before
	patience 20000
	begin endless_asked
	wait_for 60 grep -q connected client.log || fail "$(cat client.log)"
	before=$(by tx-written)
	wait_for 60 flows_written "$before" || fail "little is written: $(($(by tx-written) - before)) octets"
	kill_hard "$1"
	[ "$1" = client ] && rid_of server || rid_of client
	patience 200
	all_sdp_gone
	wait_for 10 not_pinned || fail "$(pages_pinned) pages are pinned, $pinned_before were before"
}
flows_written() { [ "$(by tx-written)" -gt $(($1 + 3000000)) ]; }
