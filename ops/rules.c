// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The administrator's rules: which sockets are marked, and which roads they may use.
 *
 * A rule names sockets (prefix, ports, cgroup, uid) and what they may use. The rules of a network
 * namespace are in one list, sorted when a rule is added, and the first one that matches decides:
 * the longest prefix, then the smallest range of ports, then the deepest cgroup, then a rule with
 * a uid, then the oldest. Where no rule matches, the socket is left alone. The list is short
 * (max_rules), so that connect() and listen() walk it under RCU; netlink.c changes it.
 *
 * A rule keeps the name of its road, not the road, which may come and go. A cgroup is matched by
 * its id, or by the names on its path: a service gets a new cgroup of the same path at each start.
 */
#include <linux/cgroup.h>
#include <linux/slab.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/netlink.h>
#include <net/netns/generic.h>

#include "pernet.h"

DEFINE_STATIC_KEY_FALSE(ops_rules_key);

static unsigned int rules_net_id __read_mostly;

/**
 * ops_net() - get the switch's state in a network namespace
 * @net: network namespace
 *
 * Context: any.
 */
struct ops_net *ops_net(const struct net *net)
{
	return net_generic(net, rules_net_id);
}

/* What rules are matched with *********************************************** */

struct rules_subject {
	u8 direction;
	u8 family;
	struct in6_addr address;
	u16 port;
	const struct cgroup *cgroup;
	kuid_t uid;
};

static const struct cgroup *rules_cgroup_of(const struct sock *sk)
{
#ifdef CONFIG_SOCK_CGROUP_DATA
	return sock_cgroup_ptr((struct sock_cgroup_data *)&sk->sk_cgrp_data);
#else
	return NULL;
#endif
}

/*
 * The address of a listener of all addresses is 0.0.0.0 or ::, which only prefixes of length 0
 * take. A listener that has no port yet (listen() without bind()) has port 0, in no rule's range.
 */
static void rules_take_socket(struct rules_subject *subject, const struct sock *sk,
			      enum ops_direction direction)
{
	bool connect = direction == OPS_CONNECT;

	subject->direction = direction;
	subject->port = connect ? ntohs(READ_ONCE(sk->sk_dport)) : READ_ONCE(inet_sk(sk)->inet_num);
	subject->uid = READ_ONCE(sk->sk_uid);
	subject->cgroup = rules_cgroup_of(sk);
	subject->family = AF_INET;
	ipv6_addr_set_v4mapped(connect ? sk->sk_daddr : sk->sk_rcv_saddr, &subject->address);
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		subject->address = connect ? sk->sk_v6_daddr : sk->sk_v6_rcv_saddr;
		/* an IPv4 address that IPv6 maps is one of IPv4: the connection uses IPv4 */
		subject->family = ipv6_addr_v4mapped(&subject->address) ? AF_INET : AF_INET6;
	}
#endif
}

/* bits of the mapped form that a rule compares */
static unsigned int match_bits(const struct ops_match *match)
{
	return match->prefix_len + (match->family == AF_INET ? 96 : 0);
}

/* A cgroup of the v2 hierarchy keeps its name while it is in memory. */
static bool match_cgroup(const struct ops_match *match, const struct cgroup *cgroup)
{
	int level = match->cgroup_level;
	const char *name = match->names;
	int i;

	if (!cgroup || cgroup->level < level + match->names_num ||
	    cgroup_id(cgroup->ancestors[level]) != match->cgroup)
		return false;
	for (i = 1; i <= match->names_num; i++) {
		if (strcmp(name, cgroup->ancestors[level + i]->kn->name))
			return false;
		name += strlen(name) + 1;
	}
	return true;
}

static bool rules_match(const struct ops_match *match, const struct rules_subject *subject)
{
	if (match->direction != subject->direction)
		return false;
	if (match->family != AF_UNSPEC &&
	    (match->family != subject->family ||
	     !ipv6_prefix_equal(&match->address, &subject->address, match_bits(match))))
		return false;
	if (match->port_max &&
	    (subject->port < match->port_min || subject->port > match->port_max))
		return false;
	if (match->has_uid && !uid_eq(match->uid, subject->uid))
		return false;
	return !match->has_cgroup || match_cgroup(match, subject->cgroup);
}

/*
 * The address that the socket will have as its peer's, see tcp_v4_connect(), tcp_v6_connect(). With
 * that of this end in @subject.
 */
static void rules_take_target(struct rules_subject *subject, const struct sock *sk,
			      const struct sockaddr *to)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)to;
	const struct sockaddr_in *in = (const struct sockaddr_in *)to;
	__be32 address;

	if (to->sa_family == AF_INET6) {
		subject->address = in6->sin6_addr;
		subject->port = ntohs(in6->sin6_port);
		if (ipv6_addr_any(&subject->address)) {
			if (subject->family == AF_INET)
				ipv6_addr_set_v4mapped(htonl(INADDR_LOOPBACK), &subject->address);
			else
				subject->address = in6addr_loopback;
		}
		subject->family = ipv6_addr_v4mapped(&subject->address) ? AF_INET : AF_INET6;
		return;
	}
	address = in->sin_addr.s_addr;
	if (!address)
		address = inet_sk(sk)->inet_saddr ?: htonl(INADDR_LOOPBACK);
	ipv6_addr_set_v4mapped(address, &subject->address);
	subject->port = ntohs(in->sin_port);
	subject->family = AF_INET;
}

/* The rule that decides; NULL: none does. RCU */
static struct ops_rule *rules_first(const struct ops_net *ops, const struct rules_subject *subject)
{
	struct ops_rule *rule;

	list_for_each_entry_rcu(rule, &ops->rules, node)
		if (rules_match(&rule->match, subject))
			return rule;
	return NULL;
}

bool ops_rules_allow(const struct sock *sk, enum ops_direction direction,
		     const struct sockaddr *to)
{
	struct rules_subject subject;
	const struct ops_rule *rule;

	guard(rcu)();
	/* the address of this end, in each case */
	rules_take_socket(&subject, sk, OPS_LISTEN);
	subject.direction = direction;
	if (to)
		rules_take_target(&subject, sk, to);
	rule = rules_first(ops_net(sock_net(sk)), &subject);
	return rule && rule->action != KRDMA_OFFLOAD_ACTION_TCP;
}

bool ops_match_socket(const struct ops_match *match, const struct sock *sk,
		      enum ops_direction direction)
{
	struct rules_subject subject;

	rules_take_socket(&subject, sk, direction);
	return rules_match(match, &subject);
}

/**
 * ops_rules_find() - ops_rules_choose() where some namespace has rules
 * @sk: socket of IPv4 or IPv6 that enters SYN_SENT or LISTEN
 * @direction: which of the two
 * @choice: gets the rule; its @rule is 0 already
 *
 * Return: true: mark the socket. Context: as ops_rules_choose().
 */
bool ops_rules_find(const struct sock *sk, enum ops_direction direction,
		    struct ops_choice *choice)
{
	struct ops_net *ops = ops_net(sock_net(sk));
	struct rules_subject subject;
	struct ops_rule *rule;
	bool mark = false;

	if (list_empty(&ops->rules))
		return false;
	rcu_read_lock();
	rules_take_socket(&subject, sk, direction);
	rule = rules_first(ops, &subject);
	if (rule) {
		atomic64_inc(&rule->hits);
		choice->rule = rule->id;
		choice->action = rule->action;
		memcpy(choice->road, rule->road, sizeof(choice->road));
		mark = rule->action != KRDMA_OFFLOAD_ACTION_TCP;
	}
	rcu_read_unlock();
	if (choice->rule && !mark)
		ops_count(sock_net(sk), OPS_COUNT_RULE_TCP);
	return mark;
}

/* Changes ******************************************************************* */

/**
 * ops_rule_alloc() - get a rule that matches all sockets of a direction
 *
 * Return: rule, ops_rule_free() gives it back; NULL: no memory.
 */
struct ops_rule *ops_rule_alloc(void)
{
	return kzalloc(sizeof(struct ops_rule), GFP_KERNEL_ACCOUNT);
}

/**
 * ops_rule_free() - give back a rule that no list has
 * @rule: rule, or NULL
 */
void ops_rule_free(struct ops_rule *rule)
{
	if (!rule)
		return;
	kfree(rule->match.names);
	kfree(rule);
}

static void rules_free_rcu(struct rcu_head *rcu)
{
	ops_rule_free(container_of(rcu, struct ops_rule, rcu));
}

static unsigned int match_ports(const struct ops_match *match)
{
	return match->port_max ? match->port_max - match->port_min + 1 : 65536;
}

static int match_depth(const struct ops_match *match)
{
	return match->cgroup_level + match->names_num;
}

/*
 * Prefixes of IPv4 and of IPv6 never match the same address, so that their lengths may be compared.
 * Return: < 0: @a is looked at before @b; 0: the older one is
 */
static int match_order(const struct ops_match *a, const struct ops_match *b)
{
	int order = (int)b->prefix_len - (int)a->prefix_len;

	if (!order)
		order = (b->family != AF_UNSPEC) - (a->family != AF_UNSPEC);
	if (!order)
		order = (int)match_ports(a) - (int)match_ports(b);
	if (!order)
		order = b->has_cgroup - a->has_cgroup;
	if (!order)
		order = match_depth(b) - match_depth(a);
	if (!order)
		order = b->has_uid - a->has_uid;
	return order;
}

static bool match_same_names(const struct ops_match *a, const struct ops_match *b)
{
	const char *of_a = a->names;
	const char *of_b = b->names;
	int i;

	if (a->names_num != b->names_num)
		return false;
	for (i = 0; i < a->names_num; i++) {
		if (strcmp(of_a, of_b))
			return false;
		of_a += strlen(of_a) + 1;
		of_b += strlen(of_b) + 1;
	}
	return true;
}

static bool match_same(const struct ops_match *a, const struct ops_match *b)
{
	return a->direction == b->direction && a->family == b->family &&
	       a->prefix_len == b->prefix_len && ipv6_addr_equal(&a->address, &b->address) &&
	       a->port_min == b->port_min && a->port_max == b->port_max &&
	       a->has_cgroup == b->has_cgroup && a->cgroup == b->cgroup &&
	       match_same_names(a, b) && a->has_uid == b->has_uid &&
	       (!a->has_uid || uid_eq(a->uid, b->uid));
}

/* with the mutex; zero means "no dump runs" to netlink */
static void rules_changed(struct ops_net *ops)
{
	if (!++ops->rules_seq)
		ops->rules_seq = 1;
}

/* with the mutex. An id that wrapped may be in use. */
static u32 rules_new_id(struct ops_net *ops)
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
static int rules_check_new(const struct ops_net *ops, const struct ops_rule *fresh,
			   struct netlink_ext_ack *extack)
{
	const struct ops_rule *rule;

	list_for_each_entry(rule, &ops->rules, node) {
		if (match_same(&rule->match, &fresh->match)) {
			NL_SET_ERR_MSG_FMT(extack, "rule %u is for the same sockets", rule->id);
			return -EEXIST;
		}
	}
	if (ops->rules_num >= ops_net_limit(ops, KRDMA_OFFLOAD_LIMIT_RULES)) {
		NL_SET_ERR_MSG(extack, "as many rules as the limit \"rules\" says");
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
	error = rules_check_new(ops, rule, extack);
	if (error)
		return error;
	*id = rules_new_id(ops);
	rule->id = *id;
	list_for_each_entry(other, &ops->rules, node) {
		if (match_order(&rule->match, &other->match) < 0) {
			before = &other->node;
			break;
		}
	}
	/* "tail" of an entry is the place before it */
	list_add_tail_rcu(&rule->node, before);
	ops->rules_num++;
	rules_changed(ops);
	static_branch_inc(&ops_rules_key);
	return 0;
}

/* with the mutex */
static void rules_remove(struct ops_net *ops, struct ops_rule *rule)
{
	static_branch_dec(&ops_rules_key);
	list_del_rcu(&rule->node);
	ops->rules_num--;
	rules_changed(ops);
	call_rcu(&rule->rcu, rules_free_rcu);
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
			rules_remove(ops, rule);
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
		rules_remove(ops, rule);
}

/* Life ********************************************************************** */

static int __net_init rules_net_init(struct net *net)
{
	struct ops_net *ops = ops_net(net);
	int error;

	INIT_LIST_HEAD(&ops->rules);
	mutex_init(&ops->rules_mutex);
	ops->rules_seq = 1;
	error = ops_limits_init(ops);
	if (error)
		return error;
	error = ops_counters_init(ops);
	if (error)
		goto no_counters;
	error = ops_peers_init(ops);
	if (!error)
		return 0;
	ops_counters_exit(ops);
no_counters:
	offload_account_put(ops->account);
	return error;
}

static void __net_exit rules_net_exit(struct net *net)
{
	struct ops_net *ops = ops_net(net);

	ops_rules_flush(ops);
	ops_peers_exit(ops);
	ops_counters_exit(ops);
	offload_account_put(ops->account);
}

static struct pernet_operations rules_net_ops = {
	.init = rules_net_init,
	.exit = rules_net_exit,
	.id = &rules_net_id,
	.size = sizeof(struct ops_net),
};

/**
 * ops_rules_init() - begin with rules, limits, counters, negative cache and netlink
 *
 * Return: 0 or an errno. Context: may sleep.
 */
int ops_rules_init(void)
{
	int error = register_pernet_subsys(&rules_net_ops);

	if (error)
		return error;
	error = ops_netlink_init();
	if (error)
		unregister_pernet_subsys(&rules_net_ops);
	return error;
}

/**
 * ops_rules_exit() - end them; no socket is marked any more, and none asks
 */
void ops_rules_exit(void)
{
	ops_netlink_exit();
	unregister_pernet_subsys(&rules_net_ops);
	rcu_barrier();
}
