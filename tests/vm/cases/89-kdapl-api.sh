#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: the conformance test of kDAPL, as a kernel consumer: krdma_soft beside TCP and through it; a table of checks
# covers: kal/kdapl tests/consumers
# limit: 600
# shellcheck source=tests/vm/guest/siw.sh
. "${VM_LIB%/*}/siw.sh"

module=$VM_MODULES/tests/consumers/krdma_kdat.ko

objects_back() { [ "$(resources "$1")" = "$before" ]; }

# conform COLUMN HOST RNIC ADDRESS: all checks, of the RNIC connected with itself
columns=() failed=()
conform() {
	local lines rc=0

	before=$(resources "$3")
	lines=$(dmesg | wc -l)
	on "$2" insmod "$module" rnic="$3" remote="$4" || rc=$?
	[ $rc != 0 ] || rmmod krdma_kdat
	dmesg --color=never | tail -n +$((lines + 1)) | sed -n "s/.*kdatc: $3: //p" > "$1.log"
	columns+=("$1")
	say "$1: $(tail -1 "$1.log")"
	grep FAILED "$1.log" || true
	[ $rc = 0 ] || failed+=("$1")
	has "the verdict of $1" ' ok, .* failed$' "$1.log"
	wait_for 10 objects_back "$3" || fail "left by $1: '$before' -> '$(resources "$3")'"
}

# a line for each check, a column for each run
table() {
	local column

	for column in "${columns[@]}"; do
		sed "\$d; s/^/$column: /" "$column.log"
	done | awk -v columns="${columns[*]}" -F': ' '
		!($2 in known) { known[$2]; check[++checks] = $2 }
		{ word[$1, $2] = $3 }
		END {
			n = split(columns, column, " ")
			printf "%-34s", "check"
			for (i = 1; i <= n; i++) printf "%-13s", column[i]
			for (c = 1; c <= checks; c++) {
				printf "\n%-34s", check[c]
				for (i = 1; i <= n; i++) printf "%-13s", word[column[i], check[c]]
			}
			print ""
		}'
	grep -H 'known fault:\|FAILED:' "${columns[@]/%/.log}" || true
}

siw_hosts_up

# beside TCP and through it
conform soft B krdma1 "$ADDR_B"
same_host 0
conform soft-tcp B krdma1 "$ADDR6_B"
same_host 1
table | tee "$VM_OUT/$VM_CASE.table"
counted "$(cat "${columns[@]/%/.log}" | grep -cE ': (ok|missing|known fault)')" \
	"$(cat "${columns[@]/%/.log}" | grep -c FAILED: || true)"
[ ${#failed[@]} = 0 ] || fail "failed on ${failed[*]}"
