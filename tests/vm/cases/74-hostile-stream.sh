#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: hostile peer: data in pieces, Reads beyond the limit, wrong responses, Terminates, ends in the middle
# covers: kvp_soft/rx kvp_soft/wire kvp_soft/stream
# limit: 300
# shellcheck source=tests/vm/guest/hostile.sh
. "${VM_LIB%/*}/hostile.sh"

export hostile_limit=240
hostile_hosts
attack -g stream
moved B terminates_sent terminates_received rx_fpdus_reassembled llp_resets
