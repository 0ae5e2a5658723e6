// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Network stack interface: the data that it keeps for each network namespace, and its start
 * and end. The interface is declared in krdma/netstack.h. Called by main.c.
 */
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "internal.h"

static unsigned int kal_net_id;

struct kal_net *kal_net(struct net *net)
{
	return net_generic(net, kal_net_id);
}

static int __net_init netstack_net_init(struct net *net)
{
	struct kal_net *kn = kal_net(net);

	kn->net = net;
	spin_lock_init(&kn->sub_lock);
	INIT_LIST_HEAD(&kn->subs);
	mutex_init(&kn->route_lock);
	kal_net_shares_init(kn);
	return 0;
}

/* Subscribers hold a reference to the namespace, so none is left. */
static void __net_exit netstack_net_exit(struct net *net)
{
	struct kal_net *kn = kal_net(net);

	kal_net_rnics_forget(kn);
	WARN_ON_ONCE(!list_empty(&kn->subs) || kn->route_users);
	kal_net_shares_exit(kn);
	mutex_destroy(&kn->route_lock);
}

static struct pernet_operations kal_net_ops = {
	.init = netstack_net_init,
	.exit = netstack_net_exit,
	.id = &kal_net_id,
	.size = sizeof(struct kal_net),
};

static const struct {
	int (*init)(void);
	void (*exit)(void);
} netstack_parts[] = {
	{ kal_net_events_init, kal_net_events_exit },
	{ kal_net_neigh_init, kal_net_neigh_exit },
	{ kal_net_rnic_init, kal_net_rnic_exit },
};

static void netstack_parts_exit(unsigned int count)
{
	while (count--)
		netstack_parts[count].exit();
	unregister_pernet_subsys(&kal_net_ops);
}

/* Context: may sleep. Return: 0 or an errno. */
int kal_netstack_init(void)
{
	unsigned int i;
	int err;

	err = register_pernet_subsys(&kal_net_ops);
	for (i = 0; !err && i < ARRAY_SIZE(netstack_parts); i++) {
		err = netstack_parts[i].init();
		if (err)
			netstack_parts_exit(i);
	}
	return err;
}

/* Called when no RNIC and no caller is left. Context: may sleep. */
void kal_netstack_exit(void)
{
	netstack_parts_exit(ARRAY_SIZE(netstack_parts));
}
