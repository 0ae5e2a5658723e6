#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: iSER on kDAPL: open-iscsi and LIO's ib_isert: discovery, CHAP, two sessions and LUNs, verified I/O, resets and a pulled cable under load, logout
# covers: tests/consumers/iser kal/kdapl kal/include/krdma/kdat.h
# limit: 900
# shellcheck source=tests/vm/guest/iser.sh
. "${VM_LIB%/*}/iser.sh"

module=$VM_MODULES/tests/consumers/iser/krdma_iser.ko

# an interface of open-iscsi whose transport is the module's
interface() {
	if modprobe -qn iscsi_tcp; then
		expect "interface" iscsiadm -m iface -I "$1" -o new
		expect "transport" iscsiadm -m iface -I "$1" -o update -n iface.transport_name -v iser
	else
		# iscsiadm makes each for TCP first, which the debug kernel does not have
		mkdir -p /etc/iscsi/ifaces
		printf '%s\n' "iface.iscsi_ifacename = $1" "iface.transport_name = iser" \
			> "/etc/iscsi/ifaces/$1"
	fi
}

# setting INTERFACE NAME VALUE
setting() { expect "$2" node -I "$1" -o update -n "$2" -v "$3"; }

# settings INTERFACE: failures are noticed soon
settings() {
	setting "$1" node.session.auth.authmethod CHAP
	setting "$1" node.session.auth.username guest
	setting "$1" node.session.auth.password secret-of-guest
	setting "$1" "node.conn[0].timeo.noop_out_interval" 2
	setting "$1" "node.conn[0].timeo.noop_out_timeout" 2
}

# disk_of SESSION LUN: /dev/sdX
disk_of() {
	local disk
	disk=$(echo /sys/class/iscsi_session/session"$1"/device/target*/*:"$2"/block/sd*)
	[ -e "$disk" ] && echo "/dev/${disk##*/}"
}

# the sessions' numbers
sessions() {
	local session
	for session in /sys/class/iscsi_session/session*; do
		[ ! -e "$session" ] || echo "${session##*/session}"
	done | sort -n
}

logged_in() { [ "$(cat /sys/class/iscsi_session/session"$1"/state)" = LOGGED_IN ]; }
failed() { ! logged_in "$1"; }

# scsi_reset DISK WHAT: 1 the LUN, 4 the target
scsi_reset() {
	python3 -c "import fcntl, os, struct, sys
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x2284, struct.pack('i', int(sys.argv[2])))" "$@"
}

# load SECONDS: verified I/O in the file system on /mnt/krdma, in the background
load() {
	fio --name=load --directory=/mnt/krdma --size=24M --rw=randrw --bsrange=512-1m \
		--blockalign=512 --direct=1 --ioengine=libaio --iodepth=32 --verify=crc32c \
		--verify_fatal=1 --do_verify=1 --time_based --runtime="$1" \
		--output-format=terse > load.log 2>&1 &
	load=$!
}

load_ends() {
	wait $load && return
	cat load.log
	dmesg | tail -40
	fail "I/O under load failed"
}

storage_up
before=$(held)
ram_disk 192
target_up 1
modprobe -a sd_mod libiscsi scsi_transport_iscsi
insmod "$module"
initiator_up

say "discovery"
interface kiser
interface kiser2
# a discovery forgets the records of interfaces that it was not for
expect "discovery" timeout 60 iscsiadm -m discovery -t st -p $portal:3260 -I kiser -I kiser2
has "a record" "$portal:3260,1 $iqn" expect

say "CHAP"
settings kiser
setting kiser node.session.auth.password not-the-secret
refuse "a wrong password" timeout 60 iscsiadm -m node -T $iqn -p $portal:3260 -I kiser --login
setting kiser node.session.auth.password secret-of-guest
login kiser
first=$(sessions)
iscsiadm -m session > expect
has "the session" "^iser: \[$first\] $portal:3260,1 $iqn" expect
wait_for 30 disk_of "$first" 0 || { dmesg | tail -40; fail "no disk"; }
wait_for 30 disk_of "$first" 1 || fail "no second LUN"
disk=$(disk_of "$first" 0)

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

say "logout"
run_storage iscsiadm -m node -T $iqn -p $portal:3260 --logout
same "sessions" "" "$(sessions)"
initiator_down
expect "rmmod" rmmod krdma_iser
target_down
ram_disk_down
nothing_left "$before"
