#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: a peer vanishes without FIN: keep-alive, TCP user time-out, connecting to an absent peer
# covers: kal/cm/llp kal/cm/endpoint kal/cm/ep_table kal/cm/ep_calls kal/cm/ep_view kal/cm/lanes kal/cm/conn kvp_soft/stream
# limit: 240
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

parameters=/sys/module/krdma/parameters
conns=$VM_PROGS/krdma_conns

counter() { # host, name
	on "$1" rdma statistic show link "$(dev_of "$1")/1" | grep -oE "\b$2 [0-9]+" | cut -d ' ' -f 2
}

cut_link() {
	local host
	for host in A B; do
		on $host tc qdisc add dev veth$host root netem loss 100%
	done
}

mend_link() {
	local host
	for host in A B; do
		on $host tc qdisc del dev veth$host root
	done
	wait_for 10 on A ping -q -c 1 -W 1 "$ADDR_B"
}

# vanish SECONDS ADDRESS OPTION...: 4 connections, then the link is cut: both sides' connections
# end by themselves, not before that many seconds
vanish() {
	local least=$1 address=$2 host lost begin
	shift 2
	lost=$(($(counter A llp_lost) + $(counter B llp_lost)))
	rm -f go
	serve server B 7175 "$conns" -s -n 4 -k go "$@" "$address"
	start client A "$conns" -n 4 -k go "$@" "$address"
	wait_for 60 grep -q 'all octets right' client.log || fail "$(cat client.log server.log)"
	wait_for 60 grep -q 'all octets right' server.log || fail "$(cat client.log server.log)"
	cut_link
	begin=$SECONDS
	touch go
	finish client 60
	finish server 60
	cat client.log server.log
	same "connections that were lost" 8 $(($(counter A llp_lost) + $(counter B llp_lost) - lost))
	[ $((SECONDS - begin)) -ge "$least" ] || fail "they ended too early"
	mend_link
	check_no_leak
}

say "parameters: wrong values are refused, and change nothing"
for setting in keepalive_time=32768 keepalive_interval=0 keepalive_interval=x keepalive_probes=0 \
	keepalive_probes=128 tcp_user_timeout_ms=2147483648 tcp_user_timeout_ms=-1; do
	before=$(cat $parameters/${setting%=*})
	refuse "$setting" bash -c "echo ${setting#*=} > $parameters/${setting%=*}"
	same "$setting" "$before" "$(cat $parameters/${setting%=*})"
done

hosts_up
note_resources
say "idle: keep-alive"
echo 2 > $parameters/keepalive_time
echo 1 > $parameters/keepalive_interval
echo 3000 > $parameters/tcp_user_timeout_ms
for address in $ADDR_B $ADDR6_B; do
	vanish 2 "$address" -e
done
say "idle: as many probes as keepalive_probes says"
echo 0 > $parameters/tcp_user_timeout_ms
echo 5 > $parameters/keepalive_probes
vanish 6 "$ADDR_B" -e
say "with Sends under way"
echo 30 > $parameters/keepalive_time
echo 3 > $parameters/keepalive_probes
echo 4000 > $parameters/tcp_user_timeout_ms
# the side that only receives has nothing but keep-alive to learn it from
echo 3 > $parameters/keepalive_time
vanish 3 "$ADDR_B" -ee -m 65536

say "no keep-alive: an idle connection outlives a gap"
echo 0 > $parameters/keepalive_time
echo 2000 > $parameters/tcp_user_timeout_ms
rm -f go
serve server B 7175 "$conns" -s -n 2 -k go "$ADDR_B"
start client A "$conns" -n 2 -k go "$ADDR_B"
wait_for 60 grep -q 'all octets right' client.log || fail "$(cat client.log server.log)"
cut_link
sleep 8
mend_link
touch go
finish client 30
finish server 30

say "nobody answers: the attempt ends in time"
echo 2000 > $parameters/connect_timeout_ms
echo 30000 > $parameters/tcp_user_timeout_ms
timeouts=$(counter A conn_timeout)
cut_link
refuse "a connection to nobody" on A timeout "$(patient 60)" "$conns" "$ADDR_B"
has "the reason" 'RDMA_CM_EVENT_(UNREACHABLE|REJECTED|CONNECT_ERROR)' expect
same "attempts that timed out" 1 $(($(counter A conn_timeout) - timeouts))
mend_link
check_no_leak
