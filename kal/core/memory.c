// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Memory management: the operating system's part of the memory that a provider accesses. The
 * verbs of memory regions call the pinning and translation of user memory. Providers call the
 * functions for kernel memory that a provider shares with its user library. The provider
 * decides how it uses the pages (steering tags, protection).
 */
#include <linux/cleanup.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <krdma/compat.h>

#include "cgroup.h"
#include "internal.h"
#include "pins.h"

/* number of pages pinned at a time, so that a signal can end a long pinning */
#define KAL_PIN_BATCH	(PAGE_SIZE / sizeof(struct page *))

static int kal_pin_pages(u64 start, struct ri_vm_region *region)
{
	unsigned int gup = FOLL_LONGTERM | (region->writable ? FOLL_WRITE : 0);
	unsigned long done = 0;
	int ret = 0;

	while (done < region->npages) {
		unsigned long batch = min(region->npages - done, KAL_PIN_BATCH);

		cond_resched();
		if (fatal_signal_pending(current)) {
			ret = -EINTR;
			break;
		}
		ret = pin_user_pages_fast(start + done * PAGE_SIZE, batch, gup,
					  region->pages + done);
		if (ret <= 0)
			break;
		batch = ret;
		ret = kal_pins_add(region->pins, region->pages + done, batch);
		if (ret) {
			unpin_user_pages(region->pages + done, batch);
			break;
		}
		done += batch;
	}
	if (done == region->npages)
		return 0;
	kal_pins_remove(region->pins, region->pages, done);
	unpin_user_pages(region->pages, done);
	return ret < 0 ? ret : -EFAULT;
}

/**
 * kal_vm_pin_range() - pin and translate an address range of the calling process
 * @start: first address
 * @length: number of bytes, not 0
 * @writable: the provider will write to it
 *
 * The pages are charged to mm->pinned_vm against RLIMIT_MEMLOCK, except pages that the process
 * has already registered with any RNIC.
 *
 * The function sleeps until user space provides the pages, so the caller must not hold any
 * object of an RNIC.
 *
 * Return: the region or an ERR_PTR: -EINVAL (the range wraps), -ENOMEM (limit or memory),
 * -EPERM, -EFAULT, -EINTR (killed). Context: of the process; may sleep.
 */
struct ri_vm_region *kal_vm_pin_range(u64 start, u64 length, bool writable)
{
	struct ri_vm_region *region __free(kfree) = NULL;
	struct mm_struct *mm = current->mm;
	u64 first = start & PAGE_MASK;
	u64 last, npages;
	int ret;

	if (!mm || !length || check_add_overflow(start, length - 1, &last) ||
	    last > U64_MAX - PAGE_SIZE || last > ULONG_MAX)
		return ERR_PTR(-EINVAL);
	npages = ((last & PAGE_MASK) - first) / PAGE_SIZE + 1;

	region = kzalloc(sizeof(*region), GFP_KERNEL_ACCOUNT);
	if (!region)
		return ERR_PTR(-ENOMEM);
	region->mm = mm;
	region->npages = npages;
	region->offset = offset_in_page(start);
	region->writable = writable;

	/* check before the array is allocated, so that the limit also bounds the array */
	ret = kal_pins_allowed(npages);
	if (ret)
		return ERR_PTR(ret);
	region->pins = kal_pins_get(mm);
	if (!region->pins)
		return ERR_PTR(-ENOMEM);
	ret = -ENOMEM;
	region->pages = kvcalloc(npages, sizeof(*region->pages),
				 GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (region->pages)
		ret = kal_pin_pages(first, region);
	if (!ret)
		return no_free_ptr(region);
	kvfree(region->pages);
	kal_pins_put(region->pins);
	return ERR_PTR(ret);
}

/*
 * Undo kal_vm_pin_range() or kal_vm_pin_dmabuf(). Pages that the provider could write to are
 * marked dirty. May sleep; any process.
 */
void kal_vm_unpin(struct ri_vm_region *region)
{
	if (region->dmabuf) {
		kal_dmabuf_unpin(region);
		return;
	}
	kal_pins_remove(region->pins, region->pages, region->npages);
	unpin_user_pages_dirty_lock(region->pages, region->npages,
				    region->writable);
	kal_pins_put(region->pins);
	kvfree(region->pages);
	kfree(region);
}

/* DMA addresses ************************************************************* */

int kal_dma_map_sg(struct ri_rnic *rnic, struct scatterlist *sg, int nents,
		   enum dma_data_direction dir)
{
	struct scatterlist *s;
	int i;

	if (!kal_dma_is_virtual(rnic))
		return dma_map_sg(rnic->attr.dma_device, sg, nents, dir);
	for_each_sg(sg, s, nents, i) {
		sg_dma_address(s) = (uintptr_t)sg_virt(s);
		sg_dma_len(s) = s->length;
	}
	return nents;
}
EXPORT_SYMBOL_GPL(kal_dma_map_sg);

void kal_dma_unmap_sg(struct ri_rnic *rnic, struct scatterlist *sg, int nents,
		      enum dma_data_direction dir)
{
	if (!kal_dma_is_virtual(rnic))
		dma_unmap_sg(rnic->attr.dma_device, sg, nents, dir);
}
EXPORT_SYMBOL_GPL(kal_dma_unmap_sg);

/* A provider's own bytes ***************************************************** */

int kal_udata_get(struct ri_udata *udata, const void __user *in, size_t in_len, size_t out_len)
{
	udata->in_len = min_t(size_t, in_len, sizeof(udata->in));
	udata->out_len = min_t(size_t, out_len, sizeof(udata->out));
	udata->answered = 0;
	udata->answer_to = NULL;
	return copy_from_user(udata->in, in, udata->in_len) ? -EFAULT : 0;
}

int kal_udata_put(const struct ri_udata *udata, void __user *out)
{
	return copy_to_user(udata->answer_to ?: out, udata->out, udata->answered) ? -EFAULT : 0;
}

/* For a QP ***************************************************************** */

static void *kal_charged_alloc(size_t size, bool may_sleep)
{
	void *mem = kmalloc(size, may_sleep ? KAL_GFP_REQUEST : KAL_GFP_CHARGE);

	if (mem || !may_sleep)
		return mem;
	/* memory is fragmented: allocate scattered pages, with a single attempt at reclaim */
	return kvmalloc(size, GFP_NOIO | __GFP_ACCOUNT | __GFP_NORETRY | __GFP_HIGH |
			      __GFP_NOWARN);
}

void *ri_qp_alloc(struct ri_qp *qp, size_t size, bool may_sleep)
{
	struct mem_cgroup *before;
	void *mem;

	if (!qp->memcg)
		return may_sleep ? kvmalloc(size, GFP_NOIO) :
				   kmalloc(size, GFP_ATOMIC | __GFP_NOWARN);
	before = set_active_memcg(qp->memcg);
	mem = kal_charged_alloc(size, may_sleep);
	set_active_memcg(before);
	return mem;
}
EXPORT_SYMBOL_GPL(ri_qp_alloc);

/* Shared memory ************************************************************ */

/* A mapping that still exists holds its own references to the pages. */
static void kal_shmem_free_pages(void *addr)
{
	if (is_vmalloc_addr(addr))
		vfree(addr);
	else
		free_page((unsigned long)addr);
}

static void kal_shmem_release(struct kref *kref)
{
	struct ri_shmem *shm = container_of(kref, struct ri_shmem, kref);

	kal_shmem_free_pages(shm->addr);
	kfree(shm);
}

/* A consumer side holds one reference while user space can find the memory. */
void kal_shmem_get(struct ri_shmem *shm)
{
	kref_get(&shm->kref);
}

/* Context: may sleep. */
void kal_shmem_put(struct ri_shmem *shm)
{
	kref_put(&shm->kref, kal_shmem_release);
}

/*
 * User space chooses the size: at the limit of its memory cgroup the call fails, and no process is
 * killed for it. For single pages only: vmalloc() does not support __GFP_RETRY_MAYFAIL, and
 * kvmalloc() takes the flag as a wish for contiguous memory.
 */
#define KAL_GFP_SHMEM	(GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/*
 * Allocate pages that user space can map, charged to its memory cgroup. vmalloc_user() does
 * not charge them.
 */
static void *kal_shmem_pages(size_t size)
{
	const size_t count = size >> PAGE_SHIFT;
	struct page **pages;
	size_t num = 0;
	void *addr;

	if (count > UINT_MAX)
		return NULL;
	pages = kvcalloc(count, sizeof(*pages), GFP_KERNEL_ACCOUNT);
	if (!pages)
		return NULL;
	while (num < count) {
		pages[num] = alloc_page(KAL_GFP_SHMEM);
		if (!pages[num])
			goto err;
		num++;
	}
	/* vfree() also frees the pages and the array */
	addr = vmap(pages, count, VM_MAP | VM_MAP_PUT_PAGES | VM_USERMAP, PAGE_KERNEL);
	if (addr)
		return addr;
err:
	while (num--)
		__free_page(pages[num]);
	kvfree(pages);
	return NULL;
}

/**
 * kal_shmem_mmap() - map shared memory into a user's address space
 * @shm: memory
 * @vma: area of the memory's size
 *
 * Return: 0 or an errno. Context: in a file's mmap().
 */
int kal_shmem_mmap(const struct ri_shmem *shm, struct vm_area_struct *vma)
{
	int ret;

	if (is_vmalloc_addr(shm->addr))
		return remap_vmalloc_range(vma, shm->addr, 0);
	ret = vm_insert_page(vma, vma->vm_start, virt_to_page(shm->addr));
	if (!ret)
		vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	return ret;
}

static void *kal_shmem_alloc_pages(const struct ri_ucontext *uctx, size_t size)
{
	/* a small queue does not justify an area in the vmalloc space */
	if (size == PAGE_SIZE)
		return (void *)__get_free_page(KAL_GFP_SHMEM);
	return uctx ? kal_shmem_pages(size) :
		      __vmalloc(size, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
}

struct ri_shmem *ri_shmem_alloc(struct ri_ucontext *uctx, size_t size)
{
	struct ri_shmem *shm __free(kfree) = NULL;
	int ret;

	if (!size || size > SIZE_MAX - PAGE_SIZE)
		return ERR_PTR(-EINVAL);
	shm = kzalloc(sizeof(*shm), GFP_KERNEL_ACCOUNT);
	if (!shm)
		return ERR_PTR(-ENOMEM);
	kref_init(&shm->kref);
	shm->size = PAGE_ALIGN(size);
	shm->addr = kal_shmem_alloc_pages(uctx, shm->size);
	if (!shm->addr)
		return ERR_PTR(-ENOMEM);
	if (uctx && uctx->shm_ops) {
		shm->uctx = uctx;
		ret = uctx->shm_ops->insert(uctx, shm);
		if (ret) {
			kal_shmem_free_pages(shm->addr);
			return ERR_PTR(ret);
		}
	}
	return no_free_ptr(shm);
}
EXPORT_SYMBOL_GPL(ri_shmem_alloc);

void ri_shmem_free(struct ri_shmem *shm)
{
	if (!shm)
		return;
	if (shm->uctx)
		shm->uctx->shm_ops->remove(shm->uctx, shm);
	kal_shmem_put(shm);
}
EXPORT_SYMBOL_GPL(ri_shmem_free);
