// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Counters: what became of the sockets that a rule took, and why one stayed on TCP. The marks, the
 * change of roads and the opening of roads count; netlink.c sends them. There is one set for each
 * network namespace.
 */
#include <linux/percpu.h>

#include "pernet.h"

/* of programs that read them: a name stays as it is */
const char *const ops_counter_names[OPS_COUNTERS] = {
	[OPS_COUNT_CONNECT] = "connect",
	[OPS_COUNT_LISTEN] = "listen",
	[OPS_COUNT_CHILD] = "accepted",
	[OPS_COUNT_ASKED] = "asked",
	[OPS_COUNT_RULE_TCP] = "rule-tcp",
	[OPS_COUNT_NO_RULE] = "no-rule",
	[OPS_COUNT_STAMPS] = "time-stamps",
	[OPS_COUNT_LEFT_ALONE] = "left-alone",
	[OPS_COUNT_PAIRED] = "paired",
	[OPS_COUNT_UP] = "up",
	[OPS_COUNT_CHANGED] = "changed",
	[OPS_COUNT_NO_ROAD] = "no-road",
	[OPS_COUNT_NO_ROUTE] = "no-route",
	[OPS_COUNT_NOT_OFFERED] = "not-offered",
	[OPS_COUNT_SLOWER] = "slower",
	[OPS_COUNT_PEER] = "bad-peer",
	[OPS_COUNT_NO_MATCH] = "no-match",
	[OPS_COUNT_REFUSED] = "refused",
	[OPS_COUNT_TIMEOUT] = "timeout",
	[OPS_COUNT_ERROR] = "error",
	[OPS_COUNT_LIMIT] = "limit",
	[OPS_COUNT_MEMORY] = "memory",
	[OPS_COUNT_UNMARKED] = "unmarked",
	[OPS_COUNT_BROKEN] = "broken",
	[OPS_COUNT_RESET] = "reset",
};

/**
 * ops_count() - count an outcome
 * @net: network namespace
 * @which: outcome
 *
 * Context: any.
 */
void ops_count(struct net *net, enum ops_counter which)
{
	this_cpu_inc(ops_net(net)->counters[which]);
}

/**
 * ops_counter() - read a counter
 * @ops: network namespace
 * @which: counter
 *
 * Return: the sum of all CPUs'.
 */
u64 ops_counter(const struct ops_net *ops, enum ops_counter which)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(ops->counters, cpu)[which]);
	return sum;
}

/**
 * ops_counters_init() - make the counters of a network namespace
 * @ops: network namespace
 *
 * Return: 0 or -ENOMEM.
 */
int ops_counters_init(struct ops_net *ops)
{
	ops->counters = __alloc_percpu(sizeof(unsigned long) * OPS_COUNTERS,
				       __alignof__(unsigned long));
	return ops->counters ? 0 : -ENOMEM;
}

/**
 * ops_counters_exit() - free them
 * @ops: network namespace
 */
void ops_counters_exit(struct ops_net *ops)
{
	free_percpu(ops->counters);
}
