#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: the network device of an RNIC is removed, idle and under traffic
# covers: kal/core/netdev kal/core/registry kal/cm
# limit: 180
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

before=$(tcp_sockets)

say "idle"
hosts_up
expect "delete the veth pair" on A ip link delete vethA
wait_for 15 test -z "$(rdma_devices)" || sleep 2
same "devices" "" "$(rdma_devices)"
hosts_down

say "under traffic; its connections end at once, they do not try to reach the peer"
hosts_up
echo 1 > /sys/module/krdma/parameters/close_timeout_ms
traffic ib_send_bw -D 120
expect "delete the veth pair" on A timeout "$(patient 30)" ip link delete vethA
sleep 1
same "devices" "" "$(rdma_devices)"
rid_of client server
hosts_down
no_sockets() { [ "$(tcp_sockets)" = "$before" ]; }
wait_for 5 no_sockets || fail "TCP sockets: $before -> $(tcp_sockets)"
