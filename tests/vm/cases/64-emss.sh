#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: no FPDU is larger than a TCP segment or smaller than necessary: IPv4, IPv6, markers
# covers: kvp_soft/tx kvp_soft/wire kal/cm/llp
# limit: 240
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

trace=/sys/kernel/tracing
echo 8192 > $trace/buffer_size_kb
echo 1 > $trace/events/krdma_soft/soft_fpdu/enable

# largest: bytes of the largest FPDU in the trace
largest() { grep -oE ' len=[0-9]+' $trace/trace | cut -d = -f 2 | sort -n | tail -1; }
# beyond: FPDUs that were larger than what TCP said at that moment
beyond() { sed -nE 's/.* len=([0-9]+) mss=([0-9]+)$/\1 \2/p' $trace/trace | awk '$1 > $2' | wc -l; }
forget() { echo > $trace/trace; }

# segment MTU FAMILY: bytes that a segment carries, with time stamps
segment() { echo $(($1 - 32 - ($2 == 4 ? 20 : 40))); }
# whole SEGMENT: the largest FPDU in it; an FPDU is a multiple of 4
whole() { echo $(($1 / 4 * 4)); }

set_mtu() {
	on A ip link set vethA mtu "$1"
	on B ip link set vethB mtu "$1"
}

hosts_up 9000
note_resources
for mtu in 9000 1500 1283; do
	set_mtu $mtu
	for family in 4 6; do
		[ $family = 4 ] && address=$ADDR_B || address=$ADDR6_B
		forget
		ADDR_B=$address pattern_pair 65536
		same "largest FPDU, MTU $mtu, IPv$family" "$(whole "$(segment $mtu $family)")" "$(largest)"
		same "larger than TCP's segments" 0 "$(beyond)"
	done
done

say "with markers"
echo 1 > /sys/module/krdma/parameters/mpa_markers
set_mtu 1500
forget
pattern_pair 65536
echo 0 > /sys/module/krdma/parameters/mpa_markers
# room for one marker more than there is mostly
size=$(largest)
[ "$size" -le 1448 ] && [ "$size" -ge 1436 ] || fail "largest FPDU with markers: $size"
same "larger than TCP's segments" 0 "$(beyond)"

echo 0 > $trace/events/krdma_soft/soft_fpdu/enable
check_no_leak
