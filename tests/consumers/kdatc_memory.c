// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Checks of kDAPL's conformance test: memory regions of all types, fast registration, windows. */
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "kdatc.h"

static struct kdatc_side *const client = &kdatc_bed.client[0];
static struct kdatc_side *const server = &kdatc_bed.server[0];

/* Pages ********************************************************************* */

#define KDATC_PAGES	4
#define KDATC_BYTES	(KDATC_PAGES * PAGE_SIZE)

/**
 * struct kdatc_memory_area - pages, and what takes their place in a region
 * @block: physically contiguous pages
 * @pages: the pages in the order of the region
 * @va: mapping of @pages
 * @phys: their physical addresses
 * @units: physical addresses of pairs of pages, for variable pages
 * @sgt: scatter list of @pages
 */
struct kdatc_memory_area {
	struct page *block;
	struct page *pages[KDATC_PAGES];
	u8 *va;
	DAT_PADDR phys[KDATC_PAGES];
	DAT_PADDR units[KDATC_PAGES / 2];
	struct sg_table sgt;
};

static struct kdatc_memory_area kdatc_memory_area;

/* @order: indices of the block's pages */
static bool kdatc_memory_open(const unsigned int *order)
{
	struct kdatc_memory_area *area = &kdatc_memory_area;
	unsigned int i;

	memset(area, 0, sizeof(*area));
	area->block = alloc_pages(GFP_KERNEL | __GFP_ZERO, get_order(KDATC_BYTES));
	if (!KDATC_EXPECT(area->block))
		return false;
	for (i = 0; i < KDATC_PAGES; i++) {
		area->pages[i] = area->block + order[i];
		area->phys[i] = page_to_phys(area->pages[i]);
		if (i % 2 == 0)
			area->units[i / 2] = area->phys[i];
	}
	area->va = vmap(area->pages, KDATC_PAGES, VM_MAP, PAGE_KERNEL);
	return KDATC_EXPECT(area->va) &&
	       KDATC_EXPECT(!sg_alloc_table_from_pages(&area->sgt, area->pages, KDATC_PAGES, 0,
						       KDATC_BYTES, GFP_KERNEL));
}

static void kdatc_memory_close(void)
{
	struct kdatc_memory_area *area = &kdatc_memory_area;

	if (area->sgt.sgl)
		sg_free_table(&area->sgt);
	vunmap(area->va);
	if (area->block)
		__free_pages(area->block, get_order(KDATC_BYTES));
}

/* pages back to front, pairs of pages back to front, and as they are */
static const unsigned int kdatc_memory_reversed[] = { 3, 2, 1, 0 };
static const unsigned int kdatc_memory_pairs[] = { 2, 3, 0, 1 };
static const unsigned int kdatc_memory_straight[] = { 0, 1, 2, 3 };

/* LMRs ********************************************************************** */

/* Reads and writes by the peer, and local use in both directions */
static void kdatc_memory_works(const struct kdatc_mem *mem)
{
	DAT_RMR_TRIPLET far = kdatc_far(mem, 100, 9000);
	DAT_LMR_TRIPLET near = kdatc_near(mem, 5000, 6000);

	kdatc_fill(&client->mem, 11);
	KDATC_OK(kdatc_write(client, 1, 0, 9000, &far, 0));
	KDATC_EXPECT(kdatc_done(client->request, client->ep, 1, DAT_DTO_RDMA_WRITE, 9000));
	if (!kdatc_sync(client, server))
		return;
	KDATC_EXPECT(kdatc_is(mem, 100, 9000, 11, 0));
	KDATC_EXPECT(!mem->va[99] && !mem->va[9100]);
	kdatc_fill(&client->mem, 0);
	KDATC_OK(kdatc_read(client, 2, 7, 9000, &far, 0));
	KDATC_EXPECT(kdatc_done(client->request, client->ep, 2, DAT_DTO_RDMA_READ, 9000));
	KDATC_EXPECT(kdatc_is(&client->mem, 7, 9000, 11, 0));
	/* local use */
	kdatc_fill(&client->mem, 23);
	KDATC_OK(dat_ep_post_recv(server->ep, 1, &near, kdatc_cookie(3), 0));
	KDATC_OK(kdatc_send(client, 4, 0, 6000, 0));
	KDATC_EXPECT(kdatc_done(client->request, client->ep, 4, DAT_DTO_SEND, 6000));
	KDATC_EXPECT(kdatc_done(server->recv, server->ep, 3, DAT_DTO_RECEIVE, 6000));
	KDATC_EXPECT(kdatc_is(mem, 5000, 6000, 23, 0));
	kdatc_fill(&client->mem, 0);
	KDATC_OK(kdatc_recv(client, 5, 0, 6000));
	KDATC_OK(dat_ep_post_send(server->ep, 1, &near, kdatc_cookie(6), 0));
	KDATC_EXPECT(kdatc_done(server->request, server->ep, 6, DAT_DTO_SEND, 6000));
	KDATC_EXPECT(kdatc_done(client->recv, client->ep, 5, DAT_DTO_RECEIVE, 6000));
	KDATC_EXPECT(kdatc_is(&client->mem, 0, 6000, 23, 0));
}

static void kdatc_memory_query(const struct kdatc_mem *mem, DAT_MEM_TYPE type, DAT_VA_TYPE va_type)
{
	DAT_LMR_PARAM param = {};

	KDATC_OK(dat_lmr_query(mem->lmr, DAT_LMR_FIELD_ALL, &param));
	KDATC_EXPECT(param.ia_handle == kdatc_bed.ia && param.pz_handle == server->pz);
	KDATC_EXPECT(param.mem_type == type && param.va_type == va_type);
	KDATC_EXPECT(param.mem_priv == KDATC_ALL);
	KDATC_EXPECT(param.lmr_context == mem->lmr_context &&
		     param.rmr_context == mem->rmr_context);
	KDATC_EXPECT(param.registered_size >= mem->size);
	KDATC_EXPECT(param.registered_address <= mem->base);
	KDATC_EXPECT(param.lmr_state.bound == DAT_FALSE &&
		     param.lmr_state.fmr_support == DAT_FALSE);
	KDATC_REFUSED(dat_lmr_query(mem->lmr, 0x8000, &param), DAT_INVALID_PARAMETER,
		      DAT_INVALID_ARG2);
	KDATC_REFUSED(dat_lmr_query(mem->lmr, DAT_LMR_FIELD_ALL, NULL), DAT_INVALID_PARAMETER,
		      DAT_INVALID_ARG3);
}

/* A region of the area, with @units: bytes or pages */
static void kdatc_memory_region(DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region, DAT_VLEN units,
				DAT_VA_TYPE va_type)
{
	struct kdatc_mem mem = { .va = kdatc_memory_area.va, .size = KDATC_BYTES };
	DAT_VADDR start = 0;
	DAT_VLEN len = 0;

	memset(mem.va, 0, mem.size);
	if (!KDATC_OK(dat_lmr_kcreate(kdatc_bed.ia, type, region, units, server->pz, KDATC_ALL,
				      va_type, DAT_MEM_OPTIMIZE_DONT_CARE, &mem.lmr,
				      &mem.lmr_context, &mem.rmr_context, &len, &start)))
		return;
	KDATC_EXPECT(len >= mem.size);
	if (va_type == DAT_VA_TYPE_VA)
		mem.base = type == DAT_MEM_TYPE_VIRTUAL ? (uintptr_t)mem.va : start;
	KDATC_EXPECT(start <= mem.base);
	kdatc_memory_query(&mem, type, va_type);
	kdatc_memory_works(&mem);
	KDATC_OK(dat_lmr_free(mem.lmr));
}

/* Both address types, before and after the connection */
static void kdatc_memory_type(DAT_MEM_TYPE type, const unsigned int *order)
{
	struct kdatc_memory_area *area = &kdatc_memory_area;
	DAT_REGION_DESCRIPTION region = {};
	DAT_VLEN units = KDATC_BYTES;

	if (!kdatc_memory_open(order) || !kdatc_pair_open(0, NULL, NULL))
		goto out;
	switch (type) {
	case DAT_MEM_TYPE_VIRTUAL:
		region.for_va = area->va;
		break;
	case DAT_MEM_TYPE_PHYSICAL:
		region.for_physical = area->phys;
		units = KDATC_PAGES;
		break;
	case DAT_MEM_TYPE_PHYSICAL_VAR_PAGES:
		region.for_array.page_size = 2 * PAGE_SIZE;
		region.for_array.pages = area->units;
		units = KDATC_PAGES / 2;
		break;
	case DAT_MEM_TYPE_PLATFORM:
		region.for_platform = &area->sgt;
		break;
	default:
		/* an IA that needs no synchronisation works by kernel addresses */
		region.for_ia = kdatc.provider.lmr_sync_req ? area->phys[0] :
							      (uintptr_t)page_address(area->block);
		break;
	}
	kdatc_memory_region(type, region, units, DAT_VA_TYPE_VA);
	if (kdatc.attr.zb_supported)
		kdatc_memory_region(type, region, units, DAT_VA_TYPE_ZB);
out:
	kdatc_memory_close();
}

static void kdatc_memory_virtual(void)
{
	kdatc_memory_type(DAT_MEM_TYPE_VIRTUAL, kdatc_memory_reversed);
}

static void kdatc_memory_physical(void)
{
	kdatc_memory_type(DAT_MEM_TYPE_PHYSICAL, kdatc_memory_reversed);
}

static void kdatc_memory_var_pages(void)
{
	kdatc_memory_type(DAT_MEM_TYPE_PHYSICAL_VAR_PAGES, kdatc_memory_pairs);
}

static void kdatc_memory_platform(void)
{
	kdatc_memory_type(DAT_MEM_TYPE_PLATFORM, kdatc_memory_reversed);
}

static void kdatc_memory_ia(void)
{
	kdatc_memory_type(DAT_MEM_TYPE_IA, kdatc_memory_straight);
}

/* The same memory again, with fewer rights; either is freed first. */
static void kdatc_memory_lmr(void)
{
	DAT_REGION_DESCRIPTION region = {};
	struct kdatc_mem again;
	DAT_VADDR start = 0;
	DAT_VLEN len = 0;

	if (!kdatc_pair_open(0, NULL, NULL))
		return;
	again = server->mem;
	region.for_lmr_handle = server->mem.lmr;
	if (!KDATC_OK(dat_lmr_kcreate(kdatc_bed.ia, DAT_MEM_TYPE_LMR, region, KDATC_SIZE,
				      server->pz, KDATC_ALL, DAT_VA_TYPE_VA,
				      DAT_MEM_OPTIMIZE_DONT_CARE, &again.lmr, &again.lmr_context,
				      &again.rmr_context, &len, &start)))
		return;
	KDATC_EXPECT(again.lmr != server->mem.lmr && len >= KDATC_SIZE);
	KDATC_OK(dat_lmr_free(server->mem.lmr));
	server->mem.lmr = again.lmr;
	server->mem.lmr_context = again.lmr_context;
	server->mem.rmr_context = again.rmr_context;
	kdatc_fill(&server->mem, 0);
	kdatc_memory_works(&server->mem);
}

#define KDATC_LMRS	(3 * KDATC_QUEUE)

/*
 * More LMRs than an endpoint has requests, all made before the connection: the peer writes into
 * each as soon as it is connected.
 */
static void kdatc_memory_many(void)
{
	struct kdatc_mem *mem = kcalloc(KDATC_LMRS, sizeof(*mem), GFP_KERNEL);
	DAT_RMR_TRIPLET far;
	unsigned int i;

	if (!KDATC_EXPECT(mem) || !kdatc_side_open(client, NULL) || !kdatc_side_open(server, NULL))
		goto out;
	for (i = 0; i < KDATC_LMRS; i++)
		if (!KDATC_EXPECT(kdatc_mem_open(&mem[i], 512)) ||
		    !kdatc_mem_register(&mem[i], server->pz, KDATC_ALL, DAT_VA_TYPE_VA))
			goto out;
	if (!kdatc_sides_connect(client, server))
		goto out;
	kdatc_fill(&client->mem, 21);
	for (i = 0; i < KDATC_LMRS; i++) {
		far = kdatc_far(&mem[i], 0, 512);
		KDATC_OK(kdatc_write(client, i, 16 * i, 512, &far, 0));
		KDATC_EXPECT(kdatc_done(client->request, client->ep, i, DAT_DTO_RDMA_WRITE, 512));
	}
	if (kdatc_sync(client, server))
		for (i = 0; i < KDATC_LMRS; i++)
			KDATC_EXPECT(kdatc_is(&mem[i], 0, 512, 21, 16 * i));
out:
	for (i = 0; mem && i < KDATC_LMRS; i++)
		kdatc_mem_close(&mem[i]);
	kfree(mem);
}

static void kdatc_memory_hint(void)
{
	DAT_VADDR align = 0;
	DAT_VLEN len = 0;

	KDATC_OK(dat_ia_memtype_hint(kdatc_bed.ia, DAT_MEM_TYPE_VIRTUAL, 10000,
				     DAT_MEM_OPTIMIZE_DONT_CARE, &len, &align));
	KDATC_EXPECT(len && align && !(align & (align - 1)));
	KDATC_REFUSED(dat_ia_memtype_hint(kdatc_bed.ia, 0x8000, 10000, DAT_MEM_OPTIMIZE_DONT_CARE,
					  &len, &align), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	KDATC_REFUSED(dat_ia_memtype_hint(kdatc_bed.ia, DAT_MEM_TYPE_VIRTUAL, 10000, 0x80, &len,
					  &align), DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
}

/* All of kernel memory by physical addresses, for local use */
static void kdatc_memory_reserved(void)
{
	DAT_LMR_CONTEXT context = ~0U;
	DAT_LMR_HANDLE lmr = NULL;
	DAT_LMR_TRIPLET triplet;
	DAT_RETURN ret;

	ret = dat_ia_reserved_lmr(kdatc_bed.ia, &lmr, &context);
	if (DAT_GET_TYPE(ret) == DAT_MODEL_NOT_SUPPORTED) {
		KDATC_MISSING(!kdatc.attr.reserved_lmr_supported, ret);
		return;
	}
	KDATC_EXPECT(ret == DAT_SUCCESS && lmr && kdatc.attr.reserved_lmr_supported);
	KDATC_TYPE(dat_lmr_free(lmr), DAT_RESERVED_LMR);
	if (!kdatc_pair_open(0, NULL, NULL))
		return;
	kdatc_fill(&client->mem, 33);
	triplet = (DAT_LMR_TRIPLET) {
		.virtual_address = virt_to_phys(client->mem.va),
		.segment_length = 3000,
		.lmr_context = context,
	};
	KDATC_OK(kdatc_recv(server, 1, 0, 3000));
	KDATC_OK(dat_ep_post_send(client->ep, 1, &triplet, kdatc_cookie(2), 0));
	KDATC_EXPECT(kdatc_done(client->request, client->ep, 2, DAT_DTO_SEND, 3000));
	KDATC_EXPECT(kdatc_done(server->recv, server->ep, 1, DAT_DTO_RECEIVE, 3000));
	KDATC_EXPECT(kdatc_is(&server->mem, 0, 3000, 33, 0));
	KDATC_TYPE(dat_lmr_invalidate(lmr, client->ep, kdatc_cookie(3), 0), DAT_RESERVED_LMR);
}

/* Bounds and rights ********************************************************* */

/* The peer refuses: no byte moves, and the connection ends with iWARP. */
static void kdatc_memory_peer_refuses(bool read, const DAT_RMR_TRIPLET *far)
{
	const DAT_DTOS op = read ? DAT_DTO_RDMA_READ : DAT_DTO_RDMA_WRITE;
	const u32 len = far->segment_length;
	DAT_EVENT_NUMBER number = 0;
	int status;

	kdatc_fill(&client->mem, read ? 0 : 45);
	kdatc_fill(&server->mem, read ? 46 : 0);
	KDATC_OK(read ? kdatc_read(client, 1, 0, len, far, 0) :
			kdatc_write(client, 1, 0, len, far, 0));
	status = kdatc_status(client->request, client->ep, 1, op, NULL);
	if (kdatc_iwarp() && !read)
		KDATC_EXPECT(status == DAT_DTO_SUCCESS || status == DAT_DTO_ERR_REMOTE_ACCESS ||
			     status == DAT_DTO_ERR_FLUSHED);
	else
		KDATC_EXPECT(status == DAT_DTO_ERR_REMOTE_ACCESS ||
			     (kdatc_iwarp() && status == DAT_DTO_ERR_FLUSHED));
	if (status < 0)
		return;
	if (kdatc_iwarp()) {
		KDATC_EXPECT(kdatc_ends(client, &number));
		KDATC_EXPECT(number == DAT_CONNECTION_EVENT_BROKEN);
		KDATC_EXPECT(kdatc_ends(server, NULL));
		KDATC_EXPECT(kdatc_state(client->ep) == DAT_EP_STATE_DISCONNECTED);
		KDATC_EXPECT(kdatc_state(server->ep) == DAT_EP_STATE_DISCONNECTED);
	}
	KDATC_EXPECT(kdatc_is(&client->mem, 0, KDATC_SIZE, read ? 0 : 45, 0));
	KDATC_EXPECT(kdatc_is(&server->mem, 0, KDATC_SIZE, read ? 46 : 0, 0));
}

static void kdatc_memory_refused(bool read, DAT_MEM_PRIV_FLAGS priv, u64 offset, u32 key)
{
	const struct kdatc_opts opts = { .priv = priv, .va_type = DAT_VA_TYPE_ZB };
	DAT_RMR_TRIPLET far;

	if (!kdatc_pair_open(0, NULL, &opts))
		return;
	far = kdatc_far(&server->mem, 0, 64);
	far.virtual_address += offset;
	far.rmr_context ^= key;
	kdatc_memory_peer_refuses(read, &far);
}

static void kdatc_memory_write_beyond(void)
{
	kdatc_memory_refused(false, KDATC_ALL, KDATC_SIZE - 63, 0);
}

static void kdatc_memory_read_beyond(void)
{
	kdatc_memory_refused(true, KDATC_ALL, KDATC_SIZE - 63, 0);
}

static void kdatc_memory_write_before(void)
{
	kdatc_memory_refused(false, KDATC_ALL, -1ULL, 0);
}

static void kdatc_memory_wrong_key(void)
{
	kdatc_memory_refused(false, KDATC_ALL, 0, 0x55);
}

static void kdatc_memory_write_right(void)
{
	kdatc_memory_refused(false, KDATC_LOCAL | DAT_MEM_PRIV_REMOTE_READ_FLAG, 0, 0);
}

static void kdatc_memory_read_right(void)
{
	kdatc_memory_refused(true, KDATC_LOCAL | DAT_MEM_PRIV_REMOTE_WRITE_FLAG, 0, 0);
}

/* The call refuses, or the completion has the error. */
static void kdatc_memory_local_refused(DAT_RETURN ret, DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	if (ret != DAT_SUCCESS) {
		KDATC_EXPECT(DAT_GET_TYPE(ret) == DAT_PROTECTION_VIOLATION ||
			     DAT_GET_TYPE(ret) == DAT_PRIVILEGES_VIOLATION);
		return;
	}
	if (KDATC_EXPECT(kdatc_hears(evd, DAT_DTO_COMPLETION_EVENT, &event)))
		KDATC_EXPECT(event.event_data.dto_completion_event_data.status ==
			     DAT_DTO_ERR_LOCAL_PROTECTION);
}

static void kdatc_memory_local(size_t at, u32 key, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS priv,
			       bool recv)
{
	struct kdatc_mem mem = {};
	DAT_LMR_TRIPLET near;
	DAT_RETURN ret;

	if (!kdatc_pair_open(0, NULL, NULL) || !kdatc_sync(client, server) ||
	    !KDATC_EXPECT(kdatc_mem_open(&mem, 4096)))
		return;
	if (kdatc_mem_register(&mem, pz ?: client->pz, priv, DAT_VA_TYPE_VA)) {
		near = kdatc_near(&mem, at, 100);
		near.lmr_context ^= key;
		if (recv) {
			ret = dat_ep_post_recv(client->ep, 1, &near, kdatc_cookie(1), 0);
			if (ret == DAT_SUCCESS)
				KDATC_OK(kdatc_send(server, 9, 0, 100, 0));
			kdatc_memory_local_refused(ret, client->recv);
		} else {
			KDATC_OK(kdatc_recv(server, 9, 0, 100));
			ret = dat_ep_post_send(client->ep, 1, &near, kdatc_cookie(1), 0);
			kdatc_memory_local_refused(ret, client->request);
		}
		KDATC_EXPECT(kdatc_is(&mem, 0, 4096, 0, 0));
	}
	kdatc_mem_close(&mem);
}

static void kdatc_memory_local_beyond(void)
{
	kdatc_memory_local(3997, 0, NULL, KDATC_ALL, false);
}

static void kdatc_memory_local_before(void)
{
	kdatc_memory_local(-1, 0, NULL, KDATC_LOCAL, false);
}

static void kdatc_memory_local_key(void)
{
	kdatc_memory_local(0, 0x00770000, NULL, KDATC_LOCAL, false);
}

static void kdatc_memory_local_right(void)
{
	kdatc_memory_local(0, 0, NULL, DAT_MEM_PRIV_LOCAL_READ_FLAG, true);
}

static void kdatc_memory_local_pz(void)
{
	DAT_PZ_HANDLE pz = NULL;

	if (!KDATC_OK(dat_pz_create(kdatc_bed.ia, &pz)))
		return;
	kdatc_memory_local(0, 0, pz, KDATC_LOCAL, false);
	KDATC_OK(dat_pz_free(pz));
}

/* Fast registration ********************************************************* */

static bool kdatc_memory_fmr(struct kdatc_mem *mem, u64 cookie)
{
	DAT_REGION_DESCRIPTION region = { .for_physical = kdatc_memory_area.phys };

	mem->base = 0;
	return KDATC_OK(dat_lmr_fmr(mem->lmr, DAT_MEM_TYPE_PHYSICAL, region, KDATC_PAGES, KDATC_ALL,
				    DAT_VA_TYPE_ZB, server->ep, kdatc_cookie(cookie), 0,
				    &mem->lmr_context, &mem->rmr_context)) &&
	       KDATC_EXPECT(kdatc_status(server->request, server->ep, cookie, DAT_DTO_LMR_FMR,
					 NULL) == DAT_DTO_SUCCESS);
}

/* An LMR that has no memory yet */
static bool kdatc_memory_fmr_alloc(struct kdatc_mem *mem)
{
	DAT_RETURN ret;

	*mem = (struct kdatc_mem){ .size = KDATC_BYTES };
	if (!kdatc_memory_open(kdatc_memory_reversed) || !kdatc_pair_open(0, NULL, NULL))
		return false;
	mem->va = kdatc_memory_area.va;
	ret = dat_lmr_allocate(kdatc_bed.ia, server->pz, KDATC_PAGES, DAT_LMR_SCOPE_PZ, &mem->lmr);
	if (DAT_GET_TYPE(ret) == DAT_MODEL_NOT_SUPPORTED) {
		KDATC_MISSING(!kdatc.provider.fmr_supported, ret);
		return false;
	}
	return KDATC_OK(ret);
}

static bool kdatc_memory_fmr_open(struct kdatc_mem *mem)
{
	return kdatc_memory_fmr_alloc(mem) && kdatc_memory_fmr(mem, 0xf0);
}

static void kdatc_memory_fmr_close(struct kdatc_mem *mem)
{
	if (mem->lmr)
		KDATC_OK(dat_lmr_free(mem->lmr));
	kdatc_memory_close();
}

static bool kdatc_memory_invalidate(struct kdatc_mem *mem, u64 cookie)
{
	return KDATC_OK(dat_lmr_invalidate(mem->lmr, server->ep, kdatc_cookie(cookie),
					   DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG)) &&
	       KDATC_EXPECT(kdatc_status(server->request, server->ep, cookie,
					 DAT_DTO_LMR_INVALIDATE, NULL) == DAT_DTO_SUCCESS);
}

static void kdatc_memory_fast(void)
{
	DAT_REGION_DESCRIPTION region = { .for_physical = kdatc_memory_area.phys };
	DAT_LMR_PARAM param = {};
	struct kdatc_mem mem;
	unsigned int i;

	if (!kdatc_memory_fmr_open(&mem))
		goto out;
	kdatc_memory_works(&mem);
	KDATC_OK(dat_lmr_query(mem.lmr, DAT_LMR_FIELD_ALL, &param));
	KDATC_EXPECT(param.lmr_state.fmr_support == DAT_TRUE);
	/* it has memory already */
	KDATC_TYPE(dat_lmr_fmr(mem.lmr, DAT_MEM_TYPE_PHYSICAL, region, KDATC_PAGES, KDATC_ALL,
			       DAT_VA_TYPE_ZB, server->ep, kdatc_cookie(1), 0, &mem.lmr_context,
			       &mem.rmr_context), DAT_INVALID_STATE);
	for (i = 0; i < 5; i++) {
		if (!kdatc_memory_invalidate(&mem, 0x10 + i) || !kdatc_memory_fmr(&mem, 0x20 + i))
			goto out;
		memset(mem.va, 0, mem.size);
		kdatc_memory_works(&mem);
	}
	/* more pages than it was made for */
	if (!kdatc_memory_invalidate(&mem, 0x30))
		goto out;
	KDATC_REFUSED(dat_lmr_fmr(mem.lmr, DAT_MEM_TYPE_PHYSICAL, region, 4096, KDATC_ALL,
				  DAT_VA_TYPE_ZB, server->ep, kdatc_cookie(1), 0, &mem.lmr_context,
				  &mem.rmr_context), DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	/* 2^46 bytes */
	KDATC_REFUSED(dat_lmr_fmr(mem.lmr, DAT_MEM_TYPE_PHYSICAL, region,
				  BIT_ULL(46) / PAGE_SIZE, KDATC_ALL, DAT_VA_TYPE_ZB, server->ep,
				  kdatc_cookie(1), 0, &mem.lmr_context, &mem.rmr_context),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	KDATC_REFUSED(dat_lmr_fmr(mem.lmr, DAT_MEM_TYPE_PHYSICAL, region, 0, KDATC_ALL,
				  DAT_VA_TYPE_ZB, server->ep, kdatc_cookie(1), 0, &mem.lmr_context,
				  &mem.rmr_context), DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	KDATC_REFUSED(dat_lmr_fmr(mem.lmr, DAT_MEM_TYPE_PHYSICAL, region, KDATC_PAGES, KDATC_ALL,
				  DAT_VA_TYPE_ZB, server->pz, kdatc_cookie(1), 0, &mem.lmr_context,
				  &mem.rmr_context), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	/* an LMR that has memory of its own */
	KDATC_TYPE(dat_lmr_fmr(server->mem.lmr, DAT_MEM_TYPE_PHYSICAL, region, KDATC_PAGES,
			       KDATC_ALL, DAT_VA_TYPE_ZB, server->ep, kdatc_cookie(1), 0,
			       &mem.lmr_context, &mem.rmr_context), DAT_INVALID_HANDLE);
out:
	kdatc_memory_fmr_close(&mem);
}

/* Zero-based addresses of a scatterlist begin where its first byte is in its page. */
static void kdatc_memory_fast_table(void)
{
	struct kdatc_memory_area *area = &kdatc_memory_area;
	const DAT_REGION_DESCRIPTION region = { .for_platform = &area->sgt };
	const u32 offset = 100;
	DAT_LMR_PARAM param = {};
	struct kdatc_mem mem;

	if (!kdatc_memory_fmr_open(&mem) || !kdatc_memory_invalidate(&mem, 1))
		goto out;
	area->sgt.sgl->offset += offset;
	area->sgt.sgl->length -= offset;
	mem.va += offset;
	mem.size -= offset;
	mem.base = offset;
	memset(mem.va, 0, mem.size);
	if (!KDATC_OK(dat_lmr_fmr(mem.lmr, DAT_MEM_TYPE_PLATFORM, region, KDATC_PAGES, KDATC_ALL,
				  DAT_VA_TYPE_ZB, server->ep, kdatc_cookie(2), 0,
				  &mem.lmr_context, &mem.rmr_context)) ||
	    !KDATC_EXPECT(kdatc_status(server->request, server->ep, 2, DAT_DTO_LMR_FMR, NULL) ==
			  DAT_DTO_SUCCESS))
		goto out;
	KDATC_OK(dat_lmr_query(mem.lmr, DAT_LMR_FIELD_ALL, &param));
	KDATC_EXPECT(param.registered_address == offset && param.registered_size == mem.size);
	kdatc_memory_works(&mem);
out:
	kdatc_memory_fmr_close(&mem);
}

static void kdatc_memory_invalidated(void)
{
	struct kdatc_mem mem;
	DAT_RMR_TRIPLET far;

	if (kdatc_memory_fmr_open(&mem) && kdatc_memory_invalidate(&mem, 7)) {
		far = kdatc_far(&mem, 0, 64);
		kdatc_memory_peer_refuses(false, &far);
		KDATC_EXPECT(kdatc_is(&mem, 0, mem.size, 0, 0));
	}
	kdatc_memory_fmr_close(&mem);
}

/* The peer's send invalidates: the receive says what, and the LMR can take memory again. */
static void kdatc_memory_remote_invalidation(void)
{
	DAT_LMR_TRIPLET near;
	struct kdatc_mem mem;
	DAT_RMR_TRIPLET far;
	DAT_EVENT event;
	unsigned int i;

	if (!kdatc_memory_fmr_open(&mem))
		goto out;
	for (i = 0; i < 3; i++) {
		near = kdatc_near(&client->mem, 0, 500);
		KDATC_OK(kdatc_recv(server, 1, 0, 1000));
		KDATC_OK(dat_ep_post_send_with_invalidate(client->ep, 1, &near, kdatc_cookie(2), 0,
							  DAT_TRUE, mem.rmr_context));
		KDATC_EXPECT(kdatc_done(client->request, client->ep, 2, DAT_DTO_SEND, 500));
		if (!KDATC_EXPECT(kdatc_status(server->recv, server->ep, 1,
					       DAT_DTO_RECEIVE_WITH_INVALIDATE, &event) ==
				  DAT_DTO_SUCCESS))
			goto out;
		KDATC_EXPECT(event.event_data.dto_completion_event_data.transfered_length == 500);
		KDATC_EXPECT(event.event_data.dto_completion_event_data.rmr_context ==
			     mem.rmr_context);
		if (!kdatc_memory_fmr(&mem, 0x40 + i))
			goto out;
	}
	/* without the flag it is a plain send */
	KDATC_OK(kdatc_recv(server, 3, 0, 1000));
	KDATC_OK(dat_ep_post_send_with_invalidate(client->ep, 1, &near, kdatc_cookie(4), 0,
						  DAT_FALSE, mem.rmr_context));
	KDATC_EXPECT(kdatc_done(client->request, client->ep, 4, DAT_DTO_SEND, 500));
	KDATC_EXPECT(kdatc_done(server->recv, server->ep, 3, DAT_DTO_RECEIVE, 500));
	far = kdatc_far(&mem, 0, 64);
	kdatc_fill(&client->mem, 9);
	KDATC_OK(kdatc_write(client, 5, 0, 64, &far, 0));
	KDATC_EXPECT(kdatc_done(client->request, client->ep, 5, DAT_DTO_RDMA_WRITE, 64));
	if (kdatc_sync(client, server))
		KDATC_EXPECT(kdatc_is(&mem, 0, 64, 9, 0));
out:
	kdatc_memory_fmr_close(&mem);
}

/* @from writes 64 bytes to @to's memory, and reads them. */
static void kdatc_memory_reaches(struct kdatc_side *from, struct kdatc_side *to, u8 seed)
{
	const DAT_RMR_TRIPLET far = kdatc_far(&to->mem, 0, 64);

	kdatc_fill(&to->mem, 0);
	kdatc_fill(&from->mem, seed);
	KDATC_OK(kdatc_write(from, 0x64, 0, 64, &far, 0));
	KDATC_EXPECT(kdatc_done(from->request, from->ep, 0x64, DAT_DTO_RDMA_WRITE, 64));
	KDATC_OK(kdatc_read(from, 0x65, 1000, 64, &far, 0));
	KDATC_EXPECT(kdatc_done(from->request, from->ep, 0x65, DAT_DTO_RDMA_READ, 64));
	KDATC_EXPECT(kdatc_is(&from->mem, 1000, 64, seed, 0));
	KDATC_EXPECT(kdatc_is(&to->mem, 0, 64, seed, 0));
}

/*
 * A peer invalidates an LMR that has its memory for ever. An RNIC that checks that refuses and ends
 * the connection; for others the LMR is registered again. Another peer of the zone goes on.
 */
static void kdatc_memory_not_invalidated(void)
{
	struct kdatc_side *other = &kdatc_bed.server[1], *peer = &kdatc_bed.client[1];
	static const struct kdatc_opts no_ep = { .no_ep = true };
	const DAT_EP_ATTR attr = kdatc_ep_attr(&no_ep);
	DAT_LMR_TRIPLET near;
	int status;

	if (!kdatc_pair_open(0, NULL, NULL) || !kdatc_side_open(peer, NULL) ||
	    !kdatc_side_open(other, &no_ep) ||
	    !KDATC_OK(dat_ep_create(kdatc_bed.ia, server->pz, other->recv, other->request,
				    other->conn, &attr, &other->ep)) ||
	    !kdatc_sides_connect(peer, other))
		return;
	kdatc_memory_reaches(peer, server, 3);
	near = kdatc_near(&client->mem, 0, 8);
	KDATC_OK(kdatc_recv(server, 1, 1000, 8));
	KDATC_OK(dat_ep_post_send_with_invalidate(client->ep, 1, &near, kdatc_cookie(2), 0,
						  DAT_TRUE, server->mem.rmr_context));
	status = kdatc_status(server->recv, server->ep, 1, DAT_DTO_RECEIVE, NULL);
	if (status == DAT_DTO_SUCCESS || status < 0)
		/* an adopted device: no RNIC of kDAPL's own maps memory by requests */
		msleep(200);
	else
		KDATC_EXPECT(kdatc_ends(client, NULL) && kdatc_ends(server, NULL));
	kdatc_memory_reaches(peer, server, 4);
	/* its protection zone is the server's, which is freed before */
	if (KDATC_OK(dat_ep_free(other->ep)))
		other->ep = NULL;
}

/* An invalidation and the next registration are flushed: the LMR is as it was before them. */
static void kdatc_memory_flushed(void)
{
	DAT_REGION_DESCRIPTION region = { .for_physical = kdatc_memory_area.phys };
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	struct kdatc_mem mem;
	DAT_RETURN ret;

	if (!kdatc_memory_fmr_open(&mem) ||
	    !kdatc_disconnect(client, server, DAT_CLOSE_ABRUPT_FLAG))
		goto out;
	KDATC_OK(dat_lmr_invalidate(mem.lmr, server->ep, kdatc_cookie(1), 0));
	region.for_physical = kdatc_memory_area.phys;
	ret = dat_lmr_fmr(mem.lmr, DAT_MEM_TYPE_PHYSICAL, region, KDATC_PAGES, KDATC_ALL,
			  DAT_VA_TYPE_ZB, server->ep, kdatc_cookie(2), 0, &lmr_context,
			  &rmr_context);
	KDATC_EXPECT(kdatc_status(server->request, server->ep, 1, DAT_DTO_LMR_INVALIDATE, NULL) ==
		     DAT_DTO_ERR_FLUSHED);
	if (ret == DAT_SUCCESS)
		KDATC_EXPECT(kdatc_status(server->request, server->ep, 2, DAT_DTO_LMR_FMR, NULL) ==
			     DAT_DTO_ERR_FLUSHED);
	else
		KDATC_EXPECT(DAT_GET_TYPE(ret) == DAT_INVALID_STATE);
	KDATC_OK(dat_ep_reset(client->ep));
	KDATC_OK(dat_ep_reset(server->ep));
	if (!kdatc_sides_connect(client, server))
		goto out;
	memset(mem.va, 0, mem.size);
	kdatc_memory_works(&mem);
	if (kdatc_memory_invalidate(&mem, 3) && kdatc_memory_fmr(&mem, 4)) {
		memset(mem.va, 0, mem.size);
		kdatc_memory_works(&mem);
	}
out:
	kdatc_memory_fmr_close(&mem);
}

/*
 * Only registrations are flushed. RNICs may have carried them out or not; when the endpoint is
 * reset, the LMR takes the next one all the same, also if it was to be freed too early.
 */
static void kdatc_memory_flushed_first(void)
{
	const DAT_REGION_DESCRIPTION region = { .for_physical = kdatc_memory_area.phys };
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	struct kdatc_mem mem;
	unsigned int i;

	if (!kdatc_memory_fmr_alloc(&mem))
		goto out;
	for (i = 0; i < 3; i++) {
		if (!kdatc_disconnect(client, server, DAT_CLOSE_ABRUPT_FLAG) ||
		    !KDATC_OK(dat_lmr_fmr(mem.lmr, DAT_MEM_TYPE_PHYSICAL, region, KDATC_PAGES,
					  KDATC_ALL, DAT_VA_TYPE_ZB, server->ep, kdatc_cookie(2), 0,
					  &lmr_context, &rmr_context)))
			break;
		/* the request has the LMR until its completion is taken */
		if (!KDATC_REFUSED(dat_lmr_free(mem.lmr), DAT_INVALID_STATE,
				   DAT_INVALID_STATE_LMR_IN_USE)) {
			mem.lmr = NULL;
			break;
		}
		KDATC_EXPECT(kdatc_status(server->request, server->ep, 2, DAT_DTO_LMR_FMR, NULL) ==
			     DAT_DTO_ERR_FLUSHED);
		KDATC_REFUSED(dat_lmr_invalidate(mem.lmr, server->ep, kdatc_cookie(3), 0),
			      DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_FREE);
		KDATC_OK(dat_ep_reset(client->ep));
		KDATC_OK(dat_ep_reset(server->ep));
		if (!kdatc_sides_connect(client, server) || !kdatc_memory_fmr(&mem, 4))
			break;
		memset(mem.va, 0, mem.size);
		kdatc_memory_works(&mem);
		if (!kdatc_memory_invalidate(&mem, 5))
			break;
	}
out:
	kdatc_memory_fmr_close(&mem);
}

/* A message from more pages than a request has elements; LMRs older and newer than the EP */
static void kdatc_memory_scattered(void)
{
	struct kdatc_mem mem = { .va = vzalloc(KDATC_SIZE), .size = KDATC_SIZE };
	DAT_LMR_TRIPLET near;
	unsigned int i;

	if (!KDATC_EXPECT(mem.va) || !kdatc_side_open(client, NULL) ||
	    !kdatc_side_open(server, NULL))
		goto out;
	for (i = 0; i < 2; i++) {
		if ((i && !kdatc_sides_connect(client, server)) ||
		    !kdatc_mem_register(&mem, server->pz, KDATC_LOCAL, DAT_VA_TYPE_VA) ||
		    (!i && !kdatc_sides_connect(client, server)))
			break;
		kdatc_fill(&mem, 61 + i);
		kdatc_fill(&client->mem, 0);
		near = kdatc_near(&mem, 0, KDATC_SIZE);
		KDATC_OK(kdatc_recv(client, 1, 0, KDATC_SIZE));
		KDATC_OK(dat_ep_post_send(server->ep, 1, &near, kdatc_cookie(2), 0));
		KDATC_EXPECT(kdatc_done(server->request, server->ep, 2, DAT_DTO_SEND, KDATC_SIZE));
		KDATC_EXPECT(kdatc_done(client->recv, client->ep, 1, DAT_DTO_RECEIVE, KDATC_SIZE));
		KDATC_EXPECT(kdatc_is(&client->mem, 0, KDATC_SIZE, 61 + i, 0));
		KDATC_OK(dat_lmr_free(mem.lmr));
		mem.lmr = NULL;
		if (!kdatc_disconnect(client, server, DAT_CLOSE_GRACEFUL_FLAG))
			break;
		KDATC_OK(dat_ep_reset(client->ep));
		KDATC_OK(dat_ep_reset(server->ep));
	}
out:
	if (mem.lmr)
		KDATC_OK(dat_lmr_free(mem.lmr));
	vfree(mem.va);
}

/* Windows ******************************************************************* */

#define KDATC_WINDOW	4096	/* its offset in the region, and its bytes */

/* Return: no windows, and the provider says so */
static bool kdatc_memory_no_windows(void)
{
	DAT_RMR_HANDLE rmr = NULL;

	if (kdatc.attr.max_rmrs)
		return false;
	KDATC_TYPE(dat_rmr_create(server->pz, &rmr), DAT_MODEL_NOT_SUPPORTED);
	KDATC_MISSING(!kdatc.attr.max_rmrs, dat_rmr_create_for_ep(server->pz, &rmr));
	return true;
}

static bool kdatc_memory_bind(DAT_RMR_HANDLE rmr, struct kdatc_mem *window, u32 len,
			      DAT_MEM_PRIV_FLAGS priv)
{
	const DAT_LMR_TRIPLET part = kdatc_near(&server->mem, KDATC_WINDOW, len);
	DAT_EVENT event;

	if (!KDATC_OK(dat_rmr_bind(rmr, server->mem.lmr, &part, priv, DAT_VA_TYPE_VA, server->ep,
				   kdatc_cookie(0xb1), 0, &window->rmr_context)) ||
	    !KDATC_EXPECT(kdatc_hears(server->request, DAT_RMR_BIND_COMPLETION_EVENT, &event)))
		return false;
	window->base = server->mem.base + KDATC_WINDOW;
	KDATC_EXPECT(event.event_data.rmr_completion_event_data.rmr_handle == rmr);
	KDATC_EXPECT(event.event_data.rmr_completion_event_data.user_cookie.as_64 == 0xb1);
	return KDATC_EXPECT(event.event_data.rmr_completion_event_data.status == DAT_DTO_SUCCESS);
}

/* Make a window that the peer may write to, and write to it. */
static DAT_RMR_HANDLE kdatc_memory_window(bool for_ep, struct kdatc_mem *window)
{
	DAT_RMR_HANDLE rmr = NULL;
	DAT_RMR_TRIPLET far;

	if (!kdatc_pair_open(0, NULL, NULL) || kdatc_memory_no_windows())
		return NULL;
	KDATC_OK(for_ep ? dat_rmr_create_for_ep(server->pz, &rmr) :
			  dat_rmr_create(server->pz, &rmr));
	if (!rmr || !kdatc_memory_bind(rmr, window, KDATC_WINDOW, DAT_MEM_PRIV_REMOTE_WRITE_FLAG))
		return rmr;
	kdatc_fill(&client->mem, 55);
	far = kdatc_far(window, 0, KDATC_WINDOW);
	KDATC_OK(kdatc_write(client, 1, 0, KDATC_WINDOW, &far, 0));
	KDATC_EXPECT(kdatc_done(client->request, client->ep, 1, DAT_DTO_RDMA_WRITE, KDATC_WINDOW));
	if (kdatc_sync(client, server))
		KDATC_EXPECT(kdatc_is(&server->mem, KDATC_WINDOW, KDATC_WINDOW, 55, 0));
	return rmr;
}

static void kdatc_memory_window_pz(void)
{
	struct kdatc_mem window = {};
	DAT_RMR_PARAM param = {};
	DAT_RMR_HANDLE rmr;

	rmr = kdatc_memory_window(false, &window);
	if (!rmr)
		return;
	KDATC_OK(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	KDATC_EXPECT(param.ia_handle == kdatc_bed.ia && param.pz_handle == server->pz);
	KDATC_EXPECT(param.rmr_context == window.rmr_context);
	KDATC_EXPECT(param.mem_priv == DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
	KDATC_EXPECT(param.rmr_scope == DAT_RMR_SCOPE_PZ);
	KDATC_EXPECT(param.lmr_triplet.segment_length == KDATC_WINDOW);
	KDATC_REFUSED(dat_lmr_free(server->mem.lmr), DAT_INVALID_STATE,
		      DAT_INVALID_STATE_LMR_IN_USE);
	KDATC_OK(dat_rmr_free(rmr));
}

/* Bound again elsewhere, and not at all */
static void kdatc_memory_window_rebind(void)
{
	struct kdatc_mem window = {};
	DAT_RMR_TRIPLET far;
	DAT_RMR_HANDLE rmr;

	rmr = kdatc_memory_window(false, &window);
	if (!rmr)
		return;
	if (kdatc_memory_bind(rmr, &window, 100, DAT_MEM_PRIV_REMOTE_READ_FLAG)) {
		far = kdatc_far(&window, 0, 100);
		kdatc_fill(&server->mem, 19);
		KDATC_OK(kdatc_read(client, 4, 0, 100, &far, 0));
		KDATC_EXPECT(kdatc_done(client->request, client->ep, 4, DAT_DTO_RDMA_READ, 100));
		KDATC_EXPECT(kdatc_is(&client->mem, 0, 100, 19, KDATC_WINDOW));
	}
	if (kdatc_memory_bind(rmr, &window, 0, 0)) {
		far.segment_length = 64;
		kdatc_memory_peer_refuses(true, &far);
	}
	KDATC_OK(dat_rmr_free(rmr));
}

static void kdatc_memory_window_bounds(void)
{
	struct kdatc_mem window = {};
	DAT_RMR_TRIPLET far;
	DAT_RMR_HANDLE rmr;

	rmr = kdatc_memory_window(false, &window);
	if (!rmr)
		return;
	far = kdatc_far(&window, KDATC_WINDOW - 63, 64);
	kdatc_memory_peer_refuses(false, &far);
	KDATC_OK(dat_rmr_free(rmr));
}

static void kdatc_memory_window_rights(void)
{
	struct kdatc_mem window = {};
	DAT_RMR_TRIPLET far;
	DAT_RMR_HANDLE rmr;

	rmr = kdatc_memory_window(false, &window);
	if (!rmr)
		return;
	far = kdatc_far(&window, 0, 64);
	kdatc_memory_peer_refuses(true, &far);
	KDATC_OK(dat_rmr_free(rmr));
}

/* A window of one endpoint, used by the peer of another one in the same protection zone */
static void kdatc_memory_window_ep(void)
{
	struct kdatc_side *other = &kdatc_bed.server[1], *peer = &kdatc_bed.client[1];
	static const struct kdatc_opts no_ep = { .no_ep = true };
	const DAT_EP_ATTR attr = kdatc_ep_attr(&no_ep);
	struct kdatc_mem window = {};
	DAT_RMR_TRIPLET far;
	DAT_RMR_HANDLE rmr;
	int status;

	rmr = kdatc_memory_window(true, &window);
	if (!rmr)
		return;
	if (!kdatc_side_open(peer, NULL) || !kdatc_side_open(other, &no_ep) ||
	    !KDATC_OK(dat_ep_create(kdatc_bed.ia, server->pz, other->recv, other->request,
				    other->conn, &attr, &other->ep)) ||
	    !kdatc_sides_connect(peer, other))
		goto out;
	kdatc_fill(&server->mem, 0);
	kdatc_fill(&peer->mem, 77);
	far = kdatc_far(&window, 0, 64);
	KDATC_OK(kdatc_write(peer, 1, 0, 64, &far, 0));
	status = kdatc_status(peer->request, peer->ep, 1, DAT_DTO_RDMA_WRITE, NULL);
	KDATC_EXPECT(kdatc_iwarp() ? status >= 0 : status == DAT_DTO_ERR_REMOTE_ACCESS);
	if (kdatc_iwarp())
		KDATC_EXPECT(kdatc_ends(peer, NULL) && kdatc_ends(other, NULL));
	KDATC_EXPECT(kdatc_is(&server->mem, 0, KDATC_SIZE, 0, 0));
	/* its protection zone is the server's, which is freed before */
	if (KDATC_OK(dat_ep_free(other->ep)))
		other->ep = NULL;
out:
	KDATC_OK(dat_rmr_free(rmr));
}

/* An RMR of a foreign place is refused at once. */
static void kdatc_memory_window_wrong(void)
{
	struct kdatc_mem window = {};
	DAT_LMR_TRIPLET part;
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;

	rmr = kdatc_memory_window(false, &window);
	if (!rmr)
		return;
	part = kdatc_near(&server->mem, 0, 64);
	KDATC_REFUSED(dat_rmr_bind(server->pz, server->mem.lmr, &part, 0, 0, server->ep,
				   kdatc_cookie(1), 0, &context),
		      DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR);
	KDATC_REFUSED(dat_rmr_bind(rmr, server->pz, &part, 0, 0, server->ep, kdatc_cookie(1), 0,
				   &context),
		      DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	KDATC_REFUSED(dat_rmr_bind(rmr, server->mem.lmr, &part, 0, 0, server->pz, kdatc_cookie(1),
				   0, &context),
		      DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	KDATC_REFUSED(dat_rmr_bind(rmr, server->mem.lmr, NULL, 0, 0, server->ep, kdatc_cookie(1),
				   0, &context),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	KDATC_REFUSED(dat_rmr_bind(rmr, server->mem.lmr, &part, 0x1000, 0, server->ep,
				   kdatc_cookie(1), 0, &context),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	part.virtual_address = server->mem.base + KDATC_SIZE;
	KDATC_EXPECT(dat_rmr_bind(rmr, server->mem.lmr, &part, DAT_MEM_PRIV_REMOTE_READ_FLAG, 0,
				  server->ep, kdatc_cookie(1), 0, &context) != DAT_SUCCESS);
	KDATC_OK(dat_rmr_free(rmr));
}

static void kdatc_memory_sync(void)
{
	DAT_LMR_TRIPLET parts[2];

	if (!kdatc_side_open(client, NULL))
		return;
	parts[0] = kdatc_near(&client->mem, 0, 1000);
	parts[1] = kdatc_near(&client->mem, 5000, 1);
	KDATC_OK(dat_lmr_sync_rdma_read(kdatc_bed.ia, parts, 2));
	KDATC_OK(dat_lmr_sync_rdma_write(kdatc_bed.ia, parts, 2));
	KDATC_REFUSED(dat_lmr_sync_rdma_read(NULL, parts, 2), DAT_INVALID_HANDLE,
		      DAT_INVALID_HANDLE_IA);
	KDATC_REFUSED(dat_lmr_sync_rdma_write(kdatc_bed.ia, NULL, 2), DAT_INVALID_PARAMETER,
		      DAT_INVALID_ARG2);
}

const struct kdatc_check kdatc_memory_checks[] = {
	{ "virtual memory", kdatc_memory_virtual },
	{ "physical pages", kdatc_memory_physical },
	{ "variable pages", kdatc_memory_var_pages },
	{ "scatter list", kdatc_memory_platform },
	{ "memory by IA address", kdatc_memory_ia },
	{ "LMR of an LMR", kdatc_memory_lmr },
	{ "many LMRs", kdatc_memory_many },
	{ "reserved LMR", kdatc_memory_reserved },
	{ "memory hint", kdatc_memory_hint },
	{ "memory sync", kdatc_memory_sync },
	{ "write beyond the LMR", kdatc_memory_write_beyond },
	{ "read beyond the LMR", kdatc_memory_read_beyond },
	{ "write before the LMR", kdatc_memory_write_before },
	{ "write with a wrong context", kdatc_memory_wrong_key },
	{ "write without the right", kdatc_memory_write_right },
	{ "read without the right", kdatc_memory_read_right },
	{ "local bounds, end", kdatc_memory_local_beyond },
	{ "local bounds, begin", kdatc_memory_local_before },
	{ "local context", kdatc_memory_local_key },
	{ "local right", kdatc_memory_local_right },
	{ "local PZ", kdatc_memory_local_pz },
	{ "fast registration", kdatc_memory_fast },
	{ "fast registration of a scatterlist", kdatc_memory_fast_table },
	{ "invalidated", kdatc_memory_invalidated },
	{ "remote invalidation", kdatc_memory_remote_invalidation },
	{ "no remote invalidation", kdatc_memory_not_invalidated },
	{ "flushed registration", kdatc_memory_flushed },
	{ "flushed first registration", kdatc_memory_flushed_first },
	{ "scattered memory", kdatc_memory_scattered },
	{ "window of a PZ", kdatc_memory_window_pz },
	{ "window bound again", kdatc_memory_window_rebind },
	{ "window's bounds", kdatc_memory_window_bounds },
	{ "window's rights", kdatc_memory_window_rights },
	{ "window of an EP", kdatc_memory_window_ep },
	{ "arguments of bind", kdatc_memory_window_wrong },
	{}
};
