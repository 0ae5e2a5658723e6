#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: kdapltest: transactions of many threads and endpoints with all data compared, performance, limits, interruptions, an RNIC that is removed
# covers: kal/kdapl tests/consumers kal/cm kvp_soft/memory
# limit: 400
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/kdapltest.sh
. "${VM_LIB%/*}/kdapltest.sh"

hosts_up
kdt_load
note_resources

say "the examples of docs/kdapl.md"
on B insmod "$VM_MODULES/tests/consumers/kdapl_echo.ko"
for _ in 1 2 3 4 5; do
	on A insmod "$VM_MODULES/tests/consumers/kdapl_hello.ko" peer="$ADDR_B"
	rmmod kdapl_hello
done
dmesg | grep 'kdapl_[he]' | tee kernel.log
same "answers" 5 "$(grep -c "kdapl_hello: 'hello' came back" kernel.log)"
! grep 'kdapl_echo: no' kernel.log || fail "a receive or an answer was refused"
refuse "nobody listens" on A insmod "$VM_MODULES/tests/consumers/kdapl_hello.ko" peer="$ADDR_A"
rmmod kdapl_echo
check_no_leak

say "refused"
kdt_refuse "no such IA" 'DAT_PROVIDER_NOT_FOUND' A -T S -D krdma9
kdt_refuse "nobody listens" 'refused' A -T P -D krdma0 -s "$ADDR_B" -n 999 -o SR 64
kdt_refuse "no operations" 'no operation' A -T T -D krdma0 -s "$ADDR_B"
kdt_refuse "too many bytes" 'up to' A -T P -D krdma0 -s "$ADDR_B" -o SR 4m 2
kdt_refuse "too many connections" 'connections' A -T P -D krdma0 -s "$ADDR_B" -t 64 -w 512 -o SR 4
kdt_serve B krdma1
kdt_refuse "a second server" 'DAT_CONN_QUAL_IN_USE' B -T S -D krdma1 -n $kdt_port

say "transactions"
kdt_mixes A krdma0 "$ADDR_B" 1 1 50
kdt_mixes A krdma0 "$ADDR6_B" 4 4 10
kdt_client A krdma0 "$ADDR_B" -T T -t 2 -w "$(either 8 64)" -i 3 client SR 256 3 server RW 4096 client RR 16
kdt_client A krdma0 "$ADDR_B" -T T -t 2 -i 3 client RW 4m server SR 1m server RR 2m client SR 512k 8
kdt_client A krdma0 "$ADDR_B" -T T -t 3 -w 3 --soak "$(either 3 10)" server RW 64k client SR 100 7
has "comparisons" '^ +[0-9]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +[1-9]' client.log

say "performance"
kdt_rates A krdma0 "$ADDR_B" "$(either 500 3000)"
kdt_client A krdma0 "$ADDR_B" -T P -w 8 -p 64 --soak 2 -o SR 64
kdt_client A krdma0 "$ADDR_B" -T P -p 1024 -t 2 -w 2 -i 5000 -o RW 16 --json
python3 -c 'import json, sys
run = json.load(sys.stdin)
assert run["operations"] == 20000 and run["latency_us"]["min"] <= run["latency_us"]["99"], run' < client.log
kdt_served 0
check_no_leak

say "the same over ib_core"
kdt_serve B krdma1 --api verbs -s "$ADDR_B"
kdt_rates A krdma0 "$ADDR_B" "$(either 500 3000)" --api verbs
kdt_served 0
# client of one, server of the other
kdt_serve B krdma1
kdt_client A krdma0 "$ADDR_B" -T P -i 500 --api verbs -o SR 64 2
kdt_served 0
check_no_leak

say "limits"
kdt_limit=100 run_on A 100 "$kdt" -T L -D krdma0 -m "$(either 300 3000)"
cat client.log
check_no_leak

say "interrupted"
kdt_serve B krdma1
refuse "rmmod in use" rmmod kdapltest
refuse "kDAPL goes before its consumer" rmmod krdma_kdapl
for signal in INT KILL; do
	for test in "-T T -t 4 -w 4 server RW 64k client SR 4k" "-T P -w 4 -o SR 4k"; do
		# shellcheck disable=SC2086 # words
		start client A "$kdt" -D krdma0 -s "$ADDR_B" -n $kdt_port --soak 1000 $test
		sleep 1
		alive client || { cat client.log; fail "the client ended"; }
		kill -$signal "${pid_of[client]}"
		wait_for 15 ended client || fail "the client does not end"
		rid_of client
		cat client.log
	done
done
# their objects were ended on the server, which continues
kdt_client A krdma0 "$ADDR_B" -T T -i 5 client SR 64
kill -INT "${pid_of[kdapl]}"
finish kdapl 30
cat kdapl.log
check_no_leak

say "the RNIC goes"
for host in A B; do
	kdt_serve B krdma1
	start client A "$kdt" -D krdma0 -s "$ADDR_B" -n $kdt_port --soak 1000 -T T -t 2 -w 4 server RW 64k client SR 4k
	sleep 1
	on $host rdma link delete "$(dev_of $host)"
	wait_for 30 ended client || fail "the client does not end"
	cat client.log
	if [ $host = B ]; then
		wait_for 30 ended kdapl || fail "the server does not end"
		has "its end" 'interface adapter is gone' kdapl.log
	else
		kill -INT "${pid_of[kdapl]}"
		finish kdapl 30
	fi
	cat kdapl.log
	rid_of client kdapl
	rnic_add $host
	wait_for 10 rnic_active "$(dev_of $host)"
done
rmmod kdapltest
