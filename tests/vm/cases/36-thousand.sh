#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: 1000 connections at once that all carry compared data; the cost of one; the connection rate
# covers: kal/cm kal/core/resource kvp_soft/queues kvp_soft/qp kvp_soft/stream
# limit: 540
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

conns=$VM_PROGS/krdma_conns
declare -a mem slab
many=1000
[ -z "${VM_QUICK:-}" ] || many=200

memory() { awk -v what="$1:" '$1 == what { print $2 }' /proc/meminfo; }

# settled: what is freed late is back, and what is cached does not count
settled() {
	sync
	echo 3 > /proc/sys/vm/drop_caches
	sleep 2
}

note_memory() {
	settled
	mem_before=$(memory MemAvailable) slab_before=$(memory Slab)
}

# used NUMBER: KiB in use since note_memory by that many
used() {
	settled
	mem[$1]=$((mem_before - $(memory MemAvailable)))
	slab[$1]=$(($(memory Slab) - slab_before))
}

# each TEXT: what one more costs, between 100 and all of them
each() {
	say "$1: $(((mem[many] - mem[100]) * 1024 / (many - 100))) octets each," \
		"of them slab $(((slab[many] - slab[100]) * 1024 / (many - 100)))"
}

seconds() { awk '{ print $1 }' /proc/uptime; }

hosts_up
note_resources
# everything was loaded and allocated once
serve server B 7175 "$conns" -s -n 50 "$ADDR_B"
run_on A 120 "$conns" -n 50 "$ADDR_B"
finish server 60
check_no_leak

for number in 100 $many; do
	say "$number queue pairs without connections"
	note_memory
	rm -f go
	start client A "$conns" -q -m 64 -n "$number" -k go "$ADDR_B"
	wait_for 120 grep -q "$number queue pairs" client.log || fail "$(cat client.log)"
	used "$number"
	touch go
	finish client 120
	check_no_leak
done
each "queue pairs"

say "idle connections"
for number in 100 $many; do
	note_memory
	rm -f go
	serve server B 7175 "$conns" -s -m 64 -n "$number" -k go "$ADDR_B"
	start client A "$conns" -m 64 -n "$number" -k go "$ADDR_B"
	for side in client server; do
		wait_for 240 grep -q "$number connections, all octets right" $side.log ||
			{ show_logs; fail "no $number connections"; }
	done
	used "$number"
	touch go
	finish client 240
	finish server 240
	check_no_leak
done
each "connections, both sides with program"

say "$many connections"
note_memory
rm -f go
begin=$(seconds)
serve server B 7175 "$conns" -s -n "$many" -k go "$ADDR_B"
start client A "$conns" -n "$many" -k go "$ADDR_B"
for side in client server; do
	wait_for 240 grep -q "$many connections, all octets right" $side.log ||
		{ show_logs; fail "no $many connections"; }
done
say "$many connections made and used in $(awk "BEGIN { print $(seconds) - $begin }") s"
same "queue pairs of A" "$many" "$(rdma -j resource show qp link krdma0/1 | grep -o '"lqpn"' | wc -l)"
begin=$(seconds)
touch go
finish client 240
finish server 240
say "ended in $(awk "BEGIN { print $(seconds) - $begin }") s"
cat client.log server.log
check_no_leak
settled
say "MemAvailable before and after: $mem_before $(memory MemAvailable) KiB"
[ $((mem_before - $(memory MemAvailable))) -lt 20000 ] || fail "memory is missing"

for count in 100 "$many"; do
	say "cmtime: $count connections"
	start server B cmtime -b "$ADDR_B" -c "$count"
	wait_for 20 listening B 7471 || fail "cmtime does not listen: $(cat server.log)"
	run_on A 200 cmtime -s "$ADDR_B" -c "$count"
	cat client.log
	has "connect was timed" '^connect' client.log
	kill_hard server
	check_no_leak
done
