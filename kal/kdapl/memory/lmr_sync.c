// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Synchronisation of memory with an RNIC that reaches it by DMA: dat_lmr_sync_rdma_read() gives the
 * memory to the RNIC, dat_lmr_sync_rdma_write() to the consumer. Where the RNIC works by virtual
 * addresses, both do nothing but check the segments. And the reserved LMR.
 */
#include <linux/slab.h>

#include "lmr.h"

static struct kdat_lmr *kdat_lmr_look_up(struct kdat_ia *ia, u32 context)
{
	struct kdat_lmr *reserved, *lmr;

	if (!kdat_maps(ia->kr->rnic))
		return xa_load(&ia->lmrs, context);
	reserved = READ_ONCE(ia->reserved_lmr);
	if (reserved && context == reserved->context)
		return reserved;
	lmr = kdat_lmr_of(xa_load(&ia->stags, context >> 8));
	return lmr && READ_ONCE(lmr->is.rkey) == context ? lmr : NULL;
}

static void kdat_lmr_sync_bytes(const struct kdat_mem *mem, u64 addr, u64 len, bool write)
{
	if (write)
		kal_dma_sync_for_cpu(mem->rnic, addr, len, mem->dir);
	else
		kal_dma_sync_for_device(mem->rnic, addr, len, mem->dir);
}

/* Element @i of a fast registration, unless that has ended. Return: its bytes; 0: the end */
static u64 kdat_lmr_sync_element(struct kdat_lmr *lmr, u32 serial, u32 i, u64 begin, u64 off,
				 u64 len, bool write)
{
	const struct kdat_regs *regs = &lmr->regs;
	const struct kdat_map *map;
	u64 bytes = 0;

	scoped_guard(spinlock_irqsave, &lmr->lock) {
		map = lmr->map;
		if (map && !map->busy && i < map->mapped && regs->serial[regs->now] == serial &&
		    kdat_regs_has(regs, regs->now))
			bytes = kdat_map_sync(map, lmr->obj.ia->kr->rnic, i, begin, off, len,
					      write);
	}
	return bytes;
}

/* A fast registration. The peer may end it meanwhile. */
static void kdat_lmr_sync_fast(struct kdat_lmr *lmr, u64 off, u64 len, bool write)
{
	const u32 serial = READ_ONCE(lmr->regs.serial[READ_ONCE(lmr->regs.now)]);
	u64 begin = 0, n;
	u32 i;

	for (i = 0; begin < off + len; i++, begin += n) {
		n = kdat_lmr_sync_element(lmr, serial, i, begin, off, len, write);
		if (!n)
			break;
	}
}

static void kdat_lmr_sync_extents(const struct kdat_mem *mem, u64 off, u64 len, bool write)
{
	u32 i = kdat_mem_find(mem, off);
	u64 begin, n;

	for (; len; i++, off += n, len -= n) {
		begin = i ? mem->extents[i - 1].end : 0;
		n = min(len, mem->extents[i].end - off);
		kdat_lmr_sync_bytes(mem, mem->extents[i].addr + off - begin, n, write);
	}
}

static DAT_RETURN kdat_lmr_sync_one(struct kdat_ia *ia, const DAT_LMR_TRIPLET *segment, bool write)
{
	struct kdat_lmr *lmr = kdat_lmr_look_up(ia, segment->lmr_context);
	struct ri_rnic *rnic = ia->kr->rnic;
	u64 off;

	if (!lmr)
		return KDAT_BAD_ARG(2);
	if (lmr->kind == KDAT_LMR_RESERVED)
		return DAT_SUCCESS;
	if (!kdat_lmr_has(lmr, segment->virtual_address, segment->segment_length))
		return KDAT_BAD_ARG(2);
	off = segment->virtual_address - lmr->is.address;
	if (kal_dma_is_virtual(rnic))
		return DAT_SUCCESS;
	if (!lmr->mem)
		kdat_lmr_sync_fast(lmr, off, segment->segment_length, write);
	/* memory of DAT_MEM_TYPE_IA was mapped by the consumer */
	else if (lmr->mem->mapped)
		kdat_lmr_sync_extents(lmr->mem, off, segment->segment_length, write);
	return DAT_SUCCESS;
}

static DAT_RETURN kdat_lmr_sync_all(struct kdat_ia *ia, const DAT_LMR_TRIPLET *segments,
				    DAT_VLEN num, bool write)
{
	DAT_RETURN ret = DAT_SUCCESS;

	for (; num && ret == DAT_SUCCESS; num--, segments++)
		if (segments->segment_length)
			ret = kdat_lmr_sync_one(ia, segments, write);
	return ret;
}

static DAT_RETURN kdat_lmr_sync(DAT_IA_HANDLE ia_handle, const DAT_LMR_TRIPLET *segments,
				DAT_VLEN num, bool write)
{
	struct kdat_ia *ia = kdat_ia_of(ia_handle);
	DAT_RETURN ret;

	if (!ia)
		return KDAT_BAD_HANDLE(IA);
	if (num && !segments)
		return KDAT_BAD_ARG(2);
	if (!kdat_enter_atomic(ia))
		return KDAT_GONE;
	ret = kdat_lmr_sync_all(ia, segments, num, write);
	kdat_leave_atomic(ia);
	return ret;
}

static DAT_RETURN kdat_lmr_sync_rdma_read(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *segments,
					  DAT_VLEN num)
{
	return kdat_lmr_sync(ia, segments, num, false);
}

static DAT_RETURN kdat_lmr_sync_rdma_write(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *segments,
					   DAT_VLEN num)
{
	return kdat_lmr_sync(ia, segments, num, true);
}

/* The reserved LMR ********************************************************** */

/*
 * The segments of a reserved LMR have physical addresses. Only an RNIC that works by virtual
 * addresses can use those without a mapping.
 */
int kdat_lmr_open_ia(struct kdat_ia *ia)
{
	const struct ri_rnic *rnic = ia->kr->rnic;
	struct kdat_lmr *lmr;

	xa_init(&ia->stags);
	xa_init_flags(&ia->lmrs, XA_FLAGS_ALLOC1);
	ia->next_lmr = 1;
	INIT_DELAYED_WORK(&ia->register_work, kdat_lmr_register_work);
	ia->passes = kdat_maps(rnic);
	ia->direct = ia->passes;
	if (!(rnic->attr.limits.kernel_cap_flags & IBK_LOCAL_DMA_LKEY) || !ia->passes ||
	    !kal_dma_is_virtual(rnic))
		return 0;
	lmr = kdat_lmr_new(ia, NULL);
	if (!lmr)
		return -ENOMEM;
	lmr->kind = KDAT_LMR_RESERVED;
	lmr->is.mem_type = DAT_MEM_TYPE_PHYSICAL;
	lmr->is.priv = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	lmr->context = rnic->attr.local_dma_lkey;
	lmr->is.length = U64_MAX;
	/* it is in no list: it is not the consumer's */
	lmr->obj.provider = ia->obj.provider;
	/* from now on the handle is good */
	smp_store_release(&lmr->obj.type, KDAT_OBJ_MAGIC | DAT_HANDLE_TYPE_LMR);
	ia->reserved_context = lmr->context;
	ia->reserved_lmr = lmr;
	return 0;
}

void kdat_lmr_close_ia(struct kdat_ia *ia)
{
	struct kdat_lmr *lmr = ia->reserved_lmr;

	if (!lmr)
		return;
	WRITE_ONCE(ia->reserved_lmr, NULL);
	WRITE_ONCE(lmr->obj.type, 0);
	kfree_rcu(lmr, obj.rcu);
}

static DAT_RETURN kdat_lmr_reserved(DAT_IA_HANDLE ia_handle, DAT_LMR_HANDLE *handle,
				    DAT_LMR_CONTEXT *context)
{
	struct kdat_ia *ia = kdat_ia_of(ia_handle);

	if (!ia)
		return KDAT_BAD_HANDLE(IA);
	if (!handle)
		return KDAT_BAD_ARG(2);
	if (!context)
		return KDAT_BAD_ARG(3);
	if (!ia->reserved_lmr)
		return KDAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	*handle = ia->reserved_lmr;
	*context = ia->reserved_lmr->context;
	return DAT_SUCCESS;
}

void kdat_lmr_sync_table(DAT_PROVIDER *provider)
{
	provider->ia_reserved_lmr_func = kdat_lmr_reserved;
	provider->lmr_sync_rdma_read_func = kdat_lmr_sync_rdma_read;
	provider->lmr_sync_rdma_write_func = kdat_lmr_sync_rdma_write;
}
