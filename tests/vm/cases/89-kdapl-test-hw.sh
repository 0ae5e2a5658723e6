#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: kdapltest over adopted devices: siw with krdma, either as the server, and rxe with itself
# covers: kal/kdapl tests/consumers kvp_hw
# limit: 300
# shellcheck source=tests/vm/guest/siw.sh
. "${VM_LIB%/*}/siw.sh"
# shellcheck source=tests/vm/guest/kdapltest.sh
. "${VM_LIB%/*}/kdapltest.sh"

iterations=$((1000 / VM_SLOW))
[ -z "${VM_QUICK:-}" ] || iterations=$((200 / VM_SLOW))

# kdt_pair SERVER IA ADDRESS CLIENT IA: all kinds of work
kdt_pair() {
	local address=$3 client=$4 ia=$5
	kdt_serve "$1" "$2"
	kdt_mixes "$client" "$ia" "$address" 1 1 20
	kdt_mixes "$client" "$ia" "$address" 2 3 5
	kdt_rates "$client" "$ia" "$address" "$iterations"
	kdt_served 0
}

hw_up
kdt_load
kdt_pair A siw0 "$ADDR_A" B krdma1
kdt_pair B krdma1 "$ADDR_B" A siw0
kdt_pair A rxe0 $ADDR_R A rxe0
for dev in siw0 rxe0; do
	run_on A 60 "$kdt" -T L -D $dev -m 200
	cat client.log
done
rmmod kdapltest
hw_down
