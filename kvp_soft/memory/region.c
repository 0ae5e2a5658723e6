// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Memory regions: the verbs that register and deregister memory.
 */
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#include "internal.h"

static void soft_mr_publish(struct soft_mem_table *table, struct soft_mr *mr,
			    struct soft_mem *mem, enum soft_mem_state state)
{
	mr->mem = mem;
	mr->ri.stag = mem->stag;
	soft_mem_publish(table, mem, state);
}

/* ri_ops.mr_register */
int soft_mr_register(struct ri_mr *ri, const struct ri_mr_attr *attr,
		     struct ri_udata *udata)
{
	struct soft_mem_table *table = soft_mem_table(&ri->obj);
	struct soft_mr *mr = container_of(ri, struct soft_mr, ri);
	struct krdma_soft_mr_resp resp = {};
	struct soft_mem *mem;

	mem = soft_mem_alloc(table, ri->pd);
	if (IS_ERR(mem))
		return PTR_ERR(mem);
	mem->region = attr->region;
	mem->iova = attr->iova;
	mem->length = attr->length;
	mem->access = attr->access & SOFT_MR_RIGHTS;

	resp.stag = mem->stag;
	if (udata)
		ri_udata_answer(udata, &resp, sizeof(resp));
	soft_mr_publish(table, mr, mem, SOFT_MEM_VALID);
	return 0;
}

/* ri_ops.mr_register_dma: kernel consumers name memory by virtual address */
int soft_mr_register_dma(struct ri_mr *ri, int access)
{
	struct soft_mem_table *table = soft_mem_table(&ri->obj);
	struct soft_mr *mr = container_of(ri, struct soft_mr, ri);
	struct soft_mem *mem;

	/* remote access to all memory must not be granted */
	if (access & ~IB_ACCESS_LOCAL_WRITE || !ri_pd_is_kernels(ri->pd))
		return -EINVAL;
	mem = soft_mem_alloc(table, ri->pd);
	if (IS_ERR(mem))
		return PTR_ERR(mem);
	mem->length = U64_MAX;
	mem->access = access;
	soft_mr_publish(table, mr, mem, SOFT_MEM_VALID);
	return 0;
}

/* ri_ops.mr_alloc: the STag names nothing until soft_mem_fast_reg() or soft_mr_map() */
int soft_mr_alloc(struct ri_mr *ri)
{
	struct soft_mem_table *table = soft_mem_table(&ri->obj);
	struct soft_mr *mr = container_of(ri, struct soft_mr, ri);
	struct soft_mem *mem;

	mem = soft_mem_alloc(table, ri->pd);
	if (IS_ERR(mem))
		return PTR_ERR(mem);
	mem->mr = ri;
	mem->pages = kvcalloc(ri->list.max, sizeof(*mem->pages),
			      GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (ri->list.ends)
		mem->ends = kvcalloc(ri->list.max, sizeof(*mem->ends),
				     GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!mem->pages || (ri->list.ends && !mem->ends)) {
		soft_mem_free(table, mem);
		return -ENOMEM;
	}
	soft_mr_publish(table, mr, mem, SOFT_MEM_FREE);
	return 0;
}

/* ri_ops.mr_deregister: waits for accesses in progress, which are short */
int soft_mr_deregister(struct ri_mr *ri)
{
	struct soft_mr *mr = container_of(ri, struct soft_mr, ri);

	if (!soft_mem_owner_no_windows(mr->mem))
		return -EBUSY;
	soft_mem_free(soft_mem_table(&ri->obj), mr->mem);
	mr->mem = NULL;
	return 0;
}

/* The same index with the next key. */
static u32 soft_mr_next_stag(u32 stag)
{
	return (stag & ~0xffU) | (u8)(stag + 1);
}

/*
 * ri_ops.mr_reregister: changes the region in place. The index of the STag stays. With other
 * memory or another protection domain the key is new, so the old STag is not valid any more.
 * Waits for accesses in progress, which are short.
 */
int soft_mr_reregister(struct ri_mr *ri, int flags,
		       const struct ri_mr_attr *attr, struct ri_pd *pd)
{
	struct soft_mem *mem = container_of(ri, struct soft_mr, ri)->mem;
	bool ended;

	if (!soft_mem_owner_no_windows(mem))
		return -EBUSY;
	ended = soft_mem_own(mem);
	if (!ended || flags & (IB_MR_REREG_TRANS | IB_MR_REREG_PD))
		mem->stag = soft_mr_next_stag(mem->stag);
	mem->pd = pd;
	mem->region = attr->region;
	mem->iova = attr->iova;
	mem->length = attr->length;
	mem->access = attr->access & SOFT_MR_RIGHTS;
	ri->stag = mem->stag;
	atomic_set_release(&mem->state, SOFT_MEM_VALID);
	soft_mem_allow_windows(mem);
	return 0;
}

/**
 * soft_mem_init() - make an RNIC's table of STags, with the local DMA lkey of kernel consumers
 * @rnic: not registered yet
 * Return: 0 or -ENOMEM. Context: may sleep.
 */
int soft_mem_init(struct soft_rnic *rnic)
{
	struct soft_mem_table *table;
	struct soft_mem *mem;

	table = kzalloc(sizeof(*table), GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	xa_init_flags(&table->mems, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	table->next = get_random_u32_below(1U << 24);
	mem = soft_mem_alloc(table, NULL);
	if (IS_ERR(mem)) {
		xa_destroy(&table->mems);
		kfree(table);
		return PTR_ERR(mem);
	}
	mem->length = U64_MAX;
	mem->access = IB_ACCESS_LOCAL_WRITE;
	soft_mem_publish(table, mem, SOFT_MEM_VALID);
	table->all = mem;
	rnic->mems = table;
	return 0;
}

/** soft_mem_exit() - free the table of STags; all regions were freed */
void soft_mem_exit(struct soft_rnic *rnic)
{
	struct soft_mem_table *table = rnic->mems;

	soft_mem_free(table, table->all);
	xa_destroy(&table->mems);
	kfree(table);
	rnic->mems = NULL;
}
