// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The verbs that consumers call. Each verb checks the abilities and limits that the provider
 * stated, keeps the resource tree (resource.c) and calls the provider. A provider therefore
 * never sees an argument beyond the abilities and limits that it stated. The verbs of queue
 * pairs are in verbs_qp.c. Called by the consumer sides.
 */
#include <linux/cleanup.h>
#include <linux/cred.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "internal.h"

/* User contexts ************************************************************* */

/**
 * kal_user_check() - may a user open a context of the RNIC?
 * @rnic: RNIC
 * @cred: credentials of the task that opened /dev/krdma
 *
 * Return: 0, or -EACCES: the administrator has not given the right. Context: process.
 */
int kal_user_check(struct ri_rnic *rnic, const struct cred *cred)
{
	const struct cred *own;
	int ret;

	if (!rnic->ops->user_check)
		return 0;
	own = override_creds(cred);
	ret = rnic->ops->user_check(rnic);
	revert_creds(own);
	return ret;
}

struct ri_ucontext *kal_ucontext_alloc(struct ri_rnic *rnic,
				       const struct ri_shmem_ops *shm_ops,
				       void *consumer, struct ri_udata *udata)
{
	struct ri_ucontext *uctx;
	int ret;

	if (!rnic->ops->ucontext_alloc)
		return ERR_PTR(-EOPNOTSUPP);
	uctx = kal_obj_alloc(rnic, RI_OBJ_UCONTEXT, rnic->ops->size_ucontext,
			     NULL);
	if (IS_ERR(uctx))
		return uctx;
	uctx->shm_ops = shm_ops;
	uctx->consumer = consumer;
	ret = rnic->ops->ucontext_alloc(uctx, udata);
	if (ret) {
		kal_obj_free(&uctx->obj);
		return ERR_PTR(ret);
	}
	kal_obj_publish(&uctx->obj);
	return uctx;
}

/* Called when all objects of @uctx are gone. */
void kal_ucontext_dealloc(struct ri_ucontext *uctx)
{
	WARN_ON(atomic_read(&uctx->obj.children));
	kal_obj_unpublish(&uctx->obj);
	uctx->obj.rnic->ops->ucontext_dealloc(uctx);
	kal_obj_free(&uctx->obj);
}

static struct ri_obj *kal_uctx_obj(struct ri_ucontext *uctx)
{
	return uctx ? &uctx->obj : NULL;
}

/* Protection domains ******************************************************** */

static struct ri_pd *kal_pd_new(struct ri_rnic *rnic, struct ri_ucontext *uctx,
				bool slow, struct ri_udata *udata)
{
	struct ri_pd *pd;
	int ret;

	pd = kal_obj_alloc(rnic, RI_OBJ_PD, rnic->ops->size_pd,
			   kal_uctx_obj(uctx));
	if (IS_ERR(pd))
		return pd;
	pd->uctx = uctx;
	pd->slow = slow;
	ret = rnic->ops->pd_alloc ? rnic->ops->pd_alloc(pd, udata) : 0;
	if (ret) {
		kal_obj_free(&pd->obj);
		return ERR_PTR(ret);
	}
	kal_obj_publish(&pd->obj);
	return pd;
}

struct ri_pd *kal_pd_alloc(struct ri_rnic *rnic, struct ri_ucontext *uctx,
			   struct ri_udata *udata)
{
	return kal_pd_new(rnic, uctx, false, udata);
}
EXPORT_SYMBOL_GPL(kal_pd_alloc);

struct ri_pd *kal_pd_alloc_slow(struct ri_rnic *rnic)
{
	return kal_pd_new(rnic, NULL, true, NULL);
}

int kal_pd_dealloc(struct ri_pd *pd)
{
	if (atomic_read(&pd->obj.children))
		return -EBUSY;
	kal_obj_unpublish(&pd->obj);
	if (pd->obj.rnic->ops->pd_dealloc)
		pd->obj.rnic->ops->pd_dealloc(pd);
	kal_obj_free(&pd->obj);
	return 0;
}
EXPORT_SYMBOL_GPL(kal_pd_dealloc);

/* Completion queues ********************************************************* */

static bool kal_cq_depth_ok(const struct ri_rnic *rnic, u32 depth)
{
	return depth && depth <= rnic->attr.limits.max_cqe;
}

struct ri_cq *kal_cq_create(struct ri_rnic *rnic, struct ri_ucontext *uctx,
			    const struct kal_cq_attr *attr,
			    struct ri_udata *udata)
{
	struct ri_cq *cq;
	int ret;

	if (!kal_cq_depth_ok(rnic, attr->depth) ||
	    attr->ceh >= rnic->attr.num_ceh)
		return ERR_PTR(-EINVAL);
	/* struct ib_wc, the completion of a kernel consumer, has no timestamp */
	if (attr->timestamps && (!uctx || !rnic->attr.limits.timestamp_mask))
		return ERR_PTR(-EOPNOTSUPP);
	cq = kal_obj_alloc(rnic, RI_OBJ_CQ, rnic->ops->size_cq,
			   kal_uctx_obj(uctx));
	if (IS_ERR(cq))
		return cq;
	cq->uctx = uctx;
	cq->depth = attr->depth;
	cq->ceh = attr->ceh;
	cq->slow = attr->slow;
	cq->timestamps = attr->timestamps;
	cq->on_completion = attr->on_completion;
	cq->on_event = attr->on_event;
	cq->consumer = attr->consumer;
	ret = rnic->ops->cq_create(cq, udata);
	if (ret) {
		kal_obj_free(&cq->obj);
		return ERR_PTR(ret);
	}
	kal_obj_publish(&cq->obj);
	return cq;
}
EXPORT_SYMBOL_GPL(kal_cq_create);

int kal_cq_resize(struct ri_cq *cq, u32 depth, struct ri_udata *udata)
{
	struct ri_rnic *rnic = cq->obj.rnic;

	if (!rnic->ops->cq_resize)
		return -EOPNOTSUPP;
	if (!kal_cq_depth_ok(rnic, depth))
		return -EINVAL;
	return rnic->ops->cq_resize(cq, depth, udata);
}
EXPORT_SYMBOL_GPL(kal_cq_resize);

int kal_cq_modify(struct ri_cq *cq, u16 count, u16 period)
{
	const struct ib_cq_caps *caps = &cq->obj.rnic->attr.limits.cq_caps;

	if (!cq->obj.rnic->ops->cq_modify || !caps->max_cq_moderation_count)
		return -EOPNOTSUPP;
	if (count > caps->max_cq_moderation_count ||
	    period > caps->max_cq_moderation_period)
		return -EINVAL;
	return cq->obj.rnic->ops->cq_modify(cq, count, period);
}
EXPORT_SYMBOL_GPL(kal_cq_modify);

int kal_cq_destroy(struct ri_cq *cq)
{
	if (atomic_read(&cq->obj.children))
		return -EBUSY;
	kal_obj_unpublish(&cq->obj);
	cq->obj.rnic->ops->cq_destroy(cq);
	kal_obj_free(&cq->obj);
	return 0;
}
EXPORT_SYMBOL_GPL(kal_cq_destroy);

/* Shared receive queues ***************************************************** */

struct ri_srq *kal_srq_create(struct ri_pd *pd, struct ri_srq_init_attr *attr,
			      void (*on_event)(struct ri_srq *,
					       enum ib_event_type),
			      void *consumer, struct ri_udata *udata)
{
	const struct ib_device_attr *limits = &pd->obj.rnic->attr.limits;
	const struct ri_ops *ops = pd->obj.rnic->ops;
	struct ri_srq *srq;
	int ret;

	if (!ops->srq_create || !(pd->obj.rnic->attr.caps & RI_CAP_SRQ))
		return ERR_PTR(-EOPNOTSUPP);
	if (!attr->attr.max_wr || attr->attr.max_wr > limits->max_srq_wr ||
	    attr->attr.max_sge > limits->max_srq_sge ||
	    attr->attr.srq_limit > attr->attr.max_wr)
		return ERR_PTR(-EINVAL);
	srq = kal_obj_alloc(pd->obj.rnic, RI_OBJ_SRQ, ops->size_srq, &pd->obj);
	if (IS_ERR(srq))
		return srq;
	srq->pd = pd;
	srq->on_event = on_event;
	srq->consumer = consumer;
	ret = ops->srq_create(srq, attr, udata);
	if (ret) {
		kal_obj_free(&srq->obj);
		return ERR_PTR(ret);
	}
	kal_obj_publish(&srq->obj);
	return srq;
}
EXPORT_SYMBOL_GPL(kal_srq_create);

int kal_srq_modify(struct ri_srq *srq, const struct ib_srq_attr *attr,
		   enum ib_srq_attr_mask mask, struct ri_udata *udata)
{
	struct ri_rnic *rnic = srq->obj.rnic;

	if ((mask & IB_SRQ_MAX_WR) &&
	    (!attr->max_wr || attr->max_wr > rnic->attr.limits.max_srq_wr))
		return -EINVAL;
	return rnic->ops->srq_modify(srq, attr, mask, udata);
}
EXPORT_SYMBOL_GPL(kal_srq_modify);

int kal_srq_query(struct ri_srq *srq, struct ib_srq_attr *attr)
{
	return srq->obj.rnic->ops->srq_query(srq, attr);
}
EXPORT_SYMBOL_GPL(kal_srq_query);

int kal_srq_destroy(struct ri_srq *srq)
{
	if (atomic_read(&srq->obj.children))
		return -EBUSY;
	kal_obj_unpublish(&srq->obj);
	srq->obj.rnic->ops->srq_destroy(srq);
	kal_obj_free(&srq->obj);
	return 0;
}
EXPORT_SYMBOL_GPL(kal_srq_destroy);

/* Memory regions ************************************************************ */

/*
 * Rights that the RNIC does not support are refused, with two exceptions: optional flags, and
 * rights to operations that the RNIC does not have. Programs ask for all rights at once. A
 * right that no operation can use grants nothing.
 */
static int kal_mr_access_check(int access)
{
	int able = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |
		   IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC |
		   IB_ACCESS_MW_BIND | IB_ZERO_BASED | IB_ACCESS_HUGETLB |
		   IB_ACCESS_OPTIONAL;

	if (access & ~IB_ACCESS_SUPPORTED)
		return -EINVAL;
	if (access & ~able)
		return -EOPNOTSUPP;
	/* remote write rights require the local write right */
	if ((access & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)) &&
	    !(access & IB_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	return 0;
}

/* Check @attr and convert it to the form that the provider sees. */
static int kal_mr_attr_check(const struct ri_rnic *rnic,
			     struct ri_mr_attr *attr)
{
	u64 end;
	int ret;

	ret = kal_mr_access_check(attr->access);
	if (ret)
		return ret;
	if (attr->dmabuf && !(rnic->attr.caps & RI_CAP_DMABUF))
		return -EOPNOTSUPP;
	if (attr->access & IB_ZERO_BASED)
		attr->iova = 0;
	if (attr->length > rnic->attr.limits.max_mr_size ||
	    check_add_overflow(attr->start, attr->length, &end) ||
	    check_add_overflow(attr->iova, attr->length, &end))
		return -EINVAL;
	return 0;
}

static void kal_mr_set_attr(struct ri_mr *mr, const struct ri_mr_attr *attr)
{
	mr->access = attr->access;
	mr->start = attr->start;
	mr->length = attr->length;
	mr->iova = attr->iova;
}

static struct ri_mr *kal_mr_new(struct ri_pd *pd)
{
	struct ri_mr *mr = kal_obj_alloc(pd->obj.rnic, RI_OBJ_MR,
					 pd->obj.rnic->ops->size_mr, &pd->obj);

	if (!IS_ERR(mr))
		mr->pd = pd;
	return mr;
}

/**
 * kal_mr_check() - check whether a region can be registered
 * @rnic: RNIC
 * @attr: attributes of the region; @own_pins is set
 *
 * kal_mr_register() makes the same checks. This function is for a caller that releases @rnic
 * while it pins memory, and that must report errors before the pinning.
 *
 * Return: 0, -EINVAL, -EOPNOTSUPP. Context: any.
 */
int kal_mr_check(const struct ri_rnic *rnic, struct ri_mr_attr *attr)
{
	struct ri_mr_attr copy = *attr;

	attr->own_pins = rnic->attr.caps & RI_CAP_OWN_PINS;
	return kal_mr_attr_check(rnic, &copy);
}

static bool kal_mr_writes(int access)
{
	return access & (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |
			 IB_ACCESS_REMOTE_ATOMIC);
}

/**
 * kal_mr_pin() - pin the memory of a future region
 * @attr: attributes of the region; its @region is set to the memory, or to NULL for none
 *
 * User space can delay this function for ever, so the caller must not hold any object of an
 * RNIC.
 *
 * Return: 0, -EINVAL, -EFAULT, -ENOMEM (memory or RLIMIT_MEMLOCK), -EPERM, -EINTR; for a
 * dma-buf also -EBADF, -EACCES and the exporter's errors. Context: of the process; may sleep.
 */
int kal_mr_pin(struct ri_mr_attr *attr)
{
	const bool writes = kal_mr_writes(attr->access);
	struct ri_vm_region *region = NULL;

	if (attr->own_pins)
		region = NULL;
	else if (attr->dmabuf)
		region = kal_vm_pin_dmabuf(attr->fd, attr->start, attr->length, writes);
	else if (attr->length)
		region = kal_vm_pin_range(attr->start, attr->length, writes);
	attr->region = IS_ERR(region) ? NULL : region;
	return PTR_ERR_OR_ZERO(region);
}

/* Unpin memory that does not belong to a region. May sleep; any process. */
void kal_mr_unpin(struct ri_vm_region *region)
{
	if (region)
		kal_vm_unpin(region);
}

/**
 * kal_mr_register() - register a region of pinned memory
 * @pd: protection domain
 * @wanted: attributes; @wanted->region, from kal_mr_pin(), belongs to the region on success
 * @udata: provider's own bytes, or NULL
 *
 * Return: the region or an ERR_PTR. Context: may sleep.
 */
struct ri_mr *kal_mr_register(struct ri_pd *pd, const struct ri_mr_attr *wanted,
			      struct ri_udata *udata)
{
	struct ri_rnic *rnic = pd->obj.rnic;
	struct ri_mr_attr attr = *wanted;
	struct ri_mr *mr;
	int ret;

	ret = kal_mr_attr_check(rnic, &attr);
	if (ret)
		return ERR_PTR(ret);
	/* the memory was pinned for another kind of RNIC, or was not pinned for this kind */
	if (attr.own_pins != !!(rnic->attr.caps & RI_CAP_OWN_PINS))
		return ERR_PTR(-EINVAL);
	mr = kal_mr_new(pd);
	if (IS_ERR(mr))
		return mr;
	kal_mr_set_attr(mr, &attr);
	mr->region = attr.region;
	ret = rnic->ops->mr_register(mr, &attr, udata);
	if (ret) {
		kal_obj_free(&mr->obj);
		return ERR_PTR(ret);
	}
	kal_obj_publish(&mr->obj);
	return mr;
}

struct ri_mr *kal_mr_register_dma(struct ri_pd *pd, int access)
{
	struct ri_rnic *rnic = pd->obj.rnic;
	struct ri_mr *mr;
	int ret;

	if (!rnic->ops->mr_register_dma || !ri_pd_is_kernels(pd))
		return ERR_PTR(-EOPNOTSUPP);
	ret = kal_mr_access_check(access);
	if (ret)
		return ERR_PTR(ret);
	mr = kal_mr_new(pd);
	if (IS_ERR(mr))
		return mr;
	mr->length = U64_MAX;
	ret = rnic->ops->mr_register_dma(mr, access);
	if (ret) {
		kal_obj_free(&mr->obj);
		return ERR_PTR(ret);
	}
	kal_obj_publish(&mr->obj);
	return mr;
}
EXPORT_SYMBOL_GPL(kal_mr_register_dma);

static void kal_mr_free(struct ri_mr *mr)
{
	kal_mr_unpin(mr->region);
	kvfree(mr->list.pages);
	kvfree(mr->list.ends);
	kal_obj_free(&mr->obj);
}

static int kal_mr_make_list(struct ri_mr *mr, u32 max, bool gaps)
{
	struct ri_page_list *list = &mr->list;

	list->max = max;
	/* no warning: kvcalloc() gives up at 2 GiB, which a long list may need */
	list->pages = kvcalloc(max, sizeof(*list->pages), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (gaps)
		list->ends = kvcalloc(max, sizeof(*list->ends), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	return !list->pages || (gaps && !list->ends) ? -ENOMEM : 0;
}

static struct ri_mr *kal_mr_alloc_list(struct ri_pd *pd, u32 max, bool gaps)
{
	struct ri_rnic *rnic = pd->obj.rnic;
	struct ri_mr *mr;
	int ret;

	if (!rnic->ops->mr_alloc || !ri_pd_is_kernels(pd) ||
	    (gaps && !(rnic->attr.caps & RI_CAP_SG_GAPS)))
		return ERR_PTR(-EOPNOTSUPP);
	mr = kal_mr_new(pd);
	if (IS_ERR(mr))
		return mr;
	ret = kal_mr_make_list(mr, max, gaps) ?: rnic->ops->mr_alloc(mr);
	if (ret) {
		kal_mr_free(mr);
		return ERR_PTR(ret);
	}
	kal_obj_publish(&mr->obj);
	return mr;
}

struct ri_mr *kal_mr_alloc(struct ri_pd *pd, u32 max, bool gaps)
{
	if (!max || max > pd->obj.rnic->attr.limits.max_fast_reg_page_list_len)
		return ERR_PTR(-EINVAL);
	return kal_mr_alloc_list(pd, max, gaps);
}
EXPORT_SYMBOL_GPL(kal_mr_alloc);

struct ri_mr *kal_mr_alloc_map(struct ri_pd *pd, u32 max, bool gaps)
{
	if (!pd->obj.rnic->ops->mr_map)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max)
		return ERR_PTR(-EINVAL);
	return kal_mr_alloc_list(pd, max, gaps);
}
EXPORT_SYMBOL_GPL(kal_mr_alloc_map);

/**
 * kal_mr_map() - name the memory of mr->list at once, without a work request
 * @mr: region of kal_mr_alloc() or kal_mr_alloc_map() that names nothing
 * @iova: tagged offset of the first byte; with pages, its offset in a page is that of the memory
 * @length: bytes, not 0
 * @key: the STag with a new key in its low 8 bits, which becomes mr->stag
 * @access: enum ib_access_flags
 *
 * Return: 0; -EOPNOTSUPP: the RNIC cannot, or a right is not supported; -EINVAL: the list is
 * shorter than @length, an address wraps, or @key or @access is wrong; -EBUSY: @mr names memory.
 * Context: may sleep.
 */
int kal_mr_map(struct ri_mr *mr, u64 iova, u64 length, u32 key, int access)
{
	struct ri_rnic *rnic = mr->obj.rnic;
	u64 last;
	int ret;

	if (!rnic->ops->mr_map)
		return -EOPNOTSUPP;
	ret = kal_mr_access_check(access);
	if (ret)
		return ret;
	if (!mr->list.num || mr->list.num > mr->list.max || (key ^ mr->stag) >> 8 || !length ||
	    length > rnic->attr.limits.max_mr_size ||
	    check_add_overflow(iova, length - 1, &last))
		return -EINVAL;
	return rnic->ops->mr_map(mr, iova, length, key, access);
}
EXPORT_SYMBOL_GPL(kal_mr_map);

/* Make the region a child of @pd, which may already be its PD. */
static void kal_mr_set_pd(struct ri_mr *mr, struct ri_pd *pd)
{
	atomic_inc(&pd->obj.children);
	atomic_dec(&mr->pd->obj.children);
	mr->obj.parent = &pd->obj;
	mr->pd = pd;
}

/*
 * Compute the attributes of the changed region in @attr. @pin says whether memory must be
 * pinned: either different memory, or the same memory again because it was pinned without
 * write access.
 */
static int kal_mr_merge(const struct ri_mr *mr, int flags, const struct ri_mr_attr *wanted,
			struct ri_mr_attr *attr, bool *pin)
{
	const struct ri_vm_region *region = mr->region;

	*attr = (struct ri_mr_attr) {
		.start = mr->start,
		.length = mr->length,
		.iova = mr->iova,
		.access = mr->access,
	};
	if (flags & IB_MR_REREG_TRANS) {
		attr->start = wanted->start;
		attr->length = wanted->length;
		attr->iova = wanted->iova;
	}
	if (flags & IB_MR_REREG_ACCESS)
		attr->access = wanted->access;
	*pin = flags & IB_MR_REREG_TRANS;
	if (*pin)
		return kal_mr_attr_check(mr->obj.rnic, attr);
	/* IB_ZERO_BASED is a part of the translation and not a right */
	if (attr->access & ~mr->access & IB_ZERO_BASED)
		return -EINVAL;
	attr->access |= mr->access & IB_ZERO_BASED;
	*pin = region && !region->writable && kal_mr_writes(attr->access);
	/* the memory is pinned again by its address, which must still refer to the same memory */
	if (*pin && region->dmabuf)
		return -EACCES;
	if (*pin && region->mm != current->mm)
		return -EPERM;
	return kal_mr_attr_check(mr->obj.rnic, attr);
}

/**
 * kal_mr_change_begin() - determine what a reregistration needs
 * @mr: region; the caller prevents other changes until this function returns
 * @flags: attributes to change, enum ib_mr_rereg_flags
 * @wanted: new values
 * @change: for kal_mr_change_pin(); kal_mr_change_end() must follow
 *
 * Return: 0, -EINVAL, -EOPNOTSUPP, -EACCES, -EPERM. Context: of the process.
 */
int kal_mr_change_begin(const struct ri_mr *mr, int flags, const struct ri_mr_attr *wanted,
			struct kal_mr_change *change)
{
	change->flags = flags;
	change->pinned = false;
	change->attr.region = NULL;
	if (!mr->obj.rnic->ops->mr_reregister)
		return -EOPNOTSUPP;
	if (!flags || flags & ~IB_MR_REREG_SUPPORTED)
		return -EINVAL;
	return kal_mr_merge(mr, flags, wanted, &change->attr, &change->pin);
}

/* Call kal_mr_pin() if there is memory to pin. */
int kal_mr_change_pin(struct kal_mr_change *change)
{
	int ret = change->pin ? kal_mr_pin(&change->attr) : 0;

	change->pinned = change->pin && !ret;
	return ret;
}

/* Unpin the memory that does not belong to the region after the change. May sleep. */
void kal_mr_change_end(struct kal_mr_change *change)
{
	if (change->pinned)
		kal_mr_unpin(change->attr.region);
	change->pinned = false;
}

static bool kal_mr_attr_same(const struct ri_mr_attr *a, const struct ri_mr_attr *b)
{
	return a->start == b->start && a->length == b->length && a->iova == b->iova &&
	       a->access == b->access;
}

/**
 * kal_mr_reregister() - change a region in place
 * @mr: region; the caller prevents other changes
 * @change: change that was begun and pinned
 * @pd: new protection domain, used if the change includes it
 *
 * Return: 0, or an errno, and nothing has changed: -ESTALE if the region has changed since
 * kal_mr_change_begin(), -EBUSY while a window is bound to it, -EINVAL, -EACCES, -EPERM.
 * Context: of the process; may sleep.
 */
int kal_mr_reregister(struct ri_mr *mr, struct kal_mr_change *change, struct ri_pd *pd)
{
	struct ri_vm_region *old = mr->region;
	struct ri_mr_attr attr;
	bool pin;
	int ret;

	if (!(change->flags & IB_MR_REREG_PD))
		pd = mr->pd;
	if (pd->obj.rnic != mr->obj.rnic || pd->uctx != mr->pd->uctx ||
	    pd->slow != mr->pd->slow)
		return -EINVAL;
	ret = kal_mr_merge(mr, change->flags, &change->attr, &attr, &pin);
	if (ret)
		return ret;
	if (pin != change->pin || !kal_mr_attr_same(&attr, &change->attr))
		return -ESTALE;
	attr.region = pin ? change->attr.region : old;
	ret = mr->obj.rnic->ops->mr_reregister(mr, change->flags, &attr, pd);
	if (ret)
		return ret;
	kal_mr_set_attr(mr, &attr);
	kal_mr_set_pd(mr, pd);
	if (pin) {
		mr->region = attr.region;
		change->attr.region = old;
	}
	return 0;
}

int kal_mr_deregister(struct ri_mr *mr)
{
	int ret;

	/* for example -EBUSY while a memory window is bound to it */
	ret = mr->obj.rnic->ops->mr_deregister(mr);
	if (ret)
		return ret;
	kal_obj_unpublish(&mr->obj);
	kal_mr_free(mr);
	return 0;
}
EXPORT_SYMBOL_GPL(kal_mr_deregister);

/* Memory windows ************************************************************ */

struct ri_mw *kal_mw_alloc(struct ri_pd *pd, enum ib_mw_type type)
{
	struct ri_rnic *rnic = pd->obj.rnic;
	struct ri_mw *mw;
	u64 cap;
	int ret;

	cap = type == IB_MW_TYPE_1 ? IB_DEVICE_MEM_WINDOW :
				     IB_DEVICE_MEM_WINDOW_TYPE_2B;
	if (!rnic->ops->mw_alloc ||
	    !(rnic->attr.limits.device_cap_flags & cap))
		return ERR_PTR(-EOPNOTSUPP);
	mw = kal_obj_alloc(rnic, RI_OBJ_MW, rnic->ops->size_mw, &pd->obj);
	if (IS_ERR(mw))
		return mw;
	mw->pd = pd;
	mw->type = type;
	ret = rnic->ops->mw_alloc(mw);
	if (ret) {
		kal_obj_free(&mw->obj);
		return ERR_PTR(ret);
	}
	kal_obj_publish(&mw->obj);
	return mw;
}
EXPORT_SYMBOL_GPL(kal_mw_alloc);

void kal_mw_dealloc(struct ri_mw *mw)
{
	kal_obj_unpublish(&mw->obj);
	mw->obj.rnic->ops->mw_dealloc(mw);
	kal_obj_free(&mw->obj);
}
EXPORT_SYMBOL_GPL(kal_mw_dealloc);
