#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: iSER of the stock kernel: open-iscsi and LIO over krdma, file system, verified I/O, logout
# covers: kal/ib kvp_soft/memory kvp_soft/queues
# limit: 900
# shellcheck source=tests/vm/guest/iser.sh
. "${VM_LIB%/*}/iser.sh"

storage_up
before=$(held)
ram_disk 192
target_up

modprobe -a sd_mod ib_iser
initiator_up
expect "node" timeout 30 iscsiadm -m node -o new -T $iqn -p $portal:3260 -I iser
login iser
iscsiadm -m session
use_disk lio_disk
over_wire
[ "$(counter remote_invalidations)" -gt 0 ] || fail "the target invalidated nothing"
[ "$(counter local_invalidations)" -gt 0 ] || fail "no Read with Invalidate"
run_storage iscsiadm -m node -T $iqn -p $portal:3260 --logout
initiator_down
target_down
modprobe -r ib_iser
ram_disk_down
nothing_left "$before"
