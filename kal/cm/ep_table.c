// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The state table of endpoints. It keeps the state of an endpoint, its LLP stream and its QP in
 * step. startup.c and offload.c have most of the actions.
 *
 * Every event becomes an input of the table and is processed under the endpoint's lock. A
 * worker makes the inputs of the socket and the timer. It examines the current state (level),
 * not the reported change (edge). Signals may therefore merge but are never lost.
 *
 *	active	IDLE > CONNECTING > REPLY_WAIT > CONNECTED > CLOSING > DEAD
 *	passive	REQUEST_WAIT > REQUEST_READY > DECISION_WAIT > CONNECTED > CLOSING > DEAD
 *
 * An RNIC that makes connections itself (RI_CAP_LLP_OFFLOAD) has no stream and no MPA start-up of
 * ours. Its endpoints take the same states, with fewer steps; the RNIC's reports are the inputs
 * CONN_UP and CONN_DOWN.
 *
 *	active	IDLE > CONNECTING > CONNECTED > CLOSING > DEAD
 *	passive	REQUEST_READY > DECISION_WAIT > ACCEPTING > CONNECTED > CLOSING > DEAD
 */
#include <linux/array_size.h>

#include "../core/core.h"
#include "endpoint.h"
#include "trace.h"

/* Actions ****************************************************************** */

static int ep_modify_qp(struct kal_ep *ep, enum ib_qp_state state, int nowait)
{
	const struct ib_qp_attr attr = { .qp_state = state };

	return ep->rnic->ops->qp_modify(ep->qp, &attr, IB_QP_STATE | nowait, NULL);
}

/*
 * The result of qp_modify() does not matter. The provider ends the stream in any case. A
 * stream that ends at this moment makes qp_modify() fail.
 */
static int ep_act_disconnect(struct kal_ep *ep)
{
	kal_ep_arm(ep, &kal_disconnect_timeout_ms);
	if (ep->conn)
		return kal_offload_disconnect(ep);
	ep_modify_qp(ep, IB_QPS_SQD, 0);
	return 0;
}

static int ep_act_kill(struct kal_ep *ep)
{
	ep->deadline = 0;
	if (ep->conn)
		return kal_offload_kill(ep);
	ep_modify_qp(ep, IB_QPS_ERR, 0);
	return 0;
}

/* Called from a worker. */
static int ep_act_too_slow(struct kal_ep *ep)
{
	if (ep->conn) {
		kal_count(ep->rnic, KAL_CNT_CONN_TIMEOUT);
		return kal_offload_kill(ep);
	}
	if (ep_modify_qp(ep, IB_QPS_ERR, RI_QP_NOWAIT) == -EAGAIN) {
		ep->deadline = (jiffies + 1) ?: 1;
		mod_timer(&ep->timer, ep->deadline);
		return KAL_EP_STAY;
	}
	ep->deadline = 0;
	kal_count(ep->rnic, KAL_CNT_CONN_TIMEOUT);
	return 0;
}

/* A new connection needs the place of this one. */
static int ep_act_evict(struct kal_ep *ep)
{
	kal_count(ep->rnic, KAL_CNT_LISTEN_EVICTED);
	return -ECONNABORTED;
}

static int ep_act_closed(struct kal_ep *ep)
{
	struct kal_ep_event event = {
		.type = KAL_EP_CLOSED,
		.status = ep->llp_status,
	};

	/* an RNIC that goes resets its streams: TCP does not finish them for the RNIC */
	ep->polite = !ep->llp_aborted && kal_rnic_live(ep->rnic);
	kal_count(ep->rnic, ep->polite ? KAL_CNT_CONN_CLOSED : KAL_CNT_CONN_RESET);
	kal_ep_free_qp(ep);
	kal_ep_report(ep, &event);
	return 0;
}

static int ep_act_abort(struct kal_ep *ep)
{
	return -ECONNABORTED;
}

/* Actions that depend on who makes the connection: the RNIC itself, or the kAL. */

static int ep_act_listen(struct kal_ep *ep)
{
	const struct kal_ep_listen_arg *arg = ep->arg;

	if (arg->sock)
		return kal_ep_listen_on(ep, arg);
	return ep->conn ? kal_offload_listen(ep) : kal_listen_start(ep);
}

static int ep_act_unlisten(struct kal_ep *ep)
{
	return ep->conn ? 0 : kal_listen_stop(ep);
}

static int ep_act_connect(struct kal_ep *ep)
{
	return ep->conn ? kal_offload_connect(ep) : kal_startup_connect(ep);
}

static int ep_act_connect_failed(struct kal_ep *ep)
{
	return ep->conn ? kal_offload_report_failure(ep) : kal_startup_report_failure(ep);
}

static int ep_act_deliver(struct kal_ep *ep)
{
	return ep->conn ? kal_offload_deliver(ep) : kal_startup_deliver(ep);
}

/* The next state of the table is that of the kAL's own connections. */
static int ep_act_accept(struct kal_ep *ep)
{
	int err;

	if (!ep->conn)
		return kal_startup_accept(ep);
	err = kal_offload_accept(ep);
	if (err)
		return err;
	ep->state = KAL_EP_ACCEPTING;
	return KAL_EP_STAY;
}

static int ep_act_reject(struct kal_ep *ep)
{
	return ep->conn ? kal_offload_reject(ep) : kal_startup_reject(ep);
}

static int ep_act_refuse(struct kal_ep *ep)
{
	return ep->conn ? kal_offload_refuse(ep) : kal_startup_refuse(ep);
}

/* State table ************************************************************** */

static const char *const ep_state_names[KAL_EP_STATES] = {
	[KAL_EP_IDLE] = "idle",
	[KAL_EP_LISTENING] = "listening",
	[KAL_EP_CONNECTING] = "connecting",
	[KAL_EP_REPLY_WAIT] = "reply-wait",
	[KAL_EP_REQUEST_WAIT] = "request-wait",
	[KAL_EP_REQUEST_READY] = "request-ready",
	[KAL_EP_DECISION_WAIT] = "decision-wait",
	[KAL_EP_ACCEPTING] = "accepting",
	[KAL_EP_CONNECTED] = "connected",
	[KAL_EP_CLOSING] = "closing",
	[KAL_EP_DEAD] = "dead",
};

static const char *const ep_input_names[KAL_EP_INPUTS] = {
	[KAL_EP_IN_LISTEN] = "listen",
	[KAL_EP_IN_CONNECT] = "connect",
	[KAL_EP_IN_ACCEPT] = "accept",
	[KAL_EP_IN_REJECT] = "reject",
	[KAL_EP_IN_DISCONNECT] = "disconnect",
	[KAL_EP_IN_ABORT] = "abort",
	[KAL_EP_IN_UP] = "up",
	[KAL_EP_IN_DATA] = "data",
	[KAL_EP_IN_DOWN] = "down",
	[KAL_EP_IN_LLP_CLOSE] = "llp-close",
	[KAL_EP_IN_LLP_ABORT] = "llp-abort",
	[KAL_EP_IN_CONN_UP] = "conn-up",
	[KAL_EP_IN_CONN_DOWN] = "conn-down",
	[KAL_EP_IN_DELIVER] = "deliver",
	[KAL_EP_IN_EVICT] = "evict",
	[KAL_EP_IN_TIMEOUT] = "timeout",
	[KAL_EP_IN_FALLBACK] = "fallback",
	[KAL_EP_IN_FAIL] = "fail",
};

const char *kal_ep_state_name(enum kal_ep_state state)
{
	return ep_state_names[state];
}

const char *kal_ep_input_name(enum kal_ep_input input)
{
	return ep_input_names[input];
}

/*
 * An input without a row has no meaning in its state and returns -EINVAL. An action that
 * returns an error causes IN_FAIL, whatever the input was. An action that returns KAL_EP_STAY
 * leaves the state unchanged.
 */
static const struct ep_row {
	enum kal_ep_state state;
	enum kal_ep_input input;
	int (*action)(struct kal_ep *ep);
	enum kal_ep_state next;
} ep_table[] = {
#define ROW(s, i, act, n) { KAL_EP_##s, KAL_EP_IN_##i, act, KAL_EP_##n }
	ROW(IDLE, LISTEN, ep_act_listen, LISTENING),
	ROW(IDLE, CONNECT, ep_act_connect, CONNECTING),
	ROW(IDLE, ABORT, NULL, DEAD),
	ROW(IDLE, FAIL, NULL, DEAD),

	ROW(LISTENING, ABORT, ep_act_unlisten, DEAD),

	ROW(CONNECTING, UP, kal_startup_send_request, REPLY_WAIT),
	ROW(CONNECTING, CONN_UP, kal_offload_connected, CONNECTED),
	ROW(CONNECTING, CONN_DOWN, kal_offload_down, DEAD),
	ROW(CONNECTING, DOWN, kal_startup_down, DEAD),
	ROW(CONNECTING, TIMEOUT, kal_startup_timeout, DEAD),
	ROW(CONNECTING, DISCONNECT, ep_act_abort, DEAD),
	ROW(CONNECTING, ABORT, ep_act_abort, DEAD),
	ROW(CONNECTING, FAIL, ep_act_connect_failed, DEAD),

	ROW(REPLY_WAIT, DATA, kal_startup_read_reply, CONNECTED),
	ROW(REPLY_WAIT, FALLBACK, kal_startup_fallback, CONNECTING),
	ROW(REPLY_WAIT, DOWN, kal_startup_reply_lost, DEAD),
	ROW(REPLY_WAIT, TIMEOUT, kal_startup_timeout, DEAD),
	ROW(REPLY_WAIT, DISCONNECT, ep_act_abort, DEAD),
	ROW(REPLY_WAIT, ABORT, ep_act_abort, DEAD),
	ROW(REPLY_WAIT, FAIL, kal_startup_report_failure, DEAD),

	ROW(REQUEST_WAIT, DATA, kal_startup_read_request, REQUEST_READY),
	ROW(REQUEST_WAIT, DOWN, kal_startup_down, DEAD),
	ROW(REQUEST_WAIT, EVICT, ep_act_evict, DEAD),
	ROW(REQUEST_WAIT, TIMEOUT, kal_startup_timeout, DEAD),
	ROW(REQUEST_WAIT, ABORT, ep_act_abort, DEAD),
	ROW(REQUEST_WAIT, FAIL, NULL, DEAD),

	ROW(REQUEST_READY, DELIVER, ep_act_deliver, DECISION_WAIT),
	ROW(REQUEST_READY, CONN_DOWN, kal_offload_down, DEAD),
	ROW(REQUEST_READY, DATA, kal_startup_early_data, DEAD),
	ROW(REQUEST_READY, DOWN, kal_startup_down, DEAD),
	ROW(REQUEST_READY, TIMEOUT, kal_startup_timeout, DEAD),
	ROW(REQUEST_READY, ABORT, ep_act_refuse, DEAD),
	ROW(REQUEST_READY, FAIL, NULL, DEAD),

	ROW(DECISION_WAIT, ACCEPT, ep_act_accept, CONNECTED),
	ROW(DECISION_WAIT, REJECT, ep_act_reject, DEAD),
	ROW(DECISION_WAIT, CONN_DOWN, kal_offload_down, DEAD),
	ROW(DECISION_WAIT, DATA, kal_startup_early_data, DEAD),
	ROW(DECISION_WAIT, DOWN, kal_startup_down, DEAD),
	ROW(DECISION_WAIT, TIMEOUT, kal_startup_timeout, DEAD),
	ROW(DECISION_WAIT, DISCONNECT, ep_act_refuse, DEAD),
	ROW(DECISION_WAIT, ABORT, ep_act_refuse, DEAD),
	ROW(DECISION_WAIT, FAIL, NULL, DEAD),

	ROW(ACCEPTING, CONN_UP, kal_offload_accepted, CONNECTED),
	ROW(ACCEPTING, CONN_DOWN, kal_offload_down, DEAD),
	ROW(ACCEPTING, TIMEOUT, kal_startup_timeout, DEAD),
	ROW(ACCEPTING, DISCONNECT, ep_act_abort, DEAD),
	ROW(ACCEPTING, ABORT, ep_act_abort, DEAD),
	ROW(ACCEPTING, FAIL, kal_offload_report_unaccepted, DEAD),

	ROW(CONNECTED, DISCONNECT, ep_act_disconnect, CLOSING),
	ROW(CONNECTED, ABORT, ep_act_kill, CLOSING),
	ROW(CONNECTED, LLP_CLOSE, ep_act_closed, DEAD),
	ROW(CONNECTED, LLP_ABORT, ep_act_closed, DEAD),
	ROW(CONNECTED, CONN_DOWN, kal_offload_closed, DEAD),

	ROW(CLOSING, ABORT, ep_act_kill, CLOSING),
	ROW(CLOSING, TIMEOUT, ep_act_too_slow, CLOSING),
	ROW(CLOSING, LLP_CLOSE, ep_act_closed, DEAD),
	ROW(CLOSING, LLP_ABORT, ep_act_closed, DEAD),
	ROW(CLOSING, CONN_DOWN, kal_offload_closed, DEAD),
#undef ROW
};

static const struct ep_row *ep_find_row(enum kal_ep_state state, enum kal_ep_input input)
{
	const struct ep_row *row;

	for (row = ep_table; row < ep_table + ARRAY_SIZE(ep_table); row++)
		if (row->state == state && row->input == input)
			return row;
	return NULL;
}

/**
 * kal_ep_step() - process one input by the state table
 * @ep: endpoint
 * @input: input
 *
 * Return: the action's result; -EINVAL if the input has no meaning in the state.
 * Context: endpoint's lock held; the caller holds a reference besides the owner's; may sleep.
 */
int kal_ep_step(struct kal_ep *ep, enum kal_ep_input input)
{
	const enum kal_ep_state state = ep->state;
	const struct ep_row *row = ep_find_row(state, input);
	int err = 0;

	if (!row)
		return -EINVAL;
	if (row->action)
		err = row->action(ep);
	if (err == KAL_EP_STAY)
		return err;
	trace_ep_step(ep, kal_ep_state_name(state), kal_ep_input_name(input), err);
	if (err) {
		ep->error = err;
		kal_ep_step(ep, KAL_EP_IN_FAIL);
		return err;
	}
	ep->state = row->next;
	if (ep->state == KAL_EP_DEAD && state != KAL_EP_DEAD)
		kal_ep_finish(ep);
	return 0;
}
