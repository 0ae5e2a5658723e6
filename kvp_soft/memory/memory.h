/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Memory regions and windows: registration, access check, copying.
 */
#ifndef SOFT_MEMORY_H
#define SOFT_MEMORY_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/xarray.h>
#include <krdma/rnicpi.h>
#include <krdma/soft-abi.h>
#include "../wire/rdmap.h"

struct krdma_soft_sqe;
struct soft_rnic;

/** enum soft_mem_state - state of an STag; leaves FREE and VALID by compare and exchange only */
enum soft_mem_state {
	SOFT_MEM_FREE,		/* names nothing: invalidated, or not registered yet */
	SOFT_MEM_CHANGING,	/* one task owns it and will set another state */
	SOFT_MEM_VALID,
};

/**
 * struct soft_mem - the memory that an STag names: a region or a window
 * @refs: references: one for the region, one for each access in progress
 * @unused: completed when @refs falls to 0
 * @rcu: lookups by STag run under RCU
 * @pd: protection domain
 * @region: pinned pages, or NULL
 * @mr: the kAL's object of a region for fast registration, else NULL
 * @pages: kernel addresses of the pages for fast registration, @mr->list.max entries. A window
 *	uses those of its region.
 * @page_shift: log2 of the size of each page
 * @ends: for elements in place of pages: offset of the end of each element, else NULL
 * @num: number of elements in @ends
 * @offset: bytes of @region, @pages or elements before the first byte
 * @iova: tagged offset of the first byte
 * @length: bytes
 * @stag: index << 8 | key
 * @access: enum ib_access_flags
 * @by_request: of a region: a work request registered it, see soft_mem_peer_may_end()
 * @state: enum soft_mem_state
 * @windows: of a region: number of bound memory windows, or SOFT_NO_WINDOWS
 * @mw_type: type of a window, 0 for a region; constant
 * @base: region of a bound window
 * @owner: of a bound window: soft_mem_user.serial of the queue pair that bound it
 *
 * A @pd of NULL stands for all protection domains of kernel consumers.
 *
 * @region to @by_request, @base and @owner belong to the task that set @state to
 * SOFT_MEM_CHANGING. They do not change while @state is SOFT_MEM_VALID or an access is in
 * progress.
 *
 * The structure exists from registration until deregistration has waited for @unused.
 */
struct soft_mem {
	refcount_t refs;
	struct completion unused;
	struct rcu_head rcu;
	struct ri_pd *pd;
	struct ri_vm_region *region;
	struct ri_mr *mr;
	u64 *pages;
	u32 page_shift;
	u64 *ends;
	u32 num;
	u64 offset;
	u64 iova;
	u64 length;
	u32 stag;
	int access;
	bool by_request;
	atomic_t state;
	atomic_t windows;
	enum ib_mw_type mw_type;
	struct soft_mem *base;
	u64 owner;
};

/**
 * struct soft_mem_table - the STags of an RNIC
 * @mems: STag index to struct soft_mem; readers under RCU
 * @gen: counts the entries removed from @mems
 * @next: start of the next search for a free STag index
 * @all: the memory that the local DMA lkey names
 */
struct soft_mem_table {
	struct xarray mems;
	atomic64_t gen;
	u32 next;
	struct soft_mem *all;
};

/**
 * struct soft_mem_user - identity and rights of a queue pair for memory accesses
 * @rnic: RNIC, for the counters
 * @table: STags of the RNIC
 * @pd: protection domain
 * @recv_pd: protection domain of receive buffers: with a shared receive queue, that of the queue
 * @serial: unique number, never used again; identifies the owner of type 2 memory windows
 * @access: remote rights that the consumer gave to the queue pair
 */
struct soft_mem_user {
	struct soft_rnic *rnic;
	struct soft_mem_table *table;
	const struct ri_pd *pd;
	const struct ri_pd *recv_pd;
	u64 serial;
	int access;
};

/* flag in addition to rights: access to receive buffers */
#define SOFT_FOR_RECEIVE	BIT(30)

/* soft_mem.windows while no window can be bound, since the region ends or changes */
#define SOFT_NO_WINDOWS	(-1)

/**
 * struct soft_mem_cache - result of the last lookup by soft_mem_get_cached()
 * @mem: the result, or NULL
 * @index: index of its STag
 * @gen: soft_mem_table.gen before it was looked up
 */
struct soft_mem_cache {
	struct soft_mem *mem;
	u32 index;
	s64 gen;
};

/**
 * struct soft_parts - pieces of kernel memory with equal length and equal distance
 * @first: the first piece
 * @len: bytes of each piece
 * @gap: bytes between two pieces
 */
struct soft_parts {
	u8 *first;
	u32 len;
	u32 gap;
};

/* longest list of a fast registration, which copies it with softirqs off */
#define SOFT_FAST_REG_MAX	1024

/* bytes of the target of an atomic operation */
#define SOFT_ATOMIC_LEN	sizeof(u64)

struct soft_mr {
	struct ri_mr ri;
	struct soft_mem *mem;
};

struct soft_mw {
	struct ri_mw ri;
	struct soft_mem *mem;
};

/**
 * soft_mem_in_bounds() - check the bounds of an access
 * @mem: region or window
 * @to: tagged offset of the first byte
 * @len: bytes
 *
 * soft_mem_get() calls this function. Until soft_mem_put(), it is sufficient by itself for a
 * further access that differs from the allowed one only in @to and @len.
 * Return: SOFT_ACCESS_OK or the reason of the refusal.
 */
static inline enum soft_access soft_mem_in_bounds(const struct soft_mem *mem,
						  u64 to, u64 len)
{
	if (soft_to_wraps(to, len))
		return SOFT_ACCESS_WRAP;
	if (to < mem->iova || to - mem->iova > mem->length ||
	    len > mem->length - (to - mem->iova))
		return SOFT_ACCESS_BOUNDS;
	return SOFT_ACCESS_OK;
}

enum soft_access soft_mem_get(const struct soft_mem_user *user, u32 stag, u64 to, u64 len,
			      int need, struct soft_mem **memp);
enum soft_access soft_mem_get_cached(const struct soft_mem_user *user,
				     struct soft_mem_cache *cache, u32 stag,
				     u64 to, u64 len, int need,
				     struct soft_mem **memp);
void soft_mem_put(struct soft_mem *mem);
void soft_mem_read(const struct soft_mem *mem, u64 to, void *dst, size_t len);
void soft_mem_write(const struct soft_mem *mem, u64 to, const void *src,
		    size_t len);
void soft_mem_read_parts(const struct soft_mem *mem, u64 to,
			 const struct soft_parts *dst, size_t len);
void soft_mem_write_parts(const struct soft_mem *mem, u64 to,
			  const struct soft_parts *src, size_t len);
void soft_mem_move(const struct soft_mem *dst, u64 to,
		   const struct soft_mem *src, u64 from, size_t len);
enum soft_access soft_mem_get_atomic(const struct soft_mem_user *user,
				     const struct soft_atomic_req *rq,
				     struct soft_mem **memp);
u64 soft_mem_atomic(const struct soft_mem *mem,
		    const struct soft_atomic_req *rq);
enum soft_access soft_mem_invalidate(const struct soft_mem_user *user, u32 stag,
				     bool may_sleep);
enum soft_access soft_mem_local_inv(const struct soft_mem_user *user, u32 stag,
				    bool may_sleep);
enum soft_access soft_mem_fast_reg(const struct soft_mem_user *user,
				   const struct krdma_soft_sqe *wqe);
int soft_mr_map(struct ri_mr *ri, u64 iova, u64 length, u32 key, int access);

/* window.c */
enum soft_access soft_mw_bind(const struct soft_mem_user *user, const struct krdma_soft_sqe *wqe);
int soft_mw_alloc(struct ri_mw *ri);
void soft_mw_dealloc(struct ri_mw *ri);

int soft_mr_register(struct ri_mr *ri, const struct ri_mr_attr *attr,
		     struct ri_udata *udata);
int soft_mr_reregister(struct ri_mr *ri, int flags,
		       const struct ri_mr_attr *attr, struct ri_pd *pd);
int soft_mr_register_dma(struct ri_mr *ri, int access);
int soft_mr_alloc(struct ri_mr *ri);
int soft_mr_deregister(struct ri_mr *ri);

int soft_mem_init(struct soft_rnic *rnic);
void soft_mem_exit(struct soft_rnic *rnic);

#endif /* SOFT_MEMORY_H */
