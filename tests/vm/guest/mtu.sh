#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# What the cases of a changing MTU share: how large the FPDUs are that host A builds.
# Sourced by them.

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

trace=/sys/kernel/tracing
# the last of them will do
echo 128 > $trace/buffer_size_kb

# sent: bytes and FPDUs of host A so far, both at one moment
sent() {
	on A rdma statistic show link krdma0/1 |
		awk '{ for (i = 1; i < NF; i++) n[$i] = $(i + 1) } END { print n["tx_bytes"], n["tx_fpdus"] }'
}
forget() { echo > $trace/trace; }
largest() { grep -oE ' len=[0-9]+' $trace/trace | cut -d = -f 2 | sort -n | tail -1; }
# beyond: FPDUs that were larger than what TCP said at that moment
beyond() { sed -nE 's/.* len=([0-9]+) mss=([0-9]+)$/\1 \2/p' $trace/trace | awk '$1 > $2' | wc -l; }

# resized MTU COMMAND...: FPDUs built after it are whole segments of the new size: none larger,
# and as large as that. Without the trace FPDUs are built in runs; then their mean decides.
headers=52
resized() {
	local segment=$((($1 - headers) / 4 * 4)) octets fpdus more_octets more_fpdus
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
	# bytes count when TCP takes them, a little later than their FPDUs
	[ $(((octets - 524288) / fpdus)) -le $segment ] || fail "FPDUs of $((octets / fpdus)) octets"
	[ $((octets / fpdus)) -ge $((segment / 2)) ] || fail "FPDUs of $((octets / fpdus)) octets"
	echo 1 > $trace/events/krdma_soft/soft_fpdu/enable
	forget
	sleep 0.5
	echo 0 > $trace/events/krdma_soft/soft_fpdu/enable
	same "largest FPDU" $segment "$(largest)"
	same "larger than TCP's segments" 0 "$(beyond)"
}
