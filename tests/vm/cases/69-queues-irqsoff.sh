#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: queues of the largest size are moved, purged and flushed with interrupts off for at most a millisecond
# limit: 180
# kernel: debug
# alone: interrupt latency is measured
# covers: kvp_soft/queues kvp_soft/tx kvp_soft/rx
# shellcheck source=tests/vm/guest/storage.sh
. "${VM_LIB%/*}/storage.sh"

tracing=/sys/kernel/debug/tracing
longest=1000 # microseconds

# watch: each section that is too long, as the tracer shows it, until the file "enough" is there
watch() {
	while [ ! -e enough ]; do
		if [ "$(cat $tracing/tracing_max_latency)" -gt $longest ]; then
			cat $tracing/trace
			echo 0 > $tracing/tracing_max_latency
		fi
		sleep 0.02
	done
}

# whose: each section that is too long, by the function that has turned interrupts on again: the
# first of the stack that is none of the locks' and the tracer's
whose() {
	awk '/latency: /		{ us = $3; seen = 0 }
	     /^ => /			{ if (!seen && $2 !~ /^_raw_|^trace_|^tracer_|^_*local_|^lockdep_|hardirqs_/) { print us, $2; seen = 1 } }' "$1"
}

# all: every job that moves, purges or flushes a long queue; the file "found" has the functions of ours
# with a section that was too long
all() {
	local name watcher
	rm -f enough
	echo 0 > $tracing/tracing_max_latency
	echo irqsoff > $tracing/current_tracer
	watch > sections &
	watcher=$!
	for name in large_queues_flush large_cq_moves large_srq_moves many_wait_for_an_srq; do
		timeout "$(patient 60)" "$VM_PROGS/krdma_queues" -t $name $portal
	done
	expect "a kernel consumer's" insmod "$VM_MODULES/tests/consumers/krdma_ktest.ko" address=$portal large=1
	sed -n 's/.* \([^ ]*\)\t\[krdma.*/\1/p' /proc/kallsyms | sort -u > ours
	rmmod krdma_ktest
	touch enough
	wait $watcher
	echo nop > $tracing/current_tracer
	whose sections | sort -k 2
	whose sections | cut -d ' ' -f 2 | sort -u | grep -xFf ours > found || true
}

storage_up
grep -qw irqsoff $tracing/available_tracers || fail "the kernel has no irqsoff tracer"
# Once may be the host's fault, which runs something else meanwhile: that happens to all of the
# kernel. A function of ours with a long section has it each time.
for round in 1 2 3; do
	all
	grep -qx soft_cq_purge ours || fail "the modules' functions are not known"
	[ $round = 1 ] || { grep -xFf suspects found > both || true; mv both found; }
	mv found suspects
	[ -s suspects ] || break
done
[ ! -s suspects ] || fail "interrupts were off for more than $longest microseconds, three times: $(tr "\n" " " < suspects)"
