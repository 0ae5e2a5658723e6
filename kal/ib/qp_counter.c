// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The ib bridge's counters of sets of QPs ("rdma statistic qp"): the traffic of the QPs of a
 * set while they were bound to it. ib_core creates the sets and decides which QP belongs to
 * which set. The values come from ri_ops.qp_info.
 *
 * ib_core requires a set to have the same counters as a port. It adds the values of all sets,
 * including past sets, to the port's values. The counters of the sets therefore follow the
 * port's own counters in one list. A set shows only its own counters. The port has 0 for the
 * counters of the sets before ib_core adds them.
 */
#include <linux/bitmap.h>
#include <linux/slab.h>
#include <krdma/compat_verbs.h>

#include "bridge.h"

const char *const kal_ib_qp_counter_names[KAL_IB_QP_COUNTERS] = {
	"qp_tx_bytes", "qp_tx_fpdus",	 "qp_tx_messages",     "qp_rx_bytes",
	"qp_rx_fpdus", "qp_rx_messages", "qp_retransmissions",
};

/**
 * struct kal_ib_counter - the bridge's part of an rdma_counter
 * @qps: bound QPs; the rdma_counter's lock protects @qps and @kept
 * @kept: values of QPs that were unbound
 */
struct kal_ib_counter {
	struct list_head qps;
	u64 kept[KAL_IB_QP_COUNTERS];
};

static void kal_ib_qp_read(struct kal_ib_qp *qp, u64 *values)
{
	struct ri_qp_info info;

	qp->qp->obj.rnic->ops->qp_info(qp->qp, &info);
	values[0] = info.tx.bytes;
	values[1] = info.tx.fpdus;
	values[2] = info.tx.messages;
	values[3] = info.rx.bytes;
	values[4] = info.rx.fpdus;
	values[5] = info.rx.messages;
	values[6] = info.retransmissions;
}

/* Add to @sum the traffic of @qp since it was bound. */
static void kal_ib_qp_add(struct kal_ib_qp *qp, u64 *sum)
{
	u64 now[KAL_IB_QP_COUNTERS];
	unsigned int i;

	kal_ib_qp_read(qp, now);
	for (i = 0; i < KAL_IB_QP_COUNTERS; i++)
		sum[i] += now[i] - qp->counted[i];
}

static struct kal_ib_counter *kal_ib_counter_get(const struct rdma_counter *counter)
{
	return xa_load(&to_kal_ib_device(counter->device)->counters, counter->id);
}

static int kal_ib_counter_new(struct rdma_counter *counter)
{
	struct kal_ib_device *dev = to_kal_ib_device(counter->device);
	struct kal_ib_counter *own = kzalloc(sizeof(*own), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!own)
		return -ENOMEM;
	INIT_LIST_HEAD(&own->qps);
	ret = xa_alloc(&dev->counters, &counter->id, own, xa_limit_31b, GFP_KERNEL);
	if (ret)
		kfree(own);
	return ret;
}

/* The first QP of a set creates the bridge's part of the set. The rdma_counter's lock is held. */
static int kal_ib_counter_bind(struct rdma_counter *counter, struct ib_qp *base, u32 port)
{
	struct kal_ib_qp *qp = to_kal_ib_qp(base);
	int ret = 0;

	/* a QP that is being destroyed is not bound */
	if (!kal_ib_qp_get(qp))
		return -ENODEV;
	if (!counter->id)
		ret = kal_ib_counter_new(counter);
	if (!ret) {
		kal_ib_qp_read(qp, qp->counted);
		list_add_tail(&qp->counter_node, &kal_ib_counter_get(counter)->qps);
		base->counter = counter;
	}
	kal_ib_qp_put(qp);
	return ret;
}

/* The rdma_counter's lock is held. */
static int kal_ib_counter_unbind(struct ib_qp *base, u32 port)
{
	struct kal_ib_qp *qp = to_kal_ib_qp(base);

	kal_ib_qp_add(qp, kal_ib_counter_get(base->counter)->kept);
	list_del_init(&qp->counter_node);
	base->counter = NULL;
	return 0;
}

static int kal_ib_counter_dealloc(struct rdma_counter *counter)
{
	kfree(xa_erase(&to_kal_ib_device(counter->device)->counters, counter->id));
	return 0;
}

static struct rdma_hw_stats *kal_ib_counter_alloc_stats(struct rdma_counter *counter)
{
	struct kal_ib_device *dev = to_kal_ib_device(counter->device);
	struct rdma_hw_stats *stats;

	stats = rdma_alloc_hw_stats_struct(dev->stat_descs, dev->num_stats,
					   RDMA_HW_STATS_DEFAULT_LIFESPAN);
	if (stats)
		bitmap_set(stats->is_disabled, 0, dev->num_stats - KAL_IB_QP_COUNTERS);
	return stats;
}

/* The rdma_counter's lock is held. */
static int kal_ib_counter_update(struct rdma_counter *counter)
{
	struct kal_ib_device *dev = to_kal_ib_device(counter->device);
	u64 *values = counter->stats->value + dev->num_stats - KAL_IB_QP_COUNTERS;
	struct kal_ib_counter *own = kal_ib_counter_get(counter);
	u64 sum[KAL_IB_QP_COUNTERS];
	struct kal_ib_qp *qp;

	memcpy(sum, own->kept, sizeof(sum));
	list_for_each_entry(qp, &own->qps, counter_node)
		kal_ib_qp_add(qp, sum);
	memcpy(values, sum, sizeof(sum));
	return 0;
}

COMPAT_DEFINE_COUNTER_BIND_QP(kal_ib_counter_bind)
COMPAT_DEFINE_COUNTER_UNBIND_QP(kal_ib_counter_unbind)

const struct ib_device_ops kal_ib_counter_ops = {
	.counter_alloc_stats = kal_ib_counter_alloc_stats,
	COMPAT_COUNTER_BIND_QP(kal_ib_counter_bind),
	.counter_dealloc = kal_ib_counter_dealloc,
	COMPAT_COUNTER_UNBIND_QP(kal_ib_counter_unbind),
	.counter_update_stats = kal_ib_counter_update,
};

/* Unbind a QP that gets no more references. On return no set has the QP. May sleep. */
void kal_ib_counter_forget(struct kal_ib_qp *qp)
{
	struct rdma_counter *counter = qp->base.counter;

	/* ib_core has unbound the QP, unless it was bound again after that */
	if (!counter)
		return;
	guard(mutex)(&counter->lock);
	kal_ib_counter_unbind(&qp->base, qp->base.port);
}
