#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: adopted devices: random commands of /dev/krdma from many threads, also while the adoption ends
# covers: kvp_hw kal/chardev kal/cm/offload.c
# limit: 300
# shellcheck source=tests/vm/guest/siw.sh
. "${VM_LIB%/*}/siw.sh"

export LD_LIBRARY_PATH=$VM_REPO/build/ual
krdma=$VM_REPO/build/tools/krdma

adopted() { on A "$krdma" list | grep -qw "$1"; }

hw_siw_hosts_up
modprobe rdma_rxe
ip link add dummyR type dummy
ip link set dummyR up
ip address add 10.78.0.1/24 dev dummyR
rdma link add rxe0 type rxe netdev dummyR
insmod "$VM_MODULES/krdma_hw.ko"
for dev in siw0 rxe0; do
	wait_for 10 adopted $dev || fail "$dev is not adopted"
done

[ -e /dev/udmabuf ] || modprobe udmabuf
exec 9> /sys/kernel/tracing/trace_marker
# what an adopted device lacks (user library, windows, dma-buf) never succeeds: --any
fuzz=("$VM_PROGS/krdma_chardev_fuzz" --seed "${SEED:-$RANDOM}" --marker 9 --any)
for address in "$ADDR_A" 10.78.0.1; do
	say "random commands to the RNIC of $address"
	run_on A 120 "${fuzz[@]}" --seconds "$(few 8 30)" "$address"
	cat client.log
done
say "the adoption ends meanwhile"
start fuzz A "${fuzz[@]}" --seconds 6 "$ADDR_A"
sleep 2
expect "release" on A timeout "$(patient 60)" "$krdma" adopt -r siw0
finish_any fuzz 60
expect "adopt" on A "$krdma" adopt siw0
adopted siw0
rmmod krdma_hw
rdma link delete rxe0
rmmod rdma_rxe
