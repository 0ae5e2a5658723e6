#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: rdma statistic and rdma resource show counters, queue pairs and owners
# covers: kal/ib/restrack kal/core/counters.h kvp_soft/base/counters.h
# limit: 120
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

hosts_up
rdma -j resource show krdma0 > before
has "resources" '"qp": *[0-9]' before

traffic ib_write_bw -D 60
connected() { rdma resource show qp link krdma0 | grep 'state RTS' > /dev/null; }
expect "a connected queue pair" wait_for 20 connected

rdma resource show qp link krdma0 > qp.out
has "its owner" 'comm ib_write_bw|\[ib_write_bw\]' qp.out
has "its type" 'type RC' qp.out
rdma resource show cm_id link krdma0 > cm.out
has "its connection" "$ADDR_B:$perf_port" cm.out
has "connection state" 'state CONNECT' cm.out
rdma resource show mr dev krdma0 > mr.out || rdma resource show mr link krdma0 > mr.out
has "its memory" 'mrlen [1-9]' mr.out
rdma resource show cq dev krdma0 > cq.out || rdma resource show cq link krdma0 > cq.out
has "its completion queue" 'cqe [1-9]' cq.out
rdma resource show pd dev krdma0 > pd.out || rdma resource show pd link krdma0 > pd.out
has "its protection domain" 'pdn|users' pd.out
rdma -dd resource show qp link krdma0

on A rdma statistic show link krdma0/1 > statistic1
cat statistic1
sleep 1
on A rdma statistic show link krdma0/1 > statistic2
[ -s statistic1 ] || fail "no counters"
! cmp -s statistic1 statistic2 || fail "no counter moves under traffic"
kill_hard client
finish_any server 30
say "counters are non-negative numbers"
! grep -E ' -[0-9]' statistic2 || fail "negative counter"
