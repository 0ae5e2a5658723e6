// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Checks of the conformance test: Sends and receives, their completions and events.
 */
#include <linux/delay.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include "kconf.h"

static struct kconf_side *const client = &kconf_bed.client[0];
static struct kconf_side *const server = &kconf_bed.server[0];
static struct kconf_mem *const near = &kconf_bed.near;
static struct kconf_mem *const far = &kconf_bed.far;

#define KCONF_IMM	0x01020304

static struct kconf_req kconf_send(u64 id, u32 len)
{
	return (struct kconf_req) { .op = IB_WR_SEND, .id = id, .addr = near->dma, .len = len };
}

/* Data of all sizes ********************************************************* */

static void kconf_send_one(u32 len, u8 seed)
{
	const struct kconf_req send = kconf_send(seed, len);
	struct ib_wc wc;

	kconf_mem_fill(near, seed);
	kconf_mem_fill(far, 0);
	KCONF_EXPECT(!kconf_post_recv(server, 100 + seed, far->dma, far->size));
	KCONF_EXPECT(!kconf_do(client, &send));
	if (!KCONF_EXPECT(!kconf_received(server, 100 + seed, &wc)))
		return;
	KCONF_EXPECT(wc.opcode == IB_WC_RECV && wc.byte_len == len);
	KCONF_EXPECT(!(wc.wc_flags & (IB_WC_WITH_IMM | IB_WC_WITH_INVALIDATE)));
	KCONF_EXPECT(kconf_mem_is(far, 0, len, seed));
	KCONF_EXPECT(kconf_mem_is(far, len, min_t(size_t, len + 4096, far->size), 0));
}

static void kconf_send_sizes(void)
{
	static const u32 sizes[] = { 0, 1, 4096, 65535, 65536, SZ_1M };
	const size_t most = kconf_mem_most(SZ_1M);
	unsigned int i;

	if (!kconf_bed_open(NULL, NULL, most))
		return;
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		kconf_send_one(min_t(size_t, sizes[i], most), i + 1);
}

/* From the server to the client, after the client's first message. */
static void kconf_send_back(void)
{
	const struct kconf_req first = { .op = IB_WR_SEND, .id = 1 };
	struct kconf_req back = { .op = IB_WR_SEND, .id = 2, .len = 5000 };
	struct ib_wc wc;

	if (!kconf_bed_open(NULL, NULL, SZ_64K))
		return;
	back.addr = far->dma;
	kconf_mem_fill(far, 77);
	KCONF_EXPECT(!kconf_post_recv(server, 10, 0, 0));
	KCONF_EXPECT(!kconf_post_recv(client, 20, near->dma, near->size));
	KCONF_EXPECT(!kconf_do(client, &first));
	KCONF_EXPECT(!kconf_received(server, 10, NULL));
	KCONF_EXPECT(!kconf_do(server, &back));
	KCONF_EXPECT(!kconf_received(client, 20, &wc));
	KCONF_EXPECT(wc.byte_len == 5000 && kconf_mem_is(near, 0, 5000, 77));
	KCONF_EXPECT(kconf_mem_is(near, 5000, near->size, 0));
}

/* A receive takes as many bytes as were sent, at most its own. */
static void kconf_send_too_long(void)
{
	struct kconf_req send;
	struct ib_wc wc;

	if (!kconf_bed_open(NULL, NULL, SZ_64K))
		return;
	send = kconf_send(1, 4096);
	kconf_mem_fill(near, 3);
	KCONF_EXPECT(!kconf_post_recv(server, 2, far->dma, 100));
	KCONF_EXPECT(!kconf_post(client, &send));
	KCONF_EXPECT(!kconf_poll(server->rcq, &wc));
	KCONF_EXPECT(wc.wr_id == 2 && wc.status != IB_WC_SUCCESS);
	KCONF_EXPECT(kconf_mem_is(far, 100, far->size, 0));
	KCONF_EXPECT(kconf_broken(client));
}

/* Inline data *************************************************************** */

/* It is copied when it is posted. */
static void kconf_inline(void)
{
	const u32 most = kconf.rnic->attr.max_inline;
	const struct kconf_opts opts = { .inline_data = most };
	struct kconf_req send = { .op = IB_WR_SEND, .id = 1, .flags = IB_SEND_INLINE };
	struct ib_wc wc;

	if (!most) {
		kconf.missing = true;
		return;
	}
	if (!kconf_bed_open(&opts, NULL, SZ_64K))
		return;
	send.addr = (uintptr_t)near->va;
	send.len = most;
	send.lkey = 0xdead00;
	kconf_mem_fill(near, 9);
	KCONF_EXPECT(!kconf_post_recv(server, 2, far->dma, far->size));
	KCONF_EXPECT(!kconf_post(client, &send));
	memset(near->va, 0xee, most);
	KCONF_EXPECT(!kconf_done(client, 1, NULL));
	KCONF_EXPECT(!kconf_received(server, 2, &wc));
	KCONF_EXPECT(wc.byte_len == most && kconf_mem_is(far, 0, most, 9));
	/* more than any queue pair takes */
	send.len = near->size;
	KCONF_EXPECT(kconf_post(client, &send) == -EINVAL);
	KCONF_EXPECT(kconf_no_more(client->scq));
}

/* Immediate data ************************************************************ */

/* Does the RNIC have the operation? It refuses to post what it does not have. */
static bool kconf_op_refused(int ret)
{
	if (ret != -EOPNOTSUPP && ret != -EINVAL)
		return false;
	kconf.missing = true;
	return true;
}

static void kconf_send_imm(void)
{
	struct kconf_req send;
	struct ib_wc wc;
	int ret;

	if (!kconf_bed_open(NULL, NULL, SZ_64K))
		return;
	send = kconf_send(1, 3000);
	send.op = IB_WR_SEND_WITH_IMM;
	send.imm = KCONF_IMM;
	kconf_mem_fill(near, 21);
	KCONF_EXPECT(!kconf_post_recv(server, 2, far->dma, far->size));
	ret = kconf_post(client, &send);
	if (kconf_op_refused(ret))
		return;
	KCONF_EXPECT(!ret && !kconf_done(client, 1, NULL));
	KCONF_EXPECT(!kconf_received(server, 2, &wc));
	KCONF_EXPECT(wc.opcode == IB_WC_RECV && wc.byte_len == 3000);
	KCONF_EXPECT(wc.wc_flags & IB_WC_WITH_IMM && wc.ex.imm_data == cpu_to_be32(KCONF_IMM));
	KCONF_EXPECT(kconf_mem_is(far, 0, 3000, 21));
}

static void kconf_write_imm(void)
{
	struct kconf_req write = { .op = IB_WR_RDMA_WRITE_WITH_IMM, .id = 1, .imm = KCONF_IMM };
	struct ib_wc wc;
	int ret;

	if (!kconf_bed_open(NULL, NULL, SZ_64K) ||
	    !kconf_mem_register(server, far, KCONF_WRITE))
		return;
	write.addr = near->dma;
	write.len = 6000;
	write.remote = KCONF_IOVA;
	write.rkey = far->mr->stag;
	kconf_mem_fill(near, 31);
	KCONF_EXPECT(!kconf_post_recv(server, 2, 0, 0));
	ret = kconf_post(client, &write);
	if (kconf_op_refused(ret))
		return;
	KCONF_EXPECT(!ret && !kconf_done(client, 1, NULL));
	KCONF_EXPECT(!kconf_received(server, 2, &wc));
	KCONF_EXPECT(wc.opcode == IB_WC_RECV_RDMA_WITH_IMM && wc.byte_len == 6000);
	KCONF_EXPECT(wc.wc_flags & IB_WC_WITH_IMM && wc.ex.imm_data == cpu_to_be32(KCONF_IMM));
	KCONF_EXPECT(kconf_mem_same(far, near, 6000));
}

/* Order ********************************************************************* */

/* Only every third Send asks for a completion. */
static void kconf_some_signalled(void)
{
	const struct kconf_opts opts = { .some_signalled = true };
	struct kconf_req send;
	struct ib_wc wc;
	unsigned int i;

	if (!kconf_bed_open(&opts, NULL, SZ_64K))
		return;
	for (i = 0; i < 12; i++)
		KCONF_EXPECT(!kconf_post_recv(server, i, far->dma, far->size));
	for (i = 0; i < 12; i++) {
		send = kconf_send(i, 100 + i);
		send.flags = i % 3 == 2 ? IB_SEND_SIGNALED : 0;
		KCONF_EXPECT(!kconf_post(client, &send));
	}
	for (i = 2; i < 12; i += 3)
		KCONF_EXPECT(!kconf_done(client, i, NULL));
	KCONF_EXPECT(kconf_no_more(client->scq));
	for (i = 0; i < 12; i++)
		KCONF_EXPECT(!kconf_received(server, i, &wc) && wc.byte_len == 100 + i);
}

/* Events ******************************************************************** */

static bool kconf_event_comes(struct kconf_side *side, int before)
{
	const unsigned long end = jiffies + KCONF_PATIENCE;

	while (atomic_read(&side->completions) == before) {
		if (time_after(jiffies, end))
			return false;
		usleep_range(200, 400);
	}
	return true;
}

static void kconf_send_and_take(u64 id, int flags)
{
	struct kconf_req send = { .op = IB_WR_SEND, .id = id, .flags = flags };

	KCONF_EXPECT(!kconf_post_recv(server, id, 0, 0));
	KCONF_EXPECT(!kconf_do(client, &send));
	KCONF_EXPECT(!kconf_received(server, id, NULL));
}

static void kconf_solicited(void)
{
	int before;

	if (!kconf_bed_open(NULL, NULL, PAGE_SIZE))
		return;
	/* not armed: no event */
	kconf_send_and_take(1, IB_SEND_SOLICITED);
	msleep(50);
	KCONF_EXPECT(!atomic_read(&server->completions));
	KCONF_EXPECT(!kal_cq_req_notify(server->rcq, IB_CQ_SOLICITED |
					IB_CQ_REPORT_MISSED_EVENTS));
	kconf_send_and_take(2, 0);
	msleep(50);
	KCONF_EXPECT(!atomic_read(&server->completions));
	kconf_send_and_take(3, IB_SEND_SOLICITED);
	KCONF_EXPECT(kconf_event_comes(server, 0));
	/* any completion; an event disarms */
	before = atomic_read(&server->completions);
	KCONF_EXPECT(before == 1);
	KCONF_EXPECT(!kal_cq_req_notify(server->rcq, IB_CQ_NEXT_COMP));
	kconf_send_and_take(4, 0);
	KCONF_EXPECT(kconf_event_comes(server, before));
	before = atomic_read(&server->completions);
	kconf_send_and_take(5, IB_SEND_SOLICITED);
	msleep(50);
	KCONF_EXPECT(atomic_read(&server->completions) == before);
}

/* Arming says that there are completions. */
static void kconf_missed(void)
{
	const struct kconf_req send = { .op = IB_WR_SEND, .id = 1 };
	struct ib_wc wc;
	int ret = 0, i;

	if (!kconf_bed_open(NULL, NULL, PAGE_SIZE))
		return;
	KCONF_EXPECT(!kconf_post_recv(server, 1, 0, 0));
	KCONF_EXPECT(!kconf_do(client, &send));
	for (i = 0; i < 100 && !ret; i++) {
		msleep(20);
		ret = kal_cq_req_notify(server->rcq, IB_CQ_NEXT_COMP |
					IB_CQ_REPORT_MISSED_EVENTS);
	}
	KCONF_EXPECT(ret > 0);
	KCONF_EXPECT(kal_cq_poll(server->rcq, 1, &wc) == 1);
}

/* A CQ that is resized keeps its completions, in order. */
static void kconf_resize_full(void)
{
	const struct kconf_req send = { .op = IB_WR_SEND, .id = 1 };
	unsigned int i;
	int ret;

	if (!kconf_bed_open(NULL, NULL, PAGE_SIZE))
		return;
	for (i = 0; i < 8; i++)
		KCONF_EXPECT(!kconf_post_recv(server, i, 0, 0));
	for (i = 0; i < 6; i++)
		KCONF_EXPECT(!kconf_do(client, &send));
	msleep(50);
	ret = kal_cq_resize(server->rcq, 2 * KCONF_CQ, NULL);
	if (ret == -EOPNOTSUPP) {
		kconf.missing = true;
		return;
	}
	KCONF_EXPECT(!ret);
	for (i = 6; i < 8; i++)
		KCONF_EXPECT(!kconf_do(client, &send));
	for (i = 0; i < 8; i++)
		KCONF_EXPECT(!kconf_received(server, i, NULL));
}

/* Shared receives *********************************************************** */

static bool kconf_srq_event_comes(struct kconf_side *side)
{
	const unsigned long end = jiffies + KCONF_PATIENCE;

	while (!test_bit(IB_EVENT_SRQ_LIMIT_REACHED, &side->events)) {
		if (time_after(jiffies, end))
			return false;
		usleep_range(200, 400);
	}
	return true;
}

static void kconf_srq_receive(void)
{
	const struct kconf_req send = { .op = IB_WR_SEND, .id = 1 };
	struct ib_wc wc;

	KCONF_EXPECT(!kconf_do(client, &send));
	KCONF_EXPECT(!kconf_poll(server->rcq, &wc));
	KCONF_EXPECT(!wc.status && wc.qp == (struct ib_qp *)server);
}

/* A connection whose server has 8 shared receives. Return: false if that cannot be. */
static bool kconf_srq_open(void)
{
	const struct kconf_opts opts = { .srq_wr = 8 };
	unsigned int i;

	if (!(kconf.rnic->attr.caps & RI_CAP_SRQ)) {
		kconf.missing = true;
		return false;
	}
	if (!kconf_bed_open(NULL, &opts, PAGE_SIZE))
		return false;
	for (i = 0; i < 8; i++)
		KCONF_EXPECT(!kconf_post_recv(server, i, far->dma, 64));
	return true;
}

static void kconf_srq_limit(void)
{
	struct ib_srq_attr attr = { .srq_limit = 4 };
	unsigned int i;

	if (!kconf_srq_open())
		return;
	KCONF_EXPECT(!kal_srq_modify(server->srq, &attr, IB_SRQ_LIMIT, NULL));
	for (i = 0; i < 3; i++)
		kconf_srq_receive();
	msleep(50);
	KCONF_EXPECT(!test_bit(IB_EVENT_SRQ_LIMIT_REACHED, &server->events));
	for (; i < 6; i++)
		kconf_srq_receive();
	KCONF_EXPECT(kconf_srq_event_comes(server));
	/* one event for each limit that is set */
	clear_bit(IB_EVENT_SRQ_LIMIT_REACHED, &server->events);
	kconf_srq_receive();
	msleep(50);
	KCONF_EXPECT(!test_bit(IB_EVENT_SRQ_LIMIT_REACHED, &server->events));
}

/* The event takes the limit away. */
static void kconf_srq_disarmed(void)
{
	struct ib_srq_attr attr = { .srq_limit = 4 };
	unsigned int i;

	if (!kconf_srq_open())
		return;
	KCONF_EXPECT(!kal_srq_modify(server->srq, &attr, IB_SRQ_LIMIT, NULL));
	for (i = 0; i < 6; i++)
		kconf_srq_receive();
	KCONF_EXPECT(kconf_srq_event_comes(server));
	KCONF_EXPECT(!kal_srq_query(server->srq, &attr) && !attr.srq_limit);
}

/* An SRQ's receives are not flushed with a queue pair. */
static void kconf_srq_stays(void)
{
	if (!kconf_srq_open())
		return;
	kconf_srq_receive();
	KCONF_EXPECT(!kal_qp_destroy(server->qp));
	server->qp = NULL;
	KCONF_EXPECT(kconf_no_more(server->rcq));
}

const struct kconf_check kconf_message_checks[] = {
	{ "Sends of all sizes", kconf_send_sizes },
	{ "Send by the server", kconf_send_back },
	{ "Send longer than the receive", kconf_send_too_long },
	{ "inline data", kconf_inline },
	{ "Send with immediate data", kconf_send_imm },
	{ "Write with immediate data", kconf_write_imm },
	{ "unsignalled Sends", kconf_some_signalled },
	{ "solicited events", kconf_solicited },
	{ "missed events", kconf_missed },
	{ "CQ resize with completions", kconf_resize_full },
	{ "SRQ limit", kconf_srq_limit },
	{ "SRQ limit after its event", kconf_srq_disarmed },
	{ "SRQ after a QP", kconf_srq_stays },
	{}
};
