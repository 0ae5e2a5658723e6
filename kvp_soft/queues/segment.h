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
 * struct soft_place - where octets of a sender's memory are
 * @stag: of the memory
 * @need: the right that the sender needs to read them
 * @to: tagged offset of the first
 */
struct soft_place {
	u32 stag;
	int need;
	u64 to;
};

/**
 * struct soft_direct_seg - a segment on its way to a peer on this host
 * @len: octets of @raw in use; 0 when there is no segment
 * @payload: octets that follow them, in the sender's memory
 * @at: where
 * @from: the sender, as its memory knows it
 * @cache: and where it looks that up
 * @of_message: a segment of soft_tx.msg, which moves on when it is delivered
 * @raw: ULPDU_Length, which counts what stands here; headers and what comes with them
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
