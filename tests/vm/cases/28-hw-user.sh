#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: what providers owe to user space, by libkrdma: table of checks x krdma_soft (fast, slow), siw, rxe, siw with krdma_soft both ways
# covers: kvp_hw kvp_soft kal/chardev kal/cm/offload.c uapi/ual
# limit: 400
#
# siw itself may crash the guest, "NULL pointer dereference at siw_sq_start": siw_cm_work_handler()
# takes the queue pair from a connection that ends before it takes the callbacks from the socket,
# and siw_qp_llp_write_space() does not look whether there is one. This is a matter of timing.
#
# shellcheck source=tests/vm/guest/siw.sh
. "${VM_LIB%/*}/siw.sh"

export KRDMA_UVP_DIR=$VM_REPO/build/uvp_soft
program=$VM_PROGS/krdma_conform

columns=() failed=()
# conform COLUMN HOST ARGUMENT...: the checks; output in COLUMN.table
conform() {
	local column=$1 host=$2 rc=0
	shift 2
	say "$column: krdma_conform $*"
	columns+=("$column")
	on "$host" timeout -k 5 "$(patient 100)" "$program" "$@" 2>&1 | tee "$column.table" || rc=$?
	[ $rc = 0 ] && return
	failed+=("$column: status $rc; $(grep FAILED "$column.table" | sed -n 1,5p | tr '\n' ';')")
	say "$column: status $rc"
}

# one line for each check, one column for each run
table() {
	awk 'FNR == 1 { column = FILENAME; sub(/\.table$/, "", column); columns[++n] = column }
		/^[a-z][a-z0-9-]* +(ok|missing|known fault|FAILED)/ {
			if (!($1 in seen)) { seen[$1] = 1; names[++m] = $1 }
			result = $2 == "known" ? "fault" : $2
			sub(/:$/, "", result)
			results[$1, column] = result
		}
		END {
			printf "%-24s", ""
			for (i = 1; i <= n; i++) printf " %-10s", columns[i]
			print ""
			for (j = 1; j <= m; j++) {
				printf "%-24s", names[j]
				for (i = 1; i <= n; i++) {
					result = results[names[j], columns[i]]
					printf " %-10s", result == "" ? "not run" : result
				}
				print ""
			}
		}' "${columns[@]/%/.table}"
	sed -n 's/^\([a-z0-9-]*\) .*known fault: /\1: /p' "${columns[@]/%/.table}" | sort -u
}

hw_up

conform soft B "$ADDR_B"
conform soft-slow B --slow "$ADDR_B"
conform siw A "$ADDR_A"
conform rxe A $ADDR_R
# siw with another stack beside it on a slow kernel: it flushes out of order, and messages of 16 MiB
# take longer than a check waits
if [[ $(uname -r) != *-debug ]]; then
	conform siw-soft A "$ADDR_A" hostB "$ADDR_B"
	conform soft-siw B "$ADDR_B" hostA "$ADDR_A"
fi

say "an example whose private data is padded on RoCE"
examples=$VM_REPO/build/examples
start pong A "$examples/ping_pong" -l "$ADDR_R:7820"
wait_for 10 grep -q listening pong.log || fail "ping_pong does not listen"
run_on A 20 "$examples/ping_pong" "$ADDR_R:7820" 20
finish pong 20
[ "$(on A "$VM_REPO/build/tools/krdma" stat siw0 | awk '$1 == "iova_refused" { print $2 }')" -gt 0 ] ||
	fail "refused regions are not counted"

{
	echo "checks of libkrdma x providers; A-B: A connects to B"
	table
} | tee "$VM_OUT/$VM_CASE.table"
hw_down
[ ${#failed[@]} = 0 ] || fail "${#failed[@]} of ${#columns[@]} runs failed: ${failed[*]}"
counted "$(cat "${columns[@]/%/.table}" | grep -cE '^[a-z][a-z0-9-]* +(ok|missing|known fault)')" 0
