#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: iSER of the stock kernel: open-iscsi and LIO over krdma, file system, verified I/O, logout
# covers: kal/ib kvp_soft/memory kvp_soft/queues
# limit: 900
# shellcheck source=tests/vm/guest/storage.sh
. "${VM_LIB%/*}/storage.sh"

iqn=iqn.2026-01.krdma.test:disk
target=/sys/kernel/config/target
tpg=$target/iscsi/$iqn/tpgt_1

# LIO makes a TCP portal of each address before iSER takes it over. TCP's is in
# the namespace of who makes it, iSER's in the initial one: so the two do not
# want the same port of the host.
make_portal() {
	ip netns add portal
	ip -n portal link set lo up
	ip -n portal address add $portal/32 dev lo
	nsenter --net=/run/netns/portal mkdir "$tpg/np/$portal:3260"
	echo 1 > "$tpg/np/$portal:3260/iser"
}

target_up() {
	modprobe -a target_core_mod target_core_iblock iscsi_target_mod ib_isert
	mkdir -p $target/core/iblock_0/disk
	echo udev_path=/dev/nullb0 > $target/core/iblock_0/disk/control
	echo 1 > $target/core/iblock_0/disk/enable
	[ -d $target/iscsi ] || mkdir $target/iscsi
	mkdir -p $tpg/lun/lun_0
	ln -s $target/core/iblock_0/disk $tpg/lun/lun_0/port
	echo 0 > $tpg/attrib/authentication
	echo 0 > $tpg/attrib/demo_mode_write_protect
	echo 1 > $tpg/attrib/generate_node_acls
	echo 1 > $tpg/attrib/cache_dynamic_acls
	make_portal
	echo 1 > $tpg/enable
}

target_down() {
	local acl
	echo 0 > $tpg/enable
	for acl in "$tpg"/acls/*; do
		[ ! -d "$acl" ] || rmdir "$acl"
	done
	rm $tpg/lun/lun_0/port
	rmdir "$tpg/np/$portal:3260" $tpg/lun/lun_0 $tpg ${tpg%/*}
	rmdir $target/iscsi
	rmdir $target/core/iblock_0/disk $target/core/iblock_0
	ip netns delete portal
	modprobe -r ib_isert iscsi_target_mod target_core_iblock
}

storage_up
before=$(held)
ram_disk 192
target_up

modprobe -a sd_mod ib_iser
mkdir -p /etc/iscsi /run/lock/iscsi
echo InitiatorName=iqn.2026-01.krdma.test:guest > /etc/iscsi/initiatorname.iscsi
# in a session of its own: it ends its process group with itself
setsid iscsid -f > iscsid.log 2>&1 &
iscsid=$!
sleep 1
expect "node" timeout 30 iscsiadm -m node -o new -T $iqn -p $portal:3260 -I iser
run_storage iscsiadm -m node -T $iqn -p $portal:3260 --login
iscsiadm -m session
use_disk lio_disk
over_wire
[ "$(counter remote_invalidations)" -gt 0 ] || fail "the target invalidated nothing"
[ "$(counter local_invalidations)" -gt 0 ] || fail "no Read with Invalidate"
run_storage iscsiadm -m node -T $iqn -p $portal:3260 --logout
kill $iscsid
wait $iscsid || true
target_down
modprobe -r ib_iser
ram_disk_down
nothing_left "$before"
