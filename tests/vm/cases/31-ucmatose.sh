#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: ucmatose: default, bound address, many connections and messages
# covers: kal/cm kal/ib/cm
# limit: 180
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

hosts_up
note_resources
port=7700
pair() {
	port=$((port + 1))
	serve server B $port ucmatose -p $port "$@"
	run_on A 90 ucmatose -s "$ADDR_B" -p $port "$@"
	has "data was transferred" 'data transfers complete' client.log
	has "clean end" 'return status 0' client.log
	finish server 30
	has "clean end of the server" 'return status 0' server.log
}
pair
pair -c 1 -C 100 -S 65536
pair -c 32
pair -c 8 -C 50 -S 4096
port=$((port + 1))
serve server B $port ucmatose -b "$ADDR_B" -p $port
run_on A 60 ucmatose -s "$ADDR_B" -b "$ADDR_A" -p $port
finish server 30
port=$((port + 1))
serve server B $port ucmatose -b "$ADDR6_B" -f ipv6 -p $port
run_on A 60 ucmatose -s "$ADDR6_B" -f ipv6 -p $port
finish server 30
check_no_leak
