// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Counters: why a connection used TCP, or not. The calls of the switch count, and netlink.c sends
 * them. There is one set for each network namespace.
 */
#include <linux/percpu.h>

#include "policy.h"

const char *const ops_reason_names[OPS_REASONS] = {
	[OPS_REASON_OFFLOADED] = "offloaded",
	[OPS_REASON_ACCEPTED] = "accepted",
	[OPS_REASON_NATIVE_ACCEPTED] = "native-accepted",
	[OPS_REASON_NO_PROTOCOL] = "no-protocol",
	[OPS_REASON_RULE] = "rule",
	[OPS_REASON_NO_ROUTE] = "no-route",
	[OPS_REASON_NOT_OFFERED] = "not-offered",
	[OPS_REASON_PEER] = "bad-peer",
	[OPS_REASON_REFUSED] = "refused",
	[OPS_REASON_TIMEOUT] = "timeout",
	[OPS_REASON_ERROR] = "error",
	[OPS_REASON_BIND] = "bind",
	[OPS_REASON_LISTEN] = "listen",
	[OPS_REASON_CREATE] = "create",
	[OPS_REASON_FAST_OPEN] = "fast-open",
};

/**
 * ops_count() - count an outcome
 * @net: network namespace
 * @reason: outcome
 *
 * Context: any.
 */
void ops_count(struct net *net, enum ops_reason reason)
{
	this_cpu_inc(ops_net(net)->counters[reason]);
}

/**
 * ops_counter() - read a counter
 * @ops: network namespace
 * @reason: counter
 *
 * Return: the sum of all CPUs'.
 */
u64 ops_counter(const struct ops_net *ops, enum ops_reason reason)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(ops->counters, cpu)[reason]);
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
	ops->counters = __alloc_percpu(sizeof(unsigned long) * OPS_REASONS,
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
