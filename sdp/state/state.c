// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The connection as a whole: begin and end, docs/sdp-wire.md sections 3 and 11 to 13. What arrives
 * goes through sdp_state_receive(), what is due is sent by sdp_state_run().
 */
#include <linux/array_size.h>
#include <linux/errno.h>
#include <linux/string.h>

#include "internal.h"

/* The table's actions ********************************************************************** */

static void sdp_state_end(struct sdp_conn *c, int notice)
{
	c->abort_due = false;
	sdp_source_end(c);
	sdp_sink_end(c);
	if (notice >= 0)
		c->ops->notify(c, notice);
}

static void sdp_state_act(struct sdp_conn *c, enum sdp_action action, enum sdp_event event)
{
	/* what is down needs no disconnect */
	const bool up = event != SDP_EV_DOWN && event != SDP_EV_REFUSED;
	static const s8 notices[SDP_ACTIONS] = {
		[SDP_END_QUIETLY] = -1,
		[SDP_END_REFUSED] = SDP_NOTICE_REFUSED,
		[SDP_END_TIMEOUT] = SDP_NOTICE_TIMED_OUT,
		[SDP_END_RESET] = SDP_NOTICE_RESET,
		[SDP_END_CLOSED] = SDP_NOTICE_CLOSED,
	};

	switch (action) {
	case SDP_START:
		c->first_due = true;
		c->ops->notify(c, SDP_NOTICE_CONNECTED);
		break;
	case SDP_CONNECTED:
		c->ops->notify(c, SDP_NOTICE_CONNECTED);
		break;
	case SDP_QUEUE_FIN:
		c->source.fin = true;
		break;
	case SDP_PEER_FIN:
		c->sink.fin = true;
		sdp_sink_void(c);
		c->ops->notify(c, SDP_NOTICE_PEER_FIN);
		break;
	case SDP_BOTH_FINS:
		c->sink.fin = true;
		sdp_sink_void(c);
		c->ops->notify(c, SDP_NOTICE_PEER_FIN);
		c->ops->disconnect(c, false);
		break;
	case SDP_SAY_ABORT:
		c->abort_due = true;
		break;
	case SDP_END_QUIETLY:
	case SDP_END_REFUSED:
	case SDP_END_TIMEOUT:
	case SDP_END_RESET:
	case SDP_END_CLOSED:
		if (up)
			c->ops->disconnect(c, true);
		sdp_state_end(c, notices[action]);
		break;
	default:
		break;
	}
}

/* Return: the cell's action */
static enum sdp_action sdp_state_step(struct sdp_conn *c, enum sdp_event event)
{
	const struct sdp_cell *cell = sdp_state_cell(c->state, event);

	if (cell->action == SDP_REFUSE)
		return SDP_REFUSE;
	c->state = cell->next;
	sdp_state_act(c, cell->action, event);
	return cell->action;
}

static void sdp_state_fault(struct sdp_conn *c, enum sdp_fault fault)
{
	if (c->state == SDP_DEAD)
		return;
	c->fault = fault;
	sdp_state_step(c, SDP_EV_FAULT);
}

/**
 * sdp_state_event() - an event without data
 * @c: connection
 * @event: one of those of the program and of the transport, SDP_EV_ABORT_SENT, SDP_EV_TIMEOUT
 *
 * Return: 0, or -EINVAL if the event does not belong to the present state.
 */
int sdp_state_event(struct sdp_conn *c, enum sdp_event event)
{
	if (sdp_state_step(c, event) == SDP_REFUSE)
		return -EINVAL;
	sdp_state_run(c);
	return 0;
}

/**
 * sdp_state_close() - the program wants nothing more
 * @c: connection
 *
 * Bytes that were handed over are still sent. If bytes of the peer are unread, or arrive later,
 * the connection is aborted. The caller sends SDP_EV_TIMEOUT after 60 s.
 *
 * Return: as sdp_state_event().
 */
int sdp_state_close(struct sdp_conn *c)
{
	c->sink.closed = true;
	if (c->credit.held || c->sink.offered_nr)
		return sdp_state_event(c, SDP_EV_ABORT);
	return sdp_state_event(c, SDP_EV_CLOSE);
}

/**
 * sdp_state_stop_receiving() - the program neither sends nor receives any more, and has not closed
 * @c: connection
 *
 * Bytes that arrive from now on abort the connection, and SDP_NOTICE_RESET says so.
 */
void sdp_state_stop_receiving(struct sdp_conn *c)
{
	c->sink.stopped = true;
}

/* Begin ************************************************************************************ */

/**
 * sdp_state_init() - begin
 * @c: connection
 * @ops: the caller's ops
 * @config: sizes; too small ones are made larger
 */
void sdp_state_init(struct sdp_conn *c, const struct sdp_state_ops *ops,
		    const struct sdp_config *config)
{
	struct sdp_credit *credit = &c->credit;

	memset(c, 0, sizeof(*c));
	c->ops = ops;
	c->own_caps = config->caps & SDP_CAP_INVALIDATE;
	memcpy(c->answer, config->answer, sizeof(c->answer));
	credit->ring = config->ring > SDP_BUFS_MIN ? config->ring : SDP_BUFS_MIN + 1;
	credit->size = config->size > SDP_BUF_MIN ? config->size : SDP_BUF_MIN;
	credit->send_max = config->send_max > SDP_BUF_MIN ? config->send_max : SDP_BUF_MIN;
	credit->slots = config->slots;
	sdp_credit_window(c, config->window);
	c->source.mode = SDP_MODE_COMBINED;
	c->source.want = SDP_MODE_COMBINED;
	c->source.allow_pipelined = config->allow_pipelined;
	c->sink.mode = SDP_MODE_COMBINED;
	c->sink.max_adverts = config->max_adverts < SDP_ADVERTS ? config->max_adverts : SDP_ADVERTS;
	if (!c->sink.max_adverts)
		c->sink.max_adverts = 1;
}

/* the fields that Hello and HelloAck share; posts the receives that they announce */
static int sdp_state_greet(struct sdp_conn *c, struct sdp_msg *msg, u8 mid)
{
	struct sdp_credit *credit = &c->credit;

	if (sdp_credit_post(c) < SDP_BUFS_MIN)
		return -ENOMEM;
	credit->news = 0;
	credit->given = credit->posted;
	credit->given_max = credit->posted;
	msg->mid = mid;
	msg->bufs = credit->posted;
	msg->hello.compact = c->compact;
	msg->hello.version = SDP_VERSION;
	msg->hello.caps = c->own_caps;
	msg->hello.max_adverts = c->sink.max_adverts;
	msg->hello.size = credit->size;
	return 0;
}

static void sdp_state_greeted(struct sdp_conn *c, const struct sdp_msg *msg)
{
	c->caps = msg->hello.caps;
	c->source.max_adverts = msg->hello.max_adverts;
	c->credit.peer_size = msg->hello.size;
	sdp_credit_begin(c, msg->bufs);
}

/**
 * sdp_state_connect() - make a Hello
 * @c: connection in state SDP_IDLE
 * @hello: @hello->hello has compact, ipv, want_size, name, ports and addresses; the rest is
 *	filled
 *
 * The caller sends it with its connection request.
 *
 * Return: 0, -EINVAL in another state, -ENOMEM if receives could not be posted.
 */
int sdp_state_connect(struct sdp_conn *c, struct sdp_msg *hello)
{
	int err;

	if (c->state != SDP_IDLE)
		return -EINVAL;
	c->compact = hello->hello.compact;
	c->active = true;
	err = sdp_state_greet(c, hello, SDP_MID_HELLO);
	if (err)
		return err;
	return sdp_state_event(c, SDP_EV_CONNECT);
}

/**
 * sdp_state_answer() - the transport's connection exists, with the peer's answer
 * @c: connection in state SDP_HELLO_SENT
 * @p: private data of the answer
 * @n: its bytes
 *
 * Return: 0, -EINVAL in another state, -EPROTO if it is no right HelloAck.
 */
int sdp_state_answer(struct sdp_conn *c, const u8 *p, u32 n)
{
	enum sdp_fault fault;
	struct sdp_msg msg;

	if (c->state != SDP_HELLO_SENT)
		return -EINVAL;
	fault = sdp_wire_decode(p, n, SDP_IN_ANSWER, &msg);
	if (!fault && msg.hello.compact != c->compact)
		fault = SDP_FAULT_LENGTH;
	/* only who knows the TCP connection can say it */
	if (!fault && memcmp(msg.hello.name, c->answer, sizeof(c->answer)))
		fault = SDP_FAULT_NAME;
	if (fault) {
		sdp_state_fault(c, fault);
		return -EPROTO;
	}
	sdp_state_greeted(c, &msg);
	return sdp_state_event(c, SDP_EV_UP);
}

/**
 * sdp_state_hello() - begin the passive end of a connection
 * @c: connection in state SDP_IDLE
 * @hello: decoded Hello, without fault
 *
 * Return: 0, or -EINVAL in another state.
 */
int sdp_state_hello(struct sdp_conn *c, const struct sdp_msg *hello)
{
	if (c->state != SDP_IDLE)
		return -EINVAL;
	c->compact = hello->hello.compact;
	sdp_state_greeted(c, hello);
	return sdp_state_event(c, SDP_EV_HELLO);
}

/**
 * sdp_state_accept() - make a HelloAck
 * @c: connection in state SDP_HELLO_RCVD
 * @ack: filled
 *
 * Return: 0, -EINVAL in another state, -ENOMEM if receives could not be posted.
 */
int sdp_state_accept(struct sdp_conn *c, struct sdp_msg *ack)
{
	int err;

	if (c->state != SDP_HELLO_RCVD)
		return -EINVAL;
	memset(ack, 0, sizeof(*ack));
	memcpy(ack->hello.name, c->answer, sizeof(c->answer));
	err = sdp_state_greet(c, ack, SDP_MID_HELLO_ACK);
	if (err)
		return err;
	return sdp_state_event(c, SDP_EV_ACCEPT);
}

/* Receiving ******************************************************************************** */

static enum sdp_event sdp_state_class(const struct sdp_msg *msg)
{
	switch (msg->mid) {
	case SDP_MID_DISCONN:
		return SDP_EV_DISCONN;
	case SDP_MID_ABORT:
		return SDP_EV_ABORTCONN;
	case SDP_MID_SEND_SM:
	case SDP_MID_READ_COMPL:
	case SDP_MID_SINK_CANCEL:
		return SDP_EV_SINK;
	case SDP_MID_WRITE_COMPL:
	case SDP_MID_SRC_CANCEL:
	case SDP_MID_SINK_CANCEL_ACK:
	case SDP_MID_SRC_AVAIL:
		return SDP_EV_SOURCE;
	case SDP_MID_MODE_CHANGE:
		return msg->change.send_half ? SDP_EV_SINK : SDP_EV_SOURCE;
	case SDP_MID_SINK_AVAIL:
		return msg->payload_len ? SDP_EV_BOTH : SDP_EV_SINK;
	case SDP_MID_DATA:
		return msg->payload_len ? SDP_EV_SOURCE : SDP_EV_NEUTRAL;
	default:
		return SDP_EV_NEUTRAL;
	}
}

static enum sdp_fault sdp_state_flags(struct sdp_conn *c, u8 flags)
{
	if (flags & SDP_FLAG_OOB_PEND) {
		if (c->sink.urgent)
			return SDP_FAULT_PEND;
		c->sink.urgent = true;
		c->ops->notify(c, SDP_NOTICE_URGENT);
	}
	if (flags & SDP_FLAG_OOB_PRES) {
		if (!c->sink.urgent)
			return SDP_FAULT_PEND;
		c->sink.urgent = false;
	}
	if (flags & SDP_FLAG_REQ_PIPE && c->source.allow_pipelined)
		c->source.want = SDP_MODE_PIPELINED;
	return SDP_OK;
}

/* ChRcvBuf: buffers that are posted already have to be used before a larger size counts */
static enum sdp_fault sdp_state_ch_rcv_buf(struct sdp_conn *c, u32 wanted)
{
	struct sdp_credit *credit = &c->credit;
	u32 size;

	if (c->owes_size)
		return SDP_FAULT_RCV_BUF;
	size = c->ops->resize ? c->ops->resize(c, wanted) : 0;
	if (size > credit->size) {
		credit->size = size;
		credit->old = credit->posted;
		sdp_credit_window(c, credit->window);
	}
	c->owes_size = true;
	return SDP_OK;
}

static enum sdp_fault sdp_state_neutral(struct sdp_conn *c, const struct sdp_msg *msg)
{
	switch (msg->mid) {
	case SDP_MID_CH_RCV_BUF:
		return sdp_state_ch_rcv_buf(c, msg->bytes);
	case SDP_MID_CH_RCV_BUF_ACK:
		if (!c->asked_size)
			return SDP_FAULT_RCV_BUF;
		c->asked_size = false;
		c->credit.peer_size = msg->bytes;
		return SDP_OK;
	case SDP_MID_SUSPEND:
		c->owes_suspend = true;
		return SDP_OK;
	case SDP_MID_SUSPEND_ACK:
		return SDP_FAULT_STATE;
	default:
		return SDP_OK;
	}
}

/* the payload first: it uses up what was advertised before the message */
static enum sdp_fault sdp_state_message(struct sdp_conn *c, const struct sdp_msg *msg,
					enum sdp_event class, const u8 *p)
{
	enum sdp_fault fault = SDP_OK;

	if (msg->payload_len) {
		fault = sdp_sink_payload(c, msg);
		/* a SrcAvail that is refused has not been delivered */
		if (!fault && msg->mid == SDP_MID_SRC_AVAIL)
			fault = sdp_sink_receive(c, msg);
		if (fault)
			return fault;
		c->ops->deliver(c, msg, p + msg->hdr_len);
	} else if (class == SDP_EV_SOURCE) {
		fault = sdp_sink_receive(c, msg);
	}
	if (!fault && (class == SDP_EV_SINK || class == SDP_EV_BOTH))
		fault = sdp_source_receive(c, msg);
	if (!fault && class == SDP_EV_NEUTRAL)
		fault = sdp_state_neutral(c, msg);
	return fault;
}

static bool sdp_state_brings_octets(const struct sdp_msg *msg)
{
	return msg->payload_len || msg->mid == SDP_MID_SRC_AVAIL || msg->mid == SDP_MID_WRITE_COMPL;
}

static enum sdp_fault sdp_state_process(struct sdp_conn *c, const struct sdp_msg *msg, const u8 *p)
{
	const enum sdp_event class = sdp_state_class(msg);
	enum sdp_action action;
	enum sdp_fault fault;

	fault = sdp_credit_check(c, msg);
	if (fault)
		return fault;
	/* the passive end's first message acknowledges the active end's */
	if (c->active && !c->rx.messages && msg->mseq == 1 && !msg->mseq_ack)
		return SDP_FAULT_EARLY;
	if (sdp_state_step(c, SDP_EV_FIRST) == SDP_REFUSE)
		return SDP_FAULT_EARLY;
	sdp_credit_received(c, msg);
	fault = sdp_state_flags(c, msg->flags);
	if (fault)
		return fault;
	if (class == SDP_EV_DISCONN && c->sink.offered_nr)
		return SDP_FAULT_STATE;
	action = sdp_state_step(c, class);
	if (action == SDP_REFUSE)
		return SDP_FAULT_STATE;
	if (action != SDP_GO)
		return SDP_OK;
	if ((c->sink.closed || c->sink.stopped) && sdp_state_brings_octets(msg)) {
		sdp_state_step(c, SDP_EV_ABORT);
		if (!c->sink.closed)
			c->ops->notify(c, SDP_NOTICE_RESET);
		return SDP_OK;
	}
	return sdp_state_message(c, msg, class, p);
}

/**
 * sdp_state_receive() - a message has arrived
 * @c: connection
 * @p: its bytes, in the oldest receive that was posted
 * @n: how many
 *
 * If deliver() is not called, the receive buffer is free when this function returns.
 */
void sdp_state_receive(struct sdp_conn *c, const u8 *p, u32 n)
{
	struct sdp_credit *credit = &c->credit;
	enum sdp_fault fault;
	struct sdp_msg msg;

	if (credit->posted)
		credit->posted--;
	if (credit->old)
		credit->old--;
	if (c->state == SDP_CLOSING || c->state >= SDP_ABORTING)
		return;
	c->busy = true;
	fault = sdp_wire_decode(p, n, SDP_IN_SEND, &msg);
	if (!fault)
		fault = sdp_state_process(c, &msg, p);
	if (fault)
		sdp_state_fault(c, fault);
	c->busy = false;
	sdp_state_run(c);
}

/* Sending ********************************************************************************** */

/* answers and questions that belong to no half */
static bool sdp_state_control_due(struct sdp_conn *c)
{
	struct sdp_msg msg = {};

	if (c->owes_size && !c->credit.old && sdp_credit_may(c, false)) {
		c->owes_size = false;
		msg.mid = SDP_MID_CH_RCV_BUF_ACK;
		msg.bytes = c->credit.size;
	} else if (c->owes_suspend && sdp_credit_may(c, false)) {
		c->owes_suspend = false;
		c->suspended = true;
		msg.mid = SDP_MID_SUSPEND_ACK;
	} else if (c->ask_size && !c->asked_size && sdp_credit_may(c, false)) {
		c->asked_size = true;
		msg.mid = SDP_MID_CH_RCV_BUF;
		msg.bytes = c->ask_size;
		c->ask_size = 0;
	} else {
		return false;
	}
	sdp_credit_send(c, &msg, 0);
	return true;
}

static bool sdp_state_control(struct sdp_conn *c)
{
	return (c->owes_size || c->owes_suspend || c->ask_size) && sdp_state_control_due(c);
}

static void sdp_state_send_empty(struct sdp_conn *c)
{
	struct sdp_msg msg = { .mid = SDP_MID_DATA };

	sdp_credit_send(c, &msg, 0);
}

/* a credit update, or the empty message that begins a connection or carries OOB_PEND */
static bool sdp_state_update(struct sdp_conn *c)
{
	if (c->first_due) {
		if (!c->credit.slots)
			return false;
		c->first_due = false;
	} else if (!sdp_credit_update_due(c) &&
		   !(sdp_source_notice_due(c) && sdp_credit_may(c, false))) {
		return false;
	}
	sdp_state_send_empty(c);
	return true;
}

static bool sdp_state_fin(struct sdp_conn *c)
{
	if (!sdp_source_fin(c))
		return false;
	sdp_state_step(c, SDP_EV_FIN_SENT);
	return true;
}

/* AbortConn, or the bare end if there is no credit for it */
static void sdp_state_say_abort(struct sdp_conn *c)
{
	struct sdp_msg msg = { .mid = SDP_MID_ABORT };

	c->abort_due = false;
	if (sdp_credit_may(c, false))
		sdp_credit_send(c, &msg, 0);
	else
		sdp_state_step(c, SDP_EV_ABORT_SENT);
}

static bool sdp_state_connected(const struct sdp_conn *c)
{
	return c->state == SDP_OPEN || c->state == SDP_FIN_WAIT || c->state == SDP_CLOSE_WAIT;
}

/**
 * sdp_state_run() - post receives and send what is due
 * @c: connection
 *
 * Each function above calls it. The caller calls it when memory for receives has become free.
 */
void sdp_state_run(struct sdp_conn *c)
{
	if (c->busy)
		return;
	c->busy = true;
	while (sdp_state_connected(c)) {
		sdp_credit_post(c);
		/* the first message is first */
		if (c->first_due ? !sdp_state_update(c) :
				   !(sdp_sink_control(c) || sdp_source_control(c) ||
				     sdp_state_control(c) || sdp_source_payload(c) ||
				     sdp_state_fin(c) || sdp_state_update(c)))
			break;
	}
	if (c->abort_due)
		sdp_state_say_abort(c);
	c->busy = false;
}

/**
 * sdp_state_ask_size() - ask the peer for another size of its private buffers
 * @c: connection
 * @size: bytes, BSDH included
 *
 * credit.peer_size changes when the peer answers. krdma_sdp has buffers of one size and asks for no
 * other; the tests do, as peers may.
 *
 * Return: 0, or -EINVAL.
 */
int sdp_state_ask_size(struct sdp_conn *c, u32 size)
{
	if (size < SDP_BUF_MIN)
		return -EINVAL;
	c->ask_size = size;
	sdp_state_run(c);
	return 0;
}
