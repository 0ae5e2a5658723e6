#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: adopted devices go in every state of a connection: the device, its network device, the adoption, the module; rmmod order
# covers: kvp_hw kal/cm/offload.c
# limit: 300
# shellcheck source=tests/vm/guest/siw.sh
. "${VM_LIB%/*}/siw.sh"

absent() { ! on A "$krdma" list | grep -w "$1" > /dev/null; }
established() { [ "$(on B "$krdma" stat krdma1 | awk '$1 == "conn_established" { print $2 }')" -gt "$1" ]; }

# busy: listeners, connections with traffic in both directions, and one that waits for a peer that is
# not there, all on siw0; a listener and a connection on rxe0
busy() {
	local before i

	before=$(on B "$krdma" stat krdma1 | awk '$1 == "conn_established" { print $2 }')
	start echoA A "$krdma" ping -s "$ADDR_A:7910"
	start echoB B "$krdma" ping -s "$ADDR_B:7911"
	start echoR A "$krdma" ping -s $ADDR_R:7912
	sleep 1
	start toA B "$krdma" ping -q --timeout "$(patient 30)" -i 0 -c 1000000 --size 65536 "$ADDR_A:7910"
	start toB A "$krdma" ping -q --timeout "$(patient 30)" -i 0 -c 1000000 --size 65536 "$ADDR_B:7911"
	start toR A "$krdma" ping -q --timeout "$(patient 30)" -i 0 -c 1000000 --size 65536 $ADDR_R:7912
	start toNone A "$krdma" ping -q -c 1 --timeout 60 10.77.0.99:7913
	wait_for 20 established $((before + 1)) || { show_logs; fail "no connections"; }
	sleep 1
	for i in toA toB toR; do
		alive $i || { show_logs; fail "$i has ended"; }
	done
}

# over: the programs end by themselves when their RNIC or their peer has gone
over() {
	local name

	for name in toA toB toNone; do
		finish_any $name 40
	done
	rid_of echoA echoB echoR toR
}

siw_again() {
	rdma link add siw0 type siw netdev vethA
	wait_for 10 rnic_active siw0
	wait_for 10 adopted siw0
}

hw_up
# TCP gives up soon what has no program any more
echo 2 > /proc/sys/net/ipv4/tcp_orphan_retries
echo 2 > /proc/sys/net/ipv4/tcp_orphan_retries

say "the adoption ends"
busy
expect "release" on A timeout "$(patient 60)" "$krdma" adopt -r siw0
absent siw0 || fail "siw0 is still there"
over
expect "adopt" on A "$krdma" adopt siw0

say "the device goes"
busy
expect "link delete" timeout "$(patient 60)" rdma link delete siw0
absent siw0 || fail "siw0 is still there"
over
siw_again

say "the RoCE device goes"
busy
expect "link delete" timeout "$(patient 60)" rdma link delete rxe0
absent rxe0 || fail "rxe0 is still there"
finish_any toR 40
rid_of toA toB toNone echoA echoB echoR
rdma link add rxe0 type rxe netdev dummyR
wait_for 10 adopted rxe0

say "the module goes: a program that has an object of it does not keep it"
busy
expect "rmmod" timeout "$(patient 90)" rmmod krdma_hw
absent siw0 || fail "siw0 is still there"
over
hw_load
wait_for 10 adopted siw0

say "siw's module goes before krdma_hw"
rdma link delete siw0
wait_for 15 rmmod siw
refuse "krdma.ko is in use" rmmod krdma
siw_load
siw_again

say "the network device goes"
busy
expect "ip link delete" timeout "$(patient 60)" ip link delete vethA
wait_for 20 absent siw0 || fail "siw0 is still there"
over
hw_down
# siw leaves TCP to send the FINs of its streams into the network device that is gone
ss -Htan | tee sockets
! grep -qE '^(ESTAB|SYN|LISTEN)' sockets || fail "connections are left"
ss -K dst "$ADDR_B" > /dev/null || true
no_sockets() { [ -z "$(ss -Htan state all exclude time-wait)" ]; }
wait_for 60 no_sockets || fail "siw's sockets stay"
echo 0 > /proc/sys/net/ipv4/tcp_orphan_retries
