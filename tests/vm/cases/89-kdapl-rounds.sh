#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: kdapltest: 1000 times connect, transfer, disconnect; afterwards each object and all memory is back
# covers: kal/kdapl kal/cm kal/core/resource kvp_soft/stream tests/consumers
# limit: 400
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/kdapltest.sh
. "${VM_LIB%/*}/kdapltest.sh"

export LD_LIBRARY_PATH=$VM_REPO/build/ual
krdma=$VM_REPO/build/tools/krdma
rounds=$(either 200 1000)
# The debug kernel keeps each call stack of an allocation once: it needs more rounds until there are no new ones.
first=50
[ "$VM_SLOW" = 1 ] || first=$rounds

memory() { awk -v what="$1:" '$1 == what { print $2 }' /proc/meminfo; }

# settled: what is freed late is back, and what is cached does not count. Shrinking empties KASAN's
# quarantine, too. Loading a module ends the mappings that vfree() has left, and their shadow.
settled() {
	local cache

	rmmod kdapltest
	kdt_load
	sync
	echo 3 > /proc/sys/vm/drop_caches
	sleep 2
	for cache in /sys/kernel/slab/*/shrink; do
		[ -L "${cache%/shrink}" ] || echo 1 > "$cache"
	done
}

# grown TEXT BEFORE NOW: by less than 3 KiB in each of 1000 rounds
grown() {
	say "$1: $2 -> $3 KiB in $rounds rounds"
	[ $(($3 - $2)) -lt 3000 ] || fail "$1: grown"
}

# objects: all that the kAL has, of each RNIC
objects() {
	local host

	for host in A B; do
		on $host "$krdma" resource --json
	done
}
objects_back() { [ "$(objects)" = "$objects_before" ]; }

# go ROUNDS: each opens the IA, makes all objects, and ends them
go() {
	kdt_serve B krdma1
	kdt_limit=300 kdt_client A krdma0 "$ADDR_B" -T T -r "$1" -i 1 client SR 256 server RW 4096 client RR 1k
	kdt_served 0
	has "connections of the server" "\b$1 connections" kdapl.log
	wait_for 15 objects_back || fail "leaked: $objects_before -> $(objects)"
}

hosts_up
# a connection in TIME_WAIT has memory for a minute
for host in A B; do
	on $host sysctl -qw net.ipv4.tcp_max_tw_buckets=0
done
kdt_load
note_resources
objects_before=$(objects)

say "everything is loaded and allocated once"
go "$first"
settled
available=$(memory MemAvailable) slab=$(memory Slab) vmalloc=$(memory VmallocUsed)

say "$rounds rounds"
go "$rounds"
settled
grown "memory that is not available" $((-available)) $((-$(memory MemAvailable)))
grown "slabs" "$slab" "$(memory Slab)"
grown "vmalloc()" "$vmalloc" "$(memory VmallocUsed)"
check_no_leak
rmmod kdapltest
