// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Access control for memory.
 *
 * soft_mem_get() is the only function that decides whether an access is allowed. Gather,
 * receive, RDMA Write, RDMA Read and atomic operations (at the source and at the sink) all call
 * it. Invalidation uses the same check. In a run of accesses, soft_mem_in_bounds() checks the
 * bounds of each one.
 *
 * The memory that soft_mem_get() returns stays pinned, with the checked rights, until
 * soft_mem_put(). Between the two is a copy, or a run of short copies, which never sleeps. So
 * deregistration and invalidation can sleep until the access is over. They do not spin: the
 * task of the access may have been preempted.
 *
 * In softirq a Send of the peer may invalidate an STag. If an access is in progress then, the
 * invalidation is left to the receiver's work.
 */
#include <linux/bottom_half.h>
#include <linux/xarray.h>

#include "internal.h"

/* A receive's buffers are of the protection domain of the queue that it was posted to. */
static const struct ri_pd *soft_mem_pd(const struct soft_mem_user *user, int need)
{
	return need & SOFT_FOR_RECEIVE ? user->recv_pd : user->pd;
}

/* And may it do @need there? */
static __always_inline enum soft_access
__soft_mem_check(const struct soft_mem_user *user, const struct soft_mem *mem, u32 stag,
		 u64 to, u64 len, int need)
{
	enum soft_access ret =
		soft_mem_usable(user, soft_mem_pd(user, need), mem, stag);

	if (ret)
		return ret;
	need &= ~SOFT_FOR_RECEIVE;
	if (need & ~mem->access || need & SOFT_REMOTE_RIGHTS & ~READ_ONCE(user->access))
		return SOFT_ACCESS_RIGHTS;
	return soft_mem_in_bounds(mem, to, len);
}

enum soft_access soft_mem_check(const struct soft_mem_user *user,
				const struct soft_mem *mem, u32 stag, u64 to,
				u64 len, int need)
{
	return __soft_mem_check(user, mem, stag, to, len, need);
}

/*
 * What has the index of @stag, or NULL. With softirqs off, which RCU waits for: what was
 * erased from the table is there as long as @gen, which is counted up before it may be
 * freed, was the same inside of that.
 */
static __always_inline struct soft_mem *
soft_mem_look_up(struct soft_mem_table *table, u32 stag, struct soft_mem_cache *cache)
{
	const u32 index = stag >> 8;
	s64 gen;

	if (!cache)
		return xa_load(&table->mems, index);
	/* acquire: a table read after the count has no entry that went before it */
	gen = atomic64_read_acquire(&table->gen);
	if (!cache->mem || cache->index != index || cache->gen != gen) {
		cache->mem = xa_load(&table->mems, index);
		cache->index = index;
		cache->gen = gen;
	}
	return cache->mem;
}

/* The same with a reference, which keeps softirqs off until soft_mem_put(). */
static __always_inline struct soft_mem *
soft_mem_find_cached(const struct soft_mem_user *user, u32 stag, struct soft_mem_cache *cache)
{
	struct soft_mem *mem;

	local_bh_disable();
	mem = soft_mem_look_up(user->table, stag, cache);
	if (mem && !refcount_inc_not_zero(&mem->refs))
		mem = NULL;
	if (mem)
		smp_mb__after_atomic(); /* pairs with soft_mem_end() */
	else
		local_bh_enable();
	return mem;
}

struct soft_mem *soft_mem_find(const struct soft_mem_user *user, u32 stag)
{
	return soft_mem_find_cached(user, stag, NULL);
}

/**
 * soft_mem_get() - look an STag up and check an access to it
 * @user: on whose behalf
 * @stag: steering tag
 * @to: first octet, tagged offset
 * @len: octets, not 0: an access to nothing is not checked (RFC 5041 5.2)
 * @need: rights, enum ib_access_flags; 0 to read locally; SOFT_FOR_RECEIVE besides
 * @memp: set when allowed; give it back with soft_mem_put()
 *
 * Softirqs are off until soft_mem_put(): nothing in between may sleep.
 * Context: any but hard interrupt.
 * Return: SOFT_ACCESS_OK or the reason of the refusal.
 */
enum soft_access soft_mem_get(const struct soft_mem_user *user, u32 stag, u64 to, u64 len,
			      int need, struct soft_mem **memp)
{
	return soft_mem_get_cached(user, NULL, stag, to, len, need, memp);
}

/**
 * soft_mem_get_cached() - soft_mem_get() for one who asks for the same often
 * @user: see there
 * @cache: the caller's own, zeroed before its first use; spares the search, not the
 *	check
 * @stag: see there
 * @to: see there
 * @len: see there
 * @need: see there
 * @memp: see there
 * Return: SOFT_ACCESS_OK or the reason of the refusal.
 */
enum soft_access soft_mem_get_cached(const struct soft_mem_user *user,
				     struct soft_mem_cache *cache, u32 stag,
				     u64 to, u64 len, int need,
				     struct soft_mem **memp)
{
	struct soft_mem *mem = soft_mem_find_cached(user, stag, cache);
	enum soft_access ret;

	if (!mem)
		return SOFT_ACCESS_STAG;
	ret = __soft_mem_check(user, mem, stag, to, len, need);
	/* a window is the peer's: it is no local key */
	if (!ret && mem->mw_type && !(need & SOFT_REMOTE_RIGHTS))
		ret = SOFT_ACCESS_RIGHTS;
	if (ret)
		soft_mem_put(mem);
	else
		*memp = mem;
	return ret;
}

/** soft_mem_put() - the access that soft_mem_get() allowed is over; any context */
void soft_mem_put(struct soft_mem *mem)
{
	soft_mem_unref(mem);
	local_bh_enable();
}
