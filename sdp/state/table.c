// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The states of an SDP connection as a table of state and event, docs/sdp-wire.md sections 3, 12
 * and 13. state.c carries the actions out.
 */
#include <linux/array_size.h>

#include "internal.h"

static const struct sdp_cell sdp_state_table[SDP_STATES][SDP_EVENTS] = {
	[SDP_IDLE] = {
		[SDP_EV_CONNECT] = { SDP_GO, SDP_HELLO_SENT },
		[SDP_EV_HELLO] = { SDP_GO, SDP_HELLO_RCVD },
		[SDP_EV_CLOSE] = { SDP_END_QUIETLY, SDP_DEAD },
		[SDP_EV_ABORT] = { SDP_END_QUIETLY, SDP_DEAD },
	},
	[SDP_HELLO_SENT] = {
		[SDP_EV_UP] = { SDP_START, SDP_OPEN },
		[SDP_EV_REFUSED] = { SDP_END_REFUSED, SDP_DEAD },
		[SDP_EV_DOWN] = { SDP_END_REFUSED, SDP_DEAD },
		[SDP_EV_TIMEOUT] = { SDP_END_TIMEOUT, SDP_DEAD },
		[SDP_EV_FAULT] = { SDP_END_REFUSED, SDP_DEAD },
		[SDP_EV_CLOSE] = { SDP_END_QUIETLY, SDP_DEAD },
		[SDP_EV_ABORT] = { SDP_END_QUIETLY, SDP_DEAD },
	},
	[SDP_HELLO_RCVD] = {
		[SDP_EV_ACCEPT] = { SDP_GO, SDP_ACCEPTED },
		[SDP_EV_CLOSE] = { SDP_END_QUIETLY, SDP_DEAD },
		[SDP_EV_ABORT] = { SDP_END_QUIETLY, SDP_DEAD },
		[SDP_EV_DOWN] = { SDP_END_RESET, SDP_DEAD },
		[SDP_EV_FAULT] = { SDP_END_RESET, SDP_DEAD },
		[SDP_EV_TIMEOUT] = { SDP_END_TIMEOUT, SDP_DEAD },
	},
	/* a message may overtake the transport's event */
	[SDP_ACCEPTED] = {
		[SDP_EV_UP] = { SDP_CONNECTED, SDP_QUIET },
		[SDP_EV_FIRST] = { SDP_CONNECTED, SDP_OPEN },
		[SDP_EV_FIN] = { SDP_QUEUE_FIN, SDP_ACCEPTED },
		[SDP_EV_CLOSE] = { SDP_END_QUIETLY, SDP_DEAD },
		[SDP_EV_ABORT] = { SDP_END_QUIETLY, SDP_DEAD },
		[SDP_EV_DOWN] = { SDP_END_RESET, SDP_DEAD },
		[SDP_EV_FAULT] = { SDP_END_RESET, SDP_DEAD },
		[SDP_EV_TIMEOUT] = { SDP_END_TIMEOUT, SDP_DEAD },
	},
	[SDP_QUIET] = {
		[SDP_EV_FIRST] = { SDP_GO, SDP_OPEN },
		[SDP_EV_FIN] = { SDP_QUEUE_FIN, SDP_QUIET },
		[SDP_EV_CLOSE] = { SDP_QUEUE_FIN, SDP_QUIET },
		[SDP_EV_ABORT] = { SDP_END_QUIETLY, SDP_DEAD },
		[SDP_EV_DOWN] = { SDP_END_RESET, SDP_DEAD },
		[SDP_EV_FAULT] = { SDP_END_RESET, SDP_DEAD },
		[SDP_EV_TIMEOUT] = { SDP_END_TIMEOUT, SDP_DEAD },
	},
	[SDP_OPEN] = {
		[SDP_EV_UP] = { SDP_GO, SDP_OPEN },
		[SDP_EV_FIRST] = { SDP_GO, SDP_OPEN },
		[SDP_EV_NEUTRAL] = { SDP_GO, SDP_OPEN },
		[SDP_EV_SOURCE] = { SDP_GO, SDP_OPEN },
		[SDP_EV_SINK] = { SDP_GO, SDP_OPEN },
		[SDP_EV_BOTH] = { SDP_GO, SDP_OPEN },
		[SDP_EV_DISCONN] = { SDP_PEER_FIN, SDP_CLOSE_WAIT },
		[SDP_EV_FIN] = { SDP_QUEUE_FIN, SDP_OPEN },
		[SDP_EV_CLOSE] = { SDP_QUEUE_FIN, SDP_OPEN },
		[SDP_EV_FIN_SENT] = { SDP_GO, SDP_FIN_WAIT },
		[SDP_EV_ABORT] = { SDP_END_QUIETLY, SDP_DEAD },
		[SDP_EV_DOWN] = { SDP_END_RESET, SDP_DEAD },
		[SDP_EV_FAULT] = { SDP_END_RESET, SDP_DEAD },
		[SDP_EV_TIMEOUT] = { SDP_END_TIMEOUT, SDP_DEAD },
	},
	[SDP_FIN_WAIT] = {
		[SDP_EV_FIRST] = { SDP_GO, SDP_FIN_WAIT },
		[SDP_EV_NEUTRAL] = { SDP_GO, SDP_FIN_WAIT },
		[SDP_EV_SOURCE] = { SDP_GO, SDP_FIN_WAIT },
		[SDP_EV_SINK] = { SDP_GO, SDP_FIN_WAIT },
		[SDP_EV_BOTH] = { SDP_GO, SDP_FIN_WAIT },
		[SDP_EV_DISCONN] = { SDP_BOTH_FINS, SDP_CLOSING },
		[SDP_EV_FIN] = { SDP_GO, SDP_FIN_WAIT },
		[SDP_EV_CLOSE] = { SDP_GO, SDP_FIN_WAIT },
		[SDP_EV_ABORT] = { SDP_SAY_ABORT, SDP_ABORTING },
		[SDP_EV_DOWN] = { SDP_END_RESET, SDP_DEAD },
		[SDP_EV_FAULT] = { SDP_END_RESET, SDP_DEAD },
		[SDP_EV_TIMEOUT] = { SDP_SAY_ABORT, SDP_ABORTING },
	},
	[SDP_CLOSE_WAIT] = {
		[SDP_EV_UP] = { SDP_GO, SDP_CLOSE_WAIT },
		[SDP_EV_FIRST] = { SDP_GO, SDP_CLOSE_WAIT },
		[SDP_EV_NEUTRAL] = { SDP_GO, SDP_CLOSE_WAIT },
		[SDP_EV_SINK] = { SDP_GO, SDP_CLOSE_WAIT },
		[SDP_EV_ABORTCONN] = { SDP_END_RESET, SDP_DEAD },
		[SDP_EV_FIN] = { SDP_QUEUE_FIN, SDP_CLOSE_WAIT },
		[SDP_EV_CLOSE] = { SDP_QUEUE_FIN, SDP_CLOSE_WAIT },
		[SDP_EV_FIN_SENT] = { SDP_GO, SDP_LAST_ACK },
		[SDP_EV_ABORT] = { SDP_END_QUIETLY, SDP_DEAD },
		[SDP_EV_DOWN] = { SDP_END_RESET, SDP_DEAD },
		[SDP_EV_FAULT] = { SDP_END_RESET, SDP_DEAD },
		[SDP_EV_TIMEOUT] = { SDP_END_TIMEOUT, SDP_DEAD },
	},
	[SDP_LAST_ACK] = {
		[SDP_EV_FIRST] = { SDP_GO, SDP_LAST_ACK },
		[SDP_EV_NEUTRAL] = { SDP_GO, SDP_LAST_ACK },
		[SDP_EV_SINK] = { SDP_GO, SDP_LAST_ACK },
		[SDP_EV_ABORTCONN] = { SDP_END_RESET, SDP_DEAD },
		[SDP_EV_FIN] = { SDP_GO, SDP_LAST_ACK },
		[SDP_EV_CLOSE] = { SDP_GO, SDP_LAST_ACK },
		[SDP_EV_ABORT] = { SDP_SAY_ABORT, SDP_ABORTING },
		[SDP_EV_DOWN] = { SDP_END_CLOSED, SDP_DEAD },
		[SDP_EV_FAULT] = { SDP_END_RESET, SDP_DEAD },
		[SDP_EV_TIMEOUT] = { SDP_END_CLOSED, SDP_DEAD },
	},
	/* messages are ignored from here on, and below */
	[SDP_CLOSING] = {
		[SDP_EV_FIRST] = { SDP_IGNORE, SDP_CLOSING },
		[SDP_EV_NEUTRAL] = { SDP_IGNORE, SDP_CLOSING },
		[SDP_EV_SOURCE] = { SDP_IGNORE, SDP_CLOSING },
		[SDP_EV_SINK] = { SDP_IGNORE, SDP_CLOSING },
		[SDP_EV_BOTH] = { SDP_IGNORE, SDP_CLOSING },
		[SDP_EV_DISCONN] = { SDP_IGNORE, SDP_CLOSING },
		[SDP_EV_ABORTCONN] = { SDP_IGNORE, SDP_CLOSING },
		[SDP_EV_FIN] = { SDP_GO, SDP_CLOSING },
		[SDP_EV_CLOSE] = { SDP_GO, SDP_CLOSING },
		[SDP_EV_ABORT] = { SDP_GO, SDP_CLOSING },
		[SDP_EV_DOWN] = { SDP_END_CLOSED, SDP_DEAD },
		[SDP_EV_FAULT] = { SDP_GO, SDP_CLOSING },
		[SDP_EV_TIMEOUT] = { SDP_END_CLOSED, SDP_DEAD },
	},
	[SDP_ABORTING] = {
		[SDP_EV_FIRST] = { SDP_IGNORE, SDP_ABORTING },
		[SDP_EV_NEUTRAL] = { SDP_IGNORE, SDP_ABORTING },
		[SDP_EV_SOURCE] = { SDP_IGNORE, SDP_ABORTING },
		[SDP_EV_SINK] = { SDP_IGNORE, SDP_ABORTING },
		[SDP_EV_BOTH] = { SDP_IGNORE, SDP_ABORTING },
		[SDP_EV_DISCONN] = { SDP_IGNORE, SDP_ABORTING },
		[SDP_EV_ABORTCONN] = { SDP_IGNORE, SDP_ABORTING },
		[SDP_EV_CLOSE] = { SDP_GO, SDP_ABORTING },
		[SDP_EV_ABORT] = { SDP_GO, SDP_ABORTING },
		[SDP_EV_ABORT_SENT] = { SDP_END_QUIETLY, SDP_DEAD },
		[SDP_EV_DOWN] = { SDP_END_QUIETLY, SDP_DEAD },
		[SDP_EV_FAULT] = { SDP_GO, SDP_ABORTING },
		[SDP_EV_TIMEOUT] = { SDP_END_QUIETLY, SDP_DEAD },
	},
	[SDP_DEAD] = {
		[SDP_EV_FIRST] = { SDP_IGNORE, SDP_DEAD },
		[SDP_EV_NEUTRAL] = { SDP_IGNORE, SDP_DEAD },
		[SDP_EV_SOURCE] = { SDP_IGNORE, SDP_DEAD },
		[SDP_EV_SINK] = { SDP_IGNORE, SDP_DEAD },
		[SDP_EV_BOTH] = { SDP_IGNORE, SDP_DEAD },
		[SDP_EV_DISCONN] = { SDP_IGNORE, SDP_DEAD },
		[SDP_EV_ABORTCONN] = { SDP_IGNORE, SDP_DEAD },
		[SDP_EV_UP] = { SDP_GO, SDP_DEAD },
		[SDP_EV_REFUSED] = { SDP_GO, SDP_DEAD },
		[SDP_EV_DOWN] = { SDP_GO, SDP_DEAD },
		[SDP_EV_CLOSE] = { SDP_GO, SDP_DEAD },
		[SDP_EV_ABORT] = { SDP_GO, SDP_DEAD },
		[SDP_EV_ABORT_SENT] = { SDP_GO, SDP_DEAD },
		[SDP_EV_FAULT] = { SDP_GO, SDP_DEAD },
		[SDP_EV_TIMEOUT] = { SDP_GO, SDP_DEAD },
	},
};

static const char *const sdp_state_names[SDP_STATES] = {
	[SDP_IDLE] = "idle",
	[SDP_HELLO_SENT] = "hello-sent",
	[SDP_HELLO_RCVD] = "hello-rcvd",
	[SDP_ACCEPTED] = "accepted",
	[SDP_QUIET] = "quiet",
	[SDP_OPEN] = "open",
	[SDP_FIN_WAIT] = "fin-wait",
	[SDP_CLOSE_WAIT] = "close-wait",
	[SDP_LAST_ACK] = "last-ack",
	[SDP_CLOSING] = "closing",
	[SDP_ABORTING] = "aborting",
	[SDP_DEAD] = "dead",
};

static const char *const sdp_event_names[SDP_EVENTS] = {
	[SDP_EV_CONNECT] = "connect",
	[SDP_EV_HELLO] = "hello",
	[SDP_EV_ACCEPT] = "accept",
	[SDP_EV_FIN] = "fin",
	[SDP_EV_CLOSE] = "close",
	[SDP_EV_ABORT] = "abort",
	[SDP_EV_UP] = "up",
	[SDP_EV_REFUSED] = "refused",
	[SDP_EV_DOWN] = "down",
	[SDP_EV_FIRST] = "first",
	[SDP_EV_NEUTRAL] = "neutral",
	[SDP_EV_SOURCE] = "source",
	[SDP_EV_SINK] = "sink",
	[SDP_EV_BOTH] = "both",
	[SDP_EV_DISCONN] = "disconn",
	[SDP_EV_ABORTCONN] = "abortconn",
	[SDP_EV_FIN_SENT] = "fin-sent",
	[SDP_EV_ABORT_SENT] = "abort-sent",
	[SDP_EV_FAULT] = "fault",
	[SDP_EV_TIMEOUT] = "timeout",
};

/**
 * sdp_state_name() - name of a state
 * @state: enum sdp_conn_state
 *
 * Return: the name, never NULL.
 */
const char *sdp_state_name(u32 state)
{
	return state < SDP_STATES ? sdp_state_names[state] : "unknown";
}

/**
 * sdp_event_name() - name of an event
 * @event: enum sdp_event
 *
 * Return: the name, never NULL.
 */
const char *sdp_event_name(u32 event)
{
	return event < SDP_EVENTS ? sdp_event_names[event] : "unknown";
}

/**
 * sdp_state_cell() - look up the table
 * @state: enum sdp_conn_state
 * @event: enum sdp_event
 *
 * Return: the cell.
 */
const struct sdp_cell *sdp_state_cell(u32 state, enum sdp_event event)
{
	return &sdp_state_table[state][event];
}
