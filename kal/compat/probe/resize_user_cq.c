// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <rdma/ib_verbs.h>

int probe(const struct ib_device_ops *ops, struct ib_cq *cq);
int probe(const struct ib_device_ops *ops, struct ib_cq *cq)
{
	return ops->resize_user_cq(cq, 1, NULL);
}
