// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <rdma/ib_verbs.h>

typedef int (*probe_fn)(struct ib_cq *cq, const struct ib_cq_init_attr *attr,
			struct uverbs_attr_bundle *attrs);

probe_fn probe(const struct ib_device_ops *ops);
probe_fn probe(const struct ib_device_ops *ops)
{
	return ops->create_cq;
}
