// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Checks of sdp/ot/ot.h: messages, completions, Reads, Writes and keys. */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/string.h>

#include "sdp_ot_bed.h"

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

/* A message that comes with the connection is answered by the handler. */
static void otc_check_early(struct otc_bed *bed)
{
	struct otc_side *from = &bed->sides[0], *to = &bed->sides[1];
	struct sdp_ot_buf *greeting, *answer, *got;
	struct otc_asked *asked;

	if (!otc_side(bed, 0, SDP_OT_CQ_DIRECT) || !otc_side(bed, 1, SDP_OT_CQ_DIRECT))
		return;
	otc_recvs(from, 1);
	otc_recvs(to, 1);
	greeting = otc_filled(from, 1, 16);
	answer = otc_filled(to, 2, 16);
	asked = otc_listen(bed, 0, 0);
	from->greeting = greeting;
	to->answer = answer;
	if (greeting && answer && asked && OTC_EXPECT(bed, !otc_connect(bed, "hello", 5)) &&
	    otc_wait(bed, asked->nr == 1) && otc_accept(bed, asked, "ack", 3) &&
	    otc_wait(bed, from->recv.nr == 1 && from->send.nr == 1 && to->send.nr == 1)) {
		got = from->recv.done[0].cookie;
		OTC_EXPECT(bed, !from->recv.done[0].status && otc_is_filled(got->data, 2, 16));
	}
	otc_ep_destroy(from);
	otc_ep_destroy(to);
	if (greeting)
		bed->ops->pool_put(greeting);
	if (answer)
		bed->ops->pool_put(answer);
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

/* Post some Sends that wait for a push. */
static void otc_push_some(struct otc_side *from, u32 n)
{
	struct sdp_ot_buf *buf;

	while (n--) {
		buf = otc_filled(from, n, 16);
		if (buf)
			OTC_EXPECT(from->bed, !otc_send(from, buf, 16, SDP_OT_SIGNAL));
	}
}

/* Give the elements of all Sends back that were told. */
static void otc_push_end(struct otc_side *from)
{
	u32 i;

	for (i = 0; i < from->send.nr; i++)
		from->bed->ops->pool_put(from->send.done[i].cookie);
}

static void otc_check_push(struct otc_bed *bed)
{
	struct otc_side *from = &bed->sides[0], *to = &bed->sides[1];

	from->pushed = true;
	if (!otc_connected(bed))
		return;
	otc_recvs(to, 9);
	otc_push_some(from, 3);
	bed->ops->push(from->ep, false);
	otc_wait(bed, to->recv.nr == 3 && from->send.nr == 3);
	otc_push_some(from, 4);
	bed->ops->push(from->ep, true);
	otc_wait(bed, to->recv.nr == 7 && from->send.nr == 7);
	/* nothing is there */
	bed->ops->push(from->ep, true);
	/* a graceful end sends what waits */
	otc_push_some(from, 2);
	bed->ops->disconnect(from->ep, false);
	otc_wait(bed, to->recv.nr == 9 && from->send.nr == 9);
	OTC_EXPECT(bed, otc_all(&from->send, 0, 0) && otc_all(&to->recv, 0, 0));
	otc_is_down(bed);
	otc_push_end(from);
}

/* What waits for a push ends with the connection, or went out without one. */
static void otc_check_push_down(struct otc_bed *bed)
{
	struct otc_side *from = &bed->sides[0];

	from->pushed = true;
	if (!otc_connected(bed))
		return;
	otc_recvs(&bed->sides[1], 3);
	otc_push_some(from, 3);
	bed->ops->disconnect(bed->sides[1].ep, true);
	otc_wait(bed, from->told[SDP_OT_DOWN]);
	bed->ops->push(from->ep, true);
	bed->ops->push(from->ep, false);
	otc_wait(bed, from->send.nr == 3);
	otc_push_end(from);
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

/* There is room for a post when the end of another one is told. */
static void otc_check_repost(struct otc_bed *bed)
{
	struct otc_side *from = &bed->sides[0], *to = &bed->sides[1];
	struct sdp_ot_buf *buf;
	unsigned int i;

	if (!otc_connected(bed))
		return;
	otc_recvs(to, 16);
	to->repost = true;
	buf = otc_filled(from, 1, 32);
	if (!buf)
		return;
	for (i = 0; i < 40; i++)
		if (!OTC_EXPECT(bed, !otc_send(from, buf, 32, SDP_OT_SIGNAL)) ||
		    !otc_wait(bed, from->send.nr == i + 1 && to->recv.nr == i + 1))
			break;
	OTC_EXPECT(bed, otc_all(&to->recv, 0, 0));
	to->repost = false;
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

const struct otc_check otc_data_checks[] = {
	{ "posts before up", otc_check_before_up },
	{ "a message with the connection", otc_check_early },
	{ "messages", otc_check_messages },
	{ "push", otc_check_push },
	{ "push to a connection that ended", otc_check_push_down },
	{ "gather", otc_check_gather },
	{ "queue full", otc_check_full },
	{ "posts in a handler", otc_check_repost },
	{ "silent posts", otc_check_silent },
	{ "polling", otc_check_polling },
	{}
};

/* Keys *********************************************************************** */

/* Bytes of a side's pages */
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
	bool done = false;
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
		done = OTC_EXPECT(bed, to->send.done[before].op == SDP_OT_READ &&
				  !to->send.done[before].status &&
				  to->send.done[before].length == OTC_LENGTH);
	otc_drop(from, source);
	otc_drop(to, sink);
	OTC_EXPECT(bed, !done || otc_pages_are(to, OTC_OFFSET, OTC_LENGTH, 7));
	/* nothing beside it was touched */
	OTC_EXPECT(bed, !*otc_octets(to, OTC_OFFSET - 1) &&
		   !*otc_octets(to, OTC_OFFSET + OTC_LENGTH));
}

static void otc_check_write(struct otc_bed *bed)
{
	struct otc_side *from = &bed->sides[0], *to = &bed->sides[1];
	struct sdp_ot_key *source, *sink;
	struct sdp_ot_segment segment;
	struct sdp_ot_buf *buf;
	bool done = false;
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
	    /* the Send behind it arrives when its bytes are there */
	    OTC_EXPECT(bed, !otc_send(from, buf, 16, SDP_OT_SIGNAL)) &&
	    otc_wait(bed, from->send.nr == before + 2 && to->recv.nr == 1))
		done = OTC_EXPECT(bed, from->send.done[before].op == SDP_OT_WRITE &&
				  from->send.done[before + 1].op == SDP_OT_SEND &&
				  otc_all(&from->send, before, 0));
	if (buf)
		bed->ops->pool_put(buf);
	otc_drop(from, source);
	otc_drop(to, sink);
	OTC_EXPECT(bed, !done || otc_pages_are(to, OTC_OFFSET, OTC_LENGTH, 9));
	OTC_EXPECT(bed, !*otc_octets(to, OTC_OFFSET - 1) &&
		   !*otc_octets(to, OTC_OFFSET + OTC_LENGTH));
}

static void otc_check_no_octets(struct otc_bed *bed)
{
	struct otc_side *side = &bed->sides[0];

	if (!otc_connected(bed))
		return;
	OTC_EXPECT(bed, !bed->ops->post_write(side->ep, NULL, 0, 0, 0, SDP_OT_SIGNAL, bed));
	OTC_EXPECT(bed, !bed->ops->post_read(side->ep, NULL, 0, 0, 0, SDP_OT_SIGNAL, bed));
	otc_wait(bed, side->send.nr == 2);
	OTC_EXPECT(bed, side->send.done[0].op == SDP_OT_WRITE && !side->send.done[0].status);
	OTC_EXPECT(bed, side->send.done[1].op == SDP_OT_READ && !side->send.done[1].status &&
		   !side->send.done[1].length);
}

static void otc_check_dropped(struct otc_bed *bed)
{
	struct otc_side *from = &bed->sides[0], *to = &bed->sides[1];
	struct sdp_ot_key *source, *sink;
	struct sdp_ot_segment segment;
	u64 address;
	u32 key, before;

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
		before = from->send.nr;
		OTC_EXPECT(bed, !bed->ops->post_write(from->ep, &segment, 1, key, address,
						      SDP_OT_SIGNAL, bed));
		otc_is_down(bed);
		/* siw completes it after it has told that the connection is down */
		otc_wait(bed, from->send.nr == before + 1);
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

const struct otc_check otc_key_checks[] = {
	{ "read", otc_check_read },
	{ "write", otc_check_write },
	{ "write and read of 0 octets", otc_check_no_octets },
	{ "key dropped", otc_check_dropped },
	{ "key dropped when down", otc_check_drop_when_down },
	{ "invalidate", otc_check_invalidate },
	{ "domains", otc_check_domains },
	{}
};
