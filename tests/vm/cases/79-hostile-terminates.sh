#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: hostile peer: Terminates of every code, and malformed ones
# covers: kvp_soft/rx kvp_soft/wire kvp_soft/qp
# limit: 400
# shellcheck source=tests/vm/guest/hostile.sh
. "${VM_LIB%/*}/hostile.sh"

export hostile_limit=340
hostile_hosts
attack -g terminates
moved B terminates_sent terminates_received
