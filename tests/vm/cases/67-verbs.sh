#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: verbs, access rights, events and hostile rings, checked one by one
# covers: kal/ib kal/core/verbs kal/core/verbs_qp kvp_soft/queues kvp_soft/memory uapi/uvp_soft
# limit: 600
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

hosts_up
note_resources
both_ways run_on A 280 "$VM_PROGS/krdma_verbs" "$ADDR_A"
same "Sends that waited for a receive, in the counters" yes \
	"$(on A rdma statistic show link krdma0/1 | grep -E 'rx_waits [1-9]' > /dev/null && echo yes)"
# a device, its protection domain and region in two processes
run_on A 100 "$VM_PROGS/krdma_import" "$ADDR_A"
check_no_leak
