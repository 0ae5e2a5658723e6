#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: rping over IPv4 and IPv6, both directions, several sizes
# covers: kal/cm kal/ib/cm kal/net/addr
# limit: 180
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

hosts_up
note_resources
port=7500
ping_pair() { # server host, client host, address, options
	local server=$1 client=$2 address=$3
	shift 3
	port=$((port + 1))
	serve server "$server" $port rping -s -a "$address" -p $port -C 20 -v "$@"
	run_on "$client" 60 rping -c -a "$address" -p $port -C 20 -v "$@"
	same "pings" 20 "$(grep -c 'ping data' client.log || cat client.log server.log)"
	finish server 20
}
ping_pair B A "$ADDR_B" -V
ping_pair A B "$ADDR_A" -V
ping_pair B A "$ADDR6_B" -V
for size in 64 1500 4096 65535; do
	ping_pair B A "$ADDR_B" -V -S $size
done

say "wildcard listener"
port=$((port + 1))
serve server B $port rping -s -p $port -C 5
run_on A 60 rping -c -a "$ADDR_B" -p $port -C 5
finish server 20

say "the IPv6 wildcard takes both"
port=$((port + 1))
serve server B $port rping -s -P -a :: -p $port
for address in "$ADDR_B" "$ADDR6_B" "$ADDR_B"; do
	run_on A 60 rping -c -a "$address" -p $port -C 5 -V
done
kill_hard server
check_no_leak

say "link-local addresses"
port=$((port + 1))
local=$(on B ip -6 -o address show dev vethB scope link | awk '{ sub("/.*", "", $4); print $4 }')
serve server B $port rping -s -a "$local%vethB" -p $port -C 5 -V
run_on A 60 rping -c -a "$local%vethA" -p $port -C 5 -V
finish server 20
check_no_leak

say "nobody listens"
refuse "connect to a closed port" on A timeout "$(patient 60)" rping -c -a "$ADDR_B" -p 7999 -C 1
check_no_leak

say "persistent server, many clients one after the other"
serve server B 7600 rping -s -P -a "$ADDR_B" -p 7600
for _ in {1..10}; do
	run_on A 60 rping -c -a "$ADDR_B" -p 7600 -C 3 -V
done
kill_hard server
check_no_leak
