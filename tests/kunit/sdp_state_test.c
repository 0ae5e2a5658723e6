// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The state machine of an SDP connection: every cell of its table against a list that was written
 * from the events' point of view; one machine and a scripted peer, for every fault and mechanism;
 * two machines that do anything at any time.
 */
#include <linux/array_size.h>
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/types.h>

#include "../../sdp/state/state.h"
#include "ktest.h"
#include "sdp_pair.h"

#define SENT	64
#define SIZE	512	/* of private buffers */

/* a machine, and what it asked for */
struct machine {
	struct sdp_conn c;
	struct sdp_msg sent[SENT];
	u32 sent_nr;
	u32 notices;
	u32 disconnects;
	u32 delivered;
	u32 read;
	u32 written;
	u32 writes;
	u32 write_most;		/* bytes of one, 0: all */
	u32 done;		/* offers */
	u32 done_octets;
	u32 sink_done[3];	/* by enum sdp_sink_end */
	u32 sink_octets;
	u32 resize;
	bool no_memory;
	/* the peer */
	u32 mseq;
	u32 bufs;
	bool stale;		/* its MSeqAck stays at ... */
	u32 ack;
};

static struct machine *machine_of(struct sdp_conn *c)
{
	return (struct machine *)c;
}

static void op_send(struct sdp_conn *c, const struct sdp_msg *msg, u64 from)
{
	struct machine *m = machine_of(c);

	m->sent[m->sent_nr++ % SENT] = *msg;
}

static u32 op_post(struct sdp_conn *c, u32 n)
{
	return machine_of(c)->no_memory ? 0 : n;
}

static void op_read(struct sdp_conn *c, u32 rkey, u64 va, u32 len, void *cookie)
{
	machine_of(c)->read += len;
}

static u32 op_write(struct sdp_conn *c, u32 rkey, u64 va, u64 from, u32 len)
{
	struct machine *m = machine_of(c);

	if (m->write_most && len > m->write_most)
		len = m->write_most;
	m->writes++;
	m->written += len;
	return len;
}

static void op_disconnect(struct sdp_conn *c, bool abrupt)
{
	machine_of(c)->disconnects++;
}

static void op_notify(struct sdp_conn *c, enum sdp_notice what)
{
	machine_of(c)->notices |= 1u << what;
}

static void op_deliver(struct sdp_conn *c, const struct sdp_msg *msg, const u8 *data)
{
	machine_of(c)->delivered += msg->payload_len;
}

static void op_offer_done(struct sdp_conn *c, void *cookie, u32 octets)
{
	machine_of(c)->done++;
	machine_of(c)->done_octets += octets;
}

static void op_sink_done(struct sdp_conn *c, void *cookie, u32 octets, enum sdp_sink_end how)
{
	machine_of(c)->sink_done[how]++;
	machine_of(c)->sink_octets += octets;
}

static u32 op_resize(struct sdp_conn *c, u32 size)
{
	return machine_of(c)->resize;
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

static const struct sdp_config config = {
	.ring = 8,
	.size = SIZE,
	.send_max = SIZE,
	.window = 8 * SIZE,
	.slots = 1000,
	.max_adverts = 4,
	.allow_pipelined = true,
};

/* Everything that a message of the peer may say */
struct say {
	u8 mid;
	u8 flags;
	u32 payload;
	u32 value;
	u32 nond;
	bool send_half;
	u8 mode;
	s32 ack_back;	/* MSeqAck lies so far behind the last message sent */
	s32 mseq_off;
	bool no_bufs;
};

static void say(struct machine *m, struct say s)
{
	u8 octets[SDP_HDR_MAX + 2 * SIZE] = {};
	struct sdp_msg msg = {
		.mid = s.mid,
		.flags = s.flags,
		.payload_len = s.payload,
		.bufs = s.no_bufs ? 0 : m->bufs,
		.mseq = ++m->mseq + s.mseq_off,
		.mseq_ack = m->c.credit.sent - s.ack_back,
	};
	u32 n;

	switch (s.mid) {
	case SDP_MID_SRC_AVAIL:
	case SDP_MID_SINK_AVAIL:
		msg.avail.size = s.value;
		msg.avail.non_discards = s.nond;
		break;
	case SDP_MID_MODE_CHANGE:
		msg.change.send_half = s.send_half;
		msg.change.mode = s.mode;
		break;
	case SDP_MID_SUSPEND:
		break;
	default:
		msg.bytes = s.value;
		break;
	}
	n = sdp_wire_encode(&msg, octets) + s.payload;
	sdp_state_receive(&m->c, octets, n);
}

#define SAY(m, what, ...)	say(m, (struct say){ .mid = SDP_MID_##what, ##__VA_ARGS__ })

/* the last message sent, and the one before */
static const struct sdp_msg *last(const struct machine *m)
{
	return &m->sent[(m->sent_nr - 1) % SENT];
}

static const struct sdp_msg *before_last(const struct machine *m)
{
	return &m->sent[(m->sent_nr - 2) % SENT];
}

/* an active end that is connected */
static struct machine *open_machine(struct ktest *test)
{
	struct machine *m = ktest_alloc(test, sizeof(*m));
	struct sdp_msg ack = {
		.mid = SDP_MID_HELLO_ACK,
		.bufs = 32,
		.hello = { .version = SDP_VERSION, .max_adverts = 4, .size = SIZE },
	};
	struct sdp_msg hello = { .hello = { .ipv = 4 } };
	u8 octets[SDP_HDR_MAX];

	memset(m, 0, sizeof(*m));
	m->bufs = 32;
	sdp_state_init(&m->c, &ops, &config);
	KTEST_EQ(test, sdp_state_connect(&m->c, &hello), 0);
	KTEST_EQ(test, m->c.state, SDP_HELLO_SENT);
	KTEST_EQ(test, hello.bufs, 8);
	KTEST_EQ(test, sdp_state_answer(&m->c, octets, sdp_wire_encode(&ack, octets)), 0);
	KTEST_EQ(test, m->c.state, SDP_OPEN);
	/* the first message */
	KTEST_EQ(test, m->sent_nr, 1);
	KTEST_EQ(test, last(m)->mid, SDP_MID_DATA);
	KTEST_EQ(test, last(m)->mseq, 1);
	KTEST_TRUE(test, m->notices == 1u << SDP_NOTICE_CONNECTED);
	return m;
}

/* ... with both halves in pipelined mode */
static struct machine *open_pipelined(struct ktest *test)
{
	struct machine *m = open_machine(test);

	SAY(m, MODE_CHANGE, .mode = SDP_MODE_PIPELINED);
	sdp_state_want_mode(&m->c, SDP_MODE_PIPELINED);
	KTEST_EQ(test, last(m)->mid, SDP_MID_MODE_CHANGE);
	KTEST_EQ(test, m->c.source.mode, SDP_MODE_PIPELINED);
	KTEST_EQ(test, m->c.sink.mode, SDP_MODE_PIPELINED);
	return m;
}

static struct machine *passive_machine(struct ktest *test)
{
	struct machine *m = ktest_alloc(test, sizeof(*m));
	struct sdp_msg hello = {
		.mid = SDP_MID_HELLO,
		.bufs = 16,
		.hello = { .version = SDP_VERSION, .max_adverts = 4, .size = SIZE },
	};
	struct sdp_msg ack;

	memset(m, 0, sizeof(*m));
	m->bufs = 16;
	sdp_state_init(&m->c, &ops, &config);
	KTEST_EQ(test, sdp_state_hello(&m->c, &hello), 0);
	KTEST_EQ(test, sdp_state_accept(&m->c, &ack), 0);
	KTEST_EQ(test, m->c.state, SDP_ACCEPTED);
	return m;
}

/* The table ******************************************************************************** */

/* one letter for each state: the next state, - if the event does not belong there */
static const char state_letters[SDP_STATES + 1] = "IHRAQOFCLGBD";

/* notices: connected, refused, timed out, closed (x), reset (z), the peer's fin; . for none */
static const struct {
	enum sdp_event event;
	const char *next;
	const char *notice;
	const char *disconnect;
} events[] = {
	/* the states: IHRAQOFCLGBD */
	{ SDP_EV_CONNECT,	"H-----------", "............", "............" },
	{ SDP_EV_HELLO,		"R-----------", "............", "............" },
	{ SDP_EV_ACCEPT,	"--A---------", "............", "............" },
	{ SDP_EV_FIN,		"---AQOFCLG--", "............", "............" },
	{ SDP_EV_CLOSE,		"DDDDQOFCLGBD", "............", "yyyy........" },
	{ SDP_EV_ABORT,		"DDDDDDBDBGBD", "............", "yyyyyy.y...." },
	{ SDP_EV_UP,		"-O-Q-O-C---D", ".c.c........", "............" },
	{ SDP_EV_REFUSED,	"-D---------D", ".r..........", "............" },
	{ SDP_EV_DOWN,		"-DDDDDDDDDDD", ".rzzzzzzxx..", "............" },
	{ SDP_EV_FIRST,		"---OOOFCLGBD", "...c........", "............" },
	{ SDP_EV_NEUTRAL,	"-----OFCLGBD", "............", "............" },
	{ SDP_EV_SOURCE,	"-----OF--GBD", "............", "............" },
	{ SDP_EV_SINK,		"-----OFCLGBD", "............", "............" },
	{ SDP_EV_BOTH,		"-----OF--GBD", "............", "............" },
	{ SDP_EV_DISCONN,	"-----CG--GBD", ".....ff.....", "......y....." },
	{ SDP_EV_ABORTCONN,	"-------DDGBD", ".......zz...", ".......yy..." },
	{ SDP_EV_FIN_SENT,	"-----F-L----", "............", "............" },
	{ SDP_EV_ABORT_SENT,	"----------DD", "............", "..........y." },
	{ SDP_EV_FAULT,		"-DDDDDDDDGBD", ".rzzzzzzz...", ".yyyyyyyy..." },
	{ SDP_EV_TIMEOUT,	"-DDDDDBDDDDD", ".ttttt.txx..", ".yyyyy.yyyy." },
};

static u32 notices_of(char letter)
{
	switch (letter) {
	case 'c':
		return 1u << SDP_NOTICE_CONNECTED;
	case 'r':
		return 1u << SDP_NOTICE_REFUSED;
	case 't':
		return 1u << SDP_NOTICE_TIMED_OUT;
	case 'x':
		return 1u << SDP_NOTICE_CLOSED;
	case 'z':
		return 1u << SDP_NOTICE_RESET;
	case 'f':
		return 1u << SDP_NOTICE_PEER_FIN;
	default:
		return 0;
	}
}

static void every_cell(struct ktest *test)
{
	struct machine *m = ktest_alloc(test, sizeof(*m));
	u32 i, state, ret;

	KTEST_EQ(test, ARRAY_SIZE(events), SDP_EVENTS);
	for (i = 0; i < ARRAY_SIZE(events); i++) {
		KTEST_EQ(test, events[i].event, i);
		for (state = 0; state < SDP_STATES; state++) {
			const char next = events[i].next[state];

			memset(m, 0, sizeof(*m));
			sdp_state_init(&m->c, &ops, &config);
			/* AbortConn may go, DisConn may not: that would be another event */
			m->c.credit.limit = 10;
			m->c.credit.peer_size = SIZE;
			m->c.suspended = true;
			m->c.state = state;
			ret = sdp_state_event(&m->c, events[i].event);
			KTEST_EQ_MSG(test, ret, next == '-' ? -EINVAL : 0, "event %u in %c", i,
				     state_letters[state]);
			KTEST_EQ_MSG(test, state_letters[m->c.state],
				     next == '-' ? state_letters[state] : next, "event %u in %c", i,
				     state_letters[state]);
			KTEST_EQ_MSG(test, m->notices, notices_of(events[i].notice[state]),
				     "event %u in %c", i, state_letters[state]);
			KTEST_EQ_MSG(test, m->disconnects, events[i].disconnect[state] == 'y',
				     "event %u in %c", i, state_letters[state]);
		}
	}
}

/* Faults *********************************************************************************** */

#define S(what, ...)			{ .mid = SDP_MID_##what, ##__VA_ARGS__ }

static const struct {
	const char *name;
	enum sdp_fault fault;
	bool pipelined;
	struct say says[4];
	u32 n;
} faults[] = {
	{ "malformed", SDP_FAULT_MID, false, { S(DATA), { .mid = 0x20 } }, 2 },
	{ "number left out", SDP_FAULT_SEQ, false, { S(DATA, .mseq_off = 1) }, 1 },
	{ "number twice", SDP_FAULT_SEQ, false, { S(DATA), S(DATA, .mseq_off = -1) }, 2 },
	{ "ack of the future", SDP_FAULT_ACK, false, { S(DATA, .ack_back = -1) }, 1 },
	{ "ack goes back", SDP_FAULT_ACK, false, { S(DATA), S(DATA, .ack_back = 1) }, 2 },
	{ "AbortConn first", SDP_FAULT_STATE, false, { S(ABORT) }, 1 },
	{ "DisConn twice", SDP_FAULT_STATE, false, { S(DISCONN), S(DISCONN) }, 2 },
	{ "payload after DisConn", SDP_FAULT_STATE, false,
	  { S(DISCONN), S(DATA, .payload = 1) }, 2 },
	{ "Transaction after DisConn", SDP_FAULT_STATE, true,
	  { S(DISCONN), S(SINK_AVAIL, .value = SIZE, .payload = 1) }, 2 },
	{ "SrcAvailCancel after DisConn", SDP_FAULT_STATE, false,
	  { S(DISCONN), S(SRC_CANCEL) }, 2 },
	{ "ModeChange after DisConn", SDP_FAULT_STATE, false,
	  { S(DISCONN), S(MODE_CHANGE, .mode = SDP_MODE_PIPELINED) }, 2 },
	{ "DisConn with SrcAvail", SDP_FAULT_STATE, true,
	  { S(SRC_AVAIL, .value = 5), S(DISCONN) }, 2 },
	{ "SuspCommAck", SDP_FAULT_STATE, false, { S(SUSPEND_ACK) }, 1 },
	{ "combined to combined", SDP_FAULT_MODE_CHANGE, false,
	  { S(MODE_CHANGE, .mode = SDP_MODE_COMBINED) }, 1 },
	{ "pipelined to buffered", SDP_FAULT_MODE_CHANGE, true,
	  { S(MODE_CHANGE, .mode = SDP_MODE_BUFFERED) }, 1 },
	{ "pipelined to pipelined", SDP_FAULT_MODE_CHANGE, true,
	  { S(MODE_CHANGE, .mode = SDP_MODE_PIPELINED) }, 1 },
	{ "the source leaves buffered", SDP_FAULT_MODE_CHANGE, false,
	  { S(MODE_CHANGE, .mode = SDP_MODE_BUFFERED),
	    S(MODE_CHANGE, .mode = SDP_MODE_COMBINED) }, 2 },
	{ "buffered with SrcAvail", SDP_FAULT_MODE_CHANGE, false,
	  { S(SRC_AVAIL, .value = 5, .payload = 1),
	    S(MODE_CHANGE, .mode = SDP_MODE_BUFFERED) }, 2 },
	{ "combined with SrcAvail", SDP_FAULT_MODE_CHANGE, true,
	  { S(SRC_AVAIL, .value = 5), S(MODE_CHANGE, .mode = SDP_MODE_COMBINED) }, 2 },
	{ "the sink changes to pipelined", SDP_FAULT_MODE_CHANGE, false,
	  { S(MODE_CHANGE, .send_half = true, .mode = SDP_MODE_PIPELINED) }, 1 },
	{ "the sink changes to combined from combined", SDP_FAULT_MODE_CHANGE, false,
	  { S(MODE_CHANGE, .send_half = true, .mode = SDP_MODE_COMBINED) }, 1 },
	{ "SrcAvail in buffered mode", SDP_FAULT_SRC_MODE, false,
	  { S(MODE_CHANGE, .mode = SDP_MODE_BUFFERED), S(SRC_AVAIL, .value = 5, .payload = 1) },
	  2 },
	{ "SrcAvail without payload", SDP_FAULT_SRC_MODE, false, { S(SRC_AVAIL, .value = 5) }, 1 },
	{ "SrcAvail with payload", SDP_FAULT_SRC_MODE, true,
	  { S(SRC_AVAIL, .value = 5, .payload = 1) }, 1 },
	{ "second SrcAvail", SDP_FAULT_SRC_LIMIT, false,
	  { S(SRC_AVAIL, .value = 5, .payload = 1), S(SRC_AVAIL, .value = 5, .payload = 1) }, 2 },
	{ "payload behind SrcAvail", SDP_FAULT_SRC_PAYLOAD, true,
	  { S(SRC_AVAIL, .value = 5), S(DATA, .payload = 1) }, 2 },
	{ "report of nothing", SDP_FAULT_READ, false, { S(READ_COMPL, .value = 1) }, 1 },
	{ "SendSm of nothing", SDP_FAULT_READ, false, { S(SEND_SM) }, 1 },
	{ "SinkAvail in combined mode", SDP_FAULT_SINK_MODE, false,
	  { S(SINK_AVAIL, .value = SIZE) }, 1 },
	{ "small SinkAvail", SDP_FAULT_SINK_LIMIT, true, { S(SINK_AVAIL, .value = SIZE - 1) }, 1 },
	{ "NonDiscards", SDP_FAULT_SINK_LIMIT, true,
	  { S(SINK_AVAIL, .value = SIZE, .nond = 1) }, 1 },
	{ "write of nothing", SDP_FAULT_WRITE, true, { S(WRITE_COMPL, .value = 1) }, 1 },
	{ "SinkCancelAck", SDP_FAULT_WRITE, true, { S(SINK_CANCEL_ACK) }, 1 },
	{ "OOB_PRES without notice", SDP_FAULT_PEND, false,
	  { S(DATA, .payload = 1, .flags = SDP_FLAG_OOB_PRES) }, 1 },
	{ "OOB_PEND twice", SDP_FAULT_PEND, false,
	  { S(DATA, .flags = SDP_FLAG_OOB_PEND), S(DATA, .flags = SDP_FLAG_OOB_PEND) }, 2 },
	{ "ChRcvBufAck", SDP_FAULT_RCV_BUF, false, { S(CH_RCV_BUF_ACK, .value = 1024) }, 1 },
};

static void finds_faults(struct ktest *test)
{
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(faults); i++) {
		struct machine *m = faults[i].pipelined ? open_pipelined(test) : open_machine(test);

		for (k = 0; k < faults[i].n; k++) {
			KTEST_EQ_MSG(test, m->c.fault, SDP_OK, "%s", faults[i].name);
			say(m, faults[i].says[k]);
		}
		KTEST_EQ_MSG(test, m->c.fault, faults[i].fault, "%s", faults[i].name);
		KTEST_EQ_MSG(test, m->c.state, SDP_DEAD, "%s", faults[i].name);
		KTEST_EQ_MSG(test, m->disconnects, 1, "%s", faults[i].name);
		KTEST_TRUE_MSG(test, m->notices & 1u << SDP_NOTICE_RESET, "%s", faults[i].name);
	}
}

static void finds_faults_of_advertisements(struct ktest *test)
{
	struct machine *m = open_pipelined(test);
	u32 i;

	/* the fifth SrcAvail */
	for (i = 0; i < 5; i++)
		SAY(m, SRC_AVAIL, .value = 5);
	KTEST_EQ(test, m->c.fault, SDP_FAULT_SRC_LIMIT);

	/* the fifth advertisement of both kinds */
	m = open_pipelined(test);
	SAY(m, SRC_AVAIL, .value = 5);
	SAY(m, SRC_AVAIL, .value = 5);
	SAY(m, SINK_AVAIL, .value = SIZE);
	SAY(m, SINK_AVAIL, .value = SIZE);
	KTEST_EQ(test, m->c.fault, SDP_OK);
	SAY(m, SINK_AVAIL, .value = SIZE);
	KTEST_EQ(test, m->c.fault, SDP_FAULT_SINK_LIMIT);

	/* SrcAvail while a cancel is answered */
	m = open_pipelined(test);
	SAY(m, SRC_AVAIL, .value = 500);
	KTEST_EQ(test, sdp_state_read(&m->c, 100, NULL), 100);
	SAY(m, SRC_CANCEL);
	SAY(m, SRC_AVAIL, .value = 5);
	KTEST_EQ(test, m->c.fault, SDP_FAULT_SRC_LIMIT);

	/* SrcAvail of a peer that has the SinkAvail */
	m = open_pipelined(test);
	KTEST_EQ(test, sdp_state_sink(&m->c, SIZE, 1, 0, false, NULL), 0);
	SAY(m, SRC_AVAIL, .value = 5);
	KTEST_EQ(test, m->c.fault, SDP_FAULT_SRC_LIMIT);

	/* RdmaWrCompl beyond the buffer */
	m = open_pipelined(test);
	KTEST_EQ(test, sdp_state_sink(&m->c, SIZE, 1, 0, false, NULL), 0);
	SAY(m, WRITE_COMPL, .value = SIZE + 1);
	KTEST_EQ(test, m->c.fault, SDP_FAULT_WRITE);

	/* RdmaRdCompl beyond the SrcAvail */
	m = open_pipelined(test);
	KTEST_EQ(test, sdp_state_offer(&m->c, 100, 1, 0, NULL), 0);
	SAY(m, READ_COMPL, .value = 101);
	KTEST_EQ(test, m->c.fault, SDP_FAULT_READ);
	/* the memory is given back, with what the peer has */
	KTEST_EQ(test, m->done, 1);
	KTEST_EQ(test, m->done_octets, 0);

	/* ChRcvBuf twice */
	m = open_machine(test);
	m->resize = 2 * SIZE;
	SAY(m, CH_RCV_BUF, .value = 2 * SIZE);
	SAY(m, CH_RCV_BUF, .value = 2 * SIZE);
	KTEST_EQ(test, m->c.fault, SDP_FAULT_RCV_BUF);
}

static void finds_faults_of_credits(struct ktest *test)
{
	struct machine *m = open_machine(test);
	u32 i;

	/* 8 buffers, of which two are not for payload; nothing is given back */
	m->no_memory = true;
	for (i = 0; i < 6; i++)
		SAY(m, DATA, .payload = 1);
	KTEST_EQ(test, m->c.fault, SDP_OK);
	SAY(m, DATA, .payload = 1);
	KTEST_EQ(test, m->c.fault, SDP_FAULT_CREDIT);

	m = open_machine(test);
	m->no_memory = true;
	for (i = 0; i < 8; i++)
		SAY(m, MODE_CHANGE, .mode = i % 2 ? SDP_MODE_COMBINED : SDP_MODE_PIPELINED);
	KTEST_EQ(test, m->c.fault, SDP_OK);
	SAY(m, MODE_CHANGE, .mode = SDP_MODE_PIPELINED);
	KTEST_EQ(test, m->c.fault, SDP_FAULT_CREDIT);
}

static void finds_early_messages(struct ktest *test)
{
	struct machine *m = ktest_alloc(test, sizeof(*m));
	struct sdp_msg hello = { .hello = { .ipv = 4 } };

	memset(m, 0, sizeof(*m));
	sdp_state_init(&m->c, &ops, &config);
	KTEST_EQ(test, sdp_state_connect(&m->c, &hello), 0);
	SAY(m, DATA);
	KTEST_EQ(test, m->c.fault, SDP_FAULT_EARLY);
	KTEST_EQ(test, m->c.state, SDP_DEAD);
	KTEST_TRUE(test, m->notices == 1u << SDP_NOTICE_REFUSED);

	/* the peer has not got the first message, which is on its way */
	m = open_machine(test);
	SAY(m, DATA, .ack_back = 1);
	KTEST_EQ(test, m->c.fault, SDP_FAULT_EARLY);
	KTEST_EQ(test, m->c.state, SDP_DEAD);
}

static void checks_the_answer(struct ktest *test)
{
	struct machine *m = ktest_alloc(test, sizeof(*m));
	struct sdp_msg ack = {
		.mid = SDP_MID_HELLO_ACK,
		.bufs = 32,
		.hello = { .version = 0x11, .max_adverts = 4, .size = SIZE },
	};
	struct sdp_msg hello = { .hello = { .ipv = 4 } };
	u8 octets[SDP_HDR_MAX];

	memset(m, 0, sizeof(*m));
	sdp_state_init(&m->c, &ops, &config);
	KTEST_EQ(test, sdp_state_answer(&m->c, octets, 0), -EINVAL);
	KTEST_EQ(test, sdp_state_connect(&m->c, &hello), 0);
	KTEST_EQ(test, sdp_state_connect(&m->c, &hello), -EINVAL);
	KTEST_EQ(test, sdp_state_answer(&m->c, octets, sdp_wire_encode(&ack, octets)), -EPROTO);
	KTEST_EQ(test, m->c.fault, SDP_FAULT_VERSION);
	KTEST_TRUE(test, m->notices == 1u << SDP_NOTICE_REFUSED);
	/* an answer of a peer that does not know the TCP connection */
	memset(m, 0, sizeof(*m));
	sdp_state_init(&m->c, &ops, &config);
	KTEST_EQ(test, sdp_state_connect(&m->c, &hello), 0);
	ack.hello.version = SDP_VERSION;
	ack.hello.name[SDP_NAME_LEN - 1] = 1;
	KTEST_EQ(test, sdp_state_answer(&m->c, octets, sdp_wire_encode(&ack, octets)), -EPROTO);
	KTEST_EQ(test, m->c.fault, SDP_FAULT_NAME);
	KTEST_TRUE(test, m->notices == 1u << SDP_NOTICE_REFUSED);
	/* no memory for the receives that a Hello promises */
	memset(m, 0, sizeof(*m));
	m->no_memory = true;
	sdp_state_init(&m->c, &ops, &config);
	KTEST_EQ(test, sdp_state_connect(&m->c, &hello), -ENOMEM);
	KTEST_EQ(test, m->c.state, SDP_IDLE);
}

/* Mechanisms ******************************************************************************* */

static void passive_end_is_quiet(struct ktest *test)
{
	struct machine *m = passive_machine(test);

	KTEST_EQ(test, sdp_state_event(&m->c, SDP_EV_UP), 0);
	KTEST_EQ(test, m->c.state, SDP_QUIET);
	KTEST_EQ(test, sdp_state_queue(&m->c, 10), 0);
	KTEST_EQ(test, m->sent_nr, 0);
	SAY(m, DATA);
	KTEST_EQ(test, m->sent_nr, 1);
	KTEST_EQ(test, last(m)->payload_len, 10);
	KTEST_EQ(test, last(m)->mseq_ack, 1);

	/* the message overtakes the event */
	m = passive_machine(test);
	SAY(m, DATA, .payload = 3);
	KTEST_EQ(test, m->c.state, SDP_OPEN);
	KTEST_TRUE(test, m->notices & 1u << SDP_NOTICE_CONNECTED);
	KTEST_EQ(test, sdp_state_event(&m->c, SDP_EV_UP), 0);
	KTEST_EQ(test, m->delivered, 3);
}

static void read_zcopy_source(struct ktest *test)
{
	struct machine *m = open_machine(test);

	/* combined mode: the first bytes travel with the SrcAvail */
	KTEST_EQ(test, sdp_state_offer(&m->c, 5000, 7, 0x1000, NULL), 0);
	KTEST_EQ(test, last(m)->mid, SDP_MID_SRC_AVAIL);
	KTEST_EQ(test, last(m)->payload_len, SIZE - 32);
	KTEST_EQ(test, last(m)->avail.size, 5000);
	KTEST_EQ(test, last(m)->avail.va, 0x1000);
	/* nothing may follow */
	KTEST_EQ(test, sdp_state_queue(&m->c, 10), 0);
	KTEST_EQ(test, last(m)->mid, SDP_MID_SRC_AVAIL);
	SAY(m, READ_COMPL, .value = 4000);
	KTEST_EQ(test, m->done, 0);
	SAY(m, READ_COMPL, .value = 1000 - (SIZE - 32));
	KTEST_EQ(test, m->done, 1);
	KTEST_EQ(test, m->done_octets, 5000);
	KTEST_EQ(test, last(m)->mid, SDP_MID_DATA);
	KTEST_EQ(test, last(m)->payload_len, 10);

	/* SendSm: as Data from where the Reads ended */
	KTEST_EQ(test, sdp_state_offer(&m->c, SIZE + 100, 7, 0x1000, NULL), 0);
	SAY(m, READ_COMPL, .value = 32);
	SAY(m, SEND_SM);
	KTEST_EQ(test, last(m)->mid, SDP_MID_DATA);
	KTEST_EQ(test, last(m)->payload_len, 100);
	KTEST_EQ(test, m->done, 2);
	KTEST_EQ(test, m->c.source.next, 5010 + SIZE + 100);
	KTEST_EQ(test, m->c.tx.read, 5000 - (SIZE - 32) + 32);
}

static void read_zcopy_pipelined(struct ktest *test)
{
	struct machine *m = open_pipelined(test);
	u32 i;

	for (i = 0; i < 6; i++)
		KTEST_EQ(test, sdp_state_offer(&m->c, 1000, 7, 0, NULL), 0);
	/* the peer accepts four */
	KTEST_EQ(test, m->c.source.out, 4);
	KTEST_EQ(test, last(m)->payload_len, 0);
	SAY(m, READ_COMPL, .value = 1000);
	KTEST_EQ(test, m->c.source.out, 4);
	KTEST_EQ(test, m->done, 1);
	/* a report never is for two */
	SAY(m, READ_COMPL, .value = 400);
	SAY(m, SEND_SM);
	/* the rest of the four as Data, then the sixth is advertised */
	KTEST_EQ(test, m->done, 5);
	KTEST_EQ(test, m->c.source.out, 1);
	KTEST_EQ(test, last(m)->mid, SDP_MID_SRC_AVAIL);
	KTEST_EQ(test, m->c.tx.bcopy, 600 + 3000);
}

static void source_cancels(struct ktest *test)
{
	struct machine *m = open_pipelined(test);

	KTEST_EQ(test, sdp_state_queue(&m->c, 100), 0);
	KTEST_EQ(test, sdp_state_offer(&m->c, 1000, 7, 0, NULL), 0);
	KTEST_EQ(test, sdp_state_offer(&m->c, 1000, 7, 0, NULL), 0);
	/* keep the first one */
	sdp_state_cut(&m->c, 1100);
	KTEST_EQ(test, last(m)->mid, SDP_MID_SRC_CANCEL);
	KTEST_EQ(test, sdp_state_queue(&m->c, 1), -EBUSY);
	KTEST_EQ(test, sdp_state_offer(&m->c, 1, 0, 0, NULL), -EBUSY);
	SAY(m, READ_COMPL, .value = 300);
	KTEST_FALSE(test, m->notices & 1u << SDP_NOTICE_CUT);
	SAY(m, SEND_SM);
	KTEST_TRUE(test, m->notices & 1u << SDP_NOTICE_CUT);
	KTEST_EQ(test, m->c.source.end, 1100);
	/* the second one is gone, the first one is advertised again */
	KTEST_EQ(test, m->done, 1);
	KTEST_EQ(test, m->done_octets, 0);
	KTEST_EQ(test, last(m)->mid, SDP_MID_SRC_AVAIL);
	KTEST_EQ(test, last(m)->avail.size, 700);
	KTEST_EQ(test, last(m)->avail.va, 300);
	/* all of it arrives although it is cancelled */
	sdp_state_cut(&m->c, 100);
	SAY(m, READ_COMPL, .value = 700);
	KTEST_EQ(test, m->c.source.end, 1100);
	KTEST_EQ(test, m->done_octets, 1000);
	KTEST_FALSE(test, m->c.source.cancelling);
	KTEST_EQ(test, m->c.fault, SDP_OK);
}

static void cut_without_advertisement(struct ktest *test)
{
	struct machine *m = open_machine(test);

	m->c.credit.slots = 0;
	KTEST_EQ(test, sdp_state_queue(&m->c, 100), 0);
	KTEST_EQ(test, sdp_state_offer(&m->c, 1000, 7, 0, NULL), 0);
	sdp_state_cut(&m->c, 150);
	KTEST_TRUE(test, m->notices & 1u << SDP_NOTICE_CUT);
	KTEST_EQ(test, m->c.source.end, 150);
	KTEST_EQ(test, m->done, 0);
	m->notices = 0;
	sdp_state_cut(&m->c, 100);
	KTEST_EQ(test, m->done, 1);
	KTEST_EQ(test, m->c.source.end, 100);
	sdp_state_sent(&m->c, 10);
	KTEST_EQ(test, last(m)->payload_len, 100);
}

static void sink_answers_cancel(struct ktest *test)
{
	struct machine *m = open_pipelined(test);
	u32 held;

	SAY(m, SRC_AVAIL, .value = 1000);
	SAY(m, SRC_AVAIL, .value = 1000);
	KTEST_EQ(test, sdp_state_readable(&m->c), 1000);
	KTEST_EQ(test, sdp_state_read(&m->c, 300, NULL), 300);
	held = m->mseq;
	SAY(m, SRC_CANCEL);
	KTEST_EQ(test, sdp_state_readable(&m->c), 0);
	KTEST_EQ(test, sdp_state_read(&m->c, 300, NULL), 0);
	/* no payload, and MSeqAck is held */
	KTEST_EQ(test, sdp_state_queue(&m->c, 10), 0);
	KTEST_EQ(test, m->c.tx.bcopy, 0);
	KTEST_EQ(test, sdp_state_ask_size(&m->c, 1024), 0);
	KTEST_EQ(test, last(m)->mid, SDP_MID_CH_RCV_BUF);
	KTEST_EQ(test, last(m)->mseq_ack, held);
	sdp_state_read_done(&m->c, 300);
	/* report, SendSm, then the payload */
	KTEST_EQ(test, last(m)->mid, SDP_MID_DATA);
	KTEST_EQ(test, before_last(m)->mid, SDP_MID_SEND_SM);
	KTEST_EQ(test, before_last(m)->mseq_ack, m->mseq);
	KTEST_EQ(test, m->sent[(m->sent_nr - 3) % SENT].mid, SDP_MID_READ_COMPL);
	KTEST_EQ(test, m->sent[(m->sent_nr - 3) % SENT].bytes, 300);
	/* nothing to cancel */
	held = m->sent_nr;
	SAY(m, SRC_CANCEL);
	KTEST_EQ(test, m->sent_nr, held);
	KTEST_EQ(test, m->c.fault, SDP_OK);
}

static void sink_refuses(struct ktest *test)
{
	struct machine *m = open_pipelined(test);
	u32 sm;

	SAY(m, SRC_AVAIL, .value = 1000);
	sdp_state_refuse(&m->c);
	KTEST_EQ(test, last(m)->mid, SDP_MID_SEND_SM);
	sm = m->c.credit.sent;
	/* a SrcAvail that crossed it */
	SAY(m, SRC_AVAIL, .value = 1000, .ack_back = 1);
	KTEST_EQ(test, sdp_state_readable(&m->c), 0);
	KTEST_EQ(test, m->c.sink.offered_nr, 0);
	SAY(m, DATA, .payload = 100);
	KTEST_EQ(test, m->delivered, 100);
	SAY(m, SRC_AVAIL, .value = 900);
	KTEST_EQ(test, sdp_state_readable(&m->c), 900);
	KTEST_TRUE(test, m->c.credit.acked >= sm);
	/* Reads, in pieces over the end of a SrcAvail */
	SAY(m, SRC_AVAIL, .value = 50);
	KTEST_EQ(test, sdp_state_read(&m->c, 10000, NULL), 900);
	KTEST_EQ(test, sdp_state_read(&m->c, 20, NULL), 20);
	KTEST_EQ(test, sdp_state_read(&m->c, 1000, NULL), 30);
	KTEST_EQ(test, sdp_state_read(&m->c, 1000, NULL), 0);
	sdp_state_read_done(&m->c, 900);
	KTEST_EQ(test, last(m)->bytes, 900);
	sdp_state_read_done(&m->c, 50);
	KTEST_EQ(test, last(m)->bytes, 50);
	KTEST_EQ(test, m->c.sink.offered_nr, 0);
	KTEST_EQ(test, m->c.fault, SDP_OK);
}

static void write_zcopy_source(struct ktest *test)
{
	struct machine *m = open_pipelined(test);

	KTEST_EQ(test, sdp_state_offer(&m->c, 3000, 7, 0, NULL), 0);
	KTEST_EQ(test, m->c.source.out, 1);
	/* it makes the SrcAvail void */
	SAY(m, SINK_AVAIL, .value = 2000);
	KTEST_EQ(test, m->written, 2000);
	KTEST_EQ(test, before_last(m)->mid, SDP_MID_WRITE_COMPL);
	KTEST_EQ(test, before_last(m)->bytes, 2000);
	/* the rest is advertised again */
	KTEST_EQ(test, last(m)->mid, SDP_MID_SRC_AVAIL);
	KTEST_EQ(test, last(m)->avail.size, 1000);
	SAY(m, READ_COMPL, .value = 1000);
	KTEST_EQ(test, m->done_octets, 3000);
	/* little data uses the buffer up */
	SAY(m, SINK_AVAIL, .value = 2000);
	KTEST_EQ(test, m->c.source.kept_nr, 1);
	KTEST_EQ(test, sdp_state_queue(&m->c, 10), 0);
	KTEST_EQ(test, last(m)->mid, SDP_MID_DATA);
	KTEST_EQ(test, m->c.source.kept_nr, 0);
	/* stale: the peer has not got that message yet */
	SAY(m, SINK_AVAIL, .value = 2000, .nond = 0);
	KTEST_EQ(test, m->c.source.kept_nr, 0);
	SAY(m, SINK_AVAIL, .value = 2000, .nond = 1);
	KTEST_EQ(test, m->c.source.kept_nr, 1);
	SAY(m, SINK_CANCEL);
	KTEST_EQ(test, last(m)->mid, SDP_MID_SINK_CANCEL_ACK);
	SAY(m, SINK_CANCEL);
	KTEST_EQ(test, last(m)->mid, SDP_MID_SINK_CANCEL_ACK);
	KTEST_EQ(test, m->c.source.kept_nr, 0);
	/* what one Write does not take needs more of them, and a slot for each */
	SAY(m, SINK_AVAIL, .value = 2000, .nond = 1);
	m->write_most = 500;
	m->writes = 0;
	m->c.credit.slots = 4;
	KTEST_EQ(test, sdp_state_queue(&m->c, 2000), 0);
	KTEST_EQ(test, m->writes, 3);
	KTEST_EQ(test, m->c.credit.slots, 0);
	KTEST_EQ(test, last(m)->mid, SDP_MID_WRITE_COMPL);
	KTEST_EQ(test, last(m)->bytes, 1500);
	SAY(m, SINK_AVAIL, .value = 2000, .nond = 1);
	sdp_state_sent(&m->c, 4);
	KTEST_EQ(test, last(m)->mid, SDP_MID_WRITE_COMPL);
	KTEST_EQ(test, last(m)->bytes, 500);
	/* after DisConn they are ignored */
	KTEST_EQ(test, sdp_state_event(&m->c, SDP_EV_FIN), 0);
	KTEST_EQ(test, m->c.state, SDP_FIN_WAIT);
	SAY(m, SINK_AVAIL, .value = 2000, .nond = 1);
	SAY(m, SINK_CANCEL);
	KTEST_EQ(test, last(m)->mid, SDP_MID_DISCONN);
	KTEST_EQ(test, m->c.fault, SDP_OK);
}

static void write_zcopy_sink(struct ktest *test)
{
	struct machine *m = open_pipelined(test);

	KTEST_EQ(test, sdp_state_sink(&m->c, SIZE - 1, 1, 0, false, NULL), -EINVAL);
	KTEST_EQ(test, sdp_state_sink(&m->c, 2000, 1, 0, false, NULL), 0);
	KTEST_EQ(test, last(m)->mid, SDP_MID_SINK_AVAIL);
	SAY(m, WRITE_COMPL, .value = 1500);
	KTEST_EQ(test, m->sink_done[SDP_SINK_WRITTEN], 1);
	KTEST_EQ(test, m->sink_octets, 1500);
	/* Data of a peer that knew of the first one of three */
	KTEST_EQ(test, sdp_state_sink(&m->c, 2000, 1, 0, false, NULL), 0);
	KTEST_EQ(test, sdp_state_sink(&m->c, 2000, 1, 0, false, NULL), 0);
	KTEST_EQ(test, sdp_state_sink(&m->c, 2000, 1, 0, false, NULL), 0);
	SAY(m, DATA, .payload = 5, .ack_back = 2);
	KTEST_EQ(test, m->sink_done[SDP_SINK_USED_UP], 1);
	KTEST_EQ(test, m->sink_done[SDP_SINK_VOID], 2);
	/* the next advertisement counts the message */
	KTEST_EQ(test, sdp_state_sink(&m->c, 2000, 1, 0, false, NULL), 0);
	KTEST_EQ(test, last(m)->avail.non_discards, 1);
	/* a SrcAvail that crossed it is not kept */
	SAY(m, SRC_AVAIL, .value = 100, .ack_back = 1);
	KTEST_EQ(test, sdp_state_readable(&m->c), 0);
	sdp_state_sink_cancel(&m->c);
	KTEST_EQ(test, last(m)->mid, SDP_MID_SINK_CANCEL);
	KTEST_EQ(test, sdp_state_sink(&m->c, 2000, 1, 0, false, NULL), -EAGAIN);
	SAY(m, SINK_CANCEL_ACK);
	KTEST_EQ(test, m->sink_done[SDP_SINK_VOID], 3);
	/* DisConn and a change of mode make them void */
	KTEST_EQ(test, sdp_state_sink(&m->c, 2000, 1, 0, false, NULL), 0);
	SAY(m, MODE_CHANGE, .mode = SDP_MODE_COMBINED);
	KTEST_EQ(test, m->sink_done[SDP_SINK_VOID], 4);
	KTEST_EQ(test, sdp_state_sink(&m->c, 2000, 1, 0, false, NULL), -EAGAIN);
	SAY(m, MODE_CHANGE, .mode = SDP_MODE_PIPELINED);
	KTEST_EQ(test, sdp_state_sink(&m->c, 2000, 1, 0, false, NULL), 0);
	SAY(m, DISCONN);
	KTEST_EQ(test, m->sink_done[SDP_SINK_VOID], 5);
	KTEST_EQ(test, m->c.fault, SDP_OK);
}

static void transaction(struct ktest *test)
{
	struct machine *m = open_pipelined(test);

	m->c.credit.slots = 0;
	KTEST_EQ(test, sdp_state_queue(&m->c, 40), 0);
	KTEST_EQ(test, sdp_state_sink(&m->c, 2000, 1, 0, true, NULL), 0);
	sdp_state_sent(&m->c, 10);
	KTEST_EQ(test, last(m)->mid, SDP_MID_SINK_AVAIL);
	KTEST_EQ(test, last(m)->payload_len, 40);
	KTEST_EQ(test, m->c.source.next, 40);
	/* the peer's one: its payload uses up the own buffer, which it knows */
	SAY(m, SINK_AVAIL, .value = 2000, .payload = 10, .nond = 1);
	KTEST_EQ(test, m->delivered, 10);
	KTEST_EQ(test, m->sink_done[SDP_SINK_USED_UP], 1);
	KTEST_EQ(test, m->c.source.kept_nr, 1);
	/* a stale one keeps its payload */
	SAY(m, SINK_AVAIL, .value = 2000, .payload = 10, .nond = 0);
	KTEST_EQ(test, m->delivered, 20);
	KTEST_EQ(test, m->c.source.kept_nr, 1);
}

static void modes(struct ktest *test)
{
	struct machine *m = open_machine(test);
	u32 sent;

	/* REQ_PIPE */
	SAY(m, DATA, .flags = SDP_FLAG_REQ_PIPE);
	KTEST_EQ(test, m->c.source.mode, SDP_MODE_PIPELINED);
	/* by way of combined mode */
	sdp_state_want_mode(&m->c, SDP_MODE_BUFFERED);
	KTEST_EQ(test, m->c.source.mode, SDP_MODE_BUFFERED);
	KTEST_EQ(test, last(m)->change.mode, SDP_MODE_BUFFERED);
	KTEST_EQ(test, before_last(m)->change.mode, SDP_MODE_COMBINED);
	/* an offer is Data then, and the mode stays */
	KTEST_EQ(test, sdp_state_offer(&m->c, 100, 1, 0, NULL), 0);
	KTEST_EQ(test, last(m)->mid, SDP_MID_DATA);
	sent = m->sent_nr;
	sdp_state_want_mode(&m->c, SDP_MODE_PIPELINED);
	KTEST_EQ(test, m->sent_nr, sent);
	SAY(m, MODE_CHANGE, .send_half = true, .mode = SDP_MODE_COMBINED);
	KTEST_EQ(test, m->c.source.mode, SDP_MODE_PIPELINED);
	/* a change waits for the SrcAvail */
	KTEST_EQ(test, sdp_state_offer(&m->c, 100, 1, 0, NULL), 0);
	sdp_state_want_mode(&m->c, SDP_MODE_COMBINED);
	KTEST_EQ(test, m->c.source.mode, SDP_MODE_PIPELINED);
	/* no further one until then */
	KTEST_EQ(test, sdp_state_offer(&m->c, 1, 1, 0, NULL), 0);
	KTEST_EQ(test, m->c.source.out, 1);
	/* a SinkAvail of a peer that does not know, and one that does */
	SAY(m, READ_COMPL, .value = 100);
	KTEST_EQ(test, m->c.source.mode, SDP_MODE_COMBINED);
	KTEST_EQ(test, last(m)->mid, SDP_MID_DATA);
	KTEST_EQ(test, before_last(m)->mid, SDP_MID_MODE_CHANGE);
	SAY(m, SINK_AVAIL, .value = SIZE, .nond = 1, .ack_back = 2);
	KTEST_EQ(test, m->c.fault, SDP_OK);
	/* the sink asks */
	SAY(m, MODE_CHANGE, .mode = SDP_MODE_BUFFERED);
	sdp_state_want_pipelined(&m->c, true);
	KTEST_EQ(test, last(m)->mid, SDP_MID_MODE_CHANGE);
	KTEST_TRUE(test, last(m)->change.send_half);
	KTEST_EQ(test, sdp_state_queue(&m->c, 1), 0);
	KTEST_TRUE(test, last(m)->flags & SDP_FLAG_REQ_PIPE);
	SAY(m, SINK_AVAIL, .value = SIZE, .nond = 1);
	KTEST_EQ(test, m->c.fault, SDP_FAULT_SINK_MODE);
}

static void out_of_band(struct ktest *test)
{
	struct machine *m = open_machine(test);

	/* both flags in one message */
	KTEST_EQ(test, sdp_state_urgent(&m->c), 0);
	KTEST_EQ(test, last(m)->payload_len, 1);
	KTEST_EQ(test, last(m)->flags, SDP_FLAG_OOB_PRES | SDP_FLAG_OOB_PEND);
	/* no payload can go: a message only for the notice */
	m->bufs = 2;
	SAY(m, DATA);
	KTEST_EQ(test, sdp_state_queue(&m->c, 10), 0);
	KTEST_EQ(test, sdp_state_urgent(&m->c), 0);
	KTEST_EQ(test, last(m)->flags, SDP_FLAG_OOB_PEND);
	KTEST_EQ(test, last(m)->payload_len, 0);
	/* a second one: the first becomes an ordinary byte */
	KTEST_EQ(test, sdp_state_urgent(&m->c), 0);
	KTEST_EQ(test, sdp_state_queue(&m->c, 10), 0);
	m->bufs = 32;
	SAY(m, DATA);
	KTEST_EQ(test, before_last(m)->flags, SDP_FLAG_OOB_PRES);
	KTEST_EQ(test, before_last(m)->payload_len, 12);
	KTEST_EQ(test, last(m)->flags, 0);
	KTEST_EQ(test, last(m)->payload_len, 10);
	/* the notice comes when the byte is near enough */
	m->bufs = 3;
	SAY(m, DATA);
	KTEST_EQ(test, sdp_state_queue(&m->c, SDP_OOB_NOTICE + 1000), 0);
	KTEST_EQ(test, sdp_state_urgent(&m->c), 0);
	KTEST_EQ(test, last(m)->flags, 0);
	SAY(m, DATA);
	KTEST_EQ(test, last(m)->flags, 0);
	SAY(m, DATA);
	KTEST_EQ(test, before_last(m)->flags, 0);
	KTEST_EQ(test, last(m)->flags, SDP_FLAG_OOB_PEND);
	/* received */
	SAY(m, DATA, .flags = SDP_FLAG_OOB_PEND);
	KTEST_TRUE(test, m->notices & 1u << SDP_NOTICE_URGENT);
	SAY(m, DATA, .payload = 2, .flags = SDP_FLAG_OOB_PRES);
	KTEST_FALSE(test, m->c.sink.urgent);
	KTEST_EQ(test, m->c.fault, SDP_OK);
}

static void buffer_sizes(struct ktest *test)
{
	struct machine *m = open_machine(test);
	u32 i;

	KTEST_EQ(test, sdp_state_ask_size(&m->c, 100), -EINVAL);
	KTEST_EQ(test, sdp_state_ask_size(&m->c, 4096), 0);
	KTEST_EQ(test, last(m)->mid, SDP_MID_CH_RCV_BUF);
	/* the next question waits for the answer */
	KTEST_EQ(test, sdp_state_ask_size(&m->c, 8192), 0);
	KTEST_EQ(test, last(m)->bytes, 4096);
	SAY(m, CH_RCV_BUF_ACK, .value = 300);
	KTEST_EQ(test, m->c.credit.peer_size, 300);
	KTEST_EQ(test, last(m)->bytes, 8192);
	/* a refusal at once */
	SAY(m, CH_RCV_BUF, .value = 4096);
	KTEST_EQ(test, last(m)->mid, SDP_MID_CH_RCV_BUF_ACK);
	KTEST_EQ(test, last(m)->bytes, SIZE);
	/* larger ones when the eight smaller ones are used up */
	m->resize = 1024;
	m->bufs = 100;
	SAY(m, CH_RCV_BUF, .value = 4096);
	KTEST_EQ(test, m->c.credit.size, 1024);
	for (i = 0; i < 7; i++) {
		KTEST_NE(test, last(m)->bytes, 1024);
		SAY(m, DATA);
	}
	KTEST_EQ(test, last(m)->mid, SDP_MID_CH_RCV_BUF_ACK);
	KTEST_EQ(test, last(m)->bytes, 1024);

	/* a buffer of a program that is too small now is not advertised any more */
	m = open_pipelined(test);
	m->c.credit.slots = 0;
	KTEST_EQ(test, sdp_state_sink(&m->c, SIZE, 1, 0, false, NULL), 0);
	m->resize = 1024;
	SAY(m, CH_RCV_BUF, .value = 1024);
	sdp_state_sent(&m->c, 10);
	KTEST_EQ(test, m->sink_done[SDP_SINK_VOID], 1);
}

static void suspension(struct ktest *test)
{
	struct machine *m = open_machine(test);
	u32 sent;

	SAY(m, SUSPEND);
	KTEST_EQ(test, last(m)->mid, SDP_MID_SUSPEND_ACK);
	sent = m->sent_nr;
	KTEST_EQ(test, sdp_state_queue(&m->c, 10), 0);
	KTEST_EQ(test, sdp_state_event(&m->c, SDP_EV_FIN), 0);
	KTEST_EQ(test, m->sent_nr, sent);
	KTEST_EQ(test, sdp_state_event(&m->c, SDP_EV_DOWN), 0);
	KTEST_TRUE(test, m->notices & 1u << SDP_NOTICE_RESET);
}

static void closes(struct ktest *test)
{
	struct machine *m = open_machine(test);

	/* own DisConn behind the data, then the peer's: this end disconnects */
	KTEST_EQ(test, sdp_state_queue(&m->c, 10), 0);
	KTEST_EQ(test, sdp_state_close(&m->c), 0);
	KTEST_EQ(test, before_last(m)->payload_len, 10);
	KTEST_EQ(test, last(m)->mid, SDP_MID_DISCONN);
	KTEST_EQ(test, sdp_state_queue(&m->c, 10), -EPIPE);
	SAY(m, DISCONN);
	KTEST_EQ(test, m->c.state, SDP_CLOSING);
	KTEST_EQ(test, m->disconnects, 1);
	KTEST_EQ(test, sdp_state_event(&m->c, SDP_EV_DOWN), 0);
	KTEST_TRUE(test, m->notices & 1u << SDP_NOTICE_CLOSED);

	/* the peer first: it disconnects */
	m = open_machine(test);
	SAY(m, DISCONN);
	KTEST_EQ(test, m->c.state, SDP_CLOSE_WAIT);
	KTEST_EQ(test, sdp_state_queue(&m->c, 10), 0);
	KTEST_EQ(test, last(m)->payload_len, 10);
	KTEST_EQ(test, sdp_state_close(&m->c), 0);
	KTEST_EQ(test, m->c.state, SDP_LAST_ACK);
	KTEST_EQ(test, m->disconnects, 0);

	/* DisConn waits for the SrcAvail */
	m = open_pipelined(test);
	KTEST_EQ(test, sdp_state_offer(&m->c, 1000, 1, 0, NULL), 0);
	KTEST_EQ(test, sdp_state_close(&m->c), 0);
	KTEST_EQ(test, m->c.state, SDP_OPEN);
	SAY(m, READ_COMPL, .value = 1000);
	KTEST_EQ(test, m->c.state, SDP_FIN_WAIT);
}

static void aborts(struct ktest *test)
{
	struct machine *m = open_machine(test);

	/* unread data at close */
	SAY(m, DATA, .payload = 10);
	KTEST_EQ(test, sdp_state_close(&m->c), 0);
	KTEST_EQ(test, m->c.state, SDP_DEAD);
	KTEST_EQ(test, m->disconnects, 1);
	KTEST_NE(test, last(m)->mid, SDP_MID_ABORT);

	/* data after close: AbortConn, because DisConn was sent */
	m = open_machine(test);
	KTEST_EQ(test, sdp_state_close(&m->c), 0);
	SAY(m, DATA, .payload = 10);
	KTEST_EQ(test, m->c.state, SDP_ABORTING);
	KTEST_EQ(test, last(m)->mid, SDP_MID_ABORT);
	KTEST_EQ(test, m->delivered, 0);
	KTEST_EQ(test, m->disconnects, 0);
	KTEST_EQ(test, sdp_state_event(&m->c, SDP_EV_ABORT_SENT), 0);
	KTEST_EQ(test, m->disconnects, 1);

	/* data for a program that has shut both halves down: the program learns it */
	m = open_machine(test);
	sdp_state_stop_receiving(&m->c);
	KTEST_EQ(test, sdp_state_event(&m->c, SDP_EV_FIN), 0);
	SAY(m, DATA);
	KTEST_EQ(test, m->c.state, SDP_FIN_WAIT);
	SAY(m, DATA, .payload = 10);
	KTEST_EQ(test, m->c.state, SDP_ABORTING);
	KTEST_EQ(test, last(m)->mid, SDP_MID_ABORT);
	KTEST_EQ(test, m->delivered, 0);
	KTEST_TRUE(test, m->notices & 1u << SDP_NOTICE_RESET);

	/* no credit for it */
	m = open_machine(test);
	KTEST_EQ(test, sdp_state_close(&m->c), 0);
	m->bufs = 0;
	SAY(m, DATA);
	KTEST_EQ(test, sdp_state_event(&m->c, SDP_EV_TIMEOUT), 0);
	KTEST_EQ(test, m->c.state, SDP_DEAD);

	/* the peer's */
	m = open_machine(test);
	SAY(m, DISCONN);
	SAY(m, ABORT);
	KTEST_TRUE(test, m->notices & 1u << SDP_NOTICE_RESET);
	KTEST_EQ(test, m->c.fault, SDP_OK);
	SAY(m, DATA);
	KTEST_EQ(test, m->c.fault, SDP_OK);
}

/* Credits ********************************************************************************** */

static void reserved_buffers(struct ktest *test)
{
	struct machine *m = open_machine(test);
	u32 sent, i;

	/* three credits: one message with payload */
	m->bufs = 3;
	SAY(m, DATA);
	sent = m->sent_nr;
	KTEST_EQ(test, sdp_state_queue(&m->c, 3 * SIZE), 0);
	KTEST_EQ(test, m->sent_nr, sent + 1);
	/* two: a control message */
	KTEST_EQ(test, sdp_state_ask_size(&m->c, 1024), 0);
	KTEST_EQ(test, m->sent_nr, sent + 2);
	/* one, and nothing to give: a buffer beyond the window makes it good */
	KTEST_EQ(test, m->c.credit.posted, 8);
	sdp_state_want_mode(&m->c, SDP_MODE_PIPELINED);
	KTEST_EQ(test, m->sent_nr, sent + 3);
	KTEST_EQ(test, last(m)->bufs, 9);
	/* none */
	sdp_state_want_mode(&m->c, SDP_MODE_COMBINED);
	KTEST_EQ(test, m->sent_nr, sent + 3);

	/* not for ever */
	m = open_machine(test);
	m->c.credit.held = m->c.credit.window;
	m->c.credit.posted = 2;
	m->c.credit.given = 2;
	m->c.credit.given_max = 2;
	for (i = 0; i < 2 * SDP_LOANS; i++) {
		m->c.credit.limit = m->c.credit.sent + 1;
		sdp_state_want_mode(&m->c, i % 2 ? SDP_MODE_COMBINED : SDP_MODE_PIPELINED);
	}
	KTEST_EQ(test, m->c.credit.loans, SDP_LOANS);
	KTEST_EQ(test, m->c.credit.posted, 2 + SDP_LOANS);
}

/* the table of credit updates in the document: avail, left, news -> update? */
static const struct {
	u32 avail;
	u32 left;
	bool news;
	u32 own;
	bool update;
} updates[] = {
	{ 1, 0, false, 1, true },
	{ 1, 0, false, 0, false },
	{ 2, 1, false, 9, false },
	{ 2, 1, true, 9, true },
	{ 2, 1, true, 1, true },
	{ 3, 2, false, 9, false },
	{ 3, 2, true, 9, true },
	{ 4, 2, false, 9, true },
	{ 4, 1, false, 9, true },
	{ 4, 3, true, 9, false },
	{ 5, 3, true, 9, true },
	{ 5, 3, false, 9, false },
	{ 5, 3, true, 1, false },
	{ 30, 20, true, 9, false },
	{ 31, 20, true, 9, true },
	{ 31, 20, false, 9, false },
	{ 20, 20, true, 9, false },
	{ 0, 0, true, 9, false },
};

static void credit_updates(struct ktest *test)
{
	u32 i, sent;

	for (i = 0; i < ARRAY_SIZE(updates); i++) {
		struct machine *m = open_machine(test);
		struct sdp_credit *credit = &m->c.credit;

		m->no_memory = true;
		credit->posted = updates[i].avail;
		credit->given = updates[i].left;
		credit->given_max = updates[i].left;
		credit->news = updates[i].news;
		credit->limit = credit->sent + updates[i].own;
		sent = m->sent_nr;
		sdp_state_run(&m->c);
		KTEST_EQ_MSG(test, m->sent_nr - sent, updates[i].update, "row %u", i);
		if (updates[i].update) {
			KTEST_EQ_MSG(test, last(m)->mid, SDP_MID_DATA, "row %u", i);
			KTEST_EQ_MSG(test, last(m)->bufs, updates[i].avail, "row %u", i);
		}
	}
}

static void window(struct ktest *test)
{
	struct machine *m = open_machine(test);
	u32 i;

	for (i = 0; i < 5; i++)
		SAY(m, DATA, .payload = 100);
	/* the program does not read: the buffers count in full */
	KTEST_EQ(test, m->c.credit.held, 5 * SIZE);
	KTEST_EQ(test, m->c.credit.posted, 3);
	SAY(m, DATA, .payload = 100);
	KTEST_EQ(test, m->c.credit.posted, 2);
	/* control messages take no room */
	SAY(m, DATA);
	KTEST_EQ(test, m->c.credit.posted, 2);
	/* the caller copies small payload out of the large buffers */
	sdp_state_release(&m->c, 6 * (SIZE - 100));
	KTEST_EQ(test, m->c.credit.posted, 6);
	KTEST_EQ(test, last(m)->bufs, 6);
	sdp_state_release(&m->c, 600);
	KTEST_EQ(test, m->c.credit.posted, 8);
	sdp_state_window(&m->c, 0);
	KTEST_EQ(test, m->c.credit.window, 4 * SIZE);
}

/* Two machines ***************************************************************************** */

static void run_pairs(struct ktest *test, u32 seed, u32 rounds, u32 steps)
{
	struct sdp_pair *p = ktest_alloc(test, sizeof(*p));
	u32 i, k;

	for (i = seed; i < seed + rounds; i++) {
		pair_begin(p, i * 2654435761u, NULL, 0, NULL);
		for (k = 0; k < steps && !p->broken; k++)
			pair_step(p);
		if (!p->broken)
			pair_finish(p);
		KTEST_FALSE_MSG(test, p->broken, "seed %u: %s, line %d", i, p->broken, p->line);
		if (p->broken)
			break;
	}
}

static void pairs_for_a_short_time(struct ktest *test)
{
	run_pairs(test, 1, 200, 60);
}

static void pairs_for_a_longer_time(struct ktest *test)
{
	run_pairs(test, 1000, 60, 1000);
}

static struct ktest_case cases[] = {
	KTEST_CASE(every_cell),
	KTEST_CASE(finds_faults),
	KTEST_CASE(finds_faults_of_advertisements),
	KTEST_CASE(finds_faults_of_credits),
	KTEST_CASE(finds_early_messages),
	KTEST_CASE(checks_the_answer),
	KTEST_CASE(passive_end_is_quiet),
	KTEST_CASE(read_zcopy_source),
	KTEST_CASE(read_zcopy_pipelined),
	KTEST_CASE(source_cancels),
	KTEST_CASE(cut_without_advertisement),
	KTEST_CASE(sink_answers_cancel),
	KTEST_CASE(sink_refuses),
	KTEST_CASE(write_zcopy_source),
	KTEST_CASE(write_zcopy_sink),
	KTEST_CASE(transaction),
	KTEST_CASE(modes),
	KTEST_CASE(out_of_band),
	KTEST_CASE(buffer_sizes),
	KTEST_CASE(suspension),
	KTEST_CASE(closes),
	KTEST_CASE(aborts),
	KTEST_CASE(reserved_buffers),
	KTEST_CASE(credit_updates),
	KTEST_CASE(window),
	KTEST_CASE(pairs_for_a_short_time),
	KTEST_CASE(pairs_for_a_longer_time),
	{}
};

KTEST_SUITE(sdp_state, cases);
