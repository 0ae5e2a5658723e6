// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Copies and atomic operations in memory that soft_mem_get() has allowed.
 */
#include <linux/highmem.h>

#include "copy.h"
#include "internal.h"

/* The offset of @to in the pinned memory of @mem. */
static u64 soft_mem_offset(const struct soft_mem *mem, u64 to)
{
	return mem->region->offset + to - mem->iova + mem->offset;
}

static bool soft_mem_is_dmabuf(const struct soft_mem *mem)
{
	return mem->region && mem->region->dmabuf;
}

/* The address of the byte at @off in a region of elements; limits @len to the element. */
static void *soft_mem_element(const struct soft_mem *mem, u64 off, size_t *len)
{
	u32 low = 0, high = mem->num - 1, middle;

	/* find the first element that ends behind @off, which is in bounds */
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
 * The kernel address of the byte at @to. @len is limited to the contiguous bytes there.
 * @mapped is set to the page to unmap, or NULL.
 * Return: NULL for I/O memory of a dma-buf, which normal instructions cannot access.
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

/* bytes of I/O memory that are copied at a time with softirqs off */
#define SOFT_IOMEM_PIECE	1024

/*
 * I/O memory may take a microsecond for a few bytes. So pending softirqs run between pieces,
 * unless the caller has disabled them. The reference to the memory keeps the access valid.
 */
static size_t soft_dmabuf_piece(const struct iosys_map *map, size_t len)
{
	return map->is_iomem ? min_t(size_t, len, SOFT_IOMEM_PIECE) : len;
}

static void soft_mem_copy_dmabuf(const struct ri_vm_region *region, u64 off,
				 void *buf, size_t len, bool out)
{
	struct iosys_map map = region->map;
	size_t n;

	for (;;) {
		n = soft_dmabuf_piece(&map, len);
		if (out)
			iosys_map_memcpy_from(buf, &map, off, n);
		else
			iosys_map_memcpy_to(&map, off, buf, n);
		len -= n;
		if (!len)
			return;
		off += n;
		buf += n;
		local_bh_enable();
		local_bh_disable();
	}
}

/* Does the memory consist of pages of a program? */
static bool soft_mem_is_pages(const struct soft_mem *mem)
{
	return mem->region && !mem->region->dmabuf;
}

/* Does it consist of pages that a consumer in the kernel has named, all of one size? */
static bool soft_mem_is_list(const struct soft_mem *mem)
{
	return !mem->region && !mem->ends && mem->pages;
}

/*
 * Copy between @buf and pages of 2^@shift bytes; @off is the offset in them. Either @page, pages of
 * a program, or @address, a list of the kernel, is NULL.
 */
static __always_inline void
soft_mem_copy_paged(struct page **page, const u64 *address, u32 shift, u64 off,
		    const struct soft_parts *buf, size_t len, bool out)
{
	const bool vectors = soft_copy_begin(len);
	const size_t size = BIT_ULL(shift);
	u32 part = buf->len;
	u64 at = off >> shift;
	u8 *p = buf->first;
	void *va;
	size_t n;

	off &= size - 1;
	for (; len; len -= n) {
		n = min3(len, (size_t)part, size - off);
		va = page ? kmap_local_page(page[at]) : (void *)(uintptr_t)address[at];
		if (out)
			soft_copy(p, va + off, n, vectors);
		else
			soft_copy(va + off, p, n, vectors);
		if (page)
			kunmap_local(va);
		off += n;
		at += off >> shift;
		off &= size - 1;
		p += n;
		part -= n;
		if (!part) {
			p += buf->gap;
			part = buf->len;
		}
	}
	soft_copy_end(vectors);
}

/*
 * The kernel address of the @len bytes at @to, if they are known to be in a row: memory by the
 * local DMA lkey, or in the first element of a list.
 */
static __always_inline u8 *soft_mem_row(const struct soft_mem *mem, u64 to, size_t len)
{
	const u64 off = to - mem->iova + mem->offset;

	if (mem->region)
		return NULL;
	if (mem->ends)
		return off + len <= mem->ends[0] ? (u8 *)(uintptr_t)(mem->pages[0] + off) : NULL;
	return mem->pages ? NULL : (u8 *)(uintptr_t)to;
}

static __always_inline void soft_mem_copy_row(u8 *va, const struct soft_parts *buf, size_t len,
					      bool out)
{
	const bool vectors = soft_copy_begin(len);
	u8 *p = buf->first;
	size_t n;

	for (; len; va += n, p += n + buf->gap, len -= n) {
		n = min_t(size_t, len, buf->len);
		if (out)
			soft_copy(p, va, n, vectors);
		else
			soft_copy(va, p, n, vectors);
	}
	soft_copy_end(vectors);
}

/* Copy one part, piece by piece; @out: from @mem to @buf. */
static void soft_mem_copy_part(const struct soft_mem *mem, u64 to, void *buf,
			       size_t len, bool out, bool vectors)
{
	void *va, *mapped;
	size_t n;

	if (soft_mem_is_dmabuf(mem)) {
		soft_mem_copy_dmabuf(mem->region, soft_mem_offset(mem, to), buf,
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

/* Copy between @buf and memory of any kind. */
static __always_inline void soft_mem_copy(const struct soft_mem *mem, u64 to,
					  const struct soft_parts *buf, size_t len, bool out)
{
	u8 *p = buf->first, *row;
	bool vectors;
	size_t n;

	row = soft_mem_row(mem, to, len);
	if (row) {
		soft_mem_copy_row(row, buf, len, out);
		return;
	}
	if (soft_mem_is_pages(mem)) {
		soft_mem_copy_paged(mem->region->pages, NULL, PAGE_SHIFT, soft_mem_offset(mem, to),
				    buf, len, out);
		return;
	}
	if (soft_mem_is_list(mem)) {
		soft_mem_copy_paged(NULL, mem->pages, mem->page_shift, to - mem->iova + mem->offset,
				    buf, len, out);
		return;
	}
	vectors = !soft_mem_is_dmabuf(mem) && soft_copy_begin(len);
	for (; len; to += n, p += n + buf->gap, len -= n) {
		n = min_t(size_t, len, buf->len);
		soft_mem_copy_part(mem, to, p, n, out, vectors);
	}
	soft_copy_end(vectors);
}

/**
 * soft_mem_read_parts() - copy from a region to pieces of kernel memory
 * @mem: source, allowed by soft_mem_get()
 * @to: tagged offset in @mem
 * @dst: destination
 * @len: bytes
 * Context: any.
 */
void soft_mem_read_parts(const struct soft_mem *mem, u64 to,
			 const struct soft_parts *dst, size_t len)
{
	soft_mem_copy(mem, to, dst, len, true);
}

/** soft_mem_write_parts() - copy from pieces to a region; see soft_mem_read_parts() */
void soft_mem_write_parts(const struct soft_mem *mem, u64 to,
			  const struct soft_parts *src, size_t len)
{
	soft_mem_copy(mem, to, src, len, false);
}

/*
 * Copy one piece in a row, the usual case with short messages: in the kernel's memory, or within
 * one page of a program. Return: false: the memory is another one.
 */
static __always_inline bool soft_mem_copy_short(const struct soft_mem *mem, u64 to,
						void *buf, size_t len, bool out)
{
	u8 *va = soft_mem_row(mem, to, len);
	bool page;
	u64 off;

	page = !va;
	if (page) {
		if (!soft_mem_is_pages(mem))
			return false;
		off = soft_mem_offset(mem, to);
		if (offset_in_page(off) + len > PAGE_SIZE)
			return false;
		va = kmap_local_page(mem->region->pages[off >> PAGE_SHIFT]);
		va += offset_in_page(off);
	} else if (len >= READ_ONCE(soft_copy_vector_min)) {
		/* long enough for vector registers */
		return false;
	}
	if (out)
		soft_copy(buf, va, len, false);
	else
		soft_copy(va, buf, len, false);
	if (page)
		kunmap_local(va);
	return true;
}

/** soft_mem_read() - copy from a region to one piece of kernel memory */
void soft_mem_read(const struct soft_mem *mem, u64 to, void *dst, size_t len)
{
	const struct soft_parts parts = { .first = dst, .len = len };

	if (!soft_mem_copy_short(mem, to, dst, len, true))
		soft_mem_read_parts(mem, to, &parts, len);
}

/** soft_mem_write() - copy from one piece of kernel memory to a region */
void soft_mem_write(const struct soft_mem *mem, u64 to, const void *src,
		    size_t len)
{
	const struct soft_parts parts = { .first = (void *)src, .len = len };

	if (!soft_mem_copy_short(mem, to, (void *)src, len, false))
		soft_mem_write_parts(mem, to, &parts, len);
}

/* Copy between two regions of pages of programs; @to and @from are offsets in the regions. */
static void soft_mem_move_pages(const struct ri_vm_region *dst, u64 to,
				const struct ri_vm_region *src, u64 from, size_t len)
{
	struct page **to_page = dst->pages + (to >> PAGE_SHIFT);
	struct page **from_page = src->pages + (from >> PAGE_SHIFT);
	const bool vectors = soft_copy_begin(len);
	void *to_va, *from_va;
	size_t n;

	to = offset_in_page(to);
	from = offset_in_page(from);
	/* fast case: both offsets are at the start of a page */
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

/* The same for memory of which one at least belongs to the kernel; no dma-bufs. */
static void soft_mem_move_mapped(const struct soft_mem *dst, u64 to, const struct soft_mem *src,
				 u64 from, size_t len)
{
	const bool vectors = soft_copy_begin(len);
	void *to_va, *from_va, *to_mapped, *from_mapped;
	size_t n;

	for (; len; to += n, from += n, len -= n) {
		n = len;
		to_va = soft_mem_map(dst, to, &n, &to_mapped);
		from_va = soft_mem_map(src, from, &n, &from_mapped);
		soft_copy(to_va, from_va, n, vectors);
		soft_mem_unmap(from_mapped);
		soft_mem_unmap(to_mapped);
	}
	soft_copy_end(vectors);
}

/**
 * soft_mem_move() - copy from one region to another
 * @dst: destination, allowed by soft_mem_get()
 * @to: tagged offset in @dst
 * @src: source, allowed by soft_mem_get()
 * @from: tagged offset in @src
 * @len: bytes
 * Context: any.
 */
void soft_mem_move(const struct soft_mem *dst, u64 to,
		   const struct soft_mem *src, u64 from, size_t len)
{
	u8 between[256]; /* for two dma-bufs */
	void *va, *mapped;
	size_t n;

	if (soft_mem_is_pages(dst) && soft_mem_is_pages(src)) {
		soft_mem_move_pages(dst->region, soft_mem_offset(dst, to),
				    src->region, soft_mem_offset(src, from), len);
		return;
	}
	if (!soft_mem_is_dmabuf(dst) && !soft_mem_is_dmabuf(src)) {
		soft_mem_move_mapped(dst, to, src, from, len);
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

/* Atomic operations ********************************************************* */

/* Can an atomic operation access 8 bytes at @to: contiguous, aligned, not I/O memory? */
static bool soft_mem_aligned(const struct soft_mem *mem, u64 to)
{
	size_t len = sizeof(u64);
	void *mapped, *va = soft_mem_map(mem, to, &len, &mapped);

	soft_mem_unmap(mapped);
	return va && len == sizeof(u64) && IS_ALIGNED((uintptr_t)va, sizeof(u64));
}

/**
 * soft_mem_get_atomic() - soft_mem_get() for the target of an atomic operation
 * @user: see soft_mem_get()
 * @rq: the operation
 * @memp: see soft_mem_get()
 * Return: SOFT_ACCESS_OK or the reason of the refusal; SOFT_ACCESS_ALIGN for an unsuitable
 * target address.
 */
enum soft_access soft_mem_get_atomic(const struct soft_mem_user *user,
				     const struct soft_atomic_req *rq,
				     struct soft_mem **memp)
{
	enum soft_access why;

	why = soft_mem_get(user, rq->stag, rq->to, SOFT_ATOMIC_LEN,
			   IB_ACCESS_REMOTE_ATOMIC, memp);
	if (!why && !soft_mem_aligned(*memp, rq->to)) {
		soft_mem_put(*memp);
		why = SOFT_ACCESS_ALIGN;
	}
	return why;
}

/**
 * soft_mem_atomic() - execute an atomic operation on a region
 * @mem: target, allowed by soft_mem_get_atomic()
 * @rq: the operation
 *
 * The target is aligned, so it lies within one page or element.
 * Context: any.
 * Return: the value before the operation.
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
