// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * See sdp_pair.h. Bytes are not kept: the byte at each position of a stream is known, so that
 * they are made when a message arrives and are checked where they are delivered. They repeat after
 * PAIR_PERIOD; positions are checked, too. The address of a byte in an offer is its position.
 */
#include <linux/array_size.h>
#include <linux/string.h>

#include "sdp_pair.h"

#define pair_must(pair, condition) do {				\
	if (!(condition) && !(pair)->broken) {			\
		(pair)->broken = #condition;			\
		(pair)->line = __LINE__;			\
	}							\
} while (0)

static u32 pair_below(struct sdp_pair *p, u32 limit)
{
	if (p->input) {
		u32 value;

		if (!p->input_len)
			return 0;
		value = *p->input++;
		p->input_len--;
		if (limit > 256 && p->input_len) {
			value |= *p->input++ << 8;
			p->input_len--;
		}
		return value % limit;
	}
	p->random ^= p->random << 13;
	p->random ^= p->random >> 17;
	p->random ^= p->random << 5;
	return (p->random >> 3) % limit;
}

bool pair_over(const struct sdp_pair *p)
{
	return p->input && !p->input_len;
}

static void pair_make_pattern(struct sdp_pair *p)
{
	u32 i, x = 1;

	for (i = 0; i < PAIR_PERIOD; i++) {
		x = x * 1664525 + 1013904223;
		p->pattern[0][i] = x >> 24;
		p->pattern[1][i] = x >> 16;
	}
}

/* bytes of a stream from a position on that lie in a row; the caller asks again for the rest */
static const u8 *pair_octets(const struct sdp_pair *p, u32 end, u64 pos, u32 *len)
{
	const u32 at = pos % PAIR_PERIOD;

	if (*len > PAIR_PERIOD - at)
		*len = PAIR_PERIOD - at;
	return p->pattern[end] + at;
}

static struct pair_end *pair_end_of(struct sdp_conn *c)
{
	return (struct pair_end *)c;
}

static struct pair_end *pair_peer(struct pair_end *e)
{
	return &e->pair->ends[!e->index];
}

static struct pair_item *pair_put(struct pair_end *e, u8 kind)
{
	struct pair_item *item;

	pair_must(e->pair, e->items_nr < PAIR_ITEMS);
	if (e->items_nr == PAIR_ITEMS)
		e->items_nr = 0;
	item = &e->items[(e->items_first + e->items_nr++) % PAIR_ITEMS];
	memset(item, 0, sizeof(*item));
	item->kind = kind;
	return item;
}

/* The machine's ops ************************************************************************ */

static void pair_fill(struct pair_end *e, u8 *to, u64 from, u32 len)
{
	const u8 *octets;
	u32 n;

	for (; len; len -= n, to += n, from += n) {
		n = len;
		octets = pair_octets(e->pair, e->index, from, &n);
		memcpy(to, octets, n);
	}
}

static bool pair_same(struct pair_end *e, const u8 *data, u64 from, u32 len)
{
	const u8 *octets;
	u32 n;

	for (; len; len -= n, data += n, from += n) {
		n = len;
		octets = pair_octets(e->pair, e->index, from, &n);
		if (memcmp(data, octets, n))
			return false;
	}
	return true;
}

static void pair_send(struct sdp_conn *c, const struct sdp_msg *msg, u64 from)
{
	struct pair_end *e = pair_end_of(c);
	struct pair_item *item = pair_put(e, PAIR_MESSAGE);
	const struct pair_observer *observer = e->pair->observer;
	u8 hdr[SDP_HDR_MAX];

	item->hdr_len = sdp_wire_encode(msg, hdr);
	pair_must(e->pair, item->hdr_len <= sizeof(item->hdr));
	memcpy(item->hdr, hdr, item->hdr_len);
	item->len = msg->payload_len;
	item->from = from;
	e->slots++;
	pair_must(e->pair, from + item->len <= c->source.end);
	if (msg->flags & SDP_FLAG_OOB_PRES)
		pair_must(e->pair, from + item->len == e->oob_sent);
	if (observer) {
		memcpy(e->pair->scratch, hdr, item->hdr_len);
		pair_fill(e, e->pair->scratch + item->hdr_len, from, item->len);
		observer->message(observer->context, e->index, e->pair->scratch,
				  item->hdr_len + item->len, SDP_IN_SEND);
	}
}

static u32 pair_post(struct sdp_conn *c, u32 n)
{
	struct pair_end *e = pair_end_of(c);
	u32 i;

	if (e->no_memory)
		n = 0;
	pair_must(e->pair, e->posted_nr + n <= PAIR_POSTED);
	for (i = 0; i < n && e->posted_nr < PAIR_POSTED; i++)
		e->posted_sizes[e->posted_nr++] = e->buf_size;
	return n;
}

static void pair_read(struct sdp_conn *c, u32 rkey, u64 va, u32 len, void *cookie)
{
	struct pair_end *e = pair_end_of(c);
	const struct pair_observer *observer = e->pair->observer;

	pair_must(e->pair, e->reads_nr < PAIR_READS);
	pair_must(e->pair, va == e->read_pos);
	e->reads[e->reads_nr++] = (struct pair_read){ va, len };
	e->read_pos += len;
	e->slots++;
	if (observer)
		observer->read(observer->context, e->index, rkey, va, len);
}

/* the transport's longest Write, so that buffers take several */
#define PAIR_WRITE_MOST	1500

static u32 pair_write(struct sdp_conn *c, u32 rkey, u64 va, u64 from, u32 len)
{
	struct pair_end *e = pair_end_of(c);
	struct pair_item *item = pair_put(e, PAIR_WRITE);
	const struct pair_observer *observer = e->pair->observer;

	len = len < PAIR_WRITE_MOST ? len : PAIR_WRITE_MOST;
	item->rkey = rkey;
	item->va = va;
	item->from = from;
	item->len = len;
	e->slots++;
	pair_must(e->pair, from + len <= c->source.end);
	if (observer)
		observer->write(observer->context, e->index, rkey, va, len);
	return len;
}

static void pair_disconnect(struct sdp_conn *c, bool abrupt)
{
	struct pair_end *e = pair_end_of(c);

	if (e->disconnected)
		return;
	e->disconnected = true;
	pair_put(e, PAIR_DISCONNECT);
}

static void pair_notify(struct sdp_conn *c, enum sdp_notice what)
{
	pair_end_of(c)->notices |= 1u << what;
}

static void pair_deliver(struct sdp_conn *c, const struct sdp_msg *msg, const u8 *data)
{
	struct pair_end *e = pair_end_of(c);

	pair_must(e->pair, pair_same(pair_peer(e), data, e->pos, msg->payload_len));
	/* a Read is never posted before payload that comes first */
	pair_must(e->pair, e->pos == e->read_pos);
	e->pos += msg->payload_len;
	e->read_pos = e->pos;
	if (msg->flags & SDP_FLAG_OOB_PRES) {
		pair_must(e->pair, e->pos == pair_peer(e)->oob_sent || e->oob_seen < e->pos);
		e->oob_seen = e->pos;
	}
}

static void pair_offer_done(struct sdp_conn *c, void *cookie, u32 octets)
{
	struct pair_end *e = pair_end_of(c);
	struct pair_buf *buf = cookie;

	pair_must(e->pair, buf->live && octets <= buf->len);
	buf->live = false;
	buf->done = octets;
	e->offered += octets;
}

static void pair_sink_done(struct sdp_conn *c, void *cookie, u32 octets, enum sdp_sink_end how)
{
	struct pair_end *e = pair_end_of(c);
	struct pair_buf *buf = cookie;

	pair_must(e->pair, buf->live && octets <= buf->len);
	pair_must(e->pair, how == SDP_SINK_WRITTEN || !octets);
	pair_must(e->pair, octets == buf->done || c->state == SDP_DEAD);
	buf->live = false;
	e->pos += octets;
	e->read_pos = e->pos;
	e->written -= octets;
}

static u32 pair_resize(struct sdp_conn *c, u32 size)
{
	struct pair_end *e = pair_end_of(c);

	if (size > PAIR_SIZE || size <= e->buf_size)
		return e->buf_size;
	e->buf_size = size;
	return size;
}

static const struct sdp_state_ops pair_ops = {
	.send = pair_send,
	.post = pair_post,
	.read = pair_read,
	.write = pair_write,
	.disconnect = pair_disconnect,
	.notify = pair_notify,
	.deliver = pair_deliver,
	.offer_done = pair_offer_done,
	.sink_done = pair_sink_done,
	.resize = pair_resize,
};

/* The transport **************************************************************************** */

static void pair_arrive_message(struct pair_end *to, const struct pair_item *item)
{
	struct sdp_pair *p = to->pair;
	u32 n = item->hdr_len + item->len;

	pair_must(p, to->posted_nr);
	pair_must(p, n <= to->posted_sizes[0]);
	if (!to->posted_nr || n > sizeof(p->scratch))
		return;
	to->posted_nr--;
	memmove(&to->posted_sizes[0], &to->posted_sizes[1],
		to->posted_nr * sizeof(to->posted_sizes[0]));
	memcpy(p->scratch, item->hdr, item->hdr_len);
	pair_fill(pair_peer(to), p->scratch + item->hdr_len, item->from, item->len);
	sdp_state_receive(&to->c, p->scratch, n);
	pair_must(p, to->c.credit.posted == to->posted_nr);
}

static void pair_arrive_write(struct pair_end *to, const struct pair_item *item)
{
	struct sdp_pair *p = to->pair;
	struct pair_buf *buf = &to->sinks[item->rkey % PAIR_BUFS];

	pair_must(p, buf->live && item->len <= buf->len - buf->done);
	pair_must(p, item->va == ((u64)item->rkey << 32) + buf->done);
	pair_must(p, item->from == to->pos + to->written);
	buf->done += item->len;
	to->written += item->len;
}

static void pair_arrive(struct pair_end *from)
{
	struct pair_end *to = pair_peer(from);
	struct pair_item item;

	if (!from->items_nr)
		return;
	item = from->items[from->items_first];
	from->items_first = (from->items_first + 1) % PAIR_ITEMS;
	from->items_nr--;
	switch (item.kind) {
	case PAIR_MESSAGE:
		pair_arrive_message(to, &item);
		break;
	case PAIR_WRITE:
		pair_arrive_write(to, &item);
		break;
	default:
		if (!to->disconnected)
			pair_put(to, PAIR_DISCONNECT);
		to->disconnected = true;
		sdp_state_event(&to->c, SDP_EV_DOWN);
		break;
	}
}

static void pair_complete(struct pair_end *e, u32 n)
{
	/* Reads complete by pair_read_completes() */
	if (n > e->slots - e->reads_nr)
		n = e->slots - e->reads_nr;
	if (!n)
		return;
	e->slots -= n;
	sdp_state_sent(&e->c, n);
}

/* the peer's memory is read now: it must still be there */
static void pair_read_completes(struct pair_end *e)
{
	struct pair_end *peer = pair_peer(e);
	const struct pair_read read = e->reads[0];
	bool found = false;
	u32 i;

	if (!e->reads_nr)
		return;
	e->reads_nr--;
	memmove(&e->reads[0], &e->reads[1], e->reads_nr * sizeof(e->reads[0]));
	for (i = 0; i < peer->offers_nr; i++) {
		const struct pair_buf *buf = &peer->offers[i];

		found |= buf->live && read.from >= buf->start &&
			 read.from + read.len <= buf->start + buf->len;
	}
	pair_must(e->pair, found || peer->c.state == SDP_DEAD);
	pair_must(e->pair, read.from == e->pos);
	e->pos += read.len;
	e->slots--;
	e->c.credit.slots++;
	sdp_state_read_done(&e->c, read.len);
}

/* The programs ***************************************************************************** */

static void pair_queue(struct pair_end *e, u32 n)
{
	if (!sdp_state_queue(&e->c, n)) {
		e->queued += n;
		e->cut_limit = e->c.source.end;
	}
}

static void pair_offer(struct pair_end *e, u32 n)
{
	const u64 start = e->c.source.end;
	struct pair_buf *buf;

	if (e->offers_nr == PAIR_BUFS)
		return;
	buf = &e->offers[e->offers_nr];
	*buf = (struct pair_buf){ .live = true, .start = start, .len = n };
	if (sdp_state_offer(&e->c, n, e->offers_nr, start, buf))
		buf->live = false;
	else
		e->offers_nr++;
}

static void pair_urgent(struct pair_end *e)
{
	const u64 end = e->c.source.end;
	const u64 before = e->oob_sent;

	/* the op send looks at it */
	e->oob_sent = end + 1;
	if (sdp_state_urgent(&e->c)) {
		e->oob_sent = before;
		return;
	}
	e->queued++;
	e->cut_limit = e->c.source.end;
}

static void pair_cut(struct pair_end *e, u32 random)
{
	const u64 end = e->c.source.end;

	if (e->cut_limit > end || e->c.source.cutting)
		return;
	if (end > e->cut_limit)
		random %= end - e->cut_limit;
	else
		random = 0;
	sdp_state_cut(&e->c, e->cut_limit + random);
}

static void pair_sink(struct pair_end *e, u32 more, bool with_data)
{
	struct pair_buf *buf;

	if (e->sinks_nr == PAIR_BUFS || e->reads_nr || e->written)
		return;
	buf = &e->sinks[e->sinks_nr];
	*buf = (struct pair_buf){ .live = true, .len = e->c.credit.size + more };
	if (sdp_state_sink(&e->c, buf->len, e->sinks_nr, (u64)e->sinks_nr << 32, with_data, buf))
		buf->live = false;
	else
		e->sinks_nr++;
}

static void pair_read_some(struct pair_end *e, u32 n)
{
	if (e->reads_nr < PAIR_READS)
		sdp_state_read(&e->c, n, NULL);
}

/* the program takes what was delivered; buffers are charged with the size at their delivery */
static void pair_consume(struct pair_end *e, u32 buffers)
{
	const u32 held = e->c.credit.held;
	const u32 n = buffers * e->c.credit.size;

	if (held)
		sdp_state_release(&e->c, n < held ? n : held);
}

static u32 pair_amount(struct sdp_pair *p)
{
	switch (pair_below(p, 4)) {
	case 0:
		return 1 + pair_below(p, 8);
	case 1:
		return 1 + pair_below(p, 300);
	default:
		return 1 + pair_below(p, 6000);
	}
}

static void pair_program(struct sdp_pair *p, struct pair_end *e)
{
	switch (pair_below(p, 40)) {
	case 0 ... 4:
		pair_queue(e, pair_amount(p));
		break;
	case 5 ... 9:
		pair_offer(e, pair_amount(p));
		break;
	case 10:
		pair_urgent(e);
		break;
	case 11:
		pair_cut(e, pair_below(p, 60000));
		break;
	case 12 ... 13:
		sdp_state_want_mode(&e->c, pair_below(p, SDP_MODES));
		break;
	case 14 ... 20:
		pair_consume(e, 1 + pair_below(p, 8));
		break;
	case 21 ... 26:
		pair_read_some(e, pair_amount(p));
		break;
	case 27:
		sdp_state_refuse(&e->c);
		break;
	case 28 ... 32:
		pair_sink(e, pair_amount(p), pair_below(p, 2));
		break;
	case 33:
		sdp_state_sink_cancel(&e->c);
		break;
	case 34 ... 35:
		sdp_state_want_pipelined(&e->c, pair_below(p, 4));
		break;
	case 36:
		sdp_state_ask_size(&e->c, SDP_BUF_MIN + pair_below(p, PAIR_SIZE));
		break;
	case 37:
		sdp_state_window(&e->c, pair_below(p, 40000));
		break;
	case 38:
		e->no_memory = !e->no_memory;
		sdp_state_run(&e->c);
		break;
	default:
		if (!pair_below(p, 16))
			sdp_state_event(&e->c, SDP_EV_FIN);
		break;
	}
}

static void pair_check(struct sdp_pair *p)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(p->ends); i++) {
		const struct pair_end *e = &p->ends[i];
		const struct sdp_source *s = &e->c.source;

		pair_must(p, !e->c.fault);
		pair_must(p, e->c.state != SDP_DEAD || (e->notices & 1u << SDP_NOTICE_CLOSED));
		pair_must(p, s->next <= s->end);
		pair_must(p, e->pos <= p->ends[!i].c.source.end);
		pair_must(p, s->out <= s->offers_nr && e->c.sink.out <= e->c.sink.bufs_nr);
	}
}

void pair_step(struct sdp_pair *p)
{
	struct pair_end *e = &p->ends[pair_below(p, 2)];

	switch (pair_below(p, 8)) {
	case 0 ... 2:
		pair_arrive(e);
		break;
	case 3:
		pair_complete(e, 1 + pair_below(p, 8));
		break;
	case 4:
		pair_read_completes(e);
		break;
	default:
		pair_program(p, e);
		break;
	}
	pair_check(p);
}

/* Return: whether anything happened */
static bool pair_settle_end(struct pair_end *e, bool programs)
{
	const u64 before = e->pos;
	bool did = e->items_nr || e->reads_nr || e->slots;

	while (e->items_nr && !e->pair->broken)
		pair_arrive(e);
	while (e->reads_nr)
		pair_read_completes(e);
	pair_complete(e, e->slots);
	if (programs) {
		did |= e->c.credit.held > 0;
		pair_consume(e, ~0u / e->c.credit.size);
		while (sdp_state_readable(&e->c) && e->c.credit.slots && e->reads_nr < PAIR_READS)
			pair_read_some(e, ~0u);
		did |= e->reads_nr > 0;
	}
	return did || e->pos != before;
}

/* nothing that the machine itself has to do is left undone */
static void pair_check_idle(struct sdp_pair *p)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(p->ends); i++) {
		const struct sdp_conn *c = &p->ends[i].c;

		if (c->state != SDP_OPEN && c->state != SDP_FIN_WAIT && c->state != SDP_CLOSE_WAIT)
			continue;
		if (c->credit.loans == SDP_LOANS)
			continue;
		pair_must(p, !c->source.cancel_due && !c->source.cancelling && !c->source.ack_due);
		pair_must(p, !c->source.cutting);
		pair_must(p, !c->sink.refusing && !c->sink.answering && !c->credit.hold);
		pair_must(p, !c->sink.cancel_due && !c->sink.cancelling);
		if (c->sink.offered_nr)
			pair_must(p, c->sink.offered[0].read == c->sink.offered[0].reported);
		pair_must(p, !c->owes_suspend && (!c->ask_size || c->asked_size));
	}
}

void pair_settle(struct sdp_pair *p, bool programs)
{
	u32 rounds = 0;
	bool more;

	p->ends[0].no_memory = false;
	p->ends[1].no_memory = false;
	sdp_state_run(&p->ends[0].c);
	sdp_state_run(&p->ends[1].c);
	do {
		more = pair_settle_end(&p->ends[0], programs);
		more |= pair_settle_end(&p->ends[1], programs);
	} while (more && ++rounds < 20000 && !p->broken);
	/* two ends that have nothing to say stop talking */
	pair_must(p, !more || p->broken);
	pair_check(p);
	pair_check_idle(p);
}

void pair_finish(struct sdp_pair *p)
{
	u32 i;

	pair_settle(p, false);
	pair_settle(p, true);
	for (i = 0; i < ARRAY_SIZE(p->ends); i++) {
		const struct pair_end *e = &p->ends[i];

		pair_must(p, p->ends[!i].pos == e->c.source.end);
		pair_must(p, e->c.source.next == e->c.source.end);
		pair_must(p, !e->c.source.offers_nr);
		pair_must(p, e->queued + e->offered == e->c.source.end);
		pair_must(p, p->ends[!i].oob_seen == e->oob_sent || e->c.source.end != e->pos);
	}
	sdp_state_event(&p->ends[0].c, SDP_EV_FIN);
	pair_settle(p, true);
	pair_must(p, p->ends[1].notices & 1u << SDP_NOTICE_PEER_FIN);
	/* the other half continues */
	pair_queue(&p->ends[1], 5000);
	pair_settle(p, true);
	pair_must(p, p->ends[0].pos == p->ends[1].c.source.end);
	sdp_state_event(&p->ends[1].c, SDP_EV_FIN);
	pair_settle(p, true);
	for (i = 0; i < ARRAY_SIZE(p->ends); i++) {
		pair_must(p, p->ends[i].c.state == SDP_DEAD);
		pair_must(p, p->ends[i].notices & 1u << SDP_NOTICE_CLOSED);
		pair_must(p, !p->ends[i].c.sink.bufs_nr);
	}
}

/* Return: bytes of the Hello or HelloAck */
static u32 pair_greet(struct sdp_pair *p, int end, const struct sdp_msg *msg, u8 *out)
{
	const u32 n = sdp_wire_encode(msg, out);

	if (p->observer)
		p->observer->message(p->observer->context, end, out, n,
				     end ? SDP_IN_ANSWER : SDP_IN_REQUEST);
	return n;
}

/* numbers of one direction begin shortly before they wrap */
static void pair_wrap(struct pair_end *from)
{
	const u32 base = 0u - 1 - pair_below(from->pair, 60);
	struct sdp_credit *to = &pair_peer(from)->c.credit;

	from->c.credit.sent += base;
	from->c.credit.limit += base;
	from->c.credit.acked += base;
	to->got += base;
	to->given += base;
	to->given_max += base;
}

void pair_begin(struct sdp_pair *p, u32 seed, const u8 *input, u32 input_len,
		const struct pair_observer *observer)
{
	struct pair_end *a = &p->ends[0], *b = &p->ends[1];
	struct sdp_msg hello = {}, ack;
	struct sdp_config config;
	u8 octets[SDP_HDR_MAX];
	u32 i, n;

	memset(p, 0, sizeof(*p));
	pair_make_pattern(p);
	p->random = seed ? seed : 1;
	p->input = input;
	p->input_len = input_len;
	p->observer = observer;
	for (i = 0; i < ARRAY_SIZE(p->ends); i++) {
		struct pair_end *e = &p->ends[i];

		e->pair = p;
		e->index = i;
		config = (struct sdp_config){
			.ring = 4 + pair_below(p, 2) * pair_below(p, 40),
			.size = SDP_BUF_MIN + pair_below(p, 800),
			.send_max = SDP_BUF_MIN + pair_below(p, 1500),
			.window = pair_below(p, 20000),
			.slots = 2 + pair_below(p, 20),
			.max_adverts = 1 + pair_below(p, SDP_ADVERTS),
			.caps = pair_below(p, 2),
			.allow_pipelined = pair_below(p, 2),
		};
		e->buf_size = config.size;
		sdp_state_init(&e->c, &pair_ops, &config);
	}
	hello.hello = (struct sdp_hello){
		.compact = pair_below(p, 2),
		.ipv = 4,
		.want_size = 1024,
		.local_port = 1,
		.dst_port = 2,
	};
	pair_must(p, !sdp_state_connect(&a->c, &hello));
	n = pair_greet(p, 0, &hello, octets);
	pair_must(p, sdp_wire_decode(octets, n, SDP_IN_REQUEST, &hello) == SDP_OK);
	pair_must(p, !sdp_state_hello(&b->c, &hello));
	pair_must(p, !sdp_state_accept(&b->c, &ack));
	n = pair_greet(p, 1, &ack, octets);
	/* an observer expects 1 */
	if (!observer && pair_below(p, 2)) {
		pair_wrap(a);
		pair_wrap(b);
	}
	/* either event may be first */
	if (pair_below(p, 2))
		pair_must(p, !sdp_state_event(&b->c, SDP_EV_UP));
	pair_must(p, !sdp_state_answer(&a->c, octets, n));
	pair_check(p);
}
