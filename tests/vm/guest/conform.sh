#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# What the cases share that load a conformance test as a kernel module: the runs, one for each
# RNIC, and a table of the results.

# conform_test MODULE PREFIX: of tests/consumers, and of its lines in the kernel's log
conform_module='' conform_prefix=''
conform_test() {
	conform_module=$1 conform_prefix=$2
}

conform_objects_back() { [ "$(resources "$1")" = "$conform_before" ]; }

# conform COLUMN HOST RNIC [PARAMETER=VALUE...]: all checks, of the RNIC connected with itself
columns=() failed=()
conform() {
	local column=$1 host=$2 rnic=$3 rc=0
	shift 3

	conform_before=$(resources "$rnic")
	log_mark
	on "$host" insmod "$VM_MODULES/tests/consumers/$conform_module.ko" rnic="$rnic" "$@" || rc=$?
	[ $rc != 0 ] || rmmod "$conform_module"
	log_since | sed -n "s/.*$conform_prefix: $rnic: //p" > "$column.log"
	columns+=("$column")
	say "$column: $(tail -1 "$column.log")"
	grep FAILED "$column.log" || true
	[ $rc = 0 ] || failed+=("$column: $(grep FAILED "$column.log" | sed -n 1,5p | tr '\n' ';')")
	has "the verdict of $column ($rc, $(wc -l < "$column.log") lines, the last one: $(tail -1 "$column.log"))" \
		'^[1-9][0-9]* ok, .* failed$' "$column.log"
	wait_for 10 conform_objects_back "$rnic" ||
		fail "left by $column: '$conform_before' -> '$(resources "$rnic")'"
}

# a line for each check, a column for each run
conform_table() {
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

# the table, the counts, and the verdict
conform_verdict() {
	conform_table | tee "$VM_OUT/$VM_CASE.table"
	counted "$(cat "${columns[@]/%/.log}" | grep -cE ': (ok|missing|known fault)')" \
		"$(cat "${columns[@]/%/.log}" | grep -c FAILED: || true)"
	[ ${#failed[@]} = 0 ] || fail "failed on ${failed[*]}"
}
