#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: the namespace of an RNIC is deleted, and its network device moves to another namespace
# covers: kal/core/netdev kal/core/registry kal/net kal/cm/listen
# limit: 180
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

say "namespaces deleted while RNICs are in them"
hosts_up
ip netns delete hostA
ip netns delete hostB
no_devices() { [ -z "$(rdma_devices)" ]; }
expect "the RNICs go with them" wait_for 30 no_devices

say "namespace deleted under traffic"
hosts_up
traffic ib_write_bw -D 120
ip netns delete hostB
kill_hard client server
ip netns delete hostA
expect "the RNICs go with them" wait_for 30 no_devices

say "netdev moved away: the RNIC must not stay on a netdev of another namespace unusable"
hosts_up
ip netns add hostC
ip -n hostA link set vethA netns hostC
ip -n hostC address add "$ADDR_A/24" dev vethA
ip -n hostC link set vethA up
if rdma_devices | grep -x krdma0 > /dev/null; then
	# it went along
	ip netns exec hostC rdma link delete krdma0
fi
expect "a new RNIC there" ip netns exec hostC rdma link add krdma0 type "$LINK_TYPE" netdev vethA
wait_for 10 rnic_active krdma0
serve server B 7471 rping -s -a "$ADDR_B" -p 7471 -C 10 -v
expect "rping from there" ip netns exec hostC timeout "$(patient 30)" rping -c -a "$ADDR_B" -p 7471 -C 10 -v
finish server 20

say "wildcard listeners of two namespaces on one port, before there is an RNIC in either"
hosts_down
ip netns delete hostC 2> /dev/null || true
# librdmacm wants a device
ip link add dummy0 type dummy
ip link set dummy0 up
rdma link add krdma9 type "$LINK_TYPE" netdev dummy0
net_up
for host in A B; do
	start server$host $host rping -s -p 7471 -C 10 -v
done
sleep "$(patient 2)"
for host in A B; do
	rnic_add $host
done
for host in A B; do
	expect "$host listens on its own RNIC" wait_for 10 listening $host 7471
	same "and on no other" 1 "$(on $host ss -Hltn 'sport = :7471' | wc -l)"
	wait_for 10 rnic_active "$(dev_of $host)"
done
run_on A 60 rping -c -a "$ADDR_B" -p 7471 -C 10 -v
run_on B 60 rping -c -a "$ADDR_A" -p 7471 -C 10 -v
finish serverA 20
finish serverB 20
