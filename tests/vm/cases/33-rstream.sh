#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: rstream (rsockets) with verification
# covers: kal/ib kvp_soft/tx kvp_soft/rx uapi/uvp_soft
# limit: 240
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

hosts_up
port=7800
for options in "-T v -S 64 -C 100 -I 10" "-T v -S 65536 -C 20 -I 10" \
	"-T v -T n -S 4096 -C 50 -I 10" "-T v -T n -S 1048576 -C 5 -I 4" "-T b -S all -C 10 -I 2"; do
	port=$((port + 1))
	# the server verifies as the client does, so both get the same options
	# shellcheck disable=SC2086
	serve server B $port rstream -p $port $options
	# shellcheck disable=SC2086
	run_on A 90 rstream -s "$ADDR_B" -p $port $options
	cat client.log
	has "figures" ' [0-9.]+s +[0-9.]+ +[0-9.]+$' client.log
	finish server 30
done
