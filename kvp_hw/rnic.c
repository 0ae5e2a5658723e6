// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The RNIC of a device: attributes, ports, counters and the provider's table. Limits and abilities
 * are the device's own. What ib_core's kernel interface does not offer is missing: windows,
 * reregistration and dma-bufs.
 */
#include <linux/slab.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_cm.h>

#include <krdma/netstack.h>
#include <krdma/compat_verbs.h>

#include "hw.h"

/*
 * Private data by transport: rdma_cm counts it in a byte, and so does siw, together with what
 * revision 2 of MPA puts before it. InfiniBand has less room.
 */
#define HW_MPA_V2_DATA		4
#define HW_IB_CONNECT_DATA	56	/* behind the IP header of rdma_cm */
#define HW_IB_ACCEPT_DATA	IB_CM_REP_PRIVATE_DATA_SIZE
#define HW_IB_REJECT_DATA	IB_CM_REJ_PRIVATE_DATA_SIZE
#define HW_IWARP_DATA		(U8_MAX - HW_MPA_V2_DATA)

/* Counters ****************************************************************** */

static const char *const hw_counter_names[HW_CNT_NUM] = {
	[HW_CNT_LKEY_REFUSED] = "lkey_refused",
	[HW_CNT_BOUNDS_REFUSED] = "bounds_refused",
	[HW_CNT_USER_REFUSED] = "user_refused",
	[HW_CNT_DRAIN_TIMEOUT] = "drain_timeout",
	[HW_CNT_OTHER_DEVICE] = "other_device",
	[HW_CNT_IOVA_REFUSED] = "iova_refused",
};

static void hw_query_counters(struct ri_rnic *ri, u64 *values)
{
	const struct hw_rnic *hw = hw_rnic(ri);
	unsigned int i;

	for (i = 0; i < HW_CNT_NUM; i++)
		values[i] = atomic64_read(&hw->counters[i]);
}

/* Namespaces, addresses, ports ********************************************** */

static bool hw_in_net(struct ri_rnic *ri, const struct net *net)
{
	return rdma_dev_access_netns(hw_rnic(ri)->ibdev, net);
}

/* RoCE: the addresses of upper devices (VLANs, bonds) are GIDs too. */
static bool hw_gid_has(struct ib_device *ibdev, u32 port, const struct net *net,
		       const struct sockaddr_storage *addr)
{
	enum ib_gid_type types[] = { IB_GID_TYPE_ROCE_UDP_ENCAP, IB_GID_TYPE_ROCE };
	const struct ib_gid_attr *attr;
	struct net_device *ndev;
	union ib_gid gid;
	unsigned int i;
	bool ret;

	rdma_ip2gid((struct sockaddr *)addr, &gid);
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		attr = rdma_find_gid_by_port(ibdev, &gid, types[i], port, NULL);
		if (IS_ERR(attr))
			continue;
		rcu_read_lock();
		ndev = rcu_dereference(attr->ndev);
		ret = ndev && net_eq(dev_net(ndev), net);
		rcu_read_unlock();
		rdma_put_gid_attr(attr);
		if (ret)
			return true;
	}
	return false;
}

static bool hw_port_has(struct ib_device *ibdev, u32 port, const struct net *net,
			const struct sockaddr_storage *addr)
{
	struct net_device *ndev = ib_device_get_netdev(ibdev, port);
	bool ret = false;

	if (ndev) {
		rcu_read_lock();
		ret = net_eq(dev_net(ndev), net) && kal_netdev_owns(ndev, addr);
		rcu_read_unlock();
		dev_put(ndev);
	}
	return ret || (rdma_protocol_roce(ibdev, port) && hw_gid_has(ibdev, port, net, addr));
}

static bool hw_has_address(struct ri_rnic *ri, const struct net *net,
			   const struct sockaddr_storage *addr)
{
	struct ib_device *ibdev = hw_rnic(ri)->ibdev;
	u32 port;

	rdma_for_each_port(ibdev, port)
		if (hw_port_has(ibdev, port, net, addr))
			return true;
	return false;
}

static int hw_port_query(struct ri_rnic *ri, u32 port, const struct net *net,
			 struct ri_port_attr *attr)
{
	struct ib_device *ibdev = hw_rnic(ri)->ibdev;
	struct net_device *ndev;
	struct ib_port_attr from;
	int ret;

	ret = ib_query_port(ibdev, port, &from);
	if (ret)
		return ret;
	attr->state = from.state;
	attr->lid = from.lid;
	if (!rdma_protocol_iwarp(ibdev, port))
		attr->path_mtu = ib_mtu_enum_to_int(from.active_mtu);
	if (from.gid_tbl_len && rdma_query_gid(ibdev, port, 0, &attr->gid))
		memset(&attr->gid, 0, sizeof(attr->gid));
	ndev = ib_device_get_netdev(ibdev, port);
	if (!ndev)
		return 0;
	if (net_eq(dev_net(ndev), net)) {
		attr->ifindex = ndev->ifindex;
		strscpy(attr->netdev, ndev->name, sizeof(attr->netdev));
	}
	dev_put(ndev);
	return 0;
}

/* The table ***************************************************************** */

static const struct ri_ops hw_ops = {
	.owner = THIS_MODULE,

	.size_ucontext = sizeof(struct ri_ucontext),
	.size_pd = sizeof(struct hw_pd),
	.size_cq = sizeof(struct hw_cq),
	.size_srq = sizeof(struct hw_srq),
	.size_qp = sizeof(struct hw_qp),
	.size_mr = sizeof(struct hw_mr),

	.query_counters = hw_query_counters,

	.user_check = hw_users_check,

	.pd_alloc = hw_pd_alloc,
	.pd_dealloc = hw_pd_dealloc,

	.cq_create = hw_cq_create,
	.cq_resize = hw_cq_resize,
	.cq_modify = hw_cq_modify,
	.cq_destroy = hw_cq_destroy,
	.cq_poll = hw_cq_poll,
	.cq_req_notify = hw_cq_req_notify,

	.srq_create = hw_srq_create,
	.srq_modify = hw_srq_modify,
	.srq_query = hw_srq_query,
	.srq_destroy = hw_srq_destroy,
	.post_srq_recv = hw_post_srq_recv,

	.qp_create = hw_qp_create,
	.qp_query = hw_qp_query,
	.qp_modify = hw_qp_modify,
	.qp_destroy = hw_qp_destroy,
	.post_send = hw_post_send,
	.post_recv = hw_post_recv,

	.mr_register = hw_mr_register,
	.mr_register_dma = hw_mr_register_dma,
	.mr_alloc = hw_mr_alloc,
	.mr_deregister = hw_mr_deregister,

	.size_conn = sizeof(struct hw_conn),
	.conn_listen = hw_conn_listen,
	.conn_connect = hw_conn_connect,
	.conn_accept = hw_conn_accept,
	.conn_reject = hw_conn_reject,
	.conn_disconnect = hw_conn_disconnect,
	.conn_destroy = hw_conn_destroy,

	.in_net = hw_in_net,
	.has_address = hw_has_address,
	.port_query = hw_port_query,
};

/* Life ********************************************************************** */

static enum ri_transport hw_transport(const struct ib_device *ibdev)
{
	if (rdma_protocol_iwarp(ibdev, 1))
		return RI_TRANSPORT_IWARP;
	return rdma_protocol_roce(ibdev, 1) ? RI_TRANSPORT_ROCE : RI_TRANSPORT_IB;
}

/*
 * Drivers whose fast registrations cannot be used:
 *
 * - hns allocates memory in map_mr_sg() with GFP_KERNEL; a kernel consumer posts in any context.
 * - ocrdma takes the offset in the first page to be iova - address of the page, so it reaches
 *   other memory if iova is not the address.
 */
static bool hw_rnic_has_fast_reg(const struct ib_device *ibdev)
{
	return ibdev->ops.driver_id != RDMA_DRIVER_HNS &&
	       ibdev->ops.driver_id != RDMA_DRIVER_OCRDMA;
}

/* What krdma_hw itself needs of the device is not the consumer's. */
static void hw_rnic_set_limits(struct ib_device_attr *limits, const struct ib_device *ibdev)
{
	/* markers of a queue pair that is drained */
	limits->max_cqe -= HW_CQ_MARKERS;
	limits->max_qp_wr--;
	if (!hw_rnic_has_fast_reg(ibdev)) {
		limits->max_fast_reg_page_list_len = 0;
		limits->device_cap_flags &= ~IB_DEVICE_MEM_MGT_EXTENSIONS;
	}
}

static void hw_rnic_set_caps(struct ri_rnic_attr *attr, struct ib_device *ibdev)
{
	attr->caps = RI_CAP_LLP_OFFLOAD | RI_CAP_OWN_PINS;
	if (attr->limits.max_srq > 0 && ibdev->ops.create_srq)
		attr->caps |= RI_CAP_SRQ;
	if (attr->limits.kernel_cap_flags & IBK_SG_GAPS_REG)
		attr->caps |= RI_CAP_SG_GAPS;
	if (!hw_cq_probe_resize(ibdev))
		attr->caps |= RI_CAP_FIXED_CQ;
	if (hw_post_has_immediate(ibdev))
		attr->caps |= RI_CAP_IMMEDIATE;
	/* kernel interface of ib_core: none of these for a kernel consumer */
	attr->limits.device_cap_flags &= ~(IB_DEVICE_MEM_WINDOW | IB_DEVICE_MEM_WINDOW_TYPE_2A |
					   IB_DEVICE_MEM_WINDOW_TYPE_2B);
	attr->limits.max_mw = 0;
	/* the STag of kernel memory is one of the protection domain, see hw_mr_register_dma() */
	attr->limits.kernel_cap_flags &= ~IBK_LOCAL_DMA_LKEY;
	/* struct ib_wc has no time */
	attr->limits.timestamp_mask = 0;
}

static void hw_rnic_set_attr(struct hw_rnic *hw)
{
	struct ri_rnic_attr *attr = &hw->ri.attr;
	struct ib_device *ibdev = hw->ibdev;

	attr->ibdev = ibdev;
	/* siw completes a registration when it carries it out */
	attr->flush_unsure = !hw_is_siw(ibdev);
	attr->limits = ibdev->attrs;
	hw_rnic_set_limits(&attr->limits, ibdev);
	attr->vendor_id = ibdev->attrs.vendor_id;
	attr->vendor_part_id = ibdev->attrs.vendor_part_id;
	attr->hw_version = ibdev->attrs.hw_ver;
	attr->fw_version = ibdev->attrs.fw_ver;
	attr->transport = hw_transport(ibdev);
	attr->num_ceh = max(ibdev->num_comp_vectors, 1);
	attr->max_inline = hw_qp_probe_inline(hw->ibdev);
	attr->num_counters = HW_CNT_NUM;
	attr->counter_names = hw_counter_names;
	attr->num_ports = ibdev->phys_port_cnt;
	attr->node_guid = ibdev->node_guid;
	attr->dma_device = ibdev->dma_device;
	if (attr->transport == RI_TRANSPORT_IWARP) {
		attr->max_connect_data = HW_IWARP_DATA;
		attr->max_accept_data = HW_IWARP_DATA;
		attr->max_reject_data = HW_IWARP_DATA;
	} else {
		attr->max_connect_data = HW_IB_CONNECT_DATA;
		attr->max_accept_data = HW_IB_ACCEPT_DATA;
		attr->max_reject_data = HW_IB_REJECT_DATA;
	}
	hw_rnic_set_caps(attr, ibdev);
}

static void hw_rnic_event(struct ib_event_handler *handler, struct ib_event *event)
{
	struct hw_rnic *hw = container_of(handler, struct hw_rnic, handler);

	hw_events_raise(&hw->events, event->event);
}

/**
 * hw_rnic_create() - make an RNIC of a device, and register it
 * @ibdev: device, which stays until hw_rnic_destroy() has returned
 *
 * Return: the RNIC or an ERR_PTR. Context: may sleep.
 */
struct hw_rnic *hw_rnic_create(struct ib_device *ibdev)
{
	struct hw_rnic *hw = ri_rnic_alloc(&hw_ops, hw_rnic, ri);
	int ret = -ENOMEM;

	if (!hw)
		return ERR_PTR(-ENOMEM);
	hw->ibdev = ibdev;
	hw_events_init(&hw->events, &hw->ri, NULL);
	hw->stalled_until[false] = jiffies;
	hw->stalled_until[true] = jiffies;
	xa_init_flags(&hw->mrs, XA_FLAGS_LOCK_IRQ | XA_FLAGS_ACCOUNT);
	hw->ends = alloc_workqueue("krdma_hw_%s", WQ_UNBOUND | WQ_MEM_RECLAIM, 0,
				   dev_name(&ibdev->dev));
	if (!hw->ends)
		goto err_put;
	ret = rhashtable_init(&hw->qps, &hw_qp_params);
	if (ret)
		goto err_wq;
	hw_rnic_set_attr(hw);
	ret = ri_register_rnic(&hw->ri, dev_name(&ibdev->dev));
	if (ret)
		goto err_qps;
	INIT_IB_EVENT_HANDLER(&hw->handler, ibdev, hw_rnic_event);
	ib_register_event_handler(&hw->handler);
	return hw;

err_qps:
	rhashtable_destroy(&hw->qps);
err_wq:
	destroy_workqueue(hw->ends);
err_put:
	ri_rnic_put(&hw->ri);
	return ERR_PTR(ret);
}

/* Take the RNIC from all consumers, also under load. May sleep. */
void hw_rnic_destroy(struct hw_rnic *hw)
{
	ib_unregister_event_handler(&hw->handler);
	ri_unregister_rnic(&hw->ri);
	hw_events_end(&hw->events);
	/* the ends of connections that consumers have left */
	destroy_workqueue(hw->ends);
	rhashtable_destroy(&hw->qps);
	xa_destroy(&hw->mrs);
	ri_rnic_put(&hw->ri);
}
