#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# What the cases of kernel storage protocols share. Initiator and target are
# both in the initial namespace, the only one that the kernel's know, with one RNIC.
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

# the portal's address, for the cases
# shellcheck disable=SC2034
portal=10.77.1.1
# the RNIC's name; its kind is $LINK_TYPE
storage_rnic=krdma0
# size of the files that fio verifies: siw on the debug kernel moves 100 KB/s
io_size=$([ "$VM_SLOW" = 1 ] && echo 24M || echo 4M)

# storage_up [MTU]: the RNIC in the initial namespace. What it sends is sent by TCP, in segments of
# that size, until a case says otherwise.
storage_up() {
	same_host 0
	modprobe dummy numdummies=0
	ip link set lo mtu "${1:-1500}" up
	# a kernel with the driver built in has made one
	ip link del dummy0 2> /dev/null || true
	ip link add dummy0 mtu "${1:-1500}" type dummy
	ip address add $portal/24 dev dummy0
	ip link set dummy0 up
	storage_rnic_add
	mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
}

storage_rnic_add() {
	rdma link add $storage_rnic type "$LINK_TYPE" netdev dummy0
	wait_for 10 rnic_active $storage_rnic || fail "$storage_rnic does not become active"
}

# ram_disk MIB [MILLISECONDS]: /dev/nullb0, which keeps what is written, and takes that long for each
# request
ram_disk() {
	local disk=/sys/kernel/config/nullb/nullb0
	modprobe null_blk nr_devices=0
	# that of a case that failed
	[ ! -d $disk ] || rmdir $disk
	mkdir $disk
	echo 1 > $disk/memory_backed
	echo "$1" > $disk/size
	echo 512 > $disk/blocksize
	if [ -n "${2-}" ]; then
		echo 2 > $disk/irqmode
		echo $(($2 * 1000000)) > $disk/completion_nsec
	fi
	echo 1 > $disk/power
	[ -b /dev/nullb0 ] || fail "no /dev/nullb0"
}

ram_disk_down() {
	rmdir /sys/kernel/config/nullb/nullb0
	modprobe -r null_blk
}

# counter NAME: of the RNIC
counter() { counter_of $storage_rnic "$1"; }

# over_wire: all that the RNIC has sent went through TCP
over_wire() {
	say "tx_fpdus $(counter tx_fpdus) same_host_segments $(counter same_host_segments)"
	[ "$(counter tx_fpdus)" -gt 500 ] || fail "hardly anything went over the wire"
	same "same_host_segments" 0 "$(counter same_host_segments)"
}

# random I/O in the file system on /mnt/krdma, verified
verified_io() {
	run_storage fio --name=verify --directory=/mnt/krdma --size="$io_size" --rw=randrw \
		--bsrange=512-1m --blockalign=512 --direct=1 --ioengine=libaio --iodepth=8 \
		--verify=crc32c --verify_fatal=1 --do_verify=1 --output-format=terse
}

# gaps DEVICE: direct I/O from and into pieces of memory between which others lie
gaps() {
	python3 - "$1" <<- 'EOF'
		import mmap, os, sys

		def pieces(memory):
		    """Some sectors of each page."""
		    view, pages = memoryview(memory), range(256)
		    return [view[4096 * n + 512 * (n % 3 + 1):][:512 * (n % 4 + 1)] for n in pages]

		device = os.open(sys.argv[1], os.O_RDWR | os.O_DIRECT)
		source, sink, whole = (mmap.mmap(-1, 1 << 20) for _ in range(3))
		source[:] = os.urandom(len(source))
		sent, got = pieces(source), pieces(sink)
		total = sum(map(len, sent))
		assert os.pwritev(device, sent, 512) == total
		assert os.preadv(device, got, 512) == total
		assert os.preadv(device, [memoryview(whole)[:total]], 512) == total
		assert b"".join(got) == b"".join(sent) == whole[:total]
		for piece in got:
		    piece[:] = bytes(len(piece))
		assert sink[:] == bytes(len(sink))
	EOF
}

# exercise DEVICE: a file system, random I/O that is verified, a file compared
exercise() {
	local device=$1
	expect "file system" timeout 60 mkfs.ext4 -q -E nodiscard "$device"
	mkdir -p /mnt/krdma
	mount -t ext4 "$device" /mnt/krdma
	head -c $((20000003 / VM_SLOW)) /dev/urandom > file
	cp file /mnt/krdma/file
	verified_io
	umount /mnt/krdma
	# nothing of it is in a cache any more
	echo 3 > /proc/sys/vm/drop_caches
	mount -t ext4 -o ro "$device" /mnt/krdma
	cmp file /mnt/krdma/file
	umount /mnt/krdma
}

# the disk that LIO offers
lio_disk() {
	local disk
	for disk in /sys/block/sd*; do
		grep -q LIO-ORG "$disk/device/vendor" && echo "/dev/${disk##*/}" && return
	done
	return 1
} 2> /dev/null

# use_disk FINDER: the disk that it prints, once there is one, does all of that
use_disk() {
	local disk
	wait_for 30 "$1" || { dmesg | tail -40; fail "no disk"; }
	disk=$("$1")
	say "disk $disk of $(cat /sys/block/"${disk#/dev/}"/size) sectors"
	# no driver but NVMe's wants pieces to follow each other
	[[ $disk == /dev/nvme* ]] ||
		same "boundary" 0 "$(cat /sys/block/"${disk#/dev/}"/queue/virt_boundary_mask)"
	rdma resource show qp
	expect "pieces with gaps" gaps "$disk"
	exercise "$disk"
	registered
}

run_storage() {
	say "$*"
	timeout -k 5 "${storage_limit:-300}" "$@" > client.log 2>&1 || {
		cat client.log
		dump_waiting
		rdma resource show qp
		dmesg | tail -30
		fail "'$*' failed"
	}
}

# registered: regions were registered and ended, and none of it failed
registered() {
	local name
	say "fast_registrations $(counter fast_registrations) local_invalidations" \
		"$(counter local_invalidations) remote_invalidations $(counter remote_invalidations)"
	[ "$(counter fast_registrations)" -gt 100 ] || fail "no fast registrations"
	for name in local_operation_errors rx_access_errors rx_protocol_errors terminates_sent \
		bad_work_requests cq_overflows; do
		same "$name" 0 "$(counter $name)"
	done
}

# what the RNIC has, without the CQs that ib_core's pool keeps until the device is removed
held() { resources $storage_rnic | sed 's/ cq [0-9]*//'; }
held_as() { [ "$(held)" = "$1" ]; }

# nothing_left RESOURCES: the same as held() answered before
nothing_left() { wait_for 15 held_as "$1" || fail "leaked: '$1' -> '$(held)'"; }
