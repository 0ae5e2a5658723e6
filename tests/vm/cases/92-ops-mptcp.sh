#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: mptcp_connect, the kernel's own test of MPTCP's sockets, under rules and with the number of krdma_ops in place of MPTCP's: on TCP, over the road of the host, over one of the tests that opens late, one end alone, IPv4 and IPv6
# covers: ops tests/offload tests/interop
# limit: 400
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"
if [ ! -x "$VM_PROGS/mptcp_connect" ]; then
	say "left out: mptcp_connect was not built, without linux-source-6.12"
	exit
fi

tests=0
port=12000

# transfer CLIENT SERVER ADDRESS [OPTION...]: both ways at once, as mptcp_connect.sh does it; CLIENT
# and SERVER are names of protocols: MPTCP is a socket that the switch makes, TCP one that it may mark
transfer() {
	local client=$1 server=$2 address=$3 wildcard=0.0.0.0 rc=0
	shift 3
	[ "$address" != ::1 ] || set -- -6 "$@"
	[ "$address" != ::1 ] || wildcard=::
	port=$((port + 1))
	timeout "$(patient 60)" "$VM_PROGS/mptcp_connect" -t 20000 -l -p $port -s "$server" "$@" $wildcard \
		< to-client > from-client 2> server.log &
	wait_for 10 listening_here $port || { cat server.log; fail "no listener: $*"; }
	timeout "$(patient 60)" "$VM_PROGS/mptcp_connect" -t 20000 -p $port -s "$client" "$@" "$address" \
		< to-server > from-server 2> client.log || rc=$?
	wait $! && [ $rc = 0 ] || { cat server.log client.log; fail "$client to $server, $address, $*: $rc"; }
	# what the program notes of names and addresses; its ends of time are not errors
	[ ! -s server.log ] && [ ! -s client.log ] ||
		{ cat server.log client.log; fail "$client to $server, $address, $*: messages"; }
	case " $* " in
	*" -f "* | *" -I "*) ;; # the transfer is cut or repeated: the program compares
	*) cmp to-server from-client && cmp to-client from-server || fail "$client to $server, $*: bytes" ;;
	esac
	tests=$((tests + 1))
}

# all CLIENT SERVER
all() {
	local address mode peek
	for address in 127.0.0.1 ::1; do
		for mode in poll mmap sendfile; do
			transfer "$1" "$2" $address -m $mode
		done
		for peek in saveWithPeek saveAfterPeek; do
			transfer "$1" "$2" $address -P $peek
		done
		transfer "$1" "$2" $address -R 8192 -S 8192
		transfer "$1" "$2" $address -f 100000
		# disconnect by connect(AF_UNSPEC), and again
		transfer "$1" "$2" $address -I 3 -i to-server
	done
}

ip link set lo up
head -c 900000 /dev/urandom > to-server
head -c 700001 /dev/urandom > to-client
say "TCP"
all TCP TCP
ops_load
say "sockets of the switch"
by_road all MPTCP MPTCP
say "one end alone"
by_tcp all TCP MPTCP
by_tcp all MPTCP TCP
say "rules"
mark
by_road all TCP TCP
all_gone
say "a road of the tests that opens late"
unmark
plain_load delay_ms=3
mark plain
by_road all TCP TCP
all_gone
unload offload_plain krdma_ops
counted $tests 0
