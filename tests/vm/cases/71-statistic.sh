#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: "rdma statistic qp": counters of sets of queue pairs, bound by hand and by rule
# covers: kal/ib/qp_counter kal/core/counters.h kvp_soft/base/counters.h
# limit: 150
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

dev=krdma0/1

# queue pairs of host A, by number
qpns() { rdma resource show qp link $dev | grep -oE ' lqpn [0-9]+' | sed 's/.* //'; }

# sets of them, by number
sets() { rdma statistic qp show link $dev | grep -oE ' cntn [0-9]+' | sed 's/.* //'; }

# count NAME SET: one counter of a set; "port": of them all, past ones too
count() {
	if [ "$2" = port ]; then
		rdma statistic show link $dev
	else
		rdma statistic qp show link $dev cntn "$2"
	fi | tr -s '\n\t ' '\n' | grep -A1 -x "qp_$1" | sed 1d
}

members() { rdma statistic qp show link $dev cntn "$1" | tr -s '\n\t ' ' ' | sed -n 's/.*LQPN: *//p' | tr -d '<> '; }

grows() { [ "$(count tx_bytes "$1")" -gt $(($2 + 1000000)) ]; }
no_sets() { [ -z "$(sets)" ]; }

stop_traffic() {
	kill_hard client
	wait_for 20 ended server || kill -INT "${pid_of[server]}"
	finish_any server 20
	check_no_leak
}

hosts_up
note_resources
say "$(rdma statistic qp mode link $dev)"
refuse "no such queue pair" rdma statistic qp bind link $dev lqpn 65000

say "by hand"
traffic ib_send_bw -D 120 -q 2 -s 65536
# the first one is perftest's own
mapfile -t qps < <(qpns | tail -n 2)
expect "bind" rdma statistic qp bind link $dev lqpn "${qps[0]}"
rdma statistic qp show link $dev
set=$(sets)
same "its only member" "${qps[0]}" "$(members "$set")"
expect "counts" wait_for 20 grows "$set" 0
rdma statistic qp show link $dev
# the port's own counters are not the set's
! rdma statistic qp show link $dev | grep conn_active > /dev/null || fail "a counter of the port"
[ "$(count tx_fpdus "$set")" -gt 1000 ] || fail "no FPDUs"
[ "$(count tx_messages "$set")" -gt 10 ] || fail "no messages"
[ "$(count retransmissions "$set")" -lt 100 ] || fail "retransmissions without loss"
refuse "twice" rdma statistic qp bind link $dev lqpn "${qps[0]}"
refuse "a set that is not there" rdma statistic qp bind link $dev lqpn "${qps[1]}" cntn 77
refuse "a rule beside it" rdma statistic qp set link $dev auto type on
expect "the other one, too" rdma statistic qp bind link $dev lqpn "${qps[1]}" cntn "$set"
same "members" "${qps[0]},${qps[1]}" "$(members "$set")"

say "what was counted is kept"
expect "unbind one" rdma statistic qp unbind link $dev cntn "$set" lqpn "${qps[0]}"
same "its only member" "${qps[1]}" "$(members "$set")"
before=$(count tx_bytes "$set")
expect "and the other counts on" wait_for 20 grows "$set" "$before"
expect "the set, and that of the first again" rdma statistic qp bind link $dev lqpn "${qps[0]}"
same "sets" 2 "$(sets | wc -l)"
before=$(count tx_bytes "$set")
stop_traffic
expect "the sets go with their queue pairs" wait_for 10 no_sets
total=$(count tx_bytes port)
[ "$total" -ge "$before" ] || fail "lost: $before, $total"
[ "$total" -le "$(counted_by_both tx_bytes)" ] || fail "more than was sent: $total"
sleep 1
same "nothing is added" "$total" "$(count tx_bytes port)"

say "by rule"
expect "auto" rdma statistic qp set link $dev auto type on
rdma statistic qp mode link $dev
traffic ib_send_bw -D 120 -q 3 -s 65536
set=$(sets)
same "one set" 1 "$(wc -w <<< "$set")"
same "members" "$(qpns | sort | tr '\n' ' ')" "$(members "$set" | tr ',' '\n' | sort | tr '\n' ' ')"
expect "counts" wait_for 20 grows "$set" 0
refuse "by hand beside it" rdma statistic qp bind link $dev lqpn "$(qpns | sed -n 1p)"
stop_traffic
expect "the set goes with its queue pairs" wait_for 10 no_sets
[ "$(count tx_bytes port)" -gt "$total" ] || fail "not in the port's"
expect "off" rdma statistic qp set link $dev auto off
total=$(count tx_bytes port)
perf_pair ib_send_bw -s 65536 -n 100
same "nothing is bound any more" "$total" "$(count tx_bytes port)"

say "bound and unbound beside connections that come and go"
touch bind
while [ -e bind ]; do
	for qp in $(qpns); do
		rdma statistic qp bind link $dev lqpn "$qp"
		[ $((qp % 2)) = 0 ] || rdma statistic qp unbind link $dev cntn "$(sets | sed -n 1p)"
	done
done > /dev/null 2>&1 &
binding=$!
for _ in 1 2 3; do
	serve server B 7175 "$VM_PROGS/krdma_conns" -s -n 30 "$ADDR_B"
	run_on A 60 "$VM_PROGS/krdma_conns" -n 30 "$ADDR_B"
	finish server 60
done
rm bind
wait $binding || true
expect "no set stays" wait_for 10 no_sets
check_no_leak

say "the RNIC goes while a queue pair is bound"
traffic ib_send_bw -D 120 -s 65536
expect "bind" rdma statistic qp bind link $dev lqpn "$(qpns | tail -n 1)"
expect "delete" on A timeout "$(patient 30)" rdma link delete krdma0
rid_of client server
