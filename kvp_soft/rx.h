/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Inside the receiver: a segment on its way, and what rx.c has for the files that
 * handle messages of their own. All of it runs under the socket's lock.
 *
 * A handler returns 0, or an errno with the Terminate to send in soft_rx_seg.term.
 */
#ifndef SOFT_RX_H
#define SOFT_RX_H

#include "qp.h"

struct sk_buff;

/**
 * struct soft_src - where the octets of an FPDU are
 * @skb: socket buffer, or NULL for @lin
 * @off: of the FPDU in @skb
 * @lin: all of the FPDU, or with @direct its headers
 * @direct: its payload is in the memory of a queue pair of this host, or NULL
 */
struct soft_src {
	struct sk_buff *skb;
	u32 off;
	const u8 *lin;
	const struct soft_direct_seg *direct;
};

/**
 * struct soft_rx_seg - a segment on its way through the receiver
 * @seg: decoded header
 * @src: its octets
 * @raw: ULPDU_Length and headers as received
 * @term: what to send when it is refused
 */
struct soft_rx_seg {
	struct soft_seg seg;
	struct soft_src src;
	u8 raw[SOFT_HDR_MAX];
	struct soft_term term;
};

/* rx.c */
int soft_rx_caught_up(struct soft_qp *qp, u64 seq);
int soft_rx_direct(struct soft_qp *qp, const struct soft_direct_seg *seg);
int soft_rx_refused(struct soft_qp *qp, struct soft_rx_seg *s,
		    enum soft_access why);
int soft_rx_bad_opcode(struct soft_rx_seg *s);
int soft_rx_local_error(struct soft_qp *qp, struct soft_rx_seg *s,
			enum ib_wc_status status);
int soft_rx_receive(struct soft_qp *qp, struct soft_rx_seg *s);
int soft_rx_in_check(struct soft_qp *qp, struct soft_rx_seg *s);
void soft_rx_in_add(struct soft_qp *qp, const struct soft_read_in *in);
void soft_rx_out_done(struct soft_qp *qp);

/* atomic.c */
int soft_rx_atomic_req(struct soft_qp *qp, struct soft_rx_seg *s);
int soft_rx_atomic_resp(struct soft_qp *qp, struct soft_rx_seg *s);

/* immediate.c */
int soft_rx_imm(struct soft_qp *qp, struct soft_rx_seg *s);

#endif /* SOFT_RX_H */
