#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: compared transfers over connections that change their road: in both directions at once, at each byte, with all ways to send and receive; scenes beside TCP; over the road of the host and over one that opens when the test says so, with delay and loss
# covers: ops tests/offload tests/vm/progs/ops_change.cpp
# limit: 600
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"

change() { timeout "$(patient 250)" "$VM_PROGS/ops_change" -w "$VM_SLOW" -s "$seed" "$@"; }
seed=${OPS_SEED:-$RANDOM}
rounds=$(either 40 250)

ip link set lo up
say "seed $seed"
checks "TCP" change -r 10 $UNMARKED $UNMARKED
ops_load
mark_some

checks "the road of the host" by_road change -r "$rounds" -b 20 $MARKED $UNMARKED
checks "IPv6" change -r $((rounds / 4)) ::1 $UNMARKED
checks "mapped addresses" by_road change -r $((rounds / 4)) ::ffff:$MARKED
checks "the family" change -f $OFFLOAD -r $((rounds / 4)) $UNMARKED
checks "a static program" by_road timeout "$(patient 250)" "$VM_PROGS/ops_static" -w "$VM_SLOW" -s "$seed" -r 10 $MARKED

say "a network with delay and loss: the ends find each other late"
tc qdisc add dev lo root netem delay 3ms 2ms loss 2%
checks "the road of the host" by_road change -r $((rounds / 4)) $MARKED
tc qdisc del dev lo root
all_gone

unmark
plain_load hold=1
mark_some plain
checks "a road that opens at each byte" by_road change -x $plain_road -b "$(either 60 300)" $MARKED
checks "... and at any byte, of any end first" by_road change -x $plain_road -r "$rounds" $MARKED $UNMARKED
tc qdisc add dev lo root netem delay 3ms 2ms loss 2%
checks "... with delay and loss" by_road change -x $plain_road -r $((rounds / 4)) $MARKED
tc qdisc del dev lo root
parameter offload_plain hold 0
parameter offload_plain delay_ms 5
parameter offload_plain buffer 3000
checks "a small buffer, and a moment's delay" by_road change -r $((rounds / 4)) $MARKED
checks "... and a reader who wants more than it holds" by_road change $MARKED $UNMARKED low_water low_water_full
say "$(cat $plain_road/opened) connections were opened"
all_gone
unload offload_plain krdma_ops
attempts_verdict
