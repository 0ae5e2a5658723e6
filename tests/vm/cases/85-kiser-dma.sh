#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: iSER on kDAPL over an adopted device whose addresses are bus addresses, all through bounce buffers: verified I/O, pieces with gaps
# covers: tests/interop ulp/iser kal/kdapl kvp_hw
# kernel: stock
# append: swiotlb=force
# limit: 600
SIW_BUILD=siw-dma
# shellcheck source=tests/vm/guest/kiser.sh
. "${VM_LIB%/*}/kiser.sh"

checker() { cat "/sys/kernel/debug/dma-api/$1" 2> /dev/null || echo 0; }

LINK_TYPE=siw storage_rnic=siw0
mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
siw_load
storage_up
hw_load
wait_for 10 adopted || fail "$storage_rnic is not adopted"
ram_disk 192
before=$(held)
target_up 1
kiser_up
discover kiser
settings kiser
log_in kiser
expect "pieces with gaps" gaps "$disk"
exercise "$disk"
log_out
kiser_down
target_down
nothing_left "$before"
same "errors of the checker" 0 "$(checker error_count)"
rdma link delete $storage_rnic
rmmod krdma_hw
ram_disk_down
