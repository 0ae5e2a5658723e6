#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: RNICs in a VRF: listeners and clients inside and outside of it, IPv4 and IPv6; the network stack interface
# covers: kal/net kal/core/netdev kal/cm/listen kal/cm/llp
# limit: 240
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

net=$VM_PROGS/krdma_net
krdma=$VM_REPO/build/tools/krdma
export LD_LIBRARY_PATH=$VM_REPO/build/ual KRDMA_UVP_DIR=$VM_REPO/build/uvp_soft

# Both hosts have two cables: veth? in the default VRF, red? in the VRF "red", each with an RNIC.
vrf_up() {
	local host index
	hosts_up
	ip link add redA netns hostA type veth peer name redB netns hostB
	for host in A B; do
		on $host ip link add red type vrf table 10
		on $host ip link set red up
		on $host ip link set red$host master red
		case $host in A) index=1 ;; B) index=2 ;; esac
		on $host ip address add "10.79.0.$index/24" dev red$host
		on $host ip -6 address add "fd79::$index/64" dev red$host nodad
		on $host ip link set red$host up
	done
	for host in A B; do
		on $host rdma link add "red$host" type "$LINK_TYPE" netdev red$host
		wait_for 10 rnic_active "red$host" || fail "red$host does not become active"
	done
	expect "a way inside of the VRF" wait_for 20 on A ping -q -c 1 -W 1 -I red 10.79.0.2
	expect "and by IPv6" wait_for 20 on A ping -q -c 1 -W 1 -I red fd79::2
}

modprobe -q vrf
vrf_up

# how a process gets into the VRF, where the kernel has cgroups and BPF for that
inside=(ip vrf exec red)
if ! on A "${inside[@]}" true > exec.log 2>&1; then
	say "no 'ip vrf exec' here: $(< exec.log)"
	inside=()
fi

results=0
port=7500
# LISTENER_IN LISTEN_ADDRESS CLIENT_IN TARGET SOURCE yes|no: a listener of host B and a client of
# host A; the processes "in" the VRF or "out" of it; SOURCE may be -
row() {
	local listener_in=$1 listen=$2 client_in=$3 target=$4 source=$5 wanted=$6 rc=0 got server=() client=()
	[ "$listener_in" = out ] || server=("${inside[@]}")
	[ "$client_in" = out ] || client=("${inside[@]}")
	port=$((port + 1))
	serve_vrf $port "${server[@]}" rping -s -a "$listen" -p $port -C 2
	client+=(timeout -k 5 "$(patient 20)" rping -c -a "$target" -p "$port" -C 2)
	[ "$source" = - ] || client+=(-I "$source")
	on A "${client[@]}" > client.log 2>&1 || rc=$?
	if [ $rc = 0 ]; then
		finish server 20
		got=yes
	else
		rid_of server
		got=no
	fi
	printf '%-4s %-10s %-4s %-10s %-10s %s\n' "$listener_in" "$listen" "$client_in" "$target" "$source" $got
	if [ $got != "$wanted" ]; then
		cat client.log server.log
		fail "listener $listener_in $listen, client $client_in to $target from $source: $got"
	fi
	results=$((results + 1))
}

# in whatever VRF: the port of a listener stands in the table of rdma_cm's ids
deaf_or_listening() { rdma resource show cm_id | grep "LISTEN.*:$1\b" > /dev/null || ended server; }

# serve_vrf PORT COMMAND...: "server" on host B, until it listens or has failed
serve_vrf() {
	start server B "${@:2}"
	wait_for 20 deaf_or_listening "$1"
}

say "inside and outside"
for listener_in in out in; do
	for listen in 0.0.0.0 10.79.0.2; do
		row $listener_in $listen out 10.79.0.2 10.79.0.1 yes
	done
	for listen in :: fd79::2; do
		row $listener_in $listen out fd79::2 fd79::1 yes
	done
done
row out 0.0.0.0 in 10.79.0.2 10.79.0.1 yes
row out :: in fd79::2 fd79::1 yes
# rdma_cm asks the default VRF's routes where it knows no address, and knows of no process' VRF
row out 0.0.0.0 out 10.79.0.2 - no
row out 0.0.0.0 in 10.79.0.2 - no
row out :: in fd79::2 - no
# the default VRF beside it, with the same listeners
row out 0.0.0.0 out 10.77.0.2 - yes
row in 0.0.0.0 in 10.77.0.2 - yes
row out :: out fd77::2 - yes
row out 10.79.0.2 out 10.77.0.2 - no
row out 10.77.0.2 out 10.79.0.2 10.79.0.1 no
# a route of the default VRF into the other one shows rdma_cm the way
on A ip route add 10.79.0.0/24 dev redA
row out 0.0.0.0 out 10.79.0.2 - yes
on A ip route del 10.79.0.0/24 dev redA
say "$results rows"

say "one wildcard listener for all VRFs, where TCP is told so"
on B sysctl -qw net.ipv4.tcp_l3mdev_accept=1
row out 0.0.0.0 out 10.79.0.2 10.79.0.1 yes
row out 0.0.0.0 out 10.77.0.2 - yes
row out 10.79.0.2 out 10.79.0.2 10.79.0.1 yes
on B sysctl -qw net.ipv4.tcp_l3mdev_accept=0

say "link-local"
local6() { on "$1" ip -6 -o address show dev "red$1" scope link -tentative | awk '{ sub("/.*", "", $4); print $4 }'; }
has_local6() { [ -n "$(local6 "$1")" ]; }
for host in A B; do wait_for 20 has_local6 $host || fail "no link-local address of red$host"; done
row out :: out "$(local6 B)%redA" "$(local6 A)%redA" yes
row out "$(local6 B)%redB" out "$(local6 B)%redA" "$(local6 A)%redA" yes

say "a host with itself"
for listen in 10.79.0.2 fd79::2; do
	serve_vrf 7490 rping -s -a $listen -p 7490 -C 2
	run_on B 20 rping -c -a $listen -I $listen -p 7490 -C 2
	finish server 20
done

say "without rdma_cm"
red=$(on A cat /sys/class/net/redA/ifindex)
vrf=$(on A cat /sys/class/net/red/ifindex)
for ip in 4 6; do
	[ $ip = 4 ] && a=10.79.0.1 b=10.79.0.2 || a=fd79::1 b=fd79::2
	refuse "a route of the default VRF" on A "$net" route "$b"
	for how in "src $a" "oif $vrf" "oif $red"; do
		# shellcheck disable=SC2086 # two words
		expect "route to $b, $how" on A "$net" route "$b" $how
		has "the way in the VRF" "^src $a via - ifindex $red mtu 1500 local 0 rnic [1-9]" expect
	done
	expect "local addresses for $b" on A "$net" locals "$b"
	has "the VRF's" "^$a $red [1-9]" expect
	expect "route to itself" on A "$net" route "$a" src "$a"
	has "its RNIC" "local 1 rnic [1-9]" expect
	start ponger B "$krdma" ping --server "$b" 7801 -c 1
	wait_for 10 grep -q listening ponger.log || { cat ponger.log; fail "no listener"; }
	run_on A 20 "$krdma" ping "$b" 7801 -c 5 -i 0
	finish ponger 10
done
expect "a port of an address" on A "$net" port 10.79.0.1 7900
expect "a port of all addresses" on A "$net" port 0.0.0.0 7901

say "two VRFs with the same addresses: each to its own"
on A ip link add blue type vrf table 11
on A ip link set blue up
on A ip link add dummy0 type dummy
on A ip link set dummy0 master blue
on A ip address add 10.79.0.1/24 dev dummy0
on A ip link set dummy0 up
expect "the route of the other VRF" on A "$net" route 10.79.0.9 oif "$(on A cat /sys/class/net/blue/ifindex)"
has "its device" "ifindex $(on A cat /sys/class/net/dummy0/ifindex) mtu 1500 local 0 rnic 0" expect
expect "a port of both" on A "$net" port 10.79.0.1 7902
on A ip link delete dummy0
on A ip link delete blue

say "the device leaves the VRF, and comes back: a listener stays where it began"
for how in nomaster "master red"; do
	serve_vrf 7600 rping -s -a 0.0.0.0 -p 7600 -C 2
	for host in A B; do
		# shellcheck disable=SC2086 # two words
		on $host ip link set red$host $how
		wait_for 10 rnic_active "red$host" || fail "red$host does not become active"
	done
	[ "$how" = nomaster ] && way=redA || way=red
	expect "a way" wait_for 20 on A ping -q -c 1 -W 1 -I "$way" 10.79.0.2
	refuse "the old listener is not there" on A timeout -k 5 "$(patient 20)" rping -c -a 10.79.0.2 -I 10.79.0.1 -p 7600 -C 2
	rid_of server
	row out 0.0.0.0 out 10.79.0.2 10.79.0.1 yes
	row out 10.79.0.2 out 10.79.0.2 10.79.0.1 yes
done
for host in A B; do on $host rdma link delete "red$host"; done
umount /run/cgroup2 2> /dev/null || true
