#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# What the cases with kdapltest share: its module, a server, clients. Sourced by the cases.

kdt=$VM_PROGS/kdapltest
kdt_port=45248

kdt_load() {
	modprobe -q rdma_cm || true # where it is built in
	kdapl_load
	insmod "$VM_MODULES/tests/consumers/kdapltest.ko"
	wait_for 5 test -c /dev/kdapltest
}

# kdt_listens HOST: TCP has the listener, or rdma_cm that of an RNIC without TCP
kdt_listens() {
	listening "$1" $kdt_port || on "$1" rdma resource show cm_id | grep LISTEN | grep ":$kdt_port\b" > /dev/null
}

# kdt_serve HOST IA OPTION...: a server in the background, on the next port
kdt_serve() {
	local host=$1 ia=$2
	shift 2
	kdt_port=$((kdt_port + 1))
	start kdapl "$host" "$kdt" -T S -D "$ia" -n $kdt_port "$@"
	wait_for 20 kdt_listens "$host" || {
		cat kdapl.log
		fail "kdapltest does not listen on port $kdt_port"
	}
}

# kdt_served FAILURES: ^C ends the server, which counted that many
kdt_served() {
	# shellcheck disable=SC2154 # lib.sh's
	kill -INT "${pid_of[kdapl]}"
	finish kdapl 30
	cat kdapl.log
	has "failures of the server" ", $1 failures," kdapl.log
}

# kdt_client HOST IA ADDRESS OPTION...
kdt_client() {
	local host=$1 ia=$2 address=$3
	shift 3
	run_on "$host" "${kdt_limit:-120}" "$kdt" -D "$ia" -s "$address" -n $kdt_port "$@"
	cat client.log
}

# kdt_refuse TEXT WORDS HOST OPTION...: kdapltest fails, and says those words
kdt_refuse() {
	local text=$1 words=$2 host=$3
	shift 3
	refuse "$text" on "$host" timeout "$(patient 100)" "$kdt" "$@"
	has "$text" "$words" expect
}

# kdt_mixes HOST IA ADDRESS THREADS EPS ITERATIONS: transactions of each kind
kdt_mixes() {
	local host=$1 ia=$2 address=$3 t=$4 w=$5 i=$6
	kdt_client "$host" "$ia" "$address" -T T -t "$t" -w "$w" -i "$i" client SR 256 3 server RW 4096
	kdt_client "$host" "$ia" "$address" -T T -t "$t" -w "$w" -i "$i" server SR 1 client SR 1
	kdt_client "$host" "$ia" "$address" -T T -t "$t" -w "$w" -i "$i" \
		client RW 9000 2 server RR 12345 client RR 4k server RW 777 4 server SR 16k client SR 65
}

# kdt_rates HOST IA ADDRESS ITERATIONS OPTION...: a measurement of each kind
kdt_rates() {
	local host=$1 ia=$2 address=$3 i=$4 op
	shift 4
	for op in "SR 64" "SR 4k" "RW 64" "RW 64k" "RR 4k"; do
		# shellcheck disable=SC2086 # two words
		kdt_client "$host" "$ia" "$address" -T P -i "$i" "$@" -o $op
	done
}
