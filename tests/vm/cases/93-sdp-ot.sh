#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: SDP's transport interface on kDAPL: its contract on krdma_soft beside TCP and through it, on rxe and siw; RNICs and namespaces that go
# covers: sdp kal/kdapl tests/consumers
# limit: 900
# shellcheck source=tests/vm/guest/siw.sh
. "${VM_LIB%/*}/siw.sh"
# shellcheck source=tests/vm/guest/conform.sh
. "${VM_LIB%/*}/conform.sh"

conform_test ksdp_ot ksdp_ot
module=$VM_MODULES/tests/consumers/ksdp_ot.ko
said() { log_since | grep "ksdp_ot: $1: $2" > /dev/null; }
absent() { ! on "$1" "$krdma" list | grep -w "$2" > /dev/null; }

# goes HOST RNIC ADDRESS COMMAND...: the command, on that host, takes the RNIC away
goes() {
	local host=$1 rnic=$2 address=$3
	shift 3

	say "$rnic: $*"
	log_mark
	start consumer "$host" insmod "$module" rnic="$rnic" remote="$address" removal=1
	wait_for 30 said "$rnic" ready || { show_logs; fail "the test is not ready"; }
	run_on "$host" 60 "$@"
	wait_for 60 said "$rnic" "removal: ok" || {
		log_since | grep ksdp_ot || true
		fail "$rnic: what was left is not as it should be"
	}
	finish consumer 30
	rmmod ksdp_ot
	wait_for 10 absent "$host" "$rnic" || fail "$rnic is still there"
}

dmesg -n 7
hw_up
kdapl_load
conform soft B krdma1 remote="$ADDR_B"
same_host 0
conform soft-tcp B krdma1 remote="$ADDR6_B"
same_host 1
conform rxe A rxe0 remote=$ADDR_R
conform siw A siw0 remote="$ADDR_A"
# what depends on the order of two ends, many times
conform rounds B krdma1 remote="$ADDR_B" rounds="$([ -n "${VM_QUICK:-}" ] && echo 3 || echo 20)"
# another local address than the one that routing chooses
on B ip address add 10.9.9.9/32 dev vethB
conform source B krdma1 remote="$ADDR_B" local=10.9.9.9 only='"connect"'
on B ip address delete 10.9.9.9/32 dev vethB

goes B krdma1 "$ADDR_B" rdma link delete krdma1
rnic_add B
wait_for 10 rnic_active krdma1
goes A rxe0 $ADDR_R rdma link delete rxe0
rdma link add rxe0 type rxe netdev dummyR
wait_for 10 adopted rxe0
goes A siw0 "$ADDR_A" rdma link delete siw0
rdma link add siw0 type siw netdev vethA
wait_for 10 rnic_active siw0
wait_for 10 adopted siw0
goes A rxe0 $ADDR_R "$krdma" adopt -r rxe0
hw_down
conform_verdict
