/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Inside the transmitter: what tx.c has for the files that build messages of
 * their own. All of it runs under tx.mutex.
 */
#ifndef SOFT_TX_H
#define SOFT_TX_H

#include "qp.h"

/** enum soft_step - result of one step of the build */
enum soft_step {
	SOFT_STEP_BUILT,	/* something was built, try again */
	SOFT_STEP_FULL,		/* no room until something is sent */
	SOFT_STEP_EMPTY,	/* nothing to send */
	SOFT_STEP_BLOCKED,	/* what there is waits for the peer */
};

/* tx.c */
u8 *soft_tx_reserve(struct soft_qp *qp, u32 ulpdu_len);
void soft_tx_seal(struct soft_qp *qp, u8 *p, u32 n);
bool soft_tx_out_add(struct soft_qp *qp, const struct soft_read_out *out);
void soft_tx_in_done(struct soft_qp *qp);
void soft_tx_refused(struct soft_qp *qp, const u8 *raw, u32 n, u32 done,
		     enum soft_access why);
void soft_tx_wr_failed(struct soft_qp *qp, u32 slot, enum ib_wc_status status);

/* txpages.c */
int soft_tx_pages_init(void);
void soft_tx_pages_exit(void);
void soft_tx_pages_swap(struct soft_tx *tx);
void soft_tx_pages_drop(struct page_frag *frag);
bool soft_tx_pages_next(struct page_frag *frag, u32 want);

/**
 * soft_tx_pages_refill() - room at the end of what is left of a block
 * @frag: that
 * @want: octets
 *
 * May be less when memory is short, but never less than a page. Context: may sleep.
 * Return: false when there is none.
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

#endif /* SOFT_TX_H */
