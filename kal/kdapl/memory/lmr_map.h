/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The mapping for DMA of a fast registration: exactly its bytes, in one direction, from the post of
 * the registration until the STag is invalid. RNICs that work by virtual addresses have none.
 */
#ifndef KDAT_LMR_MAP_H
#define KDAT_LMR_MAP_H

#include <linux/dma-direction.h>
#include <linux/scatterlist.h>

struct ri_page_list;
struct ri_rnic;

/**
 * struct kdat_map - a mapping
 * @dir: direction
 * @busy: it is being unmapped
 * @num: elements; 0: nothing is mapped
 * @mapped: the same as the device sees them
 * @longest: of an element, bytes
 * @max: room
 * @sgl: elements
 */
struct kdat_map {
	enum dma_data_direction dir;
	bool busy;
	u32 num;
	u32 mapped;
	u32 longest;
	u32 max;
	struct scatterlist sgl[] __counted_by(max);
};

/* Return: NULL: no memory. May sleep. */
struct kdat_map *kdat_map_alloc(struct ri_rnic *rnic, u32 max);
/* Describe memory, piece by piece, from an empty map on. Return: false: no room */
bool kdat_map_add(struct kdat_map *map, phys_addr_t pa, u64 len);
/* Map what was described. Return: false: the device cannot be given it; nothing is mapped. */
bool kdat_map_dma(struct kdat_map *map, struct ri_rnic *rnic, enum dma_data_direction dir);
/*
 * List the pages of what is mapped; @offset: of the first byte in its page. Return: false: the
 * device has it at addresses that no page list can name.
 */
bool kdat_map_list(const struct kdat_map *map, struct ri_page_list *list, u64 offset);
void kdat_map_end(struct kdat_map *map, struct ri_rnic *rnic);
/*
 * Synchronise what element @i has of @len bytes from @off on, to the consumer (@to_cpu) or the
 * RNIC. @begin: offset of the element. Return: bytes of the element.
 */
u64 kdat_map_sync(const struct kdat_map *map, struct ri_rnic *rnic, u32 i, u64 begin, u64 off,
		  u64 len, bool to_cpu);

#endif /* KDAT_LMR_MAP_H */
