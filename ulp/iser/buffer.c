// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Memory of a connection: buffers of PDUs, which are registered once for local use, and regions
 * for the data of SCSI commands, which fast registrations give to the target.
 */
#include <linux/slab.h>
#include <scsi/scsi_cmnd.h>
#include <scsi/scsi_host.h>

#include "kiser.h"

/* Buffers ******************************************************************* */

static int kiser_buffer_register(struct kiser_conn *kc, struct kiser_chunk *chunk)
{
	DAT_REGION_DESCRIPTION memory;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VLEN length;
	DAT_RETURN ret;

	chunk->memory = kzalloc(KISER_CHUNK, GFP_KERNEL);
	if (!chunk->memory)
		return -ENOMEM;
	memory.for_va = chunk->memory;
	ret = dat_lmr_kcreate(kc->ia, DAT_MEM_TYPE_VIRTUAL, memory, KISER_CHUNK, kc->pz,
			      DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
			      DAT_VA_TYPE_VA, DAT_MEM_OPTIMIZE_DONT_CARE, &chunk->lmr,
			      &chunk->context, &rmr_context, &length, &chunk->address);
	if (!ret)
		return 0;
	chunk->lmr = DAT_HANDLE_NULL;
	return kiser_conn_errno(ret);
}

static int kiser_buffer_fill(struct kiser_conn *kc, struct kiser_pool *pool, u32 num, u32 size)
{
	u32 i;
	int ret;

	pool->size = size;
	pool->stride = ALIGN(size, 64);
	pool->per_chunk = KISER_CHUNK / pool->stride;
	pool->num_chunks = DIV_ROUND_UP(num, pool->per_chunk);
	pool->chunks = kcalloc(pool->num_chunks, sizeof(*pool->chunks), GFP_KERNEL);
	if (!pool->chunks)
		return -ENOMEM;
	for (i = 0; i < pool->num_chunks; i++) {
		ret = kiser_buffer_register(kc, &pool->chunks[i]);
		if (ret)
			return ret;
	}
	return 0;
}

static void kiser_buffer_empty(struct kiser_pool *pool)
{
	u32 i;

	for (i = 0; pool->chunks && i < pool->num_chunks; i++) {
		if (pool->chunks[i].lmr)
			dat_lmr_free(pool->chunks[i].lmr);
		kfree(pool->chunks[i].memory);
	}
	kfree(pool->chunks);
	memset(pool, 0, sizeof(*pool));
}

void *kiser_buffer_get(const struct kiser_pool *pool, u32 index, DAT_LMR_TRIPLET *segment)
{
	const struct kiser_chunk *chunk = &pool->chunks[index / pool->per_chunk];
	u32 offset = index % pool->per_chunk * pool->stride;

	segment->virtual_address = chunk->address + offset;
	segment->segment_length = pool->size;
	segment->lmr_context = chunk->context;
	return chunk->memory + offset;
}

/* Regions ******************************************************************* */

static int kiser_buffer_alloc_regions(struct kiser_conn *kc)
{
	/* as many as the session began with, perhaps on another IA */
	DAT_COUNT pages = kc->iscsi->session->host->sg_tablesize;
	DAT_RETURN ret;
	u32 i;

	kc->regions = kvcalloc(kc->num_tasks, sizeof(*kc->regions), GFP_KERNEL);
	if (!kc->regions)
		return -ENOMEM;
	for (i = 0; i < kc->num_tasks; i++) {
		ret = dat_lmr_allocate(kc->ia, kc->pz, pages, DAT_LMR_SCOPE_PZ,
				       &kc->regions[i].lmr);
		if (ret) {
			kc->regions[i].lmr = DAT_HANDLE_NULL;
			return kiser_conn_errno(ret);
		}
	}
	return 0;
}

static void kiser_buffer_free_regions(struct kiser_conn *kc)
{
	u32 i;

	for (i = 0; kc->regions && i < kc->num_tasks; i++)
		if (kc->regions[i].lmr)
			dat_lmr_free(kc->regions[i].lmr);
	kvfree(kc->regions);
	kc->regions = NULL;
}

/**
 * kiser_buffer_map() - post the registration of a SCSI command's data
 * @kc: connection
 * @region: free region
 * @sc: command with data
 * @address: takes the address by which the target reaches the data: an offset in a page, because
 *	     the target needs no address of this host's memory
 *
 * Return: 0; -EBUSY: the region's last invalidation has not completed; -EAGAIN: the queue is full.
 * Context: any but hard interrupt.
 */
int kiser_buffer_map(struct kiser_conn *kc, struct kiser_region *region, struct scsi_cmnd *sc,
		     DAT_VADDR *address)
{
	struct sg_table table = {
		.sgl = scsi_sglist(sc),
		.nents = scsi_sg_count(sc),
		.orig_nents = scsi_sg_count(sc),
	};
	DAT_REGION_DESCRIPTION memory = { .for_platform = &table };
	u32 pages = DIV_ROUND_UP(table.sgl->offset % PAGE_SIZE + scsi_bufflen(sc), PAGE_SIZE);
	bool to_target = sc->sc_data_direction == DMA_TO_DEVICE;
	DAT_LMR_CONTEXT lmr_context;
	DAT_LMR_COOKIE none = {};
	DAT_LMR_PARAM param;
	DAT_RETURN ret;

	if (atomic_cmpxchg(&region->state, KISER_REGION_FREE, KISER_REGION_VALID) !=
	    KISER_REGION_FREE)
		return -EBUSY;
	ret = dat_lmr_fmr(region->lmr, DAT_MEM_TYPE_PLATFORM, memory, pages, to_target ?
			  DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG :
			  DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
			  DAT_VA_TYPE_ZB, kc->dat_ep, none, DAT_COMPLETION_SUPPRESS_FLAG,
			  &lmr_context, &region->context);
	if (ret) {
		atomic_set(&region->state, KISER_REGION_FREE);
		return kiser_conn_errno(ret);
	}
	ret = dat_lmr_query(region->lmr, DAT_LMR_FIELD_REGISTERED_ADDRESS, &param);
	if (ret) {
		kiser_buffer_unmap(kc, region, NULL);
		return kiser_conn_errno(ret);
	}
	*address = param.registered_address;
	return 0;
}

bool kiser_buffer_unmap(struct kiser_conn *kc, struct kiser_region *region,
			struct kiser_receive *receive)
{
	DAT_LMR_COOKIE cookie = { .as_ptr = region };
	DAT_RETURN ret;

	if (atomic_cmpxchg(&region->state, KISER_REGION_VALID, KISER_REGION_INVALIDATING) !=
	    KISER_REGION_VALID)
		return false;
	region->receive = receive;
	atomic_inc(&kc->invalidating);
	ret = dat_lmr_invalidate(region->lmr, kc->dat_ep, cookie, DAT_COMPLETION_DEFAULT_FLAG);
	/* the region ends with the connection, then */
	if (ret)
		kiser_conn_fail(kc);
	return true;
}

/* All of it ***************************************************************** */

static int kiser_buffer_alloc_receives(struct kiser_conn *kc)
{
	u32 i, small = kc->num_tasks + KISER_UNSOLICITED;
	struct kiser_receive *receive;
	int ret;

	kc->num_receives = KISER_LOGIN_BUFFERS + small;
	kc->receives = kvcalloc(kc->num_receives, sizeof(*kc->receives), GFP_KERNEL);
	if (!kc->receives)
		return -ENOMEM;
	ret = kiser_buffer_fill(kc, &kc->login, KISER_LOGIN_BUFFERS,
				sizeof(struct kiser_pdu) + ISCSI_DEF_MAX_RECV_SEG_LEN) ?:
	      kiser_buffer_fill(kc, &kc->small, small,
				sizeof(struct kiser_pdu) + KISER_RECEIVE_DATA);
	if (ret)
		return ret;
	for (i = 0; i < kc->num_receives; i++) {
		receive = &kc->receives[i];
		receive->pdu = i < KISER_LOGIN_BUFFERS ?
			kiser_buffer_get(&kc->login, i, &receive->segment) :
			kiser_buffer_get(&kc->small, i - KISER_LOGIN_BUFFERS, &receive->segment);
	}
	return 0;
}

int kiser_buffer_alloc(struct kiser_conn *kc, u32 num_tasks)
{
	kc->num_tasks = num_tasks;
	return kiser_buffer_fill(kc, &kc->sends, num_tasks,
				 sizeof(struct kiser_pdu) + KISER_IMMEDIATE) ?:
	       kiser_buffer_alloc_regions(kc) ?: kiser_buffer_alloc_receives(kc);
}

/* Nothing is posted any more. May be called for what was made in part, and twice. */
void kiser_buffer_free(struct kiser_conn *kc)
{
	kiser_buffer_free_regions(kc);
	kiser_buffer_empty(&kc->sends);
	kiser_buffer_empty(&kc->login);
	kiser_buffer_empty(&kc->small);
	kvfree(kc->receives);
	kc->receives = NULL;
}
