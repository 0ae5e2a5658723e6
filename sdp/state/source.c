// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The half connection that this end sends: bytes by Data, SrcAvail or RDMA Write, the mode, the
 * out-of-band byte, DisConn. docs/sdp-wire.md sections 5 to 10 and 13.
 *
 * source.next walks over the stream. It goes back when the peer does not read what was advertised
 * (SendSm, a cancel, a valid SinkAvail), to the first byte that the peer does not have. Offers of
 * which bytes are missing are kept in order; SrcAvails are outstanding for the first ones.
 */
#include <linux/errno.h>
#include <linux/string.h>

#include "internal.h"

static u64 sdp_source_min(u64 a, u64 b)
{
	return a < b ? a : b;
}

static void sdp_source_drop_offer(struct sdp_source *s, u32 i)
{
	s->offers_nr--;
	memmove(&s->offers[i], &s->offers[i + 1], (s->offers_nr - i) * sizeof(s->offers[0]));
}

/* the first offer: the peer has all of it, or gets no more */
static void sdp_source_offer_done(struct sdp_conn *c, u32 i)
{
	const struct sdp_offer offer = c->source.offers[i];

	sdp_source_drop_offer(&c->source, i);
	c->ops->offer_done(c, offer.cookie, offer.done);
}

/* the offer that holds a position, or NULL */
static struct sdp_offer *sdp_source_offer_at(struct sdp_source *s, u64 at)
{
	u32 i;

	for (i = 0; i < s->offers_nr; i++)
		if (at >= s->offers[i].start && at - s->offers[i].start < s->offers[i].len)
			return &s->offers[i];
	return NULL;
}

/* bytes from next on that lie in one offer, or in none */
static u32 sdp_source_run_len(const struct sdp_source *s, const struct sdp_offer *offer)
{
	u64 end = s->end;
	u32 i;

	if (offer) {
		end = offer->start + offer->len;
	} else {
		for (i = 0; i < s->offers_nr; i++)
			if (s->offers[i].start > s->next)
				end = sdp_source_min(end, s->offers[i].start);
	}
	return sdp_source_min(end - s->next, 0x7fffffff);
}

/* after a change of next: offers whose bytes have all left by Data or Write */
static void sdp_source_advance(struct sdp_conn *c, struct sdp_offer *offer, u32 n)
{
	c->source.next += n;
	if (offer) {
		offer->done += n;
		if (offer->done == offer->len)
			sdp_source_offer_done(c, offer - c->source.offers);
	}
	c->ops->notify(c, SDP_NOTICE_SENT);
}

/*
 * The SrcAvails that are outstanding end: what the peer has not read is to be sent by other means,
 * or is advertised again
 */
static void sdp_source_rewind(struct sdp_conn *c, enum sdp_offer_state state)
{
	struct sdp_source *s = &c->source;
	u32 i;

	s->cancelling = false;
	s->cancel_due = false;
	if (!s->out)
		return;
	s->next = s->offers[0].start + s->offers[0].done;
	for (i = 0; i < s->out; i++)
		s->offers[i].state = state;
	s->out = 0;
	c->ops->notify(c, SDP_NOTICE_SENT);
}

/* sdp_state_cut(), when no byte behind its end is with the peer's Reads any more */
static void sdp_source_cut(struct sdp_conn *c)
{
	struct sdp_source *s = &c->source;
	u32 i;

	if (!s->cutting || s->next > s->cut_at) {
		if (!s->cutting || s->out)
			return;
		/* they have left */
		s->cut_at = s->next;
	}
	s->cutting = false;
	s->cancel_due = false;
	s->end = sdp_source_min(s->end, s->cut_at);
	for (i = s->offers_nr; i-- > 0;) {
		struct sdp_offer *offer = &s->offers[i];

		if (offer->start + offer->len <= s->end)
			continue;
		offer->len = offer->start < s->end ? s->end - offer->start : 0;
		if (offer->len == offer->done)
			sdp_source_offer_done(c, i);
	}
	if (s->oob && s->oob_at >= s->end)
		s->oob = false;
	c->ops->notify(c, SDP_NOTICE_CUT);
}

/* an advertisement of the peer is one that it does not expect to be used any more */
static void sdp_source_drop_kept(struct sdp_source *s)
{
	if (!s->kept_nr)
		return;
	s->kept_nr--;
	memmove(&s->kept[0], &s->kept[1], s->kept_nr * sizeof(s->kept[0]));
}

/* Messages of the sink ********************************************************************* */

static enum sdp_fault sdp_source_read_compl(struct sdp_conn *c, u32 octets)
{
	struct sdp_source *s = &c->source;
	struct sdp_offer *offer = &s->offers[0];

	if (!s->out || octets > offer->len - offer->done)
		return SDP_FAULT_READ;
	offer->done += octets;
	c->tx.read += octets;
	if (offer->done == offer->len) {
		s->out--;
		sdp_source_offer_done(c, 0);
	}
	/* nothing is left that could be cancelled */
	if (!s->out)
		sdp_source_rewind(c, SDP_OFFER_WAITS);
	sdp_source_cut(c);
	return SDP_OK;
}

/*
 * The answer to a cancel leaves the offers as they are; otherwise the peer wants their bytes as
 * Data
 */
static enum sdp_fault sdp_source_send_sm(struct sdp_conn *c, const struct sdp_msg *msg)
{
	struct sdp_source *s = &c->source;
	const bool answer = s->cancelling && !sdp_seq_before(msg->mseq_ack, s->cancel_mseq);

	if (!s->out)
		return SDP_FAULT_READ;
	sdp_source_rewind(c, answer ? SDP_OFFER_WAITS : SDP_OFFER_BCOPY);
	sdp_source_cut(c);
	return SDP_OK;
}

static enum sdp_fault sdp_source_sink_avail(struct sdp_conn *c, const struct sdp_msg *msg)
{
	struct sdp_source *s = &c->source;
	const s32 behind = s->payloads - msg->avail.non_discards;

	if (msg->avail.size < c->credit.peer_size || behind < 0)
		return SDP_FAULT_SINK_LIMIT;
	/* nothing will be written */
	if (s->fin_sent)
		return SDP_OK;
	/* void for the peer as soon as it gets the ModeChange, even if another one follows */
	if (s->left_pipelined)
		return SDP_OK;
	if (s->mode != SDP_MODE_PIPELINED)
		return SDP_FAULT_SINK_MODE;
	if (behind)
		return SDP_OK;
	if (s->kept_nr + c->sink.offered_nr >= c->sink.max_adverts)
		return SDP_FAULT_SINK_LIMIT;
	sdp_source_rewind(c, SDP_OFFER_WAITS);
	s->kept[s->kept_nr++] = (struct sdp_advert){
		.va = msg->avail.va,
		.size = msg->avail.size,
		.rkey = msg->avail.rkey,
		.mseq = msg->mseq,
	};
	sdp_source_cut(c);
	return SDP_OK;
}

static enum sdp_fault sdp_source_mode_change(struct sdp_conn *c, enum sdp_mode mode)
{
	struct sdp_source *s = &c->source;

	if (s->mode != SDP_MODE_BUFFERED || mode != SDP_MODE_COMBINED)
		return SDP_FAULT_MODE_CHANGE;
	s->mode = mode;
	/* the peer has other plans */
	if (s->want == SDP_MODE_BUFFERED)
		s->want = mode;
	return SDP_OK;
}

/**
 * sdp_source_acked() - the peer has processed messages
 * @c: connection
 * @mseq_ack: up to this one
 */
void sdp_source_acked(struct sdp_conn *c, u32 mseq_ack)
{
	if (!sdp_seq_before(mseq_ack, c->source.mode_mseq))
		c->source.left_pipelined = false;
}

/**
 * sdp_source_receive() - a message of the peer as sink
 * @c: connection
 * @msg: its MID is of that class
 *
 * Return: a fault, or SDP_OK.
 */
enum sdp_fault sdp_source_receive(struct sdp_conn *c, const struct sdp_msg *msg)
{
	struct sdp_source *s = &c->source;

	switch (msg->mid) {
	case SDP_MID_READ_COMPL:
		return sdp_source_read_compl(c, msg->bytes);
	case SDP_MID_SEND_SM:
		return sdp_source_send_sm(c, msg);
	case SDP_MID_SINK_AVAIL:
		return sdp_source_sink_avail(c, msg);
	case SDP_MID_SINK_CANCEL:
		if (s->kept_nr && !s->fin_sent)
			s->ack_due = true;
		s->kept_nr = 0;
		return SDP_OK;
	default:
		return sdp_source_mode_change(c, msg->change.mode);
	}
}

/* Sending ********************************************************************************** */

/* a change of mode that is wanted and legal now, or the present mode */
static enum sdp_mode sdp_source_next_mode(const struct sdp_source *s)
{
	switch (s->mode) {
	case SDP_MODE_COMBINED:
		if (s->want == SDP_MODE_PIPELINED || (s->want == SDP_MODE_BUFFERED && !s->out))
			return s->want;
		break;
	case SDP_MODE_PIPELINED:
		if (s->want != SDP_MODE_PIPELINED && !s->out && !s->kept_nr)
			return SDP_MODE_COMBINED;
		break;
	}
	return s->mode;
}

static bool sdp_source_send_mode(struct sdp_conn *c)
{
	struct sdp_source *s = &c->source;
	const enum sdp_mode mode = sdp_source_next_mode(s);
	struct sdp_msg msg = {
		.mid = SDP_MID_MODE_CHANGE,
		.change.mode = mode,
	};

	if (s->fin_sent || !sdp_credit_may(c, false))
		return false;
	sdp_credit_send(c, &msg, 0);
	if (s->mode == SDP_MODE_PIPELINED) {
		s->left_pipelined = true;
		s->mode_mseq = msg.mseq;
	}
	s->mode = mode;
	return true;
}

static bool sdp_source_cancels(struct sdp_conn *c)
{
	struct sdp_source *s = &c->source;
	struct sdp_msg msg = {};

	if (s->ack_due && sdp_credit_may(c, false)) {
		s->ack_due = false;
		msg.mid = SDP_MID_SINK_CANCEL_ACK;
		sdp_credit_send(c, &msg, 0);
		return true;
	}
	if (s->cancel_due && sdp_credit_may(c, false)) {
		s->cancel_due = false;
		s->cancelling = true;
		msg.mid = SDP_MID_SRC_CANCEL;
		sdp_credit_send(c, &msg, 0);
		s->cancel_mseq = msg.mseq;
		return true;
	}
	return false;
}

/**
 * sdp_source_control() - send a control message that is due
 * @c: connection
 *
 * Most calls find nothing: they make no message.
 *
 * Return: whether one was sent.
 */
bool sdp_source_control(struct sdp_conn *c)
{
	const struct sdp_source *s = &c->source;

	if ((s->ack_due || s->cancel_due) && sdp_source_cancels(c))
		return true;
	return sdp_source_next_mode(s) != s->mode && sdp_source_send_mode(c);
}

/* most bytes of payload behind @hdr bytes of headers */
static u32 sdp_source_room(const struct sdp_conn *c, u32 hdr)
{
	return sdp_source_min(c->credit.peer_size, c->credit.send_max) - hdr;
}

/**
 * sdp_source_may_take() - may the next message have payload that is not advertised?
 * @c: connection
 */
bool sdp_source_may_take(const struct sdp_conn *c)
{
	const struct sdp_source *s = &c->source;

	/* the peer takes payload before SinkCancelAck for one that used up its SinkAvail */
	return s->next < s->end && !s->out && !s->fin_sent && !s->cutting && !s->ack_due &&
	       !c->suspended && !c->credit.hold;
}

/* payload for a message: up to @room bytes, and not beyond the out-of-band one */
static u32 sdp_source_take(struct sdp_conn *c, u32 room, struct sdp_msg *msg, u64 *from)
{
	struct sdp_source *s = &c->source;
	struct sdp_offer *offer = sdp_source_offer_at(s, s->next);
	u32 n = sdp_source_min(room, sdp_source_run_len(s, offer));

	if (s->oob && s->oob_at - s->next < n) {
		n = s->oob_at - s->next + 1;
		msg->flags |= SDP_FLAG_OOB_PRES;
	}
	msg->payload_len = n;
	*from = s->next;
	s->payloads++;
	sdp_source_drop_kept(s);
	return n;
}

/**
 * sdp_source_flags() - set the flags of a message about the out-of-band byte
 * @c: connection
 * @msg: message; OOB_PRES is set if its payload ends with the byte
 */
void sdp_source_flags(struct sdp_conn *c, struct sdp_msg *msg)
{
	struct sdp_source *s = &c->source;

	if (s->oob && !s->noticed && s->oob_at - s->next <= SDP_OOB_NOTICE) {
		msg->flags |= SDP_FLAG_OOB_PEND;
		s->noticed = true;
	}
	if (msg->flags & SDP_FLAG_OOB_PRES) {
		s->oob = false;
		s->noticed = false;
	}
}

/**
 * sdp_source_notice_due() - should a message be sent only for its OOB_PEND?
 * @c: connection
 */
bool sdp_source_notice_due(const struct sdp_conn *c)
{
	const struct sdp_source *s = &c->source;

	return s->oob && !s->noticed && !s->fin_sent && s->oob_at - s->next <= SDP_OOB_NOTICE;
}

static bool sdp_source_send_data(struct sdp_conn *c)
{
	struct sdp_offer *offer = sdp_source_offer_at(&c->source, c->source.next);
	struct sdp_msg msg = { .mid = SDP_MID_DATA };
	u64 from;
	u32 n;

	if (!sdp_credit_may(c, true))
		return false;
	n = sdp_source_take(c, sdp_source_room(c, SDP_BSDH_LEN), &msg, &from);
	sdp_credit_send(c, &msg, from);
	sdp_source_advance(c, offer, n);
	return true;
}

/**
 * sdp_source_transaction() - send a SinkAvail with payload
 * @c: connection; sdp_source_may_take() and sdp_credit_may() have agreed
 * @msg: the SinkAvail
 */
void sdp_source_transaction(struct sdp_conn *c, struct sdp_msg *msg)
{
	struct sdp_offer *offer = sdp_source_offer_at(&c->source, c->source.next);
	u64 from;
	u32 n;

	n = sdp_source_take(c, sdp_source_room(c, SDP_MSG_HDR_MAX), msg, &from);
	sdp_credit_send(c, msg, from);
	sdp_source_advance(c, offer, n);
}

/* a valid SinkAvail: more than fits into a message is written */
static bool sdp_source_write(struct sdp_conn *c)
{
	struct sdp_source *s = &c->source;
	const struct sdp_advert sink = s->kept[0];
	struct sdp_offer *offer = sdp_source_offer_at(s, s->next);
	struct sdp_msg msg = { .mid = SDP_MID_WRITE_COMPL };
	u32 n = sdp_source_min(sink.size, sdp_source_run_len(s, offer));
	u32 some;

	if (s->oob)
		n = sdp_source_min(n, s->oob_at - s->next);
	if (n <= sdp_source_room(c, SDP_BSDH_LEN))
		return sdp_source_send_data(c);
	if (c->credit.slots < 2 || !sdp_credit_may(c, false))
		return false;
	/* one slot is for RdmaWrCompl */
	while (msg.bytes < n && c->credit.slots > 1) {
		some = c->ops->write(c, sink.rkey, sink.va + msg.bytes, s->next + msg.bytes,
				     n - msg.bytes);
		if (!some)
			break;
		c->credit.slots--;
		msg.bytes += some;
	}
	n = msg.bytes;
	if (!n)
		return false;
	sdp_source_drop_kept(s);
	c->tx.written += n;
	sdp_credit_send(c, &msg, 0);
	sdp_source_advance(c, offer, n);
	return true;
}

/* may this offer be advertised, or has it to travel as Data? */
static bool sdp_source_may_advertise(struct sdp_conn *c, const struct sdp_offer *offer)
{
	struct sdp_source *s = &c->source;
	const u32 missing = offer->len - (s->next - offer->start);

	if (offer->state != SDP_OFFER_WAITS || s->mode == SDP_MODE_BUFFERED || s->kept_nr)
		return false;
	/* a change of mode waits until none is outstanding */
	if (s->want < s->mode)
		return false;
	if (s->mode == SDP_MODE_COMBINED && (s->out || missing < 2))
		return false;
	return s->out + c->sink.out < s->max_adverts;
}

static bool sdp_source_advertise(struct sdp_conn *c, struct sdp_offer *offer)
{
	struct sdp_source *s = &c->source;
	const u32 at = s->next - offer->start;
	const u64 from = s->next;
	struct sdp_msg msg = {
		.mid = SDP_MID_SRC_AVAIL,
		.avail.size = offer->len - at,
		.avail.rkey = offer->rkey,
		.avail.va = offer->va + at,
	};

	if (!sdp_credit_may(c, true))
		return false;
	if (s->mode == SDP_MODE_COMBINED) {
		msg.payload_len = sdp_source_min(sdp_source_room(c, SDP_BSDH_LEN + 16),
						 msg.avail.size - 1);
		s->payloads++;
	}
	offer->state = SDP_OFFER_ADVERTISED;
	offer->done = at + msg.payload_len;
	s->out++;
	sdp_credit_send(c, &msg, from);
	s->next = offer->start + offer->len;
	c->ops->notify(c, SDP_NOTICE_SENT);
	return true;
}

/**
 * sdp_source_payload() - send bytes of the stream, by the best mechanism
 * @c: connection
 *
 * Return: whether something was sent.
 */
bool sdp_source_payload(struct sdp_conn *c)
{
	struct sdp_source *s = &c->source;
	struct sdp_offer *offer;

	sdp_source_cut(c);
	if (s->next == s->end || s->fin_sent || s->cutting || s->ack_due || c->suspended ||
	    c->credit.hold)
		return false;
	offer = sdp_source_offer_at(s, s->next);
	if (offer && sdp_source_may_advertise(c, offer))
		return sdp_source_advertise(c, offer);
	/* no payload behind a SrcAvail */
	if (s->out)
		return false;
	return s->kept_nr ? sdp_source_write(c) : sdp_source_send_data(c);
}

static bool sdp_source_send_fin(struct sdp_conn *c)
{
	struct sdp_msg msg = { .mid = SDP_MID_DISCONN };
	struct sdp_source *s = &c->source;

	if (s->next != s->end || s->out || s->cutting || s->ack_due ||
	    c->suspended || !sdp_credit_may(c, false))
		return false;
	s->fin_sent = true;
	s->kept_nr = 0;
	sdp_credit_send(c, &msg, 0);
	return true;
}

/**
 * sdp_source_fin() - send DisConn, if it is due
 * @c: connection
 *
 * Return: whether it was sent.
 */
bool sdp_source_fin(struct sdp_conn *c)
{
	return c->source.fin && !c->source.fin_sent && sdp_source_send_fin(c);
}

/**
 * sdp_source_end() - the connection is over: give everything back
 * @c: connection
 */
void sdp_source_end(struct sdp_conn *c)
{
	struct sdp_source *s = &c->source;

	s->kept_nr = 0;
	s->out = 0;
	while (s->offers_nr)
		sdp_source_offer_done(c, 0);
	if (s->cutting) {
		s->cutting = false;
		c->ops->notify(c, SDP_NOTICE_CUT);
	}
}

/* Calls ************************************************************************************ */

static bool sdp_source_open(const struct sdp_conn *c)
{
	return c->state < SDP_DEAD && !c->source.fin && !c->source.cutting;
}

/**
 * sdp_state_queue() - hand over bytes of the stream
 * @c: connection
 * @octets: how many; the caller has them at the positions from source.end on
 *
 * Return: 0, -EPIPE after SDP_EV_FIN or the end, -EBUSY while sdp_state_cut() is going on.
 */
int sdp_state_queue(struct sdp_conn *c, u32 octets)
{
	if (!sdp_source_open(c))
		return c->source.cutting ? -EBUSY : -EPIPE;
	c->source.end += octets;
	sdp_state_run(c);
	return 0;
}

/**
 * sdp_state_offer() - hand over bytes of the stream that the peer may read
 * @c: connection
 * @len: bytes, 1 or more
 * @rkey: for the peer's RDMA Reads
 * @va: address of the first byte
 * @cookie: for offer_done()
 *
 * The bytes may travel by any mechanism.
 *
 * Return: 0, -EAGAIN if there are too many offers, or as sdp_state_queue().
 */
int sdp_state_offer(struct sdp_conn *c, u32 len, u32 rkey, u64 va, void *cookie)
{
	struct sdp_source *s = &c->source;

	if (!sdp_source_open(c))
		return s->cutting ? -EBUSY : -EPIPE;
	if (!len || len > 0x7fffffff)
		return -EINVAL;
	if (s->offers_nr == SDP_ADVERTS)
		return -EAGAIN;
	s->offers[s->offers_nr++] = (struct sdp_offer){
		.start = s->end,
		.va = va,
		.len = len,
		.rkey = rkey,
		.cookie = cookie,
	};
	s->end += len;
	sdp_state_run(c);
	return 0;
}

/**
 * sdp_state_urgent() - hand over one byte of the stream, the out-of-band one
 * @c: connection
 *
 * An earlier one that has not left becomes an ordinary byte.
 *
 * Return: as sdp_state_queue().
 */
int sdp_state_urgent(struct sdp_conn *c)
{
	struct sdp_source *s = &c->source;

	if (!sdp_source_open(c))
		return s->cutting ? -EBUSY : -EPIPE;
	s->oob = true;
	s->oob_at = s->end;
	s->end++;
	sdp_state_run(c);
	return 0;
}

/**
 * sdp_state_cut() - take bytes back that have not reached the peer
 * @c: connection
 * @end: wanted end of the stream; all bytes behind it are the caller's, and none is out-of-band
 *
 * The stream ends at @end, or behind the last byte that the peer has or will have, if that is
 * later. SDP_NOTICE_CUT says that source.end is final; that may be during this call. Until then
 * nothing can be handed over.
 */
void sdp_state_cut(struct sdp_conn *c, u64 end)
{
	struct sdp_source *s = &c->source;

	if (s->cutting) {
		s->cut_at = sdp_source_min(s->cut_at, end);
	} else {
		s->cutting = true;
		s->cut_at = end;
	}
	/* what was advertised behind the end has to come back first */
	if (s->out && s->next > s->cut_at && !s->cancelling)
		s->cancel_due = true;
	if (c->state == SDP_DEAD)
		sdp_source_end(c);
	else
		sdp_source_cut(c);
	sdp_state_run(c);
}

/**
 * sdp_state_want_mode() - choose the mode of the half connection that this end sends
 * @c: connection
 * @mode: the mode is changed when that is legal. Buffered mode is left only when the peer asks
 *
 * krdma_sdp follows its peer and chooses none itself; the tests do, as peers may.
 */
void sdp_state_want_mode(struct sdp_conn *c, enum sdp_mode mode)
{
	c->source.want = mode;
	sdp_state_run(c);
}
