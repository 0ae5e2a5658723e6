#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: a road fails at each step: TCP goes on and the reason is counted, or the connection ends with the error once bytes have left TCP; a peer that lies about a connection; roads that come and go, all orders of unloading
# covers: ops tests/offload tests/vm/progs/ops_fail.py
# limit: 300
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"

export VM_SLOW
program() { timeout "$(patient 60)" python3 "$VM_REPO/tests/vm/progs/ops_fail.py" "$@"; }
# in the background, to be killed
runs() { exec python3 "$VM_REPO/tests/vm/progs/ops_fail.py" "$@"; }
# gives WHAT WANTED ARGUMENTS...: what the program says
gives() {
	local what=$1 wanted=$2
	shift 2
	same "$what" "$wanted" "$(program "$@")"
}
number_of() { cat "/sys/module/offload_fail/parameters/$1"; }

ip link set lo up
ops_load bad_peer_s=0

say "registrations that are wrong"
fail_load wrong=1
unload offload_fail

runs serve 9000 &
server=$!
wait_for 20 listening_here 9000
# a number that sockets may ask for, see "must"
fail_load delay_ms=50 protocol=257
kill $server
wait $server || true
mark fail
runs serve 9000 &
server=$!
wait_for 20 listening_here 9000

counts() {
	local step=$1 error=$2 reason=$3 how
	fail_at "$step"
	fail_with "$error"
	for how in client later; do
		rises some "$reason" gives "$step, $error, $how" ping $how 9000
	done
	by_tcp gives "$step, $error, a pair" pong pair
}
attempt "nothing is offered" counts none 5 not-offered
attempt "offers" counts offers 101 not-offered
for error in 5:error 111:refused 110:timeout 101:error 2:no-match 12:memory 105:limit; do
	attempt "open, ${error%:*}" counts open "${error%:*}" "${error#*:}"
	attempt "async, ${error%:*}" counts async "${error%:*}" "${error#*:}"
done
fail_at never
fail_with 5
attempt "never" by_tcp gives "never" ping client 9000
attempt "never, later" by_tcp gives "never" ping later 9000
# the road fails before a byte has changed over, or after it
for at in passive up send break; do
	fail_at $at
	both() {
		local got
		got=$(program "$@")
		case $got in
		pong | ping | ends | *' bytes' | EIO | ECONNRESET | EPIPE) say "$got" ;;
		*) fail "ends are up, then $at: $got" ;;
		esac
	}
	for _ in 1 2 3; do
		attempt "ends are up, then $at" both pair 0
		attempt "ends are up, then $at" both client 9000
	done
done

slower() {
	local before
	fail_at slower
	# a peer that is not on this host, for all that the client's rules know
	offload_on A add connect use any
	start far B python3 "$VM_REPO/tests/vm/progs/ops_attack.py" serve 0.0.0.0 9000 2
	wait_for 20 listening B 9000 || fail "no server"
	before=$(counter slower A)
	on A python3 "$VM_REPO/tests/vm/progs/ops_attack.py" ask "$ADDR_B" 9000
	[ "$(counter slower A)" -gt "$before" ] || { offload_on A stats -n; fail "slower is not counted"; }
	same "opened" "$1" "$(number_of opened)"
	offload_on A flush
	offload_on A add connect use fail
	on A python3 "$VM_REPO/tests/vm/progs/ops_attack.py" ask "$ADDR_B" 9000
	finish far 20
	[ "$(number_of opened)" -gt "$1" ] || fail "a rule that names the road does not use it"
}
net_up
attempt "a road that is slower than TCP" slower "$(number_of opened)"
hosts_down

lies() {
	fail_at lie
	# a connection may be over before its road looks for it
	for i in {1..20}; do
		gives "a lie" ping client 9000
		[ "$i" -lt 3 ] || [ "$(number_of right)" = 0 ] || break
	done
	same "lies that were believed" 0 "$(number_of believed)"
	[ "$(number_of right)" -ge 1 ] || fail "the right name is not known"
}
attempt "a peer that lies about a connection" lies

musts() {
	fail_at open
	fail_with 111
	gives "must, open" ECONNREFUSED must 257 9000
	fail_at async
	gives "must, later" ECONNREFUSED must 257 9000
	fail_at send
	fail_with 5
	gives "must, it is up" EIO must 257 9000
	gives "must, urgent data" EIO must 257 9000 urgent
	fail_at none
	same "must, not offered" 1 "$(program must 257 9000 | grep -cE '^E(HOSTUNREACH|NETUNREACH|NETDOWN)$')"
}
attempt "a socket that must use the road" musts

bad_peers() {
	parameter krdma_ops bad_peer_s 60
	fail_at open
	fail_with 111
	gives "the first time" ping client 9000
	rises some bad-peer gives "the second time" ping client 9000
	parameter krdma_ops bad_peer_s 0
}
attempt "a peer that failed is not asked again for a while" bad_peers

stays() {
	unmark
	plain_load
	mark plain
	rm -f go held
	program hold > hold.log &
	holding=$!
	wait_for 20 test -e held
	wait_for 10 grep -q '[1-9]' $plain_road/opened || fail "the road is not opened"
	refuse "rmmod under a connection" rmmod offload_plain
	refuse "rmmod of the switch" rmmod krdma_ops
	touch go
	wait $holding
	same "the connection" "first last" "$(tr '\n' ' ' < hold.log | sed 's/ $//')"
	unload offload_plain
}
attempt "a road stays as long as it has a connection" stays
breaks() {
	plain_load
	parameter offload_plain break_after 1000
	mark plain
	same "what the program sees" 1 "$(program pair 0.1 | grep -cx pong)"
	parameter offload_plain break_after 20
	cat > large.py << 'END'
import socket, time
listener = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(listener.getsockname())
server, _ = listener.accept()
server.settimeout(20)
client.settimeout(20)
client.sendall(b"x")
server.recv(1)
end = time.monotonic() + 20
while time.monotonic() < end:
    try:
        client.sendall(b"x" * 4000)
        got = server.recv(4000, socket.MSG_WAITALL)
        if len(got) < 4000:
            print("cut")
            break
    except OSError as error:
        print(type(error).__name__, error.errno)
        break
END
	timeout 60 python3 large.py | tee large
	has "it ends" '.' large
	unload offload_plain
}
unmark
attempt "a road that breaks after the change" breaks

unmark
kill $server
wait $server || true
all_gone
unload offload_fail
say "all orders of unloading"
for order in "offload_plain offload_fail" "offload_fail offload_plain"; do
	for load in "plain_load fail_load" "fail_load plain_load"; do
		for module in $load; do $module; done
		refuse "the switch goes last" rmmod krdma_ops
		mark any
		gives "a pair" pong pair
		unmark
		all_gone
		# shellcheck disable=SC2086 # two words
		unload $order
	done
done
unload krdma_ops

say "a road comes and goes by itself while listeners stay"
ops_load bad_peer_s=0
mark plain
runs serve 9004 &
server=$!
wait_for 20 listening_here 9004
for _ in 1 2 3; do
	by_tcp gives "without the road" ping client 9004
	plain_load
	by_road gives "with it" ping client 9004
	wait_for 10 unused offload_plain || fail "references stay"
	expect "it goes under a listener" timeout "$(patient 60)" rmmod offload_plain
done
kill $server
wait $server || true
all_gone
unload krdma_ops
attempts_verdict
