#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: random calls on sockets of krdma_ops from threads that close under each other, in processes that are killed, while protocols come, fail and go
# covers: ops tests/offload tests/vm/progs/ops_fuzz.cpp
# limit: 240
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"

loop=$VM_MODULES/tests/offload/offload_loop.ko
failing=$VM_MODULES/tests/offload/offload_fail.ko

ip link set lo up
modprobe -q tls || true
ops_load connect_budget_ms=200 bad_peer_s=1
insmod "$loop"
seed=${OPS_SEED:-$RANDOM}
seconds=$([ -n "${VM_QUICK:-}" ] && echo 20 || echo 60)
say "seed $seed, $seconds s"
"$VM_PROGS/ops_fuzz" "$seconds" "$seed" > fuzz.log 2>&1 &
pid=$!

RANDOM=$seed
comes=0 refused=0
places=(none create bind listen offers connect async never accept)
while kill -0 $pid 2> /dev/null; do
	sleep 0.$((RANDOM % 5 + 1))
	case $((RANDOM % 7)) in
	0) insmod "$loop" connect_delay_ms=$((RANDOM % 3 * 20)) 2> /dev/null && comes=$((comes + 1)) ;;
	1) rmmod offload_loop 2> /dev/null || refused=$((refused + 1)) ;;
	2) insmod "$failing" delay_ms=$((RANDOM % 100)) 2> /dev/null && comes=$((comes + 1)) ;;
	3) rmmod offload_fail 2> /dev/null || refused=$((refused + 1)) ;;
	4) ! loaded offload_fail || fail_at "${places[RANDOM % ${#places[@]}]}" ;;
	5) ! loaded offload_fail || parameter offload_fail ring $((RANDOM % 5)) ;;
	6) ! loaded offload_loop || parameter offload_loop connect_delay_ms $((RANDOM % 3 * 30)) ;;
	esac 2> /dev/null || true
done
wait $pid || { cat fuzz.log; fail "the fuzzer ended with an error, seed $seed"; }
cat fuzz.log
say "protocols came $comes times, $refused times one did not go"
has "calls" '^socket [0-9]+' fuzz.log

all_gone
for module in offload_loop offload_fail krdma_ops; do
	! loaded $module || unload $module
done
counted 1 0
