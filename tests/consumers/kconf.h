/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The kernel half of the conformance test of RNIC providers: a consumer that knows no other
 * interface than krdma/kal.h. For the files:
 *
 * - kconf_main.c: the RNIC, the checks one after another, the table of known faults
 * - kconf_bed.c: what the checks share: connections, memory, work requests
 * - kconf_objects.c: checks of attributes, PDs, CQs, regions and windows
 * - kconf_qp.c: checks of queue pairs and shared receive queues without a connection
 * - kconf_conn.c: checks of connections and endpoints
 * - kconf_messages.c: checks of Sends
 * - kconf_rdma.c: checks of RDMA operations and of rights
 * - kconf_queues.c: checks of queues that are full, flushed and destroyed
 */
#ifndef KCONF_H
#define KCONF_H

#include <linux/spinlock.h>
#include <linux/wait.h>

#include <krdma/kal.h>

#define KCONF_QUEUE	16	/* work requests of a queue, if a check says nothing else */
#define KCONF_CQ	128	/* completions of a CQ */
#define KCONF_READS	4	/* IRD and ORD that each side asks for */
#define KCONF_PATIENCE	(10 * HZ)

/* Rights of a peer to a region */
#define KCONF_READ	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ)
#define KCONF_WRITE	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE)

/**
 * struct kconf_check - a check
 * @name: unique
 * @run: the check; the runner frees what is in the bed afterwards
 */
struct kconf_check {
	const char *name;
	void (*run)(void);
};

/* each ends with an empty entry */
extern const struct kconf_check kconf_object_checks[];
extern const struct kconf_check kconf_qp_checks[];
extern const struct kconf_check kconf_conn_checks[];
extern const struct kconf_check kconf_message_checks[];
extern const struct kconf_check kconf_rdma_checks[];
extern const struct kconf_check kconf_queue_checks[];

/**
 * struct kconf - the run
 * @rnic: RNIC under test
 * @local: address that clients connect from
 * @remote: address that the listener has, with the port
 * @missing: the check found that the RNIC does not have what it is about
 * @failed: expectations that were not met
 * @where: the first of them
 */
struct kconf {
	struct ri_rnic *rnic;
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
	bool missing;
	unsigned int failed;
	char where[160];
};

extern struct kconf kconf;

bool kconf_expect(bool met, const char *file, int line, const char *what);

/* Is @cond true? The first that is not is the check's verdict. */
#define KCONF_EXPECT(cond) kconf_expect(!!(cond), __FILE__, __LINE__, #cond)

/* The RNIC does not have the verb: it must say so by its attributes (@absent) and by the call. */
#define KCONF_MISSING(absent, err) do {						\
	if (KCONF_EXPECT(absent) && KCONF_EXPECT((err) == -EOPNOTSUPP))		\
		kconf.missing = true;						\
} while (0)

/**
 * struct kconf_end - what was reported of an endpoint
 * @ep: endpoint, NULL: none
 * @heard: woken by each report
 * @lock: protects the members below
 * @count: events by type
 * @status: of the last event of each type
 * @ird: of the last event that has it
 * @ord: of the last event that has it
 * @local: of the last event
 * @remote: of the last event
 * @data_len: bytes in @data
 * @data: private data of the last event
 * @child: of a listener: endpoint of a request that no check has taken
 * @children: of a listener: the end that the next request gets
 * @expected: of a listener: first bytes of that request's private data. A request of a client that
 *	is gone may come late, and is refused.
 */
struct kconf_end {
	struct kal_ep *ep;
	wait_queue_head_t heard;
	spinlock_t lock;	/* protects the members below */
	unsigned int count[KAL_EP_CLOSED + 1];
	int status[KAL_EP_CLOSED + 1];
	u16 ird;
	u16 ord;
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
	u16 data_len;
	u8 data[RI_PRIVATE_DATA_MAX];
	struct kal_ep *child;
	struct kconf_end *children;
	u32 expected;
};

/**
 * struct kconf_side - one side of a connection
 * @pd: protection domain
 * @dma: region of all kernel memory for local use, if the RNIC has it
 * @scq: completions of the send queue
 * @rcq: completions of the receive queue
 * @borrowed: @rcq is another side's
 * @srq: shared receive queue, or NULL
 * @qp: queue pair
 * @end: endpoint
 * @events: asynchronous events of @qp and @srq by enum ib_event_type, atomic
 * @completions: reports of completions of @rcq
 */
struct kconf_side {
	struct ri_pd *pd;
	struct ri_mr *dma;
	struct ri_cq *scq;
	struct ri_cq *rcq;
	bool borrowed;
	struct ri_srq *srq;
	struct ri_qp *qp;
	struct kconf_end end;
	unsigned long events;
	atomic_t completions;
};

/**
 * struct kconf_opts - what a side is to have; 0 stands for the usual
 * @send_wr: size of the send queue
 * @recv_wr: size of the receive queue
 * @inline_data: bytes
 * @srq_wr: size of a shared receive queue, 0: none
 * @some_signalled: completions only of requests that ask for them
 * @rcq: another side's CQ for receives
 */
struct kconf_opts {
	u32 send_wr;
	u32 recv_wr;
	u32 inline_data;
	u32 srq_wr;
	bool some_signalled;
	struct ri_cq *rcq;
};

/**
 * struct kconf_mem - contiguous memory, mapped for an RNIC
 * @page: first page
 * @order: of the allocation
 * @size: bytes
 * @va: address
 * @dma: address for the RNIC
 * @mr: region for fast registration of all of it, with the last page first
 */
struct kconf_mem {
	struct page *page;
	unsigned int order;
	size_t size;
	u8 *va;
	u64 dma;
	struct ri_mr *mr;
};

#define KCONF_IOVA	0x4b0000000ULL	/* tagged offset of a region's first byte */

/**
 * struct kconf_req - a work request with at most one element
 * @op: operation
 * @id: wr_id
 * @flags: enum ib_send_flags
 * @addr: element, none if @len is 0
 * @len: its length
 * @lkey: its STag; 0: the side's @dma
 * @remote: tagged offset of the peer
 * @rkey: STag of the peer
 * @imm: immediate data
 * @invalidate: STag
 * @add: of an atomic operation: number to add, or to compare
 * @swap: of an atomic operation
 */
struct kconf_req {
	enum ib_wr_opcode op;
	u64 id;
	int flags;
	u64 addr;
	u32 len;
	u32 lkey;
	u64 remote;
	u32 rkey;
	u32 imm;
	u32 invalidate;
	u64 add;
	u64 swap;
};

/**
 * struct kconf_bed - what a check works with
 * @listener: listener
 * @client: connecting sides
 * @server: accepting sides
 * @near: memory of client[0]
 * @far: memory of server[0]
 *
 * Zeroed before each check. The runner frees what a check left in it.
 */
struct kconf_bed {
	struct kconf_end listener;
	struct kconf_side client[2];
	struct kconf_side server[2];
	struct kconf_mem near;
	struct kconf_mem far;
};

extern struct kconf_bed kconf_bed;

void kconf_bed_init(void);
void kconf_bed_close(void);

/* ends and connections */
int kconf_end_create(struct kconf_end *end);
void kconf_end_destroy(struct kconf_end *end);
bool kconf_end_hears(struct kconf_end *end, enum kal_ep_event_type type);
int kconf_end_status(struct kconf_end *end, enum kal_ep_event_type type);
int kconf_listen(struct kconf_end *children);
struct kal_ep *kconf_request(void);
int kconf_connect(struct kconf_side *client, const void *data, u16 len);
int kconf_accept(struct kconf_side *server, const void *data, u16 len);
bool kconf_pair_open(unsigned int i, const struct kconf_opts *client,
		     const struct kconf_opts *server);
bool kconf_bed_open(const struct kconf_opts *client, const struct kconf_opts *server, size_t size);

/* sides */
bool kconf_side_open(struct kconf_side *side, const struct kconf_opts *opts);
void kconf_side_close(struct kconf_side *side);
struct ri_cq *kconf_cq_create(u32 depth, u32 ceh, struct kconf_side *side);
enum ib_qp_state kconf_state(struct kconf_side *side);
bool kconf_broken(struct kconf_side *side);

/* memory */
size_t kconf_mem_most(size_t wanted);
bool kconf_mem_open(struct kconf_mem *mem, size_t size);
void kconf_mem_close(struct kconf_mem *mem);
void kconf_mem_fill(struct kconf_mem *mem, u8 seed);
bool kconf_mem_is(struct kconf_mem *mem, size_t from, size_t to, u8 seed);
bool kconf_mem_register(struct kconf_side *side, struct kconf_mem *mem, int access);
bool kconf_mem_map(struct kconf_side *side, struct kconf_mem *mem, int access);
bool kconf_mem_same(struct kconf_mem *region, struct kconf_mem *plain, size_t len);
bool kconf_mem_region_is(struct kconf_mem *region, size_t from, size_t to, u8 value);

/* work requests */
int kconf_post(struct kconf_side *side, const struct kconf_req *req);
int kconf_post_recv(struct kconf_side *side, u64 id, u64 addr, u32 len);
int kconf_poll(struct ri_cq *cq, struct ib_wc *wc);
int kconf_next(struct ri_cq *cq, struct kconf_side *side, u64 id, struct ib_wc *wc);
int kconf_done(struct kconf_side *side, u64 id, struct ib_wc *wc);
int kconf_received(struct kconf_side *side, u64 id, struct ib_wc *wc);
int kconf_do(struct kconf_side *side, const struct kconf_req *req);
bool kconf_no_more(struct ri_cq *cq);

#endif /* KCONF_H */
