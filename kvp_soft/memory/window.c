// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Memory windows: STags for a part of a region, with rights of their own. A work request binds
 * a window to a region (draft-hilland-rddp-verbs 7.10).
 *
 * A type 1 window belongs to its protection domain. It can be bound again at any time; a bind
 * of length 0 unbinds it. A type 2B window belongs to the queue pair that bound it. The queue
 * pair or its peer has to invalidate the window before it can be bound again.
 *
 * A bound window uses the pages of its region. A region counts its bound windows. While there
 * are any, the region cannot be changed, invalidated or deregistered.
 */
#include <linux/slab.h>
#include <krdma/soft-abi.h>

#include "internal.h"

#define SOFT_MW_RIGHTS                                                         \
	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |                      \
	 IB_ACCESS_REMOTE_ATOMIC | IB_ZERO_BASED)
/* local rights come from the region, but programs pass them for windows, too */
#define SOFT_MW_FLAGS (SOFT_MW_RIGHTS | IB_ACCESS_LOCAL_WRITE)
#define SOFT_MW_WRITES (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)

/* Does the window allow the bind that @wqe asks for? The region is checked elsewhere. */
static bool soft_mw_may_bind(const struct soft_mem_user *user,
			     const struct soft_mem *mw,
			     const struct krdma_soft_sqe *wqe)
{
	if (!mw->mw_type || mw->pd != user->pd ||
	    wqe->mem_access & ~SOFT_MW_FLAGS)
		return false;
	return mw->mw_type == IB_MW_TYPE_1 ||
	       (wqe->mem_length &&
		atomic_read(&mw->state) == SOFT_MEM_FREE);
}

/* The region for the bind in @wqe, with the new window counted, or NULL. */
static struct soft_mem *soft_mw_region(const struct soft_mem_user *user,
				       const struct krdma_soft_sqe *wqe)
{
	struct soft_mem *mr = soft_mem_find(user, wqe->mem_stag);
	int need = IB_ACCESS_MW_BIND;

	if (!mr)
		return NULL;
	if (wqe->mem_access & SOFT_MW_WRITES)
		need |= IB_ACCESS_LOCAL_WRITE;
	/* count the window before the check: then the region cannot end meanwhile */
	if (!mr->mw_type && atomic_inc_unless_negative(&mr->windows)) {
		if (!soft_mem_check(user, mr, wqe->mem_stag, wqe->raddr,
				    wqe->mem_length, need)) {
			soft_mem_put(mr);
			return mr;
		}
		atomic_dec(&mr->windows);
	}
	soft_mem_put(mr);
	return NULL;
}

/* Set up window @mw, which the caller owns and which names nothing, as @wqe says. */
static void soft_mw_set(const struct soft_mem_user *user, struct soft_mem *mw,
			struct soft_mem *mr, const struct krdma_soft_sqe *wqe)
{
	mw->stag = wqe->rkey;
	if (!mr) {
		atomic_set_release(&mw->state, SOFT_MEM_FREE);
		return;
	}
	mw->base = mr;
	mw->region = mr->region;
	mw->pages = mr->pages;
	mw->page_shift = mr->page_shift;
	mw->ends = mr->ends;
	mw->num = mr->num;
	mw->offset = mr->offset + wqe->raddr - mr->iova;
	mw->iova = wqe->mem_access & IB_ZERO_BASED ? 0 : wqe->raddr;
	mw->length = wqe->mem_length;
	mw->access = wqe->mem_access & SOFT_MW_RIGHTS & ~IB_ZERO_BASED;
	mw->owner = user->serial;
	atomic_set_release(&mw->state, SOFT_MEM_VALID);
}

/*
 * Try to bind window @mw, of which the caller has a reference.
 * Return: as soft_mw_bind(); SOFT_ACCESS_BUSY when another task changes a window of type 1 at the
 * same time.
 */
static enum soft_access soft_mw_try_bind(const struct soft_mem_user *user, struct soft_mem *mw,
					 const struct krdma_soft_sqe *wqe)
{
	const bool type1 = mw->mw_type == IB_MW_TYPE_1;
	struct soft_mem *mr = NULL;

	if (!soft_mw_may_bind(user, mw, wqe))
		return SOFT_ACCESS_RIGHTS;
	if (wqe->mem_length) {
		mr = soft_mw_region(user, wqe);
		if (!mr)
			return SOFT_ACCESS_RIGHTS;
	}
	if (type1)
		soft_mem_end(mw, true);
	if (atomic_cmpxchg(&mw->state, SOFT_MEM_FREE, SOFT_MEM_CHANGING) == SOFT_MEM_FREE) {
		soft_mw_set(user, mw, mr, wqe);
		return SOFT_ACCESS_OK;
	}
	if (mr)
		atomic_dec(&mr->windows);
	return type1 ? SOFT_ACCESS_BUSY : SOFT_ACCESS_RIGHTS;
}

/**
 * soft_mw_bind() - bind a window, or unbind one of type 1
 * @user: queue pair
 * @wqe: work request: window, region, range and rights; length 0 unbinds
 *
 * On return all accesses through an earlier binding of a type 1 window are over. Queue pairs that
 * bind such a window at the same time all succeed, one after the other.
 * Context: the transmitter, may sleep.
 * Return: SOFT_ACCESS_OK, or, with nothing changed, the reason of the refusal.
 */
enum soft_access soft_mw_bind(const struct soft_mem_user *user, const struct krdma_soft_sqe *wqe)
{
	struct soft_mem *mw;
	enum soft_access ret;

	for (;;) {
		mw = soft_mem_find(user, wqe->rkey);
		if (!mw)
			return SOFT_ACCESS_STAG;
		ret = soft_mw_try_bind(user, mw, wqe);
		soft_mem_put(mw);
		if (ret != SOFT_ACCESS_BUSY)
			return ret;
		/* without the reference, for whose end the other task may wait */
		soft_mem_pause();
	}
}

/* ri_ops.mw_alloc */
int soft_mw_alloc(struct ri_mw *ri)
{
	struct soft_mem_table *table = soft_mem_table(&ri->obj);
	struct soft_mw *mw = container_of(ri, struct soft_mw, ri);
	struct soft_mem *mem;

	mem = soft_mem_alloc(table, ri->pd);
	if (IS_ERR(mem))
		return PTR_ERR(mem);
	mem->mw_type = ri->type;
	mw->mem = mem;
	ri->stag = mem->stag;
	soft_mem_publish(table, mem, SOFT_MEM_FREE);
	return 0;
}

/* ri_ops.mw_dealloc: waits for accesses in progress, which are short */
void soft_mw_dealloc(struct ri_mw *ri)
{
	struct soft_mw *mw = container_of(ri, struct soft_mw, ri);

	/* unbinds the window; it stays in state CHANGING, so it cannot be bound again */
	soft_mem_own(mw->mem);
	soft_mem_free(soft_mem_table(&ri->obj), mw->mem);
	mw->mem = NULL;
}
