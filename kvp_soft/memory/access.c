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

/* Receive buffers belong to the protection domain of the queue they were posted to. */
static const struct ri_pd *soft_mem_pd(const struct soft_mem_user *user, int need)
{
	return need & SOFT_FOR_RECEIVE ? user->recv_pd : user->pd;
}

/* May @user access @len bytes at @to with the rights @need? */
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
 * Find the entry with the index of @stag, or NULL. With softirqs off, so RCU waits for the caller.
 * An erased entry is freed only after gen was incremented and an RCU grace period has passed. So
 * a cached entry is valid if gen is unchanged with softirqs off.
 */
static __always_inline struct soft_mem *
soft_mem_look_up(struct soft_mem_table *table, u32 stag, struct soft_mem_cache *cache)
{
	const u32 index = stag >> 8;
	s64 gen;

	if (!cache)
		return xa_load(&table->mems, index);
	/* acquire: a lookup after reading gen does not find entries erased before */
	gen = atomic64_read_acquire(&table->gen);
	if (!cache->mem || cache->index != index || cache->gen != gen) {
		cache->mem = xa_load(&table->mems, index);
		cache->index = index;
		cache->gen = gen;
	}
	return cache->mem;
}

/* soft_mem_look_up() with a reference; softirqs stay off until soft_mem_put(). */
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
 * soft_mem_get() - look up an STag and check an access
 * @user: queue pair that accesses the memory
 * @stag: steering tag
 * @to: tagged offset of the first byte
 * @len: bytes, not 0: an access of length 0 is not checked (RFC 5041 5.2)
 * @need: rights, enum ib_access_flags; 0 for a local read; may include SOFT_FOR_RECEIVE
 * @memp: set when the access is allowed; release it with soft_mem_put()
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
 * soft_mem_get_cached() - soft_mem_get() with a cache, for repeated accesses to the same memory
 * @user: see soft_mem_get()
 * @cache: private to the caller, zeroed before the first use; saves the lookup, not the check
 * @stag: see soft_mem_get()
 * @to: see soft_mem_get()
 * @len: see soft_mem_get()
 * @need: see soft_mem_get()
 * @memp: see soft_mem_get()
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
	/* a window serves remote accesses only: its STag is not a local key */
	if (!ret && mem->mw_type && !(need & SOFT_REMOTE_RIGHTS))
		ret = SOFT_ACCESS_RIGHTS;
	if (ret)
		soft_mem_put(mem);
	else
		*memp = mem;
	return ret;
}

/** soft_mem_put() - end the access that soft_mem_get() allowed, in the context of that call */
void soft_mem_put(struct soft_mem *mem)
{
	soft_mem_unref(mem);
	local_bh_enable();
}
