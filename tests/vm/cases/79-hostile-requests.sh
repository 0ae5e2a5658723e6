#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: hostile peer: every fault of Read and Atomic Requests, alone and in pairs
# covers: kvp_soft/rx kvp_soft/wire kvp_soft/memory
# limit: 600
# shellcheck source=tests/vm/guest/hostile.sh
. "${VM_LIB%/*}/hostile.sh"

export hostile_limit=540
hostile_hosts
attack -g pairs -o 'bad-*-request'
