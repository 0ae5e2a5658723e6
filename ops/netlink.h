/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Rules as attributes: what netlink.c uses of netlink_rule.c. */
#ifndef OPS_NETLINK_H
#define OPS_NETLINK_H

#include "pernet.h"

struct genl_info;
struct sk_buff;
struct user_namespace;

bool netlink_put_rule(struct sk_buff *skb, const struct ops_rule *rule,
		      struct user_namespace *user_ns);
int netlink_take_match(struct ops_match *match, struct genl_info *info,
		       struct user_namespace *user_ns);
int netlink_take_rule(struct ops_rule *rule, struct genl_info *info,
		      struct user_namespace *user_ns);

#endif
