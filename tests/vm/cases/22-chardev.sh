#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: /dev/krdma with its ABI alone: commands, data, connections, events, kill -9, removal, races
# covers: kal/chardev kal/core/resource uapi/include
# limit: 300
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

export PATH=$VM_REPO/build/tools:$PATH LD_LIBRARY_PATH=$VM_REPO/build/ual
chardev=$VM_PROGS/krdma_chardev

# objects of the two RNICs by kind, contexts included: the kAL's count, "rdma resource" knows its own only
objects() { for host in A B; do on $host krdma resource | grep '^krdma'; done; }

# no object of any kind is left
nothing_left() { [ "$(objects)" = "$objects_before" ]; }

hosts_up
# a check has the link go down and come up
on A sysctl -q net.ipv6.conf.vethA.keep_addr_on_down=1
objects_before=$(objects)
same "mode of /dev/krdma" "666" "$(stat -c %a /dev/krdma)"

say "checks, through TCP and beside it"
for path in 0 1; do
	same_host $path
	run_on A 120 "$chardev" "$ADDR_A"
	cat client.log
	wait_for 10 nothing_left || fail "left: $(objects)"
done
tests=$(awk '/ passed, / { print $1 }' client.log)

# a kernel may be built without
if [ -e /proc/sys/abi/vsyscall32 ]; then
	say "by a 32-bit program"
	expect "32 bits" on A "$VM_PROGS/chardev32"
	nothing_left || fail "left: $(objects)"
fi

say "private data, as much as MPA has"
for revision in 1 2; do
	echo $revision > /sys/module/krdma/parameters/mpa_revision
	run_on A 60 "$chardev" -p "$ADDR_A"
	has "all of it" "up to $((516 - 4 * revision)) octets" client.log
done

say "the end of a file with many endpoints"
run_on A 120 "$chardev" -t "$ADDR_A"
cat client.log
wait_for 10 nothing_left || fail "left: $(objects)"

say "all PDs of the RNIC"
run_on A 120 "$chardev" -m "$ADDR_A"
wait_for 10 nothing_left || fail "left: $(objects)"

say "killed in traffic"
for delay in 0.05 0.2 0.5 1; do
	start victim A "$chardev" -v "$ADDR_A"
	wait_for 20 grep -q ready victim.log || { cat victim.log; fail "no traffic"; }
	sleep $delay
	kill_hard victim
	wait_for 10 nothing_left || fail "left: $(objects)"
done

say "killed while it begins"
for _ in {1..10}; do
	start victim A "$chardev" -v "$ADDR_A"
	sleep "0.0$((RANDOM % 9))"
	kill_hard victim
done
wait_for 10 nothing_left || fail "left: $(objects)"

say "limit of objects"
echo 3 > /sys/module/krdma/parameters/file_objects
refuse "more objects than a file may have" on A "$chardev" -v "$ADDR_A"
has "the errno" "No space left" expect
echo 262144 > /sys/module/krdma/parameters/file_objects

# the last commands, if the kernel dies of them
echo 1 > /proc/sys/kernel/ftrace_dump_on_oops
echo 64 > /sys/kernel/tracing/buffer_size_kb
exec 9> /sys/kernel/tracing/trace_marker
fuzz=("$VM_PROGS/krdma_chardev_fuzz" --seed "${SEED:-$RANDOM}" --marker 9)

say "races: random commands by threads"
run_on A 180 "${fuzz[@]}" --seconds "${FUZZ_SECONDS:-15}" "$ADDR_A"
cat client.log
wait_for 15 nothing_left || fail "left: $(objects)"

say "the RNIC goes while files are open: link del, then rmmod"
start holder A "$chardev" -r "$ADDR_A"
wait_for 20 grep -q ready holder.log || { cat holder.log; fail "no holder"; }
expect "link del" on A timeout "$(patient 30)" rdma link delete krdma0
finish holder 30
rnic_add A
wait_for 10 rnic_active krdma0
start holder A "$chardev" -r "$ADDR_A"
wait_for 20 grep -q ready holder.log || { cat holder.log; fail "no holder"; }
refuse "krdma.ko is in use" rmmod krdma
expect "unload krdma_soft" timeout "$(patient 60)" rmmod krdma_soft
finish holder 30

say "and under random commands"
expect "load it" insmod "$VM_MODULES/krdma_soft.ko"
for host in A B; do
	rnic_add $host
	wait_for 10 rnic_active "$(dev_of $host)"
done
start fuzz A "${fuzz[@]}" --any --seconds 4 "$ADDR_A"
sleep 2
expect "link del" on A timeout "$(patient 30)" rdma link delete krdma0
finish_any fuzz 30
counted "$((2 * tests + 10))" 0
