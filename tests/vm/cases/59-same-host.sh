#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: the path inside one host past TCP: which streams use it, compared data, ends during traffic
# covers: kvp_soft/direct kvp_soft/stream
# limit: 500
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

parameter=/sys/module/krdma_soft/parameters/same_host

# went BESIDE COMMAND...: does it, and says whether much of it went beside TCP
went() {
	local expected=$1 tcp beside
	shift
	tcp=$(counted_by_both tx_bytes) beside=$(counted_by_both same_host_bytes)
	"$@"
	tcp=$(($(counted_by_both tx_bytes) - tcp))
	beside=$(($(counted_by_both same_host_bytes) - beside))
	say "$tcp octets through TCP, $beside beside it"
	same "'$*' goes beside TCP" "$expected" "$([ $beside -gt $((10 * tcp)) ] && echo yes || echo no)"
	[ "$expected" = yes ] || same "octets beside TCP" 0 $beside
}

hosts_up
note_resources
say "which streams"
same "default" 1 "$(cat $parameter)"
for bad in 3 -1 yes; do
	! echo $bad > $parameter || fail "same_host takes '$bad'"
done
same "after bad values" 1 "$(cat $parameter)"
went no pattern_pair 1048576
same_host 2
went yes pattern_pair ${VM_QUICK:+1048576}
same_host 0
went no pattern_pair 1048576

say "all operations, sizes and queue pairs"
same_host 2
for op in $(few write send read); do
	went yes perf_pair "ib_${op}_bw" -n 500 -s 65536 -q 3
	perf_pair "ib_${op}_bw" -a -n 20
	perf_pair "ib_${op}_bw" -n 500 -s 3 -b
	perf_pair "ib_${op}_lat" -n 200
done
# fewer than the receives posted: with events perftest does not notice credits that come late
perf_pair ib_send_bw -n 400 -e -s 5000
perf_pair ib_atomic_bw -n 200
check_no_leak

say "a change in the middle of a connection is for those that come"
traffic ib_write_bw -D 60
same_host 0
before=$(counted_by_both tx_bytes)
sleep 2
[ $(($(counted_by_both tx_bytes) - before)) -lt 1000000 ] || fail "a stream went back to TCP"
same_host 2
kill_hard client
wait_for 20 ended server || rid_of server
check_no_leak

# shellcheck disable=SC2046
kill_in_traffic $(few write read send)

say "an RNIC goes away in the middle of traffic"
traffic ib_send_bw -D 120
on B rdma link delete krdma1
for side in client server; do
	wait_for 20 ended $side || rid_of $side
done
rnic_add B
wait_for 10 rnic_active krdma1 || fail "not active again"
check_no_leak
went yes pattern_pair 1048576
