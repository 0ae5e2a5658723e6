#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: DMA mappings of kernel consumers: the conformance tests of providers and of kDAPL, kdapltest and SDP over an adopted device whose addresses are bus addresses, all through bounce buffers
# covers: tests/interop kal/kdapl kvp_hw sdp/ot/kdapl_pool sdp/ot/kdapl_post
# append: swiotlb=force
# limit: 600
SIW_BUILD=siw-dma
# shellcheck source=tests/vm/guest/siw.sh
. "${VM_LIB%/*}/siw.sh"
# shellcheck source=tests/vm/guest/conform.sh
. "${VM_LIB%/*}/conform.sh"
# shellcheck source=tests/vm/guest/kdapltest.sh
. "${VM_LIB%/*}/kdapltest.sh"
# slots of the bounce buffers that are in use, if the kernel tells
bounced() { cat /sys/kernel/debug/swiotlb/io_tlb_used 2> /dev/null || echo 0; }
checker() { cat "/sys/kernel/debug/dma-api/$1" 2> /dev/null || echo 0; }
bounced_back() { [ "$(bounced)" = "$bounced_before" ]; }

# nothing stays mapped, and the checker, where there is one, has found nothing
unmapped() {
	wait_for 10 bounced_back || fail "$1: $(bounced) slots are in use, $bounced_before were before"
	same "errors of the checker after $1" 0 "$(checker error_count)"
}

dmesg -n 7
export LD_LIBRARY_PATH=$VM_REPO/build/ual
mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
hw_siw_hosts_up
hw_load
wait_for 10 adopted siw0 || fail "siw0 is not adopted"
bounced_before=$(bounced)

conform_test krdma_conform kconf
conform siw A siw0 local="$ADDR_A" remote="$ADDR_A"
unmapped "the conformance test of providers"
kdapl_load
conform_test krdma_kdat kdatc
conform kdapl A siw0 remote="$ADDR_A"
unmapped "the conformance test of kDAPL"
conform_test ksdp_ot ksdp_ot
conform sdp A siw0 remote="$ADDR_A"
unmapped "the conformance test of SDP's transport"

kdt_load
kdt_serve A siw0
kdt_mixes B krdma1 "$ADDR_A" 1 1 10
kdt_mixes B krdma1 "$ADDR_A" 2 3 3
kdt_served 0
rmmod kdapltest
unmapped kdapltest

conform_verdict

# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"
# shellcheck source=tests/vm/guest/sdp_zcopy.sh
. "$VM_REPO/tests/vm/guest/sdp_zcopy.sh"

say "SDP"
ops_load alias=0 bad_peer_s=0
expect "SDP loads" insmod "$VM_MODULES/krdma_sdp.ko" zcopy_thresh_soft=65536 zcopy_thresh_adopted=65536
pinned_before=$(pages_pinned)
server_host=A client_host=B server_address=$ADDR_A
one_way 2000000
both_ways 2000000
parameter krdma_sdp zcopy_write 1
asked 5 1000000
sdp_ends
rmmod krdma_hw
unmapped SDP
