// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Fast registrations: LMRs of dat_lmr_allocate(), whose memory work requests of an endpoint change.
 *
 * Whether such an LMR has memory is decided when the requests are posted, so that a consumer can
 * post an invalidation right behind the requests that use the LMR. A registration needs an LMR
 * without memory and no other registration in progress, because the RNIC reads the page list when
 * it carries the request out. Once all requests have completed, the LMR is as the RNIC has it.
 *
 * Where the standard leaves it open:
 *
 * - The scope of protection is the zone: DAT_LMR_SCOPE_EP is not supported.
 * - The memory is an array of pages, contiguous pages at an address for the RNIC
 *   (DAT_MEM_TYPE_IA), or a scatterlist (DAT_MEM_TYPE_PLATFORM) without gaps: only its first
 *   element may begin and only its last one may end inside a page, and no byte more is registered.
 *   Addresses of type VA begin at that of the first page, or of the scatterlist's first byte.
 * - A registration of an LMR that has memory is DAT_INVALID_STATE_LMR_IN_USE, an invalidation of
 *   one that has none is DAT_INVALID_STATE_LMR_FREE.
 */
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "lmr.h"

#define KDAT_FAST_FLAGS	(DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG | \
			 DAT_COMPLETION_BARRIER_FENCE_FLAG)

/* dat_lmr_allocate() ******************************************************** */

static DAT_RETURN kdat_fast_make(struct kdat_lmr *lmr, DAT_COUNT max)
{
	struct ri_mr *mr = kal_mr_alloc(lmr->pz->pd, max, false);
	DAT_RETURN ret = KDAT_NO_MEMORY;

	if (IS_ERR(mr))
		return kdat_lmr_error(PTR_ERR(mr));
	lmr->mr = mr;
	lmr->rkey = mr->stag;
	if (!kal_dma_is_virtual(lmr->obj.ia->kr->rnic))
		lmr->stale = kvcalloc(max, sizeof(*lmr->stale), GFP_KERNEL_ACCOUNT);
	if (lmr->stale || kal_dma_is_virtual(lmr->obj.ia->kr->rnic))
		ret = kdat_lmr_error(kdat_lmr_publish(lmr));
	if (ret != DAT_SUCCESS) {
		kvfree(lmr->stale);
		kal_mr_deregister(mr);
	}
	return ret;
}

static DAT_RETURN kdat_fast_allocate(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
				     DAT_COUNT max, DAT_LMR_SCOPE scope, DAT_LMR_HANDLE *handle)
{
	struct kdat_ia *ia = kdat_ia_of(ia_handle);
	struct kdat_pz *pz = kdat_pz_of(pz_handle);
	struct kdat_lmr *lmr;
	DAT_RETURN ret;

	might_sleep();
	if (!ia)
		return KDAT_BAD_HANDLE(IA);
	if (!pz || pz->obj.ia != ia)
		return KDAT_BAD_HANDLE(PZ);
	if (max <= 0)
		return KDAT_BAD_ARG(3);
	if (scope == DAT_LMR_SCOPE_EP)
		return KDAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if (scope != DAT_LMR_SCOPE_PZ && scope != DAT_LMR_SCOPE_ANY)
		return KDAT_BAD_ARG(4);
	if (!handle)
		return KDAT_BAD_ARG(5);
	lmr = kdat_lmr_new(ia, pz);
	if (!lmr)
		return KDAT_NO_MEMORY;
	lmr->kind = KDAT_LMR_FAST;
	lmr->mem_type = DAT_MEM_TYPE_PHYSICAL;
	if (!kdat_enter(ia)) {
		kfree(lmr);
		return KDAT_GONE;
	}
	ret = kdat_fast_make(lmr, max);
	if (ret == DAT_SUCCESS) {
		atomic_inc(&pz->obj.uses);
		kdat_obj_init(&lmr->obj, ia, DAT_HANDLE_TYPE_LMR);
		*handle = lmr;
	} else {
		kfree_rcu(lmr, obj.rcu);
	}
	kdat_leave(ia);
	return ret;
}

/* Pages ********************************************************************* */

static void kdat_fast_unmap_pages(const struct kdat_lmr *lmr, const u64 *pages, u32 num, u32 shift)
{
	struct ri_rnic *rnic = lmr->obj.ia->kr->rnic;
	u32 i;

	if (kal_dma_is_virtual(rnic))
		return;
	for (i = 0; i < num; i++)
		kal_dma_unmap_page(rnic, pages[i], BIT_ULL(shift), DMA_BIDIRECTIONAL);
}

static void kdat_fast_unmap(struct kdat_lmr *lmr, const struct ri_page_list *list)
{
	kdat_fast_unmap_pages(lmr, list->pages, lmr->pages, list->page_shift);
	lmr->pages = 0;
}

static void kdat_fast_unmap_stale(struct kdat_lmr *lmr)
{
	kdat_fast_unmap_pages(lmr, lmr->stale, lmr->stale_pages, lmr->stale_shift);
	lmr->stale_pages = 0;
}

void kdat_lmr_fast_end(struct kdat_lmr *lmr, const struct ri_page_list *list)
{
	kdat_fast_unmap(lmr, list);
	kdat_fast_unmap_stale(lmr);
	kvfree(lmr->stale);
	lmr->stale = NULL;
}

/*
 * Empty the list for another registration. The last one may still hold on the RNIC, for its
 * invalidation is posted only; then its pages stay mapped. The one before it does not: the last one
 * was carried out.
 */
static void kdat_fast_retire(struct kdat_lmr *lmr, const struct ri_page_list *list)
{
	kdat_fast_unmap_stale(lmr);
	if (lmr->stale && READ_ONCE(lmr->registered)) {
		memcpy(lmr->stale, list->pages, lmr->pages * sizeof(*lmr->stale));
		lmr->stale_pages = lmr->pages;
		lmr->stale_shift = list->page_shift;
		lmr->pages = 0;
	}
	kdat_fast_unmap(lmr, list);
}

/* Undo kdat_fast_retire(): there is no other registration. */
static void kdat_fast_restore(struct kdat_lmr *lmr, struct ri_page_list *list)
{
	kdat_fast_unmap(lmr, list);
	if (!lmr->stale_pages)
		return;
	memcpy(list->pages, lmr->stale, lmr->stale_pages * sizeof(*lmr->stale));
	lmr->pages = lmr->stale_pages;
	list->page_shift = lmr->stale_shift;
	lmr->stale_pages = 0;
}

/* Map the next page into the list. */
static bool kdat_fast_map_page(struct kdat_lmr *lmr, phys_addr_t pa)
{
	struct ri_rnic *rnic = lmr->obj.ia->kr->rnic;
	struct ri_page_list *list = &lmr->mr->list;
	u64 addr;

	addr = kal_dma_map_page(rnic, pfn_to_page(PHYS_PFN(pa)), offset_in_page(pa),
				BIT_ULL(list->page_shift), DMA_BIDIRECTIONAL);
	if (kal_dma_mapping_error(rnic, addr))
		return false;
	list->pages[lmr->pages++] = addr;
	return true;
}

/* Map @num pages into the list. Return: false: a mapping failed. */
static bool kdat_fast_map(struct kdat_lmr *lmr, const DAT_PADDR *pages, u32 num)
{
	u32 i;

	for (i = 0; i < num; i++)
		if (!kdat_fast_map_page(lmr, pages[i]))
			return false;
	return true;
}

/* The same for the pages of a scatterlist that was checked. @bytes: what is in it. */
static bool kdat_fast_map_table(struct kdat_lmr *lmr, struct sg_table *table, u64 *bytes)
{
	const bool is_virtual = kal_dma_is_virtual(lmr->obj.ia->kr->rnic);
	struct ri_page_list *list = &lmr->mr->list;
	struct scatterlist *sg;
	phys_addr_t pa, end;
	u32 i, n = 0;

	*bytes = 0;
	for_each_sgtable_sg(table, sg, i) {
		*bytes += sg->length;
		pa = sg_phys(sg) & PAGE_MASK;
		end = sg_phys(sg) + sg->length;
		for (; pa < end; pa += PAGE_SIZE)
			/* most tables are of one page an element, so each instruction counts */
			if (is_virtual)
				list->pages[n++] = (uintptr_t)phys_to_virt(pa);
			else if (!kdat_fast_map_page(lmr, pa))
				return false;
	}
	if (is_virtual)
		lmr->pages = n;
	return true;
}

/* Can the RNIC register pages of this size? Others can all that kal_dma_map_page() can map. */
static bool kdat_fast_size_ok(const struct ri_rnic *rnic, u64 page_size)
{
	return kal_dma_is_virtual(rnic) || rnic->attr.limits.page_size_cap & page_size;
}

static const DAT_PADDR *kdat_fast_array(DAT_MEM_TYPE type, const DAT_REGION_DESCRIPTION *desc,
					u64 *page_size)
{
	*page_size = PAGE_SIZE;
	if (type == DAT_MEM_TYPE_PHYSICAL)
		return desc->for_physical;
	*page_size = desc->for_array.page_size;
	return desc->for_array.pages;
}

/* Return: pages of a scatterlist; 0: nothing is in it, or something between its elements */
static u64 kdat_fast_table_pages(struct sg_table *table)
{
	struct scatterlist *sg;
	unsigned int i;
	u64 num = 0, begin, end = 0;

	if (!table || !table->sgl)
		return 0;
	for_each_sgtable_sg(table, sg, i) {
		begin = offset_in_page(sg->offset);
		/* the element before ends with its page, and this one begins with its own */
		if (!sg_page(sg) || PageHighMem(sg_page(sg)) || !sg->length ||
		    (i && (begin || offset_in_page(end))))
			return 0;
		end = begin + sg->length;
		num += PAGE_ALIGN(end) >> PAGE_SHIFT;
	}
	return num;
}

static DAT_RETURN kdat_fast_check_table(const struct kdat_lmr *lmr, struct sg_table *table,
					DAT_VA_TYPE va_type, u64 num)
{
	u64 pages = kdat_fast_table_pages(table);

	if (!pages)
		return KDAT_BAD_ARG(3);
	if (pages != num)
		return KDAT_BAD_ARG(4);
	/* an address has the offset in a page that the memory has */
	if (!kdat_fast_size_ok(lmr->obj.ia->kr->rnic, PAGE_SIZE) ||
	    (va_type == DAT_VA_TYPE_ZB && offset_in_page(table->sgl->offset)))
		return KDAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	return DAT_SUCCESS;
}

static DAT_RETURN kdat_fast_check_pages(const struct kdat_lmr *lmr, DAT_MEM_TYPE type,
					const DAT_REGION_DESCRIPTION *desc, DAT_VA_TYPE va_type,
					u64 num)
{
	const DAT_PADDR *pages;
	u64 page_size, i;

	switch (type) {
	case DAT_MEM_TYPE_IA:
		return offset_in_page(desc->for_ia) ||
		       desc->for_ia + num * PAGE_SIZE - 1 < desc->for_ia ?
			       KDAT_BAD_ARG(3) : DAT_SUCCESS;
	case DAT_MEM_TYPE_PHYSICAL:
	case DAT_MEM_TYPE_PHYSICAL_VAR_PAGES:
		break;
	case DAT_MEM_TYPE_PLATFORM:
		return kdat_fast_check_table(lmr, desc->for_platform, va_type, num);
	case DAT_MEM_TYPE_VIRTUAL:
	case DAT_MEM_TYPE_LMR:
	case DAT_MEM_TYPE_BYPASS:
		return KDAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	default:
		return KDAT_BAD_ARG(2);
	}
	pages = kdat_fast_array(type, desc, &page_size);
	if (!pages || !kdat_mem_page_size_ok(page_size))
		return KDAT_BAD_ARG(3);
	if (!kdat_fast_size_ok(lmr->obj.ia->kr->rnic, page_size))
		return KDAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	for (i = 0; i < num; i++)
		if (!kdat_mem_page_ok(pages[i], page_size))
			return KDAT_BAD_ARG(3);
	return DAT_SUCCESS;
}

/* Fill the list. The caller owns it. */
static DAT_RETURN kdat_fast_fill(struct kdat_lmr *lmr, DAT_MEM_TYPE type,
				 const DAT_REGION_DESCRIPTION *desc, u32 num)
{
	struct ri_page_list *list = &lmr->mr->list;
	u64 page_size, first, length;
	const DAT_PADDR *pages;
	u32 i;

	kdat_fast_retire(lmr, list);
	list->num = num;
	if (type == DAT_MEM_TYPE_IA) {
		first = desc->for_ia;
		length = num * PAGE_SIZE;
		for (i = 0; i < num; i++)
			list->pages[i] = first + i * PAGE_SIZE;
		list->page_shift = PAGE_SHIFT;
	} else if (type == DAT_MEM_TYPE_PLATFORM) {
		struct sg_table *table = desc->for_platform;

		first = sg_phys(table->sgl);
		list->page_shift = PAGE_SHIFT;
		if (!kdat_fast_map_table(lmr, table, &length))
			return KDAT_NO_MEMORY;
	} else {
		pages = kdat_fast_array(type, desc, &page_size);
		first = pages[0];
		length = num * page_size;
		list->page_shift = ilog2(page_size);
		if (!kdat_fast_map(lmr, pages, num))
			return KDAT_NO_MEMORY;
	}
	lmr->mem_type = type;
	lmr->desc = *desc;
	lmr->wanted = num;
	lmr->address = lmr->va_type == DAT_VA_TYPE_ZB ? 0 : first;
	lmr->length = length;
	return DAT_SUCCESS;
}

/* Requests ****************************************************************** */

/* Take the LMR for a registration. */
static bool kdat_fast_take(struct kdat_lmr *lmr)
{
	bool taken = false;

	scoped_guard(spinlock_irqsave, &lmr->lock) {
		taken = !lmr->named && !lmr->reg_posted;
		if (taken) {
			lmr->named = true;
			lmr->reg_posted = true;
			lmr->posted++;
		}
	}
	return taken;
}

/* Undo kdat_fast_take(). */
static void kdat_fast_not_posted(struct kdat_lmr *lmr)
{
	scoped_guard(spinlock_irqsave, &lmr->lock) {
		lmr->reg_posted = false;
		lmr->posted--;
		lmr->named = !lmr->posted && lmr->registered;
	}
}

/* A request has ended. */
static void kdat_fast_ended(struct kdat_lmr *lmr, bool reg, bool success)
{
	scoped_guard(spinlock_irqsave, &lmr->lock) {
		if (reg && lmr->over) {
			lmr->over--;
		} else {
			if (reg)
				lmr->reg_posted = false;
			if (success)
				lmr->registered = reg;
		}
		if (!--lmr->posted)
			lmr->named = lmr->registered;
	}
}

/* The peer has invalidated the present STag. */
static void kdat_fast_lost(struct kdat_lmr *lmr)
{
	scoped_guard(spinlock_irqsave, &lmr->lock) {
		lmr->registered = false;
		if (lmr->reg_posted) {
			lmr->reg_posted = false;
			lmr->over++;
		}
		/* other LMRs are not registered again: the consumer has to free them */
		lmr->named = lmr->kind != KDAT_LMR_FAST;
	}
}

static DAT_RETURN kdat_fast_post(struct kdat_lmr *lmr, struct kdat_ep *ep, struct ib_send_wr *wr,
				 DAT_DTOS op, DAT_LMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct kdat_dto *dto = kdat_slot_get(&ep->requests);

	if (!dto)
		return KDAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
	dto->op = op;
	dto->cookie = cookie;
	dto->object = &lmr->obj;
	return kdat_dto_post(ep, dto, wr, flags);
}

/* Checks of both requests; what the LMR's state allows is looked at later. */
static DAT_RETURN kdat_fast_check(const struct kdat_lmr *lmr, const struct kdat_ep *ep)
{
	if (!lmr)
		return KDAT_BAD_HANDLE(LMR);
	if (lmr->kind == KDAT_LMR_RESERVED)
		return KDAT_ERROR(DAT_RESERVED_LMR, DAT_NO_SUBTYPE);
	if (lmr->kind != KDAT_LMR_FAST)
		return KDAT_BAD_HANDLE(LMR);
	if (!ep || ep->obj.ia != lmr->obj.ia)
		return KDAT_BAD_HANDLE(EP);
	return DAT_SUCCESS;
}

static DAT_RETURN kdat_fast_check_ep(const struct kdat_lmr *lmr, struct kdat_ep *ep)
{
	DAT_RETURN ret = kdat_ep_state_allows(READ_ONCE(ep->state), KDAT_EP_POST_REQUEST);

	if (ret != DAT_SUCCESS)
		return ret;
	if (!kdat_ep_has_qp(ep))
		return kdat_ep_state_error(READ_ONCE(ep->state));
	return READ_ONCE(ep->pz) == lmr->pz ? DAT_SUCCESS :
					      KDAT_ERROR(DAT_PROTECTION_VIOLATION, DAT_NO_SUBTYPE);
}

static DAT_RETURN kdat_fast_register(struct kdat_lmr *lmr, DAT_MEM_TYPE type,
				     const DAT_REGION_DESCRIPTION *desc, u32 num,
				     DAT_MEM_PRIV_FLAGS priv, DAT_VA_TYPE va_type,
				     struct kdat_ep *ep, DAT_LMR_COOKIE cookie,
				     DAT_COMPLETION_FLAGS flags)
{
	DAT_RETURN ret;

	lmr->priv = priv;
	lmr->va_type = va_type;
	ret = kdat_fast_fill(lmr, type, desc, num);
	if (ret != DAT_SUCCESS)
		return ret;
	WRITE_ONCE(lmr->rkey, ib_inc_rkey(lmr->rkey));
	kal_reg_wr_init(&lmr->reg, lmr->mr, lmr->address, lmr->length, lmr->rkey,
			kdat_lmr_access(lmr->obj.ia->kr->rnic, priv));
	return kdat_fast_post(lmr, ep, &lmr->reg.reg.wr, DAT_DTO_LMR_FMR, cookie, flags);
}

static DAT_RETURN kdat_fast_fmr(DAT_LMR_HANDLE lmr_handle, DAT_MEM_TYPE type,
				DAT_REGION_DESCRIPTION desc, DAT_VLEN num, DAT_MEM_PRIV_FLAGS priv,
				DAT_VA_TYPE va_type, DAT_EP_HANDLE ep_handle,
				DAT_LMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
				DAT_LMR_CONTEXT *lmr_context, DAT_RMR_CONTEXT *rmr_context)
{
	struct kdat_lmr *lmr = kdat_lmr_of(lmr_handle);
	struct kdat_ep *ep = kdat_ep_of(ep_handle);
	struct kdat_ia *ia;
	u32 remote, local;
	DAT_RETURN ret;

	ret = kdat_fast_check(lmr, ep);
	if (ret != DAT_SUCCESS)
		return ret;
	if (!kdat_lmr_priv_ok(priv))
		return KDAT_BAD_ARG(5);
	if (va_type != DAT_VA_TYPE_VA && va_type != DAT_VA_TYPE_ZB)
		return KDAT_BAD_ARG(6);
	if ((u32)flags & ~KDAT_FAST_FLAGS)
		return KDAT_BAD_ARG(9);
	ia = lmr->obj.ia;
	if (!kdat_enter_atomic(ia))
		return KDAT_GONE;
	ret = kdat_fast_check_ep(lmr, ep);
	if (ret == DAT_SUCCESS && (!num || num > lmr->mr->list.max))
		ret = KDAT_BAD_ARG(4);
	if (ret == DAT_SUCCESS)
		ret = kdat_fast_check_pages(lmr, type, &desc, va_type, num);
	if (ret != DAT_SUCCESS)
		goto out;
	ret = KDAT_BAD_STATE(LMR_IN_USE);
	if (!atomic_inc_unless_negative(&lmr->obj.uses))
		goto out;
	if (!kdat_fast_take(lmr)) {
		atomic_dec(&lmr->obj.uses);
		goto out;
	}
	remote = ib_inc_rkey(lmr->rkey);
	local = lmr->context ?: remote;
	ret = kdat_fast_register(lmr, type, &desc, num, priv, va_type, ep, cookie, flags);
	if (ret != DAT_SUCCESS) {
		kdat_fast_restore(lmr, &lmr->mr->list);
		kdat_fast_not_posted(lmr);
		atomic_dec(&lmr->obj.uses);
		goto out;
	}
	if (lmr_context)
		*lmr_context = local;
	if (rmr_context)
		*rmr_context = remote;
out:
	kdat_leave_atomic(ia);
	return ret;
}

/* Begin an invalidation. */
static bool kdat_fast_give_up(struct kdat_lmr *lmr)
{
	bool named = false;

	scoped_guard(spinlock_irqsave, &lmr->lock) {
		named = lmr->named;
		lmr->named = false;
		lmr->posted += named;
	}
	return named;
}

static DAT_RETURN kdat_fast_invalidate(DAT_LMR_HANDLE lmr_handle, DAT_EP_HANDLE ep_handle,
				       DAT_LMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct kdat_lmr *lmr = kdat_lmr_of(lmr_handle);
	struct kdat_ep *ep = kdat_ep_of(ep_handle);
	struct ib_send_wr wr = { .opcode = IB_WR_LOCAL_INV };
	struct kdat_ia *ia;
	DAT_RETURN ret;

	ret = kdat_fast_check(lmr, ep);
	if (ret != DAT_SUCCESS)
		return ret;
	if ((u32)flags & ~(KDAT_FAST_FLAGS | DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG))
		return KDAT_BAD_ARG(4);
	ia = lmr->obj.ia;
	if (!kdat_enter_atomic(ia))
		return KDAT_GONE;
	ret = kdat_fast_check_ep(lmr, ep);
	if (ret != DAT_SUCCESS)
		goto out;
	ret = KDAT_BAD_STATE(LMR_FREE);
	if (!atomic_inc_unless_negative(&lmr->obj.uses))
		goto out;
	if (!kdat_fast_give_up(lmr)) {
		atomic_dec(&lmr->obj.uses);
		goto out;
	}
	wr.ex.invalidate_rkey = lmr->rkey;
	ret = kdat_fast_post(lmr, ep, &wr, DAT_DTO_LMR_INVALIDATE, cookie, flags);
	if (ret != DAT_SUCCESS) {
		/* as before, unless a request that was posted earlier has failed meanwhile */
		scoped_guard(spinlock_irqsave, &lmr->lock)
			lmr->named = --lmr->posted || lmr->registered;
		atomic_dec(&lmr->obj.uses);
	}
out:
	kdat_leave_atomic(ia);
	return ret;
}

/* Completions *************************************************************** */

void kdat_lmr_completed(struct kdat_dto *dto, bool success)
{
	struct kdat_obj *obj = dto->object;

	if (dto->op == DAT_DTO_BIND_MW)
		kdat_rmr_completed(container_of(obj, struct kdat_rmr, obj), dto, success);
	else
		kdat_fast_ended(container_of(obj, struct kdat_lmr, obj),
				dto->op == DAT_DTO_LMR_FMR, success);
	atomic_dec(&obj->uses);
}

void kdat_lmr_invalidated(struct kdat_ep *ep, u32 stag)
{
	struct kdat_lmr *lmr;
	struct kdat_rmr *rmr;
	void *named;

	guard(rcu)();
	named = xa_load(&ep->obj.ia->stags, stag >> 8);
	rmr = kdat_rmr_of(named);
	lmr = kdat_lmr_of(named);
	if (rmr)
		kdat_rmr_invalidated(rmr, stag);
	else if (lmr && READ_ONCE(lmr->rkey) == stag)
		kdat_fast_lost(lmr);
}

void kdat_lmr_fast_table(DAT_PROVIDER *provider)
{
	provider->lmr_allocate_func = kdat_fast_allocate;
	provider->lmr_fmr_func = kdat_fast_fmr;
	provider->lmr_invalidate_func = kdat_fast_invalidate;
}
