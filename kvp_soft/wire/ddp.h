/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * DDP (RFC 5041): decoding and encoding of segment headers. The receiver of the software RNIC
 * decodes, its transmitter encodes.
 *
 * Every function here that takes wire bytes takes them from ULPDU_Length on. So the DDP header
 * starts at byte 2.
 */
#ifndef SOFT_DDP_H
#define SOFT_DDP_H

#include <linux/types.h>

#include "mpa_framing.h"
#include "rdmap.h"

#define SOFT_DDP_VERSION	1
#define SOFT_DDP_LAST		0x40	/* in the first byte of a header */
#define SOFT_TAGGED_HDR		14
#define SOFT_UNTAGGED_HDR	18
/* bytes of the longest headers: ULPDU_Length, untagged DDP header, Atomic Request */
#define SOFT_HDR_MAX		(SOFT_MPA_HDR + SOFT_UNTAGGED_HDR + SOFT_ATOMIC_REQ_HDR)
/* largest result of soft_put_terminate() */
#define SOFT_TERM_ULPDU_MAX	(SOFT_MPA_HDR + SOFT_UNTAGGED_HDR + SOFT_TERM_MAX)

/**
 * struct soft_seg - a decoded segment header
 * @ulpdu_len: bytes of the DDP segment, headers included
 * @hdr_len: bytes of DDP and RDMAP header at its start: 14, 18, 46 for a Read
 *	Request, 70 for an Atomic Request, 30 for an Atomic Response, 26 for
 *	Immediate Data; what a Terminate carries counts as payload
 * @payload_len: @ulpdu_len - @hdr_len
 * @ctrl: the DDP and RDMAP control bytes as received, reserved bits included
 * @tagged: T
 * @last: L
 * @dv: DDP version
 * @rv: RDMAP version
 * @opcode: enum soft_rdmap_op
 * @stag: tagged: STag
 * @to: tagged: tagged offset
 * @inv_stag: untagged: RsvdULP[8:39], meaningful with SOFT_OP_INVALIDATE only
 * @qn: untagged: queue number
 * @msn: untagged: message sequence number
 * @mo: untagged: message offset
 * @rr: Read Request only
 * @atomic: Atomic Request only
 * @resp: Atomic Response only
 * @imm: Immediate Data only
 */
struct soft_seg {
	u16 ulpdu_len;
	u16 hdr_len;
	u32 payload_len;
	u8 ctrl[2];
	bool tagged;
	bool last;
	u8 dv;
	u8 rv;
	u8 opcode;
	u32 stag;
	u64 to;
	u32 inv_stag;
	u32 qn;
	u32 msn;
	u32 mo;
	union {
		struct soft_read_req rr;
		struct soft_atomic_req atomic;
		struct soft_atomic_resp resp;
		u64 imm;
	};
};

/**
 * struct soft_untagged_state - expected MSN and MO of the next segment of a queue
 * @msn: expected message sequence number; 1 on a new stream
 * @mo: expected offset; 0 between messages
 */
struct soft_untagged_state {
	u32 msn;
	u32 mo;
};

u32 soft_seg_need(const u8 *p, u32 have);
int soft_seg_decode(const u8 *p, u32 have, struct soft_seg *seg, struct soft_term *term);
bool soft_seg_follows(const struct soft_seg *seg, const u8 *raw, const u8 *next);
bool soft_seg_same(const u8 *raw, const u8 *next, u64 *to);
bool soft_seg_again(u8 *raw, const u8 *next, struct soft_seg *seg);
bool soft_sends_follow(const struct soft_seg *seg, const u8 *raw, const u8 *next, u32 msn);
int soft_untagged_check(const struct soft_untagged_state *st, const struct soft_seg *seg,
			bool buffer_available, u64 buffer_len, struct soft_term *term);
void soft_untagged_advance(struct soft_untagged_state *st, const struct soft_seg *seg);

u32 soft_put_tagged(u8 *p, u8 opcode, bool last, u32 stag, u64 to, u32 payload_len);
u32 soft_put_untagged(u8 *p, u8 opcode, bool last, u32 inv_stag, u32 qn, u32 msn, u32 mo,
		      u32 payload_len);
void soft_put_tagged_again(u8 *p, const u8 *like, u32 stag, u64 to);
void soft_put_untagged_again(u8 *p, const u8 *like, u32 msn);
void soft_put_more(u8 *p, u32 hdr, u32 payload_len, u32 stride, u32 count);

#endif /* SOFT_DDP_H */
