// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The ib bridge's devices. An RNIC that the kAL shows becomes an ib_device. "rdma link add"
 * and "rdma link del" become requests to the kAL.
 *
 * An ib_device ends in one of two ways:
 *
 * - The kAL removes the RNIC, because its netdev or its provider's module goes: remove()
 *   unregisters the device from ib_core.
 * - ib_core unregisters the device first ("rdma link del"): its last call is dealloc_driver(),
 *   which asks the kAL to destroy the RNIC. remove() then finds that ib_core's part is done.
 *
 * Both may happen at once. ib_core then lets the second unregistration wait for the first. The
 * kAL's part runs from a workqueue, never under ib_core's locks.
 *
 * The memory of the ib_device lives until remove(). remove() holds a reference and drops it
 * when no user can hold a reference to the device's GID entry any more.
 */
#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <linux/unaligned.h>
#include <net/addrconf.h>
#include <rdma/ib.h>
#include <rdma/iw_cm.h>
#include <rdma/rdma_cm.h>
#include <rdma/rdma_netlink.h>
#include <krdma/compat_verbs.h>

#include "../core/core.h"
#include "bridge.h"

static struct kal_client kal_ib_client;

static void kal_ib_dealloc_driver(struct ib_device *base)
{
	struct kal_ib_device *dev = to_kal_ib_device(base);

	/* not after a failed registration, because the kAL gets that error */
	if (test_bit(KAL_IB_DEV_REGISTERED, &dev->flags))
		kal_rnic_delete(dev->rnic);
}

static LIST_HEAD(kal_ib_devices);
static DEFINE_MUTEX(kal_ib_devices_lock);	/* protects kal_ib_devices */

static int kal_ib_fence_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	return 0;
}

/*
 * rdma_cm's cma_release_dev() drops its reference to the device before its reference to the
 * device's GID entry. ib_core may therefore have unregistered the device when the last
 * reference to the entry is dropped. free_gid_work() then still uses the device
 * (docs/kernel-bugs.md).
 *
 * rdma_cm drops both references under its lock. An attempt to bind to a GID that no device has
 * takes this lock and does nothing else. After the attempt, rdma_cm has dropped its references
 * to all entries. After the flush of ib_wq, the entries are freed.
 */
static void kal_ib_fence_gids(const struct kal_ib_device *dev)
{
	struct sockaddr_ib nowhere = { .sib_family = AF_IB };
	struct rdma_cm_id *id;

	memcpy(&nowhere.sib_addr, &dev->base.node_guid, sizeof(dev->base.node_guid));
	for (;;) {
		id = rdma_create_id(&init_net, kal_ib_fence_event, NULL, RDMA_PS_TCP, IB_QPT_RC);
		if (!IS_ERR(id))
			break;
		/* no memory, but the device cannot be released without the fence */
		msleep(20);
	}
	/* any other result may come without taking the lock */
	WARN_ON_ONCE(rdma_bind_addr(id, (struct sockaddr *)&nowhere) != -ENODEV);
	rdma_destroy_id(id);
	flush_workqueue(ib_wq);
}

static void kal_ib_device_release(struct kal_ib_device *dev)
{
	kal_ib_fence_gids(dev);
	scoped_guard(mutex, &kal_ib_devices_lock)
		list_del_init(&dev->node);
	kal_ib_stats_exit(dev);
	xa_destroy(&dev->requests);
	xa_destroy(&dev->counters);
	put_device(&dev->base.dev);
}

static const struct ib_device_ops kal_ib_device_ops = {
	.owner = THIS_MODULE,
	.driver_id = KAL_IB_DRIVER_ID,
	.dealloc_driver = kal_ib_dealloc_driver,
};

static void kal_ib_device_set_ops(struct kal_ib_device *dev)
{
	const struct ri_rnic_attr *attr = &dev->rnic->attr;
	struct ib_device *base = &dev->base;

	ib_set_device_ops(base, &kal_ib_device_ops);
	ib_set_device_ops(base, &kal_ib_port_ops);
	ib_set_device_ops(base, &kal_ib_verbs_ops);
	ib_set_device_ops(base, &kal_ib_qp_ops);
	ib_set_device_ops(base, &kal_ib_cm_ops);
	ib_set_device_ops(base, &kal_ib_restrack_ops);
	ib_set_device_ops(base, &kal_ib_stats_ops);
	ib_set_device_ops(base, &kal_ib_sysfs_ops);
	if (dev->rnic->ops->qp_info)
		ib_set_device_ops(base, &kal_ib_counter_ops);
	if (dev->rnic->ops->mw_alloc)
		ib_set_device_ops(base, &kal_ib_mw_ops);
	if (attr->caps & RI_CAP_SRQ)
		ib_set_device_ops(base, &kal_ib_srq_ops);
	if (dev->rnic->ops->ucontext_alloc) {
		ib_set_device_ops(base, &kal_ib_user_ops);
		base->ops.uverbs_abi_ver = dev->rnic->ops->abi_version;
		base->driver_def = kal_ib_user_defs;
	}
}

static bool kal_ib_device_guid_taken(__be64 guid)
{
	const struct kal_ib_device *dev;

	list_for_each_entry(dev, &kal_ib_devices, node)
		if (dev->base.node_guid == guid)
			return true;
	return false;
}

/*
 * Derive the node GUID from the netdev's address, or from a random address if it has none.
 * librdmacm identifies devices by their GUID. A VLAN, a bridge or a bond has the address of
 * its lower device. The second RNIC with the same address therefore gets another filler
 * between the halves of the address.
 */
static void kal_ib_device_set_guid(struct kal_ib_device *dev)
{
	const struct net_device *ndev = dev->rnic->netdev;
	u8 *guid = (u8 *)&dev->base.node_guid;
	u16 filler = 0;

	if (kal_ib_netdev_has_mac(ndev))
		ether_addr_copy(dev->mac, ndev->dev_addr);
	else
		eth_random_addr(dev->mac);
	addrconf_addr_eui48(guid, dev->mac);
	guard(mutex)(&kal_ib_devices_lock);
	while (kal_ib_device_guid_taken(dev->base.node_guid))
		put_unaligned_be16(++filler, guid + 3);
	list_add_tail(&dev->node, &kal_ib_devices);
}

static int kal_ib_device_setup(struct kal_ib_device *dev)
{
	struct ri_rnic *rnic = dev->rnic;
	struct ib_device *base = &dev->base;
	int ret;

	base->node_type = RDMA_NODE_RNIC;
	base->phys_port_cnt = 1;
	base->num_comp_vectors = rnic->attr.num_ceh;
	base->uverbs_cmd_mask |= BIT_ULL(IB_USER_VERBS_CMD_POST_SEND) |
				 BIT_ULL(IB_USER_VERBS_CMD_POST_SRQ_RECV);
	base->local_dma_lkey = rnic->attr.local_dma_lkey;
	base->iw_driver_flags = IW_F_NO_PORT_MAP;
	strscpy(base->iw_ifname, rnic->netdev->name, sizeof(base->iw_ifname));
	snprintf(base->node_desc, sizeof(base->node_desc), "krdma on %s",
		 rnic->netdev->name);
	if (rnic->attr.caps & RI_CAP_ALLOW_DELETE)
		ib_mark_name_assigned_by_user(base);
	xa_init_flags(&dev->requests, XA_FLAGS_ALLOC1);
	xa_init_flags(&dev->counters, XA_FLAGS_ALLOC1);
	kal_ib_device_set_guid(dev);
	kal_ib_device_set_ops(dev);
	ret = kal_ib_stats_init(dev);
	if (ret)
		return ret;
	return ib_device_set_netdev(base, rnic->netdev, KAL_IB_PORT);
}

static int kal_ib_device_add(struct ri_rnic *rnic)
{
	struct kal_ib_device *dev;
	int ret;

	/* ib_core already has the ib_device from which the RNIC was created */
	if (rnic->attr.caps & RI_CAP_LLP_OFFLOAD)
		return 0;

	dev = ib_alloc_device(kal_ib_device, base);
	if (!dev)
		return -ENOMEM;
	get_device(&dev->base.dev);
	INIT_LIST_HEAD(&dev->node);
	dev->rnic = rnic;
	ret = kal_ib_device_setup(dev);
	if (ret)
		goto err_dealloc;
	ret = kal_set_client_data(rnic, &kal_ib_client, dev);
	if (ret)
		goto err_dealloc;

	/*
	 * Set before the registration: the device may be deleted before ib_register_device()
	 * returns.
	 */
	set_bit(KAL_IB_DEV_REGISTERED, &dev->flags);
	ret = ib_register_device(&dev->base, rnic->name, NULL);
	if (!ret) {
		kal_netdev_link_rnic(rnic, &dev->base.dev.kobj);
		return 0;
	}

	clear_bit(KAL_IB_DEV_REGISTERED, &dev->flags);
	kal_set_client_data(rnic, &kal_ib_client, NULL);
	if (ret == -ENFILE)
		ret = -EEXIST;
err_dealloc:
	ib_dealloc_device(&dev->base);
	kal_ib_device_release(dev);
	return ret;
}

static void kal_ib_device_remove(struct ri_rnic *rnic)
{
	struct kal_ib_device *dev = kal_client_data(rnic, &kal_ib_client);

	if (!dev)
		return;
	kal_netdev_unlink_rnic(rnic);
	ib_unregister_device(&dev->base);
	kal_ib_cm_remove(dev);
	kal_set_client_data(rnic, &kal_ib_client, NULL);
	kal_ib_device_release(dev);
}

static void kal_ib_device_event(struct ri_rnic *rnic, enum ib_event_type type)
{
	struct kal_ib_device *dev = kal_client_data(rnic, &kal_ib_client);
	struct ib_event event = {
		.event = type,
		.element.port_num = KAL_IB_PORT,
	};

	/* ib_core has already unregistered the device, so there is no receiver */
	if (!dev || !ib_device_try_get(&dev->base))
		return;
	event.device = &dev->base;
	ib_dispatch_event(&event);
	ib_device_put(&dev->base);
}

static struct kal_client kal_ib_client = {
	.name = "ib",
	.mandatory = true,
	.add = kal_ib_device_add,
	.remove = kal_ib_device_remove,
	.event = kal_ib_device_event,
};

/*
 * A client of ib_core, for three purposes:
 *
 * - to get new names ("rdma dev set ... name")
 * - to know when the rdma cgroup controller has the device, which is slightly longer than the
 *   client has it
 * - to be the first to learn that ib_core removes the device: clients are removed in reverse
 *   order of their registration, and rdma_cm registered before this module
 */

static int kal_ib_core_add(struct ib_device *base)
{
	struct ri_rnic *rnic;

	if (base->ops.driver_id != KAL_IB_DRIVER_ID)
		return -EOPNOTSUPP;
	rnic = to_kal_ib_device(base)->rnic;
	kal_charges_open(rnic, base);
	/* events during a move to another namespace were not delivered */
	kal_rnic_event(rnic, IB_EVENT_GID_CHANGE);
	return 0;
}

static void kal_ib_core_remove(struct ib_device *base, void *data)
{
	kal_ib_cm_abort(to_kal_ib_device(base));
	kal_charges_close(to_kal_ib_device(base)->rnic);
}

static void kal_ib_core_rename(struct ib_device *base, void *data)
{
	if (base->ops.driver_id == KAL_IB_DRIVER_ID)
		ri_rnic_rename(to_kal_ib_device(base)->rnic, dev_name(&base->dev));
}

static struct ib_client kal_ib_core_client = {
	.name = "krdma",
	.add = kal_ib_core_add,
	.remove = kal_ib_core_remove,
	.rename = kal_ib_core_rename,
};

static struct rdma_link_ops kal_ib_link_ops = {
	.type = "krdma",
	.newlink = kal_rnic_create,
};

int kal_ib_init(void)
{
	int ret;

	ret = kal_ib_cm_init();
	if (ret)
		return ret;
	ret = ib_register_client(&kal_ib_core_client);
	if (ret)
		goto err_cm;
	ret = kal_register_client(&kal_ib_client);
	if (ret)
		goto err_core;
	rdma_link_register(&kal_ib_link_ops);
	return 0;

err_core:
	ib_unregister_client(&kal_ib_core_client);
err_cm:
	kal_ib_cm_exit();
	return ret;
}

void kal_ib_exit(void)
{
	rdma_link_unregister(&kal_ib_link_ops);
	kal_unregister_client(&kal_ib_client);
	/* fence: after this, no call of ib_core into this module is in progress */
	ib_unregister_driver(KAL_IB_DRIVER_ID);
	ib_unregister_client(&kal_ib_core_client);
	kal_ib_cm_exit();
}
