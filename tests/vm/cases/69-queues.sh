#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: queues: new sizes under load, moderation, vectors, SRQ, QP states, flushing, overflow
# covers: kvp_soft/queues kvp_soft/qp kal/ib/qp uapi/uvp_soft
# limit: 600
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

tracing=/sys/kernel/debug/tracing

hosts_up
note_resources
both_ways run_on A 280 "$VM_PROGS/krdma_queues" "$ADDR_A"

# a process whose monotonic clock is not the kernel's, where the kernel has that
[ ! -e /proc/self/ns/time ] || run_on A 60 unshare --time --monotonic 100000 --fork "$VM_PROGS/krdma_queues" -t completion_times "$ADDR_A"

# events of vector 1 are raised on CPU 1, wherever the work completed
if [ "$(nproc)" -gt 1 ]; then
	say "completion vectors"
	echo 1 > $tracing/events/workqueue/workqueue_execute_start/enable
	# work may happen to complete on that CPU every time, which needs no detour
	for _ in {1..10}; do
		run_on A 60 "$VM_PROGS/krdma_queues" -t cq_vectors "$ADDR_A"
		! grep -q 'soft_cq_event_fn' $tracing/trace || break
	done
	echo 0 > $tracing/events/workqueue/workqueue_execute_start/enable
	grep -c 'soft_cq_event_fn' $tracing/trace || fail "no event went over a vector's CPU"
	if grep 'soft_cq_event_fn' $tracing/trace | grep -v '\[001\]'; then
		fail "events of vector 1 on another CPU"
	fi
	say "not with comp_affinity off"
	echo > $tracing/trace
	echo N > /sys/module/krdma_soft/parameters/comp_affinity
	echo 1 > $tracing/events/workqueue/workqueue_execute_start/enable
	run_on A 60 "$VM_PROGS/krdma_queues" -t cq_vectors "$ADDR_A"
	echo 0 > $tracing/events/workqueue/workqueue_execute_start/enable
	echo Y > /sys/module/krdma_soft/parameters/comp_affinity
	! grep 'soft_cq_event_fn' $tracing/trace || fail "an event took the detour"
fi
check_no_leak
