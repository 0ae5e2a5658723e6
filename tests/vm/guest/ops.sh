#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# Common part of the cases with krdma_ops and the offload protocols of the tests.

export krun=$VM_REPO/build/krun/krun
# protocol numbers, and what socket() is asked for
export TCP=6 WILDCARD=258 LOOP=259 FAIL=260 OFFLOAD=19

krdma() { LD_LIBRARY_PATH=$VM_REPO/build/ual "$VM_REPO/build/tools/krdma" "$@"; }

# module PARAMETER...: each says what goes wrong itself
ops_load() { expect "the switch loads" insmod "$VM_MODULES/krdma_ops.ko" "$@"; }
loop_load() { expect "the loopback loads" insmod "$VM_MODULES/tests/offload/offload_loop.ko" "$@"; }
fail_load() { expect "the failing one loads" insmod "$VM_MODULES/tests/offload/offload_fail.ko" "$@"; }

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
	value=$(${2:+on "$2"} env LD_LIBRARY_PATH="$VM_REPO/build/ual" "$VM_REPO/build/tools/krdma" \
		offload stats --json | sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p")
	echo "${value:-0}"
}

# rises AMOUNT NAME COMMAND...: the counter goes up by that much, or by "some"
rises() {
	local amount_wanted=$1 counter_name=$2 counter_before
	shift 2
	counter_before=$(counter "$counter_name")
	"$@"
	set -- $(($(counter "$counter_name") - counter_before))
	[ "$1" -gt 0 ] || fail "$counter_name stays at $counter_before"
	[ "$amount_wanted" = some ] || same "$counter_name" "$amount_wanted" "$1"
}

# sockets NAME: of a protocol in /proc/net/protocols of this namespace
sockets() { awk -v name="$1" '$1 == name { print $3 }' /proc/net/protocols; }
no_sockets() {
	local name
	for name in LOOP FAIL; do [ "$(sockets $name)" = 0 ] || [ -z "$(sockets $name)" ] || return 1; done
}
all_gone() { wait_for 15 no_sockets || fail "sockets are left: LOOP $(sockets LOOP), FAIL $(sockets FAIL)"; }

# listening_here PORT: in this namespace, TCP at least
listening_here() { [ -n "$(ss -Hltn "sport = :$1")" ]; }
