// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Interface adapter management: the table of RNICs and of the providers that create them.
 * client.c has the consumer sides that are shown the RNICs.
 *
 * Locks, outermost first:
 *
 *	kal_create_rwsem	read: a provider's create() runs
 *	kal_clients_rwsem	of client.c
 *	kal_registry_lock	the lists of RNICs and providers, and the transitions of
 *				ri_rnic.flags; the netdevice notifier takes it inside RTNL,
 *				so no provider or client is called under it
 *
 * An RNIC is in the list from the start of its registration to the end of its removal. If its
 * provider is asked to destroy it, the RNIC stays in the list until destroy() has returned.
 * destroy() runs from one work item of each RNIC, whether the administrator, the netdev or the
 * provider's exit asked for it.
 */
#include <linux/cleanup.h>
#include <linux/kmod.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>

#include "internal.h"
#include "trace.h"

static DECLARE_RWSEM(kal_create_rwsem);
static DEFINE_MUTEX(kal_registry_lock);
static LIST_HEAD(kal_providers);
static LIST_HEAD(kal_rnics);
static struct workqueue_struct *kal_delete_wq;
const struct kal_conn_ops *kal_conn_ops;

/* Life of the structure ***************************************************** */

static void kal_rnic_delete_fn(struct work_struct *work);

static void kal_rnic_release(struct kref *kref)
{
	struct ri_rnic *rnic = container_of(kref, struct ri_rnic, kref);

	kal_resource_exit(rnic);
	xa_destroy(&rnic->client_data);
	kal_rnic_events_exit(rnic);
	kfree(rnic->base_counters);
	kfree(rnic);
}

struct ri_rnic *_ri_rnic_alloc(const struct ri_ops *ops, size_t size)
{
	struct ri_rnic *rnic;

	if (WARN_ON(size < sizeof(*rnic)))
		return NULL;
	rnic = kzalloc(size, GFP_KERNEL);
	if (!rnic)
		return NULL;
	rnic->base_counters = kcalloc(KAL_CNT_NUM, sizeof(u64), GFP_KERNEL);
	if (!rnic->base_counters || kal_rnic_events_init(rnic)) {
		kfree(rnic->base_counters);
		kfree(rnic);
		return NULL;
	}
	rnic->ops = ops;
	kref_init(&rnic->kref);
	INIT_LIST_HEAD(&rnic->node);
	INIT_LIST_HEAD(&rnic->eps);
	INIT_WORK(&rnic->delete_work, kal_rnic_delete_fn);
	xa_init(&rnic->client_data);
	kal_resource_init(rnic);
	kal_charges_init(rnic);
	return rnic;
}
EXPORT_SYMBOL_GPL(_ri_rnic_alloc);

void kal_rnic_get(struct ri_rnic *rnic)
{
	kref_get(&rnic->kref);
}

void ri_rnic_put(struct ri_rnic *rnic)
{
	kref_put(&rnic->kref, kal_rnic_release);
}
EXPORT_SYMBOL_GPL(ri_rnic_put);

/* Checks ******************************************************************** */

static bool kal_ops_complete(const struct ri_ops *ops)
{
	return ops->cq_create && ops->cq_destroy && ops->cq_poll &&
	       ops->cq_req_notify &&
	       ops->qp_create && ops->qp_query && ops->qp_modify &&
	       ops->qp_destroy && ops->post_send && ops->post_recv &&
	       ops->mr_register && ops->mr_deregister;
}

/* Operations that belong together are both there or both missing. */
static bool kal_ops_paired(const struct ri_ops *ops)
{
	return !ops->ucontext_alloc == !ops->ucontext_dealloc &&
	       !ops->pd_alloc == !ops->pd_dealloc &&
	       !ops->srq_create == !ops->srq_destroy;
}

static bool kal_ops_srq_complete(const struct ri_ops *ops)
{
	return ops->srq_create && ops->srq_modify && ops->srq_query &&
	       ops->post_srq_recv;
}

static bool kal_ops_sizes_fit(const struct ri_ops *ops)
{
	return ops->size_ucontext >= sizeof(struct ri_ucontext) &&
	       ops->size_pd >= sizeof(struct ri_pd) &&
	       ops->size_cq >= sizeof(struct ri_cq) &&
	       ops->size_qp >= sizeof(struct ri_qp) &&
	       ops->size_mr >= sizeof(struct ri_mr) &&
	       (!ops->srq_create || ops->size_srq >= sizeof(struct ri_srq));
}

/* An RNIC that makes connections itself has all of these operations, another has none. */
static bool kal_ops_conn_match(const struct ri_ops *ops, bool offload)
{
	const bool some = ops->conn_listen || ops->conn_connect || ops->conn_accept ||
			  ops->conn_reject || ops->conn_disconnect || ops->conn_destroy;
	const bool all = ops->conn_listen && ops->conn_connect && ops->conn_accept &&
			 ops->conn_reject && ops->conn_disconnect && ops->conn_destroy &&
			 ops->size_conn >= sizeof(struct ri_conn);

	return offload ? all : !some;
}

static bool kal_attr_conn_fits(const struct ri_rnic_attr *attr)
{
	return attr->max_connect_data <= RI_PRIVATE_DATA_MAX &&
	       attr->max_accept_data <= RI_PRIVATE_DATA_MAX &&
	       attr->max_reject_data <= RI_PRIVATE_DATA_MAX;
}

static int kal_rnic_check(const struct ri_rnic *rnic, const char *name)
{
	const bool offload = rnic->attr.caps & RI_CAP_LLP_OFFLOAD;
	const struct ri_rnic_attr *attr = &rnic->attr;
	const struct ri_ops *ops = rnic->ops;

	if (!kal_ops_complete(ops) || !kal_ops_paired(ops) ||
	    !kal_ops_sizes_fit(ops))
		return -EINVAL;
	if ((attr->caps & RI_CAP_SRQ) && !kal_ops_srq_complete(ops))
		return -EINVAL;
	if (!kal_ops_conn_match(ops, offload) || !kal_attr_conn_fits(attr))
		return -EINVAL;
	/* the kAL makes connections through a network device, and finds the namespace by it */
	if (!attr->netdev && !(offload && ops->in_net && ops->has_address && ops->port_query))
		return -EINVAL;
	if (!attr->num_ceh || attr->limits.max_qp < 1 || attr->limits.max_cqe < 1 ||
	    attr->limits.max_mr < 1)
		return -EINVAL;
	if (attr->num_counters && !(attr->counter_names && ops->query_counters))
		return -EINVAL;
	if (!name[0] || strnlen(name, IB_DEVICE_NAME_MAX) == IB_DEVICE_NAME_MAX)
		return -EINVAL;
	/* sysfs also uses the name, and would replace these characters */
	if (strpbrk(name, "/!"))
		return -EINVAL;
	/* no conversion except a single %d */
	if (strchr(name, '%') &&
	    (strchr(name, '%') != strrchr(name, '%') || !strstr(name, "%d")))
		return -EINVAL;
	return 0;
}

/* The table ***************************************************************** */

static struct ri_rnic *kal_rnic_by_name(const char *name)
{
	struct ri_rnic *rnic;

	lockdep_assert_held(&kal_registry_lock);
	list_for_each_entry(rnic, &kal_rnics, node)
		if (!strcmp(rnic->name, name))
			return rnic;
	return NULL;
}

/* Set rnic->name to @name. A "%d" is replaced by the first free number from @number on. */
static int kal_rnic_set_name(struct ri_rnic *rnic, const char *name,
			     unsigned int *number)
{
	char *pattern = strstr(name, "%d");
	size_t size = sizeof(rnic->name);
	int len;

	do {
		if (pattern)
			len = snprintf(rnic->name, size, "%.*s%u%s",
				       (int)(pattern - name), name,
				       (*number)++, pattern + 2);
		else
			len = strscpy(rnic->name, name, size);
		if (len < 0 || len >= size)
			return -EINVAL;
		if (!kal_rnic_by_name(rnic->name))
			return 0;
	} while (pattern);
	return -EEXIST;
}

void ri_rnic_rename(struct ri_rnic *rnic, const char *name)
{
	bool renamed;

	scoped_guard(mutex, &kal_registry_lock) {
		renamed = !kal_rnic_by_name(name);
		if (renamed)
			strscpy(rnic->name, name, sizeof(rnic->name));
	}
	/* kDAPL's names follow */
	if (renamed)
		kal_rnic_event(rnic, IB_EVENT_GID_CHANGE);
}
EXPORT_SYMBOL_GPL(ri_rnic_rename);

/*
 * An RNIC that can be deleted on request needs a provider, because the provider's destroy()
 * deletes it.
 */
static int kal_rnic_set_provider(struct ri_rnic *rnic)
{
	struct ri_provider *provider;

	if (!(rnic->attr.caps & RI_CAP_ALLOW_DELETE))
		return 0;
	list_for_each_entry(provider, &kal_providers, node) {
		if (provider->owner == rnic->ops->owner) {
			rnic->provider = provider;
			return 0;
		}
	}
	return -EINVAL;
}

/* Enter @rnic into the table. After this the netdevice notifier finds it. */
static int kal_rnic_enter(struct ri_rnic *rnic, const char *name,
			  unsigned int *number)
{
	struct net_device *ndev = rnic->attr.netdev;
	int ret;

	guard(mutex)(&kal_registry_lock);
	if (rnic->flags)
		return test_bit(RI_RNIC_DELETING, &rnic->flags) ? -ENODEV :
								  -EINVAL;
	ret = kal_rnic_set_provider(rnic);
	if (ret)
		return ret;
	ret = kal_rnic_set_name(rnic, name, number);
	if (ret)
		return ret;
	/* NETDEV_UNREGISTER has been sent, or it will find the RNIC in the list */
	if (ndev && READ_ONCE(ndev->reg_state) != NETREG_REGISTERED)
		return -ENODEV;
	rnic->netdev = ndev;
	if (ndev) {
		netdev_hold(ndev, &rnic->netdev_tracker, GFP_KERNEL);
		if (kal_netdev_link_up(ndev))
			set_bit(RI_RNIC_LINK_UP, &rnic->flags);
	}
	set_bit(RI_RNIC_BUSY, &rnic->flags);
	set_bit(RI_RNIC_LIVE, &rnic->flags);
	kal_rnic_get(rnic);
	list_add_tail(&rnic->node, &kal_rnics);
	return 0;
}

/*
 * Remove @rnic from the table and drop the table's references. If a delete is queued, the RNIC
 * stays in the list, because the delete must find it.
 */
static void kal_rnic_leave(struct ri_rnic *rnic)
{
	scoped_guard(mutex, &kal_registry_lock) {
		if (!test_bit(RI_RNIC_DELETING, &rnic->flags))
			list_del_init(&rnic->node);
		if (rnic->netdev)
			netdev_put(rnic->netdev, &rnic->netdev_tracker);
		rnic->netdev = NULL;
		clear_bit(RI_RNIC_LINK_UP, &rnic->flags);
		clear_bit(RI_RNIC_BUSY, &rnic->flags);
		if (test_bit(RI_RNIC_UNREGISTERING, &rnic->flags))
			set_bit(RI_RNIC_GONE, &rnic->flags);
	}
	wake_up_var(&rnic->flags);
	ri_rnic_put(rnic);
}

/*
 * Get the RNIC behind @prev, with a reference, and drop the reference to @prev. If @prev has
 * left the table, the walk starts again, so callers see some RNICs twice.
 */
struct ri_rnic *kal_rnic_next(struct ri_rnic *prev)
{
	struct ri_rnic *rnic, *next = NULL;

	scoped_guard(mutex, &kal_registry_lock) {
		rnic = prev;
		if (!prev || list_empty(&prev->node))
			rnic = list_entry(&kal_rnics, struct ri_rnic, node);
		list_for_each_entry_continue(rnic, &kal_rnics, node) {
			kal_rnic_get(rnic);
			next = rnic;
			break;
		}
	}
	if (prev)
		ri_rnic_put(prev);
	return next;
}

/* Ports and namespaces ****************************************************** */

bool kal_rnic_in_net(struct ri_rnic *rnic, const struct net *net)
{
	if (rnic->ops->in_net)
		return rnic->ops->in_net(rnic, net);
	return net_eq(dev_net(rnic->netdev), net);
}
EXPORT_SYMBOL_GPL(kal_rnic_in_net);

/* The port of an RNIC whose provider has nothing to say about it. */
static void kal_port_of_netdev(const struct ri_rnic *rnic, const struct net *net,
			       struct ri_port_attr *attr)
{
	const struct net_device *ndev = rnic->netdev;

	attr->state = test_bit(RI_RNIC_LINK_UP, &rnic->flags) ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	if (!net_eq(dev_net(ndev), net))
		return;
	attr->ifindex = ndev->ifindex;
	strscpy(attr->netdev, ndev->name, sizeof(attr->netdev));
}

int kal_port_query(struct ri_rnic *rnic, u32 port, const struct net *net,
		   struct ri_port_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	if (!port || port > max(rnic->attr.num_ports, 1U))
		return -EINVAL;
	if (rnic->ops->port_query)
		return rnic->ops->port_query(rnic, port, net, attr);
	kal_port_of_netdev(rnic, net, attr);
	return 0;
}
EXPORT_SYMBOL_GPL(kal_port_query);

/* Registration ************************************************************** */

/* Remove a live @rnic from all consumers and from the table. */
static void kal_rnic_hide(struct ri_rnic *rnic)
{
	clear_bit(RI_RNIC_LIVE, &rnic->flags);
	/* an event sees that LIVE is clear, or the flush waits for it */
	smp_mb__after_atomic();
	kal_event_flush();
	kal_clients_leave(rnic);
	/* end all connections first, so that no consumer side waits for a peer */
	kal_conn_ops->rnic_abort(rnic);
	kal_clients_remove(rnic);
	kal_conn_ops->rnic_abort(rnic);
	kal_resource_wait_empty(rnic);
	if (rnic->attr.ibdev)
		kal_charges_close(rnic);
	kal_rnic_leave(rnic);
}

static int kal_rnic_show(struct ri_rnic *rnic, const char *name,
			 unsigned int *number)
{
	int ret = kal_rnic_enter(rnic, name, number);

	if (ret)
		return ret;
	if (rnic->attr.ibdev)
		kal_charges_open(rnic, rnic->attr.ibdev);
	ret = kal_clients_add(rnic);
	if (!ret)
		return 0;
	kal_rnic_hide(rnic);
	return ret;
}

int ri_register_rnic(struct ri_rnic *rnic, const char *name)
{
	unsigned int number = 0;
	int ret;

	ret = kal_rnic_check(rnic, name);
	if (ret)
		return ret;
	/* a consumer side may already use the chosen name for another device */
	do {
		ret = kal_rnic_show(rnic, name, &number);
	} while (ret == -EEXIST && strchr(name, '%'));
	if (ret)
		return ret;

	trace_rnic_register(rnic);
	scoped_guard(mutex, &kal_registry_lock) {
		set_bit(RI_RNIC_REGISTERED, &rnic->flags);
		clear_bit(RI_RNIC_BUSY, &rnic->flags);
	}
	wake_up_var(&rnic->flags);
	return 0;
}
EXPORT_SYMBOL_GPL(ri_register_rnic);

void ri_unregister_rnic(struct ri_rnic *rnic)
{
	bool first;

	scoped_guard(mutex, &kal_registry_lock) {
		if (!test_bit(RI_RNIC_REGISTERED, &rnic->flags))
			return;
		first = !test_and_set_bit(RI_RNIC_UNREGISTERING, &rnic->flags);
	}
	if (!first) {
		wait_var_event(&rnic->flags,
			       test_bit(RI_RNIC_GONE, &rnic->flags));
		return;
	}

	trace_rnic_unregister(rnic);
	kal_rnic_hide(rnic);
}
EXPORT_SYMBOL_GPL(ri_unregister_rnic);

/* Providers ***************************************************************** */

int ri_register_provider(struct ri_provider *provider)
{
	if (!provider->create || !provider->destroy)
		return -EINVAL;
	guard(mutex)(&kal_registry_lock);
	list_add_tail(&provider->node, &kal_providers);
	return 0;
}
EXPORT_SYMBOL_GPL(ri_register_provider);

/* Queue the destruction of @rnic unless it is being removed already. */
static void kal_rnic_queue_delete(struct ri_rnic *rnic)
{
	lockdep_assert_held(&kal_registry_lock);
	if (!rnic->provider ||
	    test_bit(RI_RNIC_UNREGISTERING, &rnic->flags) ||
	    test_and_set_bit(RI_RNIC_DELETING, &rnic->flags))
		return;
	kal_rnic_get(rnic);
	queue_work(kal_delete_wq, &rnic->delete_work);
}

static void kal_rnic_delete_fn(struct work_struct *work)
{
	struct ri_rnic *rnic = container_of(work, struct ri_rnic, delete_work);

	/*
	 * The delete may have been requested before the end of the registration, which may
	 * still fail.
	 */
	wait_var_event(&rnic->flags, !test_bit(RI_RNIC_BUSY, &rnic->flags));
	if (test_bit(RI_RNIC_REGISTERED, &rnic->flags))
		rnic->provider->destroy(rnic);
	scoped_guard(mutex, &kal_registry_lock)
		list_del_init(&rnic->node);
	ri_rnic_put(rnic);
}

void kal_rnic_delete(struct ri_rnic *rnic)
{
	guard(mutex)(&kal_registry_lock);
	if (!list_empty(&rnic->node))
		kal_rnic_queue_delete(rnic);
}

void ri_unregister_provider(struct ri_provider *provider)
{
	struct ri_rnic *rnic;

	scoped_guard(mutex, &kal_registry_lock)
		list_del_init(&provider->node);
	/* wait for every create() that found the provider before its removal from the list */
	down_write(&kal_create_rwsem);
	up_write(&kal_create_rwsem);

	scoped_guard(mutex, &kal_registry_lock)
		list_for_each_entry(rnic, &kal_rnics, node)
			if (rnic->provider == provider)
				kal_rnic_queue_delete(rnic);
	flush_workqueue(kal_delete_wq);
}
EXPORT_SYMBOL_GPL(ri_unregister_provider);

/* Wait for the end of RNICs that are being deleted and have the name or the netdev of a new one. */
static void kal_rnic_wait_deletes(const char *name, const struct net_device *ndev)
{
	struct ri_rnic *rnic, *found;

	do {
		found = NULL;
		scoped_guard(mutex, &kal_registry_lock) {
			list_for_each_entry(rnic, &kal_rnics, node) {
				if (!test_bit(RI_RNIC_DELETING, &rnic->flags) ||
				    (rnic->attr.netdev != ndev &&
				     strcmp(rnic->name, name)))
					continue;
				kal_rnic_get(rnic);
				found = rnic;
				break;
			}
		}
		if (found) {
			flush_work(&found->delete_work);
			ri_rnic_put(found);
		}
	} while (found);
}

/* Get the provider behind @prev (NULL: the first one), with a reference to its module. */
static struct ri_provider *kal_provider_next(struct ri_provider *prev)
{
	struct ri_provider *provider;

	guard(mutex)(&kal_registry_lock);
	if (prev && list_empty(&prev->node))
		return NULL;
	provider = prev ?: list_entry(&kal_providers, struct ri_provider, node);
	list_for_each_entry_continue(provider, &kal_providers, node)
		if (try_module_get(provider->owner))
			return provider;
	return NULL;
}

/* The first provider that can use @ndev creates the RNIC. */
static int kal_providers_create(const char *name, struct net_device *ndev)
{
	struct ri_provider *provider, *next;
	int ret = -ENODEV;

	guard(rwsem_read)(&kal_create_rwsem);
	provider = kal_provider_next(NULL);
	while (provider) {
		ret = provider->create(name, ndev);
		next = ret == -EINVAL ? kal_provider_next(provider) : NULL;
		module_put(provider->owner);
		provider = next;
	}
	return ret;
}

/**
 * kal_rnic_create() - create an RNIC on @ndev ("rdma link add")
 * @name: name of the device
 * @ndev: network device, held by the caller
 *
 * Loads a provider if there is none. Return: 0; -EEXIST if the name is taken or @ndev has an
 * RNIC; -EINVAL if no provider can use @ndev; -ENODEV if there is no provider. Context: may
 * sleep; RTNL not held.
 */
int kal_rnic_create(const char *name, struct net_device *ndev)
{
	bool none;

	scoped_guard(mutex, &kal_registry_lock)
		none = list_empty(&kal_providers);
	if (none)
		request_module("krdma-provider");
	kal_rnic_wait_deletes(name, ndev);
	return kal_providers_create(name, ndev);
}

/* Changes of network devices, RTNL held ************************************* */

void kal_rnics_netdev_gone(struct net_device *ndev)
{
	struct ri_rnic *rnic;

	guard(mutex)(&kal_registry_lock);
	list_for_each_entry(rnic, &kal_rnics, node)
		if (rnic->netdev == ndev) {
			kal_netdev_unlink_rnic(rnic);
			kal_rnic_queue_delete(rnic);
		}
}

void kal_rnics_netdev_link(struct net_device *ndev)
{
	bool up = kal_netdev_link_up(ndev);
	struct ri_rnic *rnic;

	guard(mutex)(&kal_registry_lock);
	list_for_each_entry(rnic, &kal_rnics, node) {
		if (rnic->netdev != ndev || !kal_rnic_live(rnic) ||
		    up == test_bit(RI_RNIC_LINK_UP, &rnic->flags))
			continue;
		change_bit(RI_RNIC_LINK_UP, &rnic->flags);
		kal_rnic_event(rnic, up ? IB_EVENT_PORT_ACTIVE :
					  IB_EVENT_PORT_ERR);
	}
}

void kal_rnics_netdev_address(struct net_device *ndev)
{
	struct ri_rnic *rnic;

	guard(mutex)(&kal_registry_lock);
	list_for_each_entry(rnic, &kal_rnics, node)
		if (rnic->netdev == ndev && kal_rnic_live(rnic))
			kal_rnic_event(rnic, IB_EVENT_GID_CHANGE);
}

/**
 * kal_set_conn_ops() - register the functions of the connection manager
 * @ops: functions, never freed
 *
 * Called once, before a provider can register an RNIC. Context: any.
 */
void kal_set_conn_ops(const struct kal_conn_ops *ops)
{
	kal_conn_ops = ops;
}

int kal_registry_init(void)
{
	kal_delete_wq = alloc_workqueue("krdma_delete", WQ_UNBOUND, 0);
	return kal_delete_wq ? 0 : -ENOMEM;
}

/* Providers hold a reference to this module, so no provider and no RNIC is left. */
void kal_registry_exit(void)
{
	destroy_workqueue(kal_delete_wq);
}
