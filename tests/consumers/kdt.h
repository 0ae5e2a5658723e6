/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * kdapltest.ko: a consumer of kDAPL that serves, transacts and measures. For the files:
 *
 * - kdt_uapi.h: what the program of the same name asks for
 * - kdt_main.c: the device, runs and their threads
 * - kdt_link.c: a connection: memory, set-up, end
 * - kdt_trans.c: the transaction test
 * - kdt_perf.c: the performance test
 * - kdt_limits.c: the limits test
 * - kdt_dapl.c: kDAPL below all that
 * - kdt_verbs.c: ib_core and rdma_cm in its place, to measure kDAPL by
 *
 * A client opens each connection with a struct kdt_hello as private data, from which the server
 * knows the size of its queues. Both then exchange a struct kdt_setup: the test, and where each
 * side has its memory.
 */
#ifndef KDT_H
#define KDT_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "kdt_uapi.h"

#define KDT_MAGIC	0x6b445450	/* "kDTP" */
#define KDT_VERSION	1
#define KDT_PATIENCE	(60 * HZ)	/* for a peer's next word */
#define KDT_END		(10 * HZ)	/* for the end of a connection */
#define KDT_MEMORY	(1ULL << 30)	/* bytes of a run */
#define KDT_READS	8	/* RDMA Reads at once */
#define KDT_QUEUE	4096	/* receives or requests of a connection */

struct kdt_link;
struct kdt_run;

/**
 * struct kdt_hello - private data of a connection request
 * @magic: KDT_MAGIC
 * @version: KDT_VERSION
 * @mode: enum kdt_mode
 * @nops: operations
 * @segments: most that one has
 * @pipeline: of a performance test
 * @pad: 0
 */
struct kdt_hello {
	__be32 magic;
	__be16 version;
	__be16 mode;
	__be16 nops;
	__be16 segments;
	__be16 pipeline;
	__be16 pad;
};

/**
 * struct kdt_wire_op - an operation in a struct kdt_setup
 * @server: of struct kdt_op
 * @kind: of struct kdt_op
 * @segments: of struct kdt_op
 * @size: of struct kdt_op
 * @addr: sender's memory for it
 * @rkey: key of the memory
 * @pad: 0
 */
struct kdt_wire_op {
	u8 server;
	u8 kind;
	__be16 segments;
	__be32 size;
	__be64 addr;
	__be32 rkey;
	__be32 pad;
};

/**
 * struct kdt_setup - first message of each side
 * @magic: KDT_MAGIC
 * @nops: operations
 * @seed: of the data
 * @ops: the first @nops are given
 */
struct kdt_setup {
	__be32 magic;
	__be32 nops;
	__be64 seed;
	struct kdt_wire_op ops[KDT_OPS];
};

/**
 * struct kdt_spec - what a connection is for
 * @mode: KDT_TRANSACTIONS or KDT_PERFORMANCE
 * @nops: operations
 * @segments: most that one has
 * @pipeline: of a performance test
 * @seed: of the data
 * @ops: operations
 */
struct kdt_spec {
	u32 mode;
	u32 nops;
	u32 segments;
	u32 pipeline;
	u64 seed;
	struct kdt_op ops[KDT_OPS];
};

/* A local segment. Its layout is that of DAT_LMR_TRIPLET and of struct ib_sge. */
struct kdt_seg {
	u64 addr;
	u32 len;
	u32 key;
};

/* Rights to memory */
#define KDT_MEM_SINK	BIT(0)	/* of own RDMA Reads */
#define KDT_MEM_READ	BIT(1)	/* by the peer */
#define KDT_MEM_WRITE	BIT(2)	/* by the peer */

/**
 * struct kdt_mem - memory
 * @va: contiguous, NULL: none
 * @size: bytes
 * @addr: its address for the RNIC
 * @lkey: key for local use
 * @rkey: key for the peer
 * @priv: of the API
 */
struct kdt_mem {
	void *va;
	size_t size;
	u64 addr;
	u32 lkey;
	u32 rkey;
	void *priv;
};

/* Times *********************************************************************/

#define KDT_BUCKETS	1952	/* 32 for each power of two */

/**
 * struct kdt_hist - times
 * @count: how many
 * @sum: of all, nanoseconds
 * @min: nanoseconds
 * @max: nanoseconds
 * @bucket: how many of about the same
 */
struct kdt_hist {
	u64 count;
	u64 sum;
	u64 min;
	u64 max;
	u32 bucket[KDT_BUCKETS];
};

void kdt_hist_merge(struct kdt_hist *to, const struct kdt_hist *from);
void kdt_hist_latency(const struct kdt_hist *hist, struct kdt_latency *latency);

static inline void kdt_hist_add(struct kdt_hist *hist, u64 ns)
{
	unsigned int shift = ns < 64 ? 0 : __fls(ns) - 5;

	if (!hist->count++ || ns < hist->min)
		hist->min = ns;
	if (ns > hist->max)
		hist->max = ns;
	hist->sum += ns;
	hist->bucket[(shift << 5) + (ns >> shift)]++;
}

/* Connections ****************************************************************/

/* Cookies of requests and receives that both tests have; theirs follow. */
enum {
	KDT_COOKIE_SETUP_SEND,
	KDT_COOKIE_SETUP_RECV,
	KDT_COOKIES,
};

/* Messages of a few bytes are in struct kdt_link.ctl, behind both struct kdt_setup. */
#define KDT_CTL_SETUP	1024
#define KDT_CTL_SLOT	64
#define KDT_CTL_SLOTS	(2 * (KDT_OPS + 1) + 4)
#define KDT_CTL_BYTES	(2 * KDT_CTL_SETUP + KDT_CTL_SLOTS * KDT_CTL_SLOT)

/**
 * struct kdt_trans - a connection's side of the transaction test
 * @iteration: number of the transaction
 * @received: receives that completed, in order, so far
 * @taken: of these, those that were looked at
 * @sent: requests that completed
 * @posted: requests that were posted
 * @per_iteration: receives of a transaction
 * @stamp: begin of the operation
 * @len: bytes that were received, by slot
 */
struct kdt_trans {
	u64 iteration;
	u64 received;
	u64 taken;
	u64 sent;
	u64 posted;
	u32 per_iteration;
	u64 stamp;
	u32 len[2 * (KDT_OPS + 1)];
};

/**
 * struct kdt_perf - a connection's side of the performance test
 * @total: operations to do
 * @posted: operations posted
 * @completed: operations completed
 * @slot: of the next one
 * @done_slot: of the next one that completes
 * @credits: Sends that the server has receives for
 * @depth: receives of the server
 * @batch: receives that it makes known with a message
 * @since: receives posted since the last one
 * @flushed: what was done has arrived
 * @nsegs: segments
 * @segs: of every operation
 * @hist: times
 * @stamp: when the operation was posted, by slot
 */
struct kdt_perf {
	u64 total;
	u64 posted;
	u64 completed;
	u32 slot;
	u32 done_slot;
	u32 credits;
	u32 depth;
	u32 batch;
	u32 since;
	bool flushed;
	u32 nsegs;
	struct kdt_seg segs[KDT_SEGMENTS];
	struct kdt_hist *hist;
	u64 *stamp;
};

/**
 * struct kdt_test - a kind of test
 * @queues: sizes of the queues of a side; sets @recvs, @requests and @cookies
 * @ready: the memory is there: post the first receives
 * @done: a request or receive completed; any context but hard interrupt
 * @serve: the server's side, until the client ends; sleeps
 * @free: give back what @ready made
 */
struct kdt_test {
	void (*queues)(struct kdt_link *link);
	int (*ready)(struct kdt_link *link);
	void (*done)(struct kdt_link *link, u32 cookie, u32 bytes);
	int (*serve)(struct kdt_link *link);
	void (*free)(struct kdt_link *link);
};

extern const struct kdt_test kdt_trans_test;
extern const struct kdt_test kdt_perf_test;

/**
 * struct kdt_link - a connection
 * @run: run
 * @node: in kdt_run.links
 * @server: this is the side of the server
 * @spec: what it is for
 * @test: kind of test
 * @recvs: size of the receive queue
 * @requests: size of the request queue
 * @cookies: numbers that requests and receives have, from 0
 * @lock: protects @perf; any context
 * @wait: woken by each change that a thread may wait for
 * @established: the connection was established
 * @closed: the connection ended
 * @closing: this side ends it: errors are no news
 * @setup: bits: completions of KDT_COOKIE_SETUP_*
 * @setup_bytes: of the message that was received
 * @error: first failure
 * @ctl: messages of few bytes
 * @mem: memory of each operation
 * @remote: the peer's memory of each operation
 * @memory: bytes that count for kdt_run.memory
 * @trans: of a transaction test
 * @perf: of a performance test
 * @priv: of the API
 * @request: of the API: what the server may accept
 */
struct kdt_link {
	struct kdt_run *run;
	struct list_head node;
	bool server;
	struct kdt_spec spec;
	const struct kdt_test *test;
	u32 recvs;
	u32 requests;
	u32 cookies;
	spinlock_t lock;	/* protects perf */
	wait_queue_head_t wait;
	bool established;
	bool closed;
	bool closing;
	unsigned long setup;
	u32 setup_bytes;
	int error;
	struct kdt_mem ctl;
	struct kdt_mem mem[KDT_OPS];
	struct kdt_seg remote[KDT_OPS];
	u64 memory;
	union {
		struct kdt_trans trans;
		struct kdt_perf perf;
	};
	void *priv;
	void *request;
};

struct kdt_link *kdt_link_new(struct kdt_run *run, bool server);
void kdt_link_free(struct kdt_link *link);
int kdt_link_join(struct kdt_link *link);
bool kdt_hello_read(const void *data, size_t len, struct kdt_spec *spec);
void kdt_hello_write(const struct kdt_link *link, struct kdt_hello *hello);

/* for the API; any context but hard interrupt */
void kdt_link_done(struct kdt_link *link, u32 cookie, bool failed, u32 bytes, const char *status);
void kdt_link_established(struct kdt_link *link);
void kdt_link_closed(struct kdt_link *link);
void kdt_link_failed(struct kdt_link *link, int error, const char *what);

static inline bool kdt_link_own(const struct kdt_link *link, const struct kdt_op *op)
{
	return op->server == link->server;
}

static inline u32 kdt_op_bytes(const struct kdt_op *op)
{
	return op->size * op->segments;
}

/* The small message @slot, and its local segment of @len bytes */
static inline void *kdt_ctl(struct kdt_link *link, u32 slot)
{
	return link->ctl.va + 2 * KDT_CTL_SETUP + slot * KDT_CTL_SLOT;
}

static inline struct kdt_seg kdt_ctl_seg(struct kdt_link *link, u32 slot, u32 len)
{
	return (struct kdt_seg){
		.addr = link->ctl.addr + 2 * KDT_CTL_SETUP + slot * KDT_CTL_SLOT,
		.len = len,
		.key = link->ctl.lkey,
	};
}

void kdt_link_sync(struct kdt_link *link, const struct kdt_seg *seg, bool back);
bool kdt_link_over(struct kdt_link *link);
int kdt_link_why(struct kdt_link *link);

/* Wait until @cond. Return: 0, or why it cannot become true. */
#define kdt_link_wait(link, cond) ({						\
	wait_event_idle_timeout((link)->wait, (cond) || kdt_link_over(link),	\
				KDT_PATIENCE);					\
	(cond) ? 0 : kdt_link_why(link);					\
})

/* APIs ***********************************************************************/

/**
 * struct kdt_calls - an API
 * @open: open the RNIC of the run
 * @close: close it
 * @listen: connection requests are passed to kdt_serve() from now on
 * @unlisten: no more
 * @prepare: make what a connection needs: @recvs, @requests and @cookies are known
 * @join: connect or accept, and wait until the connection is established
 * @leave: end the connection: nothing is reported of requests and receives any more
 * @destroy: undo @prepare, or reject the request
 * @mem_open: make memory known to the RNIC, with KDT_MEM_* rights beside local ones; the
 *	connection is established if there are any
 * @mem_close: undo that
 * @mem_sync: give part of a memory to the RNIC, or back from it; NULL: data are not looked at
 * @recv: post a receive
 * @send: post a Send
 * @write: post an RDMA Write to @remote
 * @read: post an RDMA Read of @remote
 */
struct kdt_calls {
	int (*open)(struct kdt_run *run);
	void (*close)(struct kdt_run *run);
	int (*listen)(struct kdt_run *run);
	void (*unlisten)(struct kdt_run *run);
	int (*prepare)(struct kdt_link *link);
	int (*join)(struct kdt_link *link, const struct kdt_hello *hello);
	void (*leave)(struct kdt_link *link);
	void (*destroy)(struct kdt_link *link);
	int (*mem_open)(struct kdt_link *link, struct kdt_mem *mem, u32 rights);
	void (*mem_close)(struct kdt_link *link, struct kdt_mem *mem);
	void (*mem_sync)(struct kdt_link *link, const struct kdt_seg *seg, bool back);
	int (*recv)(struct kdt_link *link, const struct kdt_seg *segs, u32 num, u32 cookie);
	int (*send)(struct kdt_link *link, const struct kdt_seg *segs, u32 num, u32 cookie);
	int (*write)(struct kdt_link *link, const struct kdt_seg *segs, u32 num, u32 cookie,
		     const struct kdt_seg *remote);
	int (*read)(struct kdt_link *link, const struct kdt_seg *segs, u32 num, u32 cookie,
		    const struct kdt_seg *remote);
};

extern const struct kdt_calls kdt_dapl_calls;
extern const struct kdt_calls kdt_verbs_calls;

/* Runs ***********************************************************************/

/**
 * struct kdt_thread - a thread of a run
 * @run: run
 * @node: in kdt_run.threads
 * @task: task
 * @link: a server's connection
 * @finished: the thread does nothing any more
 */
struct kdt_thread {
	struct kdt_run *run;
	struct list_head node;
	struct task_struct *task;
	struct kdt_link *link;
	bool finished;
};

/**
 * struct kdt_run - a run
 * @args: what is asked for, and the result
 * @calls: the API
 * @priv: of the API
 * @net: network namespace
 * @wait: woken when a thread finishes, when all are connected, and when the run is to stop
 * @stop: the run is to stop
 * @unready: threads that are not connected
 * @memory: bytes in use
 * @mutex: protects @links, @threads and @nlinks
 * @links: connections
 * @threads: threads
 * @nlinks: number of connections
 * @lock: protects all below, and the results in @args; taken with softirqs off
 * @begin: when all were connected, nanoseconds
 * @end: when the last one was through
 * @hist: times
 */
struct kdt_run {
	struct kdt_args *args;
	const struct kdt_calls *calls;
	void *priv;
	struct net *net;
	wait_queue_head_t wait;
	bool stop;
	atomic_t unready;
	atomic64_t memory;
	struct mutex mutex;	/* protects links, threads and nlinks */
	struct list_head links;
	struct list_head threads;
	u32 nlinks;
	spinlock_t lock;	/* protects all below */
	u64 begin;
	u64 end;
	struct kdt_hist hist;
};

/* The first failure is the run's. @stop: it ends the run. Any context but hard interrupt. */
void kdt_run_failed(struct kdt_run *run, int error, const char *what, bool stop);
/* A connection request came. Return: 0: a thread has @request, else it is the caller's. Sleeps. */
int kdt_serve(struct kdt_run *run, const struct kdt_spec *spec, void *request,
	      void (*claim)(struct kdt_link *link));
/* All connections of a client's thread do what the run is for. Sleeps. */
int kdt_trans_run(struct kdt_run *run, struct kdt_link **links, u32 num, struct kdt_hist *hist);
int kdt_perf_run(struct kdt_run *run, struct kdt_link **links, u32 num, struct kdt_hist *hist);
void kdt_run_count(struct kdt_run *run, u64 operations, u64 bytes, u64 verified);
bool kdt_run_over(const struct kdt_run *run);
int kdt_limits_run(struct kdt_run *run);

#endif /* KDT_H */
