#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: exclusive namespace mode: devices move, are hidden in other namespaces, and carry traffic
# covers: kal/core/netdev kal/ib/device kal/cm/listen
# limit: 240
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

say "shared mode: every namespace sees both"
hosts_up
same "devices that A sees" "krdma0 krdma1" "$(on A ibv_devices | awk '/krdma/ { print $1 }' | sort | xargs)"
perf_pair ib_send_bw -n 100
hosts_down

# refused while other namespaces are there, and they take their time to go
expect "exclusive mode" wait_for 20 rdma system set netns exclusive
has "it is" exclusive <(rdma system show)
net_up
for host in A B; do
	expect "add in the namespace" rnic_add $host
done
for host in A B; do
	here() { on $host rdma -j dev | grep "\"$(dev_of $host)\"" > /dev/null; }
	# a device is made in the initial namespace or in its netdev's
	here || expect "move $(dev_of $host)" rdma dev set "$(dev_of $host)" netns host$host
	expect "the namespace has it" here
	same "ibv_devices of $host" "$(dev_of $host)" "$(on $host ibv_devices | awk '/krdma/ { print $1 }' | xargs)"
done
same "devices of the initial namespace" "" "$(rdma_devices)"
perf_pair ib_write_bw -n 200
perf_pair ib_read_bw -n 200
perf_pair ib_send_lat -n 200
serve server B 7471 rping -s -a "$ADDR_B" -p 7471 -C 10 -v
run_on A 60 rping -c -a "$ADDR_B" -p 7471 -C 10 -v
finish server 20

say "a wildcard listener hears the device that comes back, whoever moves it"
ip netns attach initial 1
serve server B 7472 rping -s -p 7472 -C 10 -v
expect "move krdma1 away" on B rdma dev set krdma1 netns initial
expect "and back" rdma dev set krdma1 netns hostB
expect "it listens again" wait_for 10 listening B 7472
wait_for 10 on B rdma link show krdma1/1
run_on A 60 rping -c -a "$ADDR_B" -p 7472 -C 10 -v
finish server 20

say "moving a device away under traffic ends its users and nothing else"
traffic ib_write_bw -D 120
expect "move krdma0 to the initial namespace" on A timeout "$(patient 60)" rdma dev set krdma0 netns initial
same "devices of the initial namespace" krdma0 "$(rdma_devices)"
rid_of client server
expect "delete it there" rdma link delete krdma0
on B rdma link delete krdma1
