#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: siw as peer, both roles: MTU 9000, IPv6, sizes from 1 byte to 1 MiB, queue depths, several queue pairs
# covers: tests/interop kvp_soft/tx kvp_soft/rx kvp_soft/queues
# limit: 600
# shellcheck source=tests/vm/guest/siw.sh
. "${VM_LIB%/*}/siw.sh"

siw_hosts_up 9000
note_resources
perf_limit=120
both_roles pattern_pair 1048576
siw_client perf_pair ib_write_bw -s 1 -n 200
siw_server perf_pair ib_send_bw -s 63 -n 200
siw_client perf_pair ib_read_bw -s 4097 -n 100 -q 4
siw_client perf_pair ib_send_bw -s 1048576 -n 10 -b
siw_client perf_pair ib_write_bw -s 4096 -n 200 -t 4 -l 4
say "IPv6"
ADDR_A=$ADDR6_A ADDR_B=$ADDR6_B
both_roles pattern_pair 65535
check_no_leak
