#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: a path MTU that only a router reports, IPv4 and IPv6, under load: compared data, FPDUs of the new size
# covers: kvp_soft/tx kal/cm/llp
# limit: 240
# shellcheck source=tests/vm/guest/mtu.sh
. "${VM_LIB%/*}/mtu.sh"

# routed_up: two networks, both of 1500 bytes, with a router between the hosts
routed_up() {
	local host n=0

	ip netns add hostR
	on R sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
	for host in A B; do
		n=$((n + 1))
		ip netns add host$host
		on $host ip link set lo up
		ip link add veth$host netns host$host type veth peer name to$host netns hostR
		on $host ip address add "$(addr_of $host)/24" dev veth$host
		on $host ip -6 address add "$(addr6_of $host)/64" dev veth$host nodad
		on R ip address add 10.77.$n.254/24 dev to$host
		on R ip -6 address add fd77:$n::fe/64 dev to$host nodad
		on $host ip link set veth$host up
		on R ip link set to$host up
		on $host ip route add default via 10.77.$n.254
		on $host ip -6 route add default via fd77:$n::fe
	done
	wait_for 10 on A ping -q -c 1 -W 1 "$ADDR_B"
	wait_for 10 on A ping -q -c 1 -W 1 "$ADDR6_B"
	for host in A B; do
		rnic_add $host
		wait_for 10 rnic_active "$(dev_of $host)"
	done
}

# of the second link alone; host B's own segments are of its size, host A has to be told
narrow() {
	on R ip link set toB mtu 1280
	on B ip link set vethB mtu 1280
}

# too_big COUNTER: how often the router said so
too_big() { on R nstat -asz "$1" | awk -v name="$1" '$1 == name { print $2 }'; }

# path_of ADDRESS: the path MTU to it that host A has learnt
path_of() { on A ip route get "$1" | sed -nE 's/.* mtu ([0-9]+).*/\1/p'; }

# routed ADDRESS HEADERS COUNTER: of IP and TCP, and of what the router says
routed() {
	local address=$1 headers=$2 counter=$3 before

	say "a path MTU that only a router tells: $counter"
	serve load B 7400 rping -s -a "$address" -p 7400 -S 65000
	start loader A rping -c -a "$address" -p 7400 -V -S 65000 -C 10000000
	serve pattern B 7300 "$VM_PROGS/krdma_pattern" -s -p 7300 -m 4194304 "$address"
	start checked A "$VM_PROGS/krdma_pattern" -p 7300 -m 4194304 "$address"
	before=$(octets_sent)
	wait_for 40 flows_or_ended "$before" loader
	same "path MTU before" "" "$(path_of "$address")"
	before=$(too_big "$counter")
	resized 1280 narrow
	same "path MTU" 1280 "$(path_of "$address")"
	[ "$(too_big "$counter")" -gt "$before" ] || fail "the router had nothing to say"
	alive loader || fail "$(cat loader.log)"
	kill_hard loader load
	finish checked 120
	finish pattern 60
}

ADDR_A=10.77.1.1 ADDR_B=10.77.2.1 ADDR6_A=fd77:1::1 ADDR6_B=fd77:2::1
hosts_down
routed_up
routed "$ADDR_B" 52 IcmpOutDestUnreachs
hosts_down
routed_up
routed "$ADDR6_B" 72 Icmp6OutPktTooBigs
