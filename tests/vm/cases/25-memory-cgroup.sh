#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: queues that programs map, and their connection requests, are charged to their memory cgroup and given back
# covers: kal/core/cgroup kal/core/memory kal/core/pins kal/cm kvp_soft/memory kvp_hw/reserve kvp_hw/mem.c kvp_hw/conn.c
# limit: 150
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

# not below /sys: "ip netns exec" mounts that anew
groups=$PWD/cgroup
group=$groups/krdma
# a kernel may be built without
grep -q '^memory' /proc/cgroups 2> /dev/null || exit 0
mkdir "$groups"
mount -t cgroup2 cgroup2 "$groups"
echo +memory > "$groups/cgroup.subtree_control"
mkdir "$group"
hosts_up

# MiB of the kernel's memory that the group's processes hold
charged() { awk '$1 == "kernel" { print int($2 / 1048576) }' "$group"/memory.stat; }
at_least() { [ "$(charged)" -ge "$1" ]; }
at_most() { [ "$(charged)" -le "$1" ]; }

# holds NAME LEAST MOST COMMAND...: a program that comes to have so many MiB after its first line
# of input and ends with the second; on host $holds_on
holds() {
	local name=$1 least=$2 most=$3
	shift 3
	say "$name"
	mkfifo "$name.in"
	start "$name" "${holds_on:-A}" bash -c 'exec "$@" < '"$name.in" - "$@"
	exec 9> "$name.in"
	echo "${pid_of[$name]}" > "$group"/cgroup.procs
	echo >&9
	wait_for 40 at_least "$least" || fail "$name: only $(charged) MiB are charged"
	echo "charged: $(charged) MiB"
	[ "$(charged)" -lt "$most" ] || fail "more than there is"
	echo >&9
	exec 9>&-
	finish "$name" 20
	wait_for 20 at_most 2 || fail "$(charged) MiB stay charged"
}

# 16 MiB of completion queues, by both ways in
holds verbs 16 24 python3 -c '
import sys
from pyverbs.cq import CQ
from pyverbs.device import Context
sys.stdin.readline()
context = Context(name="krdma0")
queues = [CQ(context, 32768) for _ in range(16)]
sys.stdin.readline()
'
export LD_LIBRARY_PATH=$VM_REPO/build/ual KRDMA_UVP_DIR=$VM_REPO/build/uvp_soft
export PYTHONPATH=$VM_REPO/tests/vm/guest PYTHONDONTWRITEBYTECODE=1
holds libkrdma 16 24 python3 -c '
import ctypes, sys
from ual import context_of, made, ual
class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("depth", ctypes.c_uint32), ("event_handler", ctypes.c_uint32)]
sys.stdin.readline()
options = Options(ctypes.sizeof(Options), 32768)
context = context_of("krdma0")
for _ in range(16):
    made(ual.ual_cq_create, context, ctypes.byref(options))
sys.stdin.readline()
'
# a limit holds: a queue beyond it is refused, no process is killed, and all is given back
say "limit"
limited=$groups/limited
mkdir "$limited"
mkfifo limit.in
start limit A bash -c 'exec "$@" < limit.in' - python3 -c '
import ctypes, sys
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.pyverbs_error import PyverbsRDMAError
context = Context(name="krdma0")
queues = [CQ(context, 16)]
# else the kernel takes the pages of the program first, and reads them again from the disk
assert ctypes.CDLL(None).mlockall(1) == 0
print("ready", flush=True)
sys.stdin.readline()
try:
    while len(queues) < 64:
        queues.append(CQ(context, 32768))
except PyverbsRDMAError as error:
    print(len(queues), "queues, then errno", error.error_code, flush=True)
sys.stdin.readline()
'
exec 9> limit.in
wait_for 20 grep -q ready limit.log || { cat limit.log; fail "no context"; }
echo "${pid_of[limit]}" > "$limited"/cgroup.procs
echo $((12 << 20)) > "$limited"/memory.max
echo >&9
wait_for 40 grep -q queues, limit.log || { cat limit.log; fail "nothing was refused"; }
cat limit.log
grep -qE "^([5-9]|1[0-3]) queues, then errno 12$" limit.log || fail "not ENOMEM at the limit"
[ "$(awk '$1 == "oom_kill" { print $2 }' "$limited"/memory.events)" = 0 ] || fail "somebody was killed"
echo >&9
exec 9>&-
finish limit 20
empty() { [ "$(awk '$1 == "kernel" { print int($2 / 1048576) }' "$limited"/memory.stat)" -le 1 ]; }
wait_for 20 empty || fail "$(grep ^kernel "$limited"/memory.stat) stays charged"
rmdir "$limited"

# the driver of an adopted device allocates uncharged: the limit holds for what it allocates, too
say "limit of an adopted device"
modprobe rdma_rxe
ip link add dummyR type dummy
ip link set dummyR up
rdma link add rxe0 type rxe netdev dummyR
hw_load
mkdir "$limited"
cat > adopted.py << 'PY'
import ctypes, sys
from ual import context_of, made, ual
class Cq(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("depth", ctypes.c_uint32), ("rest", ctypes.c_uint32 * 3)]
class Qp(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t)] + [(n, ctypes.c_uint32) for n in
                ("send_wr", "recv_wr", "send_sge", "recv_sge", "inline", "flags")] + [("srq", ctypes.c_void_p)]
context = context_of("rxe0")
domain, small = made(ual.ual_pd_create, context), made(ual.ual_cq_create, context, None)
assert ctypes.CDLL(None).mlockall(1) == 0
print("ready", flush=True)
def many(name, create, destroy):
    have = []
    while len(have) < 64:
        it = ctypes.c_void_p()
        status = create(it)
        if status:
            break
        have.append(it)
    print(name, len(have), "then", status, flush=True)
    for it in have:
        destroy(it)
sys.stdin.readline()
# 4 MiB each, twice
cq = Cq(ctypes.sizeof(Cq), 30000)
many("cqs", lambda to: ual.ual_cq_create(context, ctypes.byref(cq), ctypes.byref(to)), ual.ual_cq_destroy)
# 4 MiB of sends, 2 MiB of receives
qp = Qp(ctypes.sizeof(Qp), 16000, 16000, 1, 1, 0, 0, None)
many("qps", lambda to: ual.ual_qp_create(domain, small, small, ctypes.byref(qp), ctypes.byref(to)), ual.ual_qp_destroy)
sys.stdin.readline()
PY
mkfifo adopted.in
start adopted A bash -c 'exec python3 adopted.py < adopted.in'
exec 9> adopted.in
wait_for 20 grep -q ready adopted.log || { cat adopted.log; fail "no context"; }
echo "${pid_of[adopted]}" > "$limited"/cgroup.procs
echo $((20 << 20)) > "$limited"/memory.max
echo >&9
wait_for 40 grep -q qps adopted.log || { cat adopted.log; fail "nothing was refused"; }
cat adopted.log
grep -qE "^cqs [2-5] then -12$" adopted.log || fail "completion queues: not ENOMEM at the limit"
grep -qE "^qps [2-5] then -12$" adopted.log || fail "queue pairs: not ENOMEM at the limit"
[ "$(awk '$1 == "oom_kill" { print $2 }' "$limited"/memory.events)" = 0 ] || fail "somebody was killed"
echo >&9
exec 9>&-
finish adopted 20
wait_for 20 empty || fail "$(grep ^kernel "$limited"/memory.stat) stays charged"
rmdir "$limited"

# a page for each, whatever the kernel makes beside it: the kAL alone charges less than 3 KiB
ip address add 10.78.0.1/24 dev dummyR
cat > adopted_many.py << 'PY'
# adopted_many.py domains|listeners NUMBER: so many of them, from the first line of the input to the second
import ctypes, sys
from ual import context_of, made, ual
context = context_of("rxe0")
address = ctypes.create_string_buffer(64)
assert ual.ual_addr_parse(b"10.78.0.1", address) == 0
sys.stdin.readline()
for _ in range(int(sys.argv[2])):
    if sys.argv[1] == "domains":
        made(ual.ual_pd_create, context)
    else:
        made(ual.ual_listen, context, address, None)
sys.stdin.readline()
PY
holds domains 4 24 python3 adopted_many.py domains 1100
# the address is in the initial namespace
ip netns attach hostR 1
holds_on=R holds listeners 4 24 python3 adopted_many.py listeners 1100
ip netns delete hostR
rmmod krdma_hw
rdma link delete rxe0
rmmod rdma_rxe
ip link delete dummyR

# what the kernel's own thread makes of each connection: 3 KiB
holds requests 8 24 "$VM_PROGS/krdma_chardev" -c "$ADDR_A"

# a listener's sockets: what an accepted one has to send
sockets() { awk '$1 == "sock" { print int($2 / 1024) }' "$group"/memory.stat; }
more_sockets() { [ "$(sockets)" -ge 16 ]; }
no_sockets() { [ "$(sockets)" -le 4 ]; }
say "sockets that a worker accepts"
# shellcheck disable=SC2016 # the inner shell's own
serve server B 18600 bash -c 'echo $$ > "$1"; shift; exec "$@"' - "$group"/cgroup.procs \
	ib_read_bw -R -F -p 18600 -D 20
start client A ib_read_bw -R -F -p 18600 -D 20 "$ADDR_B"
wait_for 15 more_sockets || { show_logs; fail "only $(sockets) KiB of sockets are charged"; }
echo "charged: $(sockets) KiB"
rid_of client server
wait_for 10 no_sockets || fail "$(sockets) KiB of sockets stay charged"

# 24576 windows that name nothing: 256 bytes each, beside the RNIC's and the bridge's own
holds windows 7 24 python3 -c '
import sys
from pyverbs.device import Context
from pyverbs.mr import MW
from pyverbs.pd import PD
sys.stdin.readline()
domain = PD(Context(name="krdma0"))
windows = [MW(domain, 1) for _ in range(24576)]
sys.stdin.readline()
'

# a peer that begins an FPDU of 64 KiB on each connection, and stops
say "bounce"
kib() { awk '$1 == "kernel" { print int($2 / 1024) }' "$group"/memory.stat; }
more_than() { [ "$(kib)" -ge "$1" ]; }
start server A rping -s -P -a "$ADDR_A" -p 7400
echo "${pid_of[server]}" > "$group"/cgroup.procs
wait_for 10 listening A 7400 || fail "no listener"
mkfifo peer.in
start peer B bash -c 'exec "$@" < peer.in' - python3 -c '
import socket, struct, sys
peers = []
for _ in range(48):
    peer = socket.create_connection((sys.argv[1], 7400))
    peer.sendall(b"MPA ID Req Frame" + struct.pack(">BBH", 0x40, 1, 0))
    assert peer.recv(20, socket.MSG_WAITALL)[:16] == b"MPA ID Rep Frame"
    peers.append(peer)
print("connected", flush=True)
sys.stdin.readline()
for peer in peers:
    peer.sendall(struct.pack(">H", 65000) + bytes(60000))
sys.stdin.readline()
' "$ADDR_A"
exec 9> peer.in
wait_for 30 grep -q connected peer.log || { cat peer.log; fail "no connections"; }
# the charges of the group are reported with a delay
sleep 3
before=$(kib)
echo >&9
wait_for 30 more_than $((before + 2900)) || fail "$(kib) KiB are charged, and were $before before"
echo "charged: $before KiB, then $(kib) KiB"
echo >&9
exec 9>&-
finish peer 20
kill_hard server
wait_for 20 at_most 2 || fail "$(charged) MiB stay charged"

rmdir "$group"
umount "$groups"
