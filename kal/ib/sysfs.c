// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The ib bridge's files below /sys/class/infiniband/DEVICE. They are those of InfiniBand adapters
 * that monitoring programs read without asking whether they exist. The collector of
 * node_exporter, for example, gives up all devices if one has no board_id or no folder of
 * counters.
 *
 * - hca_type, board_id, hw_rev: what the adapter is
 * - ports/1/counters/port_*: traffic, in the units of InfiniBand. hw_counters has all counters.
 *
 * The files are shown in the network namespace of the device alone. In the rdma subsystem's
 * shared mode that is the initial one.
 */
#include <linux/slab.h>
#include <rdma/ib_sysfs.h>

#include "../core/core.h"
#include "bridge.h"

/* The device **************************************************************** */

static struct ri_rnic *kal_ib_sysfs_rnic(struct device *device)
{
	return rdma_device_to_drv_device(device, struct kal_ib_device, base)->rnic;
}

static ssize_t hca_type_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "krdma\n");
}
static DEVICE_ATTR_RO(hca_type);

static ssize_t board_id_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", module_name(kal_ib_sysfs_rnic(device)->ops->owner));
}
static DEVICE_ATTR_RO(board_id);

static ssize_t hw_rev_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%x\n", kal_ib_sysfs_rnic(device)->attr.hw_version);
}
static DEVICE_ATTR_RO(hw_rev);

static struct attribute *kal_ib_device_attrs[] = {
	&dev_attr_hca_type.attr,
	&dev_attr_board_id.attr,
	&dev_attr_hw_rev.attr,
	NULL,
};

static const struct attribute_group kal_ib_device_group = {
	.attrs = kal_ib_device_attrs,
};

/* The port ****************************************************************** */

/**
 * struct kal_ib_port_counter - a file of the port's folder of counters
 * @attr: file
 * @name: counter of the provider whose value it shows
 * @unit: bytes or packets that 1 in the file stands for
 */
struct kal_ib_port_counter {
	struct ib_port_attribute attr;
	const char *name;
	unsigned int unit;
};

/* Return: the index of the provider's counter, or -ENOENT. */
static int kal_ib_port_counter_index(const struct ri_rnic *rnic, const char *name)
{
	const struct ri_rnic_attr *attr = &rnic->attr;

	for (unsigned int i = 0; i < attr->num_counters; i++) {
		if (!strcmp(attr->counter_names[i], name))
			return i;
	}
	return -ENOENT;
}

static ssize_t kal_ib_port_counter_show(struct ib_device *base, u32 port,
					struct ib_port_attribute *attr, char *buf)
{
	const struct kal_ib_port_counter *counter =
		container_of_const(attr, struct kal_ib_port_counter, attr);
	struct ri_rnic *rnic = to_kal_ib_device(base)->rnic;
	int index = kal_ib_port_counter_index(rnic, counter->name);
	u64 *values;
	int len;

	if (index < 0)
		return index;
	values = kcalloc(rnic->attr.num_counters, sizeof(*values), GFP_KERNEL);
	if (!values)
		return -ENOMEM;
	rnic->ops->query_counters(rnic, values);
	len = sysfs_emit(buf, "%llu\n", div_u64(values[index], counter->unit));
	kfree(values);
	return len;
}

#define KAL_IB_PORT_COUNTER(file_, name_, unit_)						\
	static struct kal_ib_port_counter kal_ib_counter_##file_ = {				\
		.attr = __ATTR(file_, 0444, kal_ib_port_counter_show, NULL),			\
		.name = name_,									\
		.unit = unit_,									\
	}

/* InfiniBand counts data in words of four bytes */
KAL_IB_PORT_COUNTER(port_xmit_data, "tx_bytes", 4);
KAL_IB_PORT_COUNTER(port_rcv_data, "rx_bytes", 4);
KAL_IB_PORT_COUNTER(port_xmit_packets, "tx_fpdus", 1);
KAL_IB_PORT_COUNTER(port_rcv_packets, "rx_fpdus", 1);

static struct attribute *kal_ib_port_attrs[] = {
	&kal_ib_counter_port_xmit_data.attr.attr,
	&kal_ib_counter_port_rcv_data.attr.attr,
	&kal_ib_counter_port_xmit_packets.attr.attr,
	&kal_ib_counter_port_rcv_packets.attr.attr,
	NULL,
};

/* A provider need not have all of these counters. */
static umode_t kal_ib_port_attr_visible(struct kobject *kobj, struct attribute *attr, int n)
{
	const struct kal_ib_port_counter *counter =
		container_of(attr, struct kal_ib_port_counter, attr.attr);
	u32 port;
	struct ib_device *base = ib_port_sysfs_get_ibdev_kobj(kobj, &port);

	return kal_ib_port_counter_index(to_kal_ib_device(base)->rnic, counter->name) < 0 ?
	       0 : attr->mode;
}

static const struct attribute_group kal_ib_port_group = {
	.name = "counters",
	.attrs = kal_ib_port_attrs,
	.is_visible = kal_ib_port_attr_visible,
};

static const struct attribute_group *kal_ib_port_attr_groups[] = {
	&kal_ib_port_group,
	NULL,
};

const struct ib_device_ops kal_ib_sysfs_ops = {
	.device_group = &kal_ib_device_group,
	.port_groups = kal_ib_port_attr_groups,
};
