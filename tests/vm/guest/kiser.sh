#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# What the cases of iSER on kDAPL share: krdma_iser as open-iscsi's transport, its sessions.
# shellcheck source=tests/vm/guest/iser.sh
. "${VM_LIB%/*}/iser.sh"

export LD_LIBRARY_PATH=$VM_REPO/build/ual
krdma=$VM_REPO/build/tools/krdma
module=$VM_MODULES/krdma_iser.ko

# is the RNIC known to krdma?
adopted() { "$krdma" list | grep -w "$storage_rnic" > /dev/null; }

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
	setting "$1" "node.conn[0].timeo.noop_out_timeout" "$(patient 2)"
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

# load SECONDS: verified I/O in the file system on /mnt/krdma, in the background
load() {
	fio --name=load --directory=/mnt/krdma --size="$io_size" --rw=randrw --bsrange=512-1m \
		--blockalign=512 --direct=1 --ioengine=libaio --iodepth=32 --verify=crc32c \
		--verify_fatal=1 --do_verify=1 --time_based --runtime="$1" \
		--output-format=terse > load.log 2>&1 &
	load=$!
}

load_ends() {
	wait "$load" && return
	cat load.log
	dmesg | tail -40
	fail "I/O under load failed"
}

# Initiator *********************************************************************

kiser_up() {
	modprobe -a sd_mod libiscsi scsi_transport_iscsi
	kdapl_load
	insmod "$module"
	initiator_up
}

kiser_down() {
	initiator_down
	expect "rmmod" timeout "$(patient 60)" rmmod krdma_iser
}

# From noio_up to noio_down, no allocation of krdma's work items begins I/O.
noio_up() { insmod "$VM_MODULES/tests/consumers/krdma_noio.ko"; }
noio_down() {
	local parameters=/sys/module/krdma_noio/parameters
	say "allocations of work items: $(cat $parameters/looked_at)"
	[ "$(cat $parameters/looked_at)" -gt 100 ] || fail "nothing was looked at"
	[ "$(cat $parameters/with_io)" = 0 ] || {
		dmesg | grep krdma_noio
		fail "$(cat $parameters/with_io) allocations may begin I/O"
	}
	rmmod krdma_noio
}

# discover INTERFACE...: all of them are made, and get a record of the target
discover() {
	local name args=()

	say "discovery by $(at "$portal")"
	for name; do
		interface "$name"
		args+=(-I "$name")
	done
	# a discovery forgets the records of interfaces that it was not for
	expect "discovery" timeout "$(patient 60)" iscsiadm -m discovery -t st -p "$(at "$portal")" "${args[@]}"
	has "a record" "$(regex "$(at "$portal")"),1 $iqn" expect
}

# regex TEXT: that text in a regular expression
regex() { printf "%s\n" "$1" | sed 's/[].[]/\\&/g'; }

wrong_password() {
	say "a wrong password"
	setting "$1" node.session.auth.password not-the-secret
	refuse "a wrong password" timeout "$(patient 60)" iscsiadm -m node -T $iqn -p "$(at "$portal")" \
		-I "$1" --login
	has "a wrong password" 'authorization failure' expect
	setting "$1" node.session.auth.password secret-of-guest
}

# log_in INTERFACE: with CHAP; sets "session" to its number, "disk" to that of LUN 0
log_in() {
	login "$1"
	session=$(sessions | tail -1)
	iscsiadm -m session > expect
	has "the session" "^iser: \[$session\] $(regex "$(at "$portal")"),1 $iqn" expect
	wait_for 30 disk_of "$session" 0 || { dmesg | tail -40; fail "no disk"; }
	disk=$(disk_of "$session" 0)
}

# of all sessions
log_out() {
	say "logout"
	run_storage iscsiadm -m node -T $iqn -p "$(at "$portal")" --logout
	same "sessions" "" "$(sessions)"
}
