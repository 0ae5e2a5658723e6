// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * All marked sockets: for "krdma offload sockets" and "krdma offload reset", and for the end of the
 * module.
 *
 * A context is in the table from the mark until the mark is off or the socket has ended, and TCP's
 * sock is there as long.
 */
#include <linux/hash.h>
#include <net/tcp_states.h>

#include "ops.h"

#define VIEW_BITS	9

struct view_bucket {
	spinlock_t lock;		/* protects the next one */
	struct hlist_head socks;
};

static struct view_bucket view_table[1 << VIEW_BITS];

static struct view_bucket *view_bucket(const struct ops_sock *os)
{
	return &view_table[hash_ptr(os, VIEW_BITS)];
}

void ops_view_add(struct ops_sock *os)
{
	struct view_bucket *bucket = view_bucket(os);

	spin_lock_bh(&bucket->lock);
	hlist_add_head(&os->all, &bucket->socks);
	spin_unlock_bh(&bucket->lock);
}

void ops_view_del(struct ops_sock *os)
{
	struct view_bucket *bucket = view_bucket(os);

	spin_lock_bh(&bucket->lock);
	hlist_del_init(&os->all);
	spin_unlock_bh(&bucket->lock);
}

/* What a position says: the bucket, and how many of it come before. */
#define VIEW_POSITION(bucket, skip)	((unsigned long)(bucket) << 24 | (skip))
#define VIEW_SKIP(position)		((position) & 0xffffff)

static int view_walk_bucket(struct net *net, unsigned int index, unsigned long *from,
			    int (*show)(struct ops_sock *os, void *arg), void *arg)
{
	struct view_bucket *bucket = &view_table[index];
	unsigned long skip = VIEW_SKIP(*from), at = 0;
	struct ops_sock *os;
	int ret = 0;

	spin_lock_bh(&bucket->lock);
	rcu_read_lock();
	hlist_for_each_entry(os, &bucket->socks, all) {
		if (at++ < skip || (net && !net_eq(os->net, net)))
			continue;
		ret = show(os, arg);
		if (ret) {
			*from = VIEW_POSITION(index, at - 1);
			break;
		}
	}
	rcu_read_unlock();
	spin_unlock_bh(&bucket->lock);
	return ret;
}

int ops_socks_walk(struct net *net, unsigned long *from,
		   int (*show)(struct ops_sock *os, void *arg), void *arg)
{
	unsigned int index = *from >> 24;
	int ret = 0;

	for (; index < 1 << VIEW_BITS; index++) {
		ret = view_walk_bucket(net, index, from, show, arg);
		if (ret)
			return ret;
		*from = VIEW_POSITION(index + 1, 0);
		cond_resched();
	}
	return 0;
}

/* What a socket shows ******************************************************* */

static u8 view_state(const struct ops_sock *os)
{
	const bool sends = READ_ONCE(os->tx_road), receives = READ_ONCE(os->rx_road);

	if (sends || receives)
		return !receives ? KRDMA_OFFLOAD_STATE_SENDING :
		       !sends ? KRDMA_OFFLOAD_STATE_RECEIVING : KRDMA_OFFLOAD_STATE_BOTH;
	if (ops_is_local(os) || ops_road_is_up(os))
		return KRDMA_OFFLOAD_STATE_UP;
	if (!(os->name.active | os->name.passive))
		return KRDMA_OFFLOAD_STATE_MARKED;
	return READ_ONCE(os->road_state) == OPS_ROAD_OPENING ? KRDMA_OFFLOAD_STATE_OPENING :
							       KRDMA_OFFLOAD_STATE_TCP;
}

/**
 * ops_sock_view() - what "krdma offload sockets" shows
 * @os: context, of ops_socks_walk() or with a reference in a call on the socket
 * @view: filled
 *
 * Context: any; RCU.
 */
void ops_sock_view(struct ops_sock *os, struct ops_sock_view *view)
{
	const struct sock *sk = os->sk;
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct inet_sock *inet = inet_sk(sk);
	struct socket *sock = READ_ONCE(sk->sk_socket);

	memset(view, 0, sizeof(*view));
	ops_addresses(sk, &view->local, &view->remote);
	view->family = ipv6_addr_v4mapped(&view->local) ? AF_INET : sk->sk_family;
	view->tcp_state = inet_sk_state_load(sk);
	view->state = view_state(os);
	view->why = os->why;
	view->local_port = ntohs(inet->inet_sport);
	view->remote_port = ntohs(inet->inet_dport);
	view->rule = os->choice.rule;
	view->uid = sk->sk_uid;
	view->inode = sock ? SOCK_INODE(sock)->i_ino : 0;
	strscpy(view->road, ops_road_name(os), sizeof(view->road));
	view->sent = READ_ONCE(os->sent);
	view->received = READ_ONCE(os->received);
	/* of the program: TCP's other counters have SYN and FIN in them */
	view->tcp_sent = READ_ONCE(tp->bytes_sent) - READ_ONCE(tp->bytes_retrans);
	view->tcp_received = READ_ONCE(tp->bytes_received);
	if (view->tcp_received && sock_flag(sk, SOCK_DONE))
		view->tcp_received--;
}

/* Sending back ************************************************************** */

#define VIEW_BATCH	32

struct view_batch {
	const struct ops_match *match;
	unsigned int num;
	struct ops_sock *os[VIEW_BATCH];
};

/* With the bucket's lock. */
static int view_collect(struct ops_sock *os, void *arg)
{
	struct view_batch *batch = arg;

	if (batch->match && !ops_match_socket(batch->match, os->sk,
					      os->active ? OPS_CONNECT : OPS_LISTEN))
		return 0;
	if (batch->num == VIEW_BATCH)
		return 1;
	if (!refcount_inc_not_zero(&os->refs))
		return 0;
	sock_hold(os->sk);
	batch->os[batch->num++] = os;
	return 0;
}

/* Back to TCP: at once, or from the next byte of this end on. Return: true: changed. */
static bool view_send_back(struct ops_sock *os, bool end)
{
	struct sock *sk = os->sk;
	int err;

	lock_sock(sk);
	/* a listener keeps its mark for those that come, unless there will be none */
	err = -ENOENT;
	if (!READ_ONCE(os->dead) && (sk->sk_state != TCP_LISTEN || READ_ONCE(ops_down)))
		err = ops_decline(sk, os, OPS_COUNT_RESET);
	if (err == -EBUSY)
		os->stay = true;
	release_sock(sk);
	if (err != -EBUSY)
		return !err;
	if (end) {
		tcp_abort(sk, ECONNRESET);
		return true;
	}
	if (ops_is_local(os) && READ_ONCE(os->tx_road)) {
		ops_local_back(os);
		return true;
	}
	return false;
}

int ops_socks_reset(struct net *net, const struct ops_match *match, bool end)
{
	struct view_batch batch = { .match = match };
	unsigned long from = 0, gone;
	int more, changed = 0;
	unsigned int i;

	do {
		batch.num = 0;
		gone = 0;
		more = ops_socks_walk(net, &from, view_collect, &batch);
		for (i = 0; i < batch.num; i++) {
			struct ops_sock *os = batch.os[i];
			struct sock *sk = os->sk;

			changed += view_send_back(os, end);
			gone += READ_ONCE(os->dead);
			ops_sock_put(os);
			sock_put(sk);
		}
		/* those behind them have moved up */
		from -= min(gone, VIEW_SKIP(from));
	} while (more && !fatal_signal_pending(current));
	return changed;
}

/* The module is to end: all go back to TCP. */
void ops_socks_shutdown(void)
{
	ops_socks_reset(NULL, NULL, false);
}

void ops_view_init(void)
{
	int i;

	for (i = 0; i < 1 << VIEW_BITS; i++)
		spin_lock_init(&view_table[i].lock);
}
