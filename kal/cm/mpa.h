/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * MPA start-up: the Request and Reply frames (RFC 5044 7.1, RFC 6581 6 and 9) and the
 * negotiation between the two sides. The functions are pure. They work on bytes and use no
 * sockets or locks. Called by startup.c and by the unit tests.
 *
 *   0                16     17    18          20            20 + PD_Length
 *   +----------------+------+-----+-----------+-------------+
 *   | key            |M C R S| Rev | PD_Length | private data |
 *   +----------------+------+-----+-----------+-------------+
 *
 * If S is set, the private data begins with 4 bytes of enhanced data:
 *   A B IRD(14)  C D ORD(14)
 */
#ifndef KAL_MPA_H
#define KAL_MPA_H

#include <linux/bits.h>
#include <linux/types.h>

#include <krdma/mpa_params.h>

#define KAL_MPA_KEY_LEN		16
#define KAL_MPA_HDR_LEN		20
#define KAL_MPA_ENHANCED_LEN	4
#define KAL_MPA_PD_MAX		512
#define KAL_MPA_FRAME_MAX	(KAL_MPA_HDR_LEN + KAL_MPA_PD_MAX)

/* this IRD or ORD takes no part in the negotiation (RFC 6581 9.1) */
#define KAL_MPA_READS_ULP	0x3fff
#define KAL_MPA_READS_MAX	(KAL_MPA_READS_ULP - 1)

/* sets of ready-to-receive frames, indexed by enum ri_rtr */
#define KAL_MPA_RTR_SEND	BIT(RI_RTR_SEND)
#define KAL_MPA_RTR_WRITE	BIT(RI_RTR_WRITE)
#define KAL_MPA_RTR_READ	BIT(RI_RTR_READ)
#define KAL_MPA_RTR_ALL		(KAL_MPA_RTR_SEND | KAL_MPA_RTR_WRITE | KAL_MPA_RTR_READ)

/* error codes of a Terminate with layer 2, error type 0 (RFC 5044 8, RFC 6581 8) */
enum kal_mpa_term {
	KAL_MPA_TERM_NONE = 0,	/* no Terminate is sent */
	KAL_MPA_TERM_LOCAL = 5,
	KAL_MPA_TERM_IRD = 6,
	KAL_MPA_TERM_RTR = 7,
};

#define KAL_MPA_CRC_LEN		4
#define KAL_MPA_MARKER_LEN	4
#define KAL_MPA_TERM_LEN	28	/* a whole FPDU */
#define KAL_MPA_TERM_MAX	(KAL_MPA_MARKER_LEN + KAL_MPA_TERM_LEN)

/** enum kal_mpa_kind - kind of a start-up frame */
enum kal_mpa_kind {
	KAL_MPA_REQUEST,
	KAL_MPA_REPLY,
};

/**
 * struct kal_mpa_frame - a decoded start-up frame
 * @markers: M: the sender wants markers in the data that it receives
 * @crc: C: the sender wants CRC32c
 * @reject: R: meaningful in a Reply only
 * @enhanced: S of revision 2; the members from @p2p on are valid
 * @revision: 1 or 2
 * @pd_len: length of the consumer's private data in bytes, without the enhanced data
 * @p2p: A: peer-to-peer model
 * @rtr: B, C and D as KAL_MPA_RTR_*; empty without @p2p
 * @ird: inbound reads of the frame's sender
 * @ord: outbound reads of the frame's sender
 */
struct kal_mpa_frame {
	bool markers;
	bool crc;
	bool reject;
	bool enhanced;
	u8 revision;
	u16 pd_len;
	bool p2p;
	u8 rtr;
	u16 ird;
	u16 ord;
};

/**
 * struct kal_mpa_local - parameters of this side for the negotiation
 * @crc: ask for CRC32c; it is used if either side asks
 * @markers: ask for markers in the data that this side receives
 * @marks: the RNIC can insert markers for a peer that asks for them
 * @revision: revision of the Request that this side sends
 * @rtr: ready-to-receive frames that this side supports, KAL_MPA_RTR_*
 * @ird: inbound reads that the consumer offers
 * @ord: outbound reads that the consumer wants
 * @max_ird: RNIC's limit of inbound reads
 * @max_ord: RNIC's limit of outbound reads
 */
struct kal_mpa_local {
	bool crc;
	bool markers;
	bool marks;
	u8 revision;
	u8 rtr;
	u16 ird;
	u16 ord;
	u16 max_ird;
	u16 max_ord;
};

int kal_mpa_parse_header(const u8 hdr[KAL_MPA_HDR_LEN], enum kal_mpa_kind kind,
			 struct kal_mpa_frame *frame);
void kal_mpa_parse_enhanced(const u8 data[KAL_MPA_ENHANCED_LEN],
			    struct kal_mpa_frame *frame);
int kal_mpa_build(u8 buf[KAL_MPA_FRAME_MAX], enum kal_mpa_kind kind,
		  const struct kal_mpa_frame *frame, const void *private_data);

/* length of the enhanced data between the header and the private data */
static inline u16 kal_mpa_enhanced_len(const struct kal_mpa_frame *frame)
{
	return frame->enhanced ? KAL_MPA_ENHANCED_LEN : 0;
}

/* largest private data of the consumer in this frame */
static inline u16 kal_mpa_pd_max(const struct kal_mpa_frame *frame)
{
	return KAL_MPA_PD_MAX - kal_mpa_enhanced_len(frame);
}

void kal_mpa_request(const struct kal_mpa_local *local, struct kal_mpa_frame *req);
void kal_mpa_reject(const struct kal_mpa_local *local,
		    const struct kal_mpa_frame *req, struct kal_mpa_frame *rep);
void kal_mpa_respond(const struct kal_mpa_local *local,
		     const struct kal_mpa_frame *req, struct kal_mpa_frame *rep,
		     struct ri_mpa_params *params);
int kal_mpa_conclude(const struct kal_mpa_local *local,
		     const struct kal_mpa_frame *req,
		     const struct kal_mpa_frame *rep,
		     struct ri_mpa_params *params, enum kal_mpa_term *term);

size_t kal_mpa_terminate(enum kal_mpa_term code, bool markers,
			 u8 stream[KAL_MPA_TERM_MAX]);

#endif /* KAL_MPA_H */
