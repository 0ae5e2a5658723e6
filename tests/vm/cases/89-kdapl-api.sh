#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: the conformance test of kDAPL, as a kernel consumer: krdma_soft beside TCP and through it; a table of checks
# covers: kal/kdapl tests/consumers
# limit: 600
# shellcheck source=tests/vm/guest/siw.sh
. "${VM_LIB%/*}/siw.sh"
# shellcheck source=tests/vm/guest/conform.sh
. "${VM_LIB%/*}/conform.sh"

conform_test krdma_kdat kdatc
siw_hosts_up
kdapl_load

# beside TCP and through it
conform soft B krdma1 remote="$ADDR_B"
same_host 0
conform soft-tcp B krdma1 remote="$ADDR6_B"
same_host 1
# Checks that depend on which of two transmitters is first, many times. Beside TCP, a peer sends
# its next Read while the response to its last one is still being handed over.
conform many-reads B krdma1 remote="$ADDR_B" only='"many reads"' rounds=200
conform upcalls B krdma1 remote="$ADDR_B" only='"ping-pong in upcalls"' rounds=50
conform_verdict
