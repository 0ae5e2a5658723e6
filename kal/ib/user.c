// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The ib bridge's user contexts. A user context is a process' open device, with the mappings
 * of the memory that the provider shares with its user library. ib_core finds a mapping by its
 * offset among the entries that this file inserts.
 *
 * A process that receives the open device from another process (ibv_import_device()) queries
 * the context here. It gets the same answer as the process that created the context.
 */
#include <linux/mm.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include <krdma/ib-abi.h>

#include "bridge.h"

/* prefix of the names that the declarations below generate */
#define UVERBS_MODULE_NAME kal_ib
#include <rdma/uverbs_named_ioctl.h>

/*
 * Get the provider's own bytes of a call; NULL for a kernel consumer's call.
 *
 * ib_uverbs holds disassociate_srcu of the device while this function copies from user space,
 * and while ib_uverbs itself copies (ib_uverbs_ioctl(), ib_uverbs_write()). When the device
 * goes, uverbs_disassociate_api_pre() waits for these copies. User memory that never responds
 * therefore blocks the removal, and this file cannot prevent it. /dev/krdma does not wait in
 * this way.
 */
struct ri_udata *kal_ib_udata_get(struct ib_udata *from, struct ri_udata *udata)
{
	if (!from)
		return NULL;
	if (kal_udata_get(udata, from->inbuf, from->inlen, from->outlen))
		return ERR_PTR(-EFAULT);
	return udata;
}

int kal_ib_udata_put(const struct ib_udata *to, const struct ri_udata *udata)
{
	return udata ? kal_udata_put(udata, to->outbuf) : 0;
}

/* The entry holds a reference to the memory, because mmap() may run while the memory is freed. */
struct kal_ib_mmap_entry {
	struct rdma_user_mmap_entry base;
	struct ri_shmem *shm;
};

static struct kal_ib_mmap_entry *kal_ib_to_entry(struct rdma_user_mmap_entry *base)
{
	return container_of(base, struct kal_ib_mmap_entry, base);
}

static int kal_ib_shm_insert(struct ri_ucontext *uctx, struct ri_shmem *shm)
{
	struct ib_ucontext *base = uctx->consumer;
	struct kal_ib_mmap_entry *entry;
	int ret;

	entry = kzalloc(sizeof(*entry), GFP_KERNEL_ACCOUNT);
	if (!entry)
		return -ENOMEM;
	entry->shm = shm;
	kal_shmem_get(shm);
	/* offset 0 is not used, because it means that there is no mapping */
	ret = rdma_user_mmap_entry_insert_range(base, &entry->base, shm->size,
						1, U32_MAX);
	if (ret) {
		kal_shmem_put(shm);
		kfree(entry);
		return ret;
	}
	shm->consumer = entry;
	shm->offset = rdma_user_mmap_get_offset(&entry->base);
	return 0;
}

static void kal_ib_shm_remove(struct ri_ucontext *uctx, struct ri_shmem *shm)
{
	struct kal_ib_mmap_entry *entry = shm->consumer;

	rdma_user_mmap_entry_remove(&entry->base);
}

static const struct ri_shmem_ops kal_ib_shm_ops = {
	.insert = kal_ib_shm_insert,
	.remove = kal_ib_shm_remove,
};

static void kal_ib_mmap_free(struct rdma_user_mmap_entry *base)
{
	struct kal_ib_mmap_entry *entry = kal_ib_to_entry(base);

	kal_shmem_put(entry->shm);
	kfree(entry);
}

static int kal_ib_mmap(struct ib_ucontext *ctx, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *base;
	int ret;

	/* checks the offset and the length */
	base = rdma_user_mmap_entry_get(ctx, vma);
	if (!base)
		return -EINVAL;
	ret = kal_shmem_mmap(kal_ib_to_entry(base)->shm, vma);
	rdma_user_mmap_entry_put(base);
	return ret;
}

/*
 * When the creation of a context fails, ib_core frees the context but not the data that it
 * recorded in it. Of its two callers, UVERBS_METHOD_GET_CONTEXT keeps the reference to the
 * task (docs/kernel-bugs.md).
 *
 * No suitable function of ib_core exists:
 *
 * - rdma_restrack_put() would drop the task and the entry. The other caller,
 *   ib_uverbs_get_context(), then puts the entry a second time.
 * - rdma_restrack_del() does the same as this function for an entry that was not added, but it
 *   is not declared outside ib_core.
 *
 * The call cannot be changed to one that does not fail, because it answers the process with a
 * copy that may fail.
 */
static void kal_ib_forget_task(struct ib_ucontext *base)
{
	if (base->res.task)
		put_task_struct(base->res.task);
	base->res.task = NULL;
}

static int kal_ib_alloc_ucontext(struct ib_ucontext *base,
				 struct ib_udata *udata)
{
	struct kal_ib_ucontext *ctx = to_kal_ib_ucontext(base);
	struct kal_ib_device *dev = to_kal_ib_device(base->device);
	struct ri_udata buf, *priv = kal_ib_udata_get(udata, &buf);
	struct ri_ucontext *uctx;

	uctx = IS_ERR(priv) ? ERR_CAST(priv) :
			      kal_ucontext_alloc(dev->rnic, &kal_ib_shm_ops, base, priv);
	if (!IS_ERR(uctx) && kal_ib_udata_put(udata, priv)) {
		kal_ucontext_dealloc(uctx);
		uctx = ERR_PTR(-EFAULT);
	}
	if (IS_ERR(uctx)) {
		kal_ib_forget_task(base);
		return PTR_ERR(uctx);
	}
	ctx->uctx = uctx;
	return 0;
}

static void kal_ib_dealloc_ucontext(struct ib_ucontext *base)
{
	kal_ucontext_dealloc(to_kal_ib_ucontext(base)->uctx);
}

static int kal_ib_query_ucontext(struct ib_ucontext *base,
				 struct uverbs_attr_bundle *attrs)
{
	struct ri_ucontext *uctx = to_kal_ib_ucontext(base)->uctx;
	u8 answer[RI_UCONTEXT_ANSWER] __aligned(8) = {};
	int n;

	if (!uctx->obj.rnic->ops->ucontext_query)
		return -EOPNOTSUPP;
	if (!uverbs_attr_is_valid(attrs, KRDMA_IB_ATTR_QUERY_CONTEXT_ANSWER))
		return 0;
	n = uctx->obj.rnic->ops->ucontext_query(uctx, answer);
	return uverbs_copy_to_struct_or_zero(attrs,
					     KRDMA_IB_ATTR_QUERY_CONTEXT_ANSWER,
					     answer, n);
}

/* ib_core looks up the handle, which is all that the method needs. */
static int UVERBS_HANDLER(KRDMA_IB_METHOD_PD_QUERY)(struct uverbs_attr_bundle *attrs)
{
	return 0;
}

DECLARE_UVERBS_NAMED_METHOD(KRDMA_IB_METHOD_PD_QUERY,
			    UVERBS_ATTR_IDR(KRDMA_IB_ATTR_PD_QUERY_HANDLE,
					    UVERBS_OBJECT_PD,
					    UVERBS_ACCESS_READ, UA_MANDATORY));

ADD_UVERBS_METHODS(kal_ib_pd_methods, UVERBS_OBJECT_PD,
		   &UVERBS_METHOD(KRDMA_IB_METHOD_PD_QUERY));

ADD_UVERBS_ATTRIBUTES_SIMPLE(kal_ib_context_attrs, UVERBS_OBJECT_DEVICE,
			     UVERBS_METHOD_QUERY_CONTEXT,
			     UVERBS_ATTR_PTR_OUT(KRDMA_IB_ATTR_QUERY_CONTEXT_ANSWER,
						 UVERBS_ATTR_MIN_SIZE(1),
						 UA_OPTIONAL));

const struct uapi_definition kal_ib_user_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_PD, &kal_ib_pd_methods),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DEVICE, &kal_ib_context_attrs),
	{},
};

/*
 * The presence of this function allows ib_core to remove a device, or change its namespace,
 * while processes have it open. The function has nothing to do. ib_core destroys the objects
 * of the processes. Their mappings are plain memory, which is freed with the mapping.
 */
static void kal_ib_disassociate_ucontext(struct ib_ucontext *base)
{
}

const struct ib_device_ops kal_ib_user_ops = {
	.alloc_ucontext = kal_ib_alloc_ucontext,
	.dealloc_ucontext = kal_ib_dealloc_ucontext,
	.disassociate_ucontext = kal_ib_disassociate_ucontext,
	.mmap = kal_ib_mmap,
	.mmap_free = kal_ib_mmap_free,
	.query_ucontext = kal_ib_query_ucontext,

	INIT_RDMA_OBJ_SIZE(ib_ucontext, kal_ib_ucontext, base),
};
