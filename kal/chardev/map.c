// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * mmap() of /dev/krdma: memory that a provider shares with its user library. Each memory
 * object has its own page offset in the file. A mapping at that offset covers the whole object
 * and is shared. A mapping may outlive the object. It is plain memory then.
 */
#include <linux/mm.h>

#include "verbs.h"

static int chardev_map_insert(struct ri_ucontext *uctx, struct ri_shmem *shm)
{
	struct kal_file *file = uctx->consumer;
	u32 id;
	int ret;

	kal_shmem_get(shm);
	/* offset 0 is not used, because it means that there is no mapping */
	ret = xa_alloc_cyclic(&file->maps, &id, shm, XA_LIMIT(1, S32_MAX), &file->next_map,
			      GFP_KERNEL_ACCOUNT);
	if (ret < 0) {
		kal_shmem_put(shm);
		return ret;
	}
	shm->consumer = (void *)(uintptr_t)id;
	shm->offset = (u64)id << PAGE_SHIFT;
	return 0;
}

static void chardev_map_remove(struct ri_ucontext *uctx, struct ri_shmem *shm)
{
	struct kal_file *file = uctx->consumer;

	xa_erase(&file->maps, (uintptr_t)shm->consumer);
	kal_shmem_put(shm);
}

const struct ri_shmem_ops kal_map_ops = {
	.insert = chardev_map_insert,
	.remove = chardev_map_remove,
};

int kal_map_mmap(struct kal_file *file, struct vm_area_struct *vma)
{
	struct ri_shmem *shm;
	int ret = -EINVAL;

	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	scoped_guard(spinlock, &file->maps.xa_lock) {
		shm = xa_load(&file->maps, vma->vm_pgoff);
		if (shm)
			kal_shmem_get(shm);
	}
	if (!shm)
		return -EINVAL;
	if (vma->vm_end - vma->vm_start == shm->size)
		ret = kal_shmem_mmap(shm, vma);
	kal_shmem_put(shm);
	return ret;
}
