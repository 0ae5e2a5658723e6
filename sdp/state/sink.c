// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The half connection that this end receives: SrcAvails of the peer and Reads of them, own buffers
 * for its Writes. docs/sdp-wire.md sections 7 and 8.
 *
 * A SrcAvail that arrives is kept until all of it has been read and reported, or until SendSm.
 * Reads are posted in order and complete in order, so three counters for each say where it stands.
 */
#include <linux/errno.h>
#include <linux/string.h>

#include "internal.h"

static void sdp_sink_drop_offered(struct sdp_sink *k)
{
	k->offered_nr--;
	memmove(&k->offered[0], &k->offered[1], k->offered_nr * sizeof(k->offered[0]));
}

/* the first buffer is over */
static void sdp_sink_buf_done(struct sdp_conn *c, u32 octets, enum sdp_sink_end how)
{
	struct sdp_sink *k = &c->sink;
	void *cookie = k->bufs[0].cookie;

	k->bufs_nr--;
	if (k->out)
		k->out--;
	memmove(&k->bufs[0], &k->bufs[1], k->bufs_nr * sizeof(k->bufs[0]));
	if (!k->out) {
		k->cancel_due = false;
		k->cancelling = false;
	}
	c->ops->sink_done(c, cookie, octets, how);
}

/* buffers from the @first on are not used */
static void sdp_sink_drop_from(struct sdp_conn *c, u32 first)
{
	struct sdp_sink *k = &c->sink;

	while (k->bufs_nr > first) {
		void *cookie = k->bufs[--k->bufs_nr].cookie;

		if (k->out > k->bufs_nr)
			k->out = k->bufs_nr;
		c->ops->sink_done(c, cookie, 0, SDP_SINK_VOID);
	}
	if (!k->out) {
		k->cancel_due = false;
		k->cancelling = false;
	}
}

/**
 * sdp_sink_void() - the peer uses no buffer any more
 * @c: connection
 */
void sdp_sink_void(struct sdp_conn *c)
{
	sdp_sink_drop_from(c, 0);
}

/**
 * sdp_sink_payload() - a message with payload has arrived
 * @c: connection
 * @msg: message
 *
 * It uses up the oldest buffer, if the peer knew of it. Buffers that the peer did not know of are
 * void: it finds them stale.
 *
 * Return: a fault, or SDP_OK.
 */
enum sdp_fault sdp_sink_payload(struct sdp_conn *c, const struct sdp_msg *msg)
{
	struct sdp_sink *k = &c->sink;
	u32 known = 0;

	if (k->offered_nr && msg->mid != SDP_MID_SRC_AVAIL)
		return SDP_FAULT_SRC_PAYLOAD;
	k->payloads++;
	while (known < k->out && !sdp_seq_before(msg->mseq_ack, k->bufs[known].mseq))
		known++;
	sdp_sink_drop_from(c, known);
	if (known)
		sdp_sink_buf_done(c, 0, SDP_SINK_USED_UP);
	return SDP_OK;
}

/* Messages of the source ******************************************************************* */

static enum sdp_fault sdp_sink_src_avail(struct sdp_conn *c, const struct sdp_msg *msg)
{
	struct sdp_sink *k = &c->sink;
	const bool combined = k->mode == SDP_MODE_COMBINED;

	if (k->mode == SDP_MODE_BUFFERED || combined != !!msg->payload_len)
		return SDP_FAULT_SRC_MODE;
	if (k->answering || (combined && k->offered_nr))
		return SDP_FAULT_SRC_LIMIT;
	/* the source makes it void when it gets the SinkAvail, or SendSm */
	if (k->out)
		return sdp_seq_before(msg->mseq_ack, k->bufs[0].mseq) ? SDP_OK :
									SDP_FAULT_SRC_LIMIT;
	if (k->sent_sm)
		return msg->payload_len ? SDP_FAULT_SRC_LIMIT : SDP_OK;
	if (k->offered_nr + c->source.kept_nr >= k->max_adverts)
		return SDP_FAULT_SRC_LIMIT;
	/* what was not advertised yet must not be: the bytes are to be read */
	sdp_sink_drop_from(c, 0);
	k->offered[k->offered_nr++] = (struct sdp_advert){
		.va = msg->avail.va,
		.size = msg->avail.size,
		.rkey = msg->avail.rkey,
		.mseq = msg->mseq,
		.begun = msg->payload_len,
		.read = msg->payload_len,
		.reported = msg->payload_len,
	};
	c->ops->notify(c, SDP_NOTICE_SRC_AVAIL);
	return SDP_OK;
}

/* a cancel: no further Reads, and MSeqAck waits for those that are posted */
static void sdp_sink_src_cancel(struct sdp_conn *c, u32 mseq)
{
	struct sdp_sink *k = &c->sink;

	if (!k->offered_nr)
		return;
	k->refusing = true;
	k->answering = true;
	c->credit.hold = k->reading;
	c->credit.hold_at = mseq - 1;
}

static enum sdp_fault sdp_sink_write_compl(struct sdp_conn *c, u32 octets)
{
	struct sdp_sink *k = &c->sink;

	if (!k->out || octets > k->bufs[0].size)
		return SDP_FAULT_WRITE;
	c->rx.written += octets;
	sdp_sink_buf_done(c, octets, SDP_SINK_WRITTEN);
	return SDP_OK;
}

static enum sdp_fault sdp_sink_mode_change(struct sdp_conn *c, enum sdp_mode mode)
{
	struct sdp_sink *k = &c->sink;

	switch (k->mode) {
	case SDP_MODE_COMBINED:
		if (mode == SDP_MODE_COMBINED || (mode == SDP_MODE_BUFFERED && k->offered_nr))
			return SDP_FAULT_MODE_CHANGE;
		break;
	case SDP_MODE_PIPELINED:
		if (mode != SDP_MODE_COMBINED || k->offered_nr)
			return SDP_FAULT_MODE_CHANGE;
		break;
	default:
		return SDP_FAULT_MODE_CHANGE;
	}
	k->mode = mode;
	sdp_sink_void(c);
	return SDP_OK;
}

/**
 * sdp_sink_acked() - the peer has processed messages
 * @c: connection
 * @mseq_ack: up to this one
 */
void sdp_sink_acked(struct sdp_conn *c, u32 mseq_ack)
{
	if (!sdp_seq_before(mseq_ack, c->sink.send_sm))
		c->sink.sent_sm = false;
}

/**
 * sdp_sink_receive() - a message of the peer as source
 * @c: connection
 * @msg: its MID is of that class; payload of Data and SinkAvail was handled before
 *
 * Return: a fault, or SDP_OK.
 */
enum sdp_fault sdp_sink_receive(struct sdp_conn *c, const struct sdp_msg *msg)
{
	struct sdp_sink *k = &c->sink;

	switch (msg->mid) {
	case SDP_MID_SRC_AVAIL:
		return sdp_sink_src_avail(c, msg);
	case SDP_MID_SRC_CANCEL:
		sdp_sink_src_cancel(c, msg->mseq);
		return SDP_OK;
	case SDP_MID_WRITE_COMPL:
		return sdp_sink_write_compl(c, msg->bytes);
	case SDP_MID_SINK_CANCEL_ACK:
		if (!k->cancelling)
			return SDP_FAULT_WRITE;
		sdp_sink_drop_from(c, 0);
		return SDP_OK;
	case SDP_MID_MODE_CHANGE:
		return sdp_sink_mode_change(c, msg->change.mode);
	default:
		return SDP_OK;
	}
}

/* Sending ********************************************************************************** */

/* report to the source what was read, of its oldest SrcAvail */
static bool sdp_sink_report(struct sdp_conn *c)
{
	struct sdp_sink *k = &c->sink;
	struct sdp_advert *a = &k->offered[0];
	struct sdp_msg msg = { .mid = SDP_MID_READ_COMPL };

	if (!k->offered_nr || a->read == a->reported || !sdp_credit_may(c, false))
		return false;
	msg.bytes = a->read - a->reported;
	a->reported = a->read;
	if (a->reported == a->size)
		sdp_sink_drop_offered(k);
	sdp_credit_send(c, &msg, 0);
	return true;
}

static bool sdp_sink_send_sm(struct sdp_conn *c)
{
	struct sdp_sink *k = &c->sink;
	struct sdp_msg msg = { .mid = SDP_MID_SEND_SM };

	if (!k->refusing || k->reading)
		return false;
	if (k->offered_nr) {
		if (!sdp_credit_may(c, false))
			return false;
		k->offered_nr = 0;
		sdp_credit_send(c, &msg, 0);
		k->sent_sm = true;
		k->send_sm = msg.mseq;
	}
	k->refusing = false;
	k->answering = false;
	c->ops->notify(c, SDP_NOTICE_SRC_AVAIL);
	return true;
}

/* may the next buffer be advertised? */
static bool sdp_sink_may_advertise(const struct sdp_conn *c)
{
	const struct sdp_sink *k = &c->sink;

	return k->out < k->bufs_nr && k->mode == SDP_MODE_PIPELINED && !k->offered_nr &&
	       !k->cancel_due && !k->cancelling && !k->fin && !c->suspended && !c->credit.hold &&
	       k->out + c->source.out < c->source.max_adverts;
}

static bool sdp_sink_advertise(struct sdp_conn *c)
{
	struct sdp_sink *k = &c->sink;
	struct sdp_sink_buf *buf = &k->bufs[k->out];
	struct sdp_msg msg = {
		.mid = SDP_MID_SINK_AVAIL,
		.avail.size = buf->size,
		.avail.rkey = buf->rkey,
		.avail.va = buf->va,
		.avail.non_discards = k->payloads,
	};

	if (!sdp_sink_may_advertise(c))
		return false;
	/* the private buffers have become larger since */
	if (buf->size < c->credit.size) {
		sdp_sink_drop_from(c, k->out);
		return false;
	}
	if (buf->with_data && sdp_source_may_take(c) && sdp_credit_left(c) > SDP_RESERVED) {
		if (!sdp_credit_may(c, true))
			return false;
		k->out++;
		buf->mseq = c->credit.sent + 1;
		sdp_source_transaction(c, &msg);
		return true;
	}
	if (!sdp_credit_may(c, false))
		return false;
	k->out++;
	buf->mseq = c->credit.sent + 1;
	sdp_credit_send(c, &msg, 0);
	return true;
}

/* Reports come before SendSm, which ends what was not reported. */
static bool sdp_sink_control_due(struct sdp_conn *c)
{
	struct sdp_sink *k = &c->sink;
	struct sdp_msg msg = {};

	if (sdp_sink_report(c) || sdp_sink_send_sm(c))
		return true;
	if (k->cancel_due && sdp_credit_may(c, false)) {
		k->cancel_due = false;
		k->cancelling = true;
		msg.mid = SDP_MID_SINK_CANCEL;
		sdp_credit_send(c, &msg, 0);
		return true;
	}
	if (k->want_combined && k->mode == SDP_MODE_BUFFERED && sdp_credit_may(c, false)) {
		k->want_combined = false;
		k->mode = SDP_MODE_COMBINED;
		msg.mid = SDP_MID_MODE_CHANGE;
		msg.change.send_half = true;
		msg.change.mode = SDP_MODE_COMBINED;
		sdp_credit_send(c, &msg, 0);
		return true;
	}
	return sdp_sink_advertise(c);
}

/**
 * sdp_sink_control() - send a message that is due
 * @c: connection
 *
 * Most calls find nothing: they make no message.
 *
 * Return: whether one was sent.
 */
bool sdp_sink_control(struct sdp_conn *c)
{
	const struct sdp_sink *k = &c->sink;

	if (!k->offered_nr && !k->refusing && !k->cancel_due && !k->want_combined &&
	    k->out == k->bufs_nr)
		return false;
	return sdp_sink_control_due(c);
}

/**
 * sdp_sink_end() - the connection is over: give everything back
 * @c: connection
 */
void sdp_sink_end(struct sdp_conn *c)
{
	c->sink.offered_nr = 0;
	c->sink.refusing = false;
	c->sink.answering = false;
	c->credit.hold = false;
	sdp_sink_void(c);
}

/* Calls ************************************************************************************ */

/**
 * sdp_state_readable() - bytes that sdp_state_read() may be asked for
 * @c: connection
 *
 * They follow all payload that was delivered.
 *
 * Return: bytes of the oldest SrcAvail for which no Read was posted.
 */
u32 sdp_state_readable(const struct sdp_conn *c)
{
	const struct sdp_sink *k = &c->sink;
	u32 i;

	if (k->refusing)
		return 0;
	for (i = 0; i < k->offered_nr; i++)
		if (k->offered[i].begun < k->offered[i].size)
			return k->offered[i].size - k->offered[i].begun;
	return 0;
}

/**
 * sdp_state_read() - post an RDMA Read of bytes that the peer has advertised
 * @c: connection
 * @len: most bytes
 * @cookie: for the op
 *
 * Return: bytes of the Read, 0 if there is nothing to read or no work request is free.
 */
u32 sdp_state_read(struct sdp_conn *c, u32 len, void *cookie)
{
	struct sdp_sink *k = &c->sink;
	const u32 readable = sdp_state_readable(c);
	struct sdp_advert *a = k->offered;

	if (!readable || !len || !c->credit.slots || c->state == SDP_DEAD)
		return 0;
	if (len > readable)
		len = readable;
	while (a->begun == a->size)
		a++;
	c->credit.slots--;
	k->reading += len;
	a->begun += len;
	c->ops->read(c, a->rkey, a->va + a->begun - len, len, cookie);
	return len;
}

/**
 * sdp_state_read_done() - the oldest Read that is posted has completed
 * @c: connection
 * @octets: its bytes
 *
 * Its work request has to be given back by sdp_state_sent(), too.
 */
void sdp_state_read_done(struct sdp_conn *c, u32 octets)
{
	struct sdp_sink *k = &c->sink;
	u32 i, n;

	if (octets > k->reading)
		octets = k->reading;
	k->reading -= octets;
	c->rx.read += octets;
	for (i = 0; i < k->offered_nr && octets; i++) {
		struct sdp_advert *a = &k->offered[i];

		n = a->begun - a->read < octets ? a->begun - a->read : octets;
		a->read += n;
		octets -= n;
	}
	if (!k->reading)
		c->credit.hold = false;
	sdp_state_run(c);
}

/**
 * sdp_state_refuse() - ask the peer to send what it has advertised as Data
 * @c: connection
 *
 * Reads that are posted complete first.
 */
void sdp_state_refuse(struct sdp_conn *c)
{
	if (!c->sink.offered_nr || c->state == SDP_DEAD)
		return;
	c->sink.refusing = true;
	sdp_state_run(c);
}

/**
 * sdp_state_sink() - let the peer write into a buffer
 * @c: connection
 * @size: bytes, at least conn.credit.size
 * @rkey: for the peer's RDMA Writes
 * @va: address of the first byte
 * @with_data: send bytes of this end together with the advertisement, if there are some
 * @cookie: for sink_done(), which reports the end of the buffer
 *
 * All payload that was delivered has been taken by the program: what comes next is for the buffer.
 *
 * Return: 0, -EINVAL, -EAGAIN if the peer cannot write now or there are too many buffers.
 */
int sdp_state_sink(struct sdp_conn *c, u32 size, u32 rkey, u64 va, bool with_data, void *cookie)
{
	struct sdp_sink *k = &c->sink;

	if (size < c->credit.size)
		return -EINVAL;
	if (k->bufs_nr == SDP_ADVERTS || k->mode != SDP_MODE_PIPELINED || k->offered_nr ||
	    k->cancel_due || k->cancelling || k->fin || c->state >= SDP_LAST_ACK)
		return -EAGAIN;
	k->bufs[k->bufs_nr++] = (struct sdp_sink_buf){
		.va = va,
		.size = size,
		.rkey = rkey,
		.with_data = with_data,
		.cookie = cookie,
	};
	sdp_state_run(c);
	return 0;
}

/**
 * sdp_state_sink_cancel() - take the buffers of sdp_state_sink() back
 * @c: connection
 *
 * sink_done() reports the end of each; for those that the peer does not know of, during this call.
 */
void sdp_state_sink_cancel(struct sdp_conn *c)
{
	struct sdp_sink *k = &c->sink;

	sdp_sink_drop_from(c, k->out);
	if (k->out && !k->cancelling)
		k->cancel_due = true;
	sdp_state_run(c);
}

/**
 * sdp_state_want_pipelined() - ask the peer for pipelined mode of the half that it sends
 * @c: connection
 * @want: ask in each message until it is done
 *
 * In buffered mode combined mode is asked for first.
 */
void sdp_state_want_pipelined(struct sdp_conn *c, bool want)
{
	c->sink.want_pipelined = want;
	c->sink.want_combined = want && c->sink.mode == SDP_MODE_BUFFERED;
	sdp_state_run(c);
}
