#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: hostile peer: wrong FPDUs, each answered by its exact Terminate (C1, C21)
# covers: kvp_soft/rx kvp_soft/wire kvp_soft/memory
# limit: 240
# shellcheck source=tests/vm/guest/hostile.sh
. "${VM_LIB%/*}/hostile.sh"

hostile_hosts
attack -g segments
moved B terminates_sent rx_crc_errors rx_protocol_errors rx_access_errors rx_no_buffer
