/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Internal interfaces of the receiver. All of these functions run under the socket lock.
 *
 * A handler returns 0, or an errno and sets soft_rx_seg.term to the Terminate to send. -EAGAIN
 * and -ESTALE are exceptions without a Terminate, see soft_rx_handled().
 */
#ifndef SOFT_RX_INTERNAL_H
#define SOFT_RX_INTERNAL_H

#include <linux/skbuff.h>

#include "../queues/segment.h"
#include "rx.h"

/**
 * struct soft_window - bytes of a socket buffer that are contiguous in memory
 * @skb: the socket buffer
 * @data: the first byte
 * @begin: offset of @data in the socket buffer
 * @end: offset behind the last byte
 * @next: the bytes at offset @end, or NULL at the end of the socket buffer
 * @next_len: number of bytes at @next
 * @part: buffer that holds @next: @skb or an entry of its fragment list
 * @piece: number of the piece behind @next in @part
 */
struct soft_window {
	struct sk_buff *skb;
	const u8 *data;
	u32 begin;
	u32 end;
	const u8 *next;
	u32 next_len;
	struct sk_buff *part;
	u32 piece;
};

/**
 * struct soft_src - location of the bytes of an FPDU
 * @skb: socket buffer; NULL when @lin is used
 * @off: offset of the FPDU in @skb
 * @lin: the whole FPDU; with @direct, only its headers
 * @direct: segment whose payload is in the memory of a queue pair of this host, or NULL
 * @more: bytes behind the FPDU at @lin, contiguous with it
 * @stride: distance of joined FPDUs, see soft_src_join(); 0 when none are joined
 * @hdr: bytes before the payload of each joined FPDU
 * @body: bytes of payload in each joined FPDU
 */
struct soft_src {
	struct sk_buff *skb;
	u32 off;
	const u8 *lin;
	const struct soft_direct_seg *direct;
	u32 more;
	u32 stride;
	u32 hdr;
	u32 body;
};

/**
 * struct soft_rx_seg - a segment that the receiver handles
 * @seg: decoded header
 * @src: location of its bytes
 * @raw: ULPDU_Length and headers as received
 * @term: Terminate to send when the segment is refused
 */
struct soft_rx_seg {
	struct soft_seg seg;
	struct soft_src src;
	u8 raw[SOFT_HDR_MAX];
	struct soft_term term;
};

/* source.c */
void soft_window_open(struct soft_window *w, struct sk_buff *skb);
void soft_window_step(struct soft_window *w);
void soft_src_copy(const struct soft_src *src, u32 off, void *dst, u32 n);
bool soft_src_crc_ok(const struct soft_src *src, u32 len);
int soft_src_place(const struct soft_src *src, u32 off,
		   const struct soft_mem *mem, u64 to, u32 n);
u32 soft_src_join(struct soft_src *src, struct soft_seg *seg, const u8 *raw,
		  bool crc);
void soft_src_part(struct soft_src *src, struct soft_seg *seg);

/**
 * soft_window_at() - find contiguous bytes of a socket buffer
 * @w: window of the buffer
 * @off: offset of the first byte; must not decrease from call to call
 * @n: number of bytes
 * Return: the first byte, or NULL when the bytes are not contiguous.
 */
static inline const u8 *soft_window_at(struct soft_window *w, u32 off, u32 n)
{
	while (off >= w->end && w->next)
		soft_window_step(w);
	return off + n <= w->end ? w->data + (off - w->begin) : NULL;
}

/* bytes before the payload of a segment, ULPDU_Length included */
static inline u32 soft_payload_off(const struct soft_seg *seg)
{
	return SOFT_MPA_HDR + seg->hdr_len;
}

/* rx.c */
void soft_rx_resume(struct soft_qp *qp);

/* segment.c */
void soft_rx_mpa_error(struct soft_qp *qp, u8 code);
int soft_rx_handled(struct soft_qp *qp, struct soft_rx_seg *s, int ret);
u32 soft_rx_fpdu(struct soft_qp *qp, const struct soft_src *src, u32 len,
		 u16 ulpdu_len);

/* deliver.c */
int soft_rx_refused(struct soft_qp *qp, struct soft_rx_seg *s,
		    enum soft_access why);
int soft_rx_bad_opcode(struct soft_rx_seg *s);
int soft_rx_local_error(struct soft_qp *qp, struct soft_rx_seg *s,
			enum ib_wc_status status);
int soft_rx_receive(struct soft_qp *qp, struct soft_rx_seg *s);
int soft_rx_dispatch(struct soft_qp *qp, struct soft_rx_seg *s);
bool soft_rx_join_ok(struct soft_qp *qp, const struct soft_seg *seg);
int soft_rx_in_check(struct soft_qp *qp, struct soft_rx_seg *s);
void soft_rx_in_add(struct soft_qp *qp, const struct soft_read_in *in);
void soft_rx_out_done(struct soft_qp *qp);

/* terminate.c */
int soft_rx_terminate(struct soft_qp *qp, struct soft_rx_seg *s);

/* wait.c */
void soft_rx_wait_init(struct soft_rx *rx);
int soft_rx_claim(struct soft_qp *qp);

/* run.c */
u32 soft_rx_more(struct soft_qp *qp, struct soft_rx_seg *s, u32 len);

/* atomic.c */
int soft_rx_atomic_req(struct soft_qp *qp, struct soft_rx_seg *s);
int soft_rx_atomic_resp(struct soft_qp *qp, struct soft_rx_seg *s);

/* immediate.c */
int soft_rx_imm(struct soft_qp *qp, struct soft_rx_seg *s);

#endif /* SOFT_RX_INTERNAL_H */
