/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Internal interfaces of the transmitter. All of these functions run under tx->mutex.
 */
#ifndef SOFT_TX_INTERNAL_H
#define SOFT_TX_INTERNAL_H

#include <linux/unaligned.h>

#include "../queues/segment.h"
#include "../wire/mpa_framing.h"
#include "tx.h"

/* most payload of a segment; the receiver's socket is locked during the copy */
#define SOFT_DIRECT_PAYLOAD	(256 * 1024U)

/*
 * Messages up to this size are built as FPDUs and handed over together. That costs a second copy
 * and, if the stream uses it, the CRC. Longer messages are copied one by one, from memory to
 * memory.
 */
#define SOFT_DIRECT_RUN		4096U
#define SOFT_DIRECT_RUN_CRC	1024U

/* bytes that can be copied to a peer on this host in the time of one byte through TCP */
#define SOFT_DIRECT_COST	4

/** enum soft_step - result of one step of the build */
enum soft_step {
	SOFT_STEP_BUILT,	/* something was built, try again */
	SOFT_STEP_FULL,		/* no room until something is sent */
	SOFT_STEP_EMPTY,	/* nothing to send */
	SOFT_STEP_BLOCKED,	/* the next message waits for the peer */
};

/* tx.c */
bool soft_tx_run(struct soft_qp *qp, u64 budget);

/* choose.c */
enum soft_step soft_tx_build(struct soft_qp *qp);
bool soft_tx_out_add(struct soft_qp *qp, const struct soft_read_out *out);

/* build.c */
u8 *soft_tx_reserve(struct soft_qp *qp, u32 ulpdu_len);
void soft_tx_seal(struct soft_qp *qp, u8 *p, u32 n);
void soft_tx_commit(struct soft_tx *tx, u32 n, u32 fpdus);
u32 soft_tx_header(const struct soft_msg *msg, u8 *p, u32 n);
u32 soft_tx_locate(struct soft_msg *msg, struct soft_place *at, u32 n);
enum soft_step soft_tx_go_on(struct soft_qp *qp, u32 mulpdu);
void soft_tx_msg_done(struct soft_qp *qp, struct soft_msg *msg);
void soft_tx_msg_refused(struct soft_qp *qp, struct soft_msg *msg,
			 enum soft_access why);
void soft_tx_in_done(struct soft_qp *qp);
void soft_tx_refused(struct soft_qp *qp, const u8 *raw, u32 n, u32 done,
		     enum soft_access why);
void soft_tx_wr_failed(struct soft_qp *qp, u32 slot, enum ib_wc_status status);

/* push.c */
enum soft_step soft_tx_push(struct soft_qp *qp);
enum soft_step soft_tx_to_wire(struct soft_qp *qp);
enum soft_step soft_tx_direct(struct soft_qp *qp);

/* Bytes before the payload of each segment, ULPDU_Length included. */
static inline u32 soft_tx_header_len(const struct soft_msg *msg)
{
	bool tagged = soft_op(msg->opcode)->flags & SOFT_OP_TAGGED;

	return SOFT_MPA_HDR + (tagged ? SOFT_TAGGED_HDR : SOFT_UNTAGGED_HDR);
}

/* Append zeroed pad and CRC to @n bytes of ULPDU_Length and ULPDU. Return: bytes of the FPDU. */
static __always_inline u32 soft_tx_tail(u8 *p, u32 n)
{
	u32 tail = soft_mpa_pad(n - SOFT_MPA_HDR) + SOFT_MPA_CRC;

	/* the two stores overlap; the CRC field exists also with CRC off (RFC 5044 4.4) */
	put_unaligned_le32(0, p + n);
	put_unaligned_le32(0, p + n + tail - SOFT_MPA_CRC);
	return n + tail;
}

/* Compute and store the CRC of an FPDU of @n bytes. */
static inline void soft_tx_crc(u8 *p, u32 n)
{
	soft_crc_end(soft_crc_add(soft_crc_begin(), p, n - SOFT_MPA_CRC),
		     p + n - SOFT_MPA_CRC);
}

/* Are there requests to answer? The receiver starts the transmitter after it adds one. */
static inline bool soft_tx_has_requests(const struct soft_qp *qp)
{
	return READ_ONCE(qp->in_count);
}

/* poll.c */
bool soft_poll_begin(struct soft_qp *qp);
void soft_poll_work(struct work_struct *work);

/* localop.c */
enum ib_wc_status soft_local_wr(struct soft_qp *qp,
				const struct krdma_soft_sqe *wqe);

/* run.c */
void soft_tx_more(struct soft_qp *qp);

/* pages.c */
void soft_tx_pages_swap(struct soft_tx *tx);
void soft_tx_pages_drop(struct page_frag *frag);
bool soft_tx_pages_next(struct page_frag *frag, u32 want);

/**
 * soft_tx_pages_refill() - make room at the end of a block
 * @frag: rest of the block; replaced by a new block if too short
 * @want: bytes wanted
 *
 * When memory is short, the room may be less than @want, but never less than a page.
 * Context: may sleep.
 * Return: false when there is no room.
 */
static inline bool soft_tx_pages_refill(struct page_frag *frag, u32 want)
{
	return (frag->page && frag->offset + want <= frag->size) ||
	       soft_tx_pages_next(frag, want);
}

/* atomic.c */
enum soft_step soft_tx_start_atomic(struct soft_qp *qp,
				    const struct krdma_soft_sqe *wqe, u32 slot);
enum soft_step soft_tx_atomic_resp(struct soft_qp *qp,
				   const struct soft_read_in *in);

/* immediate.c */
void soft_tx_imm_with_send(struct soft_tx *tx, struct soft_msg *msg,
			   const struct krdma_soft_sqe *wqe);
void soft_tx_imm_with_write(struct soft_tx *tx, struct soft_msg *msg,
			    const struct krdma_soft_sqe *wqe);
enum soft_step soft_tx_imm(struct soft_qp *qp, struct soft_msg *msg);

#endif /* SOFT_TX_INTERNAL_H */
