#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: hostile peer: immediate data and atomic operations, and a peer without both
# covers: kvp_soft/rx kvp_soft/wire
# limit: 300
# shellcheck source=tests/vm/guest/hostile.sh
. "${VM_LIB%/*}/hostile.sh"

export hostile_limit=240
hostile_hosts
attack -g rfc7306
moved B terminates_sent terminates_received rx_access_errors rx_no_buffer
