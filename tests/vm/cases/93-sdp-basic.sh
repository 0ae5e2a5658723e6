#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: SDP as a road of TCP connections, by rules, by protocol number and by family: what a program may expect of TCP holds, past the wire and over it; python, socat, qperf, iperf3; the module goes
# covers: sdp ops tests/vm/progs/ops_check.cpp
# limit: 600
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"
# shellcheck source=tests/vm/guest/sdp.sh
. "$VM_REPO/tests/vm/guest/sdp.sh"

FAMILY=27 SDP=257
check=$VM_PROGS/ops_check

# checks HOST WHAT ARGUMENT...: ops_check
checks() {
	local host=$1 what=$2 rc=0
	shift 2
	say "checks: $what"
	on "$host" timeout "$(patient 200)" "$check" "$@" > checks.log 2>&1 || rc=$?
	cat checks.log
	all_sdp_gone
	[ $rc = 0 ] || fail "ops_check ended with $rc"
}

hosts_up
ops_load addresses=1
sdp_load
note_resources

cat > stream.py << 'EOF'
import hashlib, random, socket, sys, threading
role, family, protocol, address, port, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], int(sys.argv[5]), int(sys.argv[6])
def made():
    return socket.socket(family, socket.SOCK_STREAM, protocol)
where = (address, port)
def bind(sock): sock.bind(where)
def connect(sock): sock.connect(where)
def accept(sock): return sock.accept()[0]
if family == 27:
    # Python knows no addresses of that family
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    packed = b"\x02\x00" + port.to_bytes(2, "big") + socket.inet_aton(address) + bytes(8)
    def bind(sock):
        assert libc.bind(sock.fileno(), packed, 16) == 0, ctypes.get_errno()
    def connect(sock):
        assert libc.connect(sock.fileno(), packed, 16) == 0, ctypes.get_errno()
    def accept(sock):
        fd = libc.accept(sock.fileno(), None, None)
        assert fd >= 0, ctypes.get_errno()
        return socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, fileno=fd)
def send(sock, seed):
    source, digest, left = random.Random(seed), hashlib.sha256(), size
    while left:
        block = source.randbytes(min(left, source.choice((1, 100, 5000, 70000, 300000))))
        digest.update(block)
        sock.sendall(block)
        left -= len(block)
    sock.shutdown(socket.SHUT_WR)
    return digest.hexdigest()
def receive(sock, seed):
    source, digest, count = random.Random(seed), hashlib.sha256(), 0
    while True:
        block = sock.recv(source.choice((1, 999, 16384, 400000)))
        if not block:
            return count, digest.hexdigest()
        count += len(block)
        digest.update(block)
if role == "server":
    listener = made()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bind(listener)
    listener.listen(8)
    print("listening", flush=True)
    sock = accept(listener)
else:
    sock = made()
    connect(sock)
result = []
thread = threading.Thread(target=lambda: result.append(send(sock, role)))
thread.start()
count, digest = receive(sock, "reader")
thread.join()
print("sent", size, result[0])
print("received", count, digest)
EOF

# stream FAMILY PROTOCOL SIZE [ADDRESS]: both directions at a time
stream() {
	local address=${4:-$ADDR_B}
	start server B python3 stream.py server "$1" "$2" "$address" 9300 "$3"
	wait_for 60 grep -q listening server.log || fail "$(cat server.log)"
	start client A python3 stream.py client "$1" "$2" "$address" 9300 "$3"
	finish client 240
	finish server 60
	same "to the server" "$(sed -n 's/^sent //p' client.log)" "$(sed -n 's/^received //p' server.log)"
	same "to the client" "$(sed -n 's/^sent //p' server.log)" "$(sed -n 's/^received //p' client.log)"
	all_sdp_gone
}

with_socat() {
	head -c 3000000 /dev/urandom > data
	# the address is that of a sockaddr_in behind the family: port 9101 and 10.77.0.2
	local at=x238d0a4d00020000000000000000
	start socat B socat -u SOCKET-LISTEN:$FAMILY:0:$at CREATE:copy
	wait_for 60 listening B 9101 || fail "socat does not listen: $(cat socat.log)"
	expect "socat" on A socat -u OPEN:data SOCKET-CONNECT:$FAMILY:0:$at
	finish socat 30
	expect "what came" cmp data copy
	all_sdp_gone
}

with_qperf() {
	local test
	sdp_rules 19766
	start qperf B qperf
	wait_for 60 listening B 19765
	for test in tcp_lat tcp_bw; do
		sdp_rises opened expect "$test" on A timeout "$(patient 60)" qperf -ip 19766 -t 2 "$ADDR_B" $test
		cat expect
		has "$test gives a figure" '= +[0-9.]*[1-9]' expect
	done
	kill_hard qperf
	all_sdp_gone
	no_rules
}

# an unchanged program under a rule: TCP begins, SDP takes over
with_iperf3() {
	sdp_rules 9100
	start iperf B iperf3 -s -1 -p 9100
	wait_for 60 listening B 9100
	sdp_rises tx-copied expect "iperf3" on A iperf3 -c "$ADDR_B" -p 9100 -t 2
	grep -E 'sender|receiver' expect
	finish iperf 20
	all_sdp_gone
	no_rules
}

# the same with compared data, from the first byte on
ruled() {
	sdp_rules 9300
	sdp_rises tx-copied stream 2 0 3000000
	no_rules
}

# the first byte of a socket that must use SDP fails where SDP is not; a rule leaves such a connection to TCP
refusals() {
	refuse "nobody listens" on A python3 stream.py client 2 $SDP "$ADDR_B" 9301 1
	has "the error" 'ConnectionRefused' expect
	start server B python3 stream.py server 2 0 "$ADDR_B" 9302 1
	wait_for 60 grep -q listening server.log || fail "$(cat server.log)"
	refuse "a peer without a mark" on A python3 stream.py client 2 $SDP "$ADDR_B" 9302 1
	grep Error expect
	finish_any server 20
	sdp_rules 9303 A
	start server B python3 stream.py server 2 0 "$ADDR_B" 9303 1000
	wait_for 60 grep -q listening server.log || fail "$(cat server.log)"
	start client A python3 stream.py client 2 0 "$ADDR_B" 9303 1000
	finish client 20
	finish server 20
	no_rules
	all_sdp_gone
}

# endless: a stream that another command ends
endless() {
	start server B python3 stream.py server 2 $SDP "$ADDR_B" 9300 1000000000
	wait_for 60 grep -q listening server.log || fail "$(cat server.log)"
	start client A python3 stream.py client 2 $SDP "$ADDR_B" 9300 1000000000
	wait_for 60 sdp_has A 1 || fail "$(cat client.log)"
	sleep 1
}

killed() {
	endless
	offload A sockets
	kill_hard client
	finish_any server 30
	all_sdp_gone
}

rnic_goes() {
	endless
	on A rdma link delete krdma0
	finish_any client 30
	finish_any server 30
	all_sdp_gone
	rnic_add A
	wait_for 10 rnic_active krdma0
	stream 2 $SDP 100000
}

# bytes in buffers of a namespace's roads
road_memory() { offload "$1" limits | awk '$1 == "memory" { print $3 }'; }
no_road_memory() { [ "$(road_memory A)" = 0 ] && [ "$(road_memory B)" = 0 ]; }
offload_stat() { offload "$1" stats | awk -v name="$2" '$1 == name { print $2 }'; }

# TCP goes on where a namespace may not have the buffers that a road begins with, at either end
limited() {
	local limit refused
	endless
	[ "$(road_memory A)" -gt 100000 ] || fail "buffers are not charged: $(offload A limits)"
	kill_hard client
	finish_any server 30
	all_sdp_gone
	wait_for 10 no_road_memory || fail "memory is still charged: $(offload A limits; offload B limits)"

	sdp_rules 9300
	limit=$(offload_stat A limit)
	offload A limits memory 100000
	stream 2 0 300000
	[ "$(offload_stat A limit)" -gt "$limit" ] || fail "the limit is not the reason: $(offload A stats -n)"
	offload A limits memory default
	# what this host lacks is no reason to leave the peer alone
	sdp_rises tx-copied stream 2 0 3000000
	refused=$(offload_stat A refused)
	offload B limits memory 100000
	stream 2 0 3000000
	[ "$(offload_stat A refused)" -gt "$refused" ] || fail "the peer's limit is not the reason: $(offload A stats -n)"
	offload B limits memory default
	no_rules
	wait_for 10 no_road_memory || fail "memory is still charged: $(offload A limits; offload B limits)"
}

cat > keepalive.py << 'EOF'
import socket, sys, threading, time
role, address = sys.argv[1:]
idle, interval, count = 2, 1, 3
def made(protocol):
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)
protocols = {"tcp": (0, 9310), "sdp": (257, 9311)}
if role == "server":
    listeners, socks = [], []
    for protocol, port in protocols.values():
        listeners.append(made(protocol))
        listeners[-1].bind((address, port))
        listeners[-1].listen()
    print("listening", flush=True)
    for listener in listeners:
        socks.append(listener.accept()[0])
        socks[-1].sendall(b"x")
    time.sleep(600)
socks = {}
for name, (protocol, port) in protocols.items():
    sock = socks[name] = made(protocol)
    sock.connect((address, port))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, idle)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, interval)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, count)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    assert sock.recv(1) == b"x"
# a peer that has nothing to say, but answers
def wait(name, timeout):
    socks[name].settimeout(timeout)
    begin = time.monotonic()
    try:
        socks[name].recv(1)
        what = "an end"
    except OSError as error:
        what = type(error).__name__
    print(name, what, "%.1f" % (time.monotonic() - begin), flush=True)
def wait_both(timeout):
    threads = [threading.Thread(target=wait, args=(name, timeout)) for name in socks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
def alive():
    time.sleep(2 * (idle + interval * count))
    wait_both(0.1)
alive()
print("silence", flush=True)
wait_both(60)
EOF

# keepalive: an idle peer that lives is kept; one that does not answer is given up when TCP does, with the same error
keepalive() {
	local waited sdp tcp
	start server B python3 keepalive.py server "$ADDR_B"
	wait_for 60 grep -q listening server.log || fail "$(cat server.log)"
	start client A python3 keepalive.py client "$ADDR_B"
	wait_for 60 grep -q silence client.log || fail "$(cat client.log)"
	same "an idle connection of SDP" 1 "$(grep -c '^sdp TimeoutError 0' client.log)"
	on B tc qdisc add dev vethB root netem loss 100%
	finish client 90
	on B tc qdisc del dev vethB root
	kill_hard server
	cat client.log
	waited='TimeoutError ([0-9]+)\.'
	sdp=$(sed -nE "1,/silence/d; s/^sdp $waited.*/\\1/p" client.log)
	tcp=$(sed -nE "1,/silence/d; s/^tcp $waited.*/\\1/p" client.log)
	[ -n "$sdp" ] && [ -n "$tcp" ] || fail "not both have ended with ETIMEDOUT"
	[ $((sdp - tcp)) -ge -2 ] && [ $((sdp - tcp)) -le 3 ] || fail "TCP waited $tcp s, SDP $sdp s"
	all_sdp_gone
}

part "compared data, over the wire" sdp_rises accepted stream 2 $SDP 3000000
part "AF_INET and IPPROTO_SDP" checks B "AF_INET and IPPROTO_SDP" 2 $SDP $TCP "$ADDR_B"
part "AF_INET_SDP" checks A "AF_INET_SDP" $FAMILY 0 $TCP "$ADDR_A"
if [ -z "${VM_QUICK:-}" ]; then
	part "IPv6" checks B "IPv6" 2 $SDP $TCP "$ADDR6_B"
	part "AF_INET_OFFLOAD and IPPROTO_SDP" checks B "the switch" $OFFLOAD $SDP $TCP "$ADDR_B"
fi
part "qperf" with_qperf
part "compared data, by a rule" ruled
part "iperf3 by a rule" with_iperf3
part "socat by family" with_socat
part "a program is killed; the peer learns it" killed
part "an RNIC goes under a connection" rnic_goes
part "compared data by family" stream $FAMILY 0 3000000
part "compared data, IPv6" stream 10 $SDP 3000000 "$ADDR6_B"
part "a single octet" stream 2 $SDP 1
[ -n "${VM_QUICK:-}" ] || part "more data" stream 2 $SDP 30000000
part "refusals" refusals
part "limits of memory" limited
part "keepalive" keepalive

sdp_ends
hosts_down
parts_verdict
