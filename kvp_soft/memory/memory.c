// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Memory regions of the soft RNIC.
 *
 * An STag is a 24-bit index into the RNIC's xarray and an 8-bit key. The key
 * is random and so is the index that a search for a free one starts from, so
 * that an STag of an earlier registration seldom names a later one.
 *
 * soft_mem_get() is the only place that decides whether an access is allowed:
 * gather, receive, RDMA Write, RDMA Read and atomic operations (at the source and
 * at the sink) all ask it, and invalidation asks the same check. What it hands out stays
 * pinned until soft_mem_put(), with the rights that were checked; of the accesses of a run
 * soft_mem_in_bounds() checks what each has of its own. An access is a copy, or a run of
 * short ones, with softirqs off, between the two: so deregistration can sleep until it is
 * over, and invalidation, which a Send of the peer may ask for in softirq, can spin.
 */
#include <linux/highmem.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "copy.h"
#include "../device.h"
#include "memory.h"
#include "../qp.h"

#define SOFT_REMOTE_RIGHTS                                                     \
	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |                      \
	 IB_ACCESS_REMOTE_ATOMIC)
#define SOFT_MR_RIGHTS                                                         \
	(IB_ACCESS_LOCAL_WRITE | SOFT_REMOTE_RIGHTS | IB_ACCESS_MW_BIND)
#define SOFT_MR_WRITES                                                         \
	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |                      \
	 IB_ACCESS_REMOTE_ATOMIC)

static bool soft_mem_of_pd(const struct soft_mem *mem, const struct ri_pd *pd)
{
	return mem->pd ? mem->pd == pd : ri_pd_is_kernels(pd);
}

/* Is @mem the one that @qp means by @stag, and can use in @pd? */
static __always_inline enum soft_access
soft_mem_usable(const struct soft_qp *qp, const struct ri_pd *pd,
		const struct soft_mem *mem, u32 stag)
{
	/* acquire: what the STag names was written before */
	if (atomic_read_acquire(&mem->state) != SOFT_MEM_VALID ||
	    mem->stag != stag)
		return SOFT_ACCESS_STAG;
	if (!soft_mem_of_pd(mem, pd) ||
	    (mem->mw_type == IB_MW_TYPE_2 && mem->owner != qp->serial))
		return SOFT_ACCESS_PD;
	return SOFT_ACCESS_OK;
}

/* A receive's buffers are of the protection domain of the queue that it was posted to. */
static const struct ri_pd *soft_mem_pd(const struct soft_qp *qp, int need)
{
	return need & SOFT_FOR_RECEIVE && qp->ri.srq ? qp->ri.srq->pd :
						       qp->ri.pd;
}

/* And may it do @need there? */
static __always_inline enum soft_access
__soft_mem_check(const struct soft_qp *qp, const struct soft_mem *mem, u32 stag,
		 u64 to, u64 len, int need)
{
	enum soft_access ret =
		soft_mem_usable(qp, soft_mem_pd(qp, need), mem, stag);

	if (ret)
		return ret;
	need &= ~SOFT_FOR_RECEIVE;
	if (need & ~mem->access || need & SOFT_REMOTE_RIGHTS & ~READ_ONCE(qp->access))
		return SOFT_ACCESS_RIGHTS;
	return soft_mem_in_bounds(mem, to, len);
}

enum soft_access soft_mem_check(const struct soft_qp *qp,
				const struct soft_mem *mem, u32 stag, u64 to,
				u64 len, int need)
{
	return __soft_mem_check(qp, mem, stag, to, len, need);
}

/*
 * What has the index of @stag, or NULL. With softirqs off, which RCU waits for: what was
 * erased from the table is there as long as @gen, which is counted up before it may be
 * freed, was the same inside of that.
 */
static __always_inline struct soft_mem *
soft_mem_look_up(struct soft_rnic *rnic, u32 stag, struct soft_mem_cache *cache)
{
	const u32 index = stag >> 8;
	s64 gen;

	if (!cache)
		return xa_load(&rnic->mems, index);
	/* acquire: a table read after the count has no entry that went before it */
	gen = atomic64_read_acquire(&rnic->mems_gen);
	if (!cache->mem || cache->index != index || cache->gen != gen) {
		cache->mem = xa_load(&rnic->mems, index);
		cache->index = index;
		cache->gen = gen;
	}
	return cache->mem;
}

/* The same with a reference, which keeps softirqs off until soft_mem_put(). */
static __always_inline struct soft_mem *
soft_mem_find_cached(const struct soft_qp *qp, u32 stag, struct soft_mem_cache *cache)
{
	struct soft_mem *mem;

	local_bh_disable();
	mem = soft_mem_look_up(qp->rnic, stag, cache);
	if (mem && !refcount_inc_not_zero(&mem->refs))
		mem = NULL;
	if (mem)
		smp_mb__after_atomic(); /* pairs with soft_mem_end() */
	else
		local_bh_enable();
	return mem;
}

struct soft_mem *soft_mem_find(const struct soft_qp *qp, u32 stag)
{
	return soft_mem_find_cached(qp, stag, NULL);
}

/**
 * soft_mem_get() - look an STag up and check an access to it
 * @qp: on whose behalf
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
enum soft_access soft_mem_get(struct soft_qp *qp, u32 stag, u64 to, u64 len,
			      int need, struct soft_mem **memp)
{
	return soft_mem_get_cached(qp, NULL, stag, to, len, need, memp);
}

/**
 * soft_mem_get_cached() - soft_mem_get() for one who asks for the same often
 * @qp: see there
 * @cache: the caller's own, zeroed before its first use; spares the search, not the
 *	check
 * @stag: see there
 * @to: see there
 * @len: see there
 * @need: see there
 * @memp: see there
 * Return: SOFT_ACCESS_OK or the reason of the refusal.
 */
enum soft_access soft_mem_get_cached(struct soft_qp *qp,
				     struct soft_mem_cache *cache, u32 stag,
				     u64 to, u64 len, int need,
				     struct soft_mem **memp)
{
	struct soft_mem *mem = soft_mem_find_cached(qp, stag, cache);
	enum soft_access ret;

	if (!mem)
		return SOFT_ACCESS_STAG;
	ret = __soft_mem_check(qp, mem, stag, to, len, need);
	/* a window is the peer's: it is no local key */
	if (!ret && mem->mw_type && !(need & SOFT_REMOTE_RIGHTS))
		ret = SOFT_ACCESS_RIGHTS;
	if (ret)
		soft_mem_put(mem);
	else
		*memp = mem;
	return ret;
}

static __always_inline void soft_mem_unref(struct soft_mem *mem)
{
	if (refcount_dec_and_test(&mem->refs))
		complete(&mem->unused);
}

/** soft_mem_put() - the access that soft_mem_get() allowed is over; any context */
void soft_mem_put(struct soft_mem *mem)
{
	soft_mem_unref(mem);
	local_bh_enable();
}

/*
 * End what @stag names: no access begins any more, and those that other CPUs
 * have in progress, each a short copy, are over on return. The caller has one of
 * two references. Only one of several callers does it, so that they do not wait
 * for each other. A window leaves its region.
 */
bool soft_mem_end(struct soft_mem *mem)
{
	if (atomic_cmpxchg(&mem->state, SOFT_MEM_VALID, SOFT_MEM_CHANGING) !=
	    SOFT_MEM_VALID)
		return false;
	/* the exchange orders: who has no reference yet will see the state */
	while (refcount_read(&mem->refs) > 2)
		cpu_relax();
	if (mem->base) {
		atomic_dec(&mem->base->windows);
		mem->base = NULL;
		mem->region = NULL;
	}
	atomic_set_release(&mem->state, SOFT_MEM_FREE);
	return true;
}

/*
 * Keep windows from a region until soft_mem_allow_windows(); false when some are
 * bound to it, which keep it as it is.
 */
static bool soft_mem_no_windows(struct soft_mem *mem)
{
	return atomic_cmpxchg(&mem->windows, 0, SOFT_NO_WINDOWS) == 0;
}

static void soft_mem_allow_windows(struct soft_mem *mem)
{
	atomic_set_release(&mem->windows, 0);
}

/* The same for its owner, who waits while an invalidation is looking at it. May sleep. */
static bool soft_mem_owner_no_windows(struct soft_mem *mem)
{
	while (!soft_mem_no_windows(mem)) {
		if (atomic_read(&mem->windows) > 0)
			return false;
		cond_resched();
	}
	return true;
}

/*
 * End what may be ended one by one: a region without windows, or a window of
 * type 2. Those of type 1 are unbound by a bind (draft-hilland-rddp-verbs 7.10).
 */
static enum soft_access soft_mem_end_one(struct soft_mem *mem)
{
	enum soft_access ret = SOFT_ACCESS_OK;

	if (mem->mw_type == IB_MW_TYPE_1 || !soft_mem_no_windows(mem))
		return SOFT_ACCESS_RIGHTS;
	if (!soft_mem_end(mem))
		ret = SOFT_ACCESS_STAG;
	soft_mem_allow_windows(mem);
	return ret;
}

/**
 * soft_mem_invalidate() - take the remote rights from an STag (RFC 5040 5.3)
 * @qp: the stream that asks
 * @stag: what to invalidate
 *
 * Only what @qp may use remotely can be invalidated from the wire: a region of
 * its protection domain with remote rights and without windows, or a type 2
 * window that @qp bound. Return: SOFT_ACCESS_OK or the reason of the refusal.
 */
enum soft_access soft_mem_invalidate(struct soft_qp *qp, u32 stag)
{
	struct soft_mem *mem = soft_mem_find(qp, stag);
	enum soft_access ret;

	if (!mem)
		return SOFT_ACCESS_STAG;
	ret = soft_mem_check(qp, mem, stag, mem->iova, 0, 0);
	if (!ret && !mem->mw_type && !(mem->access & SOFT_REMOTE_RIGHTS))
		ret = SOFT_ACCESS_RIGHTS;
	if (!ret)
		ret = soft_mem_end_one(mem);
	soft_mem_put(mem);
	if (!ret)
		soft_count(qp->rnic, SOFT_CNT_REMOTE_INV);
	return ret;
}

/* Does @stag name nothing now, and could again? */
static bool soft_mem_invalid(const struct soft_qp *qp,
			     const struct soft_mem *mem, u32 stag)
{
	return atomic_read_acquire(&mem->state) == SOFT_MEM_FREE &&
	       mem->stag == stag && mem->mw_type != IB_MW_TYPE_1 &&
	       soft_mem_of_pd(mem, qp->ri.pd);
}

/**
 * soft_mem_local_inv() - invalidate an STag for its owner
 * @qp: whose work request asks, or has read into it
 * @stag: what to invalidate
 *
 * Accesses that have begun are over on return. One that is invalid already, perhaps by
 * the peer, stays it. Context: any but hard interrupt.
 * Return: SOFT_ACCESS_OK or the reason of the refusal.
 */
enum soft_access soft_mem_local_inv(struct soft_qp *qp, u32 stag)
{
	struct soft_mem *mem = soft_mem_find(qp, stag);
	enum soft_access ret;

	if (!mem)
		return SOFT_ACCESS_STAG;
	if (soft_mem_invalid(qp, mem, stag)) {
		soft_mem_put(mem);
		return SOFT_ACCESS_OK;
	}
	ret = soft_mem_usable(qp, qp->ri.pd, mem, stag);
	/* all of the kernel's memory is nobody's to invalidate */
	if (!ret && mem->length == U64_MAX)
		ret = SOFT_ACCESS_RIGHTS;
	if (!ret)
		ret = soft_mem_end_one(mem);
	soft_mem_put(mem);
	if (!ret)
		soft_count(qp->rnic, SOFT_CNT_LOCAL_INV);
	return ret;
}

/* Octets that a list can name. */
static u64 soft_list_room(const struct ri_page_list *list)
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
	u64 room = soft_list_room(list);
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
 * @qp: whose work request asks
 * @wqe: it; mem_length octets at raddr, the STag in rkey with a key of the
 *	 consumer's choice
 *
 * Context: any but hard interrupt.
 * Return: SOFT_ACCESS_OK or the reason of the refusal: SOFT_ACCESS_STAG when it
 * is not the STag of a region for fast registration or names something already.
 */
enum soft_access soft_mem_fast_reg(struct soft_qp *qp,
				   const struct krdma_soft_sqe *wqe)
{
	struct soft_mem *mem = soft_mem_find(qp, wqe->rkey);
	enum soft_access ret;

	if (!mem)
		return SOFT_ACCESS_STAG;
	if (!mem->mr) {
		ret = SOFT_ACCESS_STAG;
	} else if (!soft_mem_of_pd(mem, qp->ri.pd)) {
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
		soft_count(qp->rnic, SOFT_CNT_FAST_REG);
	return ret;
}

/* Copying ****************************************************************** */

/* Where @to is in the pinned memory of @mem. */
static u64 soft_mem_offset(const struct soft_mem *mem, u64 to)
{
	return mem->region->offset + to - mem->iova + mem->offset;
}

static bool soft_mem_is_dmabuf(const struct soft_mem *mem)
{
	return mem->region && mem->region->dmabuf;
}

/* In a region of elements: the address of the octet at @off; @len is cut to its element. */
static void *soft_mem_element(const struct soft_mem *mem, u64 off, size_t *len)
{
	u32 low = 0, high = mem->num - 1, middle;

	/* the first that ends behind @off, which is in bounds */
	while (low < high) {
		middle = low + (high - low) / 2;
		if (mem->ends[middle] > off)
			high = middle;
		else
			low = middle + 1;
	}
	*len = min_t(u64, *len, mem->ends[low] - off);
	off -= low ? mem->ends[low - 1] : 0;
	return (void *)(uintptr_t)(mem->pages[low] + off);
}

/*
 * The kernel's address of the octet at @to; @len is cut to what lies behind it in
 * one piece. NULL for one that processor instructions cannot reach: the I/O memory
 * of a dma-buf.
 */
static void *soft_mem_map(const struct soft_mem *mem, u64 to, size_t *len,
			  void **mapped)
{
	u64 off = to - mem->iova + mem->offset;
	u64 mask = BIT_ULL(mem->page_shift) - 1;

	*mapped = NULL;
	if (soft_mem_is_dmabuf(mem)) {
		if (mem->region->map.is_iomem)
			return NULL;
		return mem->region->map.vaddr + mem->region->offset + off;
	}
	if (mem->region) {
		off += mem->region->offset;
		*len = min(*len, PAGE_SIZE - offset_in_page(off));
		*mapped = kmap_local_page(mem->region->pages[off >> PAGE_SHIFT]);
		return *mapped + offset_in_page(off);
	}
	if (mem->ends)
		return soft_mem_element(mem, off, len);
	if (mem->pages) {
		off += mem->iova & mask;
		*len = min_t(u64, *len, mask + 1 - (off & mask));
		return (void *)(uintptr_t)(mem->pages[off >> mem->page_shift] +
					   (off & mask));
	}
	return (void *)(uintptr_t)to;
}

static void soft_mem_unmap(void *mapped)
{
	if (mapped)
		kunmap_local(mapped);
}

static void soft_dmabuf_copy(const struct ri_vm_region *region, u64 off,
			     void *buf, size_t len, bool out)
{
	struct iosys_map map = region->map;

	if (out)
		iosys_map_memcpy_from(buf, &map, off, len);
	else
		iosys_map_memcpy_to(&map, off, buf, len);
}

/* Is it pages of a program? */
static bool soft_mem_is_pages(const struct soft_mem *mem)
{
	return mem->region && !mem->region->dmabuf;
}

/* Pages that lie anywhere; @off in the region. */
static __always_inline void
soft_pages_copy(const struct ri_vm_region *region, u64 off,
		const struct soft_parts *buf, size_t len, bool out)
{
	struct page **page = region->pages + (off >> PAGE_SHIFT);
	const bool vectors = soft_copy_begin(len);
	u32 part = buf->len;
	u8 *p = buf->first;
	void *va;
	size_t n;

	off = offset_in_page(off);
	for (; len; len -= n) {
		n = min3(len, (size_t)part, PAGE_SIZE - off);
		va = kmap_local_page(*page);
		if (out)
			soft_copy(p, va + off, n, vectors);
		else
			soft_copy(va + off, p, n, vectors);
		kunmap_local(va);
		off += n;
		page += off >> PAGE_SHIFT;
		off = offset_in_page(off);
		p += n;
		part -= n;
		if (!part) {
			p += buf->gap;
			part = buf->len;
		}
	}
	soft_copy_end(vectors);
}

/* One part of that, piece by piece; @out says which way. */
static void soft_mem_copy_part(const struct soft_mem *mem, u64 to, void *buf,
			       size_t len, bool out, bool vectors)
{
	void *va, *mapped;
	size_t n;

	if (soft_mem_is_dmabuf(mem)) {
		soft_dmabuf_copy(mem->region, soft_mem_offset(mem, to), buf,
				 len, out);
		return;
	}
	for (; len; to += n, buf += n, len -= n) {
		n = len;
		va = soft_mem_map(mem, to, &n, &mapped);
		if (out)
			soft_copy(buf, va, n, vectors);
		else
			soft_copy(va, buf, n, vectors);
		soft_mem_unmap(mapped);
	}
}

/* What is not pages of a program. */
static void soft_mem_copy(const struct soft_mem *mem, u64 to,
			  const struct soft_parts *buf, size_t len, bool out)
{
	const bool vectors = !soft_mem_is_dmabuf(mem) && soft_copy_begin(len);
	u8 *p = buf->first;
	size_t n;

	for (; len; to += n, p += n + buf->gap, len -= n) {
		n = min_t(size_t, len, buf->len);
		soft_mem_copy_part(mem, to, p, n, out, vectors);
	}
	soft_copy_end(vectors);
}

/**
 * soft_mem_read_parts() - copy from a region
 * @mem: soft_mem_get() allowed it
 * @to: tagged offset there
 * @dst: where to
 * @len: octets
 * Context: any.
 */
void soft_mem_read_parts(const struct soft_mem *mem, u64 to,
			 const struct soft_parts *dst, size_t len)
{
	if (soft_mem_is_pages(mem))
		soft_pages_copy(mem->region, soft_mem_offset(mem, to), dst, len,
				true);
	else
		soft_mem_copy(mem, to, dst, len, true);
}

/** soft_mem_write_parts() - copy into a region; see soft_mem_read_parts() */
void soft_mem_write_parts(const struct soft_mem *mem, u64 to,
			  const struct soft_parts *src, size_t len)
{
	if (soft_mem_is_pages(mem))
		soft_pages_copy(mem->region, soft_mem_offset(mem, to), src, len,
				false);
	else
		soft_mem_copy(mem, to, src, len, false);
}

/*
 * One piece that lies in one page, the rule with short messages. Return: false when it
 * is none of a program's.
 */
static __always_inline bool soft_page_copy(const struct soft_mem *mem, u64 to,
					   void *buf, size_t len, bool out)
{
	u64 off;
	void *va;

	if (!soft_mem_is_pages(mem))
		return false;
	off = soft_mem_offset(mem, to);
	if (offset_in_page(off) + len > PAGE_SIZE)
		return false;
	va = kmap_local_page(mem->region->pages[off >> PAGE_SHIFT]);
	if (out)
		soft_copy(buf, va + offset_in_page(off), len, false);
	else
		soft_copy(va + offset_in_page(off), buf, len, false);
	kunmap_local(va);
	return true;
}

/** soft_mem_read() - the same to one piece */
void soft_mem_read(const struct soft_mem *mem, u64 to, void *dst, size_t len)
{
	const struct soft_parts parts = { .first = dst, .len = len };

	if (!soft_page_copy(mem, to, dst, len, true))
		soft_mem_read_parts(mem, to, &parts, len);
}

/** soft_mem_write() - the same from one piece */
void soft_mem_write(const struct soft_mem *mem, u64 to, const void *src,
		    size_t len)
{
	const struct soft_parts parts = { .first = (void *)src, .len = len };

	if (!soft_page_copy(mem, to, (void *)src, len, false))
		soft_mem_write_parts(mem, to, &parts, len);
}

/* Offsets in the regions, whose pages lie anywhere. */
static void soft_pages_move(const struct ri_vm_region *dst, u64 to,
			    const struct ri_vm_region *src, u64 from, size_t len)
{
	struct page **to_page = dst->pages + (to >> PAGE_SHIFT);
	struct page **from_page = src->pages + (from >> PAGE_SHIFT);
	const bool vectors = soft_copy_begin(len);
	void *to_va, *from_va;
	size_t n;

	to = offset_in_page(to);
	from = offset_in_page(from);
	/* page by page, without a look at where each ends */
	for (; !to && !from && len >= PAGE_SIZE; len -= PAGE_SIZE) {
		to_va = kmap_local_page(*to_page++);
		from_va = kmap_local_page(*from_page++);
		soft_copy(to_va, from_va, PAGE_SIZE, vectors);
		kunmap_local(from_va);
		kunmap_local(to_va);
	}
	for (; len; len -= n) {
		n = min(len, PAGE_SIZE - max(to, from));
		to_va = kmap_local_page(*to_page);
		from_va = kmap_local_page(*from_page);
		soft_copy(to_va + to, from_va + from, n, vectors);
		kunmap_local(from_va);
		kunmap_local(to_va);
		to += n;
		from += n;
		to_page += to >> PAGE_SHIFT;
		from_page += from >> PAGE_SHIFT;
		to = offset_in_page(to);
		from = offset_in_page(from);
	}
	soft_copy_end(vectors);
}

/**
 * soft_mem_move() - copy from one region to another
 * @dst: soft_mem_get() allowed it
 * @to: tagged offset there
 * @src: soft_mem_get() allowed it
 * @from: tagged offset there
 * @len: octets
 * Context: any.
 */
void soft_mem_move(const struct soft_mem *dst, u64 to,
		   const struct soft_mem *src, u64 from, size_t len)
{
	u8 between[256]; /* for two dma-bufs */
	void *va, *mapped;
	size_t n;

	if (soft_mem_is_pages(dst) && soft_mem_is_pages(src)) {
		soft_pages_move(dst->region, soft_mem_offset(dst, to),
				src->region, soft_mem_offset(src, from), len);
		return;
	}
	for (; len; to += n, from += n, len -= n) {
		n = len;
		if (!soft_mem_is_dmabuf(src)) {
			va = soft_mem_map(src, from, &n, &mapped);
			soft_mem_write(dst, to, va, n);
			soft_mem_unmap(mapped);
		} else if (!soft_mem_is_dmabuf(dst)) {
			va = soft_mem_map(dst, to, &n, &mapped);
			soft_mem_read(src, from, va, n);
			soft_mem_unmap(mapped);
		} else {
			n = min(n, sizeof(between));
			soft_mem_read(src, from, between, n);
			soft_mem_write(dst, to, between, n);
		}
	}
}

/** soft_mem_aligned() - may 8 octets at @to be operated on atomically */
bool soft_mem_aligned(const struct soft_mem *mem, u64 to)
{
	size_t len = sizeof(u64);
	void *mapped, *va = soft_mem_map(mem, to, &len, &mapped);

	soft_mem_unmap(mapped);
	return va && len == sizeof(u64) && IS_ALIGNED((uintptr_t)va, sizeof(u64));
}

/**
 * soft_mem_atomic() - an atomic operation on a region
 * @mem: soft_mem_get() and soft_mem_aligned() allowed it
 * @rq: what to do
 *
 * Aligned, so the target lies in one page or element. Context: any.
 * Return: what was there before.
 */
u64 soft_mem_atomic(const struct soft_mem *mem,
		    const struct soft_atomic_req *rq)
{
	size_t len = sizeof(u64);
	void *mapped;
	atomic64_t *target = soft_mem_map(mem, rq->to, &len, &mapped);
	s64 old = atomic64_read(target);

	while (!atomic64_try_cmpxchg(target, &old, soft_atomic_result(rq, old)))
		;
	soft_mem_unmap(mapped);
	return old;
}

struct soft_mem *soft_mem_alloc(struct soft_rnic *rnic, struct ri_pd *pd)
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
	ret = xa_alloc_cyclic(&rnic->mems, &index, NULL,
			      XA_LIMIT(1, (1U << 24) - 1), &rnic->next_mem,
			      GFP_KERNEL);
	if (ret < 0) {
		kfree(mem);
		return ERR_PTR(-ENOMEM);
	}
	mem->stag = index << 8 | get_random_u8();
	return mem;
}

void soft_mem_publish(struct soft_rnic *rnic, struct soft_mem *mem,
		      enum soft_mem_state state)
{
	atomic_set(&mem->state, state);
	/* the index is reserved, so nothing is allocated and nothing can fail */
	xa_store(&rnic->mems, mem->stag >> 8, mem, GFP_KERNEL);
}

static void soft_mr_publish(struct soft_rnic *rnic, struct soft_mr *mr,
			    struct soft_mem *mem, enum soft_mem_state state)
{
	mr->mem = mem;
	mr->ri.stag = mem->stag;
	soft_mem_publish(rnic, mem, state);
}

void soft_mem_free(struct soft_rnic *rnic, struct soft_mem *mem)
{
	xa_erase(&rnic->mems, mem->stag >> 8);
	smp_mb__before_atomic(); /* pairs with soft_mem_look_up() */
	atomic64_inc(&rnic->mems_gen);
	soft_mem_unref(mem);
	wait_for_completion(&mem->unused);
	kvfree(mem->pages);
	kvfree(mem->ends);
	kfree_rcu(mem, rcu);
}

/* ri_ops.mr_register */
int soft_mr_register(struct ri_mr *ri, const struct ri_mr_attr *attr,
		     struct ri_udata *udata)
{
	struct soft_rnic *rnic = to_soft_rnic(ri->obj.rnic);
	struct soft_mr *mr = container_of(ri, struct soft_mr, ri);
	struct krdma_soft_mr_resp resp = {};
	struct soft_mem *mem;

	mem = soft_mem_alloc(rnic, ri->pd);
	if (IS_ERR(mem))
		return PTR_ERR(mem);
	mem->region = attr->region;
	mem->iova = attr->iova;
	mem->length = attr->length;
	mem->access = attr->access & SOFT_MR_RIGHTS;

	resp.stag = mem->stag;
	if (udata)
		ri_udata_answer(udata, &resp, sizeof(resp));
	soft_mr_publish(rnic, mr, mem, SOFT_MEM_VALID);
	return 0;
}

/* ri_ops.mr_register_dma: kernel consumers name memory by virtual address */
int soft_mr_register_dma(struct ri_mr *ri, int access)
{
	struct soft_rnic *rnic = to_soft_rnic(ri->obj.rnic);
	struct soft_mr *mr = container_of(ri, struct soft_mr, ri);
	struct soft_mem *mem;

	/* remote access to all of memory is nothing to give away */
	if (access & ~IB_ACCESS_LOCAL_WRITE || !ri_pd_is_kernels(ri->pd))
		return -EINVAL;
	mem = soft_mem_alloc(rnic, ri->pd);
	if (IS_ERR(mem))
		return PTR_ERR(mem);
	mem->length = U64_MAX;
	mem->access = access;
	soft_mr_publish(rnic, mr, mem, SOFT_MEM_VALID);
	return 0;
}

/* ri_ops.mr_alloc: names nothing until soft_mem_fast_reg() */
int soft_mr_alloc(struct ri_mr *ri)
{
	struct soft_rnic *rnic = to_soft_rnic(ri->obj.rnic);
	struct soft_mr *mr = container_of(ri, struct soft_mr, ri);
	struct soft_mem *mem;

	mem = soft_mem_alloc(rnic, ri->pd);
	if (IS_ERR(mem))
		return PTR_ERR(mem);
	mem->mr = ri;
	mem->pages = kvcalloc(ri->list.max, sizeof(*mem->pages), GFP_KERNEL_ACCOUNT);
	if (ri->list.ends)
		mem->ends = kvcalloc(ri->list.max, sizeof(*mem->ends), GFP_KERNEL_ACCOUNT);
	if (!mem->pages || (ri->list.ends && !mem->ends)) {
		soft_mem_free(rnic, mem);
		return -ENOMEM;
	}
	soft_mr_publish(rnic, mr, mem, SOFT_MEM_FREE);
	return 0;
}

/* ri_ops.mr_deregister: waits for accesses in progress, which are short */
int soft_mr_deregister(struct ri_mr *ri)
{
	struct soft_mr *mr = container_of(ri, struct soft_mr, ri);

	if (!soft_mem_owner_no_windows(mr->mem))
		return -EBUSY;
	soft_mem_free(to_soft_rnic(ri->obj.rnic), mr->mem);
	mr->mem = NULL;
	return 0;
}

/**
 * soft_mem_init() - make the STag by which kernel consumers name all memory locally
 * @rnic: not registered yet
 * Return: 0 or -ENOMEM. Context: may sleep.
 */
int soft_mem_init(struct soft_rnic *rnic)
{
	struct soft_mem *mem;

	xa_init_flags(&rnic->mems, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	rnic->next_mem = get_random_u32_below(1U << 24);
	mem = soft_mem_alloc(rnic, NULL);
	if (IS_ERR(mem))
		return PTR_ERR(mem);
	mem->length = U64_MAX;
	mem->access = IB_ACCESS_LOCAL_WRITE;
	soft_mem_publish(rnic, mem, SOFT_MEM_VALID);
	rnic->all_memory = mem;
	return 0;
}

/** soft_mem_exit() - undo it; all regions are gone */
void soft_mem_exit(struct soft_rnic *rnic)
{
	soft_mem_free(rnic, rnic->all_memory);
	xa_destroy(&rnic->mems);
}

/* The same index with the next key. */
static u32 soft_stag_next(u32 stag)
{
	return (stag & ~0xffU) | (u8)(stag + 1);
}

/*
 * Take a region from all who use it, to change it: none does on return. The
 * caller has the reference that lasts. Return: false when its STag named nothing
 * before.
 */
bool soft_mem_own(struct soft_mem *mem)
{
	bool valid = true;

	for (;;) {
		local_bh_disable();
		refcount_inc(&mem->refs);
		if (!soft_mem_end(mem))
			valid = false;
		soft_mem_put(mem);
		if (atomic_cmpxchg(&mem->state, SOFT_MEM_FREE,
				   SOFT_MEM_CHANGING) == SOFT_MEM_FREE)
			return valid;
		/* somebody invalidates it just now */
		cpu_relax();
	}
}

/*
 * ri_ops.mr_reregister: in place. The index stays, and with other memory or
 * another protection domain the key is a new one: who has the old STag has
 * nothing. Waits for accesses in progress, which are short.
 */
int soft_mr_reregister(struct ri_mr *ri, int flags,
		       const struct ri_mr_attr *attr, struct ri_pd *pd)
{
	struct soft_mem *mem = container_of(ri, struct soft_mr, ri)->mem;
	bool ended;

	if (!soft_mem_owner_no_windows(mem))
		return -EBUSY;
	ended = soft_mem_own(mem);
	if (!ended || flags & (IB_MR_REREG_TRANS | IB_MR_REREG_PD))
		mem->stag = soft_stag_next(mem->stag);
	mem->pd = pd;
	mem->region = attr->region;
	mem->iova = attr->iova;
	mem->length = attr->length;
	mem->access = attr->access & SOFT_MR_RIGHTS;
	ri->stag = mem->stag;
	atomic_set_release(&mem->state, SOFT_MEM_VALID);
	soft_mem_allow_windows(mem);
	return 0;
}
