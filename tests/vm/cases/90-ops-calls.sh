#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: accept, connect, poll and the other calls of krdma_ops beside TCP: scenes that both must see alike
# covers: ops
# limit: 500
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

no_references() { [ "$(awk '$1 == "krdma_ops" { print $3 }' /proc/modules)" = "$1" ]; }
# calls WAY [SCENE...]: without scenes, all; in a quick run those that do not wait long
calls() {
	[ $# -gt 1 ] || [ -z "${VM_QUICK:-}" ] || set -- "$1" new refused_later connected_later listener accept_ended \
		accept_order edges sigio
	on A timeout "$(patient 150)" python3 "$VM_REPO/tests/vm/progs/ops_calls.py" "$@" || fail "calls $*"
}

ip netns add hostA
on A ip link set lo up
# takes all, answers nothing
on A ip link add dark0 type dummy
on A ip address add 10.9.0.1/24 dev dark0
on A ip link set dark0 up
on A sysctl -qw net.ipv4.tcp_fastopen=3

expect "the module loads" insmod "$VM_MODULES/krdma_ops.ko"
say "TCP alone"
calls switch
wait_for 10 no_references 0 || fail "references"

say "a listener is joined by a protocol that comes later"
on A timeout "$(patient 30)" python3 "$VM_REPO/tests/vm/progs/ops_calls.py" join 259 &
joiner=$!
wait_for 10 test -e ready
expect "the protocol loads" insmod "$VM_MODULES/tests/offload/offload_loop.ko" connect_delay_ms=5
touch go
wait "$joiner"
say "with a protocol that connects"
calls switch
say "with a protocol that the server does not have"
calls client
say "with a protocol that the client does not have"
calls server

wait_for 15 rmmod offload_loop || fail "the protocol stays"

# Fallback must not show. Each attempt counts, none is saved by what is known of a peer.
parameters=/sys/module/krdma_ops/parameters
echo 0 > $parameters/bad_peer_s
echo 200 > $parameters/connect_budget_ms
expect "the protocol that fails loads" insmod "$VM_MODULES/tests/offload/offload_fail.ko" delay_ms=50
for at in connect async never; do
	say "with a protocol that fails: $at"
	echo $at > /sys/module/offload_fail/parameters/at
	calls switch wrong refused refused_later connected connected_later dark dark_timeout dark_signal \
		dark_disconnect edges_refused sigio fast_open
done
for at in bind listen accept; do
	say "with a protocol that fails: $at"
	echo $at > /sys/module/offload_fail/parameters/at
	while sleep 0.05; do echo 5 > /sys/module/offload_fail/parameters/ring; done &
	ringer=$!
	calls switch listener listener_again accept_times accept_ended accept_order accept4 edges
	kill "$ringer"
	wait "$ringer" || true
done
wait_for 15 rmmod offload_fail || fail "the protocol that fails stays"
wait_for 15 rmmod krdma_ops || fail "the switch stays"
ip netns del hostA
