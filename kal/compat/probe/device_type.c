// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <rdma/ib_verbs.h>

bool probe(const struct ib_device *dev);
bool probe(const struct ib_device *dev)
{
	return dev->type == RDMA_DEVICE_TYPE_SMI;
}
