// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The transport in memory; see sdp_ot_memory.h. */
#include <linux/err.h>
#include <linux/in.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "sdp_ot_memory.h"

#define OTM_SEGMENTS	4
#define OTM_PAGES	16
#define OTM_DATA	512

struct otm_pool {
	struct sdp_ot_pool ot;
	struct list_head list;
	struct list_head free;
	u32 used;
	struct sdp_ot_buf *bufs;
	struct otm_key *keys;
	u8 *memory;
};

struct otm_key {
	struct sdp_ot_key ot;
	struct page *pages[OTM_PAGES];
	u32 offset;
	u64 length;
	u32 access;
};

struct otm_cq {
	struct sdp_ot_cq ot;
	struct list_head list;
	struct list_head done;	/* struct otm_post */
	bool armed;
};

/* something that was posted, then its completion */
struct otm_post {
	struct list_head list;
	struct sdp_ot_completion completion;
	struct sdp_ot_segment segments[OTM_SEGMENTS];
	u32 n;
	u32 flags;
	u32 key;
	u64 address;
	struct otm_key *dropped;
	bool held;		/* until push() */
};

enum otm_state { OTM_IDLE, OTM_CONNECTING, OTM_UP, OTM_CLOSING, OTM_DOWN };

struct otm_ep {
	struct sdp_ot_ep ot;
	struct list_head list;
	enum otm_state state;
	struct otm_ep *peer;
	struct sdp_ot_conn_request *request;
	struct list_head sends;
	struct list_head recvs;
	u32 sends_nr;		/* not told */
	u32 recvs_nr;
	bool up_due;
	bool end_due;
	enum sdp_ot_conn_event end;
	int error;
	u8 data[OTM_DATA];
	u32 data_len;
};

struct sdp_ot_listener {
	struct list_head list;
	struct otm_device *device;
	struct sdp_ot_listen_attr attr;
};

struct sdp_ot_conn_request {
	struct list_head list;
	struct otm_device *device;
	struct otm_ep *from;	/* NULL: it has given up */
	u16 port;
	bool told;
	u8 data[OTM_DATA];
	u32 length;
};

static struct otm otm_the;

static struct otm_device *otm_device(struct sdp_ot_device *device)
{
	return container_of(device, struct otm_device, ot);
}

static struct otm_ep *otm_ep(struct sdp_ot_ep *ep)
{
	return container_of(ep, struct otm_ep, ot);
}

static struct otm_pool *otm_pool(struct sdp_ot_pool *pool)
{
	return container_of(pool, struct otm_pool, ot);
}

static struct otm_cq *otm_cq(struct sdp_ot_cq *cq)
{
	return container_of(cq, struct otm_cq, ot);
}

/* Does the op fail? */
static int otm_fails(enum otm_call call, struct sdp_ot_device *device)
{
	const int error = otm_the.fail[call];

	otm_the.fail[call] = 0;
	return otm_device(device)->gone ? -ENODEV : error;
}

/* Devices ******************************************************************** */

static void otm_tell_of(struct sdp_ot_subscriber *subscriber, struct otm_device *device)
{
	if (device->gone)
		return;
	subscriber->event(subscriber, &device->ot, SDP_OT_DEVICE_NEW, NULL);
	subscriber->event(subscriber, &device->ot, SDP_OT_ADDRESS_NEW, &device->address);
	subscriber->event(subscriber, &device->ot, SDP_OT_LINK_UP, NULL);
}

static int otm_subscribe(struct sdp_ot_subscriber *subscriber)
{
	unsigned int i;

	for (i = 0; i < OTM_DEVICES; i++)
		otm_tell_of(subscriber, &otm_the.devices[i]);
	list_add_tail(&subscriber->list, &otm_the.subscribers);
	return 0;
}

static void otm_unsubscribe(struct sdp_ot_subscriber *subscriber)
{
	list_del(&subscriber->list);
}

static void otm_device_get(struct sdp_ot_device *device)
{
	otm_device(device)->refs++;
}

static void otm_device_put(struct sdp_ot_device *device)
{
	otm_device(device)->refs--;
}

static bool otm_same(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	return a->ss_family == AF_INET && b->ss_family == AF_INET &&
	       ((struct sockaddr_in *)a)->sin_addr.s_addr ==
		       ((struct sockaddr_in *)b)->sin_addr.s_addr;
}

static struct otm_device *otm_of_address(const struct sockaddr_storage *address)
{
	unsigned int i;

	for (i = 0; i < OTM_DEVICES; i++)
		if (otm_same(&otm_the.devices[i].address, address))
			return &otm_the.devices[i];
	return NULL;
}

/* Each of the two leads to the other one's address. */
static struct sdp_ot_device *otm_route(struct net *net, const struct sockaddr_storage *remote,
				       struct sockaddr_storage *local, int bound_ifindex,
				       struct sockaddr_storage *next_hop)
{
	struct otm_device *to = otm_of_address(remote), *from;

	if (!to || net != to->ot.net)
		return ERR_PTR(-ENODEV);
	from = &otm_the.devices[to == &otm_the.devices[0]];
	if (from->gone || (bound_ifindex && bound_ifindex != from->ot.ifindex))
		return ERR_PTR(-ENODEV);
	if (local->ss_family && !otm_same(local, &from->address))
		return ERR_PTR(-EADDRNOTAVAIL);
	*local = from->address;
	if (next_hop)
		*next_hop = *remote;
	from->refs++;
	return &from->ot;
}

/* Pools ********************************************************************** */

static void otm_pool_free(struct otm_pool *pool)
{
	kfree(pool->bufs);
	kfree(pool->keys);
	kfree(pool->memory);
	kfree(pool);
}

static struct sdp_ot_pool *otm_pool_create(struct sdp_ot_device *device,
					   const struct sdp_ot_pool_attr *attr)
{
	const int error = otm_fails(OTM_POOL_CREATE, device);
	struct otm_pool *pool;
	u32 i;

	if (!attr->elements || !attr->size ||
	    (attr->kind == SDP_OT_POOL_RDMA && attr->size > device->max_pages))
		return ERR_PTR(-EINVAL);
	if (error)
		return ERR_PTR(error);
	pool = kzalloc(sizeof(*pool), GFP_KERNEL);
	if (!pool)
		return ERR_PTR(-ENOMEM);
	pool->ot.device = device;
	pool->ot.attr = *attr;
	INIT_LIST_HEAD(&pool->free);
	if (attr->kind == SDP_OT_POOL_RDMA) {
		pool->keys = kcalloc(attr->elements, sizeof(*pool->keys), GFP_KERNEL);
	} else {
		pool->bufs = kcalloc(attr->elements, sizeof(*pool->bufs), GFP_KERNEL);
		pool->memory = kcalloc(attr->elements, attr->size, GFP_KERNEL);
	}
	if (!pool->keys && !(pool->bufs && pool->memory)) {
		otm_pool_free(pool);
		return ERR_PTR(-ENOMEM);
	}
	for (i = 0; i < attr->elements; i++) {
		if (pool->keys) {
			pool->keys[i].ot.pool = &pool->ot;
			list_add_tail(&pool->keys[i].ot.list, &pool->free);
			continue;
		}
		pool->bufs[i].pool = &pool->ot;
		pool->bufs[i].data = pool->memory + i * attr->size;
		pool->bufs[i].size = attr->size;
		list_add_tail(&pool->bufs[i].list, &pool->free);
	}
	otm_device_get(device);
	list_add_tail(&pool->list, &otm_the.pools);
	return &pool->ot;
}

static void otm_pool_destroy(struct sdp_ot_pool *ot)
{
	struct otm_pool *pool = otm_pool(ot);

	WARN_ON(pool->used);
	list_del(&pool->list);
	otm_device_put(ot->device);
	otm_pool_free(pool);
}

static struct sdp_ot_buf *otm_pool_get(struct sdp_ot_pool *ot)
{
	struct otm_pool *pool = otm_pool(ot);
	struct sdp_ot_buf *buf;

	if (pool->keys || list_empty(&pool->free))
		return NULL;
	buf = list_first_entry(&pool->free, struct sdp_ot_buf, list);
	list_del_init(&buf->list);
	pool->used++;
	return buf;
}

static void otm_pool_put(struct sdp_ot_buf *buf)
{
	struct otm_pool *pool = otm_pool(buf->pool);

	pool->used--;
	list_add(&buf->list, &pool->free);
}

static struct sdp_ot_key *otm_key_get(struct sdp_ot_pool *ot)
{
	struct otm_pool *pool = otm_pool(ot);
	struct sdp_ot_key *key;

	if (!pool->keys || list_empty(&pool->free))
		return NULL;
	key = list_first_entry(&pool->free, struct sdp_ot_key, list);
	list_del_init(&key->list);
	pool->used++;
	return key;
}

static void otm_key_put(struct sdp_ot_key *key)
{
	struct otm_pool *pool = otm_pool(key->pool);

	WARN_ON(container_of(key, struct otm_key, ot)->length);
	pool->used--;
	list_add_tail(&key->list, &pool->free);
}

/* The key of @domain by its number, or NULL */
static struct otm_key *otm_find_key(const void *domain, const struct sdp_ot_device *device, u32 key)
{
	struct otm_pool *pool;
	u32 i;

	list_for_each_entry(pool, &otm_the.pools, list)
		for (i = 0; pool->keys && i < pool->ot.attr.elements; i++)
			if (pool->keys[i].length && pool->keys[i].ot.key == key &&
			    pool->ot.device == device && pool->ot.attr.domain == domain)
				return &pool->keys[i];
	return NULL;
}

/* Completions **************************************************************** */

static struct sdp_ot_cq *otm_cq_create(struct sdp_ot_device *device,
				       const struct sdp_ot_cq_attr *attr)
{
	const int error = otm_fails(OTM_CQ_CREATE, device);
	struct otm_cq *cq;

	if (error || !attr->depth)
		return ERR_PTR(error ?: -EINVAL);
	cq = kzalloc(sizeof(*cq), GFP_KERNEL);
	if (!cq)
		return ERR_PTR(-ENOMEM);
	cq->ot.device = device;
	cq->ot.attr = *attr;
	INIT_LIST_HEAD(&cq->done);
	list_add_tail(&cq->list, &otm_the.cqs);
	otm_device_get(device);
	return &cq->ot;
}

static void otm_cq_destroy(struct sdp_ot_cq *ot)
{
	struct otm_cq *cq = otm_cq(ot);
	struct otm_post *post, *next;

	list_for_each_entry_safe(post, next, &cq->done, list)
		kfree(post);
	list_del(&cq->list);
	otm_device_put(ot->device);
	kfree(cq);
}

/* Take the oldest completion. */
static bool otm_cq_take(struct otm_cq *cq, struct sdp_ot_completion *to)
{
	struct otm_post *post = list_first_entry_or_null(&cq->done, struct otm_post, list);

	if (!post)
		return false;
	list_del(&post->list);
	*to = post->completion;
	if (post->dropped)
		post->dropped->length = 0;
	if (to->op == SDP_OT_RECV)
		otm_ep(to->ep)->recvs_nr--;
	else
		otm_ep(to->ep)->sends_nr--;
	kfree(post);
	return true;
}

static u32 otm_cq_poll(struct sdp_ot_cq *ot, struct sdp_ot_completion *completions, u32 n)
{
	u32 i;

	for (i = 0; i < n && otm_cq_take(otm_cq(ot), &completions[i]); i++)
		;
	return i;
}

static int otm_cq_arm(struct sdp_ot_cq *ot, bool solicited)
{
	struct otm_cq *cq = otm_cq(ot);

	cq->armed = list_empty(&cq->done);
	return !cq->armed;
}

/* Tell one. Return: false: there is none. */
static bool otm_cq_step(struct otm_cq *cq)
{
	struct sdp_ot_completion completion;

	if (cq->ot.attr.kind == SDP_OT_CQ_POLLING) {
		if (!cq->armed || list_empty(&cq->done))
			return false;
		cq->armed = false;
		cq->ot.attr.notify(cq->ot.attr.context);
		return true;
	}
	if (!otm_cq_take(cq, &completion))
		return false;
	cq->ot.attr.handler(cq->ot.attr.context, &completion, 1);
	return true;
}

static void otm_done(struct otm_post *post, int status)
{
	struct otm_ep *ep = otm_ep(post->completion.ep);
	const bool recv = post->completion.op == SDP_OT_RECV;

	list_del(&post->list);
	post->completion.status = status;
	if (!recv && !(post->flags & SDP_OT_SIGNAL) && !status) {
		ep->sends_nr--;
		kfree(post);
		return;
	}
	list_add_tail(&post->list, &otm_cq(recv ? ep->ot.attr.recv_cq : ep->ot.attr.send_cq)->done);
}

/* The end of connections ******************************************************* */

static void otm_flush(struct otm_ep *ep)
{
	struct otm_post *post, *next;

	list_for_each_entry_safe(post, next, &ep->sends, list)
		otm_done(post, -ECANCELED);
	list_for_each_entry_safe(post, next, &ep->recvs, list)
		otm_done(post, -ECANCELED);
}

/* One side ends. */
static void otm_ended(struct otm_ep *ep, enum sdp_ot_conn_event end, int error)
{
	if (ep->state == OTM_DOWN)
		return;
	if (ep->request)
		ep->request->from = NULL;
	ep->request = NULL;
	ep->state = OTM_DOWN;
	ep->peer = NULL;
	ep->end = end;
	ep->error = error;
	ep->end_due = true;
	otm_flush(ep);
}

static void otm_down(struct otm_ep *ep, int error, int peer_error)
{
	struct otm_ep *peer = ep->peer;

	otm_ended(ep, SDP_OT_DOWN, error);
	if (peer)
		otm_ended(peer, SDP_OT_DOWN, peer_error);
}

void otm_break(struct sdp_ot_ep *ot, int error)
{
	struct otm_ep *ep = otm_ep(ot);
	struct otm_post *post = list_first_entry_or_null(&ep->sends, struct otm_post, list);

	if (post)
		otm_done(post, error);
	otm_down(ep, error, -ECONNRESET);
}

/* Posts *********************************************************************** */

static u8 *otm_octet(const struct otm_key *key, u64 at)
{
	at += key->offset;
	return (u8 *)page_address(key->pages[at / PAGE_SIZE]) + at % PAGE_SIZE;
}

/* The byte at @at of the segments, or NULL behind them */
static u8 *otm_segment_octet(const struct otm_post *post, u32 at)
{
	u32 i;

	for (i = 0; i < post->n; i++) {
		const struct sdp_ot_segment *segment = &post->segments[i];

		if (at >= segment->length) {
			at -= segment->length;
			continue;
		}
		if (segment->buf)
			return segment->buf->data + segment->offset + at;
		return otm_octet(container_of(segment->key, struct otm_key, ot),
				 segment->offset + at);
	}
	return NULL;
}

static u32 otm_length(const struct otm_post *post)
{
	u32 i, length = 0;

	for (i = 0; i < post->n; i++)
		length += post->segments[i].length;
	return length;
}

static void otm_do_rdma(struct otm_ep *ep, struct otm_post *post)
{
	const bool read = post->completion.op == SDP_OT_READ;
	const u32 length = otm_length(post);
	struct otm_key *key;
	u64 at;
	u32 i;

	key = otm_find_key(ep->peer->ot.attr.domain, ep->peer->ot.device, post->key);
	at = post->address - (key ? key->ot.address : 0);
	if (length && (!key || at + length > key->length ||
		       !(key->access & (read ? SDP_OT_PEER_READS : SDP_OT_PEER_WRITES)))) {
		otm_break(&ep->ot, -EACCES);
		return;
	}
	for (i = 0; i < length; i++) {
		if (read)
			*otm_segment_octet(post, i) = *otm_octet(key, at + i);
		else
			*otm_octet(key, at + i) = *otm_segment_octet(post, i);
	}
	post->completion.length = read ? length : 0;
	otm_done(post, 0);
}

/* Return: false: the peer has no receive */
static bool otm_do_send(struct otm_ep *ep, struct otm_post *post)
{
	struct otm_post *recv = list_first_entry_or_null(&ep->peer->recvs, struct otm_post, list);
	const u32 length = otm_length(post);
	struct otm_key *key;
	u32 i;

	if (!recv)
		return false;
	if (length > recv->segments[0].length) {
		otm_break(&ep->ot, -EREMOTEIO);
		return true;
	}
	for (i = 0; i < length; i++)
		recv->segments[0].buf->data[i] = *otm_segment_octet(post, i);
	recv->completion.length = length;
	recv->completion.solicited = post->flags & SDP_OT_SOLICITED;
	if (post->key) {
		key = otm_find_key(ep->peer->ot.attr.domain, ep->peer->ot.device, post->key);
		recv->completion.invalidated = post->key;
		if (key)
			key->access = 0;
	}
	otm_done(recv, 0);
	otm_done(post, 0);
	return true;
}

/* Carry out the oldest post. Return: false: there is none, or it has to wait. */
static bool otm_ep_step(struct otm_ep *ep)
{
	struct otm_post *post = list_first_entry_or_null(&ep->sends, struct otm_post, list);

	if (!post && ep->state == OTM_CLOSING && ep->peer) {
		otm_down(ep, 0, 0);
		return true;
	}
	if (!post || !ep->peer || post->held)
		return false;
	switch (post->completion.op) {
	case SDP_OT_SEND:
		return otm_do_send(ep, post);
	case SDP_OT_READ:
	case SDP_OT_WRITE:
		otm_do_rdma(ep, post);
		return true;
	default:
		otm_done(post, 0);
		return true;
	}
}

static struct otm_post *otm_post_new(struct otm_ep *ep, enum sdp_ot_op op, void *cookie)
{
	struct otm_post *post = kzalloc(sizeof(*post), GFP_ATOMIC);

	if (!post)
		return NULL;
	post->completion.ep = &ep->ot;
	post->completion.op = op;
	post->completion.cookie = cookie;
	post->flags = SDP_OT_SIGNAL;
	if (op == SDP_OT_RECV) {
		list_add_tail(&post->list, &ep->recvs);
		ep->recvs_nr++;
	} else {
		list_add_tail(&post->list, &ep->sends);
		ep->sends_nr++;
		post->held = ep->ot.attr.pushed;
	}
	return post;
}

static int otm_may_send(struct otm_ep *ep)
{
	const int error = otm_fails(OTM_POST, ep->ot.device);

	if (error)
		return error;
	if (ep->state != OTM_UP)
		return -ENOTCONN;
	return ep->sends_nr < ep->ot.attr.sends ? 0 : -EAGAIN;
}

static int otm_post_recv(struct sdp_ot_ep *ot, struct sdp_ot_buf *buf, void *cookie)
{
	const int error = otm_fails(OTM_POST, ot->device);
	struct otm_ep *ep = otm_ep(ot);
	struct otm_post *post;

	if (error)
		return error;
	if (buf->pool->attr.domain != ot->attr.domain)
		return -EINVAL;
	if (ep->state == OTM_DOWN)
		return -ENOTCONN;
	if (ep->recvs_nr >= ot->attr.recvs)
		return -EAGAIN;
	post = otm_post_new(ep, SDP_OT_RECV, cookie);
	if (!post)
		return -ENOMEM;
	post->segments[0] = (struct sdp_ot_segment){ .buf = buf, .length = buf->size };
	post->n = 1;
	return 0;
}

static int otm_post(struct sdp_ot_ep *ot, enum sdp_ot_op op, const struct sdp_ot_segment *segments,
		    u32 n, u32 flags, u32 key, u64 address, void *cookie)
{
	struct otm_ep *ep = otm_ep(ot);
	struct otm_post *post;
	u64 size;
	int ret;
	u32 i;

	if (n > ot->attr.segments || n > OTM_SEGMENTS)
		return -EINVAL;
	for (i = 0; i < n; i++) {
		if (!segments[i].buf && !segments[i].key)
			return -EINVAL;
		size = segments[i].buf ? segments[i].buf->size :
		       container_of(segments[i].key, struct otm_key, ot)->length;
		if ((u64)segments[i].offset + segments[i].length > size)
			return -EINVAL;
	}
	ret = otm_may_send(ep);
	if (ret)
		return ret;
	post = otm_post_new(ep, op, cookie);
	if (!post)
		return -ENOMEM;
	if (n)
		memcpy(post->segments, segments, n * sizeof(*segments));
	post->n = n;
	post->flags = flags;
	post->key = key;
	post->address = address;
	return 0;
}

static int otm_post_send(struct sdp_ot_ep *ep, const struct sdp_ot_segment *segments, u32 n,
			 u32 flags, u32 invalidate, void *cookie)
{
	return otm_post(ep, SDP_OT_SEND, segments, n, flags, invalidate, 0, cookie);
}

static int otm_post_read(struct sdp_ot_ep *ep, const struct sdp_ot_segment *segments, u32 n,
			 u32 key, u64 address, u32 flags, void *cookie)
{
	return otm_post(ep, SDP_OT_READ, segments, n, flags, key, address, cookie);
}

static int otm_post_write(struct sdp_ot_ep *ep, const struct sdp_ot_segment *segments, u32 n,
			  u32 key, u64 address, u32 flags, void *cookie)
{
	return otm_post(ep, SDP_OT_WRITE, segments, n, flags, key, address, cookie);
}

static int otm_key_post(struct sdp_ot_ep *ot, struct sdp_ot_key *ot_key, struct page **pages,
			u32 n, u32 offset, u64 length, u32 access, void *cookie)
{
	struct otm_key *key = container_of(ot_key, struct otm_key, ot);
	int ret = otm_may_send(otm_ep(ot));

	if (ret)
		return ret;
	if (n > ot_key->pool->attr.size || n > OTM_PAGES || !length ||
	    offset + length > n * PAGE_SIZE)
		return -EINVAL;
	if (key->length)
		return -EBUSY;
	if (!otm_post_new(otm_ep(ot), SDP_OT_KEY_POST, cookie))
		return -ENOMEM;
	memcpy(key->pages, pages, n * sizeof(*pages));
	key->offset = offset;
	key->length = length;
	key->access = access;
	key->ot.key = ++otm_the.next_key;
	key->ot.local = key->ot.key;
	key->ot.address = offset;
	return 0;
}

static void otm_push(struct sdp_ot_ep *ot, bool sleep)
{
	struct otm_post *post;

	list_for_each_entry(post, &otm_ep(ot)->sends, list)
		post->held = false;
}

static int otm_key_drop(struct sdp_ot_ep *ot, struct sdp_ot_key *ot_key, void *cookie)
{
	struct otm_key *key = container_of(ot_key, struct otm_key, ot);
	struct otm_ep *ep = otm_ep(ot);
	struct otm_post *post;

	if (!key->length)
		return -EINVAL;
	if (ep->sends_nr >= ot->attr.sends)
		return -EAGAIN;
	post = otm_post_new(ep, SDP_OT_KEY_DROP, cookie);
	if (!post)
		return -ENOMEM;
	post->dropped = key;
	if (ep->state != OTM_UP)
		otm_done(post, 0);
	return 0;
}

/* Endpoints ******************************************************************* */

static struct sdp_ot_ep *otm_ep_create(struct sdp_ot_device *device,
				       const struct sdp_ot_ep_attr *attr)
{
	const int error = otm_fails(OTM_EP_CREATE, device);
	struct otm_ep *ep;

	if (error || !attr->sends || !attr->recvs || !attr->segments)
		return ERR_PTR(error ?: -EINVAL);
	ep = kzalloc(sizeof(*ep), GFP_KERNEL);
	if (!ep)
		return ERR_PTR(-ENOMEM);
	ep->ot.device = device;
	ep->ot.attr = *attr;
	ep->ot.reads_out = attr->reads_out;
	INIT_LIST_HEAD(&ep->sends);
	INIT_LIST_HEAD(&ep->recvs);
	list_add_tail(&ep->list, &otm_the.eps);
	otm_device_get(device);
	return &ep->ot;
}

static void otm_ep_destroy(struct sdp_ot_ep *ot)
{
	struct otm_ep *ep = otm_ep(ot);

	otm_down(ep, 0, -ECONNRESET);
	otm_flush(ep);
	/* what was posted completes before this returns */
	while (ot->attr.send_cq->attr.kind == SDP_OT_CQ_DIRECT && ep->sends_nr)
		if (WARN_ON(!otm_cq_step(otm_cq(ot->attr.send_cq))))
			break;
	while (ot->attr.recv_cq->attr.kind == SDP_OT_CQ_DIRECT && ep->recvs_nr)
		if (WARN_ON(!otm_cq_step(otm_cq(ot->attr.recv_cq))))
			break;
	list_del(&ep->list);
	otm_device_put(ot->device);
	/* a polling queue may name it */
	if (!ep->sends_nr && !ep->recvs_nr)
		kfree(ep);
}

/* Tell one event. Return: false: there is none. */
static bool otm_ep_tell(struct otm_ep *ep)
{
	if (ep->up_due) {
		ep->up_due = false;
		ep->ot.attr.event(ep->ot.attr.context, SDP_OT_UP, 0, ep->data, ep->data_len);
		return true;
	}
	if (!ep->end_due)
		return false;
	ep->end_due = false;
	ep->ot.attr.event(ep->ot.attr.context, ep->end, ep->error, ep->data,
			  ep->end == SDP_OT_REFUSED ? ep->data_len : 0);
	return true;
}

static void otm_disconnect(struct sdp_ot_ep *ot, bool abrupt)
{
	struct otm_ep *ep = otm_ep(ot);

	if (ep->state == OTM_UP && !abrupt) {
		otm_push(ot, false);
		ep->state = OTM_CLOSING;
	} else {
		otm_down(ep, 0, 0);
	}
}

/* Connections ***************************************************************** */

static struct sdp_ot_listener *otm_listen(struct sdp_ot_device *device,
					  const struct sdp_ot_listen_attr *attr)
{
	const int error = otm_fails(OTM_LISTEN, device);
	struct sdp_ot_listener *listener;

	if (error)
		return ERR_PTR(error);
	list_for_each_entry(listener, &otm_the.listeners, list)
		if (listener->device == otm_device(device) && listener->attr.port == attr->port)
			return ERR_PTR(-EADDRINUSE);
	listener = kzalloc(sizeof(*listener), GFP_KERNEL);
	if (!listener)
		return ERR_PTR(-ENOMEM);
	listener->device = otm_device(device);
	listener->attr = *attr;
	otm_device_get(device);
	list_add_tail(&listener->list, &otm_the.listeners);
	return listener;
}

static void otm_listener_destroy(struct sdp_ot_listener *listener)
{
	list_del(&listener->list);
	otm_device_put(&listener->device->ot);
	kfree(listener);
}

static int otm_connect(struct sdp_ot_ep *ot, const struct sockaddr_storage *local,
		       const struct sockaddr_storage *remote,
		       const struct sockaddr_storage *next_hop, const u8 *data, u32 length,
		       u32 timeout_ms)
{
	const int error = otm_fails(OTM_CONNECT, ot->device);
	struct otm_device *device = otm_of_address(remote);
	struct sdp_ot_conn_request *request;
	struct otm_ep *ep = otm_ep(ot);

	if (length > ot->device->request_len)
		return -EMSGSIZE;
	if (error || ep->state != OTM_IDLE)
		return error ?: -EISCONN;
	if (!device)
		return -EHOSTUNREACH;
	request = kzalloc(sizeof(*request), GFP_KERNEL);
	if (!request)
		return -ENOMEM;
	request->device = device;
	request->from = ep;
	request->port = ntohs(((const struct sockaddr_in *)remote)->sin_port);
	memcpy(request->data, data, length);
	request->length = length;
	list_add_tail(&request->list, &otm_the.requests);
	otm_device_get(&device->ot);
	ep->request = request;
	ep->state = OTM_CONNECTING;
	ep->ot.local = otm_device(ot->device)->address;
	ep->ot.remote = *remote;
	return 0;
}

static void otm_request_free(struct sdp_ot_conn_request *request)
{
	if (request->from)
		request->from->request = NULL;
	list_del(&request->list);
	otm_device_put(&request->device->ot);
	kfree(request);
}

static void otm_refuse(struct sdp_ot_conn_request *request, const u8 *data, u32 length)
{
	struct otm_ep *ep = request->from;

	otm_request_free(request);
	if (!ep)
		return;
	if (length)
		memcpy(ep->data, data, length);
	ep->data_len = length;
	otm_ended(ep, SDP_OT_REFUSED, -ECONNREFUSED);
}

/* Tell a request, or refuse it. Return: false: it was told. */
static bool otm_request_step(struct sdp_ot_conn_request *request)
{
	struct sdp_ot_listener *listener, *found = NULL;

	if (request->told)
		return false;
	list_for_each_entry(listener, &otm_the.listeners, list)
		if (listener->device == request->device && listener->attr.port == request->port)
			found = listener;
	if (!found || request->device->gone) {
		otm_refuse(request, NULL, 0);
		return true;
	}
	request->told = true;
	found->attr.request(found->attr.context, request, request->data, request->length,
			    &request->device->address, &request->device->address);
	return true;
}

static int otm_accept(struct sdp_ot_conn_request *request, struct sdp_ot_ep *ot, const u8 *data,
		      u32 length)
{
	const int error = otm_fails(OTM_ACCEPT, ot->device);
	struct otm_ep *ep = otm_ep(ot), *peer = request->from;

	if (length > ot->device->answer_len)
		return -EMSGSIZE;
	if (error || ep->state != OTM_IDLE)
		return error ?: -EISCONN;
	ep->ot.local = request->device->address;
	otm_request_free(request);
	ep->state = OTM_CONNECTING;
	if (!peer) {
		otm_ended(ep, SDP_OT_DOWN, -ECONNRESET);
		return 0;
	}
	ep->ot.remote = peer->ot.local;
	ep->state = OTM_UP;
	peer->state = OTM_UP;
	ep->peer = peer;
	peer->peer = ep;
	ep->ot.reads_out = min(ep->ot.attr.reads_out, peer->ot.attr.reads_in);
	peer->ot.reads_out = min(peer->ot.attr.reads_out, ep->ot.attr.reads_in);
	ep->up_due = true;
	peer->up_due = true;
	if (length)
		memcpy(peer->data, data, length);
	peer->data_len = length;
	return 0;
}

static int otm_reject(struct sdp_ot_conn_request *request, const u8 *data, u32 length)
{
	if (length > request->device->ot.refusal_len)
		return -EMSGSIZE;
	otm_refuse(request, data, length);
	return 0;
}

/* The transport ***************************************************************** */

bool otm_step(struct otm *otm)
{
	struct sdp_ot_conn_request *request;
	struct otm_ep *ep;
	struct otm_cq *cq;

	/* after each call up the lists may be others */
	list_for_each_entry(cq, &otm->cqs, list)
		if (!otm->hold && otm_cq_step(cq))
			return true;
	list_for_each_entry(ep, &otm->eps, list)
		if (otm_ep_tell(ep) || otm_ep_step(ep))
			return true;
	list_for_each_entry(request, &otm->requests, list)
		if (otm_request_step(request))
			return true;
	return false;
}

void otm_settle(struct otm *otm)
{
	while (otm_step(otm))
		;
}

void otm_remove(struct otm *otm, unsigned int index)
{
	struct otm_device *device = &otm->devices[index];
	struct sdp_ot_subscriber *subscriber;
	struct otm_ep *ep;

	device->gone = true;
	list_for_each_entry(ep, &otm->eps, list)
		if (ep->ot.device == &device->ot)
			otm_down(ep, -ENODEV, -ECONNRESET);
	list_for_each_entry(subscriber, &otm->subscribers, list)
		subscriber->event(subscriber, &device->ot, SDP_OT_DEVICE_GONE, NULL);
}

static const struct sdp_ot_ops otm_ops = {
	.subscribe = otm_subscribe,
	.unsubscribe = otm_unsubscribe,
	.device_get = otm_device_get,
	.device_put = otm_device_put,
	.route = otm_route,
	.pool_create = otm_pool_create,
	.pool_destroy = otm_pool_destroy,
	.pool_get = otm_pool_get,
	.pool_put = otm_pool_put,
	.key_get = otm_key_get,
	.key_put = otm_key_put,
	.cq_create = otm_cq_create,
	.cq_destroy = otm_cq_destroy,
	.cq_poll = otm_cq_poll,
	.cq_arm = otm_cq_arm,
	.ep_create = otm_ep_create,
	.ep_destroy = otm_ep_destroy,
	.post_recv = otm_post_recv,
	.post_send = otm_post_send,
	.post_read = otm_post_read,
	.post_write = otm_post_write,
	.key_post = otm_key_post,
	.key_drop = otm_key_drop,
	.push = otm_push,
	.listen = otm_listen,
	.listener_destroy = otm_listener_destroy,
	.connect = otm_connect,
	.accept = otm_accept,
	.reject = otm_reject,
	.disconnect = otm_disconnect,
};

struct otm *otm_begin(struct net *net)
{
	struct otm *otm = &otm_the;
	struct sockaddr_in *address;
	struct otm_device *device;
	unsigned int i;

	memset(otm, 0, sizeof(*otm));
	otm->ot.name = "memory";
	otm->ot.owner = THIS_MODULE;
	otm->ot.ops = &otm_ops;
	INIT_LIST_HEAD(&otm->subscribers);
	INIT_LIST_HEAD(&otm->eps);
	INIT_LIST_HEAD(&otm->cqs);
	INIT_LIST_HEAD(&otm->pools);
	INIT_LIST_HEAD(&otm->listeners);
	INIT_LIST_HEAD(&otm->requests);
	for (i = 0; i < OTM_DEVICES; i++) {
		device = &otm->devices[i];
		device->refs = 1;
		address = (struct sockaddr_in *)&device->address;
		address->sin_family = AF_INET;
		address->sin_addr.s_addr = htonl(0x0a000001 + i);
		device->ot = (struct sdp_ot_device){
			.ot = &otm->ot,
			.ifindex = 1000 + i,
			.net = net,
			.caps = SDP_OT_CAP_INVALIDATE | SDP_OT_CAP_SOFTWARE,
			.request_len = 92,
			.answer_len = 196,
			.refusal_len = 64,
			.max_message = 1 << 20,
			.max_rdma = 1 << 20,
			.max_segments = OTM_SEGMENTS,
			.max_read_segments = 1,
			.max_pages = OTM_PAGES,
			.reads_in = 4,
			.reads_out = 4,
		};
		snprintf(device->ot.name, sizeof(device->ot.name), "memory%u", i);
	}
	return otm;
}

bool otm_end(struct otm *otm)
{
	unsigned int i;

	for (i = 0; i < OTM_DEVICES; i++)
		if (otm->devices[i].refs != 1)
			return false;
	return list_empty(&otm->eps) && list_empty(&otm->cqs) && list_empty(&otm->pools) &&
	       list_empty(&otm->listeners) && list_empty(&otm->requests) &&
	       list_empty(&otm->subscribers);
}
