#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: hostile peer: right and wrong Replies to a connecting victim (C3)
# covers: kal/cm/startup kal/cm/mpa
# limit: 240
# shellcheck source=tests/vm/guest/hostile.sh
. "${VM_LIB%/*}/hostile.sh"

hostile_hosts
# it tries again until there is a listener
start victim B "$VM_PROGS/krdma_victim" -b "$ADDR_B" -c "$ADDR_A" -p $hostile_port
wait_for 10 grep -q '"ready"' victim.log || fail "the victim is not ready"
hostile --listen "$ADDR_A"
victim_down
on B rdma statistic show link krdma1/1
moved B conn_active conn_failed conn_refused conn_timeout mpa_malformed mpa_v1_fallback \
	mpa_terminate_sent
