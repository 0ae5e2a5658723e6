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
	/* reserve the index with a NULL entry: lookups do not find the incomplete region */
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
	/* the index is reserved, so nothing is allocated and the store cannot fail */
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
 * Sleep a short time, until another task or CPU ends its access or its change. There is no wakeup,
 * since that would make each access slower. Spinning is no option: this task may have preempted the
 * other.
 */
void soft_mem_pause(void)
{
	usleep_range(20, 100);
}

/* Wait until only two references are left: that of the region and that of the caller. */
static void soft_mem_quiesce(const struct soft_mem *mem)
{
	while (refcount_read(&mem->refs) > 2)
		soft_mem_pause();
}

/**
 * soft_mem_end() - make an STag name nothing
 * @mem: region or window; the caller has a reference by soft_mem_find(), besides that of the
 *	region itself
 * @may_sleep: the caller may sleep once softirqs, which its reference keeps off, are on
 *
 * On return no access can begin, and accesses of others are over. Only one of several callers
 * does this, so they do not wait for each other. A window is unbound from its region.
 * Return: SOFT_ACCESS_OK; SOFT_ACCESS_STAG when the STag names nothing; SOFT_ACCESS_BUSY, with
 * nothing changed, when an access is in progress and the caller may not sleep.
 */
enum soft_access soft_mem_end(struct soft_mem *mem, bool may_sleep)
{
	/* check first: with a changed state, other accesses would be refused for nothing */
	if (!may_sleep && refcount_read(&mem->refs) > 2)
		return atomic_read(&mem->state) == SOFT_MEM_VALID ?
			       SOFT_ACCESS_BUSY :
			       SOFT_ACCESS_STAG;
	if (atomic_cmpxchg(&mem->state, SOFT_MEM_VALID, SOFT_MEM_CHANGING) !=
	    SOFT_MEM_VALID)
		return SOFT_ACCESS_STAG;
	/* the exchange is a full barrier: a later reference will see the new state */
	if (refcount_read(&mem->refs) > 2) {
		if (!may_sleep) {
			atomic_set_release(&mem->state, SOFT_MEM_VALID);
			return SOFT_ACCESS_BUSY;
		}
		local_bh_enable();
		soft_mem_quiesce(mem);
		local_bh_disable();
	}
	smp_acquire__after_ctrl_dep(); /* after the accesses: pairs with soft_mem_unref() */
	if (mem->base) {
		atomic_dec(&mem->base->windows);
		mem->base = NULL;
		mem->region = NULL;
		mem->pages = NULL;
		mem->ends = NULL;
	}
	atomic_set_release(&mem->state, SOFT_MEM_FREE);
	return SOFT_ACCESS_OK;
}

/*
 * Forbid windows on a region until soft_mem_allow_windows(). False when windows are bound, or are
 * forbidden already: then the region must not be changed.
 */
static bool soft_mem_no_windows(struct soft_mem *mem)
{
	return atomic_cmpxchg(&mem->windows, 0, SOFT_NO_WINDOWS) == 0;
}

void soft_mem_allow_windows(struct soft_mem *mem)
{
	atomic_set_release(&mem->windows, 0);
}

/* The same for the region's owner: waits until an invalidation in progress ends. May sleep. */
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
 * Take ownership of a region or a window, to change it: on return no access is in progress. The
 * caller has the reference of the region itself. May sleep.
 * Return: false when the STag named nothing before.
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
		/* another task is invalidating it just now */
		soft_mem_pause();
	}
}

/*
 * Invalidate a region without windows, or a type 2 window. A type 1 window cannot be invalidated;
 * a bind unbinds it (draft-hilland-rddp-verbs 7.10).
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

/*
 * Has the owner of the STag allowed the peer to invalidate it? That is so for a bound window of
 * type 2, and for a region that a work request registered with remote rights: their owner registers
 * or binds them for a time, and goes on when they are invalid. All others live until their owner
 * ends them: a region that a call registered, for a user or a kernel consumer, and a window of type
 * 1.
 */
static bool soft_mem_peer_may_end(const struct soft_mem *mem)
{
	if (mem->mw_type)
		return mem->mw_type == IB_MW_TYPE_2;
	return mem->by_request && mem->access & SOFT_REMOTE_RIGHTS;
}

/**
 * soft_mem_invalidate() - invalidate an STag for the peer (RFC 5040 5.3)
 * @user: queue pair whose peer asks
 * @stag: STag to invalidate
 * @may_sleep: the call may sleep until accesses in progress are over
 *
 * The peer can invalidate a region of @user's protection domain without windows, or a type 2
 * window that @user bound, if soft_mem_peer_may_end().
 * Return: SOFT_ACCESS_OK or the reason of the refusal; SOFT_ACCESS_BUSY when the call has to be
 * repeated in a context that may sleep.
 */
enum soft_access soft_mem_invalidate(const struct soft_mem_user *user, u32 stag,
				     bool may_sleep)
{
	struct soft_mem *mem = soft_mem_find(user, stag);
	enum soft_access ret;

	if (!mem) {
		soft_count(user->rnic, SOFT_CNT_REMOTE_INV_REFUSED);
		return SOFT_ACCESS_STAG;
	}
	ret = soft_mem_check(user, mem, stag, mem->iova, 0, 0);
	if (!ret && !soft_mem_peer_may_end(mem))
		ret = SOFT_ACCESS_RIGHTS;
	if (!ret)
		ret = soft_mem_end_one(mem, may_sleep);
	soft_mem_put(mem);
	if (!ret)
		soft_count(user->rnic, SOFT_CNT_REMOTE_INV);
	else if (ret != SOFT_ACCESS_BUSY)
		soft_count(user->rnic, SOFT_CNT_REMOTE_INV_REFUSED);
	return ret;
}

/* Is @stag invalid now, but the STag of a region or a type 2 window that @user may use again? */
static bool soft_mem_invalid(const struct soft_mem_user *user,
			     const struct soft_mem *mem, u32 stag)
{
	return atomic_read_acquire(&mem->state) == SOFT_MEM_FREE &&
	       mem->stag == stag && mem->mw_type != IB_MW_TYPE_1 &&
	       soft_mem_of_pd(mem, user->pd);
}

/**
 * soft_mem_local_inv() - invalidate an STag for its owner
 * @user: queue pair whose work request invalidates the STag, or was a Read into it
 * @stag: STag to invalidate
 * @may_sleep: as in soft_mem_invalidate()
 *
 * On return all accesses are over. It is no error if the STag is invalid already, perhaps by the
 * peer.
 * Context: any but hard interrupt.
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
	/* the STag of all kernel memory cannot be invalidated */
	if (!ret && mem->length == U64_MAX)
		ret = SOFT_ACCESS_RIGHTS;
	if (!ret)
		ret = soft_mem_end_one(mem, may_sleep);
	soft_mem_put(mem);
	if (!ret)
		soft_count(user->rnic, SOFT_CNT_LOCAL_INV);
	return ret;
}

/* Bytes in the pages or elements of a list. */
static u64 soft_mem_list_room(const struct ri_page_list *list)
{
	if (!list->ends)
		return (u64)list->num << list->page_shift;
	return list->num ? list->ends[list->num - 1] : 0;
}

/**
 * struct soft_mem_reg - a registration of a page list
 * @iova: tagged offset of the first byte
 * @length: bytes
 * @stag: STag with its new key
 * @access: enum ib_access_flags
 * @by_request: see struct soft_mem
 */
struct soft_mem_reg {
	u64 iova;
	u64 length;
	u32 stag;
	int access;
	bool by_request;
};

/* Make the STag name the page list of the region, as @reg says. */
static enum soft_access soft_mem_set_pages(struct soft_mem *mem, const struct soft_mem_reg *reg)
{
	const struct ri_page_list *list = &mem->mr->list;
	u64 first = list->ends ? 0 : reg->iova & (BIT_ULL(list->page_shift) - 1);
	u64 room = soft_mem_list_room(list);
	int access = reg->access & SOFT_MR_RIGHTS;

	if (access & SOFT_MR_WRITES && !(access & IB_ACCESS_LOCAL_WRITE))
		return SOFT_ACCESS_RIGHTS;
	if (reg->length > room || first > room - reg->length)
		return SOFT_ACCESS_BOUNDS;
	if (soft_to_wraps(reg->iova, reg->length))
		return SOFT_ACCESS_WRAP;
	memcpy(mem->pages, list->pages, list->num * sizeof(*mem->pages));
	if (mem->ends)
		memcpy(mem->ends, list->ends, list->num * sizeof(*mem->ends));
	mem->num = list->num;
	mem->page_shift = list->page_shift;
	mem->offset = first;
	mem->iova = reg->iova;
	mem->length = reg->length;
	mem->access = access;
	mem->by_request = reg->by_request;
	mem->stag = reg->stag;
	return SOFT_ACCESS_OK;
}

/*
 * Register the page list of a region that names nothing.
 * Return: SOFT_ACCESS_BUSY if it names something, or is being changed.
 */
static enum soft_access soft_mem_reg(struct soft_mem *mem, const struct soft_mem_reg *reg)
{
	enum soft_access ret;

	if (atomic_cmpxchg(&mem->state, SOFT_MEM_FREE, SOFT_MEM_CHANGING) != SOFT_MEM_FREE)
		return SOFT_ACCESS_BUSY;
	ret = soft_mem_set_pages(mem, reg);
	/* release: write the other members before the state */
	atomic_set_release(&mem->state, ret ? SOFT_MEM_FREE : SOFT_MEM_VALID);
	return ret;
}

/* ri_ops.mr_map */
int soft_mr_map(struct ri_mr *ri, u64 iova, u64 length, u32 key, int access)
{
	const struct soft_mem_reg reg = {
		.iova = iova,
		.length = length,
		.stag = key,
		.access = access,
	};

	switch (soft_mem_reg(container_of(ri, struct soft_mr, ri)->mem, &reg)) {
	case SOFT_ACCESS_OK:
		ri->stag = key;
		return 0;
	case SOFT_ACCESS_BUSY:
		return -EBUSY;
	default:
		return -EINVAL;
	}
}

/**
 * soft_mem_fast_reg() - fast registration: make an STag name the page list of its region
 * @user: queue pair of the work request
 * @wqe: the work request: mem_length bytes at raddr; rkey is the STag with a key of the
 *	consumer's choice
 *
 * Context: any but hard interrupt.
 * Return: SOFT_ACCESS_OK or the reason of the refusal; SOFT_ACCESS_STAG when rkey is not the
 * STag of a region for fast registration, or is valid already.
 */
enum soft_access soft_mem_fast_reg(const struct soft_mem_user *user,
				   const struct krdma_soft_sqe *wqe)
{
	const struct soft_mem_reg reg = {
		.iova = wqe->raddr,
		.length = wqe->mem_length,
		.stag = wqe->rkey,
		.access = wqe->mem_access,
		.by_request = true,
	};
	struct soft_mem *mem = soft_mem_find(user, wqe->rkey);
	enum soft_access ret;

	if (!mem)
		return SOFT_ACCESS_STAG;
	if (!mem->mr)
		ret = SOFT_ACCESS_STAG;
	else if (!soft_mem_of_pd(mem, user->pd))
		ret = SOFT_ACCESS_PD;
	else if (mem->mr->list.num > SOFT_FAST_REG_MAX)
		ret = SOFT_ACCESS_BOUNDS;
	else
		ret = soft_mem_reg(mem, &reg);
	soft_mem_put(mem);
	if (!ret)
		soft_count(user->rnic, SOFT_CNT_FAST_REG);
	return ret == SOFT_ACCESS_BUSY ? SOFT_ACCESS_STAG : ret;
}
