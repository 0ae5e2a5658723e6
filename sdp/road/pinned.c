// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Pinned memory of programs and its keys.
 *
 * The memory is charged as ib_core and the kAL charge regions: to pinned_vm of the process, against
 * RLIMIT_MEMLOCK. It is pinned during one call of the process only. That of MSG_ZEROCOPY outlives
 * its call, and the network core charges it to the user (mm_account_pinned_pages()).
 *
 * A key is dropped when the machine is done with the chunk and each Send from it has completed: by
 * the thread that waits for that, or at once if it is of MSG_ZEROCOPY.
 * When the connection is dead, no key is dropped: the link's protection domain has no endpoint but
 * its own, so that nothing reaches the memory when that endpoint is gone.
 */
#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "pinned.h"

/* a peer that lives answers a cancel, and Reads end, without its program */
#define SDP_ZCOPY_ANSWER	(60 * HZ)
#define SDP_ZCOPY_LAST		(3 * HZ)	/* for a process that is killed */

/* Halves *********************************************************************************** */

static void sdp_pinned_free(struct sdp_zcopy *zc)
{
	u32 i;

	if (!zc)
		return;
	if (zc->pool)
		zc->link->ops->pool_destroy(zc->pool);
	for (i = 0; i < zc->chunks_nr; i++)
		kvfree(zc->chunks[i].pages);
	kfree(zc);
}

/**
 * sdp_pinned_release() - the end of a link
 * @link: link without an endpoint
 *
 * Context: may sleep.
 */
void sdp_pinned_release(struct sdp_link *link)
{
	sdp_pinned_free(link->zcopy_tx);
	sdp_pinned_free(link->zcopy_rx);
	sdp_pinned_free(link->zcopy_notify);
}

/* Sleeps. Return: zero copy of half a connection, or NULL. */
static struct sdp_zcopy *sdp_pinned_create(struct sdp_link *link, u32 chunks)
{
	const struct sdp_ot_pool_attr attr = {
		.kind = SDP_OT_POOL_RDMA,
		.elements = chunks,
		.size = min(SDP_ZCOPY_PAGES, link->device->max_pages),
		.domain = link,
	};
	struct sdp_zcopy *zc;
	u32 i;

	if ((u64)attr.size * PAGE_SIZE < SDP_ZCOPY_LEAST + PAGE_SIZE)
		return NULL;
	zc = kzalloc(sizeof(*zc), GFP_KERNEL_ACCOUNT);
	if (!zc)
		return NULL;
	zc->link = link;
	zc->pages = attr.size;
	zc->chunks_nr = chunks;
	init_waitqueue_head(&zc->wait);
	INIT_WORK(&zc->reap, sdp_notify_reap);
	for (i = 0; i < chunks; i++) {
		zc->chunks[i].zc = zc;
		zc->chunks[i].pages = kvcalloc(attr.size, sizeof(struct page *),
					       GFP_KERNEL_ACCOUNT);
		if (!zc->chunks[i].pages)
			goto failed;
	}
	zc->pool = link->ops->pool_create(link->device, &attr);
	if (!IS_ERR(zc->pool))
		return zc;
	zc->pool = NULL;
failed:
	sdp_pinned_free(zc);
	return NULL;
}

/**
 * sdp_pinned_half() - make what a half needs, unless it is there
 * @link: link
 * @half: one of its three
 * @chunks: how many at a time
 *
 * Return: whether it is there. Context: with the mutex of the half, tx_mutex or rx_mutex; sleeps.
 */
bool sdp_pinned_half(struct sdp_link *link, struct sdp_zcopy **half, u32 chunks)
{
	struct sdp_zcopy *made;

	if (*half)
		return true;
	made = sdp_pinned_create(link, chunks);
	if (!made)
		return false;
	sdp_lock(link->ssk);
	*half = made;
	sdp_unlock(link->ssk);
	return true;
}

/* Memory *********************************************************************************** */

static bool sdp_chunk_charge(u32 npages)
{
	const u64 all = atomic64_add_return(npages, &current->mm->pinned_vm);

	if (all <= rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT || capable(CAP_IPC_LOCK))
		return true;
	atomic64_sub(npages, &current->mm->pinned_vm);
	return false;
}

/**
 * sdp_chunk_grab() - pin memory that the caller has charged
 * @chunk: unused chunk
 * @iter: where it is, in memory of a process; moves on
 * @most: bytes
 *
 * The pins last until the peer has read or written, as long as it likes: so they are long-term
 * ones, which iov_iter_extract_pages() does not take. They are kept out of memory that must stay
 * movable, and file systems that need to know of each write refuse them.
 *
 * Return: bytes, or a negative errno, and nothing is pinned. Context: may sleep.
 */
int sdp_chunk_grab(struct sdp_chunk *chunk, struct iov_iter *iter, size_t most)
{
	const unsigned int write = iov_iter_rw(iter) == READ ? FOLL_WRITE : 0;
	unsigned long addr;
	size_t len;
	int n;

	if (WARN_ON_ONCE(!user_backed_iter(iter)))
		return -EINVAL;
	/* to a segment that is not empty */
	iov_iter_advance(iter, 0);
	most = min(most, iov_iter_single_seg_count(iter));
	if (!most)
		return -EFAULT;
	addr = (unsigned long)iter_iov_addr(iter);
	chunk->offset = offset_in_page(addr);
	n = min_t(size_t, DIV_ROUND_UP(chunk->offset + most, PAGE_SIZE), chunk->zc->pages);
	n = pin_user_pages_fast(addr, n, write | FOLL_LONGTERM, chunk->pages);
	if (n <= 0)
		return n ?: -EFAULT;
	len = min(most, (size_t)n * PAGE_SIZE - chunk->offset);
	chunk->len = len;
	chunk->npages = n;
	iov_iter_advance(iter, len);
	return len;
}

/**
 * sdp_chunk_pin() - pin memory of the calling process
 * @chunk: unused chunk
 * @iter: where it is; moves on
 * @most: bytes
 *
 * Return: bytes, or a negative errno, and nothing is pinned. Context: may sleep.
 */
int sdp_chunk_pin(struct sdp_chunk *chunk, struct iov_iter *iter, size_t most)
{
	int len;

	if (!current->mm || !can_do_mlock())
		return -EPERM;
	len = sdp_chunk_grab(chunk, iter, most);
	if (len < 0)
		return len;
	if (sdp_chunk_charge(chunk->npages))
		return len;
	unpin_user_pages(chunk->pages, chunk->npages);
	iov_iter_revert(iter, len);
	return -ENOMEM;
}

/**
 * sdp_chunk_unpin() - give the memory back
 * @chunk: chunk that is free, or was never named
 * @dirty: it was written to
 *
 * Context: the process that has pinned it, any for MSG_ZEROCOPY; may sleep.
 */
void sdp_chunk_unpin(struct sdp_chunk *chunk, bool dirty)
{
	const struct sdp_ot_ops *ops = chunk->zc->link->ops;

	if (chunk->key) {
		ops->key_put(chunk->key);
		/* the link has ended with the key: what the RNIC wrote comes by the unmapping */
		if (!chunk->free && ops->pool_settle)
			ops->pool_settle(chunk->zc->pool);
	}
	chunk->key = NULL;
	unpin_user_pages_dirty_lock(chunk->pages, chunk->npages, dirty);
	if (!chunk->uarg)
		atomic64_sub(chunk->npages, &current->mm->pinned_vm);
	chunk->npages = 0;
}

/**
 * sdp_chunk_name() - give a key to the memory
 * @chunk: pinned chunk
 * @access: SDP_OT_PEER_*
 *
 * Return: 0 or a negative errno. Context: with sdp_lock(), connected.
 */
int sdp_chunk_name(struct sdp_chunk *chunk, u32 access)
{
	struct sdp_link *link = chunk->zc->link;
	struct sdp_post *post;
	int rc;

	chunk->start = 0;
	chunk->sent_to = 0;
	chunk->done = 0;
	chunk->written = false;
	chunk->over = false;
	chunk->dropping = false;
	chunk->free = false;
	chunk->key = link->ops->key_get(chunk->zc->pool);
	if (!chunk->key)
		return -ENOBUFS;
	post = sdp_link_post_get(link, chunk);
	rc = post ? link->ops->key_post(link->ep, chunk->key, chunk->pages, chunk->npages,
					chunk->offset, chunk->len, access, post) : -ENOTCONN;
	if (!rc)
		return 0;
	if (post)
		sdp_link_post_put(link, post);
	link->ops->key_put(chunk->key);
	chunk->key = NULL;
	return rc;
}

/* With sdp_lock(), so that the work item does not give back what it has not got yet. */
static void sdp_pinned_wake(struct sdp_zcopy *zc)
{
	struct sdp_link *link = zc->link;

	wake_up_all(&zc->wait);
	if (zc == link->zcopy_notify && queue_work(sdp_queue, &zc->reap))
		sdp_sock_get(link->ssk);
}

static void sdp_chunk_freed(struct sdp_chunk *chunk)
{
	chunk->free = true;
	sdp_pinned_wake(chunk->zc);
}

/* with sdp_lock() */
static bool sdp_chunk_may_drop(const struct sdp_chunk *chunk)
{
	const struct sdp_link *link = chunk->zc->link;

	return chunk->key && chunk->over && !chunk->dropping && link->conn.state != SDP_DEAD &&
	       link->sent_to >= chunk->sent_to;
}

/* with sdp_lock() */
static void sdp_chunk_drop(struct sdp_chunk *chunk)
{
	struct sdp_link *link = chunk->zc->link;
	struct sdp_post *post;
	int rc;

	if (!sdp_chunk_may_drop(chunk))
		return;
	chunk->dropping = true;
	/* without a post the link is broken, and ends */
	post = sdp_link_post_get(link, chunk);
	if (!post)
		return;
	rc = link->ops->key_drop(link->ep, chunk->key, post);
	if (!rc)
		return;
	sdp_link_post_put(link, post);
	if (rc != -EINVAL) {
		sdp_link_break(link, rc);
		return;
	}
	/* it names nothing */
	sdp_chunk_freed(chunk);
}

/*
 * The program's thread drops the key of its chunk, for it can do the work of the RNIC. That of
 * MSG_ZEROCOPY has gone on. With sdp_lock().
 */
static void sdp_chunk_settle(struct sdp_chunk *chunk)
{
	if (chunk->zc == chunk->zc->link->zcopy_notify)
		sdp_chunk_drop(chunk);
	else if (sdp_chunk_may_drop(chunk))
		wake_up_all(&chunk->zc->wait);
}

/**
 * sdp_chunk_over() - the machine is done with a chunk
 * @chunk: named chunk
 * @done: bytes that were transferred
 *
 * Context: with sdp_lock().
 */
void sdp_chunk_over(struct sdp_chunk *chunk, u32 done)
{
	chunk->done = done;
	chunk->over = true;
	sdp_chunk_settle(chunk);
}

/** sdp_chunk_is_free() - may the memory be given back? Takes sdp_lock() */
bool sdp_chunk_is_free(struct sdp_chunk *chunk)
{
	struct sdp_link *link = chunk->zc->link;
	bool is_free;

	sdp_lock(link->ssk);
	is_free = chunk->free || link->ended;
	sdp_unlock(link->ssk);
	return is_free;
}

/** sdp_chunk_is_over() - is there nothing to wait for but the drop of the key? Takes sdp_lock() */
bool sdp_chunk_is_over(struct sdp_chunk *chunk)
{
	struct sdp_link *link = chunk->zc->link;
	bool is_over;

	sdp_lock(link->ssk);
	is_over = chunk->free || chunk->dropping || link->ended || sdp_chunk_may_drop(chunk);
	sdp_unlock(link->ssk);
	return is_over;
}

static void sdp_chunk_wait(struct sdp_chunk *chunk, bool (*condition)(struct sdp_chunk *))
{
	struct sdp_link *link = chunk->zc->link;
	long left;

	left = wait_event_killable_timeout(chunk->zc->wait, condition(chunk), SDP_ZCOPY_ANSWER);
	if (left < 0)
		left = wait_event_timeout(chunk->zc->wait, condition(chunk), SDP_ZCOPY_LAST);
	if (left)
		return;
	sdp_lock(link->ssk);
	link->error = -ETIMEDOUT;
	if (link->conn.state != SDP_DEAD)
		sdp_state_event(&link->conn, SDP_EV_DOWN);
	sdp_unlock(link->ssk);
	wait_event(chunk->zc->wait, condition(chunk));
}

/**
 * sdp_chunk_await() - wait until a chunk is free that waits for no program
 * @chunk: named chunk of the calling program, not of MSG_ZEROCOPY
 *
 * A peer that does not answer for long loses the connection. Context: process.
 */
void sdp_chunk_await(struct sdp_chunk *chunk)
{
	struct sdp_sock *ssk = chunk->zc->link->ssk;

	sdp_chunk_wait(chunk, sdp_chunk_is_over);
	sdp_lock(ssk);
	sdp_chunk_drop(chunk);
	sdp_unlock_push(ssk);
	sdp_chunk_wait(chunk, sdp_chunk_is_free);
}

/* What the glue reports ********************************************************************** */

static bool sdp_pinned_find(struct sdp_zcopy *zc, u64 from, u32 len,
			    struct sdp_ot_segment *segment, bool written)
{
	u32 i;

	for (i = 0; zc && i < zc->chunks_nr; i++) {
		struct sdp_chunk *chunk = &zc->chunks[i];

		if (!chunk->key || chunk->over || from < chunk->start ||
		    from - chunk->start + len > chunk->len)
			continue;
		chunk->sent_to = from + len;
		chunk->written |= written;
		*segment = (struct sdp_ot_segment){
			.key = chunk->key,
			.offset = from - chunk->start,
			.length = len,
		};
		return true;
	}
	return false;
}

/**
 * sdp_pinned_segment() - where are bytes of the stream?
 * @link: link
 * @from: position of the first one
 * @len: bytes that a message has
 * @segment: filled, if they are in a chunk
 * @written: an RDMA Write takes them, not a Send
 *
 * Return: whether they are. Context: with sdp_lock().
 */
bool sdp_pinned_segment(struct sdp_link *link, u64 from, u32 len, struct sdp_ot_segment *segment,
			bool written)
{
	return sdp_pinned_find(link->zcopy_tx, from, len, segment, written) ||
	       sdp_pinned_find(link->zcopy_notify, from, len, segment, written);
}

/* an op of the machine: the peer has the bytes of a chunk, or gets no more of them */
void sdp_pinned_offer_done(struct sdp_conn *c, void *cookie, u32 octets)
{
	struct sdp_link *link = container_of(c, struct sdp_link, conn);
	struct sdp_chunk *chunk = cookie;
	const u64 end = chunk->start + octets;

	/* those that were read need no Send that completes */
	if (octets && end > chunk->sent_to)
		link->acked = max(link->acked, end);
	sdp_count_more(SDP_COUNT_TX_READ, c->tx.read - link->tx_read);
	link->tx_read = c->tx.read;
	sdp_chunk_over(chunk, octets);
}

/* an op of the machine: the peer has written into a chunk, or does not write into it any more */
void sdp_pinned_sink_done(struct sdp_conn *c, void *cookie, u32 octets, enum sdp_sink_end how)
{
	struct sdp_link *link = container_of(c, struct sdp_link, conn);
	struct sdp_chunk *chunk = cookie;

	chunk->written = how == SDP_SINK_WRITTEN;
	link->rx_pos += octets;
	sdp_count_more(SDP_COUNT_RX_WRITTEN, octets);
	/* its reader */
	link->ssk->wake |= SDP_WAKE_READ;
	sdp_chunk_over(chunk, octets);
}

/* an op of the machine: read into a chunk */
void sdp_pinned_read(struct sdp_conn *c, u32 rkey, u64 va, u32 len, void *cookie)
{
	struct sdp_link *link = container_of(c, struct sdp_link, conn);
	struct sdp_chunk *chunk = cookie;
	const struct sdp_ot_segment segment = { .key = chunk->key, .length = len };
	struct sdp_post *post = sdp_link_post_get(link, chunk);
	int rc;

	if (!post)
		return;
	post->slots = 1;
	post->octets = len;
	rc = link->ops->post_read(link->ep, &segment, 1, rkey, va, SDP_OT_SIGNAL, post);
	if (!rc)
		return;
	sdp_link_post_put(link, post);
	sdp_link_break(link, rc);
}

/**
 * sdp_pinned_completed() - a post for a chunk has ended
 * @link: link
 * @post: the post
 * @done: completion
 *
 * Context: with sdp_lock(), outside of the machine.
 */
void sdp_pinned_completed(struct sdp_link *link, const struct sdp_post *post,
			  const struct sdp_ot_completion *done)
{
	struct sdp_chunk *chunk = post->chunk;

	if (done->op == SDP_OT_KEY_DROP) {
		/* also if the connection has ended meanwhile */
		sdp_chunk_freed(chunk);
		return;
	}
	if (done->status || done->op != SDP_OT_READ)
		return;
	link->rx_pos += post->octets;
	sdp_count_more(SDP_COUNT_RX_READ, post->octets);
	sdp_chunk_over(chunk, post->octets);
	sdp_state_read_done(&link->conn, post->octets);
}

/**
 * sdp_pinned_sent() - Sends have completed
 * @link: link; sdp_link.sent_to has grown
 *
 * Context: with sdp_lock(), outside of the machine.
 */
void sdp_pinned_sent(struct sdp_link *link)
{
	struct sdp_zcopy *halves[] = { link->zcopy_tx, link->zcopy_notify };
	struct sdp_zcopy *zc;
	u32 half, i;

	for (half = 0; half < ARRAY_SIZE(halves); half++) {
		zc = halves[half];
		for (i = 0; zc && i < zc->chunks_nr; i++)
			sdp_chunk_settle(&zc->chunks[i]);
	}
}

/**
 * sdp_pinned_ended() - the endpoint is gone
 * @link: link; sdp_link.ended is set
 *
 * Context: with sdp_lock().
 */
void sdp_pinned_ended(struct sdp_link *link)
{
	if (link->zcopy_tx)
		sdp_pinned_wake(link->zcopy_tx);
	if (link->zcopy_rx)
		sdp_pinned_wake(link->zcopy_rx);
	if (link->zcopy_notify)
		sdp_pinned_wake(link->zcopy_notify);
}

/** sdp_zcopy_sending() - has a session the sending half? With sdp_lock() */
bool sdp_zcopy_sending(const struct sdp_link *link)
{
	return link->zcopy_tx && link->zcopy_tx->busy;
}

/** sdp_zcopy_readable() - bytes that a reader may read from the peer; with sdp_lock() */
u32 sdp_zcopy_readable(const struct sdp_link *link)
{
	if (link->conn.state == SDP_DEAD || (link->zcopy_rx && link->zcopy_rx->busy))
		return 0;
	/* what the peer says is no reason for a negative FIONREAD */
	return min(sdp_state_readable(&link->conn), SZ_1G);
}

/**
 * sdp_zcopy_refuse() - ask the peer to send what it advertises, if it advertises anything
 * @link: link
 *
 * Context: with sdp_lock(), outside of the machine.
 */
void sdp_zcopy_refuse(struct sdp_link *link)
{
	if (!sdp_zcopy_readable(link))
		return;
	sdp_count(SDP_COUNT_ZCOPY_REFUSALS);
	sdp_state_refuse(&link->conn);
}

/* Does the task that reads wait itself for the peer to read? */
static bool sdp_zcopy_waits(const struct sdp_link *link)
{
	const struct sdp_sock *ssk = link->ssk;
	const struct task_struct *reader = READ_ONCE(ssk->reader);

	return sdp_zcopy_sending(link) && !atomic_read(&ssk->readers) &&
	       (!reader || reader == link->zcopy_tx->sender);
}

/**
 * sdp_zcopy_settle() - is there an advertisement that will not be read?
 * @link: link
 *
 * The peer is asked for Data if the program that could read waits itself for the peer to read, if
 * its receives must not wait, and if the device, the peer's answer or the program allows no Read at
 * all. A receive has one Read at a time (SDP_ZCOPY_RECEIVED), so one that was negotiated suffices.
 * Context: with sdp_lock(), outside of the machine.
 */
void sdp_zcopy_settle(struct sdp_link *link)
{
	struct sdp_sock *ssk = link->ssk;

	if ((link->up && !link->reads_out) || ssk->shutdown & RCV_SHUTDOWN || ssk->nonblock ||
	    sdp_zcopy_waits(link))
		sdp_zcopy_refuse(link);
}
