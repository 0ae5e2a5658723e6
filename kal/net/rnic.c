// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * RNICs in the network stack interface, which is a consumer side of the kAL here:
 *
 * - the look-up of a network device's RNIC, in any context
 * - the counters of the RNICs
 * - the events for RNICs that appear and disappear
 * - the sysfs link "rnic" from a network device to its RNIC
 */
#include <linux/export.h>
#include <linux/if_vlan.h>
#include <linux/rwsem.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <krdma/kal.h>
#include <krdma/krdma-abi.h>

#include "../core/core.h"
#include "internal.h"

/**
 * struct net_rnic - an RNIC
 * @node: in net_rnics; net_rnic_calls_sem, read under RCU
 * @rnic: it lives while this is in the list
 * @kn: where it is, NULL when that has ended; net_rnic_calls_sem
 * @mib: room for what it has counted; net_rnic_calls_sem held for writing
 */
struct net_rnic {
	struct list_head node;
	struct ri_rnic *rnic;
	struct kal_net *kn;
	u64 mib[RI_MIB_OBJECTS];
};

static LIST_HEAD(net_rnics);
/* protects the list and mib_gone of all namespaces; read: a provider is called */
static DECLARE_RWSEM(net_rnic_calls_sem);
static struct kal_client net_rnic_client;

/* Is one a VLAN on the other? Their RNICs stand in for each other, as rdma_cm has it. */
bool kal_net_vlan_pair(const struct net_device *a, const struct net_device *b)
{
	if (!net_eq(dev_net(a), dev_net(b)))
		return false;
	return (is_vlan_dev(a) && vlan_dev_real_dev(a) == b) ||
	       (is_vlan_dev(b) && vlan_dev_real_dev(b) == a);
}

/*
 * The RNIC on a network device, or that which stands in for it, or NULL. RCU is read-locked,
 * and keeps it.
 */
struct ri_rnic *kal_net_rnic_find(const struct net_device *ndev)
{
	struct ri_rnic *other = NULL;
	const struct net_rnic *nr;

	list_for_each_entry_rcu(nr, &net_rnics, node) {
		if (nr->rnic->netdev == ndev)
			return nr->rnic;
		if (!other && kal_net_vlan_pair(nr->rnic->netdev, ndev))
			other = nr->rnic;
	}
	return other;
}

/* Has it one, as seen from @net? Any context but hard interrupt. */
bool kal_net_has_rnic(const struct net *net, const struct net_device *ndev)
{
	guard(rcu)();
	return net_eq(dev_net(ndev), net) && kal_net_rnic_find(ndev);
}

struct ri_rnic *kal_rnic_of_netdev(const struct net_device *ndev)
{
	struct ri_rnic *rnic;

	guard(rcu)();
	rnic = kal_net_rnic_find(ndev);
	if (rnic)
		kal_rnic_get(rnic);
	return rnic;
}
EXPORT_SYMBOL_GPL(kal_rnic_of_netdev);

/* Coming and going ********************************************************* */

/* net_rnic_calls_sem keeps the namespace */
static void net_rnic_report(const struct net_rnic *nr, bool gone)
{
	const struct net_device *ndev = nr->rnic->netdev;
	struct kal_net_event event = {
		.type = KRDMA_NET_RNIC,
		.gone = gone,
		.ifindex = ndev->ifindex,
		.ndev = ndev,
		.rnic = nr->rnic,
	};

	if (nr->kn)
		kal_net_deliver(nr->kn, &event);
}

static int net_rnic_add(struct ri_rnic *rnic)
{
	struct net_rnic *nr = kzalloc(sizeof(*nr), GFP_KERNEL);
	int err = -ENOMEM;

	if (nr)
		err = kal_set_client_data(rnic, &net_rnic_client, nr);
	if (err) {
		kfree(nr);
		return err;
	}
	nr->rnic = rnic;
	down_write(&net_rnic_calls_sem);
	/* the namespace that a network device has does not end meanwhile */
	rcu_read_lock();
	nr->kn = kal_net(dev_net(rnic->netdev));
	list_add_tail_rcu(&nr->node, &net_rnics);
	net_rnic_report(nr, false);
	rcu_read_unlock();
	up_write(&net_rnic_calls_sem);
	return 0;
}

static void net_rnic_remove(struct ri_rnic *rnic)
{
	struct net_rnic *nr = kal_client_data(rnic, &net_rnic_client);

	down_write(&net_rnic_calls_sem);
	if (rnic->ops->query_mib)
		rnic->ops->query_mib(rnic, nr->mib);
	list_del_rcu(&nr->node);
	/* no event names it behind that of its end */
	synchronize_rcu();
	net_rnic_report(nr, true);
	if (nr->kn)
		kal_mib_add(nr->kn->mib_gone, nr->mib, false);
	up_write(&net_rnic_calls_sem);
	kal_set_client_data(rnic, &net_rnic_client, NULL);
	kfree(nr);
}

/* The namespace ends; an RNIC of it may be on its way out still. */
void kal_net_rnics_forget(struct kal_net *kn)
{
	struct net_rnic *nr;

	guard(rwsem_write)(&net_rnic_calls_sem);
	list_for_each_entry(nr, &net_rnics, node)
		if (nr->kn == kn)
			nr->kn = NULL;
}

static struct kal_client net_rnic_client = {
	.name = "netstack",
	.add = net_rnic_add,
	.remove = net_rnic_remove,
};

int kal_net_rnic_init(void)
{
	return kal_register_client(&net_rnic_client);
}

void kal_net_rnic_exit(void)
{
	kal_unregister_client(&net_rnic_client);
}

/* MIB ********************************************************************** */

/**
 * kal_net_rnics_mib() - what connections of RNICs have counted that are not the host's
 * @kn: namespace
 * @sum: RI_MIB_OBJECTS values to add it to
 *
 * Context: may sleep.
 */
void kal_net_rnics_mib(struct kal_net *kn, u64 *sum)
{
	u64 counted[RI_MIB_OBJECTS];
	const struct net_rnic *nr;

	guard(rwsem_read)(&net_rnic_calls_sem);
	kal_mib_add(sum, kn->mib_gone, true);
	list_for_each_entry(nr, &net_rnics, node) {
		if (nr->kn != kn || !nr->rnic->ops->query_mib)
			continue;
		memset(counted, 0, sizeof(counted));
		nr->rnic->ops->query_mib(nr->rnic, counted);
		kal_mib_add(sum, counted, true);
	}
}
