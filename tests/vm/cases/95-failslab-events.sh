#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: failing allocations while the link goes down and up: /dev/krdma reports all changes in order
# covers: kal/core/event kal/core/netdev kal/chardev/event
# limit: 90
# kernel: debug
# shellcheck source=tests/vm/guest/failslab.sh
. "${VM_LIB%/*}/failslab.sh"

hosts_up
start watch A "$VM_PROGS/krdma_chardev" -e "$ADDR_A"
wait_for 20 grep -q ready watch.log || { cat watch.log; fail "no context"; }
told() { [ "$(sed -n 's/^event //p' watch.log | tr '\n' ' ')" = "$1" ]; }
active() { grep -q up "/sys/class/net/vethA/operstate"; }

faults_on 1
on A ip link set vethA down
on A ip link set vethA up
expect "carrier" on A bash -c "$(declare -f active wait_for); VM_SLOW=$VM_SLOW wait_for 10 active"
# and of another kind
on A ip link set vethA address 02:00:00:00:00:0a
sleep 1
faults_off "link down and up, and another address"
wait_for 10 told "10 9 18 " || { cat watch.log; fail "not what happened"; }
kill_hard watch
