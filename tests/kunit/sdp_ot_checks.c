// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The checks of sdp_ot_checks.h. Each is run with nothing but two devices; what it makes and does
 * not destroy, otc_end() does.
 */
#include <linux/cleanup.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "sdp_ot_checks.h"

bool otc_expect(struct otc_bed *bed, bool met, int line, const char *what)
{
	if (!met && !bed->failed++)
		snprintf(bed->where, sizeof(bed->where), "line %d: %s", line, what);
	return met;
}

/* Wait for @cond. */
#define otc_wait(bed, cond) ({								\
	const unsigned long end_ = jiffies + (bed)->patience;				\
											\
	if ((bed)->settle)								\
		(bed)->settle(bed);							\
	else										\
		wait_event_idle_timeout((bed)->wait, cond, end_ - jiffies);		\
	otc_expect(bed, !!(cond), __LINE__, #cond);					\
})

/* Time for what should not happen */
static void otc_pause(struct otc_bed *bed)
{
	if (bed->settle)
		bed->settle(bed);
	else
		msleep(50);
}

/* Upcalls ******************************************************************* */

static void otc_note(struct otc_queue *queue, const struct sdp_ot_completion *completions, u32 n)
{
	struct otc_bed *bed = queue->side->bed;
	u32 i;

	scoped_guard(spinlock_irqsave, &bed->lock)
		for (i = 0; i < n; i++)
			if (queue->nr < OTC_DONE)
				queue->done[queue->nr++] = completions[i];
	wake_up(&bed->wait);
}

static void otc_handler(void *context, const struct sdp_ot_completion *completions, u32 n)
{
	struct otc_queue *queue = context;

	OTC_EXPECT(queue->side->bed, n && !queue->side->destroyed);
	otc_note(queue, completions, n);
}

static void otc_notify(void *context)
{
	struct otc_queue *queue = context;

	scoped_guard(spinlock_irqsave, &queue->side->bed->lock)
		queue->notified++;
	wake_up(&queue->side->bed->wait);
}

void otc_note_event(void *context, enum sdp_ot_conn_event event, int error, const u8 *data,
		    u32 length)
{
	struct otc_side *side = context;
	struct otc_bed *bed = side->bed;

	OTC_EXPECT(bed, !side->destroyed && length <= sizeof(side->data));
	scoped_guard(spinlock_irqsave, &bed->lock) {
		side->error = error;
		if (length) {
			memcpy(side->data, data, min_t(u32, length, sizeof(side->data)));
			side->data_len = length;
		}
		side->told[event]++;
	}
	wake_up(&bed->wait);
}

void otc_note_request(void *context, struct sdp_ot_conn_request *request, const u8 *data,
		      u32 length, const struct sockaddr_storage *local,
		      const struct sockaddr_storage *remote)
{
	struct otc_asked *asked = context;

	OTC_EXPECT(asked->bed, local->ss_family && remote->ss_family);
	scoped_guard(spinlock_irqsave, &asked->bed->lock) {
		asked->request = request;
		asked->length = min_t(u32, length, sizeof(asked->data));
		memcpy(asked->data, data, asked->length);
		asked->nr++;
	}
	wake_up(&asked->bed->wait);
}

/* Objects ******************************************************************* */

static bool otc_cq(struct otc_side *side, struct otc_queue *queue, enum sdp_ot_cq_kind kind)
{
	const struct sdp_ot_cq_attr attr = {
		.kind = kind,
		.depth = 64,
		.handler = otc_handler,
		.notify = otc_notify,
		.context = queue,
		.cpu = -1,
	};
	struct sdp_ot_cq *cq = side->bed->ops->cq_create(side->device, &attr);

	if (!OTC_EXPECT(side->bed, !IS_ERR(cq)))
		return false;
	queue->side = side;
	queue->cq = cq;
	return true;
}

static struct sdp_ot_pool *otc_pool(struct otc_side *side, enum sdp_ot_pool_kind kind,
				    const void *domain)
{
	const struct sdp_ot_pool_attr attr = {
		.kind = kind,
		.elements = kind == SDP_OT_POOL_RDMA ? 4 : OTC_ELEMENTS,
		.size = kind == SDP_OT_POOL_RDMA ? OTC_PAGES : OTC_SIZE,
		.segments = 2,
		.domain = domain,
	};
	struct sdp_ot_pool *pool = side->bed->ops->pool_create(side->device, &attr);

	return OTC_EXPECT(side->bed, !IS_ERR(pool)) ? pool : NULL;
}

static bool otc_ep(struct otc_side *side)
{
	const struct sdp_ot_ep_attr attr = {
		.send_cq = side->send.cq,
		.recv_cq = side->recv.cq,
		.sends = 8,
		.recvs = 16,
		.segments = 2,
		.reads_in = min_t(u16, side->device->reads_in, 2),
		.reads_out = min_t(u16, side->device->reads_out, 2),
		.event = otc_note_event,
		.context = side,
		.domain = side,
	};
	struct sdp_ot_ep *ep = side->bed->ops->ep_create(side->device, &attr);

	if (!OTC_EXPECT(side->bed, !IS_ERR(ep)))
		return false;
	side->destroyed = false;
	side->ep = ep;
	return true;
}

/* Make all of a side. */
static bool otc_side(struct otc_bed *bed, unsigned int index, enum sdp_ot_cq_kind kind)
{
	struct otc_side *side = &bed->sides[index];
	unsigned int i;

	side->bed = bed;
	side->device = bed->devices[index];
	if (!otc_cq(side, &side->send, kind) || !otc_cq(side, &side->recv, kind))
		return false;
	side->pool = otc_pool(side, SDP_OT_POOL_MESSAGE, side);
	side->keys = otc_pool(side, SDP_OT_POOL_RDMA, side);
	for (i = 0; i < OTC_PAGES; i++) {
		side->pages[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!OTC_EXPECT(bed, side->pages[i]))
			return false;
	}
	return side->pool && side->keys && otc_ep(side);
}

static void otc_ep_destroy(struct otc_side *side)
{
	if (!side->ep)
		return;
	side->bed->ops->ep_destroy(side->ep);
	side->ep = NULL;
	side->destroyed = true;
}

static struct otc_asked *otc_listen(struct otc_bed *bed, unsigned int index,
				    const struct sdp_ot_match *match, long error)
{
	struct otc_asked *asked = &bed->asked[index];
	struct sdp_ot_listen_attr attr = {
		.port = bed->port,
		.request = otc_note_request,
		.context = asked,
	};
	struct sdp_ot_listener *listener;

	if (match)
		attr.match[0] = *match;
	asked->bed = bed;
	listener = bed->ops->listen(bed->devices[1], &attr);
	if (error) {
		OTC_EXPECT(bed, PTR_ERR(listener) == error);
		return NULL;
	}
	if (!OTC_EXPECT(bed, !IS_ERR(listener)))
		return NULL;
	asked->listener = listener;
	return asked;
}

static void otc_unlisten(struct otc_bed *bed, struct otc_asked *asked)
{
	if (asked->listener)
		bed->ops->listener_destroy(asked->listener);
	asked->listener = NULL;
}

void otc_begin(struct otc_bed *bed)
{
	memset(bed->sides, 0, sizeof(bed->sides));
	memset(bed->asked, 0, sizeof(bed->asked));
	spin_lock_init(&bed->lock);
	init_waitqueue_head(&bed->wait);
	bed->failed = 0;
	bed->missing = false;
}

/* SDP gives the elements back before it destroys a pool. */
static void otc_give_back(struct otc_side *side)
{
	const struct sdp_ot_completion *done;
	u32 i;

	for (i = 0; i < side->recv.nr; i++) {
		done = &side->recv.done[i];
		if (done->cookie)
			side->bed->ops->pool_put(done->cookie);
	}
	side->recv.nr = 0;
}

void otc_end(struct otc_bed *bed)
{
	struct otc_side *side;
	unsigned int i, j;

	for (i = 0; i < OTC_LISTENERS; i++) {
		otc_unlisten(bed, &bed->asked[i]);
		if (bed->asked[i].request)
			bed->ops->reject(bed->asked[i].request, NULL, 0);
	}
	for (i = 0; i < 2; i++) {
		side = &bed->sides[i];
		otc_ep_destroy(side);
		if (bed->settle)
			bed->settle(bed);
		otc_give_back(side);
		if (side->keys)
			bed->ops->pool_destroy(side->keys);
		if (side->pool)
			bed->ops->pool_destroy(side->pool);
		if (side->recv.cq)
			bed->ops->cq_destroy(side->recv.cq);
		if (side->send.cq)
			bed->ops->cq_destroy(side->send.cq);
		for (j = 0; j < OTC_PAGES; j++)
			if (side->pages[j])
				__free_page(side->pages[j]);
	}
	memset(bed->sides, 0, sizeof(bed->sides));
	memset(bed->asked, 0, sizeof(bed->asked));
}

/* Connections *************************************************************** */

static int otc_connect(struct otc_bed *bed, const u8 *data, u32 length)
{
	return bed->ops->connect(bed->sides[0].ep, &bed->local, &bed->remote, NULL, data, length,
				 10000);
}

static bool otc_accept(struct otc_bed *bed, struct otc_asked *asked, const u8 *data, u32 length)
{
	struct sdp_ot_conn_request *request = asked->request;

	if (!OTC_EXPECT(bed, bed->ops->accept(request, bed->sides[1].ep, data, length) == 0))
		return false;
	asked->request = NULL;
	return otc_wait(bed, bed->sides[0].told[SDP_OT_UP] == 1 &&
			bed->sides[1].told[SDP_OT_UP] == 1);
}

/* Both sides, connected */
static bool otc_connected_by(struct otc_bed *bed, enum sdp_ot_cq_kind kind)
{
	struct otc_asked *asked;

	if (!otc_side(bed, 0, kind) || !otc_side(bed, 1, kind))
		return false;
	asked = otc_listen(bed, 0, NULL, 0);
	return asked && OTC_EXPECT(bed, otc_connect(bed, "hello", 5) == 0) &&
	       otc_wait(bed, asked->nr == 1) && otc_accept(bed, asked, "ack", 3);
}

static bool otc_connected(struct otc_bed *bed)
{
	return otc_connected_by(bed, SDP_OT_CQ_DIRECT);
}

/* Is the connection down on both sides, each told once? */
static void otc_is_down(struct otc_bed *bed)
{
	otc_wait(bed, bed->sides[0].told[SDP_OT_DOWN] && bed->sides[1].told[SDP_OT_DOWN]);
	OTC_EXPECT(bed, bed->sides[0].told[SDP_OT_DOWN] == 1 &&
		   bed->sides[1].told[SDP_OT_DOWN] == 1);
}

/* Posts ********************************************************************* */

/* Post @n receives; their cookies are the elements. */
static void otc_recvs(struct otc_side *side, unsigned int n)
{
	struct sdp_ot_buf *buf;

	while (n--) {
		buf = side->bed->ops->pool_get(side->pool);
		if (!OTC_EXPECT(side->bed, buf))
			return;
		if (!OTC_EXPECT(side->bed, !side->bed->ops->post_recv(side->ep, buf, buf)))
			side->bed->ops->pool_put(buf);
	}
}

/* An element with @length octets that begin with @first */
static struct sdp_ot_buf *otc_filled(struct otc_side *side, u8 first, u32 length)
{
	struct sdp_ot_buf *buf = side->bed->ops->pool_get(side->pool);
	u32 i;

	if (!OTC_EXPECT(side->bed, buf))
		return NULL;
	for (i = 0; i < length; i++)
		buf->data[i] = first + i;
	return buf;
}

static bool otc_is_filled(const u8 *data, u8 first, u32 length)
{
	u32 i;

	for (i = 0; i < length; i++)
		if (data[i] != (u8)(first + i))
			return false;
	return true;
}

static int otc_send(struct otc_side *side, struct sdp_ot_buf *buf, u32 length, u32 flags)
{
	const struct sdp_ot_segment segment = { .buf = buf, .length = length };

	return side->bed->ops->post_send(side->ep, &segment, 1, flags, 0, buf);
}

/* all that the queue has told: ended with @status */
static bool otc_all(const struct otc_queue *queue, u32 from, int status)
{
	u32 i;

	for (i = from; i < queue->nr; i++)
		if (queue->done[i].status != status)
			return false;
	return true;
}

/* Name @length octets at @offset of the side's pages. */
static struct sdp_ot_key *otc_key(struct otc_side *side, u32 offset, u64 length, u32 access)
{
	const u32 n = DIV_ROUND_UP(offset + length, PAGE_SIZE);
	const u32 before = side->send.nr;
	struct sdp_ot_key *key = side->bed->ops->key_get(side->keys);

	if (!OTC_EXPECT(side->bed, key))
		return NULL;
	if (!OTC_EXPECT(side->bed, !side->bed->ops->key_post(side->ep, key, side->pages, n, offset,
							     length, access, key)) ||
	    !otc_wait(side->bed, side->send.nr == before + 1) ||
	    !OTC_EXPECT(side->bed, side->send.done[before].op == SDP_OT_KEY_POST &&
			!side->send.done[before].status &&
			side->send.done[before].cookie == key)) {
		side->bed->ops->key_put(key);
		return NULL;
	}
	return key;
}

static void otc_drop(struct otc_side *side, struct sdp_ot_key *key)
{
	const u32 before = side->send.nr;

	if (!key)
		return;
	if (OTC_EXPECT(side->bed, !side->bed->ops->key_drop(side->ep, key, key)) &&
	    otc_wait(side->bed, side->send.nr == before + 1))
		OTC_EXPECT(side->bed, side->send.done[before].op == SDP_OT_KEY_DROP &&
			   side->send.done[before].cookie == key);
	side->bed->ops->key_put(key);
}

/* The checks: devices and pools ********************************************** */

static void otc_check_device(struct otc_bed *bed)
{
	const struct sdp_ot_device *device = bed->devices[0];

	OTC_EXPECT(bed, device->ot && device->ot->ops == bed->ops && device->name[0]);
	OTC_EXPECT(bed, device->request_len >= 32 && device->answer_len >= 24 &&
		   device->refusal_len >= 4);
	OTC_EXPECT(bed, device->max_message >= OTC_SIZE && device->max_rdma >= PAGE_SIZE);
	OTC_EXPECT(bed, device->max_segments >= 2 && device->max_read_segments >= 1);
	OTC_EXPECT(bed, device->max_pages >= OTC_PAGES && device->reads_in && device->reads_out);
	OTC_EXPECT(bed, !!(device->caps & SDP_OT_CAP_DATAGRAM) == !!bed->ops->datagram_send);
	bed->ops->device_get(bed->devices[0]);
	bed->ops->device_put(bed->devices[0]);
}

static void otc_check_route(struct otc_bed *bed)
{
	struct sockaddr_storage local = {}, next_hop = {}, nowhere = { .ss_family = AF_INET };
	struct sdp_ot_device *device;

	device = bed->ops->route(bed->net, &bed->remote, &local, 0, &next_hop);
	if (OTC_EXPECT(bed, device == bed->devices[0]))
		bed->ops->device_put(device);
	OTC_EXPECT(bed, local.ss_family == bed->remote.ss_family && next_hop.ss_family);
	memset(&local, 0, sizeof(local));
	((struct sockaddr_in *)&nowhere)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	device = bed->ops->route(bed->net, &nowhere, &local, 0, NULL);
	OTC_EXPECT(bed, PTR_ERR(device) == -ENODEV);
}

static void otc_check_datagrams(struct otc_bed *bed)
{
	const struct sdp_ot_pool_attr attr = {
		.kind = SDP_OT_POOL_DATAGRAM, .elements = 1, .size = 64, .segments = 1,
	};
	struct sdp_ot_pool *pool = bed->ops->pool_create(bed->devices[0], &attr);

	if (bed->devices[0]->caps & SDP_OT_CAP_DATAGRAM) {
		if (OTC_EXPECT(bed, !IS_ERR(pool)))
			bed->ops->pool_destroy(pool);
		return;
	}
	if (OTC_EXPECT(bed, PTR_ERR(pool) == -EOPNOTSUPP))
		bed->missing = true;
}

static void otc_check_pools(struct otc_bed *bed)
{
	struct sdp_ot_pool_attr wrong = { .kind = SDP_OT_POOL_MESSAGE, .size = 64, .segments = 1 };
	struct otc_side *side = &bed->sides[0];
	struct sdp_ot_buf *bufs[OTC_ELEMENTS];
	struct sdp_ot_key *keys[4];
	unsigned int i;

	if (!otc_side(bed, 0, SDP_OT_CQ_DIRECT))
		return;
	for (i = 0; i < OTC_ELEMENTS; i++) {
		bufs[i] = bed->ops->pool_get(side->pool);
		if (!OTC_EXPECT(bed, bufs[i]))
			return;
		OTC_EXPECT(bed, bufs[i]->size == OTC_SIZE && bufs[i]->pool == side->pool);
		memset(bufs[i]->data, i, OTC_SIZE);
	}
	OTC_EXPECT(bed, !bed->ops->pool_get(side->pool));
	OTC_EXPECT(bed, !bed->ops->key_get(side->pool) && !bed->ops->pool_get(side->keys));
	for (i = 0; i < OTC_ELEMENTS; i++) {
		OTC_EXPECT(bed, !memchr_inv(bufs[i]->data, i, OTC_SIZE));
		bed->ops->pool_put(bufs[i]);
	}
	for (i = 0; i < 4; i++)
		keys[i] = bed->ops->key_get(side->keys);
	OTC_EXPECT(bed, keys[3] && !bed->ops->key_get(side->keys));
	for (i = 0; i < 4; i++)
		if (keys[i])
			bed->ops->key_put(keys[i]);
	OTC_EXPECT(bed, PTR_ERR(bed->ops->pool_create(side->device, &wrong)) == -EINVAL);
}

/* Connections ***************************************************************** */

static bool otc_same_address(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;
	const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;

	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return !memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr));
}

static void otc_check_connect(struct otc_bed *bed)
{
	struct otc_side *side = bed->sides;

	if (!otc_connected(bed))
		return;
	OTC_EXPECT(bed, bed->asked[0].length >= 5 && !memcmp(bed->asked[0].data, "hello", 5));
	OTC_EXPECT(bed, side[0].data_len >= 3 && !memcmp(side[0].data, "ack", 3));
	OTC_EXPECT(bed, otc_same_address(&side[0].ep->remote, &bed->remote) &&
		   otc_same_address(&side[1].ep->local, &bed->remote));
	OTC_EXPECT(bed, otc_same_address(&side[0].ep->local, &side[1].ep->remote));
	if (bed->local.ss_family)
		OTC_EXPECT(bed, otc_same_address(&side[0].ep->local, &bed->local));
	/* one connection for each endpoint */
	OTC_EXPECT(bed, otc_connect(bed, "hello", 5) < 0);
	bed->ops->disconnect(side[0].ep, false);
	otc_is_down(bed);
	OTC_EXPECT(bed, side[0].told[SDP_OT_UP] == 1 && side[1].told[SDP_OT_UP] == 1);
	OTC_EXPECT(bed, !side[0].told[SDP_OT_REFUSED] && !side[0].told[SDP_OT_UNREACHABLE]);
}

static void otc_check_too_long(struct otc_bed *bed)
{
	u8 *data = kzalloc(4096, GFP_KERNEL);
	struct otc_asked *asked;

	if (!OTC_EXPECT(bed, data) || !otc_side(bed, 0, SDP_OT_CQ_DIRECT) ||
	    !otc_side(bed, 1, SDP_OT_CQ_DIRECT))
		goto out;
	OTC_EXPECT(bed, otc_connect(bed, data, bed->devices[0]->request_len + 1) == -EMSGSIZE);
	OTC_EXPECT(bed, bed->ops->set_refusal(bed->devices[1], data,
					      bed->devices[1]->refusal_len + 1) == -EMSGSIZE);
	asked = otc_listen(bed, 0, NULL, 0);
	if (!asked || !OTC_EXPECT(bed, !otc_connect(bed, data, bed->devices[0]->request_len)) ||
	    !otc_wait(bed, asked->nr == 1))
		goto out;
	OTC_EXPECT(bed, asked->length >= bed->devices[0]->request_len);
	OTC_EXPECT(bed, bed->ops->accept(asked->request, bed->sides[1].ep, data,
					 bed->devices[1]->answer_len + 1) == -EMSGSIZE);
	OTC_EXPECT(bed, bed->ops->reject(asked->request, data,
					 bed->devices[1]->refusal_len + 1) == -EMSGSIZE);
	otc_accept(bed, asked, data, 24);
out:
	kfree(data);
}

static void otc_check_refused(struct otc_bed *bed)
{
	struct otc_side *side = &bed->sides[0];
	struct otc_asked *asked;

	if (!otc_side(bed, 0, SDP_OT_CQ_DIRECT))
		return;
	asked = otc_listen(bed, 0, NULL, 0);
	if (!asked || !OTC_EXPECT(bed, !otc_connect(bed, "hello", 5)) ||
	    !otc_wait(bed, asked->nr == 1))
		return;
	OTC_EXPECT(bed, !bed->ops->reject(asked->request, "no!!", 4));
	asked->request = NULL;
	otc_wait(bed, side->told[SDP_OT_REFUSED] == 1);
	OTC_EXPECT(bed, side->error == -ECONNREFUSED && !side->told[SDP_OT_UP] &&
		   !side->told[SDP_OT_DOWN]);
	OTC_EXPECT(bed, side->data_len >= 4 && !memcmp(side->data, "no!!", 4));
}

static void otc_check_nobody(struct otc_bed *bed)
{
	struct otc_side *side = &bed->sides[0];

	if (!otc_side(bed, 0, SDP_OT_CQ_DIRECT))
		return;
	OTC_EXPECT(bed, !otc_connect(bed, "hello", 5));
	otc_wait(bed, side->told[SDP_OT_REFUSED] == 1);
	OTC_EXPECT(bed, side->error == -ECONNREFUSED && !side->data_len);
}

/* A listener's match of the first octet */
static struct sdp_ot_match otc_first(char octet)
{
	return (struct sdp_ot_match){ .offset = 0, .size = 1, .value = { octet } };
}

static bool otc_ask_again(struct otc_bed *bed, const char *data)
{
	struct otc_side *side = &bed->sides[0];

	otc_ep_destroy(side);
	memset(side->told, 0, sizeof(side->told));
	side->data_len = 0;
	return otc_ep(side) && OTC_EXPECT(bed, !otc_connect(bed, data, strlen(data)));
}

static void otc_check_matches(struct otc_bed *bed)
{
	const struct sdp_ot_match a = otc_first('a'), b = otc_first('b');
	struct otc_side *side = &bed->sides[0];
	struct otc_asked *on_a, *on_b, *on_all;

	if (!otc_side(bed, 0, SDP_OT_CQ_DIRECT))
		return;
	on_a = otc_listen(bed, 0, &a, 0);
	on_b = otc_listen(bed, 1, &b, 0);
	otc_listen(bed, 2, &a, -EADDRINUSE);
	OTC_EXPECT(bed, !bed->ops->set_refusal(bed->devices[1], "none", 4));
	if (!on_a || !on_b || !OTC_EXPECT(bed, !otc_connect(bed, "beta", 4)) ||
	    !otc_wait(bed, on_b->nr == 1))
		return;
	bed->ops->reject(on_b->request, NULL, 0);
	on_b->request = NULL;
	otc_wait(bed, side->told[SDP_OT_REFUSED] == 1);
	/* nobody wants it */
	if (!otc_ask_again(bed, "zeta") || !otc_wait(bed, side->told[SDP_OT_REFUSED] == 1))
		return;
	OTC_EXPECT(bed, side->data_len >= 4 && !memcmp(side->data, "none", 4));
	OTC_EXPECT(bed, !on_a->nr && on_b->nr == 1);
	/* the one without matches gets what is left, and no more */
	on_all = otc_listen(bed, 2, NULL, 0);
	if (!on_all || !otc_ask_again(bed, "zeta") || !otc_wait(bed, on_all->nr == 1))
		return;
	bed->ops->reject(on_all->request, NULL, 0);
	on_all->request = NULL;
	otc_wait(bed, side->told[SDP_OT_REFUSED] == 1);
	if (!otc_ask_again(bed, "alpha") || !otc_wait(bed, on_a->nr == 1))
		return;
	OTC_EXPECT(bed, on_all->nr == 1);
	bed->ops->set_refusal(bed->devices[1], NULL, 0);
}

/* A listener goes; the request that has arrived stays. */
static void otc_check_listener_goes(struct otc_bed *bed)
{
	struct otc_asked *asked;

	if (!otc_side(bed, 0, SDP_OT_CQ_DIRECT) || !otc_side(bed, 1, SDP_OT_CQ_DIRECT))
		return;
	asked = otc_listen(bed, 0, NULL, 0);
	if (!asked || !OTC_EXPECT(bed, !otc_connect(bed, "hello", 5)) ||
	    !otc_wait(bed, asked->nr == 1))
		return;
	otc_unlisten(bed, asked);
	otc_accept(bed, asked, "ack", 3);
}

/* Data transfer *************************************************************** */

static void otc_check_before_up(struct otc_bed *bed)
{
	struct otc_side *side = &bed->sides[0];
	struct sdp_ot_buf *buf;

	if (!otc_side(bed, 0, SDP_OT_CQ_DIRECT))
		return;
	buf = otc_filled(side, 0, 16);
	if (!buf)
		return;
	OTC_EXPECT(bed, otc_send(side, buf, 16, SDP_OT_SIGNAL) == -ENOTCONN);
	bed->ops->pool_put(buf);
	otc_recvs(side, 2);
	otc_pause(bed);
	OTC_EXPECT(bed, !side->send.nr && !side->recv.nr);
	otc_ep_destroy(side);
	OTC_EXPECT(bed, side->recv.nr == 2 && otc_all(&side->recv, 0, -ECANCELED));
}

static void otc_check_messages(struct otc_bed *bed)
{
	struct otc_side *from = &bed->sides[0], *to = &bed->sides[1];
	struct sdp_ot_buf *buf;
	unsigned int i;

	if (!otc_connected(bed))
		return;
	otc_recvs(to, 16);
	for (i = 0; i < 16; i++) {
		buf = otc_filled(from, i, 100 + i);
		if (!buf || !OTC_EXPECT(bed, !otc_send(from, buf, 100 + i, SDP_OT_SIGNAL)) ||
		    !otc_wait(bed, from->send.nr == i + 1))
			return;
		OTC_EXPECT(bed, from->send.done[i].cookie == buf &&
			   from->send.done[i].op == SDP_OT_SEND &&
			   from->send.done[i].ep == from->ep);
		bed->ops->pool_put(buf);
	}
	otc_wait(bed, to->recv.nr == 16);
	for (i = 0; i < to->recv.nr; i++) {
		buf = to->recv.done[i].cookie;
		OTC_EXPECT(bed, to->recv.done[i].op == SDP_OT_RECV && !to->recv.done[i].status &&
			   to->recv.done[i].length == 100 + i &&
			   otc_is_filled(buf->data, i, 100 + i));
	}
	OTC_EXPECT(bed, otc_all(&from->send, 0, 0));
}

static void otc_check_gather(struct otc_bed *bed)
{
	struct otc_side *from = &bed->sides[0], *to = &bed->sides[1];
	struct sdp_ot_segment segments[2];
	struct sdp_ot_buf *a, *b, *got;

	if (!otc_connected(bed))
		return;
	otc_recvs(to, 1);
	a = otc_filled(from, 10, 64);
	b = otc_filled(from, 90, 64);
	if (!a || !b)
		return;
	segments[0] = (struct sdp_ot_segment){ .buf = a, .offset = 4, .length = 16 };
	segments[1] = (struct sdp_ot_segment){ .buf = b, .offset = 1, .length = 33 };
	OTC_EXPECT(bed, !bed->ops->post_send(from->ep, segments, 2, SDP_OT_SIGNAL, 0, a));
	if (otc_wait(bed, to->recv.nr == 1 && from->send.nr == 1)) {
		got = to->recv.done[0].cookie;
		OTC_EXPECT(bed, to->recv.done[0].length == 49 && otc_is_filled(got->data, 14, 16) &&
			   otc_is_filled(got->data + 16, 91, 33));
	}
	/* outside of the element, more than the endpoint has */
	segments[0].offset = OTC_SIZE;
	OTC_EXPECT(bed, bed->ops->post_send(from->ep, segments, 1, SDP_OT_SIGNAL, 0, a) ==
		   -EINVAL);
	bed->ops->pool_put(a);
	bed->ops->pool_put(b);
}

static void otc_check_full(struct otc_bed *bed)
{
	struct otc_side *side = &bed->sides[0];
	struct sdp_ot_buf *buf;

	if (!otc_side(bed, 0, SDP_OT_CQ_DIRECT))
		return;
	otc_recvs(side, 16);
	buf = bed->ops->pool_get(side->pool);
	if (!buf)
		return;
	OTC_EXPECT(bed, bed->ops->post_recv(side->ep, buf, buf) == -EAGAIN);
	bed->ops->pool_put(buf);
}

static void otc_check_silent(struct otc_bed *bed)
{
	struct otc_side *from = &bed->sides[0], *to = &bed->sides[1];
	struct sdp_ot_buf *buf;
	unsigned int i;

	if (!otc_connected(bed))
		return;
	otc_recvs(to, 8);
	buf = otc_filled(from, 1, 32);
	if (!buf)
		return;
	for (i = 0; i < 8; i++)
		OTC_EXPECT(bed, !otc_send(from, buf, 32, i == 7 ? SDP_OT_SIGNAL : 0));
	otc_wait(bed, from->send.nr == 1 && to->recv.nr == 8);
	otc_pause(bed);
	OTC_EXPECT(bed, from->send.nr == 1);
	/* the silent ones have left the queue */
	otc_recvs(to, 8);
	for (i = 0; i < 8; i++)
		OTC_EXPECT(bed, !otc_send(from, buf, 32, i == 7 ? SDP_OT_SIGNAL : 0));
	otc_wait(bed, from->send.nr == 2 && to->recv.nr == 16);
	bed->ops->pool_put(buf);
}

static void otc_check_polling(struct otc_bed *bed)
{
	struct otc_side *from = &bed->sides[0], *to = &bed->sides[1];
	struct sdp_ot_completion done[4];
	struct sdp_ot_buf *buf;
	u32 n;

	if (!otc_connected_by(bed, SDP_OT_CQ_POLLING))
		return;
	OTC_EXPECT(bed, !bed->ops->cq_arm(to->recv.cq, false));
	otc_recvs(to, 2);
	buf = otc_filled(from, 1, 32);
	if (!buf)
		return;
	OTC_EXPECT(bed, !otc_send(from, buf, 32, SDP_OT_SIGNAL | SDP_OT_SOLICITED));
	otc_wait(bed, to->recv.notified == 1);
	n = bed->ops->cq_poll(to->recv.cq, done, 4);
	if (OTC_EXPECT(bed, n == 1 && done[0].op == SDP_OT_RECV && done[0].length == 32))
		otc_note(&to->recv, done, n);
	OTC_EXPECT(bed, !bed->ops->cq_poll(to->recv.cq, done, 4));
	/* not armed: not told */
	OTC_EXPECT(bed, !otc_send(from, buf, 32, SDP_OT_SIGNAL));
	otc_pause(bed);
	OTC_EXPECT(bed, to->recv.notified == 1 && bed->ops->cq_arm(to->recv.cq, false) == 1);
	n = bed->ops->cq_poll(to->recv.cq, done, 4);
	if (OTC_EXPECT(bed, n == 1))
		otc_note(&to->recv, done, n);
	n = bed->ops->cq_poll(from->send.cq, done, 4);
	OTC_EXPECT(bed, n == 2 && done[1].cookie == buf);
	bed->ops->pool_put(buf);
}

/* Keys *********************************************************************** */

/* Octets of a side's pages */
static u8 *otc_octets(struct otc_side *side, u32 offset)
{
	return (u8 *)page_address(side->pages[offset / PAGE_SIZE]) + offset % PAGE_SIZE;
}

static void otc_fill_pages(struct otc_side *side, u8 first)
{
	u32 i;

	for (i = 0; i < OTC_PAGES * PAGE_SIZE; i++)
		*otc_octets(side, i) = first + i % 251;
}

static bool otc_pages_are(struct otc_side *side, u32 offset, u32 length, u8 first)
{
	u32 i;

	for (i = offset; i < offset + length; i++)
		if (*otc_octets(side, i) != (u8)(first + (i - offset) % 251))
			return false;
	return true;
}

#define OTC_OFFSET	100
#define OTC_LENGTH	(2 * PAGE_SIZE + 17)

static void otc_check_read(struct otc_bed *bed)
{
	struct otc_side *from = &bed->sides[1], *to = &bed->sides[0];
	struct sdp_ot_key *source, *sink;
	struct sdp_ot_segment segment;
	u32 before;

	if (!otc_connected(bed))
		return;
	otc_fill_pages(from, 7);
	source = otc_key(from, 0, OTC_LENGTH, SDP_OT_PEER_READS);
	sink = otc_key(to, OTC_OFFSET, OTC_LENGTH, 0);
	before = to->send.nr;
	segment = (struct sdp_ot_segment){ .key = sink, .length = OTC_LENGTH };
	if (source && sink &&
	    OTC_EXPECT(bed, !bed->ops->post_read(to->ep, &segment, 1, source->key, source->address,
						 SDP_OT_SIGNAL, bed)) &&
	    otc_wait(bed, to->send.nr == before + 1))
		OTC_EXPECT(bed, to->send.done[before].op == SDP_OT_READ &&
			   !to->send.done[before].status &&
			   to->send.done[before].length == OTC_LENGTH &&
			   otc_pages_are(to, OTC_OFFSET, OTC_LENGTH, 7));
	/* nothing beside it was touched */
	OTC_EXPECT(bed, !*otc_octets(to, OTC_OFFSET - 1) &&
		   !*otc_octets(to, OTC_OFFSET + OTC_LENGTH));
	otc_drop(from, source);
	otc_drop(to, sink);
}

static void otc_check_write(struct otc_bed *bed)
{
	struct otc_side *from = &bed->sides[0], *to = &bed->sides[1];
	struct sdp_ot_key *source, *sink;
	struct sdp_ot_segment segment;
	struct sdp_ot_buf *buf;
	u32 before;

	if (!otc_connected(bed))
		return;
	otc_recvs(to, 1);
	otc_fill_pages(from, 9);
	source = otc_key(from, 0, OTC_LENGTH, 0);
	sink = otc_key(to, OTC_OFFSET, OTC_LENGTH, SDP_OT_PEER_WRITES);
	buf = otc_filled(from, 0, 16);
	before = from->send.nr;
	segment = (struct sdp_ot_segment){ .key = source, .length = OTC_LENGTH };
	if (source && sink && buf &&
	    OTC_EXPECT(bed, !bed->ops->post_write(from->ep, &segment, 1, sink->key, sink->address,
						  SDP_OT_SIGNAL, bed)) &&
	    /* the Send behind it arrives when its octets are there */
	    OTC_EXPECT(bed, !otc_send(from, buf, 16, SDP_OT_SIGNAL)) &&
	    otc_wait(bed, from->send.nr == before + 2 && to->recv.nr == 1))
		OTC_EXPECT(bed, from->send.done[before].op == SDP_OT_WRITE &&
			   from->send.done[before + 1].op == SDP_OT_SEND &&
			   otc_all(&from->send, before, 0) &&
			   otc_pages_are(to, OTC_OFFSET, OTC_LENGTH, 9));
	OTC_EXPECT(bed, !*otc_octets(to, OTC_OFFSET - 1) &&
		   !*otc_octets(to, OTC_OFFSET + OTC_LENGTH));
	if (buf)
		bed->ops->pool_put(buf);
	otc_drop(from, source);
	otc_drop(to, sink);
}

static void otc_check_empty_write(struct otc_bed *bed)
{
	struct otc_side *side = &bed->sides[0];

	if (!otc_connected(bed))
		return;
	OTC_EXPECT(bed, !bed->ops->post_write(side->ep, NULL, 0, 0, 0, SDP_OT_SIGNAL, bed));
	otc_wait(bed, side->send.nr == 1);
	OTC_EXPECT(bed, side->send.done[0].op == SDP_OT_WRITE && !side->send.done[0].status);
}

static void otc_check_dropped(struct otc_bed *bed)
{
	struct otc_side *from = &bed->sides[0], *to = &bed->sides[1];
	struct sdp_ot_key *source, *sink;
	struct sdp_ot_segment segment;
	u64 address;
	u32 key;

	if (!otc_connected(bed))
		return;
	source = otc_key(from, 0, 64, 0);
	sink = otc_key(to, 0, 64, SDP_OT_PEER_WRITES);
	if (source && sink) {
		otc_fill_pages(from, 9);
		key = sink->key;
		address = sink->address;
		otc_drop(to, sink);
		sink = NULL;
		segment = (struct sdp_ot_segment){ .key = source, .length = 64 };
		OTC_EXPECT(bed, !bed->ops->post_write(from->ep, &segment, 1, key, address,
						      SDP_OT_SIGNAL, bed));
		otc_is_down(bed);
		OTC_EXPECT(bed, !*otc_octets(to, 0));
	}
	otc_drop(to, sink);
	otc_drop(from, source);
}

static void otc_check_drop_when_down(struct otc_bed *bed)
{
	struct otc_side *side = bed->sides;
	struct sdp_ot_key *key;
	u32 before;

	if (!otc_connected(bed))
		return;
	key = otc_key(&side[1], 0, 64, SDP_OT_PEER_WRITES);
	bed->ops->disconnect(side[0].ep, true);
	otc_is_down(bed);
	before = side[1].send.nr;
	if (!key)
		return;
	otc_drop(&side[1], key);
	OTC_EXPECT(bed, !side[1].send.done[before].status);
	key = bed->ops->key_get(side[1].keys);
	if (OTC_EXPECT(bed, key)) {
		OTC_EXPECT(bed, bed->ops->key_post(side[1].ep, key, side[1].pages, 1, 0, 64,
						   SDP_OT_PEER_WRITES, key) == -ENOTCONN);
		bed->ops->key_put(key);
	}
}

static void otc_check_invalidate(struct otc_bed *bed)
{
	struct otc_side *from = &bed->sides[0], *to = &bed->sides[1];
	struct sdp_ot_segment segment;
	struct sdp_ot_key *key;
	struct sdp_ot_buf *buf;

	if (!otc_connected(bed))
		return;
	otc_recvs(to, 1);
	key = otc_key(to, 0, 64, SDP_OT_PEER_WRITES);
	buf = otc_filled(from, 0, 16);
	if (!key || !buf)
		return;
	segment = (struct sdp_ot_segment){ .buf = buf, .length = 16 };
	if (!(from->device->caps & SDP_OT_CAP_INVALIDATE)) {
		OTC_EXPECT(bed, bed->ops->post_send(from->ep, &segment, 1, SDP_OT_SIGNAL, key->key,
						    buf) < 0);
		bed->missing = true;
	} else if (OTC_EXPECT(bed, !bed->ops->post_send(from->ep, &segment, 1, SDP_OT_SIGNAL,
							key->key, buf)) &&
		   otc_wait(bed, to->recv.nr == 1 && from->send.nr == 1)) {
		OTC_EXPECT(bed, to->recv.done[0].invalidated == key->key &&
			   !to->recv.done[0].status);
	}
	otc_drop(to, key);
	bed->ops->pool_put(buf);
}

static void otc_check_domains(struct otc_bed *bed)
{
	struct otc_side *side = &bed->sides[0];
	struct sdp_ot_pool *other;
	struct sdp_ot_buf *buf;

	if (!otc_side(bed, 0, SDP_OT_CQ_DIRECT))
		return;
	other = otc_pool(side, SDP_OT_POOL_MESSAGE, bed);
	if (!other)
		return;
	buf = bed->ops->pool_get(other);
	if (OTC_EXPECT(bed, buf)) {
		OTC_EXPECT(bed, bed->ops->post_recv(side->ep, buf, NULL) == -EINVAL);
		bed->ops->pool_put(buf);
	}
	bed->ops->pool_destroy(other);
}

/* The end ******************************************************************** */

static void otc_check_graceful(struct otc_bed *bed)
{
	struct otc_side *from = &bed->sides[0], *to = &bed->sides[1];
	struct sdp_ot_buf *buf;
	unsigned int i;

	if (!otc_connected(bed))
		return;
	otc_recvs(to, 8);
	buf = otc_filled(from, 3, 1000);
	if (!buf)
		return;
	for (i = 0; i < 4; i++)
		OTC_EXPECT(bed, !otc_send(from, buf, 1000, SDP_OT_SIGNAL));
	bed->ops->disconnect(from->ep, false);
	otc_is_down(bed);
	otc_wait(bed, to->recv.nr == 8 && from->send.nr == 4);
	OTC_EXPECT(bed, otc_all(&from->send, 0, 0));
	OTC_EXPECT(bed, !to->recv.done[3].status && otc_all(&to->recv, 4, -ECANCELED));
	OTC_EXPECT(bed, otc_send(from, buf, 16, SDP_OT_SIGNAL) == -ENOTCONN);
	bed->ops->pool_put(buf);
}

static void otc_check_abrupt(struct otc_bed *bed)
{
	struct otc_side *side = bed->sides;

	if (!otc_connected(bed))
		return;
	otc_recvs(&side[0], 4);
	otc_recvs(&side[1], 4);
	bed->ops->disconnect(side[1].ep, true);
	otc_is_down(bed);
	otc_wait(bed, side[0].recv.nr == 4 && side[1].recv.nr == 4);
	otc_pause(bed);
	OTC_EXPECT(bed, side[0].recv.nr == 4 && side[1].recv.nr == 4);
	OTC_EXPECT(bed, otc_all(&side[0].recv, 0, -ECANCELED) &&
		   otc_all(&side[1].recv, 0, -ECANCELED));
}

static void otc_check_destroy(struct otc_bed *bed)
{
	struct otc_side *side = bed->sides;
	struct sdp_ot_buf *buf;
	unsigned int i;

	if (!otc_connected(bed))
		return;
	otc_recvs(&side[0], 16);
	otc_recvs(&side[1], 16);
	buf = otc_filled(&side[0], 3, 1000);
	if (!buf)
		return;
	for (i = 0; i < 4; i++)
		OTC_EXPECT(bed, !otc_send(&side[0], buf, 1000, SDP_OT_SIGNAL));
	otc_ep_destroy(&side[0]);
	OTC_EXPECT(bed, side[0].send.nr == 4 && side[0].recv.nr == 16 &&
		   !side[0].told[SDP_OT_DOWN]);
	bed->ops->pool_put(buf);
	otc_wait(bed, side[1].told[SDP_OT_DOWN] == 1 && side[1].recv.nr == 16);
	otc_ep_destroy(&side[1]);
	OTC_EXPECT(bed, side[1].recv.nr == 16);
}

/* an attempt that is given up */
static void otc_check_give_up(struct otc_bed *bed)
{
	struct otc_side *side = &bed->sides[0];
	struct otc_asked *asked;

	if (!otc_side(bed, 0, SDP_OT_CQ_DIRECT))
		return;
	asked = otc_listen(bed, 0, NULL, 0);
	if (!asked || !OTC_EXPECT(bed, !otc_connect(bed, "hello", 5)))
		return;
	otc_recvs(side, 2);
	bed->ops->disconnect(side->ep, true);
	otc_wait(bed, side->told[SDP_OT_DOWN] == 1 && side->recv.nr == 2);
	OTC_EXPECT(bed, !side->told[SDP_OT_UP] && otc_all(&side->recv, 0, -ECANCELED));
	otc_pause(bed);
}

static void otc_check_wrong_key(struct otc_bed *bed)
{
	struct otc_side *side = bed->sides;
	struct sdp_ot_segment segment;
	struct sdp_ot_buf *buf;

	if (!otc_connected(bed))
		return;
	otc_recvs(&side[0], 1);
	otc_recvs(&side[1], 1);
	buf = otc_filled(&side[0], 0, 16);
	if (!buf)
		return;
	segment = (struct sdp_ot_segment){ .buf = buf, .length = 16 };
	OTC_EXPECT(bed, !bed->ops->post_write(side[0].ep, &segment, 1, 0x12345678, 0, SDP_OT_SIGNAL,
					      buf));
	otc_is_down(bed);
	otc_wait(bed, side[0].send.nr == 1 && side[0].recv.nr == 1 && side[1].recv.nr == 1);
	bed->ops->pool_put(buf);
}

void otc_removal(struct otc_bed *bed, void (*ready)(struct otc_bed *bed))
{
	struct otc_side *side = bed->sides;
	struct sdp_ot_key *key;
	struct otc_asked *asked;
	u32 before;

	if (!otc_connected(bed))
		return;
	key = otc_key(&side[1], 0, 64, SDP_OT_PEER_WRITES);
	otc_recvs(&side[0], 4);
	otc_recvs(&side[1], 16);
	asked = &bed->asked[0];
	before = side[1].send.nr;
	if (ready)
		ready(bed);
	if (bed->remove)
		bed->remove(bed);
	otc_wait(bed, side[1].told[SDP_OT_DOWN] == 1 && side[1].recv.nr == 16);
	OTC_EXPECT(bed, otc_all(&side[1].recv, 0, -ECANCELED));
	otc_wait(bed, side[0].told[SDP_OT_DOWN] == 1 && side[0].recv.nr == 4);
	if (key) {
		OTC_EXPECT(bed, !bed->ops->key_drop(side[1].ep, key, key));
		otc_wait(bed, side[1].send.nr == before + 1);
		bed->ops->key_put(key);
	}
	OTC_EXPECT(bed, IS_ERR(bed->ops->ep_create(side[1].device, &side[1].ep->attr)));
	OTC_EXPECT(bed, IS_ERR(bed->ops->cq_create(side[1].device, &side[1].send.cq->attr)));
	OTC_EXPECT(bed, bed->ops->set_refusal(side[1].device, "x", 1) == -ENODEV);
	OTC_EXPECT(bed, side[1].recv.nr == 16 && asked->nr == 1);
	otc_end(bed);
}

static void otc_check_removal(struct otc_bed *bed)
{
	if (bed->remove)
		otc_removal(bed, NULL);
}

const struct otc_check otc_checks[] = {
	{ "device", otc_check_device },
	{ "route", otc_check_route },
	{ "datagrams", otc_check_datagrams },
	{ "pools", otc_check_pools },
	{ "connect", otc_check_connect },
	{ "private data too long", otc_check_too_long },
	{ "refused", otc_check_refused },
	{ "nobody listens", otc_check_nobody },
	{ "matches", otc_check_matches },
	{ "listener goes", otc_check_listener_goes },
	{ "posts before up", otc_check_before_up },
	{ "messages", otc_check_messages },
	{ "gather", otc_check_gather },
	{ "queue full", otc_check_full },
	{ "silent posts", otc_check_silent },
	{ "polling", otc_check_polling },
	{ "read", otc_check_read },
	{ "write", otc_check_write },
	{ "write of 0 octets", otc_check_empty_write },
	{ "key dropped", otc_check_dropped },
	{ "key dropped when down", otc_check_drop_when_down },
	{ "invalidate", otc_check_invalidate },
	{ "domains", otc_check_domains },
	{ "graceful end", otc_check_graceful },
	{ "abrupt end", otc_check_abrupt },
	{ "destroy", otc_check_destroy },
	{ "attempt given up", otc_check_give_up },
	{ "wrong key", otc_check_wrong_key },
	{ "removal", otc_check_removal },
	{}
};
