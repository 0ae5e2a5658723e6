#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: marked connections between two network namespaces with stateful firewalls, loss, delay, NAT and syncookies, and a network that stops in the middle
# covers: ops tests/vm/progs/ops_attack.py
# kernel: stock
# limit: 300
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"

export VM_SLOW
program=$VM_REPO/tests/vm/progs/ops_attack.py
port=9600
# transfer [NUMBER [SIZE [PAUSE]]]: from A to B and back, at port; to "there" if that is another one
there=
transfer() {
	port=$((port + 1))
	start server B python3 "$program" serve 0.0.0.0 $port "${1:-1}"
	wait_for 20 listening B $port || { cat server.log; fail "no server"; }
	expect "the transfer" on A timeout "$(patient 60)" python3 "$program" ask "$ADDR_B" "${there:-$port}" "$@"
	finish server 20
}
# by WHAT: "road" or "tcp"
goes() {
	local way=$1 before after
	shift
	before=$(counter changed A)
	transfer "$@"
	after=$(counter changed A)
	case $way in
	road) [ "$after" -gt "$before" ] || { offload_on A stats; fail "all went by TCP"; } ;;
	tcp) same "changes" "$before" "$after" ;;
	esac
}
each() { for host in A B; do "$@" $host; done; }
firewall() {
	on "$1" nft -f - << END
table inet filter {
	chain in {
		type filter hook input priority 0; policy drop;
		ct state established,related accept
		ct state invalid drop
		iif lo accept
		tcp dport 9600-9999 ct state new accept
		ip protocol icmp accept
		ip6 nexthdr icmpv6 accept
	}
	chain out {
		type filter hook output priority 0; policy drop;
		ct state established,related accept
		ct state invalid drop
		tcp dport 9600-9999 ct state new accept
		ip protocol icmp accept
		ip6 nexthdr icmpv6 accept
	}
}
END
}
lossy() { on "$1" tc qdisc add dev "veth$1" root netem delay 2ms loss 5%; }
not_lossy() { on "$1" tc qdisc del dev "veth$1" root; }

ops_load
net_up
attempt "no rules" goes tcp
mark_on A
attempt "a rule of one of the two" goes tcp
offload_on B add listen use any
attempt "of both" goes road
attempt "many" goes road 20 5000
each firewall
attempt "stateful firewalls" goes road
attempt "many" goes road 20 5000
each lossy
attempt "5 % loss" goes road 8 100000
attempt "5 % loss, short ones" transfer 20 100
each not_lossy
on B sysctl -qw net.ipv4.tcp_syncookies=2
attempt "syncookies" goes road 5
on B sysctl -qw net.ipv4.tcp_syncookies=1

# the other end's kernel sees no packet of it any more, so the end of it comes by the road
stops() {
	rm -f paused
	port=$((port + 1))
	start server B python3 "$program" serve 0.0.0.0 $port 1
	wait_for 20 listening B $port || fail "no server"
	start client A python3 "$program" ask "$ADDR_B" $port 1 50000 2
	wait_for 20 test -e paused
	on A nft flush ruleset
	on A nft -f - << END
table inet filter {
	chain out { type filter hook output priority 0; policy drop; }
	chain in { type filter hook input priority 0; policy drop; }
}
END
	finish client 20
	finish server 20
}
attempt "the network stops in the middle" stops
on A nft flush ruleset
on B nft flush ruleset
# what TCP has of them is still in FIN_WAIT1
nat() {
	on B nft -f - << END
table ip nat {
	chain pre { type nat hook prerouting priority -100; tcp dport 9999 redirect to :$((port + 1)); }
}
END
	there=9999 goes "$1"
	on B nft flush ruleset
}
attempt "a port forward: the ends have other addresses" nat tcp
balanced() {
	on A nft -f - << END
table ip nat {
	chain out { type nat hook output priority -100; tcp dport 9999 dnat to $ADDR_B:$((port + 1)); }
}
END
	there=9999 goes tcp
	on A nft flush ruleset
}
attempt "a destination that the client's host changes" balanced

hosts_down
all_gone
unload krdma_ops
attempts_verdict
