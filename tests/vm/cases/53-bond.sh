#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: RNICs on bonds: fail-over to the other link and back under load, balancing, reordering
# covers: kal/core/netdev kal/net/rnic kvp_soft/rx
# limit: 480
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

# bond_up OPTION...: both hosts have a bond of two links, with an RNIC on it
bond_up() {
	local host n
	ip netns add hostA
	ip netns add hostB
	ip link add vethA netns hostA type veth peer name vethB netns hostB
	ip link add vethA2 netns hostA type veth peer name vethB2 netns hostB
	for host in A B; do
		on $host ip link set lo up
		on $host ip link add top0 type bond miimon 50 "$@"
		for n in veth$host veth${host}2; do
			on $host ip link set "$n" master top0
		done
		on $host ip address add "$(addr_of $host)/24" dev top0
		on $host ip -6 address add "$(addr6_of $host)/64" dev top0 nodad
		on $host ip link set top0 up
		on $host rdma link add "$(dev_of $host)" type "$LINK_TYPE" netdev top0
	done
	for host in A B; do
		wait_for 20 rnic_active "$(dev_of $host)" || fail "$(dev_of $host) does not become active"
	done
	wait_for 20 on A ping -q -c 1 -W 1 "$ADDR_B"
	wait_for 20 on A ping -q -c 1 -W 1 "$ADDR6_B"
	note_resources
}

active_link() { on A cat /sys/class/net/top0/bonding/active_slave; }
active_is() { [ "$(active_link)" = "$1" ]; }

# links_swap ROUNDS: the active link of A goes down and up, again and again, while "client" runs
links_swap() {
	local link _
	for ((_ = 0; _ < $1; _++)); do
		sleep 1
		alive client || break
		link=$(active_link)
		on A ip link set "$link" down
		wait_for 10 active_is "$([ "$link" = vethA ] && echo vethA2 || echo vethA)" ||
			fail "the bond stays on $link"
		sleep 1
		on A ip link set "$link" up
		swaps=$((swaps + 1))
	done
}

# what TCP cannot deliver any more shall be gone before the case is over
echo 5000 > /sys/module/krdma/parameters/tcp_user_timeout_ms

say "active-backup: perftest and compared data while the links change"
bond_up mode active-backup
swaps=0
serve server B 7300 "$VM_PROGS/krdma_pattern" -s -p 7300 -m 67108864 "$ADDR_B"
start client A "$VM_PROGS/krdma_pattern" -p 7300 -m 67108864 "$ADDR_B"
links_swap 3
finish client 200
finish server 60
[ $swaps -gt 0 ] || fail "the data was through before a link failed"
say "$swaps times over to the other link"
ADDR_B=$ADDR6_B pattern_pair 65536
swaps=0
traffic ib_write_bw -D 12 -s 65536
links_swap 3
finish client 60
finish server 60
[ $swaps -gt 0 ] || fail "perftest ended before a link failed"
check_no_leak

say "both links down: the port, too"
on A ip link set vethA down
on A ip link set vethA2 down
port_down() { ! rnic_active krdma0; }
expect "the port goes down" wait_for 10 port_down
on A ip link set vethA up
expect "the port comes back" wait_for 10 rnic_active krdma0
hosts_down

for mode in balance-rr balance-xor; do
	say $mode
	bond_up mode $mode
	for address in $ADDR_B $ADDR6_B; do
		ADDR_B=$address pattern_pair 65536
	done
	perf_pair ib_write_bw -s 65536 -n 100 -q 4
	check_no_leak
	say "$mode: the bond goes under traffic"
	traffic ib_send_bw -D 120
	expect "delete the bond" on A timeout "$(patient 30)" ip link delete top0
	no_krdma0() { ! rdma_devices | grep -x krdma0 > /dev/null; }
	expect "the RNIC goes with it" wait_for 15 no_krdma0
	rid_of client server
	hosts_down
done
