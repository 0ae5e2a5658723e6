// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Numbers, credits and private buffers, docs/sdp-wire.md section 4. Every message of a connection
 * leaves through sdp_credit_send() and is checked by sdp_credit_check() when it arrives.
 *
 * The sum of MSeqAck and Bufs is the number of the last message that the peer may send. All
 * decisions compare such numbers, so that messages that cross do not matter.
 */
#include <linux/string.h>

#include "internal.h"

/* buffers that stay posted when the window is closed, so that control messages arrive */
#define SDP_FLOOR	SDP_RESERVED

/* MSeqAck of a message that is sent now */
static u32 sdp_credit_ack(const struct sdp_conn *c)
{
	return c->credit.hold ? c->credit.hold_at : c->credit.got;
}

/* credits that a message sent now gives, beyond those of the message before */
static s32 sdp_credit_gain(const struct sdp_conn *c)
{
	return sdp_credit_ack(c) + c->credit.posted - c->credit.given;
}

/*
 * ... beyond those of all messages before. While MSeqAck is held back, a message can give fewer
 * than an earlier one, which the peer may have used up.
 */
static s32 sdp_credit_sure_gain(const struct sdp_conn *c)
{
	return sdp_credit_ack(c) + c->credit.posted - c->credit.given_max;
}

/* how many receives should be posted */
static u32 sdp_credit_target(const struct sdp_conn *c)
{
	const struct sdp_credit *credit = &c->credit;
	u32 target = 0;

	if (credit->window > credit->held)
		target = (credit->window - credit->held) / credit->size;
	if (target > credit->ring)
		target = credit->ring;
	return target < SDP_FLOOR ? SDP_FLOOR : target;
}

/**
 * sdp_credit_post() - post receives up to what the window allows
 * @c: connection
 *
 * Return: receives that are posted now.
 */
u32 sdp_credit_post(struct sdp_conn *c)
{
	struct sdp_credit *credit = &c->credit;
	const u32 target = sdp_credit_target(c);
	u32 n, of_updates;

	if (target > SDP_FLOOR)
		credit->loans = 0;
	if (credit->posted >= target)
		return credit->posted;
	n = c->ops->post(c, target - credit->posted);
	credit->posted += n;
	of_updates = n < credit->updates ? n : credit->updates;
	credit->updates -= of_updates;
	credit->news += n - of_updates;
	return credit->posted;
}

/**
 * sdp_credit_begin() - the credits that Hello and HelloAck give
 * @c: connection; its receives are posted
 * @limit: the peer's Bufs
 */
void sdp_credit_begin(struct sdp_conn *c, u32 limit)
{
	c->credit.limit = c->credit.sent + limit;
}

/**
 * sdp_credit_left() - messages that may be sent
 * @c: connection
 *
 * Return: credits.
 */
u32 sdp_credit_left(const struct sdp_conn *c)
{
	if (sdp_seq_before(c->credit.limit, c->credit.sent))
		return 0;
	return c->credit.limit - c->credit.sent;
}

/* a receive beyond the window makes the last credit good for a control message */
static bool sdp_credit_loan(struct sdp_conn *c)
{
	if (c->credit.loans >= SDP_LOANS || sdp_credit_sure_gain(c) < 0 || !c->ops->post(c, 1))
		return false;
	c->credit.posted++;
	c->credit.loans++;
	return true;
}

/**
 * sdp_credit_may() - may a message be sent now?
 * @c: connection
 * @payload: it has payload, or is a SrcAvail
 *
 * May post a receive. So it is asked last, before a message that then is sent.
 */
bool sdp_credit_may(struct sdp_conn *c, bool payload)
{
	const u32 left = sdp_credit_left(c);

	if (!c->credit.slots)
		return false;
	if (payload)
		return left > SDP_RESERVED;
	if (left >= SDP_RESERVED)
		return true;
	return left && (sdp_credit_sure_gain(c) > 0 || sdp_credit_loan(c));
}

/**
 * sdp_state_closed() - may the peer send no payload for lack of credits?
 * @c: connection
 *
 * Return: whether sdp_credit_check() would find its next payload wrong.
 */
bool sdp_state_closed(const struct sdp_conn *c)
{
	return (s32)(c->credit.given_max - c->credit.got) <= SDP_RESERVED;
}

/**
 * sdp_credit_update_due() - should a credit update be sent, if nothing else is?
 * @c: connection
 *
 * The lines are those of the table in section 4. Those without news restore a peer whose own
 * updates took its credits. They cannot go on for ever, because the answer to an update leaves
 * more credits than they ask for.
 */
bool sdp_credit_update_due(const struct sdp_conn *c)
{
	const struct sdp_credit *credit = &c->credit;
	const s32 left = credit->given - credit->got;
	const s32 gain = sdp_credit_gain(c);
	const s32 avail = left + gain;

	if (gain <= 0 || !sdp_credit_left(c) || !credit->slots)
		return false;
	if (sdp_credit_left(c) < SDP_RESERVED && sdp_credit_sure_gain(c) <= 0)
		return false;
	if (left <= 0 || (avail >= SDP_RESERVED + 2 && left <= SDP_RESERVED))
		return true;
	if (!credit->news)
		return false;
	if (left < SDP_RESERVED || (avail > SDP_RESERVED && left <= SDP_RESERVED))
		return true;
	return left < 2 * gain && sdp_credit_left(c) >= SDP_RESERVED;
}

/**
 * sdp_credit_send() - number a message and send it
 * @c: connection; sdp_credit_may() has agreed
 * @msg: message without numbers
 * @from: position of its payload
 */
void sdp_credit_send(struct sdp_conn *c, struct sdp_msg *msg, u64 from)
{
	struct sdp_credit *credit = &c->credit;

	credit->sent++;
	msg->mseq = credit->sent;
	msg->mseq_ack = sdp_credit_ack(c);
	msg->bufs = credit->posted;
	msg->hdr_len = sdp_wire_hdr_len(msg);
	sdp_source_flags(c, msg);
	if (c->sink.want_pipelined && c->sink.mode == SDP_MODE_COMBINED)
		msg->flags |= SDP_FLAG_REQ_PIPE;

	credit->given = msg->mseq_ack + msg->bufs;
	if (sdp_seq_before(credit->given_max, credit->given))
		credit->given_max = credit->given;
	credit->news = 0;
	credit->slots--;
	c->tx.messages++;
	c->tx.bcopy += msg->payload_len;
	c->tx.updates += msg->mid == SDP_MID_DATA && !msg->payload_len;
	c->tx.adverts += msg->mid == SDP_MID_SRC_AVAIL || msg->mid == SDP_MID_SINK_AVAIL;
	c->ops->send(c, msg, from);
}

/**
 * sdp_credit_check() - check the numbers of a message that arrived
 * @c: connection
 * @msg: message
 *
 * Return: a fault, or SDP_OK.
 */
enum sdp_fault sdp_credit_check(struct sdp_conn *c, const struct sdp_msg *msg)
{
	const struct sdp_credit *credit = &c->credit;
	const bool payload = msg->payload_len || msg->mid == SDP_MID_SRC_AVAIL;
	const s32 left = credit->given_max - credit->got;

	if (msg->mseq != credit->got + 1)
		return SDP_FAULT_SEQ;
	if (sdp_seq_before(msg->mseq_ack, credit->acked) ||
	    sdp_seq_before(credit->sent, msg->mseq_ack))
		return SDP_FAULT_ACK;
	if (left <= (payload ? SDP_RESERVED : 0))
		return SDP_FAULT_CREDIT;
	return SDP_OK;
}

/**
 * sdp_credit_received() - take note of the numbers of a message
 * @c: connection
 * @msg: message that sdp_credit_check() found right
 */
void sdp_credit_received(struct sdp_conn *c, const struct sdp_msg *msg)
{
	struct sdp_credit *credit = &c->credit;

	credit->got = msg->mseq;
	credit->acked = msg->mseq_ack;
	credit->limit = msg->mseq_ack + msg->bufs;
	sdp_source_acked(c, msg->mseq_ack);
	sdp_sink_acked(c, msg->mseq_ack);
	c->rx.messages++;
	c->rx.bcopy += msg->payload_len;
	c->rx.adverts += msg->mid == SDP_MID_SRC_AVAIL || msg->mid == SDP_MID_SINK_AVAIL;
	if (msg->payload_len) {
		credit->held += credit->size;
	} else if (msg->mid == SDP_MID_DATA) {
		credit->updates++;
		c->rx.updates++;
	}
}

/**
 * sdp_state_release() - receive buffers are free again
 * @c: connection
 * @octets: sum of their sizes, or what was saved by copying a small payload out of a large buffer
 *
 * Each delivered payload counts as conn.credit.size bytes, until it is released.
 */
void sdp_state_release(struct sdp_conn *c, u32 octets)
{
	c->credit.held -= octets < c->credit.held ? octets : c->credit.held;
	sdp_state_run(c);
}

/**
 * sdp_credit_window() - set the window
 * @c: connection
 * @window: bytes of receive buffers; made larger if fewer than four buffers fit
 *
 * With three, a peer whose last message was a credit update could send no payload.
 */
void sdp_credit_window(struct sdp_conn *c, u32 window)
{
	const u32 least = c->credit.size * (SDP_FLOOR + 2);

	c->credit.window = window < least ? least : window;
}

/**
 * sdp_state_window() - change the size of the window
 * @c: connection
 * @window: bytes of receive buffers
 */
void sdp_state_window(struct sdp_conn *c, u32 window)
{
	sdp_credit_window(c, window);
	sdp_state_run(c);
}

/**
 * sdp_state_sent() - work requests of the send queue have completed
 * @c: connection
 * @slots: Sends, Writes and Reads among them
 */
void sdp_state_sent(struct sdp_conn *c, u32 slots)
{
	c->credit.slots += slots;
	sdp_state_run(c);
}
