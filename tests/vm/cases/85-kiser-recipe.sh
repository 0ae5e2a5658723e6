#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: iSER on kDAPL by the lines of docs/iser.md: an RNIC, LIO's target with iSER, the initiator; I/O, logout
# covers: ulp/iser docs/iser.md
# limit: 180
# kernel: stock
# shellcheck source=tests/vm/guest/kiser.sh
. "${VM_LIB%/*}/kiser.sh"

# recipe NUMBER: block of lines of the document, each of which has to work
recipe() {
	say "recipe $1"
	awk -v wanted="$1" '/^```sh$/ { inside = ++block == wanted; next } /^```$/ { inside = 0 } inside' \
		"$VM_REPO/docs/iser.md" > "recipe$1"
	[ -s "recipe$1" ] || fail "docs/iser.md has no recipe $1"
	bash -euxo pipefail "recipe$1" > "recipe$1.log" 2>&1 || {
		cat "recipe$1.log"
		dmesg | tail -20
		fail "recipe $1 of docs/iser.md does not work"
	}
}

# What the hosts of the document have: an interface, a disk, and the modules where modprobe finds them.
same_host 0
modprobe dummy numdummies=0
ip link add eth0 type dummy
ip address add 10.0.0.1/24 dev eth0
ip link set eth0 up
ip link set lo mtu 1500 up
mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
ram_disk 64
ln -s /dev/nullb0 /dev/sdb
mkdir -p /run/modprobe.d
cat > /run/modprobe.d/krdma-vm.conf <<- EOF
	install krdma_soft true
	install krdma_iser modprobe -a libiscsi scsi_transport_iscsi && insmod $module
EOF
ln -sf "$krdma" /usr/local/bin/krdma
kdapl_load
modprobe -a sd_mod ib_iser iscsi_tcp
initiator_up

recipe 1
recipe 2
recipe 3
same "transport of the module" 1 "$(grep -c '^krdma_iser ' /proc/modules)"
session=$(sessions)
wait_for 30 disk_of "$session" 0 > /dev/null || { dmesg | tail -40; fail "no disk"; }
iscsiadm -m session | tee expect
has "the session" "^iser: \[$session\] 10.0.0.1:3260,1 iqn.2026-01.com.example:target" expect
# addresses: of the data of SCSI commands, in iSER headers on the wire, as long as there is no file "seen"
addresses() {
	timeout 120 python3 - <<- 'EOF'
		import os, re, socket, struct

		wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
		wire.bind(("lo", 0))
		wire.settimeout(0.5)
		print("looks", flush=True)
		while not os.path.exists("seen"):
		    try:
		        packet = wire.recv(65536)
		    except TimeoutError:
		        continue
		    # struct iser_ctrl with a STag, and a SCSI command behind it
		    for header in re.finditer(rb"([\x14\x18])\0\0\0(.{24})[\x01\x41]", packet, re.S):
		        write, read = struct.unpack(">4xQ4xQ", header[2])
		        print("address", write if header[1] == b"\x18" else read)
	EOF
}
addresses > addresses.log &
looks=$!
wait_for 20 grep -q looks addresses.log || fail "nobody looks"
expect "I/O" dd if=/dev/zero of="$(disk_of "$session" 0)" bs=1M count=8 oflag=direct conv=fsync
storage_rnic=$(rdma link | sed -n 's/^link \([^/]*\).* netdev eth0.*/\1/p')
[ "$(counter fast_registrations)" -gt 0 ] || fail "no registrations"
touch seen
wait "$looks" || fail "nobody looked"
[ "$(grep -c address addresses.log)" -gt 8 ] || fail "no headers were seen"
same "addresses beyond a page" "" "$(awk '$1 == "address" && $2 > 4095' addresses.log)"
refuse "plain TCP" timeout 5 bash -c 'exec 3<> /dev/tcp/10.0.0.1/3260; timeout 2 cat <&3 | grep -q .'

say "logout"
run_storage iscsiadm -m node -I krdma --logout
initiator_down
rmmod krdma_iser
rm /etc/modprobe.d/krdma-iser.conf
cd /sys/kernel/config/target/iscsi/iqn.2026-01.com.example:target/tpgt_1
echo 0 > enable
rmdir np/10.0.0.1:3260
rm acls/*/lun_0/lun lun/lun_0/disk
rmdir acls/*/lun_0 acls/* lun/lun_0 ../tpgt_1
cd /sys/kernel/config/target
rmdir iscsi/iqn.2026-01.com.example:target iscsi core/iblock_0/disk core/iblock_0
cd "$VM_TMP"
modprobe -r ib_isert iscsi_target_mod target_core_iblock
rm /dev/sdb /run/modprobe.d/krdma-vm.conf
rdma link delete "$storage_rnic"
ip link del eth0
ram_disk_down
