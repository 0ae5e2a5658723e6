#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: every byte compared, both directions, sizes 0 to 64 MiB
# covers: kvp_soft/tx kvp_soft/rx kvp_soft/wire kvp_soft/memory
# limit: 420
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

hosts_up
note_resources
pattern_pair ${VM_QUICK:+1048576}
check_no_leak
