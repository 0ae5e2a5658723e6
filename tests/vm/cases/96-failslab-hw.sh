#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: failing allocations below krdma_hw: adoption of siw, and each check of libkrdma's conformance test on rxe
# covers: kvp_hw kal/cm/offload.c
# limit: 400
# kernel: debug
# shellcheck source=tests/vm/guest/failslab.sh
. "${VM_LIB%/*}/failslab.sh"
# shellcheck source=tests/vm/guest/siw.sh
. "${VM_LIB%/*}/siw.sh"

hw_up
# rxe's text lies between those of krdma and krdma_hw: with both, rxe's own work fails too, and rxe warns
fault_modules=(krdma_hw)

say "adoption"
for every in 1 2 3 5 8; do
	on A "$krdma" adopt -r siw0
	faults_on $every
	on A "$krdma" adopt siw0 || true
	set_fault probability 0
done
expect "release" on A "$krdma" adopt -r siw0
expect "adopt" on A "$krdma" adopt siw0
# siw itself leaks its endpoints (siw_cep_alloc()) when connections fail half-way, so only rxe connects here
for every in $(few 40 150 11); do
	faults_on "$every"
	start conform A timeout -k 5 "$(patient 60)" "$VM_PROGS/krdma_conform" $ADDR_R
	survive 80 conform
	faults_off "each ${every}th"
	tail -1 "$VM_TMP/conform.log"
done
ended_how
say "and without"
run_on A 100 "$VM_PROGS/krdma_conform" $ADDR_R
hw_down
