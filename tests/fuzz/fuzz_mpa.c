// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * libFuzzer's target for the MPA negotiation. An input has the options of this side, and a
 * Request or Reply of the peer, or both. The results of kal/cm/mpa.c must keep the limits of
 * this side and obey RFC 5044 7.1 and RFC 6581 9. Frames that it builds must read back as the
 * same.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/bits.h>
#include <linux/minmax.h>
#include <linux/unaligned.h>
#include <krdma/crc32c.h>

#include "cm/mpa.h"
#include "must.h"

#define LOCAL_LEN	12	/* bytes of an input for this side's options */

static struct kal_mpa_local read_local(const u8 *p)
{
	return (struct kal_mpa_local){
		.crc = p[0] & 1,
		.marks = p[0] & 4,
		.markers = (p[0] & 12) == 12,
		.revision = p[0] & 2 ? 1 : 2,
		.rtr = p[1] & KAL_MPA_RTR_ALL,
		.ird = get_unaligned_be16(p + 2),
		.ord = get_unaligned_be16(p + 4),
		.max_ird = min_t(u16, get_unaligned_be16(p + 6), KAL_MPA_READS_MAX),
		.max_ord = min_t(u16, get_unaligned_be16(p + 8), KAL_MPA_READS_MAX),
	};
}

/* A frame as startup.c reads it: header, enhanced data, private data. NULL if it is refused. */
static const u8 *read_frame(const u8 *data, size_t size, enum kal_mpa_kind kind,
			    struct kal_mpa_frame *frame)
{
	u8 *header;
	int err;

	if (size < KAL_MPA_HDR_LEN)
		return NULL;
	/* of the exact size, so that AddressSanitizer finds an access beyond */
	header = malloc(KAL_MPA_HDR_LEN);
	memcpy(header, data, KAL_MPA_HDR_LEN);
	err = kal_mpa_parse_header(header, kind, frame);
	free(header);
	must(!err || err == -EPROTO || err == -EPROTONOSUPPORT);
	if (err)
		return NULL;
	must(frame->revision == 1 || frame->revision == 2);
	must(!frame->enhanced || frame->revision == 2);
	must(kind == KAL_MPA_REPLY || !frame->reject);
	must(frame->pd_len <= kal_mpa_pd_max(frame));
	data += KAL_MPA_HDR_LEN;
	size -= KAL_MPA_HDR_LEN;
	if (size < kal_mpa_enhanced_len(frame) + frame->pd_len)
		return NULL;
	if (frame->enhanced) {
		kal_mpa_parse_enhanced(data, frame);
		must(frame->p2p || !frame->rtr);
		must(frame->ird <= KAL_MPA_READS_ULP && frame->ord <= KAL_MPA_READS_ULP);
	}
	return data + kal_mpa_enhanced_len(frame) + frame->pd_len;
}

/* A frame that is built must read back as the same. */
static void check_build(enum kal_mpa_kind kind, const struct kal_mpa_frame *frame)
{
	static const u8 private_data[KAL_MPA_PD_MAX] = "private";
	u8 *buf = malloc(KAL_MPA_FRAME_MAX);
	struct kal_mpa_frame again;
	int n = kal_mpa_build(buf, kind, frame, private_data);

	must(n == KAL_MPA_HDR_LEN + kal_mpa_enhanced_len(frame) + frame->pd_len);
	must(read_frame(buf, n, kind, &again) == buf + n);
	must(again.markers == frame->markers && again.crc == frame->crc &&
	     again.reject == frame->reject && again.enhanced == frame->enhanced &&
	     again.revision == frame->revision && again.pd_len == frame->pd_len);
	if (frame->enhanced)
		must(again.p2p == frame->p2p && again.rtr == frame->rtr &&
		     again.ird == frame->ird && again.ord == frame->ord);
	free(buf);
}

static void check_params(const struct kal_mpa_local *local, const struct ri_mpa_params *params)
{
	must(params->ird <= local->max_ird);
	must(params->ord <= local->max_ord);
	must(params->rtr <= RI_RTR_READ);
}

/* This side answers a Request. */
static void respond(const struct kal_mpa_local *local, const struct kal_mpa_frame *req)
{
	struct ri_mpa_params params;
	struct kal_mpa_frame rep;

	kal_mpa_reject(local, req, &rep);
	must(rep.reject && rep.revision == req->revision && rep.enhanced == req->enhanced);
	check_build(KAL_MPA_REPLY, &rep);

	/* startup.c refuses frames that the RNIC cannot handle */
	if (req->markers && !local->marks)
		return;
	kal_mpa_respond(local, req, &rep, &params);
	check_build(KAL_MPA_REPLY, &rep);
	check_params(local, &params);
	must(!rep.reject && rep.markers == local->markers);
	must(params.rx_markers == local->markers && params.tx_markers == req->markers);
	must(rep.revision == req->revision && params.revision == req->revision);
	must(rep.enhanced == req->enhanced);
	/* RFC 5044 7.1.1: if one side asks for it, both use it */
	must(params.crc == (local->crc || req->crc) && rep.crc == params.crc);
	must(!params.initiator);
	if (!req->enhanced) {
		must(params.rtr == RI_RTR_NONE);
		return;
	}
	must(rep.p2p == req->p2p);
	must(req->p2p ? rep.rtr != 0 : !rep.rtr && params.rtr == RI_RTR_NONE);
	/* RFC 6581 9.1: this side's ORD is at most the peer's IRD */
	if (req->ird != KAL_MPA_READS_ULP)
		must(params.ord <= req->ird && rep.ord <= req->ird);
	if (req->ord == KAL_MPA_READS_ULP)
		must(rep.ird == KAL_MPA_READS_ULP);
	else
		must(rep.ird == params.ird);
}

/* A Reply with arbitrary contents answers this side's Request. */
static void conclude(const struct kal_mpa_local *local, const struct kal_mpa_frame *req,
		     const struct kal_mpa_frame *rep)
{
	struct ri_mpa_params params;
	enum kal_mpa_term term;
	u8 *stream;
	size_t len;
	int err;

	err = kal_mpa_conclude(local, req, rep, &params, &term);
	must(!err || err == -ECONNREFUSED || err == -EPROTONOSUPPORT || err == -EOPNOTSUPP ||
	     err == -ENOBUFS || err == -EPROTO);
	must(term == KAL_MPA_TERM_NONE || term == KAL_MPA_TERM_LOCAL ||
	     term == KAL_MPA_TERM_IRD || term == KAL_MPA_TERM_RTR);
	must(!rep->reject || err == -ECONNREFUSED);
	if (term != KAL_MPA_TERM_NONE) {
		must(err);
		stream = malloc(KAL_MPA_TERM_MAX);
		len = kal_mpa_terminate(term, rep->markers, stream);
		must(len == (rep->markers ? KAL_MPA_TERM_MAX : KAL_MPA_TERM_LEN));
		must(get_unaligned_be16(stream + len - KAL_MPA_TERM_LEN) == KAL_MPA_TERM_LEN - 6);
		must(get_unaligned_le32(stream + len - 4) == (u32)~ri_crc32c(~0U, stream, len - 4));
		free(stream);
	}
	if (err)
		return;
	must(!rep->markers || local->marks);
	must(rep->revision == req->revision && rep->enhanced == req->enhanced);
	check_params(local, &params);
	must(params.initiator && params.crc == (req->crc || rep->crc));
	if (!rep->enhanced)
		return;
	/* each side's ORD must be at most the other side's IRD */
	if (rep->ord != KAL_MPA_READS_ULP)
		must(params.ird >= rep->ord);
	if (rep->ird != KAL_MPA_READS_ULP)
		must(params.ord <= rep->ird);
	if (rep->p2p)
		must(params.rtr != RI_RTR_NONE && req->rtr & rep->rtr & BIT(params.rtr));
	else
		must(params.rtr == RI_RTR_NONE);
}

/* Both ends use this code: they must agree, or the connection fails for a reason. */
static void both(const struct kal_mpa_local *local, const struct kal_mpa_local *peer)
{
	struct ri_mpa_params mine, theirs;
	struct kal_mpa_frame req, rep;
	enum kal_mpa_term term;

	kal_mpa_request(local, &req);
	check_build(KAL_MPA_REQUEST, &req);
	if (req.markers && !peer->marks)
		return;
	kal_mpa_respond(peer, &req, &rep, &theirs);
	if (kal_mpa_conclude(local, &req, &rep, &mine, &term))
		return;
	must(mine.crc == theirs.crc && mine.revision == theirs.revision);
	must(mine.tx_markers == theirs.rx_markers && mine.rx_markers == theirs.tx_markers);
	if (!req.enhanced)
		return;
	must(mine.ord <= theirs.ird && theirs.ord <= mine.ird);
	must(!mine.rtr == !theirs.rtr);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct kal_mpa_frame req, rep, own;
	struct kal_mpa_local local, peer;
	const u8 *end = data + size;

	if (size < 2 * LOCAL_LEN)
		return 0;
	local = read_local(data);
	peer = read_local(data + LOCAL_LEN);
	data += 2 * LOCAL_LEN;
	both(&local, &peer);
	kal_mpa_request(&local, &own);
	if (read_frame(data, end - data, KAL_MPA_REQUEST, &req))
		respond(&local, &req);
	if (read_frame(data, end - data, KAL_MPA_REPLY, &rep))
		conclude(&local, &own, &rep);
	return 0;
}
