// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The source of received data: one piece of a socket buffer, several pieces, or the memory of
 * a queue pair on this host; and the copy from there to its destination.
 */
#include <linux/skbuff.h>

#include "../memory/memory.h"
#include "internal.h"

/* Find the next piece: the linear part, the fragments, then the same for the fragment list. */
static __always_inline void soft_rx_window_peek(struct soft_window *w)
{
	const skb_frag_t *frag;

	w->next = NULL;
	if (w->part && w->piece > skb_shinfo(w->part)->nr_frags) {
		w->part = w->part == w->skb ? skb_shinfo(w->skb)->frag_list :
					      w->part->next;
		w->piece = 0;
	}
	if (!w->part)
		return;
	if (!w->piece++) {
		w->next = w->part->data;
		w->next_len = skb_headlen(w->part);
		return;
	}
	frag = &skb_shinfo(w->part)->frags[w->piece - 2];
	w->next = skb_frag_address(frag);
	w->next_len = skb_frag_size(frag);
}

/* Go to the next piece, and include contiguous pieces: a sender's pages mostly are. */
void soft_window_step(struct soft_window *w)
{
	w->data = w->next;
	w->begin = w->end;
	do {
		w->end += w->next_len;
		soft_rx_window_peek(w);
	} while (w->next && w->next == w->data + (w->end - w->begin));
}

/**
 * soft_window_open() - begin to read a socket buffer through a window
 * @w: window to initialize
 * @skb: socket buffer, readable
 */
void soft_window_open(struct soft_window *w, struct sk_buff *skb)
{
	*w = (struct soft_window){ .skb = skb, .part = skb };
	/* fragments may have no kernel address: leave the window empty, so bytes are copied */
	if (IS_ENABLED(CONFIG_HIGHMEM))
		w->part = NULL;
	soft_rx_window_peek(w);
}

/** soft_src_copy() - copy @n bytes of an FPDU from @off on */
void soft_src_copy(const struct soft_src *src, u32 off, void *dst, u32 n)
{
	if (src->skb)
		/* cannot fail: the range was found in the buffer */
		WARN_ON_ONCE(skb_copy_bits(src->skb, src->off + off, dst, n));
	else
		memcpy(dst, src->lin + off, n);
	/* the pages of a sender on this host may change: only the copy may be used */
	barrier_data(dst);
}

/* The next piece, limited to @n: skb_seq_read() returns whole fragments. */
static u32 soft_rx_src_piece(struct skb_seq_state *st, u32 done, u32 n,
			     const u8 **data)
{
	return min(skb_seq_read(done, data, st), n - done);
}

/* CRC of the first @n bytes. */
static u32 soft_rx_src_crc(const struct soft_src *src, u32 n)
{
	u32 crc = soft_crc_begin();
	struct skb_seq_state st;
	const u8 *data;
	u32 done, len;

	if (!src->skb)
		return soft_crc_add(crc, src->lin, n);
	skb_prepare_seq_read(src->skb, src->off, src->off + n, &st);
	for (done = 0; (len = soft_rx_src_piece(&st, done, n, &data)); done += len)
		crc = soft_crc_add(crc, data, len);
	return crc;
}

/**
 * soft_src_crc_ok() - is the CRC of an FPDU correct?
 * @src: location of the FPDU, markers included
 * @len: bytes of the FPDU
 */
bool soft_src_crc_ok(const struct soft_src *src, u32 len)
{
	u8 wire[SOFT_MPA_CRC];

	soft_src_copy(src, len - SOFT_MPA_CRC, wire, sizeof(wire));
	return soft_crc_ok(soft_rx_src_crc(src, len - SOFT_MPA_CRC), wire);
}

/* Copy from the sender's memory, which may have been invalidated since the sender's check. */
static int soft_rx_src_move(const struct soft_direct_seg *seg, u32 off,
			    const struct soft_mem *mem, u64 to, u32 n)
{
	const struct soft_place *at = &seg->at;
	struct soft_mem *src;

	off -= seg->len;
	if (soft_mem_get_cached(seg->from, seg->cache, at->stag, at->to + off, n,
				at->need, &src))
		return -ESTALE;
	soft_mem_move(mem, to, src, at->to + off, n);
	soft_mem_put(src);
	return 0;
}

/* Copy from contiguous FPDUs of the same length. */
static void soft_rx_src_place_joined(const struct soft_src *src, u32 off,
				     const struct soft_mem *mem, u64 to, u32 n)
{
	const u32 fpdu = (off - src->hdr) / src->body;
	const u32 skip = off - src->hdr - fpdu * src->body;
	struct soft_parts parts = {
		.first = (u8 *)src->lin + src->hdr + fpdu * src->stride,
		.len = src->body,
		.gap = src->stride - src->body,
	};
	u32 head;

	if (skip) {
		head = min(n, src->body - skip);
		soft_mem_write(mem, to, parts.first + skip, head);
		parts.first += src->stride;
		to += head;
		n -= head;
	}
	soft_mem_write_parts(mem, to, &parts, n);
}

/**
 * soft_src_place() - copy payload to its destination
 * @src: location of the payload
 * @off: offset of the first byte to copy: offset of the payload in the first FPDU plus an offset
 *	in the payload
 * @mem: destination, allowed by soft_mem_get()
 * @to: tagged offset in @mem
 * @n: bytes to copy
 *
 * Return: 0, or -ESTALE when the sender's memory was invalidated, an error of the sender.
 */
int soft_src_place(const struct soft_src *src, u32 off,
		   const struct soft_mem *mem, u64 to, u32 n)
{
	struct skb_seq_state st;
	const u8 *data;
	u32 done, len;

	if (src->direct)
		return soft_rx_src_move(src->direct, off, mem, to, n);
	if (src->stride) {
		soft_rx_src_place_joined(src, off, mem, to, n);
		return 0;
	}
	if (!src->skb) {
		soft_mem_write(mem, to, src->lin + off, n);
		return 0;
	}
	skb_prepare_seq_read(src->skb, src->off + off, src->off + off + n, &st);
	for (done = 0; (len = soft_rx_src_piece(&st, done, n, &data)); done += len)
		soft_mem_write(mem, to + done, data, len);
	return 0;
}

/**
 * soft_src_join() - join the FPDUs behind an FPDU with it
 * @src: location of the FPDU, in one piece
 * @seg: segment of the FPDU; its payload length grows
 * @raw: its headers as received
 * @crc: the stream uses CRCs
 *
 * Joins FPDUs of the same length that continue the message, as long as they are contiguous with
 * the first. Then one check and one lookup of the memory serve all of them. Their headers are
 * read once, since a sender on this host may change them.
 * Return: number of joined FPDUs; soft_src_part() undoes the join.
 */
u32 soft_src_join(struct soft_src *src, struct soft_seg *seg, const u8 *raw,
		  bool crc)
{
	const u32 len = soft_fpdu_len(seg->ulpdu_len);
	const u32 body = seg->payload_len;
	struct soft_src next = { .lin = src->lin + len };
	u32 n = 0;

	while (src->more >= len && soft_seg_follows(seg, raw, next.lin) &&
	       (!crc || soft_src_crc_ok(&next, len))) {
		seg->payload_len += body;
		src->more -= len;
		next.lin += len;
		n++;
	}
	src->hdr = SOFT_MPA_HDR + seg->hdr_len;
	src->body = body;
	src->stride = n ? len : 0;
	return n;
}

/** soft_src_part() - undo soft_src_join() */
void soft_src_part(struct soft_src *src, struct soft_seg *seg)
{
	seg->payload_len = src->body;
	src->stride = 0;
}
