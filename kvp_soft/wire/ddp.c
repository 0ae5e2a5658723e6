// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * DDP: decode a segment header, check it, and encode headers (RFC 5041, sections 4 and 7). The
 * only state that the checks need is the next MSN and MO of a queue. Pure functions; the
 * receiver and the transmitter of the software RNIC call them.
 */
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#include "ddp.h"

/* first byte: DDP control, RFC 5041 4.1; reserved bits are not checked */
#define DDP_T		0x80
#define DDP_DV		0x03
/* second byte: RDMAP control, RFC 5040 4.1 */
#define RDMAP_RV_SHIFT	6
#define RDMAP_OPCODE	0x0f

#define CTRL_DDP	2	/* offsets of these two bytes from ULPDU_Length on */
#define CTRL_RDMAP	3

/* ULPDU_Length and the DDP headers as bytes on the wire, RFC 5041 4.2, 4.3 */
struct tagged_wire {
	u8 ulpdu_len[2];
	u8 ctrl[2];
	u8 stag[4];
	u8 to[8];
};

struct untagged_wire {
	u8 ulpdu_len[2];
	u8 ctrl[2];
	u8 rsvd_ulp[4];
	u8 qn[4];
	u8 msn[4];
	u8 mo[4];
};

static_assert(sizeof(struct tagged_wire) == SOFT_MPA_HDR + SOFT_TAGGED_HDR);
static_assert(sizeof(struct untagged_wire) == SOFT_MPA_HDR + SOFT_UNTAGGED_HDR);

/* RDMAP header length, known from the fourth byte on */
static u32 soft_ddp_rdmap_hdr_len(bool tagged, u8 rdmap_ctrl)
{
	const struct soft_op *op = soft_op(rdmap_ctrl & RDMAP_OPCODE);

	return op && !tagged ? op->rdmap_hdr : 0;
}

/**
 * soft_seg_need - number of bytes that soft_seg_decode() needs
 * @p: bytes received so far, from ULPDU_Length on
 * @have: number of bytes at @p
 *
 * The result can grow as bytes arrive, so the caller repeats the call until it is <= @have. The
 * result never exceeds SOFT_HDR_MAX or the end of the ULPDU. The function reads no byte beyond
 * @have.
 *
 * Return: bytes needed in all.
 */
u32 soft_seg_need(const u8 *p, u32 have)
{
	bool tagged;
	u32 need;

	if (have < SOFT_MPA_HDR)
		return SOFT_MPA_HDR;

	need = CTRL_DDP + 1;
	if (have > CTRL_DDP) {
		tagged = p[CTRL_DDP] & DDP_T;
		need = SOFT_MPA_HDR + (tagged ? SOFT_TAGGED_HDR : SOFT_UNTAGGED_HDR);
		if (have > CTRL_RDMAP)
			need += soft_ddp_rdmap_hdr_len(tagged, p[CTRL_RDMAP]);
	}
	return min(need, SOFT_MPA_HDR + (u32)get_unaligned_be16(p));
}

static void soft_ddp_tagged_get(const u8 *p, struct soft_seg *seg)
{
	const struct tagged_wire *w = (const void *)p;

	seg->stag = get_unaligned_be32(w->stag);
	seg->to = get_unaligned_be64(w->to);
}

static void soft_ddp_untagged_get(const u8 *p, struct soft_seg *seg)
{
	const struct untagged_wire *w = (const void *)p;

	seg->inv_stag = get_unaligned_be32(w->rsvd_ulp);
	seg->qn = get_unaligned_be32(w->qn);
	seg->msn = get_unaligned_be32(w->msn);
	seg->mo = get_unaligned_be32(w->mo);
}

/* Decode the DDP header. False if the ULPDU is too short to hold the header. */
static bool soft_ddp_get(const u8 *p, struct soft_seg *seg)
{
	if (seg->ulpdu_len < sizeof(seg->ctrl))
		return false;
	memcpy(seg->ctrl, p + CTRL_DDP, sizeof(seg->ctrl));
	seg->tagged = seg->ctrl[0] & DDP_T;
	seg->last = seg->ctrl[0] & SOFT_DDP_LAST;
	seg->dv = seg->ctrl[0] & DDP_DV;
	seg->rv = seg->ctrl[1] >> RDMAP_RV_SHIFT;
	seg->opcode = seg->ctrl[1] & RDMAP_OPCODE;
	seg->hdr_len = seg->tagged ? SOFT_TAGGED_HDR : SOFT_UNTAGGED_HDR;
	if (seg->ulpdu_len < seg->hdr_len)
		return false;

	if (seg->tagged)
		soft_ddp_tagged_get(p, seg);
	else
		soft_ddp_untagged_get(p, seg);
	seg->payload_len = seg->ulpdu_len - seg->hdr_len;
	return true;
}

static int soft_ddp_refuse(const struct soft_seg *seg, const u8 *p, struct soft_term *term,
			   u8 layer, u8 etype, u8 code)
{
	soft_term_with_hdr(term, seg, p, layer, etype, code);
	return -EPROTO;
}

/* Check that the DDP and RDMAP control bytes and the queue number are consistent. */
static int soft_ddp_check_kind(const struct soft_seg *seg, const u8 *p, struct soft_term *term)
{
	const struct soft_op *op = soft_op(seg->opcode);

	if (seg->dv != SOFT_DDP_VERSION && seg->tagged)
		return soft_ddp_refuse(seg, p, term, SOFT_TERM_DDP, SOFT_DDP_TAGGED,
				       SOFT_TAG_VERSION);
	if (seg->dv != SOFT_DDP_VERSION)
		return soft_ddp_refuse(seg, p, term, SOFT_TERM_DDP, SOFT_DDP_UNTAGGED,
				       SOFT_UNTAG_VERSION);
	if (seg->rv != SOFT_RDMAP_VERSION)
		return soft_ddp_refuse(seg, p, term, SOFT_TERM_RDMAP, SOFT_RDMAP_OPERATION,
				       SOFT_OPER_VERSION);
	if (!op || seg->tagged != !!(op->flags & SOFT_OP_TAGGED))
		return soft_ddp_refuse(seg, p, term, SOFT_TERM_RDMAP, SOFT_RDMAP_OPERATION,
				       SOFT_OPER_OPCODE);
	if (!seg->tagged && seg->qn != op->qn)
		return soft_ddp_refuse(seg, p, term, SOFT_TERM_DDP, SOFT_DDP_UNTAGGED,
				       SOFT_UNTAG_QN);
	return 0;
}

/*
 * An operation of bounded length is one segment. Without the L bit its message would never end.
 * No RFC names an error code for that; other RNICs send a local catastrophic error of the DDP
 * layer.
 *
 * RFC 7306 6.3 requires a check for the 8 bytes of Immediate Data, but names no code, either.
 * This RNIC sends the code of the one error that RFC 7306 does name: catastrophic error of the
 * stream.
 */
static int soft_ddp_check_body(const struct soft_seg *seg, const u8 *p, struct soft_term *term)
{
	const struct soft_op *op = soft_op(seg->opcode);

	if (op->flags & SOFT_OP_IMMEDIATE && seg->payload_len != op->body_max)
		return soft_ddp_refuse(seg, p, term, SOFT_TERM_RDMAP, SOFT_RDMAP_OPERATION,
				       SOFT_OPER_STREAM);
	if (seg->payload_len < op->body_min)
		return soft_ddp_refuse(seg, p, term, SOFT_TERM_MPA, SOFT_MPA_ERROR,
				       SOFT_MPA_LENGTH);
	if (op->flags & SOFT_OP_PAYLOAD)
		return 0;
	if (seg->payload_len > op->body_max)
		return soft_ddp_refuse(seg, p, term, SOFT_TERM_DDP, SOFT_DDP_UNTAGGED,
				       SOFT_UNTAG_TOO_LONG);
	if (!seg->last)
		return soft_ddp_refuse(seg, p, term, SOFT_TERM_DDP, SOFT_DDP_LOCAL,
				       SOFT_CODE_LOCAL);
	return 0;
}

/* Decode the RDMAP header of the operations that have one. */
static void soft_ddp_rdmap_get(const u8 *p, struct soft_seg *seg)
{
	const u8 *hdr = p + SOFT_MPA_HDR + SOFT_UNTAGGED_HDR;
	const u32 len = soft_ddp_rdmap_hdr_len(seg->tagged, seg->opcode);

	switch (seg->opcode) {
	case SOFT_RDMAP_READ_REQ:
		soft_read_req_get(hdr, &seg->rr);
		break;
	case SOFT_RDMAP_ATOMIC_REQ:
		soft_atomic_req_get(hdr, &seg->atomic);
		break;
	case SOFT_RDMAP_ATOMIC_RESP:
		soft_atomic_resp_get(hdr, &seg->resp);
		break;
	case SOFT_RDMAP_IMM:
	case SOFT_RDMAP_IMM_SE:
		seg->imm = get_unaligned_be64(hdr);
		break;
	}
	seg->hdr_len += len;
	seg->payload_len -= len;
}

/* RFC 7306 5.2.1: an unknown atomic operation has to be reported */
static bool soft_ddp_atomic_op_ok(const struct soft_seg *seg)
{
	return seg->opcode != SOFT_RDMAP_ATOMIC_REQ ||
	       seg->atomic.op == SOFT_ATOMIC_FETCH_ADD ||
	       seg->atomic.op == SOFT_ATOMIC_CMP_SWAP;
}

/**
 * soft_seg_decode - decode a segment header, and do all checks that need no state
 * @p: bytes from ULPDU_Length on
 * @have: number of bytes at @p
 * @seg: filled; on -EPROTO as far as the header could be decoded
 * @term: on -EPROTO set to the Terminate to send, headers included
 *
 * Checks:
 *  - the length against the header,
 *  - both versions, opcode, T bit and queue number,
 *  - length and L bit of messages with a fixed form,
 *  - the operation of an Atomic Request.
 * Reserved bits, and STag and TO of a zero-length segment, are not checked (RFC 5041 4.1, 5.2).
 *
 * Return: 0; -EAGAIN, with nothing written, if @have is less than soft_seg_need(); -EPROTO.
 */
int soft_seg_decode(const u8 *p, u32 have, struct soft_seg *seg, struct soft_term *term)
{
	int err;

	/* no header needs more than SOFT_HDR_MAX bytes */
	if (have < SOFT_HDR_MAX && have < soft_seg_need(p, have))
		return -EAGAIN;

	memset(seg, 0, sizeof(*seg));
	seg->ulpdu_len = get_unaligned_be16(p);
	if (!soft_ddp_get(p, seg))
		return soft_ddp_refuse(seg, p, term, SOFT_TERM_MPA, SOFT_MPA_ERROR,
				       SOFT_MPA_LENGTH);
	err = soft_ddp_check_kind(seg, p, term) ?: soft_ddp_check_body(seg, p, term);
	if (err)
		return err;

	soft_ddp_rdmap_get(p, seg);
	if (!soft_ddp_atomic_op_ok(seg))
		return soft_ddp_refuse(seg, p, term, SOFT_TERM_RDMAP, SOFT_RDMAP_OPERATION,
				       SOFT_OPER_OPCODE);
	return 0;
}

/* bytes of ULPDU_Length, control bytes, and STag or RsvdULP[8:39] */
#define COMMON		8

/**
 * soft_seg_follows - does a segment of the same length continue the message of another one?
 * @seg: the other segment, decoded, not the last of its message; payload_len gives its end, and
 *	may be the sum of several joined segments
 * @raw: bytes of @seg from ULPDU_Length on
 * @next: bytes of the segment to check: as many as the header of @seg has
 *
 * If true, the segment passes all checks of soft_seg_decode(), as @seg did. Each byte of @next
 * is read once.
 */
bool soft_seg_follows(const struct soft_seg *seg, const u8 *raw, const u8 *next)
{
	const struct untagged_wire *w = (const void *)raw, *v = (const void *)next;

	static_assert(offsetof(struct tagged_wire, to) == COMMON);
	static_assert(offsetof(struct untagged_wire, qn) == COMMON);
	if (get_unaligned_be64(raw) != get_unaligned_be64(next))
		return false;
	if (seg->tagged)
		return get_unaligned_be64(next + COMMON) == seg->to + seg->payload_len;
	return get_unaligned_be64(w->qn) == get_unaligned_be64(v->qn) &&
	       get_unaligned_be32(v->mo) == seg->mo + seg->payload_len;
}

/**
 * soft_seg_same - does a tagged segment differ from another one only in its tagged offset?
 * @raw: bytes of the other segment, decoded before, from ULPDU_Length on
 * @next: bytes of the segment to check: as many as the header has
 * @to: set to the tagged offset in @next, if true
 *
 * If true, the segment passes all checks of soft_seg_decode(), as the other one did. Each byte
 * of @next is read once.
 */
bool soft_seg_same(const u8 *raw, const u8 *next, u64 *to)
{
	if (get_unaligned_be64(raw) != get_unaligned_be64(next))
		return false;
	*to = get_unaligned_be64(next + COMMON);
	return true;
}

/**
 * soft_seg_again - is a segment the next message, of the same kind as another one?
 * @raw: bytes of the other message from ULPDU_Length on
 * @next: bytes of the segment to check: as many as all headers have
 * @seg: the other message, decoded, a single segment: tagged, of the Send family or a Read
 *	Request
 *
 * If true, @raw and @seg are updated to the new segment. It passes all checks of
 * soft_seg_decode(), as the other one did. The contents of a Read Request may differ. Each byte
 * of @next is read once.
 */
bool soft_seg_again(u8 *raw, const u8 *next, struct soft_seg *seg)
{
	const struct untagged_wire *v = (const void *)next;
	u64 to;

	if (seg->tagged) {
		if (!soft_seg_same(raw, next, &to))
			return false;
		seg->to = to;
		put_unaligned_be64(to, ((struct tagged_wire *)raw)->to);
		return true;
	}
	if (get_unaligned_be64(raw) != get_unaligned_be64(next) ||
	    get_unaligned_be32(v->qn) != seg->qn ||
	    get_unaligned_be32(v->msn) != seg->msn + 1 ||
	    get_unaligned_be32(v->mo) != seg->mo)
		return false;
	put_unaligned_be32(++seg->msn, ((struct untagged_wire *)raw)->msn);
	if (seg->opcode == SOFT_RDMAP_READ_REQ) {
		memcpy(raw + sizeof(*v), next + sizeof(*v), SOFT_READ_REQ_HDR);
		/* decode the copy: @next may change */
		barrier_data(raw);
		soft_read_req_get(raw + sizeof(*v), &seg->rr);
	}
	return true;
}

/**
 * soft_sends_follow - is a segment a Send with a given MSN, of the same kind as another one?
 * @seg: the other Send, decoded, a single segment of the Send family
 * @raw: bytes of @seg from ULPDU_Length on
 * @next: bytes of the segment to check: as many as the header has
 * @msn: message sequence number that the segment must have
 *
 * If true, the segment passes all checks of soft_seg_decode() and soft_untagged_check(), as the
 * other one did, except for the length of the buffer. Each byte of @next is read once.
 */
bool soft_sends_follow(const struct soft_seg *seg, const u8 *raw, const u8 *next, u32 msn)
{
	const struct untagged_wire *v = (const void *)next;

	return get_unaligned_be64(raw) == get_unaligned_be64(next) &&
	       get_unaligned_be64(v->qn) == ((u64)seg->qn << 32 | msn) &&
	       !get_unaligned_be32(v->mo);
}

/* Refuse an untagged segment: encode its header again as received, with the reserved bits. */
static int soft_ddp_refuse_untagged(const struct soft_seg *seg, struct soft_term *term, u8 code)
{
	u8 raw[sizeof(struct untagged_wire)];

	soft_put_untagged(raw, seg->opcode, seg->last, seg->inv_stag, seg->qn, seg->msn,
			  seg->mo, seg->payload_len);
	memcpy(raw + CTRL_DDP, seg->ctrl, sizeof(seg->ctrl));
	return soft_ddp_refuse(seg, raw, term, SOFT_TERM_DDP, SOFT_DDP_UNTAGGED, code);
}

/**
 * soft_untagged_check - check an untagged segment against the state of its queue (RFC 5041 7.1)
 * @st: expected MSN and MO
 * @seg: untagged segment from soft_seg_decode()
 * @buffer_available: there is a buffer for this MSN: a posted receive, a free IRD entry, or the
 *	Terminate buffer
 * @buffer_len: bytes of the whole buffer
 * @term: on -EPROTO set to the Terminate to send
 *
 * The offset of a zero-length segment is checked, too, since MO and length of the last segment
 * give the message length.
 *
 * Return: 0 or -EPROTO.
 */
int soft_untagged_check(const struct soft_untagged_state *st, const struct soft_seg *seg,
			bool buffer_available, u64 buffer_len, struct soft_term *term)
{
	if (seg->msn != st->msn)
		return soft_ddp_refuse_untagged(seg, term, SOFT_UNTAG_MSN);
	if (!buffer_available)
		return soft_ddp_refuse_untagged(seg, term, SOFT_UNTAG_NO_BUFFER);
	if (seg->mo != st->mo)
		return soft_ddp_refuse_untagged(seg, term, SOFT_UNTAG_MO);
	/* MO and the length of a message have 32 bits, whatever the length of the buffer */
	if ((u64)seg->mo + seg->payload_len > buffer_len ||
	    (u32)(seg->mo + seg->payload_len) < seg->mo)
		return soft_ddp_refuse_untagged(seg, term, SOFT_UNTAG_TOO_LONG);
	return 0;
}

/**
 * soft_untagged_advance - update the expected MSN and MO of a queue after a segment
 * @st: set to the next segment, or after the last segment to the next message
 * @seg: segment that passed soft_untagged_check()
 */
void soft_untagged_advance(struct soft_untagged_state *st, const struct soft_seg *seg)
{
	if (seg->last) {
		st->msn++;
		st->mo = 0;
	} else {
		st->mo += seg->payload_len;
	}
}

static void soft_ddp_ctrl_put(u8 ctrl[2], bool tagged, bool last, u8 opcode)
{
	ctrl[0] = (tagged ? DDP_T : 0) | (last ? SOFT_DDP_LAST : 0) | SOFT_DDP_VERSION;
	ctrl[1] = (SOFT_RDMAP_VERSION << RDMAP_RV_SHIFT) | (opcode & RDMAP_OPCODE);
}

/**
 * soft_put_tagged - encode ULPDU_Length and a tagged header
 * @p: room for 16 bytes
 * @opcode: enum soft_rdmap_op
 * @last: last segment of its message
 * @stag: STag of the sink
 * @to: tagged offset of the first byte
 * @payload_len: bytes of payload that the caller appends; ULPDU_Length must fit 16 bits
 *
 * Return: bytes written, 16.
 */
u32 soft_put_tagged(u8 *p, u8 opcode, bool last, u32 stag, u64 to, u32 payload_len)
{
	struct tagged_wire *w = (void *)p;

	put_unaligned_be16(SOFT_TAGGED_HDR + payload_len, w->ulpdu_len);
	soft_ddp_ctrl_put(w->ctrl, true, last, opcode);
	put_unaligned_be32(stag, w->stag);
	put_unaligned_be64(to, w->to);
	return sizeof(*w);
}

/**
 * soft_put_untagged - encode ULPDU_Length and an untagged header
 * @p: room for 20 bytes
 * @opcode: enum soft_rdmap_op
 * @last: last segment of its message
 * @inv_stag: STag to invalidate; 0 for operations that invalidate none
 * @qn: enum soft_qn
 * @msn: message sequence number of that queue
 * @mo: offset of the payload in the message
 * @payload_len: bytes of payload that the caller appends; ULPDU_Length must fit 16 bits
 *
 * Return: bytes written, 20.
 */
u32 soft_put_untagged(u8 *p, u8 opcode, bool last, u32 inv_stag, u32 qn, u32 msn, u32 mo,
		      u32 payload_len)
{
	struct untagged_wire *w = (void *)p;

	put_unaligned_be16(SOFT_UNTAGGED_HDR + payload_len, w->ulpdu_len);
	soft_ddp_ctrl_put(w->ctrl, false, last, opcode);
	put_unaligned_be32(inv_stag, w->rsvd_ulp);
	put_unaligned_be32(qn, w->qn);
	put_unaligned_be32(msn, w->msn);
	put_unaligned_be32(mo, w->mo);
	return sizeof(*w);
}

/**
 * soft_put_tagged_again - encode a header that differs only in STag and tagged offset
 * @p: room for 16 bytes
 * @like: ULPDU_Length and header, encoded by soft_put_tagged()
 * @stag: STag of the sink
 * @to: tagged offset of the first byte
 */
void soft_put_tagged_again(u8 *p, const u8 *like, u32 stag, u64 to)
{
	struct tagged_wire *w = (void *)p;

	memcpy(w, like, sizeof(*w));
	put_unaligned_be32(stag, w->stag);
	put_unaligned_be64(to, w->to);
}

/**
 * soft_put_untagged_again - encode a header that differs only in its MSN
 * @p: room for 20 bytes
 * @like: ULPDU_Length and header, encoded by soft_put_untagged()
 * @msn: message sequence number
 */
void soft_put_untagged_again(u8 *p, const u8 *like, u32 msn)
{
	struct untagged_wire *w = (void *)p;

	memcpy(w, like, sizeof(*w));
	put_unaligned_be32(msn, w->msn);
}

/**
 * soft_put_more - encode the headers of segments that continue the message of a segment
 * @p: ULPDU_Length and header of that segment, encoded by soft_put_tagged() or
 *	soft_put_untagged(); not the last of its message
 * @hdr: bytes of ULPDU_Length and header
 * @payload_len: bytes of payload behind each header
 * @stride: bytes from each header to the next
 * @count: number of headers, including the one at @p
 */
void soft_put_more(u8 *p, u32 hdr, u32 payload_len, u32 stride, u32 count)
{
	const struct untagged_wire untagged = *(struct untagged_wire *)p;
	const struct tagged_wire tagged = *(struct tagged_wire *)p;
	u64 to = get_unaligned_be64(tagged.to);
	u32 mo = get_unaligned_be32(untagged.mo);

	while (--count) {
		p += stride;
		if (hdr == sizeof(tagged)) {
			to += payload_len;
			memcpy(p, &tagged, sizeof(tagged));
			put_unaligned_be64(to, ((struct tagged_wire *)p)->to);
		} else {
			mo += payload_len;
			memcpy(p, &untagged, sizeof(untagged));
			put_unaligned_be32(mo, ((struct untagged_wire *)p)->mo);
		}
	}
}
