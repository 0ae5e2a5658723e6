#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: ip link set down during traffic, and up again: data, programs, port events
# covers: kal/core/netdev kal/core/event kal/ib/port
# limit: 240
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

hosts_up
note_resources
start watch B stdbuf -oL ibv_asyncwatch -d krdma1
watching() { grep -q 'event FD' watch.log; }
# port_events NAME: so many of them has the watching program heard of
port_events() { grep -c "IBV_EVENT_PORT_$1 .*port 1" watch.log || true; }
heard() { [ "$(port_events ERR) $(port_events ACTIVE)" = "$1" ]; }
wait_for 10 watching || fail "ibv_asyncwatch does not begin"
say "short: TCP carries on"
traffic ib_write_bw -D 15 -s 65536
on B ip link set vethB down
wait_for 10 heard "1 0" || fail "no event that the port is down"
on B ip link set vethB up
wait_for 10 heard "1 1" || fail "no event that the port is active"
wait_for 10 on A ping -q -c 1 -W 1 "$ADDR_B" || fail "the hosts do not see each other again"
finish client 60
finish server 60
kill_hard watch
check_no_leak

say "for good: the programs can be killed and everything goes"
traffic ib_send_bw -D 120
on A ip link set vethA down
sleep 2
kill_hard client server
check_no_leak
expect "delete the RNIC of a netdev that is down" on A timeout "$(patient 30)" rdma link delete krdma0
on A ip link set vethA up
on A ip -6 address replace "$ADDR6_A/64" dev vethA nodad
expect "add it again" rnic_add A
wait_for 10 rnic_active krdma0
wait_for 10 on A ping -q -c 1 -W 1 "$ADDR_B"
perf_pair ib_send_bw -n 100
