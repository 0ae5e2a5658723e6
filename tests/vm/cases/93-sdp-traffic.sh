#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: what a program of SDP sets for the network reaches the packets of its connection, at both ends: IP_TOS and IPV6_TCLASS by a capture, SO_PRIORITY and SO_MARK by classes of a queueing discipline
# covers: sdp kal/kdapl/connections/cm kal/cm/llp
# kernel: stock
# limit: 300
# The debug kernel has neither sch_prio nor cls_fw; the other two parts have passed there.
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"
# shellcheck source=tests/vm/guest/sdp.sh
. "$VM_REPO/tests/vm/guest/sdp.sh"

program=$VM_REPO/tests/vm/guest/sdp_traffic.py
port=9600
# a line for each connection: TOS of the server's and the client's packets
touch wanted

# talk ADDRESS "SERVER'S OPTIONS" "CLIENT'S OPTIONS"
talk() {
	local address=$1 server client
	port=$((port + 1))
	read -ra server <<< "$2"
	read -ra client <<< "$3"
	start server B python3 "$program" server "$address" $port "${server[@]}"
	wait_for 60 grep -q listening server.log || fail "$(cat server.log)"
	run_on A 60 python3 "$program" client "$address" $port "${client[@]}"
	finish server 60
	echo "$(tos_of "$2") $(tos_of "$3")" >> wanted
	all_sdp_gone
}
tos_of() {
	local tos
	tos=$(sed -n 's/.*tos=\(0x..\).*/\1/p' <<< "$1")
	echo "${tos:-0x00}"
}

# through HOST CLASS: packets that have gone through it
through() { on "$1" tc -s class show dev "veth$1" | awk -v class="1:$2" '$1 == "class" { on = $3 == class } on && $1 == "Sent" { print $4 }'; }

# talk_by_class ADDRESS SERVER'S CLIENT'S SERVER'S_CLASS CLIENT'S_CLASS: some packets go that way
talk_by_class() {
	local b a
	b=$(through B "$4") a=$(through A "$5")
	talk "$1" "$2" "$3"
	[ $(($(through A "$5") - a)) -ge 5 ] || fail "client, $3: $a packets before, then $(through A "$5")"
	[ $(($(through B "$4") - b)) -ge 5 ] || fail "server, $2: $b packets before, then $(through B "$4")"
}

# tos_seen STREAM COLUMN LEAST: values in packets of so many bytes from (2) or to (3) the server
tos_seen() { awk -v stream="$1" -v column="$2" -v least="$3" '$1 == stream && $column == 1017 && $5 >= least { print $4 }' seen | sort -u | xargs; }

on_the_wire() {
	local stream=0 server client
	start dump A dumpcap -q -i vethA -f "tcp port 1017" -w "$VM_TMP/dump.pcapng"
	wait_for 30 grep -q 'File:' dump.log || fail "dumpcap does not capture: $(cat dump.log)"
	talk "$ADDR_B" tos=0x28 tos=0xb8
	talk "$ADDR6_B" tos=0x2c tos=0xbc
	talk "$ADDR_B" "" tos=0x10
	talk "$ADDR6_B" tos=0x48 ""
	# the bits of ECN are the stack's
	talk "$ADDR_B" tos=0x2b tos=0xba
	sed -i '$s/.*/0x28 0xb8/' wanted
	sleep 1
	kill -INT "${pid_of[dump]}"
	wait "${pid_of[dump]}" || true
	# the last two digits of either field: 0xb8, and 0x000000b8 for IPv6
	tshark -r dump.pcapng -T fields -e tcp.stream -e tcp.srcport -e tcp.dstport -e ip.dsfield -e ipv6.tclass \
		-e tcp.len 2> tshark.err |
		awk '{ print $1, $2, $3, "0x" substr($4, length($4) - 1), $5 }' > all
	# those that carried something: a peer that is asked too early refuses, and is asked once more
	awk '{ data[$1] += $2 == 1017 && $5 > 0; of[NR] = $1; line[NR] = $0 }
		END {
			for (i = 1; i <= NR; i++) {
				if (data[of[i]] < 5)
					continue
				if (!(of[i] in number))
					number[of[i]] = streams++
				sub(/^[0-9]+/, number[of[i]], line[i])
				print line[i]
			}
		}' all > seen
	while read -r server client; do
		# before its first byte the listener of all sockets answers
		same "stream $stream, from the server" "$server" "$(tos_seen $stream 2 1)"
		same "stream $stream, from the client" "$client" "$(tos_seen $stream 3 0)"
		stream=$((stream + 1))
	done < wanted
	same "streams" 5 "$(awk '{ print $1 }' seen | sort -u | wc -l)"
}

by_class() {
	local host
	for host in A B; do
		on $host tc qdisc add dev veth$host root handle 1: prio bands 8
		on $host tc filter add dev veth$host parent 1: protocol all handle 7 fw flowid 1:6
	done
	# a priority that names a class selects it; TCP's accepted socket has none of its listener
	talk_by_class "$ADDR_B" "mark=7" "priority=0x10005" 6 5
	talk_by_class "$ADDR6_B" "mark=7" "tos=0x10 priority=0x10008" 6 8
	talk_by_class "$ADDR_B" "mark=7" "mark=7" 6 6
	talk_by_class "$ADDR6_B" "mark=7" "mark=7" 6 6
	same "packets of another mark" "$(through A 6)" "$(
		talk "$ADDR_B" "mark=8" "mark=8" >&2
		through A 6
	)"
	for host in A B; do
		on $host tc qdisc delete dev veth$host root
	done
}

# a policy route that a marked connection does not get past
by_rule() {
	on A ip rule add pref 10 fwmark 9 unreachable
	start server B python3 "$program" server "$ADDR_B" 9700
	wait_for 60 grep -q listening server.log || fail "$(cat server.log)"
	refuse "a marked connection" on A timeout "$(patient 60)" python3 "$program" client "$ADDR_B" 9700 mark=9
	run_on A 60 python3 "$program" client "$ADDR_B" 9700 mark=8
	finish server 60
	on A ip rule delete pref 10
	all_sdp_gone
}

hosts_up
ops_load addresses=1
sdp_load
note_resources
same_host 0
part "type of service" on_the_wire
part "priority and mark" by_class
part "a rule for a mark" by_rule
same_host 1
sdp_ends
hosts_down
parts_verdict
