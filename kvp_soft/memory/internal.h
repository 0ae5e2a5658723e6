/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Internal interfaces of the memory code.
 */
#ifndef SOFT_MEMORY_INTERNAL_H
#define SOFT_MEMORY_INTERNAL_H

#include "../base/rnic.h"
#include "memory.h"

#define SOFT_REMOTE_RIGHTS                                                     \
	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |                      \
	 IB_ACCESS_REMOTE_ATOMIC)
#define SOFT_MR_RIGHTS                                                         \
	(IB_ACCESS_LOCAL_WRITE | SOFT_REMOTE_RIGHTS | IB_ACCESS_MW_BIND)
#define SOFT_MR_WRITES                                                         \
	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |                      \
	 IB_ACCESS_REMOTE_ATOMIC)

static inline struct soft_mem_table *soft_mem_table(const struct ri_obj *obj)
{
	return to_soft_rnic(obj->rnic)->mems;
}

static inline bool soft_mem_of_pd(const struct soft_mem *mem, const struct ri_pd *pd)
{
	return mem->pd ? mem->pd == pd : ri_pd_is_kernels(pd);
}

/* Does @stag name @mem now, and may @user use it in @pd? */
static __always_inline enum soft_access
soft_mem_usable(const struct soft_mem_user *user, const struct ri_pd *pd,
		const struct soft_mem *mem, u32 stag)
{
	/* acquire: the other members were written before the state */
	if (atomic_read_acquire(&mem->state) != SOFT_MEM_VALID ||
	    mem->stag != stag)
		return SOFT_ACCESS_STAG;
	if (!soft_mem_of_pd(mem, pd) ||
	    (mem->mw_type == IB_MW_TYPE_2 && mem->owner != user->serial))
		return SOFT_ACCESS_PD;
	return SOFT_ACCESS_OK;
}

static __always_inline void soft_mem_unref(struct soft_mem *mem)
{
	if (refcount_dec_and_test(&mem->refs))
		complete(&mem->unused);
}

/* access.c */
struct soft_mem *soft_mem_find(const struct soft_mem_user *user, u32 stag);
enum soft_access soft_mem_check(const struct soft_mem_user *user,
				const struct soft_mem *mem, u32 stag, u64 to,
				u64 len, int need);

/* stag.c */
void soft_mem_pause(void);
enum soft_access soft_mem_end(struct soft_mem *mem, bool may_sleep);
bool soft_mem_own(struct soft_mem *mem);
struct soft_mem *soft_mem_alloc(struct soft_mem_table *table, struct ri_pd *pd);
void soft_mem_publish(struct soft_mem_table *table, struct soft_mem *mem,
		      enum soft_mem_state state);
void soft_mem_free(struct soft_mem_table *table, struct soft_mem *mem);
bool soft_mem_owner_no_windows(struct soft_mem *mem);
void soft_mem_allow_windows(struct soft_mem *mem);

#endif /* SOFT_MEMORY_INTERNAL_H */
