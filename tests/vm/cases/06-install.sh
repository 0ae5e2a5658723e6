#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: make install, modprobe with dependencies, the installed provider, libkrdma and krdma, a program built with them, make uninstall
# covers: Makefile uapi/tools uapi/krun uapi/ual uapi/examples uapi/uvp_soft
# limit: 900
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
shopt -s extglob

tree=$VM_MODULES
updates=/lib/modules/$(uname -r)/updates
library=$(ls -d /usr/lib/*-linux-gnu)/libibverbs/libkrdma-rdmav34.so
driver=/etc/libibverbs.d/krdma.driver
libs=$(ls -d /usr/lib/*-linux-gnu)
files=("$updates/krdma.ko" "$updates/krdma_kdapl.ko" "$updates/krdma_soft.ko" "$updates/krdma_hw.ko" "$updates/krdma_ops.ko" "$library" "$driver" "$libs"/libkrdma.so{,.1}
	"$libs/krdma/libkrdma-uvp-soft.so" "$libs/pkgconfig/krdma.pc" /usr/include/krdma/{krdma.hpp,ual.h,uvp.h,krdma-abi.h}
	/usr/bin/krun /usr/share/man/man1/krun.1 "$libs/krdma/libkrun.so" /usr/include/krdma/offload-netlink.h
	/usr/bin/krdma /usr/share/man/man1/krdma.1 /usr/share/man/man3/{libkrdma,ual_open}.3
	/usr/share/bash-completion/completions/krdma /lib/systemd/system/krdma{,-adopt}@.service
	/lib/udev/rules.d/60-krdma.rules /usr/lib/modules-load.d/krdma.conf
	/usr/share/doc/krdma/{GPL-2.0,MIT,README.md,docs/operate.md})

# depmod reads every module, which an emulated machine is minutes with; those that no
# case knows are out of its sight
hidden=()
for dir in "/lib/modules/$(uname -r)/kernel"/{sound,drivers/*,drivers/net/{ethernet,usb,wireless}}; do
	case $dir in
	*/drivers/@(block|infiniband|net|nvme|scsi|target|virtio)) continue ;;
	esac
	[ ! -d "$dir" ] || { mount -t tmpfs none "$dir" && hidden+=("$dir"); }
done

# whatever becomes of this case, those to come have what init gave them
give_back() {
	local file
	for file in "$library" "$driver"; do
		[ ! -e "$VM_TMP/${file##*/}" ] || mv "$VM_TMP/${file##*/}" "$file"
	done
	[ ${#hidden[@]} = 0 ] || umount "${hidden[@]}"
}
trap give_back EXIT

expect "the modules that init loaded go" rmmod_all
# the guest's own, for the cases to come
mv "$library" "$driver" "$VM_TMP"
# another kernel that krdma was once installed for
mkdir -p /lib/modules/6.12.99-other/updates
touch /lib/modules/6.12.99-other/updates/krdma{,_kdapl,_soft,_hw,_ops,_sdp}.ko
# with other flags all would be compiled again, which takes an emulated machine an hour
werror=$(grep -qs -- ' -Werror ' "$tree/kal/.main.o.cmd" && echo 1 || true)
expect "install" make -C "$tree" install BUILD="$VM_REPO/build" WERROR="$werror"
for file in "${files[@]}"; do
	[ -f "$file" ] || fail "make install brought no $file"
done
say "what is installed"
version=$(cat "$tree/VERSION")
same "version of the module" "$version" "$(modinfo -F version "$updates/krdma_soft.ko")"
same "version of the command" "krdma $version" "$(krdma -V)"
same "version for pkg-config" "$version" "$(pkg-config --modversion krdma)"
same "modules" "krdma.ko krdma_hw.ko krdma_kdapl.ko krdma_ops.ko krdma_sdp.ko krdma_soft.ko" "$(cd "$updates" && echo krdma*.ko)"
same "sections for a debugger" 0 "$(readelf -SW "$updates"/krdma*.ko | grep -c '\.debug_' || true)"
! grep -l "$VM_REPO" "$updates"/krdma*.ko || fail "a module has the building machine's path"
expect "modprobe finds krdma_soft and what it needs" modprobe krdma_soft
same "krdma came along" 1 "$(grep -c '^krdma ' /proc/modules)"
hosts_up
perf_pair ib_send_bw -n 50
expect "RNICs, by them" on A krdma list
has "the RNIC" '^krdma0 +vethA' expect
say "a program of another tree, with the installed headers and library"
cp "$VM_REPO/uapi/examples/list_rnics.c" .
read -ra flags <<< "$(pkg-config --cflags --libs krdma)"
expect "compile" cc -std=c11 -D_DEFAULT_SOURCE -pedantic -Wall -Wextra -Werror -o list_rnics list_rnics.c "${flags[@]}"
expect "run" on A ./list_rnics
has "the RNIC" '^krdma0' expect
start ping B krdma ping --server "$ADDR_B" 7800 -c 1
pings() { grep -q '^listening.*fast' ping.log; }
wait_for 10 pings || { cat ping.log; fail "no server, or without its user library"; }
expect "ping by them" on A krdma ping "$ADDR_B" 7800 -c 3 -i 0
finish ping 10
hosts_down
expect "unload" modprobe -r krdma_soft

say "a consumer of kDAPL loads what it needs, and nothing else does"
refuse "kDAPL is there already" loaded krdma_kdapl
expect "modprobe finds krdma_sdp" modprobe krdma_sdp
for module in krdma krdma_kdapl krdma_ops; do
	expect "$module came along" loaded $module
done
expect "unload" modprobe -r krdma_sdp
refuse "kDAPL stays" loaded krdma_kdapl

say "rdma link add loads what is installed"
net_up
expect "add" rnic_add A
hosts_down

expect "unload" rmmod_all
expect "uninstall" make -C "$tree" uninstall BUILD="$VM_REPO/build"
for file in "${files[@]}" /usr/include/krdma "$libs/krdma" /usr/share/doc/krdma \
	/lib/modules/6.12.99-other/updates; do
	[ ! -e "$file" ] || fail "make uninstall left $file"
done
refuse "krdma_soft is gone" modprobe krdma_soft
insmod_all
