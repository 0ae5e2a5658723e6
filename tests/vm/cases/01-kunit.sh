#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: the KUnit suites of tests/kunit in the kernel
# covers: tests/kunit kvp_soft/wire kvp_soft/memory kvp_soft/queues kal/cm/mpa kal/cm/startup kal/net kal/core
# limit: 120
# kernel: debug
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"

results=/sys/kernel/debug/kunit
expect "the module loads" insmod "$VM_MODULES/tests/kunit/krdma_kunit.ko"
for suite in "$results"/*; do
	cat "$suite/results"
done > ktap
cat ktap
expect "the module unloads" rmmod krdma_kunit
while read -r name; do
	has "suite $name ran" "^(not )?ok [0-9]+ $name( |$)" ktap
done < <(sed -n 's/^KTEST_SUITE(\([a-z0-9_]*\),.*/\1/p' "$VM_REPO"/tests/kunit/*_test.c)
passed=$(grep -cE '^ +ok [0-9]+ ' ktap || true)
failed=$(grep -cE '^ *not ok [0-9]+ ' ktap || true)
counted "$passed" "$failed"
same "tests that failed" 0 "$failed"
[ "$passed" -gt 0 ] || fail "no test ran"
