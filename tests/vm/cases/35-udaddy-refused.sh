#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: an RNIC refuses UD, multicast and UC cleanly
# covers: kal/ib
# limit: 90
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

hosts_up
note_resources
start server B udaddy -b "$ADDR_B"
sleep 2
refuse "udaddy" on A timeout "$(patient 30)" udaddy -s "$ADDR_B"
kill_hard server
refuse "mckey" on A timeout "$(patient 30)" mckey -m 239.1.2.3 -b "$ADDR_A"
refuse "unconnected queue pairs" on A timeout "$(patient 30)" ibv_uc_pingpong -d krdma0 127.0.0.1
refuse "datagram queue pairs" on A timeout "$(patient 30)" ibv_ud_pingpong -d krdma0 127.0.0.1
check_no_leak
say "and the device still works"
perf_pair ib_send_bw -s 4096 -n 100
