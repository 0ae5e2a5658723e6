#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: iSER on kDAPL with other options: LIO's and open-iscsi's parameters, the module's, beside ib_iser, kinds of LUNs, sizes and memory of I/O, SCSI commands, resets, four sessions that lose RNIC and iscsid, a VLAN
# covers: ulp/iser kal/kdapl
# limit: 300
# kernel: stock
# shellcheck source=tests/vm/guest/kiser.sh
. "${VM_LIB%/*}/kiser.sh"

acl=$tpg/acls/$initiator

io() { expect "$1" timeout "$(patient 60)" "$VM_REPO/tests/vm/guest/kiser_io.py" "$@"; }

# attribute NAME: of the session, or of its connection
attribute() {
	local file=/sys/class/iscsi_session/session$session/$1
	[ -e "$file" ] || file=/sys/class/iscsi_connection/connection$session:0/$1
	cat "$file"
}

sign_in() {
	expect "login" timeout "$(patient 60)" iscsiadm -m node -T $iqn -p "$(at "$portal")" -I kiser --login
	session=$(sessions | tail -1)
	wait_for 30 disk_of "$session" 0 > /dev/null || fail "no disk"
	disk=$(disk_of "$session" 0)
}

sign_out() {
	same "state" LOGGED_IN "$(attribute state)"
	run_storage iscsiadm -m node -T $iqn -p "$(at "$portal")" --logout
	same "sessions" "" "$(sessions)"
}

# session_with ATTRIBUTE=VALUE...: a session that has negotiated that, and I/O
session_with() {
	local wanted
	say "session with $*"
	sign_in
	for wanted; do
		same "$wanted" "${wanted#*=}" "$(attribute "${wanted%%=*}")"
	done
	io random "$disk" 0 12
	sign_out
}

# target NAME=VALUE...: LIO's, until target_restored
declare -A restore
target() {
	local setting
	for setting; do
		restore[${setting%%=*}]=$(cat "$tpg/${setting%%=*}")
		echo -n "${setting#*=}" > "$tpg/${setting%%=*}"
	done
}

target_restored() {
	local name
	for name in "${!restore[@]}"; do
		echo -n "${restore[$name]}" > "$tpg/$name"
	done
	restore=()
}

# file_lun NUMBER BLOCK ATTRIBUTE...: of 48 MiB, with blocks of that size and these attributes of LIO on
file_lun() {
	local number=$1 core=$target/core/fileio_0/file$1 attribute
	mkdir -p "$core"
	truncate -s 48M "file$number"
	echo "fd_dev_name=$PWD/file$number,fd_dev_size=50331648,fd_buffered_io=1" > "$core/control"
	echo 1 > "$core/enable"
	echo "$2" > "$core/attrib/block_size"
	for attribute in "${@:3}"; do
		echo 1 > "$core/attrib/$attribute"
	done
	mkdir "$tpg/lun/lun_$number"
	ln -s "$core" "$tpg/lun/lun_$number/port"
	# that of patient_acl
	if [ -d "$acl" ]; then
		mkdir "$acl/lun_$number"
		ln -s "$tpg/lun/lun_$number" "$acl/lun_$number/lun"
	fi
}

file_lun_down() {
	if [ -d "$acl" ]; then
		rm "$acl/lun_$1/lun"
		rmdir "$acl/lun_$1"
	fi
	rm "$tpg/lun/lun_$1/port"
	rmdir "$tpg/lun/lun_$1" "$target/core/fileio_0/file$1"
}

# module_with SECTORS WANTED PARAMETER...: the module with these, I/O of so many sectors, commands of
# so many KiB
module_with() {
	say "module with ${*:3}"
	expect "rmmod" rmmod krdma_iser
	insmod "$module" "${@:3}"
	sign_in
	same "max_hw_sectors_kb" "$2" "$(cat /sys/block/"${disk#/dev/}"/queue/max_hw_sectors_kb)"
	io edges "$disk" "$1"
	sign_out
}

storage_up
before=$(held)
ram_disk 192
target_up 1
modprobe target_core_file
file_lun 2 512 emulate_write_cache
file_lun 3 4096
echo 16 > /proc/sys/vm/nr_hugepages
say "beside ib_iser"
kdapl_load
modprobe -a libiscsi ib_iser
log_mark
refuse "a second transport of that name" insmod "$module"
has "a second transport of that name" "File exists" expect
log_since > expect
has "a second transport of that name" 'krdma_iser: another module has the transport "iser": unload ib_iser first' expect
modprobe -r ib_iser

kiser_up
discover kiser
settings kiser

session_with initial_r2t=1 immediate_data=1
target param/ImmediateData=No
session_with immediate_data=0
target_restored
target param/InitialR2T=No param/FirstBurstLength=512 param/MaxBurstLength=1000 attrib/default_cmdsn_depth=1
session_with first_burst_len=512 max_burst_len=1000
target_restored
target param/HeaderDigest=CRC32C,None param/ErrorRecoveryLevel=2 param/MaxOutstandingR2T=16
setting kiser "node.conn[0].iscsi.MaxXmitDataSegmentLength" 1024
setting kiser node.session.cmds_max 16
session_with header_digest=0 erl=0 max_xmit_dlength=1024
target_restored
setting kiser "node.conn[0].iscsi.MaxXmitDataSegmentLength" 0
setting kiser node.session.cmds_max 128

say "LUNs, sizes, memory, commands"
sign_in
for lun in 0 1 2 3; do
	wait_for 30 disk_of "$session" $lun > /dev/null || fail "no LUN $lun"
	io random "$(disk_of "$session" $lun)" 0 30
done
io edges "$disk" 1024
io scsi "$disk"
file=$(disk_of "$session" 2)
run_storage fio --name=flush --filename="$file" --size=8M --direct=1 --ioengine=io_uring --iodepth=128 --rw=randrw \
	--bssplit=512/20:1536/20:3584/20:8704/20:523776/20 --blockalign=512 --serialize_overlap=1 --fsync=9 \
	--verify=sha256 --verify_fatal=1 --output-format=terse
expect "zeroes" blkdiscard -z -o 512 -l 4M "$file"
cmp -n 4194304 /dev/zero <(dd if="$file" bs=512 skip=1 count=8192 iflag=direct status=none)

say "resets under load: their commands end before, by the target's answers"
fio --name=load --filename="$disk" --rw=randrw --bsrange=512-512k --blockalign=512 --direct=1 --ioengine=libaio \
	--iodepth=64 --time_based --runtime="$(patient 10)" --output-format=terse > load.log 2>&1 &
load=$!
sleep 2
io reset "$disk" 8
kill -0 $load || fail "the load has ended before"
wait $load || { cat load.log; fail "the I/O has failed"; }

say "logout under load"
fio --name=load --filename="$disk" --rw=randrw --bsrange=512-512k --blockalign=512 --direct=1 --ioengine=libaio \
	--iodepth=64 --time_based --runtime=60 --output-format=terse > load.log 2>&1 &
load=$!
sleep 2
sign_out
! wait "$load" || fail "the I/O has outlived the session"

module_with 12 6 max_sectors=12
module_with 100 50 max_sectors=100
module_with 1023 511 max_sectors=1023
# more than the page list of a registration holds
module_with 2048 2044 max_sectors=8192

say "four sessions, by the IA of that name"
echo $storage_rnic > /sys/module/krdma_iser/parameters/ia
setting kiser node.session.nr_sessions 4
sign_in
same "sessions" 4 "$(sessions | wc -l)"
place=0 programs=()
for session in $(sessions); do
	wait_for 30 disk_of "$session" 0 > /dev/null || fail "no disk"
	timeout "$(patient 60)" "$VM_REPO/tests/vm/guest/kiser_io.py" random "$(disk_of "$session" 0)" $place 20 &
	programs+=($!)
	place=$((place + 8388608))
done
for program in "${programs[@]}"; do
	wait "$program" || fail "I/O of four sessions"
done

over_wire
registered
say "the RNIC is removed, iscsid is killed and begins without it: all four sessions come back"
all_in() { [ "$(cat /sys/class/iscsi_session/session*/state | sort | uniq -c | tr -s ' ')" = " 4 LOGGED_IN" ]; }
expect "link delete" rdma link delete $storage_rnic
kill -9 $iscsid
wait $iscsid || true
iscsid_up
sleep 8
! all_in || fail "the sessions need no RNIC"
portal_down
storage_rnic_add
portal_up
wait_for 60 all_in || { dmesg | tail -40; tail -50 iscsid.log; fail "no recovery"; }
for session in $(sessions); do
	io edges "$(disk_of "$session" 0)" 64
done
sign_out

say "a portal whose address is on a VLAN of the RNIC's interface"
echo > /sys/module/krdma_iser/parameters/ia
modprobe 8021q
ip link add link dummy0 name dummy0.7 type vlan id 7
ip address add 10.77.7.1/24 dev dummy0.7
ip link set dummy0.7 up
first=$portal portal=10.77.7.1
portal_up
discover kiser
settings kiser
sign_in
io edges "$disk" 1024
sign_out
portal_down
ip link del dummy0.7
portal=$first

kiser_down
file_lun_down 2
file_lun_down 3
rmdir $target/core/fileio_0
modprobe -r target_core_file
target_down
ram_disk_down
nothing_left "$before"
