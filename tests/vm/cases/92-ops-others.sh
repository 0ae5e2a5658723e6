#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: marked sockets and others that have a hand in connections: listeners of systemd, IPAddressDeny=, IPVS, programs in Go (caddy, hey), a last packet of the handshake that is late, also after the module has gone
# covers: ops tests/vm/progs/ops_others.py tests/vm/progs/ops_attack.py
# kernel: stock
# limit: 400
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"

export VM_SLOW
export KRDMA="env LD_LIBRARY_PATH=$VM_REPO/build/ual $VM_REPO/build/tools/krdma"
program=$VM_REPO/tests/vm/progs/ops_others.py
attack=$VM_REPO/tests/vm/progs/ops_attack.py
ask() { timeout "$(patient 60)" python3 "$attack" ask "$@"; }
# installed PROGRAM...
installed() {
	local name
	for name; do
		command -v "$name" || { echo "$name is not there"; return 1; }
	done
}

ip link set lo up
ops_load explicit=0
mark_some

has_systemd() { installed systemd-socket-activate; }
# activates ADDRESS: a process for each connection; a server that takes the listener
activates() {
	local server
	systemd-socket-activate -l "$1:9700" -a --inetd cat > activate.log 2>&1 &
	server=$!
	wait_for 20 listening_here 9700 || { cat activate.log; fail "nobody listens"; }
	expect "a process each" ask "$1" 9700 3
	kill $server
	wait $server || true
	systemd-socket-activate -l "$1:9701" -E VM_SLOW python3 "$program" activated 3 > activate.log 2>&1 &
	server=$!
	wait_for 20 listening_here 9701 || { cat activate.log; fail "nobody listens"; }
	expect "one for all" ask "$1" 9701 3
	wait $server || { cat activate.log; fail "the server ended with $?"; }
}
# it is asked about when it begins to listen
listens_before() {
	unmark
	systemd-socket-activate -l "$MARKED:9702" -E VM_SLOW python3 "$program" activated 1 > activate.log 2>&1 &
	wait_for 20 listening_here 9702 || { cat activate.log; fail "nobody listens"; }
	mark_some
	expect "a listener that was there before the rule" ask "$MARKED" 9702 1
	wait $! || { cat activate.log; fail "the server ended with $?"; }
}
attempt_if has_systemd "socket activation, on TCP" by_tcp activates "$UNMARKED"
attempt_if has_systemd "socket activation" by_road activates "$MARKED"
attempt_if has_systemd "a rule that comes later" by_tcp listens_before

groups=$PWD/cgroup
mkdir "$groups"
mount -t cgroup2 cgroup2 "$groups"
mkdir "$groups/deny"
# denied [--plain]
denied() {
	# shellcheck disable=SC2016 # for the inner shell
	expect "IPAddressDeny= $*" bash -c 'echo $$ > "$1/cgroup.procs"; exec timeout "$2" python3 "${@:3}"' - \
		"$groups/deny" "$(patient 90)" "$program" "$@" deny "$groups/deny"
}
attempt "IPAddressDeny=, on TCP" by_tcp denied --plain
attempt "IPAddressDeny=" by_road denied

has_go() { installed caddy hey curl; }
mkdir web
head -c 5000000 /dev/urandom > web/large
head -c 20000 /dev/urandom > web/small
# hey_at ADDRESS RESULTS OPTION...: what came, without times
hey_at() {
	expect "hey ${*:3}" timeout "$(patient 60)" hey "${@:3}" "http://$1:9800/small"
	sed -n '/Total data/p; /Size.request/p; /Status code/,$p' expect >> "$2"
}
# in_go ADDRESS RESULTS
in_go() {
	local server
	env HOME="$PWD" caddy file-server --root "$PWD/web" --listen "$1:9800" > caddy.log 2>&1 &
	server=$!
	wait_for 30 listening_here 9800 || { cat caddy.log; fail "caddy does not listen"; }
	: > "$2"
	hey_at "$1" "$2" -n 200 -c 10
	hey_at "$1" "$2" -n 50 -c 5 -disable-keepalive
	expect "curl" curl -sS -o copy "http://$1:9800/large"
	expect "what came" cmp copy web/large
	kill $server
	wait $server || { cat caddy.log; fail "caddy ended with $?"; }
	cat "$2"
	has "all were answered" '\[200\][[:space:]]+200 responses' "$2"
}
go_on_tcp() { by_tcp in_go "$UNMARKED" go-tcp; }
go_on_road() {
	by_road in_go "$MARKED" go-road
	expect "the same results" diff go-tcp go-road
}
attempt_if has_go "programs in Go, on TCP" go_on_tcp
attempt_if has_go "programs in Go" go_on_road

has_ipvs() { installed ipvsadm && modprobe ip_vs && modprobe ip_vs_rr; }
service=10.78.1.254:9700
# A is the client; V has the service; B is behind it, with two servers
ipvs_up() {
	local host port
	for host in A V B; do
		ip netns add "host$host"
		on $host ip link set lo up
	done
	ip link add front netns hostV type veth peer name net0 netns hostA
	ip link add back netns hostV type veth peer name net0 netns hostB
	on V ip address add 10.78.1.254/24 dev front
	on V ip address add 10.78.2.254/24 dev back
	on A ip address add 10.78.1.1/24 dev net0
	on B ip address add 10.78.2.1/24 dev net0
	on V ip link set front up
	on V ip link set back up
	on A ip link set net0 up
	on B ip link set net0 up
	on A ip route add default via 10.78.1.254
	on B ip route add default via 10.78.2.254
	on V sysctl -qw net.ipv4.ip_forward=1
	on V ipvsadm -A -t $service -s rr
	for port in 9701 9702; do
		on V ipvsadm -a -t $service -r 10.78.2.1:$port -m
	done
	wait_for 10 on A ping -q -c 1 -W 1 10.78.2.1
}
# through road|tcp: eight connections at the same time, four for each server
through() {
	local port before after
	for port in 9701 9702; do
		start "server$port" B python3 "$attack" serve 0.0.0.0 $port 4
	done
	for port in 9701 9702; do
		wait_for 20 listening B $port || { cat server$port.log; fail "no server"; }
	done
	before=$(counter changed A)
	expect "the service" on A timeout "$(patient 60)" python3 "$program" fan "${service%:*}" "${service#*:}" 8
	for port in 9701 9702; do finish server$port 20; done
	after=$(counter changed A)
	case $1 in
	road) [ "$after" -gt "$before" ] || { offload_on A stats -n; fail "all went by TCP"; } ;;
	tcp) same "changes" "$before" "$after" ;;
	esac
}
ipvs() {
	local host
	ipvs_up
	through tcp
	for host in A B; do mark_on $host; done
	say "rules: the ends have other addresses"
	through tcp
	same "pairs" 0 "$(counter paired A)"
	say "the parameter nat"
	parameter krdma_ops nat Y
	through road
	parameter krdma_ops nat N
	through tcp
	on V ipvsadm -Ln --stats
}
attempt_if has_ipvs "IPVS" ipvs
parameter krdma_ops nat N
hosts_down
all_gone

# late_ack [unload]: the connection is the server's when the packet comes, in the end
late_ack() {
	local client
	rm -f asked go
	nft add table inet late
	nft add chain inet late in '{ type filter hook input priority 0 ; }'
	nft add rule inet late in tcp dport 9571 'tcp flags & (fin|syn|rst|ack) != syn' drop
	timeout "$(patient 90)" python3 "$program" unacknowledged > late.log 2>&1 &
	client=$!
	wait_for 20 test -e asked || { cat late.log; fail "no connection"; }
	if [ "${1:-}" = unload ]; then
		parameter krdma_ops shutdown 1
		unload krdma_ops
	fi
	nft delete table inet late
	touch go
	wait $client || { cat late.log; fail "the connection"; }
}
attempt "the last packet of the handshake is late" by_road late_ack
attempt "and comes when the module has gone" late_ack unload
rmdir "$groups/deny" || true
umount "$groups" || true
! loaded krdma_ops || unload krdma_ops
attempts_verdict
