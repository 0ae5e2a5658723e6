#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: neighbours, ports, events and MIB of /dev/krdma equal those of ip, sockets and /proc/net; what SDP does for an event
# covers: kal/net kal/chardev/net sdp/ot/kdapl_device
# limit: 240
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

net=$VM_PROGS/krdma_net
index_of() { ip -n "host$1" -o link show dev "$2" | cut -d : -f 1; }

hosts_up
on A ip link add dummy0 mtu 1450 type dummy
on A ip link set dummy0 up
on A ip address add 10.78.0.1/24 dev dummy0
on A ip address add 10.76.0.1/24 dev vethA
on A ip address add 169.254.7.7/16 dev vethA scope link
on A ip -6 address add fd76::1/64 dev vethA nodad
# a kernel may be built without
rules=
! on A ip rule show > /dev/null 2>&1 || rules=1
[ -z "$rules" ] || on A ip -6 rule add to fd99:8::/64 table 100
veth=$(index_of A vethA)
rnic=$(on A "$net" route 10.77.0.2 | sed 's/.* rnic //')
[ "$rnic" -gt 0 ] || fail "no RNIC"

# solicits N: so many seconds until a neighbour is not there
solicits() {
	local family
	for family in ipv4 ipv6; do
		on A tee "/proc/sys/net/$family/neigh/vethA/mcast_solicit" <<< "$1" > /dev/null
	done
}

say "neighbours"
# a slow machine may need more than 3 s to give the other host its address
solicits 15
mac=$(on B cat /sys/class/net/vethB/address)
for dst in 10.77.0.60 fd77::60; do
	expect "not known" on A "$net" neigh $dst "$veth"
	has "nothing is known of $dst" "^state 0x00 lladdr -" expect
	start asks A timeout "$(patient 20)" "$net" neigh $dst "$veth" ask
	expect "asked for" wait_for 5 grep -q "^state 0x01 lladdr -" asks.log
	if [ $dst = fd77::60 ]; then
		on B ip -6 address add $dst/64 dev vethB nodad
	else
		on B ip address add $dst/24 dev vethB
	fi
	finish asks 20
	has "$dst" "^neigh $dst ifindex $veth state 0x[0-9a-f]* lladdr $mac status 0 cookie 4711" asks.log
	expect "known" on A "$net" neigh $dst "$veth" ask
	has "$dst is known" "^state 0x[0-9a-f]* lladdr $mac" expect
	same "nothing follows" 1 "$(wc -l < expect)"
	has "ip neigh says so" "lladdr $mac" <(on A ip neigh show $dst)
done
solicits 3
start nobody4 A timeout "$(patient 20)" "$net" neigh 10.77.0.99 "$veth" ask
start nobody6 A timeout "$(patient 20)" "$net" neigh fd77::99 "$veth" ask
start watch4 A "$net" neigh 10.77.0.50 "$veth" watch
start watch6 A "$net" neigh fd77::50 "$veth" watch
expect "watched" wait_for 5 grep -q "^state 0x00" watch4.log
expect "watched" wait_for 5 grep -q "^state 0x00" watch6.log
for dst in 10.77.0.50 fd77::50; do
	log=watch4.log
	[ $dst = 10.77.0.50 ] || log=watch6.log
	on A ip neigh add $dst lladdr 02:00:00:00:00:01 dev vethA nud permanent
	expect "added" wait_for 5 grep -q "state 0x80 lladdr 02:00:00:00:00:01 status 0" $log
	on A ip neigh change $dst lladdr 02:00:00:00:00:02 dev vethA nud reachable
	expect "changed" wait_for 5 grep -q "state 0x02 lladdr 02:00:00:00:00:02 status 0" $log
	on A ip neigh del $dst dev vethA
	expect "deleted" wait_for 5 grep -q "state 0x\(00\|20\) lladdr - " $log
done
finish nobody4 15
finish nobody6 15
has "nobody" "^neigh 10.77.0.99 ifindex $veth state 0x[02]0 lladdr - status -113" nobody4.log
has "nobody" "^neigh fd77::99 ifindex $veth state 0x[02]0 lladdr - status -113" nobody6.log
kill_hard watch4
kill_hard watch6

say "ports"
# socket_on ADDR PORT HOW...: bind a socket of the host
socket_on() { on A "$net" socket "$@"; }
port_of() { sed -n 's/^port //p' "$1"; }
in_use() {
	refuse "$1" "${@:2}"
	has "$1" "^errno EADDRINUSE" expect
}

for addr in 10.77.0.1 fd77::1; do
	start held A "$net" port $addr 7600 hold
	expect "reserved" wait_for 5 grep -q "^port 7600" held.log
	for how in "" reuse reuseport "reuse listen"; do
		# shellcheck disable=SC2086 # words
		in_use "a socket on $addr: $how" socket_on $addr 7600 $how
	done
	in_use "a wildcard socket" socket_on "$([ $addr = fd77::1 ] && echo :: || echo 0.0.0.0)" 7600 reuse
	in_use "another user" on A "$net" port $addr 7600
	expect "another port" socket_on $addr 7601
	expect "another address" on A "$net" port "$([ $addr = fd77::1 ] && echo fd76::1 || echo 10.76.0.1)" 7600
	refuse "it does not listen" on B timeout "$(patient 5)" bash -c "exec 3<> /dev/tcp/$addr/7600"
	has "and says so" "Connection refused" expect
	kill_hard held
	expect "free again" socket_on $addr 7600

	start taken A "$net" socket $addr 7602 reuse hold
	start listens A "$net" socket $addr 7603 reuse listen hold
	expect "taken" wait_for 10 grep -q "^port" taken.log
	expect "listens" wait_for 10 grep -q "^port" listens.log
	in_use "a socket's port" on A "$net" port $addr 7602
	in_use "a listener's port" on A "$net" port $addr 7603
	kill_hard taken
	kill_hard listens
	expect "free again" on A "$net" port $addr 7602

	start any A "$net" port $addr 0 hold
	expect "any port" wait_for 5 grep -q "^port [1-9]" any.log
	in_use "a socket there" socket_on $addr "$(port_of any.log)"
	kill_hard any
done

# address zero: all of the RNIC, and no other
start all4 A "$net" port 0.0.0.0 7604 hold
start all6 A "$net" port :: 0 hold
expect "all addresses" wait_for 5 grep -q "^port 7604" all4.log
expect "all IPv6 addresses" wait_for 5 grep -q "^port [1-9]" all6.log
for addr in 10.77.0.1 10.76.0.1 169.254.7.7; do
	in_use "$addr" socket_on $addr 7604 reuse
done
for addr in fd77::1 fd76::1; do
	in_use "$addr" socket_on $addr "$(port_of all6.log)" reuse
done
expect "an address of no RNIC" socket_on 10.78.0.1 7604
expect "nor this one" socket_on 127.0.0.1 7604
expect "another namespace" on B "$net" socket 10.77.0.2 7604
kill_hard all4
kill_hard all6
start other A "$net" socket 10.76.0.1 7605 hold
expect "one of them is taken" wait_for 10 grep -q "^port" other.log
in_use "then not all can be had" on A "$net" port 0.0.0.0 7605
expect "and none is kept" socket_on 10.77.0.1 7605
kill_hard other

# more addresses than the kernel makes sockets for
many() { for i in {0..1099}; do echo "address $1 10.99.$((i / 250)).$((i % 250 + 1))/32 dev vethA"; done; }
many add | tee batch > /dev/null
expect "many addresses" on A ip -batch batch
refuse "a port with 1100 addresses" on A "$net" port 0.0.0.0 7606
has "a port with 1100 addresses" "^errno ENOSPC" expect
many del | tee batch > /dev/null
expect "no more" on A ip -batch batch
expect "a port again" on A "$net" port 0.0.0.0 7606

say "ports as ss lists them"
# "ss --bound-inactive" of a newer iproute2: sockets that are bound and do nothing
cat > bound.py << 'PY'
import socket, struct
BOUND_INACTIVE, BY_FAMILY, DUMP, ERROR, DONE = 1 << 13, 20, 0x301, 2, 3
def answers(family):
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4) as diag:
        ask = struct.pack("=BBBBI", family, socket.IPPROTO_TCP, 0, 0, BOUND_INACTIVE) + bytes(48)
        diag.send(struct.pack("=IHHII", 16 + len(ask), BY_FAMILY, DUMP, 1, 0) + ask)
        while True:
            data = diag.recv(1 << 16)
            while data:
                length, kind = struct.unpack_from("=IH", data)
                if kind == DONE:
                    return
                assert kind != ERROR, data
                yield data[16:length]
                data = data[(length + 3) & ~3:]
for family, octets in ((socket.AF_INET, 4), (socket.AF_INET6, 16)):
    for it in answers(family):
        print(socket.inet_ntop(family, it[8:8 + octets]), struct.unpack_from(">H", it, 4)[0])
PY
bound() { on "$1" python3 bound.py | LC_ALL=C sort; }
listen_on() { on "$1" ss -Hltn | awk '{ sub(/%[^:\]]*/, "", $4); n = split($4, a, ":"); print a[n] }' | sort -u; }
lines() { printf '%s\n' "$@" | LC_ALL=C sort; }
for addr in 10.77.0.1 fd77::1; do
	peer=$ADDR_B
	[ $addr = 10.77.0.1 ] || peer=$ADDR6_B
	same "nothing is held" "" "$(bound A)"
	start given A "$net" port $addr 7610 hold
	start any A "$net" port $addr 0 hold
	start bound A "$net" socket $addr 7611 hold
	start listens A "$net" socket $addr 7612 reuse listen hold
	for name in given any bound listens; do
		expect "$name" wait_for 10 grep -q "^port [1-9]" $name.log
	done
	same "what is bound" "$(lines "$addr 7610" "$addr 7611" "$addr $(port_of any.log)")" "$(bound A)"
	same "who listens" 7612 "$(listen_on A)"
	same "what B has" "" "$(bound B)$(listen_on B)"
	for port in $(bound A | cut -d ' ' -f 2) $(listen_on A); do
		in_use "listed: $port" on A "$net" port $addr "$port"
		in_use "and a socket's" socket_on $addr "$port" reuse
		expect "not in B" on B "$net" port $peer "$port"
		expect "nor a socket's" on B "$net" socket $peer "$port"
	done
	taken=$(port_of any.log)
	for name in given any bound listens; do kill_hard $name; done
	same "all released" "" "$(bound A)$(listen_on A)"
	for port in 7610 7611 7612 "$taken"; do
		expect "$port for a socket again" socket_on $addr "$port"
		expect "$port again" on A "$net" port $addr "$port"
	done
done
# one address twice
on A ip address add 10.76.0.1/25 dev vethA
for zero in 0.0.0.0 ::; do
	family=-4
	[ $zero = 0.0.0.0 ] || family=-6
	start all A "$net" port $zero 0 hold
	expect "all" wait_for 10 grep -q "^port [1-9]" all.log
	same "all addresses of $zero" "$(on A ip $family -o address show dev vethA |
		awk -v port="$(port_of all.log)" '{ sub("/.*", "", $4); print $4, port }' | LC_ALL=C sort -u)" "$(bound A)"
	kill_hard all
	same "all released" "" "$(bound A)"
done
on A ip address del 10.76.0.1/25 dev vethA

nobody() { on A setpriv --bounding-set -net_bind_service --inh-caps -net_bind_service "$@"; }
refuse "a privileged port" nobody "$net" port 10.77.0.1 80
has "and why" "^errno EACCES" expect
expect "another one" nobody "$net" port 10.77.0.1 7606
expect "with the capability" on A "$net" port 10.77.0.1 80
refuse "no address of this host" on A "$net" port 10.77.0.200 7607
has "and why" "^errno EADDRNOTAVAIL" expect

say "events"
start monitor A "$net" monitor 15
start silent B "$net" monitor 15
expect "subscribed" wait_for 5 grep -q subscribed monitor.log
expect "subscribed" wait_for 5 grep -q subscribed silent.log
# event WORDS COMMAND...: the command raises it
event() {
	local wanted=$1
	shift
	: > before
	cp monitor.log before
	expect "$*" on A "$@"
	seen() { tail -n +$(($(wc -l < before) + 1)) monitor.log | grep -- "$wanted" > /dev/null; }
	wait_for 10 seen || { cat monitor.log; fail "no event '$wanted' after $*"; }
}
dummy=$(index_of A dummy0)
event "net 1 gone 0 ifindex $veth rnic $rnic mtu 1380 up 1 addr -/0 name vethA" ip link set vethA mtu 1380
event "net 2 gone 0 ifindex $veth rnic $rnic mtu 0 up 0 addr 10.75.0.1/24 " ip address add 10.75.0.1/24 dev vethA
event "net 2 gone 1 ifindex $veth rnic $rnic mtu 0 up 0 addr 10.75.0.1/24 " ip address del 10.75.0.1/24 dev vethA
event "net 2 gone 0 ifindex $dummy rnic 0 mtu 0 up 0 addr 10.75.1.1/24 " ip address add 10.75.1.1/24 dev dummy0
event "net 2 gone 0 ifindex $veth rnic $rnic mtu 0 up 0 addr fd75::1/64 " ip address add fd75::1/64 dev vethA nodad
event "net 2 gone 1 ifindex $veth rnic $rnic mtu 0 up 0 addr fd75::1/64 " ip address del fd75::1/64 dev vethA
event "net 4 gone 0 ifindex $veth rnic $rnic mtu 0 up 0 addr 10.99.20.0/24 " ip route add 10.99.20.0/24 via 10.77.0.2
event "net 4 gone 1 ifindex $veth rnic $rnic mtu 0 up 0 addr 10.99.20.0/24 " ip route del 10.99.20.0/24
event "net 4 gone 0 ifindex 0 rnic 0 mtu 0 up 0 addr 10.99.21.0/24 " ip route add blackhole 10.99.21.0/24
event "net 4 gone 0 ifindex $veth rnic $rnic mtu 0 up 0 addr fd99:20::/64 " ip -6 route add fd99:20::/64 via fd77::2
event "net 4 gone 1 ifindex $veth rnic $rnic mtu 0 up 0 addr fd99:20::/64 " ip -6 route del fd99:20::/64
if [ -n "$rules" ]; then
	event "net 4 gone 0 ifindex 0 rnic 0 mtu 0 up 0 addr 0.0.0.0/0 " ip rule add to 10.99.22.0/24 table 100
	event "net 4 gone 0 ifindex 0 rnic 0 mtu 0 up 0 addr ::/0 " ip -6 rule del to fd99:8::/64 table 100
fi
on A ip nexthop add id 77 via 10.77.0.2 dev vethA
event "net 4 gone 0 ifindex $veth rnic $rnic mtu 0 up 0 addr 10.99.23.0/24 " ip route add 10.99.23.0/24 nhid 77
event "net 4 gone 0 ifindex 0 rnic 0 mtu 0 up 0 addr 0.0.0.0/0 " ip nexthop replace id 77 via 10.77.0.3 dev vethA
event "net 4 gone 0 ifindex 0 rnic 0 mtu 0 up 0 addr ::/0 " ip nexthop replace id 77 via 10.77.0.2 dev vethA
event "net 4 gone 1 ifindex .* mtu 0 up 0 addr 10.99.23.0/24 " ip nexthop del id 77
# a kernel may be built without
if on A ip route add 10.99.24.0/24 nexthop via 10.77.0.2 dev vethA nexthop via 10.78.0.2 dev dummy0; then
	event "net 4 gone 0 ifindex 0 rnic 0 mtu 0 up 0 addr 0.0.0.0/0 " ip link set dummy0 down
	on A ip route del 10.99.24.0/24
fi
event "net 1 gone 0 ifindex $veth rnic $rnic mtu 1380 up 0 addr -/0 name vethA" ip link set vethA down
event "net 4 gone 0 ifindex $veth rnic $rnic mtu 0 up 0 addr 10.77.0.0/24 " ip link set vethA up
event "net 8 gone 1 ifindex $veth rnic $rnic mtu 0 up 0 addr -/0 name krdma0" rdma link delete krdma0
expect "no link to the RNIC" wait_for 5 on A test ! -e /sys/class/net/vethA/rnic
event "net 8 gone 0 ifindex $veth rnic [1-9][0-9]* mtu 0 up 0 addr -/0 name krdma0" rdma link add krdma0 type "$LINK_TYPE" netdev vethA
same "the RNIC of the network device" krdma0 "$(on A readlink /sys/class/net/vethA/rnic | sed 's/.*\///')"
event "name renamed" bash -c "ip link set vethA down && ip link set vethA name renamed"
event "net 1 .* up 1 addr -/0 name vethA" bash -c "ip link set renamed name vethA && ip link set vethA up"
# B hears of its own alone: the other end's carrier
same "events of B" 0 "$(grep -vc "subscribed\|ifindex $(index_of B vethB) \|ifindex 0 " silent.log || true)"
! grep -q "^event" monitor.log || fail "events were lost"

say "MIB"
on A ip -6 address add fd77::1/64 dev vethA nodad
wait_for 10 on A ping -q -c 1 -W 1 "$ADDR_B"
wait_for 10 on A ping -q -c 1 -W 1 fd77::2
rnic_active krdma0 || wait_for 10 rnic_active krdma0
serve pair B 7471 rping -s -a "$ADDR_B" -p 7471 -C 5
run_on A 60 rping -c -a "$ADDR_B" -p 7471 -C 5
finish pair 20
# host_mib: /proc/net/snmp and snmp6 in the names of the RFCs
cat > host_mib.py << 'PY'
lines = open("/proc/net/snmp").read().split("\n")
for names, values in zip(lines[::2], lines[1::2]):
    group, names = names.split(": ")
    for name, value in zip(names.split(), values.split(": ")[1].split()):
        if group == "IcmpMsg":
            print("icmpMsgStats" + name.replace("Type", "Pkts.ipv4."), value)
        if group == "Tcp" and name in ("InSegs", "OutSegs"):
            print("tcpHC" + name, value)
        # that is how often it was over
        if group in ("Ip", "Icmp", "Tcp") and name != "ReasmTimeout":
            print(group.lower() + name, int(value) % 2**64)
        if group == "Ip":
            print("ipSystemStats" + name + ".ipv4", value)
for line in open("/proc/net/snmp6"):
    name, value = line.split()
    if name.startswith("Ip6"):
        print("ipSystemStats" + name[3:] + ".ipv6", value)
    elif name.startswith(("Icmp6InType", "Icmp6OutType")):
        print("icmpMsgStats" + name[5:].replace("Type", "Pkts.ipv6."), value)
    elif name.startswith("Icmp6"):
        print("icmpStats" + name[5:] + ".ipv6", value)
def sysctl(name):
    return int(open("/proc/sys/net/" + name).read())
print("ipv6IpForwarding", 1 if sysctl("ipv6/conf/all/forwarding") else 2)
print("ipv6IpDefaultHopLimit", sysctl("ipv6/conf/all/hop_limit"))
print("ipReasmTimeout", sysctl("ipv4/ipfrag_time"))
PY
mib() {
	on A bash -c "python3 host_mib.py | LC_ALL=C sort > host.1 && $net mib | LC_ALL=C sort > ours && python3 host_mib.py | LC_ALL=C sort > host.2" &&
		cmp -s host.1 host.2
}
expect "a quiet moment" wait_for 20 mib
LC_ALL=C join host.1 ours > both
awk '$2 != $3' both > differ
[ ! -s differ ] || { cat differ; fail "objects are not what the host counts"; }
[ "$(wc -l < both)" -ge 80 ] || { cat ours; fail "only $(wc -l < both) objects in both"; }
for object in ipInReceives ipSystemStatsInOctets.ipv4 ipSystemStatsInReceives.ipv6 icmpInEchoReps tcpInSegs; do
	awk -v o=$object '$1 == o && $2 > 0 { found = 1 } END { exit !found }' ours || fail "$object is 0"
done
# messages by type: the same rows, but for columns that are 0
rows() { awk '/^icmpMsgStats/ && $2 > 0' "$1"; }
same "messages by type" "$(rows host.1)" "$(rows ours)"
for object in InPkts.ipv4.0 OutPkts.ipv4.8 InPkts.ipv6.129 OutPkts.ipv6.128 OutPkts.ipv6.135 InPkts.ipv6.136; do
	has "of this one" "^icmpMsgStats$object [1-9]" ours
done
has "its other column" "^icmpMsgStatsOutPkts.ipv4.0 [0-9]" ours
has "no router" "^ipv6IpForwarding 2" ours
on A sysctl -q -w net.ipv6.conf.all.forwarding=1 net.ipv4.ip_forward=1 net.ipv4.ipfrag_time=17 net.ipv6.conf.all.hop_limit=77
expect "a router" on A "$net" mib
for object in "ipv6IpForwarding 1" "ipForwarding 1" "ipReasmTimeout 17" "ipv6IpDefaultHopLimit 77"; do
	has "changed" "^$object\$" expect
done
on A sysctl -q -w net.ipv6.conf.all.forwarding=0 net.ipv4.ip_forward=0
expect "no router any more" on A "$net" mib
has "changed" "^ipv6IpForwarding 2" expect
same "one connection is one" 1 "$(awk '$1 == "tcpActiveOpens" { print $2 }' both)"
udp=$(awk '$1 == "Udp:" && $2 ~ /^[0-9]/ { print $2 }' <(on A cat /proc/net/snmp))
same "udpHCInDatagrams" "$(awk '$1 == "udpInDatagrams" { print $2 }' ours)" "$(awk '$1 == "udpHCInDatagrams" { print $2 }' ours)"
udp6=$(awk '$1 == "Udp6InDatagrams" { print $2 }' <(on A cat /proc/net/snmp6))
same "udpInDatagrams" $((udp + udp6)) "$(awk '$1 == "udpInDatagrams" { print $2 }' ours)"

say "the end"
ip netns add hostC
ip link add vethC0 type veth peer name vethC1 netns hostC
start last C "$net" monitor 15
expect "subscribed" wait_for 5 grep -q subscribed last.log
ip netns delete hostC
kill_hard monitor
kill_hard silent
# an open file keeps the namespace, and no longer than it is open
expect "its network device is there" ip link show vethC0
alive last || fail "it ended with the namespace's name"
kill_hard last
freed() { ! ip link show vethC0; }
expect "the namespace is freed" wait_for 20 freed

# The transport of SDP subscribes for each RNIC. Each look of it at an RNIC calls kal_rnic_in_net().
tracing=/sys/kernel/tracing
if [ -e $tracing/kprobe_events ]; then
	say "what changes in a namespace cost SDP"
	expect "the switch loads" insmod "$VM_MODULES/krdma_ops.ko"
	expect "kDAPL loads" kdapl_load
	expect "SDP loads" insmod "$VM_MODULES/krdma_sdp.ko"
	echo 'p:krdma_look krdma:kal_rnic_in_net arg=%di:x64' > $tracing/kprobe_events
	sleep 1
	echo > $tracing/trace
	echo 1 > $tracing/events/kprobes/krdma_look/enable
	looks() { grep -c 'krdma_look:' $tracing/trace || true; }
	looked() { [ "$(looks)" -gt 0 ]; }
	for i in {1..20}; do
		on A ip route add 10.123."$i".0/24 dev vethA
	done
	on A ip route flush root 10.123.0.0/16
	sleep 1
	same "looks for routes" 0 "$(looks)"
	on A ip address add 10.76.9.1/24 dev vethA
	expect "a look for an address" wait_for 5 looked
	echo 0 > $tracing/events/kprobes/krdma_look/enable
	same "RNICs that were looked at" 1 "$(sed -n 's/.*krdma_look:.*arg=//p' $tracing/trace | sort -u | wc -l)"
	echo > $tracing/kprobe_events
	expect "SDP goes" rmmod krdma_sdp
	expect "the switch goes" rmmod krdma_ops
fi
