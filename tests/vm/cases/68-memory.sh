#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: verbs about memory: Reads into several elements, changed regions, zero-based, huge pages, dma-buf; windows; STags that end in use
# covers: kal/core/memory kal/core/dmabuf kal/core/pins kal/ib/verbs kvp_soft/memory uapi/uvp_soft
# limit: 600
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

hosts_up
note_resources
both_ways run_on A 280 "$VM_PROGS/krdma_memory" "$ADDR_A"
