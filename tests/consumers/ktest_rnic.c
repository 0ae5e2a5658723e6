// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Checks of the refusals of ri_register_rnic(): RNICs with wrong attributes or tables, and
 * RNICs that need functions that krdma.ko does not have. None of their functions is called.
 */
#include <linux/module.h>
#include <linux/netdevice.h>
#include <krdma/rnicpi.h>

#include "ktest.h"

static int never(void)
{
	WARN_ON_ONCE(1);
	return -EIO;
}

#define NEVER ((void *)never)

static const struct ri_ops rnic_ops = {
	.owner = THIS_MODULE,
	.size_ucontext = sizeof(struct ri_ucontext),
	.size_pd = sizeof(struct ri_pd),
	.size_cq = sizeof(struct ri_cq),
	.size_qp = sizeof(struct ri_qp),
	.size_mr = sizeof(struct ri_mr),
	.cq_create = NEVER,
	.cq_destroy = NEVER,
	.cq_poll = NEVER,
	.cq_req_notify = NEVER,
	.qp_create = NEVER,
	.qp_query = NEVER,
	.qp_modify = NEVER,
	.qp_destroy = NEVER,
	.post_send = NEVER,
	.post_recv = NEVER,
	.mr_register = NEVER,
	.mr_deregister = NEVER,
};

void kt_check_register(struct net_device *ndev)
{
	struct ri_rnic *rnic = _ri_rnic_alloc(&rnic_ops, sizeof(*rnic));

	if (!KT_EXPECT(rnic))
		return;
	rnic->attr.num_ceh = 1;
	rnic->attr.limits.max_qp = 1;
	rnic->attr.limits.max_cqe = 1;
	rnic->attr.limits.max_mr = 1;
	rnic->attr.caps = RI_CAP_LLP_OFFLOAD;
	/* invalid attributes are reported first */
	KT_EXPECT(ri_register_rnic(rnic, "ktest%d") == -EINVAL);
	rnic->attr.netdev = ndev;
	KT_EXPECT(ri_register_rnic(rnic, "ktest/%d") == -EINVAL);
	/* connections of its own, without the operations for them */
	KT_EXPECT(ri_register_rnic(rnic, "ktest%d") == -EINVAL);
	/* SRQs without their functions */
	rnic->attr.caps = RI_CAP_SRQ;
	KT_EXPECT(ri_register_rnic(rnic, "ktest%d") == -EINVAL);
	ri_rnic_put(rnic);
}
