/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * kDAPL: memory regions and windows.
 *
 * - lmr_mem.c: from the consumer's description of memory to addresses for the RNIC
 * - lmr.c: LMRs of memory
 * - lmr_sync.c: their synchronisation; the reserved LMR
 * - lmr_local.c: LMRs of RNICs that do not name memory at once; translation of segments
 * - lmr_fast.c: LMRs for fast registrations; completions
 * - lmr_state.c: states of registrations by work requests
 * - lmr_map.c: their mappings for DMA
 * - rmr.c: RMRs
 * - memory.c: both as objects of the base
 */
#ifndef KDAT_LMR_H
#define KDAT_LMR_H

#include <linux/io.h>

#include "lmr_map.h"
#include "lmr_state.h"
#include "memory.h"

/* for the operations of both types */
void kdat_lmr_destroy(struct kdat_lmr *lmr);
void kdat_lmr_drop(struct kdat_lmr *lmr);
void kdat_rmr_destroy(struct kdat_rmr *rmr);
void kdat_rmr_drop(struct kdat_rmr *rmr);
/*
 * A fast registration, invalidation or bind has completed, or never will because its queue pair is
 * destroyed: the use of @dto->object ends. The peer has invalidated @stag, or a Read did: the LMR
 * or RMR is unbound. Any context.
 */
void kdat_lmr_completed(struct kdat_dto *dto, enum ib_wc_status status);
void kdat_lmr_invalidated(struct kdat_ep *ep, u32 stag);

/**
 * enum kdat_lmr_kind - how an LMR names its memory
 * @KDAT_LMR_STAG: a region of the RNIC: the context is its STag
 * @KDAT_LMR_LOCAL: local use through the RNIC's STag of all kernel memory; the context names the
 *	LMR in kDAPL alone, and kdat_lmr_translate() checks
 * @KDAT_LMR_RESERVED: dat_ia_reserved_lmr()
 * @KDAT_LMR_FAST: dat_lmr_allocate()
 */
enum kdat_lmr_kind {
	KDAT_LMR_STAG,
	KDAT_LMR_LOCAL,
	KDAT_LMR_RESERVED,
	KDAT_LMR_FAST,
};

/**
 * struct kdat_extent - contiguous bytes of an LMR
 * @addr: address for the RNIC
 * @end: bytes from the beginning of the LMR to the end of this extent
 */
struct kdat_extent {
	u64 addr;
	u64 end;
};

/**
 * struct kdat_mem - memory, mapped for an RNIC
 * @rcu: it is read under RCU, too
 * @refs: LMRs that share it
 * @rnic: RNIC
 * @dir: in which the RNIC reaches it
 * @mapped: extents that have to be unmapped
 * @address: its address as the consumer knows it, see DAT_VA_TYPE_VA
 * @length: bytes
 * @num: extents
 * @extents: in order
 */
struct kdat_mem {
	struct rcu_head rcu;
	refcount_t refs;
	struct ri_rnic *rnic;
	enum dma_data_direction dir;
	u32 mapped;
	u64 address;
	u64 length;
	u32 num;
	struct kdat_extent extents[] __counted_by(num);
};

/**
 * struct kdat_naming - what an LMR names
 * @mem_type: the consumer's
 * @va_type: the consumer's
 * @desc: the consumer's
 * @wanted: the consumer's length
 * @priv: the consumer's
 * @address: of the first byte in segments
 * @length: bytes
 * @rkey: STag of the RNIC's region, or what it will be; 0: none
 */
struct kdat_naming {
	DAT_MEM_TYPE mem_type;
	DAT_VA_TYPE va_type;
	DAT_REGION_DESCRIPTION desc;
	u64 wanted;
	DAT_MEM_PRIV_FLAGS priv;
	u64 address;
	u64 length;
	u32 rkey;
};

/**
 * struct kdat_lmr - local memory region
 * @obj: head; kdat_obj.uses counts requests that are posted for it, and bindings of RMRs
 * @kind: see above
 * @pz: protection zone, NULL: reserved
 * @is: what it names; of a fast LMR: by the present registration. Changed under @lock.
 * @context: for local segments
 * @mem: memory, NULL: fast or reserved
 * @mr: region of the RNIC, NULL: local use only, or the RNIC was removed; of a fast LMR whose
 *	state is unknown, it changes under @lock
 * @dma: region of all memory that gives @lkey, or NULL
 * @lkey: of a local LMR: names DMA addresses
 * @max: of a fast LMR: pages that it can take
 * @ends: it is being freed: no registration is posted for it; @obj.ia->mutex
 * @bindings: of RMRs, posted or done
 * @lock: protects all below; any context
 * @regs: registrations by work requests
 * @of: what they name
 * @key: STag of the last of them
 * @reg: request of the one that is posted
 * @map: of a fast LMR: mapping of the present registration; NULL: there is no need
 * @unnamed: of a local LMR: it counts in @pz->unnamed
 * @refused: of a local LMR: the RNIC does not take the registration
 */
struct kdat_lmr {
	struct kdat_obj obj;
	enum kdat_lmr_kind kind;
	struct kdat_pz *pz;
	struct kdat_naming is;
	u32 context;
	struct kdat_mem *mem;
	struct ri_mr *mr;
	struct ri_mr *dma;
	u32 lkey;
	u32 max;
	bool ends;
	atomic_t bindings;
	spinlock_t lock;	/* protects all below */
	struct kdat_regs regs;
	struct kdat_naming of[2];
	u32 key;
	struct kal_reg_wr reg;
	struct kdat_map *map;
	bool unnamed;
	bool refused;
};

/**
 * struct kdat_rmr - remote memory region: a window
 * @obj: head; kdat_obj.uses counts binds that are posted
 * @pz: protection zone
 * @mw: window, NULL: the RNIC was removed; mw->stag is changed under @lock
 * @scope: DAT_RMR_SCOPE_PZ: type 1; DAT_RMR_SCOPE_EP: type 2
 * @lock: protects @bindings; any context
 * @bindings: struct kdat_binding, in the order of posting: the one that holds, if any, and those
 *	that are posted
 */
struct kdat_rmr {
	struct kdat_obj obj;
	struct kdat_pz *pz;
	struct ri_mw *mw;
	DAT_RMR_SCOPE scope;
	spinlock_t lock;	/* protects bindings */
	struct list_head bindings;
};

/* Does the RNIC name memory at once? Then the STag is the context of an LMR. */
static inline bool kdat_maps(const struct ri_rnic *rnic)
{
	return rnic->ops->mr_map && rnic->attr.caps & RI_CAP_SG_GAPS;
}

static inline int kdat_lmr_too_many(DAT_RETURN *error)
{
	*error = KDAT_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION);
	return -E2BIG;
}

/* Is @context that of the LMR for physical addresses? */
static inline bool kdat_lmr_is_reserved(const struct kdat_ia *ia, DAT_LMR_CONTEXT context)
{
	const struct kdat_lmr *reserved = READ_ONCE(ia->reserved_lmr);

	return reserved && reserved->context == context;
}

/*
 * The element of a segment by the RNIC's STag, of an IA that passes those on.
 * Return: 1, or a negative number and @error.
 */
static inline int kdat_lmr_pass(const struct kdat_ia *ia, const DAT_LMR_TRIPLET *seg,
				struct ib_sge *sge, u32 max, DAT_RETURN *error)
{
	if (unlikely(!max))
		return kdat_lmr_too_many(error);
	sge->addr = seg->virtual_address;
	sge->length = seg->segment_length;
	sge->lkey = seg->lmr_context;
	if (unlikely(kdat_lmr_is_reserved(ia, seg->lmr_context)))
		sge->addr = (uintptr_t)phys_to_virt(seg->virtual_address);
	return 1;
}

/* privileges of a peer */
#define KDAT_LMR_REMOTE		(DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG | \
				 (u32)DAT_IB_MEM_PRIV_REMOTE_ATOMIC)

/* May a peer be told of the STag? A local LMR has a region without rights for it, too. */
static inline bool kdat_lmr_for_peer(const struct kdat_lmr *lmr)
{
	return lmr->kind != KDAT_LMR_LOCAL || lmr->is.priv & KDAT_LMR_REMOTE;
}

/* lmr_mem.c */
/*
 * Describe and map the memory of all types but LMR. Return: it, or an ERR_PTR:
 * -EINVAL: the description is wrong; -ENOMEM; -EIO: the mapping failed. May sleep.
 */
struct kdat_mem *kdat_mem_make(struct ri_rnic *rnic, const struct kdat_naming *is);
void kdat_mem_unmap(struct kdat_mem *mem);
void kdat_mem_put(struct kdat_mem *mem);	/* NULL is fine */
/* the extent that has the byte at @off, which is less than mem->length */
u32 kdat_mem_find(const struct kdat_mem *mem, u64 off);
/* is @page_size one that pages of an LMR may have? */
bool kdat_mem_page_size_ok(u64 page_size);
/* may the RNIC be given the memory at @pa? */
bool kdat_mem_page_ok(DAT_PADDR pa, u64 page_size);

/* lmr.c */
struct kdat_lmr *kdat_lmr_new(struct kdat_ia *ia, struct kdat_pz *pz);
int kdat_lmr_access(const struct ri_rnic *rnic, DAT_MEM_PRIV_FLAGS priv);
bool kdat_lmr_priv_ok(DAT_MEM_PRIV_FLAGS priv);
/* How does the RNIC reach memory of these privileges? @long_term: the consumer synchronises it. */
enum dma_data_direction kdat_lmr_direction(DAT_MEM_PRIV_FLAGS priv, bool long_term);
DAT_RETURN kdat_lmr_error(int err);
/* Put @lmr into the tables; it is ready. May sleep. */
int kdat_lmr_publish(struct kdat_lmr *lmr);
static inline bool kdat_lmr_has(const struct kdat_lmr *lmr, u64 addr, u64 len)
{
	return addr >= lmr->is.address && addr - lmr->is.address <= lmr->is.length &&
	       len <= lmr->is.length - (addr - lmr->is.address);
}

/* lmr_fast.c: dat_lmr_allocate() and others */
/*
 * Something has happened to a registration; @serial is its number. Its memory is unmapped before
 * this returns, if it has ended. Any context.
 */
void kdat_lmr_event(struct kdat_lmr *lmr, u32 serial, enum kdat_reg_event event);
/* The RNIC does not know the LMR any more. */
void kdat_lmr_fast_end(struct kdat_lmr *lmr);
/*
 * Give those LMRs whose state is unknown another region of the RNIC. Return: false: there is no
 * memory, or the RNIC has no region left. ia->mutex and the RNIC are held. May sleep.
 */
bool kdat_lmr_renew(struct kdat_ia *ia);
void kdat_lmr_fast_table(DAT_PROVIDER *provider);

/* lmr_local.c */
/*
 * Find the STag of a new LMR for local use, and make the region, if the peer has rights or the
 * memory is scattered.
 */
DAT_RETURN kdat_lmr_local_make(struct kdat_lmr *lmr);
/* Count whether the LMR still waits for its registration; lmr->lock held. */
void kdat_lmr_local_count(struct kdat_lmr *lmr, bool ends);
/* Post the registrations that wait, later. Any context. */
void kdat_lmr_local_kick(struct kdat_ia *ia);
void kdat_lmr_register_work(struct work_struct *work);
int kdat_lmr_wq_init(void);
void kdat_lmr_wq_exit(void);
/*
 * Post the registration of a new LMR on an endpoint that is connected, if there are any. The RNIC
 * is held.
 */
DAT_RETURN kdat_lmr_pending(struct kdat_lmr *lmr);
/* Wait a while for the completion of that registration. The RNIC is held. May sleep. */
void kdat_lmr_settle(struct kdat_lmr *lmr);
/*
 * The LMR is to be freed: post no registration for it, and wait for one that was. The RNIC is held.
 * Undone by kdat_lmr_local_resume(). May sleep.
 */
void kdat_lmr_local_stop(struct kdat_lmr *lmr);
void kdat_lmr_local_resume(struct kdat_lmr *lmr);

/* rmr.c */
void kdat_rmr_completed(struct kdat_rmr *rmr, struct kdat_dto *dto, bool success);
void kdat_rmr_invalidated(struct kdat_rmr *rmr, u32 stag);

/* lmr_sync.c */
void kdat_lmr_sync_table(DAT_PROVIDER *provider);

/* in kdat_obj.uses: no use of the object can begin, because it is being freed */
#define KDAT_LMR_ENDS	(INT_MIN / 2)

#endif /* KDAT_LMR_H */
