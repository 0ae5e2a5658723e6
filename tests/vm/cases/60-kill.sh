#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: kill -9 of either side in the middle of traffic: the other one ends, nothing stays
# limit: 300
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

hosts_up
note_resources
for op in write read send; do
	for victim in client server; do
		traffic ib_${op}_bw -D 120 -q 2
		say "kill -9 of the $victim"
		kill_hard $victim
		[ $victim = client ] && other=server || other=client
		# bandwidth programs that only post never look at connection events
		if ! wait_for 20 ended "$other"; then
			kill -INT "${pid_of[$other]}"
			wait_for 5 ended "$other" || kill_hard "$other"
		fi
		check_no_leak
	done
done

say "while a connection is being set up"
for _ in {1..10}; do
	serve server B 7471 rping -s -P -a "$ADDR_B" -p 7471
	start client A rping -c -a "$ADDR_B" -p 7471 -C 1000
	sleep "0.0$((RANDOM % 9))"
	kill_hard client
	kill_hard server
done
check_no_leak
perf_pair ib_write_bw -n 200
