/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Two SDP state machines, connected back to back, with programs that do anything at any time.
 * KUnit, GoogleTest and libFuzzer run it. It checks that no byte is lost, changed, repeated or out
 * of order, that no message arrives without a receive buffer, that memory is used only while it may
 * be, and that nothing stands still while there is something to do.
 */
#ifndef KUNIT_SDP_PAIR_H
#define KUNIT_SDP_PAIR_H

#include <linux/types.h>

#include "../../sdp/state/state.h"

#define PAIR_ITEMS	256	/* messages and Writes on their way, for each direction */
#define PAIR_BUFS	1024	/* cookies of offers and buffers, for each end */
#define PAIR_READS	64
#define PAIR_POSTED	128
#define PAIR_SIZE	2048	/* largest private buffer */
#define PAIR_PERIOD	4099	/* bytes until a stream repeats; prime */

enum pair_kind { PAIR_MESSAGE, PAIR_WRITE, PAIR_DISCONNECT };

/* what the transport carries */
struct pair_item {
	u8 kind;
	u8 hdr[SDP_MSG_HDR_MAX];
	u32 hdr_len;
	u32 len;	/* bytes of payload, or of a Write */
	u64 from;	/* position of the first one */
	u32 rkey;
	u64 va;
};

/* an RDMA Read that is posted */
struct pair_read {
	u64 from;
	u32 len;
};

/* an offer or a buffer; its rkey is its index */
struct pair_buf {
	bool live;
	u64 start;	/* offer: position of its first byte */
	u32 len;
	u32 done;	/* bytes that the peer has, or wrote */
};

struct sdp_pair;

struct pair_end {
	struct sdp_conn c;	/* first: ops find the end by it */
	struct sdp_pair *pair;
	u8 index;
	struct pair_item items[PAIR_ITEMS];	/* to the other end */
	u32 items_first;
	u32 items_nr;
	u32 posted_sizes[PAIR_POSTED];		/* oldest first */
	u32 posted_nr;
	u32 buf_size;
	u32 slots;		/* work requests that have not completed */
	struct pair_read reads[PAIR_READS];
	u32 reads_nr;
	u64 pos;		/* position behind all bytes that arrived */
	u64 read_pos;		/* ... and behind the Reads that are posted */
	u64 queued;		/* bytes handed over, not by offers */
	u64 offered;		/* bytes of offers that the peer has */
	u64 cut_limit;		/* position from which on all bytes are of offers */
	u64 oob_sent;		/* position behind the last out-of-band byte */
	u64 oob_seen;
	u64 written;		/* bytes of Writes whose RdmaWrCompl has not arrived */
	struct pair_buf offers[PAIR_BUFS];
	struct pair_buf sinks[PAIR_BUFS];
	u32 offers_nr;
	u32 sinks_nr;
	u32 notices;		/* bits by enum sdp_notice */
	bool disconnected;
	bool no_memory;		/* post() fails */
};

/* what an observer sees */
struct pair_observer {
	void (*message)(void *context, int end, const u8 *p, u32 n, int carrier);
	void (*write)(void *context, int end, u32 rkey, u64 va, u64 len);
	void (*read)(void *context, int end, u32 rkey, u64 va, u64 len);
	void *context;
};

struct sdp_pair {
	struct pair_end ends[2];
	const u8 *input;	/* decisions come from here, if it is not NULL */
	u32 input_len;
	u32 random;
	const struct pair_observer *observer;
	const char *broken;	/* the first thing that is wrong */
	int line;
	u8 pattern[2][PAIR_PERIOD];	/* bytes of the two streams */
	u8 scratch[SDP_MSG_HDR_MAX + PAIR_SIZE];
};

void pair_begin(struct sdp_pair *p, u32 seed, const u8 *input, u32 input_len,
		const struct pair_observer *observer);
void pair_step(struct sdp_pair *p);
/* let everything that is on its way arrive; with programs that take it, or that do nothing */
void pair_settle(struct sdp_pair *p, bool programs);
/* all bytes have arrived, then close both ends, and check everything */
void pair_finish(struct sdp_pair *p);
bool pair_over(const struct sdp_pair *p);	/* the input is used up */

#endif /* KUNIT_SDP_PAIR_H */
