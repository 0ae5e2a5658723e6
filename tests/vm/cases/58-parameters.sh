#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: parameters of the software RNIC: limits, and their effect at run time
# covers: kvp_soft/base/params.h kvp_soft/main kvp_soft/queues kvp_soft/memory
# limit: 420
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

parameters=/sys/module/krdma_soft/parameters
never=4294967295
# sched_yield() by its number: not every kernel has an event for each call
yield=/sys/kernel/tracing/events/raw_syscalls/sys_enter
yield_number=24

set_to() { echo "$2" > $parameters/"$1"; }

# yields: calls of sched_yield() by perftest while it runs
yields() {
	echo > /sys/kernel/tracing/trace
	echo "id == $yield_number" > $yield/filter
	echo 1 > $yield/enable
	perf_pair ib_send_lat -s 16 -n 300 > /dev/null
	echo 0 > $yield/enable
	echo 0 > $yield/filter
	grep -c " ib_send_lat-.*sys_enter: NR $yield_number " /sys/kernel/tracing/trace || true
}

# doorbells: of host A while it writes much that is small
doorbells() {
	local before
	before=$(counted_by_both doorbells)
	perf_pair ib_write_bw -s 64 -n 5000 > /dev/null
	echo $(($(counted_by_both doorbells) - before))
}

say "bounds"
for setting in tx_hasty_posts=0 tx_hasty_posts=x copy_string_min=-1 copy_string_min=4294967296 \
	poll_yield=0 same_host=3 tx_pollers=513 tx_pollers=-1 tx_poll_us=x copy_vectors=3 copy_vectors=-1 copy_vector_min=4294967296; do
	before=$(cat $parameters/${setting%=*})
	refuse "$setting" bash -c "echo ${setting#*=} > $parameters/${setting%=*}"
	same "$setting" "$before" "$(cat $parameters/${setting%=*})"
done
same "defaults" "8 256 16 1 4096 0 100" "$(cd $parameters &&
	cat tx_hasty_posts copy_string_min poll_yield copy_vectors copy_vector_min tx_pollers tx_poll_us |
	tr '\n' ' ' | sed 's/ $//')"

hosts_up
note_resources

say "polls in vain before a thread yields"
many=$(yields)
set_to poll_yield $never
none=$(yields)
say "$many, and with no limit $none"
[ "$many" -gt 10 ] || fail "nobody yields"
same "yields" 0 "$none"
set_to poll_yield 16

say "how hasty one must be for doorbells to be gathered"
few=$(doorbells)
set_to tx_hasty_posts $never
all=$(doorbells)
say "$few, and without gathering $all"
[ "$all" -gt $((2 * few)) ] || fail "no difference"
set_to tx_hasty_posts 8

say "threads that look for what is posted"
set_to tx_hasty_posts $never
set_to tx_pollers 4
set_to tx_poll_us 20000
before=$(counted_by_both tx_polled)
few=$(doorbells)
polled=$(($(counted_by_both tx_polled) - before))
say "$few doorbells, $polled work requests found"
[ "$polled" -gt 4500 ] || fail "hardly any was found"
[ "$few" -lt $((all / 4)) ] || fail "doorbells all the same"
set_to tx_hasty_posts 8
for us in $(few 20000 0 100); do
	set_to tx_poll_us "$us"
	pattern_pair 16384
	perf_pair ib_send_lat -s 16 -n 300
	perf_pair ib_read_bw -s 4096 -n 300 -q 6
done
# shellcheck disable=SC2046
kill_in_traffic $(few write read)
say "a poller that has to wait for its turn: programs ring"
set_to tx_pollers 8
set_to tx_poll_us 5000000
echo 2 > /sys/devices/virtual/workqueue/krdma_soft_poll/max_active
for _ in 1 2; do perf_pair ib_send_lat -s 16 -n 300; done
perf_pair ib_write_bw -s 4096 -n 300 -q 6
note_resources
traffic ib_read_bw -D 60 -q 4
kill_hard client server
check_no_leak
set_to tx_pollers 0
set_to tx_poll_us 100
before=$(counted_by_both tx_polled)
pattern_pair 16384
same "work requests found by nobody" 0 $(($(counted_by_both tx_polled) - before))

for octets in 0 $never; do
	say "string copies from $octets octets on"
	set_to copy_string_min "$octets"
	pattern_pair 16384
done
set_to copy_string_min 256

for how in "0 4096" "2 0" "2 4096"; do
	say "copies with vectors: $how"
	set_to copy_vectors "${how% *}"
	set_to copy_vector_min "${how#* }"
	pattern_pair 70001
done
check_no_leak
