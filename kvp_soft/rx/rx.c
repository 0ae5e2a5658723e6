// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The receiver.
 *
 * The receiver takes FPDUs from TCP's receive queue one by one and whole: it checks the CRC of
 * an FPDU before it uses or places a byte of it.
 *
 * An FPDU within one socket buffer is checked and placed from there, so its payload is copied
 * once. An FPDU that is spread over several socket buffers is assembled in a bounce buffer
 * first. That is the exception, since the transmitter cuts FPDUs to the size of TCP segments.
 * In the middle of a long message, adjacent FPDUs are handled as one.
 *
 * Little data is handled in softirq on arrival: that is the shortest way to a completion. Much
 * data is left to a work item, so that the copy does not hold up the network stack.
 *
 * The receiver runs under the socket lock.
 */
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/unaligned.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <krdma/noio.h>
#include <krdma/compat_net.h>

#include "../base/params.h"
#include "../base/trace.h"
#include "../wire/mpa_markers.h"
#include "internal.h"

static void soft_rx_work(struct work_struct *work);

/** soft_rx_init() - initialize the receiver of a new QP; stopped until the QP has a stream */
void soft_rx_init(struct soft_rx *rx, struct soft_qp *qp)
{
	qp->rx = rx;
	rx->qp = qp;
	INIT_WORK(&rx->waiter.work, soft_rx_work);
	soft_rx_wait_init(rx);
	soft_rx_reset(rx);
	rx->stopped = true;
}

/** soft_rx_reset() - reset the receiver, before a stream and after it */
void soft_rx_reset(struct soft_rx *rx)
{
	int i;

	kvfree(rx->bounce);
	rx->bounce = NULL;
	rx->bounce_len = 0;
	rx->bounce_size = 0;
	rx->bounce_want = 0;
	rx->bounce_ready = 0;
	rx->marked_pos = 0;
	rx->held = false;
	rx->write_len = 0;
	rx->in_write = false;
	rx->imm_kept = false;
	rx->qp->rwqe.active = false;
	rx->qp->rwqe_status = IB_WC_SUCCESS;
	rx->seq_read = 0;
	rx->push_waits = false;
	for (i = 0; i < ARRAY_SIZE(rx->untagged); i++)
		rx->untagged[i] = (struct soft_untagged_state){ .msn = 1 };
}

/**
 * soft_rx_in_message() - is a message incomplete, so that the stream must not end here?
 * @qp: queue pair; its receiver is not running
 */
bool soft_rx_in_message(const struct soft_qp *qp)
{
	const struct soft_rx *rx = qp->rx;

	return rx->bounce_len || rx->in_write || qp->rwqe.active ||
	       rx->imm_kept ||
	       (READ_ONCE(qp->out_count) && qp->out[qp->out_head].got);
}

/* Check the CRC of a whole FPDU, its markers included. */
static __always_inline bool
soft_rx_crc_ok(struct soft_qp *qp, const struct soft_src *src, u32 len)
{
	if (!qp->mpa.crc || soft_src_crc_ok(src, len))
		return true;
	soft_count(qp->rnic, SOFT_CNT_CRC_ERR);
	soft_rx_mpa_error(qp, SOFT_MPA_CRC_ERROR);
	return false;
}

/*
 * Make room for @size bytes and keep the bytes collected so far. If the allocation fails in
 * softirq, the work item tries again; it may wait for memory.
 */
static int soft_rx_bounce_room(struct soft_qp *qp, u32 size, bool may_sleep)
{
	struct soft_rx *rx = qp->rx;
	u8 *buf;

	if (size <= rx->bounce_size)
		return 0;
	rx->bounce_want = size;
	size = roundup_pow_of_two(size);
	buf = ri_qp_alloc(&qp->ri, size, may_sleep);
	if (!buf)
		return -ENOMEM;
	memcpy(buf, rx->bounce, rx->bounce_len);
	kvfree(rx->bounce);
	rx->bounce = buf;
	rx->bounce_size = size;
	return 0;
}

/* Bytes up to the end of ULPDU_Length, with a leading marker. */
static u32 soft_rx_bounce_head(const struct soft_qp *qp)
{
	if (qp->mpa.rx_markers && soft_marker_leads(qp->rx->marked_pos))
		return SOFT_MPA_MARKER + SOFT_MPA_HDR;
	return SOFT_MPA_HDR;
}

/* Bytes to collect: those of the whole FPDU, or up to ULPDU_Length if that is not known yet. */
static u32 soft_rx_bounce_want(const struct soft_qp *qp)
{
	const struct soft_rx *rx = qp->rx;
	u32 head = soft_rx_bounce_head(qp);
	u32 len;

	if (rx->bounce_len < head)
		return head;
	len = soft_fpdu_len(get_unaligned_be16(rx->bounce + head - SOFT_MPA_HDR));
	return qp->mpa.rx_markers ? soft_marked_len(rx->marked_pos, len) : len;
}

static bool soft_rx_bounce_full(const struct soft_qp *qp)
{
	return qp->rx->bounce_len >= soft_rx_bounce_head(qp) &&
	       qp->rx->bounce_len == soft_rx_bounce_want(qp);
}

/* Check the collected FPDU, and remove its markers. */
static bool soft_rx_bounce_check(struct soft_qp *qp)
{
	struct soft_rx *rx = qp->rx;
	struct soft_src src = { .lin = rx->bounce };
	int len = rx->bounce_len;

	if (!soft_rx_crc_ok(qp, &src, len))
		return false;
	if (qp->mpa.rx_markers) {
		len = soft_markers_remove(rx->bounce, rx->marked_pos, len);
		if (len < 0) {
			soft_rx_mpa_error(qp, SOFT_MPA_LENGTH);
			return false;
		}
		rx->marked_pos += rx->bounce_len;
	}
	rx->bounce_ready = len;
	return true;
}

/* Handle the FPDU in the bounce buffer, for the first time or again after a wait. */
static void soft_rx_bounced(struct soft_qp *qp)
{
	struct soft_rx *rx = qp->rx;
	struct soft_src src = { .lin = rx->bounce };

	if (!soft_rx_fpdu(qp, &src, rx->bounce_ready,
			  get_unaligned_be16(rx->bounce)))
		return;
	soft_count(qp->rnic, SOFT_CNT_RX_FPDU);
	rx->bounce_ready = 0;
	rx->bounce_len = 0;
}

/* Collect bytes of an FPDU that is spread over socket buffers. */
static int soft_rx_collect(struct soft_qp *qp, struct sk_buff *skb, u32 off,
			   u32 avail)
{
	struct soft_rx *rx = qp->rx;
	u32 want = soft_rx_bounce_want(qp);
	u32 n = min(avail, want - rx->bounce_len);

	if (soft_rx_bounce_room(qp, want, false))
		return -ENOMEM;
	if (skb_copy_bits(skb, off, rx->bounce + rx->bounce_len, n))
		return -EFAULT;
	rx->bounce_len += n;
	if (soft_rx_bounce_full(qp)) {
		soft_count(qp->rnic, SOFT_CNT_RX_BOUNCED);
		if (soft_rx_bounce_check(qp))
			soft_rx_bounced(qp);
	}
	return n;
}

/*
 * Handle the next FPDU if the socket buffer holds all of it; otherwise collect its bytes.
 * Return: bytes used; 0 when the FPDU has to wait; an errno when it cannot be read or collected.
 */
static int soft_rx_next_fpdu(struct soft_qp *qp, struct sk_buff *skb,
			     struct soft_window *w, u32 off, u32 avail)
{
	struct soft_src src = { .skb = skb, .off = off };
	u8 head[SOFT_MPA_HDR];
	const u8 *p;
	u16 ulpdu_len;
	u32 len, n;

	if (qp->rx->bounce_len || avail < SOFT_MPA_HDR || qp->mpa.rx_markers)
		return soft_rx_collect(qp, skb, off, avail);
	p = soft_window_at(w, off, sizeof(head));
	if (p)
		memcpy(head, p, sizeof(head));
	else if (skb_copy_bits(skb, off, head, sizeof(head)))
		return -EFAULT;
	ulpdu_len = get_unaligned_be16(head);
	/* the compiler must not read the length again */
	OPTIMIZER_HIDE_VAR(ulpdu_len);
	len = soft_fpdu_len(ulpdu_len);
	if (len > avail)
		return soft_rx_collect(qp, skb, off, avail);
	src.lin = soft_window_at(w, off, len);
	if (src.lin) {
		src.skb = NULL;
		src.more = min(w->end - off, avail) - len;
	}
	if (!soft_rx_crc_ok(qp, &src, len))
		return len;
	n = soft_rx_fpdu(qp, &src, len, ulpdu_len);
	soft_count_add(qp->rnic, SOFT_CNT_RX_FPDU, n);
	return n * len;
}

/* TCP holds data that the CPU cannot read, as in device memory: waiting would not help. */
static void soft_rx_unreadable(struct soft_qp *qp)
{
	struct soft_term term;

	soft_count(qp->rnic, SOFT_CNT_RX_UNREADABLE);
	soft_term_set(&term, SOFT_TERM_RDMAP, SOFT_RDMAP_LOCAL, SOFT_CODE_LOCAL);
	qp->rx->stopped = true;
	soft_qp_fail(qp, &term, true, -EFAULT);
	soft_qp_event(qp, IB_EVENT_QP_FATAL);
}

/* tcp_read_sock() actor. Return: bytes used. */
static int soft_rx_read_actor(read_descriptor_t *desc, struct sk_buff *skb,
			      unsigned int off, size_t len)
{
	struct soft_qp *qp = desc->arg.data;
	struct soft_window w;
	size_t used = 0;
	int n;

	if (unlikely(!skb_frags_readable(skb)) && !qp->rx->stopped) {
		desc->error = -EFAULT;
		return 0;
	}
	soft_window_open(&w, skb);
	qp->rx->apart = false;
	while (used < len && !qp->rx->stopped && !qp->rx->held) {
		n = soft_rx_next_fpdu(qp, skb, &w, off + used, len - used);
		if (n < 0) {
			/* the rest stays with TCP */
			desc->error = n;
			break;
		}
		used += n;
	}
	if (qp->rx->stopped)
		used = len;
	soft_count_add(qp->rnic, SOFT_CNT_RX_BYTES, used);
	qp->rx->seq_read += used;
	qp->received.bytes += used;
	return used;
}

/**
 * soft_rx_caught_up() - has the receiver handled all data from TCP?
 * @qp: queue pair
 * @seq: stream bytes that the peer gave to TCP
 *
 * Context: with the socket locked.
 * Return: 0 when it has; -EAGAIN when not, and the end of the next read starts the peer's
 * transmitter; -EBUSY when it may take long.
 */
int soft_rx_caught_up(struct soft_qp *qp, u64 seq)
{
	struct soft_rx *rx = qp->rx;

	if (rx->stopped || rx->held)
		return -EBUSY;
	if (!rx->bounce_len && rx->seq_read == seq)
		return 0;
	rx->push_waits = true;
	return -EAGAIN;
}

/* Read the data that TCP has. The socket is locked. */
static void soft_rx_read(struct soft_qp *qp, struct sock *sk)
{
	read_descriptor_t desc = { .arg.data = qp, .count = 1 };

	qp->rx->held = false;
	/* an FPDU held in the bounce buffer comes before the data that is still with TCP */
	if (qp->rx->bounce_ready && !qp->rx->stopped)
		soft_rx_bounced(qp);
	if (!qp->rx->held)
		tcp_read_sock(sk, &desc, soft_rx_read_actor);
	if (desc.error == -ENOMEM) {
		queue_work(soft_wq, &qp->rx->waiter.work);
	} else if (desc.error) {
		soft_rx_unreadable(qp);
		/* drop the data: closing with unread data would reset, and lose the Terminate */
		tcp_read_sock(sk, &desc, soft_rx_read_actor);
	}
	if (qp->rx->push_waits) {
		qp->rx->push_waits = false;
		soft_qp_wake_peer(qp);
	}
}

/**
 * soft_rx_ready() - handle arrived data, here or in the work item
 * @qp: queue pair
 * @sk: its socket, locked
 * Context: the socket's data_ready callback.
 */
void soft_rx_ready(struct soft_qp *qp, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 waiting = READ_ONCE(tp->rcv_nxt) - READ_ONCE(tp->copied_seq);

	if (qp->rx->stopped || qp->rx->held || work_pending(&qp->rx->waiter.work))
		return;
	if (waiting <= READ_ONCE(soft_rx_inline_bytes))
		soft_rx_read(qp, sk);
	else
		queue_work(soft_wq, &qp->rx->waiter.work);
}

/** soft_rx_drain() - read the data that TCP has; process context, with a stream */
void soft_rx_drain(struct soft_qp *qp)
{
	struct sock *sk = qp->llp->sock->sk;
	int ret;

	lock_sock(sk);
	qp->rx->may_sleep = true;
	/* without memory the data stays with TCP, and the work item runs again */
	do {
		ret = soft_rx_bounce_room(qp, qp->rx->bounce_want, true);
		soft_rx_read(qp, sk);
	} while (!ret && qp->rx->bounce_want > qp->rx->bounce_size);
	qp->rx->may_sleep = false;
	release_sock(sk);
}

/** soft_rx_resume() - continue after a wait; also with a stream end that had to wait */
void soft_rx_resume(struct soft_qp *qp)
{
	soft_rx_drain(qp);
	if (!READ_ONCE(qp->rx->held) && soft_sk_closed(qp->llp->sock->sk))
		soft_qp_todo(qp, SOFT_TODO_PEER_CLOSED);
}

/* The stream outlives the work item: soft_stream_detach() cancels it and waits. */
static void soft_rx_work(struct work_struct *work)
{
	struct soft_rx *rx = container_of(work, struct soft_rx, waiter.work);

	guard(krdma_noio)();
	soft_rx_resume(rx->qp);
}
