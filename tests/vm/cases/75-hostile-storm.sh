#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: hostile peer: half-open connections and storms leave the listener alive (C4, C5)
# limit: 300
# shellcheck source=tests/vm/guest/hostile.sh
. "${VM_LIB%/*}/hostile.sh"

export hostile_limit=240
hostile_hosts
attack -g storm
moved B conn_passive conn_timeout listen_overflow
