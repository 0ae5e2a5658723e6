#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: adopted devices: random commands of /dev/krdma from many threads, also while the adoption ends
# covers: kvp_hw kal/chardev kal/cm/offload.c
# limit: 300
# shellcheck source=tests/vm/guest/siw.sh
. "${VM_LIB%/*}/siw.sh"

hw_up

[ -e /dev/udmabuf ] || modprobe udmabuf
exec 9> /sys/kernel/tracing/trace_marker
# what an adopted device lacks (user library, windows, dma-buf) never succeeds: --any
fuzz=("$VM_PROGS/krdma_chardev_fuzz" --seed "${SEED:-$RANDOM}" --marker 9 --any)
for address in "$ADDR_A" $ADDR_R; do
	say "random commands to the RNIC of $address"
	run_on A 120 "${fuzz[@]}" --seconds "$(either 8 30)" "$address"
	cat client.log
done
say "the adoption ends meanwhile"
start fuzz A "${fuzz[@]}" --seconds 6 "$ADDR_A"
sleep 2
expect "release" on A timeout "$(patient 60)" "$krdma" adopt -r siw0
finish_any fuzz 60
expect "adopt" on A "$krdma" adopt siw0
adopted siw0
hw_down
