// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The transmitter.
 *
 * Work requests and answers to RDMA Reads are cut into FPDUs that fit TCP's
 * segments. The FPDUs are built back to back in page fragments, as they will
 * stand on the wire, and many of them go to TCP in one send, which takes the
 * pages by reference. So payload is copied once, its CRC is computed while it
 * is in the cache, what was built cannot change any more however often TCP
 * sends it again, and a send that TCP takes in part goes on from an octet
 * count.
 *
 * The transmitter runs in the system call that rang the doorbell or in a kernel
 * consumer's post, for a bounded amount of data, in a poller (poll.c), and in a
 * work item otherwise. It goes on until
 * nothing is left, TCP is full (the socket's write_space callback starts it
 * again) or it waits for the peer (the receiver starts it again).
 */
#include <linux/socket.h>
#include <net/rps.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "../device.h"
#include "../memory/memory.h"
#include "../wire/mpa_markers.h"
#include "../params.h"
#include "../qp.h"
#include "../trace.h"
#include "tx.h"

/**
 * soft_tx_init() - at the QP's creation
 * @tx: to fill in
 * @gather: of the user's context, NULL for a kernel consumer
 */
void soft_tx_init(struct soft_tx *tx, struct soft_gather *gather)
{
	mutex_init(&tx->mutex);
	INIT_WORK(&tx->work, soft_tx_work);
	INIT_WORK(&tx->poll_work, soft_poll_work);
	soft_pace_init(&tx->pace, gather);
}

/** soft_tx_reset() - forget what was built; under tx.mutex or before use */
void soft_tx_reset(struct soft_tx *tx)
{
	u32 i;

	for (i = 0; i < tx->nvec; i++)
		put_page(tx->vec[i].bv_page);
	tx->nvec = 0;
	tx->staged = 0;
	tx->staged_fpdus = 0;
	tx->seq_built = 0;
	WRITE_ONCE(tx->seq_sent, 0);
	tx->msn[SOFT_QN_SEND] = 1;
	tx->msn[SOFT_QN_READ_REQ] = 1;
	tx->atomic_resp_msn = 1;
	tx->msg.kind = SOFT_MSG_NONE;
	/* a Read that was the peer's ready-to-receive frame is answered first */
	tx->resp_turn = true;
	tx->rtr = RI_RTR_NONE;
	tx->wr_fetched = false;
	soft_pace_reset(&tx->pace);
	tx->direct = false;
	kfree(tx->seg);
	tx->seg = NULL;
}

/* Building ***************************************************************** */

/* Octets of an FPDU that is built next. */
static u32 soft_tx_fpdu_len(const struct soft_qp *qp, u32 ulpdu_len)
{
	u32 len = soft_fpdu_len(ulpdu_len);

	return qp->mpa.tx_markers ? soft_marked_len(qp->tx.seq_built, len) : len;
}

static u8 *soft_tx_reserve_pages(struct soft_qp *qp, u32 ulpdu_len)
{
	struct page_frag *frag = &qp->tx.frag;
	u32 want = min_t(u32, soft_tx_fpdu_len(qp, ulpdu_len),
			 SKB_FRAG_PAGE_ORDER ? 32768 : PAGE_SIZE);

	if (!soft_tx_pages_refill(frag, want))
		return NULL;
	return page_address(frag->page) + frag->offset;
}

/**
 * soft_tx_reserve() - room for the next FPDU, in one piece
 * @qp: queue pair
 * @ulpdu_len: octets of its ULPDU
 *
 * The room goes to the end of tx.frag; it may be less than asked for when memory
 * is short, but never less than a page. On the direct path it is tx.seg's, for a
 * message that is all headers. Return: NULL when there is none.
 */
u8 *soft_tx_reserve(struct soft_qp *qp, u32 ulpdu_len)
{
	return qp->tx.direct ? qp->tx.seg->raw :
			       soft_tx_reserve_pages(qp, ulpdu_len);
}

/** soft_tx_commit() - the next @n octets of the reserved room are so many whole FPDUs */
void soft_tx_commit(struct soft_tx *tx, u32 n, u32 fpdus)
{
	struct bio_vec *last = tx->nvec ? &tx->vec[tx->nvec - 1] : NULL;

	if (last && last->bv_page == tx->frag.page &&
	    last->bv_offset + last->bv_len == tx->frag.offset) {
		last->bv_len += n;
	} else {
		get_page(tx->frag.page);
		bvec_set_page(&tx->vec[tx->nvec++], tx->frag.page, n,
			      tx->frag.offset);
	}
	tx->frag.offset += n;
	tx->staged += n;
	tx->staged_fpdus += fpdus;
	tx->seq_built += n;
}

/* Complete an FPDU of @n octets of ULPDU_Length and ULPDU. */
static void soft_tx_seal_fpdu(struct soft_qp *qp, u8 *p, u32 n)
{
	/* markers come between */
	const u8 ddp[] = { p[SOFT_MPA_HDR], p[SOFT_MPA_HDR + 1] };

	n = soft_tx_tail(p, n);
	if (qp->mpa.tx_markers)
		n = soft_markers_insert(p, qp->tx.seq_built, n);
	if (qp->mpa.crc)
		soft_tx_crc(p, n);
	trace_soft_fpdu(qp, ddp, n);
	soft_traffic_fpdu(&qp->sent, ddp);
	soft_tx_commit(&qp->tx, n, 1);
}

/** soft_tx_seal() - what was reserved holds @n octets of ULPDU_Length and ULPDU: send it */
void soft_tx_seal(struct soft_qp *qp, u8 *p, u32 n)
{
	struct soft_direct_seg *seg = qp->tx.seg;

	if (!qp->tx.direct) {
		soft_tx_seal_fpdu(qp, p, n);
		return;
	}
	seg->len = n;
	seg->payload = 0;
	seg->of_message = false;
}

static bool soft_tx_room(const struct soft_tx *tx)
{
	return tx->nvec < SOFT_TX_VECS &&
	       tx->staged + tx->pushed / SOFT_DIRECT_COST <
		       READ_ONCE(soft_tx_batch_bytes);
}

/* Copy @n octets of the list, from where the last call stopped. */
static enum soft_access soft_tx_gather(struct soft_qp *qp, struct soft_msg *msg,
				       u8 *dst, u32 n)
{
	const struct krdma_soft_sge *sge;
	enum soft_access why;
	struct soft_mem *mem;
	u32 part;

	while (n) {
		sge = msg->sge;
		part = min(n, sge->length - msg->sge_off);
		if (part) {
			why = soft_mem_get_cached(qp, &qp->tx.mem, sge->lkey,
						  sge->addr + msg->sge_off,
						  part, 0, &mem);
			if (why)
				return why;
			soft_mem_read(mem, sge->addr + msg->sge_off, dst, part);
			soft_mem_put(mem);
		}
		dst += part;
		n -= part;
		msg->sge_off += part;
		if (msg->sge_off == sge->length) {
			msg->sge++;
			msg->sge_off = 0;
		}
	}
	return SOFT_ACCESS_OK;
}

static enum soft_access soft_tx_payload(struct soft_qp *qp,
					struct soft_msg *msg, u8 *dst, u32 n)
{
	enum soft_access why;
	struct soft_mem *mem;

	if (!n)
		return SOFT_ACCESS_OK;
	if (msg->inline_data) {
		memcpy(dst, msg->inline_data + msg->off, n);
		return SOFT_ACCESS_OK;
	}
	if (msg->kind == SOFT_MSG_WR)
		return soft_tx_gather(qp, msg, dst, n);

	why = soft_mem_get_cached(qp, &qp->tx.mem, msg->read.src_stag,
				  msg->read.src_to + msg->off, n,
				  IB_ACCESS_REMOTE_READ, &mem);
	if (why)
		return why;
	soft_mem_read(mem, msg->read.src_to + msg->off, dst, n);
	soft_mem_put(mem);
	return SOFT_ACCESS_OK;
}

/*
 * What a request of the peer, @raw, is about went away after it was checked and
 * @done octets were answered (RFC 5040 4.8).
 */
void soft_tx_refused(struct soft_qp *qp, const u8 *raw, u32 n, u32 done,
		     enum soft_access why)
{
	struct soft_term term = {};
	struct soft_seg seg;

	if (soft_seg_decode(raw, n, &seg, &term) == 0) {
		soft_term_access(&seg, raw, why, &term);
		soft_term_read_progress(&term, done);
	}
	soft_count(qp->rnic, SOFT_CNT_ACCESS_ERR);
	soft_qp_fail(qp, &term, true, -EPROTO);
	soft_qp_event(qp, IB_EVENT_QP_ACCESS_ERR);
}

/* A work request of ours cannot be carried out: the QP fails with it. */
void soft_tx_wr_failed(struct soft_qp *qp, u32 slot, enum ib_wc_status status)
{
	struct soft_term term;

	soft_sq_fail(qp, slot, status);
	soft_term_set(&term, SOFT_TERM_RDMAP, SOFT_RDMAP_LOCAL,
		      SOFT_CODE_LOCAL);
	soft_qp_fail(qp, &term, true, -EIO);
}

/* The peer's oldest request is answered. */
void soft_tx_in_done(struct soft_qp *qp)
{
	spin_lock_bh(&qp->lock);
	if (++qp->in_head == qp->mpa.ird)
		qp->in_head = 0;
	qp->in_count--;
	spin_unlock_bh(&qp->lock);
}

/* The payload of the message under way cannot be read any more. */
static void soft_tx_msg_refused(struct soft_qp *qp, struct soft_msg *msg,
				enum soft_access why)
{
	u8 raw[SOFT_HDR_MAX];
	u32 n;

	if (msg->kind == SOFT_MSG_WR) {
		soft_tx_wr_failed(qp, msg->slot, IB_WC_LOC_PROT_ERR);
		return;
	}
	n = soft_put_read_req(raw, msg->msn, &msg->read);
	soft_tx_refused(qp, raw, n, msg->off, why);
}

/* The last segment of the message is built, if not the last FPDU. */
static void soft_tx_msg_done(struct soft_qp *qp, struct soft_msg *msg)
{
	if (msg->imm_due == SOFT_IMM_AFTER) {
		msg->imm_due = SOFT_IMM_NOW;
		return;
	}
	if (msg->kind == SOFT_MSG_WR)
		soft_sq_encoded(&qp->sq, msg->slot, qp->tx.seq_built);
	else
		soft_tx_in_done(qp);
	msg->kind = SOFT_MSG_NONE;
}

/** soft_tx_header() - encode that of the next segment; @n octets of payload follow */
u32 soft_tx_header(const struct soft_msg *msg, u8 *p, u32 n)
{
	bool last = msg->off + n == msg->len;

	if (soft_op(msg->opcode)->flags & SOFT_OP_TAGGED)
		return soft_put_tagged(p, msg->opcode, last, msg->stag,
				       msg->to + msg->off, n);
	return soft_put_untagged(p, msg->opcode, last, msg->inv_stag,
				 SOFT_QN_SEND, msg->msn, msg->off, n);
}

/*
 * Hand tx.seg to the peer; the message it belongs to moves on when that has taken it.
 * What the peer does not take now goes through TCP, as do those behind it.
 */
static enum soft_step soft_tx_push(struct soft_qp *qp)
{
	struct soft_tx *tx = &qp->tx;
	struct soft_direct_seg *seg = tx->seg;
	struct soft_msg *msg = &tx->msg;
	const u32 n = seg->len + seg->payload;
	u32 body;
	int ret;

	/* what was built before goes first */
	if (tx->staged)
		return SOFT_STEP_FULL;
	ret = soft_direct_push(qp);
	if (ret == -EAGAIN || ret == -ENOTCONN) {
		tx->direct = false;
		/* it is built anew */
		if (seg->of_message)
			seg->len = 0;
		return SOFT_STEP_BUILT;
	}
	if (ret) {
		seg->len = 0;
		soft_tx_msg_refused(qp, msg, SOFT_ACCESS_STAG);
		return SOFT_STEP_BUILT;
	}
	trace_soft_fpdu(qp, seg->raw + SOFT_MPA_HDR, n);
	soft_traffic_fpdu(&qp->sent, seg->raw + SOFT_MPA_HDR);
	soft_count(qp->rnic, SOFT_CNT_DIRECT_SEGMENTS);
	soft_count_add(qp->rnic, SOFT_CNT_DIRECT_BYTES, n);
	qp->sent.octets += n;
	tx->pushed += n;
	seg->len = 0;
	if (!seg->of_message)
		return SOFT_STEP_BUILT;
	body = n - soft_tx_header_len(msg);
	msg->off += body;
	msg->sge_off += body;
	if (msg->off == msg->len)
		soft_tx_msg_done(qp, msg);
	return SOFT_STEP_BUILT;
}

/* What stands in tx.seg, a message that is all headers, becomes an FPDU. */
static enum soft_step soft_tx_to_wire(struct soft_qp *qp)
{
	struct soft_direct_seg *seg = qp->tx.seg;
	u32 n = seg->len;
	u8 *p;

	p = soft_tx_reserve(qp, n - SOFT_MPA_HDR);
	if (!p)
		return SOFT_STEP_FULL;
	memcpy(p, seg->raw, n);
	seg->len = 0;
	soft_tx_seal(qp, p, n);
	return SOFT_STEP_BUILT;
}

/* Where the next octets of the message under way are: one piece, @n of them at most. */
static u32 soft_tx_locate(struct soft_msg *msg, struct soft_place *at, u32 n)
{
	if (msg->kind == SOFT_MSG_READ_RESP) {
		at->stag = msg->read.src_stag;
		at->to = msg->read.src_to + msg->off;
		at->need = IB_ACCESS_REMOTE_READ;
		return n;
	}
	while (msg->sge_off == msg->sge->length) {
		msg->sge++;
		msg->sge_off = 0;
	}
	at->stag = msg->sge->lkey;
	at->to = msg->sge->addr + msg->sge_off;
	at->need = 0;
	return min(n, msg->sge->length - msg->sge_off);
}

/* Make tx.seg the next segment of the message under way, and push it. */
static enum soft_step soft_tx_direct(struct soft_qp *qp)
{
	struct soft_direct_seg *seg = qp->tx.seg;
	struct soft_msg *msg = &qp->tx.msg;
	u32 n = min(msg->len - msg->off, SOFT_DIRECT_PAYLOAD);
	enum soft_access why;
	struct soft_mem *mem;

	if (qp->tx.staged)
		return SOFT_STEP_FULL;
	seg->of_message = true;
	seg->from = qp;
	seg->payload = 0;
	if (msg->inline_data) {
		seg->len = soft_tx_header(msg, seg->raw, n);
		memcpy(seg->raw + seg->len, msg->inline_data + msg->off, n);
		seg->len += n;
		return soft_tx_push(qp);
	}
	if (n) {
		n = soft_tx_locate(msg, &seg->at, n);
		/* what the sender may not read is no business of the receiver */
		why = soft_mem_get_cached(qp, &qp->tx.mem, seg->at.stag,
					  seg->at.to, n, seg->at.need, &mem);
		if (why) {
			soft_tx_msg_refused(qp, msg, why);
			return SOFT_STEP_BUILT;
		}
		soft_mem_put(mem);
	}
	seg->payload = n;
	seg->len = soft_tx_header(msg, seg->raw, n);
	put_unaligned_be16(seg->len - SOFT_MPA_HDR, seg->raw);
	return soft_tx_push(qp);
}

/*
 * Build as many FPDUs of @n octets of payload each as there is room for at @p, but for the
 * message's last, from one piece of memory: one check and one search for that do for all.
 * Return: how many; 0 too when an access is refused, which is told of each by itself.
 */
static u32 soft_tx_several(struct soft_qp *qp, u8 *p, u32 n)
{
	struct soft_tx *tx = &qp->tx;
	struct soft_msg *msg = &tx->msg;
	const u32 hdr = soft_tx_header_len(msg);
	const u32 len = soft_fpdu_len(hdr - SOFT_MPA_HDR + n);
	struct soft_place at;
	struct soft_mem *mem;
	u32 count, i;

	if (msg->len - msg->off <= 2 * n || msg->inline_data ||
	    qp->mpa.tx_markers || trace_soft_fpdu_enabled())
		return 0;
	count = min((msg->len - msg->off - 1) / n,
		    (tx->frag.size - tx->frag.offset) / len);
	count = min(count, soft_tx_locate(msg, &at, count * n) / n);
	if (count < 2 || soft_mem_get_cached(qp, &tx->mem, at.stag, at.to,
					     count * n, at.need, &mem))
		return 0;
	soft_mem_read_parts(mem, at.to,
			    &(struct soft_parts){
				    .first = p + hdr,
				    .len = n,
				    .gap = len - n,
			    },
			    count * n);
	soft_mem_put(mem);
	soft_put_more(p, soft_tx_header(msg, p, n), n, len, count);
	for (i = 0; i < count; i++, p += len) {
		soft_tx_tail(p, hdr + n);
		if (qp->mpa.crc)
			soft_tx_crc(p, len);
	}
	qp->sent.fpdus += count;
	msg->off += count * n;
	msg->sge_off += count * n;
	soft_tx_commit(tx, count * len, count);
	return count;
}

/* Take the next work request. Return: soft_sq_fetch()'s, which may have failed the QP. */
static int soft_tx_fetch(struct soft_qp *qp)
{
	struct soft_tx *tx = &qp->tx;
	struct soft_term term;
	int ret;

	ret = soft_sq_fetch(qp, &tx->wr_slot);
	if (!ret) {
		tx->wr_fetched = true;
		tx->read_sge = 0;
		tx->read_off = 0;
	} else if (ret != -ENOENT) {
		soft_term_set(&term, SOFT_TERM_RDMAP, SOFT_RDMAP_LOCAL,
			      SOFT_CODE_LOCAL);
		soft_qp_fail(qp, &term, true, -EIO);
		/* no completion says so */
		if (ret == -EINVAL)
			soft_qp_event(qp, IB_EVENT_QP_FATAL);
	}
	return ret;
}

/*
 * On the direct path: of short messages that stand one behind the other FPDUs are built,
 * which the peer takes together; for two short copies of each that saves the rest of a push.
 */
static bool soft_tx_in_run(const struct soft_qp *qp, const struct soft_msg *msg,
			   u32 n)
{
	const u32 most = qp->mpa.crc ? SOFT_DIRECT_RUN_CRC : SOFT_DIRECT_RUN;

	return n && n == msg->len && n <= most && msg->kind == SOFT_MSG_WR &&
	       msg->imm_due == SOFT_IMM_NEVER && !qp->mpa.tx_markers &&
	       soft_ring_pending(&qp->sq.ring) > 0;
}

/* Build the next FPDU of the message under way, or several. */
static enum soft_step soft_tx_segment(struct soft_qp *qp, u32 mulpdu)
{
	struct soft_tx *tx = &qp->tx;
	struct soft_msg *msg = &tx->msg;
	u32 hdr = soft_tx_header_len(msg) - SOFT_MPA_HDR;
	u32 n = min(msg->len - msg->off, mulpdu - hdr);
	enum soft_access why;
	bool is_short;
	u32 room;
	u8 *p;

	if (tx->direct && !soft_tx_in_run(qp, msg, n))
		return soft_tx_direct(qp);
	p = soft_tx_reserve_pages(qp, hdr + n);
	if (!p)
		return SOFT_STEP_FULL;
	if (soft_tx_several(qp, p, n))
		return SOFT_STEP_BUILT;
	room = tx->frag.size - tx->frag.offset;
	/* not less than a page; what is around a shorter ULPDU is at most a pad more */
	if (room < soft_tx_fpdu_len(qp, hdr + n))
		n = round_down(2 * room - soft_tx_fpdu_len(qp, room) -
				       SOFT_MPA_PAD_MAX - hdr, 4);

	hdr = soft_tx_header(msg, p, n);
	why = soft_tx_payload(qp, msg, p + hdr, n);
	if (why) {
		soft_tx_msg_refused(qp, msg, why);
		return SOFT_STEP_BUILT;
	}
	soft_tx_seal_fpdu(qp, p, hdr + n);
	msg->off += n;
	if (msg->off != msg->len)
		return SOFT_STEP_BUILT;
	is_short = n == msg->len && msg->kind == SOFT_MSG_WR;
	soft_tx_msg_done(qp, msg);
	if (is_short && msg->kind == SOFT_MSG_NONE &&
	    soft_ring_pending(&qp->sq.ring))
		soft_tx_more(qp);
	return SOFT_STEP_BUILT;
}

/* Build what is next of the message under way: a segment, or its immediate data. */
static enum soft_step soft_tx_go_on(struct soft_qp *qp, u32 mulpdu)
{
	struct soft_msg *msg = &qp->tx.msg;
	enum soft_step step;

	switch (msg->imm_due) {
	case SOFT_IMM_NOW:
		step = soft_tx_imm(qp, msg);
		/* that of a Send goes before it */
		if (step == SOFT_STEP_BUILT && msg->opcode == SOFT_RDMAP_WRITE)
			msg->imm_due = SOFT_IMM_GIVEN;
		return step;
	case SOFT_IMM_GIVEN:
		/* now the peer has it, or the stream's octets count it */
		soft_tx_msg_done(qp, msg);
		return SOFT_STEP_BUILT;
	default:
		return soft_tx_segment(qp, mulpdu);
	}
}

/* Choosing ***************************************************************** */

/*
 * Remember what is asked for now; false when ORD is used up. The transmitter goes on
 * when half of that is answered, not with each answer: starting it costs more than the
 * answer, and the peer has the other half to do.
 */
bool soft_tx_out_add(struct soft_qp *qp, const struct soft_read_out *out)
{
	bool ret = false;
	u32 i;

	spin_lock_bh(&qp->lock);
	if (qp->out_count < qp->mpa.ord) {
		i = qp->out_head + qp->out_count;
		if (i >= qp->mpa.ord)
			i -= qp->mpa.ord;
		qp->out[i] = *out;
		qp->out_count++;
		ret = true;
		if (out->slot != SOFT_NO_SLOT)
			soft_sq_begun(qp, out->slot);
	}
	qp->tx_waits = !ret;
	qp->tx_waits_for = qp->mpa.ord / 2;
	spin_unlock_bh(&qp->lock);
	return ret;
}

/* Is a Read or an atomic operation unanswered? The last answer starts the transmitter, then. */
static bool soft_tx_unanswered(struct soft_qp *qp)
{
	bool ret;

	spin_lock_bh(&qp->lock);
	ret = qp->out_count;
	qp->tx_waits = ret;
	qp->tx_waits_for = 0;
	spin_unlock_bh(&qp->lock);
	return ret;
}

/* Build a Read Request, a message of one FPDU; the @last of its work request. */
static enum soft_step soft_tx_read_req(struct soft_qp *qp, u32 slot, bool last,
				       const struct soft_read_req *req)
{
	const struct soft_read_out out = {
		.slot = slot,
		.last = last,
		.msn = qp->tx.msn[SOFT_QN_READ_REQ],
		.stag = req->sink_stag,
		.to = req->sink_to,
		.len = req->length,
	};
	u8 *p;

	p = soft_tx_reserve(qp, SOFT_HDR_MAX);
	if (!p)
		return SOFT_STEP_FULL;
	if (!soft_tx_out_add(qp, &out))
		return SOFT_STEP_BLOCKED;
	soft_tx_seal(qp, p,
		     soft_put_read_req(p, qp->tx.msn[SOFT_QN_READ_REQ]++, req));
	if (slot != SOFT_NO_SLOT && last)
		soft_sq_encoded(&qp->sq, slot, qp->tx.seq_built);
	return SOFT_STEP_BUILT;
}

/* May the response be placed in all of @wqe's elements? */
static bool soft_tx_sinks_ok(struct soft_qp *qp,
			     const struct krdma_soft_sqe *wqe)
{
	const struct krdma_soft_sge *sge;
	struct soft_mem *mem;

	for (sge = wqe->sge; sge < wqe->sge + wqe->num_sge; sge++) {
		if (!sge->length)
			continue;
		if (soft_mem_get_cached(qp, &qp->tx.mem, sge->lkey, sge->addr,
					sge->length, IB_ACCESS_LOCAL_WRITE, &mem))
			return false;
		soft_mem_put(mem);
	}
	return true;
}

/* The first element from @i on that is not empty. */
static u32 soft_tx_next_sink(const struct krdma_soft_sqe *wqe, u32 i)
{
	while (i < wqe->num_sge && !wqe->sge[i].length)
		i++;
	return i;
}

/*
 * An RDMA Read: check the sinks, then ask. A Read Request has one sink
 * (RFC 5040 4.4), so one goes out for each element that is not empty, or a
 * single one for nothing at all. Their responses come in order (RFC 5040 5.5),
 * so the work request is over with that to the last. Each of them counts for
 * ORD: what it does not allow now goes out when a response has come.
 */
static enum soft_step soft_tx_start_read(struct soft_qp *qp,
					 const struct krdma_soft_sqe *wqe,
					 u32 slot)
{
	struct soft_tx *tx = &qp->tx;
	struct soft_read_req req = {
		.src_stag = wqe->rkey,
		.src_to = wqe->raddr + tx->read_off,
	};
	enum soft_step step;
	u32 i, next;

	if (!tx->read_sge && (!qp->mpa.ord || !soft_tx_sinks_ok(qp, wqe))) {
		soft_tx_wr_failed(qp, slot,
				  qp->mpa.ord ? IB_WC_LOC_PROT_ERR :
						IB_WC_LOC_QP_OP_ERR);
		return SOFT_STEP_BUILT;
	}
	i = soft_tx_next_sink(wqe, tx->read_sge);
	next = i;
	if (i < wqe->num_sge) {
		req.sink_stag = wqe->sge[i].lkey;
		req.sink_to = wqe->sge[i].addr;
		req.length = wqe->sge[i].length;
		next = soft_tx_next_sink(wqe, i + 1);
	}
	step = soft_tx_read_req(qp, slot, next == wqe->num_sge, &req);
	if (step != SOFT_STEP_BUILT)
		return step;
	tx->read_sge = next;
	tx->read_off += req.length;
	if (next == wqe->num_sge)
		tx->wr_fetched = false;
	return step;
}

/*
 * A local work request: nothing to build. It completes when those before it
 * have completed.
 */
static enum soft_step soft_tx_local(struct soft_qp *qp,
				    const struct krdma_soft_sqe *wqe, u32 slot)
{
	enum ib_wc_status status = soft_local_wr(qp, wqe);

	qp->tx.wr_fetched = false;
	if (status)
		soft_tx_wr_failed(qp, slot, status);
	else
		soft_sq_encoded(&qp->sq, slot, 0);
	return SOFT_STEP_BUILT;
}

/* Make the fetched work request the message under way. */
static enum soft_step soft_tx_start_wr(struct soft_qp *qp)
{
	const struct krdma_soft_sqe *wqe = qp->sq.wqe;
	struct soft_tx *tx = &qp->tx;
	struct soft_msg *msg = &tx->msg;
	bool solicited = wqe->flags & KRDMA_SOFT_WQE_SOLICITED;

	/* a Read that has begun does not wait for itself */
	if (wqe->flags & KRDMA_SOFT_WQE_FENCE && !tx->read_sge &&
	    soft_tx_unanswered(qp))
		return SOFT_STEP_BLOCKED;
	if (soft_op_is_local(wqe->opcode))
		return soft_tx_local(qp, wqe, tx->wr_slot);
	if (soft_op_is_read(wqe->opcode))
		return soft_tx_start_read(qp, wqe, tx->wr_slot);
	if (soft_op_is_atomic(wqe->opcode))
		return soft_tx_start_atomic(qp, wqe, tx->wr_slot);

	memset(msg, 0, offsetof(struct soft_msg, read));
	msg->kind = SOFT_MSG_WR;
	msg->slot = tx->wr_slot;
	msg->len = wqe->length;
	msg->sge = wqe->sge;
	if (wqe->flags & KRDMA_SOFT_WQE_INLINE)
		msg->inline_data = (const u8 *)wqe->sge;
	switch (wqe->opcode) {
	case KRDMA_SOFT_OP_WRITE_IMM:
		soft_tx_imm_with_write(tx, msg, wqe);
		fallthrough;
	case KRDMA_SOFT_OP_WRITE:
		msg->opcode = SOFT_RDMAP_WRITE;
		msg->stag = wqe->rkey;
		msg->to = wqe->raddr;
		break;
	case KRDMA_SOFT_OP_SEND_INV:
		msg->opcode = solicited ? SOFT_RDMAP_SEND_SE_INV :
					  SOFT_RDMAP_SEND_INV;
		msg->inv_stag = wqe->invalidate;
		msg->msn = tx->msn[SOFT_QN_SEND]++;
		break;
	case KRDMA_SOFT_OP_SEND_IMM:
		soft_tx_imm_with_send(tx, msg, wqe);
		fallthrough;
	default:
		msg->opcode = solicited ? SOFT_RDMAP_SEND_SE : SOFT_RDMAP_SEND;
		msg->msn = tx->msn[SOFT_QN_SEND]++;
		break;
	}
	soft_sq_begun_msg(qp, msg);
	tx->wr_fetched = false;
	return SOFT_STEP_BUILT;
}

/* Answer the peer's oldest request: an RDMA Read becomes the message under way. */
static enum soft_step soft_tx_start_resp(struct soft_qp *qp)
{
	struct soft_msg *msg = &qp->tx.msg;
	struct soft_read_in in;
	bool ret;

	spin_lock_bh(&qp->lock);
	ret = qp->in_count;
	if (ret)
		in = qp->in[qp->in_head];
	spin_unlock_bh(&qp->lock);
	if (!ret)
		return SOFT_STEP_EMPTY;
	if (in.is_atomic)
		return soft_tx_atomic_resp(qp, &in);

	memset(msg, 0, sizeof(*msg));
	msg->kind = SOFT_MSG_READ_RESP;
	msg->opcode = SOFT_RDMAP_READ_RESP;
	msg->len = in.req.length;
	msg->stag = in.req.sink_stag;
	msg->to = in.req.sink_to;
	msg->read = in.req;
	msg->msn = in.msn;
	return SOFT_STEP_BUILT;
}

static enum soft_step soft_tx_next_wr(struct soft_qp *qp)
{
	struct soft_tx *tx = &qp->tx;
	int ret;

	if (!tx->wr_fetched) {
		if (qp->sq.held)
			return SOFT_STEP_BLOCKED;
		if (!soft_ring_pending(&qp->sq.ring))
			return SOFT_STEP_EMPTY;
		ret = soft_tx_fetch(qp);
		if (ret)
			return ret == -ENOENT ? SOFT_STEP_EMPTY :
						SOFT_STEP_BUILT;
	}
	if (qp->sq.held && soft_tx_wr_waits(tx))
		return SOFT_STEP_BLOCKED;
	/* RFC 5044 7.1.2: the responder is silent until the initiator spoke */
	if (!READ_ONCE(qp->peer_ready) &&
	    !soft_op_is_local(qp->sq.wqe->opcode))
		return READ_ONCE(qp->state) == SOFT_QP_CLOSING ?
			       SOFT_STEP_EMPTY :
			       SOFT_STEP_BLOCKED;
	return soft_tx_start_wr(qp);
}

/* The frame that ends the responder's wait (RFC 6581 5). */
static enum soft_step soft_tx_rtr(struct soft_qp *qp)
{
	static const struct soft_read_req nothing = { .src_stag = 1 };
	struct soft_tx *tx = &qp->tx;
	enum soft_step step = SOFT_STEP_BUILT;
	u8 *p;

	if (tx->rtr == RI_RTR_READ) {
		step = soft_tx_read_req(qp, SOFT_NO_SLOT, true, &nothing);
		goto out;
	}
	p = soft_tx_reserve(qp, SOFT_UNTAGGED_HDR);
	if (!p)
		return SOFT_STEP_FULL;
	/* STag 1: some hardware refuses 0 even for a zero-length Write */
	if (tx->rtr == RI_RTR_WRITE)
		soft_tx_seal(qp, p,
			     soft_put_tagged(p, SOFT_RDMAP_WRITE, true, 1, 0,
					     0));
	else
		soft_tx_seal(qp, p,
			     soft_put_untagged(p, SOFT_RDMAP_SEND, true, 0,
					       SOFT_QN_SEND,
					       tx->msn[SOFT_QN_SEND]++, 0, 0));
out:
	if (step == SOFT_STEP_BUILT)
		tx->rtr = RI_RTR_NONE;
	return step;
}

/* The last message of the stream. */
static enum soft_step soft_tx_terminate(struct soft_qp *qp)
{
	u8 *p;

	p = soft_tx_reserve(qp, SOFT_TERM_ULPDU_MAX);
	if (!p)
		return SOFT_STEP_FULL;
	soft_tx_seal(qp, p, soft_put_terminate(p, &qp->term));
	soft_count(qp->rnic, SOFT_CNT_TERM_TX);
	trace_soft_terminate(qp, &qp->term, true);
	spin_lock_bh(&qp->lock);
	qp->term_pending = false;
	spin_unlock_bh(&qp->lock);
	return SOFT_STEP_BUILT;
}

/* One step: start the next message or build the next FPDU. */
static enum soft_step soft_tx_step(struct soft_qp *qp, u32 mulpdu)
{
	struct soft_tx *tx = &qp->tx;
	enum soft_step step, resp;

	if (!soft_tx_room(tx))
		return SOFT_STEP_FULL;
	if (tx->seg && tx->seg->len)
		return tx->direct ? soft_tx_push(qp) : soft_tx_to_wire(qp);
	if (READ_ONCE(qp->state) == SOFT_QP_TERMINATE)
		return READ_ONCE(qp->term_pending) ? soft_tx_terminate(qp) :
						     SOFT_STEP_EMPTY;
	if (tx->rtr != RI_RTR_NONE)
		return soft_tx_rtr(qp);
	if (tx->msg.kind != SOFT_MSG_NONE)
		return soft_tx_go_on(qp, mulpdu);

	/* answers and work requests take turns, message by message */
	if (tx->resp_turn && soft_tx_has_requests(qp)) {
		resp = soft_tx_start_resp(qp);
		tx->resp_turn = resp == SOFT_STEP_EMPTY;
		if (resp != SOFT_STEP_EMPTY)
			return resp;
	}
	step = soft_tx_next_wr(qp);
	if (step == SOFT_STEP_BUILT) {
		tx->resp_turn = true;
		return tx->msg.kind == SOFT_MSG_NONE ? step :
						       soft_tx_go_on(qp, mulpdu);
	}
	if (!soft_tx_has_requests(qp))
		return step;
	resp = soft_tx_start_resp(qp);
	return resp == SOFT_STEP_EMPTY ? step : resp;
}

/*
 * What a segment carries. TCP notes a new path MTU when it sends, which is too
 * late for what is built before that (RFC 5044 4.5).
 */
static u32 soft_tx_emss(struct sock *sk)
{
	int mss = READ_ONCE(tcp_sk(sk)->mss_cache);
	const struct dst_entry *dst;
	int over;

	guard(rcu)();
	dst = rcu_dereference(sk->sk_dst_cache);
	if (!dst)
		return mss;
	over = tcp_mss_to_mtu(sk, mss) - (int)dst_mtu(dst);
	return over > 0 ? max(mss - over, TCP_MIN_SND_MSS) : mss;
}

static enum soft_step soft_tx_build(struct soft_qp *qp)
{
	u32 mss = soft_tx_emss(qp->llp->sock->sk);
	u32 mulpdu = qp->mpa.tx_markers ? soft_marked_mulpdu(mss) :
					  soft_mulpdu(mss);
	enum soft_step step;

	do {
		step = soft_tx_step(qp, mulpdu);
	} while (step == SOFT_STEP_BUILT);
	return step;
}

/* Sending ****************************************************************** */

/* TCP took @n octets: let go of them. */
static void soft_tx_taken(struct soft_tx *tx, u32 n)
{
	u32 gone = 0;

	tx->staged -= n;
	WRITE_ONCE(tx->seq_sent, tx->seq_sent + n);
	while (gone < tx->nvec && n >= tx->vec[gone].bv_len) {
		n -= tx->vec[gone].bv_len;
		put_page(tx->vec[gone++].bv_page);
	}
	if (n) {
		tx->vec[gone].bv_offset += n;
		tx->vec[gone].bv_len -= n;
	}
	tx->nvec -= gone;
	memmove(tx->vec, tx->vec + gone, tx->nvec * sizeof(tx->vec[0]));
}

/*
 * Give TCP what is built. With @more, TCP waits for the next piece before it
 * sends a segment that is not full; another send follows for sure.
 * Return: 0, -EAGAIN when TCP is full, another errno when the stream is gone.
 */
static int soft_tx_send(struct soft_qp *qp, bool more)
{
	struct sock *sk = qp->llp->sock->sk;
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_SPLICE_PAGES |
			     (more ? MSG_MORE : 0),
	};
	struct soft_tx *tx = &qp->tx;
	u32 staged = tx->staged;
	int n;

	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, tx->vec, tx->nvec, staged);
	sock_rps_record_flow(sk);
	/* sock_sendmsg() would ask security modules and bind first: for sockets of programs */
	lock_sock(sk);
	n = tcp_sendmsg_locked(sk, &msg, staged);
	release_sock(sk);
	trace_soft_send(qp, staged, n);
	if (n < 0)
		return n;
	soft_count(qp->rnic, SOFT_CNT_TX_SENDS);
	soft_count_add(qp->rnic, SOFT_CNT_TX_BYTES, n);
	soft_count_add(qp->rnic, SOFT_CNT_TX_FPDU, tx->staged_fpdus);
	tx->staged_fpdus = 0;
	qp->sent.octets += n;
	soft_tx_taken(tx, n);
	return n == staged ? 0 : -EAGAIN;
}

/*
 * Give the peer on this host what is built. What it does not take now goes through TCP, as
 * all behind it. Return: as soft_tx_send().
 */
static int soft_tx_give(struct soft_qp *qp)
{
	struct soft_tx *tx = &qp->tx;
	u32 fpdus = 0;
	u32 n = soft_direct_give(qp, &fpdus);

	soft_count_add(qp->rnic, SOFT_CNT_DIRECT_SEGMENTS, fpdus);
	soft_count_add(qp->rnic, SOFT_CNT_DIRECT_BYTES, n);
	qp->sent.octets += n;
	tx->staged_fpdus -= fpdus;
	soft_tx_taken(tx, n);
	if (!tx->staged)
		return 0;
	tx->direct = false;
	return soft_tx_send(qp, false);
}

/**
 * soft_tx_owes() - has this side begun a message, or been asked for one
 * @qp: queue pair, its tx.mutex held
 */
bool soft_tx_owes(const struct soft_qp *qp)
{
	const struct soft_tx *tx = &qp->tx;

	return soft_tx_has_requests(qp) || tx->msg.kind != SOFT_MSG_NONE ||
	       tx->staged || (tx->seg && tx->seg->len);
}

/* Nothing is left to send. True when the stream is ready to end. */
static bool soft_tx_finished(struct soft_qp *qp, enum soft_step step)
{
	bool ret = false;

	spin_lock_bh(&qp->lock);
	if (qp->state == SOFT_QP_TERMINATE) {
		ret = !qp->term_pending;
	} else if (qp->peer_done) {
		ret = !qp->in_count && qp->tx.msg.kind == SOFT_MSG_NONE;
	} else if (qp->state == SOFT_QP_CLOSING) {
		ret = step == SOFT_STEP_EMPTY && !qp->in_count &&
		      !qp->out_count;
		qp->tx_waits = qp->out_count;
		qp->tx_waits_for = 0;
	}
	spin_unlock_bh(&qp->lock);
	return ret;
}

/* so often one that posts at the same time is followed before others get their turn */
#define SOFT_TX_ROUNDS		64

/*
 * Run until there is nothing to do or @budget octets are sent.
 * Return: true when there is more to do.
 */
static bool soft_tx_run_stream(struct soft_qp *qp, u64 budget)
{
	struct soft_sq *sq = &qp->sq;
	u64 end = qp->tx.seq_sent + budget;
	u32 rounds = 0;
	u64 pushed = 0;
	enum soft_step step;
	bool more;
	u32 built;
	int ret;

	/* between messages: in the middle of one TCP may keep octets until there are more */
	if (!qp->tx.direct && !qp->tx.staged &&
	    qp->tx.msg.kind == SOFT_MSG_NONE &&
	    READ_ONCE(qp->direct.peer) && !soft_direct_switch(qp))
		return false;
	soft_pace_busy(&qp->tx.pace);
	soft_ring_no_doorbell(&sq->ring);
	for (;;) {
		qp->tx.pushed = 0;
		step = soft_tx_build(qp);
		built = qp->tx.staged;
		/* in the middle of a message there is always more */
		more = qp->tx.msg.kind != SOFT_MSG_NONE;
		ret = 0;
		if (built)
			ret = qp->tx.direct ? soft_tx_give(qp) :
					      soft_tx_send(qp, more);
		built += qp->tx.pushed;
		pushed += qp->tx.pushed / SOFT_DIRECT_COST;
		soft_sq_complete(qp);
		if (ret == -EAGAIN) {
			soft_count(qp->rnic, SOFT_CNT_TX_STALLS);
			return false;
		}
		if (ret) {
			cmpxchg(&qp->status, 0, ret);
			soft_qp_todo(qp, SOFT_TODO_PEER_CLOSED);
			return false;
		}
		if (step == SOFT_STEP_FULL) {
			/* out of budget, or of memory */
			if (qp->tx.seq_sent + pushed >= end || !built)
				return true;
			cond_resched();
			continue;
		}
		if (soft_tx_finished(qp, step)) {
			soft_qp_todo(qp, SOFT_TODO_FINISH);
			return false;
		}
		if (step == SOFT_STEP_BLOCKED)
			return false;
		soft_pace_rest(qp);
		if (!soft_ring_pending(&sq->ring))
			return false;
		soft_pace_busy(&qp->tx.pace);
		soft_ring_no_doorbell(&sq->ring);
		/* who waits for the mutex must not wait for the poster's end */
		if (qp->tx.seq_sent + pushed >= end || ++rounds == SOFT_TX_ROUNDS)
			return true;
		cond_resched();
	}
}

/**
 * soft_tx_run() - send what there is to send
 * @qp: queue pair
 * @budget: octets after which others get their turn
 * Context: under tx.mutex, may sleep. Return: there is more to do; soft_tx_kick() does it.
 */
bool soft_tx_run(struct soft_qp *qp, u64 budget)
{
	bool more;

	lockdep_assert_held(&qp->tx.mutex);
	if (!qp->llp) {
		if (READ_ONCE(qp->state) == SOFT_QP_ERROR)
			soft_qp_flush(qp);
		return false;
	}
	soft_tx_pages_swap(&qp->tx);
	more = soft_tx_run_stream(qp, budget);
	soft_tx_pages_swap(&qp->tx);
	soft_tx_pages_drop(&qp->tx.frag);
	return more;
}

/** soft_tx_kick() - there may be something to send; any context */
void soft_tx_kick(struct soft_qp *qp)
{
	queue_work(soft_wq, &qp->tx.work);
}

/**
 * soft_tx_begin() - send what there is at the beginning of a stream
 * @qp: queue pair
 * Context: may sleep; tx.mutex held.
 */
void soft_tx_begin(struct soft_qp *qp)
{
	if (soft_tx_run(qp, READ_ONCE(soft_tx_inline_bytes)))
		soft_tx_kick(qp);
}

/* Run for the poster, who came at @begin, and learn from it. */
static bool soft_tx_run_posted(struct soft_qp *qp, u64 begin)
{
	const u32 fetched = qp->sq.ring.fetched;
	bool gathered = soft_pace_called(qp, begin);
	bool more;

	more = soft_tx_run(qp, READ_ONCE(soft_tx_inline_bytes));
	soft_pace_returns(qp, begin, qp->sq.ring.fetched - fetched, gathered);
	return more;
}

/**
 * soft_tx_run_inline() - send now, within bounds, unless somebody else does
 * @qp: queue pair
 * @posted: the caller has posted to it
 * Context: process context.
 */
void soft_tx_run_inline(struct soft_qp *qp, bool posted)
{
	const u64 begin = posted ? ktime_get_ns() : 0;
	bool more;

	if (mutex_trylock(&qp->tx.mutex)) {
		more = posted ? soft_tx_run_posted(qp, begin) :
				soft_tx_run(qp, READ_ONCE(soft_tx_inline_bytes));
		/* a kernel consumer may end the queue pair once what it posted is complete */
		if (more)
			soft_tx_kick(qp);
		mutex_unlock(&qp->tx.mutex);
		return;
	}
	/* whoever holds the mutex may have looked at the ring before us */
	soft_tx_kick(qp);
}

void soft_tx_work(struct work_struct *work)
{
	struct soft_qp *qp = container_of(work, struct soft_qp, tx.work);
	bool more;

	mutex_lock(&qp->tx.mutex);
	soft_pace_late(qp);
	more = soft_tx_run(qp, READ_ONCE(soft_tx_inline_bytes));
	mutex_unlock(&qp->tx.mutex);
	if (more)
		soft_tx_kick(qp);
}
