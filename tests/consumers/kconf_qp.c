// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Checks of the conformance test: queue pairs and shared receive queues without a connection.
 */
#include <linux/workqueue.h>

#include "kconf.h"

/* Creation ****************************************************************** */

static struct ri_qp *kconf_qp_try(struct kconf_side *side, const struct ib_qp_cap *cap,
				  enum ib_qp_type type)
{
	struct ri_qp_init_attr attr = {
		.send_cq = side->scq,
		.recv_cq = side->rcq,
		.cap = *cap,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = type,
	};

	return kal_qp_create(side->pd, &attr, NULL, NULL, NULL, NULL);
}

/* Return: the error of creation, 0 if the queue pair was created; it is destroyed. */
static int kconf_qp_error(struct kconf_side *side, const struct ib_qp_cap *cap,
			  enum ib_qp_type type)
{
	struct ri_qp *qp = kconf_qp_try(side, cap, type);

	if (IS_ERR(qp))
		return PTR_ERR(qp);
	return kal_qp_destroy(qp);
}

static void kconf_qp_granted(struct ri_qp *qp, const struct ib_qp_cap *asked)
{
	struct ri_qp_init_attr init = {};
	struct ib_qp_attr attr = {};

	KCONF_EXPECT(!kal_qp_query(qp, &attr, IB_QP_CAP | IB_QP_STATE, &init));
	KCONF_EXPECT(init.cap.max_send_wr >= asked->max_send_wr);
	KCONF_EXPECT(init.cap.max_recv_wr >= asked->max_recv_wr);
	KCONF_EXPECT(init.cap.max_send_sge >= asked->max_send_sge);
	KCONF_EXPECT(init.cap.max_recv_sge >= asked->max_recv_sge);
	KCONF_EXPECT(init.cap.max_inline_data >= asked->max_inline_data);
	KCONF_EXPECT(attr.cap.max_send_wr == init.cap.max_send_wr &&
		     attr.cap.max_recv_wr == init.cap.max_recv_wr);
	KCONF_EXPECT(init.qp_type == IB_QPT_RC && init.sq_sig_type == IB_SIGNAL_REQ_WR);
	KCONF_EXPECT(attr.qp_state == IB_QPS_INIT);
}

static void kconf_qp_caps(void)
{
	const struct ib_device_attr *limits = &kconf.rnic->attr.limits;
	const struct ib_qp_cap caps[] = {
		{ 1, 1, 1, 1, 0 },
		{ 33, 17, 2, 2, kconf.rnic->attr.max_inline },
		{ 100, 0, limits->max_send_sge, 0, 0 },
		{ 7, 100, 1, limits->max_recv_sge, min(kconf.rnic->attr.max_inline, 16U) },
		{ limits->max_qp_wr, limits->max_qp_wr, 1, 1, 0 },
	};
	struct kconf_side *side = &kconf_bed.client[0];
	struct ri_qp *qp;
	unsigned int i;

	if (!kconf_side_open(side, NULL))
		return;
	for (i = 0; i < ARRAY_SIZE(caps); i++) {
		qp = kconf_qp_try(side, &caps[i], IB_QPT_RC);
		if (!KCONF_EXPECT(!IS_ERR(qp)))
			continue;
		kconf_qp_granted(qp, &caps[i]);
		KCONF_EXPECT(!kal_qp_destroy(qp));
	}
}

static void kconf_qp_refused(void)
{
	const struct ib_device_attr *limits = &kconf.rnic->attr.limits;
	struct kconf_side *side = &kconf_bed.client[0];
	const struct ib_qp_cap usual = { 1, 1, 1, 1, 0 };
	const struct ib_qp_cap too_large[] = {
		{ limits->max_qp_wr + 1, 1, 1, 1, 0 },
		{ 1, limits->max_qp_wr + 1, 1, 1, 0 },
		{ 1, 1, limits->max_send_sge + 1, 1, 0 },
		{ 1, 1, 1, limits->max_recv_sge + 1, 0 },
		{ 1, 1, 1, 1, kconf.rnic->attr.max_inline + 1 },
	};
	unsigned int i;

	if (!kconf_side_open(side, NULL))
		return;
	for (i = 0; i < ARRAY_SIZE(too_large); i++)
		KCONF_EXPECT(kconf_qp_error(side, &too_large[i], IB_QPT_RC) == -EINVAL);
	KCONF_EXPECT(kconf_qp_error(side, &usual, IB_QPT_UD) == -EOPNOTSUPP);
	KCONF_EXPECT(kconf_qp_error(side, &usual, IB_QPT_UC) == -EOPNOTSUPP);
	KCONF_EXPECT(kconf_qp_error(side, &usual, IB_QPT_GSI) == -EOPNOTSUPP);
}

/* States ******************************************************************** */

static int kconf_qp_to(struct kconf_side *side, enum ib_qp_state state, int mask)
{
	struct ib_qp_attr attr = { .qp_state = state };

	return kal_qp_modify(side->qp, &attr, IB_QP_STATE | mask);
}

static bool kconf_qp_is_idle(struct kconf_side *side)
{
	const enum ib_qp_state state = kconf_state(side);

	return state == IB_QPS_RESET || state == IB_QPS_INIT;
}

static void kconf_qp_states(void)
{
	const int path = IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN;
	struct kconf_side *side = &kconf_bed.client[0];

	if (!kconf_side_open(side, NULL))
		return;
	KCONF_EXPECT(kconf_state(side) == IB_QPS_INIT);
	KCONF_EXPECT(!kconf_qp_to(side, IB_QPS_INIT, 0));
	KCONF_EXPECT(kconf_qp_to(side, IB_QPS_RTR, path) == -EINVAL);
	KCONF_EXPECT(kconf_qp_to(side, IB_QPS_RTS, 0) == -EINVAL);
	KCONF_EXPECT(kconf_qp_to(side, IB_QPS_SQE, 0) == -EINVAL);
	KCONF_EXPECT(kconf_qp_to(side, IB_QPS_INIT, IB_QP_QKEY) == -EINVAL);
	KCONF_EXPECT(kconf_state(side) == IB_QPS_INIT);

	KCONF_EXPECT(!kconf_qp_to(side, IB_QPS_ERR, 0));
	KCONF_EXPECT(kconf_state(side) == IB_QPS_ERR);
	KCONF_EXPECT(!kconf_qp_to(side, IB_QPS_ERR, 0));
	KCONF_EXPECT(kconf_qp_to(side, IB_QPS_RTS, 0) == -EINVAL);
	/* only by a reset */
	KCONF_EXPECT(kconf_qp_to(side, IB_QPS_INIT, 0) == -EINVAL);
}

/* From the error state back to the beginning, and a connection from there. */
static void kconf_qp_reset(void)
{
	struct kconf_side *client = &kconf_bed.client[0];
	struct kconf_side *server = &kconf_bed.server[0];

	if (!kconf_side_open(client, NULL) || !kconf_side_open(server, NULL))
		return;
	KCONF_EXPECT(!kconf_qp_to(client, IB_QPS_ERR, 0));
	if (!KCONF_EXPECT(!kconf_qp_to(client, IB_QPS_RESET, 0)))
		return;
	KCONF_EXPECT(kconf_qp_is_idle(client));
	KCONF_EXPECT(!kconf_qp_to(client, IB_QPS_INIT, 0));
	KCONF_EXPECT(kconf_state(client) == IB_QPS_INIT);
	KCONF_EXPECT(!kconf_listen(&server->end));
	KCONF_EXPECT(!kconf_connect(client, NULL, 0));
	KCONF_EXPECT(!kconf_accept(server, NULL, 0));
	KCONF_EXPECT(!kconf_end_status(&client->end, KAL_EP_CONN_REPLY));
	KCONF_EXPECT(!kconf_end_status(&server->end, KAL_EP_ESTABLISHED));
	KCONF_EXPECT(kconf_state(client) == IB_QPS_RTS);
}

/* Two of them at once: one may be refused, and neither waits for the other. */
static struct kconf_qp_resetter {
	struct work_struct work;
	int ret;
} kconf_qp_resetters[2];

static void kconf_qp_reset_work(struct work_struct *work)
{
	container_of(work, struct kconf_qp_resetter, work)->ret =
		kconf_qp_to(&kconf_bed.client[0], IB_QPS_RESET, 0);
}

static void kconf_qp_resets(void)
{
	struct kconf_side *side = &kconf_bed.client[0];
	const int *a = &kconf_qp_resetters[0].ret, *b = &kconf_qp_resetters[1].ret;
	unsigned int round, i;

	if (!kconf_side_open(side, NULL) || !KCONF_EXPECT(!kconf_qp_to(side, IB_QPS_ERR, 0)))
		return;
	if (kconf_qp_to(side, IB_QPS_RESET, 0) == -EOPNOTSUPP) {
		kconf.missing = true;
		return;
	}
	for (round = 0; round < 50; round++) {
		KCONF_EXPECT(!kconf_qp_to(side, IB_QPS_INIT, 0));
		for (i = 0; i < KCONF_QUEUE / 2; i++)
			KCONF_EXPECT(!kconf_post_recv(side, i, 0, 0));
		KCONF_EXPECT(!kconf_qp_to(side, IB_QPS_ERR, 0));
		for (i = 0; i < 2; i++) {
			INIT_WORK(&kconf_qp_resetters[i].work, kconf_qp_reset_work);
			queue_work(system_unbound_wq, &kconf_qp_resetters[i].work);
		}
		for (i = 0; i < 2; i++)
			flush_work(&kconf_qp_resetters[i].work);
		KCONF_EXPECT((!*a || !*b) && (!*a || *a == -EBUSY) && (!*b || *b == -EBUSY));
		KCONF_EXPECT(kconf_qp_is_idle(side));
	}
}

static void kconf_qp_access(void)
{
	struct kconf_side *side = &kconf_bed.client[0];
	struct ri_qp_init_attr init = {};
	struct ib_qp_attr attr = { .qp_access_flags = IB_ACCESS_REMOTE_READ };

	if (!kconf_side_open(side, NULL))
		return;
	KCONF_EXPECT(!kal_qp_modify(side->qp, &attr, IB_QP_ACCESS_FLAGS));
	KCONF_EXPECT(!kal_qp_query(side->qp, &attr, IB_QP_ACCESS_FLAGS, &init));
	KCONF_EXPECT(attr.qp_access_flags == IB_ACCESS_REMOTE_READ);
}

/* Receives of a queue pair that never had a connection are destroyed with it. */
static void kconf_qp_destroyed(void)
{
	struct kconf_side *side = &kconf_bed.client[0];
	unsigned int i;

	if (!kconf_side_open(side, NULL))
		return;
	for (i = 0; i < KCONF_QUEUE; i++)
		KCONF_EXPECT(!kconf_post_recv(side, i, 0, 0));
	KCONF_EXPECT(!kal_qp_destroy(side->qp));
	side->qp = NULL;
	KCONF_EXPECT(kconf_no_more(side->rcq));
}

/* Shared receive queues ***************************************************** */

static int kconf_srq_error(struct ri_pd *pd, u32 max_wr, u32 max_sge)
{
	struct ri_srq_init_attr attr = { .attr = { .max_wr = max_wr, .max_sge = max_sge } };
	struct ri_srq *srq = kal_srq_create(pd, &attr, NULL, NULL, NULL);

	return IS_ERR(srq) ? PTR_ERR(srq) : kal_srq_destroy(srq);
}

/* Return: true if there are shared receive queues. */
static bool kconf_srq_there(struct ri_pd *pd)
{
	if (kconf.rnic->attr.caps & RI_CAP_SRQ)
		return true;
	KCONF_MISSING(true, kconf_srq_error(pd, 4, 1));
	return false;
}

static void kconf_srq_limits(struct ri_pd *pd)
{
	const struct ib_device_attr *limits = &kconf.rnic->attr.limits;

	KCONF_EXPECT(!kconf_srq_error(pd, 1, 1));
	KCONF_EXPECT(!kconf_srq_error(pd, limits->max_srq_wr, 1));
	KCONF_EXPECT(!kconf_srq_error(pd, 4, limits->max_srq_sge));
	KCONF_EXPECT(kconf_srq_error(pd, 0, 1) == -EINVAL);
	KCONF_EXPECT(kconf_srq_error(pd, limits->max_srq_wr + 1, 1) == -EINVAL);
	KCONF_EXPECT(kconf_srq_error(pd, 4, limits->max_srq_sge + 1) == -EINVAL);
}

static void kconf_srq(void)
{
	const struct kconf_opts opts = { .srq_wr = 20 };
	struct kconf_side *side = &kconf_bed.client[0];
	struct ib_srq_attr attr = { .srq_limit = 3 };
	unsigned int i;

	side->pd = kal_pd_alloc(kconf.rnic, NULL, NULL);
	if (!KCONF_EXPECT(!IS_ERR(side->pd))) {
		side->pd = NULL;
		return;
	}
	if (!kconf_srq_there(side->pd))
		return;
	kconf_srq_limits(side->pd);
	KCONF_EXPECT(!kal_pd_dealloc(side->pd));
	if (!kconf_side_open(side, &opts))
		return;
	KCONF_EXPECT(kal_srq_destroy(side->srq) == -EBUSY);
	for (i = 0; i < 20; i++)
		KCONF_EXPECT(!kconf_post_recv(side, i, 0, 0));
	KCONF_EXPECT(!kal_srq_modify(side->srq, &attr, IB_SRQ_LIMIT, NULL));
	memset(&attr, 0, sizeof(attr));
	KCONF_EXPECT(!kal_srq_query(side->srq, &attr));
	KCONF_EXPECT(attr.max_wr >= 20 && attr.max_sge >= 1 && attr.srq_limit == 3);
	attr.srq_limit = attr.max_wr + 1;
	KCONF_EXPECT(kal_srq_modify(side->srq, &attr, IB_SRQ_LIMIT, NULL) == -EINVAL);
}

const struct kconf_check kconf_qp_checks[] = {
	{ "QP caps", kconf_qp_caps },
	{ "QP refused", kconf_qp_refused },
	{ "QP states", kconf_qp_states },
	{ "QP reset", kconf_qp_reset },
	{ "two resets at once", kconf_qp_resets },
	{ "QP access flags", kconf_qp_access },
	{ "QP destroyed in INIT", kconf_qp_destroyed },
	{ "SRQ", kconf_srq },
	{}
};
