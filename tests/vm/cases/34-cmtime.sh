#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: cmtime: many connections are set up and torn down
# covers: kal/cm kal/ib/cm
# limit: 240
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

hosts_up
note_resources
for count in 1 20 100; do
	start server B cmtime -b "$ADDR_B" -c $count
	wait_for 20 listening B 7471 || fail "cmtime does not listen: $(cat server.log)"
	run_on A 100 cmtime -s "$ADDR_B" -c $count
	cat client.log
	has "connect was timed" '^connect' client.log
	kill_hard server
	check_no_leak
done
