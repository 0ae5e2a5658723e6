#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: hostile peer: right and wrong MPA Requests, whole and in pieces
# covers: kal/cm/startup kal/cm/mpa kal/cm/listen
# limit: 240
# shellcheck source=tests/vm/guest/hostile.sh
. "${VM_LIB%/*}/hostile.sh"

hostile_hosts
attack -g startup
moved B conn_passive conn_established conn_rejected conn_timeout mpa_malformed mpa_early_data \
	rx_crc_errors
