#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: hostile peer: every fault of Writes, Sends, immediate data and responses, alone and in pairs
# covers: kvp_soft/rx kvp_soft/wire kvp_soft/memory
# limit: 600
# shellcheck source=tests/vm/guest/hostile.sh
. "${VM_LIB%/*}/hostile.sh"

export hostile_limit=540
hostile_hosts
# a Send without a receive is refused at once
echo 0 > /sys/module/krdma_soft/parameters/rx_wait_ms
attack -g pairs -o 'bad-[wsi]*'
attack -g pairs -o 'bad-*-response'
