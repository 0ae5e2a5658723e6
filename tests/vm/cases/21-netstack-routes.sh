#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: routes and local addresses of /dev/krdma equal those of "ip route get"; a kernel consumer gets the same
# covers: kal/net/route kal/net/addr kal/net/netstack kal/net/rnic kal/chardev/net
# limit: 200
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

net=$VM_PROGS/krdma_net

# within HOST COMMAND...: as "on", without what a namespace has beyond its network
within() { nsenter "--net=/run/netns/host$1" "${@:2}"; }

# link HOST DEV: "ifindex N mtu N"
link() { ip -n "host$1" -o link show dev "$2" | sed 's/^\([0-9]*\):.* mtu \([0-9]*\).*/ifindex \1 mtu \2/'; }
index_of() { link "$@" | cut -d ' ' -f 2; }

# routes -------------------------------------------------------------------

# ip_says HOST DST [from A] [oif DEV]: in krdma_net's words, without the RNIC
ip_says() {
	local host=$1 dst=$2 out from=- dev mtu link
	shift
	[ "${2:-}" != from ] || from=$3
	if ! out=$(ip -n "host$host" -o route get "$@" ipproto tcp 2>&1); then
		case $out in
		*"Network is unreachable"*) echo "errno ENETUNREACH" ;;
		*"No route to host"*) echo "errno EHOSTUNREACH" ;;
		*"Permission denied"*) echo "errno EACCES" ;;
		*"Invalid argument"*) echo "errno EINVAL" ;;
		*) echo "$out" ;;
		esac
		return
	fi
	dev=${out##* dev }
	dev=${dev%% *}
	mtu=$(sed -n 's/.* mtu \(lock \)\?\([0-9]*\).*/\2/p' <<< "$out")
	link=$(link "$host" "$dev")
	[ -n "$mtu" ] || mtu=${link##* }
	# the largest packet of IPv4
	[[ $dst == *:* || $mtu -lt 65536 ]] || mtu=65535
	awk -v from="$from" -v link="${link% mtu *}" -v mtu="$mtu" '{
		src = from; via = "-"
		for (i = 1; i < NF; i++) {
			if ($i == "src" && from == "-") src = $(i + 1)
			if ($i == "via") via = $(i + 1) == "inet6" ? $(i + 2) : $(i + 1)
		}
		print "src", src, "via", via, link, "mtu", mtu, "local", ($1 == "local") }' <<< "$out"
}

# route HOST DST [from A] [oif DEV]: both say the same; it is kept in $answer
routes=0
route() {
	local host=$1 words=("$2") said
	shift
	said=$(ip_says "$host" "$@")
	while [ $# -gt 1 ]; do
		[ "$2" != from ] || words+=(src "$3")
		[ "$2" != oif ] || words+=(oif "$(index_of "$host" "$3")")
		shift 2
	done
	answer=$(within "$host" "$net" route "${words[@]}") || true
	same "route ${words[*]}" "$said" "${answer% rnic *}"
	routes=$((routes + 1))
}

# reach HOST DST ADDR...: the local addresses that reach it, in that order
reach() {
	local host=$1 dst=$2
	shift 2
	within "$host" "$net" locals "$dst" > reached || fail "locals $dst: $(< reached)"
	same "locals for $dst" "$*" "$(awk '{ print $1 }' reached | xargs)"
}

say "routes"
hosts_up
on A ip link add dummy0 mtu 1450 type dummy
on A ip link set dummy0 up
on A ip address add 10.78.0.1/24 dev dummy0
on A ip -6 address add fd78::1/64 dev dummy0 nodad

route A 10.77.0.2
veth=$(index_of A vethA)
rnic=${answer##* }
same "the RNIC" "src 10.77.0.1 via - ifindex $veth mtu 1500 local 0 rnic $rnic" "$answer"
[ "$rnic" -gt 0 ] || fail "no RNIC: $answer"
route A fd77::2
same "the RNIC" "$rnic" "${answer##* }"
route A 10.78.0.9
[ "${answer##* }" = 0 ] || fail "an RNIC on dummy0: $answer"
route A fd78::9
for dst in 10.77.0.1 127.0.0.1 127.1.2.3 10.78.0.1 fd77::1 ::1 fd78::1; do
	route A $dst
done
route A 10.77.0.1
same "the RNIC of a local address" "$rnic" "${answer##* }"

for dst in 10.99.1.1 10.99.2.1 10.99.3.1 10.99.4.1 fd99:1::1 fd99:2::1 fd99:3::1 fd99:4::1; do
	route A $dst
	same "no route" "errno ENETUNREACH" "$answer"
done
on A ip route add 10.99.1.0/24 via 10.77.0.2
on A ip route add 10.99.2.0/24 via inet6 fd77::2 dev vethA
on A ip route add unreachable 10.99.3.0/24
on A ip route add prohibit 10.99.4.0/24
on A ip route add blackhole 10.99.5.0/24
on A ip route add 10.99.6.0/24 via 10.77.0.2 mtu 1300
on A ip route add 10.99.7.0/24 via 10.77.0.2 src 10.78.0.1
on A ip -6 route add fd99:1::/64 via fd77::2
on A ip -6 route add unreachable fd99:3::/64
on A ip -6 route add prohibit fd99:4::/64
on A ip -6 route add blackhole fd99:5::/64
on A ip -6 route add fd99:6::/64 via fd77::2 mtu 1300
on A ip -6 route add fd99:7::/64 via fd77::2 src fd78::1
for net4 in 1 2 3 4 5 6 7; do
	route A 10.99.$net4.1
	[ $net4 = 2 ] || route A fd99:$net4::1
done
route A 10.77.0.2 oif vethA
route A 10.78.0.2 oif vethA
route A fd78::2 oif vethA
route A 10.77.0.2 from 10.78.0.1
route A fd77::2 from fd78::1
route A 10.77.0.2 from 10.77.0.1 oif vethA
link_local=$(ip -n hostA -o -6 address show dev vethA scope link | sed 's/.* inet6 \([^/]*\).*/\1/')
expect "link-local" on A "$net" route "fe80::9%$veth"
has "link-local source" "^src $link_local via - ifindex $veth mtu 1500 local 0 rnic $rnic$" expect

say "policy and changes"
# a kernel may be built without
if on A ip rule show > /dev/null 2>&1; then
	on A ip route add default dev dummy0 table 100
	on A ip rule add to 10.99.8.0/24 table 100
	on A ip rule add from 10.77.0.1 to 10.99.9.0/24 table 100
	on A ip rule add ipproto tcp to 10.99.10.0/24 table 100
	on A ip rule add ipproto udp to 10.99.11.0/24 table 100
	on A ip rule add to 10.99.12.0/24 prohibit
	on A ip -6 route add default dev dummy0 table 100
	on A ip -6 rule add to fd99:8::/64 table 100
	route A 10.99.8.1
	route A 10.99.9.1
	route A 10.99.9.1 from 10.77.0.1
	route A 10.99.10.1
	same "a rule for TCP" "src 10.78.0.1 via - ifindex $(index_of A dummy0) mtu 1450 local 0 rnic 0" "$answer"
	route A 10.99.11.1
	route A 10.99.12.1
	route A fd99:8::1
fi
on A ip link set vethA mtu 1400
on B ip link set vethB mtu 1400
route A 10.77.0.2
route A fd77::2
route A 10.99.6.1
same "path MTU" "src 10.77.0.1 via 10.77.0.2 ifindex $veth mtu 1300 local 0 rnic $rnic" "$answer"
on A ip route replace 10.99.1.0/24 via 10.77.0.3
on A ip -6 route replace fd99:1::/64 via fd77::3
route A 10.99.1.1
route A fd99:1::1
on A ip link set dummy0 down
route A 10.78.0.9
on A ip link set dummy0 up
route A 10.78.0.9
say "$routes routes"

say "local addresses"
on A ip address add 10.77.0.5/24 dev vethA
on A ip address add 10.76.0.1/24 dev vethA
on A ip address add 169.254.7.7/16 dev vethA scope link
on A ip address add 10.76.9.9/32 dev vethA scope host
on A ip route add 10.77.0.0/24 dev dummy0 metric 500
on A ip -6 address add fd77::5/64 dev vethA nodad preferred_lft 0
on A ip -6 address add fd76::1/64 dev vethA nodad
on A ip -6 address add fd77::6/64 dev vethA nodad
# what a neighbour has answered for is tentative for ever
on A sysctl -qw net.ipv6.conf.vethA.accept_dad=1
on B ip -6 address add fd77::7/64 dev vethB nodad
on A ip -6 address add fd77::7/64 dev vethA
dad_failed() { on A ip -6 address show dev vethA | grep dadfailed > /dev/null; }
expect "a duplicate is found" wait_for 10 dad_failed
# otherwise in the order of the interface
reach A 10.77.0.2 10.77.0.1 10.77.0.5 169.254.7.7 10.76.0.1 10.78.0.1
reach A 10.99.1.1 10.77.0.1 10.77.0.5 10.76.0.1
reach A 10.99.7.1 10.78.0.1 10.77.0.1 10.77.0.5 10.76.0.1
reach A 10.78.0.9 10.78.0.1
first6=$(on A ip -o route get fd77::2 | sed 's/.* src \([^ ]*\).*/\1/')
same "IPv6 addresses" "fd76::1 fd77::1 fd77::6" "$(on A "$net" locals fd77::2 | awk '{ print $1 }' | sort | xargs)"
same "the best of them" "$first6 $veth $rnic" "$(on A "$net" locals fd77::2 | sed -n 1p)"
same "link-local" "$link_local $veth $rnic" "$(on A "$net" locals "fe80::9%$veth" | sed -n 1p)"
refuse "no address reaches it" on A "$net" locals 10.99.3.1
has "and why" "^errno EHOSTUNREACH" expect
on A ip address del 10.77.0.5/24 dev vethA
on A ip route del 10.77.0.0/24 dev dummy0 metric 500
reach A 10.77.0.2 10.77.0.1 169.254.7.7 10.76.0.1
expect "wrong commands" on A "$net" refusals

say "a kernel consumer: routes, neighbours, ports, events"
lines=$(dmesg | wc -l) rc=0
# programs' limits are not its own
for limit in neigh_watches net_subscriptions; do echo 0 > /sys/module/krdma/parameters/$limit; done
within A insmod "$VM_MODULES/tests/consumers/krdma_ktest_net.ko" peer="$ADDR_B" netdev=vethA || rc=$?
dmesg --color=never | tail -n +$((lines + 1)) | grep ktest
[ $rc = 0 ] || fail "insmod answered $rc"
rmmod krdma_ktest_net
for limit in neigh_watches net_subscriptions; do echo 1024 > /sys/module/krdma/parameters/$limit; done
