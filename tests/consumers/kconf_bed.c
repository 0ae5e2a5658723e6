// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What the checks of the conformance test share: connections of the RNIC with itself, memory and
 * work requests. A check runs in one thread and polls for completions, except where it is about
 * events.
 */
#include <linux/cleanup.h>
#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "kconf.h"

struct kconf_bed kconf_bed;

/* Ends ********************************************************************** */

static void kconf_end_note(struct kconf_end *end, const struct kal_ep_event *event)
{
	scoped_guard(spinlock, &end->lock) {
		end->status[event->type] = event->status;
		if (event->local)
			end->local = *event->local;
		if (event->remote)
			end->remote = *event->remote;
		if (event->type != KAL_EP_CLOSED) {
			end->ird = event->ird;
			end->ord = event->ord;
			end->data_len = min_t(u16, event->private_data_len, sizeof(end->data));
			memcpy(end->data, event->private_data, end->data_len);
		}
		/* the last: a reader that sees the count sees the rest */
		end->count[event->type]++;
	}
}

/* Is the request that of the client that is connecting now? */
static bool kconf_is_expected(const struct kconf_end *end, const struct kal_ep_event *event)
{
	return event->private_data_len >= sizeof(end->expected) &&
	       !memcmp(event->private_data, &end->expected, sizeof(end->expected));
}

static int kconf_end_event(struct kal_ep *ep, void *context, const struct kal_ep_event *event)
{
	struct kconf_end *end = context;
	int ret = 0;

	if (event->type == KAL_EP_CONN_REQUEST) {
		if (!kconf_is_expected(end, event))
			return -ECONNABORTED;
		kal_ep_set_handler(event->child, kconf_end_event, end->children);
		if (cmpxchg(&end->child, NULL, event->child))
			ret = -EBUSY;
	}
	kconf_end_note(end, event);
	wake_up(&end->heard);
	return ret;
}

static void kconf_end_init(struct kconf_end *end)
{
	init_waitqueue_head(&end->heard);
	spin_lock_init(&end->lock);
}

int kconf_end_create(struct kconf_end *end)
{
	struct kal_ep *ep = kal_ep_create(kconf.rnic, kconf_end_event, end);

	if (IS_ERR(ep))
		return PTR_ERR(ep);
	end->ep = ep;
	return 0;
}

void kconf_end_destroy(struct kconf_end *end)
{
	struct kal_ep *child;

	if (end->ep)
		kal_ep_destroy(end->ep);
	end->ep = NULL;
	child = xchg(&end->child, NULL);
	if (child)
		kal_ep_destroy(child);
}

/* Wait for an event. */
bool kconf_end_hears(struct kconf_end *end, enum kal_ep_event_type type)
{
	return wait_event_timeout(end->heard, READ_ONCE(end->count[type]), KCONF_PATIENCE);
}

/* Return: the status of an event, or 1 if it does not come. */
int kconf_end_status(struct kconf_end *end, enum kal_ep_event_type type)
{
	return kconf_end_hears(end, type) ? end->status[type] : 1;
}

/* Listen on the address of the parameters. The next request is reported to @children. */
int kconf_listen(struct kconf_end *children)
{
	const struct kal_listen_param param = { .backlog = 4 };
	struct kconf_end *listener = &kconf_bed.listener;

	listener->children = children;
	if (listener->ep)
		return 0;
	return kconf_end_create(listener) ?:
	       kal_ep_listen(listener->ep, (struct sockaddr *)&kconf.remote, &param, NULL);
}

/* Wait for a request. Return: its endpoint, which belongs to the caller, or NULL. */
struct kal_ep *kconf_request(void)
{
	struct kconf_end *listener = &kconf_bed.listener;

	wait_event_timeout(listener->heard, READ_ONCE(listener->child), KCONF_PATIENCE);
	return xchg(&listener->child, NULL);
}

static struct kal_conn_param kconf_conn_param(const void *data, u16 len)
{
	return (struct kal_conn_param) {
		.private_data = data,
		.private_data_len = len,
		.ird = min_t(u32, KCONF_READS, kconf.rnic->attr.limits.max_qp_rd_atom),
		.ord = min_t(u32, KCONF_READS, kconf.rnic->attr.limits.max_qp_init_rd_atom),
	};
}

/* Start to connect. @data: at least four bytes, or NULL: those that distinguish requests */
int kconf_connect(struct kconf_side *client, const void *data, u16 len)
{
	const u32 number = get_random_u32();
	const struct kal_conn_param param =
		kconf_conn_param(data ?: &number, data ? len : sizeof(number));
	int ret = client->end.ep ? 0 : kconf_end_create(&client->end);

	memcpy(&kconf_bed.listener.expected, param.private_data, sizeof(number));
	return ret ?: kal_ep_connect(client->end.ep, client->qp, (struct sockaddr *)&kconf.local,
				     (struct sockaddr *)&kconf.remote, &param);
}

/* Accept the next request. */
int kconf_accept(struct kconf_side *server, const void *data, u16 len)
{
	const struct kal_conn_param param = kconf_conn_param(data, len);

	server->end.ep = kconf_request();
	if (!server->end.ep)
		return -ETIMEDOUT;
	return kal_ep_accept(server->end.ep, server->qp, &param);
}

/* Connect client @i with server @i of the bed. */
bool kconf_pair_open(unsigned int i, const struct kconf_opts *client,
		     const struct kconf_opts *server)
{
	struct kconf_side *from = &kconf_bed.client[i];
	struct kconf_side *to = &kconf_bed.server[i];

	return kconf_side_open(from, client) && kconf_side_open(to, server) &&
	       KCONF_EXPECT(!kconf_listen(&to->end)) &&
	       KCONF_EXPECT(!kconf_connect(from, NULL, 0)) &&
	       KCONF_EXPECT(!kconf_accept(to, NULL, 0)) &&
	       KCONF_EXPECT(!kconf_end_status(&from->end, KAL_EP_CONN_REPLY)) &&
	       KCONF_EXPECT(!kconf_end_status(&to->end, KAL_EP_ESTABLISHED));
}

/* One connection, with @size bytes on either side. */
bool kconf_bed_open(const struct kconf_opts *client, const struct kconf_opts *server, size_t size)
{
	return KCONF_EXPECT(kconf_mem_open(&kconf_bed.near, size)) &&
	       KCONF_EXPECT(kconf_mem_open(&kconf_bed.far, size)) &&
	       kconf_pair_open(0, client, server);
}

void kconf_bed_init(void)
{
	unsigned int i;

	memset(&kconf_bed, 0, sizeof(kconf_bed));
	kconf_end_init(&kconf_bed.listener);
	for (i = 0; i < ARRAY_SIZE(kconf_bed.client); i++) {
		kconf_end_init(&kconf_bed.client[i].end);
		kconf_end_init(&kconf_bed.server[i].end);
	}
}

static void kconf_side_end(struct kconf_side *side)
{
	if (side->qp)
		KCONF_EXPECT(!kal_qp_destroy(side->qp));
	side->qp = NULL;
	kconf_end_destroy(&side->end);
}

void kconf_bed_close(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kconf_bed.client); i++) {
		kconf_side_end(&kconf_bed.client[i]);
		kconf_side_end(&kconf_bed.server[i]);
	}
	kconf_end_destroy(&kconf_bed.listener);
	kconf_mem_close(&kconf_bed.near);
	kconf_mem_close(&kconf_bed.far);
	/* the second ones borrow CQs of the first */
	for (i = ARRAY_SIZE(kconf_bed.client); i--;) {
		kconf_side_close(&kconf_bed.client[i]);
		kconf_side_close(&kconf_bed.server[i]);
	}
}

/* Sides ********************************************************************* */

static void kconf_on_qp_event(struct ri_qp *qp, enum ib_event_type event)
{
	struct kconf_side *side = qp->consumer;

	set_bit(event, &side->events);
}

static void kconf_on_srq_event(struct ri_srq *srq, enum ib_event_type event)
{
	struct kconf_side *side = srq->consumer;

	set_bit(event, &side->events);
}

static void kconf_on_completion(struct ri_cq *cq)
{
	struct kconf_side *side = cq->consumer;

	if (side)
		atomic_inc(&side->completions);
}

/* @side: gets completion events, or NULL */
struct ri_cq *kconf_cq_create(u32 depth, u32 ceh, struct kconf_side *side)
{
	const struct kal_cq_attr attr = {
		.depth = depth,
		.ceh = ceh,
		.on_completion = kconf_on_completion,
		.consumer = side,
	};

	return kal_cq_create(kconf.rnic, NULL, &attr, NULL);
}

static int kconf_side_open_srq(struct kconf_side *side, const struct kconf_opts *opts)
{
	struct ri_srq_init_attr attr = {
		.attr = { .max_wr = opts->srq_wr, .max_sge = 1 },
	};
	struct ri_srq *srq;

	if (!opts->srq_wr)
		return 0;
	srq = kal_srq_create(side->pd, &attr, kconf_on_srq_event, side, NULL);
	if (IS_ERR(srq))
		return PTR_ERR(srq);
	side->srq = srq;
	return 0;
}

static int kconf_side_open_qp(struct kconf_side *side, const struct kconf_opts *opts)
{
	struct ri_qp_init_attr attr = {
		.send_cq = side->scq,
		.recv_cq = side->rcq,
		.srq = side->srq,
		.cap = {
			.max_send_wr = opts->send_wr ?: KCONF_QUEUE,
			.max_recv_wr = side->srq ? 0 : opts->recv_wr ?: KCONF_QUEUE,
			.max_send_sge = 1,
			.max_recv_sge = side->srq ? 0 : 1,
			.max_inline_data = opts->inline_data,
		},
		.sq_sig_type = opts->some_signalled ? IB_SIGNAL_REQ_WR : IB_SIGNAL_ALL_WR,
		.qp_type = IB_QPT_RC,
	};
	struct ri_qp *qp;

	/* the value in completions, which is never dereferenced */
	qp = kal_qp_create(side->pd, &attr, kconf_on_qp_event, side, (struct ib_qp *)side, NULL);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	side->qp = qp;
	return 0;
}

static struct ri_cq *kconf_side_open_cq(struct kconf_side *side, bool *borrowed,
					const struct kconf_opts *opts)
{
	struct ri_cq *cq;

	*borrowed = opts->rcq;
	if (opts->rcq)
		return opts->rcq;
	cq = kconf_cq_create(KCONF_CQ, 0, side);
	return IS_ERR(cq) ? NULL : cq;
}

bool kconf_side_open(struct kconf_side *side, const struct kconf_opts *opts)
{
	static const struct kconf_opts usual;

	opts = opts ?: &usual;
	side->pd = kal_pd_alloc(kconf.rnic, NULL, NULL);
	if (IS_ERR(side->pd))
		side->pd = NULL;
	if (!KCONF_EXPECT(side->pd))
		return false;
	side->dma = kal_mr_register_dma(side->pd, IB_ACCESS_LOCAL_WRITE);
	if (IS_ERR(side->dma))
		side->dma = NULL;
	side->scq = kconf_cq_create(KCONF_CQ, 0, NULL);
	if (IS_ERR(side->scq))
		side->scq = NULL;
	side->rcq = kconf_side_open_cq(side, &side->borrowed, opts);
	return KCONF_EXPECT(side->dma) && KCONF_EXPECT(side->scq) && KCONF_EXPECT(side->rcq) &&
	       KCONF_EXPECT(!kconf_side_open_srq(side, opts)) &&
	       KCONF_EXPECT(!kconf_side_open_qp(side, opts));
}

/* Free all but the queue pair and the endpoint, which are gone. */
void kconf_side_close(struct kconf_side *side)
{
	if (side->srq)
		KCONF_EXPECT(!kal_srq_destroy(side->srq));
	if (side->rcq && !side->borrowed)
		KCONF_EXPECT(!kal_cq_destroy(side->rcq));
	if (side->scq)
		KCONF_EXPECT(!kal_cq_destroy(side->scq));
	if (side->dma)
		KCONF_EXPECT(!kal_mr_deregister(side->dma));
	if (side->pd)
		KCONF_EXPECT(!kal_pd_dealloc(side->pd));
}

enum ib_qp_state kconf_state(struct kconf_side *side)
{
	struct ri_qp_init_attr init_attr;
	struct ib_qp_attr attr;

	if (kal_qp_query(side->qp, &attr, IB_QP_STATE, &init_attr))
		return IB_QPS_RESET;
	return attr.qp_state;
}

/* Wait until the queue pair is in the error state. */
bool kconf_broken(struct kconf_side *side)
{
	const unsigned long end = jiffies + KCONF_PATIENCE;

	while (kconf_state(side) != IB_QPS_ERR) {
		if (time_after(jiffies, end))
			return false;
		usleep_range(200, 400);
	}
	return true;
}

/* Memory ******************************************************************** */

/* @wanted bytes, or as many as one mapping for the device has: a power of two */
size_t kconf_mem_most(size_t wanted)
{
	if (kal_dma_is_virtual(kconf.rnic))
		return wanted;
	return rounddown_pow_of_two(min(wanted,
					dma_max_mapping_size(kconf.rnic->attr.dma_device)));
}

bool kconf_mem_open(struct kconf_mem *mem, size_t size)
{
	struct page *page;

	mem->order = get_order(size);
	page = alloc_pages(GFP_KERNEL | __GFP_ZERO | __GFP_COMP, mem->order);
	if (!page)
		return false;
	mem->size = PAGE_SIZE << mem->order;
	mem->va = page_address(page);
	mem->dma = kal_dma_map_page(kconf.rnic, page, 0, mem->size, DMA_BIDIRECTIONAL);
	if (kal_dma_mapping_error(kconf.rnic, mem->dma)) {
		__free_pages(page, mem->order);
		return false;
	}
	mem->page = page;
	return true;
}

void kconf_mem_close(struct kconf_mem *mem)
{
	if (mem->mr)
		KCONF_EXPECT(!kal_mr_deregister(mem->mr));
	if (!mem->page)
		return;
	kal_dma_unmap_page(kconf.rnic, mem->dma, mem->size, DMA_BIDIRECTIONAL);
	__free_pages(mem->page, mem->order);
}

static u8 kconf_byte(size_t at, u8 seed)
{
	return seed ? at * 7 + (at >> 8) * 13 + (at >> 16) + seed : 0;
}

/* Fill with a pattern; seed 0: zeros */
void kconf_mem_fill(struct kconf_mem *mem, u8 seed)
{
	size_t at;

	for (at = 0; at < mem->size; at++)
		mem->va[at] = kconf_byte(at, seed);
	kal_dma_sync_for_device(kconf.rnic, mem->dma, mem->size, DMA_BIDIRECTIONAL);
}

/* Do the bytes from @from to before @to have the pattern? */
bool kconf_mem_is(struct kconf_mem *mem, size_t from, size_t to, u8 seed)
{
	kal_dma_sync_for_cpu(kconf.rnic, mem->dma, mem->size, DMA_BIDIRECTIONAL);
	for (; from < to; from++)
		if (mem->va[from] != kconf_byte(from, seed))
			return false;
	return true;
}

/* List all of @mem in the region @mr, with its last page first. */
static bool kconf_mem_name(struct kconf_mem *mem, struct ri_mr *mr)
{
	const u32 num = mem->size >> PAGE_SHIFT;
	u32 i;

	if (!KCONF_EXPECT(!IS_ERR(mr)))
		return false;
	mem->mr = mr;
	for (i = 0; i < num; i++)
		mr->list.pages[i] = mem->dma + (u64)(num - 1 - i) * PAGE_SIZE;
	mr->list.num = num;
	mr->list.page_shift = PAGE_SHIFT;
	return true;
}

/* Make a region of all of @mem by a fast registration of @side's. */
bool kconf_mem_register(struct kconf_side *side, struct kconf_mem *mem, int access)
{
	struct kal_reg_wr reg;
	const struct ib_send_wr *bad;
	struct ib_wc wc;

	if (!mem->mr &&
	    !kconf_mem_name(mem, kal_mr_alloc(side->pd, mem->size >> PAGE_SHIFT, false)))
		return false;
	kal_reg_wr_init(&reg, mem->mr, KCONF_IOVA, mem->size, ib_inc_rkey(mem->mr->stag), access);
	reg.reg.wr.send_flags = IB_SEND_SIGNALED;
	reg.reg.wr.wr_id = 0x4e6;
	return KCONF_EXPECT(!kal_post_send(side->qp, &reg.reg.wr, &bad)) &&
	       KCONF_EXPECT(!kconf_done(side, 0x4e6, &wc)) &&
	       KCONF_EXPECT(wc.opcode == IB_WC_REG_MR);
}

/* Make a region of all of @mem without a work request. */
bool kconf_mem_map(struct kconf_side *side, struct kconf_mem *mem, int access)
{
	return kconf_mem_name(mem, kal_mr_alloc_map(side->pd, mem->size >> PAGE_SHIFT, false)) &&
	       KCONF_EXPECT(!kal_mr_map(mem->mr, KCONF_IOVA, mem->size, ib_inc_rkey(mem->mr->stag),
					access));
}

static const u8 *kconf_mem_region_at(const struct kconf_mem *region, size_t at)
{
	const size_t num = region->size >> PAGE_SHIFT;

	return region->va + (num - 1 - (at >> PAGE_SHIFT)) * PAGE_SIZE + offset_in_page(at);
}

/* Are the first @len bytes of the region and of the memory the same? */
bool kconf_mem_same(struct kconf_mem *region, struct kconf_mem *plain, size_t len)
{
	size_t at;

	kal_dma_sync_for_cpu(kconf.rnic, region->dma, region->size, DMA_BIDIRECTIONAL);
	kal_dma_sync_for_cpu(kconf.rnic, plain->dma, plain->size, DMA_BIDIRECTIONAL);
	for (at = 0; at < len; at++)
		if (*kconf_mem_region_at(region, at) != plain->va[at])
			return false;
	return true;
}

/* Are the bytes of the region from @from to before @to all @value? */
bool kconf_mem_region_is(struct kconf_mem *region, size_t from, size_t to, u8 value)
{
	kal_dma_sync_for_cpu(kconf.rnic, region->dma, region->size, DMA_BIDIRECTIONAL);
	for (; from < to; from++)
		if (*kconf_mem_region_at(region, from) != value)
			return false;
	return true;
}

/* Work requests ************************************************************* */

static int kconf_post_atomic(struct kconf_side *side, const struct ib_send_wr *wr,
			     const struct kconf_req *req)
{
	const struct ib_atomic_wr atomic = {
		.wr = *wr,
		.remote_addr = req->remote,
		.compare_add = req->add,
		.swap = req->swap,
		.rkey = req->rkey,
	};
	const struct ib_send_wr *bad;

	return kal_post_send(side->qp, &atomic.wr, &bad);
}

int kconf_post(struct kconf_side *side, const struct kconf_req *req)
{
	struct ib_sge sge = {
		.addr = req->addr,
		.length = req->len,
		.lkey = req->lkey ?: side->dma->stag,
	};
	struct ib_rdma_wr wr = {
		.wr = {
			.wr_id = req->id,
			.opcode = req->op,
			.send_flags = req->flags,
			.sg_list = &sge,
			.num_sge = req->len ? 1 : 0,
		},
		.remote_addr = req->remote,
		.rkey = req->rkey,
	};
	const struct ib_send_wr *bad;

	if (req->invalidate)
		wr.wr.ex.invalidate_rkey = req->invalidate;
	else
		wr.wr.ex.imm_data = cpu_to_be32(req->imm);
	if (req->op == IB_WR_ATOMIC_CMP_AND_SWP || req->op == IB_WR_ATOMIC_FETCH_AND_ADD)
		return kconf_post_atomic(side, &wr.wr, req);
	return kal_post_send(side->qp, &wr.wr, &bad);
}

/* To the shared receive queue, if there is one. */
int kconf_post_recv(struct kconf_side *side, u64 id, u64 addr, u32 len)
{
	struct ib_sge sge = {
		.addr = addr,
		.length = len,
		.lkey = side->dma->stag,
	};
	const struct ib_recv_wr wr = {
		.wr_id = id,
		.sg_list = &sge,
		.num_sge = len ? 1 : 0,
	};
	const struct ib_recv_wr *bad;

	return side->srq ? kal_post_srq_recv(side->srq, &wr, &bad) :
			   kal_post_recv(side->qp, &wr, &bad);
}

/* Take the next completion. Return: 0, -ETIMEDOUT or the RNIC's error. */
int kconf_poll(struct ri_cq *cq, struct ib_wc *wc)
{
	const unsigned long end = jiffies + KCONF_PATIENCE;
	int n;

	while (!(n = kal_cq_poll(cq, 1, wc))) {
		if (time_after(jiffies, end))
			return -ETIMEDOUT;
		usleep_range(20, 50);
	}
	return min(n, 0);
}

/* The next completion must be that of @side's @id. Return: its status, or an errno. */
int kconf_next(struct ri_cq *cq, struct kconf_side *side, u64 id, struct ib_wc *wc)
{
	struct ib_wc own;
	int ret;

	wc = wc ?: &own;
	ret = kconf_poll(cq, wc);
	if (ret)
		return ret;
	if (wc->wr_id != id || wc->qp != (struct ib_qp *)side)
		return -EIO;
	return wc->status;
}

int kconf_done(struct kconf_side *side, u64 id, struct ib_wc *wc)
{
	return kconf_next(side->scq, side, id, wc);
}

int kconf_received(struct kconf_side *side, u64 id, struct ib_wc *wc)
{
	return kconf_next(side->rcq, side, id, wc);
}

/* Post a signalled request. Return: the status of its completion, or an errno. */
int kconf_do(struct kconf_side *side, const struct kconf_req *req)
{
	struct kconf_req signalled = *req;
	int ret;

	signalled.flags |= IB_SEND_SIGNALED;
	ret = kconf_post(side, &signalled);
	return ret ?: kconf_done(side, req->id, NULL);
}

/* Is the CQ empty, and does it stay so for a while? */
bool kconf_no_more(struct ri_cq *cq)
{
	struct ib_wc wc;

	msleep(20);
	return !kal_cq_poll(cq, 1, &wc);
}
