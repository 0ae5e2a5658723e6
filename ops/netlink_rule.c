// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Rules as attributes of netlink: from the administrator (netlink_take_match(),
 * netlink_take_rule()) and back (netlink_put_rule()). netlink.c has the commands.
 */
#include <linux/cgroup.h>
#include <linux/ctype.h>
#include <linux/slab.h>
#include <net/genetlink.h>
#include <net/ipv6.h>

#include "netlink.h"

/* To attributes ************************************************************* */

/* Return: true: no room */
static bool rule_put_names(struct sk_buff *skb, char *path, const struct ops_match *match)
{
	size_t len = strcmp(path, "/") ? strlen(path) : 0;
	const char *name = match->names;
	int i;

	/* the names alone fit, because they came so */
	for (i = 0; i < match->names_num && len < KRDMA_OFFLOAD_PATH_LEN; i++) {
		len += scnprintf(path + len, 2 * KRDMA_OFFLOAD_PATH_LEN - len, "/%s", name);
		name += strlen(name) + 1;
	}
	if (len >= KRDMA_OFFLOAD_PATH_LEN)
		return false;
	return nla_put_string(skb, KRDMA_OFFLOAD_ATTR_CGROUP_PATH, path);
}

static bool rule_put_cgroup(struct sk_buff *skb, const struct ops_match *match)
{
	struct cgroup *cgroup;
	bool failed = false;
	char *path;

	/* the id of a cgroup that is meant by its path is another one tomorrow */
	if (!match->names_num && nla_put_u64_64bit(skb, KRDMA_OFFLOAD_ATTR_CGROUP, match->cgroup,
						   KRDMA_OFFLOAD_ATTR_PAD))
		return true;
	/* it may be gone, or out of the caller's sight */
	cgroup = cgroup_get_from_id(match->cgroup);
	if (IS_ERR(cgroup))
		return false;
	path = kmalloc(2 * KRDMA_OFFLOAD_PATH_LEN, GFP_KERNEL);
	if (path && cgroup_path_ns(cgroup, path, KRDMA_OFFLOAD_PATH_LEN,
				   current->nsproxy->cgroup_ns) >= 0)
		failed = rule_put_names(skb, path, match);
	kfree(path);
	cgroup_put(cgroup);
	return failed;
}

static bool rule_put_address(struct sk_buff *skb, const struct ops_match *match)
{
	if (match->family == AF_UNSPEC)
		return false;
	if (nla_put_u8(skb, KRDMA_OFFLOAD_ATTR_PREFIX_LEN, match->prefix_len))
		return true;
	if (match->family == AF_INET)
		return nla_put_in_addr(skb, KRDMA_OFFLOAD_ATTR_ADDRESS4,
				       match->address.s6_addr32[3]);
	return nla_put_in6_addr(skb, KRDMA_OFFLOAD_ATTR_ADDRESS6, &match->address);
}

/**
 * netlink_put_rule() - put the attributes of a rule into a message
 * @skb: message
 * @rule: rule
 * @user_ns: of the reader, for the uid
 *
 * Return: true: no room. Context: may sleep.
 */
bool netlink_put_rule(struct sk_buff *skb, const struct ops_rule *rule,
		      struct user_namespace *user_ns)
{
	const struct ops_match *match = &rule->match;

	return nla_put_u32(skb, KRDMA_OFFLOAD_ATTR_ID, rule->id) ||
	       nla_put_u8(skb, KRDMA_OFFLOAD_ATTR_DIRECTION, match->direction) ||
	       nla_put_u8(skb, KRDMA_OFFLOAD_ATTR_ACTION, rule->action) ||
	       (rule->action == KRDMA_OFFLOAD_ACTION_NAMED &&
		nla_put_string(skb, KRDMA_OFFLOAD_ATTR_NAME, rule->road)) ||
	       rule_put_address(skb, match) ||
	       (match->port_max &&
		(nla_put_u16(skb, KRDMA_OFFLOAD_ATTR_PORT_MIN, match->port_min) ||
		 nla_put_u16(skb, KRDMA_OFFLOAD_ATTR_PORT_MAX, match->port_max))) ||
	       (match->has_uid && nla_put_u32(skb, KRDMA_OFFLOAD_ATTR_UID,
					      from_kuid_munged(user_ns, match->uid))) ||
	       (match->has_cgroup && rule_put_cgroup(skb, match)) ||
	       nla_put_u64_64bit(skb, KRDMA_OFFLOAD_ATTR_HITS, atomic64_read(&rule->hits),
				 KRDMA_OFFLOAD_ATTR_PAD);
}

/* From attributes *********************************************************** */

static int match_take_address(struct ops_match *match, struct genl_info *info)
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
	match->family = in ? AF_INET : AF_INET6;
	match->prefix_len = len ? nla_get_u8(len) : bits;
	if (match->prefix_len > bits) {
		NL_SET_ERR_MSG_ATTR(info->extack, len, "the prefix is longer than the address");
		return -EINVAL;
	}
	if (in)
		ipv6_addr_set_v4mapped(nla_get_in_addr(in), &match->address);
	else
		match->address = nla_get_in6_addr(in6);
	if (in6 && ipv6_addr_v4mapped(&match->address)) {
		NL_SET_ERR_MSG_ATTR(info->extack, in6, "an IPv4 address in IPv6: give it as IPv4");
		return -EINVAL;
	}
	ipv6_addr_prefix(&prefix, &match->address, match->prefix_len + 128 - bits);
	if (!ipv6_addr_equal(&prefix, &match->address)) {
		NL_SET_ERR_MSG_ATTR(info->extack, in ?: in6,
				    "the address is longer than its prefix");
		return -EINVAL;
	}
	return 0;
}

static int match_take_ports(struct ops_match *match, struct genl_info *info)
{
	struct nlattr *first = info->attrs[KRDMA_OFFLOAD_ATTR_PORT_MIN];
	struct nlattr *last = info->attrs[KRDMA_OFFLOAD_ATTR_PORT_MAX];

	if (!first) {
		if (last)
			NL_SET_ERR_MSG_ATTR(info->extack, last, "a last port without the first");
		return last ? -EINVAL : 0;
	}
	match->port_min = nla_get_u16(first);
	match->port_max = nla_get_u16(last ?: first);
	if (match->port_max < match->port_min) {
		NL_SET_ERR_MSG_ATTR(info->extack, last, "the last port is before the first");
		return -EINVAL;
	}
	return 0;
}

/* "/a//b/" becomes the names "a" and "b". */
static int match_take_names(struct ops_match *match, struct nlattr *path,
			    struct netlink_ext_ack *extack)
{
	char *to, *name, *rest;

	match->names = kzalloc(nla_len(path) + 1, GFP_KERNEL_ACCOUNT);
	rest = kstrdup(nla_data(path), GFP_KERNEL);
	if (!match->names || !rest) {
		kfree(rest);
		return -ENOMEM;
	}
	to = match->names;
	name = rest;
	for (char *next = name; (name = strsep(&next, "/"));) {
		if (!*name)
			continue;
		if (strlen(name) > NAME_MAX || !strcmp(name, ".") || !strcmp(name, "..")) {
			NL_SET_ERR_MSG_ATTR(extack, path, "no path of a cgroup");
			kfree(rest);
			return -EINVAL;
		}
		to += strscpy(to, name, match->names + nla_len(path) + 1 - to) + 1;
		match->names_num++;
	}
	kfree(rest);
	return 0;
}

/* The path begins at the root of the caller's cgroup namespace, wherever that is. */
static int match_take_cgroup(struct ops_match *match, struct genl_info *info)
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
	cgroup = id ? cgroup_get_from_id(nla_get_u64(id)) : cgroup_get_from_path("/");
	if (IS_ERR(cgroup)) {
		NL_SET_ERR_MSG_ATTR(info->extack, id ?: path, "no such cgroup (v2)");
		return PTR_ERR(cgroup);
	}
	match->has_cgroup = true;
	match->cgroup = cgroup_id(cgroup);
	match->cgroup_level = cgroup->level;
	cgroup_put(cgroup);
	return path ? match_take_names(match, path, info->extack) : 0;
}

static int match_take_uid(struct ops_match *match, struct genl_info *info,
			  struct user_namespace *user_ns)
{
	struct nlattr *uid = info->attrs[KRDMA_OFFLOAD_ATTR_UID];

	if (!uid)
		return 0;
	match->has_uid = true;
	match->uid = make_kuid(user_ns, nla_get_u32(uid));
	if (!uid_valid(match->uid)) {
		NL_SET_ERR_MSG_ATTR(info->extack, uid, "no user of this namespace");
		return -EINVAL;
	}
	return 0;
}

/**
 * netlink_take_match() - which sockets does a message mean?
 * @match: all zero; gets them. The caller frees its names, after an error too.
 * @info: message, with a direction
 * @user_ns: of the network namespace, for the uid
 *
 * Return: 0 or an errno, with a text. Context: may sleep.
 */
int netlink_take_match(struct ops_match *match, struct genl_info *info,
		       struct user_namespace *user_ns)
{
	match->direction = nla_get_u8(info->attrs[KRDMA_OFFLOAD_ATTR_DIRECTION]);
	return match_take_address(match, info) ?:
	       match_take_ports(match, info) ?:
	       match_take_cgroup(match, info) ?:
	       match_take_uid(match, info, user_ns);
}

static bool rule_is_name(const char *name)
{
	const char *at = name;

	/* isalnum() also takes the letters of Latin-1 */
	while (isascii(*at) && (isalnum(*at) || *at == '-' || *at == '_'))
		at++;
	return at != name && !*at;
}

static int rule_take_action(struct ops_rule *rule, struct genl_info *info)
{
	struct nlattr *name = info->attrs[KRDMA_OFFLOAD_ATTR_NAME];

	rule->action = nla_get_u8(info->attrs[KRDMA_OFFLOAD_ATTR_ACTION]);
	if (rule->action != KRDMA_OFFLOAD_ACTION_NAMED) {
		if (name)
			NL_SET_ERR_MSG_ATTR(info->extack, name, "this action has no road");
		return name ? -EINVAL : 0;
	}
	if (GENL_REQ_ATTR_CHECK(info, KRDMA_OFFLOAD_ATTR_NAME)) {
		NL_SET_ERR_MSG(info->extack, "the road's name is missing");
		return -EINVAL;
	}
	nla_strscpy(rule->road, name, sizeof(rule->road));
	if (!rule_is_name(rule->road)) {
		NL_SET_ERR_MSG_ATTR(info->extack, name, "no name of a road");
		return -EINVAL;
	}
	return 0;
}

/**
 * netlink_take_rule() - read a rule
 * @rule: of ops_rule_alloc()
 * @info: message, with direction and action
 * @user_ns: of the network namespace, for the uid
 *
 * Return: 0 or an errno, with a text. Context: may sleep.
 */
int netlink_take_rule(struct ops_rule *rule, struct genl_info *info,
		      struct user_namespace *user_ns)
{
	return rule_take_action(rule, info) ?:
	       netlink_take_match(&rule->match, info, user_ns);
}
