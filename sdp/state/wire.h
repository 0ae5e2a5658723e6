/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Messages of the Sockets Direct Protocol as bytes, see docs/sdp-wire.md. Pure functions: no
 * sockets, locks or memory of the kernel. Everything that a peer sends goes through
 * sdp_wire_decode(), everything that this end sends comes from sdp_wire_encode().
 */
#ifndef SDP_WIRE_H
#define SDP_WIRE_H

#include <linux/bits.h>
#include <linux/types.h>

/** enum sdp_mid - which message */
enum sdp_mid {
	SDP_MID_HELLO			= 0x00,
	SDP_MID_HELLO_ACK		= 0x01,
	SDP_MID_DISCONN			= 0x02,
	SDP_MID_ABORT			= 0x03,
	SDP_MID_SEND_SM			= 0x04,
	SDP_MID_WRITE_COMPL		= 0x05,
	SDP_MID_READ_COMPL		= 0x06,
	SDP_MID_MODE_CHANGE		= 0x07,
	SDP_MID_SRC_CANCEL		= 0x08,
	SDP_MID_SINK_CANCEL		= 0x09,
	SDP_MID_SINK_CANCEL_ACK		= 0x0a,
	SDP_MID_CH_RCV_BUF		= 0x0b,
	SDP_MID_CH_RCV_BUF_ACK		= 0x0c,
	SDP_MID_SUSPEND			= 0x0d,
	SDP_MID_SUSPEND_ACK		= 0x0e,
	SDP_MID_SINK_AVAIL		= 0xfd,
	SDP_MID_SRC_AVAIL		= 0xfe,
	SDP_MID_DATA			= 0xff,
};

/* Flags of the BSDH */
#define SDP_FLAG_OOB_PRES	0x01	/* the last byte of the payload is out-of-band */
#define SDP_FLAG_OOB_PEND	0x02	/* such a byte follows soon */
#define SDP_FLAG_REQ_PIPE	0x04	/* the source is asked to use pipelined mode */
#define SDP_FLAGS		(SDP_FLAG_OOB_PRES | SDP_FLAG_OOB_PEND | SDP_FLAG_REQ_PIPE)

/* Cap of Hello and HelloAck */
#define SDP_CAP_INVALIDATE	0x01	/* accepts Send with Invalidate */
#define SDP_CAP_EXT_ADVERTS	0x02	/* ExtMaxAdverts is valid */

#define SDP_VERSION		0x30
#define SDP_VERSION_MAJOR	3

#define SDP_BSDH_LEN		16
#define SDP_HELLO_LEN		92
#define SDP_HELLO_COMPACT_LEN	40
#define SDP_HELLO_ACK_LEN	196
#define SDP_HELLO_ACK_COMPACT_LEN 32
#define SDP_HDR_MAX		SDP_HELLO_ACK_LEN
#define SDP_MSG_HDR_MAX		36	/* longest header of a Send: SinkAvail */
#define SDP_REFUSAL_LEN		4
#define SDP_NAME_LEN		8	/* of a TCP connection's name */

#define SDP_BUF_MIN		256	/* smallest private buffer, BSDH included */
#define SDP_BUFS_MIN		3	/* fewer never carry payload */
#define SDP_RESERVED		2	/* buffers that payload leaves to control messages */
#define SDP_OOB_NOTICE		65536	/* bytes before the out-of-band one */

/** enum sdp_mode - mode of a half connection, as in ModeChange */
enum sdp_mode {
	SDP_MODE_BUFFERED,
	SDP_MODE_COMBINED,
	SDP_MODE_PIPELINED,
	SDP_MODES
};

/** enum sdp_carrier - how a message travels */
enum sdp_carrier {
	SDP_IN_SEND,		/* a Send of the connection */
	SDP_IN_REQUEST,		/* private data of a connection request */
	SDP_IN_ANSWER,		/* private data of its answer */
};

/** enum sdp_refusal - why a connection request is refused */
enum sdp_refusal {
	SDP_REFUSED_UNKNOWN	= 1,	/* no such TCP connection */
	SDP_REFUSED_LATER	= 2,	/* worth another try */
	SDP_REFUSED_VERSION	= 3,
	SDP_REFUSED_MALFORMED	= 4,
	SDP_REFUSED_RESOURCES	= 5,
};

/** enum sdp_fault - what is wrong with a message; docs/sdp-wire.md section 14 */
enum sdp_fault {
	SDP_OK,
	/* of the bytes alone */
	SDP_FAULT_SHORT,
	SDP_FAULT_LENGTH,
	SDP_FAULT_MID,
	SDP_FAULT_CARRIER,
	SDP_FAULT_VERSION,
	SDP_FAULT_IPV,
	SDP_FAULT_PORT,
	SDP_FAULT_ADVERTS,
	SDP_FAULT_BUFS,
	SDP_FAULT_START,
	SDP_FAULT_SIZE,
	SDP_FAULT_PAYLOAD,
	SDP_FAULT_MODE,
	SDP_FAULT_OOB,
	SDP_FAULT_NAME,
	/* of the order of messages */
	SDP_FAULT_SEQ,
	SDP_FAULT_ACK,
	SDP_FAULT_CREDIT,
	SDP_FAULT_EARLY,
	SDP_FAULT_STATE,
	SDP_FAULT_MODE_CHANGE,
	SDP_FAULT_SRC_MODE,
	SDP_FAULT_SRC_LIMIT,
	SDP_FAULT_SRC_PAYLOAD,
	SDP_FAULT_READ,
	SDP_FAULT_SINK_MODE,
	SDP_FAULT_SINK_LIMIT,
	SDP_FAULT_WRITE,
	SDP_FAULT_PEND,
	SDP_FAULT_RCV_BUF,
	SDP_FAULTS
};

/**
 * struct sdp_hello - Hello or HelloAck
 * @compact: the short form; in a Hello it has no addresses
 * @version: major version above minor version
 * @ipv: 4 or 6; Hello only
 * @caps: SDP_CAP_*
 * @max_adverts: advertisements that the sender accepts at a time
 * @want_size: wanted size of the peer's private buffers; Hello only
 * @size: size of the sender's private buffers, BSDH included
 * @local_port: port of the TCP connection at the active end; Hello only
 * @dst_port: ... at the passive end; Hello only
 * @name: name of the TCP connection; in a HelloAck its answer
 * @src: address of the active end, IPv4 in the last four bytes; full Hello only
 * @dst: ... of the passive end
 */
struct sdp_hello {
	bool compact;
	u8 version;
	u8 ipv;
	u8 caps;
	u16 max_adverts;
	u32 want_size;
	u32 size;
	u16 local_port;
	u16 dst_port;
	u8 name[SDP_NAME_LEN];
	u8 src[16];
	u8 dst[16];
};

/**
 * struct sdp_avail - what SrcAvail or SinkAvail advertises
 * @size: bytes
 * @rkey: RKey or STag, as the transport has it
 * @va: address of the first byte
 * @non_discards: messages with payload that the sink has received; SinkAvail only
 */
struct sdp_avail {
	u32 size;
	u32 rkey;
	u64 va;
	u32 non_discards;
};

/**
 * struct sdp_msg - a decoded message, or one to be encoded
 * @mid: enum sdp_mid
 * @flags: SDP_FLAG_*
 * @hdr_len: bytes before the payload
 * @bufs: private buffers that the sender has posted
 * @payload_len: bytes behind the headers
 * @mseq: number of this message
 * @mseq_ack: number of the last message that the sender has processed
 * @hello: Hello, HelloAck
 * @avail: SrcAvail, SinkAvail
 * @bytes: RdmaWrCompl, RdmaRdCompl: bytes moved; ChRcvBuf, ChRcvBufAck: size of a buffer
 * @change: ModeChange
 * @change.send_half: it is about the receiver's send half
 * @change.mode: enum sdp_mode
 * @service: SuspComm
 */
struct sdp_msg {
	u8 mid;
	u8 flags;
	u16 hdr_len;
	u16 bufs;
	u32 payload_len;
	u32 mseq;
	u32 mseq_ack;
	union {
		struct sdp_hello hello;
		struct sdp_avail avail;
		u32 bytes;
		struct {
			bool send_half;
			u8 mode;
		} change;
		u64 service;
	};
};

enum sdp_fault sdp_wire_decode(const u8 *p, u32 n, enum sdp_carrier carrier, struct sdp_msg *msg);
u32 sdp_wire_encode(const struct sdp_msg *msg, u8 out[SDP_HDR_MAX]);
u32 sdp_wire_hdr_len(const struct sdp_msg *msg);

bool sdp_wire_solicited(const struct sdp_msg *msg);

void sdp_wire_put_refusal(enum sdp_refusal reason, u8 out[SDP_REFUSAL_LEN]);
enum sdp_refusal sdp_wire_refusal(const u8 *p, u32 n);
enum sdp_refusal sdp_wire_fault_refusal(enum sdp_fault fault);

const char *sdp_wire_fault_name(enum sdp_fault fault);

/* is @a before @b? Numbers of messages wrap. */
static inline bool sdp_seq_before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

#endif /* SDP_WIRE_H */
