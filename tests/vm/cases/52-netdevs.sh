#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: RNICs on VLAN, macvlan and bridge devices: IPv4, IPv6; devices are renamed and removed under traffic
# covers: kal/core/netdev kal/net/rnic kal/ib/port
# limit: 480
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

# upper_up KIND: on both hosts a netdev "top0" of that kind above the veth, with an RNIC. A
# VLAN has the MAC address of what it is on, and that gets an RNIC.
upper_up() {
	local kind=$1 host on=top0
	net_up
	export ADDR_A=10.78.0.1 ADDR_B=10.78.0.2
	for host in A B; do
		case $kind in
		vlan | below-vlan | both-vlan)
			on $host ip link add link veth$host name top0 type vlan id 10
			[ "$kind" != below-vlan ] || on=veth$host
			[ "$kind" != both-vlan ] ||
				on $host rdma link add "below$host" type "$LINK_TYPE" netdev veth$host
			;;
		macvlan) on $host ip link add link veth$host name top0 type macvlan mode bridge ;;
		bridge)
			on $host ip link add top0 type bridge
			on $host ip link set veth$host master top0
			;;
		esac
		on $host ip address add "$(addr_of $host)/24" dev top0
		on $host ip -6 address add "fd78::$(addr_of $host | sed 's/.*\.//')/64" dev top0 nodad
		on $host ip link set top0 up
		on $host rdma link add "$(dev_of $host)" type "$LINK_TYPE" netdev $on
	done
	for host in A B; do
		wait_for 10 rnic_active "$(dev_of $host)" || fail "$(dev_of $host) does not become active"
	done
	wait_for 30 on A ping -q -c 1 -W 1 "$ADDR_B"
	wait_for 30 on A ping -q -c 1 -W 1 fd78::2
}

# what TCP cannot deliver any more shall be gone before the case is over
echo 5000 > /sys/module/krdma/parameters/tcp_user_timeout_ms

upper_down() {
	export ADDR_A=10.77.0.1 ADDR_B=10.77.0.2
	hosts_down
}

kill_traffic() {
	rid_of client server
}

gone() { ! rdma_devices | grep -x "$1" > /dev/null; }

data() {
	local address
	for address in $ADDR_B fd78::2; do
		serve server B 7471 rping -s -a "$address" -p 7471 -C 10 -V
		run_on A 60 rping -c -a "$address" -p 7471 -C 10 -V
		finish server 20
		ADDR_B=$address pattern_pair 4096
	done
	# perftest knows no IPv6 with rdma_cm
	perf_pair ib_write_bw -s 65536 -n 100
	say "wildcard listener"
	serve server B 7472 rping -s -p 7472 -C 5
	run_on A 60 rping -c -a "$ADDR_B" -p 7472 -C 5
	finish server 20
}

# came DEVICE: connections to that RNIC of host B so far
came() { on B rdma statistic show link "$1/1" | tr -s '\n\t ' '\n' | grep -A1 -x conn_passive | sed 1d; }

# comes_to ADDRESS DEVICE OTHER: a connection to a listener on the wildcard address
comes_to() {
	local address=$1 device=$2 other=$3 any=0.0.0.0 before after
	[[ $address != *:* ]] || any=::
	before="$(($(came "$device") + 1)) $(came "$other")"
	serve server B 7473 rping -s -a $any -p 7473 -C 5
	run_on A 60 rping -c -a "$address" -p 7473 -C 5
	finish server 20
	after="$(came "$device") $(came "$other")"
	same "connections to $address: of $device and of $other" "$before" "$after"
}

each_to_its_own() {
	comes_to 10.78.0.2 krdma1 belowB
	comes_to fd78::2 krdma1 belowB
	comes_to 10.77.0.2 belowB krdma1
	comes_to fd77::2 belowB krdma1
	comes_to "$(link_local B top0)%top0" krdma1 belowB
}

# leads_to ADDRESS RNIC: what /dev/krdma says of the way from host A, and of A's own address
leads_to() {
	local index
	index=$(index_of "$2")
	expect "route to $1" on A krdma route "$1" --json
	has "the RNIC of the route" "\"rnic_index\": *$index\b" expect
	expect "devices by the remote address $1" on A "$VM_REPO/build/examples/list_rnics" "$1"
	has "the RNIC" "^$2 " expect
}

# link_local HOST DEV: the address that the device has by its MAC
link_local() { on "$1" ip -6 -o address show dev "$2" scope link -tentative | awk '{ sub("/.*", "", $4); print $4 }'; }
has_link_local() { [ -n "$(link_local "$@")" ]; }

# of_local ADDRESS: the RNIC of host A with that address
of_local() {
	on A python3 -c '
import ctypes, sys
ual = ctypes.CDLL("libkrdma.so.1")
def good(status):
    assert status == 0, status
session, address, index = ctypes.c_void_p(), ctypes.create_string_buffer(64), ctypes.c_uint32()
good(ual.ual_open(ctypes.byref(session)))
good(ual.ual_addr_parse(sys.argv[1].encode(), address))
good(ual.ual_find_local(session, address, ctypes.byref(index)))
print(index.value)
' "$1"
}

# index_of RNIC
index_of() { on A krdma show "$1" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["rnics"][0]["index"])'; }

# link_locals BELOW: the veth and its VLAN have one link-local address; that of the veth is of the
# RNIC BELOW
link_locals() {
	local dev host
	for host in A B; do
		for dev in veth$host top0; do
			wait_for 20 has_link_local "$host" "$dev" || fail "$dev has no address of its own"
		done
		same "link-local addresses" "$(link_local $host veth$host)" "$(link_local $host top0)"
	done
	same "RNIC of the VLAN's" "$(index_of krdma0)" "$(of_local "$(link_local A top0)%top0")"
	same "RNIC of the veth's" "$(index_of "$1")" "$(of_local "$(link_local A vethA)%vethA")"
	refuse "one of an interface without an RNIC" of_local "$(link_local A vethA)%lo"
	for dev in top0 vethB; do
		start ponger B env KRDMA_UVP_DIR="$VM_REPO/build/uvp_soft" krdma ping --server "$(link_local B top0)%$dev" 7801 -c 1
		wait_for 10 grep -q listening ponger.log || { cat ponger.log; fail "no listener"; }
		run_on A 20 env KRDMA_UVP_DIR="$VM_REPO/build/uvp_soft" krdma ping "$(link_local B top0)%${dev/B/A}" 7801 -c 5 -i 0
		finish ponger 10
	done
}

# ways KIND: RNICs are found by addresses of VLANs and of what they are on
ways() {
	local PATH=$VM_REPO/build/tools:$PATH LD_LIBRARY_PATH=$VM_REPO/build/ual below=krdma0
	export PATH LD_LIBRARY_PATH
	[ "$1" = below-vlan ] || below=belowA
	leads_to 10.78.0.2 krdma0
	leads_to fd78::2 krdma0
	leads_to 10.77.0.2 $below
	link_locals $below
	start ponger B env KRDMA_UVP_DIR="$VM_REPO/build/uvp_soft" krdma ping --server 10.78.0.2 7800 -c 1
	wait_for 10 grep -q listening ponger.log
	run_on A 20 env KRDMA_UVP_DIR="$VM_REPO/build/uvp_soft" krdma ping 10.78.0.2 7800 -c 5 -i 0
	finish ponger 10
}

for kind in below-vlan both-vlan; do
	say "$kind: data"
	upper_up $kind
	note_resources
	data
	ways $kind
	check_no_leak
	if [ $kind = both-vlan ]; then
		say "a listener on both RNICs, whichever comes first"
		each_to_its_own
		on B rdma link delete belowB
		on B rdma link add belowB type "$LINK_TYPE" netdev vethB
		wait_for 10 rnic_active belowB || fail "belowB does not become active"
		each_to_its_own
		check_no_leak
	fi
	upper_down
done

for kind in vlan macvlan bridge; do
	say "$kind: data"
	upper_up $kind
	note_resources
	data
	check_no_leak

	say "$kind: renamed under traffic"
	traffic ib_send_bw -D 10
	on A ip link set top0 name renamed
	has "the RNIC's netdev" "netdev renamed" <(on A rdma link show krdma0/1)
	finish client 60
	finish server 60
	perf_pair ib_write_bw -s 65536 -n 20
	check_no_leak

	say "$kind: removed under traffic"
	traffic ib_send_bw -D 120
	expect "delete it" on A timeout "$(patient 30)" ip link delete renamed
	expect "the RNIC goes with it" wait_for 15 gone krdma0
	kill_traffic

	if [ $kind != bridge ]; then
		say "$kind: what it is on goes"
		expect "delete the veth" on B timeout "$(patient 30)" ip link delete vethB
		expect "the RNIC goes, too" wait_for 15 gone krdma1
	fi
	upper_down
done
