#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: ib_send_lat: sizes, both directions, several queue pairs, lists, events
# covers: kvp_soft/tx kvp_soft/rx kvp_soft/queues
# limit: 420
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

hosts_up
note_resources
perf_limit=90
for size in $(few 4097 1 63 1460); do
	perf_pair ib_send_lat -s "$size" -n 50
done
# and each power of two up to 8 MiB
[ -n "${VM_QUICK:-}" ] || perf_pair ib_send_lat -a -n 20
perf_pair ib_send_lat -D 3
perf_pair ib_send_lat -e -n 200
perf_pair ib_send_lat --use-srq -n 200
check_no_leak
