#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: ib_send_bw: sizes, both directions, several queue pairs, lists, shared receive queues
# covers: kvp_soft/tx kvp_soft/rx kvp_soft/queues uapi/uvp_soft
# limit: 420
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

hosts_up
note_resources
perf_limit=90
for size in $(few 4097 1 63 1460); do
	perf_pair ib_send_bw -s "$size" -n 50
done
# and each power of two up to 8 MiB
[ -n "${VM_QUICK:-}" ] || perf_pair ib_send_bw -a -n 20
for options in "-b" "-q 4" "-l 8 -n 800" "-b -q 4 -s 16384" "-D 3" "-Q 1 -n 200" \
	"-t 1 -n 50" "-N --mr_per_qp -q 2"; do
	# shellcheck disable=SC2086
	perf_pair ib_send_bw -n 200 $options
done
# not -e: on iWARP the client waits for credits, which come as silent RDMA Writes,
# and with events it may wait for a completion that only they would bring
perf_pair ib_send_bw --use-srq -n 200
# with several queue pairs perftest gives credits to the one that posted a receive, not to the one
# that used it, and one that has more credits than it has sent stops for good. So none may fall due:
# that is after a third of the receives, for each queue pair
perf_pair ib_send_bw --use-srq -q 4 -D $((3 * VM_SLOW)) -s 1048576 -r 12000
perf_pair ib_send_bw --recv_post_list 8 -r 64 -n 256
check_no_leak
