// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * STags: allocation, invalidation, fast registration.
 *
 * An STag is a 24-bit index into the RNIC's xarray and an 8-bit key. The key is random. The
 * search for a free index starts at a random index. So the STag of an earlier registration
 * seldom matches a later one.
 */
#include <linux/delay.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#include "internal.h"

struct soft_mem *soft_mem_alloc(struct soft_mem_table *table, struct ri_pd *pd)
{
	struct soft_mem *mem;
	u32 index;
	int ret;

	mem = kzalloc(sizeof(*mem), GFP_KERNEL_ACCOUNT);
	if (!mem)
		return ERR_PTR(-ENOMEM);
	refcount_set(&mem->refs, 1);
	init_completion(&mem->unused);
	mem->pd = pd;
	/* reserves the index; nobody finds the region before it is complete */
	ret = xa_alloc_cyclic(&table->mems, &index, NULL,
			      XA_LIMIT(1, (1U << 24) - 1), &table->next,
			      GFP_KERNEL);
	if (ret < 0) {
		kfree(mem);
		return ERR_PTR(-ENOMEM);
	}
	mem->stag = index << 8 | get_random_u8();
	return mem;
}

void soft_mem_publish(struct soft_mem_table *table, struct soft_mem *mem,
		      enum soft_mem_state state)
{
	atomic_set(&mem->state, state);
	/* the index is reserved, so nothing is allocated and nothing can fail */
	xa_store(&table->mems, mem->stag >> 8, mem, GFP_KERNEL);
}

void soft_mem_free(struct soft_mem_table *table, struct soft_mem *mem)
{
	xa_erase(&table->mems, mem->stag >> 8);
	smp_mb__before_atomic(); /* pairs with soft_mem_look_up() */
	atomic64_inc(&table->gen);
	soft_mem_unref(mem);
	wait_for_completion(&mem->unused);
	kvfree(mem->pages);
	kvfree(mem->ends);
	kfree_rcu(mem, rcu);
}

/*
 * A while, for what another task or CPU is about to end. It does not say so: that would
 * cost each access something. A task that spun might have preempted it.
 */
static void soft_mem_pause(void)
{
	usleep_range(20, 100);
}

/* No access but the caller's is in progress on return; there is a reference of the region, too. */
static void soft_mem_quiesce(const struct soft_mem *mem)
{
	while (refcount_read(&mem->refs) > 2)
		soft_mem_pause();
}

/**
 * soft_mem_end() - end what an STag names
 * @mem: that; the caller has one of two references, by soft_mem_find()
 * @may_sleep: but for softirqs, which are off by that reference
 *
 * No access begins any more, and those that others have in progress are over on return. Only
 * one of several callers does it, so that they do not wait for each other. A window leaves
 * its region.
 * Return: SOFT_ACCESS_OK; SOFT_ACCESS_STAG when it names nothing; SOFT_ACCESS_BUSY, and
 * nothing has changed, when an access is in progress and the caller may not sleep.
 */
enum soft_access soft_mem_end(struct soft_mem *mem, bool may_sleep)
{
	/* looked at before, so that nobody is refused for an end that does not come to pass */
	if (!may_sleep && refcount_read(&mem->refs) > 2)
		return atomic_read(&mem->state) == SOFT_MEM_VALID ?
			       SOFT_ACCESS_BUSY :
			       SOFT_ACCESS_STAG;
	if (atomic_cmpxchg(&mem->state, SOFT_MEM_VALID, SOFT_MEM_CHANGING) !=
	    SOFT_MEM_VALID)
		return SOFT_ACCESS_STAG;
	/* the exchange orders: who has no reference yet will see the state */
	if (refcount_read(&mem->refs) > 2) {
		if (!may_sleep) {
			atomic_set_release(&mem->state, SOFT_MEM_VALID);
			return SOFT_ACCESS_BUSY;
		}
		local_bh_enable();
		soft_mem_quiesce(mem);
		local_bh_disable();
	}
	smp_acquire__after_ctrl_dep(); /* what they have written: pairs with soft_mem_unref() */
	if (mem->base) {
		atomic_dec(&mem->base->windows);
		mem->base = NULL;
		mem->region = NULL;
	}
	atomic_set_release(&mem->state, SOFT_MEM_FREE);
	return SOFT_ACCESS_OK;
}

/*
 * Keep windows from a region until soft_mem_allow_windows(); false when some are
 * bound to it, which keep it as it is.
 */
static bool soft_mem_no_windows(struct soft_mem *mem)
{
	return atomic_cmpxchg(&mem->windows, 0, SOFT_NO_WINDOWS) == 0;
}

void soft_mem_allow_windows(struct soft_mem *mem)
{
	atomic_set_release(&mem->windows, 0);
}

/* The same for its owner, who waits while an invalidation is looking at it. May sleep. */
bool soft_mem_owner_no_windows(struct soft_mem *mem)
{
	while (!soft_mem_no_windows(mem)) {
		if (atomic_read(&mem->windows) > 0)
			return false;
		soft_mem_pause();
	}
	return true;
}

/*
 * Take a region from all who use it, to change it: none does on return. The
 * caller has the reference that lasts. May sleep. Return: false when its STag named
 * nothing before.
 */
bool soft_mem_own(struct soft_mem *mem)
{
	bool valid = true;

	for (;;) {
		local_bh_disable();
		refcount_inc(&mem->refs);
		if (soft_mem_end(mem, true))
			valid = false;
		soft_mem_put(mem);
		if (atomic_cmpxchg(&mem->state, SOFT_MEM_FREE,
				   SOFT_MEM_CHANGING) == SOFT_MEM_FREE)
			return valid;
		/* somebody invalidates it just now */
		soft_mem_pause();
	}
}

/*
 * End what may be ended one by one: a region without windows, or a window of
 * type 2. Those of type 1 are unbound by a bind (draft-hilland-rddp-verbs 7.10).
 */
static enum soft_access soft_mem_end_one(struct soft_mem *mem, bool may_sleep)
{
	enum soft_access ret;

	if (mem->mw_type == IB_MW_TYPE_1 || !soft_mem_no_windows(mem))
		return SOFT_ACCESS_RIGHTS;
	ret = soft_mem_end(mem, may_sleep);
	soft_mem_allow_windows(mem);
	return ret;
}

/**
 * soft_mem_invalidate() - take the remote rights from an STag (RFC 5040 5.3)
 * @user: the stream that asks
 * @stag: what to invalidate
 * @may_sleep: until accesses in progress are over
 *
 * Only what @user may use remotely can be invalidated from the wire: a region of
 * its protection domain with remote rights and without windows, or a type 2
 * window that @user bound.
 * Return: SOFT_ACCESS_OK or the reason of the refusal; SOFT_ACCESS_BUSY when it has to
 * be asked again where it may sleep.
 */
enum soft_access soft_mem_invalidate(const struct soft_mem_user *user, u32 stag,
				     bool may_sleep)
{
	struct soft_mem *mem = soft_mem_find(user, stag);
	enum soft_access ret;

	if (!mem)
		return SOFT_ACCESS_STAG;
	ret = soft_mem_check(user, mem, stag, mem->iova, 0, 0);
	if (!ret && !mem->mw_type && !(mem->access & SOFT_REMOTE_RIGHTS))
		ret = SOFT_ACCESS_RIGHTS;
	if (!ret)
		ret = soft_mem_end_one(mem, may_sleep);
	soft_mem_put(mem);
	if (!ret)
		soft_count(user->rnic, SOFT_CNT_REMOTE_INV);
	return ret;
}

/* Does @stag name nothing now, and could again? */
static bool soft_mem_invalid(const struct soft_mem_user *user,
			     const struct soft_mem *mem, u32 stag)
{
	return atomic_read_acquire(&mem->state) == SOFT_MEM_FREE &&
	       mem->stag == stag && mem->mw_type != IB_MW_TYPE_1 &&
	       soft_mem_of_pd(mem, user->pd);
}

/**
 * soft_mem_local_inv() - invalidate an STag for its owner
 * @user: whose work request asks, or has read into it
 * @stag: what to invalidate
 * @may_sleep: as soft_mem_invalidate()
 *
 * Accesses that have begun are over on return. One that is invalid already, perhaps by
 * the peer, stays it. Context: any but hard interrupt.
 * Return: as soft_mem_invalidate().
 */
enum soft_access soft_mem_local_inv(const struct soft_mem_user *user, u32 stag,
				    bool may_sleep)
{
	struct soft_mem *mem = soft_mem_find(user, stag);
	enum soft_access ret;

	if (!mem)
		return SOFT_ACCESS_STAG;
	if (soft_mem_invalid(user, mem, stag)) {
		soft_mem_put(mem);
		return SOFT_ACCESS_OK;
	}
	ret = soft_mem_usable(user, user->pd, mem, stag);
	/* all of the kernel's memory is nobody's to invalidate */
	if (!ret && mem->length == U64_MAX)
		ret = SOFT_ACCESS_RIGHTS;
	if (!ret)
		ret = soft_mem_end_one(mem, may_sleep);
	soft_mem_put(mem);
	if (!ret)
		soft_count(user->rnic, SOFT_CNT_LOCAL_INV);
	return ret;
}

/* Octets that a list can name. */
static u64 soft_mem_list_room(const struct ri_page_list *list)
{
	if (!list->ends)
		return (u64)list->num << list->page_shift;
	return list->num ? list->ends[list->num - 1] : 0;
}

/* The page list of a work request becomes what the STag names. */
static enum soft_access soft_mem_set_pages(struct soft_mem *mem,
					   const struct krdma_soft_sqe *wqe)
{
	const struct ri_page_list *list = &mem->mr->list;
	u64 first = list->ends ? 0 : wqe->raddr & (BIT_ULL(list->page_shift) - 1);
	u64 room = soft_mem_list_room(list);
	int access = wqe->mem_access & SOFT_MR_RIGHTS;

	if (access & SOFT_MR_WRITES && !(access & IB_ACCESS_LOCAL_WRITE))
		return SOFT_ACCESS_RIGHTS;
	if (wqe->mem_length > room || first > room - wqe->mem_length)
		return SOFT_ACCESS_BOUNDS;
	if (soft_to_wraps(wqe->raddr, wqe->mem_length))
		return SOFT_ACCESS_WRAP;
	memcpy(mem->pages, list->pages, list->num * sizeof(*mem->pages));
	if (mem->ends)
		memcpy(mem->ends, list->ends, list->num * sizeof(*mem->ends));
	mem->num = list->num;
	mem->page_shift = list->page_shift;
	mem->iova = wqe->raddr;
	mem->length = wqe->mem_length;
	mem->access = access;
	mem->stag = wqe->rkey;
	return SOFT_ACCESS_OK;
}

/**
 * soft_mem_fast_reg() - have an STag name what its region's page list says
 * @user: whose work request asks
 * @wqe: it; mem_length octets at raddr, the STag in rkey with a key of the
 *	 consumer's choice
 *
 * Context: any but hard interrupt.
 * Return: SOFT_ACCESS_OK or the reason of the refusal: SOFT_ACCESS_STAG when it
 * is not the STag of a region for fast registration or names something already.
 */
enum soft_access soft_mem_fast_reg(const struct soft_mem_user *user,
				   const struct krdma_soft_sqe *wqe)
{
	struct soft_mem *mem = soft_mem_find(user, wqe->rkey);
	enum soft_access ret;

	if (!mem)
		return SOFT_ACCESS_STAG;
	if (!mem->mr) {
		ret = SOFT_ACCESS_STAG;
	} else if (!soft_mem_of_pd(mem, user->pd)) {
		ret = SOFT_ACCESS_PD;
	} else if (atomic_cmpxchg(&mem->state, SOFT_MEM_FREE,
				  SOFT_MEM_CHANGING) != SOFT_MEM_FREE) {
		ret = SOFT_ACCESS_STAG;
	} else {
		ret = soft_mem_set_pages(mem, wqe);
		/* release: what the STag names before the state that says so */
		atomic_set_release(&mem->state,
				   ret ? SOFT_MEM_FREE : SOFT_MEM_VALID);
	}
	soft_mem_put(mem);
	if (!ret)
		soft_count(user->rnic, SOFT_CNT_FAST_REG);
	return ret;
}
