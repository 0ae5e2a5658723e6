// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * RDMAP: the table of operations, the Read Request header and the Terminate message (RFC 5040,
 * sections 4 and 7); the headers of atomic operations and Immediate Data (RFC 7306). Pure
 * functions; ddp.c and the receiver and the transmitter of the software RNIC call them.
 */
#include <linux/array_size.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#include "ddp.h"

/* The Read Request header as bytes on the wire, RFC 5040 4.4 */
struct read_req_wire {
	u8 sink_stag[4];
	u8 sink_to[8];
	u8 length[4];
	u8 src_stag[4];
	u8 src_to[8];
};

static_assert(sizeof(struct read_req_wire) == SOFT_READ_REQ_HDR);

/* The Atomic Request header, RFC 7306 figure 4; the operation is in op[3] */
struct atomic_req_wire {
	u8 op[4];
	u8 id[4];
	u8 stag[4];
	u8 to[8];
	u8 data[8];
	u8 mask[8];
	u8 compare[8];
	u8 compare_mask[8];
};

/* The Atomic Response header, RFC 7306 figure 6 */
struct atomic_resp_wire {
	u8 id[4];
	u8 value[8];
};

static_assert(sizeof(struct atomic_req_wire) == SOFT_ATOMIC_REQ_HDR);
static_assert(sizeof(struct atomic_resp_wire) == SOFT_ATOMIC_RESP_HDR);

#define ATOMIC_OP	0x0f

/* RFC 5040 figures 4 and 5; RFC 7306 figure 3 and section 10 */
const struct soft_op soft_ops_by_code[SOFT_RDMAP_OPS] = {
	[SOFT_RDMAP_WRITE] = {
		.name = "RDMA Write",
		.flags = SOFT_OP_SUPPORTED | SOFT_OP_TAGGED | SOFT_OP_PAYLOAD,
	},
	[SOFT_RDMAP_READ_REQ] = {
		.name = "RDMA Read Request",
		.flags = SOFT_OP_SUPPORTED,
		.qn = SOFT_QN_READ_REQ,
		.rdmap_hdr = SOFT_READ_REQ_HDR,
		.body_min = SOFT_READ_REQ_HDR,
		.body_max = SOFT_READ_REQ_HDR,
	},
	[SOFT_RDMAP_READ_RESP] = {
		.name = "RDMA Read Response",
		.flags = SOFT_OP_SUPPORTED | SOFT_OP_TAGGED | SOFT_OP_PAYLOAD,
	},
	[SOFT_RDMAP_SEND] = {
		.name = "Send",
		.flags = SOFT_OP_SUPPORTED | SOFT_OP_PAYLOAD,
		.qn = SOFT_QN_SEND,
	},
	[SOFT_RDMAP_SEND_INV] = {
		.name = "Send with Invalidate",
		.flags = SOFT_OP_SUPPORTED | SOFT_OP_PAYLOAD | SOFT_OP_INVALIDATE,
		.qn = SOFT_QN_SEND,
	},
	[SOFT_RDMAP_SEND_SE] = {
		.name = "Send with Solicited Event",
		.flags = SOFT_OP_SUPPORTED | SOFT_OP_PAYLOAD | SOFT_OP_SOLICITED,
		.qn = SOFT_QN_SEND,
	},
	[SOFT_RDMAP_SEND_SE_INV] = {
		.name = "Send with Solicited Event and Invalidate",
		.flags = SOFT_OP_SUPPORTED | SOFT_OP_PAYLOAD | SOFT_OP_SOLICITED |
			 SOFT_OP_INVALIDATE,
		.qn = SOFT_QN_SEND,
	},
	[SOFT_RDMAP_TERMINATE] = {
		.name = "Terminate",
		.flags = SOFT_OP_SUPPORTED,
		.qn = SOFT_QN_TERMINATE,
		.body_min = SOFT_TERM_CTRL,
		.body_max = SOFT_TERM_MAX,
	},
	[SOFT_RDMAP_IMM] = {
		.name = "Immediate Data",
		.flags = SOFT_OP_SUPPORTED | SOFT_OP_IMMEDIATE,
		.qn = SOFT_QN_SEND,
		.rdmap_hdr = SOFT_IMM_LEN,
		.body_min = SOFT_IMM_LEN,
		.body_max = SOFT_IMM_LEN,
	},
	[SOFT_RDMAP_IMM_SE] = {
		.name = "Immediate Data with Solicited Event",
		.flags = SOFT_OP_SUPPORTED | SOFT_OP_IMMEDIATE | SOFT_OP_SOLICITED,
		.qn = SOFT_QN_SEND,
		.rdmap_hdr = SOFT_IMM_LEN,
		.body_min = SOFT_IMM_LEN,
		.body_max = SOFT_IMM_LEN,
	},
	[SOFT_RDMAP_ATOMIC_REQ] = {
		.name = "Atomic Request",
		.flags = SOFT_OP_SUPPORTED,
		.qn = SOFT_QN_READ_REQ,
		.rdmap_hdr = SOFT_ATOMIC_REQ_HDR,
		.body_min = SOFT_ATOMIC_REQ_HDR,
		.body_max = SOFT_ATOMIC_REQ_HDR,
	},
	[SOFT_RDMAP_ATOMIC_RESP] = {
		.name = "Atomic Response",
		.flags = SOFT_OP_SUPPORTED,
		.qn = SOFT_QN_ATOMIC_RESP,
		.rdmap_hdr = SOFT_ATOMIC_RESP_HDR,
		.body_min = SOFT_ATOMIC_RESP_HDR,
		.body_max = SOFT_ATOMIC_RESP_HDR,
	},
};

/**
 * soft_rdmap_name - name of an operation, supported or not
 * @opcode: low nibble of the RDMAP control byte
 */
const char *soft_rdmap_name(u8 opcode)
{
	if (opcode >= ARRAY_SIZE(soft_ops_by_code) || !soft_ops_by_code[opcode].name)
		return "unassigned opcode";
	return soft_ops_by_code[opcode].name;
}

/**
 * soft_read_req_get - decode the RDMAP header of a Read Request
 * @p: SOFT_READ_REQ_HDR bytes
 * @rr: filled
 */
void soft_read_req_get(const u8 *p, struct soft_read_req *rr)
{
	const struct read_req_wire *w = (const void *)p;

	rr->sink_stag = get_unaligned_be32(w->sink_stag);
	rr->sink_to = get_unaligned_be64(w->sink_to);
	rr->length = get_unaligned_be32(w->length);
	rr->src_stag = get_unaligned_be32(w->src_stag);
	rr->src_to = get_unaligned_be64(w->src_to);
}

static void soft_rdmap_read_req_put(u8 *p, const struct soft_read_req *rr)
{
	struct read_req_wire *w = (void *)p;

	put_unaligned_be32(rr->sink_stag, w->sink_stag);
	put_unaligned_be64(rr->sink_to, w->sink_to);
	put_unaligned_be32(rr->length, w->length);
	put_unaligned_be32(rr->src_stag, w->src_stag);
	put_unaligned_be64(rr->src_to, w->src_to);
}

/**
 * soft_put_read_req - encode a Read Request from ULPDU_Length on
 * @p: room for SOFT_HDR_MAX bytes
 * @msn: message sequence number on queue 1
 * @rr: source, sink and length of the Read
 *
 * Return: bytes written.
 */
u32 soft_put_read_req(u8 *p, u32 msn, const struct soft_read_req *rr)
{
	u32 n = soft_put_untagged(p, SOFT_RDMAP_READ_REQ, true, 0, SOFT_QN_READ_REQ, msn, 0,
				  SOFT_READ_REQ_HDR);

	soft_rdmap_read_req_put(p + n, rr);
	return n + SOFT_READ_REQ_HDR;
}

/**
 * soft_atomic_req_get - decode the header of an Atomic Request
 * @p: SOFT_ATOMIC_REQ_HDR bytes
 * @rq: filled
 */
void soft_atomic_req_get(const u8 *p, struct soft_atomic_req *rq)
{
	const struct atomic_req_wire *w = (const void *)p;

	rq->op = w->op[3] & ATOMIC_OP;
	rq->id = get_unaligned_be32(w->id);
	rq->stag = get_unaligned_be32(w->stag);
	rq->to = get_unaligned_be64(w->to);
	rq->data = get_unaligned_be64(w->data);
	rq->mask = get_unaligned_be64(w->mask);
	rq->compare = get_unaligned_be64(w->compare);
	rq->compare_mask = get_unaligned_be64(w->compare_mask);
}

/**
 * soft_put_atomic_req - encode an Atomic Request from ULPDU_Length on
 * @p: room for SOFT_HDR_MAX bytes
 * @msn: message sequence number on queue 1
 * @rq: the operation; the compare fields of a FetchAdd are sent as RFC 7306 5.2.1 says
 *
 * Return: bytes written.
 */
u32 soft_put_atomic_req(u8 *p, u32 msn, const struct soft_atomic_req *rq)
{
	const bool compares = rq->op == SOFT_ATOMIC_CMP_SWAP;
	const u32 n = soft_put_untagged(p, SOFT_RDMAP_ATOMIC_REQ, true, 0, SOFT_QN_READ_REQ, msn,
					0, SOFT_ATOMIC_REQ_HDR);
	struct atomic_req_wire *w = (void *)(p + n);

	put_unaligned_be32(rq->op & ATOMIC_OP, w->op);
	put_unaligned_be32(rq->id, w->id);
	put_unaligned_be32(rq->stag, w->stag);
	put_unaligned_be64(rq->to, w->to);
	put_unaligned_be64(rq->data, w->data);
	put_unaligned_be64(rq->mask, w->mask);
	put_unaligned_be64(compares ? rq->compare : 0, w->compare);
	put_unaligned_be64(compares ? rq->compare_mask : ~0ULL, w->compare_mask);
	return n + SOFT_ATOMIC_REQ_HDR;
}

/**
 * soft_atomic_resp_get - decode the header of an Atomic Response
 * @p: SOFT_ATOMIC_RESP_HDR bytes
 * @resp: filled
 */
void soft_atomic_resp_get(const u8 *p, struct soft_atomic_resp *resp)
{
	const struct atomic_resp_wire *w = (const void *)p;

	resp->id = get_unaligned_be32(w->id);
	resp->value = get_unaligned_be64(w->value);
}

/**
 * soft_put_atomic_resp - encode an Atomic Response from ULPDU_Length on
 * @p: room for SOFT_HDR_MAX bytes
 * @msn: message sequence number on queue 3
 * @resp: the response
 *
 * Return: bytes written.
 */
u32 soft_put_atomic_resp(u8 *p, u32 msn, const struct soft_atomic_resp *resp)
{
	const u32 n = soft_put_untagged(p, SOFT_RDMAP_ATOMIC_RESP, true, 0, SOFT_QN_ATOMIC_RESP,
					msn, 0, SOFT_ATOMIC_RESP_HDR);
	struct atomic_resp_wire *w = (void *)(p + n);

	put_unaligned_be32(resp->id, w->id);
	put_unaligned_be64(resp->value, w->value);
	return n + SOFT_ATOMIC_RESP_HDR;
}

/*
 * Add each field separately: the highest bit of a field is the exclusive or of both highest bits
 * and the carry from below, and there is no carry out of the field.
 */
static u64 soft_rdmap_masked_sum(u64 a, u64 b, u64 mask)
{
	return ((a & ~mask) + (b & ~mask)) ^ ((a ^ b) & mask);
}

/**
 * soft_atomic_result - compute the value that an atomic operation stores (RFC 7306 5.1)
 * @rq: the operation
 * @old: value before the operation, in host byte order
 */
u64 soft_atomic_result(const struct soft_atomic_req *rq, u64 old)
{
	if (rq->op == SOFT_ATOMIC_FETCH_ADD)
		return soft_rdmap_masked_sum(old, rq->data, rq->mask);
	if ((rq->compare ^ old) & rq->compare_mask)
		return old;
	return (old & ~rq->mask) | (rq->data & rq->mask);
}

/**
 * soft_put_imm - encode an Immediate Data message from ULPDU_Length on
 * @p: room for SOFT_HDR_MAX bytes
 * @msn: message sequence number on queue 0
 * @solicited: ask for a solicited event
 * @imm: the data, most significant byte first on the wire
 *
 * Return: bytes written.
 */
u32 soft_put_imm(u8 *p, u32 msn, bool solicited, u64 imm)
{
	const u8 opcode = solicited ? SOFT_RDMAP_IMM_SE : SOFT_RDMAP_IMM;
	const u32 n = soft_put_untagged(p, opcode, true, 0, SOFT_QN_SEND, msn, 0, SOFT_IMM_LEN);

	put_unaligned_be64(imm, p + n);
	return n + SOFT_IMM_LEN;
}

/* Terminate: bits of byte 2, RFC 5040 4.8 */
#define TERM_M		0x80	/* DDP Segment Length valid */
#define TERM_D		0x40	/* terminated DDP header included */
#define TERM_R		0x20	/* terminated RDMAP header included */
#define TERM_FLAGS	(TERM_M | TERM_D | TERM_R)
#define TERM_REVERSED	0x07	/* all three bits in siw's order */

#define CTRL_T		0x80	/* DDP control byte: tagged */

struct term_code {
	u8 layer;
	u8 etype;
	u8 code;
};

/* kinds of message with different Terminate codes for a refused access */
enum access_kind {
	ACCESS_TAGGED,		/* Write, Read Response: the DDP layer places */
	ACCESS_READ,		/* Read Request: the source buffer; Atomic Request */
	ACCESS_INVALIDATE,	/* Send with Invalidate: its STag */
	ACCESS_UNTAGGED,	/* other: the local receive buffer is invalid */
	ACCESS_KINDS
};

/* RFC 5041 7.2, RFC 5040 7.2. DDP has no code for missing rights. */
static const struct term_code access_codes[ACCESS_KINDS][SOFT_ACCESS_NR] = {
	[ACCESS_TAGGED] = {
		[SOFT_ACCESS_STAG]   = { SOFT_TERM_DDP, SOFT_DDP_TAGGED, SOFT_TAG_STAG },
		[SOFT_ACCESS_BOUNDS] = { SOFT_TERM_DDP, SOFT_DDP_TAGGED, SOFT_TAG_BOUNDS },
		[SOFT_ACCESS_RIGHTS] = { SOFT_TERM_DDP, SOFT_DDP_TAGGED, SOFT_TAG_STAG },
		[SOFT_ACCESS_PD]     = { SOFT_TERM_DDP, SOFT_DDP_TAGGED, SOFT_TAG_STREAM },
		[SOFT_ACCESS_WRAP]   = { SOFT_TERM_DDP, SOFT_DDP_TAGGED, SOFT_TAG_WRAP },
	},
	[ACCESS_READ] = {
		[SOFT_ACCESS_STAG]   = { SOFT_TERM_RDMAP, SOFT_RDMAP_PROTECTION, SOFT_PROT_STAG },
		[SOFT_ACCESS_BOUNDS] = { SOFT_TERM_RDMAP, SOFT_RDMAP_PROTECTION, SOFT_PROT_BOUNDS },
		[SOFT_ACCESS_RIGHTS] = { SOFT_TERM_RDMAP, SOFT_RDMAP_PROTECTION, SOFT_PROT_RIGHTS },
		[SOFT_ACCESS_PD]     = { SOFT_TERM_RDMAP, SOFT_RDMAP_PROTECTION, SOFT_PROT_STREAM },
		[SOFT_ACCESS_WRAP]   = { SOFT_TERM_RDMAP, SOFT_RDMAP_PROTECTION, SOFT_PROT_WRAP },
	},
	[ACCESS_INVALIDATE] = {
		[SOFT_ACCESS_STAG]   = { SOFT_TERM_RDMAP, SOFT_RDMAP_OPERATION,
					 SOFT_CODE_NOT_INVALIDATED },
		[SOFT_ACCESS_BOUNDS] = { SOFT_TERM_RDMAP, SOFT_RDMAP_OPERATION,
					 SOFT_CODE_NOT_INVALIDATED },
		[SOFT_ACCESS_RIGHTS] = { SOFT_TERM_RDMAP, SOFT_RDMAP_PROTECTION,
					 SOFT_CODE_NOT_INVALIDATED },
		[SOFT_ACCESS_PD]     = { SOFT_TERM_RDMAP, SOFT_RDMAP_PROTECTION,
					 SOFT_CODE_NOT_INVALIDATED },
		[SOFT_ACCESS_WRAP]   = { SOFT_TERM_RDMAP, SOFT_RDMAP_OPERATION,
					 SOFT_CODE_NOT_INVALIDATED },
	},
	[ACCESS_UNTAGGED] = {
		[SOFT_ACCESS_STAG]   = { SOFT_TERM_DDP, SOFT_DDP_LOCAL, SOFT_CODE_LOCAL },
		[SOFT_ACCESS_BOUNDS] = { SOFT_TERM_DDP, SOFT_DDP_LOCAL, SOFT_CODE_LOCAL },
		[SOFT_ACCESS_RIGHTS] = { SOFT_TERM_DDP, SOFT_DDP_LOCAL, SOFT_CODE_LOCAL },
		[SOFT_ACCESS_PD]     = { SOFT_TERM_DDP, SOFT_DDP_LOCAL, SOFT_CODE_LOCAL },
		[SOFT_ACCESS_WRAP]   = { SOFT_TERM_DDP, SOFT_DDP_LOCAL, SOFT_CODE_LOCAL },
	},
};

/**
 * soft_term_set - set up a Terminate without headers
 * @term: filled
 * @layer: enum soft_term_layer
 * @etype: enum soft_term_etype
 * @code: enum soft_term_code
 *
 * For LLP errors, for local catastrophic errors, and for all errors that no incoming message
 * caused (RFC 5040 7.1).
 */
void soft_term_set(struct soft_term *term, u8 layer, u8 etype, u8 code)
{
	memset(term, 0, sizeof(*term));
	term->layer = layer;
	term->etype = etype;
	term->code = code;
}

/* Does this error report the DDP header of the bad segment (RFC 5040 figure 10)? */
static bool soft_rdmap_reports_ddp(u8 layer, u8 etype)
{
	return layer == SOFT_TERM_DDP ||
	       (layer == SOFT_TERM_RDMAP && etype != SOFT_RDMAP_LOCAL);
}

/*
 * RFC 5040 figure 10 reports the RDMAP header for all remote protection errors. But RFC 5040 4.8
 * and 7.1 restrict that to Read Requests, the only messages there with an RDMAP header.
 */
static bool soft_rdmap_reports_rdmap(const struct soft_seg *seg, u8 layer, u8 etype)
{
	return layer == SOFT_TERM_RDMAP && etype == SOFT_RDMAP_PROTECTION && !seg->tagged &&
	       seg->opcode == SOFT_RDMAP_READ_REQ &&
	       seg->ulpdu_len >= SOFT_UNTAGGED_HDR + SOFT_READ_REQ_HDR;
}

/**
 * soft_term_with_hdr - set up a Terminate that an incoming segment caused
 * @term: filled
 * @seg: the segment, decoded at least in part
 * @raw: bytes of the segment from ULPDU_Length on, at least the headers
 * @layer: enum soft_term_layer
 * @etype: enum soft_term_etype
 * @code: enum soft_term_code
 *
 * Copies the headers that RFC 5040 figure 10 requires for this error.
 */
void soft_term_with_hdr(struct soft_term *term, const struct soft_seg *seg, const u8 *raw,
			u8 layer, u8 etype, u8 code)
{
	const u32 ddp_len = seg->tagged ? SOFT_TAGGED_HDR : SOFT_UNTAGGED_HDR;

	soft_term_set(term, layer, etype, code);
	if (!soft_rdmap_reports_ddp(layer, etype) || seg->ulpdu_len < ddp_len)
		return;

	term->has_ddp = true;
	term->has_len = true;
	term->seg_len = seg->ulpdu_len;
	term->hdr_len = ddp_len;
	if (soft_rdmap_reports_rdmap(seg, layer, etype)) {
		term->has_rdmap = true;
		term->hdr_len += SOFT_READ_REQ_HDR;
	}
	memcpy(term->hdr, raw + SOFT_MPA_HDR, term->hdr_len);
}

static enum access_kind soft_rdmap_access_kind(const struct soft_seg *seg)
{
	const struct soft_op *op = soft_op(seg->opcode);

	if (seg->tagged)
		return ACCESS_TAGGED;
	if (seg->opcode == SOFT_RDMAP_READ_REQ || seg->opcode == SOFT_RDMAP_ATOMIC_REQ)
		return ACCESS_READ;
	if (op && op->flags & SOFT_OP_INVALIDATE)
		return ACCESS_INVALIDATE;
	return ACCESS_UNTAGGED;
}

/**
 * soft_term_access - set up the Terminate for a refused access
 * @seg: the segment that caused the access
 * @raw: bytes of the segment from ULPDU_Length on, at least the headers
 * @why: reason of the refusal, not SOFT_ACCESS_OK
 * @term: filled
 *
 * The refused access depends on the message:
 *  - Write, Read Response: placement of the payload
 *  - Read Request: its source
 *  - Atomic Request: its target
 *  - Send with Invalidate: the STag to invalidate
 *  - any other: the local receive buffer, a local error of the DDP layer
 *
 * An unaligned target has a code of its own, whatever the message (RFC 7306 8.2).
 */
void soft_term_access(const struct soft_seg *seg, const u8 *raw, enum soft_access why,
		      struct soft_term *term)
{
	static const struct term_code unaligned = {
		SOFT_TERM_RDMAP, SOFT_RDMAP_OPERATION, SOFT_OPER_STREAM
	};
	const struct term_code *c = &access_codes[soft_rdmap_access_kind(seg)][why];

	if (why == SOFT_ACCESS_ALIGN)
		c = &unaligned;
	soft_term_with_hdr(term, seg, raw, c->layer, c->etype, c->code);
}

/**
 * soft_term_read_progress - update a Terminate for a Read that failed within the response
 * @term: Terminate with the Read Request header as received
 * @done: bytes of the response already sent
 *
 * Both offsets advance by @done, and the size becomes the rest (RFC 5040 4.8). A Terminate
 * without a Read Request header is not changed.
 */
void soft_term_read_progress(struct soft_term *term, u32 done)
{
	struct soft_read_req rr;

	if (!term->has_rdmap)
		return;
	soft_read_req_get(term->hdr + SOFT_UNTAGGED_HDR, &rr);
	rr.sink_to += done;
	rr.src_to += done;
	rr.length -= min(done, rr.length);
	soft_rdmap_read_req_put(term->hdr + SOFT_UNTAGGED_HDR, &rr);
}

/**
 * soft_put_terminate - encode a Terminate from ULPDU_Length on
 * @p: room for SOFT_TERM_ULPDU_MAX bytes
 * @term: the Terminate
 *
 * The Terminate is one segment on queue 2. It is the only message of a stream there, so its MSN
 * is 1 (RFC 5040 5.4). The control word is built from bytes, since the order of a bit-field
 * depends on the host.
 *
 * Return: bytes written, pad and CRC not included.
 */
u32 soft_put_terminate(u8 *p, const struct soft_term *term)
{
	const bool with_len = term->has_len || term->has_ddp;
	const u32 hdr_len = term->has_ddp ? min_t(u32, term->hdr_len, SOFT_TERM_HDR_MAX) : 0;
	const u32 body = SOFT_TERM_CTRL + (with_len ? SOFT_TERM_SEG_LEN : 0) + hdr_len;
	const u32 n = soft_put_untagged(p, SOFT_RDMAP_TERMINATE, true, 0, SOFT_QN_TERMINATE,
					1, 0, body);
	u8 *t = p + n;

	t[0] = (term->layer << 4) | (term->etype & 0x0f);
	t[1] = term->code;
	t[2] = (term->has_len ? TERM_M : 0) | (term->has_ddp ? TERM_D : 0) |
	       (term->has_ddp && term->has_rdmap ? TERM_R : 0);
	t[3] = 0;
	if (with_len)
		put_unaligned_be16(term->seg_len, t + SOFT_TERM_CTRL);
	memcpy(t + SOFT_TERM_CTRL + SOFT_TERM_SEG_LEN, term->hdr, hdr_len);
	return n + body;
}

/*
 * siw on a little-endian host sends the fields within each byte of the control word in reverse
 * order. Its M, D and R bits are in positions that are zero in RFC 5040 4.8. So the order can be
 * recognized, unless all three bits are 0.
 */
static u8 soft_rdmap_term_unreverse(struct soft_term *term, u8 flags)
{
	if (flags & TERM_FLAGS || !(flags & TERM_REVERSED))
		return flags;
	swap(term->layer, term->etype);
	return (flags & 0x01 ? TERM_M : 0) | (flags & 0x02 ? TERM_D : 0) |
	       (flags & 0x04 ? TERM_R : 0);
}

/**
 * soft_term_decode - decode the RDMAP part of a received Terminate
 * @payload: bytes behind the untagged DDP header
 * @len: number of bytes at @payload
 * @term: filled
 *
 * Peers differ in the headers that they include and in the bits that they set. So the M, D and R
 * bits are used only as far as @len allows.
 *
 * Return: 0, or -EPROTO if @payload is shorter than the control word.
 */
int soft_term_decode(const u8 *payload, u32 len, struct soft_term *term)
{
	u32 ddp_len;
	u8 flags;

	soft_term_set(term, 0, 0, 0);
	if (len < SOFT_TERM_CTRL)
		return -EPROTO;
	term->layer = payload[0] >> 4;
	term->etype = payload[0] & 0x0f;
	term->code = payload[1];
	flags = soft_rdmap_term_unreverse(term, payload[2]);
	payload += SOFT_TERM_CTRL;
	len -= SOFT_TERM_CTRL;

	if (!(flags & (TERM_M | TERM_D)) || len < SOFT_TERM_SEG_LEN)
		return 0;
	term->has_len = flags & TERM_M;
	term->seg_len = get_unaligned_be16(payload);
	payload += SOFT_TERM_SEG_LEN;
	len -= SOFT_TERM_SEG_LEN;

	if (!(flags & TERM_D) || !len)
		return 0;
	ddp_len = payload[0] & CTRL_T ? SOFT_TAGGED_HDR : SOFT_UNTAGGED_HDR;
	term->hdr_len = min(len, ddp_len + (flags & TERM_R ? SOFT_READ_REQ_HDR : 0));
	term->has_ddp = term->hdr_len >= ddp_len;
	term->has_rdmap = term->hdr_len == ddp_len + SOFT_READ_REQ_HDR;
	memcpy(term->hdr, payload, term->hdr_len);
	return 0;
}

/* offsets of fields in a DDP header without ULPDU_Length, RFC 5041 4.2 and 4.3 */
#define TERM_HDR_STAG	2
#define TERM_HDR_TO	6
#define TERM_HDR_QN	6
#define TERM_HDR_MSN	10
/* masks and shift for the first two bytes of a header: DV, RV and opcode */
#define TERM_HDR_DV	0x03
#define TERM_HDR_RV	6
#define TERM_HDR_OP	0x0f

/**
 * soft_term_about - find the local message whose header a Terminate reports
 * @term: the Terminate as received
 * @about: filled
 *
 * A header with a version or an opcode that this RNIC does not send is ignored.
 *
 * Return: false when the Terminate does not report a valid header.
 */
bool soft_term_about(const struct soft_term *term, struct soft_term_about *about)
{
	const u8 *hdr = term->hdr;
	const struct soft_op *op = soft_op(hdr[1] & TERM_HDR_OP);
	struct soft_read_req rr;

	if (!term->has_ddp || !op || (hdr[0] & TERM_HDR_DV) != 1 ||
	    hdr[1] >> TERM_HDR_RV != SOFT_RDMAP_VERSION)
		return false;
	*about = (struct soft_term_about){
		.opcode = hdr[1] & TERM_HDR_OP,
		.tagged = hdr[0] & CTRL_T,
	};
	if (about->tagged != !!(op->flags & SOFT_OP_TAGGED))
		return false;
	if (about->tagged) {
		about->stag = get_unaligned_be32(hdr + TERM_HDR_STAG);
		about->to = get_unaligned_be64(hdr + TERM_HDR_TO);
		return true;
	}
	about->qn = get_unaligned_be32(hdr + TERM_HDR_QN);
	about->msn = get_unaligned_be32(hdr + TERM_HDR_MSN);
	if (about->opcode == SOFT_RDMAP_READ_REQ && term->has_rdmap) {
		soft_read_req_get(hdr + SOFT_UNTAGGED_HDR, &rr);
		about->by_sink = about->msn == rr.length;
		about->stag = rr.sink_stag;
		about->to = rr.sink_to;
	}
	return about->qn == op->qn;
}

/* layer, error type and code, numbered as in RFC 5040 figure 9 and RFC 6580 */
static const struct {
	struct term_code code;
	const char *name;
} term_names[] = {
	{ { 0, 1, 0x00 }, "RDMAP: invalid STag" },
	{ { 0, 1, 0x01 }, "RDMAP: base or bounds violation" },
	{ { 0, 1, 0x02 }, "RDMAP: access rights violation" },
	{ { 0, 1, 0x03 }, "RDMAP: STag not associated with the stream" },
	{ { 0, 1, 0x04 }, "RDMAP: TO wrap" },
	{ { 0, 1, 0x09 }, "RDMAP: STag cannot be invalidated (protection)" },
	{ { 0, 1, 0xff }, "RDMAP: unspecified protection error" },
	{ { 0, 2, 0x05 }, "RDMAP: invalid version" },
	{ { 0, 2, 0x06 }, "RDMAP: unexpected opcode" },
	{ { 0, 2, 0x07 }, "RDMAP: catastrophic error of the stream" },
	{ { 0, 2, 0x08 }, "RDMAP: catastrophic error, global" },
	{ { 0, 2, 0x09 }, "RDMAP: STag cannot be invalidated" },
	{ { 0, 2, 0xff }, "RDMAP: unspecified operation error" },
	{ { 1, 0, 0x00 }, "DDP: local catastrophic error" },
	{ { 1, 1, 0x00 }, "DDP tagged: invalid STag" },
	{ { 1, 1, 0x01 }, "DDP tagged: base or bounds violation" },
	{ { 1, 1, 0x02 }, "DDP tagged: STag not associated with the stream" },
	{ { 1, 1, 0x03 }, "DDP tagged: TO wrap" },
	{ { 1, 1, 0x04 }, "DDP tagged: invalid version" },
	{ { 1, 2, 0x01 }, "DDP untagged: invalid QN" },
	{ { 1, 2, 0x02 }, "DDP untagged: invalid MSN, no buffer available" },
	{ { 1, 2, 0x03 }, "DDP untagged: invalid MSN, range not valid" },
	{ { 1, 2, 0x04 }, "DDP untagged: invalid MO" },
	{ { 1, 2, 0x05 }, "DDP untagged: message too long for the buffer" },
	{ { 1, 2, 0x06 }, "DDP untagged: invalid version" },
	{ { 2, 0, 0x01 }, "MPA: TCP connection lost" },
	{ { 2, 0, 0x02 }, "MPA: CRC error" },
	{ { 2, 0, 0x03 }, "MPA: marker and ULPDU length mismatch" },
	{ { 2, 0, 0x04 }, "MPA: invalid request or reply frame" },
	{ { 2, 0, 0x05 }, "MPA: local catastrophic error" },
	{ { 2, 0, 0x06 }, "MPA: insufficient IRD" },
	{ { 2, 0, 0x07 }, "MPA: no matching RTR" },
};

/**
 * soft_term_name - describe a Terminate in words
 * @term: a Terminate, sent or received
 *
 * MPA errors have names under both error types in use, 0 (RFC 6580) and 3.
 *
 * Return: a static string, never NULL.
 */
const char *soft_term_name(const struct soft_term *term)
{
	u8 etype = term->etype;
	size_t i;

	if (term->layer == SOFT_TERM_RDMAP && etype == SOFT_RDMAP_LOCAL)
		return "RDMAP: local catastrophic error";
	if (term->layer == SOFT_TERM_MPA && etype == SOFT_MPA_ERROR_OTHER)
		etype = SOFT_MPA_ERROR;
	for (i = 0; i < ARRAY_SIZE(term_names); i++) {
		const struct term_code *c = &term_names[i].code;

		if (c->layer == term->layer && c->etype == etype && c->code == term->code)
			return term_names[i].name;
	}
	return "unknown error";
}
