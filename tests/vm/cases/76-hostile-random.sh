#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: hostile peer: thousands of random mutations
# covers: kvp_soft/rx kvp_soft/wire kal/cm/startup
# limit: 300
# shellcheck source=tests/vm/guest/hostile.sh
. "${VM_LIB%/*}/hostile.sh"

export hostile_limit=240
hostile_hosts
attack -g random --rounds 700 --seconds 80 --seed 1
moved B terminates_sent mpa_malformed rx_crc_errors rx_protocol_errors
