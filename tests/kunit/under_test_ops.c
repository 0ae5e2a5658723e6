// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The same-host road's ring, compiled again into the test module. Limits are those of the test:
 * what the ring has charged must come back.
 */
#include "under_test_ops.h"

#include "../../ops/rules.h"

s64 ops_test_charged;
s64 ops_test_limit;

static bool test_charge(u64 amount)
{
	if (ops_test_charged + (s64)amount > ops_test_limit)
		return false;
	ops_test_charged += amount;
	return true;
}

#define ops_charge(net, which, amount)		test_charge(amount)
#define ops_uncharge(net, which, amount)	((void)(ops_test_charged -= (s64)(amount)))
#define ops_memory_pressure(net)		false

#include "../../ops/ring.c"
