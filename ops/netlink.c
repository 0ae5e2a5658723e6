// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Control of the switch by generic netlink (krdma/offload-netlink.h): the protocols, the rules and
 * the counters of the caller's network namespace. "krdma offload" is the caller.
 */
#include <linux/cgroup.h>
#include <linux/ctype.h>
#include <linux/slab.h>
#include <net/genetlink.h>
#include <net/ipv6.h>

#include "policy.h"

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

static const struct nla_policy netlink_rule_new[] = {
	[KRDMA_OFFLOAD_ATTR_NAME] = { .type = NLA_NUL_STRING, .len = OFFLOAD_NAME_MAX - 1 },
	[KRDMA_OFFLOAD_ATTR_DIRECTION] = NLA_POLICY_MAX(NLA_U8, KRDMA_OFFLOAD_SOCKET),
	[KRDMA_OFFLOAD_ATTR_ACTION] = NLA_POLICY_MAX(NLA_U8, KRDMA_OFFLOAD_ACTION_PROTOCOL),
	[KRDMA_OFFLOAD_ATTR_ADDRESS4] = { .type = NLA_U32 },
	[KRDMA_OFFLOAD_ATTR_ADDRESS6] = NLA_POLICY_EXACT_LEN(sizeof(struct in6_addr)),
	[KRDMA_OFFLOAD_ATTR_PREFIX_LEN] = NLA_POLICY_MAX(NLA_U8, 128),
	[KRDMA_OFFLOAD_ATTR_PORT_MIN] = NLA_POLICY_MIN(NLA_U16, 1),
	[KRDMA_OFFLOAD_ATTR_PORT_MAX] = NLA_POLICY_MIN(NLA_U16, 1),
	[KRDMA_OFFLOAD_ATTR_CGROUP] = NLA_POLICY_MIN(NLA_U64, 1),
	[KRDMA_OFFLOAD_ATTR_CGROUP_PATH] = { .type = NLA_NUL_STRING,
					     .len = KRDMA_OFFLOAD_PATH_LEN - 1 },
	[KRDMA_OFFLOAD_ATTR_UID] = { .type = NLA_U32 },
};

static struct ops_net *netlink_net(const struct sk_buff *skb)
{
	return ops_net(sock_net(skb->sk));
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

/* Protocols ***************************************************************** */

static int netlink_fill_protocol(struct sk_buff *skb, struct netlink_callback *cb,
				 const struct ops_proto *proto)
{
	void *message = netlink_begin(skb, cb, KRDMA_OFFLOAD_CMD_PROTOCOL_GET);
	/* without the list's own reference and this dump's */
	u32 sockets = max_t(int, refcount_read(&proto->refs) - 2, 0);

	if (!message)
		return -EMSGSIZE;
	return netlink_end(skb, message,
			   nla_put_string(skb, KRDMA_OFFLOAD_ATTR_NAME, proto->sw->name) ||
			   nla_put_u32(skb, KRDMA_OFFLOAD_ATTR_NUMBER, proto->sw->protocol) ||
			   nla_put_u32(skb, KRDMA_OFFLOAD_ATTR_CAPS, proto->sw->caps) ||
			   nla_put_s32(skb, KRDMA_OFFLOAD_ATTR_PRIORITY, proto->sw->priority) ||
			   nla_put_u32(skb, KRDMA_OFFLOAD_ATTR_SOCKETS, sockets) ||
			   (proto->sw->ops6 && nla_put_flag(skb, KRDMA_OFFLOAD_ATTR_IPV6)));
}

/* cb->args[0]: the number of protocols that were sent already. All take AF_INET. */
static int netlink_dump_protocols(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct ops_proto *protos[OFFLOAD_PROTOCOLS_MAX];
	u32 num = ops_protos_get(AF_INET, false, protos);
	u32 i;

	for (i = cb->args[0]; i < num; i++) {
		if (netlink_fill_protocol(skb, cb, protos[i]))
			break;
	}
	cb->args[0] = i;
	for (i = 0; i < num; i++)
		ops_proto_put(protos[i]);
	return skb->len;
}

/* Rules ********************************************************************* */

static bool netlink_put_cgroup(struct sk_buff *skb, u64 id)
{
	struct cgroup *cgroup;
	bool failed = false;
	char *path;

	if (nla_put_u64_64bit(skb, KRDMA_OFFLOAD_ATTR_CGROUP, id, KRDMA_OFFLOAD_ATTR_PAD))
		return true;
	/* it may be gone, or out of the caller's sight */
	cgroup = cgroup_get_from_id(id);
	if (IS_ERR(cgroup))
		return false;
	path = kmalloc(KRDMA_OFFLOAD_PATH_LEN, GFP_KERNEL);
	if (path && cgroup_path_ns(cgroup, path, KRDMA_OFFLOAD_PATH_LEN,
				   current->nsproxy->cgroup_ns) >= 0)
		failed = nla_put_string(skb, KRDMA_OFFLOAD_ATTR_CGROUP_PATH, path);
	kfree(path);
	cgroup_put(cgroup);
	return failed;
}

static bool netlink_put_address(struct sk_buff *skb, const struct ops_rule *rule)
{
	if (rule->family == AF_UNSPEC)
		return false;
	if (nla_put_u8(skb, KRDMA_OFFLOAD_ATTR_PREFIX_LEN, rule->prefix_len))
		return true;
	if (rule->family == AF_INET)
		return nla_put_in_addr(skb, KRDMA_OFFLOAD_ATTR_ADDRESS4,
				       rule->address.s6_addr32[3]);
	return nla_put_in6_addr(skb, KRDMA_OFFLOAD_ATTR_ADDRESS6, &rule->address);
}

static bool netlink_put_rule(struct sk_buff *skb, const struct ops_rule *rule,
			     struct user_namespace *user_ns)
{
	return nla_put_u32(skb, KRDMA_OFFLOAD_ATTR_ID, rule->id) ||
	       nla_put_u8(skb, KRDMA_OFFLOAD_ATTR_DIRECTION, rule->direction) ||
	       nla_put_u8(skb, KRDMA_OFFLOAD_ATTR_ACTION, rule->action) ||
	       (rule->action == KRDMA_OFFLOAD_ACTION_PROTOCOL &&
		nla_put_string(skb, KRDMA_OFFLOAD_ATTR_NAME, rule->protocol)) ||
	       netlink_put_address(skb, rule) ||
	       (rule->port_max &&
		(nla_put_u16(skb, KRDMA_OFFLOAD_ATTR_PORT_MIN, rule->port_min) ||
		 nla_put_u16(skb, KRDMA_OFFLOAD_ATTR_PORT_MAX, rule->port_max))) ||
	       (rule->has_uid && nla_put_u32(skb, KRDMA_OFFLOAD_ATTR_UID,
					     from_kuid_munged(user_ns, rule->uid))) ||
	       (rule->cgroup && netlink_put_cgroup(skb, rule->cgroup)) ||
	       nla_put_u64_64bit(skb, KRDMA_OFFLOAD_ATTR_HITS, atomic64_read(&rule->hits),
				 KRDMA_OFFLOAD_ATTR_PAD);
}

/*
 * cb->args[0]: the number of rules that were sent already. If the rules change between two parts
 * of a dump, genl_dump_check_consistent() asks the caller to begin again.
 */
static int netlink_dump_rules(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct user_namespace *user_ns = sk_user_ns(NETLINK_CB(cb->skb).sk);
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
		if (netlink_end(skb, message, netlink_put_rule(skb, rule, user_ns)))
			break;
		cb->args[0]++;
	}
	return skb->len;
}

static int netlink_take_address(struct ops_rule *rule, struct genl_info *info)
{
	struct nlattr *in = info->attrs[KRDMA_OFFLOAD_ATTR_ADDRESS4];
	struct nlattr *in6 = info->attrs[KRDMA_OFFLOAD_ATTR_ADDRESS6];
	struct nlattr *len = info->attrs[KRDMA_OFFLOAD_ATTR_PREFIX_LEN];
	unsigned int bits = in ? 32 : 128;
	struct in6_addr prefix;

	if (in && in6) {
		NL_SET_ERR_MSG_ATTR(info->extack, in6, "two addresses");
		return -EINVAL;
	}
	if (!in && !in6) {
		if (len)
			NL_SET_ERR_MSG_ATTR(info->extack, len, "a prefix length, but no address");
		return len ? -EINVAL : 0;
	}
	rule->family = in ? AF_INET : AF_INET6;
	rule->prefix_len = len ? nla_get_u8(len) : bits;
	if (rule->prefix_len > bits) {
		NL_SET_ERR_MSG_ATTR(info->extack, len, "the prefix is longer than the address");
		return -EINVAL;
	}
	if (in)
		ipv6_addr_set_v4mapped(nla_get_in_addr(in), &rule->address);
	else
		rule->address = nla_get_in6_addr(in6);
	if (in6 && ipv6_addr_v4mapped(&rule->address)) {
		NL_SET_ERR_MSG_ATTR(info->extack, in6, "an IPv4 address in IPv6: give it as IPv4");
		return -EINVAL;
	}
	ipv6_addr_prefix(&prefix, &rule->address, rule->prefix_len + 128 - bits);
	if (!ipv6_addr_equal(&prefix, &rule->address)) {
		NL_SET_ERR_MSG_ATTR(info->extack, in ?: in6,
				    "the address is longer than its prefix");
		return -EINVAL;
	}
	return 0;
}

static int netlink_take_ports(struct ops_rule *rule, struct genl_info *info)
{
	struct nlattr *first = info->attrs[KRDMA_OFFLOAD_ATTR_PORT_MIN];
	struct nlattr *last = info->attrs[KRDMA_OFFLOAD_ATTR_PORT_MAX];

	if (!first) {
		if (last)
			NL_SET_ERR_MSG_ATTR(info->extack, last, "a last port without the first");
		return last ? -EINVAL : 0;
	}
	rule->port_min = nla_get_u16(first);
	rule->port_max = nla_get_u16(last ?: first);
	if (rule->port_max < rule->port_min) {
		NL_SET_ERR_MSG_ATTR(info->extack, last, "the last port is before the first");
		return -EINVAL;
	}
	return 0;
}

static int netlink_take_cgroup(struct ops_rule *rule, struct genl_info *info)
{
	struct nlattr *path = info->attrs[KRDMA_OFFLOAD_ATTR_CGROUP_PATH];
	struct nlattr *id = info->attrs[KRDMA_OFFLOAD_ATTR_CGROUP];
	struct cgroup *cgroup;

	if (!id && !path)
		return 0;
	if (id && path) {
		NL_SET_ERR_MSG_ATTR(info->extack, path, "two cgroups");
		return -EINVAL;
	}
	if (!IS_ENABLED(CONFIG_SOCK_CGROUP_DATA)) {
		NL_SET_ERR_MSG(info->extack, "this kernel's sockets have no cgroup");
		return -EOPNOTSUPP;
	}
	cgroup = id ? cgroup_get_from_id(nla_get_u64(id)) : cgroup_get_from_path(nla_data(path));
	if (IS_ERR(cgroup)) {
		NL_SET_ERR_MSG_ATTR(info->extack, id ?: path, "no such cgroup (v2)");
		return PTR_ERR(cgroup);
	}
	rule->cgroup = cgroup_id(cgroup);
	rule->cgroup_level = cgroup->level;
	cgroup_put(cgroup);
	return 0;
}

static int netlink_take_uid(struct ops_rule *rule, struct genl_info *info,
			    struct user_namespace *user_ns)
{
	struct nlattr *uid = info->attrs[KRDMA_OFFLOAD_ATTR_UID];

	if (!uid)
		return 0;
	rule->has_uid = true;
	rule->uid = make_kuid(user_ns, nla_get_u32(uid));
	if (!uid_valid(rule->uid)) {
		NL_SET_ERR_MSG_ATTR(info->extack, uid, "no user of this namespace");
		return -EINVAL;
	}
	return 0;
}

static bool netlink_is_name(const char *name)
{
	const char *at = name;

	/* isalnum() also takes the letters of Latin-1 */
	while (isascii(*at) && (isalnum(*at) || *at == '-' || *at == '_'))
		at++;
	return at != name && !*at;
}

static int netlink_take_action(struct ops_rule *rule, struct genl_info *info)
{
	struct nlattr *name = info->attrs[KRDMA_OFFLOAD_ATTR_NAME];

	rule->action = nla_get_u8(info->attrs[KRDMA_OFFLOAD_ATTR_ACTION]);
	if (rule->action != KRDMA_OFFLOAD_ACTION_PROTOCOL) {
		if (name)
			NL_SET_ERR_MSG_ATTR(info->extack, name, "this action has no protocol");
		return name ? -EINVAL : 0;
	}
	if (GENL_REQ_ATTR_CHECK(info, KRDMA_OFFLOAD_ATTR_NAME)) {
		NL_SET_ERR_MSG(info->extack, "the protocol's name is missing");
		return -EINVAL;
	}
	nla_strscpy(rule->protocol, name, sizeof(rule->protocol));
	if (!netlink_is_name(rule->protocol)) {
		NL_SET_ERR_MSG_ATTR(info->extack, name, "no name of a protocol");
		return -EINVAL;
	}
	return 0;
}

/* A socket that is made has no address yet, and no protocol is chosen. */
static int netlink_check_socket(const struct ops_rule *rule, struct netlink_ext_ack *extack)
{
	if (rule->direction != KRDMA_OFFLOAD_SOCKET)
		return 0;
	if (rule->family != AF_UNSPEC || rule->port_max) {
		NL_SET_ERR_MSG(extack, "rules for socket() go by uid and cgroup only");
		return -EINVAL;
	}
	if (rule->action != KRDMA_OFFLOAD_ACTION_ANY && rule->action != KRDMA_OFFLOAD_ACTION_TCP) {
		NL_SET_ERR_MSG(extack, "rules for socket() say any or tcp");
		return -EINVAL;
	}
	return 0;
}

static int netlink_take_rule(struct ops_rule *rule, struct genl_info *info,
			     struct user_namespace *user_ns)
{
	rule->direction = nla_get_u8(info->attrs[KRDMA_OFFLOAD_ATTR_DIRECTION]);
	return netlink_take_action(rule, info) ?:
	       netlink_take_address(rule, info) ?:
	       netlink_take_ports(rule, info) ?:
	       netlink_take_cgroup(rule, info) ?:
	       netlink_take_uid(rule, info, user_ns) ?:
	       netlink_check_socket(rule, info->extack);
}

/* The answer is made first: a rule that was added is not taken back. */
static int netlink_add_rule(struct sk_buff *skb, struct genl_info *info)
{
	struct ops_rule *rule __free(kfree) = NULL;
	struct sk_buff *answer;
	void *message;
	int error;
	u32 id;

	if (GENL_REQ_ATTR_CHECK(info, KRDMA_OFFLOAD_ATTR_DIRECTION) ||
	    GENL_REQ_ATTR_CHECK(info, KRDMA_OFFLOAD_ATTR_ACTION)) {
		NL_SET_ERR_MSG(info->extack, "direction or action is missing");
		return -EINVAL;
	}
	rule = kzalloc(sizeof(*rule), GFP_KERNEL_ACCOUNT);
	if (!rule)
		return -ENOMEM;
	error = netlink_take_rule(rule, info, sk_user_ns(NETLINK_CB(skb).sk));
	if (error)
		return error;
	answer = genlmsg_new(nla_total_size(sizeof(u32)), GFP_KERNEL);
	if (!answer)
		return -ENOMEM;
	message = genlmsg_put_reply(answer, info, &netlink_family, 0, KRDMA_OFFLOAD_CMD_RULE_ADD);
	error = message ? ops_rule_add(netlink_net(skb), rule, &id, info->extack) : -EMSGSIZE;
	if (error) {
		nlmsg_free(answer);
		return error;
	}
	rule = NULL; /* it is the namespace's */
	/* there is room */
	nla_put_u32(answer, KRDMA_OFFLOAD_ATTR_ID, id);
	genlmsg_end(answer, message);
	return genlmsg_reply(answer, info);
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

/* Counters ****************************************************************** */

/* cb->args[0]: the number of counters that were sent already */
static int netlink_dump_counters(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct ops_net *ops = netlink_net(skb);

	for (; cb->args[0] < OPS_REASONS; cb->args[0]++) {
		void *message = netlink_begin(skb, cb, KRDMA_OFFLOAD_CMD_COUNTER_GET);
		long at = cb->args[0];

		if (!message ||
		    netlink_end(skb, message,
				nla_put_string(skb, KRDMA_OFFLOAD_ATTR_NAME,
					       ops_reason_names[at]) ||
				nla_put_u64_64bit(skb, KRDMA_OFFLOAD_ATTR_VALUE,
						  ops_counter(ops, at),
						  KRDMA_OFFLOAD_ATTR_PAD)))
			break;
	}
	return skb->len;
}

/* The family **************************************************************** */

static const struct genl_ops netlink_ops[] = {
	{
		.cmd = KRDMA_OFFLOAD_CMD_PROTOCOL_GET,
		.dumpit = netlink_dump_protocols,
		.policy = netlink_nothing,
		.maxattr = ARRAY_SIZE(netlink_nothing) - 1,
	},
	{
		.cmd = KRDMA_OFFLOAD_CMD_RULE_GET,
		.dumpit = netlink_dump_rules,
		.policy = netlink_nothing,
		.maxattr = ARRAY_SIZE(netlink_nothing) - 1,
	},
	{
		.cmd = KRDMA_OFFLOAD_CMD_RULE_ADD,
		.doit = netlink_add_rule,
		.policy = netlink_rule_new,
		.maxattr = ARRAY_SIZE(netlink_rule_new) - 1,
		.flags = GENL_UNS_ADMIN_PERM,
	},
	{
		.cmd = KRDMA_OFFLOAD_CMD_RULE_DEL,
		.doit = netlink_del_rule,
		.policy = netlink_rule_id,
		.maxattr = ARRAY_SIZE(netlink_rule_id) - 1,
		.flags = GENL_UNS_ADMIN_PERM,
	},
	{
		.cmd = KRDMA_OFFLOAD_CMD_RULE_FLUSH,
		.doit = netlink_flush_rules,
		.policy = netlink_nothing,
		.maxattr = ARRAY_SIZE(netlink_nothing) - 1,
		.flags = GENL_UNS_ADMIN_PERM,
	},
	{
		.cmd = KRDMA_OFFLOAD_CMD_COUNTER_GET,
		.dumpit = netlink_dump_counters,
		.policy = netlink_nothing,
		.maxattr = ARRAY_SIZE(netlink_nothing) - 1,
	},
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
