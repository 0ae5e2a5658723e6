/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A segment that the transmitter hands to the receiver of a peer on this host, without TCP.
 */
#ifndef SOFT_SEGMENT_H
#define SOFT_SEGMENT_H

#include <linux/build_bug.h>
#include <krdma/soft-abi.h>
#include "../wire/ddp.h"

struct soft_mem_cache;
struct soft_mem_user;

/**
 * struct soft_place - location of payload in a sender's memory
 * @stag: STag of the memory
 * @need: access right that the sender needs to read it
 * @to: tagged offset of the first byte
 */
struct soft_place {
	u32 stag;
	int need;
	u64 to;
};

/**
 * struct soft_direct_seg - a segment for a peer on this host
 * @len: bytes of @raw in use; 0 when there is no segment
 * @payload: bytes of further payload in the sender's memory
 * @at: location of that payload
 * @from: the sender's identity and rights for memory accesses
 * @cache: the sender's memory cache
 * @of_message: a segment of soft_tx.msg, which advances when the segment is delivered
 * @raw: ULPDU_Length, headers, and payload that is stored here; ULPDU_Length counts only the
 *	bytes in @raw
 */
struct soft_direct_seg {
	u32 len;
	u32 payload;
	struct soft_place at;
	const struct soft_mem_user *from;
	struct soft_mem_cache *cache;
	bool of_message;
	u8 raw[SOFT_MPA_HDR + SOFT_UNTAGGED_HDR + KRDMA_SOFT_MAX_INLINE];
};

static_assert(sizeof_field(struct soft_direct_seg, raw) >= SOFT_TERM_ULPDU_MAX);
static_assert(sizeof_field(struct soft_direct_seg, raw) >= SOFT_HDR_MAX);

#endif /* SOFT_SEGMENT_H */
