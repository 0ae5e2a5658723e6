// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Checks of fast registration and invalidation by a kernel consumer: allowed accesses work,
 * and all others are refused. Each check makes its own connections, because a refusal ends a
 * connection.
 */
#include <linux/mm.h>

#include "ktest.h"

/* An RDMA Read and then a Write of a whole region with many pages. */
static void kt_many_pages(struct kt_bed *bed)
{
	u32 len = bed->far.npages * PAGE_SIZE;
	struct kt_side *client = &bed->pair.client;
	struct ib_sge sge = kt_sge(&bed->near, len);
	struct kt_op recv;

	kt_reg_both(bed, KT_ALL);
	kt_mem_fill(&bed->far, 5);
	KT_EXPECT(!kt_post_rdma(client, IB_WR_RDMA_READ, &sge,
				bed->far.mr->iova, bed->far.mr->rkey));
	KT_EXPECT(kt_mem_is(&bed->near, 0, len, 5));
	kt_mem_fill(&bed->near, 9);
	KT_EXPECT(!kt_post_recv(&bed->pair.server, &recv, NULL));
	KT_EXPECT(!kt_post_rdma(client, IB_WR_RDMA_WRITE, &sge,
				bed->far.mr->iova, bed->far.mr->rkey));
	/* when the Send behind the Write arrives, the Write is placed */
	KT_EXPECT(!kt_post_send(client, NULL, 0));
	KT_EXPECT(!kt_op_wait(&recv));
	KT_EXPECT(kt_mem_is(&bed->far, 0, len, 9));
}

/* From the middle of a page, with another address and key each time. */
static void kt_register_again(struct kt_bed *bed)
{
	struct kt_side *server = &bed->pair.server;
	struct ib_mr *mr = bed->far.mr;
	struct ib_sge sge = kt_sge(&bed->near, 3 * PAGE_SIZE);
	unsigned int i, from;

	KT_EXPECT(!kt_post_reg(&bed->pair.client, &bed->near,
			       bed->near.mr->lkey, IB_ACCESS_LOCAL_WRITE));
	for (i = 1; i < 20; i++) {
		from = i * 100;
		KT_EXPECT(!kt_mem_map(&bed->far, from));
		mr->iova = (u64)i << 40 | (mr->iova & 0xffffffff);
		ib_update_fast_reg_key(mr, i);
		KT_EXPECT(!kt_post_reg(server, &bed->far, mr->rkey,
				       IB_ACCESS_REMOTE_READ));
		kt_mem_fill(&bed->far, i);
		KT_EXPECT(!kt_post_rdma(&bed->pair.client, IB_WR_RDMA_READ, &sge,
					mr->iova, mr->rkey));
		/* the same bytes, which begin at @from in the pattern */
		KT_EXPECT(!memcmp(page_address(bed->near.pages[0]),
				  page_address(bed->far.pages[0]) + from,
				  PAGE_SIZE - from));
		KT_EXPECT(!memcmp(page_address(bed->near.pages[1]) + PAGE_SIZE - from,
				  page_address(bed->far.pages[2]), from));
		KT_EXPECT(!kt_post_inv(server, mr->rkey, 0));
	}
}

/* The peer must refuse that access: no data moves, and the connection ends. */
static void kt_refused(struct kt_bed *bed, enum ib_wr_opcode opcode, u64 addr,
		       u32 len, u32 key)
{
	struct ib_sge sge = {
		.addr = (uintptr_t)page_address(bed->near.pages[0]),
		.length = len,
		.lkey = bed->pair.client.pd->local_dma_lkey,
	};
	int ret;

	kt_mem_fill(&bed->near, 77);
	kt_mem_fill(&bed->far, 33);
	ret = kt_post_rdma(&bed->pair.client, opcode, &sge, addr, key);
	/* a Write completes when it is sent */
	if (opcode != IB_WR_RDMA_WRITE)
		KT_EXPECT(ret == IB_WC_REM_ACCESS_ERR);
	KT_EXPECT(kt_pair_ended(&bed->pair));
	KT_EXPECT(kt_mem_is(&bed->near, 0, PAGE_SIZE, 77));
	KT_EXPECT(kt_mem_is(&bed->far, 0, bed->far.npages * PAGE_SIZE, 33));
}

static int kt_reg_far(struct kt_bed *bed, int access)
{
	return kt_post_reg(&bed->pair.server, &bed->far, bed->far.mr->rkey,
			   access);
}

static void kt_not_registered(struct kt_bed *bed, enum ib_wr_opcode opcode)
{
	kt_refused(bed, opcode, bed->far.mr->iova, 64, bed->far.mr->rkey);
}

static void kt_invalidated(struct kt_bed *bed, enum ib_wr_opcode opcode)
{
	KT_EXPECT(!kt_reg_far(bed, KT_ALL));
	KT_EXPECT(!kt_post_inv(&bed->pair.server, bed->far.mr->rkey,
			       IB_SEND_FENCE));
	kt_refused(bed, opcode, bed->far.mr->iova, 64, bed->far.mr->rkey);
}

static void kt_remotely_invalidated(struct kt_bed *bed,
				    enum ib_wr_opcode opcode)
{
	u32 key = bed->far.mr->rkey;
	struct kt_op recv;

	KT_EXPECT(!kt_reg_far(bed, KT_ALL));
	KT_EXPECT(!kt_post_recv(&bed->pair.server, &recv, NULL));
	KT_EXPECT(!kt_post_send(&bed->pair.client, NULL, key));
	KT_EXPECT(!kt_op_wait(&recv));
	KT_EXPECT(recv.wc.wc_flags & IB_WC_WITH_INVALIDATE &&
		  recv.wc.ex.invalidate_rkey == key);
	/* it can be registered again at once, and then the old key is invalid */
	ib_update_fast_reg_key(bed->far.mr, key + 1);
	KT_EXPECT(!kt_reg_far(bed, KT_ALL));
	kt_refused(bed, opcode, bed->far.mr->iova, 64, key);
}

static void kt_beyond(struct kt_bed *bed, enum ib_wr_opcode opcode)
{
	KT_EXPECT(!kt_reg_far(bed, KT_ALL));
	kt_refused(bed, opcode,
		   bed->far.mr->iova + bed->far.npages * PAGE_SIZE - 1, 2,
		   bed->far.mr->rkey);
}

static void kt_before(struct kt_bed *bed, enum ib_wr_opcode opcode)
{
	KT_EXPECT(!kt_mem_map(&bed->far, 512));
	KT_EXPECT(!kt_reg_far(bed, KT_ALL));
	kt_refused(bed, opcode, bed->far.mr->iova - 1, 2, bed->far.mr->rkey);
}

static void kt_without_right(struct kt_bed *bed, enum ib_wr_opcode opcode)
{
	KT_EXPECT(!kt_reg_far(bed, opcode == IB_WR_RDMA_WRITE ?
					   IB_ACCESS_REMOTE_READ :
					   IB_ACCESS_LOCAL_WRITE |
						   IB_ACCESS_REMOTE_WRITE));
	kt_refused(bed, opcode, bed->far.mr->iova, 64, bed->far.mr->rkey);
}

static void kt_local_dma_lkey(struct kt_bed *bed, enum ib_wr_opcode opcode)
{
	kt_refused(bed, opcode, (uintptr_t)page_address(bed->far.pages[0]), 64,
		   bed->pair.server.pd->local_dma_lkey);
}

/* Read with Invalidate: the data has arrived and the sink is invalid. */
static void kt_read_with_inv(struct kt_bed *bed)
{
	u32 len = bed->near.npages * PAGE_SIZE;
	struct kt_side *client = &bed->pair.client;
	struct ib_sge sge = kt_sge(&bed->near, len);

	KT_EXPECT(!kt_reg_far(bed, IB_ACCESS_REMOTE_READ));
	KT_EXPECT(!kt_post_reg(client, &bed->near, bed->near.mr->lkey,
			       IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE));
	kt_mem_fill(&bed->far, 3);
	KT_EXPECT(!kt_post_rdma(client, IB_WR_RDMA_READ_WITH_INV, &sge,
				bed->far.mr->iova, bed->far.mr->rkey));
	KT_EXPECT(kt_mem_is(&bed->near, 0, len, 3));
	KT_EXPECT(kt_post_send(client, &sge, 0) == IB_WC_LOC_PROT_ERR);
	KT_EXPECT(kt_pair_ended(&bed->pair));
}

static void kt_registered_twice(struct kt_bed *bed)
{
	KT_EXPECT(!kt_reg_far(bed, KT_ALL));
	KT_EXPECT(kt_reg_far(bed, KT_ALL) == IB_WC_MW_BIND_ERR);
	KT_EXPECT(kt_pair_ended(&bed->pair));
}

static void kt_invalidated_twice(struct kt_bed *bed)
{
	u32 key = bed->far.mr->rkey;

	KT_EXPECT(!kt_reg_far(bed, KT_ALL));
	KT_EXPECT(!kt_post_inv(&bed->pair.server, key, 0));
	KT_EXPECT(!kt_post_inv(&bed->pair.server, key, 0));
	/* the next registration works as after one invalidation */
	KT_EXPECT(!kt_reg_far(bed, KT_ALL));
}

static void kt_longer_than_its_pages(struct kt_bed *bed)
{
	bed->far.mr->length++;
	KT_EXPECT(kt_reg_far(bed, KT_ALL) == IB_WC_MW_BIND_ERR);
	KT_EXPECT(kt_pair_ended(&bed->pair));
}

static void kt_remote_write_alone(struct kt_bed *bed)
{
	KT_EXPECT(kt_reg_far(bed, IB_ACCESS_REMOTE_WRITE) == IB_WC_MW_BIND_ERR);
	KT_EXPECT(kt_pair_ended(&bed->pair));
}

static void kt_region_of_another_pd(struct kt_bed *bed)
{
	KT_EXPECT(kt_post_reg(&bed->pair.client, &bed->far, bed->far.mr->rkey,
			      KT_ALL) == IB_WC_MW_BIND_ERR);
	KT_EXPECT(kt_pair_ended(&bed->pair));
}

static void kt_no_all_memory_inv(struct kt_bed *bed)
{
	KT_EXPECT(kt_post_inv(&bed->pair.client,
			      bed->pair.client.pd->local_dma_lkey, 0) ==
		  IB_WC_MW_BIND_ERR);
	KT_EXPECT(kt_pair_ended(&bed->pair));
}

/* The key of another region is refused when the request is posted. */
static void kt_key_of_another_region(struct kt_bed *bed)
{
	KT_EXPECT(kt_post_reg(&bed->pair.server, &bed->far,
			      bed->near.mr->rkey, KT_ALL) == -EINVAL);
}

static void kt_drained(struct kt_bed *bed)
{
	struct kt_op recv[4];
	int i;

	for (i = 0; i < ARRAY_SIZE(recv); i++)
		KT_EXPECT(!kt_post_recv(&bed->pair.client, &recv[i], NULL));
	ib_drain_qp(bed->pair.client.id->qp);
	for (i = 0; i < ARRAY_SIZE(recv); i++)
		KT_EXPECT(kt_op_wait(&recv[i]) == IB_WC_WR_FLUSH_ERR);
	/* a queue in the error state flushes posted requests */
	KT_EXPECT(kt_post_send(&bed->pair.client, NULL, 0) == IB_WC_WR_FLUSH_ERR);
	KT_EXPECT(kt_post_inv(&bed->pair.client, bed->near.mr->rkey, 0) ==
		  IB_WC_WR_FLUSH_ERR);
	ib_drain_qp(bed->pair.client.id->qp);
}

/*
 * Elements with gaps between them: one in each page, of odd addresses and lengths.
 */

/* offset in the first element for ib_map_mr_sg() */
#define KT_GAPS_SKIP	3

static unsigned int kt_gaps_first(unsigned int i)
{
	return 37 * i % 512 + KT_GAPS_SKIP;
}

static unsigned int kt_gaps_len(unsigned int i)
{
	return 523 * i % 3000 + 1;
}

/* The part of @gaps that remains with at most @max elements. */
static int kt_gaps_finish(struct kt_mem *gaps, struct ib_pd *pd, unsigned int max)
{
	if (!ib_dma_map_sg(gaps->dev, gaps->sgt.sgl, gaps->npages, DMA_BIDIRECTIONAL))
		return -EIO;
	gaps->mr = ib_alloc_mr(pd, IB_MR_TYPE_SG_GAPS, max);
	return PTR_ERR_OR_ZERO(gaps->mr);
}

/* A region for fast registration with at most @max elements, on the pages of @mem. */
static int kt_gaps_open(struct kt_mem *gaps, const struct kt_mem *mem, struct ib_pd *pd,
			unsigned int max)
{
	unsigned int i, skip = KT_GAPS_SKIP;
	struct scatterlist *sg;

	*gaps = *mem;
	gaps->mr = NULL;
	if (sg_alloc_table(&gaps->sgt, mem->npages, GFP_KERNEL))
		return -ENOMEM;
	for_each_sgtable_sg(&gaps->sgt, sg, i) {
		sg_set_page(sg, mem->pages[i], kt_gaps_len(i) + skip, kt_gaps_first(i) - skip);
		skip = 0;
	}
	return kt_gaps_finish(gaps, pd, max);
}

static void kt_gaps_close(struct kt_mem *gaps)
{
	if (!IS_ERR_OR_NULL(gaps->mr))
		ib_dereg_mr(gaps->mr);
	sg_free_table(&gaps->sgt);
}

/* The elements have one pattern from end to end. The gaps have another pattern. */
static bool kt_gaps_are(const struct kt_mem *gaps, u8 inside, u8 outside)
{
	unsigned int i, k, at = 0;
	const u8 *va;
	u8 octet;

	for (i = 0; i < gaps->npages; i++) {
		va = page_address(gaps->pages[i]);
		for (k = 0; k < PAGE_SIZE; k++) {
			if (k - kt_gaps_first(i) < kt_gaps_len(i))
				octet = kt_octet(at++, inside);
			else
				octet = kt_octet(i * PAGE_SIZE + k, outside);
			if (va[k] != octet)
				return false;
		}
	}
	return true;
}

static int kt_gaps_map(struct kt_mem *gaps)
{
	unsigned int skip = KT_GAPS_SKIP;

	return ib_map_mr_sg(gaps->mr, gaps->sgt.sgl, gaps->npages, &skip, PAGE_SIZE);
}

/* No elements, and an offset behind the first element. */
static void kt_gaps_nonsense(struct kt_mem *gaps)
{
	unsigned int skip = kt_gaps_len(0) + KT_GAPS_SKIP + 1;

	KT_EXPECT(ib_map_mr_sg(gaps->mr, gaps->sgt.sgl, 0, NULL, PAGE_SIZE) == -EINVAL);
	KT_EXPECT(ib_map_mr_sg(gaps->mr, gaps->sgt.sgl, gaps->npages, &skip, PAGE_SIZE) == -EINVAL);
}

/* All data there and back, and a part that begins and ends inside of elements. */
static void kt_gaps_copied(struct kt_bed *bed, struct kt_mem *gaps)
{
	struct kt_side *client = &bed->pair.client;
	const u32 len = gaps->mr->length, from = len / 3, part = len / 2;
	struct ib_sge sge = kt_sge(&bed->near, len);
	struct kt_op recv;

	KT_EXPECT(!kt_post_recv(&bed->pair.server, &recv, NULL));
	KT_EXPECT(!kt_post_rdma(client, IB_WR_RDMA_WRITE, &sge, gaps->mr->iova,
				gaps->mr->rkey));
	KT_EXPECT(!kt_post_send(client, NULL, 0));
	KT_EXPECT(!kt_op_wait(&recv));
	KT_EXPECT(kt_gaps_are(gaps, 9, 33));
	kt_mem_fill(&bed->near, 0);
	KT_EXPECT(!kt_post_rdma(client, IB_WR_RDMA_READ, &sge, gaps->mr->iova,
				gaps->mr->rkey));
	KT_EXPECT(kt_mem_is(&bed->near, 0, len, 9));
	kt_mem_fill(&bed->near, 0);
	sge.addr += from;
	sge.length = part;
	KT_EXPECT(!kt_post_rdma(client, IB_WR_RDMA_READ, &sge, gaps->mr->iova + from,
				gaps->mr->rkey));
	KT_EXPECT(kt_mem_is(&bed->near, 0, from, 0));
	KT_EXPECT(kt_mem_is(&bed->near, from, from + part, 9));
	KT_EXPECT(kt_mem_is(&bed->near, from + part, len, 0));
}

static void kt_gaps(struct kt_bed *bed)
{
	struct kt_side *server = &bed->pair.server;
	struct kt_mem gaps;

	KT_EXPECT(server->pd->device->attrs.kernel_cap_flags & IBK_SG_GAPS_REG);
	KT_EXPECT(!kt_post_reg(&bed->pair.client, &bed->near, bed->near.mr->lkey,
			       IB_ACCESS_LOCAL_WRITE));
	kt_mem_fill(&bed->near, 9);
	kt_mem_fill(&bed->far, 33);
	if (KT_EXPECT(!kt_gaps_open(&gaps, &bed->far, server->pd, bed->far.npages))) {
		kt_gaps_nonsense(&gaps);
		KT_EXPECT(kt_gaps_map(&gaps) == gaps.npages);
		KT_EXPECT(!kt_post_reg(server, &gaps, gaps.mr->rkey, KT_ALL));
		kt_gaps_copied(bed, &gaps);
	}
	kt_gaps_close(&gaps);
}

/* As many elements as fit. No access beyond the last of them is allowed. */
static void kt_gaps_too_many(struct kt_bed *bed, enum ib_wr_opcode opcode)
{
	struct kt_side *server = &bed->pair.server;
	const unsigned int room = bed->far.npages / 2;
	struct kt_mem gaps;

	if (KT_EXPECT(!kt_gaps_open(&gaps, &bed->far, server->pd, room)) &&
	    KT_EXPECT(kt_gaps_map(&gaps) == room) &&
	    KT_EXPECT(!kt_post_reg(server, &gaps, gaps.mr->rkey, KT_ALL)))
		kt_refused(bed, opcode, gaps.mr->iova + gaps.mr->length - 1, 2, gaps.mr->rkey);
	kt_gaps_close(&gaps);
}

static void kt_gaps_longer(struct kt_bed *bed)
{
	struct kt_side *server = &bed->pair.server;
	struct kt_mem gaps;

	if (KT_EXPECT(!kt_gaps_open(&gaps, &bed->far, server->pd, bed->far.npages)) &&
	    KT_EXPECT(kt_gaps_map(&gaps) == gaps.npages)) {
		gaps.mr->length++;
		KT_EXPECT(kt_post_reg(server, &gaps, gaps.mr->rkey, KT_ALL) ==
			  IB_WC_MW_BIND_ERR);
		KT_EXPECT(kt_pair_ended(&bed->pair));
	}
	kt_gaps_close(&gaps);
}

/* offsets in the pages, and lengths, of elements for atomic operations */
static const struct {
	unsigned int first;
	unsigned int len;
} kt_atomic_elements[] = { { 64, 20 }, { 128, 12 }, { 8, 8 }, { 16, 16 } };

/* Register those elements. */
static bool kt_atomic_gaps_open(struct kt_bed *bed, struct kt_mem *gaps)
{
	const unsigned int num = ARRAY_SIZE(kt_atomic_elements);
	struct kt_side *server = &bed->pair.server;
	struct scatterlist *sg;
	unsigned int i;

	*gaps = bed->far;
	gaps->mr = NULL;
	gaps->npages = num;
	if (!KT_EXPECT(!sg_alloc_table(&gaps->sgt, num, GFP_KERNEL)))
		return false;
	for_each_sgtable_sg(&gaps->sgt, sg, i)
		sg_set_page(sg, gaps->pages[i], kt_atomic_elements[i].len,
			    kt_atomic_elements[i].first);
	kt_mem_fill(&bed->far, 33);
	return KT_EXPECT(!kt_gaps_finish(gaps, server->pd, num)) &&
	       KT_EXPECT(ib_map_mr_sg(gaps->mr, gaps->sgt.sgl, num, NULL, PAGE_SIZE) == num) &&
	       KT_EXPECT(!kt_post_reg(server, gaps, gaps->mr->rkey,
				      IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_ATOMIC)) &&
	       KT_EXPECT(!kt_post_reg(&bed->pair.client, &bed->near, bed->near.mr->lkey,
				      IB_ACCESS_LOCAL_WRITE));
}

static int kt_gaps_add(struct kt_bed *bed, const struct kt_mem *gaps, u64 offset)
{
	struct ib_sge sge = kt_sge(&bed->near, sizeof(u64));
	struct ib_atomic_wr wr = {
		.wr = {
			.opcode = IB_WR_ATOMIC_FETCH_AND_ADD,
			.sg_list = &sge,
			.num_sge = 1,
		},
		.remote_addr = gaps->mr->iova + offset,
		.compare_add = 1,
		.rkey = gaps->mr->rkey,
	};

	return kt_do(&bed->pair.client, &wr.wr, IB_WC_FETCH_ADD);
}

/* In the middle of an element, on a whole element, and on the last bytes. */
static void kt_gaps_atomics(struct kt_bed *bed)
{
	static const struct {
		u64 offset;
		unsigned int page;
		unsigned int at;
	} places[] = { { 8, 0, 72 }, { 32, 2, 8 }, { 48, 3, 24 } };
	const u64 *old = page_address(bed->near.pages[0]);
	struct kt_mem gaps;
	unsigned int i;
	u64 *word, before;

	if (kt_atomic_gaps_open(bed, &gaps)) {
		for (i = 0; i < ARRAY_SIZE(places); i++) {
			word = page_address(bed->far.pages[places[i].page]) + places[i].at;
			before = *word;
			*word = i << 16 | 41;
			KT_EXPECT(!kt_gaps_add(bed, &gaps, places[i].offset));
			KT_EXPECT(*word == (i << 16 | 42) && *old == (i << 16 | 41));
			*word = before;
		}
		KT_EXPECT(kt_mem_is(&bed->far, 0, bed->far.npages * PAGE_SIZE, 33));
	}
	kt_gaps_close(&gaps);
}

static void kt_gaps_atomic_refused(struct kt_bed *bed, u64 offset, enum ib_wc_status status)
{
	struct kt_mem gaps;

	if (kt_atomic_gaps_open(bed, &gaps)) {
		KT_EXPECT(kt_gaps_add(bed, &gaps, offset) == status);
		KT_EXPECT(kt_pair_ended(&bed->pair));
		KT_EXPECT(kt_mem_is(&bed->far, 0, bed->far.npages * PAGE_SIZE, 33));
	}
	kt_gaps_close(&gaps);
}

/* The offset is aligned, but half of the bytes are in the next element. */
static void kt_gaps_atomic_straddles(struct kt_bed *bed)
{
	kt_gaps_atomic_refused(bed, 16, IB_WC_REM_INV_REQ_ERR);
}

/* The offset is aligned, but the memory is not. */
static void kt_gaps_atomic_unaligned(struct kt_bed *bed)
{
	kt_gaps_atomic_refused(bed, 24, IB_WC_REM_INV_REQ_ERR);
}

static void kt_gaps_atomic_beyond(struct kt_bed *bed)
{
	kt_gaps_atomic_refused(bed, 52, IB_WC_REM_ACCESS_ERR);
}

const struct kt_check kt_frmr_checks[] = {
	{ "512 pages", .run = kt_many_pages, .npages = 512 },
	{ "1024 pages", .run = kt_many_pages, .npages = 1024 },
	{ "registered again", .run = kt_register_again },
	{ "elements with gaps", .run = kt_gaps },
	{ "more elements than room", .both = kt_gaps_too_many },
	{ "longer than its elements", .run = kt_gaps_longer },
	{ "atomic operations in elements", .run = kt_gaps_atomics },
	{ "atomic over two elements", .run = kt_gaps_atomic_straddles },
	{ "atomic not aligned in its element", .run = kt_gaps_atomic_unaligned },
	{ "atomic beyond the last element", .run = kt_gaps_atomic_beyond },
	{ "Read with Invalidate", .run = kt_read_with_inv },
	{ "drained", .run = kt_drained },
	{ "not registered", .both = kt_not_registered },
	{ "invalidated", .both = kt_invalidated },
	{ "invalidated by the peer", .both = kt_remotely_invalidated },
	{ "beyond the pages", .both = kt_beyond },
	{ "before the first octet", .both = kt_before },
	{ "without the right", .both = kt_without_right },
	{ "the local DMA lkey", .both = kt_local_dma_lkey },
	{ "registered twice", .run = kt_registered_twice },
	{ "invalidated twice", .run = kt_invalidated_twice },
	{ "longer than its pages", .run = kt_longer_than_its_pages },
	{ "remote write alone", .run = kt_remote_write_alone },
	{ "region of another PD", .run = kt_region_of_another_pd },
	{ "all memory invalidated", .run = kt_no_all_memory_inv },
	{ "key of another region", .run = kt_key_of_another_region },
	{}
};

