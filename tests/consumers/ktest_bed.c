// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The environment of a check of the test consumer: a connection with memory on both sides.
 * Each check makes its own, because a refusal ends the connection.
 */
#include <linux/mm.h>

#include "ktest.h"

static bool kt_bed_open(struct kt_bed *bed, unsigned int npages,
			unsigned int srq)
{
	memset(bed, 0, sizeof(*bed));
	if (!KT_EXPECT(!kt_pair_open(&bed->pair, srq)))
		return false;
	return KT_EXPECT(!kt_mem_alloc(&bed->near, bed->pair.client.pd,
				       npages)) &&
	       KT_EXPECT(!kt_mem_alloc(&bed->far, bed->pair.server.pd, npages)) &&
	       KT_EXPECT(!kt_mem_map(&bed->near, 0)) &&
	       KT_EXPECT(!kt_mem_map(&bed->far, 0));
}

static void kt_bed_close(struct kt_bed *bed)
{
	/* the queues are drained before the regions are destroyed */
	if (bed->pair.client.id && !IS_ERR(bed->pair.client.id) &&
	    bed->pair.client.id->qp)
		ib_drain_qp(bed->pair.client.id->qp);
	/* a shared queue can be drained once, and its check does that */
	if (bed->pair.server.id && bed->pair.server.id->qp &&
	    !bed->pair.server.srq)
		ib_drain_qp(bed->pair.server.id->qp);
	kt_mem_free(&bed->near);
	kt_mem_free(&bed->far);
	kt_pair_close(&bed->pair);
}

struct ib_sge kt_sge(const struct kt_mem *mem, u32 len)
{
	return (struct ib_sge){
		.addr = mem->mr->iova,
		.length = len,
		.lkey = mem->mr->lkey,
	};
}

/* The memory of both sides is registered; @access: rights of the target. */
void kt_reg_both(struct kt_bed *bed, int access)
{
	KT_EXPECT(!kt_post_reg(&bed->pair.client, &bed->near,
			       bed->near.mr->lkey, IB_ACCESS_LOCAL_WRITE));
	KT_EXPECT(!kt_post_reg(&bed->pair.server, &bed->far, bed->far.mr->rkey,
			       access));
}

static void kt_run(struct kt_bed *bed, const struct kt_check *check,
		   enum ib_wr_opcode opcode)
{
	unsigned int before = kt_failures;

	if (check->alone) {
		check->alone();
	} else if (kt_bed_open(bed, check->npages ?: KT_PAGES, check->srq)) {
		if (check->run)
			check->run(bed);
		else
			check->both(bed, opcode);
	}
	if (!check->alone)
		kt_bed_close(bed);
	pr_info("ktest: %s: %s\n", check->name,
		kt_failures == before ? "ok" : "FAILED");
}

static void kt_run_some(const struct kt_check *check)
{
	static struct kt_bed bed;

	for (; check->name; check++) {
		kt_run(&bed, check, IB_WR_RDMA_READ);
		if (check->both)
			kt_run(&bed, check, IB_WR_RDMA_WRITE);
	}
}

int kt_run_all(bool large)
{
	if (!large) {
		kt_run_some(kt_frmr_checks);
		kt_run_some(kt_message_checks);
		kt_run_some(kt_queue_checks);
		kt_run_some(kt_cq_checks);
	}
	kt_run_some(kt_large_checks);
	pr_info("ktest: %u failures\n", kt_failures);
	return kt_failures ? -EIO : 0;
}
