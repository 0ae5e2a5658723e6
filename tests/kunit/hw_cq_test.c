// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Completion queues of krdma_hw over a device that the test plays: what is held while queue pairs
 * drain is bounded, keeps its order, and is dropped with its queue pair. Runs only in the kernel.
 */
#include "../../kvp_hw/hw.h"
#include "ktest.h"

/* verbs of ib_core that cq.c calls and these cases do not */
#define __ib_create_cq		bed_create_cq
#define ib_destroy_cq		bed_destroy_cq
#define ib_resize_cq		bed_resize_cq
#define rdma_set_cq_moderation	bed_set_cq_moderation

static struct ib_cq *bed_create_cq(struct ib_device *device, ib_comp_handler handler,
				   void (*event)(struct ib_event *, void *), void *context,
				   const struct ib_cq_init_attr *attr, const char *caller)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static void bed_destroy_cq(struct ib_cq *cq)
{
}

static int bed_resize_cq(struct ib_cq *cq, int cqe)
{
	return -EOPNOTSUPP;
}

static int bed_set_cq_moderation(struct ib_cq *cq, u16 count, u16 period)
{
	return -EOPNOTSUPP;
}

#include "../../kvp_hw/cq.c"

#define DEPTH	40	/* no multiple of a batch */

/**
 * struct cq_bed - a CQ, its device and two queue pairs
 * @hw: RNIC
 * @cq: CQ
 * @ibdev: device
 * @ib: CQ of the device
 * @ib_qp: queue pairs of the device
 * @qp: queue pairs
 * @refs: theirs in the RNIC's table
 * @supply: completions that are in the device or will be, of both queue pairs in turn
 * @taken: completions that were polled; their numbers begin at 1
 * @freed: references that are gone
 */
struct cq_bed {
	struct hw_rnic hw;
	struct hw_cq cq;
	struct ib_device ibdev;
	struct ib_cq ib;
	struct ib_qp ib_qp[2];
	struct hw_qp qp[2];
	struct hw_qp_ref refs[2];
	u64 supply;
	u64 taken;
	unsigned int freed;
};

/* what cq.c calls */

const struct rhashtable_params hw_qp_params = {
	.key_len = sizeof(struct ib_qp *),
	.key_offset = offsetof(struct hw_qp_ref, ib),
	.head_offset = offsetof(struct hw_qp_ref, node),
};

static void bed_ref_release(struct kref *kref)
{
	struct hw_qp_ref *ref = container_of(kref, struct hw_qp_ref, kref);
	const struct hw_cq *cq = ref->send_cq;

	container_of(cq, struct cq_bed, cq)->freed++;
}

void hw_qp_ref_put(struct hw_qp_ref *ref)
{
	kref_put(&ref->kref, bed_ref_release);
}

int hw_reserve(struct list_head *pages, u64 bytes)
{
	return 0;
}

void hw_reserve_release(struct list_head *pages)
{
}

u64 hw_reserve_of_cq(u32 depth)
{
	return 0;
}

void hw_events_init(struct hw_events *events, struct ri_rnic *rnic, struct ri_obj *obj)
{
}

void hw_events_raise(struct hw_events *events, enum ib_event_type event)
{
}

void hw_events_end(struct hw_events *events)
{
}

void ri_completion_event(struct ri_cq *cq)
{
}

static int bed_poll_cq(struct ib_cq *ib, int max, struct ib_wc *wc)
{
	struct cq_bed *bed = container_of(ib, struct cq_bed, ib);
	int n;

	for (n = 0; n < max && bed->taken < bed->supply; n++) {
		wc[n] = (struct ib_wc){ .wr_id = ++bed->taken };
		wc[n].qp = &bed->ib_qp[bed->taken % 2];
	}
	return n;
}

static struct cq_bed *cq_bed_open(struct ktest *test, u64 supply)
{
	struct cq_bed *bed = kunit_kzalloc(test, sizeof(*bed), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, bed);
	KUNIT_ASSERT_EQ(test, rhashtable_init(&bed->hw.qps, &hw_qp_params), 0);
	bed->supply = supply;
	bed->ibdev.ops.poll_cq = bed_poll_cq;
	bed->ib.device = &bed->ibdev;
	bed->cq.ib = &bed->ib;
	bed->cq.ri.obj.rnic = &bed->hw.ri;
	bed->cq.ri.depth = DEPTH;
	spin_lock_init(&bed->cq.lock);
	INIT_LIST_HEAD(&bed->cq.held);
	INIT_WORK(&bed->cq.completion, hw_cq_completion_work);
	mutex_init(&bed->cq.drain);
	for (i = 0; i < 2; i++) {
		bed->refs[i].ib = &bed->ib_qp[i];
		bed->refs[i].qp = &bed->qp[i];
		bed->refs[i].send_cq = &bed->cq;
		bed->refs[i].recv_cq = &bed->cq;
		kref_init(&bed->refs[i].kref);
		KTEST_EQ(test, rhashtable_insert_fast(&bed->hw.qps, &bed->refs[i].node,
						      hw_qp_params), 0);
	}
	return bed;
}

/* As hw_qp_forget() and hw_qp_disown() do. */
static void cq_bed_end_qp(struct cq_bed *bed, unsigned int i)
{
	rhashtable_remove_fast(&bed->hw.qps, &bed->refs[i].node, hw_qp_params);
	scoped_guard(spinlock_irqsave, &bed->cq.lock)
		bed->refs[i].qp = NULL;
	hw_qp_ref_put(&bed->refs[i]);
}

static void cq_bed_close(struct ktest *test, struct cq_bed *bed)
{
	hw_cq_destroy(&bed->cq.ri);
	/* nothing is held that has no owner */
	KTEST_EQ(test, bed->freed, 2);
	rhashtable_destroy(&bed->hw.qps);
}

/* Poll @num completions: they have the numbers from @first on, @step apart. */
static void cq_bed_expect(struct ktest *test, struct cq_bed *bed, u64 first, u64 step,
			  unsigned int num)
{
	struct ib_wc wc;

	for (; num; num--, first += step) {
		KTEST_EQ(test, hw_cq_poll(&bed->cq.ri, 1, &wc), 1);
		KTEST_EQ(test, wc.wr_id, first);
	}
}

/* A program that posts and never polls, while queue pairs of its CQ end. */
static void held_is_bounded(struct ktest *test)
{
	struct cq_bed *bed = cq_bed_open(test, U64_MAX);
	unsigned int i;

	/* the first call finds room for all it takes */
	for (i = 0; i < 100; i++)
		KTEST_EQ(test, hw_cq_hold(&bed->cq), i == 0);
	KTEST_EQ(test, bed->cq.num_held, DEPTH);
	KTEST_EQ(test, bed->taken, DEPTH);
	/* what was polled makes room */
	cq_bed_expect(test, bed, 1, 1, 10);
	KTEST_EQ(test, bed->cq.num_held, DEPTH - 10);
	KTEST_FALSE(test, hw_cq_hold(&bed->cq));
	KTEST_EQ(test, bed->cq.num_held, DEPTH);
	KTEST_EQ(test, bed->taken, DEPTH + 10);
	cq_bed_expect(test, bed, 11, 1, DEPTH);
	KTEST_EQ(test, bed->cq.num_held, 0);
	/* the rest is in the device */
	cq_bed_expect(test, bed, DEPTH + 11, 1, DEPTH);
	cq_bed_end_qp(bed, 0);
	cq_bed_end_qp(bed, 1);
	cq_bed_close(test, bed);
}

/* Few completions at a time share the room of a batch. */
static void held_keeps_order(struct ktest *test)
{
	struct cq_bed *bed = cq_bed_open(test, 0);
	unsigned int i, batches = 0;
	struct list_head *node;

	for (i = 0; i < DEPTH / 2; i++) {
		bed->supply += 2;
		KTEST_EQ(test, hw_cq_hold(&bed->cq), i < DEPTH / 2 - 1);
	}
	list_for_each(node, &bed->cq.held)
		batches++;
	KTEST_EQ(test, batches, DIV_ROUND_UP(DEPTH, HW_POLL_BATCH));
	cq_bed_expect(test, bed, 1, 1, DEPTH);
	cq_bed_end_qp(bed, 0);
	cq_bed_end_qp(bed, 1);
	cq_bed_close(test, bed);
}

/* Those of a queue pair that has ended are passed over, and do not count any more. */
static void held_of_a_queue_pair_that_ends(struct ktest *test)
{
	struct cq_bed *bed = cq_bed_open(test, DEPTH);
	struct ib_wc wc;

	hw_cq_hold(&bed->cq);
	KTEST_EQ(test, bed->cq.num_held, DEPTH);
	cq_bed_end_qp(bed, 0);
	/* the odd ones */
	cq_bed_expect(test, bed, 1, 2, DEPTH / 2);
	KTEST_EQ(test, hw_cq_poll(&bed->cq.ri, 1, &wc), 0);
	KTEST_EQ(test, bed->cq.num_held, 0);
	KTEST_TRUE(test, list_empty(&bed->cq.held));
	KTEST_EQ(test, bed->freed, 1);
	/* what is held still ends with the CQ */
	bed->supply += 4;
	hw_cq_hold(&bed->cq);
	KTEST_EQ(test, bed->cq.num_held, 2);
	cq_bed_end_qp(bed, 1);
	KTEST_EQ(test, bed->freed, 1);
	cq_bed_close(test, bed);
}

static struct ktest_case hw_cq_cases[] = {
	KTEST_CASE(held_is_bounded),
	KTEST_CASE(held_keeps_order),
	KTEST_CASE(held_of_a_queue_pair_that_ends),
	{}
};

KTEST_SUITE(krdma_hw_cq, hw_cq_cases);
