#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: sockets of the kernel over the switch, for protocols that serve them and that do not; a protocol that wants the first hop of the route
# covers: ops tests/offload
# limit: 120
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"

# capabilities of a protocol
RDMA=2 KERNEL_CLIENTS=4 FIRST_HOP=8 SELF_ROUTING=1

kern() { insmod "$VM_MODULES/tests/offload/offload_kern.ko" "$@" && rmmod offload_kern; }

ip link set lo up
expect "TCP" kern
ops_load bad_peer_s=0
expect "through the switch" kern family=$OFFLOAD
loop_load
expect "a protocol that does not serve the kernel" kern family=$OFFLOAD winner=$TCP
expect "the wildcard's number" kern protocol=$WILDCARD winner=$TCP
all_gone
unload offload_loop
loop_load caps=$((SELF_ROUTING | KERNEL_CLIENTS))
rises 1 offloaded expect "a protocol that serves it" kern family=$OFFLOAD winner=$LOOP
expect "the wildcard's number" kern protocol=$WILDCARD winner=$LOOP
expect "the protocol alone" kern family=$OFFLOAD protocol=$LOOP winner=$LOOP
all_gone
unload offload_loop

say "the first hop of the route"
loop_load caps=$((RDMA | FIRST_HOP | KERNEL_CLIENTS))
same "no connection yet" "" "$(cat /sys/module/offload_loop/parameters/first_hop)"
expect "by the loopback device" kern family=$OFFLOAD winner=$LOOP
same "first hop and device" "127.0.0.1 1" "$(cat /sys/module/offload_loop/parameters/first_hop)"
all_gone

unload offload_loop krdma_ops
