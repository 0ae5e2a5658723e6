#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# What the cases of krdma_sdp share. Sourced after lib.sh and ops.sh.

# sdp_load PARAMETER...
sdp_load() {
	expect "kDAPL loads" kdapl_load
	expect "SDP loads" insmod "$VM_MODULES/krdma_sdp.ko" "$@"
}

# of /proc/net/sdp_stat
sdp_stat() { awk -v name="$1" '$1 == name { print $2 }' /proc/net/sdp_stat; }
sdp_sockets() { { on A cat /proc/net/sdp; on B cat /proc/net/sdp; cat /proc/net/sdp; } | grep -cv '^local'; }
sdp_gone() { [ "$(sdp_sockets)" = 0 ]; }
all_sdp_gone() {
	wait_for 20 sdp_gone && return
	on A cat /proc/net/sdp
	on B cat /proc/net/sdp
	fail "$(sdp_sockets) sockets of SDP are left"
}

# sdp_ends: no end has broken the protocol, and the modules go
sdp_ends() {
	cat /proc/net/sdp_stat
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
	tr '\n' ' ' < /proc/net/sdp_stat
	# what it has left would disturb the next one
	parameter krdma_sdp zcopy_patience_ms 200
	strays | grep -vxE "$$|$PPID|$BASHPID" | xargs -r kill -9 || true
	wait_for 20 sdp_gone || true
}

parts_verdict() {
	[ $failed = 0 ] || fail "$failed of $tests parts failed"
	counted $tests 0
}
