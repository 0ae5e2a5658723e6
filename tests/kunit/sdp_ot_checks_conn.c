// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Checks of sdp/ot/ot.h: devices, pools, connections from their begin to their end, removal. */
#include <linux/err.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "sdp_ot_bed.h"

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

const struct otc_check otc_device_checks[] = {
	{ "device", otc_check_device },
	{ "route", otc_check_route },
	{ "pools", otc_check_pools },
	{}
};

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

/* The peer's answer bounds the own Reads. Some drivers allow more than their user has said. */
static void otc_check_reads(struct otc_bed *bed)
{
	const u16 most = bed->devices[1]->caps & SDP_OT_CAP_ADOPTED ? 2 : 1;
	struct otc_side *side = bed->sides;

	side[0].reads_in = 2;
	side[1].reads_in = 1;
	if (!otc_connected(bed))
		return;
	OTC_EXPECT(bed, side[0].ep->reads_out >= 1 && side[0].ep->reads_out <= most);
	OTC_EXPECT(bed, side[1].ep->reads_out >= 1 && side[1].ep->reads_out <= 2);
}

static void otc_check_too_long(struct otc_bed *bed)
{
	u8 *data = kzalloc(4096, GFP_KERNEL);
	struct otc_asked *asked;

	if (!OTC_EXPECT(bed, data) || !otc_side(bed, 0, SDP_OT_CQ_DIRECT) ||
	    !otc_side(bed, 1, SDP_OT_CQ_DIRECT))
		goto out;
	OTC_EXPECT(bed, otc_connect(bed, data, bed->devices[0]->request_len + 1) == -EMSGSIZE);
	asked = otc_listen(bed, 0, 0);
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
	asked = otc_listen(bed, 0, 0);
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

static bool otc_ask_again(struct otc_bed *bed, const char *data)
{
	struct otc_side *side = &bed->sides[0];

	otc_ep_destroy(side);
	memset(side->told, 0, sizeof(side->told));
	side->data_len = 0;
	return otc_ep(side) && OTC_EXPECT(bed, !otc_connect(bed, data, strlen(data)));
}

/* One listener at a port, and another one when it has gone */
static void otc_check_port_taken(struct otc_bed *bed)
{
	struct otc_side *side = &bed->sides[0];
	struct otc_asked *first, *second;

	if (!otc_side(bed, 0, SDP_OT_CQ_DIRECT))
		return;
	first = otc_listen(bed, 0, 0);
	otc_listen(bed, 1, -EADDRINUSE);
	if (!first || !OTC_EXPECT(bed, !otc_connect(bed, "alpha", 5)) ||
	    !otc_wait(bed, first->nr == 1))
		return;
	bed->ops->reject(first->request, NULL, 0);
	first->request = NULL;
	otc_wait(bed, side->told[SDP_OT_REFUSED] == 1);
	otc_unlisten(bed, first);
	/* nobody wants it */
	if (!otc_ask_again(bed, "beta") || !otc_wait(bed, side->told[SDP_OT_REFUSED] == 1))
		return;
	OTC_EXPECT(bed, !side->data_len);
	second = otc_listen(bed, 1, 0);
	if (!second || !otc_ask_again(bed, "gamma") || !otc_wait(bed, second->nr == 1))
		return;
	bed->ops->reject(second->request, NULL, 0);
	second->request = NULL;
	otc_wait(bed, side->told[SDP_OT_REFUSED] == 1);
	OTC_EXPECT(bed, first->nr == 1);
}

/* A listener is destroyed; the request that has arrived stays. */
static void otc_check_listener_goes(struct otc_bed *bed)
{
	struct otc_asked *asked;

	if (!otc_side(bed, 0, SDP_OT_CQ_DIRECT) || !otc_side(bed, 1, SDP_OT_CQ_DIRECT))
		return;
	asked = otc_listen(bed, 0, 0);
	if (!asked || !OTC_EXPECT(bed, !otc_connect(bed, "hello", 5)) ||
	    !otc_wait(bed, asked->nr == 1))
		return;
	otc_unlisten(bed, asked);
	otc_accept(bed, asked, "ack", 3);
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
	asked = otc_listen(bed, 0, 0);
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
	struct sdp_ot_cq *cq;
	unsigned int tries;
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
	/* connections may end before the device does */
	cq = bed->ops->cq_create(side[1].device, &side[1].send.cq->attr);
	for (tries = 0; tries < 1000 && !IS_ERR(cq); tries++) {
		bed->ops->cq_destroy(cq);
		otc_pause(bed);
		cq = bed->ops->cq_create(side[1].device, &side[1].send.cq->attr);
	}
	OTC_EXPECT(bed, PTR_ERR(cq) == -ENODEV);
	OTC_EXPECT(bed, PTR_ERR(bed->ops->ep_create(side[1].device, &side[1].ep->attr)) ==
		   -ENODEV);
	OTC_EXPECT(bed, side[1].recv.nr == 16 && asked->nr == 1);
	otc_end(bed);
}

static void otc_check_removal(struct otc_bed *bed)
{
	if (bed->remove)
		otc_removal(bed, NULL);
}

const struct otc_check otc_conn_checks[] = {
	{ "connect", otc_check_connect },
	{ "reads are negotiated", otc_check_reads },
	{ "private data too long", otc_check_too_long },
	{ "refused", otc_check_refused },
	{ "nobody listens", otc_check_nobody },
	{ "port taken", otc_check_port_taken },
	{ "listener goes", otc_check_listener_goes },
	{ "graceful end", otc_check_graceful },
	{ "abrupt end", otc_check_abrupt },
	{ "destroy", otc_check_destroy },
	{ "attempt given up", otc_check_give_up },
	{ "wrong key", otc_check_wrong_key },
	{ "removal", otc_check_removal },
	{}
};
