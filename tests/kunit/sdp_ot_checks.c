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

#include "sdp_ot_bed.h"

bool otc_expect(struct otc_bed *bed, bool met, int line, const char *what)
{
	if (!met && !bed->failed++)
		snprintf(bed->where, sizeof(bed->where), "line %d: %s", line, what);
	return met;
}

/* Time for what should not happen */
void otc_pause(struct otc_bed *bed)
{
	if (bed->settle)
		bed->settle(bed);
	else
		msleep(50);
}

/* Upcalls ******************************************************************* */

void otc_note(struct otc_queue *queue, const struct sdp_ot_completion *completions, u32 n)
{
	struct otc_bed *bed = queue->side->bed;
	u32 i;

	scoped_guard(spinlock_irqsave, &bed->lock)
		for (i = 0; i < n; i++)
			if (queue->nr < OTC_DONE)
				queue->done[queue->nr++] = completions[i];
	wake_up(&bed->wait);
}

static int otc_post(struct otc_side *side, struct sdp_ot_buf *buf, u32 length, u32 flags)
{
	const struct sdp_ot_segment segment = { .buf = buf, .length = length };

	return side->bed->ops->post_send(side->ep, &segment, 1, flags, 0, buf);
}

static void otc_handler(void *context, const struct sdp_ot_completion *completions, u32 n)
{
	struct otc_queue *queue = context;
	struct sdp_ot_completion copy;
	u32 i;

	OTC_EXPECT(queue->side->bed, n && !queue->side->destroyed);
	/* SDP has its lock in these ops, and takes it here; a softirq comes when it has not */
	OTC_EXPECT(queue->side->bed, !in_task() || READ_ONCE(queue->side->in_op) != current);
	for (i = 0; i < n; i++) {
		copy = completions[i];
		if (queue->side->repost && copy.op == SDP_OT_RECV && !copy.status) {
			OTC_EXPECT(queue->side->bed,
				   !queue->side->bed->ops->post_recv(copy.ep, copy.cookie,
								     copy.cookie));
			copy.cookie = NULL;
		}
		if (queue->side->answer && copy.op == SDP_OT_RECV && !copy.status) {
			OTC_EXPECT(queue->side->bed,
				   !otc_post(queue->side, queue->side->answer, 16, SDP_OT_SIGNAL));
			queue->side->answer = NULL;
		}
		otc_note(queue, &copy, 1);
	}
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
	if (side->greeting && event == SDP_OT_UP)
		OTC_EXPECT(bed, !otc_post(side, side->greeting, 16, SDP_OT_SIGNAL));
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

struct sdp_ot_pool *otc_pool(struct otc_side *side, enum sdp_ot_pool_kind kind,
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

bool otc_ep(struct otc_side *side)
{
	const struct sdp_ot_ep_attr attr = {
		.send_cq = side->send.cq,
		.recv_cq = side->recv.cq,
		.sends = 8,
		.recvs = 16,
		.segments = 2,
		.reads_in = min_t(u16, side->device->reads_in, side->reads_in ?: 2),
		.reads_out = min_t(u16, side->device->reads_out, 2),
		.event = otc_note_event,
		.context = side,
		.domain = side,
		.pushed = side->pushed,
	};
	struct sdp_ot_ep *ep = side->bed->ops->ep_create(side->device, &attr);

	if (!OTC_EXPECT(side->bed, !IS_ERR(ep)))
		return false;
	side->destroyed = false;
	side->ep = ep;
	return true;
}

/* Make all of a side. */
bool otc_side(struct otc_bed *bed, unsigned int index, enum sdp_ot_cq_kind kind)
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

void otc_ep_destroy(struct otc_side *side)
{
	if (!side->ep)
		return;
	side->bed->ops->ep_destroy(side->ep);
	side->ep = NULL;
	side->destroyed = true;
}

struct otc_asked *otc_listen(struct otc_bed *bed, unsigned int index, long error)
{
	struct otc_asked *asked = &bed->asked[index];
	struct sdp_ot_listen_attr attr = {
		.port = bed->port,
		.request = otc_note_request,
		.context = asked,
	};
	struct sdp_ot_listener *listener;

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

void otc_unlisten(struct otc_bed *bed, struct otc_asked *asked)
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

int otc_connect(struct otc_bed *bed, const u8 *data, u32 length)
{
	return bed->ops->connect(bed->sides[0].ep, &bed->local, &bed->remote, NULL, data, length,
				 10000);
}

bool otc_accept(struct otc_bed *bed, struct otc_asked *asked, const u8 *data, u32 length)
{
	struct sdp_ot_conn_request *request = asked->request;

	if (!OTC_EXPECT(bed, bed->ops->accept(request, bed->sides[1].ep, data, length) == 0))
		return false;
	asked->request = NULL;
	return otc_wait(bed, bed->sides[0].told[SDP_OT_UP] == 1 &&
			bed->sides[1].told[SDP_OT_UP] == 1);
}

/* Both sides, connected */
bool otc_connected_by(struct otc_bed *bed, enum sdp_ot_cq_kind kind)
{
	struct otc_asked *asked;

	if (!otc_side(bed, 0, kind) || !otc_side(bed, 1, kind))
		return false;
	asked = otc_listen(bed, 0, 0);
	return asked && OTC_EXPECT(bed, otc_connect(bed, "hello", 5) == 0) &&
	       otc_wait(bed, asked->nr == 1) && otc_accept(bed, asked, "ack", 3);
}

bool otc_connected(struct otc_bed *bed)
{
	return otc_connected_by(bed, SDP_OT_CQ_DIRECT);
}

/* Is the connection down on both sides, each told once? */
void otc_is_down(struct otc_bed *bed)
{
	otc_wait(bed, bed->sides[0].told[SDP_OT_DOWN] && bed->sides[1].told[SDP_OT_DOWN]);
	OTC_EXPECT(bed, bed->sides[0].told[SDP_OT_DOWN] == 1 &&
		   bed->sides[1].told[SDP_OT_DOWN] == 1);
}

/* Posts ********************************************************************* */

/* Post @n receives; their cookies are the elements. */
void otc_recvs(struct otc_side *side, unsigned int n)
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

/* An element with @length bytes that begin with @first */
struct sdp_ot_buf *otc_filled(struct otc_side *side, u8 first, u32 length)
{
	struct sdp_ot_buf *buf = side->bed->ops->pool_get(side->pool);
	u32 i;

	if (!OTC_EXPECT(side->bed, buf))
		return NULL;
	for (i = 0; i < length; i++)
		buf->data[i] = first + i;
	return buf;
}

bool otc_is_filled(const u8 *data, u8 first, u32 length)
{
	u32 i;

	for (i = 0; i < length; i++)
		if (data[i] != (u8)(first + i))
			return false;
	return true;
}

int otc_send(struct otc_side *side, struct sdp_ot_buf *buf, u32 length, u32 flags)
{
	int ret;

	WRITE_ONCE(side->in_op, current);
	ret = otc_post(side, buf, length, flags);
	WRITE_ONCE(side->in_op, NULL);
	return ret;
}

/* all that the queue has told: ended with @status */
bool otc_all(const struct otc_queue *queue, u32 from, int status)
{
	u32 i;

	for (i = from; i < queue->nr; i++)
		if (queue->done[i].status != status)
			return false;
	return true;
}

/* Name @length bytes at @offset of the side's pages. */
struct sdp_ot_key *otc_key(struct otc_side *side, u32 offset, u64 length, u32 access)
{
	const u32 n = DIV_ROUND_UP(offset + length, PAGE_SIZE);
	const u32 before = side->send.nr;
	struct sdp_ot_key *key = side->bed->ops->key_get(side->keys);
	int ret;

	if (!OTC_EXPECT(side->bed, key))
		return NULL;
	WRITE_ONCE(side->in_op, current);
	ret = side->bed->ops->key_post(side->ep, key, side->pages, n, offset, length, access, key);
	WRITE_ONCE(side->in_op, NULL);
	/* the peer is told the address, and no other one of this host */
	if (!OTC_EXPECT(side->bed, !ret && key->address < PAGE_SIZE) ||
	    !otc_wait(side->bed, side->send.nr == before + 1) ||
	    !OTC_EXPECT(side->bed, side->send.done[before].op == SDP_OT_KEY_POST &&
			!side->send.done[before].status &&
			side->send.done[before].cookie == key)) {
		side->bed->ops->key_put(key);
		return NULL;
	}
	return key;
}

void otc_drop(struct otc_side *side, struct sdp_ot_key *key)
{
	const u32 before = side->send.nr;
	int ret;

	if (!key)
		return;
	WRITE_ONCE(side->in_op, current);
	ret = side->bed->ops->key_drop(side->ep, key, key);
	WRITE_ONCE(side->in_op, NULL);
	if (OTC_EXPECT(side->bed, !ret) &&
	    otc_wait(side->bed, side->send.nr == before + 1))
		OTC_EXPECT(side->bed, side->send.done[before].op == SDP_OT_KEY_DROP &&
			   side->send.done[before].cookie == key);
	side->bed->ops->key_put(key);
}

/* The checks ****************************************************************** */

const struct otc_check *const otc_checks[] = {
	otc_device_checks, otc_conn_checks, otc_data_checks, otc_key_checks, NULL
};
