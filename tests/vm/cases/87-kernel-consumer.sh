#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: a kernel consumer: fast registration, immediate data, atomics, inline data, drains, SRQ, CQs, SQD, events; each misuse is refused
# covers: tests/consumers kal/include kal/ib kal/core/verbs kal/core/verbs_qp kvp_soft/queues kvp_soft/memory
# limit: 600
# shellcheck source=tests/vm/guest/storage.sh
. "${VM_LIB%/*}/storage.sh"

module=$VM_MODULES/tests/consumers/krdma_ktest.ko
messages() { dmesg --color=never | tail -n +$((lines + 1)) | grep ktest; }

# added NAME: to a counter since the consumer was loaded
declare -A at
added() { echo $(($(counter "$1") - at[$1])); }

consume() {
	local name rc=0
	for name in remote_invalidations local_operation_errors rx_access_errors; do
		at[$name]=$(counter $name)
	done
	lines=$(dmesg | wc -l)
	insmod "$module" address=$portal || rc=$?
	messages || true
	[ $rc = 0 ] || fail "insmod answered $rc"
	same "failures" 1 "$(messages | grep -c 'ktest: 0 failures')"
	say "fast_registrations $(counter fast_registrations) local_invalidations" \
		"$(counter local_invalidations) remote_invalidations $(added remote_invalidations)" \
		"local_operation_errors $(added local_operation_errors) rx_access_errors $(added rx_access_errors)"
	same "remote_invalidations" 2 "$(added remote_invalidations)"
	same "local_operation_errors" 6 "$(added local_operation_errors)"
	same "rx_access_errors" 22 "$(added rx_access_errors)"
	rmmod krdma_ktest
	nothing_left "$before"
}

storage_up
before=$(held)
went_by 0 consume
went_by 1 consume

# received data is passed to a worker, which may be preempted
inline=/sys/module/krdma_soft/parameters/rx_inline_bytes
usual=$(cat $inline)
echo 0 > $inline
went_by 0 consume
echo "$usual" > $inline
