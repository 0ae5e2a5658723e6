// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Event dispatchers: the objects, and the functions of the provider's table.
 *
 * An EVD for DTOs or binds has a CQ, however many endpoints use it. Endpoints reserve room in it
 * for the completions of all requests that they may have, so it does not overflow. The length that
 * the consumer asks for is that of the ring; evd_upcall.c describes how the two are one queue.
 *
 * The queue of an EVD outlives the RNIC: events in it can be taken until the EVD is freed.
 */
#include <linux/cleanup.h>
#include <linux/log2.h>
#include <linux/moduleparam.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "evd.h"

#define KDAT_EVD_CQ_DEPTH	256	/* of a new CQ, at least */
#define KDAT_EVD_CQ_FLAGS	(DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG)
/* streams that may share an EVD: all of them; and the completions of the extensions */
#define KDAT_EVD_FLAGS		(DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DEFAULT_FLAG | \
				 DAT_EVD_EXTENSION_BASE)
#define KDAT_EVD_BAD_HANDLE	KDAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1)
#define KDAT_EVD_NO_CQ		KDAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD)

static unsigned int kdat_evd_fixed_depth = 4096;
module_param_named(kdapl_fixed_cq, kdat_evd_fixed_depth, uint, 0644);
MODULE_PARM_DESC(kdapl_fixed_cq,
		 "completions that a new kDAPL event dispatcher has room for, at least, on a device whose CQs keep their depth (default 4096)");

static DAT_RETURN kdat_evd_error(int err)
{
	if (err == -ENODEV)
		return KDAT_GONE;
	return err == -ENOMEM ? KDAT_NO_MEMORY : KDAT_EVD_NO_CQ;
}

/* The RNIC is held. */
static u32 kdat_evd_max_cqe(const struct kdat_ia *ia)
{
	return ia->kr->rnic->attr.limits.max_cqe;
}

/* Rings ********************************************************************* */

/* Return: false: no memory */
static bool kdat_evd_ring_alloc(const struct kdat_evd *evd, struct kdat_evd_ring *ring, u32 size)
{
	/* room for each of the two ways that events may come */
	const u32 ways = evd->bh && evd->flags & ~KDAT_EVD_CQ_FLAGS ? 2 : 1;
	const u32 capacity = roundup_pow_of_two(ways * size);
	struct kdat_evd_entry *entries = kvcalloc(capacity, sizeof(*entries), GFP_KERNEL_ACCOUNT);

	kdat_evd_ring_init(ring, entries, capacity, size);
	return entries;
}

/* Return: false: the events do not fit into @to. */
static bool kdat_evd_ring_move(struct kdat_evd *evd, struct kdat_evd_ring *to)
{
	bool fits = true, moved = false;
	u32 pos;

	scoped_guard(spinlock_irqsave, &evd->lock) {
		kdat_evd_spill(evd);
		pos = evd->ring.head;
	}
	while (fits && !moved) {
		cond_resched();
		scoped_guard(spinlock_irqsave, &evd->lock) {
			kdat_evd_spill(evd);
			fits = kdat_evd_ring_fits(&evd->ring, to->size);
			moved = fits && kdat_evd_ring_copy(&evd->ring, to, &pos);
			if (moved) {
				kdat_evd_ring_switch(&evd->ring, to);
				kdat_evd_has_room(evd);
				kdat_evd_kick(evd);
			}
		}
	}
	return fits;
}

/* The queue has to hold at least the consumer's length. The RNIC is held. */
bool kdat_evd_lengthen(struct kdat_evd *evd)
{
	struct kdat_evd_ring to;
	bool moved;
	u32 size;

	guard(mutex)(&evd->mutex);
	size = min(evd->ring.size + evd->reserved, kdat_evd_max_cqe(evd->obj.ia));
	if (size <= evd->ring.size || !kdat_evd_ring_alloc(evd, &to, size))
		return false;
	moved = kdat_evd_ring_move(evd, &to);
	kvfree(to.entries);
	return moved;
}

void kdat_evd_purge(struct kdat_evd *evd, const struct kdat_ep *ep)
{
	bool purged = false;
	u32 pos;

	guard(mutex)(&evd->mutex);
	scoped_guard(spinlock_irqsave, &evd->lock) {
		kdat_evd_spill(evd);
		pos = evd->ring.head;
	}
	while (!purged) {
		cond_resched();
		scoped_guard(spinlock_irqsave, &evd->lock) {
			purged = kdat_evd_ring_purge(&evd->ring, &pos, (DAT_EP_HANDLE)ep);
			kdat_evd_kick(evd);
		}
	}
}

/* CQs *********************************************************************** */

static void kdat_evd_on_cq_event(struct ri_cq *cq, enum ib_event_type event)
{
	struct kdat_evd *evd = cq->consumer;

	if (event == IB_EVENT_CQ_ERR)
		kdat_ia_async(evd->obj.ia, DAT_ASYNC_ERROR_EVD_OVERFLOW, evd,
			      DAT_EVD_OVERFLOW_ERROR);
}

static DAT_RETURN kdat_evd_make_cq(struct kdat_evd *evd, struct kdat_ia *ia, u32 qlen)
{
	const u32 least = ia->kr->rnic->attr.caps & RI_CAP_FIXED_CQ ?
		READ_ONCE(kdat_evd_fixed_depth) : KDAT_EVD_CQ_DEPTH;
	const struct kal_cq_attr attr = {
		.depth = min(max(qlen, least), kdat_evd_max_cqe(ia)),
		.on_completion = kdat_evd_on_completion,
		.on_event = kdat_evd_on_cq_event,
		.consumer = evd,
	};
	struct ri_cq *cq;

	cq = kal_cq_create(ia->kr->rnic, NULL, &attr, NULL);
	if (IS_ERR(cq))
		return kdat_evd_error(PTR_ERR(cq));
	evd->cq = cq;
	return DAT_SUCCESS;
}

DAT_RETURN kdat_evd_reserve(struct kdat_evd *evd, u32 num)
{
	struct kdat_ia *ia = evd->obj.ia;
	struct ri_cq *cq = evd->cq;
	u32 need, more;
	int ret = 0;

	guard(mutex)(&evd->mutex);
	if (!cq)
		return KDAT_GONE;
	if (check_add_overflow(evd->reserved, num, &need) || need > kdat_evd_max_cqe(ia))
		return KDAT_EVD_NO_CQ;
	if (need > cq->depth) {
		/* some more, for the next endpoints; if there is no room, what is needed */
		more = min(max(need, 2 * cq->depth), kdat_evd_max_cqe(ia));
		ret = kal_cq_resize(cq, more, NULL);
		if (ret && more > need)
			ret = kal_cq_resize(cq, need, NULL);
		/* not every device keeps a CQ armed */
		scoped_guard(spinlock_irqsave, &evd->lock) {
			evd->armed = false;
			kdat_evd_kick(evd);
		}
	}
	if (ret)
		return kdat_evd_error(ret);
	evd->reserved = need;
	return DAT_SUCCESS;
}

void kdat_evd_unreserve(struct kdat_evd *evd, u32 num)
{
	guard(mutex)(&evd->mutex);
	if (!WARN_ON_ONCE(num > evd->reserved))
		evd->reserved -= num;
}

void kdat_evd_drop_cq(struct kdat_evd *evd)
{
	struct ri_cq *cq;

	scoped_guard(spinlock_irqsave, &evd->lock) {
		kdat_evd_spill(evd);
		cq = evd->cq;
		evd->cq = NULL;
	}
	if (cq)
		WARN_ON(kal_cq_destroy(cq));
}

/* Life ********************************************************************** */

DAT_RETURN kdat_evd_make(struct kdat_ia *ia, DAT_COUNT qlen, DAT_UPCALL_POLICY policy,
			 const DAT_UPCALL_OBJECT *upcall, DAT_EVD_FLAGS flags,
			 struct kdat_evd **made)
{
	DAT_RETURN ret = DAT_SUCCESS;
	struct kdat_evd *evd;

	if (qlen > kdat_evd_max_cqe(ia))
		return KDAT_EVD_NO_CQ;
	evd = kzalloc(sizeof(*evd), GFP_KERNEL_ACCOUNT);
	if (!evd)
		return KDAT_NO_MEMORY;
	evd->flags = flags;
	evd->bh = flags & KDAT_EVD_CQ_FLAGS;
	mutex_init(&evd->mutex);
	spin_lock_init(&evd->lock);
	evd->policy = DAT_UPCALL_DISABLE;
	kdat_evd_upcalls_init(evd);
	if (!kdat_evd_ring_alloc(evd, &evd->ring, qlen))
		ret = KDAT_NO_MEMORY;
	else if (evd->bh)
		ret = kdat_evd_make_cq(evd, ia, qlen);
	if (ret != DAT_SUCCESS) {
		kvfree(evd->ring.entries);
		mutex_destroy(&evd->mutex);
		kfree(evd);
		return ret;
	}
	kdat_obj_init(&evd->obj, ia, DAT_HANDLE_TYPE_EVD);
	kdat_evd_change(evd, policy, upcall, false);
	*made = evd;
	return DAT_SUCCESS;
}

void kdat_evd_destroy(struct kdat_evd *evd)
{
	struct kdat_ia *ia = evd->obj.ia;
	struct kdat_evd_ring none = {};

	/* before the RNIC is held: the upcalls may wait for it, and its removal for us */
	kdat_evd_stop(evd);
	kdat_hold(ia);
	kdat_evd_drop_cq(evd);
	scoped_guard(spinlock_irqsave, &evd->lock)
		swap(evd->ring, none);
	mutex_destroy(&evd->mutex);
	kdat_obj_free(&evd->obj);
	kdat_leave(ia);
	kvfree(none.entries);
}

/* The provider's table ****************************************************** */

static bool kdat_evd_policy_ok(DAT_UPCALL_POLICY policy)
{
	return kdat_evd_calls(policy) || policy == DAT_UPCALL_DISABLE ||
	       policy == DAT_UPCALL_TEARDOWN;
}

/* dat_evd_kcreate() */
static DAT_RETURN kdat_evd_kcreate(DAT_IA_HANDLE ia_handle, DAT_COUNT qlen,
				   DAT_UPCALL_POLICY policy, const DAT_UPCALL_OBJECT *upcall,
				   DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd_handle)
{
	struct kdat_ia *ia = kdat_ia_of(ia_handle);
	struct kdat_evd *evd = NULL;
	DAT_RETURN ret;

	might_sleep();
	if (!ia)
		return KDAT_BAD_HANDLE(IA);
	if (qlen <= 0)
		return KDAT_BAD_ARG(2);
	if (!kdat_evd_policy_ok(policy))
		return KDAT_BAD_ARG(3);
	if (kdat_evd_calls(policy) && (!upcall || !upcall->upcall_func))
		return KDAT_BAD_ARG(4);
	if (!(flags & ~DAT_EVD_EXTENSION_BASE) || flags & ~KDAT_EVD_FLAGS)
		return KDAT_BAD_ARG(5);
	if (!evd_handle)
		return KDAT_BAD_ARG(6);
	if (!kdat_enter(ia))
		return KDAT_GONE;
	ret = kdat_evd_make(ia, qlen, policy, upcall, flags, &evd);
	kdat_leave(ia);
	if (ret == DAT_SUCCESS)
		*evd_handle = evd;
	return ret;
}

/* dat_evd_query() */
static DAT_RETURN kdat_evd_query(DAT_EVD_HANDLE evd_handle, DAT_EVD_PARAM_MASK mask,
				 DAT_EVD_PARAM *param)
{
	struct kdat_evd *evd = kdat_evd_of(evd_handle);

	if (!evd)
		return KDAT_EVD_BAD_HANDLE;
	if (mask & ~DAT_EVD_FIELD_ALL)
		return KDAT_BAD_ARG(2);
	if (!param)
		return KDAT_BAD_ARG(3);
	if (mask & DAT_EVD_FIELD_IA_HANDLE)
		param->ia_handle = evd->obj.ia;
	if (mask & DAT_EVD_FIELD_EVD_FLAGS)
		param->evd_flags = evd->flags;
	scoped_guard(spinlock_irqsave, &evd->lock) {
		if (mask & DAT_EVD_FIELD_EVD_QLEN)
			param->evd_qlen = evd->ring.size;
		if (mask & DAT_EVD_FIELD_UPCALL_POLICY)
			param->upcall_policy = evd->policy;
		if (mask & DAT_EVD_FIELD_UPCALL)
			param->upcall = evd->upcall;
	}
	return DAT_SUCCESS;
}

static bool kdat_evd_has_upcall(struct kdat_evd *evd)
{
	bool ret;

	scoped_guard(spinlock_irqsave, &evd->lock)
		ret = evd->upcall.upcall_func;
	return ret;
}

/* dat_evd_modify_upcall(): also after the removal of the RNIC, for the consumer's end */
static DAT_RETURN kdat_evd_modify_upcall(DAT_EVD_HANDLE evd_handle, DAT_UPCALL_POLICY policy,
					 const DAT_UPCALL_OBJECT *upcall, DAT_UPCALL_FLAG flag)
{
	struct kdat_evd *evd = kdat_evd_of(evd_handle);

	if (!evd)
		return KDAT_EVD_BAD_HANDLE;
	if (!kdat_evd_policy_ok(policy))
		return KDAT_BAD_ARG(2);
	if (kdat_evd_calls(policy) && !(upcall ? !!upcall->upcall_func : kdat_evd_has_upcall(evd)))
		return KDAT_BAD_ARG(3);
	if (flag != DAT_UPCALL_INVOC_NEW && flag != DAT_UPCALL_INVOC_ANY)
		return KDAT_BAD_ARG(4);
	if (policy == DAT_UPCALL_TEARDOWN) {
		if (kdat_evd_in_upcall(evd))
			return KDAT_BAD_STATE(EVD_IN_USE);
		might_sleep();
	}
	kdat_evd_change(evd, policy, upcall, flag == DAT_UPCALL_INVOC_NEW);
	if (policy == DAT_UPCALL_TEARDOWN) {
		kdat_evd_stop(evd);
		kdat_evd_go_on(evd);
	}
	return DAT_SUCCESS;
}

/* dat_evd_resize() */
static DAT_RETURN kdat_evd_resize(DAT_EVD_HANDLE evd_handle, DAT_COUNT qlen)
{
	struct kdat_evd *evd = kdat_evd_of(evd_handle);
	DAT_RETURN ret = DAT_SUCCESS;
	struct kdat_evd_ring to;
	bool too_long;

	might_sleep();
	if (!evd)
		return KDAT_EVD_BAD_HANDLE;
	if (qlen <= 0)
		return KDAT_BAD_ARG(2);
	if (!kdat_enter(evd->obj.ia))
		return KDAT_GONE;
	too_long = qlen > kdat_evd_max_cqe(evd->obj.ia);
	if (too_long) {
		ret = KDAT_BAD_ARG(2);
	} else if (!kdat_evd_ring_alloc(evd, &to, qlen)) {
		ret = KDAT_NO_MEMORY;
	} else {
		scoped_guard(mutex, &evd->mutex)
			if (!kdat_evd_ring_move(evd, &to))
				ret = KDAT_ERROR(DAT_INVALID_STATE, DAT_NO_SUBTYPE);
		kvfree(to.entries);
	}
	kdat_leave(evd->obj.ia);
	return ret;
}

/* dat_evd_post_se() */
static DAT_RETURN kdat_evd_post_se(DAT_EVD_HANDLE evd_handle, const DAT_EVENT *event)
{
	struct kdat_evd *evd = kdat_evd_of(evd_handle);

	if (!evd)
		return KDAT_EVD_BAD_HANDLE;
	if (!(evd->flags & DAT_EVD_SOFTWARE_FLAG))
		return KDAT_BAD_ARG(1);
	if (!event || event->event_number != DAT_SOFTWARE_EVENT)
		return KDAT_BAD_ARG(2);
	if (READ_ONCE(evd->obj.ia->kr->gone))
		return KDAT_GONE;
	if (!kdat_evd_try_put(evd, event))
		return KDAT_ERROR(DAT_QUEUE_FULL, DAT_NO_SUBTYPE);
	return DAT_SUCCESS;
}

/* dat_evd_dequeue(): also after the removal of the RNIC, for earlier events */
static DAT_RETURN kdat_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event)
{
	struct kdat_evd *evd = kdat_evd_of(evd_handle);

	if (!evd)
		return KDAT_EVD_BAD_HANDLE;
	if (!event)
		return KDAT_BAD_ARG(2);
	return kdat_evd_take(evd, event);
}

/* dat_evd_free() */
static DAT_RETURN kdat_evd_free(DAT_EVD_HANDLE evd_handle)
{
	struct kdat_evd *evd = kdat_evd_of(evd_handle);
	const u32 type = KDAT_OBJ_MAGIC | DAT_HANDLE_TYPE_EVD;

	if (!evd)
		return KDAT_EVD_BAD_HANDLE;
	if (kdat_evd_in_upcall(evd) || atomic_read(&evd->obj.uses))
		return KDAT_BAD_STATE(EVD_IN_USE);
	might_sleep();
	/* of two calls one does the work; the handle does not lead to the EVD any more */
	if (cmpxchg(&evd->obj.type, type, DAT_HANDLE_TYPE_EVD) != type)
		return KDAT_EVD_BAD_HANDLE;
	kdat_evd_stop(evd);
	if (atomic_read(&evd->obj.uses)) {
		/* an upcall, or another thread, gave it to an object meanwhile */
		WRITE_ONCE(evd->obj.type, type);
		kdat_evd_go_on(evd);
		return KDAT_BAD_STATE(EVD_IN_USE);
	}
	kdat_evd_destroy(evd);
	return DAT_SUCCESS;
}

void kdat_evd_table(DAT_PROVIDER *provider)
{
	provider->evd_kcreate_func = kdat_evd_kcreate;
	provider->evd_query_func = kdat_evd_query;
	provider->evd_modify_upcall_func = kdat_evd_modify_upcall;
	provider->evd_resize_func = kdat_evd_resize;
	provider->evd_post_se_func = kdat_evd_post_se;
	provider->evd_dequeue_func = kdat_evd_dequeue;
	provider->evd_free_func = kdat_evd_free;
}
