#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: a protocol fails at each entry point: a wildcard socket continues with TCP and counts why, one of the protocol alone reports the error; protocols that go under sockets in each state; all orders of unloading
# covers: ops tests/offload tests/vm/progs/ops_fail.py
# limit: 400
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"

export VM_SLOW
tests=0
program() { timeout "$(patient 60)" python3 "$VM_REPO/tests/vm/progs/ops_fail.py" "$@"; }

# in the background, to be killed
runs() { exec python3 "$VM_REPO/tests/vm/progs/ops_fail.py" "$@"; }

# gives WHAT WANTED ARGUMENTS...: what the program says
gives() {
	local what=$1 wanted=$2
	shift 2
	tests=$((tests + 1))
	same "$what" "$wanted" "$(program "$@")"
}

ip link set lo up
ops_load bad_peer_s=0 connect_budget_ms=400

say "registrations that are wrong"
fail_load wrong=1
unload offload_fail

runs serve 9000 &
server=$!
wait_for 20 listening_here 9000
fail_load

say "nothing fails, nothing is offered"
rises 1 not-offered gives "wildcard" "$TCP ping" client $WILDCARD 9000
gives "alone" EHOSTUNREACH client $FAIL 9000
gives "a pair" "$TCP pong" pair $WILDCARD

say "socket, bind, listen"
for at in create bind listen; do
	[ $at = create ] && name=socket || name=$at
	fail_at $at
	for error in ENOMEM:12 EADDRINUSE:98; do
		fail_with "${error#*:}"
		rises some $at gives "$at fails, wildcard" "$TCP pong" pair $WILDCARD
		gives "$at fails, alone" "${error%:*}" call "$name" $FAIL 9001
	done
done
all_gone

say "connect that fails at once, or later"
for at in connect async; do
	fail_at $at
	for error in EIO:5:error ECONNREFUSED:111:refused ETIMEDOUT:110:timeout ENETUNREACH:101:error; do
		IFS=: read -r name number reason <<< "$error"
		fail_with "$number"
		for how in client later; do
			rises 1 "$reason" gives "$at, $name, $how, wildcard" "$TCP ping" $how $WILDCARD 9000
			gives "$at, $name, $how, alone" "$name" $how $FAIL 9000
		done
	done
done
fail_at offers
fail_with 101
rises 1 not-offered gives "offers, wildcard" "$TCP ping" client $WILDCARD 9000
gives "offers, alone" ENETUNREACH client $FAIL 9000

say "no answer: the budget ends it"
fail_at never
for how in client later; do
	rises 1 timeout gives "never, $how" "$TCP ping" $how $WILDCARD 9000
done
# with TCP's error, when TCP fails, too
gives "TCP is refused at last" ECONNREFUSED later $WILDCARD 9099
all_gone

say "a peer that failed is not asked again for a while"
parameter krdma_ops bad_peer_s 60
gives "never, the first time" "$TCP ping" client $WILDCARD 9000
rises 1 bad-peer gives "never, the second time" "$TCP ping" client $WILDCARD 9000
parameter krdma_ops bad_peer_s 0

say "a listener that says what is not true"
fail_at none
runs serve 9002 $WILDCARD &
other=$!
wait_for 20 listening_here 9002
for _ in {1..5}; do
	parameter offload_fail ring 7
	gives "TCP at the same listener" "$TCP ping" client $TCP 9002
done
fail_at accept
fail_with 71
parameter offload_fail ring 3
gives "TCP, while accept() of the protocol fails" "$TCP ping" client $TCP 9002
rm -f listening go
runs call accept $FAIL 9003 > accept.log &
accepting=$!
wait_for 20 test -e listening
parameter offload_fail ring 1
touch go
wait $accepting
same "accept() fails, alone" EPROTO "$(cat accept.log)"
kill $other
wait $other || true
all_gone

say "a protocol goes under sockets that have no connection"
fail_at never
parameter krdma_ops connect_budget_ms 600000
rm -f go held
runs hold > hold.log &
holding=$!
wait_for 20 test -e held
expect "it unloads" timeout "$(patient 60)" rmmod offload_fail
touch go
wait $holding
cat hold.log
tests=$((tests + 8))
for state in new bound listening connecting; do
	has "wildcard, $state" "^wildcard $state: \($TCP, 'ping'\)$" hold.log
	has "alone, $state" "^alone $state: ENETDOWN$" hold.log
done
parameter krdma_ops connect_budget_ms 400

say "a protocol stays as long as it has a connection"
loop_load
for protocol in $WILDCARD $LOOP; do
	rm -f go held
	runs established "$protocol" > established.log &
	holding=$!
	wait_for 20 test -e held
	refuse "rmmod under a connection" rmmod offload_loop
	refuse "rmmod of the switch" rmmod krdma_ops
	touch go
	wait $holding
	same "the connection" "$LOOP last" "$(cat established.log)"
	tests=$((tests + 3))
	all_gone
done
kill $server
wait $server || true

say "all orders of unloading"
fail_load
unload offload_loop offload_fail krdma_ops
for order in "offload_loop offload_fail" "offload_fail offload_loop"; do
	for load in "loop_load fail_load" "fail_load loop_load"; do
		ops_load
		for module in $load; do $module; done
		refuse "the switch goes last" rmmod krdma_ops
		same "a pair" "$LOOP pong" "$(program pair $WILDCARD)"
		# shellcheck disable=SC2086 # two words
		unload $order krdma_ops
		tests=$((tests + 2))
	done
done

say "a protocol comes and goes by itself while listeners stay"
ops_load bad_peer_s=0
runs serve 9004 $WILDCARD &
server=$!
wait_for 20 listening_here 9004
for _ in 1 2 3; do
	gives "without the protocol" "$TCP ping" client $WILDCARD 9004
	loop_load
	gives "with it" "$LOOP ping" client $WILDCARD 9004
	wait_for 10 unused offload_loop || fail "references stay"
	expect "it goes under a listener" timeout "$(patient 60)" rmmod offload_loop
done
kill $server
wait $server || true
unload krdma_ops
counted $tests 0
