// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Checks of a kernel consumer's completion queues: new sizes, overflow, the CPU on which
 * events of a completion vector are raised, and moderation. The completions are receives that
 * a queue pair in the error state flushes, so no connection is needed.
 */
#include <linux/cpumask.h>
#include <linux/preempt.h>

#include "ktest.h"

#define KT_PERIOD	60000	/* microseconds for which moderation delays an event */

/**
 * struct kt_queue - a completion queue and the thread that fills it
 * @pd: of @qp
 * @cq: completion queue
 * @qp: without a connection, so that what is posted completes in error
 * @event: there was a completion event
 * @cpu: where the last one was raised
 * @when: and when
 * @errors: IB_EVENT_CQ_ERR so far
 * @next: wr_id of the next completion
 */
struct kt_queue {
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;
	struct completion event;
	int cpu;
	ktime_t when;
	unsigned int errors;
	u64 next;
};

static void kt_queue_event(struct ib_cq *cq, void *context)
{
	struct kt_queue *q = context;

	/* softirqs must be off, so that a post does not send here: the socket may be locked */
	KT_EXPECT(softirq_count());
	q->cpu = raw_smp_processor_id();
	q->when = ktime_get();
	complete(&q->event);
}

static void kt_queue_error(struct ib_event *event, void *context)
{
	struct kt_queue *q = context;

	KT_EXPECT(softirq_count());
	if (event->event == IB_EVENT_CQ_ERR && event->element.cq == q->cq)
		q->errors++;
}

static void kt_queue_close(struct kt_queue *q)
{
	if (!IS_ERR_OR_NULL(q->qp))
		KT_EXPECT(!ib_destroy_qp(q->qp));
	if (!IS_ERR_OR_NULL(q->cq))
		ib_destroy_cq(q->cq);
	if (!IS_ERR_OR_NULL(q->pd))
		ib_dealloc_pd(q->pd);
}

/* Create the queue with @cqe entries and that completion vector. */
static bool kt_queue_open(struct kt_queue *q, u32 cqe, u32 vector)
{
	const struct ib_cq_init_attr attr = { .cqe = cqe, .comp_vector = vector };
	struct ib_qp_init_attr qp_attr = {
		.cap = { .max_recv_wr = 16, .max_recv_sge = 1 },
		.qp_type = IB_QPT_RC,
	};
	struct ib_qp_attr error = { .qp_state = IB_QPS_ERR };

	memset(q, 0, sizeof(*q));
	init_completion(&q->event);
	q->pd = ib_alloc_pd(kt_device(), 0);
	if (!KT_EXPECT(!IS_ERR(q->pd)))
		return false;
	q->cq = ib_create_cq(kt_device(), kt_queue_event, kt_queue_error, q, &attr);
	if (!KT_EXPECT(!IS_ERR(q->cq)))
		return false;
	qp_attr.send_cq = q->cq;
	qp_attr.recv_cq = q->cq;
	q->qp = ib_create_qp(q->pd, &qp_attr);
	return KT_EXPECT(!IS_ERR(q->qp)) &&
	       KT_EXPECT(!ib_modify_qp(q->qp, &error, IB_QP_STATE));
}

/* Post @n receives at once: they complete together and so raise one event. */
static void kt_queue_add(struct kt_queue *q, u64 first, unsigned int n)
{
	struct ib_recv_wr wr[16] = {};
	unsigned int i;

	for (i = 0; i < n; i++) {
		wr[i].wr_id = first + i;
		wr[i].next = i + 1 < n ? &wr[i + 1] : NULL;
	}
	KT_EXPECT(!ib_post_recv(q->qp, wr, NULL));
}

static void kt_queue_arm(struct kt_queue *q)
{
	reinit_completion(&q->event);
	KT_EXPECT(ib_req_notify_cq(q->cq, IB_CQ_NEXT_COMP) == 0);
}

static bool kt_queue_wait(struct kt_queue *q)
{
	return wait_for_completion_timeout(&q->event, KT_PATIENCE);
}

/* On return @n completions wait. */
static void kt_queue_fill(struct kt_queue *q, u64 first, unsigned int n)
{
	kt_queue_arm(q);
	kt_queue_add(q, first, n);
	KT_EXPECT(kt_queue_wait(q));
}

/* Exactly that many flushed completions must wait, in order. */
static void kt_queue_take(struct kt_queue *q, unsigned int n)
{
	struct ib_wc wc;

	for (; n; n--) {
		if (!KT_EXPECT(ib_poll_cq(q->cq, 1, &wc) == 1))
			return;
		KT_EXPECT(wc.status == IB_WC_WR_FLUSH_ERR && wc.qp == q->qp &&
			  wc.wr_id == q->next);
		q->next = wc.wr_id + 1;
	}
	KT_EXPECT(ib_poll_cq(q->cq, 1, &wc) == 0);
}

static void kt_cq_sizes(void)
{
	struct kt_queue q;

	if (!kt_queue_open(&q, 8, 0))
		goto out;
	KT_EXPECT(q.cq->cqe == 8);
	if (!KT_RESIZES)
		goto out;
	kt_queue_fill(&q, 0, 6);
	KT_EXPECT(!ib_resize_cq(q.cq, 20) && q.cq->cqe == 32);
	KT_EXPECT(ib_resize_cq(q.cq, 4) == -EINVAL);
	KT_EXPECT(ib_resize_cq(q.cq, 0) == -EINVAL);
	KT_EXPECT(ib_resize_cq(q.cq, kt_device()->attrs.max_cqe + 1) == -EINVAL);
	KT_EXPECT(q.cq->cqe == 32);
	KT_EXPECT(!ib_resize_cq(q.cq, 6) && q.cq->cqe == 8);
	kt_queue_take(&q, 6);
	/* also across the end of the ring, with an armed queue */
	kt_queue_fill(&q, 6, 7);
	KT_EXPECT(ib_req_notify_cq(q.cq, IB_CQ_NEXT_COMP |
						 IB_CQ_REPORT_MISSED_EVENTS) > 0);
	reinit_completion(&q.event);
	KT_EXPECT(!ib_resize_cq(q.cq, 16));
	kt_queue_add(&q, 13, 9);
	KT_EXPECT(kt_queue_wait(&q));
	kt_queue_take(&q, 16);
	KT_EXPECT(ib_req_notify_cq(q.cq, IB_CQ_NEXT_COMP |
						 IB_CQ_REPORT_MISSED_EVENTS) == 0);
	KT_EXPECT(!q.errors);
out:
	kt_queue_close(&q);
}

/* Completions without room are lost, and one event reports that. */
static void kt_cq_overflow(void)
{
	struct kt_queue q;

	if (!kt_queue_open(&q, 4, 0))
		goto out;
	kt_queue_fill(&q, 0, 8);
	kt_queue_take(&q, 4);
	/* the queue pair is gone, so all events were reported */
	KT_EXPECT(!ib_destroy_qp(q.qp));
	q.qp = NULL;
	KT_EXPECT(q.errors == 1);
out:
	kt_queue_close(&q);
}

/* Events of vector 0 are raised on any CPU. */
static void kt_cq_vectors(void)
{
	struct ib_device *dev = kt_device();
	const struct ib_cq_init_attr none = {
		.cqe = 4,
		.comp_vector = dev->num_comp_vectors,
	};
	struct kt_queue q;
	int vector, i;

	KT_EXPECT(PTR_ERR(ib_create_cq(dev, NULL, NULL, NULL, &none)) == -EINVAL);
	for (vector = 0; vector < dev->num_comp_vectors; vector++) {
		if (kt_queue_open(&q, 4, vector)) {
			for (i = 0; i < 20; i++) {
				kt_queue_fill(&q, i, 1);
				KT_EXPECT(!vector || !cpu_online(vector) ||
					  q.cpu == vector);
				kt_queue_take(&q, 1);
			}
		}
		kt_queue_close(&q);
	}
}

/* The time between @n completions and their event. */
static s64 kt_queue_delay(struct kt_queue *q, unsigned int n)
{
	ktime_t begin = ktime_get();

	kt_queue_fill(q, q->next, n);
	kt_queue_take(q, n);
	return ktime_us_delta(q->when, begin);
}

static void kt_cq_moderation(void)
{
	struct kt_queue q;
	int i;

	if (!kt_queue_open(&q, 16, 0))
		goto out;
	KT_EXPECT(!rdma_set_cq_moderation(q.cq, 5, KT_PERIOD));
	/* fewer completions than the count wait for the period */
	KT_EXPECT(kt_queue_delay(&q, 2) >= KT_PERIOD);
	/* that many do not wait; the machine may be late, but not every time */
	for (i = 0; i < 20; i++)
		if (kt_queue_delay(&q, 5) < KT_PERIOD)
			break;
	KT_EXPECT(i < 20);
	/* a delayed event comes when moderation ends */
	KT_EXPECT(!rdma_set_cq_moderation(q.cq, 1000, U16_MAX));
	kt_queue_arm(&q);
	kt_queue_add(&q, q.next, 1);
	KT_EXPECT(!rdma_set_cq_moderation(q.cq, 0, 0));
	KT_EXPECT(kt_queue_wait(&q));
	kt_queue_take(&q, 1);
out:
	kt_queue_close(&q);
}

const struct kt_check kt_cq_checks[] = {
	{ "CQ of another size", .alone = kt_cq_sizes },
	{ "CQ that overflows", .alone = kt_cq_overflow },
	{ "completion vectors", .alone = kt_cq_vectors },
	{ "moderation", .alone = kt_cq_moderation },
	{}
};
