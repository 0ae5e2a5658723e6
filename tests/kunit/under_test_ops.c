// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The same-host road's ring, compiled again into the test module. Limits are those of the test:
 * what the ring has charged must come back.
 */
#include "under_test_ops.h"

#include "../../ops/rules.h"

s64 ops_test_charged;
s64 ops_test_limit;

static bool test_charge(struct net *net, enum krdma_offload_limit which, u64 amount)
{
	if (ops_test_charged + (s64)amount > ops_test_limit)
		return false;
	ops_test_charged += amount;
	return true;
}

static void test_uncharge(struct net *net, enum krdma_offload_limit which, u64 amount)
{
	ops_test_charged -= amount;
}

static bool test_memory_pressure(const struct net *net)
{
	return false;
}

#define ops_charge		test_charge
#define ops_uncharge		test_uncharge
#define ops_memory_pressure	test_memory_pressure

#include "../../ops/ring.c"
