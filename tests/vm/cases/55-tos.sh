#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: every packet has the type of service that a program set through rdma_cm
# covers: kal/cm/llp kal/ib/cm
# limit: 300
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

hosts_up
note_resources
conns=$VM_PROGS/krdma_conns

# tos_pair ADDRESS SERVER CLIENT: both talk; the sides' TOS, "-" for none
port=7200
tos_pair() {
	local address=$1 server=$2 client=$3 options_s=() options_c=()
	port=$((port + 1))
	[ "$server" = - ] || options_s=(-t "$server")
	[ "$client" = - ] || options_c=(-t "$client")
	serve server B $port "$conns" -s -n 3 -p $port "${options_s[@]}" ${address:+"$address"}
	run_on A 60 "$conns" -n 3 -p $port "${options_c[@]}" "${address:-$ADDR_B}"
	finish server 30
	echo "$port $(wire "$server") $(wire "$client")" >> wanted
}
wire() { [ "$1" = - ] && echo 0x00 || echo "$1"; }

# tos_seen COLUMN PORT: values in packets whose source (1) or destination (2) port that is
tos_seen() { awk -v n="$1" -v port="$2" '$n == port { print $3 }' seen | sort -u | xargs; }

start dump A dumpcap -q -i vethA -f "tcp" -w "$VM_TMP/dump.pcapng"
wait_for 30 grep -q 'File:' dump.log || fail "dumpcap does not capture: $(cat dump.log)"
tos_pair "$ADDR_B" 0x28 0xb8
tos_pair "$ADDR6_B" 0x2c 0xbc
tos_pair "$ADDR_B" - 0x10
tos_pair "$ADDR6_B" 0x48 -
say "wildcard listener"
tos_pair "" 0x68 -
sleep 1
kill -INT "${pid_of[dump]}"
wait "${pid_of[dump]}" || true

# the last two bytes of either field: 0xb8, and 0x000000b8 for IPv6
tshark -r dump.pcapng -T fields -e tcp.srcport -e tcp.dstport -e ip.dsfield -e ipv6.tclass 2> tshark.err |
	awk '{ print $1, $2, "0x" substr($3, length($3) - 1) }' > seen
while read -r port server client; do
	same "from the client to port $port" "$client" "$(tos_seen 2 "$port")"
	same "from the server at port $port" "$server" "$(tos_seen 1 "$port")"
done < wanted
same "pairs" 5 "$(wc -l < wanted)"
check_no_leak
