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

/** enum soft_msg_kind - kind of the current message */
enum soft_msg_kind {
	SOFT_MSG_NONE,
	SOFT_MSG_WR,		/* a work request of the send queue */
	SOFT_MSG_READ_RESP,	/* the response to the peer's RDMA Read */
};

/** enum soft_imm_due - when to build the Immediate Data message of the current message */
enum soft_imm_due {
	SOFT_IMM_NEVER,
	SOFT_IMM_NOW,		/* in the next step */
	SOFT_IMM_AFTER,		/* after the last segment of the current message */
	SOFT_IMM_GIVEN,		/* built after the last segment; the current message is done */
};

/**
 * struct soft_msg - the current message, which is being cut into FPDUs
 * @kind: kind of message
 * @opcode: RDMAP opcode
 * @slot: slot of the send queue, for SOFT_MSG_WR
 * @len: bytes of payload
 * @off: bytes of payload that are in FPDUs already
 * @inv_stag: RsvdULP[8:39] of an untagged message
 * @stag: STag of a tagged message
 * @to: tagged offset of the first byte
 * @msn: message sequence number; of SOFT_MSG_READ_RESP, that of the request
 * @inline_data: payload; NULL when @sge locates it
 * @sge: next element of the payload
 * @sge_off: bytes of @sge that have been sent
 * @imm_due: when to build the Immediate Data message
 * @imm_solicited: the Immediate Data message asks for a solicited event
 * @imm_msn: its message sequence number
 * @imm: its eight bytes
 * @read: the request, for SOFT_MSG_READ_RESP
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
 * struct soft_tx_ops - functions to reach the receiver of a peer on this host
 * @change: make the stream leave TCP if possible; false when the transmitter has to wait
 * @push: hand tx->seg to the peer's receiver
 * @give: hand built FPDUs to the peer's receiver
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
 * @qp: its queue pair
 * @ops: functions to reach a peer on this host
 * @frag: pages in which FPDUs are being built, while the transmitter runs
 * @vec: built bytes that TCP has not taken; each entry holds a page reference
 * @nvec: entries of @vec in use
 * @staged: bytes in @vec
 * @staged_fpdus: FPDUs built since the last send
 * @seq_built: stream bytes built so far
 * @msn: next message sequence numbers, by queue number: of Sends and Immediate Data, of Read
 *	and Atomic Requests
 * @atomic_resp_msn: message sequence number of the next Atomic Response
 * @msg: current message
 * @resp_turn: a response is sent before a work request
 * @rtr: ready-to-receive frame that the MPA initiator has to send first
 * @mem: cache: the memory from which payload was read last
 * @pace: pacing of the poster's doorbells
 * @poll_work: poller of the send queue
 * @polled: the queue pair counts for tx_pollers
 * @looking: the poller is running, so no doorbell is needed
 * @direct: data is passed to the receiver of a peer on this host, not to TCP
 * @seg: segment to push next on the direct path; NULL before the first switch to it
 * @pushed: bytes that were pushed since the last send
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
