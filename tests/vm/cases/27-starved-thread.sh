#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: a thread that the scheduler starves while it flushes a queue holds up nobody in another namespace
# covers: kal/cm kal/core kvp_soft/tx kvp_soft/direct
# alone: it measures how long a connection waits
# limit: 90
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

chardev=$VM_PROGS/krdma_chardev
[ "$(nproc)" -gt 1 ] || exit 0
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

say "beside a starved thread of host A"
start starved A "$chardev" -i "$ADDR_A"
wait_for 40 grep -q accepted starved.log || fail "$(cat starved.log)"
longest
alive starved || fail "$(cat starved.log)"
# the flush takes 20 s and more where the thread is on a CPU for 3 ms in a second
[ "$milliseconds" -lt $((alone + $(patient 500))) ] || fail "a connection took $milliseconds ms"
kill_hard starved
