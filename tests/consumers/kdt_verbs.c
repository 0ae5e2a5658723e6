// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * ib_core and rdma_cm below the performance test, in kDAPL's place: the same work without that
 * layer. As in kDAPL, completions are reported in softirq context, each request is signalled, and
 * memory is named by its own region. Each connection has a protection domain and a CQ of its own.
 */
#include <linux/slab.h>

#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "kdt.h"

static_assert(sizeof(struct kdt_seg) == sizeof(struct ib_sge));
static_assert(offsetof(struct kdt_seg, addr) == offsetof(struct ib_sge, addr));
static_assert(offsetof(struct kdt_seg, len) == offsetof(struct ib_sge, length));
static_assert(offsetof(struct kdt_seg, key) == offsetof(struct ib_sge, lkey));

#define KDT_VERBS_TIMEOUT	2000	/* milliseconds */

/* what rdma_cm did for a client, bits of struct kdt_verbs_link.steps */
enum {
	KDT_VERBS_ADDRESS,
	KDT_VERBS_ROUTE,
};

/**
 * struct kdt_verbs_link - a connection
 * @id: of rdma_cm, which has the queue pair
 * @pd: protection domain
 * @cq: completions of both queues
 * @steps: bits
 * @reg_cqe: for the registration of a region
 * @registered: that is over
 * @reg_failed: without success
 * @cqes: by cookie
 */
struct kdt_verbs_link {
	struct rdma_cm_id *id;
	struct ib_pd *pd;
	struct ib_cq *cq;
	unsigned long steps;
	struct ib_cqe reg_cqe;
	bool registered;
	bool reg_failed;
	struct ib_cqe cqes[];
};

static int kdt_verbs_open(struct kdt_run *run)
{
	return 0;
}

static void kdt_verbs_close(struct kdt_run *run)
{
}

/* Completions ******************************************************************/

static void kdt_verbs_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kdt_link *link = cq->cq_context;
	struct kdt_verbs_link *vl = link->priv;

	/* rdma_cm's event reports the end that flushes */
	if (unlikely(wc->status == IB_WC_WR_FLUSH_ERR))
		return;
	kdt_link_done(link, wc->wr_cqe - vl->cqes, wc->status != IB_WC_SUCCESS, wc->byte_len,
		      ib_wc_status_msg(wc->status));
}

static void kdt_verbs_reg_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kdt_link *link = cq->cq_context;
	struct kdt_verbs_link *vl = link->priv;

	vl->reg_failed = wc->status != IB_WC_SUCCESS;
	/* with kdt_verbs_register(), which looks at the status */
	smp_store_release(&vl->registered, true);
	wake_up_all(&link->wait);
}

/* Events ***********************************************************************/

static int kdt_verbs_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct kdt_link *link = id->context;
	struct kdt_verbs_link *vl = link->priv;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		set_bit(KDT_VERBS_ADDRESS, &vl->steps);
		wake_up_all(&link->wait);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		set_bit(KDT_VERBS_ROUTE, &vl->steps);
		wake_up_all(&link->wait);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		kdt_link_established(link);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		kdt_link_closed(link);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		kdt_run_failed(link->run, -ENODEV, "the RNIC is gone", true);
		kdt_link_closed(link);
		break;
	case RDMA_CM_EVENT_REJECTED:
		kdt_link_failed(link, -ECONNREFUSED, "connection refused");
		break;
	default:
		kdt_link_failed(link, event->status < 0 ? event->status : -ECONNABORTED,
				rdma_event_msg(event->event));
		break;
	}
	return 0;
}

/* The request's id is the link's now. A handler holds the id's lock, so nothing is accepted yet. */
static void kdt_verbs_claim(struct kdt_link *link)
{
	struct rdma_cm_id *id = link->request;

	id->context = link;
	id->event_handler = kdt_verbs_event;
}

/* of the listener */
static int kdt_verbs_requested(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct kdt_run *run = id->context;
	struct kdt_spec spec;

	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
		if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
			kdt_run_failed(run, -ENODEV, "the RNIC is gone", true);
		return 0;
	}
	if (strcmp(id->device->name, run->args->ia) ||
	    !kdt_hello_read(event->param.conn.private_data, event->param.conn.private_data_len,
			    &spec))
		return -EINVAL;
	return kdt_serve(run, &spec, id, kdt_verbs_claim);
}

static int kdt_verbs_listen(struct kdt_run *run)
{
	struct sockaddr_storage address;
	struct rdma_cm_id *id;
	int ret;

	memcpy(&address, run->args->address, sizeof(run->args->address));
	id = rdma_create_id(run->net, kdt_verbs_requested, run, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = rdma_bind_addr(id, (struct sockaddr *)&address);
	ret = ret ?: rdma_listen(id, 128);
	if (ret)
		rdma_destroy_id(id);
	else
		run->priv = id;
	return ret;
}

static void kdt_verbs_unlisten(struct kdt_run *run)
{
	rdma_destroy_id(run->priv);
}

/* Connections ******************************************************************/

static int kdt_verbs_resolve(struct kdt_link *link, struct kdt_verbs_link *vl)
{
	struct sockaddr_storage address;
	int ret;

	memcpy(&address, link->run->args->address, sizeof(link->run->args->address));
	ret = rdma_resolve_addr(vl->id, NULL, (struct sockaddr *)&address, KDT_VERBS_TIMEOUT);
	ret = ret ?: kdt_link_wait(link, test_bit(KDT_VERBS_ADDRESS, &vl->steps));
	if (!ret && strcmp(vl->id->device->name, link->run->args->ia))
		ret = -EXDEV;
	ret = ret ?: rdma_resolve_route(vl->id, KDT_VERBS_TIMEOUT);
	return ret ?: kdt_link_wait(link, test_bit(KDT_VERBS_ROUTE, &vl->steps));
}

static int kdt_verbs_qp(struct kdt_link *link, struct kdt_verbs_link *vl)
{
	/* beside them a registration of memory, and what ib_drain_qp() posts */
	struct ib_qp_init_attr attr = {
		.cap = {
			.max_send_wr = link->requests + 2,
			.max_recv_wr = link->recvs + 1,
			.max_send_sge = link->spec.segments,
			.max_recv_sge = link->spec.segments,
		},
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.qp_type = IB_QPT_RC,
	};

	vl->pd = ib_alloc_pd(vl->id->device, 0);
	if (IS_ERR(vl->pd)) {
		int ret = PTR_ERR(vl->pd);

		vl->pd = NULL;
		return ret;
	}
	vl->cq = ib_alloc_cq(vl->id->device, link, link->recvs + link->requests + 3, 0,
			     IB_POLL_SOFTIRQ);
	if (IS_ERR(vl->cq)) {
		int ret = PTR_ERR(vl->cq);

		vl->cq = NULL;
		return ret;
	}
	attr.send_cq = vl->cq;
	attr.recv_cq = vl->cq;
	return rdma_create_qp(vl->id, vl->pd, &attr);
}

static int kdt_verbs_prepare(struct kdt_link *link)
{
	struct kdt_verbs_link *vl;
	u32 i;
	int ret = 0;

	vl = kvzalloc(struct_size(vl, cqes, link->cookies), GFP_KERNEL);
	if (!vl)
		return -ENOMEM;
	for (i = 0; i < link->cookies; i++)
		vl->cqes[i].done = kdt_verbs_done;
	vl->reg_cqe.done = kdt_verbs_reg_done;
	link->priv = vl;
	if (link->server) {
		vl->id = link->request;
		link->request = NULL;
	} else {
		vl->id = rdma_create_id(link->run->net, kdt_verbs_event, link, RDMA_PS_TCP,
					IB_QPT_RC);
		if (IS_ERR(vl->id)) {
			ret = PTR_ERR(vl->id);
			vl->id = NULL;
			return ret;
		}
		ret = kdt_verbs_resolve(link, vl);
	}
	return ret ?: kdt_verbs_qp(link, vl);
}

static int kdt_verbs_join(struct kdt_link *link, const struct kdt_hello *hello)
{
	struct kdt_verbs_link *vl = link->priv;
	u8 reads = min(KDT_READS, vl->id->device->attrs.max_qp_rd_atom);
	struct rdma_conn_param param = {
		.responder_resources = reads,
		.initiator_depth = reads,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
	int ret;

	if (link->server) {
		/* rdma_cm wants this of a caller that is not its event handler */
		rdma_lock_handler(vl->id);
		ret = rdma_accept(vl->id, &param);
		rdma_unlock_handler(vl->id);
	} else {
		param.private_data = hello;
		param.private_data_len = sizeof(*hello);
		ret = rdma_connect(vl->id, &param);
	}
	return ret ?: kdt_link_wait(link, READ_ONCE(link->established));
}

static void kdt_verbs_leave(struct kdt_link *link)
{
	struct kdt_verbs_link *vl = link->priv;

	if (!vl || !vl->id || !vl->id->qp)
		return;
	if (link->established) {
		rdma_disconnect(vl->id);
		ib_drain_qp(vl->id->qp);
	}
	rdma_destroy_qp(vl->id);
}

static void kdt_verbs_destroy(struct kdt_link *link)
{
	struct kdt_verbs_link *vl = link->priv;

	if (link->request)
		rdma_destroy_id(link->request);
	if (!vl)
		return;
	if (vl->cq)
		ib_free_cq(vl->cq);
	if (vl->pd)
		ib_dealloc_pd(vl->pd);
	if (vl->id)
		rdma_destroy_id(vl->id);
	kvfree(vl);
}

/* Memory and transfers **********************************************************/

static int kdt_verbs_register(struct kdt_link *link, struct kdt_mem *mem, struct ib_mr *mr,
			      u32 rights)
{
	struct kdt_verbs_link *vl = link->priv;
	struct ib_reg_wr wr = {
		.wr.opcode = IB_WR_REG_MR,
		.wr.wr_cqe = &vl->reg_cqe,
		.mr = mr,
		.key = mr->rkey,
		.access = IB_ACCESS_LOCAL_WRITE,
	};
	struct scatterlist sg;
	int ret;

	if (rights & KDT_MEM_READ)
		wr.access |= IB_ACCESS_REMOTE_READ;
	if (rights & (KDT_MEM_WRITE | KDT_MEM_SINK))
		wr.access |= IB_ACCESS_REMOTE_WRITE;
	sg_init_table(&sg, 1);
	sg_set_page(&sg, virt_to_page(mem->va), PAGE_ALIGN(mem->size), 0);
	sg_dma_address(&sg) = mem->addr;
	sg_dma_len(&sg) = PAGE_ALIGN(mem->size);
	ret = ib_map_mr_sg(mr, &sg, 1, NULL, PAGE_SIZE);
	if (ret != 1)
		return ret < 0 ? ret : -EMSGSIZE;
	vl->registered = false;
	ret = ib_post_send(vl->id->qp, &wr.wr, NULL);
	/* with kdt_verbs_reg_done() */
	ret = ret ?: kdt_link_wait(link, smp_load_acquire(&vl->registered));
	if (!ret && vl->reg_failed)
		ret = -EIO;
	mem->addr = mr->iova;
	mem->lkey = mr->lkey;
	mem->rkey = mr->rkey;
	return ret;
}

/* Pages in all: the memory is alloc_pages_exact()'s. Small messages have no region. */
static int kdt_verbs_mem_open(struct kdt_link *link, struct kdt_mem *mem, u32 rights)
{
	struct kdt_verbs_link *vl = link->priv;
	struct ib_device *device = vl->id->device;
	size_t size = PAGE_ALIGN(mem->size);
	struct ib_mr *mr;
	u64 dma;
	int ret;

	dma = ib_dma_map_single(device, mem->va, size, DMA_BIDIRECTIONAL);
	if (ib_dma_mapping_error(device, dma))
		return -ENOMEM;
	mem->addr = dma;
	mem->lkey = vl->pd->local_dma_lkey;
	if (!rights)
		return 0;
	mr = ib_alloc_mr(vl->pd, IB_MR_TYPE_MEM_REG, size / PAGE_SIZE);
	ret = PTR_ERR_OR_ZERO(mr);
	if (!ret) {
		mem->priv = mr;
		ret = kdt_verbs_register(link, mem, mr, rights);
		if (!ret)
			return 0;
		/* the queue pair may still look at the region */
		rdma_disconnect(vl->id);
		ib_drain_qp(vl->id->qp);
		ib_dereg_mr(mr);
	}
	ib_dma_unmap_single(device, dma, size, DMA_BIDIRECTIONAL);
	return ret;
}

static void kdt_verbs_mem_close(struct kdt_link *link, struct kdt_mem *mem)
{
	struct kdt_verbs_link *vl = link->priv;
	u64 dma = mem->addr;

	if (mem->priv)
		ib_dereg_mr(mem->priv);
	ib_dma_unmap_single(vl->id->device, dma, PAGE_ALIGN(mem->size), DMA_BIDIRECTIONAL);
}

static int kdt_verbs_recv(struct kdt_link *link, const struct kdt_seg *segs, u32 num, u32 cookie)
{
	struct kdt_verbs_link *vl = link->priv;
	struct ib_recv_wr wr = {
		.wr_cqe = &vl->cqes[cookie],
		.sg_list = (struct ib_sge *)segs,
		.num_sge = num,
	};

	return ib_post_recv(vl->id->qp, &wr, NULL);
}

static int kdt_verbs_send(struct kdt_link *link, const struct kdt_seg *segs, u32 num, u32 cookie)
{
	struct kdt_verbs_link *vl = link->priv;
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND,
		.wr_cqe = &vl->cqes[cookie],
		.sg_list = (struct ib_sge *)segs,
		.num_sge = num,
	};

	return ib_post_send(vl->id->qp, &wr, NULL);
}

static int kdt_verbs_rdma(struct kdt_link *link, enum ib_wr_opcode opcode,
			  const struct kdt_seg *segs, u32 num, u32 cookie,
			  const struct kdt_seg *remote)
{
	struct kdt_verbs_link *vl = link->priv;
	struct ib_rdma_wr wr = {
		.wr = {
			.opcode = opcode,
			.wr_cqe = &vl->cqes[cookie],
			.sg_list = (struct ib_sge *)segs,
			.num_sge = num,
		},
		.remote_addr = remote->addr,
		.rkey = remote->key,
	};

	return ib_post_send(vl->id->qp, &wr.wr, NULL);
}

static int kdt_verbs_write(struct kdt_link *link, const struct kdt_seg *segs, u32 num, u32 cookie,
			   const struct kdt_seg *remote)
{
	return kdt_verbs_rdma(link, IB_WR_RDMA_WRITE, segs, num, cookie, remote);
}

static int kdt_verbs_read(struct kdt_link *link, const struct kdt_seg *segs, u32 num, u32 cookie,
			  const struct kdt_seg *remote)
{
	return kdt_verbs_rdma(link, IB_WR_RDMA_READ, segs, num, cookie, remote);
}

const struct kdt_calls kdt_verbs_calls = {
	.open = kdt_verbs_open,
	.close = kdt_verbs_close,
	.listen = kdt_verbs_listen,
	.unlisten = kdt_verbs_unlisten,
	.prepare = kdt_verbs_prepare,
	.join = kdt_verbs_join,
	.leave = kdt_verbs_leave,
	.destroy = kdt_verbs_destroy,
	.mem_open = kdt_verbs_mem_open,
	.mem_close = kdt_verbs_mem_close,
	.recv = kdt_verbs_recv,
	.send = kdt_verbs_send,
	.write = kdt_verbs_write,
	.read = kdt_verbs_read,
};
