#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# What the cases with the kernel's siw as a peer share. Host A runs siw, host B
# krdma. A siw device is of use in the initial namespace, so that is host A: the
# name hostA is attached to it, and all of lib.sh works as ever. A listener without
# an address would be put on both devices, and siw takes it to the caller's
# namespace, where it is in the way of krdma's; so perftest, which has no option for
# that, is given an address by bind_address.so. Sourced by the cases.

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

dev_of() { case $1 in A) echo siw0 ;; B) echo krdma1 ;; esac; }

# the veth end of the initial namespace has to go with the case
siw_hosts_up() { # [MTU]
	local host mtu=${1:-1500}

	loaded siw || siw_load || fail "siw does not load; 'make siw' builds it"
	ip netns attach hostA 1
	ip netns add hostB
	ip link add vethA mtu "$mtu" type veth peer name vethB mtu "$mtu" netns hostB
	host_address A
	on B ip link set lo up
	host_address B
	wait_for 10 on A ping -q -c 1 -W 1 "$ADDR_B"
	rdma link add siw0 type siw netdev vethA
	rnic_add B
	for host in A B; do
		wait_for 10 rnic_active "$(dev_of $host)" || fail "$(dev_of $host) does not become active"
	done
}

host_address() {
	on "$1" ip address add "$(addr_of "$1")/24" dev "veth$1"
	on "$1" ip -6 address add "$(addr6_of "$1")/64" dev "veth$1" nodad
	on "$1" ip link set "veth$1" up
}

# policy NAME=VALUE...: of both sides; krdma.NAME is ours, siw.NAME its
policy() {
	local word side name

	say "policy: $*"
	for word; do
		side=${word%%.*} name=${word#*.}
		name=${name%%=*}
		echo "${word#*=}" > "/sys/module/$side/parameters/$name"
	done
}

# the values that policy may have changed, as both modules load
policy_default() {
	policy krdma.mpa_crc=1 krdma.mpa_revision=2 krdma.mpa_rtr=12 krdma.mpa_markers=0 siw.mpa_crc_required=0 \
		siw.mpa_crc_strict=0 siw.mpa_version=2 siw.peer_to_peer=0
}

# hw_siw_hosts_up: with siw's device adopted by krdma_hw. krdma asks for no ready-to-receive frame: siw
# sets its callbacks for that frame after its Reply, misses a frame that is faster, and iw_cm crashes
# when such a connection ends (docs/kernel-bugs.md).
hw_siw_hosts_up() {
	siw_hosts_up
	policy krdma.mpa_rtr=0
}

krdma=$VM_REPO/build/tools/krdma
adopted() { on A "$krdma" list | grep -w "$1" > /dev/null; }

# hw_up: siw0 as above, rxe0 on a device of its own with the addresses ADDR_R and ADDR6_R, and
# krdma_hw, which has adopted both
ADDR_R=10.78.0.1 ADDR6_R=fd78::1
hw_up() {
	local dev

	export LD_LIBRARY_PATH=$VM_REPO/build/ual
	hw_siw_hosts_up
	modprobe rdma_rxe
	ip link add dummyR type dummy
	ip link set dummyR up
	ip address add $ADDR_R/24 dev dummyR
	ip -6 address add $ADDR6_R/64 dev dummyR nodad
	rdma link add rxe0 type rxe netdev dummyR
	hw_load
	for dev in siw0 rxe0; do
		wait_for 10 adopted $dev || fail "$dev is not adopted"
	done
}

hw_down() {
	rmmod krdma_hw
	rdma link delete rxe0
	rmmod rdma_rxe
}

# FUNCTION [ARGUMENT...] with the server on B and the client on A, or the other way
# round, or one after the other
siw_client() { server_host=B client_host=A "$@"; }
siw_server() { server_host=A client_host=B "$@"; }
both_roles() {
	siw_client "$@"
	siw_server "$@"
}

# serve as in lib.sh, with an address for the listener
serve() {
	local name=$1 host=$2 port=$3
	shift 3
	start "$name" "$host" env LD_PRELOAD="$VM_PROGS/bind_address.so" \
		BIND_ADDRESS="$(addr_of "$host")" "$@"
	wait_for 30 listening "$host" "$port" || {
		cat "$VM_TMP/$name.log"
		fail "$name does not listen on port $port"
	}
}

ping_pair() { # SIZE COUNT
	local port
	port=$((perf_port += 1))
	serve ping "$server_host" $port rping -s -a "$(addr_of $server_host)" -p $port -C "$2" -S "$1" -V
	run_on "$client_host" 90 rping -c -a "$(addr_of $server_host)" -p $port -C "$2" -S "$1" -V
	finish ping 30
}

# the client does not get a connection; its end and that of the server, which may
# have accepted, are orderly
refused_pair() {
	local port address
	port=$((perf_port += 1))
	address=$(addr_of $server_host)
	serve ping "$server_host" $port rping -s -a "$address" -p $port -C 1
	refuse "connection from $client_host" on "$client_host" timeout "$(patient 60)" \
		rping -c -a "$address" -p $port -C 1
	if wait_for 2 ended ping; then
		finish_any ping 5
	else
		kill_hard ping
	fi
}

resources_of() { resources "$(dev_of "$1")"; }
note_resources() { res_a=$(resources_of A) res_b=$(resources_of B); }
resources_back() { [ "$(resources_of A)" = "$res_a" ] && [ "$(resources_of B)" = "$res_b" ]; }

# an empty element of a scatter list is siw's end: it has looked up no memory for
# it and dereferences that (siw_check_sgl_tx(), siw_tx_hdt())
pattern_options=(-e)
