#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: a scripted peer with ordinary TCP connections opens roads by hand and attacks sockets that accept and that connect: names, changes, each violation with its end, errno and counter; silence ends, TCP goes on where nothing has changed, and nothing is left
# covers: sdp ops/road.c ops/change.c ops/pair.c tests/sdp tests/vm/progs/sdp_hostile tests/vm/progs/sdp_tcp
# limit: 900
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"
# shellcheck source=tests/vm/guest/sdp.sh
. "$VM_REPO/tests/vm/guest/sdp.sh"

rounds=$([ -n "${VM_QUICK:-}" ] && echo 50 || echo 400)
seed=${VM_SEED:-$RANDOM}

hosts_up
# a road that has failed is no reason to leave the peer alone
ops_load bad_peer_s=0
sdp_load connect_timeout_s=3 close_timeout_s=3 zcopy_thresh_soft=65536
note_resources
# the peer's host has no rule: it answers by hand
sdp_rules 9400-9401 B
say "seed $seed"
rc=0
LD_LIBRARY_PATH=$VM_REPO/build/ual timeout -k 5 "$(patient 700)" "$VM_PROGS/sdp_hostile" -s "$seed" -r "$rounds" "$ADDR_A" "$ADDR_B" > hostile.log 2>&1 || rc=$?
grep -v ': ok$' hostile.log
cat $sdp_counters
[ $rc = 0 ] || fail "sdp_hostile ended with $rc: $(grep -v ': ok$' hostile.log | head -3 | paste -sd ';')"
read -r passed _ _ _ < <(tail -1 hostile.log)
check_no_leak
# each kind of violation was met
missing=$(awk '/^fault-/ && !$2 { print $1 }' $sdp_counters)
[ -z "$missing" ] || fail "not met: $missing"
no_rules
unload krdma_sdp krdma_ops
hosts_down
counted "$passed" 0
