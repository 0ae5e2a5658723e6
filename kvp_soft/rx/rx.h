/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The receiver: its state, and its interface to the rest of the module.
 */
#ifndef SOFT_RX_H
#define SOFT_RX_H

#include <linux/workqueue.h>
#include <net/sock.h>

#include "../memory/memory.h"
#include "../queues/qp.h"
#include "../wire/ddp.h"

struct soft_direct_seg;

/**
 * struct soft_rx - receiver; under the socket's lock but @wait_timer, @waiter
 * @qp: whose it is
 * @bounce: an FPDU whose octets did not come in one piece
 * @bounce_len: octets in @bounce
 * @bounce_size: octets allocated
 * @bounce_want: octets that an FPDU has needed
 * @bounce_ready: octets of the FPDU in @bounce, checked and without its markers
 * @marked_pos: stream position of the next FPDU, kept when the peer sends markers
 * @stopped: what still arrives is dropped
 * @apart: segments of the socket buffer at hand are handled one by one
 * @held: an FPDU could not be handled yet; nothing behind it is looked at
 * @may_sleep: the receiver is where it may
 * @waiting: because no receive work request is posted
 * @wait_expired: for too long
 * @waiter: its work, and in which queue it waits
 * @wait_timer: ends the wait
 * @untagged: what the next segment of each queue must say
 * @write_len: octets of the RDMA Write that arrived last, or is arriving, since
 *	the last message that consumed a receive
 * @in_write: it is incomplete
 * @imm_kept: the Send that is next has immediate data
 * @imm: that
 * @mem: where payload was placed last
 * @seq_read: stream octets taken from TCP, or from the peer on this host in its place
 * @push_waits: a peer on this host waits until all from TCP is taken
 * @pushing: it is in the receiver, and looks at what the segment asked for
 */
struct soft_rx {
	struct soft_qp *qp;
	u8 *bounce;
	u32 bounce_len;
	u32 bounce_size;
	u32 bounce_want;
	u32 bounce_ready;
	u64 marked_pos;
	bool stopped;
	bool apart;
	bool held;
	bool may_sleep;
	bool waiting;
	bool wait_expired;
	struct soft_rq_waiter waiter;
	struct delayed_work wait_timer;
	struct soft_untagged_state untagged[SOFT_QNS];
	u32 write_len;
	bool in_write;
	bool imm_kept;
	__be32 imm;
	struct soft_mem_cache mem;
	u64 seq_read;
	bool push_waits;
	bool pushing;
};

/* rx.c */
void soft_rx_init(struct soft_rx *rx, struct soft_qp *qp);
void soft_rx_reset(struct soft_rx *rx);
void soft_rx_ready(struct soft_qp *qp, struct sock *sk);
void soft_rx_drain(struct soft_qp *qp);
bool soft_rx_in_message(const struct soft_qp *qp);
int soft_rx_caught_up(struct soft_qp *qp, u64 seq);

/* segment.c */
int soft_rx_direct(struct soft_qp *qp, const struct soft_direct_seg *seg);
u32 soft_rx_direct_fpdus(struct soft_qp *qp, const u8 *p, u32 len, u32 *fpdus);

/* wait.c */
void __soft_rx_wait_end(struct soft_qp *qp);

/**
 * soft_rx_wait_end() - the QP waits no longer, if it did
 * @qp: queue pair
 * Context: the receiver, or with the receiver stopped.
 */
static inline void soft_rx_wait_end(struct soft_qp *qp)
{
	if (qp->rx->waiting)
		__soft_rx_wait_end(qp);
}

#endif /* SOFT_RX_H */
