/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * siw with DMA: addresses that its consumers give it are bus addresses of a PCI function of the guest,
 * as those of hardware are, and siw turns them into pages here. So the DMA mappings of consumers are
 * real: they can be checked by the kernel, and go through bounce buffers with swiotlb=force.
 */
#ifndef SIW_DMA_H
#define SIW_DMA_H

#include <linux/dma-direct.h>
#include <linux/mm.h>

struct device *siw_dma_device(void);

/* Inline data and the kernel's answers are the only ones that are in siw's own memory. */
static inline void *siw_dma_ptr(u64 addr)
{
	if (addr >= PAGE_OFFSET)
		return (void *)(uintptr_t)addr;
	return phys_to_virt(dma_to_phys(siw_dma_device(), addr));
}

/* The address of a region or a receive: it was mapped, or the consumer is wrong. */
static inline void *siw_dma_bus_ptr(u64 addr)
{
	WARN_ONCE(addr >= PAGE_OFFSET, "siw: %llx is no bus address\n", addr);
	return siw_dma_ptr(addr);
}

static inline struct page *siw_dma_page(u64 addr)
{
	return virt_to_page(siw_dma_ptr(addr));
}

#endif /* SIW_DMA_H */
