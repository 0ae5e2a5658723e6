// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * libFuzzer's target for the messages of the Sockets Direct Protocol. The first byte of an input
 * says how the rest travels. What sdp/state/wire.c accepts must obey docs/sdp-wire.md and must read back
 * as the same when it is encoded again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/unaligned.h>

#include "sdp/state/wire.h"
#include "must.h"

static void check_hello(const struct sdp_msg *msg, u32 n)
{
	const struct sdp_hello *h = &msg->hello;

	must(msg->hdr_len <= n && !msg->payload_len);
	must(!msg->mseq && !msg->mseq_ack && !msg->flags);
	must(msg->bufs >= SDP_BUFS_MIN && h->max_adverts && h->size >= SDP_BUF_MIN);
	must(h->version >> 4 == SDP_VERSION_MAJOR);
	if (msg->mid == SDP_MID_HELLO) {
		must(msg->hdr_len == (h->compact ? SDP_HELLO_COMPACT_LEN : SDP_HELLO_LEN));
		must(h->local_port && h->dst_port && (h->ipv == 4 || h->ipv == 6));
		must(h->want_size >= SDP_BUF_MIN);
	} else {
		must(msg->hdr_len == (h->compact ? SDP_HELLO_ACK_COMPACT_LEN : SDP_HELLO_ACK_LEN));
	}
}

static void check_send(const struct sdp_msg *msg, u32 n)
{
	must(msg->hdr_len + msg->payload_len == n && msg->hdr_len <= SDP_MSG_HDR_MAX);
	must(!msg->payload_len || msg->mid >= SDP_MID_SINK_AVAIL);
	if (msg->flags & SDP_FLAG_OOB_PRES)
		must(msg->payload_len && msg->mid != SDP_MID_SRC_AVAIL);
	switch (msg->mid) {
	case SDP_MID_WRITE_COMPL:
	case SDP_MID_READ_COMPL:
		must(msg->bytes);
		break;
	case SDP_MID_CH_RCV_BUF:
	case SDP_MID_CH_RCV_BUF_ACK:
		must(msg->bytes >= SDP_BUF_MIN);
		break;
	case SDP_MID_MODE_CHANGE:
		must(msg->change.mode < SDP_MODES);
		break;
	case SDP_MID_SRC_AVAIL:
		must(msg->avail.size > msg->payload_len);
		break;
	case SDP_MID_SINK_AVAIL:
		must(msg->avail.size);
		break;
	}
}

/* encoding and decoding again gives the same bytes */
static void check_again(const struct sdp_msg *msg, const u8 *p, u32 n, enum sdp_carrier carrier)
{
	u8 out[SDP_HDR_MAX], twice[SDP_HDR_MAX];
	struct sdp_msg again;
	u8 *whole;
	u32 hdr;

	hdr = sdp_wire_encode(msg, out);
	must(hdr == msg->hdr_len && hdr == sdp_wire_hdr_len(msg));
	whole = malloc(hdr + msg->payload_len);
	memcpy(whole, out, hdr);
	memcpy(whole + hdr, p + hdr, msg->payload_len);
	must(sdp_wire_decode(whole, hdr + msg->payload_len, carrier, &again) == SDP_OK);
	must(sdp_wire_encode(&again, twice) == hdr && !memcmp(out, twice, hdr));
	/* nothing but reserved bits, all of which are 0 now, may differ; these fields have none */
	must(out[0] == p[0] && !memcmp(out + 2, p + 2, SDP_BSDH_LEN - 2));
	free(whole);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	enum sdp_carrier carrier;
	enum sdp_fault fault;
	struct sdp_msg msg;
	u32 n;
	u8 *p;

	if (!size)
		return 0;
	carrier = data[0] % 3;
	n = size - 1;
	/* of the exact size, so that AddressSanitizer finds an access beyond */
	p = malloc(n);
	if (n)
		memcpy(p, data + 1, n);
	fault = sdp_wire_decode(p, n, carrier, &msg);
	must(fault <= SDP_FAULT_OOB);
	if (!fault) {
		if (carrier == SDP_IN_SEND)
			check_send(&msg, n);
		else
			check_hello(&msg, n);
		check_again(&msg, p, n, carrier);
	}
	must(sdp_wire_refusal(p, n) >= SDP_REFUSED_UNKNOWN &&
	     sdp_wire_refusal(p, n) <= SDP_REFUSED_RESOURCES);
	free(p);
	return 0;
}
