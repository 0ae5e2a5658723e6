#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: make install, modprobe with dependencies, the installed provider, libkrdma and krdma, a program and a kernel module built with them, no module that a user can have loaded, make uninstall
# covers: Makefile uapi/tools uapi/ual uapi/examples uapi/uvp_soft
# limit: 900
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
shopt -s extglob

tree=$VM_MODULES
updates=/lib/modules/$(uname -r)/updates
library=$(ls /usr/lib/"$(uname -m)"-linux-gnu/libibverbs/libkrdma-rdmav*.so)
driver=/etc/libibverbs.d/krdma.driver
libs=/usr/lib/$(uname -m)-linux-gnu
files=("$updates/krdma.ko" "$updates/krdma_kdapl.ko" "$updates/krdma_soft.ko" "$updates/krdma_hw.ko" "$updates/krdma_ops.ko" "$updates/krdma_iser.ko" "$library" "$driver" "$libs"/libkrdma.so{,.1}
	"$libs/krdma/libkrdma-uvp-soft.so" "$libs/pkgconfig/krdma.pc" /usr/include/krdma/{krdma.hpp,ual.h,uvp.h,krdma-abi.h}
	/usr/include/krdma/offload-netlink.h
	/usr/bin/krdma /usr/share/man/man1/krdma.1 /usr/share/man/man3/{libkrdma,ual_open}.3
	/usr/share/bash-completion/completions/krdma /lib/systemd/system/krdma{@,-adopt@,-offload}.service
	/lib/udev/rules.d/60-krdma.rules /usr/lib/modules-load.d/krdma.conf
	/usr/share/doc/krdma/{GPL-2.0,MIT,README.md,docs/operate.md}
	"$updates/krdma.symvers" /usr/src/krdma/consumer.mk /usr/src/krdma/include/krdma/{kdat,kal,offload}.h)

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
touch /lib/modules/6.12.99-other/updates/krdma{,_kdapl,_soft,_hw,_ops,_sdp,_iser}.ko
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
same "modules" "krdma.ko krdma_hw.ko krdma_iser.ko krdma_kdapl.ko krdma_ops.ko krdma_sdp.ko krdma_soft.ko" "$(cd "$updates" && echo krdma*.ko)"
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

say "a kernel consumer of another tree, with what is installed alone"
mkdir consumer
cat > consumer/Kbuild << 'END'
include /usr/src/krdma/consumer.mk
obj-m += ia_lister.o
END
cat > consumer/ia_lister.c << 'END'
#include <linux/module.h>
#include <krdma/kdat.h>

static int __init ia_lister_init(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_COUNT names = 0;
	DAT_IA_HANDLE ia;

	if (dat_registry_list_providers(0, &names, NULL) != DAT_SUCCESS)
		return -EIO;
	if (dat_ia_open("krdma0", 8, &async, &ia) != DAT_SUCCESS)
		return -ENODEV;
	pr_info("ia_lister: %d names, krdma0 is open\n", names);
	return dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS ? 0 : -EIO;
}

static void __exit ia_lister_exit(void)
{
}

module_init(ia_lister_init);
module_exit(ia_lister_exit);
MODULE_DESCRIPTION("lists kDAPL's names");
MODULE_LICENSE("GPL");
END
expect "compile" make -C "/lib/modules/$(uname -r)/build" M="$PWD/consumer" modules
cat expect
! grep -iE 'warning|undefined' expect || fail "a warning"
# what the module needs is loaded first, by its name
provider=$(modinfo -F depends consumer/ia_lister.ko)
expect "$provider" modprobe "$provider"
log_mark
expect "it loads" on A insmod consumer/ia_lister.ko
log_since > log
has "its word" 'ia_lister: [0-9]+ names, krdma0 is open' log
rmmod ia_lister
[ "$provider" = krdma ] || rmmod "$provider"
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

# A socket, a netlink family or a device file loads the module that has an alias for it, for any user.
say "what the kernel may load by itself"
for module in "$updates"/krdma*.ko; do
	for alias in $(modinfo -F alias "$module"); do
		case ${module##*/}:$alias in
		# both are for "rdma link add", which needs CAP_NET_ADMIN
		krdma.ko:rdma-link-krdma | krdma_soft.ko:krdma-provider) ;;
		*) fail "${module##*/} has the alias $alias" ;;
		esac
	done
done
cat > pull.py << 'END'
import os, socket, struct
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
stream = socket.SOCK_STREAM
for kind in [(family, stream, protocol) for family in (2, 10) for protocol in (257, 258)] + [(19, stream, 0), (27, stream, 0)]:
    try:
        socket.socket(*kind)
    except OSError:
        continue
    raise SystemExit(f"there is a socket {kind}")
generic = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16)
for name in (b"krdma", b"krdma_hw", b"krdma_offload", b"krdma_ops"):
    name += b"\0" * (4 - len(name) % 4)
    # CTRL_CMD_GETFAMILY by name
    generic.send(struct.pack("=IHHII", 24 + len(name), 16, 1, 1, 0) + struct.pack("=BBH", 3, 1, 0)
                 + struct.pack("=HH", 4 + len(name), 2) + name)
    answer = generic.recv(4096)
    # NLMSG_ERROR: there is no such family
    kind, error = struct.unpack_from("=H", answer, 4)[0], struct.unpack_from("=i", answer, 16)[0]
    if kind != 2:
        raise SystemExit(f"there is the family {name}")
    print(name, error)
for path in ("/dev/krdma", "/dev/infiniband/krdma"):
    try:
        os.open(path, os.O_RDWR)
    except OSError:
        continue
    raise SystemExit(f"there is {path}")
END
expect "nothing is loaded" rmmod_all
expect "a user tries" python3 pull.py
ip link add dummyUser type dummy
refuse "a user's link" setpriv --reuid=65534 --regid=65534 --clear-groups rdma link add krdmaUser type krdma netdev dummyUser
refuse "the same by krdma" setpriv --reuid=65534 --regid=65534 --clear-groups krdma link add dummyUser
has "which right" 'CAP_NET_ADMIN' expect
ip link delete dummyUser
same "modules that a user has loaded" "" "$(grep -o '^krdma[^ ]*' /proc/modules | grep -v '^krdma_int3$' || true)"
while read -r words; do
	# shellcheck disable=SC2086 # the words of the command
	refuse "no module" krdma $words
	has "what to do after krdma $words" 'modprobe krdma_' expect
done << 'END'
list
show
stat krdma0
resource
mib
route 10.77.0.1
neigh 10.77.0.1 dev lo
addr 10.77.0.1
port 0
monitor -t 1
top --once
ping 10.77.0.1 7000
ping --server 7000
adopt
adopt krdma0
offload list
offload add connect use tcp
offload flush
offload sockets
END

say "kernels that dkms builds for"
# shellcheck source=/dev/null
pattern=$(set +u; . "$VM_REPO/debian/krdma-dkms.dkms"; echo "$BUILD_EXCLUSIVE_KERNEL")
for release in 6.1.0-56-amd64 6.1 6.8.0-31-generic 6.12.43+deb12-amd64 6.12.99-rt 6.12.118+deb13-amd64 6.19.1 7.0.0 7.3.4+deb13-amd64; do
	[[ $release =~ $pattern ]] || fail "$release is left out"
done
for release in 5.10.0-28-amd64 5.14.0 6.0.1 6.120.50 16.12.50 7.4.0 7.30 8.1.0; do
	! [[ $release =~ $pattern ]] || fail "$release is taken"
done

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
