/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Endpoints and their requests as the data path sees them, from the post to the event. The rules
 * here save instructions, atomic operations and cache lines, at the price of understanding. The
 * rest of kDAPL has none of that.
 *
 * - slots.h, slots.c: memory for requests, taken and given back by an atomic operation, not a lock
 * - post.h: the short way of a post: one segment that needs no translation; RCU by preemption
 * - events/complete.c: the short way of a completion: one look at the flags and the status
 * - batch.h: upcalls take the events of a batch without the lock of the event dispatcher
 *
 * What it is worth, by the clock that counts instructions (tests/bench/run -m icount -o '*kDAPL*'),
 * for a Send of 64 bytes with its receive: of 3,760 instructions, 447 are this layer's: 253 for
 * posts, 69 for completions, 125 for polling and upcalls. A consumer of ib_core has 69 in its
 * place. Without the short ways and the batches, Sends of 64 bytes had 0.85 of ib_core's rate,
 * those of 4 KiB 0.90 and Writes of 64 bytes 0.84. Now they have 0.98, 0.99 and 1.00. The table is
 * in docs/kdapl.md, "Cost".
 */
#ifndef KDAT_FAST_H
#define KDAT_FAST_H

#include <linux/completion.h>
#include <linux/workqueue.h>

#include "../base/base.h"
#include "entry.h"
#include "slots.h"

struct kdat_cr;
struct kdat_evd;
struct kdat_sp;
struct kdat_srq;

#define kdat_ep_of(h)	((struct kdat_ep *)kdat_obj(h, DAT_HANDLE_TYPE_EP))

/**
 * struct kdat_ep_queues - queue pair of an endpoint and the room in CQs that it has
 * @qp: queue pair; NULL after the removal of the RNIC
 * @recv_evd: its completions of receives
 * @request_evd: its completions of requests
 * @srq: shared receive queue, or NULL
 * @recv_reserved: completions reserved in the CQ of @recv_evd; with @srq under its mutex
 * @request_reserved: in the CQ of @request_evd
 * @node: in kdat_srq.queues
 * @requests: for kdat_ep.requests
 * @recvs: for kdat_ep.recvs
 */
struct kdat_ep_queues {
	struct ri_qp *qp;
	struct kdat_evd *recv_evd;
	struct kdat_evd *request_evd;
	struct kdat_srq *srq;
	u32 recv_reserved;
	u32 request_reserved;
	struct list_head node;
	struct kdat_slots requests;
	struct kdat_slots recvs;
};

/** enum kdat_establishing - a connection that was made, and is to be reported */
enum kdat_establishing {
	KDAT_ESTABLISHING_NONE,
	KDAT_ESTABLISHING_ACTIVE,	/* by this endpoint */
	KDAT_ESTABLISHING_PASSIVE,	/* by the peer */
};

/**
 * struct kdat_ep - endpoint
 * @obj: head
 * @mutex: see above; protects what has no other rule
 * @state: DAT_EP_STATE; changed under @mutex by kdat_ep_set_state(), read with READ_ONCE()
 * @early: its receives are held, see evd_early.c; under the lock of @recv_evd, as the next three
 * @early_first: oldest one that is held, NULL: none
 * @early_last: youngest one
 * @early_node: in kdat_evd.early
 * @pz: protection zone, NULL: unconfigured
 * @recv_evd: completions of receives, NULL: none
 * @request_evd: completions of requests
 * @connect_evd: connection events
 * @srq: shared receive queue, NULL: none
 * @attr: attributes as granted
 * @qp: queue pair; NULL while unconfigured and after the removal of the RNIC. A new one takes its
 *	place only while the endpoint is not connected and has no posted receive.
 * @queues: what belongs to @qp, NULL while unconfigured
 * @changes: of the configuration
 * @connected: @qp had a connection
 * @resetting: dat_ep_reset() runs
 * @pushed: the consumer calls dat_ep_push() after its posts; @mutex
 * @last_wqe: @qp takes nothing more from @srq
 * @requests: posted requests
 * @recvs: posted receives, unless there is @srq
 * @conn: connection or attempt, NULL: none
 * @cr: tentative connection request, NULL: none; kdat_ia.mutex
 * @calls: calls of cm.c that use the endpoint now; the end of the endpoint waits for them
 * @disconnecting: the consumer asked for the end of the connection
 * @patience: in jiffies: when a graceful end does not wait any longer for posted requests
 * @timed_out: the consumer's time for the attempt has passed
 * @quiet: the end of the connection has been reported, and it still has to end
 * @establishing: enum kdat_establishing: the connection has to be reported; mutex
 * @established_by: in jiffies: when it is, at the latest
 * @local: own address of the connection
 * @remote: the peer's
 * @private_data: of the peer's answer; valid until the next connection
 * @private_data_len: its length
 * @timeout: ends a connection attempt after the consumer's time, or a connection when its requests
 *	are complete, or flushes after a failure
 * @sp: RSP or SSP that reserved the endpoint, NULL: none; kdat_ia.mutex
 * @source: local address of the next connect, AF_UNSPEC: any; mutex
 * @reads: RDMA Reads at a time that both ends agreed on, in either direction; -1: @attr's, as there
 *	was no connection
 * @traffic: what dat_ep_set_traffic() has said; mutex
 * @query_lock: what dat_ep_query() shows and only threads with @mutex change is changed with both:
 *	pz to attr without @early, @local, @remote, @reads. Alone it protects the next two; any
 *	context
 * @param_local: what the pointers of dat_ep_query() show
 * @param_remote: the same
 */
struct kdat_ep {
	struct kdat_obj obj;
	struct mutex mutex;	/* see above */
	DAT_EP_STATE state;
	bool early;
	struct kdat_pz *pz;
	struct kdat_evd *recv_evd;
	struct kdat_evd *request_evd;
	struct kdat_evd *connect_evd;
	struct kdat_srq *srq;
	DAT_EP_ATTR attr;
	struct kdat_dto *early_first;
	struct kdat_dto *early_last;
	struct list_head early_node;
	struct ri_qp *qp;
	struct kdat_ep_queues *queues;
	u32 changes;
	bool connected;
	bool resetting;
	bool pushed;
	struct completion last_wqe;
	struct kdat_slots requests;
	struct kdat_slots recvs;
	struct kal_ep *conn;
	struct kdat_cr *cr;
	atomic_t calls;
	bool disconnecting;
	unsigned long patience;
	bool timed_out;
	bool quiet;
	u8 establishing;
	unsigned long established_by;
	struct sockaddr_storage source;
	struct {
		bool set;
		u8 tos;
		u32 priority;
		u32 mark;
	} traffic;
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
	struct {
		DAT_COUNT in;
		DAT_COUNT out;
	} reads;
	u8 private_data[RI_PRIVATE_DATA_MAX];
	u16 private_data_len;
	struct delayed_work timeout;
	struct kdat_sp *sp;
	spinlock_t query_lock;	/* see above */
	struct sockaddr_storage param_local;
	struct sockaddr_storage param_remote;
};

/*
 * Ask this, in the section of RCU, before a request is taken for a post: while the endpoint is
 * reset, it has no queue pair, and its requests are taken back.
 */
static inline bool kdat_ep_has_qp(const struct kdat_ep *ep)
{
	return READ_ONCE(ep->qp);
}

/* Posted requests *********************************************************** */

/* Take back what is in use of @slots: its completions cannot come any more. May sleep. */
void kdat_slots_reset(struct kdat_slots *slots);
/*
 * Post @wr for @dto, whose cookie, op and object are set, on the request queue of @ep: sets length,
 * flags, wr_id and the send flags (beside those that are set). On failure the slot is given back;
 * the use of dto->object stays the caller's. The RNIC is held. Any context.
 */
DAT_RETURN kdat_dto_post(struct kdat_ep *ep, struct kdat_dto *dto, struct ib_send_wr *wr,
			 DAT_COMPLETION_FLAGS flags);

/* What a post answers when the kAL or kDAPL refuses it with @err. */
DAT_RETURN kdat_dto_errno(const struct kdat_ep *ep, int err);

#endif /* KDAT_FAST_H */
