// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Protection domains and memory regions.
 *
 * Memory of a user is registered by the device's own registration (ib_reg_user_mr()), which pins
 * the memory and charges it to the calling process. A region by fast registration would be as
 * short as the device's page list, and would need a connected service queue pair for each
 * protection domain.
 *
 * The device checks all accesses, but takes all objects of a user without library for the
 * kernel's. users.c keeps such a user from the kernel's memory.
 */
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "hw.h"

/* Protection domains ******************************************************** */

/*
 * Devices without one STag of all kernel memory get a region of it in each protection domain. No
 * user needs it, and siw lets a peer read it (docs/kernel-bugs.md). The same call as at the end of
 * the protection domain.
 */
static int hw_pd_drop_dma_region(struct ib_pd *pd)
{
	int ret = 0;

	if (pd->__internal_mr)
		ret = pd->device->ops.dereg_mr(pd->__internal_mr, NULL);
	if (ret)
		return ret;
	pd->__internal_mr = NULL;
	pd->local_dma_lkey = 0;
	return 0;
}

int hw_pd_alloc(struct ri_pd *ri, struct ri_udata *udata)
{
	struct hw_pd *pd = hw_pd(ri);
	int ret = 0;

	xa_init_flags(&pd->regions, XA_FLAGS_LOCK_IRQ | XA_FLAGS_ACCOUNT);
	INIT_LIST_HEAD(&pd->reserve);
	if (ri->slow)
		ret = hw_reserve(&pd->reserve, hw_reserve_of_pd());
	if (ret)
		return ret;
	pd->ib = ib_alloc_pd(hw_rnic(ri->obj.rnic)->ibdev, 0);
	if (IS_ERR(pd->ib)) {
		ret = PTR_ERR(pd->ib);
		goto err_reserve;
	}
	if (ri->slow)
		ret = hw_pd_drop_dma_region(pd->ib);
	if (!ret)
		return 0;
	ib_dealloc_pd(pd->ib);
err_reserve:
	hw_reserve_release(&pd->reserve);
	return ret;
}

void hw_pd_dealloc(struct ri_pd *ri)
{
	struct hw_pd *pd = hw_pd(ri);

	ib_dealloc_pd(pd->ib);
	hw_reserve_release(&pd->reserve);
	xa_destroy(&pd->regions);
}

/* The table of regions ****************************************************** */

static u32 hw_mr_index(u32 stag)
{
	return stag >> 8;
}

static int hw_mr_publish(struct hw_mr *mr)
{
	struct hw_rnic *hw = hw_rnic(mr->ri.obj.rnic);

	/* the RNIC-PI has one STag for local and remote use */
	if (mr->ib->rkey && mr->ib->rkey != mr->ib->lkey)
		return -EOPNOTSUPP;
	mr->ri.stag = mr->ib->lkey;
	/* -EBUSY: the driver's keys have not their low 8 bits for the consumer */
	return xa_insert_irq(&hw->mrs, hw_mr_index(mr->ri.stag), mr, GFP_KERNEL_ACCOUNT);
}

/**
 * hw_mr_find() - find a region by its STag, with any key
 * @hw: RNIC
 * @stag: STag
 *
 * Return: the region, which the consumer must not deregister meanwhile, or NULL. Context: any.
 */
struct hw_mr *hw_mr_find(struct hw_rnic *hw, u32 stag)
{
	return xa_load(&hw->mrs, hw_mr_index(stag));
}

/* Regions ******************************************************************* */

/*
 * Drivers whose registration works for a user library only. ib_reg_user_mr() passes no udata:
 *
 * - irdma_reg_user_mr() and mthca_reg_user_mr() read udata->inlen without a check for NULL.
 * - hns: mtr_alloc_bufs() takes a call without udata for one of the kernel. The region would name
 *   a new kernel buffer and not the user's memory.
 */
static bool hw_mr_needs_library(const struct ib_device *ibdev)
{
	switch (ibdev->ops.driver_id) {
	case RDMA_DRIVER_HNS:
	case RDMA_DRIVER_IRDMA:
	case RDMA_DRIVER_MTHCA:
		return true;
	default:
		return false;
	}
}

static int hw_mr_check(struct hw_rnic *hw, const struct ri_mr_attr *attr)
{
	if (hw_mr_needs_library(hw->ibdev) || attr->dmabuf)
		return -EOPNOTSUPP;
	/* the peer's addresses would be from 0 on, which no kernel interface asks of a device */
	if (attr->access & IB_ZERO_BASED)
		return -EOPNOTSUPP;
	/* as ib_uverbs: drivers count the pages of one, and the device those of the other */
	if ((attr->start ^ attr->iova) & ~PAGE_MASK) {
		hw_count(hw, HW_CNT_IOVA_REFUSED);
		return -EINVAL;
	}
	return 0;
}

int hw_mr_register(struct ri_mr *ri, const struct ri_mr_attr *attr, struct ri_udata *udata)
{
	struct hw_mr *mr = hw_mr(ri);
	int ret;

	ret = hw_mr_check(hw_rnic(ri->obj.rnic), attr);
	if (ret)
		return ret;
	INIT_LIST_HEAD(&mr->reserve);
	mr->ib = ib_reg_user_mr(hw_pd(ri->pd)->ib, attr->start, attr->length, attr->iova,
				attr->access & ~(IB_ACCESS_OPTIONAL | IB_ACCESS_HUGETLB));
	if (IS_ERR(mr->ib))
		return PTR_ERR(mr->ib);
	/* not earlier: until the pages are pinned, the length is the caller's word */
	ret = hw_reserve(&mr->reserve, hw_reserve_of_mr(attr->start, attr->length));
	if (ret)
		goto err_mr;
	ret = hw_mr_publish(mr);
	if (ret)
		goto err_reserve;
	ret = ri->pd->slow ? hw_users_add_region(mr, attr) : 0;
	if (!ret)
		return 0;
	xa_erase_irq(&hw_rnic(ri->obj.rnic)->mrs, hw_mr_index(ri->stag));
err_reserve:
	hw_reserve_release(&mr->reserve);
err_mr:
	ib_dereg_mr(mr->ib);
	return ret;
}

/* The protection domain's own STag of all kernel memory, for local use. */
int hw_mr_register_dma(struct ri_mr *ri, int access)
{
	if (access & ~(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_OPTIONAL))
		return -EOPNOTSUPP;
	if (!ri_pd_is_kernels(ri->pd))
		return -EPERM;
	ri->stag = hw_pd(ri->pd)->ib->local_dma_lkey;
	return 0;
}

int hw_mr_alloc(struct ri_mr *ri)
{
	const struct ri_page_list *list = &ri->list;
	struct hw_mr *mr = hw_mr(ri);
	int ret = -ENOMEM;

	INIT_LIST_HEAD(&mr->reserve);
	mr->sg = kvcalloc(list->max, sizeof(*mr->sg), GFP_KERNEL_ACCOUNT);
	if (!mr->sg)
		return -ENOMEM;
	sg_init_table(mr->sg, list->max);
	mr->ib = ib_alloc_mr(hw_pd(ri->pd)->ib,
			     list->ends ? IB_MR_TYPE_SG_GAPS : IB_MR_TYPE_MEM_REG, list->max);
	if (IS_ERR(mr->ib)) {
		ret = PTR_ERR(mr->ib);
		goto err_sg;
	}
	ret = hw_mr_publish(mr);
	if (!ret)
		return 0;
	ib_dereg_mr(mr->ib);
err_sg:
	kvfree(mr->sg);
	return ret;
}

int hw_mr_deregister(struct ri_mr *ri)
{
	struct hw_rnic *hw = hw_rnic(ri->obj.rnic);
	struct hw_mr *mr = hw_mr(ri);
	const u32 index = hw_mr_index(ri->stag);
	int ret;

	if (!mr->ib)
		return 0;
	/* not found any more before the device can use the STag again */
	hw_users_remove_region(mr);
	xa_erase_irq(&hw->mrs, index);
	ret = ib_dereg_mr(mr->ib);
	if (ret) {
		/* the slot was in use a moment ago: its memory is there */
		xa_store_irq(&hw->mrs, index, mr, GFP_KERNEL | __GFP_NOFAIL);
		hw_users_restore_region(mr);
		return ret;
	}
	kvfree(mr->sg);
	hw_reserve_release(&mr->reserve);
	return 0;
}

/* Fast registration ********************************************************* */

/* Elements of any address and length, cut at @length. */
static unsigned int hw_mr_fill_gaps(const struct hw_mr *mr, u64 length)
{
	const struct ri_page_list *list = &mr->ri.list;
	struct scatterlist *sg = mr->sg;
	unsigned int i;
	u64 begin = 0;

	for (i = 0; i < list->num && begin < length; i++, sg++) {
		sg_dma_address(sg) = list->pages[i];
		sg_dma_len(sg) = min(list->ends[i], length) - begin;
		begin = list->ends[i];
	}
	return i;
}

/* Whole pages; the first byte is at @offset of the first. */
static unsigned int hw_mr_fill_pages(const struct hw_mr *mr, u32 offset, u64 length)
{
	const struct ri_page_list *list = &mr->ri.list;
	const u64 page_size = BIT_ULL(list->page_shift);
	struct scatterlist *sg = mr->sg;
	unsigned int i;

	for (i = 0; i < list->num && length; i++, sg++) {
		const u32 len = min(page_size - offset, length);

		sg_dma_address(sg) = list->pages[i] + offset;
		sg_dma_len(sg) = len;
		length -= len;
		offset = 0;
	}
	return i;
}

/**
 * hw_mr_map_list() - give the driver the list that a fast registration is to name
 * @mr: region of hw_mr_alloc(), whose list the consumer filled
 * @iova: tagged offset of the first byte
 * @length: length in bytes
 *
 * Return: 0, -EINVAL (the list is shorter than @length), or the driver's error. Context: any.
 */
int hw_mr_map_list(struct hw_mr *mr, u64 iova, u64 length)
{
	const u32 page_size = mr->ri.list.ends ? PAGE_SIZE : BIT(mr->ri.list.page_shift);
	unsigned int i, n;
	u64 named = 0;

	if (!mr->sg || !length)
		return -EINVAL;
	n = mr->ri.list.ends ? hw_mr_fill_gaps(mr, length) :
			       hw_mr_fill_pages(mr, iova & (page_size - 1), length);
	for (i = 0; i < n; i++)
		named += sg_dma_len(mr->sg + i);
	if (named != length)
		return -EINVAL;
	if (ib_map_mr_sg(mr->ib, mr->sg, n, NULL, page_size) != n)
		return -EINVAL;
	mr->ib->iova = iova;
	return 0;
}
