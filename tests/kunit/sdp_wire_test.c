// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * SDP messages: vectors written by hand from docs/sdp-wire.md, the faults of each kind, and random
 * bytes, which must not be read beyond their end.
 */
#include <linux/array_size.h>
#include <linux/string.h>
#include <linux/types.h>

#include "../../sdp/state/wire.h"
#include "ktest.h"
#include "vectors.h"

#define ROUNDS	20000
#define LONGEST	(SDP_HDR_MAX + 8)	/* of random bytes */
#define ROOM	256	/* bytes of the longest vector, rounded up */

struct message {
	const char *name;
	enum sdp_carrier carrier;
	struct sdp_msg msg;
	const char *hex;
};

#define IPV4(last)	{ 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 77, 0, last }

#define NAME		{ 1, 2, 3, 4, 5, 6, 7, 8 }

#define IPV6(last)	{ 0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last }

static const struct message messages[] = {
	{
		"full Hello", SDP_IN_REQUEST,
		{
			.mid = SDP_MID_HELLO, .bufs = 64,
			.hello = {
				.version = 0x30, .ipv = 4, .caps = SDP_CAP_INVALIDATE,
				.max_adverts = 8, .want_size = 0x10000, .size = 0x8000,
				.local_port = 0xc001, .dst_port = 0x1f90,
				.src = IPV4(1), .dst = IPV4(2), .name = NAME,
			},
		},
		"00000040 0000005c 00000000 00000000 30410008 00010000 00008000 c0011f90 +12 0a4d0001 +12 0a4d0002 +4 0102030405060708 +16",
	}, {
		"full Hello, IPv6, ExtMaxAdverts", SDP_IN_REQUEST,
		{
			.mid = SDP_MID_HELLO, .bufs = 4,
			.hello = {
				.version = 0x30, .ipv = 6, .caps = SDP_CAP_EXT_ADVERTS,
				.max_adverts = 300, .want_size = 256, .size = 256,
				.local_port = 1, .dst_port = 2,
				.src = IPV6(1), .dst = IPV6(2), .name = NAME,
			},
		},
		"00000004 0000005c 00000000 00000000 306200ff 00000100 00000100 00010002 20010db8 +11 01 20010db8 +11 02 0000012c 0102030405060708 +16",
	}, {
		"compact Hello", SDP_IN_REQUEST,
		{
			.mid = SDP_MID_HELLO, .bufs = 3,
			.hello = {
				.compact = true, .version = 0x30, .ipv = 4, .max_adverts = 1,
				.want_size = 4096, .size = 8192, .local_port = 5, .dst_port = 6,
				.name = NAME,
			},
		},
		"00000003 00000028 00000000 00000000 30400001 00001000 00002000 00050006 0102030405060708",
	}, {
		"HelloAck", SDP_IN_ANSWER,
		{
			.mid = SDP_MID_HELLO_ACK, .bufs = 16,
			.hello = { .version = 0x30, .max_adverts = 4, .size = 4096, .name = NAME },
		},
		"01000010 000000c4 00000000 00000000 30000004 00001000 0102030405060708 +164",
	}, {
		"compact HelloAck", SDP_IN_ANSWER,
		{
			.mid = SDP_MID_HELLO_ACK, .bufs = 16,
			.hello = {
				.compact = true, .version = 0x30, .caps = SDP_CAP_INVALIDATE,
				.max_adverts = 4, .size = 4096, .name = NAME,
			},
		},
		"01000010 00000020 00000000 00000000 30010004 00001000 0102030405060708",
	},
	{ "DisConn", SDP_IN_SEND, { .mid = SDP_MID_DISCONN, .bufs = 2, .mseq = 9, .mseq_ack = 8 },
	  "02000002 00000010 00000009 00000008" },
	{ "AbortConn", SDP_IN_SEND, { .mid = SDP_MID_ABORT, .mseq = 1 },
	  "03000000 00000010 00000001 00000000" },
	{ "SendSm", SDP_IN_SEND, { .mid = SDP_MID_SEND_SM, .bufs = 0xffff, .mseq = ~0 },
	  "0400ffff 00000010 ffffffff 00000000" },
	{ "RdmaWrCompl", SDP_IN_SEND, { .mid = SDP_MID_WRITE_COMPL, .bytes = 0x12345678 },
	  "05000000 00000014 00000000 00000000 12345678" },
	{ "RdmaRdCompl", SDP_IN_SEND,
	  { .mid = SDP_MID_READ_COMPL, .flags = SDP_FLAG_REQ_PIPE, .bytes = 1 },
	  "06040000 00000014 00000000 00000000 00000001" },
	{ "ModeChange, source", SDP_IN_SEND,
	  { .mid = SDP_MID_MODE_CHANGE, .change = { false, SDP_MODE_PIPELINED } },
	  "07000000 00000014 00000000 00000000 20000000" },
	{ "ModeChange, sink", SDP_IN_SEND,
	  { .mid = SDP_MID_MODE_CHANGE, .change = { true, SDP_MODE_COMBINED } },
	  "07000000 00000014 00000000 00000000 90000000" },
	{ "SrcAvailCancel", SDP_IN_SEND, { .mid = SDP_MID_SRC_CANCEL },
	  "08000000 00000010 00000000 00000000" },
	{ "SinkAvailCancel", SDP_IN_SEND, { .mid = SDP_MID_SINK_CANCEL },
	  "09000000 00000010 00000000 00000000" },
	{ "SinkCancelAck", SDP_IN_SEND, { .mid = SDP_MID_SINK_CANCEL_ACK },
	  "0a000000 00000010 00000000 00000000" },
	{ "ChRcvBuf", SDP_IN_SEND, { .mid = SDP_MID_CH_RCV_BUF, .bytes = 65536 },
	  "0b000000 00000014 00000000 00000000 00010000" },
	{ "ChRcvBufAck", SDP_IN_SEND, { .mid = SDP_MID_CH_RCV_BUF_ACK, .bytes = 256 },
	  "0c000000 00000014 00000000 00000000 00000100" },
	{ "SuspComm", SDP_IN_SEND, { .mid = SDP_MID_SUSPEND, .service = 0x1122334455667788 },
	  "0d000000 00000018 00000000 00000000 1122334455667788" },
	{ "SuspCommAck", SDP_IN_SEND, { .mid = SDP_MID_SUSPEND_ACK },
	  "0e000000 00000010 00000000 00000000" },
	{ "SinkAvail", SDP_IN_SEND,
	  { .mid = SDP_MID_SINK_AVAIL, .avail = { 4096, 0xabcd, 0x1000000000000001, 77 } },
	  "fd000000 00000024 00000000 00000000 00001000 0000abcd 1000000000000001 0000004d" },
	{ "Transaction", SDP_IN_SEND,
	  { .mid = SDP_MID_SINK_AVAIL, .flags = SDP_FLAG_OOB_PRES | SDP_FLAG_OOB_PEND,
	    .payload_len = 2, .avail = { 4096, 1, 2, 3 } },
	  "fd030000 00000026 00000000 00000000 00001000 00000001 0000000000000002 00000003 6869" },
	{ "SrcAvail, combined", SDP_IN_SEND,
	  { .mid = SDP_MID_SRC_AVAIL, .payload_len = 1, .avail = { 2, 0xffffffff, 3 } },
	  "fe000000 00000021 00000000 00000000 00000002 ffffffff 0000000000000003 68" },
	{ "SrcAvail, pipelined", SDP_IN_SEND,
	  { .mid = SDP_MID_SRC_AVAIL, .avail = { 1, 2, 3 } },
	  "fe000000 00000020 00000000 00000000 00000001 00000002 0000000000000003" },
	{ "Data", SDP_IN_SEND,
	  { .mid = SDP_MID_DATA, .flags = SDP_FLAG_OOB_PRES, .bufs = 1, .payload_len = 3,
	    .mseq = 0x01020304, .mseq_ack = 0x05060708 },
	  "ff010001 00000013 01020304 05060708 616263" },
	{ "credit update", SDP_IN_SEND,
	  { .mid = SDP_MID_DATA, .flags = SDP_FLAG_OOB_PEND, .bufs = 7 },
	  "ff020007 00000010 00000000 00000000" },
};

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* bytes of a vector; "+n" stands for n bytes of 0 */
static u32 octets(const char *hex, u8 out[ROOM])
{
	u32 n = 0, zeroes;
	bool half = false;

	memset(out, 0, ROOM);
	for (; *hex; hex++) {
		if (*hex == '+') {
			for (zeroes = 0; digit(hex[1]) >= 0; hex++)
				zeroes = zeroes * 10 + digit(hex[1]);
			n += zeroes;
		} else if (digit(*hex) >= 0) {
			out[n] = out[n] << 4 | digit(*hex);
			n += half;
			half = !half;
		}
	}
	return n;
}

static bool same_hello(const struct sdp_hello *a, const struct sdp_hello *b)
{
	return a->compact == b->compact && a->version == b->version && a->ipv == b->ipv &&
	       a->caps == b->caps && a->max_adverts == b->max_adverts &&
	       a->want_size == b->want_size && a->size == b->size &&
	       a->local_port == b->local_port && a->dst_port == b->dst_port &&
	       !memcmp(a->name, b->name, 8) && !memcmp(a->src, b->src, 16) &&
	       !memcmp(a->dst, b->dst, 16);
}

/* two messages, as far as their kind has the fields */
static bool same(const struct sdp_msg *a, const struct sdp_msg *b)
{
	if (a->mid != b->mid || a->flags != b->flags || a->bufs != b->bufs || a->mseq != b->mseq ||
	    a->mseq_ack != b->mseq_ack || a->payload_len != b->payload_len)
		return false;
	switch (a->mid) {
	case SDP_MID_HELLO:
	case SDP_MID_HELLO_ACK:
		return same_hello(&a->hello, &b->hello);
	case SDP_MID_SRC_AVAIL:
	case SDP_MID_SINK_AVAIL:
		return a->avail.size == b->avail.size && a->avail.rkey == b->avail.rkey &&
		       a->avail.va == b->avail.va && a->avail.non_discards == b->avail.non_discards;
	case SDP_MID_MODE_CHANGE:
		return a->change.send_half == b->change.send_half &&
		       a->change.mode == b->change.mode;
	case SDP_MID_SUSPEND:
		return a->service == b->service;
	default:
		return a->bytes == b->bytes;
	}
}

static void vectors(struct ktest *test)
{
	u8 wire[ROOM], out[SDP_HDR_MAX];
	struct sdp_msg msg;
	u32 i, n, hdr;
	u8 *p;

	for (i = 0; i < ARRAY_SIZE(messages); i++) {
		const struct message *m = &messages[i];

		n = octets(m->hex, wire);
		p = ktest_alloc(test, n);
		memcpy(p, wire, n);
		KTEST_EQ_MSG(test, sdp_wire_decode(p, n, m->carrier, &msg), SDP_OK, "%s", m->name);
		KTEST_TRUE_MSG(test, same(&msg, &m->msg), "%s", m->name);
		KTEST_EQ_MSG(test, msg.hdr_len + msg.payload_len, n, "%s", m->name);
		hdr = sdp_wire_encode(&m->msg, out);
		KTEST_EQ_MSG(test, hdr, msg.hdr_len, "%s", m->name);
		KTEST_MEMEQ_MSG(test, out, wire, hdr, "%s", m->name);
	}
}

/* @change: bytes replaced from an offset on */
static const struct {
	const char *name;
	const char *message;
	u32 at;
	const char *change;
	enum sdp_fault fault;
} faults[] = {
	{ "reserved MID", "DisConn", 0, "0f", SDP_FAULT_MID },
	{ "reserved MID", "DisConn", 0, "fc", SDP_FAULT_MID },
	{ "Len too large", "DisConn", 4, "00000011", SDP_FAULT_LENGTH },
	{ "Len too small", "Data", 4, "00000012", SDP_FAULT_LENGTH },
	{ "Len wraps", "Data", 4, "ffffffff", SDP_FAULT_LENGTH },
	{ "Hello's Len", "full Hello", 4, "0000005b", SDP_FAULT_LENGTH },
	{ "Hello cut", "compact Hello", 4, "0000005c", SDP_FAULT_LENGTH },
	{ "HelloAck's Len", "HelloAck", 4, "00000021", SDP_FAULT_LENGTH },
	{ "HelloAck in a request", "full Hello", 0, "01", SDP_FAULT_CARRIER },
	{ "Data in a request", "full Hello", 0, "ff", SDP_FAULT_CARRIER },
	{ "Hello in an answer", "HelloAck", 0, "00", SDP_FAULT_CARRIER },
	{ "Hello in a Send", "DisConn", 0, "00", SDP_FAULT_CARRIER },
	{ "HelloAck in a Send", "DisConn", 0, "01", SDP_FAULT_CARRIER },
	{ "version 1.1", "full Hello", 16, "11", SDP_FAULT_VERSION },
	{ "version 2.2", "full Hello", 16, "22", SDP_FAULT_VERSION },
	{ "version 4.0", "compact HelloAck", 16, "40", SDP_FAULT_VERSION },
	{ "minor version", "full Hello", 16, "3f", SDP_OK },
	{ "IPV 0", "full Hello", 17, "00", SDP_FAULT_IPV },
	{ "IPV in the low nibble", "compact Hello", 17, "04", SDP_FAULT_IPV },
	{ "IPv4 address in front", "full Hello", 32, "0a", SDP_FAULT_IPV },
	{ "IPv4 address in front", "full Hello", 59, "01", SDP_FAULT_IPV },
	{ "LocalPort 0", "full Hello", 28, "0000", SDP_FAULT_PORT },
	{ "DstPort 0", "compact Hello", 30, "0000", SDP_FAULT_PORT },
	{ "MaxAdverts 0", "full Hello", 19, "00", SDP_FAULT_ADVERTS },
	{ "MaxAdverts 0", "HelloAck", 19, "00", SDP_FAULT_ADVERTS },
	{ "ExtMaxAdverts 0", "full Hello, IPv6, ExtMaxAdverts", 66, "0000", SDP_FAULT_ADVERTS },
	{ "ExtMaxAdverts in a compact Hello", "compact Hello", 17, "42", SDP_FAULT_ADVERTS },
	{ "two buffers", "full Hello", 2, "0002", SDP_FAULT_BUFS },
	{ "two buffers", "compact HelloAck", 2, "0002", SDP_FAULT_BUFS },
	{ "Flags of Hello", "full Hello", 1, "02", SDP_FAULT_START },
	{ "MSeq of Hello", "full Hello", 8, "00000001", SDP_FAULT_START },
	{ "MSeqAck of HelloAck", "HelloAck", 12, "00000001", SDP_FAULT_START },
	{ "DesRemRcvSz", "full Hello", 20, "000000ff", SDP_FAULT_SIZE },
	{ "LocalRcvSz", "compact Hello", 24, "000000ff", SDP_FAULT_SIZE },
	{ "ActRcvSz", "HelloAck", 20, "000000ff", SDP_FAULT_SIZE },
	{ "no Bytes", "RdmaWrCompl", 16, "00000000", SDP_FAULT_SIZE },
	{ "no Bytes", "RdmaRdCompl", 16, "00000000", SDP_FAULT_SIZE },
	{ "small buffer", "ChRcvBuf", 16, "000000ff", SDP_FAULT_SIZE },
	{ "small buffer", "ChRcvBufAck", 16, "00000000", SDP_FAULT_SIZE },
	{ "no Size", "SrcAvail, pipelined", 16, "00000000", SDP_FAULT_SIZE },
	{ "no Size", "SinkAvail", 16, "00000000", SDP_FAULT_SIZE },
	{ "all is payload", "SrcAvail, combined", 16, "00000001", SDP_FAULT_PAYLOAD },
	{ "mode 3", "ModeChange, source", 16, "30", SDP_FAULT_MODE },
	{ "mode 7", "ModeChange, sink", 16, "ff", SDP_FAULT_MODE },
	{ "reserved bits", "ModeChange, source", 16, "2fffffff", SDP_OK },
	{ "reserved flags", "DisConn", 1, "f8", SDP_OK },
	{ "OOB_PRES of a credit update", "credit update", 1, "01", SDP_FAULT_OOB },
	{ "OOB_PRES of SrcAvail", "SrcAvail, combined", 1, "01", SDP_FAULT_OOB },
	{ "OOB_PRES of DisConn", "DisConn", 1, "01", SDP_FAULT_OOB },
};

static const struct message *message_named(const char *name)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(messages) - 1; i++)
		if (!strcmp(messages[i].name, name))
			break;
	return &messages[i];
}

static void names_faults(struct ktest *test)
{
	u8 wire[ROOM], change[ROOM];
	struct sdp_msg msg;
	u32 i, n;

	for (i = 0; i < ARRAY_SIZE(faults); i++) {
		const struct message *m = message_named(faults[i].message);

		n = octets(faults[i].change, change);
		octets(m->hex, wire);
		memcpy(wire + faults[i].at, change, n);
		n = octets(m->hex, change);
		KTEST_EQ_MSG(test, sdp_wire_decode(wire, n, m->carrier, &msg), faults[i].fault,
			     "%s: %s", m->name, faults[i].name);
	}
}

/* every message, cut and lengthened, with a Len that agrees */
static void lengths(struct ktest *test)
{
	u8 wire[2 * ROOM];
	struct sdp_msg msg;
	u32 i, n, whole;
	u8 *p;

	for (i = 0; i < ARRAY_SIZE(messages); i++) {
		const struct message *m = &messages[i];
		const bool hello = m->carrier != SDP_IN_SEND;

		memset(wire, 0, sizeof(wire));
		whole = octets(m->hex, wire);
		for (n = 0; n < whole + 4; n++) {
			enum sdp_fault fault;

			p = ktest_alloc(test, n);
			if (!hello)
				wire[7] = n;
			memcpy(p, wire, n);
			fault = sdp_wire_decode(p, n, m->carrier, &msg);
			if (n < SDP_BSDH_LEN)
				KTEST_EQ_MSG(test, fault, SDP_FAULT_SHORT, "%s, %u", m->name, n);
			else if (hello)
				/* the transport may pad */
				KTEST_EQ_MSG(test, fault, n < whole ? SDP_FAULT_LENGTH : SDP_OK,
					     "%s, %u", m->name, n);
			else if (n < sdp_wire_hdr_len(&m->msg))
				KTEST_EQ_MSG(test, fault, SDP_FAULT_SHORT, "%s, %u", m->name, n);
		}
	}
}

/* other messages have no payload */
static void payload_only_where_it_may_be(struct ktest *test)
{
	u8 wire[ROOM + 8];
	struct sdp_msg msg;
	u32 i, n, allowed = 0;

	for (i = 0; i < ARRAY_SIZE(messages); i++) {
		const struct message *m = &messages[i];
		const bool may = m->msg.mid >= SDP_MID_SINK_AVAIL;
		enum sdp_fault fault;

		if (m->carrier != SDP_IN_SEND || m->msg.mid == SDP_MID_SRC_AVAIL)
			continue;
		memset(wire, 0, sizeof(wire));
		n = octets(m->hex, wire) + 1;
		wire[7] = n;
		fault = sdp_wire_decode(wire, n, m->carrier, &msg);
		KTEST_EQ_MSG(test, fault, may ? SDP_OK : SDP_FAULT_PAYLOAD, "%s", m->name);
		allowed += may;
	}
	KTEST_EQ(test, allowed, 4);
}

/* section 3: which messages ask for attention */
static void solicited(struct ktest *test)
{
	static const u8 quiet[] = {
		SDP_MID_MODE_CHANGE, SDP_MID_CH_RCV_BUF, SDP_MID_CH_RCV_BUF_ACK, SDP_MID_SUSPEND,
		SDP_MID_SUSPEND_ACK, SDP_MID_DATA,
	};
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(messages); i++) {
		struct sdp_msg msg = messages[i].msg;
		bool expected = true;

		if (messages[i].carrier != SDP_IN_SEND)
			continue;
		msg.flags = SDP_FLAG_REQ_PIPE;
		for (k = 0; k < ARRAY_SIZE(quiet); k++)
			expected &= msg.mid != quiet[k];
		KTEST_EQ_MSG(test, sdp_wire_solicited(&msg), expected, "%s", messages[i].name);
		msg.flags = SDP_FLAG_OOB_PEND;
		KTEST_TRUE_MSG(test, sdp_wire_solicited(&msg), "%s", messages[i].name);
	}
}

static void refusals(struct ktest *test)
{
	u8 p[SDP_REFUSAL_LEN];
	int reason;

	for (reason = SDP_REFUSED_UNKNOWN; reason <= SDP_REFUSED_RESOURCES; reason++) {
		sdp_wire_put_refusal(reason, p);
		KTEST_EQ(test, p[0], 0x30);
		KTEST_EQ(test, p[1], reason);
		KTEST_EQ(test, sdp_wire_refusal(p, sizeof(p)), reason);
		KTEST_EQ(test, sdp_wire_refusal(p, sizeof(p) - 1), SDP_REFUSED_UNKNOWN);
	}
	p[1] = SDP_REFUSED_RESOURCES + 1;
	KTEST_EQ(test, sdp_wire_refusal(p, sizeof(p)), SDP_REFUSED_UNKNOWN);
	p[0] = 0x22;
	p[1] = SDP_REFUSED_VERSION;
	KTEST_EQ(test, sdp_wire_refusal(p, sizeof(p)), SDP_REFUSED_VERSION);
	p[0] = 0x11;
	p[1] = SDP_REFUSED_LATER;
	KTEST_EQ(test, sdp_wire_refusal(p, sizeof(p)), SDP_REFUSED_UNKNOWN);
	KTEST_EQ(test, sdp_wire_refusal(NULL, 0), SDP_REFUSED_UNKNOWN);
	KTEST_EQ(test, sdp_wire_fault_refusal(SDP_FAULT_VERSION), SDP_REFUSED_VERSION);
	KTEST_EQ(test, sdp_wire_fault_refusal(SDP_FAULT_PORT), SDP_REFUSED_MALFORMED);
}

static void every_fault_has_a_name(struct ktest *test)
{
	int a, b;

	for (a = 0; a < SDP_FAULTS; a++)
		for (b = 0; b < a; b++)
			KTEST_TRUE(test, strcmp(sdp_wire_fault_name(a), sdp_wire_fault_name(b)));
	KTEST_STREQ(test, sdp_wire_fault_name(SDP_FAULTS), "unknown");
}

static void random_octets(struct ktest *test)
{
	u32 rnd = 0x736470, seen[2] = {}, i, k, n;
	u8 **p = ktest_alloc(test, LONGEST * sizeof(*p));
	struct sdp_msg msg, again;
	u8 out[SDP_HDR_MAX];

	for (n = 0; n < LONGEST; n++)
		p[n] = ktest_alloc(test, n);
	for (i = 0; i < ROUNDS; i++) {
		const enum sdp_carrier carrier = i % 8 ? SDP_IN_SEND : 1 + i / 8 % 2;
		enum sdp_fault fault;

		n = i % 8 ? next_random(&rnd) % 48 : next_random(&rnd) % LONGEST;
		for (k = 0; k < n; k++)
			p[n][k] = next_random(&rnd) >> 24;
		if (n >= SDP_BSDH_LEN && i % 4) {
			/* a header that could be right */
			p[n][0] = i % 3 ? p[n][0] & 0x0f : p[n][0] | 0xfc;
			p[n][1] &= 0x06;
			memset(p[n] + 4, 0, 4);
			p[n][7] = n;
		}
		fault = sdp_wire_decode(p[n], n, carrier, &msg);
		KTEST_TRUE(test, fault <= SDP_FAULT_OOB);
		seen[!fault]++;
		if (fault)
			continue;
		KTEST_EQ(test, msg.hdr_len + msg.payload_len, n);
		KTEST_EQ(test, sdp_wire_encode(&msg, out), msg.hdr_len);
		/* reserved bits are not kept */
		memcpy(p[n], out, msg.hdr_len);
		KTEST_EQ(test, sdp_wire_decode(p[n], n, carrier, &again), SDP_OK);
		KTEST_TRUE(test, same(&msg, &again));
	}
	KTEST_TRUE(test, seen[0] > ROUNDS / 20);
	KTEST_TRUE(test, seen[1] > ROUNDS / 20);
}

static struct ktest_case cases[] = {
	KTEST_CASE(vectors),
	KTEST_CASE(names_faults),
	KTEST_CASE(lengths),
	KTEST_CASE(payload_only_where_it_may_be),
	KTEST_CASE(solicited),
	KTEST_CASE(refusals),
	KTEST_CASE(every_fault_has_a_name),
	KTEST_CASE(random_octets),
	{}
};

KTEST_SUITE(sdp_wire, cases);
