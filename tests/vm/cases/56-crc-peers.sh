#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: CRC on and off by peer: two peers and both address families at once, changed at run time
# covers: kal/cm/crc_policy kal/cm/peers kal/core/crc32c
# limit: 240
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

policy=/sys/module/krdma/parameters/mpa_crc_peers
conns=$VM_PROGS/krdma_conns
other=10.77.0.3

# crc_is TEXT WANTED ADDRESS: a connection of A to that address has CRC, or not, on both sides
crc_is() {
	local host
	for host in A B; do
		same "CRC of $host, $1" "$2" "$(crc_of "$(dev_of $host)" "$3")"
	done
}
# the server's side has the address as source, the client's as destination
crc_of() {
	rdma resource show qp link "$1/1" -dd | grep -F "$2 " | grep -oE 'drv_crc [01]' | cut -d ' ' -f 2
}

hold() { # name, port, address
	serve "server-$1" B "$2" "$conns" -s -p "$2" -k go "$3"
	start "client-$1" A "$conns" -p "$2" -k go "$3"
	wait_for 60 grep -q 'all octets right' "client-$1.log" || fail "$(cat "client-$1.log")"
	wait_for 60 grep -q 'all octets right' "server-$1.log" || fail "$(cat "server-$1.log")"
}
release() {
	local name
	touch go
	for name in "$@"; do
		finish "client-$name" 60
		finish "server-$name" 60
	done
	rm go
}

hosts_up
on B ip address add $other/24 dev vethB
note_resources

say "off for one peer's address and for IPv6, on for the other"
echo "10.77.0.1=off,$ADDR_B/32=off,fd77::/16=off" > $policy
same "the policy" "10.77.0.1=off,$ADDR_B/32=off,fd77::/16=off" "$(cat $policy)"
hold one 7201 "$ADDR_B"
hold two 7202 $other
hold six 7203 "$ADDR6_B"
rdma resource show qp -dd
crc_is "off on both sides" 0 ":7201"
crc_is "asked for by one side" 1 ":7202"
crc_is "IPv6" 0 ":7203"

say "changed while they live: for new connections"
echo "10.77.0.0/24=off,10.77.0.0/30=on,$other=off" > $policy
hold three 7204 "$ADDR_B"
crc_is "one that was there before" 0 ":7201"
crc_is "a new one" 1 ":7204"
release one two six three

say "wrong policies are refused, and change nothing"
before=$(cat $policy)
for wrong in 10.0.0.0/8 10.0.0.0/8=maybe 10.0.0.1/8=on 10.0.0.0/33=on nonsense=on "10.0.0.0/8=on," \
	"10.0.0.0/8=on,10.0.0.0/8=off" "10.0.0.0/8=on 11.0.0.0/8=on" fd00::/129=on 300.0.0.1=on; do
	refuse "'$wrong'" bash -c "echo '$wrong' > $policy"
	same "the policy" "$before" "$(cat $policy)"
done

say "mpa_crc off, on for one peer; data of all sizes with either"
echo 0 > /sys/module/krdma/parameters/mpa_crc
echo "$other=on" > $policy
pattern_pair 65536
hold four 7205 $other
hold five 7206 "$ADDR_B"
crc_is "on for one peer" 1 ":7205"
crc_is "off for all others" 0 ":7206"
release four five
echo > $policy
same "no policy" "" "$(cat $policy)"
check_no_leak
