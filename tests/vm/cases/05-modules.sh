#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: modules load, unload and load again, only in the right order
# covers: kal/main kvp_soft/main Kbuild Makefile
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
refuse "a module loads twice" insmod "$VM_MODULES/krdma.ko"
dmesg | tail -20
