#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: krdma_ops: the family and its answers, options, bind, connections, late callers, references; a road that leaves; programs that ask
# covers: ops
# limit: 240
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"

basics() { timeout "$(patient 60)" python3 "$VM_REPO/tests/vm/progs/ops_basic.py" "$@"; }

ip link set lo up
modprobe -q tls || true
ops_load
same "references of nobody" 0 "$(references krdma_ops)"
mark_some
for part in family options bind connect late listen; do
	attempt "$part" basics $part
	# socks go after a grace period
	all_gone
done
attempt "a program asks" basics asks
all_gone

say "the module is in use as long as connections are"
basics hold & # says "ready" in a file
wait_for 10 test -e ready
refuse "rmmod with a connection" rmmod krdma_ops
say "... and goes by the road still"
touch go
wait $!
all_gone

say "a road that leaves under its sockets"
unmark
plain_load
mark_some plain
attempt "a road that leaves" basics leaves
! loaded offload_plain || rmmod offload_plain
all_gone

say "shutdown and back"
echo 1 > /sys/module/krdma_ops/parameters/shutdown
attempt "shutdown" by_tcp basics family
echo 0 > /sys/module/krdma_ops/parameters/shutdown
unload krdma_ops

expect "another number" insmod "$VM_MODULES/krdma_ops.ko" family=22 alias=0
python3 -c 'import socket; socket.socket(22, socket.SOCK_STREAM).close()'
refuse "no alias" python3 -c 'import socket; socket.socket(27, socket.SOCK_STREAM)'
unload krdma_ops
refuse "a number out of range" insmod "$VM_MODULES/krdma_ops.ko" family=200
attempts_verdict
