// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Control of the switch by generic netlink (krdma/offload-netlink.h): the roads, the rules, the
 * marked sockets, the limits and the counters of the caller's network namespace. "krdma offload" is
 * the caller.
 */
#include <linux/slab.h>
#include <net/genetlink.h>
#include <net/ipv6.h>

#include "netlink.h"

static_assert(KRDMA_OFFLOAD_NAME_LEN == OFFLOAD_NAME_MAX);

static struct genl_family netlink_family;

/* Policies: each command takes what it needs and nothing else *************** */

/* the commands that ask */
static const struct nla_policy netlink_nothing[] = {
	[KRDMA_OFFLOAD_ATTR_PAD] = { .type = NLA_REJECT },
};

static const struct nla_policy netlink_rule_id[] = {
	[KRDMA_OFFLOAD_ATTR_ID] = NLA_POLICY_MIN(NLA_U32, 1),
};

#define NETLINK_MATCH_POLICY \
	[KRDMA_OFFLOAD_ATTR_DIRECTION] = NLA_POLICY_MAX(NLA_U8, KRDMA_OFFLOAD_LISTEN), \
	[KRDMA_OFFLOAD_ATTR_ADDRESS4] = { .type = NLA_U32 }, \
	[KRDMA_OFFLOAD_ATTR_ADDRESS6] = NLA_POLICY_EXACT_LEN(sizeof(struct in6_addr)), \
	[KRDMA_OFFLOAD_ATTR_PREFIX_LEN] = NLA_POLICY_MAX(NLA_U8, 128), \
	[KRDMA_OFFLOAD_ATTR_PORT_MIN] = NLA_POLICY_MIN(NLA_U16, 1), \
	[KRDMA_OFFLOAD_ATTR_PORT_MAX] = NLA_POLICY_MIN(NLA_U16, 1), \
	[KRDMA_OFFLOAD_ATTR_CGROUP] = NLA_POLICY_MIN(NLA_U64, 1), \
	[KRDMA_OFFLOAD_ATTR_CGROUP_PATH] = { .type = NLA_NUL_STRING, \
					     .len = KRDMA_OFFLOAD_PATH_LEN - 1 }, \
	[KRDMA_OFFLOAD_ATTR_UID] = { .type = NLA_U32 }

static const struct nla_policy netlink_rule_new[] = {
	NETLINK_MATCH_POLICY,
	[KRDMA_OFFLOAD_ATTR_NAME] = { .type = NLA_NUL_STRING, .len = OFFLOAD_NAME_MAX - 1 },
	[KRDMA_OFFLOAD_ATTR_ACTION] = NLA_POLICY_MAX(NLA_U8, KRDMA_OFFLOAD_ACTION_NAMED),
};

static const struct nla_policy netlink_reset[] = {
	NETLINK_MATCH_POLICY,
	[KRDMA_OFFLOAD_ATTR_FORCE] = { .type = NLA_FLAG },
};

static const struct nla_policy netlink_limit[] = {
	[KRDMA_OFFLOAD_ATTR_LIMIT] = NLA_POLICY_MAX(NLA_U8, KRDMA_OFFLOAD_LIMITS - 1),
	[KRDMA_OFFLOAD_ATTR_VALUE] = { .type = NLA_U64 },
};

static struct ops_net *netlink_net(const struct sk_buff *skb)
{
	return ops_net(sock_net(skb->sk));
}

/* Users of rules and sockets are those of the namespace that owns the network namespace. */
static struct user_namespace *netlink_users(const struct sk_buff *skb)
{
	return sock_net(skb->sk)->user_ns;
}

static void *netlink_begin(struct sk_buff *skb, struct netlink_callback *cb, u8 command)
{
	return genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq, &netlink_family,
			   NLM_F_MULTI, command);
}

static int netlink_end(struct sk_buff *skb, void *message, bool failed)
{
	if (failed) {
		genlmsg_cancel(skb, message);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, message);
	return 0;
}

/* what the functions that walk roads and sockets for a dump need; @all: sockets of all users */
struct netlink_dump {
	struct sk_buff *skb;
	struct netlink_callback *cb;
	bool all;
};

/* Roads ********************************************************************* */

static int netlink_show_road(const struct ops_road_view *view, void *arg)
{
	struct netlink_dump *dump = arg;
	struct sk_buff *skb = dump->skb;
	void *message = netlink_begin(skb, dump->cb, KRDMA_OFFLOAD_CMD_ROAD_GET);

	if (!message)
		return -EMSGSIZE;
	return netlink_end(skb, message,
			   nla_put_string(skb, KRDMA_OFFLOAD_ATTR_NAME, view->name) ||
			   nla_put_u32(skb, KRDMA_OFFLOAD_ATTR_NUMBER, view->protocol) ||
			   nla_put_u32(skb, KRDMA_OFFLOAD_ATTR_CAPS, view->caps) ||
			   nla_put_s32(skb, KRDMA_OFFLOAD_ATTR_PRIORITY, view->priority) ||
			   nla_put_u32(skb, KRDMA_OFFLOAD_ATTR_SOCKETS, view->conns));
}

/* cb->args[0]: position of the walk; cb->args[1]: it is over */
static int netlink_dump_roads(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct netlink_dump dump = { .skb = skb, .cb = cb };

	if (!cb->args[1])
		cb->args[1] = !ops_roads_walk((unsigned long *)&cb->args[0], netlink_show_road,
					      &dump);
	return skb->len;
}

/* Rules ********************************************************************* */

/*
 * cb->args[0]: the number of rules that were sent already. If the rules change between two parts
 * of a dump, genl_dump_check_consistent() asks the caller to begin again.
 */
static int netlink_dump_rules(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct ops_net *ops = netlink_net(skb);
	const struct ops_rule *rule;
	long at = 0;

	guard(mutex)(&ops->rules_mutex);
	cb->seq = ops->rules_seq;
	list_for_each_entry(rule, &ops->rules, node) {
		void *message;

		if (at++ < cb->args[0])
			continue;
		message = netlink_begin(skb, cb, KRDMA_OFFLOAD_CMD_RULE_GET);
		if (!message)
			break;
		genl_dump_check_consistent(cb, message);
		if (netlink_end(skb, message, netlink_put_rule(skb, rule, netlink_users(skb))))
			break;
		cb->args[0]++;
	}
	return skb->len;
}

/* The answer is made first: a rule that was added is not taken back. */
static int netlink_add_rule(struct sk_buff *skb, struct genl_info *info)
{
	struct ops_rule *rule;
	struct sk_buff *answer = NULL;
	void *message;
	int error;
	u32 id;

	if (GENL_REQ_ATTR_CHECK(info, KRDMA_OFFLOAD_ATTR_DIRECTION) ||
	    GENL_REQ_ATTR_CHECK(info, KRDMA_OFFLOAD_ATTR_ACTION)) {
		NL_SET_ERR_MSG(info->extack, "direction or action is missing");
		return -EINVAL;
	}
	rule = ops_rule_alloc();
	if (!rule)
		return -ENOMEM;
	error = netlink_take_rule(rule, info, netlink_users(skb));
	if (error)
		goto free;
	error = -ENOMEM;
	answer = genlmsg_new(nla_total_size(sizeof(u32)), GFP_KERNEL);
	if (!answer)
		goto free;
	message = genlmsg_put_reply(answer, info, &netlink_family, 0, KRDMA_OFFLOAD_CMD_RULE_ADD);
	error = message ? ops_rule_add(netlink_net(skb), rule, &id, info->extack) : -EMSGSIZE;
	if (error)
		goto free;
	/* there is room */
	nla_put_u32(answer, KRDMA_OFFLOAD_ATTR_ID, id);
	genlmsg_end(answer, message);
	return genlmsg_reply(answer, info);

free:
	nlmsg_free(answer);
	ops_rule_free(rule);
	return error;
}

static int netlink_del_rule(struct sk_buff *skb, struct genl_info *info)
{
	int error;

	if (GENL_REQ_ATTR_CHECK(info, KRDMA_OFFLOAD_ATTR_ID)) {
		NL_SET_ERR_MSG(info->extack, "the rule's id is missing");
		return -EINVAL;
	}
	error = ops_rule_del(netlink_net(skb), nla_get_u32(info->attrs[KRDMA_OFFLOAD_ATTR_ID]));
	if (error)
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[KRDMA_OFFLOAD_ATTR_ID],
				    "no such rule");
	return error;
}

static int netlink_flush_rules(struct sk_buff *skb, struct genl_info *info)
{
	ops_rules_flush(netlink_net(skb));
	return 0;
}

/* Sockets ******************************************************************* */

static bool netlink_put_ends(struct sk_buff *skb, const struct ops_sock_view *view)
{
	bool failed;

	if (view->family == AF_INET)
		failed = nla_put_in_addr(skb, KRDMA_OFFLOAD_ATTR_ADDRESS4,
					 view->local.s6_addr32[3]) ||
			 nla_put_in_addr(skb, KRDMA_OFFLOAD_ATTR_PEER4,
					 view->remote.s6_addr32[3]);
	else
		failed = nla_put_in6_addr(skb, KRDMA_OFFLOAD_ATTR_ADDRESS6, &view->local) ||
			 nla_put_in6_addr(skb, KRDMA_OFFLOAD_ATTR_PEER6, &view->remote);
	return failed || nla_put_u16(skb, KRDMA_OFFLOAD_ATTR_PORT, view->local_port) ||
	       nla_put_u16(skb, KRDMA_OFFLOAD_ATTR_PEER_PORT, view->remote_port);
}

static bool netlink_put_bytes(struct sk_buff *skb, int attr, u64 bytes)
{
	return nla_put_u64_64bit(skb, attr, bytes, KRDMA_OFFLOAD_ATTR_PAD);
}

static bool netlink_put_info(struct sk_buff *skb, struct ops_sock *os)
{
	struct nlattr *nest = nla_nest_start(skb, KRDMA_OFFLOAD_ATTR_INFO);

	if (!nest)
		return true;
	if (ops_sock_info(os, skb)) {
		nla_nest_cancel(skb, nest);
		return true;
	}
	nla_nest_end(skb, nest);
	return false;
}

static bool netlink_put_socket(struct sk_buff *skb, struct ops_sock *os,
			       const struct ops_sock_view *view)
{
	return netlink_put_ends(skb, view) ||
	       nla_put_u8(skb, KRDMA_OFFLOAD_ATTR_TCP_STATE, view->tcp_state) ||
	       nla_put_u8(skb, KRDMA_OFFLOAD_ATTR_STATE, view->state) ||
	       nla_put_u32(skb, KRDMA_OFFLOAD_ATTR_UID,
			   from_kuid_munged(netlink_users(skb), view->uid)) ||
	       (view->rule && nla_put_u32(skb, KRDMA_OFFLOAD_ATTR_ID, view->rule)) ||
	       netlink_put_bytes(skb, KRDMA_OFFLOAD_ATTR_INODE, view->inode) ||
	       netlink_put_bytes(skb, KRDMA_OFFLOAD_ATTR_SENT, view->sent) ||
	       netlink_put_bytes(skb, KRDMA_OFFLOAD_ATTR_RECEIVED, view->received) ||
	       netlink_put_bytes(skb, KRDMA_OFFLOAD_ATTR_TCP_SENT, view->tcp_sent) ||
	       netlink_put_bytes(skb, KRDMA_OFFLOAD_ATTR_TCP_RECEIVED, view->tcp_received) ||
	       (view->why < OPS_COUNTERS &&
		nla_put_string(skb, KRDMA_OFFLOAD_ATTR_WHY, ops_counter_names[view->why])) ||
	       (view->road[0] && (nla_put_string(skb, KRDMA_OFFLOAD_ATTR_NAME, view->road) ||
				  netlink_put_info(skb, os)));
}

static int netlink_show_socket(struct ops_sock *os, void *arg)
{
	struct netlink_dump *dump = arg;
	struct ops_sock_view view = { .why = OPS_COUNTERS };
	void *message;

	ops_sock_view(os, &view);
	if (!dump->all && !uid_eq(NETLINK_CREDS(dump->cb->skb)->uid, view.uid))
		return 0;
	message = netlink_begin(dump->skb, dump->cb, KRDMA_OFFLOAD_CMD_SOCKET_GET);
	if (!message)
		return -EMSGSIZE;
	return netlink_end(dump->skb, message, netlink_put_socket(dump->skb, os, &view));
}

/*
 * A user without CAP_NET_ADMIN sees the own sockets. cb->args[0]: position of the walk;
 * cb->args[1]: it is over
 */
static int netlink_dump_sockets(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct netlink_dump dump = {
		.skb = skb, .cb = cb, .all = netlink_net_capable(cb->skb, CAP_NET_ADMIN),
	};

	if (!cb->args[1])
		cb->args[1] = !ops_socks_walk(sock_net(skb->sk), (unsigned long *)&cb->args[0],
					      netlink_show_socket, &dump);
	return skb->len;
}

/* without a direction, the message has nothing else that is to match */
static bool netlink_means_all(const struct genl_info *info)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(netlink_reset); i++) {
		if (i != KRDMA_OFFLOAD_ATTR_FORCE && info->attrs[i])
			return false;
	}
	return true;
}

static int netlink_answer_value(struct genl_info *info, u8 command, u64 value)
{
	struct sk_buff *answer = genlmsg_new(nla_total_size_64bit(sizeof(u64)), GFP_KERNEL);
	void *message;

	if (!answer)
		return -ENOMEM;
	message = genlmsg_put_reply(answer, info, &netlink_family, 0, command);
	if (!message || netlink_put_bytes(answer, KRDMA_OFFLOAD_ATTR_VALUE, value)) {
		nlmsg_free(answer);
		return -EMSGSIZE;
	}
	genlmsg_end(answer, message);
	return genlmsg_reply(answer, info);
}

static int netlink_reset_sockets(struct sk_buff *skb, struct genl_info *info)
{
	bool end = info->attrs[KRDMA_OFFLOAD_ATTR_FORCE];
	bool all = netlink_means_all(info);
	struct ops_match match = {};
	int error = 0;

	if (!all && GENL_REQ_ATTR_CHECK(info, KRDMA_OFFLOAD_ATTR_DIRECTION)) {
		NL_SET_ERR_MSG(info->extack, "the direction is missing");
		return -EINVAL;
	}
	if (!all)
		error = netlink_take_match(&match, info, netlink_users(skb));
	if (!error)
		error = ops_socks_reset(sock_net(skb->sk), all ? NULL : &match, end);
	kfree(match.names);
	return error < 0 ? error : netlink_answer_value(info, KRDMA_OFFLOAD_CMD_RESET, error);
}

/* Limits ******************************************************************** */

/* cb->args[0]: the number of limits that were sent already */
static int netlink_dump_limits(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct ops_net *ops = netlink_net(skb);

	for (; cb->args[0] < KRDMA_OFFLOAD_LIMITS; cb->args[0]++) {
		void *message = netlink_begin(skb, cb, KRDMA_OFFLOAD_CMD_LIMIT_GET);
		long at = cb->args[0];

		if (!message ||
		    netlink_end(skb, message,
				nla_put_u8(skb, KRDMA_OFFLOAD_ATTR_LIMIT, at) ||
				nla_put_string(skb, KRDMA_OFFLOAD_ATTR_NAME, ops_limit_names[at]) ||
				netlink_put_bytes(skb, KRDMA_OFFLOAD_ATTR_VALUE,
						  ops_net_limit(ops, at)) ||
				netlink_put_bytes(skb, KRDMA_OFFLOAD_ATTR_USED,
						  ops_limit_used(ops, at)) ||
				netlink_put_bytes(skb, KRDMA_OFFLOAD_ATTR_HOST,
						  ops_limit_host(at))))
			break;
	}
	return skb->len;
}

static int netlink_set_limit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *value = info->attrs[KRDMA_OFFLOAD_ATTR_VALUE];
	int error;

	if (GENL_REQ_ATTR_CHECK(info, KRDMA_OFFLOAD_ATTR_LIMIT)) {
		NL_SET_ERR_MSG(info->extack, "the limit is missing");
		return -EINVAL;
	}
	error = ops_limit_set(netlink_net(skb), nla_get_u8(info->attrs[KRDMA_OFFLOAD_ATTR_LIMIT]),
			      value ? nla_get_u64(value) : U64_MAX);
	if (error)
		NL_SET_ERR_MSG_ATTR(info->extack, value,
				    "more than the host's: see krdma_ops' parameters");
	return error;
}

/* Counters ****************************************************************** */

/* cb->args[0]: the number of counters that were sent already */
static int netlink_dump_counters(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct ops_net *ops = netlink_net(skb);

	for (; cb->args[0] < OPS_COUNTERS; cb->args[0]++) {
		void *message = netlink_begin(skb, cb, KRDMA_OFFLOAD_CMD_COUNTER_GET);
		long at = cb->args[0];

		if (!message ||
		    netlink_end(skb, message,
				nla_put_string(skb, KRDMA_OFFLOAD_ATTR_NAME,
					       ops_counter_names[at]) ||
				netlink_put_bytes(skb, KRDMA_OFFLOAD_ATTR_VALUE,
						  ops_counter(ops, at))))
			break;
	}
	return skb->len;
}

/* The family **************************************************************** */

#define NETLINK_ASK(what, dump) { \
		.cmd = KRDMA_OFFLOAD_CMD_##what##_GET, \
		.dumpit = (dump), \
		.policy = netlink_nothing, \
		.maxattr = ARRAY_SIZE(netlink_nothing) - 1, \
	}

#define NETLINK_DO(what, todo, takes) { \
		.cmd = KRDMA_OFFLOAD_CMD_##what, \
		.doit = (todo), \
		.policy = (takes), \
		.maxattr = ARRAY_SIZE(takes) - 1, \
		.flags = GENL_UNS_ADMIN_PERM, \
	}

static const struct genl_ops netlink_ops[] = {
	NETLINK_ASK(ROAD, netlink_dump_roads),
	NETLINK_ASK(RULE, netlink_dump_rules),
	NETLINK_DO(RULE_ADD, netlink_add_rule, netlink_rule_new),
	NETLINK_DO(RULE_DEL, netlink_del_rule, netlink_rule_id),
	NETLINK_DO(RULE_FLUSH, netlink_flush_rules, netlink_nothing),
	NETLINK_ASK(COUNTER, netlink_dump_counters),
	NETLINK_ASK(SOCKET, netlink_dump_sockets),
	NETLINK_DO(RESET, netlink_reset_sockets, netlink_reset),
	NETLINK_ASK(LIMIT, netlink_dump_limits),
	NETLINK_DO(LIMIT_SET, netlink_set_limit, netlink_limit),
};

static struct genl_family netlink_family __ro_after_init = {
	.name = KRDMA_OFFLOAD_GENL_NAME,
	.version = KRDMA_OFFLOAD_GENL_VERSION,
	.netnsok = true,
	.parallel_ops = true,
	.module = THIS_MODULE,
	.ops = netlink_ops,
	.n_ops = ARRAY_SIZE(netlink_ops),
	.resv_start_op = KRDMA_OFFLOAD_CMD_UNSPEC + 1,
};

/**
 * ops_netlink_init() - register the family
 *
 * Return: 0 or an errno. Context: may sleep.
 */
int ops_netlink_init(void)
{
	return genl_register_family(&netlink_family);
}

/**
 * ops_netlink_exit() - no command runs any more
 */
void ops_netlink_exit(void)
{
	genl_unregister_family(&netlink_family);
}
