#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# What the failslab cases share: memory runs out below the code of krdma and
# krdma_soft, in whatever context it runs, and nowhere else. A program may fail
# then; it may not crash, and it must end. Sourced by them.

# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

failslab=/sys/kernel/debug/failslab
# modules below whose code allocations fail
fault_modules=(krdma krdma_soft)
# injections that are allowed for; the kernel counts down
faults_most=1000000

set_fault() { echo "$2" > "$failslab/$1"; }

# a case that fails leaves memory to the next
trap 'set_fault probability 0' EXIT

# faults_where: only with one of the modules on the stack. They are loaded one
# after the other, and what little lies between their texts may fail, too.
faults_where() {
	local module size begin
	for module in "${fault_modules[@]}"; do
		begin=$(cat "/sys/module/$module/sections/.text")
		size=$(awk -v m="$module" '$1 == m { print $2 }' /proc/modules)
		echo "$begin $(printf '0x%x' $((begin + size)))"
	done | sort > range
	set_fault require-start "$(awk 'NR == 1 { print $1 }' range)"
	set_fault require-end "$(awk 'END { print $2 }' range)"
	set_fault stacktrace-depth 32
}

# faults_begin N TASKS: from now on each Nth allocation fails; TASKS Y: only of
# tasks that asked for it
faults_begin() {
	set_fault verbose 0
	set_fault task-filter "$2"
	set_fault ignore-gfp-wait N
	set_fault interval "$1"
	set_fault space 0
	set_fault times $faults_most
	set_fault probability 100
}

# faults_on N: each Nth allocation below our code fails
faults_on() {
	faults_where
	faults_begin "$1" N
}

# faults_off WHAT: and not any more; some must have failed
faults_off() {
	local met
	set_fault probability 0
	met=$((faults_most - $(cat "$failslab/times")))
	say "$1: $met allocations failed"
	[ $met -gt 0 ] || fail "$1: no allocation failed"
}

# waits_for_itself NAME: an rping whose rdma_connect() failed waits for its own thread, which
# waits for a completion of what was never connected
waits_for_itself() { grep -q '^connect error' "$VM_TMP/$1.log"; }

# survive SECONDS NAME: it ends, in whatever way but a crash
survive() {
	local status=0
	wait_for "$1" ended "$2" || {
		if waits_for_itself "$2"; then
			kill_hard "$2"
			ends[hung]=$((${ends[hung]:-0} + 1))
			return
		fi
		cat "$VM_TMP/$2.log" "/proc/${pid_of[$2]}/stack"
		fail "$2 still runs after $1 s of failed allocations"
	}
	wait "${pid_of[$2]}" || status=$?
	# 129 and more is a signal, but programs also say -1
	[ $status -le 128 ] || [ $status -gt 192 ] || { cat "$VM_TMP/$2.log"; fail "$2 ended with $status"; }
	ends[$status]=$((${ends[$status]:-0} + 1))
}
declare -A ends

# ended_how: what the programs' ends were
ended_how() {
	local status
	for status in "${!ends[@]}"; do
		say "status $status: ${ends[$status]} programs"
	done
	ends=()
}
