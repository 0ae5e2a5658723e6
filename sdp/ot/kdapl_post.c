// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What is posted to the endpoints of the transport on kDAPL.
 *
 * A struct sdp_kdapl_post stands for each. It is in queue->posted, in the order of posts, until it
 * has ended and all before it have: some drivers complete registrations ahead of Reads. Then it is
 * reported to SDP. The context that finds a post in the state POSTED, with the queue's lock, ends
 * it: an event of kDAPL, or the end of the endpoint, for what kDAPL has lost. So it ends once.
 *
 * The end of a key_drop() says that the memory is not mapped for the RNIC any more: kDAPL unmaps it
 * before it reports an invalidation. What cannot be invalidated, because the connection has ended
 * or the peer has done so, gets another LMR first: a key that the peer has invalidated may still
 * be about to be unmapped, in another context.
 *
 * kDAPL is asked for an event of each post, because the post has to be given back. Silent ones that
 * succeed end here.
 */
#include <linux/cleanup.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "kdapl.h"

/* Posts ********************************************************************* */

static struct sdp_kdapl_post *sdp_kdapl_post_make(struct sdp_kdapl_queue *queue, enum sdp_ot_op op,
						  u32 flags, void *cookie,
						  struct sdp_kdapl_key *key,
						  enum sdp_kdapl_post_state state)
{
	struct sdp_kdapl_post *post;
	unsigned long irq;

	spin_lock_irqsave(&queue->lock, irq);
	post = list_first_entry_or_null(&queue->free, struct sdp_kdapl_post, list);
	if (post) {
		list_move_tail(&post->list, &queue->posted);
		post->state = state;
		post->silent = !(flags & SDP_OT_SIGNAL);
		post->key = key;
		post->completion = (struct sdp_ot_completion){
			.ep = &queue->ep->ot,
			.cookie = cookie,
			.op = op,
		};
		refcount_inc(&queue->ep->refs);
		atomic_inc(&queue->untold);
	}
	spin_unlock_irqrestore(&queue->lock, irq);
	return post;
}

static struct sdp_kdapl_post *sdp_kdapl_post_new(struct sdp_kdapl_queue *queue, enum sdp_ot_op op,
						 u32 flags, void *cookie)
{
	return sdp_kdapl_post_make(queue, op, flags, cookie, NULL, SDP_KDAPL_POSTED);
}

/* The post of a key: its end is reported to SDP. */
static struct sdp_kdapl_post *sdp_kdapl_post_key(struct sdp_kdapl_ep *ep, enum sdp_ot_op op,
						 void *cookie, struct sdp_kdapl_key *key,
						 enum sdp_kdapl_post_state state)
{
	return sdp_kdapl_post_make(&ep->send, op, SDP_OT_SIGNAL, cookie, key, state);
}

/**
 * sdp_kdapl_post_free() - the post can be used again
 * @post: post; it is in no list
 *
 * sdp_kdapl_queue_told() follows. Context: atomic.
 */
void sdp_kdapl_post_free(struct sdp_kdapl_post *post)
{
	struct sdp_kdapl_queue *queue = post->queue;
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	post->state = SDP_KDAPL_FREE;
	list_add(&post->list, &queue->free);
	spin_unlock_irqrestore(&queue->lock, flags);
}

/** sdp_kdapl_queue_told() - SDP knows the end of a post, or need not; atomic */
void sdp_kdapl_queue_told(struct sdp_kdapl_queue *queue)
{
	struct sdp_kdapl_ep *ep = queue->ep;

	if (atomic_dec_and_test(&queue->untold))
		wake_up_var(&queue->untold);
	sdp_kdapl_ep_put(ep);
}

/** sdp_kdapl_post_told() - both; atomic */
void sdp_kdapl_post_told(struct sdp_kdapl_post *post)
{
	struct sdp_kdapl_queue *queue = post->queue;

	sdp_kdapl_post_free(post);
	sdp_kdapl_queue_told(queue);
}

/* Move the posts that have to be reported to @reported, the silent ones to @silent. */
static void sdp_kdapl_queue_release(struct sdp_kdapl_queue *queue, struct list_head *reported,
				    struct list_head *silent)
{
	struct sdp_kdapl_post *post, *next;

	lockdep_assert_held(&queue->lock);
	list_for_each_entry_safe(post, next, &queue->posted, list) {
		if (post->state != SDP_KDAPL_DONE)
			return;
		list_move_tail(&post->list,
			       post->silent && !post->completion.status ? silent : reported);
	}
}

static void sdp_kdapl_queue_report(struct sdp_kdapl_queue *queue, struct list_head *reported,
				   struct list_head *silent, enum sdp_kdapl_reporter reporter)
{
	struct sdp_kdapl_post *post, *next;

	if (!list_empty(reported))
		sdp_kdapl_cq_add(queue->cq, reported, reporter);
	list_for_each_entry_safe(post, next, silent, list) {
		list_del(&post->list);
		sdp_kdapl_post_told(post);
	}
}

/* kDAPL did not take it. What was posted behind it may have ended meanwhile. */
static void sdp_kdapl_post_undo(struct sdp_kdapl_post *post)
{
	struct sdp_kdapl_queue *queue = post->queue;
	LIST_HEAD(silent);
	unsigned long flags;
	LIST_HEAD(reported);

	spin_lock_irqsave(&queue->lock, flags);
	list_del(&post->list);
	sdp_kdapl_queue_release(queue, &reported, &silent);
	spin_unlock_irqrestore(&queue->lock, flags);
	sdp_kdapl_queue_report(queue, &reported, &silent, SDP_KDAPL_REPORT_LATER);
	sdp_kdapl_post_told(post);
}

/** sdp_kdapl_post_renewed() - the key of a key_drop() has got a new LMR; atomic */
void sdp_kdapl_post_renewed(struct sdp_kdapl_post *post)
{
	struct sdp_kdapl_queue *queue = post->queue;
	struct sdp_kdapl_ep *ep = queue->ep;
	LIST_HEAD(silent);
	unsigned long flags;
	LIST_HEAD(reported);

	/* the last reported post may be the endpoint's end */
	refcount_inc(&ep->refs);
	spin_lock_irqsave(&queue->lock, flags);
	if (post->state == SDP_KDAPL_RENEWING) {
		post->state = SDP_KDAPL_DONE;
		sdp_kdapl_queue_release(queue, &reported, &silent);
	}
	spin_unlock_irqrestore(&queue->lock, flags);
	sdp_kdapl_queue_report(queue, &reported, &silent, SDP_KDAPL_REPORT_HERE);
	sdp_kdapl_ep_put(ep);
}

/* Memory ******************************************************************** */

static int sdp_kdapl_segment(const struct sdp_kdapl_ep *ep, const struct sdp_ot_segment *segment,
			     DAT_LMR_TRIPLET *to)
{
	const struct sdp_kdapl_pool *pool;
	u64 size;

	if (segment->buf) {
		pool = sdp_kdapl_pool(segment->buf->pool);
		size = segment->buf->size;
		to->virtual_address = pool->base + (segment->buf->data - (u8 *)pool->memory);
		to->lmr_context = pool->context;
	} else if (segment->key) {
		pool = sdp_kdapl_pool(segment->key->pool);
		size = sdp_kdapl_key(segment->key)->size;
		to->virtual_address = segment->key->address;
		to->lmr_context = segment->key->local;
	} else {
		return -EINVAL;
	}
	if (pool->domain != ep->domain || (u64)segment->offset + segment->length > size)
		return -EINVAL;
	to->virtual_address += segment->offset;
	to->segment_length = segment->length;
	return 0;
}

/*
 * Give the first @length bytes of a buffer to the RNIC, or to SDP. Memory of keys is mapped and
 * unmapped by its registrations. The endpoint has its device.
 */
static void sdp_kdapl_buf_sync(const struct sdp_kdapl_ep *ep, struct sdp_ot_buf *buf, u32 length,
			       bool to_sdp)
{
	const struct sdp_ot_segment segment = { .buf = buf, .length = length };
	DAT_LMR_TRIPLET iov;

	if (likely(!ep->device->syncs) || !length || sdp_kdapl_segment(ep, &segment, &iov))
		return;
	if (to_sdp)
		dat_lmr_sync_rdma_write(ep->device->ia, &iov, 1);
	else
		dat_lmr_sync_rdma_read(ep->device->ia, &iov, 1);
}

/* The buffers among @segments are to be sent. */
static void sdp_kdapl_bufs_sync(const struct sdp_kdapl_ep *ep,
				const struct sdp_ot_segment *segments, u32 n)
{
	u32 i;

	if (likely(!ep->device->syncs))
		return;
	for (i = 0; i < n; i++)
		if (segments[i].buf)
			sdp_kdapl_buf_sync(ep, segments[i].buf,
					   segments[i].offset + segments[i].length, false);
}

/* Completions *************************************************************** */

static int sdp_kdapl_post_status(DAT_DTO_COMPLETION_STATUS status)
{
	switch (status) {
	case DAT_DTO_SUCCESS:
		return 0;
	case DAT_DTO_ERR_FLUSHED:
		return -ECANCELED;
	case DAT_DTO_ERR_LOCAL_LENGTH:
		return -EMSGSIZE;
	case DAT_DTO_ERR_LOCAL_PROTECTION:
		return -EFAULT;
	case DAT_DTO_ERR_BAD_RESPONSE:
		return -EPROTO;
	case DAT_DTO_ERR_REMOTE_ACCESS:
		return -EACCES;
	case DAT_DTO_ERR_REMOTE_RESPONDER:
		return -EREMOTEIO;
	case DAT_DTO_ERR_TRANSPORT:
		return -ECONNRESET;
	case DAT_DTO_ERR_RECEIVER_NOT_READY:
		return -ENOBUFS;
	default:
		return -EIO;
	}
}

static void sdp_kdapl_post_fill(struct sdp_kdapl_post *post,
				const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	struct sdp_ot_completion *completion = &post->completion;

	completion->status = sdp_kdapl_post_status(dto->status);
	if (completion->status)
		return;
	completion->length = dto->transfered_length;
	completion->solicited = completion->op == SDP_OT_RECV;
	if (completion->op == SDP_OT_RECV)
		sdp_kdapl_buf_sync(post->queue->ep, post->buf, completion->length, true);
	if (dto->operation == DAT_DTO_RECEIVE_WITH_INVALIDATE)
		completion->invalidated = dto->rmr_context;
	if (completion->op == SDP_OT_KEY_DROP)
		WRITE_ONCE(post->key->named, false);
}

/**
 * sdp_kdapl_post_event() - kDAPL reports the end of a post
 * @event: event of an EVD for data transfers
 *
 * Context: softirq, which keeps the post's memory even if its endpoint has ended meanwhile.
 */
void sdp_kdapl_post_event(const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	struct sdp_kdapl_post *post = dto->user_cookie.as_ptr;
	struct sdp_kdapl_queue *queue = post->queue;
	struct sdp_kdapl_ep *ep = queue->ep;
	bool renew = false;
	LIST_HEAD(silent);
	unsigned long flags;
	LIST_HEAD(reported);
	int status;

	/* it is ending, and its posts have been reported */
	if (!refcount_inc_not_zero(&ep->refs))
		return;
	spin_lock_irqsave(&queue->lock, flags);
	if (post->state != SDP_KDAPL_POSTED) {
		spin_unlock_irqrestore(&queue->lock, flags);
		sdp_kdapl_ep_put(ep);
		return;
	}
	sdp_kdapl_post_fill(post, dto);
	status = post->completion.status;
	renew = status && post->completion.op == SDP_OT_KEY_DROP;
	post->state = renew ? SDP_KDAPL_RENEWING : SDP_KDAPL_DONE;
	sdp_kdapl_queue_release(queue, &reported, &silent);
	spin_unlock_irqrestore(&queue->lock, flags);
	if (!status && queue == &ep->recv)
		sdp_kdapl_ep_received(ep);
	if (status && status != -ECANCELED)
		sdp_kdapl_ep_failed(ep, status);
	if (renew)
		sdp_kdapl_key_renew(post->key, post);
	sdp_kdapl_queue_report(queue, &reported, &silent, SDP_KDAPL_REPORT_HERE);
	sdp_kdapl_ep_put(ep);
}

/**
 * sdp_kdapl_queue_cancel() - end what kDAPL has lost with its endpoint
 * @queue: queue of an endpoint that is killed
 *
 * Context: may sleep.
 */
void sdp_kdapl_queue_cancel(struct sdp_kdapl_queue *queue)
{
	struct sdp_kdapl_post *post;
	LIST_HEAD(silent);
	unsigned long flags;
	LIST_HEAD(reported);

	spin_lock_irqsave(&queue->lock, flags);
	list_for_each_entry(post, &queue->posted, list) {
		if (post->state != SDP_KDAPL_POSTED)
			continue;
		post->completion.status = -ECANCELED;
		post->state = SDP_KDAPL_DONE;
		if (post->completion.op != SDP_OT_KEY_DROP)
			continue;
		post->state = SDP_KDAPL_RENEWING;
		sdp_kdapl_key_renew(post->key, post);
	}
	sdp_kdapl_queue_release(queue, &reported, &silent);
	spin_unlock_irqrestore(&queue->lock, flags);
	sdp_kdapl_queue_report(queue, &reported, &silent, SDP_KDAPL_REPORT_HERE);
}

/** sdp_kdapl_queue_wait() - wait until all is reported to SDP, if it is called up; may sleep */
void sdp_kdapl_queue_wait(struct sdp_kdapl_queue *queue)
{
	if (queue->cq->ot.attr.kind == SDP_OT_CQ_DIRECT)
		wait_var_event(&queue->untold, !atomic_read(&queue->untold));
}

/* Posting ******************************************************************* */

static int sdp_kdapl_post_errno(DAT_RETURN ret)
{
	if (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES)
		return DAT_GET_SUBTYPE(ret) == DAT_RESOURCE_MEMORY ? -ENOMEM : -EAGAIN;
	return sdp_kdapl_errno(ret);
}

static DAT_DTO_COOKIE sdp_kdapl_cookie(struct sdp_kdapl_post *post)
{
	DAT_DTO_COOKIE cookie = { .as_ptr = post };

	return cookie;
}

/* Return: 0, -EINVAL or -EMSGSIZE: longer than @max */
static int sdp_kdapl_segments(const struct sdp_kdapl_ep *ep, const struct sdp_ot_segment *segments,
			      u32 n, u32 most, u32 max, DAT_LMR_TRIPLET *to, u32 *total)
{
	u64 length = 0;
	int ret;
	u32 i;

	if (n > most)
		return -EINVAL;
	for (i = 0; i < n; i++) {
		ret = sdp_kdapl_segment(ep, &segments[i], &to[i]);
		if (ret)
			return ret;
		length += segments[i].length;
	}
	if (length > max)
		return -EMSGSIZE;
	*total = length;
	return 0;
}

static DAT_COMPLETION_FLAGS sdp_kdapl_flags(u32 flags)
{
	u32 to = DAT_COMPLETION_DEFAULT_FLAG;

	if (flags & SDP_OT_FENCE)
		to |= DAT_COMPLETION_BARRIER_FENCE_FLAG;
	return (DAT_COMPLETION_FLAGS)to;
}

/* The end of each post: kDAPL's answer */
static int sdp_kdapl_posted(struct sdp_kdapl_ep *ep, struct sdp_kdapl_post *post, DAT_RETURN ret)
{
	if (ret != DAT_SUCCESS)
		sdp_kdapl_post_undo(post);
	sdp_kdapl_ep_leave(ep);
	return ret == DAT_SUCCESS ? 0 : sdp_kdapl_post_errno(ret);
}

int sdp_kdapl_post_recv(struct sdp_ot_ep *ot, struct sdp_ot_buf *buf, void *cookie)
{
	const struct sdp_ot_segment segment = { .buf = buf, .length = buf->size };
	struct sdp_kdapl_ep *ep = sdp_kdapl_ep(ot);
	struct sdp_kdapl_post *post;
	DAT_LMR_TRIPLET iov;
	int ret;

	ret = sdp_kdapl_segment(ep, &segment, &iov) ?: sdp_kdapl_ep_enter(ep, false);
	if (ret)
		return ret;
	post = sdp_kdapl_post_new(&ep->recv, SDP_OT_RECV, SDP_OT_SIGNAL, cookie);
	if (!post) {
		sdp_kdapl_ep_leave(ep);
		return -EAGAIN;
	}
	post->buf = buf;
	sdp_kdapl_buf_sync(ep, buf, buf->size, false);
	return sdp_kdapl_posted(ep, post,
				dat_ep_post_recv(ep->dat, 1, &iov, sdp_kdapl_cookie(post),
						 DAT_COMPLETION_DEFAULT_FLAG));
}

int sdp_kdapl_post_send(struct sdp_ot_ep *ot, const struct sdp_ot_segment *segments, u32 n,
			u32 flags, u32 invalidate, void *cookie)
{
	struct sdp_kdapl_ep *ep = sdp_kdapl_ep(ot);
	DAT_LMR_TRIPLET iov[SDP_KDAPL_SEGMENTS] __uninitialized;
	u32 dat_flags = sdp_kdapl_flags(flags);
	struct sdp_kdapl_post *post;
	DAT_RETURN dat;
	u32 total;
	int ret;

	if (invalidate && !(ot->device->caps & SDP_OT_CAP_INVALIDATE))
		return -EOPNOTSUPP;
	ret = sdp_kdapl_segments(ep, segments, n, ot->attr.segments, ot->device->max_message, iov,
				 &total) ?: sdp_kdapl_ep_enter(ep, true);
	if (ret)
		return ret;
	if (flags & SDP_OT_SOLICITED)
		dat_flags |= DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	post = sdp_kdapl_post_new(&ep->send, SDP_OT_SEND, flags, cookie);
	if (!post) {
		sdp_kdapl_ep_leave(ep);
		return -EAGAIN;
	}
	sdp_kdapl_bufs_sync(ep, segments, n);
	dat = dat_ep_post_send_with_invalidate(ep->dat, n, iov, sdp_kdapl_cookie(post),
					       (DAT_COMPLETION_FLAGS)dat_flags,
					       invalidate ? DAT_TRUE : DAT_FALSE, invalidate);
	return sdp_kdapl_posted(ep, post, dat);
}

/* A Read or a Write */
static int sdp_kdapl_post_rdma(struct sdp_kdapl_ep *ep, enum sdp_ot_op op, u32 most,
			       const struct sdp_ot_segment *segments, u32 n, u32 key, u64 address,
			       u32 flags, void *cookie)
{
	DAT_RMR_TRIPLET remote = { .virtual_address = address, .rmr_context = key };
	const DAT_COMPLETION_FLAGS dat_flags = sdp_kdapl_flags(flags);
	DAT_LMR_TRIPLET iov[SDP_KDAPL_SEGMENTS] __uninitialized;
	struct sdp_kdapl_post *post;
	DAT_RETURN dat;
	int ret;

	ret = sdp_kdapl_segments(ep, segments, n, most, ep->ot.device->max_rdma, iov,
				 &remote.segment_length) ?: sdp_kdapl_ep_enter(ep, true);
	if (ret)
		return ret;
	post = sdp_kdapl_post_new(&ep->send, op, flags, cookie);
	if (!post) {
		sdp_kdapl_ep_leave(ep);
		return -EAGAIN;
	}
	if (op == SDP_OT_WRITE)
		sdp_kdapl_bufs_sync(ep, segments, n);
	if (op == SDP_OT_READ)
		dat = dat_ep_post_rdma_read(ep->dat, n, iov, sdp_kdapl_cookie(post), &remote,
					    dat_flags);
	else
		dat = dat_ep_post_rdma_write(ep->dat, n, iov, sdp_kdapl_cookie(post), &remote,
					     dat_flags);
	return sdp_kdapl_posted(ep, post, dat);
}

int sdp_kdapl_post_read(struct sdp_ot_ep *ot, const struct sdp_ot_segment *segments, u32 n,
			u32 key, u64 address, u32 flags, void *cookie)
{
	const u32 most = min(ot->attr.segments, ot->device->max_read_segments);

	return sdp_kdapl_post_rdma(sdp_kdapl_ep(ot), SDP_OT_READ, most, segments, n, key, address,
				   flags, cookie);
}

int sdp_kdapl_post_write(struct sdp_ot_ep *ot, const struct sdp_ot_segment *segments, u32 n,
			 u32 key, u64 address, u32 flags, void *cookie)
{
	return sdp_kdapl_post_rdma(sdp_kdapl_ep(ot), SDP_OT_WRITE, ot->attr.segments, segments, n,
				   key, address, flags, cookie);
}

/* Also when the connection has ended, so that what was posted just before is flushed. */
void sdp_kdapl_push(struct sdp_ot_ep *ot, bool sleep)
{
	struct sdp_kdapl_ep *ep = sdp_kdapl_ep(ot);

	/* what was posted to an endpoint that is killed ends with it */
	if (!sdp_kdapl_ep_use(ep))
		return;
	dat_ep_push(ep->dat, sleep ? DAT_TRUE : DAT_FALSE);
	sdp_kdapl_ep_leave(ep);
}

/* Keys ********************************************************************** */

static DAT_MEM_PRIV_FLAGS sdp_kdapl_rights(const struct sdp_kdapl_ep *ep, u32 access)
{
	u32 rights = 0;

	/* no more than is needed: they say in which direction the memory is mapped */
	if (access & SDP_OT_PEER_READS || !access)
		rights |= DAT_MEM_PRIV_LOCAL_READ_FLAG;
	if (access & SDP_OT_PEER_WRITES || !access)
		rights |= DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	if (access & SDP_OT_PEER_READS)
		rights |= DAT_MEM_PRIV_REMOTE_READ_FLAG;
	/* the answer to an own Read of iWARP is a Write of the peer */
	if (access & SDP_OT_PEER_WRITES || (!access && ep->device->iwarp))
		rights |= DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	return (DAT_MEM_PRIV_FLAGS)rights;
}

/* Fill in key->sgl. */
static void sdp_kdapl_key_pages(struct sdp_kdapl_key *key, struct page **pages, u32 n, u32 offset,
				u64 length)
{
	u32 i, some;

	sg_unmark_end(&key->sgl[key->sgl_num - 1]);
	sg_mark_end(&key->sgl[n - 1]);
	key->sgl_num = n;
	for (i = 0; i < n; i++) {
		some = min_t(u64, length, PAGE_SIZE - offset);
		sg_set_page(&key->sgl[i], pages[i], some, offset);
		length -= some;
		offset = 0;
	}
}

/* Register the memory in key->sgl. */
static DAT_RETURN sdp_kdapl_key_register(struct sdp_kdapl_ep *ep, struct sdp_kdapl_key *key, u32 n,
					 u32 access, struct sdp_kdapl_post *post)
{
	struct sg_table table = { .sgl = key->sgl, .nents = n, .orig_nents = n };
	const DAT_REGION_DESCRIPTION region = { .for_platform = &table };
	DAT_RMR_CONTEXT remote;
	DAT_LMR_CONTEXT local;
	DAT_RETURN ret;

	ret = dat_lmr_fmr(key->lmr, DAT_MEM_TYPE_PLATFORM, region, n, sdp_kdapl_rights(ep, access),
			  DAT_VA_TYPE_ZB, ep->dat, sdp_kdapl_cookie(post),
			  DAT_COMPLETION_DEFAULT_FLAG, &local, &remote);
	if (ret == DAT_SUCCESS) {
		key->ot.key = remote;
		key->ot.local = local;
		/* where the memory begins in its page; the peer learns no more of its place */
		key->ot.address = key->sgl->offset;
	}
	return ret;
}

int sdp_kdapl_key_post(struct sdp_ot_ep *ot, struct sdp_ot_key *ot_key, struct page **pages,
		       u32 n, u32 offset, u64 length, u32 access, void *cookie)
{
	struct sdp_kdapl_pool *pool = sdp_kdapl_pool(ot_key->pool);
	struct sdp_kdapl_key *key = sdp_kdapl_key(ot_key);
	struct sdp_kdapl_ep *ep = sdp_kdapl_ep(ot);
	struct sdp_kdapl_post *post;
	DAT_RETURN dat;
	int ret;

	if (pool->domain != ep->domain || !n || n > pool->ot.attr.size || offset >= PAGE_SIZE ||
	    !length || length > (u64)n * PAGE_SIZE - offset ||
	    length <= (u64)(n - 1) * PAGE_SIZE - offset ||
	    access & ~(SDP_OT_PEER_READS | SDP_OT_PEER_WRITES))
		return -EINVAL;
	if (key->named)
		return -EBUSY;
	ret = sdp_kdapl_ep_enter(ep, true);
	if (ret)
		return ret;
	post = key->lmr ? sdp_kdapl_post_key(ep, SDP_OT_KEY_POST, cookie, key, SDP_KDAPL_POSTED) :
			  NULL;
	if (!post) {
		sdp_kdapl_ep_leave(ep);
		return key->lmr ? -EAGAIN : -ENOMEM;
	}
	sdp_kdapl_key_pages(key, pages, n, offset, length);
	key->size = length;
	WRITE_ONCE(key->named, true);
	dat = sdp_kdapl_key_register(ep, key, n, access, post);
	if (dat != DAT_SUCCESS)
		WRITE_ONCE(key->named, false);
	return sdp_kdapl_posted(ep, post, dat);
}

/* There is nothing to invalidate by a request, so the key gets another LMR. */
static int sdp_kdapl_key_drop_renew(struct sdp_kdapl_ep *ep, struct sdp_kdapl_key *key,
				    void *cookie)
{
	struct sdp_kdapl_post *post;

	post = sdp_kdapl_post_key(ep, SDP_OT_KEY_DROP, cookie, key, SDP_KDAPL_RENEWING);
	if (!post)
		return -EAGAIN;
	sdp_kdapl_key_renew(key, post);
	return 0;
}

int sdp_kdapl_key_drop(struct sdp_ot_ep *ot, struct sdp_ot_key *ot_key, void *cookie)
{
	struct sdp_kdapl_key *key = sdp_kdapl_key(ot_key);
	struct sdp_kdapl_ep *ep = sdp_kdapl_ep(ot);
	struct sdp_kdapl_post *post;
	DAT_RETURN dat;

	if (!READ_ONCE(key->named) || sdp_kdapl_pool(ot_key->pool)->domain != ep->domain)
		return -EINVAL;
	if (sdp_kdapl_ep_enter(ep, true))
		return sdp_kdapl_key_drop_renew(ep, key, cookie);
	post = sdp_kdapl_post_key(ep, SDP_OT_KEY_DROP, cookie, key, SDP_KDAPL_POSTED);
	if (!post) {
		sdp_kdapl_ep_leave(ep);
		return -EAGAIN;
	}
	dat = dat_lmr_invalidate(key->lmr, ep->dat, sdp_kdapl_cookie(post),
				 DAT_COMPLETION_DEFAULT_FLAG);
	if (DAT_GET_TYPE(dat) != DAT_INVALID_STATE && DAT_GET_TYPE(dat) != DAT_INTERNAL_ERROR)
		return sdp_kdapl_posted(ep, post, dat);
	/*
	 * the connection has ended just now, the peer has invalidated the key, or its registration
	 * has failed
	 */
	sdp_kdapl_posted(ep, post, dat);
	return sdp_kdapl_key_drop_renew(ep, key, cookie);
}
