#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# What the cases of krdma_sdp share. Sourced after lib.sh and ops.sh.

# sdp_load PARAMETER...
sdp_load() {
	expect "kDAPL loads" kdapl_load
	expect "SDP loads" insmod "$VM_MODULES/krdma_sdp.ko" "$@"
	mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
}

export sdp_counters=/sys/kernel/debug/krdma_sdp/counters

# a counter of the module
sdp_stat() { awk -v name="$1" '$1 == name { print $2 }' $sdp_counters; }
sdp_gone() { [ "$(sdp_stat sockets)" = 0 ]; }
all_sdp_gone() { wait_for 20 sdp_gone || fail "$(sdp_stat sockets) connections of SDP are left"; }

# sdp_rises NAME COMMAND...
sdp_rises() {
	local name=$1 before
	before=$(sdp_stat "$name")
	shift
	"$@"
	[ "$(sdp_stat "$name")" -gt "$before" ] || fail "$name stays at $before"
}

# offload HOST ARGUMENT...: the switch of that host
offload() {
	local host=$1
	shift
	on "$host" env LD_LIBRARY_PATH="$VM_REPO/build/ual" "$VM_REPO/build/tools/krdma" offload "$@"
}

# sdp_has HOST NUMBER: so many connections there use SDP
sdp_sockets() { offload "$1" sockets | grep -c '\bsdp\b' || true; }
sdp_has() { [ "$(sdp_sockets "$1")" -ge "$2" ]; }

# sdp_rules PORTS [HOST...]: connections to and at these ports use SDP
sdp_rules() {
	local ports=$1 host
	shift
	[ $# -gt 0 ] || set -- A B
	for host; do
		offload "$host" add connect port "$ports" use sdp
		offload "$host" add listen port "$ports" use sdp
	done
}

no_rules() {
	local host
	for host in A B; do offload $host flush; done
}

# sdp_ends: no end has broken the protocol, and the modules go
sdp_ends() {
	cat $sdp_counters
	same "faults of the protocol" 0 "$(sdp_stat faults)"
	unload krdma_sdp krdma_ops
}

# processes of the hosts and of the case, itself included; a host that is the initial namespace has all
strays() {
	local host initial
	initial=$(ip netns identify 1)
	for host in hostA hostB; do
		[ "$initial" = $host ] || ip netns pids $host
	done
	ps -o pid= -s "$(ps -o sid= -p $$ | tr -d ' ')" | tr -d ' '
}

# part WHAT COMMAND...: continues after a failure, so that all are known
tests=0 failed=0
part() {
	local rc=0
	say "$1"
	shift
	tests=$((tests + 1))
	set +e
	(set -e; "$@")
	rc=$?
	set -e
	[ $rc = 0 ] && return
	failed=$((failed + 1))
	tr '\n' ' ' < $sdp_counters
	# what it has left would disturb the next one
	parameter krdma_sdp zcopy_patience_ms 200
	strays | grep -vxE "$$|$PPID|$BASHPID" | xargs -r kill -9 || true
	wait_for 20 sdp_gone || true
}

parts_verdict() {
	[ $failed = 0 ] || fail "$failed of $tests parts failed"
	counted $tests 0
}
