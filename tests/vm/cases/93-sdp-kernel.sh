#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: sockets of the kernel over krdma_sdp: by family, by protocol number and through krdma_ops; kernel, page and user memory, callbacks, no zero copy; rules that want RDMA; the first hop; a namespace that ends
# covers: sdp ops tests/offload
# limit: 300
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"
# shellcheck source=tests/vm/guest/sdp.sh
. "$VM_REPO/tests/vm/guest/sdp.sh"

FAMILY=27 SDP=257
# kern HOST PARAMETER...
kern() {
	local host=$1
	shift
	on "$host" insmod "$VM_MODULES/tests/offload/offload_kern.ko" "$@" && rmmod offload_kern
}

# by_sdp WHAT PARAMETER...: at both ends of one connection in B, all bytes counted as copied
by_sdp() {
	local before
	before=$(sdp_stat tx-copied)
	expect "$1" kern B address="$ADDR_B" winner=$SDP bytes=1000000 "${@:2}"
	[ $(($(sdp_stat tx-copied) - before)) -ge 8000000 ] || fail "$1: SDP has sent $before to $(sdp_stat tx-copied) octets"
	all_sdp_gone
}

no_zero_copy() {
	local name
	for name in zcopy-offers zcopy-failures tx-read rx-read; do
		same "$name" 0 "$(sdp_stat $name)"
	done
}

# a connection of a wildcard from A to B; says its protocol
cat > once.py << 'EOF'
import socket, subprocess, sys
role, address, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 258)
if role == "server":
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((address, port))
    sock.listen(4)
    print("listening", flush=True)
    peer, _ = sock.accept()
    peer.sendall(peer.recv(100000, socket.MSG_WAITALL))
else:
    sock.connect((address, port))
    sock.sendall(bytes(100000))
    print(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PROTOCOL))
    print(subprocess.run(["cat", "/proc/net/sdp"], stdout=subprocess.PIPE, text=True, check=True).stdout)
    assert sock.recv(100000, socket.MSG_WAITALL) == bytes(100000)
EOF
# goes WHAT PROTOCOL FROM TO ADDRESS: what a wildcard comes to
goes() {
	start server "$4" python3 once.py server "$5" 9400
	wait_for 60 grep -q listening server.log || fail "$(cat server.log)"
	start client "$3" python3 once.py client "$5" 9400
	finish client 60
	finish server 60
	same "$1" "$2" "$(sed -n 1p client.log)"
	all_sdp_gone
	wait_for 15 no_sockets || fail "sockets of the loopback are left"
}

# rule HOST ARGUMENT...
rule() { on "$1" env LD_LIBRARY_PATH="$VM_REPO/build/ual" "$VM_REPO/build/tools/krdma" offload "${@:2}"; }

rules() {
	loop_load priority=200
	goes "no rule: by priority" $LOOP B B "$ADDR_B"
	rule A add connect use rdma
	rule B add connect use rdma
	goes "RDMA, an RNIC on the route" $SDP A B "$ADDR_B"
	goes "RDMA, both ends here" $SDP B B "$ADDR_B"
	goes "RDMA, no RNIC on the route" $TCP B B 127.0.0.1
	rule B del --all
	goes "no rule any more" $LOOP B B 127.0.0.1
	rule A add connect "$ADDR_B" use loop
	goes "a rule that says more" $TCP A B "$ADDR_B"
	rule A del --all
	unload offload_loop
}

first_hop() {
	on B ip address add 10.99.0.1/32 dev vethB
	on A ip route add 10.99.0.0/24 via "$ADDR_B"
	goes "by a gateway" $SDP A B 10.99.0.1
	has "the gateway is the first hop" " 10.99.0.1:9400 .* $ADDR_B:[0-9]*\$" client.log
	goes "without one" $SDP A B "$ADDR_B"
	has "the peer is" " $ADDR_B:9400 .* $ADDR_B:[0-9]*\$" client.log
	on A ip route del 10.99.0.0/24
	on B ip address del 10.99.0.1/32 dev vethB
}

hosts_up
on B ip link set lo up
ops_load addresses=1
# as low as it gets: whatever can go without copies, would
sdp_load zcopy_thresh=4096 zcopy_thresh_soft=4096
note_resources

part "by family" by_sdp "by family" family=$FAMILY
part "by protocol" by_sdp "by protocol" protocol=$SDP
part "the switch's family" by_sdp "the switch's family" family=$OFFLOAD
part "the wildcard's number" by_sdp "the wildcard's number" protocol=$WILDCARD
part "the switch, SDP alone" by_sdp "the switch, SDP alone" family=$OFFLOAD protocol=$SDP
part "no RNIC leads there" expect "TCP" kern B family=$OFFLOAD address=127.0.0.1 winner=$TCP
part "nothing went without copies" no_zero_copy
part "the first hop" first_hop
part "rules that want RDMA" rules
say "the namespace ends at once behind a socket of the kernel"
expect "a last connection" kern B address="$ADDR_B" winner=$SDP bytes=1000000 protocol=$SDP
hosts_down
sdp_ends
parts_verdict
