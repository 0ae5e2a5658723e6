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
 * struct soft_rx - receiver; under the socket lock, except @wait_timer and @waiter
 * @qp: its queue pair
 * @bounce: buffer for an FPDU that is spread over socket buffers, or has markers
 * @bounce_len: bytes in @bounce
 * @bounce_size: bytes allocated
 * @bounce_want: bytes that were last requested for @bounce
 * @bounce_ready: bytes of the FPDU in @bounce, once it is checked and its markers are removed;
 *	otherwise 0
 * @marked_pos: stream position of the next FPDU, if the peer sends markers
 * @stopped: further data is dropped
 * @apart: segments of the current socket buffer are handled one by one
 * @held: an FPDU has to be handled again later; no later data is handled before
 * @may_sleep: the receiver runs in a context that may sleep
 * @waiting: the receiver waits for a receive work request
 * @wait_expired: rx_wait_ms have passed in this wait
 * @waiter: the receiver's work, and its entry in the list of a receive queue
 * @wait_timer: ends the wait
 * @untagged: expected MSN and MO of each untagged queue
 * @write_len: bytes of the last or current RDMA Write since the last message that consumed a
 *	receive
 * @in_write: that RDMA Write is incomplete
 * @imm_kept: @imm belongs to the next Send
 * @imm: immediate data of the next Send
 * @mem: cache: the memory in which payload was placed last
 * @seq_read: stream bytes taken from TCP, or from the peer on this host
 * @push_waits: a peer on this host waits until all data from TCP has been read
 * @pushing: a push of the peer is in progress; after it, the peer's thread runs our transmitter
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
 * soft_rx_wait_end() - end the wait of a QP, if it waits
 * @qp: queue pair
 * Context: the receiver, or with the receiver stopped.
 */
static inline void soft_rx_wait_end(struct soft_qp *qp)
{
	if (qp->rx->waiting)
		__soft_rx_wait_end(qp);
}

#endif /* SOFT_RX_H */
