#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: the conformance test of providers, as a kernel consumer: krdma_soft, siw and rxe by krdma_hw; a table of checks and RNICs
# covers: tests/consumers kal/include kal/core/verbs kal/core/verbs_qp kal/cm kvp_hw kvp_soft
# limit: 300
# shellcheck source=tests/vm/guest/siw.sh
. "${VM_LIB%/*}/siw.sh"
# shellcheck source=tests/vm/guest/conform.sh
. "${VM_LIB%/*}/conform.sh"

conform_test krdma_conform kconf
hw_up

# beside TCP and through it
conform soft B krdma1 local="$ADDR_B" remote="$ADDR_B"
same_host 0
conform soft-tcp B krdma1 local="$ADDR6_B" remote="$ADDR6_B"
same_host 1
conform siw A siw0 local="$ADDR_A" remote="$ADDR_A"
conform siw-v6 A siw0 local="$ADDR6_A" remote="$ADDR6_A"
conform rxe A rxe0 local=$ADDR_R remote=$ADDR_R
conform rxe-v6 A rxe0 local=$ADDR6_R remote=$ADDR6_R
conform_verdict
hw_down
