#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: connections that send nothing do not keep clients out: the oldest one of the address with most of them is evicted
# covers: kal/cm
# limit: 90
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

other=10.77.0.3 third=10.77.0.4
hosts_up
on A ip address add $other/24 dev vethA
on A ip address add $third/24 dev vethA
# so that only eviction ends a silent connection
echo 60000 > /sys/module/krdma/parameters/mpa_request_timeout_ms
evicted() {
	on B rdma -j statistic show link krdma1/1 | grep -o '"listen_evicted":[0-9]*' | cut -d: -f2
}
# client ADDRESS: from there; in how many milliseconds
client() {
	local begin
	begin=$(date +%s%3N)
	run_on A 20 rping -c -C 1 -I "$1" -a "$ADDR_B" -p 7174
	milliseconds=$(($(date +%s%3N) - begin))
	say "a client from $1 took $milliseconds ms"
}

serve server B 7174 rping -s -P -a "$ADDR_B" -p 7174
client $other
# without a peer that is silent; a process' start is most of it
alone=$milliseconds

silent few A 2 $third "$ADDR_B" 7174
silent flood A 400 "$ADDR_A" "$ADDR_B" 7174
client $other
[ "$milliseconds" -lt $((alone + $(patient 500))) ] || fail "the client had to wait"
client "$ADDR_A"
[ "$milliseconds" -lt $((alone + $(patient 500))) ] || fail "the client had to wait"
# 2 + 400 + one at a time of the clients', 256 of which may be pending
[ "$(evicted)" -ge 146 ] || fail "counter listen_evicted: $(evicted)"
wait_for 5 grep -qE 'ended: 1[0-9][0-9]' flood.log || fail "nothing of the flood was ended"
tail -1 few.log
same "silent connections of another address that ended" "ended: 0" "$(tail -1 few.log)"
kill_hard server few flood
