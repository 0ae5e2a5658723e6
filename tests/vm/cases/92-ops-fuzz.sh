#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: random calls on marked sockets from threads that close under each other, in processes that are killed, while rules and roads come, fail and go
# covers: ops tests/offload tests/vm/progs/ops_fuzz.cpp
# limit: 240
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"

# without what only debuggers read, they load quickly, and so more often
for module in offload_plain offload_fail; do
	strip --strip-debug -o $module.ko "$VM_MODULES/tests/offload/$module.ko"
done
plain=./offload_plain.ko failing=./offload_fail.ko

ip link set lo up
modprobe -q tls || true
ops_load bad_peer_s=1
mark any
mark plain 192.0.2.0/24
insmod "$plain"
seed=${OPS_SEED:-$RANDOM}
seconds=$([ -n "${VM_QUICK:-}" ] && echo 20 || echo 60)
say "seed $seed, $seconds s"
RANDOM=$seed
mkfifo pause
comes=0 goes=0 refused=0
places=(none offers slower open async never lie passive up send break)

# go MODULE: it goes, or is refused. No socket holds it up for long, because the processes are killed.
go() {
	local begin=$SECONDS rc=0 remover
	rmmod "$1" 2> rmmod.log &
	remover=$!
	if ! wait_for 10 process_gone $remover; then
		say "$1 does not go"
		cat /proc/$remover/stack /proc/net/protocols
		krdma offload roads
		krdma offload sockets
		wait_for 60 process_gone $remover || fail "$1 does not go"
		fail "$1 took $((SECONDS - begin)) s to go"
	fi
	wait $remover || rc=$?
	[ $rc = 0 ] && goes=$((goes + 1)) || refused=$((refused + 1))
}

process_gone() { ! kill -0 "$1" 2> /dev/null; }

# swap MODULE PARAMETER...: it comes, or goes if it is there
swap() {
	local name=${1##*/}
	name=${name%.ko}
	if is_there "$name"; then
		go "$name"
	elif insmod "$@" 2> insmod.log; then
		comes=$((comes + 1))
	fi
}

# rule: one more, or none
rule() {
	case $((RANDOM % 6)) in
	0) krdma offload flush ;;
	1) krdma offload reset ;;
	2) krdma offload reset --end ;;
	3) krdma offload add connect port $((RANDOM % 4 + 9301)) use fail ;;
	4) krdma offload add listen port $((RANDOM % 4 + 9301)) use plain ;;
	5) mark any ;;
	esac > rule.log 2>&1 || true
}

# without a process: those are slow to start beside the fuzzer
is_there() { [ -d "/sys/module/$1" ]; }

rounds=0
# fuzz: random calls for a while; its threads are busy all the time, and roads and rules come and go meanwhile
fuzz() {
	local pid choice begin
	nice -n 15 "$VM_PROGS/ops_fuzz" "$seconds" "$seed" > fuzz.log 2>&1 &
	pid=$!
	while kill -0 $pid 2> /dev/null; do
		read -rt 0.$((RANDOM % 4 + 1)) _ <> pause || true
		rounds=$((rounds + 1)) choice=$((RANDOM % 8)) begin=$SECONDS
		case $choice in
		0 | 1) swap "$plain" delay_ms=$((RANDOM % 3 * 20)) hold=$((RANDOM % 2)) ;;
		2 | 3) swap "$failing" delay_ms=$((RANDOM % 100)) ;;
		4) ! is_there offload_fail || fail_at "${places[RANDOM % ${#places[@]}]}" ;;
		5) ! is_there offload_plain || parameter offload_plain release $((RANDOM % 3 + 1)) ;;
		6) ! is_there offload_plain || parameter offload_plain buffer $((RANDOM * 8 + 1)) ;;
		7) rule ;;
		esac
		[ $((SECONDS - begin)) -lt 3 ] || say "choice $choice took $((SECONDS - begin)) s"
	done
	wait $pid || { cat fuzz.log; fail "the fuzzer ended with an error, seed $seed"; }
	cat fuzz.log
}

# on a slow machine a road comes only now and then
for part in 1 2 3 4 5; do
	fuzz
	[ $comes -le 3 ] || break
	seed=$((seed + part))
done
say "$rounds rounds: roads came $comes times, went $goes times, and $refused times one did not go"
[ $comes -gt 3 ] || fail "hardly a road comes"
has "calls" '^socket [0-9]+' fuzz.log

unmark
all_gone
for module in offload_plain offload_fail krdma_ops; do
	! loaded $module || unload $module
done
counted 1 0
