#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: an independent decoder judges what krdma_sdp sends: socat, iperf3, qperf, a refusal, aborts before and after the end of a direction
# covers: sdp tests/sdp kvp_soft/wire kal/cm/mpa
# limit: 300
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"
# shellcheck source=tests/vm/guest/sdp.sh
. "$VM_REPO/tests/vm/guest/sdp.sh"

judge=$VM_REPO/build/sdp/sdp_judge

# capture NAME COMMAND...: what a command sends; pcap, because the decoder reads no other format
capture() {
	local name=$1
	shift
	start dump A dumpcap -q -P -i vethA -f "tcp port 1017" -w "$VM_TMP/$name.pcap"
	wait_for 30 grep -q 'File:' dump.log || { cat dump.log; fail "dumpcap does not capture"; }
	"$@"
	sleep 1
	kill -INT "${pid_of[dump]}"
	wait "${pid_of[dump]}" || true
	grep -E 'dropped' dump.log || true
}

# judged NAME PATTERN...: no violation, and each pattern is in what the decoder prints
judged() {
	local name=$1 pattern
	shift
	"$judge" "$name.pcap" > "$name.txt" || { tail -40 "$name.txt"; cp "$name.pcap" "$VM_OUT/"; fail "$name: violations"; }
	say "$name: $(wc -l < "$name.txt") lines; $(tail -1 "$name.txt")"
	for pattern; do
		has "$name has $pattern" "$pattern" "$name.txt"
	done
}

listens_at() { wait_for 60 listening B "$1"; }

by_socat() {
	local at=x238d0a4d00020000000000000000
	head -c 300000 /dev/urandom > data
	start socat B socat -u SOCKET-LISTEN:27:0:$at CREATE:copy
	listens_at 9101 || fail "socat does not listen: $(cat socat.log)"
	expect "socat" on A socat -u OPEN:data SOCKET-CONNECT:27:0:$at
	finish socat 30
	expect "what came" cmp data copy
}

by_iperf3() {
	sdp_rules 9100
	start iperf B iperf3 -s -1 -p 9100
	listens_at 9100
	expect "iperf3" on A iperf3 -c "$ADDR_B" -p 9100 -n 40M
	finish iperf 20
	no_rules
}

by_qperf() {
	sdp_rules 19766
	start qperf B qperf
	wait_for 60 listening B 19765
	expect "tcp_lat" on A timeout "$(patient 60)" qperf -ip 19766 -t 1 "$ADDR_B" tcp_lat
	kill_hard qperf
	no_rules
}

# the device listens for the sake of another port; the connection has no mark there
refused() {
	sdp_rules 9303 B
	start other B iperf3 -s -1 -p 9303
	start plain B iperf3 -s -1 -p 9301
	listens_at 9303
	listens_at 9301
	refuse "no mark there" on A python3 -c "
import socket
sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 257)
sock.connect(('$ADDR_B', 9301))
sock.sendall(b'x')"
	finish_any plain 20
	kill_hard other
	no_rules
}

# aborted MODE HEARD: unread data at close(), "after" the server's own end or "before" it
aborted() {
	cat > abort.py << 'EOF'
import socket, sys, time
role, address, mode = sys.argv[1:]
if role == "server":
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 257)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, 9302))
    listener.listen()
    sock = listener.accept()[0]
    sock.recv(1)
    if mode == "after":
        sock.shutdown(socket.SHUT_WR)
        time.sleep(1)
    sock.close()
else:
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 257)
    sock.connect((address, 9302))
    sock.sendall(b"more than the server reads")
    try:
        assert sock.recv(10) == b"", "data came"
        print("an end")
        time.sleep(3)
        sock.sendall(b"and more")
        sock.recv(1)
    except (ConnectionResetError, BrokenPipeError) as error:
        print(type(error).__name__)
EOF
	start server B python3 abort.py server "$ADDR_B" "$1"
	listens_at 9302
	expect "the client" on A python3 abort.py client "$ADDR_B" "$1"
	same "what it hears" "$2" "$(tr '\n' ' ' < expect)"
	finish server 20
}

hosts_up
ops_load addresses=1
sdp_load
capture socat by_socat
judged socat Hello HelloAck Data DisConn
capture iperf3 by_iperf3
judged iperf3 Hello HelloAck Data DisConn
capture qperf by_qperf
judged qperf Hello HelloAck Data
capture refused refused
judged refused Hello
capture before aborted before "ConnectionResetError "
judged before Hello
! grep -q 'AbortConn\|DisConn' before.txt || fail "an end before DisConn has a message"
capture after aborted after "an end BrokenPipeError "
judged after Hello DisConn AbortConn

# the decoder is no rubber stamp: a single changed byte of a header is a violation
python3 - << 'EOF'
import struct, sys
data = bytearray(open("socat.pcap", "rb").read())
# the MID of a Data message: 0xff, flags, buffers, length; before it MPA's length, DDP, RDMAP
count = 0
for i in range(24 + 20, len(data) - 16):
    if data[i] == 0xff and data[i - 18] == 0x41 and data[i - 17] in (0x43, 0x45) and not count:
        length = struct.unpack(">I", data[i + 4:i + 8])[0]
        if struct.unpack(">H", data[i - 20:i - 18])[0] == 18 + length:
            data[i] = 0x7e
            count = 1
open("changed.pcap", "wb").write(data)
sys.exit(0 if count else 1)
EOF
! "$judge" -q changed.pcap > changed.txt 2>&1 || fail "a changed message passes"
tail -3 changed.txt
sdp_ends
hosts_down
