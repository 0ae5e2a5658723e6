#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: "rdma resource show cm_id -dd" shows connections and listeners, also during teardown
# covers: kal/ib/cm_table kal/ib/restrack kal/cm
# limit: 120
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

conns=$VM_PROGS/krdma_conns

# ids HOST STATE: that host's in this state of rdma_cm, one a line
ids() {
	rdma resource show cm_id link "$(dev_of "$1")/1" state "$2" -dd | tr -s '\n\t ' ' ' |
		sed 's/ link /\n&/g'
}

# field HOST STATE NAME: of the only one
field() { ids "$1" "$2" | grep -oE " drv_$3 [^ ]+" | sed 's/.* //'; }

# nothing_agreed HOST: there are no MPA parameters yet
nothing_agreed() {
	if ids "$1" CONNECT | grep drv_mpa_rev; then fail "MPA parameters too early"; fi
}

waits() { [ "$(field B LISTEN pending)" = "$1" ]; }

hosts_up
note_resources
serve server B 7175 "$conns" -s -k go "$ADDR_B"

say "a listener"
ids B LISTEN
same "state" listening "$(field B LISTEN state)"
[ "$(field B LISTEN backlog)" -gt 0 ] || fail "no backlog"
same "connections in TCP" 0 "$(field B LISTEN waiting)"
same "half-open ones" 0 "$(field B LISTEN pending)"
start half_open A bash -c "exec 3<> /dev/tcp/$ADDR_B/7175; exec sleep 60"
expect "a half-open one" wait_for 10 waits 1
kill_hard half_open
expect "and its end" wait_for 10 waits 0

say "a connection"
start client A "$conns" -k go "$ADDR_B"
for side in client server; do
	wait_for 60 grep -q 'all octets right' $side.log || fail "$(cat client.log server.log)"
done
ids A CONNECT
ids B CONNECT
same "side" initiator "$(field A CONNECT side)"
same "side" responder "$(field B CONNECT side)"
for host in A B; do
	same "state" connected "$(field $host CONNECT state)"
	same "MPA revision" 2 "$(field $host CONNECT mpa_rev)"
	same "CRC" 1 "$(field $host CONNECT crc)"
	same "markers" none "$(field $host CONNECT markers)"
	same "IRD" 1 "$(field $host CONNECT ird)"
	same "ORD" 1 "$(field $host CONNECT ord)"
done
touch go
finish client 60
finish server 60

say "a peer that does not answer"
serve silent B 7176 python3 -c "import socket; s = socket.create_server(('$ADDR_B', 7176)); c = s.accept()[0]
while c.recv(4096): pass"
start client A "$conns" -p 7176 "$ADDR_B"
asked() { [ "$(field A CONNECT state)" = reply-wait ]; }
expect "it waits" wait_for 20 asked
left=$(field A CONNECT expires_ms)
[ "$left" -gt 1000 ] && [ "$left" -le 30000 ] || fail "waits for $left ms"
kill_hard silent
finish_any client 60

say "no answer to the SYN"
expect "B's link address" on A ping -c 1 -W 10 "$ADDR_B"
expect "no packet leaves A" on A tc qdisc add dev vethA root netem loss 100%
start client A "$conns" -p 7177 "$ADDR_B"
connecting() { [ "$(field A CONNECT state)" = connecting ]; }
expect "it waits" wait_for 20 connecting
left=$(field A CONNECT expires_ms)
[ "$left" -gt 1000 ] && [ "$left" -le 30000 ] || fail "waits for $left ms"
nothing_agreed A
kill_hard client
expect "packets leave A" on A tc qdisc del dev vethA root
expect "it is gone" wait_for 10 resources_back

say "a request that nobody has answered yet"
cat > slow.py << 'END'
import sys, time
from pyverbs.cmid import AddrInfo, CMEvent, CMEventChannel, CMID
from pyverbs.cm_enums import RAI_PASSIVE, RDMA_CM_EVENT_CONNECT_REQUEST, RDMA_PS_TCP

channel = CMEventChannel()
listener = CMID(creator=channel, port_space=RDMA_PS_TCP)
listener.bind_addr(AddrInfo(src=sys.argv[1], src_service="7178", port_space=RDMA_PS_TCP, flags=RAI_PASSIVE))
listener.listen()
request = CMEvent(channel)
assert request.event_type == RDMA_CM_EVENT_CONNECT_REQUEST
child = CMID(creator=request, listen_id=listener)
request.ack_cm_event()
time.sleep(60)
END
serve slow B 7178 python3 slow.py "$ADDR_B"
start client A "$conns" -p 7178 "$ADDR_B"
undecided() { [ "$(field B CONNECT state)" = decision-wait ] && [ "$(field A CONNECT state)" = reply-wait ]; }
expect "it waits" wait_for 30 undecided
ids B CONNECT
left=$(field B CONNECT expires_ms)
[ "$left" -gt 1000 ] || fail "waits for $left ms"
nothing_agreed B
kill_hard slow
finish_any client 60
expect "both are gone" wait_for 10 resources_back

say "asked all the time, beside connections that come and go"
touch ask
while [ -e ask ]; do
	rdma resource show cm_id -dd >> asked 2>&1 || touch refused
done &
asking=$!
for _ in 1 2 3; do
	serve server B 7175 "$conns" -s -n 60 "$ADDR_B"
	run_on A 60 "$conns" -n 60 "$ADDR_B"
	finish server 60
	serve server B 7175 "$conns" -s -n 60 "$ADDR_B"
	start client A "$conns" -n 60 "$ADDR_B"
	sleep 0.3
	# it may have come to its end
	rid_of server
	finish_any client 60
done
rm ask
wait $asking
[ ! -e refused ] || fail "it was refused: $(tail -3 asked)"
for state in listening connected; do
	has "somebody was seen" "drv_state $state" asked
done
check_no_leak
