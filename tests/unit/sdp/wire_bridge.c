// SPDX-License-Identifier: GPL-2.0 OR MIT
/* See wire_bridge.h. */
#include <string.h>

#include "../../../sdp/state/wire.h"
#include "wire_bridge.h"

static void bridge_from_hello(const struct sdp_hello *h, struct bridge_msg *out)
{
	out->compact = h->compact;
	out->version = h->version;
	out->ipv = h->ipv;
	out->caps = h->caps;
	out->max_adverts = h->max_adverts;
	out->want_size = h->want_size;
	out->size = h->size;
	out->local_port = h->local_port;
	out->dst_port = h->dst_port;
	memcpy(out->name, h->name, sizeof(h->name));
	memcpy(out->src, h->src, sizeof(h->src));
	memcpy(out->dst, h->dst, sizeof(h->dst));
}

static void bridge_to_hello(const struct bridge_msg *in, struct sdp_hello *h)
{
	*h = (struct sdp_hello){
		.compact = in->compact,
		.version = in->version,
		.ipv = in->ipv,
		.caps = in->caps,
		.max_adverts = in->max_adverts,
		.want_size = in->want_size,
		.size = in->size,
		.local_port = in->local_port,
		.dst_port = in->dst_port,
	};
	memcpy(h->name, in->name, sizeof(h->name));
	memcpy(h->src, in->src, sizeof(h->src));
	memcpy(h->dst, in->dst, sizeof(h->dst));
}

static void bridge_from(const struct sdp_msg *msg, struct bridge_msg *out)
{
	memset(out, 0, sizeof(*out));
	out->mid = msg->mid;
	out->flags = msg->flags;
	out->bufs = msg->bufs;
	out->hdr_len = msg->hdr_len;
	out->payload_len = msg->payload_len;
	out->mseq = msg->mseq;
	out->mseq_ack = msg->mseq_ack;
	switch (msg->mid) {
	case SDP_MID_HELLO:
	case SDP_MID_HELLO_ACK:
		bridge_from_hello(&msg->hello, out);
		break;
	case SDP_MID_SRC_AVAIL:
	case SDP_MID_SINK_AVAIL:
		out->value = msg->avail.size;
		out->rkey = msg->avail.rkey;
		out->va = msg->avail.va;
		out->non_discards = msg->avail.non_discards;
		break;
	case SDP_MID_MODE_CHANGE:
		out->send_half = msg->change.send_half;
		out->mode = msg->change.mode;
		break;
	case SDP_MID_SUSPEND:
		out->va = msg->service;
		break;
	default:
		out->value = msg->bytes;
		break;
	}
}

const char *bridge_decode(const uint8_t *p, uint32_t n, int carrier, struct bridge_msg *out)
{
	enum sdp_fault fault;
	struct sdp_msg msg;

	fault = sdp_wire_decode(p, n, carrier, &msg);
	bridge_from(&msg, out);
	return sdp_wire_fault_name(fault);
}

uint32_t bridge_encode(const struct bridge_msg *in, uint8_t *out)
{
	struct sdp_msg msg = {
		.mid = in->mid,
		.flags = in->flags,
		.bufs = in->bufs,
		.payload_len = in->payload_len,
		.mseq = in->mseq,
		.mseq_ack = in->mseq_ack,
	};

	switch (in->mid) {
	case SDP_MID_HELLO:
	case SDP_MID_HELLO_ACK:
		bridge_to_hello(in, &msg.hello);
		break;
	case SDP_MID_SRC_AVAIL:
	case SDP_MID_SINK_AVAIL:
		msg.avail.size = in->value;
		msg.avail.rkey = in->rkey;
		msg.avail.va = in->va;
		msg.avail.non_discards = in->non_discards;
		break;
	case SDP_MID_MODE_CHANGE:
		msg.change.send_half = in->send_half;
		msg.change.mode = in->mode;
		break;
	case SDP_MID_SUSPEND:
		msg.service = in->va;
		break;
	default:
		msg.bytes = in->value;
		break;
	}
	return sdp_wire_encode(&msg, out);
}
