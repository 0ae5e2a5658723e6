// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Each RNIC is a provider of the DAT registry, by two names: NAME with the iWARP extension, and
 * NAME-ib with the InfiniBand extension, because an IA states one extension only. Both names give
 * the same functions.
 *
 * A name that another provider has stays with that one. This happens to RNICs named x and x-ib. The
 * later one gets the name when the other RNIC is removed or renamed.
 */
#include <linux/cleanup.h>
#include <linux/export.h>
#include <linux/if_vlan.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/slab.h>

#include <krdma/netstack.h>

#include "base/registry.h"
#include "connections/connections.h"
#include "provider.h"

static DEFINE_MUTEX(kdat_provider_lock);	/* protects kdat_provider_rnics, their names */
static LIST_HEAD(kdat_provider_rnics);

/*
 * What the registry calls for an IA name; it is one of ours, but the RNIC may have been removed
 * meanwhile.
 */
static DAT_RETURN kdat_provider_open_net(const char *name, struct net *net, DAT_COUNT qlen,
					 DAT_EVD_HANDLE *async, DAT_IA_HANDLE *ia)
{
	const DAT_PROVIDER *provider = NULL;
	struct kdat_rnic *kr;
	DAT_RETURN ret;

	scoped_guard(mutex, &kdat_provider_lock) {
		list_for_each_entry(kr, &kdat_provider_rnics, node) {
			if (kr->listed && !strcmp(name, kr->info.ia_name))
				provider = &kr->provider;
			else if (kr->listed_ib && !strcmp(name, kr->info_ib.ia_name))
				provider = &kr->provider_ib;
			else
				continue;
			refcount_inc(&kr->refs);
			break;
		}
	}
	if (!provider)
		return KDAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	ret = kdat_ia_open(kr, provider, net, qlen, async, ia);
	kdat_provider_put(kr);
	return ret;
}

/* Does the RNIC serve an interface: its own, or one in a VLAN pair with that? */
static bool kdat_provider_serves(struct ri_rnic *rnic, const struct net_device *ndev)
{
	const int real = is_vlan_dev(ndev) ? vlan_dev_real_dev(ndev)->ifindex : ndev->ifindex;
	struct ri_port_attr port;
	struct ri_rnic *serves;
	u32 i;

	if (!kal_rnic_in_net(rnic, dev_net(ndev)))
		return false;
	if (rnic->netdev) {
		serves = kal_rnic_of_netdev(ndev);
		if (serves)
			ri_rnic_put(serves);
		return serves == rnic;
	}
	for (i = 1; i <= max(rnic->attr.num_ports, 1u); i++)
		if (!kal_port_query(rnic, i, dev_net(ndev), &port) && port.ifindex &&
		    (port.ifindex == ndev->ifindex || port.ifindex == real))
			return true;
	return false;
}

/* @in_vrf: ask RNICs in a VRF, else the others */
static bool kdat_provider_leads(struct ri_rnic *rnic, struct net *net,
				const struct sockaddr_storage *remote, bool in_vrf)
{
	const int vrf = rnic->netdev ? kal_netdev_vrf(rnic->netdev) : 0;
	struct kal_route route;
	struct net_device *ndev;
	bool ret;

	if (in_vrf != !!vrf || kal_net_route(net, remote, NULL, vrf, &route))
		return false;
	ndev = dev_get_by_index(net, route.owner_ifindex);
	ret = ndev && kdat_provider_serves(rnic, ndev);
	dev_put(ndev);
	return ret;
}

/*
 * The name of the IA that leads to an address, DAT_NAME_MAX_LENGTH bytes. Return: DAT_SUCCESS,
 * DAT_INVALID_ADDRESS (there is no route), or DAT_PROVIDER_NOT_FOUND. May sleep.
 */
static DAT_RETURN kdat_provider_find(struct net *net, const struct sockaddr_storage *remote,
				     char *name)
{
	struct kal_route route;
	struct kdat_rnic *kr;
	int vrf;

	guard(mutex)(&kdat_provider_lock);
	for (vrf = 0; vrf < 2; vrf++) {
		list_for_each_entry(kr, &kdat_provider_rnics, node) {
			if (!kr->listed || !kdat_provider_leads(kr->rnic, net, remote, vrf))
				continue;
			strscpy(name, kr->info.ia_name, DAT_NAME_MAX_LENGTH);
			return DAT_SUCCESS;
		}
	}
	if (kal_net_route(net, remote, NULL, 0, &route))
		return KDAT_ERROR(DAT_INVALID_ADDRESS, DAT_NO_SUBTYPE);
	return KDAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
}

DAT_RETURN dat_ia_open_to(const struct sockaddr_storage *remote, DAT_COUNT asynch_evd_min_qlen,
			  DAT_EVD_HANDLE *asynch_evd_handle, DAT_IA_HANDLE *ia_handle)
{
	char name[DAT_NAME_MAX_LENGTH];
	DAT_RETURN ret;

	might_sleep();
	if (!remote || (remote->ss_family != AF_INET && remote->ss_family != AF_INET6))
		return KDAT_BAD_ARG(1);
	ret = kdat_provider_find(current->nsproxy->net_ns, remote, name);
	return ret ?: dat_ia_open(name, asynch_evd_min_qlen, asynch_evd_handle, ia_handle);
}
EXPORT_SYMBOL_GPL(dat_ia_open_to);

static DAT_RETURN kdat_provider_open(const char *name, DAT_COUNT qlen, DAT_EVD_HANDLE *async,
				     DAT_IA_HANDLE *ia)
{
	return kdat_provider_open_net(name, NULL, qlen, async, ia);
}

/* The IA's name decides which extension there is. The numbers of their operations overlap. */
static DAT_RETURN kdat_provider_extension(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args)
{
	const struct kdat_obj *obj = handle;

	if (!obj || (READ_ONCE(obj->type) & ~0xffu) != KDAT_OBJ_MAGIC)
		return KDAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	if (obj->provider == &obj->ia->kr->provider_ib)
		return kdat_ext_ib_op(handle, op, args);
	return kdat_ssp_op(handle, op, args);
}

static void kdat_provider_fill(struct kdat_rnic *kr, DAT_PROVIDER *provider,
			       DAT_PROVIDER_INFO *info, const char *suffix)
{
	memset(provider, 0, sizeof(*provider));
	memset(info, 0, sizeof(*info));
	snprintf(info->ia_name, sizeof(info->ia_name), "%s%s", kr->rnic->name, suffix);
	info->dapl_version_major = DAT_VERSION_MAJOR;
	info->dapl_version_minor = DAT_VERSION_MINOR;
	info->is_thread_safe = DAT_TRUE;
	provider->device_name = info->ia_name;
	/* says that the table is one of ours */
	provider->extension = kr;
	provider->ia_open_func = kdat_provider_open;
	provider->handle_extendedop_func = kdat_provider_extension;
	kdat_obj_table(provider);
	kdat_pz_table(provider);
	kdat_ia_table(provider);
	kdat_evd_table(provider);
	kdat_ep_table(provider);
	kdat_dto_table(provider);
	kdat_srq_table(provider);
	kdat_lmr_table(provider);
	kdat_rmr_table(provider);
	kdat_cm_table(provider);
	kdat_sp_table(provider);
	kdat_cr_table(provider);
}

/* Register the names that are free. */
static void kdat_provider_list(struct kdat_rnic *kr)
{
	lockdep_assert_held(&kdat_provider_lock);
	if (!kr->listed)
		kr->listed = dat_registry_add_provider(&kr->provider, &kr->info) == DAT_SUCCESS;
	if (!kr->listed_ib)
		kr->listed_ib = dat_registry_add_provider(&kr->provider_ib, &kr->info_ib) ==
				DAT_SUCCESS;
}

static void kdat_provider_not_listed(struct kdat_rnic *kr, const char *name)
{
	kal_count_ia_name_taken(kr->rnic);
	pr_warn("krdma: kDAPL: %s: not an IA by the name %s, which another provider has\n",
		kr->rnic->name, name);
}

static void kdat_provider_publish(struct kdat_rnic *kr)
{
	guard(mutex)(&kdat_provider_lock);
	kdat_provider_list(kr);
	if (!kr->listed)
		kdat_provider_not_listed(kr, kr->info.ia_name);
	if (!kr->listed_ib)
		kdat_provider_not_listed(kr, kr->info_ib.ia_name);
}

static void kdat_provider_withdraw(struct kdat_rnic *kr)
{
	kdat_registry_withdraw(&kr->provider);
	kdat_registry_withdraw(&kr->provider_ib);
	guard(mutex)(&kdat_provider_lock);
	kr->listed = false;
	kr->listed_ib = false;
}

/* Names are free again. */
static void kdat_provider_publish_waiting(void)
{
	struct kdat_rnic *kr;

	guard(mutex)(&kdat_provider_lock);
	list_for_each_entry(kr, &kdat_provider_rnics, node)
		kdat_provider_list(kr);
}

static int kdat_provider_add(struct ri_rnic *rnic);
static void kdat_provider_leave(struct ri_rnic *rnic);
static void kdat_provider_remove(struct ri_rnic *rnic);
static void kdat_provider_event(struct ri_rnic *rnic, enum ib_event_type event);

static struct kal_client kdat_client = {
	.name = "kdapl",
	.add = kdat_provider_add,
	.leave = kdat_provider_leave,
	.remove = kdat_provider_remove,
	.event = kdat_provider_event,
};

static int kdat_provider_add(struct ri_rnic *rnic)
{
	struct kdat_rnic *kr = kzalloc(sizeof(*kr), GFP_KERNEL);
	int err;

	if (!kr)
		return -ENOMEM;
	kr->rnic = rnic;
	refcount_set(&kr->refs, 1);
	init_rwsem(&kr->sem);
	INIT_LIST_HEAD(&kr->ias);
	mutex_init(&kr->ias_lock);
	err = kal_set_client_data(rnic, &kdat_client, kr);
	if (err) {
		kfree(kr);
		return err;
	}
	kdat_provider_fill(kr, &kr->provider, &kr->info, "");
	kdat_provider_fill(kr, &kr->provider_ib, &kr->info_ib, "-ib");
	scoped_guard(mutex, &kdat_provider_lock)
		list_add_tail(&kr->node, &kdat_provider_rnics);
	kdat_provider_publish(kr);
	return 0;
}

void kdat_provider_put(struct kdat_rnic *kr)
{
	if (!refcount_dec_and_test(&kr->refs))
		return;
	mutex_destroy(&kr->ias_lock);
	kfree(kr);
}

/* No IA can be opened by the names any more. Any number of times. */
static void kdat_provider_hide(struct kdat_rnic *kr)
{
	kdat_provider_withdraw(kr);
	scoped_guard(mutex, &kdat_provider_lock)
		list_del_init(&kr->node);
	kdat_provider_publish_waiting();
}

/* kal_client.leave: consumers hear of the removal before the connections end. */
static void kdat_provider_leave(struct ri_rnic *rnic)
{
	struct kdat_rnic *kr = kal_client_data(rnic, &kdat_client);
	struct kdat_ia *ia;

	kdat_provider_hide(kr);
	guard(rwsem_read)(&kr->sem);
	guard(mutex)(&kr->ias_lock);
	list_for_each_entry(ia, &kr->ias, node)
		kdat_ia_leave(ia);
}

static void kdat_provider_remove(struct ri_rnic *rnic)
{
	struct kdat_rnic *kr = kal_client_data(rnic, &kdat_client);
	struct kdat_ia *ia;

	kdat_provider_hide(kr);
	down_write(&kr->sem);
	WRITE_ONCE(kr->gone, true);
	list_for_each_entry(ia, &kr->ias, node)
		WRITE_ONCE(ia->direct, false);
	/* readers in a section of RCU have seen the RNIC, and end before its objects do */
	synchronize_rcu();
	list_for_each_entry(ia, &kr->ias, node)
		kdat_ia_drop(ia);
	kr->rnic = NULL;
	up_write(&kr->sem);
	kal_set_client_data(rnic, &kdat_client, NULL);
	kdat_provider_put(kr);
}

static void kdat_provider_refresh_addresses(struct kdat_rnic *kr)
{
	struct kdat_ia *ia;

	guard(rwsem_read)(&kr->sem);
	if (kr->gone)
		return;
	guard(mutex)(&kr->ias_lock);
	list_for_each_entry(ia, &kr->ias, node)
		kdat_ia_refresh_address(ia);
}

/* The RNIC may have got another address or another name. */
static void kdat_provider_event(struct ri_rnic *rnic, enum ib_event_type event)
{
	struct kdat_rnic *kr = kal_client_data(rnic, &kdat_client);

	if (!kr)
		return;
	if (event == IB_EVENT_GID_CHANGE)
		kdat_provider_refresh_addresses(kr);
	if (!strcmp(kr->info.ia_name, rnic->name))
		return;
	kdat_provider_withdraw(kr);
	scoped_guard(mutex, &kdat_provider_lock) {
		strscpy(kr->info.ia_name, rnic->name, sizeof(kr->info.ia_name));
		snprintf(kr->info_ib.ia_name, sizeof(kr->info_ib.ia_name), "%s-ib", rnic->name);
	}
	kdat_provider_publish(kr);
	kdat_provider_publish_waiting();
}

int kdat_provider_init(void)
{
	kdat_registry_set_open_net(kdat_provider_open_net);
	return kal_register_client(&kdat_client);
}

void kdat_provider_exit(void)
{
	kal_unregister_client(&kdat_client);
}
