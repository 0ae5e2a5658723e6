// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Limits on the objects that users of /dev/krdma can have in a network namespace: watched
 * neighbours, subscriptions to events and reserved ports. The host's notifications walk these
 * objects under a lock, so their number is limited. Each user has a share of the limit, so
 * that one user cannot take all of it. Kernel callers of krdma/netstack.h are not counted.
 * Called by chardev/net.c.
 */
#include <linux/capability.h>
#include <linux/cleanup.h>
#include <linux/cred.h>
#include <linux/moduleparam.h>
#include <linux/user_namespace.h>

#include "internal.h"

static unsigned int kal_neigh_watches = 1024;
module_param_named(neigh_watches, kal_neigh_watches, uint, 0644);
MODULE_PARM_DESC(neigh_watches,
		 "neighbours that programs may watch at a time in a network namespace (1024)");

static unsigned int kal_user_neigh_watches = 256;
module_param_named(user_neigh_watches, kal_user_neigh_watches, uint, 0644);
MODULE_PARM_DESC(user_neigh_watches, "of these, one user's without CAP_NET_ADMIN (256)");

static unsigned int kal_net_subscriptions = 1024;
module_param_named(net_subscriptions, kal_net_subscriptions, uint, 0644);
MODULE_PARM_DESC(net_subscriptions,
		 "programs' subscriptions to the events of a network namespace (1024)");

static unsigned int kal_user_net_subscriptions = 256;
module_param_named(user_net_subscriptions, kal_user_net_subscriptions, uint, 0644);
MODULE_PARM_DESC(user_net_subscriptions, "of these, one user's without CAP_NET_ADMIN (256)");

static unsigned int kal_net_ports = 8192;
module_param_named(net_ports, kal_net_ports, uint, 0644);
MODULE_PARM_DESC(net_ports, "ports that programs may reserve in a network namespace (8192)");

static unsigned int kal_user_net_ports = 1024;
module_param_named(user_net_ports, kal_user_net_ports, uint, 0644);
MODULE_PARM_DESC(user_net_ports, "of these, one user's without CAP_NET_ADMIN (1024)");

static const struct {
	const unsigned int *all;
	const unsigned int *user;
} limits[KAL_SHARES] = {
	[KAL_SHARE_NEIGH] = { &kal_neigh_watches, &kal_user_neigh_watches },
	[KAL_SHARE_SUB] = { &kal_net_subscriptions, &kal_user_net_subscriptions },
	[KAL_SHARE_PORT] = { &kal_net_ports, &kal_user_net_ports },
};

/**
 * kal_net_user() - the user that the calling task's objects are counted for
 *
 * In a user namespace this is the user that created the namespace. The other uids of the
 * namespace are not separate users to the host.
 *
 * Return: the user.
 */
struct kal_net_user kal_net_user(void)
{
	const struct user_namespace *ns = current_user_ns();
	struct kal_net_user user = { .uid = current_uid() };

	for (; ns != &init_user_ns; ns = ns->parent)
		user.uid = ns->owner;
	user.admin = ns_capable_noaudit(&init_user_ns, CAP_NET_ADMIN);
	return user;
}

static unsigned long net_share_users_count(struct kal_net_share *share, kuid_t uid)
{
	const void *entry = xa_load(&share->users, __kuid_val(uid));

	return entry ? xa_to_value(entry) : 0;
}

/* The one check of both limits. @limit: the one that is reached. Context: under share->lock. */
static enum kal_share_full net_share_is_full(struct kal_net_share *share, enum kal_share which,
					     const struct kal_net_user *user, u32 *limit)
{
	*limit = READ_ONCE(*limits[which].all);
	if (share->count >= *limit)
		return KAL_SHARE_FULL_NET;
	*limit = READ_ONCE(*limits[which].user);
	if (!user->admin && net_share_users_count(share, user->uid) >= *limit)
		return KAL_SHARE_FULL_USER;
	return KAL_SHARE_ROOM;
}

/**
 * kal_net_share_get() - count one more object
 * @net: namespace
 * @which: kind of the object
 * @user: user
 *
 * Return: 0, and kal_net_share_put() must follow; -ENOSPC if the limit of the namespace or of
 * the user is reached; -ENOMEM. Context: may sleep.
 */
int kal_net_share_get(struct net *net, enum kal_share which, const struct kal_net_user *user)
{
	struct kal_net_share *share = &kal_net(net)->shares[which];
	unsigned long count;
	u32 limit;
	int err;

	guard(mutex)(&share->lock);
	if (net_share_is_full(share, which, user, &limit))
		return -ENOSPC;
	count = net_share_users_count(share, user->uid);
	err = xa_err(xa_store(&share->users, __kuid_val(user->uid), xa_mk_value(count + 1),
			      GFP_KERNEL_ACCOUNT));
	if (!err)
		share->count++;
	return err;
}

/**
 * kal_net_share_full() - does kal_net_share_get() refuse now, and by which limit?
 * @net: namespace
 * @which: kind of the object
 * @user: user
 * @limit: the limit that is reached
 *
 * Return: KAL_SHARE_ROOM if none is. Context: may sleep.
 */
enum kal_share_full kal_net_share_full(struct net *net, enum kal_share which,
				       const struct kal_net_user *user, u32 *limit)
{
	struct kal_net_share *share = &kal_net(net)->shares[which];

	guard(mutex)(&share->lock);
	return net_share_is_full(share, which, user, limit);
}

/* Context: may sleep. */
void kal_net_share_put(struct net *net, enum kal_share which, const struct kal_net_user *user)
{
	struct kal_net_share *share = &kal_net(net)->shares[which];
	unsigned long count;

	guard(mutex)(&share->lock);
	share->count--;
	count = net_share_users_count(share, user->uid) - 1;
	/* the entry exists, so the store allocates no memory */
	if (count)
		xa_store(&share->users, __kuid_val(user->uid), xa_mk_value(count), GFP_KERNEL);
	else
		xa_erase(&share->users, __kuid_val(user->uid));
}

void kal_net_shares_init(struct kal_net *kn)
{
	enum kal_share which;

	for (which = 0; which < KAL_SHARES; which++) {
		mutex_init(&kn->shares[which].lock);
		xa_init_flags(&kn->shares[which].users, XA_FLAGS_ACCOUNT);
	}
}

/* Called when no open /dev/krdma uses the namespace any more. */
void kal_net_shares_exit(struct kal_net *kn)
{
	enum kal_share which;

	for (which = 0; which < KAL_SHARES; which++) {
		WARN_ON_ONCE(kn->shares[which].count);
		xa_destroy(&kn->shares[which].users);
		mutex_destroy(&kn->shares[which].lock);
	}
}
