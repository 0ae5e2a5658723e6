// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Data that the ib bridge shows to administrators in addition to ib_core's own:
 *
 * - counters ("rdma statistic"): the provider's, then the kAL's, then those of sets of QPs
 *   (qp_counter.c)
 * - connections ("rdma resource show qp -dd" and "... cm_id -dd")
 */
#include <linux/inet.h>
#include <linux/slab.h>
#include <rdma/rdma_cm.h>
#include <rdma/rdma_netlink.h>
#include <rdma/restrack.h>

#include "../core/core.h"
#include "bridge.h"

/* Counters ****************************************************************** */

/* Counters of the port, because "rdma statistic" does not show counters of a device. */
static struct rdma_hw_stats *kal_ib_alloc_stats(struct ib_device *base, u32 port)
{
	struct kal_ib_device *dev = to_kal_ib_device(base);

	return rdma_alloc_hw_stats_struct(dev->stat_descs, dev->num_stats,
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

static int kal_ib_get_stats(struct ib_device *base, struct rdma_hw_stats *stats,
			    u32 port, int index)
{
	struct ri_rnic *rnic = to_kal_ib_device(base)->rnic;
	unsigned int i, num = rnic->attr.num_counters;

	if (!port)
		return -EOPNOTSUPP;
	if (num)
		rnic->ops->query_counters(rnic, stats->value);
	for (i = 0; i < KAL_CNT_NUM; i++)
		stats->value[num + i] = kal_counter_read(rnic, i);
	/* the rest stays 0, and ib_core adds the values of the sets */
	return stats->num_counters;
}

const struct ib_device_ops kal_ib_stats_ops = {
	.alloc_hw_port_stats = kal_ib_alloc_stats,
	.get_hw_stats = kal_ib_get_stats,
};

static void kal_ib_stats_name(struct kal_ib_device *dev,
			      const char *const *names, unsigned int num)
{
	while (num--)
		dev->stat_descs[dev->num_stats++].name = *names++;
}

/**
 * kal_ib_stats_init() - make the list of a device's counter names
 * @dev: device; the names of its RNIC, of the kAL and of sets of QPs form one list
 *
 * Return: 0 or -ENOMEM.
 */
int kal_ib_stats_init(struct kal_ib_device *dev)
{
	const struct ri_rnic *rnic = dev->rnic;
	const struct ri_rnic_attr *attr = &rnic->attr;

	dev->stat_descs = kcalloc(attr->num_counters + KAL_CNT_NUM + KAL_IB_QP_COUNTERS,
				  sizeof(*dev->stat_descs), GFP_KERNEL);
	if (!dev->stat_descs)
		return -ENOMEM;
	kal_ib_stats_name(dev, attr->counter_names, attr->num_counters);
	kal_ib_stats_name(dev, kal_counter_names, KAL_CNT_NUM);
	if (rnic->ops->qp_info)
		kal_ib_stats_name(dev, kal_ib_qp_counter_names, KAL_IB_QP_COUNTERS);
	return 0;
}

void kal_ib_stats_exit(struct kal_ib_device *dev)
{
	kfree(dev->stat_descs);
}

/* Queue pairs *************************************************************** */

static int kal_ib_put_addr(struct sk_buff *msg, const char *name,
			   const struct sockaddr_storage *addr)
{
	/* format: "[address%scope]:port" */
	char str[INET6_ADDRSTRLEN + 24];

	snprintf(str, sizeof(str), "%pISpc", addr);
	return rdma_nl_put_driver_string(msg, name, str);
}

static int kal_ib_put_markers(struct sk_buff *msg, const struct ri_mpa_params *mpa)
{
	static const char *const names[] = { "none", "sent", "received", "both" };

	return rdma_nl_put_driver_string(msg, "markers",
					 names[mpa->tx_markers + 2 * mpa->rx_markers]);
}

static int kal_ib_put_mpa(struct sk_buff *msg, const struct ri_mpa_params *mpa)
{
	return rdma_nl_put_driver_string(msg, "side", mpa->initiator ?
					 "initiator" : "responder") ?:
	       rdma_nl_put_driver_u32(msg, "mpa_rev", mpa->revision) ?:
	       rdma_nl_put_driver_u32(msg, "crc", mpa->crc) ?:
	       kal_ib_put_markers(msg, mpa) ?:
	       rdma_nl_put_driver_u32(msg, "ird", mpa->ird) ?:
	       rdma_nl_put_driver_u32(msg, "ord", mpa->ord);
}

static int kal_ib_put_tcp(struct sk_buff *msg, const struct ri_qp_info *info)
{
	return kal_ib_put_addr(msg, "src", &info->local) ?:
	       kal_ib_put_addr(msg, "dst", &info->remote) ?:
	       rdma_nl_put_driver_u32(msg, "mss", info->mss) ?:
	       rdma_nl_put_driver_u32(msg, "cwnd", info->cwnd) ?:
	       rdma_nl_put_driver_u32(msg, "srtt_us", info->srtt_us) ?:
	       rdma_nl_put_driver_u32(msg, "unacked", info->unacked) ?:
	       rdma_nl_put_driver_u32(msg, "reads_in", info->reads_in) ?:
	       rdma_nl_put_driver_u32(msg, "reads_out", info->reads_out);
}

static int kal_ib_put_traffic(struct sk_buff *msg, const struct ri_qp_info *info)
{
	return rdma_nl_put_driver_u64(msg, "tx_bytes", info->tx.bytes) ?:
	       rdma_nl_put_driver_u64(msg, "tx_fpdus", info->tx.fpdus) ?:
	       rdma_nl_put_driver_u64(msg, "tx_messages", info->tx.messages) ?:
	       rdma_nl_put_driver_u64(msg, "rx_bytes", info->rx.bytes) ?:
	       rdma_nl_put_driver_u64(msg, "rx_fpdus", info->rx.fpdus) ?:
	       rdma_nl_put_driver_u64(msg, "rx_messages", info->rx.messages) ?:
	       rdma_nl_put_driver_u64(msg, "retransmissions", info->retransmissions);
}

static int kal_ib_put_qp(struct sk_buff *msg, const struct ri_qp_info *info)
{
	if (info->connected && (kal_ib_put_tcp(msg, info) || kal_ib_put_mpa(msg, &info->mpa)))
		return -EMSGSIZE;
	return kal_ib_put_traffic(msg, info);
}

static int kal_ib_fill_qp(struct sk_buff *msg, struct ib_qp *base)
{
	struct kal_ib_qp *qp = to_kal_ib_qp(base);
	const struct ri_ops *ops = to_kal_ib_device(base->device)->rnic->ops;
	struct ri_qp_info info = {};
	struct nlattr *table;

	/* some versions of 6.12 destroy a QP while readers of its entry are still running */
	if (!ops->qp_info || !kal_ib_qp_get(qp))
		return 0;
	ops->qp_info(qp->qp, &info);
	kal_ib_qp_put(qp);
	table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	if (!table)
		return -EMSGSIZE;
	if (kal_ib_put_qp(msg, &info)) {
		nla_nest_cancel(msg, table);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, table);
	return 0;
}

/* Connections and listeners ************************************************* */

static int kal_ib_put_listener(struct sk_buff *msg, const struct kal_ep_info *info)
{
	return rdma_nl_put_driver_u32(msg, "backlog", info->backlog) ?:
	       rdma_nl_put_driver_u32(msg, "waiting", info->waiting) ?:
	       rdma_nl_put_driver_u32(msg, "pending", info->pending);
}

static int kal_ib_put_ep(struct sk_buff *msg, const struct kal_ep_info *info)
{
	if (rdma_nl_put_driver_string(msg, "state", info->state))
		return -EMSGSIZE;
	if (info->expires_ms &&
	    rdma_nl_put_driver_u32(msg, "expires_ms", info->expires_ms))
		return -EMSGSIZE;
	if (info->connected)
		return kal_ib_put_mpa(msg, &info->mpa);
	return info->listening ? kal_ib_put_listener(msg, info) : 0;
}

/*
 * ib_core keeps @id until this function returns, but not the iw_cm_id. The iw_cm_id may be
 * freed before the look-up, so it is used only as a key.
 */
static int kal_ib_fill_cm_id(struct sk_buff *msg, struct rdma_cm_id *id)
{
	struct kal_ep_info info;
	struct nlattr *table;
	struct kal_ep *ep;

	ep = kal_ib_cm_find(rdma_iw_cm_id(id));
	if (!ep)
		return 0;
	kal_ep_query(ep, &info);
	kal_ep_put(ep);
	table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	if (!table)
		return -EMSGSIZE;
	if (kal_ib_put_ep(msg, &info)) {
		nla_nest_cancel(msg, table);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, table);
	return 0;
}

const struct ib_device_ops kal_ib_restrack_ops = {
	.fill_res_cm_id_entry = kal_ib_fill_cm_id,
	.fill_res_qp_entry = kal_ib_fill_qp,
};
