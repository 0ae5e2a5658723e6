// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The direct path: both ends of a stream are queue pairs of this host. One copy moves the
 * payload from the sender's memory to the receiver's.
 *
 * TCP makes, keeps and ends the connection as usual, and nothing else changes for the two
 * ends. The transmitter chooses messages and cuts them into segments as for the wire. A
 * segment has up to 256 KiB of payload (SOFT_DIRECT_PAYLOAD), because the receiver's socket is
 * locked while it is copied. The transmitter hands each segment to the peer's receiver instead
 * of TCP. The receiver decodes and checks the segment with the same functions, so access
 * rights, errors and Terminates are those of the wire.
 *
 * A run of short messages is built as FPDUs and handed over together. When the receiver has
 * no receive posted for a Send, the stream changes back to TCP, which keeps the data.
 *
 * The two ends find each other by the identity of the TCP connection (struct
 * soft_stream_id). Each direction leaves TCP by itself, at a moment when the receiver has read
 * all data that the transmitter ever gave to TCP. So the order is kept.
 *
 * A push runs in the sender's process context, under the sender's tx.mutex and the socket
 * lock of the receiver. The push holds a reference to the receiver's stream;
 * soft_direct_leave() waits for that reference. The sender's thread may be preempted during a
 * push and then run rarely. So the two ends of a stream can delay each other, but no other
 * queue pair: all sleeping locks belong to these two. The table of streams is shared by all
 * queue pairs, so its lock is a spinlock.
 */
#include <linux/mutex.h>
#include <linux/rhashtable.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "base/params.h"
#include "direct.h"
#include "queues/segment.h"
#include "rx/rx.h"
#include "tx/tx.h"

static const struct rhashtable_params soft_direct_streams_params = {
	.key_len = sizeof(struct soft_stream_id),
	.key_offset = offsetof(struct soft_direct, id),
	.head_offset = offsetof(struct soft_direct, node),
	.automatic_shrinking = true,
};

static struct rhashtable soft_direct_streams;
/* protects the table and the soft_qp.peer pointers; shared by the whole host, so no sleeping */
static DEFINE_SPINLOCK(soft_direct_streams_lock);

/** soft_direct_init() - create the stream table at module start */
int soft_direct_init(void)
{
	return rhashtable_init(&soft_direct_streams, &soft_direct_streams_params);
}

/** soft_direct_exit() - free the stream table at module exit; no stream is left */
void soft_direct_exit(void)
{
	rhashtable_destroy(&soft_direct_streams);
}

/** soft_direct_init_qp() - initialize the direct path of a new QP */
void soft_direct_init_qp(struct soft_direct *direct, struct soft_qp *qp)
{
	qp->direct = direct;
	direct->qp = qp;
	init_completion(&direct->unused);
}

static void soft_direct_stream_addr(const struct sock *sk, struct soft_stream_id *id)
{
	id->local_port = inet_sk(sk)->inet_sport;
	id->remote_port = sk->sk_dport;
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		id->local = sk->sk_v6_rcv_saddr;
		id->remote = sk->sk_v6_daddr;
		return;
	}
#endif
	ipv6_addr_set_v4mapped(sk->sk_rcv_saddr, &id->local);
	ipv6_addr_set_v4mapped(sk->sk_daddr, &id->remote);
}

static void soft_direct_stream_identify(const struct soft_qp *qp,
					struct soft_stream_id *id)
{
	struct sock *sk = qp->llp->sock->sk;
	const struct tcp_sock *tp = tcp_sk(sk);

	memset(id, 0, sizeof(*id));
	soft_direct_stream_addr(sk, id);
	lock_sock(sk);
	/* the active opener's SYN counts as one acknowledged byte */
	id->sent = tp->snd_una - (u32)tp->bytes_acked + qp->mpa.initiator;
	id->received = tp->rcv_nxt - (u32)tp->bytes_received;
	release_sock(sk);
}

static struct soft_stream_id soft_direct_stream_mirror(const struct soft_stream_id *id)
{
	return (struct soft_stream_id){
		.local = id->remote,
		.remote = id->local,
		.local_port = id->remote_port,
		.remote_port = id->local_port,
		.sent = id->received,
		.received = id->sent,
	};
}

/* With soft_direct_streams_lock held. */
static void soft_direct_set_peer(struct soft_qp *qp, struct soft_qp *peer)
{
	spin_lock(&qp->lock);
	qp->peer = peer;
	spin_unlock(&qp->lock);
}

static bool soft_direct_allowed(const struct soft_qp *a, const struct soft_qp *b)
{
	return READ_ONCE(soft_same_host) == SOFT_SAME_HOST_ANY ||
	       net_eq(sock_net(a->llp->sock->sk), sock_net(b->llp->sock->sk));
}

/* With soft_direct_streams_lock held. */
static bool soft_direct_find(struct soft_qp *qp)
{
	struct soft_direct *direct = qp->direct;
	struct soft_stream_id other = soft_direct_stream_mirror(&direct->id);
	struct soft_direct *peer;

	if (rhashtable_insert_fast(&soft_direct_streams, &direct->node,
				   soft_direct_streams_params))
		return false;
	direct->listed = true;
	peer = rhashtable_lookup_fast(&soft_direct_streams, &other,
				      soft_direct_streams_params);
	if (!peer || peer == direct || !soft_direct_allowed(qp, peer->qp))
		return false;
	soft_direct_set_peer(qp, peer->qp);
	soft_direct_set_peer(peer->qp, qp);
	return true;
}

/**
 * soft_direct_join() - add a new stream to the table, and look for its other end
 * @qp: queue pair; its receiver is ready
 *
 * Without memory for the table entry, the stream stays with TCP.
 * Context: may sleep, under tx.mutex.
 * Return: true when the other end was found. From now on it may take the socket lock.
 */
bool soft_direct_join(struct soft_qp *qp)
{
	struct soft_direct *direct = qp->direct;
	bool found;

	refcount_set(&direct->users, 1);
	reinit_completion(&direct->unused);
	if (READ_ONCE(soft_same_host) == SOFT_SAME_HOST_OFF)
		return false;
	soft_direct_stream_identify(qp, &direct->id);
	spin_lock_bh(&soft_direct_streams_lock);
	found = soft_direct_find(qp);
	spin_unlock_bh(&soft_direct_streams_lock);
	return found;
}

static void soft_direct_unlist(struct soft_qp *qp)
{
	struct soft_direct *direct = qp->direct;

	spin_lock_bh(&soft_direct_streams_lock);
	if (direct->listed) {
		rhashtable_remove_fast(&soft_direct_streams, &direct->node,
				       soft_direct_streams_params);
		direct->listed = false;
		if (qp->peer) {
			soft_direct_set_peer(qp->peer, NULL);
			soft_direct_set_peer(qp, NULL);
		}
	}
	spin_unlock_bh(&soft_direct_streams_lock);
}

static void soft_direct_put(struct soft_qp *peer)
{
	if (refcount_dec_and_test(&peer->direct->users))
		complete(&peer->direct->unused);
}

/**
 * soft_direct_leave() - remove a stream from the table, and wait for pushes to it
 * @qp: queue pair that joined
 *
 * On return no push to @qp is in progress, and no push can begin.
 * Context: may sleep, under tx.mutex.
 */
void soft_direct_leave(struct soft_qp *qp)
{
	soft_direct_unlist(qp);
	soft_direct_put(qp);
	wait_for_completion(&qp->direct->unused);
}

/**
 * soft_direct_busy() - remove a stream from the table; is a push to it in progress?
 * @qp: queue pair that joined
 *
 * From now on no push to @qp or from @qp can begin.
 * Context: may sleep, under tx.mutex.
 * Return: true when soft_direct_leave() would wait.
 */
bool soft_direct_busy(struct soft_qp *qp)
{
	soft_direct_unlist(qp);
	return refcount_read(&qp->direct->users) > 1;
}

/* The peer; its stream stays until soft_direct_put(). NULL when the peer's stream is over. */
static struct soft_qp *soft_direct_get(struct soft_qp *qp)
{
	struct soft_qp *peer;

	spin_lock_bh(&qp->lock);
	peer = qp->peer;
	if (peer && !refcount_inc_not_zero(&peer->direct->users))
		peer = NULL;
	spin_unlock_bh(&qp->lock);
	return peer;
}

/**
 * soft_direct_switch() - leave TCP, if the peer has read all data from TCP
 * @qp: queue pair with a peer on this host; TCP has taken all FPDUs that were built
 *
 * Context: the transmitter.
 * Return: false when the transmitter has to wait; the peer's receiver starts it again.
 */
static bool soft_direct_switch(struct soft_qp *qp)
{
	struct soft_tx *tx = qp->tx;
	struct soft_qp *peer;
	int ret;

	if (!tx->seg)
		tx->seg = kzalloc(sizeof(*tx->seg), GFP_NOIO);
	peer = tx->seg ? soft_direct_get(qp) : NULL;
	if (!peer)
		return true;
	lock_sock(peer->llp->sock->sk);
	ret = soft_rx_caught_up(peer, qp->sq.seq_sent);
	release_sock(peer->llp->sock->sk);
	soft_direct_put(peer);
	tx->direct = !ret;
	return ret != -EAGAIN;
}

/*
 * If the segment was a request, run the peer's transmitter here at once: the data is in the
 * cache. When both ends do this to each other at the same time, the trylock of a tx.mutex fails,
 * and the work item of that queue pair does the job.
 */
static void soft_direct_answer(struct soft_qp *peer)
{
	if (READ_ONCE(peer->in_count))
		soft_tx_run_inline(peer, false);
}

/**
 * soft_direct_push() - hand tx.seg to the peer's receiver
 * @qp: queue pair that sends
 *
 * Context: the transmitter.
 * Return: 0; an errno of soft_rx_direct(); -ENOTCONN also when the peer's stream is over.
 */
static int soft_direct_push(struct soft_qp *qp)
{
	struct soft_qp *peer = soft_direct_get(qp);
	struct sock *sk;
	int ret;

	if (!peer)
		return -ENOTCONN;
	sk = peer->llp->sock->sk;
	lock_sock(sk);
	ret = soft_rx_direct(peer, qp->tx->seg);
	release_sock(sk);
	if (!ret)
		soft_direct_answer(peer);
	soft_direct_put(peer);
	return ret;
}

/**
 * soft_direct_give() - hand built FPDUs to the peer's receiver
 * @qp: queue pair that sends; tx.vec holds whole FPDUs
 * @fpdus: set to the number of FPDUs that the receiver took
 *
 * Context: the transmitter.
 * Return: bytes of these FPDUs. Less than tx.staged when no receive is posted for the next
 * one, or when the peer's stream has failed or is over.
 */
static u32 soft_direct_give(struct soft_qp *qp, u32 *fpdus)
{
	struct soft_qp *peer = soft_direct_get(qp);
	struct bio_vec *vec = qp->tx->vec;
	u32 taken = 0;
	struct sock *sk;
	u32 i, n;

	*fpdus = 0;
	if (!peer)
		return 0;
	sk = peer->llp->sock->sk;
	lock_sock(sk);
	for (i = 0; i < qp->tx->nvec; i++) {
		n = soft_rx_direct_fpdus(peer, bvec_virt(&vec[i]), vec[i].bv_len,
					 fpdus);
		taken += n;
		if (n < vec[i].bv_len)
			break;
	}
	release_sock(sk);
	soft_direct_put(peer);
	return taken;
}

const struct soft_tx_ops soft_direct_ops = {
	.change = soft_direct_switch,
	.push = soft_direct_push,
	.give = soft_direct_give,
};
