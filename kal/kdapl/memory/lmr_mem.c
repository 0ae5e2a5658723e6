// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Memory of LMRs: from the consumer's description to extents with addresses for the RNIC.
 * Physically contiguous memory is one extent, which is mapped at once.
 *
 * An RNIC that works by virtual addresses and maps regions at once (krdma_soft) gets memory of
 * DAT_MEM_TYPE_VIRTUAL as one extent, however scattered its pages are. Software devices below
 * krdma_hw look up the page of an address, and need one of the linear mapping.
 */
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>
#include <linux/vmalloc.h>
#include <krdma/compat.h>

#include "lmr.h"

/**
 * struct kdat_mem_plan - extents that are counted or filled in
 * @mem: filled in, NULL: counted
 * @most: longest extent, measured from the beginning of its first page
 * @num: extents
 * @at: bytes
 * @run: bytes of the last extent, measured like @most
 * @next: physical address behind the last extent
 */
struct kdat_mem_plan {
	struct kdat_mem *mem;
	u64 most;
	u64 num;
	u64 at;
	u64 run;
	phys_addr_t next;
};

static void kdat_mem_add(struct kdat_mem_plan *plan, phys_addr_t pa, u64 len)
{
	u64 n;

	for (; len; len -= n) {
		if (!plan->num || pa != plan->next || plan->run >= plan->most) {
			plan->run = offset_in_page(pa);
			if (plan->mem)
				plan->mem->extents[plan->num].addr = pa;
			plan->num++;
		}
		n = min(len, plan->most - plan->run);
		plan->run += n;
		plan->at += n;
		pa += n;
		plan->next = pa;
		if (plan->mem)
			plan->mem->extents[plan->num - 1].end = plan->at;
	}
}

bool kdat_mem_page_size_ok(u64 page_size)
{
	return page_size >= SECTOR_SIZE && page_size <= SZ_1G && is_power_of_2(page_size);
}

bool kdat_mem_page_ok(DAT_PADDR pa, u64 page_size)
{
	return !(pa & (page_size - 1)) && pfn_valid(PHYS_PFN(pa)) &&
	       pfn_valid(PHYS_PFN(pa + page_size - 1)) && !PageHighMem(pfn_to_page(PHYS_PFN(pa)));
}

static int kdat_mem_walk_pages(struct kdat_mem_plan *plan, const DAT_PADDR *pages, u64 page_size,
			       u64 bytes)
{
	u64 i;

	if (!pages)
		return -EINVAL;
	for (i = 0; i < bytes / page_size; i++) {
		if (!kdat_mem_page_ok(pages[i], page_size))
			return -EINVAL;
		kdat_mem_add(plan, pages[i], page_size);
		cond_resched();
	}
	return 0;
}

static int kdat_mem_walk_virtual(struct kdat_mem_plan *plan, const void *va, u64 bytes)
{
	struct page *page;
	u64 n;

	if (!va || (uintptr_t)va + bytes - 1 < (uintptr_t)va)
		return -EINVAL;
	if (!is_vmalloc_or_module_addr(va)) {
		if (!virt_addr_valid(va) || !virt_addr_valid(va + bytes - 1))
			return -EINVAL;
		kdat_mem_add(plan, virt_to_phys((void *)va), bytes);
		return 0;
	}
	for (; bytes; va += n, bytes -= n) {
		page = is_vmalloc_or_module_addr(va) ? vmalloc_to_page(va) : NULL;
		if (!page)
			return -EINVAL;
		n = min_t(u64, bytes, PAGE_SIZE - offset_in_page(va));
		kdat_mem_add(plan, page_to_phys(page) + offset_in_page(va), n);
		cond_resched();
	}
	return 0;
}

static int kdat_mem_walk_table(struct kdat_mem_plan *plan, struct sg_table *table, u64 bytes)
{
	struct scatterlist *sg;
	unsigned int i;
	u64 n;

	if (!table || !table->sgl)
		return -EINVAL;
	for_each_sgtable_sg(table, sg, i) {
		if (!bytes)
			return 0;
		if (!sg_page(sg) || PageHighMem(sg_page(sg)))
			return -EINVAL;
		n = min_t(u64, bytes, sg->length);
		kdat_mem_add(plan, sg_phys(sg), n);
		bytes -= n;
		cond_resched();
	}
	return bytes ? -EINVAL : 0;
}

static int kdat_mem_walk(struct kdat_mem_plan *plan, DAT_MEM_TYPE type,
			 const DAT_REGION_DESCRIPTION *desc, u64 bytes)
{
	switch (type) {
	case DAT_MEM_TYPE_VIRTUAL:
		return kdat_mem_walk_virtual(plan, desc->for_va, bytes);
	case DAT_MEM_TYPE_PHYSICAL:
		return kdat_mem_walk_pages(plan, desc->for_physical, PAGE_SIZE, bytes);
	case DAT_MEM_TYPE_PHYSICAL_VAR_PAGES:
		return kdat_mem_walk_pages(plan, desc->for_array.pages,
					   desc->for_array.page_size, bytes);
	case DAT_MEM_TYPE_PLATFORM:
		return kdat_mem_walk_table(plan, desc->for_platform, bytes);
	default:
		return -EINVAL;
	}
}

/* The address of the first byte as the consumer knows it: virtual, if it gave that. */
static u64 kdat_mem_address(DAT_MEM_TYPE type, const DAT_REGION_DESCRIPTION *desc, u64 first)
{
	switch (type) {
	case DAT_MEM_TYPE_VIRTUAL:
		return (uintptr_t)desc->for_va;
	case DAT_MEM_TYPE_IA:
		return desc->for_ia;
	default:
		return first;
	}
}

static struct kdat_mem *kdat_mem_alloc(struct ri_rnic *rnic, u64 num)
{
	struct kdat_mem *mem;

	if (num > U32_MAX)
		return NULL;
	mem = kvzalloc(struct_size(mem, extents, num), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!mem)
		return NULL;
	refcount_set(&mem->refs, 1);
	mem->rnic = rnic;
	mem->num = num;
	return mem;
}

/* Memory whose address for the RNIC is known. */
static struct kdat_mem *kdat_mem_one(struct ri_rnic *rnic, u64 addr, u64 bytes)
{
	struct kdat_mem *mem = kdat_mem_alloc(rnic, 1);

	if (!mem)
		return ERR_PTR(-ENOMEM);
	mem->address = addr;
	mem->length = bytes;
	mem->extents[0].addr = addr;
	mem->extents[0].end = bytes;
	return mem;
}

static u64 kdat_mem_extent_len(const struct kdat_mem *mem, u32 i)
{
	return mem->extents[i].end - (i ? mem->extents[i - 1].end : 0);
}

/* From physical addresses to those for the RNIC. */
static int kdat_mem_map(struct kdat_mem *mem)
{
	struct kdat_extent *extent = mem->extents;
	phys_addr_t pa;
	u64 addr;

	for (; mem->mapped < mem->num; mem->mapped++, extent++) {
		pa = extent->addr;
		addr = kal_dma_map_page(mem->rnic, pfn_to_page(PHYS_PFN(pa)), offset_in_page(pa),
					kdat_mem_extent_len(mem, mem->mapped), mem->dir);
		if (kal_dma_mapping_error(mem->rnic, addr))
			return -EIO;
		extent->addr = addr;
		cond_resched();
	}
	return 0;
}

void kdat_mem_unmap(struct kdat_mem *mem)
{
	u32 i;

	for (i = 0; i < mem->mapped; i++) {
		kal_dma_unmap_page(mem->rnic, mem->extents[i].addr, kdat_mem_extent_len(mem, i),
				   mem->dir);
		cond_resched();
	}
	mem->mapped = 0;
}

void kdat_mem_put(struct kdat_mem *mem)
{
	if (!mem || !refcount_dec_and_test(&mem->refs))
		return;
	kdat_mem_unmap(mem);
	kvfree_rcu(mem, rcu);
}

u32 kdat_mem_find(const struct kdat_mem *mem, u64 off)
{
	u32 low = 0, high = mem->num - 1, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (mem->extents[middle].end > off)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Longest extent that the RNIC's device can map. */
static u64 kdat_mem_longest(struct ri_rnic *rnic)
{
	size_t most;

	if (kal_dma_is_virtual(rnic))
		return U64_MAX;
	most = dma_max_mapping_size(rnic->attr.dma_device);
	return most >= SZ_2G ? SZ_1G : max_t(u64, round_down(most, PAGE_SIZE), PAGE_SIZE);
}

struct kdat_mem *kdat_mem_make(struct ri_rnic *rnic, const struct kdat_naming *is)
{
	struct kdat_mem_plan plan = { .most = kdat_mem_longest(rnic) };
	const DAT_REGION_DESCRIPTION *desc = &is->desc;
	const DAT_MEM_TYPE type = is->mem_type;
	const u64 bytes = is->length;
	struct kdat_mem *mem;
	int ret;

	if (type == DAT_MEM_TYPE_IA) {
		if (desc->for_ia + bytes - 1 < desc->for_ia)
			return ERR_PTR(-EINVAL);
		return kdat_mem_one(rnic, desc->for_ia, bytes);
	}
	ret = kdat_mem_walk(&plan, type, desc, bytes);
	if (ret)
		return ERR_PTR(ret);
	if (type == DAT_MEM_TYPE_VIRTUAL && kal_dma_is_virtual(rnic) && kdat_maps(rnic))
		return kdat_mem_one(rnic, (uintptr_t)desc->for_va, bytes);
	mem = kdat_mem_alloc(rnic, plan.num);
	if (!mem)
		return ERR_PTR(-ENOMEM);
	mem->dir = kdat_lmr_direction(is->priv, true);
	plan = (struct kdat_mem_plan){ .mem = mem, .most = plan.most };
	ret = kdat_mem_walk(&plan, type, desc, bytes);
	if (!ret) {
		mem->length = bytes;
		mem->address = kdat_mem_address(type, desc, mem->extents[0].addr);
		ret = kdat_mem_map(mem);
	}
	if (ret) {
		kdat_mem_put(mem);
		return ERR_PTR(ret);
	}
	return mem;
}
