#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: a peer asks the kernel's listener for a road by hand: without the name of an established, marked TCP connection it is refused with the reason, nothing is kept of it, and the right name is answered with its answer
# covers: sdp ops/pair.c ops/road.c
# limit: 120
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"
# shellcheck source=tests/vm/guest/sdp.sh
. "$VM_REPO/tests/vm/guest/sdp.sh"

cat > victim.py << 'EOF'
import socket, sys
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind((sys.argv[1], 9400))
listener.listen()
print("listening", flush=True)
sock = listener.accept()[0]
sock.sendall(b"x")
try:
    print("end", sock.recv(1), flush=True)
except OSError as error:
    print("end", error, flush=True)
EOF

hosts_up
ops_load
sdp_load connect_timeout_s=3 close_timeout_s=3
note_resources
sdp_rules 9400 B
start victim B python3 victim.py "$ADDR_B"
wait_for 60 grep -q listening victim.log || fail "$(cat victim.log)"
start peer A python3 "$VM_REPO/tests/vm/guest/sdp_names.py" "$ADDR_A" "$ADDR_B" 9400
finish peer 60
cat peer.log
has "all was tried" '^done$' peer.log
finish victim 30
cat victim.log
at_least() { [ "$3" -ge "$2" ] || fail "$1: $3, less than $2"; }
at_least "refusals of unknown names" 7 "$(sdp_stat unknown)"
same "roads that a peer opened" 1 "$(($(sdp_stat accepted) + $(sdp_stat resets) > 0))"
all_sdp_gone
check_no_leak
no_rules
sdp_ends
hosts_down
