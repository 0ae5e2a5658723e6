#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: iSER on kDAPL: the RNIC is removed under load: I/O continues when it is back, or fails when it stays away; logout and rmmod without it
# covers: ulp/iser kal/kdapl kal/core/registry kvp_hw
# limit: 600
# shellcheck source=tests/vm/guest/kiser.sh
. "${VM_LIB%/*}/kiser.sh"

absent() { ! adopted; }

# What takes the RNIC away, and what brings it back. ib_isert forgets its listener on a device that has
# gone, so the target's portal is made again.
link_goes() { expect "link delete" timeout "$(patient 60)" rdma link delete $storage_rnic; }
link_returns() {
	storage_rnic_add
	portal_down
	portal_up
}
module_goes() { expect "rmmod" timeout "$(patient 60)" rmmod krdma_hw; }
module_returns() { hw_load; }
adoption_goes() { expect "release" timeout "$(patient 60)" "$krdma" adopt -r $storage_rnic; }
adoption_returns() { expect "adopt" "$krdma" adopt $storage_rnic; }

# gone WHAT: it is removed, and the initiator has noticed
gone() {
	"$1_goes"
	wait_for 10 absent || fail "the RNIC is still there"
	wait_for 30 failed "$session" || fail "nobody has noticed"
}

# session_up: with a file system of its own
session_up() {
	target_up 1
	kiser_up
	discover kiser
	settings kiser
	log_in kiser
	expect "file system" timeout "$(patient 60)" mkfs.ext4 -q -E nodiscard "$disk"
	mkdir -p /mnt/krdma
}

# comes_back WHAT: it is removed and made again under load, of which nothing is lost
comes_back() {
	say "$storage_rnic: the $1 goes and comes back under load"
	mount -t ext4 "$disk" /mnt/krdma
	load 15
	sleep 2
	gone "$1"
	sleep 3
	"$1_returns"
	wait_for 90 logged_in "$session" || { dmesg | tail -40; cat iscsid.log; fail "no recovery"; }
	load_ends
	umount /mnt/krdma
	expect "whole file system" timeout "$(patient 120)" fsck.ext4 -f -n "$disk"
}

load_ended() { ! kill -0 $load; }

# stays_away WHAT: it is removed under load and not made again: the I/O fails, and all of the
# initiator ends without it
stays_away() {
	say "$storage_rnic: the $1 goes under load and stays away"
	echo 5 > /sys/class/iscsi_session/session"$session"/recovery_tmo
	fio --name=load --filename="$disk" --rw=randrw --bs=64k --direct=1 --ioengine=libaio --iodepth=32 \
		--time_based --runtime=600 --output-format=terse > load.log 2>&1 &
	load=$!
	sleep 2
	gone "$1"
	wait_for 60 load_ended || { dump_waiting; fail "the I/O hangs"; }
	! wait $load || fail "the I/O did not fail"
	log_out
	kiser_down
	target_down
}

LINK_TYPE=krdma
storage_up
ram_disk 192
session_up
comes_back link
stays_away link

siw_load
LINK_TYPE=siw storage_rnic=siw0
storage_rnic_add
before=$(held)
hw_load
wait_for 10 adopted || fail "siw0 is not adopted"
session_up
comes_back module
comes_back adoption
stays_away module
nothing_left "$before"
rdma link delete $storage_rnic

modprobe rdma_rxe
LINK_TYPE=rxe storage_rnic=rxe0
storage_rnic_add
hw_load
wait_for 10 adopted || fail "rxe0 is not adopted"
session_up
comes_back link
stays_away link
rmmod krdma_hw
rmmod rdma_rxe
ram_disk_down
