// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Mappings for DMA of fast registrations; see lmr_map.h. */
#include <linux/dma-mapping.h>
#include <linux/mm.h>

#include <krdma/kal.h>

#include "lmr_map.h"

struct kdat_map *kdat_map_alloc(struct ri_rnic *rnic, u32 max)
{
	struct device *dev = rnic->attr.dma_device;
	struct kdat_map *map;
	size_t longest;

	map = kvzalloc(struct_size(map, sgl, max), GFP_KERNEL_ACCOUNT);
	if (!map)
		return NULL;
	longest = min_t(size_t, dma_get_max_seg_size(dev), dma_max_mapping_size(dev));
	map->longest = clamp_t(size_t, round_down(longest, PAGE_SIZE), PAGE_SIZE, SZ_1G);
	map->max = max;
	return map;
}

bool kdat_map_add(struct kdat_map *map, phys_addr_t pa, u64 len)
{
	struct scatterlist *sg;
	u64 n;

	for (; len; pa += n, len -= n) {
		if (map->num == map->max)
			return false;
		/* the first one ends with a page, so that the others begin with one */
		n = min(len, map->longest - offset_in_page(pa));
		sg = &map->sgl[map->num++];
		/* the mapping before may have left flags in it, which the next one believes */
		memset(sg, 0, sizeof(*sg));
		sg_set_page(sg, pfn_to_page(PHYS_PFN(pa)), n, offset_in_page(pa));
	}
	return true;
}

bool kdat_map_dma(struct kdat_map *map, struct ri_rnic *rnic, enum dma_data_direction dir)
{
	sg_mark_end(&map->sgl[map->num - 1]);
	map->dir = dir;
	map->mapped = kal_dma_map_sg(rnic, map->sgl, map->num, dir);
	if (!map->mapped)
		map->num = 0;
	return map->mapped;
}

bool kdat_map_list(const struct kdat_map *map, struct ri_page_list *list, u64 offset)
{
	const u64 size = BIT_ULL(list->page_shift), mask = size - 1;
	u64 addr, end;
	u32 i, num = 0;

	for (i = 0; i < map->mapped; i++) {
		addr = sg_dma_address(&map->sgl[i]);
		end = addr + sg_dma_len(&map->sgl[i]);
		if ((addr & mask) != (i ? 0 : offset) || (i + 1 < map->mapped && end & mask))
			return false;
		for (addr &= ~mask; addr < end; addr += size) {
			if (num == list->max)
				return false;
			list->pages[num++] = addr;
		}
	}
	list->num = num;
	return true;
}

void kdat_map_end(struct kdat_map *map, struct ri_rnic *rnic)
{
	if (map->num)
		kal_dma_unmap_sg(rnic, map->sgl, map->num, map->dir);
	map->num = 0;
	map->mapped = 0;
}

u64 kdat_map_sync(const struct kdat_map *map, struct ri_rnic *rnic, u32 i, u64 begin, u64 off,
		  u64 len, bool to_cpu)
{
	const u64 size = sg_dma_len(&map->sgl[i]);
	const u64 from = max(off, begin), to = min(off + len, begin + size);
	const u64 addr = sg_dma_address(&map->sgl[i]) + from - begin;

	if (from >= to)
		return size;
	if (to_cpu)
		kal_dma_sync_for_cpu(rnic, addr, to - from, map->dir);
	else
		kal_dma_sync_for_device(rnic, addr, to - from, map->dir);
	return size;
}
