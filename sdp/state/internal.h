/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What the files of the state machine share, see state.h. */
#ifndef SDP_STATE_INTERNAL_H
#define SDP_STATE_INTERNAL_H

#include "state.h"

/* what a cell of the table asks for, besides the next state */
enum sdp_action {
	SDP_REFUSE,		/* the event does not belong here; 0, so that empty cells say it */
	SDP_GO,			/* nothing more; a message is processed */
	SDP_IGNORE,		/* a message is not processed */
	SDP_START,		/* active: connected, send the first message */
	SDP_CONNECTED,
	SDP_QUEUE_FIN,
	SDP_PEER_FIN,
	SDP_BOTH_FINS,		/* the peer's DisConn after the own one: disconnect */
	SDP_SAY_ABORT,		/* AbortConn, then disconnect */
	/* the end of the connection: what the program learns */
	SDP_END_QUIETLY,	/* the program asked for it */
	SDP_END_REFUSED,
	SDP_END_TIMEOUT,
	SDP_END_RESET,
	SDP_END_CLOSED,
	SDP_ACTIONS
};

struct sdp_cell {
	u8 action;
	u8 next;
};

/* state_table.c */
const struct sdp_cell *sdp_state_cell(u32 state, enum sdp_event event);

/* state_credit.c */
void sdp_credit_window(struct sdp_conn *c, u32 window);
void sdp_credit_begin(struct sdp_conn *c, u32 limit);
u32 sdp_credit_post(struct sdp_conn *c);
enum sdp_fault sdp_credit_check(struct sdp_conn *c, const struct sdp_msg *msg);
void sdp_credit_received(struct sdp_conn *c, const struct sdp_msg *msg);
u32 sdp_credit_left(const struct sdp_conn *c);
bool sdp_credit_may(struct sdp_conn *c, bool payload);
bool sdp_credit_update_due(const struct sdp_conn *c);
void sdp_credit_send(struct sdp_conn *c, struct sdp_msg *msg, u64 from);

/* state_source.c */
void sdp_source_acked(struct sdp_conn *c, u32 mseq_ack);
enum sdp_fault sdp_source_receive(struct sdp_conn *c, const struct sdp_msg *msg);
bool sdp_source_control(struct sdp_conn *c);
bool sdp_source_payload(struct sdp_conn *c);
bool sdp_source_fin(struct sdp_conn *c);
void sdp_source_transaction(struct sdp_conn *c, struct sdp_msg *msg);
bool sdp_source_may_take(const struct sdp_conn *c);
void sdp_source_flags(struct sdp_conn *c, struct sdp_msg *msg);
bool sdp_source_notice_due(const struct sdp_conn *c);
void sdp_source_end(struct sdp_conn *c);

/* state_sink.c */
void sdp_sink_acked(struct sdp_conn *c, u32 mseq_ack);
enum sdp_fault sdp_sink_receive(struct sdp_conn *c, const struct sdp_msg *msg);
enum sdp_fault sdp_sink_payload(struct sdp_conn *c, const struct sdp_msg *msg);
bool sdp_sink_control(struct sdp_conn *c);
void sdp_sink_void(struct sdp_conn *c);
void sdp_sink_end(struct sdp_conn *c);

#endif /* SDP_STATE_INTERNAL_H */
