/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The transmitter: its state, and its interface to the rest of the module.
 */
#ifndef SOFT_TX_H
#define SOFT_TX_H

#include <linux/bvec.h>
#include <linux/mm_types_task.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "../memory/memory.h"
#include "../queues/qp.h"
#include "pace.h"

struct soft_direct_seg;

/** enum soft_msg_kind - what the transmitter is sending */
enum soft_msg_kind {
	SOFT_MSG_NONE,
	SOFT_MSG_WR,		/* a work request of the send queue */
	SOFT_MSG_READ_RESP,	/* answer to the peer's RDMA Read */
};

/** enum soft_imm_due - when an Immediate Data message belongs to another */
enum soft_imm_due {
	SOFT_IMM_NEVER,
	SOFT_IMM_NOW,		/* it is next */
	SOFT_IMM_AFTER,		/* the other's last segment */
	SOFT_IMM_GIVEN,		/* it was the last, and the other is over when it has gone */
};

/**
 * struct soft_msg - the message that is being cut into FPDUs
 * @kind: what it is
 * @opcode: RDMAP opcode
 * @slot: of the send queue, for SOFT_MSG_WR
 * @len: octets of payload
 * @off: octets that are in FPDUs already
 * @inv_stag: RsvdULP[8:39] of an untagged message
 * @stag: of a tagged message
 * @to: tagged offset of its first octet
 * @msn: and of the request that SOFT_MSG_READ_RESP answers
 * @inline_data: payload, or NULL for @sge
 * @sge: payload
 * @sge_off: octets of the first element of @sge that are sent
 * @imm_due: Immediate Data that belongs to it
 * @imm_solicited: asks for a solicited event
 * @imm_msn: message sequence number of that
 * @imm: its octets
 * @read: of SOFT_MSG_READ_RESP, the request
 */
struct soft_msg {
	enum soft_msg_kind kind;
	u8 opcode;
	u32 slot;
	u32 len;
	u32 off;
	u32 msn;
	u32 inv_stag;
	u32 stag;
	u64 to;
	const u8 *inline_data;
	const struct krdma_soft_sge *sge;
	u32 sge_off;
	enum soft_imm_due imm_due;
	bool imm_solicited;
	u32 imm_msn;
	u64 imm;
	struct soft_read_req read;
};

/**
 * struct soft_tx_ops - the way to a peer on this host, which knows its receiver
 * @change: may the stream leave TCP; false when the transmitter is to wait
 * @push: hand tx->seg to the peer's receiver
 * @give: hand FPDUs that were built to the peer's receiver
 *
 * See soft_direct_switch(), soft_direct_push() and soft_direct_give(). Context: the transmitter.
 */
struct soft_tx_ops {
	bool (*change)(struct soft_qp *qp);
	int (*push)(struct soft_qp *qp);
	u32 (*give)(struct soft_qp *qp, u32 *fpdus);
};

/* the transmitter gathers this many pieces for one send */
#define SOFT_TX_VECS	32

/**
 * struct soft_tx - transmitter; all of it under @mutex but @poll_work
 * @qp: whose it is
 * @ops: the way to the peer on this host
 * @frag: pages that FPDUs are being built in, while it runs
 * @vec: octets built and not taken by TCP; each holds a page reference
 * @nvec: entries of @vec in use
 * @staged: octets in @vec
 * @staged_fpdus: FPDUs built since the last send
 * @seq_built: stream octets built so far
 * @msn: next Send or Immediate Data, next Read or Atomic Request (by queue number)
 * @atomic_resp_msn: next Atomic Response
 * @msg: message under way
 * @resp_turn: an answer comes next if there is one, a work request otherwise
 * @rtr: frame that the MPA initiator owes before any other
 * @mem: where payload was taken from last
 * @pace: how its poster announces what is posted
 * @poll_work: looks at the send queue in place of that
 * @polled: it counts for tx_pollers
 * @looking: and runs: nobody need ring
 * @direct: what is built goes to the peer's receiver, no longer to TCP
 * @seg: there: what is to go next
 * @pushed: octets that went there in this turn
 */
struct soft_tx {
	struct soft_qp *qp;
	const struct soft_tx_ops *ops;
	struct mutex mutex;
	struct page_frag frag;
	struct bio_vec vec[SOFT_TX_VECS];
	u32 nvec;
	u32 staged;
	u32 staged_fpdus;
	u64 seq_built;
	u32 msn[2];
	u32 atomic_resp_msn;
	struct soft_msg msg;
	bool resp_turn;
	enum ri_rtr rtr;
	struct soft_mem_cache mem;
	struct soft_pace pace;
	struct work_struct poll_work;
	bool polled;
	bool looking;
	bool direct;
	struct soft_direct_seg *seg;
	u32 pushed;
};

/* tx.c */
void soft_tx_init(struct soft_tx *tx, struct soft_qp *qp,
		  struct soft_gather *gather, const struct soft_tx_ops *ops);
void soft_tx_reset(struct soft_tx *tx);
bool soft_tx_owes(const struct soft_qp *qp);
void soft_tx_begin(struct soft_qp *qp);
void soft_tx_run_inline(struct soft_qp *qp, bool posted);

/* pages.c */
int soft_tx_pages_init(void);
void soft_tx_pages_exit(void);

#endif /* SOFT_TX_H */
