#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: the conformance test of kDAPL on adopted devices: rxe and siw, by IPv4 and by IPv6; a table of checks. RNICs named x and x-ib.
# covers: kal/kdapl kal/cm/offload.c kvp_hw tests/consumers
# limit: 900
# shellcheck source=tests/vm/guest/siw.sh
. "${VM_LIB%/*}/siw.sh"
# shellcheck source=tests/vm/guest/conform.sh
. "${VM_LIB%/*}/conform.sh"

conform_test krdma_kdat kdatc

# is_ia NAME: NAME and NAME-ib can be opened
is_ia() {
	local check

	for check in "thread safety" "unknown operations"; do
		insmod "$VM_MODULES/tests/consumers/$conform_module.ko" rnic="$1" remote=$ADDR_R \
			only="\"$check\"" || return
		rmmod "$conform_module"
	done
}
taken() { [ "$("$krdma" stat siw0-ib | awk '$1 == "ia_name_taken" { print $2 }')" = "$1" ]; }

# rxe0 gets the name that siw0's second IA has: that IA keeps it, as long as siw0 has its name
colliding_names() {
	is_ia rxe0
	rdma dev set rxe0 name siw0-ib
	wait_for 10 adopted siw0-ib
	wait_for 10 taken 1 || fail "ia_name_taken is not 1"
	dmesg > names.log
	has "the log" 'siw0-ib: not an IA by the name siw0-ib' names.log
	is_ia siw0
	rdma dev set siw0 name siw7
	wait_for 10 is_ia siw0-ib || fail "the name that is free again is not taken"
	taken 1 || fail "ia_name_taken has changed"
	is_ia siw7
	rdma dev set siw7 name siw0
	rdma dev set siw0-ib name rxe0
	wait_for 10 adopted rxe0
	wait_for 10 is_ia siw0
}

dmesg -n 7
hw_up
kdapl_load
conform rxe A rxe0 remote=$ADDR_R
conform siw A siw0 remote="$ADDR_A"
# the same checks by the other addresses
if [ -z "${VM_QUICK:-}" ]; then
	conform rxe-v6 A rxe0 remote=$ADDR6_R
	conform siw-v6 A siw0 remote="$ADDR6_A"
fi
colliding_names
hw_down
conform_verdict
