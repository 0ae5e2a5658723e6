// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Local memory regions that are made of the consumer's memory.
 *
 * An RNIC with ri_ops.mr_map gets a region for each LMR, whose STag is both the LMR's contexts. For
 * other RNICs see lmr_local.c.
 *
 * Where the standard leaves it open:
 *
 * - The remote write privilege gives the RNIC's region the local write right, without which there
 *   is no remote one.
 * - An LMR that the peer invalidated stays until dat_lmr_free(), and names nothing.
 */
#include <linux/overflow.h>
#include <linux/slab.h>

#include "lmr.h"

#define KDAT_LMR_PRIVS		(DAT_MEM_PRIV_ALL_FLAG | (u32)DAT_IB_MEM_PRIV_REMOTE_ATOMIC)
#define KDAT_LMR_OPTIMIZE	(DAT_MEM_OPTIMIZE_IA | DAT_MEM_OPTIMIZE_MIN_EXPOSURE |	\
				 DAT_MEM_OPTIMIZE_EXACT_EXPOSURE)

bool kdat_lmr_priv_ok(DAT_MEM_PRIV_FLAGS priv)
{
	return !((u32)priv & ~KDAT_LMR_PRIVS);
}

/* What the RNIC's region allows for @priv: enum ib_access_flags */
int kdat_lmr_access(const struct ri_rnic *rnic, DAT_MEM_PRIV_FLAGS priv)
{
	const u32 flags = priv;
	int access = 0;

	if (flags & DAT_MEM_PRIV_REMOTE_READ_FLAG)
		access |= IB_ACCESS_REMOTE_READ;
	if (flags & DAT_MEM_PRIV_LOCAL_WRITE_FLAG)
		access |= IB_ACCESS_LOCAL_WRITE;
	if (flags & DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
		access |= IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE;
	if (flags & DAT_IB_MEM_PRIV_REMOTE_ATOMIC)
		access |= IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_ATOMIC;
	if (rnic->attr.limits.device_cap_flags &
	    (IB_DEVICE_MEM_WINDOW | IB_DEVICE_MEM_WINDOW_TYPE_2B))
		access |= IB_ACCESS_MW_BIND;
	return access;
}

enum dma_data_direction kdat_lmr_direction(DAT_MEM_PRIV_FLAGS priv, bool long_term)
{
	const u32 atomic = (u32)DAT_IB_MEM_PRIV_REMOTE_ATOMIC, flags = priv;
	const u32 reads = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG | atomic;
	const u32 writes = DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG | atomic;

	if (!(flags & writes))
		return DMA_TO_DEVICE;
	return long_term || flags & reads ? DMA_BIDIRECTIONAL : DMA_FROM_DEVICE;
}

DAT_RETURN kdat_lmr_error(int err)
{
	return kdat_error_of_resource(err, DAT_RESOURCE_MEMORY_REGION);
}

u64 kdat_lmr_max_size(const struct ri_rnic *rnic)
{
	const struct ib_device_attr *limits = &rnic->attr.limits;

	if (kdat_maps(rnic))
		return limits->max_mr_size;
	return min((u64)limits->max_fast_reg_page_list_len << PAGE_SHIFT, limits->max_mr_size);
}

/* Begin and end ************************************************************* */

int kdat_lmr_publish(struct kdat_lmr *lmr)
{
	struct kdat_ia *ia = lmr->obj.ia;
	int ret;

	if (!kdat_maps(ia->kr->rnic)) {
		ret = xa_alloc_cyclic(&ia->lmrs, &lmr->context, lmr, XA_LIMIT(1, U32_MAX),
				      &ia->next_lmr, GFP_KERNEL_ACCOUNT);
		if (ret < 0)
			return -ENOMEM;
	}
	if (!lmr->mr)
		return 0;
	ret = xa_insert(&ia->stags, lmr->is.rkey >> 8, lmr, GFP_KERNEL_ACCOUNT);
	if (ret && lmr->context)
		xa_erase(&ia->lmrs, lmr->context);
	return ret;
}

/* Give back all that a new LMR has; it is in no table yet. */
static void kdat_lmr_discard(struct kdat_lmr *lmr)
{
	if (lmr->mr)
		kal_mr_deregister(lmr->mr);
	if (lmr->dma)
		kal_mr_deregister(lmr->dma);
	kdat_mem_put(lmr->mem);
	kfree_rcu(lmr, obj.rcu);
}

/* The RNIC is removed, or the LMR freed: no window is bound to it any more. */
void kdat_lmr_drop(struct kdat_lmr *lmr)
{
	struct ri_mr *mr;

	/* from now on an invalidation by the peer does not count it again */
	scoped_guard(spinlock_irqsave, &lmr->lock) {
		mr = lmr->mr;
		lmr->mr = NULL;
		if (lmr->kind == KDAT_LMR_LOCAL)
			kdat_lmr_local_count(lmr, true);
	}
	if (mr) {
		/* while the STag still is this LMR's */
		xa_erase(&lmr->obj.ia->stags, lmr->is.rkey >> 8);
		WARN_ON(kal_mr_deregister(mr));
		kdat_lmr_fast_end(lmr);
	}
	if (lmr->dma)
		WARN_ON(kal_mr_deregister(lmr->dma));
	lmr->dma = NULL;
	if (lmr->obj.ia->kr->gone && lmr->mem)
		kdat_mem_unmap(lmr->mem);
}

void kdat_lmr_destroy(struct kdat_lmr *lmr)
{
	struct kdat_ia *ia = lmr->obj.ia;

	kdat_hold(ia);
	if (lmr->context)
		xa_erase(&ia->lmrs, lmr->context);
	kdat_lmr_drop(lmr);
	/* the pointer stays: translations under RCU may still use it */
	kdat_mem_put(lmr->mem);
	atomic_dec(&lmr->pz->obj.uses);
	kdat_obj_free(&lmr->obj);
	kdat_leave(ia);
}

static DAT_RETURN kdat_lmr_free(DAT_LMR_HANDLE lmr_handle)
{
	struct kdat_lmr *lmr = kdat_lmr_of(lmr_handle);
	bool ends, stopped = false;

	might_sleep();
	if (!lmr)
		return KDAT_BAD_HANDLE(LMR);
	if (lmr->kind == KDAT_LMR_RESERVED)
		return KDAT_ERROR(DAT_RESERVED_LMR, DAT_NO_SUBTYPE);
	if (kdat_enter(lmr->obj.ia)) {
		kdat_lmr_local_stop(lmr);
		stopped = true;
		kdat_leave(lmr->obj.ia);
	}
	ends = !atomic_cmpxchg(&lmr->obj.uses, 0, KDAT_LMR_ENDS);
	if (ends)
		kdat_lmr_destroy(lmr);
	else if (stopped)
		kdat_lmr_local_resume(lmr);
	return ends ? DAT_SUCCESS : KDAT_BAD_STATE(LMR_IN_USE);
}

/* Queries ******************************************************************* */

static void kdat_lmr_answer(const struct kdat_lmr *lmr, DAT_LMR_PARAM_MASK mask,
			    DAT_LMR_PARAM *param)
{
	if (mask & DAT_LMR_FIELD_IA_HANDLE)
		param->ia_handle = lmr->obj.ia;
	if (mask & DAT_LMR_FIELD_MEM_TYPE)
		param->mem_type = lmr->is.mem_type;
	if (mask & DAT_LMR_FIELD_REGION_DESC)
		param->region_desc = lmr->is.desc;
	if (mask & DAT_LMR_FIELD_LENGTH)
		param->length = lmr->is.wanted;
	if (mask & DAT_LMR_FIELD_PZ_HANDLE)
		param->pz_handle = lmr->pz;
	if (mask & DAT_LMR_FIELD_MEM_PRIV)
		param->mem_priv = lmr->is.priv;
	if (mask & DAT_LMR_FIELD_VA_TYPE)
		param->va_type = lmr->is.va_type;
	if (mask & DAT_LMR_FIELD_LMR_CONTEXT)
		param->lmr_context = lmr->context ?: lmr->is.rkey;
	if (mask & DAT_LMR_FIELD_RMR_CONTEXT)
		param->rmr_context = kdat_lmr_for_peer(lmr) ? lmr->is.rkey : 0;
	if (mask & DAT_LMR_FIELD_REGISTERED_SIZE)
		param->registered_size = lmr->is.length;
	if (mask & DAT_LMR_FIELD_REGISTERED_ADDRESS)
		param->registered_address = lmr->is.address;
	if (mask & DAT_LMR_FIELD_LMR_STATE) {
		param->lmr_state.fmr_support = lmr->kind == KDAT_LMR_FAST ? DAT_TRUE : DAT_FALSE;
		param->lmr_state.bound = atomic_read(&lmr->bindings) ? DAT_TRUE : DAT_FALSE;
	}
}

static DAT_RETURN kdat_lmr_query(DAT_LMR_HANDLE lmr_handle, DAT_LMR_PARAM_MASK mask,
				 DAT_LMR_PARAM *param)
{
	struct kdat_lmr *lmr = kdat_lmr_of(lmr_handle);

	if (!lmr)
		return KDAT_BAD_HANDLE(LMR);
	if ((u32)mask & ~DAT_LMR_FIELD_ALL)
		return KDAT_BAD_ARG(2);
	if (!param)
		return KDAT_BAD_ARG(3);
	if (!kdat_enter_atomic(lmr->obj.ia))
		return KDAT_GONE;
	scoped_guard(spinlock_irqsave, &lmr->lock)
		kdat_lmr_answer(lmr, mask, param);
	kdat_leave_atomic(lmr->obj.ia);
	return DAT_SUCCESS;
}

/* dat_lmr_kcreate() ********************************************************* */

/* A region of the RNIC that names the memory at once. */
static DAT_RETURN kdat_lmr_map(struct kdat_lmr *lmr)
{
	struct ri_rnic *rnic = lmr->obj.ia->kr->rnic;
	const struct kdat_mem *mem = lmr->mem;
	struct ri_mr *mr;
	u32 i;

	mr = kal_mr_alloc_map(lmr->pz->pd, mem->num, true);
	if (IS_ERR(mr))
		return kdat_lmr_error(PTR_ERR(mr));
	lmr->mr = mr;
	lmr->kind = KDAT_LMR_STAG;
	for (i = 0; i < mem->num; i++) {
		mr->list.pages[i] = mem->extents[i].addr;
		mr->list.ends[i] = mem->extents[i].end;
	}
	mr->list.num = mem->num;
	mr->list.page_shift = PAGE_SHIFT;
	lmr->is.rkey = ib_inc_rkey(mr->stag);
	return kdat_lmr_error(kal_mr_map(mr, lmr->is.address, lmr->is.length, lmr->is.rkey,
					 kdat_lmr_access(rnic, lmr->is.priv)));
}

/* The memory of another LMR, from its beginning. */
static DAT_RETURN kdat_lmr_share(struct kdat_lmr *lmr)
{
	struct kdat_lmr *other = kdat_lmr_of(lmr->is.desc.for_lmr_handle);

	if (!other || other->obj.ia != lmr->obj.ia)
		return KDAT_BAD_HANDLE(LMR);
	if (other->kind == KDAT_LMR_RESERVED)
		return KDAT_ERROR(DAT_RESERVED_LMR, DAT_NO_SUBTYPE);
	if (!other->mem)
		return KDAT_BAD_ARG(3);
	if (lmr->is.wanted > other->is.length)
		return KDAT_BAD_ARG(4);
	/* the memory is mapped for one direction */
	if (!kal_dma_is_virtual(lmr->obj.ia->kr->rnic) && other->mem->dir == DMA_TO_DEVICE &&
	    kdat_lmr_direction(lmr->is.priv, true) != DMA_TO_DEVICE)
		return KDAT_ERROR(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE);
	if (!refcount_inc_not_zero(&other->mem->refs))
		return KDAT_BAD_HANDLE(LMR);
	lmr->mem = other->mem;
	lmr->is.length = lmr->is.wanted;
	return DAT_SUCCESS;
}

/* Compute the length in bytes. */
static DAT_RETURN kdat_lmr_measure(struct kdat_lmr *lmr)
{
	u64 page_size = 1;

	if (lmr->is.mem_type == DAT_MEM_TYPE_PHYSICAL)
		page_size = PAGE_SIZE;
	if (lmr->is.mem_type == DAT_MEM_TYPE_PHYSICAL_VAR_PAGES)
		page_size = lmr->is.desc.for_array.page_size;
	if (page_size != 1 && !kdat_mem_page_size_ok(page_size))
		return KDAT_BAD_ARG(3);
	if (!lmr->is.wanted || check_mul_overflow(lmr->is.wanted, page_size, &lmr->is.length) ||
	    lmr->is.length > lmr->obj.ia->kr->rnic->attr.limits.max_mr_size)
		return KDAT_BAD_ARG(4);
	return DAT_SUCCESS;
}

static DAT_RETURN kdat_lmr_describe(struct kdat_lmr *lmr)
{
	struct kdat_mem *mem;
	DAT_RETURN ret;

	ret = kdat_lmr_measure(lmr);
	if (ret != DAT_SUCCESS)
		return ret;
	if (lmr->is.mem_type == DAT_MEM_TYPE_LMR)
		return kdat_lmr_share(lmr);
	mem = kdat_mem_make(lmr->obj.ia->kr->rnic, &lmr->is);
	if (PTR_ERR_OR_ZERO(mem) == -EINVAL)
		return KDAT_BAD_ARG(3);
	if (IS_ERR(mem))
		return kdat_lmr_error(PTR_ERR(mem));
	lmr->mem = mem;
	return DAT_SUCCESS;
}

static DAT_RETURN kdat_lmr_make(struct kdat_lmr *lmr)
{
	DAT_RETURN ret;
	u64 last;

	ret = kdat_lmr_describe(lmr);
	if (ret != DAT_SUCCESS)
		return ret;
	lmr->is.address = lmr->is.va_type == DAT_VA_TYPE_ZB ? 0 : lmr->mem->address;
	if (check_add_overflow(lmr->is.address, lmr->is.length - 1, &last))
		return KDAT_BAD_ARG(4);
	ret = kdat_maps(lmr->obj.ia->kr->rnic) ? kdat_lmr_map(lmr) : kdat_lmr_local_make(lmr);
	if (ret != DAT_SUCCESS)
		return ret;
	return kdat_lmr_error(kdat_lmr_publish(lmr));
}

struct kdat_lmr *kdat_lmr_new(struct kdat_ia *ia, struct kdat_pz *pz)
{
	struct kdat_lmr *lmr = kzalloc(sizeof(*lmr), GFP_KERNEL_ACCOUNT);

	if (!lmr)
		return NULL;
	lmr->obj.ia = ia;
	lmr->pz = pz;
	spin_lock_init(&lmr->lock);
	return lmr;
}

static DAT_RETURN kdat_lmr_check(DAT_MEM_TYPE type, DAT_MEM_PRIV_FLAGS priv, DAT_VA_TYPE va_type,
				 DAT_MEM_OPTIMIZE_FLAGS optimize, const DAT_LMR_HANDLE *handle)
{
	switch (type) {
	case DAT_MEM_TYPE_VIRTUAL:
	case DAT_MEM_TYPE_LMR:
	case DAT_MEM_TYPE_PHYSICAL:
	case DAT_MEM_TYPE_PLATFORM:
	case DAT_MEM_TYPE_IA:
	case DAT_MEM_TYPE_PHYSICAL_VAR_PAGES:
		break;
	case DAT_MEM_TYPE_BYPASS:
		return KDAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	default:
		return KDAT_BAD_ARG(2);
	}
	if (!kdat_lmr_priv_ok(priv))
		return KDAT_BAD_ARG(6);
	if (va_type != DAT_VA_TYPE_VA && va_type != DAT_VA_TYPE_ZB)
		return KDAT_BAD_ARG(7);
	if ((u32)optimize & ~KDAT_LMR_OPTIMIZE)
		return KDAT_BAD_ARG(8);
	return handle ? DAT_SUCCESS : KDAT_BAD_ARG(9);
}

static DAT_RETURN kdat_lmr_kcreate(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
				   DAT_REGION_DESCRIPTION desc, DAT_VLEN length,
				   DAT_PZ_HANDLE pz_handle, DAT_MEM_PRIV_FLAGS priv,
				   DAT_VA_TYPE va_type, DAT_MEM_OPTIMIZE_FLAGS optimize,
				   DAT_LMR_HANDLE *handle, DAT_LMR_CONTEXT *lmr_context,
				   DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
				   DAT_VADDR *registered_address)
{
	struct kdat_ia *ia = kdat_ia_of(ia_handle);
	struct kdat_pz *pz = kdat_pz_of(pz_handle);
	DAT_LMR_PARAM param = {};
	struct kdat_lmr *lmr;
	bool made = false;
	DAT_RETURN ret;

	might_sleep();
	if (!ia)
		return KDAT_BAD_HANDLE(IA);
	if (!pz || pz->obj.ia != ia)
		return KDAT_BAD_HANDLE(PZ);
	ret = kdat_lmr_check(mem_type, priv, va_type, optimize, handle);
	if (ret != DAT_SUCCESS)
		return ret;
	lmr = kdat_lmr_new(ia, pz);
	if (!lmr)
		return KDAT_NO_MEMORY;
	lmr->is.mem_type = mem_type;
	lmr->is.desc = desc;
	lmr->is.wanted = length;
	lmr->is.priv = priv;
	lmr->is.va_type = va_type;
	if (!kdat_enter(ia)) {
		kfree(lmr);
		return KDAT_GONE;
	}
	ret = kdat_lmr_make(lmr);
	if (ret == DAT_SUCCESS) {
		kdat_lmr_answer(lmr, DAT_LMR_FIELD_ALL, &param);
		atomic_inc(&pz->obj.uses);
		kdat_obj_init(&lmr->obj, ia, DAT_HANDLE_TYPE_LMR);
		*handle = lmr;
		if (lmr_context)
			*lmr_context = param.lmr_context;
		if (rmr_context)
			*rmr_context = param.rmr_context;
		if (registered_length)
			*registered_length = param.registered_size;
		if (registered_address)
			*registered_address = param.registered_address;
		ret = kdat_lmr_pending(lmr);
		/* an endpoint that was connected meanwhile may have posted it */
		if (ret != DAT_SUCCESS && atomic_cmpxchg(&lmr->obj.uses, 0, KDAT_LMR_ENDS))
			ret = DAT_SUCCESS;
		if (ret == DAT_SUCCESS)
			kdat_lmr_settle(lmr);
		made = true;
	} else {
		kdat_lmr_discard(lmr);
	}
	kdat_leave(ia);
	if (made && ret != DAT_SUCCESS) {
		*handle = DAT_HANDLE_NULL;
		kdat_lmr_destroy(lmr);
	}
	return ret;
}

static DAT_RETURN kdat_lmr_memtype_hint(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
					DAT_VLEN length, DAT_MEM_OPTIMIZE_FLAGS optimize,
					DAT_VLEN *preferred_length, DAT_VADDR *preferred_alignment)
{
	struct kdat_ia *ia = kdat_ia_of(ia_handle);
	DAT_LMR_HANDLE none;
	DAT_RETURN ret;

	if (!ia)
		return KDAT_BAD_HANDLE(IA);
	ret = kdat_lmr_check(mem_type, DAT_MEM_PRIV_NONE_FLAG, DAT_VA_TYPE_VA,
			     DAT_MEM_OPTIMIZE_DONT_CARE, &none);
	if (ret != DAT_SUCCESS)
		return ret;
	if (!length)
		return KDAT_BAD_ARG(3);
	if ((u32)optimize & ~KDAT_LMR_OPTIMIZE)
		return KDAT_BAD_ARG(4);
	if (!preferred_length)
		return KDAT_BAD_ARG(5);
	if (!preferred_alignment)
		return KDAT_BAD_ARG(6);
	if (!kdat_enter_atomic(ia))
		return KDAT_GONE;
	/* exactly what is asked for is registered, and pages are whole by themselves */
	*preferred_length = min(length, kdat_lmr_max_size(ia->kr->rnic));
	kdat_leave_atomic(ia);
	*preferred_alignment = mem_type == DAT_MEM_TYPE_PHYSICAL ? PAGE_SIZE : L1_CACHE_BYTES;
	return DAT_SUCCESS;
}

void kdat_lmr_table(DAT_PROVIDER *provider)
{
	provider->ia_memtype_hint_func = kdat_lmr_memtype_hint;
	provider->lmr_kcreate_func = kdat_lmr_kcreate;
	provider->lmr_query_func = kdat_lmr_query;
	provider->lmr_free_func = kdat_lmr_free;
	kdat_lmr_sync_table(provider);
	kdat_lmr_fast_table(provider);
}
