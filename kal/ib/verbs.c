// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The ib bridge's protection domains, completion queues, memory regions and windows: ib_core's
 * verbs become calls of the kAL. Polling and arming go directly to the provider.
 */
#include <linux/log2.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>
#include <krdma/compat_verbs.h>

#include "bridge.h"

/* The kAL's context of a user's call; NULL for a call from the kernel. */
static struct ri_ucontext *kal_ib_uctx(struct ib_udata *udata)
{
	struct kal_ib_ucontext *ctx =
		rdma_udata_to_drv_context(udata, struct kal_ib_ucontext, base);

	return ctx ? ctx->uctx : NULL;
}

static int kal_ib_alloc_pd(struct ib_pd *base, struct ib_udata *udata)
{
	struct kal_ib_device *dev = to_kal_ib_device(base->device);
	struct ri_udata buf, *priv = kal_ib_udata_get(udata, &buf);
	struct ri_pd *pd;

	if (IS_ERR(priv))
		return PTR_ERR(priv);
	pd = kal_pd_alloc(dev->rnic, kal_ib_uctx(udata), priv);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	if (kal_ib_udata_put(udata, priv)) {
		kal_pd_dealloc(pd);
		return -EFAULT;
	}
	to_kal_ib_pd(base)->pd = pd;
	return 0;
}

static int kal_ib_dealloc_pd(struct ib_pd *base, struct ib_udata *udata)
{
	return kal_pd_dealloc(to_kal_ib_pd(base)->pd);
}

/* Completion queues ********************************************************* */

static void kal_ib_cq_completion(struct ri_cq *rcq)
{
	struct kal_ib_cq *cq = rcq->consumer;

	if (cq->base.comp_handler)
		cq->base.comp_handler(&cq->base, cq->base.cq_context);
}

static void kal_ib_cq_event(struct ri_cq *rcq, enum ib_event_type type)
{
	struct kal_ib_cq *cq = rcq->consumer;
	struct ib_event event = {
		.device = cq->base.device,
		.element.cq = &cq->base,
		.event = type,
	};

	if (cq->base.event_handler)
		cq->base.event_handler(&event, cq->base.cq_context);
}

static int kal_ib_create_cq(struct ib_cq *base,
			    const struct ib_cq_init_attr *attr,
			    struct uverbs_attr_bundle *attrs)
{
	struct kal_ib_device *dev = to_kal_ib_device(base->device);
	struct ib_udata *udata = attrs ? &attrs->driver_udata : NULL;
	struct kal_cq_attr rattr = {
		.depth = attr->cqe,
		.ceh = attr->comp_vector,
		.timestamps = attr->flags &
			      IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION,
		.on_completion = kal_ib_cq_completion,
		.on_event = kal_ib_cq_event,
		.consumer = to_kal_ib_cq(base),
	};
	struct ri_udata buf, *priv;
	struct ri_cq *cq;

	if (attr->flags & ~IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION)
		return -EOPNOTSUPP;
	priv = kal_ib_udata_get(udata, &buf);
	if (IS_ERR(priv))
		return PTR_ERR(priv);
	cq = kal_cq_create(dev->rnic, kal_ib_uctx(udata), &rattr, priv);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	if (kal_ib_udata_put(udata, priv)) {
		kal_cq_destroy(cq);
		return -EFAULT;
	}
	to_kal_ib_cq(base)->cq = cq;
	base->cqe = cq->depth;
	return 0;
}

static int kal_ib_destroy_cq(struct ib_cq *base, struct ib_udata *udata)
{
	return kal_cq_destroy(to_kal_ib_cq(base)->cq);
}

static int kal_ib_resize_cq(struct ib_cq *base, unsigned int cqe, struct ib_udata *udata)
{
	struct ri_udata buf, *priv = kal_ib_udata_get(udata, &buf);
	struct ri_cq *cq = to_kal_ib_cq(base)->cq;
	int ret;

	if (IS_ERR(priv))
		return PTR_ERR(priv);
	if (cqe < 1)
		return -EINVAL;
	ret = kal_cq_resize(cq, cqe, priv);
	if (ret)
		return ret;
	base->cqe = cq->depth;
	return kal_ib_udata_put(udata, priv);
}

static int kal_ib_modify_cq(struct ib_cq *base, u16 count, u16 period)
{
	return kal_cq_modify(to_kal_ib_cq(base)->cq, count, period);
}

static int kal_ib_poll_cq(struct ib_cq *base, int num_entries, struct ib_wc *wc)
{
	struct ri_cq *cq = to_kal_ib_cq(base)->cq;

	return cq->obj.rnic->ops->cq_poll(cq, num_entries, wc);
}

static int kal_ib_req_notify_cq(struct ib_cq *base,
				enum ib_cq_notify_flags flags)
{
	struct ri_cq *cq = to_kal_ib_cq(base)->cq;

	return cq->obj.rnic->ops->cq_req_notify(cq, flags);
}

/* Memory regions ************************************************************ */

static struct ib_mr *kal_ib_mr_finish(struct kal_ib_mr *mr, struct ri_mr *rmr)
{
	if (IS_ERR(rmr)) {
		kfree(mr);
		return ERR_CAST(rmr);
	}
	mr->mr = rmr;
	mr->base.lkey = rmr->stag;
	mr->base.rkey = rmr->stag;
	mr->base.length = rmr->length;
	mr->base.iova = rmr->iova;
	return &mr->base;
}

/* Register a region of pinned memory. */
static struct ri_mr *kal_ib_mr_make(struct ri_pd *pd, struct ri_mr_attr *attr,
				    struct ib_udata *udata)
{
	struct ri_udata buf, *priv = kal_ib_udata_get(udata, &buf);
	struct ri_mr *mr;

	if (IS_ERR(priv))
		return ERR_CAST(priv);
	mr = kal_mr_register(pd, attr, priv);
	if (IS_ERR(mr))
		return mr;
	/* the memory belongs to the region now */
	attr->region = NULL;
	/*
	 * ib_uverbs also returns the STag to user space. Another thread may have guessed it
	 * and already bound a window. The region then stays until the device is closed.
	 */
	if (kal_ib_udata_put(udata, priv) && !kal_mr_deregister(mr))
		return ERR_PTR(-EFAULT);
	return mr;
}

static struct ri_mr *kal_ib_mr_pin(struct ri_pd *pd, struct ri_mr_attr *attr,
				   struct ib_udata *udata)
{
	struct ri_mr *mr;
	int ret;

	ret = kal_mr_check(pd->obj.rnic, attr);
	if (!ret)
		ret = kal_mr_pin(attr);
	if (ret)
		return ERR_PTR(ret);
	mr = kal_ib_mr_make(pd, attr, udata);
	if (IS_ERR(mr))
		kal_mr_unpin(attr->region);
	return mr;
}

static struct ib_mr *kal_ib_mr_register(struct ib_pd *base,
					struct ri_mr_attr *attr,
					struct ib_udata *udata)
{
	struct kal_ib_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);

	if (!mr)
		return ERR_PTR(-ENOMEM);
	return kal_ib_mr_finish(mr, kal_ib_mr_pin(to_kal_ib_pd(base)->pd, attr, udata));
}

static struct ib_mr *kal_ib_reg_user_mr(struct ib_pd *base, u64 start,
					u64 length, u64 iova, int access,
					struct ib_dmah *dmah,
					struct ib_udata *udata)
{
	struct ri_mr_attr attr = {
		.start = start,
		.length = length,
		.iova = iova,
		.access = access,
	};

	if (dmah)
		return ERR_PTR(-EOPNOTSUPP);
	return kal_ib_mr_register(base, &attr, udata);
}

/* The driver's part of @attrs is empty. */
static struct ib_mr *kal_ib_reg_user_mr_dmabuf(struct ib_pd *base, u64 offset,
					       u64 length, u64 iova, int fd,
					       int access,
					       struct ib_dmah *dmah,
					       struct uverbs_attr_bundle *attrs)
{
	struct ri_mr_attr attr = {
		.start = offset,
		.length = length,
		.iova = iova,
		.access = access,
		.dmabuf = true,
		.fd = fd,
	};

	if (dmah)
		return ERR_PTR(-EOPNOTSUPP);
	return kal_ib_mr_register(base, &attr, NULL);
}

/* Reregister a region in place, so ib_core gets no new object. */
static struct ib_mr *kal_ib_rereg_user_mr(struct ib_mr *base, int flags,
					  u64 start, u64 length, u64 iova,
					  int access, struct ib_pd *pd,
					  struct ib_udata *udata)
{
	struct ri_mr_attr attr = {
		.start = start,
		.length = length,
		.iova = iova,
		.access = access,
	};
	struct ri_mr *mr = to_kal_ib_mr(base)->mr;
	struct kal_mr_change change;
	int ret;

	ret = kal_mr_change_begin(mr, flags, &attr, &change);
	if (!ret)
		ret = kal_mr_change_pin(&change);
	if (ret)
		return ERR_PTR(ret);
	/* ib_uverbs allows no other change meanwhile, so the change is not stale */
	ret = kal_mr_reregister(mr, &change, to_kal_ib_pd(pd)->pd);
	kal_mr_change_end(&change);
	if (ret)
		return ERR_PTR(ret);
	base->lkey = mr->stag;
	base->rkey = mr->stag;
	return NULL;
}

static struct ib_mr *kal_ib_get_dma_mr(struct ib_pd *base, int access)
{
	struct kal_ib_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);

	if (!mr)
		return ERR_PTR(-ENOMEM);
	return kal_ib_mr_finish(mr, kal_mr_register_dma(to_kal_ib_pd(base)->pd,
							access));
}

static struct ib_mr *kal_ib_alloc_mr(struct ib_pd *base, enum ib_mr_type type,
				     u32 max_num_sg)
{
	struct kal_ib_mr *mr;

	if (type != IB_MR_TYPE_MEM_REG && type != IB_MR_TYPE_SG_GAPS)
		return ERR_PTR(-EOPNOTSUPP);
	mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	return kal_ib_mr_finish(mr, kal_mr_alloc(to_kal_ib_pd(base)->pd, max_num_sg,
						 type == IB_MR_TYPE_SG_GAPS));
}

static int kal_ib_set_page(struct ib_mr *base, u64 addr)
{
	struct ri_page_list *list = &to_kal_ib_mr(base)->mr->list;

	if (list->num == list->max)
		return -ENOMEM;
	list->pages[list->num++] = addr;
	return 0;
}

/* Add elements of any address and length, up to the size of the list; compare ib_sg_to_pages(). */
static int kal_ib_map_gaps(struct ib_mr *base, struct scatterlist *sgl, int nents,
			   unsigned int *offsetp)
{
	struct ri_page_list *list = &to_kal_ib_mr(base)->mr->list;
	unsigned int offset = offsetp ? *offsetp : 0;
	struct scatterlist *sg;
	int i;

	if (nents <= 0 || offset > sg_dma_len(sgl))
		return -EINVAL;
	base->iova = sg_dma_address(sgl) + offset;
	base->length = 0;
	nents = min_t(u32, nents, list->max);
	for_each_sg(sgl, sg, nents, i) {
		base->length += sg_dma_len(sg) - offset;
		list->pages[i] = sg_dma_address(sg) + offset;
		list->ends[i] = base->length;
		offset = 0;
	}
	list->num = nents;
	if (offsetp)
		*offsetp = 0;
	return nents;
}

/*
 * Fill in the page list. This function is called on the I/O path and does not call the
 * provider. The provider reads the list when it processes the work request.
 */
static int kal_ib_map_mr_sg(struct ib_mr *base, struct scatterlist *sg,
			    int sg_nents, unsigned int *sg_offset)
{
	struct ri_page_list *list = &to_kal_ib_mr(base)->mr->list;

	if (list->ends)
		return kal_ib_map_gaps(base, sg, sg_nents, sg_offset);
	if (base->page_size < PAGE_SIZE || !is_power_of_2(base->page_size))
		return -EINVAL;
	list->num = 0;
	list->page_shift = ilog2(base->page_size);
	return ib_sg_to_pages(base, sg, sg_nents, sg_offset, kal_ib_set_page);
}

static int kal_ib_dereg_mr(struct ib_mr *base, struct ib_udata *udata)
{
	struct kal_ib_mr *mr = to_kal_ib_mr(base);
	int ret = kal_mr_deregister(mr->mr);

	if (!ret)
		kfree(mr);
	return ret;
}

COMPAT_DEFINE_CREATE_CQ(kal_ib_create_cq)
COMPAT_DEFINE_RESIZE_USER_CQ(kal_ib_resize_cq)
COMPAT_DEFINE_REG_USER_MR(kal_ib_reg_user_mr)
COMPAT_DEFINE_REG_USER_MR_DMABUF(kal_ib_reg_user_mr_dmabuf)

const struct ib_device_ops kal_ib_verbs_ops = {
	.alloc_mr = kal_ib_alloc_mr,
	.alloc_pd = kal_ib_alloc_pd,
	COMPAT_CREATE_CQ(kal_ib_create_cq),
	.dealloc_pd = kal_ib_dealloc_pd,
	.dereg_mr = kal_ib_dereg_mr,
	.destroy_cq = kal_ib_destroy_cq,
	.get_dma_mr = kal_ib_get_dma_mr,
	.map_mr_sg = kal_ib_map_mr_sg,
	.modify_cq = kal_ib_modify_cq,
	.poll_cq = kal_ib_poll_cq,
	COMPAT_REG_USER_MR(kal_ib_reg_user_mr),
	COMPAT_REG_USER_MR_DMABUF(kal_ib_reg_user_mr_dmabuf),
	.req_notify_cq = kal_ib_req_notify_cq,
	.rereg_user_mr = kal_ib_rereg_user_mr,
	COMPAT_RESIZE_USER_CQ(kal_ib_resize_cq),

	INIT_RDMA_OBJ_SIZE(ib_cq, kal_ib_cq, base),
	INIT_RDMA_OBJ_SIZE(ib_pd, kal_ib_pd, base),
};

/* Memory windows ************************************************************ */

static int kal_ib_alloc_mw(struct ib_mw *base, struct ib_udata *udata)
{
	struct ri_mw *mw = kal_mw_alloc(to_kal_ib_pd(base->pd)->pd, base->type);

	if (IS_ERR(mw))
		return PTR_ERR(mw);
	to_kal_ib_mw(base)->mw = mw;
	base->rkey = mw->stag;
	return 0;
}

static int kal_ib_dealloc_mw(struct ib_mw *base)
{
	kal_mw_dealloc(to_kal_ib_mw(base)->mw);
	return 0;
}

const struct ib_device_ops kal_ib_mw_ops = {
	.alloc_mw = kal_ib_alloc_mw,
	.dealloc_mw = kal_ib_dealloc_mw,

	INIT_RDMA_OBJ_SIZE(ib_mw, kal_ib_mw, base),
};
