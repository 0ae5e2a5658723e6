#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: namespace deleted below an RNIC, netdev moved to another namespace
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
kill -9 "${pid_of[client]}" "${pid_of[server]}"
wait "${pid_of[client]}" "${pid_of[server]}" || true
ip netns delete hostA
expect "the RNICs go with them" wait_for 30 no_devices

say "netdev moved away: the RNIC must not stay on a netdev of another namespace unusable"
hosts_up
ip netns add hostC
ip -n hostA link set vethA netns hostC
ip -n hostC address add "$ADDR_A/24" dev vethA
ip -n hostC link set vethA up
if rdma_devices | grep -qx krdma0; then
	# it went along
	ip netns exec hostC rdma link delete krdma0
fi
expect "a new RNIC there" ip netns exec hostC rdma link add krdma0 type "$LINK_TYPE" netdev vethA
wait_for 10 rnic_active krdma0
serve server B 7471 rping -s -a "$ADDR_B" -p 7471 -C 10 -v
expect "rping from there" ip netns exec hostC timeout "$(patient 30)" rping -c -a "$ADDR_B" -p 7471 -C 10 -v
finish server 20
