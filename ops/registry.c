// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The protocols that have registered, in order of priority.
 *
 * socket() looks them up under RCU. A leg, and a socket that was handed off, has a reference; a
 * protocol leaves when the last one is gone: first no socket finds it any more, then those that
 * have it let go of it (create.c), then unregistration waits.
 */
#include <linux/ctype.h>
#include <linux/module.h>
#include <linux/rculist.h>
#include <linux/slab.h>

#include "ops.h"

struct ops_proto ops_tcp = {
	.refs = REFCOUNT_INIT(1),
	.node = LIST_HEAD_INIT(ops_tcp.node),
};

static LIST_HEAD(registry_protos);	/* RCU */
static DEFINE_MUTEX(registry_mutex);	/* of those who change the list */
static bool registry_down;		/* shutdown: no socket begins to use a protocol */

static bool registry_take(struct ops_proto *proto)
{
	return !READ_ONCE(registry_down) && refcount_inc_not_zero(&proto->refs);
}

/**
 * ops_proto_get() - find a protocol by its number
 * @protocol: number
 *
 * Return: the protocol with a reference, or NULL. Context: any.
 */
struct ops_proto *ops_proto_get(int protocol)
{
	struct ops_proto *proto;

	guard(rcu)();
	list_for_each_entry_rcu(proto, &registry_protos, node)
		if (proto->sw->protocol == protocol && registry_take(proto))
			return proto;
	return NULL;
}

/**
 * ops_proto_by_name() - find a protocol by its name
 * @name: name
 *
 * Return: the protocol with a reference, or NULL. Context: any.
 */
struct ops_proto *ops_proto_by_name(const char *name)
{
	struct ops_proto *proto;

	guard(rcu)();
	list_for_each_entry_rcu(proto, &registry_protos, node)
		if (!strcmp(proto->sw->name, name) && registry_take(proto))
			return proto;
	return NULL;
}

void ops_proto_put(struct ops_proto *proto)
{
	if (refcount_dec_and_test(&proto->refs))
		complete(&proto->released);
}

/**
 * ops_protos_get() - the protocols of a wildcard socket
 * @family: AF_INET or AF_INET6
 * @kern: for a socket of the kernel
 * @protos: filled in order of priority; each with a reference
 *
 * Return: their number. Context: any.
 */
u32 ops_protos_get(int family, bool kern, struct ops_proto *protos[OFFLOAD_PROTOCOLS_MAX])
{
	struct ops_proto *proto;
	u32 num = 0;

	guard(rcu)();
	list_for_each_entry_rcu(proto, &registry_protos, node) {
		/* a writer may be at work: there can be one more than fits */
		if (num == OFFLOAD_PROTOCOLS_MAX)
			break;
		if (family == AF_INET6 && !proto->sw->ops6)
			continue;
		if (kern && !(proto->sw->caps & OFFLOAD_KERNEL_CLIENTS))
			continue;
		if (registry_take(proto))
			protos[num++] = proto;
	}
	return num;
}

/* Joining and leaving ****************************************************** */

static bool registry_ops_valid(const struct proto_ops *ops)
{
	return ops->release && ops->bind && ops->connect && ops->accept && ops->getname &&
	       ops->poll && ops->ioctl && ops->listen && ops->shutdown && ops->sendmsg &&
	       ops->recvmsg;
}

static bool registry_name_valid(const char *name)
{
	size_t i;

	for (i = 0; i < OFFLOAD_NAME_MAX && name[i]; i++)
		if (!isascii(name[i]) ||
		    (!isalnum(name[i]) && name[i] != '-' && name[i] != '_'))
			return false;
	return i > 0 && i < OFFLOAD_NAME_MAX;
}

static bool registry_valid(const struct offload_protosw *sw)
{
	if (!sw->name || !registry_name_valid(sw->name) || (sw->caps & ~(OFFLOAD_CAPS | OFFLOAD_SELF_ROUTING | OFFLOAD_FIRST_HOP)))
		return false;
	if (sw->protocol <= 0 || sw->protocol == IPPROTO_TCP || sw->protocol == IPPROTO_OFFLOAD)
		return false;
	if (!sw->create || !sw->ops || !registry_ops_valid(sw->ops) ||
	    (sw->ops6 && !registry_ops_valid(sw->ops6)))
		return false;
	return sw->connect_via || !(sw->caps & OFFLOAD_FIRST_HOP);
}

/* With the mutex. Return: 0; -EEXIST; -ENOSPC. */
static int registry_admit(const struct offload_protosw *sw, u32 *index)
{
	DECLARE_BITMAP(used, OFFLOAD_PROTOCOLS_MAX) = {};
	struct ops_proto *proto;

	list_for_each_entry(proto, &registry_protos, node) {
		if (proto->sw->protocol == sw->protocol || !strcmp(proto->sw->name, sw->name))
			return -EEXIST;
		__set_bit(proto->index, used);
	}
	*index = find_first_zero_bit(used, OFFLOAD_PROTOCOLS_MAX);
	return *index < OFFLOAD_PROTOCOLS_MAX ? 0 : -ENOSPC;
}

/* By priority, ties in the order of registration. With the mutex. */
static void registry_insert(struct ops_proto *new)
{
	struct list_head *before = &registry_protos;
	struct ops_proto *proto;

	list_for_each_entry(proto, &registry_protos, node)
		if (proto->sw->priority < new->sw->priority) {
			before = &proto->node;
			break;
		}
	list_add_tail_rcu(&new->node, before);
}

static void registry_leg_ops(struct proto_ops *ops, const struct proto_ops *base)
{
	*ops = *base;
	ops->owner = NULL;
}

int offload_register_protosw(const struct offload_protosw *sw)
{
	struct ops_proto *proto;
	int err;

	if (!registry_valid(sw))
		return -EINVAL;
	proto = kzalloc(sizeof(*proto), GFP_KERNEL);
	if (!proto)
		return -ENOMEM;
	proto->sw = sw;
	refcount_set(&proto->refs, 1);
	init_completion(&proto->released);
	ops_handoff_prepare(proto, AF_INET, sw->ops);
	registry_leg_ops(&proto->leg_ops[0], sw->ops);
	if (sw->ops6) {
		ops_handoff_prepare(proto, AF_INET6, sw->ops6);
		registry_leg_ops(&proto->leg_ops[1], sw->ops6);
	}

	mutex_lock(&registry_mutex);
	err = registry_down ? -ESHUTDOWN : registry_admit(sw, &proto->index);
	if (!err)
		registry_insert(proto);
	mutex_unlock(&registry_mutex);
	if (err) {
		kfree(proto);
		return err;
	}
	ops_listeners_retry();
	return 0;
}
EXPORT_SYMBOL_GPL(offload_register_protosw);

/* Out of the list, so that no socket finds it. Return: NULL: it is not registered. */
static struct ops_proto *registry_remove(const struct offload_protosw *sw)
{
	struct ops_proto *proto;

	guard(mutex)(&registry_mutex);
	list_for_each_entry(proto, &registry_protos, node)
		if (proto->sw == sw) {
			WRITE_ONCE(proto->gone, true);
			list_del_rcu(&proto->node);
			return proto;
		}
	return NULL;
}

void offload_unregister_protosw(const struct offload_protosw *sw)
{
	struct ops_proto *proto = registry_remove(sw);

	if (WARN_ON_ONCE(!proto))
		return;
	/* after this, each ops_sock that is in the list either has the leg or sees it gone */
	synchronize_rcu();
	ops_socks_let_go(proto);
	ops_proto_put(proto);
	wait_for_completion(&proto->released);
	/* one that comes later may have the same place in memory */
	ops_peers_forget(NULL, proto, NULL);
	kfree_rcu_mightsleep(proto);
}
EXPORT_SYMBOL_GPL(offload_unregister_protosw);

void offload_notification(const struct offload_protosw *sw, struct net *net,
			  enum offload_event event, const struct sockaddr_storage *address)
{
	struct ops_proto *proto;

	scoped_guard(rcu) {
		list_for_each_entry_rcu(proto, &registry_protos, node)
			if (proto->sw == sw)
				ops_peers_forget(net, proto, NULL);
	}
	if (event != OFFLOAD_ADDRESS_DOWN && event != OFFLOAD_LINK_DOWN)
		ops_listeners_retry();
}
EXPORT_SYMBOL_GPL(offload_notification);

/* Start and end ************************************************************ */

/* One of those that are registered, other than the ones asked before; pins its module. */
static const struct offload_protosw *registry_next(unsigned long *asked)
{
	struct ops_proto *proto;

	guard(mutex)(&registry_mutex);
	list_for_each_entry(proto, &registry_protos, node)
		if (!__test_and_set_bit(proto->index, asked) && proto->sw->shutdown &&
		    try_module_get(proto->sw->owner))
			return proto->sw;
	return NULL;
}

/**
 * ops_registry_shutdown() - the switch first, the protocols then, their transports last
 * @on: false: back to normal
 *
 * New sockets use TCP alone. Each protocol is asked to leave, and does when its sockets have ended.
 * Context: may sleep; shutdown() of a protocol may unregister it.
 */
void ops_registry_shutdown(bool on)
{
	DECLARE_BITMAP(asked, OFFLOAD_PROTOCOLS_MAX) = {};
	const struct offload_protosw *sw;

	mutex_lock(&registry_mutex);
	WRITE_ONCE(registry_down, on);
	mutex_unlock(&registry_mutex);
	if (!on) {
		ops_listeners_retry();
		return;
	}
	while ((sw = registry_next(asked))) {
		struct module *owner = sw->owner;

		sw->shutdown();
		module_put(owner);
	}
}

/* TCP's operations for AF_INET6 have no exported name. */
static void registry_prepare_tcp(int family)
{
	struct socket *sock;

	if (sock_create_kern(&init_net, family, SOCK_STREAM, IPPROTO_TCP, &sock))
		return;	/* no IPv6 */
	ops_handoff_prepare(&ops_tcp, family, sock->ops);
	sock_release(sock);
}

int ops_registry_init(void)
{
	init_completion(&ops_tcp.released);
	registry_prepare_tcp(AF_INET);
	registry_prepare_tcp(AF_INET6);
	return ops_tcp.handed[0].base ? 0 : -EAFNOSUPPORT;
}

/* Protocols that use the exported functions are gone; others leave now. */
void ops_registry_exit(void)
{
	ops_registry_shutdown(true);
	WARN_ON(!list_empty(&registry_protos));
}
