#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: iSER on kDAPL: open-iscsi and LIO's ib_isert: discovery, CHAP, two sessions and LUNs, verified I/O, resets, lost invalidations and a pulled cable under load, logout; no work item allocates with I/O
# covers: ulp/iser kal/kdapl kal/include/krdma/kdat.h
# limit: 900
# shellcheck source=tests/vm/guest/kiser.sh
. "${VM_LIB%/*}/kiser.sh"

# scsi_reset DISK WHAT: 1 the LUN, 4 the target
scsi_reset() {
	python3 -c "import fcntl, os, struct, sys
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x2284, struct.pack('i', int(sys.argv[2])))" "$@"
}

storage_up
noio_up
before=$(held)
# slow, so that a reset finds tasks under way
ram_disk 192 5
target_up 1
kiser_up
discover kiser kiser2
settings kiser
wrong_password kiser
log_in kiser
first=$session
wait_for 30 disk_of "$first" 1 || fail "no second LUN"

say "data, $disk"
expect "pieces with gaps" gaps "$disk"
exercise "$disk"
over_wire
registered
[ "$(counter remote_invalidations)" -gt 0 ] || fail "the target invalidated nothing"

say "two sessions, two LUNs"
settings kiser2
login kiser2
second=$(sessions | tail -1)
wait_for 30 disk_of "$second" 1 || fail "no disk of the second session"
head -c 8000000 /dev/urandom > data
for lun in 0 1; do
	dd if=data of="$(disk_of "$first" $lun)" bs=64K oflag=direct conv=fsync status=none
	cmp -n 8000000 data "$(disk_of "$second" $lun)"
	dd if=data of="$(disk_of "$second" $lun)" bs=512 count=200 oflag=direct status=none
done
run_storage iscsiadm -m session -r "$second" --logout
same "sessions" "$first" "$(sessions)"

say "resets under load"
expect "file system" timeout 60 mkfs.ext4 -q -E nodiscard "$disk"
mount -t ext4 "$disk" /mnt/krdma
load 12
for what in 1 4 1 4; do
	sleep 2
	expect "reset $what" scsi_reset "$disk" $what
done
load_ends

lost=$VM_MODULES/tests/consumers/krdma_lost.ko
if [ -e "$lost" ]; then
	say "invalidations that do not complete: the reset ends the connection before its tasks do"
	load 30
	insmod "$lost" calls=0
	log_mark
	# a reset that finds no task under way loses nothing; the module keeps one by ioctl from waiting
	for _ in {1..8}; do
		sleep 2
		echo 64 > /sys/module/krdma_lost/parameters/calls
		expect "reset" scsi_reset "$disk" 1
		left=$(cat /sys/module/krdma_lost/parameters/calls)
		echo 0 > /sys/module/krdma_lost/parameters/calls
		[ "$left" = 64 ] || break
	done
	[ "$left" -lt 64 ] || fail "no task had a region"
	log_since > expect
	has "the connection ends" "krdma_iser: an invalidation does not complete" expect
	rmmod krdma_lost
	wait_for 60 logged_in "$first" || { dmesg | tail -40; cat iscsid.log; fail "no recovery"; }
	load_ends
fi

say "the cable pulled under load"
load 20
sleep 2
ip link set lo down
wait_for 30 failed "$first" || fail "nobody has noticed"
sleep 3
ip link set lo up
wait_for 60 logged_in "$first" || { dmesg | tail -40; cat iscsid.log; fail "no recovery"; }
load_ends

say "the target's portal goes and comes back under load"
load 15
sleep 2
echo 0 > $tpg/enable
wait_for 30 failed "$first" || fail "nobody has noticed"
echo 1 > $tpg/enable
wait_for 60 logged_in "$first" || { dmesg | tail -40; cat iscsid.log; fail "no recovery"; }
load_ends
umount /mnt/krdma
expect "whole file system" timeout 120 fsck.ext4 -f -n "$disk"

log_out
noio_down
kiser_down
target_down
ram_disk_down
nothing_left "$before"
