// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The PCI function whose bus addresses siw takes: the guest's ISA bridge, which has no driver. */
#include <linux/dma-mapping.h>
#include <linux/pci.h>

#include "siw_dma.h"

static struct pci_dev *siw_dma_function;

struct device *siw_dma_device(void)
{
	struct pci_dev *found;

	if (likely(siw_dma_function))
		return &siw_dma_function->dev;
	found = pci_get_class(PCI_CLASS_BRIDGE_ISA << 8, NULL);
	if (!found)
		return NULL;
	/* page lists: a bounce buffer begins where its page does */
	dma_set_min_align_mask(&found->dev, PAGE_SIZE - 1);
	if (dma_set_mask_and_coherent(&found->dev, DMA_BIT_MASK(64)))
		pr_warn("siw: no 64-bit addresses\n");
	siw_dma_function = found;
	return &found->dev;
}
