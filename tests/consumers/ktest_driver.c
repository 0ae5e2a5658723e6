// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Makes an RDMA device look like one of a driver that krdma_hw does not know, until this module is
 * removed. The device must not be adopted meanwhile by anything that looks at the driver.
 */
#include <linux/module.h>
#include <rdma/ib_verbs.h>

#include "ibdev.h"

static char *device = "siw0";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "name of the RDMA device");

static struct ib_device *driver_of;
static enum rdma_driver_id driver_before;

static int __init ktest_driver_init(void)
{
	driver_of = ibdev_get(device);
	if (!driver_of)
		return -ENODEV;
	driver_before = driver_of->ops.driver_id;
	driver_of->ops.driver_id = RDMA_DRIVER_UNKNOWN;
	return 0;
}

static void __exit ktest_driver_exit(void)
{
	driver_of->ops.driver_id = driver_before;
	ib_device_put(driver_of);
}

module_init(ktest_driver_init);
module_exit(ktest_driver_exit);

MODULE_DESCRIPTION("test: an RDMA device of a driver that krdma_hw does not know");
MODULE_LICENSE("Dual MIT/GPL");
