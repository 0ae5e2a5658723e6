// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <linux/dma-buf.h>

int probe(struct dma_buf *dmabuf, struct iosys_map *map);
int probe(struct dma_buf *dmabuf, struct iosys_map *map)
{
	return dma_buf_vmap_unlocked(dmabuf, map);
}
