#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: hostile peer: the victim's segments, completions and events, markers that it asks for, CRCs that it does not ask for
# covers: kvp_soft/tx kvp_soft/rx kvp_soft/wire
# limit: 400
# shellcheck source=tests/vm/guest/hostile.sh
. "${VM_LIB%/*}/hostile.sh"

export hostile_limit=340
hostile_hosts
attack -g delivery
echo 1 > $parameters/mpa_markers
attack -g markers
echo 0 > $parameters/mpa_markers
echo 0 > $parameters/mpa_crc
attack -g nocrc
moved B terminates_sent terminates_received rx_crc_errors rx_protocol_errors
