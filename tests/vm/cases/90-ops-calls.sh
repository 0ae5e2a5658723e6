#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: accept, connect, poll and the other calls of marked sockets beside TCP's: scenes that both must see alike; random calls side by side
# covers: ops tests/vm/progs/ops_calls.py
# limit: 500
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"

export VM_SLOW
# calls WAY [SCENE...]: without scenes, all; in a quick run those that do not wait long
calls() {
	[ $# -gt 1 ] || [ -z "${VM_QUICK:-}" ] || set -- "$1" new refused_later connected_later listener accept_ended \
		accept_order edges sigio
	timeout "$(patient 150)" python3 "$VM_REPO/tests/vm/progs/ops_calls.py" "$@"
}

ip link set lo up
# takes all, answers nothing
ip link add dark0 type dummy
ip address add 10.9.0.1/24 dev dark0
ip link set dark0 up
sysctl -qw net.ipv4.tcp_fastopen=3

ops_load bad_peer_s=0
mark_some
krdma offload add connect 10.9.0.3 use any
attempt "marked" by_road calls marked
# a family of the switch, which no rule marks
attempt "the family" calls family
unmark
krdma offload add connect 127.0.0.2 use any
attempt "only the client is marked" by_tcp calls marked
unmark
krdma offload add listen 127.0.0.2 use any
attempt "only the server is marked" by_tcp calls marked
unmark
all_gone
# the same calls by chance, one socket of the family beside one of TCP
# random SEED ROUNDS
random() { timeout "$(patient 300)" "$VM_PROGS/sdp_random" -w "$VM_SLOW" -s "$1" -r "$2" $OFFLOAD 0 127.0.0.1; }
attempt "random calls" random "${OPS_SEED:-$RANDOM}" "$(either 40 200)"
# this has found something
attempt "the same random calls" random 27550 1
all_gone

say "opening takes time"
plain_load delay_ms=5
mark_some plain
attempt "a road that opens later" by_road calls marked
all_gone
unload offload_plain

# A road that fails must not show. Each attempt counts, none is saved by what is known of a peer.
fail_load delay_ms=50
unmark
mark_some fail
for at in open async never; do
	fail_at $at
	attempt "a road that fails: $at" by_tcp calls marked refused refused_later connected connected_later listener \
		accept_order accept4 edges edges_refused sigio fast_open
done
all_gone
unload offload_fail krdma_ops
ip link del dark0
attempts_verdict
