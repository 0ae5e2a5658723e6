// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * LMRs of RNICs that cannot name memory without a work request, and the translation of segments.
 *
 * The context of such an LMR is known to kDAPL alone. Local requests name the memory by its DMA
 * addresses and the RNIC's STag of all memory, after a check here.
 *
 * If a peer has privileges, the LMR has a region of the RNIC, too. The STag for the peer is chosen
 * at once, and its registration is posted on a connected endpoint of the protection zone: now, or
 * before the first one is reported as connected. Requests that are posted on that endpoint, such as
 * the message that tells the peer of the STag, come after it. The consumer is told when it has
 * completed, for the peer may know the STag otherwise; but an endpoint whose requests wait for its
 * peer does not hold the consumer up for long. Once the registration has completed, local requests
 * use the region as well: it is one element, and can be the sink of a Read on iWARP.
 *
 * Nobody but kDAPL looks for these completions. The consumer may leave its EVD alone, so whoever
 * waits for one takes completions from the CQ to the EVD's queue.
 */
#include <linux/delay.h>
#include <linux/moduleparam.h>

#include "lmr.h"

static unsigned int kdat_lmr_timeout_ms = 100;
module_param_named(kdapl_lmr_timeout_ms, kdat_lmr_timeout_ms, uint, 0644);
MODULE_PARM_DESC(kdapl_lmr_timeout_ms,
		 "how long the creation of a kDAPL LMR on an adopted device waits for its registration (default 100)");

static unsigned int kdat_lmr_all_timeout_ms = 2000;
module_param_named(kdapl_connect_lmr_timeout_ms, kdat_lmr_all_timeout_ms, uint, 0644);
MODULE_PARM_DESC(kdapl_connect_lmr_timeout_ms,
		 "how long a new kDAPL connection on an adopted device waits for the registrations of its LMRs (default 2000)");

/* The region for the peer ************************************************** */

#define KDAT_LMR_REMOTE		(DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG | \
				 (u32)DAT_IB_MEM_PRIV_REMOTE_ATOMIC)

/*
 * Cut the extents into pages, if @list is not NULL. Return: their number, or 0: it is impossible,
 * because a page begins or ends in the middle, or the first is not where @lmr->address says.
 */
static u64 kdat_lmr_cut(const struct kdat_lmr *lmr, struct ri_page_list *list)
{
	const struct kdat_mem *mem = lmr->mem;
	u64 begin = 0, num = 0, addr, len, pages, n;
	u32 i;

	if (offset_in_page(mem->extents[0].addr) != offset_in_page(lmr->address))
		return 0;
	/* an LMR that shares memory may be shorter than that */
	for (i = 0; i < mem->num && begin < lmr->length; i++, num += pages) {
		addr = mem->extents[i].addr;
		len = min(mem->extents[i].end, lmr->length) - begin;
		begin += len;
		if ((i && offset_in_page(addr)) ||
		    (begin < lmr->length && offset_in_page(addr + len)))
			return 0;
		/* the last byte may be the last of all addresses */
		pages = ((addr + len - 1) >> PAGE_SHIFT) - (addr >> PAGE_SHIFT) + 1;
		for (n = 0; list && n < pages && num + n < list->max; n++)
			list->pages[num + n] = (addr & PAGE_MASK) + (n << PAGE_SHIFT);
	}
	return num;
}

static DAT_RETURN kdat_lmr_remote_make(struct kdat_lmr *lmr)
{
	const u64 num = kdat_lmr_cut(lmr, NULL);
	struct ri_mr *mr;

	/* it begins at an address that the RNIC cannot give to this memory */
	if (!num)
		return lmr->va_type == DAT_VA_TYPE_ZB ? KDAT_BAD_ARG(7) : KDAT_BAD_ARG(3);
	if (num > lmr->obj.ia->kr->rnic->attr.limits.max_fast_reg_page_list_len)
		return KDAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION);
	mr = kal_mr_alloc(lmr->pz->pd, num, false);
	if (IS_ERR(mr))
		return kdat_lmr_error(PTR_ERR(mr));
	lmr->mr = mr;
	kdat_lmr_cut(lmr, &mr->list);
	mr->list.num = num;
	mr->list.page_shift = PAGE_SHIFT;
	lmr->rkey = ib_inc_rkey(mr->stag);
	return DAT_SUCCESS;
}

DAT_RETURN kdat_lmr_local_make(struct kdat_lmr *lmr)
{
	const struct ri_rnic_attr *attr = &lmr->obj.ia->kr->rnic->attr;

	lmr->kind = KDAT_LMR_LOCAL;
	if (attr->limits.kernel_cap_flags & IBK_LOCAL_DMA_LKEY) {
		lmr->lkey = attr->local_dma_lkey;
	} else {
		struct ri_mr *dma = kal_mr_register_dma(lmr->pz->pd, IB_ACCESS_LOCAL_WRITE);

		if (IS_ERR(dma))
			return kdat_lmr_error(PTR_ERR(dma));
		lmr->dma = dma;
		lmr->lkey = dma->stag;
	}
	return lmr->priv & KDAT_LMR_REMOTE ? kdat_lmr_remote_make(lmr) : DAT_SUCCESS;
}

/* Post the registration unless that is done, as one of kDAPL's own requests or as any. */
static DAT_RETURN kdat_lmr_post(struct kdat_lmr *lmr, struct kdat_ep *ep, bool own)
{
	struct ri_rnic *rnic = lmr->obj.ia->kr->rnic;
	struct kdat_dto *dto;
	DAT_RETURN ret;

	if (!atomic_inc_unless_negative(&lmr->obj.uses))
		return DAT_SUCCESS;
	dto = kdat_slot_get_own(&ep->requests);
	if (!dto && !own)
		dto = kdat_slot_get(&ep->requests);
	if (!dto) {
		atomic_dec(&lmr->obj.uses);
		return KDAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
	}
	scoped_guard(spinlock_irqsave, &lmr->lock) {
		if (lmr->named) {
			kdat_slot_clear(dto);
			atomic_dec(&lmr->obj.uses);
			return DAT_SUCCESS;
		}
		lmr->named = true;
		lmr->reg_posted = true;
		lmr->posted++;
		kal_reg_wr_init(&lmr->reg, lmr->mr, lmr->address, lmr->length, lmr->rkey,
				kdat_lmr_access(rnic, lmr->priv));
	}
	dto->op = DAT_DTO_LMR_FMR;
	dto->object = &lmr->obj;
	ret = kdat_dto_post(ep, dto, &lmr->reg.reg.wr, (DAT_COMPLETION_FLAGS)KDAT_DTO_INTERNAL);
	if (ret == DAT_SUCCESS)
		return ret;
	scoped_guard(spinlock_irqsave, &lmr->lock) {
		lmr->named = false;
		lmr->reg_posted = false;
		lmr->posted--;
	}
	atomic_dec(&lmr->obj.uses);
	return ret;
}

static bool kdat_lmr_waits(const struct kdat_lmr *lmr)
{
	return lmr->kind == KDAT_LMR_LOCAL && lmr->mr && !READ_ONCE(lmr->named);
}

/* Some of them have completed now, or it is @end. Return: false: it is. */
static bool kdat_lmr_await(struct kdat_ep *ep, unsigned long end)
{
	const bool more = time_before(jiffies, end);

	kdat_evd_collect(ep->request_evd);
	if (more)
		usleep_range(20, 100);
	return more;
}

/*
 * The LMRs may be more than there are requests of kDAPL's own. The consumer's stay free for what it
 * posts as soon as it hears of the connection.
 */
static DAT_RETURN kdat_lmr_post_in_turn(struct kdat_lmr *lmr, struct kdat_ep *ep,
					unsigned long end)
{
	DAT_RETURN ret;

	do
		ret = kdat_lmr_post(lmr, ep, true);
	while (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES && kdat_lmr_await(ep, end));
	return ret;
}

DAT_RETURN kdat_lmr_connected(struct kdat_ep *ep)
{
	const unsigned long end = jiffies + msecs_to_jiffies(READ_ONCE(kdat_lmr_all_timeout_ms));
	struct kdat_ia *ia = ep->obj.ia;
	struct kdat_lmr *lmr;
	DAT_RETURN ret;

	if (kdat_maps(ia->kr->rnic))
		return DAT_SUCCESS;
	guard(mutex)(&ia->mutex);
	list_for_each_entry(lmr, &ia->objects[DAT_HANDLE_TYPE_LMR], obj.node) {
		if (lmr->pz != ep->pz || !kdat_lmr_waits(lmr))
			continue;
		ret = kdat_lmr_post_in_turn(lmr, ep, end);
		if (ret != DAT_SUCCESS)
			return ret;
	}
	while (kdat_slots_has_internal(&ep->requests) && kdat_lmr_await(ep, end))
		;
	return DAT_SUCCESS;
}

/* Take the completions of all endpoints' requests. */
static void kdat_lmr_collect(struct kdat_ia *ia)
{
	struct kdat_evd *evd;

	guard(mutex)(&ia->mutex);
	list_for_each_entry(evd, &ia->objects[DAT_HANDLE_TYPE_EVD], obj.node)
		/* one that waits for solicited receives has none, and its own stay in the CQ */
		if (evd->bh && !evd->solicited_streams)
			kdat_evd_collect(evd);
}

void kdat_lmr_settle(struct kdat_lmr *lmr)
{
	const unsigned long end = jiffies + msecs_to_jiffies(READ_ONCE(kdat_lmr_timeout_ms));

	if (lmr->kind != KDAT_LMR_LOCAL || !READ_ONCE(lmr->posted))
		return;
	kdat_lmr_collect(lmr->obj.ia);
	while (READ_ONCE(lmr->posted) && time_before(jiffies, end)) {
		usleep_range(20, 100);
		kdat_lmr_collect(lmr->obj.ia);
	}
}

DAT_RETURN kdat_lmr_pending(struct kdat_lmr *lmr)
{
	struct kdat_ia *ia = lmr->obj.ia;
	DAT_RETURN ret = DAT_SUCCESS;
	struct kdat_ep *ep;

	if (!kdat_lmr_waits(lmr))
		return ret;
	guard(mutex)(&ia->mutex);
	list_for_each_entry(ep, &ia->objects[DAT_HANDLE_TYPE_EP], obj.node) {
		guard(mutex)(&ep->mutex);
		if (ep->pz != lmr->pz || !ep->qp || ep->state != DAT_EP_STATE_CONNECTED)
			continue;
		ret = kdat_lmr_post(lmr, ep, false);
		if (ret == DAT_SUCCESS)
			break;
	}
	return ret;
}

/* Translation *************************************************************** */

/* The elements of one segment in LMR @lmr. */
static int kdat_lmr_elements(const struct kdat_lmr *lmr, const DAT_LMR_TRIPLET *seg,
			     struct ib_sge *sge, u32 max, DAT_RETURN *error)
{
	const struct kdat_mem *mem = lmr->mem;
	u64 off = seg->virtual_address - lmr->address;
	u32 len = seg->segment_length;
	u32 i, num = 0;
	u64 begin;

	if (lmr->kind == KDAT_LMR_FAST || READ_ONCE(lmr->registered)) {
		if (!max)
			return kdat_lmr_too_many(error);
		sge->addr = seg->virtual_address;
		sge->length = len;
		sge->lkey = READ_ONCE(lmr->rkey);
		return 1;
	}
	for (i = kdat_mem_find(mem, off); len; i++, num++, sge++) {
		if (num == max)
			return kdat_lmr_too_many(error);
		begin = i ? mem->extents[i - 1].end : 0;
		sge->addr = mem->extents[i].addr + off - begin;
		sge->length = min_t(u64, len, mem->extents[i].end - off);
		sge->lkey = lmr->lkey;
		off += sge->length;
		len -= sge->length;
	}
	return num;
}

static bool kdat_lmr_may_write(const struct kdat_lmr *lmr)
{
	return lmr->priv & (DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG |
			    (u32)DAT_IB_MEM_PRIV_REMOTE_ATOMIC);
}

/* May the segment be used? A fast LMR is checked by the RNIC. */
static DAT_RETURN kdat_lmr_allows(const struct kdat_lmr *lmr, const struct kdat_pz *pz,
				  const DAT_LMR_TRIPLET *seg, bool write)
{
	if (!lmr || !(lmr->mr || lmr->mem))
		return KDAT_ERROR(DAT_PRIVILEGES_VIOLATION,
				  write ? DAT_PRIVILEGES_WRITE : DAT_PRIVILEGES_READ);
	if (lmr->pz != pz)
		return KDAT_ERROR(DAT_PROTECTION_VIOLATION,
				  write ? DAT_PROTECTION_WRITE : DAT_PROTECTION_READ);
	if (lmr->kind == KDAT_LMR_FAST)
		return DAT_SUCCESS;
	if ((write && !kdat_lmr_may_write(lmr)) ||
	    !kdat_lmr_has(lmr, seg->virtual_address, seg->segment_length))
		return KDAT_ERROR(DAT_PRIVILEGES_VIOLATION,
				  write ? DAT_PRIVILEGES_WRITE : DAT_PRIVILEGES_READ);
	return DAT_SUCCESS;
}

static int kdat_lmr_resolve(struct kdat_ia *ia, const struct kdat_pz *pz,
			    const DAT_LMR_TRIPLET *seg, bool write, struct ib_sge *sge, u32 max,
			    DAT_RETURN *error)
{
	const struct kdat_lmr *lmr;
	int ret;

	rcu_read_lock();
	lmr = xa_load(&ia->lmrs, seg->lmr_context);
	*error = kdat_lmr_allows(lmr, pz, seg, write);
	ret = *error == DAT_SUCCESS ? kdat_lmr_elements(lmr, seg, sge, max, error) : -EACCES;
	rcu_read_unlock();
	return ret;
}

int kdat_lmr_translate(struct kdat_ia *ia, struct kdat_pz *pz, DAT_COUNT num,
		       const DAT_LMR_TRIPLET *iov, bool write, struct ib_sge *sge, u32 max,
		       u64 *total, DAT_RETURN *error)
{
	u32 used = 0;
	int n;

	*total = 0;
	for (; num > 0; num--, iov++) {
		if (!iov->segment_length)
			continue;
		n = ia->passes ?
			kdat_lmr_pass(ia, iov, sge + used, max - used, error) :
			kdat_lmr_resolve(ia, pz, iov, write, sge + used, max - used, error);
		if (n < 0)
			return n;
		used += n;
		*total += iov->segment_length;
	}
	return used;
}
