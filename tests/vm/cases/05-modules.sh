#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: modules load, unload and load again, only in the right order
# covers: kal/main kdapl/main kvp_soft/main Kbuild Makefile
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
dmesg | tail -20
