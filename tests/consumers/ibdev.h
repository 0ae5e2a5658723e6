/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* An RDMA device by its name, which the kernel does not look up for modules from 7.0 on. */
#ifndef KRDMA_TESTS_IBDEV_H
#define KRDMA_TESTS_IBDEV_H

#include <linux/string.h>
#include <rdma/ib_verbs.h>

static const char *ibdev_name;
static struct ib_device *ibdev_found;

static int ibdev_add(struct ib_device *device)
{
	if (!strcmp(dev_name(&device->dev), ibdev_name) && ib_device_try_get(device))
		ibdev_found = device;
	return 0;
}

/* Return: the device, until ib_device_put(), or NULL. Context: the module's start. */
static inline struct ib_device *ibdev_get(const char *name)
{
	static struct ib_client client = { .name = KBUILD_MODNAME, .add = ibdev_add };

	ibdev_name = name;
	if (!ib_register_client(&client))
		ib_unregister_client(&client);
	return ibdev_found;
}

#endif
