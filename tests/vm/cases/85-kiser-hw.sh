#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: iSER on kDAPL over adopted devices, siw and rxe, and by IPv4 and IPv6: discovery, CHAP, verified I/O, logout, rmmod
# covers: ulp/iser kal/kdapl kvp_hw kal/cm/offload.c
# limit: 600
# shellcheck source=tests/vm/guest/kiser.sh
. "${VM_LIB%/*}/kiser.sh"

portal4=$portal portal6=fd77:1::1

qps() { rdma resource show qp link "$storage_rnic/1" | grep -c "type RC state RTS"; }

# sessions_by ADDRESS QPS: all of a session's life, and of the module's. The session has so many
# queue pairs of ib_core.
sessions_by() {
	portal=$1
	say "$storage_rnic by $portal"
	target_up 1
	kiser_up
	discover kiser
	settings kiser
	# ib_isert disconnects at once, and a device may drop the refusal (docs/kernel-bugs.md). iscsid
	# repeats the login then, and LIO takes 15 s for each attempt.
	[ "$LINK_TYPE" != krdma ] || wrong_password kiser
	log_in kiser
	expect "pieces with gaps" gaps "$disk"
	exercise "$disk"
	same "queue pairs" "$2" "$(qps)"
	log_out
	kiser_down
	target_down
}

# device TYPE ADDRESS...: all that on a new device of that driver
device() {
	local address before

	LINK_TYPE=$1 storage_rnic=${1}0
	shift
	storage_rnic_add
	wait_for 10 adopted || fail "$storage_rnic is not adopted"
	before=$(held)
	for address; do
		# the initiator's and the target's
		sessions_by "$address" 2
		nothing_left "$before"
	done
	rdma link delete "$storage_rnic"
}

# the soft RNIC by IPv6: 85-kiser has the rest
LINK_TYPE=krdma
storage_up
ip -6 address add $portal6/64 dev dummy0 nodad
ram_disk 192
before=$(held)
# the target's; the initiator is beside ib_core
sessions_by $portal6 1
over_wire
registered
nothing_left "$before"
rdma link delete $storage_rnic

siw_load
modprobe rdma_rxe
hw_load
noio_up
# shellcheck disable=SC2046 # words
device siw $(few $portal6 $portal4)
# shellcheck disable=SC2046 # words
device rxe $(few $portal4 $portal6)
noio_down
rmmod krdma_hw
rmmod rdma_rxe
ram_disk_down
