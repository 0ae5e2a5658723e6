// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Limits: what the switch and its roads may use, for each network namespace and for the host.
 *
 * The host's limits are parameters of the module. A namespace has the same until its administrator
 * sets less. What roads use is charged to the namespace and to the host, beside the memory cgroup
 * of the socket's owner, which the roads charge themselves: a road is refused, and TCP goes on,
 * before a limit kills.
 *
 * Buffers of a road may live longer than the TCP connection, and than the namespace: so the account
 * of a namespace has references.
 */
#include <linux/init.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "ops.h"
#include "pernet.h"

static unsigned int limits_rules = 256;
module_param_named(max_rules, limits_rules, uint, 0644);
MODULE_PARM_DESC(max_rules, "rules that each network namespace may have");

static unsigned int limits_peers = 1024;
module_param_named(max_peers, limits_peers, uint, 0644);
MODULE_PARM_DESC(max_peers, "unreachable peers that each network namespace remembers");

static unsigned int limits_bad_peer_s = 60;
module_param_named(bad_peer_s, limits_bad_peer_s, uint, 0644);
MODULE_PARM_DESC(bad_peer_s,
		 "seconds for which a peer that a road did not reach goes by TCP; 0: none");

static unsigned int limits_connections = 65536;
module_param_named(max_connections, limits_connections, uint, 0644);
MODULE_PARM_DESC(max_connections, "connections of the host that have a road");

static unsigned int limits_memory_mb;
module_param_named(max_memory_mb, limits_memory_mb, uint, 0644);
MODULE_PARM_DESC(max_memory_mb, "MiB of the host in buffers of roads; 0: an eighth of its memory");

/* of programs that read them: a name stays as it is */
const char *const ops_limit_names[KRDMA_OFFLOAD_LIMITS] = {
	[KRDMA_OFFLOAD_LIMIT_RULES] = "rules",
	[KRDMA_OFFLOAD_LIMIT_PEERS] = "peers",
	[KRDMA_OFFLOAD_LIMIT_BAD_PEER_S] = "bad-peer-s",
	[KRDMA_OFFLOAD_LIMIT_CONNECTIONS] = "connections",
	[KRDMA_OFFLOAD_LIMIT_MEMORY] = "memory",
};

#define LIMITS_UNSET	U64_MAX

/* of all namespaces; the first three of the array are not used */
static atomic64_t limits_used[KRDMA_OFFLOAD_LIMITS];

/**
 * ops_limit_host() - what the host's administrator allows
 * @which: limit
 *
 * Return: the most that a namespace may have. Context: any.
 */
u64 ops_limit_host(enum krdma_offload_limit which)
{
	switch (which) {
	case KRDMA_OFFLOAD_LIMIT_RULES:
		return READ_ONCE(limits_rules);
	case KRDMA_OFFLOAD_LIMIT_PEERS:
		return READ_ONCE(limits_peers);
	case KRDMA_OFFLOAD_LIMIT_BAD_PEER_S:
		return READ_ONCE(limits_bad_peer_s);
	case KRDMA_OFFLOAD_LIMIT_CONNECTIONS:
		return READ_ONCE(limits_connections);
	case KRDMA_OFFLOAD_LIMIT_MEMORY:
		if (!READ_ONCE(limits_memory_mb))
			return (u64)totalram_pages() << PAGE_SHIFT >> 3;
		return (u64)READ_ONCE(limits_memory_mb) << 20;
	}
	return 0;
}

/* the namespace's own, but not more than the host's */
static u64 limits_account(const struct offload_account *account, enum krdma_offload_limit which)
{
	return min_t(u64, atomic64_read(&account->limits[which]), ops_limit_host(which));
}

/**
 * ops_net_limit() - the limit that a namespace has
 * @ops: network namespace
 * @which: limit
 *
 * Return: the namespace's own, but not more than the host's. Context: any.
 */
u64 ops_net_limit(const struct ops_net *ops, enum krdma_offload_limit which)
{
	return limits_account(ops->account, which);
}

/**
 * ops_limit() - the same of a struct net
 * @net: network namespace
 * @which: limit
 *
 * Return: see ops_net_limit(). Context: any.
 */
u64 ops_limit(const struct net *net, enum krdma_offload_limit which)
{
	return ops_net_limit(ops_net(net), which);
}

/**
 * ops_limit_set() - set a limit of a namespace
 * @ops: network namespace
 * @which: limit
 * @value: new; U64_MAX: the host's
 *
 * What is used already stays. Return: 0; -ERANGE: more than the host's.
 */
int ops_limit_set(struct ops_net *ops, enum krdma_offload_limit which, u64 value)
{
	if (value != LIMITS_UNSET && value > ops_limit_host(which))
		return -ERANGE;
	atomic64_set(&ops->account->limits[which], value);
	return 0;
}

/**
 * ops_limit_used() - what a namespace uses
 * @ops: network namespace
 * @which: limit
 *
 * Return: in the limit's unit; 0 for KRDMA_OFFLOAD_LIMIT_BAD_PEER_S.
 */
u64 ops_limit_used(const struct ops_net *ops, enum krdma_offload_limit which)
{
	switch (which) {
	case KRDMA_OFFLOAD_LIMIT_RULES:
		return READ_ONCE(ops->rules_num);
	case KRDMA_OFFLOAD_LIMIT_PEERS:
		return READ_ONCE(ops->peers_num);
	default:
		return atomic64_read(&ops->account->used[which]);
	}
}

/* Charging ****************************************************************** */

static bool limits_charge(struct offload_account *account, enum krdma_offload_limit which,
			  u64 amount)
{
	if (atomic64_add_return(amount, &account->used[which]) <= limits_account(account, which)) {
		if (atomic64_add_return(amount, &limits_used[which]) <= ops_limit_host(which))
			return true;
		atomic64_sub(amount, &limits_used[which]);
	}
	atomic64_sub(amount, &account->used[which]);
	return false;
}

static void limits_uncharge(struct offload_account *account, enum krdma_offload_limit which,
			    u64 amount)
{
	atomic64_sub(amount, &limits_used[which]);
	atomic64_sub(amount, &account->used[which]);
}

/**
 * ops_charge() - take something that is limited
 * @net: network namespace
 * @which: KRDMA_OFFLOAD_LIMIT_CONNECTIONS or KRDMA_OFFLOAD_LIMIT_MEMORY
 * @amount: of connections or bytes
 *
 * Return: true, ops_uncharge() gives it back; false: more than the namespace or the host has; it
 * is counted. Context: any.
 */
bool ops_charge(struct net *net, enum krdma_offload_limit which, u64 amount)
{
	if (limits_charge(ops_net(net)->account, which, amount))
		return true;
	ops_count(net, OPS_COUNT_LIMIT);
	return false;
}

/**
 * ops_uncharge() - give back what ops_charge() took
 * @net: network namespace
 * @which: as there
 * @amount: as there, or a part
 *
 * Context: any.
 */
void ops_uncharge(struct net *net, enum krdma_offload_limit which, u64 amount)
{
	limits_uncharge(ops_net(net)->account, which, amount);
}

static bool limits_above(u64 used, u64 limit)
{
	return used > limit - (limit >> 2);
}

static bool limits_pressure(const struct offload_account *account)
{
	const enum krdma_offload_limit which = KRDMA_OFFLOAD_LIMIT_MEMORY;

	return limits_above(atomic64_read(&account->used[which]), limits_account(account, which)) ||
	       limits_above(atomic64_read(&limits_used[which]), ops_limit_host(which));
}

/**
 * ops_memory_pressure() - is the memory of roads scarce?
 * @net: network namespace
 *
 * Return: true: three quarters of the namespace's or the host's are used. Context: any.
 */
bool ops_memory_pressure(const struct net *net)
{
	return limits_pressure(ops_net(net)->account);
}

/* For roads ***************************************************************** */

bool offload_charge(struct offload_account *account, u64 bytes, bool more)
{
	if (!limits_charge(account, KRDMA_OFFLOAD_LIMIT_MEMORY, bytes))
		return false;
	if (!more || !limits_pressure(account))
		return true;
	offload_uncharge(account, bytes);
	return false;
}
EXPORT_SYMBOL_GPL(offload_charge);

void offload_uncharge(struct offload_account *account, u64 bytes)
{
	limits_uncharge(account, KRDMA_OFFLOAD_LIMIT_MEMORY, bytes);
}
EXPORT_SYMBOL_GPL(offload_uncharge);

struct offload_account *offload_conn_account(struct offload_conn *conn)
{
	struct offload_account *account = ops_net(conn->os.net)->account;

	refcount_inc(&account->refs);
	return account;
}
EXPORT_SYMBOL_GPL(offload_conn_account);

void offload_account_put(struct offload_account *account)
{
	if (refcount_dec_and_test(&account->refs))
		kfree(account);
}
EXPORT_SYMBOL_GPL(offload_account_put);

/**
 * ops_limits_init() - a new namespace has the host's limits
 * @ops: network namespace, which gives its account back with offload_account_put()
 *
 * Return: 0 or -ENOMEM.
 */
int ops_limits_init(struct ops_net *ops)
{
	int i;

	ops->account = kzalloc(sizeof(*ops->account), GFP_KERNEL_ACCOUNT);
	if (!ops->account)
		return -ENOMEM;
	refcount_set(&ops->account->refs, 1);
	for (i = 0; i < KRDMA_OFFLOAD_LIMITS; i++)
		atomic64_set(&ops->account->limits[i], LIMITS_UNSET);
	return 0;
}
