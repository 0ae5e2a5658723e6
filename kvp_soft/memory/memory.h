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

/** enum soft_mem_state - changes by compare and exchange only */
enum soft_mem_state {
	SOFT_MEM_FREE,		/* names nothing: invalidated, or not registered yet */
	SOFT_MEM_CHANGING,	/* somebody takes it to one of the others */
	SOFT_MEM_VALID,
};

/**
 * struct soft_mem - what an STag names
 * @refs: one of the region, one of each access in progress
 * @unused: completed when @refs falls to 0
 * @rcu: look-ups by STag run under RCU
 * @pd: protection domain
 * @region: pinned pages, or NULL
 * @mr: of a region for fast registration, else NULL
 * @pages: what it names: kernel addresses, as many as @mr->list.max
 * @page_shift: size of each
 * @ends: of elements in place of pages: octets up to the end of each, else NULL
 * @num: of a region with @ends: elements
 * @offset: octets of @region in front of the first; a window may begin anywhere
 * @iova: tagged offset of the first octet
 * @length: octets
 * @stag: index << 8 | key
 * @access: enum ib_access_flags
 * @state: enum soft_mem_state
 * @windows: of a region: memory windows bound to it, or SOFT_NO_WINDOWS
 * @mw_type: of a window, else 0; does not change
 * @base: of a bound window: its region
 * @owner: of a bound window: soft_mem_user.serial of who bound it
 *
 * A @pd of NULL stands for all of kernel consumers. @region to @access, @base and
 * @owner belong to who took @state to SOFT_MEM_CHANGING, and do not change while it is
 * SOFT_MEM_VALID or an access is in progress.
 * Lives from registration until deregistration has waited for @unused.
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
	atomic_t state;
	atomic_t windows;
	enum ib_mw_type mw_type;
	struct soft_mem *base;
	u64 owner;
};

/**
 * struct soft_mem_table - what the STags of an RNIC name
 * @mems: STag index to struct soft_mem; readers under RCU
 * @gen: counts what was taken from @mems
 * @next: where the search for a free STag index goes on
 * @all: what the local DMA lkey names
 */
struct soft_mem_table {
	struct xarray mems;
	atomic64_t gen;
	u32 next;
	struct soft_mem *all;
};

/**
 * struct soft_mem_user - on whose behalf memory is accessed: a queue pair
 * @rnic: its RNIC, for the counters
 * @table: that of the RNIC
 * @pd: protection domain
 * @recv_pd: that of the buffers of its receives: of a shared queue the queue's
 * @serial: no other user has or had it; memory windows of type 2 are bound by it
 * @access: remote rights that the consumer gave it
 */
struct soft_mem_user {
	struct soft_rnic *rnic;
	struct soft_mem_table *table;
	const struct ri_pd *pd;
	const struct ri_pd *recv_pd;
	u64 serial;
	int access;
};

/* besides rights: the access is a receive's to its buffers */
#define SOFT_FOR_RECEIVE	BIT(30)

/* soft_mem.windows while none can be bound: the region ends or changes */
#define SOFT_NO_WINDOWS	(-1)

/**
 * struct soft_mem_cache - what a user of soft_mem_get_cached() found last
 * @mem: it, or NULL
 * @index: of its STag
 * @gen: soft_mem_table.gen before it was looked up
 */
struct soft_mem_cache {
	struct soft_mem *mem;
	u32 index;
	s64 gen;
};

/**
 * struct soft_parts - pieces of one length, at one distance, of kernel memory
 * @first: of them
 * @len: octets of each
 * @gap: octets between two
 */
struct soft_parts {
	u8 *first;
	u32 len;
	u32 gap;
};

/* octets that an atomic operation is about */
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
 * soft_mem_in_bounds() - where is an access
 * @mem: the region
 * @to: first octet, tagged offset
 * @len: octets
 *
 * soft_mem_get() asks it. By itself it does for one more access that is as one that was
 * allowed, but for @to and less octets, until soft_mem_put().
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

/* window.c */
bool soft_mw_bind(const struct soft_mem_user *user, const struct krdma_soft_sqe *wqe);
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
