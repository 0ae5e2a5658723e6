#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: which sockets rules take: programs of all kinds, static, setuid, with io_uring, by cgroup, user, address, port and network namespace; what is left alone; what the tools show of them; reset
# covers: ops uapi/tools
# limit: 200
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"

export VM_SLOW
groups=$PWD/cgroup
port=7100
head -c 300000 /dev/urandom > data

# transfer COMMAND...: nc to nc, both begun by the command
transfer() {
	port=$((port + 1))
	start server A "$@" nc -l -N 127.0.0.1 "$port"
	wait_for 20 listening A "$port" || fail "nc does not listen"
	on A "$@" timeout "$(patient 20)" nc -N 127.0.0.1 "$port" < data > /dev/null
	finish server 20
	cmp data server.log || fail "other data"
}
# goes road|tcp WHAT COMMAND...
goes() {
	local way=$1 what=$2 before after
	shift 2
	before=$(counter changed A)
	transfer "$@"
	after=$(counter changed A)
	case $way in
	road) [ "$after" -gt "$before" ] || { offload_on A stats -n; fail "$what: all went by TCP"; } ;;
	tcp) same "$what: changes" "$before" "$after" ;;
	esac
}
offload() { offload_on A "$@"; }
flush() { offload flush; }
# shellcheck disable=SC2016 # for the inner shell
in_group=(bash -c 'echo $$ > "$1/cgroup.procs"; shift; exec "$@"' -)
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)

ip netns add hostA
ip netns add hostB
on A ip link set lo up
on B ip link set lo up
mkdir "$groups"
mount -t cgroup2 cgroup2 "$groups"
mkdir -p "$groups/app/sub" "$groups/other"

transfer env # nothing is loaded
ops_load
attempt "no rule" goes tcp "nc" env
mark_on A
attempt "rules" goes road "nc" env
mark_on B

setuid() {
	cp "$(command -v nc.openbsd || readlink -f "$(command -v nc)")" nc-setuid
	chmod 4755 nc-setuid
	mkdir -p bin
	ln -sf "$PWD/nc-setuid" bin/nc
	chmod 755 . bin
	goes road "a setuid program of a user" "${nobody[@]}" env "PATH=$PWD/bin:$PATH"
}
attempt "setuid" setuid

by_program() {
	local before
	before=$(counter changed A)
	expect "$*" on A timeout "$(patient 60)" "$@"
	[ "$(counter changed A)" -gt "$before" ] || fail "$*: all went by TCP"
}
attempt "static" by_program "$VM_PROGS/ops_static" -r 3 127.0.0.1
attempt "io_uring" by_program "$VM_PROGS/ops_uring" 2 0 $TCP

all_of_a_kind() {
	flush
	offload add connect cgroup "$groups/app" use any
	offload add listen cgroup "$groups/app" use any
	goes road "in the cgroup" "${in_group[@]}" "$groups/app"
	goes road "below it" "${in_group[@]}" "$groups/app/sub"
	goes tcp "in another" "${in_group[@]}" "$groups/other"
	offload add connect cgroup "$groups/app/sub" use tcp
	goes tcp "but one" "${in_group[@]}" "$groups/app/sub"
	goes road "and not above it" "${in_group[@]}" "$groups/app"
	flush
	offload add connect user nobody use any
	offload add listen use any
	goes road "a user" "${nobody[@]}"
	goes tcp "not the other" env
	flush
	offload add connect ::/0 use any
	offload add listen ::/0 use any
	goes tcp "IPv4" env
	flush
	offload add connect 127.0.0.0/8 port $((port + 1)) use any
	offload add listen port $((port + 1))-$((port + 2)) use any
	goes road "a port" env
	goes tcp "another port" env
	flush
	offload add connect use any
	goes tcp "the server is not marked" env
	flush
	offload add listen use any
	goes tcp "the client is not marked" env
}
attempt "cgroup, user, family, port, direction" all_of_a_kind
flush
mark_on A

# a connection that stays, for those who look at it
cat > stay.py << 'END'
import os, socket, sys, time
listener = socket.create_server(("127.0.0.1", 7099))
client = socket.create_connection(("127.0.0.1", 7099))
server, _ = listener.accept()
client.sendall(b"x" * 5000)
got = 0
while got < 5000:
    got += len(server.recv(5000))
print(os.getpid(), flush=True)
open("stays", "w").close()
while not os.path.exists("go"):
    time.sleep(0.05)
try:
    server.sendall(b"last")
    print(client.recv(10).decode(), flush=True)
except OSError as error:
    print(type(error).__name__, flush=True)
END
stay() {
	# one that a failure has left
	touch go
	[ -z "${pid_of[stay]:-}" ] || wait_for 10 ended stay || rid_of stay
	rm -f stays go
	start stay A python3 stay.py
	wait_for 20 test -e stays || { cat stay.log; fail "no connection"; }
}
shown() {
	stay
	offload sockets | tee sockets
	offload sockets --json > sockets.json
	python3 - << 'END' || fail "sockets"
import json
socks = json.load(open("sockets.json"))["sockets"]
listeners = [s for s in socks if s["tcp_state"] == "listen"]
ends = [s for s in socks if s["tcp_state"] == "established"]
assert len(listeners) == 1 and listeners[0]["port"] == 7099, listeners
assert len(ends) == 2, ends
assert sum(s["sent"] + s["tcp_sent"] for s in ends) == 5000, ends
assert sum(s["received"] + s["tcp_received"] for s in ends) == 5000, ends
assert sum(s["sent"] for s in ends) > 0 and all(s["road"] == "local" for s in ends), ends
END
	on A ss -Htnpie state established '( sport = 7099 )' | tee ss
	has "the process" 'pid=' ss
	has "the ULP" krdma ss
	local as_nobody
	as_nobody=$(on A "${nobody[@]}" env LD_LIBRARY_PATH="$VM_REPO/build/ual" "$VM_REPO/build/tools/krdma" offload sockets | wc -l)
	same "lines of another user" 1 "$as_nobody"
	touch go
	finish stay 20
	has "the last" last stay.log
}
attempt "what is shown" shown
resets() {
	stay
	same "the connecting end, from its next byte on" 1 "$(offload reset connect | grep -o '[0-9]*' | head -1)"
	touch go
	finish stay 20
	has "goes on" last stay.log
	stay
	offload reset --end
	touch go
	finish stay 20
	has "ends" 'ConnectionResetError|BrokenPipeError' stay.log
	goes road "others go on" env
}
attempt "reset" resets

memory_used() { offload limits --json | python3 -c 'import json, sys; print(next(l["used"] for l in json.load(sys.stdin)["limits"] if l["name"] == "memory"))'; }
scarce() {
	local before
	parameter krdma_ops idle_ms 600000
	stay
	before=$(memory_used)
	[ "$before" -gt 0 ] || fail "no memory is used: $before"
	# not used for a moment
	sleep 1
	echo 2 > /proc/sys/vm/drop_caches
	same "memory of an idle connection" 0 "$(memory_used)"
	touch go
	finish stay 20
	has "goes on" last stay.log
	parameter krdma_ops idle_ms 5000
}
attempt "scarce memory" scarce

left_alone() {
	on A python3 - << 'END' || fail "left alone"
import socket, struct
# a socket that MPTCP has
try:
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
except OSError:
    s = socket.socket()
listener = socket.create_server(("127.0.0.1", 0))
s.connect(listener.getsockname())
peer, _ = listener.accept()
s.sendall(b"hello")
assert peer.recv(5) == b"hello"
peer.sendall(b"back")
assert s.recv(5) == b"back"
END
}
attempt "MPTCP" left_alone
umount "$groups"
ip netns del hostA
ip netns del hostB
all_gone
unload krdma_ops
attempts_verdict
