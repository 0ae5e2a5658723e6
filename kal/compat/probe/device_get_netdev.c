// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <rdma/ib_verbs.h>

struct net_device *probe(struct ib_device *dev);
struct net_device *probe(struct ib_device *dev)
{
	return ib_device_get_netdev(dev, 1);
}
