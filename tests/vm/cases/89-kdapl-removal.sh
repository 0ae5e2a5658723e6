#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: RNICs go under a consumer of kDAPL that has objects in every state: freed one by one, closed abruptly, with traffic
# covers: kal/kdapl
# limit: 300
# shellcheck source=tests/vm/guest/siw.sh
. "${VM_LIB%/*}/siw.sh"

module=$VM_MODULES/tests/consumers/krdma_kdat.ko

said() { dmesg --color=never | tail -n +$((lines + 1)) | grep "kdatc: $1: $2" > /dev/null; }
absent() { ! on "$1" "$krdma" list | grep -w "$2" > /dev/null; }

# goes HOST RNIC ADDRESS KIND COMMAND...: the command, on that host, takes the RNIC away
goes() {
	local host=$1 rnic=$2 address=$3 kind=$4
	shift 4

	say "$rnic, $kind: $*"
	lines=$(dmesg | wc -l)
	start consumer "$host" insmod "$module" rnic="$rnic" remote="$address" removal="$kind"
	wait_for 30 said "$rnic" ready || { show_logs; fail "the consumer is not ready"; }
	sleep 0.5
	run_on "$host" 60 "$@"
	wait_for 60 said "$rnic" "removal $kind: ok" || {
		dmesg | grep kdatc || true
		fail "the consumer is not content"
	}
	finish consumer 30
	rmmod krdma_kdat
	wait_for 10 absent "$host" "$rnic" || fail "$rnic is still there"
}

soft_again() {
	rnic_add B
	wait_for 10 rnic_active krdma1
}

siw_again() {
	rdma link add siw0 type siw netdev vethA
	wait_for 10 rnic_active siw0
	wait_for 10 adopted siw0
}

rxe_again() {
	rdma link add rxe0 type rxe netdev dummyR
	wait_for 10 adopted rxe0
}

hw_up
kdapl_load
# TCP gives up soon what has no program any more
echo 2 > /proc/sys/net/ipv4/tcp_orphan_retries
on B sysctl -qw net.ipv4.tcp_orphan_retries=2
for kind in 1 2 3; do
	goes B krdma1 "$ADDR_B" $kind rdma link delete krdma1
	soft_again
	goes A siw0 "$ADDR_A" $kind rdma link delete siw0
	siw_again
	goes A rxe0 $ADDR_R $kind rdma link delete rxe0
	rxe_again
done
goes A siw0 "$ADDR_A" 3 "$krdma" adopt -r siw0
expect "adopt" on A "$krdma" adopt siw0
goes A siw0 "$ADDR_A" 1 rmmod krdma_hw
hw_load
wait_for 10 adopted siw0
goes B krdma1 "$ADDR_B" 3 ip link delete vethB
hw_down
ss -K dst "$ADDR_B" > /dev/null || true
ss -K dst "$ADDR_A" > /dev/null || true
no_sockets() { [ -z "$(ss -Htan state all exclude time-wait)" ]; }
wait_for 60 no_sockets || fail "siw's sockets stay"
echo 0 > /proc/sys/net/ipv4/tcp_orphan_retries
