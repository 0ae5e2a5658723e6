#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# What the cases of iSER share: a target of the stock kernel (LIO, ib_isert), and open-iscsi.
# shellcheck source=tests/vm/guest/storage.sh
. "${VM_LIB%/*}/storage.sh"

iqn=iqn.2026-01.krdma.test:disk initiator=iqn.2026-01.krdma.test:guest
target=/sys/kernel/config/target
tpg=$target/iscsi/$iqn/tpgt_1

# at ADDRESS: with iSCSI's port, as LIO and open-iscsi write it
at() { [[ $1 == *:* ]] && echo "[$1]:3260" || echo "$1:3260"; }

# LIO creates a TCP portal for each address before iSER takes it over. TCP's portal is in
# the namespace of its creator, iSER's in the initial one, so they do not compete for a port.
portal_up() {
	unshare --net mkdir "$tpg/np/$(at "$portal")"
	echo 1 > "$tpg/np/$(at "$portal")/iser"
}

portal_down() {
	rmdir "$tpg/np/$(at "$portal")"
}

# seconds
retain=300

# target_up [AUTHENTICATION]: LUN 0 is /dev/nullb0, LUN 1 a RAM disk of 32 MiB. With 1, a login
# needs CHAP.
target_up() {
	modprobe -a target_core_mod target_core_iblock iscsi_target_mod ib_isert
	mkdir -p $target/core/iblock_0/disk $target/core/rd_mcp_0/ram
	echo udev_path=/dev/nullb0 > $target/core/iblock_0/disk/control
	echo 1 > $target/core/iblock_0/disk/enable
	echo rd_pages=8192 > $target/core/rd_mcp_0/ram/control
	echo 1 > $target/core/rd_mcp_0/ram/enable
	[ -d $target/iscsi ] || mkdir $target/iscsi
	mkdir -p $tpg/lun/lun_0 $tpg/lun/lun_1
	ln -s $target/core/iblock_0/disk $tpg/lun/lun_0/port
	ln -s $target/core/rd_mcp_0/ram $tpg/lun/lun_1/port
	echo "${1:-0}" > $tpg/attrib/authentication
	echo 0 > $tpg/attrib/demo_mode_write_protect
	echo 1 > $tpg/attrib/generate_node_acls
	echo 1 > $tpg/attrib/cache_dynamic_acls
	echo -n guest > $tpg/auth/userid
	echo -n secret-of-guest > $tpg/auth/password
	# see login()
	echo $retain > $tpg/param/DefaultTime2Retain
	[ "$VM_SLOW" = 1 ] || patient_acl
	portal_up
	echo 1 > $tpg/enable
}

# An ACL of its own for the initiator. LIO ends a connection whose data does not come within 3 s, and
# only an ACL that the administrator makes has another limit.
patient_acl() {
	local acl=$tpg/acls/$initiator lun
	mkdir "$acl"
	echo 60 > "$acl/attrib/dataout_timeout"
	echo -n guest > "$acl/auth/userid"
	echo -n secret-of-guest > "$acl/auth/password"
	for lun in lun_0 lun_1; do
		mkdir "$acl/$lun"
		ln -s "$tpg/lun/$lun" "$acl/$lun/lun"
	done
}

target_down() {
	local acl lun
	echo 0 > $tpg/enable
	for acl in "$tpg"/acls/*; do
		[ -d "$acl" ] || continue
		for lun in "$acl"/lun_*; do
			[ ! -e "$lun/lun" ] || { rm "$lun/lun" && rmdir "$lun"; }
		done
		rmdir "$acl"
	done
	rm $tpg/lun/lun_0/port $tpg/lun/lun_1/port
	portal_down
	rmdir $tpg/lun/lun_0 $tpg/lun/lun_1 $tpg ${tpg%/*}
	rmdir $target/iscsi
	rmdir $target/core/iblock_0/disk $target/core/iblock_0
	rmdir $target/core/rd_mcp_0/ram $target/core/rd_mcp_0
	modprobe -r ib_isert iscsi_target_mod target_core_iblock
}

# Start iscsid without the records of an earlier case, whose interfaces may be gone.
initiator_up() {
	rm -rf /etc/iscsi/nodes /etc/iscsi/send_targets /etc/iscsi/ifaces
	mkdir -p /etc/iscsi /run/lock/iscsi
	echo InitiatorName=$initiator > /etc/iscsi/initiatorname.iscsi
	iscsid_up
}

iscsid_up() {
	# in a session of its own: it ends its process group with itself
	setsid iscsid -f >> iscsid.log 2>&1 &
	iscsid=$!
	sleep 1
}

initiator_down() {
	kill "$iscsid"
	wait "$iscsid" || true
}

node() { iscsiadm -m node -T $iqn -p "$(at "$portal")" "$@"; }

# login INTERFACE: try again after the kernel's fault "libiscsi: an answer is reported before its
# request has ended" (docs/kernel-bugs.md). It makes iscsid repeat the login, and LIO takes 15 s
# for each attempt that iscsid has given up. Both ends agree on a long time for which a failed
# session is kept: lockdep complains as soon as LIO's timer for that runs out ("iscsi_target_mod: a
# lock is taken with softirqs on").
login() {
	local try

	node -I "$1" -o update -n node.session.initial_login_retry_max -v 2
	node -I "$1" -o update -n node.session.iscsi.DefaultTime2Retain -v $retain
	for try in 1 2 3; do
		log_mark
		say "login $1, attempt $try"
		timeout -k 5 "$(patient 120)" iscsiadm -m node -T $iqn -p "$(at "$portal")" -I "$1" \
			--login > client.log 2>&1 && return
		log_since | grep 'Login/Text in progress' > /dev/null || break
		sleep 45
	done
	cat client.log iscsid.log
	dump_waiting
	rdma resource
	dmesg | tail -30
	fail "no login"
}
