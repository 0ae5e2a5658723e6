#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: MPA start-up between two krdma RNICs: each ready-to-receive frame, revisions, private data
# covers: kal/cm/startup kal/cm/mpa kal/cm/handover
# limit: 300
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

parameters=/sys/module/krdma/parameters
conns=$VM_PROGS/krdma_conns
trace=/sys/kernel/tracing

hosts_up
note_resources
echo 1 > $trace/events/krdma_soft/soft_fpdu/enable
echo 1 > $trace/events/krdma/mpa_frame/enable

# start_up TEXT FRAME SERVER CLIENT OPTION...: the initiator's first FPDU is that; the option is the
# server's
start_up() {
	local text=$1 first=$2 server=$3 client=$4 address
	shift 4
	address=$(addr_of "$server")
	echo > $trace/trace
	say "$text"
	serve server "$server" 7175 "$conns" -s "$@" "$address"
	run_on "$client" 60 "$conns" -d 255 "$address"
	finish server 60
	same "$text: first FPDU" "$first" \
		"$(grep 'soft_fpdu: .* seq=0 ' $trace/trace | sed -n 1p | grep -oE 'op=[0-9]+ last=1 len=[0-9]+')"
}
# frames REGEX: both start-up frames are such
frames() {
	same "Requests and Replies with '$1'" 4 "$(grep 'mpa_frame: ' $trace/trace | grep -cE "$1")"
}

# RDMAP opcodes: 0 Write, 1 Read Request, 3 Send; lengths with MPA header and CRC
for hosts in "A B" "B A"; do
	read -r server client <<< "$hosts"
	echo 4 > $parameters/mpa_rtr
	start_up "RDMA Write" "op=0 last=1 len=20" "$server" "$client"
	frames 'rev=2 .*S=1 A=1 rtr=0x4 '
	echo 8 > $parameters/mpa_rtr
	start_up "RDMA Read" "op=1 last=1 len=52" "$server" "$client"
	frames 'rev=2 .*S=1 A=1 rtr=0x8 '
	echo 2 > $parameters/mpa_rtr
	start_up "Send" "op=3 last=1 len=24" "$server" "$client" -z
	frames 'rev=2 .*S=1 A=1 rtr=0x2 '
	echo 14 > $parameters/mpa_rtr
	start_up "all of them" "op=0 last=1 len=20" "$server" "$client"
	frames 'rev=2 .*S=1 A=1 rtr=0xe '
done

# 4096 bytes of data: the first Send's first FPDU is a whole segment, or nearly
data='op=3 last=0 len=1448'
first_data() {
	same "$1: first FPDU" "$data" \
		"$(grep 'soft_fpdu: .* seq=0 ' $trace/trace | sed -n 1p | grep -oE 'op=[0-9]+ last=[01] len=[0-9]+')"
}
start_plain() { # text, regex of the frames
	echo > $trace/trace
	say "$1"
	serve server B 7175 "$conns" -s "$ADDR_B"
	run_on A 60 "$conns" -d 255 "$ADDR_B"
	finish server 60
	first_data "$1"
	frames "$2"
}
echo 0 > $parameters/mpa_rtr
start_plain "client-server model" 'rev=2 .*S=1 A=0 rtr=(0x)?0 '
echo 12 > $parameters/mpa_rtr
echo 1 > $parameters/mpa_revision
start_plain "revision 1" 'rev=1 .*S=0 A=0 rtr=(0x)?0 '
echo 0 > $trace/events/enable
check_no_leak
