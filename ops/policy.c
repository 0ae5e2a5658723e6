// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The administrator's rules: which connections and listeners may use which offload protocols.
 *
 * A rule names sockets (prefix, ports, cgroup, uid) and what they may use. The rules of a network
 * namespace are in one list, sorted when a rule is added, and the first one that matches decides:
 * the longest prefix, then the smallest range of ports, then the deepest cgroup, then a rule with
 * a uid, then the oldest. Where no rule matches, all is allowed. The list is short (max_rules), so
 * that connect() and listen() walk it under RCU; netlink.c changes it.
 *
 * A rule keeps the name of its protocol, not the protocol, which may come and go.
 */
#include <linux/cgroup.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/netlink.h>
#include <net/netns/generic.h>

#include "policy.h"

unsigned int ops_connect_budget_ms = 1000;
module_param_named(connect_budget_ms, ops_connect_budget_ms, uint, 0644);
MODULE_PARM_DESC(connect_budget_ms,
		 "milliseconds that an offload protocol has to connect before the next one, or TCP, is tried");

static unsigned int ops_max_rules = 256;
module_param_named(max_rules, ops_max_rules, uint, 0644);
MODULE_PARM_DESC(max_rules, "rules that each network namespace may have");

static unsigned int policy_net_id __read_mostly;

/**
 * ops_net() - get the switch's state in a network namespace
 * @net: network namespace
 *
 * Context: any.
 */
struct ops_net *ops_net(const struct net *net)
{
	return net_generic(net, policy_net_id);
}

/* What rules are matched with *********************************************** */

/* family AF_UNSPEC: no address; only a rule without one matches */
struct policy_subject {
	u8 direction;
	u8 family;
	struct in6_addr address;
	u16 port;
	const struct cgroup *cgroup;
	kuid_t uid;
};

/* An IPv4 address that IPv6 maps is one of IPv4: the connection uses IPv4. */
static void policy_take_address(struct policy_subject *subject,
				const struct sockaddr_storage *address)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)address;
	const struct sockaddr_in *in = (const struct sockaddr_in *)address;

	switch (address->ss_family) {
	case AF_INET:
		subject->family = AF_INET;
		ipv6_addr_set_v4mapped(in->sin_addr.s_addr, &subject->address);
		subject->port = ntohs(in->sin_port);
		break;
	case AF_INET6:
		subject->family = ipv6_addr_v4mapped(&in6->sin6_addr) ? AF_INET : AF_INET6;
		subject->address = in6->sin6_addr;
		subject->port = ntohs(in6->sin6_port);
		break;
	default:
		break;
	}
}

/* bits of the mapped form that a rule compares */
static unsigned int policy_bits(const struct ops_rule *rule)
{
	return rule->prefix_len + (rule->family == AF_INET ? 96 : 0);
}

static bool policy_in_cgroup(const struct ops_rule *rule, const struct cgroup *cgroup)
{
	return cgroup && cgroup->level >= rule->cgroup_level &&
	       cgroup_id(cgroup->ancestors[rule->cgroup_level]) == rule->cgroup;
}

static bool policy_matches(const struct ops_rule *rule, const struct policy_subject *subject)
{
	if (rule->direction != subject->direction)
		return false;
	if (rule->family != AF_UNSPEC &&
	    (rule->family != subject->family ||
	     !ipv6_prefix_equal(&rule->address, &subject->address, policy_bits(rule))))
		return false;
	if (rule->port_max &&
	    (subject->port < rule->port_min || subject->port > rule->port_max))
		return false;
	if (rule->cgroup && !policy_in_cgroup(rule, subject->cgroup))
		return false;
	return !rule->has_uid || uid_eq(rule->uid, subject->uid);
}

/* Return: the rule that decides, or NULL; with RCU */
static struct ops_rule *policy_find(const struct ops_net *ops,
				    const struct policy_subject *subject)
{
	struct ops_rule *rule;

	list_for_each_entry_rcu(rule, &ops->rules, node) {
		if (policy_matches(rule, subject)) {
			atomic64_inc(&rule->hits);
			return rule;
		}
	}
	return NULL;
}

static bool policy_allows(const struct ops_rule *rule, const struct ops_proto *proto)
{
	switch (rule->action) {
	case KRDMA_OFFLOAD_ACTION_TCP:
		return false;
	case KRDMA_OFFLOAD_ACTION_RDMA:
		return proto->sw->caps & OFFLOAD_RDMA;
	case KRDMA_OFFLOAD_ACTION_PROTOCOL:
		return !strcmp(rule->protocol, proto->sw->name);
	default:
		return true;
	}
}

static const struct cgroup *policy_cgroup_of(const struct sock *sk)
{
#ifdef CONFIG_SOCK_CGROUP_DATA
	return sock_cgroup_ptr((struct sock_cgroup_data *)&sk->sk_cgrp_data);
#else
	return NULL;
#endif
}

/**
 * ops_policy() - which protocols may a connection or a listener use?
 * @sk: for the namespace, the uid, the cgroup
 * @address: peer of a connect, or local address of a listener
 * @listen: for a listener
 * @proto: one of them; TCP is always allowed
 *
 * Return: true: the rules allow it. Context: process; RCU inside.
 */
bool ops_policy(const struct sock *sk, const struct sockaddr_storage *address, bool listen,
		const struct ops_proto *proto)
{
	struct ops_net *ops = ops_net(sock_net(sk));
	struct policy_subject subject = {
		.direction = listen ? KRDMA_OFFLOAD_LISTEN : KRDMA_OFFLOAD_CONNECT,
		.uid = READ_ONCE(sk->sk_uid),
	};
	const struct ops_rule *rule;
	bool allowed;

	if (!proto->sw || list_empty(&ops->rules))
		return true;
	policy_take_address(&subject, address);
	subject.cgroup = policy_cgroup_of(sk);
	rcu_read_lock();
	rule = policy_find(ops, &subject);
	allowed = !rule || policy_allows(rule, proto);
	rcu_read_unlock();
	return allowed;
}

/**
 * ops_policy_redirects() - may socket() of AF_INET be redirected for this task?
 *
 * Return: false: a rule for sockets says TCP. Context: any but hard interrupt, of a task.
 */
bool ops_policy_redirects(void)
{
	struct policy_subject subject = {
		.direction = KRDMA_OFFLOAD_SOCKET,
		.uid = current_fsuid(),	/* the owner that the socket will have */
	};
	const struct ops_rule *rule;
	struct ops_net *ops;
	bool redirects;

	if (!current->nsproxy)
		return false;
	ops = ops_net(current->nsproxy->net_ns);
	if (list_empty(&ops->rules))
		return true;
	rcu_read_lock();
#ifdef CONFIG_SOCK_CGROUP_DATA
	subject.cgroup = task_dfl_cgroup(current);
#endif
	rule = policy_find(ops, &subject);
	redirects = !rule || rule->action != KRDMA_OFFLOAD_ACTION_TCP;
	rcu_read_unlock();
	return redirects;
}

/* Changes ******************************************************************* */

static unsigned int policy_ports(const struct ops_rule *rule)
{
	return rule->port_max ? rule->port_max - rule->port_min + 1 : 65536;
}

/*
 * Prefixes of IPv4 and of IPv6 never match the same address, so that their lengths may be compared.
 * Return: < 0: @a is looked at before @b; 0: the older one is
 */
static int policy_order(const struct ops_rule *a, const struct ops_rule *b)
{
	int order = (int)b->prefix_len - (int)a->prefix_len;

	if (!order)
		order = (b->family != AF_UNSPEC) - (a->family != AF_UNSPEC);
	if (!order)
		order = (int)policy_ports(a) - (int)policy_ports(b);
	if (!order)
		order = !!b->cgroup - !!a->cgroup;
	if (!order)
		order = b->cgroup_level - a->cgroup_level;
	if (!order)
		order = b->has_uid - a->has_uid;
	return order;
}

static bool policy_same_sockets(const struct ops_rule *a, const struct ops_rule *b)
{
	return a->direction == b->direction && a->family == b->family &&
	       a->prefix_len == b->prefix_len && ipv6_addr_equal(&a->address, &b->address) &&
	       a->port_min == b->port_min && a->port_max == b->port_max &&
	       a->cgroup == b->cgroup && a->has_uid == b->has_uid &&
	       (!a->has_uid || uid_eq(a->uid, b->uid));
}

/* with the mutex; zero means "no dump runs" to netlink */
static void policy_changed(struct ops_net *ops)
{
	if (!++ops->rules_seq)
		ops->rules_seq = 1;
}

/* with the mutex. An id that wrapped may be in use. */
static u32 policy_new_id(struct ops_net *ops)
{
	const struct ops_rule *rule;
	bool used;

	do {
		used = !++ops->rules_id;
		list_for_each_entry(rule, &ops->rules, node)
			used |= rule->id == ops->rules_id;
	} while (used);
	return ops->rules_id;
}

/* with the mutex. Return: 0, or why the rule cannot be added */
static int policy_check_new(const struct ops_net *ops, const struct ops_rule *fresh,
			    struct netlink_ext_ack *extack)
{
	const struct ops_rule *rule;

	list_for_each_entry(rule, &ops->rules, node) {
		if (policy_same_sockets(rule, fresh)) {
			NL_SET_ERR_MSG_FMT(extack, "rule %u is for the same sockets", rule->id);
			return -EEXIST;
		}
	}
	if (ops->rules_num >= READ_ONCE(ops_max_rules)) {
		NL_SET_ERR_MSG(extack, "as many rules as krdma_ops' parameter max_rules says");
		return -ENOSPC;
	}
	return 0;
}

/**
 * ops_rule_add() - make a rule take effect
 * @ops: network namespace
 * @rule: rule; from now on the namespace's, which may free it at once
 * @id: gets the rule's
 * @extack: for the reason of a refusal
 *
 * Return: 0; -EEXIST or -ENOSPC: the rule is still the caller's. Context: may sleep.
 */
int ops_rule_add(struct ops_net *ops, struct ops_rule *rule, u32 *id,
		 struct netlink_ext_ack *extack)
{
	struct list_head *before = &ops->rules;
	struct ops_rule *other;
	int error;

	guard(mutex)(&ops->rules_mutex);
	error = policy_check_new(ops, rule, extack);
	if (error)
		return error;
	*id = policy_new_id(ops);
	rule->id = *id;
	list_for_each_entry(other, &ops->rules, node) {
		if (policy_order(rule, other) < 0) {
			before = &other->node;
			break;
		}
	}
	/* "tail" of an entry is the place before it */
	list_add_tail_rcu(&rule->node, before);
	ops->rules_num++;
	policy_changed(ops);
	return 0;
}

static void policy_remove(struct ops_net *ops, struct ops_rule *rule)
{
	list_del_rcu(&rule->node);
	ops->rules_num--;
	policy_changed(ops);
	kfree_rcu(rule, rcu);
}

/**
 * ops_rule_del() - take a rule away
 * @ops: network namespace
 * @id: of the rule
 *
 * Return: 0 or -ENOENT. Context: may sleep.
 */
int ops_rule_del(struct ops_net *ops, u32 id)
{
	struct ops_rule *rule;

	guard(mutex)(&ops->rules_mutex);
	list_for_each_entry(rule, &ops->rules, node) {
		if (rule->id == id) {
			policy_remove(ops, rule);
			return 0;
		}
	}
	return -ENOENT;
}

/**
 * ops_rules_flush() - take all rules away
 * @ops: network namespace
 *
 * Context: may sleep.
 */
void ops_rules_flush(struct ops_net *ops)
{
	struct ops_rule *rule, *next;

	guard(mutex)(&ops->rules_mutex);
	list_for_each_entry_safe(rule, next, &ops->rules, node)
		policy_remove(ops, rule);
}

/* Life ********************************************************************** */

static int __net_init policy_net_init(struct net *net)
{
	struct ops_net *ops = ops_net(net);
	int error;

	INIT_LIST_HEAD(&ops->rules);
	mutex_init(&ops->rules_mutex);
	ops->rules_seq = 1;
	error = ops_counters_init(ops);
	if (error)
		return error;
	error = ops_peers_init(ops);
	if (error)
		ops_counters_exit(ops);
	return error;
}

static void __net_exit policy_net_exit(struct net *net)
{
	struct ops_net *ops = ops_net(net);

	ops_rules_flush(ops);
	ops_peers_exit(ops);
	ops_counters_exit(ops);
}

static struct pernet_operations policy_net_ops = {
	.init = policy_net_init,
	.exit = policy_net_exit,
	.id = &policy_net_id,
	.size = sizeof(struct ops_net),
};

/**
 * ops_policy_init() - begin with rules, counters, negative cache and netlink
 *
 * Return: 0 or an errno. Context: may sleep.
 */
int ops_policy_init(void)
{
	int error = register_pernet_subsys(&policy_net_ops);

	if (error)
		return error;
	error = ops_netlink_init();
	if (error)
		unregister_pernet_subsys(&policy_net_ops);
	return error;
}

/**
 * ops_policy_exit() - end them; no socket of the switch is left, and no redirection runs
 */
void ops_policy_exit(void)
{
	ops_netlink_exit();
	unregister_pernet_subsys(&policy_net_ops);
}
