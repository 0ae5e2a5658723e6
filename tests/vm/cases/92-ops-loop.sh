#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: sockets of krdma_ops over a loopback protocol: what a program may expect of TCP holds by family, protocol number and krun; iperf3, socat, curl, nc; TCP and the protocol at one listener
# covers: ops tests/offload uapi/krun tests/vm/progs/ops_check.cpp
# limit: 420
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"

tests=0 failed=0
# checks WHAT COMMAND...: ops_check; continues after a failure, so that all are known
checks() {
	local what=$1 rc=0
	shift
	say "checks: $what"
	timeout "$(patient 200)" "$@" > checks.log 2>&1 || rc=$?
	cat checks.log
	tests=$((tests + $(awk '/ passed, / { print $1 }' checks.log)))
	[ $rc = 0 ] || failed=$((failed + 1))
	all_gone
}
check=$VM_PROGS/ops_check

ip link set lo up
modprobe -q tls || true
ops_load bad_peer_s=0
checks "TCP" "$check" 2 $TCP $TCP
checks "no protocol is there" "$check" $OFFLOAD 0 $TCP
loop_load
checks "the family" "$check" $OFFLOAD 0 $LOOP
checks "AF_INET and the wildcard's number" "$check" 2 $WILDCARD $LOOP
[ -n "${VM_QUICK:-}" ] || checks "the protocol alone" "$check" $OFFLOAD $LOOP $LOOP
checks "IPv6" "$check" 2 $WILDCARD $LOOP ::1
checks "krun" "$krun" "$check" 2 0 $LOOP
parameter offload_loop connect_delay_ms 30
checks "connections take time" "$check" 2 $WILDCARD $LOOP
parameter offload_loop connect_delay_ms 0
[ $failed = 0 ] || fail "$failed runs of checks with failures"

say "iperf3"
"$krun" iperf3 -s -1 -p 9100 > iperf3-server.log 2>&1 &
wait_for 10 listening_here 9100
rises some offloaded expect "iperf3" "$krun" iperf3 -c 127.0.0.1 -p 9100 -t 2 -Z
wait $! || { cat iperf3-server.log; fail "iperf3's server"; }

say "socat by family and protocol"
head -c 3000000 /dev/urandom > data
# family 19, protocol 0; the address is that of a sockaddr_in behind the family: port and 127.0.0.1
socat -u SOCKET-LISTEN:19:0:x238d7f0000010000000000000000 CREATE:copy &
wait_for 10 listening_here 9101
rises 1 offloaded expect "socat" socat -u OPEN:data SOCKET-CONNECT:19:0:x238d7f0000010000000000000000
wait $!
expect "what came" cmp data copy

say "curl, and a server that uses sendfile"
"$krun" python3 -m http.server 9101 --bind 127.0.0.1 > http.log 2>&1 &
server=$!
wait_for 20 listening_here 9101
for i in 1 2 3; do
	rises some offloaded expect "curl" "$krun" curl -sS -o "copy$i" http://127.0.0.1:9101/data
	expect "what came" cmp data "copy$i"
done
# a program that knows nothing of all this, at the same listener
rises some native-accepted expect "curl of TCP" curl -sS -o copy4 http://127.0.0.1:9101/data
expect "what came" cmp data copy4
ss -Hltn | tee ss
has "the listener" '127.0.0.1:9101' ss
kill $server
wait $server || true

say "nc"
"$krun" nc -N -l 127.0.0.1 9102 > copy < /dev/null &
server=$!
wait_for 10 listening_here 9102
expect "nc" "$krun" nc -N 127.0.0.1 9102 < data
wait $server
expect "what came" cmp data copy
all_gone

say "clients of TCP and of the protocol at one listener, in the order in which they came"
net_up
on B ip link set lo up
cat > order.py << 'END'
import os, socket, sys, time
at = (sys.argv[2], 9200)
if sys.argv[1] == "server":
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 258)
    listener.bind(("0.0.0.0", at[1]))
    listener.listen(32)
    open("listening", "w").close()
    while not os.path.exists("go"):
        time.sleep(0.05)
    for _ in range(12):
        connection, peer = listener.accept()
        name = connection.recv(10).decode()
        print(name, connection.getsockopt(socket.SOL_SOCKET, socket.SO_PROTOCOL), flush=True)
else:
    client = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 258)
    client.connect(at)
    client.sendall(sys.argv[3].encode())
    open("connected" + sys.argv[3], "w").close()
    client.recv(1)
END
start server B python3 order.py server "$ADDR_B"
wait_for 10 test -e listening
wanted=
for i in {1..12}; do
	case $((i * i % 5)) in
	1) host=A protocol=$TCP ;;
	*) host=B protocol=$LOOP ;;
	esac
	start "client$i" $host python3 order.py client "$ADDR_B" "$i"
	wait_for 10 test -e "connected$i" || { cat "client$i.log"; fail "client $i"; }
	wanted+="$i $protocol"$'\n'
done
touch go
finish server 20
same "the order" "${wanted%$'\n'}" "$(cat server.log)"
for i in {1..12}; do finish "client$i" 10; done
hosts_down

unload offload_loop krdma_ops
counted $((tests + 12)) 0
