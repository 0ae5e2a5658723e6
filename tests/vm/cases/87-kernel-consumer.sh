#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: a kernel consumer: fast registration, immediate data, atomics, inline data, drains, SRQ, CQs, SQD, events; each misuse refused
# limit: 600
# shellcheck source=tests/vm/guest/storage.sh
. "${VM_LIB%/*}/storage.sh"

module=$VM_MODULES/tests/consumers/krdma_ktest.ko
storage_up
before=$(held)
lines=$(dmesg | wc -l)
messages() { dmesg --color=never | tail -n +$((lines + 1)) | grep ktest; }
rc=0
insmod "$module" address=$portal || rc=$?
messages || true
[ $rc = 0 ] || fail "insmod answered $rc"
same "failures" 1 "$(messages | grep -c 'ktest: 0 failures')"
say "fast_registrations $(counter fast_registrations) local_invalidations" \
	"$(counter local_invalidations) remote_invalidations $(counter remote_invalidations)" \
	"local_operation_errors $(counter local_operation_errors) rx_access_errors $(counter rx_access_errors)"
same "remote_invalidations" 2 "$(counter remote_invalidations)"
same "local_operation_errors" 7 "$(counter local_operation_errors)"
same "rx_access_errors" 19 "$(counter rx_access_errors)"
rmmod krdma_ktest
nothing_left "$before"
