#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: tshark decodes the traffic: no malformed frame, every CRC right
# covers: kvp_soft/wire kal/cm/mpa
# limit: 240
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

hosts_up
capture() { # name, command of the server, command of the client
	start dump A dumpcap -q -i vethA -f tcp -w "$VM_TMP/$1.pcapng"
	wait_for 30 grep -q 'File:' dump.log || { cat dump.log; fail "dumpcap does not capture"; }
	# shellcheck disable=SC2086
	serve server B 7471 $2
	# shellcheck disable=SC2086
	run_on A 60 $3
	finish server 30
	sleep 1
	kill -INT "${pid_of[dump]}"
	wait "${pid_of[dump]}" || true
	cp "$1.pcapng" "$VM_OUT/"
}

# what the messages carry is perftest's own, but tshark would take it for NFS or SMB
decode() {
	tshark -r "$VM_TMP/$1.pcapng" -o tcp.try_heuristic_first:TRUE --disable-protocol rpcordma \
		--disable-protocol smb_direct "${@:2}" 2> tshark.err
}

check_capture() {
	decode "$1" > summary
	decode "$1" -Y 'iwarp_mpa' -T fields -e frame.number | wc -l > mpa
	decode "$1" -V > "$1.txt"
	head -30 summary
	[ "$(cat mpa)" -gt 4 ] || fail "$1: tshark sees only $(cat mpa) MPA frames"
	# the digits of a good CRC may spell "bad"
	! grep -iE 'malformed|\(Bad CRC|Reassembly error' "$1.txt" > bad ||
		{ head bad; fail "$1: $(head -1 bad)"; }
	has "$1: a request" 'MPA Request|Request frame|Request Header' "$1.txt"
	has "$1: a reply" 'Reply frame|Reply Header' "$1.txt"
	has "$1: CRCs are checked" '\(Good CRC' "$1.txt"
}

capture rping "rping -s -a $ADDR_B -p 7471 -C 5 -V" "rping -c -a $ADDR_B -p 7471 -C 5 -V"
check_capture rping
for word in 'Send' 'Read Request' 'Read Response' 'Write'; do
	has "rping has $word" "$word" rping.txt
done
capture write "ib_write_bw -R -F -p 7471 -s 9000 -n 50" "ib_write_bw -R -F -p 7471 -s 9000 -n 50 $ADDR_B"
check_capture write
capture read "ib_read_bw -R -F -p 7471 -s 9000 -n 20" "ib_read_bw -R -F -p 7471 -s 9000 -n 20 $ADDR_B"
check_capture read
