/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * RDMAP (RFC 5040, RFC 7306): the operation codes and their properties, the headers of Read
 * Requests, Atomic Requests and Atomic Responses, Immediate Data, and the Terminate message.
 * Pure functions; ddp.h and the receiver and the transmitter of the software RNIC use them.
 */
#ifndef SOFT_RDMAP_H
#define SOFT_RDMAP_H

#include <linux/types.h>

struct soft_seg;

/* RFC 5040 figure 4, RFC 7306 section 10; the low nibble of the RDMAP byte */
enum soft_rdmap_op {
	SOFT_RDMAP_WRITE	= 0,
	SOFT_RDMAP_READ_REQ	= 1,
	SOFT_RDMAP_READ_RESP	= 2,
	SOFT_RDMAP_SEND		= 3,
	SOFT_RDMAP_SEND_INV	= 4,
	SOFT_RDMAP_SEND_SE	= 5,
	SOFT_RDMAP_SEND_SE_INV	= 6,
	SOFT_RDMAP_TERMINATE	= 7,
	SOFT_RDMAP_IMM		= 8,
	SOFT_RDMAP_IMM_SE	= 9,
	SOFT_RDMAP_ATOMIC_REQ	= 10,
	SOFT_RDMAP_ATOMIC_RESP	= 11,
	SOFT_RDMAP_OPS		= 16	/* values of the 4-bit field */
};

enum soft_qn {
	SOFT_QN_SEND		= 0,
	SOFT_QN_READ_REQ	= 1,
	SOFT_QN_TERMINATE	= 2,
	SOFT_QN_ATOMIC_RESP	= 3,
	SOFT_QNS
};

/* RFC 7306 figure 5; the low nibble of the Atomic Request header's first word */
enum soft_atomic_op {
	SOFT_ATOMIC_FETCH_ADD	= 0,
	SOFT_ATOMIC_CMP_SWAP	= 2
};

#define SOFT_RDMAP_VERSION	1
#define SOFT_READ_REQ_HDR	28	/* RDMAP part of a Read Request */
#define SOFT_ATOMIC_REQ_HDR	52	/* of an Atomic Request, RFC 7306 figure 4 */
#define SOFT_ATOMIC_RESP_HDR	12	/* of an Atomic Response, figure 6 */
#define SOFT_IMM_LEN		8	/* Immediate Data, figure 7 */
/* "krdm", the last four bytes of Immediate Data for the next Send, see ../tx/immediate.c */
#define SOFT_IMM_OF_SEND	0x6b72646dU
#define SOFT_TERM_CTRL		4	/* control word of a Terminate */
#define SOFT_TERM_SEG_LEN	2	/* DDP Segment Length behind it */
#define SOFT_TERM_HDR_MAX	46	/* untagged DDP + Read Request */
#define SOFT_TERM_MAX		(SOFT_TERM_CTRL + SOFT_TERM_SEG_LEN + SOFT_TERM_HDR_MAX)

/* properties of an operation, see struct soft_op */
#define SOFT_OP_SUPPORTED	0x01	/* this RNIC sends and accepts it */
#define SOFT_OP_TAGGED		0x02	/* T bit of all its segments */
#define SOFT_OP_PAYLOAD		0x04	/* carries ULP data of any length */
#define SOFT_OP_SOLICITED	0x08	/* asks for a solicited event */
#define SOFT_OP_INVALIDATE	0x10	/* RsvdULP[8:39] is the STag to invalidate */
#define SOFT_OP_IMMEDIATE	0x20	/* its body has a fixed length, RFC 7306 6.3 */

/**
 * struct soft_op - properties of an operation, defined by the RFCs
 * @name: for logs and tests
 * @flags: SOFT_OP_*
 * @qn: queue of an untagged operation (enum soft_qn)
 * @rdmap_hdr: bytes of the RDMAP header between DDP header and payload
 * @body_min: fewest bytes behind the DDP header
 * @body_max: most bytes behind the DDP header; 0 means that only the buffer is a limit. An
 *	operation with a limit is always a single DDP segment.
 */
struct soft_op {
	const char *name;
	u8 flags;
	u8 qn;
	u8 rdmap_hdr;
	u8 body_min;
	u8 body_max;
};

/**
 * struct soft_read_req - the RDMAP header of a Read Request (RFC 5040 4.4)
 * @sink_stag: STag of the sink, in the requester's memory
 * @sink_to: tagged offset in the sink
 * @length: bytes to read
 * @src_stag: STag of the source, in the responder's memory
 * @src_to: tagged offset in the source
 */
struct soft_read_req {
	u32 sink_stag;
	u64 sink_to;
	u32 length;
	u32 src_stag;
	u64 src_to;
};

/**
 * struct soft_atomic_req - the header of an Atomic Request (RFC 7306 5.2.1)
 * @op: enum soft_atomic_op
 * @id: chosen by the requester, returned in the response
 * @stag: STag of the target
 * @to: tagged offset of the 8 bytes of the target
 * @data: value to add, or to swap in
 * @mask: FetchAdd: the highest bit of each field, 0 for one field of 64 bits;
 *	CmpSwap: the bits to swap
 * @compare: CmpSwap: value to compare with
 * @compare_mask: CmpSwap: the bits to compare
 */
struct soft_atomic_req {
	u8 op;
	u32 id;
	u32 stag;
	u64 to;
	u64 data;
	u64 mask;
	u64 compare;
	u64 compare_mask;
};

/**
 * struct soft_atomic_resp - the header of an Atomic Response (RFC 7306 5.2.2)
 * @id: identifier from the request
 * @value: value before the operation
 */
struct soft_atomic_resp {
	u32 id;
	u64 value;
};

/* Terminate: layer, error types and codes (RFC 5040 4.8, RFC 5041 7.2, RFC 5044 8) */
enum soft_term_layer {
	SOFT_TERM_RDMAP			= 0,
	SOFT_TERM_DDP			= 1,
	SOFT_TERM_MPA			= 2
};

enum soft_term_etype {
	SOFT_RDMAP_LOCAL		= 0,
	SOFT_RDMAP_PROTECTION		= 1,
	SOFT_RDMAP_OPERATION		= 2,
	SOFT_DDP_LOCAL			= 0,
	SOFT_DDP_TAGGED			= 1,
	SOFT_DDP_UNTAGGED		= 2,
	SOFT_MPA_ERROR			= 0,
	SOFT_MPA_ERROR_OTHER		= 3	/* some hardware sends this instead of 0 */
};

enum soft_term_code {
	/* RDMAP remote protection */
	SOFT_PROT_STAG			= 0x00,
	SOFT_PROT_BOUNDS		= 0x01,
	SOFT_PROT_RIGHTS		= 0x02,
	SOFT_PROT_STREAM		= 0x03,
	SOFT_PROT_WRAP			= 0x04,
	/* RDMAP remote operation; NOT_INVALIDATED and UNSPECIFIED also remote protection */
	SOFT_OPER_VERSION		= 0x05,
	SOFT_OPER_OPCODE		= 0x06,
	SOFT_OPER_STREAM		= 0x07,
	SOFT_OPER_GLOBAL		= 0x08,
	SOFT_CODE_NOT_INVALIDATED	= 0x09,
	SOFT_CODE_UNSPECIFIED		= 0xff,
	/* DDP tagged buffer */
	SOFT_TAG_STAG			= 0x00,
	SOFT_TAG_BOUNDS			= 0x01,
	SOFT_TAG_STREAM			= 0x02,
	SOFT_TAG_WRAP			= 0x03,
	SOFT_TAG_VERSION		= 0x04,
	/* DDP untagged buffer */
	SOFT_UNTAG_QN			= 0x01,
	SOFT_UNTAG_NO_BUFFER		= 0x02,
	SOFT_UNTAG_MSN			= 0x03,
	SOFT_UNTAG_MO			= 0x04,
	SOFT_UNTAG_TOO_LONG		= 0x05,
	SOFT_UNTAG_VERSION		= 0x06,
	/* MPA */
	SOFT_MPA_LOST			= 0x01,
	SOFT_MPA_CRC_ERROR		= 0x02,
	SOFT_MPA_LENGTH			= 0x03,	/* marker and ULPDU_Length mismatch */
	SOFT_MPA_STARTUP		= 0x04,
	SOFT_MPA_LOCAL			= 0x05,
	SOFT_MPA_IRD			= 0x06,
	SOFT_MPA_RTR			= 0x07,
	/* all local catastrophic types */
	SOFT_CODE_LOCAL			= 0x00
};

/**
 * struct soft_term - a Terminate to send, or a received one
 * @layer: enum soft_term_layer
 * @etype: enum soft_term_etype
 * @code: enum soft_term_code
 * @has_ddp: D bit: @hdr begins with the whole DDP header of the bad segment
 * @has_rdmap: R bit: the whole Read Request header follows the DDP header in @hdr
 * @has_len: M bit: @seg_len is valid
 * @seg_len: DDP segment length: DDP header and payload, as ULPDU_Length
 * @hdr_len: bytes of @hdr in use; for a truncated received Terminate it can be nonzero without
 *	@has_ddp
 * @hdr: copied headers, DDP control byte first
 */
struct soft_term {
	u8 layer;
	u8 etype;
	u8 code;
	bool has_ddp;
	bool has_rdmap;
	bool has_len;
	u16 seg_len;
	u8 hdr_len;
	u8 hdr[SOFT_TERM_HDR_MAX];
};

/**
 * struct soft_term_about - the message whose header a Terminate reports
 * @opcode: enum soft_rdmap_op
 * @tagged: the segment is tagged, so @qn and @msn are not valid
 * @by_sink: @msn equals the length of the Read, as siw sends it, so the sink must be compared, too
 * @qn: enum soft_qn
 * @msn: message sequence number
 * @stag: STag of a tagged segment; of a Read Request, STag of the sink
 * @to: tagged offset of the first byte of a tagged segment, or of the sink
 */
struct soft_term_about {
	u8 opcode;
	bool tagged;
	bool by_sink;
	u32 qn;
	u32 msn;
	u32 stag;
	u64 to;
};

/* why an access to tagged memory, or an invalidation, was refused */
enum soft_access {
	SOFT_ACCESS_OK,
	SOFT_ACCESS_STAG,	/* unknown or invalid STag */
	SOFT_ACCESS_BOUNDS,
	SOFT_ACCESS_RIGHTS,
	SOFT_ACCESS_PD,		/* other protection domain or stream */
	SOFT_ACCESS_WRAP,	/* TO + length passes 2^64 */
	SOFT_ACCESS_ALIGN,	/* the target of an atomic operation is not aligned */
	SOFT_ACCESS_NR,
	/* not a refusal: accesses in progress have to end first */
	SOFT_ACCESS_BUSY = SOFT_ACCESS_NR,
};

/**
 * soft_to_wraps - does a tagged access pass the end of the 64-bit TO space?
 * @to: first tagged offset
 * @len: bytes; a zero-length access never wraps
 */
static inline bool soft_to_wraps(u64 to, u64 len)
{
	return len && to + (len - 1) < to;
}

extern const struct soft_op soft_ops_by_code[SOFT_RDMAP_OPS];

/**
 * soft_op - properties of a supported operation
 * @opcode: low nibble of the RDMAP control byte
 *
 * Return: its table entry, NULL if this RNIC neither sends nor accepts it.
 */
static inline const struct soft_op *soft_op(u8 opcode)
{
	if (opcode >= SOFT_RDMAP_OPS ||
	    !(soft_ops_by_code[opcode].flags & SOFT_OP_SUPPORTED))
		return NULL;
	return &soft_ops_by_code[opcode];
}

const char *soft_rdmap_name(u8 opcode);

void soft_read_req_get(const u8 *p, struct soft_read_req *rr);
u32 soft_put_read_req(u8 *p, u32 msn, const struct soft_read_req *rr);

void soft_atomic_req_get(const u8 *p, struct soft_atomic_req *rq);
void soft_atomic_resp_get(const u8 *p, struct soft_atomic_resp *resp);
u32 soft_put_atomic_req(u8 *p, u32 msn, const struct soft_atomic_req *rq);
u32 soft_put_atomic_resp(u8 *p, u32 msn, const struct soft_atomic_resp *resp);
u64 soft_atomic_result(const struct soft_atomic_req *rq, u64 old);
u32 soft_put_imm(u8 *p, u32 msn, bool solicited, u64 imm);

void soft_term_set(struct soft_term *term, u8 layer, u8 etype, u8 code);
void soft_term_with_hdr(struct soft_term *term, const struct soft_seg *seg, const u8 *raw,
			u8 layer, u8 etype, u8 code);
void soft_term_access(const struct soft_seg *seg, const u8 *raw, enum soft_access why,
		      struct soft_term *term);
void soft_term_read_progress(struct soft_term *term, u32 done);
u32 soft_put_terminate(u8 *p, const struct soft_term *term);
int soft_term_decode(const u8 *payload, u32 len, struct soft_term *term);
bool soft_term_about(const struct soft_term *term, struct soft_term_about *about);
const char *soft_term_name(const struct soft_term *term);

#endif /* SOFT_RDMAP_H */
