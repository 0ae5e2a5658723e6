#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: hostile peer: half-open connections and storms leave the listener alive (C4, C5)
# covers: kal/cm/listen kal/cm/endpoint kal/cm/ep_table kal/cm/ep_calls kal/cm/ep_view kal/cm/lanes kal/cm/startup
# limit: 300
# shellcheck source=tests/vm/guest/hostile.sh
. "${VM_LIB%/*}/hostile.sh"

export hostile_limit=240
hostile_hosts
attack -g storm
moved B conn_passive conn_timeout

# how many are open at once before the first of them is cut off depends on the machine;
# so many, in such a time, are on any
say "a limit that is reached"
echo 16 > $parameters/max_pending
start_ms=6000
echo $start_ms > $parameters/mpa_request_timeout_ms
before=$(counter B listen_evicted)
attack -g storm -o C4-more-than-allowed
[ "$(counter B listen_evicted)" -gt "$before" ] || fail "counter listen_evicted does not move"
