#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: the same random socket calls on TCP and on krdma_sdp, side by side: each answers the same, past the wire and over it, by protocol number and by family, IPv4 and IPv6
# covers: sdp tests/vm/progs/sdp_random tests/vm/progs/ops_change.cpp
# limit: 400
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"
# shellcheck source=tests/vm/guest/sdp.sh
. "$VM_REPO/tests/vm/guest/sdp.sh"

FAMILY=27 SDP=257
new=${VM_SEED:-$RANDOM}

# some COUNT: fewer in a quick run, and where each takes longer
some() { echo $(($1 / $(either 3 1) / VM_SLOW + 1)); }

# rounds SEED COUNT FAMILY PROTOCOL ADDRESS
rounds() {
	local rc=0
	on A timeout -k 5 "$(patient 200)" "$VM_PROGS/sdp_random" -w "$VM_SLOW" -s "$1" -r "$2" "${@:3}" > rounds.log 2>&1 || rc=$?
	tail -n 200 rounds.log
	cp rounds.log "$VM_OUT/rounds-$1-$3.log"
	all_sdp_gone
	[ $rc = 0 ] || fail "sdp_random ended with $rc"
}

# seeds that have found something, beyond those below
found() {
	local seed
	for seed in 1068 6950 9452 9453 9460 27459 73456 78457 100836 209516 212406 213609 217407; do
		rounds $seed 1 2 $SDP "$ADDR_A"
	done
	for seed in 100610 101108 101138; do
		rounds $seed 1 10 $SDP "$ADDR6_A"
	done
	rounds 207112 1 $FAMILY 0 "$ADDR_A"
}

# A bind() that is refused after a connect() that failed leaves nothing of the bind() before.
refused_bind() {
	on A python3 - $SDP "$ADDR_A" << 'EOF'
import errno, socket, sys

def refusal(call, address):
    try:
        call(address)
    except OSError as error:
        return errno.errorcode[error.errno]

def answers(protocol):
    taken, sock = (socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol) for _ in range(2))
    taken.bind((sys.argv[2], 0))
    sock.bind((sys.argv[2], 0))
    refusals = refusal(sock.connect, (sys.argv[2], 1)), refusal(sock.bind, taken.getsockname())
    sock.listen()
    return *refusals, sock.getsockname()[0]

tcp, sdp = answers(0), answers(int(sys.argv[1]))
print(tcp, sdp)
sys.exit(tcp != sdp)
EOF
}

# what a reader of a road sees who wants more than it holds, and one beside a reader who lends his memory
readers() {
	on A timeout "$(patient 60)" "$VM_PROGS/ops_change" -w "$VM_SLOW" -f $FAMILY "$ADDR_A" "$ADDR_A" \
		low_water low_water_full low_water_falls reader_copies reader_blocks
	all_sdp_gone
}

over_wire() {
	local seed
	same_host 0
	# these have found something
	for seed in 6376 7774 8454 11061 16528 17052 18439 20105 30118 40105 40135 40166 40182 50170; do
		rounds $seed 1 2 $SDP "$ADDR_A"
	done
	rounds "$new" "$(some 28)" 2 $SDP "$ADDR_A"
	same_host 1
}

hosts_up
ops_load addresses=1
sdp_load zcopy_thresh_soft=65536 zcopy_write=1
note_resources
say "new seed $new"
part "past the wire" rounds 1 "$(some 80)" 2 $SDP "$ADDR_A"
part "seeds that have found something" found
part "an address that is refused" refused_bind
part "readers" sdp_rises opened readers
part "by family" rounds 100 "$(some 20)" $FAMILY 0 "$ADDR_A"
part "IPv6" rounds 200 "$(some 20)" 10 $SDP "$ADDR6_A"
part "over the wire, and a new seed" over_wire

sdp_ends
hosts_down
parts_verdict
