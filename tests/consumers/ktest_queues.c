// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Checks of a kernel consumer's connected queue pairs: queries, SQD and back, shared receive
 * queues, resizing of completion queues under load, lists of elements of work requests, and
 * the events of a refusal.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/mm.h>

#include "ktest.h"

#define KT_SRQ	8
#define KT_LOAD	48

/* too large for the stack; the checks run one after another */
static struct kt_op kt_ops[KT_LOAD];

static int kt_query(struct kt_side *side, struct ib_qp_attr *attr,
		    struct ib_qp_init_attr *init)
{
	/* the query must overwrite all of this */
	memset(attr, 0xee, sizeof(*attr));
	memset(init, 0xee, sizeof(*init));
	return ib_query_qp(side->id->qp, attr, IB_QP_STATE | IB_QP_CAP, init);
}

static enum ib_qp_state kt_state(struct kt_side *side)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	return KT_EXPECT(!kt_query(side, &attr, &init)) ? attr.qp_state :
							   IB_QPS_RESET;
}

static void kt_queried(struct kt_bed *bed)
{
	struct kt_side *client = &bed->pair.client;
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	KT_EXPECT(!kt_query(client, &attr, &init));
	KT_EXPECT(attr.qp_state == IB_QPS_RTS && attr.cur_qp_state == IB_QPS_RTS);
	KT_EXPECT(attr.max_rd_atomic == KT_READS && attr.max_dest_rd_atomic == KT_READS);
	KT_EXPECT(attr.cap.max_send_wr >= KT_QUEUE && attr.cap.max_recv_wr >= KT_QUEUE &&
		  attr.cap.max_send_sge >= 2 && attr.cap.max_recv_sge >= 1 &&
		  attr.cap.max_inline_data >= KT_INLINE);
	KT_EXPECT(!memcmp(&attr.cap, &init.cap, sizeof(init.cap)));
	/* the network device's MTU is 1500 */
	KT_EXPECT(attr.path_mtu == IB_MTU_1024 && attr.port_num == 1);
	KT_EXPECT(!attr.sq_draining && !attr.en_sqd_async_notify);
	KT_EXPECT(!attr.dest_qp_num && !attr.timeout && !attr.retry_cnt && !attr.qkey);
	KT_EXPECT(init.send_cq == client->cq && init.recv_cq == client->cq && !init.srq);
	KT_EXPECT(init.sq_sig_type == IB_SIGNAL_ALL_WR && init.qp_type == IB_QPT_RC);
	KT_EXPECT(init.qp_context == client);
	ib_drain_qp(client->id->qp);
	KT_EXPECT(kt_state(client) == IB_QPS_ERR);
}

static int kt_to_state(struct kt_side *side, enum ib_qp_state state, int more)
{
	struct ib_qp_attr attr = {
		.qp_state = state,
		.en_sqd_async_notify = 1,
	};

	return ib_modify_qp(side->id->qp, &attr, IB_QP_STATE | more);
}

/* The send queue pauses. The receive queue and the connection go on. */
static void kt_sqd(struct kt_bed *bed)
{
	struct kt_side *client = &bed->pair.client, *server = &bed->pair.server;
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	struct kt_op rests, back, recv;

	kt_reg_both(bed, KT_ALL);
	KT_EXPECT(!kt_post_recv(client, &back, NULL));
	KT_EXPECT(!kt_post_recv(server, &recv, NULL));
	KT_EXPECT(!kt_to_state(client, IB_QPS_SQD, IB_QP_EN_SQD_ASYNC_NOTIFY));
	KT_EXPECT(kt_event_wait(client, IB_EVENT_SQ_DRAINED));
	KT_EXPECT(kt_state(client) == IB_QPS_SQD);
	kt_op_init(&rests);
	wr.wr_cqe = &rests.cqe;
	KT_EXPECT(!ib_post_send(client->id->qp, &wr, NULL));
	KT_EXPECT(!kt_post_send(server, NULL, 0));
	KT_EXPECT(!kt_op_wait(&back));
	msleep(200);
	KT_EXPECT(!completion_done(&rests.done) && !completion_done(&recv.done));
	KT_EXPECT(!kt_to_state(client, IB_QPS_RTS, 0));
	KT_EXPECT(!kt_op_wait(&rests));
	KT_EXPECT(!kt_op_wait(&recv));
	KT_EXPECT(kt_state(client) == IB_QPS_RTS);
}

/* Shared receive queues ***************************************************** */

static int kt_post_srq(struct ib_srq *srq, struct kt_op *op)
{
	struct ib_recv_wr wr = {};

	kt_op_init(op);
	wr.wr_cqe = &op->cqe;
	return ib_post_srq_recv(srq, &wr, NULL);
}

static int kt_srq_resize(struct ib_srq *srq, u32 max_wr)
{
	struct ib_srq_attr attr = { .max_wr = max_wr };

	return ib_modify_srq(srq, &attr, IB_SRQ_MAX_WR);
}

static u32 kt_srq_size(struct ib_srq *srq, u32 limit)
{
	struct ib_srq_attr attr = {};

	KT_EXPECT(!ib_query_srq(srq, &attr) && attr.srq_limit == limit);
	return attr.max_wr;
}

/* Resizing with posted receives: all are used in order, with one limit event. */
static void kt_srq(struct kt_bed *bed)
{
	struct kt_side *server = &bed->pair.server;
	struct ib_srq_attr attr = { .srq_limit = 3 };
	struct ib_srq *srq = server->srq;
	int i;

	for (i = 0; i < KT_SRQ - 2; i++)
		KT_EXPECT(!kt_post_srq(srq, &kt_ops[i]));
	KT_EXPECT(!kt_srq_resize(srq, 20) && kt_srq_size(srq, 0) == 32);
	KT_EXPECT(kt_srq_resize(srq, 4) == -EINVAL);
	KT_EXPECT(kt_srq_resize(srq, 0) == -EINVAL);
	KT_EXPECT(kt_srq_resize(srq, bed->pair.server.pd->device->attrs.max_srq_wr + 1) ==
		  -EINVAL);
	KT_EXPECT(kt_srq_size(srq, 0) == 32);
	KT_EXPECT(!kt_srq_resize(srq, KT_SRQ) && kt_srq_size(srq, 0) == KT_SRQ);
	for (; i < KT_SRQ; i++)
		KT_EXPECT(!kt_post_srq(srq, &kt_ops[i]));
	KT_EXPECT(kt_post_srq(srq, &kt_ops[KT_SRQ]) == -ENOMEM);
	KT_EXPECT(!ib_modify_srq(srq, &attr, IB_SRQ_LIMIT));
	KT_EXPECT(kt_srq_size(srq, 3) == KT_SRQ);

	for (i = 0; i < KT_SRQ - 3; i++) {
		KT_EXPECT(!kt_post_send(&bed->pair.client, NULL, 0));
		KT_EXPECT(!kt_op_wait(&kt_ops[i]));
		KT_EXPECT(kt_ops[i].wc.qp == server->id->qp);
	}
	KT_EXPECT(!test_bit(IB_EVENT_SRQ_LIMIT_REACHED, &server->events));
	KT_EXPECT(!kt_post_send(&bed->pair.client, NULL, 0));
	KT_EXPECT(kt_event_wait(server, IB_EVENT_SRQ_LIMIT_REACHED));
	KT_EXPECT(!kt_op_wait(&kt_ops[i]));
	/* the limit was armed once */
	KT_EXPECT(kt_srq_size(srq, 0) == KT_SRQ);
}

/* The handler of the limit event sends on the queue pair whose message has reached the limit. */
static void kt_srq_limit_posts(struct kt_bed *bed)
{
	struct kt_side *client = &bed->pair.client, *server = &bed->pair.server;
	struct ib_srq_attr attr = { .srq_limit = 1 };
	struct kt_op answer, recv;
	int i, round;

	for (round = 0; round < 50; round++) {
		KT_EXPECT(!kt_post_srq(server->srq, &kt_ops[0]));
		KT_EXPECT(!kt_post_recv(client, &recv, NULL));
		server->posts = &answer;
		KT_EXPECT(!ib_modify_srq(server->srq, &attr, IB_SRQ_LIMIT));
		KT_EXPECT(!kt_post_empty(client, &kt_ops[1]));
		for (i = 0; i < 2; i++)
			if (!KT_EXPECT(!kt_op_wait(&kt_ops[i])))
				return;
		if (!KT_EXPECT(!kt_op_wait(&recv)) || !KT_EXPECT(!kt_op_wait(&answer)))
			return;
	}
}

/*
 * Draining waits for IB_EVENT_QP_LAST_WQE_REACHED, or for a minute if it does not come.
 * Receives that are still posted stay in the queue.
 */
static void kt_srq_drained(struct kt_bed *bed)
{
	struct kt_side *server = &bed->pair.server;
	unsigned long begin;
	int i;

	for (i = 0; i < KT_SRQ; i++)
		KT_EXPECT(!kt_post_srq(server->srq, &kt_ops[i]));
	for (i = 0; i < KT_SRQ / 2; i++)
		KT_EXPECT(!kt_post_send(&bed->pair.client, NULL, 0));
	KT_EXPECT(!kt_op_wait(&kt_ops[KT_SRQ / 2 - 1]));
	begin = jiffies;
	ib_drain_qp(server->id->qp);
	KT_EXPECT(time_before(jiffies, begin + 50 * HZ));
	KT_EXPECT(test_bit(IB_EVENT_QP_LAST_WQE_REACHED, &server->events));
	KT_EXPECT(kt_pair_ended(&bed->pair));
	for (i = KT_SRQ / 2; i < KT_SRQ; i++)
		KT_EXPECT(!completion_done(&kt_ops[i].done));
	KT_EXPECT(kt_post_srq(server->srq, &kt_ops[KT_SRQ]) == 0);
}

/* Under load **************************************************************** */

/* The CQs of both ends are resized again and again while messages go both ways. */
static void kt_cq_under_load(struct kt_bed *bed)
{
	static const int sizes[] = { 2 * KT_QUEUE + 2, 1000, 256, 4096 };
	struct kt_side *client = &bed->pair.client, *server = &bed->pair.server;
	int i, round;

	for (round = 0; round < 40; round++) {
		struct ib_send_wr wr = { .opcode = IB_WR_SEND };

		for (i = 0; i < KT_LOAD / 2; i++)
			KT_EXPECT(!kt_post_recv(server, &kt_ops[i], NULL));
		for (; i < KT_LOAD; i++) {
			kt_op_init(&kt_ops[i]);
			wr.wr_cqe = &kt_ops[i].cqe;
			KT_EXPECT(!ib_post_send(client->id->qp, &wr, NULL));
			if (i % 6)
				continue;
			KT_EXPECT(!KT_RESIZES || !ib_resize_cq(client->cq, sizes[i / 6 % 4]));
			KT_EXPECT(!KT_RESIZES || !ib_resize_cq(server->cq, sizes[round % 4]));
		}
		for (i = 0; i < KT_LOAD; i++)
			if (!KT_EXPECT(!kt_op_wait(&kt_ops[i])))
				return;
	}
}

/* Elements ****************************************************************** */

/* An RDMA Read into two pieces of memory, and a Send from two. */
static void kt_two_elements(struct kt_bed *bed)
{
	struct ib_sge whole = kt_sge(&bed->far, 4 * PAGE_SIZE);
	struct ib_sge two[] = {
		kt_sge(&bed->near, PAGE_SIZE + 3),
		kt_sge(&bed->near, 2 * PAGE_SIZE - 3),
	};
	struct ib_rdma_wr wr = {
		.wr = {
			.opcode = IB_WR_RDMA_READ,
			.sg_list = two,
			.num_sge = 2,
		},
		.remote_addr = bed->far.mr->iova,
		.rkey = bed->far.mr->rkey,
	};
	struct kt_op recv;

	/* behind a gap */
	two[1].addr += 5 * PAGE_SIZE + 3;
	kt_reg_both(bed, KT_ALL);
	kt_mem_fill(&bed->near, 0);
	kt_mem_fill(&bed->far, 21);
	KT_EXPECT(!kt_do(&bed->pair.client, &wr.wr, IB_WC_RDMA_READ));
	KT_EXPECT(kt_mem_is(&bed->near, 0, PAGE_SIZE + 3, 21));
	KT_EXPECT(kt_mem_is(&bed->near, PAGE_SIZE + 3, 5 * PAGE_SIZE + 3, 0));
	/* the pattern's second part, 4 pages on */
	KT_EXPECT(!memcmp(page_address(bed->near.pages[6]), page_address(bed->far.pages[2]),
			  PAGE_SIZE));
	KT_EXPECT(!memcmp(page_address(bed->near.pages[5]) + 3,
			  page_address(bed->far.pages[1]) + 3, PAGE_SIZE - 3));

	kt_mem_fill(&bed->near, 23);
	kt_mem_fill(&bed->far, 0);
	two[1].addr = two[0].addr + two[0].length;
	wr.wr.opcode = IB_WR_SEND;
	KT_EXPECT(!kt_post_recv(&bed->pair.server, &recv, &whole));
	KT_EXPECT(!kt_do(&bed->pair.client, &wr.wr, IB_WC_SEND));
	KT_EXPECT(!kt_op_wait(&recv) && recv.wc.byte_len == 3 * PAGE_SIZE);
	KT_EXPECT(kt_mem_is(&bed->far, 0, 3 * PAGE_SIZE, 23));
	KT_EXPECT(kt_mem_is(&bed->far, 3 * PAGE_SIZE, 4 * PAGE_SIZE, 0));
}

/* Events ******************************************************************** */

/* After a refused access, the target gets an event, and so does the requester. */
static void kt_refusal_events(struct kt_bed *bed)
{
	struct ib_sge from = kt_sge(&bed->near, 64);
	int ret;

	kt_reg_both(bed, IB_ACCESS_LOCAL_WRITE);
	/*
	 * The Write completes when it is sent. So the Terminate ends no work request, unless it
	 * is faster.
	 */
	ret = kt_post_rdma(&bed->pair.client, IB_WR_RDMA_WRITE, &from,
			   bed->far.mr->iova, bed->far.mr->rkey);
	KT_EXPECT(!ret || ret == IB_WC_REM_ACCESS_ERR);
	KT_EXPECT(kt_event_wait(&bed->pair.server, IB_EVENT_QP_ACCESS_ERR));
	KT_EXPECT(ret || kt_event_wait(&bed->pair.client, IB_EVENT_QP_FATAL));
	KT_EXPECT(kt_pair_ended(&bed->pair));
	KT_EXPECT(kt_state(&bed->pair.client) == IB_QPS_ERR &&
		  kt_state(&bed->pair.server) == IB_QPS_ERR);
}

const struct kt_check kt_queue_checks[] = {
	{ "queried", .run = kt_queried },
	{ "SQD and back", .run = kt_sqd },
	{ "shared receive queue", .run = kt_srq, .srq = KT_SRQ },
	{ "the limit's event posts", .run = kt_srq_limit_posts, .srq = KT_SRQ },
	{ "shared receive queue drained", .run = kt_srq_drained, .srq = KT_SRQ },
	{ "CQs change under load", .run = kt_cq_under_load },
	{ "two elements", .run = kt_two_elements },
	{ "events of a refusal", .run = kt_refusal_events },
	{}
};
