// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * listen(): on all legs, with one queue.
 *
 * An event of a listener says that there is a connection to accept. The number of its leg is put
 * into a ring, in order of arrival; accept.c takes the oldest and asks that leg. Numbers are hints.
 * One may be stale (the connection went, or a thread that asked all legs took it) or missing (the
 * ring was full, or no ring is needed as long as there is one listener); a leg then has more or
 * fewer connections than numbers, and they are found all the same.
 *
 * There is one backlog: what one leg has waiting goes off sk_max_ack_backlog of the others.
 *
 * A leg of a wildcard socket that does not listen, because its protocol refused or a rule says so,
 * is asked again when a protocol comes, or reports a change (ops_listeners_retry()).
 */
#include <linux/mm.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "ops.h"

/* numbers that a ring holds at most: beyond, the order is not kept */
#define OPS_LISTEN_RING_MAX	SZ_64K
/* jiffies until a listener whose mutex was taken is asked again */
#define OPS_LISTEN_BUSY		(HZ / 50 ?: 1)

/* all listeners, for ops_listeners_retry(); an entry holds no reference, see ops_listen_end() */
static DEFINE_SPINLOCK(ops_listeners_lock);
static LIST_HEAD(ops_listeners);
/* rounds of ops_listeners_retry() that were asked for */
static atomic_t ops_listeners_round = ATOMIC_INIT(0);

/* The queue **************************************************************** */

/* What the others have waiting is not a leg's to take. With the queue_lock. */
static void ops_listen_share(struct ops_sock *osk)
{
	u32 total = osk->queue_num;
	u32 i;

	for (i = 0; i < osk->num; i++) {
		struct ops_leg *leg = &osk->legs[i];
		u32 others = total - min(total, leg->tokens);
		u32 room = osk->backlog - min_t(u32, osk->backlog, others);

		if (leg->listening && READ_ONCE(leg->sock->sk->sk_max_ack_backlog) != room)
			WRITE_ONCE(leg->sock->sk->sk_max_ack_backlog, room);
	}
}

/* A connection, most likely. Interrupts are off; the leg's wait queue is locked. */
static int ops_listen_event(wait_queue_entry_t *event, unsigned int mode, int flags, void *key)
{
	struct ops_leg *leg = container_of(event, struct ops_leg, event);
	struct ops_sock *osk = leg->osk;
	struct sock *sk = &osk->inet.sk;
	unsigned long irqs;

	if (key && !(key_to_poll(key) & EPOLLIN))
		return 0;
	spin_lock_irqsave(&osk->queue_lock, irqs);
	if (osk->queue_num < osk->queue_size) {
		osk->queue[(osk->queue_head + osk->queue_num) % osk->queue_size] = leg - osk->legs;
		osk->queue_num++;
		leg->tokens++;
		ops_listen_share(osk);
	}
	spin_unlock_irqrestore(&osk->queue_lock, irqs);
	if (sk->sk_kern_sock) {
		sock_hold(sk);
		if (!queue_work(ops_wq, &osk->ready))
			__sock_put(sk);
		return 0;
	}
	/* wakes accept() and poll() at the user's socket, and sends SIGIO */
	sk->sk_data_ready(sk);
	return 0;
}

/**
 * ops_listen_ready_work() - call a user in the kernel for a connection
 * @work: ready of an ops_sock, with a reference on its sock
 *
 * The user's callback may take locks that a wake-up with interrupts off must not.
 */
void ops_listen_ready_work(struct work_struct *work)
{
	struct ops_sock *osk = container_of(work, struct ops_sock, ready);
	struct sock *sk = &osk->inet.sk;

	sk->sk_data_ready(sk);
	sock_put(sk);
}

/**
 * ops_listen_settle() - no callback of a user in the kernel any more
 * @osk: ops_sock without legs; the caller has a reference on its sock
 *
 * Context: may sleep; without the mutex.
 */
void ops_listen_settle(struct ops_sock *osk)
{
	if (cancel_work_sync(&osk->ready))
		sock_put(&osk->inet.sk);
}

/**
 * ops_listen_oldest() - take the oldest number out of the queue
 * @osk: listener; with the mutex
 *
 * Return: its leg; NULL: the queue is empty.
 */
struct ops_leg *ops_listen_oldest(struct ops_sock *osk)
{
	struct ops_leg *leg = NULL;
	unsigned long irqs;

	if (!READ_ONCE(osk->queue_num))
		return NULL;
	spin_lock_irqsave(&osk->queue_lock, irqs);
	if (osk->queue_num) {
		leg = &osk->legs[osk->queue[osk->queue_head]];
		osk->queue_head = (osk->queue_head + 1) % osk->queue_size;
		osk->queue_num--;
		if (leg->tokens)
			leg->tokens--;
		ops_listen_share(osk);
	}
	spin_unlock_irqrestore(&osk->queue_lock, irqs);
	return leg;
}

/**
 * ops_listen_forget() - a leg is no listener any more
 * @leg: leg, which has no events any more; its numbers leave the queue
 */
void ops_listen_forget(struct ops_leg *leg)
{
	struct ops_sock *osk = leg->osk;
	u32 i, kept = 0;
	unsigned long irqs;

	spin_lock_irqsave(&osk->queue_lock, irqs);
	for (i = 0; i < osk->queue_num; i++) {
		u8 number = osk->queue[(osk->queue_head + i) % osk->queue_size];

		if (number != leg - osk->legs)
			osk->queue[(osk->queue_head + kept++) % osk->queue_size] = number;
	}
	osk->queue_num = kept;
	leg->tokens = 0;
	leg->listening = false;
	ops_listen_share(osk);
	spin_unlock_irqrestore(&osk->queue_lock, irqs);
}

/* A ring for @legs listeners; a larger one takes over what is in the smaller. */
static int ops_listen_ring(struct ops_sock *osk, u32 legs)
{
	u32 size = min_t(u64, ((u64)osk->backlog + 1) * legs, OPS_LISTEN_RING_MAX);
	u8 *ring, *old;
	unsigned long irqs;
	u32 i;

	if (legs < 2 || size <= osk->queue_size)
		return 0;
	ring = kvmalloc(size, GFP_KERNEL_ACCOUNT);
	if (!ring)
		return -ENOMEM;
	spin_lock_irqsave(&osk->queue_lock, irqs);
	for (i = 0; i < osk->queue_num; i++)
		ring[i] = osk->queue[(osk->queue_head + i) % osk->queue_size];
	old = osk->queue;
	osk->queue = ring;
	osk->queue_size = size;
	osk->queue_head = 0;
	spin_unlock_irqrestore(&osk->queue_lock, irqs);
	kvfree(old);
	return 0;
}

/* Listen ******************************************************************* */

static int ops_listen_leg(struct ops_leg *leg, int backlog)
{
	struct ops_sock *osk = leg->osk;
	bool was = leg->listening;
	unsigned long irqs;
	int err;

	if (!was)
		ops_leg_watch(leg, ops_listen_event);
	err = leg->sock->ops->listen(leg->sock, backlog);
	if (err) {
		if (!was)
			ops_leg_unwatch(leg);
		return err;
	}
	spin_lock_irqsave(&osk->queue_lock, irqs);
	leg->listening = true;
	ops_listen_share(osk);
	spin_unlock_irqrestore(&osk->queue_lock, irqs);
	return 0;
}

static __be16 ops_listen_port(const struct sockaddr_storage *address)
{
	return address->ss_family == AF_INET6 ?
		((const struct sockaddr_in6 *)address)->sin6_port :
		((const struct sockaddr_in *)address)->sin_port;
}

/* TCP chose a port in listen(), because there was no bind(): the others take the same. */
static int ops_listen_bind(struct ops_leg *leg, const struct sockaddr_storage *local, int len)
{
	struct sockaddr_storage own, address = *local;

	if (leg->sock->ops->getname(leg->sock, (struct sockaddr *)&own, 0) >= 0 &&
	    ops_listen_port(&own) == ops_listen_port(local))
		return 0;
	return leg->sock->ops->bind(leg->sock, (struct sockaddr *)&address, len);
}

/* A leg of an offload protocol joins; the local address is TCP's. */
static int ops_listen_join(struct ops_leg *leg, const struct sockaddr_storage *local, int len)
{
	struct ops_sock *osk = leg->osk;
	struct net *net = sock_net(&osk->inet.sk);
	int err;

	if (len > 0 && !ops_policy(&osk->inet.sk, local, true, leg->proto)) {
		ops_count(net, OPS_REASON_RULE);
		return osk->wants == OPS_WANTS_PROTOCOL ? -EACCES : 0;
	}
	if (!leg->listening && len > 0 && ops_native(osk)) {
		err = ops_listen_bind(leg, local, len);
		if (err) {
			ops_count(net, OPS_REASON_BIND);
			return err;
		}
	}
	err = ops_listen_leg(leg, osk->backlog);
	if (err)
		ops_count(net, OPS_REASON_LISTEN);
	return err;
}

static u32 ops_listen_count(const struct ops_sock *osk)
{
	u32 i, num = 0;

	for (i = 0; i < osk->num; i++)
		num += osk->legs[i].listening;
	return num;
}

static void ops_listen_list(struct ops_sock *osk)
{
	spin_lock_bh(&ops_listeners_lock);
	if (list_empty(&osk->listener))
		list_add_tail(&osk->listener, &ops_listeners);
	spin_unlock_bh(&ops_listeners_lock);
}

/* The offload protocols of a listener. Return: 0, or the errno that is the caller's. */
static int ops_listen_others(struct ops_sock *osk)
{
	struct sockaddr_storage local = {};
	struct ops_leg *first = ops_leg_first(osk);
	int len = 0, err = 0;
	u32 i;

	if (first)
		len = first->sock->ops->getname(first->sock, (struct sockaddr *)&local, 0);
	for (i = 0; i < osk->num; i++) {
		struct ops_leg *leg = &osk->legs[i];
		bool native = ops_native(osk);
		int failed;

		if (!leg->sock || !leg->proto->sw)
			continue;
		failed = ops_listen_join(leg, &local, len);
		if (failed && ops_decide(OPS_CALL_LISTEN, osk->wants, true, native, failed,
					 false) == OPS_FAIL)
			err = failed;
	}
	return err;
}

static int ops_listen_all(struct ops_sock *osk, int backlog)
{
	struct ops_leg *native = ops_native(osk);
	bool again = osk->state == OPS_LISTENING;
	u32 i, legs = 0;
	int err;

	if (!ops_leg_first(osk))
		return -ENETDOWN;
	for (i = 0; i < osk->num; i++)
		legs += !!osk->legs[i].sock;
	osk->backlog = backlog;
	/* without memory there is no order, but all connections are found */
	ops_listen_ring(osk, legs);
	if (native) {
		err = ops_listen_leg(native, backlog);
		if (err)
			return err;
	}
	err = ops_listen_others(osk);
	if (err && !native && !again && !ops_listen_count(osk)) {
		ops_listen_end(osk);
		return err;
	}
	if (!again)
		osk->before = osk->state;
	osk->state = OPS_LISTENING;
	/* for SO_ACCEPTCONN */
	WRITE_ONCE(osk->inet.sk.sk_state, TCP_LISTEN);
	ops_listen_list(osk);
	return native || !again ? 0 : err;
}

/**
 * ops_listen() - listen on all legs, or change the backlog
 * @sock: user's socket
 * @backlog: for all legs together
 *
 * TCP is first, and its error is the caller's. An offload protocol that fails is left out.
 *
 * Return: 0 or an errno. Context: may sleep.
 */
int ops_listen(struct socket *sock, int backlog)
{
	struct ops_sock *osk = ops_enter(sock);
	bool gone = !osk;
	int err = -EINVAL;

	if (osk) {
		mutex_lock(&osk->mutex);
		gone = osk->state == OPS_HANDED_OFF;
		if (osk->state == OPS_NEW || osk->state == OPS_BOUND || osk->state == OPS_LISTENING)
			err = ops_listen_all(osk, backlog);
		mutex_unlock(&osk->mutex);
		ops_leave(osk);
	}
	return gone ? READ_ONCE(sock->ops)->listen(sock, backlog) : err;
}

/**
 * ops_listen_end() - a socket is no listener any more
 * @osk: ops_sock; with the mutex
 *
 * Its legs still listen for their protocols, until they are shut down or go.
 */
void ops_listen_end(struct ops_sock *osk)
{
	unsigned long irqs;
	u8 *ring;
	u32 i;

	lockdep_assert_held(&osk->mutex);
	WRITE_ONCE(osk->inet.sk.sk_state, TCP_CLOSE);
	spin_lock_bh(&ops_listeners_lock);
	list_del_init(&osk->listener);
	spin_unlock_bh(&ops_listeners_lock);

	for (i = 0; i < osk->num; i++)
		if (osk->legs[i].listening)
			ops_leg_unwatch(&osk->legs[i]);

	spin_lock_irqsave(&osk->queue_lock, irqs);
	ring = osk->queue;
	osk->queue = NULL;
	osk->queue_size = 0;
	osk->queue_num = 0;
	osk->queue_head = 0;
	spin_unlock_irqrestore(&osk->queue_lock, irqs);
	kvfree(ring);
}

/* Again ******************************************************************** */

/* One listener of the list with a reference, after @from; none twice. */
static struct ops_sock *ops_listen_following(struct list_head *cursor)
{
	struct ops_sock *osk = NULL;

	spin_lock_bh(&ops_listeners_lock);
	while (!osk && cursor->next != &ops_listeners) {
		struct list_head *next = cursor->next;

		list_move(cursor, next);
		osk = list_entry(next, struct ops_sock, listener);
		if (!refcount_inc_not_zero(&osk->inet.sk.sk_refcnt))
			osk = NULL;
	}
	spin_unlock_bh(&ops_listeners_lock);
	return osk;
}

/* Ask the protocols of a listener. Return: false: the mutex, which one user may hold, is taken. */
static bool ops_listen_ask(struct ops_sock *osk, u32 round)
{
	if (READ_ONCE(osk->asked) == round)
		return true;
	if (!mutex_trylock(&osk->mutex))
		return false;
	if (osk->state == OPS_LISTENING && ops_native(osk)) {
		ops_legs_refill(osk);
		ops_listen_ring(osk, osk->num);
		ops_listen_others(osk);
	}
	WRITE_ONCE(osk->asked, round);
	mutex_unlock(&osk->mutex);
	return true;
}

static void ops_listen_retry(struct work_struct *work)
{
	u32 round = atomic_read(&ops_listeners_round);
	bool again = false;

	/* an entry of its own keeps the place while the list changes; only this work has one */
	struct list_head cursor;
	struct ops_sock *osk;

	spin_lock_bh(&ops_listeners_lock);
	list_add(&cursor, &ops_listeners);
	spin_unlock_bh(&ops_listeners_lock);
	while ((osk = ops_listen_following(&cursor))) {
		again |= !ops_listen_ask(osk, round);
		sock_put(&osk->inet.sk);
		cond_resched();
	}
	spin_lock_bh(&ops_listeners_lock);
	list_del(&cursor);
	spin_unlock_bh(&ops_listeners_lock);
	if (again)
		queue_delayed_work(ops_wq, to_delayed_work(work), OPS_LISTEN_BUSY);
}

static DECLARE_DELAYED_WORK(ops_listen_retry_work, ops_listen_retry);

/**
 * ops_listeners_retry() - wildcard listeners ask protocols again that do not listen for them
 *
 * Context: any but hard interrupt.
 */
void ops_listeners_retry(void)
{
	atomic_inc(&ops_listeners_round);
	mod_delayed_work(ops_wq, &ops_listen_retry_work, 0);
}

/**
 * ops_listeners_exit() - no round is under way or to come; there are no sockets any more
 *
 * Context: may sleep.
 */
void ops_listeners_exit(void)
{
	cancel_delayed_work_sync(&ops_listen_retry_work);
}
