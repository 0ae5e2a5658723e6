// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * LMRs of RNICs that cannot name memory without a work request, and the translation of segments.
 *
 * The context of such an LMR is known to kDAPL alone. Local requests name the memory by its DMA
 * addresses and the RNIC's STag of all memory, after a check here.
 *
 * If a peer has privileges, or the memory is scattered, the LMR has a region of the RNIC, too. The
 * STag is chosen at once, and its registration is posted on a connected endpoint of the protection
 * zone: now, or when the first one is connected. dat_lmr_kcreate() and the event that reports a
 * connection wait for the completions, for some time, because the peer may use the STag by any
 * connection. Once the registration has completed, local requests use the region as well: it is one
 * element, and can be the sink of a Read on iWARP.
 *
 * A registration that was flushed with its endpoint is posted on another one. So is that of a
 * region that the peer has invalidated, which a driver may allow: the STag stays the same, and
 * other peers can go on.
 *
 * Nobody but kDAPL looks for these completions. The consumer may leave its EVD alone, so the
 * waiting function takes completions from the CQ to the EVD's queue.
 */
#include <linux/delay.h>
#include <linux/moduleparam.h>

#include <krdma/noio.h>

#include "lmr.h"

static unsigned int kdat_lmr_timeout_ms = 100;
module_param_named(kdapl_lmr_timeout_ms, kdat_lmr_timeout_ms, uint, 0644);
MODULE_PARM_DESC(kdapl_lmr_timeout_ms,
		 "how long the creation of a kDAPL LMR on an adopted device waits for its registration (default 100)");

static unsigned int kdat_lmr_all_timeout_ms = 2000;
module_param_named(kdapl_connect_lmr_timeout_ms, kdat_lmr_all_timeout_ms, uint, 0644);
MODULE_PARM_DESC(kdapl_connect_lmr_timeout_ms,
		 "how long a new kDAPL connection on an adopted device waits for the registrations of its LMRs (default 2000)");

/* turns in one run of the work item, some 50 us apart; then a jiffy's rest */
#define KDAT_LMR_TURNS	50

static struct workqueue_struct *kdat_lmr_wq;

int kdat_lmr_wq_init(void)
{
	kdat_lmr_wq = alloc_workqueue("krdma_kdapl_lmr", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return kdat_lmr_wq ? 0 : -ENOMEM;
}

void kdat_lmr_wq_exit(void)
{
	destroy_workqueue(kdat_lmr_wq);
}

/* The region *************************************************************** */

/*
 * Cut the extents into pages, if @list is not NULL. Return: their number, or 0: it is impossible,
 * because a page begins or ends in the middle, or the first is not where @lmr->is.address says.
 */
static u64 kdat_lmr_cut(const struct kdat_lmr *lmr, struct ri_page_list *list)
{
	const struct kdat_mem *mem = lmr->mem;
	u64 begin = 0, num = 0, addr, len, pages, n;
	u32 i;

	if (offset_in_page(mem->extents[0].addr) != offset_in_page(lmr->is.address))
		return 0;
	/* an LMR that shares memory may be shorter than that */
	for (i = 0; i < mem->num && begin < lmr->is.length; i++, num += pages) {
		addr = mem->extents[i].addr;
		len = min(mem->extents[i].end, lmr->is.length) - begin;
		begin += len;
		if ((i && offset_in_page(addr)) ||
		    (begin < lmr->is.length && offset_in_page(addr + len)))
			return 0;
		/* the last byte may be the last of all addresses */
		pages = ((addr + len - 1) >> PAGE_SHIFT) - (addr >> PAGE_SHIFT) + 1;
		for (n = 0; list && n < pages && num + n < list->max; n++)
			list->pages[num + n] = (addr & PAGE_MASK) + (n << PAGE_SHIFT);
	}
	return num;
}

static DAT_RETURN kdat_lmr_region_make(struct kdat_lmr *lmr, u64 num)
{
	struct ri_mr *mr = kal_mr_alloc(lmr->pz->pd, num, false);

	if (IS_ERR(mr))
		return kdat_lmr_error(PTR_ERR(mr));
	lmr->mr = mr;
	kdat_lmr_cut(lmr, &mr->list);
	mr->list.num = num;
	mr->list.page_shift = PAGE_SHIFT;
	lmr->is.rkey = ib_inc_rkey(mr->stag);
	return DAT_SUCCESS;
}

static DAT_RETURN kdat_lmr_remote_make(struct kdat_lmr *lmr)
{
	const u32 most = lmr->obj.ia->kr->rnic->attr.limits.max_fast_reg_page_list_len;
	const u64 num = kdat_lmr_cut(lmr, NULL);

	if (kdat_lmr_for_peer(lmr)) {
		/* it begins at an address that the RNIC cannot give to this memory */
		if (!num)
			return lmr->is.va_type == DAT_VA_TYPE_ZB ? KDAT_BAD_ARG(7) :
								   KDAT_BAD_ARG(3);
		if (num > most)
			return KDAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION);
		return kdat_lmr_region_make(lmr, num);
	}
	/* a request has few elements: a region makes one of all pages, where that is possible */
	if (lmr->mem->num == 1 || !num || num > most)
		return DAT_SUCCESS;
	return kdat_lmr_region_make(lmr, num);
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
	return kdat_lmr_remote_make(lmr);
}

/* Registration ************************************************************* */

static bool kdat_lmr_waits(const struct kdat_lmr *lmr)
{
	return lmr->kind == KDAT_LMR_LOCAL && lmr->mr && !READ_ONCE(lmr->refused) &&
	       !READ_ONCE(lmr->ends) && kdat_regs_is(&lmr->regs, KDAT_REG_FREE);
}

void kdat_lmr_local_count(struct kdat_lmr *lmr, bool ends)
{
	const bool unnamed = !ends && lmr->mr && !lmr->refused &&
			     !kdat_regs_is(&lmr->regs, KDAT_REG_NAMED);

	lockdep_assert_held(&lmr->lock);
	if (unnamed == lmr->unnamed)
		return;
	lmr->unnamed = unnamed;
	atomic_add(unnamed ? 1 : -1, &lmr->pz->unnamed);
}

void kdat_lmr_local_kick(struct kdat_ia *ia)
{
	queue_delayed_work(kdat_lmr_wq, &ia->register_work, 0);
}

/* Post the registration unless that is done, as one of kDAPL's own requests or as any. */
static DAT_RETURN kdat_lmr_post(struct kdat_lmr *lmr, struct kdat_ep *ep, bool own)
{
	struct ri_rnic *rnic = lmr->obj.ia->kr->rnic;
	struct kdat_dto *dto;
	DAT_RETURN ret;
	int i;

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
		i = kdat_regs_take(&lmr->regs, false);
		if (i < 0) {
			kdat_slot_clear(dto);
			atomic_dec(&lmr->obj.uses);
			return DAT_SUCCESS;
		}
		lmr->of[i] = lmr->is;
		dto->serial = lmr->regs.serial[i];
		kal_reg_wr_init(&lmr->reg, lmr->mr, lmr->is.address, lmr->is.length, lmr->is.rkey,
				kdat_lmr_access(rnic, lmr->is.priv));
	}
	dto->op = DAT_DTO_LMR_FMR;
	dto->object = &lmr->obj;
	ret = kdat_dto_post(ep, dto, &lmr->reg.reg.wr, (DAT_COMPLETION_FLAGS)KDAT_DTO_INTERNAL);
	if (ret == DAT_SUCCESS)
		return ret;
	/* nobody else can have taken it meanwhile */
	scoped_guard(spinlock_irqsave, &lmr->lock)
		kdat_regs_event(&lmr->regs, lmr->regs.serial[i], KDAT_REG_FAILED);
	atomic_dec(&lmr->obj.uses);
	return ret;
}

/*
 * Post the registration on an endpoint that is connected. Return: the last error; DAT_SUCCESS also
 * if there is no such endpoint. ia->mutex held.
 */
static DAT_RETURN kdat_lmr_post_on_any(struct kdat_lmr *lmr, bool own)
{
	struct kdat_ia *ia = lmr->obj.ia;
	DAT_RETURN ret = DAT_SUCCESS;
	struct kdat_ep *ep;

	list_for_each_entry(ep, &ia->objects[DAT_HANDLE_TYPE_EP], obj.node) {
		guard(mutex)(&ep->mutex);
		if (ep->pz != lmr->pz || !ep->qp || ep->state != DAT_EP_STATE_CONNECTED)
			continue;
		ret = kdat_lmr_post(lmr, ep, own);
		if (ret == DAT_SUCCESS)
			break;
	}
	return ret;
}

/* Take the completions of all endpoints' requests; ia->mutex held. */
static void kdat_lmr_collect(struct kdat_ia *ia)
{
	struct kdat_evd *evd;

	list_for_each_entry(evd, &ia->objects[DAT_HANDLE_TYPE_EVD], obj.node)
		/* one that waits for solicited receives has none, and its own stay in the CQ */
		if (evd->bh && !evd->solicited_streams)
			kdat_evd_collect(evd);
}

static DAT_RETURN kdat_lmr_unposted(const struct kdat_ia *ia, const struct kdat_pz *pz)
{
	const struct kdat_lmr *lmr;

	list_for_each_entry(lmr, &ia->objects[DAT_HANDLE_TYPE_LMR], obj.node)
		if (lmr->pz == pz && kdat_lmr_for_peer(lmr) && kdat_lmr_waits(lmr))
			return KDAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
	return DAT_SUCCESS;
}

/* Report a connection whose LMRs are registered, or that has waited long enough. Return: not yet */
static bool kdat_lmr_establish(struct kdat_ep *ep)
{
	struct kdat_ia *ia = ep->obj.ia;
	DAT_RETURN error = DAT_SUCCESS;

	if (atomic_read(&ep->pz->unnamed)) {
		if (time_before(jiffies, READ_ONCE(ep->established_by)))
			return true;
		error = kdat_lmr_unposted(ia, ep->pz);
	}
	kdat_obj_ops(&ep->obj)->ready(ep, error);
	return false;
}

/* One turn of registrations; ia->mutex held. Return: another one is needed */
static bool kdat_lmr_turn(struct kdat_ia *ia)
{
	bool again = !kdat_lmr_renew(ia), collect = false;
	struct kdat_lmr *lmr;
	struct kdat_ep *ep;

	list_for_each_entry(ep, &ia->objects[DAT_HANDLE_TYPE_EP], obj.node)
		collect = collect || READ_ONCE(ep->establishing);
	/* those that wait need requests, which the completions of others give back */
	list_for_each_entry(lmr, &ia->objects[DAT_HANDLE_TYPE_LMR], obj.node)
		collect = collect || kdat_lmr_waits(lmr);
	if (collect)
		kdat_lmr_collect(ia);
	/* as one of kDAPL's own requests: the consumer's are for what it posts once connected */
	list_for_each_entry(lmr, &ia->objects[DAT_HANDLE_TYPE_LMR], obj.node) {
		cond_resched();
		if (kdat_lmr_waits(lmr))
			again = kdat_lmr_post_on_any(lmr, true) != DAT_SUCCESS || again;
	}
	list_for_each_entry(ep, &ia->objects[DAT_HANDLE_TYPE_EP], obj.node)
		if (READ_ONCE(ep->establishing))
			again = kdat_lmr_establish(ep) || again;
	return again;
}

void kdat_lmr_register_work(struct work_struct *work)
{
	struct kdat_ia *ia = container_of(to_delayed_work(work), struct kdat_ia, register_work);
	unsigned int turns = KDAT_LMR_TURNS;
	bool again;

	guard(krdma_noio)();
	do {
		if (!kdat_enter(ia))
			return;
		scoped_guard(mutex, &ia->mutex)
			again = kdat_lmr_turn(ia);
		kdat_leave(ia);
		if (again)
			usleep_range(20, 100);
	} while (again && --turns);
	if (again)
		queue_delayed_work(kdat_lmr_wq, &ia->register_work, 1);
}

bool kdat_lmr_connected(struct kdat_ep *ep)
{
	struct kdat_ia *ia = ep->obj.ia;

	lockdep_assert_held(&ep->mutex);
	if (kdat_maps(ia->kr->rnic) || !atomic_read(&ep->pz->unnamed))
		return true;
	WRITE_ONCE(ep->established_by,
		   jiffies + msecs_to_jiffies(READ_ONCE(kdat_lmr_all_timeout_ms)));
	kdat_lmr_local_kick(ia);
	return false;
}

static void kdat_lmr_settle_until(struct kdat_lmr *lmr, unsigned long end)
{
	struct kdat_ia *ia = lmr->obj.ia;

	while (lmr->kind == KDAT_LMR_LOCAL && kdat_regs_is(&lmr->regs, KDAT_REG_POSTED)) {
		scoped_guard(mutex, &ia->mutex)
			kdat_lmr_collect(ia);
		if (!time_before(jiffies, end))
			break;
		usleep_range(20, 100);
	}
}

void kdat_lmr_settle(struct kdat_lmr *lmr)
{
	kdat_lmr_settle_until(lmr, jiffies + msecs_to_jiffies(READ_ONCE(kdat_lmr_timeout_ms)));
}

void kdat_lmr_local_stop(struct kdat_lmr *lmr)
{
	/* the work item holds it while it posts */
	scoped_guard(mutex, &lmr->obj.ia->mutex)
		WRITE_ONCE(lmr->ends, true);
	kdat_lmr_settle_until(lmr, jiffies + msecs_to_jiffies(READ_ONCE(kdat_lmr_all_timeout_ms)));
}

void kdat_lmr_local_resume(struct kdat_lmr *lmr)
{
	scoped_guard(mutex, &lmr->obj.ia->mutex)
		WRITE_ONCE(lmr->ends, false);
	kdat_lmr_local_kick(lmr->obj.ia);
}

DAT_RETURN kdat_lmr_pending(struct kdat_lmr *lmr)
{
	struct kdat_ia *ia = lmr->obj.ia;
	DAT_RETURN ret;

	if (!kdat_lmr_waits(lmr))
		return DAT_SUCCESS;
	scoped_guard(spinlock_irqsave, &lmr->lock)
		kdat_lmr_local_count(lmr, false);
	guard(mutex)(&ia->mutex);
	ret = kdat_lmr_post_on_any(lmr, false);
	/* without a region, the elements of a request are limited, and that is all */
	return kdat_lmr_for_peer(lmr) ? ret : DAT_SUCCESS;
}

/* Translation *************************************************************** */

/* The elements of one segment in LMR @lmr. */
static int kdat_lmr_elements(const struct kdat_lmr *lmr, const DAT_LMR_TRIPLET *seg,
			     struct ib_sge *sge, u32 max, DAT_RETURN *error)
{
	const struct kdat_mem *mem = lmr->mem;
	u64 off = seg->virtual_address - lmr->is.address;
	u32 len = seg->segment_length;
	u32 i, num = 0;
	u64 begin;

	if (lmr->kind == KDAT_LMR_FAST || kdat_regs_is(&lmr->regs, KDAT_REG_NAMED)) {
		if (!max)
			return kdat_lmr_too_many(error);
		sge->addr = seg->virtual_address;
		sge->length = len;
		sge->lkey = READ_ONCE(lmr->is.rkey);
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
	return lmr->is.priv & (DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG |
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
