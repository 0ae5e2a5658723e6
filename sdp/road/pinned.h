/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Zero copy: memory of programs that the transport reaches directly. pinned.c has the memory,
 * zcopy_read.c, zcopy_write.c and zcopy_notify.c the calls of programs that use it.
 *
 * A half of a connection has a struct sdp_zcopy from its first use on. One call at a time uses it:
 * its session. A session has no mutex of the socket, so that others never wait for it; they find
 * the half busy, as if its buffer were full or empty.
 *
 * Sends with MSG_ZEROCOPY have a struct sdp_zcopy of their own and no session: a chunk lives on
 * when the call has returned, and a work item gives its memory back and notifies the program.
 *
 * A chunk is pinned memory with a key. Its life: pinned and charged, named by the key, used by the
 * machine, over, key dropped, free. Until it is free, or the endpoint is gone, it stays pinned.
 */
#ifndef SDP_PINNED_H
#define SDP_PINNED_H

#include <linux/minmax.h>
#include <linux/skbuff.h>
#include <linux/uio.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "road.h"

#define SDP_ZCOPY_CHUNKS	2	/* one is with the peer, the next one is ready */
#define SDP_ZCOPY_RECEIVED	1	/* of what comes in */
#define SDP_ZCOPY_NOTIFIED	4	/* of MSG_ZEROCOPY */
#define SDP_ZCOPY_MOST		MAX(SDP_ZCOPY_CHUNKS, SDP_ZCOPY_NOTIFIED)
#define SDP_ZCOPY_PAGES		256	/* most pages of a chunk */
#define SDP_ZCOPY_LEAST		32768	/* fewer bytes are copied */
#define SDP_ZCOPY_PENALTY	64	/* most calls with copies after one that was in vain */

/**
 * struct sdp_chunk - pinned memory
 * @zc: whose it is
 * @key: names the memory, or NULL
 * @pages: the pages
 * @npages: how many are pinned
 * @offset: in the first page
 * @len: bytes
 * @start: position of the first byte in the stream
 * @sent_to: position behind the last byte that left by a Send or a Write
 * @done: bytes that the peer has, or that were read or written here
 * @written: RDMA Writes took bytes from it, or brought them here
 * @over: the machine needs it no more
 * @dropping: the key's end was posted
 * @free: nothing reaches the memory any more
 * @uarg: MSG_ZEROCOPY: the program's notification, or NULL: the chunk is not in use
 */
struct sdp_chunk {
	struct sdp_zcopy *zc;
	struct sdp_ot_key *key;
	struct page **pages;
	u32 npages;
	u32 offset;
	u32 len;
	u64 start;
	u64 sent_to;
	u32 done;
	bool written;
	bool over;
	bool dropping;
	bool free;
	struct ubuf_info *uarg;
};

/**
 * struct sdp_zcopy - zero copy of half a connection
 * @link: whose half it is
 * @pool: keys
 * @wait: a chunk is free, or the endpoint is gone
 * @pages: most pages of a chunk
 * @chunks_nr: entries of @chunks
 * @first: oldest chunk in use
 * @used: chunks in use
 * @busy: there is a session
 * @sender: whose it is; not to be followed
 * @skip: so many large calls go with copies before the next attempt
 * @penalty: what @skip becomes when the peer does not read, or writes nothing
 * @reap: MSG_ZEROCOPY: gives memory back
 * @chunks: the chunks
 *
 * @busy, @sender, @skip and what a chunk says of its end are protected by sdp_lock(), the
 * rest is the session's.
 */
struct sdp_zcopy {
	struct sdp_link *link;
	struct sdp_ot_pool *pool;
	wait_queue_head_t wait;
	u32 pages;
	u8 chunks_nr;
	u8 first;
	u8 used;
	bool busy;
	const struct task_struct *sender;
	u8 skip;
	u8 penalty;
	struct work_struct reap;
	struct sdp_chunk chunks[SDP_ZCOPY_MOST];
};

bool sdp_pinned_half(struct sdp_link *link, struct sdp_zcopy **half, u32 chunks);
int sdp_chunk_grab(struct sdp_chunk *chunk, struct iov_iter *iter, size_t most);
int sdp_chunk_pin(struct sdp_chunk *chunk, struct iov_iter *iter, size_t most);
void sdp_chunk_unpin(struct sdp_chunk *chunk, bool dirty);
int sdp_chunk_name(struct sdp_chunk *chunk, u32 access);
void sdp_chunk_over(struct sdp_chunk *chunk, u32 done);
void sdp_chunk_await(struct sdp_chunk *chunk);
bool sdp_chunk_is_free(struct sdp_chunk *chunk);
bool sdp_chunk_is_over(struct sdp_chunk *chunk);

/* zcopy_read.c, zcopy_notify.c */
u32 sdp_zcopy_threshold(struct sdp_sock *ssk, const struct sdp_link *link);
bool sdp_zcopy_may_pin(struct sdp_sock *ssk, const struct msghdr *msg);
int sdp_zcopy_offer(struct sdp_sock *ssk, struct sdp_chunk *chunk);
void sdp_notify_reap(struct work_struct *work);

#endif /* SDP_PINNED_H */
