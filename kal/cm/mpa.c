// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * MPA start-up: encoding and decoding of the Request and Reply frames, and the negotiation
 * (RFC 5044 7.1, RFC 6581). Pure functions. startup.c calls them for every connection.
 */
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#include <krdma/crc32c.h>

#include "mpa.h"

#define MPA_OFF_FLAGS	16
#define MPA_OFF_REV	17
#define MPA_OFF_PD_LEN	18

#define MPA_M		0x80
#define MPA_C		0x40
#define MPA_R		0x20
#define MPA_S		0x10

/* each 16-bit word of the enhanced data: two flags above a 14-bit depth */
#define ENH_HIGH	0x8000	/* A, C */
#define ENH_LOW		0x4000	/* B, D */
#define ENH_DEPTH	0x3fff

static const char mpa_keys[][KAL_MPA_KEY_LEN + 1] = {
	[KAL_MPA_REQUEST] = "MPA ID Req Frame",
	[KAL_MPA_REPLY] = "MPA ID Rep Frame",
};

/**
 * kal_mpa_parse_header() - decode and check the fixed part of a start-up frame
 * @hdr: first 20 bytes of the frame
 * @kind: expected frame; the other key means that both sides took the same role (RFC 5044
 *	7.1.2 (8))
 * @frame: result
 *
 * Reserved bits and the R bit of a Request are not checked (RFC 5044 7.1.1).
 *
 * If @frame->enhanced is set, 4 bytes of enhanced data follow the header. They must be passed
 * to kal_mpa_parse_enhanced(). @frame->pd_len bytes of private data follow.
 *
 * Return: 0; -EPROTO for a malformed frame; -EPROTONOSUPPORT for an unsupported revision.
 * After either error the stream must be closed without an answer.
 */
int kal_mpa_parse_header(const u8 hdr[KAL_MPA_HDR_LEN], enum kal_mpa_kind kind,
			 struct kal_mpa_frame *frame)
{
	const u16 pd_len = get_unaligned_be16(hdr + MPA_OFF_PD_LEN);
	const u8 flags = hdr[MPA_OFF_FLAGS];
	const u8 revision = hdr[MPA_OFF_REV];

	memset(frame, 0, sizeof(*frame));
	if (memcmp(hdr, mpa_keys[kind], KAL_MPA_KEY_LEN))
		return -EPROTO;
	if (revision < 1 || revision > 2)
		return -EPROTONOSUPPORT;
	if (pd_len > KAL_MPA_PD_MAX)
		return -EPROTO;

	frame->markers = flags & MPA_M;
	frame->crc = flags & MPA_C;
	frame->reject = kind == KAL_MPA_REPLY && (flags & MPA_R);
	frame->enhanced = revision > 1 && (flags & MPA_S);
	frame->revision = revision;
	if (pd_len < kal_mpa_enhanced_len(frame))
		return -EPROTO;
	frame->pd_len = pd_len - kal_mpa_enhanced_len(frame);
	return 0;
}

/**
 * kal_mpa_parse_enhanced() - decode the enhanced data (RFC 6581 9)
 * @data: the 4 bytes after the header
 * @frame: frame of kal_mpa_parse_header(), with enhanced set
 */
void kal_mpa_parse_enhanced(const u8 data[KAL_MPA_ENHANCED_LEN],
			    struct kal_mpa_frame *frame)
{
	const u16 first = get_unaligned_be16(data);
	const u16 second = get_unaligned_be16(data + 2);

	frame->ird = first & ENH_DEPTH;
	frame->ord = second & ENH_DEPTH;
	frame->p2p = first & ENH_HIGH;
	frame->rtr = 0;
	/* RFC 6581 9.2: B, C and D are ignored if A is not set */
	if (!frame->p2p)
		return;
	if (first & ENH_LOW)
		frame->rtr |= KAL_MPA_RTR_SEND;
	if (second & ENH_HIGH)
		frame->rtr |= KAL_MPA_RTR_WRITE;
	if (second & ENH_LOW)
		frame->rtr |= KAL_MPA_RTR_READ;
}

static void mpa_put_enhanced(u8 data[KAL_MPA_ENHANCED_LEN],
			     const struct kal_mpa_frame *frame)
{
	u16 first = frame->ird & ENH_DEPTH;
	u16 second = frame->ord & ENH_DEPTH;

	if (frame->p2p) {
		first |= ENH_HIGH;
		if (frame->rtr & KAL_MPA_RTR_SEND)
			first |= ENH_LOW;
		if (frame->rtr & KAL_MPA_RTR_WRITE)
			second |= ENH_HIGH;
		if (frame->rtr & KAL_MPA_RTR_READ)
			second |= ENH_LOW;
	}
	put_unaligned_be16(first, data);
	put_unaligned_be16(second, data + 2);
}

/**
 * kal_mpa_build() - encode a start-up frame
 * @buf: destination
 * @kind: kind of the frame, which selects the key
 * @frame: contents
 * @private_data: @frame->pd_len bytes
 *
 * Return: length of the frame in bytes, or -EMSGSIZE for too much private data.
 */
int kal_mpa_build(u8 buf[KAL_MPA_FRAME_MAX], enum kal_mpa_kind kind,
		  const struct kal_mpa_frame *frame, const void *private_data)
{
	const u16 enhanced = kal_mpa_enhanced_len(frame);
	u8 flags = 0;

	if (frame->pd_len > kal_mpa_pd_max(frame))
		return -EMSGSIZE;
	if (frame->markers)
		flags |= MPA_M;
	if (frame->crc)
		flags |= MPA_C;
	if (frame->reject)
		flags |= MPA_R;
	if (frame->enhanced)
		flags |= MPA_S;

	memcpy(buf, mpa_keys[kind], KAL_MPA_KEY_LEN);
	buf[MPA_OFF_FLAGS] = flags;
	buf[MPA_OFF_REV] = frame->revision;
	put_unaligned_be16(enhanced + frame->pd_len, buf + MPA_OFF_PD_LEN);
	if (enhanced)
		mpa_put_enhanced(buf + KAL_MPA_HDR_LEN, frame);
	if (frame->pd_len)
		memcpy(buf + KAL_MPA_HDR_LEN + enhanced, private_data, frame->pd_len);
	return KAL_MPA_HDR_LEN + enhanced + frame->pd_len;
}

static u16 mpa_own_ird(const struct kal_mpa_local *local)
{
	return min_t(u16, min(local->ird, local->max_ird), KAL_MPA_READS_MAX);
}

static u16 mpa_own_ord(const struct kal_mpa_local *local)
{
	return min_t(u16, min(local->ord, local->max_ord), KAL_MPA_READS_MAX);
}

/* A Write needs no resources on either side. A Read takes one of ORD and IRD. */
static enum ri_rtr mpa_preferred_rtr(u8 set)
{
	if (set & KAL_MPA_RTR_WRITE)
		return RI_RTR_WRITE;
	if (set & KAL_MPA_RTR_READ)
		return RI_RTR_READ;
	if (set & KAL_MPA_RTR_SEND)
		return RI_RTR_SEND;
	return RI_RTR_NONE;
}

/**
 * kal_mpa_request() - fill in the initiator's Request
 * @local: own side; an empty @rtr means the client-server model
 * @req: result, without private data
 *
 * A Read is offered as ready-to-receive frame only if the consumer wants outbound reads.
 */
void kal_mpa_request(const struct kal_mpa_local *local, struct kal_mpa_frame *req)
{
	memset(req, 0, sizeof(*req));
	req->crc = local->crc;
	req->markers = local->markers;
	req->revision = local->revision;
	req->enhanced = local->revision > 1;
	if (!req->enhanced)
		return;
	req->ird = mpa_own_ird(local);
	req->ord = mpa_own_ord(local);
	req->rtr = local->rtr & KAL_MPA_RTR_ALL;
	if (!req->ord)
		req->rtr &= ~KAL_MPA_RTR_READ;
	req->p2p = req->rtr;
}

/*
 * Choose the RTR types of the responder's Reply. A Read needs an IRD of at least 1 (RFC 6581
 * 9.1).
 */
static u8 mpa_respond_rtr(const struct kal_mpa_local *local, u8 wanted, u16 *ird)
{
	u8 usable = local->rtr & KAL_MPA_RTR_ALL;

	if (!*ird && (usable & wanted) == KAL_MPA_RTR_READ && local->max_ird)
		*ird = 1;
	if (!*ird)
		usable &= ~KAL_MPA_RTR_READ;
	/* at least one type must be set, even if the sides have none in common */
	if (!usable)
		usable = KAL_MPA_RTR_WRITE;
	return usable & wanted ? usable & wanted : usable;
}

/* The common part of an accepting and a rejecting Reply. */
static void mpa_answer(const struct kal_mpa_local *local,
		       const struct kal_mpa_frame *req, struct kal_mpa_frame *rep)
{
	memset(rep, 0, sizeof(*rep));
	rep->crc = local->crc || req->crc;
	rep->markers = local->markers;
	rep->revision = req->revision;
	rep->enhanced = req->enhanced;
	if (!rep->enhanced)
		return;
	rep->ird = mpa_own_ird(local);
	rep->ord = mpa_own_ord(local);
	rep->p2p = req->p2p;
	if (rep->p2p)
		rep->rtr = mpa_respond_rtr(local, req->rtr, &rep->ird);
}

/**
 * kal_mpa_reject() - fill in the Reply that rejects a Request (RFC 5044 7.1.2)
 * @local: own side; its IRD and ORD tell the initiator which values are needed
 * @req: Request
 * @rep: result, without private data
 */
void kal_mpa_reject(const struct kal_mpa_local *local,
		    const struct kal_mpa_frame *req, struct kal_mpa_frame *rep)
{
	mpa_answer(local, req, rep);
	rep->reject = true;
}

/**
 * kal_mpa_respond() - fill in the accepting Reply and the responder's outcome
 * @local: own side
 * @req: Request; may ask for markers only if the RNIC supports them
 * @rep: resulting Reply, without private data
 * @params: resulting parameters of the connection
 *
 * RFC 6581 9.1: the own ORD is at most the initiator's IRD. A depth of 0x3FFF is sent back,
 * and the consumer chooses its own value.
 */
void kal_mpa_respond(const struct kal_mpa_local *local,
		     const struct kal_mpa_frame *req, struct kal_mpa_frame *rep,
		     struct ri_mpa_params *params)
{
	mpa_answer(local, req, rep);

	memset(params, 0, sizeof(*params));
	params->crc = rep->crc;
	params->tx_markers = req->markers;
	params->rx_markers = rep->markers;
	params->revision = req->revision;
	params->ird = mpa_own_ird(local);
	params->ord = mpa_own_ord(local);
	if (!rep->enhanced)
		return;

	params->ird = rep->ird;
	params->rtr = mpa_preferred_rtr(rep->rtr);
	if (req->ord == KAL_MPA_READS_ULP)
		rep->ird = KAL_MPA_READS_ULP;
	if (req->ird == KAL_MPA_READS_ULP) {
		rep->ord = KAL_MPA_READS_ULP;
	} else {
		rep->ord = min(rep->ord, req->ird);
		params->ord = rep->ord;
	}
}

/* Negotiate the initiator's IRD and ORD (RFC 6581 9.1). */
static int mpa_conclude_reads(const struct kal_mpa_local *local,
			      const struct kal_mpa_frame *rep,
			      struct ri_mpa_params *params, enum kal_mpa_term *term)
{
	if (rep->ird != KAL_MPA_READS_ULP)
		params->ord = min(params->ord, rep->ird);
	if (rep->ord == KAL_MPA_READS_ULP || rep->ord <= params->ird)
		return 0;
	if (rep->ord > local->max_ird) {
		*term = KAL_MPA_TERM_IRD;
		return -ENOBUFS;
	}
	params->ird = rep->ord;
	return 0;
}

/**
 * kal_mpa_conclude() - compute the initiator's outcome from both frames
 * @local: own side
 * @req: Request that was sent
 * @rep: Reply that was received
 * @params: resulting parameters of the connection
 * @term: error code of the Terminate that must be sent before the stream ends
 *
 * Return: 0, or an errno:
 * - -ECONNREFUSED: the peer set R
 * - -EPROTONOSUPPORT: the peer answered in another revision
 * - -EOPNOTSUPP: the peer wants markers and the RNIC does not support them
 * - -ENOBUFS: the peer needs more inbound reads than the RNIC has
 * - -EPROTO: the peer violated RFC 6581, or the sides have no common ready-to-receive frame
 */
int kal_mpa_conclude(const struct kal_mpa_local *local,
		     const struct kal_mpa_frame *req,
		     const struct kal_mpa_frame *rep,
		     struct ri_mpa_params *params, enum kal_mpa_term *term)
{
	u8 common = req->rtr & rep->rtr;
	int err;

	*term = KAL_MPA_TERM_NONE;
	memset(params, 0, sizeof(*params));
	if (rep->reject)
		return -ECONNREFUSED;
	if (rep->revision != req->revision)
		return -EPROTONOSUPPORT;
	if (rep->markers && !local->marks)
		return -EOPNOTSUPP;

	params->initiator = true;
	params->crc = req->crc || rep->crc;
	params->tx_markers = rep->markers;
	params->rx_markers = req->markers;
	params->revision = rep->revision;
	params->ird = mpa_own_ird(local);
	params->ord = mpa_own_ord(local);
	if (rep->enhanced != req->enhanced || rep->p2p != req->p2p) {
		*term = KAL_MPA_TERM_LOCAL;
		return -EPROTO;
	}
	if (!rep->enhanced)
		return 0;

	err = mpa_conclude_reads(local, rep, params, term);
	if (err || !rep->p2p)
		return err;
	if (!params->ord)
		common &= ~KAL_MPA_RTR_READ;
	params->rtr = mpa_preferred_rtr(common);
	if (params->rtr == RI_RTR_NONE) {
		*term = KAL_MPA_TERM_RTR;
		return -EPROTO;
	}
	return 0;
}

/**
 * kal_mpa_terminate() - build the LLP Terminate that ends a failed start-up
 * @code: error code
 * @markers: the peer wants markers; the stream then begins with a marker that points to itself
 *	(RFC 5044 4.3)
 * @stream: result: bytes of the stream, including the CRC
 *
 * RFC 5040 4.8: untagged, last, queue 2, MSN 1, MO 0; no headers of another message. Layer 2
 * (LLP), error type 0 (MPA), as RFC 6581 8 registers it.
 *
 * Return: number of bytes.
 */
size_t kal_mpa_terminate(enum kal_mpa_term code, bool markers,
			 u8 stream[KAL_MPA_TERM_MAX])
{
	const size_t len = KAL_MPA_TERM_LEN - KAL_MPA_CRC_LEN;
	const size_t before = markers ? KAL_MPA_MARKER_LEN : 0;
	u8 *fpdu = stream + before;

	memset(stream, 0, KAL_MPA_TERM_MAX);
	put_unaligned_be16(len - 2, fpdu);	/* ULPDU_Length, no pad */
	fpdu[2] = 0x41;				/* DDP: untagged, last, version 1 */
	fpdu[3] = 0x47;				/* RDMAP: version 1, Terminate */
	put_unaligned_be32(2, fpdu + 8);	/* QN */
	put_unaligned_be32(1, fpdu + 12);	/* MSN */
	fpdu[20] = 0x20;			/* layer LLP, type MPA */
	fpdu[21] = code;
	put_unaligned_le32(~ri_crc32c(~0U, stream, before + len), fpdu + len);
	return before + KAL_MPA_TERM_LEN;
}
