#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: krdma_hw adopts siw and rxe: list, choice by parameter, users, drivers, --persist, libkrdma's verbs and ping over them, siw with krdma_soft both ways
# covers: kvp_hw kal/cm/offload.c uapi/tools/adopt.cpp uapi/tools/persistence.cpp system
# limit: 300
# shellcheck source=tests/vm/guest/siw.sh
. "${VM_LIB%/*}/siw.sh"

not_adopted() { ! adopted "$1"; }

hw_up
on A "$krdma" list
on B "$krdma" list
on A "$krdma" show siw0
on A "$krdma" show rxe0
on A "$krdma" stat siw0 || true
dmesg | tail -5
on A "$krdma" show siw0 | tee show
has "capabilities by name" '^ +caps +llp_offload srq own_pins fixed_cq$' show
has "the driver" '^ +driver +siw$' show
has "and what is known of it" '^ +driver_status +tested$' show
on A "$krdma" list | tee list
has "the MTU of iWARP's network device" '^siw0 +vethA +up +1500 +iWARP' list

# counter NAME: of rxe0
counter() { on A "$krdma" stat rxe0 | awk -v name="$1" '$1 == name { print $2 }'; }
# as_user GROUP COMMAND...: without a privilege, in that group
as_user() {
	local group=$1
	shift
	on A setpriv --reuid=1234 --regid=1234 --groups="$group" --bounding-set=-all --inh-caps=-all "$@"
}

say "users"
start pong A "$krdma" ping -s "$ADDR_R:7990"
sleep 1
ping=("$krdma" ping -c 1 -i 0 "$ADDR_R:7990")
expect "krdma list for any user" as_user 1234 "$krdma" list
expect "root" on A "${ping[@]}"
refuse "no right" as_user 1234 "${ping[@]}"
has "why" 'Permission denied.*krdma adopt --users GROUP' expect
[ "$(counter user_refused)" -gt 0 ] || fail "it is not counted"
refuse "a group that is not there" on A "$krdma" adopt --users nosuchgroup
refuse "a group and a device" on A "$krdma" adopt siw0 --users users
refuse "only root gives the right" as_user 1234 "$krdma" adopt --users users
expect "give it" on A "$krdma" adopt --users users --persist
users=$(getent group users | cut -d: -f3)
same "the parameter" "$users" "$(cat /sys/module/krdma_hw/parameters/users_gid)"
same "for the next boot" "options krdma_hw users_gid=$users" "$(grep -v '^#' /etc/modprobe.d/krdma-users.conf)"
expect "a member" as_user "$users" "${ping[@]}"
refuse "another user" as_user 1234 "${ping[@]}"
# root of a user namespace is nobody outside, and a member stays one
refuse "root of a user namespace" as_user 1234 unshare --user --map-root-user "${ping[@]}"
has "why" 'Permission denied' expect
expect "a member in a user namespace" as_user "$users" unshare --user --map-root-user "${ping[@]}"
expect "take it" on A "$krdma" adopt --users none --persist
[ ! -e /etc/modprobe.d/krdma-users.conf ] || fail "the configuration stays"
refuse "not any more" as_user "$users" "${ping[@]}"
rid_of pong
refuse "no group id" sh -c 'echo -2 > /sys/module/krdma_hw/parameters/users_gid'

say "a driver that is not on the list"
expect "release" on A "$krdma" release siw0
insmod "$VM_MODULES/tests/consumers/krdma_ktest_driver.ko" device=siw0
refuse "its device" on A "$krdma" adopt siw0
has "why, and what helps" 'siw0: the driver is not on the list of krdma_hw: Operation not supported \(--force ' expect
refuse "the parameter forces nothing" on A "$krdma" adopt -d siw0
not_adopted siw0 || fail "siw0 is adopted by the parameter"
expect "list" on A "$krdma" adopt
has "it says so" '^siw0 +no +parameter +siw +unlisted +Operation not supported$' expect
expect "force" on A "$krdma" adopt --force siw0
adopted siw0 || fail "siw0 is not adopted"
expect "release" on A "$krdma" release siw0
rmmod krdma_ktest_driver
expect "the known one" on A "$krdma" adopt siw0

say "at each boot"
mkdir fake
cat > fake/systemctl << 'END'
#!/bin/sh
# notes what it is asked for; fails at the words in the file "fails"
echo "$*" >> systemctl.log
! grep -qx "$1" fails
END
chmod +x fake/systemctl
persistently() { on A env PATH="$PWD/fake:$PATH" "$krdma" "$@" --persist; }
# calls TEXT WANTED: of systemctl since the last time, without the queries
calls() {
	same "$1" "$2" "$(sed '/^is-enabled/d' systemctl.log | tr '\n' ';')"
	rm -f systemctl.log
}
mkdir -p /run/systemd/system
unit="krdma-adopt@siw0.service"
echo is-enabled > fails
refuse "no such device" persistently adopt siw7
has "it says so" 'siw7: No such device \(no such RDMA device; --missing-ok ' expect
refuse "no name of a device" persistently adopt ../siw0
refuse "release what is not there" persistently release siw7
calls "nothing was enabled" ""
expect "one that comes later" persistently adopt siw7 --missing-ok
calls "enabled, not started" "enable --quiet krdma-adopt@siw7.service;"
expect "with an option" persistently adopt siw0 --force
calls "enabled and started" "enable --quiet $unit;start $unit;"
has "its setting" '^OPTIONS=--force$' /etc/krdma/adopt/siw0.conf
expect "release" persistently release siw0
calls "disabled and stopped" "disable --quiet $unit;stop $unit;"
not_adopted siw0 || fail "siw0 is still adopted"
[ ! -e /etc/krdma ] || fail "settings are left"
printf '%s\n' is-enabled start > fails
refuse "a unit that does not start" persistently adopt siw0 --force
has "it says so" "$unit does not start and is not enabled" expect
calls "nothing is left" "enable --quiet $unit;start $unit;disable --quiet $unit;"
[ ! -e /etc/krdma ] || fail "settings are left"
echo start > fails
refuse "one that was enabled" persistently adopt siw0 --force
calls "it stays" "enable --quiet $unit;start $unit;"
echo is-enabled > fails
rmdir /run/systemd/system
rm -f systemctl.log
expect "in a tree that is being made" persistently adopt siw7
calls "enabled, not started" "enable --quiet krdma-adopt@siw7.service;"
rm -rf /etc/krdma
# the unit that the adoption is bound to, as udev tells systemd
mkdir -p /run/udev/rules.d
cp "$VM_REPO/system/60-krdma.rules" /run/udev/rules.d
udevadm test /sys/class/infiniband/rxe0 > properties 2>&1 || true
rm -r /run/udev/rules.d
has "the device's unit" '^SYSTEMD_ALIAS=.*/sys/subsystem/infiniband/devices/rxe0' properties
expect "adopt" on A "$krdma" adopt siw0
adopted siw0

say "the parameter"
expect "siw0 is as it says" on A "$krdma" adopt -d siw0
echo 'siw*' > /sys/module/krdma_hw/parameters/devices
wait_for 10 not_adopted rxe0 || fail "rxe0 is still adopted"
adopted siw0
echo '*,!siw0' > /sys/module/krdma_hw/parameters/devices
wait_for 10 not_adopted siw0 || fail "siw0 is still adopted"
wait_for 10 adopted rxe0
echo '*' > /sys/module/krdma_hw/parameters/devices
wait_for 10 adopted siw0

say "netlink"
on A "$krdma" adopt
expect "release" on A "$krdma" adopt -r siw0
not_adopted siw0 || fail "siw0 is still adopted"
echo '!*' > /sys/module/krdma_hw/parameters/devices
expect "adopt" on A "$krdma" adopt siw0
adopted siw0 || fail "siw0 is not adopted"
wait_for 10 not_adopted rxe0
refuse "no such device" on A "$krdma" adopt siw7
refuse "another namespace" on B "$krdma" adopt siw0
has "it says so" 'this is not the initial network namespace' expect
refuse "not the kernel's own" on A "$krdma" adopt krdma1
refuse "no right" on A setpriv --reuid=65534 --clear-groups --bounding-set=-all "$krdma" adopt -r siw0
on A "$krdma" adopt --json | tee adopt.json
has "siw0" '"adopted": true' adopt.json
echo '*' > /sys/module/krdma_hw/parameters/devices
expect "by parameter" on A "$krdma" adopt -d siw0
wait_for 10 adopted rxe0

say "a new name"
rdma dev set siw0 name iwarp0
wait_for 10 adopted iwarp0
expect "release by the new name" on A "$krdma" release iwarp0
not_adopted iwarp0 || fail "iwarp0 is still adopted"
refuse "the old name" on A "$krdma" adopt siw0
has "it says so" 'siw0: No such device \(RDMA devices: .*iwarp0' expect
expect "adopt by the new name" on A "$krdma" adopt iwarp0
adopted iwarp0 || fail "iwarp0 is not adopted"
rdma dev set iwarp0 name siw0
wait_for 10 adopted siw0
on A "$krdma" show rxe0 | tee show
has "the port" 'path_mtu +1024' show
has "its GID" 'gid +fe80:0000:0000:0000:' show

say "ping: siw to soft"
start pong B "$krdma" ping -s "$ADDR_B:7900" -c 1
sleep 1
run_on A 20 "$krdma" ping -c 5 -i 0.01 "$ADDR_B:7900"
cat client.log pong.log
finish pong 10
say "ping: soft to siw"
# siw loses a first message that is faster than its callbacks (docs/kernel-bugs.md)
pinged=
for try in 1 2 3; do
	start pong A "$krdma" ping -s "$ADDR_A:790$try" -c 1
	sleep 1
	if on B timeout "$(patient 20)" "$krdma" ping -c 5 -i 0.01 "$ADDR_A:790$try" > client.log 2>&1; then
		pinged=1
		finish pong 10
		break
	fi
	cat client.log
	has "why" ': no answer: Connection timed out$' client.log
	rid_of pong
done
cat client.log
[ -n "$pinged" ] || fail "no message came back, three times"
say "ping: rxe to itself"
start pong A "$krdma" ping -s "$ADDR_R:7902" -c 1
sleep 1
run_on A 20 "$krdma" ping -c 5 -i 0.01 "$ADDR_R:7902"
cat client.log
finish pong 10
hw_down

say "by default no device is adopted"
rdma link add rxe0 type rxe netdev dummyR
insmod "$VM_MODULES/krdma_hw.ko"
on A "$krdma" adopt | tee list
has "rxe0" '^rxe0 +no +parameter +rdma_rxe +tested +-$' list
not_adopted rxe0 || fail "rxe0 is adopted"
expect "by name" on A "$krdma" adopt rxe0
adopted rxe0 || fail "rxe0 is not adopted"
hw_down
