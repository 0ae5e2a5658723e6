/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A kernel consumer for tests: connections with both ends on this RNIC, memory, and work
 * requests that are waited for. Failures are counted and printed.
 */
#ifndef KRDMA_KTEST_H
#define KRDMA_KTEST_H

#include <linux/completion.h>
#include <linux/scatterlist.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>
#include <krdma/compat_verbs.h>

/* Does the CQ of a consumer in the kernel change its depth? Not from Linux 7.0 on. */
#ifdef KRDMA_HAVE_RESIZE_KERNEL_CQ
#define KT_RESIZES	true
#else
#define KT_RESIZES	false
#endif

/**
 * struct kt_side - one end of a connection
 * @id: its QP is @id->qp
 * @pd: of its own
 * @srq: instead of a receive queue of its own, when @srq_depth is not 0
 * @events: asynchronous events so far, a bit for each enum ib_event_type
 * @event: there was one
 * @posts: what the handler of the first IB_EVENT_SRQ_LIMIT_REACHED sends, or NULL
 * @changed: something happened to @id
 * @connected: it is established
 * @gone: it was, or could not be
 */
struct kt_side {
	struct rdma_cm_id *id;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_srq *srq;
	unsigned int srq_depth;
	unsigned long events;
	struct completion event;
	struct kt_op *posts;
	struct completion changed;
	bool connected;
	bool gone;
};

struct kt_pair {
	struct kt_side client;
	struct kt_side server;
};

/** struct kt_op - a work request of ours and its completion */
struct kt_op {
	struct ib_cqe cqe;
	struct completion done;
	struct ib_wc wc;
};

/**
 * struct kt_mem - pages, and a region for fast registration of them
 * @npages: pages
 * @pages: apart from each other
 * @sgt: of the pages, mapped
 * @mr: the region
 */
struct kt_mem {
	struct ib_device *dev;
	unsigned int npages;
	struct page **pages;
	struct sg_table sgt;
	struct ib_mr *mr;
};

/** struct kt_bed - a connection with memory on both sides; the server's is the target */
struct kt_bed {
	struct kt_pair pair;
	struct kt_mem near;
	struct kt_mem far;
};

/**
 * struct kt_check - a check with a bed of its own
 * @name: for the log
 * @run: it
 * @both: in its place: run with RDMA Read and with RDMA Write
 * @alone: in its place: needs no bed
 * @npages: of the memory of each side; 0: KT_PAGES
 * @srq: entries of the server's shared receive queue; 0: it has none
 */
struct kt_check {
	const char *name;
	void (*run)(struct kt_bed *bed);
	void (*both)(struct kt_bed *bed, enum ib_wr_opcode opcode);
	void (*alone)(void);
	unsigned int npages;
	unsigned int srq;
};

#define KT_ALL	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ |               \
		 IB_ACCESS_REMOTE_WRITE)
#define KT_PAGES	16
#define KT_INLINE	128	/* bytes of inline data of a work request */
#define KT_QUEUE	64	/* work requests in a queue */
#define KT_READS	8	/* IRD and ORD */
#define KT_PATIENCE	(60 * HZ) /* long, because an emulated machine is slow */

extern const struct kt_check kt_frmr_checks[];
extern const struct kt_check kt_message_checks[];
extern const struct kt_check kt_queue_checks[];
extern const struct kt_check kt_cq_checks[];
extern const struct kt_check kt_large_checks[];
extern unsigned int kt_failures;

#define KT_EXPECT(cond)                                                        \
	({                                                                     \
		bool kt_ok = (cond);                                           \
		if (!kt_ok) {                                                  \
			kt_failures++;                                         \
			pr_warn("ktest: failed: %s:%d: %s\n", __func__,        \
				__LINE__, #cond);                              \
		}                                                              \
		kt_ok;                                                         \
	})

/* ktest_rnic.c; @ndev: any registered network device */
void kt_check_register(struct net_device *ndev);

int kt_listen(__be32 addr);
void kt_unlisten(void);
struct ib_device *kt_device(void);
int kt_pair_open(struct kt_pair *pair, unsigned int srq);
void kt_pair_close(struct kt_pair *pair);
bool kt_pair_ended(struct kt_pair *pair);
bool kt_event_wait(struct kt_side *side, enum ib_event_type type);

void kt_op_init(struct kt_op *op);
int kt_do(struct kt_side *side, struct ib_send_wr *wr, enum ib_wc_opcode opcode);
int kt_op_wait(struct kt_op *op);

int kt_mem_alloc(struct kt_mem *mem, struct ib_pd *pd, unsigned int npages);
void kt_mem_free(struct kt_mem *mem);
int kt_mem_map(struct kt_mem *mem, unsigned int offset);
u8 kt_octet(unsigned int at, u8 seed);
void kt_mem_fill(struct kt_mem *mem, u8 seed);
bool kt_mem_is(struct kt_mem *mem, unsigned int from, unsigned int to, u8 seed);

int kt_post_reg(struct kt_side *side, struct kt_mem *mem, u32 key, int access);
int kt_post_inv(struct kt_side *side, u32 key, int flags);
int kt_post_recv(struct kt_side *side, struct kt_op *op, struct ib_sge *sge);
int kt_post_empty(struct kt_side *side, struct kt_op *op);
int kt_post_send(struct kt_side *side, struct ib_sge *sge, u32 invalidate);
int kt_post_rdma(struct kt_side *side, enum ib_wr_opcode opcode,
		 struct ib_sge *sge, u64 addr, u32 key);

struct ib_sge kt_sge(const struct kt_mem *mem, u32 len);
void kt_reg_both(struct kt_bed *bed, int access);
int kt_run_all(bool large);

#endif /* KRDMA_KTEST_H */
