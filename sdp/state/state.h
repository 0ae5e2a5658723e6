/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The state machine of one SDP connection, see docs/sdp-wire.md. It is pure: bytes and calls in,
 * messages and calls of an ops table out. It takes no lock, allocates nothing and knows no socket.
 *
 * Streams are counted in positions: the number of bytes of a half connection before a byte. The
 * caller keeps the bytes. It hands positions over with sdp_state_queue() and finds a byte by its
 * position when an op asks for it.
 *
 * Context: any. All functions for one connection must be called one at a time; the caller's lock
 * sees to that. The ops are called with that lock held. They may report completions by
 * sdp_state_sent(), sdp_state_read_done() and sdp_state_release(), and call no other function for
 * the same connection: the caller acts on them after the outer function has returned.
 *
 *	state_table.c	the table of connection states and events
 *	state.c		begin and end, what arrives, what is due
 *	state_credit.c	numbers, credits, private buffers
 *	state_source.c	the half connection that this end sends
 *	state_sink.c	the half connection that this end receives
 */
#ifndef SDP_STATE_H
#define SDP_STATE_H

#include <linux/types.h>

#include "wire.h"

#define SDP_ADVERTS	8	/* most advertisements for each list; also the largest MaxAdverts */
#define SDP_LOANS	16	/* buffers beyond the window, see struct sdp_credit */

/** enum sdp_conn_state - rows of the table */
enum sdp_conn_state {
	SDP_IDLE,
	SDP_HELLO_SENT,		/* active: waits for the answer */
	SDP_HELLO_RCVD,		/* passive: waits for sdp_state_accept() */
	SDP_ACCEPTED,		/* passive: HelloAck is on its way */
	SDP_QUIET,		/* passive: waits for the first message, sends none itself */
	SDP_OPEN,
	SDP_FIN_WAIT,		/* own DisConn has been sent */
	SDP_CLOSE_WAIT,		/* the peer's DisConn has arrived */
	SDP_LAST_ACK,		/* both, the peer's first: it ends the transport's connection */
	SDP_CLOSING,		/* both, own first: this end has done so */
	SDP_ABORTING,		/* AbortConn is on its way */
	SDP_DEAD,
	SDP_STATES
};

/** enum sdp_event - columns of the table */
enum sdp_event {
	/* of the program */
	SDP_EV_CONNECT,
	SDP_EV_HELLO,		/* a connection was made for an arrived Hello */
	SDP_EV_ACCEPT,
	SDP_EV_FIN,		/* no more bytes will be sent */
	SDP_EV_CLOSE,		/* ... nor received */
	SDP_EV_ABORT,
	/* of the transport */
	SDP_EV_UP,
	SDP_EV_REFUSED,
	SDP_EV_DOWN,
	/* messages, by class */
	SDP_EV_FIRST,		/* before the others, for each message */
	SDP_EV_NEUTRAL,
	SDP_EV_SOURCE,
	SDP_EV_SINK,
	SDP_EV_BOTH,		/* Transaction */
	SDP_EV_DISCONN,
	SDP_EV_ABORTCONN,
	/* of the machine and its caller */
	SDP_EV_FIN_SENT,
	SDP_EV_ABORT_SENT,	/* the Send of AbortConn has completed */
	SDP_EV_FAULT,
	SDP_EV_TIMEOUT,		/* connect, or 60 s after close */
	SDP_EVENTS
};

/** enum sdp_notice - what the machine reports to its caller */
enum sdp_notice {
	SDP_NOTICE_CONNECTED,
	SDP_NOTICE_REFUSED,	/* the end of a connection that never was */
	SDP_NOTICE_TIMED_OUT,
	SDP_NOTICE_CLOSED,	/* both DisConns, and the transport is down */
	SDP_NOTICE_RESET,
	SDP_NOTICE_PEER_FIN,	/* no byte follows those that were delivered or advertised */
	SDP_NOTICE_SRC_AVAIL,	/* sdp_state_readable() changed */
	SDP_NOTICE_URGENT,	/* OOB_PEND */
	SDP_NOTICE_SENT,	/* source.next has changed */
	SDP_NOTICE_CUT,		/* sdp_state_cut() is done: source.end is exact */
};

/** enum sdp_sink_end - what became of a buffer of sdp_state_sink() */
enum sdp_sink_end {
	SDP_SINK_WRITTEN,	/* the peer wrote into it */
	SDP_SINK_USED_UP,	/* a message with payload took its place */
	SDP_SINK_VOID,		/* not used, and the peer does not use it any more */
};

struct sdp_conn;

/**
 * struct sdp_state_ops - what the machine asks of its caller
 * @send: post a Send of sdp_wire_encode(@msg) and @msg->payload_len bytes from position @from on.
 *	The bytes may be released when the Send completes
 * @post: post up to @n receives of conn.credit.size bytes. Return: how many
 * @read: post an RDMA Read of @len bytes at @rkey, @va; sdp_state_read_done() reports its end.
 *	@cookie is that of sdp_state_read()
 * @write: post an RDMA Write of bytes from position @from on, at most @len. It takes one slot and
 *	needs no answer: the RdmaWrCompl behind it is sent by @send. Return: bytes, 0 if it failed
 * @disconnect: end the transport's connection; SDP_EV_DOWN follows
 * @notify: see enum sdp_notice
 * @deliver: the payload of a message, @msg->payload_len bytes at @data. The receive buffer is the
 *	caller's until sdp_state_release()
 * @offer_done: the bytes of an offer of sdp_state_offer() that the peer has, or will have by what
 *	was posted; fewer than its length only after sdp_state_cut() or at the end of the connection
 * @sink_done: the end of a buffer of sdp_state_sink(); @octets were written to it
 * @resize: the peer wants private buffers of @size bytes. Return: the size that @post uses from
 *	now on; one that is not larger than the present one is a refusal. May be NULL
 *
 * The peer may still use a key when @offer_done or @sink_done reports the end, if it is hostile or
 * if the connection ends: the caller invalidates the key before it gives the memory back.
 *
 * Each but @resize must be there.
 */
struct sdp_state_ops {
	void (*send)(struct sdp_conn *c, const struct sdp_msg *msg, u64 from);
	u32 (*post)(struct sdp_conn *c, u32 n);
	void (*read)(struct sdp_conn *c, u32 rkey, u64 va, u32 len, void *cookie);
	u32 (*write)(struct sdp_conn *c, u32 rkey, u64 va, u64 from, u32 len);
	void (*disconnect)(struct sdp_conn *c, bool abrupt);
	void (*notify)(struct sdp_conn *c, enum sdp_notice what);
	void (*deliver)(struct sdp_conn *c, const struct sdp_msg *msg, const u8 *data);
	void (*offer_done)(struct sdp_conn *c, void *cookie, u32 octets);
	void (*sink_done)(struct sdp_conn *c, void *cookie, u32 octets, enum sdp_sink_end how);
	u32 (*resize)(struct sdp_conn *c, u32 size);
};

/**
 * struct sdp_config - how a connection begins
 * @ring: most receives that may be posted; SDP_BUFS_MIN + 1 or more
 * @size: size of a private buffer, BSDH included; SDP_BUF_MIN or more
 * @send_max: longest message that this end sends, BSDH included
 * @window: bytes of receive buffers for the program's unread data
 * @slots: work requests that the send queue takes
 * @max_adverts: at most SDP_ADVERTS
 * @caps: SDP_CAP_INVALIDATE or 0
 * @allow_pipelined: follow REQ_PIPE
 * @answer: answer to the name of the TCP connection: the passive end says it, the active end
 *	expects it
 */
struct sdp_config {
	u16 ring;
	u32 size;
	u32 send_max;
	u32 window;
	u32 slots;
	u8 max_adverts;
	u8 caps;
	bool allow_pipelined;
	u8 answer[SDP_NAME_LEN];
};

/**
 * struct sdp_credit - numbers and private buffers
 * @sent: MSeq of the last message sent
 * @limit: last message that may be sent
 * @got: MSeq of the last message received
 * @acked: MSeqAck of that message
 * @given: last message that the newest message lets the peer send
 * @given_max: ... that any message did
 * @posted: receives that are posted
 * @old: ... of them smaller than @size
 * @news: receives posted since the last message, but for those of credit updates
 * @updates: credit updates received whose buffers were not replaced yet
 * @held: bytes of receive buffers that the caller has not released
 * @slots: work requests that may be posted
 * @loans: receives posted beyond the window so that a control message could give a credit
 * @hold: MSeqAck is held back
 * @hold_at: ... at this number
 * @peer_size: size of the peer's private buffers
 * @size: ... of the own ones
 * @send_max: longest message that this end sends
 * @window: bytes of receive buffers for the program's unread data
 * @ring: most receives that may be posted
 */
struct sdp_credit {
	u32 sent;
	u32 limit;
	u32 got;
	u32 acked;
	u32 given;
	u32 given_max;
	u32 posted;
	u32 old;
	u32 news;
	u32 updates;
	u32 held;
	u32 slots;
	u32 loans;
	bool hold;
	u32 hold_at;
	u32 peer_size;
	u32 size;
	u32 send_max;
	u32 window;
	u16 ring;
};

/** enum sdp_offer_state - how the bytes of an offer may travel */
enum sdp_offer_state {
	SDP_OFFER_WAITS,	/* by any mechanism */
	SDP_OFFER_ADVERTISED,	/* a SrcAvail is outstanding */
	SDP_OFFER_BCOPY,	/* as Data: the peer said SendSm */
};

/**
 * struct sdp_offer - bytes of the stream that the peer may read
 * @start: position of the first one
 * @va: its address
 * @len: bytes
 * @done: the first ones of them, which the peer has
 * @rkey: for the peer
 * @state: enum sdp_offer_state
 * @cookie: the caller's
 */
struct sdp_offer {
	u64 start;
	u64 va;
	u32 len;
	u32 done;
	u32 rkey;
	u8 state;
	void *cookie;
};

/**
 * struct sdp_advert - an advertisement of the peer
 * @va: address of the first byte
 * @size: bytes, payload of SrcAvail included
 * @rkey: for RDMA
 * @mseq: of its message
 * @begun: SrcAvail: bytes that arrived as payload or that Reads were posted for
 * @read: ... that have arrived
 * @reported: ... that the peer knows of
 */
struct sdp_advert {
	u64 va;
	u32 size;
	u32 rkey;
	u32 mseq;
	u32 begun;
	u32 read;
	u32 reported;
};

/**
 * struct sdp_sink_buf - a buffer that the peer may write to
 * @va: address of the first byte
 * @size: bytes
 * @rkey: for the peer
 * @mseq: of its SinkAvail, once it was sent
 * @with_data: send own bytes with the SinkAvail
 * @cookie: the caller's
 */
struct sdp_sink_buf {
	u64 va;
	u32 size;
	u32 rkey;
	u32 mseq;
	bool with_data;
	void *cookie;
};

/**
 * struct sdp_source - the half connection that this end sends
 * @end: position behind the last byte handed over
 * @next: position of the first byte that was neither sent nor advertised
 * @cut_at: sdp_state_cut() asked for this end
 * @oob_at: position of the out-of-band byte
 * @payloads: messages with payload sent
 * @mode_mseq: MSeq of the last ModeChange from pipelined mode
 * @cancel_mseq: MSeq of the SrcAvailCancel that is not answered
 * @offers: offers of which bytes are missing at the peer, by position
 * @kept: valid SinkAvails
 * @offers_nr: used entries of @offers
 * @out: the first of them have SrcAvails outstanding
 * @kept_nr: used entries of @kept
 * @mode: enum sdp_mode
 * @want: mode to change to
 * @allow_pipelined: follow REQ_PIPE
 * @max_adverts: the peer's MaxAdverts
 * @cutting: @cut_at is valid
 * @cancel_due: SrcAvailCancel has to be sent
 * @cancelling: ... was sent
 * @ack_due: SinkCancelAck has to be sent
 * @oob: @oob_at is valid
 * @noticed: OOB_PEND was sent
 * @fin: DisConn follows the last byte
 * @fin_sent: it was sent
 * @left_pipelined: the peer has not acknowledged @mode_mseq
 */
struct sdp_source {
	u64 end;
	u64 next;
	u64 cut_at;
	u64 oob_at;
	u32 payloads;
	u32 mode_mseq;
	u32 cancel_mseq;
	struct sdp_offer offers[SDP_ADVERTS];
	struct sdp_advert kept[SDP_ADVERTS];
	u8 offers_nr;
	u8 out;
	u8 kept_nr;
	u8 mode;
	u8 want;
	bool allow_pipelined;
	u16 max_adverts;
	bool cutting;
	bool cancel_due;
	bool cancelling;
	bool ack_due;
	bool oob;
	bool noticed;
	bool fin;
	bool fin_sent;
	bool left_pipelined;
};

/**
 * struct sdp_sink - the half connection that this end receives
 * @offered: SrcAvails of which bytes are missing here or untold
 * @bufs: own buffers for the peer
 * @payloads: messages with payload received
 * @reading: bytes of Reads that are posted
 * @send_sm: MSeq of the last SendSm
 * @offered_nr: used entries of @offered
 * @bufs_nr: used entries of @bufs
 * @out: the first of them have SinkAvails outstanding
 * @mode: enum sdp_mode
 * @max_adverts: own MaxAdverts
 * @refusing: no further Reads; SendSm follows if bytes are missing
 * @answering: ... because of a SrcAvailCancel
 * @sent_sm: the peer has not acknowledged @send_sm
 * @cancel_due: SinkAvailCancel has to be sent
 * @cancelling: ... was sent
 * @want_combined: ModeChange from buffered mode has to be sent
 * @want_pipelined: REQ_PIPE
 * @urgent: OOB_PEND without OOB_PRES
 * @fin: the peer's DisConn has arrived
 * @closed: bytes that arrive now abort the connection
 * @stopped: ... and the program learns of it
 */
struct sdp_sink {
	struct sdp_advert offered[SDP_ADVERTS];
	struct sdp_sink_buf bufs[SDP_ADVERTS];
	u32 payloads;
	u32 reading;
	u32 send_sm;
	u8 offered_nr;
	u8 bufs_nr;
	u8 out;
	u8 mode;
	u8 max_adverts;
	bool refusing;
	bool answering;
	bool sent_sm;
	bool cancel_due;
	bool cancelling;
	bool want_combined;
	bool want_pipelined;
	bool urgent;
	bool fin;
	bool closed;
	bool stopped;
};

/** struct sdp_traffic - bytes by mechanism, messages */
struct sdp_traffic {
	u64 bcopy;
	u64 read;
	u64 written;
	u64 messages;
	u64 updates;
	u64 adverts;
};

/**
 * struct sdp_conn - one connection. The caller embeds it and reads what it likes.
 * @ops: the caller's
 * @state: enum sdp_conn_state
 * @fault: what the peer did wrong, SDP_OK if it did nothing
 * @credit: numbers and private buffers
 * @source: what this end sends
 * @sink: what it receives
 * @tx: traffic sent
 * @rx: traffic received
 * @caps: the peer's SDP_CAP_*
 * @own_caps: SDP_CAP_* that Hello or HelloAck announces
 * @answer: see struct sdp_config
 * @compact: form of Hello and HelloAck
 * @active: this end sent the Hello
 * @ask_size: ChRcvBuf has to be sent for this size
 * @first_due: active: the first message has to be sent
 * @asked_size: ChRcvBuf was sent
 * @owes_size: ChRcvBufAck has to be sent
 * @owes_suspend: SuspCommAck has to be sent
 * @suspended: ... was sent
 * @abort_due: AbortConn has to be sent
 * @busy: a function works on the connection: nested ones do not send
 */
struct sdp_conn {
	const struct sdp_state_ops *ops;
	u8 state;
	u8 fault;
	struct sdp_credit credit;
	struct sdp_source source;
	struct sdp_sink sink;
	struct sdp_traffic tx;
	struct sdp_traffic rx;
	u8 caps;
	u8 own_caps;
	u8 answer[SDP_NAME_LEN];
	bool compact;
	bool active;
	u32 ask_size;
	bool first_due;
	bool asked_size;
	bool owes_size;
	bool owes_suspend;
	bool suspended;
	bool abort_due;
	bool busy;
};

/* begin and end */
void sdp_state_init(struct sdp_conn *c, const struct sdp_state_ops *ops,
		    const struct sdp_config *config);
int sdp_state_connect(struct sdp_conn *c, struct sdp_msg *hello);
int sdp_state_answer(struct sdp_conn *c, const u8 *p, u32 n);
int sdp_state_hello(struct sdp_conn *c, const struct sdp_msg *hello);
int sdp_state_accept(struct sdp_conn *c, struct sdp_msg *ack);
int sdp_state_event(struct sdp_conn *c, enum sdp_event event);
int sdp_state_close(struct sdp_conn *c);
void sdp_state_stop_receiving(struct sdp_conn *c);

/* what arrives and completes */
void sdp_state_receive(struct sdp_conn *c, const u8 *p, u32 n);
void sdp_state_release(struct sdp_conn *c, u32 octets);
void sdp_state_sent(struct sdp_conn *c, u32 slots);
void sdp_state_read_done(struct sdp_conn *c, u32 octets);
void sdp_state_run(struct sdp_conn *c);

/* the source's half */
int sdp_state_queue(struct sdp_conn *c, u32 octets);
int sdp_state_offer(struct sdp_conn *c, u32 len, u32 rkey, u64 va, void *cookie);
int sdp_state_urgent(struct sdp_conn *c);
void sdp_state_cut(struct sdp_conn *c, u64 end);
void sdp_state_want_mode(struct sdp_conn *c, enum sdp_mode mode);

/* the sink's half */
u32 sdp_state_readable(const struct sdp_conn *c);
bool sdp_state_closed(const struct sdp_conn *c);
u32 sdp_state_read(struct sdp_conn *c, u32 len, void *cookie);
void sdp_state_refuse(struct sdp_conn *c);
int sdp_state_sink(struct sdp_conn *c, u32 size, u32 rkey, u64 va, bool with_data, void *cookie);
void sdp_state_sink_cancel(struct sdp_conn *c);
void sdp_state_want_pipelined(struct sdp_conn *c, bool want);

/* both */
int sdp_state_ask_size(struct sdp_conn *c, u32 size);
void sdp_state_window(struct sdp_conn *c, u32 window);

#endif /* SDP_STATE_H */
