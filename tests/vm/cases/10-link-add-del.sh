#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: rdma link add and del: right and wrong arguments, many RNICs
# covers: kal/core/registry kal/core/netdev kal/ib/device kvp_soft/main
# limit: 180
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

net_up

say "the plain way"
expect "add" rnic_add A
expect "it becomes active" wait_for 10 rnic_active krdma0
same "devices" krdma0 "$(rdma_devices)"

say "what must be refused"
refuse "a second RNIC on one netdev" on A rdma link add krdma9 type "$LINK_TYPE" netdev vethA
refuse "a name that is taken" on B rdma link add krdma0 type "$LINK_TYPE" netdev vethB
refuse "a netdev that is not there" on A rdma link add krdma8 type "$LINK_TYPE" netdev nothere
refuse "a netdev of another namespace" rdma link add krdma8 type "$LINK_TYPE" netdev vethA
refuse "a type that is not there" on B rdma link add krdma8 type nosuchtype netdev vethB
refuse "a name that is too long" on B rdma link add "$(printf 'k%.0s' {1..80})" \
	type "$LINK_TYPE" netdev vethB
refuse "an empty name" on B rdma link add "" type "$LINK_TYPE" netdev vethB
refuse "a name that is a path" on B rdma link add a/b type "$LINK_TYPE" netdev vethB
refuse "deleting what is not there" on A rdma link delete krdma7
same "devices after the refusals" krdma0 "$(rdma_devices)"

say "delete, and again"
expect "delete" on A rdma link delete krdma0
same "devices" "" "$(rdma_devices)"
refuse "deleting twice" on A rdma link delete krdma0
for _ in {1..10}; do
	expect "add" rnic_add A
	expect "delete at once" on A rdma link delete krdma0
done

say "many, each on its own netdev"
for i in {1..24}; do
	ip link add dummy"$i" type dummy
	ip address add 10.78."$i".1/24 dev dummy"$i"
	ip link set dummy"$i" up
	expect "add krdma$i" rdma link add krdma"$i" type "$LINK_TYPE" netdev dummy"$i"
done
same "number of devices" 24 "$(rdma_devices | wc -l)"
ibv_devices > devices
same "number that ibv_devices shows" 24 "$(grep -c krdma devices)"
for i in {24..1}; do
	expect "delete krdma$i" rdma link delete krdma"$i"
	ip link delete dummy"$i"
done
same "devices at the end" "" "$(rdma_devices)"

say "deleting does not wait for a peer that says nothing"
expect "add" rnic_add A
expect "it becomes active" wait_for 10 rnic_active krdma0
serve mute B 7471 python3 -c 'import socket, time; s = socket.create_server(("", 7471)); time.sleep(1000)'
start client A rping -c -a "$ADDR_B" -p 7471 -C 1
connected() { [ -n "$(on A ss -Htn state established dport = :7471)" ]; }
expect "a connection begins" wait_for 10 connected
begin=$SECONDS
expect "delete" on A timeout "$(patient 60)" rdma link delete krdma0
took=$((SECONDS - begin))
[ $took -lt "$(patient 5)" ] || fail "it took $took s"
finish_any client 20
kill_hard mute
