#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: SRP of the stock kernel: ib_srp and LIO's ib_srpt over krdma, file system, verified I/O
# covers: kal/ib kvp_soft/memory kvp_soft/queues
# limit: 900
# shellcheck source=tests/vm/guest/storage.sh
. "${VM_LIB%/*}/storage.sh"

target=/sys/kernel/config/target
disk=$target/core/iblock_0/disk

# LIO's name of the port, the last half of its GID, is also that of the group
target_up() {
	modprobe -a target_core_mod target_core_iblock ib_srpt
	mkdir -p $disk
	echo udev_path=/dev/nullb0 > $disk/control
	echo 1 > $disk/enable
	port=$(cut -d : -f 5-8 < /sys/class/infiniband/krdma0/ports/1/gids/0)
	tpg=$target/srpt/$port/$port
	[ -d $target/srpt ] || mkdir $target/srpt
	echo 5555 > $target/srpt/discovery_auth/rdma_cm_port
	mkdir -p "$tpg/lun/lun_0" "$tpg/acls/$portal/lun_0"
	ln -s $disk "$tpg/lun/lun_0/port"
	ln -s "$tpg/lun/lun_0" "$tpg/acls/$portal/lun_0/port"
	echo 1 > "$tpg/enable"
}

target_down() {
	echo 0 > "$tpg/enable"
	rm "$tpg/acls/$portal/lun_0/port" "$tpg/lun/lun_0/port"
	rmdir "$tpg/acls/$portal/lun_0" "$tpg/acls/$portal" "$tpg/lun/lun_0" "$tpg" "${tpg%/*}"
	echo 0 > $target/srpt/discovery_auth/rdma_cm_port
	rmdir $target/srpt $disk ${disk%/*}
	modprobe -r ib_srpt target_core_iblock
}

login() {
	echo "id_ext=${port//:/},ioc_guid=${port//:/},dest=$portal:5555,src=$portal,queue_size=32" \
		> /sys/class/infiniband_srp/srp-krdma0-1/add_target
}

logout() {
	local remote
	for remote in /sys/class/srp_remote_ports/*; do
		echo 1 > "$remote/delete"
	done
}

storage_up
before=$(held)
ram_disk 192
# not with use_srq: ib_srpt then gives a cache back that it does not have, which the
# kernel complains of
target_up
modprobe -a sd_mod ib_srp
expect "login" login
use_disk lio_disk
over_wire
expect "logout" logout
target_down
modprobe -r ib_srp
ram_disk_down
nothing_left "$before"
