#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: "rdma resource show qp -dd" shows a connection; every tracepoint
# covers: kal/ib/restrack kal/core/trace kvp_soft/trace
# limit: 240
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

conns=$VM_PROGS/krdma_conns
trace=/sys/kernel/tracing

# field HOST NAME: of that host's only QP
field() {
	rdma resource show qp link "$(dev_of "$1")/1" -dd | grep -oE " drv_$2 [^ ]+" | sed 's/.* //'
}

hosts_up
note_resources
echo 4096 > $trace/buffer_size_kb
echo 1 > $trace/events/krdma/enable
echo 1 > $trace/events/krdma_soft/enable
serve server B 7175 "$conns" -s -m 100000 -k go "$ADDR_B"
start client A "$conns" -m 100000 -k go "$ADDR_B"
for side in client server; do
	wait_for 60 grep -q 'all octets right' $side.log || fail "$(cat client.log server.log)"
done
rdma resource show qp -dd

say "the connection"
same "peer" "$ADDR_B:7175" "$(field A dst)"
same "own address" "$ADDR_B:7175" "$(field B src)"
same "the peer's address" "$(field A src)" "$(field B dst)"
same "side" initiator "$(field A side)"
same "side" responder "$(field B side)"
for host in A B; do
	same "MPA revision" 2 "$(field $host mpa_rev)"
	same "CRC" 1 "$(field $host crc)"
	same "markers" none "$(field $host markers)"
	same "MSS" 1448 "$(field $host mss)"
	same "IRD" 1 "$(field $host ird)"
	same "ORD" 1 "$(field $host ord)"
	same "Reads that wait" 00 "$(field $host reads_in)$(field $host reads_out)"
	[ "$(field $host cwnd)" -gt 0 ] || fail "no congestion window"
	[ "$(field $host srtt_us)" -gt 0 ] || fail "no round-trip time"
done

say "the traffic: what one side sends the other receives"
for what in bytes fpdus messages; do
	same "$what from A to B" "$(field A tx_$what)" "$(field B rx_$what)"
	same "$what from B to A" "$(field B tx_$what)" "$(field A rx_$what)"
done
# the initiator's ready-to-receive frame is a message, too
same "messages of A" 2 "$(field A tx_messages)"
same "messages of B" 1 "$(field B tx_messages)"
# 1448 less 2 of ULPDU_Length, 18 of header, 4 of CRC
same "FPDUs of B" $(((100000 + 1423) / 1424)) "$(field B tx_fpdus)"
same "octets of B" $((100000 + 71 * 24)) "$(field B tx_bytes)"

say "retransmissions"
# a slow machine makes TCP believe in a loss now and then
[ "$(field A retransmissions)" -lt 5 ] || fail "many retransmissions without loss"
touch go
finish client 60
finish server 60
on A tc qdisc add dev vethA root netem loss 30%
rm go
serve server B 7175 "$conns" -s -m 1000000 -k go "$ADDR_B"
start client A "$conns" -m 1000000 -k go "$ADDR_B"
wait_for 120 grep -q 'all octets right' client.log || fail "$(cat client.log server.log)"
[ "$(field A retransmissions)" -gt 20 ] || fail "none with 30 % loss"
on A tc qdisc del dev vethA root
touch go
finish client 60
finish server 60

say "a Send that is too long for its receive"
serve server B 7175 "$conns" -s -m 1000 "$ADDR_B"
refuse "the client" on A timeout "$(patient 60)" "$conns" -m 2000 "$ADDR_B"
finish_any server 60

echo 0 > $trace/events/enable
for name in rnic_register rnic_unregister object_create object_destroy ep_step ep_event mpa_frame \
	async_event; do
	[ -d $trace/events/krdma/$name ] || fail "no tracepoint $name"
done
cp $trace/trace events
for name in object_create object_destroy ep_step ep_event mpa_frame soft_qp_state soft_wr \
	soft_fpdu soft_send soft_recv soft_completion soft_terminate soft_fail; do
	has "tracepoint" " $name: " events
done
has "the Terminate, sent" 'soft_terminate: qpn=[0-9]+ sent layer=1 etype=2 code=0x05' events
has "the Terminate, received" 'soft_terminate: qpn=[0-9]+ received layer=1 etype=2 code=0x05' events
has "the failure" 'soft_fail: qpn=[0-9]+ by=us layer=1 etype=2 code=0x05' events
has "and the peer's" 'soft_fail: qpn=[0-9]+ by=peer layer=1 etype=2 code=0x05' events
has "the work request" 'soft_wr: .* len=100000 error=0' events
has "the completion" 'soft_completion: .* len=100000 status=0' events
check_no_leak
