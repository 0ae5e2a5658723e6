// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The test consumer's connections, memory and work requests. Both ends of a connection are on
 * the RNIC with the address in the module parameter. The module's initialisation runs all
 * checks and returns -EIO if one fails.
 */
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "ktest.h"

static char *address = "";
module_param(address, charp, 0444);
MODULE_PARM_DESC(address, "IPv4 address of the RNIC to test, in the initial namespace");

static bool large;
module_param(large, bool, 0444);
MODULE_PARM_DESC(large, "check only queues of the largest size");

unsigned int kt_failures;

static struct rdma_cm_id *kt_listener;
static struct sockaddr_in kt_addr;
static struct kt_side *kt_accepting;

/* Connections ************************************************************** */

static void kt_event(struct ib_event *event, void *context)
{
	struct kt_side *side = context;
	struct kt_op *op = NULL;

	/* softirqs must be off: the RNIC may be in the middle of work that a post needs */
	KT_EXPECT(softirq_count());
	if (event->event == IB_EVENT_SRQ_LIMIT_REACHED)
		op = xchg(&side->posts, NULL);
	if (op)
		KT_EXPECT(!kt_post_empty(side, op));
	set_bit(event->event, &side->events);
	complete(&side->event);
}

static int kt_srq_open(struct kt_side *side)
{
	struct ib_srq_init_attr attr = {
		.event_handler = kt_event,
		.srq_context = side,
		.attr = { .max_wr = side->srq_depth, .max_sge = 1 },
		.srq_type = IB_SRQT_BASIC,
	};

	if (!side->srq_depth)
		return 0;
	side->srq = ib_create_srq(side->pd, &attr);
	return PTR_ERR_OR_ZERO(side->srq);
}

static int kt_side_open(struct kt_side *side)
{
	struct ib_qp_init_attr attr = {
		.cap = {
			.max_send_wr = KT_QUEUE,
			.max_recv_wr = KT_QUEUE,
			.max_send_sge = 2,
			.max_recv_sge = 1,
			.max_inline_data = KT_INLINE,
		},
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.qp_type = IB_QPT_RC,
		.event_handler = kt_event,
		.qp_context = side,
	};
	int ret;

	side->pd = ib_alloc_pd(side->id->device, 0);
	if (IS_ERR(side->pd))
		return PTR_ERR(side->pd);
	/* room for all work requests, and for those that drain the queues */
	side->cq = ib_alloc_cq(side->id->device, NULL, 2 * KT_QUEUE + 2, 0,
			       IB_POLL_WORKQUEUE);
	if (IS_ERR(side->cq)) {
		ib_dealloc_pd(side->pd);
		return PTR_ERR(side->cq);
	}
	ret = kt_srq_open(side);
	if (ret)
		return ret;
	attr.send_cq = side->cq;
	attr.recv_cq = side->cq;
	attr.srq = side->srq;
	return rdma_create_qp(side->id, side->pd, &attr);
}

static int kt_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct rdma_conn_param param = {
		.responder_resources = KT_READS,
		.initiator_depth = KT_READS,
	};
	struct kt_side *side = id->context;
	int ret = 0;

	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		side = kt_accepting;
		side->id = id;
		id->context = side;
		ret = kt_side_open(side) ?: rdma_accept(id, &param);
		if (ret)
			side->gone = true;
		/* the pair destroys it, not rdma_cm */
		complete(&side->changed);
		return 0;
	case RDMA_CM_EVENT_ESTABLISHED:
		side->connected = true;
		break;
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		break;
	default:
		side->gone = true;
	}
	complete(&side->changed);
	return 0;
}

int kt_listen(__be32 addr)
{
	int ret;

	kt_addr.sin_family = AF_INET;
	kt_addr.sin_addr.s_addr = addr;
	kt_addr.sin_port = htons(7999);
	kt_listener = rdma_create_id(&init_net, kt_handler, NULL, RDMA_PS_TCP,
				     IB_QPT_RC);
	if (IS_ERR(kt_listener))
		return PTR_ERR(kt_listener);
	ret = rdma_bind_addr(kt_listener, (struct sockaddr *)&kt_addr) ?:
	      rdma_listen(kt_listener, 4);
	if (ret)
		rdma_destroy_id(kt_listener);
	return ret;
}

void kt_unlisten(void)
{
	rdma_destroy_id(kt_listener);
}

static int kt_step(struct kt_side *side)
{
	if (!wait_for_completion_timeout(&side->changed, KT_PATIENCE))
		return -ETIMEDOUT;
	return side->gone ? -ECONNABORTED : 0;
}

static int kt_until_connected(struct kt_side *side)
{
	int ret = 0;

	while (!ret && !side->connected)
		ret = kt_step(side);
	return ret;
}

/* The RNIC under test. */
struct ib_device *kt_device(void)
{
	return kt_listener->device;
}

/*
 * The client's QP exists before it connects. The server gets a queue of @srq entries, see
 * kt_check.
 */
int kt_pair_open(struct kt_pair *pair, unsigned int srq)
{
	struct rdma_conn_param param = {
		.responder_resources = KT_READS,
		.initiator_depth = KT_READS,
	};
	struct kt_side *client = &pair->client;
	int ret;

	memset(pair, 0, sizeof(*pair));
	init_completion(&client->changed);
	init_completion(&client->event);
	init_completion(&pair->server.changed);
	init_completion(&pair->server.event);
	pair->server.srq_depth = srq;
	kt_accepting = &pair->server;
	client->id = rdma_create_id(&init_net, kt_handler, client, RDMA_PS_TCP,
				    IB_QPT_RC);
	if (IS_ERR(client->id))
		return PTR_ERR(client->id);
	ret = rdma_resolve_addr(client->id, NULL, (struct sockaddr *)&kt_addr,
				5000) ?:
	      kt_step(client) ?: rdma_resolve_route(client->id, 5000) ?:
	      kt_step(client) ?: kt_side_open(client) ?:
	      rdma_connect(client->id, &param) ?:
	      kt_until_connected(client) ?: kt_until_connected(&pair->server);
	if (ret)
		pr_warn("ktest: no connection: %d\n", ret);
	return ret;
}

static void kt_side_close(struct kt_side *side)
{
	if (IS_ERR_OR_NULL(side->id))
		return;
	if (side->id->qp) {
		rdma_disconnect(side->id);
		if (!side->srq)
			ib_drain_qp(side->id->qp);
		rdma_destroy_qp(side->id);
	}
	rdma_destroy_id(side->id);
	if (!IS_ERR_OR_NULL(side->srq))
		ib_destroy_srq(side->srq);
	if (!IS_ERR_OR_NULL(side->cq))
		ib_free_cq(side->cq);
	if (!IS_ERR_OR_NULL(side->pd))
		ib_dealloc_pd(side->pd);
}

void kt_pair_close(struct kt_pair *pair)
{
	kt_side_close(&pair->client);
	kt_side_close(&pair->server);
}

static bool kt_side_ended(struct kt_side *side)
{
	while (!side->gone)
		if (!wait_for_completion_timeout(&side->changed, KT_PATIENCE))
			return false;
	return true;
}

/* The connection must end by itself on both sides. */
bool kt_pair_ended(struct kt_pair *pair)
{
	return kt_side_ended(&pair->client) && kt_side_ended(&pair->server);
}

/* An asynchronous event of that type must come in time. */
bool kt_event_wait(struct kt_side *side, enum ib_event_type type)
{
	while (!test_bit(type, &side->events))
		if (!wait_for_completion_timeout(&side->event, KT_PATIENCE))
			return false;
	return true;
}

/* Work requests ************************************************************ */

static void kt_op_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kt_op *op = container_of(wc->wr_cqe, struct kt_op, cqe);

	op->wc = *wc;
	complete(&op->done);
}

void kt_op_init(struct kt_op *op)
{
	memset(op, 0, sizeof(*op));
	op->cqe.done = kt_op_done;
	init_completion(&op->done);
}

/* Return: the completion's status, or an errno. */
int kt_op_wait(struct kt_op *op)
{
	if (!wait_for_completion_timeout(&op->done, KT_PATIENCE))
		return -ETIMEDOUT;
	return op->wc.status;
}

/* Post and wait. The opcode of the completion is checked, too. */
int kt_do(struct kt_side *side, struct ib_send_wr *wr, enum ib_wc_opcode opcode)
{
	struct kt_op op;
	int ret;

	kt_op_init(&op);
	wr->wr_cqe = &op.cqe;
	wr->send_flags |= IB_SEND_SIGNALED;
	ret = ib_post_send(side->id->qp, wr, NULL) ?: kt_op_wait(&op);
	if (!ret)
		KT_EXPECT(op.wc.opcode == opcode && op.wc.qp == side->id->qp);
	return ret;
}

int kt_post_reg(struct kt_side *side, struct kt_mem *mem, u32 key, int access)
{
	struct ib_reg_wr wr = {
		.wr.opcode = IB_WR_REG_MR,
		.mr = mem->mr,
		.key = key,
		.access = access,
	};

	return kt_do(side, &wr.wr, IB_WC_REG_MR);
}

int kt_post_inv(struct kt_side *side, u32 key, int flags)
{
	struct ib_send_wr wr = {
		.opcode = IB_WR_LOCAL_INV,
		.ex.invalidate_rkey = key,
		.send_flags = flags,
	};

	return kt_do(side, &wr, IB_WC_LOCAL_INV);
}

int kt_post_recv(struct kt_side *side, struct kt_op *op, struct ib_sge *sge)
{
	struct ib_recv_wr wr = {
		.sg_list = sge,
		.num_sge = sge ? 1 : 0,
	};

	kt_op_init(op);
	wr.wr_cqe = &op->cqe;
	return ib_post_recv(side->id->qp, &wr, NULL);
}

/* Post a Send without data and do not wait for it; any context. */
int kt_post_empty(struct kt_side *side, struct kt_op *op)
{
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND,
		.wr_cqe = &op->cqe,
	};

	kt_op_init(op);
	return ib_post_send(side->id->qp, &wr, NULL);
}

int kt_post_send(struct kt_side *side, struct ib_sge *sge, u32 invalidate)
{
	struct ib_send_wr wr = {
		.opcode = invalidate ? IB_WR_SEND_WITH_INV : IB_WR_SEND,
		.sg_list = sge,
		.num_sge = sge ? 1 : 0,
	};

	if (invalidate)
		wr.ex.invalidate_rkey = invalidate;
	return kt_do(side, &wr, IB_WC_SEND);
}

int kt_post_rdma(struct kt_side *side, enum ib_wr_opcode opcode,
		 struct ib_sge *sge, u64 addr, u32 key)
{
	struct ib_rdma_wr wr = {
		.wr = {
			.opcode = opcode,
			.sg_list = sge,
			.num_sge = 1,
		},
		.remote_addr = addr,
		.rkey = key,
	};

	/* the sink is invalidated; rdma_rw also has an old key here */
	if (opcode == IB_WR_RDMA_READ_WITH_INV)
		wr.wr.ex.invalidate_rkey = sge->lkey ^ 1;
	return kt_do(side, &wr.wr, opcode == IB_WR_RDMA_WRITE ?
					   IB_WC_RDMA_WRITE :
					   IB_WC_RDMA_READ);
}

/* Memory ******************************************************************* */

void kt_mem_free(struct kt_mem *mem)
{
	unsigned int i;

	if (!IS_ERR_OR_NULL(mem->mr))
		ib_dereg_mr(mem->mr);
	sg_free_table(&mem->sgt);
	for (i = 0; mem->pages && i < mem->npages; i++)
		if (mem->pages[i])
			__free_page(mem->pages[i]);
	kvfree(mem->pages);
}

/* Take every other page from the allocator, so that no two are contiguous. */
int kt_mem_alloc(struct kt_mem *mem, struct ib_pd *pd, unsigned int npages)
{
	struct scatterlist *sg;
	unsigned int i;
	int ret = -ENOMEM;

	memset(mem, 0, sizeof(*mem));
	mem->dev = pd->device;
	mem->npages = npages;
	mem->pages = kvcalloc(npages, sizeof(*mem->pages), GFP_KERNEL);
	if (!mem->pages || sg_alloc_table(&mem->sgt, npages, GFP_KERNEL))
		goto err;
	for_each_sgtable_sg(&mem->sgt, sg, i) {
		mem->pages[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!mem->pages[i])
			goto err;
		sg_set_page(sg, mem->pages[i], PAGE_SIZE, 0);
	}
	if (ib_dma_map_sg(mem->dev, mem->sgt.sgl, npages, DMA_BIDIRECTIONAL) !=
	    npages)
		goto err;
	mem->mr = ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, npages);
	if (!IS_ERR(mem->mr))
		return 0;
	ret = PTR_ERR(mem->mr);
err:
	kt_mem_free(mem);
	return ret;
}

/* The elements of all pages, from @offset in the first on. */
int kt_mem_map(struct kt_mem *mem, unsigned int offset)
{
	int n = ib_map_mr_sg(mem->mr, mem->sgt.sgl, mem->npages, &offset,
			     PAGE_SIZE);

	return n == mem->npages ? 0 : n < 0 ? n : -EIO;
}

/* a byte of the pattern of kt_mem_fill() */
u8 kt_octet(unsigned int at, u8 seed)
{
	return seed ? (u8)(at * 7 + (at >> 8) * 13 + seed) : 0;
}

/* Fill with a pattern; seed 0 means zeroes. */
void kt_mem_fill(struct kt_mem *mem, u8 seed)
{
	unsigned int at;

	for (at = 0; at < mem->npages * PAGE_SIZE; at++)
		((u8 *)page_address(mem->pages[at / PAGE_SIZE]))[at % PAGE_SIZE] =
			kt_octet(at, seed);
}

/* Do the bytes from @from to before @to have the pattern of kt_mem_fill()? */
bool kt_mem_is(struct kt_mem *mem, unsigned int from, unsigned int to, u8 seed)
{
	const u8 *va;

	for (; from < to; from++) {
		va = page_address(mem->pages[from / PAGE_SIZE]);
		if (va[from % PAGE_SIZE] != kt_octet(from, seed))
			return false;
	}
	return true;
}

/* Module ******************************************************************* */

static int __init kt_init(void)
{
	int ret;

	ret = kt_listen(in_aton(address));
	if (ret)
		return ret;
	ret = kt_run_all(large);
	kt_unlisten();
	return ret;
}

static void __exit kt_exit(void)
{
}

module_init(kt_init);
module_exit(kt_exit);

MODULE_DESCRIPTION("tests of krdma by a kernel consumer");
MODULE_AUTHOR("The krdma project");
MODULE_LICENSE("Dual MIT/GPL");
