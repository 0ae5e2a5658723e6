#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: threads that the scheduler starves in the middle of connecting do not delay connections of another namespace
# covers: kal/cm kal/core kvp_soft/tx kvp_soft/direct
# alone: it measures how long a connection waits
# limit: 90
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

chardev=$VM_PROGS/krdma_chardev
[ "$(nproc)" -gt 1 ] || exit 0
preemption=/sys/kernel/debug/sched/preempt
# a thread may be preempted with any sleeping lock held; the cases to come have what was chosen before
if [ -w $preemption ]; then
	chosen=$(sed -n 's/.*(\([a-z]*\)).*/\1/p' $preemption)
	trap 'echo "$chosen" > $preemption' EXIT
	echo full > $preemption
fi
hosts_up
# longest: of host B's connections to itself, in ms
longest() {
	run_on B 40 "$chardev" -l "$ADDR_B"
	cat client.log
	milliseconds=$(sed -n 's/^\([0-9]*\) ms at most.*/\1/p' client.log)
}

say "alone"
longest
alone=$milliseconds

say "beside starved threads of host A"
start starved A "$chardev" -i "$ADDR_A"
ready() { [ "$(grep -c ready starved.log)" = 8 ]; }
wait_for 40 ready || fail "$(cat starved.log)"
longest
alive starved || fail "$(cat starved.log)"
# each of the threads is on its CPU for some milliseconds in each second
[ "$milliseconds" -lt $((alone + $(patient 500))) ] || fail "a connection took $milliseconds ms"
kill_hard starved
