// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The administrator's choice of devices, by generic netlink (krdma/hw-netlink.h). */
#include <net/genetlink.h>

#include <krdma/hw-netlink.h>

#include "hw.h"

static struct genl_family hw_genl_family;

static const struct nla_policy hw_genl_policy[KRDMA_HW_ATTR_MAX + 1] = {
	[KRDMA_HW_ATTR_NAME] = { .type = NLA_NUL_STRING, .len = IB_DEVICE_NAME_MAX - 1 },
	[KRDMA_HW_ATTR_CHOICE] = NLA_POLICY_MAX(NLA_U8, KRDMA_HW_ADOPT_FORCED),
};

static int hw_genl_fill(struct sk_buff *skb, struct netlink_callback *cb,
			const struct hw_choice *choice)
{
	void *message = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
				    &hw_genl_family, NLM_F_MULTI, KRDMA_HW_CMD_GET);

	if (!message)
		return -EMSGSIZE;
	if (nla_put_string(skb, KRDMA_HW_ATTR_NAME, choice->name) ||
	    nla_put_u8(skb, KRDMA_HW_ATTR_CHOICE, choice->choice) ||
	    nla_put_u8(skb, KRDMA_HW_ATTR_ADOPTED, choice->adopted) ||
	    nla_put_u32(skb, KRDMA_HW_ATTR_ERROR, -choice->error) ||
	    nla_put_u8(skb, KRDMA_HW_ATTR_DRIVER, choice->driver) ||
	    nla_put_string(skb, KRDMA_HW_ATTR_DRIVER_NAME, choice->driver_name)) {
		genlmsg_cancel(skb, message);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, message);
	return 0;
}

/* cb->args[0]: the number of devices in earlier messages */
static int hw_genl_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct hw_choice choice;

	while (hw_devices_nth(cb->args[0], &choice)) {
		if (hw_genl_fill(skb, cb, &choice))
			break;
		cb->args[0]++;
	}
	return skb->len;
}

static int hw_genl_set(struct sk_buff *skb, struct genl_info *info)
{
	if (GENL_REQ_ATTR_CHECK(info, KRDMA_HW_ATTR_NAME) ||
	    GENL_REQ_ATTR_CHECK(info, KRDMA_HW_ATTR_CHOICE))
		return -EINVAL;
	return hw_devices_choose(nla_data(info->attrs[KRDMA_HW_ATTR_NAME]),
				 nla_get_u8(info->attrs[KRDMA_HW_ATTR_CHOICE]), info->extack);
}

static const struct genl_ops hw_genl_ops[] = {
	{
		.cmd = KRDMA_HW_CMD_GET,
		.dumpit = hw_genl_dump,
	},
	{
		.cmd = KRDMA_HW_CMD_SET,
		.doit = hw_genl_set,
		.flags = GENL_ADMIN_PERM,
	},
};

static struct genl_family hw_genl_family = {
	.name = KRDMA_HW_GENL_NAME,
	.version = KRDMA_HW_GENL_VERSION,
	.maxattr = KRDMA_HW_ATTR_MAX,
	.policy = hw_genl_policy,
	.module = THIS_MODULE,
	.ops = hw_genl_ops,
	.n_ops = ARRAY_SIZE(hw_genl_ops),
	.parallel_ops = true,
};

int hw_netlink_init(void)
{
	return genl_register_family(&hw_genl_family);
}

void hw_netlink_exit(void)
{
	genl_unregister_family(&hw_genl_family);
}
