#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: a scripted peer that speaks SDP by hand attacks sockets that accept and that connect: each violation has its end, errno and counter, silence ends, and nothing is left
# covers: sdp tests/sdp tests/vm/progs/sdp_hostile
# limit: 600
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"
# shellcheck source=tests/vm/guest/sdp.sh
. "$VM_REPO/tests/vm/guest/sdp.sh"

rounds=$([ -n "${VM_QUICK:-}" ] && echo 50 || echo 400)
seed=${VM_SEED:-$RANDOM}

hosts_up
ops_load addresses=1
sdp_load connect_timeout_s=3 close_timeout_s=3 zcopy_thresh_soft=65536
note_resources
say "seed $seed"
rc=0
LD_LIBRARY_PATH=$VM_REPO/build/ual timeout -k 5 "$(patient 400)" "$VM_PROGS/sdp_hostile" -s "$seed" -r "$rounds" "$ADDR_A" "$ADDR_B" > hostile.log 2>&1 || rc=$?
grep -v ': ok$' hostile.log
cat $sdp_counters
[ $rc = 0 ] || fail "sdp_hostile ended with $rc"
read -r passed _ _ _ < <(tail -1 hostile.log)
check_no_leak
# each kind of violation was met
missing=$(awk '/^fault-/ && !$2 { print $1 }' $sdp_counters)
[ -z "$missing" ] || fail "not met: $missing"
unload krdma_sdp krdma_ops
hosts_down
counted "$passed" 0
