// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * An RDMA device whose completion queues return nothing while this module is loaded, as those of
 * a device that has hung. For the time limits of queue pairs that are destroyed.
 */
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <rdma/ib_verbs.h>

#include "ibdev.h"

static char *stall_device;
module_param_named(device, stall_device, charp, 0444);
MODULE_PARM_DESC(device, "name of the device");

static int (*stall_poll_cq)(struct ib_cq *cq, int num, struct ib_wc *wc);
static struct ib_device *stall_ibdev;

static int stall_poll(struct ib_cq *cq, int num, struct ib_wc *wc)
{
	return 0;
}

static int __init stall_init(void)
{
	if (!stall_device)
		return -EINVAL;
	stall_ibdev = ibdev_get(stall_device);
	if (!stall_ibdev)
		return -ENODEV;
	stall_poll_cq = stall_ibdev->ops.poll_cq;
	WRITE_ONCE(stall_ibdev->ops.poll_cq, stall_poll);
	return 0;
}

static void __exit stall_exit(void)
{
	WRITE_ONCE(stall_ibdev->ops.poll_cq, stall_poll_cq);
	/* polls run with interrupts off */
	synchronize_rcu();
	ib_device_put(stall_ibdev);
}

module_init(stall_init);
module_exit(stall_exit);
MODULE_DESCRIPTION("device whose completion queues return nothing, for tests");
MODULE_LICENSE("Dual MIT/GPL");
