// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * RNICs in /dev/krdma, which is a consumer side of the kAL. Each RNIC has an index that is
 * never reused. When an RNIC is removed, this file waits for the commands that use it and ends its
 * objects in all open files.
 */
#include <linux/cleanup.h>
#include <linux/etherdevice.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/unaligned.h>
#include <net/addrconf.h>

#include "../cm/cm.h"
#include "chardev.h"

#include <krdma/netstack.h>
#include <krdma/compat.h>

static DEFINE_XARRAY_ALLOC1(kal_devs);
static u32 chardev_next_dev;
static struct kal_client chardev_dev_client;

/* The table **************************************************************** */

void kal_dev_release(struct kref *kref)
{
	struct kal_dev *dev = container_of(kref, struct kal_dev, kref);

	ri_rnic_put(dev->rnic);
	kfree(dev);
}

/* Is the RNIC in @net? The caller keeps the RNIC from going. */
static bool chardev_dev_visible(const struct kal_dev *dev, const struct net *net)
{
	return kal_rnic_in_net(dev->rnic, net);
}

/*
 * Get the next RNIC of @net at or after *@index. It is not removed before kal_dev_put().
 * Entries are erased before the removal waits for their users. An entry that is found under
 * the lock therefore has users.
 */
static struct kal_dev *chardev_dev_next(const struct net *net, unsigned long *index)
{
	struct kal_dev *dev;

	xa_lock(&kal_devs);
	dev = xa_find(&kal_devs, index, ULONG_MAX, XA_PRESENT);
	while (dev && !chardev_dev_visible(dev, net))
		dev = xa_find_after(&kal_devs, index, ULONG_MAX, XA_PRESENT);
	if (dev)
		refcount_inc(&dev->users);
	xa_unlock(&kal_devs);
	return dev;
}

void kal_dev_put(struct kal_dev *dev)
{
	if (refcount_dec_and_test(&dev->users))
		complete(&dev->unused);
}

struct kal_dev *kal_dev_get(const struct net *net, u32 index)
{
	unsigned long i = index;
	struct kal_dev *dev = chardev_dev_next(net, &i);

	if (dev && i != index) {
		kal_dev_put(dev);
		return NULL;
	}
	return dev;
}

/* Get the first RNIC that has the address, in the way of @match. */
static struct kal_dev *chardev_dev_search(const struct net *net,
					  bool (*match)(struct ri_rnic *rnic, const struct net *net,
							const struct sockaddr_storage *addr),
					  const struct sockaddr_storage *addr)
{
	struct kal_dev *dev;
	unsigned long i = 0;

	while ((dev = chardev_dev_next(net, &i))) {
		if (match(dev->rnic, net, addr))
			return dev;
		kal_dev_put(dev);
		i++;
	}
	return NULL;
}

static bool chardev_rnic_has_port(struct ri_rnic *rnic, const struct net *net, u32 ifindex)
{
	struct ri_port_attr attr;
	u32 port;

	for (port = 1; port <= max(rnic->attr.num_ports, 1U); port++)
		if (!kal_port_query(rnic, port, net, &attr) && attr.ifindex == ifindex)
			return true;
	return false;
}

/* Get the RNIC one of whose ports is on a network device that the RNIC does not hold. */
static struct kal_dev *chardev_dev_of_port(const struct net *net, u32 ifindex)
{
	struct kal_dev *dev;
	unsigned long i = 0;

	while ((dev = chardev_dev_next(net, &i))) {
		if (!dev->rnic->netdev && chardev_rnic_has_port(dev->rnic, net, ifindex))
			return dev;
		kal_dev_put(dev);
		i++;
	}
	return NULL;
}

struct kal_dev *kal_dev_get_ifindex(struct net *net, u32 ifindex)
{
	struct net_device *ndev = dev_get_by_index(net, ifindex);
	struct ri_rnic *rnic = ndev ? kal_rnic_of_netdev(ndev) : NULL;
	struct kal_dev *dev = NULL;

	if (rnic) {
		dev = kal_dev_get(net, rnic->index);
		ri_rnic_put(rnic);
	}
	dev_put(ndev);
	return dev ?: chardev_dev_of_port(net, ifindex);
}

struct kal_dev *kal_dev_get_address(const struct net *net, const struct sockaddr_storage *addr)
{
	return chardev_dev_search(net, kal_rnic_has, addr) ?:
	       chardev_dev_search(net, kal_rnic_owns, addr);
}

u32 kal_dev_index(struct net *net, u32 ifindex)
{
	struct kal_dev *dev = kal_dev_get_ifindex(net, ifindex);
	u32 index = 0;

	if (dev) {
		index = dev->index;
		kal_dev_put(dev);
	}
	return index;
}

/* The consumer side ******************************************************** */

static int chardev_dev_add(struct ri_rnic *rnic)
{
	struct kal_dev *dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	int ret;

	if (!dev)
		return -ENOMEM;
	kref_init(&dev->kref);
	kal_rnic_get(rnic);
	dev->rnic = rnic;
	refcount_set(&dev->users, 1);
	init_completion(&dev->unused);
	ret = xa_alloc_cyclic(&kal_devs, &dev->index, NULL, XA_LIMIT(1, S32_MAX), &chardev_next_dev,
			      GFP_KERNEL);
	if (ret >= 0)
		ret = kal_set_client_data(rnic, &chardev_dev_client, dev);
	if (ret) {
		if (dev->index)
			xa_erase(&kal_devs, dev->index);
		kref_put(&dev->kref, kal_dev_release);
		return ret;
	}
	rnic->index = dev->index;
	xa_store(&kal_devs, dev->index, dev, GFP_KERNEL);
	return 0;
}

static void chardev_dev_end_in(struct kal_file *file, void *dev)
{
	kal_handles_end(file, dev);
}

static void chardev_dev_remove(struct ri_rnic *rnic)
{
	struct kal_dev *dev = kal_client_data(rnic, &chardev_dev_client);

	xa_erase(&kal_devs, dev->index);
	kal_dev_put(dev);
	wait_for_completion(&dev->unused);
	WRITE_ONCE(dev->leaves, true);
	/* no more contexts of the RNIC are created */
	kal_files_each(chardev_dev_end_in, dev);
	kal_set_client_data(rnic, &chardev_dev_client, NULL);
	kref_put(&dev->kref, kal_dev_release);
}

struct kal_dev_event_arg {
	const struct kal_dev *dev;
	enum ib_event_type event;
};

static void chardev_dev_event_in(struct kal_file *file, void *_arg)
{
	const struct kal_dev_event_arg *arg = _arg;
	struct kal_handle *h;
	unsigned long id;

	/* keeps the objects and waits for no other code */
	xa_lock(&file->handles);
	xa_for_each_marked(&file->handles, id, h, KAL_CONTEXT_MARK)
		if (h->dev == arg->dev)
			kal_handle_async(h, arg->event);
	xa_unlock(&file->handles);
}

static void chardev_dev_event(struct ri_rnic *rnic, enum ib_event_type event)
{
	struct kal_dev_event_arg arg = {
		.dev = kal_client_data(rnic, &chardev_dev_client),
		.event = event,
	};

	kal_files_each(chardev_dev_event_in, &arg);
}

static struct kal_client chardev_dev_client = {
	.name = "chardev",
	.add = chardev_dev_add,
	.remove = chardev_dev_remove,
	.event = chardev_dev_event,
};

int kal_chardev_rnic_init(void)
{
	return kal_register_client(&chardev_dev_client);
}

void kal_chardev_rnic_exit(void)
{
	kal_unregister_client(&chardev_dev_client);
	xa_destroy(&kal_devs);
}

/* Commands ***************************************************************** */

/* The index of the network device of the RNIC or of its first port as @net sees it, 0: none. */
static u32 chardev_dev_ifindex(const struct kal_dev *dev, const struct net *net)
{
	struct ri_port_attr attr;

	return kal_port_query(dev->rnic, 1, net, &attr) ? 0 : attr.ifindex;
}

int kal_cmd_rnic_list(struct kal_file *file, void *_cmd)
{
	struct krdma_rnic_list *cmd = _cmd;
	struct krdma_rnic_entry __user *to = u64_to_user_ptr(cmd->entries);
	unsigned long i = 0;
	struct kal_dev *dev;
	u32 count = 0;

	while ((dev = chardev_dev_next(file->net, &i))) {
		struct krdma_rnic_entry entry = {
			.index = dev->index,
			.ifindex = chardev_dev_ifindex(dev, file->net),
		};

		strscpy(entry.name, dev->rnic->name, sizeof(entry.name));
		kal_dev_put(dev);
		if (count < cmd->count && copy_to_user(to + count, &entry, sizeof(entry)))
			return -EFAULT;
		count++;
		i++;
	}
	cmd->count = count;
	return 0;
}

static u64 chardev_dev_guid(const struct net_device *ndev)
{
	u8 guid[8];

	if (ndev->addr_len != ETH_ALEN || is_zero_ether_addr(ndev->dev_addr))
		return 0;
	addrconf_addr_eui48(guid, ndev->dev_addr);
	return get_unaligned_be64(guid);
}

static void chardev_query_netdev(struct krdma_rnic_query *cmd, const struct net_device *ndev)
{
	cmd->ifindex = ndev->ifindex;
	cmd->mtu = READ_ONCE(ndev->mtu);
	cmd->mac_len = min_t(u32, ndev->addr_len, sizeof(cmd->mac));
	memcpy(cmd->mac, ndev->dev_addr, cmd->mac_len);
	cmd->node_guid = chardev_dev_guid(ndev);
	strscpy_pad(cmd->netdev, ndev->name, sizeof(cmd->netdev));
}

static u32 chardev_netdev_mtu(struct net *net, u32 ifindex)
{
	struct net_device *ndev = dev_get_by_index(net, ifindex);
	const u32 mtu = ndev ? READ_ONCE(ndev->mtu) : 0;

	dev_put(ndev);
	return mtu;
}

/* The first port of an RNIC without network device. iWARP has no path MTU, but a network device. */
static void chardev_query_port(struct krdma_rnic_query *cmd, struct ri_rnic *rnic,
			       struct net *net)
{
	struct ri_port_attr port;

	if (kal_port_query(rnic, 1, net, &port))
		return;
	cmd->mtu = port.path_mtu ?: chardev_netdev_mtu(net, port.ifindex);
	cmd->ifindex = port.ifindex;
	strscpy_pad(cmd->netdev, port.netdev, sizeof(cmd->netdev));
	cmd->node_guid = be64_to_cpu(rnic->attr.node_guid);
	if (port.state == IB_PORT_ACTIVE)
		cmd->flags |= KRDMA_RNIC_UP;
}

static void chardev_query_limits(struct krdma_rnic_query *cmd, const struct ri_rnic_attr *attr)
{
	const struct ib_device_attr *limits = &attr->limits;

	cmd->max_mr_size = limits->max_mr_size;
	cmd->device_cap_flags = limits->device_cap_flags;
	cmd->max_qp = limits->max_qp;
	cmd->max_qp_wr = limits->max_qp_wr;
	cmd->max_send_sge = limits->max_send_sge;
	cmd->max_recv_sge = limits->max_recv_sge;
	cmd->max_sge_rd = limits->max_sge_rd;
	cmd->max_inline = attr->max_inline;
	cmd->max_cq = limits->max_cq;
	cmd->max_cqe = limits->max_cqe;
	cmd->max_mr = limits->max_mr;
	cmd->max_mw = limits->max_mw;
	cmd->max_pd = limits->max_pd;
	cmd->max_srq = limits->max_srq;
	cmd->max_srq_wr = limits->max_srq_wr;
	cmd->max_srq_sge = limits->max_srq_sge;
	cmd->max_ird = limits->max_qp_rd_atom;
	cmd->max_ord = limits->max_qp_init_rd_atom;
	cmd->timestamp_mask = limits->timestamp_mask;
	cmd->clock_khz = limits->hca_core_clock;
}

#define SAME_CAP(name) !(KRDMA_CAP_##name ^ RI_CAP_##name)

static_assert(SAME_CAP(LLP_OFFLOAD) && SAME_CAP(SRQ) && SAME_CAP(ALLOW_DELETE) &&
	      SAME_CAP(MARKERS) && SAME_CAP(DMABUF) && SAME_CAP(SG_GAPS) && SAME_CAP(OWN_PINS) &&
	      SAME_CAP(FIXED_CQ) && SAME_CAP(IMMEDIATE));

static void chardev_query_rnic(struct krdma_rnic_query *cmd, const struct ri_rnic *rnic)
{
	const struct ri_rnic_attr *attr = &rnic->attr;
	enum ri_obj_type type;

	if (test_bit(RI_RNIC_LINK_UP, &rnic->flags))
		cmd->flags |= KRDMA_RNIC_UP;
	strscpy_pad(cmd->name, rnic->name, sizeof(cmd->name));
	strscpy_pad(cmd->provider, module_name(rnic->ops->owner), sizeof(cmd->provider));
	/* without user contexts a user library has no function */
	if (attr->uvp_library && rnic->ops->ucontext_alloc)
		strscpy_pad(cmd->uvp, attr->uvp_library, sizeof(cmd->uvp));
	cmd->uvp_abi = rnic->ops->abi_version;
	cmd->transport = attr->transport;
	cmd->caps = attr->caps;
	cmd->vendor_id = attr->vendor_id;
	cmd->vendor_part_id = attr->vendor_part_id;
	cmd->hw_version = attr->hw_version;
	cmd->fw_version = attr->fw_version;
	cmd->num_ceh = attr->num_ceh;
	cmd->num_ports = max(attr->num_ports, 1U);
	cmd->num_counters = attr->num_counters + KAL_CNT_NUM;
	BUILD_BUG_ON(ARRAY_SIZE(cmd->objects) <= RI_OBJ_TYPES);
	for (type = 0; type < RI_OBJ_TYPES; type++)
		cmd->objects[type] = atomic_read(&rnic->num_objects[type]);
}

int kal_cmd_rnic_query(struct kal_file *file, void *_cmd)
{
	struct krdma_rnic_query *cmd = _cmd;
	struct kal_dev *dev = kal_dev_get(file->net, cmd->index);
	const u32 size = cmd->size, index = cmd->index;

	if (!dev)
		return -ENODEV;
	memset(cmd, 0, sizeof(*cmd));
	cmd->size = size;
	cmd->index = index;
	if (dev->rnic->netdev)
		chardev_query_netdev(cmd, dev->rnic->netdev);
	else
		chardev_query_port(cmd, dev->rnic, file->net);
	chardev_query_limits(cmd, &dev->rnic->attr);
	chardev_query_rnic(cmd, dev->rnic);
	kal_dev_put(dev);
	return 0;
}

int kal_cmd_rnic_port(struct kal_file *file, void *_cmd)
{
	struct krdma_rnic_port *cmd = _cmd;
	struct ri_port_attr attr;
	struct kal_dev *dev = kal_dev_get(file->net, cmd->index);
	int ret;

	if (!dev)
		return -ENODEV;
	ret = kal_port_query(dev->rnic, cmd->port, file->net, &attr);
	kal_dev_put(dev);
	if (ret)
		return ret;
	cmd->state = attr.state;
	cmd->path_mtu = attr.path_mtu;
	cmd->lid = attr.lid;
	cmd->ifindex = attr.ifindex;
	cmd->reserved = 0;
	memcpy(cmd->gid, attr.gid.raw, sizeof(cmd->gid));
	strscpy_pad(cmd->netdev, attr.netdev, sizeof(cmd->netdev));
	return 0;
}

/*
 * Read the counters of the provider and of the kAL. The caller frees them. Return: NULL if
 * there is no memory.
 */
static struct krdma_counter *chardev_dev_counters(struct ri_rnic *rnic, u32 num)
{
	const u32 own = rnic->attr.num_counters;
	struct krdma_counter *counters;
	u64 *values;
	u32 i;

	values = kvcalloc(max(own, 1U), sizeof(*values), GFP_KERNEL_ACCOUNT);
	counters = kvcalloc(num, sizeof(*counters), GFP_KERNEL_ACCOUNT);
	if (!values || !counters) {
		kvfree(values);
		kvfree(counters);
		return NULL;
	}
	if (own)
		rnic->ops->query_counters(rnic, values);
	for (i = 0; i < own; i++) {
		strscpy(counters[i].name, rnic->attr.counter_names[i], sizeof(counters[i].name));
		counters[i].value = values[i];
	}
	for (i = 0; i < KAL_CNT_NUM; i++) {
		strscpy(counters[own + i].name, kal_counter_names[i], sizeof(counters[i].name));
		counters[own + i].value = kal_counter_read(rnic, i);
	}
	kvfree(values);
	return counters;
}

int kal_cmd_rnic_counters(struct kal_file *file, void *_cmd)
{
	struct krdma_rnic_counters *cmd = _cmd;
	struct krdma_counter *counters;
	struct kal_dev *dev;
	u32 num;
	int ret;

	if (cmd->reserved)
		return -EINVAL;
	dev = kal_dev_get(file->net, cmd->index);
	if (!dev)
		return -ENODEV;
	num = dev->rnic->attr.num_counters + KAL_CNT_NUM;
	counters = chardev_dev_counters(dev->rnic, num);
	kal_dev_put(dev);
	if (!counters)
		return -ENOMEM;
	ret = kal_put_entries(cmd->entries, &cmd->count, counters, num, sizeof(*counters));
	kvfree(counters);
	return ret;
}

/* QPs ********************************************************************** */

/* maximum number of QPs of one command */
#define KAL_QP_LIST_MAX	256

static void chardev_qp_entry_fill(struct krdma_qp_entry *entry, struct ri_qp *qp)
{
	const struct ri_ops *ops = qp->obj.rnic->ops;
	struct ri_qp_info info = {};

	entry->number = qp->obj.id;
	if (!ops->qp_info)
		return;
	ops->qp_info(qp, &info);
	entry->tx_octets = info.tx.bytes;
	entry->tx_messages = info.tx.messages;
	entry->rx_octets = info.rx.bytes;
	entry->rx_messages = info.rx.messages;
	entry->retransmissions = info.retransmissions;
	if (!info.connected)
		return;
	kal_addr_from_sockaddr(&info.local, &entry->local);
	kal_addr_from_sockaddr(&info.remote, &entry->remote);
}

/* List up to @room QPs from *@next on. Return: their number; *@next is where to continue. */
static u32 chardev_qps_list(struct ri_rnic *rnic, struct krdma_qp_entry *entries, u32 room,
			    u32 *next)
{
	struct ri_obj *obj;
	u32 count = 0;

	while ((obj = kal_obj_next(rnic, RI_OBJ_QP, *next))) {
		*next = obj->id;
		if (count < room)
			chardev_qp_entry_fill(&entries[count],
					      container_of(obj, struct ri_qp, obj));
		kal_obj_put(obj);
		if (count == room)
			return count;
		count++;
		++*next;
	}
	*next = 0;
	return count;
}

int kal_cmd_qp_list(struct kal_file *file, void *_cmd)
{
	struct krdma_qp_entry *entries __free(kvfree) = NULL;
	struct krdma_qp_list *cmd = _cmd;
	const u32 room = min_t(u32, cmd->count, KAL_QP_LIST_MAX);
	struct kal_dev *dev;

	if (!ns_capable(file->net->user_ns, CAP_NET_ADMIN))
		return -EPERM;
	if (!room)
		return -EINVAL;
	entries = kvcalloc(room, sizeof(*entries), GFP_KERNEL_ACCOUNT);
	if (!entries)
		return -ENOMEM;
	dev = kal_dev_get(file->net, cmd->index);
	if (!dev)
		return -ENODEV;
	cmd->count = chardev_qps_list(dev->rnic, entries, room, &cmd->next);
	kal_dev_put(dev);
	if (copy_to_user(u64_to_user_ptr(cmd->entries), entries,
			 array_size(cmd->count, sizeof(*entries))))
		return -EFAULT;
	return 0;
}

/* By address *************************************************************** */

static struct kal_dev *chardev_dev_get_route(struct net *net, const struct sockaddr_storage *addr)
{
	struct kal_local local;
	struct kal_route route;

	/* no route in the default VRF: look in the other VRFs */
	if (kal_net_route(net, addr, NULL, 0, &route))
		return kal_net_locals(net, addr, &local, 1) > 0 ?
			       kal_dev_get_ifindex(net, local.ifindex) : NULL;
	return route.local ? kal_dev_get_address(net, addr) :
			     kal_dev_get_ifindex(net, route.ifindex);
}

int kal_cmd_rnic_find(struct kal_file *file, void *_cmd)
{
	struct krdma_rnic_find *cmd = _cmd;
	struct sockaddr_storage addr;
	struct kal_dev *dev;
	int ret;

	if (!cmd->local.family == !cmd->remote.family)
		return -EINVAL;
	ret = kal_addr_to_sockaddr(cmd->local.family ? &cmd->local : &cmd->remote, &addr);
	if (ret)
		return ret;
	dev = cmd->local.family ? kal_dev_get_address(file->net, &addr) :
				  chardev_dev_get_route(file->net, &addr);
	if (!dev)
		return -ENODEV;
	cmd->index = dev->index;
	kal_dev_put(dev);
	return 0;
}
