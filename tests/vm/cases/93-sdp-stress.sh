#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: 1000 connections of SDP at once and what one costs; 1 % loss, duplication and reordering; namespaces that end under listeners and connections
# covers: sdp kal/kdapl
# kernel: stock
# limit: 900
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"
# shellcheck source=tests/vm/guest/sdp.sh
. "$VM_REPO/tests/vm/guest/sdp.sh"

stress=$VM_REPO/tests/vm/guest/sdp_stress.py
many=1000
[ -z "${VM_QUICK:-}" ] || many=300

available() {
	sync
	echo 3 > /proc/sys/vm/drop_caches
	sleep 1
	awk '/^MemAvailable:/ { print $2 }' /proc/meminfo
}

# crowd COUNT MOST: that many connections at a time, all of them compared; KiB that one may cost
crowd() {
	local count=$1 most=$2 before open each
	before=$(available)
	rm -f go
	start server B prlimit --nofile=4096 python3 "$stress" server "$ADDR_B" "$count"
	wait_for 60 grep -q listening server.log || fail "$(cat server.log)"
	start client A prlimit --nofile=4096 python3 "$stress" client "$ADDR_B" "$count"
	wait_for 240 grep -q "compared $count" client.log || { cat client.log server.log; fail "no $count connections"; }
	open=$(($(sdp_stat sockets) / 2))
	[ "$open" -ge "$count" ] || fail "$open connections use SDP, not $count"
	each=$(((before - $(available)) / count))
	say "$count connections: $each KiB each, both ends, with the programs"
	[ $each -lt "$most" ] || fail "a connection costs $each KiB"
	touch go
	finish client 120
	finish server 60
	same "accepted" "accepted $count" "$(tail -1 server.log)"
	all_sdp_gone
	check_no_leak
	[ $((before - $(available))) -lt 40000 ] || fail "memory is missing: $before -> $(available) KiB"
}

# with buffers that 1000 programs of one host would choose
small_crowd() {
	parameter krdma_sdp rcvbuf 16384
	parameter krdma_sdp sndbuf 16384
	crowd $many 700
	parameter krdma_sdp rcvbuf 262144
	parameter krdma_sdp sndbuf 262144
}

# many at a time in both directions, over a bad network
bad_network() {
	local host
	for host in A B; do
		on $host tc qdisc add dev veth$host root netem delay 1ms 0.5ms loss 1% duplicate 0.5% reorder 5% 50%
	done
	rm -f go
	touch go
	start server B python3 "$stress" server "$ADDR_B" 40
	wait_for 60 grep -q listening server.log || fail "$(cat server.log)"
	start client A python3 "$stress" client "$ADDR_B" 40
	finish client 200
	finish server 60
	on B timeout "$(patient 200)" python3 "$stress" server "$ADDR_B" 1 > server2.log 2>&1 &
	pid_of[server2]=$!
	wait_for 60 grep -q listening server2.log || fail "$(cat server2.log)"
	expect "a large transfer" on A timeout "$(patient 200)" python3 -c "
import hashlib, socket, threading
sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 257)
sock.connect(('$ADDR_B', 9500))
data = hashlib.shake_128(b'large').digest(3000000)
def send():
    sock.sendall(data)
    sock.shutdown(socket.SHUT_WR)
thread = threading.Thread(target=send)
thread.start()
got = b''
while True:
    block = sock.recv(1 << 20)
    if not block:
        break
    got += block
thread.join()
assert got == data, 'wrong data'
"
	finish server2 60
	for host in A B; do
		on $host tc qdisc delete dev veth$host root
	done
	all_sdp_gone
}

namespaces() { ip netns list | wc -l; }

# the namespace that ends has a listener, and connections in several states with itself
namespace_ends() {
	start holder A python3 "$stress" holds "$ADDR_A"
	wait_for 60 grep -q holds holder.log || fail "$(cat holder.log)"
	# its name goes first: the namespace itself ends with the program
	ip netns delete hostA
	kill_hard holder
	wait_for 60 absent krdma0 || fail "krdma0 is still there: the namespace does not end"
	wait_for 30 sdp_gone || fail "sockets of SDP are left"
}
absent() { ! rdma -j dev | grep "\"$1\"" > /dev/null; }

# connections with another host, which has to learn of it; their sockets are closed, and
# what they have sent waits for the peer
namespace_ends_under_data() {
	start server B python3 "$stress" server "$ADDR_B" 1000
	wait_for 60 grep -q listening server.log || fail "$(cat server.log)"
	rm -f go
	start client A python3 "$stress" client "$ADDR_B" 20
	wait_for 60 grep -q "compared 20" client.log || fail "$(cat client.log)"
	# nothing gets through any more, and TCP's own ends, which keep the namespace, do not try for long
	on A sysctl -qw net.ipv4.tcp_orphan_retries=2
	on A tc qdisc add dev vethA root netem loss 100%
	ip netns delete hostA
	kill_hard client
	wait_for 60 absent krdma0 || fail "krdma0 is still there: the namespace does not end"
	rid_of server
	wait_for 60 sdp_gone || fail "sockets of SDP are left"
}

# again: the other host, which has only a listener
host_again() {
	ip link delete vethB 2> /dev/null || true
	hosts_down
	hosts_up
	note_resources
}

hosts_up
# the buffers of all connections are more than the limit of a small machine
ops_load addresses=1 max_memory_mb=1500
sdp_load close_timeout_s=10
note_resources
part "$many connections with the default buffers" crowd $many 1400
part "$many connections with small ones" small_crowd
part "loss, duplication, reordering" bad_network
part "a namespace ends" namespace_ends
host_again
part "a namespace ends under connections" namespace_ends_under_data
host_again
part "afterwards" bad_network
sdp_ends
hosts_down
parts_verdict
