#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# What a case can say. Sourced by each case of tests/vm/cases through $VM_LIB,
# and by the guest's init, which loads the modules before a case and checks
# after it that nothing is left.
#
# Two "hosts" are the network namespaces hostA and hostB, joined by a veth
# pair; each has an RNIC on its end (krdma0, krdma1).

export ADDR_A=10.77.0.1 ADDR_B=10.77.0.2 ADDR6_A=fd77::1 ADDR6_B=fd77::2
export LINK_TYPE=${LINK_TYPE:-krdma}
VM_TMP=${VM_TMP:-/tmp/krdma-case}
# by how much a debug kernel is slower: a factor for time limits
VM_SLOW=${VM_SLOW:-1}
# what the guest was like before its first case, see note_start
VM_START=/run/krdma-vm

# with the seconds since the case began
say() { echo "== $SECONDS s: $*"; }

fail() {
	trap - ERR
	echo "failed: $*"
	show_state
	exit 1
}

# for a failure's report: the RNICs' objects, connections and counters
show_state() {
	local host
	rdma resource show
	rdma resource show qp
	for host in A B; do
		[ -e /run/netns/host$host ] || continue
		on $host rdma statistic show link "$(dev_of $host)/1" | tr -d '\n' |
			awk -v dev="$(dev_of $host)" '{ printf "counters of %s:", dev
				for (i = 3; i < NF; i += 2) if ($(i + 1)) printf " %s %s", $i, $(i + 1); print "" }' || true
	done
} 2> /dev/null

if [ -n "${VM_CASE:-}" ]; then
	set -Eeuo pipefail
	trap 'echo "failed: ${BASH_SOURCE[0]##*/}:$LINENO: $BASH_COMMAND"; show_state' ERR
	rm -rf "$VM_TMP"
	mkdir -p "$VM_TMP"
	cd "$VM_TMP"
fi

# expect TEXT COMMAND...: the command succeeds
expect() {
	local text=$1 rc=0
	shift
	"$@" > "$VM_TMP/expect" 2>&1 || rc=$?
	if [ $rc != 0 ]; then
		cat "$VM_TMP/expect"
		# programs of checks name the one that failed
		fail "$text: '$*' answered $rc$(sed -n '/FAILED/ { s/^/: /p; q }' "$VM_TMP/expect")"
	fi
}

# refuse TEXT COMMAND...: the command fails, and not by a signal or a time limit
refuse() {
	local text=$1 rc=0
	shift
	"$@" > "$VM_TMP/expect" 2>&1 || rc=$?
	cat "$VM_TMP/expect"
	[ $rc != 0 ] || fail "$text: '$*' succeeded"
	! abnormal $rc || fail "$text: '$*' ended with $rc"
}

# abnormal STATUS: that of "timeout", of a command that is not there, or of a signal
abnormal() { [ "$1" -ge 124 ] && [ "$1" -le 192 ]; }

# counted PASSED FAILED: the case stands for that many tests
counted() { echo "$1 $2" > "$VM_OUT/$VM_CASE.tests"; }

# same TEXT WANTED GOT
same() { [ "$2" = "$3" ] || fail "$1: wanted '$2', got '$3'"; }

# has TEXT REGEX FILE: a line of the file matches
has() {
	grep -qE -- "$2" "$3" && return
	cat "$3"
	fail "$1: no line matches '$2'"
}

# log_mark: a mark in the kernel's log; log_since: the lines behind it
log_mark() {
	log_marker="mark $RANDOM$RANDOM"
	echo "<6>$log_marker" > /dev/kmsg
}
log_since() { dmesg --color=never | sed "1,/$log_marker/d"; }

# patient SECONDS: that limit on this kernel, for "timeout"
patient() { echo $(($1 * VM_SLOW)); }

# few MANY...: only the first word of a list in a quick run, else all
few() { [ -n "${VM_QUICK:-}" ] && echo "$1" || echo "$*"; }

# either QUICK FULL: the one in a quick run, else the other
either() { [ -n "${VM_QUICK:-}" ] && echo "$1" || echo "$2"; }

# wait_for SECONDS COMMAND...: until the command succeeds
wait_for() {
	local end=$((SECONDS + $1 * VM_SLOW))
	shift
	until "$@" > /dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.1
	done
}

# on A|B COMMAND...: on that host
on() {
	local host=host$1
	shift
	ip netns exec "$host" "$@"
}

addr_of() { local v=ADDR_$1; echo "${!v}"; }
addr6_of() { local v=ADDR6_$1; echo "${!v}"; }
dev_of() { case $1 in A) echo krdma0 ;; B) echo krdma1 ;; esac; }

# modules ------------------------------------------------------------------

insmod_all() {
	insmod "$VM_MODULES/krdma.ko" && insmod "$VM_MODULES/krdma_soft.ko"
}

# what modprobe would load with a consumer of kDAPL; the end of the case unloads it
kdapl_load() { loaded krdma_kdapl || insmod "$VM_MODULES/krdma_kdapl.ko"; }

siw_load() {
	modprobe -q libcrc32c || true # where it is built in
	insmod "$VM_MODULES/build/${SIW_BUILD:-siw}/siw.ko"
}

# krdma_hw, which adopts each usable device, now and later
hw_load() { insmod "$VM_MODULES/krdma_hw.ko" devices='*'; }

loaded() { grep -q "^$1 " /proc/modules; }

# our_modules: names of the loaded modules that this tree builds, the newest first; not those that
# the guest had before its first case
our_modules() {
	awk '{ print $1 }' /proc/modules | grep -xF -f "$VM_START/ours" | grep -vxF -f "$VM_START/modules"
}

# rmmod_all: also the tests' own, which a case that died has left. Modules that others use go when
# those are gone; some can be removed only after a grace period.
rmmod_all() {
	local end=$((SECONDS + 60 * VM_SLOW)) module
	while our_modules > /dev/null; do
		for module in $(our_modules); do
			rmmod "$module" 2> "$VM_START/rmmod" || true
		done
		[ $SECONDS -lt $end ] || { cat "$VM_START/rmmod"; return 1; }
		! our_modules > /dev/null || sleep 0.1
	done
}

reload_modules() { rmmod_all && insmod_all; }

# hosts --------------------------------------------------------------------

# net_up [MTU]: the two hosts without RNICs
net_up() {
	local host mtu=${1:-1500}

	ip netns add hostA
	ip netns add hostB
	ip link add vethA mtu "$mtu" netns hostA type veth peer name vethB mtu "$mtu" netns hostB
	for host in A B; do
		on $host ip link set lo up
		on $host ip address add "$(addr_of $host)/24" dev veth$host
		on $host ip -6 address add "$(addr6_of $host)/64" dev veth$host nodad
		on $host ip link set veth$host up
	done
	wait_for 10 on A ping -q -c 1 -W 1 "$ADDR_B"
}

rnic_add() { on "$1" rdma link add "$(dev_of "$1")" type "$LINK_TYPE" netdev "veth$1"; }

rnic_active() { rdma -j link show "$1/1" | grep '"state":"ACTIVE"' > /dev/null; }

# hosts_up [MTU]: both with an active RNIC
hosts_up() {
	local host
	net_up "$@"
	for host in A B; do
		rnic_add $host
		wait_for 10 rnic_active "$(dev_of $host)" || fail "$(dev_of $host) does not become active"
	done
}

# rdma_devices [HOST]: names of those that the initial namespace, or that host, sees
rdma_devices() {
	${1:+on "$1"} rdma -j dev | tr ',' '\n' | sed -n 's/.*"ifname": *"\([^"]*\)".*/\1/p'
}

# TCP sockets of the guest, in whatever state
tcp_sockets() { awk '/^TCP:/ { print $9 }' /proc/net/sockstat; }

# each processor adds to its own part of a counter first: an unpin may show before its pin
pages_pinned() {
	echo 1 > /proc/sys/vm/stat_refresh
	awk '/^nr_foll_pin_acquired/ { a = $2 } /^nr_foll_pin_released/ { r = $2 }
	     END { print a - r }' /proc/vmstat
}

# rdma_delete [HOST]: all RDMA devices that the initial namespace, or that one, sees
rdma_delete() {
	local dev
	for dev in $(rdma_devices "$@"); do
		${1:+on "$1"} rdma link delete "$dev"
	done
}

hosts_down() {
	local host dev
	ip link set lo mtu 65536
	for host in A B; do
		[ ! -e /run/netns/host$host ] || rdma_delete $host
	done
	rdma_delete
	ip -all netns delete
	for dev in /sys/class/net/{veth,dummy}*; do
		[ ! -e "$dev" ] || ip link delete "${dev##*/}"
	done
	[ -z "$(rdma_devices)" ]
}

# what a case that died leaves ----------------------------------------------

guest_links() { ls /sys/class/net; }
guest_addresses() { ip -o address show dev lo | awk '{ print $4 }'; }
guest_rules() { { ip rule; ip -6 rule; } | sort; }

# note_start: remember the guest's modules, links, addresses and rules before its first case
note_start() {
	local part
	mkdir -p "$VM_START"
	find "$VM_MODULES" -maxdepth 1 -name '*.ko' > "$VM_START/built"
	for part in tests ulp build/siw; do
		[ ! -d "$VM_MODULES/$part" ] || find "$VM_MODULES/$part" -name '*.ko' >> "$VM_START/built"
	done
	# the kernel's names have no dashes
	sed 's|.*/||; s|\.ko$||; s|-|_|g' "$VM_START/built" > "$VM_START/ours"
	awk '{ print $1 }' /proc/modules > "$VM_START/modules"
	for part in links addresses rules; do
		guest_$part > "$VM_START/$part"
	done
}

# left_behind links|addresses|rules: those that were not there at the start
left_behind() { guest_"$1" | grep -vxF -f "$VM_START/$1" || true; }

# remove_left: RDMA devices, namespaces, links, addresses of lo, rules of routing and of the firewall that
# were not there before the first case. Says what it was.
remove_left() {
	local space dev rule family
	for space in $(ip netns list | awk '{ print $1 }'); do
		for dev in $(ip netns exec "$space" rdma -j dev | tr ',' '\n' |
			sed -n 's/.*"ifname": *"\([^"]*\)".*/\1/p'); do
			ip netns exec "$space" rdma link delete "$dev"
		done
	done
	# devices that belonged to a namespace return to the initial one
	hosts_down || true
	wait_for 10 hosts_down || { echo "left: RDMA devices $(rdma_devices)"; return 1; }
	for dev in $(left_behind links); do
		# deleted with another one
		[ -e "/sys/class/net/$dev" ] || continue
		echo "left: link $dev"
		# the kernel's own devices of a tunnel's kind cannot be deleted
		ip link delete "$dev" || echo "$dev" >> "$VM_START/links"
	done
	for dev in $(left_behind addresses); do
		echo "left: address $dev"
		ip address delete "$dev" dev lo
	done
	while read -r rule; do
		echo "left: rule $rule"
		for family in -4 -6; do
			# shellcheck disable=SC2086 # the words of the rule
			ip $family rule delete pref "${rule%%:*}" ${rule#*:} 2> /dev/null || true
		done
	done < <(left_behind rules)
	! command -v nft > /dev/null || ! loaded nf_tables || [ -z "$(nft list ruleset)" ] || {
		echo "left: rules of nft"
		nft flush ruleset
	}
	tc qdisc delete dev lo root 2> /dev/null || true
	[ -z "$(rdma_devices)$(ip netns list)" ]
}

# programs -----------------------------------------------------------------

listening() { [ -n "$(on "$1" ss -Hltn "sport = :$2")" ]; }

# start NAME HOST COMMAND...: in the background; output in $VM_TMP/NAME.log, its
# process in ${pid_of[NAME]}
declare -A pid_of
start() {
	local name=$1 host=$2
	shift 2
	say "$name on $host: $*"
	# exec in the namespace's shell keeps one process id for all of it
	ip netns exec "host$host" "$@" > "$VM_TMP/$name.log" 2>&1 &
	pid_of[$name]=$!
}

# serve NAME HOST PORT COMMAND...: start and wait until it listens
serve() {
	local name=$1 host=$2 port=$3
	shift 3
	start "$name" "$host" "$@"
	wait_for 30 listening "$host" "$port" || {
		cat "$VM_TMP/$name.log"
		fail "$name does not listen on port $port"
	}
}

# silent NAME HOST COUNT FROM TO PORT: TCP connections that say no more than the first 7 bytes of an
# MPA Request and stay until NAME is killed; returns when they are made
silent() {
	start "$1" "$2" python3 -c '
import socket, sys, time
count, source, to, port = int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
held = []
for _ in range(count):
    connection = socket.socket()
    connection.bind((source, 0))
    connection.connect((to, port))
    try:
        connection.send(b"MPA ID ")
    except OSError:
        pass
    held.append(connection)
print("open", flush=True)
while True:
    ended = 0
    for connection in held:
        try:
            ended += not connection.recv(1, socket.MSG_DONTWAIT)
        except BlockingIOError:
            pass
        except OSError:
            ended += 1
    print("ended:", ended, flush=True)
    time.sleep(0.2)
' "${@:3}"
	wait_for 30 grep -q open "$1.log" || fail "$(cat "$1.log")"
}

alive() { kill -0 "${pid_of[$1]}" 2> /dev/null; }
ended() { ! alive "$1"; }

# await_end NAME SECONDS: sets the caller's "status"
await_end() {
	if ! wait_for "$2" ended "$1"; then
		cat "$VM_TMP/$1.log"
		cat "/proc/${pid_of[$1]}/stack" || true
		fail "$1 still runs after $2 s"
	fi
	wait "${pid_of[$1]}" || status=$?
}

# finish NAME SECONDS: it ends by itself with status 0 in that time
finish() {
	local status=0
	await_end "$@"
	[ $status = 0 ] && return
	cat "$VM_TMP/$1.log"
	fail "$1 ended with $status"
}

# finish_any NAME SECONDS: as finish, with whatever status that is no crash
finish_any() {
	local status=0
	await_end "$@"
	! abnormal $status || fail "$1 ended with $status"
	say "$1 ended with $status"
}

# kill_hard NAME...: all of them run, and are killed together: once the first is gone another may
# end by itself
kill_hard() {
	local name pids=()
	for name; do
		if ended "$name"; then
			cat "$VM_TMP/$name.log"
			fail "$name ended before it was killed"
		fi
		pids+=("${pid_of[$name]}")
	done
	kill -9 "${pids[@]}"
	wait "${pids[@]}" || true
}

# rid_of NAME...: each is killed unless it has ended by itself
rid_of() {
	local name pids=()
	for name; do pids+=("${pid_of[$name]}"); done
	kill -9 "${pids[@]}" 2> /dev/null || true
	wait "${pids[@]}" || true
}

# run_on HOST SECONDS COMMAND...: succeeds in that time; its output is kept in
# $VM_TMP/client.log
run_on() {
	local host=$1 limit=$2 rc=0
	shift 2
	say "$host: $*"
	on "$host" timeout -k 5 "$(patient "$limit")" "$@" > "$VM_TMP/client.log" 2>&1 || rc=$?
	[ $rc = 0 ] && return
	cat "$VM_TMP/client.log"
	show_logs
	fail "'$*' ended with $rc"
}

# logs of everything in the background, for a failure's report
show_logs() {
	local name
	for name in "${!pid_of[@]}"; do
		echo "--- output of $name"
		cat "$VM_TMP/$name.log"
	done
}

# too_early LOG: perftest makes two connections, and its client may be faster with
# the second than its server is with listening for it. That is refused by TCP; siw
# says so in rdma_connect() already.
too_early() { grep -qE 'EVENT_REJECTED; error: -111|ERRNO: Connection refused' "$1"; }

# where the server and the client of a pair run
server_host=B client_host=A
# the options of both ends of pattern_pair beyond port and size
pattern_options=()

# perf_pair PROGRAM OPTION...: server and client, both must succeed; a client that was
# too early begins again.
perf_port=18515
perf_pair() {
	local program=$1 tries=5 rc
	shift
	while :; do
		perf_port=$((perf_port + 1)) rc=0 tries=$((tries - 1))
		serve perf "$server_host" $perf_port "$program" -R -F -p $perf_port "$@"
		say "$client_host: $program -R -F -p $perf_port $* $(addr_of "$server_host")"
		on "$client_host" timeout -k 5 "$(patient "${perf_limit:-60}")" "$program" -R -F -p $perf_port "$@" \
			"$(addr_of "$server_host")" > "$VM_TMP/client.log" 2>&1 || rc=$?
		if [ $rc = 0 ]; then
			finish perf 20
			break
		fi
		if [ $tries = 0 ] || ! too_early "$VM_TMP/client.log"; then
			cat "$VM_TMP/client.log"
			show_logs
			fail "'$program $*' ended with $rc"
		fi
		rid_of perf
	done
	perf_result "$VM_TMP/client.log"
}

# counted_by_both COUNTER...: of both RNICs, the sum
counted_by_both() {
	local host
	for host in A B; do
		on $host rdma statistic show link "$(dev_of $host)/1"
	done | awk -v names=" $* " '{ for (i = 1; i < NF; i++) if (index(names, " " $i " ")) sum += $(i + 1) }
		END { printf "%.0f\n", sum }'
}

# octets_sent: by both RNICs so far, through TCP and beside it
octets_sent() { counted_by_both tx_bytes same_host_bytes; }

# same_host WHICH: streams that may leave TCP from now on: 0 none, 1 in a namespace, 2 all
same_host() { echo "$1" > /sys/module/krdma_soft/parameters/same_host; }

# flows_or_ended OCTETS NAME: much more was sent than that, or the program ended
flows_or_ended() { ended "$2" || [ $(($(octets_sent) - $1)) -gt 1000000 ]; }

# traffic PROGRAM OPTION...: "server" on B and "client" on A run, and data flows. A
# client that was too early begins again.
traffic() {
	local program=$1 tries=5 before
	shift
	while :; do
		perf_port=$((perf_port + 1)) tries=$((tries - 1)) before=$(octets_sent)
		serve server B $perf_port "$program" -R -F -p $perf_port "$@"
		start client A "$program" -R -F -p $perf_port "$@" "$ADDR_B"
		if wait_for 40 flows_or_ended "$before" client && alive client; then
			sleep 1
			return
		fi
		if [ $tries = 0 ] || alive client || ! too_early "$VM_TMP/client.log"; then
			show_logs
			fail "no traffic of '$program $*'"
		fi
		wait "${pid_of[client]}" || true
		rid_of server
	done
}

# perf_clock_known FILE: perftest could measure its clock; else its figures are 0, and the line
# that says so is printed. It may stand in the middle of another.
perf_clock_known() { ! grep 'Correlation coefficient' "$1"; }

# perf_result FILE: the table has lines of figures, the iterations and the last column (messages
# a second, or the worst latency) of each above 0. perftest measures its clock as it begins; what
# it finds on a machine that is busy may be nonsense, and it says so: all figures are 0 then, but
# not the iterations.
perf_result() {
	local clock=1
	grep -E '^ [0-9]+ +[0-9]+ ' "$1" || { cat "$1"; fail "no figures"; }
	perf_clock_known "$1" || clock=0
	awk -v clock=$clock '/^ [0-9]+ +[0-9]+ / && ($2 <= 0 || clock && $NF <= 0) { bad = 1 }
		END { exit bad }' "$1" || { cat "$1"; fail "a figure is 0"; }
}

# pattern_pair [MAXSIZE]: data of all sizes up to that there and back by Send,
# RDMA Write and RDMA Read, every byte compared
pattern_pair() {
	local max=${1:-67108864}
	local address port=7300

	address=$(addr_of "$server_host")
	serve pattern "$server_host" $port "$VM_PROGS/krdma_pattern" -s "${pattern_options[@]}" -p $port \
		-m "$max" "$address"
	run_on "$client_host" "${pattern_limit:-240}" "$VM_PROGS/krdma_pattern" "${pattern_options[@]}" \
		-p $port -m "$max" "$address"
	cat client.log
	finish pattern 30
}

# leaks --------------------------------------------------------------------

# resources DEVICE: pd, cq, qp, cm_id and mr counts on one line
resources() { rdma resource show "$1" | sed 's/^[0-9]*: [^:]*: //; s/ ctx [0-9]*//'; }

# resources that a device has with no user, for check_no_leak
note_resources() {
	res_a=$(resources krdma0)
	res_b=$(resources krdma1)
}

resources_back() { [ "$(resources krdma0)" = "$res_a" ] && [ "$(resources krdma1)" = "$res_b" ]; }

# check_no_leak: the same as at note_resources, at last
check_no_leak() {
	wait_for 15 resources_back && return
	rdma resource show qp
	rdma resource show cm_id
	fail "leaked: '$res_a' -> '$(resources krdma0)', '$res_b' -> '$(resources krdma1)'"
}

# kill_in_traffic OPERATION...: kill -9 of either side in the middle of each: the other
# one ends and nothing stays
kill_in_traffic() {
	local op victim other
	for op; do
		for victim in client server; do
			traffic "ib_${op}_bw" -D 120 -q 2
			say "kill -9 of the $victim"
			kill_hard $victim
			[ $victim = client ] && other=server || other=client
			# bandwidth programs that only post never look at connection events
			if ! wait_for 20 ended "$other"; then
				kill -INT "${pid_of[$other]}"
				wait_for 5 ended "$other" || rid_of "$other"
			fi
			check_no_leak
		done
	done
}

# counter_of DEVICE NAME
counter_of() {
	rdma statistic show link "$1/1" | grep -oE "\b$2 [0-9]+" | awk '{ print $2 }'
}

# went_by 0|1 COMMAND...: host A's connections that it makes with itself go through TCP, or
# beside it
went_by() {
	local path=$1 fpdus segments
	shift
	same_host "$path"
	fpdus=$(counter_of krdma0 tx_fpdus) segments=$(counter_of krdma0 same_host_segments)
	"$@"
	fpdus=$(($(counter_of krdma0 tx_fpdus) - fpdus))
	segments=$(($(counter_of krdma0 same_host_segments) - segments))
	say "$fpdus FPDUs through TCP, $segments segments beside it"
	if [ "$path" = 0 ]; then
		[ $fpdus -gt 20 ] || fail "hardly anything went over the wire"
		same "segments beside TCP" 0 $segments
	else
		[ $segments -gt 20 ] || fail "hardly anything went beside TCP: $segments segments, $fpdus FPDUs through TCP"
	fi
}

# both_ways COMMAND...: of host A with itself: through TCP, and beside it
both_ways() {
	local path
	for path in 0 1; do
		went_by $path "$@"
		cat client.log
		check_no_leak
	done
}

# what each process waits for, and each thread of the kernel that cannot be interrupted
dump_waiting() {
	local pid
	for pid in /proc/[0-9]*; do
		[ -e "$pid/exe" ] || grep -qs '^State:.D' "$pid/status" || continue
		echo "--- ${pid#/proc/} $(cat "$pid/comm"): $(tr '\0' ' ' < "$pid/cmdline")"
		cat "$pid/stack"
	done
} 2> /dev/null
