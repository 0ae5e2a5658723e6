// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Checks of a kernel consumer's other work requests: immediate data, atomic operations, inline
 * data, and the end of queues that are still at work.
 */
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/unaligned.h>

#include "ktest.h"

#define KT_IMM	0x01020304
#define KT_MANY	24	/* number of work requests that are posted together */

/* too large for the stack; the checks run one after another */
static struct kt_op kt_ops[KT_MANY];

static u64 *kt_words(struct kt_mem *mem)
{
	return page_address(mem->pages[0]);
}

/* A Send with immediate data completes one receive with both. */
static void kt_send_imm(struct kt_bed *bed)
{
	struct ib_sge to = kt_sge(&bed->far, 2 * PAGE_SIZE);
	struct ib_sge from = kt_sge(&bed->near, PAGE_SIZE + 5);
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND_WITH_IMM,
		.sg_list = &from,
		.num_sge = 1,
		.ex.imm_data = cpu_to_be32(KT_IMM),
	};
	struct kt_op recv, plain;

	kt_reg_both(bed, KT_ALL);
	kt_mem_fill(&bed->near, 11);
	kt_mem_fill(&bed->far, 0);
	KT_EXPECT(!kt_post_recv(&bed->pair.server, &recv, &to));
	KT_EXPECT(!kt_post_recv(&bed->pair.server, &plain, NULL));
	KT_EXPECT(!kt_do(&bed->pair.client, &wr, IB_WC_SEND));
	KT_EXPECT(!kt_op_wait(&recv));
	KT_EXPECT(recv.wc.opcode == IB_WC_RECV &&
		  recv.wc.wc_flags == IB_WC_WITH_IMM &&
		  recv.wc.ex.imm_data == cpu_to_be32(KT_IMM) &&
		  recv.wc.byte_len == PAGE_SIZE + 5);
	KT_EXPECT(kt_mem_is(&bed->far, 0, PAGE_SIZE + 5, 11));
	KT_EXPECT(kt_mem_is(&bed->far, PAGE_SIZE + 5, 2 * PAGE_SIZE, 0));
	/* the next Send has no immediate data */
	KT_EXPECT(!kt_post_send(&bed->pair.client, NULL, 0));
	KT_EXPECT(!kt_op_wait(&plain));
	KT_EXPECT(!plain.wc.wc_flags && !plain.wc.byte_len);
}

/* An RDMA Write with immediate data completes a receive when it is placed. */
static void kt_write_imm(struct kt_bed *bed)
{
	u32 len = bed->near.npages * PAGE_SIZE;
	struct ib_sge from = kt_sge(&bed->near, len);
	struct ib_rdma_wr wr = {
		.wr = {
			.opcode = IB_WR_RDMA_WRITE_WITH_IMM,
			.sg_list = &from,
			.num_sge = 1,
			.ex.imm_data = cpu_to_be32(KT_IMM),
			.send_flags = IB_SEND_SOLICITED,
		},
		.remote_addr = bed->far.mr->iova,
		.rkey = bed->far.mr->rkey,
	};
	struct kt_op recv;

	kt_reg_both(bed, KT_ALL);
	kt_mem_fill(&bed->near, 13);
	kt_mem_fill(&bed->far, 0);
	KT_EXPECT(!kt_post_recv(&bed->pair.server, &recv, NULL));
	KT_EXPECT(!kt_do(&bed->pair.client, &wr.wr, IB_WC_RDMA_WRITE));
	KT_EXPECT(!kt_op_wait(&recv));
	KT_EXPECT(recv.wc.opcode == IB_WC_RECV_RDMA_WITH_IMM &&
		  recv.wc.wc_flags == IB_WC_WITH_IMM &&
		  recv.wc.ex.imm_data == cpu_to_be32(KT_IMM) &&
		  recv.wc.byte_len == len);
	KT_EXPECT(kt_mem_is(&bed->far, 0, len, 13));
}

static int kt_atomic(struct kt_bed *bed, enum ib_wr_opcode opcode, u64 offset,
		     u64 compare_add, u64 swap)
{
	struct ib_sge sge = kt_sge(&bed->near, sizeof(u64));
	struct ib_atomic_wr wr = {
		.wr = {
			.opcode = opcode,
			.sg_list = &sge,
			.num_sge = 1,
		},
		.remote_addr = bed->far.mr->iova + offset,
		.compare_add = compare_add,
		.swap = swap,
		.rkey = bed->far.mr->rkey,
	};

	kt_words(&bed->near)[0] = 0;
	return kt_do(&bed->pair.client, &wr.wr,
		     opcode == IB_WR_ATOMIC_CMP_AND_SWP ? IB_WC_COMP_SWAP :
							   IB_WC_FETCH_ADD);
}

/* Both operations on a fast registration; the old value is stored in another one. */
static void kt_atomics(struct kt_bed *bed)
{
	u64 *word = kt_words(&bed->far);
	u64 *old = kt_words(&bed->near);
	u64 last = bed->far.npages * PAGE_SIZE - sizeof(u64);

	kt_reg_both(bed, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_ATOMIC);
	word[0] = 41;
	KT_EXPECT(!kt_atomic(bed, IB_WR_ATOMIC_FETCH_AND_ADD, 0, 1, 0));
	KT_EXPECT(word[0] == 42 && old[0] == 41);
	KT_EXPECT(!kt_atomic(bed, IB_WR_ATOMIC_CMP_AND_SWP, 0, 42, 99));
	KT_EXPECT(word[0] == 99 && old[0] == 42);
	KT_EXPECT(!kt_atomic(bed, IB_WR_ATOMIC_CMP_AND_SWP, 0, 42, 7));
	KT_EXPECT(word[0] == 99 && old[0] == 99);
	/* the last bytes of the region, in another page */
	KT_EXPECT(!kt_atomic(bed, IB_WR_ATOMIC_FETCH_AND_ADD, last, ~0ULL, 0));
	KT_EXPECT(get_unaligned((u64 *)(page_address(bed->far.pages[bed->far.npages - 1]) +
					PAGE_SIZE - sizeof(u64))) == ~0ULL);
	KT_EXPECT(!word[1]);
}

static int kt_masked(struct kt_bed *bed, const struct ib_atomic_wr *what)
{
	struct ib_sge sge = kt_sge(&bed->near, sizeof(u64));
	struct ib_atomic_wr wr = *what;

	wr.wr.sg_list = &sge;
	wr.wr.num_sge = 1;
	wr.remote_addr = bed->far.mr->iova;
	wr.rkey = bed->far.mr->rkey;
	kt_words(&bed->near)[0] = 0;
	return kt_do(&bed->pair.client, &wr.wr,
		     wr.wr.opcode == IB_WR_MASKED_ATOMIC_CMP_AND_SWP ?
			     IB_WC_MASKED_COMP_SWAP :
			     IB_WC_MASKED_FETCH_ADD);
}

/* The masks of RFC 7306 5.1. A CmpSwap that compares no bit is a Swap. */
static void kt_masked_atomics(struct kt_bed *bed)
{
	u64 *word = kt_words(&bed->far);
	u64 *old = kt_words(&bed->near);

	kt_reg_both(bed, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_ATOMIC);
	/* four fields of 16 bits: no carry from one to the next */
	word[0] = 0x0001ffff0002fffe;
	KT_EXPECT(!kt_masked(bed, &(struct ib_atomic_wr){
		.wr.opcode = IB_WR_MASKED_ATOMIC_FETCH_AND_ADD,
		.compare_add = 0x0001000100010003,
		.compare_add_mask = 0x8000800080008000,
	}));
	KT_EXPECT(word[0] == 0x0002000000030001 && old[0] == 0x0001ffff0002fffe);
	/* compares the low half, swaps a byte of the high half */
	KT_EXPECT(!kt_masked(bed, &(struct ib_atomic_wr){
		.wr.opcode = IB_WR_MASKED_ATOMIC_CMP_AND_SWP,
		.compare_add = 0xdeadbeef00030001,
		.compare_add_mask = 0x00000000ffffffff,
		.swap = 0xaaaaaaaaaaaaaaaa,
		.swap_mask = 0x0000ff0000000000,
	}));
	KT_EXPECT(word[0] == 0x0002aa0000030001 && old[0] == 0x0002000000030001);
	/* the high half differs: with a comparison of it, memory does not change */
	KT_EXPECT(!kt_masked(bed, &(struct ib_atomic_wr){
		.wr.opcode = IB_WR_MASKED_ATOMIC_CMP_AND_SWP,
		.compare_add = 0xdeadbeef00030001,
		.compare_add_mask = ~0ULL,
		.swap = 7,
		.swap_mask = ~0ULL,
	}));
	KT_EXPECT(word[0] == 0x0002aa0000030001 && old[0] == 0x0002aa0000030001);
	KT_EXPECT(!kt_masked(bed, &(struct ib_atomic_wr){
		.wr.opcode = IB_WR_MASKED_ATOMIC_CMP_AND_SWP,
		.swap = 0x1122334455667788,
		.swap_mask = ~0ULL,
	}));
	KT_EXPECT(word[0] == 0x1122334455667788 && old[0] == 0x0002aa0000030001);
}

static void kt_atomic_refused(struct kt_bed *bed, int access, u64 offset,
			      enum ib_wc_status status)
{
	u64 *word = kt_words(&bed->far);

	kt_reg_both(bed, access);
	word[0] = 41;
	KT_EXPECT(kt_atomic(bed, IB_WR_ATOMIC_FETCH_AND_ADD, offset, 1, 0) ==
		  status);
	KT_EXPECT(kt_pair_ended(&bed->pair));
	KT_EXPECT(word[0] == 41 && !kt_words(&bed->near)[0]);
}

static void kt_atomic_without_right(struct kt_bed *bed)
{
	kt_atomic_refused(bed, KT_ALL, 0, IB_WC_REM_ACCESS_ERR);
}

static void kt_atomic_unaligned(struct kt_bed *bed)
{
	kt_atomic_refused(bed, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_ATOMIC,
			  4, IB_WC_REM_INV_REQ_ERR);
}

/* Inline data is copied when it is posted: later changes do not matter. */
static void kt_inline(struct kt_bed *bed)
{
	struct ib_sge to = kt_sge(&bed->far, PAGE_SIZE);
	u8 *data = page_address(bed->near.pages[0]);
	struct ib_sge from = {
		.addr = (uintptr_t)data,
		.length = KT_INLINE,
	};
	struct ib_rdma_wr wr = {
		.wr = {
			.opcode = IB_WR_SEND,
			.send_flags = IB_SEND_INLINE | IB_SEND_SIGNALED,
			.sg_list = &from,
			.num_sge = 1,
		},
		.remote_addr = bed->far.mr->iova + PAGE_SIZE,
		.rkey = bed->far.mr->rkey,
	};
	struct ib_qp *qp = bed->pair.client.id->qp;
	struct kt_op send, write, recv, last;

	kt_reg_both(bed, KT_ALL);
	kt_mem_fill(&bed->far, 0);
	kt_op_init(&send);
	kt_op_init(&write);
	KT_EXPECT(!kt_post_recv(&bed->pair.server, &recv, &to));
	KT_EXPECT(!kt_post_recv(&bed->pair.server, &last, NULL));

	kt_mem_fill(&bed->near, 17);
	wr.wr.wr_cqe = &send.cqe;
	KT_EXPECT(!ib_post_send(qp, &wr.wr, NULL));
	memset(data, 0xee, KT_INLINE);
	KT_EXPECT(!kt_op_wait(&send));
	KT_EXPECT(!kt_op_wait(&recv));
	KT_EXPECT(recv.wc.byte_len == KT_INLINE &&
		  kt_mem_is(&bed->far, 0, KT_INLINE, 17));

	memset(data, 0x55, KT_INLINE);
	wr.wr.opcode = IB_WR_RDMA_WRITE;
	wr.wr.wr_cqe = &write.cqe;
	KT_EXPECT(!ib_post_send(qp, &wr.wr, NULL));
	memset(data, 0xee, KT_INLINE);
	KT_EXPECT(!kt_op_wait(&write));
	KT_EXPECT(!kt_post_send(&bed->pair.client, NULL, 0));
	KT_EXPECT(!kt_op_wait(&last));
	data = page_address(bed->far.pages[1]);
	KT_EXPECT(!memchr_inv(data, 0x55, KT_INLINE) && !data[KT_INLINE]);

	/* more than any QP allows */
	from.length = SZ_1M;
	KT_EXPECT(ib_post_send(qp, &wr.wr, NULL) == -EINVAL);
}

/* Post without waiting. */
static void kt_post_many(struct kt_bed *bed, struct kt_op *ops)
{
	struct ib_sge from = kt_sge(&bed->near, bed->near.npages * PAGE_SIZE);
	struct ib_rdma_wr wr = {
		.wr = {
			.opcode = IB_WR_RDMA_WRITE,
			.send_flags = IB_SEND_SIGNALED,
			.sg_list = &from,
			.num_sge = 1,
		},
		.remote_addr = bed->far.mr->iova,
		.rkey = bed->far.mr->rkey,
	};
	int i;

	for (i = 0; i < KT_MANY; i++) {
		kt_op_init(&ops[i]);
		wr.wr.wr_cqe = &ops[i].cqe;
		KT_EXPECT(!ib_post_send(bed->pair.client.id->qp, &wr.wr, NULL));
	}
}

/* All have completed or were flushed. None completed behind one that failed. */
static void kt_all_over(struct kt_op *ops, int n)
{
	bool flushed = false;
	int i;

	for (i = 0; i < n; i++) {
		if (!KT_EXPECT(completion_done(&ops[i].done)))
			return;
		KT_EXPECT(ops[i].wc.status == IB_WC_WR_FLUSH_ERR ||
			  (!flushed && ops[i].wc.status == IB_WC_SUCCESS));
		flushed |= ops[i].wc.status == IB_WC_WR_FLUSH_ERR;
	}
}

/* On return all posted send requests have completed. */
static void kt_drain_sq(struct kt_bed *bed)
{
	kt_reg_both(bed, KT_ALL);
	kt_post_many(bed, kt_ops);
	ib_drain_sq(bed->pair.client.id->qp);
	kt_all_over(kt_ops, KT_MANY);
	KT_EXPECT(kt_pair_ended(&bed->pair));
}

/* The same for receives, of which some were used. */
static void kt_drain_rq(struct kt_bed *bed)
{
	struct kt_op *ops = kt_ops;
	int i;

	for (i = 0; i < KT_MANY; i++)
		KT_EXPECT(!kt_post_recv(&bed->pair.server, &ops[i], NULL));
	for (i = 0; i < KT_MANY / 2; i++)
		KT_EXPECT(!kt_post_send(&bed->pair.client, NULL, 0));
	KT_EXPECT(!kt_op_wait(&ops[KT_MANY / 2 - 1]));
	complete(&ops[KT_MANY / 2 - 1].done);
	ib_drain_rq(bed->pair.server.id->qp);
	kt_all_over(ops, KT_MANY);
	KT_EXPECT(ops[KT_MANY / 2 - 1].wc.status == IB_WC_SUCCESS);
	KT_EXPECT(ops[KT_MANY / 2].wc.status == IB_WC_WR_FLUSH_ERR);
	KT_EXPECT(kt_pair_ended(&bed->pair));
}

/* Drain both queues during Writes in both directions. */
static void kt_drain_busy(struct kt_bed *bed)
{
	struct kt_op recv;

	kt_reg_both(bed, KT_ALL);
	KT_EXPECT(!kt_post_recv(&bed->pair.client, &recv, NULL));
	kt_post_many(bed, kt_ops);
	ib_drain_qp(bed->pair.server.id->qp);
	ib_drain_qp(bed->pair.client.id->qp);
	kt_all_over(kt_ops, KT_MANY);
	kt_all_over(&recv, 1);
}

const struct kt_check kt_message_checks[] = {
	{ "Send with immediate data", .run = kt_send_imm },
	{ "Write with immediate data", .run = kt_write_imm },
	{ "atomic operations", .run = kt_atomics },
	{ "masked atomic operations, Swap", .run = kt_masked_atomics },
	{ "atomic without the right", .run = kt_atomic_without_right },
	{ "atomic not aligned", .run = kt_atomic_unaligned },
	{ "inline data", .run = kt_inline },
	{ "send queue drained", .run = kt_drain_sq, .npages = 256 },
	{ "receive queue drained", .run = kt_drain_rq },
	{ "drained at work", .run = kt_drain_busy, .npages = 256 },
	{}
};
