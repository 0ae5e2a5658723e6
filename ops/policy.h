/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What policy.c, peers.c, stats.c and netlink.c share: the state that the switch keeps for each
 * network namespace. It dies with the namespace, or with the module.
 */
#ifndef OPS_POLICY_H
#define OPS_POLICY_H

#include <linux/in6.h>
#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/rhashtable-types.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>

#include <krdma/offload-netlink.h>

#include "ops.h"

struct netlink_ext_ack;

/**
 * struct ops_rule - which sockets, and what they may use
 * @node: in ops_net.rules; RCU
 * @rcu: frees it
 * @hits: how often the rule answered ops_policy() or ops_policy_redirects()
 * @id: of netlink; unique in the namespace
 * @direction: enum krdma_offload_direction
 * @action: enum krdma_offload_action
 * @protocol: name, for KRDMA_OFFLOAD_ACTION_PROTOCOL
 * @family: AF_INET, AF_INET6, or AF_UNSPEC: all addresses
 * @prefix_len: bits of @address that count
 * @address: prefix; an IPv4 address is mapped into IPv6, @prefix_len is still IPv4's
 * @port_min: first port
 * @port_max: last port; 0: all ports
 * @cgroup: id in the v2 hierarchy; 0: all
 * @cgroup_level: depth of the cgroup
 * @has_uid: @uid counts
 * @uid: owner
 *
 * An id is kept in place of the cgroup, so that a rule does not keep a removed cgroup in memory.
 * Ids are not used again: such a rule just matches nothing any more.
 */
struct ops_rule {
	struct list_head node;
	struct rcu_head rcu;
	atomic64_t hits;
	u32 id;
	u8 direction;
	u8 action;
	char protocol[OFFLOAD_NAME_MAX];
	u8 family;
	u8 prefix_len;
	struct in6_addr address;
	u16 port_min;
	u16 port_max;
	u64 cgroup;
	int cgroup_level;
	bool has_uid;
	kuid_t uid;
};

/**
 * struct ops_net - the switch's state in a network namespace
 * @rules: struct ops_rule, the one that decides first comes first; RCU
 * @rules_num: their number
 * @rules_id: id of the youngest
 * @rules_seq: changes with @rules, for dumps; not 0
 * @rules_mutex: protects the above against other writers
 * @peers: struct ops_peer by protocol and address; RCU
 * @peers_list: the same, oldest first
 * @peers_num: their number
 * @peers_lock: protects the above three against other writers; taken in softirq, too
 * @counters: OPS_REASONS of them for each CPU
 */
struct ops_net {
	struct list_head rules;
	unsigned int rules_num;
	u32 rules_id;
	unsigned int rules_seq;
	struct mutex rules_mutex;	/* of writers */

	struct rhashtable peers;
	struct list_head peers_list;
	unsigned int peers_num;
	spinlock_t peers_lock;		/* of writers */

	unsigned long __percpu *counters;
};

struct ops_net *ops_net(const struct net *net);

/* Rules (policy.c); netlink.c calls them. */
int ops_rule_add(struct ops_net *ops, struct ops_rule *rule, u32 *id,
		 struct netlink_ext_ack *extack);
int ops_rule_del(struct ops_net *ops, u32 id);
void ops_rules_flush(struct ops_net *ops);

/* Negative cache (peers.c) */
int ops_peers_init(struct ops_net *ops);
void ops_peers_exit(struct ops_net *ops);

/* Counters (stats.c) */
int ops_counters_init(struct ops_net *ops);
void ops_counters_exit(struct ops_net *ops);
u64 ops_counter(const struct ops_net *ops, enum ops_reason reason);

/* Control (netlink.c) */
int ops_netlink_init(void);
void ops_netlink_exit(void);

#endif
