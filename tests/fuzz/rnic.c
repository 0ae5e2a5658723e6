// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The victim of fuzz_stream: a soft RNIC with one connected QP, made through the verbs table
 * as the kAL makes it. The invariants for any input are:
 *
 *  - Nothing outside the registered regions is touched. All other bytes of their pages are
 *    poisoned. Regions without the right keep their contents.
 *  - The data of a completed receive or Read is the data that the peer sent for it, and no
 *    Read changes the target of another one (checked in stream.cpp).
 *  - Each posted work request completes exactly once and in order, and all have completed when
 *    the stream has ended. No completion has more bytes than fit.
 *  - MSN and MO only grow. IRD and ORD are not exceeded.
 *  - The stream is returned to the kAL exactly once. Nothing is leaked.
 */
#include <linux/if_arp.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "device.h"
#include "direct.h"
#include "fuzz.h"
#include "kernel.h"
#include "memory/memory.h"
#include "base/params.h"
#include "parts.h"
#include "tx/tx.h"

void *calloc(size_t n, size_t size);
void free(void *p);

#define REGION_PAGES	12	/* of the arena for each, with room before and behind */
#define MAX_RECVS	FZ_MAX_RECVS
#define MAX_SENDS	32
#define RIGHTS		(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ)

static const struct region {
	u32 offset;	/* in the first page */
	u32 length;
	u64 iova;	/* 0: the address */
	int access;
	bool foreign;
	bool constant;	/* no access may write there */
} regions[FZ_REGIONS] = {
	[FZ_RECV] = { 64, FZ_MAX_RECVS * FZ_RECV_SIZE + 5, 0, IB_ACCESS_LOCAL_WRITE },
	[FZ_OPEN] = { 4000, 5003, 0x10000, RIGHTS },
	[FZ_READ_ONLY] = { 8, 2001, 0x20000, IB_ACCESS_REMOTE_READ, .constant = true },
	[FZ_HIGH] = { 512, 4096, 0ULL - 4096, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE },
	[FZ_FOREIGN] = { 16, 1000, 0x30000, RIGHTS, .foreign = true, .constant = true },
	[FZ_SINK] = { 4088, 3000, 0x40000, IB_ACCESS_LOCAL_WRITE },
	[FZ_FLEETING] = { 0, 777, 0x50000, RIGHTS },
};

/* the completions of a queue, by the wr_id of the work requests */
struct ledger {
	u32 posted;
	u32 completed;
	u32 succeeded;
	u32 reads;	/* of them */
	bool failed;
};

static struct {
	struct net_device *ndev;
	struct socket sock;
	struct tcp_sock *tp;
	struct ri_pd pd, other_pd;
	struct soft_cq *send_cq, *recv_cq;
	struct soft_qp *qp;
	struct soft_mr mrs[FZ_REGIONS];
	struct ri_llp llp;
	struct ledger sends, recvs;
	struct soft_untagged_state before[ARRAY_SIZE(((struct soft_rx *)0)->untagged)];
} v;

static u8 *region_memory(int i)
{
	return fz_arena + i * REGION_PAGES * PAGE_SIZE + regions[i].offset;
}

static u8 filler(int i, u32 at)
{
	return 0x40 + i * 17 + at;
}

unsigned long long fz_region_start(int i)
{
	return regions[i].iova ?: (u64)region_memory(i);
}

unsigned int fz_region_length(int i)
{
	return regions[i].length;
}

static void obj_init(struct ri_obj *obj, enum ri_obj_type type, u32 id)
{
	obj->rnic = fz_rnic;
	obj->type = type;
	obj->id = id;
}

static void make_regions(void)
{
	u32 i, n;

	for (i = 0; i < FZ_REGIONS; i++) {
		const struct region *r = &regions[i];
		struct ri_mr_attr attr = {
			.start = (u64)region_memory(i),
			.length = r->length,
			.iova = fz_region_start(i),
			.access = r->access,
		};
		struct soft_mr *mr = &v.mrs[i];

		memset(mr, 0, sizeof(*mr));
		obj_init(&mr->ri.obj, RI_OBJ_MR, i + 1);
		mr->ri.pd = r->foreign ? &v.other_pd : &v.pd;
		mr->ri.length = r->length;
		mr->ri.iova = attr.iova;
		if (r->length)
			attr.region = fz_pin(attr.start, r->length,
					     r->access & IB_ACCESS_LOCAL_WRITE);
		mr->ri.region = attr.region;
		fz_must(!soft_ops.mr_register(&mr->ri, &attr, NULL));
		fz_must(mr->ri.stag == FZ_STAG(i));
		__asan_poison_memory_region(fz_arena + i * REGION_PAGES * PAGE_SIZE,
					    REGION_PAGES * PAGE_SIZE);
		__asan_unpoison_memory_region(region_memory(i), r->length);
		for (n = 0; n < r->length; n++)
			region_memory(i)[n] = filler(i, n);
	}
}

static struct soft_cq *make_cq(u32 id)
{
	struct soft_cq *cq = calloc(1, soft_ops.size_cq);

	obj_init(&cq->ri.obj, RI_OBJ_CQ, id);
	cq->ri.depth = 128;
	fz_must(!soft_ops.cq_create(&cq->ri, NULL));
	return cq;
}

static void make_qp(void)
{
	struct ri_qp_init_attr attr = {
		.cap = { .max_send_wr = MAX_SENDS, .max_recv_wr = MAX_RECVS, .max_send_sge = 2,
			 .max_recv_sge = 2, .max_inline_data = 64 },
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.qp_type = IB_QPT_RC,
	};
	struct soft_qp *qp = calloc(1, soft_ops.size_qp);

	v.send_cq = make_cq(1);
	v.recv_cq = make_cq(2);
	obj_init(&qp->ri.obj, RI_OBJ_QP, 1);
	qp->ri.pd = &v.pd;
	attr.send_cq = &v.send_cq->ri;
	attr.recv_cq = &v.recv_cq->ri;
	qp->ri.send_cq = attr.send_cq;
	qp->ri.recv_cq = attr.recv_cq;
	fz_must(!soft_ops.qp_create(&qp->ri, &attr, NULL));
	v.qp = qp;
}

static void no_callback(struct sock *sk)
{
}

static void make_stream(const struct fz_setup *setup)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RTS };
	struct sock *sk;

	v.tp = calloc(1, sizeof(*v.tp));
	v.tp->mss_cache = setup->mss;
	sk = (struct sock *)v.tp;
	sk->sk_state = TCP_ESTABLISHED;
	sk->sk_data_ready = no_callback;
	sk->sk_state_change = no_callback;
	sk->sk_write_space = no_callback;
	memset(&v.sock, 0, sizeof(v.sock));
	v.sock.sk = sk;
	sk->sk_socket = &v.sock;
	memset(&v.llp, 0, sizeof(v.llp));
	v.llp.sock = &v.sock;
	v.llp.mpa = (struct ri_mpa_params){
		.initiator = setup->initiator,
		.crc = setup->crc,
		.revision = 2,
		.rtr = setup->rtr,
		.ird = setup->ird,
		.ord = setup->ord,
	};
	fz_must(!soft_ops.qp_modify(&v.qp->ri, &attr, IB_QP_STATE, &v.llp));
}

void fz_post_recv(void)
{
	u32 n = v.recvs.posted;
	u64 at = fz_region_start(FZ_RECV) + n % FZ_MAX_RECVS * FZ_RECV_SIZE;
	struct ib_sge sge[2] = {
		{ at, 100, FZ_STAG(FZ_RECV) },
		{ at + 100, FZ_RECV_SIZE - 100, FZ_STAG(FZ_RECV) },
	};
	struct ib_recv_wr wr = { .wr_id = n, .sg_list = sge, .num_sge = 2 };
	const struct ib_recv_wr *bad;

	if (n - v.recvs.completed >= MAX_RECVS)
		return;
	if (!soft_ops.post_recv(&v.qp->ri, &wr, &bad))
		v.recvs.posted++;
}

static void post_send(enum ib_wr_opcode opcode)
{
	u32 n = v.sends.posted;
	int region = opcode == IB_WR_RDMA_READ ? FZ_SINK : FZ_OPEN;
	struct ib_sge sge = { fz_region_start(region) + n % FZ_MAX_READS * FZ_READ_SIZE, FZ_READ_SIZE,
			      FZ_STAG(region) };
	struct ib_rdma_wr wr = {
		.wr = { .wr_id = n, .sg_list = &sge, .num_sge = 1, .opcode = opcode,
			.send_flags = IB_SEND_SIGNALED },
		.remote_addr = 0x777000,
		.rkey = 0x4711,
	};
	const struct ib_send_wr *bad;

	if (n - v.sends.completed >= MAX_SENDS)
		return;
	/* the work item sends */
	if (!soft_ops.post_send(&v.qp->ri, &wr.wr, &bad))
		v.sends.posted++;
}

void fz_begin(const struct fz_setup *setup)
{
	static const enum ib_wr_opcode opcodes[] = { IB_WR_SEND, IB_WR_RDMA_WRITE };
	u32 i;

	fz_kernel_begin();
	fz_must(!soft_tx_pages_init());
	if (!v.ndev) {
		v.ndev = calloc(1, sizeof(*v.ndev));
		v.ndev->type = ARPHRD_ETHER;
		v.ndev->mtu = 1500;
		/* the peer is the fuzzer */
		soft_same_host = SOFT_SAME_HOST_OFF;
		fz_must(!soft_device_create("fuzz0", v.ndev));
		obj_init(&v.pd.obj, RI_OBJ_PD, 1);
		obj_init(&v.other_pd.obj, RI_OBJ_PD, 2);
	}
	memset(&v.sends, 0, sizeof(v.sends));
	memset(&v.recvs, 0, sizeof(v.recvs));
	make_regions();
	make_qp();
	for (i = 0; i < setup->recvs; i++)
		fz_post_recv();
	fz_fail_atomic = 0;
	fz_send_room = setup->send_room * 64;
	fz_unreadable = setup->unreadable;
	make_stream(setup);
	memcpy(v.before, v.qp->rx->untagged, sizeof(v.before));
	for (i = 0; i < setup->reads; i++)
		post_send(IB_WR_RDMA_READ);
	for (i = 0; i < setup->sends; i++)
		post_send(opcodes[i / 2 % ARRAY_SIZE(opcodes)]);
	fz_settle();
	fz_fail_atomic = setup->fail_atomic;
}

void fz_octets(const unsigned char *p, unsigned int n)
{
	struct sock *sk = v.sock.sk;

	if (!n)
		return;
	fz_arrive(p, n);
	v.tp->rcv_nxt += n;
	lock_sock(sk);
	sk->sk_data_ready(sk);
	release_sock(sk);
}

/* Invariants *************************************************************** */

static void take_completions(struct soft_cq *cq, struct ledger *ledger, u32 most)
{
	struct ib_wc wc;
	int n;

	while ((n = soft_ops.cq_poll(&cq->ri, 1, &wc)) > 0) {
		fz_must(wc.wr_id == ledger->completed);
		fz_must(ledger->completed < ledger->posted);
		ledger->completed++;
		if (wc.status) {
			ledger->failed = true;
			continue;
		}
		fz_must(!ledger->failed);
		ledger->succeeded++;
		ledger->reads += wc.opcode == IB_WC_RDMA_READ;
		/* with immediate data, the length is that of a Write */
		if (cq == v.recv_cq && wc.opcode == IB_WC_RECV)
			fz_must(wc.byte_len <= most);
		if (cq == v.recv_cq)
			fz_received(wc.wr_id, wc.opcode == IB_WC_RECV, wc.byte_len);
	}
	fz_must(!n);
}

static void check_sequence(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(v.before); i++) {
		const struct soft_untagged_state *was = &v.before[i], *is = &v.qp->rx->untagged[i];

		fz_must(is->msn > was->msn || (is->msn == was->msn && is->mo >= was->mo));
		v.before[i] = *is;
	}
	fz_must(v.qp->in_count <= v.qp->mpa.ird);
	fz_must(v.qp->out_count <= v.qp->mpa.ord);
	fz_must(v.qp->rx->bounce_len <= v.qp->rx->bounce_size);
}

static void check_constant(void)
{
	u32 i, n;

	for (i = 0; i < FZ_REGIONS; i++) {
		for (n = 0; regions[i].constant && n < regions[i].length; n++)
			fz_must(region_memory(i)[n] == filler(i, n));
	}
}

void fz_settle(void)
{
	u32 rounds = 0;

	fz_run_works();
	/* TCP has taken a part and reports when there is room again */
	while (!fz_llp_returned && v.qp->tx->staged && rounds++ < 4096) {
		soft_qp_kick(v.qp);
		fz_run_works();
	}
	if (!fz_llp_returned)
		check_sequence();
	take_completions(v.send_cq, &v.sends, 0);
	take_completions(v.recv_cq, &v.recvs, FZ_RECV_SIZE);
}

const unsigned char *fz_recv_buffer(unsigned int n)
{
	return region_memory(FZ_RECV) + n % FZ_MAX_RECVS * FZ_RECV_SIZE;
}

const unsigned char *fz_read_sink(unsigned int n)
{
	return region_memory(FZ_SINK) + n * FZ_READ_SIZE;
}

unsigned char fz_sink_filler(unsigned int at)
{
	return filler(FZ_SINK, at);
}

void fz_timers(void)
{
	fz_fire_timers();
	fz_settle();
}

void fz_peer_ends(int reset)
{
	struct sock *sk = v.sock.sk;

	sk->sk_err = reset ? ECONNRESET : 0;
	sk->sk_state = reset ? TCP_CLOSE : TCP_CLOSE_WAIT;
	sk->sk_state_change(sk);
	fz_settle();
	fz_must(fz_llp_returned || !reset);
}

static void destroy(void)
{
	u32 i;

	soft_ops.qp_destroy(&v.qp->ri);
	free(v.qp);
	soft_ops.cq_destroy(&v.send_cq->ri);
	soft_ops.cq_destroy(&v.recv_cq->ri);
	free(v.send_cq);
	free(v.recv_cq);
	for (i = 0; i < FZ_REGIONS; i++) {
		fz_must(!soft_ops.mr_deregister(&v.mrs[i].ri));
		fz_unpin(v.mrs[i].ri.region);
	}
	free(v.tp);
}

void fz_end(void)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	fz_must(!soft_ops.qp_modify(&v.qp->ri, &attr, IB_QP_STATE, NULL));
	fz_settle();
	fz_must(fz_llp_returned == 1);
	fz_must(v.sends.completed == v.sends.posted);
	fz_must(v.recvs.completed == v.recvs.posted);
	check_constant();
	fz_reads_done(v.sends.reads);
	destroy();
	/* pages that transmitters leave for each other */
	soft_tx_pages_exit();
	fz_kernel_end();
}
