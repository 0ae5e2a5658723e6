#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: rdma link del during traffic: programs end, and the link can be added again
# covers: kal/core/registry kal/ib/device kal/ib/port kal/cm/endpoint kal/cm/ep_table kal/cm/ep_calls kal/cm/ep_view kal/cm/lanes kvp_soft/qp
# limit: 180
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

hosts_up
for host in A B; do
	traffic ib_write_bw -D 120
	expect "delete $(dev_of $host) under traffic" on $host timeout "$(patient 30)" rdma link delete "$(dev_of $host)"
	rid_of client server
	expect "add it again" rnic_add $host
	wait_for 10 rnic_active "$(dev_of $host)" || fail "not active again"
	perf_pair ib_write_bw -s 65536 -n 100
done
