#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: NVMe over RDMA of the stock kernel, host and target over krdma, file system, verified I/O
# limit: 900
# shellcheck source=tests/vm/guest/storage.sh
. "${VM_LIB%/*}/storage.sh"

nqn=nqn.2026-01.krdma.test:disk
nvmet=/sys/kernel/config/nvmet
subsystem=$nvmet/subsystems/$nqn

target_up() {
	modprobe -a nvmet nvmet-rdma
	mkdir $subsystem $subsystem/namespaces/1 $nvmet/ports/1
	echo 1 > $subsystem/attr_allow_any_host
	echo /dev/nullb0 > $subsystem/namespaces/1/device_path
	echo 1 > $subsystem/namespaces/1/enable
	echo rdma > $nvmet/ports/1/addr_trtype
	echo ipv4 > $nvmet/ports/1/addr_adrfam
	echo $portal > $nvmet/ports/1/addr_traddr
	echo 4420 > $nvmet/ports/1/addr_trsvcid
	ln -s $subsystem $nvmet/ports/1/subsystems/$nqn
}

target_down() {
	rm $nvmet/ports/1/subsystems/$nqn
	rmdir $nvmet/ports/1 $subsystem/namespaces/1 $subsystem
	modprobe -r nvmet-rdma nvmet
}

# what "nvme connect" writes
connect() {
	echo "transport=rdma,traddr=$portal,trsvcid=4420,nqn=$nqn,nr_io_queues=2,queue_size=32" \
		> /dev/nvme-fabrics
}

controller() { echo /sys/class/nvme-fabrics/ctl/nvme*; }

nvme_disk() {
	local disk
	for disk in /sys/block/nvme*n*; do
		[ ! -b "/dev/${disk##*/}" ] || { echo "/dev/${disk##*/}" && return; }
	done
	return 1
}

storage_up
before=$(held)
ram_disk 192
target_up
modprobe nvme-rdma
expect "connect" connect
use_disk nvme_disk
expect "disconnect" tee "$(controller)/delete_controller" <<< 1
target_down
modprobe -r nvme-rdma
ram_disk_down
nothing_left "$before"
