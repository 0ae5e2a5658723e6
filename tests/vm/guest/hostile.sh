#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# What the hostile-peer cases share: krdma_victim on host B, krdma_hostile on
# host A, and what must be true of the stack afterwards. Sourced by them.

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

start_ms=1500 reply_ms=2000
parameters=/sys/module/krdma/parameters
hostile_port=7471
# the RNIC's counters as the initial namespace sees them
hostile_counters=/proc/1/root/sys/class/infiniband/krdma1/ports/1/hw_counters

# counter HOST NAME: of that host's RNIC
counter() {
	on "$1" rdma -j statistic show link "$(dev_of "$1")/1" |
		grep -o "\"$2\":[0-9]*" | cut -d: -f2
}

# hosts with an RNIC and time-outs that a test can wait for
hostile_hosts() {
	hosts_up
	echo $start_ms > $parameters/mpa_request_timeout_ms
	echo $reply_ms > $parameters/mpa_reply_timeout_ms
	note_resources
}

hostile() {
	local rc=0
	on A timeout -k 5 "$(patient "${hostile_limit:-150}")" "$VM_PROGS/krdma_hostile" -p $hostile_port \
		--victim "$VM_TMP/victim.log" --counters $hostile_counters --start-ms $start_ms --reply-ms $reply_ms "$@" \
		> hostile.log 2>&1 || rc=$?
	cat hostile.log
	[ $rc = 0 ] && return
	echo "--- last words of the victim"
	tail -5 victim.log
	echo "--- failed cases"
	grep '^FAIL' hostile.log
	fail "krdma_hostile ended with $rc: $(grep -A 3 '^FAIL' hostile.log | sed -n 1,4p | tr -s '\n\t ' ' ')"
}

victim_up() {
	serve victim B $hostile_port "$VM_PROGS/krdma_victim" -b "$ADDR_B" -p $hostile_port
	wait_for 10 grep -q '"ready"' victim.log || fail "the victim is not ready"
}

# it ends in good order, with its memory as it should be, and nothing of it stays
victim_down() {
	kill -TERM "${pid_of[victim]}"
	finish victim 20
	has "the victim's last word" '"event":"quit".*"changed":""' victim.log
	check_no_leak
}

# moved HOST NAME...: these counters are not 0 any more
moved() {
	local host=$1 name
	shift
	for name in "$@"; do
		[ "$(counter "$host" "$name")" -gt 0 ] || fail "counter $name does not move"
	done
}

# attack OPTION...: one victim, one run of krdma_hostile
attack() {
	victim_up
	hostile --to "$ADDR_B" "$@"
	victim_down
	on B rdma statistic show link krdma1/1
}
