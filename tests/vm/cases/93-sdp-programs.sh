#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: unmodified servers and their clients on two hosts give the same results on TCP and under krun over SDP, and their bytes go by SDP: nginx, wrk, haproxy, memcached, rsync, redis, PostgreSQL, ssh, Java
# covers: sdp ops uapi/krun
# kernel: stock
# limit: 900
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"
# shellcheck source=tests/vm/guest/sdp.sh
. "$VM_REPO/tests/vm/guest/sdp.sh"
# shellcheck source=tests/vm/guest/programs.sh
. "$VM_REPO/tests/vm/guest/programs.sh"

# they share the files, and nothing else
at=$ADDR_B
server_in=(ip netns exec hostB) client_in=(ip netns exec hostA)

# what the connections of the namespaces have moved by SDP
by_sdp() { echo $(($(sdp_stat rx-copied) + $(sdp_stat rx-read))); }

# in the mode "sdp": each program makes connections of SDP, and moves that much by them
declare -A least=([web]=20000000 [cache]=1000000 [files]=1000000 [store]=3000000 [database]=500000 [shell]=2000000)
one_program() {
	local before accepted
	if [ "$mode" != sdp ]; then
		"$@"
		return
	fi
	before=$(by_sdp) accepted=$(sdp_stat accepted)
	"$@"
	before=$(($(by_sdp) - before)) accepted=$(($(sdp_stat accepted) - accepted))
	say "$1: $accepted connections, $before bytes by SDP" >&2
	[ $accepted -gt 0 ] || fail "$1: no connection of SDP"
	[ $before -ge "${least[$1]}" ] || fail "$1: $before bytes by SDP, fewer than ${least[$1]}"
}

shell() {
	mkdir -p keys
	[ -e keys/host ] || ssh-keygen -q -t ed25519 -N '' -f keys/host
	[ -e keys/user ] || ssh-keygen -q -t ed25519 -N '' -f keys/user
	cp keys/user.pub keys/authorized
	chmod 700 keys
	mkdir -p /run/sshd
	[ -e keys/data ] || head -c 3000000 /dev/urandom > keys/data
	background sshd 2222 /usr/sbin/sshd -D -e -p 2222 -o "ListenAddress=$at" -h "$PWD/keys/host" \
		-o "AuthorizedKeysFile=$PWD/keys/authorized" -o StrictModes=no -o UsePAM=no -o PidFile=none \
		-o PermitRootLogin=yes
	local to=(-p 2222 -i keys/user -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o BatchMode=yes "root@$at")
	quietly ssh "${to[@]}" "cat $PWD/keys/data > $PWD/keys/copy && echo done; exit 7" && fail "ssh's status is lost"
	return 0
}

hosts_up
left_out nginx wrk haproxy memcached rsync redis-server "$postgres/postgres" /usr/sbin/sshd
results tcp
ops_load bad_peer_s=1
expect "SDP loads" insmod "$VM_MODULES/krdma_sdp.ko"
by=("$krun")
results sdp
all_sdp_gone
sdp_ends
hosts_down
counted $(($(wc -l < tcp.results) * 2)) 0
