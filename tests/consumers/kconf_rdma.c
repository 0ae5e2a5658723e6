// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Checks of the conformance test: RDMA Writes and Reads, atomic operations, invalidation, and the
 * rights of a peer. A refused access ends the connection. A Write's error is known to its initiator
 * only by the end of the connection on iWARP, where a Write completes when it is sent.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include "kconf.h"

static struct kconf_side *const client = &kconf_bed.client[0];
static struct kconf_side *const server = &kconf_bed.server[0];
static struct kconf_mem *const near = &kconf_bed.near;
static struct kconf_mem *const far = &kconf_bed.far;

#define KCONF_SIZE	SZ_64K

static bool kconf_iwarp(void)
{
	return kconf.rnic->attr.transport == RI_TRANSPORT_IWARP;
}

/* A connection, and a region of the server's with these rights. */
static bool kconf_open(size_t size, int access)
{
	return kconf_bed_open(NULL, NULL, size) && kconf_mem_register(server, far, access);
}

/* Of the first @len bytes of the client's memory and the server's region. */
static struct kconf_req kconf_rdma(enum ib_wr_opcode op, u32 len)
{
	return (struct kconf_req) {
		.op = op,
		.id = 0x4d,
		.addr = near->dma,
		.len = len,
		.remote = KCONF_IOVA,
		.rkey = far->mr->stag,
	};
}

/* A Send without data, behind which all earlier Writes are placed. */
static void kconf_sync(void)
{
	const struct kconf_req send = { .op = IB_WR_SEND, .id = 0x5e };

	KCONF_EXPECT(!kconf_post_recv(server, 0x5f, 0, 0));
	KCONF_EXPECT(!kconf_do(client, &send));
	KCONF_EXPECT(!kconf_received(server, 0x5f, NULL));
}

/* largest region for fast registration, at most 1 MiB */
static size_t kconf_most(void)
{
	const size_t pages = kconf.rnic->attr.limits.max_fast_reg_page_list_len;

	return kconf_mem_most(rounddown_pow_of_two(min_t(size_t, pages, SZ_1M / PAGE_SIZE)) *
			      PAGE_SIZE);
}

/* Data ********************************************************************** */

static const u32 kconf_sizes[] = { 1, 4096, 5001, 65536, SZ_1M };

static void kconf_write(void)
{
	const size_t most = kconf_most();
	struct kconf_req write;
	unsigned int i;
	struct ib_wc wc;
	u32 len;

	if (!kconf_open(most, KCONF_WRITE))
		return;
	for (i = 0; i < ARRAY_SIZE(kconf_sizes); i++) {
		len = min_t(size_t, kconf_sizes[i], most);
		kconf_mem_fill(near, 10 + i);
		kconf_mem_fill(far, 0);
		write = kconf_rdma(IB_WR_RDMA_WRITE, len);
		KCONF_EXPECT(!kconf_post(client, &write));
		KCONF_EXPECT(!kconf_done(client, write.id, &wc) &&
			     wc.opcode == IB_WC_RDMA_WRITE);
		kconf_sync();
		KCONF_EXPECT(kconf_mem_same(far, near, len));
		KCONF_EXPECT(kconf_mem_region_is(far, len, most, 0));
	}
}

/* The sink is a region on its own, whose first page is the last of its memory, too. */
static void kconf_read(void)
{
	const size_t most = kconf_most();
	struct kconf_req read;
	struct ib_wc wc;

	/* a Read's sink is named to the peer on iWARP */
	if (!kconf_open(most, KCONF_READ) ||
	    !kconf_mem_register(client, near, kconf_iwarp() ? KCONF_WRITE : IB_ACCESS_LOCAL_WRITE))
		return;
	kconf_mem_fill(near, 0);
	kconf_mem_fill(far, 44);
	read = kconf_rdma(IB_WR_RDMA_READ, most);
	read.addr = KCONF_IOVA;
	read.lkey = near->mr->stag;
	KCONF_EXPECT(!kconf_post(client, &read));
	KCONF_EXPECT(!kconf_done(client, read.id, &wc) && wc.opcode == IB_WC_RDMA_READ);
	KCONF_EXPECT(kconf_mem_is(near, 0, most, 44));
}

static void kconf_read_sizes(void)
{
	const size_t most = kconf_most();
	struct kconf_req read;
	unsigned int i;
	u32 len;

	if (!kconf_open(most, KCONF_READ))
		return;
	kconf_mem_fill(far, 45);
	for (i = 0; i < ARRAY_SIZE(kconf_sizes); i++) {
		len = min_t(size_t, kconf_sizes[i], most);
		kconf_mem_fill(near, 0);
		read = kconf_rdma(IB_WR_RDMA_READ, len);
		KCONF_EXPECT(!kconf_do(client, &read));
		KCONF_EXPECT(kconf_mem_same(far, near, len));
		KCONF_EXPECT(kconf_mem_is(near, len, most, 0));
	}
}

/* More Reads than the connection's ORD wait for each other. */
static void kconf_reads(void)
{
	const u32 len = KCONF_SIZE / KCONF_QUEUE;
	struct kconf_req read;
	unsigned int i;

	if (!kconf_open(KCONF_SIZE, KCONF_READ))
		return;
	kconf_mem_fill(far, 46);
	for (i = 0; i < KCONF_QUEUE; i++) {
		read = kconf_rdma(IB_WR_RDMA_READ, len);
		read.id = i;
		read.addr += (u64)i * len;
		read.remote += (u64)i * len;
		KCONF_EXPECT(!kconf_post(client, &read));
	}
	for (i = 0; i < KCONF_QUEUE; i++)
		KCONF_EXPECT(!kconf_done(client, i, NULL));
	KCONF_EXPECT(kconf_mem_same(far, near, KCONF_SIZE));
}

/* Atomic operations ********************************************************* */

static int kconf_atomic(enum ib_wr_opcode op, u64 add, u64 swap)
{
	struct kconf_req req = kconf_rdma(op, sizeof(u64));
	struct ib_wc wc = {};
	int ret;

	req.add = add;
	req.swap = swap;
	req.flags = IB_SEND_SIGNALED;
	ret = kconf_post(client, &req) ?: kconf_done(client, req.id, &wc);
	if (!ret)
		KCONF_EXPECT(wc.opcode == (op == IB_WR_ATOMIC_CMP_AND_SWP ? IB_WC_COMP_SWAP :
									    IB_WC_FETCH_ADD));
	return ret;
}

static void kconf_atomics(void)
{
	const bool none = kconf.rnic->attr.limits.atomic_cap == IB_ATOMIC_NONE;
	u64 *word, *old;
	int ret;

	if (!kconf_open(PAGE_SIZE, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_ATOMIC))
		return;
	word = (u64 *)far->va;
	old = (u64 *)near->va;
	word[0] = 41;
	ret = kconf_atomic(IB_WR_ATOMIC_FETCH_AND_ADD, 1, 0);
	if (none) {
		kconf.missing = KCONF_EXPECT(ret == -EOPNOTSUPP || ret == -EINVAL);
		return;
	}
	KCONF_EXPECT(!ret && word[0] == 42 && old[0] == 41);
	KCONF_EXPECT(!kconf_atomic(IB_WR_ATOMIC_CMP_AND_SWP, 42, 99));
	KCONF_EXPECT(word[0] == 99 && old[0] == 42);
	KCONF_EXPECT(!kconf_atomic(IB_WR_ATOMIC_CMP_AND_SWP, 42, 7));
	KCONF_EXPECT(word[0] == 99 && old[0] == 99 && !word[1] && !old[1]);
}

/* Refused accesses ********************************************************** */

/* The access must not succeed, must write nothing and must end the connection. */
static void kconf_refused(const struct kconf_req *req)
{
	const bool read = req->op == IB_WR_RDMA_READ;
	struct ib_wc wc;

	kconf_mem_fill(near, read ? 0 : 61);
	kconf_mem_fill(far, read ? 62 : 0);
	KCONF_EXPECT(!kconf_post(client, req));
	KCONF_EXPECT(!kconf_poll(client->scq, &wc) && wc.wr_id == req->id);
	/* what follows would be waited for in vain */
	if (!KCONF_EXPECT(wc.status != IB_WC_SUCCESS || (!read && kconf_iwarp())) ||
	    !KCONF_EXPECT(kconf_broken(client)))
		return;
	if (kconf_iwarp()) {
		KCONF_EXPECT(kconf_end_hears(&client->end, KAL_EP_CLOSED));
		KCONF_EXPECT(kconf_end_hears(&server->end, KAL_EP_CLOSED));
		KCONF_EXPECT(kconf_broken(server));
	}
	KCONF_EXPECT(kconf_mem_is(near, 0, near->size, read ? 0 : 61));
	KCONF_EXPECT(kconf_mem_is(far, 0, far->size, read ? 62 : 0));
}

static void kconf_refused_op(enum ib_wr_opcode op, int access, u64 offset, u32 len, u32 other_key)
{
	struct kconf_req req;

	if (!kconf_open(KCONF_SIZE, access))
		return;
	req = kconf_rdma(op, len);
	req.remote += offset;
	req.rkey ^= other_key;
	kconf_refused(&req);
}

static void kconf_write_without_right(void)
{
	kconf_refused_op(IB_WR_RDMA_WRITE, KCONF_READ, 0, 512, 0);
}

static void kconf_read_without_right(void)
{
	kconf_refused_op(IB_WR_RDMA_READ, KCONF_WRITE, 0, 512, 0);
}

static void kconf_write_beyond(void)
{
	kconf_refused_op(IB_WR_RDMA_WRITE, KCONF_WRITE, KCONF_SIZE - 8, 9, 0);
}

static void kconf_read_beyond(void)
{
	kconf_refused_op(IB_WR_RDMA_READ, KCONF_READ, KCONF_SIZE - 8, 9, 0);
}

static void kconf_write_before(void)
{
	kconf_refused_op(IB_WR_RDMA_WRITE, KCONF_WRITE, -1ULL, 8, 0);
}

static void kconf_write_wrong_key(void)
{
	kconf_refused_op(IB_WR_RDMA_WRITE, KCONF_WRITE, 0, 512, 0x55);
}

static void kconf_read_wrong_key(void)
{
	kconf_refused_op(IB_WR_RDMA_READ, KCONF_READ, 0, 512, 0x55);
}

static void kconf_write_no_region(void)
{
	kconf_refused_op(IB_WR_RDMA_WRITE, KCONF_WRITE, 0, 512, 0x7ffff00);
}

/* The client's own region, which is of another PD than the server's queue pair. */
static void kconf_write_other_pd(void)
{
	struct kconf_req req;

	if (!kconf_open(KCONF_SIZE, KCONF_WRITE) || !kconf_mem_register(client, near, KCONF_WRITE))
		return;
	req = kconf_rdma(IB_WR_RDMA_WRITE, 512);
	req.rkey = near->mr->stag;
	kconf_refused(&req);
}

/* All kernel memory is for local use. */
static void kconf_write_dma_region(void)
{
	struct kconf_req req;

	if (!kconf_open(KCONF_SIZE, KCONF_WRITE))
		return;
	req = kconf_rdma(IB_WR_RDMA_WRITE, 512);
	req.rkey = server->dma->stag;
	req.remote = far->dma;
	kconf_refused(&req);
}

static void kconf_read_dma_region(void)
{
	struct kconf_req req;

	if (!kconf_open(KCONF_SIZE, KCONF_READ))
		return;
	req = kconf_rdma(IB_WR_RDMA_READ, 512);
	req.rkey = server->dma->stag;
	req.remote = far->dma;
	kconf_refused(&req);
}

/* Invalidation ************************************************************** */

static void kconf_invalidate(void)
{
	const struct kconf_req invalidate = {
		.op = IB_WR_LOCAL_INV,
		.id = 0x11,
		.invalidate = far->mr->stag,
		.flags = IB_SEND_SIGNALED,
	};
	struct ib_wc wc;

	KCONF_EXPECT(!kconf_post(server, &invalidate));
	KCONF_EXPECT(!kconf_done(server, 0x11, &wc) && wc.opcode == IB_WC_LOCAL_INV);
}

static void kconf_write_invalidated(void)
{
	struct kconf_req req;

	if (!kconf_open(KCONF_SIZE, KCONF_WRITE))
		return;
	req = kconf_rdma(IB_WR_RDMA_WRITE, 512);
	KCONF_EXPECT(!kconf_do(client, &req));
	kconf_sync();
	kconf_invalidate();
	kconf_refused(&req);
}

static void kconf_read_invalidated(void)
{
	struct kconf_req req;

	if (!kconf_open(KCONF_SIZE, KCONF_READ))
		return;
	req = kconf_rdma(IB_WR_RDMA_READ, 512);
	KCONF_EXPECT(!kconf_do(client, &req));
	kconf_invalidate();
	kconf_refused(&req);
}

/* Invalidated and registered again, with another key and other rights. */
static void kconf_registered_again(void)
{
	struct kconf_req req;
	unsigned int i;

	if (!kconf_open(KCONF_SIZE, KCONF_READ))
		return;
	for (i = 0; i < 5; i++) {
		kconf_invalidate();
		if (!kconf_mem_register(server, far, i % 2 ? KCONF_READ : KCONF_WRITE))
			return;
		kconf_mem_fill(near, i % 2 ? 0 : 71);
		kconf_mem_fill(far, i % 2 ? 71 : 0);
		req = kconf_rdma(i % 2 ? IB_WR_RDMA_READ : IB_WR_RDMA_WRITE, KCONF_SIZE);
		KCONF_EXPECT(!kconf_do(client, &req));
		kconf_sync();
		KCONF_EXPECT(kconf_mem_same(far, near, KCONF_SIZE));
	}
}

static void kconf_send_invalidate(void)
{
	struct kconf_req send = { .op = IB_WR_SEND_WITH_INV, .id = 1 };
	struct kconf_req req;
	struct ib_wc wc;
	int ret;

	if (!kconf_open(KCONF_SIZE, KCONF_WRITE))
		return;
	req = kconf_rdma(IB_WR_RDMA_WRITE, 512);
	KCONF_EXPECT(!kconf_do(client, &req));
	send.invalidate = far->mr->stag;
	KCONF_EXPECT(!kconf_post_recv(server, 2, 0, 0));
	ret = kconf_post(client, &send);
	if (ret == -EOPNOTSUPP || ret == -EINVAL) {
		kconf.missing = true;
		return;
	}
	KCONF_EXPECT(!ret && !kconf_done(client, 1, NULL));
	KCONF_EXPECT(!kconf_received(server, 2, &wc));
	KCONF_EXPECT(wc.wc_flags & IB_WC_WITH_INVALIDATE &&
		     wc.ex.invalidate_rkey == far->mr->stag);
	kconf_refused(&req);
}

/* Asynchronous events ******************************************************* */

/* Does the consumer get an event when the peer has broken the connection? */
static void kconf_async_event(void)
{
	unsigned int i;

	kconf_refused_op(IB_WR_RDMA_WRITE, KCONF_READ, 0, 512, 0);
	for (i = 0; i < 20 && !server->events && !client->events; i++)
		msleep(20);
	if (!server->events && !client->events)
		kconf.missing = true;
}

/* Sizes *********************************************************************** */

/* A registration of more bytes than its list has is refused at once, however many. */
static void kconf_register_large(void)
{
	const ktime_t begin = ktime_get();
	const struct ib_send_wr *bad;
	struct kal_reg_wr reg;
	struct ri_mr *mr;
	struct ib_wc wc;
	int ret;

	if (!kconf_bed_open(NULL, NULL, PAGE_SIZE))
		return;
	mr = kal_mr_alloc(server->pd, 1, false);
	if (!KCONF_EXPECT(!IS_ERR(mr)))
		return;
	mr->list.pages[0] = far->dma;
	mr->list.num = 1;
	mr->list.page_shift = PAGE_SHIFT;
	kal_reg_wr_init(&reg, mr, KCONF_IOVA, BIT_ULL(46), ib_inc_rkey(mr->stag), KCONF_READ);
	reg.reg.wr.send_flags = IB_SEND_SIGNALED;
	reg.reg.wr.wr_id = 0x46;
	ret = kal_post_send(server->qp, &reg.reg.wr, &bad);
	KCONF_EXPECT(ret == -EINVAL || (!ret && kconf_done(server, 0x46, &wc)));
	KCONF_EXPECT(ktime_ms_delta(ktime_get(), begin) < 10 * MSEC_PER_SEC);
	KCONF_EXPECT(!kal_mr_deregister(mr));
}

/* Regions without a work request ******************************************** */

/* A region that was named without a work request */
static void kconf_mapped(void)
{
	const u32 max = kconf.rnic->attr.limits.max_fast_reg_page_list_len;
	struct kconf_req read;

	if (!kconf.rnic->ops->mr_map) {
		if (!kconf_bed_open(NULL, NULL, PAGE_SIZE))
			return;
		KCONF_MISSING(true, PTR_ERR_OR_ZERO(kal_mr_alloc_map(server->pd, 1, false)));
		return;
	}
	if (!kconf_bed_open(NULL, NULL,
			    kconf_mem_most(min_t(size_t, 2 * max * PAGE_SIZE, SZ_4M))) ||
	    !kconf_mem_map(server, far, KCONF_READ))
		return;
	kconf_mem_fill(near, 0);
	kconf_mem_fill(far, 47);
	read = kconf_rdma(IB_WR_RDMA_READ, far->size - 1);
	KCONF_EXPECT(!kconf_do(client, &read));
	KCONF_EXPECT(kconf_mem_same(far, near, far->size - 1));
	read.remote++;
	read.len++;
	kconf_refused(&read);
}

/* Windows ******************************************************************* */

/* The first byte of the window is in the middle of a page. */
#define KCONF_WINDOW_AT		(3 * PAGE_SIZE + 40)
#define KCONF_WINDOW_LEN	(2 * PAGE_SIZE)

static int kconf_bind(struct ri_mw *mw)
{
	struct ri_bind_wr bind = {
		.wr = {
			.opcode = IB_WR_BIND_MW,
			.send_flags = IB_SEND_SIGNALED,
			.wr_id = 0xb1,
		},
		.stag = ib_inc_rkey(mw->stag),
		.region = far->mr->stag,
		.addr = KCONF_IOVA + KCONF_WINDOW_AT,
		.length = KCONF_WINDOW_LEN,
		.access = IB_ACCESS_REMOTE_READ,
	};
	const struct ib_send_wr *bad;
	struct ib_wc wc;

	mw->stag = bind.stag;
	return kal_post_send(server->qp, &bind.wr, &bad) ?: kconf_done(server, 0xb1, &wc);
}

/* Read all of the region by its STag, forget a part, and read that by the window. */
static void kconf_window_read(const struct ri_mw *mw)
{
	struct kconf_req read = kconf_rdma(IB_WR_RDMA_READ, KCONF_SIZE);

	kconf_mem_fill(far, 48);
	KCONF_EXPECT(!kconf_do(client, &read));
	memset(near->va + KCONF_WINDOW_AT, 0, KCONF_WINDOW_LEN);
	kal_dma_sync_for_device(kconf.rnic, near->dma, near->size, DMA_BIDIRECTIONAL);
	read.len = KCONF_WINDOW_LEN;
	read.addr += KCONF_WINDOW_AT;
	read.remote += KCONF_WINDOW_AT;
	read.rkey = mw->stag;
	KCONF_EXPECT(!kconf_do(client, &read));
	KCONF_EXPECT(kconf_mem_same(far, near, KCONF_SIZE));
	read.remote++;
	kconf_refused(&read);
}

static void kconf_window(enum ib_mw_type type, u64 cap)
{
	struct ri_mw *mw;

	if (!kconf_bed_open(NULL, NULL, KCONF_SIZE))
		return;
	mw = kal_mw_alloc(server->pd, type);
	if (IS_ERR(mw)) {
		KCONF_MISSING(!(kconf.rnic->attr.limits.device_cap_flags & cap), PTR_ERR(mw));
		return;
	}
	if (kconf_mem_register(server, far, KCONF_READ | IB_ACCESS_MW_BIND) &&
	    KCONF_EXPECT(!kconf_bind(mw)))
		kconf_window_read(mw);
	kal_mw_dealloc(mw);
}

static void kconf_window_pd(void)
{
	kconf_window(IB_MW_TYPE_1, IB_DEVICE_MEM_WINDOW);
}

static void kconf_window_qp(void)
{
	kconf_window(IB_MW_TYPE_2, IB_DEVICE_MEM_WINDOW_TYPE_2B);
}

const struct kconf_check kconf_rdma_checks[] = {
	{ "RDMA Write", kconf_write },
	{ "RDMA Read", kconf_read },
	{ "Read to the DMA region", kconf_read_sizes },
	{ "many Reads", kconf_reads },
	{ "atomic operations", kconf_atomics },
	{ "Write without the right", kconf_write_without_right },
	{ "Read without the right", kconf_read_without_right },
	{ "Write beyond the region", kconf_write_beyond },
	{ "Read beyond the region", kconf_read_beyond },
	{ "Write before the region", kconf_write_before },
	{ "Write with a wrong key", kconf_write_wrong_key },
	{ "Read with a wrong key", kconf_read_wrong_key },
	{ "Write to no region", kconf_write_no_region },
	{ "Write to another PD", kconf_write_other_pd },
	{ "Write to the DMA region", kconf_write_dma_region },
	{ "Read of the DMA region", kconf_read_dma_region },
	{ "Write after invalidation", kconf_write_invalidated },
	{ "Read after invalidation", kconf_read_invalidated },
	{ "registered again", kconf_registered_again },
	{ "registration of 2^46 bytes", kconf_register_large },
	{ "region mapped at once", kconf_mapped },
	{ "window of a PD", kconf_window_pd },
	{ "window of a QP", kconf_window_qp },
	{ "Send with Invalidate", kconf_send_invalidate },
	{ "asynchronous event", kconf_async_event },
	{}
};
