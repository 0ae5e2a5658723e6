#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: unmodified programs get sockets of krdma_ops: krun, BPF by cgroup, krdma_ops' own redirection; opting out
# covers: ops/redirect.c ops/policy.c uapi/krun uapi/tools/redirect.cpp uapi/tools/redirect.bpf.c
# limit: 300
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

krdma=$VM_REPO/build/tools/krdma krun=$VM_REPO/build/krun/krun
export LD_LIBRARY_PATH=$VM_REPO/build/ual
groups=$PWD/cgroup
redirect=/sys/module/krdma_ops/parameters/redirect
no_references() { [ "$(awk '$1 == "krdma_ops" { print $3 }' /proc/modules)" = "$1" ]; }

offload() { on A "$krdma" offload "$@"; }
counter() { offload stats --json | sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p"; }

# what protocol a plain socket has, IPv4 and IPv6; others must stay as they are
cat > sock.py <<'END'
import os, socket
def protocol(*kind):
    with socket.socket(*kind) as made:
        return made.getsockopt(socket.SOL_SOCKET, socket.SO_PROTOCOL)
stream = socket.SOCK_STREAM | socket.SOCK_NONBLOCK
print(protocol(socket.AF_INET, stream), protocol(socket.AF_INET, stream, 6), protocol(socket.AF_INET6, stream))
assert protocol(socket.AF_INET, socket.SOCK_DGRAM) == 17
assert protocol(socket.AF_UNIX, stream) == 0
assert os.getuid() or protocol(socket.AF_INET, socket.SOCK_RAW, 1) == 1
END
plain="6 6 6" redirected="258 258 258"
sockets() { on A "$@" python3 sock.py; }
# shellcheck disable=SC2016 # for the inner shell
in_group() { on A bash -c 'echo $$ > "$1/cgroup.procs"; shift; exec "$@"' - "$groups/$1" "${@:2}"; }

# transfer NAME COMMAND...: nc to nc, both begun by the command; true if the offload protocol carried it
transfer() {
	local before after
	before=$(counter offloaded)
	start server A "$@" nc -l -N 127.0.0.1 "$port"
	wait_for 20 listening A "$port" || fail "nc does not listen"
	on A "$@" timeout "$(patient 20)" nc -N 127.0.0.1 "$port" < data > /dev/null
	finish server 20
	cmp data server.log || fail "other data"
	after=$(counter offloaded)
	port=$((port + 1))
	[ "$after" -gt "$before" ]
}
port=7100
head -c 300000 /dev/urandom > data

ip netns add hostA
on A ip link set lo up
mkdir "$groups"
mount -t cgroup2 cgroup2 "$groups"
mkdir -p "$groups/app/sub" "$groups/app/out" "$groups/other"

say "krun without the module"
same "plain" "$plain" "$(sockets)"
same "falls back" "$plain" "$(sockets "$krun" -q)"
on A "$krun" true 2> warning
has "a warning, and what to do" 'krdma_ops is not there .*modprobe krdma_ops$' warning
on A "$krun" -p 257 true 2> warning
has "the same for SDP" 'krdma_ops is not there .*modprobe krdma_sdp$' warning
on A "$krun" -q true 2> warning
same "nothing with -q" "" "$(cat warning)"

expect "the module loads" insmod "$VM_MODULES/krdma_ops.ko"
expect "the protocol loads" insmod "$VM_MODULES/tests/offload/offload_loop.ko"

say "krun"
same "without" "$plain" "$(sockets)"
same "with" "$redirected" "$(sockets "$krun")"
same "a child" "$redirected" "$(sockets "$krun" sh -c 'sh -c "\"\$@\"; exit" - "$@"; exit' -)"
same "opt-out of a child" "$plain" "$(sockets "$krun" env KRUN=off)"
same "krun in a program that opted out" "$redirected" "$(sockets env KRUN=off "$krun")"
same "by family" "258 258 258" "$(sockets "$krun" -f 19)"
same "one protocol" "259 259 258" "$(sockets "$krun" -p 259)"
same "no such protocol" "6 6 258" "$(sockets "$krun" -q -p 260)"
on A "$krun" -p 260 true 2> warning
has "a warning" 'protocol 260 is not there' warning
on A "$krun" true 2> warning
same "no warning with the module" "" "$(cat warning)"
same "the program's status" 7 "$(rc=0; "$krun" -- sh -c 'exit 7' || rc=$?; echo $rc)"
same "no such program" 127 "$(rc=0; "$krun" nonesuch 2> /dev/null || rc=$?; echo $rc)"
transfer env && fail "nc by itself was offloaded"
transfer "$krun" || fail "nc under krun was not offloaded"
offload stats -n

say "redirection by the module"
# a kernel with the patch of ops/patches is asked by its hook, which sees IPv4 alone
direct() { on A "$@" python3 -c 'import socket
with socket.socket(18, socket.SOCK_STREAM) as made:
	print(made.getsockopt(socket.SOL_SOCKET, socket.SO_PROTOCOL))' 2> /dev/null; }
hooked=$redirected
[ "$(direct)" != 6 ] || hooked="258 258 6"
same "off" N "$(cat $redirect)"
echo 1 > $redirect
same "all programs" "$hooked" "$(sockets)"
[ "$hooked" = "$redirected" ] || same "AF_INET_DIRECT" 6 "$(direct)"
transfer env || fail "nc was not offloaded"
no_uid=$(offload add socket uid nobody use tcp)
same "a user is left out" "$plain" "$(sockets setpriv --reuid=65534)"
same "others are not" "$hooked" "$(sockets)"
offload del "$no_uid"
offload add socket use tcp
offload add socket cgroup "$groups/app" use any
offload add socket cgroup "$groups/app/out" use tcp
offload rules
same "by default not" "$plain" "$(sockets)"
same "a cgroup" "$hooked" "$(in_group app python3 sock.py)"
same "below it" "$hooked" "$(in_group app/sub python3 sock.py)"
same "but one" "$plain" "$(in_group app/out python3 sock.py)"
offload del --all
refuse "no such value" bash -c "echo maybe > $redirect"
for _ in $(few 5 20); do
	echo 0 > $redirect
	echo 1 > $redirect
done
same "on again" "$hooked" "$(sockets)"
echo 0 > $redirect
same "off again" "$plain" "$(sockets)"

say "BPF by cgroup"
if [ -e /sys/kernel/btf/vmlinux ] && grep -qw update_socket_protocol /proc/kallsyms; then
	refuse "no BPF file system" "$krdma" offload attach "$groups/app"
	has "how to" "mount -t bpf" "$VM_TMP/expect"
	mount -t bpf bpf /sys/fs/bpf
	"$krdma" offload attach | tee list
	same "nothing" 1 "$(wc -l < list)"
	expect "attach" "$krdma" offload attach "$groups/app"
	same "others" "$plain" "$(sockets)"
	same "the cgroup" "$redirected" "$(in_group app python3 sock.py)"
	same "below it" "$redirected" "$(in_group app/sub python3 sock.py)"
	expect "exclude" "$krdma" offload attach --exclude app/out
	same "excluded" "$plain" "$(in_group app/out python3 sock.py)"
	expect "another" "$krdma" offload attach other
	same "another" "$redirected" "$(in_group other python3 sock.py)"
	# shellcheck disable=SC2016 # for the inner shell
	transfer bash -c 'echo $$ > "$1/cgroup.procs"; shift; exec "$@"' - "$groups/app" ||
		fail "nc was not offloaded"
	"$krdma" offload attach | tee list
	has "the cgroup" '^/app +[0-9]+ +yes' list
	has "the one below" '^/app/out +[0-9]+ +no' list
	"$krdma" offload attach --json | python3 -c 'import json, sys; assert len(json.load(sys.stdin)["cgroups"]) == 3'
	refuse "no right" setpriv --reuid=65534 --clear-groups --bounding-set=-all "$krdma" offload attach other
	expect "detach" "$krdma" offload detach app
	same "detached" "$plain" "$(in_group app python3 sock.py)"
	refuse "detached already" "$krdma" offload detach app
	refuse "no such cgroup" "$krdma" offload attach nonesuch
	expect "detach all" "$krdma" offload detach --all
	same "none" "$plain" "$(in_group other python3 sock.py)"
	wait_for 10 bash -c '! ls /sys/fs/bpf/krdma/redirect' || fail "the link is still pinned"
	expect "both at once" "$krdma" offload attach app
	echo 1 > $redirect
	same "both at once" "$redirected" "$(in_group app python3 sock.py)"
	expect "without the module's" "$krdma" offload detach app
	same "one is left" "$redirected" "$(in_group app python3 sock.py)"
	echo 0 > $redirect
	umount /sys/fs/bpf
else
	say "this kernel has no BTF, or no hook for BPF"
	refuse "attach" "$krdma" offload attach "$groups/app"
fi

say "the module goes while it redirects"
echo 1 > $redirect
wait_for 10 no_references 1 || fail "references"
rmmod offload_loop
rmmod krdma_ops
same "plain" "$plain" "$(sockets)"
expect "the parameter of the module" insmod "$VM_MODULES/krdma_ops.ko" redirect=1
same "from the beginning" "$hooked" "$(sockets)"
wait_for 10 rmmod krdma_ops || fail "rmmod"
