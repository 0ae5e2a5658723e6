// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Encoding and decoding of SDP messages, docs/sdp-wire.md sections 1, 2 and 14. A table says what
 * each message consists of; sdp_wire_decode() checks the bytes against it. What depends on
 * earlier messages is checked in state.c.
 */
#include <linux/array_size.h>
#include <linux/build_bug.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#include "wire.h"

struct sdp_bsdh {
	u8 mid;
	u8 flags;
	u8 bufs[2];
	u8 len[4];
	u8 mseq[4];
	u8 mseq_ack[4];
};

/* Hello as a whole; the compact one has the name in place of what begins with src */
struct sdp_hello_wire {
	struct sdp_bsdh bsdh;
	u8 version;
	u8 ipv_caps;
	u8 reserved;
	u8 max_adverts;
	u8 want_size[4];
	u8 size[4];
	u8 local_port[2];
	u8 dst_port[2];
	u8 src[16];
	u8 dst[16];
	u8 reserved2[2];
	u8 ext_max_adverts[2];
	u8 name[SDP_NAME_LEN];
	u8 reserved3[16];
};

/* HelloAck; the compact one ends before reserved2 */
struct sdp_hello_ack_wire {
	struct sdp_bsdh bsdh;
	u8 version;
	u8 caps;
	u8 reserved;
	u8 max_adverts;
	u8 size[4];
	u8 name[SDP_NAME_LEN];
	u8 reserved2[164];
};

/* SrcAvail and SinkAvail; SrcAvail ends before non_discards */
struct sdp_avail_wire {
	u8 size[4];
	u8 rkey[4];
	u8 va[8];
	u8 non_discards[4];
};

static_assert(sizeof(struct sdp_bsdh) == SDP_BSDH_LEN);
static_assert(sizeof(struct sdp_hello_wire) == SDP_HELLO_LEN);
static_assert(offsetof(struct sdp_hello_wire, dst_port) == 30);
static_assert(offsetof(struct sdp_hello_wire, src) + SDP_NAME_LEN == SDP_HELLO_COMPACT_LEN);
static_assert(offsetof(struct sdp_hello_wire, ext_max_adverts) == 66);
static_assert(offsetof(struct sdp_hello_wire, name) == 68);
static_assert(sizeof(struct sdp_hello_ack_wire) == SDP_HELLO_ACK_LEN);
static_assert(offsetof(struct sdp_hello_ack_wire, reserved2) == SDP_HELLO_ACK_COMPACT_LEN);
static_assert(sizeof(struct sdp_avail_wire) + SDP_BSDH_LEN == SDP_MSG_HDR_MAX);
static_assert(sizeof(struct sdp_avail_wire) == 20);

#define SDP_VERSION_AT		16	/* offset in Hello and HelloAck */

#define SDP_MODE_SEND_HALF	0x80
#define SDP_MODE_SHIFT		4
#define SDP_MODE_MASK		0x07

/* what follows the BSDH */
enum sdp_extra {
	SDP_EXTRA_NONE,
	SDP_EXTRA_HELLO,
	SDP_EXTRA_HELLO_ACK,
	SDP_EXTRA_BYTES,
	SDP_EXTRA_BUF_SIZE,
	SDP_EXTRA_MODE,
	SDP_EXTRA_SERVICE,
	SDP_EXTRA_SRC,
	SDP_EXTRA_SINK,
};

static const u8 sdp_wire_extra_len[] = {
	[SDP_EXTRA_NONE] = 0,
	[SDP_EXTRA_BYTES] = 4,
	[SDP_EXTRA_BUF_SIZE] = 4,
	[SDP_EXTRA_MODE] = 4,
	[SDP_EXTRA_SERVICE] = 8,
	[SDP_EXTRA_SRC] = offsetof(struct sdp_avail_wire, non_discards),
	[SDP_EXTRA_SINK] = sizeof(struct sdp_avail_wire),
};

/**
 * struct sdp_wire_kind - what a message consists of
 * @known: it is no reserved MID
 * @extra: enum sdp_extra
 * @payload: it may have payload
 */
struct sdp_wire_kind {
	bool known;
	u8 extra;
	bool payload;
};

static const struct sdp_wire_kind sdp_wire_kinds[256] = {
	[SDP_MID_HELLO] = { true, SDP_EXTRA_HELLO },
	[SDP_MID_HELLO_ACK] = { true, SDP_EXTRA_HELLO_ACK },
	[SDP_MID_DISCONN] = { true, SDP_EXTRA_NONE },
	[SDP_MID_ABORT] = { true, SDP_EXTRA_NONE },
	[SDP_MID_SEND_SM] = { true, SDP_EXTRA_NONE },
	[SDP_MID_WRITE_COMPL] = { true, SDP_EXTRA_BYTES },
	[SDP_MID_READ_COMPL] = { true, SDP_EXTRA_BYTES },
	[SDP_MID_MODE_CHANGE] = { true, SDP_EXTRA_MODE },
	[SDP_MID_SRC_CANCEL] = { true, SDP_EXTRA_NONE },
	[SDP_MID_SINK_CANCEL] = { true, SDP_EXTRA_NONE },
	[SDP_MID_SINK_CANCEL_ACK] = { true, SDP_EXTRA_NONE },
	[SDP_MID_CH_RCV_BUF] = { true, SDP_EXTRA_BUF_SIZE },
	[SDP_MID_CH_RCV_BUF_ACK] = { true, SDP_EXTRA_BUF_SIZE },
	[SDP_MID_SUSPEND] = { true, SDP_EXTRA_SERVICE },
	[SDP_MID_SUSPEND_ACK] = { true, SDP_EXTRA_NONE },
	[SDP_MID_SINK_AVAIL] = { true, SDP_EXTRA_SINK, true },
	[SDP_MID_SRC_AVAIL] = { true, SDP_EXTRA_SRC, true },
	[SDP_MID_DATA] = { true, SDP_EXTRA_NONE, true },
};

static const char *const sdp_wire_faults[SDP_FAULTS] = {
	[SDP_OK] = "ok",
	[SDP_FAULT_SHORT] = "short",
	[SDP_FAULT_LENGTH] = "length",
	[SDP_FAULT_MID] = "mid",
	[SDP_FAULT_CARRIER] = "carrier",
	[SDP_FAULT_VERSION] = "version",
	[SDP_FAULT_IPV] = "ipv",
	[SDP_FAULT_PORT] = "port",
	[SDP_FAULT_ADVERTS] = "adverts",
	[SDP_FAULT_BUFS] = "bufs",
	[SDP_FAULT_START] = "start",
	[SDP_FAULT_SIZE] = "size",
	[SDP_FAULT_PAYLOAD] = "payload",
	[SDP_FAULT_MODE] = "mode",
	[SDP_FAULT_OOB] = "oob",
	[SDP_FAULT_NAME] = "name",
	[SDP_FAULT_SEQ] = "seq",
	[SDP_FAULT_ACK] = "ack",
	[SDP_FAULT_CREDIT] = "credit",
	[SDP_FAULT_EARLY] = "early",
	[SDP_FAULT_STATE] = "state",
	[SDP_FAULT_MODE_CHANGE] = "modechange",
	[SDP_FAULT_SRC_MODE] = "src-mode",
	[SDP_FAULT_SRC_LIMIT] = "src-limit",
	[SDP_FAULT_SRC_PAYLOAD] = "src-payload",
	[SDP_FAULT_READ] = "read",
	[SDP_FAULT_SINK_MODE] = "sink-mode",
	[SDP_FAULT_SINK_LIMIT] = "sink-limit",
	[SDP_FAULT_WRITE] = "write",
	[SDP_FAULT_PEND] = "pend",
	[SDP_FAULT_RCV_BUF] = "rcvbuf",
};

/**
 * sdp_wire_fault_name() - name of a fault, as counters show it
 * @fault: any value
 *
 * Return: the name, never NULL.
 */
const char *sdp_wire_fault_name(enum sdp_fault fault)
{
	return (u32)fault < SDP_FAULTS ? sdp_wire_faults[fault] : "unknown";
}

static u32 sdp_wire_hello_len(u8 extra, bool compact)
{
	if (extra == SDP_EXTRA_HELLO)
		return compact ? SDP_HELLO_COMPACT_LEN : SDP_HELLO_LEN;
	return compact ? SDP_HELLO_ACK_COMPACT_LEN : SDP_HELLO_ACK_LEN;
}

static bool sdp_wire_is_hello(u8 extra)
{
	return extra == SDP_EXTRA_HELLO || extra == SDP_EXTRA_HELLO_ACK;
}

/**
 * sdp_wire_hdr_len() - bytes of a message before its payload
 * @msg: @msg->mid is not reserved
 *
 * Return: the length that sdp_wire_encode() will return.
 */
u32 sdp_wire_hdr_len(const struct sdp_msg *msg)
{
	const u8 extra = sdp_wire_kinds[msg->mid].extra;

	if (sdp_wire_is_hello(extra))
		return sdp_wire_hello_len(extra, msg->hello.compact);
	return SDP_BSDH_LEN + sdp_wire_extra_len[extra];
}

/* an IPv4 address is the last four bytes, behind zeroes */
static bool sdp_wire_address_fits(const u8 address[16], u8 ipv)
{
	static const u8 zeroes[12];

	return ipv == 6 || !memcmp(address, zeroes, sizeof(zeroes));
}

/* what Hello and HelloAck have in common */
static enum sdp_fault sdp_wire_check_hello(const struct sdp_msg *msg)
{
	if (msg->flags || msg->mseq || msg->mseq_ack)
		return SDP_FAULT_START;
	if (msg->bufs < SDP_BUFS_MIN)
		return SDP_FAULT_BUFS;
	if (!msg->hello.max_adverts)
		return SDP_FAULT_ADVERTS;
	if (msg->hello.size < SDP_BUF_MIN)
		return SDP_FAULT_SIZE;
	return SDP_OK;
}

static enum sdp_fault sdp_wire_get_hello(const u8 *p, struct sdp_msg *msg)
{
	const struct sdp_hello_wire *w = (const void *)p;
	struct sdp_hello *h = &msg->hello;
	enum sdp_fault fault;

	h->version = w->version;
	h->ipv = w->ipv_caps >> 4;
	h->caps = w->ipv_caps & (SDP_CAP_INVALIDATE | SDP_CAP_EXT_ADVERTS);
	h->max_adverts = w->max_adverts;
	h->want_size = get_unaligned_be32(w->want_size);
	h->size = get_unaligned_be32(w->size);
	h->local_port = get_unaligned_be16(w->local_port);
	h->dst_port = get_unaligned_be16(w->dst_port);
	memcpy(h->name, h->compact ? w->src : w->name, sizeof(h->name));
	if (!h->compact) {
		memcpy(h->src, w->src, sizeof(h->src));
		memcpy(h->dst, w->dst, sizeof(h->dst));
		if (h->max_adverts && h->caps & SDP_CAP_EXT_ADVERTS)
			h->max_adverts = get_unaligned_be16(w->ext_max_adverts);
	}
	fault = sdp_wire_check_hello(msg);
	if (fault)
		return fault;
	if (h->compact && h->caps & SDP_CAP_EXT_ADVERTS)
		return SDP_FAULT_ADVERTS;
	if (h->want_size < SDP_BUF_MIN)
		return SDP_FAULT_SIZE;
	if (h->ipv != 4 && h->ipv != 6)
		return SDP_FAULT_IPV;
	if (!h->compact && (!sdp_wire_address_fits(h->src, h->ipv) ||
			    !sdp_wire_address_fits(h->dst, h->ipv)))
		return SDP_FAULT_IPV;
	return h->local_port && h->dst_port ? SDP_OK : SDP_FAULT_PORT;
}

static enum sdp_fault sdp_wire_get_hello_ack(const u8 *p, struct sdp_msg *msg)
{
	const struct sdp_hello_ack_wire *w = (const void *)p;
	struct sdp_hello *h = &msg->hello;

	h->version = w->version;
	h->caps = w->caps & SDP_CAP_INVALIDATE;
	h->max_adverts = w->max_adverts;
	h->size = get_unaligned_be32(w->size);
	memcpy(h->name, w->name, sizeof(h->name));
	return sdp_wire_check_hello(msg);
}

static void sdp_wire_get_avail(const u8 *p, bool sink, struct sdp_avail *avail)
{
	const struct sdp_avail_wire *w = (const void *)p;

	avail->size = get_unaligned_be32(w->size);
	avail->rkey = get_unaligned_be32(w->rkey);
	avail->va = get_unaligned_be64(w->va);
	avail->non_discards = sink ? get_unaligned_be32(w->non_discards) : 0;
}

/* the extra header of a message that travels in a Send, at @p */
static enum sdp_fault sdp_wire_get_extra(const u8 *p, u8 extra, struct sdp_msg *msg)
{
	switch (extra) {
	case SDP_EXTRA_BYTES:
		msg->bytes = get_unaligned_be32(p);
		return msg->bytes ? SDP_OK : SDP_FAULT_SIZE;
	case SDP_EXTRA_BUF_SIZE:
		msg->bytes = get_unaligned_be32(p);
		return msg->bytes >= SDP_BUF_MIN ? SDP_OK : SDP_FAULT_SIZE;
	case SDP_EXTRA_MODE:
		msg->change.send_half = *p & SDP_MODE_SEND_HALF;
		msg->change.mode = *p >> SDP_MODE_SHIFT & SDP_MODE_MASK;
		return msg->change.mode < SDP_MODES ? SDP_OK : SDP_FAULT_MODE;
	case SDP_EXTRA_SERVICE:
		msg->service = get_unaligned_be64(p);
		return SDP_OK;
	case SDP_EXTRA_SRC:
		sdp_wire_get_avail(p, false, &msg->avail);
		if (!msg->avail.size)
			return SDP_FAULT_SIZE;
		/* the sink reads at least one byte */
		return msg->payload_len < msg->avail.size ? SDP_OK : SDP_FAULT_PAYLOAD;
	case SDP_EXTRA_SINK:
		sdp_wire_get_avail(p, true, &msg->avail);
		return msg->avail.size ? SDP_OK : SDP_FAULT_SIZE;
	default:
		return SDP_OK;
	}
}

/*
 * Hello and HelloAck: one of two lengths, perhaps with padding of the transport behind it. The
 * version comes first: other ones have other lengths.
 */
static enum sdp_fault sdp_wire_decode_hello(const u8 *p, u32 n, u32 len, u8 extra,
					    struct sdp_msg *msg)
{
	if (n <= SDP_VERSION_AT)
		return SDP_FAULT_LENGTH;
	if (p[SDP_VERSION_AT] >> 4 != SDP_VERSION_MAJOR)
		return SDP_FAULT_VERSION;
	msg->hello.compact = len == sdp_wire_hello_len(extra, true);
	if (len > n || len != sdp_wire_hello_len(extra, msg->hello.compact))
		return SDP_FAULT_LENGTH;
	msg->hdr_len = len;
	return extra == SDP_EXTRA_HELLO ? sdp_wire_get_hello(p, msg) :
					  sdp_wire_get_hello_ack(p, msg);
}

static bool sdp_wire_carries(enum sdp_carrier carrier, u8 mid)
{
	switch (carrier) {
	case SDP_IN_REQUEST:
		return mid == SDP_MID_HELLO;
	case SDP_IN_ANSWER:
		return mid == SDP_MID_HELLO_ACK;
	default:
		return mid != SDP_MID_HELLO && mid != SDP_MID_HELLO_ACK;
	}
}

/**
 * sdp_wire_decode() - decode and check a message
 * @p: its bytes; payload is neither read nor copied
 * @n: bytes that arrived
 * @carrier: how they arrived
 * @msg: filled; the BSDH's fields also after a fault other than SDP_FAULT_SHORT
 *
 * Return: SDP_OK, or a fault between SDP_FAULT_SHORT and SDP_FAULT_OOB.
 */
enum sdp_fault sdp_wire_decode(const u8 *p, u32 n, enum sdp_carrier carrier, struct sdp_msg *msg)
{
	const struct sdp_bsdh *w = (const void *)p;
	const struct sdp_wire_kind *kind;
	enum sdp_fault fault;
	u32 len;

	memset(msg, 0, sizeof(*msg));
	if (n < SDP_BSDH_LEN)
		return SDP_FAULT_SHORT;
	msg->mid = w->mid;
	msg->flags = w->flags & SDP_FLAGS;
	msg->bufs = get_unaligned_be16(w->bufs);
	len = get_unaligned_be32(w->len);
	msg->mseq = get_unaligned_be32(w->mseq);
	msg->mseq_ack = get_unaligned_be32(w->mseq_ack);

	kind = &sdp_wire_kinds[w->mid];
	if (!kind->known)
		return SDP_FAULT_MID;
	if (!sdp_wire_carries(carrier, w->mid))
		return SDP_FAULT_CARRIER;
	if (sdp_wire_is_hello(kind->extra))
		return sdp_wire_decode_hello(p, n, len, kind->extra, msg);

	if (len != n)
		return SDP_FAULT_LENGTH;
	msg->hdr_len = SDP_BSDH_LEN + sdp_wire_extra_len[kind->extra];
	if (n < msg->hdr_len)
		return SDP_FAULT_SHORT;
	msg->payload_len = n - msg->hdr_len;
	if (msg->payload_len && !kind->payload)
		return SDP_FAULT_PAYLOAD;
	fault = sdp_wire_get_extra(p + SDP_BSDH_LEN, kind->extra, msg);
	if (fault)
		return fault;
	if (msg->flags & SDP_FLAG_OOB_PRES &&
	    (!msg->payload_len || msg->mid == SDP_MID_SRC_AVAIL))
		return SDP_FAULT_OOB;
	return SDP_OK;
}

static void sdp_wire_put_hello(const struct sdp_hello *h, u8 *p)
{
	struct sdp_hello_wire *w = (void *)p;
	const bool extended = h->max_adverts > 0xff || h->caps & SDP_CAP_EXT_ADVERTS;

	w->version = h->version;
	w->ipv_caps = h->ipv << 4 | (h->caps & SDP_CAP_INVALIDATE);
	w->max_adverts = h->max_adverts > 0xff ? 0xff : h->max_adverts;
	put_unaligned_be32(h->want_size, w->want_size);
	put_unaligned_be32(h->size, w->size);
	put_unaligned_be16(h->local_port, w->local_port);
	put_unaligned_be16(h->dst_port, w->dst_port);
	memcpy(h->compact ? w->src : w->name, h->name, sizeof(h->name));
	if (h->compact)
		return;
	memcpy(w->src, h->src, sizeof(w->src));
	memcpy(w->dst, h->dst, sizeof(w->dst));
	if (extended) {
		w->ipv_caps |= SDP_CAP_EXT_ADVERTS;
		put_unaligned_be16(h->max_adverts, w->ext_max_adverts);
	}
}

static void sdp_wire_put_hello_ack(const struct sdp_hello *h, u8 *p)
{
	struct sdp_hello_ack_wire *w = (void *)p;

	w->version = h->version;
	w->caps = h->caps & SDP_CAP_INVALIDATE;
	w->max_adverts = h->max_adverts > 0xff ? 0xff : h->max_adverts;
	put_unaligned_be32(h->size, w->size);
	memcpy(w->name, h->name, sizeof(w->name));
}

static void sdp_wire_put_avail(const struct sdp_avail *avail, bool sink, u8 *p)
{
	struct sdp_avail_wire *w = (void *)p;

	put_unaligned_be32(avail->size, w->size);
	put_unaligned_be32(avail->rkey, w->rkey);
	put_unaligned_be64(avail->va, w->va);
	if (sink)
		put_unaligned_be32(avail->non_discards, w->non_discards);
}

static void sdp_wire_put_extra(const struct sdp_msg *msg, u8 extra, u8 *p)
{
	switch (extra) {
	case SDP_EXTRA_BYTES:
	case SDP_EXTRA_BUF_SIZE:
		put_unaligned_be32(msg->bytes, p);
		break;
	case SDP_EXTRA_MODE:
		*p = (msg->change.send_half ? SDP_MODE_SEND_HALF : 0) |
		     msg->change.mode << SDP_MODE_SHIFT;
		break;
	case SDP_EXTRA_SERVICE:
		put_unaligned_be64(msg->service, p);
		break;
	case SDP_EXTRA_SRC:
	case SDP_EXTRA_SINK:
		sdp_wire_put_avail(&msg->avail, extra == SDP_EXTRA_SINK, p);
		break;
	}
}

/**
 * sdp_wire_encode() - encode the headers of a message
 * @msg: the message; @msg->hdr_len is not used
 * @out: destination; SDP_MSG_HDR_MAX bytes are enough for a message that travels in a Send
 *
 * ExtMaxAdverts is used where MaxAdverts is too small, in the full Hello.
 *
 * Return: bytes of the headers. @msg->payload_len bytes of payload belong behind them.
 */
u32 sdp_wire_encode(const struct sdp_msg *msg, u8 out[SDP_HDR_MAX])
{
	const u8 extra = sdp_wire_kinds[msg->mid].extra;
	const u32 len = sdp_wire_hdr_len(msg);
	struct sdp_bsdh *w = (void *)out;

	memset(out, 0, len);
	w->mid = msg->mid;
	w->flags = msg->flags;
	put_unaligned_be16(msg->bufs, w->bufs);
	put_unaligned_be32(len + msg->payload_len, w->len);
	put_unaligned_be32(msg->mseq, w->mseq);
	put_unaligned_be32(msg->mseq_ack, w->mseq_ack);
	if (extra == SDP_EXTRA_HELLO)
		sdp_wire_put_hello(&msg->hello, out);
	else if (extra == SDP_EXTRA_HELLO_ACK)
		sdp_wire_put_hello_ack(&msg->hello, out);
	else
		sdp_wire_put_extra(msg, extra, out + SDP_BSDH_LEN);
	return len;
}

/**
 * sdp_wire_solicited() - does a message ask for a solicited event?
 * @msg: message
 *
 * Those do for which a program may be waiting: not Data, and not what only changes parameters.
 */
bool sdp_wire_solicited(const struct sdp_msg *msg)
{
	if (msg->flags & (SDP_FLAG_OOB_PRES | SDP_FLAG_OOB_PEND))
		return true;
	switch (msg->mid) {
	case SDP_MID_DISCONN:
	case SDP_MID_ABORT:
	case SDP_MID_SEND_SM:
	case SDP_MID_WRITE_COMPL:
	case SDP_MID_READ_COMPL:
	case SDP_MID_SRC_CANCEL:
	case SDP_MID_SINK_CANCEL:
	case SDP_MID_SINK_CANCEL_ACK:
	case SDP_MID_SINK_AVAIL:
	case SDP_MID_SRC_AVAIL:
		return true;
	default:
		return false;
	}
}

/**
 * sdp_wire_put_refusal() - the private data of a refusal
 * @reason: enum sdp_refusal
 * @out: filled
 */
void sdp_wire_put_refusal(enum sdp_refusal reason, u8 out[SDP_REFUSAL_LEN])
{
	memset(out, 0, SDP_REFUSAL_LEN);
	out[0] = SDP_VERSION;
	out[1] = reason;
}

/**
 * sdp_wire_refusal() - read the private data of a refusal
 * @p: private data, may be NULL if @n is 0
 * @n: its bytes
 *
 * Version 2 has the same form.
 *
 * Return: the reason; SDP_REFUSED_UNKNOWN for anything else.
 */
enum sdp_refusal sdp_wire_refusal(const u8 *p, u32 n)
{
	if (n < SDP_REFUSAL_LEN || (p[0] >> 4 != 2 && p[0] >> 4 != SDP_VERSION_MAJOR) ||
	    p[1] < SDP_REFUSED_UNKNOWN || p[1] > SDP_REFUSED_RESOURCES)
		return SDP_REFUSED_UNKNOWN;
	return p[1];
}

/**
 * sdp_wire_fault_refusal() - how a Hello with a fault is refused
 * @fault: of sdp_wire_decode()
 *
 * Return: the reason.
 */
enum sdp_refusal sdp_wire_fault_refusal(enum sdp_fault fault)
{
	return fault == SDP_FAULT_VERSION ? SDP_REFUSED_VERSION : SDP_REFUSED_MALFORMED;
}
