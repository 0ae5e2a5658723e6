// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Memory management: memory that another driver shares as a dma-buf, for a provider that
 * copies with the CPU. The exporter maps the memory for the kernel. The mapping also keeps the
 * memory in place. There is no device to attach the dma-buf to.
 *
 * CPU access begins and ends with the region, not with each copy. Copies are made in softirq,
 * but dma_buf_begin_cpu_access() may sleep:
 *
 * - it declares so (might_lock() of the reservation's ww_mutex)
 * - it waits for fences (dma_resv_wait_timeout())
 * - it calls exporters that take mutexes
 *
 * dma_buf_end_cpu_access() has the same restrictions. Neither function has a variant that does
 * not sleep.
 *
 * As a result, data that a device writes while the region exists is certainly visible only
 * where DMA is coherent, as it is on x86. The region does not wait for fences that are added
 * later. The programs must wait for them (DMA_BUF_IOCTL_EXPORT_SYNC_FILE).
 */
#include <linux/dma-buf.h>
#include <linux/fs.h>
#include <linux/overflow.h>
#include <linux/rwsem.h>
#include <linux/slab.h>
#include <krdma/compat_verbs.h>

#include "internal.h"

/*
 * udmabuf creates its table on the first access and takes no lock for that. With two
 * simultaneous registrations, one table was lost (6.12). i_rwsem of the buffer's inode
 * serialises the accesses of krdma. Exporters have their own locks, so no other code uses this
 * one. A thread that waits for the fences of one buffer does not delay users of another
 * buffer.
 */
static int kal_dmabuf_begin(struct dma_buf *dmabuf)
{
	struct rw_semaphore *lock = &file_inode(dmabuf->file)->i_rwsem;
	int ret;

	ret = down_write_killable(lock);
	if (ret)
		return ret;
	ret = dma_buf_begin_cpu_access(dmabuf, DMA_BIDIRECTIONAL);
	up_write(lock);
	return ret;
}

static int kal_dmabuf_map(struct ri_vm_region *region)
{
	int ret;

	ret = dma_buf_vmap_unlocked(region->dmabuf, &region->map);
	if (ret)
		return ret;
	ret = kal_dmabuf_begin(region->dmabuf);
	if (ret)
		dma_buf_vunmap_unlocked(region->dmabuf, &region->map);
	return ret;
}

/**
 * kal_vm_pin_dmabuf() - map a part of a dma-buf
 * @fd: file descriptor of the calling process
 * @offset: first byte
 * @length: number of bytes, not 0
 * @writable: the provider will write to it
 *
 * For a provider without a device that does DMA: the CPU copies. The exporter keeps the memory
 * in place until kal_vm_unpin(), and accounts for it.
 *
 * The function sleeps until the exporter's fences are signalled, so the caller must not hold
 * any object of an RNIC.
 *
 * Return: the region or an ERR_PTR: -EBADF, -EINVAL (not a dma-buf, or too small), -EACCES
 * (not writable), -ENOMEM, -EINTR (killed), or the exporter's error. Context: of the process;
 * may sleep.
 */
struct ri_vm_region *kal_vm_pin_dmabuf(int fd, u64 offset, u64 length, bool writable)
{
	struct ri_vm_region *region __free(kfree) = NULL;
	struct dma_buf *dmabuf;
	u64 end;
	int ret;

	if (!length || check_add_overflow(offset, length, &end))
		return ERR_PTR(-EINVAL);
	region = kzalloc(sizeof(*region), GFP_KERNEL_ACCOUNT);
	if (!region)
		return ERR_PTR(-ENOMEM);
	dmabuf = dma_buf_get(fd);
	if (IS_ERR(dmabuf))
		return ERR_CAST(dmabuf);

	region->dmabuf = dmabuf;
	region->offset = offset;
	region->writable = dmabuf->file->f_mode & FMODE_WRITE;
	if (end > dmabuf->size)
		ret = -EINVAL;
	else if (writable && !region->writable)
		ret = -EACCES;
	else
		ret = kal_dmabuf_map(region);
	if (ret) {
		dma_buf_put(dmabuf);
		return ERR_PTR(ret);
	}
	return no_free_ptr(region);
}

/* kal_vm_unpin() for a dma-buf. */
void kal_dmabuf_unpin(struct ri_vm_region *region)
{
	dma_buf_end_cpu_access(region->dmabuf, DMA_BIDIRECTIONAL);
	dma_buf_vunmap_unlocked(region->dmabuf, &region->map);
	dma_buf_put(region->dmabuf);
	kfree(region);
}

MODULE_IMPORT_NS("DMA_BUF");
