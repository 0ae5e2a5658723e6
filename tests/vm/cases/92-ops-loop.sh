#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: marked sockets over the road of the host: what a program may expect of TCP holds under rules, by family and by protocol number, IPv4 and IPv6, with roads that open late; iperf3, socat, curl, nc; marked and other clients at one listener
# covers: ops tests/offload tests/vm/progs/ops_check.cpp
# limit: 420
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"

check() { timeout "$(patient 200)" "$VM_PROGS/ops_check" "$@"; }

ip link set lo up
modprobe -q tls || true
ops_load
checks "TCP" by_tcp check 2 0 $TCP
checks "the family" by_road check $OFFLOAD 0 $TCP
checks "AF_INET and the switch's number" by_road check 2 $WILDCARD $TCP
mark_some
checks "no rule takes it" by_tcp check 2 0 $TCP $UNMARKED
checks "rules" by_road check 2 0 $TCP $MARKED
checks "IPv6" by_road check 2 0 $TCP ::1
all_gone
plain_load
unmark
mark plain
checks "a road of the tests" by_road check 2 0 $TCP
parameter offload_plain delay_ms 30
[ -n "${VM_QUICK:-}" ] || checks "one that opens late" by_road check 2 0 $TCP
parameter offload_plain delay_ms 0
all_gone
unload offload_plain
unmark

# without a rule for an address: of all programs
mark
head -c 3000000 /dev/urandom > data
iperf() {
	iperf3 -s -1 -p 9100 > iperf3-server.log 2>&1 &
	wait_for 10 listening_here 9100
	expect "iperf3" iperf3 -c 127.0.0.1 -p 9100 -t 2 "$@"
	wait $! || { cat iperf3-server.log; fail "iperf3's server"; }
}
attempt "iperf3" by_road iperf
attempt "iperf3 with sendfile" by_road iperf -Z
attempt "iperf3, many streams, the other way" by_road iperf -P 4 -R

by_socat() {
	# family 19, protocol 0; the address is that of a sockaddr_in behind the family: port and 127.0.0.1
	parameter krdma_ops addresses Y
	socat -u SOCKET-LISTEN:19:0:x238d7f0000010000000000000000 CREATE:copy &
	wait_for 10 listening_here 9101
	expect "socat" socat -u OPEN:data SOCKET-CONNECT:19:0:x238d7f0000010000000000000000
	wait $!
	expect "what came" cmp data copy
	parameter krdma_ops addresses N
}
attempt "socat by family and protocol" by_road by_socat

by_curl() {
	local server i
	python3 -m http.server 9101 --bind 127.0.0.1 > http.log 2>&1 &
	server=$!
	wait_for 20 listening_here 9101
	for i in 1 2 3; do
		by_road expect "curl" curl -sS -o "copy$i" http://127.0.0.1:9101/data
		expect "what came" cmp data "copy$i"
	done
	ss -Hltn > listeners
	has "the listener" '127.0.0.1:9101' listeners
	kill $server
	wait $server || true
}
attempt "curl, and a server that uses sendfile" by_curl

by_nc() {
	local server
	nc -N -l 127.0.0.1 9102 > copy < /dev/null &
	server=$!
	wait_for 10 listening_here 9102
	expect "nc" nc -N 127.0.0.1 9102 < data
	wait $server
	expect "what came" cmp data copy
}
attempt "nc" by_road by_nc
all_gone

say "clients that a rule takes and others at one listener, in the order in which they came"
net_up
cat > order.py << 'END'
import os, socket, sys, time
at = (sys.argv[2], 9200)
if sys.argv[1] == "server":
    listener = socket.create_server(("0.0.0.0", at[1]), backlog=32)
    open("listening", "w").close()
    while not os.path.exists("go"):
        time.sleep(0.05)
    for _ in range(12):
        connection, peer = listener.accept()
        print(connection.recv(10).decode(), flush=True)
        connection.sendall(b"x")
else:
    client = socket.create_connection(at)
    client.sendall(sys.argv[3].encode())
    open("connected" + sys.argv[3], "w").close()
    client.recv(1)
    client.sendall(b"by the road, or not")
END
offload_on B add listen use any
offload_on B add connect use any
start server B python3 order.py server "$ADDR_B"
wait_for 10 test -e listening
wanted=
for i in {1..12}; do
	case $((i * i % 5)) in
	1) host=A ;; # has no rule
	*) host=B ;;
	esac
	start "client$i" $host python3 order.py client "$ADDR_B" "$i"
	wait_for 10 test -e "connected$i" || { cat "client$i.log"; fail "client $i"; }
	wanted+="$i"$'\n'
done
touch go
finish server 20
same "the order" "${wanted%$'\n'}" "$(cat server.log)"
for i in {1..12}; do finish "client$i" 10; done
hosts_down
all_gone

unload krdma_ops
attempts_verdict
