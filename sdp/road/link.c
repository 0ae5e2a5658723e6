// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Glue between the state machine of a connection and the transport. A link has what a connection
 * needs, made when it begins; more buffers come while data moves, see buffers.c.
 *
 * A link has an endpoint until its state machine is dead. Then a work item takes the endpoint away,
 * because that sleeps. The rest goes with the socket.
 *
 * Post errors and what else must not be said to the machine from one of its ops is noted in the
 * link, and said by sdp_link_settle(), which sdp_unlock() calls.
 */
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <net/inet_ecn.h>
#include <net/ipv6.h>
#include <net/sock.h>

#include <krdma/netstack.h>

#include "road.h"
#include "pinned.h"

#define SDP_LINK_SEGMENTS	3	/* headers, and bytes of two pieces */
#define SDP_LINK_HDR		256	/* bytes of a header's buffer; small payload fits, too */
#define SDP_LINK_RING		256	/* most receives for payload */
#define SDP_LINK_PIECES		4096
/* entries of the send queue that are no slots: keys take two for each chunk */
#define SDP_LINK_KEYS		(2 * (SDP_ZCOPY_CHUNKS + SDP_ZCOPY_RECEIVED + SDP_ZCOPY_NOTIFIED))
#define SDP_LINK_READS_IN	4	/* Reads of the peer at a time */
#define SDP_LINK_READS_OUT	SDP_ZCOPY_RECEIVED	/* own ones: one for each chunk */
#define SDP_LINK_ADVERTS	2	/* of each end: one for each direction */
#define SDP_LINK_LEAST		1024	/* smallest buffers */
/* a post may take room in the transport's queue until the upcall of its end has returned */
#define SDP_LINK_UNSEEN		32
/* how often a thread that pushes looks for more */
#define SDP_PUSH_ROUNDS		8

static struct sdp_link *sdp_link_of(struct sdp_conn *c)
{
	return container_of(c, struct sdp_link, conn);
}

/* The machine's ops ************************************************************************ */

/** sdp_link_break() - a post has failed: the connection ends; with sdp_lock() */
void sdp_link_break(struct sdp_link *link, int error)
{
	if (!link->broken)
		link->broken = error;
}

/**
 * sdp_link_post_get() - take an entry of the send queue
 * @link: link
 * @chunk: memory of a program that the post is for, or NULL: a Send
 *
 * Return: the entry, or NULL: the link is broken. Context: with sdp_lock().
 */
struct sdp_post *sdp_link_post_get(struct sdp_link *link, struct sdp_chunk *chunk)
{
	struct sdp_post *post;

	if (link->broken)
		return NULL;
	post = list_first_entry_or_null(&link->posts_free, struct sdp_post, node);
	if (WARN_ON_ONCE(!post)) {
		sdp_link_break(link, -ENOBUFS);
		return NULL;
	}
	list_del(&post->node);
	link->unpushed = true;
	post->end = 0;
	post->chunk = chunk;
	post->octets = 0;
	post->slots = !chunk;
	post->abort = false;
	return post;
}

/** sdp_link_post_put() - an entry was not used; with sdp_lock() */
void sdp_link_post_put(struct sdp_link *link, struct sdp_post *post)
{
	list_add(&post->node, &link->posts_free);
}

/* Segments for bytes of the stream; @left: those for which there is no room. Return: how many. */
static int sdp_link_gather(struct sdp_link *link, u64 from, u32 len,
			   struct sdp_ot_segment *segments, int room, u32 *left)
{
	struct sdp_piece *piece;
	int n = 0;

	list_for_each_entry(piece, &link->tx, node) {
		u32 at, some;

		if (!len || n == room)
			break;
		if (from >= piece->start + piece->len)
			continue;
		if (WARN_ON_ONCE(from < piece->start))
			break;
		at = from - piece->start;
		some = min(len, piece->len - at);
		segments[n++] = (struct sdp_ot_segment){
			.buf = piece->buf,
			.offset = at,
			.length = some,
		};
		from += some;
		len -= some;
	}
	*left = len;
	return n;
}

/* The payload of a message: small payload behind the headers, other in segments of its own. */
static int sdp_link_payload(struct sdp_link *link, struct sdp_ot_segment *segments, u64 from,
			    u32 len)
{
	struct sdp_ot_segment *hdr = segments;
	u32 left;
	int n, i;

	if (sdp_pinned_segment(link, from, len, segments + 1, false))
		return 1;
	n = sdp_link_gather(link, from, len, segments + 1, SDP_LINK_SEGMENTS - 1, &left);
	if (WARN_ON_ONCE(left))
		return -EINVAL;
	if (hdr->length + len > hdr->buf->size)
		return n;
	for (i = 1; i <= n; i++) {
		memcpy(hdr->buf->data + hdr->length, segments[i].buf->data + segments[i].offset,
		       segments[i].length);
		hdr->length += segments[i].length;
	}
	return 0;
}

static void sdp_link_send(struct sdp_conn *c, const struct sdp_msg *msg, u64 from)
{
	struct sdp_link *link = sdp_link_of(c);
	struct sdp_ot_segment segments[SDP_LINK_SEGMENTS] = {};
	struct sdp_post *post = sdp_link_post_get(link, NULL);
	u32 flags = SDP_OT_SIGNAL;
	int n = 0, rc;

	if (!post)
		return;
	segments[0].buf = post->hdr;
	segments[0].length = sdp_wire_encode(msg, post->hdr->data);
	if (msg->payload_len) {
		n = sdp_link_payload(link, segments, from, msg->payload_len);
		post->end = from + msg->payload_len;
		sdp_count_more(SDP_COUNT_TX_COPIED, msg->payload_len);
	}
	post->abort = msg->mid == SDP_MID_ABORT;
	if (sdp_wire_solicited(msg))
		flags |= SDP_OT_SOLICITED;
	rc = n < 0 ? n : link->ops->post_send(link->ep, segments, n + 1, flags, 0, post);
	if (rc) {
		list_add(&post->node, &link->posts_free);
		sdp_link_break(link, rc);
		return;
	}
	link->sends_out++;
}

static u32 sdp_link_post(struct sdp_conn *c, u32 n)
{
	struct sdp_link *link = sdp_link_of(c);
	struct sdp_rx *rx;
	u32 i;

	for (i = 0; i < n; i++) {
		rx = list_first_entry_or_null(&link->rx_free, struct sdp_rx, node);
		if (!rx) {
			/*
			 * The peer can send no payload any more; or this end has no credit to
			 * spare, and the machine asks for a loan.
			 */
			if (c->state > SDP_ACCEPTED &&
			    (c->credit.posted + i <= SDP_RESERVED ||
			     (s32)(c->credit.limit - c->credit.sent) < SDP_RESERVED))
				sdp_buffers_want_rx(link);
			break;
		}
		if (link->ops->post_recv(link->ep, rx->buf, rx))
			break;
		list_del_init(&rx->node);
	}
	return i;
}

/* Into memory of the peer's program. As many bytes as the segments of one post hold */
static u32 sdp_link_write(struct sdp_conn *c, u32 rkey, u64 va, u64 from, u32 len)
{
	struct sdp_link *link = sdp_link_of(c);
	struct sdp_ot_segment segments[SDP_LINK_SEGMENTS] = {};
	struct sdp_post *post = sdp_link_post_get(link, NULL);
	u32 left = 0;
	int n = 1, rc;

	if (!post)
		return 0;
	len = min(len, link->device->max_rdma);
	if (!sdp_pinned_segment(link, from, len, segments, true))
		n = sdp_link_gather(link, from, len, segments, SDP_LINK_SEGMENTS, &left);
	len -= left;
	post->end = from + len;
	rc = WARN_ON_ONCE(!len) ? -EINVAL :
				  link->ops->post_write(link->ep, segments, n, rkey, va,
							SDP_OT_SIGNAL, post);
	if (rc) {
		sdp_link_post_put(link, post);
		sdp_link_break(link, rc);
		return 0;
	}
	sdp_count_more(SDP_COUNT_TX_WRITTEN, len);
	link->sends_out++;
	return len;
}

static void sdp_link_disconnect(struct sdp_conn *c, bool abrupt)
{
	struct sdp_link *link = sdp_link_of(c);

	link->ops->disconnect(link->ep, abrupt);
}

static void sdp_link_notify(struct sdp_conn *c, enum sdp_notice what)
{
	struct sdp_link *link = sdp_link_of(c);

	sdp_sock_notify(link, what);
}

static void sdp_link_deliver(struct sdp_conn *c, const struct sdp_msg *msg, const u8 *data)
{
	sdp_receive_deliver(sdp_link_of(c), msg, data);
}

static const struct sdp_state_ops sdp_link_ops = {
	.send = sdp_link_send,
	.post = sdp_link_post,
	.read = sdp_pinned_read,
	.write = sdp_link_write,
	.disconnect = sdp_link_disconnect,
	.notify = sdp_link_notify,
	.deliver = sdp_link_deliver,
	.offer_done = sdp_pinned_offer_done,
	.sink_done = sdp_pinned_sink_done,
};

/**
 * sdp_link_settle() - report to the machine what its ops could not
 * @link: link
 *
 * Context: with sdp_lock(), outside of the machine.
 */
void sdp_link_settle(struct sdp_link *link)
{
	struct sdp_conn *c = &link->conn;
	const u32 window = min(link->ssk->rcvbuf, link->window_max);

	if (window != link->window) {
		link->window = window;
		sdp_state_window(c, window);
	}
	sdp_zcopy_settle(link);
	sdp_receive_settle(link);
	sdp_sock_settle(link);
	if (link->broken && c->state != SDP_DEAD)
		sdp_state_event(c, SDP_EV_DOWN);
	if (c->state == SDP_DEAD && !link->ending && !link->starting) {
		link->ending = true;
		link->ssk->wake |= SDP_WAKE_END;
		sdp_sock_timer_stop(link->ssk, &link->ssk->end_timer);
		if (c->fault) {
			sdp_count(SDP_COUNT_FAULTS);
			sdp_count_fault(c->fault);
		}
	}
}

/**
 * sdp_link_push_begin() - begin with what was posted
 * @link: link that has its endpoint
 * @sleep: the caller can do the work when the spinlock is free
 *
 * A caller that cannot leaves the work to the thread that pushes, if there is one.
 *
 * Return: true: the caller calls sdp_link_push() without the spinlock. Context: with sdp_lock().
 */
bool sdp_link_push_begin(struct sdp_link *link, bool sleep)
{
	if (!link->unpushed || (!sleep && atomic_read(&link->pushing)))
		return false;
	link->unpushed = false;
	if (sleep)
		/* seen by sdp_link_end_ep(): the end of the link is noted under the same lock */
		atomic_inc(&link->pushing);
	else
		link->ops->push(link->ep, false);
	return sleep;
}

/**
 * sdp_link_push() - let the transport do in this thread what was posted
 * @link: link after sdp_link_push_begin(); may be gone afterwards
 *
 * What completions set free meanwhile is done, too, for SDP_PUSH_ROUNDS at most.
 * Context: may sleep.
 */
void sdp_link_push(struct sdp_link *link)
{
	struct sdp_sock *ssk = link->ssk;
	bool more;
	int round;

	for (round = 0, more = true; more; round++) {
		link->ops->push(link->ep, true);
		spin_lock_bh(&ssk->lock);
		more = link->unpushed;
		if (more && round == SDP_PUSH_ROUNDS) {
			link->ops->push(link->ep, false);
			more = false;
		}
		link->unpushed = false;
		if (!more && atomic_dec_and_test(&link->pushing))
			wake_up_var(&link->pushing);
		spin_unlock_bh(&ssk->lock);
	}
}

/**
 * sdp_link_rx_free() - the program has read a receive buffer
 * @link: link
 * @rx: its buffer, in no list
 *
 * Context: with sdp_lock().
 */
void sdp_link_rx_free(struct sdp_link *link, struct sdp_rx *rx)
{
	list_add(&rx->node, &link->rx_free);
	if (link->conn.state != SDP_DEAD)
		sdp_state_release(&link->conn, link->conn.credit.size);
}

/* Upcalls of the transport ***************************************************************** */

/* an upcall holds the lock for that many completions */
#define SDP_LINK_BATCH	16

/* a message of rx->to bytes; the buffer is in no list */
static void sdp_link_message(struct sdp_link *link, struct sdp_rx *rx)
{
	rx->kept = false;
	link->rx_now = rx;
	sdp_state_receive(&link->conn, rx->buf->data, rx->to);
	link->rx_now = NULL;
	if (rx->kept)
		return;
	list_add(&rx->node, &link->rx_free);
	/* a message without payload has left a buffer that can be posted again */
	sdp_state_run(&link->conn);
}

static void sdp_link_receive_one(struct sdp_link *link, const struct sdp_ot_completion *done)
{
	struct sdp_rx *rx = done->cookie;

	if (done->status) {
		list_add(&rx->node, &link->rx_free);
		if (done->status != -ECANCELED)
			sdp_link_break(link, done->status);
		return;
	}
	rx->to = min(done->length, rx->buf->size);
	sdp_link_message(link, rx);
}

static void sdp_link_received(void *context, const struct sdp_ot_completion *completions, u32 n)
{
	struct sdp_link *link = context;
	u32 i, end;

	for (i = 0; i < n; i = end) {
		end = min(n, i + SDP_LINK_BATCH);
		sdp_lock(link->ssk);
		for (; i < end; i++)
			sdp_link_receive_one(link, &completions[i]);
		sdp_unlock(link->ssk);
	}
}

/* Return: the slots that are free again */
static u32 sdp_link_sent_one(struct sdp_link *link, const struct sdp_ot_completion *done,
			     bool *aborted)
{
	struct sdp_post *post = done->cookie;
	/* what follows may use the entry again */
	const struct sdp_post was = *post;

	list_add(&post->node, &link->posts_free);
	if (was.chunk)
		sdp_pinned_completed(link, &was, done);
	else
		link->sends_out--;
	if (done->status) {
		if (done->status != -ECANCELED)
			sdp_link_break(link, done->status);
		return 0;
	}
	link->sent_to = max(link->sent_to, was.end);
	link->acked = max(link->acked, was.end);
	*aborted |= was.abort;
	return was.slots;
}

static void sdp_link_sent(void *context, const struct sdp_ot_completion *completions, u32 n)
{
	struct sdp_link *link = context;
	u32 i, end, slots;
	bool aborted;

	for (i = 0; i < n; i = end) {
		end = min(n, i + SDP_LINK_BATCH);
		aborted = false;
		slots = 0;
		sdp_lock(link->ssk);
		for (; i < end; i++)
			slots += sdp_link_sent_one(link, &completions[i], &aborted);
		if (!link->ended)
			sdp_send_done(link);
		sdp_pinned_sent(link);
		sdp_state_sent(&link->conn, slots);
		if (aborted)
			sdp_state_event(&link->conn, SDP_EV_ABORT_SENT);
		sdp_unlock(link->ssk);
	}
}

static void sdp_link_event(void *context, enum sdp_ot_conn_event event, int error, const u8 *data,
			   u32 length)
{
	struct sdp_link *link = context;
	struct sdp_conn *c = &link->conn;

	sdp_lock(link->ssk);
	switch (event) {
	case SDP_OT_UP:
		link->reads_out = link->ep->reads_out;
		link->up = true;
		if (c->state == SDP_HELLO_SENT)
			sdp_state_answer(c, data, length);
		else
			sdp_state_event(c, SDP_EV_UP);
		break;
	case SDP_OT_REFUSED:
		link->error = -ECONNREFUSED;
		link->refusal = sdp_wire_refusal(data, length);
		sdp_state_event(c, SDP_EV_REFUSED);
		break;
	case SDP_OT_UNREACHABLE:
	case SDP_OT_DOWN:
		link->error = error;
		sdp_state_event(c, SDP_EV_DOWN);
		break;
	}
	sdp_unlock(link->ssk);
}

/* Begin and end **************************************************************************** */

static void sdp_link_end_ep(struct sdp_link *link)
{
	wait_var_event(&link->pushing, !atomic_read(&link->pushing));
	if (link->ep)
		link->ops->ep_destroy(link->ep);
	link->ep = NULL;
	if (link->send_cq)
		link->ops->cq_destroy(link->send_cq);
	if (link->recv_cq)
		link->ops->cq_destroy(link->recv_cq);
	link->send_cq = NULL;
	link->recv_cq = NULL;
}

/**
 * sdp_link_free() - free a link
 * @link: link without an endpoint
 *
 * Context: may sleep.
 */
void sdp_link_free(struct sdp_link *link)
{
	sdp_pinned_release(link);
	sdp_buffers_free(link);
	link->ops->device_put(link->device);
	kfree(link);
}

/* The machine is dead. */
static void sdp_link_end(struct work_struct *work)
{
	struct sdp_link *link = container_of(work, struct sdp_link, end);
	struct sdp_sock *ssk = link->ssk;

	sdp_buffers_stop(link);
	sdp_link_end_ep(link);
	sdp_lock(ssk);
	link->ended = true;
	sdp_pinned_ended(link);
	sdp_unlock(ssk);
	sdp_sock_put(ssk);
}

static void sdp_link_sizes(struct sdp_sock *ssk, const struct sdp_ot_device *device,
			   struct sdp_link_sizes *s)
{
	const u32 most = min(READ_ONCE(sdp_buffer_size), device->max_message);
	const u32 rcvbuf = ssk->rcvbuf;
	const u32 sndbuf = ssk->sndbuf;

	s->rx_size = clamp(round_down(rcvbuf / 4, 64), SDP_LINK_LEAST, most);
	s->ring = clamp(rcvbuf / s->rx_size, SDP_BUFS_MIN + 1, SDP_LINK_RING);
	s->rx_num = s->ring + SDP_RESERVED + SDP_LOANS + 1;
	s->tx_size = clamp(round_down(sndbuf / 4, 64), SDP_LINK_LEAST, most);
	s->tx_num = min(sndbuf / s->tx_size + 2, SDP_LINK_PIECES);
	s->sends = READ_ONCE(sdp_send_queue) + SDP_LINK_KEYS;
	s->hdr_size = SDP_LINK_HDR;
	s->segments = SDP_LINK_SEGMENTS;
}

static int sdp_link_make_cq(struct sdp_link *link, u32 depth,
			    void (*handler)(void *context, const struct sdp_ot_completion *done,
					    u32 n),
			    struct sdp_ot_cq **cq)
{
	const struct sdp_ot_cq_attr attr = {
		.kind = SDP_OT_CQ_DIRECT,
		.depth = depth,
		.handler = handler,
		.context = link,
		.cpu = -1,
	};
	struct sdp_ot_cq *made = link->ops->cq_create(link->device, &attr);

	if (IS_ERR(made))
		return PTR_ERR(made);
	*cq = made;
	return 0;
}

/* type of service: what the program has set for TCP's packets */
static u8 sdp_link_tos(const struct sdp_sock *ssk, const struct sock *sk)
{
	if (ssk->remote.ss_family == AF_INET)
		return READ_ONCE(inet_sk(sk)->tos) & ~INET_ECN_MASK;
	return READ_ONCE(inet6_sk(sk)->tclass) & ~INET_ECN_MASK;
}

static int sdp_link_make_ep(struct sdp_link *link, struct offload_conn *conn,
			    const struct sdp_link_sizes *s)
{
	const struct sock *sk = offload_conn_sk(conn);
	struct sdp_ot_ep_attr attr = {
		.sends = s->sends + SDP_LINK_UNSEEN,
		.recvs = s->rx_num + SDP_LINK_UNSEEN,
		.segments = SDP_LINK_SEGMENTS,
		.reads_in = min(link->device->reads_in, SDP_LINK_READS_IN),
		.reads_out = min(link->device->reads_out, SDP_LINK_READS_OUT),
		.event = sdp_link_event,
		.context = link,
		.domain = link,
		.tos = sdp_link_tos(link->ssk, sk),
		.priority = READ_ONCE(sk->sk_priority),
		.mark = READ_ONCE(sk->sk_mark),
		.pushed = true,
	};
	struct sdp_ot_ep *ep;
	int rc;

	rc = sdp_link_make_cq(link, attr.sends, sdp_link_sent, &link->send_cq);
	if (!rc)
		rc = sdp_link_make_cq(link, attr.recvs, sdp_link_received, &link->recv_cq);
	if (rc)
		return rc;
	attr.send_cq = link->send_cq;
	attr.recv_cq = link->recv_cq;
	ep = link->ops->ep_create(link->device, &attr);
	if (IS_ERR(ep))
		return PTR_ERR(ep);
	link->ep = ep;
	return 0;
}

static void sdp_link_init(struct sdp_link *link, struct offload_conn *conn,
			  const struct sdp_link_sizes *s)
{
	struct sdp_config config = {
		.ring = s->ring,
		.size = s->rx_size,
		.send_max = s->tx_size,
		.window = s->ring * s->rx_size,
		.slots = s->sends - SDP_LINK_KEYS,
		.max_adverts = SDP_LINK_ADVERTS,
		.allow_pipelined = true,
	};

	offload_conn_name(conn, true, config.answer);
	link->window = config.window;
	link->window_max = config.window;
	sdp_state_init(&link->conn, &sdp_link_ops, &config);
}

static int sdp_link_make(struct sdp_link *link, struct offload_conn *conn,
			 const struct sdp_link_sizes *s)
{
	int rc;

	rc = sdp_buffers_allow(link->ssk, s);
	if (!rc)
		rc = sdp_buffers_make(link, s);
	return rc ?: sdp_link_make_ep(link, conn, s);
}

static struct sdp_link *sdp_link_new(struct sdp_sock *ssk, struct sdp_ot_device *device)
{
	struct sdp_link *link = kzalloc(sizeof(*link), GFP_KERNEL_ACCOUNT);

	if (!link)
		return NULL;
	link->ssk = ssk;
	link->device = device;
	link->ops = device->ot->ops;
	link->starting = true;
	INIT_WORK(&link->end, sdp_link_end);
	sdp_buffers_init(link);
	INIT_LIST_HEAD(&link->rx_free);
	INIT_LIST_HEAD(&link->rx);
	INIT_LIST_HEAD(&link->tx_free);
	INIT_LIST_HEAD(&link->tx);
	INIT_LIST_HEAD(&link->posts_free);
	return link;
}

/**
 * sdp_link_create() - make the link of a socket
 * @ssk: socket without a link; its memcg pays
 * @conn: its TCP connection
 * @device: where, counted; the reference is the link's, also on an error
 *
 * The link is the socket's, and goes with it.
 *
 * Return: the link, or an ERR_PTR. Context: may sleep.
 */
struct sdp_link *sdp_link_create(struct sdp_sock *ssk, struct offload_conn *conn,
				 struct sdp_ot_device *device)
{
	struct mem_cgroup *before = set_active_memcg(ssk->memcg);
	struct sdp_link *link = sdp_link_new(ssk, device);
	struct sdp_link_sizes sizes;
	int rc = -ENOMEM;

	if (link) {
		sdp_link_sizes(ssk, device, &sizes);
		sdp_link_init(link, conn, &sizes);
		rc = sdp_link_make(link, conn, &sizes);
	}
	set_active_memcg(before);
	if (!rc) {
		/* the endpoint's */
		sdp_sock_get(ssk);
		sdp_lock(ssk);
		ssk->link = link;
		sdp_unlock(ssk);
		return link;
	}
	if (link) {
		sdp_link_end_ep(link);
		sdp_link_free(link);
	} else {
		device->ot->ops->device_put(device);
	}
	return ERR_PTR(rc);
}

/*
 * The transport's connect() or accept() has returned: from now on the endpoint of a dead link may
 * go. @failed: the caller reports it. krdma_ops may have closed the socket meanwhile.
 */
static void sdp_link_started(struct sdp_link *link, bool failed)
{
	struct sdp_sock *ssk = link->ssk;

	sdp_lock(ssk);
	link->starting = false;
	if (failed)
		sdp_state_event(&link->conn, SDP_EV_ABORT);
	else if (ssk->phase == SDP_OPENING && link->conn.state != SDP_DEAD)
		sdp_sock_timer_set(ssk, &ssk->end_timer, READ_ONCE(sdp_connect_timeout_s) * HZ);
	sdp_unlock(ssk);
}

static void sdp_link_hello_ip(u8 ip[16], const struct sockaddr_storage *address)
{
	const struct sockaddr_in6 *in6 = (const void *)address;
	const struct sockaddr_in *in4 = (const void *)address;

	/* the wire has zeroes before an IPv4 address */
	memset(ip, 0, 16);
	if (address->ss_family == AF_INET)
		memcpy(ip + 12, &in4->sin_addr, 4);
	else
		memcpy(ip, &in6->sin6_addr, 16);
}

static void sdp_link_hello(struct sdp_link *link, struct offload_conn *conn, struct sdp_msg *msg)
{
	const struct sdp_sock *ssk = link->ssk;
	struct sdp_hello *hello = &msg->hello;

	memset(msg, 0, sizeof(*msg));
	hello->compact = link->device->request_len < SDP_HELLO_LEN;
	hello->ipv = ssk->remote.ss_family == AF_INET ? 4 : 6;
	hello->want_size = link->conn.credit.send_max;
	hello->local_port = ntohs(kal_addr_port(&ssk->local));
	hello->dst_port = ntohs(kal_addr_port(&ssk->remote));
	offload_conn_name(conn, false, hello->name);
	sdp_link_hello_ip(hello->src, &ssk->local);
	sdp_link_hello_ip(hello->dst, &ssk->remote);
}

/**
 * sdp_link_connect() - begin to connect
 * @link: new link
 * @conn: TCP connection
 * @local: own address for the transport
 * @remote: the peer's
 * @next_hop: of the route
 * @timeout_ms: the transport's limit
 *
 * Return: 0: the state machine reports the rest; or a negative errno, after which the link is dead.
 * Context: may sleep.
 */
int sdp_link_connect(struct sdp_link *link, struct offload_conn *conn,
		     const struct sockaddr_storage *local, const struct sockaddr_storage *remote,
		     const struct sockaddr_storage *next_hop, u32 timeout_ms)
{
	struct sdp_sock *ssk = link->ssk;
	u8 octets[SDP_HDR_MAX];
	struct sdp_msg hello;
	u32 n = 0;
	int rc;

	sdp_lock(ssk);
	sdp_link_hello(link, conn, &hello);
	rc = ssk->phase == SDP_ROAD_OVER ? -ECANCELED : sdp_state_connect(&link->conn, &hello);
	if (!rc)
		n = sdp_wire_encode(&hello, octets);
	sdp_unlock(ssk);
	if (!rc)
		rc = link->ops->connect(link->ep, local, remote, next_hop, octets, n, timeout_ms);
	sdp_link_started(link, rc);
	return rc;
}

/**
 * sdp_link_accept() - accept a peer's request
 * @link: new link
 * @request: its request
 * @hello: decoded
 *
 * Return: 0: the request is gone, the state machine reports the rest; or a negative errno, after
 * which the link is dead and the request is to be refused. Context: may sleep.
 */
int sdp_link_accept(struct sdp_link *link, struct sdp_ot_conn_request *request,
		    const struct sdp_msg *hello)
{
	struct sdp_sock *ssk = link->ssk;
	u8 octets[SDP_HDR_MAX];
	struct sdp_msg ack;
	u32 n = 0;
	int rc;

	sdp_lock(ssk);
	rc = ssk->phase == SDP_ROAD_OVER ? -ECANCELED : sdp_state_hello(&link->conn, hello);
	if (!rc)
		rc = sdp_state_accept(&link->conn, &ack);
	if (!rc)
		n = sdp_wire_encode(&ack, octets);
	sdp_unlock(ssk);
	if (!rc)
		rc = link->ops->accept(request, link->ep, octets, n);
	sdp_link_started(link, rc);
	return rc;
}
