#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: ib_read_bw: sizes, both directions, several queue pairs, lists, events
# covers: kvp_soft/tx kvp_soft/rx kvp_soft/wire uapi/uvp_soft
# limit: 420
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

hosts_up
note_resources
perf_limit=90
for size in $(few 4097 1 63 1460); do
	perf_pair ib_read_bw -s "$size" -n 50
done
# and each power of two up to 8 MiB
[ -n "${VM_QUICK:-}" ] || perf_pair ib_read_bw -a -n 20
for options in "-b" "-q 4" "-l 8 -n 800" "-b -q 4 -s 16384" "-D 3" "-Q 1 -n 200" \
	"-t 1 -n 50" "-N --mr_per_qp -q 2"; do
	# shellcheck disable=SC2086
	perf_pair ib_read_bw -n 200 $options
done
for depth in 1 4 16; do
	perf_pair ib_read_bw -n 200 -o $depth
done
perf_pair ib_read_bw -e -n 200
check_no_leak
