// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The users of RNICs, by generic netlink (krdma/krdma-netlink.h): connections and listeners of all
 * consumers, and the contexts of /dev/krdma. "krdma resource" is the caller.
 *
 * A dump continues where the last message ended, by numbers that rise, and holds nothing between
 * two messages. Objects that are made or destroyed meanwhile may be in it or not.
 */
#include <linux/pid.h>
#include <net/genetlink.h>

#include <krdma/krdma-netlink.h>

#include "../chardev/chardev.h"
#include "../cm/cm.h"
#include "netlink.h"

/* how often one message waits for the lock of an endpoint, a millisecond each time */
#define NETLINK_PATIENCE	16

static struct genl_family netlink_family;

/* no attribute is taken */
static const struct nla_policy netlink_nothing[] = {
	[KRDMA_GENL_ATTR_PAD] = { .type = NLA_REJECT },
};

/**
 * struct netlink_reader - a part of a dump
 * @skb: answer
 * @cb: dump
 * @net: namespace that is asked about
 * @uid: user that asks
 * @all: what other users have made is shown, too
 */
struct netlink_reader {
	struct sk_buff *skb;
	struct netlink_callback *cb;
	const struct net *net;
	kuid_t uid;
	bool all;
};

static struct netlink_reader netlink_reader(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct sock *sk = NETLINK_CB(cb->skb).sk;
	struct net *net = sock_net(sk);

	return (struct netlink_reader) {
		.skb = skb,
		.cb = cb,
		.net = net,
		.uid = sk->sk_uid,
		.all = netlink_ns_capable(cb->skb, net->user_ns, CAP_NET_ADMIN),
	};
}

static bool netlink_shows(const struct kal_owner *owner, void *_reader)
{
	const struct netlink_reader *reader = _reader;

	return reader->all || (owner->pid && uid_eq(owner->uid, reader->uid));
}

static void *netlink_begin(const struct netlink_reader *reader, u8 command)
{
	return genlmsg_put(reader->skb, NETLINK_CB(reader->cb->skb).portid,
			   reader->cb->nlh->nlmsg_seq, &netlink_family, NLM_F_MULTI, command);
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

/* Return: true if there is no room. */
static bool netlink_put_owner(const struct netlink_reader *reader, const struct kal_owner *owner)
{
	struct user_namespace *user_ns = sk_user_ns(NETLINK_CB(reader->cb->skb).sk);
	struct sk_buff *skb = reader->skb;
	pid_t pid = pid_vnr(owner->pid);

	if (nla_put_u32(skb, KRDMA_GENL_ATTR_UID, from_kuid_munged(user_ns, owner->uid)))
		return true;
	/* the kernel, or not a process of the reader's PID namespace */
	if (!pid)
		return false;
	/* the number of a process that has ended may be another one's */
	if (pid_has_task(owner->pid, PIDTYPE_TGID) &&
	    nla_put_u32(skb, KRDMA_GENL_ATTR_PID, pid))
		return true;
	return nla_put_string(skb, KRDMA_GENL_ATTR_COMMAND, owner->comm);
}

static bool netlink_put_rnic(struct sk_buff *skb, u32 index, const char *name)
{
	return nla_put_u32(skb, KRDMA_GENL_ATTR_RNIC_INDEX, index) ||
	       nla_put_string(skb, KRDMA_GENL_ATTR_RNIC_NAME, name);
}

/* Connections and listeners ************************************************* */

static bool netlink_put_address(struct sk_buff *skb, int attr, const struct sockaddr_storage *from)
{
	struct krdma_addr addr;

	if (!from->ss_family)
		return false;
	kal_addr_from_sockaddr(from, &addr);
	return nla_put(skb, attr, sizeof(addr), &addr);
}

static int netlink_fill_endpoint(const struct netlink_reader *reader,
				 const struct kal_ep_view *view)
{
	void *message = netlink_begin(reader, KRDMA_GENL_CMD_ENDPOINT_GET);
	struct sk_buff *skb = reader->skb;

	if (!message)
		return -EMSGSIZE;
	return netlink_end(skb, message,
			   netlink_put_rnic(skb, view->rnic->index, view->rnic->name) ||
			   netlink_put_owner(reader, view->owner) ||
			   nla_put_string(skb, KRDMA_GENL_ATTR_STATE, view->state) ||
			   (view->listener && nla_put_flag(skb, KRDMA_GENL_ATTR_LISTENER)) ||
			   netlink_put_address(skb, KRDMA_GENL_ATTR_LOCAL, &view->local) ||
			   netlink_put_address(skb, KRDMA_GENL_ATTR_REMOTE, &view->remote) ||
			   (view->qp && nla_put_u32(skb, KRDMA_GENL_ATTR_QP, view->qp)));
}

/* Return: 0, also if @ep is not for the reader; -EMSGSIZE: there is no room. */
static int netlink_show_endpoint(const struct netlink_reader *reader, struct kal_ep *ep,
				 unsigned int *patience)
{
	struct kal_ep_view view;

	kal_ep_view_owner(ep, &view);
	if (view.net != reader->net->net_cookie || !netlink_shows(view.owner, (void *)reader))
		return 0;
	kal_ep_view_state(ep, &view, patience);
	return view.state ? netlink_fill_endpoint(reader, &view) : 0;
}

/* cb->args[0]: number of the endpoint that is next */
static int netlink_dump_endpoints(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct netlink_reader reader = netlink_reader(skb, cb);
	unsigned int patience = NETLINK_PATIENCE;
	u32 id = cb->args[0];
	struct kal_ep *ep;
	int ret = 0;

	while (!ret && !fatal_signal_pending(current) && (ep = kal_ep_next(&id))) {
		ret = netlink_show_endpoint(&reader, ep, &patience);
		kal_ep_put(ep);
		if (!ret)
			id++;
		cond_resched();
	}
	cb->args[0] = id;
	return skb->len;
}

/* Contexts ****************************************************************** */

static int netlink_fill_context(const struct kal_owner *owner, const struct kal_context_view *view,
				void *_reader)
{
	static const struct {
		int attr;
		enum kal_handle_type type;
	} kinds[] = {
		{ KRDMA_GENL_ATTR_PDS, KAL_H_PD },
		{ KRDMA_GENL_ATTR_CQS, KAL_H_CQ },
		{ KRDMA_GENL_ATTR_SRQS, KAL_H_SRQ },
		{ KRDMA_GENL_ATTR_QPS, KAL_H_QP },
		{ KRDMA_GENL_ATTR_MRS, KAL_H_MR },
		{ KRDMA_GENL_ATTR_MWS, KAL_H_MW },
	};
	const struct netlink_reader *reader = _reader;
	struct sk_buff *skb = reader->skb;
	void *message = netlink_begin(reader, KRDMA_GENL_CMD_CONTEXT_GET);
	bool failed;
	u32 i;

	if (!message)
		return -EMSGSIZE;
	failed = netlink_put_rnic(skb, view->index, view->rnic) || netlink_put_owner(reader, owner);
	for (i = 0; i < ARRAY_SIZE(kinds) && !failed; i++)
		failed = nla_put_u32(skb, kinds[i].attr, view->objects[kinds[i].type]);
	return netlink_end(skb, message, failed);
}

/* cb->args: numbers of the file and of the context that are next */
static int netlink_dump_contexts(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct netlink_reader reader = netlink_reader(skb, cb);
	struct kal_contexts_walk walk = {
		.net = reader.net,
		.file = cb->args[0],
		.context = cb->args[1],
		.wanted = netlink_shows,
		.take = netlink_fill_context,
		.arg = &reader,
	};

	/* -EMSGSIZE: the rest is for the next message */
	kal_contexts_walk(&walk);
	cb->args[0] = walk.file;
	cb->args[1] = walk.context;
	return skb->len;
}

/* The family **************************************************************** */

static const struct genl_ops netlink_ops[] = {
	{
		.cmd = KRDMA_GENL_CMD_ENDPOINT_GET,
		.dumpit = netlink_dump_endpoints,
		.policy = netlink_nothing,
		.maxattr = ARRAY_SIZE(netlink_nothing) - 1,
	},
	{
		.cmd = KRDMA_GENL_CMD_CONTEXT_GET,
		.dumpit = netlink_dump_contexts,
		.policy = netlink_nothing,
		.maxattr = ARRAY_SIZE(netlink_nothing) - 1,
	},
};

static struct genl_family netlink_family __ro_after_init = {
	.name = KRDMA_GENL_NAME,
	.version = KRDMA_GENL_VERSION,
	.netnsok = true,
	.parallel_ops = true,
	.module = THIS_MODULE,
	.ops = netlink_ops,
	.n_ops = ARRAY_SIZE(netlink_ops),
	.resv_start_op = KRDMA_GENL_CMD_UNSPEC + 1,
};

/**
 * kal_netlink_init() - register the family
 *
 * Return: 0 or an errno. Context: may sleep.
 */
int kal_netlink_init(void)
{
	return genl_register_family(&netlink_family);
}

/* No command runs any more on return. May sleep. */
void kal_netlink_exit(void)
{
	genl_unregister_family(&netlink_family);
}
