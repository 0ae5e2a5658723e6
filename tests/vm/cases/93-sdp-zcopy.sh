#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: zero copy of krdma_sdp: data compared, counted by mechanism; crossing transfers, signals, time limits, kills, RLIMIT_MEMLOCK, readers that do not fit; nothing stays pinned
# covers: sdp
# limit: 900
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"
# shellcheck source=tests/vm/guest/sdp_zcopy.sh
. "$VM_REPO/tests/vm/guest/sdp_zcopy.sh"

small_reads() {
	begin small_reads 3000000
	ends_well
	sent_is_received client server
	at_least "refusals" 1 "$(by zcopy-refusals)"
}

polled() {
	begin polled 3000000
	ends_well
	sent_is_received client server
	at_least "refusals" 1 "$(by zcopy-refusals)"
}

# pair MODE [ARGUMENT]: they check themselves
pair() {
	begin "$@"
	ends_well
}

vectors() {
	patience 20000
	pair vectors
	patience 200
	at_least "octets without copies" 6000000 "$(by tx-read)"
}

interrupted() { # SECONDS
	begin interrupted "$1"
	ends_well
	sent_is_received client server
	at_least "cuts" 1 "$(by zcopy-cuts)"
}

timed() {
	rm -f sender-went-on
	begin timed
	ends_well
	sent_is_received client server
	at_least "cuts" 1 "$(by zcopy-cuts)"
}

limited() {
	begin limited 2000000
	ends_well
	sent_is_received client server
	same "octets without copies" 0 "$(by tx-read)"
	at_least "failures" 1 "$(by zcopy-failures)"
}

threshold() {
	begin threshold
	ends_well
	sent_is_received client server
	same "octets without copies" 0 "$(by tx-read)"
	same "offers" 0 "$(by zcopy-offers)"
}

off() {
	parameter krdma_sdp zcopy_thresh_soft 0
	begin one_way 2000000
	ends_well
	parameter krdma_sdp zcopy_thresh_soft 65536
	sent_is_received client server
	same "offers" 0 "$(by zcopy-offers)"
}

refused_memory() {
	begin refused_memory
	ends_well
	sent_is_received client server
}

writers() {
	begin writers
	ends_well
	same "octets" "$(grep count client.log)" "$(grep count server.log)"
}

# killed NAME [READS]: in the middle of a transfer
killed() {
	begin endless "${2:-reads}"
	wait_for 60 grep -q connected client.log || fail "$(cat client.log)"
	sleep 1
	kill_hard "$1"
	if [ "$1" = server ]; then
		finish client 30
		has "the client learns it" '^ended' client.log
	else
		# its end is read; it sleeps
		kill_hard server
	fi
	all_sdp_gone
	wait_for 10 not_pinned || fail "$(pages_pinned) pages are pinned, $pinned_before were before"
}

rnic_goes() {
	begin endless
	wait_for 60 grep -q connected client.log || fail "$(cat client.log)"
	sleep 1
	on A rdma link delete krdma0
	finish client 30
	has "the client learns it" '^ended' client.log
	kill_hard server
	all_sdp_gone
	wait_for 10 not_pinned || fail "$(pages_pinned) pages are pinned, $pinned_before were before"
	rnic_add A
	wait_for 10 rnic_active krdma0
	one_way 1000000
}

over_wire() {
	same_host 0
	one_way 4000000
	both_ways 2000000
	same_host 1
}

hosts_up
ops_load addresses=1
sdp_load zcopy_thresh_soft=65536
note_resources
pinned_before=$(pages_pinned)

cat > shared_file.py << 'EOF'
import mmap, os, socket, sys
role, address, path = sys.argv[1:]
size = 4 << 20
data = bytes(i * 7 % 251 for i in range(251)) * (size // 251 + 1)
if role == "client":
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 257)
    sock.connect((address, 9320))
    sock.sendall(data[:size])
    sock.recv(1)
    sys.exit()
listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 257)
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind((address, 9320))
listener.listen()
print("listening", flush=True)
sock = listener.accept()[0]
with open(path, "w+b") as file:
    os.ftruncate(file.fileno(), size)
    memory = mmap.mmap(file.fileno(), size)
    view, got = memoryview(memory), 0
    while got < size:
        n = sock.recv_into(view[got:], 1 << 20, socket.MSG_WAITALL)
        assert n, "an early end"
        got += n
    assert view == data[:size], "other data"
    view.release()
    memory.close()
print("received", got, flush=True)
EOF

# shared_file PATH: a receive into a shared mapping of the file
shared_file() {
	note_counters
	start server B python3 shared_file.py server "$ADDR_B" "$1"
	wait_for 60 grep -q listening server.log || fail "$(cat server.log)"
	start client A python3 shared_file.py client "$ADDR_B" "$1"
	finish client 60
	finish server 60
	has "what came" 'received 4194304' server.log
}

memory_file() {
	shared_file /dev/shm/sdp-zcopy-file
	rm /dev/shm/sdp-zcopy-file
	at_least "octets without copies" 1000000 "$(by rx-read)"
}

part "one way" one_way 8000000
part "both ways" both_ways 8000000
part "many iovecs, MSG_WAITALL" vectors
part "readers that do not fit" small_reads
part "a reader that does not block, and poll()" polled
part "crossing transfers" pair crossing 100000
part "a reader that comes late" pair patient
part "a signal before the peer reads" interrupted 0.1
part "a signal while the peer reads" interrupted 1.5
part "SO_SNDTIMEO, and a peer that does not read" timed
part "RLIMIT_MEMLOCK is 0" limited
part "the option" threshold
part "off" off
part "memory that is not there" refused_memory
part "a shared mapping of memory" memory_file
part "several writers" writers
part "the sender is killed" killed client
part "the sender is killed while nobody reads" killed client "does not read"
part "the receiver is killed" killed server
part "the receiver is killed and has not read" killed server "does not read"
part "an RNIC goes" rnic_goes
part "over the wire" over_wire

sdp_ends
hosts_down
parts_verdict
