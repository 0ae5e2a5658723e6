// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Remote memory regions: windows of the RNIC, type 1 for any endpoint of the protection zone, type
 * 2 for the one that binds it.
 *
 * The LMR of a binding cannot be freed until the window is bound to something else, or unbound, or
 * freed. Since binds may be posted one behind the other, an RMR keeps a list of its bindings.
 *
 * Where the standard leaves it open:
 *
 * - An RMR of an endpoint is unbound by an invalidation, which completes as a bind does; it has to
 *   be unbound before it can be bound again (DAT_INVALID_STATE), by the consumer or the peer. To
 *   unbind one that is not bound is DAT_INVALID_STATE, too.
 * - A remote privilege needs the local one of the LMR: DAT_PRIVILEGES_VIOLATION. An LMR of another
 *   zone is DAT_PROTECTION_VIOLATION. Local privileges of an RMR have no meaning.
 * - dat_rmr_free() of an RMR for which a bind is posted is DAT_INVALID_STATE without a subtype.
 */
#include <linux/slab.h>

#include "lmr.h"

#define KDAT_RMR_FLAGS	(DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG | \
			 DAT_COMPLETION_BARRIER_FENCE_FLAG)

/**
 * struct kdat_binding - a binding of an RMR
 * @node: in kdat_rmr.bindings
 * @lmr: LMR, with a use; NULL: unbound
 * @dto: its request, NULL: completed
 * @triplet: part of the LMR
 * @priv: of the peer
 * @va_type: of the peer's addresses
 * @context: the peer's
 */
struct kdat_binding {
	struct list_head node;
	struct kdat_lmr *lmr;
	struct kdat_dto *dto;
	DAT_LMR_TRIPLET triplet;
	DAT_MEM_PRIV_FLAGS priv;
	DAT_VA_TYPE va_type;
	u32 context;
};

static void kdat_rmr_unuse(struct kdat_binding *binding)
{
	struct kdat_lmr *lmr = binding->lmr;

	if (!lmr)
		return;
	binding->lmr = NULL;
	atomic_dec(&lmr->bindings);
	atomic_dec(&lmr->obj.uses);
}

static void kdat_rmr_forget(struct kdat_binding *binding)
{
	kdat_rmr_unuse(binding);
	list_del(&binding->node);
	kfree(binding);
}

/* The binding that holds when all posted requests are done, or NULL. */
static struct kdat_binding *kdat_rmr_last(struct kdat_rmr *rmr)
{
	struct kdat_binding *last;

	if (list_empty(&rmr->bindings))
		return NULL;
	last = list_last_entry(&rmr->bindings, struct kdat_binding, node);
	return last->lmr ? last : NULL;
}

/* Begin and end ************************************************************* */

static DAT_RETURN kdat_rmr_make(struct kdat_rmr *rmr)
{
	const bool pz = rmr->scope == DAT_RMR_SCOPE_PZ;
	struct kdat_ia *ia = rmr->obj.ia;
	struct ri_mw *mw;
	int ret;

	mw = kal_mw_alloc(rmr->pz->pd, pz ? IB_MW_TYPE_1 : IB_MW_TYPE_2);
	if (IS_ERR(mw))
		return kdat_lmr_error(PTR_ERR(mw));
	ret = xa_insert(&ia->stags, mw->stag >> 8, rmr, GFP_KERNEL_ACCOUNT);
	if (ret)
		kal_mw_dealloc(mw);
	else
		rmr->mw = mw;
	return kdat_lmr_error(ret);
}

static DAT_RETURN kdat_rmr_new(DAT_PZ_HANDLE pz_handle, DAT_RMR_SCOPE scope,
			       DAT_RMR_HANDLE *handle)
{
	struct kdat_pz *pz = kdat_pz_of(pz_handle);
	struct kdat_rmr *rmr;
	struct kdat_ia *ia;
	DAT_RETURN ret;

	might_sleep();
	if (!pz)
		return KDAT_BAD_HANDLE(PZ);
	if (!handle)
		return KDAT_BAD_ARG(2);
	rmr = kzalloc(sizeof(*rmr), GFP_KERNEL_ACCOUNT);
	if (!rmr)
		return KDAT_NO_MEMORY;
	ia = pz->obj.ia;
	rmr->obj.ia = ia;
	rmr->pz = pz;
	rmr->scope = scope;
	spin_lock_init(&rmr->lock);
	INIT_LIST_HEAD(&rmr->bindings);
	if (!kdat_enter(ia)) {
		kfree(rmr);
		return KDAT_GONE;
	}
	ret = kdat_rmr_make(rmr);
	if (ret == DAT_SUCCESS) {
		atomic_inc(&pz->obj.uses);
		kdat_obj_init(&rmr->obj, ia, DAT_HANDLE_TYPE_RMR);
		*handle = rmr;
	} else {
		kfree_rcu(rmr, obj.rcu);
	}
	kdat_leave(ia);
	return ret;
}

static DAT_RETURN kdat_rmr_create(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *handle)
{
	return kdat_rmr_new(pz, DAT_RMR_SCOPE_PZ, handle);
}

static DAT_RETURN kdat_rmr_create_for_ep(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *handle)
{
	return kdat_rmr_new(pz, DAT_RMR_SCOPE_EP, handle);
}

void kdat_rmr_drop(struct kdat_rmr *rmr)
{
	struct kdat_binding *binding, *next;

	if (rmr->mw) {
		xa_erase(&rmr->obj.ia->stags, rmr->mw->stag >> 8);
		kal_mw_dealloc(rmr->mw);
		rmr->mw = NULL;
	}
	scoped_guard(spinlock_irqsave, &rmr->lock)
		list_for_each_entry_safe(binding, next, &rmr->bindings, node)
			kdat_rmr_forget(binding);
}

void kdat_rmr_destroy(struct kdat_rmr *rmr)
{
	struct kdat_ia *ia = rmr->obj.ia;

	kdat_hold(ia);
	kdat_rmr_drop(rmr);
	atomic_dec(&rmr->pz->obj.uses);
	kdat_obj_free(&rmr->obj);
	kdat_leave(ia);
}

static DAT_RETURN kdat_rmr_free(DAT_RMR_HANDLE rmr_handle)
{
	struct kdat_rmr *rmr = kdat_rmr_of(rmr_handle);

	might_sleep();
	if (!rmr)
		return KDAT_BAD_HANDLE(RMR);
	if (atomic_cmpxchg(&rmr->obj.uses, 0, KDAT_LMR_ENDS))
		return KDAT_ERROR(DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	kdat_rmr_destroy(rmr);
	return DAT_SUCCESS;
}

static void kdat_rmr_answer(struct kdat_rmr *rmr, DAT_RMR_PARAM_MASK mask, DAT_RMR_PARAM *param)
{
	static const struct kdat_binding none;
	const struct kdat_binding *binding = kdat_rmr_last(rmr) ?: &none;

	if (mask & DAT_RMR_FIELD_IA_HANDLE)
		param->ia_handle = rmr->obj.ia;
	if (mask & DAT_RMR_FIELD_PZ_HANDLE)
		param->pz_handle = rmr->pz;
	if (mask & DAT_RMR_FIELD_LMR_TRIPLET)
		param->lmr_triplet = binding->triplet;
	if (mask & DAT_RMR_FIELD_MEM_PRIV)
		param->mem_priv = binding->priv;
	if (mask & DAT_RMR_FIELD_RMR_CONTEXT)
		param->rmr_context = binding->context;
	if (mask & DAT_RMR_FIELD_RMR_SCOPE)
		param->rmr_scope = rmr->scope;
	if (mask & DAT_RMR_FIELD_VA_TYPE)
		param->va_type = binding->va_type;
}

static DAT_RETURN kdat_rmr_query(DAT_RMR_HANDLE rmr_handle, DAT_RMR_PARAM_MASK mask,
				 DAT_RMR_PARAM *param)
{
	struct kdat_rmr *rmr = kdat_rmr_of(rmr_handle);

	if (!rmr)
		return KDAT_BAD_HANDLE(RMR);
	if ((u32)mask & ~DAT_RMR_FIELD_ALL)
		return KDAT_BAD_ARG(2);
	if (!param)
		return KDAT_BAD_ARG(3);
	if (!kdat_enter_atomic(rmr->obj.ia))
		return KDAT_GONE;
	scoped_guard(spinlock_irqsave, &rmr->lock)
		kdat_rmr_answer(rmr, mask, param);
	kdat_leave_atomic(rmr->obj.ia);
	return DAT_SUCCESS;
}

/* dat_rmr_bind() ************************************************************ */

static bool kdat_rmr_priv_ok(const struct kdat_lmr *lmr, DAT_MEM_PRIV_FLAGS priv)
{
	const u32 writes = DAT_MEM_PRIV_REMOTE_WRITE_FLAG | (u32)DAT_IB_MEM_PRIV_REMOTE_ATOMIC;

	if (priv & writes && !(lmr->is.priv & DAT_MEM_PRIV_LOCAL_WRITE_FLAG))
		return false;
	return !(priv & DAT_MEM_PRIV_REMOTE_READ_FLAG) ||
	       lmr->is.priv & DAT_MEM_PRIV_LOCAL_READ_FLAG;
}

/* May the window be bound to this part of the LMR? */
static DAT_RETURN kdat_rmr_check_lmr(const struct kdat_rmr *rmr, struct kdat_lmr *lmr,
				     const DAT_LMR_TRIPLET *triplet, DAT_MEM_PRIV_FLAGS priv)
{
	if (!lmr || lmr->obj.ia != rmr->obj.ia)
		return KDAT_BAD_HANDLE(LMR);
	if (lmr->kind == KDAT_LMR_RESERVED)
		return KDAT_ERROR(DAT_RESERVED_LMR, DAT_NO_SUBTYPE);
	if (lmr->pz != rmr->pz)
		return KDAT_ERROR(DAT_PROTECTION_VIOLATION, DAT_NO_SUBTYPE);
	if (!lmr->mr || (lmr->kind == KDAT_LMR_FAST && !kdat_regs_names(&lmr->regs)))
		return KDAT_BAD_STATE(LMR_FREE);
	if (triplet->lmr_context != (lmr->context ?: lmr->is.rkey) ||
	    !kdat_lmr_has(lmr, triplet->virtual_address, triplet->segment_length))
		return KDAT_BAD_ARG(3);
	if (!kdat_rmr_priv_ok(lmr, priv))
		return KDAT_ERROR(DAT_PRIVILEGES_VIOLATION,
				  priv & DAT_MEM_PRIV_REMOTE_READ_FLAG ? DAT_PRIVILEGES_RDMA_READ :
									 DAT_PRIVILEGES_RDMA_WRITE);
	return DAT_SUCCESS;
}

static DAT_RETURN kdat_rmr_check(const struct kdat_rmr *rmr, const DAT_LMR_TRIPLET *triplet,
				 DAT_MEM_PRIV_FLAGS priv, DAT_VA_TYPE va_type,
				 const struct kdat_ep *ep, DAT_COMPLETION_FLAGS flags)
{
	if (!rmr)
		return KDAT_BAD_HANDLE(RMR);
	if (!triplet)
		return KDAT_BAD_ARG(3);
	if (!kdat_lmr_priv_ok(priv))
		return KDAT_BAD_ARG(4);
	if (va_type != DAT_VA_TYPE_VA && va_type != DAT_VA_TYPE_ZB)
		return KDAT_BAD_ARG(5);
	if (!ep || ep->obj.ia != rmr->obj.ia)
		return KDAT_BAD_HANDLE(EP);
	return (u32)flags & ~KDAT_RMR_FLAGS ? KDAT_BAD_ARG(8) : DAT_SUCCESS;
}

static int kdat_rmr_access(DAT_MEM_PRIV_FLAGS priv, DAT_VA_TYPE va_type)
{
	const u32 flags = priv;
	int access = va_type == DAT_VA_TYPE_ZB ? IB_ZERO_BASED : 0;

	if (flags & DAT_MEM_PRIV_REMOTE_READ_FLAG)
		access |= IB_ACCESS_REMOTE_READ;
	if (flags & DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
		access |= IB_ACCESS_REMOTE_WRITE;
	if (flags & DAT_IB_MEM_PRIV_REMOTE_ATOMIC)
		access |= IB_ACCESS_REMOTE_ATOMIC;
	return access;
}

/*
 * Put @binding into the list, fill in its request. Return: false: an RMR of an endpoint has to be
 * unbound first, or is not bound: its invalidation would end the connection.
 */
static bool kdat_rmr_add(struct kdat_rmr *rmr, struct kdat_binding *binding, struct ri_bind_wr *wr)
{
	const bool type2 = rmr->scope == DAT_RMR_SCOPE_EP;
	bool ok = false;

	scoped_guard(spinlock_irqsave, &rmr->lock) {
		if (type2 && !binding->lmr == !kdat_rmr_last(rmr))
			break;
		ok = true;
		list_add_tail(&binding->node, &rmr->bindings);
		if (type2 && !binding->lmr) {
			wr->wr.opcode = IB_WR_LOCAL_INV;
			wr->wr.ex.invalidate_rkey = rmr->mw->stag;
			break;
		}
		rmr->mw->stag = ib_inc_rkey(rmr->mw->stag);
		binding->context = rmr->mw->stag;
		wr->wr.opcode = IB_WR_BIND_MW;
		wr->stag = rmr->mw->stag;
		wr->length = binding->triplet.segment_length;
		if (!binding->lmr)
			break;
		wr->region = binding->lmr->is.rkey;
		wr->addr = binding->triplet.virtual_address;
		wr->access = kdat_rmr_access(binding->priv, binding->va_type);
	}
	return ok;
}

static DAT_RETURN kdat_rmr_post(struct kdat_rmr *rmr, struct kdat_binding *binding,
				struct kdat_ep *ep, DAT_RMR_COOKIE cookie,
				DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	struct ri_bind_wr wr = {};
	struct kdat_dto *dto;
	DAT_RETURN ret;
	u32 stag;

	dto = kdat_slot_get(&ep->requests);
	if (!dto)
		return KDAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
	dto->op = DAT_DTO_BIND_MW;
	dto->cookie = cookie;
	dto->object = &rmr->obj;
	binding->dto = dto;
	if (!kdat_rmr_add(rmr, binding, &wr)) {
		kdat_slot_clear(dto);
		return KDAT_ERROR(DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	}
	/* from the post on the binding may end at any time */
	stag = binding->context;
	ret = kdat_dto_post(ep, dto, &wr.wr, flags);
	if (ret != DAT_SUCCESS)
		scoped_guard(spinlock_irqsave, &rmr->lock)
			list_del(&binding->node);
	else if (context)
		*context = stag;
	return ret;
}

static DAT_RETURN kdat_rmr_begin(struct kdat_rmr *rmr, struct kdat_lmr *lmr,
				 const DAT_LMR_TRIPLET *triplet, DAT_MEM_PRIV_FLAGS priv,
				 DAT_VA_TYPE va_type, struct kdat_ep *ep, DAT_RMR_COOKIE cookie,
				 DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	struct kdat_binding *binding;
	DAT_RETURN ret;

	binding = kzalloc(sizeof(*binding), GFP_ATOMIC | __GFP_NOWARN);
	if (!binding)
		return KDAT_NO_MEMORY;
	binding->triplet = *triplet;
	binding->priv = priv;
	binding->va_type = va_type;
	if (triplet->segment_length) {
		ret = kdat_rmr_check_lmr(rmr, lmr, triplet, priv);
		if (ret == DAT_SUCCESS && !atomic_inc_unless_negative(&lmr->obj.uses))
			ret = KDAT_BAD_HANDLE(LMR);
		if (ret != DAT_SUCCESS) {
			kfree(binding);
			return ret;
		}
		atomic_inc(&lmr->bindings);
		binding->lmr = lmr;
	}
	ret = kdat_rmr_post(rmr, binding, ep, cookie, flags, context);
	if (ret != DAT_SUCCESS) {
		kdat_rmr_unuse(binding);
		kfree(binding);
	}
	return ret;
}

static DAT_RETURN kdat_rmr_bind(DAT_RMR_HANDLE rmr_handle, DAT_LMR_HANDLE lmr_handle,
				const DAT_LMR_TRIPLET *triplet, DAT_MEM_PRIV_FLAGS priv,
				DAT_VA_TYPE va_type, DAT_EP_HANDLE ep_handle,
				DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
				DAT_RMR_CONTEXT *context)
{
	struct kdat_rmr *rmr = kdat_rmr_of(rmr_handle);
	struct kdat_ep *ep = kdat_ep_of(ep_handle);
	struct kdat_ia *ia;
	DAT_RETURN ret;

	ret = kdat_rmr_check(rmr, triplet, priv, va_type, ep, flags);
	if (ret != DAT_SUCCESS)
		return ret;
	ia = rmr->obj.ia;
	if (!kdat_enter_atomic(ia))
		return KDAT_GONE;
	ret = kdat_ep_state_allows(READ_ONCE(ep->state), KDAT_EP_POST_REQUEST);
	if (ret == DAT_SUCCESS && !kdat_ep_has_qp(ep))
		ret = kdat_ep_state_error(READ_ONCE(ep->state));
	if (ret == DAT_SUCCESS && READ_ONCE(ep->pz) != rmr->pz)
		ret = KDAT_ERROR(DAT_PROTECTION_VIOLATION, DAT_NO_SUBTYPE);
	if (ret == DAT_SUCCESS && !atomic_inc_unless_negative(&rmr->obj.uses))
		ret = KDAT_BAD_HANDLE(RMR);
	if (ret == DAT_SUCCESS) {
		ret = kdat_rmr_begin(rmr, kdat_lmr_of(lmr_handle), triplet, priv, va_type, ep,
				     cookie, flags, context);
		if (ret != DAT_SUCCESS)
			atomic_dec(&rmr->obj.uses);
	}
	kdat_leave_atomic(ia);
	return ret;
}

/* Completions *************************************************************** */

/* The bindings before @binding have ended, as far as their requests have completed. */
static void kdat_rmr_replaced(struct kdat_rmr *rmr, struct kdat_binding *binding)
{
	struct kdat_binding *old, *next;

	list_for_each_entry_safe(old, next, &rmr->bindings, node) {
		if (old == binding)
			break;
		if (!old->dto)
			kdat_rmr_forget(old);
	}
}

static void kdat_rmr_done(struct kdat_rmr *rmr, struct kdat_binding *binding, bool success)
{
	binding->dto = NULL;
	if (success)
		kdat_rmr_replaced(rmr, binding);
	if (!success || !binding->lmr)
		kdat_rmr_forget(binding);
}

void kdat_rmr_completed(struct kdat_rmr *rmr, struct kdat_dto *dto, bool success)
{
	struct kdat_binding *binding;

	scoped_guard(spinlock_irqsave, &rmr->lock) {
		/* the newest: an older one with it could not be posted, and is about to end */
		list_for_each_entry_reverse(binding, &rmr->bindings, node) {
			if (binding->dto == dto) {
				kdat_rmr_done(rmr, binding, success);
				break;
			}
		}
	}
}

/* The peer unbound the window that has @stag. */
void kdat_rmr_invalidated(struct kdat_rmr *rmr, u32 stag)
{
	struct kdat_binding *binding;

	scoped_guard(spinlock_irqsave, &rmr->lock) {
		list_for_each_entry(binding, &rmr->bindings, node) {
			if (!binding->lmr || binding->context != stag)
				continue;
			/* the completion of its request may be still to come */
			if (binding->dto)
				kdat_rmr_unuse(binding);
			else
				kdat_rmr_forget(binding);
			break;
		}
	}
}

void kdat_rmr_table(DAT_PROVIDER *provider)
{
	provider->rmr_create_func = kdat_rmr_create;
	provider->rmr_create_for_ep_func = kdat_rmr_create_for_ep;
	provider->rmr_query_func = kdat_rmr_query;
	provider->rmr_bind_func = kdat_rmr_bind;
	provider->rmr_free_func = kdat_rmr_free;
}
