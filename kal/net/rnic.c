// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * RNICs in the network stack interface. This file is a consumer side of the kAL. It provides:
 *
 * - the look-up of a network device's RNIC, in any context
 * - the counters of the RNICs
 * - the events for RNICs that appear and disappear
 */
#include <linux/export.h>
#include <linux/hashtable.h>
#include <linux/if_vlan.h>
#include <linux/rwsem.h>
#include <linux/slab.h>
#include <krdma/kal.h>
#include <krdma/krdma-abi.h>

#include "../core/core.h"
#include "internal.h"

/**
 * struct net_rnic - an RNIC
 * @node: entry in net_rnics; net_rnic_calls_sem; readers use RCU
 * @by_netdev: entry in net_rnics_by_netdev, as @node
 * @by_real_dev: if the RNIC is on a VLAN: entry in net_rnics_by_real_dev, as @node
 * @rnic: RNIC, which lives while this entry is in the list
 * @kn: namespace of the RNIC, NULL after the namespace has ended; net_rnic_calls_sem
 * @mib: buffer for the RNIC's counters; net_rnic_calls_sem held for writing
 */
struct net_rnic {
	struct list_head node;
	struct hlist_node by_netdev;
	struct hlist_node by_real_dev;
	struct ri_rnic *rnic;
	struct kal_net *kn;
	u64 mib[RI_MIB_OBJECTS];
};

static LIST_HEAD(net_rnics);
/* Each route event looks an RNIC up, so that has the same cost for any number of RNICs. */
static DEFINE_HASHTABLE(net_rnics_by_netdev, 8);
static DEFINE_HASHTABLE(net_rnics_by_real_dev, 8);
/*
 * Protects the list, the tables and mib_gone of all namespaces; held for reading while a provider
 * is called.
 */
static DECLARE_RWSEM(net_rnic_calls_sem);
static struct kal_client net_rnic_client;

/*
 * Is one device a VLAN on the other? Then rdma_cm uses the RNIC of one for addresses of the
 * other.
 */
bool kal_net_vlan_pair(const struct net_device *a, const struct net_device *b)
{
	if (!net_eq(dev_net(a), dev_net(b)))
		return false;
	return (is_vlan_dev(a) && vlan_dev_real_dev(a) == b) ||
	       (is_vlan_dev(b) && vlan_dev_real_dev(b) == a);
}

/* The RNIC on this very device; otherwise as kal_net_rnic_find(). */
static struct ri_rnic *net_rnic_on(const struct net_device *ndev)
{
	const struct net_rnic *nr;

	hash_for_each_possible_rcu(net_rnics_by_netdev, nr, by_netdev, (unsigned long)ndev)
		if (nr->rnic->netdev == ndev)
			return nr->rnic;
	return NULL;
}

/*
 * Find the RNIC on a network device, or the RNIC on the other device of a VLAN pair, or NULL.
 * The caller is in an RCU read-side section, which keeps the RNIC.
 */
struct ri_rnic *kal_net_rnic_find(const struct net_device *ndev)
{
	struct ri_rnic *rnic = net_rnic_on(ndev);
	const struct net_device *real;
	const struct net_rnic *nr;

	if (rnic)
		return rnic;
	if (is_vlan_dev(ndev)) {
		real = vlan_dev_real_dev(ndev);
		rnic = net_eq(dev_net(real), dev_net(ndev)) ? net_rnic_on(real) : NULL;
	}
	if (rnic)
		return rnic;
	hash_for_each_possible_rcu(net_rnics_by_real_dev, nr, by_real_dev, (unsigned long)ndev)
		if (kal_net_vlan_pair(nr->rnic->netdev, ndev))
			return nr->rnic;
	return NULL;
}

/* Does the network device have an RNIC, and is it in @net? Any context but hard interrupt. */
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

/* net_rnic_calls_sem keeps the namespace. */
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

/* Behind those that are there: of several VLANs' RNICs, the first one serves their real device. */
static void net_rnic_hash(struct net_rnic *nr)
{
	struct net_device *ndev = nr->rnic->netdev, *real;

	lockdep_assert_held_write(&net_rnic_calls_sem);
	hlist_add_tail_rcu(&nr->by_netdev,
			   &net_rnics_by_netdev[hash_min((unsigned long)ndev,
							 HASH_BITS(net_rnics_by_netdev))]);
	INIT_HLIST_NODE(&nr->by_real_dev);
	if (!is_vlan_dev(ndev))
		return;
	real = vlan_dev_real_dev(ndev);
	hlist_add_tail_rcu(&nr->by_real_dev,
			   &net_rnics_by_real_dev[hash_min((unsigned long)real,
							   HASH_BITS(net_rnics_by_real_dev))]);
}

/*
 * The network stack interface answers for the RNIC of a network device. An RNIC without one is
 * not shown to it.
 */
static int net_rnic_add(struct ri_rnic *rnic)
{
	struct net_rnic *nr;
	int err = -ENOMEM;

	if (!rnic->netdev)
		return -EOPNOTSUPP;
	nr = kzalloc(sizeof(*nr), GFP_KERNEL);
	if (nr)
		err = kal_set_client_data(rnic, &net_rnic_client, nr);
	if (err) {
		kfree(nr);
		return err;
	}
	nr->rnic = rnic;
	down_write(&net_rnic_calls_sem);
	/* the namespace of a network device does not end inside this RCU section */
	rcu_read_lock();
	nr->kn = kal_net(dev_net(rnic->netdev));
	list_add_tail_rcu(&nr->node, &net_rnics);
	net_rnic_hash(nr);
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
	hash_del_rcu(&nr->by_netdev);
	hash_del_rcu(&nr->by_real_dev);
	/* after this, no event names the RNIC except the event of its removal */
	synchronize_rcu();
	net_rnic_report(nr, true);
	if (nr->kn)
		kal_mib_add(nr->kn->mib_gone, nr->mib, false);
	up_write(&net_rnic_calls_sem);
	kal_set_client_data(rnic, &net_rnic_client, NULL);
	kfree(nr);
}

/* The namespace ends. The removal of one of its RNICs may still be in progress. */
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
 * kal_net_rnics_mib() - add the counters of RNICs whose connections the host does not count
 * @kn: namespace
 * @sum: RI_MIB_OBJECTS values to add to
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
