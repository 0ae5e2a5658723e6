#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: NVMe over RDMA of the stock kernel, host and target: file system, verified I/O; shared receive queues, adaptive moderation
# covers: kal/ib kvp_soft/memory kvp_soft/queues
# limit: 900
# shellcheck source=tests/vm/guest/storage.sh
. "${VM_LIB%/*}/storage.sh"

nqn=nqn.2026-01.krdma.test:disk
nvmet=/sys/kernel/config/nvmet
subsystem=$nvmet/subsystems/$nqn

# target_up [OPTION...]: of the module
target_up() {
	modprobe nvmet
	modprobe nvmet-rdma "$@"
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
over_wire
expect "disconnect" tee "$(controller)/delete_controller" <<< 1
target_down

say "a target with shared receive queues; moderation by ib_core's library; past TCP"
same_host 1
# those of the RNIC so far are in ib_core's pool, and stay what they are
rdma link delete krdma0
rdma link add krdma0 type "$LINK_TYPE" netdev dummy0
wait_for 10 rnic_active krdma0 || fail "krdma0 does not become active"
expect "adaptive moderation" rdma dev set krdma0 adaptive-moderation on
target_up use_srq=Y
expect "connect" connect
wait_for 30 nvme_disk || fail "no disk"
rdma resource show srq > srqs
has "a queue of the target" 'krdma0' srqs
rdma -d resource show cq > cqs
has "a queue of adaptive moderation" 'adaptive-moderation on' cqs
disk=$(nvme_disk)
head -c 8000000 /dev/urandom > file
for _ in 1 2 3; do
	dd if=file of="$disk" bs=64K oflag=direct conv=fsync status=none
	echo 3 > /proc/sys/vm/drop_caches
	cmp -n 8000000 file "$disk"
done
# of this RNIC only a few were needed
[ "$(counter fast_registrations)" -gt 10 ] || fail "no fast registrations"
same "cq_overflows" 0 "$(counter cq_overflows)"
[ "$(counter same_host_bytes)" -gt 48000000 ] || fail "hardly anything went past TCP"
# a drain that misses the event of the last work request waits a minute for it
begin=$SECONDS
expect "disconnect" tee "$(controller)/delete_controller" <<< 1
target_down
[ $((SECONDS - begin)) -lt "$(patient 40)" ] || fail "the target took $((SECONDS - begin)) s to go"
expect "no adaptive moderation" rdma dev set krdma0 adaptive-moderation off
ram_disk_down
nothing_left "$before"

say "an RNIC that goes does not wait for a target that says nothing"
python3 -c "import socket, time; s = socket.create_server(('$portal', 4421)); time.sleep(1000)" &
mute=$!
heard() { [ -n "$(ss -Hltn 'sport = :4421')" ]; }
wait_for 20 heard || fail "nobody listens"
# not NVMe's host: of a connection that fails it gives the id back before its CQ, and then
# ib_core may find that in its pool when the RNIC is removed
rping -c -a "$portal" -p 4421 -C 1 &
host=$!
reached() { [ -n "$(ss -Htn state established 'dport = :4421')" ]; }
wait_for 20 reached || fail "no attempt to connect"
begin=$SECONDS
expect "delete the RNIC" timeout "$(patient 100)" rdma link delete krdma0
took=$((SECONDS - begin))
! wait $host || fail "connected to nobody"
kill -9 $mute
wait $mute || true
[ $took -lt "$(patient 6)" ] || fail "it took $took s"
modprobe -r nvme-rdma
