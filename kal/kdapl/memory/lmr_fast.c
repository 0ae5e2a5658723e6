// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Fast registrations: LMRs of dat_lmr_allocate(), whose memory work requests of an endpoint change.
 *
 * Whether such an LMR has memory is decided when the requests are posted, so that a consumer can
 * post an invalidation right behind the requests that use the LMR. A registration needs an LMR
 * without memory and no other registration in progress, because the RNIC reads the page list when
 * it carries the request out. lmr_state.c has the states.
 *
 * krdma_soft and siw complete a registration when they carry it out, so one that was flushed was
 * not carried out: the LMR has the last one that was, and the STag of that. Other RNICs may have
 * carried it out (ri_rnic_attr.flush_unsure). They refuse a registration of a region that is valid,
 * and may refuse an invalidation by another STag than the region's, and end the connection. So no
 * request names the region any more: a work item gives the LMR another one, before
 * dat_ep_reset() returns at the latest. Until then it takes no registration. The flushed memory is
 * unmapped at once, because it is the consumer's from the completion on; no peer was told of the
 * STag.
 *
 * Where the RNIC reaches memory by DMA, or a driver of Linux has the page list, a registration is
 * possible only when the invalidation before it has completed: a driver overwrites its list when
 * the request is posted, and the peer may still use the STag then. The memory is mapped with the
 * post of the registration, and unmapped when the STag is invalid: before the consumer sees the
 * completion of its invalidation or the receive with the peer's, or when the LMR is freed. The end
 * of a connection alone unmaps nothing, because an LMR is good for all endpoints of its zone.
 *
 * Where the standard leaves it open:
 *
 * - The scope of protection is the zone: DAT_LMR_SCOPE_EP is not supported.
 * - The memory is an array of pages, contiguous pages at an address for the RNIC
 *   (DAT_MEM_TYPE_IA), or a scatterlist (DAT_MEM_TYPE_PLATFORM) without gaps: only its first
 *   element may begin and only its last one may end inside a page, and no byte more is registered.
 * - Addresses of type VA begin at the physical address of the first page, or of the scatterlist's
 *   first byte. Addresses of type ZB begin at 0; those of a scatterlist begin at the offset that
 *   its first byte has in its page, because RNICs find a byte's place in a page by the low bits of
 *   its address. So the peer of a consumer that uses ZB gets no address of this host.
 * - A registration of an LMR that has memory is DAT_INVALID_STATE_LMR_IN_USE, an invalidation of
 *   one that has none is DAT_INVALID_STATE_LMR_FREE.
 */
#include <linux/delay.h>
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
	lmr->max = max;
	lmr->is.rkey = mr->stag;
	lmr->key = mr->stag;
	if (!kal_dma_is_virtual(lmr->obj.ia->kr->rnic))
		lmr->map = kdat_map_alloc(lmr->obj.ia->kr->rnic, max);
	if (lmr->map || kal_dma_is_virtual(lmr->obj.ia->kr->rnic))
		ret = kdat_lmr_error(kdat_lmr_publish(lmr));
	if (ret != DAT_SUCCESS) {
		kvfree(lmr->map);
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
	lmr->is.mem_type = DAT_MEM_TYPE_PHYSICAL;
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

/* The pages of an array, for an RNIC that works by virtual addresses. */
static void kdat_fast_list(struct ri_page_list *list, const DAT_PADDR *pages, u32 num)
{
	u32 i;

	for (i = 0; i < num; i++)
		list->pages[i] = (uintptr_t)phys_to_virt(pages[i]);
	list->num = num;
}

/* The same for the pages of a scatterlist that was checked. */
static void kdat_fast_list_table(struct ri_page_list *list, struct sg_table *table)
{
	struct scatterlist *sg;
	phys_addr_t pa, end;
	u32 i, n = 0;

	/* most tables are of one page an element, so each instruction counts */
	for_each_sgtable_sg(table, sg, i) {
		end = sg_phys(sg) + sg->length;
		for (pa = sg_phys(sg) & PAGE_MASK; pa < end; pa += PAGE_SIZE)
			list->pages[n++] = (uintptr_t)phys_to_virt(pa);
	}
	list->num = n;
}

static u64 kdat_fast_table_bytes(struct sg_table *table)
{
	struct scatterlist *sg;
	u64 bytes = 0;
	u32 i;

	for_each_sgtable_sg(table, sg, i)
		bytes += sg->length;
	return bytes;
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
					u64 num)
{
	u64 pages = kdat_fast_table_pages(table);

	if (!pages)
		return KDAT_BAD_ARG(3);
	if (pages != num)
		return KDAT_BAD_ARG(4);
	return kdat_fast_size_ok(lmr->obj.ia->kr->rnic, PAGE_SIZE) ?
		       DAT_SUCCESS : KDAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
}

static DAT_RETURN kdat_fast_check_pages(const struct kdat_lmr *lmr, DAT_MEM_TYPE type,
					const DAT_REGION_DESCRIPTION *desc, u64 num)
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
		return kdat_fast_check_table(lmr, desc->for_platform, num);
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

/* Map the memory of @is, and list its pages. The caller owns the map and the list. */
static DAT_RETURN kdat_fast_map(struct kdat_lmr *lmr, const struct kdat_naming *is, u64 page_size)
{
	struct ri_rnic *rnic = lmr->obj.ia->kr->rnic;
	struct kdat_map *map = lmr->map;
	struct sg_table *table;
	const DAT_PADDR *pages;
	struct scatterlist *sg;
	bool room = true;
	u32 i;

	if (is->mem_type == DAT_MEM_TYPE_PLATFORM) {
		table = is->desc.for_platform;
		for_each_sgtable_sg(table, sg, i)
			room = room && kdat_map_add(map, sg_phys(sg), sg->length);
	} else {
		pages = kdat_fast_array(is->mem_type, &is->desc, &page_size);
		for (i = 0; i < is->wanted && room; i++)
			room = kdat_map_add(map, pages[i], page_size);
	}
	if (!room) {
		map->num = 0;
		return KDAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	}
	if (!kdat_map_dma(map, rnic, kdat_lmr_direction(is->priv, false)))
		return KDAT_NO_MEMORY;
	if (kdat_map_list(map, &lmr->mr->list, is->address & (page_size - 1)))
		return DAT_SUCCESS;
	kdat_map_end(map, rnic);
	return KDAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
}

/* Describe what was checked, and fill the list. The caller owns it. */
static DAT_RETURN kdat_fast_fill(struct kdat_lmr *lmr, struct kdat_naming *is)
{
	struct ri_page_list *list = &lmr->mr->list;
	const DAT_PADDR *pages = NULL;
	struct sg_table *table = NULL;
	u64 page_size = PAGE_SIZE;
	u32 i;

	if (is->mem_type == DAT_MEM_TYPE_PLATFORM) {
		table = is->desc.for_platform;
		is->address = sg_phys(table->sgl);
		is->length = kdat_fast_table_bytes(table);
	} else if (is->mem_type == DAT_MEM_TYPE_IA) {
		is->address = is->desc.for_ia;
		is->length = is->wanted * PAGE_SIZE;
	} else {
		pages = kdat_fast_array(is->mem_type, &is->desc, &page_size);
		is->address = pages[0];
		is->length = is->wanted * page_size;
	}
	list->page_shift = ilog2(page_size);
	if (is->va_type == DAT_VA_TYPE_ZB)
		is->address = table ? offset_in_page(is->address) : 0;
	if (is->mem_type == DAT_MEM_TYPE_IA) {
		for (i = 0; i < is->wanted; i++)
			list->pages[i] = is->desc.for_ia + i * PAGE_SIZE;
		list->num = is->wanted;
	} else if (lmr->map) {
		return kdat_fast_map(lmr, is, page_size);
	} else if (pages) {
		kdat_fast_list(list, pages, is->wanted);
	} else {
		kdat_fast_list_table(list, table);
	}
	return DAT_SUCCESS;
}

/* Requests ****************************************************************** */

/*
 * Take the LMR for a registration. Return: which of the LMR's registrations it is, or -EBUSY. It is
 * shown to nobody yet.
 */
static int kdat_fast_take(struct kdat_lmr *lmr, u32 *serial)
{
	const bool behind = !lmr->map && kdat_maps(lmr->obj.ia->kr->rnic);
	int i = -EBUSY;

	scoped_guard(spinlock_irqsave, &lmr->lock) {
		/* with kdat_lmr_event() */
		if (!lmr->map || !smp_load_acquire(&lmr->map->busy))
			i = kdat_regs_take(&lmr->regs, behind);
		if (i >= 0)
			*serial = lmr->regs.serial[i];
	}
	return i;
}

void kdat_lmr_event(struct kdat_lmr *lmr, u32 serial, enum kdat_reg_event event)
{
	struct kdat_map *map = NULL;
	bool waits = false;
	u32 flags;

	scoped_guard(spinlock_irqsave, &lmr->lock) {
		flags = kdat_regs_event(&lmr->regs, serial, event);
		if (flags & KDAT_REGS_BACK)
			lmr->is = lmr->of[lmr->regs.now];
		if (flags & KDAT_REGS_ENDED && lmr->map && lmr->map->num) {
			map = lmr->map;
			map->busy = true;
		}
		if (lmr->kind == KDAT_LMR_LOCAL) {
			kdat_lmr_local_count(lmr, false);
			waits = flags & KDAT_REGS_ENDED && lmr->unnamed;
		} else if (flags & KDAT_REGS_ENDED) {
			waits = kdat_regs_is(&lmr->regs, KDAT_REG_UNKNOWN);
		}
	}
	if (waits)
		kdat_lmr_local_kick(lmr->obj.ia);
	if (!map)
		return;
	/* without the lock: this may copy */
	kdat_map_end(map, lmr->obj.ia->kr->rnic);
	/* with kdat_fast_take() */
	smp_store_release(&map->busy, false);
}

/* Let @new take the place of the region. Return: the one that is of no use any more. */
static struct ri_mr *kdat_fast_exchange(struct kdat_lmr *lmr, struct ri_mr *new)
{
	struct kdat_regs *regs = &lmr->regs;
	struct ri_mr *old = new;

	scoped_guard(spinlock_irqsave, &lmr->lock) {
		/* a late completion may have told what the RNIC did */
		if (!kdat_regs_is(regs, KDAT_REG_UNKNOWN))
			break;
		old = lmr->mr;
		lmr->mr = new;
		lmr->key = new->stag;
		lmr->is.rkey = new->stag;
		kdat_regs_event(regs, regs->serial[regs->now], KDAT_REG_RENEWED);
	}
	return old;
}

static bool kdat_fast_renew(struct kdat_lmr *lmr)
{
	struct kdat_ia *ia = lmr->obj.ia;
	struct ri_mr *mr = kal_mr_alloc(lmr->pz->pd, lmr->max, false);

	if (IS_ERR(mr))
		return false;
	if (xa_insert(&ia->stags, mr->stag >> 8, lmr, GFP_KERNEL_ACCOUNT)) {
		kal_mr_deregister(mr);
		return false;
	}
	mr = kdat_fast_exchange(lmr, mr);
	xa_erase(&ia->stags, mr->stag >> 8);
	WARN_ON(kal_mr_deregister(mr));
	return true;
}

bool kdat_lmr_renew(struct kdat_ia *ia)
{
	struct kdat_lmr *lmr;
	bool all = true;

	lockdep_assert_held(&ia->mutex);
	/* no LMR of such an RNIC gets there */
	if (!ia->kr->rnic->attr.flush_unsure)
		return true;
	list_for_each_entry(lmr, &ia->objects[DAT_HANDLE_TYPE_LMR], obj.node) {
		if (lmr->kind != KDAT_LMR_FAST || !kdat_regs_is(&lmr->regs, KDAT_REG_UNKNOWN))
			continue;
		/* it is being freed, with its region: a use would make dat_lmr_free() fail */
		if (lmr->ends || !atomic_inc_unless_negative(&lmr->obj.uses))
			continue;
		all = kdat_fast_renew(lmr) && all;
		atomic_dec(&lmr->obj.uses);
	}
	return all;
}

void kdat_lmr_flushed(struct kdat_ia *ia)
{
	guard(mutex)(&ia->mutex);
	/* if there is no memory now, the work item tries again */
	kdat_lmr_renew(ia);
}

void kdat_lmr_fast_end(struct kdat_lmr *lmr)
{
	struct kdat_map *map;

	scoped_guard(spinlock_irqsave, &lmr->lock) {
		map = lmr->map;
		lmr->map = NULL;
	}
	if (!map)
		return;
	/* the peer's invalidation has no use of the LMR: kdat_lmr_event() may be unmapping */
	while (smp_load_acquire(&map->busy))
		usleep_range(10, 50);
	kdat_map_end(map, lmr->obj.ia->kr->rnic);
	kvfree(map);
}

static DAT_RETURN kdat_fast_post(struct kdat_lmr *lmr, u32 serial, struct kdat_ep *ep,
				 struct ib_send_wr *wr, DAT_DTOS op, DAT_LMR_COOKIE cookie,
				 DAT_COMPLETION_FLAGS flags)
{
	struct kdat_dto *dto = kdat_slot_get(&ep->requests);

	if (!dto)
		return KDAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
	dto->op = op;
	dto->cookie = cookie;
	dto->object = &lmr->obj;
	dto->serial = serial;
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

/* Fill in registration @i, which was taken, and post it. */
static DAT_RETURN kdat_fast_register(struct kdat_lmr *lmr, int i, u32 serial, struct kdat_ep *ep,
				     DAT_LMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct kdat_naming *is = &lmr->of[i];
	DAT_RETURN ret;

	ret = kdat_fast_fill(lmr, is);
	if (ret != DAT_SUCCESS)
		return ret;
	lmr->key = ib_inc_rkey(lmr->key);
	is->rkey = lmr->key;
	/* from the post on requests may name it */
	scoped_guard(spinlock_irqsave, &lmr->lock)
		lmr->is = *is;
	kal_reg_wr_init(&lmr->reg, lmr->mr, is->address, is->length, is->rkey,
			kdat_lmr_access(lmr->obj.ia->kr->rnic, is->priv));
	return kdat_fast_post(lmr, serial, ep, &lmr->reg.reg.wr, DAT_DTO_LMR_FMR, cookie, flags);
}

static DAT_RETURN kdat_fast_fmr(DAT_LMR_HANDLE lmr_handle, DAT_MEM_TYPE type,
				DAT_REGION_DESCRIPTION desc, DAT_VLEN num, DAT_MEM_PRIV_FLAGS priv,
				DAT_VA_TYPE va_type, DAT_EP_HANDLE ep_handle,
				DAT_LMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
				DAT_LMR_CONTEXT *lmr_context, DAT_RMR_CONTEXT *rmr_context)
{
	struct kdat_lmr *lmr = kdat_lmr_of(lmr_handle);
	struct kdat_ep *ep = kdat_ep_of(ep_handle);
	u32 remote, local, serial;
	struct kdat_ia *ia;
	DAT_RETURN ret;
	int i;

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
	if (ret == DAT_SUCCESS && (!num || num > lmr->max))
		ret = KDAT_BAD_ARG(4);
	if (ret == DAT_SUCCESS)
		ret = kdat_fast_check_pages(lmr, type, &desc, num);
	if (ret != DAT_SUCCESS)
		goto out;
	ret = KDAT_BAD_STATE(LMR_IN_USE);
	if (!atomic_inc_unless_negative(&lmr->obj.uses))
		goto out;
	i = kdat_fast_take(lmr, &serial);
	if (i < 0) {
		atomic_dec(&lmr->obj.uses);
		goto out;
	}
	lmr->of[i] = (struct kdat_naming){
		.mem_type = type,
		.va_type = va_type,
		.desc = desc,
		.wanted = num,
		.priv = priv,
	};
	remote = ib_inc_rkey(lmr->key);
	local = lmr->context ?: remote;
	ret = kdat_fast_register(lmr, i, serial, ep, cookie, flags);
	if (ret != DAT_SUCCESS) {
		kdat_lmr_event(lmr, serial, KDAT_REG_FAILED);
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

/* Begin an invalidation of the present registration. */
static bool kdat_fast_give_up(struct kdat_lmr *lmr, u32 *serial, u32 *key)
{
	struct kdat_regs *regs = &lmr->regs;
	u32 flags = KDAT_REGS_REFUSED;

	scoped_guard(spinlock_irqsave, &lmr->lock) {
		*serial = regs->serial[regs->now];
		*key = lmr->is.rkey;
		flags = kdat_regs_event(regs, *serial, KDAT_REG_INV);
	}
	return !(flags & KDAT_REGS_REFUSED);
}

static DAT_RETURN kdat_fast_invalidate(DAT_LMR_HANDLE lmr_handle, DAT_EP_HANDLE ep_handle,
				       DAT_LMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct kdat_lmr *lmr = kdat_lmr_of(lmr_handle);
	struct kdat_ep *ep = kdat_ep_of(ep_handle);
	struct ib_send_wr wr = { .opcode = IB_WR_LOCAL_INV };
	struct kdat_ia *ia;
	u32 serial, key;
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
	if (!kdat_fast_give_up(lmr, &serial, &key)) {
		atomic_dec(&lmr->obj.uses);
		goto out;
	}
	wr.ex.invalidate_rkey = key;
	ret = kdat_fast_post(lmr, serial, ep, &wr, DAT_DTO_LMR_INVALIDATE, cookie, flags);
	if (ret != DAT_SUCCESS) {
		kdat_lmr_event(lmr, serial, KDAT_REG_INV_FAILED);
		atomic_dec(&lmr->obj.uses);
	}
out:
	kdat_leave_atomic(ia);
	return ret;
}

/* Completions *************************************************************** */

static enum kdat_reg_event kdat_fast_result(const struct kdat_lmr *lmr, const struct kdat_dto *dto,
					    enum ib_wc_status status)
{
	const bool success = status == IB_WC_SUCCESS;

	if (dto->op == DAT_DTO_LMR_FMR) {
		/* a local LMR keeps its STag, and is registered again */
		if (status == IB_WC_WR_FLUSH_ERR && lmr->kind == KDAT_LMR_FAST &&
		    lmr->obj.ia->kr->rnic->attr.flush_unsure)
			return KDAT_REG_FLUSHED;
		return success ? KDAT_REG_DONE : KDAT_REG_FAILED;
	}
	return success ? KDAT_REG_INV_DONE : KDAT_REG_INV_FAILED;
}

void kdat_lmr_completed(struct kdat_dto *dto, enum ib_wc_status status)
{
	const bool success = status == IB_WC_SUCCESS;
	struct kdat_obj *obj = dto->object;
	struct kdat_lmr *lmr;

	if (dto->op == DAT_DTO_BIND_MW) {
		kdat_rmr_completed(container_of(obj, struct kdat_rmr, obj), dto, success);
	} else {
		lmr = container_of(obj, struct kdat_lmr, obj);
		/* not one more endpoint is to break by it */
		if (!success && status != IB_WC_WR_FLUSH_ERR)
			WRITE_ONCE(lmr->refused, true);
		kdat_lmr_event(lmr, dto->serial, kdat_fast_result(lmr, dto, status));
	}
	atomic_dec(&obj->uses);
}

/* The number of the registration that has @stag; 0: none */
static u32 kdat_fast_serial(struct kdat_lmr *lmr, u32 stag)
{
	unsigned int i;
	u32 serial = 0;

	scoped_guard(spinlock_irqsave, &lmr->lock) {
		for (i = 0; i < 2 && !serial; i++)
			if (kdat_regs_has(&lmr->regs, i) && lmr->of[i].rkey == stag)
				serial = lmr->regs.serial[i];
	}
	return serial;
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
	else if (lmr)
		kdat_lmr_event(lmr, kdat_fast_serial(lmr, stag), KDAT_REG_LOST);
}

void kdat_lmr_fast_table(DAT_PROVIDER *provider)
{
	provider->lmr_allocate_func = kdat_fast_allocate;
	provider->lmr_fmr_func = kdat_fast_fmr;
	provider->lmr_invalidate_func = kdat_fast_invalidate;
}
