#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# Common part of the cases with krdma_ops and the roads of the tests.

export TCP=6 WILDCARD=258 PLAIN=259 FAIL=260 OFFLOAD=19
# addresses of this host: what the rules take, and beside it what they do not
export MARKED=127.0.0.2 UNMARKED=127.0.0.1
export plain_road=/sys/module/offload_plain/parameters

krdma() { LD_LIBRARY_PATH=$VM_REPO/build/ual "$VM_REPO/build/tools/krdma" "$@"; }
# offload_on HOST ARGUMENTS...
offload_on() { on "$1" env LD_LIBRARY_PATH="$VM_REPO/build/ual" "$VM_REPO/build/tools/krdma" offload "${@:2}"; }

# module PARAMETER...: each says what goes wrong itself
# with explicit=1: what sockets that ask by themselves do, where no rule takes them
ops_load() { expect "the switch loads" insmod "$VM_MODULES/krdma_ops.ko" explicit=1 "$@"; }
plain_load() { expect "the plain road loads" insmod "$VM_MODULES/tests/offload/offload_plain.ko" "$@"; }
fail_load() { expect "the failing one loads" insmod "$VM_MODULES/tests/offload/offload_fail.ko" "$@"; }

# mark [ACTION] [ADDRESS]: rules of this namespace for connect and listen, of all programs
mark() {
	local direction
	for direction in connect listen; do
		krdma offload add $direction ${2:+"$2"} use "${1:-any}" > /dev/null
	done
}
mark_on() {
	local direction
	for direction in connect listen; do
		offload_on "$1" add $direction use "${2:-any}" > /dev/null
	done
}
# the addresses MARKED, and ::1 for IPv6
mark_some() {
	mark "${1:-any}" 127.0.0.2
	mark "${1:-any}" ::1
}
unmark() { krdma offload flush; }

# references MODULE
references() { awk -v name="$1" '$1 == name { print $3 }' /proc/modules; }
unused() { [ "$(references "$1")" = 0 ]; }

# unload MODULE...: socks go after a grace period
unload() {
	local module
	for module; do
		wait_for 15 unused "$module" || fail "$module has $(references "$module") references"
		expect "$module unloads" timeout "$(patient 30)" rmmod "$module"
	done
}

# parameter MODULE NAME VALUE
parameter() { echo "$3" > "/sys/module/$1/parameters/$2"; }
fail_at() { parameter offload_fail at "$1"; }
fail_with() { parameter offload_fail error "$1"; }

# counter NAME [HOST]: of the initial namespace, or that host
counter() {
	local value
	value=$(if [ -n "${2:-}" ]; then offload_on "$2" stats --json; else krdma offload stats --json; fi |
		sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p")
	echo "${value:-0}"
}

# rises AMOUNT NAME COMMAND...: the counter goes up by that much, or by "some"
rises() {
	local amount_wanted=$1 counter_name=$2 counter_before
	shift 2
	counter_before=$(counter "$counter_name")
	"$@"
	set -- $(($(counter "$counter_name") - counter_before))
	if [ "$amount_wanted" = some ]; then
		[ "$1" -gt 0 ] || { krdma offload stats; fail "$counter_name stays at $counter_before"; }
	else
		same "$counter_name" "$amount_wanted" "$1"
	fi
}
# by_road COMMAND...: some of its bytes go by a road; by_tcp COMMAND...: none does
by_road() { rises some changed "$@"; }
by_tcp() { rises 0 changed "$@"; }

# each marked socket has a reference, and each road
roads() { awk '$1 == "offload_plain" || $1 == "offload_fail" || $1 == "krdma_sdp"' /proc/modules | wc -l; }
no_marks() { [ "$(references krdma_ops)" = "$(roads)" ]; }
all_gone() {
	wait_for 15 no_marks && return
	krdma offload sockets || true
	fail "krdma_ops has $(references krdma_ops) references, of $(roads) roads"
}

# listening_here PORT: in this namespace, TCP at least
listening_here() { [ -n "$(ss -Hltn "sport = :$1")" ]; }

# attempt WHAT COMMAND...: continues after a failure, so that all are known
attempts=0 attempts_failed=0
attempt() {
	local rc=0
	say "$1"
	shift
	attempts=$((attempts + 1))
	set +e
	(
		set -e
		"$@"
	)
	rc=$?
	set -e
	[ $rc = 0 ] || attempts_failed=$((attempts_failed + 1))
}
# attempt_if TEST WHAT COMMAND...: left out, with what the test says, where that fails
attempts_left_out=0
attempt_if() {
	if "$1" > there.log 2>&1; then
		attempt "${@:2}"
	else
		attempts_left_out=$((attempts_left_out + 1))
		say "left out: $2: $(tail -n 1 there.log)"
	fi
}
# checks WHAT COMMAND...: a program that counts its own
checks_passed=0
checks() {
	local what=$1 rc=0
	shift
	say "checks: $what"
	set +e
	(
		set -e
		"$@"
	) > checks.log 2>&1
	rc=$?
	set -e
	cat checks.log
	checks_passed=$((checks_passed + $(awk '/ passed, / { n = $1 } END { print n + 0 }' checks.log)))
	attempts=$((attempts + 1))
	[ $rc = 0 ] || attempts_failed=$((attempts_failed + 1))
}
# the case's last line, after the modules have gone
attempts_verdict() {
	[ $attempts_left_out = 0 ] || say "left out: $attempts_left_out parts"
	[ $attempts_failed = 0 ] || fail "$attempts_failed of $attempts parts failed"
	counted $((attempts + checks_passed)) 0
}
