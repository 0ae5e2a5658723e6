// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * libFuzzer's target for the state machine of the Sockets Direct Protocol. The first byte of an
 * input chooses: either the rest decides what two connected machines and their programs do
 * (tests/kunit/sdp_pair.c has the checks), or one machine has a peer that sends what it likes, while
 * its program continues. Whatever a peer does, a machine keeps its credits and the bounds of its
 * memory, must give back everything that it was lent, once, and must be silent when it is dead.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/unaligned.h>

#include "sdp/state/state.h"
#include "tests/kunit/sdp_pair.h"
#include "must.h"

#define LENT	512
#define SIZE	300

struct input {
	const u8 *p;
	size_t n;
};

/* a machine, and what is lent to it */
struct victim {
	struct sdp_conn c;
	bool lent[LENT];
	u32 lent_nr;
	u32 lent_now;
	u32 reads[SDP_ADVERTS * 64];
	u32 reads_nr;
	u32 slots;
	u32 disconnects;
	u32 ends;
	u8 sum;			/* of payload */
};

static u32 take(struct input *in, u32 octets)
{
	u32 value = 0;

	while (octets--) {
		value <<= 8;
		if (in->n) {
			value |= *in->p++;
			in->n--;
		}
	}
	return value;
}

static struct victim *victim_of(struct sdp_conn *c)
{
	return (struct victim *)c;
}

static void op_send(struct sdp_conn *c, const struct sdp_msg *msg, u64 from)
{
	struct victim *v = victim_of(c);
	u8 octets[SDP_HDR_MAX];
	struct sdp_msg again;
	u8 *whole;
	u32 n;

	must(c->state != SDP_DEAD);
	must(!sdp_seq_before(c->credit.limit, msg->mseq));
	/* two buffers are left by payload */
	if (msg->payload_len || msg->mid == SDP_MID_SRC_AVAIL)
		must(c->credit.limit - msg->mseq >= SDP_RESERVED);
	must(from + msg->payload_len <= c->source.end);
	n = sdp_wire_encode(msg, octets);
	must(n + msg->payload_len <= c->credit.peer_size);
	whole = malloc(n + msg->payload_len);
	memcpy(whole, octets, n);
	must(sdp_wire_decode(whole, n + msg->payload_len, SDP_IN_SEND, &again) == SDP_OK);
	free(whole);
	v->slots++;
}

static u32 op_post(struct sdp_conn *c, u32 n)
{
	must(c->credit.posted + n <= c->credit.ring + SDP_LOANS);
	return n;
}

static void op_read(struct sdp_conn *c, u32 rkey, u64 va, u32 len, void *cookie)
{
	struct victim *v = victim_of(c);

	must(len);
	v->reads[v->reads_nr++] = len;
	v->slots++;
}

static u32 op_write(struct sdp_conn *c, u32 rkey, u64 va, u64 from, u32 len)
{
	must(c->state != SDP_DEAD && len && from + len <= c->source.end);
	victim_of(c)->slots++;
	/* some need more than one */
	return len < 3000 ? len : 3000;
}

static void op_disconnect(struct sdp_conn *c, bool abrupt)
{
	victim_of(c)->disconnects++;
}

static void op_notify(struct sdp_conn *c, enum sdp_notice what)
{
	if (what >= SDP_NOTICE_REFUSED && what <= SDP_NOTICE_RESET)
		victim_of(c)->ends++;
}

static void op_deliver(struct sdp_conn *c, const struct sdp_msg *msg, const u8 *data)
{
	u32 i;

	must(c->state != SDP_DEAD);
	/* all of it is there */
	for (i = 0; i < msg->payload_len; i++)
		victim_of(c)->sum += data[i];
}

static void *lend(struct victim *v)
{
	if (v->lent_nr == LENT)
		return NULL;
	v->lent[v->lent_nr] = true;
	v->lent_now++;
	return &v->lent[v->lent_nr++];
}

static void give_back(struct victim *v, bool *lent)
{
	must(*lent);
	*lent = false;
	v->lent_now--;
}

static void op_offer_done(struct sdp_conn *c, void *cookie, u32 octets)
{
	give_back(victim_of(c), cookie);
}

static void op_sink_done(struct sdp_conn *c, void *cookie, u32 octets, enum sdp_sink_end how)
{
	must(how == SDP_SINK_WRITTEN || !octets);
	give_back(victim_of(c), cookie);
}

static u32 op_resize(struct sdp_conn *c, u32 size)
{
	return size % 4096;
}

static const struct sdp_state_ops ops = {
	.send = op_send,
	.post = op_post,
	.read = op_read,
	.write = op_write,
	.disconnect = op_disconnect,
	.notify = op_notify,
	.deliver = op_deliver,
	.offer_done = op_offer_done,
	.sink_done = op_sink_done,
	.resize = op_resize,
};

/* a message that could be right, but for what the input changes */
static void peer_says(struct victim *v, struct input *in)
{
	static const u8 mids[] = {
		SDP_MID_DISCONN, SDP_MID_ABORT, SDP_MID_SEND_SM, SDP_MID_WRITE_COMPL,
		SDP_MID_READ_COMPL, SDP_MID_MODE_CHANGE, SDP_MID_SRC_CANCEL, SDP_MID_SINK_CANCEL,
		SDP_MID_SINK_CANCEL_ACK, SDP_MID_CH_RCV_BUF, SDP_MID_CH_RCV_BUF_ACK,
		SDP_MID_SUSPEND, SDP_MID_SUSPEND_ACK, SDP_MID_SINK_AVAIL, SDP_MID_SRC_AVAIL,
		SDP_MID_DATA, SDP_MID_DATA, SDP_MID_DATA, SDP_MID_DATA, SDP_MID_DATA,
	};
	const u8 what = take(in, 1), how = take(in, 1);
	struct sdp_msg msg = {
		.mid = mids[what % sizeof(mids)],
		.flags = how & 1 ? take(in, 1) & SDP_FLAGS : 0,
		.bufs = how & 2 ? take(in, 1) : 20,
		.mseq = v->c.credit.got + 1 + (how & 0x40 ? take(in, 1) - 128 : 0),
		.mseq_ack = v->c.credit.sent - (how & 4 ? take(in, 1) : 0),
	};
	u8 octets[SDP_HDR_MAX];
	u8 *whole;
	u32 n;

	switch (msg.mid) {
	case SDP_MID_SRC_AVAIL:
	case SDP_MID_SINK_AVAIL:
		msg.avail.size = 1 + take(in, 2);
		msg.avail.non_discards = v->c.source.payloads - (how & 8 ? take(in, 1) : 0);
		if (msg.mid == SDP_MID_SRC_AVAIL && v->c.sink.mode == SDP_MODE_COMBINED)
			msg.payload_len = 1;
		break;
	case SDP_MID_MODE_CHANGE:
		msg.change.send_half = how & 8;
		msg.change.mode = take(in, 1) % SDP_MODES;
		break;
	case SDP_MID_CH_RCV_BUF:
	case SDP_MID_CH_RCV_BUF_ACK:
		msg.bytes = SDP_BUF_MIN + take(in, 2);
		break;
	case SDP_MID_WRITE_COMPL:
	case SDP_MID_READ_COMPL:
		msg.bytes = 1 + take(in, how & 8 ? 4 : 1);
		break;
	case SDP_MID_SUSPEND:
		break;
	}
	if (how & 0x10)
		msg.payload_len = take(in, 1);
	if (!v->c.credit.posted)
		return;
	n = sdp_wire_encode(&msg, octets);
	whole = calloc(1, n + msg.payload_len);
	memcpy(whole, octets, n);
	/* or anything at all */
	if (how & 0x80)
		whole[take(in, 1) % n] = take(in, 1);
	sdp_state_receive(&v->c, whole, n + msg.payload_len);
	free(whole);
}

static void program_does(struct victim *v, struct input *in)
{
	struct sdp_conn *c = &v->c;
	void *cookie;
	u8 event;

	switch (take(in, 1) % 20) {
	case 0:
	case 1:
		sdp_state_queue(c, take(in, 2));
		break;
	case 2:
	case 3:
		cookie = lend(v);
		if (cookie && sdp_state_offer(c, take(in, 2), 1, 0, cookie))
			give_back(v, cookie);
		break;
	case 4:
		sdp_state_urgent(c);
		break;
	case 5:
		sdp_state_cut(c, c->source.end - take(in, 1));
		break;
	case 6:
		sdp_state_want_mode(c, take(in, 1) % SDP_MODES);
		break;
	case 7:
		sdp_state_release(c, take(in, 2));
		break;
	case 8:
	case 9:
		if (v->reads_nr < SDP_ADVERTS * 64)
			sdp_state_read(c, take(in, 2), NULL);
		break;
	case 10:
		if (v->reads_nr) {
			const u32 octets = v->reads[0];

			memmove(v->reads, v->reads + 1, --v->reads_nr * sizeof(v->reads[0]));
			sdp_state_read_done(c, octets);
		}
		break;
	case 11:
		sdp_state_refuse(c);
		break;
	case 12:
	case 13:
		cookie = lend(v);
		if (cookie && sdp_state_sink(c, c->credit.size + take(in, 1), 1, 0, take(in, 1) & 1,
					     cookie))
			give_back(v, cookie);
		break;
	case 14:
		sdp_state_sink_cancel(c);
		break;
	case 15:
		sdp_state_want_pipelined(c, take(in, 1) & 1);
		break;
	case 16:
		sdp_state_ask_size(c, take(in, 2));
		break;
	case 17:
		if (v->slots) {
			v->slots--;
			sdp_state_sent(c, 1);
		}
		break;
	case 18:
		sdp_state_close(c);
		break;
	default:
		event = take(in, 1) % (SDP_EV_FIRST + 1);
		if (event == SDP_EV_FIRST)
			sdp_state_stop_receiving(c);
		else
			sdp_state_event(c, event);
		break;
	}
}

static void check(const struct victim *v)
{
	const struct sdp_conn *c = &v->c;

	must(c->state < SDP_STATES && c->fault < SDP_FAULTS);
	must(c->source.next <= c->source.end);
	must(c->source.out <= c->source.offers_nr && c->source.offers_nr <= SDP_ADVERTS);
	must(c->source.kept_nr <= SDP_ADVERTS && c->sink.offered_nr <= SDP_ADVERTS);
	must(c->sink.out <= c->sink.bufs_nr && c->sink.bufs_nr <= SDP_ADVERTS);
	must(c->source.kept_nr + c->sink.offered_nr <= c->sink.max_adverts);
	/* what a peer can make this end keep: the window, the reserve, and what was lent to it */
	must(c->credit.held <= c->credit.window + (SDP_LOANS + SDP_BUFS_MIN) * 4096);
	must(c->source.offers_nr + c->sink.bufs_nr == v->lent_now);
	must(v->ends <= 1);
	if (c->state == SDP_DEAD)
		must(!v->lent_now);
	must(!c->busy);
}

static void hostile(struct input *in)
{
	static struct victim v;
	struct sdp_config config = {
		.ring = 4 + take(in, 1) % 20,
		.size = SIZE,
		.send_max = SIZE + take(in, 1),
		.window = take(in, 2),
		.slots = 1 + take(in, 1) % 40,
		.max_adverts = 1 + take(in, 1) % SDP_ADVERTS,
		.allow_pipelined = true,
	};
	struct sdp_msg hello = {
		.mid = SDP_MID_HELLO,
		.bufs = 3 + take(in, 1),
		.hello = {
			.version = SDP_VERSION, .ipv = 4, .max_adverts = 1 + take(in, 1) % 20,
			.size = SDP_BUF_MIN + take(in, 2), .local_port = 1, .dst_port = 1,
		},
	};
	u8 octets[SDP_HDR_MAX];
	struct sdp_msg ack = hello;

	memset(&v, 0, sizeof(v));
	sdp_state_init(&v.c, &ops, &config);
	if (take(in, 1) & 1) {
		must(!sdp_state_hello(&v.c, &hello));
		must(!sdp_state_accept(&v.c, &ack));
		sdp_state_event(&v.c, SDP_EV_UP);
	} else {
		must(!sdp_state_connect(&v.c, &hello));
		ack.mid = SDP_MID_HELLO_ACK;
		must(!sdp_state_answer(&v.c, octets, sdp_wire_encode(&ack, octets)));
	}
	while (in->n) {
		if (take(in, 1) & 1)
			peer_says(&v, in);
		else
			program_does(&v, in);
		check(&v);
	}
	sdp_state_event(&v.c, SDP_EV_DOWN);
	must(v.c.state == SDP_DEAD || v.c.state == SDP_IDLE);
	check(&v);
}

static void pair(struct input *in)
{
	static struct sdp_pair p;

	pair_begin(&p, 1, in->p, in->n, NULL);
	while (!pair_over(&p) && !p.broken)
		pair_step(&p);
	if (!p.broken)
		pair_finish(&p);
	if (p.broken) {
		fprintf(stderr, "does not hold: %s (sdp_pair.c, line %d)\n", p.broken, p.line);
		abort();
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data + 1, size - 1 };

	if (size < 2)
		return 0;
	if (data[0] & 1)
		pair(&in);
	else
		hostile(&in);
	return 0;
}
