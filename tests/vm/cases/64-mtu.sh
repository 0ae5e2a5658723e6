#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: MTU 576, 1500, 9000 and changes in the middle of a connection: data compared, FPDUs of the new size
# limit: 300
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

for mtu in 576 1500 9000; do
	say "MTU $mtu"
	# IPv6 wants 1280
	if [ $mtu -lt 1280 ]; then
		net_up 1500
		on A ip link set vethA mtu $mtu
		on B ip link set vethB mtu $mtu
		rnic_add A
		rnic_add B
		wait_for 10 rnic_active krdma0
		wait_for 10 rnic_active krdma1
	else
		hosts_up $mtu
	fi
	for op in write read send; do
		perf_pair ib_${op}_bw -s 100000 -n 100
	done
	pattern_pair 1048576
	hosts_down
done

trace=/sys/kernel/tracing
# the last of them will do
echo 128 > $trace/buffer_size_kb

# sent: octets and FPDUs of host A so far, both at one moment
sent() {
	on A rdma statistic show link krdma0/1 |
		awk '{ for (i = 1; i < NF; i++) n[$i] = $(i + 1) } END { print n["tx_bytes"], n["tx_fpdus"] }'
}
forget() { echo > $trace/trace; }
largest() { grep -oE ' len=[0-9]+' $trace/trace | cut -d = -f 2 | sort -n | tail -1; }
# beyond: FPDUs that were larger than what TCP said at that moment
beyond() { sed -nE 's/.* len=([0-9]+) mss=([0-9]+)$/\1 \2/p' $trace/trace | awk '$1 > $2' | wc -l; }

# resized MTU COMMAND...: FPDUs built after it are whole segments of the new size: none larger,
# and as large as that. Without the trace FPDUs are built in runs; then their mean tells.
resized() {
	local segment=$((($1 - 52) / 4 * 4)) octets fpdus more_octets more_fpdus
	say "${*:2}"
	"${@:2}"
	# what was built before is on its way, or was acknowledged
	sleep "$(patient 1)"
	read -r octets fpdus <<< "$(sent)"
	sleep 1
	read -r more_octets more_fpdus <<< "$(sent)"
	octets=$((more_octets - octets)) fpdus=$((more_fpdus - fpdus))
	[ "$fpdus" -gt 20 ] || fail "only $fpdus FPDUs in a second"
	echo "$fpdus FPDUs of $((octets / fpdus)) octets on average"
	# octets count when TCP takes them, a little later than their FPDUs
	[ $(((octets - 524288) / fpdus)) -le $segment ] || fail "FPDUs of $((octets / fpdus)) octets"
	[ $((octets / fpdus)) -ge $((segment / 2)) ] || fail "FPDUs of $((octets / fpdus)) octets"
	echo 1 > $trace/events/krdma_soft/soft_fpdu/enable
	forget
	sleep 0.5
	echo 0 > $trace/events/krdma_soft/soft_fpdu/enable
	same "largest FPDU" $segment "$(largest)"
	same "larger than TCP's segments" 0 "$(beyond)"
}

set_mtu() {
	on A ip link set vethA mtu "$1"
	on B ip link set vethB mtu "$1"
}

say "changes under traffic, with data compared beside it"
hosts_up 9000
traffic ib_send_bw -D $((300 * VM_SLOW)) -s 65536
serve pattern B 7300 "$VM_PROGS/krdma_pattern" -s -p 7300 -m 8388608 "$ADDR_B"
start checked A "$VM_PROGS/krdma_pattern" -p 7300 -m 8388608 "$ADDR_B"
for mtu in $(few 600 1400); do
	resized "$mtu" set_mtu "$mtu"
done
# a path MTU below the link's, and above it again
resized 1200 on A ip route add "$ADDR_B" dev vethA mtu 1200
on A ip route del "$ADDR_B"
resized 9000 set_mtu 9000
# without the load what is left of the data is through sooner
kill_hard client
kill_hard server
finish checked 120
finish pattern 60
