#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: the conformance test of providers, as a kernel consumer: krdma_soft, siw and rxe by krdma_hw; a table of checks and RNICs
# covers: tests/consumers/kconf kal/include kal/core/verbs kal/core/verbs_qp kal/cm kvp_hw kvp_soft
# limit: 300
# shellcheck source=tests/vm/guest/siw.sh
. "${VM_LIB%/*}/siw.sh"

module=$VM_MODULES/tests/consumers/krdma_conform.ko
krdma=$VM_REPO/build/tools/krdma
export LD_LIBRARY_PATH=$VM_REPO/build/ual

adopted() { on A "$krdma" list | grep -qw "$1"; }
objects_back() { [ "$(resources "$1")" = "$before" ]; }

# messages RNIC: what the consumer said of it
messages() { dmesg --color=never | sed -n "s/.*kconf: $1: //p"; }

# conform HOST RNIC ADDRESS: all checks, of the RNIC connected with itself
failed=()
conform() {
	local rc=0

	before=$(resources "$2")
	on "$1" insmod "$module" rnic="$2" local="$3" remote="$3" || rc=$?
	messages "$2" > "$2.log"
	[ $rc != 0 ] || rmmod krdma_conform
	say "$2: $(tail -1 "$2.log")"
	[ $rc = 0 ] || failed+=("$2")
	wait_for 10 objects_back "$2" || fail "left by $2: '$before' -> '$(resources "$2")'"
}

# table RNIC...: a line for each check, a column for each RNIC
table() {
	local dev

	for dev; do
		sed '$d' "$dev.log" | sed "s/^/$dev: /"
	done | awk -v rnics="$*" -F': ' '
		!($2 in known) { known[$2]; check[++checks] = $2 }
		{ word[$1, $2] = $3 }
		END {
			n = split(rnics, rnic, " ")
			printf "%-36s", "check"
			for (i = 1; i <= n; i++) printf "%-14s", rnic[i]
			for (c = 1; c <= checks; c++) {
				printf "\n%-36s", check[c]
				for (i = 1; i <= n; i++) printf "%-14s", word[rnic[i], check[c]]
			}
			print ""
		}'
	grep -H 'known fault\|FAILED' "${@/%/.log}" || true
}

siw_hosts_up
modprobe rdma_rxe
ip link add dummyR type dummy
ip link set dummyR up
ip address add 10.78.0.1/24 dev dummyR
rdma link add rxe0 type rxe netdev dummyR
insmod "$VM_MODULES/krdma_hw.ko"
for dev in siw0 rxe0; do
	wait_for 10 adopted $dev || fail "$dev is not adopted"
done

conform B krdma1 "$ADDR_B"
conform A siw0 "$ADDR_A"
conform A rxe0 10.78.0.1
table krdma1 siw0 rxe0
tests=$(cat ./*.log | grep -cE ': (ok|missing|known fault)')
counted "$tests" "$(cat ./*.log | grep -c 'FAILED')"
[ ${#failed[@]} = 0 ] || fail "failed on ${failed[*]}"
rmmod krdma_hw
rdma link delete rxe0
rmmod rdma_rxe
