/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The queue pair: its queues, its state, and the data that the transmitter, the receiver and
 * the rest of the module share. The transmitter, the receiver and the direct path keep their
 * private data in structures of their own.
 *
 * The queues never call the code above them. They request work in three ways: they queue the
 * transmitter's work (soft_qp_kick()), the work of a waiting receiver (struct soft_rq_waiter),
 * or ctl_work with a bit in @todo.
 *
 * Contexts:
 *  - The transmitter (tx/) runs in process context, under tx->mutex: in the system call that
 *    rings the doorbell, in the post call of a kernel consumer that may sleep, in tx_work or
 *    in tx->poll_work.
 *  - The receiver (rx/) runs under the socket lock: in softirq for little data, in
 *    rx->waiter.work for much data, in the sender's process context on the direct path.
 *  - State changes (../qp.c) happen in process context. The receiver and the socket callbacks
 *    only set a bit in @todo; ctl_work does the rest.
 *
 * Lock order: tx->mutex, socket lock, @lock, queue locks, CQ lock.
 */
#ifndef SOFT_QUEUES_QP_H
#define SOFT_QUEUES_QP_H

#include <linux/workqueue.h>
#include <krdma/rnicpi.h>
#include <net/sock.h>
#include <net/tcp_states.h>

#include "../base/rnic.h"
#include "../memory/memory.h"
#include "../wire/ddp.h"
#include "cq.h"
#include "recvq.h"
#include "sendq.h"

struct soft_direct;
struct soft_rx;
struct soft_tx;

/** enum soft_qp_state - state of a QP (draft-hilland-rddp-verbs 6.2) */
enum soft_qp_state {
	SOFT_QP_IDLE,
	SOFT_QP_RTS,
	SOFT_QP_CLOSING,	/* posted work is sent, then the stream ends */
	SOFT_QP_TERMINATE,	/* a Terminate is sent, then the stream ends */
	SOFT_QP_ERROR,
};

/* bits of soft_qp.todo, handled by ctl_work */
enum {
	SOFT_TODO_PEER_CLOSED,	/* FIN, RST or time-out of the stream */
	SOFT_TODO_FINISH,	/* the transmitter has sent the last byte */
	SOFT_TODO_TIMEOUT,	/* the transmitter has not, within soft_close_timeout_ms */
	SOFT_TODO_CQ_LOST,	/* a completion did not fit in its CQ */
};

/**
 * struct soft_read_in - an RDMA Read or an atomic operation of the peer
 * @is_atomic: atomic operation, not an RDMA Read
 * @msn: message sequence number of the request
 * @req: the RDMA Read
 * @atomic: the atomic operation
 */
struct soft_read_in {
	bool is_atomic;
	u32 msn;
	union {
		struct soft_read_req req;
		struct soft_atomic_req atomic;
	};
};

/**
 * struct soft_read_out - a local RDMA Read or atomic operation that waits for its response
 * @slot: send queue slot, SOFT_NO_SLOT for the RTR frame
 * @last: last request of its work request
 * @is_atomic: atomic operation, not an RDMA Read
 * @msn: message sequence number of the request
 * @id: identifier of an atomic operation
 * @stag: STag of the sink
 * @to: tagged offset in the sink
 * @len: bytes of the response
 * @got: bytes that have been placed
 */
struct soft_read_out {
	u32 slot;
	bool last;
	bool is_atomic;
	u32 msn;
	u32 id;
	u32 stag;
	u64 to;
	u32 len;
	u32 got;
};

#define SOFT_NO_SLOT	U32_MAX

/**
 * struct soft_qp - queue pair
 * @rnic: the RNIC
 * @mem: identity and rights for its memory accesses
 * @tx: its transmitter
 * @rx: its receiver
 * @direct: its state for the direct path
 * @sig_all: every send work request generates a completion
 * @max_inline: most bytes of inline data
 * @sq: send queue
 * @own_rq: receive queue, empty when there is a shared one
 * @rq: the receive queue in use
 * @rwqe: current receive work request; used by the receiver only
 * @rwqe_status: completion status of @rwqe when the stream fails; used by the receiver only
 * @tx_work: runs the transmitter
 * @llp: the stream; changes under tx.mutex and the socket's lock together
 * @mpa: parameters negotiated for the stream
 * @peer: the other end of the stream, if it is a QP of this host; changes under both the lock
 *	of the table of streams and @lock
 * @lock: protects the fields up to @term
 * @state: state of the queue pair
 * @peer_done: the peer has closed its half of the stream: messages in progress are finished,
 *	no new one begins; under tx.mutex
 * @peer_ready: an FPDU of the peer has arrived, or this side is the initiator
 * @in: ring of the peer's RDMA Reads and atomic operations to answer, soft_in_size() entries
 * @in_head: oldest entry of @in
 * @in_count: entries in @in
 * @in_leaving: the last segment of the oldest entry's response is being handed to a peer on
 *	this host, which may send its next request before the hand-over returns; written by the
 *	transmitter, read without a lock
 * @out: ring of local RDMA Reads and atomic operations without response, ord entries
 * @out_head: oldest entry of @out
 * @out_count: entries in @out
 * @tx_waits: the transmitter waits for responses
 * @tx_waits_for: the wait ends when @out_count falls to this number
 * @term_pending: @term has to be sent
 * @term: reason for the end of the stream; the first reason counts
 * @status: errno for the consumer of the endpoint
 * @sent: traffic counters for all streams; under tx.mutex
 * @received: traffic counters for all streams; used by the receiver
 * @retransmissions: TCP retransmissions of ended streams
 * @todo: SOFT_TODO_*, atomic bits
 * @ctl_work: handles the bits of @todo
 * @close_timer: ends a close that takes too long
 */
struct soft_qp {
	struct ri_qp ri;
	struct soft_rnic *rnic;
	struct soft_mem_user mem;
	struct soft_tx *tx;
	struct soft_rx *rx;
	struct soft_direct *direct;
	bool sig_all;
	u32 max_inline;
	struct soft_sq sq;
	struct soft_rq own_rq;
	struct soft_rq *rq;

	struct soft_rwqe rwqe;
	enum ib_wc_status rwqe_status;
	struct work_struct tx_work;

	struct ri_llp *llp;
	struct soft_qp *peer;
	struct ri_mpa_params mpa;

	spinlock_t lock;
	enum soft_qp_state state;
	bool peer_done;
	bool peer_ready;
	struct soft_read_in *in;
	u32 in_head;
	u32 in_count;
	bool in_leaving;
	struct soft_read_out *out;
	u32 out_head;
	u32 out_count;
	bool tx_waits;
	u32 tx_waits_for;
	bool term_pending;
	struct soft_term term;
	int status;

	struct ri_traffic sent;
	struct ri_traffic received;
	u64 retransmissions;

	unsigned long todo;
	struct work_struct ctl_work;
	struct delayed_work close_timer;
};

/** soft_in_size() - entries of the ring of the peer's requests: one for soft_qp.in_leaving */
static inline u32 soft_in_size(const struct soft_qp *qp)
{
	return qp->mpa.ird + 1;
}

static inline struct soft_qp *to_soft_qp(struct ri_qp *ri)
{
	return container_of(ri, struct soft_qp, ri);
}

static inline struct soft_cq *soft_send_cq(struct soft_qp *qp)
{
	return to_soft_cq(qp->ri.send_cq);
}

static inline struct soft_cq *soft_recv_cq(struct soft_qp *qp)
{
	return to_soft_cq(qp->ri.recv_cq);
}

/* qp.c */
void soft_qp_event(struct soft_qp *qp, enum ib_event_type event);
void soft_qp_fail(struct soft_qp *qp, const struct soft_term *term,
		  bool send_term, int status);
void soft_qp_todo(struct soft_qp *qp, int what);
bool soft_qp_flush_some(struct soft_qp *qp);
void soft_qp_flush(struct soft_qp *qp);
void soft_qp_purge(struct soft_qp *qp);
void soft_qp_forget(struct soft_qp *qp);
void soft_qp_wake_peer(struct soft_qp *qp);

/** soft_qp_kick() - start the transmitter's work; any context */
static inline void soft_qp_kick(struct soft_qp *qp)
{
	queue_work(soft_wq, &qp->tx_work);
}

/* the peer's FIN or RST has arrived, or our own end was closed */
static inline bool soft_sk_closed(const struct sock *sk)
{
	return READ_ONCE(sk->sk_state) != TCP_ESTABLISHED;
}

/* count an FPDU, and a message if the DDP header has the L bit */
static inline void soft_traffic_fpdu(struct ri_traffic *traffic, const u8 *ddp)
{
	traffic->fpdus++;
	if (ddp[0] & SOFT_DDP_LAST)
		traffic->messages++;
}

#endif /* SOFT_QUEUES_QP_H */
