#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: modules load, unload and load again, only in the right order; nothing of a case that died is left
# covers: kal/main kal/kdapl/main kvp_soft/main Kbuild Makefile tests/vm/guest/lib.sh tests/vm/guest/init
# limit: 120
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

refuse "krdma goes before krdma_soft" rmmod krdma
for _ in 1 2 3; do
	expect "unload krdma_soft" rmmod krdma_soft
	expect "unload krdma" rmmod krdma
	refuse "krdma_soft loads without krdma" insmod "$VM_MODULES/krdma_soft.ko"
	expect "load both" insmod_all
done

say "kDAPL, with RNICs that are there and that come and go"
consumer=$VM_MODULES/tests/consumers/kdapltest.ko
modprobe -q rdma_cm || true # where it is built in
refuse "a consumer loads without kDAPL" insmod "$consumer"
net_up
rnic_add A
expect "load kDAPL" insmod "$VM_MODULES/krdma_kdapl.ko"
rnic_add B
expect "load a consumer" insmod "$consumer"
refuse "kDAPL goes before its consumer" rmmod krdma_kdapl
refuse "krdma goes before kDAPL" rmmod krdma
expect "limits of an RNIC from before" on A "$VM_PROGS/kdapltest" -T L -D krdma0 -m 3
expect "limits of one from after" on B "$VM_PROGS/kdapltest" -T L -D krdma1 -m 3
expect "unload the consumer" rmmod kdapltest
expect "unload kDAPL" rmmod krdma_kdapl
hosts_down
refuse "a module loads twice" insmod "$VM_MODULES/krdma.ko"

# what init does after each case
say "what a case that died leaves"
hosts_up
ip netns add other
ip link add brOther type bridge
ip link add link brOther name brOther.7 type vlan id 7
ip link add vethOther netns other type veth peer name vethInit
ip netns exec other ip link add dummyOther type dummy
ip netns exec other rdma link add krdmaOther type krdma netdev dummyOther
rdma link add krdmaInit type krdma netdev brOther
ip address add 10.9.0.1/32 dev lo
ip rule add from 10.9.0.1 table 900 pref 900
tc qdisc add dev lo root netem delay 1ms
# not every machine has it
firewall() { ! command -v nft > /dev/null || nft "$@"; }
firewall add table inet left
insmod "$VM_MODULES/krdma_ops.ko"
insmod "$VM_MODULES/tests/offload/offload_plain.ko"
insmod "$VM_MODULES/krdma_kdapl.ko"
insmod "$consumer"
remove_left || fail "something stays"
same "links" "$(cat "$VM_START/links")" "$(guest_links)"
same "addresses" "$(cat "$VM_START/addresses")" "$(guest_addresses)"
same "rules" "$(cat "$VM_START/rules")" "$(guest_rules)"
same "namespaces" "" "$(ip netns list)"
same "firewall" "" "$(firewall list ruleset)"
! tc qdisc show dev lo | grep netem || fail "lo is slow"
expect "modules" rmmod_all
same "modules" "" "$(our_modules || true)"
expect "load both" insmod_all
dmesg | tail -20
