// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Checks of a kernel consumer's completion queue of the largest size. The kernel handles such
 * a queue in steps. The checks purge and resize it while completions are added and others are
 * taken. The completions are receives that queue pairs in the error state flush.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/mutex.h>

#include "ktest.h"

#define KT_LARGE_LIST	256	/* receives that are posted at once */
#define KT_LARGE_QPS	2

/**
 * struct kt_large - the queue, and the threads that fill and empty it
 * @pd: of @qp
 * @cq: completion queue
 * @qp: without connections
 * @lock: protects the following
 * @posted: receives of each
 * @taken: completions of each
 * @gone: this one was destroyed, and none of its completions may be left
 */
struct kt_large {
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp[KT_LARGE_QPS];
	struct mutex lock;
	u64 posted[KT_LARGE_QPS];
	u64 taken[KT_LARGE_QPS];
	struct ib_qp *gone;
};

static void kt_large_close(struct kt_large *large)
{
	int i;

	for (i = 0; i < KT_LARGE_QPS; i++)
		if (!IS_ERR_OR_NULL(large->qp[i]))
			KT_EXPECT(!ib_destroy_qp(large->qp[i]));
	if (!IS_ERR_OR_NULL(large->cq))
		ib_destroy_cq(large->cq);
	if (!IS_ERR_OR_NULL(large->pd))
		ib_dealloc_pd(large->pd);
}

static bool kt_large_open(struct kt_large *large)
{
	const struct ib_device_attr *limits = &kt_device()->attrs;
	const struct ib_cq_init_attr attr = { .cqe = limits->max_cqe };
	struct ib_qp_init_attr qp_attr = {
		.cap = { .max_recv_wr = limits->max_qp_wr, .max_recv_sge = 1 },
		.qp_type = IB_QPT_RC,
	};
	struct ib_qp_attr error = { .qp_state = IB_QPS_ERR };
	int i;

	memset(large, 0, sizeof(*large));
	mutex_init(&large->lock);
	large->pd = ib_alloc_pd(kt_device(), 0);
	if (!KT_EXPECT(!IS_ERR(large->pd)))
		return false;
	large->cq = ib_create_cq(kt_device(), NULL, NULL, NULL, &attr);
	if (!KT_EXPECT(!IS_ERR(large->cq)))
		return false;
	qp_attr.send_cq = large->cq;
	qp_attr.recv_cq = large->cq;
	for (i = 0; i < KT_LARGE_QPS; i++) {
		large->qp[i] = ib_create_qp(large->pd, &qp_attr);
		if (!KT_EXPECT(!IS_ERR(large->qp[i])) ||
		    !KT_EXPECT(!ib_modify_qp(large->qp[i], &error, IB_QP_STATE)))
			return false;
	}
	return true;
}

/* Post @n receives on each queue pair that is there. */
static void kt_large_post(struct kt_large *large, unsigned int n)
{
	static struct ib_recv_wr wr[KT_LARGE_LIST];
	const struct ib_recv_wr *next, *bad;
	unsigned long end = jiffies + KT_PATIENCE;
	unsigned int i, q;

	for (; n; n -= KT_LARGE_LIST) {
		for (q = 0; q < KT_LARGE_QPS; q++) {
			if (!large->qp[q])
				continue;
			for (i = 0; i < KT_LARGE_LIST; i++) {
				wr[i].wr_id = large->posted[q]++;
				wr[i].next = i + 1 < KT_LARGE_LIST ? &wr[i + 1] : NULL;
			}
			/* the RNIC's worker flushes a full queue */
			for (next = wr; ib_post_recv(large->qp[q], next, &bad); next = bad) {
				if (!KT_EXPECT(time_before(jiffies, end)))
					return;
				usleep_range(100, 1000);
			}
		}
	}
}

/* Take some completions; those of each queue pair come in order. */
static void kt_large_take(struct kt_large *large)
{
	struct ib_wc wc[16];
	int i, n, q;

	mutex_lock(&large->lock);
	n = ib_poll_cq(large->cq, ARRAY_SIZE(wc), wc);
	for (i = 0; i < n; i++) {
		KT_EXPECT(!large->gone || wc[i].qp != large->gone);
		for (q = 0; q < KT_LARGE_QPS - 1 && wc[i].qp != large->qp[q]; q++)
			;
		KT_EXPECT(wc[i].status == IB_WC_WR_FLUSH_ERR &&
			  wc[i].wr_id == large->taken[q]++);
	}
	mutex_unlock(&large->lock);
}

static int kt_large_taker(void *arg)
{
	struct kt_large *large = arg;

	while (!kthread_should_stop()) {
		kt_large_take(large);
		/* slowly, so that there are completions to purge */
		usleep_range(500, 1000);
	}
	return 0;
}

/* Destroy the first queue pair while completions of both wait and are taken. */
static void kt_large_destroy_first(struct kt_large *large)
{
	struct ib_qp *first = large->qp[0];

	KT_EXPECT(!ib_destroy_qp(first));
	/* from now on wc.qp is not used */
	mutex_lock(&large->lock);
	large->gone = first;
	large->qp[0] = NULL;
	mutex_unlock(&large->lock);
}

static void kt_large_purged(void)
{
	const unsigned int many = kt_device()->attrs.max_qp_wr;
	const unsigned int sizes[] = { kt_device()->attrs.max_cqe / 2,
				       kt_device()->attrs.max_cqe };
	unsigned long end = jiffies + KT_PATIENCE;
	struct task_struct *taker;
	struct kt_large large;
	unsigned int i;

	if (!kt_large_open(&large))
		goto out;
	kt_large_post(&large, 2 * many);
	taker = kthread_run(kt_large_taker, &large, "kt_large_taker");
	if (!KT_EXPECT(!IS_ERR(taker)))
		goto out;
	for (i = 0; i < 4; i++) {
		kt_large_post(&large, many / 8);
		KT_EXPECT(!KT_RESIZES || !ib_resize_cq(large.cq, sizes[i % ARRAY_SIZE(sizes)]));
	}
	kt_large_destroy_first(&large);
	kt_large_post(&large, many / 8);
	KT_EXPECT(!kthread_stop(taker));
	while (large.taken[1] != large.posted[1] && time_before(jiffies, end)) {
		kt_large_take(&large);
		cond_resched();
	}
	KT_EXPECT(large.taken[1] == large.posted[1]);
	KT_EXPECT(large.taken[0] < large.posted[0]);
out:
	kt_large_close(&large);
}

const struct kt_check kt_large_checks[] = {
	{ "largest CQ, resized and purged", .alone = kt_large_purged },
	{}
};
