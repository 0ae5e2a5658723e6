#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: sockets of the kernel under rules and by the switch's family and number: their callbacks and data are as on TCP
# covers: ops tests/offload
# limit: 120
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"

kern() { insmod "$VM_MODULES/tests/offload/offload_kern.ko" "$@" && rmmod offload_kern; }

ip link set lo up
attempt "TCP" expect "TCP" kern
ops_load
attempt "no rule" by_tcp expect "no rule" kern
mark
attempt "rules" expect "rules" kern
attempt "the family" expect "the family" kern family=$OFFLOAD
attempt "the switch's number" expect "the switch's number" kern protocol=$WILDCARD
krdma offload stats -n
all_gone
unmark
plain_load
mark plain
attempt "a road that serves the kernel" expect "a road" kern
all_gone
unload offload_plain krdma_ops
attempts_verdict
