#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: krdma_ops: the family and its answers, options, bind, hand-off, late callers, references; a protocol that leaves
# covers: ops
# limit: 200
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

references() { awk '$1 == "krdma_ops" { print $3 }' /proc/modules; }

no_references() { [ "$(references)" = 0 ]; }
basics() { timeout "$(patient 60)" python3 "$VM_REPO/tests/vm/progs/ops_basic.py" "$@"; }

modprobe -q tls || true
expect "the module loads" insmod "$VM_MODULES/krdma_ops.ko"
same "references of nobody" 0 "$(references)"

for part in family options bind handoff late listen; do
	say "$part"
	basics $part
	# socks that were handed off go after a grace period
	wait_for 10 no_references || fail "references after $part: $(references)"
done

say "the module is in use as long as sockets are"
basics hold & # says "ready" in a file
wait_for 10 test -e ready
refuse "rmmod with a socket that was handed off" rmmod krdma_ops
touch go
wait $!

say "a protocol that leaves under its sockets"
insmod "$VM_MODULES/tests/offload/offload_loop.ko"
basics loop
wait_for 10 no_references || fail "references: $(references)"

say "shutdown and back"
echo 1 > /sys/module/krdma_ops/parameters/shutdown
basics family
echo 0 > /sys/module/krdma_ops/parameters/shutdown

wait_for 15 rmmod krdma_ops || fail "rmmod: $(references) references"
expect "another number" insmod "$VM_MODULES/krdma_ops.ko" family=22 alias=0
python3 -c 'import socket; socket.socket(22, socket.SOCK_STREAM).close()'
refuse "no alias" python3 -c 'import socket; socket.socket(27, socket.SOCK_STREAM)'
wait_for 15 rmmod krdma_ops
refuse "a number out of range" insmod "$VM_MODULES/krdma_ops.ko" family=200
