#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: krdma_hw adopts siw and rxe: list, choice by parameter, libkrdma's verbs and ping over them, siw with krdma_soft both ways
# covers: kvp_hw kal/cm/offload.c
# limit: 300
# shellcheck source=tests/vm/guest/siw.sh
. "${VM_LIB%/*}/siw.sh"

not_adopted() { ! adopted "$1"; }

hw_up
on A "$krdma" list
on B "$krdma" list
on A "$krdma" show siw0
on A "$krdma" show rxe0
on A "$krdma" stat siw0 || true
dmesg | tail -5

say "the parameter"
echo 'siw*' > /sys/module/krdma_hw/parameters/devices
wait_for 10 not_adopted rxe0 || fail "rxe0 is still adopted"
adopted siw0
echo '*,!siw0' > /sys/module/krdma_hw/parameters/devices
wait_for 10 not_adopted siw0 || fail "siw0 is still adopted"
wait_for 10 adopted rxe0
echo '*' > /sys/module/krdma_hw/parameters/devices
wait_for 10 adopted siw0

say "netlink"
on A "$krdma" adopt
expect "release" on A "$krdma" adopt -r siw0
not_adopted siw0 || fail "siw0 is still adopted"
echo '!*' > /sys/module/krdma_hw/parameters/devices
expect "adopt" on A "$krdma" adopt siw0
adopted siw0 || fail "siw0 is not adopted"
wait_for 10 not_adopted rxe0
refuse "no such device" on A "$krdma" adopt siw7
refuse "another namespace" on B "$krdma" adopt siw0
refuse "not the kernel's own" on A "$krdma" adopt krdma1
refuse "no right" on A setpriv --reuid=65534 --clear-groups --bounding-set=-all "$krdma" adopt -r siw0
on A "$krdma" adopt --json | tee adopt.json
has "siw0" '"adopted": true' adopt.json
echo '*' > /sys/module/krdma_hw/parameters/devices
expect "by parameter" on A "$krdma" adopt -d siw0
wait_for 10 adopted rxe0

say "a new name"
rdma dev set siw0 name iwarp0
wait_for 10 adopted iwarp0
rdma dev set iwarp0 name siw0
wait_for 10 adopted siw0
on A "$krdma" show rxe0 | tee show
has "the port" 'path_mtu +1024' show
has "its GID" 'gid +fe80:0000:0000:0000:' show

say "ping: siw to soft"
start pong B "$krdma" ping -s "$ADDR_B:7900" -c 1
sleep 1
run_on A 20 "$krdma" ping -c 5 -i 0.01 "$ADDR_B:7900"
cat client.log pong.log
finish pong 10
say "ping: soft to siw"
# siw loses a first message that is faster than its callbacks (docs/kernel-bugs.md)
pinged=
for try in 1 2 3; do
	start pong A "$krdma" ping -s "$ADDR_A:790$try" -c 1
	sleep 1
	if on B timeout "$(patient 20)" "$krdma" ping -c 5 -i 0.01 "$ADDR_A:790$try" > client.log 2>&1; then
		pinged=1
		finish pong 10
		break
	fi
	cat client.log
	has "why" ': no answer: Connection timed out$' client.log
	rid_of pong
done
cat client.log
[ -n "$pinged" ] || fail "no message came back, three times"
say "ping: rxe to itself"
start pong A "$krdma" ping -s "$ADDR_R:7902" -c 1
sleep 1
run_on A 20 "$krdma" ping -c 5 -i 0.01 "$ADDR_R:7902"
cat client.log
finish pong 10
hw_down
