#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: what is laid down for TCP sockets holds for marked ones, and ordinary users get nothing by them: Landlock, BPF of cgroups, nft by owner and port, ports of others, sockets that ask for a road, SO_REUSEPORT, kTLS, sockmap, MD5, TCP_REPAIR, rights, memory cgroups
# covers: ops tests/vm/progs/ops_attack.py
# kernel: stock
# limit: 420
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"

export VM_SLOW
program=$VM_REPO/tests/vm/progs/ops_attack.py
attack() { timeout "$(patient 90)" python3 "$program" "$@"; }
# alike COMMAND...: on sockets that no rule takes, and on marked ones
alike() {
	expect "TCP: $*" attack --plain "$@"
	cat expect
	expect "marked: $*" attack "$@"
	cat expect
}

groups=$PWD/cgroup
ip link set lo up
modprobe -q tls || true
mkdir "$groups"
mount -t cgroup2 cgroup2 "$groups"
echo +memory > "$groups/cgroup.subtree_control"
mkdir "$groups/box"
ops_load explicit=0
attempt "sockets that ask by themselves, of a user, without a rule" by_tcp attack explicit
rises some no-rule attack explicit
mark_some
attempt "a connection" by_road attack works

attempt "Landlock" alike sandbox

# shellcheck disable=SC2016 # for the inner shell
in_group() { bash -c 'echo $$ > "$1/cgroup.procs"; shift; exec "$@"' - "$groups/$1" "${@:2}"; }
boxed() { in_group box timeout "$(patient 90)" python3 "$program" "$@"; }
cgroup_programs() {
	expect "TCP" boxed --plain cgroup_programs "$groups/box"
	expect "marked" boxed cgroup_programs "$groups/box"
}
attempt "programs of cgroups" cgroup_programs

firewall() {
	nft add table inet attack
	nft "add chain inet attack out { type filter hook output priority 0 ; }"
	nft add rule inet attack out meta skuid 65534 tcp dport 9530 reject with tcp reset
	alike firewall owner
	nft flush chain inet attack out
	nft add rule inet attack out tcp dport 9531 reject with tcp reset
	alike firewall port
	nft delete table inet attack
}
attempt "nft by owner and by port" firewall

attempt "ports of others" alike ports
attempt "SO_REUSEPORT" alike reuseport
kernel_tls() {
	alike tls
	attack tls "env LD_LIBRARY_PATH=$VM_REPO/build/ual $VM_REPO/build/tools/krdma offload reset"
}
attempt "kTLS" kernel_tls
sockmaps() {
	local direction
	alike sockmap
	for direction in connect listen; do
		krdma offload add $direction "$MARKED" port 9590 use tcp
	done
	by_tcp attack sockmap 9590 0
}
attempt "sockmap" sockmaps
attempt "MD5" alike md5

in_repair() {
	# shellcheck disable=SC2016 # for the inner shell
	setpriv --reuid=65534 --regid=65534 --clear-groups unshare -Urn bash -c '
		ip link set lo up
		export LD_LIBRARY_PATH=$1
		$2 offload add connect use any; $2 offload add listen use any
		python3 "$3" works || exit
		python3 "$3" repair || exit
		$2 offload stats --json' - "$VM_REPO/build/ual" "$VM_REPO/build/tools/krdma" "$program" > repair.json
	cat repair.json
	has "only the pair that TCP made" '"paired": *[012],?$' repair.json
}
attempt "numbers of the program's choice, by TCP_REPAIR" in_repair

as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all "$@"; }
rights() {
	local tool=(env "LD_LIBRARY_PATH=$VM_REPO/build/ual" "$VM_REPO/build/tools/krdma")
	refuse "a rule of a user" as_nobody "${tool[@]}" offload add connect use any
	refuse "no rule any more" as_nobody "${tool[@]}" offload flush
	refuse "the connections of others" as_nobody "${tool[@]}" offload reset
	refuse "nor of a user namespace in this network" as_nobody unshare -Ur "${tool[@]}" offload add connect use any
	unmark
	by_tcp attack works
	by_tcp as_nobody python3 "$program" works
	attack asks | tee asks
	mark_some
}
attempt "rights" rights

# alive WHERE NUMBER SIZE [--plain]: a listener in 64 MiB with so many peers is not killed; WHERE they
# are: a cgroup, or "." for the one of all
alive() {
	local peers=$1 number=$2 size=$3 plain=(${4:+"$4"}) small=small$RANDOM
	mkdir "$groups/$small"
	echo 64M > "$groups/$small/memory.max"
	[ "$peers" = . ] || peers=$small
	rm -f pressed
	in_group "$small" timeout "$(patient 120)" python3 "$program" "${plain[@]}" held "$number" > held.log 2>&1 &
	pid_of[held]=$!
	wait_for 20 listening_here 9560 || fail "nobody listens"
	in_group "$peers" timeout "$(patient 90)" python3 "$program" "${plain[@]}" press "$number" "$size" ||
		{ cat held.log "$groups/$small/memory.events"; fail "$*: the peers"; }
	wait "${pid_of[held]}" || { cat held.log "$groups/$small/memory.events"; fail "$*: the listener"; }
	cat held.log
	say "at most $(($(cat "$groups/$small/memory.peak") >> 10)) KiB"
	grep -q '^oom_kill 0$' "$groups/$small/memory.events" || fail "$*: somebody was killed"
	rmdir "$groups/$small"
}
attempt "a listener with 600 peers in 64 MiB, on TCP" alive . 600 30000 --plain
attempt "a listener with 600 peers in 64 MiB" alive . 600 30000
attempt "both ends of hundreds of connections in 64 MiB, on TCP" alive in 200 30000 --plain
attempt "both ends of hundreds of connections in 64 MiB" alive in 200 30000

all_gone
umount "$groups" || true
unload krdma_ops
attempts_verdict
