/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The state that rules.c, limits.c, stats.c and peers.c keep for each network namespace, and what
 * netlink.c calls there. rules.c makes and frees it.
 */
#ifndef OPS_PERNET_H
#define OPS_PERNET_H

#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/refcount.h>
#include <linux/rhashtable-types.h>
#include <linux/spinlock.h>

#include "rules.h"

/**
 * struct ops_rule - which sockets, and what they may use
 * @node: in ops_net.rules; RCU
 * @rcu: frees it
 * @hits: how many sockets the rule decided about
 * @id: of netlink; unique in the namespace
 * @action: enum krdma_offload_action
 * @road: name, for KRDMA_OFFLOAD_ACTION_NAMED
 * @match: which sockets
 *
 * Nothing but @hits changes after ops_rule_add().
 */
struct ops_rule {
	struct list_head node;
	struct rcu_head rcu;
	atomic64_t hits;
	u32 id;
	u8 action;
	char road[OFFLOAD_NAME_MAX];
	struct ops_match match;
};

/**
 * struct offload_account - limits of a network namespace, and what it uses
 * @refs: the namespace's, and those of roads whose buffers outlive it
 * @limits: what was set; U64_MAX: nothing, the module's parameter counts
 * @used: of KRDMA_OFFLOAD_LIMIT_CONNECTIONS and KRDMA_OFFLOAD_LIMIT_MEMORY
 */
struct offload_account {
	refcount_t refs;
	atomic64_t limits[KRDMA_OFFLOAD_LIMITS];
	atomic64_t used[KRDMA_OFFLOAD_LIMITS];
};

/**
 * struct ops_net - the switch's state in a network namespace
 * @rules: struct ops_rule, the one that decides first comes first; RCU
 * @rules_num: their number
 * @rules_id: id of the youngest
 * @rules_seq: changes with @rules, for dumps; not 0
 * @rules_mutex: protects the above against other writers
 * @account: limits, and what is used
 * @peers: struct ops_peer by road and address; RCU
 * @peers_list: the same, oldest first
 * @peers_num: their number
 * @peers_lock: protects the above three against other writers; taken in softirq, too
 * @counters: OPS_COUNTERS of them for each CPU
 * @listeners: marked sockets that listen; under a lock of road.c
 */
struct ops_net {
	struct list_head rules;
	unsigned int rules_num;
	u32 rules_id;
	unsigned int rules_seq;
	struct mutex rules_mutex;	/* of writers */

	struct offload_account *account;

	struct rhashtable peers;
	struct list_head peers_list;
	unsigned int peers_num;
	spinlock_t peers_lock;		/* of writers */

	unsigned long __percpu *counters;

	unsigned int listeners;
};

struct ops_net *ops_net(const struct net *net);

/* Rules (rules.c) */
struct ops_rule *ops_rule_alloc(void);
void ops_rule_free(struct ops_rule *rule);
int ops_rule_add(struct ops_net *ops, struct ops_rule *rule, u32 *id,
		 struct netlink_ext_ack *extack);
int ops_rule_del(struct ops_net *ops, u32 id);
void ops_rules_flush(struct ops_net *ops);

/* Limits (limits.c) */
extern const char *const ops_limit_names[KRDMA_OFFLOAD_LIMITS];
int ops_limits_init(struct ops_net *ops);
u64 ops_net_limit(const struct ops_net *ops, enum krdma_offload_limit which);
u64 ops_limit_host(enum krdma_offload_limit which);
int ops_limit_set(struct ops_net *ops, enum krdma_offload_limit which, u64 value);
u64 ops_limit_used(const struct ops_net *ops, enum krdma_offload_limit which);

/* Negative cache (peers.c) */
int ops_peers_init(struct ops_net *ops);
void ops_peers_exit(struct ops_net *ops);

/* Counters (stats.c) */
extern const char *const ops_counter_names[OPS_COUNTERS];
int ops_counters_init(struct ops_net *ops);
void ops_counters_exit(struct ops_net *ops);
u64 ops_counter(const struct ops_net *ops, enum ops_counter which);

/* Control (netlink.c) */
int ops_netlink_init(void);
void ops_netlink_exit(void);

#endif
