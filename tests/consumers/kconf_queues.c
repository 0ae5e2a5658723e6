// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Checks of the conformance test: queues that are full, flushed, and destroyed with completions in
 * shared CQs.
 */
#include <linux/delay.h>

#include "kconf.h"

static struct kconf_side *const client = &kconf_bed.client[0];
static struct kconf_side *const server = &kconf_bed.server[0];

/* Full queues *************************************************************** */

static u32 kconf_granted(struct kconf_side *side)
{
	struct ri_qp_init_attr init = {};
	struct ib_qp_attr attr;

	KCONF_EXPECT(!kal_qp_query(side->qp, &attr, IB_QP_CAP, &init));
	return init.cap.max_send_wr;
}

#define KCONF_LIST	96	/* less than a CQ holds */

/* Post @num Writes without data as one list. Return: how many were taken. */
static unsigned int kconf_post_list(unsigned int num, int *ret)
{
	static struct ib_rdma_wr list[KCONF_LIST];
	const struct ib_send_wr *bad = NULL;
	unsigned int i;

	memset(list, 0, sizeof(list));
	for (i = 0; i < num; i++) {
		list[i].wr.wr_id = i;
		list[i].wr.opcode = IB_WR_RDMA_WRITE;
		list[i].remote_addr = KCONF_IOVA;
		list[i].rkey = kconf_bed.far.mr->stag;
		list[i].wr.next = i + 1 < num ? &list[i + 1].wr : NULL;
	}
	*ret = kal_post_send(client->qp, &list[0].wr, &bad);
	return *ret ? container_of(bad, struct ib_rdma_wr, wr) - list : num;
}

static void kconf_full_send_queue(void)
{
	const struct kconf_req send = { .op = IB_WR_SEND, .id = 7 };
	unsigned int taken, i;
	int ret;

	if (!kconf_bed_open(NULL, NULL, PAGE_SIZE) ||
	    !kconf_mem_register(server, &kconf_bed.far, KCONF_WRITE))
		return;
	/* as many as were asked for */
	taken = kconf_post_list(KCONF_QUEUE, &ret);
	KCONF_EXPECT(!ret && taken == KCONF_QUEUE);
	for (i = 0; i < taken; i++)
		KCONF_EXPECT(!kconf_done(client, i, NULL));
	/* more than were granted */
	if (!KCONF_EXPECT(kconf_granted(client) < KCONF_LIST / 2))
		return;
	taken = kconf_post_list(KCONF_LIST, &ret);
	KCONF_EXPECT(ret == -ENOMEM);
	KCONF_EXPECT(taken >= KCONF_QUEUE && taken < KCONF_LIST);
	for (i = 0; i < taken; i++)
		KCONF_EXPECT(!kconf_done(client, i, NULL));
	/* it continues */
	KCONF_EXPECT(!kconf_post_recv(server, 8, 0, 0));
	KCONF_EXPECT(!kconf_do(client, &send));
	KCONF_EXPECT(!kconf_received(server, 8, NULL));
}

static void kconf_full_receive_queue(void)
{
	unsigned int i;
	int ret = 0;

	if (!kconf_side_open(client, NULL))
		return;
	for (i = 0; i < 8 * KCONF_QUEUE && !ret; i++)
		ret = kconf_post_recv(client, i, 0, 0);
	KCONF_EXPECT(ret == -ENOMEM);
	KCONF_EXPECT(i > KCONF_QUEUE);
}

static void kconf_too_many_elements(void)
{
	const u32 sends = kconf.rnic->attr.limits.max_send_sge + 1;
	const u32 recvs = kconf.rnic->attr.limits.max_recv_sge + 1;
	static struct ib_sge sges[64];
	const struct ib_send_wr send = {
		.opcode = IB_WR_SEND,
		.sg_list = sges,
		.num_sge = sends,
	};
	const struct ib_recv_wr recv = { .sg_list = sges, .num_sge = recvs };
	const struct ib_send_wr *bad_send = NULL;
	const struct ib_recv_wr *bad_recv = NULL;

	if (max(sends, recvs) > ARRAY_SIZE(sges) || !kconf_bed_open(NULL, NULL, PAGE_SIZE))
		return;
	KCONF_EXPECT(kal_post_send(client->qp, &send, &bad_send) == -EINVAL);
	KCONF_EXPECT(bad_send == &send);
	KCONF_EXPECT(kal_post_recv(client->qp, &recv, &bad_recv) == -EINVAL);
	KCONF_EXPECT(bad_recv == &recv);
	KCONF_EXPECT(kconf_no_more(client->scq) && kconf_no_more(client->rcq));
	KCONF_EXPECT(kconf_state(client) == IB_QPS_RTS);
}

/* Flushes ******************************************************************* */

static int kconf_to_error(struct kconf_side *side)
{
	const struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	return kal_qp_modify(side->qp, &attr, IB_QP_STATE);
}

static void kconf_flushed(struct kconf_side *side, unsigned int num)
{
	unsigned int i;

	for (i = 0; i < num; i++)
		KCONF_EXPECT(kconf_received(side, i, NULL) == IB_WC_WR_FLUSH_ERR);
	KCONF_EXPECT(kconf_no_more(side->rcq));
	KCONF_EXPECT(kconf_no_more(side->scq));
}

static void kconf_flush_idle(void)
{
	unsigned int i;

	if (!kconf_side_open(client, NULL))
		return;
	for (i = 0; i < KCONF_QUEUE; i++)
		KCONF_EXPECT(!kconf_post_recv(client, i, 0, 0));
	KCONF_EXPECT(!kconf_to_error(client));
	kconf_flushed(client, KCONF_QUEUE);
}

static void kconf_flush_connected(void)
{
	unsigned int i;

	if (!kconf_bed_open(NULL, NULL, PAGE_SIZE))
		return;
	for (i = 0; i < KCONF_QUEUE; i++) {
		KCONF_EXPECT(!kconf_post_recv(client, i, 0, 0));
		KCONF_EXPECT(!kconf_post_recv(server, i, 0, 0));
	}
	KCONF_EXPECT(!kconf_to_error(client));
	kconf_flushed(client, KCONF_QUEUE);
	/* the peer's, when it hears of the end */
	KCONF_EXPECT(kconf_end_hears(&server->end, KAL_EP_CLOSED));
	kconf_flushed(server, KCONF_QUEUE);
}

/* What is posted in the error state comes back. */
static void kconf_flush_later(void)
{
	const struct kconf_req send = { .op = IB_WR_SEND, .id = 5 };

	if (!kconf_bed_open(NULL, NULL, PAGE_SIZE))
		return;
	KCONF_EXPECT(!kconf_to_error(client));
	KCONF_EXPECT(!kconf_post_recv(client, 6, 0, 0));
	KCONF_EXPECT(!kconf_post(client, &send));
	KCONF_EXPECT(kconf_received(client, 6, NULL) == IB_WC_WR_FLUSH_ERR);
	KCONF_EXPECT(kconf_done(client, 5, NULL) == IB_WC_WR_FLUSH_ERR);
}

/*
 * Sends under way: those that did not complete are flushed, behind those that did. That which was
 * just being sent may have an error of its own.
 */
static void kconf_flush_busy(void)
{
	struct kconf_req send = { .op = IB_WR_SEND, .flags = IB_SEND_SIGNALED };
	int status, last = IB_WC_SUCCESS;
	unsigned int i;

	if (!kconf_bed_open(NULL, NULL, PAGE_SIZE << 4))
		return;
	for (i = 0; i < KCONF_QUEUE; i++)
		KCONF_EXPECT(!kconf_post_recv(server, i, kconf_bed.far.dma, kconf_bed.far.size));
	for (i = 0; i < KCONF_QUEUE; i++) {
		send.id = i;
		send.addr = kconf_bed.near.dma;
		send.len = kconf_bed.near.size;
		KCONF_EXPECT(!kconf_post(client, &send));
	}
	KCONF_EXPECT(!kconf_to_error(client));
	for (i = 0; i < KCONF_QUEUE; i++) {
		status = kconf_done(client, i, NULL);
		KCONF_EXPECT(status >= 0);
		KCONF_EXPECT(last == IB_WC_SUCCESS || status == IB_WC_WR_FLUSH_ERR);
		last = status;
	}
	KCONF_EXPECT(kconf_no_more(client->scq));
}

/* Destruction *************************************************************** */

/*
 * Two queue pairs have completions in one CQ, of which none was polled. When one is destroyed, the
 * other's are all there, in order, and there are no more.
 */
static void kconf_shared_cq(void)
{
	struct kconf_req send = { .op = IB_WR_SEND };
	struct kconf_side *other = &kconf_bed.server[1];
	struct kconf_opts opts = {};
	unsigned int i;

	if (!kconf_pair_open(0, NULL, NULL))
		return;
	opts.rcq = server->rcq;
	if (!kconf_pair_open(1, NULL, &opts))
		return;
	for (i = 0; i < 6; i++) {
		KCONF_EXPECT(!kconf_post_recv(server, i, 0, 0));
		KCONF_EXPECT(!kconf_post_recv(other, 100 + i, 0, 0));
	}
	for (i = 0; i < 6; i++) {
		send.id = i;
		KCONF_EXPECT(!kconf_do(client, &send));
		KCONF_EXPECT(!kconf_do(&kconf_bed.client[1], &send));
	}
	/* the completions at the peer may come later than those here */
	msleep(100);
	KCONF_EXPECT(!kal_qp_destroy(server->qp));
	server->qp = NULL;
	for (i = 0; i < 6; i++)
		KCONF_EXPECT(!kconf_next(server->rcq, other, 100 + i, NULL));
	KCONF_EXPECT(kconf_no_more(server->rcq));
	/* the other one continues */
	KCONF_EXPECT(!kconf_post_recv(other, 200, 0, 0));
	KCONF_EXPECT(!kconf_do(&kconf_bed.client[1], &send));
	KCONF_EXPECT(!kconf_next(server->rcq, other, 200, NULL));
}

/* Nothing of a queue pair comes after its end, whatever it was at. */
static void kconf_destroyed_busy(void)
{
	struct kconf_req send = { .op = IB_WR_SEND };
	unsigned int i;

	if (!kconf_bed_open(NULL, NULL, PAGE_SIZE << 4))
		return;
	for (i = 0; i < KCONF_QUEUE; i++) {
		KCONF_EXPECT(!kconf_post_recv(server, i, kconf_bed.far.dma, kconf_bed.far.size));
		KCONF_EXPECT(!kconf_post_recv(client, i, 0, 0));
	}
	for (i = 0; i < KCONF_QUEUE; i++) {
		send.id = i;
		send.addr = kconf_bed.near.dma;
		send.len = kconf_bed.near.size;
		KCONF_EXPECT(!kconf_post(client, &send));
	}
	KCONF_EXPECT(!kal_qp_destroy(client->qp));
	client->qp = NULL;
	KCONF_EXPECT(kconf_no_more(client->scq));
	KCONF_EXPECT(kconf_no_more(client->rcq));
}

const struct kconf_check kconf_queue_checks[] = {
	{ "full send queue", kconf_full_send_queue },
	{ "full receive queue", kconf_full_receive_queue },
	{ "too many elements", kconf_too_many_elements },
	{ "flush without a connection", kconf_flush_idle },
	{ "flush of a connection", kconf_flush_connected },
	{ "flush of later requests", kconf_flush_later },
	{ "flush at work", kconf_flush_busy },
	{ "QP destroyed with a shared CQ", kconf_shared_cq },
	{ "QP destroyed at work", kconf_destroyed_busy },
	{}
};
